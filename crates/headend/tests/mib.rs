//! Tests of the table `mib`: settings and counters of service flows as DOCS-QOS3-MIB names them.

mod from_text;

use std::collections::BTreeMap;

use from_text::Tables;
use headend::scenario::{Format, Scenario};

/// An upload that fills the modem's queue, a download, and pings of 40 B with their IP headers.
const TRAFFIC: &str = r#"
[flow.upload]
application = "bulk"
direction = "up"
rtt = "20 ms"
[flow.download]
application.cbr = { rate = "3 Mbit/s", size = "1000 B" }
direction = "down"
[flow.ping]
application.ping = { interval = "100 ms", size = "20 B" }
"#;

const LINE: &str = r#"
duration = "6 s"
warmup = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "4 Mbit/s", peak = "8 Mbit/s", burst = "20 kB" }
downstream = { rate = "50 Mbit/s" }
"#;

fn run(text: &str) -> Tables {
    Tables::run(&format!("{text}{TRAFFIC}"), 1)
}

/// The objects of a service flow with their values; those of the modem are under the name `""`.
fn objects(tables: &Tables, modem: &str, service_flow: &str) -> BTreeMap<String, u64> {
    let column = |name| tables.texts("mib", name);
    let keys = column("modem").iter().zip(column("service_flow"));
    let values = column("object").iter().zip(tables.integers("mib", "value"));
    keys.zip(values)
        .filter(|((its, flow), _)| *its == modem && *flow == service_flow)
        .map(|(_, (object, value))| (object.trim_start_matches("docsQos").to_owned(), *value))
        .collect()
}

#[track_caller]
fn assert_values(found: &BTreeMap<String, u64>, expected: &[(&str, u64)]) {
    for &(object, value) in expected {
        assert_eq!(found.get(object), Some(&value), "{object} in {found:?}");
    }
}

fn count(tables: &Tables, queue: &str, column: &str) -> u64 {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue).expect(queue);
    tables.integers("queues", column)[row]
}

#[test]
fn settings_are_those_that_the_scenario_gives() {
    let tables = run(LINE);
    let up = objects(&tables, "", "up");
    assert_values(
        &up,
        &[
            ("ParamSetMaxTrafficRate", 4_000_000),
            ("ParamSetHCMaxTrafficRate", 4_000_000),
            ("ParamSetPeakTrafficRate", 8_000_000),
            ("ParamSetMaxTrafficBurst", 20_000),
            ("ParamSetMinReservedRate", 0),
            ("ParamSetPriority", 0),
            ("ParamSetSchedulingType", 2),
            ("ParamSetRequestPolicyOct", 0),
            ("ParamSetMinimumBuffer", 0),
            ("ParamSetTargetBuffer", 0),
            ("ParamSetMaximumBuffer", u64::from(u32::MAX)),
            ("ParamSetAqmDisabled", 2),
            ("ParamSetAqmLatencyTarget", 10),
            ("ParamSetAqmAlgInUse", 3),
            ("ServiceFlowBufferSize", 125_000),
        ],
    );
    assert_values(
        &objects(&tables, "", "down"),
        &[
            ("ParamSetMaxTrafficRate", 50_000_000),
            ("ParamSetMaxTrafficBurst", 3044),
            ("ParamSetSchedulingType", 1),
            ("ParamSetAqmDisabled", 1),
            ("ParamSetAqmAlgInUse", 1),
        ],
    );
    let modem = [
        ("CmSystemCfgStateAqmUsEnable", 1),
        ("CmSystemCfgStateDefaultUsTargetBuffer", 250),
    ];
    assert_values(&objects(&tables, "", ""), &modem);
    assert!(
        tables
            .texts("mib", "link")
            .iter()
            .all(|link| link == "cable")
    );
}

#[test]
fn a_rate_beyond_32_bits_is_in_the_wide_object_alone() {
    let text = LINE.replace("\"50 Mbit/s\"", "\"5 Gbit/s\"");
    let down = objects(&run(&text), "", "down");
    let rates = [
        ("ParamSetMaxTrafficRate", 0),
        ("ParamSetHCMaxTrafficRate", 5_000_000_000),
    ];
    assert_values(&down, &rates);
}

