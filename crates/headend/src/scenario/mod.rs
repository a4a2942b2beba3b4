//! Scenarios: the file that describes a whole experiment, from its text to a simulation that is ready to run.
//!
//! 1. [`parse`] reads TOML or JSON and the command line's overrides into the structs of [`raw`], whose doc comments are the
//!    reference documentation. Types refuse what has the wrong form.
//! 2. [`check`] resolves names, fills defaults and refuses what makes no sense. Its [`Scenario`] is whole: nothing after it validates.
//! 3. [`memory`] says how much memory a run can need, before anything of that size is made.
//! 4. [`build`] makes links, queues, lines, routes and applications of it: a [`Simulation`](crate::simulation::Simulation).
//!
//! Whatever is wrong becomes one [`ScenarioError`].

mod build;
mod cable;
mod check;
mod distance;
mod dot11b;
mod error;
mod header_fields;
mod json;
mod memory;
mod parse;
mod raw;
mod reference;
mod sites;
mod span;

pub use crate::named::{self, Named, OrTable};
pub use cable::*;
pub use check::{RequiredFile, Scenario, refuse, required_files};
pub use distance::{LogNormal, Normal, RttFrom};
pub use dot11b::*;
pub use error::{Origin, Problem, ScenarioError};
pub use header_fields::{Address, EtherType, IpProtocol, Network};
pub use memory::MemoryItem;
pub use parse::{Format, Override};
pub use raw::*;
pub use reference::{reference, schema};
pub use sites::{Place, Site};
pub use span::{Selection, Several, Span};
