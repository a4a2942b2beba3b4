//! Cable lines: how one is [written](config), planned and built.
//!
//! A line has a [plant](crate::link::docsis::preset::Plant), [modems](modem) with [service
//! flows](service_flow) that [classifiers](classifier) send packets to, [neighbours], and
//! [changes](change) during the run.

mod admission;
mod build;
mod change;
mod classifier;
mod config;
mod line;
mod matching;
mod medium;
mod mib;
pub(in crate::scenario) mod modem;
mod neighbours;
mod overrides;
mod plan;
mod plant;
mod service_flow;

pub use change::Change;
pub use classifier::{Classifier, EcnField, TypeOfService};
pub use config::{BufferSettings, Docsis};
pub use modem::{
    Modem, ServiceClass, carry_low_latency, carry_queue, describe_modem_file, modem_file_defaults,
};
pub(super) use modem::{ModemOf, file_of};
pub use neighbours::NeighbourLoad;
pub(super) use overrides::{CableTables, is_from_files};
pub(super) use plan::{CablePlan, plan};
pub use service_flow::{
    Downstream, Keys, LowLatency, LowLatencyPreset, LowLatencySwitch, LowLatencyTable, OneWay,
    OwnDownstream, ProtectionTable, QueueProtection, ServiceFlow, Upstream,
};
pub(super) use service_flow::{classic_queue, default_queue, modem_queue};
