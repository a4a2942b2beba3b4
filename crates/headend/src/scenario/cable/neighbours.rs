//! Neighbours: other customers of the upstream, as a load without packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::error::ScenarioError;
use crate::scenario::times::LONGEST_DELAY;
use crate::time::Duration;
use crate::units::Probability;

/// Other customers of the upstream, as a load without packets: they take grants and request
/// opportunities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NeighbourLoad {
    /// Mean share of the channel that they take. A higher one makes grants smaller and, near 100 %,
    /// later.
    pub load: Probability,
    /// How much the load varies: its standard deviation over its mean, before what exceeds the
    /// channel is cut off. Zero is a constant load.
    pub burstiness: f64,
    /// How long the load keeps a value before the next is drawn.
    pub correlation: Duration,
    /// What the mean is multiplied by from each time on: `[["0 s", 0.5], ["30 s", 1.5]]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time_of_day: Vec<(Duration, f64)>,
    /// Contention requests of theirs in a second, at their mean load. More make requests collide.
    pub requests_per_second: f64,
}

impl Default for NeighbourLoad {
    /// The load is that of the public ns-3 DOCSIS module's background users, a tenth of the
    /// channel. The others are a choice: loads that vary by half their mean from second to second,
    /// and a request in every tenth opportunity or so of a busy 6.4 MHz channel.
    fn default() -> Self {
        Self {
            load: Probability(0.1),
            burstiness: 0.5,
            correlation: Duration::from_secs(1),
            time_of_day: Vec::new(),
            requests_per_second: 200.0,
        }
    }
}

pub(super) fn check(path: &str, load: Option<&NeighbourLoad>) -> Result<(), ScenarioError> {
    let Some(load) = load else { return Ok(()) };
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    if load.load.0 >= 1.0 {
        return refuse(
            "load",
            "neighbours that take all of the channel leave nothing".to_owned(),
        );
    }
    if !(0.0..=10.0).contains(&load.burstiness) {
        return refuse(
            "burstiness",
            format!("expected 0 to 10, found {}", load.burstiness),
        );
    }
    if load.correlation.is_zero() || load.correlation > LONGEST_DELAY {
        let why = format!(
            "expected more than 0 s and at most {LONGEST_DELAY}, found {}",
            load.correlation
        );
        return refuse("correlation", why);
    }
    if !(0.0..=1e6).contains(&load.requests_per_second) {
        let why = format!(
            "expected 0 to a million, found {}",
            load.requests_per_second
        );
        return refuse("requests_per_second", why);
    }
    for (index, (start, factor)) in load.time_of_day.iter().enumerate() {
        let key = format!("time_of_day[{index}]");
        if !(0.0..=100.0).contains(factor) {
            return refuse(
                &key,
                format!("expected a factor from 0 to 100, found {factor}"),
            );
        }
        if index == 0 && !start.is_zero() {
            return refuse(&key, format!("the first step is at \"0 s\", not {start}"));
        }
        if index > 0 && *start <= load.time_of_day[index - 1].0 {
            return refuse(
                &key,
                format!("steps are in order of time: {start} does not come later"),
            );
        }
    }
    Ok(())
}
