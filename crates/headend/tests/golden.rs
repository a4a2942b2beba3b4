//! Golden tables: each queue in four scenarios, and each congestion control beside another, in
//! whole numbers.
//!
//! A change of the engine that changes a result shows here, and its reviewer sees how large it is.
//! `INSTA_UPDATE=always cargo test -p headend --test golden` writes the tables again.

mod from_text;

use std::fmt::Write;

use from_text::{Tables, scenario};
use headend::congestion::CongestionConfig;
use headend::qdisc::QueueConfig;

/// All traffic is upstream: three uploads that start at different times, a call, and a transfer
/// that responds to marks.
const FLOWS: &str = r#"
[flow.call]
application = "voice"
rtt = "40 ms"

[flow.marked]
application = "bulk"
rtt = "30 ms"
tcp.ecn = "on"

[flow.upload]
application = "bulk"
count = 3
rtt.sites = "boston"
start = { from = "0 s", to = "3 s" }
"#;

const PLAIN: &str = r#"
title = "10 Mbit/s, plain link"
duration = "40 s"
warmup = "10 s"

[link.line.point_to_point]
up.rate = "10 Mbit/s"
up.delay = "2 ms"
down.rate = "100 Mbit/s"
down.delay = "2 ms"
"#;

const DOCSIS31: &str = r#"
title = "10 Mbit/s, cable line of DOCSIS 3.1"
duration = "40 s"
warmup = "10 s"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
downstream.rate = "100 Mbit/s"
"#;

/// A line with a burst and a peak rate, as operators offer them.
const DOCSIS30: &str = r#"
title = "5 Mbit/s with bursts at 10, cable line of DOCSIS 3.0"
duration = "40 s"
warmup = "10 s"

[link.cable.docsis]
preset = "docsis30"
upstream.rate = "5 Mbit/s"
upstream.peak = "10 Mbit/s"
upstream.burst = "1 MB"
downstream.rate = "50 Mbit/s"
"#;

/// A row for each queue. Delays are sojourn times in units of 0.1 ms; utilisation and Jain's index
/// are in thousandths.
fn table(link: &str) -> String {
    let mut rows = format!(
        "{:<15} {:>7} {:>7} {:>11} {:>5} {:>6} {:>6}\n",
        "queue", "p50", "p99", "utilisation", "jain", "drops", "marks"
    );
    for queue in QueueConfig::all() {
        let name = format!("\"{}\"", queue.name());
        let text = format!("{link}{FLOWS}");
        let tables = Tables::finish(scenario(&text, &[("queue", &name)]).build(1));
        let queues = |column| tables.floats("queues", column)[0];
        let drops = counted_drops(&tables);
        let row = [
            queues("delay_p50_ns") / 1e5,
            queues("delay_p99_ns") / 1e5,
            queues("utilisation") * 1e3,
            tables.floats("summary", "jain_index")[0] * 1e3,
        ];
        let [p50, p99, utilisation, jain] = row.map(|figure| figure.round() as u64);
        let marks = tables.integers("queues", "marked")[0];
        writeln!(
            rows,
            "{:<15} {p50:>7} {p99:>7} {utilisation:>11} {jain:>5} {drops:>6} {marks:>6}",
            queue.name()
        )
        .expect("text can be written to");
    }
    rows
}

/// The packets that the queue dropped by its law or because it was full.
fn counted_drops(tables: &Tables) -> u64 {
    let counted = |reason: &str| tables.integers("queues", reason)[0];
    counted("discarded_congested") + counted("discarded_forced") + counted("discarded_overlimit")
}

fn assert_table(name: &str, table: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, table));
}

/// Two uploads on 10 Mbit/s and 40 ms, where one bandwidth-delay product is 50 kB.
const PAIR: &str = r#"
title = "Two uploads"
duration = "40 s"
warmup = "10 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "100 Mbit/s"
[tcp]
system = "rfc"
min_rto = "200 ms"
min_rto_of = "variation"

[flow.one]
application = "bulk"
rtt = "40 ms"
start = { from = "0 s", to = "3 s" }
[flow.other]
application = "bulk"
rtt = "40 ms"
start = { from = "0 s", to = "3 s" }
"#;

