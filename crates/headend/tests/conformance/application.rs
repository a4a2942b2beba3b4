//! Rules for every application with its defaults, in each direction that it supports, on a plain
//! link.
//!
//! - The application sends. After it was stopped and what was under way has ended, it sends no
//!   more.
//! - Each of its packets ends once: delivered or discarded.
//! - What it sends does not depend on the queue: never before the first discard, and not at all if
//!   its document has no feedback from the path.
//! - The same scenario and seed give the same packets.

use std::collections::BTreeMap;
use std::fmt;

use headend::packet::Side;
use headend::time::{Duration, Instant};
use headend::trace::{PacketView, TraceEvent};
use headend::traffic::{ApplicationConfig, Direction};

use crate::from_text::{Log, Tables, scenario};
use crate::kinds::kinds;

const STOP: Duration = Duration::from_secs(6);
const END: Duration = Duration::from_secs(60);
/// The time for what is under way when an application is stopped: answers, and the last frame of
/// datagrams.
const GRACE_OF_DATAGRAMS: Duration = Duration::from_secs(1);
/// The time for what is under way when an application over TCP is stopped: a page, a segment of
/// video, or the two halves of a responsiveness test, 20 s each.
const GRACE_OF_STREAMS: Duration = Duration::from_secs(40);

/// The keys that an application requires.
const REQUIRED: &[(&str, &str)] = &[(
    "replay",
    "up = '0 200, 20000000 1200'\ndown = '5000000 1400'\nperiod = '50 ms'",
)];

/// The applications whose datagrams depend on feedback from the path, with the document that says
/// so. Every other application sends the same on each side, whatever happens to its packets.
/// Applications over TCP are not in this list: TCP is the feedback.
const FEEDBACK: &[(&str, Feedback, &str)] = &[
    (
        "video_call",
        Feedback::Rate,
        "draft-ietf-rmcat-gcc-02: the rate follows delay and loss",
    ),
    (
        "isochronous",
        Feedback::Answers,
        "irtt: the server returns each request that arrives",
    ),
    (
        "autorate",
        Feedback::Answers,
        "RFC 792: an echo reply answers each echo that arrives",
    ),
    (
        "ping",
        Feedback::Answers,
        "RFC 792: an echo reply answers each echo that arrives",
    ),
];

/// What an application adapts to the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feedback {
    /// Nothing.
    None,
    /// One side answers what arrives; the other sends the same whatever happens.
    Answers,
    /// The sending rate follows the path.
    Rate,
}

/// An application in one of its directions.
#[derive(Debug)]
struct Case {
    name: String,
    direction: Direction,
    config: ApplicationConfig,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.direction.name())
    }
}

impl Case {
    fn all() -> Vec<Self> {
        let directions = [Direction::Up, Direction::Down, Direction::Both];
        // Programs on real hosts do not run in virtual time: tests/real_flows.rs has theirs.
        let simulated = |name: &String| name != "real";
        let names = kinds("ApplicationConfig").into_iter().filter(simulated);
        let cases = names.flat_map(|name| {
            directions.map(|direction| Self {
                config: toml::from_str(&format!("[{name}]\n{}", required(&name)))
                    .unwrap_or_else(|error| panic!("{name} has defaults: {error}")),
                name: name.clone(),
                direction,
            })
        });
        cases
            .filter(|case| case.config.build(case.direction).is_ok())
            .collect()
    }

    fn over_tcp(&self) -> bool {
        self.config.transport() == "tcp"
    }

    fn grace(&self) -> Duration {
        if self.over_tcp() {
            GRACE_OF_STREAMS
        } else {
            GRACE_OF_DATAGRAMS
        }
    }

    fn feedback(&self) -> Feedback {
        let of_datagrams = (FEEDBACK.iter()).find(|(name, ..)| *name == self.name);
        match of_datagrams {
            _ if self.over_tcp() => Feedback::Rate,
            Some(&(_, feedback, _)) => feedback,
            None => Feedback::None,
        }
    }

    /// Runs the application on a line with `queue`, which other traffic may overload both ways.
    fn run(&self, queue: &str, is_overloaded: bool) -> Run {
        let Self {
            name, direction, ..
        } = self;
        let mut text = format!(
            r#"
duration = "{END}"
[link.line.point_to_point]
up = {{ rate = "5 Mbit/s", queue.{queue} }}
down = {{ rate = "20 Mbit/s", queue.{queue} }}
[flow.tested]
direction = "{direction}"
stop = "{STOP}"
[flow.tested.application.{name}]
{required}
"#,
            direction = direction.name(),
            required = required(name),
        );
        if is_overloaded {
            text += r#"
[flow.up]
application.poisson = { gap = "1 ms", size = "1 kB" }
stop = "10 s"
[flow.down]
application.poisson = { gap = "0.3 ms", size = "1 kB" }
direction = "down"
stop = "10 s"
"#;
        }
        let mut simulation = scenario(&text, &[]).build(1);
        let log = Log::of(&mut simulation);
        let tables = Tables::finish(simulation);
        let flows = tables.texts("flows", "flow");
        // Groups are numbered in the order of the table of flows.
        let mut groups: Vec<&String> = flows.iter().collect();
        groups.dedup();
        let group = groups.iter().position(|flow| *flow == "tested");
        let group = group.unwrap_or_else(|| panic!("{name} sends")) as u32;
        let run = Run::of(&log, group);
        assert_eq!(run.under_way, 0, "{self}: all has ended by the end");
        run
    }
}

