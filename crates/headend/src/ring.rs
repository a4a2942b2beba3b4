//! Packets in order: a ring that grows by a quarter and gives its room back, under a queue or a delay line.
//!
//! What was given back is remembered: who is busy again begins with most of the room of the last time, instead of growing to it step by step.
//!
//! A packet is moved in and out as a whole: each has a cache line of its own, and where one was taken out an empty one stays. (A standard deque
//! gives an `Option`, whose mark is one of the packet's bytes; a packet moved around its mark in pieces holds up whoever reads it next.)

use std::mem;

use crate::flow::FlowId;
use crate::packet::{Ecn, Flags, Packet, Side};
use crate::time::Instant;

/// Packets by which a ring grows at least.
const LEAST_GROWTH: usize = 4;

/// What stands where no packet is.
pub(crate) const EMPTY: Packet = Packet {
    seq: 0,
    ack: 0,
    sent_at: Instant::ZERO,
    enqueued_at: Instant::ZERO,
    echo: Instant::ZERO,
    flow: FlowId(0),
    size: 0,
    payload: 0,
    window: 0,
    sack: None,
    frame: None,
    flags: Flags::NONE,
    ecn: Ecn::Ce,
    from: Side::Host,
    hop: 0,
};

/// A packet's place: a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Slot(pub(crate) Packet);

/// Packets, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    head: u32,
    len: u32,
    /// Room to begin with: three quarters of what was given back last, so that one long queue does not count for ever.
    usual: u32,
}

const _: () = assert!(
    size_of::<Ring>() == 32,
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

    /// Appends a packet; it, in its place. A field is set there: a byte written just before the move would hold the move up.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) -> &mut Packet {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len());
        self.len += 1;
        let slot = &mut self.slots[place];
        slot.0 = packet;
        &mut slot.0
    }

    /// Takes the oldest packet of a ring that is known to hold one.
    #[inline]
    pub(crate) fn take(&mut self) -> Packet {
        debug_assert!(self.len > 0, "nothing to take");
        let packet = mem::replace(&mut self.slots[self.head as usize].0, EMPTY);
        self.head = self.place(1) as u32;
        self.len -= 1;
        packet
    }

    /// Takes the newest packet.
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        let place = self.place(self.len());
        Some(mem::replace(&mut self.slots[place].0, EMPTY))
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
        (self.len > 0).then(|| &self.slots[self.head as usize].0)
    }

    /// All packets, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let (wrapped, first) = self.slots.split_at(self.head as usize);
        first
            .iter()
            .chain(wrapped)
            .take(self.len())
            .map(|slot| &slot.0)
    }

    /// How many.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Gives back what it has grown to, if it is empty. One that has not grown begins anew where it began, instead of wandering over all it has.
    #[inline]
    pub(crate) fn give_back(&mut self) {
        if self.len == 0 {
            self.head = 0;
            if self.slots.len() > LEAST_GROWTH {
                self.usual = (self.slots.len() - self.slots.len() / 4) as u32;
                self.slots = Box::default();
            }
        }
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
        let usual = mem::take(&mut self.usual) as usize;
        // By a quarter, not by all: a plant has thousands of queues.
        let more = (self.len() / 4).max(LEAST_GROWTH).max(usual);
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
        slots.extend(packets.map(|slot| mem::replace(slot, Slot(EMPTY))));
        slots.resize_with(room, || Slot(EMPTY));
        (self.slots, self.head) = (slots.into_boxed_slice(), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Push,
        Pop,
        PopLast,
        Remove(usize),
        Reserve(usize),
        GiveBack,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => Just(Step::Push),
            3 => Just(Step::Pop),
            1 => Just(Step::PopLast),
            1 => (0_usize..40).prop_map(Step::Remove),
            1 => (0_usize..40).prop_map(Step::Reserve),
            1 => Just(Step::GiveBack),
        ]
    }

    proptest! {
        #[test]
        fn it_holds_what_a_deque_holds(steps in prop::collection::vec(step(), 1..200)) {
            let (mut ring, mut model) = (Ring::default(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                let number = number as u64;
                let seq = |packet: Option<Packet>| packet.map(|packet| packet.seq);
                match step {
                    Step::Push => {
                        let packet = Packet::datagram(FlowId(1), Side::Peer, number, 1500, 1472);
                        prop_assert_eq!(ring.push(packet).seq, number);
                        model.push_back(number);
                    }
                    Step::Pop => prop_assert_eq!(seq((ring.len() > 0).then(|| ring.take())), model.pop_front()),
                    Step::PopLast => prop_assert_eq!(seq(ring.pop_last()), model.pop_back()),
                    Step::Remove(index) => prop_assert_eq!(seq(ring.remove(index)), model.remove(index)),
                    Step::Reserve(more) => ring.reserve(more),
                    Step::GiveBack => ring.give_back(),
                }
                prop_assert_eq!(ring.front().map(|packet| packet.seq), model.front().copied());
                prop_assert!(ring.iter().map(|packet| packet.seq).eq(model.iter().copied()));
                prop_assert_eq!(ring.len(), model.len());
            }
        }
    }
}
