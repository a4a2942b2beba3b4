//! FAST: moves the window towards the one that keeps α segments in queues, by a fixed share of the
//! distance (Jin, Wei and Low 2004).
//!
//! `w ← min(2w, (1 − γ)·w + γ·(baseRTT / RTT · w + α))`, once per round trip or update period, with
//! the averaged RTT. In equilibrium, `w·(1 − baseRTT / RTT) = α`. The rate is then α divided by the
//! queueing delay, the same for flows of any round-trip time. All flows together keep Σα segments
//! in queues.
//!
//! `baseRTT` is the smallest measured round-trip time of a data segment (§IV-A). Packets of the
//! handshake are not used: they are smaller, and pass a slow link sooner. A flow that starts while
//! other flows fill the queue measures a `baseRTT` that is too long, and gets more than its share.
//! `base_rtt` sets the correct value instead.
//!
//! Slow start doubles the window each round trip until more than γ·α segments are in queues. A loss
//! or mark halves the window, and it stays at a half after the recovery. The burst that the sender
//! may send then is limited by the burstiness control of the papers' sender, which is separate from
//! the window.
//!
//! Left out: burstiness control, pacing inside a round trip (`tcp.pacing` has the latter), and α
//! that depends on the throughput.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionSignal, Refusal};
use crate::time::{Duration, Instant};
use crate::units::Probability;

/// Parameters of FAST.
///
/// Use it to see what delay as a congestion signal achieves on paths with a large bandwidth-delay
/// product, and what happens if flows do not know the path's own delay.
///
/// Source: C. Jin, D. Wei and S. Low, FAST TCP: Motivation, Architecture, Algorithms, Performance,
/// INFOCOM 2004; D. Wei, C. Jin, S. Low and S. Hegde, IEEE/ACM Transactions on Networking 14(6),
/// 2006.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// α: segments that the flow keeps in queues. Raising it makes rates equal sooner, and queues
    /// longer: n flows keep n·α segments there.
    pub alpha: f64,
    /// γ: share of the distance by which one update moves the window. Raising it makes the control
    /// faster and less steady.
    pub gamma: Probability,
    /// Time between updates. `"0 s"` stands for a round trip, which is also the minimum.
    pub update_period: Duration,
    /// Round-trip time of the path without queues, if the sender is to know it. With `"0 s"`, the
    /// sender uses the smallest round-trip time of a data segment.
    pub base_rtt: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The value of the prototype for 10 to 100 Mbit/s (8 below, 200 above).
            alpha: 20.0,
            // Jin, Wei and Low 2004, §III.
            gamma: Probability(0.5),
            update_period: Duration::ZERO,
            base_rtt: Duration::ZERO,
        }
    }
}

impl Config {
    /// Without α, the window would shrink to nothing; without γ, it would never change.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if !(self.alpha > 0.0 && self.alpha <= 100_000.0) {
            return Err(("fast.alpha", "a number of segments above 0, at most 100000"));
        }
        if self.gamma.0 <= 0.0 {
            return Err(("fast.gamma", "a share above 0"));
        }
        Ok(())
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Fast {
    config: Config,
    /// Holds the window, and grows it in slow start.
    window: Reno,
    /// The window in segments, with its fraction.
    w: f64,
    mss: u64,
    /// Average round-trip time in seconds.
    rtt: Option<f64>,
    /// The smallest round-trip time of a data segment, in seconds.
    base: f64,
    /// The smallest round-trip time in this round trip, in seconds; it ends slow start.
    least: f64,
    round: u64,
    updated_at: Instant,
}

impl Fast {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            config: config.clone(),
            window: Reno::new(&reno::Config::default(), mss, initial_window),
            w: initial_window as f64 / mss as f64,
            mss,
            rtt: None,
            base: f64::INFINITY,
            least: f64::INFINITY,
            round: 0,
            updated_at: Instant::ZERO,
        }
    }

    /// The update of the paper's equation (1).
    fn next(&self, w: f64, base: f64, rtt: f64) -> f64 {
        let gamma = self.config.gamma.0;
        let target = base / rtt * w + self.config.alpha;
        ((1.0 - gamma) * w + gamma * target).min(2.0 * w)
    }

    /// The average of §IV-A: with a weight of `min(3 / w, 1/4)`, it covers about a third of a
    /// window's samples.
    fn average(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        let weight = (3.0 / self.w).min(0.25);
        self.rtt = Some(
            self.rtt
                .map_or(rtt, |old| (1.0 - weight) * old + weight * rtt),
        );
        self.least = self.least.min(rtt);
        self.base = self.base.min(rtt);
    }

    fn base(&self) -> f64 {
        let known = self.config.base_rtt;
        if known.is_zero() {
            self.base
        } else {
            known.as_secs_f64()
        }
    }

    fn set(&mut self, w: f64) {
        self.w = w.max(2.0);
        let bytes = (self.w * self.mss as f64) as u64;
        self.window.set(bytes, bytes);
    }

    fn slow_start(&mut self, base: f64, ack: &AckSample) {
        let queued = self.w * (1.0 - base / self.least);
        if self.least.is_finite() && queued > self.config.gamma.0 * self.config.alpha {
            self.set(self.w);
        } else {
            self.window.on_ack(ack);
            self.w = self.window.cwnd() as f64 / self.mss as f64;
        }
    }
}

