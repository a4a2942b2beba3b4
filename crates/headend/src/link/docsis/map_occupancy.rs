//! The minislots of one MAP interval: which of them are free, and how grants are cut from them.
//!
//! Free minislots form runs. A run ends at the end of its channel, or where a grant with a fixed
//! time begins. Grants with a fixed time are taken first. The other grants are cut from the
//! remaining runs, one after the other from a starting point on. They wrap around at the end of the
//! interval.

use std::ops::RangeInclusive;

use super::timing::UpstreamTiming;

/// Consecutive free minislots of one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    end: u64,
}

/// The minislots of one MAP interval.
#[derive(Debug, Default)]
pub struct MapOccupancy {
    runs: Vec<Run>,
    free: u64,
    /// Position of the next cut: the run, and the minislot.
    run: usize,
    at: u64,
    /// Free minislots from here to the starting point.
    left: u64,
}

impl MapOccupancy {
    /// Marks all minislots of `length` MAP intervals as free, except the first `taken` minislots of
    /// each channel.
    pub fn clear(&mut self, timing: &UpstreamTiming, length: u64, taken: u64) {
        let per_channel = timing.minislots_per_channel() * length;
        self.runs.clear();
        self.runs.extend((0..timing.channels).map(|channel| Run {
            first: channel * per_channel + taken.min(per_channel),
            end: (channel + 1) * per_channel,
        }));
        self.recount();
    }

    /// Number of free minislots.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Takes `minislots` consecutive minislots that begin in one of `frames`, as early as possible.
    /// Returns the first of them.
    pub fn take_within(
        &mut self,
        minislots: u64,
        frames: &RangeInclusive<u64>,
        timing: &UpstreamTiming,
    ) -> Option<u64> {
        let per_channel = timing.minislots_per_channel();
        let fit = |run: &Run| {
            let channel = if timing.channels == 1 {
                0
            } else {
                run.first / per_channel
            };
            let first = run
                .first
                .max(timing.first_minislot(channel, *frames.start()));
            let fits = first + minislots <= run.end && timing.frame_of(first) <= *frames.end();
            fits.then(|| (timing.frame_of(first), first))
        };
        let earliest = self.runs.iter().enumerate().filter_map(|(index, run)| {
            let (frame, first) = fit(run)?;
            Some((frame, index, first))
        });
        let (_, index, first) = earliest.min()?;
        self.take(index, first, minislots);
        Some(first)
    }

    /// Takes minislots from a run.
    fn take(&mut self, index: usize, first: u64, minislots: u64) {
        let run = self.runs[index];
        let parts = [(run.first, first), (first + minislots, run.end)];
        let parts = parts.map(|(first, end)| Run { first, end });
        self.runs.splice(
            index..=index,
            parts.into_iter().filter(|part| part.first < part.end),
        );
        self.recount();
    }

    fn recount(&mut self) {
        self.free = self.runs.iter().map(|run| run.end - run.first).sum();
        self.start_at(0);
    }

    /// Sets the starting point to free minislot `offset`.
    pub fn start_at(&mut self, mut offset: u64) {
        self.left = self.free;
        self.run = 0;
        for (index, run) in self.runs.iter().enumerate() {
            self.run = index;
            self.at = run.first + offset;
            if self.at < run.end {
                break;
            }
            offset -= run.end - run.first;
        }
    }

    /// Cuts up to `most` consecutive minislots where the last cut ended. Returns the first of them
    /// and their number.
    pub fn cut(&mut self, most: u64) -> Option<(u64, u64)> {
        if self.left == 0 || most == 0 {
            return None;
        }
        if self.at == self.runs[self.run].end {
            self.run = (self.run + 1) % self.runs.len();
            self.at = self.runs[self.run].first;
        }
        let minislots = most.min(self.runs[self.run].end - self.at).min(self.left);
        let first = self.at;
        self.at += minislots;
        self.left -= minislots;
        Some((first, minislots))
    }

