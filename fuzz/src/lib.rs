//! Robustness of the engine and of its readers against damaged input: the targets of `make fuzz`,
//! separate from the fuzzer that generates the inputs.
//!
//! 1. [`targets`] define what is done with an input, and what must hold. An input that violates it
//!    panics.
//! 2. [`mutate`] derives a scenario from another by the [`grammar`], so that many pass the checks;
//!    [`mutate_file`] derives a modem's file from another by the table of TLVs.
//! 3. [`seeds`] are mutated first: the scenarios of this repository, and captures, traces,
//!    frames and modems' files made here.
//! 4. [`tally`] counts what was tried and keeps what failed.
//!
//! Inputs that once failed are in `corpus/TARGET`; the tests of this crate try them again.

pub mod grammar;
pub mod mutate;
pub mod mutate_file;
pub mod seeds;
pub mod tally;
pub mod targets;
