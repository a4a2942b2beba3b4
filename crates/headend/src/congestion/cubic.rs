//! CUBIC: the window grows with the time since the last loss, not with round trips (RFC 9438).
//!
//! After a loss at `W_max`, the window falls to β times the data in flight. It then follows
//! `W_cubic(t) = C·(t − K)³ + W_max` with `K = ∛((W_max − cwnd)/C)`: it grows fast at first, stays
//! flat around `W_max`, and then grows fast again.
//!
//! - On short paths, where standard TCP would have a larger window, CUBIC follows an estimate of
//!   that window (the Reno-friendly region).
//! - A flow that has a loss below its last `W_max` reduces `W_max` further, to leave capacity for
//!   other flows (fast convergence).
//! - The first slow start lasts until a loss, or, with [`super::hystart`], until a queue is
//!   detected (RFC 9438 §4.10).
//!
//! Left out: the undoing of spurious losses (§4.9).
//!
//! The defaults are those of Linux, which differs from the RFC in three rules. `system = "rfc"`
//! selects the rules of the RFC.
//!
//! - Before the first loss there is no plateau to return to, and the window grows by at least a
//!   twentieth per round trip.
//! - The Reno-friendly estimate never grows by more than α. In the RFC, it grows like standard TCP
//!   once it is above the window of the last loss.
//! - Windows are whole segments, which grow one by one as in the pseudo-code of the paper (Ha, Rhee
//!   and Xu 2008).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hystart::{CSS_GROWTH_DIVISOR, HyStart, Pace, Watch};
use super::{AckSample, CongestionControl, CongestionSignal, Refusal, SlowStart, check_slow_start};
use crate::math;
use crate::time::{Duration, Instant};
use crate::units::Probability;

/// Parameters of CUBIC.
///
/// Use it as today's ordinary sender: it is the default of Linux, Windows and Apple's systems.
///
/// Source: RFC 9438, RFC 8511 and RFC 9406.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// C, in segments per second cubed. Raising it makes the window grow faster far from the last
    /// loss, and leaves less to other flows.
    pub c: f64,
    /// β: the share of the window that remains after a loss or mark. Raising it keeps queues
    /// fuller.
    pub beta: Probability,
    /// Whether a flow reduces its window further if it has a loss before it is back at its last
    /// window, so that new flows get their share sooner.
    pub fast_convergence: bool,
    /// Whether a mark leaves 0.85 of the window instead of β (RFC 8511, ABE). Marks come from short
    /// queues, which a larger reduction would empty.
    pub abe: bool,
    /// How the first slow start may end before a loss. With `off`, it fills the buffer once.
    pub hystart: HyStart,
    /// Least growth per round trip, as a share of the window, from the end of slow start to the
    /// first loss. Raising it finds the end of a deep buffer sooner. `"0 %"` is the rule of the
    /// RFC; a flow whose slow start ended early then stays far below the rate of its line for a
    /// long time.
    pub growth_before_loss: Probability,
    /// Whether the Reno-friendly window grows by a whole segment per round trip once it is above
    /// the window of the last loss (RFC 9438 §4.3), or still by α.
    pub reno_growth_above_prior: bool,
    /// Segments by which one acknowledgement may grow the window in slow start.
    pub slow_start_limit: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 9438 §5.
            c: 0.4,
            // RFC 9438 §4.6.
            beta: Probability(0.7),
            // RFC 9438 §4.7.
            fast_convergence: true,
            abe: false,
            hystart: HyStart::Original,
            // Linux: one segment for each twenty acknowledged.
            growth_before_loss: Probability(0.05),
            reno_growth_above_prior: false,
            // RFC 3465 §2.3: the largest value that it allows.
            slow_start_limit: 2,
        }
    }
}

impl Config {
    /// A C of zero puts the plateau at infinity; with a β of 1, the window is never reduced.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if !(self.c.is_finite() && self.c > 0.0) {
            return Err(("cubic.c", "a number above 0"));
        }
        if !(self.beta.0 > 0.0 && self.beta.0 < 1.0) {
            return Err(("cubic.beta", "a share above 0 and below 1"));
        }
        check_slow_start(self.slow_start_limit, "cubic.slow_start_limit")
    }
}

