//! A plain link: two directions, each with a rate, a propagation delay and a queue.
//!
//! Ports: 0 up (away from the customer), 1 down. A packet that finds the direction free is sent at once; the end of a transmission is an
//! event only if something waits for it. Where a packet's departure can be known on arrival, there are no such events at all
//! ([fused](super::fused)). Its way to the far end is handed to the next hop's delay line.

use super::fused::Fused;
use super::{Link, Transmitter};
use crate::context::{Context, QueueInternals};
use crate::flow::Port;
use crate::metrics::Recorder;
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
    /// What its queue may know of it; the rate is that of the latest look.
    line: LineView<'static>,
    /// In place of its queue, where departures can be known on arrival.
    fused: Option<Fused>,
    /// When the last bit of the packet being sent leaves.
    busy_until: Instant,
    /// A wake-up at that time is under way.
    is_awaited: bool,
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
            directions: [up, down].map(Direction::new),
        }
    }

    /// Token for the queue updates of direction `port`.
    pub fn update_token(port: Port) -> u64 {
        UPDATE + u64::from(port.0)
    }
}

impl Direction {
    fn new(setup: DirectionSetup) -> Self {
        let limit = (setup.queue.limit_alone()).filter(|_| setup.transmitter.is_constant());
        Self {
            line: LineView {
                rate: setup.transmitter.schedule().at(Instant::ZERO),
                mtu: setup.mtu,
                framing: setup.framing,
                shaper: None,
                grants: None,
                share: None,
            },
            fused: limit.map(|limit| Fused::new(setup.queue.id(), limit, setup.framing, setup.mtu)),
            setup,
            busy_until: Instant::ZERO,
            is_awaited: false,
            stuck: None,
        }
    }

    fn offer(&mut self, index: u64, packet: Packet, cx: &mut Context<'_>) {
        let setup = &mut self.setup;
        if let Some(fused) = &mut self.fused {
            return fused.offer(packet, &mut setup.transmitter, setup.delay, cx);
        }
        self.look(cx.now);
        self.setup.queue.offer(packet, &self.line, cx);
        if !self.is_awaited {
            if cx.now >= self.busy_until {
                self.start(index, cx);
            } else {
                self.await_end(index, cx);
            }
        }
    }

    /// Brings the view of the line up to date.
    #[inline]
    fn look(&mut self, now: Instant) {
        if !self.setup.transmitter.is_constant() {
            self.line.rate = self.setup.transmitter.schedule().at(now);
        }
    }

    fn start(&mut self, index: u64, cx: &mut Context<'_>) {
        let Some(packet) = self.setup.queue.take(&self.line, cx) else {
            return;
        };
        let bytes = self.setup.framing.bytes(&packet);
        self.busy_until = self.setup.transmitter.send(cx.now, bytes);
        if self.busy_until == Instant::FAR_FUTURE {
            // The rate is zero for good.
            self.stuck = Some(packet);
            return;
        }
        // Nothing can happen to it any more: it is at the far end when its last bit is.
        cx.forward_at(packet, self.busy_until + self.setup.delay);
        self.await_end(index, cx);
    }

    /// Asks to be woken at the end of the transmission if anything waits for it.
    #[inline]
    fn await_end(&mut self, index: u64, cx: &mut Context<'_>) {
        if !self.setup.queue.is_empty() && self.busy_until < Instant::FAR_FUTURE {
            self.is_awaited = true;
            cx.wake_at(self.busy_until, index);
        }
    }

    fn transmitted(&mut self, index: u64, cx: &mut Context<'_>) {
        self.is_awaited = false;
        self.look(cx.now);
        self.start(index, cx);
    }

    fn update(&mut self, index: u64, cx: &mut Context<'_>) {
        self.look(cx.now);
        self.setup.queue.update(&self.line, cx);
        // A discipline that held its packets back may give one up now.
        if !self.is_awaited && cx.now >= self.busy_until && !self.setup.queue.is_empty() {
            self.start(index, cx);
        }
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
            direction.update(token & 1, cx);
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

    fn catch_up(&mut self, now: Instant, recorder: &mut Recorder) {
        for fused in self.directions.iter_mut().flat_map(|one| &mut one.fused) {
            fused.catch_up(now, recorder);
        }
    }

    fn wake_for_departures(&mut self) {
        for direction in &mut self.directions {
            direction.fused = None;
        }
    }
}
