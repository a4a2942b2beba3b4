//! From a cell that makes sense to one that runs: the access point's queue, and the stations'.

use super::plan::{CellPlan, StationPlan};
use crate::link::cell::Cell;
use crate::link::cell::setup::{Access, AccessPointSetup, Sharing, StationSetup};
use crate::qdisc::lanes::LaneSetup;
use crate::qdisc::{AckAcceleration, Queue};
use crate::queue::Framing;
use crate::rng::Rng;
use crate::scenario::builder::{Builder, QueuePlace};
use crate::units::Rate;

pub(super) fn build(plan: &CellPlan, link: &str, builder: &mut Builder) -> Cell {
    let fastest = plan.fastest.rate();
    builder.note_rate(fastest);
    let name = format!("{link}.down");
    let by_station = matches!(plan.rules.sharing, Sharing::ByStation { .. });
    let rates = if by_station {
        let stations = plan.stations.iter();
        stations
            .map(|station| station.radio.fastest().rate())
            .collect()
    } else {
        vec![fastest]
    };
    let lanes = LaneSetup {
        config: plan.access_point.queue.clone(),
        categories: plan.categories.clone(),
        rates,
        by_station,
    };
    let place = place(link, &name, "down", fastest);
    let access_point = AccessPointSetup {
        queue: queue(place, lanes, Cell::update_token(0), builder),
        mode: plan.fastest,
        access: contenders(&plan.access_point.access, &name, builder),
    };
    let stations = (0..plan.stations.len()).map(|index| station(plan, index, link, builder));
    let stations = stations.collect();
    let rng = builder.rng(format_args!("link.{link}.errors"));
    let categories = plan.categories.clone();
    Cell::new(plan.rules.clone(), categories, access_point, stations, rng)
}

fn station(plan: &CellPlan, index: usize, link: &str, builder: &mut Builder) -> StationSetup {
    let own = &plan.stations[index];
    let name = format!("{link}.{}.up", own.name);
    let rate = own.radio.fastest().rate();
    let lanes = LaneSetup {
        config: own.queue.clone(),
        categories: plan.categories_of(own),
        rates: vec![rate],
        by_station: false,
    };
    let is_hidden = |one: &StationPlan, other: &StationPlan| {
        one.hidden_from.contains(&other.written) && one.name != other.name
    };
    let others = plan.stations.iter();
    let place = place(link, &name, "up", rate);
    StationSetup {
        queue: queue(place, lanes, Cell::update_token(index + 1), builder),
        radio: own.radio.clone(),
        access: contenders(&own.access, &name, builder),
        hears: others
            .map(|other| !is_hidden(own, other) && !is_hidden(other, own))
            .collect(),
        rate_control_rngs: ["up", "down"]
            .map(|way| builder.rng(format_args!("link.{link}.{}.{way}.rate", own.name))),
    }
}

/// The queue of a node: with lanes where the cell has access categories, or stations have lanes of
/// their own.
fn queue(place: QueuePlace<'_>, lanes: LaneSetup, token: u64, builder: &mut Builder) -> Queue {
    if lanes.categories.count() == 1 && !lanes.by_station {
        return builder.queue(place, &lanes.config, token);
    }
    builder.queue_of_lanes(place, lanes, token)
}

/// The contenders of a node, with their random streams.
fn contenders(access: &[Access], name: &str, builder: &Builder) -> Vec<(Access, Rng)> {
    let is_alone = access.len() == 1;
    let own = |(category, access): (usize, &Access)| {
        let rng = if is_alone {
            builder.rng(format_args!("link.{name}.mac"))
        } else {
            builder.rng(format_args!("link.{name}.mac.{category}"))
        };
        (*access, rng)
    };
    access.iter().enumerate().map(own).collect()
}

fn place<'a>(link: &'a str, name: &'a str, direction: &'static str, rate: Rate) -> QueuePlace<'a> {
    QueuePlace {
        link,
        name,
        direction,
        rate,
        framing: Framing::IP,
        acceleration: AckAcceleration::Off,
        map_interval: None,
        service_flow: None,
    }
}
