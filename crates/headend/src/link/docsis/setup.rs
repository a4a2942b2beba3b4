//! What a cable line is put together from: its modems' service flows, the contention regions, the neighbours.

use super::classifier::Classifiers;
use super::cmts::{Capacity, Placement};
use super::qos::Qos;
use super::service_flow::DequeueAt;
use super::timing::UpstreamTiming;
use super::token_bucket::Limits;
use crate::qdisc::{Queue, QueueDiscipline};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The upstream of a line.
#[derive(Debug)]
pub struct UpstreamSetup {
    /// The channel or bonding group, and the delays of the loop.
    pub timing: UpstreamTiming,
    /// How modems ask and send: what sets the generations apart.
    pub rules: MacRules,
    /// Request and ranging contention.
    pub contention: Contention,
    /// All upstream service flows, of all modems, in the order of modems.
    pub flows: Vec<UpstreamFlow>,
    /// Where grants begin.
    pub placement: Placement,
    /// Time between two additions of tokens to the CMTS's buckets; zero: continuously.
    pub token_interval: Duration,
    /// What the channel has to give over time, where that is less than it carries.
    pub capacity: Option<Capacity>,
    /// Other customers, as a load.
    pub neighbours: Option<Neighbours>,
    /// The CMTS's random stream: where grants begin.
    pub rng: Rng,
}

/// An upstream service flow.
#[derive(Debug)]
pub struct UpstreamFlow {
    /// The modem it belongs to, from 0.
    pub modem: u32,
    /// Its queue.
    pub queue: Queue,
    /// Its rate limits.
    pub limits: Limits,
    /// Nominal rate of its queue: the sustained one, or the channel's where that is less.
    pub rate: Rate,
    /// How the CMTS treats it.
    pub qos: Qos,
    /// When its queue gives up packets.
    pub dequeue_at: DequeueAt,
    /// When the modem is switched on and begins to range; `None`: it is registered from the start.
    pub online_at: Option<Instant>,
    /// The flow's random stream, for its backoff: what other flows do never shifts it.
    pub rng: Rng,
}

/// A downstream service flow.
#[derive(Debug)]
pub struct DownstreamFlow {
    /// The modem it belongs to, from 0.
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
    /// When.
    pub at: Instant,
    /// Whether it is of an upstream flow.
    pub is_upstream: bool,
    /// Which of all service flows of that direction.
    pub flow: usize,
    /// What happens to it.
    pub kind: Kind,
    /// Its rate limits from then on.
    pub limits: Limits,
    /// Nominal rate of its queue from then on.
    pub rate: Rate,
    /// How the CMTS treats it from then on.
    pub qos: Qos,
    /// The queue that takes the place of its own.
    pub queue: Option<Box<dyn QueueDiscipline>>,
    /// The classifiers from then on of one of the link's ports, if they are others.
    pub classifiers: Option<(usize, Classifiers)>,
}

/// What happens to a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is there from then on, with these limits and this quality of service.
    Create,
    /// It is not there any more.
    Delete,
    /// Its limits, its quality of service or its queue are others.
    Modify,
}

/// How modems of a generation ask and send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MacRules {
    /// Continuous concatenation and fragmentation (DOCSIS 3.0 on): bytes are a stream that grants cut anywhere, several requests may be
    /// outstanding. Otherwise one request is outstanding, for one burst.
    pub continuous: bool,
    /// Requests may ride in bursts.
    pub piggyback: bool,
    /// A burst may hold several packets, up to so many bytes; zero: one packet.
    pub concatenation: u64,
    /// A grant smaller than the burst may be used for a part of it.
    pub fragmentation: bool,
    /// Largest burst, bytes; zero: no limit.
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
    /// Data backoff start: the first window is 2^start opportunities.
    pub data_start: u8,
    /// Data backoff end: windows do not grow beyond 2^end.
    pub data_end: u8,
    /// Ranging backoff start.
    pub ranging_start: u8,
    /// Ranging backoff end.
    pub ranging_end: u8,
    /// Times a request is sent before what it asks for is given up.
    pub retries: u8,
    /// Time between two initial-maintenance opportunities.
    pub ranging_interval: Duration,
}

impl Default for Contention {
    /// First windows of 16 opportunities, about a MAP's; the specification's 16 tries; a ranging opportunity every 400 ms, as ARRIS' C4 has
    /// it, of the two seconds that the specification allows at most.
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
    /// Mean share of the channel they take, 0 to 1, over time.
    pub load: f64,
    /// Standard deviation of the load over its mean.
    pub burstiness: f64,
    /// Time over which the load keeps its value.
    pub correlation: Duration,
    /// Steps over time that the mean is multiplied by.
    pub time_of_day: Vec<(Duration, f64)>,
    /// Contention requests of theirs per second at their mean load.
    pub requests_per_second: f64,
    /// Their random stream.
    pub rng: Rng,
}
