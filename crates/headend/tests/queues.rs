//! One upload and one call over the same line, through each queue in turn: what each queue is for, in numbers.
//!
//! The bounds are wide: they say in which class a queue is, and hold for any sender that fills the line. docs/models has the figures themselves.

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

/// Added to it where others are to be on the line: packets at random times, of random sizes.
const OTHERS: &str = r#"
[flow.others]
application.poisson.rate = "200 kbit/s"
application.poisson.sizes = "exponential"
rtt = "20 ms"
"#;

/// The upstream queue of a run.
#[derive(Debug)]
struct Figures {
    median_ms: f64,
    longest_ms: f64,
    utilisation: f64,
    congested: u64,
    overlimit: u64,
}

fn tables(text: &str, queue: &QueueConfig) -> Vec<(&'static str, Table)> {
    let overrides = [("queue".to_owned(), format!("\"{}\"", queue.name()))];
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
    // 62 464 B at 10 Mbit/s, and the packet that is being sent: 51.2 ms.
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
fn the_queue_shifts_nobody_elses_random_numbers() {
    let text = format!("{UPLOAD_AND_CALL}{OTHERS}");
    let sent = |queue: &QueueConfig| {
        let tables = tables(&text, queue);
        // Flows come in the order of their names: call, others, upload.
        match table(&tables, "flows").get("bytes_sent") {
            Some(Column::Integer(values)) => values[1],
            other => panic!("bytes_sent holds no counts: {other:?}"),
        }
    };
    let sent: Vec<u64> = QueueConfig::all().iter().map(sent).collect();
    assert!(sent[0] > 1_000_000, "{sent:?}");
    assert!(sent.iter().all(|&bytes| bytes == sent[0]), "{sent:?}");
}
