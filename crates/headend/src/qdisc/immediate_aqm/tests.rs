//! Tests of the low-latency queue: one arrival at a time, and beside floods.

use std::collections::VecDeque;

use super::*;
use crate::flow::FlowId;
use crate::queue::{Coupling, Framing, Shaper};
use crate::testing::Bench;

const MBIT: u64 = 1_000_000;
const AMSR: Rate = Rate(50 * MBIT);

/// Upper end of the ramp at 50 Mbit/s.
const MAXIMUM: Duration = Duration::from_nanos(1_164_288);

fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn protected() -> Config {
    Config {
        protection: Some(Protection {
            latency_threshold: None,
            score_threshold: ms(4),
            drain_exponent: 19,
        }),
        ..Config::default()
    }
}

/// A shaper of one rate, without tokens.
#[derive(Debug, Clone, Copy)]
struct Steady(Rate);

impl Shaper for Steady {
    fn sustained(&self) -> Rate {
        self.0
    }

    fn peak(&self) -> Rate {
        self.0
    }

    fn tokens(&self, _now: Instant) -> u64 {
        0
    }
}

/// The upstream of a cable line.
fn line(rate: &Steady, coupling: Coupling) -> LineView<'_> {
    LineView {
        framing: Framing::ETHERNET,
        shaper: Some(rate),
        coupling: Some(coupling),
        ..LineView::plain(Rate(1000 * MBIT))
    }
}

/// What becomes of a packet at its arrival, and its ECN field afterwards if the queue has not kept
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Enqueued,
    Discarded,
    Redirected(Ecn),
}

/// A low-latency queue of a cable line, which drains only when the test dequeues.
struct Scene {
    bench: Bench,
    queue: Box<dyn QueueDiscipline>,
    rate: Steady,
    coupling: Coupling,
}

impl Scene {
    fn new(config: &Config, rate: Rate) -> Self {
        Self::salted(config, rate, 1)
    }

    /// A queue whose hash depends on `seed`.
    fn salted(config: &Config, rate: Rate, seed: u64) -> Self {
        let queue = config.build(rate, Rng::for_path(seed, "queue"));
        Self {
            bench: Bench::new(),
            queue: queue.expect("the parameters are valid"),
            rate: Steady(rate),
            coupling: Coupling {
                mac_header: 10,
                ..Coupling::default()
            },
        }
    }

    /// The same queue beside a classic queue that adds this probability.
    fn coupled(mut self, probability: f64) -> Self {
        self.coupling.probability = probability;
        self
    }

    /// A packet of `size` IP bytes arrives.
    fn arrive(&mut self, flow: FlowId, size: u16, ecn: Ecn) -> Outcome {
        let mut packet = self.bench.packet(flow, size);
        packet.ecn = ecn;
        let before = self.bench.counts()[2];
        let line = line(&self.rate, self.coupling);
        self.queue.enqueue(packet, &line, &mut self.bench.cx());
        if let Some(packet) = self.queue.take_redirected() {
            let ecn = packet.ecn;
            self.bench.end(packet);
            return Outcome::Redirected(ecn);
        }
        if self.bench.counts()[2] > before {
            Outcome::Discarded
        } else {
            Outcome::Enqueued
        }
    }

    /// So many full-size packets arrive.
    fn arrive_full(&mut self, flow: FlowId, packets: usize, ecn: Ecn) -> Vec<Outcome> {
        let outcome = |_| self.arrive(flow, 1500, ecn);
        (0..packets).map(outcome).collect()
    }

    fn dequeue(&mut self) -> Option<(FlowId, Ecn)> {
        let line = line(&self.rate, self.coupling);
        let packet = self.queue.dequeue(&line, &mut self.bench.cx())?;
        let seen = (packet.flow, packet.ecn);
        self.bench.end(packet);
        Some(seen)
    }

    /// The numbers of the marked packets among all that wait, counted from 1.
    fn drain_marks(&mut self) -> Vec<usize> {
        let sent: Vec<Ecn> = std::iter::from_fn(|| self.dequeue().map(|(_, ecn)| ecn)).collect();
        let is_marked = |(index, &ecn): (usize, &Ecn)| (ecn == Ecn::Ce).then_some(index + 1);
        sent.iter().enumerate().filter_map(is_marked).collect()
    }

