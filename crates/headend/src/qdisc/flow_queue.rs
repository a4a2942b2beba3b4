//! The scheduler of FQ-CoDel (RFC 8290 §4): deficit round robin that serves flows first when they
//! begin to send.
//!
//! Queues that hold packets are on one of two lists. A queue that was idle joins the *new* list
//! with a quantum of bytes to send. New queues are served before the *old* ones. A queue that has
//! used up its quantum gets another one, and goes to the end of the old list.
//!
//! A flow that sends less than a quantum per round is therefore always new, and hardly waits at
//! all. Examples are calls, games, name look-ups and the first packets of a web page. No
//! classification of flows is necessary.
//!
//! The disciplines that use this scheduler differ in the control law of the queues, and in the
//! packets that they drop when the buffer is full ([`Overload`]).

use super::QueueDiscipline;
use super::flows::{Flows, Setup};
use super::turns::{TurnTable as _, Turns};
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Depth, LineView};
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::{ByteCount, Rate};

/// Which packets are dropped when the queues hold more than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overload {
    /// The oldest half of the packets of the queue with the most bytes, at most this many at once,
    /// as in common implementations of RFC 8290.
    HeadsOfLongest(u32),
    /// The newest packet of the queue with the most bytes.
    TailOfLongest,
}

/// The queues of flows with their control laws; new queues are served first.
#[derive(Debug)]
pub struct FlowQueue {
    flows: Flows,
    turns: Turns<2>,
    quantum: i32,
    overload: Overload,
}

/// RFC 8290 §4: the two lists, in the order in which they are served.
const NEW: usize = 0;
const OLD: usize = 1;

impl FlowQueue {
    /// # Errors
    ///
    /// A sentence that says why no such queues can be built.
    pub(super) fn new(
        setup: Setup<'_>,
        quantum: ByteCount,
        overload: Overload,
        (rate, rng): (Rate, Rng),
    ) -> Result<Self, String> {
        super::drr::check_quantum(quantum)?;
        if overload == Overload::HeadsOfLongest(0) {
            return Err("drop_batch must be at least 1 packet".into());
        }
        Ok(Self {
            flows: Flows::new(setup, rate, rng)?,
            turns: Turns::new(),
            quantum: quantum.0 as i32,
            overload,
        })
    }

    /// The list to be served, and its first queue.
    fn first(&self) -> Option<(usize, usize)> {
        let of = |list| self.turns.first(list).map(|queue| (list, queue));
        of(NEW).or_else(|| of(OLD))
    }

    /// RFC 8290 §4.1: drops packets if the queues hold more than the limit.
    fn drop_over_limit(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        let Overload::HeadsOfLongest(batch) = self.overload else {
            self.flows.push_out_tails(line, cx);
            return;
        };
        let bundle = &mut self.flows.bundle;
        while bundle.is_over_limit() {
            let (fattest, _) = bundle.longest();
            let half = bundle.depth_of(fattest).packets.div_ceil(2);
            for _ in 0..half.min(u64::from(batch)) {
                bundle.drop_first(fattest, line, cx);
            }
        }
    }
}

