//! BBR version 1: sends at the measured bandwidth, with at most twice the bandwidth-delay product
//! in flight (draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! The model has two estimates: `BtlBw`, the largest delivery rate of ten round trips, and
//! `RTprop`, the smallest round-trip time of ten seconds.
//!
//! 1. Startup doubles the rate each round trip, until the rate grows by less than a quarter in
//!    three round trips.
//! 2. Drain removes the queue that Startup has built.
//! 3. The rate then varies around `BtlBw` in eight phases of one `RTprop` each: the first with a
//!    gain of 1.25, to find more bandwidth, the second with 0.75, to drain the queue.
//! 4. If `RTprop` was not measured again for ten seconds, four segments in flight for 200 ms
//!    measure it.
//!
//! Losses and marks do not change the model.
//!
//! Deviations, all as in Linux:
//!
//! - Packets are sent 1 % slower than the draft says. Packets sent back to back make the largest
//!   delivery rate slightly too large, and nothing else would drain the queue that results.
//! - With `ack_aggregation`, which the draft does not have, the window has room for the
//!   [excess](super::ack_aggregation) of acknowledgements that arrive in bunches. This holds after
//!   Startup, and up to what the bandwidth carries in 100 ms.
//! - A delivery rate is valid until it is more than ten round trips old, as in the windowed filter
//!   of K. Nichols: in the round trip in which it was measured and in ten more. The draft leaves
//!   open whether it is valid in the tenth. A cycle of eight phases and a probe for the round-trip
//!   time take about eleven round trips, so this one decides whether the rate that the first phase
//!   finds is still known at the next.
//! - With `quantization`, the window is rounded up to pairs of segments, and is a pair larger in
//!   the first phase (draft-ietf-ccwg-bbr has the pair, §5.5.8.2).
//!
//! Left out: the policer detection that Linux added.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ack_aggregation::AckAggregation;
use super::windowed_max::WindowedMax;
use super::{AckSample, CongestionControl, CongestionSignal, Refusal};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Parameters of BBR version 1.
///
/// Use it as the sender of large video and web sites since 2016. It keeps a standing queue of up to
/// one bandwidth-delay product, and displaces other flows in short buffers.
///
/// Source: draft-cardwell-iccrg-bbr-congestion-control-00; N. Cardwell et al., BBR:
/// Congestion-Based Congestion Control, ACM Queue 14(5), 2016.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Gain of pacing rate and window in Startup. Raising it fills the path sooner and overshoots
    /// more; below 2/ln 2, the rate does not double.
    pub startup_gain: f64,
    /// Largest amount in flight, in bandwidth-delay products. Raising it tolerates delayed
    /// acknowledgements, and fills queues that several flows share.
    pub cwnd_gain: f64,
    /// How long the smallest round-trip time stays valid; after this time, the next probe for it
    /// begins.
    pub min_rtt_window: Duration,
    /// Least duration of a probe for the smallest round-trip time.
    pub probe_rtt_duration: Duration,
    /// Whether the window has room for acknowledgements that arrive in bunches, as on cable lines
    /// and in Wi-Fi cells. Without it, the line becomes idle between two bunches; with it, the
    /// queue is longer.
    pub ack_aggregation: bool,
    /// Whether the window is rounded up to pairs of segments, and is a pair larger in the phase
    /// that probes for more bandwidth. Without it, part of a small window is unusable, because
    /// acknowledgements cover two segments.
    pub quantization: bool,
}

impl Default for Config {
    fn default() -> Self {
        // The draft's §4.
        Self {
            // 2 / ln 2.
            startup_gain: 2.885_39,
            cwnd_gain: 2.0,
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_duration: Duration::from_millis(200),
            // Linux, since 5.1.
            ack_aggregation: true,
            quantization: true,
        }
    }
}

impl Config {
    /// With other gains, the rate could never grow, or would exceed every path. Probes could last
    /// forever.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if !(self.startup_gain > 1.25 && self.startup_gain <= 100.0) {
            return Err(("bbr.startup_gain", "a number above 1.25, and at most 100"));
        }
        if !(1.0..=100.0).contains(&self.cwnd_gain) {
            return Err(("bbr.cwnd_gain", "a number from 1 to 100"));
        }
        if self.min_rtt_window <= self.probe_rtt_duration {
            return Err(("bbr.min_rtt_window", "more than probe_rtt_duration"));
        }
        Ok(())
    }
}

