//! Scenarios: the file that describes a whole experiment, from its text to a simulation that is
//! ready to run.
//!
//! A scenario is read, planned and built:
//!
//! 1. [`document`] reads TOML or JSON, and the command line's overrides, into the tables of
//!    [`raw`], whose doc comments are the reference documentation. Types refuse what has the wrong
//!    form.
//! 2. [`plan`] resolves names, writes defaults out and refuses what makes no sense. Its
//!    [`Scenario`] is whole: nothing after it validates.
//! 3. [`build`] makes links, queues, lines, routes and applications of it: a
//!    [`Simulation`](crate::simulation::Simulation). [`memory`] estimates before that how much
//!    memory a run can need.
//!
//! Each subject has a folder with all three: how it is written (`config.rs`), planned (`plan.rs`)
//! and built (`build.rs`). The kinds of [`link`] are [`cable`], [`cell`] and [`plain`]; [`flow`]s
//! run between [`host`]s over links. [`emulation`] is what real hosts need besides. What several
//! subjects have in common is a file beside the folders: it imports none of them. [`medium`] is
//! what the rest needs of a link, whatever its kind.
//!
//! Whatever is wrong becomes one [`ScenarioError`].

mod attachment;
mod build;
mod builder;
mod cable;
mod capture;
mod cell;
mod classes;
mod distance;
mod document;
mod emulation;
mod error;
mod files;
mod flow;
mod header_fields;
mod host;
mod link;
mod medium;
mod memory;
mod modem_export;
mod names;
mod plain;
mod plan;
mod queue;
mod rate;
mod raw;
mod recorded;
mod reference;
mod router;
mod span;
mod steps;
mod tables;
mod times;
mod traced;
mod varying;

pub use crate::clock::RealHost;
pub use crate::named::{self, Named, OrTable};
pub use cable::*;
pub use capture::Capture;
pub use cell::dot11b::{AccessPoint, Dot11b, Station};
pub use cell::wifi::{
    Band, Edca, EdcaCategory, Sharing, Standard, VaryingRatio, Wifi, WifiAccessPoint, WifiStation,
};
pub use distance::{LogNormal, Normal, Place, RttFrom, Site};
pub use document::{Format, ModemFileRead, Override, SetKey};
pub use emulation::{Bounds, Emulation};
pub use error::{Origin, Problem, ScenarioError};
pub use files::{FileKind, RequiredFile};
pub use flow::{Ect, Flow, Path, PathLoss, PeriodicLoss, Starts};
pub use header_fields::{Address, EtherType, IpProtocol, MacAddress, MacRange, Network};
pub use host::Host;
pub use link::LinkConfig;
pub use memory::MemoryItem;
pub use plain::{LinkDirection, PointToPoint, RateLimit};
pub use plan::{Scenario, refuse, required_files};
pub use queue::Queue;
pub use rate::VaryingRate;
pub use raw::{FORMAT, Raw, Results};
pub use reference::{reference, schema};
pub use router::{NoneOrQueue, Router, RouterConfig};
pub use span::{Selection, Several, Span};
pub use times::StartRange;
pub use varying::{VaryingDelay, VaryingLoss};