fn required(name: &str) -> &'static str {
    let entry = REQUIRED.iter().find(|(of, _)| *of == name);
    entry.map_or("", |(_, keys)| keys)
}

/// What was sent: the time, the side, the size, and the payload.
type Sent = (Instant, Side, u16, u16);

/// The packets of one application.
#[derive(Debug, PartialEq)]
struct Run {
    sent: Vec<Sent>,
    delivered: Vec<(Instant, Side, u64)>,
    discarded: Vec<Instant>,
    /// Packets that had not ended at the end of the run.
    under_way: usize,
}

impl Run {
    /// Reads `log`, and checks that each packet ends once, with the size with which it was sent.
    fn of(log: &Log, group: u32) -> Self {
        let mut run = Self {
            sent: Vec::new(),
            delivered: Vec::new(),
            discarded: Vec::new(),
            under_way: 0,
        };
        let mut under_way = UnderWay::default();
        for (at, event) in log.choose(|event| Some(*event)) {
            match event {
                TraceEvent::Sent { packet } if packet.group.0 == group => {
                    (run.sent).push((at, packet.from, packet.size, packet.payload));
                    under_way.begin(&packet);
                }
                TraceEvent::Delivered { packet, .. } if packet.group.0 == group => {
                    under_way.end(&packet);
                    run.delivered.push((at, packet.from, packet.seq));
                }
                TraceEvent::Discarded { packet, .. } if packet.group.0 == group => {
                    under_way.end(&packet);
                    run.discarded.push(at);
                }
                _ => {}
            }
        }
        run.under_way = under_way.count();
        run
    }
}

/// The packets that have not ended. A retransmission may have the number of a packet that is under
/// way.
#[derive(Default)]
struct UnderWay(BTreeMap<(u32, usize, u64), Vec<u16>>);

impl UnderWay {
    fn key(packet: &PacketView) -> (u32, usize, u64) {
        (packet.flow.0, packet.from.index(), packet.seq)
    }

    fn begin(&mut self, packet: &PacketView) {
        let sizes = self.0.entry(Self::key(packet)).or_default();
        sizes.push(packet.size);
    }

    fn end(&mut self, packet: &PacketView) {
        let sizes = self.0.entry(Self::key(packet)).or_default();
        let place = sizes.iter().position(|&size| size == packet.size);
        let place = place.unwrap_or_else(|| panic!("{packet:?} was sent, and ends once"));
        sizes.swap_remove(place);
    }

    fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

#[test]
fn every_application_sends_until_it_is_stopped_and_each_packet_ends_once() {
    for case in Case::all() {
        let run = case.run("drop_tail.limit = '50 packets'", false);
        let stop = Instant::ZERO + STOP;
        let before = run.sent.iter().filter(|sent| sent.0 < stop).count();
        assert!(before > 2, "{case} sends");
        let last = run.sent.last().expect("it sends").0;
        assert!(
            last <= stop + case.grace(),
            "{case} was stopped at {stop:?} and sends at {last:?}"
        );
        assert_eq!(
            run.sent.len(),
            run.delivered.len() + run.discarded.len(),
            "{case}: sent = delivered + discarded"
        );
    }
}

#[test]
fn every_application_repeats_itself() {
    for case in Case::all() {
        let queue = "pie.limit = '60 packets'";
        assert!(case.run(queue, true) == case.run(queue, true), "{case}");
    }
}

/// Two queues that discard different packets at different times; one of them draws random numbers.
#[test]
fn every_application_sends_the_same_whatever_the_queue() {
    for case in Case::all() {
        let [deep, shallow] = [
            "drop_tail.limit = '2000 packets'",
            "pie.limit = '20 packets'",
        ]
        .map(|queue| case.run(queue, false));
        // Until a queue discards a packet, application and link alone determine what is sent.
        let until = [&deep, &shallow].map(|run| run.discarded.first().copied());
        let until = (until.into_iter().flatten().min()).unwrap_or(Instant::FAR_FUTURE);
        let [of_deep, of_shallow] = [&deep, &shallow].map(|run| before(run, until));
        assert!(of_deep.len() > 2, "{case} sends before the first discard");
        assert!(of_deep == of_shallow, "{case} sends the same at first");
    }
}

fn before(run: &Run, until: Instant) -> Vec<Sent> {
    let sent = run.sent.iter().filter(|sent| sent.0 < until);
    sent.copied().collect()
}

/// The same with a queue that other traffic overloads, so that packets are discarded.
#[test]
fn what_takes_no_feedback_sends_the_same_whatever_becomes_of_its_packets() {
    for case in Case::all() {
        let sides: &[Side] = match case.feedback() {
            Feedback::None => &Side::BOTH,
            Feedback::Answers => &[Side::Host],
            Feedback::Rate => continue,
        };
        let runs = [
            "drop_tail.limit = '2000 packets'",
            "pie.limit = '20 packets'",
        ]
        .map(|queue| case.run(queue, true));
        assert!(
            runs[0].discarded != runs[1].discarded,
            "{case}: the queues discard other packets"
        );
        let [of_deep, of_shallow] = runs.map(|run| -> Vec<Sent> {
            let sent = run.sent.into_iter();
            sent.filter(|sent| sides.contains(&sent.1)).collect()
        });
        assert!(of_deep == of_shallow, "{case} sends the same");
    }
}
