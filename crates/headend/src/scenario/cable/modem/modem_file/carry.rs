//! Gives a modem's file the queue, or the low latency, of another file. All else stays as it is,
//! the message integrity checks too.

use std::collections::BTreeSet;

use docsis_config::{File, Kind, Tlv, Value};

use super::place::nodes;
use super::resolved::{Bundle, Resolved};
use super::{DOWNSTREAM_FLOW, UPSTREAM_AQM_DISABLE, UPSTREAM_FLOW};
use crate::scenario::cable::service_flow::OneWay;

// Types of TLVs in a file.
const PAD: u8 = 0;
const MICS: [u8; 2] = [6, 7];
const CLASSIFIERS: [u8; 2] = [22, 23];
const VENDOR: u8 = 43;
const END: u8 = 255;

// Types in a service flow, an aggregate, a classifier and AQM encodings.
const REFERENCE: u8 = 1;
const FLOW: u8 = 3;
const PRIORITY: u8 = 5;
const RATE: u8 = 8;
const BURST: u8 = 9;
const RESERVED: u8 = 10;
const PEAK: u8 = 27;
const BUFFER: u8 = 35;
const AGGREGATE: u8 = 36;
const AQM: u8 = 40;
const RATE_UNIT: u8 = 41;
const LOW_LATENCY: u8 = 42;
const DISABLED: u8 = 1;

/// Types in AQM encodings that set a queue discipline: whether it is off, its target, its
/// algorithm.
const DISCIPLINE: [u8; 3] = [DISABLED, 2, 3];

// Types in vendors' settings: the extended CMTS MIC, and in it the types of TLVs that it covers.
const EXTENDED_MIC: u8 = 6;
const BITMAP: u8 = 2;

/// The file with the buffer and the AQM of the other file's first upstream service flow.
///
/// # Errors
///
/// A clause, where that cannot be done by these TLVs alone.
pub fn carry_queue(content: &[u8], source: &[u8]) -> Result<Vec<u8>, String> {
    let (mut file, source) = (File::decode(content), File::decode(source));
    let other = &source.tlvs[first_flow(&source, UPSTREAM_FLOW)?];
    let flow = first_flow(&file, UPSTREAM_FLOW)?;
    put_queue(&mut file.tlvs[flow], other);
    enable_aqm(&mut file, other);
    encode(&file)
}

/// The file with the low latency of the other file, whose first service flows have it.
///
/// The rates of the first service flows move to the aggregates. The new service flows and
/// classifiers take references that the file does not use. Where another classifier has the
/// priority 0, which is that of the new ones, those of the file get a priority one higher. The
/// extended CMTS MIC covers what is new.
///
/// # Errors
///
/// A clause, where that cannot be done.
pub fn carry_low_latency(content: &[u8], source: &[u8]) -> Result<Vec<u8>, String> {
    let (mut file, source) = (File::decode(content), File::decode(source));
    let other = Resolved::read(source.kind, &nodes(&source.tlvs));
    let mut flows = Numbers::used(&file, &[UPSTREAM_FLOW, DOWNSTREAM_FLOW], 0xffff);
    let mut classifiers = Numbers::used(&file, &[22, 23, 60], 0xff);
    let mut fresh: Vec<Tlv> = Vec::new();
    for (index, aggregate) in other.aggregates.iter().enumerate() {
        let Some(low) = other.low(index).map(|low| &other.flows[low]) else {
            continue;
        };
        let way = aggregate.direction.index();
        let kind = [UPSTREAM_FLOW, DOWNSTREAM_FLOW][way];
        let classic = &source.tlvs[first_flow(&source, kind)?];
        let wanted = reference(low)?;
        let number = flows.take(wanted)?;
        let flow = first_flow(&file, kind)?;
        put_queue(&mut file.tlvs[flow], classic);
        join(&mut file.tlvs[flow], reference(aggregate)?);
        if aggregate.direction == OneWay::Up {
            enable_aqm(&mut file, classic);
        }
        raise_priorities(&mut file, CLASSIFIERS[way])?;
        for tlv in source.all(CLASSIFIERS[way]).filter(|tlv| is_nested(tlv)) {
            if uint(tlv, FLOW, 2) != Some(wanted) {
                continue;
            }
            let mut own = tlv.clone();
            let taken =
                classifiers.take(uint(tlv, REFERENCE, 1).filter(|&one| one > 0).unwrap_or(1))?;
            put(&mut own, Tlv::new(REFERENCE, [taken as u8]));
            put(&mut own, leaf(FLOW, number));
            fresh.push(own);
        }
        let mut own = source.tlvs[low.index].clone();
        put(&mut own, leaf(REFERENCE, number));
        fresh.push(own);
        let mut own = source.tlvs[aggregate.index].clone();
        match own.get(LOW_LATENCY).cloned() {
            Some(mut encodings) => {
                put(&mut encodings, leaf(1, number));
                put(&mut own, encodings);
            }
            None => put(&mut own, leaf(LOW_LATENCY, number)),
        }
        fresh.push(own);
    }
    fresh.sort_by_key(|tlv| tlv.number);
    let new: BTreeSet<u8> = fresh.iter().map(|tlv| tlv.number).collect();
    let is_end = |tlv: &Tlv| MICS.contains(&tlv.number) || tlv.number == END;
    let place = file.tlvs.iter().position(is_end);
    let place = place.unwrap_or(file.tlvs.len());
    let end = place + fresh.len();
    file.tlvs.splice(place..place, fresh);
    cover(
        &mut file,
        &new,
        end,
        source.tlvs.iter().find(|tlv| is_extended(tlv)),
    );
    encode(&file)
}

