//! The scoreboard: every segment in flight, what is known of its fate, and how much is still in the
//! network (RFC 6675 §3, §4).
//!
//! Segments stand in order of sequence, each with its state. A segment has a *number*, which counts
//! from the first one ever sent. What an acknowledgement costs does not depend on the size of the
//! window:
//!
//! - a SACK block changes only segments that were not selectively acknowledged before, which a
//!   [range set](super::ranges) finds;
//! - the point below which unacknowledged data is lost follows from the topmost three ranges, and
//!   passes each segment once;
//! - the search for the next segment to repair begins where the last one ended;
//! - `pipe` changes with the state of each segment, and is never summed up.
//!
//! Segments keep their boundaries when they are sent again. A FIN is a segment of one sequence
//! number.

use std::collections::VecDeque;

use super::ranges::RangeSet;
use super::rate::Stamp;
use crate::time::{Duration, Instant};
use crate::trace::LossTrigger;

/// RFC 6675 §2, `DupThresh`: a segment is lost if so many discontiguous ranges above it are
/// selectively acknowledged, or more than (`DupThresh` − 1) segments' worth of bytes.
pub(super) const DUP_THRESH: u32 = 3;

/// Once a long stream has so many segments in flight, memory for its whole window is allocated.
const FEW: usize = 32;

/// A segment in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// First sequence number.
    pub(super) seq: u64,
    /// Sequence numbers it takes.
    pub(super) len: u16,
    /// What is known of its fate: the bits below.
    state: u8,
    /// When it was last sent, and what was known then.
    pub(super) stamp: Stamp,
}

/// Selectively acknowledged.
const SACKED: u8 = 1;
/// Deemed lost.
const LOST: u8 = 2;
/// Sent again, and that copy counts as in flight (RFC 6675: at or below HighRxt).
const REPAIRED: u8 = 4;
/// Sent more than once: its acknowledgement cannot be timed (Karn).
const RESENT: u8 = 8;
/// Carries the FIN.
const FIN: u8 = 16;

impl Segment {
    fn has(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Whether it is the FIN.
    pub(super) fn is_fin(&self) -> bool {
        self.has(FIN)
    }

    /// Whether it has been sent more than once.
    pub(super) fn is_resent(&self) -> bool {
        self.has(RESENT)
    }

    /// The number after its last.
    pub(super) fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    /// Whether a transmission of it is neither acknowledged nor deemed lost.
    fn is_under_way(&self) -> bool {
        self.state & (SACKED | LOST) == 0 || self.state & (SACKED | REPAIRED) == REPAIRED
    }

    /// Its part of `pipe` (RFC 6675 §4, SetPipe): once if it is not lost, once more if it was
    /// repaired.
    #[inline]
    fn in_pipe(&self) -> u64 {
        if !self.has(SACKED | LOST | REPAIRED) {
            return u64::from(self.len);
        }
        if self.has(SACKED) {
            return 0;
        }
        u64::from(self.len) * (u64::from(!self.has(LOST)) + u64::from(self.has(REPAIRED)))
    }
}

/// What one acknowledgement newly acknowledges.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub(super) bytes: u64,
    /// Whether bytes were newly selectively acknowledged.
    pub(super) sacked: bool,
    /// The most recently sent segment among them.
    pub(super) newest: Option<Segment>,
    /// When the first segment cumulatively acknowledged was sent.
    pub(super) first_sent_at: Option<Instant>,
    /// Whether any of those cumulatively acknowledged was sent more than once.
    pub(super) resent: bool,
    /// The end of the lowest segment among them that was sent once, and of the highest.
    pub(super) lowest_original: u64,
    pub(super) highest: u64,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            bytes: 0,
            sacked: false,
            newest: None,
            first_sent_at: None,
            resent: false,
            lowest_original: u64::MAX,
            highest: 0,
        }
    }
}

impl Delivery {
    #[inline]
    fn add(&mut self, segment: &Segment) {
        self.bytes += u64::from(segment.len);
        self.highest = self.highest.max(segment.end());
        if !segment.is_resent() {
            self.lowest_original = self.lowest_original.min(segment.end());
        }
        if (self.newest.as_ref()).is_none_or(|newest| segment.stamp.sent_at >= newest.stamp.sent_at)
        {
            self.newest = Some(*segment);
        }
    }
}

