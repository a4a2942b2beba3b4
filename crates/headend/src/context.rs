//! What a component may touch while it handles one event.
//!
//! A component never calls another: it sends packets, asks for wake-ups, tells its application. The simulation carries these out
//! once the component's call has returned; only what a host sends enters the host's link at once, since no link is under way then.
//! Every end of a packet passes here, so packets are conserved by construction and counted.

use std::collections::VecDeque;

use crate::endpoint::Notice;
use crate::event::{EventQueue, Source};
use crate::flow::{FlowHeader, FlowId, FlowTable, GroupId, Hop};
use crate::line::{Fate, Kind, Line};
use crate::link::Link;
use crate::metrics::Recorder;
use crate::packet::{Ecn, Packet, SackId, Side};
use crate::pool::Pool;
use crate::tcp::sack::{SackBlocks, SackPool};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, FrameStore, QueueId, TraceKinds};
use crate::wire::capture::Surroundings;

/// State of a TCP connection for the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSample {
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, once there is one.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT, once there is one.
    pub srtt: Option<Duration>,
    /// Bytes in flight as the sender counts them.
    pub in_flight_bytes: u64,
}

/// A queue's inner state for the series; what a discipline does not have stays `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueueInternals {
    /// The law's drop (or mark) probability.
    pub drop_probability: Option<f64>,
    /// Tokens of the sustained-rate bucket, bytes.
    pub tokens_bytes: Option<f64>,
    /// Time left in which bursts are let through, nanoseconds.
    pub burst_allowance_ns: Option<f64>,
    /// The law's own estimate of the delay, nanoseconds.
    pub delay_estimate_ns: Option<f64>,
    /// The rate that estimate has measured the queue to drain at, where it measures one, bit/s.
    pub rate_estimate_bps: Option<f64>,
    /// The weighted average queue of a law that counts packets.
    pub average_packets: Option<f64>,
    /// The weighted average queue of a law that counts bytes.
    pub average_bytes: Option<f64>,
    /// Packets so far that joined a queue in which another flow's waited, where a hash tells flows apart.
    pub hash_collisions: Option<f64>,
    /// Queues of a scheduler that hold packets.
    pub queues_active: Option<f64>,
}

/// Delay lines of which there are two or so to a flow: more than these are a plant's, which no cache holds.
const CROWD: usize = 1024;

/// Everything of a run except the components themselves.
pub(crate) struct World {
    pub(crate) events: EventQueue,
    /// Packets that are at their next hop now.
    pub(crate) outbox: VecDeque<Packet>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) flows: FlowTable,
    pub(crate) lines: Vec<Line>,
    /// The packets on lines that have no room of their own.
    pub(crate) pool: Pool,
    pub(crate) sacks: SackPool,
    pub(crate) recorder: Recorder,
    /// Bytes that a stream without end may have in flight.
    pub(crate) window: u64,
    /// When the warm-up is over.
    pub(crate) measured_from: Instant,
    /// Whether there is more around than a cache holds.
    pub(crate) is_crowded: bool,
    pub(crate) frames: Option<Box<dyn FrameStore>>,
    pub(crate) entered: u64,
    pub(crate) delivered: u64,
    pub(crate) discarded: u64,
}

impl World {
    /// An empty world.
    pub(crate) fn new(
        events: EventQueue,
        flows: FlowTable,
        lines: Vec<Line>,
        recorder: Recorder,
    ) -> Self {
        Self {
            is_crowded: lines.len() > CROWD,
            events,
            outbox: VecDeque::with_capacity(64),
            notices: VecDeque::with_capacity(64),
            flows,
            lines,
            pool: Pool::new(),
            sacks: SackPool::default(),
            recorder,
            window: 0,
            measured_from: Instant::ZERO,
            frames: None,
            entered: 0,
            delivered: 0,
            discarded: 0,
        }
    }

