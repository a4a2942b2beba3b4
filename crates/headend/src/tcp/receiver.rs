//! The receiving half of a connection: puts the stream together, and decides when to acknowledge
//! what.
//!
//! - The application reads data in order at once, so the [window](super::receive_window) offered
//!   never shrinks: its right edge is RCV.NXT plus its size.
//! - In-order segments are acknowledged two at a time, or after the delayed-acknowledgement
//!   timeout. A segment out of order, one that fills a gap, a duplicate and a FIN are acknowledged
//!   at once (RFC 5681 §4.2).
//! - With quick acknowledgements, as in Linux, each of the first sixteen segments is acknowledged
//!   at once, and again each of sixteen after a silence of more than a retransmission timeout. So
//!   is each segment that opens the window, which does not count towards the sixteen. A sender in
//!   slow start then grows by what it sent, not by half of it.
//! - Up to three SACK blocks name what arrived out of order, the most recent first (RFC 2018 §4).
//!   With D-SACK, a block before them names what has just arrived a second time (RFC 2883 §4).
//! - [ECN](super::ecn) adds its feedback to the flags of each acknowledgement.

use std::collections::VecDeque;

use super::config::EcnMode;
use super::ecn::FeedbackWriter;
use super::ranges::{Range, RangeSet};
use super::receive_window::ReceiveWindow;
use crate::packet::sack::{MAX_BLOCKS, SackBlocks};
use crate::packet::{Flags, Packet};
use crate::time::{Duration, Instant};

/// In-order segments that one acknowledgement may answer (RFC 1122 §4.2.3.2, RFC 5681 §4.2).
const SEGMENTS_PER_ACK: u32 = 2;

/// Segments that are acknowledged at once when the other side begins to send.
const QUICK_ACKS: u8 = 16;

/// Whether the receiver owes an acknowledgement, and when it has to leave; data may take it along
/// before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owed {
    /// None.
    Nothing,
    /// At once.
    Now,
    /// It is delayed (RFC 5681 §4.2) until then at the latest.
    Until(Instant),
}

/// What the next SACK option reports.
#[derive(Debug, Default)]
struct Report {
    /// Ranges above RCV.NXT, the one with the most recent segment first; at most [`MAX_BLOCKS`].
    recent: VecDeque<Range>,
    /// RFC 2883 §4: what has just arrived a second time.
    duplicate: Option<Range>,
}

impl Report {
    /// RFC 2018 §4: the range of the segment just arrived comes first; ranges that are part of it
    /// now are no longer repeated.
    fn remember(&mut self, range: Range) {
        self.recent
            .retain(|other| other.1 < range.0 || other.0 > range.1);
        self.recent.push_front(range);
        self.recent.truncate(MAX_BLOCKS);
    }

    fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.duplicate.is_none()
    }

    fn blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for &(start, end) in self.duplicate.iter().chain(&self.recent) {
            blocks.push(start, end);
        }
        blocks
    }
}

/// Parameters of the receiving half.
#[derive(Debug)]
pub(super) struct Setup {
    /// How long an acknowledgement may wait for a second segment.
    pub(super) delay: Duration,
    /// Whether both sides use SACK.
    pub(super) sack: bool,
    /// Whether duplicates are reported (RFC 2883).
    pub(super) dsack: bool,
    /// Whether the first segments are acknowledged each by itself.
    pub(super) quick_acks: bool,
    /// What it offers.
    pub(super) window: ReceiveWindow,
}

/// Quick acknowledgements.
#[derive(Debug, Clone, Copy)]
struct Quick {
    /// Segments that are still acknowledged at once.
    left: u8,
    /// A longer silence begins the count anew.
    silence: Duration,
    /// When data last arrived.
    data_at: Instant,
}