#[test]
fn buffers_and_disabled_aqm_are_shown_as_they_are_configured() {
    let buffer = r#"
upstream.queue.buffer_control = { minimum = "20 kB", target = "50 kB", maximum = "90 kB" }
"#;
    let tables = run(&LINE.replace("upstream = {", &format!("{buffer}#")));
    let expected = [
        ("ParamSetMinimumBuffer", 20_000),
        ("ParamSetTargetBuffer", 50_000),
        ("ParamSetMaximumBuffer", 90_000),
        ("ServiceFlowBufferSize", 50_176),
        ("ParamSetAqmDisabled", 1),
        ("ParamSetAqmAlgInUse", 1),
    ];
    assert_values(&objects(&tables, "", "up"), &expected);

    let pie = r#"queue.docsis_pie = { target = "25 ms", limit = "60 kB" } }"#;
    let text = LINE.replace("burst = \"20 kB\" }", &format!("burst = \"20 kB\", {pie}"));
    let own = [
        ("ParamSetTargetBuffer", 60_000),
        ("ServiceFlowBufferSize", 60_000),
        ("ParamSetAqmLatencyTarget", 25),
    ];
    let tables = run(&text);
    assert_values(&objects(&tables, "", "up"), &own);
    assert!(!objects(&tables, "", "").contains_key("CmSystemCfgStateDefaultUsTargetBuffer"));

    let off = format!("{text}upstream_aqm_disabled = true\n");
    let tables = run(&off);
    assert_values(&objects(&tables, "", "up"), &own);
    let disabled = [("ParamSetAqmDisabled", 1), ("ParamSetAqmAlgInUse", 1)];
    assert_values(&objects(&tables, "", "up"), &disabled);
    let modem = [("CmSystemCfgStateAqmUsEnable", 2)];
    assert_values(&objects(&tables, "", ""), &modem);

    let dropped = format!("{text}buffer_settings.dropped = true\n");
    let shown = [
        ("ParamSetTargetBuffer", 0),
        ("ServiceFlowBufferSize", 125_000),
    ];
    assert_values(&objects(&run(&dropped), "", "up"), &shown);
}

#[test]
fn sizes_and_times_that_32_bits_do_not_hold_are_the_largest_that_they_hold() {
    let most = u64::from(u32::MAX);
    let with = |queue: &str| {
        let text = LINE.replace(
            "burst = \"20 kB\" }",
            &format!("burst = \"20 kB\", {queue} }}"),
        );
        run(&text.replace("6 s", "3 s"))
    };
    for queue in [
        "queue.drop_tail.limit = \"1e19 B\"",
        "queue.docsis_pie.limit = \"5 GB\"",
    ] {
        let own = [
            ("ParamSetTargetBuffer", most),
            ("ServiceFlowBufferSize", most),
        ];
        assert_values(&objects(&with(queue), "", "up"), &own);
    }
    let tables = with("queue.drop_tail.limit = \"1e10 s\"");
    let modem = [("CmSystemCfgStateDefaultUsTargetBuffer", most)];
    assert_values(&objects(&tables, "", ""), &modem);
}

#[test]
fn a_scheduling_type_has_its_parameters() {
    let text = r#"
[link.cable.docsis.service_flow.voice]
direction = "up"
scheduling.ugs = { size = "228 B", interval = "20 ms", jitter = "2 ms", grants = 1 }
request_policy = { no_contention = true, no_piggyback = true }
match.destination_port = 9
priority = 5
latency_histogram = ["10 ms"]
"#;
    let tables = run(&format!("{LINE}{text}"));
    let voice = objects(&tables, "", "voice");
    let expected = [
        ("ParamSetSchedulingType", 6),
        ("ParamSetUnsolicitGrantSize", 228),
        ("ParamSetNomGrantInterval", 20_000),
        ("ParamSetTolGrantJitter", 2000),
        ("ParamSetGrantsPerInterval", 1),
        ("ParamSetRequestPolicyOct", 0x11),
        ("ParamSetPriority", 5),
        ("ParamSetMaxTrafficBurst", 0),
        ("ServiceFlowPkts", 0),
        ("SfLatencyNumHistUpdates", 0),
    ];
    assert_values(&voice, &expected);
}

