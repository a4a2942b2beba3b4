//! Tests of modems' configuration files in scenarios: a modem with a file is exactly a modem with
//! the keys that the file stands for.

mod from_text;

use std::collections::BTreeMap;

use docsis_config::{File, Kind, Tlv};
use from_text::Tables;
use headend::scenario::{FileKind, Format, Override, RequiredFile, Scenario, required_files};
use headend::time::Instant;

const LINE: &str = r#"
duration = "3 s"
[link.cable.docsis]
preset = "docsis31"
[flow.call]
application = "voice"
dscp = 46
[flow.upload]
application = "bulk"
direction = "up"
[flow.download]
application = "bulk"
direction = "down"
"#;

/// A modem's file of these settings.
fn file(tlvs: Vec<Tlv>) -> Vec<u8> {
    let kind = Kind::CableModem;
    let rest = Vec::new();
    File { kind, tlvs, rest }.encode()
}

/// A setting of a number with so many bytes.
fn number(number: u8, value: u64, width: usize) -> Tlv {
    Tlv::new(number, &value.to_be_bytes()[8 - width..])
}

/// A service flow with a reference, a rate, and more.
fn flow(kind: u8, reference: u64, rate: u64, more: Vec<Tlv>) -> Tlv {
    let start = [number(1, reference, 2), number(6, 7, 1), number(8, rate, 4)];
    Tlv::nested(kind, start.into_iter().chain(more).collect())
}

/// Buffer Control.
fn buffer(target: u64) -> Tlv {
    Tlv::nested(35, vec![number(2, target, 4)])
}

fn set(overrides: &[(&str, &str)]) -> Vec<Override> {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    overrides.iter().map(owned).collect()
}

fn try_parse(
    text: &str,
    overrides: &[(&str, &str)],
    files: &[(&str, Vec<u8>)],
) -> Result<Scenario, String> {
    let files: BTreeMap<String, Vec<u8>> = (files.iter())
        .map(|(name, bytes)| ((*name).to_owned(), bytes.clone()))
        .collect();
    Scenario::parse(text, Format::Toml, &set(overrides), &files).map_err(|error| error.to_string())
}

#[track_caller]
fn parse(text: &str, overrides: &[(&str, &str)], files: &[(&str, Vec<u8>)]) -> Scenario {
    try_parse(text, overrides, files)
        .unwrap_or_else(|error| panic!("the scenario is right: {error}"))
}

/// `LINE` with more keys of the cable line.
fn line_with(keys: &str) -> String {
    LINE.replace("[flow.call]", &format!("{keys}\n[flow.call]"))
}

/// All tables of a run.
fn run(scenario: &Scenario) -> Vec<String> {
    let mut simulation = scenario.build(1);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    let tables = Tables(simulation.tables());
    (tables.0.iter())
        .map(|(name, table)| format!("{name} {table:?}"))
        .collect()
}

/// The modem of `LINE` with a file, and with keys in its place, has the same results.
#[track_caller]
fn assert_alike(bytes: Vec<u8>, keys: &str) {
    let with_file = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    let with_keys = parse(&line_with(keys), &[], &[]);
    assert_eq!(
        run(&with_file),
        run(&with_keys),
        "{keys}\n{}",
        with_file.to_json()
    );
}

/// A file with service flows, signed, of which one bit changed on its way.
fn damaged() -> Vec<u8> {
    let up = flow(24, 1, 10_000_000, vec![]);
    let down = flow(25, 2, 50_000_000, vec![]);
    let (kind, rest) = (Kind::CableModem, Vec::new());
    let tlvs = vec![number(3, 1, 1), up, down];
    let file = File { kind, tlvs, rest };
    let file = docsis_config::mic::sign(&file, docsis_config::mic::Which::All(b"secret"));
    let mut bytes = file.expect("it can be signed").encode();
    let rate = bytes
        .windows(4)
        .position(|four| four == 10_000_000_u32.to_be_bytes());
    bytes[rate.expect("the rate is in it") + 1] ^= 0x80;
    bytes
}

#[test]
fn a_file_that_was_changed_after_it_was_signed_is_refused_unless_told_otherwise() {
    let key = "link.cable.docsis.config";
    let files = [("home.cm", damaged())];
    let refused = try_parse(LINE, &[(key, "home.cm")], &files).expect_err("a modem refuses it");
    assert!(
        refused.contains("expected a CM MIC (TLV 6) that fits the content"),
        "{refused}"
    );
    assert!(
        refused.contains("link.cable.docsis.ignore_mic = true"),
        "{refused}"
    );
    let told = [(key, "home.cm"), ("link.cable.docsis.ignore_mic", "true")];
    let scenario = parse(LINE, &told, &files);
    let said = scenario
        .warnings()
        .iter()
        .any(|warning| warning.contains("CM MIC"));
    assert!(said, "{:?}", scenario.warnings());
    // A modem may say so for itself.
    let text = line_with("modem.home = { config = \"home.cm\", ignore_mic = true }\n");
    parse(&text, &[], &files);
    let text = line_with("modem.home = { config = \"home.cm\" }\n");
    assert!(try_parse(&text, &[], &files).is_err());
    // What has no MIC is signed later, and what is signed right needs no word.
    let mut right = damaged();
    let rate = right
        .windows(4)
        .position(|four| four == 1_611_392_u32.to_be_bytes());
    right[rate.expect("the rate of one flipped bit") + 1] ^= 0x80;
    parse(LINE, &[(key, "home.cm")], &[("home.cm", right)]);
}

#[test]
fn rates_and_bursts_are_those_of_the_file() {
    let up = flow(
        24,
        1,
        5_000_000,
        vec![
            number(7, 3, 1),
            number(9, 125_000, 4),
            number(10, 1_000_000, 4),
            number(27, 20_000_000, 4),
        ],
    );
    let down = flow(25, 2, 50, vec![number(41, 2, 1), number(27, 100, 4)]);
    assert_alike(
        file(vec![number(3, 1, 1), up, down]),
        r#"
        upstream.rate = "5 Mbit/s"
        upstream.peak = "20 Mbit/s"
        upstream.burst = "125000 B"
        upstream.minimum_reserved = "1 Mbit/s"
        upstream.priority = 3
        downstream = { rate = "50 Mbit/s", peak = "100 Mbit/s" }
        "#,
    );
}

#[test]
fn buffers_and_aqm_are_those_of_the_file() {
    let up = |more| flow(24, 1, 5_000_000, more);
    let down = |more| flow(25, 2, 50_000_000, more);
    let aqm = |tlvs| Tlv::nested(40, tlvs);
    let both = |up, down| file(vec![up, down]);
    let rates = "upstream.rate = \"5 Mbit/s\"\ndownstream.rate = \"50 Mbit/s\"\n";
    let keys = |more: &str| format!("{rates}{more}");
    // DOCSIS-PIE is the modem's queue, drop-tail the CMTS's.
    assert_alike(
        both(up(vec![buffer(40_000)]), down(vec![buffer(300_000)])),
        &keys(
            "upstream.queue.docsis_pie.limit = \"40000 B\"\n\
             downstream.queue.buffer_control.target = \"300000 B\"",
        ),
    );
    let edges = aqm(vec![Tlv::new(6, [0, 100, 1, 0x90])]);
    assert_alike(
        both(up(vec![edges]), down(vec![])),
        &keys("upstream.latency_histogram = [\"1 ms\", \"4 ms\"]"),
    );
    let target = vec![aqm(vec![number(2, 20, 1)])];
    assert_alike(
        both(up(target.clone()), down(target)),
        &keys(
            "upstream.queue.docsis_pie.target = \"20 ms\"\n\
             downstream.queue.docsis_pie.target = \"20 ms\"",
        ),
    );
    let off = vec![aqm(vec![number(1, 1, 1)]), buffer(40_000)];
    assert_alike(
        both(up(off), down(vec![])),
        &keys("upstream.queue.buffer_control.target = \"40000 B\"\nupstream.aqm_disabled = true"),
    );
    let all_off = vec![up(vec![]), down(vec![]), number(76, 1, 1)];
    assert_alike(file(all_off), &keys("upstream_aqm_disabled = true"));
    let at_rate = vec![up(vec![]), down(vec![]), number(68, 50, 2)];
    assert_alike(
        file(at_rate),
        &keys("upstream.queue.docsis_pie.limit = \"50 ms\""),
    );
    // A target of zero leaves the buffer to the modem.
    let zeros = Tlv::nested(
        35,
        vec![number(1, 0, 4), number(2, 0, 4), number(3, 0xffff_ffff, 4)],
    );
    assert_alike(both(up(vec![zeros.clone()]), down(vec![zeros])), rates);
    // 100 ms at the peak rate.
    let default = vec![
        up(vec![number(27, 8_000_000, 4)]),
        down(vec![]),
        number(68, 100, 2),
    ];
    assert_alike(
        file(default),
        &keys("upstream.peak = \"8 Mbit/s\"\nupstream.queue.docsis_pie.limit = \"100000 B\""),
    );
}

