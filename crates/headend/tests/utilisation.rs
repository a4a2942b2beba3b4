//! The utilisation of a queue: what left it, over what could have left it in the time measured.

mod from_text;

use std::fmt::Write;

use from_text::Tables;

/// A value of a queue's row.
#[track_caller]
fn of_queue(tables: &Tables, queue: &str, column: &str) -> f64 {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue);
    tables.floats("queues", column)[row.expect("a queue of this name")]
}

/// What the queue `name` used.
#[track_caller]
fn used(text: &str, name: &str) -> f64 {
    of_queue(&Tables::run(text, 1), name, "utilisation")
}

/// A flood over a plain link.
fn flood(times: &str, rate: &str, flood: &str) -> String {
    format!(
        r#"{times}
[link.line.point_to_point]
up.rate = {rate}
down.rate = "100 Mbit/s"
[flow.flood]
application.cbr = {{ rate = "{flood}", size = "1400 B" }}
direction = "up"
"#
    )
}

#[test]
fn a_line_whose_rate_changes_is_used_to_what_it_could_carry() {
    for (steps, times) in [
        (
            r#"[["0 s","1 Mbit/s"],["6 s","50 Mbit/s"]]"#,
            "duration = \"12 s\"",
        ),
        (
            r#"[["0 s","10 Mbit/s"],["6 s","2 Mbit/s"]]"#,
            "duration = \"12 s\"",
        ),
        (
            r#"[["0 s","10 Mbit/s"],["3 s","2 Mbit/s"]]"#,
            "duration = \"9 s\"\nwarmup = \"4 s\"",
        ),
    ] {
        let rate = format!("{{ steps = {steps} }}");
        let share = used(&flood(times, &rate, "60 Mbit/s"), "line.up");
        assert!((0.999..=1.0).contains(&share), "{steps}: {share}");
    }
    // 1 of 1 for 6 s, then 1 of 2 for 6 s: 12 of 18.
    let rate = r#"{ steps = [["0 s","1 Mbit/s"],["6 s","2 Mbit/s"]] }"#;
    let share = used(&flood("duration = \"12 s\"", rate, "1 Mbit/s"), "line.up");
    assert!((share - 12.0 / 18.0).abs() < 0.02, "{share}");
}

/// Every kind of line, flooded both ways: each is full, and none more than that.
const FULL: &[(&str, &str, &[&str])] = &[
    (
        "a plain link",
        r#"
[link.line.point_to_point]
up.rate = "1 Mbit/s"
down.rate = "17 Mbit/s"
"#,
        &["line.up", "line.down"],
    ),
    (
        "a link whose queue drops early",
        r#"
[link.line.point_to_point]
up = { rate = "1 Mbit/s", queue = "codel" }
down = { rate = "17 Mbit/s", queue = "fq_codel" }
"#,
        &["line.up", "line.down"],
    ),
    (
        "a link of steps that repeat",
        r#"
[link.line.point_to_point]
up.rate.steps = [["0 s","1 Mbit/s"],["300 ms","5 Mbit/s"],["500 ms","0 bit/s"]]
up.rate.period = "700 ms"
down.rate = { steps = [["0 s","1 Mbit/s"],["300 ms","5 Mbit/s"]] }
"#,
        &["line.up", "line.down"],
    ),
    (
        "token buckets",
        r#"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "5 Mbit/s", burst = "1 MB" }
downstream = { rate = "20 Mbit/s", burst = "2 MB" }
"#,
        &["cable.up", "cable.down"],
    ),
    (
        "token buckets with a peak rate",
        r#"
[link.cable.docsis]
preset = "docsis30"
upstream = { rate = "5 Mbit/s", burst = "1 MB", peak = "8 Mbit/s" }
downstream = { rate = "20 Mbit/s", burst = "2 MB", peak = "30 Mbit/s" }
"#,
        &["cable.up", "cable.down"],
    ),
    (
        "bursts of one packet",
        r#"
[link.cable.docsis]
preset = "docsis11"
upstream.rate = "1 Mbit/s"
downstream.rate = "5 Mbit/s"
"#,
        &["cable.up", "cable.down"],
    ),
    (
        "a channel slower than the rate",
        r#"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "50 Mbit/s", capacity = "8 Mbit/s" }
downstream = { rate = "50 Mbit/s", capacity = "20 Mbit/s" }
"#,
        &["cable.up", "cable.down"],
    ),
    (
        "a channel that is slower than the rate at times",
        r#"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
upstream.capacity = { steps = [["0 s","4 Mbit/s"],["1 s","20 Mbit/s"]], period = "2 s" }
downstream.rate = "30 Mbit/s"
downstream.capacity = { steps = [["0 s","10 Mbit/s"],["1 s","60 Mbit/s"]], period = "2 s" }
"#,
        &[],
    ),
    (
        "low latency",
        r#"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "10 Mbit/s", low_latency = "on" }
downstream = { rate = "30 Mbit/s", low_latency = "on" }
"#,
        &[],
    ),
    (
        "a cell",
        r#"
[link.wifi.dot11b]
station.laptop.rate = "11 Mbit/s"
station.phone.rate = "2 Mbit/s"
"#,
        &[],
    ),
];

