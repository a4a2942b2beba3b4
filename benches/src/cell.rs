//! The cost of a delivered frame in an 802.11b cell of saturated stations, with and without
//! stations that never send.

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

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": "cell",
        "idle_stations": row.of,
        "ns_per_packet": row.cost.ns_per_packet(),
        "events_per_packet": row.cost.events_per_packet(),
        "data_packets": row.cost.packets,
    })
}
