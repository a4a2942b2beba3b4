//! Plain links: how one is [written](config), planned and built.

mod build;
mod config;
mod medium;
mod overrides;
mod plan;

pub use config::{LinkDirection, PointToPoint, RateLimit};
pub(super) use overrides::PlainTables;
pub(super) use plan::{PlainPlan, plan};
