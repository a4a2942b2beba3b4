//! NewReno: the window is halved after a loss, and grows by one segment per round trip (RFC 5681,
//! RFC 6582).
//!
//! Slow start grows the window by the bytes acknowledged, and congestion avoidance by one segment
//! for each window acknowledged. Both count bytes, not acknowledgements (RFC 3465), so delayed
//! acknowledgements do not slow growth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckSample, CongestionControl, CongestionSignal, Refusal, SlowStart, check_slow_start};

/// RFC 8511 §3.1.
const ABE_BETA: f64 = 0.8;

/// Parameters of NewReno.
///
/// Use it to compare with theory and with older studies: textbooks use its sawtooth.
///
/// Source: RFC 5681, RFC 6582, RFC 3465 and RFC 8511.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Segments by which one acknowledgement may grow the window in slow start. Raising it makes up
    /// for acknowledgements that cover many segments. With 1, the window grows by half as much
    /// where every second segment is acknowledged.
    pub slow_start_limit: u32,
    /// Whether a mark leaves 0.8 of the window instead of half (RFC 8511, ABE). Marks come from
    /// short queues, which half a window would empty.
    pub abe: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 3465 §2.3: the largest value that it allows.
            slow_start_limit: 2,
            abe: false,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        check_slow_start(self.slow_start_limit, "reno.slow_start_limit")
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Reno {
    slow_start: SlowStart,
    abe: bool,
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged since congestion avoidance last grew the window.
    acked: u64,
}

impl Reno {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            slow_start: SlowStart::new(config.slow_start_limit),
            abe: config.abe,
            mss,
            cwnd: initial_window,
            // RFC 5681 §3.1: arbitrarily high.
            ssthresh: u64::MAX,
            acked: 0,
        }
    }

    /// Sets the window, for controls that grow as NewReno and reduce the window in another way.
    pub(super) fn set(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = cwnd;
        self.ssthresh = ssthresh;
    }

    /// Whether the window still grows as in slow start.
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 3465 §2.1: one segment for each window acknowledged.
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
        if self.in_slow_start() {
            self.cwnd = self.slow_start.grow(self.cwnd, self.ssthresh, ack);
        } else {
            self.avoid_congestion(ack.newly_acked);
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        // RFC 5681 §3.1, equation 4. The data in flight is used, not cwnd: an unused window is no
        // evidence of capacity.
        let share = match signal {
            CongestionSignal::Ecn if self.abe => ABE_BETA,
            _ => 0.5,
        };
        self.ssthresh = ack.threshold(share);
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
        // RFC 6582 §3.2, step 3, option 1: avoids a burst if little data is in flight; slow start
        // then restores the window.
        self.cwnd = self.ssthresh.min(ack.in_flight.max(self.mss) + self.mss);
    }

    fn on_idle(&mut self, restart_window: u64) {
        // RFC 5681 §4.1; ssthresh keeps the old value.
        self.cwnd = self.cwnd.min(restart_window);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<u64> {
        (self.ssthresh < u64::MAX).then_some(self.ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(newly_acked: u64) -> AckSample {
        AckSample {
            newly_acked,
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    fn in_flight(bytes: u64) -> AckSample {
        AckSample {
            flight_size: bytes,
            in_flight: bytes,
            mss: MSS,
            ..AckSample::default()
        }
    }

    fn reno(segments: u64) -> Reno {
        Reno::new(&Config::default(), MSS, segments * MSS)
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip_also_with_delayed_acknowledgements() {
        let mut reno = reno(10);
        for expected in [20, 40, 80] {
            for _ in 0..reno.cwnd() / (2 * MSS) {
                reno.on_ack(&ack(2 * MSS));
            }
            assert_eq!(reno.cwnd(), expected * MSS);
        }
        reno.on_ack(&ack(30 * MSS));
        assert_eq!(
            reno.cwnd(),
            82 * MSS,
            "at most two segments an acknowledgement"
        );
    }

    #[test]
    fn congestion_avoidance_adds_one_segment_for_each_window_acknowledged() {
        let mut reno = reno(20);
        reno.on_congestion(CongestionSignal::Loss { lost: MSS }, &in_flight(20 * MSS));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (10 * MSS, Some(10 * MSS)));
        for expected in [11, 12, 13] {
            for _ in 0..expected - 1 {
                reno.on_ack(&ack(MSS));
            }
            assert_eq!(reno.cwnd(), expected * MSS);
        }
    }

    #[test]
    fn a_timeout_starts_over_with_one_segment_and_grows_by_one_an_acknowledgement() {
        let mut reno = reno(20);
        reno.on_congestion(CongestionSignal::Timeout, &in_flight(20 * MSS));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (MSS, Some(10 * MSS)));
        reno.on_ack(&ack(8 * MSS));
        assert_eq!(reno.cwnd(), 2 * MSS);
        for _ in 0..8 {
            reno.on_ack(&ack(8 * MSS));
        }
        assert_eq!(reno.cwnd(), 10 * MSS, "slow start ends at ssthresh");
        reno.on_ack(&ack(8 * MSS));
        assert_eq!(reno.cwnd(), 10 * MSS);
    }

    #[test]
    fn the_threshold_is_half_of_what_was_in_flight_and_two_segments_at_least() {
        let mut reno = reno(20);
        reno.on_congestion(CongestionSignal::Ecn, &in_flight(7 * MSS));
        assert_eq!(reno.cwnd(), 3500);
        reno.on_congestion(CongestionSignal::Ecn, &in_flight(MSS));
        assert_eq!(reno.cwnd(), 2 * MSS);
    }

    #[test]
    fn with_abe_a_mark_leaves_four_fifths_and_a_loss_half() {
        let config = Config {
            abe: true,
            ..Config::default()
        };
        for (signal, expected) in [
            (CongestionSignal::Ecn, 16),
            (CongestionSignal::Loss { lost: MSS }, 10),
        ] {
            let mut reno = Reno::new(&config, MSS, 20 * MSS);
            reno.on_congestion(signal, &in_flight(20 * MSS));
            assert_eq!(reno.cwnd(), expected * MSS);
        }
    }

    #[test]
    fn a_window_that_is_not_full_or_under_repair_does_not_grow() {
        let mut reno = reno(10);
        reno.on_ack(&AckSample {
            cwnd_limited: false,
            ..ack(2 * MSS)
        });
        reno.on_ack(&AckSample {
            in_recovery: true,
            ..ack(2 * MSS)
        });
        assert_eq!(reno.cwnd(), 10 * MSS);
    }

    #[test]
    fn recovery_and_idling_end_without_a_burst() {
        let mut reno = reno(20);
        reno.on_congestion(CongestionSignal::Loss { lost: MSS }, &in_flight(20 * MSS));
        reno.on_recovered(&in_flight(3 * MSS));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (4 * MSS, Some(10 * MSS)));
        reno.on_recovered(&in_flight(15 * MSS));
        assert_eq!(reno.cwnd(), 10 * MSS);
        reno.on_idle(5 * MSS);
        assert_eq!((reno.cwnd(), reno.ssthresh()), (5 * MSS, Some(10 * MSS)));
        reno.on_idle(30 * MSS);
        assert_eq!(reno.cwnd(), 5 * MSS);
    }
}
