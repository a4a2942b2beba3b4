//! The same scenario and seed give the same bytes: again, on several threads, and with any width of
//! the event queue's buckets.
//!
//! The random numbers of a component are its own: another queue does not change those of any other
//! component.

mod from_text;

use from_text::{Log, Tables, scenario};
use headend::flow::GroupId;
use headend::metrics::table::{Column, Table};
use headend::scenario::Scenario;
use headend::simulation::Simulation;
use headend::time::{Duration, Instant};
use headend::trace::{PacketView, TraceEvent};

const CABLE: &str = r#"
duration = "12 s"
warmup = "2 s"
bottleneck = "cable.up"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
downstream.rate = "100 Mbit/s"
placement = "random"

[flow.call]
application = "voice"

[flow.game]
application = "game"

[flow.others]
application.poisson.rate = "300 kbit/s"
application.poisson.sizes = "exponential"

[flow.page]
application = "web"
rtt.sites = "boston"

[flow.ping]
application = "ping"

[flow.upload]
application = "bulk"
count = 3
path.loss = "0.1 %"
start = { from = "0 s", to = "2 s" }
"#;

const PLAIN: &str = r#"
duration = "12 s"
warmup = "2 s"

[link.line.point_to_point]
up.rate = "10 Mbit/s"
up.queue = "codel"
down.rate = "100 Mbit/s"

[flow.call]
application = "voice"

[flow.upload]
application = "bulk"
count = 3
tcp.ecn = "on"
start = { from = "0 s", to = "2 s" }
"#;

const CELL: &str = r#"
duration = "12 s"
warmup = "2 s"
bottleneck = "wifi.down"

[link.cable.docsis]
preset = "docsis30"
upstream.rate = "5 Mbit/s"
downstream.rate = "50 Mbit/s"

[link.wifi.dot11b]
rts_threshold = "1 kB"

[link.wifi.dot11b.station]
laptop = {}
phone = { frame_errors = "5 %" }
printer = { rate = "1 Mbit/s", queue = "fq_codel" }
player = { count = 3 }

[host]
laptop.via = ["wifi.laptop", "cable"]
phone.via = ["wifi.phone", "cable"]
printer.via = ["wifi.printer"]
player.via = ["wifi.player", "cable"]

[flow.call]
host = "phone"
application = "voice"

[flow.download]
host = "laptop"
application = "bulk"
direction = "down"

[flow.game]
host = "player"
application = "quake3"

[flow.print]
host = "laptop"
peer = "printer"
application = "bulk"
start = "5 s"
"#;

/// The bits of every column. They compare NaN as well, which is not equal to itself.
fn bits(tables: &[(&'static str, Table)]) -> Vec<u64> {
    let mut bits = Vec::new();
    for (name, table) in tables {
        bits.extend(name.bytes().map(u64::from));
        for (name, column) in &table.columns {
            bits.extend(name.bytes().map(u64::from));
            match column {
                Column::Float(values) => bits.extend(values.iter().map(|value| value.to_bits())),
                Column::Integer(values) => bits.extend(values),
                Column::Text(values) => {
                    bits.extend(values.iter().flat_map(|text| text.bytes()).map(u64::from));
                }
            }
        }
    }
    bits
}

fn run(scenario: &Scenario, seed: u64) -> Vec<u64> {
    bits(&Tables::finish(scenario.build(seed)).0)
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    for text in [CABLE, CELL, PLAIN] {
        let scenario = scenario(text, &[]);
        let first = run(&scenario, 1);
        assert!(first.len() > 10_000, "there is something to compare");
        assert!(first == run(&scenario, 1), "the same seed");
        assert!(first != run(&scenario, 2), "another seed");
    }
}

#[test]
fn runs_on_several_threads_at_once_do_not_meet() {
    for text in [CABLE, CELL] {
        run_beside_others(text);
    }
}

fn run_beside_others(text: &str) {
    let scenario = scenario(text, &[]);
    let alone = run(&scenario, 1);
    let beside: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = [1, 2, 1, 1]
            .map(|seed| {
                scope.spawn({
                    let scenario = &scenario;
                    move || run(scenario, seed)
                })
            })
            .into();
        (threads.into_iter())
            .map(|thread| thread.join().expect("the run ends well"))
            .collect()
    });
    for same in [0, 2, 3] {
        assert!(beside[same] == alone, "run {same}");
    }
    assert!(beside[1] != alone);
}

