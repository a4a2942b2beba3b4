//! SFQ-PIE as designed in "Active Queue Management in DOCSIS 3.x Cable Modems" (§4.6): hashed
//! queues, and one PIE over all of them.
//!
//! A PIE for each queue would need the rate at which that queue drains. This rate changes with the
//! number of busy queues. Therefore one [`Pie`] treats all queues as one. Its delay is the number
//! of bytes in all queues, divided by the rate at which bytes leave. A packet that arrives for
//! queue X is dropped with probability
//!
//! > p · (depth of X / depth of the longest queue)
//!
//! A packet that arrives at an empty queue is never dropped, whatever the other flows do. A queue
//! that is alone is under plain PIE. Queues are served in turn by bytes ([`Drr`]).
//!
//! While several queues are busy, the controller underestimates the delay of the longest one,
//! because packets that arrive later for other queues are sent before its last packet. The paper
//! therefore sets the target to 45 ms, where its SFQ-CoDel has 50 ms.
//!
//! The depths are in bytes, before the arriving packet is counted. The PIE is that of draft-pan,
//! with the departure-rate estimator and steps of at most 0.02 above a probability of a tenth; or,
//! with `law = "docsis_pie"`, the one that became DOCSIS-PIE ([`DocsisPie`]): the paper's plots
//! have "some" of its changes (§6).
//!
//! Choices where the paper is silent: `quantum`; `update_interval` (15 or 16 ms there, §4.7); when
//! the buffer is full, the newest packet of the longest queue is dropped.

use super::bundle::Law;
use super::drr::{Drr, check_quantum};
use super::flows::{Flows, IN_TURN, Setup};
use super::{Parameters, QueueConfig, QueueDiscipline, hash, unlimited};
use crate::aqm::delay_estimate::DelayEstimate;
use crate::aqm::{Aqm, DocsisPie, Pie, docsis_pie, pie};
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, LineView};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of SFQ-PIE.
///
/// Use it to reproduce the results of the AQM paper, and where several queues must share one drop
/// probability.
///
/// Source: "Active Queue Management in DOCSIS 3.x Cable Modems", section 4.6.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "SfqPie")]
pub struct Config {
    /// Limit of all queues together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". Beyond it, the newest packet of the longest queue is dropped.
    pub limit: Limit,
    /// Number of queues. Raising it makes flows share a queue less often.
    pub queues: u32,
    /// Bytes that each queue may send in a turn. Raising it above the largest packet makes the
    /// other queues wait longer for their turn.
    pub quantum: ByteCount,
    /// How flows are assigned to queues.
    pub hash: hash::Config,
    /// Which PIE controls all queues: that of the drafts, or that of DOCSIS modems.
    pub law: PieLaw,
    /// Target of the controller for the delay of all queues together.
    pub target: Duration,
    /// Time between two updates of the drop probability. Raising it makes the controller slower.
    pub update_interval: Duration,
    /// Weight of the distance from the target, per second and update. By default 0.125, with
    /// `docsis_pie` 0.25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Weight of the change of the delay, per second and update. By default 1.25, with `docsis_pie`
    /// 2.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// How long the controller drops nothing after the line has become busy, with `docsis_pie`
    /// after the first drop. By default 100 ms, with `docsis_pie` 142 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Duration>,
    /// How the delay is estimated: bytes in the queues, divided by the rate at which they leave.
    /// Every estimate is allowed except `timestamps`, which would measure a single queue.
    pub delay_estimate: DelayEstimate,
    /// Bytes that must depart for one measurement of that rate.
    pub departure_threshold: ByteCount,
    /// Whether ECN-capable packets are marked instead of dropped, while the probability is below a
    /// tenth. DOCSIS-PIE never marks (RFC 8034 §4.7).
    pub ecn: bool,
}

