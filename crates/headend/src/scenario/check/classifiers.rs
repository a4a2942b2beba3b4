//! Classifiers against the scenario's flows: what takes nothing is warned of, what two take alike is refused.
//!
//! MULPI leaves open which of two classifiers of equal priority takes a packet that both match, so a scenario in which that happens does not say
//! what is to be simulated.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::cable::{CablePlan, Profile};
use super::flows::{GroupPlan, HostPlan, PeerPlan, find_host, in_network};
use super::links::{LinkPlan, Medium};
use super::service_flow::RulePlan;
use super::unknown;
use crate::congestion::CongestionConfig;
use crate::flow::{Protocol, is_ipv6};
use crate::link::docsis::classifier::{self, Addresses, Rule, Seen, Tos};
use crate::packet::{Ecn, Side};
use crate::scenario::cable::{Classifier, EcnField};
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::{EtherType, IpProtocol, Network};
use crate::scenario::span::Span;
use crate::tcp::EcnMode;

/// Local ports of connections (RFC 6335 §6): which one a connection gets is not known beforehand.
const EPHEMERAL: Span<u16> = Span {
    from: 49152,
    to: u16::MAX,
};

/// The engine's form of a classifier; the hosts have been found by the check.
pub(in crate::scenario) fn rule(
    classifier: &Classifier,
    hosts: &BTreeMap<String, HostPlan>,
) -> Rule {
    let of_host = |name: &String| {
        let host = find_host(hosts, name).expect("the check has found it");
        let (first, last) = host.addresses();
        first..=last
    };
    let addresses = |network: &Network| match network {
        Network::Host(name) => Addresses::Hosts(vec![of_host(name)]),
        &Network::V4 { address, mask } => Addresses::Masked { address, mask },
        Network::V6 { .. } => Addresses::Hosts(in_network(network, hosts)),
    };
    let ports = |port: Option<Span<u16>>| port.map(|port| port.from..=port.to);
    Rule {
        addresses: classifier.host.as_ref().map(of_host),
        destination: classifier.destination.as_ref().map(addresses),
        destination_ports: ports(classifier.destination_port),
        dscp: classifier.dscp.map(|dscp| dscp.from..=dscp.to),
        ecn: classifier.ecn.map(ecn),
        ethertype: classifier.ethertype.map(|EtherType(number)| number),
        ports: ports(classifier.port),
        protocols: classifier.protocol.and_then(protocols),
        source: classifier.source.as_ref().map(addresses),
        source_ports: ports(classifier.source_port),
        tos: classifier.tos.as_ref().map(|tos| Tos {
            low: tos.low,
            high: tos.high,
            mask: tos.mask,
        }),
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

fn in_vlan(vlan: u16, hosts: &BTreeMap<String, HostPlan>) -> Vec<RangeInclusive<u32>> {
    let members = hosts.values().filter(|host| host.vlan == Some(vlan));
    let ranges = members.map(|host| {
        let (first, last) = host.addresses();
        first..=last
    });
    ranges.collect()
}

/// Checks the classifiers of all cable lines.
pub(super) fn check(
    links: &[LinkPlan],
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    for (index, link) in links.iter().enumerate() {
        if let Medium::Docsis(line) = &link.medium
            && line.profiles.iter().any(has_rules)
        {
            check_hosts(line, hosts)?;
            check_line(index as u16, line, hosts, groups, warnings)?;
        }
    }
    Ok(())
}

fn has_rules(profile: &Profile) -> bool {
    !profile.drops.is_empty() || profile.flows.iter().any(|flows| flows.len() > 1)
}

/// All classifiers of a profile.
fn rules(profile: &Profile) -> impl Iterator<Item = &RulePlan> {
    let flows = profile.flows.iter().flatten().flat_map(|flow| &flow.rules);
    flows.chain(&profile.drops)
}

/// All classifiers of a line, those of its changes as well.
fn all_rules(line: &CablePlan) -> impl Iterator<Item = &RulePlan> {
    let changed = line.changes.iter().flat_map(|change| &change.plan.rules);
    line.profiles.iter().flat_map(rules).chain(changed)
}

fn check_hosts(line: &CablePlan, hosts: &BTreeMap<String, HostPlan>) -> Result<(), ScenarioError> {
    for rule in all_rules(line) {
        check_names(&rule.path, &rule.classifier, hosts)?;
    }
    Ok(())
}

/// The hosts that a classifier names are there.
fn check_names(
    path: &str,
    classifier: &Classifier,
    hosts: &BTreeMap<String, HostPlan>,
) -> Result<(), ScenarioError> {
    let host_of = |network: &'_ Option<Network>| match network {
        Some(Network::Host(name)) => Some(name.clone()),
        _ => None,
    };
    let named = [
        ("host", classifier.host.clone()),
        ("source", host_of(&classifier.source)),
        ("destination", host_of(&classifier.destination)),
    ];
    for (key, name) in named {
        if let Some(name) = name
            && find_host(hosts, &name).is_none()
        {
            let known = hosts.keys().cloned().collect();
            return Err(unknown(format!("{path}.{key}"), "host", &name, known));
        }
    }
    Ok(())
}

/// The classifiers of a modem in one direction for some time, by service flow.
type RuleSet<'a> = Vec<(&'a str, &'a [RulePlan])>;

/// The rules of a modem's service flows in one direction, each with its flow's place, as a change leaves them.
type Rules<'a> = &'a [(usize, Vec<RulePlan>)];

/// A classifier that takes a flow's packets: its priority, and its service flow.
type Taker<'a> = (u8, &'a str, &'a RulePlan);

fn check_line(
    link: u16,
    cable: &CablePlan,
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let idle = all_rules(cable).map(|rule| rule.path.as_str());
    let mut idle: BTreeSet<&str> = idle.collect();
    let mut later: BTreeMap<(usize, usize), Vec<Rules<'_>>> = BTreeMap::new();
    for change in &cable.changes {
        if let Some(rules) = &change.rules {
            let sets = later.entry((change.modem, change.flow.0)).or_default();
            sets.push(rules);
        }
    }
    let compiled: BTreeMap<&str, Rule> = all_rules(cable)
        .map(|one| (one.path.as_str(), rule(&one.classifier, hosts)))
        .collect();
    for group in groups {
        for peer in &group.peers {
            for (direction, modem, from) in ways(peer, link) {
                let profile = &cable.profiles[cable.modems[modem].profile];
                if !has_rules(profile) {
                    continue;
                }
                for seen in packets(group, peer, from) {
                    let taken = |rule: &&RulePlan| compiled[rule.path.as_str()].matches(&seen);
                    let drops = if direction == 0 {
                        profile.drops.as_slice()
                    } else {
                        &[]
                    };
                    for rule in drops.iter().filter(taken) {
                        idle.remove(rule.path.as_str());
                    }
                    let flows = &profile.flows[direction];
                    let at_start = (flows.iter())
                        .filter(|flow| flow.exists_at_start)
                        .map(|flow| (flow.name.as_str(), flow.rules.as_slice()));
                    let mut sets: Vec<RuleSet<'_>> = vec![at_start.collect()];
                    for rules in later.get(&(modem, direction)).into_iter().flatten() {
                        let named = rules
                            .iter()
                            .map(|(place, rules)| (flows[*place].name.as_str(), rules.as_slice()));
                        sets.push(named.collect());
                    }
                    for set in sets {
                        let mut takers: Vec<Taker<'_>> = Vec::new();
                        for (name, rules) in set {
                            for rule in rules.iter().filter(taken) {
                                idle.remove(rule.path.as_str());
                                takers.push((rule.classifier.priority, name, rule));
                            }
                        }
                        refuse_ambiguity(group, &takers)?;
                    }
                }
            }
        }
    }
    let no_packet = idle.into_iter().map(|path| {
        format!(
            "{path}: no packet of this scenario's flows matches, so nothing is classified by it"
        )
    });
    warnings.extend(no_packet);
    Ok(())
}

/// By which modems of a link a flow passes, and in which directions.
pub(super) fn passes(group: &GroupPlan, link: u16) -> BTreeSet<(usize, usize)> {
    let all = group.peers.iter().flat_map(|peer| ways(peer, link));
    all.map(|(direction, modem, _)| (direction, modem))
        .collect()
}

/// The same for one of its peers, with the side whose packets pass there.
fn ways(peer: &PeerPlan, link: u16) -> BTreeSet<(usize, usize, Side)> {
    let of_side = |side: Side| {
        let ports = match side {
            Side::Host => &peer.up,
            Side::Peer => &peer.down,
        };
        let ports = ports.iter().filter(move |(at, _)| *at == link);
        ports.map(move |(_, port)| (usize::from(port.0 % 2), usize::from(port.0 / 2), side))
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

/// What classifiers may see of the packets that one side of a flow sends: one of each ECN field that they may have.
pub(super) fn packets(group: &GroupPlan, peer: &PeerPlan, from: Side) -> Vec<Seen> {
    let protocol = group.application.protocol();
    let local = EPHEMERAL.from..=EPHEMERAL.to;
    let (addresses, ports) = match from {
        Side::Host => (
            [group.address, peer.address],
            [local, group.port..=group.port],
        ),
        Side::Peer => (
            [peer.address, group.address],
            [group.port..=group.port, local],
        ),
    };
    let of_field = |&ecn: &Ecn| Seen {
        addresses,
        ports: (protocol != Protocol::Icmp).then(|| ports.clone()),
        protocol: classifier::number(protocol, is_ipv6(addresses[0])),
        dscp: group.dscp,
        ecn,
    };
    ecn_fields(group).iter().map(of_field).collect()
}

/// The ECN fields that packets of a flow may have: acknowledgements are not ECN-capable, and any queue may have marked the others.
fn ecn_fields(group: &GroupPlan) -> &'static [Ecn] {
    if group.application.protocol() != Protocol::Tcp {
        return match group.ecn {
            Ecn::Ect0 => &[Ecn::Ect0, Ecn::Ce],
            Ecn::Ect1 => &[Ecn::Ect1, Ecn::Ce],
            Ecn::Ce | Ecn::NotEct => &[Ecn::NotEct],
        };
    }
    match group.tcp.ecn() {
        EcnMode::Off => &[Ecn::NotEct],
        EcnMode::Accurate if matches!(group.tcp.congestion, CongestionConfig::Prague(_)) => {
            &[Ecn::NotEct, Ecn::Ect1, Ecn::Ce]
        }
        EcnMode::Accurate | EcnMode::Auto | EcnMode::On => &[Ecn::NotEct, Ecn::Ect0, Ecn::Ce],
    }
}

/// The highest priority of those that take a flow belongs to one service flow.
fn refuse_ambiguity(group: &GroupPlan, takers: &[Taker<'_>]) -> Result<(), ScenarioError> {
    let Some(&(highest, first, _)) = takers.iter().max_by_key(|(priority, ..)| *priority) else {
        return Ok(());
    };
    let rival = takers
        .iter()
        .find(|(priority, name, _)| *priority == highest && *name != first);
    let Some((_, other, rule)) = rival else {
        return Ok(());
    };
    let why = format!(
        "the flow \"{}\" matches both \"{other}\" and \"{first}\", whose classifiers have the same priority, {highest}: give one a higher priority",
        group.name
    );
    Err(ScenarioError::invalid(&rule.path, why))
}