/// RFC 8511 §3.1: the value for CUBIC.
const ABE_BETA: f64 = 0.85;

/// A stage of congestion avoidance: from a loss, or from the end of slow start, to the next loss.
/// Units: segments and seconds.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    /// When the stage began. Times in which the window did not limit the sender are added (RFC 9438
    /// §5.8).
    start: Instant,
    /// When the latest acknowledgement arrived.
    last_ack: Instant,
    /// The window at the plateau.
    w_max: f64,
    /// Time from the start to the plateau.
    k: f64,
    /// The estimated window of standard TCP (§4.3).
    w_est: f64,
}

/// The congestion control, with its window.
#[derive(Debug)]
pub struct Cubic {
    config: Config,
    slow_start: SlowStart,
    /// Decides when the first slow start ends.
    hystart: Option<Box<Watch>>,
    mss: u64,
    /// In bytes; `fraction` holds growth by less than a byte.
    cwnd: u64,
    fraction: f64,
    /// For windows of whole segments: segments acknowledged since the window last grew.
    acked: f64,
    ssthresh: u64,
    epoch: Option<Epoch>,
    /// `W_max` of the last loss, and the window at that loss (`cwnd_prior`), in segments. `None`
    /// before the first loss and after a timeout.
    last_loss: Option<(f64, f64)>,
    /// Increase of the Reno-friendly window below the window of the last loss, in segments per
    /// round trip (§4.3).
    alpha: f64,
}

