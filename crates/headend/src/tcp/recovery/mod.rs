//! Loss recovery: what an acknowledgement or a timer shows to be lost, and what is sent again.
//!
//! A connection is in one of three phases ([`Phase`]):
//!
//! - *none*: duplicate acknowledgements are counted; each of the first two lets a new segment out
//!   (limited transmit, RFC 3042);
//! - *fast*: after RFC 6675's sign of loss or, without SACK, the third duplicate (RFC 5681 §3.2,
//!   RFC 6582), until all that was in flight then is acknowledged. With SACK, `NextSeg()` chooses
//!   between repairs, new data and the rescue retransmission; without, each partial acknowledgement
//!   repairs one segment;
//! - *timeout*: everything not acknowledged is lost, and is sent again in slow start (RFC 5681
//!   §3.1).
//!
//! The [scoreboard](super::scoreboard) knows the fate of each segment in flight. Two options stand
//! beside it: [proportional rate reduction](prr), and [RACK-TLP](rack), which detects losses by
//! time and sends a probe when the end of a flight may be lost.
//!
//! Left out: receivers that discard what they have selectively acknowledged, the undoing of
//! spurious timeouts, a limit on the retransmissions of data; and, without RACK, the detection of a
//! lost repair by anything but the retransmission timer.

mod prr;
mod rack;

use self::prr::{Progress, Prr};
use self::rack::Rack;
use super::config::{PrrMode, SsthreshFrom};
use super::rtt::RttEstimator;
use super::scoreboard::{DUP_THRESH, Delivery, Scoreboard};
use crate::congestion::{AckSample, CongestionControl, CongestionSignal};
use crate::time::{Duration, Instant};
use crate::trace::LossTrigger;

/// Parameters of loss recovery.
#[derive(Debug)]
pub(super) struct Setup {
    /// Largest payload of a segment.
    pub(super) mss: u64,
    /// Whether both sides use SACK.
    pub(super) sack: bool,
    /// Without SACK: whether a partial acknowledgement ends fast recovery.
    pub(super) reno: bool,
    /// With SACK: how the window is reduced during fast recovery.
    pub(super) prr: PrrMode,
    /// With SACK: the longest delay of the other side's acknowledgements, where RACK-TLP is used.
    pub(super) rack: Option<Duration>,
    /// Whether the other side reports duplicates (RFC 2883).
    pub(super) dsack: bool,
    /// What a slow-start threshold is a share of.
    pub(super) ssthresh_from: SsthreshFrom,
}

/// The parts of the sending half that loss recovery reads and changes.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// What is in flight.
    pub(super) board: &'a mut Scoreboard,
    pub(super) rtt: &'a RttEstimator,
    pub(super) control: &'a mut dyn CongestionControl,
    /// When the retransmission timer expires.
    pub(super) rto_deadline: &'a mut Option<Instant>,
}

/// What one acknowledgement says, as the scoreboard sees it.
#[derive(Debug)]
pub(super) struct News {
    /// What it newly acknowledges.
    pub(super) delivery: Delivery,
    /// Whether it moved SND.UNA.
    pub(super) advanced: bool,
    /// Whether it counts as a duplicate.
    pub(super) duplicate: bool,
}

/// Where loss recovery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Fast recovery, until `point` is acknowledged (RFC 6675: `RecoveryPoint`). One rescue
    /// retransmission is allowed once more than `rescue_after` is acknowledged (`RescueRxt`).
    Fast { point: u64, rescue_after: u64 },
    /// Nothing to recover from.
    None,
    /// After a timeout, until `point` is acknowledged.
    Timeout { point: u64 },
}

/// What recovery wants to be sent next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repair {
    /// A segment again; whether the copy counts as in flight.
    Send { number: u64, counts: bool },
    /// A repair is due, and the window has no room for it yet.
    Wait,
}

/// A timer of RACK-TLP that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expired {
    /// A segment may be lost by time alone (RFC 8985 §6.3).
    Reordering,
    /// A probe is to be sent (RFC 8985 §7.3).
    Probe,
}

