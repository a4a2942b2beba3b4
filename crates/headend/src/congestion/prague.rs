//! Prague: the scalable congestion control of L4S, which is DCTCP adapted to the Internet
//! (draft-briscoe-iccrg-prague-congestion-control, RFC 9331 §4).
//!
//! - Its packets carry ECT(1), so that an L4S queue marks them at delays of less than a
//!   millisecond.
//! - The response is that of DCTCP, `cwnd ← cwnd · (1 − α/2)`. The first mark that arrives a round
//!   trip after the last reduction, or later, brings the next one. α is 1 at the first mark of a
//!   connection.
//! - The window grows for the bytes that arrived unmarked, also in the round trip after a
//!   reduction.
//! - It is paced, and the window is rounded up to whole segments.
//! - Short paths behave as if they took 25 ms. α, reductions and growth use a virtual round trip;
//!   the window grows by `(R / R_virt)²` segments in each real one. Flows of 5 and of 25 ms
//!   therefore get equal shares. This begins 500 round trips after slow start, so that short
//!   transfers are as fast as their path allows.
//! - A loss halves the window, as in NewReno.
//! - If only RFC 3168's echo was negotiated, packets carry ECT(0), and a mark halves the window as
//!   well. From the first mark on, the window grows as in NewReno.
//!
//! Left out: the detection of queues that mark ECT(1) according to RFC 3168 (off by default in
//! implementations), and smaller segments below two segments in a virtual round trip.

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
    /// α at the first mark.
    pub initial_alpha: Probability,
    /// Virtual round-trip time. A shorter path is no more aggressive than a path with this
    /// round-trip time. With `"0 s"`, each path has its own.
    pub virtual_rtt: Duration,
    /// Round trips after slow start from which the virtual round-trip time is used (D). Raising it
    /// makes longer transfers over short paths as fast as their path allows, at the expense of
    /// longer paths.
    pub virtual_rtt_after: u32,
    /// Segments by which one acknowledgement may grow the window in slow start.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Both are the draft's.
            gain: Probability(1.0 / 16.0),
            initial_alpha: Probability(1.0),
            // The draft's §2.4.4, and the authors' implementations.
            virtual_rtt: Duration::from_millis(25),
            virtual_rtt_after: 500,
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
    virtual_rtt_after: u64,
    mss: u64,
    /// In bytes with a fraction, because on short paths the window grows by less than a segment in
    /// many round trips.
    cwnd: f64,
    ssthresh: f64,
    srtt: Option<Duration>,
    /// When α was last updated, and when marks last reduced the window.
    updated_at: Instant,
    reduced_at: Option<Instant>,
    /// The round trip in which slow start ended for the first time.
    left_slow_start_in: Option<u64>,
    /// Whether a mark has been reported. Until then, α stays as it is.
    is_marked: bool,
    /// Whether losses are being repaired by fast recovery.
    is_repairing: bool,
}

