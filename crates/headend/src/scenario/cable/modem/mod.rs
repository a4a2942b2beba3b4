//! Modems and service classes: how they are [written], their [layers], the modems' plan, and what a
//! [modem's file](modem_file) says.

mod layers;
pub(in crate::scenario) mod modem_file;
mod plan;
mod written;

pub(super) use plan::plan;
pub(in crate::scenario) use plan::{ModemPlan, Modems, Profile};
pub use written::{Modem, ServiceClass};