impl QueueDiscipline for FlowQueue {
    /// RFC 8290 §4.1.
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let queue = self.flows.place(&packet, cx);
        let bundle = &mut self.flows.bundle;
        bundle.enqueue(queue, packet, line, cx);
        if !bundle.turn(queue).is_listed() && !bundle.is_empty(queue) {
            self.turns.push(bundle, NEW, queue);
            bundle.turn(queue).deficit = self.quantum;
        }
        if bundle.is_over_limit() {
            self.drop_over_limit(line, cx);
        }
    }

    /// RFC 8290 §4.2.
    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        while let Some((list, queue)) = self.first() {
            let bundle = &mut self.flows.bundle;
            let deficit = &mut bundle.turn(queue).deficit;
            if *deficit <= 0 {
                *deficit += self.quantum;
                self.turns.pass(bundle, list, OLD);
                continue;
            }
            let packet = bundle.dequeue(queue, line, cx);
            if let Some(sent) = &packet {
                bundle.turn(queue).deficit -= line.framing.bytes(sent) as i32;
                return packet;
            }
            // RFC 8290 §4.2: a new queue that becomes empty goes to the end of the old list before
            // it is removed. Otherwise, a flow that sends a packet each time its queue becomes
            // empty would always be new, and the other flows would starve.
            if list == NEW {
                self.turns.pass(bundle, NEW, OLD);
            } else {
                self.turns.pop(bundle, OLD);
            }
        }
        None
    }

    fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        self.flows.bundle.release(line)
    }

    fn depth(&self) -> Depth {
        self.flows.bundle.depth()
    }

    fn next_update(&self) -> Option<Instant> {
        self.flows.bundle.next_update()
    }

    fn is_periodic(&self) -> bool {
        self.flows.bundle.is_periodic()
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.flows.bundle.update(line, cx);
    }

    fn internals(&self) -> QueueInternals {
        self.flows.internals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::qdisc::bundle::Law;
    use crate::qdisc::{QueueConfig, hash};
    use crate::testing::Bench;
    use crate::units::Limit;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    /// Queues without a control law, one flow in each.
    struct Scene {
        bench: Bench,
        queue: FlowQueue,
    }

    impl Scene {
        fn new(limit: Limit, overload: Overload) -> Self {
            let hash = hash::Config {
                isolation: hash::Isolation::Perfect,
                ..hash::Config::default()
            };
            let setup = Setup {
                queues: 1,
                hash: &hash,
                limit,
                law: Law::Any(QueueConfig::None(crate::qdisc::unlimited::Config {})),
            };
            let rng = Rng::for_path(1, "queue");
            let queue = FlowQueue::new(setup, ByteCount(1514), overload, (RATE, rng));
            Self {
                bench: Bench::new(),
                queue: queue.expect("it makes sense"),
            }
        }

        fn arrive(&mut self, flow: FlowId, sizes: &[u16]) {
            for &size in sizes {
                let packet = self.bench.packet(flow, size);
                self.queue.enqueue(packet, &LINE, &mut self.bench.cx());
            }
        }

        fn sent(&mut self, count: usize) -> Vec<FlowId> {
            let mut list = Vec::new();
            for _ in 0..count {
                let Some(packet) = self.queue.dequeue(&LINE, &mut self.bench.cx()) else {
                    break;
                };
                list.push(packet.flow);
                self.bench.end(packet);
            }
            list
        }

        fn waiting(&self, queue: usize) -> u64 {
            self.queue.flows.bundle.depth_of(queue).packets
        }
    }

    #[test]
    fn a_flow_that_begins_to_send_is_served_before_the_others() {
        let mut scene = Scene::new(Limit::Unlimited, Overload::TailOfLongest);
        let [bulk, call] = [scene.bench.flow(0), scene.bench.flow(0)];
        scene.arrive(bulk, &[1500; 10]);
        // The first quantum of 1514 bytes lets two packets of 1500 pass: 14 bytes are left after
        // the first.
        assert_eq!(scene.sent(3), [bulk; 3]);
        scene.arrive(call, &[200]);
        assert_eq!(scene.sent(2), [call, bulk]);
        // The queue has not been removed since, and is old now. It takes its turn, of which 1314
        // bytes are left.
        scene.arrive(call, &[200]);
        assert_eq!(scene.sent(1), [call]);
    }

    #[test]
    fn a_flow_beyond_its_quantum_takes_turns_with_the_others() {
        let mut scene = Scene::new(Limit::Unlimited, Overload::TailOfLongest);
        let [one, two] = [scene.bench.flow(0), scene.bench.flow(0)];
        scene.arrive(one, &[1514; 4]);
        scene.arrive(two, &[1514; 4]);
        assert_eq!(scene.sent(8), [one, two, one, two, one, two, one, two]);
    }

    #[test]
    fn a_queue_that_became_empty_is_not_new_again_at_once() {
        let mut scene = Scene::new(Limit::Unlimited, Overload::TailOfLongest);
        let [bulk, sly] = [scene.bench.flow(0), scene.bench.flow(0)];
        scene.arrive(bulk, &[1514; 20]);
        scene.sent(1);
        let mut of_bulk = 0;
        for _ in 0..10 {
            // A packet arrives for each one that leaves. If the queue were removed as soon as it is
            // empty, this flow would have the whole line.
            scene.arrive(sly, &[1514]);
            of_bulk += scene.sent(2).iter().filter(|&&flow| flow == bulk).count();
        }
        assert_eq!(of_bulk, 10);
    }

    #[test]
    fn at_the_limit_the_fattest_loses_the_older_half_of_its_packets() {
        let mut scene = Scene::new(Limit::Packets(12), Overload::HeadsOfLongest(64));
        let [fat, thin] = [scene.bench.flow(0), scene.bench.flow(0)];
        scene.arrive(thin, &[40; 4]);
        scene.arrive(fat, &[1000; 8]);
        assert!(scene.bench.take_discards().is_empty());
        // Five packets of 40 B are fewer bytes than eight of 1000 B, so the second queue loses
        // packets.
        scene.arrive(thin, &[40]);
        assert_eq!(scene.bench.take_discards().len(), 4);
        assert_eq!([scene.waiting(0), scene.waiting(1)], [5, 4]);
        let head = scene
            .queue
            .flows
            .bundle
            .dequeue(1, &LINE, &mut scene.bench.cx());
        assert_eq!(
            head.map(|packet| packet.seq),
            Some(8),
            "packets 4 to 7 are gone"
        );
    }

    #[test]
    fn no_more_than_a_batch_is_dropped_at_once() {
        let mut scene = Scene::new(Limit::Packets(12), Overload::HeadsOfLongest(3));
        let fat = scene.bench.flow(0);
        scene.arrive(fat, &[1000; 13]);
        assert_eq!(scene.bench.take_discards().len(), 3);
        assert_eq!(scene.waiting(0), 10);
    }

    #[test]
    fn with_tail_drops_only_packets_that_do_not_fit_are_dropped() {
        let mut scene = Scene::new(Limit::Bytes(ByteCount(8100)), Overload::TailOfLongest);
        let [fat, thin] = [scene.bench.flow(0), scene.bench.flow(0)];
        scene.arrive(fat, &[1000; 8]);
        scene.arrive(thin, &[200]);
        assert_eq!(scene.bench.take_discards().len(), 1);
        assert_eq!([scene.waiting(0), scene.waiting(1)], [7, 1]);
        assert_eq!(scene.queue.depth().bytes, 7200);
    }
}
