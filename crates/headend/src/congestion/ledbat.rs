//! LEDBAT: a background transfer that keeps the queue at a target delay and yields to all other
//! traffic (RFC 6817).
//!
//! `cwnd += GAIN · off_target · bytes_newly_acked · MSS / cwnd` with `off_target = (TARGET −
//! queueing delay) / TARGET`. On an empty queue, the window grows at most as fast as NewReno's;
//! above the target, it shrinks. The queueing delay is the one-way delay minus the smallest one of
//! the last ten minutes.
//!
//! Deviation: without timestamps, the round-trip time is used in place of the one-way delay. The
//! window starts at `INIT_CWND`, two segments, whatever `tcp.initial_window` says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::delay_history::DelayHistory;
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, SlowStart};
use crate::time::Duration;

/// Parameters of LEDBAT.
///
/// Use it for background transfers, such as peer-to-peer file sharing. They should yield to all
/// other traffic, and do not if active queue management keeps queues below the target.
///
/// Source: RFC 6817.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// TARGET: the target of the queueing delay. Raising it gives the flow a larger share beside
    /// others, and makes other flows wait longer.
    pub target: Duration,
    /// GAIN: how fast the window changes; 1 is NewReno's growth on an empty queue.
    pub gain: f64,
    /// `ALLOWED_INCREASE` in segments: how far the window may exceed the data in flight.
    pub allowed_increase: u32,
    /// `MIN_CWND` in segments: the smallest window, and the window at the start.
    pub min_window: u32,
    /// Whether the connection starts by doubling the window, until the queueing delay reaches the
    /// target or a loss occurs.
    pub slow_start: bool,
}

impl Default for Config {
    fn default() -> Self {
        // RFC 6817 §2.5.
        Self {
            target: Duration::from_millis(100),
            gain: 1.0,
            allowed_increase: 1,
            min_window: 2,
            // §2.4.2 has no slow start, and neither have its implementations for TCP.
            slow_start: false,
        }
    }
}

impl Config {
    /// The limits of the RFC, where other values would make no sense.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.target.is_zero() {
            return Err(("ledbat.target", "a time above 0"));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(("ledbat.gain", "a number above 0, and at most 1"));
        }
        if self.allowed_increase == 0 {
            return Err(("ledbat.allowed_increase", "at least 1 segment"));
        }
        if self.min_window == 0 {
            return Err(("ledbat.min_window", "at least 1 segment"));
        }
        Ok(())
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Ledbat {
    config: Config,
    delays: DelayHistory,
    slow_start: Option<SlowStart>,
    mss: u64,
    /// In bytes.
    cwnd: f64,
    ssthresh: u64,
}

