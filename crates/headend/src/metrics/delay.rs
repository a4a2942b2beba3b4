//! Delay statistics: a histogram with 0.1 % resolution, and exact mean, minimum and maximum.
//!
//! The histogram is log-linear: each octave of values is cut into 1024 buckets of equal width, so that a bucket is never wider than a
//! thousandth of what it holds, and the bucket of a value is found by a shift. The buckets are those of an HDR histogram with three
//! digits, against which it is tested. They are kept in [pages], of which only those exist that have held something: most delays of a queue lie
//! within two or three octaves, and a plant has thousands of queues. A count there is four bits, and what it cannot hold is carried to a table. Where
//! histograms are few, each has a whole count for every bucket from the start, so that nothing is allocated later.
//!
//! A packet does not touch the histogram: its bucket is noted beside the counters of its flow or queue, and once there are [some](Recent) all are counted
//! together. In a plant no histogram is in the cache when a packet comes.

use std::collections::BTreeMap;

use crate::metrics::extreme::{lower, raise};
use crate::metrics::pages::{PageStore, Pages};
use crate::time::Duration;

/// Histogram buckets count in units of this many nanoseconds.
pub const UNIT_NS: u64 = 100;
/// Longer delays are counted in the bucket of this one (in units: 1000 s).
const LONGEST: u64 = 10_000_000_000;
/// Buckets of an octave, as a power of two.
const PRECISION: u32 = 10;
/// One more than the bucket of the longest delay.
const BUCKETS: usize = bucket_of(LONGEST) + 1;

/// Values below two times 1024 have a bucket each; from there on each octave has 1024.
#[inline]
const fn bucket_of(units: u64) -> usize {
    let shift = (units | ((2 << PRECISION) - 1)).ilog2() - PRECISION;
    ((shift as usize) << PRECISION) + (units >> shift) as usize
}

/// The lowest value in a bucket.
const fn lowest_in(bucket: usize) -> u64 {
    let octave = (bucket >> PRECISION) as u32;
    let shift = octave.saturating_sub(1);
    ((bucket as u64) - ((shift as u64) << PRECISION)) << shift
}

/// The latest delays, of which the histogram does not know yet, and the smallest and largest of all.
#[derive(Debug)]
pub struct Recent<const N: usize> {
    min: u64,
    max: u64,
    buckets: [u16; N],
    len: u16,
}

/// How often which delays occurred. Memory does not grow with the number of packets.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Histogram {
    counts: Counts,
    /// What has been carried of a bucket's count.
    carried: BTreeMap<u32, u64>,
}

/// The delays of one flow direction or queue: what they come to.
#[derive(Debug, Clone, Copy)]
pub struct DelayStats<'a> {
    count: u64,
    sum: u64,
    min: u64,
    max: u64,
    histogram: &'a Histogram,
    pages: &'a PageStore,
}

/// Counts by bucket, less what was carried.
#[derive(Debug, Clone)]
enum Counts {
    /// Of all buckets.
    Dense(Box<[u32]>),
    /// Of those on the pages that exist.
    Paged(Pages),
}

impl Default for Histogram {
    fn default() -> Self {
        Self::with(Counts::Paged(Pages::default()))
    }
}

impl<const N: usize> Default for Recent<N> {
    fn default() -> Self {
        Self {
            min: u64::MAX,
            max: 0,
            buckets: [0; N],
            len: 0,
        }
    }
}

impl<const N: usize> Recent<N> {
    /// Notes one delay. True if that was the last there is room for: they are to be [counted](Histogram::take_in) now.
    #[inline]
    #[must_use]
    pub fn record(&mut self, delay: Duration) -> bool {
        let nanos = delay.as_nanos();
        lower(&mut self.min, nanos);
        raise(&mut self.max, nanos);
        self.buckets[usize::from(self.len)] = bucket_of((nanos / UNIT_NS).min(LONGEST)) as u16;
        self.len += 1;
        usize::from(self.len) == N
    }

    /// Takes the notes, of which there are as many as there is room for.
    pub fn take(&mut self) -> [u16; N] {
        assert_eq!(usize::from(self.len), N, "full notes");
        self.len = 0;
        self.buckets
    }
}

impl Counts {
    fn of(&self, bucket: usize, store: &PageStore) -> u64 {
        match self {
            Self::Dense(counts) => u64::from(counts[bucket]),
            Self::Paged(pages) => pages.of(bucket, store),
        }
    }

    /// Buckets that may have counts, of those from `first` to `last`, in order.
    fn existing(&self, first: usize, last: usize) -> impl Iterator<Item = usize> + '_ {
        let (dense, paged) = match self {
            Self::Dense(_) => (first..last + 1, None),
            Self::Paged(pages) => (0..0, Some(pages.buckets())),
        };
        dense.chain(paged.into_iter().flatten())
    }
}

const _: () = assert!(BUCKETS <= u16::MAX as usize, "two bytes number all buckets");

