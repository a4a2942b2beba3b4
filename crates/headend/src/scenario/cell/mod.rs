//! 802.11b cells: how one is [written], planned and built.

mod build;
mod plan;
mod written;

pub(super) use plan::{CellPlan, plan};
pub use written::{AccessPoint, Dot11b, Station};
