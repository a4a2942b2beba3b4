//! The downstream of a line: the CMTS's queue for the service flow, its token buckets, the channel's symbols.
//!
//! The CMTS sends a packet once both buckets hold it and the channel is free. One packet is taken from the queue ahead, as its size must be
//! known to know when it may go.

use super::timing::DownstreamTiming;
use super::token_bucket::TokenBuckets;
use crate::context::{Context, QueueInternals};
use crate::link::{RateSchedule, Transmitter};
use crate::packet::Packet;
use crate::qdisc::{Framing, LineView, Queue, Shaper};
use crate::time::Instant;
use crate::trace::QueueId;
use crate::units::Rate;

/// What a downstream wake-up is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The packet in hand may be sent.
    Admitted,
    /// The channel is free.
    Sent,
    /// The queue's law is due.
    Update,
}

/// The downstream.
#[derive(Debug)]
pub struct Downstream {
    timing: DownstreamTiming,
    queue: Queue,
    buckets: TokenBuckets,
    rate: Rate,
    channel: Transmitter,
    /// Taken from the queue, waiting for tokens.
    in_hand: Option<Packet>,
    /// When the channel has sent what it is sending.
    busy_until: Instant,
    /// A wake-up at that time is under way.
    is_awaited: bool,
}

impl Downstream {
    /// An idle downstream; `capacity` limits the channel over time.
    pub fn new(
        timing: DownstreamTiming,
        queue: Queue,
        buckets: TokenBuckets,
        rate: Rate,
        capacity: Option<RateSchedule>,
    ) -> Self {
        let schedule = capacity.unwrap_or(RateSchedule::Constant(timing.rate));
        Self {
            timing,
            queue,
            buckets,
            rate,
            channel: Transmitter::new(schedule),
            in_hand: None,
            busy_until: Instant::ZERO,
            is_awaited: false,
        }
    }

    /// A packet arrives.
    pub fn offer(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let line = line(self.rate, &self.buckets);
        self.queue.offer(packet, &line, cx);
        if self.is_awaited || self.in_hand.is_some() {
            return;
        }
        if cx.now >= self.busy_until {
            self.next(cx);
        } else {
            self.await_end(cx);
        }
    }

    /// Handles a wake-up.
    pub fn wake(&mut self, wake: Wake, cx: &mut Context<'_>) {
        match wake {
            Wake::Admitted => {
                let packet = self.in_hand.take().expect("a packet was admitted");
                self.send(packet, cx);
            }
            Wake::Sent => {
                self.is_awaited = false;
                self.next(cx);
            }
            Wake::Update => {
                self.buckets.advance(cx.now);
                let line = line(self.rate, &self.buckets);
                self.queue.update(&line, cx);
                self.retry(cx);
            }
        }
    }

    /// A discipline that held its packets back may give one up after an update.
    fn retry(&mut self, cx: &mut Context<'_>) {
        let is_free = !self.is_awaited && self.in_hand.is_none() && cx.now >= self.busy_until;
        if is_free && !self.queue.is_empty() {
            self.next(cx);
        }
    }

    /// Calls `visit` with its queue.
    pub fn visit_queues(&self, now: Instant, visit: &mut dyn FnMut(QueueId, QueueInternals)) {
        let tokens = self.buckets.tokens(now);
        let tokens_bytes = (tokens < u64::MAX).then_some(tokens as f64);
        visit(
            self.queue.id(),
            QueueInternals {
                tokens_bytes,
                ..self.queue.internals()
            },
        );
    }

    /// Packets held.
    pub fn held(&self) -> u64 {
        self.queue.depth().packets + u64::from(self.in_hand.is_some())
    }

    fn next(&mut self, cx: &mut Context<'_>) {
        let line = line(self.rate, &self.buckets);
        let Some(packet) = self.queue.take(&line, cx) else {
            return;
        };
        let admitted = self.buckets.admit(cx.now, Framing::ETHERNET.bytes(&packet));
        if admitted > cx.now {
            self.in_hand = Some(packet);
            cx.wake_at(admitted, Wake::Admitted.token());
        } else {
            self.send(packet, cx);
        }
    }

    fn send(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let bytes = Framing::ETHERNET.bytes(&packet) + self.timing.mac_header;
        let end = self.channel.send(cx.now, bytes);
        self.busy_until = end;
        if end == Instant::FAR_FUTURE {
            // The channel's capacity is zero for good: the packet stays.
            self.in_hand = Some(packet);
            return;
        }
        cx.forward_at(packet, self.timing.delivery(end));
        self.await_end(cx);
    }

    /// Asks to be woken when the channel is free, if anything waits for it.
    fn await_end(&mut self, cx: &mut Context<'_>) {
        if !self.queue.is_empty() {
            self.is_awaited = true;
            cx.wake_at(self.busy_until, Wake::Sent.token());
        }
    }
}

impl Wake {
    /// As a link's token; bit 0 says it is the downstream's.
    pub fn token(self) -> u64 {
        1 | match self {
            Self::Admitted => 0,
            Self::Sent => 2,
            Self::Update => 4,
        }
    }

    /// From a link's token.
    pub fn from_token(token: u64) -> Self {
        match token >> 1 {
            0 => Self::Admitted,
            1 => Self::Sent,
            _ => Self::Update,
        }
    }
}

/// What the queue may know of its line.
fn line(rate: Rate, buckets: &TokenBuckets) -> LineView<'_> {
    LineView {
        rate,
        mtu: 1500,
        framing: Framing::ETHERNET,
        shaper: Some(buckets),
        grants: None,
        share: None,
    }
}
