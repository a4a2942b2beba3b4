//! Whole connections in whole simulations: over lossy lines, a bottleneck, and links that lose what
//! a test tells them to.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::aqm::DropTail;
use crate::congestion::{CongestionConfig, bbr3, reno};
use crate::flow::{FlowTable, Hop, Port};
use crate::line::{Harm, Line, Loss};
use crate::link::{
    DirectionSetup, Link, PointToPoint, RateSchedule, Transmitter, Varying, Visitor,
};
use crate::metrics::Recorder;
use crate::metrics::recorder::{GroupInfo, QueueInfo};
use crate::metrics::table::Column;
use crate::qdisc::{Fifo, Queue};
use crate::queue::{BacklogLimit, Framing};
use crate::rng::Rng;
use crate::simulation::{AppSetup, Parts, Simulation};
use crate::tcp::systems::System;
use crate::tcp::{FastRecovery, PrrMode};
use crate::time::Duration;
use crate::trace::{
    DropReason, LossTrigger, QueueId, SenderEvent, SenderState, Sink, TraceEvent, TraceKinds,
};
use crate::traffic::bulk::{self, Bulk};
use crate::traffic::{AppContext, AppEvent, Application, GroupSetup, Peer};
use crate::units::{ByteCount, Probability, Rate, TunedSize};

/// What an application does on its one connection: sends, expects as much, closes each side once it
/// has read all.
#[derive(Debug)]
struct Exchange {
    /// Bytes sent by each side.
    bytes: [u64; 2],
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
                    if self.received == 2 {
                        cx.close(flow, Side::Host);
                        cx.close(flow, Side::Peer);
                    }
                }
            }
            AppEvent::Stopped | AppEvent::Timer { .. } => {}
        }
    }
}

/// A link without rate or queue that loses or changes what a test tells it to.
struct Scripted {
    fate: Box<dyn FnMut(&mut Packet) -> Fate + Send>,
    /// Held back, for the same time each.
    late: VecDeque<Packet>,
}

fn scripted(fate: impl FnMut(&mut Packet) -> Fate + Send + 'static) -> Box<dyn Link> {
    let fate = Box::new(fate);
    let late = VecDeque::new();
    Box::new(Scripted { fate, late })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Others overtake it meanwhile.
    Hold(Duration),
    Lose,
    Pass,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl Link for Scripted {
    fn arrive(&mut self, _port: Port, mut packet: Packet, cx: &mut Context<'_>) {
        match (self.fate)(&mut packet) {
            Fate::Hold(time) => {
                self.late.push_back(packet);
                cx.wake_at(cx.now + time, 0);
            }
            Fate::Lose => cx.discard(packet, DropReason::Corrupted),
            Fate::Pass => cx.forward(packet, cx.now),
        }
    }
    fn wake(&mut self, _token: u64, cx: &mut Context<'_>) {
        cx.forward(self.late.pop_front().expect("one for each wake-up"), cx.now);
    }
    fn visit_queues(&mut self, _now: Instant, _visit: &mut Visitor<'_>) {}
    fn report_limits(&self, _now: Instant, _recorder: &mut Recorder) {}
    fn held(&self) -> u64 {
        self.late.len() as u64
    }
}

/// A simulation of one application, by default with one connection.
struct Setup {
    link: Box<dyn Link>,
    tcp: Config,
    /// What runs instead of an [`Exchange`].
    app: Option<Box<dyn Application>>,
    bytes: [u64; 2],
    one_way: Duration,
    loss: f64,
    duration: Duration,
    /// Of the tables' series; a tenth of the duration where nothing is said.
    interval: Option<Duration>,
    seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            link: scripted(|_| Fate::Pass),
            tcp: rfc(),
            app: None,
            bytes: [0, 100_000],
            one_way: Duration::from_millis(20),
            loss: 0.0,
            duration: Duration::from_secs(300),
            interval: None,
            seed: 1,
        }
    }
}

