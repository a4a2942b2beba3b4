//! One upload and one call over the same line, through each queue: the purpose of each queue, in
//! numbers.
//!
//! The bounds are wide: they identify the class of a queue, and hold for any sender that fills the
//! line. docs/models has the exact values.

use std::collections::BTreeMap;

use headend::metrics::table::{Column, Table};
use headend::qdisc::QueueConfig;
use headend::scenario::{Format, Scenario};
use headend::time::Instant;

const UPLOAD_AND_CALL: &str = r#"
title = "An upload and a call"
duration = "60 s"
warmup = "10 s"

[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "100 Mbit/s"

[flow.upload]
application.bulk = {}
rtt = "20 ms"

[flow.call]
application.cbr.rate = "80 kbit/s"
rtt = "20 ms"
"#;

/// Other traffic on the line, which some tests add: packets at random times, of random sizes.
const OTHERS: &str = r#"
[flow.others]
application.poisson.rate = "200 kbit/s"
application.poisson.sizes = "exponential"
rtt = "20 ms"
"#;

/// The results of the upstream queue of a run.
#[derive(Debug)]
struct Figures {
    median_ms: f64,
    longest_ms: f64,
    utilisation: f64,
    congested: u64,
    overlimit: u64,
}

fn tables(text: &str, queue: &QueueConfig) -> Vec<(&'static str, Table)> {
    tables_with(text, &format!("\"{}\"", queue.name()))
}

/// The tables of a run whose queue is given as in a scenario.
fn tables_with(text: &str, queue: &str) -> Vec<(&'static str, Table)> {
    let overrides = [("queue".to_owned(), queue.to_owned())];
    let scenario = Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
        .expect("the scenario is right");
    let mut simulation = scenario.build(1);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    simulation.tables()
}

fn table<'a>(tables: &'a [(&str, Table)], wanted: &str) -> &'a Table {
    let (_, table) = (tables.iter())
        .find(|(name, _)| *name == wanted)
        .expect("a table of this name");
    table
}

fn figures(queue: &QueueConfig) -> Figures {
    let tables = tables(UPLOAD_AND_CALL, queue);
    let queues = table(&tables, "queues");
    Figures {
        median_ms: float(queues, "delay_p50_ns") / 1e6,
        longest_ms: float(queues, "delay_max_ns") / 1e6,
        utilisation: float(queues, "utilisation"),
        congested: integer(queues, "discarded_congested"),
        overlimit: integer(queues, "discarded_overlimit"),
    }
}

fn float(table: &Table, column: &str) -> f64 {
    match table.get(column) {
        Some(Column::Float(values)) => values[0],
        other => panic!("{column} holds no figures: {other:?}"),
    }
}

fn integer(table: &Table, column: &str) -> u64 {
    match table.get(column) {
        Some(Column::Integer(values)) => values[0],
        other => panic!("{column} holds no counts: {other:?}"),
    }
}

fn named(name: &str) -> Figures {
    figures(&QueueConfig::named(name).expect("a queue of this name"))
}

#[test]
fn drop_tail_fills_its_quarter_of_a_second() {
    let figures = named("drop_tail");
    assert!(
        figures.median_ms > 125.0 && figures.longest_ms < 251.3,
        "{figures:?}"
    );
    assert!(figures.utilisation > 0.99, "{figures:?}");
    assert_eq!(figures.congested, 0);
    assert!(figures.overlimit > 0);
}

#[test]
fn buffer_control_bounds_the_delay_by_its_size() {
    let figures = named("buffer_control");
    // 62 464 B at 10 Mbit/s, and the packet in transmission: 51.2 ms.
    assert!(
        figures.longest_ms < 51.2 && figures.longest_ms > 40.0,
        "{figures:?}"
    );
    assert!(figures.utilisation > 0.95, "{figures:?}");
    assert_eq!(figures.congested, 0);
}

#[test]
fn codel_keeps_no_standing_queue_above_its_target() {
    let figures = named("codel");
    assert!(figures.median_ms < 7.5, "{figures:?}");
    assert!(figures.utilisation > 0.85, "{figures:?}");
    assert!(figures.congested > 0);
    assert_eq!(figures.overlimit, 0);
}

#[test]
fn docsis_pie_steers_to_a_few_packets_around_its_target_and_fills_the_line() {
    let figures = named("docsis_pie");
    assert!((5.0..25.0).contains(&figures.median_ms), "{figures:?}");
    assert!(figures.utilisation > 0.97, "{figures:?}");
    assert!(figures.congested > 0);
    assert_eq!(figures.overlimit, 0);
}

#[test]
fn without_a_limit_the_queue_holds_all_that_the_sender_may_send() {
    let figures = named("none");
    assert!(figures.median_ms > 1000.0, "{figures:?}");
    assert_eq!(figures.congested + figures.overlimit, 0);
}

