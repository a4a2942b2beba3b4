//! What the engine makes of damaged input: the targets of `make fuzz`, apart from the fuzzer that finds inputs for them.
//!
//! 1. [`targets`] say what is tried with an input, and what must hold. An input that breaks it panics.
//! 2. [`mutate`] makes a scenario of another by the [`grammar`], so that many get past the checks.
//! 3. [`seeds`] are what is mutated first: the scenarios of this repository, and captures and traces made here.
//! 4. [`tally`] counts what was tried and keeps what failed.
//!
//! Inputs that once failed are in `corpus/TARGET`; the tests of this crate try them again.

pub mod grammar;
pub mod mutate;
pub mod seeds;
pub mod tally;
pub mod targets;
