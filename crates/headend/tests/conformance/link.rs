//! Rules for every kind of link, in one or more examples, under random traffic both ways, between a
//! host behind the link and remote hosts.
//!
//! - Each packet ends once, with the size with which it was sent.
//! - Order is kept within a flow.
//! - Over no interval does a link carry more than its rate and its burst allow.
//! - After the traffic has ended, nothing happens on the link any more.
//! - The same scenario and seed give the same events.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use headend::link::docsis::preset::Preset;
use headend::packet::Side;
use headend::time::{Duration, Instant};
use headend::trace::{PacketView, TraceEvent};
use headend::units::Rate;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};
use proptest::test_runner::RngSeed;

use crate::from_text::{Log, Tables, scenario};
use crate::kinds::kinds;

/// The end of the traffic.
const STOP: Duration = Duration::from_secs(1);
/// The time by which every packet has ended: no queue here holds more than two seconds of traffic.
const QUIET: Duration = Duration::from_secs(5);
const END: Duration = Duration::from_secs(30);

/// The bound of what a link may carry: over an interval of length t, at most `rate · (t + jitter)`
/// and `burst`.
#[derive(Debug, Clone, Copy)]
struct Bound {
    rate: Rate,
    /// The burst, in bytes.
    burst: u64,
    /// The variation of the time between the point that limits the rate and the arrival.
    jitter: Duration,
}

/// Whether the two directions share the medium.
#[derive(Debug, Clone, Copy)]
enum Capacity {
    EachWay([Bound; 2]),
    Shared(Bound),
}

/// An example of a kind of link.
#[derive(Debug)]
struct Example {
    kind: &'static str,
    /// The keys of the link.
    text: String,
    /// The port that the host is behind.
    port: &'static str,
    /// The bytes of overhead that count against the rate, besides those of the IP packet.
    overhead: u64,
    capacity: Capacity,
}

/// The largest packet of the traffic, as an IP packet.
const LARGEST: u64 = 1500;

fn bound(megabits: u64, burst: u64) -> Bound {
    Bound {
        rate: Rate(megabits * 1_000_000),
        burst,
        jitter: Duration::ZERO,
    }
}

fn plain() -> Vec<Example> {
    let constant = "up = { rate = '3 Mbit/s', delay = '2 ms' }\ndown.rate = '8 Mbit/s'";
    // A queue whose law wakes the link for updates.
    let steps = "up.queue = 'pie'\nup.rate.period = '0.1 s'\n\
                 up.rate.steps = [['0 s', '1 Mbit/s'], ['70 ms', '4 Mbit/s']]";
    let opportunities = "up.rate.opportunities = [1, 2, 4, 8]\ndown.rate = '8 Mbit/s'";
    // A packet arrives at once, not byte by byte.
    let packet = LARGEST;
    let example = |text: &str, bounds| Example {
        kind: "point_to_point",
        text: text.to_owned(),
        port: "tested",
        overhead: 0,
        capacity: Capacity::EachWay(bounds),
    };
    vec![
        example(constant, [bound(3, packet), bound(8, packet)]),
        example(steps, [bound(4, packet); 2]),
        // At most 1504 B each millisecond; each opportunity is delivered at once.
        example(opportunities, [bound(13, packet + 1504), bound(8, packet)]),
        limited(),
        recorded(),
    ]
}

/// Rate, delay and losses that vary, with an outage.
fn recorded() -> Example {
    let text = "up.queue.drop_tail.limit = '60 packets'\n\
                up.rate.steps = [['0 s', '3 Mbit/s'], ['70 ms', '0 bit/s']]\n\
                up.rate.period = '0.1 s'\n\
                up.delay = { steps = [['0 s', '2 ms'], ['33 ms', '9 ms']], period = '50 ms' }\n\
                up.loss = { steps = [['0 s', '50 %'], ['40 ms', 0]], period = '90 ms' }";
    // A packet arrives up to 7 ms earlier or later than the one before it left.
    let bound = Bound {
        jitter: Duration::from_millis(7),
        ..bound(3, LARGEST)
    };
    Example {
        kind: "point_to_point",
        text: text.to_owned(),
        port: "tested",
        overhead: 0,
        capacity: Capacity::EachWay([bound; 2]),
    }
}

/// A shaper one way and a policer the other, which count Ethernet frames.
fn limited() -> Example {
    let text = "up.framing = 'docsis'\nup.rate = '8 Mbit/s'\ndown.rate = '8 Mbit/s'\n\
                up.shaper = { rate = '3 Mbit/s', burst = '6 kB', peak = '5 Mbit/s' }\n\
                down.policer = { rate = '3 Mbit/s', burst = '6 kB' }";
    // A packet of 1518 B takes 1.52 ms after its tokens. A burst that passes the policer takes 6
    // ms.
    let limit = |micros| Bound {
        jitter: Duration::from_micros(micros),
        ..bound(3, 6_000)
    };
    Example {
        kind: "point_to_point",
        text: text.to_owned(),
        port: "tested",
        overhead: 18,
        capacity: Capacity::EachWay([limit(1_520), limit(7_520)]),
    }
}

