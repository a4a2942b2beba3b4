//! Rows over time of many queues or flow directions. Only what changes takes memory.
//!
//! A plant has thousands of queues. Most of them do nothing in most intervals, and most figures of
//! a row are those of the row before. A row is therefore stored as its difference from the latest
//! row of the same key: which figures differ, and the bits in which each does, without the zero
//! bytes at both ends. A row without a difference is not stored; reading gives it back.

use crate::time::Instant;

/// The rows of all keys. A row has `N` figures of 64 bits each. A key that has had a row has one in
/// every interval that follows.
#[derive(Debug)]
pub(super) struct Series<const N: usize> {
    /// End of each interval, and the rows stored before it.
    intervals: Vec<(Instant, usize)>,
    /// Rows stored.
    rows: usize,
    /// The stored rows, one behind the other. No row lies in two chunks.
    chunks: Vec<Vec<u8>>,
    /// The latest row of each key.
    latest: Vec<Option<[u64; N]>>,
    /// The row of each key before the first interval; `None` if no interval was taken out.
    before: Option<Vec<Option<[u64; N]>>>,
}

/// Most bytes that are allocated in advance.
const MOST_ROOM: usize = 1 << 20;
/// Bytes of a chunk, at least and at most.
const CHUNK: (usize, usize) = (1 << 10, 1 << 16);

impl<const N: usize> Series<N> {
    /// Most bytes of a row: key, mask, and each figure with its shape.
    const LONGEST: usize = 4 + 4 + 9 * N;

    /// An empty series of so many keys. If keys are few it has room for `intervals` intervals.
    pub(super) fn new(keys: usize, intervals: usize) -> Self {
        assert!(N <= 32, "a word names the figures that change");
        let most = (keys * intervals + 1) * Self::LONGEST;
        let first = (most <= MOST_ROOM).then(|| Vec::with_capacity(most));
        Self {
            intervals: Vec::with_capacity(intervals),
            rows: 0,
            chunks: first.into_iter().collect(),
            latest: vec![None; keys],
            before: None,
        }
    }

    /// Takes out all intervals: [`Self::visit`] goes on with the next one.
    pub(super) fn clear(&mut self) {
        self.intervals.clear();
        self.rows = 0;
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Vec::clear);
        self.before = Some(self.latest.clone());
    }

    /// Adds the row of `key` in the interval that ends at `at`; keys come in order.
    pub(super) fn push(&mut self, at: Instant, key: u32, row: [u64; N]) {
        if self.intervals.last().is_none_or(|&(last, _)| last < at) {
            self.intervals.push((at, self.rows));
        }
        let latest = &mut self.latest[key as usize];
        let is_other = |figure: usize| latest.is_none_or(|latest| latest[figure] != row[figure]);
        let changed = (0..N).filter(|&figure| is_other(figure));
        let mask = changed.fold(0, |mask, figure| mask | 1_u32 << figure);
        if mask == 0 {
            return;
        }
        let before = latest.replace(row).unwrap_or([0; N]);
        self.rows += 1;
        let chunk = self.chunk();
        chunk.extend(key.to_le_bytes());
        chunk.extend(mask.to_le_bytes());
        for figure in figures_of(mask) {
            put(before[figure] ^ row[figure], chunk);
        }
    }

    /// The chunk for the next row.
    fn chunk(&mut self) -> &mut Vec<u8> {
        let has_room = |chunk: &Vec<u8>| chunk.capacity() - chunk.len() >= Self::LONGEST;
        if !self.chunks.last().is_some_and(has_room) {
            // Room for one row of each key.
            let bytes = self.latest.len() * Self::LONGEST;
            self.chunks
                .push(Vec::with_capacity(bytes.clamp(CHUNK.0, CHUNK.1)));
        }
        self.chunks.last_mut().expect("made if there was none")
    }

    /// Calls `visit` with the end of each interval, and each key with its row, in order.
    pub(super) fn visit(&self, mut visit: impl FnMut(Instant, u32, &[u64; N])) {
        let mut rows = match &self.before {
            Some(before) => before.clone(),
            None => vec![None; self.latest.len()],
        };
        let ends = self.intervals.iter().skip(1).map(|&(_, begin)| begin);
        let ends = ends.chain([self.rows]);
        let mut bytes = self.chunks.iter().flatten().copied();
        for (&(at, begin), end) in self.intervals.iter().zip(ends) {
            for _ in begin..end {
                apply(&mut bytes, &mut rows);
            }
            for (key, row) in rows.iter().enumerate() {
                if let Some(row) = row {
                    visit(at, key as u32, row);
                }
            }
        }
    }
}

