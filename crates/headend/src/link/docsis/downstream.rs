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
    /// The channel is sending.
    busy: bool,
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
            busy: false,
        }
    }

    /// A packet arrives.
    pub fn offer(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let line = line(self.rate, &self.buckets);
        self.queue.offer(packet, &line, cx);
        if !self.busy && self.in_hand.is_none() {
            self.next(cx);
        }
    }

    /// Handles a wake-up.
    pub fn wake(&mut self, wake: Wake, cx: &mut Context<'_>) {
        match wake {
            Wake::Admitted => self.send(cx),
            Wake::Sent => {
                self.busy = false;
                self.next(cx);
            }
            Wake::Update => {
                self.buckets.advance(cx.now);
                let line = line(self.rate, &self.buckets);
                self.queue.update(&line, cx);
            }
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
        self.in_hand = Some(packet);
        if admitted > cx.now {
            cx.wake_at(admitted, Wake::Admitted.token());
        } else {
            self.send(cx);
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) {
        let packet = self.in_hand.take().expect("a packet was admitted");
        let bytes = Framing::ETHERNET.bytes(&packet) + self.timing.mac_header;
        let end = self.channel.send(cx.now, bytes);
        self.busy = true;
        if end == Instant::FAR_FUTURE {
            // The channel's capacity is zero for good: the packet stays.
            self.in_hand = Some(packet);
            return;
        }
        cx.forward_at(packet, self.timing.delivery(end));
        cx.wake_at(end, Wake::Sent.token());
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
