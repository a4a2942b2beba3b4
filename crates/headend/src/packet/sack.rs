//! The SACK blocks of packets in the network (RFC 2018 §3). Few packets carry any: a pool holds the
//! blocks, and a packet holds the number of its record.

use std::num::NonZeroU32;

use super::SackId;

/// How many blocks fit into the options beside the timestamp option.
pub const MAX_BLOCKS: usize = 3;

/// Ranges of sequence numbers that arrived out of order, most recent first. A range is its first
/// byte and the byte after its last. RFC 2883 §4: the first block may instead be a range that
/// arrived twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u64, u64); MAX_BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// Appends a block. Returns false if there is no room.
    pub fn push(&mut self, start: u64, end: u64) -> bool {
        let index = usize::from(self.len);
        if index == MAX_BLOCKS {
            return false;
        }
        self.blocks[index] = (start, end);
        self.len += 1;
        true
    }

    /// The blocks in order.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The number of records for which memory is allocated at the start.
const ROOM: usize = 4096;

/// The SACK blocks of packets in flight. A released record is reused, so that the memory is that of
/// the most records that were in flight at once.
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
    /// Stores `blocks` and returns the number of their record.
    pub fn store(&mut self, blocks: SackBlocks) -> SackId {
        if let Some(id) = self.free.pop() {
            self.records[id.0.get() as usize - 1] = blocks;
            return id;
        }
        self.records.push(blocks);
        SackId(NonZeroU32::new(self.records.len() as u32).expect("just pushed"))
    }

    /// The blocks of record `id`.
    pub fn blocks(&self, id: SackId) -> &SackBlocks {
        &self.records[id.0.get() as usize - 1]
    }

    /// Frees the record of a packet that was delivered or discarded.
    pub fn release(&mut self, id: SackId) {
        self.free.push(id);
    }
}
