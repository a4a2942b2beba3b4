//! Tests of low latency in modems' configuration files: an aggregate of two service flows (TLVs 70
//! and 71) is the keys of `low_latency`, a scenario with these keys has such a file, and aggregates
//! that the model cannot have are said.

mod from_text;

use std::collections::BTreeMap;

use docsis_config::{File, Kind, Tlv};
use from_text::Tables;
use headend::scenario::{Format, Override, Scenario};
use headend::time::Instant;
use serde_json::Value;

/// A home with a call of DSCP 46, an L4S and another upload, and a download.
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
[flow.scalable]
application = "bulk"
direction = "up"
tcp.congestion = "prague"
[flow.download]
application = "bulk"
direction = "down"
"#;

/// `LINE` with more keys of the cable line.
fn line_with(keys: &str) -> String {
    LINE.replace("[flow.call]", &format!("{keys}\n[flow.call]"))
}

fn try_parse(
    text: &str,
    overrides: &[(&str, &str)],
    file: Option<&[u8]>,
) -> Result<Scenario, String> {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    let mut overrides: Vec<Override> = overrides.iter().map(owned).collect();
    let mut files = BTreeMap::new();
    if let Some(file) = file {
        overrides.insert(0, ("modem".to_owned(), "home.cm".to_owned()));
        files.insert("home.cm".to_owned(), file.to_vec());
    }
    Scenario::parse(text, Format::Toml, &overrides, &files).map_err(|error| error.to_string())
}

#[track_caller]
fn parse(text: &str, overrides: &[(&str, &str)], file: Option<&[u8]>) -> Scenario {
    try_parse(text, overrides, file).unwrap_or_else(|error| panic!("it is right: {error}"))
}

/// All columns of all tables of a run, as text.
fn run(scenario: &Scenario) -> BTreeMap<String, String> {
    let mut simulation = scenario.build(1);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    let mut found = BTreeMap::new();
    for (table, content) in Tables(simulation.tables()).0 {
        for (name, column) in content.columns {
            found.insert(format!("{table}.{name}"), format!("{column:?}"));
        }
    }
    found
}

/// Two runs have the same results.
#[track_caller]
fn assert_same(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>, what: &str) {
    assert!(one.keys().eq(other.keys()), "{what}: other columns");
    let pairs = one.iter().zip(other.values());
    let differing: Vec<String> = (pairs.filter(|((_, one), other)| one != other))
        .map(|((name, one), other)| format!("{name}: {one:.300} and {other:.300}"))
        .collect();
    assert_eq!(differing, [""; 0], "{what}");
}

fn file(tlvs: Vec<Tlv>) -> Vec<u8> {
    let (kind, rest) = (Kind::CableModem, Vec::new());
    File { kind, tlvs, rest }.encode()
}

/// A setting of a number with so many bytes.
fn number(number: u8, value: u64, width: usize) -> Tlv {
    Tlv::new(number, &value.to_be_bytes()[8 - width..])
}

/// A service flow of an aggregate with the same reference as its direction's.
fn flow(kind: u8, reference: u64, more: Vec<Tlv>) -> Tlv {
    let of = number(36, u64::from(kind) - 23, 2);
    let start = [number(1, reference, 2), number(6, 7, 1), of];
    Tlv::nested(kind, start.into_iter().chain(more).collect())
}

/// A classifier of a service flow for a range of the type-of-service byte.
fn classifier(kind: u8, flow: u64, tos: [u8; 3]) -> Tlv {
    let conditions = Tlv::nested(9, vec![Tlv::new(1, tos)]);
    let tlvs = vec![number(1, 1, 1), number(3, flow, 2), conditions];
    Tlv::nested(kind, tlvs)
}

const EXPEDITED: [u8; 3] = [0xb8, 0xb8, 0xfc];
const L4S: [u8; 3] = [1, 1, 1];

