//! The delay line: what lies between a link and a far host, or between two links.
//!
//! Constant delay with small seeded jitter, perhaps loss. It keeps order, holds its packets itself, and has one pending
//! event. The jitter is part of the model: with perfect timing identical flows lock into phase with a drop-tail queue, and one of
//! them takes most of the link, which no real host would show (facts: 58 % of a link shared by ten).

use std::collections::VecDeque;

use crate::packet::Packet;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Probability;

/// A delay line.
#[derive(Debug)]
pub struct Line {
    delay: Duration,
    /// Uniform over 0..jitter is added to each packet's delay.
    jitter: Duration,
    loss: Probability,
    rng: Rng,
    packets: VecDeque<(Instant, Packet)>,
    last: Instant,
}

impl Line {
    /// An empty line.
    pub fn new(delay: Duration, jitter: Duration, loss: Probability, rng: Rng) -> Self {
        Self {
            delay,
            jitter,
            loss,
            rng,
            packets: VecDeque::new(),
            last: Instant::ZERO,
        }
    }

    /// Whether the line loses the next packet. Draws only on lines that lose.
    pub(crate) fn loses(&mut self) -> bool {
        self.loss.0 > 0.0 && self.rng.uniform() < self.loss.0
    }

    /// Whether a packet that enters now leaves now: no delay, and nothing before it.
    pub(crate) fn is_transparent(&self) -> bool {
        self.delay.is_zero() && self.jitter.is_zero() && self.packets.is_empty()
    }

    /// Takes a packet that enters at `at`, position `hop` of its route; the wake-up to ask for, if it is now the only one.
    pub(crate) fn push(&mut self, packet: Packet, hop: u8, at: Instant) -> Option<Instant> {
        let jitter = if self.jitter.is_zero() {
            Duration::ZERO
        } else {
            self.rng.span(self.jitter)
        };
        // Order is kept: a packet never overtakes.
        self.last = self.last.max(at + self.delay + jitter);
        self.packets.push_back((self.last, packet));
        // Set in place: a byte written just before the move would hold the move up.
        if let Some((_, packet)) = self.packets.back_mut() {
            packet.hop = hop;
        }
        (self.packets.len() == 1).then_some(self.last)
    }

    /// The next packet that is due at `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Packet> {
        if self.packets.front()?.0 > now {
            return None;
        }
        self.packets.pop_front().map(|(_, packet)| packet)
    }

    /// When the next packet is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.packets.front().map(|(at, _)| *at)
    }

    /// Packets on the line.
    pub(crate) fn held(&self) -> u64 {
        self.packets.len() as u64
    }
}
