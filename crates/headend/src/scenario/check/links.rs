//! Links: their directions, ports and queues.

use std::collections::BTreeMap;

use super::cable::{self, CablePlan};
use super::cell::{self, CellPlan};
use super::{LONGEST_DELAY, queue_path};
use crate::aqm::delay_estimate::DelayEstimate;
use crate::flow::Port;
use crate::link::RateSchedule;
use crate::named::{Named, OrTable};
use crate::qdisc::{QueueConfig, drr, sfq, strict_priority};
use crate::queue::{BacklogLimit, Framing};
use crate::rng::Rng;
use crate::scenario::error::{Problem, ScenarioError};
use crate::scenario::raw::{LinkConfig, LinkDirection, PointToPoint, Queue, Raw, VaryingRate};
use crate::text::quote;
use crate::time::Duration;
use crate::units::{Limit, Rate};

/// A link, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct LinkPlan {
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) medium: Medium,
}

/// What a link is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) enum Medium {
    Docsis(Box<CablePlan>),
    Dot11b(Box<CellPlan>),
    PointToPoint(Box<[DirectionPlan; 2]>),
}

/// One direction of a plain link.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct DirectionPlan {
    pub(in crate::scenario) schedule: RateSchedule,
    pub(in crate::scenario) delay: Duration,
    pub(in crate::scenario) queue: QueueConfig,
}

/// Where hosts are attached: a link, and its customer's side or sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) struct Attachment {
    pub(in crate::scenario) link: u16,
    /// The first customer's side.
    pub(in crate::scenario) first: u16,
    /// How many sides there are behind one name, where that is said: then there is a host at each.
    pub(in crate::scenario) count: Option<u32>,
}

/// Where a host is attached: a link, and its entrances for the two directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) struct PortPlan {
    pub(in crate::scenario) link: u16,
    pub(in crate::scenario) up: Port,
    pub(in crate::scenario) down: Port,
}

impl Attachment {
    /// The port of customer `number`, from 1; of a single customer, whatever the number.
    pub(in crate::scenario) fn port(&self, number: u32) -> PortPlan {
        let index = match self.count {
            Some(_) => self.first + (number - 1) as u16,
            None => self.first,
        };
        PortPlan {
            link: self.link,
            up: Port(2 * index),
            down: Port(2 * index + 1),
        }
    }

    /// One of them.
    fn single(&self, number: u32) -> Self {
        Self {
            first: self.first + (number - 1) as u16,
            count: None,
            ..*self
        }
    }
}

impl LinkPlan {
    /// Its queues: name, and path of the key that an override puts another into; an up queue first.
    pub(in crate::scenario) fn queues(&self) -> Vec<(String, String)> {
        match &self.medium {
            Medium::Docsis(line) => line.queues(&self.name),
            Medium::Dot11b(cell) => cell.queues(&self.name),
            Medium::PointToPoint(_) => ["up", "down"]
                .map(|direction| {
                    let name = format!("{}.{direction}", self.name);
                    (name, queue_path(&self.name, "point_to_point", direction))
                })
                .into(),
        }
    }
}

/// What a host's `via` may name: a link with one customer's side bears its name, of others each side (or group of them) has its own.
pub(super) fn attachments(links: &[LinkPlan]) -> BTreeMap<String, Attachment> {
    let mut found = BTreeMap::new();
    for (index, link) in links.iter().enumerate() {
        let mut add = |name: String, first: u32, count| {
            let attachment = Attachment {
                link: index as u16,
                first: first as u16,
                count,
            };
            found.insert(name, attachment);
        };
        match &link.medium {
            Medium::PointToPoint(_) => add(link.name.clone(), 0, None),
            Medium::Dot11b(cell) => {
                for group in &cell.groups {
                    add(
                        format!("{}.{}", link.name, group.name),
                        group.first,
                        group.count,
                    );
                }
            }
            Medium::Docsis(line) => {
                for group in &line.groups {
                    let name = match &group.name {
                        Some(name) => format!("{}.{name}", link.name),
                        None => link.name.clone(),
                    };
                    add(name, group.first, group.count);
                }
            }
        }
    }
    found
}

/// What is called `name`: one of them, or with its number one of those behind a name.
pub(super) fn find_attachment(
    attachments: &BTreeMap<String, Attachment>,
    name: &str,
) -> Option<Attachment> {
    if let Some(found) = attachments.get(name) {
        return Some(*found);
    }
    let (group, number) = name.rsplit_once('.')?;
    let (group, number) = (attachments.get(group)?, number.parse().ok()?);
    (1..=group.count?)
        .contains(&number)
        .then(|| group.single(number))
}

