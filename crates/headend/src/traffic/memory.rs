//! What a flow of an application sends, keeps and reports at most. Each application says it in its
//! own file, and a scenario's memory is reckoned from it before the run.

use crate::metrics::deadline;
use crate::time::Duration;
use crate::traffic::Direction;
use crate::units::Rate;

/// IP bytes of the largest packet.
pub(crate) const MTU: f64 = 1500.0;

/// What surrounds a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// Simulated time, seconds.
    pub(crate) duration: f64,
    /// What the slowest link of its way carries, bytes per second.
    pub(crate) rate: f64,
    /// Round-trip time of its way, seconds.
    pub(crate) rtt: f64,
}

impl Setting {
    /// So many samples each time that `span` is over.
    pub(super) fn every(&self, span: Duration, samples: f64) -> f64 {
        samples * self.duration / span.as_secs_f64()
    }

    /// One sample for each of `files` that have `size` bytes and follow each other after `pause`, where
    /// none takes less than `least` seconds.
    pub(super) fn files(&self, size: u64, least: f64, pause: Duration, files: Option<u64>) -> f64 {
        let takes = (size as f64 / self.rate).max(least) + pause.as_secs_f64();
        (self.duration / takes).min(files.map_or(f64::INFINITY, |files| files as f64))
    }
}

/// What an application keeps of its own.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// The key that makes it what it is.
    pub(crate) keys: &'static str,
    /// The reckoning, as a product.
    pub(crate) text: String,
    /// Bytes.
    pub(crate) each: f64,
}

impl Own {
    /// Requests that wait for their answers.
    pub(super) fn outstanding(keys: &'static str, timeout: Duration, interval: Duration) -> Self {
        let requests = (timeout.as_secs_f64() / interval.as_secs_f64()).ceil();
        Self {
            keys,
            text: format!("{requests} requests that wait × 24 B"),
            each: requests * 24.0,
        }
    }

    /// Scoring periods whose deadline is not over, in both directions, and the video frames of them, of
    /// which there are so many a second.
    pub(super) fn scored(keys: &'static str, scoring: &deadline::Config, frames: f64) -> Self {
        /// The grace of video at least, seconds.
        const GRACE: f64 = 2.0;
        const PERIOD: f64 = 64.0;
        let deadline = scoring.deadline.as_secs_f64();
        let grace = if frames > 0.0 {
            deadline.max(GRACE)
        } else {
            deadline
        };
        let periods = (grace / scoring.period.as_secs_f64()).ceil() + 1.0;
        let frames = (grace * frames).ceil();
        Self {
            keys,
            text: format!(
                "2 directions × ({periods} periods × {PERIOD} B + {frames} frames × 32 B)"
            ),
            each: 2.0 * (periods * PERIOD + frames * 32.0),
        }
    }
}

/// Datagrams of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagrams {
    /// Per second, up and down.
    pub(crate) pps: [f64; 2],
    /// IP bytes of the smallest that count.
    pub(crate) size: f64,
    /// IP bytes of the largest.
    pub(crate) largest: f64,
}

impl Datagrams {
    /// None: what is sent goes over TCP.
    pub(super) const NONE: Self = Self {
        pps: [0.0; 2],
        size: MTU,
        largest: MTU,
    };

    /// One of `size` every `gap`, both ways.
    pub(super) fn both(gap: Duration, size: f64) -> Self {
        let pps = 1.0 / gap.as_secs_f64();
        Self {
            pps: [pps, pps],
            size,
            largest: size,
        }
    }

    /// So many a second, the smallest of which has `size`, from each side that sends.
    pub(super) fn sided(direction: Direction, pps: f64, size: f64) -> Self {
        let [up, down] = direction.sides().map(f64::from);
        Self {
            pps: [up * pps, down * pps],
            size,
            largest: size.max(MTU),
        }
    }

    /// Datagrams of `size` at a rate, or one every `gap`.
    pub(super) fn of_rate(
        direction: Direction,
        rate: Rate,
        gap: Option<Duration>,
        size: u64,
    ) -> Self {
        let bytes = rate.0 as f64 / 8.0;
        let pps = gap.map_or(bytes / size as f64, |gap| 1.0 / gap.as_secs_f64());
        Self::sided(direction, pps, size as f64)
    }
}