impl Setup {
    fn build(self) -> (Simulation, Log) {
        let mut flows = FlowTable::default();
        let link = |port| Hop::Link {
            link: 0,
            port: Port(port),
        };
        let routes = [
            flows.add_route(vec![link(0), Hop::Line(0), Hop::End]),
            flows.add_route(vec![link(1), Hop::Line(1), Hop::End]),
        ];
        let log = Log::default();
        let exchange = Exchange {
            bytes: self.bytes,
            received: 0,
            log: Arc::clone(&log),
        };
        let app = AppSetup {
            app: self.app.unwrap_or(Box::new(exchange)),
            rng: Rng::for_path(self.seed, "app"),
            group: GroupSetup {
                address: 1,
                real: None,
                peers: vec![Peer {
                    routes,
                    address: 2,
                    real: None,
                }],
                tcp: self.tcp.into(),
                dscp: 0,
                user_priority: None,
                ecn: Ecn::NotEct,
                tunnel: None,
                port: 443,
                name: "transfer".to_owned(),
                seed: self.seed,
                opened: 0,
            },
            start: Instant::ZERO,
            stop: None,
        };
        let lines = [0, 1].map(|n| {
            let rng = Rng::for_path(self.seed, format_args!("line{n}"));
            let jitter = Duration::from_micros(100);
            Line::new(
                self.one_way,
                jitter,
                Harm {
                    loss: Loss::Random(Probability(self.loss)),
                    ..Harm::default()
                },
                rng,
            )
        });
        let simulation = Simulation::new(Parts {
            links: vec![self.link],
            lines: lines.into(),
            apps: vec![app],
            real_hosts: Vec::new(),
            router: None,
            recorder: recorder(self.interval.unwrap_or(self.duration / 10), self.duration),
            flows,
            window: 1 << 20,
            bucket: Duration::from_micros(100),
            warmup: Duration::ZERO,
            duration: self.duration,
        });
        (simulation, log)
    }

    /// Runs to the end; what the application was told.
    fn run(self) -> (Simulation, Vec<(Instant, News)>) {
        let end = Instant::ZERO + self.duration;
        let (mut simulation, log) = self.build();
        simulation.run_until(end);
        // The tables check that packets are conserved.
        let _ = simulation.tables();
        let news = log.lock().unwrap().clone();
        (simulation, news)
    }
}

fn recorder(interval: Duration, duration: Duration) -> Recorder {
    let group = GroupInfo {
        name: "transfer".to_owned(),
        application: "exchange",
        transport: "tcp",
        carries_data: [true; 2],
        is_bulk: true,
    };
    let queues = ["up", "down"].map(|direction| QueueInfo {
        name: format!("link.{direction}"),
        link: "link".to_owned(),
        direction,
        discipline: "fifo",
        rate_bps: 0,
        limit_bytes: None,
        overhead_bytes: 0,
        map_interval: None,
        service_flow: None,
    });
    Recorder::new(vec![group], queues.into(), interval, duration)
}

/// A bottleneck of `rate` with a drop-tail queue of `buffer` IP bytes in each direction.
fn bottleneck(rate: Rate, buffer: u64) -> Box<dyn Link> {
    let direction = |index: u16| DirectionSetup {
        policer: None,
        shaper: None,
        queue: Queue::new(
            QueueId(u32::from(index)),
            Box::new(Fifo::new(BacklogLimit::Bytes(buffer), DropTail)),
            PointToPoint::update_token(Port(index)),
        ),
        transmitter: Transmitter::new(RateSchedule::Constant(rate)),
        delay: Varying::Constant(Duration::ZERO),
        losses: None,
        framing: Framing::IP,
        mtu: 1500,
    };
    Box::new(PointToPoint::new(direction(0), direction(1)))
}

/// The RFCs' TCP, with a shorter timer.
fn rfc() -> Config {
    let mut keys = System::Rfc.keys();
    keys.insert(
        "congestion".to_owned(),
        json!({ "cubic": System::Rfc.controls()["cubic"] }),
    );
    keys.insert("min_rto".to_owned(), "200 ms".into());
    keys.insert("min_rto_of".to_owned(), "variation".into());
    serde_json::from_value(keys.into()).expect("they are keys of TCP")
}

fn reno() -> CongestionConfig {
    CongestionConfig::Reno(reno::Config::default())
}

