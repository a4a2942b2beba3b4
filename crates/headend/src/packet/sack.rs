//! SACK blocks of packets on their way (RFC 2018 §3). Few packets carry any, so they stand in a
//! pool, and a packet has the number of its record.

use std::num::NonZeroU32;

use super::SackId;

/// How many blocks fit beside the timestamp option.
pub const MAX_BLOCKS: usize = 3;

/// Ranges of sequence numbers that arrived out of order, most recent first: first byte, byte after
/// the last. RFC 2883 §4: the first block may instead be a range that arrived twice.
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

/// Records for which memory is allocated at the start.
const ROOM: usize = 4096;

/// The blocks of packets in flight. A released record is used again, so that memory stays at the
/// most that were in flight at once.
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

    /// The packet has arrived or is lost: its record is free.
    pub fn release(&mut self, id: SackId) {
        self.free.push(id);
    }
}
