//! An aggregate service flow with low latency: what its two service flows have in common, at the
//! modem and at the CMTS.
//!
//! Packets of the low-latency flow wait in a queue with [immediate
//! AQM](crate::qdisc::immediate_aqm), those of the classic flow in one with the coupled DOCSIS-PIE.
//! The two flows share the rate of the aggregate. While both have packets, the low-latency flow
//! gets `weight`/256 of it.
//!
//! Source: CM-SP-MULPIv3.1, Annexes M and O; `docs/models/low_latency.md` lists the rules and where
//! each is from.

use crate::link::token_bucket::Limits;
use crate::queue::{Coupling, Shaper};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// An aggregate service flow with low latency: a classic and a low-latency service flow of one
/// modem that share rate limits. The flows have limits of their own besides.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// Index of the classic flow among all service flows of the direction.
    pub classic: usize,
    /// Index of the low-latency flow.
    pub low: usize,
    /// The limits that both flows share: AMSR, peak rate and burst (TLVs 70 and 71).
    pub limits: Limits,
    /// Scheduling weight (TLV 42.6): the share of the low-latency flow, in 256ths, while both flows
    /// have packets.
    pub weight: u8,
    /// Coupling factor k (TLV 42.5): the low-latency queue is marked with k times the base
    /// probability of the classic queue. Zero: the queues are not coupled.
    pub coupling: f64,
}

/// A quantity of the classic flow and of the low-latency flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pair {
    /// The classic flow's.
    pub classic: u64,
    /// The low-latency flow's.
    pub low: u64,
}

impl Pair {
    /// Of both flows together.
    pub fn sum(self) -> u64 {
        self.classic + self.low
    }
}

/// The scheduling weight of an aggregate, with the remainder of its divisions.
#[derive(Debug, Clone, Copy)]
pub struct Weight {
    /// Share of the low-latency flow in 256ths.
    weight: u8,
    /// What rounding down has kept from the low-latency flow so far, in 256ths of a unit.
    ///
    /// Deviation: docsis-ns3 forgets it, and gives the low-latency flow less than its weight. The
    /// fewer minislots a MAP has, the larger is the difference.
    kept: u64,
}

impl Weight {
    /// A weight in 256ths.
    pub fn new(weight: u8) -> Self {
        Self { weight, kept: 0 }
    }

    /// The weight in 256ths.
    pub fn get(self) -> u8 {
        self.weight
    }

    /// Divides `available` units among flows that want so many. Of these, `guaranteed` units are
    /// the low-latency flow's in any case (proactive grants).
    ///
    /// The low-latency flow has `weight`/256 of what both get. What one of the flows does not want
    /// of its part is the other's.
    pub fn split(&mut self, available: u64, wanted: Pair, guaranteed: u64) -> Pair {
        let low = wanted.low.max(guaranteed);
        let all = available.min(wanted.classic + low).max(guaranteed);
        let weighted = all * u64::from(self.weight) + self.kept;
        let share = weighted / 256;
        let part = share.max(guaranteed).min(all);
        match (wanted.classic > all - part, low > part) {
            (true, true) => {
                // What is guaranteed beyond the weight does not reduce later parts.
                self.kept = if share >= guaranteed {
                    weighted % 256
                } else {
                    0
                };
                Pair {
                    classic: all - part,
                    low: part,
                }
            }
            (true, false) => Pair {
                classic: wanted.classic.min(all - low),
                low,
            },
            (false, _) => Pair {
                classic: wanted.classic,
                low: low.min(all - wanted.classic),
            },
        }
    }
}

/// The interval over which the rate of the low-latency flow is measured: that of an update of
/// DOCSIS-PIE.
const INTERVAL: Duration = Duration::from_millis(16);

/// Measures what has arrived at a low-latency queue in the latest interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Number of the current interval.
    interval: u64,
    /// Bytes that arrived in it so far.
    bytes: u64,
    /// Bytes that arrived in the interval before.
    latest: u64,
}

impl Measured {
    /// `bytes` have entered the low-latency queue.
    pub fn count(&mut self, bytes: u64, now: Instant) {
        self.advance(now);
        self.bytes += bytes;
    }

    /// The rate in the latest interval that is over.
    pub fn rate(&mut self, now: Instant) -> Rate {
        self.advance(now);
        Rate((u128::from(self.latest) * 8_000_000_000 / u128::from(INTERVAL.as_nanos())) as u64)
    }

    fn advance(&mut self, now: Instant) {
        let interval = now.as_nanos() / INTERVAL.as_nanos();
        if interval > self.interval {
            self.latest = if interval == self.interval + 1 {
                self.bytes
            } else {
                0
            };
            self.bytes = 0;
            self.interval = interval;
        }
    }
}

/// The maximum sustained rates of an aggregate and of its two flows. Zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// AMSR.
    pub aggregate: Rate,
    /// Of the classic flow (`MSR_C`).
    pub classic: Rate,
    /// Of the low-latency flow (`MSR_L`).
    pub low: Rate,
}

