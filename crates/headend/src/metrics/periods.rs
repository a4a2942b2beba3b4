//! Scoring periods: periods of equal length, each with a tally that stays open for a grace after
//! the period's end. The first period begins at the start of the stream, or some time before.
//!
//! A packet or frame counts in the period in which it was sent. Whether it arrives in time may be
//! known only later: the grace is the longest such time, after which the tally is closed. A period
//! that the stop of the application has cut short is not scored.

use crate::time::{Duration, Instant};

/// The tallies of the periods that are not scored yet.
#[derive(Debug)]
pub(crate) struct Periods<T> {
    length: Duration,
    grace: Duration,
    start: Instant,
    /// The part of the first period that was over at the start.
    over: Duration,
    stopped: Option<Instant>,
    /// The first period that is not scored. Period `k` is at index `k mod` the number of tallies.
    next: u64,
    tallies: Vec<T>,
}

impl<T: Default + Clone> Periods<T> {
    /// Periods of `length`, which is above zero, with a grace of `grace`.
    pub(crate) fn new(length: Duration, grace: Duration) -> Self {
        assert!(!length.is_zero(), "a period has a length");
        // The periods in their grace, and the present one.
        let open = grace.as_nanos().div_ceil(length.as_nanos()) + 1;
        Self {
            length,
            grace,
            start: Instant::ZERO,
            over: Duration::ZERO,
            stopped: None,
            next: 0,
            tallies: vec![T::default(); open as usize],
        }
    }

    /// The length of a period.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// Starts the first period, or continues it, shortened by `over`.
    pub(crate) fn start(&mut self, now: Instant, over: Duration) {
        (self.start, self.over) = (now, over);
    }

    /// The tally of what was sent at `sent_at`, unless it has been scored. The tallies that are
    /// [due](Self::due) must be taken first.
    pub(crate) fn tally(&mut self, sent_at: Instant) -> Option<&mut T> {
        let number = self.number(sent_at);
        let open = self.tallies.len() as u64;
        debug_assert!(number < self.next + open, "a tally that is due was left");
        (number >= self.next).then(|| &mut self.tallies[(number % open) as usize])
    }

    /// The tally of the first period whose grace is over, and the end of the period.
    pub(crate) fn due(&mut self, now: Instant) -> Option<(Instant, T)> {
        let ended = self.end(self.next);
        if now < ended + self.grace || self.stopped.is_some_and(|stopped| ended > stopped) {
            return None;
        }
        let place = (self.next % self.tallies.len() as u64) as usize;
        self.next += 1;
        Some((ended, std::mem::take(&mut self.tallies[place])))
    }

    /// Ends the last period. Returns when the last complete period is due, if it is not yet.
    pub(crate) fn stop(&mut self, now: Instant) -> Option<Instant> {
        self.stopped = Some(now);
        let ended = self.number(now);
        (ended > self.next).then(|| self.end(ended - 1) + self.grace)
    }

    /// The end of the period that contains `at`.
    pub(crate) fn end_of(&self, at: Instant) -> Instant {
        self.end(self.number(at))
    }

    /// The number of the period that contains `at`.
    fn number(&self, at: Instant) -> u64 {
        (at - self.start + self.over).as_nanos() / self.length.as_nanos()
    }

    fn end(&self, number: u64) -> Instant {
        let whole = Duration::from_nanos(self.length.as_nanos() * (number + 1));
        self.start + whole.saturating_sub(self.over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn periods(length: u64, grace: u64) -> Periods<u32> {
        let mut periods = Periods::new(Duration::from_millis(length), Duration::from_millis(grace));
        periods.start(at(1000), Duration::ZERO);
        periods
    }

    #[test]
    fn what_is_sent_counts_in_its_period_until_the_grace_is_over() {
        let mut periods = periods(100, 50);
        *periods.tally(at(1000)).expect("the first") += 1;
        *periods.tally(at(1099)).expect("the first") += 1;
        *periods.tally(at(1100)).expect("the second") += 10;
        assert_eq!(periods.due(at(1149)), None);
        assert_eq!(periods.due(at(1150)), Some((at(1100), 2)));
        assert_eq!(periods.due(at(1150)), None);
        assert_eq!(periods.tally(at(1099)), None);
        *periods.tally(at(1199)).expect("the second") += 10;
        assert_eq!(periods.due(at(1250)), Some((at(1200), 20)));
    }

    #[test]
    fn the_first_period_may_have_begun_before() {
        let mut periods = periods(100, 50);
        periods.start(at(1000), Duration::from_millis(70));
        *periods.tally(at(1029)).expect("the first") += 1;
        *periods.tally(at(1030)).expect("the second") += 10;
        assert_eq!(periods.end_of(at(1010)), at(1030));
        assert_eq!(periods.due(at(1080)), Some((at(1030), 1)));
        assert_eq!(periods.due(at(1180)), Some((at(1130), 10)));
    }

    #[test]
    fn a_grace_may_be_longer_than_a_period() {
        let mut periods = periods(100, 250);
        for ms in [1000, 1100, 1200, 1300] {
            *periods.tally(at(ms)).expect("open") += ms as u32;
        }
        assert_eq!(periods.due(at(1349)), None);
        for ms in [1000, 1100, 1200] {
            assert_eq!(
                periods.due(at(ms + 350)),
                Some((at(ms + 100), ms as u32)),
                "{ms}"
            );
        }
    }

    #[test]
    fn a_period_that_was_cut_short_is_not_scored_one_that_waits_is() {
        let mut periods = periods(100, 50);
        *periods.tally(at(1050)).expect("the first") += 1;
        assert_eq!(periods.stop(at(1120)), Some(at(1150)));
        assert_eq!(periods.due(at(1150)), Some((at(1100), 1)));
        assert_eq!(periods.due(at(9999)), None);
        assert_eq!(periods.stop(at(1120)), None);
    }
}
