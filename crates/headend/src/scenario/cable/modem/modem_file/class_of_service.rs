//! The class of service of a file for DOCSIS 1.0 (TLV 4): rates both ways and a priority.

use std::collections::BTreeSet;

use super::content::FileFlow;
use super::place::{FileError, Node, first};
use super::{CLASS_OF_SERVICE, ModemFile};
use crate::link::docsis::preset::{Feature, Preset};
use crate::link::token_bucket::PEAK_BURST;
use crate::scenario::cable::service_flow::OneWay;
use crate::units::{ByteCount, MaximumRate, Rate};

const DOWNSTREAM_RATE: u8 = 2;
const UPSTREAM_RATE: u8 = 3;
const PRIORITY: u8 = 4;
const BURST: u8 = 6;

/// Reads the first class of service.
pub(super) fn read(
    top: &[Node<'_>],
    preset: Preset,
    mut notes: Vec<String>,
) -> Result<ModemFile, FileError> {
    let node = first(top, CLASS_OF_SERVICE).expect("the caller has seen one");
    let [mut up, mut down] =
        [OneWay::Up, OneWay::Down].map(|direction| FileFlow::new(direction, node.place(), None));
    let maximum = |number: u64| match number {
        0 => MaximumRate::Unlimited,
        number => MaximumRate::Rate(Rate(number)),
    };
    let has_qos = preset.supports(Feature::Scheduling);
    for part in node.nested()? {
        match part.number() {
            DOWNSTREAM_RATE => {
                down.keys.rate = Some(maximum(part.uint(4)?));
                down.places.insert("rate", part.place());
            }
            UPSTREAM_RATE => {
                up.keys.rate = Some(maximum(part.uint(4)?));
                up.places.insert("rate", part.place());
            }
            PRIORITY if !has_qos => {
                let is_given = part.uint(1)? > 0;
                notes.extend(is_given.then(|| {
                    format!(
                        "{} is not simulated on a line of `{}`",
                        part.place(),
                        preset.name()
                    )
                }));
            }
            PRIORITY => {
                up.keys.priority = Some(part.uint(1)? as u8);
                up.places.insert("priority", part.place());
            }
            // A bucket of less than one frame could never pass that frame.
            BURST if part.uint(2)? >= PEAK_BURST => {
                up.keys.burst = Some(ByteCount(part.uint(2)?));
                up.places.insert("burst", part.place());
            }
            _ => {}
        }
    }
    Ok(ModemFile {
        flows: vec![up, down],
        aggregates: Vec::new(),
        drops: Vec::new(),
        upstream_aqm_disabled: None,
        default_buffer: None,
        inactive: BTreeSet::new(),
        notes,
    })
}