/// Reads one stored row and applies its differences.
fn apply<const N: usize>(bytes: &mut impl Iterator<Item = u8>, rows: &mut [Option<[u64; N]>]) {
    let [key, mask] = [(); 2].map(|()| take(4, bytes));
    let row = rows[key as usize].get_or_insert([0; N]);
    for figure in figures_of(mask as u32) {
        let shape = take(1, bytes);
        row[figure] ^= take(shape & 15, bytes) << (8 * (shape >> 4));
    }
}

/// Writes `bits`: a byte with the number of bytes that follow (less significant half) and of zero
/// bytes below them, then those bytes, the least significant first.
fn put(bits: u64, chunk: &mut Vec<u8>) {
    let zeros = (bits.trailing_zeros() / 8).min(7);
    let bits = bits >> (8 * zeros);
    let bytes = (u64::BITS - bits.leading_zeros()).div_ceil(8);
    chunk.push((zeros << 4 | bytes) as u8);
    chunk.extend(&bits.to_le_bytes()[..bytes as usize]);
}

/// The number in the next `count` bytes.
fn take(count: u64, bytes: &mut impl Iterator<Item = u8>) -> u64 {
    (0..count).fold(0, |number, place| {
        let byte = bytes.next().expect("rows are read as they were written");
        number | u64::from(byte) << (8 * place)
    })
}

/// The figures of a mask, in order.
fn figures_of(mut mask: u32) -> impl Iterator<Item = usize> {
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
        // First a row of a short figure, zero and a NaN, and a row of zeros; in the other nine
        // intervals one short figure.
        let figures = (2 + 1 + 3) + (1 + 1 + 1) + 9 * 2;
        assert_eq!(series.chunks[0].len(), 11 * 8 + figures);
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
        assert!(series.chunks.is_empty());
    }

    #[test]
    fn rows_go_on_in_other_chunks() {
        let mut series = Series::<3>::new(500, 2000);
        let row =
            |interval: usize, key: usize| [u64::MAX - interval as u64, key as u64, 1 << interval];
        for (interval, key) in (0..20).flat_map(|interval| (0..500).map(move |key| (interval, key)))
        {
            series.push(at(interval), key as u32, row(interval, key));
        }
        let [chunks, full] = [series.chunks.len(), series.chunks[0].capacity()];
        assert!(chunks > 2 && full == 500 * (8 + 27), "{chunks} of {full} B");
        for (index, (when, key, figures)) in read(&series).into_iter().enumerate() {
            assert_eq!((when, key as usize), (at(index / 500), index % 500));
            assert_eq!(figures, row(index / 500, index % 500));
        }
    }

    proptest! {
        /// What was put in comes out, whichever figures change when; keys may begin late, and rows
        /// may be taken out in between.
        #[test]
        fn rows_come_out_as_they_went_in(
            begins in prop::collection::vec(0_usize..8, 1..6),
            figures in prop::collection::vec([0_u64..3, 0..2, 0..u64::MAX], 8 * 6),
            taken in prop::collection::vec(prop::bool::ANY, 8),
        ) {
            let mut series = Series::<3>::new(begins.len(), 8);
            let (mut rows, mut out) = (Vec::new(), Vec::new());
            for interval in 0..8 {
                if taken[interval] {
                    out.extend(read(&series));
                    series.clear();
                }
                for (key, &begin) in begins.iter().enumerate() {
                    if interval >= begin {
                        let row = figures[interval * 6 + key];
                        series.push(at(interval), key as u32, row);
                        rows.push((at(interval), key as u32, row));
                    }
                }
            }
            out.extend(read(&series));
            prop_assert_eq!(out, rows);
        }
    }
}