/// References that are not in use.
struct Numbers {
    used: BTreeSet<u64>,
    most: u64,
}

impl Numbers {
    fn used(file: &File, types: &[u8], most: u64) -> Self {
        let own = file.tlvs.iter().filter(|tlv| types.contains(&tlv.number));
        let width = if most > 0xff { 2 } else { 1 };
        let used = own.filter_map(|tlv| uint(tlv, REFERENCE, width)).collect();
        Self { used, most }
    }

    /// The number that is wanted, or else the least that is free.
    fn take(&mut self, wanted: u64) -> Result<u64, String> {
        let mut numbers = std::iter::once(wanted).chain(1..=self.most);
        let Some(found) = numbers.find(|number| !self.used.contains(number)) else {
            let what = if self.most > 0xff {
                "service flows"
            } else {
                "classifiers"
            };
            return Err(format!(
                "it has {} {what}, and room for none",
                self.used.len()
            ));
        };
        self.used.insert(found);
        Ok(found)
    }
}

/// The place of the first service flow of a type.
fn first_flow(file: &File, number: u8) -> Result<usize, String> {
    let is_it = |tlv: &Tlv| tlv.number == number && is_nested(tlv);
    let found = file.tlvs.iter().position(is_it);
    found.ok_or_else(|| format!("it has no service flow of TLV {number}"))
}

fn reference(bundle: &Bundle) -> Result<u64, String> {
    let found = bundle.value("reference");
    found.ok_or_else(|| format!("TLV {} has no reference", bundle.place))
}

/// Gives a service flow the buffer of another, and what sets its queue discipline.
fn put_queue(flow: &mut Tlv, other: &Tlv) {
    match other.get(BUFFER) {
        Some(buffer) => put(flow, buffer.clone()),
        None => remove(flow, &[BUFFER]),
    }
    let parts = |flow: &Tlv, is_of_discipline: bool| -> Vec<Tlv> {
        let nested = flow.get(AQM).map(|aqm| nested(aqm).to_vec());
        let mut nested = nested.unwrap_or_default();
        nested.retain(|tlv| DISCIPLINE.contains(&tlv.number) == is_of_discipline);
        nested
    };
    let mut aqm = [parts(other, true), parts(flow, false)].concat();
    aqm.sort_by_key(|tlv| tlv.number);
    if aqm.is_empty() {
        remove(flow, &[AQM]);
    } else {
        put(flow, Tlv::nested(AQM, aqm));
    }
}

/// Makes a service flow one of an aggregate, which has its rates, burst and peak rate.
fn join(flow: &mut Tlv, aggregate: u64) {
    remove(flow, &[RATE, BURST, PEAK]);
    if flow.get(RESERVED).is_none() {
        remove(flow, &[RATE_UNIT]);
    }
    put(flow, leaf(AGGREGATE, aggregate));
}

/// Takes out the TLV that disables every AQM upstream, if that of `other` is to be on; the further
/// service flows get AQM disabled.
fn enable_aqm(file: &mut File, other: &Tlv) {
    let is_disabled = file.get(UPSTREAM_AQM_DISABLE).is_some_and(|tlv| {
        tlv.bytes()
            .is_some_and(|bytes| bytes.len() == 1 && bytes[0] > 0)
    });
    let own = other.get(AQM).and_then(|aqm| aqm.get(DISABLED)?.bytes());
    if !is_disabled || own != Some(&[0]) {
        return;
    }
    let upstream = file.tlvs.iter_mut();
    let upstream = upstream.filter(|tlv| tlv.number == UPSTREAM_FLOW && is_nested(tlv));
    for flow in upstream.skip(1) {
        let own = flow.get(AQM).map(|aqm| nested(aqm).to_vec());
        let mut aqm = Tlv::nested(AQM, own.unwrap_or_default());
        put(&mut aqm, Tlv::new(DISABLED, [1]));
        put(flow, aqm);
    }
    file.tlvs.retain(|tlv| tlv.number != UPSTREAM_AQM_DISABLE);
}

/// Raises the priority of all classifiers of a type by one, if one of them has the lowest.
fn raise_priorities(file: &mut File, number: u8) -> Result<(), String> {
    let priority = |tlv: &Tlv| uint(tlv, PRIORITY, 1).unwrap_or(0);
    let own = || file.all(number).filter(|tlv| is_nested(tlv)).map(priority);
    if own().all(|priority| priority > 0) {
        return Ok(());
    }
    if own().any(|priority| priority >= 0xff) {
        return Err(format!(
            "its classifiers of TLV {number} have priorities from 0 to 255"
        ));
    }
    for tlv in &mut file.tlvs {
        if tlv.number == number && is_nested(tlv) {
            let raised = priority(tlv) as u8 + 1;
            put(tlv, Tlv::new(PRIORITY, [raised]));
        }
    }
    Ok(())
}

