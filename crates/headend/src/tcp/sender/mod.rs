//! The sending half of a connection: what to send next, what an acknowledgement means, and what its
//! timers do.
//!
//! It does no I/O. The connection gives it [acknowledgements](Ack), takes [segments](Transmit) from
//! it until it has none, and calls it when its timer has expired. How much may be in flight is the
//! [congestion control](crate::congestion)'s decision, what is lost and repaired that of [loss
//! recovery](super::recovery), and when a segment may leave that of the [pacer](super::pacing).
//!
//! Left out: Nagle's algorithm, and persist probes (receivers read at once, so the window never
//! closes).

use super::config::EcnMode;
use super::ecn::FeedbackReader;
use super::offload::{Offload, Supply};
use super::pacing::{Pacer, spread_rate};
use super::rate::{RateSampler, Stamp};
use super::recovery::{self, Expired, News, Parts, Phase, Recovery, Repair};
use super::rtt::RttEstimator;
use super::scoreboard::{Counts, Delivery, Loss, Scoreboard};
use super::send_buffer::SendBuffer;
use super::window_use::{Growth, WindowUse};
use crate::congestion::{AckSample, CongestionControl, CongestionSignal, DeliverySample};
use crate::metrics::send_limit::SendLimit;
use crate::metrics::tcp_info::CaState;
use crate::packet::{Ecn, Flags};
use crate::time::{Duration, Instant};
use crate::trace::{LossTrigger, SenderState};

/// Parameters of the sending half.
#[derive(Debug)]
pub(super) struct Setup {
    /// Largest payload of a segment.
    pub(super) mss: u64,
    /// Window after idling (RFC 5681 §4.1): the initial window.
    pub(super) restart_window: u64,
    /// Whether both sides use timestamps.
    pub(super) timestamps: bool,
    /// Whether controls that name no rate are paced.
    pub(super) pacing: bool,
    /// The largest burst that is handed down at once, in bytes.
    pub(super) offload: u64,
    /// Whether windows and thresholds are counted in whole segments.
    pub(super) whole_segments: bool,
    /// When a window may grow.
    pub(super) growth: Growth,
    /// Bytes that the send buffer holds: no more are outstanding.
    pub(super) send_buffer: u64,
    /// The most bytes that can be outstanding.
    pub(super) largest_window: u64,
}

/// What an arriving segment says to the sending half.
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
    /// Control bits, with ECN's echo or count.
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
    /// Whether it says that the window was reduced (RFC 3168 §6.1.2).
    pub(super) cwr: bool,
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
    /// How much of that is ready to be sent.
    buffer: SendBuffer,
    end: End,
    /// The other side takes nothing from here on: its acknowledgement number plus its window.
    right_edge: u64,
    /// What is in flight.
    board: Scoreboard,
    last_sent_at: Instant,

    control: Box<dyn CongestionControl>,
    /// The control's window, or in fast recovery that of proportional rate reduction.
    cwnd: u64,
    /// When the control's timer expires.
    control_deadline: Option<Instant>,
    window_use: WindowUse,
    /// What held the next segment back when there was none to send.
    limit: SendLimit,

    rtt: RttEstimator,
    /// When the retransmission timer expires.
    rto_deadline: Option<Instant>,
    rate: RateSampler,
    pacer: Pacer,
    offload: Offload,
    ecn: FeedbackReader,
    recovery: Recovery,
}

impl Sender {
    /// The sending half of a connection just opened.
    pub(super) fn new(
        setup: Setup,
        recovery: recovery::Setup,
        rtt: RttEstimator,
        control: Box<dyn CongestionControl>,
        right_edge: u64,
    ) -> Self {
        let mut board = Scoreboard::new(setup.mss);
        let recovery = Recovery::new(recovery, &mut board);
        let stance = control.stance();
        Self {
            written: 0,
            buffer: SendBuffer::new(setup.send_buffer),
            end: End::Open,
            right_edge,
            board,
            last_sent_at: Instant::ZERO,
            cwnd: stance.cwnd,
            control_deadline: stance.next_timer,
            control,
            window_use: WindowUse::new(setup.growth),
            limit: SendLimit::Application,
            rtt,
            rto_deadline: None,
            rate: RateSampler::default(),
            pacer: Pacer::new(&stance, setup.mss),
            offload: Offload::new(setup.mss, setup.offload),
            ecn: FeedbackReader::new(),
            recovery,
            setup,
        }
    }

