//! Classification: which service flow of a modem takes a packet, or whether the modem drops it.
//!
//! MULPI §7.5.1: classifiers are examined in the order of their priorities, the highest first. The
//! first classifier whose conditions all hold decides. A packet that no classifier matches belongs
//! to the primary service flow. Upstream drop classifiers come before the others. A modem without
//! rules stores only an index.

use std::ops::RangeInclusive;

use crate::flow::{FlowHeader, Protocol, is_ipv6};
use crate::packet::{Ecn, Packet};

/// The conditions of a classifier, all of which must hold. A condition that is not given always
/// holds.
///
/// Source and destination are those of the packet, in either direction. IPv6 addresses, Ethernet
/// addresses and VLANs are represented by hosts: a scenario's conditions on them are converted to
/// the hosts for which they hold. On the modem's network, customers' hosts are the source of frames
/// upstream and the destination of frames downstream; at the other end of a frame is a router.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rule {
    /// Hosts, one of which must be at either end.
    pub addresses: Option<Vec<RangeInclusive<u32>>>,
    /// Destination address.
    pub destination: Option<Addresses>,
    /// Hosts with a destination's Ethernet address.
    pub destination_mac: Option<Vec<RangeInclusive<u32>>>,
    /// Destination port.
    pub destination_ports: Option<RangeInclusive<u16>>,
    /// DSCP.
    pub dscp: Option<RangeInclusive<u8>>,
    /// ECN field.
    pub ecn: Option<Ecn>,
    /// Ethernet type.
    pub ethertype: Option<u16>,
    /// Port at either end.
    pub ports: Option<RangeInclusive<u16>>,
    /// IP protocol numbers. For IPv6, those of the next header.
    pub protocols: Option<Vec<u8>>,
    /// Source address.
    pub source: Option<Addresses>,
    /// Hosts with a source's Ethernet address.
    pub source_mac: Option<Vec<RangeInclusive<u32>>>,
    /// Source port.
    pub source_ports: Option<RangeInclusive<u16>>,
    /// Type-of-service byte.
    pub tos: Option<Tos>,
    /// User priority in the tag of the frame.
    pub user_priority: Option<RangeInclusive<u8>>,
    /// Hosts in a VLAN. One of them must be at either end.
    pub vlan: Option<Vec<RangeInclusive<u32>>>,
}

/// A condition on one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addresses {
    /// The address belongs to one of these hosts.
    Hosts(Vec<RangeInclusive<u32>>),
    /// The address is an IPv4 address that agrees with `address` in the bits of `mask`.
    Masked {
        /// The address.
        address: u32,
        /// The bits to compare.
        mask: u32,
    },
}

/// A condition on the type-of-service byte (traffic class in IPv6), which consists of the DSCP and
/// the ECN field. It holds if low ≤ byte & mask ≤ high (MULPI Annex C, TLVs 22.9.1 and 22.12.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tos {
    /// Lowest value.
    pub low: u8,
    /// Highest value.
    pub high: u8,
    /// The bits to compare.
    pub mask: u8,
}

/// The fields of a packet that classifiers examine. For a packet that does not exist yet, the ports
/// are the possible ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Whether it goes from the customer to the network.
    pub is_upstream: bool,
    /// Source and destination address.
    pub addresses: [u32; 2],
    /// Source and destination port, if the protocol has ports.
    pub ports: Option<[RangeInclusive<u16>; 2]>,
    /// IP protocol number.
    pub protocol: u8,
    /// DSCP.
    pub dscp: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// User priority in the tag of its frame, if the frame is tagged.
    pub user_priority: Option<u8>,
}

/// What a matching rule does with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is dropped.
    Drop,
    /// The packet belongs to this service flow of the modem in its direction.
    Flow(u32),
}

/// The rules of one direction, in the order in which they are examined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Classifiers {
    rules: Vec<(Rule, Verdict)>,
}

/// A port of a modem: its service flows in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModemPort {
    /// Index of its primary service flow among all of that direction. Its other flows follow.
    pub primary: u32,
    /// Index of its classifiers in the link.
    pub classifiers: Option<u32>,
}

/// Ethernet types of the packets on the line.
pub const IPV4: u16 = 0x0800;
/// See [`IPV4`].
pub const IPV6: u16 = 0x86dd;

