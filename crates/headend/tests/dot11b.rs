//! The 802.11b cell, compared with theory: Bianchi's model of saturated stations, closed forms of
//! single stations, and properties that every cell has.

mod from_text;

use from_text::Tables;

/// IP bytes of a packet, µs of a slot, and contention windows as numbers of slots.
const PACKET: u32 = 1500;
const SLOT: f64 = 20.0;
const WINDOW: f64 = 32.0;
const DOUBLINGS: i32 = 5;

/// Stations that always have a packet to send up, for 40 s after a warm-up of 2 s. `cell` is
/// inserted into the cell's table.
fn saturated(stations: u32, rate: &str, cell: &str) -> Tables {
    // Twice the capacity of the channel.
    let offered = 14_000 / stations;
    let text = format!(
        r#"
duration = "42 s"
warmup = "2 s"
[link.wifi.dot11b]
rate = "{rate}"
{cell}
[link.wifi.dot11b.station.sta]
count = {stations}
queue.drop_tail.limit = "20 packets"
[host.laptop]
via = ["wifi.sta"]
[flow.stream]
application.cbr = {{ rate = "{offered} kbit/s", size = "{PACKET} B", random_phase = true }}
direction = "up"
host = "laptop"
rtt = "0 s"
"#
    );
    Tables::run(&text, 1)
}

/// The bit/s that arrived from all stations.
fn delivered(tables: &Tables) -> f64 {
    let directions = tables.texts("flows", "direction");
    (tables
        .floats("flows", "throughput_bps")
        .iter()
        .zip(directions))
    .filter(|(_, direction)| *direction == "up")
    .map(|(rate, _)| *rate)
    .sum()
}

/// Bianchi (2000): the share of slots in which a station sends if its attempts collide with
/// probability `p`, over the stages of its window. A frame has `tries` attempts, or any number.
fn attempts(p: f64, tries: Option<i32>) -> f64 {
    let last = tries.unwrap_or(2000);
    let (mut sent, mut slots) = (0.0, 0.0);
    for stage in 0..last {
        let window = WINDOW * f64::from(1 << stage.min(DOUBLINGS));
        sent += p.powi(stage);
        slots += p.powi(stage) * f64::midpoint(window, 1.0);
    }
    sent / slots
}

/// The saturation throughput of `stations` in bit/s. The durations of a success and of a collision
/// are in µs.
fn bianchi(stations: u32, tries: Option<i32>, success: f64, collision: f64) -> f64 {
    let [alone, _, slot] = bianchi_slots(stations, tries, success, collision);
    alone * f64::from(PACKET) * 8.0 / slot * 1e6
}

/// The shares of slots with a success and with a collision, and the mean length of a slot in µs.
fn bianchi_slots(stations: u32, tries: Option<i32>, success: f64, collision: f64) -> [f64; 3] {
    let others = stations as i32 - 1;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = f64::midpoint(low, high);
        if 1.0 - (1.0 - attempts(p, tries)).powi(others) > p {
            low = p;
        } else {
            high = p;
        }
    }
    let tau = attempts(low, tries);
    let busy = 1.0 - (1.0 - tau).powi(stations as i32);
    let alone = f64::from(stations) * tau * (1.0 - tau).powi(others);
    let slot = (1.0 - busy) * SLOT + alone * success + (busy - alone) * collision;
    [alone, busy - alone, slot]
}

/// The share of the air time of the cell that each use takes, summed over stations.
fn air(tables: &Tables, what: &str) -> f64 {
    let shares = tables.floats("air_time", "air_ratio").iter();
    let uses = tables.texts("air_time", "use").iter();
    (shares.zip(uses))
        .filter(|(_, of)| *of == what)
        .map(|(share, _)| share)
        .sum()
}

/// Tolerance: that of the throughput, of the share.
#[test]
fn the_air_time_of_saturated_stations_is_what_bianchis_model_says() {
    let cell = "eifs = \"50 us\"\nshort_retry_limit = 0";
    for stations in [1, 2, 5, 10, 20, 50] {
        let tables = saturated(stations, "11 Mbit/s", cell);
        let exchange = FRAME + SIFS + ANSWER;
        let [alone, collided, slot] = bianchi_slots(stations, None, exchange + DIFS, FRAME + DIFS);
        let sent = alone * exchange / slot;
        let collided = collided * FRAME / slot;
        eprintln!(
            "{stations} stations: sent {:.4} of {sent:.4}, collided {:.4} of {collided:.4}, idle \
             {:.4}",
            air(&tables, "up"),
            air(&tables, "collision"),
            air(&tables, "idle")
        );
        assert!((air(&tables, "up") / sent - 1.0).abs() < 0.03, "{stations}");
        let difference = air(&tables, "collision") - collided;
        assert!(difference.abs() < 0.03, "{stations}: {difference}");
        let idle = 1.0 - sent - collided;
        assert!((air(&tables, "idle") - idle).abs() < 0.03, "{stations}");
        let all: f64 = tables.floats("air_time", "air_ratio").iter().sum();
        assert!((all - 1.0).abs() < 1e-9, "{all}");
    }
}

