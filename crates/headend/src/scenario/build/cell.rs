//! 802.11b cells: the access point's queue, and the stations'.

use super::{Builder, QueuePlace};
use crate::link::dot11b::{AccessPointSetup, Cell, StationSetup};
use crate::qdisc::{AckAcceleration, Queue, QueueConfig};
use crate::queue::Framing;
use crate::scenario::check::CellPlan;
use crate::units::Rate;

impl Builder {
    pub(super) fn cell(&mut self, link: &str, plan: &CellPlan) -> Cell {
        self.fastest = self.fastest.max(plan.fastest);
        let name = format!("{link}.down");
        let queue = self.node(link, &name, "down", plan.fastest, &plan.access_point, 0);
        let access_point = AccessPointSetup {
            queue,
            rate: plan.fastest,
            rng: self.rng(format_args!("link.{name}.mac")),
        };
        let stations = plan.stations.iter().enumerate().map(|(index, station)| {
            let name = format!("{link}.{}.up", station.name);
            StationSetup {
                queue: self.node(link, &name, "up", station.rate, &station.queue, index + 1),
                rate: station.rate,
                frame_errors: station.frame_errors,
                rng: self.rng(format_args!("link.{name}.mac")),
            }
        });
        let stations = stations.collect();
        let rng = self.rng(format_args!("link.{link}.errors"));
        Cell::new(plan.rules.clone(), access_point, stations, rng)
    }

    fn node(
        &mut self,
        link: &str,
        name: &str,
        direction: &'static str,
        rate: Rate,
        config: &QueueConfig,
        node: usize,
    ) -> Queue {
        let place = QueuePlace {
            link,
            name,
            direction,
            rate,
            framing: Framing::IP,
            acceleration: AckAcceleration::Off,
            map_interval: None,
        };
        self.queue(&place, config, Cell::update_token(node))
    }
}