/// An aggregate of so many Mbit/s, with low-latency encodings.
fn aggregate(kind: u8, rate: u64, encodings: Vec<Tlv>) -> Tlv {
    let reference = number(1, u64::from(kind) - 69, 2);
    let rates = [number(8, rate, 4), number(41, 2, 1)];
    let low_latency = Tlv::nested(42, encodings);
    let all = [reference].into_iter().chain(rates).chain([low_latency]);
    Tlv::nested(kind, all.collect())
}

/// The service flows 1 and 3 of an upstream aggregate, a downstream service flow, and more.
fn simple(encodings: Vec<Tlv>, more: Vec<Tlv>) -> Vec<u8> {
    let tlvs = vec![
        classifier(22, 3, L4S),
        flow(24, 1, vec![]),
        flow(24, 3, vec![]),
        Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]),
        aggregate(70, 20, [vec![number(1, 3, 2)], encodings].concat()),
    ];
    file([tlvs, more].concat())
}

/// The keys of `simple` without encodings.
const SIMPLE: &str = r#"
upstream.rate = "20 Mbit/s"
upstream.low_latency.match = { ethertype = "ipv4", tos = { low = 1, high = 1, mask = 1 } }
downstream.rate = "50 Mbit/s"
"#;

#[track_caller]
fn assert_alike(bytes: &[u8], keys: &str) {
    let with_file = parse(LINE, &[], Some(bytes));
    let with_keys = parse(&line_with(keys), &[], None);
    assert_same(&run(&with_file), &run(&with_keys), keys);
}

/// The cable line of a resolved scenario.
fn resolved(scenario: &Scenario) -> Value {
    let json: Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
    json["link"]["cable"]["docsis"].clone()
}

#[test]
fn an_aggregate_with_low_latency_is_the_keys_of_both_its_flows() {
    let classic = vec![
        number(8, 15_000_000, 4),
        number(7, 2, 1),
        Tlv::nested(35, vec![number(2, 40_000, 4)]),
    ];
    let low = vec![
        number(8, 12_000_000, 4),
        number(15, 7, 1),
        number(16, 0x10, 4),
        number(44, 2000, 2),
        number(45, 1_000_000, 4),
        Tlv::nested(35, vec![number(2, 30_000, 4)]),
        Tlv::nested(
            40,
            vec![
                number(3, 2, 1),
                number(4, 3000, 2),
                number(5, 18, 1),
                Tlv::new(6, [0, 100, 1, 244]),
            ],
        ),
    ];
    let encodings = vec![
        number(1, 3, 2),
        number(5, 15, 1),
        number(6, 200, 1),
        number(7, 3, 1),
        number(8, 2500, 2),
        number(9, 3000, 2),
        number(10, 18, 1),
    ];
    let mut up = aggregate(70, 20, encodings);
    if let docsis_config::Value::Nested(tlvs) = &mut up.value {
        tlvs.extend([number(9, 100_000, 4), number(27, 30, 4), number(10, 1, 4)]);
    }
    let bytes = file(vec![
        classifier(22, 3, EXPEDITED),
        classifier(22, 3, L4S),
        classifier(23, 4, EXPEDITED),
        flow(24, 1, classic),
        flow(24, 3, low),
        flow(25, 2, vec![]),
        flow(25, 4, vec![]),
        up,
        aggregate(71, 50, vec![number(1, 4, 2), number(7, 0, 1)]),
    ]);
    let keys = r#"
upstream.rate = "20 Mbit/s"
upstream.peak = "30 Mbit/s"
upstream.burst = "100000 B"
upstream.minimum_reserved = "1 Mbit/s"
upstream.priority = 2
upstream.queue.docsis_pie.limit = "40000 B"
[link.cable.docsis.upstream.low_latency]
classic_rate = "15 Mbit/s"
rate = "12 Mbit/s"
coupling = 1.5
weight = 200
limit = "30000 B"
maximum_threshold = "3 ms"
range_exponent = 18
latency_histogram = ["1 ms", "5 ms"]
request_policy.no_piggyback = true
scheduling.pgs = { rate = "1 Mbit/s", interval = "2 ms" }
queue_protection.enabled = true
queue_protection.latency_threshold = "2.5 ms"
queue_protection.score_threshold = "3 ms"
queue_protection.drain_exponent = 18
match = [
    { ethertype = "ipv4", tos = { low = 0xb8, high = 0xb8, mask = 0xfc } },
    { ethertype = "ipv4", tos = { low = 1, high = 1, mask = 1 } },
]
[link.cable.docsis.downstream]
rate = "50 Mbit/s"
low_latency.queue_protection = false
low_latency.match = { ethertype = "ipv4", tos = { low = 0xb8, high = 0xb8, mask = 0xfc } }
"#;
    assert_alike(&bytes, keys);
    let scenario = parse(LINE, &[], Some(&bytes));
    assert_eq!(scenario.warnings(), [""; 0]);
    // Each value has its TLV.
    let read = scenario.modem_files_read();
    let set = read[0].set.iter();
    let weight = set
        .clone()
        .find(|one| one.key == "upstream.low_latency.weight");
    assert_eq!(
        weight.map(|one| (one.value.as_str(), one.tlv.as_str())),
        Some((
            "200",
            "upstream_aggregate_service_flow.low_latency_encodings.scheduling_weight, TLV 70.42.6"
        ))
    );
}

