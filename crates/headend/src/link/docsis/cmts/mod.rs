//! The upstream scheduler of the CMTS: it takes requests and reserved services, and makes grants,
//! one MAP at a time. To replace the scheduler, replace this file.
//!
//! Each MAP is filled in this order:
//!
//! 1. Unsolicited and proactive grants, the earliest deadline first, each within its jitter, and
//!    minislots for polls.
//! 2. For each flow, the bytes that its minimum reserved rate has accumulated.
//! 3. The other requests, in order of traffic priority, the highest first. Flows of equal priority
//!    share max-min fairly. If there is less than a full packet for each of them, the flows served
//!    longest ago come first.
//!
//! Priority is strict. A request that must not be cut gets nothing while earlier requests leave too
//! few minislots in every MAP.
//!
//! An [aggregate](super::low_latency::Aggregate) counts as one of these flows. Its part is divided
//! between its two flows by its weight ([`aggregate`]), and its limits hold for both together.
//! Proactive grants of the low-latency flow count in its part.
//!
//! A request is considered once the acknowledgement time of the MAP has reached it. A MAP grants
//! the part of a flow's outstanding requests that the flow's rate limits allow ([`shaper`]). The
//! rest stays outstanding.
//!
//! Grants are whole minislots. A grant is cut into segments if the flow allows it, and each segment
//! costs the segment overhead.
//!
//! The budget of a MAP is the minislots that the
//! [capacity](super::setup::UpstreamSetup::capacity) and the neighbours leave. Unsolicited grants
//! keep their times even if the budget is too small. The minislots that they take beyond the budget
//! are deducted from later budgets.

pub mod aggregate;
pub mod shaper;

use std::collections::VecDeque;

use super::grant::Grant;
use super::low_latency::{self, Pair};
use super::map_occupancy::MapOccupancy;
use super::periodic::{Due, Periodic, PeriodicKind, Unmade};
use super::qos::{Qos, Scheduling, with_headers};
use super::timing::UpstreamTiming;
use crate::link::RateSchedule;
use crate::link::token_bucket::Limits;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

use aggregate::Aggregate;
use shaper::Shaper;

/// Where the grants of a MAP begin.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// At the start of the interval.
    First,
    /// At a random position where the grants fit, drawn for each MAP, because the grants of other
    /// modems come in no fixed order.
    #[default]
    Random,
}

/// How a request may be cut into grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// At any byte: continuous fragmentation.
    Anywhere,
    /// Into fragments, each with an overhead of this number of bytes.
    Fragments(u64),
    /// Not at all: the request is granted whole.
    Never,
}

/// Grants of MAPs that were not made, because no modem would have used these grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// Index of the service flow.
    pub flow: usize,
    /// Number of grants.
    pub grants: u64,
    /// Minislots of each grant.
    pub minislots: u64,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    flow: usize,
    at: Instant,
    bytes: u64,
}

/// A minimum reserved rate, as a token bucket. It fills whether the flow has a backlog or not.
#[derive(Debug, Clone, Copy)]
struct Reservation {
    rate: Rate,
    /// Accumulated bits × 10⁹, and the time up to which they are counted.
    saved: u64,
    counted: Instant,
}

#[derive(Debug)]
struct FlowState {
    priority: u8,
    cut: Cut,
    /// Index of its aggregate, if it is part of one.
    aggregate: Option<u32>,
    /// Index of its reservation.
    reservation: Option<u32>,
    /// Index of its periodic grants, and index of its polls.
    periodic: [Option<u32>; 2],
    shaper: Shaper,
    /// Bytes requested and not granted yet.
    backlog: u64,
    /// Bytes of the backlog that the rate limits of the flow allow in the current MAP.
    allowed: u64,
    /// A part of the request has been granted.
    is_fragmented: bool,
    /// Minislots that the flow gets for its requests in the current MAP.
    share: u64,
}

/// Size of a full packet without MAC header, in bytes. A grant should hold at least one.
const FULL_PACKET: u64 = 1518;
/// Bits × 10⁹ in a byte.
const BYTE: u64 = 8_000_000_000;

/// The fraction of the golden ratio, times 2⁶⁴. Its multiples are spread evenly over an interval,
/// whatever their number.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The upstream scheduler.
#[derive(Debug)]
pub struct Cmts {
    requests: VecDeque<Request>,
    flows: Vec<FlowState>,
    /// Flows with a backlog, by priority. The flow served longest ago comes first.
    waiting: [VecDeque<usize>; 8],
    /// By flow: whether it is in `waiting`. Separate from the other state, because every MAP checks
    /// it for all flows in `waiting`.
    is_waiting: Vec<bool>,
    reservations: Vec<Reservation>,
    aggregates: Vec<Aggregate>,
    periodic: Vec<Periodic>,
    /// Number of flows that have had periodic grants or polls so far. It gives each such flow a
    /// different phase.
    places: u64,
    occupancy: MapOccupancy,
    placement: Placement,
    capacity: Option<Capacity>,
    /// Bits × 10⁹ of capacity carried over to the next MAP: the remainder of rounding to minislots,
    /// and what is saved for a request that must be granted whole. Negative if unsolicited grants
    /// took more than the budget.
    carried: i128,
    /// The MAP after the latest one.
    next: u64,
    /// A MAP, and the minislots at its start that a grant of the MAP before it occupies. Such a
    /// grant could not be cut and extends into the next MAP.
    overhang: (u64, u64),
    /// The budget of the current MAP covers all of its free minislots.
    is_unlimited: bool,
    /// Largest number of minislots that the current MAP could give to requests.
    most: u64,
    /// The first flow in `waiting` whose request must not be cut and does not fit into the current
    /// MAP beside the periodic grants.
    passed_over: Option<usize>,
    rng: Rng,
    due: Vec<Due>,
    missed: Vec<Missed>,
    /// Flows whose unsolicited grant did not fit into the latest MAP.
    unplaced: Vec<usize>,
    /// Flows with a share in the current MAP, in the order of their grants.
    served: Vec<usize>,
    unsatisfied: Vec<(u64, usize)>,
    /// Sum over all MAPs so far.
    total: Tally,
    /// The latest MAPs, each with its tally.
    latest: VecDeque<(Span, Tally)>,
}

