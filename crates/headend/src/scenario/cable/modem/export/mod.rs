//! The configuration file of a modem, made from its plan: the way back from keys to TLVs.
//!
//! [`service_flow`] writes TLVs 24 and 25, [`queue`] their Buffer Control and AQM encodings,
//! [`low_latency`] TLVs 70 and 71, [`classifier`] TLVs 22, 23 and 60. A DOCSIS 1.0 modem gets a
//! [`class_of_service`] in place of service flows. [`docsis_config`] adds the message integrity
//! checks and the end marker.
//!
//! A key that no TLV can express becomes a note. The file describes the modem at the start of the
//! run.

mod class_of_service;
mod classifier;
mod low_latency;
mod note;
mod queue;
mod service_flow;
mod settings;

use std::borrow::Cow;
use std::collections::BTreeMap;

use docsis_config::{File, Kind, Tlv};

use self::classifier::Rules;
use self::note::Notes;
use crate::link::docsis::preset::Feature;
use crate::scenario::cable::classifier::RulePlan;
use crate::scenario::cable::config::Docsis;
use crate::scenario::cable::plan::CablePlan;
use crate::scenario::cable::service_flow::{self as service_flow_plan, FlowPlan, OneWay};
use crate::scenario::host::HostPlan;

const NETWORK_ACCESS: u8 = 3;
const MAX_CPE: u8 = 18;
const UPSTREAM_CLASSIFIER: u8 = 22;
const DOWNSTREAM_CLASSIFIER: u8 = 23;
const DROP_CLASSIFIER: u8 = 60;
const UPSTREAM_AQM_DISABLE: u8 = 76;

/// The most devices of the customer that the modem serves. The model has no such limit; this one
/// leaves room for a home network without a router.
const DEVICES: u8 = 16;

/// A modem of a line.
#[derive(Debug, Clone, Copy)]
pub(in crate::scenario) struct ModemOf<'a> {
    /// Number of the link.
    pub(in crate::scenario) link: u16,
    /// Path of the line.
    pub(in crate::scenario) path: &'a str,
    /// Name of the line.
    pub(in crate::scenario) line: &'a str,
    /// The queue that the scenario is judged by, if it says so.
    pub(in crate::scenario) bottleneck: Option<&'a str>,
    pub(in crate::scenario) written: &'a Docsis,
    pub(in crate::scenario) plan: &'a CablePlan,
    /// The number of the modem on the line.
    pub(in crate::scenario) modem: usize,
    pub(in crate::scenario) hosts: &'a BTreeMap<String, HostPlan>,
    /// Whether service class names stand in place of the values of their classes.
    pub(in crate::scenario) is_by_class: bool,
}

/// A service flow with its number in the file.
struct Referred<'a> {
    reference: u16,
    direction: OneWay,
    flow: &'a FlowPlan,
}

/// The file of a modem without its message integrity checks and end marker, and notes about the
/// settings that it does not hold.
pub(in crate::scenario) fn file_of(of: ModemOf<'_>) -> (File, Vec<String>) {
    let mut notes = Notes::default();
    let profile = of.plan.modems.profile_of(of.modem);
    let mut tlvs = vec![Tlv::new(NETWORK_ACCESS, [1]), Tlv::new(MAX_CPE, [DEVICES])];
    if of.written.preset.supports(Feature::Classifiers) {
        let flows = referred(&profile.flows);
        note_names(&of, &flows, &mut notes);
        tlvs.extend(rules(&of, &flows, &mut notes));
        for flow in &flows {
            tlvs.push(service_flow::tlv(&of, flow, &mut notes));
        }
        let aggregates = aggregates(&flows, &mut notes);
        let has_aggregates = !aggregates.is_empty();
        tlvs.extend(aggregates);
        if profile.flows[0][0].is_modem_aqm_disabled {
            tlvs.push(Tlv::new(UPSTREAM_AQM_DISABLE, [1]));
        }
        if has_aggregates {
            tlvs.push(low_latency::extended_mic(&tlvs));
        }
    } else {
        tlvs.push(class_of_service::tlv(&of, &profile.flows, &mut notes));
    }
    note_line(&of, &mut notes);
    let file = File {
        kind: Kind::CableModem,
        tlvs,
        rest: Vec::new(),
    };
    (file, notes.into_lines())
}

/// The aggregates with low latency.
fn aggregates(flows: &[Referred<'_>], notes: &mut Notes) -> Vec<Tlv> {
    let with_low = flows.iter().filter_map(|classic| {
        let plan = classic.flow.aggregate_as_classic()?;
        let is_low =
            |one: &&Referred<'_>| one.direction == classic.direction && one.flow.is_low_latency();
        Some((classic, plan, flows.iter().find(is_low)?.reference))
    });
    with_low
        .map(|(classic, plan, low)| low_latency::aggregate(classic, plan, low, notes))
        .collect()
}

/// The classifiers of its service flows and its drop classifiers.
fn rules(of: &ModemOf<'_>, flows: &[Referred<'_>], notes: &mut Notes) -> Vec<Tlv> {
    let mut rules = Rules::new(of);
    for one in flows {
        let number = match one.direction {
            OneWay::Up => UPSTREAM_CLASSIFIER,
            OneWay::Down => DOWNSTREAM_CLASSIFIER,
        };
        for rule in &one.flow.rules {
            let rule = raised(rule, one.direction, flows);
            rules.add(number, Some(one.reference), one.direction, &rule, notes);
        }
    }
    for rule in &of.plan.modems.profile_of(of.modem).drops {
        rules.add(DROP_CLASSIFIER, None, OneWay::Up, rule, notes);
    }
    rules.tlvs
}

