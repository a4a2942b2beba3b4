//! Westwood+: after a loss, the window is set to what the path delivers in the smallest round-trip
//! time (Grieco and Mascolo 2004).
//!
//! The window grows as in NewReno. Where NewReno halves it, Westwood+ sets ssthresh to `BWE ·
//! RTT_min`. Losses that are not due to congestion (such as those of a radio link) then reduce the
//! rate little.
//!
//! The bandwidth estimate is an exponential average of one sample per round trip (`b = bytes
//! acknowledged / time`, over at least 50 ms). Acknowledgements that arrive in bunches do not
//! distort it, as they did in the first Westwood.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, check_slow_start};
use crate::time::{Duration, Instant};
use crate::units::Probability;

/// Parameters of Westwood+.
///
/// Use it on paths that lose packets without congestion, to see a sender that does not treat each
/// loss as congestion.
///
/// Source: L. Grieco and S. Mascolo, Performance Evaluation and Comparison of Westwood+, New Reno
/// and Vegas TCP Congestion Control, CCR 34(2), 2004.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Weight of the old bandwidth estimate in the average. Raising it makes the estimate smoother,
    /// and slower to follow.
    pub filter: Probability,
    /// Least duration of a bandwidth sample, which otherwise takes a round trip. Raising it gives
    /// fewer and steadier samples.
    pub min_interval: Duration,
    /// Segments by which one acknowledgement may grow the window in slow start.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Grieco and Mascolo 2004, §2.1.
            filter: Probability(0.9),
            // The same.
            min_interval: Duration::from_millis(50),
            // RFC 3465 §2.3: the largest value that it allows.
            slow_start_limit: 2,
        }
    }
}

impl Config {
    /// With a filter of one, the estimate would never change.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.filter.0 >= 1.0 {
            return Err(("westwood.filter", "a share below 1"));
        }
        check_slow_start(self.slow_start_limit, "westwood.slow_start_limit")
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Westwood {
    filter: f64,
    min_interval: Duration,
    growth: Reno,
    mss: u64,
    /// Bytes acknowledged since `since`, for the current sample.
    acked: u64,
    since: Option<Instant>,
    /// BWE, in bytes per second; `None` before the first sample.
    bandwidth: Option<f64>,
    min_rtt: Duration,
}

impl Westwood {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        let growth = reno::Config {
            slow_start_limit: config.slow_start_limit,
            ..reno::Config::default()
        };
        Self {
            filter: config.filter.0,
            min_interval: config.min_interval,
            growth: Reno::new(&growth, mss, initial_window),
            mss,
            acked: 0,
            since: None,
            bandwidth: None,
            min_rtt: Duration::ZERO,
        }
    }

    /// §2.1: one sample per round trip.
    fn estimate_bandwidth(&mut self, ack: &AckSample) {
        let since = *self.since.get_or_insert(ack.now);
        self.acked += ack.newly_acked;
        let elapsed = ack.now.since(since);
        if elapsed < ack.srtt.unwrap_or_default().max(self.min_interval) || elapsed.is_zero() {
            return;
        }
        let sample = self.acked as f64 / elapsed.as_secs_f64();
        self.bandwidth = Some(self.bandwidth.map_or(sample, |old| {
            self.filter * old + (1.0 - self.filter) * sample
        }));
        self.acked = 0;
        self.since = Some(ack.now);
    }

    /// `BWE · RTT_min` in bytes, and at least two segments.
    fn pipe(&self, ack: &AckSample) -> u64 {
        let pipe = match self.bandwidth {
            Some(bandwidth) => (bandwidth * self.min_rtt.as_secs_f64()) as u64,
            // Without a sample, as in NewReno.
            None => ack.threshold(0.5),
        };
        pipe.max(2 * self.mss)
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &AckSample) {
        self.min_rtt = ack.min_rtt.unwrap_or_default();
        self.estimate_bandwidth(ack);
        self.growth.on_ack(ack);
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        let pipe = self.pipe(ack);
        // §2: the estimate never makes the window larger than before the loss.
        let before = self.growth.cwnd();
        self.growth.on_congestion(signal, ack);
        let cwnd = match signal {
            CongestionSignal::Ecn | CongestionSignal::Loss { .. } => pipe.min(before),
            CongestionSignal::Timeout => self.growth.cwnd(),
        };
        self.growth.set(cwnd, pipe);
    }

    fn on_recovered(&mut self, ack: &AckSample) {
        self.growth.on_recovered(ack);
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.growth.on_idle(restart_window);
        (self.since, self.acked) = (None, 0);
    }

    fn cwnd(&self) -> u64 {
        self.growth.cwnd()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.growth.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// An acknowledgement at `ms`, on a path of 100 ms whose round trip now takes 150 ms.
    fn ack(ms: u64, newly_acked: u64) -> AckSample {
        AckSample {
            now: Instant::from_nanos(ms * 1_000_000),
            newly_acked,
            srtt: Some(Duration::from_millis(150)),
            min_rtt: Some(Duration::from_millis(100)),
            flight_size: 75 * MSS,
            in_flight: 75 * MSS,
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// A control after three seconds at half a megabyte per second.
    fn steady() -> Westwood {
        let mut westwood = Westwood::new(&Config::default(), MSS, 10 * MSS);
        for ms in (0..3000).step_by(2) {
            westwood.on_ack(&ack(ms, MSS));
        }
        westwood
    }

    #[test]
    fn a_loss_leaves_what_the_path_delivers_in_its_smallest_round_trip() {
        let mut westwood = steady();
        westwood.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(3000, 0));
        // 500 kB/s · 100 ms. A sample contains one acknowledgement more than its interval.
        assert!(
            westwood.cwnd().abs_diff(50 * MSS) <= MSS,
            "{}",
            westwood.cwnd()
        );
        assert_eq!(westwood.ssthresh(), Some(westwood.cwnd()));
        westwood.on_congestion(CongestionSignal::Timeout, &ack(3000, 0));
        assert_eq!(westwood.cwnd(), MSS);
        assert!(
            westwood
                .ssthresh()
                .is_some_and(|ssthresh| ssthresh > 45 * MSS)
        );
    }

    #[test]
    fn the_estimate_follows_by_a_tenth_a_sample_and_never_raises_the_window() {
        let mut westwood = steady();
        let before = westwood.bandwidth.expect("measured");
        // One sample of twice the rate.
        for ms in (3000..3152).step_by(2) {
            westwood.on_ack(&ack(ms, 2 * MSS));
        }
        let after = westwood.bandwidth.expect("measured");
        assert!((after / before - 1.1).abs() < 0.02, "{}", after / before);
        westwood.growth.set(20 * MSS, 20 * MSS);
        westwood.on_congestion(CongestionSignal::Ecn, &ack(4000, 0));
        assert_eq!(westwood.cwnd(), 20 * MSS);
    }

    #[test]
    fn before_the_first_sample_it_halves() {
        let mut westwood = Westwood::new(&Config::default(), MSS, 75 * MSS);
        westwood.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(0, 0));
        assert_eq!(westwood.cwnd(), 37_500);
    }
}
