//! Scenarios from outside: what is said of wrong ones, that the resolved form is the same scenario, that a run depends on scenario and seed alone.

use std::collections::BTreeMap;

use headend::metrics::table::{Column, Table};
use headend::scenario::{Format, Scenario, ScenarioError, required_files};
use headend::time::Instant;
use proptest::prelude::*;

const PLAIN: &str = r#"
title = "A stream over a plain link"
duration = "2 s"
warmup = "500 ms"

[link.dsl.point_to_point]
up.rate = "1 Mbit/s"
up.delay = "1 ms"
up.queue.drop_tail.limit = "100 ms"
down.rate = "10 Mbit/s"

[flow.stream]
application.cbr.rate = "1.2 Mbit/s"
start = { from = "0 s", to = "10 ms" }
"#;

fn parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = (overrides.iter())
        .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()))
        .collect();
    Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
}

#[track_caller]
fn error(text: &str) -> String {
    parse(text, &[])
        .expect_err("the scenario is wrong")
        .to_string()
}

#[track_caller]
fn error_with(path: &str, value: &str) -> String {
    parse(PLAIN, &[(path, value)])
        .expect_err("the override is wrong")
        .to_string()
}

/// `PLAIN` with `from` replaced.
#[track_caller]
fn error_where(from: &str, to: &str) -> String {
    assert!(PLAIN.contains(from), "the plain scenario has {from}");
    error(&PLAIN.replace(from, to))
}

fn run(scenario: &Scenario, seed: u64) -> Vec<(&'static str, Table)> {
    let mut simulation = scenario.build(seed);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    simulation.tables()
}

fn integer(tables: &[(&str, Table)], table: &str, column: &str, row: usize) -> u64 {
    let (_, table) = tables
        .iter()
        .find(|(name, _)| *name == table)
        .expect("a table");
    match table.get(column) {
        Some(Column::Integer(values)) => values[row],
        other => panic!("{column} holds no integers: {other:?}"),
    }
}

#[test]
fn print_errors() {
    for (path, value) in [
        ("duration", "10"),
        ("duration", "10 parsecs"),
        ("flow.stream.rtt", "5"),
        ("flow.strem.rtt", "5 ms"),
        ("queue", "codle"),
        ("queue", "cbt"),
        ("queue.cbt.x", "1"),
        ("queue.codle.x", "1"),
        ("queue.drop_tail.limti", "1"),
        ("flow.stream.tpc.mtu", "1"),
        ("flow.stream.tcp.mtu", "1"),
        ("seed", "-1"),
        ("seed", "x"),
        ("link.dsl.docsis.preset", "docsis30"),
        ("x..y", "1"),
        ("flow.stream.dscp", "300"),
        (
            "link.dsl.point_to_point.up.rate.steps",
            "[[\"0 s\", \"10 Mbit/s\"], [\"1 s\"]]",
        ),
        ("title", "5"),
        ("flow.stream.rtt.sites", "berlin"),
    ] {
        println!(
            "{path}={value}\n   -> {:?}",
            parse(PLAIN, &[(path, value)])
                .map(|s| s.to_json())
                .map_err(|e| e.to_string())
        );
    }
    println!("{}", parse(PLAIN, &[]).unwrap().to_json());
    println!("{:?}", error(""));
    println!("{:?}", error("\u{0}\u{1}PNG"));
    println!("{}", error("a = 1\na = 2"));
    println!("{}", error("[link\n"));
    println!("{}", error("titel = 'x'"));
    println!("{}", error("\n[link.x]\n"));
    println!("{}", error("\n[link.x.point_to_point]\nup.delay='1 ms'"));
    println!(
        "{}",
        error("\n[link.x.point_to_point]\nup.rate='1 bit/s'\n[flow.a]\nrtt = '1 ms'")
    );
    println!(
        "{}",
        error("\n[link.x.point_to_point]\nup.rate=5\n[flow.a]\nrtt = '1 ms'")
    );
    println!(
        "{}",
        error("\n[link.x.point_to_pont]\nup.rate='1 bit/s'\n[flow.a]\nrtt = '1 ms'")
    );
    println!(
        "{}",
        error(
            "\n[link.x.docsis]\n[link.x.point_to_point]\nup.rate='1 bit/s'\n[flow.a]\nrtt = '1 ms'"
        )
    );
}

#[test]
fn a_stream_over_a_plain_link_loses_what_does_not_fit() {
    let scenario = parse(PLAIN, &[]).expect("the scenario is right");
    let tables = run(&scenario, 1);
    for (name, table) in &tables {
        println!("{name}: {} rows", table.rows());
    }
    assert_eq!(integer(&tables, "flows", "packets_sent", 0), 225);
}
