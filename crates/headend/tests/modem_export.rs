//! Tests of the configuration file of a modem of a scenario: the TLVs of each key, and the notes
//! about keys that no TLV expresses.

use std::collections::BTreeMap;

use docsis_config::{File, Tlv};
use headend::scenario::{Format, Scenario};

/// A scenario with these keys of the cable line.
fn scenario(line: &str) -> Result<Scenario, String> {
    let text = format!(
        "duration = '5 s'\n[link.cable.docsis]\n{line}\n[flow.call]\napplication = 'voice'\n"
    );
    whole(&text)
}

fn whole(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Format::Toml, &[], &BTreeMap::new()).map_err(|error| error.to_string())
}

/// The file of the only modem of a line with these keys, and its notes.
#[track_caller]
fn file(line: &str) -> (File, Vec<String>) {
    let scenario = scenario(line).expect("a right scenario");
    scenario.modem_file(None, false).expect("its only modem")
}

/// The service flow with this reference.
#[track_caller]
fn flow(file: &File, number: u8, reference: u64) -> &Tlv {
    let is_it = |tlv: &&Tlv| tlv.get(1).and_then(Tlv::uint) == Some(reference);
    file.all(number).find(is_it).expect("a service flow")
}

/// The numbers at `path` below a TLV, `None` where there is none.
fn number(tlv: &Tlv, path: &[u8]) -> Option<u64> {
    let (&first, rest) = path.split_first()?;
    let inner = tlv.get(first)?;
    if rest.is_empty() {
        inner.uint()
    } else {
        number(inner, rest)
    }
}

/// The value of a TLV in hexadecimal, as it stands in a file.
fn hex(tlv: &Tlv) -> String {
    let file = File {
        kind: docsis_config::Kind::CableModem,
        tlvs: vec![tlv.clone()],
        rest: Vec::new(),
    };
    let bytes = file.encode();
    bytes[2..]
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

#[test]
fn a_service_flow_has_its_rates_bursts_and_priority() {
    let (file, notes) = file(
        "preset = 'docsis31'
         upstream.rate = '10 Mbit/s'
         upstream.peak = '20 Mbit/s'
         upstream.burst = '125000 B'
         upstream.priority = 3
         upstream.minimum_reserved = '1 Mbit/s'
         downstream.rate = '100 Mbit/s'",
    );
    assert_eq!(notes, [""; 0]);
    let (up, down) = (flow(&file, 24, 1), flow(&file, 25, 2));
    let found = [6, 7, 8, 9, 10, 27, 41].map(|tlv| number(up, &[tlv]));
    let expected = [7, 3, 10_000_000, 125_000, 1_000_000, 20_000_000].map(Some);
    assert_eq!(found[..6], expected);
    assert_eq!(found[6], None);
    let found = [6, 7, 8, 9, 10, 27].map(|tlv| number(down, &[tlv]));
    let expected = [Some(7), None, Some(100_000_000), Some(3044), None, None];
    assert_eq!(found, expected);
    assert_eq!(file.get(3).and_then(Tlv::uint), Some(1));
    assert!(file.get(18).and_then(Tlv::uint) >= Some(1));
}

#[test]
fn a_flow_without_a_rate_has_no_limit_in_its_file() {
    let (file, _) = file("downstream.rate = '100 Mbit/s'");
    assert_eq!(number(flow(&file, 24, 1), &[8]), None);
}

#[test]
fn rates_beyond_32_bits_are_in_the_smallest_unit_that_holds_them() {
    let up = |rate: &str, peak: &str| {
        let (file, notes) = file(&format!(
            "downstream = {{ rate = '{rate}', peak = '{peak}' }}"
        ));
        let flow = flow(&file, 25, 2);
        ([8, 27, 41].map(|tlv| number(flow, &[tlv])), notes)
    };
    let (found, notes) = up("4 Gbit/s", "4.2 Gbit/s");
    assert_eq!(found, [Some(4_000_000_000), Some(4_200_000_000), None]);
    assert_eq!(notes, [""; 0]);
    let (found, notes) = up("1 Gbit/s", "5 Gbit/s");
    assert_eq!(found, [1_000_000, 5_000_000, 1].map(Some));
    assert_eq!(notes, [""; 0]);
    let (found, notes) = up("1000000400 bit/s", "5 Gbit/s");
    assert_eq!(found, [1_000_000, 5_000_000, 1].map(Some));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("downstream.rate"), "{notes:?}");
}