/// The capacity of an upstream channel, if it is less than the channel carries.
#[derive(Debug, Clone)]
pub struct Capacity {
    /// Rate over time.
    pub schedule: RateSchedule,
    /// The capacity of each MAP is multiplied by a random factor, uniform between 1 − `variation`
    /// and 1 + `variation`.
    pub variation: f64,
    /// Random stream of these factors, with one draw for each MAP.
    pub rng: Rng,
    /// Difference, in bits, between the capacity of all MAPs so far and the schedule. The random
    /// factors cause it.
    pub drawn: f64,
}

impl Capacity {
    /// A capacity over time, without variation.
    pub fn new(schedule: RateSchedule) -> Self {
        Self {
            schedule,
            variation: 0.0,
            rng: Rng::for_path(0, "capacity"),
            drawn: 0.0,
        }
    }

    /// Makes the capacity vary from MAP to MAP.
    #[must_use]
    pub fn varied(mut self, variation: f64, rng: Rng) -> Self {
        self.variation = variation;
        self.rng = rng;
        self
    }

    /// Capacity until `at`, in bits. A rate above `most` counts as `most`.
    pub fn bits_until(&self, at: Instant, most: Rate) -> f64 {
        self.schedule.bits_until(at, most) + self.drawn
    }

    /// Capacity of a MAP, in bits × 10⁹. `skipped` intervals before it had no MAP.
    fn of_map(&mut self, skipped: u64, map: Span, timing: &UpstreamTiming) -> i128 {
        let [start, end] = map.times(timing);
        let bits = match &self.schedule {
            RateSchedule::Constant(rate) => {
                i128::from(rate.0) * i128::from(end.since(start).as_nanos())
            }
            varying => {
                let [start, end] = [start, end].map(|at| varying.bits_until(at, Rate(u64::MAX)));
                ((end - start) * 1e9) as i128
            }
        };
        if self.variation == 0.0 {
            return bits;
        }
        // One draw for each interval, whether its MAP is made or not. Otherwise the requests of
        // other flows would change the random capacity.
        let mut factor = 1.0;
        for _ in 0..skipped + map.length {
            factor = 1.0 + self.variation * (2.0 * self.rng.uniform() - 1.0);
            self.drawn += bits as f64 / 1e9 / map.length as f64 * (factor - 1.0);
        }
        (bits as f64 * factor) as i128
    }
}

/// A MAP: its first interval and its number of intervals. The number is 1 if all MAPs have the same
/// length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    first: u64,
    length: u64,
}

impl Span {
    fn end(self) -> u64 {
        self.first + self.length
    }

    fn times(self, timing: &UpstreamTiming) -> [Instant; 2] {
        [self.first, self.end()].map(|map| timing.allocation_start(map))
    }
}

/// Counts of MAPs, in intervals.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// Minislots granted, with and without a request.
    given: u64,
    /// MAPs that could grant less than was requested.
    full: u64,
    /// MAPs with a grant.
    granted: u64,
}

/// What the MAPs up to a time have granted. MAPs are made in advance. Of a MAP whose interval is
/// not over, only the part before that time counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Minislots of grants and polls, including grants of MAPs that were not made.
    pub given: f64,
    /// MAP intervals that could grant less than was requested.
    pub full: f64,
    /// MAP intervals with a grant.
    pub granted: f64,
}

/// A MAP is made at most this number of intervals before its own interval begins.
const MOST_AHEAD: usize = 64;

impl Cmts {
    /// A scheduler without service flows.
    pub fn new(placement: Placement, capacity: Option<Capacity>, rng: Rng) -> Self {
        Self {
            requests: VecDeque::with_capacity(16),
            flows: Vec::new(),
            waiting: Default::default(),
            is_waiting: Vec::new(),
            reservations: Vec::new(),
            aggregates: Vec::new(),
            periodic: Vec::new(),
            places: 0,
            occupancy: MapOccupancy::default(),
            placement,
            capacity,
            carried: 0,
            next: 0,
            overhang: (0, 0),
            is_unlimited: false,
            most: 0,
            passed_over: None,
            rng,
            due: Vec::new(),
            missed: Vec::new(),
            unplaced: Vec::new(),
            served: Vec::new(),
            unsatisfied: Vec::new(),
            total: Tally::default(),
            latest: VecDeque::with_capacity(MOST_AHEAD),
        }
    }

    /// Adds a service flow, with the next index. Its periodic grants or polls begin within one
    /// interval after `from`.
    pub fn add_flow(
        &mut self,
        qos: &Qos,
        (cut, shaper): (Cut, Shaper),
        from: Instant,
        timing: &UpstreamTiming,
    ) {
        let flow = self.flows.len();
        self.flows.push(FlowState {
            priority: qos.priority.min(7),
            cut,
            aggregate: None,
            reservation: None,
            periodic: [None; 2],
            shaper,
            backlog: 0,
            allowed: 0,
            is_fragmented: false,
            share: 0,
        });
        self.is_waiting.push(false);
        self.reserve(flow, qos.minimum_reserved, Instant::ZERO, timing);
        for periodic in regular((flow, self.places), qos, from, timing) {
            self.begin_periodic(flow, periodic);
        }
    }

