//! Continuous concatenation and fragmentation (DOCSIS 3.0 and later): what a modem requests, and
//! how it fills grants.
//!
//! The bytes of a flow are a stream that grants cut at any byte. A packet is sent once its last
//! byte is. Several requests may be outstanding. Packets are dequeued when they are requested, when
//! the MAP with their grant arrives, or when their burst is prepared ([`DequeueAt`]). An
//! unsolicited grant that is filled when its burst is prepared carries the packets that wait by
//! then, also those that came after the MAP.
//!
//! The [token buckets](crate::link::token_bucket) clear bytes for requests, and only cleared bytes
//! are sent. The part of a grant that results from rounding up to minislots therefore stays empty.

use std::collections::VecDeque;

use super::grant::{Carried, DequeueAt, Grant};
use super::shaped_queue::ShapedQueue;
use super::timing::UpstreamTiming;
use crate::context::Context;
use crate::link::token_bucket::TokenBuckets;
use crate::packet::Packet;
use crate::queue::Framing;
use crate::time::Instant;
use crate::trace::DropReason;

/// Unit of requests, in bytes (DOCS-QOS3-MIB: the multiplier of TLV 24.26 and its default).
const REQUEST_UNIT: u64 = 4;

/// Bytes of a packet that are not sent yet.
#[derive(Debug, Clone, Copy, Default)]
struct Rest {
    /// Bytes of its MAC header.
    header: u64,
    /// Bytes of its PDU.
    pdu: u64,
}

/// A grant whose burst is not prepared yet.
#[derive(Debug, Clone, Copy)]
struct Planned {
    grant: Grant,
    /// Bytes that the grant may carry, MAC headers included: those that were requested, or for an
    /// unsolicited grant all that it has room for.
    most: u64,
}

/// The stream of bytes of one service flow.
#[derive(Debug)]
pub struct Continuous {
    dequeue_at: DequeueAt,
    /// PDU bytes that are requested and not sent yet.
    requested: u64,
    /// Bytes that are requested and not granted, including MAC headers.
    outstanding: u64,
    /// Grants whose bursts are not prepared yet, in order of time.
    grants: VecDeque<Planned>,
    /// A packet that is partly sent.
    partial: Option<Packet>,
    /// The bytes of `partial` that are not sent yet. Zero if there is no such packet.
    rest: Rest,
    /// The transmit queue: packets that were dequeued when they were requested. Always empty unless
    /// [`DequeueAt::Request`] is in use.
    scheduled: VecDeque<Packet>,
    /// PDU bytes of the transmit queue.
    scheduled_pdu: u64,
}

impl Continuous {
    /// An empty stream without requests.
    pub fn new(dequeue_at: DequeueAt) -> Self {
        Self {
            dequeue_at,
            partial: None,
            rest: Rest::default(),
            requested: 0,
            outstanding: 0,
            grants: VecDeque::new(),
            scheduled: VecDeque::new(),
            scheduled_pdu: 0,
        }
    }

    /// Packets that are dequeued and not fully sent.
    pub fn held(&self) -> u64 {
        u64::from(self.rest.pdu > 0) + self.scheduled.len() as u64
    }

    /// Bytes that count as dequeued and for which no tokens were spent yet. Below zero: tokens were
    /// spent for bytes that are not dequeued yet.
    pub fn ahead_of_tokens(&self, buckets: &TokenBuckets) -> i64 {
        self.unsent() as i64 - (self.requested + buckets.cleared()) as i64
    }

    /// Bytes that count as dequeued and that no grant has carried.
    pub fn unsent(&self) -> u64 {
        self.rest.pdu + self.scheduled_pdu
    }

    /// Bytes of packets that grants known from MAPs can carry and that are not dequeued yet.
    pub fn room_not_filled(&self, timing: &UpstreamTiming) -> u64 {
        let room = |planned: &Planned| timing.room(planned.grant.minislots) - timing.mac_header;
        match self.dequeue_at {
            DequeueAt::Burst => self.grants.iter().map(room).sum(),
            DequeueAt::Map | DequeueAt::Request => 0,
        }
    }

    /// Requested bytes that grants have answered and that are not dequeued yet.
    pub fn granted_ahead(&self) -> u64 {
        match self.dequeue_at {
            DequeueAt::Burst => self.grants.iter().map(|planned| planned.grant.credit).sum(),
            DequeueAt::Map | DequeueAt::Request => 0,
        }
    }

    /// Whether a request is not fully granted.
    pub fn has_outstanding(&self) -> bool {
        self.outstanding > 0
    }

    /// Whether a burst must still be prepared on which the flow waits with its next request. An
    /// unsolicited grant is no reason to wait if the flow must not piggyback.
    pub fn awaits_burst(&self, may_piggyback: bool) -> bool {
        let holds_back = |planned: &Planned| planned.grant.credit > 0 || may_piggyback;
        self.grants.iter().any(holds_back)
    }

