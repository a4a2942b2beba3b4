//! Modems and service classes: how they are [written](config), their [layers], the modems' plan,
//! reading a [modem's file](modem_file), and [writing](export) one from a plan.

mod config;
mod export;
mod layers;
pub(in crate::scenario) mod modem_file;
mod plan;

pub use config::{Modem, ServiceClass};
pub(in crate::scenario) use export::{ModemOf, file_of};
pub use modem_file::{carry_low_latency, carry_queue, describe_modem_file, modem_file_defaults};
pub(super) use plan::plan;
pub(in crate::scenario) use plan::{ModemPlan, Modems, Profile};