/// A segment that is deemed lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loss {
    /// First sequence number.
    pub(super) seq: u64,
    /// Whether a repair, sent before this was known, is still under way.
    pub(super) is_repaired: bool,
    /// What showed it.
    pub(super) trigger: LossTrigger,
}

/// How many segments are in which state, by Linux's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// Sent and not cumulatively acknowledged.
    pub(super) unacked: u64,
    /// Of those, selectively acknowledged.
    pub(super) sacked: u64,
    /// Of those, deemed lost, whether or not they are repaired.
    pub(super) lost: u64,
    /// Of those, repaired: sent again, and that copy is in flight.
    pub(super) retrans: u64,
    /// Acknowledged since the start, cumulatively or selectively.
    pub(super) delivered: u64,
}

/// The segments between SND.UNA and SND.NXT.
#[derive(Debug)]
pub(super) struct Scoreboard {
    /// Bytes of a full segment.
    mss: u64,
    /// SND.UNA: the oldest sequence number not acknowledged.
    una: u64,
    /// SND.NXT: the next sequence number to be sent.
    nxt: u64,
    /// The segments in order of sequence.
    segments: VecDeque<Segment>,
    /// Number of the first of them.
    first: u64,
    /// Segments that the largest window holds, where the stream is long; 0 where that is not known.
    room: usize,
    /// RFC 6675's `pipe`: bytes in the network, as far as is known.
    pipe: u64,
    /// What is selectively acknowledged.
    sacked: RangeSet,
    /// Number of the first segment not yet judged by [`Self::detect_losses`].
    judged: u64,
    /// Number of the first segment that may still have to be repaired (RFC 6675: HighRxt, as a
    /// segment).
    repair: u64,
    /// What was in flight when the segment lost last was sent.
    lost_in_flight: u32,
    /// With RACK: numbers of segments sent again, and when, in that order.
    resent: Option<VecDeque<(u64, Instant)>>,
    /// Segments deemed lost since the losses were last taken; `None` without a listener.
    losses: Option<Vec<Loss>>,
}

impl Scoreboard {
    /// Nothing in flight, with segments of at most `mss`.
    pub(super) fn new(mss: u64) -> Self {
        Self {
            mss,
            una: 0,
            nxt: 0,
            segments: VecDeque::new(),
            first: 0,
            room: 0,
            pipe: 0,
            sacked: RangeSet::default(),
            judged: 0,
            repair: 0,
            lost_in_flight: 0,
            resent: None,
            losses: None,
        }
    }

    /// Notes from now on what is deemed lost, for [`Self::losses`].
    pub(super) fn remember_losses(&mut self) {
        self.losses = Some(Vec::new());
    }

