//! The order of tins: a weighted round robin with two weights for each tin.
//!
//! A tin whose packets leave at less than its threshold has its *priority* weight, and one above it
//! has only its *share*. A tin thus passes the others while it keeps to its threshold, and whoever
//! marks too much gains nothing. No tin is held back: what others leave is used.
//!
//! tc-cake(8) describes the two weights, and compares with the threshold as the shaper does
//! ([`Pacer`]; here it may save the time of one packet). Measured: where all tins are overloaded,
//! each gets its threshold, and best effort the rest.
//!
//! Choices: the priority weight is 1 up to best effort, and four times as much for each tin above
//! it. The share is the threshold's. Turns are as short as possible: a tin that has sent owes its
//! bytes, and in each round its debt falls by its weight of that moment. The tin whose debt would
//! be paid first is next; of several, the one with the highest priority.

use super::scaling::MTU;
use super::shaper::Pacer;
use crate::time::Instant;
use crate::units::Rate;

/// A tin in the round robin.
#[derive(Debug)]
struct Entry {
    /// Tells whether the tin is below its threshold; `None` without a rate.
    pacer: Option<Pacer>,
    priority: f64,
    share: f64,
    /// Bytes that were sent and not yet paid for.
    debt: f64,
}

impl Entry {
    fn weight(&self, now: Instant) -> f64 {
        match &self.pacer {
            Some(pacer) if !pacer.is_due(now) => self.share,
            _ => self.priority,
        }
    }

    /// The rounds until the debt is paid.
    fn rounds(&self, now: Instant) -> f64 {
        self.debt / self.weight(now)
    }
}

/// The tins in order of priority, the lowest first.
#[derive(Debug)]
pub(super) struct RoundRobin {
    tins: Vec<Entry>,
}

impl RoundRobin {
    /// Tins with these thresholds, each with its share. Priority begins above `best_effort`.
    pub(super) fn new(tins: &[(Option<Rate>, f64)], best_effort: usize) -> Self {
        let entry = |(tin, &(threshold, share)): (usize, &(Option<Rate>, f64))| Entry {
            pacer: threshold.map(|rate| Pacer::with_savings(rate, MTU)),
            priority: 4_u32.pow(tin.saturating_sub(best_effort) as u32).into(),
            share,
            debt: 0.0,
        };
        Self {
            tins: tins.iter().enumerate().map(entry).collect(),
        }
    }

    /// Changes the thresholds of tins that have some.
    pub(super) fn set_thresholds(&mut self, thresholds: impl Iterator<Item = Rate>, now: Instant) {
        for (entry, rate) in self.tins.iter_mut().zip(thresholds) {
            if let Some(pacer) = &mut entry.pacer {
                pacer.set_rate(rate, now);
            }
        }
    }

    /// The next tin of those in which packets wait; `None` if no packet waits.
    #[inline]
    pub(super) fn choose(
        &mut self,
        now: Instant,
        is_waiting: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if self.tins.len() == 1 {
            return is_waiting(0).then_some(0);
        }
        let mut best: Option<(usize, f64)> = None;
        for (tin, entry) in self.tins.iter().enumerate().rev() {
            if is_waiting(tin) {
                let rounds = entry.rounds(now);
                if best.is_none_or(|(_, least)| rounds < least) {
                    best = Some((tin, rounds));
                }
            }
        }
        let (tin, rounds) = best?;
        for entry in &mut self.tins {
            entry.debt = (entry.debt - rounds * entry.weight(now)).max(0.0);
        }
        Some(tin)
    }