#[test]
fn a_queue_becomes_a_buffer_and_an_algorithm() {
    let of = |preset: &str, upstream: &str| {
        let (file, notes) = file(&format!(
            "preset = '{preset}'\nupstream = {{ rate = '10 Mbit/s', {upstream} }}"
        ));
        let flow = flow(&file, 24, 1).clone();
        let part = |tlv: u8| flow.get(tlv).map(hex).unwrap_or_default();
        (part(35), part(40), notes.len())
    };
    let bytes = |number: u8, size: u32| format!("{number:02x}04{size:08x}");
    // The defaults of the generation: AQM with a target of 10 ms, and 250 ms of buffer; before, 256
    // KiB.
    let pie = (bytes(2, 312_500), "01010002010a030101".to_owned(), 0);
    assert_eq!(of("docsis31", "priority = 0"), pie);
    let buffer = (bytes(2, 262_144), String::new(), 0);
    assert_eq!(of("docsis30", "priority = 0"), buffer);
    // A modem with AQM drops at the tail only if its file disables AQM.
    let limit = "queue.drop_tail.limit = '32 KiB'";
    assert_eq!(
        of("docsis31", limit),
        (bytes(2, 32_768), "010101".to_owned(), 0)
    );
    assert_eq!(of("docsis30", limit), (bytes(2, 32_768), String::new(), 0));
    let buffer =
        "queue.buffer_control = { minimum = '24 KiB', target = '125000 B', maximum = '250000 B' }";
    let sizes = [bytes(1, 24_576), bytes(2, 125_000), bytes(3, 250_000)].concat();
    assert_eq!(of("docsis30", buffer), (sizes, String::new(), 0));
    let target = "queue.docsis_pie = { target = '20 ms', limit = '50 ms' }";
    let pie = (bytes(2, 62_500), "010100020114030101".to_owned(), 0);
    assert_eq!(of("docsis30", target), pie);
    let disabled = "aqm_disabled = true";
    let pie = (bytes(2, 312_500), "01010102010a030101".to_owned(), 0);
    assert_eq!(of("docsis31", disabled), pie);
    let edges = "latency_histogram = ['1 ms', '2 ms', '64 ms']";
    let pie = "01010002010a03010106060064 00c8 1900".replace(' ', "");
    assert_eq!(of("docsis31", edges), (bytes(2, 312_500), pie, 0));
    // Keys that no TLV expresses.
    let (_, aqm, notes) = of("docsis31", "queue = 'codel'");
    assert_eq!((aqm.as_str(), notes), ("", 2));
    let (buffer, _, notes) = of(
        "docsis31",
        "queue.docsis_pie = { limit = '60 packets', max_burst = '0 s' }",
    );
    assert_eq!((buffer.as_str(), notes), ("", 2));
    let (_, _, notes) = of(
        "docsis30",
        "queue.buffer_control = { target = '32 KiB', block = '1 B', counts = 'blocks' }",
    );
    assert_eq!(notes, 1);
}

#[test]
fn aqm_disabled_on_all_upstream_flows_is_the_modems_tlv() {
    let (on, _) = file("upstream.rate = '5 Mbit/s'");
    assert_eq!(on.get(76), None);
    let (off, _) = file("upstream_aqm_disabled = true");
    assert_eq!(off.get(76).and_then(Tlv::uint), Some(1));
    assert_eq!(number(flow(&off, 24, 1), &[40, 1]), Some(0));
}