#[test]
fn the_width_of_the_event_queues_buckets_changes_nothing() {
    for text in [CABLE, CELL, PLAIN] {
        let scenario = scenario(text, &[]);
        let with = |bucket| {
            let mut parts = scenario.parts(1);
            parts.bucket = bucket;
            bits(&Tables::finish(Simulation::new(parts)).0)
        };
        let own = run(&scenario, 1);
        // The narrowest width, the widest, and one between.
        for micros in [1, 100, 4200] {
            assert!(with(Duration::from_micros(micros)) == own, "{micros} µs");
        }
    }
}

/// Runs `text` with a queue; returns the events and the tables.
fn listen(text: &str, queue: &str) -> (Log, Tables) {
    let mut simulation = scenario(text, &[("queue", queue)]).build(1);
    let log = Log::of(&mut simulation);
    (log, Tables::finish(simulation))
}

const QUEUES: [&str; 5] = [
    "\"none\"",
    "\"drop_tail\"",
    "\"buffer_control\"",
    "\"codel\"",
    "\"docsis_pie\"",
];

/// What the game server, the other flows and the caller send does not depend on whether it arrives.
#[test]
fn another_queue_leaves_what_unresponsive_sources_send_as_it_was() {
    let unresponsive = |event: &TraceEvent| match event {
        // Groups are numbered by their names; call, game and others come first.
        TraceEvent::Sent {
            packet:
                PacketView {
                    group: GroupId(group),
                    from,
                    seq,
                    size,
                    ..
                },
        } if *group < 3 => Some((*group, *from, *seq, *size)),
        _ => None,
    };
    let runs = QUEUES.map(|queue| listen(CABLE, queue));
    let sent = runs[0].0.choose(unresponsive);
    assert!(sent.len() > 2000, "{}", sent.len());
    for (run, queue) in runs.iter().zip(QUEUES) {
        assert!(run.0.choose(unresponsive) == sent, "{queue}");
    }
    let delay = |run: &(Log, Tables)| run.1.floats("queues", "delay_p99_ns")[0];
    assert!(
        delay(&runs[0]) > 2.0 * delay(&runs[3]),
        "the queues do differ"
    );
}

/// A line with so little traffic that no queue drops a packet. Packets are sent at random times, so
/// that requests contend.
const QUIET_CABLE: &str = r#"
duration = "60 s"
bottleneck = "cable.up"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
downstream.rate = "100 Mbit/s"
placement = "random"

[flow.call]
application = "voice"

[flow.others]
application.poisson.rate = "500 kbit/s"
application.poisson.sizes = "exponential"
"#;

/// The time of a request in contention depends on its backoff; the start of a grant depends on the
/// CMTS's placement in the MAP.
#[test]
fn another_queue_leaves_the_macs_draws_as_they_were() {
    #[derive(PartialEq)]
    enum Mac {
        Request(u64),
        Grant(u64, Instant),
    }
    let mac = |event: &TraceEvent| match *event {
        TraceEvent::Requested {
            bytes,
            contention: true,
            ..
        } => Some(Mac::Request(bytes)),
        TraceEvent::Granted { bytes, start, .. } => Some(Mac::Grant(bytes, start)),
        _ => None,
    };
    let runs = QUEUES.map(|queue| listen(QUIET_CABLE, queue));
    let expected = runs[0].0.choose(mac);
    assert!(runs[0].1.integers("queues", "requests_contention")[0] > 3000);
    for (run, queue) in runs.iter().zip(QUEUES) {
        let dropped = run
            .0
            .choose(|event| matches!(event, TraceEvent::Discarded { .. }).then_some(()));
        assert_eq!(dropped.len(), 0, "{queue} drops nothing here");
        assert!(run.0.choose(mac) == expected, "{queue}");
    }
}

