//! Classifiers as TLVs 22, 23 and 60 (MULPI Annex C.2.1).
//!
//! A TLV holds one condition for each field. A scenario's classifier can have alternatives: a host
//! or a port at either end, a host with several addresses, a field of either IP version. Each
//! alternative becomes a TLV, all with the same priority. A host is written as its address.

use docsis_config::Tlv;

use super::note::Notes;
use super::{ModemOf, u16_tlv};
use crate::link::docsis::classifier::{ICMP, ICMPV6, IPV4, IPV6, TCP, UDP};
use crate::scenario::cable::classifier::{Classifier, EcnField, RulePlan, TypeOfService};
use crate::scenario::cable::service_flow::OneWay;
use crate::scenario::header_fields::{EtherType, IpProtocol, MacAddress, MacRange, Network};
use crate::scenario::host::{HostPlan, find_host};
use crate::scenario::span::Span;

const REFERENCE: u8 = 1;
const FLOW_REFERENCE: u8 = 3;
const PRIORITY: u8 = 5;
const IPV4_FIELDS: u8 = 9;
const ETHERNET_FIELDS: u8 = 10;
const VLAN_FIELDS: u8 = 11;
const IPV6_FIELDS: u8 = 12;

/// What the type field of an Ethernet frame holds: an Ethernet type.
const OF_ETHERNET: u8 = 1;

/// The classifiers of a file.
pub(super) struct Rules<'a> {
    of: &'a ModemOf<'a>,
    has_ipv6: bool,
    pub(super) tlvs: Vec<Tlv>,
}

/// One alternative of a classifier.
#[derive(Debug, Clone, Default, PartialEq)]
struct Fields {
    source: Option<Network>,
    destination: Option<Network>,
    source_port: Option<Span<u16>>,
    destination_port: Option<Span<u16>>,
    tos: Option<TypeOfService>,
    protocol: Option<IpProtocol>,
    source_mac: Option<MacAddress>,
    destination_mac: Option<MacRange>,
    ethertype: Option<u16>,
    user_priority: Option<Span<u8>>,
    vlan: Option<u16>,
    /// The IP version, as an Ethernet type.
    version: Option<u16>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(of: &'a ModemOf<'a>) -> Self {
        Self {
            has_ipv6: of.hosts.values().any(|host| host.ipv6.is_some()),
            tlvs: Vec::new(),
            of,
        }
    }

    /// Adds the TLVs of a classifier. It sends packets to the service flow with the reference
    /// `flow`; without one it is a drop classifier.
    pub(super) fn add(
        &mut self,
        number: u8,
        flow: Option<u16>,
        direction: OneWay,
        rule: &RulePlan,
        notes: &mut Notes,
    ) {
        let alternatives = self.alternatives(rule, direction);
        if alternatives.is_empty() {
            notes.line(format!(
                "{}: no packet matches this classifier; the file leaves it out.",
                rule.path
            ));
        }
        for fields in alternatives {
            let Ok(reference) = u8::try_from(self.tlvs.len() + 1) else {
                notes.line(format!(
                    "{}: a file has at most {} classifiers; this one is left out.",
                    rule.path,
                    u8::MAX
                ));
                return;
            };
            let mut tlvs = vec![Tlv::new(REFERENCE, [reference])];
            tlvs.extend(flow.map(|flow| u16_tlv(FLOW_REFERENCE, flow)));
            tlvs.push(Tlv::new(PRIORITY, [rule.classifier.priority]));
            tlvs.extend(fields.tlvs());
            self.tlvs.push(Tlv::nested(number, tlvs));
        }
    }