#[test]
fn scheduling_types_have_their_parameters() {
    let of = |scheduling: &str| {
        let (file, notes) = file(&format!(
            "[link.cable.docsis.service_flow.voice]\ndirection = 'up'\nmatch.dscp = 46\n\
             scheduling{scheduling}"
        ));
        assert!(
            notes.iter().all(|note| note.starts_with("No TLV names")),
            "{scheduling}: {notes:?}"
        );
        let flow = flow(&file, 24, 3).clone();
        let numbers = (15..=22).chain([44, 45, 46, 49]);
        let found = numbers.filter_map(|tlv| Some((tlv, number(&flow, &[tlv])?)));
        found.collect::<Vec<_>>()
    };
    assert_eq!(of(" = 'best_effort'"), []);
    assert_eq!(
        of(".ugs = { size = '250 B', grants = 3 }"),
        [(15, 6), (19, 250), (20, 20_000), (21, 2000), (22, 3)]
    );
    assert_eq!(
        of(".rtps.interval = '10 ms'"),
        [(15, 4), (17, 10_000), (18, 2000)]
    );
    assert_eq!(of(" = 'nrtps'"), [(15, 3), (17, 20_000), (18, 2000)]);
    assert_eq!(
        of(".pgs = { rate = '5 Mbit/s', interval = '1 ms' }"),
        [(15, 7), (44, 1000), (45, 5_000_000)]
    );
    assert_eq!(
        of(".pgs = { rate = '5 Mbit/s', request_interval = '4 ms', activity_detection = false }"),
        [(15, 7), (45, 5_000_000), (46, 4000), (49, 1)]
    );
    let policy = " = 'nrtps'\nrequest_policy = { no_contention = true, no_piggyback = true, \
                  no_contention_while_outstanding = true }";
    assert_eq!(of(policy), [(15, 3), (16, 0x411), (17, 20_000), (18, 2000)]);
}

/// The classifiers of a file in hexadecimal, by type and without their references.
fn classifiers(rules: &str) -> Vec<(u8, String)> {
    let text = format!(
        "duration = '5 s'
         [link.cable.docsis.modem]
         home.count = 2
         [link.cable.docsis.service_flow]
         {rules}
         [host]
         desk = {{ via = ['cable.home'], address = '192.168.0.10' }}
         server.address = '203.0.113.7'
         [flow.call]
         application = 'voice'
         host = 'desk'
         [flow.game]
         application = 'ping'
         host = 'desk'
         peer = 'server'"
    );
    let scenario = whole(&text).expect("a right scenario");
    let (file, notes) = scenario.modem_file(Some("home.2"), false).expect("a modem");
    assert!(
        notes.iter().all(|note| note.starts_with("No TLV names")),
        "{notes:?}"
    );
    let rules = file
        .tlvs
        .iter()
        .filter(|tlv| [22, 23, 60].contains(&tlv.number));
    let rules = rules.enumerate().map(|(place, tlv)| {
        let reference = format!("0101{:02x}", place + 1);
        let hex = hex(tlv);
        (
            tlv.number,
            hex.strip_prefix(&reference).expect(&hex).to_owned(),
        )
    });
    rules.collect()
}

