//! A plain link that makes sense.

use super::config::{LinkDirection, PointToPoint, RateLimit};
use crate::link::token_bucket::Limits;
use crate::link::{RateSchedule, Varying};
use crate::named::{Named, OrTable};
use crate::qdisc::QueueConfig;
use crate::queue::{Framing, Keyword};
use crate::scenario::error::ScenarioError;
use crate::scenario::queue::{MTU, check_queue, check_room, is_omniscient, refuse_foresight};
use crate::scenario::rate::{check_rate, plan_rate};
use crate::scenario::varying::{plan_varying_delay, plan_varying_loss};
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Probability, Rate};

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
    pub(super) delay: Varying<Duration>,
    pub(super) loss: Option<Varying<Probability>>,
    pub(super) framing: Framing,
    pub(super) policer: Option<Limits>,
    pub(super) queue: QueueConfig,
    pub(super) shaper: Option<Limits>,
}

impl DirectionPlan {
    /// The nominal rate behind the queue.
    pub(super) fn nominal(&self) -> Rate {
        drain(&self.schedule, self.shaper, &self.queue)
    }
}

/// The directions by name.
pub(super) const NAMES: [&str; 2] = ["up", "down"];

/// Checks a plain link, and writes its second direction out.
pub(in crate::scenario) fn plan(
    path: &str,
    link: &mut PointToPoint,
) -> Result<PlainPlan, ScenarioError> {
    let down = link.down.get_or_insert_with(|| link.up.clone());
    if down.framing.is_none() {
        down.framing.clone_from(&link.up.framing);
    }
    let up = plan_direction(&format!("{path}.up"), &mut link.up)?;
    let down = plan_direction(&format!("{path}.down"), down)?;
    Ok(PlainPlan {
        directions: [up, down],
    })
}

fn plan_direction(
    path: &str,
    direction: &mut LinkDirection,
) -> Result<DirectionPlan, ScenarioError> {
    let schedule = plan_rate(&format!("{path}.rate"), &direction.rate)?;
    let no_delay = OrTable::Plain(Duration::ZERO);
    let delay = direction.delay.get_or_insert(no_delay);
    let delay = plan_varying_delay(&format!("{path}.delay"), delay)?;
    let loss = direction.loss.as_ref();
    let loss = loss.map(|loss| plan_varying_loss(&format!("{path}.loss"), loss));
    let loss = loss.transpose()?.flatten();
    let usual = OrTable::Plain(Keyword::default());
    let framing = (direction.framing.get_or_insert(usual).framing())
        .map_err(|(key, why)| ScenarioError::invalid(format!("{path}.framing.{key}"), why))?;
    let plan_limit = |key: &str, limit: &mut Option<RateLimit>| {
        let limit = limit.as_mut();
        limit
            .map(|limit| plan_limit(&format!("{path}.{key}"), limit, framing))
            .transpose()
    };
    let policer = plan_limit("policer", &mut direction.policer)?;
    let shaper = plan_limit("shaper", &mut direction.shaper)?;
    let Named(queue) = &direction.queue;
    let path_of_queue = format!("{path}.queue");
    let rate = drain(&schedule, shaper, queue);
    check_queue(&path_of_queue, queue, rate, framing)?;
    let is_steady = matches!(schedule, RateSchedule::Constant(_)) && shaper.is_none();
    if !(is_steady && is_omniscient(queue)) {
        refuse_foresight(&path_of_queue, queue)?;
    }
    Ok(DirectionPlan {
        schedule,
        delay,
        loss,
        framing,
        policer,
        queue: queue.clone(),
        shaper,
    })
}

/// The nominal rate at which a queue drains before a line of this rate and a shaper; CAKE may have
/// one of its own.
fn drain(schedule: &RateSchedule, shaper: Option<Limits>, queue: &QueueConfig) -> Rate {
    let own = match queue {
        QueueConfig::Cake(cake) => cake.rate.limit(),
        _ => None,
    };
    let shaper = shaper.and_then(|shaper| shaper.sustained);
    let line = schedule.nominal();
    own.into_iter().chain(shaper).fold(line, Rate::min)
}

/// Checks the buckets of a shaper or policer, and writes the depth of the second one out.
fn plan_limit(
    path: &str,
    limit: &mut RateLimit,
    framing: Framing,
) -> Result<Limits, ScenarioError> {
    let check = |key: &str, rate: Rate| {
        let path = format!("{path}.{key}");
        if rate.0 == 0 {
            let why = "tokens at rate 0 let nothing pass";
            return Err(ScenarioError::invalid(path, why));
        }
        check_rate(&path, rate)
    };
    check("rate", limit.rate)?;
    let check_burst = |key: &str, burst: ByteCount| {
        check_room(
            &format!("{path}.{key}"),
            Limit::Bytes(burst),
            limit.rate,
            framing,
        )
    };
    check_burst("burst", limit.burst)?;
    let packet = framing.size_on_wire(MTU);
    if let Some(peak) = limit.peak {
        check("peak", peak)?;
        if peak < limit.rate {
            let rate = limit.rate;
            let why = format!("a peak rate of {peak} is below the rate of {rate}");
            return Err(ScenarioError::invalid(format!("{path}.peak"), why));
        }
        check_burst(
            "peak_burst",
            *limit.peak_burst.get_or_insert(ByteCount(packet)),
        )?;
    } else if limit.peak_burst.is_some() {
        let why = "the bucket of a peak rate that is not written: expected a peak too";
        return Err(ScenarioError::invalid(format!("{path}.peak_burst"), why));
    }
    Ok(Limits {
        sustained: Some(limit.rate),
        burst: limit.burst.0,
        peak: limit.peak,
        peak_burst: limit.peak_burst.map_or(packet, |burst| burst.0),
    })
}
