//! A cable line as it is written: its modems, their service flows, and what is the same for all.
//!
//! What stands at the line counts for every modem, what stands at a service class for the modems of
//! that class, what stands at a modem for itself. A line without `modem` has one, which has no
//! name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::classifier::Classifier;
use super::modem::{Modem, ServiceClass};
use super::neighbours::NeighbourLoad;
use super::service_flow::{Downstream, ServiceFlow, Upstream};
use crate::link::docsis::cmts::Placement;
use crate::link::docsis::preset::{PlantConfig, Preset};
use crate::named::OrTable;
use crate::scenario::traced::{Beside, Traced};
use crate::units::Limit;

/// A DOCSIS cable line: upstream requests and grants, rate limits and queues both ways.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Docsis {
    /// Generation, whose plant and queue are the defaults.
    pub preset: Preset,
    /// The configuration file (DOCSIS configuration file, which a modem downloads when it starts)
    /// of its modem, or of every modem that has none of its own. The file is turned into the keys
    /// that it stands for: its service flows with their rates, buffers and AQM, its classifiers and
    /// drop classifiers. A key that is written beside `config` takes precedence over the file. The
    /// path is relative to the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The file has been read already, and its settings are written beside it as keys. Scenarios in
    /// results have this key; nobody needs to write it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub config_read: bool,
    /// A file whose integrity check (CM MIC, TLV 6) is not that of its content is simulated all the
    /// same. Without this key it is refused, as a modem refuses it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignore_mic: bool,
    /// The plant, where it differs from the generation's.
    pub plant: PlantConfig,
    /// Where a MAP's grants begin.
    pub placement: Placement,
    /// AQM disabled on all upstream service flows of every modem (TLV 76): their queues drop at
    /// their tail, and keep the buffers that they have.
    pub upstream_aqm_disabled: bool,
    /// What the CMTS does with the buffer sizes of upstream service flows (Buffer Control §6.3).
    pub buffer_settings: BufferSettings,
    /// From the modem to the network. Of every modem, where there are several.
    pub upstream: Upstream,
    /// From the network to the modem. Of every modem, where there are several.
    pub downstream: Downstream,
    /// Further service flows by name, with the packets they take. Every modem has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_flow: BTreeMap<String, ServiceFlow>,
    /// Upstream drop classifiers by name: packets that no modem lets out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drop: BTreeMap<String, Classifier>,
    /// Service classes by name: the tiers that modems share. What a class leaves out is the line's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_class: BTreeMap<String, ServiceClass>,
    /// Several modems by name, in place of the only one: single ones, or `count` alike.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub modem: BTreeMap<String, Modem>,
    /// Other customers of the upstream, as a load without packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourLoad>,
    /// Changes of service flows during the run, by name: what an operator's policy server makes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub change: BTreeMap<String, Change>,
}

/// What the CMTS does with the buffer sizes that the configuration has for upstream service flows:
/// Buffer Control's, and the `limit` of a modem's queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BufferSettings {
    /// The CMTS does not pass them on: every modem runs the buffer that it has by default, with its
    /// AQM, if it has any.
    pub dropped: bool,
    /// That buffer: a size, or a time at the sustained rate. Default: `"250 ms"` for generations
    /// whose modems have AQM (AQM paper §9), `"256 KiB"` before, whatever the rate (Buffer Control
    /// §5.2.2: modems have 60 to 300 KiB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_buffer: Option<Limit>,
}

impl Docsis {
    /// Everything that varies, with its key.
    pub(in crate::scenario) fn varying(&mut self) -> Vec<(&'static str, Traced<'_>)> {
        let capacities = [
            ("upstream.capacity", self.upstream.capacity.as_mut()),
            ("downstream.capacity", self.downstream.capacity.as_mut()),
        ];
        let varying = capacities.into_iter().filter_map(|(key, rate)| match rate {
            Some(OrTable::Table(rate)) => Some((key, Traced::Rate(rate, Beside::Channel))),
            _ => None,
        });
        varying.collect()
    }
}
