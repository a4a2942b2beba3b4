//! Recorded lines: files with rate, delay and loss over time, on plain links and as the capacity of
//! a cable channel.

mod from_text;

use std::collections::BTreeMap;

use from_text::{Log, Tables};
use headend::scenario::{Format, Scenario, required_files};
use headend::simulation::Simulation;
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, TraceEvent};

/// 10 Mbit/s and 10 ms, then half a second of outage, then 10 Mbit/s and 30 ms. Packets are lost in
/// the last part alone.
const LINE: &str = "time_s,rate_mbps,delay_ms,loss
0,10,10,0
0.5,0,10,0
1,10,30,0.5
2,10,10,0
";

/// A probe of 88 B every 10 ms, upward.
fn plain(line: &str) -> String {
    format!(
        "duration = '2 s'
        [link.line.point_to_point]
        {line}
        down.rate = '1 Gbit/s'
        [flow.probe]
        application.isochronous = {{ interval = '10 ms', timeout = '1 s' }}
        stop = '1500 ms'
        rtt = '0 s'
        path.jitter = '0 s'
        "
    )
}

const ALL: &str = "up.rate.trace = 'line.csv'
up.delay.trace = 'line.csv'
up.loss.trace = 'line.csv'";

/// 88 B at 10 Mbit/s.
const SENDING: Duration = Duration::from_nanos(70_400);

fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("line.csv".to_owned(), text.into())])
}

fn read(scenario: &str, recording: &str) -> Result<Scenario, String> {
    Scenario::parse(scenario, Format::Toml, &[], &files(recording))
        .map_err(|error| error.to_string())
}

fn build(scenario: &str, recording: &str) -> Simulation {
    read(scenario, recording).expect("it is right").build(1)
}

/// When each packet upward was sent, and its one-way delay.
fn delays(simulation: &mut Simulation) -> Vec<(Instant, Duration)> {
    let log = Log::of(simulation);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    let delivered = log.choose(|event| match event {
        TraceEvent::Delivered { packet, delay } if packet.from.index() == 0 => Some(*delay),
        _ => None,
    });
    let sent = delivered.into_iter().map(|(at, delay)| (at - delay, delay));
    sent.collect()
}

fn milliseconds(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[test]
fn a_recording_is_embedded_and_the_scenario_needs_no_file() {
    let text = plain(ALL);
    let required = required_files(&text, Format::Toml, &[]).expect("it can be read");
    let names: Vec<&str> = required.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["line.csv"]);
    let scenario = read(&text, LINE).expect("it is right");
    let json = scenario.to_json();
    assert_eq!(required_files(&json, Format::Json, &[]), Ok(Vec::new()));
    let again = Scenario::parse(&json, Format::Json, &[], &BTreeMap::new());
    assert_eq!(again, Ok(scenario));
    let written: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    let up = &written["link"]["line"]["point_to_point"]["up"];
    assert_eq!(up["rate"]["period"], "3 s");
    assert_eq!(up["delay"]["steps"][1], serde_json::json!(["1 s", "30 ms"]));
    assert_eq!(up["loss"]["steps"][2], serde_json::json!(["2 s", "0"]));
}

#[test]
fn packets_wait_while_the_recorded_rate_is_zero() {
    let recording = LINE.replace("0.5\n", "0\n");
    let found = delays(&mut build(&plain(ALL), &recording));
    let sending = SENDING;
    for (sent, delay) in &found {
        let (at, ms) = (*sent, Duration::from_millis);
        if at < milliseconds(499) {
            assert_eq!(*delay, ms(10) + sending, "{at:?}");
        } else if at > milliseconds(501) && at < milliseconds(999) {
            // Sent when the rate is back: one after the other, with the delay of that time.
            let waited = milliseconds(1000).since(at);
            let ahead = found
                .iter()
                .filter(|(other, _)| *other >= milliseconds(500) && *other <= at);
            assert_eq!(*delay, waited + sending * ahead.count() as u64 + ms(30));
        }
    }
    assert!(found.len() >= 149, "all arrive: {}", found.len());
}