impl CongestionControl for Fast {
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.round > self.round {
            self.round = ack.round;
            self.least = f64::INFINITY;
        }
        if let Some(rtt) = ack.rtt {
            self.average(rtt);
        }
        if ack.in_recovery {
            return;
        }
        let Some(rtt) = self.rtt else { return };
        let base = self.base();
        if self.window.in_slow_start() {
            return self.slow_start(base, ack);
        }
        let period = self.config.update_period.max(ack.srtt.unwrap_or_default());
        if ack.now.since(self.updated_at) >= period {
            self.updated_at = ack.now;
            let next = self.next(self.w, base, rtt);
            // An unused window does not grow.
            self.set(if ack.cwnd_limited {
                next
            } else {
                next.min(self.w)
            });
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        self.window.on_congestion(signal, ack);
        self.w = self.window.cwnd() as f64 / self.mss as f64;
        self.updated_at = ack.now;
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.window.on_idle(restart_window);
        self.w = self.window.cwnd() as f64 / self.mss as f64;
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn fast(alpha: f64) -> Fast {
        let config = Config {
            alpha,
            ..Config::default()
        };
        Fast::new(&config, MSS, 10 * MSS)
    }

    fn ack(ms: u64, rtt_ms: f64) -> AckSample {
        AckSample {
            now: Instant::from_nanos(ms * 1_000_000),
            newly_acked: 2 * MSS,
            rtt: Some(Duration::from_secs_f64(rtt_ms / 1000.0)),
            srtt: Some(Duration::from_secs_f64(rtt_ms / 1000.0)),
            // The round-trip time of the handshake, which FAST does not use.
            min_rtt: Some(Duration::from_millis(1)),
            flight_size: 20 * MSS,
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    #[test]
    fn one_flow_comes_to_rest_with_alpha_segments_in_the_queue() {
        // 250 segments per second, 100 ms, α = 13, γ = 1/2. The vector is computed from the paper's
        // equation.
        let fast = fast(13.0);
        let (rate, base) = (250.0, 0.1);
        let mut w = 2.0;
        let expected = [4.0, 8.0, 14.5, 21.0, 27.5, 32.75, 35.375, 36.6875];
        for next in expected {
            let rtt = f64::max(base, w / rate);
            w = fast.next(w, base, rtt);
            assert!((w - next).abs() < 1e-9, "{w}, not {next}");
        }
        for _ in 0..60 {
            w = fast.next(w, base, f64::max(base, w / rate));
        }
        assert!((w - 38.0).abs() < 1e-6, "25 on the path and α: {w}");
    }

    #[test]
    fn the_window_moves_once_a_round_trip_by_gamma_of_the_distance() {
        let mut fast = fast(20.0);
        fast.set(100.0);
        fast.base = 0.1;
        fast.rtt = Some(0.125);
        fast.updated_at = Instant::from_nanos(1_000_000_000);
        for ms in (1000..1125).step_by(5) {
            fast.on_ack(&ack(ms, 125.0));
        }
        assert_eq!(fast.cwnd(), 100 * MSS);
        fast.on_ack(&ack(1125, 125.0));
        // 0.5 · 100 + 0.5 · (0.8 · 100 + 20) = 100: the window does not change.
        assert_eq!(fast.cwnd(), 100 * MSS);
        fast.rtt = Some(0.1);
        fast.on_ack(&ack(1300, 100.0));
        assert_eq!(fast.cwnd(), 110 * MSS);
    }

    #[test]
    fn the_base_is_the_smallest_round_trip_of_data() {
        let mut fast = fast(20.0);
        for (ms, rtt) in [(0, 30.0), (30, 20.0), (60, 25.0)] {
            fast.on_ack(&ack(ms, rtt));
        }
        assert!((fast.base() - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_base_that_is_known_replaces_the_smallest_seen() {
        let mut config = fast(20.0).config;
        config.base_rtt = Duration::from_millis(50);
        let mut fast = Fast::new(&config, MSS, 10 * MSS);
        fast.set(100.0);
        fast.base = 0.1;
        fast.rtt = Some(0.1);
        fast.on_ack(&ack(1000, 100.0));
        assert_eq!(fast.cwnd(), 85 * MSS, "0.5 · 100 + 0.5 · (0.5 · 100 + 20)");
    }

    #[test]
    fn slow_start_ends_with_gamma_alpha_segments_in_queues_and_a_loss_halves() {
        let mut fast = fast(20.0);
        for ms in 0..20 {
            fast.on_ack(&ack(ms, 100.0));
        }
        assert_eq!((fast.cwnd(), fast.ssthresh()), (50 * MSS, None));
        fast.least = f64::INFINITY;
        fast.on_ack(&ack(30, 126.0));
        assert_eq!(fast.ssthresh(), Some(50 * MSS), "10.3 are queued");
        fast.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(31, 126.0));
        assert_eq!((fast.cwnd(), fast.w), (10 * MSS, 10.0));
        let mut recovered = ack(40, 126.0);
        recovered.in_flight = 3 * MSS;
        fast.on_recovered(&recovered);
        assert_eq!((fast.cwnd(), fast.w), (10 * MSS, 10.0), "the half stays");
    }
}