    /// All combinations of the alternatives of the conditions.
    fn alternatives(&self, plan: &RulePlan, direction: OneWay) -> Vec<Fields> {
        let rule = &plan.classifier;
        let mut all = vec![Fields {
            source_port: rule.source_port,
            destination_port: rule.destination_port,
            protocol: rule.protocol,
            ethertype: rule.ethertype.map(|EtherType(number)| number),
            source_mac: rule.source_mac,
            destination_mac: rule.destination_mac,
            user_priority: rule.user_priority,
            vlan: rule.vlan,
            version: (rule.ethertype)
                .and_then(|EtherType(number)| [IPV4, IPV6].contains(&number).then_some(number)),
            ..Fields::default()
        }];
        if let Some(source) = &rule.source {
            all = each(&all, &self.networks(source), Fields::set_source);
        }
        if let Some(destination) = &rule.destination {
            all = each(&all, &self.networks(destination), Fields::set_destination);
        }
        if let Some(name) = &rule.host {
            let host = find_host(self.of.hosts, name).expect("the check has found it");
            let is_near = self.place(&host).is_some();
            let networks = self.networks(&Network::Host(name.clone()));
            // The customer's host is the source of upstream packets, and the network's host that of
            // downstream packets.
            let is_source = is_near == (direction == OneWay::Up);
            let put = if is_source {
                Fields::set_source
            } else {
                Fields::set_destination
            };
            all = each(&all, &networks, put);
        }
        if let Some(port) = rule.port {
            let from = each(&all, &[port], |fields, port| fields.set_source_port(*port));
            let to = each(&all, &[port], |fields, port| {
                fields.set_destination_port(*port)
            });
            all = from.into_iter().chain(to).collect();
        }
        if let Some(all_tos) = type_of_service(rule) {
            all = each(&all, &all_tos, |fields, tos| {
                fields.tos = Some(tos.clone());
                true
            });
        }
        all.iter()
            .flat_map(|fields| self.of_versions(fields, plan.is_default))
            .collect()
    }

    /// The fields once for each IP version whose TLVs they need. The default classifiers of low
    /// latency are written for both versions, whatever addresses the hosts of the scenario have:
    /// the modem of the file has other hosts behind it.
    fn of_versions(&self, fields: &Fields, is_default: bool) -> Vec<Fields> {
        let versions = match fields.version {
            Some(version) => vec![Some(version)],
            None if !fields.names_version_fields() => vec![None],
            None if self.has_ipv6 || is_default => vec![Some(IPV4), Some(IPV6)],
            None => vec![Some(IPV4)],
        };
        let of_version = |version| Fields {
            version,
            ..fields.clone()
        };
        versions.into_iter().map(of_version).collect()
    }

    /// The addresses of a condition; several where a host stands for a range of them.
    fn networks(&self, network: &Network) -> Vec<Network> {
        let Network::Host(name) = network else {
            return vec![network.clone()];
        };
        let host = find_host(self.of.hosts, name).expect("the check has found it");
        let (first, count) = self.place(&host).unwrap_or((0, host.count.unwrap_or(1)));
        match host.ipv6 {
            Some(address) => (0..count)
                .map(|place| Network::V6 {
                    address: address + u128::from(first + place),
                    prefix: 128,
                })
                .collect(),
            None => blocks(host.address + first, count),
        }
    }

    /// Which hosts of a row are behind this modem: the first, and how many. None if none is.
    fn place(&self, host: &HostPlan) -> Option<(u32, u32)> {
        let modem = self.of.modem as u32;
        let mut places = host.via.iter().filter(|place| place.link == self.of.link);
        places.find_map(|place| {
            let first = u32::from(place.first);
            match place.count {
                Some(count) => (first..first + count)
                    .contains(&modem)
                    .then(|| (modem - first, 1)),
                None => (first == modem).then(|| (0, host.count.unwrap_or(1))),
            }
        })
    }
}

/// Each of `all` with each of `values` put into it. Combinations that `put` refuses are left out.
fn each<T>(all: &[Fields], values: &[T], put: impl Fn(&mut Fields, &T) -> bool) -> Vec<Fields> {
    let mut found = Vec::new();
    for fields in all {
        for value in values {
            let mut fields = fields.clone();
            if put(&mut fields, value) {
                found.push(fields);
            }
        }
    }
    found
}

/// The IPv4 addresses of a row of hosts, in as few blocks as there can be.
fn blocks(first: u32, count: u32) -> Vec<Network> {
    let mut found = Vec::new();
    let (mut next, mut left) = (first, count);
    while left > 0 {
        let aligned = next.trailing_zeros().min(31);
        let size = 1 << aligned.min(left.ilog2());
        found.push(Network::V4 {
            address: next,
            mask: !(size - 1),
        });
        next += size;
        left -= size;
    }
    found
}

