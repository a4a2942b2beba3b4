//! The cable line as a whole, against the worked timings of docsis.md §1.10 and the limits of §2.1.

use std::sync::{Arc, Mutex};

use headend::aqm::DropTail;
use headend::flow::{FlowTable, Hop, Port};
use headend::line::Line;
use headend::link::docsis::DocsisLink;
use headend::link::docsis::cmts::Placement;
use headend::link::docsis::downstream::{self, Downstream};
use headend::link::docsis::preset::Plant;
use headend::link::docsis::service_flow::{DequeueAt, ServiceFlow};
use headend::link::docsis::token_bucket::{Limits, PEAK_BURST, TokenBuckets};
use headend::link::docsis::upstream::{self, Upstream};
use headend::metrics::Recorder;
use headend::metrics::recorder::{GroupInfo, QueueInfo};
use headend::qdisc::{BacklogLimit, Fifo, Queue};
use headend::rng::Rng;
use headend::simulation::{AppSetup, Parts, Simulation};
use headend::time::{Duration, Instant};
use headend::trace::{QueueId, Sink, TraceEvent};
use headend::traffic::{ApplicationConfig, Direction, GroupSetup, Peer, cbr, poisson};
use headend::units::{ByteCount, Probability, Rate};

type Log = Arc<Mutex<Vec<(Instant, TraceEvent)>>>;

struct Recording(Log);

impl Sink for Recording {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        self.0.lock().expect("one thread").push((at, *event));
    }
}

/// One source over an otherwise idle line.
struct Setup {
    plant: Plant,
    limits: Limits,
    dequeue_at: DequeueAt,
    placement: Placement,
    source: ApplicationConfig,
    direction: Direction,
    start: Duration,
    stop: Option<Duration>,
    duration: Duration,
    seed: u64,
}

impl Setup {
    /// docsis.md §1.10's first case: defaults, 1 ms MAPs, one packet of 1000 IP bytes at 100.001 ms.
    fn worked_example(direction: Direction) -> Self {
        Self {
            plant: Plant {
                map_interval: Duration::from_millis(1),
                ..Plant::docsis31()
            },
            limits: limits(50_000_000, 100_000_000, 1 << 20),
            dequeue_at: DequeueAt::Map,
            placement: Placement::First,
            source: every(Duration::from_secs(10), 1000),
            direction,
            start: Duration::from_nanos(100_001_000),
            stop: None,
            duration: Duration::from_millis(200),
            seed: 1,
        }
    }

    fn run(self) -> (Simulation, Vec<(Instant, TraceEvent)>) {
        let log = Log::default();
        let mut simulation = self.simulation();
        simulation.add_sink(Box::new(Recording(log.clone())));
        assert!(simulation.run_until(Instant::FAR_FUTURE));
        drop(simulation.tables());
        let events = std::mem::take(&mut *log.lock().expect("one thread"));
        (simulation, events)
    }

