//! The downstream of a line: the queue and the token buckets of each service flow at the CMTS, and
//! the channel that the flows share.
//!
//! A service flow may send a packet once both its buckets hold the tokens of the packet. Whenever
//! the channel is free, the [scheduler](super::downstream_scheduler) selects one of the flows that
//! may send. A flow dequeues one packet in advance, because the size of the packet decides when it
//! may be sent.
//!
//! The two flows of an aggregate with low latency are [one member](flow_pair) of the scheduler.

mod flow_pair;

use flow_pair::{FlowPair, Place};

use super::downstream_scheduler::{DownstreamScheduler, Turn};
use super::idle_queues::IdleQueues;
use super::low_latency::Aggregate;
use super::qos::Qos;
use super::setup::DownstreamFlow;
use super::timing::DownstreamTiming;
use crate::context::Context;
use crate::link::token_bucket::{Limits, TokenBuckets};
use crate::link::{RateSchedule, Transmitter, Visitor};
use crate::metrics::Recorder;
use crate::metrics::channel::ChannelUse;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::qdisc::{Queue, QueueDiscipline};
use crate::queue::{Framing, LineView, Shaper};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};
use crate::units::Rate;

/// The purpose of a downstream wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A service flow has the tokens of its dequeued packet.
    Admitted(usize),
    /// The channel is free.
    Sent,
    /// A periodic update of the queue discipline of a service flow is due.
    Update(usize),
    /// An aggregate has the tokens of its dequeued packet.
    Shared(usize),
}

/// A service flow at the CMTS.
#[derive(Debug)]
struct ServiceFlow {
    queue: Queue,
    rate: Rate,
    buckets: TokenBuckets,
    /// A dequeued packet that waits for tokens, or has them and waits for the channel.
    dequeued: Option<Packet>,
    /// When the dequeued packet has its tokens.
    admitted: Instant,
    /// The dequeued packet waits for tokens.
    awaits_tokens: bool,
    is_deleted: bool,
    /// Its place in an aggregate, if it belongs to one.
    place: Option<Box<Place>>,
}

/// The downstream of a line.
#[derive(Debug)]
pub struct Downstream {
    timing: DownstreamTiming,
    flows: Vec<ServiceFlow>,
    /// The aggregates with low latency.
    pairs: Vec<FlowPair>,
    idle_queues: IdleQueues,
    scheduler: DownstreamScheduler,
    channel: Transmitter,
    /// End of the current transmission.
    busy_until: Instant,
    /// The flow of the packet that was sent last.
    latest: usize,
    /// A wake-up at that time is scheduled, because a flow waits for the channel.
    is_awaited: bool,
    /// Bytes sent on the channel.
    sent: u64,
    /// Nanoseconds in which a flow waited for the channel, up to the end of the current
    /// transmission.
    full_ns: u64,
}

impl Downstream {
    /// An idle downstream of these service flows and of the `aggregates` among them. `capacity`
    /// limits the channel over time. Tokens are added every `token_interval` (zero: continuously).
    pub fn new(
        timing: DownstreamTiming,
        flows: Vec<DownstreamFlow>,
        capacity: Option<RateSchedule>,
        token_interval: Duration,
        aggregates: &[Aggregate],
    ) -> Self {
        let schedule = capacity.unwrap_or(RateSchedule::Constant(timing.rate));
        let shares = flows
            .iter()
            .map(|flow| (flow.qos.priority, flow.qos.minimum_reserved));
        let scheduler = DownstreamScheduler::new(shares);
        let pairs: Vec<FlowPair> = (aggregates.iter().enumerate())
            .map(|(index, aggregate)| {
                let limits = [aggregate.classic, aggregate.low].map(|flow| flows[flow].limits);
                FlowPair::new(index, aggregate, limits, token_interval)
            })
            .collect();
        let mut flows: Vec<ServiceFlow> = (flows.into_iter())
            .map(|flow| ServiceFlow::new(flow, token_interval))
            .collect();
        for pair in &pairs {
            pair.join(&mut flows, timing.mac_header);
        }
        Self {
            timing,
            scheduler,
            idle_queues: IdleQueues::new(flows.len()),
            flows,
            pairs,
            channel: Transmitter::new(schedule),
            busy_until: Instant::ZERO,
            latest: 0,
            is_awaited: false,
            sent: 0,
            full_ns: 0,
        }
    }

