//! DOCSIS-PIE (RFC 8034): drops at arrival, with a probability that a controller updates every 16
//! ms.
//!
//! The controller predicts how long a packet that arrives now will wait. It changes the drop
//! probability by `alpha` times the distance from the target plus `beta` times the change since the
//! last update: proportional and integral action. It differs from PIE (RFC 8033) as follows:
//!
//! - The prediction uses the token buckets of the service flow: the backlog drains at the peak rate
//!   P while tokens last, and then at R. For comparison, one of the [other
//!   estimates](super::delay_estimate) can be used.
//! - The probability is one *per 1024 bytes* and may exceed 1. Small packets are dropped less
//!   often, and a flood of them is still controlled.
//! - Drops are de-randomised. No packet is dropped until the probabilities of the enqueued packets
//!   add up to 0.85, and at 8.5 a packet is dropped in any case.
//! - The controller is INACTIVE while the queue stays below a third of its buffer, and QUIESCENT
//!   after that. The first drop makes it ACTIVE and allows a burst of 142 ms. After one second of
//!   low delay, it is INACTIVE again.
//! - It never marks: RFC 8034 §4.7 has no ECN.
//!
//! Written from the pseudo-code of RFC 8034 appendix A. Where the text and the pseudo-code of the
//! RFC differ, this module follows the pseudo-code.
//!
//! **Updates** are due at multiples of the update interval since time zero. An update comes before
//! all other events at the same time. No update is scheduled while the queue is empty and the
//! controller's state is all zero. The skipped updates are made up before the next packet is
//! handled, so that the decisions are the same as without skipping.

use super::Aqm;
use super::delay_estimate::{DelayEstimate, Estimator};
use super::derandomiser::{self, Derandomise, Derandomiser, Run};
use super::proportional_integral::{DECAY, Gains, capped, tuning};
use super::updates::Updates;
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, BacklogLimit, Depth, LineView, Shaper};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of DOCSIS-PIE.
///
/// Use it on a cable modem's upstream: it is the AQM of DOCSIS 3.1 modems. Its delay prediction
/// needs the rate of the service flow.
///
/// Source: RFC 8034.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Size of the buffer: a size, a time at the line's sustained rate, a number of packets, or
    /// "unlimited". The controller becomes active when a third of it is filled. Raising it lets
    /// longer bursts pass without drops.
    pub limit: Limit,
    /// Target of the controller for the delay (`LATENCY_TARGET`; configuration file TLV 24.40.2).
    /// Raising it fills the line better when few connections share it, and makes all packets wait
    /// longer.
    pub target: Duration,
    /// Time between two updates of the drop probability (`INTERVAL`). Raising it makes the
    /// controller slower.
    pub update_interval: Duration,
    /// Weight of the distance from the target (A), per second and update. Raising it removes a
    /// steady error faster, and overshoots more.
    pub alpha: f64,
    /// Weight of the change of the delay (B), per second and update. Raising it damps oscillation,
    /// and reacts more to noise.
    pub beta: f64,
    /// Time without drops after the first drop (`MAX_BURST`). Raising it lets longer bursts pass,
    /// and delays the control.
    pub max_burst: Duration,
    /// Time of low delay after which a burst is allowed again (`BURST_RESET_TIMEOUT`).
    pub burst_reset: Duration,
    /// Packet size to which the drop probability applies (`MEAN_PKTSIZE`). Raising it drops fewer
    /// packets of a given size.
    pub mean_packet: ByteCount,
    /// Smallest packet (`MIN_PKTSIZE`). It limits the drop probability to the value at which
    /// packets of this size are dropped with `probability_low`.
    pub min_packet: ByteCount,
    /// Sum of the probabilities of the enqueued packets below which no packet is dropped. It is
    /// also the highest drop probability of one packet (`PROB_LOW`).
    pub probability_low: f64,
    /// Sum of the probabilities of the enqueued packets at which the next packet is dropped in any
    /// case (`PROB_HIGH`).
    pub probability_high: f64,
    /// Delay below which the drop probability decays (`LATENCY_LOW`).
    pub latency_low: Duration,
    /// Delay above which the drop probability grows by a further 0.02 at each update
    /// (`LATENCY_HIGH`).
    pub latency_high: Duration,
    /// Whether packet sizes are rounded to 64, 128, 256, 512, 768, 1024, 1280, 1536 or 2048 bytes.
    /// A modem may do so to avoid a multiplication.
    pub quantise: bool,
    /// How the distance between drops is bounded: `reached` as in the RFC, `exceeded` in the words
    /// of the AQM paper, or `off` for an independent random decision for each packet.
    pub derandomise: Derandomise,
    /// How the delay is estimated: `token_buckets` as in the RFC, `grants` for a congested channel
    /// (AQM paper, Appendix A), or an estimate that PIE uses elsewhere.
    pub delay_estimate: DelayEstimate,
    /// Bytes that must depart for one measurement, for `departure_time` and `departure_rate`.
    /// Raising it makes the estimate smoother, and needs a longer queue before anything is
    /// measured.
    pub departure_threshold: ByteCount,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // "Active Queue Management in DOCSIS 3.x Cable Modems" §9: 250 ms at the sustained rate
            // when AQM is on.
            limit: Limit::Time(Duration::from_millis(250)),
            // All other values: RFC 8034 appendix A.1.2; the target: §4.1.
            target: Duration::from_millis(10),
            update_interval: Duration::from_millis(16),
            alpha: 0.25,
            beta: 2.5,
            // 150 ms less half an update interval.
            max_burst: Duration::from_millis(142),
            burst_reset: Duration::from_secs(1),
            mean_packet: ByteCount(1024),
            min_packet: ByteCount(64),
            probability_low: 0.85,
            probability_high: 8.5,
            latency_low: Duration::from_millis(5),
            latency_high: Duration::from_millis(200),
            quantise: false,
            // RFC 8034 appendix A.3 and §4.2.
            derandomise: Derandomise::Reached,
            delay_estimate: DelayEstimate::TokenBuckets,
            // RFC 8033 appendix B.
            departure_threshold: ByteCount(1 << 14),
        }
    }
}

