//! A scenario as it is written: the structs whose doc comments are the reference documentation.
//!
//! Types say what form a value has; [`super::check`] says what they cannot: what refers to what, and what is absurd.
//! Kinds are tagged outside (`[link.cable.docsis]`) and things are tables by name, so that every error has a path and a position.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cable::Docsis;
use super::distance::RttFrom;
use super::dot11b::Dot11b;
use super::header_fields::Address;
use super::span::Selection;
use crate::named::{Named, OrTable};
use crate::qdisc::QueueConfig;
use crate::tcp;
use crate::time::Duration;
use crate::traffic::{ApplicationConfig, Direction};
use crate::units::{ByteCount, Probability, Rate};
use crate::wire;

/// A scenario: the whole experiment in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(title = "headend scenario")]
pub struct Raw {
    /// Version of this grammar.
    pub format: u32,
    /// What the scenario is about, in one line: the title of its report.
    pub title: String,
    /// What it teaches: what to look at, and why it is so.
    pub description: String,
    /// Seed of all random streams. The same scenario and seed give the same results everywhere.
    pub seed: u64,
    /// Simulated time from the start to the end of the run.
    pub duration: Duration,
    /// How much of the start is left out of every figure but the series over time, so that slow starts do not colour averages.
    pub warmup: Duration,
    /// The queue the scenario is about, such as `cable.up`: what `queue` means on the command line.
    /// Without it, `queue` is the up queue of the only link, and reports take the queue that did the harm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<String>,
    /// What is kept.
    pub results: Results,
    /// Links by name.
    pub link: BTreeMap<String, Named<LinkConfig>>,
    /// Hosts by name. A flow that names none uses the customer's side of the only link, and a server of its own.
    pub host: BTreeMap<String, Host>,
    /// TCP of every flow that uses it and says nothing else, but for those that name an end system of their own: `tcp.system = "rfc"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<tcp::Config>,
    /// Flows by name: who does what.
    pub flow: BTreeMap<String, Flow>,
    /// Expectations by name, such as `"call.mos.p5 >= 4.0"`: a run that misses one is reported as failed.
    pub expect: BTreeMap<String, String>,
}

impl Default for Raw {
    fn default() -> Self {
        Self {
            format: FORMAT,
            title: String::new(),
            description: String::new(),
            seed: 1,
            duration: Duration::from_secs(60),
            warmup: Duration::ZERO,
            bottleneck: None,
            results: Results::default(),
            link: BTreeMap::new(),
            host: BTreeMap::new(),
            tcp: None,
            flow: BTreeMap::new(),
            expect: BTreeMap::new(),
        }
    }
}

/// The version of the grammar this engine reads.
pub const FORMAT: u32 = 1;

/// What is kept of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Results {
    /// Packets to be captured. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// Length of an interval of the series over time. Default: a round number near duration / 600, at least 10 ms; near duration / 60 where there
    /// are thousands of queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

/// A capture: the packets that pass chosen points, with real headers, as pcapng files in the folder `capture` of the results, for Wireshark and its like. Data is zeros.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// Where. A flow or one of its ends (`"upload"`, `"upload.host"`, `"upload.peer"`), a named host (all it sends and receives), a queue or one
    /// of the things that happen there (`"cable.up"`, `"cable.up.enqueue"`, `"cable.up.dequeue"`, `"cable.up.drop"`). Each has a file of
    /// its own. `*` stands for any number: `"cable.home.*.up"`.
    pub points: Vec<String>,
    /// Bytes kept of a packet at most. The default holds the longest headers; `"65535 B"` keeps the data's zeros too, and with them all that Wireshark needs to verify checksums.
    pub snaplen: ByteCount,
    /// When it begins.
    pub start: Duration,
    /// When it ends. Default: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            snaplen: ByteCount(wire::headers::LONGEST as u64),
            start: Duration::ZERO,
            stop: None,
        }
    }
}

/// A link, by its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkConfig {
    /// A DOCSIS cable line.
    Docsis(Box<Docsis>),
    /// An 802.11b cell: an access point and its stations on one channel.
    Dot11b(Box<Dot11b>),
    /// A plain rate-limited link.
    PointToPoint(Box<PointToPoint>),
}

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
    /// How fast it sends: a rate, or a table with a rate that varies. It counts the bytes of IP packets, header included: what frames add on a real
    /// wire is not in it.
    pub rate: OrTable<Rate, VaryingRate>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Duration,
    /// The queue in front of it.
    #[serde(default)]
    pub queue: Queue,
}

/// A rate that varies with time: steps, or the delivery opportunities of a recorded trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaryingRate {
    /// From each time on, that rate: `[["0 s", "10 Mbit/s"], ["30 s", "2 Mbit/s"]]`. The first step is at `"0 s"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Duration, Rate)>,
    /// The steps repeat after this time. Default: the last step stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// A file in Mahimahi's format, relative to the scenario: a line for each millisecond at which 1504 bytes may leave. Repeats at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The same, written here: whole milliseconds in rising order, the last of which is the length of the pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities: Vec<u64>,
}

/// A queue, by its discipline: a name alone takes all defaults.
pub type Queue = Named<QueueConfig>;

