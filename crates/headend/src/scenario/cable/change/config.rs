//! A change of a service flow as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::docsis::qos::Scheduling;
use crate::named::Named;
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::cable::service_flow::{Refused, ServiceFlow, layer};
use crate::scenario::queue::Queue;
use crate::scenario::span::Several;
use crate::time::Duration;
use crate::units::{ByteCount, MaximumRate, Rate};

/// A change of a service flow during the run, as PacketCable Multimedia makes it. What it leaves
/// out stays as it was. Changes of one moment are made in the order of their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at: Duration,
    /// Of which modem, or group of modems. Default: every modem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modem: Option<String>,
    /// Which service flow: `up`, `down`, or the name of a further one; of one that is created, its
    /// name.
    pub service_flow: String,
    /// The service flow is created, with this table. It has its row in the results from the start,
    /// which stays empty until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Box<ServiceFlow>>,
    /// The service flow is deleted, with its classifiers. What waits in it is discarded
    /// (`discarded_service_flow_deleted`); later packets go where the other classifiers say. Its
    /// name is not used again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub delete: bool,
    /// Maximum sustained traffic rate R from then on, in bytes from after the HCS to the CRC.
    /// Tokens are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Peak traffic rate P from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<MaximumRate>,
    /// Maximum traffic burst B from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<ByteCount>,
    /// Minimum reserved traffic rate from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Upstream scheduling type from then on. What has been asked for is still granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Named<Scheduling>>,
    /// Which packets it takes from then on: in place of all its classifiers. What waits stays where
    /// it is.
    #[serde(default, rename = "match", skip_serializing_if = "Several::is_empty")]
    pub classifiers: Several<Classifier>,
    /// Whether AQM is disabled for it from then on: what waits moves into the other queue, as with
    /// `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm_disabled: Option<bool>,
    /// The queue from then on: packets that wait move into it in order, as far as there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Never there: low latency does not change during the run.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub(in crate::scenario::cable) low_latency: Option<Refused>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

layer!(Change {
    rate, peak, burst, minimum_reserved, priority, scheduling, aqm_disabled, queue
} besides { at, modem, service_flow, create, delete, classifiers, low_latency });