/// The fastest link one can buy, times ten; beyond it, a unit is wrong.
const FASTEST: Rate = Rate(10_000_000_000_000);
const MOST_LINKS: usize = 1000;
const MOST_OPPORTUNITIES: usize = 10_000_000;

pub(super) fn plan(
    raw: &mut Raw,
    warnings: &mut Vec<String>,
) -> Result<Vec<LinkPlan>, ScenarioError> {
    if raw.link.len() > MOST_LINKS {
        let why = format!("{} links are more than {MOST_LINKS}", raw.link.len());
        return Err(ScenarioError::invalid("link", why));
    }
    let duration = raw.duration;
    raw.link
        .iter_mut()
        .map(|(name, Named(config))| plan_link(name, config, duration, warnings))
        .collect()
}

fn plan_link(
    name: &str,
    config: &mut LinkConfig,
    duration: Duration,
    warnings: &mut Vec<String>,
) -> Result<LinkPlan, ScenarioError> {
    let medium = match config {
        LinkConfig::Docsis(docsis) => {
            let plan = cable::plan(&format!("link.{name}.docsis"), docsis, duration, warnings)?;
            Medium::Docsis(Box::new(plan))
        }
        LinkConfig::Dot11b(cell) => {
            let plan = cell::plan(&format!("link.{name}.dot11b"), cell)?;
            Medium::Dot11b(Box::new(plan))
        }
        LinkConfig::PointToPoint(link) => {
            plan_point_to_point(&format!("link.{name}.point_to_point"), link)?
        }
    };
    Ok(LinkPlan {
        name: name.to_owned(),
        medium,
    })
}

fn plan_point_to_point(path: &str, link: &mut PointToPoint) -> Result<Medium, ScenarioError> {
    let down = link.down.get_or_insert_with(|| link.up.clone());
    let up = plan_direction(&format!("{path}.up"), &link.up)?;
    let down = plan_direction(&format!("{path}.down"), down)?;
    Ok(Medium::PointToPoint(Box::new([up, down])))
}

fn plan_direction(path: &str, direction: &LinkDirection) -> Result<DirectionPlan, ScenarioError> {
    let schedule = plan_rate(&format!("{path}.rate"), &direction.rate)?;
    check_delay(&format!("{path}.delay"), direction.delay)?;
    let Named(queue) = &direction.queue;
    let path_of_queue = format!("{path}.queue");
    check_queue(&path_of_queue, queue, schedule.nominal(), Framing::IP)?;
    if !(matches!(schedule, RateSchedule::Constant(_)) && is_omniscient(queue)) {
        refuse_foresight(&path_of_queue, queue)?;
    }
    let queue = queue.clone();
    Ok(DirectionPlan {
        schedule,
        delay: direction.delay,
        queue,
    })
}

/// A queue that a line of this rate can have.
pub(super) fn plan_queue<'a>(
    path: &str,
    Named(config): &'a Queue,
    rate: Rate,
    framing: Framing,
) -> Result<&'a QueueConfig, ScenarioError> {
    check_queue(path, config, rate, framing)?;
    refuse_foresight(path, config)?;
    Ok(config)
}

fn check_queue(
    path: &str,
    config: &QueueConfig,
    rate: Rate,
    framing: Framing,
) -> Result<(), ScenarioError> {
    if let Err(why) = config.check(rate, Rng::for_path(0, path)) {
        return Err(ScenarioError::invalid(path, why));
    }
    check_limit(path, config, rate, framing)
}

/// Whether it is a law that knows when each packet will leave.
fn is_omniscient(config: &QueueConfig) -> bool {
    matches!(config, QueueConfig::CodelDt(law) if law.delay_estimate == DelayEstimate::Omniscient)
}

/// Only the queue of a plain link of constant rate can know the delay to come: not one of several queues, nor one before a medium that many share.
fn refuse_foresight(path: &str, config: &QueueConfig) -> Result<(), ScenarioError> {
    let path = format!("{path}.{}", config.name());
    match config {
        QueueConfig::Drr(drr::Config { law, .. })
        | QueueConfig::Sfq(sfq::Config { law, .. })
        | QueueConfig::StrictPriority(strict_priority::Config { law, .. }) => {
            refuse_foresight(&format!("{path}.law"), law)
        }
        _ if is_omniscient(config) => {
            let why = "\"omniscient\" needs the only queue of a point_to_point link of constant rate: \
                       elsewhere nobody can know when a packet will leave; expected departure_rate, \
                       departure_time or token_buckets";
            Err(ScenarioError::invalid(
                format!("{path}.delay_estimate"),
                why,
            ))
        }
        _ => Ok(()),
    }
}

