//! Classifiers against the scenario's flows: what takes nothing is warned of, what two take alike is refused.
//!
//! MULPI leaves open which of two classifiers of equal priority takes a packet that both match, so a scenario in which that happens does not say
//! what is to be simulated.

use std::collections::{BTreeMap, BTreeSet};

use super::cable::{CablePlan, Profile};
use super::flows::{GroupPlan, HostPlan, find_host};
use super::links::{LinkPlan, Medium};
use super::service_flow::RulePlan;
use super::unknown;
use crate::flow::Protocol;
use crate::link::docsis::classifier::Rule;
use crate::scenario::cable::{Classifier, TransportName};
use crate::scenario::error::ScenarioError;
use crate::scenario::span::Span;

/// Local ports of connections (RFC 6335 §6): which one a connection gets is not known beforehand.
const EPHEMERAL: Span<u16> = Span {
    from: 49152,
    to: u16::MAX,
};

/// The engine's form of a classifier; the host has been found by the check.
pub(in crate::scenario) fn rule(
    classifier: &Classifier,
    hosts: &BTreeMap<String, HostPlan>,
) -> Rule {
    let host = classifier.host.as_ref();
    Rule {
        addresses: host.map(|name| {
            let host = find_host(hosts, name).expect("the check has found it");
            let (first, last) = host.addresses();
            first..=last
        }),
        dscp: classifier.dscp.map(|dscp| dscp.from..=dscp.to),
        ports: classifier.port.map(|port| port.from..=port.to),
        protocol: classifier.protocol.map(protocol),
    }
}

fn protocol(name: TransportName) -> Protocol {
    match name {
        TransportName::Icmp => Protocol::Icmp,
        TransportName::Tcp => Protocol::Tcp,
        TransportName::Udp => Protocol::Udp,
    }
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

fn check_hosts(line: &CablePlan, hosts: &BTreeMap<String, HostPlan>) -> Result<(), ScenarioError> {
    for rule in line.profiles.iter().flat_map(rules) {
        if let Some(name) = &rule.classifier.host
            && find_host(hosts, name).is_none()
        {
            let known = hosts.keys().cloned().collect();
            return Err(unknown(format!("{}.host", rule.path), "host", name, known));
        }
    }
    Ok(())
}

/// A classifier that takes a flow's packets: its priority, and its service flow.
type Taker<'a> = (u8, &'a str, &'a RulePlan);

fn check_line(
    link: u16,
    cable: &CablePlan,
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let mut idle: BTreeSet<&str> = BTreeSet::new();
    for rule in cable.profiles.iter().flat_map(rules) {
        idle.insert(&rule.path);
    }
    for group in groups {
        for (direction, modem) in passes(group, link) {
            let profile = &cable.profiles[cable.modems[modem].profile];
            if !has_rules(profile) {
                continue;
            }
            for peer in &group.peers {
                let ends = [group.address, peer.address];
                let taken = |rule: &&RulePlan| may_take(&rule.classifier, group, ends, hosts);
                let drops = if direction == 0 {
                    profile.drops.as_slice()
                } else {
                    &[]
                };
                for rule in drops.iter().filter(taken) {
                    idle.remove(rule.path.as_str());
                }
                let mut takers: Vec<Taker<'_>> = Vec::new();
                for flow in &profile.flows[direction] {
                    for rule in flow.rules.iter().filter(taken) {
                        idle.remove(rule.path.as_str());
                        takers.push((rule.classifier.priority, &flow.name, rule));
                    }
                }
                refuse_ambiguity(group, &takers)?;
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
    let routes = group
        .peers
        .iter()
        .flat_map(|peer| peer.up.iter().chain(&peer.down));
    let ports = routes.filter(|(at, _)| *at == link);
    ports
        .map(|(_, port)| (usize::from(port.0 % 2), usize::from(port.0 / 2)))
        .collect()
}

/// Whether some packet of the flow between these two addresses meets the classifier.
pub(super) fn may_take(
    classifier: &Classifier,
    group: &GroupPlan,
    ends: [u32; 2],
    hosts: &BTreeMap<String, HostPlan>,
) -> bool {
    let protocol_of_group = group.application.protocol();
    let rule = rule(classifier, hosts);
    let ports = classifier.port.is_none_or(|port| {
        protocol_of_group != Protocol::Icmp && (port.contains(group.port) || port.meets(EPHEMERAL))
    });
    let host = (rule.addresses).is_none_or(|range| ends.iter().any(|end| range.contains(end)));
    let protocol = rule
        .protocol
        .is_none_or(|protocol| protocol == protocol_of_group);
    let dscp = classifier.dscp.is_none_or(|dscp| dscp.contains(group.dscp));
    ports && host && protocol && dscp
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
