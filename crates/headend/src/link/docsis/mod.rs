//! The DOCSIS cable line: one link with both directions.
//!
//! - [`preset`]: the plants of the generations, of [physical channels](phy); [`timing`]: frames, minislots, MAPs, symbols.
//! - [`token_bucket`]: sustained and peak rate. [`service_flow`]: an upstream flow at the modem, and how it sends: [`continuous`] or in [`bursts`].
//! - [`contention`]: whose request is heard. [`ranging`]: how modems come up. [`neighbours`]: others as a load.
//! - [`cmts`]: the upstream scheduler, with what is [given regularly](periodic) and the [space] of a MAP.
//! - [`upstream`] and [`downstream`]: the two directions as events.
//!
//! Ports: 0 up, 1 down. docs/models/docsis.md says what is modelled, with sources, and what is left out.

pub mod bursts;
pub mod cmts;
pub mod contention;
pub mod continuous;
pub mod downstream;
pub mod neighbours;
pub mod periodic;
pub mod phy;
pub mod preset;
pub mod qos;
pub mod ranging;
pub mod service_flow;
pub mod setup;
pub mod space;
pub mod timing;
pub mod token_bucket;
pub mod upstream;

use crate::context::{Context, QueueInternals};
use crate::flow::Port;
use crate::link::Link;
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::QueueId;

use downstream::Downstream;
use upstream::Upstream;

/// A cable line with one modem.
#[derive(Debug)]
pub struct DocsisLink {
    upstream: Upstream,
    downstream: Downstream,
}

impl DocsisLink {
    /// Puts the two directions together.
    pub fn new(upstream: Upstream, downstream: Downstream) -> Self {
        Self {
            upstream,
            downstream,
        }
    }
}

impl Link for DocsisLink {
    fn offer(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        if port.0 & 1 == 0 {
            self.upstream.offer(usize::from(port.0 >> 1), packet, cx);
        } else {
            self.downstream.offer(packet, cx);
        }
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        if token & 1 == 0 {
            self.upstream.wake(upstream::Wake::from_token(token), cx);
        } else {
            self.downstream
                .wake(downstream::Wake::from_token(token), cx);
        }
    }

    fn visit_queues(&self, now: Instant, visit: &mut dyn FnMut(QueueId, QueueInternals)) {
        self.upstream.visit_queues(now, visit);
        self.downstream.visit_queues(now, visit);
    }

    fn held(&self) -> u64 {
        self.upstream.held() + self.downstream.held()
    }
}
