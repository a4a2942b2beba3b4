//! 802.11b cells: how one is [written](config), and planned.

mod config;
mod plan;

pub use config::{AccessPoint, Dot11b, Station};
pub(in crate::scenario) use plan::plan;
