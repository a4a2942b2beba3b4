//! The CMTS's upstream scheduler: requests and reserved services in, grants out, one MAP at a time. Replace this file to replace the scheduler.
//!
//! Each MAP is filled in this order:
//!
//! 1. unsolicited and proactive grants, the earliest deadline first, each within its jitter; minislots for polls;
//! 2. to each flow what its minimum reserved rate has saved up;
//! 3. by traffic priority, the highest first, and max-min fairly among flows of equal priority. Where there is not a full packet for each, those
//!    served longest ago come first.
//!
//! Priority is strict: a request that must not be cut gets nothing while what comes before it leaves too little of every MAP.
//!
//! A request counts once the MAP's acknowledgement time has reached it. Grants are whole minislots; they are cut where the flow allows
//! it, and each piece pays the overhead of a segment. What the [capacity](super::setup::UpstreamSetup::capacity) and the neighbours leave is the budget.

use std::collections::VecDeque;

use super::periodic::{Due, Given, Periodic};
use super::qos::{Qos, Scheduling};
use super::space::Space;
use super::timing::UpstreamTiming;
use crate::link::RateSchedule;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// Where a MAP's grants begin.
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
    /// Anywhere the grants fit, drawn for each MAP: other modems' grants come in no order.
    #[default]
    Random,
}

/// A part of a MAP interval given to a service flow: one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The service flow, by index.
    pub flow: usize,
    /// The MAP.
    pub map: u64,
    /// First minislot within the MAP's interval.
    pub first: u64,
    /// Number of minislots.
    pub minislots: u64,
    /// Bytes of the requests it answers; of a grant that nobody asked for, zero.
    pub credit: u64,
}

/// What a grant may do to the bytes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Cut them anywhere: continuous fragmentation.
    Anywhere,
    /// Cut them in fragments that cost so many bytes each.
    Fragments(u64),
    /// Nothing: the request is answered whole.
    Never,
}

/// Grants that a MAP would have carried that was not made, as nobody needed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The service flow.
    pub flow: usize,
    /// How many.
    pub grants: u64,
    /// Minislots of each.
    pub minislots: u64,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    flow: usize,
    at: Instant,
    bytes: u64,
}

/// A minimum reserved rate, as a token bucket that fills while the flow waits or not.
#[derive(Debug, Clone, Copy)]
struct Reservation {
    rate: Rate,
    /// Bits × 10⁹, and when they were counted.
    saved: u64,
    counted: Instant,
}

#[derive(Debug)]
struct FlowState {
    priority: u8,
    cut: Cut,
    /// Which of the reservations and of what is given regularly is its own.
    reservation: Option<u32>,
    periodic: Option<u32>,
    /// Bytes asked for and not granted.
    backlog: u64,
    /// A part of the request has been granted.
    is_fragmented: bool,
    /// Minislots it gets in the MAP that is being made.
    share: u64,
}

/// Packets of this size, without MAC header, are what a grant should hold at least.
const FULL_PACKET: u64 = 1518;
/// Bits × 10⁹ in a byte.
const BYTE: u64 = 8_000_000_000;
/// MAC headers do not count for a service flow's rate; a reserved rate is raised as if packets had this size, as in the ns-3 module.
const MEAN_PACKET: u64 = 200;

