//! Packets of many queues in one slab: a queue is a chain through it.
//!
//! A scheduler of a thousand queues needs room for what waits in all of them together, not for what may wait in each. A slot is used again as soon
//! as its packet has left, so that the slab is as large as the most packets that ever waited at once, and then grows no more.

use std::mem;

use crate::packet::Packet;
use crate::ring::{EMPTY, Slot};

/// No slot.
const NONE: u32 = u32::MAX;

/// The slab.
#[derive(Debug)]
pub(super) struct Pool {
    /// By slot.
    packets: Vec<Slot>,
    links: Vec<Link>,
    /// The first free slot; the others follow by [`Link::next`].
    free: u32,
}

#[derive(Debug, Clone, Copy)]
struct Link {
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
}

impl Chain {
    pub(super) const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
    };
}

impl Pool {
    pub(super) const fn new() -> Self {
        Self {
            packets: Vec::new(),
            links: Vec::new(),
            free: NONE,
        }
    }

    /// Makes room for this many packets at once.
    pub(super) fn reserve(&mut self, packets: usize) {
        let more = packets.saturating_sub(self.packets.len());
        self.packets.reserve(more);
        self.links.reserve(more);
    }

    #[inline]
    pub(super) fn push(&mut self, chain: &mut Chain, packet: Packet) -> &mut Packet {
        let index = self.take_slot(chain.tail);
        match self.links.get_mut(chain.tail as usize) {
            Some(last) => last.next = index,
            None => chain.head = index,
        }
        chain.tail = index;
        let place = &mut self.packets[index as usize].0;
        *place = packet;
        place
    }

    #[inline]
    pub(super) fn pop(&mut self, chain: &mut Chain) -> Option<Packet> {
        self.unlink(chain, chain.head)
    }

    pub(super) fn pop_last(&mut self, chain: &mut Chain) -> Option<Packet> {
        self.unlink(chain, chain.tail)
    }

    /// Takes the packet at `index` from the head of a chain of `packets`; walks there from the nearer end.
    pub(super) fn remove(
        &mut self,
        chain: &mut Chain,
        packets: u64,
        index: usize,
    ) -> Option<Packet> {
        let from_tail = (packets as usize).checked_sub(index + 1)?;
        let slot = if index <= from_tail {
            (0..index).fold(chain.head, |at, _| self.links[at as usize].next)
        } else {
            (0..from_tail).fold(chain.tail, |at, _| self.links[at as usize].previous)
        };
        self.unlink(chain, slot)
    }

    #[inline]
    pub(super) fn head(&self, chain: Chain) -> Option<&Packet> {
        self.packets.get(chain.head as usize).map(|slot| &slot.0)
    }

    /// The packets of a chain, oldest first.
    pub(super) fn iter(&self, chain: &Chain) -> impl Iterator<Item = &Packet> {
        let slot = |index: u32| (index != NONE).then_some(index as usize);
        let slots = std::iter::successors(slot(chain.head), move |&at| slot(self.links[at].next));
        slots.map(|at| &self.packets[at].0)
    }

    /// A free slot, to stand behind `previous`.
    #[inline]
    fn take_slot(&mut self, previous: u32) -> u32 {
        let Some(link) = self.links.get_mut(self.free as usize) else {
            return self.add_slot(previous);
        };
        let index = self.free;
        self.free = link.next;
        *link = Link {
            next: NONE,
            previous,
        };
        index
    }

    #[cold]
    fn add_slot(&mut self, previous: u32) -> u32 {
        let index = self.links.len() as u32;
        assert!(index < NONE, "a pool holds fewer than 2^32 packets");
        self.packets.push(Slot(EMPTY));
        self.links.push(Link {
            next: NONE,
            previous,
        });
        index
    }

    #[inline]
    fn unlink(&mut self, chain: &mut Chain, index: u32) -> Option<Packet> {
        let link = self.links.get_mut(index as usize)?;
        let Link { next, previous } = *link;
        link.next = self.free;
        self.free = index;
        match self.links.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => chain.head = next,
        }
        match self.links.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => chain.tail = previous,
        }
        let place = &mut self.packets[index as usize].0;
        Some(mem::replace(place, EMPTY))
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
                    (
                        pool.remove(chain, waiting as u64, index),
                        expected.remove(index),
                    )
                }
            };
            assert_eq!(found.map(|packet| packet.seq), wanted);
            let head = pool.head(chains[one]).map(|packet| packet.seq);
            assert_eq!(head, model[one].front().copied());
            let waiting = pool.iter(&chains[one]).map(|packet| packet.seq);
            assert!(waiting.eq(model[one].iter().copied()));
            most = most.max(model.iter().map(VecDeque::len).sum());
        }
        assert_eq!(
            pool.packets.len(),
            most,
            "no larger than what waited at once"
        );
    }

    #[test]
    fn a_slot_takes_no_more_than_its_packet_and_its_links() {
        assert_eq!(size_of::<Slot>(), size_of::<Packet>());
        assert_eq!(size_of::<Link>(), 8);
    }
}