#[test]
fn an_aggregate_without_further_settings_has_the_defaults() {
    assert_alike(&simple(vec![], vec![]), SIMPLE);
}

#[test]
fn the_flow_that_names_the_aggregate_is_its_low_latency_one() {
    let tlvs = |encodings: Vec<Tlv>| {
        file(vec![
            classifier(22, 3, L4S),
            flow(24, 1, vec![]),
            flow(24, 3, vec![]),
            Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]),
            aggregate(70, 20, encodings),
        ])
    };
    assert_alike(&tlvs(vec![]), SIMPLE);
    let scenario = parse(LINE, &[], Some(&tlvs(vec![])));
    assert_eq!(scenario.warnings(), [""; 0]);
}

#[test]
fn without_classifiers_the_default_ones_hold_and_a_note_says_so() {
    let bytes = file(vec![
        flow(24, 1, vec![]),
        flow(24, 3, vec![]),
        Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]),
        aggregate(70, 20, vec![number(1, 3, 2)]),
    ]);
    let keys =
        "upstream = { rate = '20 Mbit/s', low_latency = 'on' }\ndownstream.rate = '50 Mbit/s'";
    assert_alike(&bytes, keys);
    let scenario = parse(LINE, &[], Some(&bytes));
    assert_eq!(
        scenario.warnings(),
        [
            "link.cable.docsis.config: of the file \"home.cm\": no classifier sends packets to the \
             low-latency service flow (upstream_service_flow[2], TLV 24[2]): it takes those of the \
             default classifiers, with ECT(1) or CE, DSCP 45 or DSCP 46"
        ]
    );
}

#[test]
fn service_classes_give_both_flows_what_the_file_leaves_out() {
    let classes = "
[link.cable.docsis.service_class.classic.upstream]
rate = '15 Mbit/s'
queue.docsis_pie.limit = '40000 B'
[link.cable.docsis.service_class.fast.upstream]
rate = '12 Mbit/s'
request_policy.no_piggyback = true
queue.immediate_aqm = { limit = '30000 B', range_exponent = 18 }
";
    let class = |place: u8, name: &str| Tlv::new(place, [name.as_bytes(), &[0]].concat());
    let down = || Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]);
    let of_encodings = file(vec![
        Tlv::nested(24, vec![number(1, 1, 2), number(6, 7, 1), number(36, 1, 2)]),
        down(),
        aggregate(70, 20, vec![class(3, "classic"), class(4, "fast")]),
    ]);
    let of_flows = file(vec![
        flow(24, 1, vec![class(4, "classic")]),
        flow(24, 3, vec![class(4, "fast")]),
        down(),
        aggregate(70, 20, vec![]),
    ]);
    let of_classes = file(vec![
        down(),
        aggregate(70, 20, vec![class(3, "classic"), class(4, "fast")]),
    ]);
    let keys = "
