//! `DualPI2` (RFC 9332, appendix A): two queues with coupled control laws, so that L4S and classic
//! transports can share a line.
//!
//! Packets of senders with scalable congestion control (ECT(1), or already CE: RFC 9331) go to the
//! L queue, all others to the C queue. A proportional-integral controller sets the base probability
//! p′ so that the longer of the two delays approaches a target.
//!
//! - The C queue drops (or marks ECT(0)) with p′², which suits Reno and CUBIC.
//! - The L queue marks with k·p′. It also marks when its own delay exceeds a shallow threshold.
//!
//! With the square and the factor, flows of both kinds get about equal shares. The scheduler can
//! therefore serve the L queue first nearly always.
//!
//! **Overload.** When p′² reaches `1/k²`, marking is saturated at 100 %. From there on, both queues
//! drop with p′², whether or not packets are ECN-capable.
//!
//! Written from the pseudo-code of RFC 9332 appendix A, with the edge cases of A.2. The names are
//! those of the RFC.
//!
//! Choices where the RFC is silent or ambiguous:
//!
//! - The length and the delay of the L queue include the packet that is being dequeued.
//! - The base probability is clamped to 0…1, and the coupled one to 1.
//! - The weighted round-robin counts bytes, and only while both queues hold packets.
//! - Updates fall on multiples of the update interval. No update is scheduled while both queues are
//!   empty and the controller's state is all zero.

use super::recurrence::Recurrence;
use super::{Parameters, QueueDiscipline};
use crate::aqm::proportional_integral::Gains;
use crate::aqm::updates::Updates;
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::{Ecn, Packet};
use crate::queue::{Backlog, BacklogLimit, Depth, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{Limit, Probability, Rate};

/// Parameters of `DualPI2`.
///
/// Use it where L4S senders and classic senders share a line. L4S packets wait for about a
/// millisecond and classic ones for `target`, and all flows get about equal shares.
///
/// Source: RFC 9332.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of both queues together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". A packet is enqueued only if the largest packet would fit.
    pub limit: Limit,
    /// Target delay of the C queue. Raising it fills the line better when few classic connections
    /// share it, and makes their packets wait longer.
    pub target: Duration,
    /// Time between two updates of the base probability (`Tupdate`). Raising it makes the
    /// controller slower.
    pub update_interval: Duration,
    /// Weight of the distance from the target, per second and update. Raising it removes a steady
    /// error faster, and overshoots more.
    pub alpha: f64,
    /// Weight of the change of the delay, per second and update. Raising it damps oscillation, and
    /// reacts more to noise.
    pub beta: f64,
    /// Coupling factor (k): the L queue is marked with k times the base probability. Raising it
    /// leaves more of the line to classic connections.
    pub coupling: f64,
    /// Delay of the L queue above which its own control law marks (`minTh`). Raising it makes
    /// packets of the L queue wait longer, and fills the line better.
    pub threshold: Duration,
    /// Range of delay above `threshold` over which that marking rises from none to all packets
    /// (`range`). Zero makes it a step.
    pub range: Duration,
    /// Packets in the L queue up to which its own control law does not mark (`Th_len`).
    pub threshold_packets: u64,
    /// How the scheduler chooses between the queues: `weighted` or `time_shifted`.
    pub scheduler: Scheduler,
    /// Share of the bytes that the weighted scheduler gives to the C queue while both queues hold
    /// packets. Raising it protects classic connections from a flood of L4S packets, and makes
    /// packets of the L queue wait longer.
    pub classic_share: Probability,
    /// Extra waiting time of a classic packet before the time-shifted scheduler serves it first
    /// (`tshift`).
    pub time_shift: Duration,
}

/// How the scheduler chooses between the two queues.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Serves the packet that has waited longer. Before the comparison, `time_shift` is subtracted
    /// from the waiting time in the C queue.
    TimeShifted,
    /// Weighted round-robin: the C queue gets `classic_share` of the bytes while both queues hold
    /// packets.
    Weighted,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // All values are from RFC 9332 appendix A, Figure 2, unless another source is given.
            limit: Limit::Time(Duration::from_millis(250)),
            target: Duration::from_millis(15),
            // The text under Figure 6: these three values follow from RTT_max = 100 ms.
            update_interval: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            // A step, as in DCTCP and in deployed implementations. The ramp of Figure 2 is 800 µs
            // and 400 µs.
            threshold: Duration::from_millis(1),
            range: Duration::ZERO,
            threshold_packets: 1,
            // Appendix A.2 recommends the weighted scheduler, "e.g., 1/16"; 50 ms is for the public
            // Internet.
            scheduler: Scheduler::Weighted,
            classic_share: Probability(1.0 / 16.0),
            time_shift: Duration::from_millis(50),
        }
    }
}

