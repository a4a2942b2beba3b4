//! A router as it is written: `"off"`, a queue, or a table.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::StringDeserializer;
use serde::de::{Deserialize, Deserializer, IntoDeserializer};
use serde::{Serialize, Serializer};

use crate::named::{Named, OrTable};
use crate::qdisc::{QueueConfig, cake};
use crate::queue::FramingConfig;
use crate::scenario::queue::Queue;
use crate::units::{Probability, RelativeRate};

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
        let text = String::deserialize(deserializer)?;
        if text == OFF {
            return Ok(Self::Off);
        }
        let text: StringDeserializer<D::Error> = text.into_deserializer();
        Queue::deserialize(text).map(Self::Queue)
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
    /// towards the home; before every other queue stands a token bucket with a burst of 1 ms, or of
    /// one packet.
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
    /// The line that it stands before. Default: that of the bottleneck, or the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Default for Router {
    fn default() -> Self {
        Self {
            queue: Named(QueueConfig::Cake(cake::Config::default())),
            rate: RelativeRate::Share(Probability(0.95)),
            up: None,
            down: None,
            framing: None,
            link: None,
        }
    }
}