upstream.rate = '20 Mbit/s'
upstream.queue.docsis_pie.limit = '40000 B'
upstream.low_latency.classic_rate = '15 Mbit/s'
upstream.low_latency.rate = '12 Mbit/s'
upstream.low_latency.limit = '30000 B'
upstream.low_latency.range_exponent = 18
upstream.low_latency.request_policy = { no_piggyback = true }
downstream.rate = '50 Mbit/s'
";
    let expected = run(&parse(&line_with(keys), &[], None));
    for bytes in [of_encodings, of_flows, of_classes] {
        let text = line_with(classes);
        let scenario = parse(&text, &[], Some(&bytes));
        assert_same(&run(&scenario), &expected, "classes");
    }
    let unknown = file(vec![
        flow(24, 1, vec![]),
        down(),
        aggregate(70, 20, vec![class(4, "fats")]),
    ]);
    let error = try_parse(&line_with(classes), &[], Some(&unknown)).expect_err("no such class");
    assert!(
        error.contains("TLV 70.42.4: no service class is called \"fats\"; did you mean \"fast\""),
        "{error}"
    );
}

/// What is said of an aggregate whose low latency is not simulated.
#[track_caller]
fn obstacle(text: &str, bytes: &[u8]) -> String {
    let scenario = parse(text, &[], Some(bytes));
    let line = resolved(&scenario);
    assert!(line["upstream"]["low_latency"].is_null(), "{line}");
    let warnings = scenario.warnings().join("\n");
    let (_, why) = (warnings.split_once("nor is its low latency: "))
        .unwrap_or_else(|| panic!("an obstacle: {warnings}"));
    let end = why.find(['\n', ';']).unwrap_or(why.len());
    why[..end].to_owned()
}

#[test]
fn an_aggregate_that_the_model_cannot_have_is_said() {
    let down = || Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]);
    let apart = |reference: u64| Tlv::nested(24, vec![number(1, reference, 2), number(6, 7, 1)]);
    let why = |flows: Vec<Tlv>, encodings: Vec<Tlv>| {
        let rest = vec![down(), aggregate(70, 20, encodings)];
        obstacle(LINE, &file([flows, rest].concat()))
    };
    let low = || vec![number(1, 3, 2)];
    assert_eq!(
        why(
            vec![
                flow(24, 1, vec![]),
                flow(24, 3, vec![]),
                flow(24, 4, vec![])
            ],
            low()
        ),
        "of its 3 service flows the model has two"
    );
    assert_eq!(
        why(vec![flow(24, 3, vec![]), flow(24, 1, vec![])], low()),
        "its classic service flow, upstream_service_flow[2], TLV 24[2], is not the first upstream \
         one, which is the primary one"
    );
    assert_eq!(
        why(vec![apart(1), flow(24, 3, vec![])], low()),
        "upstream_service_flow[1], TLV 24[1], the primary service flow, is not its classic one"
    );
    assert_eq!(
        why(vec![flow(24, 1, vec![])], low()),
        "no active upstream service flow (TLV 24) has the reference 3 \
         (upstream_aggregate_service_flow.\
         low_latency_encodings.low_latency_service_flow_reference, TLV 70.42.1)"
    );
    assert_eq!(
        why(vec![flow(24, 1, vec![])], vec![]),
        "no service flow is its low-latency one"
    );
    let grants = vec![number(15, 6, 1), number(19, 228, 2), number(20, 20_000, 4)];
    assert_eq!(
        why(vec![flow(24, 1, vec![]), flow(24, 3, grants)], low()),
        "a service flow of ugs (upstream_service_flow[2].scheduling_type, TLV 24[2].15) is in no \
         aggregate of the model"
    );
    let off = simple(vec![], vec![number(91, 1, 1)]);
    assert_eq!(
        obstacle(LINE, &off),
        "low_latency_disable, TLV 91 turns it off"
    );
    let old = LINE.replace("docsis31", "docsis30");
    assert_eq!(
        obstacle(&old, &simple(vec![], vec![])),
        "a line of `docsis30` has none"
    );
}

