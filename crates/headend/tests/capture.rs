//! Captures of runs: they contain what happened, in the form in which a host would have sent it,
//! and capturing changes no result.

mod from_text;

use std::collections::BTreeMap;

use etherparse::{
    IpNumber, Ipv4Header, Ipv6Header, SlicedPacket, TcpOptionElement, TransportSlice,
};
use from_text::Tables;
use headend::scenario::{Format, Scenario};
use headend::time::Instant;
use headend::wire::read::{Captured, Packets};

/// Uploads with losses and marks, a call, pings and small files, over a cable line behind a plain
/// link.
const LINE: &str = r#"
format = 1
duration = "6 s"
[link.home.point_to_point]
up.rate = "8 Mbit/s"
up.queue.drop_tail.limit = "30 packets"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "5 Mbit/s"
upstream.queue = "codel"
downstream.rate = "20 Mbit/s"
[host.pc]
via = ["home", "cable"]
[flow.upload]
application = "bulk"
host = "pc"
count = 2
[flow.marked]
application = "bulk"
host = "pc"
tcp.congestion = "prague"
dscp = 10
[flow.call]
application = "voice"
host = "pc"
[flow.ping]
application.ping.interval = "100 ms"
host = "pc"
[flow.file]
application.bulk.size = "50 kB"
host = "pc"
direction = "down"
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    let scenario = Scenario::parse(text, Format::Toml, &[], &BTreeMap::new());
    scenario.map_err(|error| error.to_string())
}

/// The tables and the files of a run that captures at these points.
fn capture(text: &str, keys: &str) -> (Tables, BTreeMap<String, Vec<u8>>) {
    let text = format!("{text}\n[results.capture]\n{keys}");
    let mut simulation = parse(&text).expect("the scenario is right").build(3);
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    // The files are taken in pieces, as Python does.
    for second in 1.. {
        let over = simulation.run_until(Instant::from_nanos(second * 700_000_000));
        for (name, piece) in simulation.take_capture() {
            files.entry(name).or_default().extend(piece);
        }
        if over {
            break;
        }
    }
    (Tables(simulation.tables()), files)
}

fn packets(file: &[u8]) -> Vec<Captured<'_>> {
    let packets = Packets::of(file).expect("it is a capture");
    packets.map(|packet| packet.expect("it is whole")).collect()
}

/// The ones' complement sum of 16-bit words (RFC 1071): 0xffff if the words include a correct
/// checksum.
fn sum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Checks both checksums, computed here, and the lengths.
fn assert_sound(packet: &Captured<'_>) {
    let bytes = packet.bytes;
    assert_eq!(bytes.len(), packet.length as usize);
    let (ip, rest) = Ipv4Header::from_slice(bytes).expect("an IPv4 packet");
    assert_eq!(usize::from(ip.total_len), bytes.len());
    assert_eq!(sum(&[&bytes[..20]]), 0xffff, "the IP checksum is right");
    assert!((60..=64).contains(&ip.time_to_live), "{}", ip.time_to_live);
    let length = (rest.len() as u16).to_be_bytes();
    let pseudo = [
        &ip.source[..],
        &ip.destination,
        &[0, ip.protocol.0],
        &length,
    ]
    .concat();
    let found = match ip.protocol {
        IpNumber::ICMP => sum(&[rest]),
        _ => sum(&[&pseudo, rest]),
    };
    assert_eq!(found, 0xffff, "the transport's checksum is right");
    let sliced = SlicedPacket::from_ip(bytes).expect("every header is whole");
    assert!(sliced.transport.is_some());
}

