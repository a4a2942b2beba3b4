//! Addresses of hosts: those that are written, and those that the others get.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::config::Host;
use super::planned::{HostPlan, RealPlan};
use crate::clock::RealHostId;
use crate::flow::{FOUND_IPV6, IPV6_HOSTS, Ipv6Block};
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::{Address, Network};

/// First addresses by kind of host: named hosts, hosts without a name behind a link, and flows' own
/// servers (198.18.0.0/15, RFC 2544).
const NAMED_HOSTS: u32 = 0x0a00_0001;

pub(in crate::scenario) const UNNAMED_CUSTOMERS: u32 = 0x0a01_0001;

pub(in crate::scenario) const UNNAMED_SERVERS: u32 = 0xc612_0001;

/// Ranges of addresses that no named host may have, both ends included: those of the other kinds,
/// and those that are no host's (RFC 1112 §4, §7.2).
const KEPT: [(u32, u32); 3] = [
    (UNNAMED_CUSTOMERS, 0x0aff_ffff),
    (UNNAMED_SERVERS - 1, UNNAMED_SERVERS + 0x0001_ffff),
    (0xe000_0000, u32::MAX),
];

/// Servers of the flows of IPv6 hosts: their numbers, and their addresses in `2001:db8:ffff::/48`
/// (RFC 3849).
pub(in crate::scenario) const IPV6_SERVERS: Ipv6Block = Ipv6Block {
    first: IPV6_HOSTS + 0x0800_0000,
    last: FOUND_IPV6 - 1,
    address: 0x2001_0db8_ffff << 80 | 1,
};

/// IPv6 addresses of real hosts for which none is written, from the first on: unique local ones
/// (RFC 4193), whose 40 bits behind `fd` spell `\0head`.
const REAL_HOSTS: u128 = 0xfd00_6865_6164 << 80 | 1;

/// Gives every host its addresses: first those that are written, then the others, in the order of
/// names.
pub(super) fn give_addresses(
    written: &BTreeMap<String, Host>,
    hosts: &mut BTreeMap<String, HostPlan>,
) -> Result<(), ScenarioError> {
    let mut taken = Taken::default();
    for (name, plan) in hosts.iter_mut() {
        match written[name].address {
            None => {}
            Some(Address::V4(address)) => taken.take_ipv4(name, address, plan)?,
            Some(Address::V6(address)) => taken.take_ipv6(name, address, plan)?,
        }
    }
    for plan in hosts.values_mut().filter(|plan| plan.address == 0) {
        plan.address = taken.next_ipv4(plan.count.unwrap_or(1));
    }
    let real = (hosts.iter_mut()).filter(|(name, _)| written[*name].is_real());
    for (id, (name, plan)) in (0..).map(RealHostId).zip(real) {
        let (ipv4, ipv6) = match plan.ipv6_block() {
            Some(block) => (taken.next_ipv4(1), block),
            None => (plan.address, taken.next_ipv6()),
        };
        plan.real = Some(RealPlan {
            id,
            ipv4,
            ipv6,
            dscp: written[name].dscp,
        });
    }
    Ok(())
}

/// The addresses that hosts have so far.
struct Taken {
    /// First and last, and who has them.
    ipv4: Vec<(u32, u32, String)>,
    ipv6: Vec<(u128, u128, String)>,
    /// The next number for an IPv6 address.
    number: u32,
    /// Before these all addresses are taken that need not be written.
    next_ipv4: u32,
    next_ipv6: u128,
}

impl Default for Taken {
    fn default() -> Self {
        Self {
            ipv4: Vec::new(),
            ipv6: Vec::new(),
            number: IPV6_HOSTS,
            next_ipv4: NAMED_HOSTS,
            next_ipv6: REAL_HOSTS,
        }
    }
}

