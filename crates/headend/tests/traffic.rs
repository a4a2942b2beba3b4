//! Applications on one link: what an unresponsive application sends does not depend on the fate of
//! its packets, and what applications measure is what the link does.

mod one_link;

use headend::metrics::table::Column;
use headend::metrics::voice;
use headend::packet::Side;
use headend::queue::BacklogLimit;
use headend::simulation::Simulation;
use headend::time::{Duration, Instant};
use headend::trace::TraceEvent;
use headend::traffic::{Application, ApplicationConfig, Direction};
use headend::units::Rate;
use one_link::{Listener, Setup};

fn build(text: &str) -> Box<dyn Application> {
    build_in(text, read(text).default_direction())
}

fn build_in(text: &str, direction: Direction) -> Box<dyn Application> {
    read(text)
        .build(direction)
        .expect("a direction it can have")
}

fn read(text: &str) -> ApplicationConfig {
    let config: ApplicationConfig = toml::from_str(text).expect("a good application");
    assert_eq!(config.check(), Ok(()));
    config
}

fn setup(rate: Rate, limit: BacklogLimit) -> Setup {
    Setup {
        rate,
        limit,
        delay: Duration::from_millis(20),
        duration: Duration::from_secs(15),
        seed: 1,
    }
}

fn samples(simulation: &mut Simulation, measure: &str) -> Vec<f64> {
    let tables = simulation.tables();
    let samples = &tables
        .iter()
        .find(|(name, _)| *name == "samples")
        .expect("a table of samples")
        .1;
    let (Some(Column::Text(measures)), Some(Column::Float(values))) =
        (samples.get("measure"), samples.get("value"))
    else {
        return Vec::new();
    };
    (measures.iter().zip(values))
        .filter(|(name, _)| *name == measure)
        .map(|(_, value)| *value)
        .collect()
}

type Sent = (Instant, u32, Side, u64, u16);

/// The time, sender and size of everything that was sent, and the number of packets that were
/// dropped.
fn sent(limit: BacklogLimit) -> (Vec<Sent>, usize) {
    let applications = [
        "[cbr]\nrandom_phase = true",
        "[poisson]\nsizes = \"exponential\"",
        "[voice]",
        "[game]",
        "[quake3]",
        "[half_life]",
        "[lld_game]",
        "[conference]",
        "[cloud_gaming]\nrate = \"1 Mbit/s\"",
    ];
    let applications = applications.map(build).into();
    // The mean load upstream is 12.6 Mbit/s.
    let mut simulation = setup(Rate(13_000_000), limit).simulate(applications, 1);
    let (listener, state) = Listener::new(
        (Vec::new(), 0),
        |state: &mut (Vec<Sent>, usize), at, event: &TraceEvent| match event {
            TraceEvent::Sent { packet } => {
                let group = packet.group.0;
                state
                    .0
                    .push((at, group, packet.from, packet.seq, packet.size));
            }
            TraceEvent::Discarded { .. } => state.1 += 1,
            _ => {}
        },
    );
    simulation.add_sink(Box::new(listener));
    simulation.run_until(simulation.end());
    drop(simulation);
    let mut state = state.lock().expect("one run, one thread");
    std::mem::take(&mut *state)
}

#[test]
fn the_queue_does_not_change_what_unresponsive_sources_send() {
    let (deep, deep_drops) = sent(BacklogLimit::Bytes(1_000_000));
    let (shallow, shallow_drops) = sent(BacklogLimit::Packets(5));
    assert!(deep.len() > 20_000);
    assert!(shallow_drops > 10 * deep_drops.max(10), "the queues differ");
    assert_eq!(deep, shallow);
}

#[test]
fn a_call_over_an_idle_line_scores_its_delay_and_nothing_else() {
    let line = setup(Rate(10_000_000), BacklogLimit::Unlimited);
    let mut simulation = line.simulate(vec![build("[voice]")], 1);
    simulation.run_until(simulation.end());
    // 20 ms of path, 40 ms of de-jitter buffer, 20 ms of packet, and the transmission time of 200
    // B.
    let delay = Duration::from_millis(80) + Rate(10_000_000).time_for(200);
    let expected = voice::mos(voice::rating(
        delay,
        0.0,
        1.0,
        voice::Codec::G711.impairment(true),
    ));
    for measure in ["mos", "mos_down"] {
        let scores = samples(&mut simulation, measure);
        assert_eq!(scores.len(), 1, "{measure}");
        assert!((scores[0] - expected).abs() < 1e-6, "{measure}");
    }
}

