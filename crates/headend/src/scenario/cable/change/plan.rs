//! Changes of service flows during the run: which are changed, to what, and which come and go.
//!
//! A change is the innermost layer of a service flow's settings. The outcome is checked as the
//! settings at the start are. A service flow that is created has its place among its modem's
//! service flows from the start.

use std::collections::BTreeMap;

use super::config::Change;
use crate::qdisc::QueueConfig;
use crate::scenario::cable::admission;
use crate::scenario::cable::classifier::{RulePlan, rule_plans};
use crate::scenario::cable::line::Line;
use crate::scenario::cable::modem::Modems;
use crate::scenario::cable::service_flow::{self, FlowPlan, OneWay};
use crate::scenario::error::ScenarioError;
use crate::scenario::names::{check_name, unknown};
use crate::time::Duration;

/// A change of one service flow of one modem.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct ChangePlan {
    pub(in crate::scenario) at: Duration,
    pub(in crate::scenario) modem: usize,
    /// Direction and place among the modem's service flows.
    pub(in crate::scenario) flow: (usize, usize),
    /// The name of the change, which is that of the new queue's random stream.
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) kind: ChangeKind,
    /// What the service flow is from then on.
    pub(in crate::scenario) plan: FlowPlan,
    /// The queue that takes the place of its own.
    pub(in crate::scenario) queue: Option<QueueConfig>,
    /// All classifiers of the modem in that direction from then on, with the places of their
    /// service flows, if they are others.
    pub(in crate::scenario) rules: Option<Vec<(usize, Vec<RulePlan>)>>,
}

/// What happens to a service flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) enum ChangeKind {
    Create,
    Delete,
    Modify,
}

/// A service flow of a modem, as the changes so far have left it.
#[derive(Debug, Clone)]
struct Current {
    plan: FlowPlan,
    exists: bool,
}

/// The service flows of the modems that changes have been made to.
type Currents = BTreeMap<usize, [Vec<Current>; 2]>;

/// Plans all changes, in order of time, those of one moment in order of name. A service flow that
/// is created gets its place among its modem's.
pub(in crate::scenario::cable) fn plan(
    line: Line<'_>,
    modems: &mut Modems,
    warnings: &mut Vec<String>,
) -> Result<Vec<ChangePlan>, ScenarioError> {
    let mut changes: Vec<(&String, &Change)> = line.written.change.iter().collect();
    changes.sort_by_key(|(_, change)| change.at);
    for (name, change) in &changes {
        let path = format!("{}.change.{name}", line.path);
        check_change(&path, change, line.duration)?;
        add_places(&path, change, line, modems)?;
    }
    let mut currents = Currents::new();
    let mut plans = Vec::new();
    for (place, (name, change)) in changes.iter().enumerate() {
        let path = format!("{}.change.{name}", line.path);
        for modem in modems.called(&format!("{path}.modem"), change.modem.as_ref())? {
            let flows = currents
                .entry(modem)
                .or_insert_with(|| first(&modems.profile_of(modem).flows));
            plans.push(one(&path, (name, change), modem, flows, line)?);
        }
        let is_last_of_moment = changes
            .get(place + 1)
            .is_none_or(|(_, next)| next.at > change.at);
        if is_last_of_moment {
            admit(line, modems, &currents, warnings)?;
        }
    }
    Ok(plans)
}

fn first(flows: &[Vec<FlowPlan>; 2]) -> [Vec<Current>; 2] {
    let current = |plan: &FlowPlan| Current {
        exists: plan.exists_at_start,
        plan: plan.clone(),
    };
    [0, 1].map(|direction| flows[direction].iter().map(current).collect())
}

