//! A test bench for components: it drives a queue or a control law outside a simulation, at times
//! that the test chooses.
//!
//! It takes the place of the simulation for one queue: it creates packets, provides a [`Context`]
//! for each call, and keeps the recorded events.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use crate::context::{Context, World};
use crate::event::{AppId, EventQueue, Source};
use crate::flow::{FlowHeader, FlowId, FlowTable, GroupId, Hop, Protocol, RouteId, TunnelId};
use crate::metrics::Recorder;
use crate::metrics::recorder::{GroupInfo, QueueInfo};
use crate::packet::{Packet, Side};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, QueueId, Sink, TraceEvent};

/// A test bench: a world with one queue and without links, hosts or events.
pub struct Bench {
    /// The time of the next call.
    pub now: Instant,
    world: World,
    route: RouteId,
    log: Log,
    opened: u32,
    sent: u64,
}

/// The recorded events, shared between the bench and the sink in its world.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Instant, TraceEvent)>>>);

impl Sink for Log {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.push((at, *event));
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// A bench at time zero.
    pub fn new() -> Self {
        let mut bench = Self::silent();
        let log = Box::new(bench.log.clone());
        bench.world.recorder.add_sink(log);
        bench
    }

    /// A bench that keeps no log of events, for measurements of speed.
    pub fn silent() -> Self {
        let mut flows = FlowTable::default();
        let route = flows.add_route(vec![Hop::End]);
        Self {
            now: Instant::ZERO,
            world: World::new(
                EventQueue::new(Duration::from_millis(1), 0),
                flows,
                Vec::new(),
                recorder(),
            ),
            route,
            log: Log::default(),
            opened: 0,
            sent: 0,
        }
    }

    /// Opens a UDP flow whose packets carry `dscp`. Each flow has a port of its own.
    pub fn flow(&mut self, dscp: u8) -> FlowId {
        self.open(Protocol::Udp, dscp, None)
    }

    /// Opens a flow of this protocol whose packets carry `dscp`.
    pub fn flow_of(&mut self, protocol: Protocol, dscp: u8) -> FlowId {
        self.open(protocol, dscp, None)
    }

    /// Opens a UDP flow in tunnel `number`, which must be above zero.
    pub fn tunnelled_flow(&mut self, number: u32) -> FlowId {
        self.open(Protocol::Udp, 0, NonZeroU32::new(number).map(TunnelId))
    }

    /// Opens a UDP flow between the hosts with these addresses.
    pub fn flow_between(&mut self, addresses: [u32; 2]) -> FlowId {
        self.open_between(addresses, Protocol::Udp, 0, None)
    }

    fn open(&mut self, protocol: Protocol, dscp: u8, tunnel: Option<TunnelId>) -> FlowId {
        self.open_between([0x0a00_0001, 0x0a00_0002], protocol, dscp, tunnel)
    }

    fn open_between(
        &mut self,
        addresses: [u32; 2],
        protocol: Protocol,
        dscp: u8,
        tunnel: Option<TunnelId>,
    ) -> FlowId {
        let ordinal = self.opened;
        self.opened += 1;
        self.world.flows.open(FlowHeader {
            group: GroupId(0),
            app: AppId(0),
            ordinal,
            generation: 0,
            protocol,
            addresses,
            ports: [(ordinal as u16).wrapping_add(49152), 443],
            dscp,
            user_priority: None,
            tunnel,
            routes: [self.route; 2],
        })
    }

    /// Creates a packet of `size` IP bytes, which counts as entered. Packets are numbered from 0
    /// on.
    pub fn packet(&mut self, flow: FlowId, size: u16) -> Packet {
        let mut packet = Packet::datagram(flow, Side::Host, self.sent, size, size);
        packet.sent_at = self.now;
        self.sent += 1;
        self.world.entered += 1;
        self.world.flows.entered(flow);
        packet
    }

    /// Ends a packet that was dequeued.
    pub fn end(&mut self, packet: Packet) {
        self.world.delivered += 1;
        self.cx().end(packet);
    }

    /// The context for one call, in queue 0.
    pub fn cx(&mut self) -> Context<'_> {
        let mut cx = Context::new(self.now, &mut self.world, Source::Link(0));
        cx.enter_queue(QueueId(0));
        cx
    }

    /// Advances the time by `span`.
    pub fn advance(&mut self, span: Duration) {
        self.now += span;
    }

    /// The events that were recorded since the last call.
    pub fn take_log(&mut self) -> Vec<(Instant, TraceEvent)> {
        std::mem::take(&mut self.log.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The times and reasons of the discards since the log was last taken.
    pub fn take_discards(&mut self) -> Vec<(Instant, DropReason)> {
        let discard = |(at, event)| match event {
            TraceEvent::Discarded { reason, .. } => Some((at, reason)),
            _ => None,
        };
        self.take_log().into_iter().filter_map(discard).collect()
    }

    /// The numbers of packets that entered, were delivered, and were discarded.
    pub fn counts(&self) -> [u64; 3] {
        let world = &self.world;
        [world.entered, world.delivered, world.discarded]
    }
}

fn recorder() -> Recorder {
    let group = GroupInfo {
        name: "bench".into(),
        application: "bench",
        transport: "udp",
        carries_data: [true, true],
        is_bulk: false,
    };
    let queue = QueueInfo {
        name: "bench".into(),
        link: "bench".into(),
        direction: "up",
        discipline: "bench",
        rate_bps: 0,
        limit_bytes: None,
        overhead_bytes: 0,
        map_interval: None,
        service_flow: None,
    };
    let second = Duration::from_secs(1);
    Recorder::new(vec![group], vec![queue], second, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_counts_what_entered_left_and_was_discarded() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let (first, second, _third) = (
            bench.packet(flow, 100),
            bench.packet(flow, 100),
            bench.packet(flow, 100),
        );
        bench.end(first);
        bench.advance(Duration::from_millis(3));
        bench.cx().discard(second, DropReason::Congested);
        assert_eq!(bench.counts(), [3, 1, 1]);
        let at = Instant::from_nanos(3_000_000);
        assert_eq!(bench.take_discards(), [(at, DropReason::Congested)]);
        assert_eq!(bench.take_log(), []);
    }
}
