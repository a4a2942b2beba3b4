//! Fuzzes `Target::ScenarioRun`.

#![no_main]

use std::sync::{Mutex, PoisonError};

use headend_fuzz::mutate::Mutator;
use headend_fuzz::tally;
use headend_fuzz::targets::Target;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

static MUTATOR: Mutex<Option<Mutator>> = Mutex::new(None);

fuzz_target!(init: tally::begin(), |input: &[u8]| -> Corpus {
    if tally::attempt(Target::ScenarioRun, input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut mutator = MUTATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let mutator = mutator.get_or_insert_default();
    let is_by_grammar = seed % BYTES_IN != 0;
    let other = Some(&data[..size]).filter(|_| is_by_grammar);
    match other.and_then(|input| mutator.mutate(input, seed)) {
        Some(other) if other.len() <= max_size => {
            data[..other.len()].copy_from_slice(&other);
            other.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});

/// One in so many is changed byte by byte.
const BYTES_IN: u32 = 20;