    /// The delay that the queue estimates without a further packet, in nanoseconds.
    fn delay(&self) -> u64 {
        self.queue
            .internals()
            .delay_estimate_ns
            .expect("it has one") as u64
    }
}

// Bytes and limits.

#[test]
fn the_delay_counts_mac_headers_and_the_length_does_not() {
    for (size, on_line, with_header) in [
        (82, 100, 110),
        (1300, 1318, 1328),
        (20, 64, 74),
        (1500, 1518, 1528),
    ] {
        let mut scene = Scene::new(&Config::default(), AMSR);
        let flow = scene.bench.flow(0);
        for packets in 1..=3 {
            scene.arrive(flow, size, Ecn::Ect1);
            assert_eq!(scene.queue.depth().bytes, packets * on_line);
            assert_eq!(scene.delay(), packets * with_header * 8 * 20, "{size} B");
        }
        let line = line(&scene.rate, scene.coupling);
        let sent = scene.queue.dequeue(&line, &mut scene.bench.cx());
        let sent = sent.expect("it waits");
        assert_eq!(sent.size, size);
        scene.bench.end(sent);
    }
}

#[test]
fn the_default_limit_is_ten_milliseconds_and_at_least_40_000_bytes() {
    let limit = |rate| Config::default().limit(Rate(rate));
    for (rate, bytes) in [
        (50 * MBIT, 62_500),
        (40 * MBIT, 50_000),
        (20 * MBIT, 40_000),
        (1000, 40_000),
    ] {
        assert_eq!(limit(rate), Ok(Limit::Bytes(ByteCount(bytes))), "{rate}");
    }
}

#[test]
fn a_packet_is_enqueued_while_the_largest_frame_fits() {
    let accepted = |limit| {
        let config = Config {
            limit: Some(Limit::Bytes(ByteCount(limit))),
            ..Config::default()
        };
        let mut scene = Scene::new(&config, AMSR);
        let flow = scene.bench.flow(0);
        let outcomes = scene.arrive_full(flow, 10, Ecn::Ect1);
        let is_accepted = |outcome: &&Outcome| **outcome == Outcome::Enqueued;
        outcomes.iter().filter(is_accepted).count()
    };
    // Frames of 1518 B.
    assert_eq!(accepted(2001), 1);
    assert_eq!(accepted(2000 + 1518), 1);
    assert_eq!(accepted(2000 + 1519), 2);
    assert_eq!(accepted(5000), 2);
    assert_eq!(accepted(1_000_000), 10);
}

#[test]
fn a_limit_may_count_packets_or_be_absent() {
    for (limit, expected) in [(Limit::Packets(3), 3), (Limit::Unlimited, 100)] {
        let config = Config {
            limit: Some(limit),
            ..Config::default()
        };
        let mut scene = Scene::new(&config, AMSR);
        let flow = scene.bench.flow(0);
        scene.arrive_full(flow, 100, Ecn::Ect1);
        assert_eq!(scene.queue.depth().packets, expected);
    }
}

// Marks.

#[test]
fn the_coupled_probability_marks_an_empty_queue() {
    let marks = |probability| {
        let mut scene = Scene::new(&Config::default(), AMSR).coupled(probability);
        let flow = scene.bench.flow(0);
        for _ in 0..17 {
            scene.arrive(flow, 40, Ecn::Ect1);
        }
        scene.drain_marks()
    };
    assert!(marks(0.0).is_empty());
    assert_eq!(marks(0.25), [5, 9, 13, 17]);
    assert_eq!(marks(1.0), (2..=17).collect::<Vec<usize>>());
    assert_eq!(marks(7.0), (2..=17).collect::<Vec<usize>>());
}

#[test]
fn the_larger_probability_marks() {
    // Three full frames take 733 µs: a native probability of 0.178.
    let marked = |coupled| {
        let mut scene = Scene::new(&Config::default(), AMSR).coupled(coupled);
        let flow = scene.bench.flow(0);
        scene.arrive_full(flow, 3, Ecn::Ect1);
        scene
            .queue
            .internals()
            .drop_probability
            .expect("it has one")
    };
    let native = (733_440.0 - 640_000.0) / 524_288.0;
    assert!((marked(0.1) - native).abs() < 1e-12);
    assert!((marked(0.3) - 0.3).abs() < 1e-12);
}

