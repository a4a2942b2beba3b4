//! Two token buckets, exact to the bit and nanosecond: those of a service flow of a cable line, and
//! those of a plain link's shaper or policer.
//!
//! RFC 8034 §3 (and MULPI Annex C, after Appendix C of the AQM paper): over every interval of
//! length t, the admitted bytes are at most `R·t + B` and at most `P·t + 1522`. These are bytes of
//! MAC PDUs, from after the HCS to the CRC (RFC 8034 appendix A.1.4).
//!
//! Upstream, the buckets decide which queued bytes a modem may *request*. Bytes are cleared one by
//! one, as soon as both buckets hold a token for them. This is a fluid model, and it is only
//! updated when its state is needed. Downstream, the CMTS admits whole packets, as does a shaper; a
//! policer does so only if the tokens are there.

use std::num::NonZeroU64;

use crate::metrics::utilisation::LimitUse;
use crate::queue::Shaper;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Depth of the peak-rate bucket, in bytes (RFC 8034 §3).
pub const PEAK_BURST: u64 = 1522;

/// Tokens are counted in 10⁻⁹ bit. A rate in bit/s times nanoseconds is then a whole number of
/// tokens.
const PER_BYTE: u128 = 8_000_000_000;

/// Rate limits, of a service flow or of a plain link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum sustained traffic rate R. `None` is unlimited.
    pub sustained: Option<Rate>,
    /// Maximum traffic burst B, in bytes.
    pub burst: u64,
    /// Peak traffic rate P. `None` is unlimited.
    pub peak: Option<Rate>,
    /// Depth of the peak-rate bucket, in bytes.
    pub peak_burst: u64,
}

/// One token bucket.
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

    /// Largest number of tokens.
    #[inline]
    fn most(&self) -> u128 {
        u128::from(self.depth) * PER_BYTE
    }

    /// Tokens after `elapsed`, before they are limited to the depth.
    fn after(&self, elapsed: Duration) -> u128 {
        self.tokens + u128::from(self.rate.get()) * u128::from(elapsed.as_nanos())
    }

    /// The part of `bytes` for which there are tokens.
    #[inline]
    fn most_of(&self, bytes: u64) -> u64 {
        if self.tokens < u128::from(bytes) * PER_BYTE {
            Self::whole_bytes(self.tokens)
        } else {
            bytes
        }
    }

    /// Takes the tokens of `bytes`, and limits the rest to the depth.
    #[inline]
    fn spend(&mut self, bytes: u64) {
        self.tokens = (self.tokens - u128::from(bytes) * PER_BYTE).min(self.most());
    }

    /// Whole bytes that `tokens` are enough for. The 64-bit division suffices for up to two
    /// gigabytes, which is the usual case.
    #[inline]
    fn whole_bytes(tokens: u128) -> u64 {
        match u64::try_from(tokens) {
            Ok(tokens) => tokens / PER_BYTE as u64,
            Err(_) => (tokens / PER_BYTE) as u64,
        }
    }

    /// Time until there are tokens for `bytes`.
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

/// A pair of token buckets, and the bytes that need tokens.
#[derive(Debug, Clone)]
pub struct TokenBuckets {
    sustained: Option<Bucket>,
    peak: Option<Bucket>,
    updated: Instant,
    /// Tokens are added at multiples of this time. Zero: they are added continuously.
    tick: Duration,
    waiting: u64,
    cleared: u64,
    inflow: Inflow,
}

/// The tokens that have come to two buckets, either of which may be missing for a while.
#[derive(Debug, Clone, Copy)]
pub struct Inflow {
    /// Bits of tokens that had come to both buckets when their rates were last set, and that time.
    came: [f64; 2],
    set_at: Instant,
    /// How often each bucket was made where there was none.
    made: [u32; 2],
}

impl Inflow {
    /// Before the first token.
    pub const NONE: Self = Self {
        came: [0.0; 2],
        set_at: Instant::ZERO,
        made: [0; 2],
    };

    /// Bits of tokens that have come to both buckets until `at`, at these rates in bit/s since they
    /// were set. Tokens come at multiples of `tick`.
    pub fn until(&self, at: Instant, tick: Duration, rates: [Option<u64>; 2]) -> [f64; 2] {
        let [at, set_at] = [at, self.set_at].map(|time| time.last_tick(tick));
        let seconds = at.since(set_at).as_secs_f64();
        std::array::from_fn(|index| self.came[index] + rates[index].unwrap_or(0) as f64 * seconds)
    }

    /// The rates change at `at` from `before` to others, of which some are missing.
    pub fn set(
        &mut self,
        at: Instant,
        tick: Duration,
        before: [Option<u64>; 2],
        are_set: [bool; 2],
    ) {
        self.came = self.until(at, tick, before);
        self.set_at = at;
        for index in 0..2 {
            self.made[index] += u32::from(before[index].is_none() && are_set[index]);
        }
    }

