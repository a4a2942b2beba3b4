//! A service flow as TLV 24 or 25 (MULPI Annex C).

use docsis_config::Tlv;

use super::note::Notes;
use super::settings::{Written, burst, class_in, rates};
use super::{ModemOf, Referred, low_latency, queue, u16_tlv, u32_tlv};
use crate::link::docsis::grant::DequeueAt;
use crate::link::docsis::qos::{ProactiveGrants, Scheduling, UnsolicitedGrants};
use crate::link::token_bucket::PEAK_BURST;
use crate::qdisc::AckAcceleration;
use crate::scenario::cable::service_flow::{OneWay, Setting, Settings};
use crate::time::Duration;

const UPSTREAM: u8 = 24;
const DOWNSTREAM: u8 = 25;

const REFERENCE: u8 = 1;
const CLASS_NAME: u8 = 4;
const SET_TYPE: u8 = 6;
const PRIORITY: u8 = 7;
const SUSTAINED_RATE: u8 = 8;
const RESERVED_RATE: u8 = 10;
const SCHEDULING_TYPE: u8 = 15;
const REQUEST_POLICY: u8 = 16;
const POLLING_INTERVAL: u8 = 17;
const POLL_JITTER: u8 = 18;
const GRANT_SIZE: u8 = 19;
const GRANT_INTERVAL: u8 = 20;
const GRANT_JITTER: u8 = 21;
const GRANTS: u8 = 22;
const PEAK_RATE: u8 = 27;
const AGGREGATE: u8 = 36;
const GUARANTEED_INTERVAL: u8 = 44;
const GUARANTEED_RATE: u8 = 45;
const REQUEST_INTERVAL: u8 = 46;
const NO_ACTIVITY_DETECTION: u8 = 49;

/// Provisioned, admitted and active.
const ALL_SETS: u8 = 7;

const MICROSECOND: Duration = Duration::from_micros(1);

/// The longest name of a service class: 16 B with the zero at its end.
const LONGEST_NAME: usize = 15;

pub(super) fn tlv(of: &ModemOf<'_>, one: &Referred<'_>, notes: &mut Notes) -> Tlv {
    let settings = &one.flow.settings;
    let class = class_of(of, one, notes);
    let mut tlvs = vec![
        u16_tlv(REFERENCE, one.reference),
        Tlv::new(SET_TYPE, [ALL_SETS]),
    ];
    if let Some(class) = class {
        tlvs.push(Tlv::new(CLASS_NAME, [class.as_bytes(), &[0]].concat()));
    }
    let written = Written { class };
    if let Some(aggregate) = one.flow.aggregate_as_classic() {
        // The limits of the settings are those of the aggregate.
        let own = Setting {
            value: aggregate.classic_rate,
            path: format!("{}.classic_rate", aggregate.path),
        };
        let limits = [
            (SUSTAINED_RATE, &own),
            (RESERVED_RATE, &settings.minimum_reserved),
        ];
        tlvs.extend(rates(&limits, written, notes));
    } else {
        let limits = [
            (SUSTAINED_RATE, &settings.rate),
            (RESERVED_RATE, &settings.minimum_reserved),
            (PEAK_RATE, &settings.peak),
        ];
        tlvs.extend(rates(&limits, written, notes));
        tlvs.extend(burst(settings, written, notes));
    }
    if one.flow.aggregate.is_some() {
        tlvs.push(u16_tlv(AGGREGATE, low_latency::reference(one.direction)));
    }
    let priority = written.given(&settings.priority);
    if let Some((&priority, _)) =
        priority.filter(|(priority, path)| written.says(path, **priority == 0))
    {
        tlvs.push(Tlv::new(PRIORITY, [priority]));
    }
    if one.direction == OneWay::Up {
        tlvs.extend(scheduling(one, written, notes));
    }
    tlvs.extend(queue::tlvs(of, one, written, notes));
    note_device(settings, notes);
    tlvs.sort_by_key(|tlv| tlv.number);
    let number = match one.direction {
        OneWay::Up => UPSTREAM,
        OneWay::Down => DOWNSTREAM,
    };
    Tlv::nested(number, tlvs)
}