    /// A packet arrives for a service flow.
    pub fn arrive(&mut self, flow: usize, packet: Packet, cx: &mut Context<'_>) {
        self.idle_queues.note_change(flow);
        let one = &mut self.flows[flow];
        if let Some(place) = &one.place {
            let pair = place.pair;
            return self.arrive_in_pair(pair, flow, packet, cx);
        }
        one.enqueue(packet, cx);
        let is_first = one.queue.depth().packets == 1 && !one.awaits_tokens;
        if is_first && !self.is_awaited && cx.now >= self.busy_until {
            // The usual case on a channel that is not full: no other flow waits for it.
            if let Some(turn) = self.scheduler.alone(flow) {
                return self.send_alone(turn, cx);
            }
        }
        self.check_queue(flow, cx);
    }

    /// A packet arrives for a service flow of an aggregate.
    fn arrive_in_pair(&mut self, pair: usize, flow: usize, packet: Packet, cx: &mut Context<'_>) {
        self.note_change_of(pair);
        self.pairs[pair].arrive(flow, packet, &mut self.flows, cx);
        self.check_pair(pair, cx);
    }

    /// Handles a wake-up.
    pub fn wake(&mut self, wake: Wake, cx: &mut Context<'_>) {
        match wake {
            Wake::Admitted(flow) if self.flows[flow].is_deleted => {}
            Wake::Admitted(flow) => {
                self.flows[flow].awaits_tokens = false;
                match self.pair(flow) {
                    Some(pair) => self.check_pair(pair, cx),
                    None => self.become_ready(flow, cx),
                }
            }
            Wake::Sent => {
                self.is_awaited = false;
                self.next(cx);
            }
            Wake::Update(flow) => {
                self.update_coupling(flow, cx.now);
                self.flows[flow].update(cx);
                self.check_queue(flow, cx);
            }
            Wake::Shared(pair) => {
                self.pairs[pair].awaits_tokens = false;
                self.check_pair(pair, cx);
            }
        }
    }

    /// Sets the limits, nominal rate, priority and reserved rate of a service flow from now on. A
    /// packet that already waits for tokens keeps its time. The limits, priority and reserved rate
    /// of a classic flow are those of its aggregate.
    pub fn change(
        &mut self,
        flow: usize,
        limits: Limits,
        rate: Rate,
        qos: &Qos,
        cx: &mut Context<'_>,
    ) {
        self.idle_queues.note_change(flow);
        if let Some(pair) = self.pair(flow) {
            self.note_change_of(pair);
            self.pairs[pair].change(flow, limits, rate, &mut self.flows, cx.now);
        } else {
            self.flows[flow].change(limits, rate, cx.now);
        }
        (self.scheduler).change(flow, qos.priority, qos.minimum_reserved, cx.now);
    }

    /// Deletes a service flow, which must not belong to an aggregate. Its packets are discarded. A
    /// packet on the channel is still delivered.
    pub fn delete(&mut self, flow: usize, cx: &mut Context<'_>) {
        debug_assert!(self.pair(flow).is_none(), "an aggregate is not deleted");
        self.idle_queues.note_change(flow);
        self.scheduler.withdraw(flow);
        self.flows[flow].delete(cx);
    }

    /// Replaces the queue discipline of a service flow. The queued packets move to the new one.
    pub fn replace_queue(
        &mut self,
        flow: usize,
        discipline: Box<dyn QueueDiscipline>,
        cx: &mut Context<'_>,
    ) {
        self.idle_queues.note_change(flow);
        self.update_coupling(flow, cx.now);
        self.flows[flow].replace(discipline, cx);
        if let Some(pair) = self.pair(flow) {
            self.note_change_of(pair);
            self.pairs[pair].redirect(&mut self.flows, cx);
        }
        self.check_queue(flow, cx);
    }