    /// Cuts the rest of the last run of the interval, for a grant that extends into the next
    /// interval.
    pub fn cut_last(&mut self) -> Option<(u64, u64)> {
        let last = self.runs.len().checked_sub(1)?;
        let first = if self.run == last {
            self.at
        } else {
            self.runs[last].first
        };
        let minislots = (self.runs[last].end - first).min(self.left);
        self.left = 0;
        (minislots > 0).then_some((first, minislots))
    }

    /// Cuts `minislots` consecutive minislots and skips runs that are too short. If no run is long
    /// enough, nothing is skipped.
    pub fn cut_whole(&mut self, minislots: u64) -> Option<u64> {
        let before = (self.run, self.at, self.left);
        while self.left > 0 {
            let here = (self.runs[self.run].end - self.at).min(self.left);
            if here >= minislots {
                return self.cut(minislots).map(|(first, _)| first);
            }
            self.left -= here;
            self.run = (self.run + 1) % self.runs.len();
            self.at = self.runs[self.run].first;
        }
        (self.run, self.at, self.left) = before;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset::Plant;
    use super::*;

    /// Three channels of 16 minislots in 20 frames each.
    fn bonded() -> UpstreamTiming {
        UpstreamTiming {
            channels: 3,
            minislots_per_frame: 1,
            frames_per_map: 20,
            opportunities: 6,
            opportunity_minislots: 2,
            ..Plant::docsis30().upstream_timing()
        }
    }

    fn occupancy(timing: &UpstreamTiming) -> MapOccupancy {
        let mut occupancy = MapOccupancy::default();
        occupancy.clear(timing, 1, 0);
        occupancy
    }

    #[test]
    fn a_grant_ends_where_its_channel_ends_and_goes_on_in_the_next() {
        let timing = bonded();
        let mut occupancy = occupancy(&timing);
        assert_eq!(occupancy.free(), 48);
        occupancy.start_at(10);
        assert_eq!(occupancy.cut(20), Some((10, 6)));
        assert_eq!(occupancy.cut(14), Some((16, 14)));
        assert_eq!(occupancy.cut(100), Some((30, 2)));
        assert_eq!(occupancy.cut(100), Some((32, 16)));
        assert_eq!(occupancy.cut(100), Some((0, 10)), "round the corner");
        assert_eq!(occupancy.cut(1), None);
    }

    #[test]
    fn a_grant_in_its_place_begins_in_time_on_the_earliest_channel_that_has_room() {
        let timing = bonded();
        let mut occupancy = occupancy(&timing);
        let frames = 5..=7;
        let first: Vec<Option<u64>> = (0..4)
            .map(|_| occupancy.take_within(8, &frames, &timing))
            .collect();
        // Frame 5 begins with minislot 4 of each channel. 8 minislots end at minislot 12, and 8
        // more do not fit after it.
        assert_eq!(first, [Some(4), Some(20), Some(36), None]);
        assert_eq!(occupancy.free(), 24);
        occupancy.start_at(0);
        let pieces: Vec<(u64, u64)> = std::iter::from_fn(|| occupancy.cut(100)).collect();
        assert_eq!(
            pieces,
            [(0, 4), (12, 4), (16, 4), (28, 4), (32, 4), (44, 4)]
        );
    }

    #[test]
    fn a_whole_cut_leaves_out_what_is_too_short() {
        let timing = bonded();
        let mut occupancy = occupancy(&timing);
        occupancy.start_at(10);
        assert_eq!(occupancy.cut_whole(8), Some(16));
        assert_eq!(occupancy.cut_whole(8), Some(24));
        assert_eq!(occupancy.cut_whole(16), Some(32));
        assert_eq!(occupancy.cut_whole(11), None);
        assert_eq!(occupancy.cut(100), Some((0, 10)), "round the corner");
    }

    #[test]
    fn everything_can_be_taken_and_then_nothing_is_left() {
        let timing = bonded();
        let mut occupancy = occupancy(&timing);
        for _ in 0..3 {
            assert!(occupancy.take_within(16, &(0..=19), &timing).is_some());
        }
        assert_eq!(occupancy.free(), 0);
        assert_eq!((occupancy.cut(1), occupancy.cut_whole(1)), (None, None));
        assert_eq!(occupancy.take_within(1, &(0..=19), &timing), None);
    }
}
