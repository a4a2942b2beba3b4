//! A simulation around one queue: open-loop flows over a link of 10 Mbit/s, in which every packet
//! is a frame whose fate is recorded.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use headend::clock::{Arrival, VirtualClock};
use headend::event::AppId;
use headend::flow::{FlowTable, Hop, Port};
use headend::line::{Harm, Line};
use headend::link::{DirectionSetup, PointToPoint, RateSchedule, Transmitter};
use headend::metrics::Recorder;
use headend::metrics::recorder::{GroupInfo, QueueInfo};
use headend::packet::{Ecn, FrameId, Side};
use headend::qdisc::{Queue, QueueConfig, QueueDiscipline};
use headend::queue::{Depth, Framing};
use headend::rng::Rng;
use headend::simulation::{AppSetup, Parts, Simulation};
use headend::tcp;
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, FrameStore, QueueId};
use headend::traffic::{AppContext, AppEvent, Application, GroupSetup, Peer};
use headend::units::Rate;

pub(crate) const RATE: Rate = Rate(10_000_000);
const DURATION: Duration = Duration::from_secs(20);

/// An open-loop flow: it sends a packet every `gap`, whatever happens to the packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) gap: Duration,
    pub(crate) size: u16,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
}

/// What happened to the packets of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) marked: u64,
    /// The number of discarded packets, by [`DropReason`].
    pub(crate) discarded: [u64; DropReason::COUNT],
    pub(crate) longest_delay: Duration,
    delay_sum: Duration,
}

impl Outcome {
    pub(crate) fn discarded(&self) -> u64 {
        self.discarded.iter().sum()
    }

    pub(crate) fn discarded_as(&self, reason: DropReason) -> u64 {
        self.discarded[reason as usize]
    }

    pub(crate) fn mean_delay(&self) -> Duration {
        self.delay_sum / self.delivered
    }

    /// The rate over the whole run, in Mbit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.delivered_bytes as f64 * 8e-6 / DURATION.as_secs_f64()
    }
}

/// The flow, size, entry time and ECN field of each frame, and the outcome of each flow.
#[derive(Debug, Default)]
struct Frames {
    entered: Vec<(usize, u16, Instant, Ecn)>,
    outcomes: Vec<Outcome>,
}

struct Store(Arc<Mutex<Frames>>);

impl FrameStore for Store {
    fn delivered(&mut self, at: Instant, frame: FrameId, ecn: Ecn) {
        let mut frames = self.0.lock().expect("one thread");
        let (source, size, entered_at, sent_with) = frames.entered[frame.0.get() as usize - 1];
        let outcome = &mut frames.outcomes[source];
        outcome.delivered += 1;
        outcome.delivered_bytes += u64::from(size);
        outcome.marked += u64::from(ecn != sent_with);
        outcome.delay_sum += at - entered_at;
        outcome.longest_delay = outcome.longest_delay.max(at - entered_at);
    }

    fn discarded(&mut self, _at: Instant, frame: FrameId, reason: DropReason) {
        let mut frames = self.0.lock().expect("one thread");
        let source = frames.entered[frame.0.get() as usize - 1].0;
        frames.outcomes[source].discarded[reason as usize] += 1;
    }
}

/// An application whose packets come from outside the simulation.
#[derive(Debug)]
struct Outside;

