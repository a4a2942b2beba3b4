//! What values in steps have in common: their times.

use super::error::ScenarioError;
use crate::time::Duration;

/// Refuses steps whose times make no sense, or a value that `check` refuses; there is at least one
/// step.
pub(super) fn check_steps<T>(
    path: &str,
    steps: &[(Duration, T)],
    period: Option<Duration>,
    check: impl Fn(&str, &T) -> Result<(), ScenarioError>,
) -> Result<(), ScenarioError> {
    for (index, (start, value)) in steps.iter().enumerate() {
        let path = format!("{path}.steps[{index}]");
        check(&path, value)?;
        if index == 0 && !start.is_zero() {
            let why = format!("the first step is at \"0 s\", not {start}");
            return Err(ScenarioError::invalid(path, why));
        }
        if index > 0 && *start <= steps[index - 1].0 {
            let why = format!("steps are in order of time: {start} does not come later");
            return Err(ScenarioError::invalid(path, why));
        }
    }
    let last = steps.last().map_or(Duration::ZERO, |(start, _)| *start);
    if let Some(period) = period.filter(|period| *period <= last) {
        let why = format!("a pattern of {period} ends before its last step at {last}");
        return Err(ScenarioError::invalid(format!("{path}.period"), why));
    }
    Ok(())
}
