//! What every algorithm of a kind must hold to, whatever it decides: random operations against a model, for each one there is.

mod queue;