#[test]
fn every_packet_is_whole_and_its_checksums_are_right() {
    let (_, files) = capture(LINE, "points = ['pc', 'marked.peer']\nsnaplen = '65535 B'");
    let [host, peer] = ["pc", "marked.peer"].map(|point| packets(&files[point]));
    assert!(host.len() > 5000, "{}", host.len());
    assert!((host.windows(2)).all(|pair| pair[0].nanos <= pair[1].nanos));
    for packet in host.iter().chain(&peer) {
        assert_sound(packet);
    }
    let protocols = |wanted: IpNumber| host.iter().any(|packet| packet.bytes[9] == wanted.0);
    assert!([IpNumber::ICMP, IpNumber::TCP, IpNumber::UDP].map(protocols) == [true; 3]);
    // Every option, flag and ECN codepoint that the model uses must occur.
    let mut seen = [false; 9];
    // Marks are set in the network, and are therefore seen at the receiver.
    for packet in host.iter().chain(&peer) {
        let sliced = SlicedPacket::from_ip(packet.bytes).expect("checked above");
        let ecn = packet.bytes[1] & 3;
        seen[0] |= ecn == 3;
        seen[1] |= ecn == 1;
        let Some(TransportSlice::Tcp(tcp)) = sliced.transport else {
            continue;
        };
        let data = tcp.payload().len();
        seen[2] |= tcp.fin();
        seen[3] |= tcp.ns() && !tcp.syn();
        for option in tcp.options_iterator() {
            match option.expect("well-formed options") {
                TcpOptionElement::MaximumSegmentSize(mss) => {
                    assert!(tcp.syn() && mss == 1460);
                    seen[4] = true;
                }
                TcpOptionElement::WindowScale(scale) => {
                    // The scale for a receive buffer of 32 MiB.
                    assert!(tcp.syn() && scale == 10);
                    seen[5] = true;
                }
                TcpOptionElement::SelectiveAcknowledgementPermitted => seen[6] |= tcp.syn(),
                TcpOptionElement::SelectiveAcknowledgement(first, _) => {
                    assert!(data == 0 && first.0 < first.1);
                    seen[7] = true;
                }
                TcpOptionElement::Timestamp(..) => seen[8] = true,
                TcpOptionElement::Noop => {}
            }
        }
    }
    assert_eq!(seen, [true; 9]);
}

