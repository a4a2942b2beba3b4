//! An 802.11b cell as it is written: the channel's parameters, the access point and the stations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::cell::phy::{Preamble, RATES};
use crate::scenario::queue::Queue;
use crate::time::Duration;
use crate::units::{ByteCount, Probability, Rate};

/// An 802.11b cell: an access point and its stations, which share one channel by the distributed
/// coordination function.
///
/// Use it for the home's or the café's radio of those years, alone or behind a cable modem: what
/// many small packets, slow stations and collisions cost.
///
/// Source: IEEE 802.11-1999 §9 and IEEE 802.11b-1999 §18, whose values are the defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dot11b {
    /// Data rate of stations that give none, 1, 2, 5.5 or 11 Mbit/s: what they send at, and what is
    /// sent to them at. It counts MPDU bytes, the IP packet and `overhead`; preambles, gaps and
    /// acknowledgements take their own time.
    pub rate: Rate,
    /// What precedes every frame: `"long"` or `"short"`.
    pub preamble: Preamble,
    /// Rates of control frames: answers go at the largest of them that is no larger than the
    /// frame's.
    pub basic_rates: Vec<Rate>,
    /// MPDUs longer than this are announced by RTS and CTS: then collisions cost little, and every
    /// frame more. `"2347 B"` never announces one.
    pub rts_threshold: ByteCount,
    /// Bytes of an MPDU beyond the IP packet: MAC header and FCS (28 B), LLC and SNAP (8 B).
    pub overhead: ByteCount,
    /// A slot of the backoff.
    pub slot: Duration,
    /// Time between a frame and its answer.
    pub sifs: Duration,
    /// Time that the channel must be idle before a backoff.
    pub difs: Duration,
    /// The same after a frame that nobody could read. Default: SIFS, DIFS and the slowest
    /// acknowledgement, 364 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eifs: Option<Duration>,
    /// Smallest contention window: backoffs are drawn from 0 to so many slots.
    pub cw_min: u32,
    /// Largest contention window, to which failures double it.
    pub cw_max: u32,
    /// Tries of a frame that is not announced, and of an RTS; 0 never gives up.
    pub short_retry_limit: u32,
    /// Tries of an announced frame; 0 never gives up.
    pub long_retry_limit: u32,
    /// How long a transmission goes unnoticed: who begins within it collides. Shorter than a slot.
    pub cca_time: Duration,
    /// Time on the way between any two.
    pub propagation: Duration,
    /// The access point: its queue holds what goes down to all stations.
    pub access_point: AccessPoint,
    /// Stations by name.
    pub station: BTreeMap<String, Station>,
}

impl Default for Dot11b {
    fn default() -> Self {
        Self {
            rate: RATES[3],
            preamble: Preamble::default(),
            basic_rates: RATES[..2].to_vec(),
            rts_threshold: ByteCount(2347),
            overhead: ByteCount(36),
            slot: Duration::from_micros(20),
            sifs: Duration::from_micros(10),
            difs: Duration::from_micros(50),
            eifs: None,
            cw_min: 31,
            cw_max: 1023,
            short_retry_limit: 7,
            long_retry_limit: 4,
            // Clause 18.4.8.4: carrier sense reports a busy channel within 15 us.
            cca_time: Duration::from_micros(15),
            propagation: Duration::ZERO,
            access_point: AccessPoint::default(),
            station: BTreeMap::new(),
        }
    }
}

/// The access point of an 802.11b cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AccessPoint {
    /// Its queue, for all stations.
    pub queue: Queue,
}

/// A station of an 802.11b cell, or several that are alike.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Station {
    /// Its data rate. Default: the cell's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its queue, for what goes up.
    pub queue: Queue,
    /// How many of them there are, called `NAME.1`, `NAME.2`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Share of the frames from and to it that arrive broken, besides collisions.
    pub frame_errors: Probability,
}
