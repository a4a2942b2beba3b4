//! The cost of a packet with every congestion control, in the same whole simulation, behind the two
//! queues of the first case; compared with NewReno.
//!
//! The two queues differ where a control does not yield to losses. Behind CoDel, the recovery of
//! BBR never ends, so that each of its packets is acknowledged separately, with SACK blocks.

use headend::congestion::CongestionConfig;

use crate::cost::{self, Cost};
use crate::setting;

const SCENARIO: &str = include_str!("../senders.toml");

/// The queues of the bottleneck.
pub const QUEUES: [&str; 2] = ["drop_tail", "codel"];

/// A congestion control behind a queue.
#[derive(Clone, Copy)]
pub struct Sender {
    pub control: &'static str,
    pub queue: &'static str,
}

/// The cost of one control.
pub type Row = cost::Row<Sender>;

/// The names of all controls, or of one.
pub fn names(only: Option<&str>) -> Vec<&'static str> {
    let all = CongestionConfig::all();
    let names = all.iter().map(CongestionConfig::name);
    names
        .filter(|name| only.is_none_or(|only| only == *name || *name == "reno"))
        .collect()
}

/// One run.
pub fn run(of: Sender, duration: &str) -> Row {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut overrides = vec![
        set("duration", duration),
        set("flow.near.tcp.congestion", of.control),
        set("flow.far.tcp.congestion", of.control),
    ];
    // The queue of the scenario itself keeps its limit.
    if of.queue != QUEUES[0] {
        overrides.push(set("link.line.point_to_point.up.queue", of.queue));
    }
    let scenario = setting::read(SCENARIO, &overrides);
    Row {
        of,
        cost: Cost::of(&mut scenario.build(1)),
    }
}

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "control": row.of.control,
        "queue": row.of.queue,
        "ns_per_packet": row.cost.ns_per_packet(),
        "events_per_packet": row.cost.events_per_packet(),
        "data_packets": row.cost.packets,
    })
}