/// Which PIE controls all queues of SFQ-PIE.
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
pub enum PieLaw {
    /// That of draft-pan-aqm-pie: a probability for each packet, whatever its size.
    #[default]
    Pie,
    /// That of RFC 8034: probabilities scale with the size of a packet, the distance between drops
    /// is bounded, and the controller is inactive below a third of the buffer.
    DocsisPie,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // AQM paper §9: the buffer of a modem with AQM.
            limit: Limit::Time(Duration::from_millis(250)),
            // AQM paper §4.6.
            queues: 32,
            quantum: ByteCount(1514),
            hash: hash::Config::default(),
            law: PieLaw::Pie,
            // AQM paper §4.6.
            target: Duration::from_millis(45),
            // AQM paper §4.7: 15 or 16 ms.
            update_interval: Duration::from_millis(16),
            alpha: None,
            beta: None,
            max_burst: None,
            // AQM paper §4.6: "estimated egress rate".
            delay_estimate: DelayEstimate::DepartureRate,
            departure_threshold: ByteCount(1 << 14),
            ecn: true,
        }
    }
}

impl Parameters for Config {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        Ok(Box::new(self.queue(rate, rng)?))
    }

    fn lets_pass(&self) -> Option<&'static str> {
        Some(IN_TURN)
    }
}

impl Config {
    fn queue(&self, rate: Rate, rng: Rng) -> Result<SfqPie, String> {
        check_quantum(self.quantum)?;
        if self.delay_estimate == DelayEstimate::Timestamps {
            return Err(
                "delay_estimate must not be timestamps: a packet's wait is that of its own queue"
                    .into(),
            );
        }
        let mut of_law = rng;
        let of_queues = Rng::for_path(of_law.below(u64::MAX), "queues");
        let setup = Setup {
            queues: self.queues,
            hash: &self.hash,
            limit: self.limit,
            law: Law::Any(QueueConfig::None(unlimited::Config {})),
        };
        Ok(SfqPie {
            queues: Drr::new(Flows::new(setup, rate, of_queues)?, self.quantum),
            limit: BacklogLimit::at_rate(self.limit, rate),
            law: self.law(of_law)?,
        })
    }

    fn law(&self, rng: Rng) -> Result<ControlLaw, String> {
        Ok(match self.law {
            PieLaw::Pie => {
                let pie = self.pie();
                pie.check()?;
                ControlLaw::Pie(Pie::new(pie, rng))
            }
            PieLaw::DocsisPie => {
                let docsis_pie = self.docsis_pie();
                docsis_pie.check()?;
                ControlLaw::DocsisPie(DocsisPie::new(&docsis_pie, rng))
            }
        })
    }

    fn pie(&self) -> pie::Config {
        pie::Config {
            target: self.target,
            update_interval: self.update_interval,
            // draft-pan-aqm-pie, from which RFC 8033 took it over.
            alpha: self.alpha.unwrap_or(0.125),
            beta: self.beta.unwrap_or(1.25),
            max_burst: self.max_burst.unwrap_or(Duration::from_millis(100)),
            delay_estimate: self.delay_estimate,
            departure_threshold: self.departure_threshold,
            ecn: self.ecn,
            cap_step: true,
            ..pie::Config::default()
        }
    }

    fn docsis_pie(&self) -> docsis_pie::Config {
        let default = docsis_pie::Config::default();
        docsis_pie::Config {
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha.unwrap_or(default.alpha),
            beta: self.beta.unwrap_or(default.beta),
            max_burst: self.max_burst.unwrap_or(default.max_burst),
            delay_estimate: self.delay_estimate,
            departure_threshold: self.departure_threshold,
            ..default
        }
    }
}

/// The one law over all queues.
#[derive(Debug)]
enum ControlLaw {
    Pie(Pie),
    DocsisPie(DocsisPie),
}

impl ControlLaw {
    fn catch_up(&mut self, waiting: u64, line: &LineView<'_>, now: Instant) {
        match self {
            Self::Pie(law) => law.catch_up(waiting, line, now),
            Self::DocsisPie(law) => law.catch_up(waiting, line, now),
        }
    }

