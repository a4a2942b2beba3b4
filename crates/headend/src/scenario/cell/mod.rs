//! 802.11b cells: how one is [written], planned and built.

mod build;
mod medium;
mod overrides;
mod plan;
mod written;

pub(super) use overrides::CellTables;
pub(super) use plan::{CellPlan, plan};
pub use written::{AccessPoint, Dot11b, Station};