fn cubic() -> CongestionConfig {
    rfc().congestion
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
    // SYN, SYN-ACK: 40 ms. 14480, 28960, 57920 bytes are three rounds more, and the last ends half
    // a round early.
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
                ..rfc()
            });
        }
    }
    // The other controls have the mechanism in common: once with SACK, once without.
    for congestion in CongestionConfig::all() {
        for sack in [true, false] {
            variants.push(Config {
                congestion: congestion.clone(),
                sack,
                ..rfc()
            });
        }
    }
    for congestion in [reno(), CongestionConfig::Bbr3(bbr3::Config::default())] {
        variants.push(Config {
            congestion: congestion.clone(),
            prr: PrrMode::Rfc9937,
            rack: true,
            pacing: true,
            ecn: EcnMode::Accurate,
            ..rfc()
        });
        variants.push(Config {
            congestion,
            sack: false,
            fast_recovery: FastRecovery::Reno,
            ..rfc()
        });
    }
    variants
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever is lost, SYN, data, acknowledgement or FIN: all bytes arrive in order, both ways,
    /// and the connection closes.
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
                tcp: Config { syn_retries: 30, ..config },
                bytes,
                loss,
                seed,
                duration: Duration::from_secs(36_000),
                ..Setup::default()
            };
            let (mut simulation, news) = setup.run();
            assert_complete(&news, bytes);
            prop_assert_eq!(total(&mut simulation, "flows", "goodput_bytes"), up + down);
            // No livelock: some hundred segments need no more than a few events each, and those of
            // the series.
            prop_assert!(simulation.events() < 5_000, "{} events", simulation.events());
        }
    }
}

/// Segments that the receiver's window holds in [`thresholds`].
const HELD: u64 = 64;
const SEGMENT: u64 = 1448;

/// A sender whose window is full of [`HELD`] segments loses one of them, and its repair as well:
/// the congestion window before the loss, the threshold in fast recovery (where there is one) and
/// the threshold after the timeout, when the window is one segment. All in bytes.
fn thresholds(congestion: CongestionConfig, sack: bool) -> [f64; 3] {
    let (mut sent, mut lost_seq, mut copies) = (0, None, 0);
    let setup = Setup {
        link: scripted(move |packet| {
            if packet.payload == 0 {
                return Fate::Pass;
            }
            sent += 1;
            if sent == 3000 {
                lost_seq = Some(packet.seq);
            }
            if Some(packet.seq) != lost_seq {
                return Fate::Pass;
            }
            copies += 1;
            if copies <= 2 { Fate::Lose } else { Fate::Pass }
        }),
        tcp: Config {
            congestion,
            sack,
            delayed_ack: Duration::ZERO,
            receive_window: TunedSize::Fixed(ByteCount(HELD * SEGMENT)),
            ..rfc()
        },
        bytes: [0, u64::MAX],
        duration: Duration::from_secs(15),
        interval: Some(Duration::from_millis(10)),
        ..Setup::default()
    };
    let (mut simulation, _) = setup.run();
    let tables = simulation.tables();
    let (_, rows) = (tables.iter())
        .find(|(name, _)| *name == "connection_series")
        .expect("a run has that table");
    let Some(Column::Integer(windows)) = rows.get("cwnd_bytes") else {
        panic!("windows are whole");
    };
    let Some(Column::Float(thresholds)) = rows.get("ssthresh_bytes") else {
        panic!("a threshold may be missing");
    };
    // The timer expires 200 ms or a little more after the loss was seen; a round trip of 40 ms
    // later the second repair is acknowledged, and the window leaves one segment for good.
    let timeout = (windows.iter())
        .rposition(|&window| window == SEGMENT)
        .expect("a window of one segment");
    [
        windows[timeout - 40] as f64,
        thresholds[timeout - 10],
        thresholds[timeout],
    ]
}

/// RFC 5681, equation 4: the threshold comes from what is sent and not cumulatively acknowledged.
/// With SACK all of it but the repair has arrived by then, and next to nothing is in flight.
#[test]
#[expect(
    clippy::float_cmp,
    reason = "thresholds are whole bytes, or half of them"
)]
fn every_control_keeps_its_threshold_when_a_lost_repair_ends_in_a_timeout() {
    let all = (HELD * SEGMENT) as f64;
    for congestion in CongestionConfig::all() {
        for sack in [true, false] {
            let name = congestion.name();
            let [window, recovery, timeout] = thresholds(congestion.clone(), sack);
            let what = format!("{name}, SACK {sack}: {window} {recovery} {timeout}");
            match name {
                "reno" | "tahoe" | "vegas" | "fast" | "dctcp" | "prague" => {
                    assert_eq!([recovery, timeout], [all / 2.0; 2], "{what}");
                }
                "cubic" => assert_eq!([recovery, timeout], [(all * 0.7).floor(); 2], "{what}"),
                // From the measured bandwidth, not from the window.
                "westwood" => assert!(timeout > all / 2.0, "{what}"),
                // Half of its own window, at the loss and once more at the timeout.
                "ledbat_plus_plus" => {
                    assert_eq!([recovery, timeout], [window / 2.0, window / 4.0], "{what}");
                }
                "ledbat" | "bbr" | "bbr3" => {
                    assert!(recovery.is_nan() && timeout.is_nan(), "{what}");
                }
                other => panic!("what does {other} do after a timeout?"),
            }
        }
    }
}