#[test]
fn limits_beside_those_of_the_aggregate_are_said() {
    let bytes = file(vec![
        classifier(22, 3, L4S),
        flow(24, 1, vec![number(8, 10_000_000, 4), number(9, 9_000, 4)]),
        flow(
            24,
            3,
            vec![
                number(7, 5, 1),
                number(27, 15_000_000, 4),
                number(8, 90_000_000, 4),
            ],
        ),
        Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]),
        aggregate(70, 20, vec![number(1, 3, 2)]),
    ]);
    let scenario = parse(LINE, &[], Some(&bytes));
    assert_eq!(
        scenario.warnings(),
        ["link.cable.docsis.config: of the file \"home.cm\": \
          upstream_service_flow[2].peak_traffic_rate, TLV 24[2].27, \
          upstream_service_flow[2].traffic_priority, TLV 24[2].7: not simulated beside those of \
          the aggregate; upstream_service_flow[1].maximum_traffic_burst, TLV 24[1].9: not \
          simulated beside those of the aggregate"]
    );
    // A rate above the aggregate's limits nothing.
    let low_latency = &resolved(&scenario)["upstream"]["low_latency"];
    assert_eq!(low_latency["classic_rate"], "10 Mbit/s");
    assert!(low_latency["rate"].is_null(), "{low_latency}");
}

#[test]
fn an_override_and_the_scenarios_own_keys_go_before_the_file() {
    let bytes = simple(vec![number(5, 15, 1), number(6, 200, 1)], vec![]);
    let key = "link.cable.docsis.upstream.low_latency";
    let weight = format!("{key}.weight");
    let set = parse(LINE, &[(&weight, "100")], Some(&bytes));
    let low_latency = &resolved(&set)["upstream"]["low_latency"];
    assert_eq!(
        (&low_latency["weight"], &low_latency["coupling"]),
        (&100.into(), &1.5.into())
    );
    let off = parse(LINE, &[(key, "off")], Some(&bytes));
    assert_eq!(resolved(&off)["upstream"]["low_latency"], "off");
    // The file of an override replaces what the scenario writes.
    let text = line_with("upstream.low_latency = { weight = 100, estimator = 'backlog' }");
    let replaced = parse(&text, &[], Some(&bytes));
    let low_latency = &resolved(&replaced)["upstream"]["low_latency"];
    assert_eq!(low_latency["weight"], 200);
    assert!(low_latency["estimator"].is_null(), "{low_latency}");
    assert!(replaced.warnings()[0].contains("replaces upstream.low_latency ("));
    let [up, down] = [
        Tlv::nested(24, vec![number(1, 1, 2), number(8, 5_000_000, 4)]),
        Tlv::nested(25, vec![number(1, 2, 2), number(8, 50_000_000, 4)]),
    ];
    let plain = parse(&text, &[], Some(&file(vec![up, down])));
    assert!(resolved(&plain)["upstream"]["low_latency"].is_null());
    // Keys beside the scenario's own file go before it, each on its own.
    let own = line_with("config = 'home.cm'\nupstream.low_latency.weight = 100");
    let files = BTreeMap::from([("home.cm".to_owned(), bytes)]);
    let beside = Scenario::parse(&own, Format::Toml, &[], &files).expect("it is right");
    let low_latency = &resolved(&beside)["upstream"]["low_latency"];
    assert_eq!(
        (&low_latency["weight"], &low_latency["coupling"]),
        (&100.into(), &1.5.into())
    );
    assert_eq!(
        beside.warnings(),
        [
            "link.cable.docsis.config: keys of the scenario or of --set go before the file \
             \"home.cm\": upstream.low_latency.weight (100, not 200)"
        ]
    );
}