    /// The handshake is complete: it took `rtt`, if it could be timed. A repeated handshake starts
    /// over with the window of another control and, unless it was timed, with a timeout of at least
    /// the initial one.
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

    /// What the handshake agreed on; the ECN field of new data.
    pub(super) fn use_ecn(&mut self, mode: EcnMode) -> Ecn {
        self.ecn.use_ecn(mode);
        match mode {
            EcnMode::Off | EcnMode::Auto => Ecn::NotEct,
            EcnMode::Accurate if self.control.is_scalable() => Ecn::Ect1,
            EcnMode::Accurate | EcnMode::On => Ecn::Ect0,
        }
    }

    /// The application appends bytes to the stream.
    pub(super) fn write(&mut self, bytes: u64) {
        assert_eq!(self.end, End::Open, "a closed stream takes no more data");
        self.written = self.written.saturating_add(bytes);
    }

    /// The stream is long: memory is allocated for `window` bytes in flight, as far as the other
    /// side takes them.
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
}

/// What to send next.
impl Sender {
    /// The next segment that may be sent now. The connection calls this until there is none.
    ///
    /// RFC 6675 §4, `NextSeg()`: what is known to be lost (rule 1), new data (rule 2), then what
    /// may be lost (rules 3 and 4).
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if self.pacer.holds_back(now) {
            // Only at the next departure is it known whether anything waits. The pace is the
            // control's doing, as the window is.
            if self.unsent().is_some() {
                self.round_ended(true);
            }
            self.limit = self.limit_of_paced();
            return None;
        }
        let room = self.cwnd.saturating_sub(self.in_flight());
        if let Some(repair) = self.recovery.next_repair(room, &mut self.board) {
            return self.repair(repair, now);
        }
        if let Some(len) = self.unsent() {
            // A FIN takes a sequence number, but no room in the window.
            if len > 0 && (len > room || self.awaits_burst(room)) {
                self.offload.ended();
                self.round_ended(true);
                self.limit = self.limit_of_window();
                return None;
            }
            self.offload.sent(len);
            return Some(self.send_new(len as u16, now));
        }
        self.offload.ended();
        self.round_ended(false);
        self.limit = self.limit_of_new_data(room);
        let ready = self.written.min(self.buffer.end());
        if ready < self.board.nxt() + self.setup.mss && room > 0 {
            self.rate.app_limited(self.in_flight());
        }
        let repair = self.recovery.next_speculative(room, &mut self.board)?;
        self.repair(repair, now)
    }

    /// Whether new segments wait until the windows, of which the congestion window has `room`, hold
    /// a whole burst.
    #[inline]
    fn awaits_burst(&mut self, room: u64) -> bool {
        if !self.offload.is_on() {
            return false;
        }
        let (una, nxt) = (self.board.una(), self.board.nxt());
        let rate = (self.pacer.rate())
            .or_else(|| spread_rate(self.cwnd, self.control.ssthresh(), self.rtt.srtt()));
        self.offload.waits(&Supply {
            room: room.min(self.right_edge.saturating_sub(nxt)),
            ready: self.written.min(self.buffer.end()).saturating_sub(nxt),
            window: self.cwnd.min(self.right_edge.saturating_sub(una)),
            is_idle: self.board.is_empty(),
            rate,
            min_rtt: self.rtt.min_rtt(),
        })
    }

    fn repair(&mut self, repair: Repair, now: Instant) -> Option<Transmit> {
        match repair {
            Repair::Send { number, counts } => Some(self.send_again(number, counts, now)),
            Repair::Wait => {
                self.round_ended(true);
                self.limit = self.limit_of_window();
                None
            }
        }
    }

    /// A round of sending ends here, `limited` by the window or by something else.
    #[inline]
    fn round_ended(&mut self, limited: bool) {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        self.window_use.round_ended(limited, una, nxt);
    }

    /// The limit of a segment for which the congestion window has no room.
    #[inline]
    fn limit_of_window(&self) -> SendLimit {
        match self.recovery.phase() {
            Phase::None => SendLimit::CongestionWindow,
            Phase::Fast { .. } | Phase::Timeout { .. } => SendLimit::Recovery,
        }
    }

    /// The limit where nothing is to be repaired, and there is no new segment that the receiver and
    /// the send buffer have room for; `room` is that of the congestion window.
    fn limit_of_new_data(&self, room: u64) -> SendLimit {
        let left = self.bytes_unsent();
        if left == 0 {
            return match self.recovery.phase() {
                Phase::None => SendLimit::Application,
                Phase::Fast { .. } | Phase::Timeout { .. } => SendLimit::Recovery,
            };
        }
        if left.min(self.setup.mss) > room {
            return self.limit_of_window();
        }
        if self.right_edge < self.buffer.end() {
            SendLimit::ReceiveWindow
        } else {
            SendLimit::SendBuffer
        }
    }

    /// The limit while the pacer lets nothing out: what would hold the next segment back without
    /// it, or else the pace.
    fn limit_of_paced(&mut self) -> SendLimit {
        let room = self.cwnd.saturating_sub(self.in_flight());
        let repair = self.recovery.awaited_repair(&mut self.board);
        match repair.or_else(|| self.unsent()) {
            Some(len) if len <= room => SendLimit::Pacing,
            Some(_) => self.limit_of_window(),
            None => self.limit_of_new_data(room),
        }
    }

    #[inline]
    fn in_slow_start(&self) -> bool {
        (self.ssthresh()).is_none_or(|threshold| self.cwnd < threshold)
    }

    /// Length of the next new segment that the receiver and the send buffer have room for; 0 is the
    /// FIN.
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
        (nxt + len <= self.right_edge.min(self.buffer.end())).then_some(len)
    }

    #[inline]
    fn send_new(&mut self, len: u16, now: Instant) -> Transmit {
        if self.board.is_empty() {
            self.restart_after_idling(now);
        }
        let seq = self.board.nxt();
        let fin = len == 0;
        let stamp = self.stamp(len.max(1), now);
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
            cwr: !fin && self.ecn.take_cwr(),
        }
    }

    fn send_again(&mut self, number: u64, counts: bool, now: Instant) -> Transmit {
        if self.board.is_first(number) {
            // RFC 6675 §6 allows it: otherwise a timeout is due where two round trips exceed the
            // RTO. A first segment is repaired once a recovery, so this cannot put the timer off
            // for ever.
            self.rto_deadline = None;
        }
        let len = self.board.len_of(number) as u16;
        let stamp = self.stamp(len, now);
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

    #[inline]
    fn stamp(&mut self, len: u16, now: Instant) -> Stamp {
        let in_flight = self.board.pipe() + u64::from(len);
        self.rate.stamp(now, self.board.is_empty(), in_flight)
    }

    /// What follows from every transmission.
    #[inline]
    fn sent(&mut self, payload: u16, now: Instant) {
        let payload = u64::from(payload);
        self.last_sent_at = now;
        self.window_use.sent();
        if self.rto_deadline.is_none() {
            // RFC 6298 §5.1.
            self.rto_deadline = Some(now + self.rtt.rto());
        }
        self.control.on_sent(now, payload, self.in_flight());
        let (recovery, parts) = self.recovery_and_parts();
        recovery.sent(payload, now, &parts);
        self.pacer.sent(payload, now);
    }

    /// RFC 5681 §4.1: after more than an RTO without sending, acknowledgements no longer clock the
    /// window out.
    fn restart_after_idling(&mut self, now: Instant) {
        if self.board.nxt() > 0 && now.since(self.last_sent_at) > self.rtt.rto() {
            self.control.on_idle(self.setup.restart_window);
            self.consult();
        }
    }
}