/// A host: a customer's, behind links, or one in the network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Its address, such as `"192.168.1.10"` or `"2001:db8::10"`, for classifiers; of several hosts
    /// the first one's, the others have the following ones. A host with an IPv6 address sends IPv6
    /// packets, and so does who answers it: their headers are 20 B longer. Default: an IPv4 address
    /// in 10.0.0.0/8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// A customer's host: the link ports from it out to the network, such as `["wifi.laptop", "cable"]`. Behind modems of which there are several
    /// (`["cable.home"]`) there is a host at each, called `NAME.1`, `NAME.2`, … Empty: a host in the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// A network's host: round-trip time of the wide area between it and the customers' links, where a flow gives none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<OrTable<Duration, RttFrom>>,
    /// Time the host takes for each packet it sends and for each it receives (interrupts, the network
    /// stack, the wake-up of a program), in both roles: a round trip grows by twice this at either end.
    pub processing: Duration,
    /// A customer's host: the tunnel that carries its flows, where a flow names none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// A customer's host: the VLAN (IEEE 802.1Q) that its packets are tagged with at the modem, 1
    /// to 4094, for classifiers. The tag's 4 B are not counted. Default: untagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

/// A flow: one application, or `count` of them, between a host and a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What is done: `"voice"`, or a table such as `{ bulk = { size = "10 MB" } }`.
    pub application: Named<ApplicationConfig>,
    /// Which way the application's data goes: `up` from the host, `down` to it, or `both`. Default: what the application is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The customer's host. Default: one behind the only link. Of hosts behind several modems, each has an application of its own, called
    /// `NAME.1`, `NAME.2`, … after its modem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Which of its hosts, by number: `7`, `"1-50"`, `"1-20, 31"`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Selection>,
    /// Share of those hosts that have it. They are strewn over the others; a larger share adds to those of a smaller one. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Probability>,
    /// The remote host. Default: a server of the flow's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The remote hosts of an application that uses several. Default: as many servers of its own as it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Round-trip time of the wide area, half of it each way: a time, or a table that says where to draw it from. It goes before that of a
    /// named peer. Default: 20 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<OrTable<Duration, RttFrom>>,
    /// The wide area in detail.
    #[serde(default)]
    pub path: Path,
    /// How many of them there are; they are called `NAME.1`, `NAME.2`, … and have random streams of their own.
    #[serde(default = "one")]
    pub count: u32,
    /// When it starts: a time, a table `{ from, to }` to draw one from, evenly, or a table `{ from, every }` by which its members start one after
    /// the other.
    #[serde(default = "at_zero")]
    pub start: OrTable<Duration, Starts>,
    /// When it takes up no more work. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Several times from and until which it is there, in place of `start` and `stop`: `[["20 s", "95 s"], ["120 s", "150 s"]]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<(Duration, Duration)>,
    /// TCP, for applications that use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<tcp::Config>,
    /// Port of the remote host, for classifiers. Default: 443.
    #[serde(default = "https")]
    pub port: u16,
    /// DSCP of its packets, 0 to 63.
    #[serde(default)]
    pub dscp: u8,
    /// ECN field of its datagrams, both ways: with it queues that mark congestion mark them in place of
    /// dropping them. The marks are counted; no application that sends datagrams here slows down for
    /// them. Default: not ECN-capable. Not for applications that use TCP, where `tcp.ecn` decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ect>,
    /// Name of the tunnel that carries it, such as a VPN. Flows in the same tunnel have the same outer header: queues that tell flows apart
    /// by a hash take them for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
}

/// The ECN field of an ECN-capable datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ect {
    /// ECT(0): a sender that answers a mark as it answers a loss (RFC 3168).
    Ect0,
    /// ECT(1): a sender that expects frequent marks, L4S (RFC 9331). `dualpi2` puts it in its
    /// low-latency queue.
    Ect1,
}

fn one() -> u32 {
    1
}

fn https() -> u16 {
    443
}

fn at_zero() -> OrTable<Duration, Starts> {
    OrTable::Plain(Duration::ZERO)
}

/// When the members of a flow start: `to` or `every` stands beside `from`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Starts {
    /// The earliest.
    pub from: Duration,
    /// The latest: each draws a time between the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Duration>,
    /// Time between the starts of two members: `NAME.1` starts at `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

/// A time between two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRange {
    /// The earliest.
    pub from: Duration,
    /// The latest.
    pub to: Duration,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(share: &Probability) -> bool {
    share.0 <= 0.0
}

/// The wide area between the links and a remote host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Path {
    /// One-way delay away from the customer. Default: half the round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Duration>,
    /// One-way delay towards the customer. Default: half the round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Duration>,
    /// Packets lost: the share lost at random, each way, or a table that tells the two ways apart or
    /// loses every so many-th packet: `{ up = "1 %" }`, `{ every = 100 }`, `{ down = { every = 100 } }`.
    pub loss: OrTable<Probability, PathLoss>,
    /// Share of the ECN-capable packets marked at random (CE), each way: how a congestion control answers marks, without a queue.
    #[serde(skip_serializing_if = "is_zero")]
    pub marks: Probability,
    /// Each packet is late by up to this, evenly, without overtaking: the timing of hosts, without which equal flows lock into phase with a
    /// queue. `"0 s"` switches it off.
    pub jitter: Duration,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            up: None,
            down: None,
            loss: OrTable::Plain(Probability(0.0)),
            marks: Probability(0.0),
            jitter: Duration::from_micros(100),
        }
    }
}

/// Losses of the wide area that differ by direction, or that are periodic.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PathLoss {
    /// Away from the customer: a share lost at random, or `{ every = 100 }`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<OrTable<Probability, PeriodicLoss>>,
    /// Towards the customer, likewise. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<OrTable<Probability, PeriodicLoss>>,
    /// Each way the packets whose number is a multiple of this are lost, and no others: of 100, the
    /// 100th, the 200th, and so on of each direction. In place of `up` and `down`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
}

/// Losses at equal distances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeriodicLoss {
    /// The packets whose number is a multiple of this are lost, and no others.
    pub every: u32,
}