fn check_change(path: &str, change: &Change, duration: Duration) -> Result<(), ScenarioError> {
    if change.at >= duration {
        let why = format!(
            "a change at {} is not within a run of {duration}",
            change.at
        );
        return Err(ScenarioError::invalid(format!("{path}.at"), why));
    }
    let changed = [
        ("rate", change.rate.is_some()),
        ("peak", change.peak.is_some()),
        ("burst", change.burst.is_some()),
        ("minimum_reserved", change.minimum_reserved.is_some()),
        ("priority", change.priority.is_some()),
        ("scheduling", change.scheduling.is_some()),
        ("match", !change.classifiers.is_empty()),
        ("aqm_disabled", change.aqm_disabled.is_some()),
        ("queue", change.queue.is_some()),
    ];
    let changed = changed.into_iter().find(|(_, is_given)| *is_given);
    match (&change.create, change.delete, changed) {
        (Some(_), true, _) => {
            let why = "expected `create` or `delete`, and not both";
            Err(ScenarioError::invalid(format!("{path}.delete"), why))
        }
        (Some(_), false, Some((key, _))) => {
            let why = format!("what a service flow is created with stands in `create.{key}`");
            Err(ScenarioError::invalid(format!("{path}.{key}"), why))
        }
        (None, true, Some((key, _))) => {
            let why = "a service flow that is deleted has none any more";
            Err(ScenarioError::invalid(format!("{path}.{key}"), why))
        }
        (None, false, None) => {
            let why = "changes nothing: expected a rate, peak, burst, minimum_reserved, priority, \
                       scheduling, match, aqm_disabled or queue, or create or delete";
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

/// Gives a service flow that is created its place at its modems: they have a profile of their own
/// from then on.
fn add_places(
    path: &str,
    change: &Change,
    line: Line<'_>,
    modems: &mut Modems,
) -> Result<(), ScenarioError> {
    let Some(flow) = &change.create else {
        return Ok(());
    };
    let name = &change.service_flow;
    check_name(&format!("{path}.service_flow"), name)?;
    let mut with_it: BTreeMap<usize, usize> = BTreeMap::new();
    for modem in modems.called(&format!("{path}.modem"), change.modem.as_ref())? {
        let old = modems.all[modem].profile;
        if let Some(&new) = with_it.get(&old) {
            modems.all[modem].profile = new;
            continue;
        }
        let mut profile = modems.profiles[old].clone();
        if profile.flows.iter().flatten().any(|one| one.name == *name) {
            let why = format!(
                "\"{name}\" is or was a service flow of that modem already: expected a name of its \
                 own"
            );
            return Err(ScenarioError::invalid(format!("{path}.service_flow"), why));
        }
        let of_all = &profile.flows[flow.direction.index()][0];
        let channel = line.channel(flow.direction, of_all.is_modem_aqm_disabled);
        let create = format!("{path}.create");
        let mut plan = service_flow::plan_further(name, &create, flow, channel)?;
        plan.exists_at_start = false;
        profile.flows[flow.direction.index()].push(plan);
        modems.profiles.push(profile);
        let new = modems.profiles.len() - 1;
        with_it.insert(old, new);
        modems.all[modem].profile = new;
    }
    Ok(())
}

/// One change of one modem, of which these are the service flows.
fn one(
    path: &str,
    (name, change): (&str, &Change),
    modem: usize,
    flows: &mut [Vec<Current>; 2],
    line: Line<'_>,
) -> Result<ChangePlan, ScenarioError> {
    let kind = match (&change.create, change.delete) {
        (Some(_), _) => ChangeKind::Create,
        (None, true) => ChangeKind::Delete,
        (None, false) => ChangeKind::Modify,
    };
    let (direction, place) = find(path, change, kind, flows)?;
    let current = &mut flows[direction][place];
    if current.plan.is_low_latency() {
        let why = format!(
            "a low-latency flow stays as it is during the run: expected \"{}\", whose rate, peak \
             and burst are those of both flows, or a further service flow",
            flows[direction][0].plan.name
        );
        return Err(ScenarioError::invalid(format!("{path}.service_flow"), why));
    }
    let mut queue = None;
    match kind {
        ChangeKind::Create => current.exists = true,
        ChangeKind::Delete if place == 0 => {
            let why = "a modem always has its primary service flows: expected a further one";
            return Err(ScenarioError::invalid(format!("{path}.service_flow"), why));
        }
        ChangeKind::Delete => current.exists = false,
        ChangeKind::Modify => {
            let plan = modified(path, change, direction, place, &current.plan, line)?;
            let is_other = plan.queue != current.plan.queue;
            queue = (is_other || change.queue.is_some()).then(|| plan.queue.clone());
            current.plan = plan;
        }
    }
    let plan = current.plan.clone();
    let are_others = kind != ChangeKind::Modify || !change.classifiers.is_empty();
    let rules = are_others.then(|| {
        let places = flows[direction].iter().enumerate();
        let existing = places.filter(|(_, current)| current.exists);
        existing
            .map(|(place, current)| (place, current.plan.rules.clone()))
            .collect()
    });
    Ok(ChangePlan {
        at: change.at,
        modem,
        flow: (direction, place),
        name: name.to_owned(),
        kind,
        plan,
        queue,
        rules,
    })
}

/// Direction and place of the service flow that a change is for.
fn find(
    path: &str,
    change: &Change,
    kind: ChangeKind,
    flows: &[Vec<Current>; 2],
) -> Result<(usize, usize), ScenarioError> {
    let is_it = |current: &Current| {
        current.plan.name == change.service_flow && current.exists == (kind != ChangeKind::Create)
    };
    for (direction, flows) in flows.iter().enumerate() {
        if let Some(place) = flows.iter().position(is_it) {
            return Ok((direction, place));
        }
    }
    let path = format!("{path}.service_flow");
    let all = || flows.iter().flatten();
    if all().any(|current| current.plan.name == change.service_flow) {
        let why = format!(
            "there is no service flow \"{}\" at {}: it is created later or deleted before",
            change.service_flow, change.at
        );
        return Err(ScenarioError::invalid(path, why));
    }
    let existing = all().filter(|current| current.exists);
    let known = existing.map(|current| current.plan.name.clone()).collect();
    Err(unknown(path, "service flow", &change.service_flow, known))
}

/// What a service flow becomes.
fn modified(
    path: &str,
    change: &Change,
    direction: usize,
    place: usize,
    plan: &FlowPlan,
    line: Line<'_>,
) -> Result<FlowPlan, ScenarioError> {
    let settings = plan.settings.clone().overlaid(path, change.into());
    let direction = [OneWay::Up, OneWay::Down][direction];
    let channel = line.channel(direction, plan.is_modem_aqm_disabled);
    let mut modified = service_flow::plan(&plan.name, settings, channel)?;
    modified.exists_at_start = plan.exists_at_start;
    modified.rules = if change.classifiers.is_empty() {
        plan.rules.clone()
    } else if place == 0 {
        let why = "a primary service flow takes what no classifier claims, and has none";
        return Err(ScenarioError::invalid(format!("{path}.match"), why));
    } else {
        rule_plans(path, &change.classifiers)?
    };
    Ok(modified)
}

/// Checks what the line has promised by now, as the CMTS's admission control would.
fn admit(
    line: Line<'_>,
    modems: &Modems,
    currents: &Currents,
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let mut now = modems.clone();
    for (&modem, flows) in currents {
        let mut profile = now.profile_of(modem).clone();
        profile.flows = [0, 1].map(|direction| {
            let flows = flows[direction].iter();
            let plan = |current: &Current| FlowPlan {
                exists_at_start: current.exists,
                ..current.plan.clone()
            };
            flows.map(plan).collect()
        });
        let known = now.profiles.iter().position(|known| *known == profile);
        now.all[modem].profile = known.unwrap_or_else(|| {
            now.profiles.push(profile);
            now.profiles.len() - 1
        });
    }
    let mut found = Vec::new();
    admission::check(line, &now, &mut found)?;
    found.retain(|warning| !warnings.contains(warning));
    warnings.extend(found);
    Ok(())
}
