//! A histogram of delays with a resolution of 0.1 %, and their exact count, sum, minimum and
//! maximum.
//!
//! The histogram is log-linear: each octave of values is cut into 1024 buckets of equal width. A
//! bucket is thus never wider than a thousandth of the values in it, and a shift finds the bucket
//! of a value. The buckets and quantiles are those of an HDR histogram with three digits; a test
//! compares them.
//!
//! A street of 1000 modems has thousands of histograms with some hundreds of delays in each. This
//! is the reason for two choices:
//!
//! - Counts are allocated in pages of four buckets when a delay falls into them. With an octave at
//!   once, a street takes five times the memory.
//! - Delays are counted sixteen at a time. One by one, a packet of the street takes a third more
//!   time, in which the processor waits for memory (ADR 0022).

use std::collections::BTreeMap;

use crate::time::Duration;

/// Width of the narrowest buckets, nanoseconds. Inside the histogram a delay is a number of these.
pub(super) const UNIT_NS: u64 = 100;
/// The longest delay with a bucket of its own, in units: 1000 s. Longer ones are counted with it.
const LONGEST: u64 = 10_000_000_000;
/// Buckets of an octave, as a power of two.
const PRECISION: u32 = 10;
/// Buckets of an octave.
const BUCKETS: usize = 1 << PRECISION;
/// Buckets of a page.
const PAGE: usize = 4;
/// Pages of an octave.
const PAGES: usize = BUCKETS / PAGE;
/// Octaves up to that of the longest delay.
const OCTAVES: usize = (bucket_of(LONGEST) >> PRECISION) + 1;
/// Pages for which all histograms of a run have room at the start, and most for one of them.
const ROOM: usize = 1 << 16;
const MOST_ROOM: usize = 1 << 12;
/// Pages of an octave that are in use, at least, once many delays have fallen into it.
const LEAST_PAGES: usize = PAGES / 4;
/// Delays that are counted together.
const BATCH: usize = 16;

/// The bucket of a delay of so many units. Each value below two times 1024 has its own bucket;
/// from there on each octave has 1024.
#[inline]
const fn bucket_of(units: u64) -> usize {
    let shift = (units | ((2 << PRECISION) - 1)).ilog2() - PRECISION;
    ((shift as usize) << PRECISION) + (units >> shift) as usize
}

/// The lowest value in a bucket, in units.
const fn lowest_in(bucket: usize) -> u64 {
    let octave = (bucket >> PRECISION) as u32;
    let shift = octave.saturating_sub(1);
    ((bucket as u64) - ((shift as u64) << PRECISION)) << shift
}

/// How often which delays occurred. Its memory does not grow with the number of delays.
#[derive(Debug)]
pub struct Histogram {
    count: u64,
    /// Sum of all delays, nanoseconds.
    sum: u64,
    /// Shortest delay, nanoseconds; the largest number there is before the first.
    min: u64,
    /// Longest delay, nanoseconds.
    max: u64,
    /// The buckets of the latest delays, which are not counted in `pages` yet.
    batch: [u16; BATCH],
    /// How many delays are in `batch`.
    batched: usize,
    /// By octave, where its table is: the index in `tables` plus one, or zero for an octave into
    /// which no delay has fallen. A table says the same of the octave's pages in `pages`.
    octaves: [u8; OCTAVES],
    tables: Vec<[u16; PAGES]>,
    /// Counts of buckets next to each other.
    pages: Vec<[u32; PAGE]>,
    /// By bucket: how often its count has wrapped around.
    wraps: BTreeMap<usize, u64>,
}

const _: () = assert!(OCTAVES * BUCKETS <= 1 << 16, "a bucket is a 16-bit number");

impl Histogram {
    /// An empty histogram, one of `count` in a run. Where there are few, it has room for all delays
    /// that are likely, and allocates nothing later.
    pub fn one_of(count: usize) -> Self {
        let room = ROOM / count.max(1);
        Self {
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            batch: [0; BATCH],
            batched: 0,
            octaves: [0; OCTAVES],
            tables: Vec::with_capacity((room / LEAST_PAGES).min(OCTAVES)),
            pages: Vec::with_capacity(room.min(MOST_ROOM)),
            wraps: BTreeMap::new(),
        }
    }

