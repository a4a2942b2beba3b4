//! An upstream service flow at the modem: its queue with its rate limits, and how it stands with its requests.
//!
//! What is asked for and how grants are filled is the business of the generation: [`Continuous`] (DOCSIS 3.0 and later) or [`Bursts`]
//! (before).

use super::bursts::Bursts;
use super::cmts::Grant;
use super::contention::Backoff;
use super::continuous::Continuous;
use super::qos::{Qos, RequestPolicy, Scheduling};
use super::setup::{Contention, MacRules, UpstreamFlow};
use super::timing::UpstreamTiming;
use super::token_bucket::{Limits, TokenBuckets};
use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::qdisc::{Queue, QueueDiscipline};
use crate::queue::{Framing, GrantView, LineView, Shaper};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId};
use crate::units::Rate;

/// When a queue gives up the packets of a grant.
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
pub enum DequeueAt {
    /// When the burst is prepared, just before it is sent. Simulators whose modem dequeues at that time compare with this one.
    Burst,
    /// When the MAP with the grant arrives: the modem then assembles all bursts of the MAP, as silicon does (AQM paper §3.2). The
    /// law does not see what a packet waits for its burst after that: the modem's MAP processing time, and up to a MAP interval.
    #[default]
    Map,
    /// When it is requested: the discipline schedules packets into one transmit queue before the MAP arrives, from which bursts are
    /// filled in order (AQM paper §3.2, of flow queues). The law does not see the time from request to grant either. Before DOCSIS
    /// 3.0 this is always so, as a request is for an assembled burst.
    Request,
}

/// What the burst of a grant carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Bytes of requests that the CMTS counts as granted and that are accounted for now; zero for an unsolicited grant.
    pub credit: u64,
    /// Bytes of PDU: what the rate limits count.
    pub pdu: u64,
    /// Bytes for MAC frames that held nothing.
    pub unused: u64,
}

/// How a flow stands with the request it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// It is about none.
    Nothing,
    /// It will send one at a time chosen: in a contention opportunity, or when it is polled.
    Deferring {
        /// When.
        at: Instant,
        /// The opportunity; `None` is a poll.
        opportunity: Option<u64>,
    },
    /// One was sent in contention, and no MAP has acknowledged it yet.
    InTheAir,
    /// It waits for a grant that comes without being asked for.
    Expecting,
}

/// What waits at the modem, and the line it waits for.
#[derive(Debug)]
pub struct Supply {
    /// The queue.
    pub queue: Queue,
    /// Which of the waiting bytes may be asked for.
    pub buckets: TokenBuckets,
    rate: Rate,
    /// What the MAPs have told, if the queue looks at that.
    told: Option<Box<GrantView>>,
    /// When the latest packet sent comes out of the CMTS.
    last_delivery: Instant,
}

impl Supply {
    /// The next packet from the queue.
    #[inline]
    pub fn take(&mut self, cx: &mut Context<'_>) -> Option<Packet> {
        let line = line(self.rate, &self.buckets, self.told.as_deref());
        self.queue.dequeue(&line, cx)
    }

    /// Bytes in the queue.
    pub fn queued(&self) -> u64 {
        self.queue.depth().bytes
    }

    /// A packet has been put into a burst and comes out of the CMTS at `at`, or when those before it have: it puts them in order.
    #[inline]
    pub fn send(&mut self, packet: Packet, at: Instant, cx: &mut Context<'_>) {
        self.last_delivery = self.last_delivery.max(at);
        cx.note_loaded(self.queue.id(), &packet, self.last_delivery);
        cx.forward(packet, self.last_delivery);
    }

    /// The modem gives a packet up that it had taken from the queue.
    pub fn discard(&self, packet: Packet, reason: DropReason, cx: &mut Context<'_>) {
        cx.enter_queue(self.queue.id());
        cx.discard(packet, reason);
    }
}

#[derive(Debug)]
enum Sending {
    Continuous(Continuous),
    Bursts(Bursts),
}

