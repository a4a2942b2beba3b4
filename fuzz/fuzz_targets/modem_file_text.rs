//! Fuzzes `Target::ModemFileText`.

#![no_main]

use headend_fuzz::mutate_file::mutate_file_text;
use headend_fuzz::tally;
use headend_fuzz::targets::Target;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(init: tally::begin(), |input: &[u8]| -> Corpus {
    if tally::attempt(Target::ModemFileText, input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % TABLE_IN == 0
        && let Some(other) = mutate_file_text(&data[..size], seed / TABLE_IN)
        && other.len() <= max_size
    {
        data[..other.len()].copy_from_slice(&other);
        return other.len();
    }
    fuzzer_mutate(data, size, max_size)
});

/// One in this many inputs is the text of another file, not other text.
const TABLE_IN: u32 = 4;
