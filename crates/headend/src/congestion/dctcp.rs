//! DCTCP: reduces the window in proportion to the share of marked bytes (RFC 8257).
//!
//! α follows the share of bytes that arrived marked, with one update per window: `α ← (1 − g)·α +
//! g·M`. After a window with marks, `cwnd ← cwnd · (1 − α/2)`: the reduction is small for few
//! marks, and a half if all bytes are marked. In a queue that marks above a low threshold, the
//! length then varies by a few segments. Growth and the response to losses are those of NewReno.
//!
//! Deviations: the feedback is that of Accurate ECN ([`crate::tcp::EcnMode::Accurate`]), which also
//! counts what the echo of RFC 8257 §3.2 would report. If only RFC 3168's echo was negotiated, a
//! mark halves the window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, check_slow_start};
use crate::units::Probability;

/// Parameters of DCTCP.
///
/// Use it inside data centres, whose queues mark from the first few packets on. Do not use it
/// beside senders that treat a mark like a loss.
///
/// Source: RFC 8257; M. Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// g: weight of the last window in α. Raising it makes α follow the marks sooner, and oscillate
    /// more.
    pub gain: Probability,
    /// α before the first window is over.
    pub initial_alpha: Probability,
    /// Segments by which one acknowledgement may grow the window in slow start.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 8257 §4.2.
            gain: Probability(1.0 / 16.0),
            // RFC 8257 §4.2: 1 is the conservative choice.
            initial_alpha: Probability(1.0),
            // RFC 3465 §2.3: the largest value that it allows.
            slow_start_limit: 2,
        }
    }
}

impl Config {
    /// With a gain of zero, α would never change.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.gain.0 <= 0.0 {
            return Err(("dctcp.gain", "a share above 0"));
        }
        check_slow_start(self.slow_start_limit, "dctcp.slow_start_limit")
    }
}

/// The share of bytes that arrive marked: α of RFC 8257 §3.3, for DCTCP and Prague.
#[derive(Debug, Clone)]
pub(super) struct MarkedShare {
    gain: f64,
    pub(super) alpha: f64,
    acked: u64,
    marked: u64,
}

impl MarkedShare {
    /// The state before the first acknowledgement; `alpha` is the initial value.
    pub(super) fn new(gain: Probability, alpha: Probability) -> Self {
        Self {
            gain: gain.0,
            alpha: alpha.0,
            acked: 0,
            marked: 0,
        }
    }

    /// Steps 1 to 3.
    pub(super) fn count(&mut self, ack: &AckSample) {
        self.acked += ack.newly_acked;
        self.marked += ack.ce_bytes;
    }

    /// Steps 4 to 8, at the end of a window.
    pub(super) fn update(&mut self) {
        if self.acked > 0 {
            let share = self.marked as f64 / self.acked as f64;
            self.alpha += self.gain * (share - self.alpha);
        }
        self.restart();
    }

    /// Begins a window anew, with α as it is.
    pub(super) fn restart(&mut self) {
        (self.acked, self.marked) = (0, 0);
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Dctcp {
    window: Reno,
    share: MarkedShare,
    mss: u64,
    round: u64,
}

impl Dctcp {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        let growth = reno::Config {
            slow_start_limit: config.slow_start_limit,
            ..reno::Config::default()
        };
        Self {
            window: Reno::new(&growth, mss, initial_window),
            share: MarkedShare::new(config.gain, config.initial_alpha),
            mss,
            round: 0,
        }
    }
}

impl CongestionControl for Dctcp {
    fn on_ack(&mut self, ack: &AckSample) {
        self.share.count(ack);
        if ack.round > self.round {
            self.round = ack.round;
            self.share.update();
        }
        self.window.on_ack(ack);
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        if signal == CongestionSignal::Ecn && ack.ce_bytes > 0 {
            // §3.3, step 9.
            let kept = self.window.cwnd() as f64 * (1.0 - self.share.alpha / 2.0);
            let kept = (kept as u64).max(2 * self.mss);
            self.window.set(kept, kept);
        } else {
            self.window.on_congestion(signal, ack);
        }
    }

    fn on_recovered(&mut self, ack: &AckSample) {
        self.window.on_recovered(ack);
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.window.on_idle(restart_window);
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

    fn ack(round: u64, ce_bytes: u64) -> AckSample {
        AckSample {
            newly_acked: 10 * MSS,
            ce_bytes,
            flight_size: 40 * MSS,
            round,
            mss: MSS,
            ..AckSample::default()
        }
    }

    fn dctcp(alpha: f64) -> Dctcp {
        let config = Config {
            initial_alpha: Probability(alpha),
            ..Config::default()
        };
        Dctcp::new(&config, MSS, 40 * MSS)
    }

    #[test]
    fn alpha_follows_the_share_of_marked_bytes_once_a_window() {
        // Windows in which all bytes are marked, from α = 0: 1 − (15/16)ⁿ.
        let mut dctcp = dctcp(0.0);
        let vectors = [
            (1, 0.0625),
            (2, 0.1211),
            (4, 0.2275),
            (8, 0.4033),
            (16, 0.6439),
            (32, 0.8732),
        ];
        let mut windows = 0;
        for (n, alpha) in vectors {
            while windows < n {
                windows += 1;
                dctcp.on_ack(&ack(windows, 10 * MSS));
            }
            assert!((dctcp.share.alpha - alpha).abs() < 1e-4, "{n} windows");
        }
        let before = dctcp.share.alpha;
        for marked in [0, 10 * MSS, 0, 0] {
            dctcp.on_ack(&ack(32, marked));
            assert_eq!(
                dctcp.share.alpha.to_bits(),
                before.to_bits(),
                "the same window"
            );
        }
        dctcp.on_ack(&ack(33, 0));
        assert!((dctcp.share.alpha - (before * 15.0 / 16.0 + 0.2 / 16.0)).abs() < 1e-12);
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half_of_the_window() {
        for (alpha, expected) in [(1.0, 20_000), (0.5, 30_000), (0.05, 39_000)] {
            let mut dctcp = dctcp(alpha);
            dctcp.on_congestion(CongestionSignal::Ecn, &ack(1, MSS));
            assert_eq!((dctcp.cwnd(), dctcp.ssthresh()), (expected, Some(expected)));
        }
        let mut dctcp = dctcp(0.05);
        dctcp.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(1, 0));
        assert_eq!(dctcp.cwnd(), 20 * MSS);
    }

    #[test]
    fn an_echo_that_does_not_count_halves() {
        let mut dctcp = dctcp(0.05);
        dctcp.on_congestion(CongestionSignal::Ecn, &ack(1, 0));
        assert_eq!(dctcp.cwnd(), 20 * MSS);
    }
}