/// Eleven calls of 50 packets of 200 B a second each way: each exchange is a frame with a long
/// preamble, SIFS and ACK. An exchange that is cut by an edge of the measured time counts in part.
///
/// Tolerance: 1 %, for frames of the first and the last 20 ms.
#[test]
fn the_air_time_of_calls_is_their_frames_and_answers() {
    let text = r#"
duration = "22 s"
warmup = "2 s"
[link.wifi.dot11b.station.phone]
count = 11
[host.phone]
via = ["wifi.phone"]
[flow.call]
application.cbr = { gap = "20 ms", size = "200 B", random_phase = true }
direction = "both"
host = "phone"
"#;
    let tables = Tables::run(text, 1);
    let exchange = 192.0 + f64::ceil(236.0 * 8.0 / 11.0) + SIFS + ANSWER;
    let one_way = 11.0 * 50.0 * exchange / 1e6;
    for way in ["up", "down"] {
        let share = air(&tables, way);
        eprintln!("{way}: {share:.4} of {one_way:.4}");
        // A frame that collides is sent again.
        assert!((share / one_way - 1.0).abs() < 0.01, "{way}: {share}");
    }
    let busy: f64 = ["up", "down", "collision", "broken"]
        .iter()
        .map(|of| air(&tables, of))
        .sum();
    assert!((busy + air(&tables, "idle") - 1.0).abs() < 1e-9);
    let used = tables.floats("channels", "utilisation")[0];
    assert!((busy - used).abs() < 1e-9, "{busy} {used}");
}

/// Half of the frames arrive broken: as many exchanges have no answer.
#[test]
fn broken_frames_take_air_time_of_their_own() {
    let text = r#"
duration = "12 s"
[link.wifi.dot11b.station.far]
frame_errors = "50 %"
[host.far]
via = ["wifi.far"]
[flow.stream]
application.cbr = { rate = "400 kbit/s", size = "1500 B" }
direction = "up"
host = "far"
"#;
    let tables = Tables::run(text, 1);
    let ratio = air(&tables, "broken") / air(&tables, "up");
    let expected = FRAME / (FRAME + SIFS + ANSWER);
    assert!((ratio / expected - 1.0).abs() < 0.2, "{ratio} {expected}");
    assert!(air(&tables, "collision").abs() < 1e-12);
}

/// The µs of a frame of 1536 bytes at 11 Mbit/s, of an ACK or CTS at 2 Mbit/s, and of an RTS; SIFS,
/// DIFS and EIFS.
const FRAME: f64 = 192.0 + 1118.0;
const ANSWER: f64 = 192.0 + 56.0;
const RTS: f64 = 192.0 + 80.0;
const SIFS: f64 = 10.0;
const DIFS: f64 = 50.0;
const EIFS: f64 = 364.0;

/// Tolerance: 3 %. Bianchi's stations count a busy period as a slot; those of the standard do not.
fn assert_near(what: &str, stations: u32, measured: f64, expected: f64) {
    let ratio = measured / expected;
    eprintln!(
        "{what}, {stations} stations: {:.3} of {:.3} Mbit/s, {ratio:.4}",
        measured / 1e6,
        expected / 1e6
    );
    assert!(
        (ratio - 1.0).abs() < 0.03,
        "{what}, {stations} stations: {ratio:.4}"
    );
}

#[test]
fn saturated_stations_share_what_bianchis_model_says() {
    let cell = "eifs = \"50 us\"\nshort_retry_limit = 0";
    for stations in [1, 2, 5, 10, 20, 50] {
        let measured = delivered(&saturated(stations, "11 Mbit/s", cell));
        let success = FRAME + SIFS + ANSWER + DIFS;
        let expected = bianchi(stations, None, success, FRAME + DIFS);
        assert_near("basic access", stations, measured, expected);
    }
}

#[test]
fn announced_frames_collide_cheaply_as_bianchis_model_says() {
    let cell = "eifs = \"50 us\"\nshort_retry_limit = 0\nrts_threshold = \"0 B\"";
    for stations in [1, 2, 5, 10, 20, 50] {
        let measured = delivered(&saturated(stations, "11 Mbit/s", cell));
        let success = RTS + SIFS + ANSWER + SIFS + FRAME + SIFS + ANSWER + DIFS;
        let expected = bianchi(stations, None, success, RTS + DIFS);
        assert_near("RTS/CTS", stations, measured, expected);
    }
}

#[test]
fn with_the_standards_eifs_and_retry_limit_they_share_what_the_extended_model_says() {
    for stations in [1, 2, 5, 10, 20, 50] {
        let measured = delivered(&saturated(stations, "11 Mbit/s", ""));
        let success = FRAME + SIFS + ANSWER + DIFS;
        let expected = bianchi(stations, Some(7), success, FRAME + EIFS);
        assert_near("EIFS and seven tries", stations, measured, expected);
    }
}