    /// Makes two of the flows an aggregate. Tokens of its limits are added every `token_interval`.
    pub fn add_aggregate(&mut self, setup: &low_latency::Aggregate, token_interval: Duration) {
        let place = self.aggregates.len() as u32;
        for flow in [setup.classic, setup.low] {
            self.flows[flow].aggregate = Some(place);
        }
        self.aggregates.push(Aggregate::new(setup, token_interval));
    }

    /// Sets the limits of an aggregate from now on.
    pub fn set_aggregate_limits(&mut self, aggregate: usize, limits: Limits) {
        self.aggregates[aggregate].shaper.change(limits);
    }

    /// Stores a request that the modem sends at `at`. It reaches the CMTS after the delay of the
    /// pipelines.
    pub fn request(&mut self, flow: usize, at: Instant, bytes: u64) {
        self.requests.push_back(Request { flow, at, bytes });
    }

    /// Sets the traffic priority of the flow from now on.
    pub fn set_priority(&mut self, flow: usize, priority: u8) {
        let state = &mut self.flows[flow];
        let earlier = usize::from(std::mem::replace(&mut state.priority, priority.min(7)));
        if self.is_waiting[flow] && earlier != usize::from(state.priority) {
            self.waiting[earlier].retain(|&other| other != flow);
            self.waiting[usize::from(state.priority)].push_back(flow);
        }
    }

    /// Sets the quality of service of the flow from `now` on. `map` is the first MAP that can
    /// follow it.
    ///
    /// Outstanding requests stay outstanding. A reserved rate that changes starts with an empty
    /// bucket. Periodic grants or polls that change start again.
    pub fn change(
        &mut self,
        flow: usize,
        qos: &Qos,
        (now, map): (Instant, u64),
        timing: &UpstreamTiming,
    ) {
        self.set_priority(flow, qos.priority);
        self.reserve(flow, qos.minimum_reserved, now, timing);
        let wanted = regular((flow, self.places), qos, now, timing);
        for (kind, wanted) in wanted.into_iter().enumerate() {
            let current =
                self.flows[flow].periodic[kind].map(|place| &self.periodic[place as usize]);
            let is_same = match (current, &wanted) {
                (None, None) => true,
                (Some(current), Some(wanted)) => current.is_like(wanted),
                _ => false,
            };
            if !is_same {
                self.end_periodic((flow, kind), map, timing);
                self.begin_periodic(flow, wanted);
            }
        }
    }

    /// Deletes the flow. Its requests are discarded, and MAPs from `map` on grant nothing to it.
    pub fn delete(&mut self, flow: usize, map: u64, timing: &UpstreamTiming) {
        for kind in [GRANTS, POLLS] {
            self.end_periodic((flow, kind), map, timing);
        }
        self.requests.retain(|request| request.flow != flow);
        for line in &mut self.waiting {
            line.retain(|&other| other != flow);
        }
        self.is_waiting[flow] = false;
        let state = &mut self.flows[flow];
        state.backlog = 0;
        state.allowed = 0;
        state.is_fragmented = false;
        self.passed_over = self.passed_over.filter(|&other| other != flow);
    }

    /// Reserves a rate for the flow from `now` on, unless the flow has the same reservation
    /// already.
    fn reserve(&mut self, flow: usize, rate: Rate, now: Instant, timing: &UpstreamTiming) {
        let rate = with_headers(rate, timing.mac_header);
        match self.flows[flow].reservation {
            Some(place) => {
                let reservation = &mut self.reservations[place as usize];
                if reservation.rate != rate {
                    *reservation = Reservation::new(rate, now);
                }
            }
            None if rate.0 > 0 => {
                self.reservations.push(Reservation::new(rate, now));
                self.flows[flow].reservation = Some(self.reservations.len() as u32 - 1);
            }
            None => {}
        }
    }

    /// Starts periodic grants or polls for the flow, if there are any.
    fn begin_periodic(&mut self, flow: usize, periodic: Option<Periodic>) {
        if let Some(periodic) = periodic {
            self.places += 1;
            let place = self.periodic.len() as u32;
            self.flows[flow].periodic[kind(&periodic)] = Some(place);
            self.periodic.push(periodic);
        }
    }

    /// Ends the periodic grants or polls of the flow from `map` on. Grants of earlier MAPs that
    /// were not made are counted as missed.
    fn end_periodic(&mut self, (flow, of_kind): (usize, usize), map: u64, timing: &UpstreamTiming) {
        let Some(place) = self.flows[flow].periodic[of_kind].take() else {
            return;
        };
        let mut ended = self.periodic.swap_remove(place as usize);
        if let Some(moved) = self.periodic.get(place as usize) {
            self.flows[moved.flow].periodic[kind(moved)] = Some(place);
        }
        let grants = ended.take_due(map, timing, &mut Vec::new());
        if let PeriodicKind::Grant { minislots } = ended.kind
            && grants > 0
        {
            self.missed.push(Missed {
                flow,
                grants,
                minislots,
            });
        }
    }

    /// Sets the rate limits of the flow from now on.
    pub fn set_limits(&mut self, flow: usize, limits: Limits) {
        self.flows[flow].shaper.change(limits);
    }

    /// Corrects the tokens of a flow after a burst. The burst carried `pdu` bytes that count for
    /// the rate limits, in grants of `credit` requested bytes (zero for unsolicited grants). It was
    /// filled at `now`.
    pub fn settle(&mut self, flow: usize, credit: u64, pdu: u64, now: Instant) {
        let state = &mut self.flows[flow];
        if let Some(place) = state.periodic[GRANTS]
            && pdu > 0
        {
            note_activity(&mut self.periodic[place as usize], now, &mut self.missed);
        }
        state.shaper.settle(credit, pdu);
        if let Some(place) = state.aggregate {
            self.aggregates[place as usize].shaper.settle(credit, pdu);
        }
    }

    /// Time of the earliest request not considered yet.
    pub fn next_request(&self) -> Option<Instant> {
        self.requests.iter().map(|request| request.at).min()
    }

