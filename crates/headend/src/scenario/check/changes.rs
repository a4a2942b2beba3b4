//! Changes of service flows during the run: of which, to what, and which come and go.
//!
//! A change is one more place that says something of a service flow, the innermost one: what it
//! comes to is checked as what a modem says itself. A service flow that is created has its place
//! among its modem's from the start.

use std::collections::BTreeMap;
use std::ops::Range;

use super::cable::{CablePlan, ModemGroup, default_buffer, further_flow, rule_plans};
use super::service_flow::{Channel, FlowPlan, Layer, RulePlan};
use super::{admission, check_name, unknown};
use crate::link::docsis::timing::UpstreamTiming;
use crate::qdisc::QueueConfig;
use crate::scenario::cable::{Change, Docsis, OneWay, OwnUpstream};
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

/// The line that changes are made on.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) path: &'a str,
    pub(super) line: &'a Docsis,
    pub(super) timing: &'a UpstreamTiming,
    /// What the channels carry, up and down, and what is left of that to give.
    pub(super) channels: [Rate; 2],
    pub(super) rates: [Rate; 2],
    pub(super) duration: Duration,
}

/// A service flow of a modem, as the changes so far have left it.
#[derive(Debug, Clone)]
struct Current {
    plan: FlowPlan,
    exists: bool,
}

/// The service flows of the modems that changes have been made to.
type Currents = BTreeMap<usize, [Vec<Current>; 2]>;

