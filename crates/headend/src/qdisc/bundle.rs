//! The backlogs of a scheduler: many queues under one common limit, each with its own control law.
//!
//! The bundle keeps the queues, their total depth, the longest queue and the earliest update of a
//! control law. The scheduler decides which queue a packet joins, which queue is served next, and
//! which queue loses a packet at the limit. The scheduler's state for a queue is stored in that
//! queue.

use std::cmp::Reverse;

use super::QueueConfig;
use super::hash::{Owner, QueueOwners};
use super::tournament::Tournament;
use super::turns::{Turn, TurnTable};
use crate::aqm::{Aqm, Codel, codel};
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, BacklogLimit, Depth, LineView};
use crate::rng::Rng;
use crate::time::Instant;
use crate::trace::DropReason;
use crate::units::Rate;

/// Builds the control law of each queue of a bundle.
#[derive(Debug)]
pub(super) struct Laws {
    law: Law,
    rate: Rate,
    /// Seed of the control laws' random streams.
    seed: u64,
}

/// The kind of control law.
#[derive(Debug)]
pub(super) enum Law {
    /// A law that can also be used alone, with the limit that it has there.
    Any(QueueConfig),
    /// CoDel that never drops the last packet of a queue, and has no limit of its own.
    SparingCodel(codel::Config),
}

impl Laws {
    /// # Errors
    ///
    /// A sentence that says why no such law can be built.
    pub(super) fn new(law: Law, rate: Rate, rng: &mut Rng) -> Result<Self, String> {
        let laws = Self {
            law,
            rate,
            seed: rng.below(u64::MAX),
        };
        laws.try_make(0).map(|_| laws)
    }

    fn try_make(&self, queue: usize) -> Result<Box<dyn Aqm>, String> {
        match &self.law {
            Law::Any(config) => {
                let rng = Rng::for_path(self.seed, format_args!("queue.{queue}"));
                config.law(self.rate, rng)
            }
            Law::SparingCodel(config) => {
                config.check()?;
                Ok(Box::new(Codel::new(config).sparing_the_last()))
            }
        }
    }

    fn make(&self, queue: usize) -> Box<dyn Aqm> {
        self.try_make(queue)
            .expect("the same law has been made before")
    }

    fn limit(&self) -> BacklogLimit {
        match &self.law {
            Law::Any(config) => config
                .backlog_limit(self.rate)
                .expect("the law has been made before"),
            Law::SparingCodel(_) => BacklogLimit::Unlimited,
        }
    }
}

/// One queue of the bundle, with its control law and the scheduler's state.
#[derive(Debug)]
struct Queue {
    backlog: Backlog,
    law: Box<dyn Aqm>,
    /// Whether the queue has changed since [`Bundle::longest`] was last called.
    has_changed: bool,
    /// The next update of the law, as last entered in the tournament.
    due: Instant,
    owner: Owner,
    turn: Turn,
}

impl QueueOwners for Bundle {
    #[inline]
    fn is_empty(&self, queue: usize) -> bool {
        self.is_empty(queue)
    }

    #[inline]
    fn owner(&mut self, queue: usize) -> &mut Owner {
        &mut self.queues[queue].owner
    }
}

impl TurnTable for Bundle {
    #[inline]
    fn turn(&mut self, queue: usize) -> &mut Turn {
        &mut self.queues[queue].turn
    }
}

/// The queues of a scheduler.
#[derive(Debug)]
pub(super) struct Bundle {
    queues: Vec<Queue>,
    maker: Laws,
    limit: BacklogLimit,
    total: Depth,
    /// The queues by their bytes at the last call of [`Self::longest`]. The tournament is not
    /// updated at each packet: among queues of similar length, almost every packet would change the
    /// winner.
    longest: Tournament<u64>,
    /// Queues that have changed since then.
    changed: Vec<u32>,
    /// The next update of each law; `None` if the laws have no updates.
    due: Option<Tournament<Reverse<Instant>>>,
}