    /// Whether a considered request is not fully granted.
    pub fn has_backlog(&self) -> bool {
        self.waiting.iter().any(|line| !line.is_empty())
    }

    /// Flows with requested bytes that no MAP has granted yet.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().flatten().copied()
    }

    /// Requested bytes of the flow that the latest MAP acknowledges but does not grant.
    pub fn pending(&self, flow: usize) -> u64 {
        self.flows[flow].backlog
    }

    /// Minislots that the latest MAP grants to the requests of the flow.
    pub fn share_of(&self, flow: usize) -> u64 {
        self.flows[flow].share
    }

    /// The first MAP from `from` on with an unsolicited grant for the flow; `None` if it has no
    /// such grants, or counts as inactive by then.
    pub fn next_unsolicited(&self, flow: usize, from: u64, timing: &UpstreamTiming) -> Option<u64> {
        let place = self.flows[flow].periodic[GRANTS]?;
        self.periodic[place as usize].next_map(from, timing)
    }

    /// Time of the flow's next poll at or after `at`.
    pub fn next_poll(&self, flow: usize, at: Instant, timing: &UpstreamTiming) -> Option<Instant> {
        let place = self.flows[flow].periodic[POLLS]?;
        Some(self.periodic[place as usize].next_poll(at, timing))
    }

    /// The grants without a request of a flow whose nominal time is before `now`, in MAPs that are
    /// not made.
    pub fn unmade(&self, flow: usize, now: Instant) -> Unmade {
        let place = self.flows[flow].periodic[GRANTS];
        place.map_or(Unmade::default(), |place| {
            self.periodic[place as usize].unmade(now)
        })
    }

    /// Bits that unsolicited grants have taken beyond the capacity, to be given back by later MAPs.
    pub fn overdrawn(&self) -> f64 {
        (-self.carried).max(0) as f64 / 1e9
    }

    /// The rate limits of an aggregate.
    pub fn aggregate_shaper(&self, aggregate: usize) -> &Shaper {
        &self.aggregates[aggregate].shaper
    }

    /// The capacity over time, if it is less than the channel carries.
    pub fn capacity(&self) -> Option<&Capacity> {
        self.capacity.as_ref()
    }

    /// What the MAPs have granted up to `now`.
    pub fn used_until(&self, now: Instant, timing: &UpstreamTiming) -> Used {
        let Tally {
            given,
            full,
            granted,
        } = self.total;
        let mut used = Used {
            given: given as f64,
            full: full as f64,
            granted: granted as f64,
        };
        for &(map, tally) in self.latest.iter().rev() {
            let [start, end] = map.times(timing);
            let over = now.since(start).as_nanos() as f64;
            let ahead = 1.0 - over / end.since(start).as_nanos() as f64;
            if ahead <= 0.0 {
                break;
            }
            used.given -= ahead * tally.given as f64;
            used.full -= ahead * tally.full as f64;
            used.granted -= ahead * tally.granted as f64;
        }
        used
    }

    /// Grants of MAPs that were not made, since the last call.
    pub fn take_missed(&mut self) -> impl Iterator<Item = Missed> {
        self.missed.drain(..)
    }

    /// Flows whose unsolicited grant did not fit into the latest MAP.
    pub fn unplaced(&self) -> &[usize] {
        &self.unplaced
    }

    /// Makes the MAP that begins with interval `map`. Appends its grants to `grants` and returns
    /// the first interval after it. Neighbours take `taken` minislots of each interval. MAPs must
    /// be made in order.
    pub fn schedule(
        &mut self,
        map: u64,
        taken: u64,
        timing: &UpstreamTiming,
        grants: &mut Vec<Grant>,
    ) -> u64 {
        let granted_before = grants.len();
        self.consider(map, timing);
        let map = self.measure(map, timing);
        let skipped = map.first - std::mem::replace(&mut self.next, map.end());
        let overhang = match self.overhang {
            (of, minislots) if of == map.first => minislots,
            _ => 0,
        };
        self.occupancy.clear(timing, map.length, overhang);
        let most = self.occupancy.free();
        let taken = taken * map.length;
        let free = most.saturating_sub(taken);
        let per_minislot = i128::from(timing.minislot_bytes) * i128::from(BYTE);
        let offered = self.offered((skipped, map), [free, taken], timing);
        if self.carried < 0 {
            // The intervals of MAPs that were not made had capacity too. It reduces the deficit.
            self.carried = (self.carried + offered * i128::from(skipped)).min(0);
        }
        self.carried += offered;
        let overdraft = (self.carried / per_minislot) as i64 + most as i64;
        let overdraft = overdraft.max(0) as u64;
        // Polls also have fixed times. They are so short that a deficit because of them is ignored.
        let regular = (self.place_periodic(map, overdraft, timing, grants)).min(overdraft);
        self.count_missed(skipped, (offered / per_minislot) as u64);
        self.carried -= i128::from(regular) * per_minislot;
        // Only the remainder of rounding is carried over. Unused capacity is lost.
        let available = (self.carried / per_minislot).max(0);
        self.carried -= available * per_minislot;
        let budget = (available as u64).min(most).min(self.occupancy.free());
        self.is_unlimited = budget == self.occupancy.free();
        self.most = most.saturating_sub(regular).min(self.occupancy.free());
        let before = grants.len();
        let left = self.share(map, budget, timing);
        self.place(map, budget, timing, grants);
        let requested = grants[before..].iter().map(|grant| grant.minislots);
        let tally = Tally {
            given: regular + requested.sum::<u64>(),
            full: map.length * u64::from(left == 0 && self.has_backlog()),
            granted: map.length * u64::from(grants.len() > granted_before),
        };
        self.count(map, tally);
        map.end()
    }

    /// Finds the length of the MAP that begins with interval `first`, from the minislots that it
    /// has to grant. Also finds how many requested bytes of each flow it may grant.
    fn measure(&mut self, first: u64, timing: &UpstreamTiming) -> Span {
        let mut map = Span { first, length: 1 };
        self.allow(map, timing);
        if timing.longest_map > 1 {
            let waiting = self.waiting.iter().flatten();
            let wanted = waiting.map(|&flow| self.flows[flow].wanted(timing));
            let periodic = self.periodic.iter();
            let due = periodic.map(|periodic| periodic.minislots_in(first, timing));
            let wanted = wanted.sum::<u64>() + due.sum::<u64>();
            map.length = wanted
                .div_ceil(timing.minislots_per_map())
                .clamp(1, timing.longest_map);
            self.allow(map, timing);
        }
        map
    }

    fn count(&mut self, map: Span, tally: Tally) {
        self.total.given += tally.given;
        self.total.full += tally.full;
        self.total.granted += tally.granted;
        if self.latest.len() == MOST_AHEAD {
            self.latest.pop_front();
        }
        self.latest.push_back((map, tally));
    }

    /// Counts the missed grants of `skipped` intervals without a MAP, each with `available`
    /// minislots.
    fn count_missed(&mut self, skipped: u64, available: u64) {
        let (mut minislots, mut grants) = (0, 0);
        for missed in &self.missed {
            minislots += missed.grants * missed.minislots;
            grants += missed.grants;
        }
        self.total.given += minislots.min(skipped * available);
        self.total.granted += grants.min(skipped);
    }

    /// Adds the requests that the acknowledgement time of the MAP has reached to the backlogs.
    fn consider(&mut self, map: u64, timing: &UpstreamTiming) {
        let start = timing.allocation_start(map);
        let loop_time = timing.minimum_request_grant();
        let (flows, waiting, is_waiting) =
            (&mut self.flows, &mut self.waiting, &mut self.is_waiting);
        let (periodic, missed) = (&mut self.periodic, &mut self.missed);
        self.requests.retain(|request| {
            let is_reached = request.at + loop_time <= start;
            if is_reached {
                let flow = &mut flows[request.flow];
                if let Some(place) = flow.periodic[GRANTS] {
                    note_activity(&mut periodic[place as usize], start, missed);
                }
                flow.backlog += request.bytes;
                if flow.backlog > 0 && !is_waiting[request.flow] {
                    is_waiting[request.flow] = true;
                    waiting[usize::from(flow.priority)].push_back(request.flow);
                }
            }
            !is_reached
        });
    }

    /// Places polls and unsolicited grants, up to `most` minislots. Returns the number of minislots
    /// they take.
    fn place_periodic(
        &mut self,
        map: Span,
        most: u64,
        timing: &UpstreamTiming,
        grants: &mut Vec<Grant>,
    ) -> u64 {
        let mut taken = 0;
        self.due.clear();
        self.unplaced.clear();
        for periodic in &mut self.periodic {
            let known = self.due.len();
            let missed = (map.first..map.end())
                .map(|map| periodic.take_due(map, timing, &mut self.due))
                .sum();
            match periodic.kind {
                // A poll keeps its place. Its minislots are not available for grants.
                PeriodicKind::Poll => {
                    taken += self
                        .due
                        .drain(known..)
                        .map(|due| due.minislots)
                        .sum::<u64>();
                }
                PeriodicKind::Grant { minislots } if missed > 0 => {
                    self.missed.push(Missed {
                        flow: periodic.flow,
                        grants: missed,
                        minislots,
                    });
                }
                PeriodicKind::Grant { .. } => {}
            }
        }
        self.due
            .sort_unstable_by_key(|due| (due.deadline, due.flow));
        for due in &self.due {
            let frames = due.frames(map.first, timing);
            let late = *frames.start()..=timing.frames_per_map * map.length;
            let first = self
                .occupancy
                .take_within(due.minislots, &frames, timing)
                .or_else(|| self.occupancy.take_within(due.minislots, &late, timing));
            let Some(first) = first.filter(|_| taken + due.minislots <= most) else {
                self.unplaced.push(due.flow);
                continue;
            };
            taken += due.minislots;
            grants.push(Grant {
                flow: due.flow,
                map: map.first,
                first,
                minislots: due.minislots,
                credit: 0,
            });
        }
        taken
    }

    /// Finds how many requested bytes of each flow this MAP may grant.
    fn allow(&mut self, map: Span, timing: &UpstreamTiming) {
        let times = map.times(timing);
        for &index in self.waiting.iter().flatten() {
            let flow = &mut self.flows[index];
            let is_cut = flow.cut == Cut::Anywhere;
            flow.allowed = flow.shaper.allowed(flow.backlog, is_cut, times);
        }
        for place in 0..self.aggregates.len() {
            self.allow_aggregate(place, map, timing);
        }
    }

    /// Divides what the limits of an aggregate allow between its flows.
    fn allow_aggregate(&mut self, place: usize, map: Span, timing: &UpstreamTiming) {
        let aggregate = &mut self.aggregates[place];
        let of = |flow: usize| {
            if self.is_waiting[flow] {
                self.flows[flow].allowed
            } else {
                0
            }
        };
        let requested = Pair {
            classic: of(aggregate.classic),
            low: of(aggregate.low),
        };
        if requested.sum() == 0 {
            return;
        }
        let periodic = self.flows[aggregate.low].periodic[GRANTS];
        aggregate.guaranteed = periodic.map_or(0, |place| {
            let periodic = &self.periodic[place as usize];
            let due = (map.first..map.end()).map(|map| periodic.granted_in(map, timing));
            due.sum()
        });
        let given = aggregate.allowed(requested, map.times(timing), timing);
        self.flows[aggregate.classic].allowed = given.classic;
        self.flows[aggregate.low].allowed = given.low;
    }

    /// Capacity of a MAP for grants, in bits × 10⁹. Neighbours take `taken` of its minislots, and
    /// `free` are left. `skipped` intervals before it had no MAP. If the capacity is limited,
    /// neighbours take the same share of it.
    fn offered(
        &mut self,
        (skipped, map): (u64, Span),
        [free, taken]: [u64; 2],
        timing: &UpstreamTiming,
    ) -> i128 {
        let per_minislot = i128::from(timing.minislot_bytes) * i128::from(BYTE);
        let requests = i128::from(timing.opportunity_bytes() * map.length) * i128::from(BYTE);
        let left = (i128::from(free) * per_minislot - requests).max(0);
        let Some(capacity) = &mut self.capacity else {
            return left;
        };
        let all = i128::from(timing.minislots_per_map() * map.length);
        let given = capacity
            .of_map(skipped, map, timing)
            .min(all * per_minislot);
        left.min(given * (all - i128::from(taken)).max(0) / all)
    }

    /// Shares the budget among the flows with a backlog. Returns the minislots that are left.
    fn share(&mut self, map: Span, budget: u64, timing: &UpstreamTiming) -> u64 {
        for &flow in &self.served {
            self.flows[flow].share = 0;
        }
        self.served.clear();
        if budget == 0 {
            return 0;
        }
        let left = self.give_reserved(map, budget, timing);
        (0..8).rev().fold(left, |left, priority| {
            self.share_among((priority, map.length), left, timing)
        })
    }

    /// Gives each flow the bytes that its reserved rate has accumulated, while the budget lasts.
    /// Returns the minislots that are left.
    fn give_reserved(&mut self, map: Span, mut budget: u64, timing: &UpstreamTiming) -> u64 {
        if self.reservations.is_empty() {
            return budget;
        }
        let full = FULL_PACKET + timing.mac_header;
        let now = timing.allocation_start(map.first);
        let interval = timing.map_interval() * timing.longest_map;
        for line in self.waiting.iter().rev() {
            for &index in line {
                let flow = &mut self.flows[index];
                let Some(reservation) = flow.reservation else {
                    continue;
                };
                let reservation = &mut self.reservations[reservation as usize];
                let saved = reservation.count(now, full, interval);
                // Grant whole packets, not a few bytes in every MAP.
                if saved < flow.allowed.min(full) {
                    continue;
                }
                let wanted = match flow.cut {
                    Cut::Never => flow.wanted(timing),
                    _ => timing.minislots_for(saved.min(flow.allowed)),
                };
                if flow.cut == Cut::Never && wanted > budget {
                    continue;
                }
                flow.share = wanted.min(budget);
                budget -= flow.share;
                if flow.share > 0 {
                    self.served.push(index);
                }
            }
        }
        budget
    }

    /// Shares the budget among the flows of one priority. Returns the minislots that are left.
    fn share_among(
        &mut self,
        (priority, length): (usize, u64),
        budget: u64,
        timing: &UpstreamTiming,
    ) -> u64 {
        if self.waiting[priority].is_empty() || budget == 0 {
            return budget;
        }
        let (examined, whole) = self.admit((priority, length), budget, timing);
        let mut left = budget - whole;
        // Grants are placed in the order of `waiting`. That order changes, so that no flow is
        // always placed last.
        for &(_, index) in &self.unsatisfied {
            for index in self.served_together(index).into_iter().flatten() {
                if self.flows[index].share == 0 {
                    self.served.push(index);
                }
            }
        }
        // Max-min fair: the smallest demand first, each at most an equal part of what is left.
        self.unsatisfied
            .sort_by_key(|&(wanted, _)| wanted.min(budget));
        for (done, &(wanted, index)) in self.unsatisfied.iter().enumerate() {
            let each = left / (self.unsatisfied.len() - done) as u64;
            let more = wanted.min(each);
            left -= more;
            match self.flows[index].aggregate {
                None => self.flows[index].share += more,
                Some(place) => {
                    let aggregate = &mut self.aggregates[place as usize];
                    let given = aggregate.divide(more);
                    self.flows[aggregate.classic].share += given.classic;
                    self.flows[aggregate.low].share += given.low;
                }
            }
        }
        let line = &mut self.waiting[priority];
        // The examined flows go to the end of `waiting`. If all were examined, only the first one
        // does, so that no flow is always first.
        line.rotate_left(if examined < line.len() { examined } else { 1 });
        if let Some(flow) = self.passed_over.take() {
            // The next MAP with enough room serves this flow first.
            line.retain(|&other| other != flow);
            line.push_front(flow);
        }
        left
    }

    /// The flows that share what is given to `index`, in the order of their grants: the flow
    /// itself, or the flows of its aggregate that have requests.
    fn served_together(&self, index: usize) -> [Option<usize>; 2] {
        let Some(place) = self.flows[index].aggregate else {
            return [Some(index), None];
        };
        let aggregate = &self.aggregates[place as usize];
        let of = |flow, wanted| (wanted > 0).then_some(flow);
        [
            of(aggregate.low, aggregate.wanted.low),
            of(aggregate.classic, aggregate.wanted.classic),
        ]
    }

    /// Minislots that a flow of this priority wants of the part that is shared now. The flows of an
    /// aggregate want them together. `None` if this is known already from the other flow of its
    /// aggregate.
    fn wanted(&mut self, index: usize, priority: usize, timing: &UpstreamTiming) -> Option<u64> {
        let of = |index: usize| {
            let flow = &self.flows[index];
            let is_here = self.is_waiting[index] && usize::from(flow.priority) == priority;
            if is_here {
                flow.wanted(timing).saturating_sub(flow.share)
            } else {
                0
            }
        };
        let Some(place) = self.flows[index].aggregate else {
            return Some(of(index));
        };
        let aggregate = &mut self.aggregates[place as usize];
        let wanted = Pair {
            classic: of(aggregate.classic),
            low: of(aggregate.low),
        };
        aggregate.want(wanted).then_some(wanted.sum())
    }

    /// Selects the flows at the head of `waiting` that share the budget, so that each gets at least
    /// one packet's worth, and stores them in `unsatisfied`. Requests that must be granted whole
    /// get their share here.
    ///
    /// Returns the number of examined flows, and the minislots of the whole requests.
    fn admit(
        &mut self,
        (priority, length): (usize, u64),
        budget: u64,
        timing: &UpstreamTiming,
    ) -> (usize, u64) {
        let packet = timing.minislots_for(FULL_PACKET + timing.mac_header);
        let largest = timing.minislots_per_channel() * length;
        let can_overhang = timing.channels == 1 && self.periodic.is_empty();
        let (mut least, mut whole) = (0, 0);
        self.unsatisfied.clear();
        for aggregate in &mut self.aggregates {
            aggregate.start_sharing();
        }
        for position in 0..self.waiting[priority].len() {
            let index = self.waiting[priority][position];
            let Some(wanted) = self.wanted(index, priority, timing) else {
                continue;
            };
            let flow = &mut self.flows[index];
            let left = budget - least;
            if flow.cut == Cut::Never && wanted <= largest {
                if wanted > self.most && !self.periodic.is_empty() {
                    // The periodic grants leave too few minislots in this MAP. Saving up capacity
                    // cannot change that.
                    self.passed_over.get_or_insert(index);
                    continue;
                }
                if wanted <= left {
                    least += wanted;
                    whole += wanted;
                    give(flow, wanted, index, &mut self.served);
                    continue;
                }
                if can_overhang && left > 0 && self.is_unlimited {
                    // The grant extends into the next interval.
                    give(flow, wanted, index, &mut self.served);
                    return (position + 1, budget - (least - whole));
                }
                if least == 0 {
                    // The flow is first, and its request is too long for this budget. Save the
                    // budget for it.
                    self.carried += i128::from(left * timing.minislot_bytes) * i128::from(BYTE);
                    return (0, budget);
                }
                return (position, whole);
            }
            let part = wanted.min(packet);
            if part > left {
                // The rest is too small for a packet, but it is not wasted.
                if timing.room(left) > 0 {
                    self.unsatisfied.push((wanted, index));
                    return (position + 1, whole);
                }
                return (position, whole);
            }
            least += part;
            if wanted > 0 {
                self.unsatisfied.push((wanted, index));
            }
        }
        (self.waiting[priority].len(), whole)
    }

    /// Places the grants for all shares in the interval.
    fn place(&mut self, map: Span, budget: u64, timing: &UpstreamTiming, grants: &mut Vec<Grant>) {
        let used: u64 = self.served.iter().map(|&flow| self.flows[flow].share).sum();
        let room = self.occupancy.free().saturating_sub(used);
        self.occupancy.start_at(match self.placement {
            Placement::First => 0,
            Placement::Random => self.rng.below(room + 1),
        });
        let (mut left, mut is_done) = (budget, false);
        for &index in &self.served {
            let flow = &mut self.flows[index];
            let before = flow.backlog;
            let is_whole = flow.share >= flow.wanted(timing)
                && flow.share <= timing.minislots_per_channel() * map.length;
            if flow.cut == Cut::Never && is_whole {
                self.overhang =
                    place_whole(flow, (index, map), &mut self.occupancy, timing, grants)
                        .unwrap_or(self.overhang);
            } else {
                left = place_pieces(
                    flow,
                    (index, map.first),
                    left,
                    &mut self.occupancy,
                    timing,
                    grants,
                );
            }
            flow.shaper.spend(before - flow.backlog, map.times(timing));
            if let Some(place) = flow.aggregate {
                self.aggregates[place as usize].granted += before - flow.backlog;
            }
            if let Some(reservation) = flow.reservation {
                self.reservations[reservation as usize].spend(before - flow.backlog);
            }
            if flow.backlog == 0 {
                flow.is_fragmented = false;
                self.is_waiting[index] = false;
                is_done = true;
            }
        }
        for aggregate in &mut self.aggregates {
            aggregate.spend(map.times(timing));
        }
        if is_done {
            for line in &mut self.waiting {
                line.retain(|&index| self.is_waiting[index]);
            }
        }
    }
}

