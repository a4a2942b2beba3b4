//! Real hosts: the [bounds](written) within which a run with them is to be trusted, and what a
//! scenario with them needs beyond what is [written](complete).

mod complete;
mod config;
mod hosts;

pub(super) use complete::complete;
pub use config::Emulation;
pub use hosts::Bounds;