#[test]
fn all_flows_share_one_sum_and_only_l4s_packets_carry_marks() {
    let mut scene = Scene::new(&Config::default(), AMSR).coupled(1.0);
    let flows = [scene.bench.flow(0), scene.bench.flow(45)];
    let fields = [
        Ecn::Ect1,
        Ecn::NotEct,
        Ecn::Ect0,
        Ecn::Ect1,
        Ecn::Ce,
        Ecn::NotEct,
    ];
    for (number, &ecn) in fields.iter().enumerate() {
        let outcome = scene.arrive(flows[number % 2], 40, ecn);
        assert_eq!(outcome, Outcome::Enqueued);
    }
    let sent: Vec<Ecn> = std::iter::from_fn(|| scene.dequeue().map(|(_, ecn)| ecn)).collect();
    // The first packet has no mark: the sum is only 1.
    let expected = [
        Ecn::Ect1,
        Ecn::NotEct,
        Ecn::Ect0,
        Ecn::Ce,
        Ecn::Ce,
        Ecn::NotEct,
    ];
    assert_eq!(sent, expected);
}

#[test]
fn packets_that_cannot_be_marked_use_up_signals() {
    let mut scene = Scene::new(&Config::default(), AMSR).coupled(0.5);
    let flow = scene.bench.flow(0);
    // Signals come to packets 3, 5, 7, 9.
    for ecn in [
        Ecn::Ect1,
        Ecn::Ect1,
        Ecn::NotEct,
        Ecn::Ect1,
        Ecn::Ect1,
        Ecn::Ect1,
    ] {
        scene.arrive(flow, 40, ecn);
    }
    assert_eq!(scene.drain_marks(), [5]);
}

