//! What the rest of a scenario needs of a plain link, which has one customer.

use std::collections::BTreeMap;

use super::build::build;
use super::plan::{NAMES, PlainPlan};
use crate::flow::Port;
use crate::link::{Link, RateSchedule};
use crate::scenario::builder::Builder;
use crate::scenario::host::HostPlan;
use crate::scenario::medium::{Customers, Medium, QueuePlan};
use crate::time::Duration;

impl Medium for PlainPlan {
    fn customers(&self) -> usize {
        1
    }

    fn customer_names(&self) -> Vec<Customers<'_>> {
        vec![Customers {
            name: None,
            first: 0,
            count: None,
        }]
    }

    fn queues(&self, link: &str) -> Vec<QueuePlan<'_>> {
        let directions = self.directions.iter().zip(NAMES).enumerate();
        let queues = directions.map(|(direction, (plan, name))| {
            let path = format!("link.{link}.point_to_point.{name}.queue");
            QueuePlan {
                name: format!("{link}.{name}"),
                override_path: path.clone(),
                path,
                config: &plan.queue,
                rate: plan.nominal(),
                port: Port(direction as u16),
                kind: direction,
            }
        });
        queues.collect()
    }

    fn delay(&self, direction: usize) -> Duration {
        let delays = self.directions[direction].delay.values();
        delays.min().unwrap_or_default()
    }

    fn longest_delay(&self, direction: usize) -> Duration {
        let delays = self.directions[direction].delay.values();
        delays.max().unwrap_or_default()
    }

    fn opportunities(&self, link: &str) -> Vec<(String, usize)> {
        let directions = self.directions.iter().zip(NAMES);
        let traces = directions.filter_map(|(plan, name)| match &plan.schedule {
            RateSchedule::Opportunities { times } => {
                let path = format!("link.{link}.point_to_point.{name}.rate.opportunities");
                Some((path, times.len()))
            }
            _ => None,
        });
        traces.collect()
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