    /// Whether unsolicited grants are filled when their bursts are prepared.
    pub fn fills_at_burst(&self) -> bool {
        self.dequeue_at == DequeueAt::Burst
    }

    /// Whether there are bytes that are not requested.
    pub fn wants_request(&self, shaped: &ShapedQueue) -> bool {
        self.waiting_pdu(shaped) > 0
            && (shaped.buckets.waiting() + shaped.buckets.cleared() > 0
                || self.shortage(shaped, 0) > 0)
    }

    /// Time from which on bytes can be requested.
    pub fn ready_at(&mut self, shaped: &mut ShapedQueue, _: &mut Context<'_>) -> Instant {
        if self.shortage(shaped, 0) > 0 {
            return Instant::ZERO;
        }
        shaped.buckets.cleared_at(shaped.buckets.waiting().min(64))
    }

    /// Requests all cleared bytes. Returns the bytes of the request.
    pub fn request(
        &mut self,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<u64> {
        self.requested += shaped.buckets.take_cleared(cx.now);
        if self.dequeue_at == DequeueAt::Request {
            self.schedule(shaped, cx);
        }
        let bytes = self
            .shortage(shaped, timing.mac_header)
            .next_multiple_of(REQUEST_UNIT);
        self.outstanding += bytes;
        (bytes > 0).then_some(bytes)
    }

    /// Moves the packets that are about to be requested from the queue to the transmit queue.
    fn schedule(&mut self, shaped: &mut ShapedQueue, cx: &mut Context<'_>) {
        while self.rest.pdu + self.scheduled_pdu < self.requested {
            let before = shaped.queued();
            let packet = shaped.take(cx);
            let drawn = (packet.as_ref()).map_or(0, |packet| Framing::ETHERNET.bytes(packet));
            self.scheduled_pdu += drawn;
            self.forget(shaped, before - shaped.queued() - drawn, cx.now);
            let Some(packet) = packet else { break };
            self.scheduled.push_back(packet);
        }
    }

    /// A request was lost.
    pub fn lost(&mut self, bytes: u64) {
        self.outstanding -= bytes;
    }

    /// Drops the packets of a request of `bytes`.
    pub fn give_up(
        &mut self,
        shaped: &mut ShapedQueue,
        mut bytes: u64,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) {
        let before = self.waiting_pdu(shaped);
        while bytes > 0 {
            let Some(packet) = self.next(shaped, timing, cx) else {
                break;
            };
            let Rest { header, pdu } = std::mem::take(&mut self.rest);
            bytes = bytes.saturating_sub(header + pdu);
            shaped.discard(packet, DropReason::RetryLimit, cx);
        }
        // The tokens of the requested bytes are spent. Bytes that the queue discipline dropped in
        // addition need no tokens.
        let gone = before - self.waiting_pdu(shaped);
        let requested = gone.min(self.requested);
        self.requested -= requested;
        self.forget(shaped, gone - requested, cx.now);
    }

    /// The service flow is deleted: drops the packets it holds. A packet that the CMTS has
    /// received in part is lost, because the rest is never sent. Returns the bytes of grants that
    /// stay unused.
    pub fn abandon(
        &mut self,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> u64 {
        for packet in self
            .partial
            .take()
            .into_iter()
            .chain(self.scheduled.drain(..))
        {
            shaped.discard(packet, DropReason::ServiceFlowDeleted, cx);
        }
        let unused = match self.dequeue_at {
            DequeueAt::Burst => {
                let rooms = self.grants.iter();
                rooms
                    .map(|planned| timing.room(planned.grant.minislots))
                    .sum()
            }
            DequeueAt::Map | DequeueAt::Request => 0,
        };
        *self = Self::new(self.dequeue_at);
        unused
    }

    /// A MAP brings a grant. Returns what the grant carries, if it is filled now.
    pub fn granted(
        &mut self,
        shaped: &mut ShapedQueue,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<Carried> {
        self.outstanding = self.outstanding.saturating_sub(grant.credit);
        self.grants.push_back(Planned {
            grant,
            most: grant.credit,
        });
        (self.dequeue_at != DequeueAt::Burst)
            .then(|| self.fill(shaped, (grant, grant.credit), timing, cx))
    }

    /// Fills an unsolicited grant with the packets that wait now. Returns what it carries.
    pub fn given(
        &mut self,
        shaped: &mut ShapedQueue,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Carried {
        self.requested += shaped.buckets.take_cleared(cx.now);
        let room = timing.room(grant.minislots);
        self.fill(shaped, (grant, room), timing, cx)
    }

    /// The burst of an unsolicited grant must be prepared, because it is filled then, or because a
    /// request may be piggybacked on it.
    pub fn await_burst(&mut self, grant: Grant, timing: &UpstreamTiming) {
        let most = timing.room(grant.minislots);
        self.grants.push_back(Planned { grant, most });
    }

    /// Prepares the next burst, and fills it if packets are dequeued at this time. Returns the
    /// start of the burst, and what it carries, if that was not known. An unsolicited grant for
    /// which nothing waits has no burst.
    pub fn prepare_burst(
        &mut self,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<Instant>, Option<Carried>) {
        let Planned { grant, most } = self
            .grants
            .pop_front()
            .expect("a burst is prepared for each grant");
        let begins = Some(timing.minislot_start(grant.map, grant.first));
        if !self.fills_at_burst() {
            return (begins, None);
        }
        if grant.credit > 0 {
            let carried = self.fill(shaped, (grant, most), timing, cx);
            return (begins, Some(carried));
        }
        let carried = self.given(shaped, grant, timing, cx);
        (begins.filter(|_| carried.unused < most), Some(carried))
    }

    /// Fills a grant with up to `most` bytes, and sends the packets that are complete. Returns what
    /// the grant carries.
    fn fill(
        &mut self,
        shaped: &mut ShapedQueue,
        (grant, most): (Grant, u64),
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Carried {
        let mut credit = most;
        let before = self.waiting_pdu(shaped);
        let mut sent_pdu = 0;
        while credit > 0 && self.requested > 0 {
            let Some(packet) = self.next(shaped, timing, cx) else {
                break;
            };
            let rest = &mut self.rest;
            let header = rest.header.min(credit);
            let pdu = rest.pdu.min(credit - header).min(self.requested);
            rest.header -= header;
            rest.pdu -= pdu;
            credit -= header + pdu;
            self.requested -= pdu;
            sent_pdu += pdu;
            if rest.pdu == 0 {
                let position = timing.segment_overhead + most - credit;
                let minislot = grant.first + (position - 1) / timing.minislot_bytes;
                shaped.send(packet, timing.delivery(grant.map, minislot), cx);
            } else {
                self.partial = Some(packet);
            }
        }
        // Packets that the queue discipline dropped during the dequeue need no tokens.
        self.forget(shaped, before - sent_pdu - self.waiting_pdu(shaped), cx.now);
        Carried {
            credit: grant.credit,
            pdu: sent_pdu,
            unused: timing.room(grant.minislots) - (most - credit),
        }
    }

    /// PDU bytes that are not sent, including the rest of a partly sent packet.
    fn waiting_pdu(&self, shaped: &ShapedQueue) -> u64 {
        shaped.queued() + self.scheduled_pdu + self.rest.pdu
    }

    /// The partly sent packet, or else the next packet. `rest` is then the part of it that is not
    /// sent.
    #[inline(always)]
    fn next(
        &mut self,
        shaped: &mut ShapedQueue,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        // The last bytes of a packet belong to its PDU.
        if self.rest.pdu > 0 {
            return self.partial.take();
        }
        let scheduled = self.scheduled.pop_front();
        let is_scheduled = scheduled.is_some();
        let packet = scheduled.or_else(|| shaped.take(cx))?;
        let pdu = Framing::ETHERNET.size_on_wire(packet.size);
        if is_scheduled {
            self.scheduled_pdu -= pdu;
        }
        self.rest = Rest {
            header: timing.mac_header,
            pdu,
        };
        Some(packet)
    }

    /// `bytes` left the queue without being sent. Bytes that are not requested are subtracted
    /// first.
    pub fn forget(&mut self, shaped: &mut ShapedQueue, bytes: u64, now: Instant) {
        if bytes > 0 {
            let unrequested = bytes.min(shaped.buckets.waiting() + shaped.buckets.cleared());
            shaped.buckets.remove(now, unrequested);
            self.requested -= (bytes - unrequested).min(self.requested);
        }
    }

    /// The additional bytes that the cleared bytes need, MAC headers included, beyond those already
    /// requested or granted and not sent.
    fn shortage(&self, shaped: &ShapedQueue, mac_header: u64) -> u64 {
        let depth = shaped.queue.depth();
        let Rest { header, pdu } = self.rest;
        let from_queue = self.requested.saturating_sub(pdu + self.scheduled_pdu);
        // The number of queued packets that begin within the cleared bytes. If only a part is
        // cleared, it is estimated from the mean packet size.
        let from_queue = if from_queue == depth.bytes {
            depth.packets
        } else {
            (depth.packets * from_queue).div_ceil(depth.bytes.max(1))
        };
        let headers = self.scheduled.len() as u64 + from_queue;
        let need = if self.requested == 0 {
            0
        } else {
            self.requested + header + headers * mac_header
        };
        let granted: u64 = match self.dequeue_at {
            DequeueAt::Burst => self.grants.iter().map(|planned| planned.most).sum(),
            DequeueAt::Map | DequeueAt::Request => 0,
        };
        need.saturating_sub(self.outstanding + granted)
    }
}
