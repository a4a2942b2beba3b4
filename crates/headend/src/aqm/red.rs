//! RED, Random Early Detection: drops at arrival, with a probability that grows with the average
//! queue.
//!
//! The [average](super::average) ignores short bursts and follows standing queues.
//!
//! - Below `min_threshold`, no packet is dropped.
//! - Between the thresholds, the arriving packet is dropped with probability `p_a`. `p_b` grows
//!   linearly from 0 to `max_probability`, and `p_a = p_b / (1 − count·p_b)` spreads the drops
//!   evenly, where `count` is the number of packets since the last drop.
//! - Above `max_threshold`, or when the queue is full, a drop is forced. The dropped packet is
//!   drawn from the whole queue and the arriving packet.
//!
//! Written from Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance"
//! (1993) §4 to §7; the forced drop from "Lightweight Active Router-Queue Management for Multimedia
//! Networking" (CBT) §2.1; `gentle` from Floyd, "Recommendation on using the gentle variant of RED"
//! (2000); `adaptive` from Floyd, Gummadi and Shenker, "Adaptive RED" (2001) §3 to §5. What
//! `system = "linux"` sets was measured on a Linux 6.1, and follows from the manual page tc-red(8).
//!
//! Deviations:
//!
//! - During a pause, the average decays by the length of the pause in packet times, including
//!   fractions.
//! - Adaptive RED adapts at the first arrival after an interval, not by a timer. It does not adapt
//!   while the line is idle.
//! - With `ecn`, early drops become marks. Forced drops do not: a queue above its upper threshold
//!   must become shorter.

use super::Aqm;
use super::average::{Average, Unit};
use super::random_drop::draw_victim;
use crate::aqm::LawParameters;
use crate::context::Context;
use crate::math;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, BacklogLimit, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Probability, Rate};

/// Parameters of RED.
///
/// Use it to study what came before today's control laws, or at a router with many TCP connections.
/// Its thresholds must be tuned to the line.
///
/// Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993);
/// Floyd, Gummadi and Shenker, "Adaptive RED" (2001).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// The room above the thresholds is for bursts.
    pub limit: Limit,
    /// Average queue below which no packet is dropped. With thresholds in packets, RED counts
    /// packets; with sizes, or times at the line's rate, it counts bytes. Raising it lets longer
    /// bursts pass, and makes all packets wait longer.
    pub min_threshold: Limit,
    /// Average queue from which each arrival causes a drop. Raising it widens the range in which
    /// early drops control the queue.
    pub max_threshold: Limit,
    /// Probability of an early drop just below `max_threshold`. Raising it controls more
    /// connections, and keeps a few connections from filling the line.
    pub max_probability: Probability,
    /// Weight of the newest sample in the average. Raising it makes the average follow the queue
    /// sooner, including bursts.
    pub weight: Probability,
    /// Whether the probability rises linearly to 1 between `max_threshold` and twice that value, in
    /// place of a forced drop at each arrival above `max_threshold`.
    pub gentle: bool,
    /// Whether the probability of an early drop is scaled by the packet's size divided by
    /// `mean_packet` (byte mode). It drops small packets less often; RFC 7141 advises against it.
    pub by_size: bool,
    /// Size of a typical packet. Pauses are counted in its transmission time, and `by_size`
    /// compares sizes with it.
    pub mean_packet: ByteCount,
    /// Which packet a forced drop discards.
    pub victim: Victim,
    /// Whether ECN-capable packets are marked instead of dropped early.
    pub ecn: bool,
    /// Packets that must wait for the average to count: an arrival that finds fewer passes, as
    /// below `min_threshold`. With 2, nothing is dropped unless more than one packet waits, as in
    /// ns-2 and ns-3; the paper has no such rule. Raising it spares bursts on an idle line.
    pub min_waiting: u64,
    /// Adaptive RED: the law adjusts `max_probability` itself, derives the thresholds and the
    /// weight from the line's rate, and is gentle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// Where `weight`, `victim`, and what `adaptive` adjusts come from.
    pub system: RedSystem,
}

/// Whose RED a queue is.
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
pub enum RedSystem {
    /// That of `tc red`: `weight` is the largest power of two that lets a burst of
    /// `(2·min_threshold + max_threshold)/3` pass (the paper's §6), a forced drop is that of the
    /// arrival, and `adaptive` keeps the thresholds that are written, and is not gentle.
    Linux,
    /// That of the papers: the keys say it.
    #[default]
    Paper,
}

/// Which packet a forced drop discards.
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
pub enum Victim {
    /// The packet that arrives.
    Arrival,
    /// A random packet, drawn evenly from the packets in the queue and the arriving one.
    #[default]
    Random,
}