    fn simulation(self) -> Simulation {
        let queue = |id, token| {
            let fifo = Fifo::new(BacklogLimit::Unlimited, Box::new(DropTail));
            Queue::new(QueueId(id), Box::new(fifo), token)
        };
        let rate = self.limits.sustained.unwrap_or(Rate(1_000_000_000));
        let flow = ServiceFlow::new(
            queue(0, upstream::Wake::Update(0).token()),
            TokenBuckets::new(self.limits),
            rate,
            self.dequeue_at,
        );
        let streams = ["modem", "cmts"].map(|path| Rng::for_path(self.seed, path));
        let up = Upstream::new(
            self.plant.upstream_timing(),
            vec![flow],
            self.placement,
            None,
            self.plant.backoff_start,
            streams,
        );
        let down = Downstream::new(
            self.plant.downstream_timing(),
            queue(1, downstream::Wake::Update.token()),
            TokenBuckets::new(self.limits),
            rate,
            None,
        );
        let mut flows = FlowTable::default();
        let lines = [0, 1].map(|_| {
            Line::new(
                Duration::ZERO,
                Duration::ZERO,
                Probability(0.0),
                Rng::for_path(1, "line"),
            )
        });
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
        let group = GroupInfo {
            name: "source".into(),
            application: "cbr",
            transport: "udp",
            carries_data: [true, true],
            is_bulk: false,
        };
        let info = |name: &str, direction| QueueInfo {
            name: name.into(),
            link: "cable".into(),
            direction,
            discipline: "drop_tail",
            rate_bps: rate.0,
            limit_bytes: None,
        };
        Simulation::new(Parts {
            links: vec![Box::new(DocsisLink::new(up, down))],
            lines: lines.into(),
            flows,
            apps: vec![AppSetup {
                app: self
                    .source
                    .build(self.direction)
                    .expect("a source for this direction"),
                rng: Rng::for_path(self.seed, "app"),
                group: GroupSetup {
                    address: 1,
                    peers: vec![Peer { routes, address: 2 }],
                    tcp: headend::tcp::Config::default(),
                    dscp: 0,
                    name: "source".into(),
                    seed: self.seed,
                    opened: 0,
                },
                start: Instant::ZERO + self.start,
                stop: self.stop.map(|stop| Instant::ZERO + stop),
            }],
            recorder: Recorder::new(
                vec![group],
                vec![info("cable.up", "up"), info("cable.down", "down")],
                Duration::from_millis(100),
                self.duration,
            ),
            bucket: Duration::from_micros(65),
            warmup: Duration::ZERO,
            duration: self.duration,
        })
    }
}

fn every(gap: Duration, size: u64) -> ApplicationConfig {
    ApplicationConfig::Cbr(cbr::Config {
        gap: Some(gap),
        size: ByteCount(size),
        random_phase: false,
        ..cbr::Config::default()
    })
}

fn limits(sustained: u64, peak: u64, burst: u64) -> Limits {
    Limits {
        sustained: Some(Rate(sustained)),
        burst,
        peak: Some(Rate(peak)),
        peak_burst: PEAK_BURST,
    }
}

fn delivered(events: &[(Instant, TraceEvent)]) -> Vec<Instant> {
    let is_delivered = |event: &TraceEvent| matches!(event, TraceEvent::Delivered { .. });
    events
        .iter()
        .filter(|(_, event)| is_delivered(event))
        .map(|(at, _)| *at)
        .collect()
}

#[track_caller]
fn assert_within_two_micros(found: Instant, expected_ns: u64) {
    assert!(
        found.as_nanos().abs_diff(expected_ns) <= 2_000,
        "{found} instead of {expected_ns} ns"
    );
}

#[test]
fn the_worked_upstream_packet_is_requested_granted_and_delivered_when_the_fact_sheet_says() {
    // The backoff draw is an input of the worked example: its request goes out at 100.710 ms. Take the first seed that draws so.
    let requested_at = |seed| {
        let (_, events) = Setup {
            seed,
            ..Setup::worked_example(Direction::Up)
        }
        .run();
        let at = events.iter().find_map(|(at, event)| match event {
            TraceEvent::Requested {
                bytes: 1028,
                contention: true,
                ..
            } => Some(at.as_nanos()),
            _ => None,
        });
        (at.expect("a lone packet contends for 1028 B"), events)
    };
    let events = (0..100).find_map(|seed| {
        let (at, events) = requested_at(seed);
        (at == 100_710_000).then_some(events)
    });
    let events = events.expect("frame 746 is within the first window");
    let (heard, bytes, start) = events
        .iter()
        .find_map(|(at, event)| match event {
            TraceEvent::Granted { bytes, start, .. } => Some((*at, *bytes, *start)),
            _ => None,
        })
        .expect("the request is answered");
    assert_eq!(bytes, 1056, "22 minislots of 48 B");
    assert_within_two_micros(heard, 102_247_500);
    assert_within_two_micros(start, 103_005_000);
    assert_within_two_micros(delivered(&events)[0], 103_314_990);
}

