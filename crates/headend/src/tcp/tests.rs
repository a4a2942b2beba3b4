//! Whole connections in whole simulations: over lossy lines, a bottleneck, and links that lose what a test tells them to.

use std::fmt;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::aqm::DropTail;
use crate::congestion::{cubic, reno};
use crate::context::QueueInternals;
use crate::flow::{FlowTable, Hop, Port};
use crate::line::Line;
use crate::link::{DirectionSetup, Link, PointToPoint, RateSchedule, Transmitter};
use crate::metrics::Recorder;
use crate::metrics::recorder::{GroupInfo, QueueInfo};
use crate::metrics::table::Column;
use crate::qdisc::{BacklogLimit, Fifo, Framing, Queue};
use crate::rng::Rng;
use crate::simulation::{AppSetup, Parts, Simulation};
use crate::trace::{DropReason, QueueId};
use crate::traffic::{AppContext, AppEvent, Application, GroupSetup, Peer};
use crate::units::{Probability, Rate};

/// What an application does on its one connection: sends, expects as much, closes each side once it has read all.
#[derive(Debug)]
struct Exchange {
    /// Bytes sent by each side.
    bytes: [u64; 2],
    /// Whether the stream's reader closes both sides once all has arrived.
    closes: bool,
    received: usize,
    log: Log,
}

/// News in order, with the time they came.
type Log = Arc<Mutex<Vec<(Instant, News)>>>;

impl Application for Exchange {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                let flow = cx.connect(0, Side::Host);
                for side in Side::BOTH {
                    let bytes = self.bytes[side.index()];
                    if bytes > 0 {
                        cx.send(flow, side, bytes);
                    }
                    if bytes < u64::MAX {
                        cx.expect(flow, side.other(), bytes);
                    }
                }
            }
            AppEvent::Flow { flow, news } => {
                self.log.lock().unwrap().push((cx.now, news));
                if let News::Received { .. } = news {
                    self.received += 1;
                    if self.received == 2 && self.closes {
                        cx.close(flow, Side::Host);
                        cx.close(flow, Side::Peer);
                    }
                }
            }
            AppEvent::Stopped | AppEvent::Timer { .. } => {}
        }
    }
}

/// A link without rate or queue that loses, delays or marks what a test tells it to.
struct Scripted {
    fate: Box<dyn FnMut(&mut Packet) -> Fate + Send>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Lose,
    Pass,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Link for Scripted {
    fn offer(&mut self, _port: Port, mut packet: Packet, cx: &mut Context<'_>) {
        match (self.fate)(&mut packet) {
            Fate::Lose => cx.discard(packet, DropReason::Corrupted),
            Fate::Pass => cx.forward(packet),
        }
    }
    fn wake(&mut self, _token: u64, _cx: &mut Context<'_>) {}
    fn visit_queues(&self, _now: Instant, _visit: &mut dyn FnMut(QueueId, QueueInternals)) {}
    fn held(&self) -> u64 {
        0
    }
}

/// A simulation of one connection, or several alike.
struct Setup {
    link: Box<dyn Link>,
    tcp: Vec<Config>,
    bytes: [u64; 2],
    closes: bool,
    one_way: Duration,
    loss: f64,
    duration: Duration,
    seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            link: Box::new(Scripted {
                fate: Box::new(|_| Fate::Pass),
            }),
            tcp: vec![Config::default()],
            bytes: [0, 100_000],
            closes: true,
            one_way: Duration::from_millis(20),
            loss: 0.0,
            duration: Duration::from_secs(300),
            seed: 1,
        }
    }
}

impl Setup {
    fn build(self) -> (Simulation, Vec<Log>) {
        let mut flows = FlowTable::default();
        let link = |port| Hop::Link {
            link: 0,
            port: Port(port),
        };
        let routes = [
            flows.add_route(vec![link(0), Hop::Line(0), Hop::End]),
            flows.add_route(vec![link(1), Hop::Line(1), Hop::End]),
        ];
        let logs: Vec<Log> = self.tcp.iter().map(|_| Log::default()).collect();
        let apps = self
            .tcp
            .iter()
            .zip(&logs)
            .enumerate()
            .map(|(n, (tcp, log))| AppSetup {
                app: Box::new(Exchange {
                    bytes: self.bytes,
                    closes: self.closes,
                    received: 0,
                    log: Arc::clone(log),
                }),
                rng: Rng::for_path(self.seed, "app"),
                group: GroupSetup {
                    address: 1,
                    peers: vec![Peer { routes, address: 2 }],
                    tcp: tcp.clone(),
                    dscp: 0,
                    name: format!("transfer{n}"),
                    seed: self.seed,
                    opened: 0,
                },
                start: Instant::ZERO,
                stop: None,
            });
        let groups = (0..self.tcp.len()).map(|n| GroupInfo {
            name: format!("transfer{n}"),
            application: "exchange",
            transport: "tcp",
            carries_data: [true; 2],
            is_bulk: true,
        });
        let queues = [0, 1].map(|direction| QueueInfo {
            name: format!("link.{direction}"),
            link: "link".to_owned(),
            direction: "up",
            discipline: "fifo",
            rate_bps: 0,
            limit_bytes: None,
        });
        let lines = [0, 1].map(|n| {
            let rng = Rng::for_path(self.seed, &format!("line{n}"));
            let jitter = Duration::from_micros(100);
            Line::new(self.one_way, jitter, Probability(self.loss), rng)
        });
        let simulation = Simulation::new(Parts {
            links: vec![self.link],
            lines: lines.into(),
            apps: apps.collect(),
            recorder: Recorder::new(
                groups.collect(),
                queues.into(),
                self.duration / 10,
                self.duration,
            ),
            flows,
            bucket: Duration::from_micros(100),
            warmup: Duration::ZERO,
            duration: self.duration,
        });
        (simulation, logs)
    }