/// Parameters of adaptive RED.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adaptive {
    /// Target of the average queueing delay. A target shorter than 10 packets is raised to 10
    /// packets. Raising it fills the line better, and makes all packets wait longer.
    pub target: Duration,
    /// Time between two steps of `max_probability`. Raising it adapts more slowly.
    pub interval: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // "Lightweight Active Router-Queue Management" §4: 60, 15 and 30 packets, so the
            // thresholds are a quarter and a half of the queue.
            limit: Limit::Packets(60),
            min_threshold: Limit::Packets(15),
            max_threshold: Limit::Packets(30),
            // That paper gives no value. 1/10 is the value of the ALTQ routers that it used, and
            // Floyd's later recommendation.
            max_probability: Probability(0.1),
            // The same paper, §2.1.
            weight: Probability(1.0 / 512.0),
            gentle: false,
            by_size: false,
            // ALTQ's default: a packet time of 800 µs at 10 Mbit/s.
            mean_packet: ByteCount(1000),
            victim: Victim::Random,
            ecn: true,
            // ns-2's rule is not the paper's.
            min_waiting: 0,
            adaptive: None,
            system: RedSystem::Paper,
        }
    }
}

impl LawParameters for Config {
    type Law = Red;

    fn law(&self, rate: Rate, rng: Rng) -> Result<Red, String> {
        self.check(rate)?;
        Ok(Red::new(self, rate, rng))
    }
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            // "Adaptive RED" §4 and §5.
            target: Duration::from_millis(5),
            interval: Duration::from_millis(500),
        }
    }
}

impl Config {
    /// Checks the parameters for a line of this rate.
    ///
    /// # Errors
    ///
    /// A sentence about the first invalid parameter.
    pub fn check(&self, rate: Rate) -> Result<(), String> {
        if self.weight.0 <= 0.0 {
            return Err("weight must be above 0".into());
        }
        if self.max_probability.0 <= 0.0 {
            return Err("max_probability must be above 0".into());
        }
        if self.mean_packet.0 == 0 {
            return Err("mean_packet must be larger than zero".into());
        }
        match (&self.adaptive, self.system) {
            (None, RedSystem::Paper) => self.check_thresholds(rate),
            (adaptive, RedSystem::Linux) => {
                self.check_linux(adaptive.as_ref())?;
                self.check_thresholds(rate)
            }
            (Some(adaptive), RedSystem::Paper) => self.check_adaptive(adaptive, rate),
        }
    }

    fn check_thresholds(&self, rate: Rate) -> Result<(), String> {
        check_thresholds(self.min_threshold, self.max_threshold, self.limit, rate)
    }

    fn check_linux(&self, adaptive: Option<&Adaptive>) -> Result<(), String> {
        let usual = Self::default();
        let set = |config: &Self| (config.weight.0.to_bits(), config.victim, config.gentle);
        if set(self) != set(&usual) {
            return Err("system = \"linux\" sets weight, victim and gentle: leave them out".into());
        }
        let Some(adaptive) = adaptive else {
            return Ok(());
        };
        if adaptive.target != Adaptive::default().target {
            return Err(
                "system = \"linux\" keeps the thresholds: leave adaptive.target out".into(),
            );
        }
        if adaptive.interval.is_zero() {
            return Err("adaptive.interval must be longer than zero".into());
        }
        Ok(())
    }

    fn check_adaptive(&self, adaptive: &Adaptive, rate: Rate) -> Result<(), String> {
        let usual = Self::default();
        let derived = |config: &Self| {
            (
                config.min_threshold,
                config.max_threshold,
                config.weight.0.to_bits(),
            )
        };
        if derived(self) != derived(&usual) {
            return Err(
                "adaptive derives min_threshold, max_threshold and weight: leave them out".into(),
            );
        }
        if adaptive.interval.is_zero() || adaptive.target.is_zero() {
            return Err("adaptive.target and adaptive.interval must be longer than zero".into());
        }
        if rate.0 == 0 {
            return Err("adaptive needs a line with a rate".into());
        }
        let (_, max) = adaptive.thresholds(self.packets_per_second(rate));
        match BacklogLimit::at_rate(self.limit, rate) {
            BacklogLimit::Packets(limit) if max > limit as f64 => Err(format!(
                "limit (\"{}\") must not be below the upper threshold that adaptive.target gives \
                 ({} packets)",
                self.limit,
                max.ceil()
            )),
            _ => Ok(()),
        }
    }