/// The periodic grants and the polls of a flow, from `from` on. `place` is the number of flows that
/// have had some so far.
fn regular(
    (flow, place): (usize, u64),
    qos: &Qos,
    from: Instant,
    timing: &UpstreamTiming,
) -> [Option<Periodic>; 2] {
    let begin = |place: u64, kind: PeriodicKind, spans: [Duration; 2], times: u64| {
        // The CMTS is free to choose the times. They are spread far apart, whatever the number of
        // flows.
        let turn = place.wrapping_mul(GOLDEN);
        let phase = (u128::from(spans[0].as_nanos()) * u128::from(turn)) >> 64;
        let phase = Instant::from_nanos(phase as u64);
        let passed = from.since(phase).as_nanos().div_ceil(spans[0].as_nanos());
        let first = phase + spans[0] * passed;
        Periodic::new(flow, kind, first, spans, times)
    };
    match &qos.scheduling {
        Scheduling::BestEffort => [None, None],
        Scheduling::NrtPs(polling) | Scheduling::RtPs(polling) => {
            let spans = [polling.interval, polling.jitter];
            [None, Some(begin(place, PeriodicKind::Poll, spans, 1))]
        }
        Scheduling::Ugs(ugs) => {
            let minislots = timing.minislots_for(ugs.size.0);
            let spans = [ugs.interval, ugs.jitter];
            let kind = PeriodicKind::Grant { minislots };
            [Some(begin(place, kind, spans, u64::from(ugs.grants))), None]
        }
        Scheduling::Pgs(pgs) => {
            // As close to the nominal time as other grants permit, at most half an interval late.
            let spans = |interval| [interval, interval / 2];
            let minislots = pgs.grant_minislots(timing);
            let grants = (minislots > 0).then(|| {
                let kind = PeriodicKind::Grant { minislots };
                let periodic = begin(place, kind, spans(pgs.grant_interval(timing)), 1);
                // Without another way to request, the flow could never become active again.
                let can_request = !qos.policy.no_contention || pgs.request_interval.is_some();
                periodic.while_active(pgs.timeout().filter(|_| can_request))
            });
            let place = place + u64::from(grants.is_some());
            let polls = pgs.request_interval;
            let polls = polls.map(|interval| begin(place, PeriodicKind::Poll, spans(interval), 1));
            [grants, polls]
        }
    }
}

