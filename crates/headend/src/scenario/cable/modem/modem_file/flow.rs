//! Service flows of a modem's file (TLVs 24 and 25).

use std::collections::BTreeSet;

use serde_json::json;

use super::content::{Buffer, FileFlow, LatencyControl};
use super::place::{FileError, Node, first};
use super::{DOWNSTREAM_FLOW, UPSTREAM_FLOW, scheduling};
use crate::scenario::cable::service_flow::{Keys, OneWay};
use crate::time::Duration;
use crate::units::{ByteCount, MaximumRate, Rate};

// Sub-TLVs of service flows.
const REFERENCE: u8 = 1;
const SERVICE_CLASS: u8 = 4;
const SET_TYPE: u8 = 6;
const PRIORITY: u8 = 7;
const SUSTAINED_RATE: u8 = 8;
const BURST: u8 = 9;
const RESERVED_RATE: u8 = 10;
const PEAK_RATE: u8 = 27;
const BUFFER_CONTROL: u8 = 35;
const AGGREGATE: u8 = 36;
const AQM: u8 = 40;
const RATE_UNIT: u8 = 41;

/// The bit of the set type for a service flow that is active once the modem has registered.
const ACTIVE: u64 = 4;

/// The most service flows of a file: many times as many as a modem has.
const MOST_FLOWS: usize = 1000;

/// A maximum buffer without a bound.
const NO_MAXIMUM: u64 = 0xffff_ffff;

