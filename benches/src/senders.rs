//! Every congestion control in the same whole simulation, behind the two queues of the first case: what a packet costs, beside NewReno's.
//!
//! The two differ where a control does not give way to losses: behind CoDel the repairs of BBR never end, so that each of its packets is acknowledged
//! by itself, with SACK blocks.

use std::collections::BTreeMap;

use headend::congestion::CongestionConfig;
use headend::scenario::{Format, Scenario};

use crate::cost::{Cost, Measured};

const SCENARIO: &str = include_str!("../senders.toml");

/// The queues of the bottleneck.
pub const QUEUES: [&str; 2] = ["drop_tail", "codel"];

/// What one control costs.
pub struct Row {
    pub control: &'static str,
    pub queue: &'static str,
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

/// The names of all controls, or of one.
pub fn names(only: Option<&str>) -> Vec<&'static str> {
    let all = CongestionConfig::all();
    let names = all.iter().map(CongestionConfig::name);
    names
        .filter(|name| only.is_none_or(|only| only == *name || *name == "reno"))
        .collect()
}

/// One run.
pub fn run(control: &'static str, queue: &'static str, duration: &str) -> Row {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut overrides = vec![
        set("duration", duration),
        set("flow.near.tcp.congestion", control),
        set("flow.far.tcp.congestion", control),
    ];
    // The scenario's own queue keeps its limit.
    if queue != QUEUES[0] {
        overrides.push(set("link.line.point_to_point.up.queue", queue));
    }
    let scenario = Scenario::parse(SCENARIO, Format::Toml, &overrides, &BTreeMap::new())
        .expect("the bench's scenario is valid");
    let mut simulation = scenario.build(1);
    let cost = Cost::of(&mut simulation);
    Row {
        control,
        queue,
        cost,
        events: simulation.events(),
        packets: simulation.data_packets_delivered(),
    }
}

pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "control": row.control,
        "queue": row.queue,
        "ns_per_packet": row.ns_per_packet(),
        "events_per_packet": row.events_per_packet(),
        "data_packets": row.packets,
    })
}
