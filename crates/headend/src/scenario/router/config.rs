//! A router as it is written: `"off"`, a queue, or a table.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer, Unexpected, Visitor};
use serde::{Serialize, Serializer};

use crate::named::{Named, OrTable};
use crate::qdisc::{QueueConfig, cake};
use crate::queue::FramingConfig;
use crate::scenario::queue::Queue;
use crate::time::Duration;
use crate::traffic::autorate;
use crate::units::{MEANT, RelativeRate};

/// A router: `"off"` or a queue alone, or a table.
pub type RouterConfig = OrTable<NoneOrQueue, Router>;

/// A router by one word: none, or one with this queue.
#[derive(Debug, Clone, PartialEq)]
pub enum NoneOrQueue {
    /// No router (`"off"`), as without the key: for comparisons.
    Off,
    /// A router with this queue, and defaults for all else.
    Queue(Queue),
}

const OFF: &str = "off";

impl Serialize for NoneOrQueue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => OFF.serialize(serializer),
            Self::Queue(queue) => queue.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NoneOrQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OffOrQueue)
    }
}

/// Reads one word. A router that is only switched on gets the queue that is the default of its
/// table.
struct OffOrQueue;

impl OffOrQueue {
    fn refuse<E: Error>(found: Unexpected<'_>, is_on: bool) -> E {
        let meant = if is_on { "cake" } else { OFF };
        let expected = format!("\"{OFF}\", a queue or a table{MEANT}\"{meant}\"?");
        E::invalid_value(found, &expected.as_str())
    }
}

impl Visitor<'_> for OffOrQueue {
    type Value = NoneOrQueue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{OFF}\", a queue or a table")
    }

    fn visit_bool<E: Error>(self, is_on: bool) -> Result<NoneOrQueue, E> {
        Err(Self::refuse(Unexpected::Bool(is_on), is_on))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NoneOrQueue, E> {
        match text {
            OFF => Ok(NoneOrQueue::Off),
            "on" | "true" | "yes" => Err(Self::refuse(Unexpected::Str(text), true)),
            "false" | "no" => Err(Self::refuse(Unexpected::Str(text), false)),
            _ => Queue::deserialize(text.into_deserializer()).map(NoneOrQueue::Queue),
        }
    }
}

impl JsonSchema for NoneOrQueue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "NoneOrQueue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Queue::json_schema(generator);
        let names = schema
            .get_mut("anyOf")
            .and_then(|forms| forms[0].get_mut("enum"));
        if let Some(names) = names.and_then(|names| names.as_array_mut()) {
            names.insert(0, OFF.into());
        }
        schema
    }
}

/// A home's own router, between its hosts and the modem. It sends a little slower than the line,
/// in both directions, so that packets wait in it and not in the modem or at the CMTS.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Router {
    /// The queue of either direction. `cake` gets the router's rate and framing, and `ingress`
    /// towards the home, and has no `rate` of its own here; before every other queue stands a token
    /// bucket with a burst of 1 ms, or of one packet.
    pub queue: Queue,
    /// How fast it sends in both directions: a share of the line's rate, a rate, or "unlimited" for
    /// no shaper. A higher one wastes less of the line; near 100 % packets wait in the modem again.
    pub rate: RelativeRate,
    /// How fast it sends to the network, in place of `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<RelativeRate>,
    /// How fast it sends to the home, in place of `rate`: it can only slow down what the line has
    /// carried already, and relies on senders to slow down too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<RelativeRate>,
    /// Which bytes its rate counts. Default: those that the line's rate counts, so that a share is
    /// one: `"docsis"` before a modem, and what a plain link says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<FramingConfig>,
    /// Whether the rates follow the delay that probes measure, as cake-autorate does it on a line
    /// that varies: `true`, or a table. `rate` is where they begin, and where they return to
    /// without load. Only with `cake`. Default: they stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autorate: Option<OrTable<bool, Autorate>>,
    /// The line that it stands before. Default: that of the bottleneck, or the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Default for Router {
    fn default() -> Self {
        Self {
            queue: Named(QueueConfig::Cake(cake::Config::default())),
            rate: RelativeRate::Share(0.95),
            up: None,
            down: None,
            framing: None,
            autorate: None,
            link: None,
        }
    }
}

/// How a router's rates follow the delay. It becomes an application of its own, called `autorate`.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Autorate {
    /// The lowest rate: a share of the line's rate, or a rate, at most that of the router. It
    /// should be what the line carries at its worst.
    pub minimum: RelativeRate,
    /// The highest rate: a share of the line's rate, or a rate, at least that of the router. It
    /// should be what the line carries at its best.
    pub maximum: RelativeRate,
    /// How much longer than without a queue a probe may take. Raising it gives more throughput and
    /// permits more delay.
    pub threshold: Duration,
    /// Whether the delay of each direction is measured on its own (`tsping`, `irtt`). Otherwise
    /// half of the round trip stands for it (`fping`), and a queue in one direction slows down
    /// both.
    pub one_way: bool,
}

impl Default for Autorate {
    fn default() -> Self {
        let usual = autorate::Config::default();
        Self {
            // Ours. cake-autorate has rates: 5 Mbit/s and 80, with a base of 20.
            minimum: RelativeRate::Share(0.25),
            maximum: RelativeRate::Share(1.0),
            threshold: usual.threshold,
            one_way: usual.one_way,
        }
    }
}
