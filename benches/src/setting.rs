//! The scenario of a benchmark with the changes of the command line. An error in the changes is
//! printed in one line.

use std::collections::BTreeMap;
use std::process::exit;

use headend::scenario::{Format, Override, Scenario};

/// The scenario with these changes. Ends the program if the changed scenario is wrong.
pub fn read(text: &str, overrides: &[Override]) -> Scenario {
    Scenario::parse(text, Format::Toml, overrides, &BTreeMap::new()).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        exit(2)
    })
}
