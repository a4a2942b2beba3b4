//! LEDBAT++: LEDBAT with round-trip delays, a gain that depends on the path, multiplicative
//! decrease and periodic slowdowns (draft-irtf-iccrg-ledbat-plus-plus).
//!
//! Below the target, the window grows by `GAIN = 1 / min(16, ⌈2 · TARGET / base⌉)` segments per
//! round trip. Above it, `W += max(GAIN − W · (delay / TARGET − 1), −W / 2)`.
//!
//! A flow that starts while other flows fill the queue measures a base delay that is too long.
//! Slowdowns correct this: the window is two segments for two round trips, and slow start then
//! restores it. The time to the next slowdown is nine times the duration of this one.
//!
//! The first slow start grows by GAIN for each acknowledged segment, and ends when the queueing
//! delay is three quarters of the target. After a slowdown, slow start doubles the window, and ends
//! only at the old window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delay_history::DelayHistory;
use super::{AckSample, CongestionControl, CongestionSignal, Refusal};
use crate::time::{Duration, Instant};

/// Parameters of LEDBAT++.
///
/// Use it for background transfers of Windows: updates and backups that yield to all other traffic,
/// and share fairly among themselves.
///
/// Source: draft-irtf-iccrg-ledbat-plus-plus-01, §4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TARGET: the target of the queueing delay. Raising it gives the flow a larger share beside
    /// others, and makes other flows wait longer.
    pub target: Duration,
    /// Largest divisor of GAIN. Raising it makes growth slower on short paths.
    pub max_gain_divisor: u32,
    /// `Constant` of the decrease. Raising it reduces the window more above the target.
    pub decrease: f64,
    /// Whether the window falls to two segments periodically, to measure the delay of the path
    /// without its queue.
    pub slowdowns: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // §4.5.
            target: Duration::from_millis(60),
            // §4.2.
            max_gain_divisor: 16,
            // §4.3.
            decrease: 1.0,
            // §4.4.
            slowdowns: true,
        }
    }
}

impl Config {
    /// With zero, the formulas would divide by zero, or there would be no decrease.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.target.is_zero() {
            return Err(("ledbat_plus_plus.target", "a time above 0"));
        }
        if self.max_gain_divisor == 0 {
            return Err(("ledbat_plus_plus.max_gain_divisor", "at least 1"));
        }
        if !(self.decrease.is_finite() && self.decrease > 0.0) {
            return Err(("ledbat_plus_plus.decrease", "a number above 0"));
        }
        Ok(())
    }
}

/// Segments of the window at the start, as its minimum, and in a slowdown.
const MIN_WINDOW: u64 = 2;
/// Round trips from the end of the first slow start to the first slowdown, and the duration of a
/// slowdown (§4.4).
const SLOWDOWN_RTTS: u64 = 2;
/// The time to the next slowdown, in durations of this one (§4.4).
const SLOWDOWN_INTERVAL: u64 = 9;

/// The phase of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Congestion avoidance, until the next slowdown.
    Avoid { until: Instant },
    /// A slowdown that began at `since`.
    Frozen { since: Instant, until: Instant },
    /// Slow start after a slowdown that began at `since`.
    Ramp { since: Instant },
    /// Slow start at the start of the connection, or after a timeout.
    Start,
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct LedbatPlusPlus {
    config: Config,
    delays: DelayHistory,
    phase: Phase,
    mss: u64,
    /// In bytes.
    cwnd: f64,
    ssthresh: f64,
}

