//! A bench's scenario as a command line may change it: what is wrong with that is said in one line.

use std::collections::BTreeMap;
use std::process::exit;

use headend::scenario::{Format, Override, Scenario};

/// The scenario with these changes. Ends the program if they make none.
pub fn read(text: &str, overrides: &[Override]) -> Scenario {
    Scenario::parse(text, Format::Toml, overrides, &BTreeMap::new()).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        exit(2)
    })
}