    /// The weight that tc derives: the largest power of two with which a burst from an empty queue
    /// leaves the average below the lower threshold (Floyd and Jacobson 1993 §6, equation 3).
    /// tc-red(8) recommends the burst.
    fn weight_of_burst(&self, rate: Rate) -> f64 {
        let of = |threshold| {
            Unit::of_threshold(threshold, rate).expect("the check wants bounded thresholds")
        };
        let ((unit, min), (_, max)) = (of(self.min_threshold), of(self.max_threshold));
        let packet = match unit {
            Unit::Bytes => self.mean_packet.0 as f64,
            Unit::Packets => 1.0,
        };
        let burst = ((2.0 * min + max) / (3.0 * packet)).floor();
        let is_passed = |weight: f64| {
            let left = math::powf(1.0 - weight, burst + 1.0);
            (1.0 - left) / weight > burst + 1.0 - min / packet
        };
        let mut weight = 1.0;
        while weight > LEAST_WEIGHT && !is_passed(weight) {
            weight /= 2.0;
        }
        weight
    }

    /// C of "Adaptive RED".
    fn packets_per_second(&self, rate: Rate) -> f64 {
        rate.bytes_per_sec() / self.mean_packet.0 as f64
    }
}

impl Adaptive {
    /// "Adaptive RED" §4: the lower threshold is half the target, and at least five packets. The
    /// upper threshold is three times that.
    fn thresholds(&self, packets_per_second: f64) -> (f64, f64) {
        let min = (self.target.as_secs_f64() * packets_per_second / 2.0).max(5.0);
        (min, 3.0 * min)
    }
}

/// The smallest weight that tc has, 2⁻³¹.
const LEAST_WEIGHT: f64 = 1.0 / (1_u64 << 31) as f64;

/// Checks the thresholds.
///
/// # Errors
///
/// A sentence that says why no law can have these thresholds.
pub(super) fn check_thresholds(
    min: Limit,
    max: Limit,
    limit: Limit,
    rate: Rate,
) -> Result<(), String> {
    let of = |threshold| Unit::of_threshold(threshold, rate);
    let (Some((min_unit, least)), Some((max_unit, most))) = (of(min), of(max)) else {
        return Err("min_threshold and max_threshold must be packets, sizes or times".into());
    };
    if min_unit != max_unit {
        return Err(format!(
            "min_threshold (\"{min}\") and max_threshold (\"{max}\") must both be packets, or both \
             sizes or times"
        ));
    }
    if least >= most {
        return Err(format!(
            "min_threshold (\"{min}\") must be below max_threshold (\"{max}\")"
        ));
    }
    match of(limit) {
        Some((unit, room)) if unit == max_unit && room < most => Err(format!(
            "max_threshold (\"{max}\") must not be above limit (\"{limit}\")"
        )),
        _ => Ok(()),
    }
}

/// The result of RED's test of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A packet must be dropped: the arriving one or another.
    Forced,
    /// The arriving packet is dropped or marked.
    Early,
    /// The arriving packet is enqueued.
    Pass,
}

/// The average and the drop test of RED, without the queue.
#[derive(Debug)]
pub(super) struct Detector {
    unit: Unit,
    average: Average,
    min: f64,
    max: f64,
    max_probability: f64,
    is_gentle: bool,
    /// Packets without which the average does not count.
    min_waiting: u64,
    /// Bytes of a typical packet.
    mean_packet: u64,
    is_by_size: bool,
    /// Arrivals since the last drop; `None` (−1 in the paper) while the average is below the lower
    /// threshold.
    count: Option<u64>,
}

impl Detector {
    /// The detector of an empty queue before a line of this rate. The parameters must have been
    /// checked.
    pub(super) fn new(config: &Config, rate: Rate) -> Self {
        let of = |threshold| {
            Unit::of_threshold(threshold, rate).expect("the check wants bounded thresholds")
        };
        let (unit, min) = of(config.min_threshold);
        let (_, max) = of(config.max_threshold);
        Self {
            unit,
            average: Average::new(config.weight.0, config.mean_packet),
            min,
            max,
            max_probability: config.max_probability.0,
            is_gentle: config.gentle,
            min_waiting: config.min_waiting,
            mean_packet: config.mean_packet.0,
            is_by_size: config.by_size,
            count: None,
        }
    }

    /// The unit in which the queue is measured.
    pub(super) fn unit(&self) -> Unit {
        self.unit
    }

    /// Adds a sample to the average: a packet arrives behind `queue`.
    pub(super) fn observe(&mut self, queue: f64, now: Instant, line: &LineView<'_>) {
        self.average.sample(queue, now, line.rate);
    }

    /// Called when the queue becomes empty.
    pub(super) fn note_empty(&mut self, now: Instant) {
        self.average.note_empty(now);
    }