/// Plans all changes, in order of time, those of one moment in order of name.
pub(super) fn plan(
    around: Surroundings<'_>,
    cable: &mut CablePlan,
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let mut changes: Vec<(&String, &Change)> = around.line.change.iter().collect();
    changes.sort_by_key(|(_, change)| change.at);
    for (name, change) in &changes {
        let path = format!("{}.change.{name}", around.path);
        check_change(&path, change, around.duration)?;
        add_places(&path, change, around, cable)?;
    }
    let mut currents = Currents::new();
    let mut plans = Vec::new();
    for (place, (name, change)) in changes.iter().enumerate() {
        let path = format!("{}.change.{name}", around.path);
        for modem in modems(&path, change, cable)? {
            let flows = currents
                .entry(modem)
                .or_insert_with(|| first(&cable.profiles[cable.modems[modem].profile].flows));
            plans.push(one(&path, (name, change), modem, flows, around)?);
        }
        let is_last_of_moment = changes
            .get(place + 1)
            .is_none_or(|(_, next)| next.at > change.at);
        if is_last_of_moment {
            admit(around, cable, &currents, warnings)?;
        }
    }
    cable.changes = plans;
    Ok(())
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
            let why = "changes nothing: expected a rate, peak, burst, minimum_reserved, priority, scheduling, match, aqm_disabled or queue, or create or delete";
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

/// The modems that a change is for.
fn modems(path: &str, change: &Change, cable: &CablePlan) -> Result<Range<usize>, ScenarioError> {
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

fn members(group: &ModemGroup) -> Range<usize> {
    let first = group.first as usize;
    first..first + group.count.unwrap_or(1) as usize
}

/// Gives a service flow that is created its place at its modems: they have a profile of their own
/// from then on.
fn add_places(
    path: &str,
    change: &Change,
    around: Surroundings<'_>,
    cable: &mut CablePlan,
) -> Result<(), ScenarioError> {
    let Some(flow) = &change.create else {
        return Ok(());
    };
    let name = &change.service_flow;
    check_name(&format!("{path}.service_flow"), name)?;
    let mut with_it: BTreeMap<usize, usize> = BTreeMap::new();
    for modem in modems(path, change, cable)? {
        let old = cable.modems[modem].profile;
        if let Some(&new) = with_it.get(&old) {
            cable.modems[modem].profile = new;
            continue;
        }
        let mut profile = cable.profiles[old].clone();
        if profile.flows.iter().flatten().any(|one| one.name == *name) {
            let why = format!(
                "\"{name}\" is or was a service flow of that modem already: expected a name of its own"
            );
            return Err(ScenarioError::invalid(format!("{path}.service_flow"), why));
        }
        let of_all = &profile.flows[flow.direction.index()][0];
        let channel = channel(flow.direction, of_all.is_modem_aqm_disabled, around);
        let mut plan = further_flow(name, &format!("{path}.create"), flow, channel)?;
        plan.exists_at_start = false;
        profile.flows[flow.direction.index()].push(plan);
        cable.profiles.push(profile);
        let new = cable.profiles.len() - 1;
        with_it.insert(old, new);
        cable.modems[modem].profile = new;
    }
    Ok(())
}

fn channel(direction: OneWay, is_aqm_disabled: bool, around: Surroundings<'_>) -> Channel<'_> {
    Channel {
        direction,
        preset: around.line.preset,
        rate: around.rates[direction.index()],
        timing: around.timing,
        is_aqm_disabled,
        default_buffer: default_buffer(around.path, around.line, direction),
    }
}

/// One change of one modem, of which these are the service flows.
fn one(
    path: &str,
    (name, change): (&str, &Change),
    modem: usize,
    flows: &mut [Vec<Current>; 2],
    around: Surroundings<'_>,
) -> Result<ChangePlan, ScenarioError> {
    let kind = match (&change.create, change.delete) {
        (Some(_), _) => ChangeKind::Create,
        (None, true) => ChangeKind::Delete,
        (None, false) => ChangeKind::Modify,
    };
    let (direction, place) = find(path, change, kind, flows)?;
    let current = &mut flows[direction][place];
    let mut queue = None;
    match kind {
        ChangeKind::Create => current.exists = true,
        ChangeKind::Delete if place == 0 => {
            let why = "a modem always has its primary service flows: expected a further one";
            return Err(ScenarioError::invalid(format!("{path}.service_flow"), why));
        }
        ChangeKind::Delete => current.exists = false,
        ChangeKind::Modify => {
            let plan = modified(path, change, direction, place, &current.plan, around)?;
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
    around: Surroundings<'_>,
) -> Result<FlowPlan, ScenarioError> {
    let mut layers = plan.layers.clone();
    let layer = Layer {
        path: path.to_owned(),
        own: OwnUpstream {
            rate: change.rate,
            peak: change.peak,
            burst: change.burst,
            minimum_reserved: change.minimum_reserved,
            priority: change.priority,
            scheduling: change.scheduling.clone(),
            aqm_disabled: change.aqm_disabled,
            queue: change.queue.clone(),
            ..OwnUpstream::default()
        },
    };
    layers.0.insert(0, layer);
    let direction = [OneWay::Up, OneWay::Down][direction];
    let channel = channel(direction, plan.is_modem_aqm_disabled, around);
    let mut modified = layers.plan(&plan.name, channel)?;
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
    around: Surroundings<'_>,
    cable: &CablePlan,
    currents: &Currents,
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let mut now = cable.clone();
    for (&modem, flows) in currents {
        let mut profile = now.profiles[now.modems[modem].profile].clone();
        profile.flows = [0, 1].map(|direction| {
            let flows = flows[direction].iter();
            let plan = |current: &Current| FlowPlan {
                exists_at_start: current.exists,
                ..current.plan.clone()
            };
            flows.map(plan).collect()
        });
        let known = now.profiles.iter().position(|known| *known == profile);
        now.modems[modem].profile = known.unwrap_or_else(|| {
            now.profiles.push(profile);
            now.profiles.len() - 1
        });
    }
    let Surroundings {
        path,
        timing,
        channels,
        rates,
        ..
    } = around;
    let mut found = Vec::new();
    admission::check(path, &now, timing, channels, rates, &mut found)?;
    found.retain(|warning| !warnings.contains(warning));
    warnings.extend(found);
    Ok(())
}
