//! Low latency as it is written: a word, or a table of parameters.
//!
//! Numbers in brackets are TLVs of the modem's configuration file: 70 is an upstream aggregate, 71
//! a downstream one; 24 is an upstream service flow, 25 a downstream one.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};

use crate::link::docsis::qos::{RequestPolicy, Scheduling};
use crate::named::{Named, OrTable};
use crate::qdisc::immediate_aqm::Estimator;
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::span::Several;
use crate::time::Duration;
use crate::units::{Limit, MaximumRate};

/// A word or a table.
pub type LowLatency = OrTable<Switch, LowLatencyTable>;

/// Low latency in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LowLatencySwitch")]
pub enum Switch {
    /// Today's defaults, as an empty table.
    On,
    /// One service flow, without low latency.
    Off,
    /// The defaults of 2019, as `{ preset = "2019" }`.
    #[serde(rename = "2019")]
    In2019,
}

/// Low latency: the direction's service flow becomes an aggregate of two service flows, a classic
/// and a low-latency one. The keys `rate`, `peak`, `burst` and `peak_burst` beside it are then
/// those of the aggregate, which both flows share (TLV 70 upstream, 71 downstream), and `priority`
/// is that of both. All other keys beside it are the classic flow's. The table of a service class
/// or of a modem replaces the line's as a whole.
///
/// If neither the aggregate nor the low-latency flow has a rate, the low-latency queue estimates
/// its delay as zero: it marks packets by coupling alone, and queue protection sanctions nobody.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "LowLatency")]
pub struct LowLatencyTable {
    /// Which defaults the other keys have.
    pub preset: Preset,
    /// Scheduling weight (TLV 42.6 of the aggregate), 1 to 255: while both flows have packets, the
    /// low-latency flow gets this many 256ths of the aggregate's rate, and the classic flow the
    /// rest. Default: 230.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u8>")]
    pub weight: Option<i64>,
    /// Coupling factor (TLV 42.5 of the aggregate), 0.1 to 25.5 in tenths: a packet of the
    /// low-latency flow is marked with at least this factor times the square root of the classic
    /// queue's drop probability. Zero: no coupling. Nothing is coupled either while the classic
    /// queue is any other than `docsis_pie`. Default: 2.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
    /// Maximum sustained traffic rate of the low-latency flow alone (TLV 24.8). Default: no limit
    /// but the aggregate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Maximum sustained traffic rate of the classic flow alone (TLV 24.8). Default: no limit but
    /// the aggregate's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_rate: Option<MaximumRate>,
    /// Size of the low-latency queue (target buffer, TLV 24.35), in bytes or as a time at its rate.
    /// A packet enters while the queue holds less than this size less 2000 B. Default: what the
    /// aggregate's rate carries in 10 ms, and at least 40 000 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Delay of the low-latency queue from which on every packet is marked (IAQM maximum threshold,
    /// TLV 24.40.4). Below 67.3 Mbit/s the whole ramp lies higher, because it begins no lower than
    /// the time that two frames of 2000 B take. Default: `"1 ms"`, and the ramp of 475 us to 999 us
    /// in the preset `"2019"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_threshold: Option<Duration>,
    /// Width of the ramp (IAQM range exponent, TLV 24.40.5), 0 to 25: 2 to this power, in
    /// nanoseconds. Default: 19, which is 524 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u8>")]
    pub range_exponent: Option<i64>,
    /// How the low-latency queue estimates its delay. Default: `"virtual_queue"` upstream, where a
    /// packet waits for request and grant on an idle line too, and `"backlog"` downstream (MULPI
    /// Annex N).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimator: Option<Estimator>,
    /// AQM disabled for the low-latency flow (TLV 24.40.1): its queue drops at its tail, without
    /// marks and without queue protection.
    pub aqm_disabled: bool,
    /// Queue protection (TLVs 42.7 to 42.10 of the aggregate): packets of the flows that cause the
    /// delay of the low-latency queue go to the classic queue. `true`, `false`, or a table of its
    /// parameters. Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_protection: Option<QueueProtection>,
    /// Which packets the low-latency flow takes, in place of the default classifiers: a table of
    /// conditions that must all hold, or a list of such tables of which one must. The default
    /// classifiers take ECT(1), CE, DSCP 45 (NQB) and DSCP 46 (EF), in IPv4 and IPv6. Every
    /// classifier that the scenario writes is examined before them.
    #[serde(rename = "match", skip_serializing_if = "Several::is_empty")]
    pub classifiers: Several<Classifier>,
    /// Upstream scheduling type of the low-latency flow (TLV 24.15): `best_effort`, `nrtps` or
    /// `pgs`, as a name or as a table with its parameters. Default: `best_effort`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Named<Scheduling>>,
    /// What the low-latency flow may not do to get its upstream grants (TLV 24.16).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_policy: Option<RequestPolicy>,
    /// Latency histogram of the low-latency flow (TLV 24.40.6): upper edges of its bins, as those
    /// of the classic flow's `latency_histogram`. Default: no histogram.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Vec<Duration>>,
}