#[test]
fn counters_agree_with_the_queues() {
    let tables = run(LINE);
    for direction in ["up", "down"] {
        let (queue, found) = (
            format!("cable.{direction}"),
            objects(&tables, "", direction),
        );
        let counted = |column| count(&tables, &queue, column);
        let expected = [
            ("ServiceFlowPkts", counted("packets_dequeued")),
            ("ServiceFlowPolicedDropPkts", counted("discarded_overlimit")),
            ("ServiceFlowAqmDroppedPkts", counted("discarded_congested")),
        ];
        assert_values(&found, &expected);
    }
    let up = objects(&tables, "", "up");
    assert!(
        up["ServiceFlowAqmDroppedPkts"] > 0,
        "the upload fills its queue"
    );
    let counted = |column| count(&tables, "cable.up", column);
    let minislot = counted("granted_bytes") / up["CmServiceUsStatsTxSlotsDed"];
    assert_eq!(
        up["CmServiceUsStatsTxSlotsDed"] * minislot,
        counted("granted_bytes"),
        "a grant is of whole minislots"
    );
    let requests = [
        ("CmServiceUsStatsTxSlotsImmed", 0),
        ("CmServiceUsStatsTxRetries", 0),
        ("CmServiceUsStatsRqRetries", counted("collisions")),
        ("CmServiceUsStatsRqExceededs", counted("requests_exceeded")),
    ];
    assert_values(&up, &requests);
    let is_upstreams = |object: &str| object.starts_with("CmServiceUsStats");
    let down = objects(&tables, "", "down");
    assert!(!down.keys().any(|object| is_upstreams(object)));
}

#[test]
fn octets_are_those_of_ethernet_frames() {
    // Pings alone: 40 B of IP are padded to 46 B, and have 18 B of Ethernet around them.
    let ping = r#"
[flow.ping]
application.ping = { interval = "100 ms", size = "20 B" }
"#;
    let tables = Tables::run(&format!("{LINE}{ping}"), 1);
    let up = objects(&tables, "", "up");
    let packets = up["ServiceFlowPkts"];
    assert!((39..=41).contains(&packets), "4 s of pings: {packets}");
    assert_eq!(up["ServiceFlowOctets"], packets * 64);
    assert_eq!(count(&tables, "cable.up", "bytes_dequeued"), packets * 40);
}

#[test]
fn packets_that_wait_for_their_rate_are_counted() {
    // 5 Mbit/s of packets into 4 Mbit/s, and into a channel without a limit of its own.
    let flood = r#"
[flow.flood]
application.cbr = { rate = "5 Mbit/s", size = "1000 B" }
direction = "DIRECTION"
"#;
    for direction in ["up", "down"] {
        let flood = flood.replace("DIRECTION", direction);
        let delayed = |line: &str| {
            let tables = Tables::run(&format!("{line}{flood}"), 1);
            let found = objects(&tables, "", direction);
            (
                found["ServiceFlowPolicedDelayPkts"],
                found["ServiceFlowPkts"],
            )
        };
        let limited = format!("{direction}stream = {{ rate = \"4 Mbit/s\" }}");
        let line = "duration = '6 s'\nwarmup = '2 s'\n[link.cable.docsis]\npreset = 'docsis31'\n";
        let (waited, sent) = delayed(&format!("{line}{limited}\n"));
        assert!(waited * 10 > sent * 9, "{direction}: {waited} of {sent}");
        assert_eq!(delayed(line).0, 0, "{direction}");
    }
}

