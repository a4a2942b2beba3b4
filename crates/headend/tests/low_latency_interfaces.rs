//! The line with aggregates of a classic and a low-latency flow, held against what the tests of the
//! public ns-3 module of low-latency DOCSIS expect: times of single packets, sizes of queues and
//! items, and that all bytes arrive.

mod from_text;

use std::fmt::Write;

use from_text::{Log, Tables, scenario};
use headend::link::docsis::preset::Plant;
use headend::time::{Duration, Instant};
use headend::trace::TraceEvent;

/// The module's "LLD topology": 50 Mb/s up, 200 Mb/s down, four times that as peak rate, 1 ms MAPs.
/// One packet of 1000 IP bytes is sent at 100.001 ms.
const LINE: &str = r#"
duration = "200 ms"

[link.cable.docsis]
preset = "docsis31"
placement = "first"
plant.map_interval = "1 ms"
upstream = { rate = "50 Mbit/s", peak = "200 Mbit/s", burst = "3064 B", low_latency = {} }
downstream = { rate = "200 Mbit/s", peak = "800 Mbit/s", burst = "3064 B", low_latency = {} }

[flow.source]
application.cbr = { gap = "10 s", size = "1000 B", random_phase = false }
direction = "up"
start = "100.001 ms"
rtt = "0 s"
path.jitter = "0 s"
"#;

/// The module sends expedited-forwarding packets through the low-latency queue.
const EXPEDITED: (&str, &str) = ("flow.source.dscp", "46");
/// DSCPs of a packet for the classic queue and of one for the low-latency queue.
const DSCPS: [&str; 2] = ["0", "46"];

/// The events of a run of `text` with some of its values replaced.
fn events(text: &str, seed: u64, overrides: &[(&str, &str)]) -> Log {
    let mut simulation = scenario(text, overrides).build(seed);
    let log = Log::of(&mut simulation);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    log
}

/// The times of delivery, with the delays.
fn delivered(log: &Log) -> Vec<(Instant, Duration)> {
    log.choose(|event| match event {
        TraceEvent::Delivered { delay, .. } => Some(*delay),
        _ => None,
    })
}

/// Times of requests, with the requested bytes and whether they contend.
fn requests(log: &Log) -> Vec<(Instant, (u64, bool))> {
    log.choose(|event| match event {
        TraceEvent::Requested {
            bytes, contention, ..
        } => Some((*bytes, *contention)),
        _ => None,
    })
}

#[track_caller]
fn assert_within_two_micros(found: Instant, expected_ns: u64) {
    assert!(
        found.as_nanos().abs_diff(expected_ns) <= 2_000,
        "{found} instead of {expected_ns} ns"
    );
}

/// The first run whose packet is requested at 100.710 ms. The time of the request in its
/// contention window is an input of the module's tests.
fn requested_at_100_710(overrides: &[(&str, &str)]) -> Log {
    (0..200)
        .map(|seed| events(LINE, seed, overrides))
        .find(|log| requests(log)[0].0.as_nanos() == 100_710_000)
        .expect("frame 746 is within the first window")
}

#[test]
fn a_single_upstream_packet_of_either_flow_is_delivered_at_103_31499_ms() {
    for dscp in DSCPS {
        let log = requested_at_100_710(&[("flow.source.dscp", dscp)]);
        assert_eq!(requests(&log)[0].1, (1028, true));
        let grants = log.choose(|event| match event {
            TraceEvent::Granted { bytes, start, .. } => Some((*bytes, *start)),
            _ => None,
        });
        let [(heard, (bytes, start))] = grants[..] else {
            panic!("one grant: {grants:?}");
        };
        assert_eq!(bytes, 1056, "22 minislots of 48 B, 28 B of them unused");
        assert_within_two_micros(heard, 102_247_500);
        assert_within_two_micros(start, 103_005_000);
        assert_within_two_micros(delivered(&log)[0].0, 103_314_990);
    }
}

/// The module's "link topology".
const LINK: [(&str, &str); 3] = [
    ("link.cable.docsis.plant.map_interval", "2 ms"),
    ("link.cable.docsis.upstream.peak", "100 Mbit/s"),
    ("link.cable.docsis.upstream.burst", "625000 B"),
];

