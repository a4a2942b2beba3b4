//! The buffer of a modem and its AQM, in whole scenarios: AQM disabled for a service flow or a
//! modem, and a CMTS that ignores buffer settings.

mod from_text;

use std::collections::BTreeMap;

use from_text::Tables;
use headend::scenario::{Format, Scenario};

/// A line with an upload, one more upstream service flow, and one more downstream.
const LINE: &str = r#"
duration = "6 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "4 Mbit/s", queue = "docsis_pie" }
downstream = { rate = "50 Mbit/s", queue = "codel" }
[link.cable.docsis.service_flow.work]
direction = "up"
rate = "2 Mbit/s"
match.destination_port = 8000
queue.docsis_pie.limit = "64 KiB"
[link.cable.docsis.modem.home]
[link.cable.docsis.modem.office]
[host]
family.via = ["cable.home"]
desk.via = ["cable.office"]
[flow.family]
application = "bulk"
direction = "up"
host = "family"
[flow.desk]
application = "bulk"
direction = "up"
host = "desk"
[flow.work]
application = "bulk"
direction = "up"
host = "desk"
port = 8000
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Format::Toml, &[], &BTreeMap::new()).map_err(|error| error.to_string())
}

/// The discipline and the limit in bytes of each queue.
fn queues(text: &str) -> BTreeMap<String, (String, u64)> {
    let tables = Tables::run(text, 1);
    let names = tables.texts("queues", "queue").iter().cloned();
    let kinds = tables.texts("queues", "discipline").iter().cloned();
    let limits = tables.floats("queues", "limit_bytes").iter();
    // A queue whose limit is not in bytes has no value.
    let limits = limits.map(|limit| limit.max(0.0) as u64);
    names.zip(kinds.zip(limits)).collect()
}

#[track_caller]
fn is_queue(text: &str, expected: &[(&str, &str, u64)]) {
    let found = queues(text);
    for (name, kind, limit) in expected {
        assert_eq!(found[*name], ((*kind).to_owned(), *limit), "{name}");
    }
}

fn count(tables: &Tables, queue: &str, column: &str) -> u64 {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue);
    tables.integers("queues", column)[row.expect("a queue of this name")]
}

fn median_delay(tables: &Tables, queue: &str) -> f64 {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue);
    tables.floats("queues", "delay_p50_ns")[row.expect("a queue of this name")]
}

const QUARTER_SECOND: u64 = 125_000;

#[test]
fn aqm_that_is_disabled_for_the_modem_is_so_for_all_its_upstream_flows_alone() {
    let text = LINE.replace(
        "[link.cable.docsis.modem.office]",
        "[link.cable.docsis.modem.office]\nupstream_aqm_disabled = true",
    );
    is_queue(
        &text,
        &[
            ("cable.office.up", "drop_tail", QUARTER_SECOND),
            ("cable.office.work", "drop_tail", 65_536),
            ("cable.home.up", "docsis_pie", QUARTER_SECOND),
        ],
    );
    assert_eq!(queues(&text)["cable.office.down"].0, "codel");
}

#[test]
fn aqm_that_is_disabled_for_a_service_flow_leaves_the_others_theirs() {
    let text = LINE.replace(
        "rate = \"2 Mbit/s\"",
        "rate = \"2 Mbit/s\"\naqm_disabled = true",
    );
    is_queue(
        &text,
        &[
            ("cable.office.work", "drop_tail", 65_536),
            ("cable.office.up", "docsis_pie", QUARTER_SECOND),
        ],
    );
    let down = LINE.replace(
        "queue = \"codel\"",
        "queue = \"codel\", aqm_disabled = true",
    );
    assert_eq!(queues(&down)["cable.home.down"].0, "drop_tail");
    assert_eq!(queues(&down)["cable.home.up"].0, "docsis_pie");
}

#[test]
fn a_modem_may_have_aqm_again_that_its_line_has_not() {
    let text = LINE
        .replace(
            "preset = \"docsis31\"",
            "preset = \"docsis31\"\nupstream_aqm_disabled = true",
        )
        .replace(
            "[link.cable.docsis.modem.home]",
            "[link.cable.docsis.modem.home]\nupstream_aqm_disabled = false",
        );
    is_queue(
        &text,
        &[
            ("cable.office.up", "drop_tail", QUARTER_SECOND),
            ("cable.home.up", "docsis_pie", QUARTER_SECOND),
        ],
    );
}

