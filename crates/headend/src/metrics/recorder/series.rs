//! Rows over time of many queues or flow directions, at the cost of what changes.
//!
//! A plant has thousands of queues, of which most do nothing in most intervals, and of a row's figures most stay what they were. A row is therefore kept
//! as what it changes of the latest row of the same key: a word that says which figures, then those figures. A row that changes nothing is not
//! kept at all; reading gives it back.

use crate::time::Instant;

/// The rows of all keys; each row is of `N` figures, as 64 bits each. Every key that has had a row has one in every interval that follows.
#[derive(Debug)]
pub(super) struct Series<const N: usize> {
    /// Ends of the intervals, and where their words begin.
    intervals: Vec<(Instant, usize)>,
    words: Vec<u64>,
    /// By key.
    latest: Vec<Option<[u64; N]>>,
}

/// Words for which room is made in advance, at most.
const MOST_ROOM: usize = 1 << 17;

impl<const N: usize> Series<N> {
    /// An empty series of so many keys, with room for `intervals` intervals where keys are few.
    pub(super) fn new(keys: usize, intervals: usize) -> Self {
        assert!(N <= 32, "a word names the figures that change");
        Self {
            intervals: Vec::with_capacity(intervals),
            words: Vec::with_capacity((keys * intervals * (1 + N)).min(MOST_ROOM)),
            latest: vec![None; keys],
        }
    }

    /// Adds the row of `key` in the interval that ends at `at`; keys come in order.
    pub(super) fn push(&mut self, at: Instant, key: u32, row: [u64; N]) {
        if self.intervals.last().is_none_or(|&(last, _)| last < at) {
            self.intervals.push((at, self.words.len()));
        }
        let latest = &mut self.latest[key as usize];
        let is_other = |figure: usize| latest.is_none_or(|latest| latest[figure] != row[figure]);
        let changed = (0..N).filter(|&figure| is_other(figure));
        let mask = changed.fold(0, |mask, figure| mask | 1_u64 << figure);
        if mask == 0 {
            return;
        }
        self.words.push(u64::from(key) << 32 | mask);
        self.words
            .extend(figures_of(mask).map(|figure| row[figure]));
        *latest = Some(row);
    }

    /// Calls `visit` with the end of each interval, and each key with its row, in order.
    pub(super) fn visit(&self, mut visit: impl FnMut(Instant, u32, &[u64; N])) {
        let mut rows: Vec<Option<[u64; N]>> = vec![None; self.latest.len()];
        let ends = self.intervals.iter().skip(1).map(|&(_, begin)| begin);
        let ends = ends.chain([self.words.len()]);
        for (&(at, begin), end) in self.intervals.iter().zip(ends) {
            apply(&self.words[begin..end], &mut rows);
            for (key, row) in rows.iter().enumerate() {
                if let Some(row) = row {
                    visit(at, key as u32, row);
                }
            }
        }
    }
}

/// Makes the changes of one interval.
fn apply<const N: usize>(words: &[u64], rows: &mut [Option<[u64; N]>]) {
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let row = rows[(word >> 32) as usize].get_or_insert([0; N]);
        for figure in figures_of(word & u64::from(u32::MAX)) {
            row[figure] = *words.next().expect("each change has its figure");
        }
    }
}

/// The figures that a mask names, in order.
fn figures_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let figure = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(figure)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(interval: usize) -> Instant {
        Instant::from_nanos(1_000_000_000 * (interval as u64 + 1))
    }

    fn read<const N: usize>(series: &Series<N>) -> Vec<(Instant, u32, [u64; N])> {
        let mut rows = Vec::new();
        series.visit(|at, key, row| rows.push((at, key, *row)));
        rows
    }

    #[test]
    fn a_row_that_changes_nothing_takes_no_room() {
        let mut series = Series::<3>::new(2, 10);
        for interval in 0..10 {
            series.push(at(interval), 0, [7, 0, f64::NAN.to_bits()]);
            series.push(at(interval), 1, [interval as u64, 0, 0]);
        }
        // Two whole rows, and one figure of the second key in the other nine intervals.
        assert_eq!(series.words.len(), 2 * 4 + 9 * 2);
        assert_eq!(read(&series).len(), 20);
    }

    #[test]
    fn a_row_of_zeros_is_a_row() {
        let mut series = Series::<2>::new(1, 1);
        series.push(at(0), 0, [0, 0]);
        assert_eq!(read(&series), [(at(0), 0, [0, 0])]);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert!(read(&Series::<4>::new(3, 5)).is_empty());
    }

    #[test]
    fn room_in_advance_is_limited() {
        let series = Series::<15>::new(100_000, 60);
        assert!(series.words.capacity() <= 2 * MOST_ROOM);
    }

    proptest! {
        /// What was put in comes out, whichever figures change when; keys may begin late.
        #[test]
        fn rows_come_out_as_they_went_in(
            begins in prop::collection::vec(0_usize..8, 1..6),
            figures in prop::collection::vec([0_u64..3, 0..2, 0..1000], 8 * 6),
        ) {
            let mut series = Series::<3>::new(begins.len(), 8);
            let mut rows = Vec::new();
            for interval in 0..8 {
                for (key, &begin) in begins.iter().enumerate() {
                    if interval >= begin {
                        let row = figures[interval * 6 + key];
                        series.push(at(interval), key as u32, row);
                        rows.push((at(interval), key as u32, row));
                    }
                }
            }
            prop_assert_eq!(read(&series), rows);
        }
    }
}