#[test]
fn classifiers_say_the_fields_of_their_packets() {
    let of = |direction: &str, rule: &str| {
        let found = classifiers(&format!(
            "game = {{ direction = '{direction}', match = {rule} }}"
        ));
        let expected = if direction == "up" { 22 } else { 23 };
        let one = |(number, hex): &(u8, String)| {
            assert_eq!(*number, expected);
            let rest = hex.strip_prefix("03020003").expect("the flow's reference");
            rest.to_owned()
        };
        found.iter().map(one).collect::<Vec<_>>()
    };
    // The worked classifiers of low-latency DOCSIS: expedited forwarding, and ECT(1).
    assert_eq!(
        of("up", "{ dscp = 46, priority = 9 }"),
        ["05010909050103b8b8fc"]
    );
    assert_eq!(
        of("down", "{ ecn = 'ect1' }"),
        ["0501000905010301 0103".replace(' ', "")]
    );
    assert_eq!(
        of("up", "{ protocol = 'udp', destination_port = '5000-5999' }"),
        ["050100090c02020011090213880a02176f"]
    );
    // A port at either end is two classifiers.
    assert_eq!(
        of("up", "{ port = 5060 }"),
        ["0501000908070213c4080213c4", "0501000908090213c40a0213c4"]
    );
    // A customer's host is the source of upstream packets. Of several hosts, only the one behind
    // this modem counts.
    assert_eq!(
        of("up", "{ host = 'desk' }"),
        ["050100090c0304c0a8000b0404ffffffff"]
    );
    assert_eq!(
        of("down", "{ host = 'desk' }"),
        ["050100090c0504c0a8000b0604ffffffff"]
    );
    assert_eq!(
        of("up", "{ host = 'server' }"),
        ["050100090c0504cb0071070604ffffffff"]
    );
    assert_eq!(
        of("up", "{ source = '10.0.0.0/8' }"),
        ["050100090c03040a0000000404ff000000"]
    );
    assert_eq!(of("up", "{ ethertype = 'ipv4' }"), ["0501000a050303010800"]);
    assert_eq!(
        of(
            "up",
            "{ source_mac = '02:00:5e:00:00:01', ethertype = 'ipv6' }"
        ),
        ["0501000a0d020602005e000001030301 86dd".replace(' ', "")]
    );
    assert_eq!(
        of(
            "down",
            "{ destination_mac = '02:00:5e:00:00:00/ff:ff:ff:00:00:00' }"
        ),
        ["0501000a0e010c02005e000000ffffff000000"]
    );
    assert_eq!(
        of("up", "{ user_priority = '4-7' }"),
        ["0501000b0401020407"]
    );
    assert_eq!(
        of("up", "{ user_priority = 5, vlan = 7 }"),
        ["0501000b080102050502020070"]
    );
}

#[test]
fn ipv6_and_vlans_have_fields_of_their_own() {
    let text = "duration = '5 s'
         [link.cable.docsis.service_flow.six]
         direction = 'up'
         match.destination = '2001:db8::/32'
         match.protocol = 'tcp'
         match.destination_port = 443
         match.dscp = 46
         match.vlan = 7
         [link.cable.docsis.service_flow.both]
         direction = 'up'
         match = { protocol = 'icmp' }
         [link.cable.docsis.drop.leak]
         port = 139
         [host]
         desk = { via = ['cable'], address = '2001:db8:1::10', vlan = 7 }
         server.address = '2001:db8::7'
         [flow.call]
         application = 'voice'
         host = 'desk'
         peer = 'server'";
    let scenario = whole(text).expect("a right scenario");
    let (file, _) = scenario.modem_file(Some("cable"), false).expect("a modem");
    let rules: Vec<&Tlv> = file.all(22).collect();
    assert_eq!(rules.len(), 3);
    // The names of flows are in order: `both` is the first.
    assert_eq!(number(rules[0], &[9, 2]), Some(1));
    assert_eq!(number(rules[1], &[12, 3]), Some(58));
    let six = rules[2];
    assert_eq!(number(six, &[3]), Some(4));
    assert_eq!(number(six, &[9, 9]), Some(443));
    assert_eq!(number(six, &[12, 1]), Some(0xb8_b8fc));
    assert_eq!(number(six, &[12, 3]), Some(6));
    assert_eq!(number(six, &[12, 7]), Some(32));
    assert_eq!(number(six, &[11, 2]), Some(7 << 4));
    let drops: Vec<String> = file.all(60).map(hex).collect();
    assert_eq!(
        drops,
        [
            "0101040501000908070200 8b0802008b".replace(' ', ""),
            "010105050100090809 02008b0a02008b".replace(' ', "")
        ]
    );
}