#[test]
fn the_worked_downstream_packet_is_delivered_when_the_fact_sheet_says() {
    let (_, events) = Setup::worked_example(Direction::Down).run();
    assert_within_two_micros(delivered(&events)[0], 100_165_000);
}

#[test]
fn an_idle_line_costs_no_events() {
    let source = every(Duration::from_secs(100), 1000);
    let setup = Setup {
        source,
        duration: Duration::from_secs(60),
        ..Setup::worked_example(Direction::Up)
    };
    let (simulation, _) = setup.run();
    // 600 intervals of the series; the packet's own: start, contention, MAP, burst, delivery; the source's next tick.
    assert!(
        simulation.events() < 600 + 20,
        "{} events",
        simulation.events()
    );
}

#[test]
fn a_saturated_upstream_carries_its_sustained_rate_in_every_combination() {
    for plant in [Plant::docsis30(), Plant::docsis31()] {
        for dequeue_at in [DequeueAt::Map, DequeueAt::Burst] {
            for (rate, size) in [(1_000_000, 1500), (10_000_000, 300), (50_000_000, 1500)] {
                let gap = Rate(rate * 12 / 10).time_for(size + 18);
                let setup = Setup {
                    plant: plant.clone(),
                    dequeue_at,
                    placement: Placement::Random,
                    limits: limits(rate, rate, 3044),
                    source: every(gap, size),
                    start: Duration::ZERO,
                    duration: Duration::from_secs(10),
                    ..Setup::worked_example(Direction::Up)
                };
                let (_, events) = setup.run();
                let bits = delivered(&events).len() as f64 * (size as f64 + 18.0) * 8.0;
                let share = bits / (rate as f64 * 10.0);
                assert!(
                    (0.99..=1.002).contains(&share),
                    "{dequeue_at:?} {rate} {size}: {share}"
                );
            }
        }
    }
}

#[test]
fn everything_that_waits_is_delivered_in_the_end() {
    for dequeue_at in [DequeueAt::Map, DequeueAt::Burst] {
        let setup = Setup {
            dequeue_at,
            placement: Placement::Random,
            limits: limits(2_000_000, 3_000_000, 3044),
            source: ApplicationConfig::Poisson(poisson::Config {
                gap: Some(Duration::from_micros(800)),
                size: ByteCount(400),
                sizes: poisson::Sizes::Exponential,
                ..poisson::Config::default()
            }),
            start: Duration::ZERO,
            stop: Some(Duration::from_secs(5)),
            duration: Duration::from_secs(20),
            ..Setup::worked_example(Direction::Up)
        };
        let (simulation, events) = setup.run();
        let sent = events
            .iter()
            .filter(|(_, event)| matches!(event, TraceEvent::Sent { .. }))
            .count();
        assert_eq!(delivered(&events).len(), sent);
        assert_eq!(simulation.now(), Instant::from_nanos(20_000_000_000));
    }
}

#[test]
fn request_and_grant_add_four_to_eight_milliseconds() {
    // RFC 8034 §4.2. Sparse packets, so that each makes its own request; the paper's 2 ms MAPs.
    let setup = Setup {
        plant: Plant::docsis31(),
        placement: Placement::Random,
        source: every(Duration::from_micros(20_123), 200),
        start: Duration::ZERO,
        duration: Duration::from_secs(60),
        ..Setup::worked_example(Direction::Up)
    };
    let (_, events) = setup.run();
    let mut delays: Vec<f64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            TraceEvent::Delivered { delay, .. } => Some(delay.as_secs_f64() * 1e3),
            _ => None,
        })
        .collect();
    delays.sort_by(f64::total_cmp);
    let quantile = |q: f64| delays[(q * (delays.len() - 1) as f64) as usize];
    let (low, mid, high) = (quantile(0.05), quantile(0.5), quantile(0.95));
    assert!(
        low > 2.5 && mid > 4.0 && mid < 8.0 && high < 9.0,
        "{low} {mid} {high} ms"
    );
}
