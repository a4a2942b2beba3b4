//! Prague: the scalable control of L4S, DCTCP made fit for the Internet (draft-briscoe-iccrg-prague-congestion-control, RFC 9331 §4).
//!
//! Its packets say ECT(1), so that an L4S queue marks them from the first fraction of a millisecond on. The response is DCTCP's, `cwnd ← cwnd · (1 − α/2)`: in the steady state two marks a round trip, whatever the rate. It is paced. Short paths
//! behave as if they took 25 ms: α, reductions and growth go by a virtual round trip, growth by `(R / R_virt)²` segments in each real one, so that flows of 5 and of 25 ms share evenly.
//!
//! A loss halves, as in NewReno. Where only RFC 3168's echo was agreed on, packets say ECT(0), a mark halves too, and from the first mark on the window grows as NewReno's.
//! Left out: the detection of queues that mark ECT(1) as RFC 3168 says (off by default where it exists), and the first round trips after slow start, in which the virtual round trip is not yet used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dctcp::MarkedShare;
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, SlowStart, check_slow_start};
use crate::time::{Duration, Instant};
use crate::units::{Probability, Rate};

/// Parameters of Prague.
///
/// Use it where the bottleneck has an L4S queue (`dualpi2`): full rate, with hardly a queue.
///
/// Source: draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// g: weight of the last virtual round trip in α. More follows sooner and swings wider.
    pub gain: Probability,
    /// α before the first round trip is over.
    pub initial_alpha: Probability,
    /// The virtual round-trip time: shorter paths are no more aggressive than one that takes this long. `"0 s"` leaves each its own.
    pub virtual_rtt: Duration,
    /// Segments by which one acknowledgement may grow the window in slow start.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The draft's §2.4.2.
            gain: Probability(1.0 / 16.0),
            // As DCTCP's.
            initial_alpha: Probability(1.0),
            // The draft's reference round-trip time.
            virtual_rtt: Duration::from_millis(25),
            // RFC 3465 §2.3: the most it allows.
            slow_start_limit: 2,
        }
    }
}

impl Config {
    /// A gain of zero would never learn.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.gain.0 <= 0.0 {
            return Err(("prague.gain", "a share above 0"));
        }
        check_slow_start(self.slow_start_limit, "prague.slow_start_limit")
    }
}

/// Prague's window.
#[derive(Debug)]
pub struct Prague {
    share: MarkedShare,
    slow_start: SlowStart,
    virtual_rtt: Duration,
    mss: u64,
    /// In bytes, with their fraction: on short paths it grows by less than a segment in many round trips.
    cwnd: f64,
    ssthresh: f64,
    srtt: Option<Duration>,
    /// When α was last brought up to date, and when a mark last cost something.
    updated_at: Instant,
    reduced_at: Option<Instant>,
}