    /// What was deemed lost since this was last emptied; empty unless losses are remembered.
    pub(super) fn losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.losses.iter_mut().flat_map(|losses| losses.drain(..))
    }

    /// The stream is long: memory for a window of so many bytes is allocated at once when more than
    /// [`FEW`] segments are in flight.
    pub(super) fn make_room(&mut self, window: u64) {
        self.room = (window / self.mss) as usize + 1;
    }

    /// Notes a new segment of `len` sequence numbers.
    pub(super) fn push(&mut self, len: u16, is_fin: bool, stamp: Stamp) {
        let in_flight = self.segments.len();
        if in_flight >= FEW && in_flight == self.segments.capacity() {
            self.segments.reserve(self.room.saturating_sub(in_flight));
        }
        self.segments.push_back(Segment {
            seq: self.nxt,
            len,
            state: if is_fin { FIN } else { 0 },
            stamp,
        });
        self.nxt += u64::from(len);
        self.pipe += u64::from(len);
    }

    /// A cumulative acknowledgement of everything below `ack`: what it newly says is added to
    /// `delivery`.
    pub(super) fn acknowledge(&mut self, ack: u64, delivery: &mut Delivery) {
        debug_assert!(ack <= self.nxt, "an acknowledgement of what was never sent");
        while let Some(segment) = self.segments.front().filter(|segment| segment.end() <= ack) {
            if !segment.has(SACKED) {
                delivery.add(segment);
            }
            (delivery.first_sent_at).get_or_insert(segment.stamp.sent_at);
            delivery.resent |= segment.is_resent();
            self.pipe -= segment.in_pipe();
            self.una = segment.end();
            self.segments.pop_front();
            self.first += 1;
        }
        self.sacked.remove_below(self.una);
        self.judged = self.judged.max(self.first);
        self.repair = self.repair.max(self.first);
    }

    /// A SACK block: what it newly says is added to `delivery`.
    pub(super) fn sack(&mut self, block: (u64, u64), delivery: &mut Delivery) {
        let (start, end) = (block.0.max(self.una), block.1.min(self.nxt));
        if start >= end {
            return;
        }
        let (segments, pipe, una, mss) = (&mut self.segments, &mut self.pipe, self.una, self.mss);
        self.sacked.insert(start, end, |from, to| {
            let index = find(segments, from, una, mss);
            for segment in segments.range_mut(index..) {
                if segment.seq >= to {
                    break;
                }
                *pipe -= segment.in_pipe();
                segment.state |= SACKED;
                delivery.add(segment);
                delivery.sacked = true;
            }
        });
    }

    /// Notes from now on when segments are sent again, for [`Self::detect_losses_by_time`].
    pub(super) fn remember_repairs(&mut self) {
        self.resent = Some(VecDeque::new());
    }

    /// Marks as lost what was sent before `newest` (when that was sent, and its end) and longer
    /// than `span` ago (RFC 8985 §6.2, step 5). Returns the bytes newly lost, and when the next
    /// segment would be. First transmissions are in order of time, and so are repairs, so that none
    /// is judged twice.
    pub(super) fn detect_losses_by_time(
        &mut self,
        newest: (Instant, u64),
        span: Duration,
        now: Instant,
    ) -> (u64, Option<Instant>) {
        let (mut lost, mut deadline) = (0, None);
        while let Some(segment) = self.segments.get_mut((self.judged - self.first) as usize) {
            if !segment.has(SACKED | LOST) {
                if (segment.stamp.sent_at, segment.end()) >= newest {
                    break;
                }
                let due = segment.stamp.sent_at + span;
                if due > now {
                    deadline = Some(due);
                    break;
                }
                segment.state |= LOST;
                lost += u64::from(segment.len);
                self.lost_in_flight = segment.stamp.in_flight;
                note(&mut self.losses, segment, LossTrigger::TimeThreshold);
            }
            self.judged += 1;
        }
        self.pipe -= lost;
        let (again, due) = self.detect_lost_repairs(newest, span, now);
        (lost + again, [deadline, due].into_iter().flatten().min())
    }

    fn detect_lost_repairs(
        &mut self,
        newest: (Instant, u64),
        span: Duration,
        now: Instant,
    ) -> (u64, Option<Instant>) {
        let mut lost = 0;
        while let Some(&(number, sent_at)) = self.resent.as_ref().and_then(|resent| resent.front())
        {
            let place = number.checked_sub(self.first);
            if let Some(segment) = place.and_then(|place| self.segments.get_mut(place as usize))
                && segment.state & (SACKED | LOST | REPAIRED) == LOST | REPAIRED
                && segment.stamp.sent_at == sent_at
            {
                if (sent_at, segment.end()) >= newest {
                    break;
                }
                if sent_at + span > now {
                    return (lost, Some(sent_at + span));
                }
                segment.state &= !REPAIRED;
                note(&mut self.losses, segment, LossTrigger::TimeThreshold);
                self.pipe -= u64::from(segment.len);
                lost += u64::from(segment.len);
                self.repair = self.repair.min(number);
            }
            if let Some(resent) = &mut self.resent {
                resent.pop_front();
            }
        }
        (lost, None)
    }

    /// Whether so many segments' worth of bytes are selectively acknowledged.
    pub(super) fn sacked_segments_reach(&self, segments: u32) -> bool {
        let mut bytes = 0;
        self.sacked.descending().any(|(start, end)| {
            bytes += end - start;
            bytes >= u64::from(segments) * self.mss
        })
    }

    /// Bytes selectively acknowledged.
    pub(super) fn sacked_bytes(&self) -> u64 {
        self.sacked
            .descending()
            .map(|(start, end)| end - start)
            .sum()
    }

    /// Whether anything is selectively acknowledged.
    pub(super) fn has_sacked(&self) -> bool {
        !self.sacked.is_empty()
    }

    /// Whether one segment is outstanding.
    pub(super) fn holds_one(&self) -> bool {
        self.segments.len() == 1
    }

    /// Marks as lost what RFC 6675 §4 `IsLost()` says is lost. Returns the bytes newly lost.
    pub(super) fn detect_losses(&mut self) -> u64 {
        let Some(boundary) = self.loss_boundary() else {
            return 0;
        };
        let mut lost = 0;
        let from = (self.judged - self.first) as usize;
        for segment in self.segments.range_mut(from..) {
            if segment.seq >= boundary {
                break;
            }
            if !segment.has(SACKED | LOST) {
                segment.state |= LOST;
                lost += u64::from(segment.len);
                self.lost_in_flight = segment.stamp.in_flight;
                note(&mut self.losses, segment, LossTrigger::ReorderingThreshold);
            }
            self.judged += 1;
        }
        self.pipe -= lost;
        lost
    }

    /// The sequence number below which everything not selectively acknowledged is lost: `DupThresh`
    /// discontiguous ranges, or more than (`DupThresh` − 1) · SMSS bytes, stand above it.
    fn loss_boundary(&self) -> Option<u64> {
        let (mut ranges, mut bytes) = (0, 0);
        for (start, end) in self.sacked.descending() {
            ranges += 1;
            bytes += end - start;
            if ranges == DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * self.mss {
                return Some(start);
            }
        }
        None
    }

    /// Whether the first unacknowledged segment is lost by [`Self::detect_losses`]' rule.
    pub(super) fn first_is_lost(&self) -> bool {
        // What lies at SND.UNA is never selectively acknowledged.
        self.loss_boundary().is_some()
    }

    /// Marks the first segment as lost, whatever the ranges say (without SACK: RFC 6582).
    pub(super) fn lose_first(&mut self) -> u64 {
        let Some(segment) = self.segments.front_mut() else {
            return 0;
        };
        self.pipe -= segment.in_pipe();
        let is_news = segment.is_under_way();
        segment.state = (segment.state | LOST) & !REPAIRED;
        if is_news {
            note(&mut self.losses, segment, LossTrigger::ReorderingThreshold);
        }
        self.lost_in_flight = segment.stamp.in_flight;
        u64::from(segment.len)
    }

    /// The retransmission timer has expired, or is treated so: all that is not selectively
    /// acknowledged is lost, earlier repairs too.
    pub(super) fn lose_all(&mut self, trigger: LossTrigger) -> u64 {
        let mut lost = 0;
        for segment in &mut self.segments {
            if !segment.has(SACKED) {
                let is_news = segment.is_under_way();
                segment.state = (segment.state | LOST) & !REPAIRED;
                if is_news {
                    note(&mut self.losses, segment, trigger);
                }
                lost += u64::from(segment.len);
            }
        }
        self.pipe = 0;
        self.judged = self.first + self.segments.len() as u64;
        self.repair = self.first;
        lost
    }

    /// The lowest segment that is lost and not repaired (RFC 6675 §4, `NextSeg()` rule 1).
    #[inline]
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        while self.repair < self.judged {
            let segment = &self.segments[(self.repair - self.first) as usize];
            if segment.state & (SACKED | LOST | REPAIRED) == LOST {
                return Some(self.repair);
            }
            self.repair += 1;
        }
        None
    }

    /// The lowest segment that is not repaired and has something selectively acknowledged above it,
    /// lost or not (rule 3).
    pub(super) fn next_hole(&mut self) -> Option<u64> {
        let (_, highest) = self.sacked.last()?;
        loop {
            let segment = self.segments.get((self.repair - self.first) as usize)?;
            if segment.seq >= highest {
                return None;
            }
            if segment.state & (SACKED | REPAIRED) == 0 {
                return Some(self.repair);
            }
            self.repair += 1;
        }
    }

    /// The highest segment not selectively acknowledged (rule 4).
    pub(super) fn last_hole(&self) -> Option<u64> {
        let index = match self.sacked.last() {
            Some((start, end)) if end == self.nxt => {
                find(&self.segments, start, self.una, self.mss).checked_sub(1)?
            }
            _ => self.segments.len().checked_sub(1)?,
        };
        Some(self.first + index as u64)
    }

    /// The first segment's number, unless a repair of it is in flight already.
    pub(super) fn first_unrepaired(&self) -> Option<u64> {
        let segment = self.segments.front()?;
        (!segment.has(REPAIRED)).then_some(self.first)
    }

    /// Segment `number` is sent again; `counts` in `pipe` but for a rescue (RFC 6675: HighRxt
    /// stays). Returns it as it is now.
    pub(super) fn resend(&mut self, number: u64, stamp: Stamp, counts: bool) -> Segment {
        if let Some(resent) = &mut self.resent {
            resent.push_back((number, stamp.sent_at));
        }
        let segment = &mut self.segments[(number - self.first) as usize];
        segment.state |= RESENT;
        segment.stamp = stamp;
        if counts && !segment.has(REPAIRED) {
            segment.state |= REPAIRED;
            self.pipe += u64::from(segment.len);
        }
        *segment
    }

    /// Sequence numbers of segment `number`.
    pub(super) fn len_of(&self, number: u64) -> u64 {
        u64::from(self.segments[(number - self.first) as usize].len)
    }

    /// Whether `number` is the first segment.
    pub(super) fn is_first(&self, number: u64) -> bool {
        number == self.first
    }

    /// Bytes in flight when the segment lost last was sent, that segment included.
    pub(super) fn lost_in_flight(&self) -> u64 {
        u64::from(self.lost_in_flight)
    }

    /// How many segments are in which state: looks at each.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts {
            unacked: self.segments.len() as u64,
            ..Counts::default()
        };
        for segment in &self.segments {
            if segment.has(SACKED) {
                counts.sacked += 1;
            } else {
                counts.lost += u64::from(segment.has(LOST));
                counts.retrans += u64::from(segment.has(REPAIRED));
            }
        }
        counts.delivered = self.first + counts.sacked;
        counts
    }

    /// SND.UNA.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT.
    pub(super) fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Bytes in the network, as far as is known.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Whether everything sent is acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }
}