/// Lets the extended CMTS MIC cover new types too. A file without one gets that of the other file,
/// `vendor`, for all types.
fn cover(file: &mut File, new: &BTreeSet<u8>, place: usize, vendor: Option<&Tlv>) {
    if file.tlvs.iter().any(is_extended) {
        for tlv in file.tlvs.iter_mut().filter(|tlv| is_extended(tlv)) {
            let known = bitmap(tlv).to_vec();
            set_bitmap(tlv, new, known);
        }
        return;
    }
    let Some(vendor) = vendor else {
        return;
    };
    let types = file.tlvs.iter().map(|tlv| tlv.number);
    let mut types: BTreeSet<u8> = types
        .filter(|number| ![PAD, END, MICS[1]].contains(number))
        .collect();
    types.extend([MICS[0], VENDOR]);
    let mut own = vendor.clone();
    set_bitmap(&mut own, &types, Vec::new());
    file.tlvs.insert(place, own);
}

/// Whether it has settings of the extended CMTS MIC.
fn is_extended(tlv: &Tlv) -> bool {
    let mic = tlv.get(EXTENDED_MIC).filter(|_| tlv.number == VENDOR);
    mic.is_some_and(|mic| mic.get(BITMAP).is_some())
}

fn bitmap(tlv: &Tlv) -> &[u8] {
    let found = tlv
        .get(EXTENDED_MIC)
        .and_then(|mic| mic.get(BITMAP)?.bytes());
    found.unwrap_or_default()
}

fn set_bitmap(tlv: &mut Tlv, types: &BTreeSet<u8>, mut bits: Vec<u8>) {
    for &number in types {
        let byte = usize::from(number / 8);
        bits.resize(bits.len().max(byte + 1), 0);
        bits[byte] |= 0x80 >> (number % 8);
    }
    if let Some(mut mic) = tlv.get(EXTENDED_MIC).cloned() {
        put(&mut mic, Tlv::new(BITMAP, bits));
        put(tlv, mic);
    }
}

/// Puts a TLV into another: in the place of the first of its type, else in the order of types.
fn put(tlv: &mut Tlv, inner: Tlv) {
    let mut own = nested(tlv).to_vec();
    if let Some(same) = own.iter_mut().find(|one| one.number == inner.number) {
        *same = inner;
    } else {
        let place = own.iter().position(|one| one.number > inner.number);
        own.insert(place.unwrap_or(own.len()), inner);
    }
    tlv.value = Value::Nested(own);
}

fn remove(tlv: &mut Tlv, types: &[u8]) {
    if let Value::Nested(own) = &mut tlv.value {
        own.retain(|one| !types.contains(&one.number));
    }
}

fn nested(tlv: &Tlv) -> &[Tlv] {
    match &tlv.value {
        Value::Nested(tlvs) => tlvs,
        Value::Bare | Value::Bytes(_) => &[],
    }
}

fn is_nested(tlv: &Tlv) -> bool {
    matches!(tlv.value, Value::Nested(_))
}

/// The number of the first TLV of a type in another, if it has `width` bytes.
fn uint(tlv: &Tlv, number: u8, width: usize) -> Option<u64> {
    let found = tlv.get(number)?;
    let fits = found.bytes().is_some_and(|bytes| bytes.len() == width);
    found.uint().filter(|_| fits)
}

/// A TLV of two bytes.
fn leaf(number: u8, value: u64) -> Tlv {
    Tlv::new(number, (value as u16).to_be_bytes())
}

/// The bytes of a file, if all TLVs have room for their values.
fn encode(file: &File) -> Result<Vec<u8>, String> {
    for tlv in &file.tlvs {
        measure(file.kind, &[tlv.number], tlv)?;
    }
    Ok(file.encode())
}

/// The bytes that a value takes.
fn measure(kind: Kind, path: &[u8], tlv: &Tlv) -> Result<usize, String> {
    let size = match &tlv.value {
        Value::Bare => return Ok(0),
        Value::Bytes(bytes) => bytes.len(),
        Value::Nested(tlvs) => {
            let mut size = 0;
            for inner in tlvs {
                let path = [path, &[inner.number]].concat();
                let head = match (&inner.value, Tlv::longest(kind, &path)) {
                    (Value::Bare, _) => 1,
                    (_, 0..=0xff) => 2,
                    _ => 3,
                };
                size += head + measure(kind, &path, inner)?;
            }
            size
        }
    };
    let longest = Tlv::longest(kind, path);
    if size > longest {
        let number = path.last().copied().unwrap_or_default();
        return Err(format!(
            "the changed file cannot be written: TLV {number} would have {size} bytes, more than \
             the {longest} that its length can say"
        ));
    }
    Ok(size)
}