#[test]
fn a_latency_histogram_counts_every_packet_that_left() {
    let edges = "latency_histogram = ['1 ms', '5 ms', '10 ms', '20 ms', '40 ms']";
    let text = LINE.replace(
        "burst = \"20 kB\" }",
        &format!("burst = \"20 kB\", {edges} }}"),
    );
    let tables = run(&text);
    let up = objects(&tables, "", "up");
    let bins: Vec<u64> = (1..=6)
        .map(|bin| up[&format!("SfLatencyBin{bin}Pkts")])
        .collect();
    assert_eq!(bins.iter().sum::<u64>(), up["ServiceFlowPkts"]);
    assert_eq!(up["SfLatencyNumHistUpdates"], up["ServiceFlowPkts"]);
    assert_values(
        &up,
        &[
            ("SfLatencyBin1UpperEdge", 1000),
            ("SfLatencyBin5UpperEdge", 40_000),
        ],
    );
    assert!(!up.contains_key("SfLatencyBin7Pkts"));
    // The histogram of the queue has buckets of 0.1 %.
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == "cable.up");
    let longest = tables.floats("queues", "delay_max_ns")[row.expect("the queue")];
    let max = up["SfLatencyMaxLatency"] as f64 * 1e3;
    assert!(
        (max - longest).abs() <= 0.001 * longest + 1e3,
        "{max} {longest}"
    );
    let within = |upper: f64| {
        let rows = (0..tables.texts("histograms", "name").len()).filter(|&row| {
            tables.texts("histograms", "kind")[row] == "queue"
                && tables.texts("histograms", "name")[row] == "cable.up"
                && tables.integers("histograms", "upper_ns")[row] as f64 <= upper
        });
        let counts = tables.integers("histograms", "count");
        rows.map(|row| counts[row]).sum::<u64>() as f64
    };
    for (bins, upper) in [(&bins[..3], 10e6), (&bins[..5], 40e6)] {
        let (found, expected) = (bins.iter().sum::<u64>() as f64, within(upper));
        assert!(
            (found - expected).abs() <= 0.02 * expected + 2.0,
            "{found} {expected}"
        );
    }
    let down = objects(&tables, "", "down");
    assert!(!down.keys().any(|object| object.starts_with("SfLatency")));
    // Counting does not change the run.
    let plain = run(LINE);
    for column in ["packets_dequeued", "discarded_congested", "grants"] {
        let [with, without] = [&tables, &plain].map(|tables| count(tables, "cable.up", column));
        assert_eq!(with, without, "{column}");
    }
}

#[test]
fn a_modem_goes_before_its_class_and_that_before_the_line() {
    let text = r#"
duration = "3 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "4 Mbit/s", latency_histogram = ["1 ms", "2 ms", "3 ms"] }
[link.cable.docsis.service_class.gold]
upstream = { latency_histogram = ["7 ms"], priority = 3 }
[link.cable.docsis.modem]
first = {}
second = { service_class = "gold" }
third = { service_class = "gold", upstream.latency_histogram = ["2 ms", "9 ms"] }
[flow.ping]
host = "first"
application = "ping"
[host.first]
via = ["cable.first"]
"#;
    let tables = Tables::run(text, 1);
    let edges = |modem: &str| {
        let found = objects(&tables, modem, "up");
        let edge = |number: usize| {
            found
                .get(&format!("SfLatencyBin{number}UpperEdge"))
                .copied()
        };
        (1..).map_while(edge).collect::<Vec<_>>()
    };
    assert_eq!(edges("first"), [1000, 2000, 3000]);
    assert_eq!(edges("second"), [7000]);
    assert_eq!(edges("third"), [2000, 9000]);
    assert_values(&objects(&tables, "third", "up"), &[("ParamSetPriority", 3)]);
    assert_eq!(objects(&tables, "third", "").len(), 2);
}