#[test]
fn a_modem_whose_file_has_no_aggregate_has_no_low_latency() {
    let text = "
duration = '2 s'
[link.cable.docsis]
preset = 'docsis31'
upstream = { rate = '20 Mbit/s', low_latency = 'on' }
[link.cable.docsis.modem]
plain.config = 'home.cm'
other.upstream.priority = 1
[host]
desk.via = ['cable.plain']
[flow.call]
host = 'desk'
application = 'voice'
";
    let up = Tlv::nested(24, vec![number(1, 1, 2), number(8, 5_000_000, 4)]);
    let files = BTreeMap::from([("home.cm".to_owned(), file(vec![up]))]);
    let scenario = Scenario::parse(text, Format::Toml, &[], &files).expect("it is right");
    let modem = &resolved(&scenario)["modem"]["plain"];
    assert_eq!(modem["upstream"]["low_latency"], "off");
}

#[test]
fn a_wrong_setting_names_its_tlv() {
    let error = |encodings: Vec<Tlv>| {
        try_parse(LINE, &[], Some(&simple(encodings, vec![]))).expect_err("it is wrong")
    };
    let weight = error(vec![number(6, 0, 1)]);
    assert!(
        weight.contains(
            "low_latency_encodings.scheduling_weight, TLV 70.42.6: expected a scheduling weight \
             from 1 to 255"
        ),
        "{weight}"
    );
    let length = error(vec![number(6, 200, 2)]);
    assert!(
        length.contains("TLV 70.42.6: expected 1 byte, found 2"),
        "{length}"
    );
    let bytes = file(vec![
        classifier(22, 3, L4S),
        flow(24, 1, vec![]),
        flow(24, 3, vec![Tlv::nested(35, vec![number(2, 1500, 4)])]),
        Tlv::nested(25, vec![number(1, 2, 2)]),
        aggregate(70, 20, vec![number(1, 3, 2)]),
    ]);
    let limit = try_parse(LINE, &[], Some(&bytes)).expect_err("no frame fits");
    assert!(
        limit.contains("TLV 24[2].35") && limit.contains("2000 B"),
        "{limit}"
    );
}

/// A line with many keys of low latency.
const MANY: &str = r#"
upstream.rate = "20 Mbit/s"
upstream.peak = "30 Mbit/s"
upstream.burst = "100000 B"
upstream.queue.docsis_pie.limit = "40000 B"
upstream.low_latency.classic_rate = "15 Mbit/s"
upstream.low_latency.rate = "12 Mbit/s"
upstream.low_latency.coupling = 1.5
upstream.low_latency.weight = 200
upstream.low_latency.limit = "30000 B"
upstream.low_latency.maximum_threshold = "3 ms"
upstream.low_latency.range_exponent = 18
upstream.low_latency.latency_histogram = ["1 ms", "5 ms"]
upstream.low_latency.queue_protection.latency_threshold = "2.5 ms"
upstream.low_latency.queue_protection.score_threshold = "3 ms"
upstream.low_latency.queue_protection.drain_exponent = 18
downstream.rate = "50 Mbit/s"
downstream.queue.docsis_pie.limit = "625000 B"
downstream.low_latency = { queue_protection = false, match = { dscp = 46 } }
"#;

fn export(text: &str) -> (File, Vec<String>) {
    let scenario = parse(text, &[], None);
    scenario.modem_file(None, false).expect("its only modem")
}

/// The number at `path` below a TLV.
fn at(tlv: &Tlv, path: &[u8]) -> Option<u64> {
    let (&first, rest) = path.split_first()?;
    let inner = tlv.get(first)?;
    if rest.is_empty() {
        inner.uint()
    } else {
        at(inner, rest)
    }
}