/// Reads the service flows that are active from the start.
pub(super) fn read_flows(
    top: &[Node<'_>],
    inactive: &mut BTreeSet<(usize, u16)>,
    notes: &mut Vec<String>,
) -> Result<Vec<FileFlow>, FileError> {
    let is_flow = |node: &&Node<'_>| [UPSTREAM_FLOW, DOWNSTREAM_FLOW].contains(&node.number());
    let count = top.iter().filter(is_flow).count();
    if count > MOST_FLOWS {
        let why = format!("{count} service flows are more than {MOST_FLOWS}");
        return Err(FileError::of_file(why));
    }
    let mut flows = Vec::new();
    let mut references = BTreeSet::new();
    for node in top {
        let direction = match node.number() {
            UPSTREAM_FLOW => OneWay::Up,
            DOWNSTREAM_FLOW => OneWay::Down,
            _ => continue,
        };
        let parts = node.nested()?;
        let reference = match first(&parts, REFERENCE) {
            None => None,
            Some(reference) => {
                let number = reference.uint(2)? as u16;
                if !references.insert((direction.index(), number)) {
                    let why = format!(
                        "{number} is the reference of another {}stream service flow already",
                        direction.name()
                    );
                    return Err(reference.refuse(why));
                }
                Some(number)
            }
        };
        if let Some(set) = first(&parts, SET_TYPE)
            && set.uint(1)? & ACTIVE == 0
        {
            notes.push(format!(
                "{} is not active after registration ({}): left out",
                node.place(),
                set.place()
            ));
            inactive.extend(reference.map(|reference| (direction.index(), reference)));
            continue;
        }
        flows.push(read_flow(node, &parts, direction, reference, notes)?);
    }
    Ok(flows)
}

fn read_flow(
    node: &Node<'_>,
    parts: &[Node<'_>],
    direction: OneWay,
    reference: Option<u16>,
    notes: &mut Vec<String>,
) -> Result<FileFlow, FileError> {
    let class = first(parts, SERVICE_CLASS).map(|class| (class.text(), class.place()));
    let mut flow = FileFlow {
        reference,
        ..FileFlow::new(direction, node.place(), class)
    };
    let unit = read_unit(parts)?;
    for part in parts {
        let keys = &mut flow.keys;
        if let Some(key) = read_limit(part, unit, keys)? {
            flow.places.insert(key, part.place());
            continue;
        }
        let key = match part.number() {
            PRIORITY => {
                keys.priority = Some(part.uint(1)? as u8);
                "priority"
            }
            RESERVED_RATE => {
                keys.minimum_reserved = Some(Rate(part.uint(4)? * unit));
                "minimum_reserved"
            }
            BUFFER_CONTROL => {
                flow.buffer = Some((read_buffer(part)?, part.place()));
                continue;
            }
            // Older files have nested TLVs here.
            AGGREGATE if part.all_bytes().len() == 2 => {
                flow.aggregate = Some((part.uint(2)? as u16, part.place()));
                continue;
            }
            AQM => {
                read_aqm(part, &mut flow)?;
                continue;
            }
            _ => continue,
        };
        flow.places.insert(key, part.place());
    }
    if direction == OneWay::Up {
        scheduling::read(node, parts, &mut flow, notes)?;
    }
    Ok(flow)
}

/// What the numbers of rates count: bit/s, or a power of a thousand of it.
pub(super) fn read_unit(parts: &[Node<'_>]) -> Result<u64, FileError> {
    let Some(unit) = first(parts, RATE_UNIT) else {
        return Ok(1);
    };
    match unit.uint(1)? {
        power @ 0..=3 => Ok(1000_u64.pow(power as u32)),
        other => {
            let why = format!(
                "expected a unit from 0 to 3 (bit/s, kbit/s, Mbit/s, Gbit/s), found {other}"
            );
            Err(unit.refuse(why))
        }
    }
}

/// Reads a limit that service flows and aggregates have alike, and says which key it is.
pub(super) fn read_limit(
    part: &Node<'_>,
    unit: u64,
    keys: &mut Keys,
) -> Result<Option<&'static str>, FileError> {
    let maximum = |number: u64| match number {
        0 => MaximumRate::Unlimited,
        number => MaximumRate::Rate(Rate(number * unit)),
    };
    Ok(Some(match part.number() {
        SUSTAINED_RATE => {
            keys.rate = Some(maximum(part.uint(4)?));
            "rate"
        }
        BURST => {
            keys.burst = Some(ByteCount(part.uint(4)?));
            "burst"
        }
        PEAK_RATE => {
            keys.peak = Some(maximum(part.uint(4)?));
            "peak"
        }
        _ => return Ok(None),
    }))
}

fn read_buffer(node: &Node<'_>) -> Result<Buffer, FileError> {
    let mut buffer = Buffer::default();
    for part in node.nested()? {
        let size = match part.number() {
            1..=3 => part.uint(4)?,
            _ => continue,
        };
        let given = |is_given: bool| is_given.then_some(ByteCount(size));
        match part.number() {
            1 => buffer.minimum = given(size > 0),
            2 => buffer.target = given(size > 0),
            _ => buffer.maximum = given(size < NO_MAXIMUM),
        }
    }
    if let (Some(minimum), Some(maximum)) = (buffer.minimum, buffer.maximum)
        && minimum > maximum
    {
        let why = format!("the least buffer, {minimum}, is above the most, {maximum}");
        return Err(node.refuse(why));
    }
    Ok(buffer)
}

/// Reads the AQM encodings: whether AQM is disabled (sub-TLV 1), the algorithm (3), the target of
/// DOCSIS-PIE (2), the ramp of immediate AQM (4 and 5), and the edges of the latency histogram (6).
///
/// Any of the first three turns DOCSIS-PIE on, unless it disables AQM or selects immediate AQM: a
/// file that says "not disabled", or gives an algorithm or a target, says that there is AQM, and 0
/// stands for the default algorithm and the default target.
fn read_aqm(node: &Node<'_>, flow: &mut FileFlow) -> Result<(), FileError> {
    let (mut algorithm, mut target, mut turned_on) = (0, None, None);
    for part in node.nested()? {
        match part.number() {
            1 => {
                let is_disabled = part.switch()?;
                flow.keys.aqm_disabled = Some(is_disabled);
                flow.places.insert("aqm_disabled", part.place());
                if !is_disabled {
                    turned_on.get_or_insert(part.place());
                }
            }
            2 => {
                let span = Duration::from_millis(part.uint(1)?);
                target = (!span.is_zero()).then(|| (span, part.place()));
                turned_on.get_or_insert(part.place());
            }
            3 => {
                algorithm = part.uint(1)?;
                match algorithm {
                    0 | 1 => turned_on = Some(part.place()),
                    2 => flow.immediate = Some(part.place()),
                    other => {
                        let why = format!(
                            "expected an algorithm from 0 to 2 (default, DOCSIS-PIE, immediate \
                             AQM), found {other}"
                        );
                        return Err(part.refuse(why));
                    }
                }
            }
            4 => {
                let threshold = Duration::from_micros(part.uint(2)?);
                // 0 stands for the default.
                if !threshold.is_zero() {
                    let value = (json!(threshold), part.place());
                    flow.ramp.insert("maximum_threshold", value);
                }
            }
            5 => {
                let value = (json!(part.uint(1)?), part.place());
                flow.ramp.insert("range_exponent", value);
            }
            6 => {
                flow.keys.latency_histogram = Some(read_edges(&part)?);
                flow.places.insert("latency_histogram", part.place());
            }
            _ => {}
        }
    }
    if algorithm == 2 {
        return Ok(());
    }
    flow.law = match target {
        Some((span, place)) => Some((LatencyControl { target: Some(span) }, place)),
        None => turned_on.map(|place| (LatencyControl { target: None }, place)),
    };
    Ok(())
}

/// Upper edges of a latency histogram's bins, in units of 10 µs.
fn read_edges(node: &Node<'_>) -> Result<Vec<Duration>, FileError> {
    let bytes = node.all_bytes();
    let (edges, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        let why = format!(
            "expected 2 bytes for each edge, found {} bytes",
            bytes.len()
        );
        return Err(node.refuse(why));
    }
    if edges.is_empty() {
        return Err(node.refuse("expected 1 to 15 upper edges, found 0"));
    }
    let edge = |&edge: &[u8; 2]| Duration::from_micros(10 * u64::from(u16::from_be_bytes(edge)));
    Ok(edges.iter().map(edge).collect())
}
