//! What the CMTS gives at regular times without a request: unsolicited grants, proactive grants and
//! polls.
//!
//! The n-th one has the nominal time first + n × interval. A grant must begin within the tolerated
//! jitter after its nominal time (MULPI §7.2.3).
//!
//! The nominal time alone decides which MAP a grant belongs to. It is the MAP whose interval
//! contains the first frame after the nominal time. If that interval is nearly over and half the
//! jitter reaches the next interval, it is the next MAP. A MAP that no modem needs is therefore not
//! made, and no state depends on it.

use std::ops::RangeInclusive;

use super::timing::UpstreamTiming;
use crate::time::{Duration, Instant};

/// What is given at each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeriodicKind {
    /// A grant that begins within its jitter.
    Grant {
        /// Its length.
        minislots: u64,
    },
    /// A request opportunity.
    Poll,
}

/// Grants or polls at regular times.
#[derive(Debug, Clone)]
pub struct Periodic {
    /// Index of the service flow.
    pub flow: usize,
    /// A grant or a poll.
    pub kind: PeriodicKind,
    /// Nominal time of the first one.
    pub first: Instant,
    /// Nominal interval.
    pub interval: Duration,
    /// Tolerated jitter.
    pub jitter: Duration,
    /// Number of grants at each time.
    pub times: u64,
    /// Time without activity of the flow after which nothing is given any more, until the flow is
    /// active again. `None`: this never happens.
    pub timeout: Option<Duration>,
    /// Nothing is given at this time and later.
    until: Instant,
    /// The next one that no MAP has handled.
    next: u64,
    /// The MAP that the next one belongs to, once it is known.
    next_map: u64,
}

/// Grants whose nominal times have passed, in MAPs that are not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unmade {
    /// Grants.
    pub grants: u64,
    /// Their minislots.
    pub minislots: u64,
}

/// A grant or poll that is due in a MAP interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The latest time at which it may begin.
    pub deadline: Instant,
    /// Index of the service flow.
    pub flow: usize,
    /// Its length.
    pub minislots: u64,
    /// The nominal time.
    pub nominal: Instant,
}

impl Periodic {
    /// Grants or polls from `first` on.
    pub fn new(
        flow: usize,
        kind: PeriodicKind,
        first: Instant,
        [interval, jitter]: [Duration; 2],
        times: u64,
    ) -> Self {
        assert!(!interval.is_zero(), "a regular grant has an interval");
        Self {
            flow,
            kind,
            first,
            interval,
            jitter,
            times,
            timeout: None,
            until: Instant::FAR_FUTURE,
            next: 0,
            next_map: 0,
        }
    }

    /// The same, as long as the flow is active. It counts as active at the first nominal time.
    #[must_use]
    pub fn while_active(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        if let Some(timeout) = timeout {
            self.until = self.first + timeout;
        }
        self
    }

    /// The flow is active at `at`. What was due until the flow counted as inactive, and belongs to
    /// MAPs that were not made, is returned as a number.
    pub fn note_activity(&mut self, at: Instant) -> u64 {
        let Some(timeout) = self.timeout else {
            return 0;
        };
        let mut missed = 0;
        if at >= self.until {
            missed = self.first_from(self.until).saturating_sub(self.next);
            self.next = self.next.max(self.first_from(at));
            self.next_map = 0;
        }
        self.until = self.until.max(at + timeout);
        missed * self.times
    }