/// The times measured: some begin and end within packets, MAPs, steps and bursts of tokens.
const TIMES: [&str; 4] = [
    "duration = \"5 s\"",
    "duration = \"4003 ms\"\nwarmup = \"1001 ms\"",
    "duration = \"1777 ms\"\nwarmup = \"1371 ms\"",
    "duration = \"120 ms\"\nwarmup = \"10 ms\"",
];

/// The use of a plain link's direction up with `keys` under a constant rate of IP bytes.
#[track_caller]
fn used_of_shaped(keys: &str, offered: &str) -> f64 {
    let text = format!(
        r#"duration = "20 s"
warmup = "5 s"
[link.line.point_to_point]
up.rate = "100 Mbit/s"
{keys}
[flow.flood]
application.cbr = {{ rate = "{offered}", size = "1400 B" }}
direction = "up"
"#
    );
    used(&text, "line.up")
}

#[test]
fn a_shaper_and_a_policer_are_limits_in_the_bytes_of_their_framing() {
    let shaper = r#"up.shaper = { rate = "10 Mbit/s", burst = "30 kB" }"#;
    let policer = r#"up.policer = { rate = "10 Mbit/s", burst = "30 kB" }"#;
    for keys in [shaper, policer] {
        let full = used_of_shaped(keys, "20 Mbit/s");
        assert!((0.999..=1.0).contains(&full), "{keys}: {full}");
        let half = used_of_shaped(keys, "5 Mbit/s");
        assert!((half - 0.5).abs() < 0.005, "{keys}: {half}");
    }
    let framed = format!("up.framing = \"conservative\"\n{shaper}");
    let half = used_of_shaped(&framed, "5 Mbit/s");
    // 1400 B of IP and 48 B are 31 cells of 53 B.
    assert!((half - 0.5 * 1643.0 / 1400.0).abs() < 0.006, "{half}");
}

#[test]
fn a_full_line_of_any_kind_is_used_to_what_it_could_carry_and_never_beyond() {
    for (kind, line, full) in FULL {
        for times in TIMES {
            let host = if line.contains("dot11b") {
                "[host.one]\nvia = [\"wifi.laptop\"]\n"
            } else {
                ""
            };
            let at = if host.is_empty() {
                ""
            } else {
                "host = \"one\"\n"
            };
            let text = format!(
                "{times}\n{line}\n{host}[flow.flood]\n\
                 application.cbr = {{ rate = \"60 Mbit/s\" }}\ndirection = \"both\"\n{at}"
            );
            let tables = Tables::run(&text, 1);
            let queues = tables.texts("queues", "queue");
            let shares = tables.floats("queues", "utilisation");
            for (queue, share) in queues.iter().zip(shares) {
                assert!(*share <= 1.0 || share.is_nan(), "{kind}, {queue}: {share}");
                // In the shortest time more tokens are left than the flood has bytes.
                let is_known = times != TIMES[3] && !share.is_nan();
                let is_full = full.contains(&queue.as_str()) && is_known;
                assert!(
                    !is_full || *share > 0.98,
                    "{kind}, {queue}, {times}: {share}"
                );
            }
            for share in tables.floats("channels", "utilisation") {
                assert!(*share <= 1.0 || share.is_nan(), "{kind}, channel: {share}");
            }
        }
    }
}

