//! A service flow as TLV 24 or 25 (MULPI Annex C).

use docsis_config::Tlv;

use super::note::Notes;
use super::{ModemOf, Referred, low_latency, queue, u16_tlv, u32_tlv};
use crate::link::docsis::qos::{ProactiveGrants, Scheduling, UnsolicitedGrants};
use crate::link::docsis::service_flow::DequeueAt;
use crate::link::docsis::token_bucket::PEAK_BURST;
use crate::qdisc::AckAcceleration;
use crate::scenario::cable::service_flow::{DEFAULT_BURST, OneWay, Setting, Settings};
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

const UPSTREAM: u8 = 24;
const DOWNSTREAM: u8 = 25;

const REFERENCE: u8 = 1;
const CLASS_NAME: u8 = 4;
const SET_TYPE: u8 = 6;
const PRIORITY: u8 = 7;
const SUSTAINED_RATE: u8 = 8;
const BURST: u8 = 9;
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
const RATE_UNIT: u8 = 41;
const GUARANTEED_INTERVAL: u8 = 44;
const GUARANTEED_RATE: u8 = 45;
const REQUEST_INTERVAL: u8 = 46;
const NO_ACTIVITY_DETECTION: u8 = 49;

/// Provisioned, admitted and active.
const ALL_SETS: u8 = 7;

const MICROSECOND: Duration = Duration::from_micros(1);

/// The longest name of a service class: 16 B with the zero at its end.
const LONGEST_NAME: usize = 15;

/// The units of rates, in bit/s: what TLV 41 numbers from 0 on.
const RATE_UNITS: [u64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

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

/// Which settings the file writes: all, or those that a class of this name does not give.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written<'a> {
    class: Option<&'a str>,
}

impl Written<'_> {
    /// All of them.
    pub(super) fn all() -> Self {
        Self { class: None }
    }

    /// The value with the path of its key, if the file has to write it.
    pub(super) fn given<T>(self, setting: &Setting<T>) -> Option<(&T, &str)> {
        setting.given().filter(|(_, path)| !self.is_of_class(path))
    }

    /// Whether the file has to write the value at `path`. A default is written too if the modem's
    /// own keys give it and the file names a class, because the class may have another value.
    pub(super) fn says(self, path: &str, is_default: bool) -> bool {
        !is_default || self.class.is_some() && path.contains(".docsis.modem.")
    }

    /// Whether the class gives the key at `path`.
    pub(super) fn is_of_class(self, path: &str) -> bool {
        self.class.is_some() && class_in(path) == self.class
    }
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
            "The service class \"{class}\" has low latency, which a file says of an aggregate: its values are written out."
        ));
        return None;
    }
    let class = found?;
    if class.len() <= LONGEST_NAME {
        return Some(class);
    }
    notes.line(format!(
        "The name of the service class \"{class}\" is longer than {LONGEST_NAME} bytes: its values are written out."
    ));
    None
}

/// The service class in whose table the key at `path` is.
fn class_in(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once(".docsis.service_class.")?;
    rest.split('.').next()
}

/// The maximum traffic burst.
pub(super) fn burst(settings: &Settings, written: Written<'_>, notes: &mut Notes) -> Option<Tlv> {
    let is_usual = |burst: &ByteCount| written.class.is_some() && *burst == DEFAULT_BURST;
    let (ByteCount(burst), path) = (written.given(&settings.burst))
        .filter(|(burst, path)| written.says(path, is_usual(burst)))?;
    let burst = notes.at_most(path, *burst, u64::from(u32::MAX));
    Some(u32_tlv(BURST, burst as u32))
}

/// Rates by their TLVs, in the smallest unit in which they fit into 32 bits.
pub(super) fn rates(
    limits: &[(u8, &Setting<Rate>)],
    written: Written<'_>,
    notes: &mut Notes,
) -> Vec<Tlv> {
    let given: Vec<(u8, Rate, &str)> = (limits.iter())
        .filter_map(|&(number, setting)| {
            let (rate, path) = match written.given(setting) {
                Some((&rate, path)) => (rate, path),
                // The absence of a limit takes precedence over the limit of the class.
                None if setting.value.is_none() && !written.is_of_class(&setting.path) => {
                    (Rate(0), setting.path.as_str())
                }
                None => return None,
            };
            (written.says(path, rate.0 == 0)).then_some((number, rate, path))
        })
        .collect();
    let most = u64::from(u32::MAX);
    let fits = |unit: &u64| {
        given
            .iter()
            .all(|(_, rate, _)| rate.0.div_ceil(*unit) <= most)
    };
    let place = RATE_UNITS
        .iter()
        .position(fits)
        .unwrap_or(RATE_UNITS.len() - 1);
    let unit = RATE_UNITS[place];
    let mut tlvs = Vec::new();
    for (number, rate, path) in given {
        let steps = ((rate.0 + unit / 2) / unit).min(most);
        if steps * unit != rate.0 {
            let said = Rate(steps * unit);
            notes.line(format!("{path}: the file says {said} in place of {rate}."));
        }
        tlvs.push(u32_tlv(number, steps as u32));
    }
    if place > 0 {
        tlvs.push(Tlv::new(RATE_UNIT, [place as u8]));
    }
    tlvs
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
