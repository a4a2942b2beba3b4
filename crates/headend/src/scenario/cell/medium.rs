//! What the rest of a scenario needs of a cell. Its customers are its stations.

use std::collections::BTreeMap;

use super::build::build;
use super::plan::CellPlan;
use crate::flow::Port;
use crate::link::Link;
use crate::scenario::builder::Builder;
use crate::scenario::host::HostPlan;
use crate::scenario::medium::{Customers, Medium, QueuePlan};
use crate::units::Rate;

impl Medium for CellPlan {
    fn customers(&self) -> usize {
        self.stations.len()
    }

    fn customer_names(&self) -> Vec<Customers<'_>> {
        let groups = self.groups.iter();
        let names = groups.map(|group| Customers {
            name: Some(&group.name),
            first: group.first,
            count: group.count,
        });
        names.collect()
    }

    fn customers_path(&self, link: &str) -> Option<String> {
        Some(format!("link.{link}.{}.station", self.kind))
    }

    fn has_hosts_as_customers(&self) -> bool {
        true
    }

    /// The access point's, then the stations'.
    fn queues(&self, link: &str) -> Vec<QueuePlan<'_>> {
        let path = format!("link.{link}.{}.access_point.queue", self.kind);
        let access_point = QueuePlan {
            name: format!("{link}.down"),
            override_path: path.clone(),
            path,
            config: &self.access_point.queue,
            rate: self.fastest.rate(),
            port: ACCESS_POINT,
            kind: 0,
        };
        let stations = self.stations.iter().enumerate();
        let stations = stations.map(|(number, station)| {
            let (kind, written) = (self.kind, &station.written);
            let path = format!("link.{link}.{kind}.station.{written}.queue");
            QueuePlan {
                name: format!("{link}.{}.up", station.name),
                override_path: path.clone(),
                path,
                config: &station.queue,
                rate: station.radio.fastest().rate(),
                port: Port(2 * number as u16),
                kind: number,
            }
        });
        std::iter::once(access_point).chain(stations).collect()
    }

    /// The access point has one queue for all of its stations.
    fn queue_port(&self, port: Port) -> Port {
        if port.0 % 2 == 1 { ACCESS_POINT } else { port }
    }

    fn channel(&self, _direction: usize) -> Option<Rate> {
        Some(self.fastest.rate())
    }

    fn build(
        &self,
        link: &str,
        _hosts: &BTreeMap<String, HostPlan>,
        builder: &mut Builder,
    ) -> Box<dyn Link> {
        Box::new(build(self, link, builder))
    }
}

/// The port by which all that goes down to stations enters the access point's queue.
const ACCESS_POINT: Port = Port(1);