#[test]
fn a_call_beside_an_overload_suffers_upstream_only() {
    let line = setup(Rate(5_000_000), BacklogLimit::Bytes(250_000));
    let applications = vec![build("[voice]"), build("[cbr]")];
    let mut simulation = line.simulate(applications, 1);
    simulation.run_until(simulation.end());
    // The queue is full, 400 ms, and one packet in six is dropped.
    assert!(samples(&mut simulation, "mos")[0] < 2.5);
    assert!(samples(&mut simulation, "mos_down")[0] > 4.3);
}

#[test]
fn a_ping_measures_both_ways_and_the_packet_twice() {
    let line = setup(Rate(84 * 8 * 1000), BacklogLimit::Unlimited);
    let mut simulation = line.simulate(vec![build("[ping]")], 1);
    simulation.run_until(simulation.end());
    let rtts = samples(&mut simulation, "rtt");
    assert_eq!(rtts.len(), 15);
    assert!(rtts.iter().all(|rtt| (rtt - 42e6).abs() < 1.0), "{rtts:?}");
}

/// The overhead of TCP and IP: a packet of 1500 B carries 1448.
const OVERHEAD: f64 = 1500.0 / 1448.0;

#[test]
fn files_take_the_time_their_bytes_take_and_some_round_trips() {
    let line = setup(Rate(10_000_000), BacklogLimit::Bytes(125_000));
    let text = "[bulk]\nsize = \"1 MB\"\nfiles = 5";
    let mut simulation = line.simulate(vec![build(text)], 1);
    simulation.run_until(simulation.end());
    let times = samples(&mut simulation, "completion_time");
    assert_eq!(times.len(), 5);
    let bits = 8e6 * OVERHEAD / 10e6;
    for time in times.iter().map(|ns| ns / 1e9) {
        // A handshake, and half a dozen round trips of 40 ms until the window fills the line.
        assert!(
            (bits + 0.08..bits + 0.35).contains(&time),
            "{time} s for {bits} s"
        );
    }
}

#[test]
fn a_kept_connection_starts_its_later_files_faster() {
    let total = |text: &str| {
        let line = setup(Rate(10_000_000), BacklogLimit::Bytes(125_000));
        let mut simulation = line.simulate(vec![build(text)], 1);
        simulation.run_until(simulation.end());
        let times = samples(&mut simulation, "completion_time");
        assert_eq!(times.len(), 10);
        times.iter().sum::<f64>()
    };
    let size = "[bulk]\nsize = \"200 kB\"\nfiles = 10\npause = \"10 ms\"";
    assert!(total(&format!("{size}\npersistent = true")) < 0.8 * total(size));
}

/// The load times in seconds.
fn load_times(text: &str, peers: u32) -> Vec<f64> {
    let line = setup(Rate(20_000_000), BacklogLimit::Bytes(125_000));
    let mut simulation = line.simulate(vec![build(text)], peers);
    simulation.run_until(simulation.end());
    let times = samples(&mut simulation, "page_load_time");
    times.iter().map(|ns| ns / 1e9).collect()
}

#[test]
fn the_aqm_study_s_page_fills_the_line_most_of_its_time() {
    let times = load_times("[web]", 4);
    // 7 MB at 20 Mbit/s take 2.9 s. The HTML, which is loaded alone, the losses and the last
    // resources leave some of the line unused, a load after many losses more than others.
    let bits = 56e6 * OVERHEAD / 20e6;
    assert!(times.len() >= 2, "{times:?}");
    assert!(times.iter().all(|&time| time > bits), "{times:?}");
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    assert!(mean < 1.35 * bits, "{times:?}");
}

#[test]
fn a_connection_for_every_image_costs_two_round_trips_each() {
    let page =
        "[web]\nhtml = \"20 KiB\"\npage = \"354780 B\"\nservers = 1\nloads = 2\npause = \"1 s\"";
    let kept = load_times(page, 1);
    let ten = load_times(&format!("{page}\nconnections = 10"), 1);
    let fresh = load_times(&format!("{page}\npersistent = false"), 1);
    for times in [&kept, &ten, &fresh] {
        assert_eq!(times.len(), 2);
    }
    // Six at a time, 100 images take 17 rounds of 40 ms; twice as many with a handshake before each
    // image.
    assert!((0.68..1.0).contains(&kept[0]), "{kept:?}");
    assert!((1.36..1.8).contains(&fresh[0]), "{fresh:?}");
    assert!(ten[0] < 0.75 * kept[0], "{ten:?}");
}

/// The load time of a page over an idle line, loaded once, in seconds.
fn load_time(text: &str, peers: u32) -> f64 {
    load_times(&format!("[web]\nloads = 1\n{text}"), peers)[0]
}