impl Cubic {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64) -> Self {
        let beta = config.beta.0;
        Self {
            slow_start: SlowStart::new(config.slow_start_limit),
            hystart: Watch::new(config.hystart).map(Box::new),
            // RFC 9438 §4.3: with this increase and a decrease by β, the average window equals that
            // of standard TCP.
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            config: config.clone(),
            mss,
            cwnd: initial_window,
            fraction: 0.0,
            acked: 0.0,
            ssthresh: u64::MAX,
            epoch: None,
            last_loss: None,
        }
    }

    fn segments(&self) -> f64 {
        (self.cwnd as f64 + self.fraction) / self.mss as f64
    }

    fn set_segments(&mut self, segments: f64) {
        let bytes = segments * self.mss as f64;
        self.cwnd = bytes as u64;
        self.fraction = bytes - self.cwnd as f64;
    }

    /// RFC 9438 §4.2. A stage that does not follow a loss has K = 0 and its plateau at the current
    /// window (§4.8, §4.10).
    fn begin_epoch(&self, now: Instant) -> Epoch {
        let cwnd = self.segments();
        let w_max = self.last_loss.map_or(cwnd, |(w_max, _)| w_max.max(cwnd));
        Epoch {
            start: now,
            last_ack: now,
            w_max,
            k: math::cbrt((w_max - cwnd) / self.config.c),
            w_est: cwnd,
        }
    }

    /// RFC 9438 §4.2 to §4.5.
    fn avoid_congestion(&mut self, ack: &AckSample) {
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(ack.now));
        epoch.last_ack = ack.now;
        let cwnd = self.segments();
        let acked = ack.newly_acked as f64 / self.mss as f64;
        let prior = self.last_loss.map_or(0.0, |(_, cwnd_prior)| cwnd_prior);
        // §4.3: once the estimate is above the window of the last loss, it grows like standard TCP.
        let is_back = epoch.w_est >= prior && self.config.reno_growth_above_prior;
        let alpha = if is_back { 1.0 } else { self.alpha };
        epoch.w_est += alpha * acked / cwnd;
        self.epoch = Some(epoch);
        // §4.4, §4.5: the target is the value of the curve one round trip from now.
        let elapsed = ack.now.since(epoch.start);
        let ahead = elapsed + ack.srtt.unwrap_or_default();
        if ack.whole_segments {
            let target = epoch.in_whole_segments(self.config.c, ahead);
            return self.grow_by_whole_segments(acked, target, epoch.w_est);
        }
        let target = epoch.curve(self.config.c, ahead);
        let next = if epoch.curve(self.config.c, elapsed) < epoch.w_est {
            epoch.w_est.max(cwnd)
        } else {
            // By at most half the window per round trip.
            cwnd + (target.clamp(cwnd, 1.5 * cwnd) - cwnd) * acked / cwnd
        };
        let least = match self.last_loss {
            None => cwnd + self.config.growth_before_loss.0 * acked,
            Some(_) => cwnd,
        };
        self.set_segments(next.max(least));
    }

    /// The paper's `cubic_update()`: the window grows by one segment for each `per` acknowledged
    /// segments, in integers.
    fn grow_by_whole_segments(&mut self, acked: f64, target: f64, w_est: f64) {
        let cwnd = (self.cwnd / self.mss) as f64;
        let mut per = 100.0 * cwnd;
        for goal in [target, w_est.floor()] {
            if goal > cwnd {
                per = per.min((cwnd / (goal - cwnd)).floor());
            }
        }
        if self.last_loss.is_none() && self.config.growth_before_loss.0 > 0.0 {
            per = per.min((1.0 / self.config.growth_before_loss.0).floor());
        }
        // RFC 9438 §4.4: by at most half the window per round trip.
        let per = per.max(2.0);
        if self.acked >= per {
            // Segments counted while growth was slower give at most one segment.
            self.acked = 0.0;
            self.cwnd += self.mss;
        }
        self.acked += acked;
        if self.acked >= per {
            let more = (self.acked / per).floor();
            self.acked -= more * per;
            self.cwnd += more as u64 * self.mss;
        }
    }

    /// RFC 9438 §4.10.
    fn grow_in_slow_start(&mut self, ack: &AckSample) {
        let grown = self.slow_start.grow(self.cwnd, self.ssthresh, ack);
        let pace = match &mut self.hystart {
            None => Pace::Full,
            Some(watch) => watch.on_ack(ack, self.cwnd),
        };
        match pace {
            Pace::Full => self.cwnd = grown,
            Pace::Conservative => self.cwnd += (grown - self.cwnd) / CSS_GROWTH_DIVISOR,
            Pace::Stop => {
                self.ssthresh = self.cwnd;
                self.hystart = None;
            }
        }
    }

    /// RFC 9438 §4.6, §4.7: stores the window at which the loss occurred.
    fn remember_loss(&mut self, whole_segments: bool) {
        let cwnd = self.segments();
        let last_w_max = self.last_loss.map_or(0.0, |(w_max, _)| w_max);
        let mut w_max = if self.config.fast_convergence && cwnd < last_w_max {
            cwnd * f64::midpoint(1.0, self.config.beta.0)
        } else {
            cwnd
        };
        if whole_segments {
            w_max = w_max.floor();
        }
        self.last_loss = Some((w_max, cwnd));
    }
}

impl Epoch {
    /// `W_cubic` after `elapsed`, in segments (RFC 9438 §4.2, figure 1).
    fn curve(&self, c: f64, elapsed: Duration) -> f64 {
        self.above_plateau(c, elapsed) + self.w_max
    }

    /// The same in whole segments: the distance from the plateau is rounded towards zero, so that a
    /// curve less than a segment below the plateau counts as at it. Measured on Linux 6.12 (the
    /// test below); neither the paper nor the RFC rounds.
    fn in_whole_segments(&self, c: f64, elapsed: Duration) -> f64 {
        (self.above_plateau(c, elapsed).trunc() + self.w_max).floor()
    }