impl LawParameters for Config {
    type Law = DocsisPie;

    fn law(&self, _rate: Rate, rng: Rng) -> Result<DocsisPie, String> {
        self.check()?;
        Ok(DocsisPie::new(self, rng))
    }
}

impl Config {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self) -> Result<(), String> {
        Updates::check(self.update_interval)?;
        self.gains().check()?;
        self.delay_estimate.check_periodic()?;
        if self.mean_packet.0 == 0 || self.min_packet.0 == 0 || self.departure_threshold.0 == 0 {
            return Err(
                "mean_packet, min_packet and departure_threshold must be larger than zero".into(),
            );
        }
        derandomiser::check_bounds(self.probability_low, self.probability_high)
    }

    fn gains(&self) -> Gains {
        Gains {
            alpha: self.alpha,
            beta: self.beta,
            target: self.target,
        }
    }

    /// The drop probability at which the smallest packet is dropped with `probability_low`.
    fn highest_probability(&self) -> f64 {
        self.probability_low * self.mean_packet.0 as f64 / self.min_packet.0 as f64
    }
}

/// The state of the controller (RFC 8034 §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The controller drops packets.
    Active,
    /// The queue has stayed below a third of its buffer since the last second of low delay.
    Inactive,
    /// The next drop starts a burst allowance.
    Quiescent,
}

/// The control law: its parameters (RFC 8034 appendix A.1.2), then its state in the order of
/// appendix A.1.3.
///
/// A scheduler can use it in two ways, as [`Pie`](super::Pie): one for each of its queues, as an
/// [`Aqm`], or one for all of them.
#[derive(Debug)]
pub struct DocsisPie {
    config: Config,
    /// Drop probability per `mean_packet` bytes; it may exceed 1 (`drop_prob_`).
    drop_probability: f64,
    /// Drop probabilities accumulated since the last drop (`accu_prob_`).
    derandomiser: Derandomiser,
    /// Predicted delay at the latest update (`qdelay_old_`).
    delay: Duration,
    /// The remaining time without drops (`burst_allowance_`).
    burst_allowance: Duration,
    /// How long the delay has been low (`burst_reset_`).
    burst_reset: Duration,
    /// The state of the controller (`burst_state_`).
    state: State,
    estimator: Estimator,
    updates: Updates,
    is_empty: bool,
    rng: Rng,
}

impl DocsisPie {
    /// The control law before its first packet.
    pub fn new(config: &Config, rng: Rng) -> Self {
        Self {
            config: config.clone(),
            drop_probability: 0.0,
            derandomiser: Derandomiser::new(
                config.derandomise,
                config.probability_low,
                config.probability_high,
            ),
            delay: Duration::ZERO,
            burst_allowance: Duration::ZERO,
            burst_reset: Duration::ZERO,
            state: State::Inactive,
            estimator: Estimator::new(config.delay_estimate, config.departure_threshold.0),
            updates: Updates::every(config.update_interval),
            is_empty: true,
            rng,
        }
    }
}

