//! What is known of the flows of real hosts: counts by flow, the passive TCP meter, and the table
//! `real_flows`.

mod ends;
mod meter;

use std::net::IpAddr;

use self::meter::{Meter, Space};
pub use ends::FrameEnds;

use crate::clock::RealHostId;
use crate::flow::{FlowId, GroupId, Protocol};
use crate::metrics::table::{Column, FLOAT, INTEGER, TEXT, Table};
use crate::packet::sack::SackBlocks;
use crate::packet::{Flags, Packet, Side};
use crate::time::{Duration, Instant};
use crate::trace::DropReason;
use crate::wire::real::Segment;
use crate::wire::server_name;

/// By what the packets of a flow between real hosts are known: the flow's packets agree in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RealKey {
    /// The transport protocol.
    pub protocol: Protocol,
    /// The addresses, by side.
    pub addresses: [IpAddr; 2],
    /// The ports, by side.
    pub ports: [u16; 2],
}

/// One direction of a flow, by the packets that one side sends.
#[derive(Debug, Default)]
struct Direction {
    packets: u64,
    bytes: u64,
    goodput_bytes: u64,
    retransmitted: u64,
    discarded: u64,
    marked: u64,
    has_finished: bool,
    space: Space,
    meter: Meter,
}

/// Round-trip times, of what both sides sent.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrips {
    count: u64,
    sum: Duration,
    min: Duration,
    max: Duration,
}

impl RoundTrips {
    fn add(&mut self, rtt: Duration) {
        self.min = if self.count == 0 {
            rtt
        } else {
            self.min.min(rtt)
        };
        self.count += 1;
        self.sum += rtt;
        self.max = self.max.max(rtt);
    }
}

/// A flow between real hosts.
#[derive(Debug)]
pub(crate) struct RealFlow {
    group: GroupId,
    number: u32,
    key: RealKey,
    hosts: [RealHostId; 2],
    /// The DSCP of its first packet.
    dscp: u8,
    name: String,
    /// The first bytes of its host's stream, while they may hold the name.
    beginning: Vec<u8>,
    is_name_given_up: bool,
    opened: Instant,
    last: Instant,
    /// Since when it is over: both sides have finished, or one has reset it.
    over: Option<Instant>,
    is_open: bool,
    /// The slots of the flow table that its packets are in, by DSCP.
    slots: Vec<(u8, FlowId)>,
    /// Slots of the flow table that stand for it, or stood for it last.
    in_slots: u32,
    rtt: RoundTrips,
    directions: [Direction; 2],
}

/// The numbers of a segment, 64 bits wide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) seq: u64,
    pub(crate) ack: u64,
    pub(crate) sack: SackBlocks,
    pub(crate) is_retransmission: bool,
}

impl RealFlow {
    /// Uses the memory of a flow that is no more.
    fn take_room(&mut self, old: Self) {
        for (own, old) in self.directions.iter_mut().zip(old.directions) {
            own.meter = old.meter.cleared();
        }
        (self.slots, self.beginning) = (old.slots, old.beginning);
        self.slots.clear();
        self.beginning.clear();
    }

    /// The slot of the flow table that its packets with this DSCP are in.
    pub(crate) fn slot(&self, dscp: u8) -> Option<FlowId> {
        let slot = self.slots.iter().find(|&&(own, _)| own == dscp);
        slot.map(|&(_, slot)| slot)
    }

    /// All slots of the flow table that its packets are in.
    pub(crate) fn slots(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.slots.iter().map(|&(_, slot)| slot)
    }

    /// The real hosts, by side.
    pub(crate) fn hosts(&self) -> [RealHostId; 2] {
        self.hosts
    }

    /// By what its packets are known.
    pub(crate) fn key(&self) -> RealKey {
        self.key
    }

    /// When its latest packet entered.
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// Since when it is over.
    pub(crate) fn over(&self) -> Option<Instant> {
        self.over
    }

