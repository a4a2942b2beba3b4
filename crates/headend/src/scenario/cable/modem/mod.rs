//! Modems and service classes: how they are [written], their [layers], and the
//! modems' plan.

mod layers;
mod plan;
mod written;

pub(super) use plan::plan;
pub(in crate::scenario) use plan::{ModemPlan, Modems, Profile};
pub use written::{Modem, ServiceClass};