    /// The recorder, and what the packets it is told of refer to.
    #[inline]
    pub(crate) fn record(&mut self) -> (&mut Recorder, Surroundings<'_>) {
        let Self {
            recorder,
            flows,
            sacks,
            ..
        } = self;
        (recorder, Surroundings { flows, sacks })
    }
}

/// The hand a component is given for the time of one call.
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    pub(crate) world: &'a mut World,
    source: Source,
    queue: Option<QueueId>,
    /// What a packet may enter within this call: all links while an endpoint is called, else none.
    links: &'a mut [Box<dyn Link>],
}

impl<'a> Context<'a> {
    pub(crate) fn new(now: Instant, world: &'a mut World, source: Source) -> Self {
        Self::beside(now, world, source, &mut [])
    }

    /// For an endpoint: what it sends may enter `links` at once.
    pub(crate) fn beside(
        now: Instant,
        world: &'a mut World,
        source: Source,
        links: &'a mut [Box<dyn Link>],
    ) -> Self {
        Self {
            now,
            world,
            source,
            queue: None,
            links,
        }
    }

    /// The endpoint whose call this is.
    pub(crate) fn endpoint(&self) -> (FlowId, Side) {
        let Source::Endpoint(index) = self.source else {
            panic!("only an endpoint's call is one of an endpoint");
        };
        (FlowId(index / 2), Side::BOTH[index as usize % 2])
    }