    /// Calls `visit` for each queue, with `None` if the queue has not changed.
    pub fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>) {
        let pairs = &self.pairs;
        let buckets =
            |flow: &ServiceFlow| flow.place.as_ref().map(|place| &pairs[place.pair].buckets);
        let row = |flow: &ServiceFlow| {
            let tokens = buckets(flow).unwrap_or(&flow.buckets).tokens(now);
            (flow.queue.id(), flow.internals(tokens))
        };
        let is_at_rest = |flow: &ServiceFlow| {
            flow.is_at_rest(now) && buckets(flow).is_none_or(|buckets| buckets.are_full(now))
        };
        self.idle_queues.visit(&self.flows, row, is_at_rest, visit);
    }

    /// Reports what the tins of each queue have done until now.
    pub fn report_tins(&mut self, recorder: &mut Recorder) {
        for flow in &mut self.flows {
            flow.queue.report_tins(recorder);
        }
    }

    /// Calls `visit` with one of the queues that share the channel, and the use of the channel
    /// until `now`.
    pub fn visit_channel(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        let Some(flow) = self.flows.first() else {
            return;
        };
        let ahead = if self.is_awaited {
            self.busy_until.since(now).as_nanos()
        } else {
            0
        };
        // The part of the current packet that is not sent yet does not count as used.
        let bits_until = |at: Instant| self.channel.schedule().bits_until(at, Rate(u64::MAX));
        let so_far = bits_until(now);
        let to_go = match self.busy_until {
            end if end > now && end < Instant::FAR_FUTURE => bits_until(end) - so_far,
            _ => 0.0,
        };
        let so_far = ChannelUse {
            capacity_bits: so_far,
            used_bits: self.sent as f64 * 8.0 - to_go,
            neighbours_bits: 0.0,
            full_ns: (self.full_ns - ahead) as f64,
            ..ChannelUse::default()
        };
        visit(flow.queue.id(), so_far);
    }

    /// Reports the use until `now` of the limits of each queue: the token buckets of its flow and
    /// of its aggregate, and the channel.
    pub fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        let unsent = self.channel.unsent_bits(now, self.busy_until);
        let on_channel = Framing::ETHERNET.with_header(self.timing.mac_header as u16);
        for (index, flow) in self.flows.iter().enumerate() {
            let queue = flow.queue.id();
            let left = recorder.output_of(queue);
            let dequeued = Framing::ETHERNET.bits_of_all(left);
            for limit in flow.buckets.limits(now, dequeued) {
                recorder.limit(queue, limit);
            }
            let held = |framing: Framing| {
                let bytes = flow
                    .dequeued
                    .as_ref()
                    .map_or(0, |packet| framing.bytes(packet));
                bytes as f64 * 8.0
            };
            if let Some(pair) = self.pair(index) {
                let pair = &self.pairs[pair];
                let outside = if pair.admits(index) {
                    0.0
                } else {
                    held(Framing::ETHERNET)
                };
                for limit in pair.buckets.limits(now, dequeued - outside) {
                    recorder.limit(queue, limit);
                }
            }
            let unsent = if index == self.latest { unsent } else { 0.0 };
            let sent = on_channel.bits_of_all(left) - held(on_channel) - unsent;
            recorder.limit(queue, Some(self.channel.limit(now, sent)));
        }
    }

    /// Packets in the queues, including dequeued ones.
    pub fn held(&self) -> u64 {
        self.flows.iter().map(ServiceFlow::held).sum()
    }

    /// The aggregate that a flow belongs to.
    fn pair(&self, flow: usize) -> Option<usize> {
        self.flows[flow].place.as_ref().map(|place| place.pair)
    }

    /// The state of both flows of an aggregate may change.
    fn note_change_of(&mut self, pair: usize) {
        self.idle_queues.note_change(self.pairs[pair].classic());
        self.idle_queues.note_change(self.pairs[pair].low());
    }

    /// Sets what the queue of a flow knows of the other flow of its aggregate, if it belongs to
    /// one.
    fn update_coupling(&mut self, flow: usize, now: Instant) {
        if let Some(pair) = self.pair(flow) {
            self.pairs[pair].update_coupling(flow, &mut self.flows, now);
        }
    }

    /// A service flow may have a new packet to send: a packet has arrived, or the discipline may
    /// release one that it held back.
    fn check_queue(&mut self, flow: usize, cx: &mut Context<'_>) {
        if let Some(pair) = self.pair(flow) {
            return self.check_pair(pair, cx);
        }
        let one = &self.flows[flow];
        if !one.awaits_tokens && !one.queue.is_empty() {
            self.become_ready(flow, cx);
        }
    }

    /// A flow of an aggregate may have a new packet to send.
    fn check_pair(&mut self, pair: usize, cx: &mut Context<'_>) {
        let pair = &self.pairs[pair];
        if pair.may_send(&self.flows) {
            self.become_ready(pair.classic(), cx);
        }
    }

    /// A member of the scheduler has a packet that may be sent.
    fn become_ready(&mut self, member: usize, cx: &mut Context<'_>) {
        self.scheduler.ready(member, cx.now);
        self.send_or_wait(cx);
    }

    /// Sends now if the channel is free. Otherwise schedules a wake-up for the end of the
    /// transmission.
    fn send_or_wait(&mut self, cx: &mut Context<'_>) {
        if self.is_awaited {
            return;
        }
        if cx.now >= self.busy_until {
            self.next(cx);
        } else {
            self.await_end(cx);
        }
    }

    /// The channel is free: sends the next packet.
    fn next(&mut self, cx: &mut Context<'_>) {
        while let Some(turn) = self.scheduler.next(cx.now) {
            let taken = match self.pair(turn.flow) {
                Some(pair) => self.pairs[pair].take(&mut self.flows, cx),
                None => {
                    (self.flows[turn.flow].take(turn.flow, cx)).map(|packet| (turn.flow, packet))
                }
            };
            if let Some((flow, packet)) = taken {
                return self.send(turn, flow, packet, cx);
            }
            self.scheduler.withdraw(turn.flow);
        }
    }

    /// Sends a packet on the free channel. No other flow has a packet, so the end of the
    /// transmission needs no wake-up.
    #[inline]
    fn send_alone(&mut self, turn: Turn, cx: &mut Context<'_>) {
        let Some(packet) = self.flows[turn.flow].take(turn.flow, cx) else {
            return self.scheduler.passed_alone(turn.flow);
        };
        if let Some(pdu) = self.transmit(turn.flow, packet, cx) {
            self.scheduler.sent_alone(turn.flow, pdu);
        }
    }

    /// Sends a packet of `flow` on the free channel, in the turn of its member of the scheduler.
    fn send(&mut self, turn: Turn, flow: usize, packet: Packet, cx: &mut Context<'_>) {
        if let Some(pdu) = self.transmit(flow, packet, cx) {
            let more = match self.pair(flow) {
                Some(pair) => self.pairs[pair].may_send(&self.flows),
                None => !self.flows[flow].queue.is_empty(),
            };
            self.scheduler.sent(turn, pdu, more, cx.now);
            self.await_end(cx);
        }
    }

    /// Sends a packet on the free channel and returns its PDU bytes. Returns `None` and keeps the
    /// packet if the capacity of the channel is zero for the rest of the run.
    #[inline]
    fn transmit(&mut self, flow: usize, packet: Packet, cx: &mut Context<'_>) -> Option<u64> {
        let pdu = Framing::ETHERNET.size_on_wire(packet.size);
        let end = self.channel.send(cx.now, pdu + self.timing.mac_header);
        self.busy_until = end;
        self.latest = flow;
        if end == Instant::FAR_FUTURE {
            self.flows[flow].dequeued = Some(packet);
            return None;
        }
        self.sent += pdu + self.timing.mac_header;
        let delivery = self.timing.delivery(end);
        if self.flows[flow].place.is_some() {
            cx.note_left(self.flows[flow].queue.id(), &packet, delivery);
        }
        cx.forward(packet, delivery);
        Some(pdu)
    }

    /// Schedules a wake-up for the end of the transmission, if a flow waits for the channel.
    fn await_end(&mut self, cx: &mut Context<'_>) {
        if !self.scheduler.is_empty() && self.busy_until < Instant::FAR_FUTURE {
            self.is_awaited = true;
            self.full_ns += (self.busy_until - cx.now).as_nanos();
            cx.wake_at(self.busy_until, Wake::Sent.token());
        }
    }
}

