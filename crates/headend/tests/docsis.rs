//! The whole cable line, tested against the worked timings of the public ns-3 module's tests and
//! the limits of RFC 8034 §3.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use headend::scenario::{Format, Scenario};
use headend::simulation::Simulation;
use headend::time::Instant;
use headend::trace::{DropReason, Sink, TraceEvent};

type Events = Vec<(Instant, TraceEvent)>;

struct Recording(Arc<Mutex<Events>>);

impl Sink for Recording {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        self.0.lock().expect("one thread").push((at, *event));
    }
}

/// The one-packet test of the ns-3 module: defaults, 1 ms MAPs, one packet of 1000 IP bytes at
/// 100.001 ms, and no wide-area delay.
const WORKED_EXAMPLE: &str = r#"
duration = "200 ms"

[link.cable.docsis]
preset = "docsis31"
placement = "first"
plant.map_interval = "1 ms"
upstream = { rate = "50 Mbit/s", peak = "100 Mbit/s", burst = "1 MiB", queue = "none" }
downstream = { rate = "50 Mbit/s", peak = "100 Mbit/s", burst = "1 MiB", queue = "none" }

[flow.source]
application.cbr = { gap = "10 s", size = "1000 B", random_phase = false }
start = "100.001 ms"
rtt = "0 s"
path.jitter = "0 s"
"#;

/// Runs the worked example with some of its values replaced.
fn run(seed: u64, overrides: &[(&str, &str)]) -> (Simulation, Events) {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::parse(WORKED_EXAMPLE, Format::Toml, &overrides, &BTreeMap::new())
        .expect("the overrides fit");
    let events = Arc::default();
    let mut simulation = scenario.build(seed);
    simulation.add_sink(Box::new(Recording(Arc::clone(&events))));
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    drop(simulation.tables());
    let events = std::mem::take(&mut *events.lock().expect("one thread"));
    (simulation, events)
}

fn delivered(events: &[(Instant, TraceEvent)]) -> Vec<Instant> {
    let is_delivered = |event: &TraceEvent| matches!(event, TraceEvent::Delivered { .. });
    events
        .iter()
        .filter(|(_, event)| is_delivered(event))
        .map(|(at, _)| *at)
        .collect()
}

#[track_caller]
fn assert_within_two_micros(found: Instant, expected_ns: u64) {
    assert!(
        found.as_nanos().abs_diff(expected_ns) <= 2_000,
        "{found} instead of {expected_ns} ns"
    );
}

#[test]
fn the_worked_upstream_packet_is_requested_granted_and_delivered_when_the_fact_sheet_says() {
    // The backoff is an input of the worked example: its request is sent at 100.710 ms. The test
    // uses the first seed with this draw.
    let requested_at = |events: &Events| {
        let request = events.iter().find_map(|(at, event)| match event {
            TraceEvent::Requested {
                bytes: 1028,
                contention: true,
                ..
            } => Some(at.as_nanos()),
            _ => None,
        });
        request.expect("a lone packet contends for 1028 B")
    };
    let events = (0..100)
        .map(|seed| run(seed, &[]).1)
        .find(|events| requested_at(events) == 100_710_000)
        .expect("frame 746 is within the first window");
    let (heard, bytes, start) = events
        .iter()
        .find_map(|(at, event)| match event {
            TraceEvent::Granted { bytes, start, .. } => Some((*at, *bytes, *start)),
            _ => None,
        })
        .expect("the request is answered");
    assert_eq!(bytes, 1056, "22 minislots of 48 B");
    assert_within_two_micros(heard, 102_247_500);
    assert_within_two_micros(start, 103_005_000);
    assert_within_two_micros(delivered(&events)[0], 103_314_990);
}

#[test]
fn the_worked_downstream_packet_is_delivered_when_the_fact_sheet_says() {
    let (_, events) = run(1, &[("flow.source.direction", "down")]);
    assert_within_two_micros(delivered(&events)[0], 100_165_000);
}