impl Prague {
    /// The window at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            share: MarkedShare::new(config.gain, config.initial_alpha),
            slow_start: SlowStart::new(config.slow_start_limit),
            virtual_rtt: config.virtual_rtt,
            mss,
            cwnd: initial_window as f64,
            ssthresh: f64::INFINITY,
            srtt: None,
            updated_at: Instant::ZERO,
            reduced_at: None,
        }
    }

    fn floor(&self) -> f64 {
        (2 * self.mss) as f64
    }

    /// A round trip, virtual or real if that is longer, has passed since `then`.
    fn has_passed(&self, then: Instant, ack: &AckSample) -> bool {
        let rtt = ack.srtt.unwrap_or_default().max(self.virtual_rtt);
        ack.now.since(then) >= rtt
    }

    /// Marks cost something once a virtual round trip.
    fn answer_marks(&mut self, ack: &AckSample) {
        if ack.ce_bytes > 0 && (self.reduced_at).is_none_or(|then| self.has_passed(then, ack)) {
            self.reduced_at = Some(ack.now);
            self.fall_to(self.cwnd * (1.0 - self.share.alpha / 2.0));
        }
    }

    /// One segment each virtual round trip.
    fn avoid_congestion(&mut self, ack: &AckSample) {
        let real = ack.srtt.unwrap_or_default().as_secs_f64();
        let share = (real / real.max(self.virtual_rtt.as_secs_f64())).min(1.0);
        let increase = if share.is_nan() { 1.0 } else { share * share };
        self.cwnd += increase * self.mss as f64 * ack.newly_acked as f64 / self.cwnd;
    }

    fn fall_to(&mut self, window: f64) {
        self.cwnd = window.max(self.floor());
        self.ssthresh = self.cwnd;
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckSample) {
        self.srtt = ack.srtt;
        self.share.count(ack);
        if self.has_passed(self.updated_at, ack) {
            self.updated_at = ack.now;
            self.share.update();
        }
        self.answer_marks(ack);
        if ack.in_recovery || !ack.cwnd_limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            let limit = self.ssthresh.min(1e18) as u64;
            self.cwnd = self.slow_start.grow(self.cwnd as u64, limit, ack) as f64;
        } else {
            self.avoid_congestion(ack);
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        match signal {
            // A mark in each real round trip would come at the wrong times: see `answer_marks`.
            CongestionSignal::Ecn if ack.ce_bytes > 0 => {}
            CongestionSignal::Ecn => {
                // Marks are echoed, not counted: a classic connection (RFC 9331 §4.2).
                self.virtual_rtt = Duration::ZERO;
                self.fall_to(ack.threshold(0.5) as f64);
            }
            CongestionSignal::Loss { .. } => self.fall_to(ack.threshold(0.5) as f64),
            CongestionSignal::Timeout => {
                self.fall_to(ack.threshold(0.5) as f64);
                self.cwnd = self.mss as f64;
                self.slow_start.after_timeout();
            }
        }
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.cwnd = self.cwnd.min(restart_window as f64);
    }

    fn is_scalable(&self) -> bool {
        true
    }

    fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some(self.ssthresh as u64)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // Twice the rate of the window while it doubles: the draft's §2.4.6.
        let gain = if self.cwnd < self.ssthresh { 2.0 } else { 1.0 };
        super::window_rate(self.cwnd, self.srtt?, gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(ms: u64, rtt_ms: u64, ce_bytes: u64) -> AckSample {
        AckSample {
            now: Instant::from_nanos(ms * 1_000_000),
            newly_acked: 2 * MSS,
            ce_bytes,
            srtt: Some(Duration::from_millis(rtt_ms)),
            flight_size: 40 * MSS,
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    fn prague(segments: u64) -> Prague {
        let mut prague = Prague::new(&Config::default(), MSS, segments * MSS);
        prague.ssthresh = prague.cwnd;
        prague.share.alpha = 0.1;
        prague
    }

    #[test]
    fn growth_and_reductions_of_short_paths_go_by_the_virtual_round_trip() {
        // A window's acknowledgements: one segment at 25 ms and above, a 25th of one at 5 ms.
        for (rtt_ms, grown) in [(50, 1000.0), (25, 1000.0), (5, 40.0)] {
            let mut prague = prague(40);
            for _ in 0..20 {
                prague.on_ack(&ack(1, rtt_ms, 0));
            }
            assert!(
                (prague.cwnd - 40_000.0 - grown).abs() < 0.02 * grown,
                "{rtt_ms} ms"
            );
        }
        let mut prague = prague(40);
        prague.updated_at = Instant::FAR_FUTURE;
        for (ms, expected) in [(100, 38_000), (110, 38_000), (124, 38_000), (125, 36_100)] {
            let marked = AckSample {
                in_recovery: true,
                ..ack(ms, 5, MSS)
            };
            prague.on_congestion(CongestionSignal::Ecn, &marked);
            prague.on_ack(&marked);
            assert_eq!(prague.cwnd(), expected, "{ms} ms");
        }
    }

    #[test]
    fn alpha_follows_once_a_virtual_round_trip() {
        let mut prague = prague(40);
        prague.on_ack(&ack(100, 5, 2 * MSS));
        let alpha = prague.share.alpha;
        assert!((alpha - (0.1 + 0.9 / 16.0)).abs() < 1e-12);
        for ms in 101..125 {
            prague.on_ack(&ack(ms, 5, 0));
            assert_eq!(prague.share.alpha.to_bits(), alpha.to_bits());
        }
        prague.on_ack(&ack(125, 5, 0));
        assert!((prague.share.alpha - alpha * 15.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn a_loss_and_an_echo_that_does_not_count_halve() {
        for signal in [CongestionSignal::Loss { lost: MSS }, CongestionSignal::Ecn] {
            let mut prague = prague(40);
            prague.on_congestion(signal, &ack(100, 25, 0));
            assert_eq!(prague.cwnd(), 20 * MSS);
            // A window's acknowledgements on a path of 5 ms: a 25th of a segment, or NewReno's.
            for _ in 0..10 {
                prague.on_ack(&ack(101, 5, 0));
            }
            let grown = if signal == CongestionSignal::Ecn {
                1000.0
            } else {
                40.0
            };
            assert!(
                (prague.cwnd - 20_000.0 - grown).abs() < 0.04 * grown,
                "{signal:?}"
            );
        }
    }

    #[test]
    fn it_is_paced_at_the_rate_of_its_window_and_at_twice_that_in_slow_start() {
        let mut prague = prague(40);
        assert_eq!(prague.pacing_rate(), None, "no round trip yet");
        prague.srtt = Some(Duration::from_millis(20));
        assert_eq!(prague.pacing_rate(), Some(Rate(16_000_000)));
        prague.ssthresh = f64::INFINITY;
        assert_eq!(prague.pacing_rate(), Some(Rate(32_000_000)));
    }
}
