//! A plain link as it is written: two directions, each with a rate, a delay and a queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::OrTable;
use crate::queue::FramingConfig;
use crate::scenario::queue::Queue;
use crate::scenario::rate::VaryingRate;
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

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
    /// How fast it sends: a rate, or a table with a rate that varies. It counts the bytes that
    /// `framing` says.
    pub rate: OrTable<Rate, VaryingRate>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// Which bytes of a packet `rate`, `policer`, `shaper` and the queue count: a keyword of
    /// `tc-cake(8)`, or a table. Default: the bytes of IP packets, header included, without what
    /// frames add on a real wire (`"ip"`); of `down`, the framing of `up`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framing: Option<FramingConfig>,
    /// A policer before the queue: it drops at once what exceeds its rate and burst, and delays
    /// nothing. TCP reaches the rate only with a burst of some round trips. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<RateLimit>,
    /// The queue in front of it.
    #[serde(default)]
    pub queue: Queue,
    /// A shaper behind the queue: a packet waits until there are tokens for it, and is then sent at
    /// `rate`. It is the `tbf` of Linux; what its `limit` or `latency` holds is the queue's limit
    /// here. A limit of the queue that is a time counts at the shaper's rate. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<RateLimit>,
}

/// A rate limit: one token bucket, or two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateLimit {
    /// The rate of the tokens: what passes in the long run. It counts the bytes that `framing`
    /// says.
    pub rate: Rate,
    /// The size of the bucket: what may pass at once after a pause, beyond the rate. At least one
    /// packet of 1500 B. A shaper like HTB of Linux has HTB's burst and a packet more.
    pub burst: ByteCount,
    /// The rate at which the burst passes, by a second bucket: at least `rate`. `tc` calls it
    /// `peakrate`. Default: the burst passes at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// The size of the second bucket, `mtu` of `tc`. Default: one packet of 1500 B, with its
    /// framing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_burst: Option<ByteCount>,
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
