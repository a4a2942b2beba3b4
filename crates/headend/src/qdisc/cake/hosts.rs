//! Isolation: what a queue of CAKE belongs to, and how the hosts at both ends share the line.
//!
//! - With `flows`, each five-tuple has a queue; with `srchost`, `dsthost` and `hosts`, each source,
//!   each destination, or each pair of both has one; with `flowblind`, all share one.
//! - With `dual_srchost`, `dual_dsthost` and `triple_isolate`, each five-tuple has a queue too. In
//!   addition, the quantum of a flow is divided by the number of *bulk* flows of its host, so that
//!   hosts share the line evenly, and the flows of a host share its part. In triple mode, the
//!   busier of the two hosts counts.
//!
//! A flow is bulk from the time it has used up a quantum until it is found empty.
//!
//! Source: Høiland-Jørgensen, Täht and Morton, "Piece of CAKE" (2018) §III, and tc-cake(8).

use crate::flow::FlowHeader;
use crate::packet::Side;
use crate::qdisc::hash::five_tuple;
use crate::rng::splitmix;

/// Which packets share a queue, and whose queues share the line evenly.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum HostIsolation {
    /// All packets share one queue.
    Flowblind,
    /// Each source host has a queue.
    Srchost,
    /// Each destination host has a queue.
    Dsthost,
    /// Each pair of source and destination host has a queue.
    Hosts,
    /// Each flow (five-tuple) has a queue, and all queues share evenly.
    Flows,
    /// Each flow has a queue; source hosts share the line evenly. It suits an upstream.
    DualSrchost,
    /// Each flow has a queue; destination hosts share the line evenly. It suits a downstream.
    DualDsthost,
    /// Each flow has a queue; hosts at both ends share the line evenly. With one common server, it
    /// does not separate clients.
    TripleIsolate,
}

/// Source and destination of a packet, as far as queues see them.
pub(super) type Ends = [u32; 2];

/// The address that all hosts of the customer's side have behind NAT.
const BEHIND_NAT: u32 = 0;

/// The ends of the packets that side `from` sends. The packets of a tunnel have its own ends.
/// Without `sees_inside`, all hosts of the customer's side have one address.
pub(super) fn ends(header: &FlowHeader, from: Side, sees_inside: bool) -> Ends {
    if let Some(tunnel) = header.tunnel {
        return [tunnel.0.get(); 2];
    }
    [from, from.other()].map(|side| {
        if side == Side::Host && !sees_inside {
            BEHIND_NAT
        } else {
            header.addresses[side.index()]
        }
    })
}

impl HostIsolation {
    /// The key by which packets are assigned to queues: equal keys share one.
    pub(super) fn key(self, seed: u64, header: &FlowHeader, from: Side, ends: Ends) -> u64 {
        let [source, destination] = ends.map(u64::from);
        let hash = |hosts: u64| splitmix(splitmix(seed ^ hosts));
        match self {
            Self::Flowblind => hash(0),
            Self::Srchost => hash(source),
            Self::Dsthost => hash(destination),
            Self::Hosts => hash(source << 32 | destination),
            Self::Flows | Self::DualSrchost | Self::DualDsthost | Self::TripleIsolate => {
                five_tuple(seed, header, from)
            }
        }
    }

    /// Whether the number of bulk flows of the source, and of the destination, counts.
    fn counts(self) -> [bool; 2] {
        match self {
            Self::DualSrchost => [true, false],
            Self::DualDsthost => [false, true],
            Self::TripleIsolate => [true, true],
            Self::Flowblind | Self::Srchost | Self::Dsthost | Self::Hosts | Self::Flows => {
                [false, false]
            }
        }
    }
}

/// A host with its bulk flows. A place without any flow is free.
#[derive(Debug, Clone, Copy, Default)]
struct Host {
    address: u32,
    flows: u32,
    bulk: u32,
}

/// The places of a flow's hosts in the tables; [`Seats::NONE`] while it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seats([u16; 2]);

impl Seats {
    pub(super) const NONE: Self = Self([u16::MAX; 2]);
}

/// The hosts of the flows of one tin: sources and destinations. The tables have a fixed size: the
/// hosts of a full table share places, as flows share queues.
#[derive(Debug)]
pub(super) struct Hosts {
    seed: u64,
    tables: [Vec<Host>; 2],
}

/// Places in each table.
const PLACES: usize = 1024;
/// Places that are tried for a host.
const WAYS: usize = 8;

impl Hosts {
    pub(super) fn new(isolation: HostIsolation, seed: u64) -> Self {
        Self {
            seed,
            tables: isolation.counts().map(|counts| {
                let places = if counts { PLACES } else { 0 };
                vec![Host::default(); places]
            }),
        }
    }

    /// A flow between these ends becomes active.
    pub(super) fn enter(&mut self, ends: Ends) -> Seats {
        let mut seats = Seats::NONE;
        for ((table, address), seat) in self.tables.iter_mut().zip(ends).zip(&mut seats.0) {
            if table.is_empty() {
                continue;
            }
            let home = splitmix(self.seed ^ u64::from(address)) as usize % PLACES;
            let ways = || (0..WAYS).map(|way| (home + way) % PLACES);
            let is_same =
                |place: &usize| table[*place].flows > 0 && table[*place].address == address;
            let free = || ways().find(|&place| table[place].flows == 0);
            let place = ways().find(is_same).or_else(free).unwrap_or(home);
            let host = &mut table[place];
            if host.flows == 0 {
                *host = Host {
                    address,
                    flows: 0,
                    bulk: 0,
                };
            }
            host.flows += 1;
            *seat = place as u16;
        }
        seats
    }