#[test]
fn a_drop_tail_queue_gets_the_sizes_of_buffer_control() {
    let sizes = Tlv::nested(
        35,
        vec![
            number(1, 24_576, 4),
            number(2, 50_000, 4),
            number(3, 60_000, 4),
        ],
    );
    let bytes = file(vec![
        flow(24, 1, 5_000_000, vec![sizes]),
        flow(25, 2, 0, vec![]),
    ]);
    let text = line_with("upstream.queue.drop_tail.limit = \"250 ms\"");
    let scenario = parse(&text, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    let keys = "upstream = { rate = \"5 Mbit/s\", queue.buffer_control = { minimum = \"24 KiB\", \
                target = \"50000 B\", maximum = \"60000 B\" } }";
    assert_eq!(run(&scenario), run(&parse(&line_with(keys), &[], &[])));
    assert_eq!(
        scenario.warnings()[0],
        "link.cable.docsis.config: the file \"home.cm\" replaces upstream.queue (drop_tail of 250 \
         ms → buffer_control of 50 kB)"
    );
}

#[test]
fn a_key_of_an_override_goes_before_the_file_and_the_file_before_the_text() {
    let bytes = file(vec![
        flow(24, 1, 5_000_000, vec![buffer(40_000)]),
        flow(25, 2, 50_000_000, vec![]),
    ]);
    let files = [("home.cm", bytes)];
    let text = line_with(
        "upstream = { rate = \"9 Mbit/s\", burst = \"9 kB\", queue.docsis_pie.target = \"30 ms\" }",
    );
    let by_override = parse(&text, &[("modem", "home.cm")], &files);
    assert_eq!(
        run(&by_override),
        run(&parse(
            &line_with(
                "upstream = { rate = \"5 Mbit/s\", queue.docsis_pie = { target = \"30 ms\", limit \
                 = \"40000 B\" } }\ndownstream.rate = \"50 Mbit/s\""
            ),
            &[],
            &[]
        ))
    );
    assert_eq!(
        by_override.warnings(),
        [
            "link.cable.docsis.config: the file \"home.cm\" replaces upstream.rate (9 Mbit/s → 5 \
             Mbit/s), upstream.burst (9 kB → 3044 B)"
        ]
    );
    let set = parse(
        &text,
        &[
            ("link.cable.docsis.upstream.rate", "7 Mbit/s"),
            ("modem", "home.cm"),
            ("queue", "codel"),
        ],
        &files,
    );
    assert_eq!(
        run(&set),
        run(&parse(
            &line_with(
                "upstream = { rate = \"7 Mbit/s\", queue.codel.limit = \"40000 B\" }\n\
                 downstream.rate = \"50 Mbit/s\""
            ),
            &[],
            &[]
        ))
    );
    let by_text = parse(
        &format!("{text}\nlink.cable.docsis.config = \"home.cm\"")
            .replace("\nlink.cable.docsis.config = \"home.cm\"", "")
            .replace("preset =", "config = \"home.cm\"\npreset ="),
        &[],
        &files,
    );
    assert_eq!(
        run(&by_text),
        run(&parse(
            &text
                .replace("30 ms\"", "30 ms\", queue.docsis_pie.limit = \"40000 B\"")
                .replace(
                    "[flow.call]",
                    "downstream.rate = \"50 Mbit/s\"\n[flow.call]"
                ),
            &[],
            &[]
        ))
    );
    assert_eq!(
        by_text.warnings(),
        [
            "link.cable.docsis.config: keys of the scenario or of --set go before the file \
             \"home.cm\": upstream.rate (9 Mbit/s, not 5 Mbit/s)"
        ]
    );
}

#[test]
fn a_resolved_scenario_needs_no_file() {
    let voice = Tlv::nested(
        22,
        vec![
            number(1, 1, 1),
            number(3, 3, 2),
            Tlv::nested(9, vec![Tlv::new(1, [0xb8, 0xb8, 0xfc])]),
        ],
    );
    let bytes = file(vec![
        voice,
        flow(24, 1, 5_000_000, vec![buffer(40_000)]),
        flow(24, 3, 1_000_000, vec![number(7, 5, 1)]),
        flow(25, 2, 50_000_000, vec![]),
    ]);
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes.clone())]);
    assert_eq!(scenario.warnings(), [""; 0]);
    let json = scenario.to_json();
    assert!(json.contains("\"config\": \"home.cm\""), "{json}");
    assert_eq!(required_files(&json, Format::Json, &[]), Ok(Vec::new()));
    let again = Scenario::parse(&json, Format::Json, &[], &BTreeMap::new()).expect("it is right");
    assert_eq!(again.raw(), scenario.raw());
    assert_eq!(run(&again), run(&scenario));
    // Another file takes the place of the first.
    let other = file(vec![
        flow(24, 1, 2_000_000, vec![]),
        flow(25, 2, 9_000_000, vec![]),
    ]);
    let files = BTreeMap::from([("other.cm".to_owned(), other)]);
    let overrides = set(&[("modem", "other.cm")]);
    let named = required_files(&json, Format::Json, &overrides);
    let expected = RequiredFile {
        name: "other.cm".to_owned(),
        set_by: Some("modem=other.cm".to_owned()),
        kind: FileKind::Config,
    };
    assert_eq!(named, Ok(vec![expected]));
    let changed = Scenario::parse(&json, Format::Json, &overrides, &files).expect("it is right");
    let queues: Vec<String> = changed.queues().collect();
    assert_eq!(queues, ["cable.up", "cable.down"]);
}

#[test]
fn a_warning_lists_only_what_a_person_wrote_and_no_more_than_four_keys() {
    let bytes = file(vec![
        flow(24, 1, 5_000_000, vec![buffer(40_000)]),
        flow(25, 2, 50_000_000, vec![]),
    ]);
    let files = BTreeMap::from([("home.cm".to_owned(), bytes.clone())]);
    let with_file = set(&[("modem", "home.cm")]);
    // Every default is written out.
    let resolved = parse(&LINE.replace("docsis31", "docsis30"), &[], &[]).to_json();
    assert!(resolved.contains("\"limit\": \"250 ms\""), "{resolved}");
    let silent = Scenario::parse(&resolved, Format::Json, &with_file, &files).expect("right");
    assert_eq!(silent.warnings(), [""; 0]);
    // The same value in a text is a person's.
    let text = line_with("upstream.queue.drop_tail.limit = \"250 ms\"");
    let told = parse(
        &text,
        &[("modem", "home.cm")],
        &[("home.cm", bytes.clone())],
    );
    assert!(told.warnings()[0].contains("replaces upstream.queue"));
    let keys = "upstream = { rate = \"9 Mbit/s\", peak = \"10 Mbit/s\", burst = \"9 kB\", priority \
                = 3 }\ndownstream = { rate = \"9 Mbit/s\", burst = \"9 kB\" }";
    let scenario = parse(
        &line_with(keys),
        &[("modem", "home.cm")],
        &[("home.cm", bytes)],
    );
    assert!(
        scenario.warnings()[0].ends_with("and 2 more"),
        "{:?}",
        scenario.warnings()
    );
    assert_eq!(scenario.modem_files_read()[0].replaced.len(), 6);
}

#[test]
fn the_keys_that_a_file_set_are_listed_with_their_tlvs() {
    let bytes = file(vec![
        flow(24, 1, 5_000_000, vec![buffer(40_000)]),
        flow(25, 2, 50_000_000, vec![]),
    ]);
    let text = line_with("upstream.rate = \"5 Mbit/s\"");
    let overrides = [
        ("modem", "home.cm"),
        ("link.cable.docsis.downstream.rate", "7 Mbit/s"),
    ];
    let scenario = parse(&text, &overrides, &[("home.cm", bytes)]);
    let [read] = scenario.modem_files_read() else {
        panic!("one file");
    };
    assert_eq!(
        (read.key.as_str(), read.more),
        ("link.cable.docsis.config", 0)
    );
    let listed: Vec<String> = (read.set.iter())
        .map(|own| format!("{} = {} ({})", own.key, own.value, own.tlv))
        .collect();
    // A value that the text has too is the file's; that of an override is not.
    assert_eq!(
        listed,
        [
            "upstream.queue.docsis_pie.limit = 40 kB (upstream_service_flow.buffer_control, TLV \
             24.35)",
            "upstream.rate = 5 Mbit/s (upstream_service_flow.maximum_sustained_rate, TLV 24.8)",
        ]
    );
    let again = Scenario::parse(&scenario.to_json(), Format::Json, &[], &BTreeMap::new());
    assert_eq!(again.expect("right").modem_files_read(), []);
}

/// A classifier with conditions on IPv4.
fn classifier(kind: u8, place: u64, flow: u64, ipv4: Vec<Tlv>) -> Tlv {
    let conditions = Tlv::nested(9, ipv4);
    let tlvs = vec![
        number(1, place, 1),
        number(3, flow, 2),
        number(5, place, 1),
        conditions,
    ];
    Tlv::nested(kind, tlvs)
}

fn expedited() -> Tlv {
    Tlv::new(1, [0xb8, 0xb8, 0xfc])
}

