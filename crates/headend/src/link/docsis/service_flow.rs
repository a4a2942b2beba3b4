//! An upstream service flow at the modem: its queue, its rate limits and the state of its requests.
//!
//! How bytes are requested and how grants are filled depends on the DOCSIS generation:
//! [`Continuous`] (DOCSIS 3.0 and later) or [`Bursts`] (before DOCSIS 3.0).

use super::bursts::Bursts;
use super::contention::Backoff;
use super::continuous::Continuous;
use super::grant::{Carried, Grant};
use super::low_latency::Member;
use super::periodic::Unmade;
use super::qos::{Qos, RequestPolicy, Scheduling};
use super::setup::{Contention, MacRules, UpstreamFlow};
use super::shaped_queue::ShapedQueue;
use super::timing::UpstreamTiming;
use crate::context::Context;
use crate::link::token_bucket::Limits;
use crate::metrics::Recorder;
use crate::metrics::recorder::MacCounters;
use crate::metrics::sample::QueueInternals;
use crate::metrics::utilisation::LimitUse;
use crate::packet::Packet;
use crate::qdisc::QueueDiscipline;
use crate::queue::{Framing, Shaper};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};
use crate::units::Rate;

/// The state of a flow's current request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState {
    /// No request is planned or on its way.
    Idle,
    /// A request will be sent at a chosen time, in a contention opportunity or in a poll.
    Deferring {
        /// That time.
        at: Instant,
        /// The opportunity. `None` is a poll.
        opportunity: Option<u64>,
    },
    /// A request was sent in contention, and no MAP has acknowledged it yet.
    Sent,
    /// No request is needed: the flow waits for an unsolicited grant.
    AwaitingGrant,
}

#[derive(Debug)]
enum Sending {
    Continuous(Continuous),
    Bursts(Bursts),
}

/// Calls a method of the variant in use.
macro_rules! sending {
    ($flow:expr, $method:ident($($argument:expr),*)) => {
        match &mut $flow.sending {
            Sending::Continuous(continuous) => continuous.$method($($argument),*),
            Sending::Bursts(bursts) => bursts.$method($($argument),*),
        }
    };
}

/// An upstream service flow.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ServiceFlow {
    /// Packets that arrive before this time are dropped.
    registered_at: Instant,
    is_deleted: bool,
    shaped: ShapedQueue,
    /// The state of its current request.
    request_state: RequestState,
    may_contend: bool,
    /// It sends in unsolicited grants alone.
    has_grants_only: bool,
    /// It may contend while one of its requests is outstanding.
    may_contend_again: bool,
    may_piggyback: bool,
    /// Contention attempts before the requested packets are dropped.
    retries: u8,
    backoff: Backoff,
    rng: Rng,
    /// How it requests bytes and fills grants.
    sending: Sending,
    /// End of the interval of the latest MAP with a grant.
    granted_until: Instant,
}

impl ServiceFlow {
    /// An idle flow of a modem that is registered at `registered_at`.
    pub fn new(
        flow: UpstreamFlow,
        rules: &MacRules,
        contention: &Contention,
        registered_at: Instant,
    ) -> Self {
        let policy = flow.qos.policy;
        Self {
            shaped: ShapedQueue::new(flow.queue, flow.limits, flow.rate),
            sending: if rules.continuous {
                Sending::Continuous(Continuous::new(flow.dequeue_at))
            } else {
                Sending::Bursts(Bursts::new(burst_limit(rules, policy)))
            },
            request_state: RequestState::Idle,
            backoff: Backoff::new(contention.data_start, contention.data_end),
            rng: flow.rng,
            may_contend: may_contend(&flow.qos),
            has_grants_only: matches!(flow.qos.scheduling, Scheduling::Ugs(_)),
            may_contend_again: !policy.no_contention_while_outstanding,
            granted_until: Instant::ZERO,
            may_piggyback: may_piggyback(&flow.qos, rules),
            is_deleted: false,
            retries: contention.retries,
            registered_at,
        }
    }

    /// Name of its queue in records.
    pub fn id(&self) -> QueueId {
        self.shaped.queue.id()
    }