/// Index of the kind in [`FlowState::periodic`].
fn kind(periodic: &Periodic) -> usize {
    match periodic.kind {
        PeriodicKind::Grant { .. } => GRANTS,
        PeriodicKind::Poll => POLLS,
    }
}

/// Index of a flow's grants.
const GRANTS: usize = 0;
/// Index of a flow's polls.
const POLLS: usize = 1;

/// The flow of these grants is active at `at`.
fn note_activity(periodic: &mut Periodic, at: Instant, missed: &mut Vec<Missed>) {
    let grants = periodic.note_activity(at);
    if let PeriodicKind::Grant { minislots } = periodic.kind
        && grants > 0
    {
        missed.push(Missed {
            flow: periodic.flow,
            grants,
            minislots,
        });
    }
}

fn give(flow: &mut FlowState, minislots: u64, index: usize, served: &mut Vec<usize>) {
    if minislots > 0 && flow.share == 0 {
        served.push(index);
    }
    flow.share += minislots;
}

/// Places a grant that must not be cut. If it extends into the next MAP, returns that MAP and the
/// number of minislots in it.
fn place_whole(
    flow: &mut FlowState,
    (index, map): (usize, Span),
    occupancy: &mut MapOccupancy,
    timing: &UpstreamTiming,
    grants: &mut Vec<Grant>,
) -> Option<(u64, u64)> {
    let minislots = flow.share;
    let (first, overhang) = match occupancy.cut_whole(minislots) {
        Some(first) => (first, None),
        None if timing.channels == 1 => {
            let (first, length) = occupancy.cut_last()?;
            (first, Some((map.end(), minislots - length)))
        }
        None => return None,
    };
    grants.push(Grant {
        flow: index,
        map: map.first,
        first,
        minislots,
        credit: flow.backlog,
    });
    flow.backlog = 0;
    overhang
}

