//! An 802.11b cell of saturated stations: what a delivered frame costs, with and without stations that never send.

use std::collections::BTreeMap;

use headend::scenario::{Format, Scenario};

use crate::cost::{Cost, Measured};

const SCENARIO: &str = include_str!("../cell.toml");

/// Stations beside the saturated ones that never send.
pub const IDLE: [u32; 2] = [20, 200];

/// What a frame costs.
pub struct Row {
    pub idle: u32,
    pub cost: Cost,
    pub events: u64,
    pub packets: u64,
}

impl Measured for Row {
    fn cost(&mut self) -> &mut Cost {
        &mut self.cost
    }
}

impl Row {
    /// CPU time of a delivered packet.
    pub fn ns_per_packet(&self) -> f64 {
        self.cost.ns() / self.packets as f64
    }

    /// Events of a delivered packet.
    pub fn events_per_packet(&self) -> f64 {
        self.events as f64 / self.packets as f64
    }
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
    let cost = Cost::of(&mut simulation);
    Row {
        idle,
        cost,
        events: simulation.events(),
        packets: simulation.data_packets_delivered(),
    }
}

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": "cell",
        "idle_stations": row.idle,
        "ns_per_packet": row.ns_per_packet(),
        "events_per_packet": row.events_per_packet(),
        "data_packets": row.packets,
    })
}