    /// Packets in the flow: queued, scheduled or partly sent.
    pub fn held(&self) -> u64 {
        self.shaped.queue.depth().packets
            + match &self.sending {
                Sending::Continuous(continuous) => continuous.held(),
                Sending::Bursts(bursts) => bursts.held(),
            }
    }

    /// State of the queue, with its tokens.
    pub fn internals(&self, now: Instant) -> QueueInternals {
        let tokens = self.shaped.buckets.tokens(now);
        QueueInternals {
            tokens_bytes: (tokens < u64::MAX).then_some(tokens as f64),
            ..self.shaped.queue.internals()
        }
    }

    /// Reports what the tins of its queue have done until now.
    pub fn report_tins(&mut self, recorder: &mut Recorder) {
        self.shaped.queue.report_tins(recorder);
    }

    /// Reports the use until `now` of the limits that it has by itself: its token buckets, and its
    /// unsolicited grants if it has no others. Of these `unmade` belong to MAPs that are not made.
    pub fn report_limits(
        &self,
        now: Instant,
        unmade: Unmade,
        timing: &UpstreamTiming,
        recorder: &mut Recorder,
    ) {
        let queue = self.id();
        let mut buckets = self.shaped.buckets.clone();
        buckets.advance(now);
        let (ahead, not_filled) = match &self.sending {
            Sending::Continuous(stream) => (
                stream.ahead_of_tokens(&buckets),
                stream.room_not_filled(timing),
            ),
            Sending::Bursts(bursts) => (bursts.ahead_of_tokens(&buckets), 0),
        };
        for limit in buckets.limits(now, self.left(recorder) - ahead as f64 * 8.0) {
            recorder.limit(queue, limit);
        }
        if !self.has_grants_only {
            return;
        }
        let MacCounters {
            grants,
            granted_bytes,
            ..
        } = *recorder.mac(queue);
        let unmade_bytes = unmade.minislots * timing.minislot_bytes;
        let headers = (grants + unmade.grants) * timing.mac_header;
        let so_far = LimitUse {
            came: (granted_bytes + unmade_bytes - headers) as f64 * 8.0,
            ready: not_filled as f64 * 8.0,
            passed: self.carried(recorder),
            number: 0,
        };
        recorder.limit(queue, Some(so_far));
    }

    /// Bits of its packets that the modem has dequeued and not dropped.
    fn left(&self, recorder: &Recorder) -> f64 {
        let dequeued = Framing::ETHERNET.bits_of_all(recorder.output_of(self.id()));
        dequeued - self.shaped.dropped as f64 * 8.0
    }

    /// Bits of its packets that grants have carried.
    pub fn carried(&self, recorder: &Recorder) -> f64 {
        let unsent = match &self.sending {
            Sending::Continuous(stream) => stream.unsent(),
            Sending::Bursts(bursts) => bursts.unsent(),
        };
        self.left(recorder) - unsent as f64 * 8.0
    }

    /// Requested bits that MAPs have granted, and that are put into their bursts later.
    pub fn granted_ahead(&self) -> f64 {
        match &self.sending {
            Sending::Continuous(stream) => stream.granted_ahead() as f64 * 8.0,
            Sending::Bursts(_) => 0.0,
        }
    }

    /// Bits of the channel that it has taken: all of the grants that it requested, and the packets
    /// that others carried. A grant without a request that stays empty is no use of the channel.
    pub fn taken(&self) -> f64 {
        self.shaped.taken as f64 * 8.0
    }

    /// Whether the state stays the same until the next packet arrives.
    pub fn is_at_rest(&self, now: Instant) -> bool {
        let ShapedQueue { queue, buckets, .. } = &self.shaped;
        self.held() == 0 && queue.is_at_rest() && buckets.are_full(now)
    }

    /// A packet arrives.
    pub fn arrive(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let shaped = &mut self.shaped;
        if cx.now < self.registered_at {
            return shaped.refuse(packet, DropReason::NotRegistered, cx);
        }
        let before = shaped.queued();
        let (queue, line) = shaped.queue_and_line();
        queue.enqueue(packet, &line, cx);
        self.account(before, cx.now);
        let shaped = &mut self.shaped;
        let added = shaped.queued().saturating_sub(before);
        if let Some(member) = &mut shaped.member {
            member.arrived(added, cx.now);
        }
        if added > 0 && shaped.buckets.waiting() > 0 {
            cx.recorder().mac(shaped.queue.id()).packets_delayed += 1;
        }
    }