    /// How far the curve is above its plateau.
    fn above_plateau(&self, c: f64, elapsed: Duration) -> f64 {
        let distance = elapsed.as_secs_f64() - self.k;
        c * distance * distance * distance
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckSample) {
        if ack.in_recovery {
            return;
        }
        if !ack.cwnd_limited {
            // RFC 9438 §5.8: time in which the window did not limit the sender does not count.
            if let Some(epoch) = &mut self.epoch {
                epoch.start += ack.now.since(epoch.last_ack);
                epoch.last_ack = ack.now;
            }
            return;
        }
        if self.cwnd < self.ssthresh {
            self.grow_in_slow_start(ack);
        } else {
            self.avoid_congestion(ack);
        }
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        self.remember_loss(ack.whole_segments);
        self.hystart = None;
        // §4.6. The data in flight is used, not cwnd: an unused window is no evidence of capacity.
        let beta = match signal {
            CongestionSignal::Ecn if self.config.abe => ABE_BETA.max(self.config.beta.0),
            _ => self.config.beta.0,
        };
        self.ssthresh = ack.threshold(beta);
        self.epoch = None;
        (self.fraction, self.acked) = (0.0, 0.0);
        match signal {
            CongestionSignal::Ecn | CongestionSignal::Loss { .. } => self.cwnd = self.ssthresh,
            CongestionSignal::Timeout => {
                // §4.8: as in standard TCP, with CUBIC's ssthresh. The next stage has its plateau
                // at its own first window.
                self.cwnd = self.mss;
                self.last_loss = None;
                self.slow_start.after_timeout();
            }
        }
    }

    fn on_idle(&mut self, restart_window: u64) {
        // RFC 5681 §4.1. A new stage begins when congestion avoidance is reached again.
        if restart_window < self.cwnd {
            self.cwnd = restart_window;
            self.fraction = 0.0;
            self.epoch = None;
        }
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

    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }

    fn ack(now: Instant, newly_acked: u64, rtt: Duration) -> AckSample {
        AckSample {
            now,
            newly_acked,
            srtt: Some(rtt),
            cwnd_limited: true,
            mss: MSS,
            ..AckSample::default()
        }
    }

    fn loss(in_flight: u64) -> AckSample {
        AckSample {
            flight_size: in_flight,
            mss: MSS,
            ..AckSample::default()
        }
    }

    fn rfc() -> Config {
        Config {
            hystart: HyStart::Off,
            growth_before_loss: Probability(0.0),
            reno_growth_above_prior: true,
            ..Config::default()
        }
    }

    /// A control with a window of `segments` that has just had a loss.
    fn after_loss_at(segments: u64) -> Cubic {
        after_loss_of(&rfc(), segments)
    }

    fn after_loss_of(config: &Config, segments: u64) -> Cubic {
        let mut cubic = Cubic::new(config, MSS, segments * MSS);
        cubic.on_congestion(CongestionSignal::Loss { lost: MSS }, &loss(segments * MSS));
        cubic
    }