/// The state of loss recovery.
#[derive(Debug)]
pub(super) struct Recovery {
    setup: Setup,
    phase: Phase,

    /// Duplicate acknowledgements since SND.UNA last moved.
    dup_acks: u32,
    /// Without SACK: bytes that duplicate acknowledgements say have left the network. RFC 5681 §3.2
    /// adds them to cwnd instead.
    departed: u64,
    /// Limited transmit sends from here on: SND.NXT at the first duplicate since SND.UNA last
    /// moved, and the bytes that this duplicate acknowledged besides.
    limited_from: u64,
    /// The first segment is to be sent again, whatever the window says.
    repair_first: bool,

    /// FlightSize at the start of the recovery under way.
    initial_flight: u64,
    /// Without SACK: the recovery point of the latest recovery. Duplicates up to it start no other
    /// (RFC 6582 §3.2, step 2).
    recover: Option<u64>,
    /// One response to congestion a window: until this is acknowledged, neither marks nor losses
    /// reduce it again.
    responded_until: Option<u64>,

    rack: Option<Rack>,
    /// Proportional rate reduction, during fast recovery.
    prr: Option<Prr>,
}

impl Recovery {
    /// Nothing sent yet, and nothing to recover from.
    pub(super) fn new(setup: Setup, board: &mut Scoreboard) -> Self {
        let rack = setup.rack.filter(|_| setup.sack).map(|delay| {
            board.remember_repairs();
            Rack::new(delay)
        });
        Self {
            setup,
            phase: Phase::None,
            dup_acks: 0,
            departed: 0,
            limited_from: 0,
            repair_first: false,
            initial_flight: 0,
            recover: None,
            responded_until: None,
            rack,
            prr: None,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether fast recovery is under way.
    pub(super) fn is_fast(&self) -> bool {
        matches!(self.phase, Phase::Fast { .. })
    }

    /// Whether something arrived out of order, so that a loss is possible (Linux: Disorder).
    pub(super) fn sees_disorder(&self, board: &Scoreboard) -> bool {
        self.dup_acks > 0 || board.has_sacked()
    }

    /// Bytes in the network, as far as is known.
    #[inline]
    pub(super) fn in_flight(&self, board: &Scoreboard) -> u64 {
        board.pipe().saturating_sub(self.departed)
    }

    /// RFC 5681's FlightSize, for equation 4: what is sent and not cumulatively acknowledged,
    /// without what limited transmit has sent (§3.2). A second sign of congestion must not raise
    /// the threshold, nor a loss the window; so there are two bounds, and a threshold below
    /// equation 4's is allowed (§3.2):
    ///
    /// - During a recovery, FlightSize at its start: a recovery that stalls goes on sending while
    ///   selective acknowledgements arrive.
    /// - Outside, the window: when a recovery ends, windows of data may have arrived behind the
    ///   next gap. With RACK, which repairs repairs, and with Reno's own recovery also within one.
    ///
    /// Linux takes the control's window in place of all that.
    #[inline]
    pub(super) fn flight_size(&self, board: &Scoreboard, control: &dyn CongestionControl) -> u64 {
        let window = control.cwnd();
        if self.setup.ssthresh_from == SsthreshFrom::Window {
            return window;
        }
        let (una, nxt) = (board.una(), board.nxt());
        let flight = match self.phase {
            Phase::None if self.dup_acks > 0 => self.limited_from.min(nxt) - una,
            Phase::None => nxt - una,
            Phase::Fast { .. } | Phase::Timeout { .. } => (nxt - una).min(self.initial_flight),
        };
        if self.phase == Phase::None || self.rack.is_some() || self.setup.reno {
            flight.min(window)
        } else {
            flight
        }
    }
}

/// What to send again.
impl Recovery {
    /// RFC 6675 §4, `NextSeg()` rule 1: what is known to be lost comes before new data, if the
    /// window has `room` for it.
    #[inline]
    pub(super) fn next_repair(&mut self, room: u64, board: &mut Scoreboard) -> Option<Repair> {
        if self.phase == Phase::None {
            return None;
        }
        let repair = |number| Repair::Send {
            number,
            counts: true,
        };
        // RFC 6675 §5, step 4.3; RFC 6582 §3.2, steps 2 and 3: the first segment is sent at once.
        if std::mem::take(&mut self.repair_first)
            && let Some(number) = board.first_unrepaired()
        {
            return Some(repair(number));
        }
        let number = board.next_lost()?;
        if board.len_of(number) > room {
            return Some(Repair::Wait);
        }
        Some(repair(number))
    }

    /// The length of the segment that is to be sent again next, if there is one.
    pub(super) fn awaited_repair(&self, board: &mut Scoreboard) -> Option<u64> {
        if self.phase == Phase::None {
            return None;
        }
        board.next_lost().map(|number| board.len_of(number))
    }

    /// RFC 6675 §4, `NextSeg()` rules 3 and 4: with nothing else to send, segments that may be
    /// lost, then one rescue. RACK sends neither.
    pub(super) fn next_speculative(&mut self, room: u64, board: &mut Scoreboard) -> Option<Repair> {
        let Phase::Fast {
            point,
            rescue_after,
        } = self.phase
        else {
            return None;
        };
        if !self.setup.sack || self.rack.is_some() {
            return None;
        }
        if let Some(number) = board.next_hole() {
            return (board.len_of(number) <= room).then_some(Repair::Send {
                number,
                counts: true,
            });
        }
        let number = board.last_hole()?;
        if board.una() <= rescue_after || board.len_of(number) > room {
            return None;
        }
        self.phase = Phase::Fast {
            point,
            rescue_after: point,
        };
        Some(Repair::Send {
            number,
            counts: false,
        })
    }

    /// A segment of `payload` bytes has been sent.
    #[inline]
    pub(super) fn sent(&mut self, payload: u64, now: Instant, parts: &Parts<'_>) {
        if let Some(prr) = &mut self.prr {
            prr.sent(payload);
        }
        self.schedule_probe(now, parts);
    }
}

/// What an acknowledgement means.
impl Recovery {
    /// RFC 6675 §5: the scoreboard takes in an acknowledgement of everything below `next` with SACK
    /// `blocks`. One that `carries_data` is no duplicate without SACK.
    pub(super) fn take_in(
        &mut self,
        next: u64,
        blocks: &[(u64, u64)],
        carries_data: bool,
        board: &mut Scoreboard,
    ) -> News {
        let prior_una = board.una();
        let mut delivery = Delivery::default();
        if next > prior_una {
            board.acknowledge(next, &mut delivery);
        }
        if self.setup.sack {
            for &block in blocks {
                board.sack(block, &mut delivery);
            }
        }
        self.take_in_report(next, blocks, board);
        let advanced = board.una() > prior_una;
        let duplicate = if self.setup.sack {
            // RFC 6675 §2: one that selectively acknowledges something new, "regardless of its
            // status as a cumulative acknowledgment" (§5).
            delivery.sacked
        } else {
            // RFC 5681 §2: one without data that says nothing new while something is outstanding.
            !advanced && !carries_data && next == board.una() && !board.is_empty()
        };
        if duplicate && (advanced || self.dup_acks == 0) {
            // The first duplicate may acknowledge something too, which lets out as much as any
            // acknowledgement.
            self.limited_from = board.nxt() + (board.una() - prior_una);
        }
        News {
            delivery,
            advanced,
            duplicate,
        }
    }

    /// RFC 2883: what an acknowledgement up to `next` with SACK `blocks` reports as arrived twice.
    /// Only RACK-TLP makes use of it.
    #[inline]
    pub(super) fn take_in_report(&mut self, next: u64, blocks: &[(u64, u64)], board: &Scoreboard) {
        if let Some(rack) = &mut self.rack {
            rack.take_in_report(next, blocks, board);
        }
    }

    /// An acknowledgement's news change the phase; what they show to be lost is added to `sample`.
    #[inline]
    pub(super) fn on_ack(&mut self, news: &News, sample: &mut AckSample, mut parts: Parts<'_>) {
        let &News {
            advanced,
            duplicate,
            ..
        } = news;
        let parts = &mut parts;
        if let Some(rack) = &mut self.rack {
            rack.take_in(&news.delivery, parts.board.una(), parts.rtt, sample.now);
        }
        if advanced {
            self.dup_acks = 0;
        }
        if duplicate {
            self.dup_acks += 1;
            if !self.setup.sack {
                self.departed = (self.departed + self.setup.mss).min(parts.board.pipe());
            }
        }
        match self.phase {
            Phase::None => {
                if advanced {
                    self.departed = 0;
                }
                if duplicate || self.rack.is_some() {
                    self.consider_fast_recovery(sample, parts);
                }
            }
            Phase::Fast { point, .. } if parts.board.una() >= point => {
                self.end_fast_recovery(duplicate, sample, parts);
            }
            Phase::Fast { .. } if self.setup.sack => {
                sample.newly_lost = self.detect_losses(sample.now, parts);
            }
            Phase::Fast { .. } => {
                if advanced && self.setup.reno {
                    self.end_fast_recovery(false, sample, parts);
                } else if advanced {
                    self.repair_next_hole(sample, parts);
                }
            }
            Phase::Timeout { point } => {
                self.departed = 0;
                if self.rack.is_some() {
                    sample.newly_lost = self.detect_losses(sample.now, parts);
                }
                if parts.board.una() >= point {
                    self.phase = Phase::None;
                    self.note_recovered();
                }
            }
        }
    }

    /// A duplicate acknowledgement outside recovery (RFC 6675 §5, steps 1, 2 and 4; RFC 6582 §3.2,
    /// step 2), or with RACK any acknowledgement (RFC 8985 §6.2, step 5): fast recovery begins if
    /// it shows a loss.
    fn consider_fast_recovery(&mut self, sample: &mut AckSample, parts: &mut Parts<'_>) {
        if self.rack.is_some() {
            let lost = self.detect_losses(sample.now, parts);
            if lost > 0 {
                sample.newly_lost += lost;
                self.begin_fast_recovery(sample, parts);
            }
            return;
        }
        let three = self.dup_acks >= DUP_THRESH;
        let is_lost = if self.setup.sack {
            three || parts.board.first_is_lost()
        } else {
            // RFC 2581 has no such test.
            let is_new = |recover| self.setup.reno || parts.board.una() > recover;
            three && self.recover.is_none_or(is_new)
        };
        if !is_lost {
            return;
        }
        sample.newly_lost = if self.setup.sack {
            parts.board.detect_losses()
        } else {
            parts.board.lose_first()
        };
        self.begin_fast_recovery(sample, parts);
    }

    /// The bytes newly lost, by RFC 6675's `IsLost()` or by RFC 8985 §6.2, step 5.
    fn detect_losses(&mut self, now: Instant, parts: &mut Parts<'_>) -> u64 {
        let in_recovery = self.phase != Phase::None;
        match &mut self.rack {
            Some(rack) => rack.detect_losses(in_recovery, parts.board, parts.rtt, now),
            None => parts.board.detect_losses(),
        }
    }

    /// RFC 6675 §5, step 4; RFC 5681 §3.2, steps 2 and 3: something is lost for the first time
    /// since the last recovery.
    fn begin_fast_recovery(&mut self, sample: &mut AckSample, parts: &mut Parts<'_>) {
        self.repair_first = true;
        if parts.control.repairs_in_slow_start() {
            return self.repair_in_slow_start(sample, parts);
        }
        let (first, point) = (parts.board.una(), parts.board.nxt());
        self.recover = Some(point);
        self.initial_flight = sample.flight_size;
        self.phase = Phase::Fast {
            point,
            rescue_after: first + self.setup.mss.min(point - first),
        };
        if self.starts_new_window(parts.board) || self.setup.reno {
            self.responded_until = Some(point);
            let lost = sample.newly_lost;
            (parts.control).on_congestion(CongestionSignal::Loss { lost }, sample);
        }
        if self.setup.sack {
            // RFC 9937 §6.2, `RecoverFS`: what this recovery can still see delivered, this
            // acknowledgement's news included.
            let outstanding = match self.setup.prr {
                PrrMode::Off | PrrMode::Rfc6937 => point - first,
                PrrMode::Rfc9937 => {
                    (point - first + sample.newly_acked).saturating_sub(parts.board.sacked_bytes())
                }
            };
            self.prr = Prr::new(self.setup.prr, outstanding);
        }
    }

    /// Tahoe: the third duplicate is treated as if the timer had expired, but the timeout does not
    /// double.
    fn repair_in_slow_start(&mut self, sample: &mut AckSample, parts: &mut Parts<'_>) {
        let lost = self.lose_all(LossTrigger::ReorderingThreshold, parts);
        sample.newly_lost = lost;
        *parts.rto_deadline = Some(sample.now + parts.rtt.rto());
        (parts.control).on_congestion(CongestionSignal::Loss { lost }, sample);
    }

    /// RFC 6582 §3.2, step 3, partial acknowledgement: it shows the next hole, and how many of the
    /// segments counted as departed it acknowledges.
    fn repair_next_hole(&mut self, sample: &mut AckSample, parts: &mut Parts<'_>) {
        sample.newly_lost = parts.board.lose_first();
        self.repair_first = true;
        let stays = if sample.newly_acked >= self.setup.mss {
            self.setup.mss
        } else {
            0
        };
        self.departed = (self.departed.saturating_sub(sample.newly_acked) + stays)
            .min(parts.board.pipe() + sample.newly_lost);
    }

    /// RFC 6675 §5, step A; RFC 6582 §3.2, step 3, full acknowledgement: all that was in flight
    /// when recovery began is acknowledged; or, as in RFC 2581, the first of it.
    fn end_fast_recovery(
        &mut self,
        duplicate: bool,
        sample: &mut AckSample,
        parts: &mut Parts<'_>,
    ) {
        self.phase = Phase::None;
        self.note_recovered();
        self.repair_first = false;
        self.departed = 0;
        sample.in_flight = self.in_flight(parts.board);
        // Another loss is one of what is outstanding now.
        sample.flight_size = self.flight_size(parts.board, parts.control);
        parts.control.on_recovered(sample);
        // What was sent during recovery may have losses of its own. RFC 6675 waits for the next
        // duplicate; there may be none.
        if duplicate || self.rack.is_some() || self.setup.sack && parts.board.first_is_lost() {
            self.consider_fast_recovery(sample, parts);
        }
    }

    fn note_recovered(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.recovered();
        }
    }

    /// RFC 9937 §6.2, RFC 6937 §3: the window of a fast recovery with proportional rate reduction,
    /// in place of the control's. `delivered` bytes are newly acknowledged; `is_safe` says that
    /// SND.UNA moved and nothing is newly lost.
    pub(super) fn reduced_window(
        &mut self,
        delivered: u64,
        is_safe: bool,
        parts: &Parts<'_>,
    ) -> Option<u64> {
        let prr = self.prr.as_mut()?;
        let ssthresh = parts.control.ssthresh();
        let Some(ssthresh) = ssthresh.filter(|_| matches!(self.phase, Phase::Fast { .. })) else {
            self.prr = None;
            return None;
        };
        let progress = Progress {
            delivered,
            in_flight: parts.board.pipe(),
            is_safe,
        };
        Some(prr.window(progress, ssthresh, self.setup.mss))
    }

    /// Whether all that was in flight at the latest response to congestion is acknowledged.
    fn starts_new_window(&self, board: &Scoreboard) -> bool {
        (self.responded_until).is_none_or(|until| board.una() >= until)
    }

    /// RFC 3168 §6.1.2: whether marks that were just reported ask for a response, which is then
    /// noted. Marks reported up to and including the point of the latest response do not ("less
    /// than or equal": RFC 8257 §3.3): the segment with CWR arrives after it.
    pub(super) fn responds_to_marks(&mut self, board: &Scoreboard) -> bool {
        let responds = (self.responded_until).is_none_or(|until| board.una() > until);
        if responds {
            self.responded_until = Some(board.nxt());
        }
        responds
    }
}

/// Timers.
impl Recovery {
    /// RFC 5681 §3.1: the retransmission timer has expired. Everything outstanding is lost, and to
    /// be sent again in slow start; the bytes newly lost.
    pub(super) fn lose_all(&mut self, trigger: LossTrigger, parts: &mut Parts<'_>) -> u64 {
        self.initial_flight = self.flight_size(parts.board, parts.control);
        if let Some(rack) = &mut self.rack {
            rack.give_up();
        }
        self.prr = None;
        self.dup_acks = 0;
        self.departed = 0;
        self.repair_first = false;
        let point = parts.board.nxt();
        self.phase = Phase::Timeout { point };
        self.recover = Some(point);
        self.responded_until = Some(point);
        parts.board.lose_all(trigger)
    }