    /// Adjusts the token buckets. There were `before` bytes in the queue: additional bytes need
    /// tokens, and removed bytes do not.
    #[inline]
    fn account(&mut self, before: u64, now: Instant) {
        let after = self.shaped.queued();
        if after >= before {
            self.shaped.buckets.add(now, after - before);
        } else {
            sending!(self, forget(&mut self.shaped, before - after, now));
        }
    }

    /// Makes it a flow of an aggregate.
    pub fn join(&mut self, member: Member) {
        self.shaped.member = Some(member);
    }

    /// What it knows of the other flow of its aggregate, if it is part of one.
    pub fn member(&mut self) -> Option<&mut Member> {
        self.shaped.member.as_mut()
    }

    /// The base probability of its control law, if a low-latency queue can be coupled to it.
    pub fn base_probability(&self) -> Option<f64> {
        self.shaped.queue.base_probability()
    }

    /// A packet that its queue does not accept, and that belongs to the classic flow.
    pub fn take_redirected(&mut self) -> Option<Packet> {
        self.shaped.queue.take_redirected()
    }

    /// Sets its nominal rate from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.shaped.rate = rate;
    }

    /// Sets its rate limits and its nominal rate from now on.
    pub fn change(&mut self, limits: Limits, rate: Rate, cx: &mut Context<'_>) {
        self.shaped.buckets.change(cx.now, limits);
        self.shaped.rate = rate;
    }

    /// Sets its quality of service from now on. The scheduling type decides how it requests.
    pub fn change_qos(&mut self, qos: &Qos, rules: &MacRules) {
        self.may_contend = may_contend(qos);
        self.may_piggyback = may_piggyback(qos, rules);
    }

    /// Deletes the flow. Its packets are discarded, and outstanding grants are not used. Packets in
    /// a burst that was already filled are still delivered.
    pub fn delete(&mut self, timing: &UpstreamTiming, cx: &mut Context<'_>) {
        self.is_deleted = true;
        self.request_state = RequestState::Idle;
        self.backoff.reset();
        let unused = sending!(self, abandon(&mut self.shaped, timing, cx));
        let shaped = &mut self.shaped;
        let queue = shaped.queue.id();
        cx.recorder().mac(queue).unused_grant_bytes += unused;
        let (queue, line) = shaped.queue_and_line();
        let reason = DropReason::ServiceFlowDeleted;
        queue.clear(reason, &line, cx);
        shaped.grant_view = None;
        let unsent = shaped.buckets.waiting() + shaped.buckets.cleared();
        shaped.buckets.remove(cx.now, unsent);
    }

    /// Whether it was deleted.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Replaces the queue discipline. The queued packets move to the new one.
    pub fn replace_queue(&mut self, discipline: Box<dyn QueueDiscipline>, cx: &mut Context<'_>) {
        let shaped = &mut self.shaped;
        let before = shaped.queued();
        // The new discipline starts without a grant view of the old one, because it may act on its
        // packets at once.
        shaped.grant_view = discipline.looks_at_grants().then(Box::default);
        let (queue, line) = shaped.queue_and_line();
        queue.replace(discipline, &line, cx);
        self.account(before, cx.now);
    }

    /// A periodic update of the queue discipline may be due.
    pub fn update(&mut self, cx: &mut Context<'_>) {
        let shaped = &mut self.shaped;
        shaped.buckets.advance(cx.now);
        let before = shaped.queued();
        let (queue, line) = shaped.queue_and_line();
        queue.update(&line, cx);
        if shaped.queued() != before {
            self.account(before, cx.now);
        }
    }

    /// Whether queued bytes are not requested, and no burst is planned on which the request could
    /// be piggybacked.
    pub fn must_request(&self) -> bool {
        self.request_state == RequestState::Idle
            && match &self.sending {
                Sending::Continuous(continuous) => {
                    !continuous.awaits_burst(self.may_piggyback)
                        && (self.may_contend_again || !continuous.has_outstanding())
                        && continuous.wants_request(&self.shaped)
                }
                Sending::Bursts(bursts) => bursts.is_idle() && bursts.wants_request(&self.shaped),
            }
    }

    /// The earliest time at which it may contend. While a request is outstanding, that is in the
    /// interval of a MAP without a grant for it: otherwise the burst of the grant carries the
    /// request.
    pub fn contends_from(&self) -> Instant {
        match &self.sending {
            Sending::Continuous(continuous) if continuous.has_outstanding() => self.granted_until,
            _ => Instant::ZERO,
        }
    }

    /// Ends the wait for a contention opportunity, because the burst of a grant carries the request
    /// (MULPI: the modem ends the contention resolution and uses the grant).
    fn stop_contending(&mut self) {
        if let RequestState::Deferring {
            opportunity: Some(_),
            ..
        } = self.request_state
            && self.may_piggyback
        {
            self.request_state = RequestState::Idle;
            self.backoff.reset();
        }
    }

    /// Time from which on bytes can be requested.
    pub fn ready_at(&mut self, cx: &mut Context<'_>) -> Instant {
        sending!(self, ready_at(&mut self.shaped, cx)).max(cx.now)
    }

    /// Whether it may request in contention.
    pub fn may_contend(&self) -> bool {
        self.may_contend
    }

    /// Draws the number of opportunities to skip. Also returns the window.
    pub fn draw(&mut self) -> (u64, u64) {
        (self.backoff.draw(&mut self.rng), self.backoff.window())
    }

    /// The state of its current request.
    pub fn request_state(&self) -> RequestState {
        self.request_state
    }

    /// Sets the state of its current request.
    pub fn set_request_state(&mut self, request_state: RequestState) {
        self.request_state = request_state;
    }

    /// Whether its request has collided before.
    pub fn is_retrying(&self) -> bool {
        self.backoff.collisions() > 0
    }

    /// Requests all bytes that may be requested. Returns the bytes of the request, or `None` if
    /// there are none yet.
    pub fn request(&mut self, timing: &UpstreamTiming, cx: &mut Context<'_>) -> Option<u64> {
        sending!(self, request(&mut self.shaped, timing, cx))
    }

    /// A MAP has acknowledged its contention request.
    pub fn acknowledged(&mut self) {
        self.request_state = RequestState::Idle;
        self.backoff.reset();
    }

    /// A MAP did not acknowledge its contention request of `bytes`. Returns true if there were too
    /// many tries. In that case the requested packets are dropped.
    pub fn collided(&mut self, bytes: u64, timing: &UpstreamTiming, cx: &mut Context<'_>) -> bool {
        self.request_state = RequestState::Idle;
        self.backoff.collided();
        sending!(self, lost(bytes));
        // The first try is not a retry.
        let is_given_up = self.backoff.collisions() >= self.retries.max(1);
        if is_given_up {
            self.backoff.reset();
            sending!(self, give_up(&mut self.shaped, bytes, timing, cx));
        }
        is_given_up
    }

    /// Whether its queue discipline uses what MAPs [grant](Self::note_grants).
    pub fn looks_at_grants(&self) -> bool {
        self.shaped.grant_view.is_some()
    }

    /// A MAP over `interval` granted `granted` bytes and leaves `pending` bytes outstanding.
    pub fn note_grants(&mut self, granted: u64, pending: u64, interval: Duration) {
        if let Some(grant_view) = &mut self.shaped.grant_view {
            grant_view.tell(granted, pending, interval);
        }
    }

    /// The interval of a MAP with a grant ends at `end`.
    pub fn note_map(&mut self, end: Instant) {
        self.granted_until = end;
    }

    /// A MAP brings a grant. Returns the time to prepare its burst, if a request may be piggybacked
    /// on it, and what the burst carries, if it is filled now.
    pub fn granted(
        &mut self,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<Instant>, Option<Carried>) {
        self.shaped.taken += grant.minislots * timing.minislot_bytes;
        let carried = sending!(self, granted(&mut self.shaped, grant, timing, cx));
        if let Some(carried) = carried {
            self.note_carried(carried, cx);
        }
        self.stop_contending();
        let is_awaited = match &mut self.sending {
            Sending::Continuous(_) => true,
            Sending::Bursts(bursts) if self.may_piggyback => bursts.awaits_burst(),
            Sending::Bursts(bursts) => {
                bursts.skip_burst();
                false
            }
        };
        let prepare_at = is_awaited.then(|| preparation(grant, timing, cx.now));
        (prepare_at, carried)
    }

    /// Whether unsolicited grants are filled when their bursts are prepared, and not when the MAP
    /// arrives.
    pub fn fills_at_burst(&self) -> bool {
        matches!(&self.sending, Sending::Continuous(continuous) if continuous.fills_at_burst())
    }

    /// An unsolicited grant arrives, and queued packets may use it. The result is that of
    /// [`granted`](Self::granted).
    pub fn given(
        &mut self,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<Instant>, Option<Carried>) {
        if let Sending::Continuous(continuous) = &mut self.sending
            && continuous.fills_at_burst()
        {
            let begins = timing.minislot_start(grant.map, grant.first);
            if begins < cx.now + timing.latest_preparation() {
                // The MAP was made late, for a later grant. Nothing waited for this one.
                let queue = self.shaped.queue.id();
                cx.recorder().mac(queue).unused_grant_bytes += timing.room(grant.minislots);
                return (None, None);
            }
            continuous.await_burst(grant, timing);
            return (Some(preparation(grant, timing, cx.now)), None);
        }
        let carried = sending!(self, given(&mut self.shaped, grant, timing, cx));
        self.note_carried(carried, cx);
        let prepare_at = match &mut self.sending {
            Sending::Continuous(continuous)
                if self.may_piggyback && carried.unused < timing.room(grant.minislots) =>
            {
                continuous.await_burst(grant, timing);
                Some(preparation(grant, timing, cx.now))
            }
            _ => None,
        };
        if prepare_at.is_some() {
            self.stop_contending();
        }
        (prepare_at, Some(carried))
    }

    /// Prepares the next burst. Returns the piggybacked request and its sending time, and what the
    /// burst carries, if that was not known. No request is piggybacked on a grant that stays empty.
    pub fn prepare_burst(
        &mut self,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<(u64, Instant)>, Option<Carried>) {
        let (sent, carried) = sending!(self, prepare_burst(&mut self.shaped, timing, cx));
        if let Some(carried) = carried {
            self.note_carried(carried, cx);
        }
        let Some(sent) = sent else {
            return (None, carried);
        };
        let (queue, now) = (self.shaped.queue.id(), cx.now);
        cx.recorder().prepared(now, queue, sent);
        if !self.may_piggyback {
            return (None, carried);
        }
        self.stop_contending();
        let request = self.request(timing, cx).map(|bytes| (bytes, sent));
        (request, carried)
    }

    fn note_carried(&mut self, carried: Carried, cx: &mut Context<'_>) {
        let queue = self.shaped.queue.id();
        cx.recorder().mac(queue).unused_grant_bytes += carried.unused;
        if carried.credit == 0 {
            self.shaped.taken += carried.pdu;
        }
    }
}