#[test]
fn without_aqm_the_buffer_alone_decides_how_long_packets_wait() {
    let with = Tables::run(LINE, 1);
    let without = Tables::run(
        &LINE.replace(
            "preset = \"docsis31\"",
            "preset = \"docsis31\"\nupstream_aqm_disabled = true",
        ),
        1,
    );
    assert!(count(&with, "cable.home.up", "discarded_congested") > 0);
    assert_eq!(count(&without, "cable.home.up", "discarded_congested"), 0);
    assert!(count(&without, "cable.home.up", "discarded_overlimit") > 0);
    // DOCSIS-PIE keeps 10 ms. Without it, an upload fills the buffer of 250 ms.
    assert!(median_delay(&with, "cable.home.up") < 40e6);
    assert!(median_delay(&without, "cable.home.up") > 120e6);
    // 64 KiB at 2 Mbit/s take at most 262 ms.
    let work = median_delay(&without, "cable.office.work");
    assert!(work > 120e6 && work < 263e6, "{work}");
}

#[test]
fn a_cmts_that_drops_buffer_settings_leaves_every_modem_its_default_buffer() {
    let control = LINE.replace(
        "queue = \"docsis_pie\"",
        "queue.buffer_control.target = \"16 KiB\"",
    );
    is_queue(&control, &[("cable.home.up", "buffer_control", 16_384)]);
    let dropped = |preset: &str, more: &str| {
        control.replace("docsis31", preset).replace(
            "[link.cable.docsis.service_flow.work]",
            &format!(
                "buffer_settings = {{ dropped = true{more} }}\n\
                 [link.cable.docsis.service_flow.work]"
            ),
        )
    };
    let quarter = QUARTER_SECOND;
    is_queue(
        &dropped("docsis31", ""),
        &[
            ("cable.home.up", "drop_tail", quarter),
            ("cable.office.work", "docsis_pie", quarter / 2),
        ],
    );
    is_queue(
        &dropped("docsis30", ""),
        &[("cable.home.up", "drop_tail", 262_144)],
    );
    is_queue(
        &dropped("docsis30", ", default_buffer = \"60 KiB\""),
        &[("cable.home.up", "drop_tail", 61_440)],
    );
    let [kept, lost] = [control.clone(), dropped("docsis30", "")].map(|text| {
        let tables = Tables::run(&text, 1);
        median_delay(&tables, "cable.home.up")
    });
    assert!(kept < 40e6 && lost > 250e6, "{kept} {lost}");
}

#[test]
fn modems_before_docsis_31_have_256_kib_whatever_the_rate() {
    for (preset, rate, expected) in [
        ("docsis30", "4 Mbit/s", ("drop_tail", 262_144)),
        ("docsis30", "20 Mbit/s", ("drop_tail", 262_144)),
        ("docsis20", "4 Mbit/s", ("drop_tail", 262_144)),
        ("docsis31", "4 Mbit/s", ("docsis_pie", QUARTER_SECOND)),
        ("docsis31", "8 Mbit/s", ("docsis_pie", 2 * QUARTER_SECOND)),
    ] {
        let queue = ", queue = \"docsis_pie\"";
        let text = LINE.replace(queue, "").replace("docsis31", preset);
        let text = text.replace("rate = \"4 Mbit/s\"", &format!("rate = \"{rate}\""));
        let further = text.replace("queue.docsis_pie.limit = \"64 KiB\"\n", "");
        let (kind, size) = expected;
        let work = if kind == "drop_tail" {
            size
        } else {
            QUARTER_SECOND / 2
        };
        is_queue(
            &further,
            &[
                ("cable.home.up", kind, size),
                ("cable.office.work", kind, work),
                // What the CMTS gives is not the modem's buffer.
                ("cable.home.down", "codel", 0),
            ],
        );
    }
    // A queue that is written keeps the limit that it has by itself.
    let written = LINE
        .replace("docsis_pie\"", "drop_tail\"")
        .replace("docsis31", "docsis30");
    is_queue(&written, &[("cable.home.up", "drop_tail", QUARTER_SECOND)]);
}

#[test]
fn a_default_buffer_that_holds_no_packet_is_refused() {
    let text = LINE.replace(
        "[link.cable.docsis.service_flow.work]",
        "buffer_settings = { dropped = true, default_buffer = \"1 kB\" }\n\
         [link.cable.docsis.service_flow.work]",
    );
    let error = parse(&text).expect_err("no packet fits");
    assert!(
        error.contains("link.cable.docsis.buffer_settings.default_buffer"),
        "{error}"
    );
    let error = parse(&LINE.replace("queue = \"codel\"", "queue = \"codel\", aqm_disable = true"));
    let error = error.expect_err("no such key");
    assert!(error.contains("did you mean \"aqm_disabled\"?"), "{error}");
}