    /// When the next timer of RACK-TLP expires.
    #[inline]
    pub(super) fn deadline(&self) -> Option<Instant> {
        let rack = self.rack.as_ref()?;
        [rack.reorder_deadline, rack.probe_deadline]
            .into_iter()
            .flatten()
            .min()
    }

    /// Which of RACK-TLP's timers has expired by `now`. A probe is due once.
    pub(super) fn expired(&mut self, now: Instant) -> Option<Expired> {
        let rack = self.rack.as_mut()?;
        if rack.reorder_deadline.is_some_and(|at| at <= now) {
            return Some(Expired::Reordering);
        }
        let probe = rack.probe_deadline.take_if(|at| *at <= now);
        probe.map(|_| Expired::Probe)
    }

    /// RFC 8985 §6.3: what has not arrived by now is lost.
    pub(super) fn on_reordering_timer(&mut self, sample: &mut AckSample, mut parts: Parts<'_>) {
        if self.phase == Phase::None {
            self.consider_fast_recovery(sample, &mut parts);
        } else {
            sample.newly_lost = self.detect_losses(sample.now, &mut parts);
        }
    }

    /// RFC 8985 §7.2: outside recovery, a probe is scheduled after each transmission, and after
    /// each acknowledgement that moves SND.UNA.
    #[inline]
    fn schedule_probe(&mut self, now: Instant, parts: &Parts<'_>) {
        if let Some(rack) = &mut self.rack
            && self.phase == Phase::None
        {
            rack.schedule_probe(parts.board, parts.rtt, *parts.rto_deadline, now);
        }
    }

