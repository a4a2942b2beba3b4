//! Captures: the packets that pass chosen points of the network, written as pcapng files in memory.
//! The owner of a capture takes the files away piece by piece.
//!
//! A point is a side of some flows, a host, or one of the three things that can happen at a queue.
//! Each point has a file of its own, in which it is the only interface. With several points in one
//! file, a packet would occur there more than once, and an analysis would take it for a
//! retransmission. A packet that was discarded carries the reason as a comment.
//!
//! A real frame is written as it is, with the ECN field that its packet has at the point. Of a
//! simulated packet the headers are made up.

use std::ops::RangeInclusive;

use super::headers::{self, Sketch, TcpOptions};
use super::pcapng::{self, Record, Way};
use super::real;
use crate::flow::{FlowHeader, FlowTable, GroupId, Surroundings};
use crate::packet::{Ecn, Fields, Side};
use crate::time::Instant;
use crate::trace::{DropReason, QueueId, TraceEvent, TraceKinds};

/// Where packets are captured.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The name of the point and of its interface in the file.
    pub name: String,
    /// A description in words.
    pub description: String,
    /// What is captured at the point.
    pub watched: Watched,
}

/// What is captured at a point.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// The packets that the hosts with these addresses send and receive.
    Host(Vec<RangeInclusive<u32>>),
    /// The packets to which this happens at these queues.
    Queues(Vec<QueueId>, QueueMoment),
    /// The packets that one side of these flows sends and receives.
    Side(Vec<GroupId>, Side),
}

/// What happens to a packet at a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueMoment {
    /// It is dequeued for transmission.
    Dequeue,
    /// It is discarded.
    Drop,
    /// It is enqueued.
    Enqueue,
}

impl QueueMoment {
    /// All of them, in the order in which a packet meets them.
    pub const ALL: [Self; 3] = [Self::Enqueue, Self::Dequeue, Self::Drop];

    /// The name in scenarios and captures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dequeue => "dequeue",
            Self::Drop => "drop",
            Self::Enqueue => "enqueue",
        }
    }
}

/// The captured packets of all points.
#[derive(Debug)]
pub struct Capture {
    points: Vec<Point>,
    /// The content of the files, by point, that was not yet taken.
    files: Vec<Vec<u8>>,
    /// The TCP options of the connections, by group.
    tcp: Vec<TcpOptions>,
    snaplen: usize,
    start: Instant,
    stop: Instant,
    /// The bytes of the packet that is being written, kept to reuse the memory.
    frame: Vec<u8>,
}

impl Capture {
    /// A capture at `points` from `start` to `stop` that keeps at most `snaplen` bytes of a packet.
    pub fn new(points: Vec<Point>, snaplen: u16, start: Instant, stop: Instant) -> Self {
        let begin = |point: &Point| {
            let mut file = Vec::with_capacity(ROOM);
            pcapng::section(APPLICATION, "", &mut file);
            let Point {
                name, description, ..
            } = point;
            pcapng::interface(name, description, u32::from(snaplen), &mut file);
            file
        };
        Self {
            files: points.iter().map(begin).collect(),
            points,
            tcp: Vec::new(),
            snaplen: usize::from(snaplen),
            start,
            stop,
            frame: Vec::with_capacity(usize::from(u16::MAX)),
        }
    }

    /// Sets the TCP options that the connections of each group agree on.
    pub(crate) fn set_options(&mut self, tcp: Vec<TcpOptions>) {
        self.tcp = tcp;
    }

    /// The kinds of events that the capture needs.
    pub(crate) fn interest(&self) -> TraceKinds {
        let kinds = self.points.iter().map(|point| match &point.watched {
            Watched::Host(..) | Watched::Side(..) => TraceKinds::SENT.union(TraceKinds::DELIVERED),
            Watched::Queues(_, QueueMoment::Dequeue) => TraceKinds::DEQUEUED,
            Watched::Queues(_, QueueMoment::Drop) => TraceKinds::DISCARDED,
            Watched::Queues(_, QueueMoment::Enqueue) => TraceKinds::ENQUEUED,
        });
        kinds.fold(TraceKinds::NONE, TraceKinds::union)
    }

    /// The number of bytes that were not yet taken.
    pub(crate) fn bytes(&self) -> usize {
        self.files.iter().map(Vec::len).sum()
    }

