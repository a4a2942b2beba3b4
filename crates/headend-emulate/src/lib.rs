//! Real programs behind a modelled line, in real time (Linux).
//!
//! Each real host of the scenario is a network namespace with a TUN. One thread, the loop, is the
//! engine's clock: it sleeps until the next event or until a TUN has a frame, gives frames to the
//! engine, and writes those that have crossed the network to the TUN of the host that they are for.
//!
//! From the ground up: [`mod@error`]; `system` (system calls); `lateness` (how late frames are
//! written); `tun`, `namespaces`, `names`, `outside`, `entry` (where the programs run); `commands`
//! (the programs); `recorder` (arrivals into a file); `clock` (the loop); [`emulation`] puts them
//! together.

#![cfg(target_os = "linux")]

mod clock;
mod commands;
pub mod emulation;
mod entry;
pub mod error;
mod lateness;
mod names;
mod namespaces;
mod outside;
mod recorder;
mod system;
mod tun;

pub use emulation::{Emulation, Options, Update};
pub use entry::enter;
pub use error::Error;
