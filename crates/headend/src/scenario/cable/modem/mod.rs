//! Modems and service classes: how they are [written], their [layers], the modems' plan, reading a
//! [modem's file](modem_file), and [writing](export) one from a plan.

mod export;
mod layers;
pub(in crate::scenario) mod modem_file;
mod plan;
mod written;

pub(in crate::scenario) use export::{ModemOf, file_of};
pub(super) use plan::plan;
pub(in crate::scenario) use plan::{ModemPlan, Modems, Profile};
pub use written::{Modem, ServiceClass};
