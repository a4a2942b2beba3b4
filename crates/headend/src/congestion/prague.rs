//! Prague: the scalable congestion control of L4S, which is DCTCP adapted to the Internet
//! (draft-briscoe-iccrg-prague-congestion-control, RFC 9331 §4).
//!
//! - Its packets carry ECT(1), so that an L4S queue marks them at delays of less than a
//!   millisecond.
//! - The response is that of DCTCP, `cwnd ← cwnd · (1 − α/2)`. In the steady state, there are two
//!   marks per round trip at any rate.
//! - It is paced.
//! - Short paths behave as if they took 25 ms. α, reductions and growth use a virtual round trip;
//!   the window grows by `(R / R_virt)²` segments in each real one. Flows of 5 and of 25 ms
//!   therefore get equal shares.
//! - A loss halves the window, as in NewReno.
//! - If only RFC 3168's echo was negotiated, packets carry ECT(0), and a mark halves the window as
//!   well. From the first mark on, the window grows as in NewReno.
//!
//! Left out: the detection of queues that mark ECT(1) according to RFC 3168 (off by default in
//! implementations), and the first round trips after slow start, which do not use the virtual round
//! trip yet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dctcp::MarkedShare;
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, SlowStart, check_slow_start};
use crate::time::{Duration, Instant};
use crate::units::{Probability, Rate};

/// Parameters of Prague.
///
/// Use it where the bottleneck has an L4S queue (`dualpi2`): it uses the full rate with almost no
/// queue.
///
/// Source: draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// g: weight of the last virtual round trip in α. Raising it makes α follow the marks sooner,
    /// and oscillate more.
    pub gain: Probability,
    /// α before the first round trip is over.
    pub initial_alpha: Probability,
    /// Virtual round-trip time. A shorter path is no more aggressive than a path with this
    /// round-trip time. With `"0 s"`, each path has its own.
    pub virtual_rtt: Duration,
    /// Segments by which one acknowledgement may grow the window in slow start.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The draft's §2.4.2.
            gain: Probability(1.0 / 16.0),
            // As in DCTCP.
            initial_alpha: Probability(1.0),
            // The draft's reference round-trip time.
            virtual_rtt: Duration::from_millis(25),
            // RFC 3465 §2.3: the largest value that it allows.
            slow_start_limit: 2,
        }
    }
}

impl Config {
    /// With a gain of zero, α would never change.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.gain.0 <= 0.0 {
            return Err(("prague.gain", "a share above 0"));
        }
        check_slow_start(self.slow_start_limit, "prague.slow_start_limit")
    }
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Prague {
    share: MarkedShare,
    slow_start: SlowStart,
    virtual_rtt: Duration,
    mss: u64,
    /// In bytes with a fraction, because on short paths the window grows by less than a segment in
    /// many round trips.
    cwnd: f64,
    ssthresh: f64,
    srtt: Option<Duration>,
    /// When α was last updated, and when marks last reduced the window.
    updated_at: Instant,
    reduced_at: Option<Instant>,
}

impl Prague {
    /// The control at the start of a connection.
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

    /// Whether a round trip has passed since `then`; the virtual one, or the real one if it is
    /// longer.
    fn has_passed(&self, then: Instant, ack: &AckSample) -> bool {
        let rtt = ack.srtt.unwrap_or_default().max(self.virtual_rtt);
        ack.now.since(then) >= rtt
    }

    /// Reduces the window for marks, once per virtual round trip.
    fn answer_marks(&mut self, ack: &AckSample) {
        if ack.ce_bytes > 0 && (self.reduced_at).is_none_or(|then| self.has_passed(then, ack)) {
            self.reduced_at = Some(ack.now);
            self.fall_to(self.cwnd * (1.0 - self.share.alpha / 2.0));
        }
    }

    /// Grows the window by one segment per virtual round trip.
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
            // This signal comes once per real round trip, which is too often; `answer_marks`
            // handles it.
            CongestionSignal::Ecn if ack.ce_bytes > 0 => {}
            CongestionSignal::Ecn => {
                // Marks are echoed but not counted: a classic connection (RFC 9331 §4.2).
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
        // The draft's §2.4.6: twice the rate of the window while the window doubles.
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
        // The acknowledgements of one window: one segment at 25 ms and above, 1/25 of a segment at
        // 5 ms.
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
            // The acknowledgements of one window on a path of 5 ms: 1/25 of a segment, or NewReno's
            // growth.
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
