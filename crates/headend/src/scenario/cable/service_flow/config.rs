//! Service flows as they are written: at the line, at a service class or a modem, and further ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::keys::layer;
use super::low_latency::{LowLatency, Refused};
use crate::link::docsis::grant::DequeueAt;
use crate::link::docsis::qos::{RequestPolicy, Scheduling};
use crate::link::token_bucket::PEAK_BURST;
use crate::named::{Named, OrTable};
use crate::qdisc::AckAcceleration;
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::queue::Queue;
use crate::scenario::rate::VaryingRate;
use crate::scenario::span::Several;
use crate::time::Duration;
use crate::units::{ByteCount, MaximumRate, Probability, Rate};

/// The upstream service flow for what no other claims. Its rates count MAC PDU bytes: IP packet (46
/// B at least), Ethernet header and FCS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Upstream {
    /// Maximum sustained traffic rate R: what the service tier promises. It counts bytes from after
    /// the MAC header's check (HCS) to the CRC: 18 B more than the IP packet. Default: whatever the
    /// channel carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Peak traffic rate P, at which a burst is let through. Default: no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<MaximumRate>,
    /// Maximum traffic burst B: bytes beyond the sustained rate that pass after a pause. A large
    /// one makes short uploads fast.
    pub burst: ByteCount,
    /// Depth of the peak rate's bucket.
    pub peak_burst: ByteCount,
    /// Minimum reserved traffic rate: what it gets of a short channel before the others share the
    /// rest. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7: a higher one is served first where the channel is short.
    pub priority: u8,
    /// Upstream scheduling type: a name, or a table with its parameters.
    pub scheduling: Named<Scheduling>,
    /// What it may not do to get its grants.
    pub request_policy: RequestPolicy,
    /// What the channel has to give, where that is less than the plant carries: a rate, or steps of
    /// one (neighbours, RF trouble). It counts the bytes of all minislots that are granted: MAC
    /// headers (`plant.upstream_mac_header`) and segment headers besides the PDUs, and what is left
    /// of the last minislot. Request opportunities do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<OrTable<Rate, VaryingRate>>,
    /// Share by which the capacity varies from MAP to MAP, evenly to either side: other customers'
    /// bursts, as the public ns-3 module has them. More of it makes grants and their delays uneven.
    pub capacity_variation: Probability,
    /// When the queue gives up the packets of a grant.
    pub dequeue_at: DequeueAt,
    /// What the modem does to TCP acknowledgements before its queue: downloads get faster while
    /// uploads go on.
    pub ack_acceleration: AckAcceleration,
    /// AQM disabled for this service flow (TLV 24.40.1): its queue drops at its tail, and keeps the
    /// buffer that it has. A modem's `upstream_aqm_disabled` says it of all.
    pub aqm_disabled: bool,
    /// Latency histogram (TLV 24.40.6): upper edges of its bins, 1 to 15 of them, ascending, in
    /// multiples of 10 us, such as `["1 ms", "5 ms", "20 ms"]`. A last bin takes what is above.
    /// The bins are in the results' table `mib`. Default: no histogram.
    /// An empty list is no histogram, for a modem whose line has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Vec<Duration>>,
    /// The modem's queue. Default: what the generation asks of modems, `docsis_pie` from DOCSIS 3.1
    /// on; before, `drop_tail` with a limit of 256 KiB whatever the rate (Buffer Control §5.2.2:
    /// modems have 60 to 300 KiB); with low latency, `docsis_pie` with a limit of 100 ms for the
    /// classic flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Low latency (DOCSIS 3.1): a second service flow for packets with ECT(1), CE, DSCP 45 or DSCP
    /// 46, which shares the rates of this one. `"on"`, `"2019"` (the defaults of the first
    /// release), `"off"`, or a table of its parameters. Default: `"off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatency>,
}

impl Default for Upstream {
    fn default() -> Self {
        Self {
            rate: None,
            peak: None,
            burst: DEFAULT_BURST,
            peak_burst: ByteCount(PEAK_BURST),
            minimum_reserved: None,
            priority: 0,
            scheduling: Named::default(),
            request_policy: RequestPolicy::default(),
            capacity: None,
            capacity_variation: Probability(0.0),
            dequeue_at: DequeueAt::default(),
            ack_acceleration: AckAcceleration::default(),
            aqm_disabled: false,
            latency_histogram: None,
            queue: None,
            low_latency: None,
        }
    }
}

/// The downstream service flow for what no other claims. Its rates count as upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Downstream {
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC. Default: whatever
    /// the channel carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Peak traffic rate P. Default: no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<MaximumRate>,
    /// Maximum traffic burst B.
    pub burst: ByteCount,
    /// Depth of the peak rate's bucket.
    pub peak_burst: ByteCount,
    /// Minimum reserved traffic rate. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7: a higher one is served first where the channel is short.
    pub priority: u8,
    /// What the channel has to give, where that is less than the plant carries: a rate, or one that
    /// varies. It counts PDUs and their MAC headers (`plant.downstream_mac_header`); MAPs do not
    /// count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<OrTable<Rate, VaryingRate>>,
    /// AQM disabled for this service flow (TLV 25.40.1): its queue drops at its tail, and keeps the
    /// buffer that it has.
    pub aqm_disabled: bool,
    /// Latency histogram (TLV 25.40.6): upper edges of its bins, as upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Vec<Duration>>,
    /// The CMTS's queue. Default: `drop_tail`; with low latency, `docsis_pie` with a limit of 100
    /// ms for the classic flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Low latency (DOCSIS 3.1), as upstream. The classic queue at the CMTS is coupled to the
    /// low-latency queue if it is `docsis_pie`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatency>,
}

