//! Classifiers: how one is [written](config), its plan, and the engine's form of it.

mod config;
mod plan;
mod rule;

pub use config::{Classifier, EcnField, TypeOfService};
pub(in crate::scenario) use plan::RulePlan;
pub(super) use plan::{rule_plan, rule_plans};
pub(super) use rule::rule;
