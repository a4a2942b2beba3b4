//! The DOCSIS cable line: one link with both directions.
//!
//! Physical layer and timing:
//!
//! - [`preset`]: the plants of the DOCSIS generations, made of [physical channels](phy).
//! - [`timing`]: frames, minislots, MAPs, symbols.
//!
//! Modem:
//!
//! - [`classifier`]: which service flow of a modem a packet belongs to.
//! - [`service_flow`]: an upstream service flow at the modem. It sends [continuously](continuous)
//!   or in [`bursts`] from a [`shaped_queue`].
//! - [`contention`]: which requests in contention reach the CMTS.
//! - [`ranging`]: how modems register.
//! - [`neighbours`]: other customers, as a load.
//!
//! Both ends:
//!
//! - [`grant`]: a part of a MAP for one service flow, and what its burst carried.
//! - [`low_latency`]: aggregates of a classic and a low-latency service flow.
//!
//! CMTS:
//!
//! - [`cmts`]: the upstream scheduler, with [periodic] grants and the
//!   [occupancy of a MAP](map_occupancy).
//! - [`downstream_scheduler`]: the downstream scheduler.
//!
//! Events: [`upstream`] and [`downstream`], one for each direction.
//!
//! Port 2 × modem is up, port 2 × modem + 1 is down. docs/models/docsis.md says what is modelled,
//! with sources, and what is left out.

pub mod bursts;
pub mod classifier;
pub mod cmts;
pub mod contention;
pub mod continuous;
pub mod downstream;
pub mod downstream_scheduler;
pub mod grant;
pub mod idle_queues;
pub mod low_latency;
pub mod map_occupancy;
pub mod neighbours;
pub mod periodic;
pub mod phy;
pub mod preset;
pub mod qos;
pub mod ranging;
pub mod service_flow;
pub mod setup;
pub mod shaped_queue;
pub mod timing;
pub mod upstream;

use std::collections::VecDeque;

use crate::context::Context;
use crate::flow::Port;
use crate::link::{Link, Visitor};
use crate::metrics::Recorder;
use crate::metrics::channel::ChannelUse;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::{DropReason, QueueId};

use classifier::{Classifiers, ModemPort, Seen, Verdict};
use downstream::Downstream;
use setup::{FlowChange, Kind};
use upstream::Upstream;

/// A cable line with its modems.
#[derive(Debug)]
pub struct DocsisLink {
    upstream: Upstream,
    downstream: Downstream,
    /// By port.
    modem_ports: Vec<ModemPort>,
    classifiers: Vec<Classifiers>,
    /// In order of time.
    changes: VecDeque<FlowChange>,
}

/// Token of the wake-up for a change. Neither direction uses this value.
const CHANGE: u64 = u64::MAX;

/// Whether packets enter the upstream at this port.
fn is_upstream(port: Port) -> bool {
    port.0.is_multiple_of(2)
}

impl DocsisLink {
    /// Puts the two directions together. `modem_ports` are in the order of
    /// the modems, and refer to their `classifiers`, if they have any.
    pub fn new(
        upstream: Upstream,
        downstream: Downstream,
        modem_ports: Vec<ModemPort>,
        classifiers: Vec<Classifiers>,
    ) -> Self {
        Self {
            upstream,
            downstream,
            modem_ports,
            classifiers,
            changes: VecDeque::new(),
        }
    }

    /// Sets the changes during the run. They must be in order of time.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<FlowChange>) -> Self {
        debug_assert!(changes.is_sorted_by_key(|change| change.at));
        self.changes = changes.into();
        self
    }

    /// The service flow that takes a packet, as an index among all flows of the direction. `None`
    /// if a classifier drops the packet.
    #[inline]
    fn classify(&self, port: Port, packet: &Packet, cx: &Context<'_>) -> Option<usize> {
        let modem_port = self.modem_ports[usize::from(port.0)];
        let Some(classifiers) = modem_port.classifiers else {
            return Some(modem_port.primary as usize);
        };
        let seen = Seen::of(cx.header(packet.flow), packet, is_upstream(port));
        match self.classifiers[classifiers as usize].classify(&seen) {
            Verdict::Drop => None,
            Verdict::Flow(flow) => Some((modem_port.primary + flow) as usize),
        }
    }

    fn make_changes(&mut self, cx: &mut Context<'_>) {
        while let Some(change) = self.changes.pop_front() {
            if change.at > cx.now {
                cx.wake_at(change.at, CHANGE);
                self.changes.push_front(change);
                return;
            }
            self.change(change, cx);
        }
    }
}

impl DocsisLink {
    fn change(&mut self, change: FlowChange, cx: &mut Context<'_>) {
        let FlowChange {
            flow,
            limits,
            rate,
            qos,
            queue,
            ..
        } = change;
        // MULPI §7.5.1: the classifiers of a service flow are created and deleted with it. No
        // classifier selects a service flow that does not exist.
        if let Some((port, classifiers)) = change.classifiers {
            self.modem_ports[port].classifiers = (!classifiers.is_empty()).then(|| {
                self.classifiers.push(classifiers);
                self.classifiers.len() as u32 - 1
            });
        }
        match (change.kind, change.is_upstream) {
            (Kind::Delete, true) => self.upstream.delete(flow, cx),
            (Kind::Delete, false) => self.downstream.delete(flow, cx),
            (Kind::Create | Kind::Modify, true) => {
                self.upstream.change(flow, limits, rate, &qos, cx);
                if let Some(queue) = queue {
                    self.upstream.replace_queue(flow, queue, cx);
                }
            }
            (Kind::Create | Kind::Modify, false) => {
                self.downstream.change(flow, limits, rate, &qos, cx);
                if let Some(queue) = queue {
                    self.downstream.replace_queue(flow, queue, cx);
                }
            }
        }
    }
}

impl Link for DocsisLink {
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        match self.classify(port, &packet, cx) {
            None => cx.discard(packet, DropReason::Filtered),
            Some(flow) if is_upstream(port) => self.upstream.arrive(flow, packet, cx),
            Some(flow) => self.downstream.arrive(flow, packet, cx),
        }
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        if token == CHANGE {
            self.make_changes(cx);
        } else if token & 1 == 0 {
            self.upstream.wake(upstream::Wake::from_token(token), cx);
        } else {
            self.downstream
                .wake(downstream::Wake::from_token(token), cx);
        }
    }

    fn first_wake(&self) -> Option<(Instant, u64)> {
        let first = self.changes.front()?;
        Some((first.at, CHANGE))
    }

    fn give_changes(&mut self) -> VecDeque<FlowChange> {
        std::mem::take(&mut self.changes)
    }

    fn take_changes(&mut self, changes: VecDeque<FlowChange>) -> Option<(Instant, u64)> {
        self.changes = changes;
        self.first_wake()
    }

    fn internals(&self, queue: QueueId, now: Instant) -> Option<QueueInternals> {
        self.upstream.internals(queue, now)
    }

    fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>) {
        self.upstream.visit_queues(now, visit);
        self.downstream.visit_queues(now, visit);
    }

    fn visit_channels(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        self.upstream.visit_channel(now, visit);
        self.downstream.visit_channel(now, visit);
    }

    fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        self.upstream.report_limits(now, recorder);
        self.downstream.report_limits(now, recorder);
    }

    fn report_tins(&mut self, recorder: &mut Recorder) {
        self.upstream.report_tins(recorder);
        self.downstream.report_tins(recorder);
    }

    fn held(&self) -> u64 {
        self.upstream.held() + self.downstream.held()
    }
}