impl Parameters for Config {
    fn build(&self, rate: Rate, _rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        self.check()?;
        let limit = BacklogLimit::at_rate(self.limit, rate);
        Ok(Box::new(DualPi2::new(self.clone(), limit)))
    }

    fn lets_pass(&self) -> Option<&'static str> {
        Some("has a queue of its own for L4S packets, which pass the others")
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
        if !(self.coupling > 0.0 && self.coupling.is_finite()) {
            return Err("coupling must be above zero".into());
        }
        if !(self.classic_share.0 > 0.0 && self.classic_share.0 < 1.0) {
            return Err(
                "classic_share must be above 0 % and below 100 %: one queue would starve the other"
                    .into(),
            );
        }
        Ok(())
    }

    fn gains(&self) -> Gains {
        Gains {
            alpha: self.alpha,
            beta: self.beta,
            target: self.target,
        }
    }
}

/// One of the two queues (`lq`, `cq`).
#[derive(Debug)]
struct Half {
    backlog: Backlog,
    recurrence: Recurrence,
}

impl Half {
    fn new(limit: BacklogLimit) -> Self {
        // The limit applies to both queues together and is tested before, so a half never reaches
        // it.
        Self {
            backlog: Backlog::new(limit),
            recurrence: Recurrence::default(),
        }
    }

    /// `q.time()`: how long the first packet has been waiting.
    fn time(&self, now: Instant) -> Duration {
        let head = self.backlog.head();
        head.map_or(Duration::ZERO, |head| now - head.enqueued_at)
    }
}

/// The two queues and the controller that couples them.
#[derive(Debug)]
pub struct DualPi2 {
    config: Config,
    /// Limit of both queues together.
    limit: BacklogLimit,
    low: Half,
    classic: Half,
    /// The base probability p′.
    base: f64,
    /// The longer delay at the latest update (`prevq`).
    delay: Duration,
    updates: Updates,
    /// Bytes that the round-robin owes to the C queue.
    owed: f64,
}

impl DualPi2 {
    /// Two empty queues with a common `limit`.
    pub fn new(config: Config, limit: BacklogLimit) -> Self {
        Self {
            updates: Updates::every(config.update_interval),
            config,
            limit,
            low: Half::new(limit),
            classic: Half::new(limit),
            base: 0.0,
            delay: Duration::ZERO,
            owed: 0.0,
        }
    }

    /// `p_C`: the drop probability of the C queue.
    fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// `p_CL`: the marking probability that is coupled to the C queue, at most `p_Lmax` = 1.
    fn coupled_probability(&self) -> f64 {
        (self.config.coupling * self.base).min(1.0)
    }
}

/// RFC 9332 appendix A, Figure 3.
impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.catch_up(cx.now);
        // The limit is tested with the largest packet, so that large packets have no disadvantage.
        let bytes = line
            .max_packet()
            .max(line.framing.size_on_wire(packet.size));
        if !self.limit.admits(self.depth(), bytes) {
            cx.discard(packet, DropReason::Overlimit);
            return;
        }
        let half = match packet.ecn {
            Ecn::Ect1 | Ecn::Ce => &mut self.low,
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic,
        };
        half.backlog.push(packet, line, cx);
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        self.catch_up(cx.now);
        while self.depth().packets > 0 {
            let sent = if self.is_turn_of_low(line, cx.now) {
                self.take_low(line, cx)
            } else {
                self.take_classic(line, cx)
            };
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let arrived = |half: &Half| half.backlog.head().map(|head| head.enqueued_at);
        let is_low = match (arrived(&self.low), arrived(&self.classic)) {
            (Some(low), Some(classic)) => low <= classic,
            (low, _) => low.is_some(),
        };
        let half = if is_low {
            &mut self.low
        } else {
            &mut self.classic
        };
        half.backlog.pop(line)
    }

    fn depth(&self) -> Depth {
        let (low, classic) = (self.low.backlog.depth(), self.classic.backlog.depth());
        Depth {
            packets: low.packets + classic.packets,
            bytes: low.bytes + classic.bytes,
        }
    }

    fn next_update(&self) -> Option<Instant> {
        (!self.is_at_rest()).then_some(self.updates.next())
    }

    fn update(&mut self, _line: &LineView<'_>, cx: &mut Context<'_>) {
        self.catch_up(cx.now);
    }

    fn internals(&self) -> QueueInternals {
        QueueInternals {
            drop_probability: Some(self.classic_probability()),
            delay_estimate_ns: Some(self.delay.as_nanos() as f64),
            ..QueueInternals::default()
        }
    }
}