#[test]
fn with_maps_of_2_ms_it_is_delivered_at_103_720_ms() {
    let granted = |log: &Log| {
        let grants = log.choose(|event| match event {
            TraceEvent::Granted { start, .. } => Some(start.as_nanos()),
            _ => None,
        });
        let [(heard, start)] = grants[..] else {
            panic!("one grant: {grants:?}");
        };
        (heard, start)
    };
    for dscp in DSCPS {
        // Two draws are inputs of the module's test: the frame of the request in its window, and
        // that of the grant in its MAP, the second one.
        let given = [
            ("flow.source.dscp", dscp),
            ("link.cable.docsis.placement", "random"),
        ];
        let overrides = [&given[..], &LINK].concat();
        let log = (0..2000)
            .map(|seed| events(LINE, seed, &overrides))
            .find(|log| {
                let start = granted(log).1;
                requests(log)[0].0.as_nanos() == 100_710_000 && start.abs_diff(103_410_000) <= 2000
            })
            .expect("one frame of 15 in each of two draws");
        assert_within_two_micros(granted(&log).0, 102_517_500);
        assert_within_two_micros(delivered(&log)[0].0, 103_720_000);
    }
}

#[test]
fn a_single_downstream_packet_of_either_flow_is_delivered_at_100_165_ms() {
    for dscp in DSCPS {
        let overrides = [
            ("flow.source.dscp", dscp),
            ("flow.source.direction", "down"),
        ];
        let log = events(LINE, 1, &overrides);
        assert_within_two_micros(delivered(&log)[0].0, 100_165_000);
    }
}

#[test]
fn items_have_the_sizes_of_the_module_in_both_queues() {
    // A request counts units of 4 B.
    let requested = |bytes: u64| bytes.next_multiple_of(4);
    for dscp in DSCPS {
        for (size, expected) in [
            ("1500 B", 1528),
            ("1300 B", 1328),
            ("82 B", 110),
            ("40 B", 74),
            ("29 B", 74),
        ] {
            let overrides = [
                ("flow.source.dscp", dscp),
                ("flow.source.application.cbr.size", size),
            ];
            let log = events(LINE, 1, &overrides);
            assert_eq!(requests(&log)[0].1.0, requested(expected), "{size}");
        }
    }
}

/// The limits of the queues `cable.up` and `cable.up_low_latency`, in bytes.
fn limits(overrides: &[(&str, &str)]) -> [u64; 2] {
    let tables = Tables::finish(scenario(LINE, overrides).build(1));
    let limits = tables.floats("queues", "limit_bytes");
    ["cable.up", "cable.up_low_latency"].map(|name| {
        let names = tables.texts("queues", "queue");
        limits[names.iter().position(|one| one == name).expect("a queue")] as u64
    })
}

#[test]
fn the_sizes_of_the_queues_are_those_of_the_module() {
    let classic = "link.cable.docsis.upstream.queue.docsis_pie.limit";
    let low = "link.cable.docsis.upstream.low_latency.limit";
    let rate = "link.cable.docsis.upstream.rate";
    assert_eq!(limits(&[]), [625_000, 62_500]);
    let written = [(classic, "400000 B"), (low, "5000 B")];
    assert_eq!(limits(&written), [400_000, 5_000]);
    let slow = [(classic, "400000 B"), (rate, "1 kbit/s")];
    assert_eq!(limits(&slow), [400_000, 40_000]);
}

