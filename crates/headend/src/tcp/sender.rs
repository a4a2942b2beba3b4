//! The sending half of a connection: what to send next, what an acknowledgement means, and when to stop waiting for one.
//!
//! It does no I/O: the connection feeds it [acknowledgements](Ack), asks it for [segments](Transmit) until it has none, and tells it when its timer
//! has expired. How much may be in flight is the [congestion control](crate::congestion)'s to say.
//!
//! Loss recovery has three states ([`Recovery`]):
//!
//! - *none*: duplicate acknowledgements are counted; the first two let a new segment out each (limited transmit, RFC 3042);
//! - *fast*: after RFC 6675's sign of loss, or the third duplicate without SACK (RFC 6582), until all that was in flight then is acknowledged. With
//!   SACK, `NextSeg()` chooses between repairs, new data and the rescue retransmission; without, each partial acknowledgement
//!   repairs one segment;
//! - *timeout*: everything not acknowledged is lost, and is sent again in slow start (RFC 5681 §3.1).
//!
//! Two more are options: [proportional rate reduction](super::prr), and [RACK-TLP](super::rack), which tells losses by time and probes for those of a flight's end.
//!
//! Left out: reneging receivers, Nagle's algorithm, persist probes (receivers read at once, so the window never closes), repeated losses of one
//! repair but by the timer or RACK, undoing of spurious timeouts, and a limit on retransmissions of data.

use super::prr::{Progress, Prr, PrrMode};
use super::rack::Rack;
use super::rate::RateSampler;
use super::receiver::INITIAL_MARKED;
use super::rtt::RttEstimator;
use super::scoreboard::{DUP_THRESH, Delivery, Scoreboard};
use super::{EcnMode, SsthreshFrom};
use crate::congestion::{AckSample, CongestionControl, CongestionSignal, window_rate};
use crate::packet::{Ecn, Flags};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Parameters of the sending half.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
#[derive(Debug)]
pub(super) struct Setup {
    /// Largest payload of a segment.
    pub(super) mss: u64,
    /// Window after idling (RFC 5681 §4.1): the initial window.
    pub(super) restart_window: u64,
    /// Whether both sides use SACK.
    pub(super) sack: bool,
    /// Whether both sides use timestamps.
    pub(super) timestamps: bool,
    /// Without SACK: whether a partial acknowledgement ends fast recovery.
    pub(super) reno: bool,
    /// How the window falls in step with what is delivered (with SACK).
    pub(super) prr: PrrMode,
    /// Whether losses are told by time (with SACK), and how long the other side may delay an acknowledgement.
    pub(super) rack: Option<Duration>,
    /// Whether the other side reports duplicates.
    pub(super) dsack: bool,
    /// Whether controls that name no rate are paced.
    pub(super) pacing: bool,
    /// What a slow-start threshold is a share of.
    pub(super) ssthresh_from: SsthreshFrom,
    /// Whether windows and thresholds are counted in whole segments.
    pub(super) whole_segments: bool,
    /// Bytes that the send buffer holds: no more are outstanding.
    pub(super) send_window: u64,
    /// Bytes that can come to be outstanding.
    pub(super) largest_window: u64,
}

/// What an arriving segment tells the sending half.
#[derive(Debug)]
pub(super) struct Ack<'a> {
    /// Next byte the other side expects.
    pub(super) next: u64,
    /// Timestamp echo: when the segment it answers was sent.
    pub(super) echo: Instant,
    /// When the other side sent it.
    pub(super) sent_at: Instant,
    /// SACK blocks.
    pub(super) blocks: &'a [(u64, u64)],
    /// Whether it brings data of its own; then it is no duplicate acknowledgement (RFC 5681 §2).
    pub(super) carries_data: bool,
    /// Control bits, for ECN's echo or count.
    pub(super) flags: Flags,
}

/// A segment to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transmit {
    /// First sequence number.
    pub(super) seq: u64,
    /// Payload bytes; a FIN has none.
    pub(super) payload: u16,
    /// Whether it is the FIN.
    pub(super) fin: bool,
    /// Whether it was sent before.
    pub(super) again: bool,
    /// It says that the window was reduced (RFC 3168 §6.1.2).
    pub(super) cwr: bool,
}

/// State of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// Fast recovery, until `point` is acknowledged. One rescue retransmission becomes possible once more than `rescue_after` is acknowledged.
    Fast { point: u64, rescue_after: u64 },
    /// Nothing to recover from.
    None,
    /// After a timeout, until `point` is acknowledged.
    Timeout { point: u64 },
}

/// How far the stream's end is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// No more will be written; the FIN follows the last byte.
    Closing,
    /// The FIN is out.
    FinSent,
    /// More may be written.
    Open,
}

/// The sending half.
#[derive(Debug)]
pub(super) struct Sender {
    setup: Setup,

    /// Bytes of the stream so far; `u64::MAX` never runs dry.
    written: u64,
    end: End,
    /// The other side takes nothing from here on: its acknowledgement number plus its window.
    right_edge: u64,
    board: Scoreboard,
    last_sent_at: Instant,

    control: Box<dyn CongestionControl>,
    /// What the control last said: its window, pacing rate, quantum and the deadline of its timer.
    cwnd: u64,
    pacing_rate: Option<Rate>,
    send_quantum: u64,
    control_deadline: Option<Instant>,
    /// It was the window that stopped the latest round of sending.
    cwnd_limited: bool,
    rate: RateSampler,
    rtt: RttEstimator,
    rto_deadline: Option<Instant>,

    /// Pacing: not before.
    next_send_at: Instant,
    /// Pacing: bytes that may still leave together with those that left last.
    quantum_left: u64,
    /// Pacing: until when something may be waiting.
    paced_until: Option<Instant>,

    /// What both sides agreed on.
    ecn: EcnMode,
    /// Accurate ECN: marked packets so far, as far as the three bits tell (RFC 9768 §3.2.1: `s.cep`).
    marked: u8,
    /// The next new segment says CWR.
    cwr_due: bool,

    recovery: Recovery,
    /// Duplicate acknowledgements since SND.UNA last moved.
    dup_acks: u32,
    /// The first segment is to be sent again, whatever the window says.
    repair_first: bool,
    /// Without SACK: bytes that duplicate acknowledgements say have left the network (RFC 5681 §3.2 inflates cwnd instead).
    departed: u64,
    /// From here on limited transmit sends: SND.NXT at the first duplicate since SND.UNA last moved, and what it acknowledged besides.
    limited_from: u64,
    /// FlightSize at the start of the recovery under way.
    recovery_flight: u64,
    /// Without SACK: the recovery point of the latest recovery; duplicates up to it start no other (RFC 6582 §3.2, step 1).
    recover: Option<u64>,
    /// One response to congestion a window: until this is acknowledged, neither marks nor losses count again. What is echoed at this very point was marked
    /// before.
    responded_until: Option<u64>,
    rack: Option<Rack>,
    /// Proportional rate reduction, during fast recovery.
    prr: Option<Prr>,
}

impl Sender {
    /// The sending half of a connection just opened.
    pub(super) fn new(
        setup: Setup,
        rtt: RttEstimator,
        control: Box<dyn CongestionControl>,
        right_edge: u64,
    ) -> Self {
        let mut board = Scoreboard::new(setup.mss);
        let rack = setup.rack.filter(|_| setup.sack).map(|delay| {
            board.remember_repairs();
            Rack::new(delay)
        });
        Self {
            setup,
            written: 0,
            end: End::Open,
            right_edge,
            board,
            last_sent_at: Instant::ZERO,
            cwnd: control.cwnd(),
            pacing_rate: control.pacing_rate(),
            send_quantum: control.send_quantum(),
            control_deadline: control.next_timer(),
            control,
            cwnd_limited: false,
            rate: RateSampler::default(),
            rtt,
            rto_deadline: None,
            next_send_at: Instant::ZERO,
            quantum_left: 0,
            paced_until: None,
            ecn: EcnMode::Off,
            marked: INITIAL_MARKED,
            cwr_due: false,
            recovery: Recovery::None,
            dup_acks: 0,
            repair_first: false,
            departed: 0,
            limited_from: 0,
            recovery_flight: 0,
            recover: None,
            responded_until: None,
            rack,
            prr: None,
        }
    }

    /// The application appends bytes to the stream.
    pub(super) fn write(&mut self, bytes: u64) {
        assert_eq!(self.end, End::Open, "a closed stream takes no more data");
        self.written = self.written.saturating_add(bytes);
    }

    /// Up to `window` bytes are to be in flight, if the other side takes them.
    pub(super) fn make_room(&mut self, window: u64) {
        self.board.make_room(window.min(self.setup.largest_window));
    }

    /// The application closes the stream: an endless one ends with what has been sent.
    pub(super) fn close(&mut self) {
        if self.end == End::Open {
            self.end = End::Closing;
            if self.written == u64::MAX {
                self.written = self.board.nxt();
            }
        }
    }

    /// The handshake is complete: it took `rtt`, if it could be timed. A repeated handshake starts over with the window of another
    /// control and, unless it was timed, with a timeout of at least the initial one.
    pub(super) fn handshake_done(
        &mut self,
        rtt: Option<Duration>,
        repeated: Option<(Box<dyn CongestionControl>, Duration)>,
    ) {
        if let Some(rtt) = rtt {
            self.rtt.observe(rtt);
            self.rtt.sample(rtt);
        }
        if let Some((control, initial_rto)) = repeated {
            self.control = control;
            self.rtt.handshake_was_repeated(initial_rto);
        }
        if let Some(rtt) = rtt {
            self.control.on_handshake(rtt);
        }
        self.consult();
    }

