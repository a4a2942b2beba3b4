//! RACK-TLP (RFC 8985): losses by time instead of by counting, and a probe when the last segments of a flight are lost.
//!
//! RACK takes a segment for lost when one sent after it has arrived and a round trip and a reordering window have passed since it was sent, repairs included. The window is a quarter of the smallest round trip once
//! reordering was seen; before that it is nothing in recovery and after three segments arrived out of order. TLP sends new data, or the last segment again, two round trips after the last transmission.
//!
//! Left out: the window's growth by D-SACK, which receivers here do not send. Whether a probe repaired a loss is told by the timestamp echoed.

use super::rtt::RttEstimator;
use super::scoreboard::{DUP_THRESH, Delivery, Scoreboard};
use crate::time::{Duration, Instant};

/// `TLP.end_seq`, and when the probe was sent if it repeated something.
#[derive(Debug, Clone, Copy)]
struct Probe {
    end: u64,
    resent_at: Option<Instant>,
}

/// RACK's and TLP's state on one connection.
#[derive(Debug)]
pub(super) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: the segment sent last of all delivered.
    newest: (Instant, u64),
    /// `RACK.rtt`.
    rtt: Duration,
    /// `RACK.fack`: the highest sequence number delivered.
    highest: u64,
    reordering_seen: bool,
    /// When the next segment is lost by time alone.
    pub(super) reorder_deadline: Option<Instant>,
    /// When the next probe is due.
    pub(super) probe_deadline: Option<Instant>,
    probe: Option<Probe>,
    /// Longest delay of an acknowledgement.
    max_ack_delay: Duration,
}

impl Rack {
    /// Nothing known yet.
    pub(super) fn new(max_ack_delay: Duration) -> Self {
        Self {
            newest: (Instant::ZERO, 0),
            rtt: Duration::ZERO,
            highest: 0,
            reordering_seen: false,
            reorder_deadline: None,
            probe_deadline: None,
            probe: None,
            max_ack_delay,
        }
    }

    /// §6.2, steps 1 to 3.
    pub(super) fn take_in(
        &mut self,
        delivery: &Delivery,
        una: u64,
        rtt: &RttEstimator,
        now: Instant,
    ) {
        if delivery.lowest_original < self.highest {
            self.reordering_seen = true;
        }
        self.highest = self.highest.max(una).max(delivery.highest);
        let Some(segment) = delivery.newest else {
            return;
        };
        let took = now.since(segment.sent_at);
        // Sooner than the path allows: the answer is to an earlier copy.
        if segment.is_resent() && rtt.min_rtt().is_some_and(|min| took < min) {
            return;
        }
        self.rtt = took;
        self.newest = self.newest.max((segment.sent_at, segment.end()));
    }

    /// §6.2, step 4.
    fn reordering_window(
        &self,
        in_recovery: bool,
        board: &Scoreboard,
        rtt: &RttEstimator,
    ) -> Duration {
        if !self.reordering_seen && (in_recovery || board.sacked_segments_reach(DUP_THRESH)) {
            return Duration::ZERO;
        }
        let quarter = rtt.min_rtt().unwrap_or_default() / 4;
        quarter.min(rtt.srtt().unwrap_or(quarter))
    }

    /// §6.2, step 5: the bytes newly lost.
    pub(super) fn detect_losses(
        &mut self,
        in_recovery: bool,
        board: &mut Scoreboard,
        rtt: &RttEstimator,
        now: Instant,
    ) -> u64 {
        let span = self.rtt + self.reordering_window(in_recovery, board, rtt);
        let (lost, deadline) = board.detect_losses_by_time(self.newest, span, now);
        self.reorder_deadline = deadline;
        lost
    }

    /// §7.2: after new data was sent or acknowledged, outside recovery.
    pub(super) fn schedule_probe(
        &mut self,
        board: &Scoreboard,
        rtt: &RttEstimator,
        rto_deadline: Option<Instant>,
        now: Instant,
    ) {
        self.probe_deadline = None;
        if board.is_empty() || self.probe.is_some() || board.has_sacked() {
            return;
        }
        let mut timeout = rtt.srtt().map_or(Duration::from_secs(1), |srtt| srtt * 2);
        if board.holds_one() {
            timeout += self.max_ack_delay;
        }
        let at = now + timeout;
        if rto_deadline.is_none_or(|rto| at < rto) {
            self.probe_deadline = Some(at);
        }
    }

    /// §7.3: a probe has left, up to `end`; whether it was sent before.
    pub(super) fn probed(&mut self, end: u64, again: bool, now: Instant) {
        self.probe_deadline = None;
        self.probe = Some(Probe {
            end,
            resent_at: again.then_some(now),
        });
    }

    /// §7.4: `una` is acknowledged, by an answer to what was sent at `echo`; whether a probe has repaired a loss.
    pub(super) fn ends_probe(&mut self, una: u64, echo: Instant) -> bool {
        let Some(probe) = self.probe.filter(|probe| una >= probe.end) else {
            return false;
        };
        self.probe = None;
        probe.resent_at.is_some_and(|sent_at| echo >= sent_at)
    }

    /// The retransmission timer has expired.
    pub(super) fn give_up(&mut self) {
        self.probe = None;
        self.probe_deadline = None;
        self.reorder_deadline = None;
    }
}
