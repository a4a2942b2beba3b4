//! Service flows: how one is [written], which [keys] it has from which places, and its plan.

mod keys;
mod plan;
mod scheduling;
mod written;

pub use keys::Keys;
pub(super) use keys::layer;
pub(in crate::scenario) use keys::{Setting, Settings};
pub(in crate::scenario) use plan::FlowPlan;
pub(super) use plan::{Channel, DefaultBuffer, is_elastic, plan, plan_further};
pub(in crate::scenario) use plan::{default_queue, modem_queue};
pub(super) use written::DEFAULT_BURST;
pub use written::{Downstream, OneWay, OwnDownstream, ServiceFlow, Upstream};