    #[test]
    fn the_curve_has_its_plateau_where_the_loss_was() {
        // K, and W(t) at t = 0, 1, 2, 4, 6, 8 and 10 s, computed from the RFC's formula.
        let vectors: [(u64, f64, [f64; 7]); 2] = [
            (
                100,
                4.2172,
                [70.0, 86.681, 95.640, 99.996, 102.267, 121.653, 177.354],
            ),
            (
                1000,
                9.0856,
                [700.0, 788.555, 857.705, 947.388, 988.249, 999.488, 1000.306],
            ),
        ];
        for (w_max, k, curve) in vectors {
            let cubic = after_loss_at(w_max);
            let epoch = cubic.begin_epoch(Instant::ZERO);
            assert!((epoch.k - k).abs() < 1e-4, "K = {}", epoch.k);
            for (t, expected) in [0, 1, 2, 4, 6, 8, 10].into_iter().zip(curve) {
                let w = epoch.curve(0.4, Duration::from_secs(t));
                assert!((w - expected).abs() < 1e-3, "W({t}) = {w}, not {expected}");
            }
        }
        let epoch = after_loss_at(2304).begin_epoch(Instant::ZERO);
        assert!((epoch.k - 12.0).abs() < 1e-9);
        for (t, expected) in [(0, 1612.8), (10, 2300.8), (15, 2314.8)] {
            assert!((epoch.curve(0.4, Duration::from_secs(t)) - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn a_loss_keeps_seventy_percent_of_what_was_in_flight() {
        let cubic = after_loss_at(100);
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (70_000, Some(70_000)));
        let mut idle = Cubic::new(&rfc(), MSS, 100 * MSS);
        idle.on_congestion(CongestionSignal::Ecn, &loss(10 * MSS));
        assert_eq!(idle.cwnd(), 7_000);
        idle.on_congestion(CongestionSignal::Ecn, &loss(MSS));
        assert_eq!(idle.cwnd(), 2_000, "never below two segments");
    }

    #[test]
    fn with_abe_a_mark_leaves_more_than_a_loss() {
        let config = Config { abe: true, ..rfc() };
        for (signal, expected) in [
            (CongestionSignal::Ecn, 85_000),
            (CongestionSignal::Loss { lost: MSS }, 70_000),
        ] {
            let mut cubic = Cubic::new(&config, MSS, 100 * MSS);
            cubic.on_congestion(signal, &loss(100 * MSS));
            assert_eq!(cubic.cwnd(), expected);
        }
    }

    #[test]
    fn the_window_follows_the_curve_where_round_trips_are_long() {
        // 100 ms and a window of 1000: the Reno-friendly estimate grows by half a segment per round
        // trip, far below the curve.
        let mut cubic = after_loss_at(1000);
        let rtt = Duration::from_millis(100);
        let epoch = cubic.begin_epoch(at(0.0));
        for round in 0..100_u32 {
            // Each acknowledgement covers two segments; they are spread over the round trip.
            let acks = cubic.cwnd() / (2 * MSS);
            for n in 0..acks {
                let share = n as f64 / acks as f64;
                let now = at(0.1 * (f64::from(round) + share));
                cubic.on_ack(&ack(now, 2 * MSS, rtt));
            }
            let window = cubic.cwnd() as f64 / MSS as f64;
            let curve = epoch.curve(0.4, Duration::from_millis(u64::from(round + 1) * 100));
            assert!((window - curve).abs() < 0.02 * curve, "{window} {curve}");
        }
    }

    #[test]
    fn the_window_follows_standard_tcp_where_round_trips_are_short() {
        // 1 ms and a window of 20: the curve hardly changes in 100 round trips, while standard TCP
        // gains α = 0.53 segments per round trip.
        let mut cubic = after_loss_at(20);
        let rtt = Duration::from_millis(1);
        for round in 0..10_u32 {
            let now = at(f64::from(round) * 0.001);
            for _ in 0..cubic.cwnd() / MSS {
                cubic.on_ack(&ack(now, MSS, rtt));
            }
        }
        let gained = cubic.cwnd() as f64 / MSS as f64 - 14.0;
        assert!((4.5..5.3).contains(&gained), "{gained}");
    }

    /// Round trips of 20 ms, with an acknowledgement for each segment. Returns the windows after
    /// each round trip, in segments.
    fn rounds(cubic: &mut Cubic, count: u32) -> Vec<f64> {
        let rtt = Duration::from_millis(20);
        (0..count)
            .map(|round| {
                for _ in 0..cubic.cwnd() / MSS {
                    cubic.on_ack(&ack(at(f64::from(round) * 0.02), MSS, rtt));
                }
                cubic.segments()
            })
            .collect()
    }

    #[test]
    fn above_the_window_of_the_last_loss_linux_keeps_alpha_and_the_rfc_does_not() {
        // A window of 14 after a loss at 20: with α = 9/17, it takes 12 round trips to return to
        // 20.
        for (config, expected) in [(rfc(), 1.0), (Config::default(), 9.0 / 17.0)] {
            let windows = rounds(&mut after_loss_of(&config, 20), 24);
            let early = windows[8] - windows[4];
            assert!((early / 4.0 - 9.0 / 17.0).abs() < 0.03, "{windows:?}");
            let late = windows[20] - windows[16];
            assert!((late / 4.0 - expected).abs() < 0.06, "{windows:?}");
        }
    }

    /// The pseudo-code of the paper of 2008: the window grows by one segment for each cwnd / (goal
    /// − cwnd) acknowledged segments, or for 100 cwnd if no goal is above the window.
    #[test]
    fn whole_segments_grow_one_by_one_towards_the_larger_goal() {
        let mut cubic = Cubic::new(&Config::default(), MSS, 10 * MSS);
        cubic.last_loss = Some((10.0, 10.0));
        // The number of segments acknowledged before the window grows.
        let mut until_growth = |target, w_est| {
            let before = cubic.cwnd;
            (cubic.cwnd, cubic.acked) = (10 * MSS, 0.0);
            let acked = (1..=2000).find(|_| {
                cubic.grow_by_whole_segments(1.0, target, w_est);
                cubic.cwnd > 10 * MSS
            });
            assert_eq!((cubic.cwnd % MSS, before % MSS), (0, 0));
            acked
        };
        assert_eq!(until_growth(14.0, 10.2), Some(2), "10/4 and whole");
        assert_eq!(until_growth(13.0, 10.9), Some(3));
        assert_eq!(
            until_growth(10.0, 11.9),
            Some(10),
            "standard TCP's window is larger"
        );
        assert_eq!(
            until_growth(90.0, 0.0),
            Some(2),
            "half the window a round trip at most"
        );
        assert_eq!(until_growth(9.0, 9.0), Some(1000));
    }

    /// Linux 6.12 at 10 Mbit/s, 20 ms and a queue of 50 packets: after a loss at 66, with a window
    /// of 46, it is back at 66 after 2.23 to 2.45 s, when the curve is at 65.2; K is 3.7 s.
    #[test]
    fn whole_segments_are_back_at_the_plateau_before_the_curve_is() {
        let mut cubic = Cubic::new(&Config::default(), MSS, 66 * MSS);
        let lost = AckSample {
            whole_segments: true,
            ..loss(66 * MSS)
        };
        cubic.on_congestion(CongestionSignal::Loss { lost: MSS }, &lost);
        assert_eq!(cubic.cwnd(), 46 * MSS);
        let rtt = Duration::from_millis(75);
        let back = (0..60).find(|round| {
            for _ in 0..cubic.cwnd() / MSS {
                cubic.on_ack(&AckSample {
                    whole_segments: true,
                    ..ack(at(0.075 * f64::from(*round)), MSS, rtt)
                });
            }
            cubic.cwnd() >= 66 * MSS
        });
        let seconds = back.map(|round| 0.075 * f64::from(round));
        assert!(
            seconds.is_some_and(|s| (2.2..2.5).contains(&s)),
            "{seconds:?}"
        );
    }

    #[test]
    fn segments_acknowledged_without_a_goal_give_at_most_one_segment() {
        let mut cubic = Cubic::new(&Config::default(), MSS, 10 * MSS);
        cubic.last_loss = Some((10.0, 10.0));
        for _ in 0..500 {
            cubic.grow_by_whole_segments(1.0, 9.0, 9.0);
        }
        assert_eq!(cubic.cwnd, 10 * MSS);
        cubic.grow_by_whole_segments(1.0, 12.0, 9.0);
        assert_eq!(cubic.cwnd, 11 * MSS);
    }

    #[test]
    fn before_the_first_loss_linux_grows_by_a_twentieth_each_round_trip() {
        let after_slow_start = |config: &Config| {
            let mut cubic = Cubic::new(config, MSS, 100 * MSS);
            cubic.ssthresh = 100 * MSS;
            rounds(&mut cubic, 10)
        };
        let linux = after_slow_start(&Config::default());
        // 1.05 compounded with each acknowledgement, in whole segments.
        assert!((linux[0] - 105.0).abs() < 0.1, "{linux:?}");
        assert!(
            (linux[9] / 100.0 - 1.05_f64.powi(10)).abs() < 0.02,
            "{linux:?}"
        );
        // After 0.2 s, the curve has hardly left its plateau, so the Reno-friendly window is the
        // larger one.
        let rfc = after_slow_start(&rfc());
        assert!((rfc[9] - 110.0).abs() < 0.5, "{rfc:?}");
        // After a loss there is a plateau, and the minimum growth does not apply.
        let lost = rounds(&mut after_loss_of(&Config::default(), 100), 10);
        assert!(lost[9] < 76.0, "{lost:?}");
    }

    #[test]
    fn a_flow_with_a_loss_below_its_plateau_reduces_its_window_further() {
        let mut cubic = after_loss_at(100);
        cubic.on_congestion(CongestionSignal::Loss { lost: MSS }, &loss(70 * MSS));
        let (w_max, prior) = cubic.last_loss.expect("a loss is remembered");
        assert!((w_max - 70.0 * 0.85).abs() < 1e-9);
        assert!((prior - 70.0).abs() < 1e-9);
        let plain = Config {
            fast_convergence: false,
            ..rfc()
        };
        let mut cubic = Cubic::new(&plain, MSS, 100 * MSS);
        cubic.on_congestion(CongestionSignal::Ecn, &loss(100 * MSS));
        cubic.on_congestion(CongestionSignal::Ecn, &loss(70 * MSS));
        let (w_max, _) = cubic.last_loss.expect("a loss is remembered");
        assert!((w_max - 70.0).abs() < 1e-9);
    }

    #[test]
    fn hystart_ends_the_first_slow_start_at_the_window_it_has() {
        let config = Config {
            hystart: HyStart::Original,
            ..rfc()
        };
        let mut cubic = Cubic::new(&config, MSS, 20 * MSS);
        for (round, rtt) in [(1, 100), (2, 100), (3, 130)] {
            for n in 0..10 {
                let now = at(f64::from(round) + 0.01 * f64::from(n));
                let ms = Duration::from_millis(rtt);
                cubic.on_ack(&AckSample {
                    rtt: Some(ms),
                    min_rtt: Some(Duration::from_millis(100)),
                    round: round as u64,
                    ..ack(now, MSS, ms)
                });
            }
        }
        // Seven acknowledgements of the third round trip grew the window. From there, it follows
        // the curve of its own plateau.
        assert_eq!(cubic.ssthresh(), Some(47 * MSS));
        assert_eq!(cubic.epoch.map(|epoch| epoch.w_max as u64), Some(47));
    }

    #[test]
    fn after_a_timeout_the_next_stage_starts_on_its_own_plateau() {
        let mut cubic = Cubic::new(&rfc(), MSS, 100 * MSS);
        cubic.on_congestion(CongestionSignal::Timeout, &loss(100 * MSS));
        assert_eq!((cubic.cwnd(), cubic.ssthresh()), (1000, Some(70_000)));
        // Slow start up to ssthresh, by one segment per acknowledgement.
        for _ in 0..69 {
            cubic.on_ack(&ack(at(1.0), 2 * MSS, Duration::from_millis(50)));
        }
        assert_eq!(cubic.cwnd(), 70_000);
        cubic.on_ack(&ack(at(2.0), MSS, Duration::from_millis(50)));
        let epoch = cubic.epoch.expect("congestion avoidance has begun");
        assert!((epoch.w_max - 70.0).abs() < 1e-9 && epoch.k.abs() < 1e-9);
    }

    #[test]
    fn time_in_which_the_window_did_not_limit_the_sender_does_not_count() {
        let mut cubic = after_loss_at(1000);
        let rtt = Duration::from_millis(100);
        cubic.on_ack(&ack(at(0.0), MSS, rtt));
        let limited = AckSample {
            cwnd_limited: false,
            ..ack(at(50.0), MSS, rtt)
        };
        cubic.on_ack(&limited);
        let before = cubic.cwnd();
        cubic.on_ack(&ack(at(50.1), MSS, rtt));
        let grown = cubic.cwnd() - before;
        // 0.2 s into the stage, the curve rises by 18 segments per round trip; one acknowledgement
        // in 700 gets its share of that.
        assert!(grown < 60, "{grown} bytes");
    }

    #[test]
    fn during_recovery_the_window_does_not_change() {
        let mut cubic = after_loss_at(100);
        cubic.on_ack(&AckSample {
            in_recovery: true,
            ..ack(at(1.0), MSS, Duration::from_millis(10))
        });
        assert_eq!(cubic.cwnd(), 70_000);
    }
}