/// Calls a method of whichever way of sending it is.
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
pub struct ServiceFlow {
    /// Nothing goes through the modem before.
    registered_at: Instant,
    is_deleted: bool,
    supply: Supply,
    /// How it requests bandwidth.
    asking: Asking,
    may_contend: bool,
    /// It may contend while a request of it is outstanding.
    may_contend_again: bool,
    may_piggyback: bool,
    /// Contention attempts before it gives a request up.
    retries: u8,
    backoff: Backoff,
    rng: Rng,
    /// How it fills its grants.
    sending: Sending,
    /// When the interval of the latest MAP with a grant ends.
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
            supply: Supply {
                told: first_view(flow.queue.looks_at_grants()),
                queue: flow.queue,
                buckets: TokenBuckets::new(flow.limits),
                rate: flow.rate,
                last_delivery: Instant::ZERO,
            },
            sending: if rules.continuous {
                Sending::Continuous(Continuous::new(flow.dequeue_at))
            } else {
                Sending::Bursts(Bursts::new(burst_limit(rules, policy)))
            },
            asking: Asking::Nothing,
            backoff: Backoff::new(contention.data_start, contention.data_end),
            rng: flow.rng,
            may_contend: may_contend(&flow.qos),
            may_contend_again: !policy.no_contention_while_outstanding,
            granted_until: Instant::ZERO,
            may_piggyback: may_piggyback(&flow.qos, rules),
            is_deleted: false,
            retries: contention.retries,
            registered_at,
        }
    }

    /// Its queue's name in records.
    pub fn id(&self) -> QueueId {
        self.supply.queue.id()
    }

    /// Packets it holds.
    pub fn held(&self) -> u64 {
        self.supply.queue.depth().packets
            + match &self.sending {
                Sending::Continuous(continuous) => continuous.held(),
                Sending::Bursts(bursts) => bursts.held(),
            }
    }

    /// The queue's inner state, and its tokens.
    pub fn internals(&self, now: Instant) -> QueueInternals {
        let tokens = self.supply.buckets.tokens(now);
        QueueInternals {
            tokens_bytes: (tokens < u64::MAX).then_some(tokens as f64),
            ..self.supply.queue.internals()
        }
    }

    /// Whether nothing changes before the next packet comes.
    pub fn is_at_rest(&self, now: Instant) -> bool {
        let Supply { queue, buckets, .. } = &self.supply;
        self.held() == 0 && queue.is_at_rest() && buckets.are_full(now)
    }

    /// A packet arrives.
    pub fn arrive(&mut self, packet: Packet, cx: &mut Context<'_>) {
        let supply = &mut self.supply;
        if cx.now < self.registered_at {
            return supply.discard(packet, DropReason::NotRegistered, cx);
        }
        let before = supply.queued();
        let line = line(supply.rate, &supply.buckets, supply.told.as_deref());
        supply.queue.enqueue(packet, &line, cx);
        self.account(before, cx.now);
    }

    /// There were `before` bytes in the queue: what is more now needs tokens, what is gone does not.
    #[inline]
    fn account(&mut self, before: u64, now: Instant) {
        let after = self.supply.queued();
        if after >= before {
            self.supply.buckets.add(now, after - before);
        } else {
            sending!(self, forget(&mut self.supply, before - after, now));
        }
    }

    /// Its limits and its nominal rate are others from now on.
    pub fn change(&mut self, limits: Limits, rate: Rate, cx: &mut Context<'_>) {
        self.supply.buckets.change(cx.now, limits);
        self.supply.rate = rate;
    }

    /// The CMTS treats it otherwise from now on: it asks as its scheduling type has it.
    pub fn change_qos(&mut self, qos: &Qos, rules: &MacRules) {
        self.may_contend = may_contend(qos);
        self.may_piggyback = may_piggyback(qos, rules);
    }

    /// It is deleted: all that it holds is discarded, and grants under way are not used. What is in
    /// a burst already goes on its way.
    pub fn delete(&mut self, timing: &UpstreamTiming, cx: &mut Context<'_>) {
        self.is_deleted = true;
        self.asking = Asking::Nothing;
        self.backoff.reset();
        let unused = sending!(self, abandon(&self.supply, timing, cx));
        let supply = &mut self.supply;
        let queue = supply.queue.id();
        cx.recorder().mac(queue).unused_grant_bytes += unused;
        let line = line(supply.rate, &supply.buckets, supply.told.as_deref());
        let reason = DropReason::ServiceFlowDeleted;
        supply.queue.clear(reason, &line, cx);
        supply.told = None;
        let nobody_s = supply.buckets.waiting() + supply.buckets.cleared();
        supply.buckets.remove(cx.now, nobody_s);
    }

    /// Whether it was deleted.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Its queue is another discipline from now on, into which moves what waits.
    pub fn replace_queue(&mut self, discipline: Box<dyn QueueDiscipline>, cx: &mut Context<'_>) {
        let supply = &mut self.supply;
        let before = supply.queued();
        // What the earlier one was told is not for the new one, which what waits may wake at once.
        supply.told = first_view(discipline.looks_at_grants());
        let line = line(supply.rate, &supply.buckets, supply.told.as_deref());
        supply.queue.replace(discipline, &line, cx);
        self.account(before, cx.now);
    }

    /// The law's periodic update may be due.
    pub fn update(&mut self, cx: &mut Context<'_>) {
        let supply = &mut self.supply;
        supply.buckets.advance(cx.now);
        let before = supply.queued();
        let line = line(supply.rate, &supply.buckets, supply.told.as_deref());
        supply.queue.update(&line, cx);
        if supply.queued() != before {
            self.account(before, cx.now);
        }
    }

    /// Whether something waits that is not requested, and no burst is known in which a request could ride.
    pub fn must_ask(&self) -> bool {
        self.asking == Asking::Nothing
            && match &self.sending {
                Sending::Continuous(continuous) => {
                    !continuous.awaits_burst()
                        && (self.may_contend_again || !continuous.has_outstanding())
                        && continuous.wants_request(&self.supply)
                }
                Sending::Bursts(bursts) => bursts.is_idle() && bursts.wants_request(&self.supply),
            }
    }

    /// When it may contend at the earliest. While a request is outstanding, in the interval of a MAP that brings it no grant: the
    /// burst of a grant would carry the request.
    pub fn contends_from(&self) -> Instant {
        match &self.sending {
            Sending::Continuous(continuous) if continuous.has_outstanding() => self.granted_until,
            _ => Instant::ZERO,
        }
    }

    /// A grant has come while it waits for its opportunity to contend: its burst carries the request (MULPI: the modem ends the
    /// contention resolution and uses the grant).
    fn stop_contending(&mut self) {
        if let Asking::Deferring {
            opportunity: Some(_),
            ..
        } = self.asking
            && self.may_piggyback
        {
            self.asking = Asking::Nothing;
            self.backoff.reset();
        }
    }

    /// When there will be something to ask for.
    pub fn ready_at(&mut self, cx: &mut Context<'_>) -> Instant {
        sending!(self, ready_at(&mut self.supply, cx)).max(cx.now)
    }

    /// Whether it may ask in contention regions.
    pub fn may_contend(&self) -> bool {
        self.may_contend
    }

    /// Draws the opportunity to ask in, counted from the first one it could use; and the window it was drawn from.
    pub fn draw(&mut self) -> (u64, u64) {
        (self.backoff.draw(&mut self.rng), self.backoff.window())
    }

    /// How it stands with its request.
    pub fn asking(&self) -> Asking {
        self.asking
    }

    /// It stands otherwise with its request now.
    pub fn set_asking(&mut self, asking: Asking) {
        self.asking = asking;
    }

    /// Whether its request has collided before.
    pub fn is_retrying(&self) -> bool {
        self.backoff.collisions() > 0
    }

    /// Asks for everything that may be asked for: the bytes of the request, or `None` if there is nothing yet.
    pub fn request(&mut self, timing: &UpstreamTiming, cx: &mut Context<'_>) -> Option<u64> {
        sending!(self, request(&mut self.supply, timing, cx))
    }

    /// A MAP acknowledged its contention request.
    pub fn heard(&mut self) {
        self.asking = Asking::Nothing;
        self.backoff.reset();
    }

    /// A MAP passed over its contention request, of `bytes`. True if it has been tried too often: what it asked for is discarded then.
    pub fn collided(&mut self, bytes: u64, timing: &UpstreamTiming, cx: &mut Context<'_>) -> bool {
        self.asking = Asking::Nothing;
        self.backoff.collided();
        sending!(self, lost(bytes));
        // The first time is no retry.
        let is_given_up = self.backoff.collisions() >= self.retries.max(1);
        if is_given_up {
            self.backoff.reset();
            sending!(self, give_up(&mut self.supply, bytes, timing, cx));
        }
        is_given_up
    }

    /// Whether its queue looks at what MAPs [tell](Self::told).
    pub fn looks_at_grants(&self) -> bool {
        self.supply.told.is_some()
    }

    /// A MAP over `interval` brought this many bytes, and leaves this many pending.
    pub fn told(&mut self, granted: u64, pending: u64, interval: Duration) {
        if let Some(told) = &mut self.supply.told {
            told.tell(granted, pending, interval);
        }
    }

    /// A MAP with a grant describes the time until `end`.
    pub fn note_map(&mut self, end: Instant) {
        self.granted_until = end;
    }

    /// A MAP brought a grant. When its burst is to be prepared, if a request may ride in it; and what it carries, if it is filled now.
    pub fn granted(
        &mut self,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<Instant>, Option<Carried>) {
        let carried = sending!(self, granted(&mut self.supply, grant, timing, cx));
        if let Some(carried) = carried {
            self.count_unused(carried, cx);
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

    /// A grant came that was not requested: what waits may use it. As of [`granted`](Self::granted).
    pub fn given(
        &mut self,
        grant: Grant,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<Instant>, Option<Carried>) {
        let carried = sending!(self, given(&mut self.supply, grant, timing, cx));
        self.count_unused(carried, cx);
        let prepare_at = match &mut self.sending {
            Sending::Continuous(continuous)
                if self.may_piggyback && carried.unused < timing.room(grant.minislots) =>
            {
                continuous.await_burst(grant);
                Some(preparation(grant, timing, cx.now))
            }
            _ => None,
        };
        if prepare_at.is_some() {
            self.stop_contending();
        }
        (prepare_at, Some(carried))
    }

    /// Its next burst is being prepared: the request that rides in it, and when it is sent; and what the burst carries, if that was
    /// not known.
    pub fn prepare_burst(
        &mut self,
        timing: &UpstreamTiming,
        cx: &mut Context<'_>,
    ) -> (Option<(u64, Instant)>, Option<Carried>) {
        let (sent, carried) = sending!(self, prepare_burst(&mut self.supply, timing, cx));
        if let Some(carried) = carried {
            self.count_unused(carried, cx);
        }
        let (queue, now) = (self.supply.queue.id(), cx.now);
        cx.recorder().prepared(now, queue, sent);
        let request = if self.may_piggyback {
            self.request(timing, cx).map(|bytes| (bytes, sent))
        } else {
            None
        };
        (request, carried)
    }

    fn count_unused(&self, carried: Carried, cx: &mut Context<'_>) {
        let queue = self.supply.queue.id();
        cx.recorder().mac(queue).unused_grant_bytes += carried.unused;
    }
}

/// Whether a flow may ask in contention regions.
fn may_contend(qos: &Qos) -> bool {
    let is_given = matches!(qos.scheduling, Scheduling::Ugs(_) | Scheduling::RtPs(_));
    !qos.policy.no_contention && !is_given
}

/// Whether its bursts may carry requests.
fn may_piggyback(qos: &Qos, rules: &MacRules) -> bool {
    let asks = !matches!(qos.scheduling, Scheduling::Ugs(_));
    rules.piggyback && !qos.policy.no_piggyback && asks
}

/// What a queue has been told before the first MAP, if it looks at that.
fn first_view(looks: bool) -> Option<Box<GrantView>> {
    looks.then(Box::default)
}

/// When the burst of a grant is to be prepared.
fn preparation(grant: Grant, timing: &UpstreamTiming, now: Instant) -> Instant {
    (timing.minislot_start(grant.map, grant.first) - timing.burst_preparation).max(now)
}

/// The largest burst that is put together of several packets; zero: none is.
fn burst_limit(rules: &MacRules, policy: RequestPolicy) -> u64 {
    match (policy.no_concatenation, rules.max_burst) {
        (true, _) => 0,
        (false, 0) => rules.concatenation,
        (false, most) => rules.concatenation.min(most),
    }
}

/// Bytes of the largest burst that is asked for at once: several packets, or the longest one.
pub fn largest_burst(rules: &MacRules, policy: RequestPolicy, mac_header: u64) -> u64 {
    let longest = mac_header + Framing::ETHERNET.of_size(1500);
    burst_limit(rules, policy).max(longest)
}

/// What the queue may know of its line.
fn line<'a>(rate: Rate, buckets: &'a TokenBuckets, told: Option<&GrantView>) -> LineView<'a> {
    LineView {
        rate,
        mtu: 1500,
        framing: Framing::ETHERNET,
        shaper: Some(buckets),
        grants: told.copied(),
    }
}
