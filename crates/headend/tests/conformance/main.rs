//! Rules for every queue, congestion control, application and kind of link.
//!
//! Each suite iterates over the engine's own list, so that a new variant is tested without being
//! added here. A variant whose document differs from a rule is in the suite's table of exceptions.

mod application;
mod cell;
mod congestion;
#[path = "../from_text/mod.rs"]
mod from_text;
mod kinds;
mod link;
mod queue;
