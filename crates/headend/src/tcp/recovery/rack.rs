//! RACK-TLP (RFC 8985): losses by time instead of by counting, and a probe when the last segments
//! of a flight are lost.
//!
//! RACK: a segment is lost when one sent after it has arrived, and a round trip and a reordering
//! window have passed since it was sent. That holds for repairs too. The reordering window is a
//! quarter of the smallest round trip. Until reordering is seen, it is zero in recovery, and once
//! three segments have arrived out of order. Each round trip in which D-SACK reports a duplicate
//! adds a quarter, up to a smoothed round trip; after sixteen recoveries without a duplicate it is
//! one quarter again.
//!
//! TLP: two round trips after the last transmission a probe is sent, which is new data or the last
//! segment again. D-SACK shows whether the probe repaired a loss (§7.4); without D-SACK, the
//! timestamp echo does.

use crate::tcp::rtt::RttEstimator;
use crate::tcp::scoreboard::{DUP_THRESH, Delivery, Scoreboard};
use crate::time::{Duration, Instant};

/// Recoveries without a duplicate after which the reordering window is as small as at first (§6.2,
/// step 4).
const PERSIST: u32 = 16;

/// `TLP.end_seq`, and when the probe was sent if it repeated something.
#[derive(Debug, Clone, Copy)]
struct Probe {
    end: u64,
    resent_at: Option<Instant>,
}

impl Probe {
    /// Whether it is what has arrived twice.
    fn is_repeated_by(&self, duplicate: Option<(u64, u64)>) -> bool {
        self.resent_at.is_some() && duplicate.is_some_and(|(_, end)| end == self.end)
    }
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
    /// `RACK.reordering_seen`.
    reordering_seen: bool,
    /// `RACK.dsack_round`: until this is acknowledged, duplicates do not grow the window again.
    dsack_round: Option<u64>,
    /// `RACK.reo_wnd_mult`: the reordering window, in quarters of the smallest round trip.
    quarters: u64,
    /// `RACK.reo_wnd_persist`: how many more recoveries it stays so.
    persist: u32,
    /// Whether the latest acknowledgement has grown the window.
    grew: bool,
    /// When the next segment is lost by time alone.
    pub(super) reorder_deadline: Option<Instant>,
    /// When the next probe is due.
    pub(super) probe_deadline: Option<Instant>,
    probe: Option<Probe>,
    /// The longest delay of the other side's acknowledgements.
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
            dsack_round: None,
            quarters: 1,
            persist: PERSIST,
            grew: false,
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
        let took = now.since(segment.stamp.sent_at);
        // Sooner than the path allows: an earlier copy is acknowledged.
        if segment.is_resent() && rtt.min_rtt().is_some_and(|min| took < min) {
            return;
        }
        self.rtt = took;
        self.newest = self.newest.max((segment.stamp.sent_at, segment.end()));
    }

    /// §6.2, step 4, and §7.4.2, case 1: an acknowledgement up to `next` with SACK `blocks` may
    /// report a duplicate.
    pub(super) fn take_in_report(&mut self, next: u64, blocks: &[(u64, u64)], board: &Scoreboard) {
        self.note_duplicate(reported_duplicate(next, blocks), board.una(), board.nxt());
    }

    fn note_duplicate(&mut self, duplicate: Option<(u64, u64)>, una: u64, nxt: u64) {
        self.dsack_round = self.dsack_round.filter(|&round| una < round);
        self.grew = duplicate.is_some() && self.dsack_round.is_none();
        if self.grew {
            self.dsack_round = Some(nxt);
            self.quarters += 1;
            self.persist = PERSIST;
        }
        // The probe's original had not been lost.
        (self.probe).take_if(|probe| probe.is_repeated_by(duplicate) && una >= probe.end);
    }

    /// §6.2, step 4: a recovery is over.
    pub(super) fn recovered(&mut self) {
        if self.grew {
            return;
        }
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
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
        let window = rtt.min_rtt().unwrap_or_default() * self.quarters / 4;
        window.min(rtt.srtt().unwrap_or(window))
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

    /// §7.4.2: everything below `una` is acknowledged, and the acknowledgement echoed the timestamp
    /// `echo`. Returns whether a probe has repaired a loss. With D-SACK that is known once more
    /// than the probe is acknowledged and nothing has arrived twice.
    pub(super) fn ends_probe(&mut self, una: u64, echo: Instant, dsack: bool) -> bool {
        let Some(probe) = self.probe.filter(|probe| una >= probe.end) else {
            return false;
        };
        let repaired = match probe.resent_at {
            Some(_) if dsack && una == probe.end => return false,
            Some(sent_at) => dsack || echo >= sent_at,
            None => false,
        };
        self.probe = None;
        repaired
    }

    /// The retransmission timer has expired.
    pub(super) fn give_up(&mut self) {
        self.probe = None;
        self.probe_deadline = None;
        self.reorder_deadline = None;
    }
}