    /// Whether `packet`, which arrives behind `waiting`, must be dropped. It is marked instead
    /// where the law may do so.
    fn refuses(
        &mut self,
        packet: &mut Packet,
        (waiting, limit): (Depth, BacklogLimit),
        share: impl FnOnce() -> f64,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> bool {
        match self {
            Self::Pie(law) => {
                law.drops_early(waiting.bytes, share, line, cx.now) && !law.mark(packet, cx)
            }
            Self::DocsisPie(law) => {
                law.catch_up(waiting.bytes, line, cx.now);
                law.drops_early(line.framing.bytes(packet), waiting, limit, share, line)
            }
        }
    }

    fn enqueued(&mut self) {
        match self {
            Self::Pie(law) => law.enqueued(),
            Self::DocsisPie(law) => law.enqueued(),
        }
    }

    fn overflowed(&mut self) {
        match self {
            Self::Pie(law) => law.overflowed(),
            Self::DocsisPie(law) => law.overflowed(),
        }
    }

    fn departed(&mut self, packet: &Packet, waiting: u64, line: &LineView<'_>, now: Instant) {
        match self {
            Self::Pie(law) => law.departed(packet, waiting, line, now),
            Self::DocsisPie(law) => law.departed(packet, waiting, line, now),
        }
    }

    fn next_update(&self) -> Option<Instant> {
        match self {
            Self::Pie(law) => law.next_update(),
            Self::DocsisPie(law) => law.next_update(),
        }
    }

    fn internals(&self) -> QueueInternals {
        match self {
            Self::Pie(law) => law.internals(),
            Self::DocsisPie(law) => law.internals(),
        }
    }
}

/// Queues that are served in turn, under one PIE.
#[derive(Debug)]
pub struct SfqPie {
    queues: Drr,
    /// The limit of all queues together.
    limit: BacklogLimit,
    law: ControlLaw,
}

/// The factor of the drop probability for a packet that arrives at `queue`.
fn share(queues: &mut Drr, queue: usize) -> f64 {
    let (own, longest) = queues.own_and_longest(queue);
    // If all queues are empty, the result is 0: no packet is dropped.
    own as f64 / longest.max(1) as f64
}

impl QueueDiscipline for SfqPie {
    fn enqueue(&mut self, mut packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let queue = self.queues.place(&packet, cx);
        let room = (self.queues.depth(), self.limit);
        let share = || share(&mut self.queues, queue);
        if self.law.refuses(&mut packet, room, share, line, cx) {
            cx.discard(packet, DropReason::Congested);
            return;
        }
        self.law.enqueued();
        if self.queues.join(queue, packet, line, cx) {
            self.law.overflowed();
        }
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let waiting = self.queues.depth().bytes;
        self.law.catch_up(waiting, line, cx.now);
        let packet = self.queues.dequeue(line, cx);
        if let Some(sent) = &packet {
            let waiting = self.queues.depth().bytes;
            self.law.departed(sent, waiting, line, cx.now);
        }
        packet
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.queues.release(line)
    }

    fn depth(&self) -> Depth {
        self.queues.depth()
    }

    fn next_update(&self) -> Option<Instant> {
        self.law.next_update()
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        let waiting = self.queues.depth().bytes;
        self.law.catch_up(waiting, line, cx.now);
    }

