//! PIE, Proportional Integral controller Enhanced (RFC 8033): drops at arrival, with a probability
//! that a controller updates every 15 ms.
//!
//! The controller compares the queue delay with its target and with the delay at the last update.
//! It changes the drop probability by `alpha` times the first difference plus `beta` times the
//! second. This step is divided by a number that is larger for small probabilities (auto-tuning).
//!
//! A queue that has just become busy gets a burst allowance, during which no packet is dropped. No
//! packet is dropped either while the delay is low or the queue is almost empty, so that drops
//! never leave the line idle.
//!
//! Written from the pseudo-code of RFC 8033 §4 and appendix A. The optional elements of §5 and
//! appendix B are parameters: marking, the delay estimate, de-randomised drops, the capped step,
//! and the delay below which the probability decays. Activation at a third of the buffer (§5.3) is
//! left out.
//!
//! Deviation: the delay of an empty queue is zero. In appendix A, the delay of the last packet that
//! left would stay valid until another one leaves.
//!
//! **Updates** are due at multiples of the update interval since time zero, and come before all
//! other events at the same time. No update is scheduled while the queue is empty and the
//! controller's state is all zero, because it would change nothing.

use super::Aqm;
use super::delay_estimate::{DelayEstimate, Estimator};
use super::derandomiser::{self, Derandomise, Derandomiser, Run};
use super::proportional_integral::{DECAY, Gains, capped, tuning};
use super::updates::Updates;
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Probability, Rate};

/// Parameters of PIE.
///
/// Use it where a queue must be kept short by drops at arrival, with little work per packet, and
/// the rate is not known in advance.
///
/// Source: RFC 8033.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited"
    /// (`TAIL_DROP`). Raising it lets the queue absorb longer bursts; the controller, not the
    /// limit, keeps the delay short.
    pub limit: Limit,
    /// Target of the controller for the delay (`QDELAY_REF`). Raising it fills the line better when
    /// few connections share it, and makes all packets wait longer.
    pub target: Duration,
    /// Time between two updates of the drop probability (`T_UPDATE`). Raising it makes the
    /// controller slower.
    pub update_interval: Duration,
    /// Weight of the distance from the target, per second and update. Raising it removes a steady
    /// error faster, and overshoots more.
    pub alpha: f64,
    /// Weight of the change of the delay, per second and update. Raising it damps oscillation, and
    /// reacts more to noise.
    pub beta: f64,
    /// Drop probability before the first update. If `update_interval` is longer than the run, it
    /// stays constant: the queue drops with a fixed probability.
    pub initial_probability: Probability,
    /// Time without drops after a queue has become busy (`MAX_BURST`). Raising it lets longer
    /// bursts pass, and delays the control.
    pub max_burst: Duration,
    /// Mean packet size (`MEAN_PKTSIZE`). No packet is dropped while the queue holds at most twice
    /// this size, which is the RFC's "a couple" of packets.
    pub mean_packet: ByteCount,
    /// How the delay is estimated: `timestamps` (appendix A), `departure_time` (§5.2, appendix B),
    /// `departure_rate` (as in the drafts), or an estimate from the state of a cable line.
    pub delay_estimate: DelayEstimate,
    /// Bytes that must depart for one measurement, for `departure_time` and `departure_rate`
    /// (`DQ_THRESHOLD`). Raising it makes the estimate smoother, and needs a longer queue before
    /// anything is measured.
    pub departure_threshold: ByteCount,
    /// Whether ECN-capable packets are marked instead of dropped, while the probability is below
    /// `mark_limit` (§5.1).
    pub ecn: bool,
    /// Probability from which ECN-capable packets are dropped as well (`mark_ecnth`).
    pub mark_limit: Probability,
    /// How the distance between drops is bounded (§5.4): `off`, `reached` as in the RFC, or
    /// `exceeded` as in the AQM paper.
    pub derandomise: Derandomise,
    /// Sum of the probabilities of the enqueued packets below which no packet is dropped, if drops
    /// are de-randomised.
    pub probability_low: f64,
    /// Sum of the probabilities of the enqueued packets at which the next packet is dropped in any
    /// case, if drops are de-randomised.
    pub probability_high: f64,
    /// Whether a step is limited to 0.02 while the probability is a tenth or more (§5.5).
    pub cap_step: bool,
    /// Delay up to which the probability decays: by 2 % at each update, if the delay is no longer
    /// than this now and at the last update (appendix A: zero; appendix B: half the target).
    pub decay_below: Duration,
    /// Whose PIE this is: that of the RFC, whose optional elements are keys, or that of Linux,
    /// which sets some of them.
    pub system: PieSystem,
}

