//! When a periodic law is due: at the multiples of its interval since time zero.
//!
//! An update comes before whatever else happens at its instant: a law asks [`Updates::is_due`] first at every call. A law that rests for a while skips
//! to the next multiple, so that updates fall on the same instants whether it rested or not.

use crate::time::{Duration, Instant};

/// The updates of one law.
#[derive(Debug)]
pub(crate) struct Updates {
    interval: Duration,
    next: Instant,
}

impl Updates {
    /// The first is one interval after time zero.
    pub(crate) fn every(interval: Duration) -> Self {
        Self {
            interval,
            next: Instant::ZERO + interval,
        }
    }

    /// Bounds the updates to be made up after a rest.
    pub(crate) fn check(interval: Duration) -> Result<(), String> {
        if interval < SHORTEST_INTERVAL {
            return Err(format!(
                "update_interval must be at least {SHORTEST_INTERVAL}"
            ));
        }
        Ok(())
    }

    /// From one to the next.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// When the next is due.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Whether one is due by now.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// One was made.
    pub(crate) fn advance(&mut self) {
        self.next += self.interval;
    }

    /// All those due by now would change nothing.
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
    fn a_rest_ends_on_the_grid() {
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
