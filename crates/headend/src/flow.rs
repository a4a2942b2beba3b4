//! The flow table: what all packets of one connection or datagram stream have in common.
//!
//! A *group* is a flow of the scenario (`[flow.upload]`); a *flow* is one connection or datagram stream of a group, with its own
//! ports. A slot is used again once its flow is closed and none of its packets is left in the network.

use std::num::NonZeroU32;

pub use crate::packet::FlowId;

use crate::event::AppId;
use crate::packet::sack::SackPool;
use crate::packet::{Packet, Side};
use crate::time::Instant;

/// A flow of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// A tunnel of the scenario: its flows share the outer header of their packets, as in a VPN, and look like one flow to whoever hashes headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TunnelId(pub NonZeroU32);

/// A list of hops shared by the flows that take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteId(pub u32);

/// One step of a packet's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// Enters a link.
    Link {
        /// Which link.
        link: u16,
        /// Which of its ports.
        port: Port,
    },
    /// Enters a delay line.
    Line(u32),
    /// Has arrived.
    End,
}

/// An entrance of a link: direction and attachment; each link says how it numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port(pub u16);

/// Hosts with an IPv6 address are known by a number from here on (240.0.0.0/4, which RFC 1112 §4
/// reserves: no IPv4 host has it), so that a flow's header keeps its size; which address that is,
/// the [table](FlowTable::ipv6_address) knows.
pub const IPV6_HOSTS: u32 = 0xf000_0000;

/// Whether a host's number stands for an IPv6 address.
#[inline]
pub const fn is_ipv6(address: u32) -> bool {
    address >= IPV6_HOSTS
}

/// IPv6 addresses of consecutive hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Block {
    /// Number of the first host.
    pub first: u32,
    /// Number of the last host.
    pub last: u32,
    /// Address of the first host; the others have the following ones.
    pub address: u128,
}

/// Transport protocol, for classifiers and hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// ICMP echo.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// The header fields of a flow, and its place in the scenario.
#[derive(Debug, Clone)]
pub struct FlowHeader {
    /// The scenario's flow.
    pub group: GroupId,
    /// The application that owns it.
    pub app: AppId,
    /// 0, 1, … in the order the group opened its flows.
    pub ordinal: u32,
    /// Counts the uses of this slot, so that a late wake-up does not reach a successor.
    pub generation: u32,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Host addresses, by side; of IPv6 hosts [numbers](IPV6_HOSTS).
    pub addresses: [u32; 2],
    /// Ports, by side.
    pub ports: [u16; 2],
    /// DSCP of its packets.
    pub dscp: u8,
    /// The tunnel its packets travel in.
    pub tunnel: Option<TunnelId>,
    /// Routes, by sending side.
    pub routes: [RouteId; 2],
}

/// What packets refer to.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) flows: &'a FlowTable,
    pub(crate) sacks: &'a SackPool,
}

impl Surroundings<'_> {
    /// The group of the packet's flow.
    #[inline]
    pub(crate) fn group(self, packet: &Packet) -> GroupId {
        self.flows.header(packet.flow).group
    }
}

/// A place for a flow.
#[derive(Debug)]
struct Slot {
    header: FlowHeader,
    /// Packets in the network.
    alive: u32,
    /// Which sides are done with the flow.
    done: [bool; 2],
    /// Closed on both sides: the slot is free once `alive` is 0.
    closed: bool,
}

/// All flows and their routes.
#[derive(Debug, Default)]
pub struct FlowTable {
    slots: Vec<Slot>,
    /// Slots to be used again, and since when, in order of time. A link that puts departures off may
    /// discard a packet late, and so free a slot after one that became free later.
    free: Vec<(Instant, FlowId)>,
    /// All routes behind each other; a route's id is where it begins.
    hops: Vec<Hop>,
    ipv6: Vec<Ipv6Block>,
}

impl FlowTable {
    /// Adds a route; its last hop must be [`Hop::End`].
    pub fn add_route(&mut self, hops: Vec<Hop>) -> RouteId {
        assert_eq!(hops.last(), Some(&Hop::End), "a route ends at a host");
        let id = RouteId(self.hops.len() as u32);
        self.hops.extend(hops);
        id
    }

