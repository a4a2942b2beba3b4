//! The engine's form of a classifier: host names and networks have become addresses.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::config::{Classifier, EcnField};
use crate::link::docsis::classifier::{self, Addresses, Rule, Tos};
use crate::packet::Ecn;
use crate::scenario::header_fields::{EtherType, IpProtocol, MacAddress, MacRange, Network};
use crate::scenario::host::{HostPlan, find_host, in_network};
use crate::scenario::span::Span;

/// The engine's form of a classifier; the hosts have been found by the check.
pub(in crate::scenario::cable) fn rule(
    classifier: &Classifier,
    hosts: &BTreeMap<String, HostPlan>,
) -> Rule {
    let of_host = |name: &String| {
        let host = find_host(hosts, name).expect("the check has found it");
        host.ranges()
    };
    let addresses = |network: &Network| match network {
        Network::Host(name) => Addresses::Hosts(of_host(name)),
        &Network::V4 { address, mask } => Addresses::Masked { address, mask },
        Network::V6 { .. } => Addresses::Hosts(in_network(network, hosts)),
    };
    let ports = |port: Option<Span<u16>>| port.map(|port| port.from..=port.to);
    Rule {
        addresses: classifier.host.as_ref().map(of_host),
        destination: classifier.destination.as_ref().map(addresses),
        destination_mac: (classifier.destination_mac)
            .filter(|range| range.mask != 0)
            .map(|range| with_mac(range, hosts)),
        destination_ports: ports(classifier.destination_port),
        dscp: classifier.dscp.map(|dscp| dscp.from..=dscp.to),
        ecn: classifier.ecn.map(ecn),
        ethertype: classifier.ethertype.map(|EtherType(number)| number),
        ports: ports(classifier.port),
        protocols: classifier.protocol.and_then(protocols),
        source: classifier.source.as_ref().map(addresses),
        source_mac: (classifier.source_mac).map(|MacAddress(address)| {
            let mask = MacAddress::MAX;
            with_mac(MacRange { address, mask }, hosts)
        }),
        source_ports: ports(classifier.source_port),
        tos: classifier.tos.as_ref().map(|tos| Tos {
            low: tos.low,
            high: tos.high,
            mask: tos.mask,
        }),
        user_priority: classifier.user_priority.map(|range| range.from..=range.to),
        vlan: classifier.vlan.map(|vlan| in_vlan(vlan, hosts)),
    }
}

fn ecn(field: EcnField) -> Ecn {
    match field {
        EcnField::Ce => Ecn::Ce,
        EcnField::Ect0 => Ecn::Ect0,
        EcnField::Ect1 => Ecn::Ect1,
        EcnField::NotEct => Ecn::NotEct,
    }
}

/// The protocol numbers that meet a condition; `None` are all.
fn protocols(protocol: IpProtocol) -> Option<Vec<u8>> {
    Some(match protocol {
        IpProtocol::Icmp => vec![classifier::ICMP, classifier::ICMPV6],
        IpProtocol::Tcp => vec![classifier::TCP],
        IpProtocol::Udp => vec![classifier::UDP],
        IpProtocol::Number(256) => return None,
        IpProtocol::Number(257) => vec![classifier::TCP, classifier::UDP],
        IpProtocol::Number(number) => vec![number as u8],
    })
}

/// The hosts with an Ethernet address of a range.
fn with_mac(range: MacRange, hosts: &BTreeMap<String, HostPlan>) -> Vec<RangeInclusive<u32>> {
    let of_host = |host: &HostPlan| host.ranges_with_mac(|mac| range.contains(mac));
    hosts.values().flat_map(of_host).collect()
}

fn in_vlan(vlan: u16, hosts: &BTreeMap<String, HostPlan>) -> Vec<RangeInclusive<u32>> {
    let members = hosts.values().filter(|host| host.vlan == Some(vlan));
    members.flat_map(HostPlan::ranges).collect()
}