    /// Runs to the end; the news of the first connection.
    fn run(self) -> (Simulation, Vec<(Instant, News)>) {
        let end = Instant::ZERO + self.duration;
        let (mut simulation, logs) = self.build();
        simulation.run_until(end);
        let _ = simulation.tables();
        let news = logs[0].lock().unwrap().clone();
        (simulation, news)
    }
}

/// A bottleneck of `rate` with a drop-tail queue of `buffer` IP bytes in each direction.
fn bottleneck(rate: Rate, buffer: u64) -> Box<dyn Link> {
    let direction = |index: u16| DirectionSetup {
        queue: Queue::new(
            QueueId(u32::from(index)),
            Box::new(Fifo::new(BacklogLimit::Bytes(buffer), Box::new(DropTail))),
            PointToPoint::update_token(Port(index)),
        ),
        transmitter: Transmitter::new(RateSchedule::Constant(rate)),
        delay: Duration::ZERO,
        framing: Framing::IP,
        mtu: 1500,
    };
    Box::new(PointToPoint::new(direction(0), direction(1)))
}

fn reno() -> CongestionConfig {
    CongestionConfig::Reno(reno::Config::default())
}

fn cubic() -> CongestionConfig {
    CongestionConfig::Cubic(cubic::Config::default())
}

#[track_caller]
fn assert_complete(news: &[(Instant, News)], bytes: [u64; 2]) {
    let kinds: Vec<News> = news.iter().map(|(_, news)| *news).collect();
    assert_eq!(
        kinds
            .iter()
            .filter(|news| **news == News::Connected)
            .count(),
        1
    );
    for side in Side::BOTH {
        let received = News::Received {
            at: side.other(),
            total: bytes[side.index()],
        };
        assert_eq!(
            kinds.iter().filter(|news| **news == received).count(),
            1,
            "{received:?} in {kinds:?}"
        );
    }
    assert_eq!(kinds.last(), Some(&News::Closed));
    assert_eq!(kinds.len(), 4);
}

#[test]
fn a_transfer_without_losses_completes_and_closes() {
    let (simulation, news) = Setup::default().run();
    assert_complete(&news, [0, 100_000]);
    // SYN, SYN-ACK: 40 ms. 14480, 28960, 57920 bytes are three rounds more, and the last ends half a round early.
    let received = news[news.len() - 2].0;
    let rounds = received.as_secs_f64() / 0.040;
    assert!((4.0..4.2).contains(&rounds), "{rounds} round trips");
    assert!(simulation.events() < 300, "{}", simulation.events());
}

/// The sum of a column of a result table.
fn total(simulation: &mut Simulation, table: &str, column: &str) -> u64 {
    let tables = simulation.tables();
    let (_, table) = tables
        .iter()
        .find(|(name, _)| *name == table)
        .expect("a table of results");
    match table.get(column) {
        Some(Column::Integer(values)) => values.iter().sum(),
        _ => panic!("a column of integers"),
    }
}

/// The configurations whose recovery differs.
fn variants() -> Vec<Config> {
    let mut variants = Vec::new();
    for congestion in [reno(), cubic()] {
        for (sack, timestamps, ecn) in [
            (true, true, EcnMode::Off),
            (true, false, EcnMode::On),
            (false, true, EcnMode::On),
            (false, false, EcnMode::Off),
        ] {
            variants.push(Config {
                congestion: congestion.clone(),
                sack,
                timestamps,
                ecn,
                ..Config::default()
            });
        }
    }
    variants
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever is lost, SYN, data, acknowledgement or FIN: all bytes arrive in order, both ways, and the connection closes.
    #[test]
    fn every_byte_arrives_over_a_lossy_line(
        seed in any::<u64>(),
        loss in 0.0..0.25,
        up in 0_u64..200_000,
        down in 0_u64..200_000,
    ) {
        for config in variants() {
            let bytes = [up, down];
            let setup = Setup {
                tcp: vec![Config { syn_retries: 30, ..config }],
                bytes,
                loss,
                seed,
                duration: Duration::from_secs(36_000),
                ..Setup::default()
            };
            let (mut simulation, news) = setup.run();
            assert_complete(&news, bytes);
            prop_assert_eq!(total(&mut simulation, "flows", "goodput_bytes"), up + down);
            // No livelock: some hundred segments need no more than a few events each, and those of the series.
            prop_assert!(simulation.events() < 5_000, "{} events", simulation.events());
        }
    }
}

#[test]
fn reno_fills_a_line_whose_buffer_is_one_bandwidth_delay_product() {
    for congestion in [reno(), cubic()] {
        // 40 Mbit/s · 50 ms = 250 kB.
        let setup = Setup {
            link: bottleneck(Rate(40_000_000), 250_000),
            tcp: vec![Config {
                congestion,
                ..Config::default()
            }],
            bytes: [0, u64::MAX],
            one_way: Duration::from_millis(25),
            duration: Duration::from_secs(60),
            ..Setup::default()
        };
        let (mut simulation, _) = setup.run();
        let goodput = total(&mut simulation, "flows", "goodput_bytes");
        let most = 40_000_000_u64 / 8 * 60 * 1448 / 1500;
        let share = goodput as f64 / most as f64;
        assert!(share > 0.95, "{share}");
        println!(
            "{share} {}",
            total(&mut simulation, "flows", "retransmitted")
        );
    }
}