impl Ledbat {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        let start = initial_window.min(u64::from(config.min_window) * mss);
        Self {
            delays: DelayHistory::new(),
            slow_start: config.slow_start.then(|| SlowStart::new(1)),
            mss,
            cwnd: start as f64,
            ssthresh: u64::MAX,
            config: config.clone(),
        }
    }

    fn floor(&self) -> f64 {
        (u64::from(self.config.min_window) * self.mss) as f64
    }

    /// §2.4.2: the change of the window at an acknowledgement.
    fn adjust(&mut self, ack: &AckSample) {
        let target = self.config.target.as_secs_f64();
        let off_target = (target - self.delays.queueing().as_secs_f64()) / target;
        let step = self.config.gain * off_target * ack.newly_acked as f64 * self.mss as f64;
        let allowed = u64::from(self.config.allowed_increase) * self.mss + ack.prior_in_flight;
        self.cwnd = (self.cwnd + step / self.cwnd)
            .min(allowed as f64)
            .max(self.floor());
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &AckSample) {
        if let Some(delay) = ack.one_way_delay.or(ack.rtt) {
            self.delays.observe(delay, ack.now);
        }
        if ack.in_recovery {
            return;
        }
        let below =
            self.delays.queueing() < self.config.target && (self.cwnd as u64) < self.ssthresh;
        match &mut self.slow_start {
            Some(slow_start) if below => {
                if ack.cwnd_limited {
                    self.cwnd = slow_start.grow(self.cwnd as u64, self.ssthresh, ack) as f64;
                }
            }
            _ => {
                self.slow_start = None;
                self.adjust(ack);
            }
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, _ack: &AckSample) {
        // §2.4.2: half of the window, and one segment after a timeout.
        self.cwnd = match signal {
            CongestionSignal::Ecn | CongestionSignal::Loss { .. } => {
                (self.cwnd / 2.0).max(self.floor())
            }
            CongestionSignal::Timeout => self.mss as f64,
        };
        self.slow_start = None;
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.cwnd = self.cwnd.min(restart_window as f64);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    fn phase(&self) -> Option<&'static str> {
        Some(if self.slow_start.is_some() {
            "slow_start"
        } else {
            "congestion_avoidance"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    const MSS: u64 = 1446;

    fn ack(delay_ms: u64, in_flight: u64) -> AckSample {
        AckSample {
            now: Instant::from_nanos(1_000_000_000),
            newly_acked: 2 * MSS,
            one_way_delay: Some(Duration::from_millis(delay_ms)),
            prior_in_flight: in_flight,
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// A window of `cwnd` bytes that has measured 20 ms and, four times, `delay_ms`; then an
    /// acknowledgement of two segments.
    fn step(cwnd: u64, delay_ms: u64, in_flight: u64) -> u64 {
        let mut ledbat = Ledbat::new(&Config::default(), MSS, 2 * MSS);
        let now = Instant::from_nanos(1_000_000_000);
        for delay in [20, delay_ms, delay_ms, delay_ms] {
            ledbat.delays.observe(Duration::from_millis(delay), now);
        }
        ledbat.cwnd = cwnd as f64;
        ledbat.on_ack(&ack(delay_ms, in_flight));
        ledbat.cwnd()
    }

    #[test]
    fn the_window_moves_by_the_distance_to_the_target() {
        // Vectors: off_target is 0.6 and −0.2, times 2 · 1446² / 8676 bytes.
        assert_eq!(step(8676, 60, 100 * MSS), 8965);
        assert_eq!(step(8676, 140, 100 * MSS), 8579);
    }

    #[test]
    fn the_window_stays_between_its_floor_and_what_is_in_flight() {
        // 4338 bytes in flight plus one segment: the window is cut, as in the RFC.
        assert_eq!(step(8676, 60, 4338), 4338 + MSS);
        assert_eq!(step(2 * MSS, 140, 2 * MSS), 2 * MSS);
    }

    #[test]
    fn a_loss_halves_down_to_two_segments_and_a_timeout_leaves_one() {
        let mut ledbat = Ledbat::new(&Config::default(), MSS, 10 * MSS);
        assert_eq!(ledbat.cwnd(), 2 * MSS, "INIT_CWND");
        ledbat.cwnd = (10 * MSS) as f64;
        ledbat.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(20, 0));
        assert_eq!(ledbat.cwnd(), 5 * MSS);
        for _ in 0..3 {
            ledbat.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(20, 0));
        }
        assert_eq!(ledbat.cwnd(), 2 * MSS);
        ledbat.on_congestion(CongestionSignal::Timeout, &ack(20, 0));
        assert_eq!(ledbat.cwnd(), MSS);
    }

    #[test]
    fn slow_start_lasts_until_the_queueing_delay_reaches_the_target() {
        let config = Config {
            slow_start: true,
            ..Config::default()
        };
        let mut ledbat = Ledbat::new(&config, MSS, 2 * MSS);
        for _ in 0..10 {
            ledbat.on_ack(&ack(20, 100 * MSS));
        }
        assert_eq!(ledbat.cwnd(), 12 * MSS);
        for _ in 0..4 {
            ledbat.on_ack(&ack(120, 100 * MSS));
        }
        assert!(ledbat.slow_start.is_none());
        assert!(ledbat.cwnd() <= 15 * MSS);
    }
}