fn cable() -> Vec<Example> {
    let presets = Preset::ALL.map(|preset| {
        let name = serde_json::to_value(preset).expect("a preset has a name");
        let text = format!(
            "preset = {name}\ndownstream.rate = '8 Mbit/s'\n\
             upstream.rate = '2 Mbit/s'\nupstream.burst = '10 kB'"
        );
        // Modems before DOCSIS 3.1 have 256 KiB, in which small packets wait for many seconds:
        // a modem of DOCSIS 1.0 requests each of them.
        let text = if preset == Preset::Docsis31 {
            text
        } else {
            text + "\nupstream.queue.drop_tail.limit = '250 ms'"
        };
        // The bucket limits what a modem may request (RFC 8034 §3). A request waits for the next
        // MAP and its grant for its burst, each up to a MAP interval of 2 ms; a burst of 1522 B
        // takes up to 1.2 ms.
        let up = Bound {
            jitter: Duration::from_micros(5_200),
            ..bound(2, 10_000)
        };
        // The bucket limits what the CMTS sends. A packet of 1522 B takes up to 0.45 ms on the
        // slowest channel, a small one almost none.
        let down = Bound {
            jitter: Duration::from_micros(450),
            ..bound(8, 3044)
        };
        Example {
            kind: "docsis",
            text,
            port: "tested",
            overhead: 18,
            capacity: Capacity::EachWay([up, down]),
        }
    });
    presets.into()
}

fn cell() -> Vec<Example> {
    // At a low rate, preambles and gaps take little of the time, so that the bound is tight.
    let text = "rate = '2 Mbit/s'\naccess_point.queue.drop_tail.limit = '100 packets'\n\
                station.one.queue.drop_tail.limit = '100 packets'\n\
                station.two = { frame_errors = '10 %', queue.drop_tail.limit = '100 packets' }";
    ["tested.one", "tested.two"]
        .map(|port| Example {
            kind: "dot11b",
            text: text.to_owned(),
            port,
            overhead: 36,
            capacity: Capacity::Shared(bound(2, LARGEST + 36)),
        })
        .into()
}

/// Cells of the later standards, at their lowest rates for the same reason.
fn wifi() -> Vec<Example> {
    let stations = "station.one.queue.drop_tail.limit = '100 packets'\n\
                    station.two = { frame_errors = '10 %', queue.drop_tail.limit = '100 packets' }";
    let lowest = "mcs = 0\nstreams = 1\nwidth = 20\nguard_interval = '800 ns'";
    [
        ("dot11g", "rate = '6 Mbit/s'", 36, 6),
        ("dot11n", lowest, 38, 7),
        ("dot11ac", lowest, 38, 7),
        ("dot11ax", lowest, 38, 9),
    ]
    .map(|(kind, channel, overhead, megabits)| Example {
        kind,
        text: format!("{channel}\naccess_point.queue.drop_tail.limit = '100 packets'\n{stations}"),
        port: "tested.one",
        overhead,
        // All packets of a frame, of 5.484 ms at most, arrive at its end.
        capacity: Capacity::Shared(bound(megabits, megabits * 5484 / 8 + LARGEST + overhead)),
    })
    .into()
}

/// Examples of every kind of link. A link has no default rates, so that each kind needs an example.
fn examples() -> Vec<Example> {
    let examples: Vec<Example> = [plain(), cable(), cell(), wifi()]
        .into_iter()
        .flatten()
        .collect();
    for kind in kinds("LinkConfig") {
        assert!(
            examples.iter().any(|example| example.kind == kind),
            "a link of kind {kind} is among the examples"
        );
    }
    examples
}

/// The datagrams of one flow.
#[derive(Debug, Clone, Copy)]
struct Load {
    upward: bool,
    /// The rate in kbit/s.
    rate: u32,
    /// The bytes of an IP packet.
    size: u32,
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.text.replace('\n', ", "))
    }
}

impl Example {
    fn text(&self, loads: &[Load]) -> String {
        let Self {
            kind, text, port, ..
        } = self;
        let mut scenario = format!(
            "duration = '{END}'\nresults.interval = '{END}'\n\
             [host.home]\nvia = ['{port}']\n[link.tested.{kind}]\n{text}\n"
        );
        for (number, load) in loads.iter().enumerate() {
            let Load { upward, rate, size } = *load;
            let direction = if upward { "up" } else { "down" };
            write!(
                scenario,
                "[flow.f{number}]\nhost = 'home'\ndirection = '{direction}'\nstop = '{STOP}'\n\
                 rtt = '0 s'\npath.jitter = '0 s'\n\
                 application.poisson = {{ rate = '{rate} kbit/s', size = '{size} B' }}\n"
            )
            .expect("a text takes what is written");
        }
        scenario
    }