impl Histogram {
    /// Nothing counted yet, and room for whatever will be: 97 KiB.
    pub fn with_room() -> Self {
        Self::with(Counts::Dense(vec![0; BUCKETS].into()))
    }

    const fn with(counts: Counts) -> Self {
        Self {
            counts,
            carried: BTreeMap::new(),
        }
    }

    /// Asks for what tells where its pages are.
    #[inline]
    pub fn fetch(&self) {
        if let Counts::Paged(pages) = &self.counts {
            pages.fetch();
        }
    }

    /// Asks for the pages of these buckets.
    #[inline]
    pub fn fetch_pages(&self, buckets: &[u16], store: &PageStore) {
        if let Counts::Paged(pages) = &self.counts {
            for &bucket in buckets {
                pages.fetch_page(usize::from(bucket), store);
            }
        }
    }

    /// Counts what was noted, on pages of `store` if it has no room of its own: always the same store.
    pub fn take_in<const N: usize>(&mut self, recent: &mut Recent<N>, store: &mut PageStore) {
        self.count(&recent.buckets[..usize::from(recent.len)], store);
        recent.len = 0;
    }

    /// Counts one more in each of these buckets; the same for what was [taken](Recent::take) of the notes.
    pub fn count(&mut self, buckets: &[u16], store: &mut PageStore) {
        let mut carry = |bucket: u16, excess| {
            *self.carried.entry(u32::from(bucket)).or_default() += excess;
        };
        match &mut self.counts {
            Counts::Dense(counts) => {
                for &bucket in buckets {
                    let count = &mut counts[usize::from(bucket)];
                    *count = count.wrapping_add(1);
                    if *count == 0 {
                        carry(bucket, 1 << u32::BITS);
                    }
                }
            }
            Counts::Paged(pages) => {
                for &bucket in buckets {
                    let excess = pages.add(usize::from(bucket), store);
                    if excess > 0 {
                        carry(bucket, excess);
                    }
                }
            }
        }
    }

    /// Forgets everything, also what was noted; keeps its memory.
    pub fn reset<const N: usize>(&mut self, recent: &mut Recent<N>, store: &mut PageStore) {
        match &mut self.counts {
            Counts::Dense(counts) => counts.fill(0),
            Counts::Paged(pages) => pages.clear(store),
        }
        self.carried.clear();
        *recent = Recent::default();
    }

    /// What the delays come to: of `count` delays that last `sum` in all, all of which have been [counted](Self::take_in).
    pub fn stats<'a, const N: usize>(
        &'a self,
        recent: &Recent<N>,
        store: &'a PageStore,
        count: u64,
        sum: Duration,
    ) -> DelayStats<'a> {
        assert_eq!(recent.len, 0, "what was noted is counted first");
        DelayStats {
            count,
            sum: sum.as_nanos(),
            min: recent.min,
            max: recent.max,
            histogram: self,
            pages: store,
        }
    }
}

