//! A plain link: two directions, each with a rate, a propagation delay and a queue, and perhaps a
//! policer before the queue and a shaper behind it.
//!
//! Port 0 is up (away from the customer), port 1 is down. A packet that finds its direction idle is
//! sent at once. A queued packet is sent when the transmission before it ends.
//!
//! The end of a transmission often needs no event of its own: it has no visible effect before the
//! packet could reach its destination. Such a departure is *postponed*. It is carried out later,
//! with the time at which it was due, at the first of these:
//!
//! - another packet arrives;
//! - a reader needs the state of the queue;
//! - the first postponed departure would become visible at the far end.
//!
//! A packet that the queue gives up waits for the tokens of the shaper, and is then sent. Nothing
//! can leave the queue meanwhile, as in Linux, whose `tbf` and `htb` take one packet from the
//! queue inside and keep it.
//!
//! If each departure can be computed on arrival, no departure needs an event: see
//! [fused](super::fused).
//!
//! A packet that the link loses has been sent: it took its time on the line, and never arrives.
//!
//! The delay line of the next hop carries the packet to the far end. Where the delay varies, a
//! packet has the delay of the moment at which its last bit leaves. A packet never overtakes: while
//! the delay falls, it arrives with the one before it.

use super::fused::Fused;
use super::token_bucket::TokenBuckets;
use super::{Link, Losses, Policer, Transmitter, Varying, Visitor};
use crate::context::Context;
use crate::flow::Port;
use crate::metrics::Recorder;
use crate::packet::Packet;
use crate::qdisc::Queue;
use crate::queue::{Framing, LineView, Shaper};
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::units::Rate;

/// Bit of a wake-up token that marks a queue update. The lowest bit is the direction.
pub(crate) const UPDATE: u64 = 2;

/// One direction, as it is built.
#[derive(Debug)]
pub struct DirectionSetup {
    /// What drops packets before they reach the queue.
    pub policer: Option<Policer>,
    /// The queue of this direction. Wake-ups for its updates have the token `2 + direction`.
    pub queue: Queue,
    /// The tokens that a packet needs before it is sent.
    pub shaper: Option<TokenBuckets>,
    /// The rate at which packets are sent.
    pub transmitter: Transmitter,
    /// Propagation delay.
    pub delay: Varying<Duration>,
    /// Which packets are lost behind the queue.
    pub losses: Option<Losses>,
    /// Which bytes the rates, the queue and the bursts count.
    pub framing: Framing,
    /// The largest packet, in bytes.
    pub mtu: u16,
}

#[derive(Debug)]
struct Direction {
    setup: DirectionSetup,
    /// What the queue may know about the direction. The rate is that of the last call of
    /// `update_rate`.
    line: LineView<'static>,
    /// Replaces the queue if each departure can be computed on arrival.
    fused: Option<Fused>,
    /// Whether the rate changes during the run.
    varies: bool,
    /// When the first bit of the packet being sent leaves, or left.
    begins_at: Instant,
    /// When its last bit leaves.
    busy_until: Instant,
    /// When the latest packet arrives at the far end.
    arrives_at: Instant,
    /// Bytes of all packets that have left the queue, unless the direction is fused.
    sent: u64,
    /// How long a departure may be postponed after the end of the transmission before it.
    slack: Duration,
    /// A wake-up is scheduled.
    is_awaited: bool,
    /// A packet that is never sent, because the rate stays zero.
    stuck: Option<Packet>,
}

/// A plain link.
#[derive(Debug)]
pub struct PointToPoint {
    directions: [Direction; 2],
}

impl PointToPoint {
    /// A link of two directions, up and down.
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

impl DirectionSetup {
    /// The rate at which it drains its queue at `now`.
    #[inline]
    fn rate(&self, now: Instant) -> Rate {
        let line = self.transmitter.schedule().at(now);
        (self.shaper.as_ref()).map_or(line, |shaper| line.min(shaper.sustained()))
    }
}

impl Direction {
    fn new(setup: DirectionSetup) -> Self {
        let is_steady = setup.transmitter.is_constant() && setup.shaper.is_none();
        let constant_delay = match setup.delay {
            Varying::Constant(delay) if setup.losses.is_none() => Some(delay),
            _ => None,
        };
        let limit = (setup.queue.limit_alone()).filter(|_| is_steady);
        let fused = limit.zip(constant_delay).map(|(limit, delay)| {
            let framing = setup.framing;
            Fused::new(setup.queue.id(), limit, framing, setup.mtu, delay)
        });
        Self {
            line: LineView {
                rate: setup.rate(Instant::ZERO),
                mtu: setup.mtu,
                framing: setup.framing,
                shaper: None,
                grants: None,
                coupling: None,
            },
            fused,
            varies: !setup.transmitter.is_constant(),
            setup,
            begins_at: Instant::ZERO,
            busy_until: Instant::ZERO,
            arrives_at: Instant::ZERO,
            sent: 0,
            slack: Duration::ZERO,
            is_awaited: false,
            stuck: None,
        }
    }

