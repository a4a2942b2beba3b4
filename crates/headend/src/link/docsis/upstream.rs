//! The upstream of a line as events: requests, MAPs, grants and bursts of all its modems.
//!
//! An idle upstream has no events. A MAP is only made if it must answer a request, or if it has an
//! unsolicited grant for a flow that waits for one. A MAP that is not made has no effect. Here a
//! MAP is made at the time of its arrival at the modems; its processing at the CMTS and its
//! transmission are then in the past. It is made later than that if a packet that arrives later may
//! still use an unsolicited grant of it, because the grant is filled when its burst is prepared.

use super::bursts::FRAGMENT_OVERHEAD;
use super::cmts::shaper::Shaper;
use super::cmts::{Cmts, Cut};
use super::contention::{Answer, Attempt, RequestRegion};
use super::grant::{Carried, Grant};
use super::idle_queues::IdleQueues;
use super::low_latency::{Coupled, Member};
use super::neighbours::NeighbourLoad;
use super::qos::{Qos, RequestPolicy, Scheduling};
use super::ranging::{Newcomer, registered_at};
use super::service_flow::{RequestState, ServiceFlow};
use super::setup::{MacRules, UpstreamFlow, UpstreamSetup};
use super::timing::UpstreamTiming;
use crate::context::Context;
use crate::link::token_bucket::Limits;
use crate::link::{RateSchedule, Visitor};
use crate::metrics::Recorder;
use crate::metrics::channel::ChannelUse;
use crate::metrics::sample::QueueInternals;
use crate::metrics::utilisation::LimitUse;
use crate::packet::Packet;
use crate::qdisc::QueueDiscipline;
use crate::queue::Coupling;
use crate::time::{Duration, Instant};
use crate::trace::QueueId;
use crate::units::Rate;

/// The purpose of an upstream wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// The burst of a service flow must be prepared.
    Burst(usize),
    /// The request of a service flow must be sent, in contention or in a poll.
    Request(usize),
    /// A MAP arrives.
    Map,
    /// A periodic update of a queue discipline is due.
    Update(usize),
}

/// The minislots of the neighbours. Between two MAPs that are made, their share of the channel is
/// that of the first one.
#[derive(Debug, Clone, Copy, Default)]
struct Taken {
    /// Bits until `since`.
    before: f64,
    since: Instant,
    /// Share of the capacity, from then on.
    share: f64,
}

/// The upstream of a line.
#[derive(Debug)]
pub struct Upstream {
    timing: UpstreamTiming,
    rules: MacRules,
    flows: Vec<ServiceFlow>,
    aggregates: Vec<Coupled>,
    /// By service flow: the index of its aggregate, if it is part of one. Empty if there are no
    /// aggregates.
    aggregate_of: Vec<Option<u32>>,
    idle_queues: IdleQueues,
    cmts: Cmts,
    region: RequestRegion,
    neighbours: Option<NeighbourLoad>,
    /// The use by the neighbours until the latest MAP that was made, and since.
    taken: Taken,
    /// The next MAP that must be made.
    next_map: Option<u64>,
    /// The first MAP after the last one that was made.
    unmade: u64,
    /// Flows that wait for an unsolicited grant.
    awaiting_grant: Vec<usize>,
    /// Flows whose unsolicited grants, if they have any, are filled when their bursts are prepared.
    filling_at_burst: Vec<usize>,
    /// By service flow: whether its queue discipline uses its grants. Most do not, so a MAP without
    /// a grant for them need not change their state.
    looks_at_grants: Vec<bool>,
    grants: Vec<Grant>,
    answers: Vec<Answer>,
}

/// Bytes of the longest packet, with its headers.
const LONGEST: u64 = 2000;

