//! Delays and losses of a plain link that vary with time: in steps, or as they were recorded.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::files::find_text;
use super::recorded::{
    DELAY, LONGEST_TRACE, LOSS, MOST_ROWS, Recorded, Source, Steps, is_table, read_number,
};
use super::steps::check_steps;
use super::times::{LONGEST_DELAY, check_delay};
use crate::link::Varying;
use crate::named::OrTable;
use crate::time::Duration;
use crate::units::Probability;

/// A delay that varies with time: steps, or as it was recorded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaryingDelay {
    /// From each time on, that delay: `[["0 s", "20 ms"], ["15 s", "35 ms"]]`. The first step is at
    /// `"0 s"`. A packet has the delay of the moment at which it leaves the link, and never
    /// overtakes: while the delay falls, it arrives with the one before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Duration, Duration)>,
    /// The steps repeat after this time. Default: of a trace, its length; otherwise the last step
    /// stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// A file, relative to the scenario: a recorded line (CSV) with the columns `time_s` and
    /// `delay_ms`, or a delay trace of `LeoReplayer`: a line for each `interval`, the one-way delay
    /// in milliseconds. Repeats at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// How long each line of a delay trace lasts. Default: `"10 ms"`, as in the traces of `LeoCC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

/// A share of lost packets that varies with time: steps, or as it was recorded.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VaryingLoss {
    /// From each time on, that share: `[["0 s", 0], ["15 s", "2 %"]]`. The first step is at `"0
    /// s"`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(Duration, Probability)>,
    /// The steps repeat after this time. Default: of a trace, its length; otherwise the last step
    /// stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// A recorded line (CSV) with the columns `time_s` and `loss`, a share from 0 to 1: a file,
    /// relative to the scenario. Repeats at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

/// How long each line of a delay trace lasts by default.
const INTERVAL: Duration = Duration::from_millis(10);

const LONGEST_DELAY_MS: f64 = (LONGEST_DELAY.as_nanos() / 1_000_000) as f64;

/// The delay of a direction as it is written.
pub(super) fn plan_varying_delay(
    path: &str,
    delay: &OrTable<Duration, VaryingDelay>,
) -> Result<Varying<Duration>, ScenarioError> {
    let varying = match delay {
        OrTable::Plain(delay) => {
            check_delay(path, *delay)?;
            return Ok(Varying::Constant(*delay));
        }
        OrTable::Table(varying) => varying,
    };
    if varying.interval.is_some() {
        let why = "an interval is for the lines of a delay trace";
        return Err(ScenarioError::invalid(format!("{path}.interval"), why));
    }
    let check = |path: &str, delay: &Duration| check_delay(path, *delay);
    plan_steps(path, &varying.steps, varying.period, check)
}

/// The losses of a direction as they are written; none if no packet is lost.
pub(super) fn plan_varying_loss(
    path: &str,
    loss: &OrTable<Probability, VaryingLoss>,
) -> Result<Option<Varying<Probability>>, ScenarioError> {
    let share = match loss {
        OrTable::Plain(share) => Varying::Constant(*share),
        OrTable::Table(varying) => plan_steps(path, &varying.steps, varying.period, |_, _| Ok(()))?,
    };
    let all_of = |lost: fn(f64) -> bool| share.values().all(|share| lost(share.0));
    if all_of(|share| share >= 1.0) {
        let why = "a link that loses every packet carries nothing";
        return Err(ScenarioError::invalid(path, why));
    }
    let is_none = all_of(|share| share <= 0.0);
    Ok((!is_none).then_some(share))
}

fn plan_steps<T: Copy>(
    path: &str,
    steps: &[(Duration, T)],
    period: Option<Duration>,
    check: impl Fn(&str, &T) -> Result<(), ScenarioError>,
) -> Result<Varying<T>, ScenarioError> {
    if steps.is_empty() {
        let why = "what varies has either steps or a trace";
        return Err(ScenarioError::invalid(path, why));
    }
    check_steps(path, steps, period, check)?;
    Ok(Varying::Steps {
        steps: steps.to_vec(),
        period,
    })
}

