//! The two token buckets of a service flow, exact to the bit and nanosecond.
//!
//! RFC 8034 §3 (and MULPI's Annex C, after the AQM paper's Appendix C): over every interval of length t the bytes let through are at most `R·t + B`
//! and at most `P·t + 1522`. Bytes are MAC PDU bytes: from after the HCS to the CRC (RFC 8034 appendix A.1.4).
//!
//! Upstream the buckets decide which waiting bytes a modem may *ask for*: bytes are cleared one by one, as soon as both buckets
//! hold a token for them. That is a fluid, and is brought up to date only when somebody looks. Downstream the CMTS lets whole packets through.

use std::num::NonZeroU64;

use crate::queue::Shaper;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Depth of the peak-rate bucket (RFC 8034 §3).
pub const PEAK_BURST: u64 = 1522;

/// Tokens are counted in 10⁻⁹ bit, so that a rate in bit/s times nanoseconds is whole tokens.
const PER_BYTE: u128 = 8_000_000_000;

/// A service flow's rate limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum sustained traffic rate R; `None` is unlimited.
    pub sustained: Option<Rate>,
    /// Maximum traffic burst B, bytes.
    pub burst: u64,
    /// Peak traffic rate P; `None` is unlimited.
    pub peak: Option<Rate>,
    /// Depth of the peak-rate bucket, bytes.
    pub peak_burst: u64,
}

/// Every packet touches the buckets of its service flow: they are kept small.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// Bit/s.
    rate: NonZeroU64,
    /// Bytes.
    depth: u64,
    tokens: u128,
}

impl Bucket {
    fn full(rate: Rate, depth: u64) -> Self {
        Self {
            rate: NonZeroU64::new(rate.0).expect("a limit lets something through"),
            depth,
            tokens: u128::from(depth) * PER_BYTE,
        }
    }

    /// Tokens it can hold.
    #[inline]
    fn most(&self) -> u128 {
        u128::from(self.depth) * PER_BYTE
    }

    /// Tokens `elapsed` later, not yet cut to the depth.
    fn after(&self, elapsed: Duration) -> u128 {
        self.tokens + u128::from(self.rate.get()) * u128::from(elapsed.as_nanos())
    }

    /// As many of `bytes` as it has tokens for.
    #[inline]
    fn most_of(&self, bytes: u64) -> u64 {
        if self.tokens < u128::from(bytes) * PER_BYTE {
            Self::whole_bytes(self.tokens)
        } else {
            bytes
        }
    }

    /// Takes the tokens for `bytes`, and cuts what is left to the depth.
    #[inline]
    fn spend(&mut self, bytes: u64) {
        self.tokens = (self.tokens - u128::from(bytes) * PER_BYTE).min(self.most());
    }

    /// Whole bytes that `tokens` are good for. The short division is the usual one: it covers two gigabytes.
    #[inline]
    fn whole_bytes(tokens: u128) -> u64 {
        match u64::try_from(tokens) {
            Ok(tokens) => tokens / PER_BYTE as u64,
            Err(_) => (tokens / PER_BYTE) as u64,
        }
    }

    /// How long until there are tokens for `bytes`.
    #[inline]
    fn wait_for(&self, bytes: u64) -> Duration {
        let missing = (u128::from(bytes) * PER_BYTE).saturating_sub(self.tokens);
        if let Ok(missing) = u64::try_from(missing) {
            return Duration::from_nanos(missing.div_ceil(self.rate.get()));
        }
        Duration::from_nanos(
            missing
                .div_ceil(u128::from(self.rate.get()))
                .min(u128::from(u64::MAX)) as u64,
        )
    }
}

/// The buckets of one service flow, and the bytes that wait for tokens.
#[derive(Debug, Clone)]
pub struct TokenBuckets {
    sustained: Option<Bucket>,
    peak: Option<Bucket>,
    updated: Instant,
    /// Tokens come at multiples of this; zero: continuously.
    tick: Duration,
    waiting: u64,
    cleared: u64,
}

impl TokenBuckets {
    /// Full buckets, nothing waiting.
    pub fn new(limits: Limits) -> Self {
        Self {
            sustained: limits
                .sustained
                .map(|rate| Bucket::full(rate, limits.burst)),
            peak: limits
                .peak
                .map(|rate| Bucket::full(rate, limits.peak_burst)),
            updated: Instant::ZERO,
            tick: Duration::ZERO,
            waiting: 0,
            cleared: 0,
        }
    }