#[test]
fn reno_fills_a_line_whose_buffer_is_one_bandwidth_delay_product() {
    for congestion in [reno(), cubic()] {
        // 40 Mbit/s · 50 ms = 250 kB.
        let setup = Setup {
            link: bottleneck(Rate(40_000_000), 250_000),
            tcp: Config {
                congestion,
                ..rfc()
            },
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
    }
}

#[test]
fn a_lost_syn_is_sent_again_and_leaves_an_initial_window_of_one_segment() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    let mut syns = 0;
    let setup = Setup {
        link: scripted(move |packet| {
            seen.lock().unwrap().push((packet.from, packet.size));
            let syn = packet.flags.has(Flags::SYN) && packet.from == Side::Host;
            syns += u32::from(syn);
            if syn && syns <= 2 {
                Fate::Lose
            } else {
                Fate::Pass
            }
        }),
        bytes: [100_000, 0],
        ..Setup::default()
    };
    let (_, news) = setup.run();
    assert_complete(&news, [100_000, 0]);
    // After 1 s and 2 s more, and a round trip.
    let (connected, _) = news
        .iter()
        .find(|(_, news)| *news == News::Connected)
        .unwrap();
    assert!(
        (3.04..3.05).contains(&connected.as_secs_f64()),
        "{connected}"
    );
    let start = [
        (Side::Host, 60),
        (Side::Host, 60),
        (Side::Host, 60),
        (Side::Peer, 60),
        (Side::Host, 1500),
        (Side::Peer, 52),
        (Side::Host, 1500),
        (Side::Host, 1500),
    ];
    assert_eq!(sizes.lock().unwrap()[..8], start);
}

#[test]
fn a_connection_nobody_answers_is_given_up_and_closed() {
    // Nothing gets through; or only the SYN does, and both sides wait.
    for from in [Side::Host, Side::Peer] {
        let setup = Setup {
            link: scripted(move |packet| {
                if packet.from == from {
                    Fate::Lose
                } else {
                    Fate::Pass
                }
            }),
            tcp: Config {
                syn_retries: 2,
                ..rfc()
            },
            ..Setup::default()
        };
        let (simulation, news) = setup.run();
        let closed = Instant::ZERO + Duration::from_secs(1 + 2 + 4);
        let rest: Vec<_> = news
            .iter()
            .filter(|(_, news)| !matches!(news, News::Received { .. }))
            .collect();
        assert_eq!(rest, [&(closed, News::Closed)]);
        assert!(simulation.events() < 50);
    }
}

#[test]
fn a_marked_window_is_answered_once_and_nothing_but_new_data_is_ecn_capable() {
    // With and without an acknowledgement of the very last segment before the one that says CWR.
    for delayed_ack in [0, 40].map(Duration::from_millis) {
        assert_answered_once(delayed_ack);
    }
}

#[track_caller]
fn assert_answered_once(delayed_ack: Duration) {
    let (reductions, marks) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let (counted, marked) = (Arc::clone(&reductions), Arc::clone(&marks));
    let mut highest = 0;
    let setup = Setup {
        link: scripted(move |packet| {
            let new_data = packet.payload > 0 && packet.seq >= highest;
            highest = highest.max(packet.seq + u64::from(packet.payload));
            let expected = if new_data { Ecn::Ect0 } else { Ecn::NotEct };
            assert_eq!(packet.ecn, expected, "{packet:?}");
            let syn = packet.flags.has(Flags::SYN);
            *counted.lock().unwrap() += u32::from(packet.flags.has(Flags::CWR) && !syn);
            // Five packets in a row of one window, and one that is lost.
            if new_data && (300_000..307_000).contains(&packet.seq) {
                packet.ecn = Ecn::Ce;
                *marked.lock().unwrap() += 1;
            }
            if new_data && (600_000..601_000).contains(&packet.seq) {
                return Fate::Lose;
            }
            Fate::Pass
        }),
        tcp: Config {
            congestion: reno(),
            ecn: EcnMode::On,
            delayed_ack,
            ..rfc()
        },
        bytes: [0, 1_000_000],
        ..Setup::default()
    };
    let (mut simulation, news) = setup.run();
    assert_complete(&news, [0, 1_000_000]);
    assert_eq!(
        (*marks.lock().unwrap(), *reductions.lock().unwrap()),
        (5, 1)
    );
    assert_eq!(total(&mut simulation, "flows", "retransmitted"), 1);
}

