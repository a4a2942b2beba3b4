//! Low latency of a modem's file: the encodings of an aggregate (TLVs 70.42 and 71.42), and the two
//! service flows that it joins.
//!
//! The model has an aggregate of two service flows, of which the classic one is the primary service
//! flow of its direction. Any other aggregate has an [obstacle](Aggregate::obstacle), and its
//! service flows run apart.

use std::collections::BTreeMap;

use serde_json::json;

use super::content::{Aggregate, FileFlow, LowLatency, Pair};
use super::place::{FileError, Node, TlvPlace};
use super::{DOWNSTREAM_FLOW, ModemFile, UPSTREAM_FLOW};
use crate::link::docsis::preset::{Feature, Preset};
use crate::named::Named;
use crate::scenario::cable::service_flow::{DEFAULT_BURST, OneWay, is_elastic};
use crate::time::Duration;
use crate::units::{MaximumRate, Rate};

// Sub-TLVs of the low-latency encodings.
const FLOW: u8 = 1;
const CLASSIC_CLASS: u8 = 3;
const LOW_CLASS: u8 = 4;
const COUPLING: u8 = 5;
const WEIGHT: u8 = 6;
const PROTECTION: u8 = 7;
const LATENCY_THRESHOLD: u8 = 8;
const SCORE_THRESHOLD: u8 = 9;
const DRAIN_EXPONENT: u8 = 10;

impl LowLatency {
    pub(super) fn read(node: &Node<'_>) -> Result<Self, FileError> {
        let mut read = Self {
            flow: None,
            classic_class: None,
            low_class: None,
            keys: BTreeMap::new(),
        };
        let micros = |part: &Node<'_>| Ok(Duration::from_micros(part.uint(2)?));
        for part in node.nested()? {
            let (key, value) = match part.number() {
                FLOW => {
                    read.flow = Some((part.uint(2)? as u16, part.place()));
                    continue;
                }
                CLASSIC_CLASS => {
                    read.classic_class = Some((part.text(), part.place()));
                    continue;
                }
                LOW_CLASS => {
                    read.low_class = Some((part.text(), part.place()));
                    continue;
                }
                // Units: tenths.
                COUPLING => ("coupling", json!(part.uint(1)? as f64 / 10.0)),
                WEIGHT => ("weight", json!(part.uint(1)?)),
                // The second bit, of DOCS-QOS3-MIB, is about what is moved: packets or flows.
                PROTECTION => ("queue_protection.enabled", json!(part.uint(1)? & 1 == 1)),
                LATENCY_THRESHOLD => {
                    let threshold = micros(&part)?;
                    if threshold.is_zero() {
                        continue;
                    }
                    ("queue_protection.latency_threshold", json!(threshold))
                }
                SCORE_THRESHOLD => ("queue_protection.score_threshold", json!(micros(&part)?)),
                DRAIN_EXPONENT => ("queue_protection.drain_exponent", json!(part.uint(1)?)),
                _ => continue,
            };
            read.keys.insert(key, (value, part.place()));
        }
        Ok(read)
    }
}

/// Joins the two service flows of each aggregate with low latency that the model can have.
pub(super) fn join(
    read: &mut ModemFile,
    preset: Preset,
    disable: Option<&Node<'_>>,
) -> Result<(), FileError> {
    let off = match disable {
        Some(node) if node.uint(1)? > 0 => Some(format!("{} turns it off", node.place())),
        _ => None,
    };
    for mut aggregate in std::mem::take(&mut read.aggregates) {
        let Some(low_latency) = &aggregate.low_latency else {
            read.aggregates.push(aggregate);
            continue;
        };
        let found = if let Some(off) = &off {
            Err(off.clone())
        } else if !preset.supports(Feature::LowLatency) {
            Err(format!("a line of `{}` has none", preset.name()))
        } else {
            find_flows(&read.flows, &aggregate, low_latency)
        };
        match found {
            Err(obstacle) => {
                aggregate.obstacle = Some(obstacle);
                read.aggregates.push(aggregate);
            }
            Ok(found) => join_one(read, aggregate, &found),
        }
    }
    Ok(())
}

/// The places of an aggregate's service flows among all of a file. A service flow that only a
/// service class gives has no place.
struct Found {
    classic: Option<usize>,
    low: Option<usize>,
}

