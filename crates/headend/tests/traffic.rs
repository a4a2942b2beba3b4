//! Applications on a real line: what they send does not depend on what becomes of it, and what they measure is what the line does.

mod one_link;

use headend::metrics::table::Column;
use headend::metrics::voice;
use headend::packet::Side;
use headend::qdisc::BacklogLimit;
use headend::simulation::Simulation;
use headend::time::{Duration, Instant};
use headend::trace::TraceEvent;
use headend::traffic::{Application, ApplicationConfig};
use headend::units::Rate;
use one_link::{Listener, Setup};

fn build(text: &str) -> Box<dyn Application> {
    let config: ApplicationConfig = toml::from_str(text).expect("a good application");
    assert_eq!(config.check(), Ok(()));
    let direction = config.default_direction();
    config.build(direction).expect("its own direction")
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

/// When, by whom and how large everything was sent, and how much of it was dropped.
fn sent(limit: BacklogLimit) -> (Vec<Sent>, usize) {
    let applications = [
        "[cbr]\nrandom_phase = true",
        "[poisson]\nsizes = \"exponential\"",
        "[voice]",
        "[game]",
    ];
    let applications = applications.map(build).into();
    // 12.2 Mbit/s on the mean.
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
    // 20 ms of path, 40 ms of buffer, 20 ms of packet, and the time to send 200 B.
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
    // A full queue of 400 ms, and one packet in six dropped.
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

/// What TCP and IP add to a byte: 1500 B carry 1448.
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
        // A handshake and half a dozen round trips of 40 ms until the window fills the line.
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

/// Load times in seconds.
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
    // 7 MB at 20 Mbit/s take 2.9 s; the HTML, which comes alone, leaves some of the line unused, and so do losses and the last resources.
    let bits = 56e6 * OVERHEAD / 20e6;
    assert!(times.len() >= 2, "{times:?}");
    assert!(
        times.iter().all(|time| (bits..1.35 * bits).contains(time)),
        "{times:?}"
    );
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
    // Six at a time: 100 images are 17 rounds of 40 ms, twice as many with a handshake before each.
    assert!((0.68..1.0).contains(&kept[0]), "{kept:?}");
    assert!((1.36..1.8).contains(&fresh[0]), "{fresh:?}");
    assert!(ten[0] < 0.75 * kept[0], "{ten:?}");
}