#[test]
fn a_receive_window_of_64_kib_limits_the_transfer_to_it_each_round_trip() {
    let setup = Setup {
        tcp: Config {
            receive_window: TunedSize::Fixed(ByteCount(65_536)),
            ..rfc()
        },
        bytes: [0, u64::MAX],
        duration: Duration::from_secs(20),
        ..Setup::default()
    };
    let (mut simulation, _) = setup.run();
    let goodput = total(&mut simulation, "flows", "goodput_bytes") as f64;
    // 45 whole segments fit; 500 round trips of 40 ms. Jitter, the handshake and an odd segment
    // that waits for its second take 3 %.
    let most = 500.0 * 45.0 * 1448.0;
    assert!((0.95 * most..most).contains(&goodput), "{}", goodput / most);
}

#[test]
fn about_every_second_segment_is_acknowledged() {
    let acks = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&acks);
    let setup = Setup {
        link: scripted(move |packet| {
            *counted.lock().unwrap() += u32::from(packet.size == 52 && packet.from == Side::Host);
            Fate::Pass
        }),
        bytes: [0, 1448 * 1000],
        ..Setup::default()
    };
    setup.run();
    let acks = *acks.lock().unwrap();
    assert!((500..530).contains(&acks), "{acks}");
}

#[test]
fn sack_blocks_take_room_in_acknowledgements_only() {
    let setup = Setup {
        link: scripted(|packet| {
            if packet.sack.is_some() {
                assert!([64, 72, 80].contains(&packet.size) && packet.payload == 0);
            } else {
                assert!(packet.size <= 1500);
            }
            Fate::Pass
        }),
        bytes: [500_000, 500_000],
        loss: 0.02,
        ..Setup::default()
    };
    let (_, news) = setup.run();
    assert_complete(&news, [500_000; 2]);
}

#[test]
fn with_data_both_ways_what_arrived_out_of_order_is_told_before_data_leaves() {
    // Data of the peer that has arrived beyond the gap, and what the host says of it.
    let told = Arc::new(Mutex::new((0, 0)));
    let count = Arc::clone(&told);
    let mut number = 0;
    let mut gap = None;
    let setup = Setup {
        link: scripted(move |packet| {
            let mut count = count.lock().unwrap();
            match packet.from {
                Side::Host => count.1 += u64::from(packet.sack.is_some()),
                Side::Peer if packet.payload == 0 => {}
                Side::Peer => {
                    number += 1;
                    if number == 50 {
                        gap = Some(packet.seq);
                        return Fate::Lose;
                    }
                    gap = gap.filter(|&gap| packet.seq != gap);
                    count.0 += u64::from(gap.is_some());
                }
            }
            Fate::Pass
        }),
        bytes: [1_000_000, 1_000_000],
        ..Setup::default()
    };
    let (_, news) = setup.run();
    assert_complete(&news, [1_000_000; 2]);
    let (beyond, answers) = *told.lock().unwrap();
    assert!(beyond >= 10, "{beyond}");
    assert_eq!(answers, beyond);
}

