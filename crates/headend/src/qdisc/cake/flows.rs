//! The flows of a tin: a queue for each, with COBALT in it, and a deficit round robin that serves
//! flows first when they begin to send (DRR++).
//!
//! - A set-associative hash assigns flows to 1024 queues: a flow takes an empty queue of its eight,
//!   and shares one only if all of them hold other flows.
//! - A queue that becomes active is *new*, and new queues are served before old ones. One that has
//!   used up its quantum is old: its flow is *bulk*. New flows are those that send less than a
//!   quantum while the others have a turn.
//! - A flow's quantum is divided by the number of bulk flows of its host ([`Hosts`]).
//! - Each queue has a [`Cobalt`], in which a delay of four packet times is never excessive.
//!
//! The queues are made when the first packet of the tin arrives.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE" (2018) §III, and RFC 8290 §4.

use super::acks::AckFilter;
use super::hosts::{Ends, HostIsolation, Hosts, Seats, ends};
use super::scaling::Scale;
use crate::aqm::cobalt::{self, Cobalt};
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::metrics::tins::{TinCounts, TinStats};
use crate::packet::Packet;
use crate::qdisc::hash::{self, FlowHash, Isolation, Owner, QueueOwners};
use crate::qdisc::tournament::Tournament;
use crate::qdisc::turns::{Turn, TurnTable, Turns};
use crate::queue::{Backlog, BacklogLimit, Depth, Framing, LineView};
use crate::rng::Rng;
use crate::time::Duration;
use crate::trace::DropReason;
use crate::units::{Limit, Rate};

/// Queues of each tin.
pub(super) const QUEUES: u32 = 1024;

/// Deficits count in this part of a byte, so that a quantum can be divided among many flows.
const PARTS: u64 = 256;

/// RFC 8290 §4: the two lists, in the order in which they are served.
const NEW: usize = 0;
const OLD: usize = 1;

/// How all tins treat their flows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Treatment {
    pub(super) isolation: HostIsolation,
    /// Whether queues see the addresses of hosts behind NAT.
    pub(super) nat: bool,
    pub(super) ack_filter: AckFilter,
    pub(super) framing: Framing,
}

/// The queue of a flow.
#[derive(Debug)]
struct Queue {
    backlog: Backlog,
    law: Cobalt,
    owner: Owner,
    turn: Turn,
    /// Its hosts, while it is active.
    seats: Seats,
    is_bulk: bool,
    /// Whether it has changed since [`Flows::longest`] was last called.
    has_changed: bool,
}

/// The queues, as hash and lists see them.
#[derive(Debug)]
struct Queues(Vec<Queue>);

impl QueueOwners for Queues {
    #[inline]
    fn is_empty(&self, queue: usize) -> bool {
        self.0[queue].backlog.depth().packets == 0
    }

    #[inline]
    fn owner(&mut self, queue: usize) -> &mut Owner {
        &mut self.0[queue].owner
    }
}

impl TurnTable for Queues {
    #[inline]
    fn turn(&mut self, queue: usize) -> &mut Turn {
        &mut self.0[queue].turn
    }
}

/// The flows of one tin.
#[derive(Debug)]
pub(super) struct Flows {
    treatment: Treatment,
    scale: Scale,
    hash: FlowHash,
    hosts: Hosts,
    queues: Queues,
    turns: Turns<2>,
    depth: Depth,
    /// The queues by their bytes at the last call of [`Self::longest`], and those that have changed
    /// since then.
    longest: Tournament<u64>,
    changed: Vec<u32>,
    counts: TinCounts,
    /// The longest sojourn time and the largest packet since the last [`Self::stats`].
    longest_wait: Duration,
    largest: u16,
    rng: Rng,
}

impl Flows {
    pub(super) fn new(treatment: Treatment, scale: Scale, mut rng: Rng) -> Self {
        let hash = hash::Config {
            isolation: Isolation::SetAssociative,
            ..hash::Config::default()
        };
        let hash = FlowHash::new(&hash, QUEUES, &mut rng);
        Self {
            hosts: Hosts::new(treatment.isolation, hash.seed()),
            treatment,
            scale,
            hash,
            queues: Queues(Vec::new()),
            turns: Turns::new(),
            depth: Depth::default(),
            longest: Tournament::new(0, 0),
            changed: Vec::new(),
            counts: TinCounts::default(),
            longest_wait: Duration::ZERO,
            largest: 0,
            rng,
        }
    }

    /// Changes the parameters that follow from the rate.
    pub(super) fn rescale(&mut self, scale: Scale) {
        self.scale = scale;
        for queue in &mut self.queues.0 {
            queue.law.set_delays(scale.target, scale.interval);
        }
    }