/// Whole scenarios, with a queue and the utilisation that arithmetic gives for it.
const KNOWN: &[(&str, &str, &str, f64)] = &[
    (
        "bursts that are filled after their grants",
        r#"
duration = "20 s"
warmup = "3.0013 s"
[link.cable.docsis]
preset = "docsis31"
downstream.rate = "50 Mbit/s"
upstream.rate = "20 Mbit/s"
upstream.dequeue_at = "burst"
upstream.low_latency = { queue_protection = false, aqm_disabled = true }
[flow.flood]
application.cbr.rate = "60 Mbit/s"
direction = "up"
dscp = 46
"#,
        "cable.up_low_latency",
        1.0,
    ),
    (
        "a call that is silent for nine tenths of its grants: packets of 218 B in six minislots of \
         48 B less a MAC header",
        r#"
duration = "100 s"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "20 Mbit/s"
downstream.rate = "50 Mbit/s"
[link.cable.docsis.service_flow.call]
direction = "up"
rate = "1 Mbit/s"
scheduling.ugs = { size = "250 B", interval = "10 ms" }
match = { dscp = 46 }
[flow.call]
application.cbr = { rate = "160 kbit/s", size = "200 B" }
direction = "up"
dscp = 46
stop = "10 s"
"#,
        "cable.call",
        0.1 * 218.0 / (6.0 * 48.0 - 10.0),
    ),
    (
        "a limit that there was not at first",
        r#"
duration = "2010 s"
warmup = "2000 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "unlimited", peak = "unlimited" }
downstream.rate = "50 Mbit/s"
[link.cable.docsis.change.tier]
at = "1997 s"
service_flow = "up"
rate = "1 Mbit/s"
peak = "1 Mbit/s"
[flow.flood]
application.cbr.rate = "20 Mbit/s"
direction = "up"
start = "1998 s"
"#,
        "cable.up",
        1.0,
    ),
];

#[test]
fn what_grants_carry_late_in_vain_or_under_new_limits_counts_as_it_is() {
    for (what, text, queue, expected) in KNOWN {
        let used = used(text, queue);
        let tolerance = 0.05 * expected;
        assert!((used - expected).abs() < tolerance, "{what}: {used}");
        assert!(used <= 1.0, "{what}: {used}");
    }
}

/// The game's packets are 0.05 % of the channel. Some of them are requested, and a requested grant
/// counts whole.
#[test]
fn proactive_grants_that_stay_empty_are_no_use_of_the_channel() {
    let text = r#"
duration = "20 s"
warmup = "2 s"
[link.cable.docsis]
preset = "docsis31"
downstream.rate = "50 Mbit/s"
upstream.rate = "20 Mbit/s"
upstream.capacity = "25 Mbit/s"
upstream.low_latency.scheduling.pgs = { rate = "2 Mbit/s", interval = "4 ms" }
[flow.game]
application.cbr = { rate = "8 kbit/s", size = "40 B" }
direction = "up"
dscp = 46
"#;
    let used = used(text, "cable.up_low_latency");
    assert!(used > 0.0005 && used < 0.001, "{used}");
}

#[test]
fn a_bucket_that_is_made_later_moves_no_limit_of_another_queue() {
    let text = r#"
duration = "10 s"
warmup = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
downstream.rate = "50 Mbit/s"
[link.cable.docsis.change.later]
at = "5 s"
service_flow = "up"
peak = "12 Mbit/s"
[flow.down]
application.cbr.rate = "25 Mbit/s"
direction = "down"
"#;
    let tables = Tables::run(text, 1);
    let used = of_queue(&tables, "cable.down", "utilisation");
    assert!((used - 0.5).abs() < 0.02, "{used}");
    assert!(of_queue(&tables, "cable.down", "capacity_bps") > 49e6);
}

/// Unsolicited grants beyond a capacity that shrinks, and frames that a cell gives up before their
/// data were sent.
#[test]
fn what_takes_more_than_there_is_or_is_given_up_is_never_above_one() {
    let overdrawn = r#"
duration = "20 s"
warmup = "2 s"
[link.cable.docsis]
preset = "docsis31"
downstream.rate = "50 Mbit/s"
upstream = { rate = "1 Mbit/s", capacity = { steps = [["0 s","1 Mbit/s"],["2 s","50 kbit/s"]] } }
[link.cable.docsis.service_flow.call]
direction = "up"
rate = "1 Mbit/s"
scheduling.ugs = { size = "250 B", interval = "10 ms" }
match = { dscp = 46 }
[flow.call]
application.cbr = { rate = "160 kbit/s", size = "200 B" }
direction = "up"
dscp = 46
"#;
    let share = used(overdrawn, "cable.call");
    assert!(share > 0.0 && share <= 1.0, "{share}");

    let mut cell = r#"
duration = "10 s"
warmup = "1 s"
[link.wifi.dot11b]
rate = "1 Mbit/s"
rts_threshold = "0 B"
short_retry_limit = 1
cw_min = 1
cw_max = 1
station.s.count = 6
"#
    .to_owned();
    for station in 1..=6 {
        write!(
            cell,
            "[host.h{station}]\nvia = ['wifi.s.{station}']\n[flow.f{station}]\n\
             host = 'h{station}'\napplication.cbr = {{ rate = '20 Mbit/s', size = '1400 B' }}\n\
             direction = 'up'\n"
        )
        .expect("a text takes what is written");
    }
    let tables = Tables::run(&cell, 1);
    for station in 1..=6 {
        let used = of_queue(&tables, &format!("wifi.s.{station}.up"), "utilisation");
        assert!(used <= 1.0, "station {station}: {used}");
    }
}