impl Aqm for DocsisPie {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let (waiting, limit) = (backlog.depth(), backlog.limit());
        self.catch_up(waiting.bytes, line, cx.now);
        if !backlog.fits(&packet, line) {
            self.overflowed();
            cx.discard(packet, DropReason::Overlimit);
        } else if self.drops_early(line.framing.bytes(&packet), waiting, limit, || 1.0, line) {
            cx.discard(packet, DropReason::Congested);
        } else {
            backlog.push(packet, line, cx);
            self.enqueued();
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        self.catch_up(backlog.depth().bytes, line, cx.now);
        let packet = backlog.pop(line)?;
        self.departed(&packet, backlog.depth().bytes, line, cx.now);
        Some(packet)
    }

    fn next_update(&self) -> Option<Instant> {
        (!self.is_at_rest()).then_some(self.updates.next())
    }

    fn looks_at_grants(&self) -> bool {
        self.estimator.looks_at_grants()
    }

    fn update(&mut self, backlog: &Backlog, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.catch_up(backlog.depth().bytes, line, cx.now);
    }

    /// MULPI Annex M: the square root of the drop probability, and zero while a burst is allowed.
    fn base_probability(&self) -> Option<f64> {
        let is_burst = !self.burst_allowance.is_zero();
        Some(if is_burst {
            0.0
        } else {
            self.drop_probability.sqrt()
        })
    }

    fn internals(&self) -> QueueInternals {
        QueueInternals {
            drop_probability: Some(self.drop_probability),
            burst_allowance_ns: Some(self.burst_allowance.as_nanos() as f64),
            delay_estimate_ns: Some(self.delay.as_nanos() as f64),
            rate_estimate_bps: self.estimator.rate_bps(),
            ..QueueInternals::default()
        }
    }
}

/// The data path: RFC 8034 appendix A.3, at each arrival.
impl DocsisPie {
    /// `drop_early`: whether a packet of `size` bytes that arrives behind `waiting` must be
    /// dropped. `share` scales the probability for this packet. The order of the steps is that of
    /// the RFC, because it affects the result. [`Self::catch_up`] must have been called.
    pub(crate) fn drops_early(
        &mut self,
        size: u64,
        waiting: Depth,
        limit: BacklogLimit,
        share: impl FnOnce() -> f64,
        line: &LineView<'_>,
    ) -> bool {
        if !self.burst_allowance.is_zero() {
            return false;
        }
        if self.drop_probability == 0.0 {
            self.derandomiser.clear();
        }
        if self.state == State::Inactive {
            if is_under_a_third(waiting, limit, line) {
                return false;
            }
            self.state = State::Quiescent;
        }
        let probability = self.packet_probability(size, share());
        // A packet counts here even if one of the tests below keeps it from being dropped.
        self.derandomiser.count(probability);
        let is_calm = self.delay < self.config.target / 2 && self.drop_probability < CALM;
        let is_short = waiting.bytes <= 2 * self.config.mean_packet.0;
        if is_calm || is_short || !self.draw(probability) {
            return false;
        }
        self.derandomiser.clear();
        if self.state == State::Quiescent {
            self.state = State::Active;
            self.burst_allowance = self.config.max_burst;
        }
        true
    }

    /// Called after a packet was enqueued.
    pub(crate) fn enqueued(&mut self) {
        self.is_empty = false;
    }

    /// Called after a packet did not fit. A tail drop restarts the sum of the probabilities.
    /// Because the controller did not cause it, it does not start a burst allowance.
    pub(crate) fn overflowed(&mut self) {
        self.derandomiser.clear();
    }

    /// Called after a packet departed; `waiting` bytes are still in the queue.
    pub(crate) fn departed(
        &mut self,
        packet: &Packet,
        waiting: u64,
        line: &LineView<'_>,
        now: Instant,
    ) {
        let sojourn = now - packet.enqueued_at;
        self.estimator.departed(
            line.framing.size_on_wire(packet.size),
            sojourn,
            waiting,
            now,
        );
        self.is_empty = waiting == 0;
    }

    /// The drop probability of a packet of `size` bytes, scaled by `share`.
    fn packet_probability(&self, size: u64, share: f64) -> f64 {
        let size = if self.config.quantise {
            quantised(size)
        } else {
            size
        };
        let scaled = self.drop_probability * size as f64 / self.config.mean_packet.0 as f64;
        (scaled * share).min(self.derandomiser.probability_low())
    }

    /// The de-randomised decision: it keeps a minimum and a maximum distance from the last drop.
    fn draw(&mut self, probability: f64) -> bool {
        match self.derandomiser.run() {
            Run::Short => false,
            Run::Open => self.rng.uniform() <= probability,
            Run::Long => true,
        }
    }
}