#[test]
fn a_packet_never_overtakes_while_the_delay_falls() {
    let line = "up.rate = '10 Mbit/s'
    up.delay.steps = [['0 s', '100 ms'], ['505 ms', '10 ms']]";
    let mut simulation = build(&plain(line), "");
    let found = delays(&mut simulation);
    let arrivals: Vec<Instant> = found.iter().map(|(sent, delay)| *sent + *delay).collect();
    assert!(arrivals.is_sorted());
    let last_slow = found
        .iter()
        .rev()
        .find(|(sent, _)| *sent < milliseconds(505));
    let arrives = last_slow
        .map(|(sent, delay)| *sent + *delay)
        .expect("there are such");
    assert!(arrives > milliseconds(590));
    let after = found.iter().filter(|(sent, _)| *sent > milliseconds(505));
    for (sent, delay) in after {
        let own = *sent + SENDING + Duration::from_millis(10);
        assert_eq!(*sent + *delay, own.max(arrives), "{sent:?}");
    }
}

#[test]
fn the_recorded_share_is_lost_by_the_link_and_no_queue_counts_it() {
    let recording = "time_s,rate_bps,loss\n0,1e9,0\n1,1e9,0.25\n2,1e9,0\n";
    let text = plain("up.rate.trace = 'line.csv'\nup.loss.trace = 'line.csv'");
    let text = text.replace("10 ms'", "100 us'").replace("1500 ms", "2 s");
    let mut simulation = build(&text, recording);
    let log = Log::of(&mut simulation);
    let tables = Tables::finish(simulation);
    let lost = log.choose(|event| match event {
        TraceEvent::Discarded { queue, reason, .. } => Some((*queue, *reason)),
        _ => None,
    });
    assert!(
        lost.iter().all(|(at, fate)| {
            *fate == (None, DropReason::Corrupted) && *at >= milliseconds(1000)
        })
    );
    // Three standard errors of a quarter of 10 000.
    assert!(lost.len().abs_diff(2_500) < 130, "{}", lost.len());
    let of_queues = tables.integers("queues", "discarded_corrupted");
    assert!(of_queues.iter().all(|count| *count == 0));
}

#[test]
fn a_recording_with_one_value_is_that_constant_line() {
    let constant = plain("up.rate = '10 Mbit/s'\nup.delay = '25 ms'");
    let recorded = plain("up.rate.trace = 'line.csv'\nup.delay.trace = 'line.csv'");
    let recording = "time_s,rate_mbps,delay_ms\n0,10,25\n1,10,25\n2,10,25\n";
    let [constant, recorded] =
        [constant, recorded].map(|text| delays(&mut build(&text, recording)));
    assert_eq!(constant, recorded);
}

#[test]
fn a_recording_repeats_after_its_last_row_or_its_period() {
    let recording = "time_s,rate_mbps,delay_ms\n0,10,10\n0.2,10,20\n";
    let at = |line: &str, ms: u64| {
        let found = delays(&mut build(&plain(line), recording));
        let after = found
            .into_iter()
            .find(|(sent, _)| *sent >= milliseconds(ms));
        after.map(|(_, delay)| delay.as_nanos() / 1_000_000)
    };
    let delay = "up.rate = '10 Mbit/s'\nup.delay.trace = 'line.csv'";
    assert_eq!(
        [100, 300, 500, 700].map(|ms| at(delay, ms)),
        [10, 20, 10, 20].map(Some)
    );
    let longer = format!("{delay}\nup.delay.period = '500 ms'");
    assert_eq!(
        [100, 300, 450, 600].map(|ms| at(&longer, ms)),
        [10, 20, 20, 10].map(Some)
    );
    let shorter = format!("{delay}\nup.delay.period = '200 ms'");
    let found = read(&plain(&shorter), recording).expect_err("the last row never comes");
    assert!(
        found.contains("up.delay.period: a pattern of 200 ms ends before"),
        "{found}"
    );
}