    /// Charges a tin for what it sends, or for what is dropped, at `now`.
    #[inline]
    pub(super) fn charge(&mut self, tin: usize, bytes: u64, now: Instant) {
        let entry = &mut self.tins[tin];
        entry.debt += bytes as f64;
        if let Some(pacer) = &mut entry.pacer {
            pacer.charge(bytes, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::cake::tins::Tins;

    const RATE: Rate = Rate(10_000_000);
    const BYTES: u64 = 1500;

    fn round_robin(tins: Tins, is_limited: bool) -> RoundRobin {
        let entries: Vec<_> = (tins.shares().iter())
            .map(|&(part, whole)| {
                let threshold = is_limited.then(|| Rate(RATE.0 * part / whole));
                (threshold, part as f64 / whole as f64)
            })
            .collect();
        RoundRobin::new(&entries, tins.best_effort())
    }

    /// The shares of the tins of 16 000 packets, while packets wait in these.
    fn shares(tins: Tins, is_limited: bool, waiting: &[usize]) -> Vec<f64> {
        serve(&mut round_robin(tins, is_limited), waiting)
    }

    /// The shares of the tins of 16 000 packets, while packets wait in these.
    fn serve(order: &mut RoundRobin, waiting: &[usize]) -> Vec<f64> {
        let mut counts = vec![0.0; order.tins.len()];
        let mut now = Instant::ZERO;
        for _ in 0..16_000 {
            let tin = order
                .choose(now, |tin| waiting.contains(&tin))
                .expect("packets wait");
            counts[tin] += 1.0 / 16_000.0;
            order.charge(tin, BYTES, now);
            now += RATE.time_for(BYTES);
        }
        counts
    }

    #[track_caller]
    fn check(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 0.005;
        assert!(
            found.iter().zip(expected).all(is_near),
            "{found:?} for {expected:?}"
        );
    }

    /// As measured in a Linux 6.1.
    #[test]
    fn with_all_overloaded_each_gets_its_threshold_and_best_effort_the_rest() {
        check(
            &shares(Tins::Diffserv3, true, &[0, 1, 2]),
            &[0.0625, 0.6875, 0.25],
        );
        check(
            &shares(Tins::Diffserv4, true, &[0, 1, 2, 3]),
            &[0.0625, 0.1875, 0.5, 0.25],
        );
    }

    #[test]
    fn what_others_leave_is_used() {
        check(&shares(Tins::Diffserv3, true, &[0]), &[1.0, 0.0, 0.0]);
        check(&shares(Tins::Diffserv3, true, &[1, 2]), &[0.0, 0.75, 0.25]);
        check(&shares(Tins::Besteffort, true, &[0]), &[1.0]);
    }

    #[test]
    fn without_a_rate_the_priorities_are_the_shares() {
        check(
            &shares(Tins::Diffserv3, false, &[0, 1, 2]),
            &[1.0 / 6.0, 1.0 / 6.0, 4.0 / 6.0],
        );
    }

    #[test]
    fn a_tin_below_its_threshold_is_next_whatever_waits_elsewhere() {
        let mut order = round_robin(Tins::Diffserv3, true);
        let mut now = Instant::ZERO;
        for _ in 0..100 {
            assert_eq!(order.choose(now, |tin| tin == 1), Some(1));
            order.charge(1, BYTES, now);
            now += RATE.time_for(BYTES);
        }
        assert_eq!(order.choose(now, |tin| tin != 0), Some(2));
    }

    #[test]
    fn thresholds_that_change_are_those_of_what_comes_next() {
        let with = |thresholds: Rate| {
            let mut order = round_robin(Tins::Diffserv3, true);
            let shares = Tins::Diffserv3.shares().into_iter();
            let thresholds = shares.map(|(part, whole)| Rate(thresholds.0 * part / whole));
            order.set_thresholds(thresholds, Instant::ZERO);
            serve(&mut order, &[0, 1, 2])
        };
        // Half the rate at which packets leave: what is above all thresholds goes by shares too.
        let half = with(Rate(RATE.0 / 2));
        assert!(half[1] > 0.7 && half[2] < 0.24, "{half:?}");
        check(&with(RATE), &[0.0625, 0.6875, 0.25]);
    }

    #[test]
    fn a_tin_without_a_threshold_gets_none() {
        let mut order = round_robin(Tins::Diffserv3, false);
        order.set_thresholds([RATE; 3].into_iter(), Instant::ZERO);
        assert!(order.tins.iter().all(|entry| entry.pacer.is_none()));
    }
}