/// Age in round trips up to which a delivery rate is valid (`BtlBwFilterLen`). The round trip in
/// which it was measured is in addition to these.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Round trips for which an excess of acknowledgements is valid (`ExtraAckedFilterLen` of
/// draft-ietf-ccwg-bbr).
const AGGREGATION_ROUNDS: u64 = 10;
/// Pacing rate as a share of the model's rate.
const PACING_MARGIN: f64 = 0.99;
/// The pacing gains of the eight phases (`BBRGainCycleLen`).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Limit of the room for bunches, as a time at the measured bandwidth (Linux, since 5.1).
const MOST_AGGREGATION: f64 = 0.1;
/// Smallest window, in segments (`BBRMinPipeCwnd`).
const MIN_PIPE: u64 = 4;

/// The states of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Drain,
    /// The phase of the cycle, and when it began.
    ProbeBandwidth {
        phase: usize,
        since: Instant,
    },
    /// When the probe may end, which is set once few enough bytes are in flight; and whether a
    /// round trip has passed since then.
    ProbeRtt {
        until: Option<Instant>,
        round_done: bool,
    },
    Startup,
}

/// The state of BBR version 1.
#[expect(clippy::struct_excessive_bools, reason = "the draft's own state")]
#[derive(Debug)]
pub struct Bbr {
    config: Config,
    rng: Rng,
    state: State,
    mss: u64,
    initial_window: u64,
    cwnd: u64,
    /// The window before a recovery or a probe for the round-trip time (`prior_cwnd`).
    saved_cwnd: u64,
    /// Whether a recovery is in progress; and the end of its first round trip, during which
    /// `packet_conservation` holds.
    recovering: bool,
    conserving_until: Option<u64>,
    /// In bytes per second.
    bandwidth: WindowedMax<{ BANDWIDTH_ROUNDS as usize + 1 }>,
    aggregation: Option<AckAggregation>,
    pacing_rate: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    round: u64,
    round_ends_at: u64,
    round_start: bool,
    /// Until this many bytes are delivered, delivery rates were limited by the sender itself
    /// (`MarkConnectionAppLimited`).
    limited_until: u64,
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
    /// Sending has started again after a pause, so no probe for the round-trip time is needed.
    idle_restart: bool,
}

impl Bbr {
    /// The control at the start of a connection.
    pub fn new(config: &Config, mss: u64, initial_window: u64, rng: Rng) -> Self {
        let mut bbr = Self {
            rng,
            state: State::Startup,
            mss,
            initial_window,
            cwnd: initial_window,
            saved_cwnd: 0,
            recovering: false,
            conserving_until: None,
            bandwidth: WindowedMax::new(),
            aggregation: config.ack_aggregation.then(AckAggregation::new),
            pacing_rate: 0.0,
            pacing_gain: config.startup_gain,
            cwnd_gain: config.startup_gain,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            round: 0,
            round_ends_at: 0,
            round_start: false,
            limited_until: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
            idle_restart: false,
            config: config.clone(),
        };
        bbr.start_pacing(Duration::from_millis(1));
        bbr
    }

    /// §4.2.1: `BBRInitPacingRate()`.
    fn start_pacing(&mut self, rtt: Duration) {
        let nominal = self.initial_window as f64 / rtt.as_secs_f64().max(1e-9);
        self.pacing_rate = self.pacing_gain * nominal;
    }

    /// §4.1.1.3: `BBRUpdateRound()`.
    fn update_round(&mut self, ack: &AckSample) {
        self.round_start = ack.newly_acked > 0 && ack.prior_delivered >= self.round_ends_at;
        if self.round_start {
            self.round_ends_at = ack.delivered;
            self.round += 1;
        }
    }