impl Application for Outside {
    fn on(&mut self, _event: AppEvent, _cx: &mut AppContext<'_>) {}
}

/// Runs the sources through `queue` and returns the outcome of each. Checks that all packets are
/// accounted for.
pub(crate) fn run(queue: Box<dyn QueueDiscipline>, sources: &[Source]) -> Vec<Outcome> {
    let frames = Arc::new(Mutex::new(Frames {
        outcomes: vec![Outcome::default(); sources.len()],
        ..Frames::default()
    }));
    let mut simulation = simulation(queue, sources);
    simulation.set_frame_store(Box::new(Store(Arc::clone(&frames))));
    let arrivals = arrivals(
        &mut simulation,
        sources,
        &mut frames.lock().expect("one thread"),
    );
    let mut clock = VirtualClock::with_arrivals(arrivals);
    simulation
        .run_with(&mut clock)
        .expect("a virtual clock does not fail");
    // This checks that packets are conserved.
    simulation.tables();
    let frames = frames.lock().expect("one thread");
    let ended: u64 = frames
        .outcomes
        .iter()
        .map(|one| one.delivered + one.discarded())
        .sum();
    let entered = frames.entered.len() as u64;
    assert!(
        entered - ended < 2000,
        "{ended} ends of {entered} frames were told"
    );
    frames.outcomes.clone()
}

/// The arrivals of all sources in order of time. The sources start a little apart.
fn arrivals(simulation: &mut Simulation, sources: &[Source], frames: &mut Frames) -> Vec<Arrival> {
    let mut all = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let flow = simulation.open_external(AppId(index as u32));
        let mut at = Instant::ZERO + Duration::from_micros(137) * index as u64;
        while at < Instant::ZERO + DURATION {
            all.push((at, index, flow));
            at += source.gap;
        }
    }
    all.sort_by_key(|&(at, index, _)| (at, index));
    let arrival = |(at, index, flow)| {
        let Source { size, ecn, .. } = sources[index];
        frames.entered.push((index, size, at, ecn));
        let frame = FrameId(NonZeroU32::new(frames.entered.len() as u32).expect("just pushed"));
        Arrival {
            at,
            flow,
            from: Side::Host,
            size,
            ecn,
            frame,
        }
    };
    all.into_iter().map(arrival).collect()
}

fn simulation(queue: Box<dyn QueueDiscipline>, sources: &[Source]) -> Simulation {
    let mut flows = FlowTable::default();
    let routes = [0, 1].map(|port| {
        flows.add_route(vec![
            Hop::Link {
                link: 0,
                port: Port(port),
            },
            Hop::Line(u32::from(port)),
            Hop::End,
        ])
    });
    let app = |(index, source): (usize, &Source)| AppSetup {
        app: Box::new(Outside),
        rng: Rng::for_path(1, "outside"),
        group: GroupSetup {
            address: 0x0a00_0001 + index as u32,
            peers: vec![Peer {
                routes,
                address: 0x0b00_0001,
            }],
            tcp: tcp::Config::default().into(),
            dscp: source.dscp,
            ecn: Ecn::NotEct,
            tunnel: None,
            port: 443,
            name: format!("source{index}"),
            seed: 1,
            opened: 0,
        },
        start: Instant::ZERO,
        stop: None,
    };
    let second = Duration::from_secs(1);
    let groups = (0..sources.len()).map(group).collect();
    let queues = ["up", "down"].map(queue_info).to_vec();
    Simulation::new(Parts {
        links: vec![Box::new(link(queue))],
        lines: [0, 1].map(|_| no_delay()).into(),
        flows,
        apps: sources.iter().enumerate().map(app).collect(),
        recorder: Recorder::new(groups, queues, second, DURATION),
        window: 1 << 20,
        bucket: Duration::from_millis(1),
        warmup: Duration::ZERO,
        duration: DURATION,
    })
}

fn no_delay() -> Line {
    let rng = Rng::for_path(1, "line");
    Line::new(Duration::ZERO, Duration::ZERO, Harm::default(), rng)
}

fn link(queue: Box<dyn QueueDiscipline>) -> PointToPoint {
    let unlimited = QueueConfig::named("none")
        .expect("it is one of them")
        .build(RATE, Rng::for_path(1, "down"))
        .expect("it needs nothing");
    let mut port = 0;
    let [up, down] = [queue, unlimited].map(|discipline| {
        let id = QueueId(u32::from(port));
        let token = PointToPoint::update_token(Port(port));
        port += 1;
        DirectionSetup {
            queue: Queue::new(id, discipline, token),
            transmitter: Transmitter::new(RateSchedule::Constant(RATE)),
            delay: Duration::ZERO,
            framing: Framing::IP,
            mtu: 1500,
        }
    });
    PointToPoint::new(up, down)
}

fn group(index: usize) -> GroupInfo {
    GroupInfo {
        name: format!("source{index}"),
        application: "outside",
        transport: "udp",
        carries_data: [true, false],
        is_bulk: false,
    }
}

fn queue_info(direction: &'static str) -> QueueInfo {
    QueueInfo {
        name: format!("link.{direction}"),
        link: "link".into(),
        direction,
        discipline: "prototype",
        rate_bps: RATE.0,
        limit_bytes: None,
        overhead_bytes: 0,
        map_interval: None,
        service_flow: None,
    }
}

/// Asserts that the queue of a discipline is empty.
#[track_caller]
pub(crate) fn assert_empty(depth: Depth) {
    assert_eq!(depth, Depth::default());
}