impl Bundle {
    /// `queues` empty queues with a common `limit`.
    pub(super) fn new(queues: usize, limit: BacklogLimit, maker: Laws) -> Self {
        let is_periodic = maker.make(0).is_periodic();
        let never = Reverse(Instant::FAR_FUTURE);
        let mut bundle = Self {
            queues: Vec::new(),
            maker,
            limit,
            total: Depth::default(),
            longest: Tournament::new(queues, 0),
            changed: Vec::with_capacity(queues),
            due: is_periodic.then(|| Tournament::new(queues, never)),
        };
        bundle.grow(queues);
        bundle
    }

    /// Adds queues until there are `queues` of them.
    pub(super) fn grow(&mut self, queues: usize) {
        self.longest.grow(queues);
        if let Some(due) = &mut self.due {
            due.grow(queues);
        }
        for queue in self.queues.len()..queues {
            self.queues.push(Queue {
                backlog: Backlog::new(self.maker.limit()),
                law: self.maker.make(queue),
                has_changed: false,
                due: Instant::FAR_FUTURE,
                owner: Owner::default(),
                turn: Turn::NEW,
            });
        }
    }

    /// The number of queues.
    #[inline]
    pub(super) fn queues(&self) -> usize {
        self.queues.len()
    }

    /// Passes a packet to the law of `queue`.
    pub(super) fn enqueue(
        &mut self,
        queue: usize,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        self.work_on(queue, |law, backlog| {
            law.enqueue(backlog, packet, line, cx);
        });
    }

    /// The next packet of `queue` that its law sends. `None` if the queue is empty, which is also
    /// the case after the law has discarded the rest.
    pub(super) fn dequeue(
        &mut self,
        queue: usize,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        self.work_on(queue, |law, backlog| law.dequeue(backlog, line, cx))
    }

    /// Removes and returns the packet that has waited longest in any queue, without the control
    /// law.
    pub(super) fn release(&mut self, line: &LineView<'_>) -> Option<Packet> {
        let arrived = |queue: &Queue| Some(queue.backlog.head()?.enqueued_at);
        let waiting = self.queues.iter().enumerate();
        let (_, oldest) = waiting
            .filter_map(|(number, queue)| Some((arrived(queue)?, number)))
            .min()?;
        self.work_on(oldest, |_, backlog| backlog.pop(line))
    }

    /// Discards the newest packet of `queue`.
    pub(super) fn drop_last(&mut self, queue: usize, line: &LineView<'_>, cx: &mut Context<'_>) {
        let evicted = self.work_on(queue, |law, backlog| {
            let packet = backlog.pop_last(line)?;
            law.evicted(backlog, &packet, line, cx);
            Some(packet)
        });
        if let Some(packet) = evicted {
            cx.discard(packet, DropReason::Overlimit);
        }
    }

    /// Discards the oldest packet of `queue`.
    pub(super) fn drop_first(&mut self, queue: usize, line: &LineView<'_>, cx: &mut Context<'_>) {
        let evicted = self.work_on(queue, |law, backlog| {
            let packet = backlog.pop(line)?;
            law.evicted(backlog, &packet, line, cx);
            Some(packet)
        });
        if let Some(packet) = evicted {
            cx.discard(packet, DropReason::Overlimit);
        }
    }

    /// Bytes of the oldest packet of `queue`.
    #[inline]
    pub(super) fn head_bytes(&self, queue: usize, line: &LineView<'_>) -> Option<u64> {
        let head = self.queues[queue].backlog.head()?;
        Some(line.framing.bytes(head))
    }

