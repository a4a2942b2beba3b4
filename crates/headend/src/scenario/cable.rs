//! A cable line as it is written: its modems, their service flows, and what is the same for all.
//!
//! What stands at the line counts for every modem, what stands at a service class for the modems of that class, what stands at a modem for
//! itself. A line without `modem` has one, which has no name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::header_fields::{EtherType, IpProtocol, Network};
use super::raw::{Queue, StartRange, VaryingRate};
use super::span::{Several, Span};
use crate::link::docsis::cmts::Placement;
use crate::link::docsis::preset::{PlantConfig, Preset};
use crate::link::docsis::qos::{RequestPolicy, Scheduling};
use crate::link::docsis::service_flow::DequeueAt;
use crate::link::docsis::token_bucket::PEAK_BURST;
use crate::named::{Named, OrTable};
use crate::qdisc::AckAcceleration;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Probability, Rate};

/// A DOCSIS cable line: upstream requests and grants, rate limits and queues both ways.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Docsis {
    /// Generation, whose plant and queue are the defaults.
    pub preset: Preset,
    /// The plant, where it differs from the generation's.
    pub plant: PlantConfig,
    /// Where a MAP's grants begin.
    pub placement: Placement,
    /// AQM disabled on all upstream service flows of every modem (TLV 76): their queues drop at
    /// their tail, and keep the buffers that they have.
    pub upstream_aqm_disabled: bool,
    /// What the CMTS does with the buffer sizes of upstream service flows (Buffer Control §6.3).
    pub buffer_settings: BufferSettings,
    /// From the modem to the network. Of every modem, where there are several.
    pub upstream: Upstream,
    /// From the network to the modem. Of every modem, where there are several.
    pub downstream: Downstream,
    /// Further service flows by name, with the packets they take. Every modem has them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_flow: BTreeMap<String, ServiceFlow>,
    /// Upstream drop classifiers by name: packets that no modem lets out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drop: BTreeMap<String, Classifier>,
    /// Service classes by name: the tiers that modems share. What a class leaves out is the line's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_class: BTreeMap<String, ServiceClass>,
    /// Several modems by name, in place of the only one: single ones, or `count` alike.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub modem: BTreeMap<String, Modem>,
    /// Other customers of the upstream, as a load without packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourLoad>,
    /// Changes of service flows during the run, by name: what an operator's policy server makes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub change: BTreeMap<String, Change>,
}

/// What the CMTS does with the buffer sizes that the configuration has for upstream service flows:
/// Buffer Control's, and the `limit` of a modem's queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BufferSettings {
    /// The CMTS does not pass them on: every modem runs the buffer that it has by default, with its
    /// AQM, if it has any.
    pub dropped: bool,
    /// That buffer: a size, or a time at the sustained rate. Default: `"250 ms"` for generations
    /// whose modems have AQM (AQM paper §9), `"256 KiB"` before, whatever the rate (Buffer Control
    /// §5.2.2: modems have 60 to 300 KiB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_buffer: Option<Limit>,
}

/// The upstream service flow for what no other claims. Its rates count MAC PDU bytes: IP packet (46 B at least), Ethernet header and FCS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Upstream {
    /// Maximum sustained traffic rate R: what the service tier promises. It counts bytes from after the MAC header's check (HCS) to the CRC: 18 B
    /// more than the IP packet. Default: whatever the channel carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Peak traffic rate P, at which a burst is let through. Default: no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Maximum traffic burst B: bytes beyond the sustained rate that pass after a pause. A large one makes short uploads fast.
    pub burst: ByteCount,
    /// Depth of the peak rate's bucket.
    pub peak_burst: ByteCount,
    /// Minimum reserved traffic rate: what it gets of a short channel before the others share the rest. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7: a higher one is served first where the channel is short.
    pub priority: u8,
    /// Upstream scheduling type: a name, or a table with its parameters.
    pub scheduling: Named<Scheduling>,
    /// What it may not do to get its grants.
    pub request_policy: RequestPolicy,
    /// What the channel has to give, where that is less than the plant carries: a rate, or steps of one (neighbours, RF trouble). It counts the
    /// bytes of all minislots that are granted: MAC headers (`plant.upstream_mac_header`) and segment headers besides the PDUs, and what is left
    /// of the last minislot. Request opportunities do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<OrTable<Rate, VaryingRate>>,
    /// Share by which the capacity varies from MAP to MAP, evenly to either side: other customers' bursts, as the public ns-3 module
    /// has them. More of it makes grants and their delays uneven.
    pub capacity_variation: Probability,
    /// When the queue gives up the packets of a grant.
    pub dequeue_at: DequeueAt,
    /// What the modem does to TCP acknowledgements before its queue: downloads get faster while uploads go on.
    pub ack_acceleration: AckAcceleration,
    /// AQM disabled for this service flow (TLV 24.40.1): its queue drops at its tail, and keeps the
    /// buffer that it has. A modem's `upstream_aqm_disabled` says it of all.
    pub aqm_disabled: bool,
    /// The modem's queue. Default: what the generation asks of modems, `docsis_pie` from DOCSIS 3.1 on and `drop_tail` before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
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
            queue: None,
        }
    }
}

