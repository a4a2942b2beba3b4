//! A modem's configuration file as keys of the scenario (MULPI Annex C).
//!
//! Each TLV that the model has becomes the value of a key. Its place in the file is kept for
//! errors. `scenario::document` puts the keys into the scenario.
//!
//! [`place`] says where a TLV stands, [`flow`] reads service flows, [`scheduling`] what they may
//! send without requests, [`aggregate`] the limits that they share, [`low_latency`] joins the two
//! of an aggregate with low latency, [`classifier`] reads which packets they take, and
//! [`class_of_service`] the files of DOCSIS 1.0. [`resolved`] describes any file as it is in force,
//! and [`carry`] gives one the queue of another.

mod aggregate;
mod carry;
mod class_of_service;
mod classifier;
mod content;
mod flow;
mod low_latency;
mod place;
mod resolved;
mod scheduling;
mod unused;

use std::collections::BTreeSet;

use docsis_config::{File, Kind};

pub use carry::{carry_low_latency, carry_queue};
pub(in crate::scenario) use content::{Aggregate, Buffer, FileFlow, LIMITS, LatencyControl, Pair};
pub(in crate::scenario) use place::{FileError, TlvPlace};
pub use resolved::{describe_modem_file, modem_file_defaults};

use self::classifier::read_classifiers;
use self::place::{Node, first, nodes};
use crate::link::docsis::preset::Preset;
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::cable::service_flow::{OneWay, is_elastic};
use crate::time::Duration;

/// The settings of a modem's file that the model has.
#[derive(Debug)]
pub(in crate::scenario) struct ModemFile {
    /// Service flows in the order of the file. The first of each direction is the primary one.
    pub(in crate::scenario) flows: Vec<FileFlow>,
    /// Aggregates that service flows refer to, without those of a [`Pair`].
    pub(in crate::scenario) aggregates: Vec<Aggregate>,
    /// Upstream drop classifiers by name.
    pub(in crate::scenario) drops: Vec<(String, Classifier, TlvPlace)>,
    /// Whether AQM is disabled on all upstream service flows (TLV 76).
    pub(in crate::scenario) upstream_aqm_disabled: Option<(bool, TlvPlace)>,
    /// The buffer of upstream service flows that give none (TLV 68).
    pub(in crate::scenario) default_buffer: Option<(Duration, TlvPlace)>,
    /// Directions and references of service flows that are left out.
    inactive: BTreeSet<(usize, u16)>,
    /// Sentences about settings of the file that the run does not follow.
    pub(in crate::scenario) notes: Vec<String>,
}

const NETWORK_ACCESS: u8 = 3;
const CLASS_OF_SERVICE: u8 = 4;
const UPSTREAM_FLOW: u8 = 24;
const DOWNSTREAM_FLOW: u8 = 25;
const DEFAULT_TARGET_BUFFER: u8 = 68;
const UPSTREAM_AQM_DISABLE: u8 = 76;
const LOW_LATENCY_DISABLE: u8 = 91;

impl ModemFile {
    /// Reads a file for a modem of a generation.
    pub(in crate::scenario) fn read(bytes: &[u8], preset: Preset) -> Result<Self, FileError> {
        let file = File::decode(bytes);
        if file.kind == Kind::Mta {
            let why = "expected the file of a cable modem, which holds service flows; found the \
                       file of a telephone adapter (MTA)";
            return Err(FileError::of_file(why));
        }
        let top = nodes(&file.tlvs);
        let find = |number: u8| top.iter().find(|node| node.number() == number);
        let any = |number: u8| find(number).is_some();
        let has_flows = any(UPSTREAM_FLOW) || any(DOWNSTREAM_FLOW);
        if !has_flows && !any(CLASS_OF_SERVICE) {
            return Err(refuse_stranger(bytes));
        }
        if let Some(access) = find(NETWORK_ACCESS)
            && access.uint(1)? == 0
        {
            let why = "expected 1, found 0: without network access the modem forwards nothing for \
                       its customers";
            return Err(access.refuse(why));
        }
        let mut notes = Vec::new();
        if !file.rest.is_empty() {
            notes.push(format!(
                "the last {} B are no TLV, and are not read",
                file.rest.len()
            ));
        }
        let mut read = if has_flows {
            if any(CLASS_OF_SERVICE) {
                notes.push(
                    "the class of service (TLV 4) is ignored beside service flows".to_owned(),
                );
            }
            Self::of_flows(&top, preset, notes)?
        } else {
            class_of_service::read(&top, preset, notes)?
        };
        if let Some(buffer) = find(DEFAULT_TARGET_BUFFER) {
            let span = Duration::from_millis(buffer.uint(2)?);
            read.default_buffer = (!span.is_zero()).then(|| (span, buffer.place()));
        }
        if let Some(disable) = find(UPSTREAM_AQM_DISABLE) {
            read.upstream_aqm_disabled = Some((disable.switch()?, disable.place()));
            read.turn_on_upstream();
        }
        read.notes.extend(unused::list(&top));
        Ok(read)
    }

