//! FQ-PIE: the scheduler of FQ-CoDel (RFC 8290) with PIE (RFC 8033) in each queue in place of
//! CoDel.
//!
//! Each queue has a controller with a drop probability of its own, and a target for its delay. PIE
//! decides at arrival and does not examine the head of the queue. It measures the delay by the
//! packets that leave ([`Timestamps`](DelayEstimate::Timestamps)). An estimate from the line's rate
//! would be wrong by the number of flows that share the line, which changes all the time. For this
//! reason, "Active Queue Management in DOCSIS 3.x Cable Modems" chose [another
//! design](super::sfq_pie).
//!
//! There is no specification. This module follows the public implementations in outline: the
//! numbers of FQ-CoDel's scheduler, those of RFC 8033's control law, and drops from the longest
//! queue when all are full.

use super::bundle::Law;
use super::flow_queue::{FlowQueue, Overload};
use super::flows::{IN_TURN, Setup};
use super::{Parameters, QueueConfig, QueueDiscipline, hash};
use crate::aqm::delay_estimate::DelayEstimate;
use crate::aqm::pie;
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of FQ-PIE.
///
/// Use it to compare control laws under one scheduler: PIE in place of FQ-CoDel's CoDel.
///
/// Source: public implementations in outline; RFC 8290 and RFC 8033 for the numbers.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FqPie")]
pub struct Config {
    /// Limit of all queues together: a size, a time at the line's rate, a number of packets, or
    /// "unlimited". Beyond it, the queue with the most bytes loses the older half of its packets.
    pub limit: Limit,
    /// Largest number of packets that are dropped from that queue at once. Raising it makes more
    /// room at once, and drops more packets in a row.
    pub drop_batch: u32,
    /// Number of queues. Raising it makes flows share a queue less often.
    pub queues: u32,
    /// Bytes that a flow may send in a turn, and before all others when it begins to send. Raising
    /// it favours flows that begin to send, and large packets.
    pub quantum: ByteCount,
    /// How flows are assigned to queues.
    pub hash: hash::Config,
    /// Target delay of each queue's controller.
    pub target: Duration,
    /// Time between two updates of the drop probabilities. Raising it makes the controllers slower.
    pub update_interval: Duration,
    /// Weight of the distance from the target, per second and update.
    pub alpha: f64,
    /// Weight of the change of the delay, per second and update.
    pub beta: f64,
    /// How long the controller drops nothing after its queue has become busy.
    pub max_burst: Duration,
    /// Whether ECN-capable packets are marked instead of dropped, while the probability is below a
    /// tenth.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        // RFC 8033.
        let pie = pie::Config::default();
        Self {
            // As FQ-CoDel.
            limit: Limit::Packets(10_240),
            drop_batch: 64,
            queues: 1024,
            quantum: ByteCount(1514),
            hash: hash::Config::default(),
            target: pie.target,
            update_interval: pie.update_interval,
            alpha: pie.alpha,
            beta: pie.beta,
            max_burst: pie.max_burst,
            ecn: pie.ecn,
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
    fn queue(&self, rate: Rate, rng: Rng) -> Result<FlowQueue, String> {
        let pie = pie::Config {
            limit: Limit::Unlimited,
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            ecn: self.ecn,
            delay_estimate: DelayEstimate::Timestamps,
            ..pie::Config::default()
        };
        let setup = Setup {
            queues: self.queues,
            hash: &self.hash,
            limit: self.limit,
            law: Law::Any(QueueConfig::Pie(pie)),
        };
        let overload = Overload::HeadsOfLongest(self.drop_batch);
        FlowQueue::new(setup, self.quantum, overload, (rate, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::queue::LineView;
    use crate::testing::Bench;
    use crate::time::Instant;
    use crate::trace::TraceEvent;

    const RATE: Rate = Rate(8_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    struct Scene {
        bench: Bench,
        queue: FlowQueue,
    }

    impl Scene {
        fn new() -> Self {
            let config = Config {
                hash: hash::Config {
                    isolation: hash::Isolation::Perfect,
                    ..hash::Config::default()
                },
                ..Config::default()
            };
            Self {
                bench: Bench::new(),
                queue: config
                    .queue(RATE, Rng::for_path(1, "queue"))
                    .expect("it makes sense"),
            }
        }

        fn arrive(&mut self, flow: FlowId) {
            let packet = self.bench.packet(flow, 1000);
            self.queue.enqueue(packet, &LINE, &mut self.bench.cx());
        }

        /// Lets a millisecond pass, in which the line sends one packet.
        fn pass(&mut self) {
            let end = self.bench.now + Duration::from_millis(1);
            while let Some(at) = self.queue.next_update().filter(|&at| at <= end) {
                self.bench.now = at;
                self.queue.update(&LINE, &mut self.bench.cx());
            }
            self.bench.now = end;
            if let Some(packet) = self.queue.dequeue(&LINE, &mut self.bench.cx()) {
                self.bench.end(packet);
            }
        }
    }

    #[test]
    fn only_the_flow_that_builds_a_queue_loses_packets() {
        let mut scene = Scene::new();
        let [flood, call] = [scene.bench.flow(0), scene.bench.flow(0)];
        for millis in 0..5000 {
            scene.arrive(flood);
            if millis % 10 == 0 {
                scene.arrive(call);
            }
            scene.pass();
        }
        let log = scene.bench.take_log();
        let of = |wanted: FlowId| {
            let is_drop = |event: &TraceEvent| match event {
                TraceEvent::Discarded { packet, .. } => packet.flow == wanted,
                _ => false,
            };
            log.iter().filter(|(_, event)| is_drop(event)).count()
        };
        // 1.1 times what the line carries, for 5 s: 500 packets too many, of which the law leaves a
        // few in the queue.
        assert!((400..500).contains(&of(flood)), "{}", of(flood));
        assert_eq!(of(call), 0);
    }

    #[test]
    fn no_law_schedules_updates_once_all_queues_are_empty() {
        let mut scene = Scene::new();
        for _ in 0..50 {
            let flow = scene.bench.flow(0);
            (0..20).for_each(|_| scene.arrive(flow));
        }
        assert_eq!(
            scene.queue.next_update(),
            Some(Instant::ZERO + Duration::from_millis(15))
        );
        (0..20_000).for_each(|_| scene.pass());
        assert_eq!(
            (scene.queue.depth().packets, scene.queue.next_update()),
            (0, None)
        );
    }

    /// The law does not see the packets that the scheduler drops at the limit.
    #[test]
    fn a_law_whose_queue_was_emptied_by_evictions_schedules_no_updates_either() {
        let config = Config {
            limit: Limit::Packets(1),
            ..Config::default()
        };
        let mut bench = Bench::new();
        let mut queue = config
            .queue(RATE, Rng::for_path(1, "queue"))
            .expect("it makes sense");
        let flow = bench.flow(0);
        for _ in 0..2 {
            let packet = bench.packet(flow, 1000);
            queue.enqueue(packet, &LINE, &mut bench.cx());
        }
        let last = queue.dequeue(&LINE, &mut bench.cx());
        bench.end(last.expect("one fits"));
        let packet = bench.packet(flow, 1500);
        queue.enqueue(packet, &LINE, &mut bench.cx());
        let other = bench.flow(0);
        let packet = bench.packet(other, 40);
        queue.enqueue(packet, &LINE, &mut bench.cx());
        assert_eq!(queue.depth().bytes, 40, "the larger one was pushed out");
        let last = queue.dequeue(&LINE, &mut bench.cx());
        bench.end(last.expect("the smaller one"));
        for _ in 0..1000 {
            let Some(at) = queue.next_update() else {
                return;
            };
            bench.now = at;
            queue.update(&LINE, &mut bench.cx());
        }
        panic!("it asks for updates for ever");
    }
}