impl LedbatPlusPlus {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            config: config.clone(),
            delays: DelayHistory::new(),
            phase: Phase::Start,
            mss,
            cwnd: initial_window.min(MIN_WINDOW * mss) as f64,
            ssthresh: f64::INFINITY,
        }
    }

    fn floor(&self) -> f64 {
        (MIN_WINDOW * self.mss) as f64
    }

    /// §4.2: GAIN.
    fn gain(&self) -> f64 {
        let most = f64::from(self.config.max_gain_divisor);
        let base = self.delays.base().unwrap_or_default().as_secs_f64();
        if base == 0.0 {
            return 1.0 / most;
        }
        let divisor = (2.0 * self.config.target.as_secs_f64() / base).ceil();
        1.0 / divisor.min(most)
    }

    /// The change of a window of `w` segments per round trip (§4.3).
    fn change(&self, w: f64) -> f64 {
        let ratio = self.delays.queueing().as_secs_f64() / self.config.target.as_secs_f64();
        if ratio < 1.0 {
            return self.gain();
        }
        (self.gain() - self.config.decrease * w * (ratio - 1.0)).max(-w / 2.0)
    }

    fn avoid_congestion(&mut self, ack: &AckSample) {
        let w = self.cwnd / self.mss as f64;
        let change = self.change(w);
        if change > 0.0 && !ack.cwnd_limited {
            return;
        }
        let share = (ack.newly_acked as f64 / self.cwnd).min(1.0);
        self.cwnd = (self.cwnd + change * share * self.mss as f64).max(self.floor());
    }

    /// Starts congestion avoidance; the next slowdown comes after `span`.
    fn avoid_for(&mut self, span: Duration, now: Instant) {
        let until = if self.config.slowdowns {
            now + span
        } else {
            Instant::FAR_FUTURE
        };
        self.phase = Phase::Avoid { until };
    }

    fn slow_start(&mut self, ack: &AckSample) {
        let target = self.config.target;
        if self.ssthresh.is_infinite() && self.delays.queueing() > target.mul_f64(0.75) {
            // §4.1: ends slow start when the delay is excessive; only in the first slow start.
            self.ssthresh = self.cwnd;
        } else if ack.cwnd_limited {
            let growth = self.gain() * ack.newly_acked as f64;
            self.cwnd = (self.cwnd + growth).min(self.ssthresh);
        }
        if self.cwnd >= self.ssthresh {
            let rtt = ack.srtt.unwrap_or_default();
            self.avoid_for(rtt * SLOWDOWN_RTTS, ack.now);
        }
    }

    /// §4.4: grows as fast as slow start allows, so that slowdowns take no more than a tenth of the
    /// time.
    fn ramp(&mut self, since: Instant, ack: &AckSample) {
        if ack.cwnd_limited {
            self.cwnd = (self.cwnd + ack.newly_acked as f64).min(self.ssthresh);
        }
        if self.cwnd >= self.ssthresh {
            self.avoid_for(ack.now.since(since) * SLOWDOWN_INTERVAL, ack.now);
        }
    }

    fn slow_down(&mut self, ack: &AckSample) {
        self.ssthresh = self.cwnd;
        self.cwnd = self.floor();
        let rtt = ack.srtt.unwrap_or_default();
        self.phase = Phase::Frozen {
            since: ack.now,
            until: ack.now + rtt * SLOWDOWN_RTTS,
        };
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.delays.observe(rtt, ack.now);
        }
        if ack.in_recovery {
            return;
        }
        match self.phase {
            Phase::Avoid { until } if until <= ack.now => self.slow_down(ack),
            Phase::Avoid { .. } => self.avoid_congestion(ack),
            Phase::Frozen { since, until } => {
                if until <= ack.now {
                    self.phase = Phase::Ramp { since };
                }
            }
            Phase::Ramp { since } => self.ramp(since, ack),
            Phase::Start => self.slow_start(ack),
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        let half = (self.cwnd / 2.0).max(self.floor());
        match signal {
            CongestionSignal::Ecn | CongestionSignal::Loss { .. } => {
                match self.phase {
                    // The window of two segments is not halved; the window to which it returns is.
                    Phase::Frozen { .. } | Phase::Ramp { .. } => {
                        self.ssthresh = (self.ssthresh / 2.0).max(self.floor());
                        self.cwnd = self.cwnd.min(self.ssthresh);
                    }
                    Phase::Start => {
                        (self.ssthresh, self.cwnd) = (half, half);
                        let rtt = ack.srtt.unwrap_or_default();
                        self.avoid_for(rtt * SLOWDOWN_RTTS, ack.now);
                    }
                    Phase::Avoid { .. } => (self.ssthresh, self.cwnd) = (half, half),
                }
            }
            CongestionSignal::Timeout => {
                (self.ssthresh, self.cwnd) = (half, self.mss as f64);
                self.phase = Phase::Start;
            }
        }
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.cwnd = self.cwnd.min(restart_window as f64);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some(self.ssthresh as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ack(ms: u64, rtt_ms: u64) -> AckSample {
        AckSample {
            now: at(ms),
            newly_acked: MSS,
            rtt: Some(Duration::from_millis(rtt_ms)),
            srtt: Some(Duration::from_millis(rtt_ms)),
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// A window of `segments` in congestion avoidance, on a path of 100 ms with `queue_ms` of
    /// queueing delay.
    fn avoiding(segments: u64, queue_ms: u64) -> LedbatPlusPlus {
        let mut ledbat = LedbatPlusPlus::new(&Config::default(), MSS, 10 * MSS);
        ledbat.delays.observe(Duration::from_millis(100), at(0));
        for _ in 0..4 {
            let rtt = Duration::from_millis(100 + queue_ms);
            ledbat.delays.observe(rtt, at(0));
        }
        ledbat.cwnd = (segments * MSS) as f64;
        ledbat.ssthresh = ledbat.cwnd;
        ledbat.phase = Phase::Avoid {
            until: Instant::FAR_FUTURE,
        };
        ledbat
    }

    #[test]
    fn the_gain_falls_with_short_paths() {
        // 2 · 60 ms divided by the base delay: 120, 6, 2 and 1; the divisor is at most 16.
        for (base_ms, gain) in [(1, 1.0 / 16.0), (20, 1.0 / 6.0), (100, 0.5), (200, 1.0)] {
            let mut ledbat = LedbatPlusPlus::new(&Config::default(), MSS, 10 * MSS);
            ledbat.delays.observe(Duration::from_millis(base_ms), at(0));
            assert!((ledbat.gain() - gain).abs() < 1e-12, "{base_ms} ms");
        }
    }

    #[test]
    fn below_the_target_it_grows_by_the_gain_and_above_it_shrinks_with_the_window() {
        assert!((avoiding(20, 30).change(20.0) - 0.5).abs() < 1e-12);
        // 72 ms are 1.2 times the target.
        assert!((avoiding(20, 72).change(20.0) - (0.5 - 4.0)).abs() < 1e-12);
        assert!(
            (avoiding(20, 300).change(20.0) + 10.0).abs() < 1e-12,
            "at most half"
        );
        let mut ledbat = avoiding(20, 72);
        for _ in 0..20 {
            ledbat.on_ack(&ack(1, 172));
        }
        // −3.5 segments in a round trip, or less as the window becomes smaller.
        assert!(
            (16_300..16_800).contains(&ledbat.cwnd()),
            "{}",
            ledbat.cwnd()
        );
    }

    #[test]
    fn slow_start_begins_with_two_segments_and_ends_at_three_quarters_of_the_target() {
        let mut ledbat = LedbatPlusPlus::new(&Config::default(), MSS, 10 * MSS);
        for ms in 0..4 {
            ledbat.on_ack(&ack(ms, 100));
        }
        assert_eq!(ledbat.cwnd(), 4 * MSS, "half a segment for each");
        for ms in 4..8 {
            ledbat.on_ack(&ack(ms, 146));
        }
        assert_eq!(ledbat.phase, Phase::Avoid { until: at(7 + 292) });
        assert_eq!(ledbat.ssthresh(), Some(ledbat.cwnd()));
    }

    #[test]
    fn a_slowdown_takes_two_round_trips_and_comes_again_nine_times_as_long_after() {
        let mut ledbat = avoiding(20, 0);
        ledbat.phase = Phase::Avoid { until: at(1000) };
        ledbat.on_ack(&ack(1000, 100));
        assert_eq!(
            (ledbat.cwnd(), ledbat.ssthresh()),
            (2 * MSS, Some(20 * MSS))
        );
        for ms in [1100, 1150, 1199] {
            ledbat.on_ack(&ack(ms, 100));
            assert_eq!(ledbat.cwnd(), 2 * MSS);
        }
        ledbat.on_ack(&ack(1200, 100));
        for _ in 0..18 {
            ledbat.on_ack(&ack(1500, 100));
        }
        assert_eq!(ledbat.cwnd(), 20 * MSS);
        assert_eq!(
            ledbat.phase,
            Phase::Avoid {
                until: at(1500 + 4500)
            }
        );
    }

    #[test]
    fn a_loss_halves_and_in_a_slowdown_halves_what_it_comes_back_to() {
        let mut ledbat = avoiding(20, 0);
        let loss = CongestionSignal::Loss { lost: MSS };
        ledbat.on_congestion(loss, &ack(1, 100));
        assert_eq!(ledbat.cwnd(), 10 * MSS);
        ledbat.slow_down(&ack(2, 100));
        ledbat.on_congestion(loss, &ack(3, 100));
        assert_eq!((ledbat.cwnd(), ledbat.ssthresh()), (2 * MSS, Some(5 * MSS)));
        ledbat.on_congestion(CongestionSignal::Timeout, &ack(4, 100));
        assert_eq!((ledbat.cwnd(), ledbat.phase), (MSS, Phase::Start));
    }
}
