//! The exchanges of a cell on the air: their steps in time, and the frames that disturb each other.
//!
//! Where everybody hears everybody, an exchange is foreseen to its end when it begins: one that
//! begins alone succeeds unless its data arrives broken, and several that begin together collide.
//! Where nodes are hidden from each other, each frame takes its steps, and a frame that overlaps
//! another at its receiver does not arrive (IEEE 802.11-2020 §10.3.1; no capture).

use super::exchange::{Burst, Disturbance, Exchange, Frame, Step};
use super::usage::Usage;
use super::window::Try;
use super::{ACCESS_POINT, Cell, STEP};
use crate::context::Context;
use crate::metrics::air::AirUse;
use crate::time::Instant;
use crate::trace::AirFrame;

impl Cell {
    /// Starts the exchanges from index `first` on, which begin together.
    pub(super) fn start(&mut self, first: usize, cx: &mut Context<'_>) {
        if self.contention.is_open() {
            for index in first..self.exchanges.len() {
                let node = self.sender(&self.exchanges[index]);
                self.contention.begin(node, cx.now);
            }
            match self.exchanges.len() - first {
                0 => self.arm(0, cx),
                1 => self.foresee(first, cx),
                _ => self.collide(first, cx),
            }
        } else {
            for index in first..self.exchanges.len() {
                self.send(index, 0, cx);
            }
        }
    }

    fn sender(&self, exchange: &Exchange) -> usize {
        self.contenders[exchange.contender as usize].node
    }

    /// One node sends alone, and nothing can interfere. Unless a packet arrives broken, it is
    /// forwarded at the time at which its last bit reaches the receiver.
    fn foresee(&mut self, index: usize, cx: &mut Context<'_>) {
        let mut exchange = self.exchanges.swap_remove(index);
        let (contender, burst) = (exchange.contender, exchange.burst);
        if exchange.what == Try::Long {
            self.clear(contender, &burst);
        }
        let (mut at, mut ends) = (exchange.begun, exchange.begun);
        for frame in exchange.frames() {
            at += frame.span;
            ends = at;
            if frame.kind == AirFrame::Data {
                if !self.receive(contender, &burst, exchange.disturbance, at) {
                    exchange.is_broken = true;
                    exchange.usage.what = AirUse::Broken;
                    self.record_all(&exchange, Some(AirFrame::Data), cx);
                    break;
                }
                self.record_all(&exchange, None, cx);
                let arrives = at + self.rules.propagation;
                self.pass_on(contender, burst.station, arrives, cx);
                exchange.is_acknowledged = true;
            }
            at += self.rules.gap();
        }
        exchange.step = Step::Ends;
        exchange.until = ends;
        self.exchanges.push(exchange);
        cx.wake_at(ends, STEP);
    }

    /// An RTS was answered.
    fn clear(&mut self, contender: u32, burst: &Burst) {
        let own = &mut self.contenders[contender as usize];
        let window = Self::window_of(own.node, burst.station);
        own.windows[window].clear(burst.span);
    }

    /// Several nodes send at once. The channel is busy for the duration of the longest frame.
    fn collide(&mut self, first: usize, cx: &mut Context<'_>) {
        let spans = self.exchanges[first..].iter();
        let longest = spans
            .filter_map(|exchange| exchange.frame(0))
            .map(|frame| frame.span);
        let until = cx.now + longest.max().unwrap_or_default();
        for index in first..self.exchanges.len() {
            let queue = self.nodes[self.sender(&self.exchanges[index])].queue.id();
            cx.recorder().mac(queue).collisions += 1;
            let exchange = &mut self.exchanges[index];
            exchange.what = Try::Short;
            exchange.is_broken = true;
            exchange.usage.what = AirUse::Collision;
            exchange.step = Step::Ends;
            exchange.until = until;
            let exchange = &self.exchanges[index];
            let lost = exchange.frame(0).map(|frame| frame.kind);
            self.record_all(exchange, lost, cx);
        }
        cx.wake_at(until, STEP);
    }