/// RFC 9332 appendix A.2, Figure 7.
impl DualPi2 {
    /// Dequeues a packet of the L queue; `None` if it was dropped.
    fn take_low(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let coupled = self.coupled_probability();
        let native = self.native_probability(cx.now);
        let mut packet = self.low.backlog.pop(line)?;
        let is_marked = if coupled < 1.0 {
            self.low.recurrence.recurs(native.max(coupled))
        } else if self.low.recurrence.recurs(self.classic_probability()) {
            // Overload: marking is saturated, so the queue must drop.
            cx.discard(packet, DropReason::Congested);
            return None;
        } else {
            self.low.recurrence.recurs(coupled)
        };
        if is_marked {
            cx.mark(&mut packet);
        }
        Some(packet)
    }

    /// Dequeues a packet of the C queue; `None` if it was dropped.
    fn take_classic(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let mut packet = self.classic.backlog.pop(line)?;
        let probability = self.classic_probability();
        if self.classic.recurrence.recurs(probability) {
            // Overload disables ECN.
            let is_overload = probability >= self.max_classic_probability();
            if is_overload || !cx.mark(&mut packet) {
                cx.discard(packet, DropReason::Congested);
                return None;
            }
        }
        Some(packet)
    }

    /// `p_Cmax`: the drop probability from which both queues are overloaded.
    fn max_classic_probability(&self) -> f64 {
        (1.0 / (self.config.coupling * self.config.coupling)).min(1.0)
    }

    /// `laqm`, Figure 5: the L queue's own probability p′_L.
    fn native_probability(&self, now: Instant) -> f64 {
        let Config {
            threshold, range, ..
        } = self.config;
        if self.low.backlog.depth().packets <= self.config.threshold_packets {
            return 0.0;
        }
        match self.low.time(now) {
            delay if delay >= threshold + range => 1.0,
            delay if delay > threshold => {
                (delay - threshold).as_nanos() as f64 / range.as_nanos() as f64
            }
            _ => 0.0,
        }
    }

    /// `scheduler`: whether the L queue is served next.
    fn is_turn_of_low(&mut self, line: &LineView<'_>, now: Instant) -> bool {
        let (Some(low), Some(classic)) = (self.low.backlog.head(), self.classic.backlog.head())
        else {
            // No contention: the round-robin starts again, with the L queue first.
            self.owed = 0.0;
            return self.low.backlog.head().is_some();
        };
        match self.config.scheduler {
            // Appendix B, Figure 10.
            Scheduler::TimeShifted => {
                self.low.time(now) + self.config.time_shift >= self.classic.time(now)
            }
            Scheduler::Weighted => {
                let share = self.config.classic_share.0;
                let [low, classic] = [low, classic].map(|packet| line.framing.bytes(packet) as f64);
                let price = classic * (1.0 - share);
                let is_lows = self.owed < price;
                self.owed += if is_lows { low * share } else { -price };
                is_lows
            }
        }
    }
}