/// The conditions on the type-of-service byte. A single condition is kept. Several become one
/// condition for each byte that meets all of them.
fn type_of_service(rule: &Classifier) -> Option<Vec<TypeOfService>> {
    let of_dscp = |dscp: Span<u8>| TypeOfService {
        low: dscp.from << 2,
        high: dscp.to << 2,
        mask: 0xfc,
    };
    let of_ecn = |field: EcnField| {
        let bits = match field {
            EcnField::NotEct => 0,
            EcnField::Ect1 => 1,
            EcnField::Ect0 => 2,
            EcnField::Ce => 3,
        };
        TypeOfService {
            low: bits,
            high: bits,
            mask: 3,
        }
    };
    let given = [
        rule.dscp.map(of_dscp),
        rule.ecn.map(of_ecn),
        rule.tos.clone(),
    ];
    let given: Vec<TypeOfService> = given.into_iter().flatten().collect();
    if given.len() <= 1 {
        return (!given.is_empty()).then_some(given);
    }
    let meets = |byte: u8, tos: &TypeOfService| (tos.low..=tos.high).contains(&(byte & tos.mask));
    let bytes = (0..=u8::MAX).filter(|byte| given.iter().all(|tos| meets(*byte, tos)));
    Some(
        bytes
            .map(|byte| TypeOfService {
                low: byte,
                high: byte,
                mask: u8::MAX,
            })
            .collect(),
    )
}

impl Fields {
    fn set_source(&mut self, network: &Network) -> bool {
        let is_free = self.source.is_none() || self.source.as_ref() == Some(network);
        self.source = Some(network.clone());
        is_free && self.is_of(network)
    }

    fn set_destination(&mut self, network: &Network) -> bool {
        let is_free = self.destination.is_none() || self.destination.as_ref() == Some(network);
        self.destination = Some(network.clone());
        is_free && self.is_of(network)
    }

    fn set_source_port(&mut self, port: Span<u16>) -> bool {
        self.source_port = meet(self.source_port, port);
        self.source_port.is_some()
    }

    fn set_destination_port(&mut self, port: Span<u16>) -> bool {
        self.destination_port = meet(self.destination_port, port);
        self.destination_port.is_some()
    }

    /// Sets the IP version to that of a network. Returns false if it was another one before.
    fn is_of(&mut self, network: &Network) -> bool {
        let version = match network {
            Network::V6 { .. } => IPV6,
            Network::Host(_) | Network::V4 { .. } => IPV4,
        };
        *self.version.get_or_insert(version) == version
    }

    /// Whether it has a field that IPv4 and IPv6 have in different places.
    fn names_version_fields(&self) -> bool {
        let has_address = self.source.is_some() || self.destination.is_some();
        has_address || self.tos.is_some() || self.protocol.is_some()
    }

