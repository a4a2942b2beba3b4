//! CoDel's schedule of drops (RFC 8289 §5.5 and §5.6), independent of where packets are tested.
//!
//! CoDel uses it when packets leave, with their sojourn time. CoDel-DT uses it when they arrive,
//! with their predicted delay.

use super::inverse_sqrt::{InverseSqrt, Root};
use crate::time::{Duration, Instant};

/// Checks that `target` is not longer than `interval` (RFC 8289 §4.2: the target is a small part of
/// the interval).
///
/// # Errors
///
/// A sentence that says what is wrong.
pub(super) fn check_target(target: Duration, interval: Duration) -> Result<(), String> {
    if interval.is_zero() {
        return Err("interval must be longer than zero".into());
    }
    if target > interval {
        return Err(format!(
            "target ({target}) must not be longer than interval ({interval})"
        ));
    }
    Ok(())
}

/// CoDel's state (RFC 8289 §5.2).
#[derive(Debug)]
pub(crate) struct DropSchedule {
    interval: Duration,
    /// When the delay will have been above the target for one interval; `None` while it is below.
    pub(super) first_above: Option<Instant>,
    /// When the next packet is dropped, in the dropping state.
    pub(super) drop_next: Instant,
    /// Drops since the dropping state was entered.
    pub(super) count: u64,
    /// `count` at the time the dropping state was last entered.
    pub(super) last_count: u64,
    pub(super) dropping: bool,
    root: Root,
}

impl DropSchedule {
    /// The state before the first packet.
    pub(crate) fn new(interval: Duration, inverse_sqrt: InverseSqrt) -> Self {
        Self {
            interval,
            root: Root::new(inverse_sqrt),
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// RFC 8289 §5.6, `dodequeue`: whether a packet may be dropped (`ok_to_drop`), which is the
    /// case once the delay has been too long for one interval.
    #[inline]
    pub(crate) fn is_standing(&mut self, is_excess: bool, now: Instant) -> bool {
        if !is_excess {
            self.first_above = None;
            return false;
        }
        now >= *(self.first_above).get_or_insert(now + self.interval)
    }

    /// Leaves the dropping state.
    #[inline]
    pub(crate) fn stop(&mut self) {
        self.dropping = false;
    }

    /// Whether a drop is due; for the dropping state only.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.drop_next
    }

    /// Counts a scheduled drop.
    pub(crate) fn count_drop(&mut self) {
        self.count += 1;
        self.root.follow(self.count);
    }

    /// RFC 8289 §5.6, `control_law`: the next drop comes `interval/√count` after the last one was
    /// due.
    pub(crate) fn move_on(&mut self) {
        self.drop_next += self.root.gap(self.interval, self.count);
    }

    /// RFC 8289 §5.5: enters the dropping state, with a first drop.
    pub(crate) fn enter(&mut self, now: Instant) {
        self.dropping = true;
        // If the last dropping state was recent, the count continues near the value that controlled
        // the queue then; `delta` is the number of drops it took to get there.
        let delta = self.count - self.last_count;
        let is_recent = now.since(self.drop_next) < self.interval * 16;
        if delta > 1 && is_recent {
            self.count = delta;
            self.root.follow(delta);
        } else {
            self.count = 1;
            self.root.restart();
        }
        self.last_count = self.count;
        self.drop_next = now;
        self.move_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Nanoseconds between the first drops, with an interval of 100 ms.
    fn gaps(inverse_sqrt: InverseSqrt, drops: usize) -> Vec<u64> {
        let mut schedule = DropSchedule::new(Duration::from_millis(100), inverse_sqrt);
        schedule.enter(at(0));
        let mut last = at(0);
        let mut next = || {
            let gap = schedule.drop_next - std::mem::replace(&mut last, schedule.drop_next);
            schedule.count_drop();
            schedule.move_on();
            gap.as_nanos()
        };
        (0..drops).map(|_| next()).collect()
    }

    #[test]
    fn excess_counts_after_an_interval_and_one_test_without_it_restarts_the_interval() {
        let mut schedule = DropSchedule::new(Duration::from_millis(100), InverseSqrt::Exact);
        assert!(!schedule.is_standing(true, at(5)));
        assert!(!schedule.is_standing(true, at(104)));
        assert!(schedule.is_standing(true, at(105)));
        assert!(!schedule.is_standing(false, at(106)));
        assert!(!schedule.is_standing(true, at(107)));
        assert!(schedule.is_standing(true, at(207)));
    }

    /// 100 ms/√k by hand; for Newton's method, from the 16-bit values of an independent script.
    #[test]
    fn the_gaps_shrink_with_the_root_that_the_method_computes() {
        assert_eq!(
            gaps(InverseSqrt::Exact, 4),
            [100_000_000, 70_710_678, 57_735_027, 50_000_000]
        );
        assert_eq!(
            gaps(InverseSqrt::Newton, 4),
            [99_998_474, 50_001_525, 56_250_000, 48_779_296]
        );
    }

    #[test]
    fn a_return_keeps_the_approximation_it_had() {
        let mut schedule = DropSchedule::new(Duration::from_millis(100), InverseSqrt::Newton);
        schedule.enter(at(0));
        for _ in 0..8 {
            schedule.count_drop();
            schedule.move_on();
        }
        let left_at = schedule.drop_next;
        schedule.enter(left_at);
        assert_eq!(
            schedule.count, 8,
            "nine drops, of which one began the last time"
        );
        let gap = schedule.drop_next - left_at;
        // One step from the value at 9, which is 21746, towards 2¹⁶/√8.
        assert_eq!(gap.as_nanos(), (100_000_000 * 23_041) >> 16);
    }
}