impl Upstream {
    /// An idle upstream.
    pub fn new(mut setup: UpstreamSetup) -> Self {
        let timing = setup.timing;
        let registered = registrations(&mut setup.flows, &setup.contention, &timing);
        let mut cmts = Cmts::new(setup.placement, setup.capacity, setup.rng);
        for (flow, &from) in setup.flows.iter().zip(&registered) {
            let cut = cut(&setup.rules, flow.qos.policy);
            let shaper = Shaper::new(flow.limits, setup.token_interval);
            cmts.add_flow(&flow.qos, (cut, shaper), from, &timing);
        }
        for aggregate in &setup.aggregates {
            cmts.add_aggregate(aggregate, setup.token_interval);
        }
        let aggregates: Vec<Coupled> = (setup.aggregates.iter())
            .map(|one| {
                let limits = [one.classic, one.low].map(|flow| setup.flows[flow].limits);
                Coupled::new(one, limits)
            })
            .collect();
        let couplings: Vec<Coupling> = (aggregates.iter())
            .map(|one| coupling(&setup.flows[one.low].qos, &timing))
            .collect();
        let flows = setup.flows.into_iter().zip(registered);
        let mut flows: Vec<ServiceFlow> = flows
            .map(|(flow, from)| ServiceFlow::new(flow, &setup.rules, &setup.contention, from))
            .collect();
        let mut aggregate_of = vec![
            None;
            if aggregates.is_empty() {
                0
            } else {
                flows.len()
            }
        ];
        for ((place, one), coupling) in (0..).zip(&aggregates).zip(couplings) {
            flows[one.classic].join(Member::classic(one.classic_rate(Rate(0))));
            flows[one.low].join(Member::low(one.low_rate(), coupling));
            aggregate_of[one.classic] = Some(place);
            aggregate_of[one.low] = Some(place);
        }
        Self {
            aggregate_of,
            aggregates,
            idle_queues: IdleQueues::new(flows.len()),
            looks_at_grants: flows.iter().map(ServiceFlow::looks_at_grants).collect(),
            filling_at_burst: (flows.iter().enumerate())
                .filter(|(_, flow)| flow.fills_at_burst())
                .map(|(index, _)| index)
                .collect(),
            flows,
            cmts,
            region: RequestRegion::default(),
            neighbours: setup
                .neighbours
                .map(|neighbours| NeighbourLoad::new(neighbours, &timing)),
            timing,
            rules: setup.rules,
            taken: Taken::default(),
            next_map: None,
            unmade: 0,
            awaiting_grant: Vec::new(),
            grants: Vec::with_capacity(8),
            answers: Vec::with_capacity(8),
        }
    }

    /// A packet arrives at a service flow.
    pub fn arrive(&mut self, flow: usize, packet: Packet, cx: &mut Context<'_>) {
        let Some(aggregate) = self.aggregate(flow) else {
            return self.arrive_at(flow, packet, cx);
        };
        self.update_coupling(flow, cx.now);
        self.arrive_at(flow, packet, cx);
        while let Some(packet) = self.flows[flow].take_redirected() {
            self.update_coupling(aggregate.classic, cx.now);
            self.arrive_at(aggregate.classic, packet, cx);
        }
    }

    /// The aggregate that a service flow is part of.
    fn aggregate(&self, flow: usize) -> Option<Coupled> {
        let place = (*self.aggregate_of.get(flow)?)?;
        Some(self.aggregates[place as usize])
    }

    /// Sets what the queue of a service flow knows of the other flow of its aggregate, if it is
    /// part of one. This precedes everything that the queue does.
    fn update_coupling(&mut self, flow: usize, now: Instant) {
        let Some(aggregate) = self.aggregate(flow) else {
            return;
        };
        if flow == aggregate.low {
            let base = self.flows[aggregate.classic].base_probability();
            let probability = aggregate.probability(base);
            if let Some(member) = self.flows[flow].member() {
                member.set_probability(probability);
            }
        } else {
            let low = self.flows[aggregate.low].member();
            let measured = low.map_or(Rate(0), |low| low.measured(now));
            if let Some(member) = self.flows[flow].member() {
                member.set_rate(aggregate.classic_rate(measured));
            }
        }
    }

    fn arrive_at(&mut self, flow: usize, packet: Packet, cx: &mut Context<'_>) {
        self.idle_queues.note_change(flow);
        self.flows[flow].arrive(packet, cx);
        // Only an arrival can add bytes to request. Packets that a discipline holds back count as
        // queued and have been requested.
        if self.flows[flow].must_request() {
            self.plan_request(flow, cx.now, cx);
        }
    }