/// Of 40 ms a quarter is the first reordering window. Every fiftieth packet of data comes 15 ms
/// late: by that window it is taken for lost, by the next it is not. Before, one is overtaken by a
/// single packet, which tells RACK that packets are reordered here.
#[test]
fn on_a_path_that_reorders_dsack_stops_needless_repairs() {
    let repairs = |dsack| {
        let mut number = 0;
        let setup = Setup {
            link: scripted(move |packet| {
                number += u32::from(packet.payload > 0);
                if packet.payload > 0 && (number == 9 || number % 50 == 0) {
                    Fate::Hold(Duration::from_millis(if number == 9 { 1 } else { 15 }))
                } else {
                    Fate::Pass
                }
            }),
            tcp: Config {
                congestion: reno(),
                rack: true,
                dsack,
                receive_window: TunedSize::Fixed(ByteCount(100_000)),
                ..rfc()
            },
            bytes: [0, 4_000_000],
            ..Setup::default()
        };
        let (mut simulation, news) = setup.run();
        assert_complete(&news, [0, 4_000_000]);
        let repairs = total(&mut simulation, "flows", "retransmitted");
        (repairs, news[news.len() - 2].0)
    };
    let (without, with) = (repairs(false), repairs(true));
    // 2763 segments, 55 of them late; a few of those are the last in flight, and nothing overtakes
    // them.
    assert!(without.0 >= 45, "{without:?}");
    assert!(with.0 <= 3, "{with:?}");
    assert!(with.1 < without.1, "{with:?} {without:?}");
}

/// Notes the highest slot any packet belonged to.
struct HighestSlot(Arc<Mutex<u32>>);

impl Sink for HighestSlot {
    fn record(&mut self, _at: Instant, event: &TraceEvent) {
        if let TraceEvent::Sent { packet } = event {
            let mut highest = self.0.lock().unwrap();
            *highest = packet.flow.0.max(*highest);
        }
    }
}

#[test]
fn the_slot_of_a_closed_connection_is_used_again() {
    let files = bulk::Config {
        size: Some(ByteCount(20_000)),
        files: Some(50),
        pause: Duration::from_millis(500),
        ..bulk::Config::default()
    };
    let setup = Setup {
        app: Some(Box::new(Bulk::new(files, Side::Peer))),
        loss: 0.05,
        ..Setup::default()
    };
    let (mut simulation, _) = setup.build();
    let highest = Arc::new(Mutex::new(0));
    simulation.add_sink(Box::new(HighestSlot(Arc::clone(&highest))));
    simulation.run_until(simulation.end());
    assert_eq!(
        total(&mut simulation, "flows", "goodput_bytes"),
        50 * 20_000
    );
    assert!(*highest.lock().unwrap() < 10);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let setup = Setup {
            bytes: [300_000; 2],
            loss: 0.03,
            seed,
            ..Setup::default()
        };
        let (simulation, news) = setup.run();
        (simulation.events(), news)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

/// A server that writes 10 kB whenever no more than 5 kB wait to be sent, twenty times, from before
/// the connection is open.
#[derive(Debug)]
struct Feeder {
    flow: Option<FlowId>,
    left: u32,
    log: Log,
}

impl Feeder {
    fn write(&mut self, cx: &mut AppContext<'_>) {
        if let (Some(flow), 1..) = (self.flow, self.left) {
            self.left -= 1;
            cx.send(flow, Side::Peer, 10_000);
            cx.await_room(flow, Side::Peer, 5000);
        }
    }
}

impl Application for Feeder {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => {
                let flow = cx.connect(0, Side::Host);
                cx.expect(flow, Side::Host, 200_000);
                self.flow = Some(flow);
                self.write(cx);
            }
            AppEvent::Flow { news, .. } => {
                self.log.lock().unwrap().push((cx.now, news));
                if matches!(news, News::Writable { .. }) {
                    self.write(cx);
                }
            }
            AppEvent::Stopped | AppEvent::Timer { .. } => {}
        }
    }
}

#[test]
fn whoever_waits_for_room_is_told_once_the_window_has_let_enough_out() {
    let log = Log::default();
    let feeder = Feeder {
        flow: None,
        left: 20,
        log: Arc::clone(&log),
    };
    let setup = Setup {
        app: Some(Box::new(feeder)),
        tcp: Config {
            receive_window: TunedSize::Fixed(ByteCount(28_960)),
            ..rfc()
        },
        ..Setup::default()
    };
    setup.run();
    let log = log.lock().unwrap();
    let (last, done) = log.last().copied().expect("it was told");
    let (at, total) = (Side::Host, 200_000);
    assert!(matches!(done, News::Received { .. }), "{done:?}");
    assert_eq!(done, News::Received { at, total });
    let told: Vec<Instant> = (log.iter())
        .filter(|told| told.1 == News::Writable { at: Side::Peer })
        .map(|told| told.0)
        .collect();
    assert_eq!(told.len(), 20, "once for each time it was asked for");
    // A window of 20 segments each round trip of 40 ms: three writes each, and so six or seven
    // round trips, not all at once.
    let (first, end) = (told[0], told[19]);
    assert!(
        end - first > Duration::from_millis(190),
        "{:?}",
        end - first
    );
    assert!(last > end);
}