    /// Adds tokens only at multiples of `tick`, if that is not zero. The buckets then hold what a tick brings beyond their depth, so
    /// that the rates can be reached.
    #[must_use]
    pub fn with_tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self.deepen();
        self
    }

    fn deepen(&mut self) {
        let tick = self.tick;
        self.each(|bucket| bucket.depth += Rate(bucket.rate.get()).bytes_in(tick));
    }

    /// More bytes wait.
    pub fn add(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        let backlogged = self.waiting > 0;
        self.waiting += bytes;
        // Behind others that still wait there is no token for them.
        if !backlogged {
            self.clear();
        }
    }

    /// Waiting bytes are gone without having been sent: first those not cleared yet, as a law that drops from the queue costs no tokens.
    pub fn remove(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        let uncleared = bytes.min(self.waiting);
        self.waiting -= uncleared;
        self.cleared -= (bytes - uncleared).min(self.cleared);
    }

    /// Whether no bucket can hold more at `now`.
    pub fn are_full(&self, now: Instant) -> bool {
        let elapsed = self.elapsed(now);
        let mut buckets = self.sustained.iter().chain(&self.peak);
        buckets.all(|bucket| bucket.after(elapsed) >= bucket.most())
    }

    /// The time whose tokens have come since the last look.
    #[inline]
    fn elapsed(&self, now: Instant) -> Duration {
        now.last_tick(self.tick)
            .since(self.updated.last_tick(self.tick))
    }

    /// Clears what both buckets allow up to `now`.
    pub fn advance(&mut self, now: Instant) {
        let elapsed = self.elapsed(now);
        self.updated = self.updated.max(now);
        self.each(|bucket| bucket.tokens = bucket.after(elapsed));
        self.clear();
    }

    /// Clears what the tokens are good for, and cuts what is left of them to the buckets' depths.
    #[inline]
    fn clear(&mut self) {
        let mut clear = self.waiting;
        if clear > 0 {
            self.each(|bucket| clear = bucket.most_of(clear));
            self.waiting -= clear;
            self.cleared += clear;
        }
        // Clearing first and cutting afterwards is exact: while bytes wait, the bucket that binds cannot be full.
        self.each(|bucket| bucket.spend(clear));
    }

    /// Calls `act` with each bucket there is.
    #[inline]
    fn each(&mut self, mut act: impl FnMut(&mut Bucket)) {
        if let Some(bucket) = &mut self.sustained {
            act(bucket);
        }
        if let Some(bucket) = &mut self.peak {
            act(bucket);
        }
    }

    /// Takes all bytes cleared up to `now`.
    pub fn take_cleared(&mut self, now: Instant) -> u64 {
        self.advance(now);
        std::mem::take(&mut self.cleared)
    }

    /// Bytes cleared and not taken yet, as of the last look.
    pub fn cleared(&self) -> u64 {
        self.cleared
    }

    /// Bytes that wait for tokens, as of the last look.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// When `bytes` of the waiting ones will be cleared, looked at from the last look on.
    pub fn cleared_at(&self, bytes: u64) -> Instant {
        let missing = bytes.saturating_sub(self.cleared);
        self.updated + self.wait_for(missing)
    }

    /// Lets a whole packet through at the earliest instant from `now` on at which both buckets hold its bytes, and returns that instant.
    #[inline]
    pub fn admit(&mut self, now: Instant, bytes: u64) -> Instant {
        self.advance(now);
        let mut held = bytes;
        self.each(|bucket| held = bucket.most_of(held));
        if held == bytes {
            self.each(|bucket| bucket.spend(bytes));
            return self.updated;
        }
        let mut at = self.updated.last_tick(self.tick) + self.wait_for(bytes);
        if at.last_tick(self.tick) < at {
            at = at.last_tick(self.tick) + self.tick;
        }
        let elapsed = self.elapsed(at);
        self.each(|bucket| {
            // Not cut before the packet has left: a bucket shallower than the packet must still let it through in time.
            bucket.tokens = bucket.after(elapsed);
            bucket.spend(bytes);
        });
        self.updated = at;
        at
    }

    /// The packet of `bytes` that was let through leaves only now: the tokens it held meanwhile left that much less room for others.
    pub fn delayed(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        self.each(|bucket| {
            let room = u128::from(bucket.depth.saturating_sub(bytes)) * PER_BYTE;
            bucket.tokens = bucket.tokens.min(room);
        });
    }

    /// Other limits hold from now on. What the buckets hold stays theirs, as far as they can hold it.
    pub fn change(&mut self, now: Instant, limits: Limits) {
        self.advance(now);
        let refit = |old: Option<Bucket>, rate: Option<Rate>, depth: u64| {
            rate.map(|rate| {
                let mut bucket = Bucket::full(rate, depth);
                if let Some(old) = old {
                    bucket.tokens = bucket.tokens.min(old.tokens);
                }
                bucket
            })
        };
        self.sustained = refit(self.sustained, limits.sustained, limits.burst);
        self.peak = refit(self.peak, limits.peak, limits.peak_burst);
        self.deepen();
    }

    fn wait_for(&self, bytes: u64) -> Duration {
        let waits = [&self.sustained, &self.peak]
            .into_iter()
            .flatten()
            .map(|bucket| bucket.wait_for(bytes));
        waits.max().unwrap_or(Duration::ZERO)
    }
}

