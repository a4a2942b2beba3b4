//! Queue protection (MULPI Annex P, RFC 9957): redirects the packets of flows that cause the delay
//! of the low-latency queue to the classic queue.
//!
//! Each flow has a queuing score. A packet adds its size times the native marking probability, as
//! the time that it takes to drain at a low constant rate; the score falls by one nanosecond in
//! each nanosecond. A packet is sanctioned while both are too high: the delay of the queue, and the
//! product of that delay and the flow's score. A flow that sends smoothly keeps a score near zero,
//! whatever the other flows do.
//!
//! Scores are kept in 32 buckets and a default one. A bucket stores the time at which its score is
//! zero, so that nothing has to be done while time passes. A flow may take two of the buckets, by
//! five bits each of its hash. It takes the default bucket while scores of other flows are in both.
//!
//! Choices where the annex leaves one: the hash is that of the flow-queueing disciplines, and a
//! flow is recognised by 32 bits of it.

use super::Protection;
use crate::metrics::protection::Judged;
use crate::time::{Duration, Instant};

/// The scores of all flows.
#[derive(Debug)]
pub(super) struct QueueProtection {
    config: Protection,
    /// The buckets, the default one last.
    buckets: [Bucket; BUCKETS + 1],
}

/// The score of one flow, or of all flows that found no bucket.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Hash of the flow that used the bucket last (`id`).
    owner: u32,
    /// When the score is zero (`t_exp`).
    expiry: Instant,
}

/// A packet that arrives at the low-latency queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    /// Hash of its flow.
    pub(super) flow: u32,
    /// Bytes with the MAC header.
    pub(super) size: u64,
    /// Delay of the queue, with this packet.
    pub(super) delay: Duration,
    /// The native probability of a mark at this delay.
    pub(super) probability: f64,
    /// When it arrives.
    pub(super) at: Instant,
}

impl QueueProtection {
    /// No flow has a score.
    pub(super) fn new(config: Protection) -> Self {
        Self {
            config,
            buckets: [Bucket::default(); BUCKETS + 1],
        }
    }

    /// Judges a packet (`qprotect`). `maximum` is the upper end of the ramp.
    pub(super) fn judge(&mut self, arrival: Arrival, maximum: Duration) -> Judged {
        let bucket = self.pick(arrival.flow, arrival.at);
        let score = self.fill(bucket, arrival);
        Judged {
            delay: arrival.delay,
            probability: arrival.probability,
            score,
            is_sanctioned: self.is_critical(arrival.delay, score, maximum),
        }
    }

    /// The bucket of a flow (`pick_bucket`): its own, or the first without a score, or the default
    /// one.
    fn pick(&mut self, flow: u32, now: Instant) -> usize {
        let attempts = attempts(flow);
        let is_free = |index: &usize| self.buckets[*index].expiry <= now;
        // A flow that returns takes its former bucket, even if the score has decayed.
        let own = attempts
            .into_iter()
            .find(|&index| self.buckets[index].owner == flow);
        let picked = own
            .or_else(|| attempts.into_iter().find(is_free))
            .unwrap_or(DEFAULT);
        let bucket = &mut self.buckets[picked];
        bucket.owner = flow;
        bucket.expiry = bucket.expiry.max(now);
        picked
    }

    /// Adds the packet to the score (`fill_bucket`); returns the new score.
    fn fill(&mut self, bucket: usize, arrival: Arrival) -> Duration {
        // Units: the rate of decay is 2^LG_AGING bytes in 2^30 ns.
        let aging = f64::from(1_u32 << (LG_SECOND - self.config.drain_exponent));
        let added = arrival.probability * arrival.size as f64 * aging;
        let expiry = &mut self.buckets[bucket].expiry;
        *expiry += Duration::from_nanos(added as u64);
        *expiry = (*expiry).min(arrival.at + HIGHEST_SCORE);
        *expiry - arrival.at
    }

    /// Whether a packet with this score of its flow is sanctioned at this delay.
    fn is_critical(&self, delay: Duration, score: Duration, maximum: Duration) -> bool {
        let threshold = self.latency_threshold(maximum);
        let product = |delay: Duration, score: Duration| {
            u128::from(delay.as_nanos()) * u128::from(score.as_nanos())
        };
        delay > threshold && product(delay, score) > product(threshold, self.config.score_threshold)
    }

    /// The delay above which flows are judged (`CRITICALqL`).
    fn latency_threshold(&self, maximum: Duration) -> Duration {
        let configured = self.config.latency_threshold;
        // Zero stands for the default in configuration files.
        configured
            .filter(|delay| !delay.is_zero())
            .unwrap_or(maximum)
    }
}