/// Defaults of Low Latency DOCSIS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "LowLatencyPreset")]
pub enum Preset {
    /// Today's specification.
    #[default]
    Current,
    /// The first release, by DOCS-QOS3-MIB of February 2019: the ramp begins at 475 us, flows are
    /// judged from 1 ms on and by a score of 2 ms, and scores decay with the exponent 17.
    #[serde(rename = "2019")]
    In2019,
}

/// Queue protection: on, off, or on with parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueProtection {
    /// In a word.
    Enabled(bool),
    /// A table.
    Table(ProtectionTable),
}

/// Parameters of queue protection.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "QueueProtectionTable")]
pub struct ProtectionTable {
    /// Whether flows are judged (TLV 42.7). Default: `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Delay of the low-latency queue above which flows are judged (CRITICALqL, TLV 42.8). Default:
    /// the upper end of the ramp; `"1 ms"` in the preset `"2019"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_threshold: Option<Duration>,
    /// Queuing score above which packets of a flow go to the classic queue, at a delay of
    /// `latency_threshold` (CRITICALqLSCORE, TLV 42.9): at twice the delay, half the score is
    /// enough. Default: `"4 ms"`; `"2 ms"` in the preset `"2019"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_threshold: Option<Duration>,
    /// Exponent of the rate at which scores decay (`LG_AGING`, TLV 42.10), 1 to 30: 19 is a rate of
    /// marked bytes of 3.9 Mbit/s, and each step more doubles it. Default: 19; 17 in the preset
    /// `"2019"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u8>")]
    pub drain_exponent: Option<i64>,
}

/// Low latency where it cannot be: reading it is an error that says where it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario::cable) enum Refused {}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SwitchVisitor)
    }
}

const SWITCHES: &[&str] = &["on", "off", "2019"];

struct SwitchVisitor;

impl Visitor<'_> for SwitchVisitor {
    type Value = Switch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"on\", \"off\", \"2019\" or a table")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Switch, E> {
        match name {
            "on" => Ok(Switch::On),
            "off" => Ok(Switch::Off),
            "2019" => Ok(Switch::In2019),
            _ => Err(Error::unknown_variant(name, SWITCHES)),
        }
    }

    // The command line reads 2019 as a number.
    fn visit_u64<E: Error>(self, number: u64) -> Result<Switch, E> {
        match number {
            2019 => Ok(Switch::In2019),
            _ => Err(Error::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Switch, E> {
        match number {
            2019 => Ok(Switch::In2019),
            _ => Err(Error::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PresetVisitor)
    }
}

struct PresetVisitor;

impl Visitor<'_> for PresetVisitor {
    type Value = Preset;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"current\" or \"2019\"")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Preset, E> {
        match name {
            "current" => Ok(Preset::Current),
            "2019" => Ok(Preset::In2019),
            _ => Err(Error::unknown_variant(name, &["current", "2019"])),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Preset, E> {
        match number {
            2019 => Ok(Preset::In2019),
            _ => Err(Error::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Preset, E> {
        match number {
            2019 => Ok(Preset::In2019),
            _ => Err(Error::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

impl Serialize for QueueProtection {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Enabled(is_enabled) => is_enabled.serialize(serializer),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for QueueProtection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ProtectionVisitor)
    }
}

struct ProtectionVisitor;

impl<'de> Visitor<'de> for ProtectionVisitor {
    type Value = QueueProtection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a table")
    }

    fn visit_bool<E: Error>(self, is_enabled: bool) -> Result<QueueProtection, E> {
        Ok(QueueProtection::Enabled(is_enabled))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueProtection, A::Error> {
        ProtectionTable::deserialize(MapAccessDeserializer::new(map)).map(QueueProtection::Table)
    }
}

impl JsonSchema for QueueProtection {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "QueueProtection".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (word, table) = (
            generator.subschema_for::<bool>(),
            generator.subschema_for::<ProtectionTable>(),
        );
        json_schema!({ "anyOf": [word, table] })
    }
}

impl<'de> Deserialize<'de> for Refused {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(Error::custom(
            "low latency is of the service flows that every modem has, and does not change during \
             the run: expected it in `upstream` or `downstream` of the line, of a service class or \
             of a modem",
        ))
    }
}
