//! Captures: how one is written, and which flows, hosts and queues the names of its points mean.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use super::flow::GroupPlan;
use super::host::{HostPlan, find_host};
use super::names::unknown;
use crate::flow::GroupId;
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::trace::QueueId;
use crate::units::ByteCount;
use crate::wire;
use crate::wire::capture::{Point, QueueMoment, Watched};

/// A capture: the packets that pass chosen points, with real headers, as pcapng files in the folder
/// `capture` of the results, for Wireshark and its like. Data is zeros.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Capture {
    /// Where. A flow or one of its ends (`"upload"`, `"upload.host"`, `"upload.peer"`), a named
    /// host (all it sends and receives), a queue or one of the things that happen there
    /// (`"cable.up"`, `"cable.up.enqueue"`, `"cable.up.dequeue"`, `"cable.up.drop"`). Each has a
    /// file of its own. `*` stands for any number: `"cable.home.*.up"`.
    pub points: Vec<String>,
    /// Bytes kept of a packet at most. The default holds the longest headers; `"65535 B"` keeps the
    /// data's zeros too, and with them all that Wireshark needs to verify checksums.
    pub snaplen: ByteCount,
    /// When it begins.
    pub start: Duration,
    /// When it ends. Default: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Duration>,
}

impl Default for Capture {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            snaplen: ByteCount(wire::headers::LONGEST as u64),
            start: Duration::ZERO,
            stop: None,
        }
    }
}

/// A capture, its names resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CapturePlan {
    points: Vec<PointPlan>,
    snaplen: u16,
    start: Instant,
    stop: Instant,
}

/// A point whose queues still go by their names: numbers they get when they are built.
#[derive(Debug, Clone, PartialEq)]
struct PointPlan {
    point: Point,
    queues: Vec<String>,
}

impl CapturePlan {
    /// The capture; `find` gives the queue of a name.
    pub(super) fn build(&self, find: impl Fn(&str) -> QueueId) -> wire::capture::Capture {
        let points = self.points.iter().map(|plan| {
            let mut point = plan.point.clone();
            if let Watched::Queues(queues, _) = &mut point.watched {
                *queues = plan.queues.iter().map(|name| find(name)).collect();
            }
            point
        });
        wire::capture::Capture::new(points.collect(), self.snaplen, self.start, self.stop)
    }
}

/// More points than these are an oversight: each packet is compared with all of them.
const MOST_POINTS: usize = 100;
/// Room for an IPv4 and a UDP header.
const SHORTEST: u64 = 28;

/// Checks a capture and resolves the names of its points.
pub(super) fn plan(
    capture: &Capture,
    names: &Names<'_>,
    duration: Duration,
) -> Result<CapturePlan, ScenarioError> {
    check(capture, duration)?;
    let mut points: Vec<PointPlan> = Vec::new();
    for (index, text) in capture.points.iter().enumerate() {
        let path = format!("results.capture.points[{index}]");
        for plan in names.resolve(&path, text)? {
            if points
                .iter()
                .any(|other| other.point.name == plan.point.name)
            {
                let why = format!("\"{}\" is captured already", plan.point.name);
                return Err(ScenarioError::invalid(path, why));
            }
            points.push(plan);
        }
    }
    Ok(CapturePlan {
        points,
        snaplen: capture.snaplen.0 as u16,
        start: Instant::ZERO + capture.start,
        stop: Instant::ZERO + capture.stop.unwrap_or(duration),
    })
}

fn check(capture: &Capture, duration: Duration) -> Result<(), ScenarioError> {
    let refuse = |key: &str, why: String| {
        let path = format!("results.capture.{key}");
        Err(ScenarioError::invalid(path, why))
    };
    let count = capture.points.len();
    if !(1..=MOST_POINTS).contains(&count) {
        let why = format!("expected 1 to {MOST_POINTS} points such as \"cable.up\", found {count}");
        return refuse("points", why);
    }
    if !(SHORTEST..=u64::from(u16::MAX)).contains(&capture.snaplen.0) {
        let why = format!(
            "expected {SHORTEST} B to {} B, found {}",
            u16::MAX,
            capture.snaplen
        );
        return refuse("snaplen", why);
    }
    if capture.start >= duration {
        let why = format!(
            "a start at {} is not within a run of {}",
            capture.start, duration
        );
        return refuse("start", why);
    }
    match capture.stop {
        Some(stop) if stop <= capture.start => {
            let why = format!(
                "a capture that starts at {} cannot stop at {stop}",
                capture.start
            );
            refuse("stop", why)
        }
        _ => Ok(()),
    }
}

/// What a point may be called after.
pub(super) struct Names<'a> {
    /// Flows as they are written.
    pub(super) flows: Vec<&'a String>,
    pub(super) queues: Vec<String>,
    pub(super) hosts: &'a BTreeMap<String, HostPlan>,
    pub(super) groups: &'a [GroupPlan],
}

