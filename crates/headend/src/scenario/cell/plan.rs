//! A cell, ready to be built, whatever its standard.

use crate::link::cell::phy::Mode;
use crate::link::cell::setup::{Access, Radio, Rules};
use crate::qdisc::QueueConfig;
use crate::qdisc::lanes::{Categories, DscpMap};
use crate::scenario::error::ScenarioError;
use crate::scenario::names::check_name;
use crate::scenario::times::check_delay;
use crate::time::Duration;
use crate::units::ByteCount;

/// A cell, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct CellPlan {
    /// The key of its table.
    pub(super) kind: &'static str,
    pub(super) rules: Rules,
    pub(super) categories: Categories,
    pub(super) access_point: AccessPointPlan,
    /// The fastest of its stations' modes, whose rate is the nominal one of the access point's
    /// queue.
    pub(super) fastest: Mode,
    /// By port.
    pub(super) stations: Vec<StationPlan>,
    /// In the order of their names.
    pub(super) groups: Vec<StationGroup>,
}

/// The access point.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AccessPointPlan {
    pub(super) queue: QueueConfig,
    /// How it contends, by access category.
    pub(super) access: Vec<Access>,
}

/// One station.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StationPlan {
    pub(super) name: String,
    /// As it is written: one for all that are alike.
    pub(super) written: String,
    pub(super) radio: Radio,
    pub(super) queue: QueueConfig,
    /// How it contends, by access category.
    pub(super) access: Vec<Access>,
    /// The stations that it does not hear, by their written names.
    pub(super) hidden_from: Vec<String>,
}

/// Stations that are written as one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StationGroup {
    pub(super) name: String,
    pub(super) first: u32,
    pub(super) count: Option<u32>,
}

/// The largest limit of tries. A scenario that means more means none.
const MOST_TRIES: u32 = 1000;

/// The limit of tries under `key`: none for 0.
pub(super) fn plan_tries(path: &str, key: &str, tries: u32) -> Result<Option<u32>, ScenarioError> {
    if tries > MOST_TRIES {
        let why = format!("expected at most {MOST_TRIES} tries, or 0 for no limit");
        return Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    }
    Ok((tries > 0).then_some(tries))
}

/// Checks the slot time.
pub(super) fn check_slot(path: &str, slot: Duration) -> Result<(), ScenarioError> {
    if slot < Duration::from_micros(1) || slot > Duration::from_millis(10) {
        let why = "expected 1 us to 10 ms";
        return Err(ScenarioError::invalid(format!("{path}.slot"), why));
    }
    Ok(())
}

/// Checks SIFS.
pub(super) fn check_sifs(path: &str, sifs: Duration) -> Result<(), ScenarioError> {
    let path = format!("{path}.sifs");
    check_delay(&path, sifs)?;
    if sifs.is_zero() {
        let why = "expected more than zero: SIFS is the time that a receiver takes to begin its \
                   answer (10 us at 2.4 GHz, 16 us at 5 GHz)";
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(())
}

/// Checks that a time at `key`, within which nodes do not hear each other, is part of a slot (IEEE
/// 802.11-2020 §10.3.7).
pub(super) fn check_within_slot(
    path: &str,
    key: &str,
    span: Duration,
    slot: Duration,
) -> Result<(), ScenarioError> {
    if span < slot {
        return Ok(());
    }
    let why = format!("expected less than a slot, {slot}, found {span}");
    Err(ScenarioError::invalid(format!("{path}.{key}"), why))
}

/// Checks that EIFS is no shorter than DIFS.
pub(super) fn check_eifs(path: &str, eifs: Duration, difs: Duration) -> Result<(), ScenarioError> {
    check_delay(&format!("{path}.eifs"), eifs)?;
    if eifs >= difs {
        return Ok(());
    }
    let why = format!("expected DIFS, {difs}, at least, found {eifs}");
    Err(ScenarioError::invalid(format!("{path}.eifs"), why))
}

/// Checks the bytes of an MPDU beyond its packet.
pub(super) fn check_overhead(path: &str, overhead: ByteCount) -> Result<(), ScenarioError> {
    if overhead.0 > 1000 {
        let why = "expected at most 1000 B";
        return Err(ScenarioError::invalid(format!("{path}.overhead"), why));
    }
    Ok(())
}

/// Stations as they are planned, one written one after the other.
#[derive(Debug, Default)]
pub(super) struct Stations {
    pub(super) all: Vec<StationPlan>,
    pub(super) groups: Vec<StationGroup>,
}

/// Ports are numbers of 16 bits, two for each.
const MOST_STATIONS: u64 = 1000;

impl Stations {
    /// Adds the stations that are written as `name` at `at`.
    pub(super) fn add(
        &mut self,
        at: &str,
        count: Option<u32>,
        station: &StationPlan,
    ) -> Result<(), ScenarioError> {
        let refuse =
            |key: &str, why: String| Err(ScenarioError::invalid(format!("{at}.{key}"), why));
        let name = station.written.clone();
        check_name(at, &name)?;
        if station.radio.frame_errors.0 >= 1.0 {
            let why = "a station whose every frame is broken hears nothing";
            return refuse("frame_errors", why.into());
        }
        let number = count.unwrap_or(1);
        if number == 0 {
            let why = "at least one; leave the station out to have none";
            return refuse("count", why.into());
        }
        let total = self.all.len() as u64 + u64::from(number);
        if total > MOST_STATIONS {
            let why = format!("{total} stations are more than {MOST_STATIONS}");
            return refuse("count", why);
        }
        self.groups.push(StationGroup {
            name: name.clone(),
            first: self.all.len() as u32,
            count,
        });
        for number in 1..=number {
            self.all.push(StationPlan {
                name: match count {
                    Some(_) => format!("{name}.{number}"),
                    None => name.clone(),
                },
                ..station.clone()
            });
        }
        Ok(())
    }

    /// The fastest mode of a station. A cell without stations is refused.
    pub(super) fn fastest(&self, path: &str) -> Result<Mode, ScenarioError> {
        let modes = self.all.iter().map(|station| station.radio.fastest());
        modes.max_by_key(|mode| mode.rate()).ok_or_else(|| {
            let why = "expected a station at least: [station.NAME] in the cell's table, such as \
                       station.laptop = {}";
            ScenarioError::invalid(format!("{path}.station"), why)
        })
    }
}

impl CellPlan {
    /// The access categories of a station: one without them sends all as best effort.
    pub(super) fn categories_of(&self, station: &StationPlan) -> Categories {
        if self.categories.count() == 1 || station.radio.aggregates {
            self.categories.clone()
        } else {
            Categories::edca(DscpMap::None)
        }
    }
}