/// Places the share of a flow in as many pieces as needed. Returns the minislots left in the
/// budget.
fn place_pieces(
    flow: &mut FlowState,
    (index, map): (usize, u64),
    mut left: u64,
    occupancy: &mut MapOccupancy,
    timing: &UpstreamTiming,
    grants: &mut Vec<Grant>,
) -> u64 {
    let whole = timing.minislots_for(flow.allowed) <= flow.share && !flow.is_fragmented;
    let mut wanted = match flow.cut {
        Cut::Fragments(overhead) if !whole => timing.room(flow.share).saturating_sub(overhead),
        _ => timing.room(flow.share),
    }
    .min(flow.allowed);
    while wanted > 0 {
        let overhead = match flow.cut {
            Cut::Fragments(overhead) if flow.is_fragmented || wanted < flow.backlog => overhead,
            _ => 0,
        };
        let most = timing.minislots_for(wanted + overhead).min(left);
        let Some((first, minislots)) = occupancy.cut(most) else {
            break;
        };
        left -= minislots;
        let overhead = match flow.cut {
            // The run of free minislots is shorter than the request, so this grant carries a
            // fragment.
            Cut::Fragments(overhead) if timing.room(minislots) < flow.backlog => overhead,
            _ => overhead,
        };
        let credit = timing.room(minislots).saturating_sub(overhead).min(wanted);
        if credit == 0 {
            continue;
        }
        flow.is_fragmented |= credit < flow.backlog;
        flow.backlog -= credit;
        wanted -= credit;
        grants.push(Grant {
            flow: index,
            map,
            first,
            minislots,
            credit,
        });
    }
    left
}

