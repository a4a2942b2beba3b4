//! Low latency: the primary service flow of a direction becomes an [aggregate] of a classic and a
//! low-latency flow. How it is [written](config), its [plan], and what a scenario is
//! [warned](check) of.

mod aggregate;
mod check;
mod config;
mod plan;

pub(in crate::scenario) use aggregate::{AggregatePlan, Membership, Role};
pub(in crate::scenario::cable) use aggregate::{
    DEFAULT_COUPLING, DEFAULT_PROTECTION, DEFAULT_WEIGHT, PROTECTION_IN_2019, WEIGHTS,
    default_estimator, is_reserved_name,
};
pub(super) use aggregate::{aggregate_plan, nominal};
pub(in crate::scenario::cable) use check::warn;
pub(in crate::scenario::cable) use config::Refused;
pub use config::{LowLatency, LowLatencyTable, Preset, ProtectionTable, QueueProtection, Switch};
pub(in crate::scenario::cable) use plan::{is_default_of_file, low_latency_plan};
