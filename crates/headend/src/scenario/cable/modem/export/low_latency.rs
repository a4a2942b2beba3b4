//! An aggregate with low latency as TLV 70 or 71, and what its low-latency service flow has of its
//! own in TLV 24 or 25 (MULPI Annex C).
//!
//! The CMTS sees aggregates only in a file with an extended CMTS MIC, whose settings are in TLV 43.

use docsis_config::Tlv;

use super::note::Notes;
use super::settings::{Written, burst, rates};
use super::{Referred, u16_tlv, u32_tlv};
use crate::qdisc::QueueConfig;
use crate::qdisc::immediate_aqm;
use crate::scenario::cable::service_flow::{AggregatePlan, OneWay, default_estimator};
use crate::time::Duration;

const UPSTREAM: u8 = 70;
const DOWNSTREAM: u8 = 71;

// Sub-TLVs of aggregates.
const REFERENCE: u8 = 1;
const SUSTAINED_RATE: u8 = 8;
const PEAK_RATE: u8 = 27;
const LOW_LATENCY: u8 = 42;

// Sub-TLVs of the low-latency encodings.
const FLOW: u8 = 1;
const COUPLING: u8 = 5;
const WEIGHT: u8 = 6;
const PROTECTION: u8 = 7;
const LATENCY_THRESHOLD: u8 = 8;
const SCORE_THRESHOLD: u8 = 9;
const DRAIN_EXPONENT: u8 = 10;

// Sub-TLVs of Buffer Control and of AQM encodings.
const BUFFER_CONTROL: u8 = 35;
const TARGET: u8 = 2;
const AQM: u8 = 40;
const AQM_DISABLE: u8 = 1;
const ALGORITHM: u8 = 3;
const MAXIMUM_THRESHOLD: u8 = 4;
const RAMP_EXPONENT: u8 = 5;

/// The algorithm immediate AQM.
const IMMEDIATE: u8 = 2;

const MICROSECOND: Duration = Duration::from_micros(1);

// Sub-TLVs of vendor-specific TLVs: the vendor's identifier, and the extended CMTS MIC with its
// HMAC type and bitmap.
const VENDOR: u8 = 43;
const VENDOR_ID: u8 = 8;
const EXTENDED_MIC: u8 = 6;
const HMAC_TYPE: u8 = 1;
const BITMAP: u8 = 2;
/// The identifier of settings of DOCSIS itself.
const OF_DOCSIS: [u8; 3] = [0xff; 3];
const HMAC_MD5: u8 = 1;
/// The MIC of the modem, which stands in the file later.
const CM_MIC: u8 = 6;

/// The reference of the aggregate of a direction.
pub(super) fn reference(direction: OneWay) -> u16 {
    match direction {
        OneWay::Up => 1,
        OneWay::Down => 2,
    }
}

/// The aggregate of `classic`, whose low-latency service flow has the reference `low`.
pub(super) fn aggregate(
    classic: &Referred<'_>,
    plan: &AggregatePlan,
    low: u16,
    notes: &mut Notes,
) -> Tlv {
    let settings = &classic.flow.settings;
    let written = Written::all();
    let own = reference(classic.direction);
    let mut tlvs = vec![u16_tlv(REFERENCE, own)];
    let limits = [
        (SUSTAINED_RATE, &settings.rate),
        (PEAK_RATE, &settings.peak),
    ];
    tlvs.extend(rates(&limits, written, notes));
    tlvs.extend(burst(settings, written, notes));
    tlvs.push(Tlv::nested(LOW_LATENCY, encodings(plan, low, notes)));
    tlvs.sort_by_key(|tlv| tlv.number);
    let number = match classic.direction {
        OneWay::Up => UPSTREAM,
        OneWay::Down => DOWNSTREAM,
    };
    Tlv::nested(number, tlvs)
}

