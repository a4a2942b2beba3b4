//! A direction that needs no event for its transmissions: each packet's departure is known when it arrives.
//!
//! Where the queue's limit alone decides who is refused, and the rate never changes, a packet is sent when the one before it has left, or at
//! once (Lindley's recursion). It goes straight onto the delay line behind the link, with the time at which it will be there; here
//! remains, until it is sent, what the limit and the records need. Departures are recorded with their own times, but later: when
//! somebody next looks. Who listens to what happens in the queue would hear of it too late, so then a link is not fused.
//!
//! Nobody can tell a fused link from one that is not, but by the number of events: `tests/fusing.rs` holds it to that.

use std::collections::VecDeque;

use super::Transmitter;
use crate::context::Context;
use crate::metrics::Recorder;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, Framing};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};

/// Room for so many waiting packets is kept from the start, if the limit allows as many; beyond, it grows.
const ROOM: u64 = 1 << 13;

/// The queue of a fused direction.
#[derive(Debug)]
pub(super) struct Fused {
    queue: QueueId,
    limit: BacklogLimit,
    framing: Framing,
    /// Packets not sent yet, as of the latest look.
    waiting: VecDeque<Waiting>,
    bytes: u64,
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
    pub(super) fn new(queue: QueueId, limit: BacklogLimit, framing: Framing, mtu: u16) -> Self {
        let room = match limit {
            BacklogLimit::Bytes(bytes) => bytes / framing.of_size(mtu),
            BacklogLimit::Packets(packets) => packets,
            BacklogLimit::Unlimited => ROOM,
        };
        Self {
            queue,
            limit,
            framing,
            waiting: VecDeque::with_capacity(room.min(ROOM) as usize),
            bytes: 0,
            free_at: Instant::ZERO,
        }
    }

    /// A packet arrives; it is at the far end `delay` after its last bit has left.
    pub(super) fn arrive(
        &mut self,
        packet: Packet,
        transmitter: &mut Transmitter,
        delay: Duration,
        cx: &mut Context<'_>,
    ) {
        cx.enter_queue(self.queue);
        self.catch_up(cx.now, cx.recorder());
        let bytes = self.framing.of_size(packet.size);
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
        cx.forward(packet, self.free_at + delay);
    }

    /// Records what has been sent by `now`. What is sent at an instant is sent before anything arrives: so is the order of events.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant, recorder: &mut Recorder) {
        while self.waiting.front().is_some_and(|next| next.sent_at <= now) {
            let waiting = self.waiting.pop_front().expect("it was just looked at");
            self.depart(&waiting, recorder);
        }
    }

    #[inline]
    fn depart(&mut self, waiting: &Waiting, recorder: &mut Recorder) {
        self.bytes -= self.framing.of_size(waiting.size);
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
