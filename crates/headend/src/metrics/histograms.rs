//! The histograms of all flows, or of all queues: what was noted of several is counted together.
//!
//! In a plant neither a histogram nor its pages are in the cache when its notes are full. Those of some others wait too, so all of them are asked for
//! first, step by step, and then counted.

use prefetch_index::prefetch_index;

use super::delay::{DelayStats, Histogram, Recent};
use super::pages::PageStore;
use crate::time::Duration;

/// Histograms that are few: of so many, each has all its room from the start.
pub(super) const FEW: usize = 32;
/// Full notes that are counted together.
const TOGETHER: usize = 16;

/// The histograms, by index, each with notes of `N` delays at a time.
#[derive(Debug)]
pub(super) struct Histograms<const N: usize> {
    all: Vec<Histogram>,
    /// Notes that wait, and whose they are.
    waiting: Vec<(u32, [u16; N])>,
}

impl<const N: usize> Histograms<N> {
    /// So many; if they are few, with all their room.
    pub(super) fn new(count: usize, are_few: bool) -> Self {
        let empty = || {
            if are_few {
                Histogram::with_room()
            } else {
                Histogram::default()
            }
        };
        Self {
            all: std::iter::repeat_with(empty).take(count).collect(),
            waiting: Vec::with_capacity(if are_few { 0 } else { TOGETHER }),
        }
    }

    /// Takes the notes of one, which are full: of few histograms, which are in the cache anyway, they need not wait.
    #[cold]
    pub(super) fn take_in(&mut self, index: usize, recent: &mut Recent<N>, pages: &mut PageStore) {
        if self.waiting.capacity() == 0 {
            self.all[index].take_in(recent, pages);
            return;
        }
        self.waiting.push((index as u32, recent.take()));
        if self.waiting.len() == self.waiting.capacity() {
            self.count_waiting(pages);
        }
    }

    /// Counts what was noted of one, full or not, once nothing [waits](Self::count_waiting).
    pub(super) fn finish(&mut self, index: usize, recent: &mut Recent<N>, pages: &mut PageStore) {
        debug_assert!(self.waiting.is_empty(), "in order");
        self.all[index].take_in(recent, pages);
    }

    /// Counts all notes that wait.
    pub(super) fn count_waiting(&mut self, pages: &mut PageStore) {
        for &(index, _) in &self.waiting {
            prefetch_index(&self.all, index as usize);
        }
        for &(index, _) in &self.waiting {
            self.all[index as usize].fetch();
        }
        for (index, buckets) in &self.waiting {
            self.all[*index as usize].fetch_pages(buckets, pages);
        }
        for (index, buckets) in self.waiting.drain(..) {
            self.all[index as usize].count(&buckets, pages);
        }
    }

    /// Forgets everything about one, also what was noted or waits; keeps its memory.
    pub(super) fn reset(&mut self, index: usize, recent: &mut Recent<N>, pages: &mut PageStore) {
        self.waiting.retain(|&(whose, _)| whose as usize != index);
        self.all[index].reset(recent, pages);
    }

    /// What the delays of one come to: see [`Histogram::stats`].
    pub(super) fn stats<'a>(
        &'a self,
        index: usize,
        recent: &Recent<N>,
        pages: &'a PageStore,
        count: u64,
        sum: Duration,
    ) -> DelayStats<'a> {
        assert!(self.waiting.is_empty(), "what waits is counted first");
        self.all[index].stats(recent, pages, count, sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: usize = 3;

    /// Delays of several flows, in turns, of which each has as many as its number says beyond what fills its notes.
    fn delays() -> impl Iterator<Item = (usize, Duration)> {
        let rounds = 0..500_u64;
        let of_round = |round| (0..40).filter(move |&index| round < 400 + index as u64);
        rounds.flat_map(move |round| {
            of_round(round).map(move |index| {
                let nanos = (round * 7919 + index as u64) % 1000 * 1_000_000;
                (index, Duration::from_nanos(nanos))
            })
        })
    }

    /// Median and 99th percentile of each, counted together if there are many.
    fn quantiles(are_few: bool) -> Vec<[u64; 2]> {
        let mut pages = PageStore::default();
        let mut histograms = Histograms::<NOTES>::new(40, are_few);
        let mut notes: Vec<Recent<NOTES>> = Vec::new();
        notes.resize_with(40, Recent::default);
        let mut seen = [(0, Duration::ZERO); 40];
        for (index, delay) in delays() {
            seen[index].0 += 1;
            seen[index].1 += delay;
            if notes[index].record(delay) {
                histograms.take_in(index, &mut notes[index], &mut pages);
            }
        }
        histograms.count_waiting(&mut pages);
        for (index, notes) in notes.iter_mut().enumerate() {
            histograms.finish(index, notes, &mut pages);
        }
        let of = |(index, notes): (usize, &Recent<NOTES>)| {
            let (count, sum) = seen[index];
            let stats = histograms.stats(index, notes, &pages, count, sum);
            [0.5, 0.99].map(|share| stats.quantile(share).to_bits())
        };
        notes.iter().enumerate().map(of).collect()
    }

    #[test]
    fn what_waits_is_counted_as_what_does_not() {
        assert_eq!(quantiles(false), quantiles(true));
    }

    #[test]
    fn what_waits_is_forgotten_with_the_rest() {
        let mut pages = PageStore::default();
        let mut histograms = Histograms::<NOTES>::new(2, false);
        let mut notes = [Recent::default(), Recent::default()];
        for (index, notes) in notes.iter_mut().enumerate() {
            while !notes.record(Duration::from_millis(1 + index as u64)) {}
            histograms.take_in(index, notes, &mut pages);
        }
        histograms.reset(0, &mut notes[0], &mut pages);
        histograms.count_waiting(&mut pages);
        let median = |index: usize, count| {
            let stats = histograms.stats(index, &notes[index], &pages, count, Duration::ZERO);
            stats.quantile(0.5)
        };
        assert!(median(0, 0).is_nan());
        assert!((median(1, NOTES as u64) / 2e6 - 1.0).abs() < 0.001);
    }
}