#[test]
fn a_further_flow_keeps_the_reference_that_its_name_says() {
    let line = "[link.cable.docsis.service_flow]
        aaa = { direction = 'up', match.dscp = 1 }
        down_4 = { direction = 'down', match.dscp = 2 }
        up_3 = { direction = 'up', match.dscp = 3 }
        up_2 = { direction = 'up', match.dscp = 4 }";
    let (file, _) = file(line);
    let of = |tlv: &Tlv| (tlv.number, tlv.get(1).and_then(Tlv::uint));
    let flows = file
        .tlvs
        .iter()
        .filter(|tlv| [24, 25].contains(&tlv.number));
    let found: Vec<_> = flows.map(of).collect();
    let expected = [(24, 1), (25, 2), (24, 5), (24, 6), (24, 3), (25, 4)];
    assert_eq!(
        found,
        expected.map(|(number, reference)| (number, Some(reference)))
    );
    let rule = file.get(22).and_then(|rule| rule.get(3)?.uint());
    assert_eq!(rule, Some(5));
}

#[test]
fn names_of_further_flows_that_a_run_with_the_file_does_not_have_are_noted() {
    let flows = "match.dscp = 1
        [link.cable.docsis.service_flow.up_4]
        direction = 'up'
        match.dscp = 2";
    let text = format!(
        "bottleneck = 'cable.game'\nduration = '5 s'
        [link.cable.docsis.service_flow.game]\ndirection = 'up'\n{flows}
        [flow.upload]\napplication = 'bulk'\ndirection = 'up'"
    );
    let scenario = whole(&text).expect("a right scenario");
    let (_, notes) = scenario.modem_file(None, false).expect("a modem");
    let [bottleneck, names] = &notes[..] else {
        panic!("two lines: {notes:?}")
    };
    assert!(
        bottleneck.contains("\"cable.game\"") && bottleneck.contains("bottleneck=cable.up_3"),
        "{bottleneck}"
    );
    assert!(names.contains("\"game\" is \"up_3\";"), "{names}");
    // Under the name that the file gives it, there is nothing to be said.
    let renamed = text.replace("game", "up_3");
    let scenario = whole(&renamed).expect("a right scenario");
    assert_eq!(
        scenario.modem_file(None, false).expect("a modem").1,
        [""; 0]
    );
}

#[test]
fn a_drop_tail_buffer_that_is_not_of_blocks_is_noted() {
    let notes = |limit: &str| {
        file(&format!(
            "preset = 'docsis30'
            upstream = {{ rate = '10 Mbit/s', queue.drop_tail.limit = '{limit}' }}"
        ))
        .1
    };
    let [note] = &notes("250 ms")[..] else {
        panic!("one line")
    };
    assert!(
        note.contains("312500 B") && note.contains("312320 B"),
        "{note}"
    );
    assert_eq!(notes("32 KiB"), [""; 0]);
}

#[test]
fn a_docsis_10_modem_has_a_class_of_service() {
    let (file, notes) =
        file("preset = 'docsis10'\nupstream.rate = '1 Mbit/s'\ndownstream.rate = '5 Mbit/s'");
    assert_eq!((file.get(24), file.get(25)), (None, None));
    let class = file.get(4).expect("a class of service");
    let found = [1, 2, 3, 6].map(|tlv| number(class, &[tlv]));
    assert_eq!(found, [1, 5_000_000, 1_000_000, 3044].map(Some));
    assert!(
        notes.iter().any(|note| note.contains("DOCSIS 1.0")),
        "{notes:?}"
    );
}

#[test]
fn keys_that_no_tlv_says_are_noted_in_one_line() {
    let (_, notes) = file(
        "upstream = { capacity = '20 Mbit/s', dequeue_at = 'burst', ack_acceleration = 'apart' }
         downstream.peak_burst = '3000 B'
         [link.cable.docsis.change.later]
         at = '1 s'
         service_flow = 'up'
         rate = '1 Mbit/s'",
    );
    let [note] = &notes[..] else {
        panic!("one line: {notes:?}")
    };
    for key in [
        "upstream.dequeue_at",
        "upstream.ack_acceleration",
        "downstream.peak_burst",
        "upstream.capacity",
        "change.later",
    ] {
        assert!(note.contains(&format!("link.cable.docsis.{key}")), "{note}");
    }
}

