//! Games, conferences and video calls on whole lines: the effect of an upload behind a deep buffer,
//! and with a queue that controls its delay.

mod from_text;

use from_text::Tables;
use headend::metrics::table::Column;

/// A line of 10 Mbit/s with an upload from 30 s on, its queue, and one more flow.
fn run(queue: &str, flow: &str) -> Tables {
    let text = format!(
        r#"
        duration = "120 s"
        [link.cable.docsis]
        preset = "docsis31"
        upstream.rate = "10 Mbit/s"
        upstream.queue = {queue}
        downstream.rate = "100 Mbit/s"
        [flow.upload]
        application = "bulk"
        direction = "up"
        rtt = "40 ms"
        start = "30 s"
        [flow.it]
        {flow}
        rtt = "40 ms"
        "#
    );
    Tables::run(&text, 1)
}

const BLOATED: &str = "{ drop_tail = { limit = \"500 ms\" } }";
const PIE: &str = "\"docsis_pie\"";

/// The mean of a measure over the scoring periods from `first` s to before `last` s.
#[track_caller]
fn mean(tables: &Tables, measure: &str, first: u64, last: u64) -> f64 {
    let samples = &(tables.0.iter())
        .find(|(name, _)| *name == "samples")
        .expect("a table of samples")
        .1;
    let columns = ["measure", "value", "time_ns"].map(|name| samples.get(name));
    let [
        Some(Column::Text(measures)),
        Some(Column::Float(values)),
        Some(Column::Integer(times)),
    ] = columns
    else {
        panic!("samples have measures, values and times")
    };
    let chosen: Vec<f64> = (measures.iter().zip(values).zip(times))
        .filter(|((name, _), time)| {
            let second = **time / 1_000_000_000;
            *name == measure && (first..last).contains(&second)
        })
        .map(|((_, value), _)| *value)
        .collect();
    assert!(!chosen.is_empty(), "{measure} was measured");
    chosen.iter().sum::<f64>() / chosen.len() as f64
}

#[test]
fn a_video_call_beside_an_upload_keeps_its_frames_behind_pie_and_not_behind_a_deep_buffer() {
    let call = "application = \"video_call\"";
    let (bloated, pie) = (run(BLOATED, call), run(PIE, call));
    for tables in [&bloated, &pie] {
        // Alone, the call sends at its full rate, and no frame is late.
        assert!(mean(tables, "video_rate", 28, 30) > 1.5e6);
        assert!(mean(tables, "frames_late", 10, 30) < 0.01);
        // The upload only delays the feedback of the downstream video.
        assert!(mean(tables, "frames_late_down", 60, 115) < 0.01);
    }
    assert!(mean(&bloated, "frame_delay", 60, 115) > 250e6);
    assert!(mean(&bloated, "frames_late", 60, 115) > 0.9);
    assert!(mean(&pie, "frame_delay", 60, 115) < 120e6);
    assert!(mean(&pie, "frames_late", 60, 115) < 0.2);
    // The call yields to the upload with either queue, and is not starved.
    for (tables, name) in [(&bloated, "bloated"), (&pie, "pie")] {
        let rate = mean(tables, "video_rate", 60, 115);
        assert!((0.052e6..2.5e6).contains(&rate), "{name}: {rate}");
    }
}

#[test]
fn a_game_beside_an_upload_misses_what_it_sends_behind_a_deep_buffer() {
    for game in ["game", "quake3", "half_life", "lld_game"] {
        let flow = format!("application = \"{game}\"");
        let (bloated, pie) = (run(BLOATED, &flow), run(PIE, &flow));
        assert!(mean(&bloated, "missed", 10, 30) < 1e-9, "{game}");
        assert!(mean(&bloated, "missed", 60, 115) > 0.9, "{game}");
        assert!(mean(&pie, "missed", 60, 115) < 0.15, "{game}");
        assert!(mean(&bloated, "missed_down", 60, 115) < 1e-9, "{game}");
    }
}

#[test]
fn a_cloud_game_needs_the_line_down_and_its_input_the_line_up() {
    let tables = run(BLOATED, "application = \"cloud_gaming\"");
    assert!(mean(&tables, "frames_late_down", 60, 115) < 0.01);
    assert!((mean(&tables, "video_rate_down", 60, 115) - 25e6).abs() < 0.5e6);
    assert!(mean(&tables, "missed", 60, 115) > 0.9);
}