    /// The name of each point, with the bytes of its file that were not yet taken.
    pub fn take(&mut self) -> Vec<(String, Vec<u8>)> {
        let files = self.files.iter_mut().map(|file| {
            let next = Vec::with_capacity(file.capacity().min(MOST_ROOM));
            std::mem::replace(file, next)
        });
        let names = self.points.iter().map(|point| point.name.clone());
        names.zip(files).collect()
    }

    /// Writes `packet` to the files of the points at which `event` is captured.
    pub(crate) fn record(
        &mut self,
        at: Instant,
        event: &TraceEvent,
        packet: &Fields,
        around: Surroundings<'_>,
    ) {
        if at < self.start || at > self.stop {
            return;
        }
        let flow = around.flows.header(packet.flow);
        let mut is_written = false;
        for (point, file) in self.points.iter().zip(&mut self.files) {
            let Some(way) = point.sees(event, packet, flow) else {
                continue;
            };
            if !is_written {
                is_written = true;
                if let Some(frame) = packet.frame {
                    let bytes = around.frames.bytes(frame);
                    copy(bytes, packet.ecn, self.snaplen, &mut self.frame);
                } else {
                    let tcp = self.tcp[flow.group.0 as usize];
                    sketch(packet, flow, tcp, around).write(self.snaplen, &mut self.frame);
                }
            }
            let comment = match event {
                TraceEvent::Discarded { reason, .. } => Some(explain(*reason)),
                _ => None,
            };
            let record = Record {
                interface: 0,
                at,
                length: u32::from(packet.size),
                bytes: &self.frame,
                way,
                comment,
            };
            pcapng::packet(&record, file);
        }
    }
}

/// The parts of a packet's headers.
fn sketch<'a>(
    packet: &'a Fields,
    flow: &'a FlowHeader,
    tcp: TcpOptions,
    around: Surroundings<'a>,
) -> Sketch<'a> {
    Sketch {
        packet,
        flow,
        ipv6: ipv6_addresses(around.flows, flow),
        links_passed: around.flows.links_passed(packet),
        tcp,
        sack: packet
            .sack
            .map_or(&[], |id| around.sacks.blocks(id).as_slice()),
    }
}

/// Writes the first `snaplen` bytes of a real frame into `out`, whose content it replaces. The ECN
/// field is that of its packet: the frame's own is written when it leaves the network.
fn copy(frame: &[u8], ecn: Ecn, snaplen: usize, out: &mut Vec<u8>) {
    out.clear();
    let needed = frame.len().min(snaplen.max(headers::LONGEST));
    out.extend_from_slice(&frame[..needed]);
    real::set_ecn(out, ecn);
    out.truncate(snaplen);
}

impl Point {
    /// The direction of the packet at this point, or `None` if the event is not captured here.
    fn sees(&self, event: &TraceEvent, packet: &Fields, flow: &FlowHeader) -> Option<Way> {
        let (moment, queue) = match *event {
            TraceEvent::Delivered { .. } => {
                return self.is_end(packet.from.other(), flow).then_some(Way::In);
            }
            TraceEvent::Sent { .. } => {
                return self.is_end(packet.from, flow).then_some(Way::Out);
            }
            TraceEvent::Dequeued { queue, .. } => (QueueMoment::Dequeue, queue),
            TraceEvent::Discarded { queue, .. } => (QueueMoment::Drop, queue?),
            TraceEvent::Enqueued { queue, .. } => (QueueMoment::Enqueue, queue),
            _ => return None,
        };
        match &self.watched {
            Watched::Queues(queues, watched) if *watched == moment && queues.contains(&queue) => {
                Some(Way::Past)
            }
            _ => None,
        }
    }

    /// Whether this point captures what `side` of the flow sends and receives.
    fn is_end(&self, side: Side, flow: &FlowHeader) -> bool {
        match &self.watched {
            Watched::Host(hosts) => {
                let address = flow.addresses[side.index()];
                hosts.iter().any(|range| range.contains(&address))
            }
            Watched::Queues(..) => false,
            Watched::Side(groups, watched) => *watched == side && groups.contains(&flow.group),
        }
    }
}

