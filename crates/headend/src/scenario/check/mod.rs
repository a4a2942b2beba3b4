//! From the raw scenario to one that makes sense: names resolved, defaults filled, absurd values refused.
//!
//! What comes out, a [`Scenario`], is a plan in the order in which things are built. It also keeps the resolved raw scenario, with every
//! default written out: that goes into results, and parses to the same scenario again.

mod admission;
mod cable;
mod capture;
mod cell;
mod changes;
mod classes;
mod classifiers;
mod flows;
mod links;
mod plant;
mod service_flow;

use std::collections::BTreeMap;

use super::build::count_lines;
use super::error::{Problem, ScenarioError};
use super::parse::{Document, Format, Override, queue_path};
use super::raw::{FORMAT, Raw};
use crate::event::EventQueue;
use crate::time::{Duration, Instant};

pub(super) use cable::{CablePlan, ModemPlan, Profile};
pub(super) use capture::CapturePlan;
pub(super) use cell::CellPlan;
pub(super) use changes::{ChangeKind, ChangePlan};
pub(super) use classifiers::rule;
pub(super) use flows::{GroupPlan, HostPlan, PathPlan, PeerPlan, ipv6_blocks};
pub(super) use links::{DirectionPlan, LinkPlan, Medium};
pub(super) use service_flow::{FlowPlan, RulePlan};

/// A scenario that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    raw: Raw,
    pub(super) links: Vec<LinkPlan>,
    pub(super) hosts: BTreeMap<String, HostPlan>,
    pub(super) groups: Vec<GroupPlan>,
    pub(super) interval: Duration,
    pub(super) capture: Option<CapturePlan>,
    warnings: Vec<String>,
}

/// The longest run: nothing on an access line takes longer, and a slip of a unit is found out.
const LONGEST_RUN: Duration = Duration::from_secs(10 * 24 * 3600);
/// The shortest: in less than that no packet crosses a line, and a unit was slipped.
const SHORTEST_RUN: Duration = Duration::from_millis(1);
/// The longest delay a path or a link may have: several times that of a satellite, and far beyond any retransmission timer.
pub(super) const LONGEST_DELAY: Duration = Duration::from_secs(60);
/// More rows than this no one looks at, and a run should not keep.
const MOST_INTERVALS: u64 = 100_000;

impl Scenario {
    /// Reads a scenario. `files` holds the bytes of every file it names ([`required_files`]), by that name.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn parse(
        text: &str,
        format: Format,
        overrides: &[Override],
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Self, ScenarioError> {
        blame(overrides, |overrides| {
            let document = Document::read(text, format, overrides)?;
            let mut raw = document.to_raw()?;
            links::embed_traces(&mut raw, files)
                .and_then(|()| flows::embed_captures(&mut raw, files))
                .and_then(|()| Self::try_from(raw))
                .map_err(|error| document.locate(document.echo(error)))
        })
    }

    /// The scenario with all defaults written out.
    pub fn raw(&self) -> &Raw {
        &self.raw
    }

    /// The same as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.raw).expect("a scenario is plain JSON")
    }

    /// What is to be read before its results are trusted: what can run and is not as it is written.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Every flow as results name it, with its application's name.
    pub fn flows(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let groups = self.groups.iter();
        groups.map(|group| (group.name.as_str(), group.application.name()))
    }

    /// Every queue as results name it.
    pub fn queues(&self) -> impl Iterator<Item = String> {
        let queues = self.links.iter().flat_map(LinkPlan::queues);
        queues.map(|(name, _)| name)
    }

    /// Name of the queue it is about, if it is about one.
    pub fn bottleneck(&self) -> Option<&str> {
        self.raw.bottleneck.as_deref()
    }

    /// Path of the key that holds the queue which overrides call `queue`: that one, or the up queue of the only link.
    pub fn queue_path(&self) -> Option<String> {
        let mut queues = self.links.iter().flat_map(LinkPlan::queues);
        let found = match self.bottleneck() {
            Some(bottleneck) => queues.find(|(name, _)| name == bottleneck),
            None if self.links.len() == 1 => queues.next(),
            None => None,
        };
        found.map(|(_, path)| path)
    }
}

/// A file that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredFile {
    /// Its path, as it is written.
    pub name: String,
    /// The override that names it, as `PATH=VALUE`; `None` where the text does.
    pub set_by: Option<String>,
}

