//! 802.11b cells: their parameters, stations and queues.

use super::config::{Dot11b, Station};
use crate::link::dot11b::Rules;
use crate::link::dot11b::backoff::Limits;
use crate::link::dot11b::phy::{Phy, RATES};
use crate::qdisc::QueueConfig;
use crate::queue::Framing;
use crate::scenario::error::ScenarioError;
use crate::scenario::names::check_name;
use crate::scenario::queue::plan_queue;
use crate::scenario::times::check_delay;
use crate::time::Duration;
use crate::units::{Probability, Rate};

/// A cell, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct CellPlan {
    pub(super) rules: Rules,
    pub(super) access_point: QueueConfig,
    /// The largest of its stations' rates: the nominal rate of the access point's queue.
    pub(super) fastest: Rate,
    /// By port.
    pub(super) stations: Vec<StationPlan>,
    /// In the order of their names.
    pub(super) groups: Vec<StationGroup>,
}

/// One station.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StationPlan {
    pub(super) name: String,
    /// As it is written: one for all that are alike.
    pub(super) written: String,
    pub(super) rate: Rate,
    pub(super) queue: QueueConfig,
    pub(super) frame_errors: Probability,
}

/// Stations that are written as one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StationGroup {
    pub(super) name: String,
    pub(super) first: u32,
    pub(super) count: Option<u32>,
}

/// Ports are numbers of 16 bits, two for each.
const MOST_STATIONS: u64 = 1000;
/// Slots of a contention window, at most.
const LARGEST_WINDOW: u32 = 1 << 20;
/// The largest limit of tries. A scenario that means more means none.
const MOST_TRIES: u32 = 1000;

/// Checks a cell.
pub(in crate::scenario) fn plan(path: &str, cell: &Dot11b) -> Result<CellPlan, ScenarioError> {
    let rules = plan_rules(path, cell)?;
    let at = format!("{path}.access_point.queue");
    let fastest = (cell.station.values())
        .map(|station| station.rate.unwrap_or(cell.rate))
        .max();
    let Some(fastest) = fastest else {
        let why = "expected a station at least: [station.NAME] in the cell's table, such as \
                   station.laptop = {}";
        return Err(ScenarioError::invalid(format!("{path}.station"), why));
    };
    let access_point = plan_queue(&at, &cell.access_point.queue, fastest, Framing::IP)?.clone();
    let (mut stations, mut groups) = (Vec::new(), Vec::new());
    for (name, station) in &cell.station {
        let at = format!("{path}.station.{name}");
        check_name(&at, name)?;
        let count = check_station(&at, station, stations.len() as u64)?;
        let rate = station.rate.unwrap_or(cell.rate);
        let queue = plan_queue(&format!("{at}.queue"), &station.queue, rate, Framing::IP)?;
        groups.push(StationGroup {
            name: name.clone(),
            first: stations.len() as u32,
            count: station.count,
        });
        for number in 1..=count {
            stations.push(StationPlan {
                name: match station.count {
                    Some(_) => format!("{name}.{number}"),
                    None => name.clone(),
                },
                written: name.clone(),
                rate,
                queue: queue.clone(),
                frame_errors: station.frame_errors,
            });
        }
    }
    Ok(CellPlan {
        rules,
        access_point,
        fastest,
        stations,
        groups,
    })
}

/// How many stations it stands for.
fn check_station(at: &str, station: &Station, before: u64) -> Result<u32, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{at}.{key}"), why));
    if let Some(rate) = station.rate {
        check_rate(&format!("{at}.rate"), rate)?;
    }
    if station.frame_errors.0 >= 1.0 {
        return refuse(
            "frame_errors",
            "a station whose every frame is broken hears nothing".into(),
        );
    }
    let count = station.count.unwrap_or(1);
    if count == 0 {
        return refuse(
            "count",
            "at least one; leave the station out to have none".into(),
        );
    }
    let total = before + u64::from(count);
    if total > MOST_STATIONS {
        return refuse(
            "count",
            format!("{total} stations are more than {MOST_STATIONS}"),
        );
    }
    Ok(count)
}