#[test]
fn changes_during_the_run_are_in_the_settings_at_its_end() {
    let changes = r#"
[link.cable.docsis.change.a_faster]
at = "1 s"
service_flow = "up"
rate = "6 Mbit/s"
queue.drop_tail.limit = "30 kB"
[link.cable.docsis.change.b_voice]
at = "2 s"
service_flow = "voice"
create = { direction = "up", priority = 4, match.protocol = "icmp" }
[link.cable.docsis.change.c_over]
at = "5 s"
service_flow = "voice"
delete = true
[link.cable.docsis.change.d_other]
at = "5 s"
service_flow = "other"
create = { direction = "down", match.source_port = 8 }
"#;
    let tables = run(&format!("{LINE}{changes}"));
    let up = [
        ("ParamSetMaxTrafficRate", 6_000_000),
        ("ParamSetTargetBuffer", 30_000),
        ("ParamSetAqmAlgInUse", 1),
    ];
    assert_values(&objects(&tables, "", "up"), &up);
    let voice = objects(&tables, "", "voice");
    let all: Vec<&str> = voice.keys().map(String::as_str).collect();
    let logged = [
        "ServiceFlowLogOctets",
        "ServiceFlowLogPkts",
        "ServiceFlowLogPolicedDelayPkts",
        "ServiceFlowLogPolicedDropPkts",
    ];
    assert_eq!(all, logged);
    assert_eq!(
        voice["ServiceFlowLogPkts"],
        count(&tables, "cable.voice", "packets_dequeued")
    );
    assert!(voice["ServiceFlowLogPkts"] > 0);
    assert_values(&objects(&tables, "", "other"), &[("ParamSetPriority", 0)]);
}

#[test]
fn only_runs_with_a_cable_line_have_the_table() {
    let plain = "duration = '3 s'\n[link.line.point_to_point]\nup.rate = '4 Mbit/s'\n\
                 down.rate = '9 Mbit/s'\n";
    let tables = run(plain);
    assert!(tables.0.iter().all(|(name, _)| *name != "mib"));
}

#[test]
fn edges_that_a_configuration_file_cannot_hold_are_refused() {
    let refused = |edges: &str| {
        let text = format!("{LINE}[link.cable.docsis.service_flow.x]\ndirection = 'down'\n");
        let text = format!("{text}match.protocol = 'udp'\nlatency_histogram = {edges}\n{TRAFFIC}");
        let error = Scenario::parse(&text, Format::Toml, &[], &BTreeMap::new()).map(drop);
        error.expect_err(edges).to_string()
    };
    let path = "link.cable.docsis.service_flow.x.latency_histogram";
    let sixteen: Vec<String> = (1..=16).map(|edge| format!("'{edge} ms'")).collect();
    for (edges, why) in [
        (&*format!("[{}]", sixteen.join(", ")), "found 16"),
        ("['2 ms', '1 ms']", "found 1 ms after 2 ms"),
        ("['2 ms', '2 ms']", "found 2 ms after 2 ms"),
        ("['1 ms', '1.005 ms']", "multiples of 10 us"),
        ("['0 ms']", "found 0"),
        ("['656 ms']", "to 655.35 ms, found 656 ms"),
    ] {
        let error = refused(edges);
        assert!(
            error.contains(why) && error.contains(path),
            "{edges}: {error}"
        );
    }
}

/// A game whose packets carry DSCP 45, and a flood of ECT(1) packets beyond the rate.
const LOW_LATENCY: &str = r#"
duration = "4 s"
warmup = "1 s"
[link.cable.docsis]
preset = "docsis31"
downstream = { rate = "100 Mbit/s" }
[link.cable.docsis.upstream]
rate = "20 Mbit/s"
peak = "40 Mbit/s"
latency_histogram = ["10 ms", "20 ms"]
[link.cable.docsis.upstream.low_latency]
classic_rate = "15 Mbit/s"
coupling = 1.5
limit = "50 kB"
latency_histogram = ["1 ms", "4 ms"]
[flow.game]
application.cbr = { rate = "100 kbit/s", size = "100 B" }
direction = "up"
dscp = 45
[flow.flood]
application.cbr = { rate = "30 Mbit/s", size = "1400 B" }
direction = "up"
ecn = "ect1"
"#;

