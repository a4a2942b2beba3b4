//! The flow table: what all packets of one connection or datagram stream have in common.
//!
//! A *group* is a flow of the scenario (`[flow.upload]`). A *flow* is one connection or datagram
//! stream of a group, with ports of its own. A slot of the table is reused once its flow is closed
//! and none of its packets is left in the network.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;

pub use crate::packet::FlowId;

use crate::event::AppId;
use crate::packet::frames::Frames;
use crate::packet::sack::SackPool;
use crate::packet::{Fields, Flags, Side};
use crate::time::Instant;

/// A flow of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupId(pub u32);

/// A tunnel of the scenario. Its flows share the outer header of their packets, as in a VPN: a
/// queue that hashes headers sees them as one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TunnelId(pub NonZeroU32);

/// A list of hops shared by the flows that take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteId(pub u32);

/// One step of a packet's route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// The packet enters a link.
    Link {
        /// The index of the link.
        link: u16,
        /// The port of the link.
        port: Port,
    },
    /// The packet enters a delay line.
    Line(u32),
    /// The packet has arrived.
    End,
}

/// An entrance of a link: a direction and an attachment. Each link defines how it numbers its
/// ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port(pub u16);

/// Host numbers from here on stand for IPv6 addresses. The range is 240.0.0.0/4, which RFC 1112 §4
/// reserves, so that no IPv4 host has such a number. A flow's header thus has the same size for
/// both versions. The [table](FlowTable::ipv6_address) maps a number to its IPv6 address.
pub const IPV6_HOSTS: u32 = 0xf000_0000;

/// Host numbers from here on stand for IPv6 addresses that occur in real packets only. They are
/// given to the addresses of the flows that are open.
pub const FOUND_IPV6: u32 = 0xfc00_0000;

/// Whether a host's number stands for an IPv6 address.
#[inline]
pub const fn is_ipv6(address: u32) -> bool {
    address >= IPV6_HOSTS
}

/// The IPv6 addresses of consecutive hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Block {
    /// The number of the first host.
    pub first: u32,
    /// The number of the last host.
    pub last: u32,
    /// The address of the first host; the others have the addresses that follow.
    pub address: u128,
}

/// The transport protocol, for classifiers and hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// ICMP echo.
    Icmp,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Another one, by its number (of IPv6: its next header). Only real hosts send it.
    Other(u8),
}

impl Protocol {
    /// A number for each, for hashes.
    #[inline]
    pub fn tag(self) -> u64 {
        match self {
            Self::Icmp => 0,
            Self::Tcp => 1,
            Self::Udp => 2,
            Self::Other(number) => 3 + u64::from(number),
        }
    }
}

/// The header fields of a flow, and its place in the scenario.
#[derive(Debug, Clone)]
pub struct FlowHeader {
    /// The flow of the scenario that it belongs to.
    pub group: GroupId,
    /// The application that owns the flow.
    pub app: AppId,
    /// The number of the flow within its group: 0, 1, … in the order of opening.
    pub ordinal: u32,
    /// How often this slot was used before, so that a late wake-up for an earlier flow is
    /// recognised.
    pub generation: u32,
    /// The transport protocol.
    pub protocol: Protocol,
    /// The addresses of the hosts, by side; for IPv6 hosts, [numbers](IPV6_HOSTS).
    pub addresses: [u32; 2],
    /// The ports, by side.
    pub ports: [u16; 2],
    /// The DSCP with which its packets are sent; see [`Self::dscp_of`].
    pub dscp: u8,
    /// The user priority in the tag of its frames, if they are tagged.
    pub user_priority: Option<u8>,
    /// The tunnel that carries its packets.
    pub tunnel: Option<TunnelId>,
    /// The routes, by sending side.
    pub routes: [RouteId; 2],
}

impl FlowHeader {
    /// Whether its packets carry ports. Those of ICMP and other protocols do not, nor do fragments
    /// of real packets, whose ports are 0.
    #[inline]
    pub fn has_ports(&self) -> bool {
        matches!(self.protocol, Protocol::Tcp | Protocol::Udp) && self.ports != [0; 2]
    }

    /// The DSCP that one of its packets carries now: 0 once a queue has cleared it.
    #[inline]
    pub fn dscp_of(&self, packet: &Fields) -> u8 {
        if packet.flags.has(Flags::WASHED) {
            0
        } else {
            self.dscp
        }
    }
}

/// The tables that a packet's fields refer to.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) flows: &'a FlowTable,
    pub(crate) sacks: &'a SackPool,
    pub(crate) frames: &'a Frames,
}

impl Surroundings<'_> {
    /// The group of the packet's flow.
    #[inline]
    pub(crate) fn group(self, packet: &Fields) -> GroupId {
        self.flows.header(packet.flow).group
    }
}

/// A slot of the table.
#[derive(Debug)]
struct Slot {
    header: FlowHeader,
    /// The number of its packets in the network.
    alive: u32,
    /// The sides that are done with the flow.
    done: [bool; 2],
    /// Whether the flow is closed on both sides. The slot is then free once `alive` is 0.
    closed: bool,
}

/// All flows and their routes.
#[derive(Debug, Default)]
pub struct FlowTable {
    slots: Vec<Slot>,
    /// The free slots, each with the time since when it is free, in order of time. A link that
    /// computes departures late may discard a packet late, and so free a slot after one that became
    /// free at a later time.
    free: Vec<(Instant, FlowId)>,
    /// The hops of all routes, one route after the other. A route's id is the index of its first
    /// hop.
    hops: Vec<Hop>,
    ipv6: Vec<Ipv6Block>,
    found: FoundAddresses,
}