/// Primary service flows both ways.
fn primary() -> [Tlv; 2] {
    [
        flow(24, 1, 5_000_000, vec![]),
        flow(25, 2, 50_000_000, vec![]),
    ]
}

const RATES: &str = "upstream.rate = \"5 Mbit/s\"\ndownstream.rate = \"50 Mbit/s\"\n";

#[test]
fn further_service_flows_take_what_their_classifiers_say() {
    let grants = vec![
        number(15, 6, 1),
        number(16, 0x17f, 4),
        number(19, 300, 2),
        number(20, 10_000, 4),
        number(21, 1_000, 4),
        number(22, 2, 1),
    ];
    let [up, down] = primary();
    let voice = flow(24, 3, 0, grants);
    let conditions = vec![
        expedited(),
        number(2, 17, 2),
        number(9, 1, 2),
        number(10, 60_000, 2),
    ];
    let bytes = file(vec![up, voice, down, classifier(22, 1, 3, conditions)]);
    let keys = r#"
        [link.cable.docsis.service_flow.up_3]
        direction = "up"
        scheduling.ugs = { size = "300 B", interval = "10 ms", jitter = "1 ms", grants = 2 }
        request_policy.no_contention = true
        request_policy.no_piggyback = true
        request_policy.no_concatenation = true
        request_policy.no_fragmentation = true
        match.priority = 1
        match.ethertype = "ipv4"
        match.protocol = 17
        match.destination_port = "1-60000"
        match.tos = { low = 0xb8, high = 0xb8, mask = 0xfc }
    "#;
    assert_alike(bytes.clone(), &format!("{RATES}{keys}"));
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    assert_eq!(
        scenario.warnings(),
        ["link.cable.docsis.config: of the file \"home.cm\": \
          upstream_service_flow[2].request_transmission_policy, TLV 24[2].16: of its bits, 1, 2, \
          3, 8 are not simulated"]
    );
}

