//! A policer: it drops at once what exceeds a rate and a burst, and lets everything else pass
//! without delay.
//!
//! A packet passes if every bucket holds its bytes when it comes, and takes them. A packet that is
//! dropped takes nothing. With one bucket this is the token bucket of RFC 2697 without its colours.
//! With a bucket of the peak rate it is RFC 2698, whose red and yellow packets are both dropped, as
//! `tc-police(8)` does with `conform-exceed drop`.
//!
//! Left out: marking of what exceeds, and rates that are measured and not counted by tokens
//! (`avrate` of `tc-police(8)`).

use super::token_bucket::{Limits, TokenBuckets};
use crate::metrics::utilisation::LimitUse;
use crate::time::Instant;

/// The policer of one direction.
#[derive(Debug, Clone)]
pub struct Policer {
    buckets: TokenBuckets,
    /// Bytes that have passed.
    passed: u64,
}

impl Policer {
    /// A policer with full buckets.
    pub fn new(limits: Limits) -> Self {
        Self {
            buckets: TokenBuckets::new(limits),
            passed: 0,
        }
    }

    /// Whether a packet of `bytes` passes now.
    pub fn admits(&mut self, now: Instant, bytes: u64) -> bool {
        let admits = self.buckets.take(now, bytes);
        if admits {
            self.passed += bytes;
        }
        admits
    }

    /// The use of its buckets until `now`; `None` for one that is missing.
    pub fn limits(&self, now: Instant) -> [Option<LimitUse>; 2] {
        self.buckets.limits(now, self.passed as f64 * 8.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn what_exceeds_the_burst_is_dropped_and_takes_no_tokens() {
        // 8 Mbit/s are a byte each microsecond.
        let mut policer = Policer::new(Limits {
            sustained: Some(Rate(8_000_000)),
            burst: 3000,
            peak: None,
            peak_burst: 0,
        });
        assert!(policer.admits(at(0), 1500) && policer.admits(at(0), 1500));
        assert!(!policer.admits(at(1499), 1500));
        assert!(policer.admits(at(1500), 1500));
        assert!(!policer.admits(at(1500), 1));
        // After a long pause there is the burst, and no more.
        assert!(policer.admits(at(1_000_000), 3000));
        assert!(!policer.admits(at(1_000_000), 1));
    }

    #[test]
    fn a_second_bucket_limits_how_fast_the_burst_passes() {
        let mut policer = Policer::new(Limits {
            sustained: Some(Rate(8_000_000)),
            burst: 30_000,
            peak: Some(Rate(16_000_000)),
            peak_burst: 1500,
        });
        assert!(policer.admits(at(0), 1500));
        assert!(!policer.admits(at(749), 1500));
        assert!(policer.admits(at(750), 1500));
        // Twice the rate passes until the burst is spent: 30 000 B in 30 ms.
        let passed = (2..100)
            .filter(|n| policer.admits(at(n * 750), 1500))
            .count();
        // Until the last at 74.25 ms: 30 000 B and 74 250 B in all, 3000 B of which passed before.
        assert_eq!(passed, (30_000 + 74_250 - 3000) / 1500);
    }
}
