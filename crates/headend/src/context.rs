//! What a component may do while it handles one event.
//!
//! A component never calls another: it emits, forwards or discards packets, schedules wake-ups and
//! notifies its application. The simulation carries these out once the component's call has
//! returned. Every packet enters, moves on and ends through the methods of [`Context`], which count
//! it.

use std::collections::VecDeque;

use crate::clock::RealHostId;
use crate::collection::Deque;
use crate::event::{EventQueue, Source};
use crate::flow::{FlowHeader, FlowId, FlowTable, GroupId, Hop, Surroundings};
use crate::line::{Fate, Line};
use crate::metrics::Recorder;
use crate::metrics::protection::Judged;
use crate::metrics::real::{FrameEnds, RealFlows};
use crate::notice::Notice;
use crate::packet::frames::Frames;
use crate::packet::sack::{SackBlocks, SackPool};
use crate::packet::{Ecn, Fields, Flags, FrameId, Packet, SackId, Side};
use crate::time::Instant;
use crate::trace::{DropReason, QueueId, SenderEvent, SenderView};
use crate::units::Rate;
use crate::wire::real::{ecn, set_dscp, set_ecn};

/// What an application may see and set of a router: by direction, the side that sends first.
#[derive(Debug, Default)]
pub(crate) struct RouterRates {
    /// Bytes that the router has sent so far.
    pub(crate) sent: [u64; 2],
    /// A new rate, until the simulation has set it.
    pub(crate) wanted: [Option<Rate>; 2],
}

/// Everything of a run except the components themselves.
pub(crate) struct World {
    pub(crate) events: EventQueue,
    /// Packets that are about to arrive at a link or a host, and at which.
    pub(crate) outbox: Deque<(Hop, Packet)>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) flows: FlowTable,
    pub(crate) lines: Vec<Line>,
    pub(crate) sacks: SackPool,
    pub(crate) recorder: Recorder,
    /// Bytes that a stream without end may have in flight.
    pub(crate) window: u64,
    /// When the warm-up is over.
    pub(crate) measured_from: Instant,
    /// The frames of real hosts that are in the network.
    pub(crate) frames: Frames,
    /// Frames that have crossed the network and were not yet handed to the clock.
    pub(crate) departures: Vec<Departure>,
    pub(crate) frame_ends: FrameEnds,
    pub(crate) real_flows: RealFlows,
    pub(crate) router: RouterRates,
    pub(crate) entered: u64,
    pub(crate) delivered: u64,
    pub(crate) discarded: u64,
}

impl World {
    /// A world at time zero.
    pub(crate) fn new(
        events: EventQueue,
        flows: FlowTable,
        lines: Vec<Line>,
        recorder: Recorder,
    ) -> Self {
        Self {
            events,
            outbox: Deque::default(),
            notices: VecDeque::with_capacity(64),
            flows,
            lines,
            sacks: SackPool::default(),
            recorder,
            window: 0,
            measured_from: Instant::ZERO,
            frames: Frames::default(),
            departures: Vec::new(),
            frame_ends: FrameEnds::default(),
            real_flows: RealFlows::default(),
            router: RouterRates::default(),
            entered: 0,
            delivered: 0,
            discarded: 0,
        }
    }

    /// The recorder, and what the packets that it records refer to.
    #[inline]
    pub(crate) fn record(&mut self) -> (&mut Recorder, Surroundings<'_>) {
        let Self {
            recorder,
            flows,
            sacks,
            frames,
            ..
        } = self;
        let around = Surroundings {
            flows,
            sacks,
            frames,
        };
        (recorder, around)
    }
}

/// A frame that has crossed the network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Departure {
    pub(crate) at: Instant,
    pub(crate) to: RealHostId,
    pub(crate) frame: FrameId,
}

