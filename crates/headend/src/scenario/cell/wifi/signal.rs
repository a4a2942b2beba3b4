//! The signal of a station as it is written: its ratio to the noise, constant or in steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::Varying;
use crate::named::OrTable;
use crate::scenario::error::ScenarioError;
use crate::scenario::steps::check_steps;
use crate::time::Duration;
use crate::units::Decibels;

/// A ratio of signal to noise that varies with time, as that of somebody who walks about.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaryingRatio {
    /// From each time on, that ratio: `[["0 s", "35 dB"], ["20 s", "9 dB"]]`. The first step is at
    /// `"0 s"`.
    pub steps: Vec<(Duration, Decibels)>,
    /// The steps repeat after this time. Default: the last step stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
}

/// The ratio that is written at `path`.
pub(super) fn plan_ratio(
    path: &str,
    ratio: &OrTable<Decibels, VaryingRatio>,
) -> Result<Varying<Decibels>, ScenarioError> {
    let varying = match ratio {
        OrTable::Plain(ratio) => return Ok(Varying::Constant(*ratio)),
        OrTable::Table(varying) => varying,
    };
    if varying.steps.is_empty() {
        let why = "expected steps, such as steps = [[\"0 s\", \"35 dB\"], [\"20 s\", \"9 dB\"]]";
        return Err(ScenarioError::invalid(path, why));
    }
    check_steps(path, &varying.steps, varying.period, |_, _| Ok(()))?;
    Ok(Varying::Steps {
        steps: varying.steps.clone(),
        period: varying.period,
    })
}