    /// §4.1.1.2: `BBRUpdateBtlBw()`.
    fn update_bandwidth(&mut self, ack: &AckSample) {
        let Some(rate) = ack.delivery_sample else {
            return;
        };
        let rate = rate.bytes_per_sec();
        if rate >= self.bandwidth.get() || !self.is_limited(ack) {
            (self.bandwidth).update(rate, self.round, BANDWIDTH_ROUNDS + 1);
        }
    }

    fn update_aggregation(&mut self, ack: &AckSample) {
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.update(
                ack,
                self.bandwidth.get(),
                self.round,
                AGGREGATION_ROUNDS,
                self.cwnd,
            );
        }
    }

    /// Room in the window for acknowledgements that arrive in bunches.
    fn aggregated(&self) -> u64 {
        let Some(aggregation) = self.aggregation.as_ref().filter(|_| self.is_full) else {
            return 0;
        };
        aggregation
            .get()
            .min((self.bandwidth.get() * MOST_AGGREGATION) as u64)
    }

    /// The window, rounded up to leave room for acknowledgements of two segments and for the probe
    /// for bandwidth.
    fn budget(&self, window: u64) -> u64 {
        if !self.config.quantization {
            return window;
        }
        let probes = matches!(self.state, State::ProbeBandwidth { phase: 0, .. });
        let pairs = window.div_ceil(2 * self.mss) + u64::from(probes);
        2 * pairs * self.mss
    }

    fn is_limited(&self, ack: &AckSample) -> bool {
        ack.app_limited || ack.prior_delivered < self.limited_until
    }

    /// §4.3.2.2: `BBRCheckFullPipe()`.
    fn check_full_pipe(&mut self, ack: &AckSample) {
        if self.is_full || !self.round_start || self.is_limited(ack) {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * 1.25 {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_full = self.full_rounds >= 3;
    }

    /// §4.3.3, §4.3.4: the transitions from Startup to Drain and to `ProbeBW`.
    fn check_drain(&mut self, ack: &AckSample) {
        if self.state == State::Startup && self.is_full {
            self.state = State::Drain;
            self.pacing_gain = 1.0 / self.config.startup_gain;
            self.cwnd_gain = self.config.startup_gain;
        }
        if self.state == State::Drain && ack.in_flight <= self.inflight(1.0) {
            self.probe_bandwidth(ack.now);
        }
    }

    /// §4.3.4.3: `BBREnterProbeBW()`: starts with a random phase, except the one that drains.
    fn probe_bandwidth(&mut self, now: Instant) {
        self.cwnd_gain = self.config.cwnd_gain;
        let before = CYCLE.len() - 1 - self.rng.below(CYCLE.len() as u64 - 1) as usize;
        self.begin_phase((before + 1) % CYCLE.len(), now);
    }

    fn begin_phase(&mut self, phase: usize, since: Instant) {
        self.state = State::ProbeBandwidth { phase, since };
        self.pacing_gain = CYCLE[phase];
    }

    /// §4.3.4.3: `BBRCheckCyclePhase()`.
    fn check_phase(&mut self, ack: &AckSample) {
        let State::ProbeBandwidth { phase, since } = self.state else {
            return;
        };
        let is_over = self.min_rtt.is_none_or(|rtt| ack.now.since(since) > rtt);
        let next = match self.pacing_gain {
            gain if gain > 1.0 => {
                is_over && (ack.newly_lost > 0 || ack.prior_in_flight >= self.inflight(gain))
            }
            gain if gain < 1.0 => is_over || ack.prior_in_flight <= self.inflight(1.0),
            _ => is_over,
        };
        if next {
            self.begin_phase((phase + 1) % CYCLE.len(), ack.now);
        }
    }

    /// §4.1.2.3, §4.3.5: `BBRUpdateRTprop()` and `BBRCheckProbeRTT()`.
    fn update_min_rtt(&mut self, ack: &AckSample) {
        let window = self.config.min_rtt_window;
        let expired = ack.now.since(self.min_rtt_at) > window;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt <= min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && !self.idle_restart && !matches!(self.state, State::ProbeRtt { .. }) {
            self.state = State::ProbeRtt {
                until: None,
                round_done: false,
            };
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            self.save_cwnd();
        }
        if matches!(self.state, State::ProbeRtt { .. }) {
            self.handle_probe_rtt(ack);
        }
        if ack.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    /// §4.3.5: `BBRHandleProbeRTT()`.
    fn handle_probe_rtt(&mut self, ack: &AckSample) {
        self.limited_until = ack.delivered + ack.in_flight;
        let State::ProbeRtt { until, round_done } = &mut self.state else {
            return;
        };
        let Some(end) = *until else {
            if ack.in_flight <= MIN_PIPE * self.mss {
                *until = Some(ack.now + self.config.probe_rtt_duration);
                self.round_ends_at = ack.delivered;
            }
            return;
        };
        *round_done |= self.round_start;
        if *round_done && ack.now > end {
            self.min_rtt_at = ack.now;
            self.cwnd = self.cwnd.max(self.saved_cwnd);
            if self.is_full {
                self.probe_bandwidth(ack.now);
            } else {
                self.state = State::Startup;
                (self.pacing_gain, self.cwnd_gain) =
                    (self.config.startup_gain, self.config.startup_gain);
            }
        }
    }

    /// §4.2.3.4: `BBRSaveCwnd()`.
    fn save_cwnd(&mut self) {
        self.saved_cwnd = if self.recovering || matches!(self.state, State::ProbeRtt { .. }) {
            self.saved_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// §4.2.3.2: `BBRInflight()`.
    fn inflight(&self, gain: f64) -> u64 {
        let Some(rtt) = self.min_rtt else {
            return self.initial_window;
        };
        let product = gain * self.bandwidth.get() * rtt.as_secs_f64();
        product as u64 + 3 * self.send_quantum()
    }

    /// §4.2.1: `BBRSetPacingRate()`, with the margin.
    fn set_pacing_rate(&mut self) {
        let rate = self.pacing_gain * self.bandwidth.get() * PACING_MARGIN;
        if rate > 0.0 && (self.is_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// §4.2.3.6: `BBRSetCwnd()`, with the recovery of §4.2.3.4.
    fn set_cwnd(&mut self, ack: &AckSample) {
        let target = self.budget(self.inflight(self.cwnd_gain) + self.aggregated());
        let floor = MIN_PIPE * self.mss;
        if self.recovering && ack.newly_lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(ack.newly_lost).max(self.mss);
        }
        if self
            .conserving_until
            .is_some_and(|end| ack.prior_delivered >= end)
        {
            self.conserving_until = None;
        }
        if self.conserving_until.is_some() {
            self.cwnd = self.cwnd.max(ack.in_flight + ack.newly_acked);
        } else {
            let grown = self.cwnd + ack.newly_acked;
            if self.is_full {
                self.cwnd = grown.min(target);
            } else if self.cwnd < target || ack.delivered < self.initial_window {
                self.cwnd = grown;
            }
            self.cwnd = self.cwnd.max(floor);
        }
        if matches!(self.state, State::ProbeRtt { .. }) {
            self.cwnd = self.cwnd.min(floor);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_handshake(&mut self, rtt: Duration) {
        self.start_pacing(rtt);
    }

    fn on_sent(&mut self, now: Instant, bytes: u64, in_flight: u64) {
        // §4.3.6: nothing was in flight before.
        if in_flight <= bytes && self.round > 0 {
            self.idle_restart = true;
            if let Some(aggregation) = &mut self.aggregation {
                aggregation.resume(now);
            }
            if let State::ProbeBandwidth { .. } = self.state {
                self.pacing_rate = self.bandwidth.get();
            }
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        self.update_round(ack);
        self.update_bandwidth(ack);
        self.update_aggregation(ack);
        self.check_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.set_pacing_rate();
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        match signal {
            CongestionSignal::Ecn => {}
            CongestionSignal::Loss { .. } => {
                // §4.2.3.4, on entering fast recovery.
                self.save_cwnd();
                self.recovering = true;
                self.cwnd = ack
                    .prior_in_flight
                    .saturating_sub(ack.newly_lost + ack.newly_acked)
                    + ack.newly_acked.max(self.mss);
                self.conserving_until = Some(ack.delivered);
            }
            CongestionSignal::Timeout => {
                self.save_cwnd();
                self.recovering = false;
                self.conserving_until = None;
                self.cwnd = self.mss;
            }
        }
    }

    fn on_recovered(&mut self, _ack: &AckSample) {
        self.recovering = false;
        self.conserving_until = None;
        self.cwnd = self.cwnd.max(self.saved_cwnd);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn phase(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Drain => "drain",
            State::ProbeBandwidth { .. } => "probe_bw",
            State::ProbeRtt { .. } => "probe_rtt",
            State::Startup => "startup",
        })
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate((self.pacing_rate * 8.0) as u64))
    }

    /// §4.2.2.
    fn send_quantum(&self) -> u64 {
        if self.pacing_rate < 1.2e6 / 8.0 {
            self.mss
        } else if self.pacing_rate < 24e6 / 8.0 {
            2 * self.mss
        } else {
            ((self.pacing_rate * 1e-3) as u64).min(64_000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::DeliverySample;
    use crate::congestion::testing::Path;

    const MSS: u64 = 1000;

    fn bbr() -> Bbr {
        let rng = Rng::for_path(1, "bbr");
        Bbr::new(&Config::default(), MSS, 10 * MSS, rng)
    }

    #[test]
    fn startup_doubles_until_the_path_is_full_and_drain_leaves_what_fits() {
        // 1 MB/s and 100 ms, which are 100 segments.
        let mut path = Path::new(1e6, 0.1, MSS);
        let mut bbr = bbr();
        path.run(&mut bbr, 0.35);
        assert_eq!(bbr.state, State::Startup);
        path.run(&mut bbr, 2.0);
        assert!(bbr.is_full);
        assert!(matches!(bbr.state, State::ProbeBandwidth { .. }));
        assert!(
            (bbr.bandwidth.get() / 1e6 - 1.0).abs() < 0.02,
            "{}",
            bbr.bandwidth.get()
        );
        let min_rtt = bbr.min_rtt.expect("measured").as_secs_f64();
        assert!((0.1..0.103).contains(&min_rtt), "{min_rtt}");
        // At most a quarter of the product above it, in the phase that probes; never two products.
        assert!(path.in_flight() < 140 * MSS, "{}", path.in_flight());
    }

    #[test]
    fn a_delivery_rate_is_valid_until_it_is_more_than_ten_round_trips_old() {
        let mut bbr = bbr();
        let mut measure = |round, bytes| {
            bbr.round = round;
            bbr.update_bandwidth(&AckSample {
                delivery_sample: Some(DeliverySample {
                    bytes,
                    interval: Duration::from_secs(1),
                }),
                ..AckSample::default()
            });
            bbr.bandwidth.get()
        };
        measure(3, 2000);
        let later: Vec<f64> = (4..=14).map(|round| measure(round, 1000)).collect();
        let expected = [[2000.0; 10].as_slice(), &[1000.0]].concat();
        assert_eq!(
            later, expected,
            "ten round trips after the third, and one more"
        );
    }

    #[test]
    fn the_rate_circles_around_the_bandwidth() {
        let mut path = Path::new(1e6, 0.1, MSS);
        let mut bbr = bbr();
        path.run(&mut bbr, 3.0);
        let mut gains = Vec::new();
        for _ in 0..400 {
            path.run(&mut bbr, 0.01);
            if gains.last() != Some(&bbr.pacing_gain) {
                gains.push(bbr.pacing_gain);
            }
        }
        assert!(
            gains.windows(2).any(|pair| pair == [1.25, 0.75]),
            "{gains:?}"
        );
        assert!(
            gains.windows(2).any(|pair| pair == [0.75, 1.0]),
            "{gains:?}"
        );
    }

    /// The path's delay grows by a millisecond each second. With a constant delay, pacing below the
    /// path's rate would measure the smallest round-trip time again and again.
    #[test]
    fn a_round_trip_not_seen_again_is_probed_with_four_segments_after_ten_seconds() {
        let mut path = Path::new(1e6, 0.1, MSS);
        let mut bbr = bbr();
        let mut probes = Vec::new();
        let mut was = false;
        for step in 0..3000 {
            path.set_delay(0.1 + f64::from(step) * 1e-5);
            path.run(&mut bbr, 0.01);
            let is = matches!(bbr.state, State::ProbeRtt { .. });
            if is && !was {
                probes.push(step);
            }
            assert!(!is || bbr.cwnd() == 4 * MSS);
            was = is;
        }
        assert!((2..=3).contains(&probes.len()), "{probes:?}");
    }

    #[test]
    fn a_loss_leaves_the_model_alone_and_the_window_comes_back() {
        let mut path = Path::new(1e6, 0.1, MSS);
        let mut bbr = bbr();
        path.run(&mut bbr, 3.0);
        let (bandwidth, before) = (bbr.bandwidth.get(), bbr.cwnd());
        let ack = AckSample {
            prior_in_flight: 100 * MSS,
            newly_lost: MSS,
            newly_acked: MSS,
            mss: MSS,
            ..AckSample::default()
        };
        bbr.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack);
        assert_eq!(bbr.cwnd(), 99 * MSS);
        bbr.on_recovered(&ack);
        assert_eq!(
            (bbr.cwnd(), bbr.bandwidth.get().to_bits()),
            (before, bandwidth.to_bits())
        );
        bbr.on_congestion(CongestionSignal::Timeout, &ack);
        assert_eq!(bbr.cwnd(), MSS);
    }

    #[test]
    fn a_loss_while_a_probe_drains_the_path_does_not_forget_the_window() {
        let mut path = Path::new(1e6, 0.1, MSS);
        let mut bbr = bbr();
        path.run(&mut bbr, 3.0);
        let before = bbr.cwnd();
        bbr.state = State::ProbeRtt {
            until: None,
            round_done: false,
        };
        bbr.save_cwnd();
        bbr.cwnd = 4 * MSS;
        let ack = AckSample {
            prior_in_flight: 50 * MSS,
            newly_lost: MSS,
            newly_acked: MSS,
            mss: MSS,
            ..AckSample::default()
        };
        bbr.on_congestion(CongestionSignal::Loss { lost: MSS }, &ack);
        assert!(bbr.saved_cwnd >= before, "{} {before}", bbr.saved_cwnd);
    }

    /// After Startup, a bunch of twenty segments, of which the bandwidth explains one, makes room
    /// for nineteen more.
    #[test]
    fn bunches_of_acknowledgements_make_room_in_the_window() {
        let [with, without] = [true, false].map(|ack_aggregation| {
            let config = Config {
                ack_aggregation,
                ..Config::default()
            };
            let mut bbr = Bbr::new(&config, MSS, 10 * MSS, Rng::for_path(1, "bbr"));
            let mut path = Path::new(1e6, 0.1, MSS);
            path.run(&mut bbr, 3.0);
            assert!(bbr.is_full);
            let mut windows = Vec::new();
            for (ms, bytes) in [(1000, MSS), (1001, 20 * MSS), (1001, 300 * MSS)] {
                let now = Instant::from_nanos(10_000_000_000 + ms * 1_000_000);
                let ack = AckSample {
                    now,
                    newly_acked: bytes,
                    mss: MSS,
                    ..AckSample::default()
                };
                bbr.update_aggregation(&ack);
                windows.push(bbr.aggregated() / MSS);
            }
            windows
        });
        assert_eq!(without, [0, 0, 0]);
        assert!(with[1] >= 19, "{with:?}");
        assert!(with[2] <= 101, "what 1 MB/s carries in 100 ms: {with:?}");
    }

    #[test]
    fn windows_are_pairs_of_segments_with_one_pair_more_where_it_probes() {
        let mut bbr = bbr();
        let windows = |bbr: &Bbr| [3000, 4000, 4001, 5999].map(|bytes| bbr.budget(bytes) / MSS);
        assert_eq!(windows(&bbr), [4, 4, 6, 6]);
        bbr.begin_phase(0, Instant::ZERO);
        assert_eq!(windows(&bbr), [6, 6, 8, 8]);
        bbr.begin_phase(1, Instant::ZERO);
        assert_eq!(windows(&bbr), [4, 4, 6, 6]);
        bbr.config.quantization = false;
        assert_eq!(bbr.budget(4001), 4001);
    }
}