/// The buckets that a flow may take: each is given by the next bits of the hash.
fn attempts(flow: u32) -> [usize; ATTEMPTS] {
    std::array::from_fn(|attempt| (flow >> (attempt as u32 * LG_BUCKETS)) as usize % BUCKETS)
}

/// Bits of a hash that choose a bucket (`BI_SIZE`).
const LG_BUCKETS: u32 = 5;

/// Buckets besides the default one (`NBUCKETS`).
const BUCKETS: usize = 1 << LG_BUCKETS;

/// Index of the default bucket (`dregs`).
const DEFAULT: usize = BUCKETS;

/// Buckets that a flow may take (`ATTEMPTS`).
const ATTEMPTS: usize = 2;

/// 2^30 ns stand for a second.
pub(super) const LG_SECOND: u8 = 30;

/// Limit of a score (`MAX_QLSCORE`).
const HIGHEST_SCORE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// Upper end of the ramp at 100 Mbit/s.
    const MAXIMUM: Duration = Duration::from_millis(1);

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + us(micros)
    }

    fn protection(drain_exponent: u8) -> QueueProtection {
        QueueProtection::new(Protection {
            latency_threshold: None,
            score_threshold: Duration::from_millis(4),
            drain_exponent,
        })
    }

    /// A packet of `flow` that finds a delay of 2 ms, and is certain to be marked.
    fn full(flow: u32, size: u64, micros: u64) -> Arrival {
        Arrival {
            flow,
            size,
            delay: Duration::from_millis(2),
            probability: 1.0,
            at: at(micros),
        }
    }

    fn score(protection: &mut QueueProtection, arrival: Arrival) -> u64 {
        protection.judge(arrival, MAXIMUM).score.as_nanos()
    }

    // Scores.

    #[test]
    fn a_packet_adds_the_time_that_it_takes_at_the_rate_of_decay() {
        let first = |drain_exponent, size| score(&mut protection(drain_exponent), full(7, size, 0));
        // 2^-11 and 2^-13 bytes in a nanosecond.
        assert_eq!(first(19, 1528), 1528 << 11);
        assert_eq!(first(19, 1528), 3_129_344);
        assert_eq!(first(17, 1528), 12_517_376);
        assert_eq!(first(19, 200), 409_600);
        // 488 281 B drain in a second: 3.906 Mbit/s, not 2^19 B.
        assert_eq!(first(19, 488_281), 999_999_488);
    }

    #[test]
    fn a_packet_adds_the_share_of_its_native_probability_in_whole_nanoseconds() {
        let added = |probability| {
            let arrival = Arrival {
                probability,
                ..full(7, 1001, 0)
            };
            score(&mut protection(19), arrival)
        };
        assert_eq!(added(0.0), 0);
        assert_eq!(added(0.5), 1_025_024);
        // 1001 × 2^11 × 0.0001 = 205.0048
        assert_eq!(added(0.0001), 205);
    }

    #[test]
    fn a_score_falls_with_time_and_no_further_than_zero() {
        let mut protection = protection(19);
        assert_eq!(score(&mut protection, full(7, 1000, 0)), 2_048_000);
        assert_eq!(score(&mut protection, full(7, 1000, 1000)), 3_096_000);
        // The score was zero for 904 µs.
        assert_eq!(score(&mut protection, full(7, 1000, 5000)), 2_048_000);
    }

    #[test]
    fn a_score_is_at_most_five_seconds() {
        let mut protection = protection(0);
        assert_eq!(score(&mut protection, full(7, 2000, 0)), 5_000_000_000);
        assert_eq!(score(&mut protection, full(7, 2000, 0)), 5_000_000_000);
        assert_eq!(score(&mut protection, full(7, 0, 2_000_000)), 3_000_000_000);
    }

    // Sanctions.

    #[test]
    fn the_second_full_size_packet_crosses_the_threshold_of_the_score() {
        let judge = |drain_exponent| {
            let mut protection = protection(drain_exponent);
            // At the threshold of the delay, the score alone decides.
            let delay = MAXIMUM + Duration::from_nanos(1);
            [0, 0].map(|micros| {
                let arrival = Arrival {
                    delay,
                    ..full(7, 1528, micros)
                };
                protection.judge(arrival, MAXIMUM).is_sanctioned
            })
        };
        assert_eq!(judge(19), [false, true]);
        assert_eq!(judge(17), [true, true]);
    }

    #[test]
    fn a_longer_delay_needs_a_lower_score() {
        let protection = protection(19);
        for (delay, least) in [(1500, 2_666_667), (2000, 2_000_001), (4000, 1_000_001)] {
            let is_critical =
                |nanos| protection.is_critical(us(delay), Duration::from_nanos(nanos), MAXIMUM);
            assert!(!is_critical(least - 1) && is_critical(least), "{delay} µs");
        }
    }

    #[test]
    fn both_tests_are_strict() {
        let protection = protection(19);
        let highest = HIGHEST_SCORE;
        assert!(!protection.is_critical(MAXIMUM, highest, MAXIMUM));
        assert!(protection.is_critical(MAXIMUM + Duration::from_nanos(1), highest, MAXIMUM));
        assert!(!protection.is_critical(us(2000), us(2000), MAXIMUM));
    }

    #[test]
    fn the_threshold_of_the_delay_is_the_upper_end_of_the_ramp_unless_configured() {
        let shifted = Duration::from_nanos(1_164_288);
        let mut protection = protection(19);
        let is_critical = |protection: &QueueProtection, nanos| {
            protection.is_critical(Duration::from_nanos(nanos), us(4000), shifted)
        };
        assert!(!is_critical(&protection, 1_164_288));
        assert!(is_critical(&protection, 1_164_289));
        protection.config.latency_threshold = Some(us(2000));
        assert!(!is_critical(&protection, 2_000_000));
        assert!(is_critical(&protection, 2_000_001));
        protection.config.latency_threshold = Some(Duration::ZERO);
        assert!(!is_critical(&protection, 1_164_288));
        assert!(is_critical(&protection, 1_164_289));
    }

    #[test]
    fn a_product_beyond_64_bits_is_compared_rightly() {
        let protection = QueueProtection::new(Protection {
            latency_threshold: Some(Duration::from_millis(65)),
            score_threshold: Duration::from_millis(65),
            drain_exponent: 19,
        });
        // 5 s × 8 s = 4e19 does not fit 64 bits.
        assert!(protection.is_critical(Duration::from_secs(8), HIGHEST_SCORE, MAXIMUM));
    }

    // Buckets.

    /// A flow whose attempts are these two buckets; flows with another `number` differ.
    fn flow(first: u32, second: u32, number: u32) -> u32 {
        number << 10 | second << 5 | first
    }

    #[test]
    fn each_attempt_is_given_by_five_bits() {
        assert_eq!(attempts(flow(31, 2, 77)), [31, 2]);
        assert_eq!(attempts(u32::MAX), [31, 31]);
    }

    #[test]
    fn a_flow_takes_the_second_bucket_while_another_has_a_score_in_the_first() {
        let mut protection = protection(19);
        let [one, two, three, four] = [flow(3, 4, 1), flow(3, 5, 2), flow(3, 5, 3), flow(3, 6, 4)];
        score(&mut protection, full(one, 1000, 0));
        assert_eq!(protection.pick(two, at(0)), 5);
        // Without a score, its bucket is free for others.
        assert_eq!(protection.pick(three, at(0)), 5);
        assert_eq!(protection.pick(one, at(0)), 3);
        // At the very end of its score, the bucket is free.
        assert_eq!(protection.pick(two, at(2047)), 5);
        assert_eq!(protection.pick(four, at(2048)), 3);
    }

    #[test]
    fn an_owner_is_looked_for_before_a_free_bucket() {
        let mut protection = protection(19);
        let [one, two] = [flow(3, 4, 1), flow(3, 5, 2)];
        score(&mut protection, full(one, 1000, 0));
        score(&mut protection, full(two, 4000, 0));
        // Bucket 3 is free, but flow 2 has its score in bucket 5.
        assert_eq!(protection.pick(two, at(5000)), 5);
        assert_eq!(score(&mut protection, full(two, 0, 5000)), 3_192_000);
    }

    #[test]
    fn a_flow_that_returns_has_its_bucket_with_a_score_of_zero() {
        let mut protection = protection(19);
        let one = flow(3, 4, 1);
        score(&mut protection, full(one, 1528, 0));
        assert_eq!(protection.pick(one, at(1_000_000)), 3);
        assert_eq!(score(&mut protection, full(one, 0, 1_000_000)), 0);
    }

    #[test]
    fn flows_without_a_bucket_share_the_default_one() {
        let mut protection = protection(19);
        for bucket in 0..BUCKETS as u32 {
            score(&mut protection, full(flow(bucket, bucket, 1), 1000, 0));
        }
        let [first, second] = [flow(0, 1, 2), flow(30, 31, 3)];
        assert_eq!(score(&mut protection, full(first, 1000, 0)), 2_048_000);
        // A flow with one packet inherits the score of the other.
        assert_eq!(score(&mut protection, full(second, 1000, 0)), 4_096_000);
        assert_eq!(protection.buckets[DEFAULT].owner, second);
        // The default bucket decays as the others do.
        assert_eq!(score(&mut protection, full(first, 0, 1000)), 3_096_000);
    }
}