#[test]
fn an_aggregate_stands_under_the_name_of_its_classic_flow() {
    let tables = Tables::run(LOW_LATENCY, 1);
    let up = objects(&tables, "", "up");
    let aggregate = [
        ("AggregateServiceFlowMaxAggregateTrafficRate", 20_000_000),
        ("AggregateServiceFlowPeakTrafficRate", 40_000_000),
        ("AggregateServiceFlowMaxTrafficBurst", 3044),
        ("AggregateServiceFlowPriority", 0),
        ("AggregateServiceFlowLowLatencyAsf", 1),
        ("AggregateServiceFlowAqmCouplingFactor", 15),
        ("AggregateServiceFlowSchedulingWeight", 230),
        ("AggregateServiceFlowQpEnable", 3),
        ("AggregateServiceFlowQpLatencyThreshold", 2124),
        ("AggregateServiceFlowQpQueuingScoreThreshold", 4000),
        ("AggregateServiceFlowQpDrainRateExponent", 19),
        ("ParamSetMaxTrafficRate", 15_000_000),
        ("ParamSetPeakTrafficRate", 0),
        ("ParamSetAqmAlgInUse", 3),
    ];
    assert_values(&up, &aggregate);
    let low = objects(&tables, "", "up_low_latency");
    let own = [
        ("ParamSetMaxTrafficRate", 0),
        ("ParamSetAqmAlgInUse", 4),
        ("ParamSetAqmDisabled", 2),
        ("ParamSetTargetBuffer", 50_000),
        ("ServiceFlowBufferSize", 50_000),
        ("ParamSetImmedAqmMaxThreshold", 2124),
        ("ParamSetImmedAqmRangeExponentRampFunc", 19),
    ];
    assert_values(&low, &own);
    let both = up["ServiceFlowPkts"] + low["ServiceFlowPkts"];
    assert_eq!(up["AggregateServiceFlowStatsPkts"], both);
    let octets = up["ServiceFlowOctets"] + low["ServiceFlowOctets"];
    assert_eq!(up["AggregateServiceFlowStatsOctets"], octets);
    assert!(!low.contains_key("AggregateServiceFlowSchedulingWeight"));
    assert!(!objects(&tables, "", "down").contains_key("AggregateServiceFlowLowLatencyAsf"));
}

#[test]
fn sanctioned_packets_are_those_of_the_table_of_queue_protection() {
    let tables = Tables::run(LOW_LATENCY, 1);
    let flows = tables.texts("queue_protection", "flow");
    assert_eq!(flows, ["flood", "game"]);
    let sanctioned = tables.integers("queue_protection", "sanctioned");
    assert!(sanctioned[0] > 0);
    assert_eq!(sanctioned[1], 0);
    let low = objects(&tables, "", "up_low_latency");
    assert_eq!(low["ServiceFlowSanctionedPkts"], sanctioned[0]);
    assert!(!objects(&tables, "", "up").contains_key("ServiceFlowSanctionedPkts"));
    // Sanctioned packets wait in the longer queue, while later ones pass.
    assert!(tables.integers("queue_protection", "reordered")[0] > 0);
}

#[test]
fn the_tables_of_low_latency_count_each_packet_in_its_queue() {
    let tables = Tables::run(LOW_LATENCY, 1);
    let queues = tables.texts("low_latency", "queue");
    let packets = tables.integers("low_latency", "packets");
    for (queue, service_flow) in [
        ("cable.up", "up"),
        ("cable.up_low_latency", "up_low_latency"),
    ] {
        let rows = queues.iter().zip(packets);
        let own: u64 = rows
            .filter(|(name, _)| *name == queue)
            .map(|(_, own)| own)
            .sum();
        let objects = objects(&tables, "", service_flow);
        assert_eq!(own, objects["ServiceFlowPkts"], "{queue}");
        let bins = [1, 2, 3].map(|bin| objects[&format!("SfLatencyBin{bin}Pkts")]);
        assert_eq!(bins.iter().sum::<u64>(), objects["ServiceFlowPkts"]);
    }
    let text = LOW_LATENCY.replace("coupling", "queue_protection = false\ncoupling");
    let names: Vec<_> = Tables::run(&text, 1)
        .0
        .iter()
        .map(|(name, _)| *name)
        .collect();
    assert!(names.contains(&"low_latency") && !names.contains(&"queue_protection"));
    let low = objects(&Tables::run(&text, 1), "", "up_low_latency");
    assert_eq!(low["ServiceFlowSanctionedPkts"], 0);
}