/// IP protocol numbers.
pub const ICMP: u8 = 1;
/// See [`ICMP`].
pub const TCP: u8 = 6;
/// See [`ICMP`].
pub const UDP: u8 = 17;
/// See [`ICMP`]. ICMP for IPv6.
pub const ICMPV6: u8 = 58;

impl Seen {
    /// A packet of a flow with this header.
    pub fn of(header: &FlowHeader, packet: &Packet, is_upstream: bool) -> Self {
        let ends = [packet.from.index(), packet.from.other().index()];
        let ports = ends.map(|end| header.ports[end]..=header.ports[end]);
        let addresses = ends.map(|end| header.addresses[end]);
        Self {
            is_upstream,
            addresses,
            ports: header.has_ports().then_some(ports),
            protocol: number(header.protocol, is_ipv6(addresses[0])),
            dscp: header.dscp_of(packet),
            ecn: packet.ecn,
            user_priority: header.user_priority,
        }
    }
}

/// The IP protocol number of a transport protocol.
pub fn number(protocol: Protocol, is_ipv6: bool) -> u8 {
    match protocol {
        Protocol::Icmp if is_ipv6 => ICMPV6,
        Protocol::Icmp => ICMP,
        Protocol::Tcp => TCP,
        Protocol::Udp => UDP,
        Protocol::Other(number) => number,
    }
}

impl Rule {
    /// Whether the conditions hold for this packet. For ports that are not known yet: whether they
    /// may hold.
    pub fn matches(&self, seen: &Seen) -> bool {
        let [source, destination] = seen.addresses;
        let ethertype = if is_ipv6(source) { IPV6 } else { IPV4 };
        (self.dscp.as_ref()).is_none_or(|dscp| dscp.contains(&seen.dscp))
            && self.tos.is_none_or(|tos| tos.holds(seen.dscp, seen.ecn))
            && self.ecn.is_none_or(|ecn| ecn == seen.ecn)
            && self.ethertype.is_none_or(|wanted| wanted == ethertype)
            && (self.protocols.as_ref()).is_none_or(|some| some.contains(&seen.protocol))
            && (self.addresses.as_ref())
                .is_none_or(|hosts| are_of(hosts, source) || are_of(hosts, destination))
            && (self.source.as_ref()).is_none_or(|some| some.contain(source))
            && (self.destination.as_ref()).is_none_or(|some| some.contain(destination))
            && (self.source_mac.as_ref())
                .is_none_or(|hosts| seen.is_upstream && are_of(hosts, source))
            && (self.destination_mac.as_ref())
                .is_none_or(|hosts| !seen.is_upstream && are_of(hosts, destination))
            && (self.user_priority.as_ref()).is_none_or(|some| {
                (seen.user_priority).is_some_and(|priority| some.contains(&priority))
            })
            && (self.vlan.as_ref())
                .is_none_or(|hosts| are_of(hosts, source) || are_of(hosts, destination))
            && self.holds_for_ports(seen.ports.as_ref())
    }

    /// A condition on ports never holds for a packet without ports.
    fn holds_for_ports(&self, ports: Option<&[RangeInclusive<u16>; 2]>) -> bool {
        let wanted = [&self.ports, &self.source_ports, &self.destination_ports];
        let Some([source, destination]) = ports else {
            return wanted.iter().all(|wanted| wanted.is_none());
        };
        let [either, from, to] = wanted.map(Option::as_ref);
        either.is_none_or(|some| meet(some, source) || meet(some, destination))
            && from.is_none_or(|some| meet(some, source))
            && to.is_none_or(|some| meet(some, destination))
    }
}

fn meet(one: &RangeInclusive<u16>, other: &RangeInclusive<u16>) -> bool {
    one.start() <= other.end() && other.start() <= one.end()
}

fn are_of(hosts: &[RangeInclusive<u32>], address: u32) -> bool {
    hosts.iter().any(|range| range.contains(&address))
}

impl Addresses {
    fn contain(&self, found: u32) -> bool {
        match self {
            Self::Hosts(hosts) => are_of(hosts, found),
            Self::Masked { address, mask } => !is_ipv6(found) && (found ^ address) & mask == 0,
        }
    }
}

impl Tos {
    fn holds(self, dscp: u8, ecn: Ecn) -> bool {
        let ecn = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        (self.low..=self.high).contains(&((dscp << 2 | ecn) & self.mask))
    }
}

