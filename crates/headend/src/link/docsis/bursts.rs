//! Bursts (DOCSIS 1.0 to 2.0): one request is outstanding, for one burst of one or more packets.
//!
//! A burst is assembled when it is requested, from the bytes that the [token
//! buckets](crate::link::token_bucket) have cleared by then. Its packets leave the queue at that
//! time.
//!
//! With fragmentation, a grant may be smaller than the burst. The CMTS then grants the rest in
//! later MAPs. The CMTS delivers the packets of a burst when it has received the last fragment.

use std::collections::VecDeque;

use super::grant::{Carried, Grant};
use super::shaped_queue::ShapedQueue;
use super::timing::UpstreamTiming;
use crate::context::Context;
use crate::link::token_bucket::TokenBuckets;
use crate::packet::Packet;
use crate::queue::Framing;
use crate::time::Instant;
use crate::trace::DropReason;

/// Bytes of the concatenation header before a burst of several packets: a MAC header without
/// extensions.
const CONCATENATION_HEADER: u64 = 6;
/// Overhead of each fragment, in bytes: a MAC header with the fragmentation extension, and a CRC.
pub const FRAGMENT_OVERHEAD: u64 = 16 + 4;

/// The bursts of one service flow.
#[derive(Debug)]
pub struct Bursts {
    /// Largest burst of several packets, in bytes. Zero: a burst is one packet.
    limit: u64,
    /// The burst that is requested or will be requested next.
    burst: VecDeque<Packet>,
    /// Its bytes.
    bytes: u64,
    /// Bytes that are requested and not granted.
    outstanding: u64,
    /// PDU bytes that are cleared and not used.
    cleared: u64,
    /// Start of the burst that was granted last, until the burst is prepared.
    begins: Option<Instant>,
    /// A packet that is dequeued and not in the burst.
    next: Option<Packet>,
}