    fn tlvs(&self) -> Vec<Tlv> {
        let is_ipv6 = self.version == Some(IPV6);
        let mut ipv4 = Vec::new();
        let mut ipv6 = Vec::new();
        if let Some(TypeOfService { low, high, mask }) = self.tos {
            let tlv = Tlv::new(1, [low, high, mask]);
            if is_ipv6 {
                ipv6.push(tlv);
            } else {
                ipv4.push(tlv);
            }
        }
        if let Some(protocol) = self.protocol {
            let protocol = number(protocol, is_ipv6);
            if is_ipv6 {
                ipv6.push(u16_tlv(3, protocol));
            } else {
                ipv4.push(u16_tlv(2, protocol));
            }
        }
        for (network, at) in [(&self.source, 0), (&self.destination, 2)] {
            match network {
                Some(Network::V4 { address, mask }) => {
                    ipv4.push(Tlv::new(3 + at, address.to_be_bytes()));
                    ipv4.push(Tlv::new(4 + at, mask.to_be_bytes()));
                }
                Some(Network::V6 { address, prefix }) => {
                    ipv6.push(Tlv::new(4 + at, address.to_be_bytes()));
                    ipv6.push(Tlv::new(5 + at, [*prefix]));
                }
                Some(Network::Host(_)) | None => {}
            }
        }
        // The ports of IPv6 packets stand here too, because TLVs of IPv6 fields have no ports.
        for (port, at) in [(self.source_port, 7), (self.destination_port, 9)] {
            if let Some(Span { from, to }) = port {
                ipv4.push(u16_tlv(at, from));
                ipv4.push(u16_tlv(at + 1, to));
            }
        }
        // Fields of a version hold for packets of that version only.
        let is_said = self.names_version_fields() && self.ethertype == self.version;
        let ethertype = self.ethertype.filter(|_| !is_said).map(|ethertype| {
            let [high, low] = ethertype.to_be_bytes();
            Tlv::new(3, [OF_ETHERNET, high, low])
        });
        let destination = self.destination_mac.map(|MacRange { address, mask }| {
            let both = [MacAddress(address).bytes(), MacAddress(mask).bytes()];
            Tlv::new(1, both.concat())
        });
        let source = self.source_mac.map(|mac| Tlv::new(2, mac.bytes()));
        let priority = (self.user_priority).map(|Span { from, to }| Tlv::new(1, [from, to]));
        // The identifier has the upper twelve bits.
        let vlan = self.vlan.map(|vlan| u16_tlv(2, vlan << 4));
        let groups = [
            (IPV4_FIELDS, ipv4),
            (
                ETHERNET_FIELDS,
                [destination, source, ethertype]
                    .into_iter()
                    .flatten()
                    .collect(),
            ),
            (
                VLAN_FIELDS,
                [priority, vlan].into_iter().flatten().collect(),
            ),
            (IPV6_FIELDS, ipv6),
        ];
        let given = groups.into_iter().filter(|(_, tlvs)| !tlvs.is_empty());
        given
            .map(|(number, tlvs)| Tlv::nested(number, tlvs))
            .collect()
    }
}

/// The ports that are in both.
fn meet(one: Option<Span<u16>>, other: Span<u16>) -> Option<Span<u16>> {
    let Some(one) = one else {
        return Some(other);
    };
    one.meets(other).then(|| Span {
        from: one.from.max(other.from),
        to: one.to.min(other.to),
    })
}

/// The number of an IP protocol, or of a next header.
fn number(protocol: IpProtocol, is_ipv6: bool) -> u16 {
    match protocol {
        IpProtocol::Icmp => u16::from(if is_ipv6 { ICMPV6 } else { ICMP }),
        IpProtocol::Tcp => u16::from(TCP),
        IpProtocol::Udp => u16::from(UDP),
        IpProtocol::Number(number) => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_addresses_is_a_few_blocks() {
        let of = |first, count| -> Vec<String> {
            let blocks = blocks(first, count);
            blocks.iter().map(ToString::to_string).collect()
        };
        assert_eq!(of(0x0a00_0001, 1), ["10.0.0.1"]);
        assert_eq!(
            of(0x0a00_0001, 6),
            ["10.0.0.1", "10.0.0.2/31", "10.0.0.4/31", "10.0.0.6"]
        );
        assert_eq!(of(0x0a00_0000, 256), ["10.0.0.0/24"]);
    }

    #[test]
    fn conditions_on_one_byte_are_one_or_one_for_each_byte() {
        let of = |text: &str| {
            let rule: Classifier = toml::from_str(text).expect("a classifier");
            let all = type_of_service(&rule).unwrap_or_default();
            all.iter()
                .map(|tos| [tos.low, tos.high, tos.mask])
                .collect::<Vec<_>>()
        };
        assert_eq!(of("port = '5'"), [[0; 3]; 0]);
        assert_eq!(of("dscp = '46'"), [[0xb8, 0xb8, 0xfc]]);
        assert_eq!(of("dscp = '40-47'"), [[0xa0, 0xbc, 0xfc]]);
        assert_eq!(of("ecn = 'ect1'"), [[1, 1, 3]]);
        assert_eq!(of("dscp = '46'\necn = 'ce'"), [[0xbb, 0xbb, 0xff]]);
        assert_eq!(
            of("dscp = '0-1'\necn = 'ect0'"),
            [[2, 2, 0xff], [6, 6, 0xff]]
        );
    }
}