impl Prague {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        Self {
            share: MarkedShare::new(config.gain, config.initial_alpha),
            slow_start: SlowStart::new(config.slow_start_limit),
            virtual_rtt: config.virtual_rtt,
            virtual_rtt_after: config.virtual_rtt_after.into(),
            mss,
            cwnd: initial_window as f64,
            ssthresh: f64::INFINITY,
            srtt: None,
            updated_at: Instant::ZERO,
            reduced_at: None,
            left_slow_start_in: None,
            is_marked: false,
            is_repairing: false,
        }
    }

    fn floor(&self) -> f64 {
        (2 * self.mss) as f64
    }

    /// The round trip by which α, reductions and growth go: the virtual one, or the real one if it
    /// is longer or the connection is young.
    fn round_trip(&self, ack: &AckSample) -> Duration {
        let real = ack.srtt.unwrap_or_default();
        let is_young = (self.left_slow_start_in)
            .is_none_or(|round| ack.round.saturating_sub(round) < self.virtual_rtt_after);
        if is_young {
            real
        } else {
            real.max(self.virtual_rtt)
        }
    }

    /// Whether a round trip has passed since `then`.
    fn has_passed(&self, then: Instant, ack: &AckSample) -> bool {
        ack.now.since(then) >= self.round_trip(ack)
    }

    /// Updates α once per round trip.
    fn follow_marks(&mut self, ack: &AckSample) {
        self.share.count(ack);
        self.is_marked |= ack.ce_bytes > 0;
        if self.has_passed(self.updated_at, ack) {
            self.updated_at = ack.now;
            if self.is_marked {
                self.share.update();
            } else {
                self.share.restart();
            }
        }
    }

    /// Reduces the window for marks, once per round trip.
    fn answer_marks(&mut self, ack: &AckSample) {
        if ack.ce_bytes > 0 && (self.reduced_at).is_none_or(|then| self.has_passed(then, ack)) {
            self.reduced_at = Some(ack.now);
            self.fall_to(self.cwnd * (1.0 - self.share.alpha / 2.0));
        }
    }

    /// Grows the window by `(R / R_virt)²` segments per round trip, which is one segment per
    /// virtual round trip in terms of the rate. Only unmarked bytes count.
    fn avoid_congestion(&mut self, ack: &AckSample) {
        let real = ack.srtt.unwrap_or_default().as_secs_f64();
        let share = (real / self.round_trip(ack).as_secs_f64()).min(1.0);
        let increase = if share.is_nan() { 1.0 } else { share * share };
        let unmarked = ack.newly_acked.saturating_sub(ack.ce_bytes);
        self.cwnd += increase * self.mss as f64 * unmarked as f64 / self.cwnd;
    }

    fn fall_to(&mut self, window: f64) {
        self.cwnd = window.max(self.floor());
        self.ssthresh = self.cwnd;
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, ack: &AckSample) {
        self.srtt = ack.srtt;
        self.follow_marks(ack);
        self.answer_marks(ack);
        if !ack.cwnd_limited {
            return;
        }
        if self.cwnd >= self.ssthresh {
            self.left_slow_start_in.get_or_insert(ack.round);
            // Of all that stops growth, a report of marks does not.
            if !ack.in_recovery || (ack.ce_bytes > 0 && !self.is_repairing) {
                self.avoid_congestion(ack);
            }
        } else if !ack.in_recovery {
            let limit = self.ssthresh.min(1e18) as u64;
            self.cwnd = self.slow_start.grow(self.cwnd as u64, limit, ack) as f64;
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
            CongestionSignal::Loss { .. } => {
                self.is_repairing = true;
                self.fall_to(ack.threshold(0.5) as f64);
            }
            CongestionSignal::Timeout => {
                self.is_repairing = false;
                self.fall_to(ack.threshold(0.5) as f64);
                self.cwnd = self.mss as f64;
                self.slow_start.after_timeout();
            }
        }
    }

    fn on_recovered(&mut self, _ack: &AckSample) {
        self.is_repairing = false;
    }

    fn on_idle(&mut self, restart_window: u64) {
        self.cwnd = self.cwnd.min(restart_window as f64);
    }

    fn is_scalable(&self) -> bool {
        true
    }

    /// Whole segments, rounded up, as in the authors' implementations: rounded down, a window of a
    /// few segments would be a tenth smaller than what the law gives.
    fn cwnd(&self) -> u64 {
        (self.cwnd / self.mss as f64).ceil() as u64 * self.mss
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
            round: 500,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// What the sender gives with an acknowledgement that reports marks.
    fn report(ms: u64, rtt_ms: u64, ce_bytes: u64) -> AckSample {
        AckSample {
            in_recovery: true,
            ..ack(ms, rtt_ms, ce_bytes)
        }
    }

    /// A control that left slow start 500 round trips ago, and has seen marks.
    fn prague(segments: u64) -> Prague {
        let mut prague = Prague::new(&Config::default(), MSS, segments * MSS);
        prague.ssthresh = prague.cwnd;
        prague.share.alpha = 0.1;
        prague.is_marked = true;
        prague.left_slow_start_in = Some(0);
        prague
    }

    #[track_caller]
    fn assert_window(prague: &Prague, expected: f64, when: &str) {
        assert!(
            (prague.cwnd - expected).abs() < 1e-6,
            "{}: {when}",
            prague.cwnd
        );
    }

    #[test]
    fn a_window_is_rounded_up_to_whole_segments() {
        let mut prague = prague(40);
        for (window, segments) in [(4_000.0, 4), (4_000.5, 5), (4_999.0, 5)] {
            prague.cwnd = window;
            assert_eq!(prague.cwnd(), segments * MSS, "{window}");
        }
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
        for (ms, expected) in [
            (100, 38_000.0),
            (110, 38_000.0),
            (124, 38_000.0),
            (125, 36_100.0),
        ] {
            // All bytes are marked: nothing grows.
            let marked = report(ms, 5, 2 * MSS);
            prague.on_congestion(CongestionSignal::Ecn, &marked);
            prague.on_ack(&marked);
            assert_window(&prague, expected, &format!("{ms} ms"));
        }
    }

    #[test]
    fn the_virtual_round_trip_counts_500_round_trips_after_slow_start() {
        // By `ack.round`, growth for one acknowledgement of two segments of 40, at 5 ms.
        for (left_in, share) in [(None, 1.0), (Some(1), 1.0), (Some(0), 0.04)] {
            let mut prague = prague(40);
            prague.left_slow_start_in = left_in;
            prague.on_ack(&ack(1, 5, 0));
            let grown = prague.cwnd - 40_000.0;
            assert!((grown - share * 50.0).abs() < 1e-9, "{left_in:?}: {grown}");
        }
        // So do reductions: after 5 ms, not after 25.
        let mut young = prague(40);
        young.left_slow_start_in = Some(1);
        young.updated_at = Instant::FAR_FUTURE;
        for (ms, expected) in [(100, 38_000.0), (104, 38_000.0), (105, 36_100.0)] {
            young.on_ack(&report(ms, 5, 2 * MSS));
            assert_window(&young, expected, &format!("{ms} ms"));
        }
    }

    #[test]
    fn the_window_grows_for_unmarked_bytes_also_after_a_reduction() {
        let mut prague = prague(40);
        prague.reduced_at = Some(Instant::from_nanos(100_000_000));
        prague.on_ack(&report(110, 50, MSS));
        assert_window(&prague, 40_025.0, "a byte of each two");
        // Not while losses are repaired.
        prague.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack(120, 50, 0));
        prague.on_ack(&report(121, 50, MSS));
        assert_window(&prague, 20_000.0, "in recovery");
        prague.on_recovered(&ack(170, 50, 0));
        prague.reduced_at = Some(Instant::from_nanos(170_000_000));
        prague.on_ack(&report(171, 50, MSS));
        assert_window(&prague, 20_050.0, "after it");
    }

    #[test]
    fn the_first_mark_halves_however_long_the_connection_had_none() {
        let mut prague = Prague::new(&Config::default(), MSS, 40 * MSS);
        prague.ssthresh = prague.cwnd;
        for ms in 0..400 {
            prague.on_ack(&AckSample {
                cwnd_limited: false,
                ..ack(10 * ms, 10, 0)
            });
        }
        prague.on_ack(&report(4_000, 10, 2 * MSS));
        assert_eq!(prague.cwnd(), 20_000);
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
