//! Aggregate service flows of a modem's file (TLVs 70 and 71): limits that several service flows
//! share, and their low latency.

use std::collections::BTreeMap;

use super::content::{Aggregate, LowLatency};
use super::flow::{read_limit, read_unit};
use super::place::{FileError, Node, first};
use crate::scenario::cable::service_flow::{Keys, OneWay};
use crate::units::Rate;

const UPSTREAM: u8 = 70;
const DOWNSTREAM: u8 = 71;

// Sub-TLVs of aggregates.
const REFERENCE: u8 = 1;
const PRIORITY: u8 = 7;
const RESERVED_RATE: u8 = 10;
const LOW_LATENCY: u8 = 42;

/// Reads the aggregates of a file. One that cannot be taken apart has no limits.
pub(super) fn read(top: &[Node<'_>]) -> Result<Vec<Aggregate>, FileError> {
    let mut found = Vec::new();
    for node in top {
        let direction = match node.number() {
            UPSTREAM => OneWay::Up,
            DOWNSTREAM => OneWay::Down,
            _ => continue,
        };
        let parts = node.children();
        let reference = first(&parts, REFERENCE).map(|part| part.uint(2));
        let low_latency = first(&parts, LOW_LATENCY).map(LowLatency::read);
        let mut aggregate = Aggregate {
            direction,
            reference: reference.transpose()?.map(|number| number as u16),
            place: node.place(),
            keys: Keys::default(),
            places: BTreeMap::new(),
            low_latency: low_latency.transpose()?,
            obstacle: None,
        };
        let unit = read_unit(&parts)?;
        let keys = &mut aggregate.keys;
        for part in &parts {
            let key = match part.number() {
                PRIORITY => {
                    keys.priority = Some(part.uint(1)? as u8);
                    "priority"
                }
                RESERVED_RATE => {
                    keys.minimum_reserved = Some(Rate(part.uint(4)? * unit));
                    "minimum_reserved"
                }
                _ => match read_limit(part, unit, keys)? {
                    Some(key) => key,
                    None => continue,
                },
            };
            aggregate.places.insert(key, part.place());
        }
        found.push(aggregate);
    }
    Ok(found)
}
