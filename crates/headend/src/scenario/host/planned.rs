//! A host that makes sense, and its name.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::clock::RealHostId;
use crate::flow::Ipv6Block;
use crate::named::OrTable;
use crate::scenario::attachment::{Attachment, PortPlan};
use crate::scenario::distance::RttFrom;
use crate::scenario::header_fields::MacAddress;
use crate::time::Duration;

/// A named host, resolved: one, or one behind each of several modems.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct HostPlan {
    /// Of the first; the others have the following ones. Of an IPv6 host its [number](IPV6_HOSTS).
    pub(in crate::scenario) address: u32,
    /// The IPv6 address of the first, if it has one.
    pub(in crate::scenario) ipv6: Option<u128>,
    /// The Ethernet address of the first; the others have the following ones.
    pub(in crate::scenario) mac: Option<MacAddress>,
    /// The VLAN its packets are tagged with.
    pub(in crate::scenario) vlan: Option<u16>,
    /// The user priority its packets are tagged with.
    pub(in crate::scenario) user_priority: Option<u8>,
    /// How many there are, where there is one behind each modem.
    pub(in crate::scenario) count: Option<u32>,
    pub(in crate::scenario) via: Vec<Attachment>,
    pub(in crate::scenario) rtt: Option<OrTable<Duration, RttFrom>>,
    pub(in crate::scenario) processing: Duration,
    pub(in crate::scenario) tunnel: Option<String>,
    /// What it has if real programs run at it.
    pub(in crate::scenario) real: Option<RealPlan>,
}

/// What a real host has: an address of each version, whichever is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::scenario) struct RealPlan {
    pub(in crate::scenario) id: RealHostId,
    pub(in crate::scenario) ipv4: u32,
    /// The IPv6 address, and the number that stands for it.
    pub(in crate::scenario) ipv6: Ipv6Block,
    /// What its packets are marked with.
    pub(in crate::scenario) dscp: Option<u8>,
}

impl HostPlan {
    /// The addresses of all of them, both ends included.
    pub(in crate::scenario) fn addresses(&self) -> (u32, u32) {
        (self.address, self.address + self.count.unwrap_or(1) - 1)
    }

    /// Where their addresses lie: of a real host those of both versions.
    pub(in crate::scenario) fn ranges(&self) -> Vec<RangeInclusive<u32>> {
        let Some(real) = self.real else {
            let (first, last) = self.addresses();
            return vec![first..=last];
        };
        vec![real.ipv4..=real.ipv4, real.ipv6.first..=real.ipv6.last]
    }

    /// Where the addresses of those lie whose Ethernet address meets a condition.
    pub(in crate::scenario) fn ranges_with_mac(
        &self,
        is_meant: impl Fn(MacAddress) -> bool,
    ) -> Vec<RangeInclusive<u32>> {
        let Some(MacAddress(first)) = self.mac else {
            return Vec::new();
        };
        if self.real.is_some() {
            return if is_meant(MacAddress(first)) {
                self.ranges()
            } else {
                Vec::new()
            };
        }
        let mut found: Vec<RangeInclusive<u32>> = Vec::new();
        let meant = (0..self.count.unwrap_or(1))
            .filter(|place| is_meant(MacAddress(first + u64::from(*place))));
        for address in meant.map(|place| self.address + place) {
            match found.last_mut() {
                Some(last) if *last.end() + 1 == address => *last = *last.start()..=address,
                _ => found.push(address..=address),
            }
        }
        found
    }

    /// The user priority in the tag of its frames: a frame that is tagged for its VLAN alone has
    /// priority 0 (IEEE 802.1Q).
    pub(in crate::scenario) fn frame_priority(&self) -> Option<u8> {
        self.user_priority.or(self.vlan.map(|_| 0))
    }

    /// The IPv6 addresses of all of them, if they have any.
    pub(super) fn ipv6_block(&self) -> Option<Ipv6Block> {
        if let Some(real) = self.real {
            return Some(real.ipv6);
        }
        let (first, last) = self.addresses();
        let address = self.ipv6?;
        Some(Ipv6Block {
            first,
            last,
            address,
        })
    }

    /// The ports of host `number`, from it outwards.
    pub(in crate::scenario) fn ports(&self, number: u32) -> Vec<PortPlan> {
        self.via.iter().map(|place| place.port(number)).collect()
    }
}

/// The host called `name`: as it is written, or with its number one of several.
pub(in crate::scenario) fn find_host(
    hosts: &BTreeMap<String, HostPlan>,
    name: &str,
) -> Option<HostPlan> {
    if let Some(found) = hosts.get(name) {
        return Some(found.clone());
    }
    let (group, number) = name.rsplit_once('.')?;
    let (group, number) = (hosts.get(group)?, number.parse::<u32>().ok()?);
    if !(1..=group.count?).contains(&number) {
        return None;
    }
    let single = |place: &Attachment| {
        let mut place = *place;
        if place.count.is_some() {
            place.first += (number - 1) as u16;
            place.count = None;
        }
        place
    };
    Some(HostPlan {
        address: group.address + number - 1,
        ipv6: group.ipv6.map(|first| first + u128::from(number - 1)),
        mac: (group.mac).map(|MacAddress(first)| MacAddress(first + u64::from(number - 1))),
        vlan: group.vlan,
        user_priority: group.user_priority,
        count: None,
        via: group.via.iter().map(single).collect(),
        rtt: group.rtt.clone(),
        processing: group.processing,
        tunnel: group.tunnel.clone(),
        real: None,
    })
}
