//! Modems and service classes as they are written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::OrTable;
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::cable::service_flow::{Keys, OwnDownstream, ServiceFlow};
use crate::scenario::times::StartRange;
use crate::time::Duration;

/// A service class: what the modems of a tier have in common. What it leaves out is the line's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceClass {
    /// AQM disabled on all upstream service flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_aqm_disabled: Option<bool>,
    /// From the modem to the network.
    pub upstream: Keys,
    /// From the network to the modem.
    pub downstream: OwnDownstream,
    /// Further service flows by name, besides the line's or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_flow: BTreeMap<String, ServiceFlow>,
    /// Upstream drop classifiers by name, besides the line's or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drop: BTreeMap<String, Classifier>,
}

/// A modem, or several alike. What it leaves out is its service class's, and then the line's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Modem {
    /// So many of them: `NAME.1`, `NAME.2`, … Default: one, called `NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Its service class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_class: Option<String>,
    /// Service classes of the `count` modems with their weights, such as `{ gold = 30, basic = 70
    /// }`. They take turns, so that the first ten have them in nearly the same proportion as all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mix: BTreeMap<String, u32>,
    /// When it is switched on and begins to range: a time, or a table `{ from, to }` over which
    /// many are spread evenly. What is sent before it is registered is lost. Default: it is
    /// registered from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online_at: Option<OrTable<Duration, StartRange>>,
    /// Its configuration file (DOCSIS configuration file, which a modem downloads when it starts).
    /// The file is turned into the keys that it stands for: its service flows with their rates,
    /// buffers and AQM, its classifiers and drop classifiers. A key that is written beside `config`
    /// takes precedence over the file. The path is relative to the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The file has been read already, and its settings are written beside it as keys. Scenarios in
    /// results have this key; nobody needs to write it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub config_read: bool,
    /// A file whose integrity check (CM MIC, TLV 6) is not that of its content is simulated all the
    /// same. Without this key, here or on the line, it is refused, as a modem refuses it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignore_mic: bool,
    /// AQM disabled on all upstream service flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_aqm_disabled: Option<bool>,
    /// From the modem to the network.
    pub upstream: Keys,
    /// From the network to the modem.
    pub downstream: OwnDownstream,
    /// Further service flows by name, besides those of its class and line or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_flow: BTreeMap<String, ServiceFlow>,
    /// Upstream drop classifiers by name, besides those of its class and line or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drop: BTreeMap<String, Classifier>,
}