impl Taken {
    fn take_ipv4(
        &mut self,
        name: &str,
        address: u32,
        plan: &mut HostPlan,
    ) -> Result<(), ScenarioError> {
        let last = address.saturating_add(plan.count.unwrap_or(1) - 1);
        let is_kept = |&(from, to): &(u32, u32)| from <= last && address <= to;
        if address >> 24 == 0 || KEPT.iter().any(is_kept) {
            let why = "expected a host's address outside of 0.0.0.0/8, 10.1.0.0 to 10.255.255.255, \
                       198.18.0.0/15 and 224.0.0.0/3, which are kept for other uses";
            return Err(ScenarioError::invalid(path(name), why));
        }
        let meets = |(from, to, _): &&(u32, u32, String)| *from <= last && address <= *to;
        if let Some((.., other)) = self.ipv4.iter().find(meets) {
            return Err(clash(name, other));
        }
        self.ipv4.push((address, last, name.to_owned()));
        plan.address = address;
        Ok(())
    }

    fn take_ipv6(
        &mut self,
        name: &str,
        address: u128,
        plan: &mut HostPlan,
    ) -> Result<(), ScenarioError> {
        let more = plan.count.unwrap_or(1) - 1;
        let last = address.saturating_add(u128::from(more));
        let kept = IPV6_SERVERS.address;
        if address == 0 || address >> 120 == 0xff || last >> 80 == kept >> 80 {
            let why = "expected the address of one host outside of 2001:db8:ffff::/48, which is \
                       kept for flows' own servers";
            return Err(ScenarioError::invalid(path(name), why));
        }
        let meets = |(from, to, _): &&(u128, u128, String)| *from <= last && address <= *to;
        if let Some((.., other)) = self.ipv6.iter().find(meets) {
            return Err(clash(name, other));
        }
        self.ipv6.push((address, last, name.to_owned()));
        plan.ipv6 = Some(address);
        plan.address = self.number;
        self.number += more + 1;
        Ok(())
    }

    /// The next free addresses for so many hosts, which follow one another.
    fn next_ipv4(&mut self, count: u32) -> u32 {
        let more = count - 1;
        let mut next = self.next_ipv4;
        while let Some((_, to, _)) =
            (self.ipv4.iter()).find(|(from, to, _)| *from <= next + more && next <= *to)
        {
            next = to + 1;
        }
        self.next_ipv4 = next + count;
        next
    }

    /// The next free address of a real host.
    fn next_ipv6(&mut self) -> Ipv6Block {
        let mut address = self.next_ipv6;
        while let Some((_, to, _)) =
            (self.ipv6.iter()).find(|(from, to, _)| (*from..=*to).contains(&address))
        {
            address = to + 1;
        }
        self.next_ipv6 = address + 1;
        let number = self.number;
        self.number += 1;
        Ipv6Block {
            first: number,
            last: number,
            address,
        }
    }
}

fn path(name: &str) -> String {
    format!("host.{name}.address")
}

fn clash(name: &str, other: &str) -> ScenarioError {
    let why = format!("the host \"{other}\" has such an address already");
    ScenarioError::invalid(path(name), why)
}

/// The IPv6 addresses of all hosts.
pub(in crate::scenario) fn ipv6_blocks(hosts: &BTreeMap<String, HostPlan>) -> Vec<Ipv6Block> {
    let named = hosts.values().filter_map(HostPlan::ipv6_block);
    let mut blocks: Vec<Ipv6Block> = named.collect();
    if !blocks.is_empty() {
        blocks.push(IPV6_SERVERS);
    }
    blocks
}

/// The hosts, by their numbers, whose IPv6 addresses are in a network.
pub(in crate::scenario) fn in_network(
    network: &Network,
    hosts: &BTreeMap<String, HostPlan>,
) -> Vec<RangeInclusive<u32>> {
    let Some((low, high)) = network.ipv6_range() else {
        return Vec::new();
    };
    let both = |block: Ipv6Block| {
        let count = u128::from(block.last - block.first);
        let from = low.max(block.address) - block.address;
        let to = count.min(high.checked_sub(block.address)?);
        (from <= to).then(|| block.first + from as u32..=block.first + to as u32)
    };
    ipv6_blocks(hosts).into_iter().filter_map(both).collect()
}
