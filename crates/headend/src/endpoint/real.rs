//! One side of a flow between real hosts: lets the frames of its host into the network, and its
//! host's frames out of it.
//!
//! A packet carries the fields of the frame's own headers, so that queues, classifiers, hashes and
//! filters treat it as they would treat the frame. What the host behind does is not known: the
//! flow is closed when no packet was seen for a while, or a while after both sides have finished.

use super::{Command, Endpoint, News, Notice, wake_endpoint};
use crate::clock::RealHostId;
use crate::context::Context;
use crate::flow::FlowId;
use crate::metrics::Measure;
use crate::metrics::real::RealFlowId;
use crate::packet::{Flags, FrameId, Packet};
use crate::time::{Duration, Instant};
use crate::wire::real::{self, Header};

/// What is the same for all flows of a real host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// A flow is closed when no packet was seen for this time.
    pub(crate) idle: Duration,
    /// A connection is closed this time after both sides have finished, or one has reset the
    /// connection.
    pub(crate) closed: Duration,
    /// The measure of the round-trip times of connections.
    pub(crate) rtt: Measure,
}

/// One side of a flow between real hosts.
#[derive(Debug)]
pub(crate) struct Real {
    flow: RealFlowId,
    host: RealHostId,
    settings: Settings,
}

impl Real {
    /// The side of `host`.
    pub(crate) fn new(flow: RealFlowId, host: RealHostId, settings: Settings) -> Self {
        Self {
            flow,
            host,
            settings,
        }
    }
}

/// The endpoint that is called lets a frame of its host into the network, as a packet of the real
/// flow `id`.
pub(crate) fn enter(
    id: RealFlowId,
    settings: Settings,
    frame: FrameId,
    header: &Header,
    cx: &mut Context<'_>,
) {
    let (slot, side) = cx.endpoint();
    let now = cx.now;
    let group = cx.header(slot).group;
    let payload = real::payload(header, cx.world.frames.bytes(frame));
    let flow = cx.world.real_flows.flow(id);
    flow.look_for_name(side, payload, payload.len() < usize::from(header.payload));
    let was_over = flow.over().is_some();
    let number = flow.entered(now, side, header.size);
    let mut packet = Packet::datagram(slot, side, number, header.size, header.payload);
    packet.ecn = header.ecn;
    packet.frame = Some(frame);
    if let Some(segment) = &header.tcp {
        let numbers = flow.segment(now, side, segment, header.payload);
        (packet.seq, packet.ack) = (numbers.seq, numbers.ack);
        packet.flags = segment.flags;
        packet.window = u32::from(segment.window);
        let closes = flow.over().filter(|_| !was_over);
        if !numbers.sack.is_empty() {
            packet.sack = Some(cx.store_sack(numbers.sack));
        }
        if numbers.is_retransmission {
            cx.recorder().retransmitted(group, side);
        }
        if let Some(over) = closes {
            wake_endpoint(cx, slot, over + settings.closed, 0);
        }
    }
    cx.emit(packet);
}

/// The endpoint that is called, one side of `slot`, closes the flow when it is time.
pub(crate) fn watch(slot: FlowId, settings: Settings, cx: &mut Context<'_>) {
    wake_endpoint(cx, slot, cx.now + settings.idle, 0);
}

/// Whether a segment opens a connection anew.
pub(crate) fn opens(header: &Header) -> bool {
    let flags = header.tcp.map_or(Flags::NONE, |segment| segment.flags);
    flags.has(Flags::SYN) && !flags.has(Flags::ACK)
}

impl Endpoint for Real {
    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>) {
        let Some(frame) = packet.frame else {
            return;
        };
        let is_marked = cx.depart(packet, frame, self.host);
        let now = cx.now;
        let flow = cx.world.real_flows.flow(self.flow);
        let (fresh, rtt) = flow.arrived(now, packet, is_marked);
        let group = cx.header(packet.flow).group;
        cx.recorder().goodput(group, packet.from, fresh);
        if let Some(rtt) = rtt.filter(|_| cx.world.real_flows.may_sample(now, group)) {
            let rtt = rtt.as_nanos() as f64;
            (cx.recorder()).measured(now, Duration::ZERO, group, self.settings.rtt, rtt);
        }
    }

    /// Closes the flow if it is idle or over, in all its slots.
    fn wake(&mut self, _token: u32, cx: &mut Context<'_>) {
        let (slot, _) = cx.endpoint();
        let flow = cx.world.real_flows.flow(self.flow);
        if !flow.is_open() {
            return;
        }
        let due = due(flow.last(), flow.over(), self.settings);
        if due > cx.now {
            wake_endpoint(cx, slot, due, 0);
            return;
        }
        let app = cx.header(slot).app;
        cx.notify(Notice {
            app,
            flow: slot,
            news: News::Closed,
        });
    }

    fn command(&mut self, command: Command, _cx: &mut Context<'_>) {
        panic!("a real host takes no commands: {command:?}")
    }
}

/// When a flow is to be closed, as far as is known.
fn due(last: Instant, over: Option<Instant>, settings: Settings) -> Instant {
    let idle = last + settings.idle;
    over.map_or(idle, |over| idle.min(over + settings.closed))
}
