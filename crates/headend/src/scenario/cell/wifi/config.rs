//! A cell of 802.11g, n, ac or ax as it is written: the channel, the access point and the stations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::Band;
use super::edca::Edca;
use super::signal::VaryingRatio;
use super::standard::Standard;
use crate::named::OrTable;
use crate::qdisc::lanes::DscpMap;
use crate::scenario::queue::Queue;
use crate::time::Duration;
use crate::units::{ByteCount, Decibels, Probability, Rate};

/// A cell of 802.11g, n, ac or ax: an access point and its stations, which share one channel by
/// carrier sense. The key says which standard it has, and so what is taken for what is left out.
///
/// Use it for the Wi-Fi of a home, alone or behind a cable modem: what its access point's queue, a
/// slow station, many stations and hidden ones cost.
///
/// Source: IEEE 802.11-2020 §10, §17, §19 and §21, and IEEE 802.11ax-2021 §27.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wifi {
    /// The band: `"2.4 GHz"`, `"5 GHz"` or `"6 GHz"`. Default: 2.4 GHz up to 802.11n, 5 GHz later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<Band>,
    /// Width of the channel in MHz. Default: 20 at 2.4 GHz; above, 40 of 802.11n and 80 later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u16>,
    /// Guard interval between symbols. Default: `"400 ns"` of 802.11n and ac, `"800 ns"` of 802.11g
    /// and ax.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard_interval: Option<Duration>,
    /// Spatial streams of stations that give none. Default: 2, and 1 of 802.11g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u8>,
    /// Modulation and coding scheme of stations that give none, for each stream: 0 to 7 of 802.11n,
    /// 9 of ac and 11 of ax. Default: the largest that the width and the streams allow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// Data rate of 802.11g stations that give none: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s.
    /// Default: 54 Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Most MPDUs that are sent and not yet acknowledged: the window of block acknowledgements, and
    /// the most MPDUs of a frame. 1: no A-MPDU. Default: 64, and 256 of 802.11ax.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ampdu_mpdus: Option<u32>,
    /// Most bytes of an A-MPDU. Default: the standard's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ampdu_bytes: Option<ByteCount>,
    /// Longest duration of a frame. Default: `"5484 us"`, the standards' limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ampdu_time: Option<Duration>,
    /// Most bytes of an A-MSDU, which packs several packets into an MPDU. Default: none (`"0 B"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amsdu_bytes: Option<ByteCount>,
    /// Frames longer than this are announced by RTS and CTS. Default: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<ByteCount>,
    /// Tries after which a packet is given up; 0 never gives up. Default: 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<u32>,
    /// Bytes of an MPDU beyond the IP packet: MAC header, FCS, LLC and SNAP. Encryption adds 16 B.
    /// Default: `"38 B"`, and `"36 B"` of stations up to 802.11g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<ByteCount>,
    /// A slot of the backoff. Default: `"9 us"`; `"20 us"` beside 802.11b stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Duration>,
    /// Time between a frame and its answer. Default: `"16 us"`; `"10 us"` at 2.4 GHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sifs: Option<Duration>,
    /// What follows a frame that a node could not decode, in place of DIFS (SIFS and two slots).
    /// AIFS is longer by the difference. Default: SIFS, the slowest acknowledgement and DIFS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifs: Option<Duration>,
    /// How long a transmission goes unnoticed: who begins within it collides. Shorter than a slot.
    /// Default: `"4 us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cca_time: Option<Duration>,
    /// Time on the way between any two. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub propagation: Option<Duration>,
    /// How the DSCP of a packet decides its access category. Not of 802.11g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp_map: Option<DscpMap>,
    /// Contention of the stations. Not of 802.11g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edca: Option<Edca>,
    /// The access point.
    pub access_point: WifiAccessPoint,
    /// Stations by name.
    pub station: BTreeMap<String, WifiStation>,
}

/// The access point of a cell of 802.11g, n, ac or ax.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WifiAccessPoint {
    /// Its queue for what goes down: one for each access category, or one for each station and
    /// category, as `queues` says. Default: `drop_tail` of 1000 packets; with queues by station
    /// `fq_codel` with a target of 20 ms, as in Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Which stations share a queue.
    pub queues: Sharing,
    /// Packets that the radio takes from the queue of a category ahead, to make frames of those for
    /// the same station, which carry no more than these; the queue discipline does not see them any
    /// more. Only with queues by category. Default: 123, as in Linux's ath9k; 1 of 802.11g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u32>,
    /// Time on the air for each station in a round, where stations share the air evenly. `"0 s"`:
    /// they share the frames evenly. Only with queues by station. Default: `"300 us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airtime_quantum: Option<Duration>,
    /// How long the packets of a queue that the radio takes ahead are on the air: the airtime queue
    /// limit (AQL) of Linux, which is 5 ms to 12 ms there. The queue discipline does not see them
    /// any more, and a frame carries nothing else. Only with queues by station. Default: `"0 s"`,
    /// packets leave their queue when the frame is made that carries them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airtime_limit: Option<Duration>,
    /// Contention of the access point. Not of 802.11g.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edca: Option<Edca>,
}

/// Which stations share a queue of the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// All: there is one queue for each access category.
    #[default]
    ByCategory,
    /// None: each station has a queue for each access category, and packets wait in it until the
    /// frame is made that carries them, as in Linux's mac80211 since 2016.
    ByStation,
}

/// A station of a cell of 802.11g, n, ac or ax, or several that are alike.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WifiStation {
    /// Its standard, if it is an older one than the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standard: Option<Standard>,
    /// Its modulation and coding scheme. Default: the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcs: Option<u8>,
    /// Its spatial streams. Default: the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u8>,
    /// The width of its frames in MHz. Default: the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u16>,
    /// Its data rate, of an 802.11b or 802.11g station. Default: the cell's, or the largest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its queue for what goes up: one for each access category. Default: `drop_tail` of 1000
    /// packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// How many of them there are, called `NAME.1`, `NAME.2`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Share of the MPDUs from and to it that arrive broken, besides collisions.
    pub frame_errors: Probability,
    /// The ratio of signal to noise between it and the access point, of the whole width and both
    /// ways, constant or in steps: MPDUs break as often as its MCS does at that ratio in white
    /// noise. A home's channel fades: it needs 5 to 10 dB more (from memory). Unless the station
    /// has an `mcs` (or a `rate`), rate control chooses among those up to the cell's, and up to its
    /// streams, by what arrives. Not of 802.11b stations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snr: Option<OrTable<Decibels, VaryingRatio>>,
    /// Stations that it does not hear, nor they it: their frames collide at the access point. With
    /// its own name, those of a group do not hear each other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden_from: Vec<String>,
}
