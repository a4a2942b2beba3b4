//! Upstream scheduling types of a modem's file, with their parameters, and the request/transmission
//! policy (MULPI §7.2.3; sub-TLVs of 24).

use super::content::FileFlow;
use super::place::{FileError, Node, first};
use crate::link::docsis::qos::{
    Polling, ProactiveGrants, RequestPolicy, Scheduling, UnsolicitedGrants,
};
use crate::named::Named;
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

const SCHEDULING_TYPE: u8 = 15;
const POLICY: u8 = 16;
const POLLING_INTERVAL: u8 = 17;
const POLL_JITTER: u8 = 18;
const GRANT_SIZE: u8 = 19;
const GRANT_INTERVAL: u8 = 20;
const GRANT_JITTER: u8 = 21;
const GRANTS_PER_INTERVAL: u8 = 22;
const GUARANTEED_INTERVAL: u8 = 44;
const GUARANTEED_RATE: u8 = 45;
const REQUEST_INTERVAL: u8 = 46;
const NO_ACTIVITY_DETECTION: u8 = 49;

/// Reads both into the keys of `flow`, whose TLVs are `parts`.
pub(super) fn read(
    node: &Node<'_>,
    parts: &[Node<'_>],
    flow: &mut FileFlow,
    notes: &mut Vec<String>,
) -> Result<(), FileError> {
    if let Some(policy) = first(parts, POLICY) {
        let bits = policy.uint(4)? as u32;
        let simulated = RequestPolicy::from_bits(bits);
        flow.keys.request_policy = Some(simulated);
        flow.places.insert("request_policy", policy.place());
        let beyond = bits & !simulated.bits();
        let others = (0..32).filter(|&bit| beyond >> bit & 1 == 1);
        let others: Vec<String> = others.map(|bit: u32| bit.to_string()).collect();
        if !others.is_empty() {
            notes.push(format!(
                "{}: of its bits, {} are not simulated",
                policy.place(),
                others.join(", ")
            ));
        }
    }
    let Some(kind) = first(parts, SCHEDULING_TYPE) else {
        return Ok(());
    };
    let values = Values { parts };
    let type_number = kind.uint(1)?;
    note_assumed(kind, &values, type_number, notes);
    let scheduling = match type_number {
        2 => Scheduling::BestEffort,
        3 => Scheduling::NrtPs(values.polling()?),
        4 => Scheduling::RtPs(values.polling()?),
        5 => {
            notes.push(format!(
                "{}: activity detection is not simulated, so that its grants never pause",
                kind.place()
            ));
            Scheduling::Ugs(values.grants()?)
        }
        6 => Scheduling::Ugs(values.grants()?),
        7 => Scheduling::Pgs(values.proactive(kind)?),
        0 | 1 => {
            notes.push(format!(
                "{} is a scheduling type that the CMTS defines: it runs as best effort",
                kind.place()
            ));
            Scheduling::BestEffort
        }
        other => {
            let why = format!(
                "expected a scheduling type from 2 to 7 (best effort, nrtPS, rtPS, UGS-AD, UGS, \
                 PGS), found {other}"
            );
            return Err(kind.refuse(why));
        }
    };
    if !matches!(scheduling, Scheduling::Pgs(_)) && first(parts, GUARANTEED_RATE).is_some() {
        notes.push(format!(
            "{}: grants are guaranteed only to proactive grant service (TLV 24.15 = 7): not \
             simulated",
            node.place()
        ));
    }
    flow.keys.scheduling = Some(Named(scheduling));
    flow.places.insert("scheduling", kind.place());
    Ok(())
}

/// Notes values that the model assumes because the file does not give them. The specification
/// requires them in a file and has no default.
fn note_assumed(
    kind: &Node<'_>,
    values: &Values<'_, '_>,
    type_number: u64,
    notes: &mut Vec<String>,
) {
    let polling = Polling::default();
    let grants = UnsolicitedGrants::default();
    let needed: &[(u8, &str, String)] = &match type_number {
        3 | 4 => vec![(
            POLLING_INTERVAL,
            "polling interval",
            polling.interval.to_string(),
        )],
        5 | 6 => vec![
            (GRANT_SIZE, "grant size", grants.size.to_string()),
            (
                GRANT_INTERVAL,
                "grant interval",
                grants.interval.to_string(),
            ),
        ],
        _ => vec![],
    };
    let missing = needed
        .iter()
        .filter(|(number, ..)| first(values.parts, *number).is_none());
    let missing: Vec<String> = missing
        .map(|(number, name, value)| format!("a {name} of {value} (TLV 24.{number})"))
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "{} is without a value that it needs: the model assumes {}",
            kind.place(),
            missing.join(" and ")
        ));
    }
}

/// The TLVs of a service flow, as parameters of its scheduling type. What the file leaves out is
/// the model's default, of which [`note_assumed`] names what a CMTS would refuse or choose.
struct Values<'b, 'a> {
    parts: &'b [Node<'a>],
}

impl Values<'_, '_> {
    fn micros(&self, number: u8, width: usize) -> Result<Option<Duration>, FileError> {
        let found = first(self.parts, number).map(|part| part.uint(width));
        Ok(found.transpose()?.map(Duration::from_micros))
    }

    fn proactive(&self, kind: &Node<'_>) -> Result<ProactiveGrants, FileError> {
        let rate = first(self.parts, GUARANTEED_RATE).map(|part| part.uint(4));
        let request_interval = self.micros(REQUEST_INTERVAL, 2)?;
        if rate.is_none() && request_interval.is_none() {
            let why = "proactive grants need a guaranteed grant rate (TLV 24.45)";
            return Err(kind.refuse(why));
        }
        let disabled = first(self.parts, NO_ACTIVITY_DETECTION).map(|part| part.uint(1));
        Ok(ProactiveGrants {
            rate: Rate(rate.transpose()?.unwrap_or(0)),
            interval: self.micros(GUARANTEED_INTERVAL, 2)?,
            request_interval,
            activity_detection: disabled.transpose()? != Some(1),
            activity_timeout: None,
        })
    }

    fn polling(&self) -> Result<Polling, FileError> {
        let default = Polling::default();
        Ok(Polling {
            interval: self
                .micros(POLLING_INTERVAL, 4)?
                .unwrap_or(default.interval),
            jitter: self.micros(POLL_JITTER, 4)?.unwrap_or(default.jitter),
        })
    }

    fn grants(&self) -> Result<UnsolicitedGrants, FileError> {
        let default = UnsolicitedGrants::default();
        let number = |number: u8, width: usize| {
            let found = first(self.parts, number).map(|part| part.uint(width));
            found.transpose()
        };
        Ok(UnsolicitedGrants {
            size: number(GRANT_SIZE, 2)?.map_or(default.size, ByteCount),
            interval: self.micros(GRANT_INTERVAL, 4)?.unwrap_or(default.interval),
            jitter: self.micros(GRANT_JITTER, 4)?.unwrap_or(default.jitter),
            grants: number(GRANTS_PER_INTERVAL, 1)?.map_or(default.grants, |count| count as u8),
        })
    }
}