/// What an acknowledgement means.
impl Sender {
    /// Takes note of the window that the other side offers. Returns whether anything is in flight
    /// that its acknowledgement may be about.
    #[inline]
    pub(super) fn note_window(&mut self, next: u64, window: u32) -> bool {
        if next > self.board.nxt() {
            return false;
        }
        self.right_edge = self.right_edge.max(next + u64::from(window));
        !self.board.is_empty()
    }

    /// Takes in an acknowledgement while something is in flight, after [`Self::note_window`].
    pub(super) fn on_ack(&mut self, ack: &Ack<'_>, now: Instant) {
        let before = self.sample_without_news(now);
        let was_fast = self.recovery.is_fast();
        let news = (self.recovery).take_in(ack.next, ack.blocks, ack.carries_data, &mut self.board);
        let &News {
            ref delivery,
            advanced,
            duplicate,
        } = &news;
        let is_echo = self.ecn.is_echo(ack.flags);
        if !advanced && !duplicate && delivery.bytes == 0 && !is_echo {
            return;
        }
        let mut sample = self.measure(ack, advanced, delivery, before);
        let marked = (self.ecn).count_marks(ack.flags, delivery.bytes, self.setup.mss);
        sample.ce_bytes = marked.unwrap_or(0);
        let reports_marks = is_echo || sample.ce_bytes > 0;
        // RFC 3042: duplicates let segments out, and leave the window as it is. RFC 3168 §6.1.2: so
        // do echoes.
        sample.in_recovery = was_fast || reports_marks || (duplicate && !advanced);
        let (recovery, parts) = self.recovery_and_parts();
        recovery.on_ack(&news, &mut sample, parts);
        if reports_marks {
            self.respond_to_marks(&sample);
        }
        sample.in_recovery |= self.recovery.is_fast();
        sample.in_flight = self.in_flight();
        sample.lost_in_flight = self.board.lost_in_flight();
        if sample.newly_acked > 0 || sample.newly_lost > 0 {
            self.control.on_ack(&sample);
        }
        if advanced {
            // RFC 6298 §5.2, §5.3: all acknowledged stops the timer, anything newly acknowledged
            // restarts it.
            self.rtt.reset_backoff();
            self.buffer.release(self.board.una());
            let outstanding = !self.board.is_empty();
            self.rto_deadline = outstanding.then(|| now + self.rtt.rto());
        }
        let (recovery, mut parts) = self.recovery_and_parts();
        recovery.follow_probe(ack.echo, advanced, &sample, &mut parts);
        self.consult();
        let is_safe = advanced && sample.newly_lost == 0;
        self.reduce_in_proportion(sample.newly_acked, is_safe);
    }