fn check_rate(path: &str, rate: Rate) -> Result<(), ScenarioError> {
    if RATES.contains(&rate) {
        return Ok(());
    }
    let why = format!("expected a rate of 802.11b (1, 2, 5.5 or 11 Mbit/s), found {rate}");
    Err(ScenarioError::invalid(path, why))
}

fn plan_rules(path: &str, cell: &Dot11b) -> Result<Rules, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    check_rate(&format!("{path}.rate"), cell.rate)?;
    let mut basic_rates = cell.basic_rates.clone();
    basic_rates.sort_unstable();
    basic_rates.dedup();
    if basic_rates.is_empty() {
        return refuse("basic_rates", "expected one rate at least".into());
    }
    for &rate in &basic_rates {
        check_rate(&format!("{path}.basic_rates"), rate)?;
    }
    for (key, window) in [("cw_min", cell.cw_min), ("cw_max", cell.cw_max)] {
        if !(1..=LARGEST_WINDOW).contains(&window) {
            let why = format!("expected a window of 1 to {LARGEST_WINDOW} slots, found {window}");
            return refuse(key, why);
        }
    }
    if cell.cw_min > cell.cw_max {
        let why = format!(
            "the smallest contention window, {}, is larger than the largest, {}",
            cell.cw_min, cell.cw_max
        );
        return refuse("cw_min", why);
    }
    if cell.short_retry_limit.max(cell.long_retry_limit) > MOST_TRIES {
        return refuse(
            "short_retry_limit",
            format!("expected at most {MOST_TRIES} tries, or 0 for no limit"),
        );
    }
    if cell.overhead.0 > 1000 {
        return refuse("overhead", "expected at most 1000 B".into());
    }
    for (key, span) in [
        ("sifs", cell.sifs),
        ("difs", cell.difs),
        ("propagation", cell.propagation),
        ("eifs", cell.eifs.unwrap_or(cell.difs)),
    ] {
        check_delay(&format!("{path}.{key}"), span)?;
    }
    if cell.eifs.is_some_and(|eifs| eifs < cell.difs) {
        return refuse("eifs", format!("expected DIFS, {}, at least", cell.difs));
    }
    if cell.slot < Duration::from_micros(1) || cell.slot > Duration::from_millis(10) {
        return refuse("slot", "expected 1 us to 10 ms".into());
    }
    // IEEE 802.11-1999 §9.2.10: the air's time is part of a slot.
    if cell.propagation >= cell.slot {
        let why = format!(
            "expected less than a slot, {}, found {}",
            cell.slot, cell.propagation
        );
        return refuse("propagation", why);
    }
    if cell.cca_time >= cell.slot {
        return refuse(
            "cca_time",
            format!("expected less than a slot, {}", cell.slot),
        );
    }
    if cell.difs < cell.sifs {
        return refuse("difs", format!("expected SIFS, {}, at least", cell.sifs));
    }
    Ok(make_rules(cell, basic_rates))
}

fn make_rules(cell: &Dot11b, basic_rates: Vec<Rate>) -> Rules {
    let limit = |tries: u32| (tries > 0).then_some(tries);
    let phy = Phy {
        preamble: cell.preamble,
        basic_rates,
        overhead: cell.overhead.0,
    };
    // IEEE 802.11-1999 §9.2.10.
    let eifs = cell.sifs + phy.slowest_answer() + cell.difs;
    Rules {
        phy,
        slot: cell.slot,
        sifs: cell.sifs,
        difs: cell.difs,
        eifs: cell.eifs.unwrap_or(eifs),
        unnoticed: cell.cca_time,
        propagation: cell.propagation,
        rts_threshold: cell.rts_threshold.0,
        limits: Limits {
            least: cell.cw_min,
            most: cell.cw_max,
            short_retries: limit(cell.short_retry_limit),
            long_retries: limit(cell.long_retry_limit),
        },
    }
}