    /// Handles a wake-up.
    pub fn wake(&mut self, wake: Wake, cx: &mut Context<'_>) {
        match wake {
            // A deleted flow does not use its grants.
            Wake::Burst(flow) if self.flows[flow].is_deleted() => {}
            Wake::Burst(flow) => {
                self.update_coupling(flow, cx.now);
                let (request, carried) = self.flows[flow].prepare_burst(&self.timing, cx);
                self.count_carried(flow, carried, cx.now);
                if let Some((bytes, sent)) = request {
                    let queue = self.flows[flow].id();
                    let now = cx.now;
                    cx.recorder().requested(now, queue, bytes, sent, None);
                    self.cmts.request(flow, sent, bytes);
                    self.expect_map(self.timing.first_map_for(sent, cx.now), cx);
                }
                self.plan_request_when_ready(flow, cx);
            }
            Wake::Request(flow) => self.send_request(flow, cx),
            Wake::Map => self.receive_map(cx),
            Wake::Update(flow) => {
                self.update_coupling(flow, cx.now);
                self.flows[flow].update(cx);
                debug_assert!(
                    !self.flows[flow].must_request(),
                    "an update brings no bytes"
                );
            }
        }
    }

    /// Sets the limits, nominal rate and quality of service of a service flow from now on.
    pub fn change(
        &mut self,
        flow: usize,
        limits: Limits,
        rate: Rate,
        qos: &Qos,
        cx: &mut Context<'_>,
    ) {
        self.idle_queues.note_change(flow);
        let map = self.timing.first_map_after(cx.now).max(self.unmade);
        self.cmts.change(flow, qos, (cx.now, map), &self.timing);
        self.change_limits(flow, limits, rate, cx);
        self.flows[flow].change_qos(qos, &self.rules);
        // A request that is delayed by missing tokens chooses its time again, because there may be
        // more tokens now. So does a flow that waits for an unsolicited grant, because that grant
        // may not come.
        if let RequestState::Deferring { .. } | RequestState::AwaitingGrant =
            self.flows[flow].request_state()
        {
            self.awaiting_grant.retain(|&other| other != flow);
            self.flows[flow].set_request_state(RequestState::Idle);
            self.plan_request_when_ready(flow, cx);
        }
    }

    /// Sets the limits and nominal rate of a service flow. Those of the classic flow of an
    /// aggregate are the aggregate's.
    fn change_limits(&mut self, flow: usize, limits: Limits, rate: Rate, cx: &mut Context<'_>) {
        let place = self.aggregate_of.get(flow).copied().flatten();
        let Some(place) = place.map(|place| place as usize) else {
            self.cmts.set_limits(flow, limits);
            return self.flows[flow].change(limits, rate, cx);
        };
        let aggregate = &mut self.aggregates[place];
        if flow == aggregate.classic {
            aggregate.set_limits(limits);
            self.cmts.set_aggregate_limits(place, limits);
            self.flows[flow].set_rate(rate);
        } else {
            aggregate.set_low_limits(limits);
            self.cmts.set_limits(flow, limits);
            self.flows[flow].change(limits, rate, cx);
        }
        let (low, rate) = (aggregate.low, aggregate.low_rate());
        if let Some(member) = self.flows[low].member() {
            member.set_rate(rate);
        }
    }

    /// Deletes a service flow. Its packets are discarded, and the CMTS discards its requests.
    pub fn delete(&mut self, flow: usize, cx: &mut Context<'_>) {
        self.idle_queues.note_change(flow);
        let map = self.timing.first_map_after(cx.now).max(self.unmade);
        self.cmts.delete(flow, map, &self.timing);
        self.awaiting_grant.retain(|&other| other != flow);
        self.flows[flow].delete(&self.timing, cx);
        self.looks_at_grants[flow] = false;
    }