/// RFC 9332 appendix A.2, Figure 8.
impl DualPi2 {
    /// Carries out all updates that are due.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        while self.updates.is_due(now) {
            if self.is_at_rest() {
                self.updates.skip(now);
                return;
            }
            self.control(self.classic.time(now).max(self.low.time(now)));
            self.updates.advance();
        }
    }

    /// `dualpi2_update`, with the longer of the two delays.
    fn control(&mut self, delay: Duration) {
        let step = self.config.gains().step(delay, self.delay);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// Whether an update would change nothing.
    fn is_at_rest(&self) -> bool {
        self.base == 0.0 && self.delay.is_zero() && self.depth().packets == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::testing::Bench;

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    struct Scene {
        bench: Bench,
        flow: FlowId,
        queue: DualPi2,
    }

    impl Scene {
        fn new() -> Self {
            Self::with(|_| {})
        }

        fn with(change: impl Fn(&mut Config)) -> Self {
            let mut config = Config::default();
            change(&mut config);
            let mut bench = Bench::new();
            Self {
                flow: bench.flow(0),
                bench,
                queue: DualPi2::new(config, BacklogLimit::Bytes(312_500)),
            }
        }

        /// Sets the base probability, and postpones the next update so that it stays.
        fn at_base(mut self, base: f64) -> Self {
            self.queue.base = base;
            self.queue.updates.skip(at(1_000_000));
            self
        }

        fn arrive(&mut self, packets: usize, ecn: Ecn) -> &mut Self {
            for _ in 0..packets {
                let mut packet = self.bench.packet(self.flow, 1000);
                packet.ecn = ecn;
                self.queue.enqueue(packet, &LINE, &mut self.bench.cx());
            }
            self
        }

        fn dequeue(&mut self) -> Option<(u64, Ecn)> {
            let packet = self.queue.dequeue(&LINE, &mut self.bench.cx())?;
            let seen = (packet.seq, packet.ecn);
            self.bench.end(packet);
            Some(seen)
        }

        /// Dequeues all packets: their ECN fields in the order of sending, and the number of
        /// discarded packets.
        fn drain(&mut self) -> (Vec<Ecn>, usize) {
            self.bench.take_log();
            let sent = std::iter::from_fn(|| self.dequeue().map(|(_, ecn)| ecn)).collect();
            (sent, self.bench.take_discards().len())
        }
    }

    // The controller.

    /// Delays that rise and fall. p′ is computed by hand from line 3 of Figure 8, `p_C` and `p_CL`
    /// from p′.
    #[test]
    fn the_base_probability_follows_the_delay() {
        let mut queue = Scene::new().queue;
        let steps = [
            (15, 0.048, 0.002_304),
            (20, 0.0648, 0.004_199),
            (30, 0.0992, 0.009_841),
            (30, 0.1016, 0.010_323),
            (30, 0.104, 0.010_816),
            (20, 0.0728, 0.0053),
            (15, 0.0568, 0.003_226),
            (10, 0.04, 0.0016),
        ];
        for (delay, base, classic) in steps {
            queue.control(ms(delay));
            assert!(
                (queue.base - base).abs() < 1e-12,
                "{} at {delay}",
                queue.base
            );
            assert!((queue.classic_probability() - classic).abs() < 1e-6);
            assert!((queue.coupled_probability() - 2.0 * base).abs() < 1e-12);
        }
    }

    #[test]
    fn the_base_probability_stays_between_0_and_1_and_the_coupled_one_below_1() {
        let mut queue = Scene::new().queue;
        for _ in 0..100 {
            queue.control(Duration::from_secs(1));
        }
        let [base, coupled] = [queue.base, queue.coupled_probability()];
        assert_eq!([base, coupled].map(f64::to_bits), [1.0_f64.to_bits(); 2]);
        for _ in 0..1000 {
            queue.control(Duration::ZERO);
        }
        assert_eq!(queue.base.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn the_longer_of_the_two_delays_drives_it() {
        let mut scene = Scene::new();
        scene.arrive(1, Ecn::Ect1);
        scene.bench.now = at(10);
        scene.arrive(1, Ecn::NotEct);
        scene.bench.now = at(16);
        scene.queue.update(&LINE, &mut scene.bench.cx());
        assert_eq!(scene.queue.delay, ms(16));
        scene.queue.low.backlog = Backlog::new(BacklogLimit::Unlimited);
        scene.bench.now = at(32);
        scene.queue.update(&LINE, &mut scene.bench.cx());
        assert_eq!(scene.queue.delay, ms(22));
    }

    // Classification and limit.

    #[test]
    fn ect1_and_ce_go_to_the_low_latency_queue_and_the_others_to_the_classic_one() {
        let mut scene = Scene::new();
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ce] {
            scene.arrive(1, ecn);
        }
        let depth = |half: &Half| half.backlog.depth().packets;
        assert_eq!(
            (depth(&scene.queue.low), depth(&scene.queue.classic)),
            (3, 2)
        );
    }

    #[test]
    fn both_queues_share_one_limit_and_a_largest_packet_must_fit() {
        let mut scene = Scene::new();
        scene.queue.limit = BacklogLimit::Bytes(10_000);
        scene.arrive(5, Ecn::Ect1).arrive(5, Ecn::NotEct);
        // Behind 8000 B the largest packet still fits; behind 9000 B it does not.
        assert_eq!(scene.queue.depth().bytes, 9000);
        let discards = scene.bench.take_discards();
        assert_eq!(discards, [(at(0), DropReason::Overlimit)]);
    }

    // Signals.

    #[test]
    fn the_low_latency_queue_is_marked_from_a_millisecond_on() {
        let marked = |waited| {
            let mut scene = Scene::new();
            scene.queue.low.recurrence.recurs(1e-9);
            scene.arrive(2, Ecn::Ect1);
            scene.bench.advance(waited);
            scene.dequeue().expect("it waits").1 == Ecn::Ce
        };
        assert!(!marked(us(1000) - Duration::from_nanos(1)));
        assert!(marked(us(1000)));
    }

    /// The ramp of RFC 9332, Figure 2: by hand, the probability at 900 µs is a quarter.
    #[test]
    fn a_ramp_rises_from_its_threshold_over_its_range() {
        let mut scene = Scene::with(|config| {
            config.threshold = us(800);
            config.range = us(400);
        });
        scene.arrive(2, Ecn::Ect1);
        let found = [800, 900, 1000, 1199, 1200, 5000]
            .map(|micros| scene.queue.native_probability(Instant::ZERO + us(micros)));
        let expected = [0.0, 0.25, 0.5, 0.9975, 1.0, 1.0];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-12,
                "{found} is not {expected}"
            );
        }
    }

    #[test]
    fn a_single_packet_is_not_marked_however_slow_the_line() {
        let mut scene = Scene::new();
        scene.arrive(1, Ecn::Ect1);
        assert_eq!(scene.queue.native_probability(at(50)).to_bits(), 0);
        scene.arrive(1, Ecn::Ect1);
        let native = scene.queue.native_probability(at(50));
        assert_eq!(native.to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn the_coupled_probability_marks_one_queue_and_its_quarter_square_drops_in_the_other() {
        let mut scene = Scene::new().at_base(0.25);
        scene.arrive(100, Ecn::Ect1);
        let (sent, discards) = scene.drain();
        let marks = sent.iter().filter(|&&ecn| ecn == Ecn::Ce).count();
        assert_eq!((marks, discards), (49, 0), "every second");
        scene.arrive(97, Ecn::NotEct);
        assert_eq!(scene.drain().1, 6, "every sixteenth");
        scene.arrive(96, Ecn::Ect0);
        let (sent, discards) = scene.drain();
        let marks = sent.iter().filter(|&&ecn| ecn == Ecn::Ce).count();
        assert_eq!((marks, discards), (6, 0), "capable packets are marked");
    }

    // Overload.

    #[test]
    fn from_a_half_on_both_queues_drop_whatever_packets_are_capable_of() {
        let mut scene = Scene::new().at_base(0.5);
        scene.arrive(100, Ecn::Ect0);
        let (sent, discards) = scene.drain();
        assert_eq!(discards, 24, "a quarter, after the first four");
        assert!(
            sent.iter().all(|&ecn| ecn == Ecn::Ect0),
            "and none is marked"
        );
        scene.arrive(100, Ecn::Ect1);
        let (sent, discards) = scene.drain();
        assert!((23..=25).contains(&discards), "{discards}");
        let unmarked = sent.iter().filter(|&&ecn| ecn != Ecn::Ce).count();
        assert!(unmarked <= 1, "all that are left are marked");
    }

    #[test]
    fn just_below_a_half_capable_packets_are_still_marked() {
        let mut scene = Scene::new().at_base(0.4999);
        scene.arrive(100, Ecn::Ect0);
        assert_eq!(scene.drain().1, 0);
        scene.arrive(100, Ecn::Ect1);
        assert_eq!(scene.drain().1, 0);
    }

    /// Packets arrive at 1.5 times the rate; their senders claim to respond to marks and do not.
    #[test]
    fn a_flood_of_the_low_latency_queue_is_kept_at_the_classic_target() {
        let mut scene = Scene::new();
        let mut delays = Vec::new();
        for tick in 0..180_000_u64 {
            scene.bench.now = Instant::ZERO + us(533) * tick;
            scene.arrive(1, Ecn::Ect1);
            if tick % 3 > 0 {
                scene.dequeue();
            }
            scene.bench.take_log();
            if tick > 90_000 {
                delays.push(scene.queue.delay);
            }
        }
        delays.sort_unstable();
        let median = delays[delays.len() / 2];
        assert!(ms(13) < median && median < ms(17), "{median}");
        // A third of the packets must be dropped, so p′² is a third.
        let classic = scene.queue.classic_probability();
        assert!((0.28..0.39).contains(&classic), "{classic}");
    }

    // The scheduler.

    /// Positions of the classic packets among 64 sent packets; both queues hold equally many.
    fn order(share: f64) -> Vec<usize> {
        let mut scene = Scene::with(|config| config.classic_share = Probability(share));
        scene.arrive(80, Ecn::Ect1).arrive(80, Ecn::NotEct);
        let is_classic = |_: &usize| scene.dequeue().is_some_and(|(seq, _)| seq >= 80);
        (1..=64).filter(is_classic).collect()
    }

    #[test]
    fn the_round_robin_gives_every_sixteenth_packet_to_the_classic_queue() {
        let found = order(1.0 / 16.0);
        assert_eq!(found, [16, 32, 48, 64]);
        let found = order(0.5);
        assert_eq!(found.len(), 32);
        assert_eq!(found[..3], [2, 4, 6]);
    }

    #[test]
    fn the_round_robin_counts_bytes() {
        let mut scene = Scene::new();
        scene.arrive(60, Ecn::Ect1);
        for _ in 0..10 {
            let packet = scene.bench.packet(scene.flow, 250);
            scene.queue.enqueue(packet, &LINE, &mut scene.bench.cx());
        }
        let is_classic = |_: &usize| scene.dequeue().is_some_and(|(seq, _)| seq >= 60);
        let found: Vec<usize> = (1..=20).filter(is_classic).collect();
        // The C queue earns 250 B while the other queue sends 3750 B, which is four packets. A
        // quarter of the last packet counts for the next turn.
        assert_eq!(found, [5, 10, 15, 19]);
    }

    #[test]
    fn without_contention_nothing_is_owed() {
        let mut scene = Scene::new();
        scene.arrive(20, Ecn::Ect1);
        for _ in 0..15 {
            scene.dequeue();
        }
        scene.arrive(1, Ecn::NotEct);
        assert!(scene.dequeue().is_some_and(|(seq, _)| seq == 15));
    }

    #[test]
    fn a_time_shift_lets_the_classic_queue_go_first_when_it_has_waited_longer_by_more() {
        let first = |waited| {
            let mut scene = Scene::with(|config| config.scheduler = Scheduler::TimeShifted);
            scene.arrive(1, Ecn::NotEct);
            scene.bench.advance(waited);
            scene.arrive(1, Ecn::Ect1);
            scene.dequeue().expect("two wait").0
        };
        assert_eq!(first(ms(50)), 1, "the low-latency packet");
        assert_eq!(first(ms(50) + Duration::from_nanos(1)), 0);
    }

    #[test]
    fn no_update_is_scheduled_until_a_packet_waits_and_after_the_state_is_zero_again() {
        let mut scene = Scene::new();
        assert_eq!(scene.queue.next_update(), None);
        scene.bench.now = at(100);
        scene.arrive(1, Ecn::NotEct);
        assert_eq!(scene.queue.next_update(), Some(at(112)));
        scene.dequeue();
        assert_eq!(scene.queue.next_update(), None);
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
        assert!(refused(|config| config.alpha = -1.0));
        assert!(refused(|config| config.coupling = 0.0));
        assert!(refused(|config| config.classic_share = Probability(0.0)));
        assert!(refused(|config| config.classic_share = Probability(1.0)));
    }
}
