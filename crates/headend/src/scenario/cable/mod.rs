//! Cable lines: how one is [written], planned and built.
//!
//! A line has a [plant](crate::link::docsis::preset::Plant), [modems](modem) with [service
//! flows](service_flow) that [classifiers](classifier) send packets to, [neighbours], and
//! [changes](change) during the run.

mod admission;
mod build;
mod change;
mod classifier;
mod line;
mod matching;
mod medium;
mod modem;
mod neighbours;
mod overrides;
mod plan;
mod plant;
mod service_flow;
mod written;

pub use change::Change;
pub use classifier::{Classifier, EcnField, TypeOfService};
pub use modem::{Modem, ServiceClass};
pub use neighbours::NeighbourLoad;
pub(super) use overrides::CableTables;
pub(super) use plan::{CablePlan, plan};
pub use service_flow::{Downstream, Keys, OneWay, OwnDownstream, ServiceFlow, Upstream};
pub use written::{BufferSettings, Docsis};
