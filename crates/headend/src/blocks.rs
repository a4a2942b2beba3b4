//! Packets in order, in blocks that come and go: under a queue of which a plant has thousands.
//!
//! A queue that grows takes another block and moves nothing, and a block that has been emptied is the next to be filled. So its packets lie together
//! wherever the queue stands, in places that are still in the cache, and not all over the most room it ever needed.

use std::collections::VecDeque;
use std::mem;

use prefetch_index::prefetch_index;

use crate::packet::{Packet, Slot};

/// Packets of a block.
const BLOCK: usize = 8;

type Block = Box<[Slot; BLOCK]>;

fn block() -> Block {
    Box::new([const { Slot::EMPTY }; BLOCK])
}

/// Packets, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// With the oldest packet. It stays when the queue is empty, and is filled from its beginning then.
    first: Option<Block>,
    /// Where that is.
    head: u32,
    len: u32,
    /// With the newest packet, if that is not in the first.
    last: Option<Block>,
    /// Emptied, and the next to be filled. One stays when the queue is empty: it is soon as long again.
    spare: Option<Block>,
    /// Those between the first and the last: no more than hold packets.
    #[expect(
        clippy::box_collection,
        reason = "few queues are ever so long, and a plant has thousands of them"
    )]
    between: Option<Box<VecDeque<Block>>>,
}

impl Blocks {
    /// Appends a packet; it, in its place.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) -> &mut Packet {
        let place = self.head as usize + self.len();
        self.len += 1;
        if place >= BLOCK {
            return self.push_behind(place, packet);
        }
        let first = self.first.get_or_insert_with(block);
        first[place].put(packet)
    }

    /// Appends a packet behind the first block.
    #[inline(never)]
    fn push_behind(&mut self, place: usize, packet: Packet) -> &mut Packet {
        if place / BLOCK > self.behind() {
            let more = self.spare.take().unwrap_or_else(block);
            if let Some(earlier) = self.last.replace(more) {
                self.between.get_or_insert_default().push_back(earlier);
            }
        }
        let last = self.last.as_mut().expect("what is not in the first block");
        last[place % BLOCK].put(packet)
    }

    /// Takes the oldest packet of a queue that is known to hold one.
    #[inline]
    pub(crate) fn take(&mut self) -> Packet {
        let first = (self.first.as_mut()).expect("a queue that holds packets has a block");
        let packet = first[self.head as usize % BLOCK].take();
        self.len -= 1;
        self.head += 1;
        if self.len == 0 {
            self.rest();
        } else if self.head as usize == BLOCK {
            self.next_block();
        }
        packet
    }

    /// Takes the newest packet.
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        self.remove(self.len().checked_sub(1)?)
    }

    /// Takes the packet at `index`; those behind it move up.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Packet> {
        if index >= self.len() {
            return None;
        }
        let packet = self.place_mut(index).take();
        for index in index + 1..self.len() {
            let behind = self.place_mut(index).take();
            self.place_mut(index - 1).put(behind);
        }
        self.len -= 1;
        if self.len == 0 {
            self.rest();
        } else {
            let last = self.head as usize + self.len() - 1;
            if last / BLOCK < self.behind() {
                let before = self.between.as_mut().and_then(|between| between.pop_back());
                self.spare = mem::replace(&mut self.last, before);
            }
        }
        Some(packet)
    }

    /// The oldest packet.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Packet> {
        let first = self.first.as_ref().filter(|_| self.len > 0)?;
        Some(first[self.head as usize % BLOCK].packet())
    }

    /// All packets, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let places = self
            .first
            .iter()
            .chain(self.between.iter().flat_map(|between| between.iter()))
            .chain(&self.last)
            .flat_map(|block| block.iter());
        let held = places.skip(self.head as usize).take(self.len());
        held.map(Slot::packet)
    }

    /// Asks for the places of the oldest packet and of the next to come.
    #[inline]
    pub(crate) fn fetch_ends(&self) {
        if let Some(first) = &self.first {
            prefetch_index(first.as_slice(), self.head as usize);
        }
        let next = self.head as usize + self.len();
        if let Some(last) = self.last.as_ref().or(self.first.as_ref()) {
            prefetch_index(last.as_slice(), next % BLOCK);
        }
    }

    /// How many.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// The first block is empty, and others are not.
    #[cold]
    fn next_block(&mut self) {
        self.head = 0;
        let behind = self
            .between
            .as_mut()
            .and_then(|between| between.pop_front());
        let next = behind.or_else(|| self.last.take());
        self.spare = mem::replace(&mut self.first, next);
    }

    /// It is empty: begins at the beginning of its first block.
    #[inline]
    fn rest(&mut self) {
        self.head = 0;
        debug_assert_eq!(self.behind(), 0, "the last packet is in the first block");
    }

    /// Blocks behind the first.
    #[inline]
    fn behind(&self) -> usize {
        let between = self.between.as_ref().map_or(0, |between| between.len());
        between + usize::from(self.last.is_some())
    }

    /// The place of the packet at `index`.
    #[inline]
    fn place_mut(&mut self, index: usize) -> &mut Slot {
        let place = self.head as usize + index;
        let block = match place / BLOCK {
            0 => self
                .first
                .as_mut()
                .expect("a queue that holds packets has a block"),
            behind => {
                let between = self.between.as_mut();
                (between.and_then(|between| between.get_mut(behind - 1)))
                    .or(self.last.as_mut())
                    .expect("behind the others")
            }
        };
        &mut block[place % BLOCK]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::in_order::{compare_with_a_deque, in_order, steps};

    in_order!(Blocks);

    proptest! {
        #[test]
        fn they_hold_what_a_deque_holds(steps in steps()) {
            let mut blocks = Blocks::default();
            compare_with_a_deque(steps, &mut blocks, |blocks| {
                let places = blocks.head as usize + blocks.len();
                assert!(blocks.behind() <= places.saturating_sub(1) / BLOCK, "{blocks:?}");
            });
        }
    }
}
