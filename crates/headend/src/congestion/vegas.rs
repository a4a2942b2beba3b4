//! Vegas: keeps between α and β of its own segments in queues (Brakmo and Peterson 1995).
//!
//! Once per round trip, the window is compared with what would be in flight without queues: `diff =
//! cwnd · (RTT − baseRTT) / RTT` segments are in queues. Below α the window grows by a segment,
//! above β it shrinks by one. Slow start doubles the window every other round trip, so that the
//! round trip between can be measured with a constant window; it ends at γ.
//!
//! Left out: the more accurate retransmission timing of the paper's §3.1 (recovery is that of
//! [`crate::tcp`]), and the smaller decrease that it makes possible. Losses and marks halve the
//! window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionSignal, Refusal};
use crate::time::Duration;

/// Parameters of Vegas.
///
/// Use it to see a sender that avoids queues and yields to all senders that do not. Beside FAST,
/// use it to see the effect of its step of one segment on paths with a large bandwidth-delay
/// product.
///
/// Source: L. Brakmo and L. Peterson, TCP Vegas: End to End Congestion Avoidance on a Global
/// Internet, IEEE JSAC 13(8), 1995.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// α in segments: with fewer of its own segments in queues, the window grows. Raising it gives
    /// the flow a larger share beside others, and longer queues.
    pub alpha: f64,
    /// β in segments: with more of its own segments in queues, the window shrinks.
    pub beta: f64,
    /// γ in segments: with more of its own segments in queues, slow start ends.
    pub gamma: f64,
}

impl Default for Config {
    fn default() -> Self {
        // Brakmo and Peterson 1995, §3.2 and §3.3; α and β are those of their Internet
        // measurements.
        Self {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
        }
    }
}

impl Config {
    /// With β below α, the window would never be stable.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return Err(("vegas.alpha", "a number of segments above 0"));
        }
        if !(self.beta.is_finite() && self.beta >= self.alpha) {
            return Err(("vegas.beta", "a number of segments not below alpha"));
        }
        if !(self.gamma.is_finite() && self.gamma > 0.0) {
            return Err(("vegas.gamma", "a number of segments above 0"));
        }
        Ok(())
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Vegas {
    config: Config,
    /// Holds the window, and grows it in slow start and after a timeout.
    window: Reno,
    mss: u64,
    /// The current round trip, and the smallest round-trip time measured in it.
    round: u64,
    round_rtt: Option<Duration>,
    /// Whether slow start grows the window in this round trip.
    growing: bool,
}

impl Vegas {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            config: config.clone(),
            window: Reno::new(&reno::Config::default(), mss, initial_window),
            mss,
            round: 0,
            round_rtt: None,
            growing: true,
        }
    }

    /// §3.2: `diff` in segments, for a round trip whose smallest round-trip time is `rtt`.
    fn backlog(&self, rtt: Duration, base: Duration) -> f64 {
        let queued = rtt.saturating_sub(base).as_secs_f64() / rtt.as_secs_f64();
        self.window.cwnd() as f64 / self.mss as f64 * queued
    }

    /// §3.2, §3.3: adjusts the window at the end of a round trip. An unused window does not grow.
    fn adjust(&mut self, rtt: Duration, base: Duration, may_grow: bool) {
        let backlog = self.backlog(rtt, base);
        let (cwnd, ssthresh) = (self.window.cwnd(), self.window.ssthresh());
        if self.window.in_slow_start() {
            if backlog > self.config.gamma {
                // §3.3: enters congestion avoidance, with the window that just fills the path.
                let fits = cwnd - (backlog * self.mss as f64) as u64;
                let fits = fits.max(2 * self.mss);
                self.window.set(fits, fits);
            } else {
                self.growing = !self.growing;
            }
            return;
        }
        let cwnd = if backlog < self.config.alpha {
            cwnd + if may_grow { self.mss } else { 0 }
        } else if backlog > self.config.beta {
            cwnd - self.mss
        } else {
            cwnd
        };
        let cwnd = cwnd.max(2 * self.mss);
        self.window.set(cwnd, ssthresh.unwrap_or(cwnd).min(cwnd));
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if ack.in_recovery {
            return;
        }
        if ack.round > self.round {
            self.round = ack.round;
            if let (Some(rtt), Some(base)) = (self.round_rtt.take(), ack.min_rtt) {
                self.adjust(rtt, base, ack.cwnd_limited);
            }
        }
        if self.window.in_slow_start() && self.growing {
            self.window.on_ack(ack);
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        self.window.on_congestion(signal, ack);
        self.growing = true;
    }

    fn on_recovered(&mut self, ack: &AckSample) {
        self.window.on_recovered(ack);
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.window.on_idle(restart_window);
        self.round_rtt = None;
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
    const BASE: u64 = 100;

    fn ack(round: u64, rtt_ms: u64) -> AckSample {
        AckSample {
            newly_acked: 2 * MSS,
            rtt: Some(Duration::from_millis(rtt_ms)),
            min_rtt: Some(Duration::from_millis(BASE)),
            flight_size: 20 * MSS,
            cwnd_limited: true,
            round,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// One round trip, with an acknowledgement for each pair of segments.
    fn run(vegas: &mut Vegas, round: u64, rtt_ms: u64) -> u64 {
        for _ in 0..vegas.cwnd() / (2 * MSS) {
            vegas.on_ack(&ack(round, rtt_ms));
        }
        vegas.cwnd() / MSS
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip_and_ends_with_the_first_queue() {
        let mut vegas = Vegas::new(&Config::default(), MSS, 10 * MSS);
        let windows: Vec<u64> = (0..5).map(|round| run(&mut vegas, round, BASE)).collect();
        assert_eq!(windows, [20, 20, 40, 40, 80]);
        // 80 segments at 125 ms: 16 are in queues, 64 fill the path.
        run(&mut vegas, 5, 125);
        vegas.on_ack(&ack(6, 125));
        assert_eq!((vegas.cwnd(), vegas.ssthresh()), (64 * MSS, Some(64 * MSS)));
    }

    #[test]
    fn the_window_moves_by_a_segment_a_round_trip_until_alpha_to_beta_are_queued() {
        let mut vegas = Vegas::new(&Config::default(), MSS, 50 * MSS);
        vegas.window.set(50 * MSS, 50 * MSS);
        // 1, 3 and 6 of 50 segments in queues: RTT = 100 / (1 − diff / 50).
        for (rtt_ms, expected) in [(102, 51), (106, 51), (114, 50)] {
            vegas.on_ack(&ack(vegas.round + 1, rtt_ms));
            assert_eq!(vegas.cwnd() / MSS, expected, "{rtt_ms} ms");
        }
    }

    #[test]
    fn the_smallest_round_trip_of_a_round_counts() {
        let mut vegas = Vegas::new(&Config::default(), MSS, 50 * MSS);
        vegas.window.set(50 * MSS, 50 * MSS);
        for rtt_ms in [200, BASE, 200] {
            vegas.on_ack(&ack(0, rtt_ms));
        }
        vegas.on_ack(&ack(1, 200));
        assert_eq!(vegas.cwnd(), 51 * MSS);
    }

    #[test]
    fn a_loss_halves_and_a_timeout_starts_over() {
        let mut vegas = Vegas::new(&Config::default(), MSS, 20 * MSS);
        vegas.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(0, BASE));
        assert_eq!(vegas.cwnd(), 10 * MSS);
        vegas.on_congestion(CongestionSignal::Timeout, &ack(0, BASE));
        assert_eq!(vegas.cwnd(), MSS);
    }
}