/// The file that a key names, unless steps stand beside it.
fn take_trace(
    path: &str,
    trace: &mut Option<String>,
    has_steps: bool,
) -> Result<Option<String>, ScenarioError> {
    let name = trace.take();
    if name.is_some() && has_steps {
        let why = "what varies has either steps or a trace";
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(name)
}

/// Puts the delays of a file in place of its name.
pub(super) fn embed_delay(
    path: &str,
    delay: &mut VaryingDelay,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ScenarioError> {
    let Some(name) = take_trace(path, &mut delay.trace, !delay.steps.is_empty())? else {
        return Ok(());
    };
    let interval = delay.interval.take();
    let path_of_trace = format!("{path}.trace");
    let source = Source {
        path: &path_of_trace,
        name: &name,
    };
    let text = find_text(source.path, &name, files)?;
    let (steps, period) = if !is_table(text) {
        let interval = interval.unwrap_or(INTERVAL);
        if interval.is_zero() {
            let why = "the lines of a trace are some time apart";
            return Err(ScenarioError::invalid(format!("{path}.interval"), why));
        }
        read_delays(source, text, interval)?
    } else if interval.is_some() {
        let why = "the rows of a table have times of their own: expected no interval";
        return Err(ScenarioError::invalid(format!("{path}.interval"), why));
    } else {
        let wanted = [(DELAY, LONGEST_DELAY_MS)];
        Recorded::read(source, text)?.steps(&wanted, |_, ms| milliseconds(ms))?
    };
    delay.steps = steps;
    delay.period = delay.period.or(period);
    Ok(())
}

/// Puts the losses of a file in place of its name.
pub(super) fn embed_loss(
    path: &str,
    loss: &mut VaryingLoss,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ScenarioError> {
    let Some(name) = take_trace(path, &mut loss.trace, !loss.steps.is_empty())? else {
        return Ok(());
    };
    let path = format!("{path}.trace");
    let source = Source {
        path: &path,
        name: &name,
    };
    let text = find_text(&path, &name, files)?;
    let recorded = Recorded::read(source, text)?;
    let (steps, period) = recorded.steps(&[(LOSS, 1.0)], |_, share| Probability(share))?;
    if steps.iter().all(|(_, share)| share.0 >= 1.0) {
        return Err(source.invalid("loses every packet, and so the link would carry nothing"));
    }
    loss.steps = steps;
    loss.period = loss.period.or(period);
    Ok(())
}

fn milliseconds(ms: f64) -> Duration {
    Duration::from_secs_f64(ms / 1e3)
}

/// Reads a delay trace: a line for each interval.
fn read_delays(
    source: Source<'_>,
    text: &str,
    interval: Duration,
) -> Result<Steps<Duration>, ScenarioError> {
    let most = LONGEST_DELAY_MS;
    let mut steps: Vec<(Duration, Duration)> = Vec::new();
    let mut end = Duration::ZERO;
    for (index, line) in text.trim_end().lines().enumerate() {
        let ms = read_number(line.trim()).filter(|ms| *ms <= most);
        let Some(ms) = ms else {
            let expected = format!("a delay in milliseconds, from 0 to {most},");
            return Err(source.unexpected(index + 1, expected, line));
        };
        if index == MOST_ROWS || end > LONGEST_TRACE {
            let why = format!("has more than {MOST_ROWS} lines, or lasts above {LONGEST_TRACE}");
            return Err(source.invalid(&why));
        }
        let delay = milliseconds(ms);
        if steps.last().is_none_or(|(_, before)| *before != delay) {
            steps.push((end, delay));
        }
        end += interval;
    }
    if steps.is_empty() {
        return Err(source.invalid("holds no delay"));
    }
    Ok((steps, Some(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(contents: &str, interval: Option<u64>) -> Result<VaryingDelay, String> {
        let mut delay = VaryingDelay {
            trace: Some("delay_1.txt".to_owned()),
            interval: interval.map(Duration::from_millis),
            ..VaryingDelay::default()
        };
        let files = BTreeMap::from([("delay_1.txt".to_owned(), contents.into())]);
        embed_delay("up.delay", &mut delay, &files).map_err(|error| error.to_string())?;
        Ok(delay)
    }

    #[test]
    fn a_delay_trace_has_a_line_for_each_interval() {
        let ms = Duration::from_millis;
        let steps = [(ms(0), ms(12)), (ms(20), ms(16)), (ms(30), ms(14))];
        let expected = |factor: u64| VaryingDelay {
            steps: (steps.iter().map(|(start, delay)| (*start * factor, *delay))).collect(),
            period: Some(ms(40 * factor)),
            ..VaryingDelay::default()
        };
        assert_eq!(delays("12\n12\n16\r\n14\n\n", None), Ok(expected(1)));
        assert_eq!(delays("12\n12\n16\n14", Some(20)), Ok(expected(2)));
    }

    #[test]
    fn a_delay_trace_that_makes_no_sense_is_refused_with_its_line() {
        let cases = [
            ("", "holds no delay"),
            ("12\n\n13\n", "on line 2 of \"delay_1.txt\", found \"\""),
            ("12\n-1\n", "on line 2 of \"delay_1.txt\", found \"-1\""),
            (
                "nan\n",
                "a delay in milliseconds, from 0 to 60000, on line 1",
            ),
            ("60001\n", "found \"60001\""),
            ("time_s,rate_bps\n0,1\n", "has no column delay_ms"),
            (
                "time_s,delay_ms\n0,60001\n",
                "delay_ms of at most 60000 on line 2",
            ),
        ];
        for (text, expected) in cases {
            let found = delays(text, None).expect_err("it is wrong");
            assert!(found.starts_with("up.delay.trace: "), "{found}");
            assert!(found.contains(expected), "{text:?}: {found}");
        }
        let found = delays("time_s,delay_ms\n0,1\n", Some(5)).expect_err("rows have times");
        assert!(found.starts_with("up.delay.interval: "), "{found}");
        let found = delays("1\n", Some(0)).expect_err("no time passes");
        assert!(found.starts_with("up.delay.interval: "), "{found}");
        let found = delays(&"1\n".repeat(MOST_ROWS + 1), None).expect_err("it is too long");
        assert!(found.contains("has more than 100000 lines"), "{found}");
    }
}