    /// What the handshake agreed on; what new data is to say of it.
    pub(super) fn use_ecn(&mut self, mode: EcnMode) -> Ecn {
        self.ecn = mode;
        match mode {
            EcnMode::Off | EcnMode::Auto => Ecn::NotEct,
            EcnMode::Accurate if self.control.is_scalable() => Ecn::Ect1,
            EcnMode::Accurate | EcnMode::On => Ecn::Ect0,
        }
    }

    /// The next segment that may be sent now. Ask until there is none.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it has one place, which every segment passes"
    )]
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.pacing_rate.is_some() && now < self.next_send_at && self.quantum_left == 0 {
            // Whether anything waits is found out when the time has come. The pace is the control's doing, as the window is.
            self.cwnd_limited |= self.unsent().is_some();
            self.paced_until = Some(self.next_send_at);
            return None;
        }
        self.paced_until = None;
        match self.next_segment()? {
            Next::Wait => None,
            Next::New { len } => Some(self.send_new(len, now)),
            Next::Again { number, counts } => Some(self.send_again(number, counts, now)),
        }
    }

    /// Chooses what to send next, if the window lets anything out.
    #[inline]
    fn next_segment(&mut self) -> Option<Next> {
        let room = self.cwnd.saturating_sub(self.in_flight());
        if !matches!(self.recovery, Recovery::None)
            && let Some(next) = self.next_repair(room)
        {
            return Some(next);
        }
        if let Some(len) = self.unsent() {
            // A FIN takes a sequence number, but nobody's room.
            if len > room && len > 0 {
                self.cwnd_limited = true;
                return None;
            }
            return Some(Next::New { len: len as u16 });
        }
        self.cwnd_limited = false;
        if self.board.nxt() == self.written && room > 0 {
            self.rate.app_limited(self.in_flight());
        }
        self.next_speculative(room)
    }

    /// What is known to be lost comes first.
    fn next_repair(&mut self, room: u64) -> Option<Next> {
        let again = |number| Next::Again {
            number,
            counts: true,
        };
        if std::mem::take(&mut self.repair_first)
            && let Some(number) = self.board.first_unrepaired()
        {
            return Some(again(number));
        }
        let number = self.board.next_lost()?;
        if self.board.len_of(number) > room {
            self.cwnd_limited = true;
            return Some(Next::Wait);
        }
        Some(again(number))
    }

    /// RFC 6675 §4, `NextSeg()` rules 3 and 4: with nothing else to send, segments that are perhaps lost, then one rescue.
    fn next_speculative(&mut self, room: u64) -> Option<Next> {
        let Recovery::Fast {
            point,
            rescue_after,
        } = self.recovery
        else {
            return None;
        };
        if !self.setup.sack || self.rack.is_some() {
            return None;
        }
        if let Some(number) = self.board.next_hole() {
            return (self.board.len_of(number) <= room).then_some(Next::Again {
                number,
                counts: true,
            });
        }
        let number = self.board.last_hole()?;
        if self.board.una() <= rescue_after || self.board.len_of(number) > room {
            return None;
        }
        self.recovery = Recovery::Fast {
            point,
            rescue_after: point,
        };
        Some(Next::Again {
            number,
            counts: false,
        })
    }

    /// Length of the next new segment that the receiver and the send buffer have room for; 0 is the FIN.
    #[inline]
    fn unsent(&self) -> Option<u64> {
        if self.end == End::FinSent {
            return None;
        }
        let nxt = self.board.nxt();
        let len = (self.written - nxt).min(self.setup.mss);
        if len == 0 {
            return (self.end == End::Closing).then_some(0);
        }
        let fits = nxt + len - self.board.una() <= self.setup.send_window;
        (fits && nxt + len <= self.right_edge).then_some(len)
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it has one place, which every segment passes"
    )]
    fn send_new(&mut self, len: u16, now: Instant) -> Transmit {
        if self.board.is_empty() {
            self.restart_after_idling(now);
        }
        let seq = self.board.nxt();
        let fin = len == 0;
        let stamp = self.rate.stamp(now, &self.board, len.max(1));
        self.board.push(len.max(1), fin, stamp);
        if fin {
            self.end = End::FinSent;
        }
        self.sent(len, now);
        Transmit {
            seq,
            payload: len,
            fin,
            again: false,
            cwr: !fin && std::mem::take(&mut self.cwr_due),
        }
    }

    fn send_again(&mut self, number: u64, counts: bool, now: Instant) -> Transmit {
        if self.board.is_first(number) {
            // RFC 6675 §6 allows it: otherwise a timeout is due where two round trips exceed the RTO. A first segment is
            // repaired once a recovery, so this cannot put the timer off for ever.
            self.rto_deadline = None;
        }
        let len = self.board.len_of(number) as u16;
        let stamp = self.rate.stamp(now, &self.board, len);
        let segment = self.board.resend(number, stamp, counts);
        let payload = if segment.is_fin() { 0 } else { segment.len };
        self.sent(payload, now);
        Transmit {
            seq: segment.seq,
            payload,
            fin: segment.is_fin(),
            again: true,
            cwr: false,
        }
    }

    /// What every transmission entails.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "it has one place, which every segment passes"
    )]
    fn sent(&mut self, payload: u16, now: Instant) {
        self.last_sent_at = now;
        if self.rto_deadline.is_none() {
            // RFC 6298 §5.1.
            self.rto_deadline = Some(now + self.rtt.rto());
        }
        self.control
            .on_sent(now, u64::from(payload), self.in_flight());
        if let Some(prr) = &mut self.prr {
            prr.sent(u64::from(payload));
        }
        if let Some(rack) = &mut self.rack
            && matches!(self.recovery, Recovery::None)
        {
            rack.schedule_probe(&self.board, &self.rtt, self.rto_deadline, now);
        }
        if let Some(rate) = self.pacing_rate {
            self.pace(u64::from(payload), rate, now);
        }
    }

    /// What leaves together takes its time afterwards, in one piece: one wake-up serves it all.
    #[inline]
    fn pace(&mut self, payload: u64, rate: Rate, now: Instant) {
        if now >= self.next_send_at {
            self.next_send_at = now;
            self.quantum_left = self.send_quantum;
        }
        self.next_send_at += rate.time_for(payload);
        // A segment that no longer fits waits for the next piece.
        self.quantum_left = self.quantum_left.saturating_sub(payload);
        if self.quantum_left < self.setup.mss {
            self.quantum_left = 0;
        }
    }

    /// RFC 5681 §4.1: after more than an RTO without sending, acknowledgements no longer clock the window out.
    fn restart_after_idling(&mut self, now: Instant) {
        if self.board.nxt() > 0 && now.since(self.last_sent_at) > self.rtt.rto() {
            self.control.on_idle(self.setup.restart_window);
            self.consult();
        }
    }

    /// Takes note of the window that the other side offers. Whether there is anything to acknowledge: mostly not, where only the other side sends.
    #[inline]
    pub(super) fn note_window(&mut self, next: u64, window: u32) -> bool {
        if next > self.board.nxt() {
            return false;
        }
        self.right_edge = self.right_edge.max(next + u64::from(window));
        !self.board.is_empty()
    }

    /// Takes in an acknowledgement of something in flight, after [`Self::note_window`].
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, now: Instant) {
        let prior_una = self.board.una();
        let prior_in_flight = self.in_flight();
        let flight_size = self.flight_size();
        let was_fast = matches!(self.recovery, Recovery::Fast { .. });
        let mut delivery = Delivery::default();
        if ack.next > prior_una {
            self.board.acknowledge(ack.next, &mut delivery);
        }
        if self.setup.sack {
            for &block in ack.blocks {
                self.board.sack(block, &mut delivery);
            }
        }
        if self.rack.is_some() {
            self.note_duplicate(ack.next, ack.blocks);
        }
        let advanced = self.board.una() > prior_una;
        let duplicate = self.is_duplicate(ack, advanced, &delivery);
        if duplicate && (advanced || self.dup_acks == 0) {
            // The first duplicate may acknowledge something too, which lets out as much as any acknowledgement.
            self.limited_from = self.board.nxt() + (self.board.una() - prior_una);
        }
        let mut ece = self.ecn == EcnMode::On && ack.flags.has(Flags::ECE);
        if !advanced && !duplicate && delivery.bytes == 0 && !ece {
            return;
        }
        let mut sample = self.measure(ack, advanced, &delivery, now);
        sample.prior_in_flight = prior_in_flight;
        sample.flight_size = flight_size;
        sample.whole_segments = self.setup.whole_segments;
        if self.ecn == EcnMode::Accurate {
            sample.ce_bytes = self.count_marks(ack.flags.ace(), delivery.bytes);
            ece = sample.ce_bytes > 0;
        }
        // RFC 3042: duplicates let segments out, and leave the window as it is. RFC 3168 §6.1.2: so do echoes.
        sample.in_recovery = was_fast || ece || (duplicate && !advanced);
        if let Some(rack) = &mut self.rack {
            rack.take_in(&delivery, self.board.una(), &self.rtt, now);
        }
        self.recover_from_loss(advanced, duplicate, &mut sample);
        self.respond_to_echo(ece, &sample);
        sample.in_recovery |= matches!(self.recovery, Recovery::Fast { .. });
        sample.in_flight = self.in_flight();
        sample.lost_in_flight = self.board.lost_in_flight();
        if sample.newly_acked > 0 || sample.newly_lost > 0 {
            self.control.on_ack(&sample);
        }
        if advanced {
            // RFC 6298 §5.2, §5.3: all acknowledged stops the timer, anything newly acknowledged restarts it.
            self.rtt.reset_backoff();
            let outstanding = !self.board.is_empty();
            self.rto_deadline = outstanding.then(|| now + self.rtt.rto());
        }
        if self.rack.is_some() {
            self.follow_probe(ack.echo, advanced, &sample);
        }
        self.consult();
        if self.prr.is_some() {
            let is_safe = advanced && sample.newly_lost == 0;
            self.reduce_in_proportion(sample.newly_acked, is_safe);
        }
    }

    /// What an acknowledgement up to `next` with SACK `blocks` says has arrived twice (RFC 2883): RACK-TLP alone makes use of it.
    #[inline(never)]
    pub(super) fn note_duplicate(&mut self, next: u64, blocks: &[(u64, u64)]) {
        if let Some(rack) = &mut self.rack {
            rack.take_in_report(next, blocks, &self.board);
        }
    }

    /// RFC 8985 §7.2, §7.4.2: a probe that repaired a loss is answered like one.
    fn follow_probe(&mut self, echo: Instant, advanced: bool, sample: &AckSample) {
        let is_new = self.starts_new_window();
        let Some(rack) = &mut self.rack else { return };
        if rack.ends_probe(self.board.una(), echo, self.setup.dsack) && is_new {
            self.responded_until = Some(self.board.nxt());
            let lost = self.setup.mss;
            self.control
                .on_congestion(CongestionSignal::Loss { lost }, sample);
            self.control.on_recovered(sample);
        }
        if advanced && matches!(self.recovery, Recovery::None) {
            rack.schedule_probe(&self.board, &self.rtt, self.rto_deadline, sample.now);
        }
    }

    /// The window of this recovery, in place of the control's.
    fn reduce_in_proportion(&mut self, delivered: u64, is_safe: bool) {
        let fast = matches!(self.recovery, Recovery::Fast { .. });
        match (&mut self.prr, self.control.ssthresh()) {
            (Some(prr), Some(ssthresh)) if fast => {
                let progress = Progress {
                    delivered,
                    in_flight: self.board.pipe(),
                    is_safe,
                };
                self.cwnd = prr.window(progress, ssthresh, self.setup.mss);
            }
            _ => self.prr = None,
        }
    }

    /// RFC 6675 §2 counts acknowledgements that selectively acknowledge something new; without SACK RFC 5681 §2 counts empty ones that say nothing new.
    #[inline]
    fn is_duplicate(&self, ack: &Ack<'_>, advanced: bool, delivery: &Delivery) -> bool {
        if self.setup.sack {
            // "Regardless of its status as a cumulative acknowledgment" (RFC 6675 §5).
            delivery.sacked
        } else {
            !advanced && !ack.carries_data && ack.next == self.board.una() && !self.board.is_empty()
        }
    }

    /// Round-trip time and delivery rate of what was newly acknowledged, as the start of the control's sample.
    #[inline]
    fn measure(
        &mut self,
        ack: &Ack<'_>,
        advanced: bool,
        delivery: &Delivery,
        now: Instant,
    ) -> AckSample {
        let rtt = delivery
            .newest
            .filter(|newest| !newest.is_resent())
            .map(|newest| now.since(newest.stamp.sent_at));
        if let Some(rtt) = rtt {
            self.rtt.observe(rtt);
        }
        let mut one_way_delay = None;
        if advanced {
            if self.setup.timestamps {
                // RFC 7323 §4.1: timed by the echo, if SND.UNA moves; retransmissions are no exception.
                self.rtt.sample(now.since(ack.echo));
                one_way_delay = Some(ack.sent_at.since(ack.echo));
            } else if let Some(sent_at) = delivery.first_sent_at.filter(|_| !delivery.resent) {
                self.rtt.sample(now.since(sent_at));
            }
        }
        let newest = delivery.newest.map(|newest| newest.stamp);
        let newest = newest.unwrap_or_default();
        let delivery_sample = delivery.newest.as_ref().and_then(|newest| {
            self.rate
                .delivered(delivery.bytes, newest, self.rtt.min_rtt(), now)
        });
        AckSample {
            now,
            newly_acked: delivery.bytes,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            one_way_delay,
            delivery_sample,
            delivered: self.rate.total(),
            prior_delivered: newest.delivered,
            sent_in_flight: u64::from(newest.in_flight),
            app_limited: newest.app_limited,
            cwnd_limited: self.cwnd_limited,
            round: self.rate.round(),
            mss: self.setup.mss,
            ..AckSample::default()
        }
    }

    /// Moves the state of loss recovery.
    #[inline]
    fn recover_from_loss(&mut self, advanced: bool, duplicate: bool, sample: &mut AckSample) {
        if advanced {
            self.dup_acks = 0;
        }
        if duplicate {
            self.dup_acks += 1;
            if !self.setup.sack {
                self.departed = (self.departed + self.setup.mss).min(self.board.pipe());
            }
        }
        match self.recovery {
            Recovery::None => {
                if advanced {
                    self.departed = 0;
                }
                if duplicate || self.rack.is_some() {
                    self.consider_fast_recovery(sample);
                }
            }
            Recovery::Fast { point, .. } if self.board.una() >= point => {
                self.end_fast_recovery(duplicate, sample);
            }
            Recovery::Fast { .. } if self.setup.sack => {
                sample.newly_lost = self.detect_losses(sample.now);
            }
            Recovery::Fast { .. } => {
                if advanced && self.setup.reno {
                    self.end_fast_recovery(false, sample);
                } else if advanced {
                    self.repair_next_hole(sample);
                }
            }
            Recovery::Timeout { point } => {
                self.departed = 0;
                if self.rack.is_some() {
                    sample.newly_lost = self.detect_losses(sample.now);
                }
                if self.board.una() >= point {
                    self.recovery = Recovery::None;
                    self.note_recovered();
                }
            }
        }
    }

    /// What is lost by RFC 6675 or RFC 8985: the bytes newly so.
    fn detect_losses(&mut self, now: Instant) -> u64 {
        let in_recovery = !matches!(self.recovery, Recovery::None);
        match &mut self.rack {
            Some(rack) => rack.detect_losses(in_recovery, &mut self.board, &self.rtt, now),
            None => self.board.detect_losses(),
        }
    }

    /// All that was in flight when recovery began is acknowledged; or, as in RFC 2581, the first of it.
    fn end_fast_recovery(&mut self, duplicate: bool, sample: &mut AckSample) {
        self.recovery = Recovery::None;
        self.note_recovered();
        self.repair_first = false;
        self.departed = 0;
        sample.in_flight = self.in_flight();
        // Another loss is one of what is outstanding now.
        sample.flight_size = self.flight_size();
        self.control.on_recovered(sample);
        // What was sent during recovery may have losses of its own. RFC 6675 waits for the next duplicate; there may be none.
        if duplicate || self.rack.is_some() || self.setup.sack && self.board.first_is_lost() {
            self.consider_fast_recovery(sample);
        }
    }

    fn note_recovered(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
    }

    /// RFC 6582 §3.2, step 3: a partial acknowledgement shows the next hole, and how many of the segments counted as departed it explains.
    fn repair_next_hole(&mut self, sample: &mut AckSample) {
        sample.newly_lost = self.board.lose_first();
        self.repair_first = true;
        let stays = if sample.newly_acked >= self.setup.mss {
            self.setup.mss
        } else {
            0
        };
        self.departed = (self.departed.saturating_sub(sample.newly_acked) + stays)
            .min(self.board.pipe() + sample.newly_lost);
    }

    /// A duplicate acknowledgement outside recovery: RFC 6675 §5 steps 1, 2 and 4, RFC 6582 §3.2 step 2.
    fn consider_fast_recovery(&mut self, sample: &mut AckSample) {
        if self.rack.is_some() {
            let lost = self.detect_losses(sample.now);
            if lost > 0 {
                sample.newly_lost += lost;
                self.repair_first = true;
                self.begin_fast_recovery(sample);
            }
            return;
        }
        let three = self.dup_acks >= DUP_THRESH;
        let lost = if self.setup.sack {
            three || self.board.first_is_lost()
        } else {
            // RFC 2581 has no such test.
            let is_new = |recover| self.setup.reno || self.board.una() > recover;
            three && self.recover.is_none_or(is_new)
        };
        if !lost {
            return;
        }
        sample.newly_lost = if self.setup.sack {
            self.board.detect_losses()
        } else {
            self.board.lose_first()
        };
        self.repair_first = true;
        self.begin_fast_recovery(sample);
    }

    /// Something is lost for the first time since the last recovery.
    fn begin_fast_recovery(&mut self, sample: &mut AckSample) {
        if self.control.repairs_in_slow_start() {
            return self.repair_in_slow_start(sample);
        }
        let point = self.board.nxt();
        self.recover = Some(point);
        let first = self.board.una();
        self.recovery_flight = sample.flight_size;
        self.recovery = Recovery::Fast {
            point,
            rescue_after: first + self.setup.mss.min(point - first),
        };
        if self.starts_new_window() || self.setup.reno {
            self.responded_until = Some(point);
            let lost = sample.newly_lost;
            self.control
                .on_congestion(CongestionSignal::Loss { lost }, sample);
        }
        if self.setup.sack {
            // RFC 9937 §6.2, `RecoverFS`: what this recovery can still see delivered, this acknowledgement's news included.
            let outstanding = match self.setup.prr {
                PrrMode::Off | PrrMode::Rfc6937 => point - first,
                PrrMode::Rfc9937 => {
                    (point - first + sample.newly_acked).saturating_sub(self.board.sacked_bytes())
                }
            };
            self.prr = Prr::new(self.setup.prr, outstanding);
        }
    }

    /// Whether all that was in flight at the latest response to congestion is acknowledged.
    fn starts_new_window(&self) -> bool {
        self.responded_until
            .is_none_or(|until| self.board.una() >= until)
    }

    /// Tahoe: the third duplicate is taken for the timer's expiry, but the timeout does not double.
    fn repair_in_slow_start(&mut self, sample: &mut AckSample) {
        let lost = self.lose_all();
        sample.newly_lost = lost;
        self.rto_deadline = Some(sample.now + self.rtt.rto());
        self.control
            .on_congestion(CongestionSignal::Loss { lost }, sample);
    }

    /// Everything outstanding is lost, and to be sent again in slow start; the bytes newly so.
    fn lose_all(&mut self) -> u64 {
        self.recovery_flight = self.flight_size();
        if let Some(rack) = &mut self.rack {
            rack.give_up();
        }
        self.prr = None;
        self.dup_acks = 0;
        self.departed = 0;
        self.repair_first = false;
        let point = self.board.nxt();
        self.recovery = Recovery::Timeout { point };
        self.recover = Some(point);
        self.responded_until = Some(point);
        self.board.lose_all()
    }

    /// Bytes newly reported as marked (RFC 9768 §3.2.2.5.2, appendix A.2): where so many packets are acknowledged at once that three bits may have wrapped,
    /// the most that fits.
    fn count_marks(&mut self, ace: u8, acked: u64) -> u64 {
        let newly = u64::from(ace.wrapping_sub(self.marked) & 7);
        self.marked = ace;
        let packets = acked.div_ceil(self.setup.mss);
        let newly = if packets < 8 {
            newly
        } else {
            packets - (packets - newly) % 8
        };
        (newly * self.setup.mss).min(acked)
    }

    /// RFC 3168 §6.1.2: an ECN echo counts like a loss, once a window, and is answered with CWR; RFC 9768 §3.3 needs no answer.
    #[inline]
    fn respond_to_echo(&mut self, ece: bool, sample: &AckSample) {
        let una = self.board.una();
        // "Less than or equal": RFC 8257 §3.3. The segment with CWR has not arrived before this is passed.
        if ece && self.responded_until.is_none_or(|until| una > until) {
            self.responded_until = Some(self.board.nxt());
            self.cwr_due = self.ecn == EcnMode::On;
            self.control.on_congestion(CongestionSignal::Ecn, sample);
        }
    }

    /// The retransmission timer has expired: RFC 6298 §5.4 to §5.6, RFC 5681 §3.1.
    ///
    /// A repair that is lost as well is another sign of congestion, for which ssthresh falls again (RFC 5681 §4.3): equation 4 counts
    /// what is outstanding at the timeout, not the pipe, which is all but empty by then. Linux leaves ssthresh alone in that case.
    fn on_timeout(&mut self, now: Instant) {
        let before = self.sample_without_news(now);
        let lost = self.lose_all();
        // RFC 5681 §3.1: ssthresh stays if the same segment has timed out before.
        if self.rtt.backoff() == 0 {
            let sample = AckSample {
                newly_lost: lost,
                ..before
            };
            self.control
                .on_congestion(CongestionSignal::Timeout, &sample);
        }
        self.rtt.back_off();
        self.rto_deadline = Some(now + self.rtt.rto());
        self.consult();
    }

    /// The control's own timer is due.
    pub(super) fn on_control_timer(&mut self, now: Instant) {
        self.control.on_timer(now);
        self.consult();
    }

    /// Asks the control what it thinks now: after every call that may have changed its mind, so that nobody else has to ask.
    #[inline]
    fn consult(&mut self) {
        let stance = self.control.stance();
        self.control_deadline = stance.next_timer;
        self.cwnd = stance.cwnd;
        self.pacing_rate = stance.pacing_rate;
        if self.pacing_rate.is_some() {
            self.send_quantum = stance.send_quantum;
        } else if self.setup.pacing {
            self.pacing_rate = self.window_pace();
        }
    }

    /// Somewhat faster than the window goes round, so that pacing does not hold it back: the shares that Linux documents for its `net.ipv4.tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`.
    fn window_pace(&self) -> Option<Rate> {
        let grows = (self.control.ssthresh()).is_none_or(|ssthresh| self.cwnd < ssthresh / 2);
        let gain = if grows { 2.0 } else { 1.2 };
        window_rate(self.cwnd as f64, self.rtt.srtt()?, gain)
    }

    /// When the retransmission timer, or one of RACK-TLP's, is due.
    #[inline]
    pub(super) fn timer_deadline(&self) -> Option<Instant> {
        match &self.rack {
            None => self.rto_deadline,
            Some(rack) => [
                self.rto_deadline,
                rack.reorder_deadline,
                rack.probe_deadline,
            ]
            .into_iter()
            .flatten()
            .min(),
        }
    }

    /// What is due of it, by `now`; a probe to be sent.
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<Transmit> {
        if self.rto_deadline.is_some_and(|at| at <= now) {
            self.on_timeout(now);
            return None;
        }
        let rack = self.rack.as_mut()?;
        if rack.reorder_deadline.is_some_and(|at| at <= now) {
            self.on_reorder_timeout(now);
            return None;
        }
        rack.probe_deadline.filter(|&at| at <= now)?;
        rack.probe_deadline = None;
        self.send_probe(now)
    }

    /// RFC 8985 §6.3: what has not come by now is lost.
    fn on_reorder_timeout(&mut self, now: Instant) {
        let mut sample = self.sample_without_news(now);
        if matches!(self.recovery, Recovery::None) {
            self.consider_fast_recovery(&mut sample);
        } else {
            sample.newly_lost = self.detect_losses(now);
        }
        sample.in_flight = self.in_flight();
        sample.lost_in_flight = self.board.lost_in_flight();
        sample.in_recovery = true;
        if sample.newly_lost > 0 {
            self.control.on_ack(&sample);
        }
        self.consult();
        if self.prr.is_some() {
            self.reduce_in_proportion(0, false);
        }
    }

    /// RFC 8985 §7.3: new data if there is any, whatever the window says, or else the last segment again.
    fn send_probe(&mut self, now: Instant) -> Option<Transmit> {
        if self.board.is_empty() || !matches!(self.recovery, Recovery::None) {
            return None;
        }
        let transmit = if let Some(len) = self.unsent().filter(|&len| len > 0) {
            self.send_new(len as u16, now)
        } else {
            let number = self.board.last_hole()?;
            self.send_again(number, false, now)
        };
        let end = self.board.nxt();
        if let Some(rack) = &mut self.rack {
            rack.probed(end, transmit.again, now);
        }
        // §7.3: the retransmission timer starts over.
        self.rto_deadline = Some(now + self.rtt.rto());
        Some(transmit)
    }

    fn sample_without_news(&self, now: Instant) -> AckSample {
        AckSample {
            now,
            prior_in_flight: self.in_flight(),
            flight_size: self.flight_size(),
            whole_segments: self.setup.whole_segments,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered: self.rate.total(),
            cwnd_limited: self.cwnd_limited,
            round: self.rate.round(),
            mss: self.setup.mss,
            ..AckSample::default()
        }
    }

    #[cfg(test)]
    fn rto_deadline(&self) -> Option<Instant> {
        self.rto_deadline
    }

    /// When pacing lets the next segment out, if one may be waiting.
    pub(super) fn pacing_deadline(&self) -> Option<Instant> {
        self.paced_until
    }

    /// When the control wants to be woken.
    pub(super) fn control_deadline(&self) -> Option<Instant> {
        self.control_deadline
    }

    /// Bytes in the network, as far as is known.
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.board.pipe().saturating_sub(self.departed)
    }

    /// RFC 5681's FlightSize, for equation 4: what is sent and not cumulatively acknowledged, without what limited transmit has sent
    /// (§3.2). Two bounds are ours, since a second sign of congestion must not raise the threshold, nor a loss the window (the threshold may be
    /// less than equation 4's, §3.2):
    /// - During a recovery, FlightSize at its start: a recovery that stalls goes on sending while selective acknowledgements arrive.
    /// - Outside, the window: when a recovery ends, windows of data may have arrived behind the next gap. With RACK, which repairs repairs, and
    ///   with Reno's own recovery also within one.
    ///
    /// As Linux has it, it is the control's window in place of all that.
    #[inline]
    fn flight_size(&self) -> u64 {
        let window = self.control.cwnd();
        if self.setup.ssthresh_from == SsthreshFrom::Window {
            return window;
        }
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let flight = match self.recovery {
            Recovery::None if self.dup_acks > 0 => self.limited_from.min(nxt) - una,
            Recovery::None => nxt - una,
            Recovery::Fast { .. } | Recovery::Timeout { .. } => {
                (nxt - una).min(self.recovery_flight)
            }
        };
        if self.setup.reno {
            flight.min(self.cwnd)
        } else if self.rack.is_some() || matches!(self.recovery, Recovery::None) {
            flight.min(window)
        } else {
            flight
        }
    }

    /// Whether the FIN is acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.end == End::FinSent && self.board.is_empty()
    }

    /// Whether nothing is to be sent, to be timed or to be finished before something else happens.
    #[inline]
    pub(super) fn is_silent(&self) -> bool {
        self.board.is_empty() && self.end == End::Open && self.written == self.board.nxt()
    }

    /// Bytes written that wait to be sent for the first time.
    pub(super) fn bytes_unsent(&self) -> u64 {
        self.written - self.board.nxt().min(self.written)
    }

    /// Next sequence number to be sent.
    pub(super) fn nxt(&self) -> u64 {
        self.board.nxt()
    }

    /// Whether data was ever sent, or waits to be.
    pub(super) fn has_sent_data(&self) -> bool {
        self.written > 0
    }

    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    pub(super) fn ssthresh(&self) -> Option<u64> {
        self.control.ssthresh()
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// The retransmission timeout.
    pub(super) fn rto(&self) -> Duration {
        self.rtt.rto()
    }
}

