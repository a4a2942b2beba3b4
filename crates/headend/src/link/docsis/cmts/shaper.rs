//! The rate limits of a service flow at the CMTS: how many requested bytes a MAP may grant.
//!
//! MULPI Annex C requires both ends to enforce the limits. The modem requests no more than they
//! allow (`token_bucket.rs`). The CMTS does not trust the modem and defers grants that would exceed
//! them.
//!
//! The bound is the same at both ends. Over any `n` consecutive MAP intervals of length *T*, the
//! granted bytes are at most `R·n·T + B` and at most `P·n·T + 1522`. A request that finds too few
//! tokens stays outstanding, and later MAPs grant the rest of it.
//!
//! The limits count bytes of MAC PDUs, but a request also counts MAC headers. When the CMTS makes
//! the MAP, it takes tokens for all granted bytes. Once it knows what the burst carried, it returns
//! the tokens of headers and of unused bytes.

use crate::link::token_bucket::{Inflow, Limits};
use crate::metrics::utilisation::LimitUse;
use crate::time::{Duration, Instant};

/// Tokens are counted in 10⁻⁹ bit. A rate in bit/s times nanoseconds is then a whole number of
/// tokens.
const PER_BYTE: i128 = super::BYTE as i128;

/// One token bucket of the CMTS for a service flow.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Bit/s.
    rate: u64,
    /// Largest number of tokens between two MAPs.
    depth: i128,
    tokens: i128,
}

impl Bucket {
    /// Tokens added in `time`.
    fn brought(&self, time: Duration) -> i128 {
        i128::from(self.rate) * i128::from(time.as_nanos())
    }

    /// Tokens that a MAP may use: the tokens in the bucket, and those added during its own
    /// interval.
    fn of_map(&self, times: Times) -> i128 {
        (self.tokens + self.brought(times.before)).min(self.depth) + self.brought(times.within)
    }
}

/// The times in which a MAP gets tokens: since the MAP before, and within its own interval.
#[derive(Debug, Clone, Copy)]
struct Times {
    before: Duration,
    within: Duration,
}

/// The token buckets of one upstream service flow at the CMTS.
#[derive(Debug, Clone)]
pub struct Shaper {
    buckets: [Option<Bucket>; 2],
    /// Time between two additions of tokens. Zero: tokens are added continuously.
    tick: Duration,
    /// Time up to which tokens have been added.
    until: Instant,
    inflow: Inflow,
}

impl Shaper {
    /// Full buckets.
    pub fn new(limits: Limits, tick: Duration) -> Self {
        let mut shaper = Self {
            buckets: [None; 2],
            tick,
            until: Instant::ZERO,
            inflow: Inflow::NONE,
        };
        shaper.change(limits);
        shaper
    }

    /// Sets other limits from now on. Tokens above the new depth are lost.
    pub fn change(&mut self, limits: Limits) {
        let until = self.until.last_tick(self.tick);
        let are_set = [limits.sustained.is_some(), limits.peak.is_some()];
        (self.inflow).set(until, self.tick, self.rates(), are_set);
        let bounds = [
            limits.sustained.map(|rate| (rate, limits.burst)),
            limits.peak.map(|rate| (rate, limits.peak_burst)),
        ];
        for (bucket, bound) in self.buckets.iter_mut().zip(bounds) {
            *bucket = bound.map(|(rate, depth)| {
                let depth = i128::from(depth) * PER_BYTE;
                Bucket {
                    rate: rate.0,
                    depth,
                    tokens: bucket.map_or(depth, |bucket| bucket.tokens.min(depth)),
                }
            });
        }
    }

    /// Requested bytes, of `wanted`, that a MAP from `start` to `end` may grant. A request that
    /// must not be cut gets all or nothing: all of it once each bucket holds enough tokens or is
    /// full.
    pub fn allowed(&self, wanted: u64, is_cut: bool, [start, end]: [Instant; 2]) -> u64 {
        let times = self.times([start, end]);
        let mut allowed = wanted;
        for bucket in self.buckets.iter().flatten() {
            let tokens = bucket.of_map(times);
            if tokens >= i128::from(allowed) * PER_BYTE {
                continue;
            }
            if is_cut {
                allowed = (tokens.max(0) / PER_BYTE) as u64;
            } else if tokens < bucket.depth {
                return 0;
            }
        }
        allowed
    }

    /// A MAP from `start` to `end` grants `bytes`.
    pub fn spend(&mut self, bytes: u64, [start, end]: [Instant; 2]) {
        let times = self.times([start, end]);
        for bucket in self.buckets.iter_mut().flatten() {
            let left = bucket.of_map(times) - i128::from(bytes) * PER_BYTE;
            bucket.tokens = left.min(bucket.depth);
        }
        self.until = self.until.max(end);
    }

    /// Corrects the tokens after a burst of `pdu` bytes of PDU, in grants of `credit` requested
    /// bytes.
    pub fn settle(&mut self, credit: u64, pdu: u64) {
        if pdu <= credit {
            self.give_back(credit - pdu);
        } else {
            self.take(pdu - credit);
        }
    }

    /// Returns the tokens of granted bytes that were not PDU bytes.
    fn give_back(&mut self, bytes: u64) {
        for bucket in self.buckets.iter_mut().flatten() {
            bucket.tokens = (bucket.tokens + i128::from(bytes) * PER_BYTE).min(bucket.depth);
        }
    }

    /// Takes the tokens of `bytes` of PDU that an unsolicited grant carried.
    fn take(&mut self, bytes: u64) {
        for bucket in self.buckets.iter_mut().flatten() {
            bucket.tokens -= i128::from(bytes) * PER_BYTE;
        }
    }