    /// An acknowledgement up to `next` with SACK `blocks` while nothing is in flight: it can only
    /// report what arrived twice.
    pub(super) fn on_report(&mut self, next: u64, blocks: &[(u64, u64)]) {
        self.recovery.take_in_report(next, blocks, &self.board);
    }

    /// Adds to a sample the round-trip time and delivery rate of what was newly acknowledged.
    #[inline]
    fn measure(
        &mut self,
        ack: &Ack<'_>,
        advanced: bool,
        delivery: &Delivery,
        before: AckSample,
    ) -> AckSample {
        let now = before.now;
        let newest = delivery.newest.as_ref();
        // Karn's rule: a segment sent twice is not timed.
        let rtt = newest
            .filter(|newest| !newest.is_resent())
            .map(|newest| now.since(newest.stamp.sent_at));
        if let Some(rtt) = rtt {
            self.rtt.observe(rtt);
        }
        let mut one_way_delay = None;
        if advanced {
            if self.setup.timestamps {
                // RFC 7323 §4.1: timed by the echo, if SND.UNA moves; retransmissions are no
                // exception.
                self.rtt.sample(now.since(ack.echo));
                one_way_delay = Some(ack.sent_at.since(ack.echo));
            } else if let Some(sent_at) = delivery.first_sent_at.filter(|_| !delivery.resent) {
                self.rtt.sample(now.since(sent_at));
            }
        }
        let stamp = newest.map(|newest| newest.stamp);
        let delivery_sample = stamp.and_then(|stamp| {
            let min_rtt = self.rtt.min_rtt();
            self.rate.delivered(delivery.bytes, stamp, min_rtt, now)
        });
        let stamp = stamp.unwrap_or_default();
        AckSample {
            newly_acked: delivery.bytes,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            one_way_delay,
            delivery_sample,
            delivered: self.rate.total(),
            prior_delivered: stamp.delivered,
            sent_in_flight: u64::from(stamp.in_flight),
            app_limited: stamp.app_limited,
            round: self.rate.round(),
            ..before
        }
    }

