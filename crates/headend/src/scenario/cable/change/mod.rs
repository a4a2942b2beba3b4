//! Changes of service flows during the run: how one is [written](config), and its plan.

mod config;
mod plan;

pub use config::Change;
pub(super) use plan::plan;
pub(in crate::scenario) use plan::{ChangeKind, ChangePlan};
