//! FQ-CoDel, flow queueing with Controlled Delay (RFC 8290): a queue for each flow, CoDel in each
//! queue, and priority for flows that begin to send.
//!
//! - A hash assigns flows to many queues ([`FlowHash`](super::hash)).
//! - A round robin by bytes serves the queues, and serves flows that begin to send first
//!   ([`FlowQueue`]).
//! - Each queue has a CoDel of its own, which keeps it short ([`Codel`](crate::aqm::codel)).
//! - When the buffer is full, the queue with the most bytes loses the older half of its packets, a
//!   batch at once. The sender that fills the buffer thus detects the loss soonest.
//!
//! CoDel does not drop while at most one large packet is queued, to keep the line busy. As in the
//! implementation that RFC 8290 describes, this test counts the bytes in all queues together.
//!
//! That implementation finds the longest queue by a scan, and drops a batch to make up for its
//! cost. Here the search needs only a few comparisons. The batch is kept because it is part of the
//! behaviour.

use super::bundle::Law;
use super::flow_queue::{FlowQueue, Overload};
use super::flows::{IN_TURN, Setup};
use super::{Parameters, QueueConfig, QueueDiscipline, hash};
use crate::aqm::codel;
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// Parameters of FQ-CoDel.
///
/// Use it wherever a device can have a thousand queues, as home routers and hosts can: uploads do
/// not disturb calls, games and web pages. FQ-CoDel treats a tunnel as one flow.
///
/// Source: RFC 8290.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "FqCodel")]
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
    /// CoDel's target in each queue: the sojourn time that is acceptable permanently.
    pub target: Duration,
    /// CoDel's interval in each queue: how long the sojourn time must stay above the target before
    /// the first drop.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // RFC 8290 §5.2.1 to §5.2.5: limit, queues, quantum, target and interval.
            limit: Limit::Packets(10_240),
            // Common implementations; the text of RFC 8290 §4.1 drops one packet at a time.
            drop_batch: 64,
            queues: 1024,
            quantum: ByteCount(1514),
            hash: hash::Config::default(),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
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
    fn queue(&self, rate: Rate, rng: Rng) -> Result<FlowQueue, String> {
        let codel = codel::Config {
            limit: Limit::Unlimited,
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ..codel::Config::default()
        };
        let setup = Setup {
            queues: self.queues,
            hash: &self.hash,
            limit: self.limit,
            law: Law::Any(QueueConfig::Codel(codel)),
        };
        let overload = Overload::HeadsOfLongest(self.drop_batch);
        FlowQueue::new(setup, self.quantum, overload, (rate, rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::packet::Ecn;
    use crate::queue::LineView;
    use crate::testing::Bench;
    use crate::trace::DropReason;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    struct Scene {
        bench: Bench,
        queue: FlowQueue,
    }

    impl Scene {
        fn new(config: &Config) -> Self {
            let rng = Rng::for_path(1, "queue");
            Self {
                bench: Bench::new(),
                queue: config.queue(RATE, rng).expect("it makes sense"),
            }
        }

        fn arrive(&mut self, flow: FlowId, packets: usize, ecn: Ecn) {
            for _ in 0..packets {
                let mut packet = self.bench.packet(flow, 1000);
                packet.ecn = ecn;
                self.queue.enqueue(packet, &LINE, &mut self.bench.cx());
            }
        }

        /// Sends a packet every millisecond; returns how many of each flow were sent.
        fn send(&mut self, millis: u64, flows: &[FlowId]) -> Vec<usize> {
            let mut counts = vec![0; flows.len()];
            for _ in 0..millis {
                if let Some(packet) = self.queue.dequeue(&LINE, &mut self.bench.cx()) {
                    let flow = flows.iter().position(|&flow| flow == packet.flow);
                    counts[flow.expect("one of these")] += 1;
                    self.bench.end(packet);
                }
                self.bench.advance(Duration::from_millis(1));
            }
            counts
        }
    }

    /// The first drop in each queue comes an interval after its first packet above the target,
    /// because each queue has its own CoDel state.
    #[test]
    fn each_queue_has_a_codel_of_its_own() {
        let mut scene = Scene::new(&Config::default());
        let [one, two] = [scene.bench.flow(0), scene.bench.flow(0)];
        scene.arrive(one, 300, Ecn::NotEct);
        scene.send(55, &[one]);
        scene.arrive(two, 300, Ecn::NotEct);
        scene.bench.take_log();
        scene.send(120, &[one, two]);
        let drops = scene.bench.take_discards();
        let at: Vec<u64> = drops
            .iter()
            .map(|(at, _)| at.as_nanos() / 1_000_000)
            .collect();
        // A turn is two packets of 1000 B at most, hence 2 ms. The first queue has been above the
        // target since 5 ms. The second queue got its packets at 55 ms, and was found above the
        // target at 60 ms or a turn later. Its interval ends 100 ms after that, or a turn later.
        assert_eq!(at.len(), 2, "{at:?}");
        assert!((105..=107).contains(&at[0]), "{at:?}");
        assert!((160..=164).contains(&at[1]), "{at:?}");
    }

    #[test]
    fn capable_packets_are_marked_and_none_is_lost() {
        let mut scene = Scene::new(&Config::default());
        let flow = scene.bench.flow(0);
        scene.arrive(flow, 300, Ecn::Ect0);
        assert_eq!(scene.send(250, &[flow]), [250]);
        assert!(scene.bench.take_discards().is_empty());
    }

    /// Three floods that CoDel cannot control fill the queue. A sparse flow loses no packet and
    /// gets all the capacity that it needs.
    #[test]
    fn at_the_limit_the_floods_lose_and_the_sparse_flow_does_not() {
        let mut scene = Scene::new(&Config {
            limit: Limit::Packets(100),
            hash: hash::Config {
                isolation: hash::Isolation::SetAssociative,
                ..hash::Config::default()
            },
            ..Config::default()
        });
        let flows: Vec<FlowId> = (0..4).map(|_| scene.bench.flow(0)).collect();
        let mut counts = [0; 4];
        for round in 0..500 {
            for &flood in &flows[1..] {
                scene.arrive(flood, 1, Ecn::NotEct);
            }
            if round % 10 == 0 {
                scene.arrive(flows[0], 1, Ecn::NotEct);
            }
            for (count, sent) in counts.iter_mut().zip(scene.send(1, &flows)) {
                *count += sent;
            }
        }
        let overlimit = (scene.bench.take_discards().iter())
            .filter(|(_, reason)| *reason == DropReason::Overlimit)
            .count();
        assert!(overlimit > 500, "{overlimit}");
        assert_eq!(counts[0], 50);
        assert!(
            counts[1..]
                .iter()
                .all(|&count| (149..=151).contains(&count)),
            "{counts:?}"
        );
    }

    #[test]
    fn invalid_parameters_are_refused() {
        let refusal = |config: Config| {
            config
                .queue(RATE, Rng::for_path(1, "queue"))
                .expect_err("it makes no sense")
        };
        let no_batch = Config {
            drop_batch: 0,
            ..Config::default()
        };
        assert!(refusal(no_batch).contains("drop_batch"));
        let reversed = Config {
            target: Duration::from_millis(101),
            ..Config::default()
        };
        assert!(refusal(reversed).contains("target"));
        let none = Config {
            queues: 0,
            ..Config::default()
        };
        assert!(refusal(none).contains("queues"));
    }
}
