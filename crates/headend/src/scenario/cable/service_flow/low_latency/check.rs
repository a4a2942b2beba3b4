//! What a scenario with low latency is warned of: settings that do not do what they say.

use super::aggregate::{AggregatePlan, Role};
use crate::scenario::cable::modem::Modems;
use crate::units::Rate;

/// Warns of each aggregate once, however many modems have it.
pub(in crate::scenario::cable) fn warn(modems: &Modems, warnings: &mut Vec<String>) {
    let flows = modems
        .profiles
        .iter()
        .flat_map(|profile| profile.flows.iter().flatten());
    let members = flows.filter_map(|flow| flow.aggregate.as_ref());
    for member in members.filter(|member| member.role == Role::LowLatency) {
        let found = [unlimited(&member.aggregate), raised(&member.aggregate)];
        for warning in found.into_iter().flatten() {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
}

/// Without a rate, the queue cannot estimate its delay.
fn unlimited(aggregate: &AggregatePlan) -> Option<String> {
    (aggregate.max_rate() == Rate(0) && !aggregate.written.aqm_disabled).then(|| {
        let path = &aggregate.path;
        let beside = path.strip_suffix(".low_latency").unwrap_or(path);
        format!(
            "{path}: the aggregate has no rate, so the low-latency queue estimates its delay as \
             zero: it marks nothing by its own delay, and queue protection sanctions nobody; \
             expected {beside}.rate"
        )
    })
}

/// A ramp that is written lower than it can be at this rate.
fn raised(aggregate: &AggregatePlan) -> Option<String> {
    let written = aggregate.written.maximum_threshold?;
    let [minimum, maximum] = aggregate.thresholds();
    let is_raised = maximum > written && aggregate.max_rate() > Rate(0);
    (is_raised && !aggregate.written.aqm_disabled).then(|| {
        format!(
            "{}.maximum_threshold is {written}, and at {} marking begins no earlier than at \
             {minimum}, the time that two frames of 2000 B take: the ramp goes from {minimum} to \
             {maximum}",
            aggregate.path,
            aggregate.max_rate(),
        )
    })
}
