//! Upper bounds of what an application sends, stores and measures. Each application gives them in
//! its own file. The engine estimates the memory of a scenario from them before a run.

use crate::metrics::deadline;
use crate::time::Duration;
use crate::traffic::Direction;
use crate::units::Rate;

/// IP bytes of the largest packet.
pub(crate) const MTU: f64 = 1500.0;

/// The conditions under which a flow runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// Simulated time, seconds.
    pub(crate) duration: f64,
    /// Rate of the slowest link on the flow's path, bytes per second.
    pub(crate) rate: f64,
    /// Round-trip time of the flow's path, seconds.
    pub(crate) rtt: f64,
}

impl Setting {
    /// Number of samples if there are `samples` of them in each `span`.
    pub(super) fn every(&self, span: Duration, samples: f64) -> f64 {
        samples * self.duration / span.as_secs_f64()
    }

    /// Number of samples if each of `files` transfers gives one. A transfer has `size` bytes, takes
    /// at least `least` seconds, and starts `pause` after the end of the one before.
    pub(super) fn files(&self, size: u64, least: f64, pause: Duration, files: Option<u64>) -> f64 {
        let takes = (size as f64 / self.rate).max(least) + pause.as_secs_f64();
        (self.duration / takes).min(files.map_or(f64::INFINITY, |files| files as f64))
    }
}

/// Memory for an application's own state.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// The configuration key that determines the size.
    pub(crate) keys: &'static str,
    /// How the size is computed, as a product.
    pub(crate) text: String,
    /// Size, bytes.
    pub(crate) each: f64,
}

impl Own {
    /// State of requests whose responses are outstanding.
    pub(super) fn outstanding(keys: &'static str, timeout: Duration, interval: Duration) -> Self {
        let requests = (timeout.as_secs_f64() / interval.as_secs_f64()).ceil();
        Self {
            keys,
            text: format!("{requests} requests that wait × 24 B"),
            each: requests * 24.0,
        }
    }

    /// State of the scoring periods whose deadline has not passed, in both directions, and of their
    /// video frames. `frames` is the number of video frames in a second.
    pub(super) fn scored(keys: &'static str, scoring: &deadline::Config, frames: f64) -> Self {
        /// Smallest grace period of video, seconds.
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

/// The datagrams of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagrams {
    /// Datagrams per second, up and down.
    pub(crate) pps: [f64; 2],
    /// IP bytes of the smallest datagram that is frequent enough to count.
    pub(crate) size: f64,
    /// IP bytes of the largest datagram.
    pub(crate) largest: f64,
}

impl Datagrams {
    /// No datagrams: the application uses TCP.
    pub(super) const NONE: Self = Self {
        pps: [0.0; 2],
        size: MTU,
        largest: MTU,
    };

    /// One datagram of `size` bytes every `gap`, in both directions.
    pub(super) fn both(gap: Duration, size: f64) -> Self {
        let pps = 1.0 / gap.as_secs_f64();
        Self {
            pps: [pps, pps],
            size,
            largest: size,
        }
    }

    /// `pps` datagrams a second from each side that sends. The smallest has `size` bytes.
    pub(super) fn sided(direction: Direction, pps: f64, size: f64) -> Self {
        let [up, down] = direction.sides().map(f64::from);
        Self {
            pps: [up * pps, down * pps],
            size,
            largest: size.max(MTU),
        }
    }

    /// Datagrams of `size` bytes at `rate`, or one every `gap` if given.
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