/// The downstream service flow for what no other claims. Its rates count as upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Downstream {
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC. Default: whatever the channel carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Peak traffic rate P. Default: no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Maximum traffic burst B.
    pub burst: ByteCount,
    /// Depth of the peak rate's bucket.
    pub peak_burst: ByteCount,
    /// Minimum reserved traffic rate. Default: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7: a higher one is served first where the channel is short.
    pub priority: u8,
    /// What the channel has to give, where that is less than the plant carries: a rate, or one that varies. It counts PDUs and their MAC headers
    /// (`plant.downstream_mac_header`); MAPs do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<OrTable<Rate, VaryingRate>>,
    /// AQM disabled for this service flow (TLV 25.40.1): its queue drops at its tail, and keeps the
    /// buffer that it has.
    pub aqm_disabled: bool,
    /// The CMTS's queue.
    pub queue: Queue,
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
            queue: Queue::default(),
        }
    }
}

/// DOCS-QOS3-MIB's default of the maximum traffic burst.
pub(super) const DEFAULT_BURST: ByteCount = ByteCount(3044);

/// A service class: what the modems of a tier have in common. What it leaves out is the line's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceClass {
    /// AQM disabled on all upstream service flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_aqm_disabled: Option<bool>,
    /// From the modem to the network.
    pub upstream: OwnUpstream,
    /// From the network to the modem.
    pub downstream: OwnDownstream,
    /// Further service flows by name, besides the line's or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_flow: BTreeMap<String, ServiceFlow>,
    /// Upstream drop classifiers by name, besides the line's or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drop: BTreeMap<String, Classifier>,
}

/// A modem, or several alike. What it leaves out is its service class's, and then the line's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Modem {
    /// So many of them: `NAME.1`, `NAME.2`, … Default: one, called `NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Its service class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_class: Option<String>,
    /// Service classes of the `count` modems with their weights, such as `{ gold = 30, basic = 70 }`. They take turns, so that the first ten have
    /// them in nearly the same proportion as all.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mix: BTreeMap<String, u32>,
    /// When it is switched on and begins to range: a time, or a table `{ from, to }` over which many are spread evenly. What is sent before it is
    /// registered is lost. Default: it is registered from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online_at: Option<OrTable<Duration, StartRange>>,
    /// AQM disabled on all upstream service flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_aqm_disabled: Option<bool>,
    /// From the modem to the network.
    pub upstream: OwnUpstream,
    /// From the network to the modem.
    pub downstream: OwnDownstream,
    /// Further service flows by name, besides those of its class and line or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub service_flow: BTreeMap<String, ServiceFlow>,
    /// Upstream drop classifiers by name, besides those of its class and line or in their place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub drop: BTreeMap<String, Classifier>,
}

/// What is a class's or modem's own of its upstream service flow. The keys are those of the line's `upstream`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnUpstream {
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Peak traffic rate P.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
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
    /// Upstream scheduling type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Named<Scheduling>>,
    /// What it may not do to get its grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_policy: Option<RequestPolicy>,
    /// When the queue gives up the packets of a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dequeue_at: Option<DequeueAt>,
    /// What the modem does to TCP acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_acceleration: Option<AckAcceleration>,
    /// AQM disabled for this service flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_disabled: Option<bool>,
    /// The modem's queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
}

/// What is a class's or modem's own of its downstream service flow. The keys are those of the line's `downstream`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnDownstream {
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Peak traffic rate P.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
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
    /// The CMTS's queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
}

/// A further service flow of a modem: its rates, its scheduling, its queue, and which packets it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServiceFlow {
    /// Which way it goes.
    pub direction: OneWay,
    /// Which packets it takes: a table of conditions that must all hold, or a list of such tables of which one must.
    #[serde(default, rename = "match")]
    pub classifiers: Several<Classifier>,
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC. Default: whatever the channel carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Peak traffic rate P. Default: no limit of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
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
    /// Its queue. Default: what the generation asks of modems, for flows that ask for their grants; else `drop_tail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
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

