//! The cost of many modems: a street of 10, 100 and 1000 on four bonded SC-QAM channels, and on one
//! OFDMA channel.
//!
//! The upstream tiers are 5 Mb/s. Half of the modems are idle. Each of the others loads web pages
//! and has a call, and one modem in ten uploads.
//!
//! The calls of 500 homes send a request for every packet, and the requests collide: at 1000
//! modems, 86 % of them on the OFDMA channel, which limits the street to 400 Mb/s. The third street
//! therefore has calls with unsolicited grants. It carries more than 500 Mb/s, with a page every 12
//! s and one modem in twenty uploading.

use headend::metrics::table::{Column, Table};
use headend::scenario::Scenario;
use headend::simulation::Simulation;

use crate::allocator;
use crate::cost::{self, Cost};
use crate::setting;

/// The simulated time.
const DURATION: &str = "30 s";

/// A street whose calls send requests.
const STREET: &str = include_str!("../street.toml");

/// A street whose calls have unsolicited grants.
const GRANTED: &str = include_str!("../calls.toml");

/// A kind of street.
pub struct Street {
    /// The name in the table of cases.
    pub name: &'static str,
    /// The DOCSIS generation, which determines the upstream.
    preset: &'static str,
    has_grants: bool,
}

/// The streets.
pub const STREETS: [Street; 3] = [
    Street {
        name: "docsis30",
        preset: "docsis30",
        has_grants: false,
    },
    Street {
        name: "docsis31",
        preset: "docsis31",
        has_grants: false,
    },
    Street {
        name: "docsis31-ugs",
        preset: "docsis31",
        has_grants: true,
    },
];

/// The numbers of modems on the upstream.
pub const SIZES: [u32; 3] = [10, 100, 1000];

/// A street with a number of modems, and its memory and throughput.
pub struct Plant {
    /// The kind of street.
    pub street: &'static str,
    /// The number of modems.
    pub modems: u32,
    /// The most memory that the engine held.
    pub peak_mib: f64,
    /// The same for each modem that is not idle, without the memory of an empty street of this
    /// size.
    pub kib_per_active_modem: f64,
    /// The data delivered in both directions, in Mb/s.
    pub mbps: f64,
}

/// The cost of one street.
pub type Row = cost::Row<Plant>;

/// Measures one street.
pub fn measure(street: &Street, modems: u32) -> Row {
    let (mut row, mut simulation) = run(street, modems, DURATION);
    let bytes = delivered_bytes(&simulation.tables());
    row.of.mbps = bytes as f64 * 8e-6 / simulation.end().as_secs_f64();
    row
}

/// Runs one street for `duration`. The throughput in the row is not yet set.
pub fn run(street: &Street, modems: u32, duration: &str) -> (Row, Simulation) {
    let active = modems / 2;
    let scenario = scenario(street, modems, duration);
    let before = allocator::live();
    allocator::reset_peak();
    let mut simulation = scenario.build(1);
    let empty = allocator::live();
    let cost = Cost::of(&mut simulation);
    let peak = allocator::peak();
    let of = Plant {
        street: street.name,
        modems,
        peak_mib: (peak - before) as f64 / f64::from(1 << 20),
        kib_per_active_modem: (peak - empty) as f64 / 1024.0 / f64::from(active),
        mbps: f64::NAN,
    };
    (Row { of, cost }, simulation)
}

/// The street with `modems` modems, half of which are idle.
fn scenario(street: &Street, modems: u32, duration: &str) -> Scenario {
    let active = modems / 2;
    let set = |path: &str, value: String| (path.to_owned(), value);
    let count = |class: &str| format!("link.cable.docsis.modem.{class}.count");
    let mut overrides = vec![
        set("duration", duration.to_owned()),
        set("link.cable.docsis.preset", street.preset.to_owned()),
        set("flow.web.on", format!("1-{active}")),
        set("flow.call.on", format!("1-{active}")),
    ];
    let text = if street.has_grants {
        let uploads = (modems / 20).max(1);
        overrides.extend([
            set(&count("home"), active.to_string()),
            set(&count("idle"), (modems - active).to_string()),
            set("flow.upload.on", format!("1-{uploads}")),
        ]);
        GRANTED
    } else {
        overrides.extend([
            set(&count("home"), modems.to_string()),
            set("flow.upload.on", format!("1-{}", modems / 10)),
        ]);
        STREET
    };
    setting::read(text, &overrides)
}

/// The application bytes of all flows.
fn delivered_bytes(tables: &[(&str, Table)]) -> u64 {
    let flows = tables.iter().find(|(name, _)| *name == "flows");
    match flows.and_then(|(_, table)| table.get("goodput_bytes")) {
        Some(Column::Integer(bytes)) => bytes.iter().sum(),
        _ => panic!("a run has a table of flows with their bytes"),
    }
}

/// The row for the benchmark's file.
pub fn json(row: &Row) -> serde_json::Value {
    serde_json::json!({
        "case": format!("{}-{}", row.of.street, row.of.modems),
        "queue": "docsis_pie",
        "modems": row.of.modems,
        "ns_per_packet": row.cost.ns_per_packet(),
        "events_per_second": row.cost.events_per_second(),
        "simulated_per_wall": row.cost.simulated_per_wall(),
        "peak_mib": row.of.peak_mib,
        "kib_per_active_modem": row.of.kib_per_active_modem,
        "goodput_mbps": row.of.mbps,
        "data_packets": row.cost.packets,
    })
}