    /// Whether both give the same equally often. Their nominal times may differ.
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind
            && (self.interval, self.jitter, self.times, self.timeout)
                == (other.interval, other.jitter, other.times, other.timeout)
    }

    /// Whether the `n`-th one is given: whether the flow is active at its nominal time.
    fn is_given(&self, n: u64) -> bool {
        self.nominal(n) < self.until
    }

    fn nominal(&self, n: u64) -> Instant {
        self.first + self.interval * n
    }

    /// The first one whose nominal time is `at` or later.
    fn first_from(&self, at: Instant) -> u64 {
        at.since(self.first)
            .as_nanos()
            .div_ceil(self.interval.as_nanos())
    }

    /// The MAP that the `n`-th one belongs to.
    fn map_of(&self, n: u64, timing: &UpstreamTiming) -> u64 {
        let frame = timing.next_frame(self.nominal(n));
        let map = frame.as_nanos() / timing.map_interval().as_nanos();
        let half = self.jitter / 2;
        let is_nearly_over = timing.allocation_start(map + 1).since(frame) < half;
        map + u64::from(is_nearly_over && timing.frame <= half)
    }

    /// One of the grants or polls at the `n`-th nominal time.
    fn due(&self, n: u64, minislots: u64) -> Due {
        let nominal = self.nominal(n);
        Due {
            deadline: nominal + self.jitter,
            flow: self.flow,
            minislots,
            nominal,
        }
    }

    /// Appends what is due in `map` to `due`. Returns the number of grants or polls of earlier MAPs
    /// that were not made. The calls must be in the order of MAPs.
    pub fn take_due(&mut self, map: u64, timing: &UpstreamTiming, due: &mut Vec<Due>) -> u64 {
        if self.next_map > map {
            return 0;
        }
        let mut n = self.first_in(map, timing);
        let missed = n.min(self.first_from(self.until)).saturating_sub(self.next);
        self.next_map = self.map_of(n, timing);
        while self.next_map == map && self.is_given(n) {
            let minislots = self.minislots(timing);
            due.extend((0..self.times).map(|_| self.due(n, minislots)));
            n += 1;
            self.next_map = self.map_of(n, timing);
        }
        self.next = n;
        missed * self.times
    }

    /// Minislots due in `map`. The calls must be in the order of MAPs.
    pub fn minislots_in(&self, map: u64, timing: &UpstreamTiming) -> u64 {
        let from = self.first_in(map, timing);
        let is_due = |n: &u64| self.map_of(*n, timing) == map && self.is_given(*n);
        let due = (from..).take_while(is_due);
        due.count() as u64 * self.times * self.minislots(timing)
    }

    /// The grants whose nominal time is before `now`, in MAPs that are not made.
    pub fn unmade(&self, now: Instant) -> Unmade {
        let PeriodicKind::Grant { minislots } = self.kind else {
            return Unmade::default();
        };
        let due = self.first_from(now.min(self.until));
        let grants = due.saturating_sub(self.next) * self.times;
        Unmade {
            grants,
            minislots: grants * minislots,
        }
    }

    /// Minislots of grants due in `map`: as [`Self::minislots_in`], but zero for polls.
    pub fn granted_in(&self, map: u64, timing: &UpstreamTiming) -> u64 {
        match self.kind {
            PeriodicKind::Grant { .. } => self.minislots_in(map, timing),
            PeriodicKind::Poll => 0,
        }
    }

    /// Minislots of a grant or poll.
    fn minislots(&self, timing: &UpstreamTiming) -> u64 {
        match self.kind {
            PeriodicKind::Grant { minislots } => minislots,
            PeriodicKind::Poll => timing.opportunity_minislots,
        }
    }

    /// The first one that no MAP has handled, in `map` or a later one.
    fn first_in(&self, map: u64, timing: &UpstreamTiming) -> u64 {
        // A grant belongs to the MAP of its nominal time, or to the next one.
        let earliest = self.first_from(timing.allocation_start(map.saturating_sub(2)));
        let mut n = self.next.max(earliest);
        while self.map_of(n, timing) < map {
            n += 1;
        }
        n
    }

    /// The first MAP from `from` on in which one is due; `None` if the flow counts as inactive by
    /// then.
    pub fn next_map(&self, from: u64, timing: &UpstreamTiming) -> Option<u64> {
        if self.next_map >= from && self.next > 0 {
            return self.is_given(self.next).then_some(self.next_map);
        }
        let n = self.first_in(from, timing);
        self.is_given(n).then(|| self.map_of(n, timing))
    }

    /// Time of the first poll at or after `at`. It is a frame boundary.
    pub fn next_poll(&self, at: Instant, timing: &UpstreamTiming) -> Instant {
        let mut n = self.first_from(at - timing.frame);
        while timing.next_frame(self.nominal(n)) < at {
            n += 1;
        }
        timing.next_frame(self.nominal(n))
    }
}