/// A decision to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// New data; nothing of it is the FIN.
    New { len: u16 },
    /// A segment sent before; whether the copy counts as in flight.
    Again { number: u64, counts: bool },
    /// A repair is due, and has no room yet.
    Wait,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::reno::{self, Reno};
    use crate::congestion::tahoe::{self, Tahoe};
    use crate::tcp::MinRtoOf;

    const MSS: u64 = 1000;
    const WINDOW: u32 = 1_000_000;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn sender_with(sack: bool, control: Box<dyn CongestionControl>) -> Sender {
        sender_of(setup(sack), control)
    }

    fn sender_of(setup: Setup, control: Box<dyn CongestionControl>) -> Sender {
        let ms = Duration::from_millis;
        let rtt = RttEstimator::new(ms(1000), ms(200), MinRtoOf::Variation, ms(60_000));
        Sender::new(setup, rtt, control, u64::from(WINDOW))
    }

    fn setup(sack: bool) -> Setup {
        Setup {
            mss: MSS,
            restart_window: 10 * MSS,
            sack,
            timestamps: true,
            reno: false,
            prr: PrrMode::Off,
            rack: None,
            dsack: false,
            pacing: false,
            ssthresh_from: SsthreshFrom::FlightSize,
            whole_segments: false,
            send_window: u64::MAX,
            largest_window: u64::from(WINDOW),
        }
    }

    /// NewReno with a window of ten segments and `setup`, and so many bytes to send.
    fn sender_with_setup(setup: Setup, bytes: u64) -> Sender {
        let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
        let mut sender = sender_of(setup, Box::new(control));
        sender.write(bytes);
        sender
    }

    fn with_rack(bytes: u64) -> Sender {
        let rack = Some(Duration::from_millis(40));
        sender_with_setup(
            Setup {
                rack,
                ..setup(true)
            },
            bytes,
        )
    }

    /// NewReno with a window of ten segments and an endless stream.
    fn sender(sack: bool) -> Sender {
        let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
        let mut sender = sender_with(sack, Box::new(control));
        sender.write(u64::MAX);
        sender
    }

    fn with_dsack(bytes: u64) -> Sender {
        let mut sender = with_rack(bytes);
        sender.setup.dsack = true;
        sender
    }

    /// Takes in an acknowledgement that offers `window`.
    fn take(sender: &mut Sender, ack: &Ack<'_>, window: u32, now: Instant) {
        if sender.note_window(ack.next, window) {
            sender.on_ack(ack, now);
        } else {
            sender.note_duplicate(ack.next, ack.blocks);
        }
    }

    /// Sends all that may be sent: the segments' numbers.
    fn drain(sender: &mut Sender, now: Instant) -> Vec<u64> {
        std::iter::from_fn(|| sender.poll_transmit(now))
            .map(|transmit| transmit.seq / MSS)
            .collect()
    }

    /// An acknowledgement of `segments`, with SACK blocks in segments, of what was sent 100 ms ago; and what it lets out.
    fn ack(sender: &mut Sender, ms: u64, segments: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        let blocks: Vec<(u64, u64)> = (blocks.iter())
            .map(|(start, end)| (start * MSS, end * MSS))
            .collect();
        take(
            sender,
            &Ack {
                next: segments * MSS,
                echo: at(ms.saturating_sub(100)),
                sent_at: at(ms.saturating_sub(50)),
                blocks: &blocks,
                carries_data: false,
                flags: Flags::ACK,
            },
            WINDOW,
            at(ms),
        );
        drain(sender, at(ms))
    }

    fn echo(sender: &mut Sender, ms: u64, segments: u64) -> Vec<Transmit> {
        let ack = Ack {
            next: segments * MSS,
            echo: at(ms - 100),
            sent_at: at(ms - 50),
            blocks: &[],
            carries_data: false,
            flags: Flags::ACK.with(Flags::ECE),
        };
        take(sender, &ack, WINDOW, at(ms));
        std::iter::from_fn(|| sender.poll_transmit(at(ms))).collect()
    }

    #[test]
    fn each_acknowledgement_lets_out_what_it_took_from_the_network_and_what_slow_start_adds() {
        let mut sender = sender(true);
        assert_eq!(drain(&mut sender, at(0)), (0..10).collect::<Vec<_>>());
        assert_eq!(ack(&mut sender, 100, 2, &[]), [10, 11, 12, 13]);
        assert_eq!(sender.in_flight(), 12 * MSS);
    }

    #[test]
    fn the_first_two_duplicates_let_out_a_new_segment_each_the_third_repairs_with_sack() {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
        assert_eq!(ack(&mut sender, 101, 0, &[(1, 3)]), [11]);
        assert_eq!(ack(&mut sender, 102, 0, &[(1, 4)]), [0]);
        // Ten were in flight: the window is five now, and nine are on their way, the repair among them.
        assert_eq!((sender.cwnd(), sender.in_flight()), (5 * MSS, 9 * MSS));
    }

    #[test]
    fn with_sack_several_holes_are_repaired_in_one_round_trip() {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        // 0, 3 and 6 are lost.
        assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
        assert_eq!(ack(&mut sender, 101, 0, &[(1, 3)]), [11]);
        assert_eq!(ack(&mut sender, 102, 0, &[(4, 5), (1, 3)]), [0]);
        let mut sent = Vec::new();
        for top in [6, 8, 9, 10] {
            let blocks = [(7, top), (4, 6), (1, 3)];
            let blocks = if top == 6 { &blocks[1..] } else { &blocks };
            sent.extend(ack(&mut sender, 103, 0, blocks));
        }
        assert_eq!(sent, [3, 6]);
        // The repairs arrive one after the other; then recovery is over and the window is half of what it was.
        ack(&mut sender, 200, 3, &[(7, 10), (4, 6)]);
        ack(&mut sender, 201, 6, &[(7, 10)]);
        ack(&mut sender, 202, 12, &[]);
        assert_eq!(sender.recovery, Recovery::None);
        assert_eq!(sender.ssthresh(), Some(5 * MSS));
        assert_eq!(sender.in_flight(), sender.cwnd());
    }

    #[test]
    fn without_sack_each_partial_acknowledgement_repairs_one_segment() {
        let mut sender = sender(false);
        drain(&mut sender, at(0));
        // 0, 3 and 6 are lost: seven duplicates.
        assert_eq!(ack(&mut sender, 100, 0, &[]), [10], "limited transmit");
        assert_eq!(ack(&mut sender, 101, 0, &[]), [11]);
        assert_eq!(ack(&mut sender, 102, 0, &[]), [0]);
        assert_eq!(sender.cwnd(), 5 * MSS);
        // RFC 6582: cwnd = ssthresh + 3 segments, and one more each duplicate: at 5 + 3 + 5 = 13 the 13th segment goes out.
        for n in 0..4 {
            assert_eq!(ack(&mut sender, 103 + n, 0, &[]), [0; 0]);
        }
        assert_eq!(ack(&mut sender, 108, 0, &[]), [12]);
        // Partial acknowledgements: cwnd 13 − 3 + 1 = 11 with 10 in flight, then 11 − 3 + 1 = 9 with 8.
        assert_eq!(ack(&mut sender, 200, 3, &[]), [3, 13]);
        assert_eq!(ack(&mut sender, 300, 6, &[]), [6, 14]);
        assert!(matches!(sender.recovery, Recovery::Fast { .. }));
        ack(&mut sender, 400, 12, &[]);
        assert_eq!(sender.recovery, Recovery::None);
        assert!(sender.in_flight() <= 5 * MSS);
        assert_eq!(sender.ssthresh(), Some(5 * MSS));
    }

    #[test]
    fn renos_recovery_ends_with_the_first_partial_acknowledgement() {
        let reno = Setup {
            reno: true,
            ..setup(false)
        };
        let mut sender = sender_with_setup(reno, u64::MAX);
        drain(&mut sender, at(0));
        // 0 and 3 are lost.
        for ms in 100..108 {
            ack(&mut sender, ms, 0, &[]);
        }
        assert!(matches!(sender.recovery, Recovery::Fast { .. }));
        let sent = ack(&mut sender, 200, 3, &[]);
        assert_eq!(sender.recovery, Recovery::None);
        assert!(!sent.contains(&3), "{sent:?}");
        let before = sender.cwnd();
        // Three duplicates more repair it, and halve again.
        let sent: Vec<u64> = (201..204)
            .flat_map(|ms| ack(&mut sender, ms, 3, &[]))
            .collect();
        assert!(sent.contains(&3), "{sent:?}");
        assert!(sender.cwnd() < before);
    }

    #[test]
    fn with_proportional_rate_reduction_the_window_falls_as_segments_arrive() {
        let prr = Setup {
            prr: PrrMode::Rfc6937,
            ..setup(true)
        };
        let mut sender = sender_with_setup(prr, u64::MAX);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 0, &[(1, 2)]);
        ack(&mut sender, 101, 0, &[(1, 3)]);
        assert_eq!(ack(&mut sender, 102, 0, &[(1, 4)]), [0]);
        // Twelve were outstanding, eight are on their way: 5/12 of a segment for each that arrives, less the repair.
        assert_eq!(sender.cwnd(), 8417);
        for top in 5..9 {
            assert_eq!(ack(&mut sender, 98 + top, 0, &[(1, top)]), [0; 0], "{top}");
        }
        assert_eq!(ack(&mut sender, 107, 0, &[(1, 9)]), [12]);
        assert_eq!(ack(&mut sender, 108, 0, &[(1, 10)]), [13]);
        ack(&mut sender, 202, 12, &[]);
        assert_eq!(
            (sender.recovery, sender.prr.is_none()),
            (Recovery::None, true)
        );
    }

    #[test]
    fn rack_waits_a_quarter_of_a_round_trip_for_what_may_be_reordered() {
        let mut sender = with_rack(u64::MAX);
        drain(&mut sender, at(0));
        assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
        assert_eq!(sender.timer_deadline(), Some(at(125)));
        ack(&mut sender, 110, 2, &[]);
        assert_eq!(sender.recovery, Recovery::None);
        assert_eq!(sender.cwnd(), 11 * MSS, "no harm done");
        // From now on reordering is expected: three out of order are no sign of loss.
        for top in 4..7 {
            assert!(!ack(&mut sender, 111, 2, &[(3, top)]).contains(&2));
        }
        assert_eq!(sender.recovery, Recovery::None);
    }

    #[test]
    fn rack_repairs_when_the_wait_is_over_or_three_have_overtaken() {
        let mut sender = with_rack(u64::MAX);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 0, &[(1, 2)]);
        assert_eq!(sender.on_timer(at(124)), None);
        assert_eq!(sender.recovery, Recovery::None);
        sender.on_timer(at(125));
        assert_eq!(drain(&mut sender, at(125)), [0]);
        let mut sender = with_rack(u64::MAX);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 0, &[(1, 2)]);
        ack(&mut sender, 101, 0, &[(1, 3)]);
        assert_eq!(ack(&mut sender, 102, 0, &[(1, 4)]), [0]);
    }

    #[test]
    fn rack_notices_that_a_repair_is_lost() {
        let mut sender = with_rack(u64::MAX);
        drain(&mut sender, at(0));
        let mut sent = Vec::new();
        for top in 2..13 {
            sent.extend(ack(&mut sender, 98 + top, 0, &[(1, top)]));
        }
        assert_eq!(sent.iter().filter(|&&number| number == 0).count(), 1);
        let newest = *sent.last().expect("new data");
        assert!(newest > 12, "sent after the repair");
        assert!(ack(&mut sender, 215, 0, &[(newest, newest + 1), (1, 12)]).contains(&0));
    }

    #[test]
    fn a_probe_after_two_round_trips_shows_that_the_end_of_a_flight_is_lost() {
        let mut sender = with_rack(3 * MSS);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 1, &[]);
        assert_eq!(sender.rto_deadline(), Some(at(400)));
        assert_eq!(sender.timer_deadline(), Some(at(300)));
        let probe = sender.on_timer(at(300)).expect("a probe");
        assert_eq!((probe.seq, probe.again), (2 * MSS, true));
        assert_eq!(
            sender.timer_deadline(),
            Some(at(600)),
            "one probe, then the timer"
        );
        assert_eq!(ack(&mut sender, 400, 1, &[(2, 3)]), [1]);
        assert!(matches!(sender.recovery, Recovery::Fast { .. }));
    }

    #[test]
    fn a_probe_that_repairs_the_loss_itself_halves_the_window_and_new_data_goes_first() {
        let mut sender = with_rack(2 * MSS);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 1, &[]);
        // One segment is outstanding: its acknowledgement may be delayed.
        assert_eq!(sender.timer_deadline(), Some(at(340)));
        sender.on_timer(at(340)).expect("a probe");
        ack(&mut sender, 440, 2, &[]);
        assert_eq!(sender.ssthresh(), Some(2 * MSS));
        let mut sender = with_rack(12 * MSS);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 0, &[]);
        sender.rtt.sample(Duration::from_millis(100));
        sender.cwnd = 0;
        sender.on_timeout(at(5000));
        assert_eq!(sender.send_probe(at(5000)), None, "not in recovery");
    }

    #[test]
    fn a_duplicate_makes_rack_wait_longer_for_what_is_late() {
        let waits = [with_rack(u64::MAX), with_dsack(u64::MAX)].map(|mut sender| {
            drain(&mut sender, at(0));
            // 0 comes 10 ms late, and 3 40 ms: after 110 for the latest to arrive and 25 it is taken for lost.
            assert_eq!(ack(&mut sender, 100, 0, &[(1, 2)]), [10]);
            ack(&mut sender, 110, 3, &[]);
            ack(&mut sender, 110, 3, &[(4, 10)]);
            sender.on_timer(at(135));
            assert!(drain(&mut sender, at(135)).contains(&3), "needlessly");
            ack(&mut sender, 140, 10, &[]);
            // The repair arrives, and the receiver says so if it reports duplicates.
            let twice: &[_] = if sender.setup.dsack { &[(3, 4)] } else { &[] };
            let sent = sender.board.nxt() / MSS;
            ack(&mut sender, 235, 10, twice);
            // 10 left at 100; what left at 110 arrives after 130.
            ack(&mut sender, 240, 10, &[(11, sent)]);
            sender.rack.expect("RACK").reorder_deadline
        });
        assert_eq!(waits, [Some(at(255)), Some(at(280))]);
    }

    #[test]
    fn with_dsack_a_probe_has_repaired_a_loss_unless_it_arrived_twice() {
        for lost in [true, false] {
            let mut sender = with_dsack(3 * MSS);
            drain(&mut sender, at(0));
            ack(&mut sender, 100, 2, &[]);
            let probe = sender.on_timer(at(340)).expect("a probe");
            assert_eq!((probe.seq, probe.again), (2 * MSS, true));
            // All is acknowledged: by the original's arrival or the probe's, as nobody knows yet.
            ack(&mut sender, 440, 3, &[]);
            assert_eq!((sender.ssthresh(), sender.board.is_empty()), (None, true));
            if !lost {
                ack(&mut sender, 441, 3, &[(2, 3)]);
            }
            sender.write(2 * MSS);
            assert_eq!(drain(&mut sender, at(500)), [3, 4]);
            ack(&mut sender, 600, 5, &[]);
            assert_eq!(sender.ssthresh().is_some(), lost);
        }
    }

    #[test]
    fn a_control_without_a_rate_is_paced_by_its_window_if_asked() {
        let paced = Setup {
            pacing: true,
            ..setup(true)
        };
        let mut sender = sender_with_setup(paced, u64::MAX);
        assert_eq!(
            drain(&mut sender, at(0)).len(),
            10,
            "no round trip is known"
        );
        // Twelve segments each 100 ms, twice that in slow start: a segment each 4.17 ms.
        assert_eq!(ack(&mut sender, 100, 2, &[]), [10]);
        assert_eq!(
            sender.pacing_deadline(),
            Some(Instant::from_nanos(104_166_667))
        );
    }

    #[test]
    fn tahoe_sends_everything_again_in_slow_start_after_the_third_duplicate() {
        let control = Tahoe::new(&tahoe::Config::default(), MSS, 10 * MSS);
        let mut sender = sender_with(false, Box::new(control));
        sender.write(u64::MAX);
        drain(&mut sender, at(0));
        assert_eq!(ack(&mut sender, 100, 0, &[]), [10], "limited transmit");
        assert_eq!(ack(&mut sender, 101, 0, &[]), [11]);
        assert_eq!(ack(&mut sender, 102, 0, &[]), [0]);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
        for ms in 103..110 {
            assert_eq!(ack(&mut sender, ms, 0, &[]), [0; 0], "no other recovery");
        }
        // The receiver has 1 to 11: its next answers tell, and what arrives again is not sent a third time.
        assert_eq!(ack(&mut sender, 202, 12, &[]), [12, 13]);
        assert_eq!(sender.recovery, Recovery::None);
    }

    #[test]
    fn without_sack_duplicates_of_the_last_recovery_start_no_other() {
        let mut sender = sender(false);
        drain(&mut sender, at(0));
        for n in 0..3 {
            ack(&mut sender, 100 + n, 0, &[]);
        }
        ack(&mut sender, 200, 12, &[]);
        assert_eq!(sender.recovery, Recovery::None);
        for n in 0..5 {
            assert!(!ack(&mut sender, 201 + n, 12, &[]).contains(&12));
        }
        assert_eq!(sender.recovery, Recovery::None);
    }

    #[test]
    fn the_timer_doubles_until_something_new_is_acknowledged_and_repairs_in_slow_start() {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        let mut expected = 0;
        for timeout in [1, 2, 4, 8, 16, 32, 60, 60] {
            expected += timeout * 1000;
            assert_eq!(sender.rto_deadline(), Some(at(expected)));
            sender.on_timeout(at(expected));
            assert_eq!(drain(&mut sender, at(expected)), [0]);
        }
        assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
        assert_eq!(ack(&mut sender, 200_000, 1, &[]), [1, 2]);
        // The first sample: 100 ms, RTO = 100 + 4 · 50.
        assert_eq!(sender.rto_deadline(), Some(at(200_300)));
        assert_eq!(
            ack(&mut sender, 200_100, 3, &[]),
            [3, 4, 5],
            "one more each acknowledgement"
        );
    }

    /// NewReno, ten segments of which the first is lost with its repair, and new data as long as
    /// selective acknowledgements arrive.
    fn with_a_lost_repair() -> Sender {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        for top in 2..=10 {
            ack(&mut sender, 98 + top, 0, &[(1, top)]);
        }
        assert!(matches!(sender.recovery, Recovery::Fast { .. }));
        assert_eq!((sender.cwnd(), sender.ssthresh()), (5 * MSS, Some(5 * MSS)));
        sender
    }

    #[test]
    fn a_timeout_in_fast_recovery_neither_counts_the_pipe_nor_raises_the_threshold() {
        let mut sender = with_a_lost_repair();
        // Two segments of limited transmit, and two new ones once the pipe is below the window.
        assert_eq!(sender.board.nxt(), 14 * MSS);
        for top in 11..=14 {
            ack(&mut sender, 200 + top, 0, &[(1, top)]);
        }
        assert_eq!(sender.board.nxt(), 18 * MSS);
        assert_eq!(sender.in_flight(), 5 * MSS);
        let deadline = sender.rto_deadline().expect("the timer runs");
        sender.on_timeout(deadline);
        assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
    }

    #[test]
    fn a_timeout_after_a_partial_acknowledgement_halves_what_is_still_outstanding() {
        let mut sender = sender_with_setup(setup(true), 12 * MSS);
        drain(&mut sender, at(0));
        // 0 and 4 are lost, and the repair of 4.
        for top in [2, 3, 4] {
            ack(&mut sender, 98 + top, 0, &[(1, top)]);
        }
        for top in 6..=10 {
            ack(&mut sender, 98 + top, 0, &[(5, top), (1, 4)]);
        }
        ack(&mut sender, 200, 4, &[(5, 12)]);
        assert_eq!(sender.board.nxt(), 12 * MSS);
        assert!(sender.in_flight() <= 2 * MSS);
        let deadline = sender.rto_deadline().expect("the timer runs");
        sender.on_timeout(deadline);
        // Eight are outstanding, seven of them selectively acknowledged.
        assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(4 * MSS)));
    }

    #[test]
    fn a_second_timeout_of_the_same_segment_leaves_the_threshold_and_one_of_the_next_halves_what_is_left()
     {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        sender.on_timeout(at(1000));
        drain(&mut sender, at(1000));
        sender.on_timeout(at(3000));
        assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(5 * MSS)));
        drain(&mut sender, at(3000));
        ack(&mut sender, 3100, 1, &[]);
        let deadline = sender.rto_deadline().expect("the timer runs");
        sender.on_timeout(deadline);
        // Nine of ten are not acknowledged, two of them in flight.
        assert_eq!((sender.cwnd(), sender.ssthresh()), (MSS, Some(4500)));
    }

    #[test]
    fn where_limited_transmit_has_nothing_to_send_a_loss_halves_all_that_is_outstanding() {
        let mut sender = sender_with_setup(setup(true), 10 * MSS);
        drain(&mut sender, at(0));
        for top in [2, 3, 4] {
            ack(&mut sender, 98 + top, 0, &[(1, top)]);
        }
        assert_eq!((sender.cwnd(), sender.ssthresh()), (5 * MSS, Some(5 * MSS)));
    }

    #[test]
    fn after_a_timeout_what_is_selectively_acknowledged_is_not_sent_again() {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 0, &[(2, 3)]);
        ack(&mut sender, 101, 0, &[(2, 4)]);
        sender.on_timeout(at(1000));
        assert_eq!(drain(&mut sender, at(1000)), [0]);
        assert_eq!(ack(&mut sender, 1100, 1, &[(2, 4)]), [1, 4]);
        // No new recovery before the point of the timeout is passed (RFC 6675 §5.1).
        ack(&mut sender, 1101, 1, &[(5, 9), (2, 4)]);
        assert!(matches!(sender.recovery, Recovery::Timeout { .. }));
        ack(&mut sender, 1200, 12, &[]);
        assert_eq!(sender.recovery, Recovery::None);
    }

    #[test]
    fn when_nothing_else_is_left_the_last_segment_is_rescued_once() {
        let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
        let mut sender = sender_with(true, Box::new(control));
        sender.write(8 * MSS);
        drain(&mut sender, at(0));
        // 0, 6 and 7 are lost, and there is no new data.
        assert_eq!(ack(&mut sender, 100, 0, &[(1, 4)]), [0]);
        assert_eq!(ack(&mut sender, 101, 0, &[(1, 6)]), [0; 0]);
        assert_eq!(
            ack(&mut sender, 200, 6, &[]),
            [7],
            "the highest outstanding"
        );
        assert_eq!(ack(&mut sender, 300, 6, &[(7, 8)]), [6], "rule 3");
        assert_eq!(ack(&mut sender, 400, 8, &[]), [0; 0]);
        assert_eq!(sender.recovery, Recovery::None);
    }

    #[test]
    fn an_echo_counts_once_a_window_and_is_answered_by_cwr_on_new_data() {
        let mut sender = sender(true);
        sender.use_ecn(EcnMode::On);
        drain(&mut sender, at(0));
        assert_eq!(echo(&mut sender, 100, 1), [], "the window is halved");
        assert_eq!(sender.cwnd(), 5 * MSS);
        echo(&mut sender, 101, 2);
        echo(&mut sender, 102, 5);
        assert_eq!(sender.cwnd(), 5 * MSS, "the same window");
        let sent = echo(&mut sender, 103, 6);
        assert_eq!((sent.len(), sent[0].cwr), (1, true));
        assert!(
            echo(&mut sender, 104, 7)
                .iter()
                .all(|transmit| !transmit.cwr)
        );
        assert_eq!(sender.cwnd(), 5 * MSS);
        echo(&mut sender, 200, 10);
        assert_eq!(sender.cwnd(), 5 * MSS, "CWR comes with the eleventh");
        echo(&mut sender, 201, 11);
        assert_eq!(sender.cwnd(), 2500, "the next window");
    }

    #[test]
    fn a_mark_counts_before_anything_is_acknowledged() {
        let mut sender = sender(true);
        sender.use_ecn(EcnMode::On);
        drain(&mut sender, at(0));
        // The first segment is on its way, or lost.
        echo(&mut sender, 100, 0);
        assert_eq!(sender.cwnd(), 5 * MSS);
        echo(&mut sender, 101, 0);
        assert_eq!(sender.cwnd(), 5 * MSS, "once a window");
    }

    #[test]
    fn accurate_ecn_tells_how_much_was_marked_also_where_three_bits_wrap() {
        let mut sender = sender(true);
        assert_eq!(sender.use_ecn(EcnMode::Accurate), Ecn::Ect0);
        // The counts start at 5.
        assert_eq!(sender.count_marks(5, 2 * MSS), 0);
        assert_eq!(sender.count_marks(6, 2 * MSS), MSS);
        assert_eq!(sender.count_marks(0, 2 * MSS), 2 * MSS);
        assert_eq!(
            sender.count_marks(2, 500),
            500,
            "no more than was acknowledged"
        );
        // Ten at once, and one more modulo 8: nine.
        assert_eq!(sender.count_marks(3, 10 * MSS), 9 * MSS);
        assert_eq!(sender.count_marks(3, 7 * MSS), 0);
    }

    #[test]
    fn accurate_marks_count_once_a_window_and_need_no_answer() {
        let mut sender = sender(true);
        sender.use_ecn(EcnMode::Accurate);
        drain(&mut sender, at(0));
        let mut tell = |ms, segments: u64, marked: u8| {
            let ack = Ack {
                next: segments * MSS,
                echo: at(ms - 100),
                sent_at: at(ms - 50),
                blocks: &[],
                carries_data: false,
                flags: Flags::ACK.with_ace(marked),
            };
            take(&mut sender, &ack, WINDOW, at(ms));
            let sent: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(at(ms))).collect();
            assert!(sent.iter().all(|transmit| !transmit.cwr));
            sender.cwnd()
        };
        assert_eq!(tell(100, 2, 6), 5 * MSS);
        assert_eq!(tell(101, 4, 7), 5 * MSS, "the same window");
        assert_eq!(tell(102, 7, 7), 5 * MSS);
        assert_eq!(tell(103, 10, 0), 5 * MSS, "its last segment");
        assert_eq!(tell(104, 11, 1), 2500, "the next one");
    }

    #[test]
    fn a_mark_and_a_loss_in_one_window_count_once() {
        let mut sender = sender(true);
        sender.use_ecn(EcnMode::On);
        drain(&mut sender, at(0));
        echo(&mut sender, 100, 1);
        ack(&mut sender, 101, 1, &[(2, 5)]);
        assert!(matches!(sender.recovery, Recovery::Fast { .. }));
        assert_eq!(sender.cwnd(), 5 * MSS);
    }

    #[test]
    fn the_send_buffer_bounds_what_is_outstanding_also_what_is_selectively_acknowledged() {
        let buffered = Setup {
            send_window: 6 * MSS,
            ..setup(true)
        };
        let mut sender = sender_with_setup(buffered, u64::MAX);
        assert_eq!(drain(&mut sender, at(0)), [0, 1, 2, 3, 4, 5]);
        assert!(!sender.cwnd_limited, "so that the window does not grow");
        // The first is missing: the others stay in the buffer, and nothing new goes out but the repair.
        assert_eq!(ack(&mut sender, 100, 0, &[(1, 3)]), [0; 0]);
        assert_eq!(ack(&mut sender, 101, 0, &[(1, 4)]), [0]);
        assert_eq!(ack(&mut sender, 200, 4, &[]), [6]);
    }

    /// A window of ten with three segments in flight, the rest of which the application did not use.
    fn half_idle(ssthresh_from: SsthreshFrom) -> Sender {
        let setup = Setup {
            ssthresh_from,
            ..setup(true)
        };
        let mut sender = sender_with_setup(setup, 4 * MSS);
        drain(&mut sender, at(0));
        ack(&mut sender, 100, 0, &[(1, 4)]);
        sender
    }

    #[test]
    fn a_threshold_is_half_of_the_flight_or_of_the_window() {
        let threshold = |from| half_idle(from).ssthresh();
        assert_eq!(threshold(SsthreshFrom::FlightSize), Some(2 * MSS));
        assert_eq!(threshold(SsthreshFrom::Window), Some(5 * MSS));
    }

    #[test]
    fn a_receivers_window_bounds_what_is_in_flight_and_the_fin_needs_none() {
        let control = Reno::new(&reno::Config::default(), MSS, 10 * MSS);
        let mut sender = sender_with(true, Box::new(control));
        sender.right_edge = 3 * MSS;
        sender.write(3 * MSS + 1);
        assert_eq!(drain(&mut sender, at(0)), [0, 1, 2]);
        assert!(!sender.cwnd_limited);
        sender.close();
        let mut small = Ack {
            next: MSS,
            echo: at(0),
            sent_at: at(50),
            blocks: &[],
            carries_data: false,
            flags: Flags::ACK,
        };
        take(&mut sender, &small, 2000, at(100));
        assert_eq!(sender.poll_transmit(at(100)), None, "the right edge stands");
        take(&mut sender, &small, 2001, at(101));
        let last = sender.poll_transmit(at(101)).expect("one byte");
        assert_eq!((last.seq, last.payload, last.fin), (3000, 1, false));
        let fin = sender.poll_transmit(at(101)).expect("the FIN");
        assert_eq!((fin.seq, fin.payload, fin.fin), (3001, 0, true));
        assert!(!sender.is_finished());
        small.next = 3002;
        take(&mut sender, &small, 2000, at(200));
        assert!(sender.is_finished());
        assert_eq!(sender.rto_deadline(), None);
    }

    #[test]
    fn closing_an_endless_stream_ends_it_with_what_was_sent() {
        let mut sender = sender(true);
        drain(&mut sender, at(0));
        sender.close();
        let fin = sender.poll_transmit(at(1)).expect("the FIN");
        assert_eq!((fin.seq, fin.fin), (10 * MSS, true));
        assert_eq!(sender.poll_transmit(at(1)), None);
    }

    #[test]
    fn after_idling_longer_than_a_timeout_the_window_is_the_initial_one() {
        let mut sender = sender(true);
        sender.written = 60 * MSS;
        let mut acked = 0;
        drain(&mut sender, at(0));
        for round in 1..=4 {
            while acked < 10 * round {
                acked += 2;
                ack(&mut sender, 100 * round, acked, &[]);
            }
        }
        ack(&mut sender, 500, 60, &[]);
        assert!(sender.cwnd() > 20 * MSS);
        sender.write(100 * MSS);
        assert_eq!(drain(&mut sender, at(5000)).len(), 10);
    }

    #[test]
    fn without_timestamps_a_segment_sent_twice_is_not_timed() {
        let mut sender = sender(true);
        sender.setup.timestamps = false;
        drain(&mut sender, at(0));
        sender.on_timeout(at(1000));
        drain(&mut sender, at(1000));
        ack(&mut sender, 1010, 1, &[]);
        assert_eq!(sender.srtt(), None);
        // Segments 2 and 3 are repairs too; the first segment sent once is timed.
        ack(&mut sender, 1100, 10, &[]);
        let sent = drain(&mut sender, at(1100));
        assert_eq!(sent, [0; 0], "already sent on the acknowledgement");
        ack(&mut sender, 1150, 11, &[]);
        assert_eq!(sender.srtt(), Some(Duration::from_millis(50)));
    }

    /// A fixed window, a pace, and what leaves together.
    #[derive(Debug)]
    struct Paced(Rate, u64);

    impl CongestionControl for Paced {
        fn on_ack(&mut self, _ack: &AckSample) {}
        fn on_congestion(&mut self, _signal: CongestionSignal, _ack: &AckSample) {}
        fn cwnd(&self) -> u64 {
            10 * MSS
        }
        fn pacing_rate(&self) -> Option<Rate> {
            Some(self.0)
        }
        fn send_quantum(&self) -> u64 {
            self.1
        }
    }

    #[test]
    fn a_pacing_rate_spaces_segments_by_their_size() {
        // 1000 bytes at 8 Mbit/s take a millisecond.
        let mut sender = sender_with(true, Box::new(Paced(Rate(8_000_000), 0)));
        sender.write(u64::MAX);
        for ms in 0..10 {
            assert_eq!(drain(&mut sender, at(ms)), [ms]);
            assert_eq!(sender.pacing_deadline(), Some(at(ms + 1)));
        }
        assert_eq!(drain(&mut sender, at(10)), [0; 0], "the window is full");
        assert_eq!(sender.pacing_deadline(), None);
    }

    #[test]
    fn what_fits_a_quantum_leaves_together_and_takes_its_time_afterwards() {
        let mut sender = sender_with(true, Box::new(Paced(Rate(8_000_000), 3 * MSS + 1)));
        sender.write(u64::MAX);
        for piece in 0..3 {
            let first = 3 * piece;
            assert_eq!(drain(&mut sender, at(first)), [first, first + 1, first + 2]);
            assert_eq!(sender.pacing_deadline(), Some(at(first + 3)));
        }
        assert_eq!(drain(&mut sender, at(9)), [9], "the window is full");
    }

    #[test]
    fn the_sample_tells_the_rate_of_delivery_and_who_set_it() {
        #[derive(Debug)]
        struct Fixed(std::sync::mpsc::Sender<AckSample>);
        impl CongestionControl for Fixed {
            fn on_ack(&mut self, ack: &AckSample) {
                self.0.send(*ack).expect("the test listens");
            }
            fn on_congestion(&mut self, _signal: CongestionSignal, _ack: &AckSample) {}
            fn cwnd(&self) -> u64 {
                10 * MSS
            }
        }
        let (tell, samples) = std::sync::mpsc::channel();
        let mut sender = sender_with(true, Box::new(Fixed(tell)));
        sender.write(14 * MSS);
        drain(&mut sender, at(0));
        // A path of 100 ms that delivers a segment a millisecond.
        for n in 1..=10 {
            ack(&mut sender, 99 + n, n, &[]);
        }
        ack(&mut sender, 200, 12, &[]);
        let samples: Vec<AckSample> = samples.try_iter().collect();
        assert_eq!(
            samples[0].delivery_rate(),
            Some(Rate(80_000)),
            "1000 bytes in 100 ms"
        );
        assert_eq!(samples[9].delivery_rate(), Some(Rate(10 * 8_000_000 / 109)));
        assert_eq!(samples[10].delivered, 12 * MSS);
        assert_eq!(samples[0].rtt, Some(Duration::from_millis(100)));
        assert_eq!(samples[0].one_way_delay, Some(Duration::from_millis(50)));
        assert_eq!(
            (samples[0].prior_in_flight, samples[0].in_flight),
            (10_000, 9_000)
        );
        assert!(!samples[0].app_limited && !samples[9].app_limited);
        assert!(samples[0].cwnd_limited && !samples[10].cwnd_limited);
        assert_eq!(
            (samples[0].round, samples[9].round, samples[10].round),
            (1, 1, 2)
        );
    }
}
