//! Plain links: how one is [written], planned and built.

mod build;
mod plan;
mod written;

pub(super) use plan::{PlainPlan, plan};
pub use written::{LinkDirection, PointToPoint};