impl Due {
    /// The frames of `map` in which the grant may begin. The range is empty if they have passed.
    pub fn frames(&self, map: u64, timing: &UpstreamTiming) -> RangeInclusive<u64> {
        let start = timing.allocation_start(map);
        let frame = timing.frame.as_nanos();
        let first = self.nominal.since(start).as_nanos().div_ceil(frame);
        if self.deadline < start {
            // The grant is late already. It begins as soon as possible.
            return 0..=timing.frames_per_map;
        }
        first..=self.deadline.since(start).as_nanos() / frame
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::preset::Plant;
    use super::*;

    fn grants(first: u64, interval: u64, jitter: u64) -> Periodic {
        let [interval, jitter] = [interval, jitter].map(Duration::from_micros);
        let kind = PeriodicKind::Grant { minislots: 6 };
        Periodic::new(0, kind, Instant::from_nanos(first), [interval, jitter], 1)
    }

    fn due_in(periodic: &mut Periodic, maps: impl IntoIterator<Item = u64>) -> (Vec<Due>, u64) {
        let timing = Plant::docsis31().upstream_timing();
        let (mut due, mut missed) = (Vec::new(), 0);
        for map in maps {
            missed += periodic.take_due(map, &timing, &mut due);
        }
        (due, missed)
    }

    #[test]
    fn every_grant_falls_to_one_map() {
        let (due, missed) = due_in(&mut grants(300_000, 10_000, 2_000), 0..500);
        assert_eq!(missed, 0);
        // 500 MAPs of 2.025 ms. The last grant may belong to the MAP after them.
        assert!((101..=102).contains(&due.len()), "{}", due.len());
        for (n, due) in due.iter().enumerate() {
            assert_eq!(due.nominal.as_nanos(), 300_000 + n as u64 * 10_000_000);
        }
    }

    #[test]
    fn what_falls_to_maps_that_are_not_made_is_counted_when_the_next_is() {
        let mut periodic = grants(300_000, 10_000, 2_000);
        let (all, _) = due_in(&mut periodic.clone(), 0..500);
        let (seen, missed) = due_in(&mut periodic, [0, 250, 499]);
        assert_eq!(seen.len() as u64 + missed, all.len() as u64);
    }

    /// Grants every 10 ms, which stop 25 ms after the latest activity.
    fn active() -> Periodic {
        grants(0, 10_000, 2_000).while_active(Some(Duration::from_millis(25)))
    }

    fn millis(due: &[Due]) -> Vec<u64> {
        let nominal = |due: &Due| due.nominal.as_nanos() / 1_000_000;
        due.iter().map(nominal).collect()
    }

    #[test]
    fn grants_stop_without_activity_and_begin_again_with_it() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let timing = Plant::docsis31().upstream_timing();
        let mut periodic = active();
        let (due, missed) = due_in(&mut periodic, 0..30);
        assert_eq!((millis(&due), missed), (vec![0, 10, 20], 0));
        assert_eq!(periodic.next_map(30, &timing), None);
        assert_eq!(periodic.minislots_in(35, &timing), 0);
        // MAP 50 begins at 101.25 ms.
        assert_eq!(periodic.note_activity(timing.allocation_start(50)), 0);
        assert_eq!(periodic.next_map(50, &timing), Some(54));
        let (due, missed) = due_in(&mut periodic, 50..100);
        assert_eq!((millis(&due), missed), (vec![110, 120], 0));
        // Activity while the grants last extends them.
        periodic.note_activity(at(205));
        periodic.note_activity(at(215));
        let (due, _) = due_in(&mut periodic, 100..150);
        assert_eq!(millis(&due), [210, 220, 230]);
    }

    #[test]
    fn only_grants_of_active_times_are_missed() {
        let timing = Plant::docsis31().upstream_timing();
        // The grants at 0, 10 and 20 ms belong to MAPs that are not made.
        let mut periodic = active();
        let (due, missed) = due_in(&mut periodic, [90]);
        assert_eq!((due.len(), missed), (0, 3));
        let mut periodic = active();
        assert_eq!(periodic.note_activity(timing.allocation_start(50)), 3);
        let (due, missed) = due_in(&mut periodic, [90]);
        // Then those at 110 and 120 ms.
        assert_eq!((due.len(), missed), (0, 2));
    }

    #[test]
    fn polls_are_at_frame_boundaries_and_a_poll_just_missed_is_not_taken() {
        let timing = Plant::docsis31().upstream_timing();
        let jitter = Duration::from_millis(1);
        let interval = Duration::from_millis(20);
        let first = Instant::from_nanos(100_000);
        let polls = Periodic::new(0, PeriodicKind::Poll, first, [interval, jitter], 1);
        let first = polls.next_poll(Instant::ZERO, &timing);
        assert_eq!(first.as_nanos(), 135_000);
        assert_eq!(polls.next_poll(first, &timing), first);
        let second = polls.next_poll(first + Duration::from_nanos(1), &timing);
        assert_eq!(
            second.as_nanos(),
            149 * 135_000,
            "the first frame after 20.1 ms"
        );
    }

    proptest! {
        /// The MAP of a grant has a frame in which the grant may begin, if the jitter is at least
        /// one frame.
        #[test]
        fn the_map_of_a_grant_has_a_frame_within_its_jitter(
            first in 0_u64..50_000_000,
            interval in 500_u64..40_000,
            jitter in 136_u64..20_000,
        ) {
            let timing = Plant::docsis31().upstream_timing();
            let mut periodic = grants(first, interval, jitter);
            for map in 0..100 {
                let mut due = Vec::new();
                periodic.take_due(map, &timing, &mut due);
                for due in due {
                    let frames = due.frames(map, &timing);
                    prop_assert!(frames.start() <= frames.end());
                    prop_assert!(*frames.start() < timing.frames_per_map);
                    let start = timing.allocation_start(map) + timing.frame * *frames.start();
                    prop_assert!(start >= due.nominal && start <= due.deadline);
                }
            }
        }
    }
}
