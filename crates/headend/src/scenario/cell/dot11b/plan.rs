//! 802.11b cells: their parameters, stations and queues.

use super::config::Dot11b;
use crate::link::cell::backoff::Windows;
use crate::link::cell::phy::{Mode, Phy, RATES};
use crate::link::cell::setup::{Access, Aggregation, Radio, Rules, Sharing};
use crate::link::cell::window::TryLimits;
use crate::qdisc::lanes::Categories;
use crate::queue::Framing;
use crate::scenario::cell::plan::{
    AccessPointPlan, CellPlan, StationPlan, Stations, check_eifs, check_overhead, check_sifs,
    check_slot, check_within_slot, plan_tries,
};
use crate::scenario::error::ScenarioError;
use crate::scenario::queue::plan_queue;
use crate::scenario::times::check_delay;
use crate::time::Duration;
use crate::units::Rate;

/// Slots of a contention window, at most.
const LARGEST_WINDOW: u32 = 1 << 20;

/// Checks a cell.
pub(in crate::scenario) fn plan(path: &str, cell: &Dot11b) -> Result<CellPlan, ScenarioError> {
    let rules = plan_rules(path, cell)?;
    let access = vec![Access {
        aifs: cell.difs,
        windows: Windows {
            least: cell.cw_min,
            most: cell.cw_max,
        },
        txop: Duration::ZERO,
    }];
    let mut stations = Stations::default();
    for (name, station) in &cell.station {
        let at = format!("{path}.station.{name}");
        if let Some(rate) = station.rate {
            check_rate(&format!("{at}.rate"), rate)?;
        }
        let rate = station.rate.unwrap_or(cell.rate);
        let queue = plan_queue(&format!("{at}.queue"), &station.queue, rate, Framing::IP)?;
        let plan = StationPlan {
            name: name.clone(),
            written: name.clone(),
            radio: Radio {
                modes: vec![mode_of(rate)],
                snr: None,
                frame_errors: station.frame_errors,
                aggregates: false,
                aggregation: Aggregation::NONE,
                overhead: cell.overhead.0,
            },
            queue: queue.clone(),
            access: access.clone(),
            hidden_from: Vec::new(),
        };
        stations.add(&at, station.count, &plan)?;
    }
    let fastest = stations.fastest(path)?;
    let at = format!("{path}.access_point.queue");
    let queue = plan_queue(&at, &cell.access_point.queue, fastest.rate(), Framing::IP)?;
    Ok(CellPlan {
        kind: "dot11b",
        rules,
        categories: Categories::NONE,
        access_point: AccessPointPlan {
            queue: queue.clone(),
            access,
        },
        fastest,
        stations: stations.all,
        groups: stations.groups,
    })
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
    let tries = TryLimits {
        short: plan_tries(path, "short_retry_limit", cell.short_retry_limit)?,
        long: plan_tries(path, "long_retry_limit", cell.long_retry_limit)?,
    };
    check_overhead(path, cell.overhead)?;
    for (key, span) in [("difs", cell.difs), ("propagation", cell.propagation)] {
        check_delay(&format!("{path}.{key}"), span)?;
    }
    check_sifs(path, cell.sifs)?;
    check_eifs(path, cell.eifs.unwrap_or(cell.difs), cell.difs)?;
    check_slot(path, cell.slot)?;
    for (key, span) in [
        ("propagation", cell.propagation),
        ("cca_time", cell.cca_time),
    ] {
        check_within_slot(path, key, span, cell.slot)?;
    }
    if cell.difs < cell.sifs {
        return refuse("difs", format!("expected SIFS, {}, at least", cell.sifs));
    }
    Ok(make_rules(cell, basic_rates, tries))
}

/// The mode of a rate of 802.11b, which has been checked.
fn mode_of(rate: Rate) -> Mode {
    Mode::dsss(rate).expect("the check has found it among the rates of 802.11b")
}

fn make_rules(cell: &Dot11b, basic_rates: Vec<Rate>, tries: TryLimits) -> Rules {
    let phy = Phy {
        preamble: cell.preamble,
        basic: basic_rates.into_iter().map(mode_of).collect(),
        signal_extension: Duration::ZERO,
    };
    // IEEE 802.11-1999 §9.2.10.
    let after_error = match cell.eifs {
        Some(eifs) => eifs.saturating_sub(cell.difs),
        None => cell.sifs + phy.slowest_answer(),
    };
    Rules {
        phy,
        slot: cell.slot,
        sifs: cell.sifs,
        after_error,
        unnoticed: cell.cca_time,
        propagation: cell.propagation,
        rts_threshold: cell.rts_threshold.0,
        protection: None,
        tries,
        sharing: Sharing::Ahead(1),
    }
}
