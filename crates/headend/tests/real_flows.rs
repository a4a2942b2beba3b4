//! Real hosts in virtual time: flows open from real headers and are closed when they are idle or
//! over, queues see real headers, and the passive meter measures real connections.

mod from_text;
mod real_frames;

use std::net::IpAddr;

use from_text::{Tables, scenario};
use headend::clock::RealHostId;
use headend::packet::Ecn;
use headend::simulation::{Progress, Simulation};
use headend::time::Instant;
use headend::wire::real;
use real_frames::{ACK, FIN, Noting, RST, SYN, Sent, Shape, TCP, UDP, virtually};

const LINE: &str = r#"
duration = "20 s"

[host]
laptop = { via = ["line"], real = true }
server = { rtt = "20 ms", real = true }

[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "10 Mbit/s"
"#;

const LAPTOP: RealHostId = RealHostId(0);
const SERVER: RealHostId = RealHostId(1);

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn build(text: &str) -> (Simulation, [IpAddr; 2], [IpAddr; 2]) {
    let scenario = scenario(text, &[]);
    let hosts = scenario.real_hosts();
    let v4 = [0, 1].map(|host| IpAddr::V4(hosts[host].ipv4));
    let v6 = [0, 1].map(|host| IpAddr::V6(hosts[host].ipv6));
    (scenario.build(1), v4, v6)
}

fn up([laptop, server]: [IpAddr; 2], protocol: u8) -> Shape {
    Shape::new(&laptop.to_string(), &server.to_string(), protocol)
}

type Departed = Vec<(Instant, RealHostId, Vec<u8>)>;

fn run(mut simulation: Simulation, mut sent: Vec<Sent>) -> (Simulation, Tables, Departed) {
    sent.sort_by_key(|sent| sent.0);
    let mut clock = Noting::new(virtually(sent));
    let progress = simulation.run_with(&mut clock);
    assert_eq!(progress.expect("it does not fail"), Progress::Over);
    let tables = Tables(simulation.tables());
    (simulation, tables, clock.departed)
}

#[test]
fn a_connection_is_one_row_with_its_round_trips_goodput_and_retransmissions() {
    let (simulation, addresses, _) = build(LINE);
    let mut there = up(addresses, TCP);
    let mut back = there.back();
    let mut sent: Vec<Sent> = Vec::new();
    let mut say = |at, from, shape: &Shape| sent.push((ms(at), from, shape.bytes(0)));
    let base = u32::MAX - 1500;
    let seq = |offset: u32| base.wrapping_add(offset);
    there.segment = (base, 0, SYN);
    say(0, LAPTOP, &there);
    back.segment = (7, seq(1), SYN | ACK);
    say(30, SERVER, &back);
    there.segment = (seq(1), 8, ACK);
    say(60, LAPTOP, &there);
    there.payload = 1000;
    for (at, offset) in [(61, 1), (63, 1001), (65, 2001), (300, 1001)] {
        there.segment = (seq(offset), 8, ACK);
        say(at, LAPTOP, &there);
    }
    back.segment = (8, seq(1001), ACK);
    say(90, SERVER, &back);
    back.segment = (8, seq(3001), ACK);
    say(330, SERVER, &back);
    there.payload = 0;
    there.segment = (seq(3001), 8, FIN | ACK);
    say(400, LAPTOP, &there);
    back.segment = (8, seq(3002), FIN | ACK);
    say(430, SERVER, &back);
    there.segment = (seq(3002), 9, ACK);
    say(460, LAPTOP, &there);
    let (_, tables, departed) = run(simulation, sent);
    assert_eq!(departed.len(), 12);
    let of = |column| tables.integers("real_flows", column).to_vec();
    assert_eq!(of("packets_up"), [8]);
    assert_eq!(of("packets_down"), [4]);
    assert_eq!(of("goodput_bytes_up"), [3000]);
    assert_eq!(of("retransmitted_up"), [1]);
    assert_eq!(of("host_port"), [40_000]);
    assert_eq!(of("last_ns"), [460_000_000]);
    assert_eq!(tables.texts("real_flows", "protocol"), ["tcp"]);
    let address = addresses[1].to_string();
    assert_eq!(tables.texts("real_flows", "peer_address"), [address]);
    let rtt = |column| tables.floats("real_flows", column)[0] / 1e6;
    assert!(
        (39.0..39.2).contains(&rtt("rtt_min_ns")),
        "{rtt:?}",
        rtt = rtt("rtt_min_ns")
    );
    assert!(
        (40.0..40.2).contains(&rtt("rtt_max_ns")),
        "{rtt:?}",
        rtt = rtt("rtt_max_ns")
    );
    let samples = tables.texts("samples", "measure");
    assert!(samples.len() >= 3 && samples.iter().all(|name| name == "rtt"));
}

/// The transport that both rows of the laptop's flow name after frames of `protocols`.
#[track_caller]
fn transport(protocols: &[u8]) -> String {
    let (simulation, addresses, _) = build(LINE);
    let sent = (1..).zip(protocols).map(|(at, &protocol)| {
        let mut shape = up(addresses, protocol);
        shape.payload = 100;
        (ms(at), LAPTOP, shape.bytes(0))
    });
    let (_, tables, _) = run(simulation, sent.collect());
    let named = tables.texts("flows", "transport");
    assert!(named.iter().all(|other| *other == named[0]), "{named:?}");
    named[0].clone()
}

#[test]
fn the_transport_of_a_real_hosts_flow_is_what_its_frames_have() {
    const GRE: u8 = 47;
    assert_eq!(transport(&[TCP, TCP]), "tcp");
    assert_eq!(transport(&[UDP, UDP]), "udp");
    assert_eq!(transport(&[GRE]), "other");
    assert_eq!(transport(&[UDP, TCP]), "mixed");
    assert_eq!(transport(&[]), "");
}

#[test]
fn a_flow_of_datagrams_has_no_round_trip_and_goodput_of_what_arrived() {
    let (simulation, _, addresses) = build(LINE);
    let mut shape = up(addresses, UDP);
    shape.payload = 500;
    shape.dscp = 34;
    let sent = (0..10).map(|n| (ms(10 * n), LAPTOP, shape.bytes(n as u32)));
    let (simulation, tables, departed) = run(simulation, sent.collect());
    assert_eq!(simulation.frames_ended().delivered, 10);
    assert!(departed.iter().all(|(_, to, bytes)| {
        let header = real::read(bytes).expect("a frame");
        *to == SERVER && header.dscp == 34 && header.addresses == addresses
    }));
    assert_eq!(tables.integers("real_flows", "goodput_bytes_up"), [5000]);
    assert_eq!(tables.integers("real_flows", "dscp"), [34]);
    assert!(tables.floats("real_flows", "rtt_mean_ns")[0].is_nan());
}

#[test]
fn thousands_of_short_flows_leave_nothing_behind() {
    let text = format!(
        "{LINE}\n[flow.laptop]\nhost = \"laptop\"\n\
         application = {{ real = {{ idle = \"200 ms\", closed = \"100 ms\" }} }}"
    );
    let (mut simulation, [_, addresses]) = {
        let (simulation, v4, v6) = build(&text);
        (simulation, [v4, v6])
    };
    // Addresses of the outside that never come back, two protocols, several DSCPs.
    let mut sent = Vec::new();
    for n in 0..5000_u64 {
        let mut shape = up(addresses, if n % 3 == 0 { UDP } else { TCP });
        shape.to = format!("2001:db8::{:x}", n + 1)
            .parse()
            .expect("an address");
        shape.dscp = (n % 4) as u8 * 8;
        shape.payload = 40;
        shape.segment = (1, 0, if n % 5 == 0 { RST } else { ACK });
        sent.push((ms(2 * n), LAPTOP, shape.bytes(n as u32)));
        shape.dscp = 0;
        sent.push((ms(2 * n + 1), LAPTOP, shape.bytes(n as u32)));
    }
    let mut rows = 0;
    let mut clock = Noting::new(virtually(sent));
    assert_eq!(
        simulation.run_with(&mut clock).expect("it does not fail"),
        Progress::Over
    );
    for (name, table) in simulation.take_rows() {
        if name == "real_flows" {
            rows = table.rows();
        }
    }
    assert_eq!(rows, 5000, "all are closed");
    let (slots, addresses, flows) = simulation.flows_kept();
    assert!(slots <= 600, "{slots} slots");
    assert!(addresses <= 300, "{addresses} addresses");
    assert!(flows <= 600, "{flows} real flows");
    let tables = Tables(simulation.tables());
    assert!(tables.integers("real_flows", "number").is_empty());
}

#[test]
fn a_scan_of_ports_closes_the_flows_that_were_opened_first() {
    let (simulation, addresses, _) = build(LINE);
    let mut shape = up(addresses, UDP);
    let sent = (0..70_000_u32).map(|n| {
        shape.ports = [(n >> 16) as u16, n as u16];
        (ms(u64::from(n) / 10), LAPTOP, shape.bytes(n))
    });
    let (simulation, tables, _) = run(simulation, sent.collect());
    let numbers = tables.integers("real_flows", "number");
    assert!(numbers.iter().copied().eq(0..70_000), "a row for each flow");
    let (slots, _, flows) = simulation.flows_kept();
    let most = (1 << 16) + 2000;
    assert!(slots < most && flows < most, "{slots} slots, {flows} flows");
}

#[test]
fn a_connection_opens_anew_on_the_same_ports() {
    let (simulation, addresses, _) = build(LINE);
    let mut shape = up(addresses, TCP);
    let mut sent = Vec::new();
    for (at, flags) in [(0, SYN), (50, RST), (100, SYN), (150, ACK)] {
        shape.segment = (at as u32, 0, flags);
        sent.push((ms(at), LAPTOP, shape.bytes(0)));
    }
    let (_, tables, _) = run(simulation, sent);
    assert_eq!(tables.integers("real_flows", "number"), [0, 1]);
    assert_eq!(tables.integers("real_flows", "packets_up"), [2, 2]);
}

#[test]
fn frames_for_nobody_are_strays_and_those_for_everybody_are_not_counted() {
    let text = LINE.replace(
        "server =",
        "shop = { rtt = \"30 ms\", real = true }\nserver =",
    );
    let (simulation, addresses, v6) = build(&text);
    let to = |addresses, to: &str| {
        let mut shape = up(addresses, UDP);
        shape.to = to.parse().expect("an address");
        shape.payload = 10;
        shape.bytes(0)
    };
    let sent = vec![
        (ms(1), LAPTOP, to(addresses, "203.0.113.9")),
        (ms(2), LAPTOP, to(addresses, "224.0.0.251")),
        (ms(3), LAPTOP, to(v6, "ff02::2")),
        (ms(4), LAPTOP, vec![0; 40]),
        (ms(5), SERVER, to(addresses, "203.0.113.9")),
    ];
    let (simulation, _, departed) = run(simulation, sent);
    let told = simulation.frames_ended();
    assert_eq!((told.strays, told.entered, departed.len()), (3, 0, 0));
}

#[test]
fn frames_with_damaged_transport_headers_cross_the_line() {
    let (simulation, v4, v6) = build(LINE);
    let damaged = |addresses, protocol, length: usize| {
        let mut shape = up(addresses, protocol);
        // A transport header is written for TCP and UDP only: this is what is left of one.
        shape.protocol = 250;
        shape.payload = length as u16;
        let mut bytes = shape.bytes(0);
        let place = if addresses == v4 { 9 } else { 6 };
        bytes[place] = protocol;
        bytes
    };
    let mut sent = Vec::new();
    for (n, protocol) in [TCP, UDP, 1, 58].into_iter().enumerate() {
        sent.push((ms(2 * n as u64), LAPTOP, damaged(v4, protocol, 7)));
        sent.push((ms(2 * n as u64 + 1), LAPTOP, damaged(v6, protocol, 7)));
    }
    // Longer by its header than a host's links carry.
    let mut huge = up(v4, UDP).bytes(0);
    huge[2..4].copy_from_slice(&40_000_u16.to_be_bytes());
    sent.push((ms(20), LAPTOP, huge));
    let bytes: Vec<_> = sent.iter().map(|(.., bytes)| bytes.clone()).collect();
    let (simulation, tables, departed) = run(simulation, sent);
    let ends = simulation.frames_ended();
    assert_eq!((ends.entered, ends.delivered, ends.strays), (8, 8, 1));
    for (bytes, (_, to, crossed)) in bytes.iter().zip(&departed) {
        assert_eq!((bytes, *to), (crossed, SERVER));
    }
    let protocols = tables.texts("real_flows", "protocol");
    assert_eq!(protocols, ["6", "6", "17", "17", "1", "1", "58", "58"]);
}

#[test]
fn acknowledgements_of_real_connections_are_thinned() {
    let text = LINE.replace("point_to_point", "docsis").replace(
        "up.rate = \"10 Mbit/s\"\ndown.rate = \"10 Mbit/s\"",
        "preset = \"docsis31\"\nupstream.rate = \"300 kbit/s\"\nupstream.burst = \"3044 B\"\n\
         upstream.ack_acceleration = \"thinned\"",
    );
    let (simulation, addresses, _) = build(&text);
    let mut shape = up(addresses, TCP);
    let sent = (0..200_u32).map(|n| {
        shape.segment = (5, 1000 * n, ACK);
        (ms(u64::from(n)), LAPTOP, shape.bytes(n))
    });
    let (simulation, tables, _) = run(simulation, sent.collect());
    let thinned = simulation.frames_ended().discarded;
    assert!(thinned > 100, "{thinned} of 200");
    let counted = tables.integers("flows", "discarded_ack_thinned");
    assert_eq!(counted.iter().sum::<u64>(), thinned);
    let lost = tables.integers("real_flows", "discarded_up");
    assert_eq!(lost, [0], "what a newer one says is not lost");
}

#[test]
fn classes_and_hashes_see_real_ports_and_dscps() {
    let text = format!("{LINE}up.queue = \"fq_codel\"").replace("10 Mbit/s", "1 Mbit/s");
    let (simulation, addresses, _) = build(&text);
    let mut sent = Vec::new();
    let mut bulk = up(addresses, UDP);
    bulk.payload = 1400;
    let mut call = bulk.clone();
    (call.ports, call.payload) = ([50_000, 50_001], 100);
    for n in 0..1000_u64 {
        sent.push((ms(5 * n), LAPTOP, bulk.bytes(n as u32)));
        sent.push((ms(5 * n), LAPTOP, call.bytes(n as u32)));
    }
    let (_, tables, _) = run(simulation, sent);
    let ports = tables.integers("real_flows", "host_port");
    let lost = tables.integers("real_flows", "discarded_up");
    let of = |port| {
        lost[ports
            .iter()
            .position(|&other| other == port)
            .expect("a flow")]
    };
    assert!(of(40_000) > 100, "the datagrams that are too many");
    assert_eq!(of(50_000), 0, "a queue of its own");
}

#[test]
fn marks_are_written_into_frames() {
    let text = format!("{LINE}up.queue = \"fq_codel\"").replace("10 Mbit/s", "1 Mbit/s");
    let (simulation, addresses, _) = build(&text);
    let mut shape = up(addresses, UDP);
    (shape.payload, shape.ecn) = (1000, Ecn::Ect0);
    let sent = (0..1000_u64).map(|n| (ms(8 * n), LAPTOP, shape.bytes(n as u32)));
    let (simulation, tables, departed) = run(simulation, sent.collect());
    let marked = departed
        .iter()
        .filter(|(_, _, bytes)| real::ecn(bytes) == Some(Ecn::Ce));
    let marked = marked.count() as u64;
    assert!(marked > 10, "{marked}");
    assert_eq!(simulation.frames_ended().marked, marked);
    assert_eq!(tables.integers("real_flows", "marked_up"), [marked]);
}
