//! What each application declares about itself, and checks of parameters that several have.

use super::memory::{Datagrams, Own, Setting};
use super::stream::Pace;
use super::{Application, Direction, video};
use crate::metrics::{Measure, deadline};
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// Description of an application, independent of its parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name in scenarios and results.
    pub name: &'static str,
    /// Properties that distinguish it from other applications.
    pub properties: &'static [Property],
    /// The measures that it can report, the most important first. It reports no others.
    pub measures: &'static [Measure],
}

/// A property of an application that matters for scores, comparisons and charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// It sends datagrams at a rate that adapts to the line.
    Adaptive,
    /// It uses all the capacity that it can get, and so counts for Jain's index.
    Bulk,
    /// Its servers may be anywhere: how far they are is a question of its own to who plans a line.
    Distant,
    /// It is a game. If it has no score, its delay is rated by the needs of games.
    Game,
    /// It always has more data to send while any transfer is in progress.
    Greedy,
    /// It observes the other flows. If a chart cannot show all flows, it is left out first.
    Probe,
    /// It transfers data: runs are compared by its goodput.
    Transfer,
}

impl Property {
    /// Name in the engine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Bulk => "bulk",
            Self::Distant => "distant",
            Self::Game => "game",
            Self::Greedy => "greedy",
            Self::Probe => "probe",
            Self::Transfer => "transfer",
        }
    }
}

/// An invalid parameter: the path of its key within the application's table, and the expected
/// value.
pub type Fault = (String, String);

/// What an application declares about itself, given its parameters.
pub(super) trait Definition {
    /// The description of the application, independent of its parameters.
    fn about() -> About
    where
        Self: Sized;
    /// `tcp` or `udp`. Results have no third value, so that echo requests count as datagrams.
    fn transport(&self) -> &'static str;
    /// Possible directions; the first is the default.
    fn directions(&self) -> &'static [Direction];
    /// Which sides send application data, by side. A request is data, an acknowledgement is not.
    fn carries_data(&self, direction: Direction) -> [bool; 2] {
        direction.sides()
    }
    /// Number of remote hosts that it uses.
    fn peers_wanted(&self) -> usize {
        1
    }
    /// Largest number of TCP connections open at the same time.
    fn connections(&self) -> u64 {
        0
    }
    /// Largest number of bytes that it has to send at the same time.
    fn most_to_send(&self) -> f64 {
        f64::INFINITY
    }
    /// Upper bound of its datagrams.
    fn datagrams(&self, direction: Direction) -> Datagrams {
        let _ = direction;
        Datagrams::NONE
    }
    /// Upper bound of the memory for its own state.
    fn own_bytes(&self) -> Own {
        Own::default()
    }
    /// Upper bound of the number of samples.
    fn samples(&self, of: &Setting) -> f64 {
        let _ = of;
        0.0
    }
    /// Checks for values that their types allow but that make no sense.
    fn check(&self) -> Result<(), Fault>;
    /// Creates the application for one of its directions.
    fn build(&self, direction: Direction) -> Box<dyn Application>;
}

/// Returns a fault unless `holds`.
pub(super) fn ensure(holds: bool, key: &str, expected: &str) -> Result<(), Fault> {
    if holds {
        Ok(())
    } else {
        Err((key.to_owned(), expected.to_owned()))
    }
}

/// A datagram is an IP packet with room for its headers (IPv4 20 B, UDP 8 B) and at least one byte.
pub(super) fn ensure_datagram(size: ByteCount, key: &str) -> Result<(), Fault> {
    ensure(
        (29..=u64::from(u16::MAX)).contains(&size.0),
        key,
        "an IP packet of 29 B to 65535 B",
    )
}

/// Time between two packets: not so short that a run would have too many events, and not endless.
pub(super) fn ensure_gap(gap: Duration, key: &str) -> Result<(), Fault> {
    ensure(
        (SHORTEST_GAP..=LONGEST_SPAN).contains(&gap),
        key,
        "a time between packets of 1 us to 24 h",
    )
}

/// A pause or a similar duration that is short enough to end within a run.
pub(super) fn ensure_span(span: Duration, key: &str) -> Result<(), Fault> {
    ensure(span <= LONGEST_SPAN, key, "at most 24 h")
}

/// A deadline that a packet can meet, and periods with enough packets for a share.
pub(super) fn ensure_scoring(scoring: &deadline::Config) -> Result<(), Fault> {
    ensure(
        (SHORTEST_DEADLINE..=LONGEST_DEADLINE).contains(&scoring.deadline),
        "scoring.deadline",
        "a time of 1 ms to 60 s",
    )?;
    ensure(
        (SHORTEST_PERIOD..=LONGEST_SPAN).contains(&scoring.period),
        "scoring.period",
        "a time of 100 ms to 24 h",
    )
}

/// Video whose frames and packets have a reasonable number and size.
pub(super) fn ensure_video(format: &video::Format) -> Result<(), Fault> {
    ensure(
        (1..=1000).contains(&format.frame_rate),
        "frame_rate",
        "1 to 1000",
    )?;
    ensure((0.0..=1.0).contains(&format.sigma), "sigma", "0 to 1")?;
    ensure(
        (100..=u64::from(u16::MAX)).contains(&u64::from(format.packet)),
        "packet",
        "an IP packet of 100 B to 65535 B",
    )?;
    let frame = format.rate.0 / 8 / u64::from(format.frame_rate);
    ensure(
        (100..=1_000_000).contains(&frame),
        "rate",
        "a rate at which a frame has 100 B to 1 MB",
    )?;
    let interval = Pace::per_second(format.frame_rate).gap();
    ensure(
        format.spread <= interval,
        "spread",
        "at most the time between two frames",
    )
}

/// A rate at which the time between packets of `size` is neither too short nor too long.
pub(super) fn ensure_rate(rate: Rate, size: ByteCount, key: &str) -> Result<(), Fault> {
    ensure(
        (SHORTEST_GAP..=LONGEST_SPAN).contains(&rate.time_for(size.0)),
        key,
        "a rate above zero, with at least 1 us between packets and at most 24 h",
    )
}

const SHORTEST_GAP: Duration = Duration::from_micros(1);
const SHORTEST_DEADLINE: Duration = Duration::from_millis(1);
const LONGEST_DEADLINE: Duration = Duration::from_secs(60);
const SHORTEST_PERIOD: Duration = Duration::from_millis(100);
const LONGEST_SPAN: Duration = Duration::from_secs(24 * 3600);
