//! What the channel of a cell was used for: the time on the air by station and by use.
//!
//! Every moment belongs to one use. Where frames of nodes that do not hear each other overlap, a
//! moment belongs to the exchange that ended first.

use crate::metrics::air::AirUse;
use crate::time::{Duration, Instant};

/// A use of the channel: of a station, or of nobody in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) station: usize,
    pub(super) what: AirUse,
}

/// The uses of the air that are of one station, in the order of the times of [`Usage`].
pub(super) const OF_STATION: [AirUse; 3] = [AirUse::Up, AirUse::Down, AirUse::Broken];

/// Times on the air since the start of the run.
#[derive(Debug, Clone)]
pub(super) struct Usage {
    /// By station: frames up, frames down, and broken ones.
    pub(super) of_station: Vec<[Duration; 3]>,
    pub(super) collided: Duration,
    /// All of it.
    pub(super) sent: Duration,
    /// Until when time is counted.
    until: Instant,
}

impl Usage {
    pub(super) fn new(stations: usize) -> Self {
        Self {
            of_station: vec![[Duration::ZERO; 3]; stations],
            collided: Duration::ZERO,
            sent: Duration::ZERO,
            until: Instant::ZERO,
        }
    }

    /// The channel was used from `from` to `until`.
    pub(super) fn add(&mut self, of: Use, from: Instant, until: Instant) {
        let span = until.since(from.max(self.until));
        self.until = self.until.max(until);
        self.sent += span;
        match OF_STATION.iter().position(|own| *own == of.what) {
            Some(index) => self.of_station[of.station][index] += span,
            None => self.collided += span,
        }
    }

    /// Nothing more was sent until `until`.
    pub(super) fn count_until(&mut self, until: Instant) {
        self.until = self.until.max(until);
    }

    /// Time in which nothing was sent.
    pub(super) fn idle(&self) -> Duration {
        (self.until - Instant::ZERO).saturating_sub(self.sent)
    }
}