    /// The wake-up `STEP`: steps of exchanges end now.
    pub(super) fn step(&mut self, cx: &mut Context<'_>) {
        let mut over = Vec::new();
        let mut index = 0;
        while index < self.exchanges.len() {
            let exchange = &self.exchanges[index];
            if exchange.until > cx.now {
                index += 1;
                continue;
            }
            match exchange.step {
                Step::Ends => {
                    over.push(self.exchanges.remove(index));
                    continue;
                }
                Step::Waits(frame) => self.send(index, frame, cx),
                Step::Sends(frame) => self.arrive_at_end(index, frame, cx),
            }
            index += 1;
        }
        self.end(&over, cx);
    }

    /// Exchanges are over. Each contender that sent goes on in its TXOP, or draws a new backoff.
    fn end(&mut self, over: &[Exchange], cx: &mut Context<'_>) {
        let first = self.exchanges.len();
        for exchange in over {
            self.settle(exchange, cx);
            match self.go_on(exchange, cx) {
                Some(next) => self.exchanges.push(next),
                None => self.contend_again(exchange.contender, cx),
            }
        }
        if !self.contention.is_open() {
            for index in first..self.exchanges.len() {
                self.wait(index, 0, cx);
            }
            self.arm_all(cx);
            return;
        }
        if self.exchanges.len() > first {
            // The channel stays busy for the rest of the TXOP.
            self.foresee(first, cx);
            return;
        }
        for exchange in over {
            let node = self.sender(exchange);
            (self.contention).end(node, cx.now, cx.now, exchange.is_broken);
        }
        self.arm_all(cx);
    }

    fn arm_all(&mut self, cx: &mut Context<'_>) {
        for zone in 0..self.contention.zones() {
            self.arm(zone, cx);
        }
    }

    /// SIFS passes before a frame.
    fn wait(&mut self, index: usize, frame: usize, cx: &mut Context<'_>) {
        let until = cx.now + self.rules.gap();
        let exchange = &mut self.exchanges[index];
        exchange.step = Step::Waits(frame);
        exchange.until = until;
        cx.wake_at(until, STEP);
    }

    /// Who sends a frame of an exchange, and who receives it.
    fn ends_of(&self, exchange: &Exchange, frame: Frame) -> [usize; 2] {
        let sender = self.sender(exchange);
        let peer = if sender == ACCESS_POINT {
            exchange.burst.station + 1
        } else {
            ACCESS_POINT
        };
        if frame.is_answer {
            [peer, sender]
        } else {
            [sender, peer]
        }
    }

    /// A frame begins, where nodes are hidden from each other.
    fn send(&mut self, index: usize, number: usize, cx: &mut Context<'_>) {
        let Some(frame) = self.exchanges[index].frame(number) else {
            return;
        };
        let [sender, receiver] = self.ends_of(&self.exchanges[index], frame);
        self.contention.begin(sender, cx.now);
        let until = cx.now + frame.span;
        let mut disturbance = Disturbance::None;
        for other in 0..self.exchanges.len() {
            let Step::Sends(on_air) = self.exchanges[other].step else {
                continue;
            };
            if other == index {
                continue;
            }
            let Some(on_air) = self.exchanges[other].frame(on_air) else {
                continue;
            };
            let [from, to] = self.ends_of(&self.exchanges[other], on_air);
            if self.contention.disturbs(sender, to) {
                let other = &mut self.exchanges[other];
                let began = other.until.as_nanos() - on_air.span.as_nanos();
                if began == cx.now.as_nanos() {
                    other.disturbance = Disturbance::Missed;
                } else {
                    other.disturbance.add(cx.now, until);
                }
            }
            if self.contention.disturbs(from, receiver) {
                disturbance = Disturbance::Missed;
            }
        }
        let exchange = &mut self.exchanges[index];
        exchange.step = Step::Sends(number);
        exchange.until = until;
        exchange.disturbance = disturbance;
        cx.wake_at(until, STEP);
    }

