//! The downstream scheduler of the CMTS: which service flow sends next.
//!
//! The order is:
//!
//! 1. Reserved rates. A flow that has had less than its minimum reserved rate is served before all
//!    others. Among such flows, the one whose due time is longest past is first.
//! 2. Traffic priority, the highest first.
//! 3. Within a priority, deficit round robin over bytes (Shreedhar and Varghese 1996).
//!
//! The size of a packet is known only after the dequeue. A flow may therefore exceed its deficit by
//! one packet, and pays this back in its next turn. Flows without packets cost no time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Number of traffic priorities, 0 to 7 (MULPI Annex C.2.2.7.1).
const PRIORITIES: usize = 8;
/// Bytes that a turn adds to the deficit of a flow: one largest packet, so that every turn sends a
/// packet.
const QUANTUM: i64 = 1522;
/// How long a reserved rate that could not be served remains due.
const MAX_OVERDUE: Duration = Duration::from_millis(100);

/// The scheduling state of a flow.
#[derive(Debug, Clone, Copy)]
struct Share {
    priority: u8,
    /// Minimum reserved rate. Zero reserves nothing.
    reserved: Rate,
    is_ready: bool,
    /// The flow is in the list of its priority.
    is_listed: bool,
    /// The time of its valid entry in the list of due times. Its entries with another time are
    /// stale.
    timed: Option<Instant>,
    /// The time from which on its reserved rate entitles the flow to its next packet.
    due: Instant,
    /// Bytes that it may send in its turn. Negative after a packet that was larger than that.
    deficit: i64,
}

/// A turn to send one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The flow.
    pub flow: usize,
    /// Whether the turn is due to the reserved rate. Otherwise it is the flow's turn in the round
    /// robin.
    pub is_reserved: bool,
}

/// The scheduler.
#[derive(Debug)]
pub struct DownstreamScheduler {
    shares: Vec<Share>,
    /// By priority: flows in the order of their turns. A flow that is not ready any more is removed
    /// when its turn comes.
    lists: [VecDeque<u32>; PRIORITIES],
    /// Bit p is set if list p is not empty.
    occupied: u8,
    /// Due times of flows with a reserved rate. An entry earlier than the due time of its flow is
    /// inserted again with that time. An entry later than it is stale.
    due: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Number of ready flows.
    ready: usize,
}

impl DownstreamScheduler {
    /// A scheduler for flows with these priorities and minimum reserved rates.
    pub fn new(flows: impl Iterator<Item = (u8, Rate)>) -> Self {
        let share = |(priority, reserved): (u8, Rate)| Share {
            priority,
            reserved,
            is_ready: false,
            is_listed: false,
            timed: None,
            due: Instant::ZERO,
            deficit: 0,
        };
        let shares: Vec<Share> = flows.map(share).collect();
        let of = |wanted: usize| {
            let is = |share: &&Share| usize::from(share.priority) == wanted;
            VecDeque::with_capacity(shares.iter().filter(is).count())
        };
        let reserved = shares.iter().filter(|share| share.reserved.0 > 0).count();
        Self {
            lists: std::array::from_fn(of),
            occupied: 0,
            due: BinaryHeap::with_capacity(reserved),
            ready: 0,
            shares,
        }
    }

