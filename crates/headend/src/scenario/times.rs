//! Times: between which a run and a delay lie, and a time between two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use crate::time::Duration;

/// The longest run. Nothing on an access line takes longer: a longer run has a wrong unit.
pub(super) const LONGEST_RUN: Duration = Duration::from_secs(10 * 24 * 3600);

/// The shortest run. In less time no packet crosses a line: a shorter run has a wrong unit.
pub(super) const SHORTEST_RUN: Duration = Duration::from_millis(1);

/// The longest delay that a path or a link may have: several times that of a satellite, and far
/// beyond any retransmission timer.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// A time between two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRange {
    /// The earliest.
    pub from: Duration,
    /// The latest.
    pub to: Duration,
}

/// Refuses a delay that is too long.
pub(super) fn check_delay(path: &str, delay: Duration) -> Result<(), ScenarioError> {
    if delay <= LONGEST_DELAY {
        return Ok(());
    }
    let why = format!("a delay of at most {LONGEST_DELAY} makes sense, not {delay}");
    Err(ScenarioError::invalid(path, why))
}
