//! From the scenario as it is written to one that makes sense: names are resolved, defaults written
//! out, absurd values refused.
//!
//! A [`Scenario`] holds plans, in the order in which things are built. It also holds the scenario
//! as it is written, with every default: results keep that, and it parses to the same scenario
//! again.

use std::collections::BTreeMap;

use super::capture::{self, CapturePlan};
use super::classes;
use super::document::{Document, Format, ModemFileRead, Override};
use super::emulation::complete;
use super::error::ScenarioError;
use super::files::{FileKind, RequiredFile};
use super::flow::{self, GroupPlan, PeerPlan};
use super::host::{Host, HostPlan};
use super::link::{self, LinkPlan, queue_names};
use super::names::{check_name, unknown};
use super::raw::{FORMAT, Raw};
use super::router;
use super::times::{LONGEST_RUN, SHORTEST_RUN};
use crate::event::{AppId, EventQueue};
use crate::flow::Port;
use crate::time::{Duration, Instant};
use crate::units::TimeLimit;

/// A scenario that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    raw: Raw,
    pub(super) links: Vec<LinkPlan>,
    pub(super) hosts: BTreeMap<String, HostPlan>,
    pub(super) groups: Vec<GroupPlan>,
    length: Length,
    pub(super) interval: Duration,
    pub(super) capture: Option<CapturePlan>,
    /// The application that sets the rates of a link, and the link.
    pub(super) router: Option<(AppId, usize)>,
    warnings: Vec<String>,
    modem_files_read: Vec<ModemFileRead>,
}

/// Nobody looks at more rows than these, and a run should not keep them.
const MOST_INTERVALS: u64 = 100_000;

impl Scenario {
    /// Reads a scenario. `files` holds the bytes of every file that it names ([`required_files`]),
    /// by name.
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
            let document = Document::read(text, format, overrides, Some(files))?;
            let mut raw = document.to_raw()?;
            let with_notes = |mut scenario: Self| {
                scenario
                    .warnings
                    .splice(..0, document.notes().iter().cloned());
                scenario.modem_files_read = document.modem_files_read().to_vec();
                scenario
            };
            embed_files(&mut raw, files)
                .and_then(|()| Self::try_from(raw))
                .map(with_notes)
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

    /// How long a run takes at most.
    pub fn duration(&self) -> Duration {
        self.length.duration
    }

    /// Whether only the real program ends a run.
    pub fn is_unlimited(&self) -> bool {
        self.length.is_unlimited
    }

    /// The part of a run whose rows over time are in memory: those of a run without a limit are
    /// taken out while it runs.
    pub(super) fn rows_kept(&self) -> Duration {
        self.length.rows_kept()
    }

    /// Warnings, to be read before its results are trusted: what can run, but not as it is written.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What became of each modem's file that was read for it, in the order of the files' keys. A
    /// scenario of which the keys of a file are written out already has read none.
    pub fn modem_files_read(&self) -> &[ModemFileRead] {
        &self.modem_files_read
    }

    /// The same as JSON.
    pub fn modem_files_json(&self) -> String {
        serde_json::to_string(&self.modem_files_read).expect("it is plain JSON")
    }

    /// Every flow as results name it, with its application's name.
    pub fn flows(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let groups = self.groups.iter();
        groups.map(|group| (group.name.as_str(), group.application.name()))
    }

    /// Every queue as results name it.
    pub fn queues(&self) -> impl Iterator<Item = String> {
        queue_names(&self.links).into_iter()
    }

    /// Name of the queue it is about, if it is about one.
    pub fn bottleneck(&self) -> Option<&str> {
        self.raw.bottleneck.as_deref()
    }

    /// Path of the key that overrides call `queue`: it holds the bottleneck, or the up queue of the
    /// only link.
    pub fn queue_path(&self) -> Option<String> {
        let links = self.links.iter();
        let mut queues = links.flat_map(|link| link.medium().queues(&link.name));
        let found = match self.bottleneck() {
            Some(bottleneck) => queues.find(|queue| queue.name == bottleneck),
            None if self.links.len() == 1 => queues.next(),
            None => None,
        };
        found.map(|queue| queue.override_path)
    }
}

/// Puts the contents of files in place of their names, so that the scenario needs no file.
fn embed_files(raw: &mut Raw, files: &BTreeMap<String, Vec<u8>>) -> Result<(), ScenarioError> {
    for (path, traced) in link::varying(&mut raw.link) {
        traced.embed(&path, files)?;
    }
    flow::embed_captures(&mut raw.flow, files)
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
    let (mut document, mut raw) = blame(overrides, |overrides| {
        let document = Document::read(text, format, overrides, None)?;
        let raw = document.to_raw()?;
        Ok((document, raw))
    })?;
    let mut named: Vec<(String, String)> = link::varying(&mut raw.link)
        .into_iter()
        .filter_map(|(path, traced)| Some((format!("{path}.trace"), traced.trace()?.clone())))
        .collect();
    named.extend(
        flow::replays(&mut raw.flow).filter_map(|(path, replay)| {
            Some((format!("{path}.capture"), replay.capture.clone()?))
        }),
    );
    let embedded = document.embedded_codes();
    let required = |kind: FileKind| {
        let document = &document;
        move |(path, name): (String, String)| RequiredFile {
            name,
            set_by: document.set_by(&path).map(str::to_owned),
            kind,
        }
    };
    let configs = document.modem_files().into_iter();
    let codes = document.codes().iter().cloned();
    let mut files: Vec<RequiredFile> = named.into_iter().map(required(FileKind::Data)).collect();
    files.extend(configs.map(required(FileKind::Config)));
    files.extend(codes.map(required(FileKind::Code)));
    files.extend(embedded.into_iter().map(required(FileKind::EmbeddedCode)));
    files.sort();
    files.dedup();
    Ok(files)
}

