//! Scores video as its receiver sees it: the share of frames that are complete in time, their
//! delay, and how long the picture is frozen.
//!
//! A frame is sent as several packets and is whole once the last of them has arrived. A viewer who
//! reacts to the picture needs the frame by a deadline. A whole frame is shown at once, late or
//! not, unless a later one was shown before. A frame that never becomes whole is skipped.
//!
//! The picture is *frozen* as W3C's WebRTC statistics define a freeze: no frame is shown for max(3
//! δ, δ + 150 ms), where δ is the time between two frames. All of that time counts.

use std::collections::VecDeque;

use crate::metrics::periods::Periods;
use crate::time::{Duration, Instant};

/// How video is scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scoring {
    /// The longest time from a frame's encoding to its last packet's arrival with which the frame
    /// is in time.
    pub(crate) deadline: Duration,
    /// The length of a scoring period.
    pub(crate) period: Duration,
    /// The time between two frames.
    pub(crate) interval: Duration,
}

/// The score of one scoring period of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Score {
    /// The end of the period.
    pub(crate) ended: Instant,
    /// Mean time from encoding to the last packet's arrival, in nanoseconds, over the frames that
    /// became whole; NaN if none did.
    pub(crate) delay: f64,
    /// The share of the frames that were not whole at their deadline.
    pub(crate) late: f64,
    /// The share of the period in which the picture was frozen.
    pub(crate) frozen: f64,
    /// The rate of the video that arrived of what was sent in the period, in bit/s of IP packets.
    pub(crate) rate: f64,
}

/// Scores the video of one direction, period by period.
#[derive(Debug)]
pub(crate) struct Scorer {
    scoring: Scoring,
    periods: Periods<Tally>,
    /// The frames from the first one that is not whole: as many as are encoded in a grace.
    frames: VecDeque<Frame>,
    room: usize,
    /// The number of the first of them.
    first: u64,
    /// The number of the next frame that may be shown.
    next_shown: u64,
    /// When the picture last changed.
    shown_at: Instant,
    /// The time up to which a freeze that has not ended is counted.
    counted_to: Instant,
}

#[derive(Debug, Clone, Default)]
struct Tally {
    frames: u64,
    whole: u64,
    in_time: u64,
    delay_sum: u64,
    frozen: Duration,
    bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    encoded_at: Instant,
    missing: u32,
}

impl Scorer {
    /// A scorer of video whose first frame is not yet encoded.
    pub(crate) fn new(scoring: Scoring) -> Self {
        let grace = GRACE.max(scoring.deadline);
        let room = (grace.as_nanos() / scoring.interval.as_nanos()) as usize + 2;
        Self {
            scoring,
            periods: Periods::new(scoring.period, grace),
            frames: VecDeque::with_capacity(room),
            room,
            first: 0,
            next_shown: 0,
            shown_at: Instant::ZERO,
            counted_to: Instant::ZERO,
        }
    }

    /// The length of a period.
    pub(crate) fn period(&self) -> Duration {
        self.scoring.period
    }

    /// Starts the first period, or continues it, shortened by `over`.
    pub(crate) fn start(&mut self, now: Instant, over: Duration) {
        self.periods.start(now, over);
        self.shown_at = now;
    }

    /// Records that the next frame was encoded as `packets` packets, and returns the frame's
    /// number. The scores that are due must be taken first.
    pub(crate) fn encoded(&mut self, now: Instant, packets: u32) -> u64 {
        if let Some(tally) = self.periods.tally(now) {
            tally.frames += 1;
        }
        // A frame that is not whole after this time is skipped.
        if self.frames.len() == self.room {
            self.pop();
        }
        self.frames.push_back(Frame {
            encoded_at: now,
            missing: packets,
        });
        self.first + self.frames.len() as u64 - 1
    }