#[test]
fn an_idle_line_costs_no_events() {
    let (simulation, _) = run(
        1,
        &[
            ("duration", "60 s"),
            ("results.interval", "100 ms"),
            ("flow.source.application.cbr.gap", "100 s"),
        ],
    );
    // 600 intervals of the series, and the events of the packet: start, first tick, contention,
    // MAP, burst, delivery, the next tick.
    assert!(
        simulation.events() < 600 + 20,
        "{} events",
        simulation.events()
    );
}

#[test]
fn a_saturated_upstream_carries_its_sustained_rate_in_every_combination() {
    for preset in ["docsis30", "docsis31"] {
        for dequeue_at in ["map", "burst", "request"] {
            for (rate, size) in [(1_000_000, 1500), (10_000_000, 300), (50_000_000, 1500)] {
                let bits = (f64::from(size) + 18.0) * 8.0;
                let rate_text = format!("{rate} bit/s");
                let gap = format!("{} ns", (bits / f64::from(rate) / 1.2 * 1e9) as u64);
                let (_, events) = run(
                    1,
                    &[
                        ("duration", "10 s"),
                        ("link.cable.docsis.preset", preset),
                        ("link.cable.docsis.placement", "random"),
                        ("link.cable.docsis.plant.map_interval", "2 ms"),
                        ("link.cable.docsis.upstream.rate", &rate_text),
                        ("link.cable.docsis.upstream.peak", &rate_text),
                        ("link.cable.docsis.upstream.burst", "3044 B"),
                        ("link.cable.docsis.upstream.dequeue_at", dequeue_at),
                        ("flow.source.start", "0 s"),
                        ("flow.source.application.cbr.gap", &gap),
                        ("flow.source.application.cbr.size", &format!("{size} B")),
                    ],
                );
                let share = delivered(&events).len() as f64 * bits / (f64::from(rate) * 10.0);
                assert!(
                    (0.99..=1.002).contains(&share),
                    "{preset} {dequeue_at} {rate} {size}: {share}"
                );
            }
        }
    }
}

#[test]
fn everything_that_waits_is_delivered_in_the_end() {
    for dequeue_at in ["map", "burst", "request"] {
        let source = "{ gap = '800 us', size = '400 B', sizes = 'exponential' }";
        let (simulation, events) = run(
            1,
            &[
                ("duration", "20 s"),
                ("link.cable.docsis.placement", "random"),
                ("link.cable.docsis.upstream.rate", "2 Mbit/s"),
                ("link.cable.docsis.upstream.peak", "3 Mbit/s"),
                ("link.cable.docsis.upstream.burst", "3044 B"),
                ("link.cable.docsis.upstream.dequeue_at", dequeue_at),
                ("flow.source.start", "0 s"),
                ("flow.source.stop", "5 s"),
                (
                    "flow.source.application",
                    &format!("{{ poisson = {source} }}"),
                ),
            ],
        );
        let is_sent = |event: &TraceEvent| matches!(event, TraceEvent::Sent { .. });
        let sent = events.iter().filter(|(_, event)| is_sent(event)).count();
        assert!(sent > 5000, "{sent}");
        assert_eq!(delivered(&events).len(), sent);
        assert_eq!(simulation.now(), Instant::from_nanos(20_000_000_000));
    }
}

#[test]
fn request_and_grant_add_four_to_eight_milliseconds() {
    // RFC 8034 §4.2. The packets are sparse, so that each has its own request. The MAPs are those
    // of the paper, 2 ms.
    let (_, events) = run(
        1,
        &[
            ("duration", "60 s"),
            ("link.cable.docsis.placement", "random"),
            ("link.cable.docsis.plant.map_interval", "2 ms"),
            ("flow.source.start", "0 s"),
            ("flow.source.application.cbr.gap", "20123 us"),
            ("flow.source.application.cbr.size", "200 B"),
        ],
    );
    let mut delays: Vec<f64> = events
        .iter()
        .filter_map(|(_, event)| match event {
            TraceEvent::Delivered { delay, .. } => Some(delay.as_secs_f64() * 1e3),
            _ => None,
        })
        .collect();
    delays.sort_by(f64::total_cmp);
    let quantile = |q: f64| delays[(q * (delays.len() - 1) as f64) as usize];
    let (low, mid, high) = (quantile(0.05), quantile(0.5), quantile(0.95));
    assert!(
        low > 2.5 && mid > 4.0 && mid < 8.0 && high < 9.0,
        "{low} {mid} {high} ms"
    );
}