/// The files a scenario names, in order of their names.
///
/// # Errors
///
/// Whatever keeps the scenario from being read.
pub fn required_files(
    text: &str,
    format: Format,
    overrides: &[Override],
) -> Result<Vec<RequiredFile>, ScenarioError> {
    let (document, mut raw) = blame(overrides, |overrides| {
        let document = Document::read(text, format, overrides)?;
        let raw = document.to_raw()?;
        Ok((document, raw))
    })?;
    let mut named: Vec<(String, String)> = links::varying_rates(&mut raw)
        .into_iter()
        .filter_map(|(path, rate)| Some((format!("{path}.trace"), rate.trace.clone()?)))
        .collect();
    named.extend(
        flows::replays(&mut raw).filter_map(|(path, replay)| {
            Some((format!("{path}.capture"), replay.capture.clone()?))
        }),
    );
    let mut files: Vec<RequiredFile> = (named.into_iter())
        .map(|(path, name)| RequiredFile {
            name,
            set_by: document.set_by(&path).map(str::to_owned),
        })
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// What `read` makes of a scenario with `overrides`. What was right without them is not wrong where it stands in the text: the error names the one that
/// made it wrong. Of several that cannot be read the first is named.
fn blame<T>(
    overrides: &[Override],
    read: impl Fn(&[Override]) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    read(overrides).map_err(|error| {
        let mut first = error;
        for (count, last) in overrides.iter().enumerate().rev() {
            match read(&overrides[..count]) {
                Ok(_) => return first.caused_by(last),
                // Another error may be one that those behind it were to mend.
                Err(error) if error.is_unreadable_override() => first = error,
                Err(_) => {}
            }
        }
        first
    })
}

/// The error of a value that somebody other than the engine refuses, such as an expectation: with the place where it was written.
///
/// # Errors
///
/// Whatever keeps the scenario from being read.
pub fn refuse(
    text: &str,
    format: Format,
    overrides: &[Override],
    path: &str,
    why: &str,
) -> Result<ScenarioError, ScenarioError> {
    let document = Document::read(text, format, overrides)?;
    Ok(document.locate(ScenarioError::invalid(path, why)))
}

impl TryFrom<Raw> for Scenario {
    type Error = ScenarioError;

    fn try_from(mut raw: Raw) -> Result<Self, ScenarioError> {
        check_format(raw.format)?;
        check_times(&raw)?;
        check_names(&raw)?;
        let mut warnings = Vec::new();
        let links = links::plan(&mut raw, &mut warnings)?;
        let (hosts, groups) = flows::plan(&mut raw, &links)?;
        classifiers::check(&links, &hosts, &groups, &mut warnings)?;
        classes::check(&links, &groups, &mut warnings);
        flows::warn_of_base_rtt(&groups, &links, &mut warnings);
        check_lines(&raw, &links, &groups)?;
        check_bottleneck(&raw, &links)?;
        let interval = resolve_interval(&raw, &links)?;
        raw.results.interval = Some(interval);
        let capture = capture::plan(&raw, &links, &hosts, &groups)?;
        check_expectations(&raw)?;
        Ok(Self {
            raw,
            links,
            hosts,
            groups,
            interval,
            capture,
            warnings,
        })
    }
}

fn check_format(format: u32) -> Result<(), ScenarioError> {
    if format == FORMAT {
        return Ok(());
    }
    let why = format!("this version reads scenarios of format {FORMAT}, not {format}");
    Err(ScenarioError::invalid("format", why))
}

fn check_times(raw: &Raw) -> Result<(), ScenarioError> {
    if raw.duration < SHORTEST_RUN {
        let why = format!("expected {SHORTEST_RUN} at least, found {}", raw.duration);
        return Err(ScenarioError::invalid("duration", why));
    }
    if raw.duration > LONGEST_RUN {
        let why = format!("expected at most 10 days, found {}", raw.duration);
        return Err(ScenarioError::invalid("duration", why));
    }
    if raw.warmup >= raw.duration {
        let why = format!(
            "a warm-up of {} leaves nothing to measure of a run of {}",
            raw.warmup, raw.duration
        );
        return Err(ScenarioError::invalid("warmup", why));
    }
    Ok(())
}

/// Names appear in dotted paths, in expressions and in results.
fn check_names(raw: &Raw) -> Result<(), ScenarioError> {
    let links = raw.link.keys().map(|name| ("link", name));
    let hosts = raw.host.keys().map(|name| ("host", name));
    let flows = raw.flow.keys().map(|name| ("flow", name));
    let expectations = raw.expect.keys().map(|name| ("expect", name));
    for (what, name) in links.chain(hosts).chain(flows).chain(expectations) {
        check_name(&format!("{what}.{name}"), name)?;
    }
    for (what, is_empty) in [("link", raw.link.is_empty()), ("flow", raw.flow.is_empty())] {
        if is_empty {
            let why = format!("a scenario needs at least one [{what}.NAME…]");
            return Err(ScenarioError::invalid(what, why));
        }
    }
    match raw.flow.keys().find(|name| raw.link.contains_key(*name)) {
        None => Ok(()),
        Some(name) => {
            let why = "a flow and a link of the same name could not be told apart in expectations";
            Err(ScenarioError::invalid(format!("flow.{name}"), why))
        }
    }
}

fn check_name(path: &str, name: &str) -> Result<(), ScenarioError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain) {
        return Ok(());
    }
    let why = "a name begins with a letter and is made of letters, digits, \"_\" and \"-\"";
    Err(ScenarioError::invalid(path, why))
}