/// Which packets a service flow or a drop rule claims: all conditions must hold. Source and
/// destination are those of the packet, whichever way it goes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Classifier {
    /// Where it goes: a host, or addresses: `"10.0.0.0/24"`, `"10.0.0.0/255.0.0.255"` (any mask),
    /// `"2001:db8::/32"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Network>,
    /// Port it goes to: a number, or a range such as `"5000-5999"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<Span<u16>>,
    /// DSCP: a number from 0 to 63, or a range such as `"40-47"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Span<u8>>,
    /// ECN field, as the packet has it where it is classified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnField>,
    /// Ethernet type, in a tagged frame the one behind the tag: `"ipv4"`, `"ipv6"`, or a number
    /// such as `0x0806`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<EtherType>,
    /// Host at either end. Of a host behind several modems, the one behind this modem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Port at either end: a number, or a range such as `"5000-5999"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Span<u16>>,
    /// IP protocol, in IPv6 the next header: a name, or a number from 0 to 255; 256 is any, 257 is
    /// TCP or UDP. The name `"icmp"` is 1 in IPv4 and 58 in IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IpProtocol>,
    /// Where it comes from, as `destination`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Network>,
    /// Port it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<Span<u16>>,
    /// Type-of-service byte, in IPv6 the traffic class: DSCP in the upper six bits, ECN field in
    /// the lower two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos: Option<TypeOfService>,
    /// VLAN of the customer's host (`host.NAME.vlan`), from 1 to 4094.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// A packet that several take goes to the highest priority, 0 to 255.
    pub priority: u8,
}

/// A condition on the type-of-service byte: low ≤ byte AND mask ≤ high. Expedited forwarding,
/// whatever the ECN field, is `{ low = 0xb8, high = 0xb8, mask = 0xfc }`; ECT(1) or CE, as
/// low-latency DOCSIS asks, is `{ low = 1, high = 1, mask = 1 }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeOfService {
    /// The lowest.
    pub low: u8,
    /// The highest.
    pub high: u8,
    /// The bits that count.
    #[serde(default = "all_bits")]
    pub mask: u8,
}

fn all_bits() -> u8 {
    u8::MAX
}

/// A value of the ECN field (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnField {
    /// Congestion experienced.
    Ce,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1): L4S.
    Ect1,
    /// Not ECN-capable.
    NotEct,
}

/// Other customers of the upstream, as a load without packets: they take grants and request opportunities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NeighbourLoad {
    /// Mean share of the channel that they take. A higher one makes grants smaller and, near 100 %, later.
    pub load: Probability,
    /// How much the load varies: its standard deviation over its mean, before what exceeds the channel is cut off. Zero is a constant load.
    pub burstiness: f64,
    /// How long the load keeps a value before the next is drawn.
    pub correlation: Duration,
    /// What the mean is multiplied by from each time on: `[["0 s", 0.5], ["30 s", 1.5]]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time_of_day: Vec<(Duration, f64)>,
    /// Contention requests of theirs in a second, at their mean load. More make requests collide.
    pub requests_per_second: f64,
}

impl Default for NeighbourLoad {
    /// The load is that of the public ns-3 DOCSIS module's background users, a tenth of the channel. The others are a choice: loads that vary by half
    /// their mean from second to second, and a request in every tenth opportunity or so of a busy 6.4 MHz channel.
    fn default() -> Self {
        Self {
            load: Probability(0.1),
            burstiness: 0.5,
            correlation: Duration::from_secs(1),
            time_of_day: Vec::new(),
            requests_per_second: 200.0,
        }
    }
}

/// A change of a service flow during the run, as PacketCable Multimedia makes it. What it leaves
/// out stays as it was. Changes of one moment are made in the order of their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// When.
    pub at: Duration,
    /// Of which modem, or group of modems. Default: every modem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modem: Option<String>,
    /// Which service flow: `up`, `down`, or the name of a further one; of one that is created, its
    /// name.
    pub service_flow: String,
    /// The service flow is created, with this table. It has its row in the results from the start,
    /// which stays empty until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Box<ServiceFlow>>,
    /// The service flow is deleted, with its classifiers. What waits in it is discarded
    /// (`discarded_service_flow_deleted`); later packets go where the other classifiers say. Its
    /// name is not used again.
    #[serde(default, skip_serializing_if = "is_false")]
    pub delete: bool,
    /// Maximum sustained traffic rate R from then on, in bytes from after the HCS to the CRC. Tokens are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Peak traffic rate P from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Maximum traffic burst B from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<ByteCount>,
    /// Minimum reserved traffic rate from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Upstream scheduling type from then on. What has been asked for is still granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Named<Scheduling>>,
    /// Which packets it takes from then on: in place of all its classifiers. What waits stays where
    /// it is.
    #[serde(default, rename = "match", skip_serializing_if = "Several::is_empty")]
    pub classifiers: Several<Classifier>,
    /// Whether AQM is disabled for it from then on: what waits moves into the other queue, as with
    /// `queue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aqm_disabled: Option<bool>,
    /// The queue from then on: packets that wait move into it in order, as far as there is room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}