    /// Whether no flow is ready.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ready == 0
    }

    /// The turn of `flow`, if no other flow is ready or listed. The flow need not be
    /// [`Self::ready`] for it. The turn ends with [`Self::sent_alone`] or [`Self::passed_alone`].
    #[inline]
    pub fn alone(&mut self, flow: usize) -> Option<Turn> {
        let share = &mut self.shares[flow];
        let is_alone = self.ready == 0 && self.occupied == 0 && self.due.is_empty();
        if !is_alone || share.reserved.0 > 0 {
            return None;
        }
        if share.deficit <= 0 {
            share.deficit += QUANTUM;
        }
        Some(Turn {
            flow,
            is_reserved: false,
        })
    }

    /// A flow without competitors sent a packet of `bytes` and has no other packet.
    #[inline]
    pub fn sent_alone(&mut self, flow: usize, bytes: u64) {
        let share = &mut self.shares[flow];
        share.deficit = (share.deficit - bytes as i64).min(0);
    }

    /// A flow without competitors had no packet to send after all.
    #[inline]
    pub fn passed_alone(&mut self, flow: usize) {
        let share = &mut self.shares[flow];
        share.deficit = share.deficit.min(0);
    }

    /// `flow` has a packet that may be sent.
    pub fn ready(&mut self, flow: usize, now: Instant) {
        let share = &mut self.shares[flow];
        if share.is_ready {
            return;
        }
        share.is_ready = true;
        self.ready += 1;
        // A reserved rate only holds while the flow has packets. Time without packets is not made
        // up for.
        share.due = share.due.max(now);
        self.enlist(flow, false);
        self.time(flow);
    }

    /// `flow` has no packet that may be sent.
    pub fn withdraw(&mut self, flow: usize) {
        let share = &mut self.shares[flow];
        if share.is_ready {
            share.is_ready = false;
            // The unused part of its turn is lost.
            share.deficit = share.deficit.min(0);
            self.ready -= 1;
        }
    }

    /// The next turn. It ends with [`Self::sent`] or [`Self::withdraw`].
    pub fn next(&mut self, now: Instant) -> Option<Turn> {
        if self.ready == 0 {
            return None;
        }
        if let Some(flow) = self.overdue(now) {
            return Some(Turn {
                flow,
                is_reserved: true,
            });
        }
        while self.occupied != 0 {
            let priority = self.occupied.ilog2() as usize;
            let list = &mut self.lists[priority];
            let flow = list.pop_front().expect("its bit is set") as usize;
            if list.is_empty() {
                self.occupied &= !(1 << priority);
            }
            let share = &mut self.shares[flow];
            share.is_listed = false;
            if share.is_ready {
                if share.deficit <= 0 {
                    share.deficit += QUANTUM;
                }
                return Some(Turn {
                    flow,
                    is_reserved: false,
                });
            }
        }
        unreachable!("a ready flow stands in a list")
    }

    /// The turn has sent a packet of `bytes`. `more` says whether its flow has another one.
    pub fn sent(&mut self, turn: Turn, bytes: u64, more: bool, now: Instant) {
        let share = &mut self.shares[turn.flow];
        if share.reserved.0 > 0 {
            let cost = share.reserved.time_for(bytes);
            // Bytes beyond the reserved rate do not count against the flow later. Missing bytes
            // remain due, for a limited time.
            let oldest = Instant::from_nanos(now.as_nanos().saturating_sub(MAX_OVERDUE.as_nanos()));
            share.due = (share.due + cost).min(now + cost).max(oldest);
        }
        if !turn.is_reserved {
            share.deficit -= bytes as i64;
        }
        if !more {
            self.withdraw(turn.flow);
            return;
        }
        let goes_on = share.deficit > 0;
        self.time(turn.flow);
        if !turn.is_reserved {
            self.enlist(turn.flow, goes_on);
        }
    }

    /// Sets the priority and reserved rate of `flow` from now on.
    pub fn change(&mut self, flow: usize, priority: u8, reserved: Rate, now: Instant) {
        let old = usize::from(self.shares[flow].priority);
        self.lists[old].retain(|&other| other as usize != flow);
        if self.lists[old].is_empty() {
            self.occupied &= !(1 << old);
        }
        let share = &mut self.shares[flow];
        share.is_listed = false;
        share.priority = priority;
        // A different reserved rate starts now.
        let is_new = std::mem::replace(&mut share.reserved, reserved) != reserved;
        share.due = if is_new { now } else { share.due.max(now) };
        if share.is_ready {
            self.enlist(flow, false);
            self.time(flow);
        }
    }

    /// The flow whose due time is longest past, if there is one.
    fn overdue(&mut self, now: Instant) -> Option<usize> {
        while let Some(&Reverse((due, flow))) = self.due.peek() {
            if due > now {
                return None;
            }
            self.due.pop();
            let flow = flow as usize;
            let share = &mut self.shares[flow];
            if share.timed != Some(due) {
                continue;
            }
            share.timed = None;
            if !share.is_ready || share.reserved.0 == 0 {
                continue;
            }
            if share.due <= now {
                return Some(flow);
            }
            self.time(flow);
        }
        None
    }

    fn enlist(&mut self, flow: usize, first: bool) {
        let share = &mut self.shares[flow];
        if share.is_listed {
            return;
        }
        share.is_listed = true;
        let list = &mut self.lists[usize::from(share.priority)];
        if first {
            list.push_front(flow as u32);
        } else {
            list.push_back(flow as u32);
        }
        self.occupied |= 1 << share.priority;
    }

    fn time(&mut self, flow: usize) {
        let share = &mut self.shares[flow];
        let is_later = share.timed.is_none_or(|timed| share.due < timed);
        if share.reserved.0 > 0 && is_later {
            share.timed = Some(share.due);
            self.due.push(Reverse((share.due, flow as u32)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A channel of 8 Mb/s, one byte per microsecond, that always sends.
    struct Channel {
        scheduler: DownstreamScheduler,
        now: Instant,
        sent: Vec<u64>,
    }

    impl Channel {
        fn new(flows: &[(u8, u64)]) -> Self {
            let shares = flows
                .iter()
                .map(|&(priority, reserved)| (priority, Rate(reserved)));
            Self {
                scheduler: DownstreamScheduler::new(shares),
                now: Instant::ZERO,
                sent: vec![0; flows.len()],
            }
        }

        /// Runs for `span`. Each flow always has packets of its size, or none if the size is zero.
        fn run(&mut self, sizes: &[u64], span: Duration) {
            for (flow, &size) in sizes.iter().enumerate() {
                if size > 0 {
                    self.scheduler.ready(flow, self.now);
                } else {
                    self.scheduler.withdraw(flow);
                }
            }
            let end = self.now + span;
            while self.now < end {
                let turn = self.scheduler.next(self.now).expect("endless packets");
                let bytes = sizes[turn.flow];
                self.scheduler.sent(turn, bytes, true, self.now);
                self.sent[turn.flow] += bytes;
                self.now += Duration::from_micros(bytes);
            }
        }
    }

    const SECOND: Duration = Duration::from_secs(1);
    const MBIT: u64 = 1_000_000;

    #[test]
    fn equals_get_equal_bytes_whatever_the_size_of_their_packets() {
        let mut channel = Channel::new(&[(0, 0), (0, 0), (0, 0)]);
        channel.run(&[64, 1518, 700], SECOND);
        for sent in &channel.sent {
            assert!(sent.abs_diff(333_333) <= 2 * QUANTUM as u64, "{sent}");
        }
    }

    #[test]
    fn a_higher_priority_takes_all_and_a_lower_one_what_is_left() {
        let mut channel = Channel::new(&[(0, 0), (5, 0)]);
        channel.run(&[1000, 1000], SECOND);
        assert_eq!(channel.sent[0], 0);
        channel.run(&[1000, 0], SECOND);
        assert_eq!(channel.sent, [1_000_000, 1_000_000]);
    }

    #[test]
    fn a_reserved_rate_is_kept_against_a_higher_priority() {
        let mut channel = Channel::new(&[(0, MBIT), (0, 2 * MBIT), (7, 0)]);
        channel.run(&[1500, 300, 1500], SECOND);
        // One byte per microsecond: 125 and 250 kB of the megabyte.
        assert!(
            channel.sent[0].abs_diff(125_000) <= 3000,
            "{:?}",
            channel.sent
        );
        assert!(
            channel.sent[1].abs_diff(250_000) <= 3000,
            "{:?}",
            channel.sent
        );
    }

    #[test]
    fn a_reserved_rate_is_a_floor_and_no_ceiling() {
        let mut channel = Channel::new(&[(3, MBIT), (3, 0)]);
        channel.run(&[1000, 1000], SECOND);
        // Its turns alone give the flow more than its reserved rate. Beyond that, both flows are
        // equal.
        assert!(channel.sent[0] >= 500_000, "{:?}", channel.sent);
        assert!(channel.sent[0] <= 570_000, "{:?}", channel.sent);
    }

    #[test]
    fn what_a_flow_had_beyond_its_reserved_rate_does_not_count_against_it_later() {
        let mut channel = Channel::new(&[(0, MBIT), (7, 0)]);
        channel.run(&[1000, 0], SECOND);
        let before = channel.sent[0];
        channel.run(&[1000, 1000], SECOND);
        let reserved = channel.sent[0] - before;
        assert!(reserved.abs_diff(125_000) <= 2000, "{reserved}");
    }

    #[test]
    fn time_without_packets_is_not_made_up_for() {
        let mut channel = Channel::new(&[(0, MBIT), (7, 0)]);
        channel.run(&[0, 1000], SECOND);
        channel.run(&[1000, 1000], SECOND / 10);
        assert!(channel.sent[0] <= 12_500 + 2000, "{:?}", channel.sent);
    }

    #[test]
    fn reserved_rates_beyond_the_channel_share_its_lack() {
        let mut channel = Channel::new(&[(0, 8 * MBIT), (0, 8 * MBIT), (7, 0)]);
        channel.run(&[1000, 1000, 1000], SECOND);
        assert_eq!(channel.sent[2], 0);
        assert!(channel.sent[0].abs_diff(channel.sent[1]) <= 2000);
    }

    #[test]
    fn a_change_of_priority_counts_from_the_next_turn() {
        let mut channel = Channel::new(&[(0, 0), (5, 0)]);
        channel.run(&[1000, 1000], SECOND);
        channel.scheduler.change(0, 6, Rate(0), channel.now);
        channel.run(&[1000, 1000], SECOND);
        assert_eq!(channel.sent, [1_000_000, 1_000_000]);
        channel.scheduler.change(1, 0, Rate(MBIT), channel.now);
        channel.run(&[1000, 1000], SECOND);
        assert!(
            channel.sent[1].abs_diff(1_125_000) <= 2000,
            "{:?}",
            channel.sent
        );
    }

    #[test]
    fn a_reserved_rate_that_is_raised_is_due_at_once() {
        // At a kilobit per second, the next packet of 1000 B is due in eight seconds.
        let mut channel = Channel::new(&[(0, 1_000), (7, 0)]);
        channel.run(&[1000, 1000], SECOND / 10);
        channel.scheduler.change(0, 0, Rate(MBIT), channel.now);
        let before = channel.sent[0];
        channel.run(&[1000, 1000], SECOND);
        let reserved = channel.sent[0] - before;
        assert!(reserved.abs_diff(125_000) <= 2000, "{reserved}");
    }

    #[test]
    fn a_small_packet_makes_the_next_due_sooner_than_the_large_one_before_it() {
        let mut channel = Channel::new(&[(0, MBIT / 10), (7, 0)]);
        // 1500 B at 100 kb/s take 120 ms. Then 100 B beyond the reserved rate take 8 ms.
        channel.run(&[1500, 0], Duration::from_micros(1500));
        channel.run(&[100, 0], Duration::from_micros(100));
        let before = channel.sent[0];
        channel.run(&[100, 1000], Duration::from_millis(100));
        let reserved = channel.sent[0] - before;
        assert!(reserved.abs_diff(1250) <= 200, "{reserved}");
    }

    proptest! {
        /// A turn without competitors leaves the same state as a turn among other flows.
        #[test]
        fn a_turn_alone_changes_nothing_for_later_turns(
            flows in prop::collection::vec((0_u8..3, prop::bool::ANY), 1..5),
            steps in prop::collection::vec((0_usize..5, 0_u8..5, 64_u64..3000), 1..200),
        ) {
            let shares = || flows.iter().map(|&(priority, reserved)| {
                (priority, Rate(if reserved { MBIT } else { 0 }))
            });
            let mut short = DownstreamScheduler::new(shares());
            let mut long = DownstreamScheduler::new(shares());
            let mut now = Instant::ZERO;
            for (flow, what, bytes) in steps {
                let flow = flow % flows.len();
                now += Duration::from_micros(bytes);
                match what {
                    0 => {
                        short.ready(flow, now);
                        long.ready(flow, now);
                    }
                    1 | 2 => {
                        let turn = short.next(now);
                        prop_assert_eq!(turn, long.next(now));
                        if let Some(turn) = turn {
                            short.sent(turn, bytes, what == 2, now);
                            long.sent(turn, bytes, what == 2, now);
                        }
                    }
                    _ => if let Some(turn) = short.alone(flow) {
                        long.ready(flow, now);
                        prop_assert_eq!(long.next(now), Some(turn));
                        if what == 3 {
                            short.sent_alone(flow, bytes);
                            long.sent(turn, bytes, false, now);
                        } else {
                            short.passed_alone(flow);
                            long.withdraw(flow);
                        }
                    },
                }
                for (one, other) in short.shares.iter().zip(&long.shares) {
                    prop_assert_eq!((one.deficit, one.is_ready), (other.deficit, other.is_ready));
                }
            }
        }

        /// Every ready flow is served, and no other flow. No flow is lost, whatever the order of
        /// calls.
        #[test]
        fn only_ready_flows_are_served_and_all_of_them(
            flows in prop::collection::vec((0_u8..8, prop::bool::ANY), 1..12),
            steps in prop::collection::vec((0_usize..12, 0_u8..4, 64_u64..1522), 1..300),
        ) {
            let shares = flows.iter().map(|&(priority, reserved)| {
                (priority, Rate(if reserved { MBIT } else { 0 }))
            });
            let mut scheduler = DownstreamScheduler::new(shares);
            let mut model = vec![false; flows.len()];
            let mut now = Instant::ZERO;
            for (flow, what, bytes) in steps {
                let flow = flow % flows.len();
                now += Duration::from_micros(bytes);
                match what {
                    0 => {
                        scheduler.ready(flow, now);
                        model[flow] = true;
                    }
                    1 => {
                        scheduler.withdraw(flow);
                        model[flow] = false;
                    }
                    _ => match scheduler.next(now) {
                        None => prop_assert!(model.iter().all(|ready| !ready)),
                        Some(turn) => {
                            prop_assert!(model[turn.flow]);
                            let more = what == 2;
                            scheduler.sent(turn, bytes, more, now);
                            model[turn.flow] = more;
                        }
                    },
                }
                prop_assert_eq!(scheduler.is_empty(), model.iter().all(|ready| !ready));
            }
            for _ in 0..model.iter().filter(|ready| **ready).count() {
                let turn = scheduler.next(now).expect("they are ready");
                scheduler.sent(turn, 100, false, now);
                prop_assert!(std::mem::take(&mut model[turn.flow]));
            }
            prop_assert!(scheduler.is_empty());
        }
    }
}