/// Two flows that each send `packets` packets of 1000 IP bytes every 329 us, one through each
/// queue. Checks that all arrive, and that the last ones take less than 10 ms.
#[track_caller]
fn assert_all_arrive_soon(packets: u64, overrides: &[(&str, &str)]) {
    let text = LINE.replace("[flow.source]", "[flow.expedited]");
    let (head, flow) = text.split_once("[flow.expedited]").expect("it is there");
    let text = format!("{head}[flow.source]{flow}[flow.expedited]{flow}");
    let stop = format!("{} us", 100_001 + (packets - 1) * 329 + 100);
    let duration = format!("{} us", 150_001 + packets * 329);
    let mut all = vec![
        ("duration", duration.as_str()),
        ("flow.expedited.dscp", "46"),
        ("flow.source.application.cbr.gap", "329 us"),
        ("flow.expedited.application.cbr.gap", "329 us"),
        ("flow.source.stop", &stop),
        ("flow.expedited.stop", &stop),
    ];
    all.extend_from_slice(&LINK);
    all.extend_from_slice(overrides);
    let log = events(&text, 1, &all);
    let delivered = delivered(&log);
    assert_eq!(
        delivered.len() as u64,
        2 * packets,
        "{packets} {overrides:?}"
    );
    for (at, delay) in &delivered[delivered.len() - 2..] {
        let most = Duration::from_millis(10);
        assert!(*delay < most, "{packets} {overrides:?}: {delay} at {at}");
    }
}

const PROTECTION: &str = "link.cable.docsis.upstream.low_latency.queue_protection";
const WEIGHT: &str = "link.cable.docsis.upstream.low_latency.weight";
const PROACTIVE: &str = "link.cable.docsis.upstream.low_latency.scheduling";

#[test]
fn all_bytes_of_two_flows_at_almost_the_whole_rate_arrive_soon() {
    for packets in [1, 10, 100, 1000, 5000, 10_000, 30_000] {
        assert_all_arrive_soon(packets, &[(PROTECTION, "false")]);
    }
    for packets in [1, 10, 100, 1000, 5000] {
        assert_all_arrive_soon(packets, &[]);
    }
}

#[test]
fn all_bytes_of_two_flows_arrive_soon_also_with_proactive_grants() {
    for (rate, interval, weight) in [
        ("5.68 Mbit/s", "135 us", "230"),
        ("5.68 Mbit/s", "270 us", "230"),
        ("5.68 Mbit/s", "1000 us", "230"),
        ("49.8 Mbit/s", "135 us", "255"),
    ] {
        let grants = format!("{{ pgs = {{ rate = '{rate}', interval = '{interval}' }} }}");
        let overrides = [
            (PROACTIVE, grants.as_str()),
            (WEIGHT, weight),
            (PROTECTION, "false"),
        ];
        assert_all_arrive_soon(10_000, &overrides);
    }
}

/// Packets of a replay: every 1 to 2.5 ms one of 46 to 1500 IP bytes. Sizes are random, or rise by
/// `step`.
fn packets(count: usize, step: Option<u64>) -> String {
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state =
            (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut text, mut at) = (String::new(), 0);
    for number in 0..count as u64 {
        let size = 46 + step.map_or_else(|| random(1455), |step| number * step % 1455);
        write!(text, "{at} {size}, ").expect("a string grows");
        at += 1_000_000 + random(1_500_001);
    }
    text.trim_end_matches(", ").to_owned()
}

/// Sends packets through one of the two queues or through both, and checks that what was sent was
/// delivered or dropped.
#[track_caller]
fn assert_conserved(direction: &str, dscps: &[&str], packets: &str, count: usize) {
    let (head, _) = LINE.split_once("[flow.source]").expect("it is there");
    let mut text = head.to_owned();
    for dscp in dscps {
        writeln!(
            text,
            "[flow.dscp{dscp}]\napplication.replay.{direction} = \"{packets}\"\n\
             direction = \"{direction}\"\ndscp = {dscp}\nrtt = \"0 s\"\npath.jitter = \"0 s\""
        )
        .expect("a string grows");
    }
    let log = events(&text, 1, &[("duration", "30 s")]);
    let bytes = |choose: fn(&TraceEvent) -> Option<u64>| {
        let sizes = log.choose(choose);
        (sizes.len(), sizes.iter().map(|(_, size)| size).sum::<u64>())
    };
    let sent = bytes(|event| match event {
        TraceEvent::Sent { packet, .. } => Some(u64::from(packet.size)),
        _ => None,
    });
    let arrived = bytes(|event| match event {
        TraceEvent::Delivered { packet, .. } => Some(u64::from(packet.size)),
        _ => None,
    });
    let dropped = bytes(|event| match event {
        TraceEvent::Discarded { packet, .. } => Some(u64::from(packet.size)),
        _ => None,
    });
    assert_eq!(sent.0, dscps.len() * count);
    assert_eq!(sent, (arrived.0 + dropped.0, arrived.1 + dropped.1));
}