/// The golden ratio's fraction, times 2⁶⁴: its multiples are spread evenly over the interval, however many there are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The scheduler.
#[derive(Debug)]
pub struct Cmts {
    requests: VecDeque<Request>,
    flows: Vec<FlowState>,
    /// Those with a backlog, by priority, the one served longest ago first.
    waiting: [VecDeque<usize>; 8],
    /// By flow: whether it is in line. Apart from the other state, as each MAP asks this of all that wait.
    is_waiting: Vec<bool>,
    reservations: Vec<Reservation>,
    periodic: Vec<Periodic>,
    /// How many flows have been given something regularly: each has a turn of its own.
    places: u64,
    space: Space,
    placement: Placement,
    capacity: Option<RateSchedule>,
    /// Bits × 10⁹ of capacity left over from rounding to minislots, or saved up for a request that must be answered whole.
    carried: u128,
    /// Minislots of the MAP after the last that a grant which could not be cut runs on into.
    overhang: (u64, u64),
    /// The MAP that is being made may be filled to its end.
    is_unlimited: bool,
    /// Minislots that the MAP which is being made could give to requests at most.
    most: u64,
    /// The first in line that must not be cut, and for which this MAP has too little beside what it gives regularly.
    passed_over: Option<usize>,
    rng: Rng,
    due: Vec<Due>,
    missed: Vec<Missed>,
    /// Flows that the latest MAP owed a grant it had no room for.
    unplaced: Vec<usize>,
    /// Flows with a share in the MAP, in the order of their grants.
    served: Vec<usize>,
    hungry: Vec<(u64, usize)>,
    /// MAPs so far that had less to give than was asked for.
    full: u64,
    /// Minislots given so far, asked for or not.
    given: u64,
    /// The latest MAPs that were made: which, minislots given in it, and whether it had less to give than was asked for.
    latest: VecDeque<(u64, u64, bool)>,
}

/// MAPs are made at most so many intervals before theirs begins.
const MOST_AHEAD: usize = 64;

impl Cmts {
    /// A scheduler without service flows.
    pub fn new(placement: Placement, capacity: Option<RateSchedule>, rng: Rng) -> Self {
        Self {
            requests: VecDeque::with_capacity(16),
            flows: Vec::new(),
            waiting: Default::default(),
            is_waiting: Vec::new(),
            reservations: Vec::new(),
            periodic: Vec::new(),
            places: 0,
            space: Space::default(),
            placement,
            capacity,
            carried: 0,
            overhang: (0, 0),
            is_unlimited: false,
            most: 0,
            passed_over: None,
            rng,
            due: Vec::new(),
            missed: Vec::new(),
            unplaced: Vec::new(),
            served: Vec::new(),
            hungry: Vec::new(),
            full: 0,
            given: 0,
            latest: VecDeque::with_capacity(MOST_AHEAD),
        }
    }

    /// Adds a service flow, the next by index; what is given to it regularly begins within an interval from `from` on.
    pub fn add_flow(&mut self, qos: &Qos, cut: Cut, from: Instant, timing: &UpstreamTiming) {
        let flow = self.flows.len();
        let regular = regular((flow, self.places), &qos.scheduling, from, timing);
        let periodic = regular.map(|periodic| {
            self.places += 1;
            self.periodic.push(periodic);
            self.periodic.len() as u32 - 1
        });
        let reservation = (qos.minimum_reserved.0 > 0).then(|| {
            let rate = raised(qos.minimum_reserved, timing);
            self.reservations
                .push(Reservation::new(rate, Instant::ZERO));
            self.reservations.len() as u32 - 1
        });
        self.flows.push(FlowState {
            priority: qos.priority.min(7),
            cut,
            reservation,
            periodic,
            backlog: 0,
            is_fragmented: false,
            share: 0,
        });
        self.is_waiting.push(false);
    }

    /// A request sent at `at` will have been received by then plus the pipeline.
    pub fn request(&mut self, flow: usize, at: Instant, bytes: u64) {
        self.requests.push_back(Request { flow, at, bytes });
    }

    /// The flow's traffic priority from now on.
    pub fn set_priority(&mut self, flow: usize, priority: u8) {
        let state = &mut self.flows[flow];
        let earlier = usize::from(std::mem::replace(&mut state.priority, priority.min(7)));
        if self.is_waiting[flow] && earlier != usize::from(state.priority) {
            self.waiting[earlier].retain(|&other| other != flow);
            self.waiting[usize::from(state.priority)].push_back(flow);
        }
    }

