//! The parts of the memory that a run can need.

use std::cmp::Reverse;

/// Parts, summed up over what is written once.
#[derive(Debug, Default)]
pub(super) struct Sum(Vec<MemoryItem>);

impl Sum {
    pub(super) fn add(&mut self, keys: &str, text: String, bytes: f64, is_table: bool) {
        if bytes >= 1.0 {
            self.0.push(MemoryItem {
                keys: keys.to_owned(),
                text,
                // What is more than a number of 64 bits holds is the largest.
                bytes: bytes as u64,
                is_table,
            });
        }
    }

    pub(super) fn items(mut self) -> Vec<MemoryItem> {
        self.0.sort_by_key(|part| Reverse(part.bytes));
        self.0
    }
}

/// A part of the memory that a run can need.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryItem {
    /// The keys that make it what it is.
    pub keys: String,
    /// How it is computed, as a product.
    pub text: String,
    /// Bytes at most.
    pub bytes: u64,
    /// Whether it is of result tables, part of which stays when the run is over.
    pub is_table: bool,
}
