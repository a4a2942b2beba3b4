//! A home's own router before its modem, in one table: it becomes a plain link before the line.
//!
//! The link's sides are as fast as a home's network. What makes packets wait in it is a shaper a
//! few percent below the line's rate, in both directions: [`cake`](crate::qdisc::cake) has one of
//! its own; for every other queue the link gets a token bucket with the burst that sqm-scripts give
//! HTB, 1 ms at its rate, or one packet.

mod autorate;
mod config;
mod expand;

pub(super) use autorate::find_router;
pub use config::{NoneOrQueue, Router, RouterConfig};
pub(super) use expand::expand;