#[test]
fn the_queue_does_not_change_the_random_numbers_of_other_components() {
    let text = format!("{UPLOAD_AND_CALL}{OTHERS}");
    let sent = |queue: &QueueConfig| {
        let tables = tables(&text, queue);
        // The flows are in the order of their names: call, others, upload.
        match table(&tables, "flows").get("bytes_sent") {
            Some(Column::Integer(values)) => values[1],
            other => panic!("bytes_sent holds no counts: {other:?}"),
        }
    };
    let sent: Vec<u64> = QueueConfig::all().iter().map(sent).collect();
    assert!(sent[0] > 1_000_000, "{sent:?}");
    assert!(sent.iter().all(|&bytes| bytes == sent[0]), "{sent:?}");
}

/// Three uploads and a call on a line of 10 Mbit/s. Two of the uploads are capable of ECN.
const FOUR: &str = r#"
duration = "60 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "100 Mbit/s"
[flow.call]
application = "voice"
rtt = "20 ms"
[flow.marked]
application = "bulk"
rtt = "30 ms"
tcp.ecn = "on"
count = 2
[flow.upload]
application = "bulk"
rtt = "40 ms"
"#;

/// AQM paper, section 4.3: "In the case where the latency prediction function is omniscient, CoDel
/// and CoDel-DT would thus produce identical results." The arrivals, their times and their marks
/// are the same to the nanosecond, although one law drops at the head of its queue and the other at
/// the tail. At the end of the run, packets wait that CoDel has not yet dropped.
#[test]
fn codel_dt_with_an_omniscient_prediction_delivers_what_codel_delivers_when_codel_does() {
    let run = |queue: &str| tables_with(FOUR, queue);
    let codel = run("{ codel = { target = \"20 ms\", interval = \"150 ms\", limit = \"1 s\" } }");
    let predicting = |estimate: &str| {
        let parameters = format!("delay_estimate = \"{estimate}\", limit = \"1 s\"");
        run(&format!("{{ codel_dt = {{ {parameters} }} }}"))
    };
    let known = predicting("omniscient");
    let did = ["discarded_congested", "marked"].map(|what| integer(table(&codel, "queues"), what));
    assert!(did.iter().all(|&packets| packets > 50), "{did:?}");
    let columns = [
        "packets_delivered",
        "goodput_bytes",
        "marked",
        "delay_p50_ns",
        "delay_p99_ns",
        "delay_max_ns",
        "jitter_ns",
    ];
    let seen = |tables: &[(&'static str, Table)]| {
        columns.map(|column| format!("{:?}", table(tables, "flows").get(column)))
    };
    assert_eq!(seen(&known), seen(&codel));
    // An estimate from the line's rate is not enough: it does not know the packet in transmission.
    assert_ne!(seen(&predicting("token_buckets")), seen(&codel));
}

fn texts<'a>(table: &'a Table, column: &str) -> &'a [String] {
    match table.get(column) {
        Some(Column::Text(values)) => values,
        other => panic!("{column} holds no names: {other:?}"),
    }
}

#[test]
fn who_shares_a_hashed_queue_with_whom_is_in_the_tables_of_every_queue_that_hashes() {
    for queue in ["drr", "fq_codel", "fq_pie", "sfq", "sfq_codel", "sfq_pie"] {
        let met = |parameters: &str| {
            let tables = tables_with(FOUR, &format!("{{ {queue} = {{ {parameters} }} }}"));
            let collisions = table(&tables, "collisions");
            let names: Vec<String> = (texts(collisions, "flow").iter())
                .zip(texts(collisions, "direction"))
                .filter(|(_, direction)| *direction == "up")
                .map(|(flow, _)| flow.clone())
                .collect();
            let packets = match collisions.get("packets") {
                Some(Column::Integer(values)) => values.iter().sum::<u64>(),
                other => panic!("packets are counts: {other:?}"),
            };
            (names, packets)
        };
        let (names, packets) = met("queues = 1, hash.isolation = \"hashed\"");
        assert_eq!(names, ["call", "marked.1", "marked.2", "upload"], "{queue}");
        assert!(packets > 10_000, "{queue}: {packets}");
        assert_eq!(met("hash.isolation = \"perfect\""), (vec![], 0), "{queue}");
    }
}

/// Half of a flood with twice the line's rate must be dropped. Early drops take at most 10/55 of
/// the arrivals: one in ten, spread evenly over one to ten. An upload alone hardly raises the
/// average that far.
#[test]
fn a_drop_that_the_average_queue_forces_is_distinguished_from_an_early_one() {
    let drops = |text: &str| {
        let tables = tables_with(text, "{ red = { ecn = false } }");
        let queues = table(&tables, "queues");
        ["congested", "forced"].map(|reason| integer(queues, &format!("discarded_{reason}")))
    };
    let [early, forced] = drops(&UPLOAD_AND_CALL.replace("80 kbit/s", "20 Mbit/s"));
    assert!(
        forced > early && early > 0,
        "{early} early, {forced} forced"
    );
    let [early, forced] = drops(UPLOAD_AND_CALL);
    assert!(early > forced, "{early} early, {forced} forced");
}
