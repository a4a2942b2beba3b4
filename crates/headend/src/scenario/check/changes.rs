//! Changes of service flows during the run: of which, and to what.

use super::cable::{CablePlan, ModemGroup};
use super::links::{check_rate, plan_queue};
use super::service_flow::{FlowPlan, check_burst, check_priority};
use super::unknown;
use crate::link::docsis::token_bucket::Limits;
use crate::qdisc::{Framing, QueueConfig};
use crate::scenario::cable::{Change, Docsis};
use crate::scenario::error::ScenarioError;
use crate::time::Duration;
use crate::units::Rate;

/// A change of one service flow of one modem.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct ChangePlan {
    pub(in crate::scenario) at: Duration,
    pub(in crate::scenario) modem: usize,
    /// Direction and place among the modem's service flows.
    pub(in crate::scenario) flow: (usize, usize),
    /// The name of the change, which is that of the new queue's random stream.
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) limits: Limits,
    /// Nominal rate from then on.
    pub(in crate::scenario) rate: Rate,
    pub(in crate::scenario) priority: u8,
    pub(in crate::scenario) queue: Option<QueueConfig>,
}

/// What a service flow has become by the changes so far.
#[derive(Clone, Copy)]
struct State {
    limits: Limits,
    rate: Rate,
    priority: u8,
}

/// All changes in order of time, those of one moment in order of name.
pub(super) fn plan(
    path: &str,
    line: &Docsis,
    cable: &CablePlan,
    rates: [Rate; 2],
    duration: Duration,
) -> Result<Vec<ChangePlan>, ScenarioError> {
    let mut changes: Vec<(&String, &Change)> = line.change.iter().collect();
    changes.sort_by_key(|(_, change)| change.at);
    let mut plans: Vec<ChangePlan> = Vec::new();
    for (name, change) in changes {
        let path = format!("{path}.change.{name}");
        check_change(&path, change, duration)?;
        for modem in modems(&path, change, cable)? {
            let (flow, base) = flow(&path, change, cable, modem)?;
            let earlier = plans
                .iter()
                .rev()
                .find(|plan| (plan.modem, plan.flow) == (modem, flow));
            let state = earlier.map_or_else(|| State::of(base), State::after);
            plans.push(one(&path, name, change, state, (modem, flow), rates)?);
        }
    }
    Ok(plans)
}

impl State {
    fn of(flow: &FlowPlan) -> Self {
        Self {
            limits: flow.limits,
            rate: flow.rate,
            priority: flow.qos.priority,
        }
    }

    fn after(change: &ChangePlan) -> Self {
        Self {
            limits: change.limits,
            rate: change.rate,
            priority: change.priority,
        }
    }
}

fn check_change(path: &str, change: &Change, duration: Duration) -> Result<(), ScenarioError> {
    if change.at >= duration {
        let why = format!(
            "a change at {} is not within a run of {duration}",
            change.at
        );
        return Err(ScenarioError::invalid(format!("{path}.at"), why));
    }
    for (key, rate) in [("rate", change.rate), ("peak", change.peak)] {
        let Some(rate) = rate else { continue };
        let path = format!("{path}.{key}");
        check_rate(&path, rate)?;
        if rate.0 == 0 {
            let why = "a service flow at rate 0 carries nothing";
            return Err(ScenarioError::invalid(path, why));
        }
    }
    if let Some(burst) = change.burst {
        check_burst(&format!("{path}.burst"), burst)?;
    }
    if let Some(priority) = change.priority {
        check_priority(&format!("{path}.priority"), priority)?;
    }
    let Change {
        rate,
        peak,
        burst,
        priority,
        queue,
        ..
    } = change;
    if rate.is_none() && peak.is_none() && burst.is_none() && priority.is_none() && queue.is_none()
    {
        let why = "changes nothing: expected a rate, peak, burst, priority or queue";
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(())
}

/// The modems that a change is for.
fn modems(
    path: &str,
    change: &Change,
    cable: &CablePlan,
) -> Result<std::ops::Range<usize>, ScenarioError> {
    let Some(name) = &change.modem else {
        return Ok(0..cable.modems.len());
    };
    let is_called = |wanted: &Option<String>| wanted.as_ref() == Some(name);
    if let Some(group) = cable.groups.iter().find(|group| is_called(&group.name)) {
        return Ok(members(group));
    }
    if let Some(index) = cable.modems.iter().position(|modem| is_called(&modem.name)) {
        return Ok(index..index + 1);
    }
    let known = cable
        .groups
        .iter()
        .filter_map(|group| group.name.clone())
        .collect();
    Err(unknown(format!("{path}.modem"), "modem", name, known))
}

fn members(group: &ModemGroup) -> std::ops::Range<usize> {
    let first = group.first as usize;
    first..first + group.count.unwrap_or(1) as usize
}

/// The service flow that a change is for, and its place.
fn flow<'a>(
    path: &str,
    change: &Change,
    cable: &'a CablePlan,
    modem: usize,
) -> Result<((usize, usize), &'a FlowPlan), ScenarioError> {
    let flows = &cable.profiles[cable.modems[modem].profile].flows;
    for (direction, flows) in flows.iter().enumerate() {
        if let Some(place) = flows
            .iter()
            .position(|flow| flow.name == change.service_flow)
        {
            return Ok(((direction, place), &flows[place]));
        }
    }
    let known = flows
        .iter()
        .flatten()
        .map(|flow| flow.name.clone())
        .collect();
    let path = format!("{path}.service_flow");
    Err(unknown(path, "service flow", &change.service_flow, known))
}

fn one(
    path: &str,
    name: &str,
    change: &Change,
    state: State,
    (modem, flow): (usize, (usize, usize)),
    rates: [Rate; 2],
) -> Result<ChangePlan, ScenarioError> {
    let State {
        mut limits,
        mut rate,
        mut priority,
    } = state;
    if let Some(sustained) = change.rate {
        limits.sustained = Some(sustained);
        rate = sustained.min(rates[flow.0]);
    }
    limits.peak = change.peak.or(limits.peak);
    limits.burst = change.burst.map_or(limits.burst, |burst| burst.0);
    priority = change.priority.unwrap_or(priority);
    if let (Some(sustained), Some(peak)) = (limits.sustained, limits.peak)
        && peak < sustained
    {
        let why = format!("a peak rate of {peak} is below the sustained rate of {sustained}");
        return Err(ScenarioError::invalid(path, why));
    }
    let queue = change.queue.as_ref();
    let queue = queue
        .map(|queue| plan_queue(&format!("{path}.queue"), queue, rate, Framing::ETHERNET).cloned());
    Ok(ChangePlan {
        at: change.at,
        modem,
        flow,
        name: name.to_owned(),
        limits,
        rate,
        priority,
        queue: queue.transpose()?,
    })
}
