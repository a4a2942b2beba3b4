//! BBR version 3: sends at the measured bandwidth, within bounds that it derives from losses
//! (draft-ietf-ccwg-bbr).
//!
//! The model has two time scales:
//!
//! - Long term: `max_bw` is the largest delivery rate of this cycle and the last one. `min_rtt` is
//!   the smallest round-trip time. `inflight_longterm` is the largest amount in flight at which no
//!   more than 2 % of a round trip was lost.
//! - Short term: `bw_shortterm` and `inflight_shortterm` hold after losses outside a probe. They
//!   fall by up to 30 % per round trip, and are reset before the next probe.
//!
//! The states are:
//!
//! 1. Startup doubles the rate until it stops growing for three round trips, or until too much is
//!    lost. Drain then empties the queue.
//! 2. DOWN (gain 0.9) and CRUISE (gain 1) follow.
//! 3. REFILL (gain 1) and UP (gain 1.25) probe for bandwidth. They follow after 2 to 3 seconds, or
//!    after as many round trips as a Reno flow of this window would need (at most 63), whichever
//!    comes first. UP is where losses, and a rate that stops growing, are detected.
//! 4. After 5 seconds without a smaller round-trip time, half a bandwidth-delay product in flight
//!    for 200 ms measures it again.
//!
//! The names of functions are those of the draft.
//!
//! Left out: the undoing of spurious recoveries (§5.5.11). The losses of one acknowledgement are
//! evaluated together, as the draft does with those of one offload burst. Marks are ignored (§3.8).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ack_aggregation::AckAggregation;
use super::windowed_max::WindowedMax;
use super::{AckSample, CongestionControl, CongestionSignal, DeliverySample, Refusal};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::{Probability, Rate};

/// Parameters of BBR version 3.
///
/// Use it as the sender of large video and web sites today: it is like version 1, but slows down
/// where it would lose more than 2 %.
///
/// Source: draft-ietf-ccwg-bbr, after its version 05.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `LossThresh`: the share of a round trip that may be lost while probing. Raising it keeps
    /// more in flight in short buffers, despite losses.
    pub loss_threshold: Probability,
    /// `Beta`: the smallest share of the short-term bounds that remains after a round trip with
    /// losses.
    pub beta: Probability,
    /// `Headroom`: the share of `inflight_longterm` that is left to other flows while cruising.
    pub headroom: Probability,
    /// `MinRTTFilterLen`: how long the smallest round-trip time stays valid.
    pub min_rtt_window: Duration,
    /// `ProbeRTTInterval`: time without a smaller round-trip time after which it is probed for.
    pub probe_rtt_interval: Duration,
    /// `ProbeRTTDuration`: the least duration of such a probe.
    pub probe_rtt_duration: Duration,
}

impl Default for Config {
    fn default() -> Self {
        // The draft's §2.
        Self {
            loss_threshold: Probability(0.02),
            beta: Probability(0.7),
            headroom: Probability(0.15),
            min_rtt_window: Duration::from_secs(10),
            probe_rtt_interval: Duration::from_secs(5),
            probe_rtt_duration: Duration::from_millis(200),
        }
    }
}

impl Config {
    /// A threshold of one would divide by zero. With the other values, nothing would be left to
    /// send, or probes would never end.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.loss_threshold.0 >= 1.0 {
            return Err(("bbr3.loss_threshold", "a share below 1"));
        }
        if self.headroom.0 >= 1.0 {
            return Err(("bbr3.headroom", "a share below 1"));
        }
        if self.beta.0 <= 0.0 {
            return Err(("bbr3.beta", "a share above 0"));
        }
        if self.probe_rtt_interval <= self.probe_rtt_duration {
            return Err(("bbr3.probe_rtt_interval", "more than probe_rtt_duration"));
        }
        Ok(())
    }
}

