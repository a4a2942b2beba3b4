//! Packets in order: a ring, under a queue or a delay line of which there are few, that grows by a quarter and keeps its room.

use std::mem;

use crate::packet::{Packet, Slot};

/// Packets by which a ring grows at least.
const LEAST_GROWTH: usize = 4;

/// Packets, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    head: u32,
    len: u32,
}

const _: () = assert!(
    size_of::<Ring>() <= 32,
    "a delay line is to be one cache line, with its ring"
);

impl Ring {
    /// Makes room for so many more packets than it holds.
    pub(crate) fn reserve(&mut self, more: usize) {
        let room = self.len() + more;
        if room > self.slots.len() {
            self.move_to(room);
        }
    }

    /// Appends a packet; it, in its place.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) -> &mut Packet {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len());
        self.len += 1;
        self.slots[place].put(packet)
    }

    /// Takes the oldest packet of a ring that is known to hold one.
    #[inline]
    pub(crate) fn take(&mut self) -> Packet {
        debug_assert!(self.len > 0, "nothing to take");
        let packet = self.slots[self.head as usize].take();
        self.head = self.place(1) as u32;
        self.len -= 1;
        packet
    }

    /// Takes the newest packet.
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        let place = self.place(self.len());
        Some(self.slots[place].take())
    }

    /// Takes the packet at `index`; those behind it move up.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Packet> {
        if index >= self.len() {
            return None;
        }
        for index in index + 1..self.len() {
            let (before, here) = (self.place(index - 1), self.place(index));
            self.slots.swap(before, here);
        }
        self.pop_last()
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Packet> {
        (self.len > 0).then(|| self.slots[self.head as usize].packet())
    }

    /// All packets, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let (wrapped, first) = self.slots.split_at(self.head as usize);
        first
            .iter()
            .chain(wrapped)
            .take(self.len())
            .map(Slot::packet)
    }

    /// How many.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Where the packet at `index` is.
    #[inline]
    fn place(&self, index: usize) -> usize {
        let place = self.head as usize + index;
        if place < self.slots.len() {
            place
        } else {
            place - self.slots.len()
        }
    }

    #[cold]
    fn grow(&mut self) {
        let more = (self.len() / 4).max(LEAST_GROWTH);
        self.move_to(self.len() + more);
    }

    #[cold]
    fn move_to(&mut self, room: usize) {
        assert!(
            u32::try_from(room).is_ok(),
            "a ring holds fewer than 2^32 packets"
        );
        let mut slots = Vec::with_capacity(room);
        let (wrapped, first) = self.slots.split_at_mut(self.head as usize);
        let packets = first.iter_mut().chain(wrapped).take(self.len as usize);
        slots.extend(packets.map(|slot| mem::replace(slot, Slot::EMPTY)));
        slots.resize_with(room, || Slot::EMPTY);
        (self.slots, self.head) = (slots.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::in_order::{compare_with_a_deque, in_order, steps};

    in_order!(Ring);

    proptest! {
        #[test]
        fn it_holds_what_a_deque_holds(steps in steps(), room in 0_usize..40) {
            let mut ring = Ring::default();
            ring.reserve(room);
            compare_with_a_deque(steps, &mut ring, |ring| assert!(ring.slots.len() >= room));
        }
    }
}