    /// Records that a packet of `size` bytes of frame `number` arrived. The scores that are due
    /// must be taken first.
    pub(crate) fn arrived(&mut self, number: u64, size: u16, now: Instant) {
        let Some(place) = number.checked_sub(self.first) else {
            return;
        };
        let frame = &mut self.frames[place as usize];
        frame.missing -= 1;
        let Frame {
            encoded_at,
            missing,
        } = *frame;
        if let Some(tally) = self.periods.tally(encoded_at) {
            tally.bytes += u64::from(size);
            if missing == 0 {
                let delay = now - encoded_at;
                tally.whole += 1;
                tally.in_time += u64::from(delay <= self.scoring.deadline);
                tally.delay_sum += delay.as_nanos();
            }
        }
        if missing == 0 {
            if number >= self.next_shown {
                self.next_shown = number + 1;
                self.show(now);
            }
            while self.frames.front().is_some_and(|frame| frame.missing == 0) {
                self.pop();
            }
        }
    }

    /// The score of a period whose grace is over. A period without a frame has no score.
    pub(crate) fn score_due(&mut self, now: Instant) -> Option<Score> {
        loop {
            let (ended, mut tally) = self.periods.due(now)?;
            // A freeze that has not ended counts in this period as well; its end will be after the
            // period's tally is closed.
            let since = self.shown_at.max(self.counted_to);
            if now - self.shown_at >= self.freeze() && since < ended {
                tally.frozen += (ended - since).min(self.scoring.period);
                self.counted_to = ended;
            }
            if tally.frames > 0 {
                return Some(self.score(ended, &tally));
            }
        }
    }

    /// Ends the encoding. Returns when the last score will be due, if there is one more.
    pub(crate) fn stop(&mut self, now: Instant) -> Option<Instant> {
        self.periods.stop(now)
    }

    fn show(&mut self, now: Instant) {
        if now - self.shown_at >= self.freeze() {
            let mut since = self.shown_at.max(self.counted_to);
            while since < now {
                let until = self.periods.end_of(since).min(now);
                if let Some(tally) = self.periods.tally(since) {
                    tally.frozen += until - since;
                }
                since = until;
            }
        }
        self.shown_at = now;
    }

    /// W3C, "Identifiers for WebRTC's Statistics API", freezeCount.
    fn freeze(&self) -> Duration {
        let interval = self.scoring.interval;
        (interval + interval + interval).max(interval + Duration::from_millis(150))
    }

    fn pop(&mut self) {
        self.frames.pop_front();
        self.first += 1;
    }

    fn score(&self, ended: Instant, tally: &Tally) -> Score {
        let (frames, seconds) = (tally.frames as f64, self.scoring.period.as_secs_f64());
        Score {
            ended,
            delay: tally.delay_sum as f64 / tally.whole as f64,
            late: (tally.frames - tally.in_time) as f64 / frames,
            frozen: tally.frozen.as_secs_f64() / seconds,
            rate: tally.bytes as f64 * 8.0 / seconds,
        }
    }
}

/// How long the scorer waits for a frame, unless its deadline is later: longer than the deepest
/// buffers of access lines delay a packet.
const GRACE: Duration = Duration::from_secs(2);

#[cfg(test)]
#[allow(
    clippy::float_cmp,
    reason = "what is expected is computed as it is measured, or nothing at all"
)]
mod tests {
    use super::*;

    const SCORING: Scoring = Scoring {
        deadline: Duration::from_millis(100),
        period: Duration::from_secs(1),
        interval: Duration::from_millis(20),
    };

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The scores of frames of two packets, 20 ms apart, for 10 s. `delay` gives a packet's delay
    /// in ms by its frame's number and its own, or `None` if the packet is lost.
    fn scores(delay: impl Fn(u64, u64) -> Option<u64>) -> Vec<Score> {
        let mut judge = Scorer::new(SCORING);
        let (mut scores, mut arrivals) = (Vec::new(), Vec::new());
        judge.start(at(0), Duration::ZERO);
        for ms in 0..10_000 {
            scores.extend(std::iter::from_fn(|| judge.score_due(at(ms))));
            if ms % 20 == 0 {
                let frame = judge.encoded(at(ms), 2);
                assert_eq!(frame, ms / 20);
                for packet in 0..2 {
                    arrivals.extend(delay(frame, packet).map(|delay| (ms + delay, frame)));
                }
            }
            arrivals.sort_unstable();
            while let Some(&(due, frame)) = arrivals.first()
                && due <= ms
            {
                judge.arrived(frame, 500, at(ms));
                arrivals.remove(0);
            }
        }
        scores
    }

