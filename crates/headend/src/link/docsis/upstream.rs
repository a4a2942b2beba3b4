//! The upstream of a line: contention, MAPs, grants and bursts, as events.
//!
//! Nothing happens on an idle upstream. A MAP is made (here: at its arrival at the modems, after which its making and its journey are
//! history) only when a request is to be answered.

use super::cmts::{Cmts, Grant};
use super::service_flow::ServiceFlow;
use super::setup::UpstreamSetup;
use super::timing::UpstreamTiming;
use crate::context::{Context, QueueInternals};
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::trace::QueueId;

/// What an upstream wake-up is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wake {
    /// A service flow's burst is to be prepared.
    Burst(usize),
    /// A service flow's contention request is to be sent.
    Contention(usize),
    /// A MAP arrives.
    Map,
    /// A queue's law is due.
    Update(usize),
}

/// Distance of request opportunities, at least.
const OPPORTUNITY: Duration = Duration::from_micros(100);

/// The upstream.
#[derive(Debug)]
pub struct Upstream {
    timing: UpstreamTiming,
    flows: Vec<ServiceFlow>,
    cmts: Cmts,
    /// The next MAP that matters.
    next_map: Option<u64>,
    /// First backoff window, in request opportunities.
    window: u64,
    grants: Vec<Grant>,
}

impl Upstream {
    /// An idle upstream.
    pub fn new(setup: UpstreamSetup) -> Self {
        let UpstreamSetup {
            timing,
            contention,
            flows,
            placement,
            capacity,
            rng,
            ..
        } = setup;
        Self {
            cmts: Cmts::new(flows.len(), placement, capacity, rng),
            timing,
            flows: flows.into_iter().map(ServiceFlow::new).collect(),
            next_map: None,
            window: 1 << contention.data_start,
            grants: Vec::with_capacity(8),
        }
    }

    /// A packet arrives at a service flow.
    pub fn offer(&mut self, flow: usize, packet: Packet, cx: &mut Context<'_>) {
        self.flows[flow].offer(packet, cx);
        if self.flows[flow].is_idle() && self.flows[flow].wants_request() {
            self.contend(flow, cx.now, cx);
        }
    }

    /// Handles a wake-up.
    pub fn wake(&mut self, wake: Wake, cx: &mut Context<'_>) {
        match wake {
            Wake::Burst(flow) => {
                if let Some((bytes, sent)) = self.flows[flow].prepare_burst(&self.timing, cx) {
                    self.request(flow, bytes, sent, false, cx);
                } else if self.flows[flow].is_idle() && self.flows[flow].wants_request() {
                    let ready = self.flows[flow].ready_at();
                    self.contend(flow, ready.max(cx.now), cx);
                }
            }
            Wake::Contention(flow) => self.send_contention(flow, cx),
            Wake::Map => self.receive_map(cx),
            Wake::Update(flow) => self.flows[flow].update(cx),
        }
    }

    /// Calls `visit` with each queue.
    pub fn visit_queues(&self, now: Instant, visit: &mut dyn FnMut(QueueId, QueueInternals)) {
        for flow in &self.flows {
            visit(flow.queue().id(), flow.internals(now));
        }
    }

    /// Packets held.
    pub fn held(&self) -> u64 {
        self.flows.iter().map(ServiceFlow::held).sum()
    }

    /// Chooses a request opportunity within the backoff window, for a request that is ready at `ready`.
    fn contend(&mut self, flow: usize, ready: Instant, cx: &mut Context<'_>) {
        let spacing = self.timing.frame
            * OPPORTUNITY
                .as_nanos()
                .div_ceil(self.timing.frame.as_nanos());
        let first = self
            .timing
            .next_frame(ready + self.timing.burst_preparation);
        let at = first + spacing * self.flows[flow].draw(self.window);
        self.flows[flow].contend(at);
        cx.wake_at(at, Wake::Contention(flow).token());
    }

    fn send_contention(&mut self, flow: usize, cx: &mut Context<'_>) {
        if !self.flows[flow].take_contention(cx.now) {
            return;
        }
        if let Some(bytes) = self.flows[flow].request(&self.timing, cx.now) {
            self.request(flow, bytes, cx.now, true, cx);
        } else if self.flows[flow].wants_request() {
            let ready = self.flows[flow].ready_at();
            self.contend(flow, ready.max(cx.now), cx);
        }
    }

    /// A request leaves at `sent`.
    fn request(
        &mut self,
        flow: usize,
        bytes: u64,
        sent: Instant,
        contention: bool,
        cx: &mut Context<'_>,
    ) {
        let queue = self.flows[flow].queue().id();
        let now = cx.now;
        cx.recorder().requested(now, queue, bytes, contention);
        self.cmts.request(flow, sent, bytes);
        self.expect_map(self.timing.first_map_for(sent, cx.now), cx);
    }

    fn expect_map(&mut self, map: u64, cx: &mut Context<'_>) {
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
        let mut grants = std::mem::take(&mut self.grants);
        self.cmts.schedule(map, &self.timing, &mut grants);
        for flow in 0..self.flows.len() {
            let grant = grants.iter().find(|grant| grant.flow == flow);
            let granted = grant.map_or(0, |grant| grant.credit);
            self.flows[flow].told(granted, self.cmts.pending(flow), &self.timing);
            // As in the ns-3 module: a MAP without a grant for the flow, and data not asked for: contend.
            if grant.is_none() && self.flows[flow].wants_request() {
                self.contend(flow, cx.now, cx);
            }
        }
        for grant in grants.drain(..) {
            self.receive_grant(grant, cx);
        }
        self.grants = grants;
        if self.cmts.has_backlog() {
            self.expect_map(map + 1, cx);
        } else if let Some(at) = self.cmts.next_request() {
            self.expect_map(self.timing.first_map_for(at, cx.now).max(map + 1), cx);
        }
    }

    fn receive_grant(&mut self, grant: Grant, cx: &mut Context<'_>) {
        let queue = self.flows[grant.flow].queue().id();
        let bytes = grant.minislots * self.timing.minislot_bytes;
        let start = self.timing.minislot_start(grant.map, grant.first);
        let now = cx.now;
        cx.recorder().granted(now, queue, bytes, start);
        let prepare = self.flows[grant.flow].granted(grant, &self.timing, cx);
        cx.wake_at(prepare, Wake::Burst(grant.flow).token());
    }
}

impl Wake {
    /// As a link's token; bit 0 is left to the direction.
    pub fn token(self) -> u64 {
        let (kind, flow) = match self {
            Self::Burst(flow) => (0, flow),
            Self::Contention(flow) => (1, flow),
            Self::Map => (2, 0),
            Self::Update(flow) => (3, flow),
        };
        (flow as u64) << 3 | kind << 1
    }

    /// From a link's token.
    pub fn from_token(token: u64) -> Self {
        let flow = (token >> 3) as usize;
        match (token >> 1) & 3 {
            0 => Self::Burst(flow),
            1 => Self::Contention(flow),
            2 => Self::Map,
            _ => Self::Update(flow),
        }
    }
}