/// What an acknowledgement of everything below `ack` reports as arrived twice (RFC 2883 §4): the
/// first block, if it is acknowledged already or lies within the second.
fn reported_duplicate(ack: u64, blocks: &[(u64, u64)]) -> Option<(u64, u64)> {
    let &first = blocks.first()?;
    let within = |second: &(u64, u64)| second.0 <= first.0 && first.1 <= second.1;
    (first.0 < ack || blocks.get(1).is_some_and(within)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: Option<(u64, u64)> = Some((0, 1000));

    /// The reordering window in ms on a path of 100 ms on which something was reordered.
    fn window(rack: &Rack) -> u64 {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::new(
            ms(1000),
            ms(200),
            crate::tcp::MinRtoOf::Variation,
            ms(4),
            ms(60_000),
        );
        rtt.observe(ms(100));
        rtt.sample(ms(110));
        let board = Scoreboard::new(1000);
        rack.reordering_window(true, &board, &rtt).as_nanos() / 1_000_000
    }

    fn reordered() -> Rack {
        let mut rack = Rack::new(Duration::ZERO);
        rack.reordering_seen = true;
        rack
    }

    #[test]
    fn the_window_grows_by_a_quarter_each_round_trip_with_a_duplicate_up_to_a_round_trip() {
        let mut rack = reordered();
        assert_eq!(window(&rack), 25);
        // A duplicate, or none; SND.UNA and SND.NXT in segments.
        for (duplicate, una, nxt, expected) in [
            (None, 0, 10, 25),
            (TWICE, 1, 10, 50),
            (TWICE, 9, 19, 50),
            (None, 10, 20, 50),
            (TWICE, 10, 20, 75),
            (TWICE, 20, 30, 100),
            (TWICE, 30, 40, 110),
            (TWICE, 40, 50, 110),
        ] {
            rack.note_duplicate(duplicate, una, nxt);
            assert_eq!(window(&rack), expected, "{una}");
        }
        rack.reordering_seen = false;
        assert_eq!(window(&rack), 0, "in recovery");
    }

    #[test]
    fn sixteen_recoveries_without_a_duplicate_take_the_window_back() {
        let mut rack = reordered();
        rack.note_duplicate(TWICE, 1, 10);
        rack.recovered();
        rack.note_duplicate(None, 2, 11);
        for _ in 0..15 {
            rack.recovered();
            assert_eq!(window(&rack), 50, "that which it grew in does not count");
        }
        rack.recovered();
        assert_eq!(window(&rack), 25);
        rack.note_duplicate(TWICE, 10, 20);
        assert_eq!(window(&rack), 50);
    }

    #[test]
    fn a_first_block_that_is_acknowledged_or_part_of_the_second_is_a_duplicate() {
        // The acknowledgements of RFC 2883 §4.1.1 to §4.2.3 that report one, and others.
        let (whole, part) = ((3000, 3500), (1000, 1500));
        let vectors: [(u64, &[(u64, u64)], _); 9] = [
            (4000, &[whole], Some(whole)),
            (4000, &[whole, (4500, 5000)], Some(whole)),
            (4000, &[(5000, 5500), (4500, 5500)], Some((5000, 5500))),
            (2500, &[part], Some(part)),
            (2500, &[part, (3000, 3500)], Some(part)),
            (1000, &[(1500, 2000), (1500, 3000)], Some((1500, 2000))),
            (4000, &[(4500, 5000)], None),
            (1000, &[(2500, 3000), (1500, 2000), (3500, 4000)], None),
            (1000, &[], None),
        ];
        for (ack, blocks, duplicate) in vectors {
            assert_eq!(reported_duplicate(ack, blocks), duplicate, "{blocks:?}");
        }
    }
}
