//! NewReno: half the window after a loss, one segment more each round trip (RFC 5681, RFC 6582).
//!
//! Slow start grows by what is acknowledged, congestion avoidance by one segment for each window acknowledged: both count bytes, not
//! acknowledgements (RFC 3465), so delayed acknowledgements do not slow growth down.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckSample, CongestionControl, CongestionSignal, SlowStart};

/// Parameters of NewReno.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Segments by which one acknowledgement may grow the window in slow start. More follows acknowledgements that cover many segments;
    /// 1 grows by half as much where every second segment is acknowledged.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 3465 §2.2.
            slow_start_limit: 2,
        }
    }
}

/// NewReno's window.
#[derive(Debug)]
pub struct Reno {
    slow_start: SlowStart,
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged since congestion avoidance last grew the window.
    acked: u64,
}

impl Reno {
    /// The window at the start of a connection.
    pub fn new(config: Config, mss: u64, initial_window: u64) -> Self {
        Self {
            slow_start: SlowStart::new(config.slow_start_limit),
            mss,
            cwnd: initial_window,
            // RFC 5681 §3.1: arbitrarily high.
            ssthresh: u64::MAX,
            acked: 0,
        }
    }

    /// RFC 3465 §2.1: one segment more for each window acknowledged.
    fn avoid_congestion(&mut self, newly_acked: u64) {
        self.acked += newly_acked;
        if self.acked >= self.cwnd {
            self.acked -= self.cwnd;
            self.cwnd += self.mss;
        }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = self.slow_start.grow(self.cwnd, self.ssthresh, ack);
        } else {
            self.avoid_congestion(ack.newly_acked);
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        // RFC 5681 §3.1, equation 4. In flight, not cwnd: an idle window is no evidence.
        self.ssthresh = (ack.prior_in_flight / 2).max(2 * self.mss);
        self.acked = 0;
        match signal {
            CongestionSignal::Ecn | CongestionSignal::Loss { .. } => self.cwnd = self.ssthresh,
            CongestionSignal::Timeout => {
                self.cwnd = self.mss;
                self.slow_start.after_timeout();
            }
        }
    }

    fn on_recovered(&mut self, ack: &AckSample) {
        // RFC 6582 §3.2, step 3, option 1: no burst where little is in flight; slow start makes up for it.
        self.cwnd = self.ssthresh.min(ack.in_flight.max(self.mss) + self.mss);
    }

    fn on_idle(&mut self, restart_window: u64) {
        // RFC 5681 §4.1; ssthresh remembers.
        self.cwnd = self.cwnd.min(restart_window);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        (self.ssthresh < u64::MAX).then_some(self.ssthresh)
    }
}