/// Whether a flow may request in contention.
fn may_contend(qos: &Qos) -> bool {
    let is_given = matches!(qos.scheduling, Scheduling::Ugs(_) | Scheduling::RtPs(_));
    !qos.policy.no_contention && !is_given
}

/// Whether requests may be piggybacked on its bursts.
fn may_piggyback(qos: &Qos, rules: &MacRules) -> bool {
    let asks = !matches!(qos.scheduling, Scheduling::Ugs(_));
    rules.piggyback && !qos.policy.no_piggyback && asks
}

/// The time to prepare the burst of a grant.
fn preparation(grant: Grant, timing: &UpstreamTiming, now: Instant) -> Instant {
    (timing.minislot_start(grant.map, grant.first) - timing.burst_preparation).max(now)
}

/// Largest burst of several packets. Zero: a burst is one packet.
fn burst_limit(rules: &MacRules, policy: RequestPolicy) -> u64 {
    match (policy.no_concatenation, rules.max_burst) {
        (true, _) => 0,
        (false, 0) => rules.concatenation,
        (false, most) => rules.concatenation.min(most),
    }
}

/// Bytes of the largest burst that is requested at once: several packets, or the longest packet.
pub fn largest_burst(rules: &MacRules, policy: RequestPolicy, mac_header: u64) -> u64 {
    let longest = mac_header + Framing::ETHERNET.size_on_wire(1500);
    burst_limit(rules, policy).max(longest)
}