    /// Replaces the queue discipline of a service flow. The queued packets move to the new one.
    pub fn replace_queue(
        &mut self,
        flow: usize,
        discipline: Box<dyn QueueDiscipline>,
        cx: &mut Context<'_>,
    ) {
        self.idle_queues.note_change(flow);
        self.update_coupling(flow, cx.now);
        self.flows[flow].replace_queue(discipline, cx);
        self.looks_at_grants[flow] = self.flows[flow].looks_at_grants();
        debug_assert!(!self.flows[flow].must_request(), "a move brings no bytes");
    }

    /// The state of one of its queues.
    pub fn internals(&self, queue: QueueId, now: Instant) -> Option<QueueInternals> {
        let flow = self.flows.iter().find(|flow| flow.id() == queue)?;
        Some(flow.internals(now))
    }

    /// Calls `visit` for each queue, with `None` if the queue has not changed.
    pub fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>) {
        let row = |flow: &ServiceFlow| (flow.id(), flow.internals(now));
        let is_at_rest = |flow: &ServiceFlow| flow.is_at_rest(now);
        self.idle_queues.visit(&self.flows, row, is_at_rest, visit);
    }

    /// Reports what the tins of each queue have done until now.
    pub fn report_tins(&mut self, recorder: &mut Recorder) {
        for flow in &mut self.flows {
            flow.report_tins(recorder);
        }
    }

    /// Calls `visit` with one of the queues that share the channel, and the use of the channel
    /// until `now`.
    pub fn visit_channel(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        let Some(flow) = self.flows.first() else {
            return;
        };
        let interval = self.timing.map_interval().as_nanos() as f64;
        let used = self.cmts.used_until(now, &self.timing);
        let so_far = ChannelUse {
            capacity_bits: self.capacity_until(now),
            used_bits: used.given * (self.timing.minislot_bytes * 8) as f64,
            neighbours_bits: self.taken_until(now),
            full_ns: used.full * interval,
            granted_maps: used.granted,
            maps: now.as_nanos() as f64 / interval,
        };
        self.check_capacity(&so_far);
        visit(flow.id(), so_far);
    }

    /// Reports the use until `now` of the limits of each queue: those of its service flow and of
    /// its aggregate, and the channel. What MAPs grant ahead of their time counts when they are
    /// made.
    pub fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        let map = self.timing.first_map_after(now).max(self.unmade);
        let came = self.capacity_until(self.timing.allocation_start(map));
        // A grant may extend into the next interval, and what a MAP leaves of a minislot or of a
        // packet that is not cut is the next one's.
        let two_more = self.capacity_until(self.timing.allocation_start(map + 2)) - came;
        let longest = self.timing.minislot_bytes + LONGEST;
        let ready = match self.cmts.overdrawn() {
            overdrawn if overdrawn > 0.0 => -overdrawn,
            _ => two_more + longest as f64 * 8.0,
        };
        for (index, flow) in self.flows.iter().enumerate() {
            let queue = flow.id();
            flow.report_limits(now, self.cmts.unmade(index, now), &self.timing, recorder);
            if let Some(place) = self.aggregate_of.get(index).copied().flatten() {
                let shaper = self.cmts.aggregate_shaper(place as usize);
                let granted = flow.carried(recorder) + flow.granted_ahead();
                for limit in shaper.limits(now, granted) {
                    recorder.limit(queue, limit);
                }
            }
            let channel = LimitUse {
                came,
                ready,
                passed: flow.taken(),
                number: 0,
            };
            recorder.limit(queue, Some(channel));
        }
    }

    /// Capacity of the channel until `at`, in bits.
    fn capacity_until(&self, at: Instant) -> f64 {
        let plant = self.timing.capacity();
        match self.cmts.capacity() {
            Some(capacity) => capacity.bits_until(at, plant),
            None => RateSchedule::Constant(plant).bits_until(at, plant),
        }
    }

    /// Bits that neighbours used until `at`.
    fn taken_until(&self, at: Instant) -> f64 {
        let Taken {
            before,
            since,
            share,
        } = self.taken;
        before + share * (self.capacity_until(at.max(since)) - self.capacity_until(since))
    }

    /// Checks that grants and neighbours do not exceed the capacity. MAPs may be ahead of it by one
    /// MAP in each of three cases: at the end of the time examined, if a grant extends into the
    /// next interval, and with unsolicited grants.
    fn check_capacity(&self, so_far: &ChannelUse) {
        let map = self.timing.capacity().0 as f64 * self.timing.map_interval().as_secs_f64();
        let taken = so_far.used_bits + so_far.neighbours_bits;
        assert!(
            taken <= so_far.capacity_bits * (1.0 + 1e-9) + 3.0 * map,
            "an upstream gives no more than it has: {taken} of {} bits",
            so_far.capacity_bits
        );
    }

    /// Packets in the queues and bursts.
    pub fn held(&self) -> u64 {
        self.flows.iter().map(ServiceFlow::held).sum()
    }

    /// Requests the bytes of a flow, once some of them may be requested.
    fn plan_request_when_ready(&mut self, flow: usize, cx: &mut Context<'_>) {
        if self.flows[flow].must_request() {
            let ready = self.flows[flow].ready_at(cx);
            self.plan_request(flow, ready, cx);
        }
    }

    /// Chooses how a flow gets a grant for the bytes that it can request at `ready`: an unsolicited
    /// grant, the next poll, or contention.
    fn plan_request(&mut self, flow: usize, ready: Instant, cx: &mut Context<'_>) {
        let from = if self.flows[flow].fills_at_burst() {
            self.timing.first_map_unprepared(cx.now)
        } else {
            self.timing.first_map_after(cx.now)
        };
        let from = from.max(self.unmade);
        if let Some(map) = self.cmts.next_unsolicited(flow, from, &self.timing) {
            let answered = self.timing.first_map_for(ready, cx.now);
            if map <= answered || !self.flows[flow].may_contend() {
                self.flows[flow].set_request_state(RequestState::AwaitingGrant);
                self.awaiting_grant.push(flow);
                return self.expect_map(map, cx);
            }
        }
        self.plan_poll_or_contention(flow, ready, cx);
    }

    /// Requests in the next poll or in contention.
    fn plan_poll_or_contention(&mut self, flow: usize, ready: Instant, cx: &mut Context<'_>) {
        let earliest = self.flows[flow].contends_from();
        let prepared = (ready + self.timing.burst_preparation).max(earliest);
        let poll = self.cmts.next_poll(flow, prepared, &self.timing);
        if !self.flows[flow].may_contend() {
            if let Some(at) = poll {
                self.defer(flow, at, None, cx);
            }
            return;
        }
        let (passed, window) = self.flows[flow].draw();
        let opportunity = self.timing.first_opportunity(prepared) + passed;
        let at = self.timing.opportunity(opportunity);
        match poll {
            Some(poll) if poll <= at => self.defer(flow, poll, None, cx),
            _ => {
                let (queue, now) = (self.flows[flow].id(), cx.now);
                cx.recorder().deferred(now, queue, opportunity, window);
                self.defer(flow, at, Some(opportunity), cx);
            }
        }
    }

    fn defer(&mut self, flow: usize, at: Instant, opportunity: Option<u64>, cx: &mut Context<'_>) {
        self.flows[flow].set_request_state(RequestState::Deferring { at, opportunity });
        cx.wake_at(at, Wake::Request(flow).token());
    }

    /// The time chosen for a flow's request is now.
    fn send_request(&mut self, flow: usize, cx: &mut Context<'_>) {
        let RequestState::Deferring { at, opportunity } = self.flows[flow].request_state() else {
            return;
        };
        if at != cx.now {
            return;
        }
        self.flows[flow].set_request_state(RequestState::Idle);
        self.update_coupling(flow, cx.now);
        let Some(bytes) = self.flows[flow].request(&self.timing, cx) else {
            return self.plan_request_when_ready(flow, cx);
        };
        let queue = self.flows[flow].id();
        cx.recorder().requested(at, queue, bytes, at, opportunity);
        match opportunity {
            None => self.cmts.request(flow, at, bytes),
            Some(opportunity) => {
                let retry = u64::from(self.flows[flow].is_retrying());
                cx.recorder().mac(queue).request_retries += retry;
                self.flows[flow].set_request_state(RequestState::Sent);
                self.region.send(Attempt {
                    opportunity,
                    at,
                    flow,
                    bytes,
                });
            }
        }
        self.expect_map(self.timing.first_map_for(at, cx.now), cx);
        // Bytes without tokens can be requested later, while the request of the poll is
        // outstanding.
        self.plan_request_when_ready(flow, cx);
    }

    fn expect_map(&mut self, map: u64, cx: &mut Context<'_>) {
        let map = map.max(self.unmade);
        if self.next_map.is_none_or(|next| map < next) {
            self.next_map = Some(map);
            cx.wake_at(self.timing.map_arrival(map).max(cx.now), Wake::Map.token());
        }
    }

    fn receive_map(&mut self, cx: &mut Context<'_>) {
        let Some(map) = self
            .next_map
            .take_if(|map| self.timing.map_arrival(*map) <= cx.now)
        else {
            return;
        };
        if let Some(earlier) = self.usable_before(map, cx.now) {
            self.make_map(earlier, cx);
            // It may have been long enough to take the place of `map`.
            return self.expect_map(map, cx);
        }
        self.make_map(map, cx);
    }

    fn make_map(&mut self, map: u64, cx: &mut Context<'_>) {
        let taken = self
            .neighbours
            .as_mut()
            .map_or(0, |neighbours| neighbours.minislots(map, &self.timing));
        let since = self.timing.allocation_start(map);
        self.taken = Taken {
            before: self.taken_until(since),
            since,
            share: taken as f64 / self.timing.minislots_per_map() as f64,
        };
        self.answer_requests(map, cx);
        let mut grants = std::mem::take(&mut self.grants);
        self.unmade = self.cmts.schedule(map, taken, &self.timing, &mut grants);
        let length = self.unmade - map;
        self.count_missed(cx);
        for flow in self.cmts.waiting() {
            if self.looks_at_grants[flow] && self.cmts.share_of(flow) == 0 {
                let interval = self.timing.map_interval() * length;
                self.flows[flow].note_grants(0, self.cmts.pending(flow), interval);
            }
        }
        sort(&mut grants, &self.timing);
        self.end_grant_waits(&grants);
        self.replace_unplaced_grants(cx);
        for of_one in grants.chunk_by(|one, other| one.flow == other.flow) {
            self.receive_grants(of_one, cx);
        }
        grants.clear();
        self.grants = grants;
        self.try_again(cx);
        self.expect_next(cx);
    }

    /// The first MAP before `map` that was not made and has an unsolicited grant which a packet
    /// that arrives now may still use. MAPs are made in order, so it must be made before `map` is.
    fn usable_before(&self, map: u64, now: Instant) -> Option<u64> {
        let from = self.timing.first_map_unprepared(now).max(self.unmade);
        if from >= map {
            return None;
        }
        let flows = self.filling_at_burst.iter();
        flows
            .filter_map(|&flow| self.cmts.next_unsolicited(flow, from, &self.timing))
            .min()
            .filter(|&earlier| earlier < map)
    }

    /// Passes the requests that `map` acknowledges and that did not collide to the CMTS, and
    /// informs their modems.
    fn answer_requests(&mut self, map: u64, cx: &mut Context<'_>) {
        self.answers.clear();
        let now = cx.now;
        let start = self.timing.allocation_start(map);
        let acknowledged = start - self.timing.minimum_request_grant();
        let neighbours = &mut self.neighbours;
        let is_taken = || {
            let is_requesting = |others: &mut NeighbourLoad| others.is_requesting();
            neighbours.as_mut().is_some_and(is_requesting)
        };
        self.region
            .answer(acknowledged, is_taken, &mut self.answers);
        for &Answer { attempt, heard } in &self.answers {
            let flow = &mut self.flows[attempt.flow];
            cx.recorder().answered(now, flow.id(), attempt.at, heard);
            if heard && !flow.is_deleted() {
                flow.acknowledged();
                self.cmts.request(attempt.flow, attempt.at, attempt.bytes);
            }
        }
    }

    /// Flows whose requests collided back off or give up. Flows whose requests were received and
    /// are not granted yet may request more.
    fn try_again(&mut self, cx: &mut Context<'_>) {
        let answers = std::mem::take(&mut self.answers);
        for Answer { attempt, heard } in &answers {
            if self.flows[attempt.flow].is_deleted() {
                continue;
            }
            self.update_coupling(attempt.flow, cx.now);
            let flow = &mut self.flows[attempt.flow];
            if !heard && flow.collided(attempt.bytes, &self.timing, cx) {
                cx.recorder().mac(flow.id()).requests_exceeded += 1;
            }
            if flow.must_request() {
                self.plan_request(attempt.flow, cx.now, cx);
            }
        }
        self.answers = answers;
    }

    /// Flows that waited for one of these unsolicited grants do not wait any more.
    fn end_grant_waits(&mut self, grants: &[Grant]) {
        if self.awaiting_grant.is_empty() {
            return;
        }
        let flows = &mut self.flows;
        for given in grants.iter().filter(|grant| grant.credit == 0) {
            if flows[given.flow].request_state() == RequestState::AwaitingGrant {
                flows[given.flow].set_request_state(RequestState::Idle);
            }
        }
        self.awaiting_grant
            .retain(|&flow| flows[flow].request_state() == RequestState::AwaitingGrant);
    }

    /// Flows whose unsolicited grant did not fit into the MAP request a grant, if they may contend.
    fn replace_unplaced_grants(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.cmts.unplaced().len() {
            let flow = self.cmts.unplaced()[index];
            let one = &mut self.flows[flow];
            if one.request_state() == RequestState::AwaitingGrant && one.may_contend() {
                one.set_request_state(RequestState::Idle);
                self.awaiting_grant.retain(|&other| other != flow);
                self.plan_poll_or_contention(flow, cx.now, cx);
            }
        }
    }

    /// Counts the grants of MAPs that were not made. They carried nothing.
    fn count_missed(&mut self, cx: &mut Context<'_>) {
        for missed in self.cmts.take_missed() {
            let mac = cx.recorder().mac(self.flows[missed.flow].id());
            let bytes = missed.grants * missed.minislots * self.timing.minislot_bytes;
            mac.grants += missed.grants;
            mac.maps += missed.grants;
            mac.granted_bytes += bytes;
            mac.unused_grant_bytes += missed.grants * self.timing.room(missed.minislots);
        }
    }

    /// Handles the grants of a MAP for one flow, in order of time.
    fn receive_grants(&mut self, grants: &[Grant], cx: &mut Context<'_>) {
        let index = grants[0].flow;
        self.update_coupling(index, cx.now);
        let credit = grants.iter().map(|grant| grant.credit).sum();
        let flow = &mut self.flows[index];
        let length = self.unmade - grants[0].map;
        let interval = self.timing.map_interval() * length;
        flow.note_grants(credit, self.cmts.pending(index), interval);
        flow.note_map(self.timing.allocation_start(self.unmade));
        let queue = flow.id();
        cx.recorder().mac(queue).maps += length;
        for &grant in grants {
            let bytes = grant.minislots * self.timing.minislot_bytes;
            let start = self.timing.minislot_start(grant.map, grant.first);
            let now = cx.now;
            cx.recorder().granted(now, queue, bytes, start);
            let flow = &mut self.flows[index];
            let (prepare_at, carried) = if grant.credit > 0 {
                flow.granted(grant, &self.timing, cx)
            } else {
                flow.given(grant, &self.timing, cx)
            };
            self.count_carried(index, carried, cx.now);
            if let Some(at) = prepare_at {
                cx.wake_at(at, Wake::Burst(index).token());
            }
        }
        if self.flows[index].must_request() {
            self.plan_request(index, cx.now, cx);
        }
    }

    /// Deviation: the CMTS knows what a burst carried once it has received the burst. Here it knows
    /// when the modem fills the grant, which is earlier by the time of the burst.
    fn count_carried(&mut self, flow: usize, carried: Option<Carried>, now: Instant) {
        if let Some(carried) = carried {
            self.cmts.settle(flow, carried.credit, carried.pdu, now);
        }
    }

    /// Finds the next MAP that must be made.
    fn expect_next(&mut self, cx: &mut Context<'_>) {
        if self.cmts.has_backlog() {
            return self.expect_map(self.unmade, cx);
        }
        for at in [self.cmts.next_request(), self.region.earliest()]
            .into_iter()
            .flatten()
        {
            self.expect_map(self.timing.first_map_for(at, cx.now), cx);
        }
        let mut index = 0;
        while let Some(&flow) = self.awaiting_grant.get(index) {
            let next = (self.cmts).next_unsolicited(flow, self.unmade, &self.timing);
            if let Some(next) = next {
                self.expect_map(next, cx);
                index += 1;
            } else {
                // Its grants had no room until they stopped.
                self.awaiting_grant.remove(index);
                self.flows[flow].set_request_state(RequestState::Idle);
                self.plan_poll_or_contention(flow, cx.now, cx);
            }
        }
    }
}