/// The service class that gives some keys of a primary service flow, if class names are to be
/// written. A file cannot refer to the further service flows of a class.
fn class_of<'a>(of: &ModemOf<'_>, one: &Referred<'a>, notes: &mut Notes) -> Option<&'a str> {
    if !of.is_by_class || !one.flow.rules.is_empty() {
        return None;
    }
    let settings = &one.flow.settings;
    let found = settings.given_paths().into_iter().find_map(class_in);
    if let Some(class) = found.filter(|_| one.flow.aggregate.is_some()) {
        notes.line(format!(
            "The service class \"{class}\" has low latency, which a file says of an aggregate: its \
             values are written out."
        ));
        return None;
    }
    let class = found?;
    if class.len() <= LONGEST_NAME {
        return Some(class);
    }
    notes.line(format!(
        "The name of the service class \"{class}\" is longer than {LONGEST_NAME} bytes: its values \
         are written out."
    ));
    None
}

/// The scheduling type with its parameters, and the request policy.
fn scheduling(one: &Referred<'_>, written: Written<'_>, notes: &mut Notes) -> Vec<Tlv> {
    let settings = &one.flow.settings;
    let mut tlvs = Vec::new();
    let mut micros = |number: u8, path: &str, time: Duration| {
        u32_tlv(number, notes.steps(path, time, MICROSECOND, u32::MAX))
    };
    if let Some((named, path)) = written.given(&settings.scheduling) {
        match &named.0 {
            Scheduling::BestEffort if written.says(path, true) => {
                tlvs.push(Tlv::new(SCHEDULING_TYPE, [2]));
            }
            Scheduling::BestEffort => {}
            Scheduling::NrtPs(polling) | Scheduling::RtPs(polling) => {
                let number = if matches!(named.0, Scheduling::NrtPs(_)) {
                    3
                } else {
                    4
                };
                tlvs.push(Tlv::new(SCHEDULING_TYPE, [number]));
                tlvs.push(micros(POLLING_INTERVAL, path, polling.interval));
                tlvs.push(micros(POLL_JITTER, path, polling.jitter));
            }
            Scheduling::Ugs(grants) => {
                let UnsolicitedGrants {
                    size,
                    interval,
                    jitter,
                    grants,
                } = grants;
                tlvs.push(Tlv::new(SCHEDULING_TYPE, [6]));
                tlvs.push(micros(GRANT_INTERVAL, path, *interval));
                tlvs.push(micros(GRANT_JITTER, path, *jitter));
                let size = notes.at_most(path, size.0, u64::from(u16::MAX));
                tlvs.push(u16_tlv(GRANT_SIZE, size as u16));
                tlvs.push(Tlv::new(GRANTS, [*grants]));
            }
            Scheduling::Pgs(grants) => {
                let ProactiveGrants {
                    rate,
                    interval,
                    request_interval,
                    activity_detection,
                    activity_timeout,
                } = grants;
                let most = u32::from(u16::MAX);
                tlvs.push(Tlv::new(SCHEDULING_TYPE, [7]));
                if let Some(interval) = interval {
                    let interval = notes.steps(path, *interval, MICROSECOND, most);
                    tlvs.push(u16_tlv(GUARANTEED_INTERVAL, interval as u16));
                }
                let rate = notes.at_most(path, rate.0, u64::from(u32::MAX));
                tlvs.push(u32_tlv(GUARANTEED_RATE, rate as u32));
                if let Some(interval) = request_interval {
                    let interval = notes.steps(path, *interval, MICROSECOND, most);
                    tlvs.push(u16_tlv(REQUEST_INTERVAL, interval as u16));
                }
                if !activity_detection {
                    tlvs.push(Tlv::new(NO_ACTIVITY_DETECTION, [1]));
                }
                if activity_timeout.is_some() {
                    notes.is_unsaid(format!("{path}.pgs.activity_timeout"));
                }
            }
        }
    }
    if let Some((policy, path)) = written.given(&settings.request_policy) {
        let bits = policy.bits();
        if written.says(path, bits == 0) {
            tlvs.push(u32_tlv(REQUEST_POLICY, bits));
        }
    }
    tlvs
}

/// Notes the keys about the device that no file holds.
fn note_device(settings: &Settings, notes: &mut Notes) {
    if let Some((_, path)) =
        (settings.peak_burst.given()).filter(|(burst, _)| burst.0 != PEAK_BURST)
    {
        notes.is_unsaid(path);
    }
    let dequeue_at = settings.dequeue_at.given();
    if let Some((_, path)) = dequeue_at.filter(|(at, _)| **at != DequeueAt::default()) {
        notes.is_unsaid(path);
    }
    let acceleration = settings.ack_acceleration.given();
    if let Some((_, path)) = acceleration.filter(|(mode, _)| **mode != AckAcceleration::default()) {
        notes.is_unsaid(path);
    }
}