impl ServiceFlow {
    fn new(flow: DownstreamFlow, token_interval: Duration) -> Self {
        Self {
            queue: flow.queue,
            buckets: TokenBuckets::new(flow.limits).with_tick(token_interval),
            rate: flow.rate,
            admitted: Instant::ZERO,
            awaits_tokens: false,
            is_deleted: false,
            dequeued: None,
            place: None,
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let before = self.queue.depth().bytes;
        let line = line(self.rate, &self.buckets, self.place.as_deref());
        self.queue.enqueue(packet, &line, cx);
        if let Some(place) = &mut self.place {
            let after = self.queue.depth().bytes;
            place.member.arrived(after.saturating_sub(before), cx.now);
        }
    }

    fn replace(&mut self, discipline: Box<dyn QueueDiscipline>, cx: &mut Context<'_>) {
        let line = line(self.rate, &self.buckets, self.place.as_deref());
        self.queue.replace(discipline, &line, cx);
    }

    fn change(&mut self, limits: Limits, rate: Rate, now: Instant) {
        self.buckets.change(now, limits);
        self.rate = rate;
    }

    /// Whether it has a packet that does not wait for tokens of its own.
    fn may_send(&self) -> bool {
        !self.awaits_tokens && (self.dequeued.is_some() || !self.queue.is_empty())
    }

    /// The packet that may be sent now. If the next packet must wait for tokens, it is dequeued and
    /// a wake-up is scheduled.
    #[inline]
    fn take(&mut self, flow: usize, cx: &mut Context<'_>) -> Option<Packet> {
        if let Some(packet) = self.dequeued.take() {
            if self.admitted < cx.now {
                let bytes = Framing::ETHERNET.size_on_wire(packet.size);
                self.buckets.delayed(cx.now, bytes);
            }
            return Some(packet);
        }
        let line = line(self.rate, &self.buckets, self.place.as_deref());
        let packet = self.queue.dequeue(&line, cx)?;
        let bytes = Framing::ETHERNET.size_on_wire(packet.size);
        self.admitted = self.buckets.admit(cx.now, bytes);
        if self.admitted <= cx.now {
            return Some(packet);
        }
        cx.recorder().mac(self.queue.id()).packets_delayed += 1;
        self.dequeued = Some(packet);
        self.awaits_tokens = true;
        cx.wake_at(self.admitted, Wake::Admitted(flow).token());
        None
    }

    fn delete(&mut self, cx: &mut Context<'_>) {
        self.is_deleted = true;
        self.awaits_tokens = false;
        if let Some(packet) = self.dequeued.take() {
            cx.enter_queue(self.queue.id());
            cx.discard(packet, DropReason::ServiceFlowDeleted);
        }
        let line = line(self.rate, &self.buckets, self.place.as_deref());
        let reason = DropReason::ServiceFlowDeleted;
        self.queue.clear(reason, &line, cx);
    }

    fn update(&mut self, cx: &mut Context<'_>) {
        self.buckets.advance(cx.now);
        let line = line(self.rate, &self.buckets, self.place.as_deref());
        self.queue.update(&line, cx);
    }

    /// The internal state of its queue. `tokens` are those that its packets need, in bytes.
    fn internals(&self, tokens: u64) -> QueueInternals {
        QueueInternals {
            tokens_bytes: (tokens < u64::MAX).then_some(tokens as f64),
            ..self.queue.internals()
        }
    }

    /// Whether the state stays the same until the next packet arrives.
    fn is_at_rest(&self, now: Instant) -> bool {
        self.held() == 0 && self.queue.is_at_rest() && self.buckets.are_full(now)
    }

    fn held(&self) -> u64 {
        self.queue.depth().packets + u64::from(self.dequeued.is_some())
    }
}

impl Wake {
    /// The token for the link. Bit 0 marks it as a downstream token.
    pub fn token(self) -> u64 {
        let (kind, flow) = match self {
            Self::Admitted(flow) => (0, flow),
            Self::Sent => (1, 0),
            Self::Update(flow) => (2, flow),
            Self::Shared(pair) => (3, pair),
        };
        (flow as u64) << 3 | kind << 1 | 1
    }

    /// The wake-up of a token.
    pub fn from_token(token: u64) -> Self {
        let flow = (token >> 3) as usize;
        match (token >> 1) & 3 {
            0 => Self::Admitted(flow),
            1 => Self::Sent,
            2 => Self::Update(flow),
            _ => Self::Shared(flow),
        }
    }
}

/// What a queue may know about the line. A flow of an aggregate has a `place` in it.
#[inline]
fn line<'a>(rate: Rate, buckets: &'a TokenBuckets, place: Option<&'a Place>) -> LineView<'a> {
    LineView {
        rate,
        mtu: 1500,
        framing: Framing::ETHERNET,
        shaper: Some(place.map_or(buckets, |place| place.member.shaper())),
        grants: None,
        coupling: place.and_then(|place| place.member.coupling()),
    }
}

#[cfg(test)]
mod tests;
