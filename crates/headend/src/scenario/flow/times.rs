//! When the members of a flow start and stop.

use super::config::{Flow, Starts};
use crate::named::OrTable;
use crate::scenario::error::ScenarioError;
use crate::scenario::times::{LONGEST_RUN, StartRange};
use crate::time::Duration;
use crate::traffic::periods::MOST_PERIODS;

/// Refuses times at which a flow of so many members could not start or stop in a run.
pub(super) fn check(
    at: &str,
    flow: &Flow,
    members: u64,
    duration: Duration,
) -> Result<(), ScenarioError> {
    let invalid = |key: &str, why| ScenarioError::invalid(format!("{at}.{key}"), why);
    if !flow.periods.is_empty() {
        let checked = check_periods(flow, duration);
        return checked.map_err(|(key, why)| invalid(&key, why));
    }
    let latest = latest_start(flow, members).map_err(|(key, why)| invalid(key, why))?;
    if latest >= duration {
        let which = match flow.start {
            OrTable::Table(Starts { every: Some(_), .. }) => {
                format!(" of the last of {members}")
            }
            _ => String::new(),
        };
        let why = format!("a start{which} at {latest} is not within a run of {duration}");
        return Err(invalid("start", why));
    }
    match flow.stop {
        Some(stop) if stop <= latest => {
            let why = format!("a flow that starts at {latest} cannot stop at {stop}");
            Err(invalid("stop", why))
        }
        _ => Ok(()),
    }
}

/// The key of a period that makes no sense, and why.
fn check_periods(flow: &Flow, duration: Duration) -> Result<(), (String, String)> {
    let starts = flow.start != OrTable::Plain(Duration::ZERO);
    if let Some(key) = starts.then_some("start").or(flow.stop.map(|_| "stop")) {
        let why = "its periods say when it starts and stops";
        return Err((key.to_owned(), why.to_owned()));
    }
    if flow.periods.len() > MOST_PERIODS {
        let why = format!(
            "expected at most {MOST_PERIODS}, found {}",
            flow.periods.len()
        );
        return Err(("periods".to_owned(), why));
    }
    let mut earlier = Duration::ZERO;
    for (index, &(from, to)) in flow.periods.iter().enumerate() {
        let refuse = |why| Err((format!("periods[{index}]"), why));
        if to <= from {
            return refuse(format!("a period that begins at {from} cannot end at {to}"));
        }
        if from < earlier {
            return refuse(format!(
                "a period that begins at {from} comes before the end of the one in front of it, \
                 {earlier}"
            ));
        }
        if from >= duration {
            let why = format!("a start at {from} is not within a run of {duration}");
            return refuse(why);
        }
        earlier = to;
    }
    Ok(())
}

/// When the last of so many members starts at the latest; or the key that makes no sense, and why.
fn latest_start(flow: &Flow, members: u64) -> Result<Duration, (&'static str, String)> {
    let Starts { from, to, every } = match flow.start {
        OrTable::Plain(start) => return Ok(start),
        OrTable::Table(ref starts) => starts.clone(),
    };
    match (to, every) {
        (Some(to), None) if from > to => {
            let why = format!("the latest start, {to}, comes before the earliest");
            Err(("start.to", why))
        }
        (Some(to), None) => Ok(to),
        (None, Some(every)) if every.is_zero() => {
            let why = "expected a time between two starts".to_owned();
            Err(("start.every", why))
        }
        // Neither is more than a run can be, so that they do not overflow.
        (None, Some(every)) => Ok(from.min(LONGEST_RUN) + every.min(LONGEST_RUN) * (members - 1)),
        _ => {
            let why = "expected `to` or `every` beside `from`, and not both".to_owned();
            Err(("start", why))
        }
    }
}

/// When member `number` of a flow starts, counted from 0: a time, or between two.
pub(super) fn start_of(flow: &Flow, number: u64) -> OrTable<Duration, StartRange> {
    if let Some(&(from, _)) = flow.periods.first() {
        return OrTable::Plain(from);
    }
    match flow.start {
        OrTable::Plain(start) => OrTable::Plain(start),
        OrTable::Table(Starts { from, to, every }) => match (to, every) {
            (Some(to), _) => OrTable::Table(StartRange { from, to }),
            (None, every) => OrTable::Plain(from + every.unwrap_or_default() * number),
        },
    }
}