#[test]
fn a_file_by_class_names_the_class_and_says_only_the_rest() {
    let line = "[link.cable.docsis.service_class.gold]
        upstream = { rate = '10 Mbit/s', queue.buffer_control.target = '64 KiB', priority = 1 }
        downstream.rate = '100 Mbit/s'
        [link.cable.docsis.modem.home]
        service_class = 'gold'
        upstream.priority = 2";
    let scenario = scenario(line).expect("a right scenario");
    let (values, _) = scenario.modem_file(Some("home"), false).expect("a modem");
    assert_eq!(number(flow(&values, 24, 1), &[8]), Some(10_000_000));
    assert_eq!(number(flow(&values, 24, 1), &[35, 2]), Some(65_536));
    assert_eq!(flow(&values, 24, 1).get(4), None);
    let (names, _) = scenario.modem_file(Some("home"), true).expect("a modem");
    for (number_of_flow, reference) in [(24, 1), (25, 2)] {
        let flow = flow(&names, number_of_flow, reference);
        assert_eq!(flow.get(4).and_then(Tlv::bytes), Some(&b"gold\0"[..]));
        assert_eq!(number(flow, &[8]), None);
        assert_eq!(flow.get(35), None);
    }
    assert_eq!(number(flow(&names, 24, 1), &[7]), Some(2));
}

#[test]
fn a_modem_is_found_by_its_name_and_its_links() {
    let line = "[link.cable.docsis.service_class]
        basic.upstream.rate = '5 Mbit/s'
        fast.upstream.rate = '20 Mbit/s'
        [link.cable.docsis.modem]
        office.upstream.rate = '40 Mbit/s'
        home = { count = 3, mix = { basic = 2, fast = 1 } }
        flat.count = 2";
    let host =
        "[host]\ndesk.via = ['cable.office']\n[flow.call]\nhost = 'desk'\napplication = 'voice'";
    let scenario = whole(&format!("duration = '5 s'\n{line}\n{host}")).expect("a right scenario");
    let rate = |name: Option<&str>| -> Result<Option<u64>, String> {
        let (file, _) = (scenario.modem_file(name, false)).map_err(|error| error.to_string())?;
        Ok(number(flow(&file, 24, 1), &[8]))
    };
    assert_eq!(rate(Some("office")), Ok(Some(40_000_000)));
    assert_eq!(rate(Some("cable.office")), Ok(Some(40_000_000)));
    assert_eq!(rate(Some("home.1")), Ok(Some(5_000_000)));
    assert_eq!(rate(Some("home.2")), Ok(Some(20_000_000)));
    assert_eq!(rate(Some("flat")), Ok(None));
    let error = |name: Option<&str>| rate(name).expect_err("no such modem");
    assert_eq!(
        error(Some("home")),
        "modem: \"home\" stands for 3 modems that differ: expected one of \"home.1\", \"home.2\", \
         \"home.3\""
    );
    assert!(
        error(None).contains("6 modems that differ"),
        "{}",
        error(None)
    );
    assert!(
        error(None).contains("expected one of \"flat\", \"home.1\", \"home.2\", \"home.3\", …"),
        "{}",
        error(None)
    );
    let unknown = error(Some("ofice"));
    assert!(
        unknown.contains("\"ofice\"") && unknown.contains("did you mean \"office\""),
        "{unknown}"
    );
    let plain = "duration = '5 s'\n[link.dsl.point_to_point]\nup.rate = '1 Mbit/s'\n[flow.call]\n\
                 application = 'voice'";
    let plain = whole(plain).expect("a right scenario");
    let error = plain.modem_file(None, false).expect_err("it has no modem");
    assert!(error.to_string().contains("no cable line"), "{error}");
}