    /// The flow is treated so from `now` on; `map` is the first MAP that can say so. What it has asked for is granted as before. A reserved rate that is another begins
    /// anew, and so does what is given regularly.
    pub fn change(
        &mut self,
        flow: usize,
        qos: &Qos,
        (now, map): (Instant, u64),
        timing: &UpstreamTiming,
    ) {
        self.set_priority(flow, qos.priority);
        self.reserve(flow, qos.minimum_reserved, now, timing);
        let wanted = regular((flow, self.places), &qos.scheduling, now, timing);
        let current = self.flows[flow]
            .periodic
            .map(|place| &self.periodic[place as usize]);
        let is_same = match (current, &wanted) {
            (None, None) => true,
            (Some(current), Some(wanted)) => current.is_like(wanted),
            _ => false,
        };
        if is_same {
            return;
        }
        self.end_regular(flow, map, timing);
        if let Some(periodic) = wanted {
            self.places += 1;
            self.periodic.push(periodic);
            self.flows[flow].periodic = Some(self.periodic.len() as u32 - 1);
        }
    }

    /// The flow is there no more: what it has asked for is forgotten, and nothing is given to it from `map` on.
    pub fn delete(&mut self, flow: usize, map: u64, timing: &UpstreamTiming) {
        self.end_regular(flow, map, timing);
        self.requests.retain(|request| request.flow != flow);
        for line in &mut self.waiting {
            line.retain(|&other| other != flow);
        }
        self.is_waiting[flow] = false;
        let state = &mut self.flows[flow];
        state.backlog = 0;
        state.is_fragmented = false;
        self.passed_over = self.passed_over.filter(|&other| other != flow);
    }

