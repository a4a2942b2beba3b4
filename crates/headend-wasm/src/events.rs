//! What happens to packets and requests, as rows of numbers.

#![expect(
    clippy::float_cmp,
    reason = "what wasm-bindgen makes of an enum compares a number of JavaScript's with itself"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headend::time::Instant;
use headend::trace::{
    PacketView, QueueId, SenderEvent, SenderState, SenderView, Sink, TraceEvent, TraceKinds,
};
use wasm_bindgen::prelude::*;

/// The numbers of a row: kind, time in ms, queue, flow, side, sequence number (of a sender: the
/// number of its connection), bytes, and a number of the kind's own. What a kind does not have is
/// −1.
pub(crate) const WIDTH: usize = 8;

/// The kinds of rows, each with what its last number is.
#[wasm_bindgen]
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A packet joined a queue.
    Enqueued,
    /// A packet was taken out for transmission: the sojourn time, ms.
    Dequeued,
    /// A packet was discarded: the number of the reason.
    Discarded,
    /// A packet was marked CE.
    Marked,
    /// A packet reached its receiver: the one-way delay, ms.
    Delivered,
    /// A modem requested bytes: when the request is sent, ms. The row's bytes are those requested.
    Requested,
    /// A modem learned of a grant: when its burst starts, ms. The row's bytes are those granted.
    Granted,
    /// The last bytes of a packet are in a burst: when the packet leaves the CMTS, ms.
    Loaded,
    /// A modem prepared a burst: when it starts, ms.
    Prepared,
    /// A modem learned what became of a request: 1 if the CMTS received it, 0 if it collided.
    Answered,
    /// A sender's congestion window changed: its smoothed RTT, ms. The row's bytes are the window.
    Window,
    /// An application measured its own work: the value, in the unit of the measure. The row's
    /// sequence number is that of the measure in `Run.measures`, and its side is that whose packets
    /// were measured.
    Measured,
}

/// The events of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Content>>);

#[derive(Debug, Default)]
struct Content {
    /// The rows that were not taken yet, one after the other.
    rows: Vec<f64>,
    /// The names of the measures in rows, by their numbers.
    measures: Vec<&'static str>,
    /// The windows of senders as rows said them last.
    windows: BTreeMap<SenderView, u64>,
}

impl Events {
    /// Gives the rows since the last call, one after the other.
    pub(crate) fn take(&self) -> Vec<f64> {
        std::mem::take(&mut self.content().rows)
    }

    /// The names of the measures so far, by their numbers in rows.
    pub(crate) fn measures(&self) -> Vec<String> {
        let content = self.content();
        content
            .measures
            .iter()
            .map(|&name| name.to_owned())
            .collect()
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    /// Whether rows say something else of a sender's window.
    fn is_new(&mut self, event: &TraceEvent) -> bool {
        let TraceEvent::Sender { sender, event } = event else {
            return true;
        };
        let SenderEvent::Changed(state) = event else {
            return false;
        };
        self.windows.insert(*sender, state.cwnd_bytes) != Some(state.cwnd_bytes)
    }

    fn number(&mut self, measure: &'static str) -> usize {
        let place = self.measures.iter().position(|&name| name == measure);
        place.unwrap_or_else(|| {
            self.measures.push(measure);
            self.measures.len() - 1
        })
    }
}

impl Sink for Events {
    fn interest(&self) -> TraceKinds {
        [
            TraceKinds::ENQUEUED,
            TraceKinds::DEQUEUED,
            TraceKinds::DISCARDED,
            TraceKinds::MARKED,
            TraceKinds::DELIVERED,
            TraceKinds::REQUESTED,
            TraceKinds::GRANTED,
            TraceKinds::LOADED,
            TraceKinds::PREPARED,
            TraceKinds::ANSWERED,
            TraceKinds::SENDER,
            TraceKinds::MEASURED,
        ]
        .into_iter()
        .fold(TraceKinds::NONE, TraceKinds::union)
    }