    /// Says which IPv6 addresses hosts have.
    pub fn set_ipv6(&mut self, blocks: Vec<Ipv6Block>) {
        self.ipv6 = blocks;
    }

    /// The IPv6 address of the host with this number, if it has one.
    pub fn ipv6_address(&self, host: u32) -> Option<u128> {
        let mut blocks = self.ipv6.iter();
        let block = blocks.find(|block| (block.first..=block.last).contains(&host))?;
        Some(block.address + u128::from(host - block.first))
    }

    /// Every link's entrance on a route, with the hop behind it.
    pub(crate) fn exits(&self) -> impl Iterator<Item = (u16, Port, Hop)> + '_ {
        self.hops.windows(2).filter_map(|pair| match pair[0] {
            Hop::Link { link, port } => Some((link, port, pair[1])),
            Hop::Line(_) | Hop::End => None,
        })
    }

    /// Every delay line on a route, with the hop behind it.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u32, Hop)> + '_ {
        self.hops.windows(2).filter_map(|pair| match pair[0] {
            Hop::Line(line) => Some((line, pair[1])),
            Hop::Link { .. } | Hop::End => None,
        })
    }

    /// Takes a slot for a new flow.
    pub fn open(&mut self, mut header: FlowHeader) -> FlowId {
        let free = self.free.pop();
        header.generation = free.map_or(0, |(_, id)| self.header(id).generation.wrapping_add(1));
        let slot = Slot {
            header,
            alive: 0,
            done: [false; 2],
            closed: false,
        };
        if let Some((_, id)) = free {
            self.slots[id.0 as usize] = slot;
            id
        } else {
            self.slots.push(slot);
            FlowId(self.slots.len() as u32 - 1)
        }
    }

    /// Both sides are done with the flow at `now`.
    pub fn close(&mut self, id: FlowId, now: Instant) {
        let slot = &mut self.slots[id.0 as usize];
        assert!(!slot.closed, "a flow is closed once");
        slot.closed = true;
        if slot.alive == 0 {
            self.free_slot(id, now);
        }
    }

    /// `side` is done with the flow at `now`. True if now both are; the flow is then closed.
    pub fn close_side(&mut self, id: FlowId, side: Side, now: Instant) -> bool {
        let done = &mut self.slots[id.0 as usize].done;
        done[side.index()] = true;
        let both = *done == [true; 2];
        if both {
            self.close(id, now);
        }
        both
    }

    /// Whether both sides are done with the flow.
    pub fn is_closed(&self, id: FlowId) -> bool {
        self.slots[id.0 as usize].closed
    }

    /// A packet of the flow entered the network; the flow's group.
    pub fn entered(&mut self, id: FlowId) -> GroupId {
        let slot = &mut self.slots[id.0 as usize];
        slot.alive += 1;
        slot.header.group
    }

    /// A packet of the flow ended at `now`.
    #[inline]
    pub fn left(&mut self, id: FlowId, now: Instant) {
        let slot = &mut self.slots[id.0 as usize];
        slot.alive -= 1;
        if slot.closed && slot.alive == 0 {
            self.free_slot(id, now);
        }
    }

    #[cold]
    fn free_slot(&mut self, id: FlowId, now: Instant) {
        let place = self.free.partition_point(|&(since, _)| since <= now);
        self.free.insert(place, (now, id));
    }

    /// The header of a flow; of a free slot, that of the flow which had it last.
    pub fn header(&self, id: FlowId) -> &FlowHeader {
        &self.slots[id.0 as usize].header
    }

    /// The hop at `position` of the route that packets of `flow` take which `from` sends.
    #[inline]
    pub fn hop_of(&self, flow: FlowId, from: Side, position: u8) -> Hop {
        self.hop(self.header(flow).routes[from.index()], position)
    }

    /// Links that a packet has passed on its way to where it is.
    pub fn links_passed(&self, packet: &Packet) -> u8 {
        let before =
            (0..packet.hop).map(|position| self.hop_of(packet.flow, packet.from, position));
        before.filter(|hop| matches!(hop, Hop::Link { .. })).count() as u8
    }

    /// The hop at `position` of a route.
    pub fn hop(&self, route: RouteId, position: u8) -> Hop {
        self.hops[route.0 as usize + usize::from(position)]
    }
}