    /// The test of an arrival of `size` bytes behind `waiting` packets (Floyd and Jacobson 1993,
    /// figure 2).
    pub(super) fn test_arrival(&mut self, size: u64, waiting: u64, rng: &mut Rng) -> Verdict {
        let average = self.average.value();
        if average < self.min || waiting < self.min_waiting {
            self.count = None;
            return Verdict::Pass;
        }
        if average >= self.forced_threshold() {
            self.count = Some(0);
            return Verdict::Forced;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let drops = rng.uniform() < spread(self.base_probability(size), count);
        self.count = Some(if drops { 0 } else { count });
        if drops { Verdict::Early } else { Verdict::Pass }
    }

    /// Keeps the average at `average` from now on, for tests.
    #[cfg(test)]
    pub(super) fn hold(&mut self, average: f64) {
        self.average = Average::new(1.0, ByteCount(1000));
        self.average.sample(average, Instant::ZERO, Rate(0));
        self.average.freeze();
    }

    /// Restarts the count after a packet was dropped without [`Self::test_arrival`].
    pub(super) fn note_drop(&mut self) {
        self.count = Some(0);
    }

    /// The average from which each arrival causes a drop.
    fn forced_threshold(&self) -> f64 {
        if self.is_gentle {
            2.0 * self.max
        } else {
            self.max
        }
    }

    /// `p_b` of a typical packet at the current average.
    pub(super) fn probability(&self) -> f64 {
        let average = self.average.value();
        if average < self.min {
            0.0
        } else if average >= self.forced_threshold() {
            1.0
        } else if average < self.max {
            self.max_probability * (average - self.min) / (self.max - self.min)
        } else {
            self.max_probability + (1.0 - self.max_probability) * (average - self.max) / self.max
        }
    }

    fn base_probability(&self, size: u64) -> f64 {
        let scale = if self.is_by_size {
            size as f64 / self.mean_packet as f64
        } else {
            1.0
        };
        (self.probability() * scale).min(1.0)
    }

    /// The internal state, for the time series of the results.
    pub(super) fn internals(&self) -> QueueInternals {
        let average = Some(self.average.value());
        let (packets, bytes) = match self.unit {
            Unit::Bytes => (None, average),
            Unit::Packets => (average, None),
        };
        QueueInternals {
            drop_probability: Some(self.probability()),
            average_packets: packets,
            average_bytes: bytes,
            ..QueueInternals::default()
        }
    }
}

/// `p_a`: spreads drops of probability `p_b` evenly; `count` is the number of packets since the
/// last drop (Floyd and Jacobson 1993 §7, method 2).
pub(super) fn spread(base: f64, count: u64) -> f64 {
    let left = 1.0 - count as f64 * base;
    if left > base { base / left } else { 1.0 }
}

/// "Adaptive RED" §3.1: additive increase, multiplicative decrease of `max_probability`.
#[derive(Debug)]
struct Adaptation {
    interval: Duration,
    next: Instant,
}

impl Adaptation {
    fn step(&mut self, detector: &mut Detector, now: Instant) {
        if now < self.next {
            return;
        }
        self.next = now + self.interval;
        let span = detector.max - detector.min;
        let average = detector.average.value();
        let probability = &mut detector.max_probability;
        if average > detector.min + 0.6 * span && *probability <= MOST_PROBABLE {
            *probability += LARGEST_STEP.min(*probability / 4.0);
        } else if average < detector.min + 0.4 * span && *probability >= LEAST_PROBABLE {
            *probability *= DECREASE;
        }
    }
}

// "Adaptive RED" §3.1.
const MOST_PROBABLE: f64 = 0.5;
const LEAST_PROBABLE: f64 = 0.01;
const LARGEST_STEP: f64 = 0.01;
const DECREASE: f64 = 0.9;

/// RED with its queue state, over one backlog.
#[derive(Debug)]
pub struct Red {
    detector: Detector,
    adaptation: Option<Adaptation>,
    victim: Victim,
    ecn: bool,
    rng: Rng,
}

impl Red {
    /// RED before its first packet, for a line of this rate. The parameters must have been checked.
    pub fn new(config: &Config, rate: Rate, rng: Rng) -> Self {
        let mut detector = Detector::new(config, rate);
        if config.system == RedSystem::Linux {
            detector.average = Average::new(config.weight_of_burst(rate), config.mean_packet);
        } else if let Some(adaptive) = &config.adaptive {
            let packets_per_second = config.packets_per_second(rate);
            (detector.min, detector.max) = adaptive.thresholds(packets_per_second);
            // "Adaptive RED" §5: a time constant of one second.
            let weight = 1.0 - math::exp(-1.0 / packets_per_second);
            detector.average = Average::new(weight, config.mean_packet);
            detector.is_gentle = true;
        }
        let adaptation = config.adaptive.as_ref().map(|adaptive| Adaptation {
            interval: adaptive.interval,
            next: Instant::ZERO + adaptive.interval,
        });
        Self {
            detector,
            adaptation,
            victim: match config.system {
                RedSystem::Linux => Victim::Arrival,
                RedSystem::Paper => config.victim,
            },
            ecn: config.ecn,
            rng,
        }
    }

