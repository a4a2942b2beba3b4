//! Packets of many queues in one slab: a queue is a chain through it.
//!
//! A scheduler of a thousand queues needs room for what waits in all of them together, not for what may wait in each. A slot is used again as soon
//! as its packet has left, so that the slab is as large as the most packets that ever waited at once, and then grows no more.

use crate::packet::Packet;

/// No slot.
const NONE: u32 = u32::MAX;

/// The slab.
#[derive(Debug)]
pub(super) struct Pool {
    slots: Vec<Slot>,
    /// The first free slot; the others follow by [`Slot::next`].
    free: u32,
}

#[derive(Debug)]
struct Slot {
    packet: Option<Packet>,
    /// Towards the tail.
    next: u32,
    /// Towards the head.
    previous: u32,
}

/// One queue's packets, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    head: u32,
    tail: u32,
    packets: u32,
    /// Bytes, as whoever holds the chain counts them.
    pub(super) bytes: u64,
}

impl Chain {
    pub(super) const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        packets: 0,
        bytes: 0,
    };

    pub(super) fn packets(&self) -> u64 {
        u64::from(self.packets)
    }
}

impl Pool {
    pub(super) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: NONE,
        }
    }

    /// Makes room for this many packets at once.
    pub(super) fn reserve(&mut self, packets: usize) {
        self.slots.reserve(packets.saturating_sub(self.slots.len()));
    }

    pub(super) fn push(&mut self, chain: &mut Chain, packet: Packet) -> &mut Packet {
        let index = self.take_slot(chain.tail);
        match chain.tail {
            NONE => chain.head = index,
            tail => self.slots[tail as usize].next = index,
        }
        chain.tail = index;
        chain.packets += 1;
        self.slots[index as usize].packet.insert(packet)
    }

    pub(super) fn pop(&mut self, chain: &mut Chain) -> Option<Packet> {
        self.unlink(chain, chain.head)
    }

    pub(super) fn pop_last(&mut self, chain: &mut Chain) -> Option<Packet> {
        self.unlink(chain, chain.tail)
    }

    /// Takes the packet at `index` from the head; walks there from the nearer end.
    pub(super) fn remove(&mut self, chain: &mut Chain, index: usize) -> Option<Packet> {
        let from_tail = (chain.packets as usize).checked_sub(index + 1)?;
        let slot = if index <= from_tail {
            (0..index).fold(chain.head, |at, _| self.slots[at as usize].next)
        } else {
            (0..from_tail).fold(chain.tail, |at, _| self.slots[at as usize].previous)
        };
        self.unlink(chain, slot)
    }

    pub(super) fn head(&self, chain: &Chain) -> Option<&Packet> {
        self.slots.get(chain.head as usize)?.packet.as_ref()
    }

    /// The packets of a chain, oldest first.
    pub(super) fn iter(&self, chain: &Chain) -> impl Iterator<Item = &Packet> {
        let slot = |index: u32| self.slots.get(index as usize);
        std::iter::successors(slot(chain.head), move |at| slot(at.next))
            .filter_map(|slot| slot.packet.as_ref())
    }

    /// A free slot, to stand behind `previous`.
    fn take_slot(&mut self, previous: u32) -> u32 {
        if let Some(slot) = self.slots.get_mut(self.free as usize) {
            let index = self.free;
            self.free = slot.next;
            (slot.next, slot.previous) = (NONE, previous);
            return index;
        }
        let index = self.slots.len() as u32;
        assert!(index < NONE, "a pool holds fewer than 2^32 packets");
        self.slots.push(Slot {
            packet: None,
            next: NONE,
            previous,
        });
        index
    }

    fn unlink(&mut self, chain: &mut Chain, index: u32) -> Option<Packet> {
        let slot = self.slots.get_mut(index as usize)?;
        let packet = slot.packet.take();
        let (next, previous) = (slot.next, slot.previous);
        slot.next = self.free;
        self.free = index;
        match self.slots.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => chain.head = next,
        }
        match self.slots.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => chain.tail = previous,
        }
        chain.packets -= 1;
        packet
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Side;
    use crate::rng::Rng;

    fn packet(number: u64) -> Packet {
        Packet::datagram(FlowId(0), Side::Host, number, 1000, 1000)
    }

    #[test]
    fn chains_in_one_slab_are_queues_of_their_own() {
        let mut rng = Rng::for_path(1, "pool");
        let mut pool = Pool::new();
        let mut chains = [Chain::EMPTY; 5];
        let mut model: [VecDeque<u64>; 5] = Default::default();
        let mut most = 0;
        for number in 0..20_000 {
            let one = rng.below(5) as usize;
            let (chain, expected) = (&mut chains[one], &mut model[one]);
            let waiting = expected.len();
            let (found, wanted) = match rng.below(10) {
                0..=4 => {
                    pool.push(chain, packet(number));
                    expected.push_back(number);
                    (None, None)
                }
                5..=7 => (pool.pop(chain), expected.pop_front()),
                8 => (pool.pop_last(chain), expected.pop_back()),
                _ => {
                    let index = rng.below(waiting as u64 + 1) as usize;
                    (pool.remove(chain, index), expected.remove(index))
                }
            };
            assert_eq!(found.map(|packet| packet.seq), wanted);
            let head = pool.head(&chains[one]).map(|packet| packet.seq);
            assert_eq!(head, model[one].front().copied());
            assert_eq!(chains[one].packets(), model[one].len() as u64);
            most = most.max(model.iter().map(VecDeque::len).sum());
        }
        assert_eq!(pool.slots.len(), most, "no larger than what waited at once");
    }

    #[test]
    fn a_slot_takes_no_more_than_its_packet_and_its_links() {
        assert_eq!(size_of::<Slot>(), size_of::<Packet>() + 8);
    }
}
