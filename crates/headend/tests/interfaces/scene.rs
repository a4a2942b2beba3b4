//! A simulation around one queue: open-loop flows over a link of 10 Mbit/s, in which every packet
//! is a frame of a real host whose fate is recorded.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use headend::clock::{RealHost, RealHostId};
use headend::flow::{FlowTable, Hop, Port};
use headend::line::{Harm, Line};
use headend::link::{DirectionSetup, PointToPoint, RateSchedule, Transmitter, Varying};
use headend::metrics::Recorder;
use headend::metrics::recorder::{GroupInfo, QueueInfo};
use headend::packet::{Ecn, Side};
use headend::qdisc::{Queue, QueueConfig, QueueDiscipline};
use headend::queue::{Depth, Framing};
use headend::rng::Rng;
use headend::simulation::{AppSetup, Parts, Progress, Simulation};
use headend::tcp;
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, QueueId, Sink, TraceEvent, TraceKinds};
use headend::traffic::real::{self as real_traffic, Real};
use headend::traffic::{GroupSetup, Peer};
use headend::units::Rate;
use headend::wire::real;

use crate::real_frames::{Noting, Sent, Shape, UDP, virtually};

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

/// Counts how frames end, by group.
struct Counter(Arc<Mutex<Vec<Outcome>>>);

impl Sink for Counter {
    fn interest(&self) -> TraceKinds {
        TraceKinds::DELIVERED.union(TraceKinds::DISCARDED)
    }

    fn record(&mut self, _at: Instant, event: &TraceEvent) {
        let mut outcomes = self.0.lock().expect("one thread");
        match *event {
            TraceEvent::Delivered { packet, delay } => {
                let outcome = &mut outcomes[packet.group.0 as usize];
                outcome.delivered += 1;
                outcome.delivered_bytes += u64::from(packet.size);
                outcome.delay_sum += delay;
                outcome.longest_delay = outcome.longest_delay.max(delay);
            }
            TraceEvent::Discarded { packet, reason, .. } => {
                outcomes[packet.group.0 as usize].discarded[reason as usize] += 1;
            }
            _ => {}
        }
    }
}

/// Runs the sources through `queue` and returns the outcome of each. Checks that all packets are
/// accounted for, and that frames leave with the marks that the packets have.
pub(crate) fn run(queue: Box<dyn QueueDiscipline>, sources: &[Source]) -> Vec<Outcome> {
    let outcomes = Arc::new(Mutex::new(vec![Outcome::default(); sources.len()]));
    let mut simulation = simulation(queue, sources);
    simulation.add_sink(Box::new(Counter(Arc::clone(&outcomes))));
    let mut clock = Noting::new(virtually(sent(sources)));
    let progress = simulation.run_with(&mut clock);
    assert_eq!(
        progress.expect("a virtual clock does not fail"),
        Progress::Over
    );
    // This checks that packets are conserved.
    simulation.tables();
    let mut outcomes = std::mem::take(&mut *outcomes.lock().expect("one thread"));
    for (_, to, bytes) in &clock.departed {
        let header = real::read(bytes).expect("what departs is a frame");
        let source = usize::from(header.ports[0] - FIRST_PORT);
        outcomes[source].marked += u64::from(header.ecn != sources[source].ecn);
        assert_eq!(header.dscp, sources[source].dscp);
        assert_eq!(usize::from(to.0), sources.len(), "to the remote host");
    }
    let told = simulation.frames_ended();
    let sum = |figure: fn(&Outcome) -> u64| outcomes.iter().map(figure).sum::<u64>();
    assert_eq!(told.delivered, sum(|one| one.delivered));
    assert_eq!(told.delivered, clock.departed.len() as u64);
    assert_eq!(told.discarded, sum(Outcome::discarded));
    assert_eq!(told.marked, sum(|one| one.marked));
    let within = told.entered - told.delivered - told.discarded;
    assert!(within < 2000, "{told:?}");
    outcomes
}

/// The frames of all sources in order of time. The sources start a little apart.
fn sent(sources: &[Source]) -> Vec<Sent> {
    let mut all = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let mut shape = Shape::new(&host(index).to_string(), &PEER.to_string(), UDP);
        shape.ports[0] = FIRST_PORT + index as u16;
        (shape.dscp, shape.ecn) = (source.dscp, source.ecn);
        shape.payload = source.size - 28;
        let bytes = shape.bytes(0);
        let mut at = Instant::ZERO + Duration::from_micros(137) * index as u64;
        while at < Instant::ZERO + DURATION {
            all.push((at, RealHostId(index as u16), bytes.clone()));
            at += source.gap;
        }
    }
    all.sort_by_key(|&(at, from, _)| (at, from));
    all
}

const FIRST_PORT: u16 = 50_000;
const PEER: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 1);

/// The address of the host of a source.
fn host(index: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + index as u32)
}

fn real_host(side: Side, number: usize, ipv4: Ipv4Addr) -> RealHost {
    RealHost {
        name: format!("host{number}"),
        side,
        ipv4,
        ipv6: Ipv6Addr::from_bits(number as u128 + 1),
        mtu: 1500,
        dscp: None,
    }
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
    let mut real_hosts: Vec<RealHost> = (0..sources.len())
        .map(|index| real_host(Side::Host, index, host(index)))
        .collect();
    real_hosts.push(real_host(Side::Peer, sources.len(), PEER));
    let app = |(index, source): (usize, &Source)| AppSetup {
        app: Box::new(Real::new(&real_traffic::Config::default())),
        rng: Rng::for_path(1, "outside"),
        group: GroupSetup {
            address: host(index).to_bits(),
            real: Some(RealHostId(index as u16)),
            peers: vec![Peer {
                routes,
                address: PEER.to_bits(),
                real: Some(RealHostId(sources.len() as u16)),
            }],
            tcp: tcp::Config::default().into(),
            dscp: source.dscp,
            user_priority: None,
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
        real_hosts,
        router: None,
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
            policer: None,
            shaper: None,
            queue: Queue::new(id, discipline, token),
            transmitter: Transmitter::new(RateSchedule::Constant(RATE)),
            delay: Varying::Constant(Duration::ZERO),
            losses: None,
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