/// The control path: RFC 8034 appendix A.2, at each update.
impl DocsisPie {
    /// Carries out all updates that are due. Several can be due only after updates were skipped,
    /// and the queue was empty all that time.
    pub(crate) fn catch_up(&mut self, waiting: u64, line: &LineView<'_>, now: Instant) {
        // A scheduler may have emptied the queue without calling this law.
        self.is_empty |= waiting == 0;
        while self.updates.is_due(now) {
            self.estimator.update(line, now);
            if self.is_settled() {
                self.updates.skip(now);
                return;
            }
            self.control(self.predict(waiting, line, now));
            self.updates.advance();
        }
    }

    /// Whether no output of the law can change before the next packet arrives.
    fn is_at_rest(&self) -> bool {
        self.is_empty
            && self.drop_probability == 0.0
            && self.burst_allowance.is_zero()
            && self.delay.is_zero()
    }

    /// Whether an update would change nothing at all.
    fn is_settled(&self) -> bool {
        self.state == State::Inactive && self.is_at_rest()
    }

    /// How long a packet that arrives behind `backlog` bytes will wait.
    fn predict(&self, backlog: u64, line: &LineView<'_>, now: Instant) -> Duration {
        // If no estimate is possible now, the last one stays valid.
        (self.estimator.delay(backlog, line, now)).unwrap_or(self.delay)
    }

    fn control(&mut self, delay: Duration) {
        if self.burst_allowance.is_zero() {
            self.drop_probability = self.controlled(delay);
        } else {
            self.drop_probability = 0.0;
            self.burst_allowance = (self.burst_allowance).saturating_sub(self.updates.interval());
        }
        self.update_state(delay);
        self.delay = delay;
    }

    /// The drop probability after this update.
    fn controlled(&self, delay: Duration) -> f64 {
        let config = &self.config;
        let step = config.gains().step(delay, self.delay) / damping(self.drop_probability);
        let step = capped(step, self.drop_probability);
        let mut probability = self.drop_probability + step;
        // RFC 8034 §4.5 mentions the occupancy here; its pseudo-code tests both delays.
        if delay < config.latency_low && self.delay < config.latency_low {
            probability *= DECAY;
        } else if delay > config.latency_high {
            probability += 0.02;
        }
        probability.clamp(0.0, config.highest_probability())
    }

    /// Enters the INACTIVE state after the delay has been low for long enough.
    fn update_state(&mut self, delay: Duration) {
        let half = self.config.target / 2;
        let is_quiet = delay < half
            && self.delay < half
            && self.drop_probability == 0.0
            && self.burst_allowance.is_zero();
        match self.state {
            State::Active if is_quiet => {
                self.state = State::Quiescent;
                self.burst_reset = Duration::ZERO;
            }
            State::Quiescent if is_quiet => {
                self.burst_reset += self.updates.interval();
                if self.burst_reset > self.config.burst_reset {
                    self.burst_reset = Duration::ZERO;
                    self.state = State::Inactive;
                }
            }
            State::Quiescent => self.burst_reset = Duration::ZERO,
            State::Active | State::Inactive => {}
        }
    }
}

/// Whether the backlog is below a third of the buffer. For an unlimited buffer, the default limit
/// is used instead.
fn is_under_a_third(depth: Depth, limit: BacklogLimit, line: &LineView<'_>) -> bool {
    match limit {
        BacklogLimit::Bytes(limit) => depth.bytes * 3 < limit,
        BacklogLimit::Packets(limit) => depth.packets * 3 < limit,
        BacklogLimit::Unlimited => {
            let rate = line.shaper.map_or(line.rate, Shaper::sustained);
            depth.bytes * 3 < rate.bytes_in(Duration::from_millis(250))
        }
    }
}

/// The divisor of a step, which keeps steps in proportion to the probability: the rows of RFC 8033,
/// and further rows above 1.
fn damping(probability: f64) -> f64 {
    match probability {
        p if p < 0.1 => tuning(p),
        p if p < 1.0 => 0.5,
        p if p < 10.0 => 0.125,
        _ => 0.03125,
    }
}

/// The nearest of the sizes in the RFC; of two equally near, the larger.
fn quantised(size: u64) -> u64 {
    let larger = SIZES.partition_point(|&step| step < size);
    match (SIZES.get(larger.wrapping_sub(1)), SIZES.get(larger)) {
        (Some(&below), Some(&above)) if size - below < above - size => below,
        (_, Some(&above)) => above,
        (below, None) => below.copied().unwrap_or(size),
    }
}