    /// What a control is given where nothing is newly acknowledged, and where every other sample
    /// begins.
    #[inline]
    fn sample_without_news(&self, now: Instant) -> AckSample {
        AckSample {
            now,
            prior_in_flight: self.in_flight(),
            flight_size: self.recovery.flight_size(&self.board, &*self.control),
            whole_segments: self.setup.whole_segments,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered: self.rate.total(),
            cwnd_limited: self.window_use.may_grow(self.cwnd, self.in_slow_start()),
            round: self.rate.round(),
            mss: self.setup.mss,
            ..AckSample::default()
        }
    }

    /// RFC 3168 §6.1.2: marks count like a loss, once a window.
    fn respond_to_marks(&mut self, sample: &AckSample) {
        if self.recovery.responds_to_marks(&self.board) {
            self.ecn.responded();
            self.control.on_congestion(CongestionSignal::Ecn, sample);
        }
    }

    /// RFC 9937, RFC 6937: in fast recovery, the window of proportional rate reduction stands in
    /// place of the control's.
    #[inline]
    fn reduce_in_proportion(&mut self, delivered: u64, is_safe: bool) {
        let (recovery, parts) = self.recovery_and_parts();
        if let Some(window) = recovery.reduced_window(delivered, is_safe, &parts) {
            self.cwnd = window;
        }
    }

    /// Asks the control for its window, pace and timer: after every call that may have changed
    /// them, so that they are known everywhere else.
    #[inline]
    fn consult(&mut self) {
        let stance = self.control.stance();
        self.control_deadline = stance.next_timer;
        self.cwnd = stance.cwnd;
        self.pacer.follow(&stance);
        if self.setup.pacing && !self.pacer.has_rate() {
            (self.pacer).spread(self.cwnd, self.control.ssthresh(), self.rtt.srtt());
        }
    }

    /// Loss recovery, and the other parts of the sender on which it works.
    #[inline]
    fn recovery_and_parts(&mut self) -> (&mut Recovery, Parts<'_>) {
        let parts = Parts {
            board: &mut self.board,
            rtt: &self.rtt,
            control: &mut *self.control,
            rto_deadline: &mut self.rto_deadline,
        };
        (&mut self.recovery, parts)
    }
}

