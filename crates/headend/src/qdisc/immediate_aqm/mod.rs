//! The low-latency queue of Low Latency DOCSIS (MULPI Annexes N, O and P).

use super::{Fifo, Parameters, QueueDiscipline};
use crate::aqm::DropTail;
use crate::queue::{BacklogLimit, Limited};
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of immediate AQM.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of the queue. Default: what the rate carries in 10 ms, and at least 40 000 B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Delay from which on every packet is marked (MAXTH, TLV 24.40.4).
    pub maximum_threshold: Duration,
    /// The delays over which marking rises are 2 to this power, in nanoseconds (LG_RANGE, TLV
    /// 24.40.5).
    pub range_exponent: u8,
    /// How the delay of the queue is estimated.
    pub estimator: Estimator,
    /// Queue protection, in the queue of a low-latency service flow.
    #[serde(skip)]
    pub protection: Option<Protection>,
}

/// How the low-latency queue estimates its delay.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// The bytes in the queue, divided by the rate.
    #[default]
    Backlog,
    /// A virtual queue (MULPI Annex O).
    VirtualQueue,
}

/// Parameters of queue protection (MULPI Annex P, RFC 9957).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Delay above which flows are judged (CRITICALqL). `None`: the upper end of the ramp.
    pub latency_threshold: Option<Duration>,
    /// Queuing score above which a flow's packets go to the classic queue (CRITICALqLSCORE).
    pub score_threshold: Duration,
    /// Exponent of the rate at which scores decay (LG_AGING).
    pub drain_exponent: u8,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: None,
            maximum_threshold: Duration::from_millis(1),
            range_exponent: 19,
            estimator: Estimator::default(),
            protection: None,
        }
    }
}

/// The smallest default limit, in bytes: 20 frames of 2000 B.
const LEAST_LIMIT: u64 = 40_000;

impl Limited for Config {
    fn written_limit(&self) -> Option<Limit> {
        self.limit
    }

    fn limit(&self, rate: Rate) -> Result<Limit, String> {
        let bytes = rate.bytes_in(Duration::from_millis(10)).max(LEAST_LIMIT);
        Ok(self.limit.unwrap_or(Limit::Bytes(ByteCount(bytes))))
    }
}

impl Parameters for Config {
    fn build(&self, rate: Rate, _rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        let limit = BacklogLimit::at_rate(self.limit(rate)?, rate);
        Ok(Box::new(Fifo::new(limit, DropTail)))
    }
}