    /// RFC 8985 §7.3: a probe up to `end` has been sent; `again` says that it repeats a segment.
    pub(super) fn probed(&mut self, end: u64, again: bool, now: Instant) {
        if let Some(rack) = &mut self.rack {
            rack.probed(end, again, now);
        }
    }

    /// RFC 8985 §7.2, §7.4.2: a probe that repaired a loss is answered like a loss; the next probe
    /// is scheduled. `echo` is the timestamp that the acknowledgement echoed.
    pub(super) fn follow_probe(
        &mut self,
        echo: Instant,
        advanced: bool,
        sample: &AckSample,
        parts: &mut Parts<'_>,
    ) {
        let is_new = self.starts_new_window(parts.board);
        let Some(rack) = &mut self.rack else { return };
        if rack.ends_probe(parts.board.una(), echo, self.setup.dsack) && is_new {
            self.responded_until = Some(parts.board.nxt());
            let lost = self.setup.mss;
            (parts.control).on_congestion(CongestionSignal::Loss { lost }, sample);
            parts.control.on_recovered(sample);
        }
        if advanced {
            self.schedule_probe(sample.now, parts);
        }
    }

    #[cfg(test)]
    pub(super) fn is_reducing(&self) -> bool {
        self.prr.is_some()
    }

    #[cfg(test)]
    pub(super) fn reordering_deadline(&self) -> Option<Instant> {
        self.rack.as_ref().expect("RACK is used").reorder_deadline
    }
}