#[test]
fn all_bytes_arrive_whatever_the_sizes() {
    for direction in ["up", "down"] {
        for dscps in [&DSCPS[..1], &DSCPS[1..], &DSCPS] {
            for step in [None, Some(1)] {
                assert_conserved(direction, dscps, &packets(5_000, step), 5_000);
            }
            assert_conserved(direction, dscps, "0 1478, 0 128", 2);
        }
    }
    assert_conserved("up", &DSCPS, &packets(10_000, None), 10_000);
}

#[test]
fn minislots_are_counted_as_in_the_module() {
    let timing = Plant::docsis31().upstream_timing();
    let minislots = |micros: u64| {
        let frames = Duration::from_micros(micros).as_nanos() / timing.frame.as_nanos();
        (frames * timing.minislots_per_frame) as u32
    };
    for (micros, expected) in [
        (0, 0),
        (134, 0),
        (135, 235),
        (136, 235),
        (2_467_321_560, 4_294_967_160),
        (2_467_321_695, 99),
    ] {
        assert_eq!(minislots(micros), expected, "{micros}");
    }
}

#[test]
fn packets_arrive_alike_beyond_the_time_at_which_32_bits_of_minislots_are_counted() {
    // 135 us are 235 minislots of the module, so that 2^32 of them are over after 2467.3 s.
    for dscp in DSCPS {
        let overrides = [
            ("flow.source.dscp", dscp),
            ("duration", "2475 s"),
            ("results.interval", "100 s"),
            ("flow.source.start", "2460 s"),
            ("flow.source.application.cbr.gap", "500 ms"),
        ];
        let log = events(LINE, 1, &overrides);
        let delivered = delivered(&log);
        assert_eq!(delivered.len(), 30);
        for (at, delay) in delivered {
            // A request waits for a frame of its window, and a grant takes up to two MAPs more.
            assert!(delay < Duration::from_millis(8), "{delay} at {at}");
        }
    }
}

#[test]
fn sources_send_the_number_of_packets_of_the_module() {
    for (rate, size, expected) in [("1 Mbit/s", "1000 B", 125), ("800 kbit/s", "200 B", 500)] {
        let overrides = [
            EXPEDITED,
            ("duration", "1.2 s"),
            ("flow.source.start", "0 s"),
            ("flow.source.stop", "1 s"),
            ("flow.source.application", "cbr"),
            ("flow.source.application.cbr.random_phase", "false"),
            ("flow.source.application.cbr.rate", rate),
            ("flow.source.application.cbr.size", size),
        ];
        assert_eq!(delivered(&events(LINE, 1, &overrides)).len(), expected);
    }
}

/// The module's point-to-point mode: 1018 B with Ethernet framing take 163 us at 50 Mb/s, the
/// propagation 40 us, and a frame 135 us. A plain link counts IP bytes, so the packet here has the
/// bytes of the frame.
#[test]
fn in_point_to_point_mode_packets_take_338_microseconds() {
    let text = r#"
duration = "200 ms"
[link.line.point_to_point]
up = { rate = "50 Mbit/s", delay = "175 us" }
down = { rate = "50 Mbit/s", delay = "175 us" }
[flow.source]
application.cbr = { gap = "200 us", size = "1018 B", random_phase = false }
direction = "up"
start = "100.001 ms"
stop = "101.9 ms"
rtt = "0 s"
path.jitter = "0 s"
"#;
    let delivered = delivered(&events(text, 1, &[]));
    assert_eq!(delivered.len(), 10);
    assert_within_two_micros(delivered[0].0, 100_339_000);
    assert_within_two_micros(delivered[9].0, 101_801_000 + 337_880);
}