/// `StartupPacingGain`: 4 ln 2.
const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const UP_PACING_GAIN: f64 = 1.25;
const DOWN_PACING_GAIN: f64 = 0.9;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// `PacingMarginPercent`.
const PACING_MARGIN: f64 = 0.99;
/// `MinPipeCwnd`, segments.
const MIN_PIPE: u64 = 4;
/// `StartupFullLossCnt`.
const STARTUP_LOSSES: u32 = 6;
/// `MaxBwFilterLen`, cycles.
const BANDWIDTH_CYCLES: u64 = 2;
/// `ExtraAckedFilterLen`, round trips.
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// The largest number of round trips between probes, so that Reno can coexist.
const RENO_ROUNDS: u64 = 63;
/// Stands for no bound.
const NONE: u64 = u64::MAX;

/// The state machine of §5.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Cruise,
    Down,
    Drain,
    ProbeRtt,
    Refill,
    Startup,
    Up,
}

/// `ack_phase`: how acknowledgements relate to the probe for bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feedback {
    Arriving,
    None,
    Refilling,
    Starting,
    Stopping,
}

/// The state of BBR version 3. Fields are named as in the draft; bandwidths are in bytes per
/// second.
#[expect(clippy::struct_excessive_bools, reason = "the draft's own state")]
#[derive(Debug)]
pub struct Bbr3 {
    config: Config,
    rng: Rng,
    mss: u64,
    initial_cwnd: u64,
    state: State,
    cwnd: u64,
    prior_cwnd: u64,
    recovering: bool,
    pacing_rate: f64,
    // Round trips (§5.5.1).
    round_count: u64,
    next_round_delivered: u64,
    round_start: bool,
    /// Until this many bytes are delivered, delivery rates were limited by the sender itself
    /// (`MarkConnectionAppLimited`).
    limited_until: u64,
    idle_restart: bool,
    drain_start_round: u64,
    // The long-term model.
    max_bw_filter: WindowedMax<2>,
    cycle_count: u64,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    inflight_longterm: u64,
    // The short-term model.
    bw_shortterm: f64,
    inflight_shortterm: u64,
    bw_latest: f64,
    inflight_latest: u64,
    bw: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// Acknowledgements of this round trip that reported losses (the draft's discontiguous ranges).
    losses_in_round: u32,
    /// Total bytes lost.
    ///
    /// `loss_history` has an entry for each loss: the total bytes delivered and the total bytes
    /// lost when it was detected. Entries older than the newest acknowledged segment are removed;
    /// `lost_forgotten` is the total lost in the last one removed.
    lost: u64,
    loss_history: VecDeque<(u64, u64)>,
    lost_forgotten: u64,
    // Aggregation of acknowledgements (§5.5.9).
    extra_acked: AckAggregation,
    // Detection of a full pipe (§5.3.1.2).
    full_bw_reached: bool,
    full_bw_now: bool,
    full_bw: f64,
    full_bw_count: u32,
    // The cycle of probes for bandwidth (§5.3.3).
    ack_phase: Feedback,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    cycle_stamp: Instant,
    bw_probe_wait: Duration,
    rounds_since_probe_up: u64,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    // The probe for the round-trip time (§5.3.4).
    probe_rtt_min_delay: Option<Duration>,
    probe_rtt_min_stamp: Instant,
    probe_rtt_expired: bool,
    probe_rtt_done_stamp: Option<Instant>,
    probe_rtt_round_done: bool,
}

impl Bbr3 {
    /// `OnInit()`.
    pub fn new(config: &Config, mss: u64, initial_window: u64, rng: Rng) -> Self {
        let mut bbr = Self {
            config: config.clone(),
            rng,
            mss,
            initial_cwnd: initial_window,
            state: State::Startup,
            cwnd: initial_window,
            prior_cwnd: 0,
            recovering: false,
            pacing_rate: 0.0,
            round_count: 0,
            next_round_delivered: 0,
            round_start: false,
            limited_until: 0,
            idle_restart: false,
            drain_start_round: 0,
            max_bw_filter: WindowedMax::new(),
            cycle_count: 0,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            inflight_longterm: NONE,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: NONE,
            bw_latest: 0.0,
            inflight_latest: 0,
            bw: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            losses_in_round: 0,
            lost: 0,
            loss_history: VecDeque::new(),
            lost_forgotten: 0,
            extra_acked: AckAggregation::new(),
            full_bw_reached: false,
            full_bw_now: false,
            full_bw: 0.0,
            full_bw_count: 0,
            ack_phase: Feedback::None,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            cycle_stamp: Instant::ZERO,
            bw_probe_wait: Duration::ZERO,
            rounds_since_probe_up: 0,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0,
            probe_up_acked_per_inc: NONE,
            probe_rtt_min_delay: None,
            probe_rtt_min_stamp: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
        };
        bbr.init_pacing_rate(Duration::from_millis(1));
        bbr
    }