    /// The use of both limits until `now`, by which time grants had carried so many bits; `None`
    /// for a limit that is missing.
    pub fn limits(&self, now: Instant, passed: f64) -> [Option<LimitUse>; 2] {
        let [at, until] = [now, self.until].map(|time| time.last_tick(self.tick));
        let elapsed = at.since(until);
        let came = (self.inflow).until(at.max(until), self.tick, self.rates());
        std::array::from_fn(|index| {
            let bucket = self.buckets[index]?;
            let ready = (bucket.tokens + bucket.brought(elapsed)).min(bucket.depth);
            Some(LimitUse {
                came: came[index],
                ready: ready as f64 / 1e9,
                passed,
                number: self.inflow.made()[index],
            })
        })
    }

    /// The rates of both buckets in bit/s.
    fn rates(&self) -> [Option<u64>; 2] {
        self.buckets.map(|bucket| bucket.map(|bucket| bucket.rate))
    }

    fn times(&self, [start, end]: [Instant; 2]) -> Times {
        let at = |at: Instant| at.last_tick(self.tick);
        let until = self.until.max(start);
        Times {
            before: at(until).since(at(self.until)),
            within: at(end).since(at(until)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Rate;

    const T: u64 = 2_000_000;

    fn limits(sustained: u64, burst: u64, peak: Option<u64>) -> Limits {
        Limits {
            sustained: Some(Rate(sustained)),
            burst,
            peak: peak.map(Rate),
            peak_burst: 1522,
        }
    }

    fn map(n: u64) -> [Instant; 2] {
        [n, n + 1].map(|n| Instant::from_nanos(n * T))
    }

    /// Bytes that each of `maps` grants while the backlog is unlimited.
    fn granted(shaper: &mut Shaper, maps: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let grant = |n| {
            let bytes = shaper.allowed(1 << 40, true, map(n));
            shaper.spend(bytes, map(n));
            bytes
        };
        maps.into_iter().map(grant).collect()
    }

    #[test]
    fn a_backlog_gets_the_burst_and_then_the_sustained_rate_in_every_map() {
        // 8 Mb/s are 2000 B in 2 ms.
        let mut shaper = Shaper::new(limits(8_000_000, 3044, None), Duration::ZERO);
        assert_eq!(granted(&mut shaper, 0..4), [5044, 2000, 2000, 2000]);
        assert_eq!(
            granted(&mut shaper, [5]),
            [4000],
            "the MAP left out is saved up"
        );
        assert_eq!(granted(&mut shaper, [100]), [5044], "up to the burst");
    }

    #[test]
    fn no_map_holds_more_than_the_peak_rate_brings_and_a_packet() {
        let limits = limits(8_000_000, 20_000, Some(16_000_000));
        let mut shaper = Shaper::new(limits, Duration::ZERO);
        let maps = granted(&mut shaper, 0..12);
        assert_eq!(maps[..3], [4000 + 1522, 4000, 4000]);
        // 20000 + 2000·n = 1522 + 4000·n at n = 9.2.
        assert_eq!(maps[9..], [2478, 2000, 2000]);
    }

    #[test]
    fn tokens_that_come_in_ticks_come_all_at_once() {
        let tick = Duration::from_millis(10);
        let mut shaper = Shaper::new(limits(8_000_000, 3044, None), tick);
        let maps = granted(&mut shaper, 0..12);
        assert_eq!(maps[..6], [3044, 0, 0, 0, 10_000, 0]);
        assert_eq!(maps[6..], [0, 0, 0, 10_000, 0, 0]);
    }

    #[test]
    fn a_burst_that_is_not_cut_waits_for_all_its_tokens_or_for_full_buckets() {
        let mut shaper = Shaper::new(limits(800_000, 1522, None), Duration::ZERO);
        // A MAP interval adds 200 B. A burst larger than the bucket is granted if the bucket is
        // full.
        assert_eq!(shaper.allowed(3000, false, map(0)), 3000);
        shaper.spend(3000, map(0));
        let waits = (1..30).take_while(|&n| shaper.allowed(1000, false, map(n)) == 0);
        assert_eq!(
            waits.count(),
            11,
            "1278 B too many and 1000 B at 200 B in a MAP"
        );
    }

    #[test]
    fn headers_and_empty_bytes_do_not_count() {
        let mut shaper = Shaper::new(limits(8_000_000, 3044, None), Duration::ZERO);
        granted(&mut shaper, 0..3);
        shaper.give_back(100);
        assert_eq!(granted(&mut shaper, [3]), [2100]);
    }

    proptest! {
        /// The limits hold over every number of consecutive MAPs, whatever the requests are.
        #[test]
        fn grants_keep_both_limits_over_every_number_of_maps(
            sustained in 100_000_u64..300_000_000,
            extra in 0_u64..300_000_000,
            burst in 1522_u64..200_000,
            wanted in prop::collection::vec(0_u64..300_000, 1..60),
        ) {
            let limits = limits(sustained, burst, Some(sustained + extra));
            let mut shaper = Shaper::new(limits, Duration::ZERO);
            let mut sums = vec![0_u64];
            for (n, wanted) in (0..).zip(wanted) {
                let bytes = shaper.allowed(wanted, true, map(n));
                prop_assert!(bytes <= wanted);
                shaper.spend(bytes, map(n));
                sums.push(sums[sums.len() - 1] + bytes);
            }
            for (i, before) in sums.iter().enumerate() {
                for (maps, after) in (0..).zip(&sums[i..]) {
                    let sent = i128::from(after - before) * PER_BYTE;
                    let span = i128::from(maps * T);
                    let most = |rate, depth| i128::from(rate) * span + i128::from(depth) * PER_BYTE;
                    prop_assert!(sent <= most(sustained, burst));
                    prop_assert!(sent <= most(sustained + extra, 1522));
                }
            }
        }
    }
}