/// What the queue of a low-latency flow knows of its grants.
fn coupling(qos: &Qos, timing: &UpstreamTiming) -> Coupling {
    let (guaranteed_rate, guaranteed_interval) = match &qos.scheduling {
        Scheduling::Pgs(grants) => (grants.rate, grants.grant_interval(timing)),
        _ => (Rate(0), Duration::ZERO),
    };
    Coupling {
        probability: 0.0,
        mac_header: timing.mac_header,
        // A request waits for the MAP that acknowledges it, and its grant lies somewhere in the
        // interval of that MAP.
        loop_delay: timing.minimum_request_grant() + timing.map_interval(),
        guaranteed_rate,
        guaranteed_interval,
    }
}

/// The time at which the modem of each flow is registered. The flows of a modem are next to each
/// other in the list.
fn registrations(
    flows: &mut [UpstreamFlow],
    contention: &super::setup::Contention,
    timing: &UpstreamTiming,
) -> Vec<Instant> {
    let modems: Vec<(u32, Option<Instant>)> = flows
        .iter()
        .map(|flow| (flow.modem, flow.online_at))
        .collect();
    let mut newcomers = Vec::new();
    for of_one in flows.chunk_by_mut(|one, other| one.modem == other.modem) {
        if let Some(online_at) = of_one[0].online_at {
            let rng = &mut of_one[0].rng;
            newcomers.push(Newcomer { online_at, rng });
        }
    }
    let answer = timing.minimum_request_grant() + timing.map_interval();
    let mut registered = registered_at(&mut newcomers, contention, answer).into_iter();
    let mut latest = Instant::ZERO;
    let mut previous = None;
    modems
        .into_iter()
        .map(|(modem, online_at)| {
            if previous != Some(modem) {
                previous = Some(modem);
                latest = online_at
                    .and_then(|_| registered.next())
                    .unwrap_or(Instant::ZERO);
            }
            latest
        })
        .collect()
}

