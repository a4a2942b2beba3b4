//! A direction that needs no event for its transmissions: each departure is computed when the
//! packet arrives.
//!
//! Three conditions make this possible: the limit of the queue alone decides which packets are
//! dropped, the link loses none, and neither rate nor delay ever changes. Then a packet is sent
//! when the packet before it has left, or at once (Lindley's recursion).
//!
//! The packet goes directly to the delay line after the link, with its time of arrival there. This
//! file keeps only what the limit and the records need until the packet is sent. A departure is
//! recorded with its own time, but later: at the next call of `catch_up`. An observer of queue
//! events would receive them too late, so a link with such an observer is not fused.
//!
//! Apart from the number of events, a fused link gives the same results as a link that is not
//! fused. `tests/fusing.rs` checks this.

use std::collections::VecDeque;

use super::Transmitter;
use crate::context::Context;
use crate::metrics::Recorder;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, Framing};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};

/// Initial capacity of the list of queued packets, if the limit allows that many. The list grows
/// beyond it.
const ROOM: u64 = 1 << 13;

/// The queue of a fused direction.
#[derive(Debug)]
pub(super) struct Fused {
    queue: QueueId,
    limit: BacklogLimit,
    framing: Framing,
    /// Propagation delay.
    delay: Duration,
    /// Packets not sent yet, as of the last call of `catch_up`.
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Bytes of all packets that have left.
    sent: u64,
    /// When the last bit of the last packet leaves.
    free_at: Instant,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    sent_at: Instant,
    size: u16,
}

impl Fused {
    /// An empty queue, recorded as `queue`.
    pub(super) fn new(
        queue: QueueId,
        limit: BacklogLimit,
        framing: Framing,
        mtu: u16,
        delay: Duration,
    ) -> Self {
        let room = match limit {
            BacklogLimit::Bytes(bytes) => bytes / framing.size_on_wire(mtu),
            BacklogLimit::Packets(packets) => packets,
            BacklogLimit::Unlimited => ROOM,
        };
        Self {
            queue,
            limit,
            framing,
            delay,
            waiting: VecDeque::with_capacity(room.min(ROOM) as usize),
            bytes: 0,
            sent: 0,
            free_at: Instant::ZERO,
        }
    }

    /// A packet arrives. It reaches the far end one delay after its last bit has left.
    pub(super) fn arrive(
        &mut self,
        packet: Packet,
        transmitter: &mut Transmitter,
        cx: &mut Context<'_>,
    ) {
        cx.enter_queue(self.queue);
        self.catch_up(cx.now, cx.recorder());
        let bytes = self.framing.size_on_wire(packet.size);
        if !self.limit.admits(self.depth(), bytes) {
            return cx.discard(packet, DropReason::Overlimit);
        }
        cx.recorder().count_enqueued(self.queue);
        self.bytes += bytes;
        cx.note_backlog(self.queue, self.bytes);
        let waiting = Waiting {
            since: cx.now,
            sent_at: self.free_at.max(cx.now),
            size: packet.size,
        };
        self.free_at = transmitter.send(waiting.sent_at, bytes);
        if waiting.sent_at == cx.now {
            self.depart(&waiting, cx.recorder());
        } else {
            self.waiting.push_back(waiting);
        }
        cx.forward(packet, self.free_at + self.delay);
    }

    /// When the last bit of the packet that is being sent leaves, as of the last call of
    /// `catch_up`.
    pub(super) fn busy_until(&self) -> Instant {
        (self.waiting.front()).map_or(self.free_at, |next| next.sent_at)
    }

    /// Bytes of all packets that have left, as of the last call of `catch_up`.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Records every departure up to `now`. At any instant, departures come before arrivals, as in
    /// a link that is not fused.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant, recorder: &mut Recorder) {
        while self.waiting.front().is_some_and(|next| next.sent_at <= now) {
            let waiting = self.waiting.pop_front().expect("it was just looked at");
            self.depart(&waiting, recorder);
        }
    }

    #[inline]
    fn depart(&mut self, waiting: &Waiting, recorder: &mut Recorder) {
        let bytes = self.framing.size_on_wire(waiting.size);
        self.bytes -= bytes;
        self.sent += bytes;
        let sojourn = waiting.sent_at - waiting.since;
        recorder.departed(waiting.sent_at, self.queue, waiting.size, sojourn);
        recorder.backlog(waiting.sent_at, self.queue, self.bytes);
    }

    #[inline]
    fn depth(&self) -> Depth {
        Depth {
            packets: self.waiting.len() as u64,
            bytes: self.bytes,
        }
    }
}