const SIZES: [u64; 9] = [64, 128, 256, 512, 768, 1024, 1280, 1536, 2048];
/// Below this probability, no packet is dropped while the delay is below half the target.
const CALM: f64 = 0.2;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flow::FlowId;
    use crate::rng::Rng;
    use crate::testing::Bench;
    use crate::units::Rate;

    fn law() -> DocsisPie {
        DocsisPie::new(&Config::default(), Rng::for_path(1, "queue"))
    }

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Drop probability after each of `n` updates at a constant delay, from the initial state.
    fn sequence(delay: Duration, n: usize) -> Vec<f64> {
        let mut law = law();
        let step = |_| {
            law.control(delay);
            law.drop_probability
        };
        (0..n).map(step).collect()
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        let tolerance = 1e-6 * expected.abs().max(1e-9);
        assert!(
            (found - expected).abs() <= tolerance,
            "{found} is not {expected}"
        );
    }

    /// The number of the first update (from 1) after which the probability is at least `level`,
    /// apart from rounding.
    fn reaches(sequence: &[f64], level: f64) -> usize {
        1 + sequence
            .iter()
            .position(|&p| p >= level * (1.0 - 1e-9))
            .expect("it is reached")
    }

    #[test]
    fn a_constant_30_ms_raises_the_probability_step_by_step() {
        let sequence = sequence(ms(30), 1000);
        let expected = [
            3.90625e-5,
            7.8125e-5,
            1.171_875e-4,
            2.734_375e-4,
            4.296_875e-4,
            5.859_375e-4,
        ];
        for (found, expected) in sequence.iter().zip(expected) {
            assert_near(*found, expected);
        }
        let levels = [1e-3, 0.01, 0.1, 1.0, 13.6];
        assert_eq!(
            levels.map(|level| reaches(&sequence, level)),
            [9, 24, 60, 150, 780]
        );
        assert_near(sequence[999], 13.6);
    }

    #[test]
    fn a_constant_250_ms_is_boosted_and_capped() {
        let expected = [
            0.020_334_472_7,
            0.070_334_472_7,
            0.120_334_472_7,
            0.160_334_472_7,
        ];
        for (found, expected) in sequence(ms(250), 4).into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-10,
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn a_constant_50_ms_follows_the_reference() {
        let sequence = sequence(ms(50), 30);
        let expected = [
            (1, 6.5918e-5),
            (2, 1.44043e-4),
            (3, 4.56543e-4),
            (5, 1.08154e-3),
            (6, 2.33154e-3),
            (13, 0.011_081_5),
            (14, 0.016_081_5),
            (30, 0.096_081_5),
        ];
        for (update, expected) in expected {
            let found = sequence[update - 1];
            assert!(
                (found / expected - 1.0).abs() < 5e-6,
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn the_boost_starts_above_200_ms_and_not_at_it() {
        let at = sequence(ms(200), 1)[0];
        let above = sequence(ms(200) + Duration::from_nanos(1), 1)[0];
        assert!(at < 0.001 && above > 0.02);
    }

    #[test]
    fn the_decay_stops_at_5_ms() {
        let after = |delay: Duration| {
            let mut law = law();
            (law.drop_probability, law.delay) = (0.5, ms(4));
            law.control(delay);
            law.drop_probability
        };
        let at = 0.5 + (0.25 * -0.005 + 2.5 * 0.001) / 0.5;
        assert_near(after(ms(5)), at);
        let below = (0.5 + (0.25 * -0.006) / 0.5) * 0.98;
        assert_near(after(ms(4)), below);
    }

    #[test]
    fn zero_comes_from_the_clamp_and_not_from_the_decay() {
        let mut law = law();
        law.drop_probability = 1e-3;
        let mut updates = 0;
        while law.drop_probability > 0.0 {
            law.control(Duration::ZERO);
            updates += 1;
            assert!(updates < 1000, "the probability reaches exactly zero");
        }
        assert!(!law.drop_probability.is_sign_negative());
    }

    #[test]
    fn a_burst_of_142_ms_is_spared_for_nine_updates() {
        let mut law = law();
        law.burst_allowance = ms(142);
        law.delay = ms(50);
        for update in 1..=9 {
            assert!(
                !law.burst_allowance.is_zero(),
                "still spared before update {update}"
            );
            law.control(ms(50));
            assert_near(law.drop_probability, 0.0);
        }
        assert!(law.burst_allowance.is_zero());
        law.control(ms(50));
        assert!(law.drop_probability > 0.0);
    }

    #[test]
    fn a_second_of_low_delay_makes_it_inactive() {
        let mut law = law();
        (law.state, law.delay) = (State::Active, ms(4));
        law.control(ms(4));
        assert_eq!(law.state, State::Quiescent, "the first quiet update");
        for _ in 0..62 {
            law.control(ms(4));
        }
        assert_eq!(law.state, State::Quiescent, "992 ms of quiet");
        law.control(ms(4));
        assert_eq!(law.state, State::Inactive, "1008 ms");
    }

    #[test]
    fn a_delay_of_half_the_target_is_not_low_and_restarts_the_second() {
        let mut law = law();
        law.state = State::Quiescent;
        for _ in 0..40 {
            law.control(ms(4));
        }
        law.control(ms(5));
        assert_eq!(law.burst_reset, Duration::ZERO);
        law.control(ms(4));
        assert_eq!(
            law.burst_reset,
            Duration::ZERO,
            "the delay before it was not quiet either"
        );
        law.control(ms(4));
        assert_eq!(law.burst_reset, ms(16));
    }

    #[test]
    fn the_last_estimate_stays_while_the_rate_is_zero() {
        let mut law = law();
        law.delay = ms(12);
        let line = LineView::plain(Rate(0));
        assert_eq!(law.predict(100_000, &line, Instant::ZERO), ms(12));
        assert_eq!(law.predict(0, &line, Instant::ZERO), Duration::ZERO);
    }

    // The data path.

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    /// A law over a backlog of `waiting` packets of 1024 bytes, in a buffer of 30 kB.
    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        law: DocsisPie,
    }

    impl Scene {
        fn new(waiting: usize) -> Self {
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let mut backlog = Backlog::new(BacklogLimit::Bytes(30_720));
            for _ in 0..waiting {
                let packet = bench.packet(flow, 1024);
                backlog.push(packet, &LINE, &mut bench.cx());
            }
            let mut law = law();
            law.is_empty = waiting == 0;
            Self {
                bench,
                flow,
                backlog,
                law,
            }
        }

        /// Sets the state to ACTIVE with this probability and delay.
        fn in_control(mut self, drop_probability: f64, delay: Duration) -> Self {
            self.law.state = State::Active;
            self.law.drop_probability = drop_probability;
            self.law.delay = delay;
            self
        }

        fn drops_early(&mut self, size: u64) -> bool {
            let (waiting, limit) = (self.backlog.depth(), self.backlog.limit());
            self.law.drops_early(size, waiting, limit, || 1.0, &LINE)
        }

        fn arrive(&mut self, size: u16) -> Vec<DropReason> {
            let packet = self.bench.packet(self.flow, size);
            self.law
                .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            self.bench
                .take_discards()
                .into_iter()
                .map(|(_, reason)| reason)
                .collect()
        }
    }

    #[test]
    fn packets_that_are_spared_add_to_the_accumulated_probability() {
        let mut calm = Scene::new(10).in_control(0.1, ms(4));
        assert!(!calm.drops_early(1024));
        assert_near(calm.law.derandomiser.accumulated(), 0.1);
        let mut short = Scene::new(2).in_control(0.1, ms(40));
        assert!(!short.drops_early(1024));
        assert_near(short.law.derandomiser.accumulated(), 0.1);
    }

    #[test]
    fn a_packet_is_spared_up_to_a_backlog_of_two_mean_packets() {
        for (waiting, drops) in [(2, false), (3, true)] {
            let mut scene = Scene::new(waiting).in_control(0.5, ms(40));
            scene.law.derandomiser.set_accumulated(8.5);
            assert_eq!(scene.drops_early(1024), drops, "behind {waiting} packets");
        }
    }

    #[test]
    fn a_calm_queue_is_spared_below_half_the_target_and_a_probability_of_a_fifth() {
        let drops = |probability, delay| {
            let mut scene = Scene::new(10).in_control(probability, delay);
            scene.law.derandomiser.set_accumulated(8.5);
            scene.drops_early(1024)
        };
        assert!(!drops(0.19, ms(4)));
        assert!(drops(0.2, ms(4)));
        assert!(drops(0.19, ms(5)));
    }

    #[test]
    fn a_probability_of_zero_resets_the_accumulated_one() {
        let mut scene = Scene::new(10).in_control(0.0, ms(40));
        scene.law.derandomiser.set_accumulated(5.0);
        assert!(!scene.drops_early(1024));
        assert_near(scene.law.derandomiser.accumulated(), 0.0);
    }

    #[test]
    fn no_drop_comes_below_085_and_one_always_comes_at_85() {
        let mut scene = Scene::new(10).in_control(0.01, ms(40));
        let gaps: Vec<usize> = (0..200)
            .map(|_| {
                (1..10_000)
                    .find(|_| scene.drops_early(1024))
                    .expect("a drop comes")
            })
            .collect();
        let (least, most) = (gaps.iter().min(), gaps.iter().max());
        assert!(
            least >= Some(&85) && most <= Some(&851),
            "gaps {least:?} to {most:?}"
        );
        let mean = gaps.iter().sum::<usize>() as f64 / 200.0;
        assert!(
            (mean - 184.0).abs() < 20.0,
            "84 spared, then one in a hundred: {mean}"
        );
    }

    #[test]
    fn small_packets_are_dropped_less_and_none_with_more_than_085() {
        let mut law = law();
        law.drop_probability = 0.5;
        assert_near(law.packet_probability(64, 1.0), 0.03125);
        assert_near(law.packet_probability(1024, 1.0), 0.5);
        law.drop_probability = 8.0;
        assert_near(law.packet_probability(64, 1.0), 0.5);
        assert_near(law.packet_probability(1024, 1.0), 0.85);
    }

    #[test]
    fn a_flood_of_small_packets_settles_above_a_probability_of_1() {
        // Three packets of 64 B arrive for each two that leave, so one in three must be dropped.
        // With de-randomised drops, this needs a probability of a half: of three packets, one is
        // enqueued, and one of the next two is dropped. Per 1024 B, the probability is 0.5 × 1024 /
        // 64 = 8.
        let mut scene = Scene::new(0);
        scene.backlog = Backlog::new(BacklogLimit::Bytes(400_000));
        let line = LineView::plain(Rate(13_653_333));
        let mut sum = 0.0;
        for tick in 0..400_000_u64 {
            let packet = scene.bench.packet(scene.flow, 64);
            (scene.law).enqueue(&mut scene.backlog, packet, &line, &mut scene.bench.cx());
            if tick % 3 != 0
                && let Some(packet) =
                    (scene.law).dequeue(&mut scene.backlog, &line, &mut scene.bench.cx())
            {
                scene.bench.end(packet);
            }
            scene.bench.advance(Duration::from_micros(25));
            sum += scene.law.drop_probability * f64::from(u8::from(tick >= 200_000));
        }
        let mean = sum / 200_000.0;
        assert!(
            (mean - 8.0).abs() < 0.8,
            "the probability settles at {mean}"
        );
    }

    #[test]
    fn a_tail_drop_resets_the_accumulated_probability_and_starts_no_burst() {
        let mut scene = Scene::new(30).in_control(0.5, ms(40));
        scene.law.state = State::Quiescent;
        scene.law.derandomiser.set_accumulated(3.0);
        assert_eq!(scene.arrive(1024), [DropReason::Overlimit]);
        assert_eq!(scene.law.state, State::Quiescent);
        assert!(scene.law.burst_allowance.is_zero());
        assert_near(scene.law.derandomiser.accumulated(), 0.0);
    }

    #[test]
    fn the_first_drop_starts_a_burst_allowance_that_spares_everything() {
        let mut scene = Scene::new(15).in_control(0.5, ms(40));
        scene.law.state = State::Quiescent;
        scene.law.derandomiser.set_accumulated(8.5);
        assert_eq!(scene.arrive(1024), [DropReason::Congested]);
        assert_eq!(
            (scene.law.state, scene.law.burst_allowance),
            (State::Active, ms(142))
        );
        scene.law.derandomiser.set_accumulated(8.5);
        assert_eq!(scene.arrive(1024), []);
        assert_near(scene.law.derandomiser.accumulated(), 8.5);
    }

    #[test]
    fn a_drop_in_control_starts_no_burst_allowance() {
        let mut scene = Scene::new(15).in_control(0.5, ms(40));
        scene.law.derandomiser.set_accumulated(8.5);
        assert_eq!(scene.arrive(1024), [DropReason::Congested]);
        assert!(scene.law.burst_allowance.is_zero());
    }

    #[test]
    fn it_leaves_the_inactive_state_at_a_third_of_the_buffer() {
        for (waiting, state) in [(9, State::Inactive), (10, State::Quiescent)] {
            let mut scene = Scene::new(waiting);
            assert!(!scene.drops_early(1024));
            assert_eq!(scene.law.state, state, "{waiting} of 30 packets");
        }
    }

    #[test]
    fn the_base_probability_is_the_square_root_and_zero_while_a_burst_is_allowed() {
        let mut law = law();
        for (probability, base) in [
            (0.0, 0.0),
            (1e-4, 0.01),
            (1e-3, 0.031_622_776_6),
            (1e-2, 0.1),
            (0.04, 0.2),
            (0.25, 0.5),
            // It is a probability per 1024 B, and may exceed 1.
            (9.0, 3.0),
        ] {
            law.drop_probability = probability;
            law.burst_allowance = Duration::ZERO;
            assert_near(law.base_probability().expect("it couples"), base);
            law.burst_allowance = Duration::from_nanos(1);
            assert_near(law.base_probability().expect("it couples"), 0.0);
        }
    }

    #[test]
    fn it_never_marks() {
        let mut scene = Scene::new(15).in_control(0.5, ms(40));
        scene.law.derandomiser.set_accumulated(8.5);
        let mut packet = scene.bench.packet(scene.flow, 1024);
        packet.ecn = crate::packet::Ecn::Ect0;
        (scene.law).enqueue(&mut scene.backlog, packet, &LINE, &mut scene.bench.cx());
        assert_eq!(scene.bench.counts()[2], 1);
    }

    #[test]
    fn a_size_is_quantised_to_the_nearest_step() {
        let found = [1, 64, 95, 96, 97, 300, 1518, 1900, 9000].map(quantised);
        assert_eq!(found, [64, 64, 64, 128, 128, 256, 1536, 2048, 2048]);
        let config = Config {
            quantise: true,
            ..Config::default()
        };
        let mut law = DocsisPie::new(&config, Rng::for_path(1, "queue"));
        law.drop_probability = 0.5;
        assert_near(law.packet_probability(1000, 1.0), 0.5);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().is_err()
        };
        assert_eq!(Config::default().check(), Ok(()));
        assert!(refused(|config| config.update_interval = Duration::ZERO));
        assert!(refused(|config| config.alpha = f64::NAN));
        assert!(refused(|config| config.beta = -1.0));
        assert!(refused(|config| config.mean_packet = ByteCount(0)));
        assert!(refused(|config| config.probability_low = 0.0));
        assert!(refused(|config| config.probability_high = 0.5));
    }

    // Skipped updates.

    #[test]
    fn no_update_is_scheduled_until_a_packet_waits_and_updates_stay_on_multiples_of_the_interval() {
        let mut scene = Scene::new(0);
        assert_eq!(scene.law.next_update(), None);
        scene.bench.advance(ms(100));
        assert_eq!(scene.arrive(1024), []);
        assert_eq!(scene.law.next_update(), Some(Instant::ZERO + ms(112)));
        let packet = (scene.law).dequeue(&mut scene.backlog, &LINE, &mut scene.bench.cx());
        scene.bench.end(packet.expect("one waits"));
        assert_eq!(scene.law.next_update(), None);
    }

    #[test]
    fn an_update_comes_before_other_events_at_the_same_time() {
        let mut scene = Scene::new(10);
        scene.bench.advance(ms(16));
        assert_eq!(scene.arrive(1024), []);
        // 10 packets of 1024 B at 10 Mbit/s; the arriving packet does not count.
        assert_eq!(scene.law.delay, Duration::from_micros(8192));
        assert_eq!(scene.law.next_update(), Some(Instant::ZERO + ms(32)));
    }

    /// One event of a random test.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Arrive(u16),
        Leave,
        Wait(Duration),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (64_u16..1500).prop_map(Step::Arrive),
            3 => Just(Step::Leave),
            2 => (0_u64..6_000).prop_map(|us| Step::Wait(Duration::from_micros(us))),
            1 => (0_u64..200).prop_map(|n| Step::Wait(ms(16) * n)),
        ];
        prop::collection::vec(step, 1..400)
    }

    /// Runs the steps. With `is_eager`, the law is updated at each multiple of the interval; else
    /// only when it schedules an update.
    fn run(steps: &[Step], is_eager: bool) -> (Vec<(Instant, DropReason)>, DocsisPie) {
        let mut scene = Scene::new(0);
        let due = |scene: &Scene| match (is_eager, scene.law.next_update()) {
            (true, _) => Some(scene.law.updates.next()),
            (false, asked) => asked,
        };
        let mut discards = Vec::new();
        for &step in steps {
            match step {
                Step::Arrive(size) => {
                    let packet = scene.bench.packet(scene.flow, size);
                    (scene.law).enqueue(&mut scene.backlog, packet, &LINE, &mut scene.bench.cx());
                }
                Step::Leave => {
                    let packet =
                        (scene.law).dequeue(&mut scene.backlog, &LINE, &mut scene.bench.cx());
                    if let Some(packet) = packet {
                        scene.bench.end(packet);
                    }
                }
                Step::Wait(span) => {
                    let end = scene.bench.now + span;
                    while let Some(at) = due(&scene).filter(|&at| at <= end) {
                        scene.bench.now = scene.bench.now.max(at);
                        if is_eager {
                            let delay = scene.law.predict(scene.backlog.depth().bytes, &LINE, at);
                            scene.law.control(delay);
                            scene.law.updates.advance();
                        } else {
                            (scene.law).update(&scene.backlog, &LINE, &mut scene.bench.cx());
                        }
                    }
                    scene.bench.now = end;
                    // Both laws are brought up to date here, so that their states can be compared.
                    scene.law.catch_up(scene.backlog.depth().bytes, &LINE, end);
                }
            }
            discards.extend(scene.bench.take_discards());
        }
        (discards, scene.law)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_law_that_skips_updates_decides_as_one_that_does_not(steps in steps()) {
            let (found, rested) = run(&steps, false);
            let (expected, eager) = run(&steps, true);
            prop_assert_eq!(found, expected);
            prop_assert_eq!(format!("{rested:?}"), format!("{eager:?}"));
        }
    }
}
