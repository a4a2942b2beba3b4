//! Classifiers against the scenario's flows: warns of a classifier that no packet matches, and
//! refuses two that take the same packets.
//!
//! MULPI leaves open which of two classifiers of equal priority takes a packet that both match. A
//! scenario in which that happens does not say what is to be simulated.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::change::ChangePlan;
use super::classifier::{Classifier, RulePlan, rule};
use super::modem::{Modems, Profile};
use super::service_flow::is_default_of_file;
use crate::link::docsis::classifier::{Rule, Seen};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::{GroupPlan, packets, ways};
use crate::scenario::header_fields::{MacAddress, Network};
use crate::scenario::host::{HostPlan, find_host};
use crate::scenario::names::unknown;

/// Checks the classifiers of a cable line.
pub(super) fn check(
    link: u16,
    modems: &Modems,
    changes: &[ChangePlan],
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    if !modems.profiles.iter().any(has_rules) {
        return Ok(());
    }
    for rule in all_rules(modems, changes) {
        check_names(&rule.path, &rule.classifier, hosts)?;
    }
    check_flows(link, modems, changes, hosts, groups, warnings)
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
fn all_rules<'a>(
    modems: &'a Modems,
    changes: &'a [ChangePlan],
) -> impl Iterator<Item = &'a RulePlan> {
    let later = changes.iter().flat_map(|change| &change.plan.rules);
    modems.profiles.iter().flat_map(rules).chain(later)
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

/// A classifier that takes a flow's packets: its priority, none for a default classifier, which is
/// examined after all others; and its service flow.
type Taker<'a> = (Option<u8>, &'a str, &'a RulePlan);

fn check_flows(
    link: u16,
    modems: &Modems,
    changes: &[ChangePlan],
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let rules: BTreeMap<&str, &RulePlan> = all_rules(modems, changes)
        .map(|rule| (rule.path.as_str(), rule))
        .collect();
    let compiled: BTreeMap<&str, Rule> = (rules.iter())
        .map(|(&path, one)| (path, rule(&one.classifier, hosts)))
        .collect();
    let mut idle = rules;
    idle.retain(|_, rule| !rule.is_default && !is_default_of_file(rule));
    let simulated = groups.iter().filter(|group| group.real.is_none());
    for (group, peer) in simulated.flat_map(|group| group.peers.iter().map(move |one| (group, one)))
    {
        for (direction, modem, from) in ways(peer, link) {
            let profile = modems.profile_of(modem);
            if !has_rules(profile) {
                continue;
            }
            let drops = profile.drops.iter().filter(|_| direction == 0);
            let sets = rule_sets(profile, direction, changes, modem);
            for seen in packets(group, peer, from, direction == 0) {
                let taken = |rule: &&RulePlan| compiled[rule.path.as_str()].matches(&seen);
                for rule in drops.clone().filter(taken) {
                    idle.remove(rule.path.as_str());
                }
                for set in &sets {
                    let mut takers: Vec<Taker<'_>> = Vec::new();
                    for &(name, rules) in set {
                        for rule in rules.iter().filter(taken) {
                            idle.remove(rule.path.as_str());
                            let written = (!rule.is_default).then_some(rule.classifier.priority);
                            takers.push((written, name, rule));
                        }
                    }
                    refuse_ambiguity(group, &takers)?;
                }
            }
        }
    }
    let any_real = groups.iter().any(|group| group.real.is_some());
    for (path, RulePlan { classifier, .. }) in idle {
        let in_frames = missing_in_frames(classifier, hosts, groups);
        // The packets of a real host may have any header.
        if any_real && in_frames.is_none() {
            continue;
        }
        let passing = || passing(link, path, modems, changes, groups);
        let advice = in_frames.unwrap_or_else(|| missing(classifier, &passing(), hosts, groups));
        warnings.push(format!(
            "{path}: no packet of this scenario's flows matches, so nothing is classified by it\
             {advice}"
        ));
    }
    Ok(())
}

/// The classifiers of a modem in one direction: those at the start, and those after each change.
fn rule_sets<'a>(
    profile: &'a Profile,
    direction: usize,
    changes: &'a [ChangePlan],
    modem: usize,
) -> Vec<RuleSet<'a>> {
    let flows = &profile.flows[direction];
    let at_start = (flows.iter())
        .filter(|flow| flow.exists_at_start)
        .map(|flow| (flow.name.as_str(), flow.rules.as_slice()));
    let later = (changes.iter())
        .filter(|change| (change.modem, change.flow.0) == (modem, direction))
        .filter_map(|change| change.rules.as_ref());
    let named = later.map(|rules| {
        let rules = rules.iter();
        let named = rules.map(|(place, rules)| (flows[*place].name.as_str(), rules.as_slice()));
        named.collect()
    });
    [at_start.collect()].into_iter().chain(named).collect()
}

/// What classifiers see of the packets that pass where the one at `path` is.
fn passing(
    link: u16,
    path: &str,
    modems: &Modems,
    changes: &[ChangePlan],
    groups: &[GroupPlan],
) -> Vec<Seen> {
    let is_it = |rule: &RulePlan| rule.path == path;
    let simulated = groups.iter().filter(|group| group.real.is_none());
    let peers = simulated.flat_map(|group| group.peers.iter().map(move |peer| (group, peer)));
    let mut found = Vec::new();
    for (group, peer) in peers {
        for (direction, modem, from) in ways(peer, link) {
            let profile = modems.profile_of(modem);
            let is_drop = direction == 0 && profile.drops.iter().any(is_it);
            let mut sets = rule_sets(profile, direction, changes, modem)
                .into_iter()
                .flatten();
            if is_drop || sets.any(|(_, rules)| rules.iter().any(is_it)) {
                found.extend(packets(group, peer, from, direction == 0));
            }
        }
    }
    found
}