/// Whose PIE a queue is.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PieSystem {
    /// That of Linux: it bounds the distance between drops (`derandomise` is `reached`), caps the
    /// step (`cap_step`), and drops nothing while two Ethernet frames wait (`mean_packet` is 1514
    /// B).
    Linux,
    /// That of RFC 8033: the keys say which elements it has, by default those of appendix A.
    #[default]
    Rfc8033,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Common implementations; the RFC names none.
            limit: Limit::Packets(1000),
            // RFC 8033 §4.2, §4.4 and appendix A.
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            initial_probability: Probability(0.0),
            max_burst: Duration::from_millis(150),
            // RFC 8034 appendix A; RFC 8033 uses the name without a number.
            mean_packet: ByteCount(1024),
            // RFC 8033 appendix A.
            delay_estimate: DelayEstimate::Timestamps,
            // RFC 8033 appendix B.
            departure_threshold: ByteCount(1 << 14),
            // Choice: marking is optional in the RFC, and enabled in deployed implementations.
            ecn: true,
            // RFC 8033 §5.1.
            mark_limit: Probability(0.1),
            // RFC 8033 appendix A has neither of these; §5.4 has the bounds.
            derandomise: Derandomise::Off,
            probability_low: 0.85,
            probability_high: 8.5,
            cap_step: false,
            decay_below: Duration::ZERO,
            system: PieSystem::Rfc8033,
        }
    }
}

impl LawParameters for Config {
    type Law = Pie;

    fn law(&self, _rate: Rate, rng: Rng) -> Result<Pie, String> {
        self.check()?;
        Ok(Pie::new(self.clone(), rng))
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
        if self.system == PieSystem::Linux && self.optional() != Self::default().optional() {
            return Err(
                "system = \"linux\" sets derandomise, cap_step and mean_packet: leave them out"
                    .into(),
            );
        }
        if self.mean_packet.0 == 0 || self.departure_threshold.0 == 0 {
            return Err("mean_packet and departure_threshold must be larger than zero".into());
        }
        derandomiser::check_bounds(self.probability_low, self.probability_high)
    }

    /// The keys that a system other than the RFC sets.
    fn optional(&self) -> (Derandomise, bool, ByteCount) {
        (self.derandomise, self.cap_step, self.mean_packet)
    }

    /// The parameters with those of the system.
    fn of_system(self) -> Self {
        match self.system {
            PieSystem::Rfc8033 => self,
            // Measured on Linux 6.1 (docs/models/pie.md).
            PieSystem::Linux => Self {
                derandomise: Derandomise::Reached,
                cap_step: true,
                mean_packet: ByteCount(1514),
                ..self
            },
        }
    }

    fn gains(&self) -> Gains {
        Gains {
            alpha: self.alpha,
            beta: self.beta,
            target: self.target,
        }
    }
}

/// The state of PIE (RFC 8033 appendix A).
///
/// A scheduler can use it in two ways. Either each of its queues has a law of its own, as an
/// [`Aqm`]. Or one law covers all queues; the scheduler then calls [`Self::drops_early`] and
/// [`Self::mark`] at each arrival, and [`Self::departed`] and [`Self::overflowed`] to report
/// events.
#[derive(Debug)]
pub struct Pie {
    config: Config,
    drop_probability: f64,
    /// The sum of the drop probabilities since the last drop (`accu_prob_`).
    derandomiser: Derandomiser,
    /// Delay at the latest update (`qdelay_old_`).
    delay: Duration,
    burst_allowance: Duration,
    estimator: Estimator,
    updates: Updates,
    is_empty: bool,
    rng: Rng,
}

impl Pie {
    /// The control law before its first packet.
    pub fn new(config: Config, rng: Rng) -> Self {
        let config = config.of_system();
        Self {
            drop_probability: config.initial_probability.0,
            derandomiser: Derandomiser::new(
                config.derandomise,
                config.probability_low,
                config.probability_high,
            ),
            delay: Duration::ZERO,
            // RFC 8033 §4.4 starts with the whole allowance. Here, the first packet sets it.
            burst_allowance: Duration::ZERO,
            estimator: Estimator::new(config.delay_estimate, config.departure_threshold.0),
            updates: Updates::every(config.update_interval),
            is_empty: true,
            config,
            rng,
        }
    }
}

