//! A set of sequence numbers as sorted, separate ranges: what has arrived out of order, or has been
//! selectively acknowledged.
//!
//! Nearly always a range is added at the top or removed at the bottom, which costs O(1) in a
//! double-ended queue. Any other change costs a binary search and a move of the ranges on its
//! shorter side.

use std::collections::VecDeque;

/// First number, and the number after the last.
pub(super) type Range = (u64, u64);

/// Ranges for which memory is allocated with the first.
const ROOM: usize = 128;

/// Sorted ranges that neither overlap nor touch.
#[derive(Debug, Default)]
pub(super) struct RangeSet {
    ranges: VecDeque<Range>,
}

impl RangeSet {
    /// Adds `start..end`, calls `on_gap` with each part of it that was missing, in order, and
    /// returns the range it is now part of.
    pub(super) fn insert(
        &mut self,
        start: u64,
        end: u64,
        mut on_gap: impl FnMut(u64, u64),
    ) -> Range {
        debug_assert!(start < end, "a range holds something");
        match self.ranges.back_mut() {
            Some(last) if start >= last.0 && start <= last.1 => {
                if end > last.1 {
                    on_gap(last.1, end);
                    last.1 = end;
                }
                *last
            }
            Some(last) if start < last.0 => self.insert_below(start, end, on_gap),
            _ => {
                if self.ranges.capacity() == 0 {
                    self.ranges.reserve(ROOM);
                }
                on_gap(start, end);
                self.ranges.push_back((start, end));
                (start, end)
            }
        }
    }

    /// The general case of [`Self::insert`].
    fn insert_below(&mut self, start: u64, end: u64, mut on_gap: impl FnMut(u64, u64)) -> Range {
        let first = self.ranges.partition_point(|range| range.1 < start);
        // Acknowledgements repeat what earlier ones reported.
        if let Some(&known) = self.ranges.get(first)
            && known.0 <= start
            && end <= known.1
        {
            return known;
        }
        let mut merged = (start, end);
        let mut covered = start;
        let mut next = first;
        while let Some(&(from, to)) = self.ranges.get(next).filter(|range| range.0 <= end) {
            if covered < from {
                on_gap(covered, from);
            }
            covered = covered.max(to);
            merged = (merged.0.min(from), merged.1.max(to));
            next += 1;
        }
        if covered < end {
            on_gap(covered, end);
        }
        if next == first {
            self.ranges.insert(first, merged);
        } else {
            self.ranges[first] = merged;
            if next - first > 1 {
                self.ranges.drain(first + 1..next);
            }
        }
        merged
    }

    /// Removes everything below `floor`.
    pub(super) fn remove_below(&mut self, floor: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.1 > floor {
                first.0 = first.0.max(floor);
                return;
            }
            self.ranges.pop_front();
        }
    }

    /// The lowest range.
    #[cfg(test)]
    pub(super) fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }

    /// The highest range.
    pub(super) fn last(&self) -> Option<Range> {
        self.ranges.back().copied()
    }

    /// From the highest range down.
    pub(super) fn descending(&self) -> impl Iterator<Item = Range> + '_ {
        self.ranges.iter().rev().copied()
    }

    /// Whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u64, u64),
        RemoveBelow(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0_u64..200, 1_u64..20).prop_map(|(start, len)| Step::Insert(start, start + len)),
            1 => (0_u64..150).prop_map(Step::RemoveBelow),
        ];
        prop::collection::vec(step, 1..80)
    }

    fn ranges_of(numbers: &BTreeSet<u64>) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for &number in numbers {
            match ranges.last_mut() {
                Some(last) if last.1 == number => last.1 += 1,
                _ => ranges.push((number, number + 1)),
            }
        }
        ranges
    }

    proptest! {
        /// The ranges are those of a plain set of numbers, and exactly the missing numbers are
        /// reported as gaps.
        #[test]
        fn it_agrees_with_a_set_of_numbers(steps in steps()) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(start, end) => {
                        let missing: Vec<u64> =
                            (start..end).filter(|number| !model.contains(number)).collect();
                        let mut reported = Vec::new();
                        let merged = set.insert(start, end, |from, to| reported.extend(from..to));
                        model.extend(start..end);
                        prop_assert_eq!(reported, missing);
                        prop_assert!(ranges_of(&model).contains(&merged));
                        prop_assert!(merged.0 <= start && end <= merged.1);
                    }
                    Step::RemoveBelow(floor) => {
                        set.remove_below(floor);
                        model.retain(|&number| number >= floor);
                    }
                }
                let ranges = ranges_of(&model);
                prop_assert_eq!(set.first(), ranges.first().copied());
                prop_assert_eq!(set.last(), ranges.last().copied());
                prop_assert_eq!(set.is_empty(), ranges.is_empty());
                let descending: Vec<Range> = set.descending().collect();
                prop_assert_eq!(descending, ranges.into_iter().rev().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn touching_ranges_become_one() {
        let mut set = RangeSet::default();
        set.insert(10, 20, |_, _| {});
        set.insert(30, 40, |_, _| {});
        let mut gaps = Vec::new();
        assert_eq!(
            set.insert(20, 30, |from, to| gaps.push((from, to))),
            (10, 40)
        );
        assert_eq!(gaps, [(20, 30)]);
        assert_eq!(set.first(), set.last());
    }

    #[test]
    fn what_is_known_already_is_no_gap() {
        let mut set = RangeSet::default();
        set.insert(10, 20, |_, _| {});
        set.insert(12, 18, |from, to| panic!("{from}..{to} was known"));
        assert_eq!(set.first(), Some((10, 20)));
    }

    #[test]
    fn removing_below_cuts_the_range_it_falls_into() {
        let mut set = RangeSet::default();
        set.insert(10, 20, |_, _| {});
        set.insert(30, 40, |_, _| {});
        set.remove_below(35);
        assert_eq!(set.first(), Some((35, 40)));
        set.remove_below(40);
        assert!(set.is_empty());
    }
}
