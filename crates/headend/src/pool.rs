//! Packets of many queues or delay lines in one slab: each is a chain through it.
//!
//! A scheduler of a thousand queues, or a plant of a thousand lines, needs room for what waits in all of them together, not for what may wait in
//! each. A slot is used again as soon as its packet has left, so that the slab is as large as the most packets that ever waited at once, and then grows
//! no more.

use std::mem;

use prefetch_index::prefetch_index;

use crate::packet::{Packet, Slot};

/// Slots by which a slab grows at least.
const LEAST_GROWTH: usize = 16;

/// No slot.
const NONE: u32 = u32::MAX;

/// The slab.
#[derive(Debug)]
pub(crate) struct Pool {
    /// By slot.
    packets: Vec<Slot>,
    /// By slot: the one behind it in its queue. Apart from the other direction, which a queue served from its head hardly asks for.
    next: Vec<u32>,
    /// By slot: the one before it, unless it is a head.
    previous: Vec<u32>,
    /// The first free slot; the others follow by `next`.
    free: u32,
}

/// One queue's packets, oldest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    head: u32,
    /// Means nothing while there is no head.
    tail: u32,
}

impl Chain {
    pub(crate) const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
    };
}

impl Pool {
    pub(crate) const fn new() -> Self {
        Self {
            packets: Vec::new(),
            next: Vec::new(),
            previous: Vec::new(),
            free: NONE,
        }
    }

    /// Makes room for this many packets at once.
    pub(crate) fn reserve(&mut self, packets: usize) {
        let more = packets.saturating_sub(self.packets.len());
        self.packets.reserve_exact(more);
        self.next.reserve_exact(more);
        self.previous.reserve_exact(more);
    }

    #[inline]
    pub(crate) fn push(&mut self, chain: &mut Chain, packet: Packet) -> &mut Packet {
        let slot = self.take_slot(chain.tail);
        if chain.head == NONE {
            chain.head = slot;
        } else {
            self.next[chain.tail as usize] = slot;
        }
        chain.tail = slot;
        self.packets[slot as usize].put(packet)
    }

    /// Takes the packet at the head of a chain that is not empty.
    #[inline]
    pub(crate) fn take(&mut self, chain: &mut Chain) -> Packet {
        let slot = chain.head;
        chain.head = mem::replace(&mut self.next[slot as usize], self.free);
        self.free(slot)
    }

    /// Takes the packet at the tail.
    pub(crate) fn pop_last(&mut self, chain: &mut Chain) -> Option<Packet> {
        (chain.head != NONE).then(|| {
            if chain.head == chain.tail {
                self.take(chain)
            } else {
                self.cut_out(chain, chain.tail)
            }
        })
    }

    /// Takes the packet at `index` from the head of a chain of `packets`; walks there from the nearer end.
    pub(crate) fn remove(
        &mut self,
        chain: &mut Chain,
        packets: u64,
        index: usize,
    ) -> Option<Packet> {
        let from_tail = (packets as usize).checked_sub(index + 1)?;
        if index == 0 {
            return Some(self.take(chain));
        }
        let slot = if index <= from_tail {
            (0..index).fold(chain.head, |at, _| self.next[at as usize])
        } else {
            (0..from_tail).fold(chain.tail, |at, _| self.previous[at as usize])
        };
        Some(self.cut_out(chain, slot))
    }

    #[inline]
    pub(crate) fn head(&self, chain: Chain) -> Option<&Packet> {
        self.packets.get(chain.head as usize).map(Slot::packet)
    }

    /// Asks for the oldest packet of a chain, if it has one, and for what is behind it.
    #[inline]
    pub(crate) fn fetch_head(&self, chain: Chain) {
        prefetch_index(&self.packets, chain.head as usize);
        prefetch_index(&self.next, chain.head as usize);
    }

    /// The packets of a chain, oldest first.
    pub(crate) fn iter(&self, chain: &Chain) -> impl Iterator<Item = &Packet> {
        let slot = |index: u32| (index != NONE).then_some(index as usize);
        let slots = std::iter::successors(slot(chain.head), move |&at| slot(self.next[at]));
        slots.map(|at| self.packets[at].packet())
    }

    /// A free slot, to stand behind `previous`.
    #[inline]
    fn take_slot(&mut self, previous: u32) -> u32 {
        let slot = self.free;
        let Some(next) = self.next.get_mut(slot as usize) else {
            return self.add_slot(previous);
        };
        self.free = mem::replace(next, NONE);
        self.previous[slot as usize] = previous;
        slot
    }

    #[cold]
    fn add_slot(&mut self, previous: u32) -> u32 {
        let slot = self.packets.len() as u32;
        assert!(slot < NONE, "a pool holds fewer than 2^32 packets");
        if self.packets.len() == self.packets.capacity() {
            // By an eighth, not by all: it may be large.
            self.reserve(self.packets.len() + (self.packets.len() / 8).max(LEAST_GROWTH));
        }
        self.packets.push(Slot::EMPTY);
        self.next.push(NONE);
        self.previous.push(previous);
        slot
    }

    /// Takes a packet that is not the head out of its chain.
    fn cut_out(&mut self, chain: &mut Chain, slot: u32) -> Packet {
        let previous = self.previous[slot as usize];
        let next = mem::replace(&mut self.next[slot as usize], self.free);
        self.next[previous as usize] = next;
        if slot == chain.tail {
            chain.tail = previous;
        } else {
            self.previous[next as usize] = previous;
        }
        self.free(slot)
    }

    /// Gives up the packet of a slot whose `next` is the free slot behind it.
    #[inline]
    fn free(&mut self, slot: u32) -> Packet {
        self.free = slot;
        self.packets[slot as usize].take()
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
                5..=7 => (
                    (!expected.is_empty()).then(|| pool.take(chain)),
                    expected.pop_front(),
                ),
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
}
