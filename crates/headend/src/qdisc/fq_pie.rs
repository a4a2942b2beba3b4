//! FQ-PIE: the scheduler of FQ-CoDel (RFC 8290) with PIE (RFC 8033) in place of CoDel, a law for each queue.
//!
//! A flow's queue is steered to a delay by a drop probability of its own. PIE decides at arrival and needs no look at the head of the queue; how long
//! packets wait it learns from those that leave ([`Timestamps`](DelayEstimate::Timestamps)). An estimate from the line's rate would be off by the number of
//! flows that share it, which changes all the time: that is why "Active Queue Management in DOCSIS 3.x Cable Modems" went [another way](super::sfq_pie).
//!
//! There is no specification. What stands here follows the public implementations in outline: the numbers of FQ-CoDel's scheduler, those of RFC 8033's
//! law, and the fattest queue giving way when all are full.

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
/// Use it to compare the laws under one scheduler: PIE where FQ-CoDel has CoDel.
///
/// Source: public implementations in outline; RFC 8290 and RFC 8033 for the numbers.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FqPie")]
pub struct Config {
    /// How much may wait in all queues together: a size, a time at the line's rate, a number of packets, or "unlimited". Beyond it, the
    /// queue with the most bytes loses the older half of its packets.
    pub limit: Limit,
    /// Most packets that it loses at once. Raising it makes room for longer, and loses more in a row.
    pub drop_batch: u32,
    /// Queues. More let fewer flows meet.
    pub queues: u32,
    /// Bytes that a flow may send in a turn, and at the head of the line when it begins. Raising it favours beginners, and large packets.
    pub quantum: ByteCount,
    /// How flows find their queues.
    pub hash: hash::Config,
    /// Delay that the controller of each queue steers to.
    pub target: Duration,
    /// Time between two updates of the drop probabilities. Raising it makes the controllers slower.
    pub update_interval: Duration,
    /// Weight of the distance from the target, per second and update.
    pub alpha: f64,
    /// Weight of the change of the delay, per second and update.
    pub beta: f64,
    /// How long a queue that has just become busy is spared.
    pub max_burst: Duration,
    /// Marks ECN-capable packets instead of dropping them, while the probability is below a tenth.
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
        let overload = Overload::HeadsOfFattest(self.drop_batch);
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

        /// A millisecond passes, in which the line sends a packet.
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
    fn the_flow_that_queues_is_dropped_from_and_the_one_that_does_not_is_not() {
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
            let is_drop = |event: &TraceEvent| matches!(event, TraceEvent::Discarded { packet, .. } if packet.flow == wanted);
            log.iter().filter(|(_, event)| is_drop(event)).count()
        };
        // 1.1 times what the line carries, for 5 s: 500 packets too many, of which the law leaves a few waiting.
        assert!((400..500).contains(&of(flood)), "{}", of(flood));
        assert_eq!(of(call), 0);
    }

    #[test]
    fn all_laws_rest_once_all_queues_are_empty() {
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

    /// What is pushed out is not seen by the law whose queue it empties.
    #[test]
    fn a_law_whose_queue_was_pushed_empty_rests_too() {
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