/// Half, one and four bandwidth-delay products, and AQM.
const PLACES: [(&str, &str); 6] = [
    ("0.5 BDP", "{ drop_tail = { limit = \"25 kB\" } }"),
    ("1 BDP", "{ drop_tail = { limit = \"50 kB\" } }"),
    ("4 BDP", "{ drop_tail = { limit = \"200 kB\" } }"),
    ("codel", "\"codel\""),
    ("pie", "\"pie\""),
    ("dualpi2", "\"dualpi2\""),
];

/// The results of each congestion control beside CUBIC, or beside a second flow of its own kind:
/// its share of the goodput in thousandths, the median queue delay in units of 0.1 ms, and the
/// drops.
fn competition(beside: Option<&str>) -> String {
    let mut rows = format!("{:<17}", "share delay drops");
    for (place, _) in PLACES {
        write!(rows, " {place:>16}").expect("text can be written to");
    }
    for control in CongestionConfig::all() {
        let name = control.name();
        write!(rows, "\n{name:<17}").expect("text can be written to");
        for (_, queue) in PLACES {
            let controls = [name, beside.unwrap_or(name)].map(|name| format!("\"{name}\""));
            let settings = [
                ("queue", queue),
                ("flow.one.tcp.congestion", &controls[0]),
                ("flow.other.tcp.congestion", &controls[1]),
            ];
            let tables = Tables::finish(scenario(PAIR, &settings).build(1));
            let directions = tables.texts("flows", "direction");
            let goodputs: Vec<f64> = (tables.floats("flows", "goodput_bps").iter())
                .zip(directions)
                .filter(|(_, direction)| *direction == "up")
                .map(|(rate, _)| *rate)
                .collect();
            let share = (goodputs[0] / (goodputs[0] + goodputs[1]) * 1e3).round();
            let delay = (tables.floats("queues", "delay_p50_ns")[0] / 1e5).round();
            let drops = counted_drops(&tables);
            write!(rows, " {share:>5} {delay:>5} {drops:>4}").expect("text can be written to");
        }
    }
    rows
}

/// An unresponsive flood, two uploads, and a call that is marked EF.
const FLOOD: &str = r#"
title = "A flood of 6 on 10 Mbit/s"
duration = "40 s"
warmup = "10 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "100 Mbit/s"
[flow.call]
application = "voice"
rtt = "40 ms"
dscp = 46
[flow.flood]
application.cbr = { rate = "6 Mbit/s", size = "1000 B", random_phase = true }
direction = "up"
rtt = "40 ms"
[flow.upload]
application = "bulk"
count = 2
rtt = "40 ms"
start = { from = "0 s", to = "3 s" }
"#;

/// A row for each queue: the call's one-way delay in units of 0.1 ms and its loss in thousandths,
/// and the shares of the line that the call, the flood and the uploads get, in thousandths.
fn flood() -> String {
    let mut rows = format!(
        "{:<15} {:>10} {:>9} {:>5} {:>5} {:>7}",
        "queue", "call's p99", "its loss", "call", "flood", "uploads"
    );
    for queue in QueueConfig::all() {
        let name = format!("\"{}\"", queue.name());
        let tables = Tables::finish(scenario(FLOOD, &[("queue", &name)]).build(1));
        let sum = |flow: &str, column| -> f64 {
            let names = tables.texts("flows", "flow").iter();
            let rows = names.zip(tables.texts("flows", "direction"));
            let figures = rows.zip(tables.floats("flows", column));
            figures
                .filter(|((name, direction), _)| name.starts_with(flow) && *direction == "up")
                .map(|(_, figure)| figure)
                .sum()
        };
        let share = |flow| sum(flow, "throughput_bps") / 1e4;
        let row = [
            sum("call", "delay_p99_ns") / 1e5,
            sum("call", "loss_ratio") * 1e3,
            share("call"),
            share("flood"),
            share("upload"),
        ];
        let [p99, loss, call, flood, uploads] = row.map(|figure| figure.round() as u64);
        let name = queue.name();
        write!(
            rows,
            "\n{name:<15} {p99:>10} {loss:>9} {call:>5} {flood:>5} {uploads:>7}"
        )
        .expect("text can be written to");
    }
    rows
}