#[test]
fn every_scheduling_type_has_its_key() {
    let of_type = |kind: u64, more: Vec<Tlv>| {
        let [up, down] = primary();
        let flow = flow(24, 3, 0, [vec![number(15, kind, 1)], more].concat());
        let take = classifier(22, 1, 3, vec![expedited()]);
        file(vec![up, flow, down, take])
    };
    let scheduling = |bytes: Vec<u8>| {
        let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
        let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
        json["link"]["cable"]["docsis"]["service_flow"]["up_3"]["scheduling"].to_string()
    };
    let polls = || vec![number(17, 5_000, 4), number(18, 800, 4)];
    assert_eq!(scheduling(of_type(2, vec![])), "\"best_effort\"");
    assert_eq!(
        scheduling(of_type(3, polls())),
        r#"{"nrtps":{"interval":"5 ms","jitter":"800 us"}}"#
    );
    assert_eq!(
        scheduling(of_type(4, polls())),
        r#"{"rtps":{"interval":"5 ms","jitter":"800 us"}}"#
    );
    let grants = vec![number(44, 2_500, 2), number(45, 500_000, 4)];
    assert_eq!(
        scheduling(of_type(7, grants)),
        r#"{"pgs":{"rate":"500 kbit/s","interval":"2.5 ms"}}"#
    );
    let requests = vec![number(46, 4_000, 2), number(49, 1, 1)];
    assert_eq!(
        scheduling(of_type(7, requests)),
        r#"{"pgs":{"rate":"0 bit/s","request_interval":"4 ms","activity_detection":false}}"#
    );
    let size = vec![number(19, 228, 2)];
    let activity = of_type(5, size);
    assert!(scheduling(activity.clone()).starts_with(r#"{"ugs":{"size":"228 B""#));
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", activity)]);
    assert!(
        scenario.warnings()[0].contains("activity detection"),
        "{:?}",
        scenario.warnings()
    );
}

#[test]
fn classifiers_say_what_those_of_the_scenario_say() {
    let address = |number: u8, text: [u8; 4]| Tlv::new(number, text);
    let ipv4 = vec![
        address(3, [10, 0, 0, 1]),
        address(4, [255, 255, 255, 0]),
        address(5, [10, 1, 0, 0]),
        address(6, [255, 0, 0, 255]),
        number(7, 5000, 2),
        number(8, 5999, 2),
    ];
    let v6 = [vec![0x20, 1, 0xd, 0xb8], vec![0; 12]].concat();
    let ipv6 = Tlv::nested(
        12,
        vec![
            Tlv::new(1, [1, 1, 1]),
            number(3, 6, 2),
            Tlv::new(6, v6),
            number(7, 32, 1),
        ],
    );
    let of_drop = |place: u64, more: Tlv| Tlv::nested(60, vec![number(1, place, 1), more]);
    let vlan = Tlv::nested(11, vec![number(2, 7 << 4, 2)]);
    let arp = Tlv::nested(10, vec![Tlv::new(3, [1, 8, 6])]);
    let [maker, all] = [[2, 0, 0x5e, 0, 0, 0], [255, 255, 255, 0, 0, 0]];
    let macs = vec![
        Tlv::new(1, [maker, all].concat()),
        Tlv::new(2, [2, 0, 0x5e, 0, 0, 1]),
    ];
    let mac = Tlv::nested(10, macs);
    let priority = Tlv::nested(11, vec![Tlv::new(1, [4, 7])]);
    let slow_protocol = Tlv::nested(10, vec![Tlv::new(4, [1])]);
    let [up, down] = primary();
    let bytes = file(vec![
        up,
        down,
        of_drop(1, Tlv::nested(9, ipv4)),
        of_drop(2, ipv6),
        of_drop(3, vlan),
        of_drop(4, arp),
        of_drop(5, mac),
        of_drop(6, priority),
        of_drop(7, slow_protocol),
    ]);
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let drops = &json["link"]["cable"]["docsis"]["drop"];
    let of = |name: &str| drops[name].to_string();
    assert_eq!(
        of("drop_1"),
        concat!(
            r#"{"destination":"10.1.0.0/255.0.0.255","source":"10.0.0.1/24","#,
            r#""source_port":"5000-5999","priority":0}"#
        )
    );
    assert_eq!(
        of("drop_2"),
        concat!(
            r#"{"destination":"2001:db8::/32","protocol":6,"#,
            r#""tos":{"low":1,"high":1,"mask":1},"priority":0}"#
        )
    );
    assert_eq!(of("drop_3"), r#"{"vlan":7,"priority":0}"#);
    assert_eq!(of("drop_4"), r#"{"ethertype":2054,"priority":0}"#);
    assert_eq!(
        of("drop_5"),
        concat!(
            r#"{"destination_mac":"02:00:5e:00:00:00/ff:ff:ff:00:00:00","#,
            r#""source_mac":"02:00:5e:00:00:01","priority":0}"#
        )
    );
    assert_eq!(of("drop_6"), r#"{"user_priority":"4-7","priority":0}"#);
    assert_eq!(of("drop_7"), "null");
    assert!(
        scenario.warnings()[0].contains(
            "TLV 60[7] is left out: its condition slow_protocol_subtype (TLV 60.10.4) is not \
             simulated"
        ),
        "{:?}",
        scenario.warnings()
    );
}

#[test]
fn user_priorities_that_a_tag_cannot_have_are_refused() {
    let of = |range: [u8; 2]| {
        let [up, down] = primary();
        let drop = vec![number(1, 1, 1), Tlv::nested(11, vec![Tlv::new(1, range)])];
        let bytes = file(vec![up, down, Tlv::nested(60, drop)]);
        try_parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]).map(|_| ())
    };
    assert_eq!(of([0, 7]), Ok(()));
    for range in [[7, 4], [4, 8]] {
        let error = of(range).expect_err("no tag has one");
        assert!(
            error.contains("expected user priorities from 0 to 7, the lowest first, found"),
            "{error}"
        );
    }
}

#[test]
fn a_service_class_of_the_scenario_lies_beneath_the_file() {
    let class = |name: &str| Tlv::new(4, [name.as_bytes(), &[0]].concat());
    let up = Tlv::nested(
        24,
        vec![number(1, 1, 2), class("gold"), number(9, 9_000, 4)],
    );
    let down = Tlv::nested(25, vec![number(1, 2, 2), class("2 gold"), number(40, 0, 0)]);
    let text = line_with(
        "service_class.gold.upstream = { rate = \"5 Mbit/s\", burst = \"5 kB\", queue.codel.target \
         = \"7 ms\" }\nservice_class.class_2_gold.downstream.rate = \"50 Mbit/s\"",
    );
    let scenario = parse(
        &text,
        &[("modem", "home.cm")],
        &[("home.cm", file(vec![up.clone(), down]))],
    );
    let keys = "upstream = { rate = \"5 Mbit/s\", burst = \"9 kB\", queue.codel.target = \"7 ms\" \
                }\ndownstream.rate = \"50 Mbit/s\"";
    assert_eq!(run(&scenario), run(&parse(&line_with(keys), &[], &[])));
    // An override of the class reaches the file's flow.
    let faster = parse(
        &text,
        &[
            ("modem", "home.cm"),
            (
                "link.cable.docsis.service_class.gold.upstream.rate",
                "8 Mbit/s",
            ),
        ],
        &[("home.cm", file(vec![up.clone(), flow(25, 2, 0, vec![])]))],
    );
    assert!(
        faster
            .to_json()
            .contains("\"rate\": \"8 Mbit/s\",\n          \"burst\": \"9 kB\""),
        "{}",
        faster.to_json()
    );
    let missing = try_parse(
        &text.replace("gold", "silver"),
        &[("modem", "home.cm")],
        &[("home.cm", file(vec![up]))],
    );
    assert_eq!(
        missing.map(|_| ()),
        Err(
            "home.cm: upstream_service_flow.service_class_name, TLV 24.4: no service class is \
             called \"gold\"; expected one of \"silver\", \"class_2_silver\"; its keys would be in \
             service_class.gold (link.cable.docsis.config)"
                .to_owned()
        )
    );
}

const STREET: &str = r#"
duration = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "3 Mbit/s"
downstream.rate = "30 Mbit/s"
[link.cable.docsis.modem]
gold.count = 2
office.downstream.rate = "40 Mbit/s"
[host]
desk.via = ["cable.office"]
family.via = ["cable.gold"]
[flow.work]
application = "voice"
dscp = 46
host = "desk"
[flow.home]
application = "voice"
dscp = 46
host = "family"
"#;

#[test]
fn a_modem_has_its_own_file_or_that_of_its_line() {
    let with_voice = |rate: u64| {
        let voice = flow(24, 3, 1_000_000, vec![]);
        let take = classifier(22, 1, 3, vec![expedited()]);
        file(vec![
            flow(24, 1, rate, vec![]),
            voice,
            take,
            flow(25, 2, 9_000_000, vec![]),
        ])
    };
    let files = [
        ("street.cm", with_voice(5_000_000)),
        (
            "office.cm",
            file(vec![flow(24, 1, 0, vec![]), flow(25, 2, 8_000_000, vec![])]),
        ),
    ];
    let both = parse(
        STREET,
        &[
            ("link.cable.docsis.config", "street.cm"),
            ("modem.office", "office.cm"),
        ],
        &files,
    );
    let keys = r#"
        upstream.rate = "5 Mbit/s"
        downstream.rate = "9 Mbit/s"
        [link.cable.docsis.modem.gold]
        count = 2
        [link.cable.docsis.modem.gold.service_flow.up_3]
        direction = "up"
        rate = "1 Mbit/s"
        match = { priority = 1, ethertype = "ipv4", tos = { low = 0xb8, high = 0xb8, mask = 0xfc } }
        [link.cable.docsis.modem.office]
        upstream.rate = "unlimited"
        downstream.rate = "8 Mbit/s"
        [host]
    "#;
    let start = STREET.find("upstream.rate").expect("it is there");
    let end = STREET.find("[host]").expect("it is there") + "[host]".len();
    let by_hand = format!("{}{keys}{}", &STREET[..start], &STREET[end..]);
    assert_eq!(run(&both), run(&parse(&by_hand, &[], &[])));
    // A key of a flow that only the file has can be set.
    let set = parse(
        STREET,
        &[
            ("modem.gold", "street.cm"),
            (
                "link.cable.docsis.modem.gold.service_flow.up_3.rate",
                "2 Mbit/s",
            ),
        ],
        &files,
    );
    assert!(
        set.to_json().contains("\"rate\": \"2 Mbit/s\""),
        "{}",
        set.to_json()
    );
    let unknown = try_parse(
        STREET,
        &[
            ("modem.gold", "street.cm"),
            (
                "link.cable.docsis.modem.gold.service_flow.up_4.rate",
                "2 Mbit/s",
            ),
        ],
        &files,
    );
    assert!(unknown.is_err_and(|error| error.contains("no service flow is called \"up_4\"")));
}

#[test]
fn the_short_name_of_a_file_is_refused_where_it_means_nothing() {
    let refuse = |text: &str, path: &str| {
        try_parse(text, &[(path, "home.cm")], &[]).expect_err("it is refused")
    };
    assert_eq!(
        refuse(STREET, "modem"),
        "modem: the line has several modems: expected modem.NAME, with one of the names gold, \
         office; or link.cable.docsis.config, for all that have no file of their own (from --set \
         modem=home.cm)"
    );
    assert_eq!(
        refuse(STREET, "modem.ofice"),
        "link.cable.docsis.modem.ofice.config: no modem is called \"ofice\"; did you mean \
         \"office\"? (from --set modem.ofice=home.cm)"
    );
    assert_eq!(
        refuse(LINE, "modem.home"),
        "modem.home: the line has one modem, which has no name: expected `modem` alone (from --set \
         modem.home=home.cm)"
    );
    let plain =
        "[link.dsl.point_to_point]\nup.rate = \"1 Mbit/s\"\n[flow.call]\napplication = \"voice\"";
    assert_eq!(
        refuse(plain, "modem"),
        "modem: a file configures a cable modem, and this scenario has no cable line \
         (link.NAME.docsis) (from --set modem=home.cm)"
    );
    assert_eq!(
        refuse(LINE, "modem"),
        "link.cable.docsis.config: the file \"home.cm\" cannot be read (from --set modem=home.cm)"
    );
}

#[test]
fn an_error_of_a_file_names_the_file_and_the_place_in_it() {
    let refuse = |bytes: Vec<u8>| {
        let files = [("home.cm", bytes)];
        try_parse(LINE, &[("modem", "home.cm")], &files).expect_err("it is refused")
    };
    let with = |more: Vec<Tlv>| {
        let [up, down] = primary();
        file([vec![up, down], more].concat())
    };
    let key = " (link.cable.docsis.config)";
    let check = "; `headend config check home.cm` lists what is wrong with the file";
    let up = |more: Vec<Tlv>| file(vec![flow(24, 1, 5_000_000, more), flow(25, 2, 0, vec![])]);
    for (bytes, expected) in [
        (
            b"NetworkAccess 1;".to_vec(),
            "home.cm: found a text, expected the binary file that `headend config encode` makes of \
             it (link.cable.docsis.config)".to_owned(),
        ),
        (
            vec![254, 1, 1, 254, 1, 255],
            format!("home.cm: expected the file of a cable modem, which holds service flows; found \
                     the file of a telephone adapter (MTA){key}"),
        ),
        (
            with(vec![number(3, 0, 1)]),
            format!("home.cm: network_access_control, TLV 3: expected 1, found 0: without network \
                     access the modem forwards nothing for its customers{check}{key}"),
        ),
        (
            up(vec![number(9, 100, 4)]),
            "home.cm: upstream_service_flow.maximum_traffic_burst, TLV 24.9: expected at least \
             1522 B, one Ethernet frame, found 100 B (link.cable.docsis.upstream.burst)".to_owned(),
        ),
        (
            up(vec![number(7, 9, 1)]),
            "home.cm: upstream_service_flow.traffic_priority, TLV 24.7: expected a traffic \
             priority from 0 to 7, found 9 (link.cable.docsis.upstream.priority)".to_owned(),
        ),
        (
            up(vec![number(27, 9, 2)]),
            format!("home.cm: upstream_service_flow.peak_traffic_rate, TLV 24.27: expected 4 \
                     bytes, found 2{check}{key}"),
        ),
        (
            up(vec![Tlv::new(35, [2, 4, 0])]),
            format!("home.cm: upstream_service_flow.buffer_control, TLV 24.35: expected TLVs that \
                     fill it, found bytes that do not: a length in it is wrong{check}{key}"),
        ),
        (
            up(vec![buffer(1_000)]),
            "home.cm: upstream_service_flow.buffer_control, TLV 24.35: expected room for one \
             packet of 1500 B at least (1518 B), found \"1 kB\" \
             (link.cable.docsis.upstream.queue.docsis_pie.limit)".to_owned(),
        ),
        (
            with(vec![flow(24, 1, 0, vec![])]),
            format!("home.cm: upstream_service_flow[2].service_flow_reference, TLV 24[2].1: 1 is \
                     the reference of another upstream service flow already{check}{key}"),
        ),
        (
            with(vec![classifier(22, 1, 9, vec![expedited()])]),
            format!("home.cm: upstream_packet_classifier.service_flow_reference, TLV 22.3: no \
                     upstream service flow (TLV 24) of the file has the reference 9{check}{key}"),
        ),
        (
            up(vec![Tlv::nested(40, vec![Tlv::new(6, [0, 2, 0, 1])])]),
            "home.cm: upstream_service_flow.aqm_encodings.latency_histogram_bin_edges, TLV \
             24.40.6: expected ascending upper edges, found 10 us after 20 us \
             (link.cable.docsis.upstream.latency_histogram)".to_owned(),
        ),
        (
            up(vec![Tlv::nested(40, vec![Tlv::new(6, [0, 2, 0])])]),
            format!("home.cm: upstream_service_flow.aqm_encodings.latency_histogram_bin_edges, TLV \
                     24.40.6: expected 2 bytes for each edge, found 3 bytes{check}{key}"),
        ),
    ] {
        assert_eq!(refuse(bytes), expected);
    }
}

#[test]
fn what_a_file_has_beyond_the_model_is_said_once() {
    let [up, _] = primary();
    let inactive = Tlv::nested(24, vec![number(1, 5, 2), number(6, 1, 1)]);
    let bytes = file(vec![
        number(3, 1, 1),
        number(18, 4, 1),
        up,
        inactive,
        flow(
            24,
            6,
            0,
            vec![number(14, 3000, 2), Tlv::nested(40, vec![number(3, 2, 1)])],
        ),
        Tlv::nested(70, vec![number(1, 1, 2)]),
        Tlv::new(213, [1]),
    ]);
    let scenario = parse(
        LINE,
        &[("modem", "home.cm")],
        &[("home.cm", [bytes, vec![24, 9]].concat())],
    );
    assert_eq!(scenario.warnings().len(), 1, "{:?}", scenario.warnings());
    assert_eq!(
        scenario.warnings()[0],
        "link.cable.docsis.config: of the file \"home.cm\": the last 2 B are no TLV, and are not \
         read; upstream_service_flow[2], TLV 24[2] is not active after registration \
         (upstream_service_flow[2].qos_parameter_set_type, TLV 24[2].6): left out; \
         upstream_service_flow[3].aqm_encodings.algorithm, TLV 24[3].40.3 selects immediate AQM, \
         which only the low-latency service flow of an aggregate has: the queue stays the \
         scenario's; upstream_service_flow[3], TLV 24[3] has no classifier, so that no packet \
         would take it: left out; the file has no downstream service flow (TLV 25): the downstream \
         stays the scenario's; not simulated: upstream_service_flow.maximum_concatenated_burst \
         (TLV 24.14); upstream_aggregate_service_flow, TLV 70: no service flow of the file refers \
         to it: not simulated"
    );
}

#[test]
fn a_class_of_service_gives_a_line_of_docsis_1_0_its_rates() {
    let class = Tlv::nested(
        4,
        vec![
            number(1, 1, 1),
            number(2, 8_000_000, 4),
            number(3, 1_000_000, 4),
            number(4, 3, 1),
            number(6, 1600, 2),
        ],
    );
    let bytes = file(vec![class]);
    let old = LINE.replace("docsis31", "docsis10");
    let with_file = parse(&old, &[("modem", "home.cm")], &[("home.cm", bytes.clone())]);
    let keys =
        "upstream.rate = \"1 Mbit/s\"\nupstream.burst = \"1600 B\"\ndownstream.rate = \"8 Mbit/s\"";
    let by_hand = parse(&line_with(keys).replace("docsis31", "docsis10"), &[], &[]);
    assert_eq!(run(&with_file), run(&by_hand));
    assert_alike(bytes, &format!("{keys}\nupstream.priority = 3"));
}

#[test]
fn what_the_model_does_not_have_is_said_unless_it_is_as_without_it() {
    let with = |burst: u64| {
        let more = vec![number(12, 0, 2), number(14, burst, 2)];
        let bytes = file(vec![
            flow(24, 1, 5_000_000, more),
            flow(25, 2, 50_000_000, vec![]),
        ]);
        parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)])
    };
    let is_said = |scenario: &Scenario| {
        let mut warnings = scenario.warnings().iter();
        warnings.any(|warning| warning.contains("not simulated"))
    };
    assert!(!is_said(&with(1522)));
    let other = with(3000);
    assert!(is_said(&other));
    let warnings: Vec<String> = other.warnings().iter().map(ToString::to_string).collect();
    let warnings = warnings.join("\n");
    assert!(
        warnings.contains(
            "not simulated: upstream_service_flow.maximum_concatenated_burst (TLV 24.14)"
        ),
        "{warnings}"
    );
}