#[test]
fn keys_of_low_latency_are_written_as_an_aggregate_and_two_flows() {
    let (file, notes) = export(&line_with(MANY));
    assert_eq!(notes, [""; 0]);
    let up = file.get(70).expect("an aggregate");
    let of_aggregate: [&[u8]; 11] = [
        &[1],
        &[8],
        &[9],
        &[27],
        &[42, 1],
        &[42, 5],
        &[42, 6],
        &[42, 7],
        &[42, 8],
        &[42, 9],
        &[42, 10],
    ];
    let expected = [
        1, 20_000_000, 100_000, 30_000_000, 3, 15, 200, 1, 2500, 3000, 18,
    ];
    assert_eq!(of_aggregate.map(|path| at(up, path)), expected.map(Some));
    let flows: Vec<&Tlv> = file.all(24).collect();
    let [classic, low] = flows[..] else {
        panic!("two flows")
    };
    let of_flow: [&[u8]; 7] = [&[1], &[8], &[9], &[27], &[36], &[35, 2], &[40, 3]];
    assert_eq!(
        of_flow.map(|path| at(classic, path)),
        [
            Some(1),
            Some(15_000_000),
            None,
            None,
            Some(1),
            Some(40_000),
            Some(1)
        ]
    );
    assert_eq!(
        of_flow.map(|path| at(low, path)),
        [
            Some(3),
            Some(12_000_000),
            None,
            None,
            Some(1),
            Some(30_000),
            Some(2)
        ]
    );
    let ramp: [&[u8]; 3] = [&[40, 1], &[40, 4], &[40, 5]];
    assert_eq!(ramp.map(|path| at(low, path)), [0, 3000, 18].map(Some));
    // The default classifiers, and the file's own downstream.
    // In IPv4 and in IPv6, although no host here has an IPv6 address.
    for version in [9, 12] {
        let rules = file.all(22);
        let tos: Vec<u64> = rules.filter_map(|rule| at(rule, &[version, 1])).collect();
        assert_eq!(tos, [0x01_0101, 0xb4_b4fc, 0xb8_b8fc], "TLV 22.{version}");
    }
    assert_eq!(
        file.all(22)
            .filter_map(|rule| at(rule, &[3]))
            .collect::<Vec<_>>(),
        [3; 6]
    );
    let down = file.get(71).expect("an aggregate");
    assert_eq!((at(down, &[42, 1]), at(down, &[42, 7])), (Some(4), Some(0)));
    assert_eq!(file.all(23).count(), 1);
    // An extended CMTS MIC that selects every type of the file.
    let extended = file.get(43).and_then(|vendor| vendor.get(6)).expect("it");
    let bitmap = extended.get(2).and_then(Tlv::bytes).expect("a bitmap");
    let selects = |number: u8| bitmap[usize::from(number) / 8] & (0x80 >> (number % 8)) != 0;
    assert!(file.tlvs.iter().all(|tlv| selects(tlv.number)));
    assert!(selects(6) && !selects(7));
    // Without low latency there is nothing of it.
    let (plain, _) = export(&line_with("upstream.rate = '20 Mbit/s'"));
    assert!(
        plain
            .tlvs
            .iter()
            .all(|tlv| ![43, 70, 71].contains(&tlv.number))
    );
}

// The limits are in bytes: the table `mib` has a limit that is a time as none.
#[test]
fn a_scenario_with_low_latency_runs_alike_with_its_file() {
    for keys in [
        MANY,
        "upstream = { rate = '20 Mbit/s', low_latency = 'on', queue.docsis_pie.limit = '625000 B' \
         }\ndownstream = { rate = '100 Mbit/s', low_latency = 'on', queue.docsis_pie.limit = \
         '1250000 B' }",
        "upstream = { rate = '20 Mbit/s', low_latency = { aqm_disabled = true }, \
         queue.docsis_pie.limit = '625000 B' }\ndownstream.rate = '100 Mbit/s'",
    ] {
        let text = line_with(keys);
        let plain = parse(&text, &[], None);
        let (file, notes) = plain.modem_file(None, false).expect("its only modem");
        assert_eq!(notes, [""; 0]);
        let bytes = file.encode();
        let with_file = parse(LINE, &[], Some(&bytes));
        // The file has classifiers for packets that no flow here sends.
        let is_idle = |warning: &String| warning.contains("no packet of this scenario's flows");
        let warnings = with_file.warnings();
        assert!(warnings.iter().all(is_idle), "{warnings:?}");
        assert_same(&run(&plain), &run(&with_file), keys);
        let again = with_file.modem_file(None, false).expect("its only modem").0;
        assert_eq!(again.encode(), bytes, "{keys}");
    }
}