/// Which conditions of a classifier no packet meets that passes there, each on its own, and how to
/// have packets that do.
fn missing(
    classifier: &Classifier,
    passing: &[Seen],
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
) -> String {
    if passing.is_empty() {
        return "; no flow passes there".to_owned();
    }
    let unmet: Vec<String> = (conditions(classifier).into_iter())
        .filter(|(_, alone)| {
            let alone = rule(alone, hosts);
            !passing.iter().any(|seen| alone.matches(seen))
        })
        .map(|(key, _)| key)
        .collect();
    let is_of = |keys: &[&str]| unmet.iter().all(|key| keys.contains(&key.as_str()));
    if unmet.is_empty() {
        return "; its conditions hold for some packets each, but for none at once".to_owned();
    }
    if is_of(&["source_mac", "destination_mac"]) {
        let advice =
            "; hosts are the source of frames upstream and the destination of frames downstream";
        return advice.to_owned();
    }
    if is_of(&["dscp", "tos"])
        && let Some(dscp) = only_dscp(classifier)
        && groups.iter().all(|group| group.dscp != dscp)
    {
        return format!("; no flow has its DSCP: try `--set flow.NAME.dscp={dscp}`");
    }
    let named: Vec<String> = unmet.iter().map(|key| name_condition(key)).collect();
    format!(
        "; no packet that passes there has its {}",
        named.join(", nor its ")
    )
}

/// A key of a classifier in a sentence.
fn name_condition(key: &str) -> String {
    match key {
        "dscp" => "DSCP".to_owned(),
        "ecn" => "ECN field".to_owned(),
        "ethertype" => "Ethernet type".to_owned(),
        "tos" => "type of service".to_owned(),
        "vlan" => "VLAN".to_owned(),
        other => other.replace("mac", "Ethernet address").replace('_', " "),
    }
}

/// The conditions of a classifier by their keys, each as a classifier of its own.
fn conditions(classifier: &Classifier) -> Vec<(String, Classifier)> {
    let Value::Object(keys) = json!(classifier) else {
        unreachable!("a classifier is a table")
    };
    let alone = |(key, value): (String, Value)| {
        let alone = serde_json::from_value(json!({ &key: value })).ok()?;
        (key != "priority").then_some((key, alone))
    };
    keys.into_iter().filter_map(alone).collect()
}

/// What no frame has that a classifier asks for, and how to have it. The scenario alone says what
/// frames have, those of real hosts as well.
fn missing_in_frames(
    classifier: &Classifier,
    hosts: &BTreeMap<String, HostPlan>,
    groups: &[GroupPlan],
) -> Option<String> {
    let is_had = |is_meant: &dyn Fn(MacAddress) -> bool| {
        let of_host = |host: &HostPlan| host.ranges_with_mac(is_meant);
        hosts.values().any(|host| !of_host(host).is_empty())
    };
    let source = (classifier.source_mac)
        .filter(|mac| !is_had(&|one| one == *mac))
        .map(|mac| mac.to_string());
    let destination = (classifier.destination_mac)
        .filter(|range| range.mask != 0 && !is_had(&|one| range.contains(one)))
        .map(|range| range.to_string());
    if let Some(mac) = source.or(destination) {
        return Some(format!(
            "; no host has the Ethernet address {mac}: try `--set host.NAME.mac=…`"
        ));
    }
    let wanted = classifier.user_priority?;
    let mut found = groups.iter().filter_map(|group| group.user_priority);
    (!found.any(|priority| wanted.contains(priority))).then(|| {
        format!(
            "; no flow's frames are tagged with its user priority: try `--set \
             flow.NAME.user_priority={}`",
            wanted.from
        )
    })
}

/// The DSCP that a packet must have for a classifier, if there is one.
fn only_dscp(classifier: &Classifier) -> Option<u8> {
    const DSCP_BITS: u8 = 0xfc;
    if let Some(dscp) = &classifier.dscp {
        return (dscp.from == dscp.to).then_some(dscp.from);
    }
    let tos = classifier.tos.as_ref()?;
    let is_one = tos.mask & DSCP_BITS == DSCP_BITS && tos.low >> 2 == tos.high >> 2;
    is_one.then_some(tos.low >> 2)
}

/// The highest priority of those that take a flow belongs to one service flow.
fn refuse_ambiguity(group: &GroupPlan, takers: &[Taker<'_>]) -> Result<(), ScenarioError> {
    let Some(&(highest, first, _)) = takers.iter().max_by_key(|(priority, ..)| *priority) else {
        return Ok(());
    };
    let rival = takers
        .iter()
        .find(|(priority, name, _)| *priority == highest && *name != first);
    let (Some((_, other, rule)), Some(highest)) = (rival, highest) else {
        return Ok(());
    };
    let why = format!(
        "the flow \"{}\" matches both \"{other}\" and \"{first}\", whose classifiers have the same \
         priority, {highest}: give one a higher priority",
        group.name
    );
    Err(ScenarioError::invalid(&rule.path, why))
}