/// A cell with so little traffic that no queue drops a packet. Packets are sent at random times, so
/// that stations contend.
const QUIET_CELL: &str = r#"
duration = "60 s"
bottleneck = "wifi.down"

[link.wifi.dot11b.station]
laptop = {}
phone = {}

[host]
laptop.via = ["wifi.laptop"]
phone.via = ["wifi.phone"]

[flow.call]
host = "phone"
application = "voice"

[flow.others]
host = "laptop"
application.poisson = { rate = "500 kbit/s", sizes = "exponential" }
direction = "down"
"#;

#[test]
fn another_queue_leaves_the_stations_backoffs_as_they_were() {
    let draw = |event: &TraceEvent| match *event {
        TraceEvent::BackedOff { queue, slots, .. } => Some((queue, slots)),
        _ => None,
    };
    let runs = QUEUES.map(|queue| listen(QUIET_CELL, queue));
    let expected = runs[0].0.choose(draw);
    assert!(expected.len() > 5000, "{}", expected.len());
    for (run, queue) in runs.iter().zip(QUEUES) {
        let dropped = run
            .0
            .choose(|event| matches!(event, TraceEvent::Discarded { .. }).then_some(()));
        assert_eq!(dropped.len(), 0, "{queue} drops nothing here");
        assert!(run.0.choose(draw) == expected, "{queue}");
    }
}

/// Changes of service flows, two of them while the run goes on.
const CHANGES: &str = r#"
[link.cable.docsis.change.early]
at = "3 s"
service_flow = "down"
rate = "50 Mbit/s"

[link.cable.docsis.change.first]
at = "5001 ms"
service_flow = "up"
queue = "pie"

[link.cable.docsis.change.second]
at = "7500 ms"
service_flow = "up"
rate = "4 Mbit/s"
queue.drop_tail.limit = "30 ms"
"#;

#[test]
fn a_change_that_comes_while_the_run_goes_on_is_like_one_that_was_known_from_the_start() {
    let changes: Vec<&str> = CHANGES.split_inclusive("\n\n").collect();
    let with = |number: usize| {
        let scenario = scenario(&format!("{CABLE}{}", changes[..number].concat()), &[]);
        scenario.build(7)
    };
    let mut live = with(1);
    for (number, at) in [(2, 5000), (3, 7499)] {
        live.run_until(Instant::from_nanos(at * 1_000_000));
        assert!(live.take_changes(with(number)));
    }
    let live = Tables::finish(live).0;
    let known = Tables::finish(with(3)).0;
    // The number of events may differ: one that finds nothing to do counts too.
    let without_count = |tables: &[(&'static str, Table)]| {
        let tables = tables
            .iter()
            .filter(|(name, _)| *name != "summary")
            .cloned();
        bits(&tables.collect::<Vec<_>>())
    };
    assert!(without_count(&live) == without_count(&known));
    assert!(without_count(&live) != without_count(&Tables::finish(with(1)).0));
}

#[test]
fn a_service_flow_is_not_created_in_a_run_that_has_begun() {
    let create = r#"
        [link.cable.docsis.change.new]
        at = "5 s"
        service_flow = "talk"
        create = { direction = "up", match = { port = "5060" }, rate = "1 Mbit/s" }
    "#;
    let mut simulation = scenario(CABLE, &[]).build(1);
    let other = scenario(&format!("{CABLE}{create}"), &[]).build(1);
    assert!(!simulation.take_changes(other));
}