/// DIFS, 15.5 slots of backoff on average, frame, SIFS, ACK.
///
/// Tolerance: 0.5 %, three standard errors of the mean backoff over 40 s at 1 Mbit/s.
#[test]
fn a_station_alone_has_its_closed_form() {
    for (rate, megabits, answer) in [
        ("1 Mbit/s", 1.0, 304.0),
        ("2 Mbit/s", 2.0, ANSWER),
        ("5.5 Mbit/s", 5.5, ANSWER),
        ("11 Mbit/s", 11.0, ANSWER),
    ] {
        let bits = f64::from((PACKET + 36) * 8) / megabits;
        let cycle = DIFS + 15.5 * SLOT + 192.0 + f64::ceil(bits) + SIFS + answer;
        let expected = f64::from(PACKET) * 8.0 / cycle * 1e6;
        let measured = delivered(&saturated(1, rate, ""));
        eprintln!(
            "{rate}: {:.4} of {:.4} Mbit/s",
            measured / 1e6,
            expected / 1e6
        );
        assert!((measured / expected - 1.0).abs() < 0.005, "{rate}");
    }
}

/// Heusse et al. (2003): all stations send equally often, so that one slow station makes all as
/// slow as itself.
///
/// Tolerance: 5 %, for collisions of two.
#[test]
fn a_slow_station_slows_all() {
    let text = r#"
duration = "42 s"
warmup = "2 s"
[link.wifi.dot11b.station.fast]
queue.drop_tail.limit = "20 packets"
[link.wifi.dot11b.station.slow]
rate = "1 Mbit/s"
queue.drop_tail.limit = "20 packets"
[host.fast]
via = ["wifi.fast"]
[host.slow]
via = ["wifi.slow"]
[flow.fast]
application.cbr = { rate = "8 Mbit/s", size = "1500 B" }
direction = "up"
host = "fast"
[flow.slow]
application.cbr = { rate = "2 Mbit/s", size = "1500 B" }
direction = "up"
host = "slow"
"#;
    let tables = Tables::run(text, 1);
    let directions = tables.texts("flows", "direction");
    let rates: Vec<f64> = (tables
        .floats("flows", "throughput_bps")
        .iter()
        .zip(directions))
    .filter(|(_, direction)| *direction == "up")
    .map(|(rate, _)| *rate)
    .collect();
    eprintln!("11 Mbit/s beside 1: {rates:?} bit/s");
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.05, "{rates:?}");
    assert!(rates[0] < 0.9e6, "{rates:?}");
}

/// Frames that arrive corrupted need no second station to collide with. A frame is discarded with
/// the probability that each of its tries fails.
///
/// Tolerance: four standard errors.
#[test]
fn a_frame_is_given_up_after_its_tries() {
    let text = r#"
duration = "100 s"
[link.wifi.dot11b]
short_retry_limit = 3
station.laptop = { frame_errors = "30 %" }
[host.laptop]
via = ["wifi.laptop"]
[flow.stream]
application.cbr = { rate = "800 kbit/s", size = "1000 B" }
direction = "up"
host = "laptop"
"#;
    let tables = Tables::run(text, 1);
    let lost = tables.integers("flows", "discarded_retry_limit")[0] as f64;
    let sent = tables.integers("flows", "packets_sent")[0] as f64;
    let share = 0.3_f64.powi(3);
    let error = (share * (1.0 - share) / sent).sqrt();
    assert!(
        (lost / sent - share).abs() < 4.0 * error,
        "{lost} of {sent}"
    );
}

/// A cell behind a cable modem, and stations that send to each other: packets are routed both ways,
/// and none is lost or left over.
#[test]
fn a_cell_chains_with_a_cable_line() {
    let text = r#"
duration = "20 s"
[link.cable.docsis]
preset = "docsis30"
upstream.rate = "5 Mbit/s"
downstream.rate = "50 Mbit/s"
[link.wifi.dot11b.station]
laptop = {}
printer = { rate = "2 Mbit/s" }
[host.laptop]
via = ["wifi.laptop", "cable"]
[host.printer]
via = ["wifi.printer"]
[flow.download]
application = { bulk = { size = "2 MB", files = 1 } }
direction = "down"
host = "laptop"
[flow.print]
application = { bulk = { size = "500 kB", files = 1 } }
direction = "up"
host = "laptop"
peer = "printer"
[flow.ping]
application = "ping"
host = "laptop"
"#;
    let tables = Tables::run(text, 1);
    let measures = tables.texts("measures", "measure");
    let counts = tables.integers("measures", "count");
    let files: u64 = (measures.iter().zip(counts))
        .filter(|(name, _)| *name == "completion_time")
        .map(|(_, &count)| count)
        .sum();
    assert_eq!(files, 2, "both files arrived");
}