impl Names<'_> {
    /// The points that `text` means: of a flow both ends, of a queue all that happens there. A real
    /// host and the flow of its packets are called the same, and mean the same.
    fn resolve(&self, path: &str, text: &str) -> Result<Vec<PointPlan>, ScenarioError> {
        let is_real = find_host(self.hosts, text).is_some_and(|host| host.real.is_some());
        if let Some(host) = self.host(text).filter(|_| is_real) {
            return Ok(host);
        }
        let found: Vec<_> = [self.ends(text), self.host(text), self.moments(text)]
            .into_iter()
            .flatten()
            .collect();
        match found.len() {
            1 => Ok(found.into_iter().flatten().collect()),
            0 => Err(unknown(path, "flow, host or queue", text, self.known(text))),
            _ => {
                let why = format!(
                    "a flow and a host are called \"{text}\": \"{text}.host\" and \"{text}.peer\" \
                     are the flow's ends"
                );
                Err(ScenarioError::invalid(path, why))
            }
        }
    }

    fn ends(&self, text: &str) -> Option<Vec<PointPlan>> {
        let end = |flow: &str, side| {
            let groups = self.members(flow)?;
            let (name, whose) = match side {
                Side::Host => ("host", "the customer's"),
                Side::Peer => ("peer", "the network's"),
            };
            Some(PointPlan {
                point: Point {
                    name: format!("{flow}.{name}"),
                    description: format!("packets of {flow} that {whose} side sends and receives"),
                    watched: Watched::Side(groups, side),
                },
                queues: Vec::new(),
            })
        };
        let one = match text.rsplit_once('.') {
            Some((flow, "host")) => end(flow, Side::Host),
            Some((flow, "peer")) => end(flow, Side::Peer),
            _ => None,
        };
        one.map(|end| vec![end])
            .or_else(|| Side::BOTH.map(|side| end(text, side)).into_iter().collect())
    }

    /// The flows called so, or `NAME.1`, `NAME.2`, …
    fn members(&self, flow: &str) -> Option<Vec<GroupId>> {
        let is_numbers = |rest: &str| {
            let mut parts = rest.split('.');
            parts.all(|part| part.parse::<u32>().is_ok())
        };
        let is_member = |name: &str| {
            name == flow
                || (name
                    .strip_prefix(flow)
                    .and_then(|rest| rest.strip_prefix('.')))
                .is_some_and(is_numbers)
        };
        let places = self.groups.iter().enumerate();
        let members: Vec<_> = places
            .filter(|(_, group)| is_member(&group.name))
            .map(|(place, _)| GroupId(place as u32))
            .collect();
        (!members.is_empty()).then_some(members)
    }

    fn host(&self, text: &str) -> Option<Vec<PointPlan>> {
        let addresses = find_host(self.hosts, text)?.ranges();
        Some(vec![PointPlan {
            point: Point {
                name: text.to_owned(),
                description: format!("packets that {text} sends and receives"),
                watched: Watched::Host(addresses),
            },
            queues: Vec::new(),
        }])
    }

    fn moments(&self, text: &str) -> Option<Vec<PointPlan>> {
        let moment = |queue: &str, moment: QueueMoment| {
            let matching = self.queues.iter().filter(|name| is_called(name, queue));
            let queues: Vec<String> = matching.cloned().collect();
            let what = match moment {
                QueueMoment::Dequeue => "leave",
                QueueMoment::Drop => "are dropped in",
                QueueMoment::Enqueue => "enter",
            };
            (!queues.is_empty()).then(|| PointPlan {
                point: Point {
                    name: format!("{queue}.{}", moment.name()),
                    description: format!("packets that {what} the queue {queue}"),
                    watched: Watched::Queues(Vec::new(), moment),
                },
                queues,
            })
        };
        let one = text.rsplit_once('.').and_then(|(queue, name)| {
            let of = QueueMoment::ALL.into_iter().find(|of| of.name() == name)?;
            moment(queue, of)
        });
        one.map(|point| vec![point]).or_else(|| {
            let all = QueueMoment::ALL.map(|of| moment(text, of));
            all.into_iter().collect()
        })
    }

    /// What may be meant: the ends of the flow, or the moments of the queue, that `text` begins
    /// with; or else all names.
    fn known(&self, text: &str) -> Vec<String> {
        if let Some((name, _)) = text.rsplit_once('.') {
            let parts: Vec<_> = if self.members(name).is_some() {
                vec!["host", "peer"]
            } else if self.queues.iter().any(|queue| is_called(queue, name)) {
                QueueMoment::ALL.map(QueueMoment::name).into()
            } else {
                Vec::new()
            };
            if !parts.is_empty() {
                return (parts.iter())
                    .map(|part| format!("{name}.{part}"))
                    .collect();
            }
        }
        let flows = self.flows.iter().copied().chain(self.hosts.keys());
        flows.chain(&self.queues).cloned().collect()
    }
}

/// Whether a queue has this name, in which a `*` stands for any number: `cable.home.*.up` are the
/// queues of all homes.
fn is_called(name: &str, pattern: &str) -> bool {
    let (mut parts, mut wanted) = (name.split('.'), pattern.split('.'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some("*")) if part.parse::<u32>().is_ok() => {}
            (Some(part), Some(wanted)) if part == wanted => {}
            _ => return false,
        }
    }
}