/// Finds the two service flows of an aggregate, or the reason why the model cannot have it.
fn find_flows(
    flows: &[FileFlow],
    aggregate: &Aggregate,
    low_latency: &LowLatency,
) -> Result<Found, String> {
    let direction = aggregate.direction;
    let (way, type_of_flow) = match direction {
        OneWay::Up => ("upstream", UPSTREAM_FLOW),
        OneWay::Down => ("downstream", DOWNSTREAM_FLOW),
    };
    let find = |is_wanted: &dyn Fn(&FileFlow) -> bool| {
        let all = flows.iter().enumerate();
        let wanted = all.filter(|(_, flow)| flow.direction == direction && is_wanted(flow));
        wanted.map(|(place, _)| place).collect::<Vec<_>>()
    };
    let own = aggregate.reference;
    let names_it = |flow: &FileFlow| {
        let named = flow.aggregate.as_ref().map(|(reference, _)| *reference);
        named.is_some() && named == own
    };
    let primary = find(&|_| true).first().copied();
    let mut members = find(&names_it);
    let low = if let Some((wanted, place)) = &low_latency.flow {
        let Some(&low) = find(&|flow| flow.reference == Some(*wanted)).first() else {
            return Err(format!(
                "no active {way} service flow (TLV {type_of_flow}) has the reference {wanted} \
                 ({place})"
            ));
        };
        if !names_it(&flows[low])
            && let Some((other, place)) = &flows[low].aggregate
        {
            return Err(format!(
                "its low-latency service flow names aggregate {other} ({place})"
            ));
        }
        Some(low)
    } else {
        let further: Vec<usize> = (members.iter().copied())
            .filter(|&place| Some(place) != primary)
            .collect();
        match further.as_slice() {
            [low] => Some(*low),
            [] if low_latency.low_class.is_some() => None,
            [] => return Err("no service flow is its low-latency one".to_owned()),
            [first, second, ..] => {
                return Err(format!(
                    "it names no low-latency service flow (sub-TLV 42.1), which {} and {} both may \
                     be",
                    flows[*first].place, flows[*second].place
                ));
            }
        }
    };
    let kinds = members.iter().copied().chain(low);
    let mut kinds = kinds.filter_map(|place| {
        let Named(kind) = flows[place].keys.scheduling.as_ref()?;
        let is_shared = direction == OneWay::Down || is_elastic(direction, kind);
        (!is_shared).then(|| (kind.name(), &flows[place].places["scheduling"]))
    });
    if let Some((kind, place)) = kinds.next() {
        return Err(format!(
            "a service flow of {kind} ({place}) is in no aggregate of the model"
        ));
    }
    members.retain(|&place| Some(place) != low);
    let of_class = low_latency.classic_class.as_ref();
    match (members.as_slice(), primary) {
        (&[classic], Some(primary)) if classic == primary => Ok(Found {
            classic: Some(classic),
            low,
        }),
        // The CMTS makes the classic service flow of its class.
        ([], None) if of_class.is_some() => Ok(Found { classic: None, low }),
        ([], Some(primary)) if low == Some(primary) => Err(format!(
            "{} is the first {way} service flow, which the model has as the classic one",
            flows[primary].place
        )),
        ([], Some(primary)) => Err(format!(
            "{}, the primary service flow, is not its classic one",
            flows[primary].place
        )),
        ([], None) => Err("no service flow is its classic one".to_owned()),
        ([classic], _) => Err(format!(
            "its classic service flow, {}, is not the first {way} one, which is the primary one",
            flows[*classic].place
        )),
        (more, _) => Err(format!(
            "of its {} service flows the model has two",
            more.len() + 1
        )),
    }
}

/// Moves an aggregate and its low-latency service flow into its classic service flow.
fn join_one(read: &mut ModemFile, aggregate: Aggregate, found: &Found) {
    let direction = aggregate.direction;
    let low_latency = (aggregate.low_latency.as_ref()).expect("the caller has seen it");
    let of_class = |class: &Option<(String, TlvPlace)>| {
        let (_, place) = class
            .as_ref()
            .expect("without a service flow there is a class");
        FileFlow::new(direction, place.clone(), class.clone())
    };
    let mut classic = found.classic;
    let mut low = match found.low {
        None => of_class(&low_latency.low_class),
        Some(place) => {
            classic = classic.map(|classic| {
                if classic > place {
                    classic - 1
                } else {
                    classic
                }
            });
            read.flows.remove(place)
        }
    };
    low.class = low.class.or_else(|| low_latency.low_class.clone());
    let classic = classic.unwrap_or_else(|| {
        read.flows.push(of_class(&low_latency.classic_class));
        read.flows.len() - 1
    });
    let classic = &mut read.flows[classic];
    let class = classic.class.take();
    classic.class = class.or_else(|| low_latency.classic_class.clone());
    classic.aggregate = None;
    note_unused(&low, &["priority", "minimum_reserved"], &mut read.notes);
    note_unused(classic, &[], &mut read.notes);
    if low.classifiers.is_empty() {
        read.notes.push(format!(
            "no classifier sends packets to the low-latency service flow ({}): it takes those of \
             the default classifiers, with ECT(1) or CE, DSCP 45 or DSCP 46",
            low.place
        ));
    }
    if let Some((_, place)) = &low.law {
        read.notes.push(format!(
            "{place} is for DOCSIS-PIE, and the low-latency service flow has immediate AQM: not \
             used"
        ));
    }
    classic.pair = Some(Box::new(Pair { aggregate, low }));
}

/// Notes limits of a service flow of its own that the model does not have beside those of its
/// aggregate: bursts and peak rates, and `further` ones.
fn note_unused(flow: &FileFlow, further: &[&str], notes: &mut Vec<String>) {
    let keys = &flow.keys;
    let has_rate = keys.rate.and_then(MaximumRate::limit).is_some();
    let given = [
        (
            "burst",
            has_rate && keys.burst.is_some_and(|burst| burst != DEFAULT_BURST),
        ),
        ("peak", keys.peak.and_then(MaximumRate::limit).is_some()),
        (
            "priority",
            keys.priority.is_some_and(|priority| priority > 0),
        ),
        (
            "minimum_reserved",
            keys.minimum_reserved.is_some_and(|rate| rate > Rate(0)),
        ),
    ];
    let is_unused = |key: &str| ["burst", "peak"].contains(&key) || further.contains(&key);
    let places = (given.into_iter())
        .filter(|&(key, is_given)| is_given && is_unused(key))
        .filter_map(|(key, _)| flow.places.get(key));
    let places: Vec<String> = places.map(TlvPlace::to_string).collect();
    if !places.is_empty() {
        notes.push(format!(
            "{}: not simulated beside those of the aggregate",
            places.join(", ")
        ));
    }
}
