//! A plain link: two directions, each with a rate, a propagation delay and a queue.
//!
//! Ports: 0 up (away from the customer), 1 down. One event per packet, the end of its transmission; its way to the far end is
//! handed to the next hop's delay line.

use super::{Link, Transmitter};
use crate::context::{Context, QueueInternals};
use crate::flow::Port;
use crate::packet::Packet;
use crate::qdisc::{Framing, LineView, Queue};
use crate::time::{Duration, Instant};
use crate::trace::QueueId;

/// Token bit of queue updates; the low bit is the direction.
pub(crate) const UPDATE: u64 = 2;

/// One direction, as it is built.
#[derive(Debug)]
pub struct DirectionSetup {
    /// Its queue; updates come with token `2 + direction`.
    pub queue: Queue,
    /// Its rate.
    pub transmitter: Transmitter,
    /// Propagation delay.
    pub delay: Duration,
    /// Which bytes the rate and the queue count.
    pub framing: Framing,
    /// Largest packet.
    pub mtu: u16,
}

#[derive(Debug)]
struct Direction {
    setup: DirectionSetup,
    /// It is sending.
    busy: bool,
    /// A packet that will never be sent.
    stuck: Option<Packet>,
}

/// A plain link.
#[derive(Debug)]
pub struct PointToPoint {
    directions: [Direction; 2],
}

impl PointToPoint {
    /// A link of two directions: up, down.
    pub fn new(up: DirectionSetup, down: DirectionSetup) -> Self {
        Self {
            directions: [up, down].map(|setup| Direction {
                setup,
                busy: false,
                stuck: None,
            }),
        }
    }

    /// Token for the queue updates of direction `port`.
    pub fn update_token(port: Port) -> u64 {
        UPDATE + u64::from(port.0)
    }
}

impl DirectionSetup {
    fn line(&self, now: Instant) -> LineView<'static> {
        LineView {
            rate: self.transmitter.schedule().at(now),
            mtu: self.mtu,
            framing: self.framing,
            shaper: None,
            grants: None,
            share: None,
        }
    }
}

impl Direction {
    fn offer(&mut self, index: u64, packet: Packet, cx: &mut Context<'_>) {
        let line = self.setup.line(cx.now);
        self.setup.queue.offer(packet, &line, cx);
        if !self.busy {
            self.start(index, &line, cx);
        }
    }

    fn start(&mut self, index: u64, line: &LineView<'_>, cx: &mut Context<'_>) {
        let Some(packet) = self.setup.queue.take(line, cx) else {
            return;
        };
        let bytes = self.setup.framing.bytes(&packet);
        let end = self.setup.transmitter.send(cx.now, bytes);
        self.busy = true;
        if end == Instant::FAR_FUTURE {
            // The rate is zero for good.
            self.stuck = Some(packet);
            return;
        }
        // Nothing can happen to it any more: it is at the far end when its last bit is.
        cx.forward_at(packet, end + self.setup.delay);
        cx.wake_at(end, index);
    }

    fn transmitted(&mut self, index: u64, cx: &mut Context<'_>) {
        self.busy = false;
        let line = self.setup.line(cx.now);
        self.start(index, &line, cx);
    }
}

impl Link for PointToPoint {
    fn offer(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        self.directions[usize::from(port.0)].offer(u64::from(port.0), packet, cx);
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        let direction = &mut self.directions[(token & 1) as usize];
        if token & UPDATE == 0 {
            direction.transmitted(token, cx);
        } else {
            let line = direction.setup.line(cx.now);
            direction.setup.queue.update(&line, cx);
        }
    }

    fn visit_queues(&self, _now: Instant, visit: &mut dyn FnMut(QueueId, QueueInternals)) {
        for direction in &self.directions {
            visit(
                direction.setup.queue.id(),
                direction.setup.queue.internals(),
            );
        }
    }

    fn held(&self) -> u64 {
        (self.directions.iter())
            .map(|direction| {
                direction.setup.queue.depth().packets + u64::from(direction.stuck.is_some())
            })
            .sum()
    }
}
