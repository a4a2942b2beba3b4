//! Rates of links: constant, in steps, as they were recorded, or by the delivery opportunities of a
//! trace.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::files::find_text;
use super::recorded::{DELAY, LONGEST_TRACE, LOSS, RATE, Recorded, Source, Steps, is_table};
use super::steps::check_steps;
use crate::link::RateSchedule;
use crate::named::OrTable;
use crate::time::Duration;
use crate::units::Rate;

/// A rate that varies with time: steps, a recorded line, or the delivery opportunities of a trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaryingRate {
    /// From each time on, that rate: `[["0 s", "10 Mbit/s"], ["30 s", "2 Mbit/s"]]`. The first step
    /// is at `"0 s"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Duration, Rate)>,
    /// The steps repeat after this time. Default: of a recorded line, its length; otherwise the
    /// last step stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// A file, relative to the scenario. In Mahimahi's format: a line for each millisecond at which
    /// 1504 bytes may leave. Or a recorded line (CSV): a header with `time_s`, `rate_mbps` or
    /// `rate_bps`, and perhaps `delay_ms` and `loss`, which the keys of these names take; from each
    /// row's time on, that rate, and at rate 0 packets wait. Repeats at its end; the last row lasts
    /// as long as the one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// A trace in Mahimahi's format, written here: whole milliseconds in rising order, the last of
    /// which is the length of the pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities: Vec<u64>,
}

/// The fastest link one can buy, times ten; beyond it, a unit is wrong.
const FASTEST: Rate = Rate(10_000_000_000_000);

const MOST_OPPORTUNITIES: usize = 10_000_000;

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
    check_steps(path, steps, period, |path, rate| check_rate(path, *rate))?;
    let (_, final_rate) = steps[steps.len() - 1];
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
/// Where the file has another column than the rate, `take` may say why that is wrong.
pub(super) fn embed_trace(
    path: &str,
    rate: &mut VaryingRate,
    files: &BTreeMap<String, Vec<u8>>,
    take: impl Fn(&'static str) -> Result<(), String>,
) -> Result<(), ScenarioError> {
    let Some(name) = rate.trace.take() else {
        return Ok(());
    };
    if !rate.opportunities.is_empty() || !rate.steps.is_empty() {
        let why = "a rate that varies has either steps, a trace or opportunities";
        return Err(ScenarioError::invalid(path, why));
    }
    let path = format!("{path}.trace");
    let source = Source {
        path: &path,
        name: &name,
    };
    let text = find_text(&path, &name, files)?;
    if !is_table(text) {
        rate.opportunities = read_opportunities(source, text)?;
        return Ok(());
    }
    let recorded = Recorded::read(source, text)?;
    let beside = [DELAY, LOSS]
        .into_iter()
        .filter(|column| recorded.has(column));
    for column in beside {
        take(column).map_err(|why| source.invalid(&format!("has a column {column}, {why}")))?;
    }
    let (steps, period) = read_rates(&recorded)?;
    if steps.iter().all(|(_, rate)| rate.0 == 0) {
        return Err(source.invalid("has rate 0 in every row, and so the link would carry nothing"));
    }
    rate.steps = steps;
    rate.period = rate.period.or(period);
    Ok(())
}

/// The rates of a recorded line.
fn read_rates(recorded: &Recorded<'_>) -> Result<Steps<Rate>, ScenarioError> {
    let [megabits, bits] = RATE;
    let fastest = FASTEST.0 as f64;
    let wanted = [(megabits, fastest / 1e6), (bits, fastest)];
    recorded.steps(&wanted, |column, rate| {
        let bits = if column == megabits { rate * 1e6 } else { rate };
        Rate((bits + 0.5) as u64)
    })
}

fn read_opportunities(source: Source<'_>, text: &str) -> Result<Vec<u64>, ScenarioError> {
    let mut times = Vec::new();
    let lines = text.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let Ok(time) = line.trim().parse() else {
            let expected = "a whole number of milliseconds";
            return Err(source.unexpected(index + 1, expected, line));
        };
        times.push(time);
    }
    if times.is_empty() {
        return Err(source.invalid("holds no delivery opportunity"));
    }
    Ok(times)
}