    /// Makes the queues.
    #[cold]
    fn make_queues(&mut self) {
        let law = cobalt::Config {
            limit: Limit::Unlimited,
            target: self.scale.target,
            interval: self.scale.interval,
            ..cobalt::Config::default()
        };
        let seed = self.rng.below(u64::MAX);
        let queue = |number| Queue {
            backlog: Backlog::new(BacklogLimit::Unlimited),
            law: Cobalt::new(
                law.clone(),
                Rng::for_path(seed, format_args!("queue.{number}")),
            ),
            owner: Owner::default(),
            turn: Turn::NEW,
            seats: Seats::NONE,
            is_bulk: false,
            has_changed: false,
        };
        self.queues = Queues((0..QUEUES).map(queue).collect());
        self.longest = Tournament::new(QUEUES as usize, 0);
        self.changed = Vec::with_capacity(QUEUES as usize);
    }

    /// Enqueues a packet. `lost` is called for an acknowledgement that is dropped.
    pub(super) fn enqueue(
        &mut self,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
        mut lost: impl FnMut(&Packet),
    ) {
        if self.queues.0.is_empty() {
            self.make_queues();
        }
        self.counts.packets += 1;
        self.counts.bytes += u64::from(packet.size);
        self.largest = self.largest.max(packet.size);
        let Treatment {
            isolation,
            nat,
            ack_filter,
            ..
        } = self.treatment;
        let header = cx.header(packet.flow);
        let ends = ends(header, packet.from, nat);
        let key = isolation.key(self.hash.seed(), header, packet.from, ends);
        let number = self.hash.place_by(key, &packet, cx, &mut self.queues);
        let queue = &mut self.queues.0[number];
        let superfluous = ack_filter.superfluous(&queue.backlog, &packet, cx);
        let before = queue.backlog.depth();
        queue.backlog.push(packet, line, cx);
        if let Some(ack) = superfluous.and_then(|place| queue.backlog.remove(place, line)) {
            self.counts.acks_dropped += 1;
            lost(&ack);
            cx.discard(ack, DropReason::AckThinned);
        }
        self.count(number, before);
        if !self.queues.0[number].turn.is_listed() {
            self.begin(number, ends);
        }
    }

    /// A queue becomes active: it is new, and has a quantum.
    fn begin(&mut self, number: usize, ends: Ends) {
        self.turns.push(&mut self.queues, NEW, number);
        self.queues.0[number].seats = self.hosts.enter(ends);
        let quantum = self.quantum(number);
        self.queues.0[number].turn.deficit = quantum;
    }

    /// The quantum of a queue, divided by the bulk flows of its host.
    fn quantum(&self, number: usize) -> i32 {
        let load = u64::from(self.hosts.load(self.queues.0[number].seats));
        (self.scale.quantum * PARTS / load).max(1) as i32
    }

    /// The next packet; `None` if no packet waits, or if the control law has dropped all. `lost` is
    /// called for each packet that is dropped.
    pub(super) fn dequeue(
        &mut self,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
        mut lost: impl FnMut(&Packet),
    ) -> Option<Packet> {
        while let Some((list, number)) = self.first() {
            if self.queues.0[number].turn.deficit <= 0 {
                self.end_turn(list, number);
                continue;
            }
            let least = self.scale.packet_time * 4;
            let queue = &mut self.queues.0[number];
            let before = queue.backlog.depth();
            let mut dropped = 0;
            let packet = (queue.law).next(least, &mut queue.backlog, line, cx, |packet| {
                dropped += 1;
                lost(packet);
            });
            self.counts.dropped += dropped;
            if let Some(sent) = &packet {
                let sojourn = cx.now - sent.enqueued_at;
                self.longest_wait = self.longest_wait.max(sojourn);
                self.counts.waits.add(sojourn);
                if !queue.is_bulk {
                    self.counts.sparse_waits.add(sojourn);
                }
                let parts = self.treatment.framing.size_on_wire(sent.size) * PARTS;
                queue.turn.deficit -= parts as i32;
            }
            self.count(number, before);
            if packet.is_some() {
                return packet;
            }
            self.end(list, number);
        }
        None
    }

    /// The list to be served, and its first queue.
    fn first(&self) -> Option<(usize, usize)> {
        let of = |list| self.turns.first(list).map(|queue| (list, queue));
        of(NEW).or_else(|| of(OLD))
    }

    /// A queue has used up its quantum: it gets another one, and is bulk from now on.
    fn end_turn(&mut self, list: usize, number: usize) {
        let queue = &mut self.queues.0[number];
        if !queue.is_bulk {
            queue.is_bulk = true;
            self.hosts.begin_bulk(queue.seats);
        }
        let quantum = self.quantum(number);
        self.queues.0[number].turn.deficit += quantum;
        self.turns.pass(&mut self.queues, list, OLD);
    }