impl Quick {
    /// A segment with data has arrived. Returns whether it is acknowledged at once: one that
    /// `is_free` is, and does not count.
    #[inline]
    fn answers(&mut self, is_free: bool, now: Instant) -> bool {
        if now.since(self.data_at) > self.silence {
            self.left = QUICK_ACKS;
        }
        self.data_at = now;
        if is_free {
            return true;
        }
        let answers = self.left > 0;
        self.left = self.left.saturating_sub(1);
        answers
    }
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct Receiver {
    /// RCV.NXT.
    next: u64,
    /// Sequence number of the FIN, once known.
    fin: Option<u64>,
    /// What arrived above RCV.NXT.
    out_of_order: RangeSet,
    /// The window it offers.
    window: ReceiveWindow,

    /// How long an acknowledgement may wait for a second segment.
    delay: Duration,
    quick: Option<Quick>,
    owed: Owed,
    /// In-order segments not acknowledged yet.
    unacked: u32,
    /// The acknowledgement number sent last (RFC 7323 §4.3: Last.ACK.sent).
    last_ack: u64,
    /// The timestamp to be echoed (RFC 7323 §4.3: TS.Recent).
    echo: Instant,
    /// What the next SACK option reports.
    report: Report,
    /// Whether both sides use SACK.
    sack: bool,
    /// Whether duplicates are reported (RFC 2883).
    dsack: bool,

    ecn: FeedbackWriter,
}

impl Receiver {
    /// A receiver of nothing yet.
    pub(super) fn new(setup: Setup) -> Self {
        Self {
            next: 0,
            fin: None,
            out_of_order: RangeSet::default(),
            window: setup.window,
            delay: setup.delay,
            quick: setup.quick_acks.then_some(Quick {
                left: QUICK_ACKS,
                silence: Duration::MAX,
                data_at: Instant::ZERO,
            }),
            owed: Owed::Nothing,
            unacked: 0,
            last_ack: 0,
            echo: Instant::ZERO,
            report: Report::default(),
            sack: setup.sack,
            dsack: setup.dsack,
            ecn: FeedbackWriter::new(),
        }
    }

    /// What the handshake agreed on.
    pub(super) fn use_ecn(&mut self, mode: EcnMode) {
        self.ecn.use_ecn(mode);
    }

    /// A segment of the handshake arrived: its timestamp is the one to echo.
    pub(super) fn handshake(&mut self, packet: &Packet) {
        self.echo = packet.sent_at;
    }

    /// The handshake is complete: the round trip, if it could be timed, and the timeout that
    /// follows from it.
    pub(super) fn handshake_done(&mut self, rtt: Option<Duration>, rto: Duration) {
        if let Some(rtt) = rtt {
            self.window.handshake(rtt);
        }
        if let Some(quick) = &mut self.quick {
            quick.silence = rto;
        }
    }

    /// Takes in a segment; the bytes of the stream that can now be read.
    #[inline]
    pub(super) fn on_segment(&mut self, packet: &Packet, now: Instant) -> u64 {
        // RFC 7323 §4.3: of several segments one acknowledgement answers, the first is echoed; none
        // from beyond a gap.
        if packet.seq <= self.last_ack && packet.sent_at > self.echo {
            self.echo = packet.sent_at;
        }
        let fin = packet.flags.has(Flags::FIN);
        let len = u64::from(packet.payload) + u64::from(fin);
        if len == 0 {
            return 0;
        }
        let reports_mark = self.ecn.take_in(packet);
        if fin {
            self.fin = Some(packet.seq + u64::from(packet.payload));
        }
        let read_before = self.read();
        let end = packet.seq + len;
        if packet.seq == self.next && self.out_of_order.is_empty() {
            self.next = end;
            let opens = self.window.open(len);
            let is_quick = (self.quick.as_mut()).is_some_and(|quick| quick.answers(opens, now));
            self.owe(fin || is_quick || reports_mark, now);
        } else {
            self.take_out_of_order(packet.seq, end);
            self.owed = Owed::Now;
        }
        self.window.measure(self.next, packet.echo, now);
        self.read() - read_before
    }

    /// An in-order segment is to be acknowledged.
    #[inline]
    fn owe(&mut self, at_once: bool, now: Instant) {
        self.unacked += 1;
        if at_once || self.unacked >= SEGMENTS_PER_ACK || self.delay.is_zero() {
            self.owed = Owed::Now;
        } else if self.owed == Owed::Nothing {
            self.owed = Owed::Until(now + self.delay);
        }
    }

    /// A segment that does not simply follow: old, beyond a gap, or filling one.
    fn take_out_of_order(&mut self, seq: u64, end: u64) {
        let mut duplicate = (seq < self.next).then_some((seq, end.min(self.next)));
        if end <= self.next {
            return self.report_duplicate(duplicate);
        }
        let start = seq.max(self.next);
        // Up to where the segment is known to be new, or old.
        let (mut judged, mut new) = (start, 0);
        let range = self.out_of_order.insert(start, end, |from, to| {
            if judged < from {
                duplicate.get_or_insert((judged, from));
            }
            judged = to;
            new += to - from;
        });
        if new > 0 && (self.sack || range.0 == self.next) {
            self.window.open(new);
        }
        if judged < end {
            duplicate.get_or_insert((judged, end));
        }
        self.report_duplicate(duplicate);
        if range.0 > self.next {
            self.report.remember(range);
            return;
        }
        self.next = range.1;
        self.out_of_order.remove_below(self.next);
        self.report.recent.retain(|range| range.0 > self.next);
    }