#[test]
fn packets_of_a_host_with_an_ipv6_address_are_ipv6_and_whole() {
    let text = LINE.replace("[host.pc]\n", "[host.pc]\naddress = \"2001:db8:1::10\"\n");
    let (_, files) = capture(&text, "points = ['pc']\nsnaplen = '65535 B'");
    let packets = packets(&files["pc"]);
    assert!(packets.len() > 5000, "{}", packets.len());
    let host = [
        0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let mut seen = [false; 4];
    for packet in &packets {
        let bytes = packet.bytes;
        let (ip, rest) = Ipv6Header::from_slice(bytes).expect("an IPv6 packet");
        assert_eq!(usize::from(ip.payload_length), rest.len());
        assert!(bytes.len() <= 1500, "{}", bytes.len());
        assert!(ip.source == host || ip.destination == host);
        let length = (rest.len() as u32).to_be_bytes();
        let next = [0, 0, 0, ip.next_header.0];
        let pseudo = [&ip.source[..], &ip.destination, &length, &next].concat();
        assert_eq!(
            sum(&[&pseudo, rest]),
            0xffff,
            "the transport's checksum is right"
        );
        seen[0] |= ip.next_header == IpNumber::IPV6_ICMP;
        seen[1] |= ip.next_header == IpNumber::UDP;
        seen[2] |= ip.traffic_class == 10 << 2 | 1;
        if let Some(TransportSlice::Tcp(tcp)) = SlicedPacket::from_ip(bytes)
            .expect("every header is whole")
            .transport
        {
            for option in tcp.options_iterator() {
                if let TcpOptionElement::MaximumSegmentSize(mss) = option.expect("well-formed") {
                    assert_eq!(mss, 1440);
                    seen[3] = true;
                }
            }
        }
    }
    assert_eq!(seen, [true; 4]);
}

#[test]
fn headers_are_as_long_as_the_options_that_are_switched_on() {
    for (timestamps, sack, syn_options, options) in [
        (true, true, 20, 12),
        (true, false, 20, 12),
        (false, true, 12, 0),
        (false, false, 8, 0),
    ] {
        let text = format!(
            "duration = '1 s'
            results.capture = {{ points = ['upload.host'], snaplen = '65535 B' }}
            [link.line.point_to_point]
            up.rate = '10 Mbit/s'
            [flow.upload]
            application = 'bulk'
            tcp = {{ timestamps = {timestamps}, sack = {sack} }}"
        );
        let mut simulation = parse(&text).expect("the scenario is right").build(1);
        simulation.run_until(Instant::FAR_FUTURE);
        let file = simulation.take_capture().remove(0).1;
        let mut seen = [false; 2];
        for packet in packets(&file) {
            assert_sound(&packet);
            let sliced = SlicedPacket::from_ip(packet.bytes).expect("checked above");
            let Some(TransportSlice::Tcp(tcp)) = sliced.transport else {
                panic!("all is TCP")
            };
            let taken = tcp.options().len();
            if tcp.syn() {
                assert_eq!((taken, tcp.payload().len()), (syn_options, 0));
                seen[0] = true;
            } else if !tcp.payload().is_empty() {
                // A full segment, with nothing between its header and its data.
                assert_eq!((taken, tcp.payload().len()), (options, 1460 - options));
                seen[1] = true;
            }
        }
        assert_eq!(seen, [true; 2]);
    }
}

#[test]
fn each_point_sees_what_the_tables_count() {
    let points = "points = ['upload.host', 'call.peer', 'cable.up', 'home.up.drop', 'pc']";
    let (tables, files) = capture(LINE, points);
    let count = |name: &str| packets(&files[name]).len() as u64;
    let of_queue = |column: &str| -> u64 {
        let queues = tables.texts("queues", "queue").iter();
        let place = queues
            .zip(0..)
            .find(|(name, _)| *name == "cable.up")
            .expect("its queue")
            .1;
        tables.integers("queues", column)[place]
    };
    assert_eq!(count("cable.up.enqueue"), of_queue("packets_enqueued"));
    assert_eq!(count("cable.up.dequeue"), of_queue("packets_dequeued"));
    assert!(count("cable.up.drop") > 0 && count("home.up.drop") > 0);
    let of_flows = |wanted: &str, up: &str, down: &str| -> u64 {
        let (flows, ways) = (
            tables.texts("flows", "flow"),
            tables.texts("flows", "direction"),
        );
        (0..flows.len())
            .filter(|&row| flows[row].starts_with(wanted))
            .map(|row| tables.integers("flows", if ways[row] == "up" { up } else { down })[row])
            .sum()
    };
    assert_eq!(
        count("upload.host"),
        of_flows("upload", "packets_sent", "packets_delivered")
    );
    assert_eq!(
        count("call.peer"),
        of_flows("call", "packets_delivered", "packets_sent")
    );
    assert_eq!(
        count("pc"),
        of_flows("", "packets_sent", "packets_delivered")
    );
    // One queue is before the first link of the path, the other before the second.
    assert!(
        packets(&files["home.up.drop"])
            .iter()
            .all(|packet| packet.bytes[8] == 64)
    );
    assert!(
        packets(&files["cable.up.enqueue"])
            .iter()
            .all(|packet| packet.bytes[8] == 63)
    );
    // By default only headers are kept.
    assert!(
        packets(&files["pc"])
            .iter()
            .all(|packet| packet.bytes.len() <= 80)
    );
    let drops = String::from_utf8_lossy(&files["cable.up.drop"]).into_owned();
    assert!(drops.contains("dropped by the AQM (congested)"));
}

#[test]
fn to_capture_changes_nothing_but_the_number_of_events() {
    let (captured, _) = capture(LINE, "points = ['pc', 'cable.up', 'cable.down', 'home.up']");
    let plain = Tables::run(LINE, 3);
    for ((name, table), (_, expected)) in captured.0.iter().zip(&plain.0) {
        for ((column, found), (_, other)) in table.columns.iter().zip(&expected.columns) {
            if column != "events" {
                assert_eq!(
                    format!("{found:?}"),
                    format!("{other:?}"),
                    "{name}.{column}"
                );
            }
        }
    }
}

#[test]
fn a_capture_has_a_beginning_and_an_end_and_keeps_so_much_of_a_packet() {
    let keys = "points = ['pc']\nstart = '2 s'\nstop = '3 s'\nsnaplen = '50 B'";
    let (_, files) = capture(LINE, keys);
    let found = packets(&files["pc"]);
    assert!(found.len() > 500);
    for packet in found {
        assert!((2_000_000_000..=3_000_000_000).contains(&packet.nanos));
        assert_eq!(packet.bytes.len(), packet.length.min(50) as usize);
        assert_eq!(packet.interface, Some("pc"));
    }
}

#[test]
fn points_that_do_not_exist_and_values_that_make_no_sense_are_refused() {
    let error = |keys: &str| {
        parse(&format!("{LINE}\n[results.capture]\n{keys}")).expect_err("it makes no sense")
    };
    let unknown = error("points = ['cable.upp']");
    assert!(
        unknown.starts_with("results.capture.points[0]"),
        "{unknown}"
    );
    assert!(unknown.contains("cable.up"), "{unknown}");
    assert!(error("points = ['pc', 'pc']").contains("captured already"));
    assert!(error("points = []").contains("expected 1 to 100 points"));
    assert!(error("points = ['pc']\nsnaplen = '10 B'").starts_with("results.capture.snaplen"));
    assert!(error("points = ['pc']\nstart = '7 s'").starts_with("results.capture.start"));
    assert!(error("points = ['pc']\nstop = '0 s'").starts_with("results.capture.stop"));
    let both = LINE
        .replace("host.pc", "host.ping")
        .replace("\"pc\"", "\"ping\"");
    let ambiguous = parse(&format!("{both}\n[results.capture]\npoints = ['ping']"));
    assert!(
        ambiguous
            .expect_err("two of that name")
            .contains("\"ping.host\"")
    );
}

#[test]
fn a_captured_run_that_is_replayed_has_the_same_times_and_sizes() {
    let (_, files) = capture(LINE, "points = ['pc']");
    let replay = r#"
        format = 1
        duration = "10 s"
        results.capture.points = ["again.host"]
        [link.wire.point_to_point]
        up.rate = "1 Gbit/s"
        [flow.again]
        application.replay = { capture = "pc.pcapng", host = "10.0.0.1" }
        direction = "up"
        start = "1 s"
    "#;
    let again = BTreeMap::from([("pc.pcapng".to_owned(), files["pc"].clone())]);
    let scenario = Scenario::parse(replay, Format::Toml, &[], &again).expect("it is right");
    // The resolved scenario needs no file.
    let json = scenario.to_json();
    assert_eq!(
        Scenario::parse(&json, Format::Json, &[], &BTreeMap::new()).as_ref(),
        Ok(&scenario)
    );
    let mut simulation = scenario.build(1);
    simulation.run_until(Instant::FAR_FUTURE);
    let file = simulation.take_capture().remove(0).1;
    let sent: Vec<_> = packets(&file)
        .iter()
        .map(|packet| (packet.nanos - 1_000_000_000, packet.length))
        .collect();
    let captured = packets(&files["pc"]);
    let first = captured[0].nanos;
    let expected: Vec<_> = (captured.iter())
        .filter(|packet| packet.bytes[12..16] == [10, 0, 0, 1])
        .map(|packet| (packet.nanos - first, packet.length))
        .collect();
    assert!(expected.len() > 2000);
    assert_eq!(sent, expected);
}

#[test]
fn a_bad_capture_is_an_error_with_path_line_and_packet() {
    let text = "\
[link.wire.point_to_point]
up.rate = \"1 Gbit/s\"
[flow.again]
application.replay.capture = \"x.pcap\"
";
    let with = |content: &[u8]| {
        let files = BTreeMap::from([("x.pcap".to_owned(), content.to_vec())]);
        let error = Scenario::parse(text, Format::Toml, &[], &files).expect_err("it is bad");
        error.to_string()
    };
    assert_eq!(
        with(b"hello world"),
        "flow.again.application.replay.capture: \"x.pcap\": neither pcap nor pcapng: it begins \
         with 68 65 6c 6c (line 4, column 30)"
    );
    let (_, files) = capture(LINE, "points = ['pc']\nstop = '1 s'");
    let whole = &files["pc"];
    let cut = with(&whole[..whole.len() - 10]);
    let last = packets(whole).len();
    assert!(cut.contains(&format!("packet {last}: cut off")), "{cut}");
    let missing = parse(text).expect_err("no file");
    assert!(
        missing.contains("the file \"x.pcap\" cannot be read"),
        "{missing}"
    );
    let none = "[link.wire.point_to_point]\nup.rate = \"1 Gbit/s\"\n[flow.again]\n\
                application = \"replay\"";
    let nothing = parse(none).expect_err("nothing to replay");
    assert!(
        nothing.contains("expected a pcap or pcapng file"),
        "{nothing}"
    );
}
