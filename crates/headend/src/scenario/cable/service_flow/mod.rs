//! Service flows: how one is [written](config), which [keys] it has from which places, and its
//! plan. With [low latency](low_latency), the primary one becomes an aggregate of two.

mod channel;
mod config;
mod keys;
mod low_latency;
mod plan;
mod scheduling;

pub(super) use channel::{Channel, DefaultBuffer};
pub(super) use config::DEFAULT_BURST;
pub use config::{Downstream, OneWay, OwnDownstream, ServiceFlow, Upstream};
pub use keys::Keys;
pub(super) use keys::layer;
pub(in crate::scenario) use keys::{Setting, Settings};
pub(super) use low_latency::{AggregatePlan, Role};
pub(super) use low_latency::{
    DEFAULT_COUPLING, DEFAULT_PROTECTION, DEFAULT_WEIGHT, PROTECTION_IN_2019, Refused, WEIGHTS,
    default_estimator, is_default_of_file, is_reserved_name, low_latency_plan,
    warn as warn_of_low_latency,
};
pub use low_latency::{
    LowLatency, LowLatencyTable, Preset as LowLatencyPreset, ProtectionTable, QueueProtection,
    Switch as LowLatencySwitch,
};
pub(super) use plan::CLASSIC_BUFFER;
pub(in crate::scenario) use plan::FlowPlan;
pub(in crate::scenario) use plan::{classic_queue, default_queue, modem_queue};
pub(super) use plan::{modem_buffer, plan, plan_further};
pub(super) use scheduling::is_elastic;
