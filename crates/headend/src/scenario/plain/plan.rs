//! A plain link that makes sense.

use super::config::{LinkDirection, PointToPoint};
use crate::link::RateSchedule;
use crate::named::Named;
use crate::qdisc::QueueConfig;
use crate::queue::Framing;
use crate::scenario::error::ScenarioError;
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
