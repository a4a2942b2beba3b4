//! Many modems on one upstream channel, compared with closed forms and guarantees. These tests
//! build the upstream directly, without a scenario.

use std::sync::{Arc, Mutex};

use headend::context::Context;
use headend::flow::{FlowTable, Hop, Port};
use headend::line::{Harm, Line};
use headend::link::docsis::cmts::Placement;
use headend::link::docsis::grant::DequeueAt;
use headend::link::docsis::preset::Plant;
use headend::link::docsis::qos::{Polling, ProactiveGrants, Qos, Scheduling, UnsolicitedGrants};
use headend::link::docsis::setup::{Neighbours, UpstreamFlow, UpstreamSetup};
use headend::link::docsis::upstream::{Upstream, Wake};
use headend::link::token_bucket::{Limits, PEAK_BURST};
use headend::link::{Link, Visitor};
use headend::metrics::Recorder;
use headend::metrics::recorder::{GroupInfo, QueueInfo};
use headend::packet::{Ecn, Packet};
use headend::qdisc::{Queue, QueueConfig};
use headend::rng::Rng;
use headend::simulation::{AppSetup, Parts, Simulation};
use headend::tcp;
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, QueueId, Sink, TraceEvent};
use headend::traffic::{Application, Direction, GroupSetup, Peer};
use headend::units::{ByteCount, Rate};

/// A link with an upstream only: downstream packets do not pass a link here.
#[derive(Debug)]
struct UpstreamOnly(Upstream);

impl Link for UpstreamOnly {
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>) {
        self.0.arrive(usize::from(port.0), packet, cx);
    }

    fn wake(&mut self, token: u64, cx: &mut Context<'_>) {
        self.0.wake(Wake::from_token(token), cx);
    }

    fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>) {
        self.0.visit_queues(now, visit);
    }

    fn report_limits(&self, now: Instant, recorder: &mut Recorder) {
        self.0.report_limits(now, recorder);
    }

    fn held(&self) -> u64 {
        self.0.held()
    }
}

/// A modem with one service flow, and the application that sends through it.
struct Modem {
    qos: Qos,
    limits: Limits,
    online_at: Option<Instant>,
    /// The application, in a scenario's notation.
    application: &'static str,
    direction: Direction,
}

fn unlimited() -> Limits {
    Limits {
        sustained: None,
        burst: 0,
        peak: None,
        peak_burst: 0,
    }
}

fn limited(rate: u64) -> Limits {
    Limits {
        sustained: Some(Rate(rate)),
        burst: 3044,
        peak: None,
        peak_burst: PEAK_BURST,
    }
}

fn modem(application: &'static str) -> Modem {
    Modem {
        qos: Qos::default(),
        limits: unlimited(),
        online_at: None,
        application,
        direction: Direction::Up,
    }
}

fn modems(count: usize, application: &'static str) -> Vec<Modem> {
    (0..count).map(|_| modem(application)).collect()
}

/// A street of modems.
struct Street {
    plant: Plant,
    modems: Vec<Modem>,
    neighbours: Option<Neighbours>,
    dequeue_at: DequeueAt,
    seed: u64,
    seconds: u64,
}

type Events = Vec<(Instant, TraceEvent)>;

struct Recording(Arc<Mutex<Events>>);

impl Sink for Recording {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        self.0.lock().expect("one thread").push((at, *event));
    }
}

/// The result of a run.
struct Outcome {
    events: Events,
    simulation: Simulation,
}

impl Street {
    fn new(plant: Plant, modems: Vec<Modem>) -> Self {
        Self {
            plant,
            modems,
            neighbours: None,
            dequeue_at: DequeueAt::Map,
            seed: 1,
            seconds: 10,
        }
    }

    fn rng(&self, path: &str) -> Rng {
        Rng::for_path(self.seed, path)
    }

    fn upstream(&self) -> Upstream {
        let timing = self.plant.upstream_timing();
        let flows = self.modems.iter().enumerate().map(|(index, modem)| {
            let rate = modem.limits.sustained.unwrap_or(timing.capacity());
            let discipline = QueueConfig::named("none")
                .expect("there is such a queue")
                .build(rate, self.rng("queue"))
                .expect("it has no parameters");
            let token = Wake::Update(index).token();
            UpstreamFlow {
                modem: index as u32,
                queue: Queue::new(QueueId(index as u32), discipline, token),
                limits: modem.limits,
                rate,
                qos: modem.qos.clone(),
                dequeue_at: self.dequeue_at,
                online_at: modem.online_at,
                rng: self.rng(&format!("modem {index}")),
            }
        });
        Upstream::new(UpstreamSetup {
            rules: self.plant.rules,
            contention: self.plant.contention,
            flows: flows.collect(),
            timing,
            aggregates: Vec::new(),
            placement: Placement::Random,
            token_interval: Duration::ZERO,
            capacity: None,
            neighbours: self.neighbours.clone(),
            rng: self.rng("cmts"),
        })
    }