    /// Whether there is more around than a cache holds, so that it pays to ask for what is needed before it is.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.world.is_crowded
    }

    /// Asks for the flow of a packet.
    #[inline]
    pub(crate) fn fetch_flow(&self, packet: &Packet) {
        self.world.flows.fetch(packet.flow);
    }

    /// Asks for what stands behind the link that a packet is in.
    #[inline]
    pub(crate) fn fetch_next_hop(&self, packet: &Packet) {
        self.world.flows.fetch_next_hop(packet, &self.world.lines);
    }

    /// Bytes that a stream without end may have in flight.
    pub(crate) fn window(&self) -> u64 {
        self.world.window
    }

    /// Asks to be woken at `at` with `token`. Never cancelled: ignore a wake-up that is no longer expected.
    pub fn wake_at(&mut self, at: Instant, token: u64) {
        debug_assert!(at >= self.now, "a wake-up in the past");
        self.world.events.push(at, self.source, token);
    }

    /// Lets a new packet into the network: stamps it and hands it to its first hop.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a packet is moved where it was made only if the compiler sees both: else it is copied right after it was written, which stalls"
    )]
    pub fn emit(&mut self, packet: Packet) {
        let packet = packet.sent(self.now);
        self.world.entered += 1;
        let group = self.world.flows.entered(packet.flow);
        let recorder = &mut self.world.recorder;
        recorder.sent(group, packet.from, packet.size);
        if recorder.is_heard(TraceKinds::SENT) {
            return self.tell_of_sent(packet);
        }
        self.enter(packet);
    }

    /// Tells of a packet that a host has sent, and lets it in.
    #[cold]
    fn tell_of_sent(&mut self, packet: Packet) {
        let (recorder, around) = self.world.record();
        recorder.tell_of_sent(self.now, &packet, around);
        self.enter(packet);
    }

    /// A host's packet meets its first hop.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `emit`")]
    fn enter(&mut self, packet: Packet) {
        let to = self.world.flows.first_hop_of(packet.flow, packet.from);
        if let Hop::Link { link, port } = to
            // What was put out before goes first.
            && self.world.outbox.is_empty()
            && let Some(first) = self.links.get_mut(usize::from(link))
        {
            let source = Source::Link(u32::from(link));
            let mut cx = Context::new(self.now, self.world, source);
            first.offer(port, packet, &mut cx);
        } else {
            self.hand_over_to(to, packet, 0, self.now);
        }
    }

    /// Hands a packet to the next hop of its route.
    pub fn forward(&mut self, packet: Packet) {
        self.forward_at(packet, self.now);
    }

    /// Hands a packet over so that it is at the next hop at `at`, which is a delay line if that is later than now.
    pub fn forward_at(&mut self, packet: Packet, at: Instant) {
        let hop = packet.hop + 1;
        self.hand_over(packet, hop, at);
    }

    /// Puts a packet on the delay line at position `hop` of its route, or out for the simulation to carry.
    pub(crate) fn hand_over(&mut self, packet: Packet, hop: u8, at: Instant) {
        let to = self.world.flows.hop_of(packet.flow, packet.from, hop);
        self.hand_over_to(to, packet, hop, at);
    }

    /// The same, if it is known what is there.
    fn hand_over_to(&mut self, to: Hop, packet: Packet, hop: u8, at: Instant) {
        let Hop::Line(index) = to else {
            return self.put_out(packet, hop, at);
        };
        let World {
            lines,
            pool,
            events,
            ..
        } = &mut *self.world;
        let line = &mut lines[index as usize];
        let waits = match line.kind() {
            Kind::Waits => true,
            Kind::Passes => at > self.now,
            Kind::Harms => false,
        };
        if !waits {
            return self.hand_over_specially(packet, hop, at, index);
        }
        if let Some(due) = line.push(packet, hop + 1, at, pool) {
            events.set_line(index, Some(due));
        }
    }

    /// [`Self::hand_over`] to line `index`, which may harm the packet or let it through at once.
    #[inline(never)]
    fn hand_over_specially(&mut self, mut packet: Packet, hop: u8, at: Instant, index: u32) {
        let line = &mut self.world.lines[index as usize];
        if line.is_harmful() {
            match line.decide(packet.ecn) {
                Fate::Lost => return self.lose_on_path(packet),
                Fate::Marked => self.mark_on_path(&mut packet),
                Fate::Unharmed => {}
            }
        }
        let World { lines, pool, .. } = &mut *self.world;
        let line = &mut lines[index as usize];
        if at == self.now && line.is_transparent() {
            self.hand_over(packet, hop + 1, at);
        } else if let Some(due) = line.push(packet, hop + 1, at, pool) {
            self.world.events.set_line(index, Some(due));
        }
    }

    /// Puts a packet out before position `hop` of its route, for the simulation to carry.
    fn put_out(&mut self, packet: Packet, hop: u8, at: Instant) {
        assert_eq!(
            at, self.now,
            "only a delay line takes a packet ahead of time"
        );
        self.world.outbox.push_back(packet);
        // Set in place, as on a line.
        if let Some(packet) = self.world.outbox.back_mut() {
            packet.hop = hop;
        }
    }

    /// The only early end of a packet.
    pub fn discard(&mut self, packet: Packet, reason: DropReason) {
        let (recorder, around) = self.world.record();
        recorder.discarded(self.now, self.queue, &packet, reason, around);
        self.world.discarded += 1;
        if let (Some(frame), Some(frames)) = (packet.frame, &mut self.world.frames) {
            frames.discarded(self.now, frame, reason);
        }
        self.end(packet);
    }

    /// A packet ends in the wide area: no queue has lost it, also where one has just given it up.
    fn lose_on_path(&mut self, packet: Packet) {
        let queue = self.queue.take();
        self.discard(packet, DropReason::Corrupted);
        self.queue = queue;
    }

    /// Gives the packet CE; false if its transport is not ECN-capable (RFC 3168 §5).
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        if packet.ecn == Ecn::NotEct {
            return false;
        }
        packet.ecn = Ecn::Ce;
        if let Some(queue) = self.queue {
            let group = self.group(packet);
            self.world.recorder.marked(self.now, queue, packet, group);
        }
        true
    }

    /// Gives a packet CE in the wide area, where no queue of ours does.
    fn mark_on_path(&mut self, packet: &mut Packet) {
        packet.ecn = Ecn::Ce;
        let group = self.group(packet);
        self.world.recorder.marked_on_path(packet, group);
    }

    /// A packet joins one of the many backlogs of the queue this call is in, and shares it with another flow's: a hash has put them together.
    #[cold]
    pub fn note_met(&mut self, packet: &Packet, backlog: usize) {
        if let Some(queue) = self.queue {
            let group = self.group(packet);
            (self.world.recorder).met(queue, backlog as u32, group, packet.from);
        }
    }

    /// A packet was taken into the queue this call is in.
    #[inline]
    pub fn note_enqueued(&mut self, packet: &Packet) {
        if let Some(queue) = self.queue {
            let (recorder, around) = self.world.record();
            recorder.enqueued(self.now, queue, packet, around);
        }
    }

    /// The queue this call is in gave a packet up for transmission.
    #[inline]
    pub fn note_dequeued(&mut self, queue: QueueId, packet: &Packet) {
        let (recorder, around) = self.world.record();
        recorder.dequeued(self.now, queue, packet, around);
    }

    /// A modem put the last of a packet, which came from `queue`, into a burst; it comes out of the CMTS at `delivery`.
    #[inline]
    pub fn note_loaded(&mut self, queue: QueueId, packet: &Packet, delivery: Instant) {
        let (recorder, around) = self.world.record();
        recorder.loaded(self.now, queue, (packet, delivery), around);
    }

    fn group(&self, packet: &Packet) -> GroupId {
        self.world.flows.header(packet.flow).group
    }

    /// Where a packet is on its route.
    pub fn hop(&self, packet: &Packet) -> Hop {
        self.world
            .flows
            .hop_of(packet.flow, packet.from, packet.hop)
    }

    /// The header fields of a flow: for classifiers, hashing and per-flow laws.
    pub fn header(&self, flow: FlowId) -> &FlowHeader {
        self.world.flows.header(flow)
    }

    /// From here on, in this call, discards and marks happen in `queue`.
    pub fn enter_queue(&mut self, queue: QueueId) {
        self.queue = Some(queue);
    }

    /// The queue this call is in.
    pub fn queue(&self) -> Option<QueueId> {
        self.queue
    }

    /// The recorder, for figures that are no packet events.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.world.recorder
    }

    /// A queue now holds `bytes`.
    #[inline]
    pub fn note_backlog(&mut self, queue: QueueId, bytes: u64) {
        self.world.recorder.backlog(self.now, queue, bytes);
    }

    /// `side` is done with `flow`. True for the second side: the flow is closed now.
    pub fn close_flow(&mut self, flow: FlowId, side: Side) -> bool {
        self.world.flows.close_side(flow, side, self.now)
    }

    /// Closes `flow` for both sides: one of them has given up.
    pub fn abandon_flow(&mut self, flow: FlowId) {
        self.world.flows.close(flow, self.now);
    }

    /// Puts an event on the application's desk.
    pub fn notify(&mut self, notice: Notice) {
        self.world.notices.push_back(notice);
    }

    /// Keeps SACK blocks for a packet.
    pub fn store_sack(&mut self, blocks: SackBlocks) -> SackId {
        self.world.sacks.store(blocks)
    }

    /// The SACK blocks a packet carries.
    pub fn sack(&self, packet: &Packet) -> &[(u64, u64)] {
        packet
            .sack
            .map_or(&[], |id| self.world.sacks.blocks(id).as_slice())
    }

    /// A packet ends: gives back what it held outside itself.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the packet is gone after this"
    )]
    pub(crate) fn end(&mut self, packet: Packet) {
        if let Some(id) = packet.sack {
            self.world.sacks.release(id);
        }
        self.world.flows.left(packet.flow, self.now);
    }

    /// A packet has reached its receiver; the endpoint reads it next, then the simulation calls [`Self::end`].
    pub(crate) fn deliver(&mut self, packet: &Packet) {
        let group = self.group(packet);
        let (recorder, around) = self.world.record();
        recorder.delivered(self.now, packet, group, around);
        self.world.delivered += 1;
        if let (Some(frame), Some(frames)) = (packet.frame, &mut self.world.frames) {
            frames.delivered(self.now, frame, packet.ecn);
        }
    }
}