/// The IPv6 addresses of a flow's hosts, by side, if the hosts have IPv6 addresses.
fn ipv6_addresses(flows: &FlowTable, flow: &FlowHeader) -> Option<[u128; 2]> {
    let [host, peer] = flow.addresses.map(|number| flows.ipv6_address(number));
    Some([host?, peer?])
}

/// The program that wrote the files, as their headers name it.
const APPLICATION: &str = concat!("headend ", env!("CARGO_PKG_VERSION"));
/// The initial capacity of a file, in bytes: room for many packets.
const ROOM: usize = 1 << 18;
/// The largest capacity of the buffer that follows a taken one. The taken one may have been
/// unusually large.
const MOST_ROOM: usize = 1 << 25;

/// The reason for a discard, as the packet's comment states it.
fn explain(reason: DropReason) -> &'static str {
    match reason {
        DropReason::AckThinned => {
            "dropped: a newer acknowledgement made it superfluous (ack_thinned)"
        }
        DropReason::Congested => "dropped by the AQM (congested)",
        DropReason::Corrupted => "lost in the wide area (corrupted)",
        DropReason::Filtered => "dropped: forbidden by a classifier (filtered)",
        DropReason::FlowLimit => "dropped: its flow's share of the buffer is full (flow_limit)",
        DropReason::Forced => {
            "dropped by the AQM: its average queue is at the upper threshold (forced)"
        }
        DropReason::NotRegistered => "dropped: the modem is not registered yet (not_registered)",
        DropReason::Overlimit => "dropped: the buffer is full (overlimit)",
        DropReason::Policed => "dropped: it exceeds the policer's rate and burst (policed)",
        DropReason::RetryLimit => "dropped: retries used up (retry_limit)",
        DropReason::ServiceFlowDeleted => {
            "dropped: its service flow was deleted (service_flow_deleted)"
        }
        DropReason::Unresponsive => {
            "dropped: its flow does not respond to congestion (unresponsive)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AppId;
    use crate::flow::{Hop, Protocol, RouteId};
    use crate::packet::Packet;
    use crate::packet::frames::Frames;
    use crate::packet::sack::SackPool;
    use crate::trace::PacketView;
    use crate::wire::read::Packets;

    #[test]
    fn a_real_frame_is_captured_as_it_is_but_for_its_mark() {
        let (mut flows, sacks, mut frames) =
            (FlowTable::default(), SackPool::default(), Frames::default());
        let route = flows.add_route(vec![Hop::End]);
        let flow = flows.open(FlowHeader {
            group: GroupId(0),
            app: AppId(0),
            ordinal: 0,
            generation: 0,
            protocol: Protocol::Udp,
            addresses: [1, 2],
            ports: [1, 2],
            dscp: 0,
            user_priority: None,
            tunnel: None,
            routes: [route, RouteId(route.0)],
        });
        let mut bytes = [&[0x45, 0x02, 0, 60][..], &[7; 56]].concat();
        let mut packet = Packet::datagram(flow, Side::Host, 0, 60, 32);
        packet.frame = frames.keep(&bytes);
        packet.ecn = Ecn::Ce;
        let point = Point {
            name: "up.enqueue".to_owned(),
            description: String::new(),
            watched: Watched::Queues(vec![QueueId(0)], QueueMoment::Enqueue),
        };
        for (snaplen, kept) in [(1500, 60), (30, 30)] {
            let stop = Instant::FAR_FUTURE;
            let mut capture = Capture::new(vec![point.clone()], snaplen, Instant::ZERO, stop);
            capture.set_options(vec![TcpOptions::default()]);
            let event = TraceEvent::Enqueued {
                queue: QueueId(0),
                packet: PacketView::of(&packet, GroupId(0)),
            };
            let around = Surroundings {
                flows: &flows,
                sacks: &sacks,
                frames: &frames,
            };
            capture.record(Instant::ZERO, &event, &packet, around);
            let [(_, file)] = capture.take().try_into().expect("there is one point");
            let mut packets = Packets::of(&file).expect("it is a capture");
            let found = packets.next().expect("it has a packet").expect("whole");
            real::set_ecn(&mut bytes, Ecn::Ce);
            assert_eq!((found.length, found.bytes), (60, &bytes[..kept]));
            assert!(packets.next().is_none());
        }
        let own = frames.bytes(packet.frame.expect("it was kept"));
        assert_eq!(real::read(own).map(|header| header.ecn), Some(Ecn::Ect0));
    }
}