/// The largest packet that links carry, IP bytes.
const MTU: u16 = 1500;

/// A queue that never has room for a whole packet lets no transfer begin, nor does one inside it.
fn check_limit(
    path: &str,
    config: &QueueConfig,
    rate: Rate,
    framing: Framing,
) -> Result<(), ScenarioError> {
    let path = format!("{path}.{}", config.name());
    match config {
        QueueConfig::Cbq(cbq) => {
            for (name, class) in &cbq.class {
                let path = format!("{path}.class.{name}.limit");
                check_room(&path, class.limit, rate, framing)?;
            }
        }
        QueueConfig::Drr(drr::Config { law, .. })
        | QueueConfig::Sfq(sfq::Config { law, .. })
        | QueueConfig::StrictPriority(strict_priority::Config { law, .. }) => {
            check_limit(&format!("{path}.law"), law, rate, framing)?;
        }
        _ => {}
    }
    if let Some(limit) = config.written_limit() {
        return check_room(&format!("{path}.limit"), limit, rate, framing);
    }
    let least = framing.of_size(MTU);
    match config.limit_bytes(rate) {
        Some(bytes) if bytes < least => {
            let why = format!(
                "{bytes} B at {rate} have no room for one packet of {MTU} B ({least} B): ask for more"
            );
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

/// Whether a limit that is written has room for a packet.
pub(super) fn check_room(
    path: &str,
    limit: Limit,
    rate: Rate,
    framing: Framing,
) -> Result<(), ScenarioError> {
    let least = framing.of_size(MTU);
    match BacklogLimit::at_rate(limit, rate) {
        BacklogLimit::Packets(0) => {
            let why = "expected room for at least one packet, found \"0 packets\"";
            Err(ScenarioError::invalid(path, why))
        }
        BacklogLimit::Bytes(bytes) if bytes < least => {
            let at_rate = match limit {
                Limit::Time(_) => format!(" ({bytes} B at {rate})"),
                _ => String::new(),
            };
            let why = format!(
                "expected room for one packet of {MTU} B at least ({least} B), found \"{limit}\"{at_rate}"
            );
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_delay(path: &str, delay: Duration) -> Result<(), ScenarioError> {
    if delay <= LONGEST_DELAY {
        return Ok(());
    }
    let why = format!("a delay of at most {LONGEST_DELAY} makes sense, not {delay}");
    Err(ScenarioError::invalid(path, why))
}

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

const LONGEST_TRACE: Duration = Duration::from_secs(10 * 24 * 3600);

/// Puts the contents of trace files in place of their names, so that the scenario needs no file any more.
pub(super) fn embed_traces(
    raw: &mut Raw,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ScenarioError> {
    for (path, rate) in varying_rates(raw) {
        let Some(name) = rate.trace.take() else {
            continue;
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
    }
    Ok(())
}

/// The file that the key at `path` names.
pub(super) fn find_file<'a>(
    path: &str,
    name: &str,
    files: &'a BTreeMap<String, Vec<u8>>,
) -> Result<&'a [u8], ScenarioError> {
    let found = files.get(name).map(Vec::as_slice);
    found.ok_or_else(|| ScenarioError::invalid(path, format!("the file \"{name}\" cannot be read")))
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

/// Every rate that varies, with its path.
pub(super) fn varying_rates(raw: &mut Raw) -> Vec<(String, &mut VaryingRate)> {
    let mut found = Vec::new();
    for (name, Named(config)) in &mut raw.link {
        let rates = match config {
            LinkConfig::Docsis(line) => vec![
                ("docsis.upstream.capacity", line.upstream.capacity.as_mut()),
                (
                    "docsis.downstream.capacity",
                    line.downstream.capacity.as_mut(),
                ),
            ],
            LinkConfig::Dot11b(_) => Vec::new(),
            LinkConfig::PointToPoint(link) => vec![
                ("point_to_point.up.rate", Some(&mut link.up.rate)),
                (
                    "point_to_point.down.rate",
                    link.down.as_mut().map(|down| &mut down.rate),
                ),
            ],
        };
        for (path, rate) in rates {
            if let Some(OrTable::Table(rate)) = rate {
                found.push((format!("link.{name}.{path}"), rate));
            }
        }
    }
    found
}