    fn applications(&self, flows: &mut FlowTable, lines: &mut Vec<Line>) -> Vec<AppSetup> {
        let mut setups = Vec::new();
        for (index, modem) in self.modems.iter().enumerate() {
            let mut line = || {
                let rng = self.rng("line");
                lines.push(Line::new(
                    Duration::ZERO,
                    Duration::ZERO,
                    Harm::default(),
                    rng,
                ));
                Hop::Line(lines.len() as u32 - 1)
            };
            let port = Port(index as u16);
            let up = vec![Hop::Link { link: 0, port }, line(), Hop::End];
            let down = vec![line(), Hop::End];
            let routes = [flows.add_route(up), flows.add_route(down)];
            let name = format!("app {index}");
            setups.push(AppSetup {
                app: application(modem.application, modem.direction),
                rng: self.rng(&name),
                group: GroupSetup {
                    address: index as u32,
                    peers: vec![Peer {
                        routes,
                        address: 1 << 20,
                        real: None,
                    }],
                    tcp: tcp::Config::default().into(),
                    dscp: 0,
                    user_priority: None,
                    ecn: Ecn::NotEct,
                    tunnel: None,
                    port: 443,
                    name,
                    seed: self.seed,
                    opened: 0,
                    real: None,
                },
                start: Instant::ZERO,
                stop: None,
            });
        }
        setups
    }

    fn run(&self) -> Outcome {
        let (mut flows, mut lines) = (FlowTable::default(), Vec::new());
        let apps = self.applications(&mut flows, &mut lines);
        let second = Duration::from_secs(1);
        let duration = second * self.seconds;
        let groups = (0..self.modems.len()).map(|index| GroupInfo {
            name: format!("app {index}"),
            application: "test",
            transport: "udp",
            carries_data: [true; 2],
            is_bulk: false,
        });
        let queues = (0..self.modems.len()).map(|index| QueueInfo {
            name: format!("modem {index}"),
            link: "street".to_owned(),
            direction: "up",
            discipline: "none",
            rate_bps: 1,
            limit_bytes: None,
            overhead_bytes: 18,
            map_interval: None,
            service_flow: None,
        });
        let recorder = Recorder::new(groups.collect(), queues.collect(), second, duration);
        let mut simulation = Simulation::new(Parts {
            links: vec![Box::new(UpstreamOnly(self.upstream()))],
            lines,
            flows,
            apps,
            real_hosts: Vec::new(),
            router: None,
            recorder,
            window: 1 << 20,
            bucket: Duration::from_micros(100),
            warmup: Duration::ZERO,
            duration,
        });
        let events = Arc::default();
        simulation.add_sink(Box::new(Recording(Arc::clone(&events))));
        assert!(simulation.run_until(Instant::FAR_FUTURE));
        // This checks that packets are conserved.
        drop(simulation.tables());
        let events = std::mem::take(&mut *events.lock().expect("one thread"));
        Outcome { events, simulation }
    }
}

/// An application from a scenario's notation.
fn application(text: &str, direction: Direction) -> Box<dyn Application> {
    let config: headend::traffic::ApplicationConfig =
        toml::from_str(text).expect("the application is written as in a scenario");
    config.build(direction).expect("it can be built")
}

impl Outcome {
    /// The delivered datagrams of each modem, and their bytes as the line counts them.
    fn delivered(&self, modems: usize) -> Vec<(u64, u64)> {
        let mut delivered = vec![(0, 0); modems];
        for (_, event) in &self.events {
            if let TraceEvent::Delivered { packet, .. } = event {
                let of_modem = &mut delivered[packet.group.0 as usize];
                of_modem.0 += 1;
                of_modem.1 += u64::from(packet.size.max(46)) + 18;
            }
        }
        delivered
    }

    fn delays_ms(&self) -> Vec<f64> {
        let delay = |event: &TraceEvent| match event {
            TraceEvent::Delivered { delay, .. } => Some(delay.as_secs_f64() * 1e3),
            _ => None,
        };
        let mut delays: Vec<f64> = self.events.iter().filter_map(|(_, e)| delay(e)).collect();
        delays.sort_by(f64::total_cmp);
        delays
    }

    /// The number of contention requests that were answered, and the number of those that collided.
    fn answered(&self) -> (u64, u64) {
        let answers = self.events.iter().filter_map(|(_, event)| match event {
            TraceEvent::Answered { heard, .. } => Some(*heard),
            _ => None,
        });
        answers.fold((0, 0), |(all, lost), heard| {
            (all + 1, lost + u64::from(!heard))
        })
    }

