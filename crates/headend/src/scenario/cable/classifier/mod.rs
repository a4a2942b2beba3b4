//! Classifiers: how one is [written], its plan, and the engine's form of it.

mod plan;
mod rule;
mod written;

pub(in crate::scenario) use plan::RulePlan;
pub(super) use plan::{rule_plan, rule_plans};
pub(super) use rule::rule;
pub use written::{Classifier, EcnField, TypeOfService};