    /// Reads the service flows and classifiers of a file.
    fn of_flows(
        top: &[Node<'_>],
        preset: Preset,
        mut notes: Vec<String>,
    ) -> Result<Self, FileError> {
        let mut inactive = BTreeSet::new();
        let flows = flow::read_flows(top, &mut inactive, &mut notes)?;
        let mut read = Self {
            flows,
            aggregates: aggregate::read(top)?,
            drops: Vec::new(),
            upstream_aqm_disabled: None,
            default_buffer: None,
            inactive,
            notes,
        };
        read_classifiers(top, &mut read)?;
        low_latency::join(&mut read, preset, first(top, LOW_LATENCY_DISABLE))?;
        read.note_immediate();
        read.leave_out_idle();
        for (direction, name) in [(OneWay::Up, "upstream"), (OneWay::Down, "downstream")] {
            if !read.flows.iter().any(|flow| flow.direction == direction) {
                let number = UPSTREAM_FLOW + direction.index() as u8;
                read.notes.push(format!(
                    "the file has no {name} service flow (TLV {number}): the {name} stays the \
                     scenario's"
                ));
            }
        }
        Ok(read)
    }

    /// Gives DOCSIS-PIE to the upstream service flows that say nothing of AQM themselves, where the
    /// file says of all of them that AQM is not disabled.
    fn turn_on_upstream(&mut self) {
        let Some((false, place)) = &self.upstream_aqm_disabled else {
            return;
        };
        for flow in &mut self.flows {
            let scheduling = flow.keys.scheduling.as_ref();
            let is_open = flow.keys.aqm_disabled.is_none() && flow.immediate.is_none();
            if is_open && scheduling.is_none_or(|own| is_elastic(flow.direction, &own.0)) {
                flow.law = match (flow.direction, flow.law.take()) {
                    (OneWay::Up, None) => Some((LatencyControl { target: None }, place.clone())),
                    (_, law) => law,
                };
            }
        }
    }

    /// Notes the service flows with immediate AQM that are not the low-latency one of an aggregate.
    fn note_immediate(&mut self) {
        let selected = self.flows.iter().filter_map(|flow| flow.immediate.as_ref());
        let notes = selected.map(|place| {
            format!(
                "{place} selects immediate AQM, which only the low-latency service flow of an \
                 aggregate has: the queue stays the scenario's"
            )
        });
        self.notes.extend(notes);
    }

    /// Leaves out the service flows that no packet could reach.
    fn leave_out_idle(&mut self) {
        let mut has_primary = [false; 2];
        let notes = &mut self.notes;
        self.flows.retain(|flow| {
            let is_primary = !std::mem::replace(&mut has_primary[flow.direction.index()], true);
            let is_kept = is_primary || !flow.classifiers.is_empty();
            if !is_kept {
                notes.push(format!(
                    "{} has no classifier, so that no packet would take it: left out",
                    flow.place
                ));
            }
            is_kept
        });
    }
}

/// The error for bytes that are no modem's file.
fn refuse_stranger(bytes: &[u8]) -> FileError {
    let is_text =
        !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    let why = if is_text {
        "found a text, expected the binary file that `headend config encode` makes of it"
    } else {
        "expected a cable modem's configuration file, found one without a service flow (TLV 24 or \
         25) and without a class of service (TLV 4)"
    };
    FileError::of_file(why.to_owned())
}