    /// Whether it is open.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Looks for a name in the payload of a frame from `from`: of a TLS server or an HTTP host.
    /// `is_cut` says that only the start of the payload was kept: then the stream is not known any
    /// further.
    pub(crate) fn look_for_name(&mut self, from: Side, payload: &[u8], is_cut: bool) {
        let wanted = from == Side::Host && self.key.protocol == Protocol::Tcp;
        let is_nothing = payload.is_empty() && !is_cut;
        if !wanted || is_nothing || !self.name.is_empty() || self.is_name_given_up {
            return;
        }
        // A ClientHello may be longer than a segment.
        let found = if self.beginning.is_empty() {
            server_name::find(payload)
        } else {
            self.beginning.extend(payload);
            server_name::find(&self.beginning)
        };
        if let Some(name) = found {
            self.name = name;
            self.beginning.clear();
        } else if is_cut {
            self.beginning.clear();
            self.is_name_given_up = true;
        } else if self.beginning.is_empty() {
            self.beginning.extend(payload);
        } else if self.beginning.len() > LONGEST_BEGINNING {
            self.beginning.clear();
            self.is_name_given_up = true;
        }
    }

    /// A packet enters. Gives its number among those of its side.
    pub(crate) fn entered(&mut self, at: Instant, from: Side, size: u16) -> u64 {
        self.last = at;
        let direction = &mut self.directions[from.index()];
        direction.packets += 1;
        direction.bytes += u64::from(size);
        direction.packets - 1
    }

    /// A segment enters.
    pub(crate) fn segment(
        &mut self,
        at: Instant,
        from: Side,
        segment: &Segment,
        payload: u16,
    ) -> Numbers {
        let Segment {
            seq,
            ack,
            flags,
            sack,
            ..
        } = segment;
        let own = &mut self.directions[from.index()];
        let seq = own.space.unwrap(*seq);
        let is_retransmission = own.meter.sent(at, seq, numbers(*flags, payload));
        own.retransmitted += u64::from(is_retransmission);
        own.has_finished |= flags.has(Flags::FIN);
        let other = &mut self.directions[from.other().index()];
        let ack = if flags.has(Flags::ACK) {
            other.space.unwrap(*ack)
        } else {
            0
        };
        let mut blocks = SackBlocks::default();
        for &(start, end) in sack.as_slice() {
            let [start, end] = [start, end].map(|edge| other.space.near(edge as u32));
            blocks.push(start, end);
        }
        let is_over = flags.has(Flags::RST) || self.directions.iter().all(|way| way.has_finished);
        if is_over && self.over.is_none() {
            self.over = Some(at);
        }
        Numbers {
            seq,
            ack,
            sack: blocks,
            is_retransmission,
        }
    }

    /// A packet arrives. Gives the payload that is new to its receiver, and a round-trip time of
    /// what that has sent.
    pub(crate) fn arrived(
        &mut self,
        at: Instant,
        packet: &Packet,
        marked: bool,
    ) -> (u64, Option<Duration>) {
        let from = packet.from;
        let own = &mut self.directions[from.index()];
        own.marked += u64::from(marked);
        // Fragments, which have no ports, have no sequence numbers either.
        if self.key.protocol != Protocol::Tcp || self.key.ports == [0, 0] {
            own.goodput_bytes += u64::from(packet.payload);
            return (u64::from(packet.payload), None);
        }
        let syn = u64::from(packet.flags.has(Flags::SYN));
        let fresh = own
            .meter
            .received(packet.seq + syn, u64::from(packet.payload));
        own.goodput_bytes += fresh;
        let other = &mut self.directions[from.other().index()];
        // A refusal acknowledges the SYN that it refuses: there is no connection to measure.
        if !packet.flags.has(Flags::ACK) || packet.flags.has(Flags::RST) {
            return (fresh, None);
        }
        let rtt = other.meter.acknowledged(at, packet.ack);
        if let Some(rtt) = rtt {
            self.rtt.add(rtt);
        }
        (fresh, rtt)
    }

    /// A packet was discarded. An acknowledgement that a newer one superseded is no loss.
    pub(crate) fn discarded(&mut self, from: Side, reason: DropReason) {
        let is_loss = reason != DropReason::AckThinned;
        self.directions[from.index()].discarded += u64::from(is_loss);
    }
}

/// The sequence numbers that a segment takes.
fn numbers(flags: Flags, payload: u16) -> u64 {
    u64::from(payload) + u64::from(flags.has(Flags::SYN)) + u64::from(flags.has(Flags::FIN))
}