    /// RFC 2883 §4: the first part of the latest segment that had arrived before, in one
    /// acknowledgement.
    fn report_duplicate(&mut self, duplicate: Option<Range>) {
        if self.dsack {
            self.report.duplicate = duplicate;
        }
    }

    /// An acknowledgement leaves, alone or with data.
    #[inline]
    pub(super) fn acknowledged(&mut self) {
        self.owed = Owed::Nothing;
        self.unacked = 0;
        self.report.duplicate = None;
        self.last_ack = self.next;
    }

    /// Demands an acknowledgement.
    pub(super) fn owe_now(&mut self) {
        self.owed = Owed::Now;
    }

    /// Whether an acknowledgement has to leave now.
    pub(super) fn owes_ack(&self, now: Instant) -> bool {
        match self.owed {
            Owed::Nothing => false,
            Owed::Now => true,
            Owed::Until(at) => at <= now,
        }
    }

    /// When a delayed acknowledgement has to leave.
    pub(super) fn ack_deadline(&self) -> Option<Instant> {
        match self.owed {
            Owed::Nothing | Owed::Now => None,
            Owed::Until(at) => Some(at),
        }
    }

    /// What the next acknowledgement reports: what arrived twice, then what arrived out of order.
    pub(super) fn sack_blocks(&self) -> SackBlocks {
        self.report.blocks()
    }

    /// Whether there are [SACK blocks](Self::sack_blocks) to be sent.
    #[inline]
    pub(super) fn has_blocks(&self) -> bool {
        !self.report.is_empty()
    }

    /// Bytes offered beyond RCV.NXT.
    #[inline]
    pub(super) fn window(&self) -> u32 {
        self.window.offered().min(u64::from(u32::MAX)) as u32
    }

    /// RCV.NXT.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// The timestamp to echo.
    pub(super) fn echo(&self) -> Instant {
        self.echo
    }

    /// What an acknowledgement says.
    #[inline]
    pub(super) fn flags(&self) -> Flags {
        self.ecn.flags()
    }

    /// Bytes of the stream in order so far.
    pub(super) fn read(&self) -> u64 {
        self.next - u64::from(self.is_finished())
    }

    /// Whether everything up to the FIN has arrived.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flow::FlowId;
    use crate::packet::{Ecn, Side};
    use crate::tcp::receive_window::Offer;

    const DELAY: Duration = Duration::from_millis(40);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn data(seq: u64, payload: u16, sent_ms: u64) -> Packet {
        let mut packet = Packet::datagram(FlowId(0), Side::Peer, seq, payload + 52, payload);
        packet.sent_at = at(sent_ms);
        packet.flags = Flags::ACK;
        packet
    }

    fn setup(delay: Duration, dsack: bool) -> Setup {
        Setup {
            delay,
            sack: true,
            dsack,
            quick_acks: false,
            window: ReceiveWindow::new(Offer::Fixed(1 << 20), 1448),
        }
    }

    fn receiver(delay: Duration, dsack: bool) -> Receiver {
        Receiver::new(setup(delay, dsack))
    }

    #[test]
    fn with_sack_what_arrives_behind_a_gap_opens_an_autotuned_window_too() {
        for sack in [false, true] {
            let mut receiver = Receiver::new(Setup {
                sack,
                window: ReceiveWindow::new(Offer::Tuned { most: 1 << 20 }, 1448),
                ..setup(DELAY, true)
            });
            let first = receiver.window();
            receiver.on_segment(&data(1448, 1448, 0), at(10));
            let opened = if sack { 2 * 1448 } else { 0 };
            assert_eq!(receiver.window() - first, opened, "behind a gap");
            receiver.on_segment(&data(1448, 1448, 1), at(11));
            assert_eq!(receiver.window() - first, opened, "a second time");
            receiver.on_segment(&data(0, 1448, 2), at(12));
            assert_eq!(receiver.window() - first, opened + 2 * 1448, "into the gap");
        }
    }