#[test]
fn a_side_that_waits_for_the_handshake_to_end_has_no_state_to_show() {
    // The SYN passes and is answered, and nothing else gets through: the side that accepts has
    // written, and waits.
    let setup = Setup {
        link: scripted(|packet| {
            let is_syn = packet.flags.has(Flags::SYN);
            if is_syn || packet.from == Side::Peer {
                Fate::Pass
            } else {
                Fate::Lose
            }
        }),
        bytes: [1000, 5000],
        duration: Duration::from_secs(2),
        ..Setup::default()
    };
    let (mut simulation, _) = setup.run();
    let tables = simulation.tables();
    let (_, connections) = (tables.iter())
        .find(|(name, _)| *name == "connection_series")
        .expect("a run has that table");
    let Some(Column::Integer(in_flight)) = connections.get("in_flight_bytes") else {
        panic!("bytes in flight are whole");
    };
    assert!(!in_flight.is_empty(), "the side that opens sends in vain");
    assert!(in_flight.iter().all(|&bytes| bytes > 0), "{in_flight:?}");
}

/// What listeners are told of sending halves, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<(SenderView, SenderEvent)>>>);

impl Sink for Told {
    fn interest(&self) -> TraceKinds {
        TraceKinds::SENDER
    }
    fn record(&mut self, _at: Instant, event: &TraceEvent) {
        if let TraceEvent::Sender { sender, event } = *event {
            self.0.lock().unwrap().push((sender, event));
        }
    }
}

/// Runs to the end with a listener: what it was told, and the run.
fn listen(setup: Setup) -> (Vec<(SenderView, SenderEvent)>, Simulation) {
    let (mut simulation, _) = setup.build();
    let told = Told::default();
    simulation.add_sink(Box::new(told.clone()));
    simulation.run_until(simulation.end());
    let told = told.0.lock().unwrap().clone();
    (told, simulation)
}

/// A sending half, as far as a listener can follow it.
#[derive(Debug, Default)]
struct Followed {
    /// The segments that are not acknowledged: how many sequence numbers, and whether deemed lost.
    outstanding: BTreeMap<u64, (u64, bool)>,
    again: u64,
    /// Sent again without being deemed lost.
    speculative: u64,
    acked: u64,
    state: Option<SenderState>,
}

impl Followed {
    fn take_in(&mut self, event: SenderEvent) {
        match event {
            SenderEvent::Sent(segment) => {
                let len = u64::from(segment.payload) + u64::from(segment.is_fin);
                let before = self.outstanding.insert(segment.seq, (len, false));
                assert_eq!(before.is_some(), segment.is_again, "{segment:?}");
                self.again += u64::from(segment.is_again);
                self.speculative += u64::from(before.is_some_and(|(_, is_lost)| !is_lost));
            }
            SenderEvent::Acknowledged(ack) => {
                self.acknowledge(0, ack.next);
                for &(start, end) in ack.blocks.as_slice() {
                    self.acknowledge(start, end);
                }
            }
            SenderEvent::Lost {
                seq, is_repaired, ..
            } => {
                let segment = self.outstanding.get_mut(&seq).expect("it is outstanding");
                assert!(!segment.1, "lost once until it is sent again");
                segment.1 = !is_repaired;
            }
            SenderEvent::Changed(state) => {
                assert_ne!(self.state, Some(state), "it has changed");
                self.state = Some(state);
            }
        }
    }

