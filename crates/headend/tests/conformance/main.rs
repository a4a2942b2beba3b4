//! Rules for every queue, congestion control, application and kind of link that there is.
//!
//! Each suite goes through the engine's own list, so that a new variant is in it without being
//! added here. What a variant does otherwise, by its document, is in a table of the suite.

mod application;
mod cell;
mod congestion;
#[path = "../from_text/mod.rs"]
mod from_text;
mod kinds;
mod link;
mod queue;