/// A game, an upload of CUBIC, one of Prague, and a flood of ECT(1) packets that is larger than the
/// line.
const LOW_LATENCY: &str = r#"
title = "20 Mbit/s with low latency, cable line of DOCSIS 3.1"
duration = "20 s"
warmup = "5 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "20 Mbit/s", low_latency = "on" }
downstream = { rate = "100 Mbit/s", queue = "docsis_pie", low_latency = "on" }
[flow.game]
application.cbr = { rate = "100 kbit/s", size = "100 B" }
direction = "up"
dscp = 45
[flow.classic]
application = "bulk"
direction = "up"
rtt = "30 ms"
[flow.scalable]
application = "bulk"
direction = "up"
rtt = "30 ms"
tcp.congestion = "prague"
[flow.flood]
application.cbr = { rate = "25 Mbit/s", size = "1000 B" }
direction = "up"
ecn = "ect1"
start = "15 s"
"#;

/// Rows for each setting of low latency: those of its two upstream queues, as in [`table`].
fn low_latency() -> String {
    let mut rows = format!(
        "{:<34} {:<21} {:>5} {:>5} {:>11} {:>6} {:>6}",
        "low_latency", "queue", "p50", "p99", "utilisation", "drops", "marks"
    );
    for (key, value) in [
        ("low_latency", "off"),
        ("low_latency", "on"),
        ("low_latency", "2019"),
        ("low_latency.weight", "128"),
        ("low_latency.coupling", "0"),
        ("low_latency.rate", "5 Mbit/s"),
        ("low_latency.classic_rate", "5 Mbit/s"),
        ("low_latency.maximum_threshold", "4 ms"),
        ("low_latency.estimator", "backlog"),
        ("low_latency.queue_protection", "false"),
        ("low_latency.aqm_disabled", "true"),
        ("low_latency.scheduling", "{ pgs = { rate = '2 Mbit/s' } }"),
    ] {
        let tables = Tables::finish(scenario(LOW_LATENCY, &[(key, value)]).build(1));
        let names = tables.texts("queues", "queue");
        let upstream = names.iter().enumerate();
        for (place, queue) in upstream.filter(|(_, name)| name.starts_with("cable.up")) {
            let figure = |column| tables.floats("queues", column)[place];
            let count = |column| tables.integers("queues", column)[place];
            let [p50, p99, utilisation] = [
                figure("delay_p50_ns") / 1e5,
                figure("delay_p99_ns") / 1e5,
                figure("utilisation") * 1e3,
            ]
            .map(|figure| figure.round() as u64);
            let reasons = [
                "discarded_congested",
                "discarded_forced",
                "discarded_overlimit",
            ];
            let drops: u64 = reasons.map(count).iter().sum();
            let setting = format!("{key}={value}");
            let setting = setting.trim_start_matches("low_latency.");
            write!(
                rows,
                "\n{setting:<34} {queue:<21} {p50:>5} {p99:>5} {utilisation:>11} {drops:>6} {:>6}",
                count("marked")
            )
            .expect("text can be written to");
        }
    }
    rows
}

#[test]
fn settings_of_low_latency() {
    assert_table("low_latency", &low_latency());
}

#[test]
fn a_call_beside_a_flood() {
    assert_table("flood", &flood());
}

#[test]
fn controls_beside_cubic() {
    assert_table("beside_cubic", &competition(Some("cubic")));
}

#[test]
fn controls_beside_themselves() {
    assert_table("beside_itself", &competition(None));
}

#[test]
fn queues_on_a_plain_link() {
    assert_table("plain_link", &table(PLAIN));
}

#[test]
fn queues_on_a_cable_line_of_docsis_31() {
    assert_table("docsis31", &table(DOCSIS31));
}

#[test]
fn queues_on_a_cable_line_of_docsis_30() {
    assert_table("docsis30", &table(DOCSIS30));
}