    /// Whether the queues together hold more than the limit.
    pub(super) fn is_over_limit(&self) -> bool {
        match self.limit {
            BacklogLimit::Bytes(limit) => self.total.bytes > limit,
            BacklogLimit::Packets(limit) => self.total.packets > limit,
            BacklogLimit::Unlimited => false,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self, queue: usize) -> bool {
        // With perfect isolation, this is called for queues that do not exist yet.
        (self.queues.get(queue)).is_none_or(|queue| queue.backlog.depth().packets == 0)
    }

    pub(super) fn depth_of(&self, queue: usize) -> Depth {
        self.queues[queue].backlog.depth()
    }

    /// The queue with the most bytes, and its bytes.
    pub(super) fn longest(&mut self) -> (usize, u64) {
        for queue in self.changed.drain(..) {
            let queue = queue as usize;
            let now = &mut self.queues[queue];
            now.has_changed = false;
            self.longest.set(queue, now.backlog.depth().bytes);
        }
        self.longest.best()
    }

    /// The packets and bytes in all queues.
    pub(super) fn depth(&self) -> Depth {
        self.total
    }

    pub(super) fn is_periodic(&self) -> bool {
        self.due.is_some()
    }

    pub(super) fn next_update(&self) -> Option<Instant> {
        let (_, Reverse(at)) = self.due.as_ref()?.best();
        (at < Instant::FAR_FUTURE).then_some(at)
    }

    /// Carries out the updates of all laws that are due.
    pub(super) fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        while let Some(due) = &self.due {
            let (queue, Reverse(at)) = due.best();
            if at > cx.now {
                return;
            }
            self.work_on(queue, |law, backlog| law.update(backlog, line, cx));
        }
    }

    /// The state of the longest queue's law, and the number of queues that hold packets.
    pub(super) fn internals(&self) -> QueueInternals {
        // Of several equally long queues, the first one.
        let longest = (self.queues.iter().rev()).max_by_key(|queue| queue.backlog.depth().bytes);
        let active = (0..self.queues()).filter(|&queue| !self.is_empty(queue));
        QueueInternals {
            queues_active: Some(active.count() as f64),
            ..longest
                .map(|queue| queue.law.internals())
                .unwrap_or_default()
        }
    }