impl Aqm for Pie {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        mut packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let waiting = backlog.depth().bytes;
        if !backlog.fits(&packet, line) {
            self.catch_up(waiting, line, cx.now);
            self.overflowed();
            cx.discard(packet, DropReason::Overlimit);
        } else if self.drops_early(waiting, || 1.0, line, cx.now) && !self.mark(&mut packet, cx) {
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
        let packet = backlog.pop(line);
        if let Some(sent) = &packet {
            self.departed(sent, backlog.depth().bytes, line, cx.now);
        }
        packet
    }

    fn next_update(&self) -> Option<Instant> {
        (!self.is_at_rest()).then_some(self.updates.next())
    }

    fn update(&mut self, backlog: &Backlog, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.catch_up(backlog.depth().bytes, line, cx.now);
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

/// The data path: RFC 8033 §4.1 and §4.4, at each arrival.
impl Pie {
    /// Whether a packet that arrives behind `waiting` bytes must be dropped or marked. `share`
    /// scales the probability for this packet; it is called only if the probability is above zero.
    #[inline]
    pub(crate) fn drops_early(
        &mut self,
        waiting: u64,
        share: impl FnOnce() -> f64,
        line: &LineView<'_>,
        now: Instant,
    ) -> bool {
        self.catch_up(waiting, line, now);
        self.allow_burst(waiting);
        if !self.burst_allowance.is_zero() || self.is_spared(waiting) {
            return false;
        }
        let probability = if self.drop_probability > 0.0 {
            self.drop_probability * share()
        } else {
            self.derandomiser.clear();
            0.0
        };
        self.derandomiser.count(probability);
        let drops = match self.derandomiser.run() {
            Run::Short => false,
            Run::Open => self.rng.uniform() < probability,
            Run::Long => true,
        };
        if drops {
            self.derandomiser.clear();
        }
        drops
    }

    /// Marks a packet that was to be dropped, if marking is allowed (§5.1).
    pub(crate) fn mark(&self, packet: &mut Packet, cx: &mut Context<'_>) -> bool {
        self.config.ecn && self.drop_probability < self.config.mark_limit.0 && cx.mark(packet)
    }

    /// Called after a packet was enqueued.
    #[inline]
    pub(crate) fn enqueued(&mut self) {
        self.is_empty = false;
    }

    /// Called after a packet did not fit.
    pub(crate) fn overflowed(&mut self) {
        self.derandomiser.clear();
    }

    /// Called after a packet departed; `waiting` bytes are still in the queue.
    #[inline]
    pub(crate) fn departed(
        &mut self,
        packet: &Packet,
        waiting: u64,
        line: &LineView<'_>,
        now: Instant,
    ) {
        let sojourn = now - packet.enqueued_at;
        self.estimator
            .departed(line.framing.bytes(packet), sojourn, waiting, now);
        self.is_empty = waiting == 0;
    }

    /// §4.4: sets the whole allowance while the delay is low.
    fn allow_burst(&mut self, waiting: u64) {
        // Between updates, only timestamps give a newer estimate.
        let latest = self.estimator.latest(waiting);
        let half = self.config.target / 2;
        let is_calm = self.drop_probability == 0.0 && self.delay < half;
        if is_calm && latest.is_none_or(|delay| delay < half) {
            self.burst_allowance = self.config.max_burst;
        }
    }

    /// §4.1: cases in which a drop could leave the line idle.
    fn is_spared(&self, waiting: u64) -> bool {
        let is_calm = self.delay < self.config.target / 2 && self.drop_probability < CALM;
        is_calm || waiting <= 2 * self.config.mean_packet.0
    }
}

/// The control path: RFC 8033 §4.2, at each update.
impl Pie {
    /// Carries out all updates that are due. Several can be due only after updates were skipped,
    /// and the queue was empty all that time.
    #[inline]
    pub(crate) fn catch_up(&mut self, waiting: u64, line: &LineView<'_>, now: Instant) {
        // A scheduler may have emptied the queue without calling this law.
        self.is_empty |= waiting == 0;
        if self.updates.is_due(now) {
            self.make_updates(waiting, line, now);
        }
    }

    fn make_updates(&mut self, waiting: u64, line: &LineView<'_>, now: Instant) {
        while self.updates.is_due(now) {
            self.estimator.update(line, now);
            if self.is_at_rest() {
                self.updates.skip(now);
                return;
            }
            // If no estimate is possible now, the last one stays valid.
            let delay = self.estimator.delay(waiting, line, now);
            self.control(delay.unwrap_or(self.delay));
            self.updates.advance();
        }
    }

    /// Whether an update would change nothing.
    fn is_at_rest(&self) -> bool {
        self.is_empty
            && self.drop_probability == 0.0
            && self.burst_allowance.is_zero()
            && self.delay.is_zero()
    }

    /// `calculate_drop_prob`, with `delay` as the new estimate.
    fn control(&mut self, delay: Duration) {
        let config = &self.config;
        let mut step = config.gains().step(delay, self.delay) / tuning(self.drop_probability);
        if config.cap_step {
            step = capped(step, self.drop_probability);
        }
        let mut probability = self.drop_probability + step;
        if delay <= config.decay_below && self.delay <= config.decay_below {
            probability *= DECAY;
        }
        self.drop_probability = probability.clamp(0.0, 1.0);
        self.delay = delay;
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update_interval);
    }
}

/// §4.1: below this probability, no packet is dropped while the delay is below half the target.
const CALM: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::queue::BacklogLimit;
    use crate::testing::Bench;
    use crate::units::Rate;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn law(change: impl Fn(&mut Config)) -> Pie {
        let mut config = Config::default();
        change(&mut config);
        Pie::new(config, Rng::for_path(1, "queue"))
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() <= 5e-6 * expected.abs().max(1e-9),
            "{found} is not {expected}"
        );
    }

    // The control path. The vectors were computed from RFC 8033 §4.2 by an independent script, in
    // doubles, starting from p = 0 and a previous delay of 0.

    #[test]
    fn a_constant_50_ms_raises_the_probability_step_by_step() {
        let mut law = law(|_| {});
        let expected = [
            (1, 3.26538e-5),
            (2, 6.68335e-5),
            (3, 1.01013e-4),
            (4, 2.37732e-4),
            (5, 3.74451e-4),
            (10, 1.05804e-3),
            (20, 6.52679e-3),
            (27, 0.010_354_9),
            (28, 0.012_542_4),
            (30, 0.016_917_4),
        ];
        let mut sequence = vec![0.0];
        for _ in 0..30 {
            law.control(ms(50));
            sequence.push(law.drop_probability);
        }
        for (update, expected) in expected {
            assert_near(sequence[update], expected);
        }
    }

    #[test]
    fn a_delay_that_rises_and_falls_is_followed() {
        let mut law = law(|_| {});
        let delays = [15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 30, 30, 30];
        let expected = [
            9.15527e-6, 2.2583e-5, 8.11768e-5, 1.44653e-4, 4.18091e-4, 7.1106e-4, 1.02356e-3,
            2.35168e-3, 3.75793e-3, 5.24231e-3, 7.89185e-4, 8.47778e-4, 9.06372e-4,
        ];
        for (delay, expected) in delays.into_iter().zip(expected) {
            law.control(ms(delay));
            assert_near(law.drop_probability, expected);
        }
    }

    #[test]
    fn the_probability_stays_between_0_and_1() {
        let mut law = law(|_| {});
        for _ in 0..1000 {
            law.control(Duration::from_secs(2));
        }
        assert_near(law.drop_probability, 1.0);
        for _ in 0..1000 {
            law.control(Duration::ZERO);
        }
        assert_near(law.drop_probability, 0.0);
        assert!(!law.drop_probability.is_sign_negative());
    }

    #[test]
    fn it_decays_when_two_delays_in_a_row_are_zero() {
        let mut law = law(|_| {});
        (law.drop_probability, law.delay) = (0.5, ms(1));
        law.control(Duration::ZERO);
        // By hand: 0.5 − 0.125 × 15 ms − 1.25 × 1 ms.
        assert_near(law.drop_probability, 0.496_875);
        law.control(Duration::ZERO);
        assert_near(law.drop_probability, (0.496_875 - 0.001_875) * 0.98);
    }

    #[test]
    fn it_may_decay_below_half_the_target_as_in_appendix_b() {
        let after = |decay_below| {
            let mut law = law(|config| config.decay_below = decay_below);
            (law.drop_probability, law.delay) = (0.5, ms(7));
            law.control(ms(7));
            law.drop_probability
        };
        assert_near(after(Duration::ZERO), 0.499);
        assert_near(after(Duration::from_micros(7500)), 0.499 * 0.98);
    }

    #[test]
    fn a_capped_step_is_no_larger_than_two_hundredths() {
        let after = |cap_step, before| {
            let mut law = law(|config| config.cap_step = cap_step);
            law.drop_probability = before;
            law.control(ms(215));
            law.drop_probability
        };
        // By hand: 0.125 × 200 ms + 1.25 × 215 ms = 0.29375.
        assert_near(after(false, 0.1), 0.393_75);
        assert_near(after(true, 0.1), 0.12);
        assert_near(after(true, 0.05), 0.05 + 0.146_875);
    }

    #[test]
    fn an_allowance_of_150_ms_lasts_ten_updates() {
        let mut law = law(|_| {});
        law.burst_allowance = ms(150);
        for update in 1..=10 {
            assert!(!law.burst_allowance.is_zero(), "before update {update}");
            law.control(ms(50));
        }
        assert!(law.burst_allowance.is_zero());
        // Unlike in DOCSIS-PIE, the probability has risen meanwhile.
        assert_near(law.drop_probability, 1.05804e-3);
    }

    // The data path.

    /// A law over a backlog of `waiting` packets of 1000 bytes.
    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        law: Pie,
    }

    impl Scene {
        fn new(law: Pie, waiting: usize) -> Self {
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let mut backlog = Backlog::new(BacklogLimit::Packets(40));
            for _ in 0..waiting {
                let packet = bench.packet(flow, 1000);
                backlog.push(packet, &LINE, &mut bench.cx());
            }
            let mut scene = Self {
                bench,
                flow,
                backlog,
                law,
            };
            scene.law.is_empty = waiting == 0;
            scene
        }

        fn in_control(mut self, drop_probability: f64, delay: Duration) -> Self {
            self.law.drop_probability = drop_probability;
            self.law.delay = delay;
            self
        }

        fn arrive(&mut self, ecn: Ecn) -> Vec<DropReason> {
            let mut packet = self.bench.packet(self.flow, 1000);
            packet.ecn = ecn;
            self.law
                .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            let reasons = self.bench.take_discards().into_iter();
            reasons.map(|(_, reason)| reason).collect()
        }

        fn dequeue(&mut self) -> Option<Ecn> {
            let packet = self
                .law
                .dequeue(&mut self.backlog, &LINE, &mut self.bench.cx())?;
            let ecn = packet.ecn;
            self.bench.end(packet);
            Some(ecn)
        }

        fn drops_early(&mut self) -> bool {
            let waiting = self.backlog.depth().bytes;
            self.law.drops_early(waiting, || 1.0, &LINE, self.bench.now)
        }
    }

    #[test]
    fn a_packet_is_spared_up_to_a_backlog_of_two_mean_packets() {
        for (waiting, drops) in [(2, false), (3, true)] {
            let mut scene = Scene::new(law(|_| {}), waiting).in_control(1.0, ms(40));
            assert_eq!(scene.drops_early(), drops, "behind {waiting} packets");
        }
    }

    #[test]
    fn a_calm_queue_is_spared_below_half_the_target_and_a_probability_of_a_fifth() {
        // With de-randomised drops at the upper bound, the result is not random.
        let drops = |probability, micros| {
            let law = law(|config| config.derandomise = Derandomise::Reached);
            let delay = Duration::from_micros(micros);
            let mut scene = Scene::new(law, 10).in_control(probability, delay);
            scene.law.derandomiser.set_accumulated(8.5);
            scene.drops_early()
        };
        assert!(!drops(0.199, 7499));
        assert!(drops(0.2, 7499));
        assert!(drops(0.199, 7500));
    }

    #[test]
    fn packets_are_dropped_as_often_as_the_probability_says() {
        let mut scene = Scene::new(law(|_| {}), 10).in_control(0.3, ms(40));
        let drops = (0..20_000).filter(|_| scene.drops_early()).count();
        // Four standard deviations are 260.
        assert!((5740..=6260).contains(&drops), "{drops} of 20 000");
    }

    #[test]
    fn an_initial_probability_stays_until_the_first_update() {
        let fixed = law(|config| {
            config.initial_probability = Probability(0.3);
            config.update_interval = Duration::from_secs(3600);
            (config.target, config.mean_packet) = (Duration::ZERO, ByteCount(1));
        });
        let mut scene = Scene::new(fixed, 10);
        scene.bench.advance(Duration::from_secs(3599));
        let drops = (0..20_000).filter(|_| scene.drops_early()).count();
        // Four standard deviations are 260.
        assert!((5740..=6260).contains(&drops), "{drops} of 20 000");
        scene.bench.advance(Duration::from_secs(1));
        scene.drops_early();
        assert!(scene.law.drop_probability < 0.3, "no delay: it decays");
    }

    #[test]
    fn a_share_scales_the_probability() {
        let mut scene = Scene::new(law(|_| {}), 10).in_control(0.8, ms(40));
        let waiting = scene.backlog.depth().bytes;
        let mut drops = |share| {
            let falls = (0..20_000).filter(|_| {
                scene
                    .law
                    .drops_early(waiting, || share, &LINE, Instant::ZERO)
            });
            falls.count()
        };
        assert_eq!(drops(0.0), 0);
        let half = drops(0.5);
        assert!((7700..=8300).contains(&half), "{half} of 20 000");
    }

    #[test]
    fn derandomised_drops_keep_their_distance() {
        let law = law(|config| config.derandomise = Derandomise::Reached);
        let mut scene = Scene::new(law, 10).in_control(0.0625, ms(40));
        let drops: Vec<usize> = (1..=2000).filter(|_| scene.drops_early()).collect();
        let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.len() > 50);
        assert!(gaps.iter().all(|gap| (14..=136).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn linux_keeps_the_distance_between_drops_and_spares_what_waits_behind_two_frames() {
        let linux = || law(|config| config.system = PieSystem::Linux);
        let mut scene = Scene::new(linux(), 10).in_control(0.0625, ms(40));
        let drops: Vec<usize> = (1..=2000).filter(|_| scene.drops_early()).collect();
        let gaps: Vec<usize> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.len() > 50);
        assert!(gaps.iter().all(|gap| (14..=136).contains(gap)), "{gaps:?}");
        // Two frames are 3028 B. Packets that are spared do not count for the distance.
        for (waiting, drops) in [(3, false), (4, true)] {
            let mut scene = Scene::new(linux(), waiting).in_control(1.0, ms(40));
            scene.law.derandomiser.set_accumulated(8.5);
            assert_eq!(scene.drops_early(), drops, "behind {waiting} packets");
        }
        let mut capped = linux();
        (capped.drop_probability, capped.delay) = (0.2, ms(15));
        capped.control(ms(200));
        assert_near(capped.drop_probability, 0.22);
    }

    #[test]
    fn capable_packets_are_marked_below_a_tenth_and_dropped_from_there_on() {
        let outcome = |probability, ecn, marks| {
            let law = law(|config| {
                config.derandomise = Derandomise::Reached;
                config.ecn = marks;
            });
            let mut scene = Scene::new(law, 3).in_control(probability, ms(40));
            scene.law.derandomiser.set_accumulated(8.5);
            let dropped = !scene.arrive(ecn).is_empty();
            assert!(scene.law.derandomiser.accumulated() == 0.0, "a run ends");
            let marked = std::iter::from_fn(|| scene.dequeue()).any(|ecn| ecn == Ecn::Ce);
            (dropped, marked)
        };
        assert_eq!(outcome(0.099, Ecn::Ect0, true), (false, true));
        assert_eq!(outcome(0.1, Ecn::Ect0, true), (true, false));
        assert_eq!(outcome(0.099, Ecn::NotEct, true), (true, false));
        assert_eq!(outcome(0.099, Ecn::Ect0, false), (true, false));
    }

    #[test]
    fn a_full_buffer_discards_and_resets_the_accumulated_probability() {
        let mut scene = Scene::new(law(|_| {}), 40).in_control(0.01, ms(40));
        scene.law.derandomiser.set_accumulated(0.5);
        assert_eq!(scene.arrive(Ecn::Ect0), [DropReason::Overlimit]);
        assert_near(scene.law.derandomiser.accumulated(), 0.0);
    }

    // Bursts.

    #[test]
    fn a_calm_queue_gets_the_whole_allowance_and_a_busy_one_none() {
        let allowance = |probability, before, latest| {
            let mut scene = Scene::new(law(|_| {}), 3).in_control(probability, before);
            scene.law.estimator = Estimator::Timestamps { latest };
            scene.drops_early();
            scene.law.burst_allowance
        };
        let calm = Duration::from_micros(7499);
        assert_eq!(allowance(0.0, calm, calm), ms(150));
        assert_eq!(allowance(1e-9, calm, calm), Duration::ZERO);
        let half = Duration::from_micros(7500);
        assert_eq!(allowance(0.0, half, calm), Duration::ZERO);
        assert_eq!(allowance(0.0, calm, half), Duration::ZERO);
    }

    #[test]
    fn nothing_is_dropped_while_an_allowance_lasts() {
        let mut scene = Scene::new(law(|_| {}), 10).in_control(1.0, ms(40));
        scene.law.burst_allowance = ms(1);
        assert!(!scene.drops_early());
        scene.law.burst_allowance = Duration::ZERO;
        assert!(scene.drops_early());
    }

    // The whole control law.

    #[test]
    fn the_delay_is_that_of_the_packet_that_left_last_and_zero_when_none_waits() {
        let mut scene = Scene::new(law(|_| {}), 2);
        scene.bench.advance(ms(10));
        scene.dequeue();
        scene.bench.advance(ms(5));
        scene.arrive(Ecn::NotEct);
        assert_eq!(scene.law.delay, ms(10));
        scene.dequeue();
        scene.dequeue();
        scene.bench.advance(ms(15));
        scene.arrive(Ecn::NotEct);
        assert_eq!(scene.law.delay, Duration::ZERO);
    }

    /// 1250 B arrive for every 1000 B that leave, for 120 s: a fifth of the packets must be
    /// dropped, and the delay settles near the target.
    fn mean_delay_of_an_overload(estimate: DelayEstimate) -> (f64, f64) {
        let config = Config {
            limit: Limit::Unlimited,
            delay_estimate: estimate,
            ..Config::default()
        };
        let mut scene = Scene::new(Pie::new(config, Rng::for_path(1, "queue")), 0);
        scene.backlog = Backlog::new(BacklogLimit::Unlimited);
        let (mut delay, mut probability) = (0.0, 0.0);
        for tick in 0..600_000_u32 {
            scene.arrive(Ecn::NotEct);
            // A packet of 1000 B leaves every 0.8 ms, and one arrives every 0.64 ms.
            if tick % 5 != 0 {
                scene.dequeue();
            }
            scene.bench.advance(Duration::from_micros(640));
            if tick >= 300_000 {
                delay += scene.law.delay.as_secs_f64();
                probability += scene.law.drop_probability;
            }
        }
        (delay / 300_000.0, probability / 300_000.0)
    }

    #[test]
    fn an_overload_by_a_quarter_settles_at_the_target_and_a_probability_of_a_fifth() {
        for estimate in [
            DelayEstimate::Timestamps,
            DelayEstimate::DepartureTime,
            DelayEstimate::DepartureRate,
            DelayEstimate::TokenBuckets,
        ] {
            let (delay, probability) = mean_delay_of_an_overload(estimate);
            assert!(
                (delay - 0.015).abs() < 0.0015 && (probability - 0.2).abs() < 0.01,
                "{estimate:?}: {delay} s at a probability of {probability}"
            );
        }
    }

    #[test]
    fn no_update_is_scheduled_until_a_packet_waits_and_updates_stay_on_multiples_of_the_interval() {
        let mut scene = Scene::new(law(|_| {}), 0);
        assert_eq!(scene.law.next_update(), None);
        scene.bench.advance(ms(100));
        scene.arrive(Ecn::NotEct);
        let first = Instant::ZERO + ms(105);
        assert_eq!(scene.law.next_update(), Some(first));
        scene.dequeue();
        let mut updates = 0;
        while let Some(at) = scene.law.next_update() {
            scene.bench.now = at;
            scene
                .law
                .update(&scene.backlog, &LINE, &mut scene.bench.cx());
            updates += 1;
        }
        assert_eq!(updates, 10, "as long as the allowance lasts");
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
        assert!(refused(|config| config.beta = -1.0));
        assert!(refused(|config| config.mean_packet = ByteCount(0)));
        assert!(refused(|config| config.departure_threshold = ByteCount(0)));
        assert!(refused(|config| config.probability_high = 0.5));
        assert!(refused(|config| {
            config.system = PieSystem::Linux;
            config.cap_step = true;
        }));
    }
}