/// The IPv6 addresses that occur in real packets only.
#[derive(Debug, Default)]
struct FoundAddresses {
    /// By number from [`FOUND_IPV6`]: the address, and the number of flows that have it.
    addresses: Vec<(u128, u32)>,
    numbers: BTreeMap<u128, u32>,
    free: Vec<u32>,
}

impl FoundAddresses {
    /// The number of an address, for one more flow.
    fn take(&mut self, address: u128) -> u32 {
        let number = *self.numbers.entry(address).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.addresses.push((0, 0));
                FOUND_IPV6 + self.addresses.len() as u32 - 1
            })
        });
        let entry = &mut self.addresses[(number - FOUND_IPV6) as usize];
        *entry = (address, entry.1 + 1);
        number
    }

    /// One flow less has the address with this number.
    fn give_back(&mut self, number: u32) {
        let (address, flows) = &mut self.addresses[(number - FOUND_IPV6) as usize];
        *flows -= 1;
        if *flows == 0 {
            self.numbers.remove(address);
            self.free.push(number);
        }
    }
}

impl FlowTable {
    /// Adds a route.
    ///
    /// # Panics
    ///
    /// If the last hop is not [`Hop::End`].
    pub fn add_route(&mut self, hops: Vec<Hop>) -> RouteId {
        assert_eq!(hops.last(), Some(&Hop::End), "a route ends at a host");
        let id = RouteId(self.hops.len() as u32);
        self.hops.extend(hops);
        id
    }

    /// Sets the IPv6 addresses of the hosts.
    pub fn set_ipv6(&mut self, blocks: Vec<Ipv6Block>) {
        self.ipv6 = blocks;
    }

    /// The number of an address that a flow is about to be opened with, and that stands in real
    /// packets. The flow gives it back when it is closed and none of its packets is left.
    pub(crate) fn number_of(&mut self, address: IpAddr) -> u32 {
        let address = match address {
            IpAddr::V4(address) => return address.to_bits(),
            IpAddr::V6(address) => address.to_bits(),
        };
        let block = self.ipv6.iter().find_map(|block| {
            let place = u32::try_from(address.checked_sub(block.address)?).ok()?;
            let number = block.first.checked_add(place)?;
            (number <= block.last).then_some(number)
        });
        block.unwrap_or_else(|| self.found.take(address))
    }

    /// The IPv6 address of the host with this number, if it has one.
    pub fn ipv6_address(&self, host: u32) -> Option<u128> {
        if host >= FOUND_IPV6 {
            let found = self.found.addresses.get((host - FOUND_IPV6) as usize)?;
            return Some(found.0);
        }
        let mut blocks = self.ipv6.iter();
        let block = blocks.find(|block| (block.first..=block.last).contains(&host))?;
        Some(block.address + u128::from(host - block.first))
    }

    /// Each port of a link that a route enters, with the hop that follows the link.
    pub(crate) fn exits(&self) -> impl Iterator<Item = (u16, Port, Hop)> + '_ {
        self.hops.windows(2).filter_map(|pair| match pair[0] {
            Hop::Link { link, port } => Some((link, port, pair[1])),
            Hop::Line(_) | Hop::End => None,
        })
    }

    /// Each delay line on a route, with the hop that follows it.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u32, Hop)> + '_ {
        self.hops.windows(2).filter_map(|pair| match pair[0] {
            Hop::Line(line) => Some((line, pair[1])),
            Hop::Link { .. } | Hop::End => None,
        })
    }

    /// The number of slots, and that of addresses found in real packets for which memory is kept.
    pub(crate) fn kept(&self) -> (usize, usize) {
        (self.slots.len(), self.found.addresses.len())
    }

    /// Opens a flow in a free slot, or in a new one.
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

    /// Closes a flow at `now`: both sides are done with it.
    pub fn close(&mut self, id: FlowId, now: Instant) {
        let slot = &mut self.slots[id.0 as usize];
        assert!(!slot.closed, "a flow is closed once");
        slot.closed = true;
        if slot.alive == 0 {
            self.free_slot(id, now);
        }
    }

    /// Records that `side` is done with the flow at `now`. Returns true if now both sides are done;
    /// the flow is then closed.
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

    /// Counts a packet of the flow that enters the network, and returns the flow's group.
    pub fn entered(&mut self, id: FlowId) -> GroupId {
        let slot = &mut self.slots[id.0 as usize];
        slot.alive += 1;
        slot.header.group
    }

    /// Counts a packet of the flow that left the network at `now`: it was delivered or discarded.
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
        for number in self.slots[id.0 as usize].header.addresses {
            if number >= FOUND_IPV6 {
                self.found.give_back(number);
            }
        }
        let place = self.free.partition_point(|&(since, _)| since <= now);
        self.free.insert(place, (now, id));
    }

    /// The header of a flow; for a free slot, the header of the flow that had it last.
    pub fn header(&self, id: FlowId) -> &FlowHeader {
        &self.slots[id.0 as usize].header
    }

    /// The hop at `position` of the route that packets of `flow` take when side `from` sends them.
    #[inline]
    pub fn hop_of(&self, flow: FlowId, from: Side, position: u8) -> Hop {
        self.hop(self.header(flow).routes[from.index()], position)
    }

    /// The number of links that a packet has passed on its way to its present place.
    pub fn links_passed(&self, packet: &Fields) -> u8 {
        let before =
            (0..packet.hop).map(|position| self.hop_of(packet.flow, packet.from, position));
        before.filter(|hop| matches!(hop, Hop::Link { .. })).count() as u8
    }

    /// The hop at `position` of a route.
    pub fn hop(&self, route: RouteId, position: u8) -> Hop {
        self.hops[route.0 as usize + usize::from(position)]
    }
}