    /// §5.6.2.
    fn init_pacing_rate(&mut self, rtt: Duration) {
        let nominal = self.initial_cwnd as f64 / rtt.as_secs_f64().max(1e-9);
        self.pacing_rate = STARTUP_PACING_GAIN * nominal;
    }

    fn max_bw(&self) -> f64 {
        self.max_bw_filter.get()
    }

    /// §5.6.1, the table: pacing gain and window gain.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            State::Drain => (DRAIN_PACING_GAIN, CWND_GAIN),
            State::Down => (DOWN_PACING_GAIN, CWND_GAIN),
            State::Cruise | State::Refill => (1.0, CWND_GAIN),
            State::Up => (UP_PACING_GAIN, UP_CWND_GAIN),
            State::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }

    fn is_in_a_probe_bw_state(&self) -> bool {
        matches!(
            self.state,
            State::Down | State::Cruise | State::Refill | State::Up
        )
    }

    fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    fn is_limited(&self, ack: &AckSample) -> bool {
        ack.app_limited || ack.prior_delivered < self.limited_until
    }

    // Round trips and bandwidth: §5.5.1, §5.5.5.

    fn start_round(&mut self, ack: &AckSample) {
        self.next_round_delivered = ack.delivered;
    }

    fn update_round(&mut self, ack: &AckSample) {
        self.round_start = ack.newly_acked > 0 && ack.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(ack);
            self.round_count += 1;
            self.rounds_since_probe_up += 1;
        }
    }

    fn update_max_bw(&mut self, ack: &AckSample) {
        self.update_round(ack);
        let rate = delivery_rate(ack);
        if rate > 0.0 && (rate >= self.max_bw() || !self.is_limited(ack)) {
            self.max_bw_filter
                .update(rate, self.cycle_count, BANDWIDTH_CYCLES);
        }
    }

    /// `AdvanceMaxBwFilter()`. It takes effect at once, so that expired values are removed before
    /// the next sample.
    fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
        self.max_bw_filter
            .update(0.0, self.cycle_count, BANDWIDTH_CYCLES);
    }

    // Congestion signals: §5.5.10.

    fn update_latest_delivery_signals(&mut self, ack: &AckSample) {
        self.bw_latest = self.bw_latest.max(delivery_rate(ack));
        self.inflight_latest = self.inflight_latest.max(delivered(ack));
        self.loss_round_start =
            ack.newly_acked > 0 && ack.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = ack.delivered;
        }
    }

    fn advance_latest_delivery_signals(&mut self, ack: &AckSample) {
        if self.loss_round_start {
            self.bw_latest = delivery_rate(ack);
            self.inflight_latest = delivered(ack);
        }
    }

    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.losses_in_round = 0;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    fn update_congestion_signals(&mut self, ack: &AckSample) {
        self.update_max_bw(ack);
        if self.loss_round_start {
            self.check_startup_high_loss(ack);
            self.adapt_lower_bounds_from_congestion();
            self.is_loss_in_round = false;
            self.losses_in_round = 0;
        }
    }

    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.is_probing_bw() || !self.is_loss_in_round {
            return;
        }
        if self.bw_shortterm.is_infinite() {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == NONE {
            self.inflight_shortterm = self.cwnd;
        }
        let beta = self.config.beta.0;
        self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
        let inflight = (beta * self.inflight_shortterm as f64) as u64;
        self.inflight_shortterm = self.inflight_latest.max(inflight);
    }

    fn reset_short_term_model(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = NONE;
    }

    /// `NoteLoss()`, for the losses that one acknowledgement or the timer reports.
    fn note_loss(&mut self, ack: &AckSample) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = ack.delivered;
        }
        self.is_loss_in_round = true;
        self.losses_in_round += 1;
        self.lost += ack.newly_lost;
        self.loss_history.push_back((ack.delivered, self.lost));
    }

    /// `RS.lost`: bytes detected as lost since the newest acknowledged segment was sent.
    fn lost_since_sent(&mut self, ack: &AckSample) -> u64 {
        while let Some(&(delivered, lost)) = self.loss_history.front()
            && delivered <= ack.prior_delivered
        {
            self.lost_forgotten = lost;
            self.loss_history.pop_front();
        }
        self.lost - self.lost_forgotten
    }

    fn is_inflight_too_high(&self, lost: u64, in_flight: u64) -> bool {
        lost as f64 > in_flight as f64 * self.config.loss_threshold.0
    }

    /// `HandleLostPacket()`.
    fn handle_lost(&mut self, ack: &AckSample) {
        self.note_loss(ack);
        let lost = self.lost_since_sent(ack);
        if self.is_bw_probe_sample && self.is_inflight_too_high(lost, ack.lost_in_flight) {
            let at_loss = self.inflight_at_loss(lost, ack);
            self.handle_inflight_too_high(at_loss, ack);
        }
    }

    /// `InflightAtLoss()`: the amount in flight at which the losses exceeded the threshold.
    fn inflight_at_loss(&self, lost: u64, ack: &AckSample) -> u64 {
        let threshold = self.config.loss_threshold.0;
        let before = ack.lost_in_flight.saturating_sub(ack.newly_lost);
        let lost_before = lost.saturating_sub(ack.newly_lost);
        let prefix = (threshold * before as f64 - lost_before as f64) / (1.0 - threshold);
        before + prefix.max(0.0) as u64
    }

    fn handle_inflight_too_high(&mut self, in_flight: u64, ack: &AckSample) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !self.is_limited(ack) {
            let least = (self.target_inflight() as f64 * self.config.beta.0) as u64;
            self.inflight_longterm = in_flight.max(least);
        }
        if self.state == State::Up {
            self.start_probe_bw_down(ack);
        }
    }

    /// §5.3.1.3, at the end of a round trip with losses.
    fn check_startup_high_loss(&mut self, ack: &AckSample) {
        if self.full_bw_reached || !self.recovering || self.losses_in_round < STARTUP_LOSSES {
            return;
        }
        let lost = self.lost_since_sent(ack);
        if self.is_inflight_too_high(lost, ack.sent_in_flight) {
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp_multiple(1.0).max(self.inflight_latest);
        }
    }

    // Aggregation of acknowledgements: §5.5.9.

    fn update_ack_aggregation(&mut self, ack: &AckSample) {
        let window = if self.full_bw_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        self.extra_acked
            .update(ack, self.bw, self.round_count, window, self.cwnd);
    }

    // Startup and Drain: §5.3.1, §5.3.2.

    fn reset_full_bw(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_count = 0;
        self.full_bw_now = false;
    }

    fn check_full_bw_reached(&mut self, ack: &AckSample) {
        if self.full_bw_now || !self.round_start || self.is_limited(ack) {
            return;
        }
        let rate = delivery_rate(ack);
        if rate >= self.full_bw * 1.25 {
            self.reset_full_bw();
            self.full_bw = rate;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_and_drain_done(&mut self, ack: &AckSample) {
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
        if self.state == State::Drain
            && (ack.in_flight <= self.inflight(1.0)
                || self.round_count > self.drain_start_round + 3)
        {
            self.start_probe_bw_down(ack);
        }
    }

    // The cycle of probes for bandwidth: §5.3.3.

    fn start_probe_bw_down(&mut self, ack: &AckSample) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = NONE;
        // PickProbeWait().
        self.rounds_since_probe_up = self.rng.below(2);
        self.bw_probe_wait = Duration::from_secs_f64(2.0 + self.rng.uniform());
        self.cycle_stamp = ack.now;
        self.ack_phase = Feedback::Stopping;
        self.start_round(ack);
        self.state = State::Down;
    }

    fn start_probe_bw_refill(&mut self, ack: &AckSample) {
        self.reset_short_term_model();
        self.bw_probe_up_rounds = 0;
        self.bw_probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = Feedback::Refilling;
        self.start_round(ack);
        self.state = State::Refill;
    }

    fn start_probe_bw_up(&mut self, ack: &AckSample) {
        self.ack_phase = Feedback::Starting;
        self.start_round(ack);
        self.reset_full_bw();
        self.full_bw = delivery_rate(ack);
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    fn update_probe_bw_cycle_phase(&mut self, ack: &AckSample) {
        if !self.full_bw_reached || self.adapt_long_term_model(ack) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe_bw(ack) => {
                self.start_probe_bw_refill(ack);
            }
            State::Down if self.is_time_to_cruise(ack) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.is_bw_probe_sample = true;
                self.start_probe_bw_up(ack);
            }
            State::Up => self.go_down_if_it_is_time(ack),
            _ => {}
        }
    }

    fn go_down_if_it_is_time(&mut self, ack: &AckSample) {
        if self.is_time_to_go_down(ack) {
            self.prev_probe_too_high = false;
            self.start_probe_bw_down(ack);
        }
    }

    fn is_time_to_probe_bw(&self, ack: &AckSample) -> bool {
        let rounds = (self.target_inflight() / self.mss).min(RENO_ROUNDS);
        ack.now.since(self.cycle_stamp) > self.bw_probe_wait || self.rounds_since_probe_up >= rounds
    }

    fn is_time_to_cruise(&self, ack: &AckSample) -> bool {
        let fits = (self.bdp_of(self.max_bw())).max(self.offload_budget());
        ack.in_flight <= self.inflight_with_headroom() && ack.in_flight <= fits.max(self.floor())
    }

    fn is_time_to_go_down(&mut self, ack: &AckSample) -> bool {
        if self.prev_probe_too_high && ack.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited(ack) && self.cwnd >= self.inflight_longterm {
            self.reset_full_bw();
            self.full_bw = delivery_rate(ack);
            return false;
        }
        self.full_bw_now
    }

    /// Whether the window limited the sender, not the pacing rate.
    fn is_cwnd_limited(&self, ack: &AckSample) -> bool {
        ack.prior_in_flight + self.mss > self.cwnd
    }

    fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == NONE {
            return NONE;
        }
        let headroom = (self.config.headroom.0 * self.inflight_longterm as f64) as u64;
        let rest = self
            .inflight_longterm
            .saturating_sub(headroom.max(self.mss));
        rest.max(self.floor())
    }

    fn raise_inflight_longterm_slope(&mut self) {
        let growth = 1 << self.bw_probe_up_rounds;
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth).max(self.mss);
    }

    fn probe_inflight_longterm_upward(&mut self, ack: &AckSample) {
        if !self.is_cwnd_limited(ack) || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += ack.newly_acked;
        if self.bw_probe_up_acked >= self.probe_up_acked_per_inc {
            let steps = self.bw_probe_up_acked / self.probe_up_acked_per_inc;
            self.bw_probe_up_acked -= steps * self.probe_up_acked_per_inc;
            self.inflight_longterm += steps * self.mss;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    /// Returns true if it has started a new state.
    fn adapt_long_term_model(&mut self, ack: &AckSample) -> bool {
        if self.ack_phase == Feedback::Starting && self.round_start {
            self.ack_phase = Feedback::Arriving;
        }
        if self.ack_phase == Feedback::Stopping && self.round_start {
            self.is_bw_probe_sample = false;
            self.ack_phase = Feedback::None;
            if self.is_in_a_probe_bw_state() {
                if !self.is_limited(ack) {
                    self.advance_max_bw_filter();
                }
                if self.prev_probe_precautionary && !self.prev_probe_too_high {
                    self.start_probe_bw_refill(ack);
                    return true;
                }
            }
        }
        if self.inflight_longterm == NONE {
            return false;
        }
        let lost = self.lost_since_sent(ack);
        if !self.is_inflight_too_high(lost, ack.sent_in_flight) {
            self.inflight_longterm = self.inflight_longterm.max(ack.sent_in_flight);
            if self.state == State::Up {
                self.probe_inflight_longterm_upward(ack);
            }
        }
        false
    }

    // The round-trip time: §5.3.4.3.

    fn update_min_rtt(&mut self, ack: &AckSample) {
        self.probe_rtt_expired =
            ack.now > self.probe_rtt_min_stamp + self.config.probe_rtt_interval;
        if let Some(rtt) = ack.rtt
            && (self.probe_rtt_expired || self.probe_rtt_min_delay.is_none_or(|min| rtt < min))
        {
            self.probe_rtt_min_delay = Some(rtt);
            self.probe_rtt_min_stamp = ack.now;
        }
        let expired = ack.now > self.min_rtt_stamp + self.config.min_rtt_window;
        if let Some(delay) = self.probe_rtt_min_delay
            && (expired || self.min_rtt.is_none_or(|min| delay < min))
        {
            self.min_rtt = Some(delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    fn check_probe_rtt(&mut self, ack: &AckSample) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt_done_stamp = None;
            self.ack_phase = Feedback::Stopping;
            self.start_round(ack);
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, ack: &AckSample) {
        self.limited_until = ack.delivered + ack.in_flight;
        let Some(done) = self.probe_rtt_done_stamp else {
            if ack.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt_done_stamp = Some(ack.now + self.config.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.start_round(ack);
            }
            return;
        };
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done && ack.now > done {
            self.probe_rtt_min_stamp = ack.now;
            self.restore_cwnd();
            self.exit_probe_rtt(ack);
        }
    }

    fn exit_probe_rtt(&mut self, ack: &AckSample) {
        self.reset_short_term_model();
        if self.full_bw_reached {
            self.start_probe_bw_down(ack);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    // Window and pacing rate from the model: §5.6.

    fn floor(&self) -> u64 {
        MIN_PIPE * self.mss
    }

    fn bdp_of(&self, bw: f64) -> u64 {
        (self.min_rtt).map_or(self.initial_cwnd, |rtt| (bw * rtt.as_secs_f64()) as u64)
    }

    fn bdp_multiple(&self, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) => (gain * self.bw * rtt.as_secs_f64()) as u64,
            None => self.initial_cwnd,
        }
    }

    fn target_inflight(&self) -> u64 {
        self.bdp_multiple(1.0).min(self.cwnd)
    }

    /// §5.5.8.
    fn offload_budget(&self) -> u64 {
        3 * self.send_quantum()
    }

    fn quantization_budget(&self, inflight: u64) -> u64 {
        let least = inflight.max(self.offload_budget()).max(self.floor());
        least
            + if self.state == State::Up {
                2 * self.mss
            } else {
                0
            }
    }

    fn inflight(&self, gain: f64) -> u64 {
        self.quantization_budget(self.bdp_multiple(gain))
    }

    fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(PROBE_RTT_CWND_GAIN).max(self.floor())
    }

    fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, ack: &AckSample) {
        let (_, gain) = self.gains();
        let extra = self.extra_acked.get();
        let most = self.quantization_budget(self.bdp_multiple(gain) + extra);
        let grown = self.cwnd + ack.newly_acked;
        if self.full_bw_reached {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || ack.delivered < self.initial_cwnd {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.floor());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd_for_model();
    }

    fn bound_cwnd_for_model(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::ProbeRtt | State::Cruise => self.inflight_with_headroom(),
            State::Startup | State::Drain => NONE,
        };
        let cap = cap.min(self.inflight_shortterm).max(self.floor());
        self.cwnd = self.cwnd.min(cap);
    }

    fn save_cwnd(&mut self) {
        self.prior_cwnd = if self.recovering || self.state == State::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// `RS.delivery_rate` in bytes per second; 0 without a sample.
fn delivery_rate(ack: &AckSample) -> f64 {
    ack.delivery_sample
        .map_or(0.0, DeliverySample::bytes_per_sec)
}

/// `RS.delivered`.
fn delivered(ack: &AckSample) -> u64 {
    ack.delivery_sample.map_or(0, |sample| sample.bytes)
}

impl CongestionControl for Bbr3 {
    fn on_handshake(&mut self, rtt: Duration) {
        self.init_pacing_rate(rtt);
    }

    fn on_sent(&mut self, now: Instant, bytes: u64, in_flight: u64) {
        // §5.4.1: nothing was in flight before, so the application limited the sender.
        if in_flight <= bytes && self.round_count > 0 {
            self.idle_restart = true;
            self.extra_acked.resume(now);
            if self.is_in_a_probe_bw_state() {
                self.set_pacing_rate_with_gain(1.0);
            }
        }
    }

    fn on_ack(&mut self, ack: &AckSample) {
        if ack.newly_lost > 0 {
            self.handle_lost(ack);
        }
        self.update_latest_delivery_signals(ack);
        self.update_congestion_signals(ack);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(ack);
        self.check_startup_and_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        self.advance_latest_delivery_signals(ack);
        self.bw = self.max_bw().min(self.bw_shortterm);
        self.set_pacing_rate_with_gain(self.gains().0);
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        match signal {
            CongestionSignal::Ecn => {}
            CongestionSignal::Loss { .. } => {
                self.save_cwnd();
                self.recovering = true;
            }
            CongestionSignal::Timeout => {
                self.save_cwnd();
                self.note_loss(ack);
                self.cwnd = self.mss;
            }
        }
    }

    fn on_recovered(&mut self, _ack: &AckSample) {
        self.restore_cwnd();
        self.recovering = false;
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn phase(&self) -> Option<&'static str> {
        Some(match self.state {
            State::Cruise => "probe_bw_cruise",
            State::Down => "probe_bw_down",
            State::Drain => "drain",
            State::ProbeRtt => "probe_rtt",
            State::Refill => "probe_bw_refill",
            State::Startup => "startup",
            State::Up => "probe_bw_up",
        })
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate((self.pacing_rate * 8.0) as u64))
    }

    /// §5.6.3.
    fn send_quantum(&self) -> u64 {
        let quantum = (self.pacing_rate * 1e-3) as u64;
        quantum.min(64_000).max(2 * self.mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::Path;

    const MSS: u64 = 1000;

    fn bbr() -> Bbr3 {
        let rng = Rng::for_path(1, "bbr3");
        Bbr3::new(&Config::default(), MSS, 10 * MSS, rng)
    }

    /// 1 MB/s and 100 ms, which are 100 segments; after Startup and Drain.
    fn settled() -> (Path, Bbr3) {
        let mut path = Path::new(1e6, 0.1, MSS);
        let mut bbr = bbr();
        path.run(&mut bbr, 3.0);
        (path, bbr)
    }

    #[test]
    fn it_finds_bandwidth_and_round_trip_and_leaves_startup_by_the_plateau() {
        let (path, bbr) = settled();
        assert!(bbr.full_bw_reached && bbr.is_in_a_probe_bw_state());
        assert!((bbr.max_bw() / 1e6 - 1.0).abs() < 0.02, "{}", bbr.max_bw());
        let min_rtt = bbr.min_rtt.expect("measured").as_secs_f64();
        assert!((0.1..0.103).contains(&min_rtt), "{min_rtt}");
        assert!(path.in_flight() < 140 * MSS, "{}", path.in_flight());
        assert_eq!(bbr.inflight_longterm, NONE, "nothing was lost");
    }

    #[test]
    fn the_cycle_goes_down_cruises_refills_and_goes_up() {
        let (mut path, mut bbr) = settled();
        let mut states = Vec::new();
        for _ in 0..1000 {
            path.run(&mut bbr, 0.01);
            if states.last() != Some(&bbr.state) {
                states.push(bbr.state);
            }
        }
        let cycle = [State::Cruise, State::Refill, State::Up, State::Down];
        assert!(states.windows(4).any(|four| four == cycle), "{states:?}");
        assert!(states.contains(&State::ProbeRtt), "{states:?}");
    }

    /// If the rate fell further without a loss, round trips would become so long that a probe for
    /// the round-trip time would come before the end of a cycle.
    #[test]
    fn a_rate_that_falls_by_half_is_found() {
        let (mut path, mut bbr) = settled();
        path.set_rate(5e5);
        path.run(&mut bbr, 30.0);
        assert!((bbr.max_bw() / 5e5 - 1.0).abs() < 0.1, "{}", bbr.max_bw());
    }

    #[test]
    fn a_rate_that_grows_tenfold_is_found_by_probing() {
        let (mut path, mut bbr) = settled();
        path.set_rate(1e7);
        path.run(&mut bbr, 60.0);
        assert!(bbr.max_bw() > 0.9e7, "{}", bbr.max_bw());
    }

    fn lossy(lost: u64, in_flight: u64) -> AckSample {
        AckSample {
            newly_acked: MSS,
            newly_lost: lost,
            lost_in_flight: in_flight,
            sent_in_flight: in_flight,
            prior_in_flight: in_flight,
            in_flight: in_flight - lost - MSS,
            mss: MSS,
            ..AckSample::default()
        }
    }

    #[test]
    fn more_than_two_percent_lost_while_probing_bounds_what_is_in_flight() {
        for (lost, bounded) in [(2, false), (5, true)] {
            let (mut path, mut bbr) = settled();
            while bbr.state != State::Up {
                path.run(&mut bbr, 0.01);
            }
            let ack = lossy(lost * MSS, 120 * MSS);
            let ack = AckSample {
                prior_delivered: u64::MAX / 2,
                delivered: u64::MAX / 2 + 1,
                ..ack
            };
            bbr.handle_lost(&ack);
            assert_eq!(bbr.state == State::Down, bounded, "{lost} lost");
            if bounded {
                // 115 segments were in flight before the loss, of which 2 % may be lost: 115 + 0.02
                // · 115 / 0.98.
                assert_eq!(bbr.inflight_longterm / 100, 1173);
                assert!(bbr.prev_probe_too_high);
            }
        }
    }

    #[test]
    fn losses_while_cruising_shorten_the_short_term_model_until_the_next_probe() {
        let (mut path, mut bbr) = settled();
        while bbr.state != State::Cruise {
            path.run(&mut bbr, 0.01);
        }
        let before = bbr.max_bw();
        bbr.is_loss_in_round = true;
        bbr.bw_latest = 0.5 * before;
        bbr.inflight_latest = 10 * MSS;
        bbr.cwnd = 100 * MSS;
        bbr.adapt_lower_bounds_from_congestion();
        assert!((bbr.bw_shortterm - 0.7 * before).abs() < 1.0);
        assert_eq!(bbr.inflight_shortterm, 70 * MSS);
        while bbr.state != State::Refill {
            path.run(&mut bbr, 0.01);
        }
        assert!(bbr.bw_shortterm.is_infinite() && bbr.inflight_shortterm == NONE);
    }

    #[test]
    fn what_was_lost_since_the_newest_segment_was_sent_is_counted() {
        let mut bbr = bbr();
        for delivered in [10, 20, 30] {
            bbr.note_loss(&AckSample {
                delivered,
                newly_lost: MSS,
                ..AckSample::default()
            });
        }
        for (prior_delivered, lost) in [(5, 3), (10, 2), (25, 1), (40, 0)] {
            let ack = AckSample {
                prior_delivered,
                ..AckSample::default()
            };
            assert_eq!(bbr.lost_since_sent(&ack), lost * MSS, "{prior_delivered}");
        }
    }
}