/// A laboratory line of 2004 without a wide-area path.
fn of_2004(overrides: &[(&str, &str)]) -> Events {
    let mut all = vec![
        ("duration", "20 s"),
        ("link.cable.docsis.preset", "docsis10"),
        ("link.cable.docsis.placement", "random"),
        ("link.cable.docsis.plant.map_interval", "2 ms"),
        ("flow.source.start", "0 s"),
    ];
    all.extend_from_slice(overrides);
    run(1, &all).1
}

#[test]
fn a_modem_of_2004_sends_a_packet_in_two_map_intervals_whatever_its_rate() {
    for rate in ["6 Mbit/s", "50 Mbit/s"] {
        let events = of_2004(&[
            ("link.cable.docsis.upstream.rate", rate),
            ("link.cable.docsis.upstream.peak", "100 Mbit/s"),
            ("flow.source.application.cbr.gap", "1 ms"),
            ("flow.source.application.cbr.size", "1500 B"),
        ]);
        // 250 packets a second of 1500 B: 3.0 Mbit/s.
        let mbits = delivered(&events).len() as f64 * 1500.0 * 8.0 / 20.0 / 1e6;
        assert!((2.95..=3.0).contains(&mbits), "{rate}: {mbits}");
    }
}

#[test]
fn a_modem_of_2004_adds_most_of_the_idle_round_trip_that_was_measured() {
    let mean = |direction| {
        let events = of_2004(&[
            ("flow.source.direction", direction),
            ("flow.source.application.cbr.gap", "50.123 ms"),
            ("flow.source.application.cbr.size", "84 B"),
        ]);
        let delays = events.iter().filter_map(|(_, event)| match event {
            TraceEvent::Delivered { delay, .. } => Some(delay.as_secs_f64() * 1e3),
            _ => None,
        });
        let delays: Vec<f64> = delays.collect();
        delays.iter().sum::<f64>() / delays.len() as f64
    };
    // The measurement gave 13 ms. It includes hosts, switches and the forwarding of the CMTS, which
    // are not modelled here.
    let (up, down) = (mean("up"), mean("down"));
    assert!(up + down > 6.5 && up + down < 13.0, "{up} + {down} ms");
}

#[test]
fn a_modem_filters_the_acknowledgements_of_a_download_if_configured() {
    let thinned = |mode: &str| {
        let (_, events) = run(
            1,
            &[
                ("duration", "5 s"),
                ("link.cable.docsis.upstream.ack_acceleration", mode),
                ("link.cable.docsis.upstream.rate", "300 kbit/s"),
                ("link.cable.docsis.upstream.burst", "3044 B"),
                ("flow.source.application", "bulk"),
                ("flow.source.direction", "down"),
                ("flow.source.rtt", "20 ms"),
            ],
        );
        let mut counts = (0, 0);
        for (_, event) in &events {
            match event {
                TraceEvent::Discarded {
                    reason: DropReason::AckThinned,
                    ..
                } => counts.0 += 1,
                TraceEvent::Delivered { packet, .. } if packet.payload > 0 => counts.1 += 1,
                _ => {}
            }
        }
        counts
    };
    let [(none, off), (still_none, _), (many, on)] = ["off", "apart", "thinned"].map(thinned);
    assert_eq!((none, still_none), (0, 0));
    assert!(
        many > 100 && on > off,
        "{many} thinned, {off} {on} delivered"
    );
}
