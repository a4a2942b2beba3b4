//! Low latency: the primary service flow of a direction becomes an aggregate of a classic and a
//! low-latency flow. How it is [written], its [plan], and what a scenario is [warned](check) of.

mod check;
mod plan;
mod written;

pub(in crate::scenario::cable) use check::warn;
pub(in crate::scenario) use plan::{AggregatePlan, Membership, Role};
pub(super) use plan::{aggregate_plan, nominal};
pub(in crate::scenario::cable) use plan::{
    default_estimator, is_default_of_file, is_reserved_name, low_latency_plan,
};
pub(in crate::scenario::cable) use written::Refused;
pub use written::{LowLatency, LowLatencyTable, Preset, ProtectionTable, QueueProtection, Switch};
