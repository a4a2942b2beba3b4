//! From a cell that makes sense to one that runs: the access point's queue, and the stations'.

use super::plan::CellPlan;
use crate::link::dot11b::{AccessPointSetup, Cell, StationSetup};
use crate::qdisc::AckAcceleration;
use crate::queue::Framing;
use crate::scenario::builder::{Builder, QueuePlace};
use crate::units::Rate;

pub(super) fn build(plan: &CellPlan, link: &str, builder: &mut Builder) -> Cell {
    builder.note_rate(plan.fastest);
    let name = format!("{link}.down");
    let down = place(link, &name, "down", plan.fastest);
    let access_point = AccessPointSetup {
        queue: builder.queue(down, &plan.access_point, Cell::update_token(0)),
        rate: plan.fastest,
        rng: builder.rng(format_args!("link.{name}.mac")),
    };
    let stations = plan.stations.iter().enumerate().map(|(index, station)| {
        let name = format!("{link}.{}.up", station.name);
        let up = place(link, &name, "up", station.rate);
        StationSetup {
            queue: builder.queue(up, &station.queue, Cell::update_token(index + 1)),
            rate: station.rate,
            frame_errors: station.frame_errors,
            rng: builder.rng(format_args!("link.{name}.mac")),
        }
    });
    let stations = stations.collect();
    let rng = builder.rng(format_args!("link.{link}.errors"));
    Cell::new(plan.rules.clone(), access_point, stations, rng)
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