    /// Runs `loads` to the end, checks the rules, and returns the events.
    fn run(&self, loads: &[Load], seed: u64) -> Vec<(Instant, TraceEvent)> {
        let mut simulation = scenario(&self.text(loads), &[]).build(seed);
        let log = Log::of(&mut simulation);
        simulation.run_until(Instant::ZERO + QUIET);
        let before = simulation.events();
        assert!(simulation.run_until(Instant::FAR_FUTURE));
        let at_rest = simulation.events() - before;
        Tables::finish(simulation);
        let events = log.choose(|event| Some(*event));
        self.check_ends(&events);
        self.check_order(&events);
        self.check_rate(&events);
        // The only event may be the last sample of the series.
        assert!(at_rest <= 1, "{self}: {at_rest} events at rest");
        let last = events.last().map(|(at, _)| *at);
        assert!(last < Some(Instant::ZERO + QUIET), "{self} is at rest");
        events
    }

    /// Checks that each packet ends once, with the size with which it was sent.
    fn check_ends(&self, events: &[(Instant, TraceEvent)]) {
        let mut under_way = BTreeMap::new();
        for (_, event) in events {
            let key = |packet: &PacketView| (packet.flow.0, packet.seq);
            match event {
                TraceEvent::Sent { packet } => {
                    let before = under_way.insert(key(packet), packet.size);
                    assert_eq!(before, None, "{self}: {packet:?} is sent once");
                }
                TraceEvent::Delivered { packet, .. } | TraceEvent::Discarded { packet, .. } => {
                    let sent = under_way.remove(&key(packet));
                    assert_eq!(sent, Some(packet.size), "{self}: {packet:?} ends once");
                }
                _ => {}
            }
        }
        assert!(under_way.is_empty(), "{self} still holds {under_way:?}");
    }

    fn check_order(&self, events: &[(Instant, TraceEvent)]) {
        let mut last = BTreeMap::new();
        for (_, event) in events {
            if let TraceEvent::Delivered { packet, .. } = event {
                let before = last.insert(packet.flow.0, packet.seq);
                assert!(before < Some(packet.seq), "{self} keeps order in a flow");
            }
        }
    }

    fn check_rate(&self, events: &[(Instant, TraceEvent)]) {
        let arrivals = |sides: &[Side]| -> Vec<(Instant, u64)> {
            let arrival = |(at, event): &(Instant, TraceEvent)| match event {
                TraceEvent::Delivered { packet, .. } if sides.contains(&packet.from) => {
                    Some((*at, u64::from(packet.size) + self.overhead))
                }
                _ => None,
            };
            events.iter().filter_map(arrival).collect()
        };
        match self.capacity {
            Capacity::Shared(bound) => self.check_bound(bound, &arrivals(&Side::BOTH)),
            Capacity::EachWay(bounds) => {
                for (side, bound) in Side::BOTH.into_iter().zip(bounds) {
                    self.check_bound(bound, &arrivals(&[side]));
                }
            }
        }
    }

    /// Checks that no interval has more than its rate and burst allow: a bucket that leaks at the
    /// rate never holds more than the burst.
    fn check_bound(&self, bound: Bound, arrivals: &[(Instant, u64)]) {
        let rate = bound.rate.bytes_per_sec();
        let most = bound.burst as f64 + rate * bound.jitter.as_secs_f64();
        let (mut held, mut last) = (0.0_f64, Instant::ZERO);
        for &(at, bytes) in arrivals {
            held = (held - rate * at.since(last).as_secs_f64()).max(0.0) + bytes as f64;
            last = at;
            // The tolerance of a byte is for the rounding of times to nanoseconds.
            assert!(
                held < most + 1.0,
                "{self}: {held:.0} B above the rate at {at:?}, of {most:.0} B"
            );
        }
    }
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let load = (any::<bool>(), 100_u32..9_000, 60_u32..=LARGEST as u32);
    let load = load.prop_map(|(upward, rate, size)| Load { upward, rate, size });
    prop::collection::vec(load, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(31),
        ..ProptestConfig::with_cases(60)
    })]

    #[test]
    fn every_link_keeps_the_rules_and_repeats_itself(loads in loads(), seed in any::<u64>()) {
        for example in examples() {
            let first = example.run(&loads, seed);
            proptest::prop_assert!(first == example.run(&loads, seed), "{example}");
        }
    }
}