/// A classifier with a priority above that of the default classifiers of its direction, if it is
/// none of them. These are examined last in the model, and have the priority 0.
fn raised<'a>(rule: &'a RulePlan, direction: OneWay, flows: &[Referred<'_>]) -> Cow<'a, RulePlan> {
    let of_direction = flows.iter().filter(|one| one.direction == direction);
    let rules = || of_direction.clone().flat_map(|one| &one.flow.rules);
    let has_default = rules().any(|rule| rule.is_default);
    let is_low = rules().any(|rule| !rule.is_default && rule.classifier.priority == 0);
    if rule.is_default || !has_default || !is_low {
        return Cow::Borrowed(rule);
    }
    let mut rule = rule.clone();
    rule.classifier.priority = rule.classifier.priority.saturating_add(1);
    Cow::Owned(rule)
}

/// The service flows that exist at the start, with their references. The primary ones have 1 and 2.
/// A further one called `up_7` or `down_7` has 7, because a service flow gets this name from a file
/// where its reference is 7. The others get numbers that are left.
fn referred(flows: &[Vec<FlowPlan>; 2]) -> Vec<Referred<'_>> {
    let ways = [OneWay::Up, OneWay::Down];
    let primary = |way: OneWay| (way, &flows[way.index()][0]);
    let further = |way: OneWay| {
        let flows = flows[way.index()].iter().skip(1);
        flows
            .filter(|flow| flow.exists_at_start)
            .map(move |flow| (way, flow))
    };
    let all: Vec<_> = (ways.map(primary).into_iter())
        .chain(ways.into_iter().flat_map(further))
        .collect();
    let wanted = |way: OneWay, flow: &FlowPlan| {
        let number = flow.name.strip_prefix(way.name())?.strip_prefix('_')?;
        number.parse().ok().filter(|number: &u16| *number > 2)
    };
    let mut references: Vec<Option<u16>> = vec![Some(1), Some(2)];
    for &(way, flow) in &all[2..] {
        let wanted = wanted(way, flow).filter(|number| !references.contains(&Some(*number)));
        references.push(wanted);
    }
    for place in 0..references.len() {
        let is_free = |number: &u16| !references.contains(&Some(*number));
        let free = (1..=u16::MAX).find(is_free);
        references[place] = references[place].or(free);
    }
    let referred = |((direction, flow), reference): (_, Option<u16>)| {
        let reference = reference?;
        Some(Referred {
            reference,
            direction,
            flow,
        })
    };
    all.into_iter()
        .zip(references)
        .filter_map(referred)
        .collect()
}

/// Notes what further service flows are called in a run with the file, which has only their
/// numbers.
fn note_names(of: &ModemOf<'_>, flows: &[Referred<'_>], notes: &mut Notes) {
    let modems = &of.plan.modems;
    let own = &modems.all[of.modem];
    let mut renamed = Vec::new();
    let named = flows[2..].iter().filter(|one| !one.flow.is_low_latency());
    for one in named {
        let old = &one.flow.name;
        let new = format!("{}_{}", one.direction.name(), one.reference);
        if *old == new {
            continue;
        }
        let mut alike = modems
            .all
            .iter()
            .filter(|modem| modem.profile == own.profile);
        let judged = alike.find(|modem| of.bottleneck == Some(&modem.queue_name(of.line, old)));
        if let (Some(modem), Some(bottleneck)) = (judged, of.bottleneck) {
            notes.line(format!(
                "bottleneck: a run with the file has no queue \"{bottleneck}\": add --set \
                 bottleneck={}.",
                modem.queue_name(of.line, &new)
            ));
        }
        renamed.push(format!("\"{old}\" is \"{new}\""));
    }
    if !renamed.is_empty() {
        notes.line(format!(
            "No TLV names a service flow. In a run with the file, {}; other names draw other \
             random numbers.",
            renamed.join(", ")
        ));
    }
}

/// Notes what is the line's, and what happens during the run.
fn note_line(of: &ModemOf<'_>, notes: &mut Notes) {
    for (direction, capacity) in ["upstream", "downstream"].iter().zip(&of.plan.capacity) {
        if capacity.is_some() {
            notes.is_unsaid(format!("{}.{direction}.capacity", of.path));
        }
    }
    for change in &of.plan.changes {
        if change.modem == of.modem {
            notes.is_unsaid(format!("{}.change.{}", of.path, change.name));
        }
    }
}

/// Whether a flow requests its grants. Such a flow can fill its buffer, and AQM manages it.
fn is_elastic(one: &Referred<'_>) -> bool {
    service_flow_plan::is_elastic(one.direction, &one.flow.qos.scheduling)
}

fn u16_tlv(number: u8, value: u16) -> Tlv {
    Tlv::new(number, value.to_be_bytes())
}

fn u32_tlv(number: u8, value: u32) -> Tlv {
    Tlv::new(number, value.to_be_bytes())
}
