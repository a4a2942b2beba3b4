//! The queue of an upstream service flow at the modem, with its rate limits.

use super::low_latency::Member;
use crate::context::Context;
use crate::link::token_bucket::{Limits, TokenBuckets};
use crate::packet::Packet;
use crate::qdisc::Queue;
use crate::queue::{Framing, GrantView, LineView};
use crate::time::Instant;
use crate::trace::DropReason;
use crate::units::Rate;

/// The queue of the modem and its rate limits.
#[derive(Debug)]
pub struct ShapedQueue {
    /// The queue.
    pub queue: Queue,
    /// How many of the queued bytes may be requested.
    pub buckets: TokenBuckets,
    /// Its nominal rate.
    pub rate: Rate,
    /// What MAPs granted, if the queue discipline uses that.
    pub grant_view: Option<Box<GrantView>>,
    /// When the latest packet that was sent leaves the CMTS.
    last_delivery: Instant,
    /// PDU bytes of the packets that the modem has dequeued and dropped.
    pub dropped: u64,
    /// Bytes of the channel that it has taken: requested grants, and what others carried.
    pub taken: u64,
    /// What it knows of the other flow, if it is part of an aggregate.
    pub member: Option<Member>,
}

impl ShapedQueue {
    /// An empty queue with full token buckets.
    pub fn new(queue: Queue, limits: Limits, rate: Rate) -> Self {
        Self {
            grant_view: queue.looks_at_grants().then(Box::default),
            queue,
            buckets: TokenBuckets::new(limits),
            rate,
            last_delivery: Instant::ZERO,
            dropped: 0,
            taken: 0,
            member: None,
        }
    }

    /// The queue, and what it may know about the line.
    pub(super) fn queue_and_line(&mut self) -> (&mut Queue, LineView<'_>) {
        let member = self.member.as_ref();
        let line = LineView {
            rate: self.rate,
            mtu: 1500,
            framing: Framing::ETHERNET,
            shaper: Some(member.map_or(&self.buckets, Member::shaper)),
            grants: self.grant_view.as_deref(),
            coupling: member.and_then(Member::coupling),
        };
        (&mut self.queue, line)
    }

    /// Dequeues the next packet.
    #[inline]
    pub fn take(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let (queue, line) = self.queue_and_line();
        queue.dequeue(&line, cx)
    }

    /// Bytes in the queue.
    pub fn queued(&self) -> u64 {
        self.queue.depth().bytes
    }

    /// Sends a packet in a burst. It leaves the CMTS at `at`, but not before the packets sent
    /// earlier: the CMTS restores the order.
    #[inline]
    pub fn send(&mut self, packet: Packet, at: Instant, cx: &mut Context<'_>) {
        self.last_delivery = self.last_delivery.max(at);
        cx.note_loaded(self.queue.id(), &packet, self.last_delivery);
        if self.member.is_some() {
            cx.note_left(self.queue.id(), &packet, self.last_delivery);
        }
        cx.forward(packet, self.last_delivery);
    }

    /// Drops a packet that the modem has dequeued already.
    pub fn discard(&mut self, packet: Packet, reason: DropReason, cx: &mut Context<'_>) {
        self.dropped += Framing::ETHERNET.bytes(&packet);
        self.refuse(packet, reason, cx);
    }

    /// Drops a packet that was never in the queue.
    pub(super) fn refuse(&self, packet: Packet, reason: DropReason, cx: &mut Context<'_>) {
        cx.enter_queue(self.queue.id());
        cx.discard(packet, reason);
    }
}