/// What `read` makes of a scenario with `overrides`. If the scenario is right without them, the
/// error names the override that made it wrong. Of several that cannot be read, it names the first.
fn blame<T>(
    overrides: &[Override],
    read: impl Fn(&[Override]) -> Result<T, ScenarioError>,
) -> Result<T, ScenarioError> {
    read(overrides).map_err(|error| {
        let mut first = error;
        for (count, last) in overrides.iter().enumerate().rev() {
            match read(&overrides[..count]) {
                Ok(_) => return first.caused_by(last),
                // Any other error may be one that the overrides behind it correct.
                Err(error) if error.is_unreadable_override() => first = error,
                Err(_) => {}
            }
        }
        first
    })
}

/// The error of a value that the caller refuses, such as an expectation, with the place where it
/// was written.
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
    let document = Document::read(text, format, overrides, None)?;
    Ok(document.locate(ScenarioError::invalid(path, why)))
}

impl TryFrom<Raw> for Scenario {
    type Error = ScenarioError;

    fn try_from(mut raw: Raw) -> Result<Self, ScenarioError> {
        check_format(raw.format)?;
        complete(&mut raw)?;
        let length = plan_length(&mut raw)?;
        check_names(&raw)?;
        router::expand(&mut raw, length.duration)?;
        let mut warnings = Vec::new();
        let links = link::plan(&mut raw.link, length.duration, &mut warnings)?;
        let around = flow::Surroundings {
            tcp: raw.tcp.as_ref(),
            hosts: &raw.host,
            attachments: link::attachments(&links),
            cells: (0..)
                .zip(&links)
                .filter(|(_, link)| link.medium().has_hosts_as_customers())
                .map(|(index, _)| index)
                .collect(),
            duration: length.duration,
        };
        let (hosts, groups) = flow::plan(around, &mut raw.flow)?;
        for (index, link) in links.iter().enumerate() {
            let medium = link.medium();
            medium.check_flows(index as u16, &hosts, &groups, &mut warnings)?;
        }
        classes::check(&links, &groups, &mut warnings);
        let delay = |&(link, port): &(u16, Port)| {
            let medium = links[usize::from(link)].medium();
            medium.delay(usize::from(port.0 % 2))
        };
        flow::warn_of_base_rtt(&groups, delay, &mut warnings);
        let length = check_lines(length, &links, &groups)?;
        check_bottleneck(&raw, &links)?;
        let interval = resolve_interval(&raw, length, &links)?;
        raw.results.interval = Some(interval);
        let capture = raw.results.capture.as_ref();
        let capture = capture.map(|capture| {
            let names = capture::Names {
                flows: raw.flow.keys().collect(),
                queues: queue_names(&links),
                hosts: &hosts,
                groups: &groups,
            };
            capture::plan(capture, &names, length.duration)
        });
        let capture = capture.transpose()?;
        check_expectations(&raw)?;
        let router = router::find_router(&raw, &groups)?;
        Ok(Self {
            raw,
            links,
            hosts,
            groups,
            length,
            interval,
            capture,
            router,
            warnings,
            modem_files_read: Vec::new(),
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

/// How long a run takes without real hosts.
const USUAL_RUN: Duration = Duration::from_secs(60);

/// How long a run takes at most. One without a limit ends from outside.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Length {
    duration: Duration,
    is_unlimited: bool,
}

impl Length {
    fn rows_kept(self) -> Duration {
        const MINUTE: Duration = Duration::from_secs(60);
        if self.is_unlimited {
            MINUTE
        } else {
            self.duration
        }
    }
}

/// Writes the duration out, and checks it and the warm-up.
fn plan_length(raw: &mut Raw) -> Result<Length, ScenarioError> {
    let refuse = |why| Err(ScenarioError::invalid("duration", why));
    let has_real_hosts = raw.host.values().any(Host::is_real);
    let usual = if has_real_hosts {
        TimeLimit::Unlimited
    } else {
        TimeLimit::Time(USUAL_RUN)
    };
    let length = match *raw.duration.get_or_insert(usual) {
        TimeLimit::Time(duration) => Length {
            duration,
            is_unlimited: false,
        },
        TimeLimit::Unlimited if has_real_hosts => Length {
            duration: LONGEST_RUN,
            is_unlimited: true,
        },
        TimeLimit::Unlimited => {
            let why = "expected a time: only a run with real hosts (host.NAME.real = true) ends by \
                       itself, with a real program";
            return refuse(why.to_owned());
        }
    };
    let duration = length.duration;
    if duration < SHORTEST_RUN {
        return refuse(format!(
            "expected {SHORTEST_RUN} at least, found {duration}"
        ));
    }
    if duration > LONGEST_RUN {
        return refuse(format!("expected at most 10 days, found {duration}"));
    }
    if raw.warmup >= duration {
        let why = format!(
            "a warm-up of {} leaves nothing to measure of a run of {duration}",
            raw.warmup
        );
        return Err(ScenarioError::invalid("warmup", why));
    }
    Ok(length)
}

/// Refuses names that could not stand in dotted paths, in expressions or in results.
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
            let mut off = (raw.host.iter()).filter(|(_, host)| host.is_switched_off());
            let why = match off.next() {
                Some((host, _)) if what == "flow" => format!(
                    "a scenario needs at least one [flow.NAME…], and with host.{host}.real=false \
                     none is left"
                ),
                _ => format!("a scenario needs at least one [{what}.NAME…]"),
            };
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

/// How many delay lines are built at most:
///
/// - exits: one at each end of a link that packets leave by;
/// - wide area: two for each remote host;
/// - hosts that take their time: for each remote host two of its own and two of the customer's;
/// - a CMTS that takes its time: one for each way to or from a remote host.
fn count_lines(links: &[LinkPlan], groups: &[GroupPlan]) -> usize {
    let exits = links.iter().map(|link| link.medium().customers() + 1);
    let of_hosts = |time: Duration| if time.is_zero() { 0 } else { 2 };
    let of_peer = |processing: Duration, peer: &PeerPlan| {
        let takes_time =
            |(link, _): &&(u16, Port)| !links[usize::from(*link)].medium().forwarding().is_zero();
        let ports = peer.up.iter().chain(&peer.down);
        2 + ports.filter(takes_time).count() + of_hosts(processing) + of_hosts(peer.processing)
    };
    let of_groups = groups.iter().map(|group| {
        let peers = group.peers.iter();
        peers.map(|peer| of_peer(group.processing, peer)).sum()
    });
    exits.chain(of_groups).sum()
}

/// Refuses a run that is too long for its delay lines: the more there are, the fewer bits are left
/// for their times. A run without a limit gets as long as they allow.
fn check_lines(
    length: Length,
    links: &[LinkPlan],
    groups: &[GroupPlan],
) -> Result<Length, ScenarioError> {
    let count = count_lines(links, groups);
    let limit = EventQueue::limit_of(count) - Instant::ZERO;
    if length.duration < limit {
        return Ok(length);
    }
    if length.is_unlimited {
        return Ok(Length {
            duration: limit.saturating_sub(Duration::from_nanos(1)),
            ..length
        });
    }
    let most = Duration::from_secs(limit.as_nanos() / 1_000_000_000);
    let why = format!(
        "expected at most {most} for a run of {count} delay lines (two or more for each of its {} \
         flows), found {}",
        groups.len(),
        length.duration
    );
    Err(ScenarioError::invalid("duration", why))
}

fn check_bottleneck(raw: &Raw, links: &[LinkPlan]) -> Result<(), ScenarioError> {
    let Some(bottleneck) = &raw.bottleneck else {
        return Ok(());
    };
    let names = queue_names(links);
    if names.contains(bottleneck) {
        return Ok(());
    }
    Err(unknown("bottleneck", "queue", bottleneck, names))
}

/// Intervals of a run by default, fewer where many queues have a row in each.
const INTERVALS: std::ops::RangeInclusive<u64> = 60..=600;
/// Rows of queues by default. With more, the series of a plant of a thousand modems would be the
/// larger part of its results.
const QUEUE_ROWS: u64 = 60_000;

/// The interval of a run without a limit: short enough for those who watch it.
const LIVE_INTERVAL: Duration = Duration::from_millis(100);

fn resolve_interval(
    raw: &Raw,
    length: Length,
    links: &[LinkPlan],
) -> Result<Duration, ScenarioError> {
    let Some(interval) = raw.results.interval else {
        if length.is_unlimited {
            return Ok(LIVE_INTERVAL);
        }
        let queues: usize = (links.iter())
            .map(|link| link.medium().queues(&link.name).len())
            .sum();
        let wanted = QUEUE_ROWS / (queues as u64).max(1);
        let wanted = wanted.clamp(*INTERVALS.start(), *INTERVALS.end());
        return Ok(round_interval(length.duration, wanted));
    };
    let path = "results.interval";
    if interval.is_zero() {
        return Err(ScenarioError::invalid(
            path,
            "an interval takes more than no time",
        ));
    }
    let span = length.rows_kept();
    if span.as_nanos() / interval.as_nanos() > MOST_INTERVALS {
        let why = format!(
            "{span} cut into intervals of {interval} makes more than {MOST_INTERVALS} of them"
        );
        return Err(ScenarioError::invalid(path, why));
    }
    Ok(interval)
}

/// A round number (1, 2 or 5 times a power of ten) at or above duration / `intervals`, at least 10
/// ms.
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
