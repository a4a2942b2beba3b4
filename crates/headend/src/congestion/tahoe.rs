//! Tahoe: the window falls to one segment after every loss, and slow start leads back to half of
//! the data in flight (Jacobson 1988).
//!
//! The third duplicate acknowledgement is handled like a timeout: all outstanding data counts as
//! lost and is retransmitted in slow start. There is no fast recovery, and the sawtooth of the
//! window falls to one segment.
//!
//! Deviations: growth counts bytes, as in [`super::reno`], which is the same if every segment is
//! acknowledged. Marks were introduced later; they halve the window, because nothing is lost that
//! must be retransmitted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, check_slow_start};

/// Parameters of Tahoe.
///
/// Use it to show what fast recovery improved; no system has used it for thirty years.
///
/// Source: V. Jacobson, Congestion Avoidance and Control, SIGCOMM 1988; K. Fall and S. Floyd,
/// Simulation-based Comparisons of Tahoe, Reno and SACK TCP, CCR 26(3), 1996.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Segments by which one acknowledgement may grow the window in slow start. Raising it makes up
    /// for acknowledgements that cover several segments.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Jacobson 1988, appendix B: one segment for each acknowledgement.
            slow_start_limit: 1,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        check_slow_start(self.slow_start_limit, "tahoe.slow_start_limit")
    }
}

/// The congestion control, which grows the window as NewReno.
#[derive(Debug)]
pub struct Tahoe(Reno);

impl Tahoe {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        let growth = reno::Config {
            slow_start_limit: config.slow_start_limit,
            ..reno::Config::default()
        };
        Self(Reno::new(&growth, mss, initial_window))
    }
}

impl CongestionControl for Tahoe {
    fn on_ack(&mut self, ack: &AckSample) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        let signal = match signal {
            CongestionSignal::Ecn => CongestionSignal::Ecn,
            CongestionSignal::Loss { .. } | CongestionSignal::Timeout => CongestionSignal::Timeout,
        };
        self.0.on_congestion(signal, ack);
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.0.on_idle(restart_window);
    }

    fn repairs_in_slow_start(&self) -> bool {
        true
    }

    fn cwnd(&self) -> u64 {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.0.ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn a_loss_starts_over_with_one_segment_and_a_mark_halves() {
        let in_flight = AckSample {
            flight_size: 20 * MSS,
            mss: MSS,
            ..AckSample::default()
        };
        let mut tahoe = Tahoe::new(&Config::default(), MSS, 20 * MSS);
        tahoe.on_congestion(CongestionSignal::Loss { lost: MSS }, &in_flight);
        assert_eq!((tahoe.cwnd(), tahoe.ssthresh()), (MSS, Some(10 * MSS)));
        let mut tahoe = Tahoe::new(&Config::default(), MSS, 20 * MSS);
        tahoe.on_congestion(CongestionSignal::Ecn, &in_flight);
        assert_eq!(tahoe.cwnd(), 10 * MSS);
    }

    #[test]
    fn slow_start_leads_to_half_of_the_window_and_one_segment_a_round_trip_from_there() {
        let mut tahoe = Tahoe::new(&Config::default(), MSS, 16 * MSS);
        let ack = AckSample {
            newly_acked: MSS,
            flight_size: 16 * MSS,
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        };
        tahoe.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack);
        let mut windows = Vec::new();
        for _ in 0..6 {
            for _ in 0..tahoe.cwnd() / MSS {
                tahoe.on_ack(&ack);
            }
            windows.push(tahoe.cwnd() / MSS);
        }
        assert_eq!(windows, [2, 4, 8, 9, 10, 11]);
    }
}
