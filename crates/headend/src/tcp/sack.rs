//! SACK blocks on their way (RFC 2018, with duplicates of RFC 2883 among them), pooled outside the packet.

use std::num::NonZeroU32;

use crate::packet::SackId;

/// How many blocks fit beside the timestamp option.
pub const MAX_BLOCKS: usize = 3;

/// Ranges of sequence numbers that arrived out of order, most recent first: first byte, byte after the last. Before them there may be one that arrived
/// [twice](reported_duplicate).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u64, u64); MAX_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// Adds a block behind the others; false if there is no room.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        let index = usize::from(self.len);
        if index == MAX_BLOCKS {
            return false;
        }
        self.blocks[index] = (start, end);
        self.len += 1;
        true
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// What an acknowledgement of everything below `ack` with these blocks says has arrived twice (RFC 2883 §4): a first block that is acknowledged already,
/// or that lies within the second.
pub(super) fn reported_duplicate(ack: u64, blocks: &[(u64, u64)]) -> Option<(u64, u64)> {
    let &first = blocks.first()?;
    let within = |second: &(u64, u64)| second.0 <= first.0 && first.1 <= second.1;
    (first.0 < ack || blocks.get(1).is_some_and(within)).then_some(first)
}

/// Room for the blocks of so many packets is made in advance.
const ROOM: usize = 4096;

/// Keeps the blocks of packets in flight; memory stays at the most that were in flight at once.
#[derive(Debug)]
pub struct SackPool {
    records: Vec<SackBlocks>,
    free: Vec<SackId>,
}

impl Default for SackPool {
    fn default() -> Self {
        Self {
            records: Vec::with_capacity(ROOM),
            free: Vec::with_capacity(ROOM),
        }
    }
}

impl SackPool {
    /// Keeps `blocks`.
    pub fn store(&mut self, blocks: SackBlocks) -> SackId {
        if let Some(id) = self.free.pop() {
            self.records[id.0.get() as usize - 1] = blocks;
            return id;
        }
        self.records.push(blocks);
        SackId(NonZeroU32::new(self.records.len() as u32).expect("just pushed"))
    }

    /// The blocks kept under `id`.
    pub fn blocks(&self, id: SackId) -> &SackBlocks {
        &self.records[id.0.get() as usize - 1]
    }

    /// Forgets them.
    pub fn release(&mut self, id: SackId) {
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_block_that_is_acknowledged_or_part_of_the_second_is_a_duplicate() {
        // The acknowledgements of RFC 2883 §4.1.1 to §4.2.3 that report one, and others.
        let (whole, part) = ((3000, 3500), (1000, 1500));
        let vectors: [(u64, &[(u64, u64)], _); 9] = [
            (4000, &[whole], Some(whole)),
            (4000, &[whole, (4500, 5000)], Some(whole)),
            (4000, &[(5000, 5500), (4500, 5500)], Some((5000, 5500))),
            (2500, &[part], Some(part)),
            (2500, &[part, (3000, 3500)], Some(part)),
            (1000, &[(1500, 2000), (1500, 3000)], Some((1500, 2000))),
            (4000, &[(4500, 5000)], None),
            (1000, &[(2500, 3000), (1500, 2000), (3500, 4000)], None),
            (1000, &[], None),
        ];
        for (ack, blocks, duplicate) in vectors {
            assert_eq!(reported_duplicate(ack, blocks), duplicate, "{blocks:?}");
        }
    }
}