    /// Counts one delay.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        let nanos = delay.as_nanos();
        self.count += 1;
        self.sum += nanos;
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        self.batch[self.batched] = bucket_of((nanos / UNIT_NS).min(LONGEST)) as u16;
        self.batched += 1;
        if self.batched == BATCH {
            self.count_batch();
        }
    }

    /// Counts the delays of the batch in their pages.
    fn count_batch(&mut self) {
        for index in 0..std::mem::take(&mut self.batched) {
            let bucket = usize::from(self.batch[index]);
            let octave = &mut self.octaves[bucket >> PRECISION];
            if *octave == 0 {
                self.tables.push([0; PAGES]);
                *octave = self.tables.len() as u8;
            }
            let place = &mut self.tables[usize::from(*octave) - 1][bucket % BUCKETS / PAGE];
            if *place == 0 {
                self.pages.push([0; PAGE]);
                *place = self.pages.len() as u16;
            }
            let count = &mut self.pages[usize::from(*place) - 1][bucket % PAGE];
            *count = count.wrapping_add(1);
            if *count == 0 {
                *self.wraps.entry(bucket).or_default() += 1;
            }
        }
    }

    /// Forgets all delays. It keeps its pages: after a warm-up the delays lie in the same ones.
    pub fn reset(&mut self) {
        self.pages.fill([0; PAGE]);
        self.wraps.clear();
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
        self.batched = 0;
    }

    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in nanoseconds; NaN if there was no delay.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count as f64
    }

    /// Minimum in nanoseconds; NaN if there was no delay.
    pub fn min(&self) -> f64 {
        self.unless_empty(self.min)
    }

    /// Maximum in nanoseconds; NaN if there was no delay.
    pub fn max(&self) -> f64 {
        self.unless_empty(self.max)
    }

    /// The delay, in nanoseconds, that a share `q` of the packets did not exceed, right to 0.1 % or
    /// 100 ns; NaN if there was no delay.
    pub fn quantile(&self, q: f64) -> f64 {
        let wanted = ((q * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counts().find(|&(_, count)| {
            seen += count;
            seen >= wanted
        });
        bucket.map_or(f64::NAN, |(bucket, _)| {
            let highest = lowest_in(bucket + 1) - 1;
            ((highest * UNIT_NS) as f64).clamp(self.min as f64, self.max as f64)
        })
    }

    /// Non-empty buckets in order: from, to (nanoseconds), count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.counts().map(|(bucket, count)| {
            let [from, to] = [bucket, bucket + 1].map(|bucket| lowest_in(bucket) * UNIT_NS);
            (from, to, count)
        })
    }

    /// Non-empty buckets in order, each with its count.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        let mut counts = Vec::new();
        for (octave, &table) in self.octaves.iter().enumerate() {
            let Some(table) = usize::from(table).checked_sub(1) else {
                continue;
            };
            for (page, &place) in self.tables[table].iter().enumerate() {
                if place > 0 {
                    let first = octave * BUCKETS + page * PAGE;
                    let page = self.pages[usize::from(place) - 1].map(u64::from);
                    counts.extend((first..).zip(page));
                }
            }
        }
        let mut add =
            |bucket, more| match counts.binary_search_by_key(&bucket, |&(bucket, _)| bucket) {
                Ok(place) => counts[place].1 += more,
                Err(place) => counts.insert(place, (bucket, more)),
            };
        for (&bucket, &wraps) in &self.wraps {
            add(bucket, wraps << u32::BITS);
        }
        for &bucket in &self.batch[..self.batched] {
            add(usize::from(bucket), 1);
        }
        counts.into_iter().filter(|&(_, count)| count > 0)
    }

    fn unless_empty(&self, nanos: u64) -> f64 {
        if self.count == 0 {
            f64::NAN
        } else {
            nanos as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Buckets and quantiles are those of the reference.
        #[test]
        fn it_agrees_with_an_hdr_histogram(
            delays in prop::collection::vec(
                (0_u32..40).prop_flat_map(|bits| 0..(1_u64 << bits)),
                1..200,
            ),
        ) {
            let mut histogram = Histogram::one_of(1);
            let reference = hdrhistogram::Histogram::<u32>::new_with_bounds(1, LONGEST, 3);
            let mut reference = reference.expect("the bounds are valid");
            for &nanos in &delays {
                histogram.record(Duration::from_nanos(nanos));
                reference.saturating_record(nanos / UNIT_NS);
            }
            let buckets: Vec<_> = reference
                .iter_recorded()
                .map(|bucket| {
                    let value = bucket.value_iterated_to();
                    let from = reference.lowest_equivalent(value);
                    let to = reference.next_non_equivalent(value);
                    (from * UNIT_NS, to * UNIT_NS, u64::from(bucket.count_at_value()))
                })
                .collect();
            prop_assert_eq!(histogram.buckets().collect::<Vec<_>>(), buckets);
            for q in [0.05, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let expected = (reference.value_at_quantile(q) * UNIT_NS) as f64;
                let expected = expected.clamp(histogram.min(), histogram.max());
                prop_assert_eq!(histogram.quantile(q).to_bits(), expected.to_bits());
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
        let mut histogram = Histogram::one_of(1);
        histogram.record(Duration::from_nanos(LONGEST * UNIT_NS));
        histogram.record(Duration::from_nanos(u64::MAX / 2));
        assert_eq!(histogram.buckets().count(), 1);
        assert!(histogram.quantile(0.5) >= (LONGEST * UNIT_NS) as f64);
    }

    #[test]
    fn quantiles_are_right_to_a_thousandth() {
        let mut histogram = Histogram::one_of(1);
        for micros in 1..=100_000 {
            histogram.record(Duration::from_micros(micros));
        }
        for q in [0.05, 0.5, 0.9, 0.99, 0.999] {
            let exact = q * 100_000.0 * 1000.0;
            assert!(
                (histogram.quantile(q) - exact).abs() <= 0.001 * exact + 100.0,
                "{q}: {}",
                histogram.quantile(q)
            );
        }
        assert!((histogram.mean() - 50_000_500.0).abs() < 1.0);
        let counts = histogram.buckets().map(|(_, _, count)| count);
        assert_eq!(counts.sum::<u64>(), 100_000);
    }

    #[test]
    fn memory_is_that_of_the_delays_that_occur() {
        let mut histogram = Histogram::one_of(1);
        for micros in 20_000..40_000 {
            histogram.record(Duration::from_micros(micros));
        }
        // From a value to its double are the buckets of an octave, and at most a page more.
        let pages = histogram.pages.len();
        assert!(pages <= PAGES + 1, "{pages}");
        histogram.reset();
        assert_eq!(histogram.buckets().count(), 0);
        histogram.record(Duration::from_millis(30));
        assert_eq!(histogram.buckets().count(), 1);
        assert_eq!(histogram.pages.len(), pages);
    }

    #[test]
    fn many_equal_delays_are_all_counted() {
        let mut histogram = Histogram::one_of(1);
        let record = |millis, times: u64, histogram: &mut Histogram| {
            for _ in 0..times {
                histogram.record(Duration::from_millis(millis));
            }
        };
        record(3, 100_000, &mut histogram);
        // As if there had been four thousand million before.
        for count in histogram
            .pages
            .iter_mut()
            .flatten()
            .filter(|count| **count > 0)
        {
            *count = u32::MAX;
        }
        record(3, 20, &mut histogram);
        record(4, 1, &mut histogram);
        let counts: Vec<u64> = histogram.buckets().map(|(_, _, count)| count).collect();
        assert_eq!(counts, [(1 << 32) + 19, 1]);
    }

    #[test]
    fn after_a_reset_only_later_delays_count() {
        let mut histogram = Histogram::one_of(1);
        for millis in [1, 50, 900] {
            histogram.record(Duration::from_millis(millis));
        }
        histogram.reset();
        assert_empty(&histogram);
        histogram.record(Duration::from_millis(20));
        for figure in [
            histogram.mean(),
            histogram.min(),
            histogram.max(),
            histogram.quantile(0.5),
        ] {
            assert_eq!(figure.to_bits(), 20e6_f64.to_bits());
        }
    }

    #[test]
    fn without_delays_there_are_no_figures() {
        assert_empty(&Histogram::one_of(1));
    }

    #[track_caller]
    fn assert_empty(histogram: &Histogram) {
        assert_eq!(histogram.buckets().count(), 0);
        for figure in [
            histogram.mean(),
            histogram.min(),
            histogram.max(),
            histogram.quantile(0.5),
        ] {
            assert!(figure.is_nan(), "{figure}");
        }
    }
}
