//! A plain link as it is written: two directions, each with a rate, a delay and a queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::OrTable;
use crate::queue::FramingConfig;
use crate::scenario::queue::Queue;
use crate::scenario::rate::VaryingRate;
use crate::scenario::traced::{Beside, Traced};
use crate::scenario::varying::{VaryingDelay, VaryingLoss};
use crate::time::Duration;
use crate::units::{ByteCount, Probability, Rate};

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
    /// Propagation delay, or a table with one that varies. Default: none (`"0 s"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<OrTable<Duration, VaryingDelay>>,
    /// Packets lost behind the queue, each at random: a share, or a table with one that varies.
    /// They have taken their time on the link, and count as `corrupted`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<OrTable<Probability, VaryingLoss>>,
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
    /// Everything that varies, with its key.
    pub(in crate::scenario) fn varying(&mut self) -> Vec<(&'static str, Traced<'_>)> {
        let up = self.up.varying(["up.rate", "up.delay", "up.loss"]);
        let down = self.down.as_mut();
        let down = down.map(|down| down.varying(["down.rate", "down.delay", "down.loss"]));
        up.chain(down.into_iter().flatten()).collect()
    }
}

impl LinkDirection {
    /// Everything that varies, with its key out of those of rate, delay and loss.
    fn varying(
        &mut self,
        keys: [&'static str; 3],
    ) -> impl Iterator<Item = (&'static str, Traced<'_>)> {
        let beside = Beside::Direction {
            delay: self.delay.is_some(),
            loss: self.loss.is_some(),
        };
        let rate = match &mut self.rate {
            OrTable::Table(rate) => Some(Traced::Rate(rate, beside)),
            OrTable::Plain(_) => None,
        };
        let delay = match &mut self.delay {
            Some(OrTable::Table(delay)) => Some(Traced::Delay(delay)),
            _ => None,
        };
        let loss = match &mut self.loss {
            Some(OrTable::Table(loss)) => Some(Traced::Loss(loss)),
            _ => None,
        };
        let all = keys.into_iter().zip([rate, delay, loss]);
        all.filter_map(|(key, traced)| Some((key, traced?)))
    }
}