impl Bursts {
    /// No burst and no request.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            burst: VecDeque::new(),
            bytes: 0,
            outstanding: 0,
            next: None,
            cleared: 0,
            begins: None,
        }
    }

    /// Packets that are dequeued and not sent.
    pub fn held(&self) -> u64 {
        self.burst.len() as u64 + u64::from(self.next.is_some())
    }

    /// Bytes that count as dequeued and for which no tokens were spent yet. Below zero: tokens were
    /// spent for bytes that are not dequeued yet.
    pub fn ahead_of_tokens(&self, buckets: &TokenBuckets) -> i64 {
        let next = self
            .next
            .as_ref()
            .map_or(0, |next| Framing::ETHERNET.bytes(next));
        next as i64 - (self.cleared + buckets.cleared()) as i64
    }

    /// Bytes that count as dequeued and that no grant has carried.
    pub fn unsent(&self) -> u64 {
        let held = self.burst.iter().chain(&self.next);
        held.map(|packet| Framing::ETHERNET.bytes(packet)).sum()
    }

    /// Whether it waits neither for a grant nor for a burst on which a request may be piggybacked.
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.begins.is_none()
    }

    /// Whether the granted burst must still be prepared.
    pub fn awaits_burst(&self) -> bool {
        self.begins.is_some()
    }

    /// No request is piggybacked on the granted burst, so it is not prepared.
    pub fn skip_burst(&mut self) {
        self.begins = None;
    }

    /// Whether there are packets that are not requested.
    pub fn wants_request(&self, shaped: &ShapedQueue) -> bool {
        self.outstanding == 0 && (self.held() > 0 || shaped.queued() > 0)
    }

    /// Time at which the next packet may be requested.
    pub fn ready_at(&mut self, shaped: &mut ShapedQueue, cx: &mut Context<'_>) -> Instant {
        if !self.burst.is_empty() {
            return Instant::ZERO;
        }
        if self.next.is_none() {
            self.next = self.draw(shaped, cx);
        }
        let Some(next) = &self.next else {
            return Instant::ZERO;
        };
        self.cleared += shaped.buckets.take_cleared(cx.now);
        let missing = Framing::ETHERNET.bytes(next).saturating_sub(self.cleared);
        match missing {
            0 => Instant::ZERO,
            missing => shaped.buckets.cleared_at(missing),
        }
    }

    /// Requests a burst. Returns its bytes.
    pub fn request(
        &mut self,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<u64> {
        if self.outstanding > 0 {
            return None;
        }
        if self.burst.is_empty() {
            self.put_together(shaped, timing, cx);
        }
        self.outstanding = self.bytes;
        (self.bytes > 0).then_some(self.bytes)
    }

    /// Assembles the next burst.
    fn put_together(
        &mut self,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) {
        self.cleared += shaped.buckets.take_cleared(cx.now);
        while let Some(packet) = self.next.take().or_else(|| self.draw(shaped, cx)) {
            let pdu = Framing::ETHERNET.size_on_wire(packet.size);
            let alone = timing.mac_header + pdu;
            let bytes = match self.burst.len() {
                0 => alone,
                1 => self.bytes + alone + CONCATENATION_HEADER,
                _ => self.bytes + alone,
            };
            let fits = self.burst.is_empty() || bytes <= self.limit;
            if pdu > self.cleared || !fits {
                self.next = Some(packet);
                return;
            }
            self.cleared -= pdu;
            self.bytes = bytes;
            self.burst.push_back(packet);
            if self.limit == 0 {
                return;
            }
        }
    }

    /// Dequeues the next packet. Packets that the queue discipline drops meanwhile need no tokens.
    fn draw(&mut self, shaped: &mut ShapedQueue, cx: &mut Context<'_>) -> Option<Packet> {
        let before = shaped.queued();
        let packet = shaped.take(cx);
        let drawn = packet
            .as_ref()
            .map_or(0, |packet| Framing::ETHERNET.bytes(packet));
        let dropped = before - shaped.queued() - drawn;
        self.forget(shaped, dropped, cx.now);
        packet
    }

    /// `bytes` left the queue without being sent.
    pub fn forget(&mut self, shaped: &mut ShapedQueue, bytes: u64, now: Instant) {
        if bytes > 0 {
            let known = bytes.min(shaped.buckets.waiting() + shaped.buckets.cleared());
            shaped.buckets.remove(now, known);
            self.cleared -= (bytes - known).min(self.cleared);
        }
    }

    /// A request was lost. The burst stays as it is.
    pub fn lost(&mut self, bytes: u64) {
        self.outstanding -= bytes;
    }

    /// Drops the requested burst.
    pub fn give_up(
        &mut self,
        shaped: &mut ShapedQueue,
        _: u64,
        _: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) {
        self.bytes = 0;
        for packet in self.burst.drain(..) {
            shaped.discard(packet, DropReason::RetryLimit, cx);
        }
    }

    /// The service flow is deleted: drops the dequeued packets. A burst that is granted in part is
    /// lost. No grant stays unused, so the result is zero.
    pub fn abandon(
        &mut self,
        shaped: &mut ShapedQueue,
        _: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> u64 {
        for packet in self.burst.drain(..).chain(self.next.take()) {
            shaped.discard(packet, DropReason::ServiceFlowDeleted, cx);
        }
        *self = Self::new(self.limit);
        0
    }

    /// A MAP brings a grant, for the burst or for a fragment of it. Returns what the grant carries.
    /// The result for the last fragment includes the PDU bytes of the whole burst.
    pub fn granted(
        &mut self,
        shaped: &mut ShapedQueue,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<Carried> {
        self.outstanding -= grant.credit;
        let (mut credit, mut pdu) = (0, 0);
        if self.outstanding == 0 {
            self.begins = Some(timing.minislot_start(grant.map, grant.first));
            let last = grant.first + grant.minislots - 1;
            credit = self.bytes;
            pdu = self.send(shaped, timing.delivery(grant.map, last), cx);
        }
        let room = timing.room(grant.minislots);
        assert!(
            room >= grant.credit,
            "a grant has room for the bytes it answers"
        );
        Some(Carried {
            credit,
            pdu,
            unused: room - grant.credit,
        })
    }

    /// Sends the burst. Returns its PDU bytes.
    fn send(&mut self, shaped: &mut ShapedQueue, at: Instant, cx: &mut Context<'_>) -> u64 {
        self.bytes = 0;
        let mut pdu = 0;
        for packet in self.burst.drain(..) {
            pdu += Framing::ETHERNET.bytes(&packet);
            shaped.send(packet, at, cx);
        }
        pdu
    }

    /// An unsolicited grant arrives. Packets that fit into it are sent as one burst. A packet that
    /// is longer than such a grant is dropped. Returns what the grant carries.
    pub fn given(
        &mut self,
        shaped: &mut ShapedQueue,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Carried {
        let room = timing.room(grant.minislots);
        if self.outstanding > 0 || self.bytes > room {
            return Carried {
                credit: 0,
                pdu: 0,
                unused: room,
            };
        }
        while let Some(too_long) = self.first_beyond(room, shaped, timing, cx) {
            // The tokens of the dropped packet are available to other packets.
            self.forget(shaped, Framing::ETHERNET.bytes(&too_long), cx.now);
            shaped.discard(too_long, DropReason::Overlimit, cx);
        }
        let limit = self.limit;
        self.limit = limit.min(room);
        if self.burst.is_empty() {
            self.put_together(shaped, timing, cx);
        }
        self.limit = limit;
        let used = self.bytes;
        let last = grant.first + grant.minislots - 1;
        let pdu = self.send(shaped, timing.delivery(grant.map, last), cx);
        Carried {
            credit: 0,
            pdu,
            unused: room - used,
        }
    }

    /// The next packet to send, if it is too long for `room`.
    fn first_beyond(
        &mut self,
        room: u64,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        if self.next.is_none() {
            self.next = self.draw(shaped, cx);
        }
        self.next
            .take_if(|packet| timing.mac_header + Framing::ETHERNET.bytes(packet) > room)
    }

    /// Prepares the burst. Returns its start; what it carries is known already.
    pub fn prepare_burst(
        &mut self,
        _: &mut ShapedQueue,
        _: &UpstreamTiming,
        _: &mut Context<'_>,
    ) -> (Option<Instant>, Option<Carried>) {
        let begins = self.begins.take();
        assert!(begins.is_some(), "a burst is prepared for each grant");
        (begins, None)
    }
}
