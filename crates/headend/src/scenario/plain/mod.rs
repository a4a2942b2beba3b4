//! Plain links: how one is [written], planned and built.

mod build;
mod medium;
mod overrides;
mod plan;
mod written;

pub(super) use overrides::PlainTables;
pub(super) use plan::{PlainPlan, plan};
pub use written::{LinkDirection, PointToPoint};
