//! The deficit-mode shaper: it spaces packets at a rate, and saves nothing while it is idle.
//!
//! The next packet is due when the one before it would have left a line of this rate. After a
//! pause, the first packet leaves at once, and no burst follows it: there is no bucket of tokens.
//!
//! CAKE spaces all packets with one of these. Each tin has another one, which tells whether the tin
//! is below its threshold. That one may save the time of one packet, so that a tin whose turn comes
//! a little late reaches its threshold all the same.

use crate::metrics::utilisation::LimitUse;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// When packets are due at a rate.
#[derive(Debug)]
pub(super) struct Pacer {
    rate: Rate,
    due: Instant,
    /// The bytes that it may save, and their time.
    saved: u64,
    savings: Duration,
    /// Numerator of the fraction of a nanosecond that `due` lacks, over the rate.
    rest: u64,
    /// Bytes that were charged.
    charged: u64,
    /// What the rates before this one could have let pass, in bits, and since when it is this one.
    before: f64,
    since: Instant,
}

impl Pacer {
    /// A pacer whose first packet is due at once. The rate is above zero.
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            due: Instant::ZERO,
            saved: 0,
            savings: Duration::ZERO,
            rest: 0,
            charged: 0,
            before: 0.0,
            since: Instant::ZERO,
        }
    }

    /// A pacer that may save the time of so many bytes.
    pub(super) fn with_savings(rate: Rate, bytes: u64) -> Self {
        Self {
            saved: bytes,
            savings: rate.time_for(bytes),
            ..Self::new(rate)
        }
    }

    /// Changes the rate from `now` on. What is due stays due when it was.
    pub(super) fn set_rate(&mut self, rate: Rate, now: Instant) {
        (self.before, self.since) = (self.sendable_until(now), now);
        (self.rate, self.rest) = (rate, 0);
        self.savings = rate.time_for(self.saved);
    }

    /// The bits that the rate could have let pass until `now`.
    fn sendable_until(&self, now: Instant) -> f64 {
        self.before + self.rate.0 as f64 * (now - self.since).as_secs_f64()
    }

    /// The use of the rate until `now`.
    pub(super) fn limit(&self, now: Instant) -> LimitUse {
        let passed = self.charged as f64 * 8.0;
        let mut limit = LimitUse::of_line(self.sendable_until(now), self.rate, passed);
        // A packet counts as a whole when it leaves, and is paid for until the next one is due.
        limit.ready -= self.rate.0 as f64 * self.due.since(now).as_secs_f64();
        limit
    }

    /// When the next packet is due.
    #[inline]
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Whether a packet is due.
    #[inline]
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due <= now
    }

    /// Counts bytes that leave, or are charged, at `now`.
    #[inline]
    pub(super) fn charge(&mut self, bytes: u64, now: Instant) {
        let earliest = now.as_nanos().saturating_sub(self.savings.as_nanos());
        if self.due.as_nanos() < earliest {
            (self.due, self.rest) = (Instant::from_nanos(earliest), 0);
        }
        self.charged += bytes;
        let bits_ns = bytes * 8_000_000_000 + self.rest;
        self.rest = bits_ns % self.rate.0;
        self.due += Duration::from_nanos(bits_ns / self.rate.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn packets_are_due_at_the_rate_without_an_error_that_grows() {
        let mut pacer = Pacer::new(Rate(7_000_000));
        for _ in 0..7_000_000 / 8 {
            pacer.charge(1, Instant::ZERO);
        }
        assert_eq!(pacer.due(), at(1_000_000));
    }

    #[test]
    fn a_pause_saves_nothing() {
        let mut pacer = Pacer::new(Rate(8_000_000));
        pacer.charge(1000, at(0));
        assert!(!pacer.is_due(at(999)) && pacer.is_due(at(1000)));
        pacer.charge(1000, at(5000));
        assert_eq!(pacer.due(), at(6000));
    }

    #[test]
    fn a_change_of_the_rate_counts_for_what_comes_next() {
        let mut pacer = Pacer::new(Rate(8_000_000));
        pacer.charge(1000, at(0));
        pacer.set_rate(Rate(4_000_000), at(0));
        assert_eq!(pacer.due(), at(1000));
        pacer.charge(1000, at(1000));
        assert_eq!(pacer.due(), at(3000));
    }

    #[test]
    fn a_rate_that_is_always_used_is_used_as_a_whole() {
        let mut pacer = Pacer::new(Rate(8_000_000));
        for packet in 0..10 {
            pacer.charge(1000, at(packet * 1000));
        }
        pacer.set_rate(Rate(4_000_000), at(10_000));
        pacer.charge(1000, at(10_000));
        let LimitUse {
            came,
            ready,
            passed,
            ..
        } = pacer.limit(at(11_000));
        assert_eq!((came, passed), (84_000.0, 88_000.0));
        assert!(
            (ready + 4000.0).abs() < 1.0,
            "a millisecond is paid for in advance: {ready}"
        );
    }

    #[test]
    fn savings_are_the_time_of_some_bytes_at_most() {
        let mut pacer = Pacer::with_savings(Rate(8_000_000), 1500);
        pacer.charge(1000, at(0));
        pacer.charge(1000, at(1200));
        assert_eq!(pacer.due(), at(2000));
        pacer.charge(1000, at(9000));
        assert_eq!(pacer.due(), at(8500));
    }
}