    fn acknowledge(&mut self, start: u64, end: u64) {
        let (seqs, acked) = (start..end, &mut self.acked);
        self.outstanding.retain(|seq, (len, _)| {
            let is_acked = seqs.contains(seq);
            *acked += if is_acked { *len } else { 0 };
            !is_acked
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// Whatever is lost, a listener can follow each segment from its transmissions to its
    /// acknowledgement; and the run is the one that it is without a listener.
    #[test]
    fn a_listener_is_told_the_fate_of_every_segment(
        seed in any::<u64>(),
        loss in 0.0..0.2,
        up in 1_u64..200_000,
        down in 1_u64..200_000,
    ) {
        for config in variants() {
            let setup = || Setup {
                tcp: Config { syn_retries: 30, ..config.clone() },
                bytes: [up, down],
                loss,
                seed,
                duration: Duration::from_secs(36_000),
                ..Setup::default()
            };
            let (told, mut simulation) = listen(setup());
            let (without, _) = setup().run();
            prop_assert_eq!(simulation.events(), without.events());
            let mut ends: BTreeMap<SenderView, Followed> = BTreeMap::new();
            for (sender, event) in told {
                ends.entry(sender).or_default().take_in(event);
            }
            prop_assert_eq!(ends.len(), 2);
            let mut again = 0;
            for (sender, end) in ends {
                prop_assert_eq!(sender.is_client, sender.side == Side::Host);
                prop_assert!(end.outstanding.is_empty(), "{:?}", end);
                // The stream and its FIN.
                prop_assert_eq!(end.acked, [up, down][sender.side.index()] + 1);
                prop_assert_eq!(end.state.map(|state| state.in_flight_bytes), Some(0));
                // Without SACK nothing is sent again that is not deemed lost.
                prop_assert!(config.sack || end.speculative == 0, "{:?}", end);
                again += end.again;
            }
            prop_assert_eq!(again, total(&mut simulation, "flows", "retransmitted"));
        }
    }
}

#[test]
fn what_shows_a_loss_is_told_with_it() {
    // The fifth segment, and then the last two, which nothing follows; or all but a few.
    let triggers = |config: Config, lost: &'static [u32]| {
        let mut number = 0;
        let setup = Setup {
            link: scripted(move |packet| {
                number += u32::from(packet.payload > 0);
                if packet.payload > 0 && lost.contains(&number) {
                    Fate::Lose
                } else {
                    Fate::Pass
                }
            }),
            tcp: config,
            bytes: [0, 14_480],
            ..Setup::default()
        };
        let (told, _) = listen(setup);
        let found = told.into_iter().filter_map(|(_, event)| match event {
            SenderEvent::Lost { seq, trigger, .. } => Some((seq / 1448, trigger)),
            _ => None,
        });
        found.collect::<Vec<_>>()
    };
    let of_rfc = || Config {
        congestion: reno(),
        ..rfc()
    };
    let counting = LossTrigger::ReorderingThreshold;
    assert_eq!(triggers(of_rfc(), &[5]), [(4, counting)]);
    let without_sack = Config {
        sack: false,
        ..of_rfc()
    };
    assert_eq!(triggers(without_sack, &[5]), [(4, counting)]);
    let rack = Config {
        rack: true,
        ..of_rfc()
    };
    let by_time = LossTrigger::TimeThreshold;
    assert_eq!(triggers(rack, &[5]), [(4, by_time)]);
    let timeout = LossTrigger::Timeout;
    assert_eq!(triggers(of_rfc(), &[9, 10]), [(8, timeout), (9, timeout)]);
}

#[test]
fn a_sender_that_recovers_says_so_and_what_its_window_is() {
    let mut number = 0;
    let setup = Setup {
        link: scripted(move |packet| {
            number += u32::from(packet.payload > 0);
            if packet.payload > 0 && number == 20 {
                Fate::Lose
            } else {
                Fate::Pass
            }
        }),
        tcp: Config {
            congestion: reno(),
            ..rfc()
        },
        bytes: [0, 200_000],
        ..Setup::default()
    };
    let (told, _) = listen(setup);
    let states: Vec<SenderState> = (told.into_iter())
        .filter_map(|(sender, event)| match event {
            SenderEvent::Changed(state) if sender.side == Side::Peer => Some(state),
            _ => None,
        })
        .collect();
    let mut phases: Vec<&str> = states.iter().map(|state| state.congestion).collect();
    phases.dedup();
    let all = [
        "slow_start",
        "recovery",
        "congestion_avoidance",
        "application_limited",
    ];
    assert_eq!(phases, all);
    let (first, last) = (states[0], states[states.len() - 1]);
    assert_eq!(first.ssthresh_bytes, None);
    assert!(last.ssthresh_bytes.is_some_and(|bytes| bytes < 100_000));
    // There and back again, with less than 0.1 ms of jitter each way.
    let rtt = last.latest_rtt.expect("it was measured").as_secs_f64();
    assert!((0.040..0.041).contains(&rtt), "{rtt}");
    assert!(last.min_rtt <= last.latest_rtt);
}
