//! What every algorithm of a kind must hold to, whatever it decides: random operations against a model, for each one there is.

mod cell;
#[path = "../from_text/mod.rs"]
mod from_text;
mod queue;
