//! The air time of an 802.11 cell: what its channel was used for, and by whom.
//!
//! Every moment of the measured part belongs to one use, so that the shares of all uses sum to 1.

use super::table::{FLOAT, TEXT, Table};

/// What the channel of a cell is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AirUse {
    /// Frames of a station to the access point, with their answers.
    Up,
    /// Frames of the access point to a station, with their answers.
    Down,
    /// Frames to or from a station that arrive broken, and so have no answer.
    Broken,
    /// Frames of several nodes at once.
    Collision,
    /// Nothing is sent: nobody has a frame, or all wait for DIFS, EIFS and their backoffs.
    Idle,
}

impl AirUse {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Broken => "broken",
            Self::Collision => "collision",
            Self::Idle => "idle",
        }
    }
}

/// A use of a cell's channel by a station, or by nobody in particular.
#[derive(Debug)]
struct Use {
    link: String,
    station: String,
    what: AirUse,
    so_far: u64,
    at_warmup: u64,
}

/// The uses of the channels of all cells, in the order in which cells report them.
#[derive(Debug, Default)]
pub(super) struct AirTime(Vec<Use>);

impl AirTime {
    /// Notes that a use has taken so many nanoseconds since the start of the run.
    pub(super) fn note(&mut self, link: &str, station: &str, what: AirUse, nanos: u64) {
        let is_it =
            |other: &&mut Use| other.what == what && other.station == station && other.link == link;
        match self.0.iter_mut().find(is_it) {
            Some(known) => known.so_far = nanos,
            None => self.0.push(Use {
                link: link.to_owned(),
                station: station.to_owned(),
                what,
                so_far: nanos,
                at_warmup: 0,
            }),
        }
    }

    /// The warm-up is over: the use so far does not count.
    pub(super) fn start_measuring(&mut self) {
        for known in &mut self.0 {
            known.at_warmup = known.so_far;
        }
    }

    /// The share of the last `measured` seconds that the channel of a cell was used for `what`, by
    /// a station or, without one, by all. NaN of a link that is no cell.
    pub(super) fn share(
        &self,
        link: &str,
        station: Option<&str>,
        what: AirUse,
        measured: f64,
    ) -> f64 {
        let is_it = |known: &&Use| {
            known.what == what
                && known.link == link
                && station.is_none_or(|station| known.station == station)
        };
        let mut found = self.0.iter().filter(is_it).peekable();
        if found.peek().is_none() {
            return f64::NAN;
        }
        let nanos: u64 = found.map(|known| known.so_far - known.at_warmup).sum();
        nanos as f64 / (measured * 1e9)
    }

    /// Whether there is a cell.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A row for each use, with its share of the last `measured` seconds.
    pub(super) fn table(&self, measured: f64) -> Table {
        let mut table = Table::of(&[
            ("link", TEXT),
            ("station", TEXT),
            ("use", TEXT),
            ("air_ratio", FLOAT),
        ]);
        for known in &self.0 {
            table.text("link", &known.link);
            table.text("station", &known.station);
            table.text("use", known.what.name());
            let nanos = (known.so_far - known.at_warmup) as f64;
            table.float("air_ratio", nanos / (measured * 1e9));
        }
        table
    }
}
