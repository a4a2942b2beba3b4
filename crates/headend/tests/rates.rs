//! Stations of a cell whose MPDUs break by the ratio of signal to noise: a fixed MCS, rate control,
//! and what an access point's radio takes ahead.

mod from_text;

use std::fmt::Write;

use from_text::{Tables, parse};

/// Stations of an 802.11ax cell of 80 MHz that each receive more than the cell carries.
fn receiving(access_point: &str, stations: &[(&str, &str)]) -> Tables {
    let mut text = format!(
        r#"
duration = "10 s"
warmup = "2 s"
[link.wifi.dot11ax.access_point]
{access_point}
"#
    );
    for (station, keys) in stations {
        let megabits = 1400 / stations.len();
        write!(
            text,
            r#"
[link.wifi.dot11ax.station.{station}]
{keys}
[host.{station}]
via = ["wifi.{station}"]
[flow.{station}]
application.cbr = {{ rate = "{megabits} Mbit/s", size = "1500 B", random_phase = true }}
direction = "down"
host = "{station}"
rtt = "0 s"
"#
        )
        .expect("a text takes what is written");
    }
    Tables::run(&text, 1)
}

/// What the only station receives, in bit/s.
fn alone(keys: &str) -> f64 {
    alone_behind("queue.drop_tail.limit = \"400 packets\"", keys)
}

/// The same behind an access point.
fn alone_behind(access_point: &str, keys: &str) -> f64 {
    let tables = receiving(access_point, &[("a", keys)]);
    let rates = tables.floats("flows", "throughput_bps").iter();
    let directions = tables.texts("flows", "direction").iter();
    let down = rates.zip(directions).find(|(_, way)| *way == "down");
    *down.expect("the flow goes down").0
}

#[test]
fn mpdus_break_as_often_as_their_mcs_does_at_that_ratio() {
    // Each of two streams has half the power, 17.99 dB: there 10 % of the MPDUs of 1458 B break,
    // and 1 - 0.9^(1538 / 1458) of those of 1538 B.
    let by_ratio = alone("mcs = 7\nstreams = 2\nsnr = \"21.0003 dB\"");
    let by_share = alone("mcs = 7\nstreams = 2\nframe_errors = 0.10518");
    let quotient = by_ratio / by_share;
    assert!((0.98..1.02).contains(&quotient), "{quotient}");
    let lost = alone("mcs = 7\nstreams = 2\nsnr = \"15 dB\"");
    assert!(lost == 0.0, "{lost}");
}

#[test]
fn rate_control_carries_nearly_what_the_best_mcs_does() {
    for ratio in [3, 9, 14, 20, 26, 33, 45] {
        let fixed = |streams, mcs| {
            alone(&format!(
                "mcs = {mcs}\nstreams = {streams}\nsnr = \"{ratio} dB\""
            ))
        };
        let all = (1..=2).flat_map(|streams| (0..12).map(move |mcs| (streams, mcs)));
        let best = all
            .map(|(streams, mcs)| fixed(streams, mcs))
            .fold(0.0, f64::max);
        let controlled = alone(&format!("snr = \"{ratio} dB\""));
        let share = controlled / best;
        // Set before the first run, for probes of a frame of one MPDU every 20 ms, and for the step
        // to the next slower mode where more than a tenth breaks.
        assert!((0.85..1.02).contains(&share), "{ratio} dB: {share}");
    }
}

#[test]
fn rate_control_follows_a_station_that_walks_away_and_comes_back() {
    let walks =
        alone("snr.steps = [[\"0 s\", \"35 dB\"], [\"5 s\", \"9 dB\"], [\"8 s\", \"35 dB\"]]");
    let (near, far) = (alone("snr = \"35 dB\""), alone("snr = \"9 dB\""));
    // Five of the eight seconds near, three far; a second in all to find the way.
    let least = (near * 4.3 + far * 2.7) / 8.0;
    let most = (near * 5.0 + far * 3.0) / 8.0;
    assert!(
        (least..most * 1.02).contains(&walks),
        "{least} {walks} {most}"
    );
}

