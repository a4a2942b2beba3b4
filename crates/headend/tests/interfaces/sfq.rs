//! Stochastic fair queueing with a law for each bucket, a global PIE probability, or both.

use std::collections::VecDeque;

use headend::aqm::{Aqm, Codel, DropTail, codel};
use headend::context::{Context, QueueInternals};
use headend::flow::FlowHeader;
use headend::packet::{Ecn, Packet};
use headend::qdisc::{Backlog, BacklogLimit, Depth, LineView, QueueDiscipline, Share};
use headend::rng::Rng;
use headend::time::{Duration, Instant};
use headend::trace::DropReason;

use super::scene::{Controller, Outcome, Source, assert_empty, run, seconds};

const BUCKETS: usize = 32;
const QUANTUM: i64 = 1514;
const UPDATE: Duration = Duration::from_millis(16);

/// One bucket: a backlog under its own law.
#[derive(Debug)]
struct Bucket {
    backlog: Backlog,
    law: Box<dyn Aqm>,
    deficit: i64,
}

/// Deficit round robin over hashed buckets.
#[derive(Debug)]
struct Sfq {
    buckets: Vec<Bucket>,
    /// Buckets that hold packets, in the order they are served.
    active: VecDeque<usize>,
    total: Depth,
    limit_bytes: u64,
    /// SFQ-PIE: one probability for all, scaled by own over longest.
    global: Option<Controller>,
    next_update: Instant,
    rng: Rng,
}

impl Sfq {
    fn new(law: fn() -> Box<dyn Aqm>, global: Option<Controller>) -> Self {
        let bucket = |_| Bucket {
            backlog: Backlog::new(BacklogLimit::Unlimited),
            law: law(),
            deficit: 0,
        };
        Self {
            buckets: (0..BUCKETS).map(bucket).collect(),
            active: VecDeque::with_capacity(BUCKETS),
            total: Depth::default(),
            limit_bytes: 312_500,
            global,
            next_update: Instant::ZERO + UPDATE,
            rng: Rng::for_path(1, "queue"),
        }
    }

    fn longest(&self) -> (usize, u64) {
        let bytes = |index: usize| self.buckets[index].backlog.depth().bytes;
        let longest = self
            .active
            .iter()
            .copied()
            .max_by_key(|&index| bytes(index));
        longest.map_or((0, 0), |index| (index, bytes(index)))
    }

    /// What a bucket's law sees of the line: its place among its siblings.
    fn seen_by_law<'a>(&self, line: &LineView<'a>) -> LineView<'a> {
        let share = Share {
            total: self.total.bytes,
            longest: self.longest().1,
        };
        LineView {
            share: Some(share),
            ..*line
        }
    }

    /// Brings the totals in step with a bucket that a law has just worked on.
    fn settle(&mut self, index: usize, before: Depth) {
        let after = self.buckets[index].backlog.depth();
        self.total.packets = self.total.packets + after.packets - before.packets;
        self.total.bytes = self.total.bytes + after.bytes - before.bytes;
        if before.packets == 0 && after.packets > 0 {
            self.buckets[index].deficit = QUANTUM;
            self.active.push_back(index);
        } else if before.packets > 0 && after.packets == 0 {
            self.active.retain(|&other| other != index);
        }
    }

    /// The global probability, scaled: an empty bucket is immune, a lone one gets plain PIE.
    fn draws(&mut self, index: usize) -> bool {
        let own = self.buckets[index].backlog.depth().bytes;
        let longest = self.longest().1;
        let Some(global) = &self.global else {
            return false;
        };
        let probability = global.probability * own as f64 / longest.max(1) as f64;
        probability > 0.0 && self.rng.uniform() < probability
    }

    fn shed(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        while self.total.bytes > self.limit_bytes {
            let (index, _) = self.longest();
            let backlog = &mut self.buckets[index].backlog;
            let before = backlog.depth();
            let tail = backlog
                .remove(before.packets as usize - 1, line)
                .expect("the longest has one");
            cx.discard(tail, DropReason::Overlimit);
            self.settle(index, before);
        }
    }
}

/// FNV-1a over the five-tuple.
fn hash(header: &FlowHeader) -> usize {
    let [a, b] = header.addresses;
    let ports = u32::from(header.ports[0]) << 16 | u32::from(header.ports[1]);
    let words = [a, b, ports, header.protocol as u32];
    let fold =
        |hash: u64, word: &u32| (hash ^ u64::from(*word)).wrapping_mul(0x0000_0100_0000_01b3);
    (words.iter().fold(0xcbf2_9ce4_8422_2325, fold) >> 17) as usize % BUCKETS
}