#[test]
fn an_http2_browser_needs_one_slow_start_for_the_whole_page() {
    let page = "html = \"20 KiB\"\npage = \"354780 B\"\nservers = 1\n";
    let http1 = load_time(page, 1);
    for order in ["in_order", "round_robin"] {
        let http2 = load_time(&format!("{page}http2.order = \"{order}\""), 1);
        // A handshake, two round trips for the HTML, and four or five until windows of 30 segments
        // and more have sent 230. The bytes alone take 0.15 s.
        assert!(
            (0.24..0.6 * http1).contains(&http2),
            "{order}: {http2} s, {http1} s"
        );
    }
    // With two streams at a time, the connection is idle most of the time: 50 round trips.
    let narrow = load_time(&format!("{page}http2.streams = 2"), 1);
    assert!((2.0..3.0).contains(&narrow), "{narrow} s");
}

#[test]
fn tls_and_names_cost_their_round_trips_and_no_more() {
    let page = "html = \"1 kB\"\npage = \"1 kB\"\nresources = 0\nservers = 1\n";
    let plain = load_time(page, 2);
    // Round trips of 40 ms. A flight of 4 kB takes three packets of up to 1500 B, 1.7 ms on this
    // line.
    for (option, round_trips, packets) in [
        ("tls = \"tls13\"", 1.0, 4.5e-3),
        ("tls = \"tls12\"", 2.0, 4.5e-3),
        ("dns = {}", 1.0, 0.1e-3),
        ("dns = { time = \"30 ms\" }", 1.75, 0.1e-3),
    ] {
        let cost = load_time(&format!("{page}{option}"), 2) - plain;
        let fewest = round_trips * 0.04;
        assert!(
            (fewest..fewest + packets).contains(&cost),
            "{option}: {cost} s"
        );
    }
}

#[test]
fn a_program_that_writes_in_pieces_is_as_fast() {
    let time = |text: &str| {
        let line = setup(Rate(10_000_000), BacklogLimit::Bytes(125_000));
        let mut simulation = line.simulate(vec![build(text)], 1);
        simulation.run_until(simulation.end());
        samples(&mut simulation, "completion_time")[0] / 1e9
    };
    let file = "[bulk]\nsize = \"8 MiB\"\nfiles = 1";
    let (whole, pieces) = (time(file), time(&format!("{file}\nwrite = \"4 KiB\"")));
    // While the window is open, in the first round trips, segments are short: the difference is
    // their headers.
    assert!(
        (pieces - whole).abs() < 0.05 * whole,
        "{pieces} s, {whole} s"
    );
}

#[test]
fn a_speed_test_shows_slow_start_at_first_and_the_line_later() {
    // Without losses: after a loss, no data arrives in order until the repair.
    let line = Setup {
        duration: Duration::from_secs(30),
        ..setup(Rate(10_000_000), BacklogLimit::Unlimited)
    };
    for direction in [Direction::Up, Direction::Down] {
        let text = "[speed_test]\nlength = \"20 s\"\ntests = 1";
        let mut simulation = line.simulate(vec![build_in(text, direction)], 1);
        simulation.run_until(simulation.end());
        let seen = ["speed_1s", "speed_5s", "speed_20s", "speed"].map(|name| {
            let found = samples(&mut simulation, name);
            assert_eq!(found.len(), 1, "{name}");
            found[0] / (10e6 / OVERHEAD)
        });
        // A handshake and half a round trip, 60 ms, until the first byte; then two windows of ten
        // segments, which do not fill the bandwidth-delay product of 50 kB.
        assert!((0.85..0.94).contains(&seen[0]), "{seen:?}");
        assert!((0.99..1.0).contains(&seen[2]), "{seen:?}");
        assert!(seen[0] < seen[1] && seen[1] < seen[2], "{seen:?}");
        assert_eq!(seen[2].to_bits(), seen[3].to_bits());
    }
}

#[test]
fn a_torrent_keeps_its_cap_on_a_line_that_has_more() {
    let line = setup(Rate(20_000_000), BacklogLimit::Bytes(250_000));
    let text = "[torrent]\nconnections = 20\nrate = \"2 Mbit/s\"";
    let mut simulation = line.simulate(vec![build(text)], 20);
    let (listener, bytes) = Listener::new(0_u64, |bytes: &mut u64, _, event: &TraceEvent| {
        if let TraceEvent::Delivered { packet, .. } = event {
            *bytes += u64::from(packet.payload);
        }
    });
    simulation.add_sink(Box::new(listener));
    simulation.run_until(simulation.end());
    let bytes = *bytes.lock().expect("one run, one thread") as f64;
    // 15 s at the maximum rate, plus the burst; less the first handshake and the bytes in flight at
    // the end.
    let most = 15.0 * 250_000.0 + 65_536.0;
    assert!(
        (most - 150_000.0..=most).contains(&bytes),
        "{bytes} of {most}"
    );
}