impl Default for Downstream {
    fn default() -> Self {
        Self {
            rate: None,
            peak: None,
            burst: DEFAULT_BURST,
            peak_burst: ByteCount(PEAK_BURST),
            minimum_reserved: None,
            priority: 0,
            capacity: None,
            aqm_disabled: false,
            latency_histogram: None,
            queue: None,
            low_latency: None,
        }
    }
}

/// DOCS-QOS3-MIB's default of the maximum traffic burst.
pub(in crate::scenario::cable) const DEFAULT_BURST: ByteCount = ByteCount(3044);

/// What is a class's or modem's own of its downstream service flow. The keys are those of the
/// line's `downstream`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnDownstream {
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Peak traffic rate P.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<MaximumRate>,
    /// Maximum traffic burst B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<ByteCount>,
    /// Depth of the peak rate's bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_burst: Option<ByteCount>,
    /// Minimum reserved traffic rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// AQM disabled for this service flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_disabled: Option<bool>,
    /// Upper edges of its latency histogram's bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Vec<Duration>>,
    /// The CMTS's queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Low latency, in place of the line's whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatency>,
}

/// A further service flow of a modem: its rates, its scheduling, its queue, and which packets it
/// takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceFlow {
    /// Which way it goes.
    pub direction: OneWay,
    /// Which packets it takes: a table of conditions that must all hold, or a list of such tables
    /// of which one must.
    #[serde(default, rename = "match")]
    pub classifiers: Several<Classifier>,
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC. Default: whatever
    /// the channel carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Peak traffic rate P. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<MaximumRate>,
    /// Maximum traffic burst B.
    #[serde(default = "default_burst")]
    pub burst: ByteCount,
    /// Depth of the peak rate's bucket.
    #[serde(default = "default_peak_burst")]
    pub peak_burst: ByteCount,
    /// Minimum reserved traffic rate. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7: a higher one is served first where the channel is short.
    #[serde(default)]
    pub priority: u8,
    /// Upstream scheduling type: a name, or a table with its parameters.
    #[serde(default)]
    pub scheduling: Named<Scheduling>,
    /// Upstream: what it may not do to get its grants.
    #[serde(default)]
    pub request_policy: RequestPolicy,
    /// Upstream: when the queue gives up the packets of a grant.
    #[serde(default)]
    pub dequeue_at: DequeueAt,
    /// Upstream: what the modem does to TCP acknowledgements.
    #[serde(default)]
    pub ack_acceleration: AckAcceleration,
    /// AQM disabled for this service flow (TLVs 24.40.1 and 25.40.1): its queue drops at its tail,
    /// and keeps the buffer that it has.
    #[serde(default)]
    pub aqm_disabled: bool,
    /// Latency histogram (TLVs 24.40.6 and 25.40.6): upper edges of its bins, as those of
    /// `upstream`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Vec<Duration>>,
    /// Its queue. Default: what the generation asks of modems (see `upstream.queue`), for upstream
    /// flows that ask for their grants; else `drop_tail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Never there: a further service flow is not part of an aggregate.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub(in crate::scenario::cable) low_latency: Option<Refused>,
}

fn default_burst() -> ByteCount {
    DEFAULT_BURST
}

fn default_peak_burst() -> ByteCount {
    ByteCount(PEAK_BURST)
}

/// A direction of a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OneWay {
    /// Towards the customer.
    Down,
    /// Away from the customer.
    Up,
}

impl OneWay {
    /// 0 for up, 1 for down.
    pub const fn index(self) -> usize {
        match self {
            Self::Up => 0,
            Self::Down => 1,
        }
    }

    /// Its name in queues' names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

layer!(Upstream {
    rate, peak, burst, peak_burst, minimum_reserved, priority, scheduling, request_policy,
    dequeue_at, ack_acceleration, aqm_disabled, latency_histogram,
    queue, low_latency
} besides { capacity, capacity_variation });

layer!(Downstream {
    rate, peak, burst, peak_burst, minimum_reserved, priority, aqm_disabled, latency_histogram,
    queue, low_latency
} besides { capacity });

layer!(OwnDownstream {
    rate, peak, burst, peak_burst, minimum_reserved, priority, aqm_disabled, latency_histogram,
    queue, low_latency
} besides {});

layer!(ServiceFlow {
    rate, peak, burst, peak_burst, minimum_reserved, priority, scheduling, request_policy,
    dequeue_at, ack_acceleration, aqm_disabled, latency_histogram,
    queue
} besides { direction, classifiers, low_latency });