#[test]
fn default_classifiers_of_a_file_are_not_warned_of_where_no_packet_matches() {
    let keys = "upstream = { rate = '20 Mbit/s', low_latency = 'on' }\n\
                downstream = { rate = '100 Mbit/s', low_latency = 'on' }";
    let (file, _) = export(&line_with(keys));
    let with_file = parse(LINE, &[], Some(&file.encode()));
    assert_eq!(with_file.warnings(), [""; 0]);
    // Somebody who writes one wants it to match.
    let written = "upstream.low_latency.match = { ethertype = 'ipv4', dscp = 45 }";
    let warnings = parse(&line_with(written), &[], None).warnings().join("\n");
    assert!(
        warnings.contains("no packet of this scenario's flows"),
        "{warnings}"
    );
}

#[test]
fn written_classifiers_come_before_the_default_ones_in_a_file_too() {
    let further = "
upstream = { rate = '20 Mbit/s', low_latency = 'on' }
[link.cable.docsis.service_flow.up_4]
direction = 'up'
match.dscp = 46
";
    let text = line_with(further);
    let (file, notes) = export(&text);
    assert_eq!(notes, [""; 0]);
    let rules = file.all(22).map(|rule| (at(rule, &[3]), at(rule, &[5])));
    let rules: Vec<_> = rules.collect();
    let [low, high] = [(Some(3), Some(0)), (Some(4), Some(1))];
    assert_eq!(rules, [low, low, low, low, low, low, high]);
    let with_file = parse(LINE, &[], Some(&file.encode()));
    let packets = |scenario: &Scenario| run(scenario)["queues.packets_enqueued"].clone();
    assert_eq!(packets(&parse(&text, &[], None)), packets(&with_file));
}

#[test]
fn what_no_tlv_says_of_low_latency_is_noted() {
    let keys = "upstream = { rate = '20 Mbit/s', low_latency = { preset = '2019', estimator = \
                'backlog' } }";
    let (file, notes) = export(&line_with(keys));
    assert_eq!(
        notes,
        [
            "link.cable.docsis.upstream.low_latency.maximum_threshold: the file says 999 us in \
             place of 999.288 us.",
            "The file leaves out these keys, because no TLV expresses them: \
             link.cable.docsis.upstream.low_latency.estimator."
        ]
    );
    let up = file.get(70).expect("an aggregate");
    let protection: [&[u8]; 3] = [&[42, 8], &[42, 9], &[42, 10]];
    assert_eq!(
        protection.map(|path| at(up, path)),
        [1000, 2000, 17].map(Some)
    );
}

#[test]
fn a_file_by_class_writes_the_values_of_a_class_with_low_latency() {
    let class = "
[link.cable.docsis.service_class.gold.upstream]
rate = '20 Mbit/s'
low_latency = 'on'
[link.cable.docsis.modem.home]
service_class = 'gold'
";
    let text = line_with(class).replace("application", "host = 'desk'\napplication")
        + "[host]\ndesk.via = ['cable.home']\n";
    let scenario = parse(&text, &[], None);
    let (file, notes) = scenario.modem_file(Some("home"), true).expect("a modem");
    assert_eq!(
        at(file.get(70).expect("an aggregate"), &[8]),
        Some(20_000_000)
    );
    assert!(
        notes
            .iter()
            .any(|note| note.contains("\"gold\" has low latency")),
        "{notes:?}"
    );
}