    /// A queue was found empty. A new one goes behind the old ones first (RFC 8290 §4.2), so that a
    /// flow that sends a packet each time its queue is empty does not stay new.
    fn end(&mut self, list: usize, number: usize) {
        let queue = &mut self.queues.0[number];
        if queue.is_bulk {
            queue.is_bulk = false;
            self.hosts.end_bulk(queue.seats);
        }
        if list == NEW {
            self.turns.pass(&mut self.queues, NEW, OLD);
        } else {
            self.hosts.leave(queue.seats);
            queue.seats = Seats::NONE;
            self.turns.pop(&mut self.queues, OLD);
        }
    }

    /// The queue with the most bytes, and its bytes.
    pub(super) fn longest(&mut self) -> (usize, u64) {
        for number in self.changed.drain(..) {
            let queue = &mut self.queues.0[number as usize];
            queue.has_changed = false;
            (self.longest).set(number as usize, queue.backlog.depth().bytes);
        }
        self.longest.best()
    }

    /// Drops the oldest packet of a queue, since there is no room. The law is notified.
    pub(super) fn overflow(
        &mut self,
        number: usize,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
        mut lost: impl FnMut(&Packet),
    ) {
        let queue = &mut self.queues.0[number];
        let before = queue.backlog.depth();
        queue.law.overflowed(cx.now);
        if let Some(packet) = queue.backlog.pop(line) {
            self.counts.dropped += 1;
            lost(&packet);
            cx.discard(packet, DropReason::Overlimit);
        }
        self.count(number, before);
    }

    /// The packet that has waited longest, and its queue.
    pub(super) fn oldest(&self) -> Option<(crate::time::Instant, usize)> {
        let heads = self.queues.0.iter().enumerate();
        heads
            .filter_map(|(number, queue)| Some((queue.backlog.head()?.enqueued_at, number)))
            .min()
    }

    /// Removes the oldest packet of a queue, without the control law.
    pub(super) fn take(&mut self, number: usize, line: &LineView<'_>) -> Option<Packet> {
        let queue = &mut self.queues.0[number];
        let before = queue.backlog.depth();
        let packet = queue.backlog.pop(line);
        self.count(number, before);
        packet
    }

    /// The packets and bytes in all queues.
    #[inline]
    pub(super) fn depth(&self) -> Depth {
        self.depth
    }

    /// What the tin has done until now, as one of this name and threshold.
    pub(super) fn stats(&mut self, name: &'static str, threshold: Option<Rate>) -> TinStats {
        let queues = &self.queues.0;
        let count = |of: fn(&Queue) -> bool| queues.iter().filter(|queue| of(queue)).count() as u64;
        TinStats {
            name,
            threshold,
            target: self.scale.target,
            interval: self.scale.interval,
            quantum: self.scale.quantum,
            backlog: self.depth.bytes,
            sparse_flows: count(|queue| queue.turn.is_listed() && !queue.is_bulk),
            bulk_flows: count(|queue| queue.is_bulk),
            unresponsive_flows: count(|queue| queue.law.is_unresponsive()),
            longest: std::mem::take(&mut self.longest_wait),
            largest: std::mem::take(&mut self.largest).into(),
            counts: TinCounts {
                marked: queues.iter().map(|queue| queue.law.marks()).sum(),
                collisions: self.hash.collisions(),
                ..self.counts
            },
        }
    }

    /// The state of the longest queue's law, the queues that hold packets, and the collisions.
    pub(super) fn internals(&self) -> QueueInternals {
        let queues = &self.queues.0;
        let longest = (queues.iter().rev()).max_by_key(|queue| queue.backlog.depth().bytes);
        let active = (queues.iter()).filter(|queue| queue.backlog.depth().packets > 0);
        QueueInternals {
            queues_active: Some(active.count() as f64),
            hash_collisions: Some(self.hash.collisions() as f64),
            ..longest
                .map(|queue| crate::aqm::Aqm::internals(&queue.law))
                .unwrap_or_default()
        }
    }

    /// Updates the totals after a queue has changed.
    #[inline]
    fn count(&mut self, number: usize, before: Depth) {
        let queue = &mut self.queues.0[number];
        let after = queue.backlog.depth();
        self.depth.packets = self.depth.packets - before.packets + after.packets;
        self.depth.bytes = self.depth.bytes - before.bytes + after.bytes;
        if !queue.has_changed {
            queue.has_changed = true;
            self.changed.push(number as u32);
        }
    }
}
