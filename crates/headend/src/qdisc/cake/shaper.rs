//! The deficit-mode shaper: it spaces packets at a rate, and saves nothing while it is idle.
//!
//! The next packet is due when the one before it would have left a line of this rate. After a
//! pause, the first packet leaves at once, and no burst follows it: there is no bucket of tokens.
//!
//! CAKE spaces all packets with one of these. Each tin has another one, which tells whether the tin
//! is below its threshold. That one may save the time of one packet, so that a tin whose turn comes
//! a little late reaches its threshold all the same.

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// When packets are due at a rate.
#[derive(Debug)]
pub(super) struct Pacer {
    rate: Rate,
    due: Instant,
    /// The time that it may save.
    savings: Duration,
    /// Numerator of the fraction of a nanosecond that `due` lacks, over the rate.
    rest: u64,
}

impl Pacer {
    /// A pacer whose first packet is due at once. The rate is above zero.
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            due: Instant::ZERO,
            savings: Duration::ZERO,
            rest: 0,
        }
    }

    /// A pacer that may save the time of so many bytes.
    pub(super) fn with_savings(rate: Rate, bytes: u64) -> Self {
        Self {
            savings: rate.time_for(bytes),
            ..Self::new(rate)
        }
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
    fn savings_are_the_time_of_some_bytes_at_most() {
        let mut pacer = Pacer::with_savings(Rate(8_000_000), 1500);
        pacer.charge(1000, at(0));
        pacer.charge(1000, at(1200));
        assert_eq!(pacer.due(), at(2000));
        pacer.charge(1000, at(9000));
        assert_eq!(pacer.due(), at(8500));
    }
}