    fn arrive(&mut self, index: u64, packet: Packet, cx: &mut Context<'_>) {
        let setup = &mut self.setup;
        if let Some(policer) = &mut setup.policer
            && !policer.admits(cx.now, setup.framing.bytes(&packet))
        {
            cx.enter_queue(setup.queue.id());
            return cx.discard(packet, DropReason::Policed);
        }
        if let Some(fused) = &mut self.fused {
            return fused.arrive(packet, &mut setup.transmitter, cx);
        }
        self.send_due(cx);
        self.update_rate(cx.now);
        self.setup.queue.enqueue(packet, &self.line, cx);
        if cx.now >= self.busy_until {
            self.start(cx);
        }
        self.await_end(index, cx);
    }

    /// Updates the rate in the view that the queue has of this direction.
    #[inline]
    fn update_rate(&mut self, now: Instant) {
        if self.varies {
            self.line.rate = self.setup.rate(now);
        }
    }

    /// Sends every packet that was due by now, each at its own time. At any instant, departures
    /// come before all other events.
    #[inline]
    fn send_due(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        while self.busy_until <= now && !self.setup.queue.is_empty() {
            cx.now = self.busy_until;
            self.update_rate(cx.now);
            if !self.start(cx) {
                break;
            }
        }
        cx.now = now;
    }

    /// Sends the next packet now, or when there are tokens for it. Returns false if the queue gives
    /// none.
    fn start(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(packet) = self.setup.queue.dequeue(&self.line, cx) else {
            return false;
        };
        let bytes = self.setup.framing.size_on_wire(packet.size);
        self.sent += bytes;
        self.begins_at = match &mut self.setup.shaper {
            Some(shaper) => shaper.admit(cx.now, bytes),
            None => cx.now,
        };
        self.busy_until = self.setup.transmitter.send(self.begins_at, bytes);
        if self.busy_until == Instant::FAR_FUTURE {
            // The rate is zero for the rest of the run.
            self.stuck = Some(packet);
            return true;
        }
        let losses = self.setup.losses.as_mut();
        if losses.is_some_and(|losses| losses.takes(self.busy_until)) {
            cx.lose_on_path(packet);
            return true;
        }
        // Nothing can happen to the packet before its last bit reaches the far end.
        let delay = self.setup.delay.at(self.busy_until);
        self.arrives_at = self.arrives_at.max(self.busy_until + delay);
        cx.forward(packet, self.arrives_at);
        true
    }

    /// Schedules a wake-up for the end of the transmission, if a packet is queued. A wake-up that
    /// is already scheduled is early enough. A discipline may hold its packets back while the
    /// direction is idle: its next update tries again.
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

    /// Bytes of all packets that have left the queue.
    fn sent(&self) -> u64 {
        self.fused.as_ref().map_or(self.sent, Fused::sent)
    }

    /// Reports the use until `now` of the line, and of the buckets of the shaper and the policer.
    fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        let DirectionSetup {
            policer,
            queue,
            shaper,
            transmitter,
            framing,
            ..
        } = &self.setup;
        let busy_until = self
            .fused
            .as_ref()
            .map_or(self.busy_until, Fused::busy_until);
        let unsent = match &self.stuck {
            Some(packet) => framing.bytes(packet) as f64 * 8.0,
            None => transmitter.unsent_bits(now.max(self.begins_at), busy_until),
        };
        let left = self.sent() as f64 * 8.0;
        recorder.limit(queue.id(), Some(transmitter.limit(now, left - unsent)));
        let shaped = shaper.iter().flat_map(|shaper| shaper.limits(now, left));
        let policed = policer.iter().flat_map(|policer| policer.limits(now));
        let own = queue.limit(now).map(Some);
        for limit in own.into_iter().chain(shaped).chain(policed) {
            recorder.limit(queue.id(), limit);
        }
    }

    fn update(&mut self, index: u64, cx: &mut Context<'_>) {
        self.update_rate(cx.now);
        self.setup.queue.update(&self.line, cx);
        // A discipline that held its packets back may release one now.
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

    fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        for direction in &self.directions {
            direction.report_limits(now, recorder);
        }
    }

    fn report_tins(&mut self, recorder: &mut Recorder) {
        for direction in &mut self.directions {
            direction.setup.queue.report_tins(recorder);
        }
    }

    fn sent(&self, port: Port) -> u64 {
        self.directions[usize::from(port.0)].sent()
    }

    fn set_rate(&mut self, port: Port, rate: Rate, now: Instant) {
        let direction = &mut self.directions[usize::from(port.0)];
        direction.setup.queue.set_rate(rate, now);
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
        // A queue discipline that also changes with time alone must see departures and its own
        // updates in order.
        if !direction.setup.queue.is_periodic() {
            let shortest = direction.setup.delay.values().min();
            direction.slack = shortest.unwrap_or_default() + span;
        }
    }

    fn wake_for_departures(&mut self) {
        for direction in &mut self.directions {
            direction.fused = None;
            direction.slack = Duration::ZERO;
        }
    }
}