#[test]
fn a_set_of_leocc_files_is_a_line() {
    let line = "up.rate.trace = 'bw_1.txt'
    up.delay = { trace = 'delay_1.txt', interval = '500 ms' }
    up.loss = 0.002";
    let files = BTreeMap::from([
        ("bw_1.txt".to_owned(), b"0\n1\n1\n2\n".to_vec()),
        ("delay_1.txt".to_owned(), b"12\n16\n".to_vec()),
    ]);
    let scenario = Scenario::parse(&plain(line), Format::Toml, &[], &files);
    let mut simulation = scenario.expect("it is right").build(1);
    let found = delays(&mut simulation);
    for (sent, delay) in found {
        let phase = sent.as_nanos() / 1_000_000 % 1000;
        let (low, high) = match phase {
            ..498 => (12, 14),
            ..502 | 998.. => continue,
            _ => (16, 18),
        };
        let ms = delay.as_nanos() / 1_000_000;
        assert!((low..=high).contains(&ms), "{delay} at {sent:?}");
    }
}

#[test]
fn a_column_that_nothing_takes_is_refused() {
    let found = read(&plain("up.rate.trace = 'line.csv'"), LINE).expect_err("the delay is lost");
    assert!(
        found.starts_with(
            "link.line.point_to_point.up.rate.trace: the file \"line.csv\" has a column delay_ms, \
             and the direction no delay: expected `delay.trace` with the same file, or any other \
             delay (line "
        ),
        "{found}"
    );
    let with_delay = "up.rate.trace = 'line.csv'\nup.delay = '5 ms'";
    let found = read(&plain(with_delay), LINE).expect_err("the losses are lost");
    assert!(
        found.contains("has a column loss, and the direction no loss"),
        "{found}"
    );
    read(&plain(&format!("{with_delay}\nup.loss = 0")), LINE).expect("both are said");
}

#[test]
fn a_recording_that_carries_nothing_is_refused() {
    let rate = plain("up.rate.trace = 'line.csv'");
    let found = read(&rate, "time_s,rate_bps\n0,0\n1,0\n").expect_err("it carries nothing");
    assert!(found.contains("up.rate.trace: the file \"line.csv\" has rate 0 in every row"));
    let found = read(&rate, "time_s,rate_mbps\n0,1\n1,1e8\n").expect_err("a unit is wrong");
    assert!(
        found.contains("rate_mbps of at most 10000000 on line 3"),
        "{found}"
    );
    let loss = plain("up.rate = '1 Mbit/s'\nup.loss.trace = 'line.csv'");
    let found = read(&loss, "time_s,loss\n0,1\n1,1\n").expect_err("it carries nothing");
    assert!(found.contains("loses every packet"), "{found}");
    for loss in ["1", "{ steps = [['0 s', 1]] }", "{}"] {
        let line = plain(&format!("up.rate = '1 Mbit/s'\nup.loss = {loss}"));
        let found = read(&line, "").expect_err("it carries nothing");
        assert!(found.contains("up.loss: "), "{found}");
    }
}

/// A download of 40 Mbit/s over a cable line whose channel is recorded.
fn cable(capacity: &str) -> String {
    format!(
        "duration = '4 s'
        [link.line.docsis]
        preset = 'docsis31'
        upstream.rate = '50 Mbit/s'
        downstream.rate = '50 Mbit/s'
        {capacity}
        [flow.load]
        application.cbr = {{ rate = '40 Mbit/s', size = '1400 B' }}
        direction = 'DIRECTION'
        "
    )
}

#[test]
fn a_cable_channel_takes_the_rate_of_a_recording_and_nothing_else() {
    for (key, direction) in [("upstream", "up"), ("downstream", "down")] {
        let text = cable(&format!("{key}.capacity.trace = 'line.csv'"));
        let text = text.replace("DIRECTION", direction);
        // A mean of 25 Mbit/s, an outage among them.
        let tables = Tables::finish(build(&text, "time_s,rate_mbps\n0,20\n1,0\n2,50\n3,30\n"));
        let rates = tables.floats("flows", "throughput_bps");
        let carried = rates.iter().copied().fold(0.0, f64::max);
        assert!((18e6..25e6).contains(&carried), "{key}: {carried}");
        let found = read(&text, LINE).expect_err("a channel has no delay of its own");
        assert!(
            found.contains(
                "capacity.trace: the file \"line.csv\" has a column delay_ms, but the capacity"
            ) && found.contains("expected a file without that column"),
            "{found}"
        );
    }
}