#[test]
fn an_override_of_a_part_leaves_the_rest_to_the_file() {
    let polls = vec![
        number(15, 4, 1),
        number(16, 1 << 5 | 1 << 6, 4),
        number(17, 5_000, 4),
        number(18, 800, 4),
    ];
    let [up, down] = primary();
    let take = classifier(22, 1, 3, vec![expedited()]);
    let files = [(
        "home.cm",
        file(vec![up, flow(24, 3, 0, polls.clone()), take, down]),
    )];
    let policy = "link.cable.docsis.service_flow.up_3.request_policy.no_piggyback";
    let overrides = [("modem", "home.cm"), (policy, "true")];
    let json = parse(LINE, &overrides, &files).to_json();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let found = &json["link"]["cable"]["docsis"]["service_flow"]["up_3"]["request_policy"];
    for key in ["no_piggyback", "no_concatenation", "no_fragmentation"] {
        assert_eq!(found[key], true, "{key}: {found}");
    }
    // The required files can be listed although an override sets a service flow that only the file
    // has.
    let needed = required_files(LINE, Format::Toml, &set(&overrides)).expect("it can be read");
    assert_eq!(needed.len(), 1);
    let jitter = "link.cable.docsis.upstream.scheduling.rtps.jitter";
    let [_, down] = primary();
    let files = [("home.cm", file(vec![flow(24, 1, 0, polls), down]))];
    let json = parse(LINE, &[("modem", "home.cm"), (jitter, "900 us")], &files).to_json();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let found = &json["link"]["cable"]["docsis"]["upstream"];
    assert_eq!(
        found["scheduling"].to_string(),
        r#"{"rtps":{"interval":"5 ms","jitter":"900 us"}}"#
    );
}

#[test]
fn the_text_names_the_file_of_one_modem() {
    let text = STREET.replace(
        "office.downstream",
        "office.config = \"office.cm\"\noffice.downstream",
    );
    let files = [(
        "office.cm",
        file(vec![
            flow(24, 1, 4_000_000, vec![]),
            flow(25, 2, 8_000_000, vec![]),
        ]),
    )];
    let needed = required_files(&text, Format::Toml, &[]);
    let expected = RequiredFile {
        name: "office.cm".to_owned(),
        set_by: None,
        kind: FileKind::Config,
    };
    assert_eq!(needed, Ok(vec![expected]));
    let scenario = parse(&text, &[], &files);
    assert_eq!(
        scenario.warnings(),
        [
            "link.cable.docsis.modem.office.config: keys of the scenario or of --set go before the \
             file \"office.cm\": modem.office.downstream.rate (40 Mbit/s, not 8 Mbit/s)"
        ]
    );
    let by_hand = STREET.replace(
        "office.downstream",
        "office.upstream.rate = \"4 Mbit/s\"\noffice.downstream",
    );
    assert_eq!(run(&scenario), run(&parse(&by_hand, &[], &[])));
}