#[test]
fn a_packet_is_marked_by_the_delay_at_its_arrival() {
    let mut scene = Scene::new(&Config::default(), AMSR);
    let flow = scene.bench.flow(0);
    scene.arrive_full(flow, 12, Ecn::Ect1);
    // By hand: the n-th frame finds n × 244 480 ns; above 640 000 the probabilities are 0.178,
    // 0.645, and 1 from the fifth on. The sum exceeds 1 with the fifth.
    assert_eq!(scene.drain_marks(), [5, 6, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn a_packet_is_marked_before_it_is_redirected() {
    let mut scene = Scene::new(&protected(), AMSR);
    let flow = scene.bench.flow(0);
    let outcomes = scene.arrive_full(flow, 12, Ecn::Ect1);
    // The delays are 244, 489, 733, 978, 1222 µs. The scores are 0.178, 0.823 and 1.823 frames of
    // 3.129 ms, and 5.7 ms × 1222 µs exceeds 4 ms × 1164 µs.
    assert_eq!(outcomes[..4], [Outcome::Enqueued; 4]);
    assert_eq!(outcomes[4..], [Outcome::Redirected(Ecn::Ce); 8]);
    assert_eq!(scene.queue.depth().packets, 4);
}

#[test]
fn a_packet_that_is_discarded_uses_up_a_signal() {
    let config = Config {
        limit: Some(Limit::Packets(2)),
        ..Config::default()
    };
    let mut scene = Scene::new(&config, AMSR).coupled(0.5);
    let flow = scene.bench.flow(0);
    // Signals come to packets 3 and 5; packet 3 is discarded.
    for _ in 0..3 {
        scene.arrive(flow, 40, Ecn::Ect1);
    }
    assert!(scene.drain_marks().is_empty());
    for _ in 0..2 {
        scene.arrive(flow, 40, Ecn::Ect1);
    }
    assert_eq!(scene.drain_marks(), [2]);
}

// Rates.

#[test]
fn without_a_limit_of_the_rate_nothing_is_marked_or_redirected() {
    for estimator in [Estimator::Backlog, Estimator::VirtualQueue] {
        let config = Config {
            estimator,
            ..protected()
        };
        let mut scene = Scene::new(&config, Rate(0));
        let flow = scene.bench.flow(0);
        let outcomes = scene.arrive_full(flow, 100, Ecn::Ect1);
        // The limit is that of a slow line.
        assert_eq!(outcomes[..26], [Outcome::Enqueued; 26]);
        assert_eq!(outcomes[26..], [Outcome::Discarded; 74]);
        assert_eq!(scene.delay(), 0);
        assert!(scene.drain_marks().is_empty());
    }
}

#[test]
fn a_change_of_the_rate_moves_the_ramp() {
    let mut scene = Scene::new(&Config::default(), AMSR);
    let flow = scene.bench.flow(0);
    scene.arrive(flow, 1500, Ecn::Ect1);
    assert_eq!(scene.delay(), 244_480);
    scene.rate = Steady(Rate(MBIT));
    scene.arrive(flow, 1500, Ecn::Ect1);
    assert_eq!(scene.delay(), 24_448_000);
    // Below the floor of 32 ms.
    let probability = |scene: &Scene| scene.queue.internals().drop_probability;
    assert_eq!(probability(&scene), Some(0.0));
    scene.arrive(flow, 1500, Ecn::Ect1);
    assert_eq!(probability(&scene), Some(1.0));
}

#[test]
fn on_a_line_without_token_buckets_the_rate_is_the_lines() {
    let mut bench = Bench::new();
    let flow = bench.flow(0);
    let built = Config::default().build(AMSR, Rng::for_path(1, "queue"));
    let mut queue = built.expect("the defaults are valid");
    let line = LineView::plain(AMSR);
    for _ in 0..6 {
        let mut packet = bench.packet(flow, 1500);
        packet.ecn = Ecn::Ect1;
        queue.enqueue(packet, &line, &mut bench.cx());
    }
    // Six packets of 1500 B, without any header.
    let delay = queue.internals().delay_estimate_ns;
    assert_eq!(delay, Some(1_440_000.0));
    let mut marks = 0;
    while let Some(packet) = queue.dequeue(&line, &mut bench.cx()) {
        marks += usize::from(packet.ecn == Ecn::Ce);
        bench.end(packet);
    }
    assert_eq!(marks, 2);
}

// The virtual queue.

#[test]
fn a_wait_for_a_grant_marks_no_packets_of_a_virtual_queue() {
    let marks = |estimator| {
        let config = Config {
            estimator,
            ..Config::default()
        };
        let mut scene = Scene::new(&config, AMSR);
        scene.coupling.loop_delay = ms(4);
        let flow = scene.bench.flow(0);
        // 40 Mbit/s, sent in bursts every 2 ms.
        let mut marks = 0;
        for _ in 0..50 {
            for _ in 0..10 {
                scene.arrive(flow, 982, Ecn::Ect1);
                scene.bench.advance(us(200));
            }
            marks += scene.drain_marks().len();
        }
        marks
    };
    assert_eq!(marks(Estimator::VirtualQueue), 0);
    assert!(marks(Estimator::Backlog) > 100);
}

#[test]
fn a_virtual_queue_marks_what_exceeds_the_rate() {
    let config = Config {
        estimator: Estimator::VirtualQueue,
        ..Config::default()
    };
    let mut scene = Scene::new(&config, AMSR);
    let flow = scene.bench.flow(0);
    // 100 Mbit/s for 4 ms, each packet of which leaves at once.
    let mut marks = Vec::new();
    for number in 0..50 {
        scene.arrive(flow, 982, Ecn::Ect1);
        let (_, ecn) = scene.dequeue().expect("it waits");
        marks.extend((ecn == Ecn::Ce).then_some(number));
        scene.bench.advance(us(80));
    }
    // Each packet takes 160 µs and the queue drains for 80 µs: 640 µs with the seventh packet.
    // The probability rises by 0.153 from the eighth on, and the sum exceeds 1 with the eleventh.
    assert_eq!(marks.first(), Some(&10));
    assert_eq!(*marks.last().expect("there are marks"), 49);
}

#[test]
fn the_limit_of_a_virtual_queue_is_a_delay() {
    let config = Config {
        estimator: Estimator::VirtualQueue,
        limit: Some(Limit::Bytes(ByteCount(12_000))),
        ..Config::default()
    };
    let mut scene = Scene::new(&config, AMSR);
    let flow = scene.bench.flow(0);
    // 10 000 B are 1.6 ms, and each frame of 1000 B adds 160 µs.
    let outcomes: Vec<Outcome> = (0..15)
        .map(|_| scene.arrive(flow, 982, Ecn::Ect1))
        .collect();
    assert_eq!(outcomes[..10], [Outcome::Enqueued; 10]);
    // A packet that is discarded is given back.
    assert_eq!(outcomes[10..], [Outcome::Discarded; 5]);
    assert_eq!(scene.delay(), 1_600_000);
    // The packets have left, but the virtual queue is still full.
    scene.drain_marks();
    assert_eq!(scene.arrive(flow, 982, Ecn::Ect1), Outcome::Discarded);
    scene.bench.advance(us(1));
    assert_eq!(scene.arrive(flow, 982, Ecn::Ect1), Outcome::Enqueued);
}

#[test]
fn a_redirected_packet_is_given_back() {
    let config = Config {
        estimator: Estimator::VirtualQueue,
        ..protected()
    };
    let mut scene = Scene::new(&config, AMSR);
    let flow = scene.bench.flow(0);
    let outcomes = scene.arrive_full(flow, 50, Ecn::Ect1);
    let enqueued = outcomes
        .iter()
        .filter(|&&outcome| outcome == Outcome::Enqueued)
        .count() as u64;
    assert!(enqueued < 10, "{enqueued}");
    assert_eq!(scene.delay(), enqueued * 1518 * 8 * 20);
}

// Floods.

/// A sender at a rate of its own.
struct Source {
    flow: FlowId,
    size: u16,
    ecn: Ecn,
    interval: Duration,
    next: Instant,
    /// For a sender that responds to marks.
    window: Option<Window>,
    /// What became of each packet when it arrived, and the delay of the queue after that.
    outcomes: Vec<(Instant, Outcome, Duration)>,
}

/// A window of a scalable congestion control: each mark lowers it by half a packet, and it grows by
/// one packet in each round trip.
struct Window {
    packets: f64,
    /// When the sender learns of a packet, and whether it was marked.
    feedback: VecDeque<(Instant, bool)>,
}

/// The round trip without the queue.
const ROUND_TRIP: Duration = Duration::from_millis(10);

impl Source {
    /// Sends at a constant rate, in bits of IP packets.
    fn constant(flow: FlowId, size: u16, rate: u64) -> Self {
        Self {
            flow,
            size,
            ecn: Ecn::Ect1,
            interval: Rate(rate).time_for(u64::from(size)),
            next: Instant::ZERO,
            window: None,
            outcomes: Vec::new(),
        }
    }

    /// Sends full-size packets and responds to marks.
    fn responsive(flow: FlowId) -> Self {
        let window = Window {
            packets: 2.0,
            feedback: VecDeque::new(),
        };
        Self {
            window: Some(window),
            ..Self::constant(flow, 1500, MBIT)
        }
    }

    /// Learns of the packets that were acknowledged until now.
    fn learn(&mut self, now: Instant) {
        let Some(window) = &mut self.window else {
            return;
        };
        while let Some(&(_, is_marked)) = window.feedback.front().filter(|(at, _)| *at <= now) {
            window.feedback.pop_front();
            let change = if is_marked {
                -0.5
            } else {
                1.0 / window.packets
            };
            window.packets = (window.packets + change).max(1.0);
        }
        self.interval = Duration::from_secs_f64(ROUND_TRIP.as_secs_f64() / window.packets);
    }

    fn acknowledge(&mut self, ecn: Ecn, now: Instant) {
        if let Some(window) = &mut self.window {
            window
                .feedback
                .push_back((now + ROUND_TRIP, ecn == Ecn::Ce));
        }
    }

    /// Packets with such an outcome.
    fn count(&self, is_wanted: fn(Outcome) -> bool) -> usize {
        let wanted = |one: &&(Instant, Outcome, Duration)| is_wanted(one.1);
        self.outcomes.iter().filter(wanted).count()
    }

    fn redirected(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Redirected(_)))
    }

    fn discarded(&self) -> usize {
        self.count(|outcome| outcome == Outcome::Discarded)
    }
}

/// Lets the sources send for `span` while the line drains the queue at its rate. Returns the
/// longest delay, with which the queue was left at any arrival.
fn run(scene: &mut Scene, sources: &mut [Source], span: Duration) -> Duration {
    let end = scene.bench.now + span;
    let mut longest = Duration::ZERO;
    let mut free_at = scene.bench.now;
    loop {
        let next = (0..sources.len()).min_by_key(|&index| sources[index].next);
        let next = next.expect("there are sources");
        let arrival = sources[next].next;
        if scene.queue.depth().packets > 0 && free_at <= arrival {
            scene.bench.now = free_at;
            let before = scene.queue.depth().bytes;
            let (flow, ecn) = scene.dequeue().expect("it waits");
            free_at += scene.rate.0.time_for(before - scene.queue.depth().bytes);
            let source = sources.iter_mut().find(|source| source.flow == flow);
            source
                .expect("it sent it")
                .acknowledge(ecn, scene.bench.now);
            continue;
        }
        if arrival >= end {
            scene.bench.now = end;
            return longest;
        }
        scene.bench.now = arrival;
        free_at = free_at.max(arrival);
        let source = &mut sources[next];
        source.learn(arrival);
        let outcome = scene.arrive(source.flow, source.size, source.ecn);
        let delay = Duration::from_nanos(scene.delay());
        source.outcomes.push((arrival, outcome, delay));
        if let Outcome::Redirected(ecn) = outcome {
            source.acknowledge(ecn, arrival);
        }
        source.next = arrival + source.interval;
        longest = longest.max(delay);
    }
}

/// A flood of 60 Mbit/s beside a game of 100 kbit/s: the two sources, and the longest delay.
fn flood_beside_a_game(config: &Config) -> ([Source; 2], Duration) {
    let mut scene = Scene::new(config, AMSR);
    let flood = Source::constant(scene.bench.flow(0), 1500, 60 * MBIT);
    let game = Source::constant(scene.bench.flow(45), 150, 100_000);
    let mut sources = [flood, game];
    let longest = run(&mut scene, &mut sources, Duration::from_secs(10));
    (sources, longest)
}

#[test]
fn protection_redirects_a_flood_and_never_a_game_beside_it() {
    let ([flood, game], longest) = flood_beside_a_game(&protected());
    assert_eq!(game.redirected() + game.discarded(), 0);
    assert_eq!(game.outcomes.len(), 834);
    // A sixth of the flood exceeds the rate of the line.
    let share = flood.redirected() as f64 / flood.outcomes.len() as f64;
    assert!((share - 1.0 / 6.0).abs() < 0.02, "{share}");
    assert_eq!(flood.discarded(), 0);
    // A packet is enqueued if the delay with it is at most MAXTH. A packet of the game may follow.
    let most = MAXIMUM + AMSR.time_for(178);
    assert!(longest > us(900) && longest <= most, "{longest}");
}

#[test]
fn the_first_sanction_comes_above_the_threshold_of_the_delay() {
    let mut scene = Scene::new(&protected(), AMSR);
    let mut sources = [Source::constant(scene.bench.flow(0), 1500, 60 * MBIT)];
    run(&mut scene, &mut sources, ms(100));
    let mut outcomes = sources[0].outcomes.iter();
    let is_redirected =
        |one: &&(Instant, Outcome, Duration)| matches!(one.1, Outcome::Redirected(_));
    let &(_, _, left) = outcomes.find(is_redirected).expect("it comes");
    // With the packet that was redirected, the delay would have been longer than MAXTH. No packet
    // before it made the delay longer than MAXTH by as much as a frame.
    let frame = AMSR.time_for(1528);
    assert!(left + frame > MAXIMUM && left < MAXIMUM + frame, "{left}");
}

#[test]
fn without_protection_a_flood_fills_the_queue_to_its_limit() {
    let ([flood, game], longest) = flood_beside_a_game(&Config::default());
    assert_eq!(flood.redirected(), 0);
    assert!(flood.discarded() > 0);
    assert!(game.discarded() > 0, "the game suffers");
    // 62 500 B − 2000 B + a frame, with MAC headers: about 10 ms.
    assert!(longest > us(9680) && longest < ms(10), "{longest}");
}

#[test]
fn a_sender_that_responds_to_marks_is_hardly_redirected() {
    let alone = |source: fn(FlowId) -> Source| {
        let mut scene = Scene::new(&protected(), AMSR);
        let flow = scene.bench.flow(0);
        let mut sources = [source(flow)];
        run(&mut scene, &mut sources, Duration::from_secs(10));
        let [source] = sources;
        (source.redirected(), source.outcomes.len())
    };
    // The ramp is two packets high, and the sender learns of it a round trip later. In that time
    // it may collect a score that is too high.
    let (redirected, sent) = alone(Source::responsive);
    assert!(redirected * 100 < sent, "{redirected} of {sent}");
    let (redirected, sent) = alone(|flow| Source::constant(flow, 1500, 60 * MBIT));
    assert!(redirected * 10 > sent, "{redirected} of {sent}");
}

#[test]
fn the_salt_of_the_hash_decides_which_flows_share_the_default_bucket() {
    // Forty floods of 1.5 Mbit/s for 32 buckets. Each adds less to its score than decays.
    let redirected = |seed| {
        let mut scene = Scene::salted(&protected(), AMSR, seed);
        let mut sources: Vec<Source> = (0..40)
            .map(|number| {
                let flow = scene.bench.flow(0);
                Source {
                    next: Instant::ZERO + us(200) * number,
                    ..Source::constant(flow, 1500, 1_500_000)
                }
            })
            .collect();
        run(&mut scene, &mut sources, Duration::from_secs(2));
        let counts: Vec<usize> = sources.iter().map(Source::redirected).collect();
        counts
    };
    let [one, other] = [1, 2].map(redirected);
    assert_eq!(one, redirected(1));
    let harmed = |counts: &[usize]| -> Vec<usize> {
        let mut flows: Vec<usize> = (0..40).collect();
        flows.sort_by_key(|&flow| std::cmp::Reverse(counts[flow]));
        flows.truncate(5);
        flows
    };
    assert_ne!(harmed(&one), harmed(&other), "{one:?} {other:?}");
    // Flows that share a bucket suffer, and flows that have one of their own do not.
    assert!(one.contains(&0), "{one:?}");
    assert!(one.iter().any(|&count| count > 50), "{one:?}");
}

#[test]
fn a_thousand_flows_of_one_packet_are_not_redirected() {
    let mut scene = Scene::new(&protected(), AMSR);
    let mut outcomes = Vec::new();
    // 40 Mbit/s in all.
    for _ in 0..1000 {
        let flow = scene.bench.flow(0);
        outcomes.push(scene.arrive(flow, 1500, Ecn::Ect1));
        scene.bench.advance(us(300));
        scene.dequeue();
    }
    assert!(outcomes.iter().all(|&outcome| outcome == Outcome::Enqueued));
}

// Parameters.

#[test]
fn invalid_parameters_are_refused_with_a_reason() {
    let refusal = |change: fn(&mut Config)| {
        let mut config = protected();
        change(&mut config);
        let built = config.build(AMSR, Rng::for_path(1, "queue"));
        built.map(drop).expect_err("it is refused")
    };
    let protection = |change: fn(&mut Protection)| {
        let mut config = protected();
        change(config.protection.as_mut().expect("it is on"));
        config.check().expect_err("it is refused")
    };
    for (reason, expected) in [
        (
            refusal(|config| config.maximum_threshold = Duration::from_nanos(999)),
            "maximum_threshold must be from 1 us to 65.535 ms, not 999 ns",
        ),
        (
            refusal(|config| config.maximum_threshold = us(65_536)),
            "maximum_threshold must be from 1 us to 65.535 ms, not 65.536 ms",
        ),
        (
            refusal(|config| config.range_exponent = 26),
            "range_exponent must be from 0 to 25, not 26",
        ),
        (
            refusal(|config| config.limit = Some(Limit::Bytes(ByteCount(2000)))),
            "limit must be larger than a frame of 2000 B, not 2000 B",
        ),
        (
            refusal(|config| config.limit = Some(Limit::Time(us(100)))),
            "limit must be larger than a frame of 2000 B, not 625 B",
        ),
        (
            protection(|protection| protection.latency_threshold = Some(Duration::from_nanos(1))),
            "latency_threshold must be from 1 us to 65.535 ms, not 1 ns",
        ),
        (
            protection(|protection| protection.score_threshold = Duration::ZERO),
            "score_threshold must be from 1 us to 65.535 ms, not 0 s",
        ),
        (
            protection(|protection| protection.drain_exponent = 31),
            "drain_exponent must be from 0 to 30, not 31",
        ),
    ] {
        assert_eq!(reason, expected);
    }
}
