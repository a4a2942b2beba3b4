//! The update times of a periodic control law: the multiples of its interval since time zero.
//!
//! An update comes before all other events at the same time: at each call, a law first tests
//! [`Updates::is_due`]. A law may skip updates and continue with a later multiple. Its updates then
//! still fall on the same times as without skipping.

use crate::time::{Duration, Instant};

/// The update times of one law.
#[derive(Debug)]
pub(crate) struct Updates {
    interval: Duration,
    next: Instant,
}

impl Updates {
    /// Update times of this interval. The first update is one interval after time zero.
    pub(crate) fn every(interval: Duration) -> Self {
        Self {
            interval,
            next: Instant::ZERO + interval,
        }
    }

    /// Checks the interval. A lower limit bounds the number of updates that must be made up after
    /// skipping.
    pub(crate) fn check(interval: Duration) -> Result<(), String> {
        if interval < SHORTEST_INTERVAL {
            return Err(format!(
                "update_interval must be at least {SHORTEST_INTERVAL}"
            ));
        }
        Ok(())
    }

    /// The time between two updates.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// When the next update is due.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Whether an update is due.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// Moves on to the next update, after one was made.
    pub(crate) fn advance(&mut self) {
        self.next += self.interval;
    }

    /// Skips all updates that are due, if they would change nothing.
    pub(crate) fn skip(&mut self, now: Instant) {
        let interval = self.interval.as_nanos();
        self.next = Instant::from_nanos((now.as_nanos() / interval + 1) * interval);
    }
}

const SHORTEST_INTERVAL: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn an_update_is_due_at_its_instant_and_then_one_interval_later() {
        let mut updates = Updates::every(Duration::from_millis(16));
        assert!(!updates.is_due(at(16) - Duration::from_nanos(1)));
        assert!(updates.is_due(at(16)));
        updates.advance();
        assert_eq!((updates.is_due(at(16)), updates.next()), (false, at(32)));
    }

    #[test]
    fn after_skipping_updates_fall_on_multiples_of_the_interval() {
        let mut updates = Updates::every(Duration::from_millis(16));
        updates.skip(at(100));
        assert_eq!(updates.next(), at(112));
        updates.skip(at(112));
        assert_eq!(updates.next(), at(128));
    }

    #[test]
    fn an_interval_below_a_tenth_of_a_millisecond_is_refused() {
        assert!(Updates::check(Duration::from_micros(99)).is_err());
        assert_eq!(Updates::check(Duration::from_micros(100)), Ok(()));
    }
}
