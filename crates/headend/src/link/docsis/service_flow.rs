//! An upstream service flow at the modem: its queue, what it may ask for, what it has asked for, and how grants are filled.
//!
//! Continuous concatenation and fragmentation: a flow's bytes are a stream that grants cut anywhere; a packet is on its way once its last
//! byte is. Bytes are cleared for request by the [token buckets](super::token_bucket) and only cleared bytes are sent, so what the
//! rounding to minislots leaves over in a grant stays empty.

use std::collections::VecDeque;

use super::cmts::Grant;
use super::setup::UpstreamFlow;
use super::timing::UpstreamTiming;
use super::token_bucket::TokenBuckets;
use crate::context::{Context, QueueInternals};
use crate::packet::Packet;
use crate::qdisc::{Framing, GrantView, LineView, Queue, Shaper};
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::Rate;

/// When a queue gives up the packets of a grant.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DequeueAt {
    /// When the burst is prepared, just before it is sent.
    Burst,
    /// When the MAP with the grant arrives, as silicon does (AQM paper §3.2).
    #[default]
    Map,
}

/// Requests count in units of so many bytes (DOCS-QOS3-MIB: the multiplier of TLV 24.26 and its default).
const REQUEST_UNIT: u64 = 4;

#[derive(Debug)]
struct Partial {
    packet: Packet,
    /// MAC header bytes not sent yet.
    header: u64,
    /// PDU bytes not sent yet.
    pdu: u64,
}

/// An upstream service flow.
#[derive(Debug)]
pub struct ServiceFlow {
    queue: Queue,
    buckets: TokenBuckets,
    rate: Rate,
    dequeue_at: DequeueAt,
    rng: Rng,
    partial: Option<Partial>,
    /// PDU bytes asked for and not drawn.
    requested: u64,
    /// Bytes asked for, MAC headers included, and not granted.
    outstanding: u64,
    /// Grants whose bursts are not prepared yet.
    grants: VecDeque<Grant>,
    /// When a contention request will be sent.
    contention: Option<Instant>,
    told: GrantView,
}

impl ServiceFlow {
    /// An idle flow.
    pub fn new(flow: UpstreamFlow) -> Self {
        Self {
            queue: flow.queue,
            buckets: TokenBuckets::new(flow.limits),
            rate: flow.rate,
            dequeue_at: flow.dequeue_at,
            rng: flow.rng,
            partial: None,
            requested: 0,
            outstanding: 0,
            grants: VecDeque::with_capacity(4),
            contention: None,
            told: GrantView::default(),
        }
    }

    /// Its queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Packets it holds.
    pub fn held(&self) -> u64 {
        self.queue.depth().packets + u64::from(self.partial.is_some())
    }

    /// The queue's inner state, and its tokens.
    pub fn internals(&self, now: Instant) -> QueueInternals {
        let tokens = self.buckets.tokens(now);
        QueueInternals {
            tokens_bytes: (tokens < u64::MAX).then_some(tokens as f64),
            ..self.queue.internals()
        }
    }

    /// A packet arrives.
    pub fn offer(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let before = self.waiting_pdu();
        let line = line(self.rate, &self.buckets, self.told);
        self.queue.offer(packet, &line, cx);
        let after = self.waiting_pdu();
        if after >= before {
            self.buckets.add(cx.now, after - before);
        } else {
            self.forget(before - after, cx.now);
        }
    }

    /// The law's periodic update may be due.
    pub fn update(&mut self, cx: &mut Context<'_>) {
        self.buckets.advance(cx.now);
        let line = line(self.rate, &self.buckets, self.told);
        self.queue.update(&line, cx);
    }