    fn fin(seq: u64) -> Packet {
        let mut packet = data(seq, 0, 0);
        packet.flags = packet.flags.with(Flags::FIN);
        packet
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once_and_a_single_one_after_the_delay() {
        let mut receiver = receiver(DELAY, false);
        assert_eq!(receiver.on_segment(&data(0, 1000, 0), at(10)), 1000);
        assert!(!receiver.owes_ack(at(10)));
        assert_eq!(receiver.ack_deadline(), Some(at(50)));
        assert!(receiver.owes_ack(at(50)));
        receiver.on_segment(&data(1000, 1000, 1), at(11));
        assert!(receiver.owes_ack(at(11)));
        receiver.acknowledged();
        assert!(!receiver.owes_ack(at(100)));
        assert_eq!(receiver.ack_deadline(), None);
    }

    #[test]
    fn without_delay_every_segment_is_acknowledged() {
        let mut receiver = receiver(Duration::ZERO, false);
        receiver.on_segment(&data(0, 1000, 0), at(1));
        assert!(receiver.owes_ack(at(1)));
    }

    /// Which of so many segments in order, one a millisecond from `start_ms`, are acknowledged as
    /// they come.
    fn answered(receiver: &mut Receiver, start_ms: u64, count: u64) -> Vec<u64> {
        (1..=count)
            .filter(|n| {
                let now = start_ms + n;
                receiver.on_segment(&data(receiver.next(), 1000, now - 1), at(now));
                let answers = receiver.owes_ack(at(now));
                if answers {
                    receiver.acknowledged();
                }
                answers
            })
            .collect()
    }

    #[test]
    fn the_first_sixteen_are_acknowledged_singly_and_again_after_a_silence() {
        let mut receiver = Receiver::new(Setup {
            quick_acks: true,
            ..setup(DELAY, false)
        });
        receiver.handshake_done(None, Duration::from_millis(220));
        let quick: Vec<u64> = (1..=16).chain([18, 20]).collect();
        assert_eq!(answered(&mut receiver, 0, 20), quick);
        assert_eq!(
            answered(&mut receiver, 239, 2),
            [2],
            "220 ms are no silence"
        );
        assert_eq!(answered(&mut receiver, 462, 20), quick);
    }

    /// Linux 6.18, 10 Mbit/s and 20 ms: single acknowledgements up to the 22nd segment, of which
    /// six open the window.
    #[test]
    fn what_opens_the_window_is_acknowledged_at_once_and_does_not_count() {
        let mut receiver = Receiver::new(Setup {
            quick_acks: true,
            window: ReceiveWindow::new(Offer::Tuned { most: 20 << 20 }, 1448),
            ..setup(DELAY, false)
        });
        let quick: Vec<u64> = (1..=22).chain([24, 26]).collect();
        assert_eq!(answered(&mut receiver, 0, 26), quick);
        assert_eq!(receiver.window(), 80_896);
    }

    #[test]
    fn gaps_duplicates_and_fins_are_acknowledged_at_once() {
        for packet in [data(5000, 1000, 0), fin(0)] {
            let mut receiver = receiver(DELAY, false);
            receiver.on_segment(&packet, at(1));
            assert!(receiver.owes_ack(at(1)), "{packet:?}");
        }
        let mut receiver = receiver(DELAY, false);
        receiver.on_segment(&data(0, 1000, 0), at(1));
        receiver.acknowledged();
        assert_eq!(receiver.on_segment(&data(0, 1000, 0), at(2)), 0);
        assert!(receiver.owes_ack(at(2)), "a duplicate");
    }

    #[test]
    fn sack_blocks_are_reported_most_recent_first_and_grow_in_place() {
        let mut receiver = receiver(DELAY, false);
        for seq in [2000, 4000, 6000] {
            receiver.on_segment(&data(seq, 1000, 0), at(1));
        }
        let blocks = receiver.sack_blocks();
        assert_eq!(
            blocks.as_slice(),
            [(6000, 7000), (4000, 5000), (2000, 3000)]
        );
        // The fourth range pushes the oldest out; growing the second brings it to the front.
        receiver.on_segment(&data(8000, 1000, 0), at(1));
        receiver.on_segment(&data(5000, 1000, 0), at(1));
        let blocks = receiver.sack_blocks();
        assert_eq!(blocks.as_slice(), [(4000, 7000), (8000, 9000)]);
        // Filling the first gap reads on to the next one.
        assert_eq!(receiver.on_segment(&data(0, 2000, 0), at(1)), 3000);
        assert_eq!(receiver.on_segment(&data(3000, 1000, 0), at(1)), 4000);
        assert_eq!(receiver.sack_blocks().as_slice(), [(8000, 9000)]);
    }

    /// Feeds segments (first byte, byte after the last) to a receiver that has all up to the first:
    /// what it acknowledges each time, and the SACK blocks.
    #[track_caller]
    fn assert_reports(steps: &[((u64, u64), u64, &[Range])]) {
        let mut receiver = receiver(DELAY, true);
        receiver.on_segment(&data(0, steps[0].0.0 as u16, 0), at(1));
        receiver.acknowledged();
        for &((start, end), next, blocks) in steps {
            receiver.on_segment(&data(start, (end - start) as u16, 0), at(1));
            let told = (receiver.next(), receiver.sack_blocks());
            assert_eq!((told.0, told.1.as_slice()), (next, blocks), "{start}");
            assert_eq!(receiver.has_blocks(), !blocks.is_empty());
            receiver.acknowledged();
        }
    }

    #[test]
    fn duplicates_are_reported_as_in_the_examples_of_rfc_2883() {
        // §4.1.1: a duplicate segment.
        assert_reports(&[
            ((3000, 3500), 3500, &[]),
            ((3500, 4000), 4000, &[]),
            ((3000, 3500), 4000, &[(3000, 3500)]),
        ]);
        // §4.1.2: an out-of-order segment and a duplicate.
        assert_reports(&[
            ((3000, 3500), 3500, &[]),
            ((3500, 4000), 4000, &[]),
            ((4500, 5000), 4000, &[(4500, 5000)]),
            ((3000, 3500), 4000, &[(3000, 3500), (4500, 5000)]),
        ]);
        // §4.1.3: a duplicate of an out-of-order segment; the range that it lies in comes second.
        assert_reports(&[
            ((3500, 4000), 4000, &[]),
            ((4500, 5000), 4000, &[(4500, 5000)]),
            ((5000, 5500), 4000, &[(4500, 5500)]),
            ((5000, 5500), 4000, &[(5000, 5500), (4500, 5500)]),
        ]);
        // §4.2.1: a single duplicate subsegment.
        assert_reports(&[
            ((500, 1000), 1000, &[]),
            ((2000, 2500), 1000, &[(2000, 2500)]),
            ((1000, 1500), 1500, &[(2000, 2500)]),
            ((1000, 2000), 2500, &[(1000, 1500)]),
        ]);
        // §4.2.2: of two below the acknowledgement the first.
        assert_reports(&[
            ((500, 1000), 1000, &[]),
            ((3000, 3500), 1000, &[(3000, 3500)]),
            ((1000, 1500), 1500, &[(3000, 3500)]),
            ((2000, 2500), 1500, &[(2000, 2500), (3000, 3500)]),
            ((1000, 2500), 2500, &[(1000, 1500), (3000, 3500)]),
        ]);
        // §4.2.3: of two above it the first, and the range that it has become part of.
        assert_reports(&[
            ((500, 1000), 1000, &[]),
            ((3500, 4000), 1000, &[(3500, 4000)]),
            ((1500, 2000), 1000, &[(1500, 2000), (3500, 4000)]),
            (
                (2500, 3000),
                1000,
                &[(2500, 3000), (1500, 2000), (3500, 4000)],
            ),
            (
                (1500, 3000),
                1000,
                &[(1500, 2000), (1500, 3000), (3500, 4000)],
            ),
        ]);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_only_if_asked_for() {
        for dsack in [true, false] {
            let mut receiver = receiver(DELAY, dsack);
            receiver.on_segment(&data(0, 1000, 0), at(1));
            receiver.on_segment(&data(0, 1000, 0), at(2));
            assert_eq!(receiver.has_blocks(), dsack);
            receiver.acknowledged();
            assert!(!receiver.has_blocks());
        }
    }

    #[test]
    fn the_echo_is_the_first_unacknowledged_segments_and_stands_still_at_a_gap() {
        let mut receiver = receiver(DELAY, false);
        receiver.on_segment(&data(0, 1000, 5), at(10));
        receiver.on_segment(&data(1000, 1000, 6), at(11));
        assert_eq!(receiver.echo(), at(5));
        receiver.acknowledged();
        receiver.on_segment(&data(3000, 1000, 8), at(12));
        assert_eq!(receiver.echo(), at(5), "beyond the gap");
        receiver.acknowledged();
        receiver.on_segment(&data(2000, 1000, 9), at(13));
        assert_eq!(receiver.echo(), at(9), "fills it");
    }

    #[test]
    fn ce_is_echoed_until_cwr_and_a_marked_cwr_segment_starts_anew() {
        let mut receiver = receiver(DELAY, false);
        receiver.use_ecn(EcnMode::On);
        let mut seq = 0;
        let mut arrive = |ecn, flags| {
            let mut packet = data(seq, 1000, 0);
            seq += 1000;
            (packet.ecn, packet.flags) = (ecn, flags);
            receiver.on_segment(&packet, at(1));
            receiver.flags().has(Flags::ECE)
        };
        assert!(!arrive(Ecn::Ect0, Flags::ACK));
        assert!(arrive(Ecn::Ce, Flags::ACK));
        assert!(arrive(Ecn::Ect0, Flags::ACK));
        assert!(!arrive(Ecn::Ect0, Flags::ACK.with(Flags::CWR)));
        assert!(arrive(Ecn::Ce, Flags::ACK.with(Flags::CWR)));
    }

    #[test]
    fn accurate_ecn_counts_marked_packets_modulo_eight_and_tells_the_first_at_once() {
        let mut receiver = receiver(DELAY, false);
        receiver.use_ecn(EcnMode::Accurate);
        assert_eq!(receiver.flags().ace(), 5);
        let mut seq = 0;
        let mut arrive = |ecn| {
            let mut packet = data(seq, 1000, 0);
            seq += 1000;
            packet.ecn = ecn;
            receiver.on_segment(&packet, at(1));
            let told = receiver.owes_ack(at(1));
            if told {
                receiver.acknowledged();
            }
            (told, receiver.flags().ace())
        };
        assert_eq!(arrive(Ecn::Ect1), (false, 5));
        assert_eq!(arrive(Ecn::Ect1), (true, 5), "every second");
        assert_eq!(arrive(Ecn::Ce), (true, 6), "the first mark");
        assert_eq!(arrive(Ecn::Ce), (false, 7));
        assert_eq!(arrive(Ecn::Ce), (true, 0));
        assert_eq!(arrive(Ecn::Ect1), (false, 0));
        assert_eq!(arrive(Ecn::Ce), (true, 1));
    }

    #[test]
    fn a_fin_counts_as_a_sequence_number_and_not_as_a_byte() {
        let mut receiver = receiver(DELAY, false);
        assert_eq!(
            receiver.on_segment(&fin(1000), at(1)),
            0,
            "beyond the gap of the data"
        );
        assert!(!receiver.is_finished());
        assert_eq!(receiver.on_segment(&data(0, 1000, 0), at(2)), 1000);
        assert!(receiver.is_finished());
        assert_eq!((receiver.next(), receiver.read()), (1001, 1000));
    }

    proptest! {
        /// In whatever order, and however often, segments arrive: each byte is read once, and SACK
        /// blocks tell the truth.
        #[test]
        fn the_stream_is_put_together_from_any_order(
            order in Just((0_u64..30).collect::<Vec<_>>()).prop_shuffle(),
            again in prop::collection::vec(0_u64..30, 0..30),
        ) {
            let mut receiver = receiver(DELAY, false);
            let mut arrived = [false; 30];
            let mut read = 0;
            let mut all = order;
            for (place, number) in again.into_iter().enumerate() {
                all.insert(place * 2 % all.len(), number);
            }
            for number in all {
                read += receiver.on_segment(&data(number * 100, 100, 0), at(1));
                arrived[number as usize] = true;
                let in_order = arrived.iter().take_while(|seen| **seen).count() as u64 * 100;
                prop_assert_eq!((receiver.next(), read), (in_order, in_order));
                let blocks = receiver.sack_blocks();
                for (index, &(start, end)) in blocks.as_slice().iter().enumerate() {
                    prop_assert!(in_order < start && start < end);
                    prop_assert!((start / 100..end / 100).all(|number| arrived[number as usize]));
                    // Whole ranges: what lies next to them on either side is missing.
                    prop_assert!(!arrived[(start / 100) as usize - 1]);
                    prop_assert!(!arrived.get((end / 100) as usize).copied().unwrap_or(false));
                    let others = &blocks.as_slice()[..index];
                    prop_assert!(others.iter().all(|other| other.1 < start || end < other.0));
                }
                if (number * 100) > in_order {
                    let first = blocks.as_slice().first().copied().unwrap_or_default();
                    prop_assert!(first.0 <= number * 100 && number * 100 < first.1);
                }
            }
            prop_assert_eq!(read, 3000);
        }
    }
}
