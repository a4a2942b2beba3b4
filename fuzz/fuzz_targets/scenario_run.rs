//! Fuzzes `Target::ScenarioRun`.

#![no_main]

use headend_fuzz::mutate::mutate_in_place;
use headend_fuzz::tally;
use headend_fuzz::targets::Target;
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(init: tally::begin(), |input: &[u8]| -> Corpus {
    if tally::attempt(Target::ScenarioRun, input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let is_by_grammar = seed % BYTES_IN != 0;
    let other = is_by_grammar.then(|| mutate_in_place(data, size, max_size, seed));
    other
        .flatten()
        .unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});

/// One in this many inputs is mutated by bytes, not by the grammar.
const BYTES_IN: u32 = 20;