/// What a component may do within one call.
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    pub(crate) world: &'a mut World,
    source: Source,
    queue: Option<QueueId>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(now: Instant, world: &'a mut World, source: Source) -> Self {
        Self {
            now,
            world,
            source,
            queue: None,
        }
    }

    /// The endpoint that is called.
    pub(crate) fn endpoint(&self) -> (FlowId, Side) {
        let Source::Endpoint(index) = self.source else {
            panic!("only an endpoint's call is one of an endpoint");
        };
        (FlowId(index / 2), Side::BOTH[index as usize % 2])
    }

    /// Bytes that a stream without end may have in flight.
    pub(crate) fn window(&self) -> u64 {
        self.world.window
    }

    /// Schedules a wake-up of the component that is called, at `at` with `token`. A wake-up is
    /// never cancelled: a component ignores one that it no longer expects.
    pub fn wake_at(&mut self, at: Instant, token: u64) {
        debug_assert!(at >= self.now, "a wake-up in the past");
        self.world.events.push(at, self.source, token);
    }

    /// A host lets a new packet into the network, towards the first hop of its route.
    #[inline(always)]
    pub fn emit(&mut self, mut packet: Packet) {
        packet.sent_at = self.now;
        self.world.entered += 1;
        let group = self.world.flows.entered(packet.flow);
        let (recorder, around) = self.world.record();
        recorder.sent(self.now, &packet, group, around);
        self.travel(packet, 0, self.now);
    }

    /// A link passes a packet on to the next hop of its route, where the packet is at `at`.
    ///
    /// # Panics
    ///
    /// If `at` is later than now and the next hop is no delay line: nothing else takes a packet
    /// ahead of time.
    #[inline(always)]
    pub fn forward(&mut self, packet: Packet, at: Instant) {
        let next = packet.hop + 1;
        self.travel(packet, next, at);
    }

    /// Brings a packet to position `hop` of its route: onto a delay line, or into the outbox, from
    /// which the simulation lets it arrive at a link or a host.
    #[inline(always)]
    pub(crate) fn travel(&mut self, mut packet: Packet, mut hop: u8, at: Instant) {
        loop {
            let to = (self.world.flows).hop_of(packet.flow, packet.from, hop);
            let Hop::Line(index) = to else {
                assert_eq!(
                    at, self.now,
                    "only a delay line takes a packet ahead of time"
                );
                packet.hop = hop;
                self.world.outbox.push_back((to, packet));
                return;
            };
            hop += 1;
            let line = &mut self.world.lines[index as usize];
            match line.decide(packet.ecn) {
                Fate::Lost => return self.lose_on_path(packet),
                Fate::Marked => self.mark_on_path(&mut packet),
                Fate::Unharmed => {}
            }
            let line = &mut self.world.lines[index as usize];
            if at > self.now || !line.is_transparent() {
                if let Some(due) = line.push(packet, hop, at) {
                    self.world.events.set_line(index, Some(due));
                }
                return;
            }
        }
    }

    /// A packet is lost. This is the only way in which a packet ends before its route does.
    pub fn discard(&mut self, packet: Packet, reason: DropReason) {
        let (recorder, around) = self.world.record();
        recorder.discarded(self.now, self.queue, &packet, reason, around);
        self.world.discarded += 1;
        if let Some(frame) = packet.frame {
            self.lose_frame(frame, &packet, reason);
        }
        self.end(packet);
    }

    /// The frame of a packet that is discarded is lost.
    #[cold]
    fn lose_frame(&mut self, frame: FrameId, packet: &Packet, reason: DropReason) {
        let flow = self.world.real_flows.in_slot(packet.flow);
        flow.discarded(packet.from, reason);
        let to = flow.hosts()[packet.from.other().index()];
        let bytes = self.world.frames.bytes(frame);
        (self.world.frame_ends).discarded(self.now, to, packet, bytes, reason);
        self.world.frames.free(frame);
    }

    /// The frame of a packet that has arrived departs to its host, with the ECN field that the
    /// packet has. True if the network has marked it.
    pub(crate) fn depart(&mut self, packet: &Packet, frame: FrameId, to: RealHostId) -> bool {
        let bytes = self.world.frames.bytes_mut(frame);
        let is_marked = packet.ecn == Ecn::Ce && ecn(bytes) != Some(Ecn::Ce);
        if is_marked {
            set_ecn(bytes, Ecn::Ce);
        }
        (self.world.frame_ends).delivered(self.now, to, packet, bytes, is_marked);
        let at = self.now;
        self.world.departures.push(Departure { at, to, frame });
        is_marked
    }

    /// A packet is lost on the way: in the wide area, or by a link that has sent it. The loss is
    /// counted for no queue, even if a queue has just given the packet up.
    pub(crate) fn lose_on_path(&mut self, packet: Packet) {
        let queue = self.queue.take();
        self.discard(packet, DropReason::Corrupted);
        self.queue = queue;
    }

    /// Marks the packet CE; false if its transport is not ECN-capable (RFC 3168 §5).
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        let is_marked = packet.mark();
        if is_marked {
            self.note_marked(packet);
        }
        is_marked
    }

    /// The queue that is called has marked a packet.
    pub(crate) fn note_marked(&mut self, packet: &Fields) {
        if let Some(queue) = self.queue {
            let group = self.group(packet);
            self.world.recorder.marked(self.now, queue, packet, group);
        }
    }

    /// Marks a packet CE in the wide area, for which no queue counts the mark.
    fn mark_on_path(&mut self, packet: &mut Packet) {
        packet.ecn = Ecn::Ce;
        let group = self.group(packet);
        self.world.recorder.marked_on_path(packet, group);
    }

    /// A packet joins a backlog in which another flow has packets: a hash collision. `backlog`
    /// numbers the backlogs of the queue that is called.
    #[cold]
    pub fn record_collision(&mut self, packet: &Packet, backlog: usize) {
        if let Some(queue) = self.queue {
            let group = self.group(packet);
            (self.world.recorder).met(queue, backlog as u32, group, packet.from);
        }
    }

    /// The queue that is called has enqueued a packet.
    #[inline]
    pub fn note_enqueued(&mut self, packet: &Fields) {
        if let Some(queue) = self.queue {
            let (recorder, around) = self.world.record();
            recorder.enqueued(self.now, queue, packet, around);
        }
    }

    /// `queue` has dequeued a packet for transmission.
    #[inline]
    pub fn note_dequeued(&mut self, queue: QueueId, packet: &Packet) {
        let (recorder, around) = self.world.record();
        recorder.dequeued(self.now, queue, packet, around);
    }

    /// Queue protection has judged a packet that arrives at the low-latency queue that is called.
    pub fn note_judged(&mut self, packet: &Packet, judged: Judged) {
        if let Some(queue) = self.queue {
            let (recorder, around) = self.world.record();
            recorder.judged(self.now, queue, packet, around, judged);
        }
    }

    /// A packet of an aggregate service flow leaves its link at `at`, which is not before now.
    pub fn note_left(&mut self, queue: QueueId, packet: &Packet, at: Instant) {
        let (recorder, around) = self.world.record();
        recorder.left(self.now, queue, packet, around, at);
    }

    /// A modem has put the last byte of a packet from `queue` into a burst. The CMTS forwards the
    /// packet at `delivery`.
    #[inline]
    pub fn note_loaded(&mut self, queue: QueueId, packet: &Packet, delivery: Instant) {
        let (recorder, around) = self.world.record();
        recorder.loaded(self.now, queue, (packet, delivery), around);
    }

    fn group(&self, packet: &Fields) -> GroupId {
        self.world.flows.header(packet.flow).group
    }

    /// The hop of its route at which a packet is.
    pub fn hop(&self, packet: &Packet) -> Hop {
        self.world
            .flows
            .hop_of(packet.flow, packet.from, packet.hop)
    }

    /// The DSCP of a packet.
    #[inline]
    pub fn dscp(&self, packet: &Packet) -> u8 {
        self.header(packet.flow).dscp_of(packet)
    }

    /// Clears the DSCP of a packet, also that of the real frame that it stands for.
    pub fn clear_dscp(&mut self, packet: &mut Packet) {
        packet.flags = packet.flags.with(Flags::WASHED);
        if let Some(frame) = packet.frame {
            set_dscp(self.world.frames.bytes_mut(frame), 0);
        }
    }

    /// The header fields of a flow: for classifiers, hashing and per-flow laws.
    pub fn header(&self, flow: FlowId) -> &FlowHeader {
        self.world.flows.header(flow)
    }

    /// From now on, and during this call, discards and marks are those of `queue`.
    pub fn enter_queue(&mut self, queue: QueueId) {
        self.queue = Some(queue);
    }

    /// The queue that is called.
    pub fn queue(&self) -> Option<QueueId> {
        self.queue
    }

    /// The recorder, for what is no event of a packet.
    pub fn recorder(&mut self) -> &mut Recorder {
        &mut self.world.recorder
    }

    /// `queue` now holds `bytes`.
    #[inline]
    pub fn note_backlog(&mut self, queue: QueueId, bytes: u64) {
        self.world.recorder.backlog(self.now, queue, bytes);
    }

    /// Whether both sides are done with `flow`.
    pub fn is_flow_closed(&self, flow: FlowId) -> bool {
        self.world.flows.is_closed(flow)
    }

    /// `side` is done with `flow`. True for the second side: the flow is closed now.
    pub fn close_flow(&mut self, flow: FlowId, side: Side) -> bool {
        self.world.flows.close_side(flow, side, self.now)
    }

    /// Closes `flow` for both sides, since one of them has given up.
    pub fn abandon_flow(&mut self, flow: FlowId) {
        self.world.flows.close(flow, self.now);
    }

    /// Notifies the application of a flow, after this call.
    pub fn notify(&mut self, notice: Notice) {
        self.world.notices.push_back(notice);
    }

    /// Stores SACK blocks for a packet to carry.
    pub fn store_sack(&mut self, blocks: SackBlocks) -> SackId {
        self.world.sacks.store(blocks)
    }

    /// Tells listeners of an event of the sending half that is called.
    pub(crate) fn tell(&mut self, sender: SenderView, event: SenderEvent) {
        self.world.recorder.tell(self.now, sender, event);
    }

    /// The SACK blocks a packet carries, to be kept.
    pub(crate) fn sack_blocks(&self, packet: &Packet) -> SackBlocks {
        (packet.sack).map_or_else(SackBlocks::default, |id| *self.world.sacks.blocks(id))
    }

    /// The SACK blocks a packet carries.
    pub fn sack(&self, packet: &Packet) -> &[(u64, u64)] {
        packet
            .sack
            .map_or(&[], |id| self.world.sacks.blocks(id).as_slice())
    }

    /// A packet has ended: releases what it referred to.
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

    /// Counts a packet that has reached its receiver.
    pub(crate) fn count_delivered(&mut self, packet: &Packet) {
        let group = self.group(packet);
        let (recorder, around) = self.world.record();
        recorder.delivered(self.now, packet, group, around);
        self.world.delivered += 1;
    }
}