    fn discarded(&self, why: DropReason) -> usize {
        let is_it = |event: &TraceEvent| match event {
            TraceEvent::Discarded { reason, .. } => *reason == why,
            _ => false,
        };
        self.events.iter().filter(|(_, event)| is_it(event)).count()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn twenty_equal_modems_share_an_overloaded_channel_equally() {
    for plant in [Plant::docsis30(), Plant::docsis11()] {
        let street = Street::new(plant, modems(20, "[cbr]\nrate = '10 Mbit/s'"));
        let delivered = street.run().delivered(20);
        let rates: Vec<f64> = delivered.iter().map(|(_, bytes)| *bytes as f64).collect();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let fairness = (mean(&rates) * 20.0).powi(2) / (20.0 * squares);
        assert!(fairness >= 0.99, "{fairness}");
    }
}

#[test]
fn bonded_channels_carry_the_sum_of_their_rates() {
    let street = Street::new(
        Plant::docsis30(),
        modems(20, "[cbr]\nrate = '8 Mbit/s'\nsize = '1500 B'"),
    );
    let delivered = street.run().delivered(20);
    let sum: u64 = delivered.iter().map(|(_, bytes)| bytes).sum();
    let rate = sum as f64 * 8.0 / 10.0;
    let capacity = street.plant.upstream_timing().capacity().0 as f64;
    // MAC headers take 10 of 1528 B. Every grant also has a segment header and is rounded to
    // minislots.
    assert!(
        (0.85..1.0).contains(&(rate / capacity)),
        "{rate} of {capacity}"
    );
}

#[test]
fn a_lone_modem_uses_all_channels_at_once() {
    let street = Street::new(
        Plant::docsis30(),
        modems(1, "[cbr]\nrate = '120 Mbit/s'\nsize = '1500 B'"),
    );
    let delivered = street.run().delivered(1);
    let rate = delivered[0].1 as f64 * 8.0 / 10.0;
    let capacity = street.plant.upstream_timing().capacity().0 as f64;
    assert!(
        (0.95..1.0).contains(&(rate / capacity)),
        "{rate} of {capacity}"
    );
}

#[test]
fn packets_of_a_modem_come_out_in_order_though_channels_are_cut_and_requests_collide() {
    for dequeue_at in [DequeueAt::Map, DequeueAt::Burst, DequeueAt::Request] {
        let street = Street {
            dequeue_at,
            ..Street::new(
                Plant::docsis30(),
                modems(30, "[poisson]\nrate = '3 Mbit/s'\nsizes = 'exponential'"),
            )
        };
        let outcome = street.run();
        let mut next = vec![0; 30];
        for (_, event) in &outcome.events {
            if let TraceEvent::Delivered { packet, .. } = event {
                let expected = &mut next[packet.group.0 as usize];
                assert_eq!(packet.seq, *expected);
                *expected += 1;
            }
        }
        let sent = outcome
            .events
            .iter()
            .filter(|(_, event)| matches!(event, TraceEvent::Sent { .. }));
        let sent = sent.count() as u64;
        // 90 of 107 Mb/s: all but the packets in flight at the end.
        assert!(
            sent - next.iter().sum::<u64>() < 3000,
            "{sent} {}",
            next.iter().sum::<u64>()
        );
    }
}

/// The share of MAPs in which modem 0 has a grant, and what it delivers in Mbit/s, from 1 s on.
fn saturated(street: &Street) -> (f64, f64) {
    let outcome = street.run();
    let interval = street.plant.upstream_timing().map_interval();
    let warm = Instant::ZERO + Duration::from_secs(1);
    let mut maps = std::collections::BTreeSet::new();
    let mut bytes = 0;
    for (_, event) in outcome.events.iter().filter(|(at, _)| *at >= warm) {
        match event {
            TraceEvent::Granted { queue, start, .. } if queue.0 == 0 => {
                maps.insert(start.as_nanos() / interval.as_nanos());
            }
            TraceEvent::Delivered { packet, .. } if packet.group.0 == 0 => {
                bytes += u64::from(packet.size) + 18;
            }
            _ => {}
        }
    }
    let seconds = (street.seconds - 1) as f64;
    let all = seconds / interval.as_secs_f64();
    (maps.len() as f64 / all, bytes as f64 * 8e-6 / seconds)
}

#[test]
fn a_saturated_flow_has_a_grant_in_nearly_every_map_and_its_whole_rate() {
    for rate in [10_000_000, 50_000_000, 200_000_000] {
        for dequeue_at in [DequeueAt::Map, DequeueAt::Burst, DequeueAt::Request] {
            let mut one = modem("cbr = { rate = \"250 Mbit/s\", size = \"1500 B\" }");
            one.limits = limited(rate);
            let street = Street {
                dequeue_at,
                seconds: 4,
                ..Street::new(Plant::docsis31(), vec![one])
            };
            let (maps, mbits) = saturated(&street);
            assert!(maps > 0.95, "{rate} {dequeue_at:?}: {maps}");
            let share = mbits * 1e6 / rate as f64;
            assert!(
                (0.99..1.002).contains(&share),
                "{rate} {dequeue_at:?}: {share}"
            );
        }
    }
}

#[test]
fn a_flow_that_must_not_contend_while_a_request_is_outstanding_misses_maps() {
    let share = |is_forbidden| {
        // The load is below the rate, so that no part of a request is outstanding because tokens
        // are missing.
        let mut one = modem("cbr = { rate = \"45 Mbit/s\", size = \"1500 B\" }");
        one.limits = limited(50_000_000);
        one.limits.burst = 1_000_000;
        one.qos.policy.no_contention_while_outstanding = is_forbidden;
        let street = Street {
            seconds: 4,
            ..Street::new(Plant::docsis31(), vec![one])
        };
        saturated(&street).0
    };
    let [may, must_not] = [share(false), share(true)];
    // Each burst carries the next request. The MAP after the next answers it, or the next MAP if
    // the burst starts in the first 0.405 of 2.025 ms: grants are 1.8 MAPs apart.
    assert!((must_not - 1.0 / 1.8).abs() < 0.04, "{must_not}");
    assert!(may > must_not + 0.1, "{may}");
}

/// A plant whose MAP interval varies from 0.1 to 2 ms.
fn with_varying_maps(plant: Plant) -> Plant {
    Plant {
        shortest_map_interval: Some(Duration::from_micros(100)),
        ..plant
    }
}

#[test]
fn maps_that_are_short_under_light_load_answer_a_lone_request_sooner() {
    let median = |plant: Plant| {
        let sparse = "poisson = { rate = \"8 kbit/s\", size = \"100 B\" }";
        let outcome = Street {
            seconds: 60,
            ..Street::new(plant, modems(1, sparse))
        };
        let delays = outcome.run().delays_ms();
        delays[delays.len() / 2]
    };
    let fixed = median(Plant::docsis10());
    let varying = median(with_varying_maps(Plant::docsis10()));
    // The delay is half an interval until the next MAP, and half of one until the grant in it: 2 ms
    // together, or a tenth of that with short MAPs.
    assert!((1.4..2.4).contains(&(fixed - varying)), "{fixed} {varying}");
}

#[test]
fn maps_of_a_busy_channel_are_long_and_carry_as_much_as_fixed_ones() {
    let street = |plant: Plant| {
        let cbr = "cbr = { rate = \"4 Mbit/s\", size = \"1000 B\" }";
        let street = Street::new(plant, modems(6, cbr));
        let bytes: u64 = street
            .run()
            .delivered(6)
            .iter()
            .map(|&(_, bytes)| bytes)
            .sum();
        bytes as f64 * 8e-6 / street.seconds as f64
    };
    // Requests are piggybacked in bursts, so that contention is not the limit.
    let fixed = street(Plant::docsis11());
    let varying = street(with_varying_maps(Plant::docsis11()));
    assert!((varying / fixed - 1.0).abs() < 0.05, "{fixed} {varying}");
}

#[test]
fn a_lone_request_never_collides_and_with_contenders_the_more_collide_the_smaller_the_window() {
    // Each modem sends sparse packets, so that every packet contends: Poisson, 50 a second each.
    let lost = |count: usize, start: u8| {
        let mut plant = Plant::docsis30();
        plant.contention.data_start = start;
        let street = Street::new(
            plant,
            modems(count, "[poisson]\ngap = '20 ms'\nsize = '100 B'"),
        );
        let (answered, collided) = street.run().answered();
        collided as f64 / answered as f64
    };
    assert!(lost(1, 4) < f64::EPSILON);
    let (few, many) = (lost(10, 4), lost(60, 4));
    assert!(few > 0.01 && many > 2.0 * few, "{few} {many}");
    // As long as retries are few, Poisson requests are spread evenly over opportunities. One of the
    // n − 1 other modems sends in the same opportunity with the probability 1 − exp(−rate per
    // opportunity); there are 20 opportunities in 2 ms. Some packets need no request of their own,
    // and retries add some requests.
    let opportunities = 20.0 / 2e-3;
    let expected = 1.0 - headend::math::exp(-9.0 * 50.0 / opportunities);
    assert!((0.7..1.3).contains(&(few / expected)), "{few} {expected}");
}

#[test]
fn modems_that_wake_together_collide_as_the_closed_form_says() {
    // All modems have a packet at the same time, every 100 ms: n modems draw from the same window
    // of W opportunities.
    for (count, start) in [(5_i32, 4_u8), (20, 4), (20, 6)] {
        let mut plant = Plant::docsis31();
        plant.contention.data_start = start;
        let application = "[cbr]\ngap = '100 ms'\nsize = '100 B'";
        let street = Street {
            seconds: 100,
            ..Street::new(plant, modems(count as usize, application))
        };
        let outcome = street.run();
        // The first attempts are those drawn from the first window.
        let (mut tries, mut lost) = (0.0, 0.0);
        let mut first = vec![false; count as usize];
        for (_, event) in &outcome.events {
            match event {
                TraceEvent::Deferred { queue, window, .. } => {
                    first[queue.0 as usize] = *window == 1 << start;
                }
                TraceEvent::Answered { queue, heard, .. } if first[queue.0 as usize] => {
                    tries += 1.0;
                    lost += f64::from(u8::from(!heard));
                }
                _ => {}
            }
        }
        let window = f64::from(1_u32 << start);
        let expected = 1.0 - (1.0 - 1.0 / window).powi(count - 1);
        let found: f64 = lost / tries;
        assert!(
            (found - expected).abs() < 0.02,
            "{count} {start}: {found} {expected}"
        );
    }
}

#[test]
fn delay_grows_with_contenders_and_too_small_a_window_makes_it_worse() {
    let delay = |count: usize, start: u8| {
        let mut plant = Plant::docsis30();
        plant.contention.data_start = start;
        let street = Street::new(plant, modems(count, "[cbr]\ngap = '50 ms'\nsize = '100 B'"));
        mean(&street.run().delays_ms())
    };
    let (alone, many) = (delay(1, 4), delay(60, 4));
    assert!(many > 1.3 * alone, "{alone} {many}");
    assert!(delay(60, 1) > many);
}

#[test]
fn a_request_that_is_tried_too_often_is_given_up_with_its_packets() {
    let mut plant = Plant::docsis30();
    plant.contention.data_start = 0;
    plant.contention.data_end = 1;
    plant.contention.retries = 3;
    let street = Street::new(plant, modems(4, "[cbr]\ngap = '100 ms'\nsize = '100 B'"));
    let outcome = street.run();
    let given_up = outcome.discarded(DropReason::RetryLimit);
    assert!(given_up > 50, "{given_up}");
    let delivered: u64 = outcome
        .delivered(4)
        .iter()
        .map(|(packets, _)| packets)
        .sum();
    assert!(delivered > 50, "{delivered}");
    // No request is sent more than three times.
    let mut tries = [0; 4];
    for (_, event) in &outcome.events {
        match event {
            TraceEvent::Requested { queue, .. } => {
                tries[queue.0 as usize] += 1;
                assert!(tries[queue.0 as usize] <= 3);
            }
            TraceEvent::Answered {
                queue, heard: true, ..
            } => tries[queue.0 as usize] = 0,
            TraceEvent::Discarded {
                queue: Some(queue), ..
            } => {
                assert_eq!(std::mem::take(&mut tries[queue.0 as usize]), 3);
            }
            _ => {}
        }
    }
}

#[test]
fn priority_and_reserved_rates_hold_under_overload() {
    let mut street = Street::new(
        Plant::docsis30(),
        modems(20, "[cbr]\nrate = '20 Mbit/s'\nsize = '1500 B'"),
    );
    street.modems[3].qos.priority = 5;
    street.modems[3].limits = limited(15_000_000);
    street.modems[7].qos.minimum_reserved = Rate(10_000_000);
    let delivered = street.run().delivered(20);
    let mbits = |modem: usize| delivered[modem].1 as f64 * 8.0 / 10e6;
    assert!(mbits(3) > 0.98 * 15.0, "{}", mbits(3));
    assert!(mbits(7) > 0.99 * 10.0, "{}", mbits(7));
    assert!((2.0..6.0).contains(&mbits(0)), "{}", mbits(0));
}

#[test]
fn unsolicited_grants_carry_a_call_through_a_saturated_channel_within_their_interval() {
    let mut street = Street::new(
        Plant::docsis30(),
        modems(20, "[cbr]\nrate = '20 Mbit/s'\nsize = '1500 B'"),
    );
    let ugs = UnsolicitedGrants::default();
    street.modems[0].qos.scheduling = Scheduling::Ugs(ugs.clone());
    street.modems[0].application = "[cbr]\ngap = '20 ms'\nsize = '200 B'";
    let outcome = street.run();
    let timing = street.plant.upstream_timing();
    let mut starts = Vec::new();
    let mut worst = Duration::ZERO;
    for (_, event) in &outcome.events {
        match event {
            TraceEvent::Granted { queue, start, .. } if queue.0 == 0 => starts.push(*start),
            TraceEvent::Delivered { packet, delay } if packet.group.0 == 0 => {
                worst = worst.max(*delay);
            }
            TraceEvent::Requested { queue, .. } => assert_ne!(queue.0, 0, "it never asks"),
            _ => {}
        }
    }
    assert!(starts.len() >= 498, "{}", starts.len());
    // Two grants are an interval apart, up to the jitter.
    for pair in starts.windows(2) {
        let gap = (pair[1] - pair[0]).as_secs_f64() * 1e3;
        assert!((18.0..=22.0).contains(&gap), "{gap} ms");
    }
    // A packet waits for the next MAP with a grant, which reaches the modem before the grant
    // starts.
    let most = ugs.interval + ugs.jitter + timing.map_interval() * 2 + timing.modem_map_processing;
    assert!(worst < most, "{worst:?}");
}

#[test]
fn a_polled_flow_never_contends_and_waits_for_its_poll_at_most() {
    let mut street = Street::new(
        Plant::docsis30(),
        modems(20, "[cbr]\nrate = '6 Mbit/s'\nsize = '1500 B'"),
    );
    street.modems[0].qos.priority = 7;
    street.modems[0].qos.scheduling = Scheduling::RtPs(Polling {
        interval: Duration::from_millis(10),
        jitter: Duration::from_millis(2),
    });
    street.modems[0].application = "[cbr]\ngap = '33 ms'\nsize = '1000 B'";
    let outcome = street.run();
    let mut delivered = 0;
    for (_, event) in &outcome.events {
        match event {
            TraceEvent::Requested {
                queue, contention, ..
            } if queue.0 == 0 => assert!(!contention),
            TraceEvent::Delivered { packet, delay } if packet.group.0 == 0 => {
                delivered += 1;
                assert!(*delay < Duration::from_millis(10 + 8), "{delay:?}");
            }
            _ => {}
        }
    }
    assert!(delivered >= 300, "{delivered}");
}

#[test]
fn proactive_grants_spare_a_flow_the_request() {
    let application = "[cbr]\ngap = '21.7 ms'\nsize = '200 B'";
    let mut street = Street::new(Plant::docsis31(), modems(2, application));
    street.modems[1].qos.scheduling = Scheduling::Pgs(ProactiveGrants {
        rate: Rate(2_000_000),
        interval: Some(Duration::from_millis(2)),
        ..ProactiveGrants::default()
    });
    let outcome = street.run();
    let delays = |modem: u32| -> Vec<f64> {
        let delay = |event: &TraceEvent| match event {
            TraceEvent::Delivered { packet, delay } if packet.group.0 == modem => {
                Some(delay.as_secs_f64() * 1e3)
            }
            _ => None,
        };
        outcome
            .events
            .iter()
            .filter_map(|(_, event)| delay(event))
            .collect()
    };
    let (requested, proactive) = (mean(&delays(0)), mean(&delays(1)));
    assert!(proactive < 0.6 * requested, "{proactive} {requested} ms");
    let contends = |event: &TraceEvent| match event {
        TraceEvent::Requested {
            queue, contention, ..
        } => queue.0 == 1 && *contention,
        _ => false,
    };
    assert!(!outcome.events.iter().any(|(_, event)| contends(event)));
}

/// Delays of a modem's packets behind proactive grants of 5 Mbit/s each millisecond, from the
/// shortest to the longest, in ms.
fn behind_proactive_grants(map_millis: u64, dequeue_at: DequeueAt) -> Vec<f64> {
    let mut plant = Plant::docsis31();
    plant.map_interval = Duration::from_millis(map_millis);
    let mut street = Street::new(plant, modems(1, "[cbr]\ngap = '21.7 ms'\nsize = '200 B'"));
    street.dequeue_at = dequeue_at;
    street.modems[0].qos.scheduling = Scheduling::Pgs(ProactiveGrants {
        rate: Rate(5_000_000),
        interval: Some(Duration::from_millis(1)),
        ..ProactiveGrants::default()
    });
    let outcome = street.run();
    let contends = |event: &TraceEvent| {
        matches!(
            event,
            TraceEvent::Requested {
                contention: true,
                ..
            }
        )
    };
    assert!(!outcome.events.iter().any(|(_, event)| contends(event)));
    outcome.delays_ms()
}

#[test]
fn a_proactive_grant_takes_what_waits_when_its_burst_is_prepared_however_long_maps_are() {
    let timing = Plant::docsis31().upstream_timing();
    // The next grant but one that is prepared at least `burst_preparation` before it begins: seven
    // frames, and half of that as jitter. The burst and its way through the CMTS follow.
    let interval = timing.frame * 7;
    let most = timing.burst_preparation
        + interval
        + interval / 2
        + timing.frame * 2
        + timing.propagation
        + timing.cmts_pipeline;
    for map_millis in [1, 2, 4] {
        let delays = behind_proactive_grants(map_millis, DequeueAt::Burst);
        assert!(delays.len() >= 459, "{map_millis} ms: {}", delays.len());
        let worst = delays[delays.len() - 1];
        assert!(
            worst <= most.as_secs_f64() * 1e3,
            "{map_millis} ms: {worst} ms"
        );
    }
}

#[test]
fn a_proactive_grant_that_is_filled_when_its_map_arrives_comes_later_with_longer_maps() {
    let mean_of = |map_millis| mean(&behind_proactive_grants(map_millis, DequeueAt::Map));
    let [short, long] = [1, 4].map(mean_of);
    // Packets arrive anywhere between two MAPs, of 7 or of 29 frames: they wait 11 frames longer
    // for theirs in the mean. Where the first grant of a MAP lies moves this by up to a grant
    // interval and its jitter, 10.5 frames, either way.
    let frame = Plant::docsis31().upstream_timing().frame.as_secs_f64() * 1e3;
    let longer = (long - short) / frame;
    assert!((longer - 11.0).abs() < 10.5, "{short} {long} ms");
}

#[test]
fn a_flow_whose_proactive_grants_have_no_room_sends_requests_like_others() {
    let mut street = Street::new(Plant::docsis31(), modems(2, "[cbr]\nrate = '1 Mbit/s'"));
    let timing = street.plant.upstream_timing();
    // Six tenths of a MAP each: there is never room for the second grant.
    let share = Rate(timing.capacity().0 * 6 / 10);
    for modem in &mut street.modems {
        modem.qos.scheduling = Scheduling::Pgs(ProactiveGrants {
            rate: share,
            ..ProactiveGrants::default()
        });
    }
    let delivered = street.run().delivered(2);
    let [one, other] = [delivered[0].0, delivered[1].0];
    assert!(one > 0 && one.abs_diff(other) * 100 <= one, "{delivered:?}");
}

#[test]
fn a_modem_of_docsis10_sends_a_packet_in_two_map_intervals_whatever_its_rate() {
    for limits in [unlimited(), limited(5_000_000)] {
        let mut street = Street::new(
            Plant::docsis10(),
            modems(1, "[cbr]\nrate = '8 Mbit/s'\nsize = '1500 B'"),
        );
        street.modems[0].limits = limits;
        let delivered = street.run().delivered(1);
        // 1500 B of IP in 4 ms.
        let mbits = delivered[0].0 as f64 * 1500.0 * 8.0 / 10e6;
        assert!((mbits - 3.0).abs() < 0.1, "{mbits}");
    }
    let street = Street::new(
        Plant::docsis10(),
        modems(1, "[cbr]\nrate = '1 Mbit/s'\nsize = '64 B'"),
    );
    let packets = street.run().delivered(1)[0].0;
    assert!((2450..=2510).contains(&packets), "{packets} in ten seconds");
}

#[test]
fn a_download_through_a_modem_of_docsis10_gets_two_segments_for_each_acknowledgement_that_fits() {
    let mut street = Street::new(Plant::docsis10(), modems(1, "[bulk]"));
    street.modems[0].direction = Direction::Down;
    street.seconds = 20;
    let outcome = street.run();
    // Only acknowledgements limit the segments: 250 acknowledgements a second, each for two
    // segments.
    let half = Instant::from_nanos(10_000_000_000);
    let segments = outcome.events.iter().filter(|(at, event)| {
        matches!(event, TraceEvent::Delivered { packet, .. } if packet.payload > 0 && *at > half)
    });
    let rate = segments.count() as f64 / 10.0;
    assert!((rate - 500.0).abs() < 15.0, "{rate} segments a second");
}

#[test]
fn concatenation_and_piggybacking_lift_what_docsis10_was_held_by() {
    let rate = |plant: Plant, size: &'static str| {
        let street = Street::new(plant, modems(1, size));
        street.run().delivered(1)[0].0
    };
    let small = "[cbr]\nrate = '1 Mbit/s'\nsize = '64 B'";
    let (old, new) = (
        rate(Plant::docsis10(), small),
        rate(Plant::docsis11(), small),
    );
    // A burst of up to 1522 B holds 17 such packets; 1 Mbit/s are 1953 packets a second.
    assert!(old < 2510 && new > 19_000, "{old} {new}");
}

#[test]
fn a_modem_that_comes_up_during_the_run_drops_what_is_sent_before_it_is_registered() {
    let mut street = Street::new(
        Plant::docsis31(),
        modems(10, "[cbr]\ngap = '10 ms'\nsize = '200 B'"),
    );
    street.seconds = 40;
    for modem in &mut street.modems[5..] {
        modem.online_at = Some(Instant::from_nanos(5_000_000_000));
    }
    let outcome = street.run();
    // After a modem's first packet that is enqueued, all of its packets are.
    let mut first = [None; 10];
    let mut refused = [0; 10];
    for (at, event) in &outcome.events {
        match event {
            TraceEvent::Enqueued { queue, .. } => {
                first[queue.0 as usize].get_or_insert(*at);
            }
            TraceEvent::Discarded {
                queue: Some(queue),
                reason,
                ..
            } => {
                assert_eq!(*reason, DropReason::NotRegistered);
                assert_eq!(first[queue.0 as usize], None);
                refused[queue.0 as usize] += 1;
            }
            _ => {}
        }
    }
    for (modem, (delivered, _)) in outcome.delivered(10).into_iter().enumerate() {
        let sent = 4000;
        assert!(
            refused[modem] + delivered >= sent - 1,
            "{modem}: {delivered}"
        );
        let first = first[modem].map_or(40.0, Instant::as_secs_f64);
        if modem < 5 {
            assert_eq!(refused[modem], 0);
        } else {
            assert!(first > 5.0 && first < 40.0, "{modem}: {first} s");
            assert_eq!(refused[modem], (first * 100.0).round() as u64);
        }
    }
}

#[test]
fn neighbours_take_capacity_and_get_in_the_way_of_requests() {
    let neighbours = |load: f64, requests: f64| Neighbours {
        load,
        burstiness: 0.5,
        correlation: Duration::from_millis(100),
        time_of_day: Vec::new(),
        requests_per_second: requests,
        rng: Rng::for_path(1, "neighbours"),
    };
    let saturated = |load: f64| {
        let street = Street {
            neighbours: Some(neighbours(load, 0.0)),
            ..Street::new(
                Plant::docsis30(),
                modems(2, "[cbr]\nrate = '80 Mbit/s'\nsize = '1500 B'"),
            )
        };
        let bytes: u64 = street
            .run()
            .delivered(2)
            .iter()
            .map(|(_, bytes)| bytes)
            .sum();
        bytes as f64 * 8.0 / 10.0 / street.plant.upstream_timing().capacity().0 as f64
    };
    let (free, half) = (saturated(0.0), saturated(0.4));
    assert!((free - half - 0.4).abs() < 0.04, "{free} {half}");
    let street = Street {
        neighbours: Some(neighbours(0.1, 3000.0)),
        ..Street::new(
            Plant::docsis30(),
            modems(1, "[cbr]\ngap = '23 ms'\nsize = '100 B'"),
        )
    };
    let (answered, collided) = street.run().answered();
    // 3000 requests a second over 10 000 opportunities. The load, and with it the number of
    // requests, is log-normal: the share is a little less than 1 − exp(−0.3).
    let share = collided as f64 / answered as f64;
    assert!((0.18..0.32).contains(&share), "{share}");
}

#[test]
fn a_street_is_the_same_twice_and_another_with_another_seed() {
    let run = |seed| {
        let street = Street {
            seed,
            seconds: 3,
            ..Street::new(
                Plant::docsis30(),
                modems(50, "[poisson]\nrate = '1 Mbit/s'"),
            )
        };
        street.run().events
    };
    let (once, twice, other) = (run(1), run(1), run(2));
    assert!(once == twice);
    assert!(once != other);
}

#[test]
fn what_one_modem_sends_does_not_shift_the_backoff_of_another() {
    let deferrals = |application: &'static str| {
        let mut street = Street::new(
            Plant::docsis31(),
            modems(2, "[cbr]\ngap = '50 ms'\nsize = '100 B'"),
        );
        street.modems[1].application = application;
        let outcome = street.run();
        let mut deferred = Vec::new();
        for (at, event) in &outcome.events {
            if let TraceEvent::Deferred {
                queue,
                opportunity,
                window: 16,
            } = event
                && queue.0 == 0
            {
                deferred.push((*at, *opportunity));
            }
        }
        deferred
    };
    // The second modem sends at other times than the first, so that they seldom contend together.
    let quiet = deferrals("[cbr]\ngap = '1000 s'\nsize = '100 B'");
    let busy = deferrals("[cbr]\ngap = '50 ms'\nsize = '1000 B'\nrandom_phase = true");
    let same = quiet.iter().filter(|one| busy.contains(one)).count();
    assert!(same * 10 >= quiet.len() * 8, "{same} of {}", quiet.len());
}

