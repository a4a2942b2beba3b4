//! Fuzzes `Target::ModemFileRun`.

#![no_main]

use headend_fuzz::mutate_file::mutate_file;
use headend_fuzz::tally;
use headend_fuzz::targets::Target;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(init: tally::begin(), |input: &[u8]| -> Corpus {
    if tally::attempt(Target::ModemFileRun, input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % BYTES_IN != 0 {
        let other = mutate_file(&data[..size], seed);
        if other.len() <= max_size {
            data[..other.len()].copy_from_slice(&other);
            return other.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
});

/// One in this many inputs is mutated by bytes, not by the table of TLVs.
const BYTES_IN: u32 = 3;
