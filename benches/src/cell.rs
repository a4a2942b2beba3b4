//! The cost of a delivered packet in cells of saturated stations: 802.11b with and without stations
//! that never send, and 802.11ax with frames of many packets both ways.

use crate::cost::{self, Cost};
use crate::setting;

const SCENARIO: &str = include_str!("../cell.toml");

/// The numbers of stations that never send, beside the saturated ones.
pub const IDLE: [u32; 2] = [20, 200];

/// The cost of a frame beside a number of stations that never send.
pub type Row = cost::Row<u32>;

/// One run.
pub fn run(idle: u32, duration: &str) -> Row {
    let overrides = [
        ("duration".to_owned(), duration.to_owned()),
        (
            "link.wifi.dot11b.station.idle.count".to_owned(),
            idle.to_string(),
        ),
    ];
    let scenario = setting::read(SCENARIO, &overrides);
    Row {
        of: idle,
        cost: Cost::of(&mut scenario.build(1)),
    }
}

const WIFI: &str = include_str!("../wifi.toml");

/// One run of an 802.11ax cell whose access point and stations are saturated.
pub fn run_wifi() -> Cost {
    Cost::of(&mut setting::read(WIFI, &[]).build(1))
}

pub fn wifi_json(row: &cost::Row<()>) -> serde_json::Value {
    serde_json::json!({
        "case": "wifi",
        "ns_per_packet": row.cost.ns_per_packet(),
        "events_per_packet": row.cost.events_per_packet(),
        "simulated_per_cpu": row.cost.simulated_per_wall(),
        "data_packets": row.cost.packets,
    })
}

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": "cell",
        "idle_stations": row.of,
        "ns_per_packet": row.cost.ns_per_packet(),
        "events_per_packet": row.cost.events_per_packet(),
        "data_packets": row.cost.packets,
    })
}