#[test]
fn idle_modems_cost_nothing() {
    let events = |count: usize| {
        let mut street = Street::new(
            Plant::docsis31(),
            modems(count, "[cbr]\ngap = '1000 s'\nsize = '100 B'"),
        );
        street.modems[0].application = "[cbr]\ngap = '20 ms'\nsize = '100 B'";
        street.run().simulation.events()
    };
    // The application of each idle modem starts and sends its one packet.
    let (few, many) = (events(10), events(200));
    assert!(many - few < 190 * 12, "{few} {many}");
}

#[test]
fn the_life_of_a_request_can_be_followed() {
    let mut plant = Plant::docsis31();
    plant.contention.data_start = 1;
    let street = Street::new(plant, modems(6, "[cbr]\ngap = '1 s'\nsize = '400 B'"));
    let outcome = street.run();
    let of = |modem: u32| -> Vec<&'static str> {
        let name = |event: &TraceEvent| match event {
            TraceEvent::Enqueued { queue, .. } if queue.0 == modem => Some("arrives"),
            TraceEvent::Deferred { queue, .. } if queue.0 == modem => Some("defers"),
            TraceEvent::Requested {
                queue,
                opportunity: Some(_),
                ..
            } if queue.0 == modem => Some("asks"),
            TraceEvent::Answered {
                queue,
                heard: false,
                ..
            } if queue.0 == modem => Some("collides"),
            TraceEvent::Answered {
                queue, heard: true, ..
            } if queue.0 == modem => Some("heard"),
            TraceEvent::Granted { queue, .. } if queue.0 == modem => Some("granted"),
            TraceEvent::Dequeued { queue, .. } if queue.0 == modem => Some("drawn"),
            TraceEvent::Prepared { queue, .. } if queue.0 == modem => Some("prepared"),
            TraceEvent::Delivered { packet, .. } if packet.group.0 == modem => Some("delivered"),
            _ => None,
        };
        outcome
            .events
            .iter()
            .filter_map(|(_, event)| name(event))
            .collect()
    };
    let mut collisions = 0;
    for modem in 0..6 {
        let life = of(modem);
        for packet in life.split_inclusive(|step| *step == "delivered") {
            if packet.last() != Some(&"delivered") {
                continue;
            }
            assert_eq!(packet[0], "arrives");
            let tail = &packet[packet.len() - 5..];
            assert_eq!(tail, ["heard", "granted", "drawn", "prepared", "delivered"]);
            let tries = &packet[1..packet.len() - 5];
            collisions += tries.iter().filter(|step| **step == "collides").count();
            let expected = ["defers", "asks", "collides"].iter().cycle();
            assert!(
                tries
                    .iter()
                    .zip(expected)
                    .all(|(found, expected)| found == expected)
            );
        }
    }
    assert!(collisions > 10, "{collisions}");
}

#[test]
fn unsolicited_grants_of_a_1_1_modem_carry_whole_packets_and_drop_what_never_fits() {
    let mut street = Street::new(
        Plant::docsis11(),
        modems(2, "[cbr]\ngap = '20 ms'\nsize = '200 B'"),
    );
    let ugs = UnsolicitedGrants {
        size: ByteCount(240),
        ..UnsolicitedGrants::default()
    };
    for modem in &mut street.modems {
        modem.qos.scheduling = Scheduling::Ugs(ugs.clone());
    }
    street.modems[1].application = "[cbr]\ngap = '20 ms'\nsize = '400 B'";
    let outcome = street.run();
    let delivered = outcome.delivered(2);
    assert!(delivered[0].0 >= 498, "{}", delivered[0].0);
    assert_eq!(delivered[1].0, 0);
    assert!(outcome.discarded(DropReason::Overlimit) >= 498);
}
