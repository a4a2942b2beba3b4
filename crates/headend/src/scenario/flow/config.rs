//! A flow as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::Path;
use crate::named::{Named, OrTable};
use crate::scenario::distance::RttFrom;
use crate::scenario::span::Selection;
use crate::tcp;
use crate::time::Duration;
use crate::traffic::{ApplicationConfig, Direction};
use crate::units::Probability;

/// A flow: one application, or `count` of them, between a host and a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What is done: `"voice"`, or a table such as `{ bulk = { size = "10 MB" } }`.
    pub application: Named<ApplicationConfig>,
    /// Which way the application's data goes: `up` from the host, `down` to it, or `both`. Default:
    /// what the application is made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The customer's host. Default: one behind the only link. Of hosts behind several modems, each
    /// has an application of its own, called `NAME.1`, `NAME.2`, … after its modem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Which of its hosts, by number: `7`, `"1-50"`, `"1-20, 31"`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Selection>,
    /// Share of those hosts that have it. They are strewn over the others; a larger share adds to
    /// those of a smaller one. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Probability>,
    /// The remote host. Default: a server of the flow's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The remote hosts of an application that uses several. Default: as many servers of its own as
    /// it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<String>,
    /// Round-trip time of the wide area, half of it each way: a time, or a table that says where to
    /// draw it from. It goes before that of a named peer. Default: 20 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<OrTable<Duration, RttFrom>>,
    /// The wide area in detail.
    #[serde(default)]
    pub path: Path,
    /// How many of them there are; they are called `NAME.1`, `NAME.2`, … and have random streams of
    /// their own.
    #[serde(default = "one")]
    pub count: u32,
    /// When it starts: a time, a table `{ from, to }` to draw one from, evenly, or a table `{ from,
    /// every }` by which its members start one after the other.
    #[serde(default = "at_zero")]
    pub start: OrTable<Duration, Starts>,
    /// When it takes up no more work. Default: the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
    /// Several times from and until which it is there, in place of `start` and `stop`: `[["20 s",
    /// "95 s"], ["120 s", "150 s"]]`.
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
    /// User priority (IEEE 802.1p) in the tag of its frames, both ways, 0 to 7, for classifiers.
    /// Default: that of its host (`host.NAME.user_priority`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_priority: Option<u8>,
    /// ECN field of its datagrams, both ways: with it queues that mark congestion mark them in
    /// place of dropping them. The marks are counted; no application that sends datagrams here
    /// slows down for them. Default: not ECN-capable. Not for applications that use TCP, where
    /// `tcp.ecn` decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Ect>,
    /// Name of the tunnel that carries it, such as a VPN. Flows in the same tunnel have the same
    /// outer header: queues that tell flows apart by a hash take them for one.
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

impl Flow {
    /// A flow of a host, with all defaults.
    pub(in crate::scenario) fn new(application: ApplicationConfig, host: String) -> Self {
        Self {
            application: Named(application),
            direction: None,
            host: Some(host),
            on: None,
            share: None,
            peer: None,
            peers: Vec::new(),
            rtt: None,
            path: Path::default(),
            count: one(),
            start: at_zero(),
            stop: None,
            periods: Vec::new(),
            tcp: None,
            port: https(),
            dscp: 0,
            user_priority: None,
            ecn: None,
            tunnel: None,
        }
    }
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