/// The more delay lines there are, the fewer bits are left for their times.
fn check_lines(raw: &Raw, links: &[LinkPlan], groups: &[GroupPlan]) -> Result<(), ScenarioError> {
    let count = count_lines(links, groups);
    let limit = EventQueue::limit_of(count) - Instant::ZERO;
    if raw.duration < limit {
        return Ok(());
    }
    let most = Duration::from_secs(limit.as_nanos() / 1_000_000_000);
    let why = format!(
        "expected at most {most} for a run of {count} delay lines (two or more for each of its {} flows), found {}",
        groups.len(),
        raw.duration
    );
    Err(ScenarioError::invalid("duration", why))
}

fn check_bottleneck(raw: &Raw, links: &[LinkPlan]) -> Result<(), ScenarioError> {
    let Some(bottleneck) = &raw.bottleneck else {
        return Ok(());
    };
    let queues = links.iter().flat_map(LinkPlan::queues);
    let names: Vec<String> = queues.map(|(name, _)| name).collect();
    if names.contains(bottleneck) {
        return Ok(());
    }
    Err(unknown("bottleneck", "queue", bottleneck, names))
}

/// Intervals of a run by default, fewer where many queues have a row in each.
const INTERVALS: std::ops::RangeInclusive<u64> = 60..=600;
/// Rows of queues by default: more, and a plant of a thousand modems would keep more of its series than of everything else.
const QUEUE_ROWS: u64 = 60_000;

fn resolve_interval(raw: &Raw, links: &[LinkPlan]) -> Result<Duration, ScenarioError> {
    let Some(interval) = raw.results.interval else {
        let queues: usize = links.iter().map(|link| link.queues().len()).sum();
        let wanted = QUEUE_ROWS / (queues as u64).max(1);
        let wanted = wanted.clamp(*INTERVALS.start(), *INTERVALS.end());
        return Ok(round_interval(raw.duration, wanted));
    };
    let path = "results.interval";
    if interval.is_zero() {
        return Err(ScenarioError::invalid(
            path,
            "an interval takes more than no time",
        ));
    }
    if raw.duration.as_nanos() / interval.as_nanos() > MOST_INTERVALS {
        let why = format!(
            "{} cut into intervals of {interval} makes more than {MOST_INTERVALS} of them",
            raw.duration
        );
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(interval)
}

/// A round number (1, 2 or 5 times a power of ten) at or above duration / `intervals`, at least 10 ms.
fn round_interval(duration: Duration, intervals: u64) -> Duration {
    let wanted = duration.as_nanos() / intervals;
    let mut unit = 10_000_000;
    loop {
        for factor in [1, 2, 5] {
            if unit * factor >= wanted {
                return Duration::from_nanos(unit * factor);
            }
        }
        unit *= 10;
    }
}

fn check_expectations(raw: &Raw) -> Result<(), ScenarioError> {
    match raw.expect.iter().find(|(_, text)| text.trim().is_empty()) {
        None => Ok(()),
        Some((name, _)) => {
            let why = "expected an expectation such as \"call.mos.p5 >= 4.0\", found nothing";
            Err(ScenarioError::invalid(format!("expect.{name}"), why))
        }
    }
}

pub(super) fn unknown(
    path: impl Into<String>,
    what: &str,
    name: &str,
    known: Vec<String>,
) -> ScenarioError {
    let (what, name) = (what.to_owned(), name.to_owned());
    ScenarioError::at(path, Problem::UnknownName { what, name, known })
}