    /// Calls `work` on the law and the backlog of a queue, then updates the totals of the bundle.
    #[inline]
    fn work_on<R>(
        &mut self,
        number: usize,
        work: impl FnOnce(&mut dyn Aqm, &mut Backlog) -> R,
    ) -> R {
        let queue = &mut self.queues[number];
        let before = queue.backlog.depth();
        let others = self.total.bytes - before.bytes;
        queue.backlog.set_others(others);
        let result = work(queue.law.as_mut(), &mut queue.backlog);
        let after = queue.backlog.depth();
        self.total.packets = self.total.packets - before.packets + after.packets;
        self.total.bytes = others + after.bytes;
        if !queue.has_changed {
            queue.has_changed = true;
            self.changed.push(number as u32);
        }
        if let Some(due) = &mut self.due {
            let at = queue.law.next_update().unwrap_or(Instant::FAR_FUTURE);
            if at != queue.due {
                queue.due = at;
                due.set(number, Reverse(at));
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::{docsis_pie, drop_tail};
    use crate::queue::Framing;
    use crate::testing::Bench;
    use crate::time::Duration;
    use crate::units::Limit;

    const RATE: Rate = Rate(10_000_000);
    const LINE: LineView<'static> = LineView::plain(RATE);

    fn bundle(queues: usize, limit: BacklogLimit, law: QueueConfig) -> Bundle {
        let mut rng = Rng::for_path(1, "queue");
        let laws = Laws::new(Law::Any(law), RATE, &mut rng).expect("a law");
        Bundle::new(queues, limit, laws)
    }

    fn depth(packets: u64, bytes: u64) -> Depth {
        Depth { packets, bytes }
    }

    #[test]
    fn it_reports_the_total_the_longest_queue_and_the_number_of_busy_queues() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let line = LineView {
            framing: Framing::ETHERNET,
            ..LINE
        };
        let mut bundle = bundle(
            3,
            BacklogLimit::Packets(3),
            QueueConfig::None(crate::qdisc::unlimited::Config {}),
        );
        for (queue, size) in [(1, 1000), (2, 40), (2, 1500), (0, 600)] {
            let packet = bench.packet(flow, size);
            bundle.enqueue(queue, packet, &line, &mut bench.cx());
        }
        assert_eq!(bundle.depth(), depth(4, 1018 + 64 + 1518 + 618));
        assert_eq!(bundle.longest(), (2, 1582));
        assert_eq!(bundle.depth_of(2), depth(2, 1582));
        assert!(bundle.is_over_limit());
        bundle.drop_last(2, &line, &mut bench.cx());
        assert!(!bundle.is_over_limit());
        assert_eq!(bundle.longest(), (1, 1018));
        assert_eq!(bundle.head_bytes(2, &line), Some(64));
        bundle.drop_first(2, &line, &mut bench.cx());
        assert_eq!(bundle.internals().queues_active, Some(2.0));
        assert_eq!(bundle.head_bytes(2, &line), None);
        assert_eq!(bench.take_discards().len(), 2);
        bundle.grow(10);
        assert!(bundle.is_empty(9) && bundle.is_empty(1000));
    }

    /// A control law that checks the number of bytes in the other queues.
    #[derive(Debug)]
    struct Witness;

    impl Aqm for Witness {
        fn dequeue(
            &mut self,
            backlog: &mut Backlog,
            line: &LineView<'_>,
            _cx: &mut Context<'_>,
        ) -> Option<Packet> {
            assert_eq!(backlog.others(), 1000);
            assert_eq!(backlog.depth(), depth(1, 500));
            backlog.pop(line)
        }
    }

    #[test]
    fn laws_with_counters_are_notified_of_evicted_packets() {
        for name in ["cbt", "fred"] {
            let mut bench = Bench::new();
            let flow = bench.flow(0);
            let law = QueueConfig::named(name).expect("it is one of them");
            let mut bundle = bundle(1, BacklogLimit::Unlimited, law);
            for _ in 0..100 {
                let packet = bench.packet(flow, 1500);
                bundle.enqueue(0, packet, &LINE, &mut bench.cx());
                bundle.drop_last(0, &LINE, &mut bench.cx());
            }
            let reasons = bench.take_discards();
            assert!(
                reasons
                    .iter()
                    .all(|(_, reason)| *reason == DropReason::Overlimit),
                "{name}: {reasons:?}"
            );
        }
    }

    #[test]
    fn a_law_gets_the_bytes_in_the_other_queues() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let mut bundle = bundle(
            2,
            BacklogLimit::Unlimited,
            QueueConfig::None(crate::qdisc::unlimited::Config {}),
        );
        bundle.queues[1].law = Box::new(Witness);
        for (queue, size) in [(0, 1000), (1, 500)] {
            let packet = bench.packet(flow, size);
            bundle.enqueue(queue, packet, &LINE, &mut bench.cx());
        }
        let sent = bundle.dequeue(1, &LINE, &mut bench.cx());
        assert_eq!(sent.map(|packet| packet.size), Some(500));
    }

    #[test]
    fn each_queue_has_the_limit_that_its_law_has_alone() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let law = QueueConfig::DropTail(drop_tail::Config {
            limit: Limit::Packets(2),
        });
        let mut bundle = bundle(2, BacklogLimit::Packets(3), law);
        for queue in [0, 0, 0, 1, 1, 1] {
            let packet = bench.packet(flow, 1000);
            bundle.enqueue(queue, packet, &LINE, &mut bench.cx());
        }
        assert_eq!(
            [bundle.depth_of(0), bundle.depth_of(1)],
            [depth(2, 2000); 2]
        );
        assert!(bundle.is_over_limit());
    }

    #[test]
    fn each_law_is_updated_at_the_times_that_it_has_scheduled() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let law = QueueConfig::DocsisPie(docsis_pie::Config::default());
        let mut bundle = bundle(100, BacklogLimit::Unlimited, law);
        assert!(bundle.is_periodic());
        assert_eq!(bundle.next_update(), None);
        for queue in [70, 3] {
            for _ in 0..300 {
                let packet = bench.packet(flow, 1000);
                bundle.enqueue(queue, packet, &LINE, &mut bench.cx());
            }
            bench.advance(Duration::from_millis(20));
        }
        let asked: Vec<_> = (bundle.queues.iter())
            .map(|queue| queue.law.next_update())
            .collect();
        assert_eq!(bundle.next_update(), asked[70].min(asked[3]));
        assert_eq!(asked.iter().flatten().count(), 2);
        assert!(asked[70] < asked[3], "they came 20 ms apart");
        bench.now = asked[70].expect("it asked");
        bundle.update(&LINE, &mut bench.cx());
        assert!(bundle.queues[70].law.next_update() > asked[70]);
        assert_eq!(
            bundle.queues[3].law.next_update(),
            asked[3],
            "it was not its turn"
        );
    }
}