    /// How often each bucket was made where there was none.
    pub fn made(&self) -> [u32; 2] {
        self.made
    }
}

impl TokenBuckets {
    /// Full buckets, and no bytes that need tokens.
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
            inflow: Inflow::NONE,
        }
    }

    /// Adds tokens only at multiples of `tick`, if it is not zero. The tokens of one tick are added
    /// to the depths of the buckets. Otherwise the rates could not be reached.
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

    /// Adds bytes that need tokens.
    pub fn add(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        let backlogged = self.waiting > 0;
        self.waiting += bytes;
        // Bytes behind others that are not cleared get no token yet.
        if !backlogged {
            self.clear();
        }
    }

    /// Removes bytes that were not sent. Bytes that are not cleared go first, because a packet that
    /// is dropped from the queue costs no tokens.
    pub fn remove(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        let uncleared = bytes.min(self.waiting);
        self.waiting -= uncleared;
        self.cleared -= (bytes - uncleared).min(self.cleared);
    }

    /// Whether all buckets are full at `now`.
    pub fn are_full(&self, now: Instant) -> bool {
        let elapsed = self.elapsed(now);
        let mut buckets = self.sustained.iter().chain(&self.peak);
        buckets.all(|bucket| bucket.after(elapsed) >= bucket.most())
    }

    /// The time for which tokens have been added since the last update.
    #[inline]
    fn elapsed(&self, now: Instant) -> Duration {
        now.last_tick(self.tick)
            .since(self.updated.last_tick(self.tick))
    }

    /// Clears the bytes that both buckets allow up to `now`.
    pub fn advance(&mut self, now: Instant) {
        let elapsed = self.elapsed(now);
        self.updated = self.updated.max(now);
        self.each(|bucket| bucket.tokens = bucket.after(elapsed));
        self.clear();
    }

    /// Clears the bytes for which there are tokens, and limits the remaining tokens to the depths.
    #[inline]
    fn clear(&mut self) {
        let mut clear = self.waiting;
        if clear > 0 {
            self.each(|bucket| clear = bucket.most_of(clear));
            self.waiting -= clear;
            self.cleared += clear;
        }
        // It is exact to clear first and to limit afterwards. While bytes are not cleared, the
        // bucket that holds them back is not full.
        self.each(|bucket| bucket.spend(clear));
    }

    #[inline]
    fn each(&mut self, mut act: impl FnMut(&mut Bucket)) {
        if let Some(bucket) = &mut self.sustained {
            act(bucket);
        }
        if let Some(bucket) = &mut self.peak {
            act(bucket);
        }
    }

    /// Takes all bytes that are cleared by `now`.
    pub fn take_cleared(&mut self, now: Instant) -> u64 {
        self.advance(now);
        std::mem::take(&mut self.cleared)
    }

    /// Bytes that are cleared and not taken, as of the last update.
    pub fn cleared(&self) -> u64 {
        self.cleared
    }

    /// Bytes that need tokens, as of the last update.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Time at which `bytes` are cleared, computed from the last update.
    pub fn cleared_at(&self, bytes: u64) -> Instant {
        let missing = bytes.saturating_sub(self.cleared);
        self.updated + self.wait_for(missing)
    }

    /// Admits a whole packet at the earliest instant from `now` on at which both buckets hold its
    /// bytes. Returns that instant.
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
            // The tokens are limited only after the packet has left. A bucket smaller than the
            // packet must still admit it in time.
            bucket.tokens = bucket.after(elapsed);
            bucket.spend(bytes);
        });
        self.updated = at;
        at
    }

    /// Takes the tokens of a whole packet of `bytes`, if every bucket holds them now. Otherwise it
    /// takes none.
    #[inline]
    pub fn take(&mut self, now: Instant, bytes: u64) -> bool {
        self.advance(now);
        let mut held = bytes;
        self.each(|bucket| held = bucket.most_of(held));
        if held < bytes {
            return false;
        }
        self.each(|bucket| bucket.spend(bytes));
        true
    }

    /// An admitted packet of `bytes` leaves only now. Until now its tokens occupied room in the
    /// buckets, so the tokens are limited to the room that was left.
    pub fn delayed(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        self.each(|bucket| {
            let room = u128::from(bucket.depth.saturating_sub(bytes)) * PER_BYTE;
            bucket.tokens = bucket.tokens.min(room);
        });
    }

    /// Sets other limits from now on. Tokens are kept up to the new depths.
    pub fn change(&mut self, now: Instant, limits: Limits) {
        let are_set = [limits.sustained.is_some(), limits.peak.is_some()];
        (self.inflow).set(now, self.tick, self.rates(), are_set);
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

    /// The use of both buckets until `now`, by which time so many bits had `passed`; `None` for a
    /// bucket that is missing.
    pub fn limits(&self, now: Instant, passed: f64) -> [Option<LimitUse>; 2] {
        // Tokens may have been spent until a time to come, at which a packet is admitted.
        let at = self.updated.max(now);
        let [came, came_then] = [now, at].map(|at| self.inflow.until(at, self.tick, self.rates()));
        let elapsed = self.elapsed(at);
        let ready = |bucket: &Bucket| bucket.after(elapsed).min(bucket.most()) as f64 / 1e9;
        let buckets = [&self.sustained, &self.peak];
        std::array::from_fn(|index| {
            let bucket = buckets[index].as_ref()?;
            Some(LimitUse {
                came: came[index],
                ready: ready(bucket) - (came_then[index] - came[index]),
                passed,
                number: self.inflow.made()[index],
            })
        })
    }

    /// The rates of both buckets in bit/s.
    fn rates(&self) -> [Option<u64>; 2] {
        [&self.sustained, &self.peak].map(|bucket| bucket.as_ref().map(|bucket| bucket.rate.get()))
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
        // R is 8 Mb/s = 1 B/us, P is 16 Mb/s = 2 B/us, B is 10 000 B. After the first 1522 B, the
        // burst lasts (10000 − 1522) / (2 − 1) us.
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
        // 1 B/us each. The packet is admitted at 0 and leaves at 5 ms. If its 1000 B were only
        // taken at 5 ms, they would be missing from full buckets.
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
        // 1 B/us: 10,000 B every 10 ms, in addition to the initial tokens.
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

    /// Departures of packets of 1514 B that all come at once, in microseconds.
    fn departures(limits: Limits) -> Vec<f64> {
        let mut buckets = TokenBuckets::new(limits);
        let mut now = Instant::ZERO;
        let mut depart = || {
            now = buckets.admit(now, 1514);
            now.as_nanos() as f64 / 1e3
        };
        (0..24).map(|_| depart()).collect()
    }

    /// Measured with Linux 6.1 and 6.12, at 10 Mbit/s. The kernel's clock adds up to half a
    /// microsecond.
    #[test]
    fn packets_leave_as_they_leave_tbf_and_htb_of_a_linux_kernel() {
        let limits = |burst| Limits {
            sustained: Some(Rate(10 * MBIT)),
            burst,
            peak: None,
            peak_burst: 0,
        };
        let assert_at = |found: &[f64], expected: &[f64]| {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() <= 0.5, "{found} for {expected}");
            }
        };
        // tbf burst 15140
        let found = departures(limits(15_140));
        assert_at(&found[..10], &[0.0; 10]);
        assert_at(&found[10..], &[1211.6, 2422.8]);
        // tbf burst 32kb
        let found = departures(limits(32 << 10));
        assert_at(&found[..21], &[0.0; 21]);
        assert_at(&found[21..], &[432.4, 1643.3]);
        // tbf burst 15140 peakrate 20mbit mtu 1514
        let found = departures(Limits {
            peak: Some(Rate(20 * MBIT)),
            peak_burst: 1514,
            ..limits(15_140)
        });
        assert_at(&found, &[0.0, 606.0, 1211.6]);
        // htb burst 1600: a packet leaves as long as a token is left, so that it is a packet more.
        let found = departures(limits(1600 + 1514));
        assert_at(&found, &[0.0, 0.0, 1142.8, 2353.9]);
    }

    #[test]
    fn a_packet_takes_tokens_only_if_every_bucket_holds_them() {
        let mut buckets = buckets(8 * MBIT, 3044, 80 * MBIT);
        assert!(buckets.take(at(0), 1500));
        assert!(!buckets.take(at(100), 1500), "the peak rate holds it back");
        assert_eq!(buckets.tokens(at(100)), 3044 - 1500 + 100);
        assert!(buckets.take(at(148), 1500));
    }

    proptest! {
        /// RFC 8034 §3 over the intervals between any two updates, at odd rates, for any arrivals.
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
                    let [burst, peak_burst] = [burst, PEAK_BURST].map(u128::from);
                    prop_assert!(sent <= u128::from(sustained) * span + burst * PER_BYTE);
                    prop_assert!(sent <= u128::from(peak) * span + peak_burst * PER_BYTE);
                }
            }
        }

        /// More frequent updates only change the rounding to whole bytes, and the remainder is
        /// kept.
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
                    let [burst, peak_burst] = [burst, PEAK_BURST].map(u128::from);
                    let peak = u128::from(sustained * 3 / 2);
                    prop_assert!(sent <= u128::from(sustained) * span + burst * PER_BYTE);
                    prop_assert!(sent <= peak * span + peak_burst * PER_BYTE);
                }
            }
        }
    }
}