    /// Reserves a rate for the flow from `now` on, if it has not had the same before.
    fn reserve(&mut self, flow: usize, rate: Rate, now: Instant, timing: &UpstreamTiming) {
        let rate = raised(rate, timing);
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

    /// Nothing is given to the flow regularly from `map` on; what MAPs that were not made would have carried until then is counted.
    fn end_regular(&mut self, flow: usize, map: u64, timing: &UpstreamTiming) {
        let Some(place) = self.flows[flow].periodic.take() else {
            return;
        };
        let mut ended = self.periodic.swap_remove(place as usize);
        if let Some(moved) = self.periodic.get(place as usize) {
            self.flows[moved.flow].periodic = Some(place);
        }
        let grants = ended.take_due(map, timing, &mut Vec::new());
        if let Given::Grant { minislots } = ended.given
            && grants > 0
        {
            self.given += grants * minislots;
            self.missed.push(Missed {
                flow,
                grants,
                minislots,
            });
        }
    }

    /// The earliest request not yet considered.
    pub fn next_request(&self) -> Option<Instant> {
        self.requests.iter().map(|request| request.at).min()
    }

    /// Whether any request considered so far is not fully granted.
    pub fn has_backlog(&self) -> bool {
        self.waiting.iter().any(|line| !line.is_empty())
    }

    /// Flows that wait for more than they got in the latest MAP.
    pub fn waiting(&self) -> impl Iterator<Item = usize> {
        self.waiting.iter().flatten().copied()
    }

    /// Bytes that the flow asked for, and that the latest MAP acknowledges without granting them.
    pub fn pending(&self, flow: usize) -> u64 {
        self.flows[flow].backlog
    }

    /// Minislots that the flow was given in the latest MAP for its requests.
    pub fn share_of(&self, flow: usize) -> u64 {
        self.flows[flow].share
    }

    /// The first MAP from `from` on in which the flow is given something it need not ask for.
    pub fn next_unsolicited(&self, flow: usize, from: u64, timing: &UpstreamTiming) -> Option<u64> {
        let periodic = &self.periodic[self.flows[flow].periodic? as usize];
        matches!(periodic.given, Given::Grant { .. }).then(|| periodic.next_map(from, timing))
    }

    /// When the flow is polled next, from `at` on.
    pub fn next_poll(&self, flow: usize, at: Instant, timing: &UpstreamTiming) -> Option<Instant> {
        let periodic = &self.periodic[self.flows[flow].periodic? as usize];
        (periodic.given == Given::Poll).then(|| periodic.next_poll(at, timing))
    }

    /// What there is to give over time, where that is less than the channel carries.
    pub fn capacity(&self) -> Option<&RateSchedule> {
        self.capacity.as_ref()
    }

    /// Minislots given up to now, with those of polls, and of grants in MAPs that were not made; and MAP intervals that had less to give than was
    /// asked for. MAPs are made ahead: of one whose interval is not over, what lies before now counts.
    pub fn used_until(&self, now: Instant, timing: &UpstreamTiming) -> (f64, f64) {
        let (mut given, mut full) = (self.given as f64, self.full as f64);
        for &(map, minislots, is_full) in self.latest.iter().rev() {
            let over = now.since(timing.allocation_start(map)).as_nanos() as f64;
            let ahead = 1.0 - over / timing.map_interval().as_nanos() as f64;
            if ahead <= 0.0 {
                break;
            }
            given -= ahead * minislots as f64;
            full -= ahead * f64::from(u8::from(is_full));
        }
        (given, full)
    }

    /// Grants of MAPs that were not made since this was last asked.
    pub fn take_missed(&mut self) -> impl Iterator<Item = Missed> {
        self.missed.drain(..)
    }

    /// Flows that the latest MAP owed a grant it had no room for.
    pub fn unplaced(&self) -> &[usize] {
        &self.unplaced
    }

    /// Makes MAP `map`, of which the neighbours take `taken` minislots: its grants, appended to `grants`. MAPs are made in order.
    pub fn schedule(
        &mut self,
        map: u64,
        taken: u64,
        timing: &UpstreamTiming,
        grants: &mut Vec<Grant>,
    ) {
        self.consider(map, timing);
        let overhang = match self.overhang {
            (of, minislots) if of == map => minislots,
            _ => 0,
        };
        self.space.clear(timing, overhang);
        let most = self.space.free();
        let free = most.saturating_sub(taken);
        let regular = self.give_regularly(map, timing, grants);
        let budget = self.budget(map, [free, most], timing);
        let budget = budget.saturating_sub(regular).min(self.space.free());
        self.is_unlimited = budget == self.space.free();
        self.most = most.saturating_sub(regular).min(self.space.free());
        let before = grants.len();
        let left = self.share(timing.allocation_start(map), budget, timing);
        self.place(map, budget, timing, grants);
        let asked_for = grants[before..].iter().map(|grant| grant.minislots);
        let given = regular + asked_for.sum::<u64>();
        let is_full = left == 0 && self.has_backlog();
        self.given += given;
        self.full += u64::from(is_full);
        if self.latest.len() == MOST_AHEAD {
            self.latest.pop_front();
        }
        self.latest.push_back((map, given, is_full));
    }

    /// Takes in the requests that the MAP's acknowledgement time has reached.
    fn consider(&mut self, map: u64, timing: &UpstreamTiming) {
        let start = timing.allocation_start(map);
        let loop_time = timing.minimum_request_grant();
        let (flows, waiting, is_waiting) =
            (&mut self.flows, &mut self.waiting, &mut self.is_waiting);
        self.requests.retain(|request| {
            let is_reached = request.at + loop_time <= start;
            if is_reached {
                let flow = &mut flows[request.flow];
                flow.backlog += request.bytes;
                if flow.backlog > 0 && !is_waiting[request.flow] {
                    is_waiting[request.flow] = true;
                    waiting[usize::from(flow.priority)].push_back(request.flow);
                }
            }
            !is_reached
        });
    }

    /// Places what is given without being asked for; minislots it takes.
    fn give_regularly(
        &mut self,
        map: u64,
        timing: &UpstreamTiming,
        grants: &mut Vec<Grant>,
    ) -> u64 {
        let mut taken = 0;
        self.due.clear();
        self.unplaced.clear();
        for periodic in &mut self.periodic {
            let known = self.due.len();
            let missed = periodic.take_due(map, timing, &mut self.due);
            match periodic.given {
                // Polls are where they are; their minislots are no more there for grants.
                Given::Poll => {
                    taken += self
                        .due
                        .drain(known..)
                        .map(|due| due.minislots)
                        .sum::<u64>();
                }
                Given::Grant { minislots } if missed > 0 => {
                    self.given += missed * minislots;
                    self.missed.push(Missed {
                        flow: periodic.flow,
                        grants: missed,
                        minislots,
                    });
                }
                Given::Grant { .. } => {}
            }
        }
        self.due
            .sort_unstable_by_key(|due| (due.deadline, due.flow));
        for due in &self.due {
            let frames = due.frames(map, timing);
            let late = *frames.start()..=timing.frames_per_map;
            let first = self
                .space
                .take_within(due.minislots, &frames, timing)
                .or_else(|| self.space.take_within(due.minislots, &late, timing));
            let Some(first) = first else {
                self.unplaced.push(due.flow);
                continue;
            };
            taken += due.minislots;
            grants.push(Grant {
                flow: due.flow,
                map,
                first,
                minislots: due.minislots,
                credit: 0,
            });
        }
        taken
    }

    /// Minislots there are to give in this MAP, of `free` ones that the neighbours leave and at most of `most`.
    fn budget(&mut self, map: u64, [free, most]: [u64; 2], timing: &UpstreamTiming) -> u64 {
        if self.capacity.is_none() && self.carried == 0 {
            return free;
        }
        let per_minislot = u128::from(timing.minislot_bytes) * u128::from(BYTE);
        let mut offered = u128::from(free) * per_minislot;
        if let Some(capacity) = &self.capacity {
            let rate = capacity.at(timing.allocation_start(map));
            offered =
                offered.min(u128::from(rate.0) * u128::from(timing.map_interval().as_nanos()));
        }
        // Only what a MAP could not give for rounding is carried over: unused capacity is gone.
        let available = offered + self.carried;
        self.carried = available % per_minislot;
        most.min((available / per_minislot) as u64)
    }

    /// Shares the budget among those that wait; what is left.
    fn share(&mut self, start: Instant, budget: u64, timing: &UpstreamTiming) -> u64 {
        for &flow in &self.served {
            self.flows[flow].share = 0;
        }
        self.served.clear();
        if budget == 0 {
            return 0;
        }
        let left = self.give_reserved(start, budget, timing);
        (0..8).rev().fold(left, |left, priority| {
            self.share_among(priority, left, timing)
        })
    }

    /// Gives each flow what its reserved rate has saved up, while there is something; what is left.
    fn give_reserved(&mut self, now: Instant, mut budget: u64, timing: &UpstreamTiming) -> u64 {
        if self.reservations.is_empty() {
            return budget;
        }
        let full = FULL_PACKET + timing.mac_header;
        for line in self.waiting.iter().rev() {
            for &index in line {
                let flow = &mut self.flows[index];
                let Some(reservation) = flow.reservation else {
                    continue;
                };
                let reservation = &mut self.reservations[reservation as usize];
                let saved = reservation.count(now, full, timing.map_interval());
                // Not a crumb in every MAP, but packets.
                if saved < flow.backlog.min(full) {
                    continue;
                }
                let wanted = match flow.cut {
                    Cut::Never => flow.wanted(timing),
                    _ => timing.minislots_for(saved.min(flow.backlog)),
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

    /// Shares what is left among the flows of a priority; what is left then.
    fn share_among(&mut self, priority: usize, budget: u64, timing: &UpstreamTiming) -> u64 {
        if self.waiting[priority].is_empty() || budget == 0 {
            return budget;
        }
        let (looked_at, whole) = self.admit(priority, budget, timing);
        let mut left = budget - whole;
        // Grants come in the order of the line, which changes, so that nobody is always the last to be placed.
        for &(_, index) in &self.hungry {
            if self.flows[index].share == 0 {
                self.served.push(index);
            }
        }
        // Max-min fair: the least demands first, each at most an equal part of what is left.
        self.hungry.sort_by_key(|&(wanted, _)| wanted.min(budget));
        for (done, &(wanted, index)) in self.hungry.iter().enumerate() {
            let each = left / (self.hungry.len() - done) as u64;
            let more = wanted.min(each);
            left -= more;
            self.flows[index].share += more;
        }
        let line = &mut self.waiting[priority];
        // Those looked at go to the end of the line; if that is all, its head does, so that no one is always first.
        line.rotate_left(if looked_at < line.len() { looked_at } else { 1 });
        if let Some(flow) = self.passed_over.take() {
            // The next MAP that has room for it is its own.
            line.retain(|&other| other != flow);
            line.push_front(flow);
        }
        left
    }

    /// Finds those at the head of the line among whom the budget is shared, so that each gets a packet's worth at least: into `hungry`. Requests that
    /// must be answered whole are: the minislots they take. And how many of the line were looked at.
    fn admit(&mut self, priority: usize, budget: u64, timing: &UpstreamTiming) -> (usize, u64) {
        let packet = timing.minislots_for(FULL_PACKET + timing.mac_header);
        let largest = timing.minislots_per_channel();
        let can_overhang = timing.channels == 1 && self.periodic.is_empty();
        let (mut least, mut whole) = (0, 0);
        self.hungry.clear();
        for (position, &index) in self.waiting[priority].iter().enumerate() {
            let flow = &mut self.flows[index];
            let wanted = flow.wanted(timing).saturating_sub(flow.share);
            let left = budget - least;
            if flow.cut == Cut::Never && wanted <= largest {
                if wanted > self.most && !self.periodic.is_empty() {
                    // What is given regularly leaves too little here: nothing can be saved up for that.
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
                    // It runs on into the next interval.
                    give(flow, wanted, index, &mut self.served);
                    return (position + 1, budget - (least - whole));
                }
                if least == 0 {
                    // First in line, and too long for what this MAP has: save up for it.
                    self.carried += u128::from(left * timing.minislot_bytes) * u128::from(BYTE);
                    return (0, budget);
                }
                return (position, whole);
            }
            let part = wanted.min(packet);
            if part > left {
                // What is left is too little for a packet, and better than nothing.
                if timing.room(left) > 0 {
                    self.hungry.push((wanted, index));
                    return (position + 1, whole);
                }
                return (position, whole);
            }
            least += part;
            if wanted > 0 {
                self.hungry.push((wanted, index));
            }
        }
        (self.waiting[priority].len(), whole)
    }

    /// Cuts the grants of all shares out of the interval.
    fn place(&mut self, map: u64, budget: u64, timing: &UpstreamTiming, grants: &mut Vec<Grant>) {
        let used: u64 = self.served.iter().map(|&flow| self.flows[flow].share).sum();
        let room = self.space.free().saturating_sub(used);
        self.space.start_at(match self.placement {
            Placement::First => 0,
            Placement::Random => self.rng.below(room + 1),
        });
        let (mut left, mut is_done) = (budget, false);
        for &index in &self.served {
            let flow = &mut self.flows[index];
            let before = flow.backlog;
            let is_whole =
                flow.share >= flow.wanted(timing) && flow.share <= timing.minislots_per_channel();
            if flow.cut == Cut::Never && is_whole {
                self.overhang = place_whole(flow, (index, map), &mut self.space, timing, grants)
                    .unwrap_or(self.overhang);
            } else {
                left = place_pieces(flow, (index, map), left, &mut self.space, timing, grants);
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
        if is_done {
            for line in &mut self.waiting {
                line.retain(|&index| self.is_waiting[index]);
            }
        }
    }
}

/// What a flow of this scheduling type is given regularly, from `from` on; it is the `place`-th of such flows.
fn regular(
    (flow, place): (usize, u64),
    scheduling: &Scheduling,
    from: Instant,
    timing: &UpstreamTiming,
) -> Option<Periodic> {
    let (given, spans, times) = match scheduling {
        Scheduling::BestEffort => return None,
        Scheduling::NrtPs(polling) | Scheduling::RtPs(polling) => {
            (Given::Poll, [polling.interval, polling.jitter], 1)
        }
        Scheduling::Ugs(ugs) => {
            let minislots = timing.minislots_for(ugs.size.0);
            let spans = [ugs.interval, ugs.jitter];
            (Given::Grant { minislots }, spans, u64::from(ugs.grants))
        }
        Scheduling::Pgs(pgs) => {
            let bytes = pgs.rate.bytes_in(pgs.interval);
            let minislots = timing.minislots_for(bytes + timing.mac_header);
            // As near to the nominal time as others leave room; half an interval at most.
            let spans = [pgs.interval, pgs.interval / 2];
            (Given::Grant { minislots }, spans, 1)
        }
    };
    // The CMTS is free to choose the times: far apart, whatever the number of flows.
    let turn = place.wrapping_mul(GOLDEN);
    let phase = (u128::from(spans[0].as_nanos()) * u128::from(turn)) >> 64;
    let phase = Instant::from_nanos(phase as u64);
    let passed = from.since(phase).as_nanos().div_ceil(spans[0].as_nanos());
    let first = phase + spans[0] * passed;
    Some(Periodic::new(flow, given, first, spans, times))
}

/// Adds to a flow's share.
fn give(flow: &mut FlowState, minislots: u64, index: usize, served: &mut Vec<usize>) {
    if minislots > 0 && flow.share == 0 {
        served.push(index);
    }
    flow.share += minislots;
}

/// Places a grant that must not be cut: the minislots of the next MAP that it runs on into, if it does.
fn place_whole(
    flow: &mut FlowState,
    (index, map): (usize, u64),
    space: &mut Space,
    timing: &UpstreamTiming,
    grants: &mut Vec<Grant>,
) -> Option<(u64, u64)> {
    let minislots = flow.share;
    let (first, overhang) = match space.cut_whole(minislots) {
        Some(first) => (first, None),
        None if timing.channels == 1 => {
            let (first, length) = space.cut_last()?;
            (first, Some((map + 1, minislots - length)))
        }
        None => return None,
    };
    grants.push(Grant {
        flow: index,
        map,
        first,
        minislots,
        credit: flow.backlog,
    });
    flow.backlog = 0;
    overhang
}

/// Places a flow's share in as many pieces as it takes; minislots left of the budget then.
fn place_pieces(
    flow: &mut FlowState,
    (index, map): (usize, u64),
    mut left: u64,
    space: &mut Space,
    timing: &UpstreamTiming,
    grants: &mut Vec<Grant>,
) -> u64 {
    let whole = timing.minislots_for(flow.backlog) <= flow.share && !flow.is_fragmented;
    let mut wanted = match flow.cut {
        Cut::Fragments(overhead) if !whole => timing.room(flow.share).saturating_sub(overhead),
        _ => timing.room(flow.share),
    }
    .min(flow.backlog);
    while wanted > 0 {
        let overhead = match flow.cut {
            Cut::Fragments(overhead) if flow.is_fragmented || wanted < flow.backlog => overhead,
            _ => 0,
        };
        let most = timing.minislots_for(wanted + overhead).min(left);
        let Some((first, minislots)) = space.cut(most) else {
            break;
        };
        left -= minislots;
        let overhead = match flow.cut {
            // The space ends before the request does: this becomes a fragment.
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
    /// Minislots it wants for all it waits for.
    fn wanted(&self, timing: &UpstreamTiming) -> u64 {
        match (self.backlog, self.cut) {
            (0, _) => 0,
            (bytes, Cut::Fragments(overhead)) if self.is_fragmented => {
                timing.minislots_for(bytes + overhead)
            }
            (bytes, _) => timing.minislots_for(bytes),
        }
    }
}

/// A reserved rate as the CMTS keeps it, with room for MAC headers.
fn raised(rate: Rate, timing: &UpstreamTiming) -> Rate {
    let with_header = u128::from(MEAN_PACKET + timing.mac_header);
    Rate((u128::from(rate.0) * with_header / u128::from(MEAN_PACKET)) as u64)
}

impl Reservation {
    /// Nothing is saved up at `now`.
    fn new(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            saved: 0,
            counted: now,
        }
    }

    /// Bytes saved up by `now`, at most a packet and what two MAPs bring.
    fn count(&mut self, now: Instant, packet: u64, map_interval: Duration) -> u64 {
        let per_map = u128::from(self.rate.0) * u128::from(map_interval.as_nanos());
        let most = u128::from(packet) * u128::from(BYTE) + 2 * per_map;
        let brought = u128::from(self.rate.0) * u128::from(now.since(self.counted).as_nanos());
        self.saved = (u128::from(self.saved) + brought).min(most) as u64;
        self.counted = now;
        self.saved / BYTE
    }

    /// Bytes were granted.
    fn spend(&mut self, bytes: u64) {
        self.saved = self.saved.saturating_sub(bytes.saturating_mul(BYTE));
    }
}

#[cfg(test)]
mod tests;
