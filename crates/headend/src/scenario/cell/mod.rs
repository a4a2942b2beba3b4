//! 802.11b cells: how one is [written](config), planned and built.

mod build;
mod config;
mod medium;
mod overrides;
mod plan;

pub use config::{AccessPoint, Dot11b, Station};
pub(super) use overrides::CellTables;
pub(super) use plan::{CellPlan, plan};
