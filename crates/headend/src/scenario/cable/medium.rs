//! What the rest of a scenario needs of a cable line. Its customers are its modems.

use std::collections::BTreeMap;

use super::build::build;
use super::matching;
use super::plan::CablePlan;
use super::service_flow::OneWay;
use crate::flow::Port;
use crate::link::Link;
use crate::scenario::builder::Builder;
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::GroupPlan;
use crate::scenario::host::HostPlan;
use crate::scenario::medium::{Customers, Medium, QueuePlan};
use crate::time::Duration;
use crate::units::Rate;

impl Medium for CablePlan {
    fn customers(&self) -> usize {
        self.modems.all.len()
    }

    fn customer_names(&self) -> Vec<Customers<'_>> {
        let groups = self.modems.groups.iter();
        let names = groups.map(|group| Customers {
            name: group.name.as_deref(),
            first: group.first,
            count: group.count,
        });
        names.collect()
    }

    fn customers_path(&self, link: &str) -> Option<String> {
        Some(format!("link.{link}.docsis.modem"))
    }

    /// The queues of each modem's service flows. An override of a primary one is the modem's own,
    /// whatever place has its queue.
    fn queues(&self, link: &str) -> Vec<QueuePlan<'_>> {
        let mut queues = Vec::new();
        for (customer, modem) in self.modems.all.iter().enumerate() {
            let group = self.modems.groups[modem.group].name.as_deref();
            let profile = &self.modems.profiles[modem.profile];
            for (direction, flows) in profile.flows.iter().enumerate() {
                for (place, flow) in flows.iter().enumerate() {
                    let override_path = match group {
                        Some(group) if place == 0 => {
                            format!("link.{link}.docsis.modem.{group}.{}stream.queue", flow.name)
                        }
                        // The low-latency queue stands in the table of its flow.
                        _ if flow.is_low_latency() => flow.settings.path.clone(),
                        _ => format!("{}.queue", flow.settings.path),
                    };
                    queues.push(QueuePlan {
                        name: modem.queue_name(link, &flow.name),
                        override_path,
                        path: flow.settings.queue.path.clone(),
                        config: &flow.queue,
                        rate: flow.rate,
                        port: Port((2 * customer + direction) as u16),
                        kind: modem.profile,
                    });
                }
            }
        }
        queues
    }

    fn channel(&self, direction: usize) -> Option<Rate> {
        Some(if direction == OneWay::Up.index() {
            self.plant.upstream_timing().capacity()
        } else {
            self.plant.downstream_timing().rate
        })
    }

    fn forwarding(&self) -> Duration {
        self.plant.cmts_forwarding
    }

    fn check_flows(
        &self,
        index: u16,
        hosts: &BTreeMap<String, HostPlan>,
        groups: &[GroupPlan],
        warnings: &mut Vec<String>,
    ) -> Result<(), ScenarioError> {
        matching::check(index, &self.modems, &self.changes, hosts, groups, warnings)
    }

    fn build(
        &self,
        link: &str,
        hosts: &BTreeMap<String, HostPlan>,
        builder: &mut Builder,
    ) -> Box<dyn Link> {
        Box::new(build(self, link, hosts, builder))
    }
}
