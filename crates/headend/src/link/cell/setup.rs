//! What a cell is built from: its rules, its access point and its stations.

use super::backoff::Windows;
use super::phy::{self, Mode, Phy};
use super::window::TryLimits;
use crate::link::Varying;
use crate::qdisc::Queue;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{Decibels, Probability};

/// Parameters of the whole cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// Durations of frames on the air.
    pub phy: Phy,
    /// Slot time.
    pub slot: Duration,
    /// Idle time before an answer.
    pub sifs: Duration,
    /// Idle time in addition to AIFS after a frame that nobody could decode (EIFS − DIFS).
    pub after_error: Duration,
    /// Time after the start of a transmission in which other nodes do not detect it (CCA). A node
    /// that begins within it collides.
    pub unnoticed: Duration,
    /// Propagation delay.
    pub propagation: Duration,
    /// A longer PSDU is announced by RTS.
    pub rts_threshold: u64,
    /// The mode of the CTS-to-self that precedes each OFDM frame where 802.11b stations belong to
    /// the cell; `None` without such stations.
    pub protection: Option<Mode>,
    /// Tries after which an MPDU is given up.
    pub tries: TryLimits,
    /// The access point's queues.
    pub sharing: Sharing,
}

/// What a frame may carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregation {
    /// Most MPDUs that are sent and not yet acknowledged (the block-acknowledgement window).
    pub mpdus: u32,
    /// Most bytes of an A-MPDU.
    pub bytes: u64,
    /// Longest duration of a frame.
    pub time: Duration,
    /// Most bytes of an A-MSDU; zero: each MPDU carries one packet.
    pub amsdu: u64,
}

impl Aggregation {
    /// Each frame carries one packet.
    pub const NONE: Self = Self {
        mpdus: 1,
        bytes: 0,
        time: Duration::ZERO,
        amsdu: 0,
    };

    /// The stricter of both rules.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        Self {
            mpdus: self.mpdus.min(other.mpdus),
            bytes: self.bytes.min(other.bytes),
            time: self.time.min(other.time),
            amsdu: self.amsdu.min(other.amsdu),
        }
    }
}

/// The parameters of contention of a node in one access category.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// Idle time before a backoff: DIFS without access categories.
    pub aifs: Duration,
    /// Contention windows.
    pub windows: Windows,
    /// How long the node may go on when it has won the channel; zero: one exchange.
    pub txop: Duration,
}

/// How the stations of a cell share the access point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sharing {
    /// One queue for each access category. The radio takes packets from it ahead, at most this many
    /// for each category, and serves their stations in turn.
    Ahead(u32),
    /// A queue for each station and category.
    ByStation {
        /// The stations take turns by time on the air, with this quantum of their deficits;
        /// `None`: by frame.
        quantum: Option<Duration>,
        /// How long the packets that the radio takes from each queue ahead are on the air; `None`:
        /// it takes what a frame carries when it makes the frame.
        limit: Option<Duration>,
    },
}

/// A station, as it is built.
#[derive(Debug)]
pub struct StationSetup {
    /// The queue for what goes up. Wake-ups for its updates have the token
    /// [`Cell::update_token`](super::Cell::update_token).
    pub queue: Queue,
    /// How frames to and from it are sent.
    pub radio: Radio,
    /// Contention, by access category, each with a random stream for its backoffs.
    pub access: Vec<(Access, Rng)>,
    /// Whether it hears each station, itself included. All hear the access point.
    pub hears: Vec<bool>,
    /// Random streams for the rate control of what goes up and down.
    pub rate_control_rngs: [Rng; 2],
}

/// The access point, as it is built.
#[derive(Debug)]
pub struct AccessPointSetup {
    /// Its queue. Wake-ups for its updates have the token
    /// [`Cell::update_token`](super::Cell::update_token).
    pub queue: Queue,
    /// The fastest mode in which it sends.
    pub mode: Mode,
    /// Contention, by access category, each with a random stream for its backoffs.
    pub access: Vec<(Access, Rng)>,
}

/// How frames to and from a station are sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Radio {
    /// Their modes, in ascending order of rate. Of several, rate control chooses one.
    pub modes: Vec<Mode>,
    /// Share of the MPDUs that arrive broken, whatever their mode.
    pub frame_errors: Probability,
    /// The ratio of signal to noise. `None`: only `frame_errors` breaks MPDUs.
    pub snr: Option<Varying<Decibels>>,
    /// Whether it has access categories and aggregation (`QoS`).
    pub aggregates: bool,
    /// What a frame to or from it may carry.
    pub aggregation: Aggregation,
    /// Bytes of an MPDU beyond the IP packet.
    pub overhead: u64,
}

impl Radio {
    /// The fastest mode.
    pub fn fastest(&self) -> Mode {
        self.modes[self.modes.len() - 1]
    }

    /// The share of MPDUs of `bytes` that arrive broken at `now` in a mode.
    pub(super) fn error_rate(&self, mode: Mode, bytes: u64, now: Instant) -> f64 {
        let own = self.frame_errors.0;
        let Some(snr) = &self.snr else {
            return own;
        };
        1.0 - (1.0 - own) * (1.0 - phy::error_rate(mode, snr.at(now), bytes))
    }
}