#[test]
fn a_file_takes_the_place_of_the_further_flows_that_the_text_has() {
    let text = line_with(
        "[link.cable.docsis.service_flow.voice]\ndirection = \"up\"\nscheduling = \"ugs\"\n\
         match.dscp = 46\n[link.cable.docsis.drop.junk]\nport = 9",
    );
    let bytes = file(primary().to_vec());
    let scenario = parse(&text, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    let queues: Vec<String> = scenario.queues().collect();
    assert_eq!(queues, ["cable.up", "cable.down"]);
    assert_eq!(
        scenario.warnings(),
        [
            "link.cable.docsis.config: the file \"home.cm\" replaces service_flow.voice (left \
             out), drop.junk (left out)"
        ]
    );
}

#[test]
fn a_file_of_many_service_flows_or_classifiers_is_refused_at_once() {
    let flows: Vec<Tlv> = (1..=2000)
        .map(|reference| flow(24, reference, 0, vec![]))
        .collect();
    let refused = try_parse(LINE, &[("modem", "home.cm")], &[("home.cm", file(flows))]);
    assert_eq!(
        refused.map(|_| ()),
        Err("home.cm: 2000 service flows are more than 1000 (link.cable.docsis.config)".to_owned())
    );
    let drop = Tlv::nested(60, vec![number(5, 1, 1)]);
    let drops = [primary().to_vec(), vec![drop; 2000]].concat();
    let refused = try_parse(LINE, &[("modem", "home.cm")], &[("home.cm", file(drops))]);
    assert_eq!(
        refused.map(|_| ()),
        Err("home.cm: 2000 classifiers are more than 1000 (link.cable.docsis.config)".to_owned())
    );
}

#[test]
fn a_modem_with_a_file_has_nothing_of_the_file_of_its_line() {
    let histogram = Tlv::nested(40, vec![number(2, 20, 1), Tlv::new(6, [0, 100, 1, 0])]);
    let files = [
        (
            "street.cm",
            file(vec![
                flow(24, 1, 5_000_000, vec![buffer(100_000), histogram]),
                flow(25, 2, 9_000_000, vec![buffer(200_000)]),
            ]),
        ),
        ("office.cm", file(primary().into())),
    ];
    let overrides = [
        ("link.cable.docsis.config", "street.cm"),
        ("modem.office", "office.cm"),
    ];
    let both = parse(STREET, &overrides, &files);
    let alone = parse(STREET, &overrides[1..], &files);
    let office = |scenario: &Scenario| {
        let (bytes, _) = scenario
            .modem_file(Some("office"), false)
            .expect("it has a file");
        File::decode(&bytes.encode())
    };
    assert_eq!(office(&both), office(&alone));
    let json = both.to_json();
    let again = Scenario::parse(&json, Format::Json, &[], &BTreeMap::new()).expect("it is right");
    assert_eq!(again.raw(), both.raw());
    // A service class goes before the line, and so does its queue.
    let class =
        "service_class.tier.upstream.queue.drop_tail.limit = \"30 kB\"\n[link.cable.docsis.modem]";
    let text = STREET
        .replace("[link.cable.docsis.modem]", class)
        .replace("office.", "office.service_class = \"tier\"\noffice.");
    let json = parse(&text, &overrides, &files).to_json();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let office = &json["link"]["cable"]["docsis"]["modem"]["office"];
    assert_eq!(office["upstream"]["queue"].to_string(), "null");
    assert_eq!(office["upstream"]["latency_histogram"].to_string(), "[]");
}

#[test]
fn overrides_stand_in_any_order() {
    let bytes = file(vec![
        flow(24, 1, 5_000_000, vec![]),
        flow(24, 3, 1_000_000, vec![]),
        classifier(22, 1, 3, vec![expedited()]),
        flow(25, 2, 9_000_000, vec![]),
    ]);
    let rate = ("link.cable.docsis.service_flow.up_3.rate", "2 Mbit/s");
    let named = ("modem", "home.cm");
    let files = [("home.cm", bytes)];
    let before = parse(LINE, &[rate, named], &files);
    let after = parse(LINE, &[named, rate], &files);
    assert_eq!(before.raw(), after.raw());
}

#[test]
fn what_another_file_leaves_of_a_stored_scenario_is_said() {
    let first = file(vec![
        flow(24, 1, 5_000_000, vec![buffer(40_000)]),
        flow(25, 2, 9_000_000, vec![buffer(80_000)]),
    ]);
    let json = parse(LINE, &[("modem", "home.cm")], &[("home.cm", first)]).to_json();
    let other = file(vec![
        flow(24, 1, 2_000_000, vec![]),
        flow(25, 2, 9_000_000, vec![buffer(90_000)]),
    ]);
    let files = BTreeMap::from([("other.cm".to_owned(), other)]);
    let overrides = set(&[("modem", "other.cm")]);
    let changed = Scenario::parse(&json, Format::Json, &overrides, &files).expect("it is right");
    assert!(
        changed.warnings().contains(
            &"link.cable.docsis.config: the scenario has read another file before, and the file \
              \"other.cm\" leaves open what may be of that: upstream.queue"
                .to_owned()
        ),
        "{:?}",
        changed.warnings()
    );
}

#[test]
fn a_value_that_a_scheduling_type_needs_and_the_file_has_not_is_said() {
    let warnings = |kind: u64, more: Vec<Tlv>| {
        let [up, down] = primary();
        let flow = flow(24, 3, 0, [vec![number(15, kind, 1)], more].concat());
        let take = classifier(22, 1, 3, vec![expedited()]);
        let bytes = file(vec![up, flow, down, take]);
        let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
        scenario.warnings().join("\n")
    };
    let start = "link.cable.docsis.config: of the file \"home.cm\": \
                 upstream_service_flow[2].scheduling_type, TLV 24[2].15 is without a value that it \
                 needs: the model assumes ";
    assert_eq!(
        warnings(6, vec![]),
        format!(
            "{start}a grant size of 228 B (TLV 24.19) and a grant interval of 20 ms (TLV 24.20)"
        )
    );
    let interval = number(20, 20_000, 4);
    assert_eq!(
        warnings(6, vec![interval]),
        format!("{start}a grant size of 228 B (TLV 24.19)")
    );
    assert_eq!(
        warnings(4, vec![]),
        format!("{start}a polling interval of 20 ms (TLV 24.17)")
    );
    assert_eq!(warnings(4, vec![number(17, 9_000, 4)]), "");
}

#[test]
fn a_mask_of_other_interfaces_takes_no_packets_of_customers() {
    let match_of = |mask: [u8; 4], more: Vec<Tlv>| {
        let start = vec![number(1, 1, 1), number(3, 3, 2), Tlv::new(13, mask)];
        let take = Tlv::nested(22, [start, more].concat());
        let [up, down] = primary();
        let bytes = file(vec![up, flow(24, 3, 0, vec![]), down, take]);
        let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
        let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
        let found = &json["link"]["cable"]["docsis"]["service_flow"]["up_3"]["match"];
        (found.to_string(), scenario.warnings().join("\n"))
    };
    // Bit 1 is the customers' interface, bit 16 a telephone adapter in the modem.
    let customers = match_of([0x40, 0, 0, 0], vec![]);
    assert_eq!(customers, (r#"{"priority":0}"#.to_owned(), String::new()));
    let (found, warnings) = match_of([0, 0, 0x80, 0], vec![]);
    assert_eq!(found, "null");
    assert!(
        warnings.contains(
            "TLV 22 is left out: its condition cm_interface_mask (TLV 22.13) is not simulated"
        ),
        "{warnings}"
    );
    // The scenario's call may be that of the adapter.
    let (found, _) = match_of([0, 0, 0x80, 0], vec![Tlv::nested(9, vec![expedited()])]);
    assert!(found.contains("\"tos\""), "{found}");
}

#[test]
fn a_classifier_of_the_primary_service_flow_that_goes_before_another_is_said() {
    let warnings = |of_primary: u64, of_voice: u64| {
        let [up, down] = primary();
        let take = |place: u64, flow: u64| classifier(22, place, flow, vec![expedited()]);
        let bytes = file(vec![
            take(of_primary, 1),
            take(of_voice, 3),
            up,
            flow(24, 3, 0, vec![]),
            down,
        ]);
        let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
        scenario.warnings().join("\n")
    };
    let start = "link.cable.docsis.config: of the file \"home.cm\": upstream_packet_classifier[1], \
                 TLV 22[1] is left out: it sends packets to the primary service flow, ";
    assert_eq!(
        warnings(1, 2),
        format!("{start}which takes all packets that no other classifier takes")
    );
    assert_eq!(
        warnings(2, 1),
        format!(
            "{start}whose classifiers are not simulated; packets that \
             upstream_packet_classifier[2], TLV 22[2] matches too leave the primary service flow"
        )
    );
}

#[test]
fn the_default_buffer_keeps_the_bounds_and_has_room_for_a_packet() {
    let queue = |preset: &str, name: &str, flows: Vec<Tlv>| {
        let settings = vec![number(68, 100, 2), flow(25, 2, 0, vec![])];
        let bytes = file([settings, flows].concat());
        let text = LINE.replace("docsis31", preset);
        let scenario = parse(&text, &[("modem", "home.cm")], &[("home.cm", bytes)]);
        let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
        let line = &json["link"]["cable"]["docsis"];
        let queue = match name {
            "upstream" => &line[name]["queue"],
            further => &line["service_flow"][further]["queue"],
        };
        let kind = if queue["docsis_pie"].is_object() {
            &queue["docsis_pie"]["limit"]
        } else if queue["buffer_control"].is_object() {
            &queue["buffer_control"]["target"]
        } else {
            &queue["drop_tail"]["limit"]
        };
        kind.as_str().unwrap_or_default().to_owned()
    };
    // 100 ms at 10 Mbit/s are 125 kB.
    let bounded = |place: u8, bound: u64| {
        let bounds = Tlv::nested(35, vec![number(place, bound, 4)]);
        vec![flow(24, 1, 10_000_000, vec![bounds])]
    };
    for preset in ["docsis30", "docsis31"] {
        assert_eq!(queue(preset, "upstream", bounded(3, 60_000)), "60 kB");
        assert_eq!(queue(preset, "upstream", bounded(1, 200_000)), "200 kB");
    }
    let slow = vec![flow(24, 1, 80_000, vec![])];
    assert_eq!(queue("docsis31", "upstream", slow), "2 KiB");
    let grants = vec![
        number(15, 6, 1),
        number(19, 228, 2),
        number(20, 20_000, 4),
        number(21, 800, 4),
    ];
    let voice = || {
        vec![
            flow(24, 1, 10_000_000, vec![]),
            Tlv::nested(24, [vec![number(1, 3, 2)], grants.clone()].concat()),
            classifier(22, 1, 3, vec![expedited()]),
        ]
    };
    assert_eq!(queue("docsis31", "up_3", voice()), "250 ms");
    assert_eq!(queue("docsis31", "upstream", voice()), "100 ms");
}

/// A file whose upstream service flow has a buffer and a target of DOCSIS-PIE, and is without AQM.
fn without_aqm(of_all: bool) -> Vec<u8> {
    let aqm = |number_of_all: Vec<Tlv>| Tlv::nested(40, number_of_all);
    let target = number(2, 20, 1);
    let more = if of_all {
        vec![buffer(40_000), aqm(vec![target])]
    } else {
        vec![buffer(40_000), aqm(vec![number(1, 1, 1), target])]
    };
    let [_, down] = primary();
    let mut tlvs = vec![flow(24, 1, 5_000_000, more), down];
    tlvs.extend(of_all.then(|| number(76, 1, 1)));
    file(tlvs)
}

#[test]
fn a_queue_without_aqm_is_a_buffer_whatever_aqm_the_file_gives() {
    let text = line_with("upstream.queue.drop_tail.limit = \"250 ms\"");
    for (of_all, key) in [
        (false, "upstream.aqm_disabled = true"),
        (true, "upstream_aqm_disabled = true"),
    ] {
        let files = [("home.cm", without_aqm(of_all))];
        let scenario = parse(&text, &[("modem", "home.cm")], &files);
        let keys = format!("{RATES}upstream.queue.buffer_control.target = \"40000 B\"\n{key}");
        assert_eq!(run(&scenario), run(&parse(&line_with(&keys), &[], &[])));
        assert_eq!(
            scenario.warnings(),
            [
                "link.cable.docsis.config: the file \"home.cm\" replaces upstream.queue (drop_tail \
                 of 250 ms → buffer_control of 40 kB, AQM off)"
            ]
        );
        // Without a queue in the scenario, it would be DOCSIS-PIE.
        assert_alike(files[0].1.clone(), &keys);
    }
}

#[test]
fn an_override_of_a_queue_has_its_aqm_whatever_the_file_disables() {
    let keys =
        format!("{RATES}upstream.queue.docsis_pie = {{ limit = \"40000 B\", target = \"20 ms\" }}");
    let by_keys = run(&parse(&line_with(&keys), &[], &[]));
    for (of_all, tlv) in [
        (
            false,
            "upstream_service_flow.aqm_encodings.aqm_disable, TLV 24.40.1",
        ),
        (true, "upstream_aqm_disable, TLV 76"),
    ] {
        let files = [("home.cm", without_aqm(of_all))];
        let overrides = [("modem", "home.cm"), ("queue", "docsis_pie")];
        let text = line_with("upstream.queue.drop_tail.limit = \"250 ms\"");
        let text = text.replace("[link.cable", "bottleneck = \"cable.up\"\n[link.cable");
        let scenario = parse(&text, &overrides, &files);
        assert_eq!(run(&scenario), by_keys, "{}", scenario.to_json());
        assert_eq!(
            scenario.warnings(),
            [format!(
                "link.cable.docsis.config: of the file \"home.cm\": {tlv} is not used: an override \
                 of upstream.queue goes before it"
            )]
        );
        // An override may disable it again.
        let off = ("link.cable.docsis.upstream.aqm_disabled", "true");
        let both = parse(&text, &[overrides[0], overrides[1], off], &files);
        assert_ne!(run(&both), by_keys);
    }
}

#[test]
fn an_override_of_a_queue_that_only_the_file_has_leaves_the_others_without_aqm() {
    let [up, down] = primary();
    let more = vec![buffer(40_000)];
    let further = flow(24, 3, 1_000_000, more);
    let take = classifier(22, 1, 3, vec![expedited()]);
    let bytes = file(vec![up, further, take, down, number(76, 1, 1)]);
    let queue = "link.cable.docsis.service_flow.up_3.queue";
    let overrides = [("modem", "home.cm"), (queue, "docsis_pie")];
    let scenario = parse(LINE, &overrides, &[("home.cm", bytes)]);
    let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let line = &json["link"]["cable"]["docsis"];
    assert_ne!(line["upstream_aqm_disabled"], true);
    assert_eq!(line["upstream"]["aqm_disabled"], true);
    let further = &line["service_flow"]["up_3"];
    assert_ne!(further["aqm_disabled"], true);
    assert_eq!(further["queue"]["docsis_pie"]["limit"], "40 kB");
}

#[test]
fn a_buffer_that_the_file_leaves_open_stays_the_scenarios() {
    let text = line_with("upstream.queue.drop_tail.limit = \"250 ms\"");
    let files = [("home.cm", file(primary().to_vec()))];
    let scenario = parse(&text, &[("modem", "home.cm")], &files);
    assert_eq!(
        scenario.warnings(),
        [
            "link.cable.docsis.config: of the file \"home.cm\": upstream_service_flow, TLV 24 sets \
             no buffer: the scenario's 250 ms stays"
        ]
    );
    // Nothing is left open where the file has one, or an override writes the queue.
    let own = flow(24, 1, 5_000_000, vec![buffer(40_000)]);
    let [_, down] = primary();
    let with_buffer = [("home.cm", file(vec![own, down]))];
    let given = parse(&text, &[("modem", "home.cm")], &with_buffer);
    assert!(!given.warnings()[0].contains("sets no buffer"));
    let queue = ("link.cable.docsis.upstream.queue.drop_tail.limit", "90 ms");
    let set = parse(&text, &[("modem", "home.cm"), queue], &files);
    assert_eq!(set.warnings(), [""; 0]);
}

/// The upstream queue of a scenario.
fn upstream_queue(scenario: &Scenario) -> serde_json::Value {
    let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    json["link"]["cable"]["docsis"]["upstream"]["queue"].clone()
}

/// A file whose upstream service flow has these TLVs, and more of the modem.
fn with_upstream(more: Vec<Tlv>, of_modem: Option<Tlv>) -> Vec<u8> {
    let [_, down] = primary();
    let mut tlvs = vec![flow(24, 1, 10_000_000, more), down];
    tlvs.extend(of_modem);
    file(tlvs)
}

#[test]
fn aqm_that_the_file_turns_on_is_docsis_pie_whatever_the_scenario_writes() {
    let aqm = |parts: Vec<Tlv>| Tlv::nested(40, parts);
    let is_on = number(1, 0, 1);
    // What turns it on, of the modem or of the flow; and the target that follows.
    let cases = [
        (vec![aqm(vec![is_on.clone()])], None, "10 ms"),
        (
            vec![aqm(vec![is_on.clone(), number(2, 20, 1)])],
            None,
            "20 ms",
        ),
        (vec![aqm(vec![is_on, number(2, 0, 1)])], None, "10 ms"),
        (vec![aqm(vec![number(3, 0, 1)])], None, "10 ms"),
        (vec![aqm(vec![number(3, 1, 1)])], None, "10 ms"),
        (vec![], Some(number(76, 0, 1)), "10 ms"),
    ];
    let text = line_with("upstream.queue.drop_tail.limit = \"250 ms\"");
    for (more, of_modem, target) in cases {
        let shown = format!("{more:?} {of_modem:?}");
        let more = [vec![buffer(100_000)], more].concat();
        let files = [("home.cm", with_upstream(more, of_modem))];
        let scenario = parse(&text, &[("modem", "home.cm")], &files);
        let queue = upstream_queue(&scenario);
        let found = &queue["docsis_pie"];
        assert_eq!(found["target"], target, "{shown}: {queue}");
        assert_eq!(found["limit"], "100 kB", "{shown}: {queue}");
        assert_eq!(
            scenario.warnings(),
            [
                "link.cable.docsis.config: the file \"home.cm\" replaces upstream.queue (drop_tail \
                 of 250 ms → docsis_pie)"
            ],
            "{shown}"
        );
        // An override goes before the file.
        let overrides = [
            ("modem", "home.cm"),
            ("link.cable.docsis.upstream.queue", "codel"),
        ];
        let set = upstream_queue(&parse(&text, &overrides, &files));
        assert!(set["codel"].is_object(), "{shown}: {set}");
    }
}

#[test]
fn a_target_that_the_file_leaves_out_is_the_default_where_the_file_turns_aqm_on() {
    let text = line_with("upstream.queue.docsis_pie.target = \"30 ms\"");
    let of = |more: Vec<Tlv>| {
        let files = [("home.cm", with_upstream(more, None))];
        let scenario = parse(&text, &[("modem", "home.cm")], &files);
        upstream_queue(&scenario)["docsis_pie"]["target"].clone()
    };
    assert_eq!(of(vec![Tlv::nested(40, vec![number(1, 0, 1)])]), "10 ms");
    // Edges of a histogram say nothing of AQM.
    assert_eq!(of(vec![]), "30 ms");
    assert_eq!(
        of(vec![Tlv::nested(40, vec![Tlv::new(6, [0, 100])])]),
        "30 ms"
    );
}

#[test]
fn aqm_that_the_file_turns_on_has_the_buffer_of_the_generation() {
    let text = LINE.replace("docsis31", "docsis30");
    let aqm = vec![Tlv::nested(40, vec![number(1, 0, 1)])];
    let files = [("home.cm", with_upstream(aqm, None))];
    let queue = upstream_queue(&parse(&text, &[("modem", "home.cm")], &files));
    assert_eq!(queue["docsis_pie"]["limit"], "256 KiB");
}

#[test]
fn flows_with_grants_of_their_own_have_no_aqm_by_a_switch_of_the_modem() {
    let grants = vec![
        number(15, 6, 1),
        number(19, 228, 2),
        number(20, 20_000, 4),
        number(21, 800, 4),
    ];
    let bytes = file(vec![
        flow(24, 1, 10_000_000, vec![]),
        Tlv::nested(24, [vec![number(1, 3, 2)], grants].concat()),
        classifier(22, 1, 3, vec![expedited()]),
        flow(25, 2, 0, vec![]),
        number(76, 0, 1),
    ]);
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let line = &json["link"]["cable"]["docsis"];
    assert!(line["service_flow"]["up_3"]["queue"]["drop_tail"].is_object());
    assert!(line["downstream"]["queue"]["drop_tail"].is_object());
    assert!(line["upstream"]["queue"]["docsis_pie"].is_object());
}

#[test]
fn bounds_without_a_target_bound_the_buffer_that_there_is() {
    let bounds =
        |least: u64, most: u64| Tlv::nested(35, vec![number(1, least, 4), number(3, most, 4)]);
    let off = || Tlv::nested(40, vec![number(1, 1, 1)]);
    let no_most = 0xffff_ffff;
    let of = |text: &str, more: Vec<Tlv>| {
        let files = [("home.cm", with_upstream(more, None))];
        let scenario = parse(text, &[("modem", "home.cm")], &files);
        (upstream_queue(&scenario), scenario.warnings().join("\n"))
    };
    // As delivered, 250 ms at 10 Mbit/s are 312500 B.
    let (queue, _) = of(LINE, vec![bounds(0, 30_000)]);
    assert_eq!(queue["docsis_pie"]["limit"], "30 kB");
    let (queue, _) = of(LINE, vec![bounds(400_000, no_most)]);
    assert_eq!(queue["docsis_pie"]["limit"], "400 kB");
    let (queue, _) = of(LINE, vec![bounds(100_000, 400_000)]);
    assert_eq!(queue["docsis_pie"]["limit"], "250 ms");
    let (queue, _) = of(LINE, vec![bounds(0, 30_000), off()]);
    assert_eq!(queue["buffer_control"]["target"], "30 kB");
    let (queue, _) = of(LINE, vec![bounds(100_000, no_most), off()]);
    assert_eq!(queue["docsis_pie"]["limit"], "250 ms");
    // 256 KiB as delivered.
    let older = LINE.replace("docsis31", "docsis30");
    let (queue, _) = of(&older, vec![bounds(0, 30_000)]);
    assert_eq!(queue["buffer_control"]["target"], "30 kB");
    let (queue, _) = of(&older, vec![bounds(0, 300_000)]);
    assert_eq!(queue["drop_tail"]["limit"], "256 KiB");
    // What the scenario writes stays, within the bounds: 80 ms are 100000 B.
    let written = line_with("upstream.queue.drop_tail.limit = \"80 ms\"");
    let (queue, told) = of(&written, vec![bounds(50_000, no_most)]);
    assert_eq!(queue["drop_tail"]["limit"], "80 ms");
    assert!(
        told.contains(
            "upstream.queue: its buffer is within the bounds of the file (at least 50 kB)"
        ),
        "{told}"
    );
    let (queue, told) = of(&written, vec![bounds(0, 60_000)]);
    assert_eq!(queue["buffer_control"]["target"], "60 kB");
    assert!(
        told.contains("(drop_tail of 80 ms → buffer_control of 60 kB)"),
        "{told}"
    );
}

#[test]
fn a_file_for_several_modems_is_said_to_be() {
    let text = STREET
        .replace(
            "gold.count = 2",
            "gold = { count = 100, service_class = \"fast\" }",
        )
        .replace(
            "[link.cable.docsis.modem]",
            "[link.cable.docsis.service_class]\nfast.upstream.rate = \"9 Mbit/s\"\n\
             [link.cable.docsis.modem]",
        );
    let files = [("home.cm", file(primary().to_vec()))];
    let of = |path: &str| {
        let scenario = parse(&text, &[(path, "home.cm")], &files);
        let said = scenario.warnings().iter().cloned();
        said.filter(|warning| warning.contains("configures"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of("modem.gold"),
        [
            "link.cable.docsis.modem.gold.config: the file \"home.cm\" configures all 100 modems, \
             whose service classes give only what no file says"
        ]
    );
    assert_eq!(
        of("link.cable.docsis.config"),
        [
            "link.cable.docsis.config: the file \"home.cm\" configures all 101 modems, whose \
             service classes give only what no file says"
        ]
    );
    assert_eq!(of("modem.office"), [""; 0]);
}

#[test]
fn a_classifier_of_a_dscp_that_no_flow_has_says_how_to_give_it_one() {
    let [up, down] = primary();
    let voice = flow(24, 3, 1_000_000, vec![]);
    let take = classifier(22, 1, 3, vec![expedited()]);
    let files = [("home.cm", file(vec![up, voice, take, down]))];
    let plain = LINE.replace("dscp = 46\n", "");
    let scenario = parse(&plain, &[("modem", "home.cm")], &files);
    assert_eq!(
        scenario.warnings(),
        [
            "link.cable.docsis.service_flow.up_3.match: no packet of this scenario's flows \
             matches, so nothing is classified by it; no flow has its DSCP: try `--set \
             flow.NAME.dscp=46`"
        ]
    );
}

/// An upstream aggregate of 20 Mbit/s, or of another limit.
fn aggregate(reference: u64, limit: Tlv, more: Vec<Tlv>) -> Tlv {
    let start = [number(1, reference, 2), limit, number(41, 2, 1)];
    Tlv::nested(70, start.into_iter().chain(more).collect())
}

#[test]
fn a_service_flow_without_a_rate_has_the_limits_of_its_aggregate() {
    let [_, down] = primary();
    let of_first = || number(36, 1, 2);
    let limits = vec![
        number(9, 100_000, 4),
        number(27, 30, 4),
        Tlv::nested(42, vec![number(1, 3, 2)]),
    ];
    let tlvs = |limit: Tlv| {
        file(vec![
            flow(24, 1, 0, vec![of_first()]),
            flow(24, 3, 1_000_000, vec![of_first(), number(9, 9_000, 4)]),
            classifier(22, 1, 3, vec![expedited()]),
            flow(
                24,
                4,
                0,
                vec![of_first(), number(9, 9_000, 4), number(27, 50_000_000, 4)],
            ),
            classifier(22, 2, 4, vec![number(2, 17, 2)]),
            down.clone(),
            aggregate(1, limit, limits.clone()),
        ])
    };
    let bytes = tlvs(number(8, 20, 4));
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    let json: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    let line = &json["link"]["cable"]["docsis"];
    for (found, rate, peak, burst) in [
        (&line["upstream"], "20 Mbit/s", "30 Mbit/s", "100 kB"),
        (
            &line["service_flow"]["up_4"],
            "20 Mbit/s",
            "50 Mbit/s",
            "9 kB",
        ),
    ] {
        assert_eq!(found["rate"], rate);
        assert_eq!(found["peak"], peak);
        assert_eq!(found["burst"], burst);
    }
    let own = &line["service_flow"]["up_3"];
    assert_eq!(
        (&own["rate"], &own["burst"]),
        (&"1 Mbit/s".into(), &"9 kB".into())
    );
    assert_eq!(
        scenario.warnings()[0],
        "link.cable.docsis.config: of the file \"home.cm\": upstream_aggregate_service_flow, TLV \
         70: each of its service flows without a rate of its own gets the aggregate's 20 Mbit/s; \
         that they share it is not simulated, nor is its low latency: of its 3 service flows the \
         model has two"
    );
    // Without a limit there is nothing to give.
    let open = parse(
        LINE,
        &[("modem", "home.cm")],
        &[("home.cm", tlvs(number(8, 0, 4)))],
    );
    let json: serde_json::Value = serde_json::from_str(&open.to_json()).expect("JSON");
    assert_eq!(
        json["link"]["cable"]["docsis"]["upstream"]["burst"],
        "3044 B"
    );
    assert!(
        open.warnings()[0].contains("TLV 70: that its service flows share limits is not simulated")
    );
}

#[test]
fn an_aggregate_that_is_not_there_is_said() {
    let [_, down] = primary();
    let up = flow(24, 1, 5_000_000, vec![number(36, 7, 2)]);
    let bytes = file(vec![
        up,
        down.clone(),
        aggregate(1, number(8, 20, 4), vec![]),
    ]);
    let scenario = parse(LINE, &[("modem", "home.cm")], &[("home.cm", bytes)]);
    assert_eq!(
        scenario.warnings(),
        ["link.cable.docsis.config: of the file \"home.cm\": \
          upstream_service_flow.aggregate_service_flow_reference, TLV 24.36: no upstream aggregate \
          of the file has the reference 7; upstream_aggregate_service_flow, TLV 70: no service \
          flow of the file refers to it: not simulated"]
    );
    // A service class has a rate of its own.
    let class = Tlv::new(4, b"gold\0".to_vec());
    let up = Tlv::nested(24, vec![number(1, 1, 2), class, number(36, 1, 2)]);
    let bytes = file(vec![up, down, aggregate(1, number(8, 20, 4), vec![])]);
    let text = line_with("service_class.gold.upstream.rate = \"5 Mbit/s\"");
    let json = parse(&text, &[("modem", "home.cm")], &[("home.cm", bytes)]).to_json();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        json["link"]["cable"]["docsis"]["upstream"]["rate"],
        "5 Mbit/s"
    );
}
