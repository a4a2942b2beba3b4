//! Every congestion control in the same whole simulation: what a packet costs, beside NewReno's.

use std::collections::BTreeMap;

use headend::congestion::CongestionConfig;
use headend::scenario::{Format, Scenario};

use super::{REPEATS, cpu_ns};

const SCENARIO: &str = include_str!("../senders.toml");

/// What one control costs.
pub struct Row {
    pub control: &'static str,
    pub ns_per_packet: f64,
    pub events_per_packet: f64,
    pub packets: u64,
}

/// The names of all controls, or of one.
pub fn names(only: Option<&str>) -> Vec<&'static str> {
    let all = CongestionConfig::all();
    let names = all.iter().map(CongestionConfig::name);
    names
        .filter(|name| only.is_none_or(|only| only == *name || *name == "reno"))
        .collect()
}

/// The best of a few runs.
pub fn measure(control: &'static str) -> Row {
    (0..REPEATS)
        .map(|_| run(control, "20 s"))
        .min_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet))
        .expect("at least one repeat")
}

/// One run.
pub fn run(control: &'static str, duration: &str) -> Row {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let overrides = [
        set("duration", duration),
        set("flow.near.tcp.congestion", control),
        set("flow.far.tcp.congestion", control),
    ];
    let scenario = Scenario::parse(SCENARIO, Format::Toml, &overrides, &BTreeMap::new())
        .expect("the bench's scenario is valid");
    let mut simulation = scenario.build(1);
    let start = cpu_ns();
    simulation.run_until(simulation.end());
    let spent = cpu_ns() - start;
    let packets = simulation.data_packets_delivered();
    Row {
        control,
        ns_per_packet: spent as f64 / packets as f64,
        events_per_packet: simulation.events() as f64 / packets as f64,
        packets,
    }
}

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "control": row.control,
        "ns_per_packet": row.ns_per_packet,
        "events_per_packet": row.events_per_packet,
        "data_packets": row.packets,
    })
}
