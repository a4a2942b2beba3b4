//! A plain link: two directions, each with a rate, a propagation delay and a queue.
//!
//! Ports: 0 up (away from the customer), 1 down. A packet that finds the direction free is sent at once. What waits is sent when the transmission
//! before it ends, but nobody needs to know of it until the packet could have got to where it goes: departures are *put off*, and made up for with
//! the times at which they were due when something arrives, when somebody looks, or when the first of them would be seen at the far
//! end. Where a packet's departure can be known on arrival, that is not needed either ([fused](super::fused)). The way to the far end is
//! handed to the next hop's delay line.

use super::fused::Fused;
use super::{Link, Transmitter, Visitor};
use crate::context::Context;
use crate::flow::Port;
use crate::packet::Packet;
use crate::qdisc::Queue;
use crate::queue::{Framing, LineView};
use crate::time::{Duration, Instant};

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
    /// Whether the rate is not always the same.
    varies: bool,
    /// When the last bit of the packet being sent leaves.
    busy_until: Instant,
    /// How long after the end of a transmission it is early enough to see to what waits.
    slack: Duration,
    /// A wake-up is under way.
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
            },
            fused: limit.map(|limit| Fused::new(setup.queue.id(), limit, setup.framing, setup.mtu)),
            varies: !setup.transmitter.is_constant(),
            setup,
            busy_until: Instant::ZERO,
            slack: Duration::ZERO,
            is_awaited: false,
            stuck: None,
        }
    }

    fn arrive(&mut self, index: u64, packet: Packet, cx: &mut Context<'_>) {
        let setup = &mut self.setup;
        if let Some(fused) = &mut self.fused {
            return fused.arrive(packet, &mut setup.transmitter, setup.delay, cx);
        }
        self.send_due(cx);
        self.look(cx.now);
        self.setup.queue.enqueue(packet, &self.line, cx);
        if cx.now >= self.busy_until {
            self.start(cx);
        }
        self.await_end(index, cx);
    }

    /// Brings the view of the line up to date.
    #[inline]
    fn look(&mut self, now: Instant) {
        if self.varies {
            self.line.rate = self.setup.transmitter.schedule().at(now);
        }
    }

    /// Sends what was due by now, each packet at its own time. What is sent at an instant is sent before anything else happens at it.
    #[inline]
    fn send_due(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        while self.busy_until <= now && !self.setup.queue.is_empty() {
            cx.now = self.busy_until;
            self.look(cx.now);
            if !self.start(cx) {
                break;
            }
        }
        cx.now = now;
    }

    /// Sends the next packet now; false if there is none.
    fn start(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(packet) = self.setup.queue.dequeue(&self.line, cx) else {
            return false;
        };
        let bytes = self.setup.framing.of_size(packet.size);
        self.busy_until = self.setup.transmitter.send(cx.now, bytes);
        if self.busy_until == Instant::FAR_FUTURE {
            // The rate is zero for good.
            self.stuck = Some(packet);
            return true;
        }
        // Nothing can happen to it any more: it is at the far end when its last bit is.
        cx.forward(packet, self.busy_until + self.setup.delay);
        true
    }

    /// Asks to be woken in time for the end of the transmission, if anything waits for it. A wake-up under way is early enough. A
    /// discipline that holds its packets back while nothing is sent is asked again at its update.
    #[inline]
    fn await_end(&mut self, index: u64, cx: &mut Context<'_>) {
        let is_sending = self.busy_until > cx.now && self.busy_until < Instant::FAR_FUTURE;
        if is_sending && !self.is_awaited && !self.setup.queue.is_empty() {
            self.is_awaited = true;
            cx.wake_at(self.busy_until + self.slack, index);
        }
    }

    fn wake(&mut self, index: u64, cx: &mut Context<'_>) {
        self.is_awaited = false;
        self.send_due(cx);
        self.await_end(index, cx);
    }

    fn update(&mut self, index: u64, cx: &mut Context<'_>) {
        self.look(cx.now);
        self.setup.queue.update(&self.line, cx);
        // A discipline that held its packets back may give one up now.
        if !self.is_awaited && cx.now >= self.busy_until && !self.setup.queue.is_empty() {
            self.start(cx);
            self.await_end(index, cx);
        }
    }
}

impl Link for PointToPoint {
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        self.directions[usize::from(port.0)].arrive(u64::from(port.0), packet, cx);
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        let direction = &mut self.directions[(token & 1) as usize];
        if token & UPDATE == 0 {
            direction.wake(token, cx);
        } else {
            direction.update(token & 1, cx);
        }
    }

    fn visit_queues(&mut self, _now: Instant, visit: &mut Visitor<'_>) {
        for direction in &self.directions {
            let queue = &direction.setup.queue;
            visit(Some((queue.id(), queue.internals())));
        }
    }

    fn held(&self) -> u64 {
        (self.directions.iter())
            .map(|direction| {
                direction.setup.queue.depth().packets + u64::from(direction.stuck.is_some())
            })
            .sum()
    }

    fn catch_up(&mut self, cx: &mut Context<'_>) {
        for direction in &mut self.directions {
            match &mut direction.fused {
                Some(fused) => fused.catch_up(cx.now, cx.recorder()),
                None => direction.send_due(cx),
            }
        }
    }

    fn put_off(&mut self, port: Port, span: Duration) {
        let direction = &mut self.directions[usize::from(port.0)];
        // A law that changes by time alone must see departures in order with its updates.
        if !direction.setup.queue.is_periodic() {
            direction.slack = direction.setup.delay + span;
        }
    }

    fn wake_for_departures(&mut self) {
        for direction in &mut self.directions {
            direction.fused = None;
            direction.slack = Duration::ZERO;
        }
    }
}