impl DelayStats<'_> {
    /// Buckets that exist, in order, with their counts.
    fn counted(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let Histogram { counts, carried } = self.histogram;
        let bucket = |nanos: u64| bucket_of((nanos / UNIT_NS).min(LONGEST));
        let existing = counts.existing(bucket(self.min), bucket(self.max));
        existing.map(move |bucket| {
            let carried = carried.get(&(bucket as u32)).copied();
            (bucket, counts.of(bucket, self.pages) + carried.unwrap_or(0))
        })
    }

    /// How many delays were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in nanoseconds; NaN of nothing.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Minimum in nanoseconds; NaN of nothing.
    pub fn min(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.min as f64
        }
    }

    /// Maximum in nanoseconds; NaN of nothing.
    pub fn max(&self) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            self.max as f64
        }
    }

    /// The delay, in nanoseconds, that a share `q` of the packets did not exceed; NaN of nothing. Right to 0.1 % or 100 ns.
    pub fn quantile(&self, q: f64) -> f64 {
        let wanted = ((q * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counted().find(|&(_, count)| {
            seen += count;
            seen >= wanted
        });
        bucket.map_or(f64::NAN, |(bucket, _)| {
            let highest = lowest_in(bucket + 1) - 1;
            ((highest * UNIT_NS) as f64).clamp(self.min as f64, self.max as f64)
        })
    }

    /// Non-empty buckets: from, to (nanoseconds), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.counted().filter(|&(_, count)| count > 0);
        filled.map(|(bucket, count)| {
            let [from, to] = [bucket, bucket + 1].map(|bucket| lowest_in(bucket) * UNIT_NS);
            (from, to, count)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A histogram with its notes and counters.
    #[derive(Default)]
    struct Delays {
        recent: Recent<7>,
        histogram: Histogram,
        pages: PageStore,
        count: u64,
        sum: Duration,
    }

    impl Delays {
        fn with_room() -> Self {
            Self {
                histogram: Histogram::with_room(),
                ..Self::default()
            }
        }

        fn record(&mut self, delay: Duration) {
            self.count += 1;
            self.sum += delay;
            if self.recent.record(delay) {
                self.histogram.take_in(&mut self.recent, &mut self.pages);
            }
        }

        fn stats(&mut self) -> DelayStats<'_> {
            self.histogram.take_in(&mut self.recent, &mut self.pages);
            (self.histogram).stats(&self.recent, &self.pages, self.count, self.sum)
        }

        fn reset(&mut self) {
            self.histogram.reset(&mut self.recent, &mut self.pages);
            (self.count, self.sum) = (0, Duration::ZERO);
        }
    }

    proptest! {
        /// Buckets and quantiles are those of the reference.
        #[test]
        fn it_agrees_with_an_hdr_histogram(
            delays in prop::collection::vec((0_u32..40).prop_flat_map(|bits| 0..(1_u64 << bits)), 1..200),
            roomy: bool,
        ) {
            let mut stats = if roomy { Delays::with_room() } else { Delays::default() };
            let mut reference = hdrhistogram::Histogram::<u32>::new_with_bounds(1, LONGEST, 3).expect("the bounds are valid");
            for &nanos in &delays {
                stats.record(Duration::from_nanos(nanos));
                reference.saturating_record(nanos / UNIT_NS);
            }
            let stats = stats.stats();
            let buckets: Vec<_> = reference
                .iter_recorded()
                .map(|bucket| {
                    let value = bucket.value_iterated_to();
                    let [from, to] = [reference.lowest_equivalent(value), reference.next_non_equivalent(value)];
                    (from * UNIT_NS, to * UNIT_NS, u64::from(bucket.count_at_value()))
                })
                .collect();
            prop_assert_eq!(stats.buckets().collect::<Vec<_>>(), buckets);
            for q in [0.05, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let expected = (reference.value_at_quantile(q) * UNIT_NS) as f64;
                let expected = expected.clamp(stats.min(), stats.max());
                prop_assert_eq!(stats.quantile(q).to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn every_value_lies_in_its_bucket_and_no_bucket_is_wider_than_a_thousandth() {
        for bits in 0..33 {
            for units in [1_u64 << bits, (1 << bits) + 1, (2 << bits) - 1] {
                let bucket = bucket_of(units);
                let (from, to) = (lowest_in(bucket), lowest_in(bucket + 1));
                assert!(from <= units && units < to, "{units}: {from}..{to}");
                assert!((to - from - 1) * 1000 <= units);
            }
        }
    }

    #[test]
    fn what_is_longer_than_the_longest_is_counted_with_it() {
        let mut stats = Delays::default();
        stats.record(Duration::MAX);
        let stats = stats.stats();
        assert_eq!(stats.buckets().count(), 1);
        assert!(stats.quantile(0.5) >= (LONGEST * UNIT_NS) as f64);
    }

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let mut stats = Delays::default();
        for micros in 1..=100_000 {
            stats.record(Duration::from_micros(micros));
        }
        let stats = stats.stats();
        for q in [0.05, 0.5, 0.9, 0.99, 0.999] {
            let exact = q * 100_000.0 * 1000.0;
            assert!(
                (stats.quantile(q) - exact).abs() <= 0.001 * exact + 100.0,
                "{q}: {}",
                stats.quantile(q)
            );
        }
        assert!((stats.mean() - 50_000_500.0).abs() < 1.0);
        assert_eq!(
            stats.buckets().map(|(_, _, count)| count).sum::<u64>(),
            100_000
        );
    }

    #[test]
    fn memory_is_that_of_the_delays_there_were() {
        let pages = |stats: &Delays| match &stats.histogram.counts {
            Counts::Dense(_) => panic!("a histogram begins without pages"),
            Counts::Paged(pages) => pages.len(),
        };
        let mut stats = Delays::default();
        assert_eq!(pages(&stats), 0);
        for micros in 20_000..40_000 {
            stats.record(Duration::from_micros(micros));
        }
        stats.stats();
        // An octave, and the rest of the pages it shares.
        assert!(pages(&stats) <= 10, "{}", pages(&stats));
        stats.reset();
        assert_eq!(stats.stats().buckets().count(), 0);
        stats.record(Duration::from_millis(30));
        assert_eq!(stats.stats().buckets().count(), 1);
    }

    #[test]
    fn many_equal_delays_are_all_counted() {
        for mut stats in [Delays::default(), Delays::with_room()] {
            for _ in 0..100_000 {
                stats.record(Duration::from_millis(3));
            }
            stats.record(Duration::from_millis(4));
            let counts: Vec<u64> = stats.stats().buckets().map(|(_, _, count)| count).collect();
            assert_eq!(counts, [100_000, 1]);
            stats.reset();
            assert_eq!(stats.stats().buckets().count(), 0);
        }
    }

    #[test]
    fn nothing_has_no_median() {
        assert!(Delays::default().stats().quantile(0.5).is_nan());
    }
}
