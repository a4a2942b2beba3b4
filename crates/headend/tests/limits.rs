//! What held TCP senders back, as shares of time: in scenarios whose limit is known, and as a rule
//! for every simulated TCP flow of the shipped scenarios.

mod from_text;

use std::path::Path;

use from_text::{Tables, scenario};

/// The columns with the shares.
const COLUMNS: [&str; 6] = [
    "cwnd_limited_ratio",
    "rwnd_limited_ratio",
    "sndbuf_limited_ratio",
    "app_limited_ratio",
    "recovery_limited_ratio",
    "pacing_limited_ratio",
];

/// The shares of the flow's data, in the order of [`COLUMNS`].
fn shares(tables: &Tables, flow: &str, direction: &str) -> [f64; 6] {
    let (flows, directions) = (
        tables.texts("flows", "flow"),
        tables.texts("flows", "direction"),
    );
    let row = (flows.iter().zip(directions))
        .position(|(name, way)| name == flow && way == direction)
        .expect("a row of this flow and direction");
    COLUMNS.map(|column| tables.floats("flows", column)[row])
}

/// The shares of one transfer down a line of `rate`, with `keys` of the flow.
fn transfer(rate: &str, keys: &str) -> [f64; 6] {
    let is_named = keys.contains("application");
    let application = if is_named {
        ""
    } else {
        "application = \"bulk\""
    };
    let text = format!(
        r#"
duration = "20 s"
warmup = "5 s"
[link.line.point_to_point]
up.rate = "60 Mbit/s"
down.rate = "{rate}"
[flow.transfer]
direction = "down"
{application}
{keys}
"#
    );
    let shares = shares(&Tables::run(&text, 1), "transfer", "down");
    eprintln!("{keys}: {shares:.3?}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    shares
}

/// The window of 64 KB is out after 2 ms of the 82 ms that its acknowledgement takes. The rest of
/// each round trip is that of the receive window: while its segments arrive one by one, the next
/// one is let out by each, and is held back by the same window again.
#[test]
fn a_small_receive_window_holds_a_long_path_back() {
    let [_, rwnd, ..] = transfer(
        "240 Mbit/s",
        "rtt = \"82 ms\"\ntcp.receive_window = \"65535 B\"",
    );
    assert!(rwnd > 0.99, "{rwnd}");
}

/// 256 KiB of memory hold some 250 kB of data: 12 Mbit/s of 240 over 160 ms.
#[test]
fn a_small_send_buffer_holds_a_long_path_back() {
    let [_, _, sndbuf, ..] = transfer(
        "240 Mbit/s",
        "rtt = \"160 ms\"\ntcp.send_buffer = \"256 KiB\"",
    );
    assert!(sndbuf > 0.99, "{sndbuf}");
}

/// 12.5 kB each 100 ms are 1 Mbit/s, and nine segments, which the initial window holds: nothing but
/// the program holds them back.
#[test]
fn a_program_that_sends_at_a_rate_is_its_own_limit() {
    let keys = "rtt = \"20 ms\"\napplication.bulk = { size = \"12.5 kB\", every = \"100 ms\", \
                group = 1, pause = \"0 s\", persistent = true }";
    let [_, _, _, app, ..] = transfer("100 Mbit/s", keys);
    assert!(app > 0.99, "{app}");
}

/// CUBIC keeps a queue of half a bandwidth-delay product at a line of 20 Mbit/s: its window is full
/// all the time, but for what recoveries take.
#[test]
fn the_window_of_cubic_limits_it_on_a_line_that_it_fills() {
    let [cwnd, rwnd, sndbuf, app, recovery, pacing] = transfer("20 Mbit/s", "rtt = \"40 ms\"");
    assert!(cwnd > 0.9, "{cwnd}");
    assert!((cwnd + recovery - 1.0).abs() < 1e-9, "{recovery}");
    assert!(
        [rwnd, sndbuf, app, pacing]
            .iter()
            .all(|share| *share == 0.0)
    );
}

/// A loss is repaired within a round trip, and on average 1 / 0.01 segments are sent before the
/// next. With a window of about 1.22 / √0.01 = 12 segments that is one recovery in some eight round
/// trips.
#[test]
fn random_losses_cost_reno_about_a_round_trip_each() {
    let [cwnd, _, _, _, recovery, _] = transfer(
        "100 Mbit/s",
        "rtt = \"40 ms\"\npath.loss = \"1 %\"\ntcp.congestion = \"reno\"",
    );
    assert!((0.05..0.3).contains(&recovery), "{recovery}");
    assert!((cwnd + recovery - 1.0).abs() < 1e-9, "{cwnd}");
}

/// BBR sends at the bottleneck's rate, and its window is twice what that needs; except when it
/// probes for the round-trip time, with a window of four segments for 0.2 of 10 s.
#[test]
fn bbr_alone_on_a_line_is_limited_by_its_pace() {
    let [cwnd, .., pacing] = transfer("20 Mbit/s", "rtt = \"40 ms\"\ntcp.congestion = \"bbr\"");
    assert!(pacing > 0.9, "{pacing}");
    assert!((0.01..0.1).contains(&cwnd), "{cwnd}");
}

/// A file of 5 MB at 10 Mbit/s is sent within 5 s, and its connection ends then: once the last
/// byte is sent, which takes a round trip of 40 ms and what waits in the queue. A connection that
/// stays open waits for its program for the rest of the 20 s.
#[test]
fn a_connection_counts_from_its_handshake_to_the_acknowledgement_of_its_end() {
    let file = |persistent: &str| {
        let text = format!(
            r#"
duration = "20 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "10 Mbit/s"
[flow.file]
application.bulk.size = "5 MB"
application.bulk.files = 2
application.bulk.every = "100 s"
application.bulk.group = 1
application.bulk.persistent = {persistent}
direction = "down"
rtt = "40 ms"
"#
        );
        shares(&Tables::run(&text, 1), "file", "down")
    };
    let [_, _, _, app, ..] = file("false");
    assert!(app < 0.1, "{app}");
    let [_, _, _, app, ..] = file("true");
    assert!((0.7..0.85).contains(&app), "{app}");
}

/// A file that is sent within the warm-up leaves nothing to divide; neither does a direction that
/// only acknowledges.
#[test]
fn without_a_connection_in_the_measured_part_there_are_no_shares() {
    let text = r#"
duration = "20 s"
warmup = "10 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "10 Mbit/s"
[flow.file]
application.bulk = { size = "1 MB", files = 1 }
direction = "down"
rtt = "40 ms"
[flow.endless]
application = "bulk"
direction = "down"
rtt = "40 ms"
[flow.call]
application = "voice"
rtt = "40 ms"
"#;
    let tables = Tables::run(text, 1);
    let is_missing = |flow, direction| shares(&tables, flow, direction).iter().all(|s| s.is_nan());
    assert!(is_missing("file", "down") && is_missing("endless", "up"));
    assert!(is_missing("call", "up") && is_missing("call", "down"));
    assert!(!is_missing("endless", "down"));
}

/// The warm-up holds slow start into a window that the receiver then limits: shares are those of
/// the measured part alone.
#[test]
fn what_held_a_sender_back_in_the_warm_up_does_not_count() {
    let text = r#"
duration = "20 s"
[link.line.point_to_point]
up.rate = "100 Mbit/s"
down.rate = "100 Mbit/s"
[flow.transfer]
application = "bulk"
direction = "down"
rtt = "200 ms"
tcp.receive_window = "1 MB"
"#;
    let share_of_rwnd = |warmup: &str| {
        let scenario = scenario(text, &[("warmup", warmup)]);
        shares(&Tables::finish(scenario.build(1)), "transfer", "down")[1]
    };
    let (whole, measured) = (share_of_rwnd("0 s"), share_of_rwnd("5 s"));
    // Seven round trips of 200 ms grow the window to 1 MB.
    assert!((0.9..0.96).contains(&whole), "{whole}");
    assert!(measured > 0.999, "{measured}");
}

/// Every direction in which a simulated TCP flow sent data while a connection was open has shares,
/// between 0 and 1, and they sum to 1.
#[test]
fn the_shares_of_every_simulated_tcp_flow_of_the_shipped_scenarios_sum_to_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).expect("the shipped scenarios") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        if text.contains("[host.") || text.contains("trace") || text.contains("file") {
            continue;
        }
        let tables = Tables::run(&text, 1);
        let rows = tables.texts("flows", "transport").iter().enumerate();
        for (row, _) in rows.filter(|(_, transport)| *transport == "tcp") {
            let is_data = tables.texts("flows", "carries")[row] == "data";
            let sent = tables.integers("flows", "packets_sent")[row];
            let own = COLUMNS.map(|column| tables.floats("flows", column)[row]);
            let name = &tables.texts("flows", "flow")[row];
            if !is_data || sent == 0 {
                assert!(is_data || own[0].is_nan(), "{name} of {path:?}: {own:?}");
                continue;
            }
            let sum: f64 = own.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9, "{name} of {path:?}: {own:?}");
            assert!(own.iter().all(|share| (0.0..=1.0).contains(share)));
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} directions");
}