    /// A frame ends, where nodes are hidden from each other.
    fn arrive_at_end(&mut self, index: usize, number: usize, cx: &mut Context<'_>) {
        let Some(frame) = self.exchanges[index].frame(number) else {
            return;
        };
        let exchange = &self.exchanges[index];
        let (contender, burst) = (exchange.contender, exchange.burst);
        let [sender, _] = self.ends_of(exchange, frame);
        let disturbance = exchange.disturbance;
        let is_disturbed = disturbance != Disturbance::None;
        let arrives = if frame.kind == AirFrame::Data {
            self.receive(contender, &burst, disturbance, cx.now)
        } else {
            !is_disturbed
        };
        self.record(&self.exchanges[index], frame, cx.now, arrives, cx);
        // What follows in this exchange, of which an RTS cannot be sure.
        let exchange = &self.exchanges[index];
        let following = (number + 1..).map_while(|next| exchange.frame(next));
        let following = following.take(if frame.kind == AirFrame::Rts { 1 } else { 4 });
        let reserved = following.fold(cx.now, |at, next| at + self.rules.gap() + next.span);
        let is_broken = !arrives && !is_disturbed;
        (self.contention).end(sender, cx.now, reserved, is_broken);
        let exchange = &mut self.exchanges[index];
        exchange.is_broken |= !arrives;
        if !arrives {
            let timeout = self.rules.timeout();
            exchange.usage.what = if is_disturbed {
                AirUse::Collision
            } else {
                AirUse::Broken
            };
            if number == 0 {
                exchange.what = Try::Short;
            }
            exchange.step = Step::Ends;
            exchange.until = cx.now + timeout;
            cx.wake_at(exchange.until, STEP);
            if is_disturbed {
                let queue = self.nodes[sender].queue.id();
                cx.recorder().mac(queue).collisions += 1;
            }
            self.arm_all(cx);
            return;
        }
        match frame.kind {
            AirFrame::Data => {
                let at = cx.now + self.rules.propagation;
                self.pass_on(contender, burst.station, at, cx);
            }
            AirFrame::Cts if frame.is_answer => self.clear(contender, &burst),
            _ => {}
        }
        if self.exchanges[index].frame(number + 1).is_some() {
            self.wait(index, number + 1, cx);
        } else {
            let exchange = &mut self.exchanges[index];
            exchange.is_acknowledged = true;
            exchange.step = Step::Ends;
            exchange.until = cx.now;
            cx.wake_at(cx.now, STEP);
        }
    }

    /// Time on the air until now, or until the start of the earliest exchange of which it is not
    /// known how it ends.
    pub(super) fn usage_at(&self, now: Instant) -> Usage {
        let mut usage = self.usage.clone();
        let exchanges = self
            .exchanges
            .iter()
            .filter(|exchange| exchange.begun < now);
        let mut until = now;
        for exchange in exchanges {
            if self.contention.is_open() {
                usage.add(exchange.usage, exchange.begun, now.min(exchange.until));
            } else {
                until = until.min(exchange.begun);
            }
        }
        usage.count_until(until);
        usage
    }

    /// Records the frames of an exchange that was foreseen, up to one that is lost.
    fn record_all(&self, exchange: &Exchange, lost: Option<AirFrame>, cx: &mut Context<'_>) {
        if !cx.recorder().hears_air() {
            return;
        }
        let mut at = exchange.begun;
        for frame in exchange.frames() {
            at += frame.span;
            let is_heard = lost != Some(frame.kind);
            self.record(exchange, frame, at, is_heard, cx);
            if !is_heard {
                break;
            }
            at += self.rules.gap();
        }
    }

    /// Records a frame that ends at `end`.
    fn record(
        &self,
        exchange: &Exchange,
        frame: Frame,
        end: Instant,
        is_heard: bool,
        cx: &mut Context<'_>,
    ) {
        let queue = self.nodes[self.sender(exchange)].queue.id();
        let start = Instant::from_nanos(end.as_nanos() - frame.span.as_nanos());
        let Frame { kind, bytes, .. } = frame;
        let begun = exchange.begun.min(cx.now);
        cx.recorder()
            .aired(begun, queue, kind, bytes, (start, end), is_heard);
    }
}