    fn internals(&self) -> QueueInternals {
        let of_queues = self.queues.internals();
        QueueInternals {
            hash_collisions: of_queues.hash_collisions,
            queues_active: of_queues.queues_active,
            ..self.law.internals()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::queue::{Backlog, BacklogLimit};
    use crate::testing::Bench;
    use crate::trace::TraceEvent;

    const RATE: Rate = Rate(8_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn apart() -> Config {
        Config {
            hash: hash::Config {
                isolation: hash::Isolation::Perfect,
                ..hash::Config::default()
            },
            ..Config::default()
        }
    }

    fn build(config: &Config) -> SfqPie {
        config
            .queue(RATE, Rng::for_path(1, "queue"))
            .expect("it makes sense")
    }

    fn arrive(bench: &mut Bench, queue: &mut SfqPie, flow: FlowId, size: u16) {
        let packet = bench.packet(flow, size);
        queue.enqueue(packet, &LINE, &mut bench.cx());
    }

    /// Carries out the updates until `end`, then dequeues one packet.
    fn pass(bench: &mut Bench, queue: &mut dyn QueueDiscipline, span: Duration) {
        let end = bench.now + span;
        while let Some(at) = queue.next_update().filter(|&at| at <= end) {
            bench.now = at;
            queue.update(&LINE, &mut bench.cx());
        }
        bench.now = end;
        if let Some(packet) = queue.dequeue(&LINE, &mut bench.cx()) {
            bench.end(packet);
        }
    }

    /// By hand, at the first update with 60 ms: (0.125 × 15 ms + 1.25 × 60 ms) ÷ 2048 per second of
    /// each, and twice as much with the gains of RFC 8034.
    #[test]
    fn docsis_pie_brings_its_own_gains() {
        let step = |config: Config| {
            let mut law = config
                .law(Rng::for_path(1, "queue"))
                .expect("it makes sense");
            let mut bench = Bench::new();
            let waiting = RATE.bytes_in(Duration::from_millis(60));
            law.enqueued();
            bench.now += config.update_interval;
            law.catch_up(waiting, &LINE, bench.now);
            law.internals().drop_probability.expect("it has one")
        };
        let of = |law| Config {
            law,
            // It needs no packets that have left.
            delay_estimate: DelayEstimate::TokenBuckets,
            ..Config::default()
        };
        let (pie, docsis_pie) = (step(of(PieLaw::Pie)), step(of(PieLaw::DocsisPie)));
        let expected = (0.125 * 0.015 + 1.25 * 0.06) / 2048.0;
        assert!((pie / expected - 1.0).abs() < 1e-9, "{pie}");
        assert!((docsis_pie / expected - 2.0).abs() < 1e-9, "{docsis_pie}");
    }

    /// A third of the limit is where DOCSIS-PIE begins.
    #[test]
    fn docsis_pie_drops_nothing_below_a_third_of_the_limit_of_all_queues() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let config = Config {
            law: PieLaw::DocsisPie,
            limit: Limit::Bytes(ByteCount(90_000)),
            target: Duration::from_millis(1),
            delay_estimate: DelayEstimate::TokenBuckets,
            ..apart()
        };
        let mut queue = build(&config);
        let mut dropped_at = |queue: &mut SfqPie, least: u64| {
            (0..3000).any(|_| {
                while queue.depth().bytes < least {
                    arrive(&mut bench, queue, flow, 1000);
                }
                pass(&mut bench, queue, Duration::from_millis(1));
                let log = bench.take_log();
                log.iter()
                    .any(|(_, event)| matches!(event, TraceEvent::Discarded { .. }))
            })
        };
        assert!(!dropped_at(&mut queue, 29_000));
        assert!(dropped_at(&mut queue, 31_000));
    }

    /// Own queue and longest queue, by hand: 4 of 10 packets of 500 bytes; an empty queue; the
    /// longest queue itself.
    #[test]
    fn the_probability_is_scaled_by_own_over_longest() {
        let mut bench = Bench::new();
        let [long, short, none] = [bench.flow(0), bench.flow(0), bench.flow(0)];
        let mut queue = build(&apart());
        let place = |queue: &mut SfqPie, bench: &mut Bench, flow| {
            let packet = bench.packet(flow, 500);
            let place = queue.queues.place(&packet, &mut bench.cx());
            bench.end(packet);
            share(&mut queue.queues, place)
        };
        assert_eq!(
            place(&mut queue, &mut bench, long).to_bits(),
            0.0_f64.to_bits()
        );
        (0..10).for_each(|_| arrive(&mut bench, &mut queue, long, 500));
        (0..4).for_each(|_| arrive(&mut bench, &mut queue, short, 500));
        assert_eq!(
            place(&mut queue, &mut bench, long).to_bits(),
            1.0_f64.to_bits()
        );
        assert_eq!(
            place(&mut queue, &mut bench, short).to_bits(),
            0.4_f64.to_bits()
        );
        assert_eq!(
            place(&mut queue, &mut bench, none).to_bits(),
            0.0_f64.to_bits()
        );
    }

    /// The paper: "in the situation where only a single queue is in use, the algorithm behaves
    /// exactly like the single-queue PIE algorithm".
    #[test]
    fn one_flow_is_dropped_as_under_plain_pie() {
        let config = apart();
        let plain = Pie::new(config.pie(), stream_of_law());
        check_one_flow(&config, plain);
    }

    #[test]
    fn one_flow_is_dropped_as_under_plain_docsis_pie() {
        let config = Config {
            law: PieLaw::DocsisPie,
            ..apart()
        };
        let plain = DocsisPie::new(&config.docsis_pie(), stream_of_law());
        check_one_flow(&config, plain);
    }

    /// The random stream that a queue's law draws from, after that of the hash.
    fn stream_of_law() -> Rng {
        let mut stream = Rng::for_path(1, "queue");
        stream.below(u64::MAX);
        stream
    }

    /// Gives the same packets to one flow's queue and to a law alone.
    fn check_one_flow(config: &Config, mut plain: impl Aqm) {
        let mut backlog = Backlog::new(BacklogLimit::at_rate(config.limit, RATE));
        let mut queue = build(config);
        let (mut bench, mut other) = (Bench::new(), Bench::new());
        let (flow, alone) = (bench.flow(0), other.flow(0));
        let mut sizes = Rng::for_path(1, "sizes");
        for step in 0..20_000 {
            // One packet leaves every millisecond, and 1.1 packets arrive.
            for _ in 0..=u64::from(step % 10 == 0) {
                let size = 500 + sizes.below(1001) as u16;
                arrive(&mut bench, &mut queue, flow, size);
                let packet = other.packet(alone, size);
                plain.enqueue(&mut backlog, packet, &LINE, &mut other.cx());
            }
            pass(&mut bench, &mut queue, Duration::from_millis(1));
            while let Some(at) = plain.next_update().filter(|&at| at <= bench.now) {
                other.now = at;
                plain.update(&backlog, &LINE, &mut other.cx());
            }
            other.now = bench.now;
            if let Some(packet) = plain.dequeue(&mut backlog, &LINE, &mut other.cx()) {
                other.end(packet);
            }
            assert_eq!(queue.depth(), backlog.depth());
        }
        assert_eq!(queue.law.internals(), plain.internals());
        let drops = |bench: &mut Bench| bench.take_discards();
        let (found, expected) = (drops(&mut bench), drops(&mut other));
        assert!(expected.len() > 10, "{} drops", expected.len());
        assert_eq!(found, expected);
    }

    #[test]
    fn a_flow_that_finds_its_queue_empty_loses_nothing_while_a_flood_does() {
        let mut bench = Bench::new();
        let [flood, call] = [bench.flow(0), bench.flow(0)];
        let mut queue = build(&apart());
        for millis in 0..5000 {
            (0..2).for_each(|_| arrive(&mut bench, &mut queue, flood, 1000));
            if millis % 20 == 0 {
                arrive(&mut bench, &mut queue, call, 200);
            }
            pass(&mut bench, &mut queue, Duration::from_millis(1));
        }
        let log = bench.take_log();
        let drops = |wanted: FlowId, reason| {
            let is_drop = |event: &TraceEvent| match event {
                TraceEvent::Discarded {
                    packet,
                    reason: why,
                    ..
                } => packet.flow == wanted && *why == reason,
                _ => false,
            };
            log.iter().filter(|(_, event)| is_drop(event)).count()
        };
        let of_flood = drops(flood, DropReason::Congested);
        assert!(of_flood > 2000, "{of_flood}");
        assert_eq!(drops(call, DropReason::Congested), 0);
        assert_eq!(drops(call, DropReason::Overlimit), 0);
    }

    #[test]
    fn capable_packets_are_marked_while_the_probability_is_low() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut queue = build(&apart());
        for step in 0..6000 {
            // 3 % more packets arrive than leave.
            if step % 100 < 3 {
                let mut packet = bench.packet(flow, 1000);
                packet.ecn = Ecn::Ect0;
                queue.enqueue(packet, &LINE, &mut bench.cx());
            }
            let mut packet = bench.packet(flow, 1000);
            packet.ecn = Ecn::Ect0;
            queue.enqueue(packet, &LINE, &mut bench.cx());
            pass(&mut bench, &mut queue, Duration::from_millis(1));
            if queue.law.internals().drop_probability > Some(0.05) {
                break;
            }
        }
        let log = bench.take_log();
        let marks = (log.iter()).filter(|(_, event)| matches!(event, TraceEvent::Marked { .. }));
        assert!(marks.count() > 5);
        let drops = (log.iter()).filter(|(_, event)| matches!(event, TraceEvent::Discarded { .. }));
        assert_eq!(drops.count(), 0);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refusal = |config: Config| {
            config
                .queue(RATE, Rng::for_path(1, "queue"))
                .expect_err("it makes no sense")
        };
        let stamps = Config {
            delay_estimate: DelayEstimate::Timestamps,
            ..Config::default()
        };
        assert!(refusal(stamps).contains("timestamps"));
        let still = Config {
            update_interval: Duration::ZERO,
            ..Config::default()
        };
        assert!(refusal(still).contains("update_interval"));
        let turns = Config {
            quantum: ByteCount(0),
            ..Config::default()
        };
        assert!(refusal(turns).contains("quantum"));
    }
}