/// What a download gets from the sixth second on, in bit/s.
fn download(snr: &str) -> f64 {
    let text = format!(
        r#"
duration = "10 s"
warmup = "6 s"
[link.wifi.dot11ax.station.phone]
{snr}
[host.phone]
via = ["wifi.phone"]
[flow.download]
application = "bulk"
direction = "down"
host = "phone"
"#
    );
    let tables = Tables::run(&text, 1);
    let goodput = tables.floats("flows", "goodput_bps");
    goodput.iter().copied().fold(0.0, f64::max)
}

#[test]
fn a_download_goes_on_two_seconds_after_its_signal_fell_far() {
    let falls = download("snr.steps = [[\"0 s\", \"35 dB\"], [\"4 s\", \"9 dB\"]]");
    let far = download("snr = \"9 dB\"");
    assert!(falls > 0.5 * far, "{falls} of {far}");
}

#[test]
fn a_limit_in_time_is_the_length_of_the_frames() {
    // MCS 9 with two streams has 13 066 bits in a symbol of 13.6 us after 50.4 us. The first frame
    // that is not below 1 ms has 70 symbols, for 73 MPDUs.
    let frame = 50.4 + 70.0 * 13.6;
    // SIFS and a block acknowledgement of 56 B, AIFS, and half of the smallest window.
    let exchange = frame + 16.0 + 40.0 + 43.0 + 67.5;
    let expected = 73.0 * 1500.0 * 8.0 / exchange * 1e6;
    let found = alone_behind(
        "queues = \"by_station\"\nairtime_limit = \"1 ms\"",
        "mcs = 9",
    );
    // 6800 backoffs of 0 to 15 slots: a standard error of 0.04 %.
    let quotient = found / expected;
    assert!((0.998..1.002).contains(&quotient), "{quotient}");
}

#[test]
fn a_limit_in_time_leaves_the_air_shared_evenly() {
    let stations = [("fast", "mcs = 9"), ("slow", "mcs = 0\nstreams = 1")];
    for limit in ["0 s", "1 ms", "5 ms"] {
        let access_point = format!("queues = \"by_station\"\nairtime_limit = \"{limit}\"");
        let tables = receiving(&access_point, &stations);
        let shares = tables.floats("air_time", "air_ratio").iter();
        let whose = tables.texts("air_time", "station").iter();
        let of = |name: &str| -> f64 {
            let rows = shares.clone().zip(whose.clone());
            rows.filter(|(_, whose)| *whose == name)
                .map(|(share, _)| share)
                .sum()
        };
        let slow = of("slow") / (of("slow") + of("fast"));
        assert!((slow - 0.5).abs() < 0.02, "{limit}: {slow}");
    }
}

#[test]
fn a_ratio_that_makes_no_sense_is_refused_with_what_is_expected() {
    let refused = |kind: &str, station: &str| {
        let text = format!(
            "[link.wifi.{kind}.station.a]\n{station}\n[host.a]\nvia = [\"wifi.a\"]\n[flow.a]\n\
             host = \"a\"\napplication = \"bulk\"\n"
        );
        let error = parse(&text, &[]).expect_err("it makes no sense");
        error.to_string()
    };
    let why = refused("dot11ax", "snr = 25");
    assert!(why.contains("a ratio such as \"25 dB\""), "{why}");
    let why = refused("dot11ax", "snr = {}");
    assert!(why.contains("expected steps"), "{why}");
    let why = refused("dot11g", "snr = \"20 dB\"\nrate = \"50 Mbit/s\"");
    assert!(why.contains("expected a rate of 802.11g"), "{why}");
    let of_cell = "snr = \"20 dB\"\n[link.wifi.dot11g]\nrate = \"1 Mbit/s\"";
    let why = refused("dot11g", of_cell);
    assert!(why.contains("expected a rate of 802.11g"), "{why}");
    let why = refused("dot11g", "standard = \"dot11b\"\nsnr = \"20 dB\"");
    assert!(why.contains("has a rate and frame_errors instead"), "{why}");
}