#[test]
fn a_video_settles_at_what_the_line_carries_and_does_not_stand_still() {
    let line = Setup {
        duration: Duration::from_secs(900),
        ..setup(Rate(3_000_000), BacklogLimit::Bytes(62_500))
    };
    let watch = |text: &str| {
        let mut simulation = line.simulate(vec![build(text)], 1);
        simulation.run_until(simulation.end());
        // The throughput rule relies on its first segment. It requests the second at a rate that
        // just misses the 4 s in the buffer.
        let stalls: f64 = samples(&mut simulation, "stall").iter().sum();
        assert!(
            stalls < if text == "[streaming]" { 1.0 } else { 0.1e9 },
            "{text}: {stalls}"
        );
        assert!(samples(&mut simulation, "startup_delay")[0] < 1e9, "{text}");
        samples(&mut simulation, "segment_rate")
    };
    let late = |rates: &[f64]| {
        let late = &rates[rates.len() / 2..];
        late.iter().sum::<f64>() / late.len() as f64
    };
    // 2.9 Mbit/s of goodput, less a round trip for each segment. BBA-0 alternates between rates
    // around it.
    let by_buffer = watch("[streaming]");
    assert!(
        (2.35e6..2.9e6).contains(&late(&by_buffer)),
        "{}",
        late(&by_buffer)
    );
    let by_throughput = watch("[streaming]\nrule = \"throughput\"");
    assert!(
        (2.3e6..=2.35e6).contains(&late(&by_throughput)),
        "{}",
        late(&by_throughput)
    );
}

#[test]
fn responsiveness_falls_with_the_queue_that_a_line_keeps() {
    let rpm = |limit| {
        let line = Setup {
            duration: Duration::from_secs(60),
            ..setup(Rate(20_000_000), limit)
        };
        let config: ApplicationConfig =
            toml::from_str("[responsiveness]\ntests = 1").expect("good");
        let both = headend::traffic::Direction::Both;
        let mut simulation = line.simulate(vec![config.build(both).expect("it can")], 1);
        simulation.run_until(simulation.end());
        ["rpm", "rpm_down"].map(|name| {
            let found = samples(&mut simulation, name);
            assert_eq!(found.len(), 1, "{name}");
            found[0]
        })
    };
    // 40 ms of path, and a queue of up to 200 ms, more than half full, or of up to 12 ms. Some of
    // the self probes also wait for a retransmission.
    let (deep, shallow) = (
        rpm(BacklogLimit::Bytes(500_000)),
        rpm(BacklogLimit::Bytes(30_000)),
    );
    for (deep, shallow) in deep.into_iter().zip(shallow) {
        assert!((150.0..430.0).contains(&deep), "{deep}");
        assert!((800.0..1500.0).contains(&shallow), "{shallow}");
    }
}

#[test]
fn isochronous_probes_of_an_idle_line_see_its_delay_and_no_variation() {
    let line = setup(Rate(8_800_000), BacklogLimit::Unlimited);
    let mut simulation = line.simulate(vec![build("[isochronous]")], 1);
    simulation.run_until(simulation.end());
    let rtts = samples(&mut simulation, "rtt");
    assert!((745..=750).contains(&rtts.len()), "{}", rtts.len());
    assert!(
        rtts.iter().all(|rtt| (rtt - 40.16e6).abs() < 2.0),
        "{:?}",
        rtts.first()
    );
    for measure in ["ipdv", "ipdv_down"] {
        let variation = samples(&mut simulation, measure);
        assert!(variation.len() > 740 && variation.iter().all(|change| change.abs() < 0.5));
    }
}

#[test]
fn isochronous_probes_one_way_load_that_way_only_and_have_no_round_trip_time() {
    for (direction, own, other) in [
        (Direction::Up, "ipdv", "ipdv_down"),
        (Direction::Down, "ipdv_down", "ipdv"),
    ] {
        let line = setup(Rate(8_800_000), BacklogLimit::Unlimited);
        let probes = build_in("[isochronous]", direction);
        let mut simulation = line.simulate(vec![probes], 1);
        simulation.run_until(simulation.end());
        assert!(samples(&mut simulation, own).len() > 740);
        assert!(samples(&mut simulation, other).is_empty());
        assert!(samples(&mut simulation, "rtt").is_empty());
    }
}