impl Classifiers {
    /// Rules with their priorities. Rules of equal priority keep their order.
    pub fn new(mut rules: Vec<(u8, Rule, Verdict)>) -> Self {
        let rank = |verdict: Verdict| u8::from(verdict != Verdict::Drop);
        rules.sort_by_key(|(priority, _, verdict)| (rank(*verdict), u8::MAX - priority));
        let rules = rules.into_iter();
        Self {
            rules: rules.map(|(_, rule, verdict)| (rule, verdict)).collect(),
        }
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What happens to this packet.
    pub fn classify(&self, seen: &Seen) -> Verdict {
        let mut rules = self.rules.iter();
        let found = rules.find(|(rule, _)| rule.matches(seen));
        found.map_or(Verdict::Flow(0), |(_, verdict)| *verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::AppId;
    use crate::flow::{FlowId, GroupId, RouteId};
    use crate::packet::Side;

    const HOME: u32 = 0x0a00_000a;
    const SERVER: u32 = 0x0a14_0001;
    const HOME_IPV6: u32 = 0xf000_0001;

    fn header(protocol: Protocol, dscp: u8, port: u16) -> FlowHeader {
        FlowHeader {
            group: GroupId(0),
            app: AppId(0),
            ordinal: 0,
            generation: 0,
            protocol,
            addresses: [HOME, SERVER],
            ports: [49152, port],
            dscp,
            user_priority: None,
            tunnel: None,
            routes: [RouteId(0); 2],
        }
    }

    /// A packet in the upstream direction.
    fn up(protocol: Protocol, dscp: u8, port: u16) -> Seen {
        let packet = Packet::datagram(FlowId(0), Side::Host, 0, 100, 72);
        Seen::of(&header(protocol, dscp, port), &packet, true)
    }

    /// The same packet in the downstream direction.
    fn down(protocol: Protocol, dscp: u8, port: u16) -> Seen {
        let packet = Packet::datagram(FlowId(0), Side::Peer, 0, 100, 72);
        Seen::of(&header(protocol, dscp, port), &packet, false)
    }

    fn with_ecn(ecn: Ecn, seen: Seen) -> Seen {
        Seen { ecn, ..seen }
    }

    #[test]
    fn all_conditions_must_hold_and_those_not_given_do() {
        let call = up(Protocol::Udp, 46, 5004);
        let taken = |rule: Rule| rule.matches(&call);
        assert!(taken(Rule::default()));
        let rule = Rule {
            addresses: Some(vec![HOME..=HOME]),
            dscp: Some(40..=47),
            ports: Some(5000..=5999),
            protocols: Some(vec![UDP]),
            source: Some(Addresses::Hosts(vec![1..=2, HOME..=HOME])),
            destination_ports: Some(5004..=5004),
            ethertype: Some(IPV4),
            ecn: Some(Ecn::NotEct),
            ..Rule::default()
        };
        assert!(taken(rule.clone()));
        let wrong: [fn(&mut Rule); 8] = [
            |rule| rule.addresses = Some(vec![11..=19]),
            |rule| rule.dscp = Some(40..=45),
            |rule| rule.ports = Some(5005..=5999),
            |rule| rule.protocols = Some(vec![TCP, ICMP]),
            |rule| rule.source = Some(Addresses::Hosts(vec![SERVER..=SERVER])),
            |rule| rule.destination_ports = Some(49152..=49152),
            |rule| rule.ethertype = Some(IPV6),
            |rule| rule.ecn = Some(Ecn::Ect1),
        ];
        for change in wrong {
            let mut rule = rule.clone();
            change(&mut rule);
            assert!(!taken(rule.clone()), "{rule:?}");
        }
    }

    #[test]
    fn an_address_or_port_holds_at_either_end() {
        let packet = up(Protocol::Tcp, 0, 443);
        let address = |address| Rule {
            addresses: Some(vec![address..=address]),
            ..Rule::default()
        };
        let port = |port| Rule {
            ports: Some(port..=port),
            ..Rule::default()
        };
        assert!(address(HOME).matches(&packet) && address(SERVER).matches(&packet));
        assert!(port(443).matches(&packet) && port(49152).matches(&packet));
        assert!(!address(15).matches(&packet) && !port(80).matches(&packet));
    }

    #[test]
    fn source_and_destination_are_those_of_the_packet() {
        let hosts = |address| Some(Addresses::Hosts(vec![address..=address]));
        let from_home = Rule {
            source: hosts(HOME),
            source_ports: Some(49152..=u16::MAX),
            destination: hosts(SERVER),
            destination_ports: Some(440..=450),
            ..Rule::default()
        };
        assert!(from_home.matches(&up(Protocol::Tcp, 0, 443)));
        assert!(!from_home.matches(&down(Protocol::Tcp, 0, 443)));
        let to_home = Rule {
            source: from_home.destination,
            source_ports: from_home.destination_ports,
            destination: from_home.source,
            destination_ports: from_home.source_ports,
            ..Rule::default()
        };
        assert!(to_home.matches(&down(Protocol::Tcp, 0, 443)));
        assert!(!to_home.matches(&up(Protocol::Tcp, 0, 443)));
    }

    #[test]
    fn the_bits_of_a_mask_alone_count_in_an_address() {
        let packet = up(Protocol::Tcp, 0, 443);
        let source = |address, mask| Rule {
            source: Some(Addresses::Masked { address, mask }),
            ..Rule::default()
        };
        assert!(source(0x0a00_00ff, 0xffff_ff00).matches(&packet));
        assert!(
            source(0xffff_ff0a, 0x0000_00ff).matches(&packet),
            "no prefix"
        );
        assert!(source(0, 0).matches(&packet));
        assert!(!source(0x0a00_00ff, 0xffff_fff0).matches(&packet));
        let ipv6 = Seen {
            addresses: [HOME_IPV6, HOME_IPV6 + 1],
            ..packet
        };
        assert!(!source(0, 0).matches(&ipv6), "it has no IPv4 address");
    }

    #[test]
    fn the_service_byte_holds_dscp_and_ecn_and_its_mask_says_which_bits_count() {
        let tos = |low, high, mask| Rule {
            tos: Some(Tos { low, high, mask }),
            ..Rule::default()
        };
        let packet = |dscp, ecn| with_ecn(ecn, up(Protocol::Udp, dscp, 1));
        // Expedited forwarding with any ECN field; ECT(1) and CE; only ECT(1).
        let [ef, l4s, ect1] = [
            tos(0xb8, 0xb8, 0xfc),
            tos(0x01, 0x01, 0x01),
            tos(0x01, 0x01, 0x03),
        ];
        assert!(ef.matches(&packet(46, Ecn::NotEct)) && ef.matches(&packet(46, Ecn::Ce)));
        assert!(!ef.matches(&packet(45, Ecn::NotEct)));
        let taken = |rule: &Rule| {
            [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| rule.matches(&packet(0, ecn)))
        };
        assert_eq!(taken(&l4s), [false, true, false, true]);
        assert_eq!(taken(&ect1), [false, true, false, false]);
        let range = tos(0x20, 0x60, 0xe0);
        assert!(range.matches(&packet(8, Ecn::Ce)) && range.matches(&packet(31, Ecn::NotEct)));
        assert!(!range.matches(&packet(7, Ecn::NotEct)) && !range.matches(&packet(32, Ecn::Ce)));
    }

    #[test]
    fn an_ecn_field_is_the_packet_s_own() {
        let marked = Rule {
            ecn: Some(Ecn::Ce),
            ..Rule::default()
        };
        let packet = up(Protocol::Tcp, 0, 443);
        assert!(!marked.matches(&with_ecn(Ecn::Ect0, packet.clone())));
        assert!(marked.matches(&with_ecn(Ecn::Ce, packet)));
    }

    #[test]
    fn the_version_of_a_packet_decides_its_ethernet_type_and_its_icmp() {
        let mut header = header(Protocol::Icmp, 0, 0);
        let packet = Packet::datagram(FlowId(0), Side::Host, 0, 100, 72);
        let v4 = Seen::of(&header, &packet, true);
        header.addresses = [HOME_IPV6, HOME_IPV6 + 1];
        let v6 = Seen::of(&header, &packet, true);
        let taken = |rule: Rule| [&v4, &v6].map(|seen| rule.matches(seen));
        let ethertype = |ethertype| Rule {
            ethertype: Some(ethertype),
            ..Rule::default()
        };
        let protocol = |protocol| Rule {
            protocols: Some(vec![protocol]),
            ..Rule::default()
        };
        assert_eq!(taken(ethertype(IPV4)), [true, false]);
        assert_eq!(taken(ethertype(IPV6)), [false, true]);
        assert_eq!(taken(ethertype(0x0806)), [false, false]);
        assert_eq!(taken(protocol(1)), [true, false]);
        assert_eq!(taken(protocol(58)), [false, true]);
    }

    #[test]
    fn a_vlan_is_that_of_the_host_at_either_end() {
        let vlan = |hosts| Rule {
            vlan: Some(hosts),
            ..Rule::default()
        };
        for packet in [up(Protocol::Udp, 0, 1), down(Protocol::Udp, 0, 1)] {
            assert!(vlan(vec![1..=2, HOME..=HOME]).matches(&packet));
            assert!(!vlan(vec![1..=2]).matches(&packet));
        }
    }

    #[test]
    fn an_ethernet_address_is_the_customer_s_source_upstream_and_destination_downstream() {
        let hosts = || Some(vec![HOME..=HOME, SERVER..=SERVER]);
        let source = Rule {
            source_mac: hosts(),
            ..Rule::default()
        };
        let destination = Rule {
            destination_mac: hosts(),
            ..Rule::default()
        };
        let taken = |rule: &Rule| {
            [up(Protocol::Udp, 0, 1), down(Protocol::Udp, 0, 1)].map(|seen| rule.matches(&seen))
        };
        assert_eq!(taken(&source), [true, false], "a router's frames come down");
        assert_eq!(taken(&destination), [false, true]);
        let other = Rule {
            source_mac: Some(vec![1..=2]),
            ..Rule::default()
        };
        assert_eq!(taken(&other), [false, false]);
    }

    #[test]
    fn a_user_priority_is_in_a_tag_or_nowhere() {
        let rule = |range| Rule {
            user_priority: Some(range),
            ..Rule::default()
        };
        let frame = |user_priority| Seen {
            user_priority,
            ..up(Protocol::Udp, 0, 1)
        };
        let taken = |range: RangeInclusive<u8>| {
            [None, Some(0), Some(4), Some(7)]
                .map(|priority| rule(range.clone()).matches(&frame(priority)))
        };
        assert_eq!(taken(0..=7), [false, true, true, true]);
        assert_eq!(taken(4..=6), [false, false, true, false]);
    }

    #[test]
    fn a_condition_on_ports_takes_no_echo_request() {
        let ping = up(Protocol::Icmp, 0, 443);
        let any = Some(0..=u16::MAX);
        for rule in [
            Rule {
                ports: any.clone(),
                ..Rule::default()
            },
            Rule {
                source_ports: any.clone(),
                ..Rule::default()
            },
            Rule {
                destination_ports: any,
                ..Rule::default()
            },
        ] {
            assert!(!rule.matches(&ping));
        }
        assert!(Rule::default().matches(&ping));
    }

    #[test]
    fn the_highest_priority_decides_and_the_rest_goes_to_the_primary_flow() {
        let dscp = |low, high| Rule {
            dscp: Some(low..=high),
            ..Rule::default()
        };
        let rules = Classifiers::new(vec![
            (1, dscp(40, 47), Verdict::Flow(1)),
            (9, dscp(46, 46), Verdict::Flow(2)),
            (1, dscp(32, 47), Verdict::Flow(3)),
        ]);
        let taken = |dscp| rules.classify(&up(Protocol::Udp, dscp, 1));
        assert_eq!(taken(46), Verdict::Flow(2));
        assert_eq!(taken(40), Verdict::Flow(1), "the first of two equals");
        assert_eq!(taken(32), Verdict::Flow(3));
        assert_eq!(taken(0), Verdict::Flow(0));
    }

    #[test]
    fn drop_rules_come_before_all_others() {
        let rules = Classifiers::new(vec![
            (255, Rule::default(), Verdict::Flow(1)),
            (
                0,
                Rule {
                    ports: Some(137..=139),
                    ..Rule::default()
                },
                Verdict::Drop,
            ),
        ]);
        let taken = |port| rules.classify(&up(Protocol::Udp, 0, port));
        assert_eq!(taken(138), Verdict::Drop);
        assert_eq!(taken(140), Verdict::Flow(1));
    }
}
