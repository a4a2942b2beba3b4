//! The parts that a cable line is built from: the service flows of the modems, the contention
//! regions, the neighbours.

use super::classifier::Classifiers;
use super::cmts::{Capacity, Placement};
use super::grant::DequeueAt;
use super::low_latency::Aggregate;
use super::qos::Qos;
use super::timing::UpstreamTiming;
use crate::link::token_bucket::Limits;
use crate::qdisc::{Queue, QueueDiscipline};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The upstream of a line.
#[derive(Debug)]
pub struct UpstreamSetup {
    /// The channel or bonding group, and the delays of the request-grant loop.
    pub timing: UpstreamTiming,
    /// How modems request and send. The DOCSIS generations differ in these rules.
    pub rules: MacRules,
    /// Request and ranging contention.
    pub contention: Contention,
    /// The upstream service flows of all modems, in the order of the modems.
    pub flows: Vec<UpstreamFlow>,
    /// The aggregates among these flows.
    pub aggregates: Vec<Aggregate>,
    /// Where the grants of a MAP begin.
    pub placement: Placement,
    /// Time between two additions of tokens to the buckets of the CMTS. Zero: tokens are added
    /// continuously.
    pub token_interval: Duration,
    /// The capacity that can be granted over time, if it is less than the channel carries.
    pub capacity: Option<Capacity>,
    /// Other customers, as a load.
    pub neighbours: Option<Neighbours>,
    /// Random stream of the CMTS, for the placement of grants.
    pub rng: Rng,
}

/// An upstream service flow.
#[derive(Debug)]
pub struct UpstreamFlow {
    /// Index of its modem, from 0.
    pub modem: u32,
    /// Its queue.
    pub queue: Queue,
    /// Its rate limits.
    pub limits: Limits,
    /// Nominal rate of its queue: the sustained rate, or the rate of the channel if that is lower.
    pub rate: Rate,
    /// Its quality of service at the CMTS.
    pub qos: Qos,
    /// When packets are dequeued.
    pub dequeue_at: DequeueAt,
    /// When the modem is switched on and begins to range. `None`: the modem is registered from the
    /// start.
    pub online_at: Option<Instant>,
    /// Random stream of the flow, for its backoff. Other flows do not affect it.
    pub rng: Rng,
}

/// A downstream service flow.
#[derive(Debug)]
pub struct DownstreamFlow {
    /// Index of its modem, from 0.
    pub modem: u32,
    /// Its queue at the CMTS.
    pub queue: Queue,
    /// Its rate limits.
    pub limits: Limits,
    /// Nominal rate of its queue.
    pub rate: Rate,
    /// Its priority and reserved rate.
    pub qos: Qos,
}

/// A change of a service flow during the run.
#[derive(Debug)]
pub struct FlowChange {
    /// The time of the change.
    pub at: Instant,
    /// Whether the flow is an upstream flow.
    pub is_upstream: bool,
    /// Index of the flow among all service flows of its direction.
    pub flow: usize,
    /// The kind of change.
    pub kind: Kind,
    /// The new rate limits; of the classic flow of an aggregate, those of the aggregate.
    pub limits: Limits,
    /// The new nominal rate of its queue.
    pub rate: Rate,
    /// The new quality of service.
    pub qos: Qos,
    /// The new queue discipline, if it changes.
    pub queue: Option<Box<dyn QueueDiscipline>>,
    /// A port of the link and its new classifiers, if they change.
    pub classifiers: Option<(usize, Classifiers)>,
}

/// The kind of change of a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The flow is created with these limits and this quality of service.
    Create,
    /// The flow is deleted.
    Delete,
    /// Its limits, its quality of service or its queue change.
    Modify,
}

/// How modems of a DOCSIS generation request and send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacRules {
    /// Continuous concatenation and fragmentation (DOCSIS 3.0 and later): the bytes are a stream
    /// that grants cut at any byte, and several requests may be outstanding. Otherwise only one
    /// request is outstanding, for one burst.
    pub continuous: bool,
    /// Requests may be piggybacked on bursts.
    pub piggyback: bool,
    /// A burst may hold several packets, up to this number of bytes. Zero: one packet.
    pub concatenation: u64,
    /// A grant smaller than the burst may carry a fragment of it.
    pub fragmentation: bool,
    /// Largest burst, in bytes. Zero: no limit.
    pub max_burst: u64,
}

impl Default for MacRules {
    /// DOCSIS 3.0 and later.
    fn default() -> Self {
        Self {
            continuous: true,
            piggyback: true,
            concatenation: 0,
            fragmentation: true,
            max_burst: 0,
        }
    }
}

/// Contention regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contention {
    /// Data backoff start: the first window has 2^start opportunities.
    pub data_start: u8,
    /// Data backoff end: windows have at most 2^end opportunities.
    pub data_end: u8,
    /// Ranging backoff start.
    pub ranging_start: u8,
    /// Ranging backoff end.
    pub ranging_end: u8,
    /// How often a request is sent before the modem gives up and drops the requested packets.
    pub retries: u8,
    /// Time between two initial-maintenance opportunities.
    pub ranging_interval: Duration,
}

impl Default for Contention {
    /// First windows of 16 opportunities, about one MAP. 16 tries, as in the specification. A
    /// ranging opportunity every 400 ms, as in the ARRIS C4; the specification allows two seconds
    /// at most.
    fn default() -> Self {
        Self {
            data_start: 4,
            data_end: 10,
            ranging_start: 2,
            ranging_end: 6,
            retries: 16,
            ranging_interval: Duration::from_millis(400),
        }
    }
}

/// Other customers of the channel, as a load without packets.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Mean share of the channel that they use over time, 0 to 1.
    pub load: f64,
    /// Standard deviation of the load, divided by its mean.
    pub burstiness: f64,
    /// Time for which the load keeps its value.
    pub correlation: Duration,
    /// Factors of the mean load over time: the start of each step, and its factor.
    pub time_of_day: Vec<(Duration, f64)>,
    /// Their contention requests per second at the mean load.
    pub requests_per_second: f64,
    /// Their random stream.
    pub rng: Rng,
}