    /// Whether it neither waits for a grant nor has a request under way.
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.grants.is_empty() && self.contention.is_none()
    }

    /// Whether something waits that was not asked for.
    pub fn wants_request(&self) -> bool {
        self.contention.is_none() && self.waiting_pdu() > 0 && {
            self.buckets.waiting() + self.buckets.cleared() > 0 || self.shortage() > 0
        }
    }

    /// A number of request opportunities to let pass, below `window`.
    pub fn draw(&mut self, window: u64) -> u64 {
        self.rng.below(window)
    }

    /// A contention request will be sent at `at`.
    pub fn contend(&mut self, at: Instant) {
        self.contention = Some(at);
    }

    /// The time of the contention request has come; false if none is expected now.
    pub fn take_contention(&mut self, now: Instant) -> bool {
        self.contention.take_if(|at| *at == now).is_some()
    }

    /// Asks for everything cleared: the bytes of the request, or `None` if there is nothing to ask for yet.
    pub fn request(&mut self, timing: &UpstreamTiming, now: Instant) -> Option<u64> {
        self.requested += self.buckets.take_cleared(now);
        let bytes = self
            .shortage_with(timing.mac_header)
            .next_multiple_of(REQUEST_UNIT);
        self.outstanding += bytes;
        (bytes > 0).then_some(bytes)
    }

    /// When there will be something to ask for.
    pub fn ready_at(&self) -> Instant {
        self.buckets.cleared_at(self.buckets.waiting().min(64))
    }

    /// A MAP brought a grant. Returns when its burst must be prepared.
    pub fn granted(
        &mut self,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Instant {
        self.outstanding = self.outstanding.saturating_sub(grant.credit);
        self.grants.push_back(grant);
        if self.dequeue_at == DequeueAt::Map {
            self.fill(grant, timing, cx);
        }
        (timing.minislot_start(grant.map, grant.first) - timing.burst_preparation).max(cx.now)
    }

    /// A MAP brought this many bytes, and leaves this many pending.
    pub fn told(&mut self, granted: u64, pending: u64, timing: &UpstreamTiming) {
        self.told.tell(granted, pending, timing.map_interval());
    }

    /// Its next burst is being prepared: draws its packets if that is when, and asks for more in it. The request, and when it is sent.
    pub fn prepare_burst(
        &mut self,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<(u64, Instant)> {
        let grant = self
            .grants
            .pop_front()
            .expect("a burst is prepared for each grant");
        if self.dequeue_at == DequeueAt::Burst {
            self.fill(grant, timing, cx);
        }
        let sent = timing.minislot_start(grant.map, grant.first);
        self.request(timing, cx.now).map(|bytes| (bytes, sent))
    }

    /// Fills a grant from the queue and sends what is complete on its way.
    fn fill(&mut self, grant: Grant, timing: &UpstreamTiming, cx: &mut Context<'_>) {
        let mut credit = grant.credit;
        let before = self.waiting_pdu();
        let mut sent_pdu = 0;
        while credit > 0 && self.requested > 0 {
            let Some(mut partial) = self.partial.take().or_else(|| self.next_packet(timing, cx))
            else {
                break;
            };
            let header = partial.header.min(credit);
            let pdu = partial.pdu.min(credit - header).min(self.requested);
            partial.header -= header;
            partial.pdu -= pdu;
            credit -= header + pdu;
            self.requested -= pdu;
            sent_pdu += pdu;
            if partial.pdu == 0 {
                let position = timing.segment_overhead + grant.credit - credit;
                let minislot = grant.first + (position - 1) / timing.minislot_bytes;
                cx.forward_at(partial.packet, timing.delivery(grant.map, minislot));
            } else {
                self.partial = Some(partial);
            }
        }
        // What the law dropped on the way out needs no tokens any more.
        self.forget(before - sent_pdu - self.waiting_pdu(), cx.now);
        let room = grant.minislots * timing.minislot_bytes - timing.segment_overhead;
        let queue = self.queue.id();
        cx.recorder().mac(queue).unused_grant_bytes += room - (grant.credit - credit);
    }

    /// The next packet from the queue, nothing of it sent yet.
    #[inline]
    fn next_packet(&mut self, timing: &UpstreamTiming, cx: &mut Context<'_>) -> Option<Partial> {
        let line = line(self.rate, &self.buckets, self.told);
        let packet = self.queue.take(&line, cx)?;
        let pdu = Framing::ETHERNET.bytes(&packet);
        Some(Partial {
            packet,
            header: timing.mac_header,
            pdu,
        })
    }

    /// PDU bytes waiting, those of a packet partly sent included.
    fn waiting_pdu(&self) -> u64 {
        self.queue.depth().bytes + self.partial.as_ref().map_or(0, |partial| partial.pdu)
    }

    /// `bytes` left the queue without being sent: the newest claims are dropped first.
    fn forget(&mut self, bytes: u64, now: Instant) {
        if bytes > 0 {
            let unrequested = bytes.min(self.buckets.waiting() + self.buckets.cleared());
            self.buckets.remove(now, unrequested);
            self.requested -= (bytes - unrequested).min(self.requested);
        }
    }

    fn shortage(&self) -> u64 {
        self.shortage_with(0)
    }

    /// Bytes by which what was asked for and is not sent yet falls short of what the cleared bytes need, MAC headers included.
    fn shortage_with(&self, mac_header: u64) -> u64 {
        let depth = self.queue.depth();
        let (header, pdu) = self
            .partial
            .as_ref()
            .map_or((0, 0), |partial| (partial.header, partial.pdu));
        let from_queue = self.requested.saturating_sub(pdu);
        // Of the queued packets, those that begin within the cleared bytes; estimated by the mean size while only a part is cleared.
        let headers = if from_queue == depth.bytes {
            depth.packets
        } else {
            (depth.packets * from_queue).div_ceil(depth.bytes.max(1))
        };
        let need = if self.requested == 0 {
            0
        } else {
            self.requested + header + headers * mac_header
        };
        let granted: u64 = match self.dequeue_at {
            DequeueAt::Burst => self.grants.iter().map(|grant| grant.credit).sum(),
            DequeueAt::Map => 0,
        };
        need.saturating_sub(self.outstanding + granted)
    }
}

/// What the queue may know of its line.
fn line(rate: Rate, buckets: &TokenBuckets, grants: GrantView) -> LineView<'_> {
    LineView {
        rate,
        mtu: 1500,
        framing: Framing::ETHERNET,
        shaper: Some(buckets),
        grants: Some(grants),
        share: None,
    }
}
