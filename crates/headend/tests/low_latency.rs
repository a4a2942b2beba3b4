//! Low latency as scenarios write it: which service flows there are, which packets each takes, what
//! is refused, and what users are warned of.

mod from_text;

use std::collections::BTreeMap;

use from_text::Tables;
use headend::scenario::{Format, Override, Scenario};

/// A home with a transfer that is not L4S, one that is, a game with DSCP 45, and one with DSCP 46.
const LINE: &str = r#"
duration = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "20 Mbit/s", low_latency = {} }
downstream = { rate = "100 Mbit/s", low_latency = {} }
[flow.classic]
application.cbr = { rate = "1 Mbit/s", size = "500 B" }
direction = "up"
[flow.nqb]
application.cbr = { rate = "200 kbit/s", size = "100 B" }
direction = "up"
dscp = 45
[flow.ef]
application.cbr = { rate = "100 kbit/s", size = "100 B" }
direction = "down"
dscp = 46
[flow.scalable]
application = "bulk"
direction = "up"
tcp.congestion = "prague"
"#;

fn parse_with(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    let overrides: Vec<Override> = overrides.iter().map(owned).collect();
    Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn refused(overrides: &[(&str, &str)]) -> String {
    parse_with(LINE, overrides).expect_err("it makes no sense")
}

#[track_caller]
fn warnings(overrides: &[(&str, &str)]) -> Vec<String> {
    let scenario = parse_with(LINE, overrides).expect("it makes sense");
    scenario.warnings().to_vec()
}

#[track_caller]
fn tables(overrides: &[(&str, &str)]) -> Tables {
    let scenario = parse_with(LINE, overrides).expect("it makes sense");
    Tables::finish(scenario.build(1))
}

#[track_caller]
fn packets(tables: &Tables, queue: &str) -> u64 {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue);
    let row = row.unwrap_or_else(|| panic!("no {queue} in {names:?}"));
    tables.integers("queues", "arrived_packets")[row]
}

const UP: &str = "link.cable.docsis.upstream.low_latency";
const DOWN: &str = "link.cable.docsis.downstream.low_latency";

#[test]
fn each_direction_has_a_classic_and_a_low_latency_queue() {
    let names = |overrides: &[(&str, &str)]| tables(overrides).texts("queues", "queue").to_vec();
    let all = [
        "cable.up",
        "cable.up_low_latency",
        "cable.down",
        "cable.down_low_latency",
    ];
    assert_eq!(names(&[]), all);
    assert_eq!(names(&[(UP, "on"), (DOWN, "2019")]), all);
    assert_eq!(names(&[(DOWN, "off")]), all[..3]);
    assert_eq!(names(&[(UP, "off"), (DOWN, "off")]), [all[0], all[2]]);
}
