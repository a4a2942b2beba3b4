//! The DOCSIS cable line: one link with both directions.
//!
//! - [`preset`]: the plants of the generations, of [physical channels](phy); [`timing`]: frames, minislots, MAPs, symbols.
//! - [`token_bucket`]: sustained and peak rate. [`service_flow`]: an upstream flow at the modem, and how it sends: [`continuous`] or in [`bursts`].
//! - [`contention`]: whose request is heard. [`ranging`]: how modems come up. [`neighbours`]: others as a load.
//! - [`cmts`]: the upstream scheduler, with what is [given regularly](periodic) and the [space] of a MAP; [`downstream_scheduler`]: the downstream one.
//! - [`upstream`] and [`downstream`]: the two directions as events.
//! - [`classifier`]: which service flow of a modem takes a packet.
//!
//! Ports: 2 × modem + direction, 0 up and 1 down. docs/models/docsis.md says what is modelled, with sources, and what is left out.

pub mod bursts;
pub mod classifier;
pub mod cmts;
pub mod contention;
pub mod continuous;
pub mod downstream;
pub mod downstream_scheduler;
pub mod neighbours;
pub mod periodic;
pub mod phy;
pub mod preset;
pub mod qos;
pub mod ranging;
pub mod rest;
pub mod service_flow;
pub mod setup;
pub mod space;
pub mod timing;
pub mod token_bucket;
pub mod upstream;

use std::collections::VecDeque;

use crate::context::Context;
use crate::flow::Port;
use crate::link::{Link, Visitor};
use crate::metrics::channel::ChannelUse;
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::{DropReason, QueueId};

use classifier::{Classifiers, Entrance, Seen, Verdict};
use downstream::Downstream;
use setup::{FlowChange, Kind};
use upstream::Upstream;

/// A cable line with its modems.
#[derive(Debug)]
pub struct DocsisLink {
    upstream: Upstream,
    downstream: Downstream,
    /// By port.
    entrances: Vec<Entrance>,
    classifiers: Vec<Classifiers>,
    /// In order of time.
    changes: VecDeque<FlowChange>,
}

/// Token of the wake-up for a change: no direction uses it.
const CHANGE: u64 = u64::MAX;

impl DocsisLink {
    /// Puts the two directions together. `entrances` are the modems' ports in order; those that have classifiers say which.
    pub fn new(
        upstream: Upstream,
        downstream: Downstream,
        entrances: Vec<Entrance>,
        classifiers: Vec<Classifiers>,
    ) -> Self {
        Self {
            upstream,
            downstream,
            entrances,
            classifiers,
            changes: VecDeque::new(),
        }
    }

    /// Makes changes during the run; they are given in order of time.
    #[must_use]
    pub fn with_changes(mut self, changes: Vec<FlowChange>) -> Self {
        debug_assert!(changes.is_sorted_by_key(|change| change.at));
        self.changes = changes.into();
        self
    }

    /// The service flow, among all of its direction, that takes a packet; `None` if the modem does not let it out.
    #[inline]
    fn classify(&self, port: Port, packet: &Packet, cx: &Context<'_>) -> Option<usize> {
        let entrance = self.entrances[usize::from(port.0)];
        let Some(classifiers) = entrance.classifiers else {
            return Some(entrance.primary as usize);
        };
        let seen = Seen::of(cx.header(packet.flow), packet);
        match self.classifiers[classifiers as usize].classify(&seen) {
            Verdict::Drop => None,
            Verdict::Flow(flow) => Some((entrance.primary + flow) as usize),
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
        // MULPI §7.5.1: a service flow's classifiers come and go with it, so that no packet is sent
        // to one that is not there.
        if let Some((port, classifiers)) = change.classifiers {
            self.entrances[port].classifiers = (!classifiers.is_empty()).then(|| {
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
            Some(flow) if port.0 & 1 == 0 => self.upstream.arrive(flow, packet, cx),
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

    fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>) {
        self.upstream.visit_queues(now, visit);
        self.downstream.visit_queues(now, visit);
    }

    fn visit_channels(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        self.upstream.visit_channel(now, visit);
        self.downstream.visit_channel(now, visit);
    }

    fn held(&self) -> u64 {
        self.upstream.held() + self.downstream.held()
    }
}