    #[test]
    fn a_frame_takes_as_long_as_its_last_packet() {
        let scores = scores(|_, packet| Some(30 + 10 * packet));
        assert_eq!(scores.len(), 7);
        for (second, score) in scores.iter().enumerate() {
            assert_eq!(score.ended, at(1000 * (second as u64 + 1)));
            assert_eq!((score.delay, score.late, score.frozen), (40e6, 0.0, 0.0));
            assert_eq!(score.rate, 400_000.0);
        }
    }

    #[test]
    fn a_frame_that_lacks_a_packet_is_as_late_as_one_that_comes_too_late() {
        let scores = scores(|frame, packet| match (frame % 10, packet) {
            (3, 1) => None,
            (7, _) => Some(101),
            _ => Some(100),
        });
        assert_eq!(scores[2].late, 0.2);
        // Of the nine whole frames, one takes 101 ms.
        assert!((scores[2].delay - (901e6 / 9.0)).abs() < 1.0);
        // No two consecutive frames are missed: the picture never freezes for 170 ms.
        assert_eq!(scores[2].frozen, 0.0);
        assert_eq!(scores[2].rate, 380_000.0);
    }

    #[test]
    fn the_picture_stands_still_from_the_last_frame_shown_to_the_next() {
        // Frames 40 to 59 are lost: nothing new from 39's arrival at 790 ms to 60's at 1210 ms.
        let scores = scores(|frame, _| (!(40..60).contains(&frame)).then_some(10));
        let frozen: Vec<f64> = scores.iter().map(|score| score.frozen).collect();
        assert!((frozen[0] - 0.21).abs() < 1e-9, "{frozen:?}");
        assert!((frozen[1] - 0.21).abs() < 1e-9, "{frozen:?}");
        assert_eq!(frozen[2..], [0.0; 5]);
        // Below the threshold of 170 ms a gap is no freeze: seven frames missing are 160 ms.
        let short = self::scores(|frame, _| (!(40..47).contains(&frame)).then_some(10));
        assert!(short.iter().all(|score| score.frozen == 0.0));
    }

    #[test]
    fn a_picture_that_never_comes_back_stands_still_in_every_period() {
        let scores = scores(|frame, _| (frame < 75).then_some(10));
        let frozen: Vec<f64> = scores.iter().map(|score| score.frozen).collect();
        assert!((frozen[1] - 0.51).abs() < 1e-9, "{frozen:?}");
        assert_eq!(frozen[2..], [1.0; 5]);
        assert!(scores[3].delay.is_nan());
        assert_eq!(scores[3].late, 1.0);
    }

    #[test]
    fn a_freeze_longer_than_the_grace_is_counted_once() {
        let scores = scores(|frame, _| (!(50..250).contains(&frame)).then_some(10));
        let frozen: f64 = scores.iter().map(|score| score.frozen).sum();
        // From 990 ms to 5010 ms.
        assert!((frozen - 4.02).abs() < 1e-9, "{frozen}");
        assert!(scores.iter().all(|score| score.frozen <= 1.0));
    }

    #[test]
    fn late_frames_are_shown_when_they_come_unless_a_later_one_was() {
        // All take 500 ms: no frame is in time, and the picture is frozen only at the start.
        let late = scores(|_, _| Some(500));
        assert!(late.iter().all(|score| score.late == 1.0));
        assert_eq!(late[1].frozen, 0.0);
        assert!((late[0].frozen - 0.5).abs() < 1e-9);
    }
}