/// How the CMTS may cut the requests of a flow.
pub fn cut(rules: &MacRules, policy: RequestPolicy) -> Cut {
    if rules.continuous {
        Cut::Anywhere
    } else if rules.fragmentation && !policy.no_fragmentation {
        Cut::Fragments(FRAGMENT_OVERHEAD)
    } else {
        Cut::Never
    }
}

/// Sorts the grants by flow, and the grants of a flow by time.
fn sort(grants: &mut [Grant], timing: &UpstreamTiming) {
    let order = |grant: &Grant| (timing.frame_of(grant.first), grant.first);
    grants.sort_unstable_by(|one, other| {
        let by_time = || order(one).cmp(&order(other));
        one.flow.cmp(&other.flow).then_with(by_time)
    });
}

impl Wake {
    /// The token for the link. Bit 0 is left to the direction.
    pub fn token(self) -> u64 {
        let (kind, flow) = match self {
            Self::Burst(flow) => (0, flow),
            Self::Request(flow) => (1, flow),
            Self::Map => (2, 0),
            Self::Update(flow) => (3, flow),
        };
        (flow as u64) << 3 | kind << 1
    }

    /// The wake-up of a token.
    pub fn from_token(token: u64) -> Self {
        let flow = (token >> 3) as usize;
        match (token >> 1) & 3 {
            0 => Self::Burst(flow),
            1 => Self::Request(flow),
            2 => Self::Map,
            _ => Self::Update(flow),
        }
    }
}