impl Rates {
    /// The rate by which the low-latency queue estimates its delay (`MAX_RATE` of Annex N): the
    /// smaller limit. Zero: there is none.
    pub fn of_low(self) -> Rate {
        match (self.aggregate, self.low) {
            (Rate(0), rate) | (rate, Rate(0)) => rate,
            (aggregate, low) => aggregate.min(low),
        }
    }

    /// The rate by which the classic queue estimates its delay (Annex M): what the low-latency flow
    /// leaves of the aggregate's rate at the rate that was `measured`, at most its own limit. Zero:
    /// the aggregate has no limit.
    pub fn of_classic(self, weight: u8, measured: Rate) -> Rate {
        if self.aggregate == Rate(0) {
            return Rate(0);
        }
        let weighted = u128::from(self.aggregate.0) * u128::from(weight) / 256;
        let mut low = Rate(weighted as u64).min(measured);
        if self.low > Rate(0) {
            low = low.min(self.low);
        }
        let left = Rate(self.aggregate.0 - low.0);
        assert!(
            left > Rate(0),
            "a weight below 256 leaves the classic flow a part"
        );
        match self.classic {
            Rate(0) => left,
            own => left.min(own),
        }
    }
}

/// A queue drains at this rate, and no tokens are saved. Zero is no limit.
#[derive(Debug, Clone, Copy)]
pub struct Steady(pub Rate);

impl Shaper for Steady {
    fn sustained(&self) -> Rate {
        self.0
    }

    fn peak(&self) -> Rate {
        self.0
    }

    fn tokens(&self, _now: Instant) -> u64 {
        0
    }
}

/// An aggregate at its queues: the flows, their rates and the coupling.
#[derive(Debug, Clone, Copy)]
pub struct Coupled {
    /// Index of the classic flow.
    pub classic: usize,
    /// Index of the low-latency flow.
    pub low: usize,
    rates: Rates,
    weight: u8,
    /// Coupling factor k.
    factor: f64,
}

impl Coupled {
    /// An aggregate, with the limits of its classic and of its low-latency flow.
    pub fn new(aggregate: &Aggregate, [classic, low]: [Limits; 2]) -> Self {
        Self {
            classic: aggregate.classic,
            low: aggregate.low,
            rates: Rates {
                aggregate: sustained(aggregate.limits),
                classic: sustained(classic),
                low: sustained(low),
            },
            weight: aggregate.weight,
            factor: aggregate.coupling,
        }
    }

    /// Sets the limits of the aggregate.
    pub fn set_limits(&mut self, limits: Limits) {
        self.rates.aggregate = sustained(limits);
    }

    /// Sets the low-latency flow's own limits.
    pub fn set_low_limits(&mut self, limits: Limits) {
        self.rates.low = sustained(limits);
    }

    /// The rate by which the low-latency queue estimates its delay.
    pub fn low_rate(&self) -> Rate {
        self.rates.of_low()
    }

    /// The rate by which the classic queue estimates its delay, while packets arrive at the
    /// low-latency queue at the rate that was `measured`.
    pub fn classic_rate(&self, measured: Rate) -> Rate {
        self.rates.of_classic(self.weight, measured)
    }

    /// The coupled marking probability, from the base probability of the classic queue's control
    /// law, if it has one.
    pub fn probability(&self, base: Option<f64>) -> f64 {
        base.map_or(0.0, |base| (self.factor * base).min(1.0))
    }
}

/// The sustained rate. Zero: there is no limit.
fn sustained(limits: Limits) -> Rate {
    limits.sustained.unwrap_or(Rate(0))
}

/// What the queue of one flow of an aggregate sees of the other flow.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// The rate by which the queue estimates its delay.
    rate: Steady,
    /// Of the low-latency flow: what its queue gets from the classic queue, and what arrives there.
    low: Option<(Coupling, Measured)>,
}

impl Member {
    /// A classic flow.
    pub fn classic(rate: Rate) -> Self {
        Self {
            rate: Steady(rate),
            low: None,
        }
    }

    /// A low-latency flow.
    pub fn low(rate: Rate, coupling: Coupling) -> Self {
        Self {
            rate: Steady(rate),
            low: Some((coupling, Measured::default())),
        }
    }