    /// Drops a packet, and enqueues the arriving one if it is not the dropped one.
    fn force(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        reason: DropReason,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        if self.victim == Victim::Arrival {
            return cx.discard(packet, reason);
        }
        force_random(&mut self.rng, backlog, packet, reason, line, cx);
    }
}

/// A forced drop as in CBT §2.1: of any packet, including the arriving one. If the limit is in
/// bytes, as many packets are dropped as the arriving one needs.
fn force_random(
    rng: &mut Rng,
    backlog: &mut Backlog,
    packet: Packet,
    reason: DropReason,
    line: &LineView<'_>,
    cx: &mut Context<'_>,
) {
    loop {
        let Some(victim) = draw_victim(rng, backlog, line) else {
            return cx.discard(packet, reason);
        };
        cx.discard(victim, reason);
        if backlog.fits(&packet, line) {
            backlog.push(packet, line, cx);
            return;
        }
    }
}

impl Aqm for Red {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        mut packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        let waiting = self.detector.unit().of(backlog.depth());
        self.detector.observe(waiting, cx.now, line);
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.step(&mut self.detector, cx.now);
        }
        let size = line.framing.size_on_wire(packet.size);
        let depth = backlog.depth().packets;
        match self.detector.test_arrival(size, depth, &mut self.rng) {
            Verdict::Forced => self.force(backlog, packet, DropReason::Forced, line, cx),
            Verdict::Early if self.ecn && backlog.fits(&packet, line) && cx.mark(&mut packet) => {
                backlog.push(packet, line, cx);
            }
            Verdict::Early => cx.discard(packet, DropReason::Congested),
            Verdict::Pass if backlog.fits(&packet, line) => {
                backlog.push(packet, line, cx);
            }
            Verdict::Pass => {
                self.detector.note_drop();
                self.force(backlog, packet, DropReason::Overlimit, line, cx);
            }
        }
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let packet = backlog.pop(line)?;
        if backlog.head().is_none() {
            self.detector.note_empty(cx.now);
        }
        Some(packet)
    }

    fn evicted(
        &mut self,
        backlog: &Backlog,
        _packet: &Packet,
        _line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        if backlog.head().is_none() {
            self.detector.note_empty(cx.now);
        }
    }

    fn is_periodic(&self) -> bool {
        false
    }

    fn internals(&self) -> QueueInternals {
        self.detector.internals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::testing::Bench;
    use crate::trace::TraceEvent;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn rng() -> Rng {
        Rng::for_path(1, "queue")
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    /// A detector whose average is `average`.
    fn detector(config: &Config, average: f64) -> Detector {
        let mut detector = Detector::new(config, RATE);
        detector.hold(average);
        detector
    }

    /// RED over a backlog; the tests call both directly.
    struct Scene {
        bench: Bench,
        flow: FlowId,
        backlog: Backlog,
        red: Red,
    }

    impl Scene {
        /// The queue holds `waiting` packets of 1000 bytes, and the average stays at `average`.
        fn new(config: &Config, waiting: usize, average: f64) -> Self {
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let mut backlog = Backlog::new(BacklogLimit::at_rate(config.limit, RATE));
            for _ in 0..waiting {
                let packet = bench.packet(flow, 1000);
                backlog.push(packet, &LINE, &mut bench.cx());
            }
            bench.take_log();
            let mut red = Red::new(config, RATE, rng());
            red.detector = detector(config, average);
            Self {
                bench,
                flow,
                backlog,
                red,
            }
        }

        /// A packet of 1000 bytes arrives. Returns the numbers of the dropped packets and the
        /// reasons.
        fn arrive(&mut self, ecn: Ecn) -> Vec<(u64, DropReason)> {
            let mut packet = self.bench.packet(self.flow, 1000);
            packet.ecn = ecn;
            self.red
                .enqueue(&mut self.backlog, packet, &LINE, &mut self.bench.cx());
            let discarded = |(_, event)| match event {
                TraceEvent::Discarded { packet, reason, .. } => Some((packet.seq, reason)),
                _ => None,
            };
            let log = self.bench.take_log();
            log.into_iter().filter_map(discarded).collect()
        }
    }

    // The drop test. The figures are computed by hand from p_b = max_p (avg − min) / (max − min)
    // and p_a = p_b / (1 − count p_b).

    #[test]
    fn the_probability_grows_in_a_line_between_the_thresholds() {
        let config = Config::default();
        let of = |average| detector(&config, average).probability();
        for (average, expected) in [
            (14.999, 0.0),
            (15.0, 0.0),
            (18.0, 0.02),
            (20.0, 0.1 / 3.0),
            (22.5, 0.05),
            (26.0, 0.11 / 1.5),
            (30.0, 1.0),
            (45.0, 1.0),
        ] {
            assert_near(of(average), expected);
        }
    }

    #[test]
    fn the_gentle_variant_rises_on_to_1_at_twice_the_upper_threshold() {
        let config = Config {
            gentle: true,
            ..Config::default()
        };
        let of = |average| detector(&config, average).probability();
        for (average, expected) in [
            (22.5, 0.05),
            (30.0, 0.1),
            (45.0, 0.55),
            (59.0, 0.97),
            (60.0, 1.0),
        ] {
            assert_near(of(average), expected);
        }
    }

    #[test]
    fn the_count_since_the_last_drop_raises_the_probability_to_certainty() {
        for (count, expected) in [
            (0, 0.05),
            (1, 0.05 / 0.95),
            (5, 0.05 / 0.75),
            (10, 0.1),
            (18, 0.5),
            (19, 1.0),
            (30, 1.0),
        ] {
            assert_near(spread(0.05, count), expected);
        }
    }

    #[test]
    fn gaps_between_drops_are_spread_evenly() {
        let mut detector = detector(&Config::default(), 22.5);
        detector.note_drop();
        let mut rng = rng();
        let mut counts = [0_u32; 20];
        for _ in 0..19_000 {
            let gap = (1..20).find(|_| detector.test_arrival(1000, 60, &mut rng) == Verdict::Early);
            counts[gap.expect("a drop comes")] += 1;
        }
        // p_b = 1/20: each of 1, 2, … 19 is equally likely, 1000 times of 19 000. The standard
        // deviation is 31.
        assert_eq!(counts[0], 0);
        assert!(
            counts[1..]
                .iter()
                .all(|&count| (870..1130).contains(&count)),
            "{counts:?}"
        );
    }

    #[test]
    fn below_the_lower_threshold_nothing_is_dropped_and_the_count_is_reset() {
        let config = Config::default();
        let mut below = detector(&config, 14.9);
        below.count = Some(7);
        assert_eq!(below.test_arrival(1000, 60, &mut rng()), Verdict::Pass);
        assert_eq!(below.count, None);
        let mut within = detector(&config, 15.1);
        within.test_arrival(1000, 60, &mut rng());
        assert_eq!(within.count, Some(0), "the first packet counts as none");
    }

    #[test]
    fn by_size_a_packet_is_dropped_in_proportion_to_its_bytes() {
        let config = Config {
            by_size: true,
            ..Config::default()
        };
        let detector = detector(&config, 22.5);
        assert_near(detector.base_probability(1000), 0.05);
        assert_near(detector.base_probability(1500), 0.075);
        assert_near(detector.base_probability(40), 0.002);
    }

    #[test]
    fn thresholds_in_bytes_or_time_are_compared_with_bytes() {
        let config = Config {
            min_threshold: Limit::Time(Duration::from_millis(4)),
            max_threshold: Limit::Bytes(ByteCount(20_000)),
            limit: Limit::Bytes(ByteCount(60_000)),
            ..Config::default()
        };
        assert_eq!(config.check(RATE), Ok(()));
        let mut red = Red::new(&config, RATE, rng());
        assert_eq!((red.detector.min, red.detector.max), (5000.0, 20_000.0));
        let mut scene = Scene::new(&config, 30, 0.0);
        red.detector.average = Average::new(1.0, ByteCount(1000));
        scene.red = red;
        scene.arrive(Ecn::NotEct);
        assert_eq!(scene.red.internals().average_bytes, Some(30_000.0));
        assert_eq!(scene.red.internals().average_packets, None);
    }

    // Packets in the queue.

    #[test]
    fn a_forced_drop_takes_any_packet_and_lets_the_arrival_in_for_it() {
        let mut victims = [0_u32; 10];
        for _ in 0..300 {
            let mut scene = Scene::new(&Config::default(), 9, 30.0);
            scene.red.rng = Rng::for_path(u64::from(victims.iter().sum::<u32>()), "victims");
            let cost = scene.arrive(Ecn::Ect0);
            let [(victim, DropReason::Forced)] = cost[..] else {
                panic!("one packet falls: {cost:?}");
            };
            victims[victim as usize] += 1;
            assert_eq!(scene.backlog.depth().packets, 9);
        }
        // 30 drops of each packet are expected, with a standard deviation of 5.2.
        assert!(
            victims.iter().all(|&count| (12..52).contains(&count)),
            "{victims:?}"
        );
    }

    #[test]
    fn a_forced_drop_may_be_set_to_take_the_arrival() {
        let config = Config {
            victim: Victim::Arrival,
            ..Config::default()
        };
        let mut scene = Scene::new(&config, 9, 30.0);
        assert_eq!(scene.arrive(Ecn::NotEct), [(9, DropReason::Forced)]);
    }

    #[test]
    fn a_full_queue_forces_a_drop_below_the_upper_threshold_too() {
        let mut scene = Scene::new(&Config::default(), 60, 10.0);
        let cost = scene.arrive(Ecn::NotEct);
        assert!(matches!(cost[..], [(_, DropReason::Overlimit)]), "{cost:?}");
        assert_eq!(scene.backlog.depth().packets, 60);
        assert_eq!(scene.red.detector.count, Some(0));
    }

    #[test]
    fn an_early_drop_takes_the_arrival_or_marks_it() {
        let mut scene = Scene::new(&Config::default(), 20, 22.5);
        scene.red.detector.count = Some(30);
        assert_eq!(scene.arrive(Ecn::NotEct), [(20, DropReason::Congested)]);
        scene.red.detector.count = Some(30);
        assert_eq!(scene.arrive(Ecn::Ect0), []);
        let newest = scene.backlog.depth().packets as usize - 1;
        let marked = scene
            .backlog
            .remove(newest, &LINE)
            .expect("it was taken in");
        assert_eq!(marked.ecn, Ecn::Ce);
        scene.red.ecn = false;
        scene.red.detector.count = Some(30);
        assert_eq!(scene.arrive(Ecn::Ect0), [(22, DropReason::Congested)]);
    }

    #[test]
    fn the_average_decays_while_the_queue_is_empty() {
        let mut scene = Scene::new(&Config::default(), 1, 0.0);
        scene.red.detector.average = Average::new(1.0 / 512.0, ByteCount(1000));
        for _ in 0..512 {
            scene.red.detector.average.sample(60.0, Instant::ZERO, RATE);
        }
        let before = scene.red.detector.average.value();
        let last = (scene.red).dequeue(&mut scene.backlog, &LINE, &mut scene.bench.cx());
        scene.bench.end(last.expect("one waits"));
        // 100 packets of 1000 B at 10 Mbit/s: (511/512)^100 is 0.822420…
        scene.bench.advance(Duration::from_millis(80));
        scene.arrive(Ecn::NotEct);
        let ratio = scene.red.detector.average.value() / before;
        assert!((ratio - 0.822_420_478_591_385_8).abs() < 1e-12, "{ratio}");
    }

    // Adaptive RED.

    fn adaptive() -> Config {
        Config {
            adaptive: Some(Adaptive::default()),
            limit: Limit::Packets(400),
            ..Config::default()
        }
    }

    #[test]
    fn adaptive_red_derives_its_parameters_from_the_rate() {
        // 1250 packets/s: 5 ms are 6.25 packets, below the minimum. 25 000 packets/s: 125 packets,
        // half of which is 62.5.
        for (rate, min, weight) in [
            (10_000_000, 5.0, 0.000_799_680_085_316_278_9),
            (200_000_000, 62.5, 0.000_039_999_200_010_631_95),
        ] {
            let red = Red::new(&adaptive(), Rate(rate), rng());
            assert_near(red.detector.min, min);
            assert_near(red.detector.max, 3.0 * min);
            let mut average = red.detector.average.clone();
            average.sample(1.0, Instant::ZERO, RATE);
            assert_near(average.value(), weight);
            assert!(red.detector.is_gentle);
        }
    }

    #[test]
    fn the_probability_rises_by_a_hundredth_at_most_and_falls_by_a_tenth() {
        // Thresholds 15 and 30: the probability rises above 24 and falls below 21, every half
        // second.
        let step = |average, probability| {
            let mut detector = detector(&Config::default(), average);
            detector.max_probability = probability;
            let mut adaptation = Adaptation {
                interval: Duration::from_millis(500),
                next: Instant::ZERO,
            };
            adaptation.step(&mut detector, Instant::ZERO);
            let once = detector.max_probability;
            adaptation.step(&mut detector, Instant::from_nanos(499_999_999));
            assert_near(detector.max_probability, once);
            once
        };
        assert_near(step(24.1, 0.1), 0.11);
        assert_near(step(24.1, 0.02), 0.025);
        assert_near(step(24.1, 0.501), 0.501);
        assert_near(step(22.5, 0.1), 0.1);
        assert_near(step(20.9, 0.1), 0.09);
        assert_near(step(20.9, 0.0099), 0.0099);
    }

    // Parameters.

    #[track_caller]
    fn assert_refused(reason: &str, change: fn(&mut Config)) {
        let mut config = Config::default();
        change(&mut config);
        let refusal = config.check(RATE).expect_err("it makes no sense");
        assert!(refusal.contains(reason), "{refusal}");
    }

    #[test]
    fn invalid_parameters_are_refused() {
        assert_eq!(Config::default().check(RATE), Ok(()));
        assert_eq!(adaptive().check(RATE), Ok(()));
        assert_refused("weight", |config| config.weight = Probability(0.0));
        assert_refused("max_probability", |config| {
            config.max_probability = Probability(0.0);
        });
        assert_refused("mean_packet", |config| config.mean_packet = ByteCount(0));
        assert_refused("min_threshold (\"30 packets\") must be below", |config| {
            config.min_threshold = Limit::Packets(30);
        });
        assert_refused("must both be packets", |config| {
            config.max_threshold = Limit::Bytes(ByteCount(30_000));
        });
        assert_refused("must be packets, sizes or times", |config| {
            config.max_threshold = Limit::Unlimited;
        });
        assert_refused("must not be above limit (\"20 packets\")", |config| {
            config.limit = Limit::Packets(20);
        });
        assert_refused("leave them out", |config| {
            config.adaptive = Some(Adaptive::default());
            config.weight = Probability(0.1);
        });
        assert_refused("sets weight, victim and gentle", |config| {
            config.system = RedSystem::Linux;
            config.weight = Probability(0.1);
        });
        assert_refused("leave adaptive.target out", |config| {
            config.system = RedSystem::Linux;
            config.adaptive = Some(Adaptive {
                target: Duration::from_millis(6),
                ..Adaptive::default()
            });
        });
        assert_refused("longer than zero", |config| {
            config.adaptive = Some(Adaptive {
                target: Duration::ZERO,
                ..Adaptive::default()
            });
        });
    }

    /// `tc red` of iproute2 6.1 with these thresholds and packets, and without `burst`: the
    /// negative logarithm that `tc qdisc show` prints as `ewma`.
    #[test]
    fn the_weight_of_linux_is_that_of_tc() {
        for (min, max, packet, ewma) in [
            (15_000, 45_000, 1000, 4),
            (15_000, 30_000, 1000, 3),
            (30_000, 90_000, 1000, 5),
            (5000, 15_000, 1000, 3),
            (100_000, 300_000, 1000, 7),
            (50_000, 60_000, 1000, 3),
            (6000, 18_000, 1500, 2),
            (20_000, 80_000, 1500, 5),
            (10_000, 100_000, 500, 8),
            (3000, 9000, 1000, 2),
        ] {
            let config = Config {
                min_threshold: Limit::Bytes(ByteCount(min)),
                max_threshold: Limit::Bytes(ByteCount(max)),
                mean_packet: ByteCount(packet),
                ..linux()
            };
            assert_near(config.weight_of_burst(RATE), 1.0 / f64::from(1 << ewma));
        }
        assert_near(linux().weight_of_burst(RATE), 1.0 / 8.0);
    }

    fn linux() -> Config {
        Config {
            system: RedSystem::Linux,
            ..Config::default()
        }
    }

    #[test]
    fn linux_moves_its_average_by_that_weight_and_drops_arrivals() {
        let red = Red::new(&linux(), RATE, rng());
        let mut average = red.detector.average.clone();
        average.sample(1.0, Instant::ZERO, RATE);
        assert_near(average.value(), 1.0 / 8.0);
        let mut scene = Scene::new(&linux(), 40, 30.0);
        for arrival in 40..60 {
            let expected = [(arrival, DropReason::Forced)];
            assert_eq!(scene.arrive(Ecn::NotEct), expected);
        }
    }

    #[test]
    fn linux_adapts_between_the_thresholds_that_are_written() {
        let config = Config {
            adaptive: Some(Adaptive::default()),
            ..linux()
        };
        assert_eq!(config.check(RATE), Ok(()));
        let mut red = Red::new(&config, RATE, rng());
        assert_near(red.detector.min, 15.0);
        assert_near(red.detector.max, 30.0);
        assert!(!red.detector.is_gentle);
        // The middle fifth is 21 to 24 packets.
        let mut adapted = |average| {
            red.detector.hold(average);
            red.detector.max_probability = 0.1;
            let adaptation = red.adaptation.as_mut().expect("it is adaptive");
            adaptation.step(&mut red.detector, adaptation.next);
            red.detector.max_probability
        };
        assert_near(adapted(20.9), 0.09);
        assert_near(adapted(22.0), 0.1);
        assert_near(adapted(24.1), 0.11);
    }

    #[test]
    fn with_the_rule_of_ns2_nothing_is_dropped_unless_two_packets_wait() {
        let config = Config {
            min_waiting: 2,
            ..Config::default()
        };
        let mut scene = Scene::new(&config, 0, 30.0);
        assert!(scene.arrive(Ecn::NotEct).is_empty(), "none waits");
        assert!(scene.arrive(Ecn::NotEct).is_empty(), "one waits");
        assert_eq!(scene.arrive(Ecn::NotEct).len(), 1, "two wait");
        let mut scene = Scene::new(&Config::default(), 0, 30.0);
        assert_eq!(
            scene.arrive(Ecn::NotEct).len(),
            1,
            "the paper's has no such rule"
        );
    }

    #[test]
    fn adaptive_red_needs_a_limit_above_its_upper_threshold() {
        let config = Config {
            limit: Limit::Packets(60),
            ..adaptive()
        };
        let refusal = config.check(Rate(200_000_000)).expect_err("187.5 packets");
        assert!(refusal.contains("188 packets"), "{refusal}");
    }
}
