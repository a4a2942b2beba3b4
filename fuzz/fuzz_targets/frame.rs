//! Fuzzes `Target::Frame`.

#![no_main]

use headend_fuzz::tally;
use headend_fuzz::targets::Target;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(init: tally::begin(), |input: &[u8]| -> Corpus {
    if tally::attempt(Target::Frame, input) {
        Corpus::Keep
    } else {
        Corpus::Reject
    }
});
