//! An 802.11b cell of saturated stations: what a delivered frame costs, with and without stations that never send.

use std::collections::BTreeMap;

use headend::scenario::{Format, Scenario};

use super::{REPEATS, cpu_ns};

const SCENARIO: &str = include_str!("../cell.toml");

/// Stations beside the saturated ones that never send.
pub const IDLE: [u32; 2] = [20, 200];

/// What a frame costs.
pub struct Row {
    pub idle: u32,
    pub ns_per_packet: f64,
    pub events_per_packet: f64,
    pub packets: u64,
}

/// The best of a few runs.
pub fn measure(idle: u32) -> Row {
    (0..REPEATS)
        .map(|_| run(idle, "120 s"))
        .min_by(|a, b| a.ns_per_packet.total_cmp(&b.ns_per_packet))
        .expect("at least one repeat")
}

/// One run.
pub fn run(idle: u32, duration: &str) -> Row {
    let overrides = [
        ("duration".to_owned(), duration.to_owned()),
        (
            "link.wifi.dot11b.station.idle.count".to_owned(),
            idle.to_string(),
        ),
    ];
    let scenario = Scenario::parse(SCENARIO, Format::Toml, &overrides, &BTreeMap::new())
        .expect("the bench's scenario is valid");
    let mut simulation = scenario.build(1);
    let start = cpu_ns();
    simulation.run_until(simulation.end());
    let spent = cpu_ns() - start;
    let packets = simulation.data_packets_delivered();
    Row {
        idle,
        ns_per_packet: spent as f64 / packets as f64,
        events_per_packet: simulation.events() as f64 / packets as f64,
        packets,
    }
}

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": "cell",
        "idle_stations": row.idle,
        "ns_per_packet": row.ns_per_packet,
        "events_per_packet": row.events_per_packet,
        "data_packets": row.packets,
    })
}
