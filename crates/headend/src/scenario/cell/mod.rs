//! 802.11 cells: how one is written and planned, for [802.11b](dot11b) and for the [later
//! standards](wifi), and how it is built.

mod build;
pub(super) mod dot11b;
mod medium;
mod overrides;
mod plan;
pub(super) mod wifi;

pub(super) use overrides::CellTables;
pub(super) use plan::CellPlan;
