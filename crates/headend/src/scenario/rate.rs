//! Rates of links: constant, in steps, or by the delivery opportunities of a recorded trace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Problem, ScenarioError};
use super::files::find_file;
use crate::link::RateSchedule;
use crate::named::OrTable;
use crate::text::quote;
use crate::time::Duration;
use crate::units::Rate;

/// A rate that varies with time: steps, or the delivery opportunities of a recorded trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaryingRate {
    /// From each time on, that rate: `[["0 s", "10 Mbit/s"], ["30 s", "2 Mbit/s"]]`. The first step
    /// is at `"0 s"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Duration, Rate)>,
    /// The steps repeat after this time. Default: the last step stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// A file in Mahimahi's format, relative to the scenario: a line for each millisecond at which
    /// 1504 bytes may leave. Repeats at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The same, written here: whole milliseconds in rising order, the last of which is the length
    /// of the pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities: Vec<u64>,
}

/// The fastest link one can buy, times ten; beyond it, a unit is wrong.
const FASTEST: Rate = Rate(10_000_000_000_000);

const MOST_OPPORTUNITIES: usize = 10_000_000;

const LONGEST_TRACE: Duration = Duration::from_secs(10 * 24 * 3600);

pub(super) fn check_rate(path: &str, rate: Rate) -> Result<(), ScenarioError> {
    if rate <= FASTEST {
        return Ok(());
    }
    let why = format!("a rate of at most {FASTEST} makes sense, not {rate}");
    Err(ScenarioError::invalid(path, why))
}

/// The schedule of a rate as it is written.
pub(super) fn plan_rate(
    path: &str,
    rate: &OrTable<Rate, VaryingRate>,
) -> Result<RateSchedule, ScenarioError> {
    let varying = match rate {
        OrTable::Plain(rate) => {
            check_rate(path, *rate)?;
            if rate.0 == 0 {
                return Err(ScenarioError::invalid(
                    path,
                    "a link at rate 0 carries nothing",
                ));
            }
            return Ok(RateSchedule::Constant(*rate));
        }
        OrTable::Table(varying) => varying,
    };
    match (varying.steps.is_empty(), varying.opportunities.is_empty()) {
        (false, true) => plan_steps(path, &varying.steps, varying.period),
        (true, false) => plan_opportunities(path, varying),
        _ => {
            let why = "a rate that varies has either steps, a trace or opportunities";
            Err(ScenarioError::invalid(path, why))
        }
    }
}

fn plan_steps(
    path: &str,
    steps: &[(Duration, Rate)],
    period: Option<Duration>,
) -> Result<RateSchedule, ScenarioError> {
    for (index, (start, rate)) in steps.iter().enumerate() {
        let path = format!("{path}.steps[{index}]");
        check_rate(&path, *rate)?;
        if index == 0 && !start.is_zero() {
            let why = format!("the first step is at \"0 s\", not {start}");
            return Err(ScenarioError::invalid(path, why));
        }
        if index > 0 && *start <= steps[index - 1].0 {
            let why = format!("steps are in order of time: {start} does not come later");
            return Err(ScenarioError::invalid(path, why));
        }
    }
    let (last, final_rate) = steps[steps.len() - 1];
    if let Some(period) = period.filter(|period| *period <= last) {
        let why = format!("a pattern of {period} ends before its last step at {last}");
        return Err(ScenarioError::invalid(format!("{path}.period"), why));
    }
    let ends_dead = period.is_none() && final_rate.0 == 0;
    if ends_dead || steps.iter().all(|(_, rate)| rate.0 == 0) {
        let why = "a link whose rate stays at 0 carries nothing";
        return Err(ScenarioError::invalid(format!("{path}.steps"), why));
    }
    Ok(RateSchedule::Steps {
        steps: steps.to_vec(),
        period,
    })
}

fn plan_opportunities(path: &str, varying: &VaryingRate) -> Result<RateSchedule, ScenarioError> {
    let path = format!("{path}.opportunities");
    let times = &varying.opportunities;
    if varying.period.is_some() {
        let why = "delivery opportunities repeat after the last of them: a period is for steps";
        return Err(ScenarioError::invalid(path, why));
    }
    if times.len() > MOST_OPPORTUNITIES {
        let why = format!("more than {MOST_OPPORTUNITIES} opportunities");
        return Err(ScenarioError::invalid(path, why));
    }
    if let Some(index) = times.windows(2).position(|pair| pair[1] < pair[0]) {
        let why = format!("times are in rising order, and {} is not", times[index + 1]);
        return Err(ScenarioError::invalid(path, why));
    }
    let longest = LONGEST_TRACE.as_nanos() / 1_000_000;
    let last = times[times.len() - 1];
    if last == 0 || last > longest {
        let why = format!("the last opportunity is between 1 and {longest} ms, not at {last}");
        return Err(ScenarioError::invalid(path, why));
    }
    let times = times.iter().map(|ms| Duration::from_millis(*ms)).collect();
    Ok(RateSchedule::Opportunities { times })
}

/// Puts the contents of a trace file in place of its name, so that the scenario needs no file.
pub(super) fn embed_trace(
    path: &str,
    rate: &mut VaryingRate,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ScenarioError> {
    let Some(name) = rate.trace.take() else {
        return Ok(());
    };
    if !rate.opportunities.is_empty() || !rate.steps.is_empty() {
        let why = "a rate that varies has either steps, a trace or opportunities";
        return Err(ScenarioError::invalid(path, why));
    }
    let path = format!("{path}.trace");
    let bytes = find_file(&path, &name, files)?;
    let Ok(text) = std::str::from_utf8(bytes) else {
        let why = format!("the file \"{name}\" is no text");
        return Err(ScenarioError::invalid(path, why));
    };
    rate.opportunities = read_trace(&path, &name, text)?;
    Ok(())
}

fn read_trace(path: &str, name: &str, text: &str) -> Result<Vec<u64>, ScenarioError> {
    let mut times = Vec::new();
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let Ok(time) = line.trim().parse() else {
            let problem = Problem::Unexpected {
                expected: format!(
                    "a whole number of milliseconds on line {} of \"{name}\"",
                    index + 1
                ),
                found: quote(line),
            };
            return Err(ScenarioError::at(path, problem));
        };
        times.push(time);
    }
    if times.is_empty() {
        let why = format!("the file \"{name}\" holds no delivery opportunity");
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(times)
}
