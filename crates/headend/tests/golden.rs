//! What each queue makes of three scenarios, as tables of whole numbers: a change of the engine that moves a figure shows here, and its reviewer sees
//! how far. `INSTA_UPDATE=always cargo test -p headend --test golden` writes them anew.

mod from_text;

use std::fmt::Write;

use from_text::{Tables, scenario};
use headend::qdisc::QueueConfig;

/// Everything upstream: three uploads that begin apart, a call, and a transfer that answers marks.
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

/// With a burst and a peak rate, as operators sell them.
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

/// A row for each queue. Delays are sojourn times in units of 0.1 ms, utilisation and Jain's index in thousandths.
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
        let counted = |column| tables.integers("queues", column)[0];
        let drops = counted("discarded_congested") + counted("discarded_overlimit");
        let row = [
            queues("delay_p50_ns") / 1e5,
            queues("delay_p99_ns") / 1e5,
            queues("utilisation") * 1e3,
            tables.floats("summary", "jain_index")[0] * 1e3,
        ];
        let [p50, p99, utilisation, jain] = row.map(|figure| figure.round() as u64);
        let marks = counted("marked");
        writeln!(
            rows,
            "{:<15} {p50:>7} {p99:>7} {utilisation:>11} {jain:>5} {drops:>6} {marks:>6}",
            queue.name()
        )
        .expect("text can be written to");
    }
    rows
}

fn assert_table(name: &str, link: &str) {
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, table(link)));
}

#[test]
fn queues_on_a_plain_link() {
    assert_table("plain_link", PLAIN);
}

#[test]
fn queues_on_a_cable_line_of_docsis_31() {
    assert_table("docsis31", DOCSIS31);
}

#[test]
fn queues_on_a_cable_line_of_docsis_30() {
    assert_table("docsis30", DOCSIS30);
}
