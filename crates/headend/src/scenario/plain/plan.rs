//! A plain link that makes sense.

use std::collections::BTreeMap;

use super::written::{LinkDirection, PointToPoint};
use crate::flow::Port;
use crate::link::{Link, RateSchedule};
use crate::named::Named;
use crate::qdisc::QueueConfig;
use crate::queue::Framing;
use crate::scenario::builder::Builder;
use crate::scenario::error::ScenarioError;
use crate::scenario::host::HostPlan;
use crate::scenario::medium::{Customers, Medium, QueuePlan};
use crate::scenario::queue::{check_queue, is_omniscient, refuse_foresight};
use crate::scenario::rate::plan_rate;
use crate::scenario::times::check_delay;
use crate::time::Duration;

/// A plain link, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct PlainPlan {
    /// Up and down.
    pub(super) directions: [DirectionPlan; 2],
}

/// One direction of a plain link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DirectionPlan {
    pub(super) schedule: RateSchedule,
    pub(super) delay: Duration,
    pub(super) queue: QueueConfig,
}

/// The directions by name.
pub(super) const NAMES: [&str; 2] = ["up", "down"];

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
                rate: plan.schedule.nominal(),
                port: Port(direction as u16),
                kind: direction,
            }
        });
        queues.collect()
    }

    fn delay(&self, direction: usize) -> Duration {
        self.directions[direction].delay
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
        Box::new(super::build::build(self, link, builder))
    }
}

/// Checks a plain link, and writes its second direction out.
pub(in crate::scenario) fn plan(
    path: &str,
    link: &mut PointToPoint,
) -> Result<PlainPlan, ScenarioError> {
    let down = link.down.get_or_insert_with(|| link.up.clone());
    let up = plan_direction(&format!("{path}.up"), &link.up)?;
    let down = plan_direction(&format!("{path}.down"), down)?;
    Ok(PlainPlan {
        directions: [up, down],
    })
}

fn plan_direction(path: &str, direction: &LinkDirection) -> Result<DirectionPlan, ScenarioError> {
    let schedule = plan_rate(&format!("{path}.rate"), &direction.rate)?;
    check_delay(&format!("{path}.delay"), direction.delay)?;
    let Named(queue) = &direction.queue;
    let path_of_queue = format!("{path}.queue");
    check_queue(&path_of_queue, queue, schedule.nominal(), Framing::IP)?;
    if !(matches!(schedule, RateSchedule::Constant(_)) && is_omniscient(queue)) {
        refuse_foresight(&path_of_queue, queue)?;
    }
    Ok(DirectionPlan {
        schedule,
        delay: direction.delay,
        queue: queue.clone(),
    })
}
