//! Changes of service flows during the run: how one is [written], and its plan.

mod plan;
mod written;

pub(super) use plan::plan;
pub(in crate::scenario) use plan::{ChangeKind, ChangePlan};
pub use written::Change;
