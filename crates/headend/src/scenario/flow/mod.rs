//! Flows: how one is [written](config), planned and built.

mod build;
mod config;
mod defaults;
mod members;
mod path;
mod plan;
mod real;
mod replay;
mod seen;
mod tcp;
mod times;

pub(super) use build::{FlowBuilder, LinkEnds};
pub use config::{Ect, Flow, Starts};
pub(super) use defaults::{empty_periods, fill_in_names};
pub use path::{Path, PathLoss, PeriodicLoss};
pub(super) use plan::{GroupPlan, PeerPlan, Surroundings, plan, warn_of_base_rtt};
pub(super) use replay::{embed_captures, replays};
pub(super) use seen::{packets, ports, ways};