    /// The flow becomes bulk.
    pub(super) fn begin_bulk(&mut self, seats: Seats) {
        self.for_each(seats, |host| host.bulk += 1);
    }

    /// The flow is bulk no more.
    pub(super) fn end_bulk(&mut self, seats: Seats) {
        self.for_each(seats, |host| host.bulk -= 1);
    }

    /// The flow is active no more.
    pub(super) fn leave(&mut self, seats: Seats) {
        self.for_each(seats, |host| host.flows -= 1);
    }

    /// By what the quantum of the flow is divided: the bulk flows of its host, or of the busier of
    /// its hosts; at least 1.
    pub(super) fn load(&self, seats: Seats) -> u32 {
        let of =
            |(table, seat): (&Vec<Host>, u16)| table.get(usize::from(seat)).map(|one| one.bulk);
        let loads = self.tables.iter().zip(seats.0).filter_map(of);
        loads.max().unwrap_or(1).max(1)
    }

    fn for_each(&mut self, seats: Seats, act: impl Fn(&mut Host)) {
        for (table, seat) in self.tables.iter_mut().zip(seats.0) {
            if let Some(host) = table.get_mut(usize::from(seat)) {
                act(host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    fn hosts(isolation: HostIsolation) -> Hosts {
        Hosts::new(isolation, 1)
    }

    /// The load of a flow between hosts 1 and 9, beside bulk flows between these ends.
    fn load(isolation: HostIsolation, others: &[Ends]) -> u32 {
        let mut hosts = hosts(isolation);
        for &ends in others {
            let seats = hosts.enter(ends);
            hosts.begin_bulk(seats);
        }
        let own = hosts.enter([1, 9]);
        hosts.load(own)
    }

    #[test]
    fn a_flow_is_charged_for_the_bulk_flows_of_the_host_that_counts() {
        use HostIsolation::{DualDsthost, DualSrchost, Flows, TripleIsolate};
        let others = [[1, 8], [1, 7], [2, 9], [3, 9], [4, 9]];
        assert_eq!(load(Flows, &others), 1);
        assert_eq!(load(DualSrchost, &others), 2);
        assert_eq!(load(DualDsthost, &others), 3);
        assert_eq!(load(TripleIsolate, &others), 3);
        assert_eq!(load(TripleIsolate, &[]), 1);
    }

    #[test]
    fn flows_that_end_count_no_more() {
        let mut hosts = hosts(HostIsolation::DualSrchost);
        let [one, two] = [[1, 8], [1, 9]].map(|ends| hosts.enter(ends));
        hosts.begin_bulk(one);
        hosts.begin_bulk(two);
        assert_eq!(hosts.load(one), 2);
        hosts.end_bulk(two);
        hosts.leave(two);
        assert_eq!(hosts.load(one), 1);
        hosts.end_bulk(one);
        hosts.leave(one);
        let again = hosts.enter([1, 8]);
        assert_eq!(hosts.load(again), 1);
    }

    #[test]
    fn more_hosts_than_ways_share_places_and_leave_none_behind() {
        let mut hosts = hosts(HostIsolation::DualSrchost);
        let seats: Vec<Seats> = (0..5000).map(|host| hosts.enter([host, 0])).collect();
        for &seats in &seats {
            hosts.begin_bulk(seats);
        }
        assert!(hosts.load(seats[0]) > 1);
        for seats in seats {
            hosts.end_bulk(seats);
            hosts.leave(seats);
        }
        assert!(
            hosts.tables[0]
                .iter()
                .all(|host| host.flows + host.bulk == 0)
        );
    }

    #[test]
    fn keys_are_equal_for_what_shares_a_queue() {
        use HostIsolation::{Dsthost, Flowblind, Flows, Hosts, Srchost};
        let mut bench = Bench::new();
        let [one, two] = [bench.flow(0), bench.flow(0)];
        let mut key = |isolation: HostIsolation, flow, from, ends| {
            isolation.key(7, bench.cx().header(flow), from, ends)
        };
        let mut is_equal = |isolation, ends: [Ends; 2]| {
            let [first, second] = ends;
            key(isolation, one, Side::Host, first) == key(isolation, two, Side::Host, second)
        };
        assert!(is_equal(Flowblind, [[1, 2], [3, 4]]));
        assert!(is_equal(Srchost, [[1, 2], [1, 4]]) && !is_equal(Srchost, [[1, 2], [3, 2]]));
        assert!(is_equal(Dsthost, [[1, 2], [3, 2]]) && !is_equal(Dsthost, [[1, 2], [1, 4]]));
        assert!(is_equal(Hosts, [[1, 2], [1, 2]]) && !is_equal(Hosts, [[1, 2], [2, 1]]));
        assert!(
            !is_equal(Flows, [[1, 2], [1, 2]]),
            "they have ports of their own"
        );
    }

    #[test]
    fn behind_nat_the_hosts_of_the_customer_are_one() {
        let mut bench = Bench::new();
        let flow = bench.flow(0);
        let tunnelled = bench.tunnelled_flow(3);
        let cx = bench.cx();
        let [host, peer] = cx.header(flow).addresses;
        let of = |from, sees_inside| ends(cx.header(flow), from, sees_inside);
        assert_eq!(of(Side::Host, true), [host, peer]);
        assert_eq!(of(Side::Peer, true), [peer, host]);
        assert_eq!(of(Side::Host, false), [BEHIND_NAT, peer]);
        assert_eq!(of(Side::Peer, false), [peer, BEHIND_NAT]);
        assert_eq!(ends(cx.header(tunnelled), Side::Host, true), [3, 3]);
    }
}
