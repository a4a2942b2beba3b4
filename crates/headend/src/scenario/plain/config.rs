//! A plain link as it is written: two directions, each with a rate, a delay and a queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::OrTable;
use crate::scenario::queue::Queue;
use crate::scenario::rate::VaryingRate;
use crate::time::Duration;
use crate::units::Rate;

/// A plain link: two directions, each with a rate, a propagation delay and a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointToPoint {
    /// Away from the customer.
    pub up: LinkDirection,
    /// Towards the customer. Default: the same as `up`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<LinkDirection>,
}

/// One direction of a plain link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkDirection {
    /// How fast it sends: a rate, or a table with a rate that varies. It counts the bytes of IP
    /// packets, header included: what frames add on a real wire is not in it.
    pub rate: OrTable<Rate, VaryingRate>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// The queue in front of it.
    #[serde(default)]
    pub queue: Queue,
}

impl PointToPoint {
    /// Every rate that varies, with its key.
    pub(in crate::scenario) fn varying_rates(&mut self) -> Vec<(&'static str, &mut VaryingRate)> {
        let down = self.down.as_mut().map(|down| &mut down.rate);
        let rates = [("up.rate", Some(&mut self.up.rate)), ("down.rate", down)];
        let varying = rates.into_iter().filter_map(|(key, rate)| match rate {
            Some(OrTable::Table(rate)) => Some((key, rate)),
            _ => None,
        });
        varying.collect()
    }
}