/// The flows of all real hosts.
#[derive(Debug, Default)]
pub(crate) struct RealFlows {
    /// By number. One that is closed stays until the slots that its packets were in are used again.
    flows: Vec<RealFlow>,
    free: Vec<RealFlowId>,
    /// By slot of the flow table.
    slots: Vec<Option<RealFlowId>>,
    /// The rows of closed flows that were not yet taken.
    closed: Option<Table>,
    /// By group: when the next round-trip time may be recorded.
    next_samples: Vec<Instant>,
    /// By group: the transport of all flows that were opened, as the table `flows` names it.
    transports: Vec<Option<&'static str>>,
}

/// The number of a flow between real hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RealFlowId(u32);

impl RealFlows {
    /// Opens a flow.
    pub(crate) fn open(
        &mut self,
        at: Instant,
        (group, number): (GroupId, u32),
        key: RealKey,
        hosts: [RealHostId; 2],
        dscp: u8,
    ) -> RealFlowId {
        self.note_transport(group, key.protocol);
        let flow = RealFlow {
            group,
            number,
            key,
            hosts,
            dscp,
            name: String::new(),
            beginning: Vec::new(),
            is_name_given_up: false,
            opened: at,
            last: at,
            over: None,
            is_open: true,
            slots: Vec::new(),
            in_slots: 0,
            rtt: RoundTrips::default(),
            directions: Default::default(),
        };
        if let Some(id) = self.free.pop() {
            let old = std::mem::replace(&mut self.flows[id.0 as usize], flow);
            self.flows[id.0 as usize].take_room(old);
            return id;
        }
        self.flows.push(flow);
        RealFlowId(self.flows.len() as u32 - 1)
    }

    /// A flow of `group` with this protocol was opened.
    fn note_transport(&mut self, group: GroupId, protocol: Protocol) {
        let index = group.0 as usize;
        if self.transports.len() <= index {
            self.transports.resize(index + 1, None);
        }
        let own = match protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Icmp | Protocol::Other(_) => "other",
        };
        let noted = &mut self.transports[index];
        *noted = Some(match *noted {
            Some(before) if before != own => "mixed",
            _ => own,
        });
    }

    /// The transport of the groups that opened a flow: `tcp`, `udp` or `other` if all of their
    /// flows have it, else `mixed`.
    pub(crate) fn transports(&self) -> impl Iterator<Item = (GroupId, &'static str)> + '_ {
        let groups = (0..).map(GroupId);
        (groups.zip(&self.transports)).filter_map(|(group, noted)| Some((group, (*noted)?)))
    }

    /// The packets of a flow with `dscp` are those of the slot `slot` of the flow table from now
    /// on. True if it is the flow's first slot.
    pub(crate) fn add_slot(&mut self, flow: RealFlowId, dscp: u8, slot: FlowId) -> bool {
        let index = slot.0 as usize;
        if self.slots.len() <= index {
            self.slots.resize(index + 1, None);
        }
        if let Some(before) = self.slots[index].replace(flow) {
            let old = &mut self.flows[before.0 as usize];
            old.in_slots -= 1;
            if old.in_slots == 0 {
                self.free.push(before);
            }
        }
        let flow = &mut self.flows[flow.0 as usize];
        flow.in_slots += 1;
        flow.slots.push((dscp, slot));
        flow.slots.len() == 1
    }

    /// A flow by its number.
    pub(crate) fn flow(&mut self, id: RealFlowId) -> &mut RealFlow {
        &mut self.flows[id.0 as usize]
    }

    /// The number of the flow whose packets are in a slot of the flow table.
    pub(crate) fn id_in_slot(&self, slot: FlowId) -> RealFlowId {
        self.slots[slot.0 as usize].expect("only packets of real flows have frames")
    }

    /// The flow whose packets are in a slot of the flow table.
    pub(crate) fn in_slot(&mut self, slot: FlowId) -> &mut RealFlow {
        let id = self.id_in_slot(slot);
        self.flow(id)
    }

    /// The number of flows for which memory is kept.
    pub(crate) fn kept(&self) -> usize {
        self.flows.len()
    }

    /// Whether a round-trip time of `group` may be recorded now: at most one every
    /// [`BETWEEN_SAMPLES`].
    pub(crate) fn may_sample(&mut self, now: Instant, group: GroupId) -> bool {
        let index = group.0 as usize;
        if self.next_samples.len() <= index {
            self.next_samples.resize(index + 1, Instant::ZERO);
        }
        let next = &mut self.next_samples[index];
        let may = now >= *next;
        if may {
            *next = now + BETWEEN_SAMPLES;
        }
        may
    }

    /// Closes a flow: its row is complete, except for packets that are still on their way.
    pub(crate) fn close(&mut self, id: RealFlowId, group: &str) {
        let flow = &mut self.flows[id.0 as usize];
        flow.is_open = false;
        row(self.closed.get_or_insert_with(empty), flow, group);
    }

    /// The rows of flows that were closed since the last call.
    pub(crate) fn take(&mut self) -> Table {
        self.closed.take().unwrap_or_else(empty)
    }

    /// The rows of closed flows that were not taken, then those of open ones in the order of
    /// opening.
    pub(crate) fn table(&self, name: impl Fn(GroupId) -> String) -> Table {
        let mut table = self.closed.clone().unwrap_or_else(empty);
        let mut open: Vec<&RealFlow> = self.flows.iter().filter(|flow| flow.is_open).collect();
        open.sort_by_key(|flow| (flow.opened, flow.group, flow.number));
        for flow in open {
            row(&mut table, flow, &name(flow.group));
        }
        table
    }
}