impl QueueDiscipline for Sfq {
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>) {
        let index = hash(cx.header(packet.flow));
        if self.draws(index) {
            cx.discard(packet, DropReason::Congested);
            return;
        }
        let line = self.seen_by_law(line);
        let bucket = &mut self.buckets[index];
        let before = bucket.backlog.depth();
        bucket.law.enqueue(&mut bucket.backlog, packet, &line, cx);
        self.settle(index, before);
        self.shed(&line, cx);
    }

    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet> {
        let line = self.seen_by_law(line);
        while let Some(&index) = self.active.front() {
            let bucket = &mut self.buckets[index];
            if bucket.deficit <= 0 {
                bucket.deficit += QUANTUM;
                self.active.rotate_left(1);
                continue;
            }
            let before = bucket.backlog.depth();
            // The law may discard on the way, down to nothing: then it is the next bucket's turn.
            let packet = bucket.law.dequeue(&mut bucket.backlog, &line, cx);
            if let Some(packet) = &packet {
                bucket.deficit -= line.framing.bytes(packet) as i64;
            }
            self.settle(index, before);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    fn depth(&self) -> Depth {
        self.total
    }

    fn next_update(&self) -> Option<Instant> {
        let laws = self
            .buckets
            .iter()
            .filter_map(|bucket| bucket.law.next_update());
        let is_at_rest = |global: &Controller| self.total.packets == 0 && global.is_at_rest();
        let own = self
            .global
            .as_ref()
            .filter(|global| !is_at_rest(global))
            .map(|_| self.next_update);
        laws.chain(own).min()
    }

    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        let seen = self.seen_by_law(line);
        for bucket in &mut self.buckets {
            if bucket.law.next_update().is_some_and(|at| at <= cx.now) {
                bucket.law.update(&bucket.backlog, &seen, cx);
            }
        }
        // A prototype: updates slept through are skipped, not made up.
        if let Some(global) = &mut self.global
            && self.next_update <= cx.now
        {
            global.update(seconds(self.total.bytes, line));
            self.next_update = cx.now + UPDATE;
        }
    }

    fn internals(&self) -> QueueInternals {
        let drop_probability = self.global.as_ref().map(|global| global.probability);
        QueueInternals {
            drop_probability,
            ..QueueInternals::default()
        }
    }
}

/// A law that checks what it is told of its siblings.
#[derive(Debug)]
struct Witness;

impl Aqm for Witness {
    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        _cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let share = line
            .share
            .expect("a law inside a scheduler knows its share");
        let own = backlog.depth().bytes;
        assert!(own <= share.longest && share.longest <= share.total);
        backlog.pop(line)
    }
}

/// PIE's weights, and the reference delay of SFQ-PIE.
fn global() -> Controller {
    Controller::new(0.125, 1.25, 0.045)
}

/// Two floods of 8 Mbit/s each and a call.
fn compete(queue: Sfq) -> Vec<Outcome> {
    assert_empty(queue.depth());
    let flood = |us| Source {
        gap: Duration::from_micros(us),
        size: 1250,
        ecn: Ecn::NotEct,
        dscp: 0,
    };
    let call = Source {
        gap: Duration::from_millis(20),
        size: 200,
        ecn: Ecn::NotEct,
        dscp: 0,
    };
    run(Box::new(queue), &[flood(1250), flood(1251), call])
}

/// The floods share what the call leaves, and the call hardly waits.
#[track_caller]
fn assert_fair(outcomes: &[Outcome]) {
    let rates: Vec<f64> = outcomes.iter().map(Outcome::rate).collect();
    assert!(
        (rates[0] - 4.96).abs() < 0.1 && (rates[1] - 4.96).abs() < 0.1,
        "{rates:?}"
    );
    assert_eq!(outcomes[2].discarded(), 0, "the call loses nothing");
    // A round of at most two packets of each flood, and the one being sent: 5 ms.
    assert!(
        outcomes[2].longest_delay < Duration::from_micros(5200),
        "{:?}",
        outcomes[2]
    );
}

#[test]
fn sfq_pie_drops_by_one_probability_scaled_by_own_over_longest() {
    let outcomes = compete(Sfq::new(|| Box::new(DropTail), Some(global())));
    assert_fair(&outcomes);
    let congested = outcomes[0].discarded_as(DropReason::Congested);
    assert!(congested > outcomes[0].discarded() / 2, "{:?}", outcomes[0]);
}

#[test]
fn sfq_codel_holds_a_law_for_each_bucket() {
    let codel = || -> Box<dyn Aqm> { Box::new(Codel::new(codel::Config::default())) };
    let outcomes = compete(Sfq::new(codel, None));
    assert_fair(&outcomes);
    assert!(outcomes[1].discarded_as(DropReason::Congested) > 0);
}

#[test]
fn sfq_drops_from_the_tail_of_the_longest_bucket() {
    let outcomes = compete(Sfq::new(|| Box::new(Witness), None));
    assert_fair(&outcomes);
    assert_eq!(
        outcomes[0].discarded(),
        outcomes[0].discarded_as(DropReason::Overlimit)
    );
}

#[test]
fn updates_of_many_laws_reach_each_of_them_when_it_asked() {
    let law = || -> Box<dyn Aqm> {
        let config = headend::aqm::docsis_pie::Config::default();
        Box::new(headend::aqm::DocsisPie::new(
            config,
            Rng::for_path(1, "bucket"),
        ))
    };
    let outcomes = compete(Sfq::new(law, Some(global())));
    assert_fair(&outcomes);
}