/// The low-latency encodings.
fn encodings(plan: &AggregatePlan, low: u16, notes: &mut Notes) -> Vec<Tlv> {
    let protection = plan.queue.protection.as_ref();
    let mut tlvs = vec![
        u16_tlv(FLOW, low),
        Tlv::new(COUPLING, [plan.coupling_tenths]),
        Tlv::new(WEIGHT, [plan.weight]),
        Tlv::new(PROTECTION, [u8::from(protection.is_some())]),
    ];
    if let Some(protection) = protection {
        let mut micros = |number: u8, key: &str, time: Duration| {
            let path = format!("{}.queue_protection.{key}", plan.path);
            let steps = notes.steps(&path, time, MICROSECOND, u32::from(u16::MAX));
            u16_tlv(number, steps as u16)
        };
        if let Some(threshold) = protection.latency_threshold {
            tlvs.push(micros(LATENCY_THRESHOLD, "latency_threshold", threshold));
        }
        tlvs.push(micros(
            SCORE_THRESHOLD,
            "score_threshold",
            protection.score_threshold,
        ));
        tlvs.push(Tlv::new(DRAIN_EXPONENT, [protection.drain_exponent]));
    }
    tlvs
}

/// The Buffer Control and AQM encodings of a low-latency service flow; `histogram` are the edges of
/// its latency histogram.
pub(super) fn queue(
    one: &Referred<'_>,
    plan: &AggregatePlan,
    histogram: Option<Tlv>,
    notes: &mut Notes,
) -> Vec<Tlv> {
    let mut tlvs = Vec::new();
    let config = immediate_aqm::Config {
        limit: plan.written.limit,
        ..plan.queue.clone()
    };
    let default = immediate_aqm::Config::default();
    if config.estimator != default_estimator(one.direction) {
        notes.is_unsaid(format!("{}.estimator", plan.path));
    }
    if config.limit.is_some() {
        let path = format!("{}.limit", plan.path);
        let queue = QueueConfig::ImmediateAqm(config.clone());
        let bytes = queue.limit_bytes(one.flow.rate).unwrap_or(u64::MAX);
        let bytes = notes.at_most(&path, bytes, u64::from(u32::MAX)) as u32;
        tlvs.push(Tlv::nested(BUFFER_CONTROL, vec![u32_tlv(TARGET, bytes)]));
    }
    let is_disabled = plan.written.aqm_disabled;
    let mut aqm = vec![
        Tlv::new(AQM_DISABLE, [u8::from(is_disabled)]),
        Tlv::new(ALGORITHM, [IMMEDIATE]),
    ];
    if config.maximum_threshold != default.maximum_threshold {
        let path = format!("{}.maximum_threshold", plan.path);
        let most = u32::from(u16::MAX);
        let steps = notes.steps(&path, config.maximum_threshold, MICROSECOND, most);
        aqm.push(u16_tlv(MAXIMUM_THRESHOLD, steps as u16));
    }
    if config.range_exponent != default.range_exponent {
        aqm.push(Tlv::new(RAMP_EXPONENT, [config.range_exponent]));
    }
    aqm.extend(histogram);
    tlvs.push(Tlv::nested(AQM, aqm));
    tlvs
}

/// The settings of an extended CMTS MIC for a file with these TLVs. It stands in TLV 7, and so
/// covers all types of the file.
pub(super) fn extended_mic(tlvs: &[Tlv]) -> Tlv {
    let types = tlvs.iter().map(|tlv| tlv.number);
    let types = types.chain([CM_MIC, VENDOR]);
    let mut bitmap = Vec::new();
    for number in types.map(usize::from) {
        let place = number / 8;
        bitmap.resize(bitmap.len().max(place + 1), 0_u8);
        bitmap[place] |= 0x80 >> (number % 8);
    }
    let extended = vec![Tlv::new(HMAC_TYPE, [HMAC_MD5]), Tlv::new(BITMAP, bitmap)];
    let tlvs = vec![
        Tlv::new(VENDOR_ID, OF_DOCSIS),
        Tlv::nested(EXTENDED_MIC, extended),
    ];
    Tlv::nested(VENDOR, tlvs)
}
