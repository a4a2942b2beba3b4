//! LEDBAT++: LEDBAT with round-trip delays, a gain that suits the path, multiplicative decrease and periodic slowdowns (draft-irtf-iccrg-ledbat-plus-plus).
//!
//! Below the target the window grows by `GAIN = 1 / min(16, ⌈2 · TARGET / base⌉)` segments a round trip; above it, `W += max(GAIN − W · (delay / TARGET − 1), −W / 2)`. A late comer that took others' queue for the path's delay
//! learns the truth in a slowdown: the window is two segments for two round trips, then slow start leads back; the next slowdown comes nine times as long after as that took.
//!
//! Slow start grows by GAIN for each segment acknowledged and ends when three quarters of the target stand in the queue; after a slowdown it doubles, and ends at the old window alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delay_history::DelayHistory;
use super::{AckSample, CongestionControl, CongestionSignal, Refusal};
use crate::time::{Duration, Instant};

/// Parameters of LEDBAT++.
///
/// Use it for background transfers of Windows: updates and backups that yield to everything, fairly among themselves.
///
/// Source: draft-irtf-iccrg-ledbat-plus-plus-01, §4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TARGET: the queueing delay it steers to. More holds its own longer and makes others wait.
    pub target: Duration,
    /// The divisor of GAIN at most. More is gentler on short paths.
    pub max_gain_divisor: u32,
    /// `Constant` of the decrease: more gives way harder above the target.
    pub decrease: f64,
    /// Whether the window falls to two segments at times, to see the path's own delay.
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
    /// Zeros that the formulas divide by, or that switch the decrease off.
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

/// Segments of the window at the start, at least, and in a slowdown.
const FEW: u64 = 2;
/// Round trips from the end of the first slow start to the first slowdown, and that a slowdown lasts (§4.4).
const SLOWDOWN_RTTS: u64 = 2;
/// The time to the next slowdown is so many times what this one took (§4.4).
const SLOWDOWN_INTERVAL: u64 = 9;

/// Where the window stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Congestion avoidance, until the next slowdown.
    Avoid { until: Instant },
    /// A slowdown that began at `since`.
    Frozen { since: Instant, until: Instant },
    /// Back from a slowdown that began at `since`.
    Ramp { since: Instant },
    /// The slow start of the connection, or after a timeout.
    Start,
}

/// LEDBAT++'s window.
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
    /// The window at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            config: config.clone(),
            delays: DelayHistory::new(),
            phase: Phase::Start,
            mss,
            cwnd: initial_window.min(FEW * mss) as f64,
            ssthresh: f64::INFINITY,
        }
    }

    fn floor(&self) -> f64 {
        (FEW * self.mss) as f64
    }

    /// §4.2.
    fn gain(&self) -> f64 {
        let most = f64::from(self.config.max_gain_divisor);
        let base = self.delays.base().unwrap_or_default().as_secs_f64();
        if base == 0.0 {
            return 1.0 / most;
        }
        let divisor = (2.0 * self.config.target.as_secs_f64() / base).ceil();
        1.0 / divisor.min(most)
    }

    /// How much a round trip changes a window of `w` segments (§4.3).
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

    /// Congestion avoidance begins; a slowdown comes after `span`.
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
            // §4.1: on excessive delay, in the first slow start alone.
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

    /// §4.4: as quickly as slow start can, so that slowdowns cost no more than a tenth of the time.
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
                    // A window of two segments says nothing about the one to come back to.
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

    /// A window of `segments` in congestion avoidance on a path of 100 ms, with `queue_ms` on top.
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
        // 2 · 60 ms over the base: 120, 6, 2, 1 of it, and at most 16.
        for (base_ms, gain) in [(1, 1.0 / 16.0), (20, 1.0 / 6.0), (100, 0.5), (200, 1.0)] {
            let mut ledbat = LedbatPlusPlus::new(&Config::default(), MSS, 10 * MSS);
            ledbat.delays.observe(Duration::from_millis(base_ms), at(0));
            assert!((ledbat.gain() - gain).abs() < 1e-12, "{base_ms} ms");
        }
    }

    #[test]
    fn below_the_target_it_grows_by_the_gain_and_above_it_shrinks_with_the_window() {
        assert!((avoiding(20, 30).change(20.0) - 0.5).abs() < 1e-12);
        // 72 ms: 1.2 times the target.
        assert!((avoiding(20, 72).change(20.0) - (0.5 - 4.0)).abs() < 1e-12);
        assert!(
            (avoiding(20, 300).change(20.0) + 10.0).abs() < 1e-12,
            "at most half"
        );
        let mut ledbat = avoiding(20, 72);
        for _ in 0..20 {
            ledbat.on_ack(&ack(1, 172));
        }
        // −3.5 segments in a round trip, less as the window shrinks.
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