impl FlowState {
    /// Minislots needed for all bytes that the MAP may grant to the flow.
    fn wanted(&self, timing: &UpstreamTiming) -> u64 {
        match (self.allowed, self.cut) {
            (0, _) => 0,
            (bytes, Cut::Fragments(overhead)) if self.is_fragmented => {
                timing.minislots_for(bytes + overhead)
            }
            (bytes, _) => timing.minislots_for(bytes),
        }
    }
}

impl Reservation {
    /// An empty bucket at `now`.
    fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            saved: 0,
            counted: now,
        }
    }

    /// Bytes accumulated by `now`: at most one packet and the tokens of two MAP intervals.
    fn count(&mut self, now: Instant, packet: u64, map_interval: Duration) -> u64 {
        let per_map = u128::from(self.rate.0) * u128::from(map_interval.as_nanos());
        let most = u128::from(packet) * u128::from(BYTE) + 2 * per_map;
        let brought = u128::from(self.rate.0) * u128::from(now.since(self.counted).as_nanos());
        self.saved = (u128::from(self.saved) + brought).min(most) as u64;
        self.counted = now;
        self.saved / BYTE
    }

    /// Removes granted bytes.
    fn spend(&mut self, bytes: u64) {
        self.saved = self.saved.saturating_sub(bytes.saturating_mul(BYTE));
    }
}

#[cfg(test)]
mod tests;