/// Timers.
impl Sender {
    /// When the retransmission timer, or one of RACK-TLP's, expires.
    #[inline]
    pub(super) fn timer_deadline(&self) -> Option<Instant> {
        [self.rto_deadline, self.recovery.deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due by `now`; returns a probe to be sent.
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<Transmit> {
        if self.rto_deadline.is_some_and(|at| at <= now) {
            self.on_timeout(now);
            return None;
        }
        match self.recovery.expired(now)? {
            Expired::Reordering => {
                self.on_reordering_timer(now);
                None
            }
            Expired::Probe => self.send_probe(now),
        }
    }

    /// The retransmission timer has expired: RFC 6298 §5.4 to §5.6, RFC 5681 §3.1.
    ///
    /// A repair that is lost as well is another sign of congestion, for which ssthresh falls again
    /// (RFC 5681 §4.3): equation 4 counts what is outstanding at the timeout, not the pipe, which
    /// is all but empty by then. Linux leaves ssthresh alone in that case.
    fn on_timeout(&mut self, now: Instant) {
        let mut sample = self.sample_without_news(now);
        let (recovery, mut parts) = self.recovery_and_parts();
        sample.newly_lost = recovery.lose_all(LossTrigger::Timeout, &mut parts);
        // RFC 5681 §3.1: ssthresh stays if the same segment has timed out before.
        if self.rtt.backoff() == 0 {
            self.control
                .on_congestion(CongestionSignal::Timeout, &sample);
        }
        self.rtt.back_off();
        self.rto_deadline = Some(now + self.rtt.rto());
        self.consult();
    }

    /// RFC 8985 §6.3: what has not arrived by now is lost.
    fn on_reordering_timer(&mut self, now: Instant) {
        let mut sample = self.sample_without_news(now);
        let (recovery, parts) = self.recovery_and_parts();
        recovery.on_reordering_timer(&mut sample, parts);
        sample.in_flight = self.in_flight();
        sample.lost_in_flight = self.board.lost_in_flight();
        sample.in_recovery = true;
        if sample.newly_lost > 0 {
            self.control.on_ack(&sample);
        }
        self.consult();
        self.reduce_in_proportion(0, false);
    }

    /// RFC 8985 §7.3: new data if there is any, whatever the window says, or else the last segment
    /// again.
    fn send_probe(&mut self, now: Instant) -> Option<Transmit> {
        if self.board.is_empty() || self.recovery.phase() != Phase::None {
            return None;
        }
        let transmit = if let Some(len) = self.unsent().filter(|&len| len > 0) {
            self.send_new(len as u16, now)
        } else {
            let number = self.board.last_hole()?;
            self.send_again(number, false, now)
        };
        (self.recovery).probed(self.board.nxt(), transmit.again, now);
        // §7.3: the retransmission timer starts over.
        self.rto_deadline = Some(now + self.rtt.rto());
        Some(transmit)
    }

    /// When pacing lets the next segment out, if one may be waiting.
    pub(super) fn pacing_deadline(&self) -> Option<Instant> {
        self.pacer.deadline()
    }

    /// When the control's own timer expires.
    pub(super) fn control_deadline(&self) -> Option<Instant> {
        self.control_deadline
    }

    /// The control's own timer has expired.
    pub(super) fn on_control_timer(&mut self, now: Instant) {
        self.control.on_timer(now);
        self.consult();
    }
}

/// What others may know.
impl Sender {
    /// Bytes in the network, as far as is known.
    #[inline]
    pub(super) fn in_flight(&self) -> u64 {
        self.recovery.in_flight(&self.board)
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

    /// What holds the next segment back, after [`Self::poll_transmit`] gave none.
    pub(super) fn limit(&self) -> SendLimit {
        self.limit
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

/// What whoever listens may know.
impl Sender {
    /// Remembers from now on what is deemed lost, for [`Self::losses`].
    pub(super) fn remember_losses(&mut self) {
        self.board.remember_losses();
    }

    /// What was deemed lost since this was last emptied.
    pub(super) fn losses(&mut self) -> impl Iterator<Item = Loss> + '_ {
        self.board.losses()
    }

    /// Whether something is sent and not acknowledged.
    pub(super) fn is_busy(&self) -> bool {
        !self.board.is_empty()
    }

    /// The state, as events have it.
    pub(super) fn state(&self) -> SenderState {
        SenderState {
            cwnd_bytes: self.cwnd,
            ssthresh_bytes: self.control.ssthresh(),
            srtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(),
            latest_rtt: self.rtt.latest(),
            in_flight_bytes: self.in_flight(),
            pacing_rate: self.pacer.rate(),
            congestion: self.congestion_state(),
        }
    }

    fn congestion_state(&self) -> &'static str {
        if self.recovery.is_fast() {
            return "recovery";
        }
        if self.rate.is_app_limited() {
            return "application_limited";
        }
        self.control.phase().unwrap_or(if self.in_slow_start() {
            "slow_start"
        } else {
            "congestion_avoidance"
        })
    }

    /// The state by Linux's names, the congestion window reduction after a mark left out: it is no
    /// phase here.
    pub(super) fn ca_state(&self) -> CaState {
        match self.recovery.phase() {
            Phase::Fast { .. } => CaState::Recovery,
            Phase::None if self.recovery.sees_disorder(&self.board) => CaState::Disorder,
            Phase::None => CaState::Open,
            Phase::Timeout { .. } => CaState::Loss,
        }
    }

    /// How many segments are in which state: looks at each.
    pub(super) fn counts(&self) -> Counts {
        self.board.counts()
    }

    /// Bytes of the stream that are acknowledged.
    pub(super) fn bytes_acked(&self) -> u64 {
        self.board.una().min(self.written)
    }

    /// Packets reported as marked CE; `None` unless Accurate ECN counts them.
    pub(super) fn packets_marked(&self) -> Option<u64> {
        self.ecn.reported()
    }

    /// The latest sample of the delivery rate, and whether the application limited it.
    pub(super) fn delivery_rate(&self) -> Option<(DeliverySample, bool)> {
        self.rate.latest()
    }

    /// Largest payload of a segment.
    pub(super) fn mss(&self) -> u64 {
        self.setup.mss
    }
}

#[cfg(test)]
mod tests;