/// The table without rows.
pub(crate) fn empty() -> Table {
    Table::of(&COLUMNS)
}

const COLUMNS: [(&str, Column); 26] = [
    ("flow", TEXT),
    ("number", INTEGER),
    ("protocol", TEXT),
    ("host_address", TEXT),
    ("host_port", INTEGER),
    ("peer_address", TEXT),
    ("peer_port", INTEGER),
    ("dscp", INTEGER),
    ("name", TEXT),
    ("opened_ns", INTEGER),
    ("last_ns", INTEGER),
    ("packets_up", INTEGER),
    ("bytes_up", INTEGER),
    ("goodput_bytes_up", INTEGER),
    ("retransmitted_up", INTEGER),
    ("discarded_up", INTEGER),
    ("marked_up", INTEGER),
    ("packets_down", INTEGER),
    ("bytes_down", INTEGER),
    ("goodput_bytes_down", INTEGER),
    ("retransmitted_down", INTEGER),
    ("discarded_down", INTEGER),
    ("marked_down", INTEGER),
    ("rtt_min_ns", FLOAT),
    ("rtt_mean_ns", FLOAT),
    ("rtt_max_ns", FLOAT),
];

fn row(table: &mut Table, flow: &RealFlow, group: &str) {
    let RealKey {
        protocol,
        addresses,
        ports,
    } = flow.key;
    table.text("flow", group);
    table.integer("number", u64::from(flow.number));
    table.text("protocol", &spell(protocol));
    for (side, end) in ["host", "peer"].into_iter().enumerate() {
        table.text(&format!("{end}_address"), &addresses[side].to_string());
        table.integer(&format!("{end}_port"), u64::from(ports[side]));
    }
    table.integer("dscp", u64::from(flow.dscp));
    table.text("name", &flow.name);
    table.integer("opened_ns", flow.opened.as_nanos());
    table.integer("last_ns", flow.last.as_nanos());
    for (direction, end) in flow.directions.iter().zip(["up", "down"]) {
        for (figure, value) in [
            ("packets", direction.packets),
            ("bytes", direction.bytes),
            ("goodput_bytes", direction.goodput_bytes),
            ("retransmitted", direction.retransmitted),
            ("discarded", direction.discarded),
            ("marked", direction.marked),
        ] {
            table.integer(&format!("{figure}_{end}"), value);
        }
    }
    let RoundTrips {
        count,
        sum,
        min,
        max,
    } = flow.rtt;
    let known = |time: Duration| match count {
        0 => f64::NAN,
        _ => time.as_nanos() as f64,
    };
    table.float("rtt_min_ns", known(min));
    table.float("rtt_mean_ns", known(sum) / count.max(1) as f64);
    table.float("rtt_max_ns", known(max));
}

fn spell(protocol: Protocol) -> String {
    match protocol {
        Protocol::Icmp => "icmp".to_owned(),
        Protocol::Tcp => "tcp".to_owned(),
        Protocol::Udp => "udp".to_owned(),
        Protocol::Other(number) => number.to_string(),
    }
}

/// Bytes of a stream in which a name is looked for, and a segment.
const LONGEST_BEGINNING: usize = 4096;
/// The shortest time between two round-trip times of a group that are recorded.
pub(crate) const BETWEEN_SAMPLES: Duration = Duration::from_millis(10);