    fn record(&mut self, at: Instant, event: &TraceEvent) {
        let at = at.as_nanos() as f64 / 1e6;
        let mut content = self.content();
        if !content.is_new(event) {
            return;
        }
        let row = write(at, event, |measure| content.number(measure));
        content.rows.extend(row.into_iter().flatten());
    }
}

/// The row of an event. `number` gives that of a measure.
fn write(
    at: f64,
    event: &TraceEvent,
    number: impl FnOnce(&'static str) -> usize,
) -> Option<[f64; WIDTH]> {
    let ms = |at: Instant| at.as_nanos() as f64 / 1e6;
    Some(match *event {
        TraceEvent::Enqueued { queue, packet } => {
            of_packet(Kind::Enqueued, at, Some(queue), &packet, -1.0)
        }
        TraceEvent::Dequeued {
            queue,
            packet,
            sojourn,
        } => of_packet(
            Kind::Dequeued,
            at,
            Some(queue),
            &packet,
            sojourn.as_secs_f64() * 1e3,
        ),
        TraceEvent::Discarded {
            queue,
            packet,
            reason,
        } => of_packet(
            Kind::Discarded,
            at,
            queue,
            &packet,
            f64::from(reason as u32),
        ),
        TraceEvent::Marked { queue, packet } => {
            of_packet(Kind::Marked, at, Some(queue), &packet, -1.0)
        }
        TraceEvent::Delivered { packet, delay } => of_packet(
            Kind::Delivered,
            at,
            None,
            &packet,
            delay.as_secs_f64() * 1e3,
        ),
        TraceEvent::Requested {
            queue, bytes, sent, ..
        } => of_queue(Kind::Requested, at, queue, bytes as f64, ms(sent)),
        TraceEvent::Granted {
            queue,
            bytes,
            start,
        } => of_queue(Kind::Granted, at, queue, bytes as f64, ms(start)),
        TraceEvent::Loaded {
            queue,
            packet,
            delivery,
        } => of_packet(Kind::Loaded, at, Some(queue), &packet, ms(delivery)),
        TraceEvent::Prepared { queue, start } => {
            of_queue(Kind::Prepared, at, queue, -1.0, ms(start))
        }
        TraceEvent::Answered { queue, heard, .. } => {
            of_queue(Kind::Answered, at, queue, -1.0, f64::from(u8::from(heard)))
        }
        TraceEvent::Sender {
            sender,
            event: SenderEvent::Changed(state),
        } => of_sender(at, &sender, &state),
        TraceEvent::Measured {
            group,
            kind,
            from,
            value,
        } => [
            f64::from(Kind::Measured as u8),
            at,
            -1.0,
            f64::from(group.0),
            from.map_or(-1.0, |side| side.index() as f64),
            number(kind) as f64,
            -1.0,
            value,
        ],
        _ => return None,
    })
}

fn of_packet(
    kind: Kind,
    at: f64,
    queue: Option<QueueId>,
    packet: &PacketView,
    own: f64,
) -> [f64; WIDTH] {
    [
        f64::from(kind as u8),
        at,
        queue.map_or(-1.0, |queue| f64::from(queue.0)),
        f64::from(packet.group.0),
        packet.from.index() as f64,
        packet.seq as f64,
        f64::from(packet.size),
        own,
    ]
}

fn of_sender(at: f64, sender: &SenderView, state: &SenderState) -> [f64; WIDTH] {
    [
        f64::from(Kind::Window as u8),
        at,
        -1.0,
        f64::from(sender.group.0),
        sender.side.index() as f64,
        f64::from(sender.ordinal),
        state.cwnd_bytes as f64,
        (state.srtt).map_or(-1.0, |srtt| srtt.as_secs_f64() * 1e3),
    ]
}

fn of_queue(kind: Kind, at: f64, queue: QueueId, bytes: f64, own: f64) -> [f64; WIDTH] {
    let queue = f64::from(queue.0);
    [
        f64::from(kind as u8),
        at,
        queue,
        -1.0,
        -1.0,
        -1.0,
        bytes,
        own,
    ]
}