/// Notes, where someone listens, a segment that is deemed lost from now on.
#[inline]
fn note(losses: &mut Option<Vec<Loss>>, segment: &Segment, trigger: LossTrigger) {
    if let Some(losses) = losses {
        losses.push(Loss {
            seq: segment.seq,
            is_repaired: segment.has(REPAIRED),
            trigger,
        });
    }
}

/// Index of the segment that starts at `seq`. Most segments are full, so division nearly always
/// finds it.
#[inline]
fn find(segments: &VecDeque<Segment>, seq: u64, una: u64, mss: u64) -> usize {
    let guess = ((seq - una) / mss) as usize;
    if segments
        .get(guess)
        .is_some_and(|segment| segment.seq == seq)
    {
        return guess;
    }
    segments.partition_point(|segment| segment.seq < seq)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::time::Instant;

    const MSS: u64 = 1000;

    fn board(segments: usize) -> Scoreboard {
        let mut board = Scoreboard::new(MSS);
        for _ in 0..segments {
            board.push(MSS as u16, false, Stamp::default());
        }
        board
    }

    /// Selectively acknowledges whole segments; the bytes that were news.
    fn sack(board: &mut Scoreboard, segments: std::ops::Range<u64>) -> u64 {
        let mut delivery = Delivery::default();
        board.sack((segments.start * MSS, segments.end * MSS), &mut delivery);
        delivery.bytes
    }

    fn acknowledge(board: &mut Scoreboard, segments: u64) -> Delivery {
        let mut delivery = Delivery::default();
        board.acknowledge(segments * MSS, &mut delivery);
        delivery
    }

    #[test]
    fn three_ranges_or_more_than_two_segments_above_make_a_segment_lost() {
        let mut scattered = board(10);
        for segment in [2, 4] {
            sack(&mut scattered, segment..segment + 1);
        }
        assert!(!scattered.first_is_lost(), "two segments in two ranges");
        sack(&mut scattered, 6..7);
        assert_eq!(
            scattered.detect_losses(),
            2 * MSS,
            "below the third range from the top"
        );

        let mut together = board(10);
        sack(&mut together, 1..3);
        assert!(
            !together.first_is_lost(),
            "two segments are not more than two"
        );
        sack(&mut together, 3..4);
        assert_eq!(together.detect_losses(), MSS);
        assert_eq!(together.detect_losses(), 0, "a loss is news once");
    }

    #[test]
    fn known_ranges_are_no_news() {
        let mut board = board(10);
        assert_eq!(sack(&mut board, 2..5), 3 * MSS);
        assert_eq!(sack(&mut board, 3..5), 0);
        assert_eq!(sack(&mut board, 1..7), 3 * MSS);
        assert_eq!(board.pipe(), 4 * MSS);
        assert_eq!(
            acknowledge(&mut board, 8).bytes,
            2 * MSS,
            "the rest was known"
        );
        assert_eq!(sack(&mut board, 0..4), 0, "an old block");
        assert_eq!(board.pipe(), 2 * MSS);
    }

    #[test]
    fn a_repair_counts_beside_the_copy_that_may_still_arrive() {
        let mut board = board(4);
        board.resend(0, Stamp::default(), true);
        assert_eq!(board.pipe(), 5 * MSS);
        sack(&mut board, 1..4);
        board.detect_losses();
        assert_eq!(board.pipe(), MSS, "the original is lost, the repair is not");
        let delivery = acknowledge(&mut board, 4);
        assert_eq!((board.pipe(), delivery.resent), (0, true));
    }

    #[test]
    fn after_a_timeout_everything_is_to_be_repaired_in_order() {
        let mut board = board(5);
        sack(&mut board, 2..3);
        board.resend(0, Stamp::default(), true);
        assert_eq!(board.lose_all(LossTrigger::Timeout), 4 * MSS);
        assert_eq!(board.pipe(), 0);
        let mut order = Vec::new();
        while let Some(number) = board.next_lost() {
            board.resend(number, Stamp::default(), true);
            order.push(number);
        }
        assert_eq!(order, [0, 1, 3, 4]);
        assert_eq!(board.pipe(), 4 * MSS);
    }

    #[test]
    fn the_newest_segment_acknowledged_is_the_one_sent_last() {
        let mut board = Scoreboard::new(MSS);
        for ms in 1..=3 {
            let sent_at = Instant::from_nanos(ms);
            board.push(
                1000,
                false,
                Stamp {
                    sent_at,
                    ..Stamp::default()
                },
            );
        }
        let sent_at = Instant::from_nanos(9);
        board.resend(
            0,
            Stamp {
                sent_at,
                ..Stamp::default()
            },
            true,
        );
        let delivery = acknowledge(&mut board, 3);
        let newest = delivery.newest.expect("something was acknowledged");
        assert_eq!((newest.seq, newest.is_resent()), (0, true));
        assert_eq!(delivery.first_sent_at, Some(sent_at));
    }

    /// RFC 6675 word for word: looks at every segment, every time. What is lost stays lost, though:
    /// three short ranges that become one would take `IsLost()` back.
    #[derive(Debug, Default)]
    struct Naive {
        lost: BTreeSet<u64>,
        /// Sequence, length, selectively acknowledged.
        segments: Vec<(u64, u64, bool)>,
        high_ack: u64,
        high_data: u64,
        high_rxt: u64,
    }

    impl Naive {
        fn is_lost(&self, seq: u64) -> bool {
            self.lost.contains(&seq) || self.shows_loss(seq)
        }

        fn note_losses(&mut self) {
            let lost = self.segments.iter().filter(|segment| !segment.2);
            let lost: Vec<u64> = (lost.map(|segment| segment.0))
                .filter(|&seq| self.shows_loss(seq))
                .collect();
            self.lost.extend(lost);
        }

        /// `IsLost()`.
        fn shows_loss(&self, seq: u64) -> bool {
            let (mut ranges, mut bytes, mut end) = (0, 0, None);
            for &(start, len, sacked) in self.segments.iter().filter(|segment| segment.0 > seq) {
                if sacked {
                    ranges += u32::from(end != Some(start));
                    bytes += len;
                    end = Some(start + len);
                }
            }
            ranges >= DUP_THRESH || bytes > u64::from(DUP_THRESH - 1) * MSS
        }

        fn pipe(&self) -> u64 {
            (self.segments.iter().filter(|segment| !segment.2))
                .map(|&(seq, len, _)| {
                    let original = if self.is_lost(seq) { 0 } else { len };
                    original + if seq < self.high_rxt { len } else { 0 }
                })
                .sum()
        }

        /// Rules 1 (with `lost`) and 3 of `NextSeg()`.
        fn next(&self, lost: bool) -> Option<u64> {
            let highest = self.segments.iter().rfind(|segment| segment.2)?.0;
            (self.segments.iter())
                .filter(|&&(seq, _, sacked)| !sacked && seq >= self.high_rxt && seq < highest)
                .find(|&&(seq, ..)| !lost || self.is_lost(seq))
                .map(|segment| segment.0)
        }

        fn last(&self) -> Option<u64> {
            self.segments
                .iter()
                .rfind(|segment| !segment.2)
                .map(|segment| segment.0)
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push(u64),
        Acknowledge(f64),
        Sack(f64, usize),
        Repair,
        RepairHole,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop_oneof![3 => Just(MSS), 1 => 1..MSS].prop_map(Step::Push),
            1 => (0.0..1.0).prop_map(Step::Acknowledge),
            4 => (0.0..1.0, 1_usize..5).prop_map(|(at, n)| Step::Sack(at, n)),
            2 => Just(Step::Repair),
            1 => Just(Step::RepairHole),
        ]
    }

    proptest! {
        /// Incremental and word-for-word bookkeeping agree on what is lost, on pipe, and on what to
        /// send next.
        #[test]
        fn it_agrees_with_a_naive_reading_of_the_rfc(
            steps in prop::collection::vec(step(), 1..150),
        ) {
            let mut board = Scoreboard::new(MSS);
            let mut naive = Naive::default();
            for step in steps {
                match step {
                    Step::Push(len) => {
                        board.push(len as u16, false, Stamp::default());
                        naive.segments.push((naive.high_data, len, false));
                        naive.high_data += len;
                    }
                    Step::Acknowledge(share) => {
                        // A receiver acknowledges up to a hole, never up to something it has.
                        let mut index = (share * share * naive.segments.len() as f64) as usize;
                        while naive.segments.get(index).is_some_and(|segment| segment.2) {
                            index += 1;
                        }
                        let ack = naive.segments.get(index).map_or(naive.high_data, |next| next.0);
                        let news: u64 = (naive.segments.drain(..index))
                            .filter(|segment| !segment.2)
                            .map(|segment| segment.1)
                            .sum();
                        naive.high_ack = ack;
                        naive.high_rxt = naive.high_rxt.max(ack);
                        let mut delivery = Delivery::default();
                        board.acknowledge(ack, &mut delivery);
                        prop_assert_eq!(delivery.bytes, news);
                    }
                    Step::Sack(share, count) => {
                        let from = 1 + (share * naive.segments.len() as f64) as usize;
                        let to = (from + count).min(naive.segments.len());
                        if from >= to {
                            continue;
                        }
                        let start = naive.segments[from].0;
                        let end = naive.segments[to - 1].0 + naive.segments[to - 1].1;
                        let mut news = 0;
                        for segment in &mut naive.segments[from..to] {
                            news += if segment.2 { 0 } else { segment.1 };
                            segment.2 = true;
                        }
                        let mut delivery = Delivery::default();
                        board.sack((start, end), &mut delivery);
                        prop_assert_eq!(delivery.bytes, news);
                        prop_assert_eq!(delivery.sacked, news > 0);
                    }
                    Step::Repair | Step::RepairHole => {
                        let hole = matches!(step, Step::RepairHole);
                        let number = if hole { board.next_hole() } else { board.next_lost() };
                        if let Some(number) = number {
                            let segment = board.resend(number, Stamp::default(), true);
                            naive.high_rxt = segment.end();
                        }
                    }
                }
                board.detect_losses();
                naive.note_losses();
                prop_assert_eq!(board.una(), naive.high_ack);
                prop_assert_eq!(board.pipe(), naive.pipe());
                let is_lost = !naive.segments.is_empty() && naive.shows_loss(naive.high_ack);
                prop_assert_eq!(board.first_is_lost(), is_lost);
                let seq = |number: Option<u64>| {
                    number.map(|number| board.segments[(number - board.first) as usize].seq)
                };
                prop_assert_eq!(seq(board.last_hole()), naive.last());
                let next = board.next_lost();
                let next = next.map(|number| board.segments[(number - board.first) as usize].seq);
                prop_assert_eq!(next, naive.next(true));
                let next = board.next_hole();
                let next = next.map(|number| board.segments[(number - board.first) as usize].seq);
                prop_assert_eq!(next, naive.next(false));
            }
        }
    }
}