    /// Sets the rate by which the queue estimates its delay.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = Steady(rate);
    }

    /// Sets the probability with which the classic queue has the low-latency queue mark.
    pub fn set_probability(&mut self, probability: f64) {
        if let Some((coupling, _)) = &mut self.low {
            coupling.probability = probability;
        }
    }

    /// `bytes` have entered its queue.
    pub fn arrived(&mut self, bytes: u64, now: Instant) {
        if let Some((_, measured)) = &mut self.low {
            measured.count(bytes, now);
        }
    }

    /// The rate of a low-latency flow in the latest interval; zero for a classic flow.
    pub fn measured(&mut self, now: Instant) -> Rate {
        (self.low.as_mut()).map_or(Rate(0), |(_, measured)| measured.rate(now))
    }

    /// The queue's view of the rate.
    pub fn shaper(&self) -> &dyn Shaper {
        &self.rate
    }

    /// The queue's view of the classic queue.
    pub fn coupling(&self) -> Option<Coupling> {
        self.low.map(|(coupling, _)| coupling)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MBIT: u64 = 1_000_000;

    fn split(available: u64, classic: u64, low: u64, guaranteed: u64) -> (u64, u64) {
        let pair = Weight::new(230).split(available, Pair { classic, low }, guaranteed);
        (pair.low, pair.classic)
    }

    #[test]
    fn a_map_is_divided_by_the_weight() {
        for (minislots, expected) in [
            (1, (0, 1)),
            (2, (1, 1)),
            (10, (8, 2)),
            (100, (89, 11)),
            (1645, (1477, 168)),
        ] {
            assert_eq!(split(minislots, 5000, 5000, 0), expected, "{minislots}");
        }
    }

    #[test]
    fn what_one_flow_does_not_want_is_the_others() {
        assert_eq!(split(100, 5000, 30, 0), (30, 70));
        assert_eq!(split(100, 4, 5000, 0), (96, 4));
        assert_eq!(split(100, 20, 30, 0), (30, 20));
        assert_eq!(split(0, 20, 30, 0), (0, 0));
    }

    #[test]
    fn a_guaranteed_part_is_the_low_latency_flows() {
        assert_eq!(split(100, 5000, 3, 20), (20, 80));
        assert_eq!(split(100, 5000, 5000, 95), (95, 5));
        assert_eq!(split(100, 5000, 5000, 20), (89, 11));
        assert_eq!(split(10, 5000, 0, 20), (20, 0));
    }

    #[test]
    fn a_part_of_less_than_one_unit_is_not_lost() {
        let mut weight = Weight::new(5);
        let wanted = Pair {
            classic: 1000,
            low: 1000,
        };
        let sum: u64 = (0..256).map(|_| weight.split(3, wanted, 0).low).sum();
        assert_eq!(sum, 3 * 5);
    }

    #[test]
    fn the_remainder_is_not_lost() {
        let mut weight = Weight::new(230);
        let wanted = Pair {
            classic: 1000,
            low: 1000,
        };
        let sum: u64 = (0..256).map(|_| weight.split(7, wanted, 0).low).sum();
        assert_eq!(sum, 7 * 230);
    }

    #[test]
    fn the_classic_queue_has_what_the_low_latency_flow_leaves() {
        let rates = |low, classic| Rates {
            aggregate: Rate(50 * MBIT),
            classic: Rate(classic),
            low: Rate(low),
        };
        let delay = |rates: Rates, measured| {
            let rate = rates.of_classic(230, Rate(measured));
            rate.time_for_or_zero(62_500).as_nanos()
        };
        assert_eq!(delay(rates(0, 0), 0), 10_000_000);
        assert_eq!(delay(rates(0, 0), 25 * MBIT), 20_000_000);
        assert_eq!(delay(rates(0, 0), 50 * MBIT) / 10_000, 9846);
        assert_eq!(delay(rates(0, 20 * MBIT), 0), 25_000_000);
        assert_eq!(delay(rates(10 * MBIT, 0), 50 * MBIT), 12_500_000);
        let unlimited = Rates {
            aggregate: Rate(0),
            ..rates(0, 0)
        };
        assert_eq!(delay(unlimited, MBIT), 0);
    }

    #[test]
    fn the_rate_of_the_low_latency_queue_is_the_smaller_limit() {
        let rate = |aggregate, low| {
            let rates = Rates {
                aggregate: Rate(aggregate),
                classic: Rate(0),
                low: Rate(low),
            };
            rates.of_low().0
        };
        assert_eq!(
            [
                rate(50, 20),
                rate(20, 50),
                rate(50, 0),
                rate(0, 20),
                rate(0, 0)
            ],
            [20, 20, 50, 20, 0]
        );
    }

    #[test]
    fn a_rate_is_that_of_the_latest_whole_interval() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut measured = Measured::default();
        measured.count(50_000, at(3));
        assert_eq!(measured.rate(at(15)), Rate(0));
        assert_eq!(measured.rate(at(16)), Rate(25 * MBIT));
        measured.count(25_000, at(20));
        assert_eq!(measured.rate(at(31)), Rate(25 * MBIT));
        assert_eq!(measured.rate(at(32)), Rate(12_500_000));
        assert_eq!(measured.rate(at(64)), Rate(0));
    }

    proptest! {
        /// A division gives no more than there is, nor more than is wanted, and wastes nothing.
        #[test]
        fn nothing_is_wasted(
            steps in prop::collection::vec(
                (0_u64..3000, 0_u64..3000, 0_u64..3000, 0_u64..50),
                1..50,
            ),
            weight in 1_u8..=255,
        ) {
            let mut weight = Weight::new(weight);
            for (available, classic, low, guaranteed) in steps {
                let given = weight.split(available, Pair { classic, low }, guaranteed);
                let most = available.max(guaranteed);
                prop_assert_eq!(given.sum(), most.min(classic + low.max(guaranteed)));
                prop_assert!(given.classic <= classic);
                prop_assert!(given.low <= low.max(guaranteed) && given.low >= guaranteed);
            }
        }
    }
}