impl Shaper for TokenBuckets {
    fn sustained(&self) -> Rate {
        self.sustained
            .map_or(Rate(0), |bucket| Rate(bucket.rate.get()))
    }

    fn peak(&self) -> Rate {
        self.peak.map_or(Rate(0), |bucket| Rate(bucket.rate.get()))
    }

    fn tokens(&self, now: Instant) -> u64 {
        let elapsed = self.elapsed(now);
        self.sustained.map_or(u64::MAX, |bucket| {
            Bucket::whole_bytes(bucket.after(elapsed).min(bucket.most()))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MBIT: u64 = 1_000_000;

    fn buckets(sustained: u64, burst: u64, peak: u64) -> TokenBuckets {
        TokenBuckets::new(Limits {
            sustained: Some(Rate(sustained)),
            burst,
            peak: Some(Rate(peak)),
            peak_burst: PEAK_BURST,
        })
    }

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn a_backlog_leaves_at_the_peak_rate_until_the_burst_is_spent_and_then_at_the_sustained_rate() {
        // R 8 Mb/s = 1 B/us, P 16 Mb/s = 2 B/us, B 10 000 B: the burst lasts (10000 − 1522) / (2 − 1) us after the first 1522 B.
        let mut buckets = buckets(8 * MBIT, 10_000, 16 * MBIT);
        buckets.add(Instant::ZERO, 1_000_000);
        assert_eq!(buckets.take_cleared(at(0)), 1522);
        assert_eq!(buckets.take_cleared(at(1000)), 2000);
        assert_eq!(buckets.tokens(at(1000)), 10_000 - 1522 - 1000);
        assert_eq!(buckets.take_cleared(at(8478)), 2 * 7478);
        assert_eq!(buckets.tokens(at(8478)), 0);
        assert_eq!(buckets.take_cleared(at(9478)), 1000);
    }

    #[test]
    fn a_whole_packet_waits_until_both_buckets_hold_it() {
        let mut buckets = buckets(8 * MBIT, 3044, 80 * MBIT);
        assert_eq!(buckets.admit(at(0), 1500), at(0));
        // Peak bucket: 22 B left, 10 B/us.
        assert_eq!(buckets.admit(at(0), 1522), at(150));
        // Sustained bucket: 22 + 150 B left, 1 B/us.
        assert_eq!(buckets.admit(at(150), 1172), at(1150));
    }

    #[test]
    fn a_packet_that_leaves_late_keeps_its_tokens_until_then() {
        // 1 B/us each: the packet is let through at 0 and leaves at 5 ms. Charged then, its 1000 B would be missing from full buckets.
        let mut buckets = buckets(8 * MBIT, 2000, 8 * MBIT);
        assert_eq!(buckets.admit(at(0), 1000), at(0));
        buckets.delayed(at(5000), 1000);
        assert_eq!(buckets.tokens(at(5000)), 1000);
        assert_eq!(buckets.admit(at(5000), 1000), at(5000 + 1000 - 522));
    }

    #[test]
    fn new_limits_take_over_what_the_old_buckets_held() {
        let mut buckets = buckets(8 * MBIT, 10_000, 8 * MBIT);
        assert_eq!(buckets.admit(at(0), 1500), at(0));
        let limits = |rate, burst| Limits {
            sustained: Some(Rate(rate)),
            burst,
            peak: None,
            peak_burst: 0,
        };
        buckets.change(at(0), limits(16 * MBIT, 20_000));
        assert_eq!(buckets.tokens(at(0)), 8_500);
        assert_eq!(buckets.tokens(at(100)), 8_700);
        buckets.change(at(100), limits(MBIT, 2_000));
        assert_eq!(buckets.tokens(at(100)), 2_000);
    }

    #[test]
    fn tokens_that_come_in_ticks_let_a_ticks_bytes_through_together() {
        // 1 B/us: 10,000 B every 10 ms, and what is in the buckets at first.
        let tick = Duration::from_millis(10);
        let mut buckets = buckets(8 * MBIT, 1500, 8 * MBIT).with_tick(tick);
        let mut admitted = Vec::new();
        let mut now = Instant::ZERO;
        for _ in 0..20 {
            now = buckets.admit(now, 1500);
            admitted.push(now.as_nanos() / 1_000_000);
        }
        // Both buckets begin with their depth, 1500 and 1522 B.
        let expected = [vec![0; 1], vec![10; 6], vec![20; 7], vec![30; 6]].concat();
        assert_eq!(admitted, expected);
    }

    #[test]
    fn an_unlimited_flow_is_never_held_back() {
        let mut buckets = TokenBuckets::new(Limits {
            sustained: None,
            burst: 0,
            peak: None,
            peak_burst: 0,
        });
        buckets.add(at(5), 1 << 40);
        assert_eq!(buckets.take_cleared(at(5)), 1 << 40);
    }

    #[test]
    fn a_change_keeps_the_tokens_and_counts_on_at_the_new_rate() {
        let limits = |rate, burst| Limits {
            sustained: Some(Rate(rate)),
            burst,
            peak: None,
            peak_burst: PEAK_BURST,
        };
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut buckets = TokenBuckets::new(limits(8_000, 5_000));
        buckets.add(at(0), 4_000);
        assert_eq!(buckets.take_cleared(at(0)), 4_000);
        buckets.change(at(1_000), limits(80_000, 20_000));
        assert_eq!(
            buckets.tokens(at(1_000)),
            2_000,
            "1000 left and 1000 of a second"
        );
        assert_eq!(buckets.tokens(at(2_000)), 12_000, "10 000 in the next");
        buckets.change(at(2_000), limits(80_000, 3_000));
        assert_eq!(
            buckets.tokens(at(2_000)),
            3_000,
            "what does not fit is gone"
        );
    }

    proptest! {
        /// RFC 8034 §3 over all intervals between any two looks, at awkward rates, whatever arrives when.
        #[test]
        fn bytes_cleared_obey_both_limits_over_every_interval(
            sustained in 1_000_u64..300_000_000,
            extra in 0_u64..200_000_000,
            burst in 1522_u64..200_000,
            steps in prop::collection::vec((0_u64..5_000_000, 0_u64..60_000), 1..60),
        ) {
            let peak = sustained + extra;
            let mut buckets = buckets(sustained, burst, peak);
            let mut now = 0;
            let mut log = vec![(0_u64, 0_u64)];
            let (mut added, mut total) = (0, 0);
            for (wait, bytes) in steps {
                now += wait;
                total += buckets.take_cleared(Instant::from_nanos(now));
                log.push((now, total));
                buckets.add(Instant::from_nanos(now), bytes);
                added += bytes;
                total += buckets.take_cleared(Instant::from_nanos(now));
                log.push((now, total));
            }
            prop_assert!(total <= added);
            for (i, &(start, before)) in log.iter().enumerate() {
                for &(end, after) in &log[i..] {
                    let sent = u128::from(after - before) * PER_BYTE;
                    let span = u128::from(end - start);
                    prop_assert!(sent <= u128::from(sustained) * span + u128::from(burst) * PER_BYTE);
                    prop_assert!(sent <= u128::from(peak) * span + u128::from(PEAK_BURST) * PER_BYTE);
                }
            }
        }

        /// Looking more often changes nothing but whole-byte rounding, which carries over.
        #[test]
        fn looking_in_between_changes_nothing(
            sustained in 1_000_u64..300_000_000,
            burst in 1522_u64..200_000,
            looks in prop::collection::vec(0_u64..2_000_000, 1..40),
            bytes in 0_u64..1_000_000,
        ) {
            let mut often = buckets(sustained, burst, sustained * 2);
            let mut once = often.clone();
            often.add(Instant::ZERO, bytes);
            once.add(Instant::ZERO, bytes);
            let mut now = 0;
            for look in looks {
                now += look;
                often.advance(Instant::from_nanos(now));
            }
            let end = Instant::from_nanos(now);
            prop_assert_eq!(often.take_cleared(end), once.take_cleared(end));
            prop_assert_eq!(often.tokens(end), once.tokens(end));
        }

        /// Whole packets obey the limits over every interval too.
        #[test]
        fn packets_admitted_obey_both_limits(
            sustained in 10_000_u64..300_000_000,
            burst in 1522_u64..100_000,
            packets in prop::collection::vec((0_u64..1_000_000, 64_u64..1522), 1..60),
        ) {
            let mut buckets = buckets(sustained, burst, sustained * 3 / 2);
            let (mut now, mut total) = (0, 0);
            let mut log = vec![(0, 0)];
            for (wait, bytes) in packets {
                now = buckets.admit(Instant::from_nanos(now + wait), bytes).as_nanos();
                log.push((now, total));
                total += bytes;
                log.push((now, total));
            }
            for (i, &(start, before)) in log.iter().enumerate() {
                for &(end, after) in &log[i..] {
                    let sent = u128::from(after - before) * PER_BYTE;
                    let span = u128::from(end - start);
                    prop_assert!(sent <= u128::from(sustained) * span + u128::from(burst) * PER_BYTE);
                    prop_assert!(sent <= u128::from(sustained * 3 / 2) * span + u128::from(PEAK_BURST) * PER_BYTE);
                }
            }
        }
    }
}
