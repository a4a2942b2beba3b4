//! Scenarios as users write them: the errors of wrong scenarios, the content of the resolved form,
//! and that a run depends only on the scenario and the seed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headend::metrics::table::{Column, Table};
use headend::scenario::{
    FileKind, Format, Override, RequiredFile, Scenario, ScenarioError, reference, refuse,
    required_files, schema,
};
use headend::time::Instant;
use proptest::prelude::*;

const PLAIN: &str = r#"
title = "A stream over a plain link"
duration = "2 s"
warmup = "500 ms"

[link.dsl.point_to_point]
up.rate = "1 Mbit/s"
up.delay = "1 ms"
up.queue.drop_tail.limit = "100 ms"
down.rate = "10 Mbit/s"

[flow.stream]
application.cbr = { rate = "1.2 Mbit/s", size = "1000 B" }
start = { from = "0 s", to = "10 ms" }
"#;

const CABLE: &str = r#"
duration = "5 s"
[link.cable.docsis]
upstream = { rate = "5 Mbit/s", queue = "codel" }
downstream.rate = "50 Mbit/s"
[flow.upload]
application = "bulk"
[flow.call]
application = "voice"
"#;

fn parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = (overrides.iter())
        .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()))
        .collect();
    Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
}

#[track_caller]
fn right(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    parse(text, overrides).unwrap_or_else(|error| panic!("the scenario is right: {error}"))
}

#[track_caller]
fn error(text: &str) -> String {
    let wrong = parse(text, &[]).expect_err("the scenario is wrong");
    let line = wrong.to_string();
    assert!(!line.contains('\n'), "one line: {line}");
    line
}

#[track_caller]
fn error_with(path: &str, value: &str) -> String {
    let wrong = parse(PLAIN, &[(path, value)]).expect_err("the override is wrong");
    wrong.to_string()
}

/// The error of `PLAIN` with `from` replaced.
#[track_caller]
fn error_where(from: &str, to: &str) -> String {
    assert!(PLAIN.contains(from), "the plain scenario has {from}");
    error(&PLAIN.replace(from, to))
}

fn run(scenario: &Scenario, seed: u64) -> Vec<(&'static str, Table)> {
    let mut simulation = scenario.build(seed);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    simulation.tables()
}

fn table<'a>(tables: &'a [(&str, Table)], name: &str) -> &'a Table {
    let found = tables.iter().find(|(other, _)| *other == name);
    &found.expect("a table of that name").1
}

/// The value of `column` in the row that has these `keys`.
#[track_caller]
fn value(table: &Table, keys: &[(&str, &str)], column: &str) -> f64 {
    let matches = |row: usize| {
        keys.iter().all(|(key, wanted)| match table.get(key) {
            Some(Column::Text(values)) => values[row] == *wanted,
            _ => false,
        })
    };
    let row = (0..table.rows())
        .find(|row| matches(*row))
        .expect("a row with those keys");
    match table.get(column) {
        Some(Column::Float(values)) => values[row],
        Some(Column::Integer(values)) => values[row] as f64,
        other => panic!("{column} holds no numbers: {other:?}"),
    }
}

/// All results as text, in which NaN equals itself.
fn fingerprint(scenario: &Scenario, seed: u64) -> String {
    format!("{:?}", run(scenario, seed))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scenarios_in(folder: &str) -> Vec<(String, String)> {
    let files = fs::read_dir(repository().join(folder)).expect("the folder is in the repository");
    let mut found: Vec<(String, String)> = files
        .map(|file| file.expect("a readable entry").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            (
                path.display().to_string(),
                fs::read_to_string(&path).expect("a text file"),
            )
        })
        .collect();
    found.sort();
    found
}

#[test]
fn an_unreadable_text_is_said_to_be_so_and_where() {
    assert_eq!(
        error(""),
        "an empty scenario: it needs a [link…] and a [flow…] at least"
    );
    assert_eq!(error("# nothing\n"), error(""));
    assert_eq!(
        error("[link\n"),
        "not readable: unclosed table, expected `]` (line 1, column 6)"
    );
    assert_eq!(
        error("seed = 1\nseed = 2\n"),
        "not readable: the key seed is there a second time (line 2, column 1)"
    );
    assert!(error("\u{89}PNG\r\n\u{1a}\n\0\0").starts_with("not readable: "));
    let wrong = Scenario::parse("{\"seed\": }", Format::Json, &[], &BTreeMap::new());
    assert_eq!(
        wrong.expect_err("no JSON").to_string(),
        "not readable: expected value (line 1, column 10)"
    );
    let wrong = Scenario::parse("5", Format::Json, &[], &BTreeMap::new());
    assert_eq!(
        wrong.expect_err("no table").to_string(),
        "expected a table, found 5"
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_named_by_path_line_and_column() {
    assert_eq!(
        error_where("limit = \"100 ms\"", "limit = \"100 parsecs\""),
        "link.dsl.point_to_point.up.queue.drop_tail.limit: expected a buffer limit such as \"250 \
         ms\", found \"100 parsecs\" (line 9, column 28)"
    );
    assert_eq!(
        error_where("duration = \"2 s\"", "duration = 2"),
        "duration: expected a duration or \"unlimited\", such as \"10 ms\", found 2 (line 3, \
         column 12)"
    );
    assert_eq!(
        error_where("up.delay = \"1 ms\"", "up.delay = true"),
        "link.dsl.point_to_point.up.delay: expected a duration such as \"10 ms\", found true (line \
         8, column 12)"
    );
    assert_eq!(
        error_where("title = \"A stream over a plain link\"", "title = [1]"),
        "title: expected a text, found a list (line 2, column 9)"
    );
    assert_eq!(
        error_where(
            "up.rate = \"1 Mbit/s\"",
            "up.rate = { steps = [[\"0 s\"]] }"
        ),
        "link.dsl.point_to_point.up.rate.steps[0]: expected a list of two, found a list of 1 (line \
         7, column 22)"
    );
    assert_eq!(
        error_where("up.rate = \"1 Mbit/s\"", "up.rate = 5"),
        "link.dsl.point_to_point.up.rate: expected a rate such as \"10 Mbit/s\", found 5 (line 7, \
         column 11)"
    );
    assert_eq!(
        error_where("up.rate = \"1 Mbit/s\"", "up.rate = \"1 MBit/s\""),
        "link.dsl.point_to_point.up.rate: expected a rate such as \"10 Mbit/s\", found \"1 \
         MBit/s\"; did you mean \"1 Mbit/s\"? (line 7, column 11)"
    );
}

#[test]
fn an_unknown_key_or_name_is_met_with_what_was_perhaps_meant() {
    assert_eq!(
        error_where("warmup", "warmpu"),
        "warmpu: unknown key; did you mean \"warmup\"? (line 4, column 1)"
    );
    assert_eq!(
        error_where("[flow.stream]", "[flow.stream]\ntcp.congestoin = \"reno\""),
        "flow.stream.tcp.congestoin: unknown key; did you mean \"congestion\"? (line 13, column 5)"
    );
    assert_eq!(
        error_where(
            "up.queue.drop_tail.limit = \"100 ms\"",
            "up.queue = \"codle\""
        ),
        "link.dsl.point_to_point.up.queue: unknown name \"codle\"; did you mean \"codel\"? (line \
         9, column 12)"
    );
    assert_eq!(
        error_where("up.queue.drop_tail.limit", "up.queue.drop_tial.limit"),
        "link.dsl.point_to_point.up.queue.drop_tial: unknown key; did you mean \"drop_tail\"? \
         (line 9, column 10)"
    );
    assert_eq!(
        error_where("point_to_point", "point_to_pont"),
        "link.dsl.point_to_pont: unknown key; did you mean \"point_to_point\"? (line 6, column 11)"
    );
    assert_eq!(
        error_where("[flow.stream]", "[flow.stream]\nrtt.sites = \"bosten\""),
        "flow.stream.rtt.sites: unknown name \"bosten\"; did you mean \"boston\"? (line 13, column \
         13)"
    );
    assert_eq!(
        error_where("duration", "bottleneck = \"dls.up\"\nduration"),
        "bottleneck: no queue is called \"dls.up\"; did you mean \"dsl.up\"? (line 3, column 14)"
    );
    assert_eq!(
        error_where(
            "[flow.stream]",
            "[host.home]\nvia = [\"dls\"]\n[flow.stream]"
        ),
        "host.home.via[0]: no link port is called \"dls\"; did you mean \"dsl\"? (line 13, column \
         8)"
    );
    assert_eq!(
        error_where("[flow.stream]", "[flow.stream]\nhost = \"home\""),
        "flow.stream.host: no host is called \"home\"; there is none (line 13, column 8)"
    );
}

#[test]
fn a_missing_key_is_named_with_the_table_that_lacks_it() {
    assert_eq!(
        error_where("up.rate = \"1 Mbit/s\"\n", ""),
        "link.dsl.point_to_point.up: the key \"rate\" is missing (line 7, column 1)"
    );
    assert_eq!(
        error("[link.l.point_to_point]\nup.rate = \"1 Mbit/s\"\n[flow.a]\ndscp = 0\n"),
        "flow.a: the key \"application\" is missing (line 3, column 1)"
    );
    assert_eq!(
        error("[link.l]\n[flow.a]\napplication = \"ping\"\n"),
        "link.l: expected a name, found an empty table (line 1, column 1)"
    );
    assert_eq!(
        error("[flow.a]\napplication = \"ping\"\n"),
        "link: a scenario needs at least one [link.NAME…]"
    );
}

#[test]
fn a_queue_with_no_room_for_a_packet_is_refused() {
    let limit = |limit: &str| {
        let line = format!("up.queue.drop_tail.limit = \"{limit}\"");
        error_where("up.queue.drop_tail.limit = \"100 ms\"", &line)
    };
    let start = "link.dsl.point_to_point.up.queue.drop_tail.limit: expected room for";
    assert_eq!(
        limit("0 packets"),
        format!("{start} at least one packet, found \"0 packets\" (line 9, column 28)")
    );
    assert_eq!(
        limit("1499 B"),
        format!(
            "{start} one packet of 1500 B at least (1500 B), found \"1499 B\" (line 9, column 28)"
        )
    );
    assert_eq!(
        limit("11 ms"),
        format!(
            "{start} one packet of 1500 B at least (1500 B), found \"11 ms\" (1375 B at 1 Mbit/s) \
             (line 9, column 28)"
        )
    );
    let sized = |line: &str| error_where("up.queue.drop_tail.limit = \"100 ms\"", line);
    assert_eq!(
        sized("up.queue.buffer_control.target = \"1000 B\""),
        "link.dsl.point_to_point.up.queue.buffer_control: 1024 B at 1 Mbit/s have no room for one \
         packet of 1500 B (1500 B): ask for more (line 9, column 10)"
    );
    let inside = |queue: &str| sized(&format!("up.queue = {{ {queue} }}"));
    let law = inside("drr = { law = { codel = { limit = \"100 B\" } } }");
    assert!(
        law.contains("up.queue.drr.law.codel.limit: expected room for one packet"),
        "{law}"
    );
    let class = inside("cbq = { class = { a = { share = \"1\", limit = \"100 B\" } } }");
    assert!(
        class.contains("up.queue.cbq.class.a.limit: expected room for one packet"),
        "{class}"
    );
    let codel = "queue = { codel = { limit = \"1500 B\" } }";
    let cable = error(&CABLE.replace("queue = \"codel\"", codel));
    assert!(cable.contains("(1518 B), found \"1.5 kB\""), "{cable}");
}

#[test]
fn what_others_refuse_is_located_too() {
    let text = "[expect]\ncall = \"caal.mos.p5 >= 4.0\"\n";
    let refused = |overrides: &[Override]| {
        refuse(text, Format::Toml, overrides, "expect.call", "no caal")
            .expect("it can be read")
            .to_string()
    };
    assert_eq!(refused(&[]), "expect.call: no caal (line 2, column 8)");
    let given = [("expect.call".to_owned(), "call.mso > 1".to_owned())];
    assert_eq!(
        refused(&given),
        "expect.call: no caal (from --set expect.call=call.mso > 1)"
    );
}

#[test]
fn without_a_bottleneck_an_override_means_the_up_queue_of_the_only_link() {
    let scenario = right(PLAIN, &[]);
    assert_eq!(scenario.bottleneck(), None);
    assert_eq!(
        scenario.queue_path().as_deref(),
        Some("link.dsl.point_to_point.up.queue")
    );
}

#[test]
fn two_kinds_where_one_is_due_are_refused() {
    assert_eq!(
        error_where("down.rate", "up.queue.codel.target = \"5 ms\"\ndown.rate"),
        "link.dsl.point_to_point.up.queue: expected one name, found also \"codel\" (line 9, column \
         4)"
    );
}

#[test]
fn times_that_make_no_sense_are_refused() {
    assert!(
        error_with("duration", "0 s").starts_with("duration: expected 1 ms at least, found 0 ")
    );
    assert!(error_with("duration", "11000 h").starts_with("duration: expected at most 10 days"));
    assert_eq!(
        error_with("warmup", "2 s"),
        "warmup: a warm-up of 2 s leaves nothing to measure of a run of 2 s (from --set warmup=2 s)"
    );
    let many = [("flow.stream.count", "10000"), ("duration", "200 h")];
    assert_eq!(
        parse(PLAIN, &many).expect_err("it is too long").to_string(),
        "duration: expected at most 562949 s for a run of 20002 delay lines (two or more for each \
         of its 10000 flows), found 720000 s (from --set duration=200 h)"
    );
    let simulation = right(PLAIN, &[many[0], ("duration", "150 h")]).build(1);
    assert_eq!(simulation.end().as_nanos(), 150 * 3600 * 1_000_000_000);
    assert!(error_with("results.interval", "0 s").contains("more than no time"));
    assert!(error_with("results.interval", "1 us").contains("more than 100000 of them"));
    assert!(error_with("flow.stream.start", "2 s").contains("not within a run of 2 s"));
    assert!(error_with("flow.stream.start.from", "1 s").contains("comes before the earliest"));
    assert!(error_with("flow.stream.stop", "5 ms").contains("cannot stop at 5 ms"));
    assert!(error_with("flow.stream.rtt", "1 h").contains("at most 60 s makes sense"));
    assert!(error_with("link.dsl.point_to_point.up.delay", "2 min").contains("at most 60 s"));
}

#[test]
fn rates_and_buffers_that_make_no_sense_are_refused() {
    let up = "link.dsl.point_to_point.up";
    let with = |key: &str, value: &str| error_with(&format!("{up}.{key}"), value);
    assert!(with("rate", "0 bit/s").contains("carries nothing"));
    assert!(with("rate", "1e6 Gbit/s").contains("makes sense"));
    assert!(
        with("rate.steps", "[[\"1 s\", \"1 Mbit/s\"]]").contains("the first step is at \"0 s\"")
    );
    assert!(
        with(
            "rate.steps",
            "[[\"0 s\", \"1 Mbit/s\"], [\"0 s\", \"2 Mbit/s\"]]"
        )
        .contains("up.rate.steps[1]: steps are in order of time")
    );
    assert!(with("rate.steps", "[[\"0 s\", \"0 bit/s\"]]").contains("carries nothing"));
    assert!(with("rate.opportunities", "[3, 2]").contains("rising order"));
    assert!(with("rate.opportunities", "[0]").contains("last opportunity"));
    assert!(with("rate", "{}").contains("either steps, a trace or opportunities"));
    assert!(with("queue.codel.interval", "0 s").contains("interval"));
    let cable = |key: &str, value: &str| {
        let path = format!("link.cable.docsis.{key}");
        parse(CABLE, &[(&path, value)])
            .expect_err("the override is wrong")
            .to_string()
    };
    assert!(cable("upstream.peak", "4 Mbit/s").contains("below the sustained rate of 5 Mbit/s"));
    assert!(cable("upstream.rate", "0 bit/s").contains("carries nothing"));
    assert!(cable("upstream.burst", "1 kB").contains("at least 1522 B"));
    assert!(
        cable("plant.distance_km", "200")
            .starts_with("link.cable.docsis.plant.distance_km: expected 0 to 160 kilometres")
    );
    let refused = cable(
        "upstream.queue.buffer_control",
        "{ minimum = \"2 MiB\", device_maximum = \"1 MiB\" }",
    );
    assert!(
        refused.starts_with("link.cable.docsis.upstream.queue: "),
        "{refused}"
    );
}

const CELL: &str = r#"
[link.wifi.dot11b.station]
laptop = {}
phone = { count = 3, rate = "2 Mbit/s" }
[host.laptop]
via = ["wifi.laptop"]
[flow.upload]
application = "bulk"
host = "laptop"
"#;

#[test]
fn cells_that_make_no_sense_are_refused() {
    let set = |path: &str, value: &str| {
        let path = format!("link.wifi.dot11b.{path}");
        let wrong = parse(CELL, &[(&path, value)]).expect_err("the override is wrong");
        wrong.to_string()
    };
    drop(right(CELL, &[]));
    assert!(set("rate", "54 Mbit/s").contains("a rate of 802.11b (1, 2, 5.5 or 11 Mbit/s)"));
    assert!(
        set("station.phone.rate", "3 Mbit/s").starts_with("link.wifi.dot11b.station.phone.rate: ")
    );
    assert!(set("basic_rates", "[]").contains("one rate at least"));
    assert!(set("cw_min", "2000").contains("larger than the largest, 1023"));
    assert!(set("cca_time", "20 us").contains("less than a slot"));
    assert!(set("difs", "5 us").contains("SIFS"));
    assert!(set("station.phone.count", "0").contains("at least one"));
    assert!(set("station.phone.count", "2000").contains("more than 1000"));
    assert!(set("station.laptop.frame_errors", "100 %").contains("hears nothing"));
    assert!(set("station.lap.rate", "1 Mbit/s").contains("laptop"));
    let without = CELL.split("[host").nth(1).expect("it has a host");
    let alone = error(&format!(
        "[link.wifi.dot11b]\nrate = \"11 Mbit/s\"\n[host{without}"
    ));
    assert!(alone.contains("expected a station at least"), "{alone}");
    let nowhere = error(&CELL.replace("wifi.laptop", "wifi.lptop"));
    assert!(nowhere.contains("wifi.laptop"), "{nowhere}");
}

#[test]
fn a_cell_is_passed_first_and_links_in_one_order() {
    let two = CELL.replace(
        "[host.laptop]",
        "[link.dsl.point_to_point]\nup.rate = \"1 Mbit/s\"\n[link.core.point_to_point]\n\
         up.rate = \"1 Gbit/s\"\n[host.laptop]",
    );
    let out = two.replace("[\"wifi.laptop\"]", "[\"wifi.laptop\", \"dsl\", \"core\"]");
    drop(right(&out, &[]));
    let back = error(&out.replace("[\"wifi.laptop\", \"dsl\"", "[\"dsl\", \"wifi.laptop\""));
    assert!(
        back.starts_with("host.laptop.via[1]: a station of a cell"),
        "{back}"
    );
    let other = format!("{out}\n[host.pc]\nvia = [\"core\", \"dsl\"]\n");
    let other = error(&other);
    assert!(
        other.starts_with("host.pc.via[1]: the host \"laptop\" passes these links the other way"),
        "{other}"
    );
    let stations = error(&CELL.replace("host = \"laptop\"\n", ""));
    assert!(
        stations.contains("with several stations a flow must name its host"),
        "{stations}"
    );
    let slow = parse(CELL, &[("link.wifi.dot11b.propagation", "1 s")]).expect_err("too far");
    assert!(
        slow.to_string()
            .contains("less than a slot, 20 us, found 1 s"),
        "{slow}"
    );
}

#[test]
fn what_is_found_is_said_and_who_wrote_it() {
    let bulk = |overrides: &[(&str, &str)]| {
        let overrides = [&[("flow.stream.application", "bulk")], overrides].concat();
        parse(PLAIN, &overrides)
            .expect_err("the override is wrong")
            .to_string()
    };
    let mtu = bulk(&[("flow.stream.tcp.mtu", "9000")]);
    assert!(
        mtu.contains("tcp.mtu: expected 68 to 1500 bytes, found 9000 (from"),
        "{mtu}"
    );
    let timers = bulk(&[
        ("flow.stream.tcp.system", "freebsd4"),
        ("flow.stream.tcp.max_rto", "500 ms"),
    ]);
    assert!(
        timers.contains("tcp.max_rto: expected at least min_rto, 1 s, found 500 ms"),
        "{timers}"
    );
    let ecn = bulk(&[("flow.stream.tcp.ecn", "true")]);
    assert!(
        ecn.contains("expected \"accurate\", \"auto\", \"off\" or \"on\", found true"),
        "{ecn}"
    );
    for (written, meant) in [("ledbat++", "ledbat_plus_plus"), ("newreno", "reno")] {
        let error = bulk(&[("flow.stream.tcp.congestion", written)]);
        assert!(
            error.contains(&format!("did you mean \"{meant}\"?")),
            "{error}"
        );
    }
    let periods = PLAIN.replace("start = {", "periods = []\n# {");
    assert!(error(&periods).starts_with("flow.stream.periods: expected a period at least"));
    assert!(error_with("duration", "1 ns").contains("expected 1 ms at least, found 1 ns"));
    let point = error_with("results.capture.points", "[\"stream.hst\"]");
    assert!(point.contains("did you mean \"stream.host\"?"), "{point}");
    let moment = error_with("results.capture.points", "[\"dsl.up.enqeue\"]");
    assert!(
        moment.contains("did you mean \"dsl.up.enqueue\"?"),
        "{moment}"
    );
}

#[test]
fn an_override_of_a_direction_that_is_not_written_leaves_the_rest_as_it_is() {
    let one = PLAIN.replace("down.rate = \"10 Mbit/s\"\n", "");
    let down = "link.dsl.point_to_point.down";
    let queue = format!("{down}.queue");
    let before = right(&one, &[]);
    let after = right(
        &one,
        &[
            (&queue, "codel"),
            ("link.dsl.point_to_point.up.rate", "2 Mbit/s"),
        ],
    );
    let at = |scenario: &Scenario, path: &str| {
        let tree: serde_json::Value = serde_json::from_str(&scenario.to_json()).expect("JSON");
        tree.pointer(path).cloned().expect("it is there")
    };
    let rate = "/link/dsl/point_to_point/down/rate";
    assert_eq!(at(&before, rate), "1 Mbit/s");
    assert_eq!(at(&after, rate), "2 Mbit/s");
    assert!(
        at(&after, "/link/dsl/point_to_point/down/queue")
            .get("codel")
            .is_some()
    );
}

#[test]
fn a_base_rtt_longer_than_the_path_is_warned_of() {
    let with = |base: &str| {
        let overrides = [
            ("flow.stream.application", "bulk"),
            ("flow.stream.rtt", "40 ms"),
            ("flow.stream.tcp.congestion.fast.base_rtt", base),
        ];
        right(PLAIN, &overrides).warnings().to_vec()
    };
    assert_eq!(with("45 ms"), [""; 0]);
    let [warning] = &with("1 s")[..] else {
        panic!("one warning");
    };
    assert!(
        warning.contains("longer than the path's own round trip, about 41 ms"),
        "{warning}"
    );
}

#[test]
fn what_the_path_loses_is_the_flows_loss_and_no_queues() {
    let tables = run(&right(PLAIN, &[("flow.stream.path.loss", "20 %")]), 1);
    let lost = "discarded_corrupted";
    assert!(value(table(&tables, "flows"), &[("flow", "stream")], lost) > 10.0);
    let up = [("queue", "dsl.up")];
    assert_eq!(value(table(&tables, "queues"), &up, lost) as u64, 0);
}

/// The losses of probes in each direction: `[up, down]`.
fn lost_of_probes(loss: &str) -> [u64; 2] {
    let overrides = [
        (
            "flow.stream.application",
            "{ isochronous = { interval = \"1 ms\", timeout = \"1 s\" } }",
        ),
        ("flow.stream.start", "0 s"),
        ("flow.stream.stop", "1001 ms"),
        ("warmup", "0 s"),
        ("flow.stream.path.loss", loss),
    ];
    let tables = run(&right(PLAIN, &overrides), 1);
    ["up", "down"].map(|direction| {
        let row = [("flow", "stream"), ("direction", direction)];
        value(table(&tables, "flows"), &row, "discarded_corrupted") as u64
    })
}

#[test]
fn the_path_loses_one_way_or_every_so_many_th_packet() {
    // There are 1000 or 1001 probes, depending on the random phase of the first. Each probe that
    // arrives is answered.
    assert_eq!(lost_of_probes("{ every = 100 }"), [10, 9]);
    assert_eq!(lost_of_probes("{ up = { every = 100 } }"), [10, 0]);
    assert_eq!(lost_of_probes("{ down = { every = 100 } }"), [0, 10]);
    let [up, down] = lost_of_probes("{ up = \"0 %\", down = 0.1 }");
    assert_eq!(up, 0);
    // Four standard errors of the expected 100.
    assert!(down.abs_diff(100) < 38, "{down}");
    let both = lost_of_probes("\"10 %\"");
    assert_eq!(both, lost_of_probes("0.1"), "the same share");
    assert_eq!(
        both,
        lost_of_probes("{ up = \"10 %\", down = 0.1 }"),
        "the same draws"
    );
}

#[test]
fn datagrams_that_are_ecn_capable_are_marked_in_place_of_dropped() {
    let with = |ecn: &str, key: &str, value: &str| {
        let mut overrides = vec![
            (
                "link.dsl.point_to_point.up.queue",
                "{ codel = { ecn = true } }",
            ),
            (key, value),
        ];
        if !ecn.is_empty() {
            overrides.push(("flow.stream.ecn", ecn));
        }
        run(&right(PLAIN, &overrides), 1)
    };
    let counted = |tables: &[(&'static str, Table)], name: &str, column: &str| {
        let keys = match name {
            "flows" => [("flow", "stream")],
            _ => [("queue", "dsl.up")],
        };
        value(table(tables, name), &keys, column) as u64
    };
    let bare = with("", "seed", "1");
    assert_eq!(counted(&bare, "flows", "marked"), 0);
    assert!(counted(&bare, "queues", "discarded_congested") > 0);
    for ecn in ["ect0", "ect1"] {
        let capable = with(ecn, "seed", "1");
        let marked = counted(&capable, "flows", "marked");
        assert!(marked > 0, "{ecn}");
        assert_eq!(counted(&capable, "queues", "marked"), marked, "{ecn}");
        assert_eq!(
            counted(&capable, "queues", "discarded_congested"),
            0,
            "{ecn}"
        );
        // Also in the wide area.
        let path = with(ecn, "flow.stream.path.marks", "50 %");
        assert!(counted(&path, "flows", "marked") > 2 * marked, "{ecn}");
    }
}

#[test]
fn a_host_and_a_cmts_that_take_time_make_every_round_trip_longer_by_twice_that() {
    let text = r#"
duration = "2 s"
[link.cable.docsis]
preset = "docsis30"
[link.dsl.point_to_point]
up.rate = "100 Mbit/s"
[host]
far.via = ["cable", "dsl"]
near.via = ["cable"]
server = {}
[flow.ping]
application.ping.interval = "20 ms"
host = "near"
peer = "server"
path.jitter = "0 s"
"#;
    let rtt = |overrides: &[(&str, &str)]| {
        let tables = run(&right(text, overrides), 1);
        let samples = table(&tables, "samples");
        let Some(Column::Float(values)) = samples.get("value") else {
            panic!("samples have values")
        };
        assert!(values.len() > 90, "{}", values.len());
        values[0]
    };
    let idle = rtt(&[]);
    let more = |overrides: &[(&str, &str)]| (rtt(overrides) - idle) / 1e6;
    // The delay of the MAC depends on when the request arrives. For the modem, nothing changes only
    // if the added time is beyond the CMTS.
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found}");
    near(
        more(&[("link.cable.docsis.plant.cmts_forwarding", "1.5 ms")]),
        3.0,
    );
    near(more(&[("host.server.processing", "700 us")]), 1.4);
    let two = [
        ("host.server.processing", "700 us"),
        ("link.cable.docsis.plant.cmts_forwarding", "250 us"),
    ];
    near(more(&two), 1.9);
    // Two MAP intervals more, after which the modem finds the same phase.
    near(more(&[("host.near.processing", "4 ms")]), 8.0);
    let idle = rtt(&[("flow.ping.host", "far")]);
    let both = [("flow.ping.host", "far"), two[1]];
    near((rtt(&both) - idle) / 1e6, 0.5);
}

/// Scoring periods start again at the end of the warm-up: a period that started before it does not
/// count.
#[test]
fn scores_are_of_periods_that_were_measured_whole() {
    let call = |application: &str, duration: &str| {
        let overrides = [
            ("flow.stream.application", application),
            ("flow.stream.start", "700 ms"),
            ("duration", duration),
            ("warmup", "7 s"),
        ];
        let tables = run(&right(PLAIN, &overrides), 1);
        let samples = table(&tables, "samples");
        let (Some(Column::Text(names)), Some(Column::Integer(times))) =
            (samples.get("measure"), samples.get("time_ns"))
        else {
            panic!("samples have names and times")
        };
        let scored = (names.iter().zip(times))
            .filter(|(name, _)| ["mos", "missed", "frames_late"].contains(&name.as_str()));
        scored
            .map(|(_, time)| *time as f64 / 1e9)
            .collect::<Vec<_>>()
    };
    for application in ["voice", "game"] {
        let ends = call(application, "39 s");
        assert_eq!(ends.len(), 3, "{application}: {ends:?}");
        for (end, expected) in ends.iter().zip([17.0, 27.0, 37.0]) {
            // A call's period is a whole number of packets, 20 ms apart.
            assert!(
                (0.0..0.02).contains(&(end - expected)),
                "{application}: {end}"
            );
        }
        assert_eq!(call(application, "16 s"), [0.0; 0]);
    }
    assert_eq!(call("conference", "11 s").first(), Some(&8.0));
}

/// Homes that flood both channels.
const FULL: &str = r#"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "5 Mbit/s", capacity = "20 Mbit/s" }
downstream = { rate = "50 Mbit/s", capacity = "100 Mbit/s" }
modem.home.count = 12
[host.family]
via = ["cable.home"]
[flow.put]
application.cbr.rate = "60 Mbit/s"
direction = "both"
host = "family"
"#;

/// A burst that is under way at either end of the measured time counts for the part that is within.
#[test]
fn a_full_channel_is_used_to_its_capacity_and_not_beyond() {
    for (duration, warmup) in [("1 s", "500 ms"), ("1503 ms", "1001 ms")] {
        let times = format!("duration = \"{duration}\"\nwarmup = \"{warmup}\"\n");
        let tables = run(&right(&format!("{times}{FULL}"), &[]), 1);
        for channel in ["cable.up", "cable.down"] {
            let keys = [("channel", channel)];
            let used = value(table(&tables, "channels"), &keys, "utilisation");
            assert!(
                (0.9999..=1.0 + 1e-9).contains(&used),
                "{channel} in {duration}: {used}"
            );
        }
    }
}

/// `queue` is the access point's queue, which all downstream packets pass. The queue of a station
/// has the station's name.
#[test]
fn the_queues_of_a_cell_have_names() {
    let scenario = right(
        CELL,
        &[
            ("queue", "\"codel\""),
            ("link.wifi.dot11b.station.phone.queue", "\"pie\""),
        ],
    );
    let mut simulation = scenario.build(1);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    let tables = simulation.tables();
    let queues = &tables
        .iter()
        .find(|(name, _)| *name == "queues")
        .expect("a table")
        .1;
    let Some(Column::Text(names)) = queues.get("queue") else {
        panic!("queues have names")
    };
    let Some(Column::Text(disciplines)) = queues.get("discipline") else {
        panic!("queues have disciplines")
    };
    let found: Vec<_> = names
        .iter()
        .zip(disciplines)
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("wifi.down", "codel"),
            ("wifi.laptop.up", "drop_tail"),
            ("wifi.phone.1.up", "pie"),
            ("wifi.phone.2.up", "pie"),
            ("wifi.phone.3.up", "pie"),
        ]
    );
}

#[test]
fn losses_and_marks_that_make_no_sense_are_refused() {
    assert!(error_with("flow.stream.path.loss", "100 %").contains("carries nothing"));
    for all in [
        "{ every = 1 }",
        "{ up = { every = 1 } }",
        "{ down = \"100 %\" }",
        "1.0",
    ] {
        assert!(
            error_with("flow.stream.path.loss", all).contains("carries nothing"),
            "{all}"
        );
    }
    for (wrong, path, why) in [
        ("{ every = 0 }", "every", "at least 2, found 0"),
        (
            "{ down = { every = 0 } }",
            "down.every",
            "at least 2, found 0",
        ),
        (
            "{ every = 5, up = \"1 %\" }",
            "every",
            "alone, or `up` and `down`",
        ),
        ("{ }", "", "expected `up`, `down` or `every`, found nothing"),
        (
            "{ up = \"200 %\" }",
            "up",
            "a share from 0 to 1, or from 0 % to 100 %",
        ),
        ("{ evry = 5 }", "", "did you mean \"every\"?"),
        ("2", "", "a share from 0 to 1, or from 0 % to 100 %"),
        ("{ every = \"1 %\" }", "every", "expected a whole number"),
    ] {
        let error = error_with("flow.stream.path.loss", wrong);
        let path = format!(
            "flow.stream.path.loss{}{path}",
            if path.is_empty() { "" } else { "." }
        );
        assert!(
            error.starts_with(&path) && error.contains(why),
            "{wrong}: {error}"
        );
    }
    let error = error_with("flow.stream.path.marks", "1 %");
    assert!(error.contains("not ECN-capable (ecn)"), "{error}");
    assert!(error_with("flow.stream.ecn", "ect2").contains("did you mean \"ect0\"?"));
    let bulk = |path: &str, value: &str| {
        let overrides = [("flow.stream.application", "bulk"), (path, value)];
        parse(PLAIN, &overrides)
            .expect_err("the override is wrong")
            .to_string()
    };
    let error = bulk("flow.stream.ecn", "ect0");
    assert!(
        error.starts_with("flow.stream.ecn: ") && error.contains("tcp.ecn decides"),
        "{error}"
    );
    assert!(bulk("flow.stream.path.marks", "1 %").contains("not ECN-capable (tcp.ecn)"));
}

#[test]
fn flows_that_make_no_sense_are_refused() {
    assert!(error_with("flow.stream.count", "0").contains("at least one"));
    assert!(error_with("flow.stream.count", "100000").contains("more than 10000"));
    assert!(error_with("flow.stream.dscp", "64").contains("a DSCP from 0 to 63"));
    assert!(error_with("flow.stream.tcp.mtu", "1000").contains("does not use TCP"));
    assert!(
        error_with("flow.stream.application.cbr.rate", "0 bit/s")
            .starts_with("flow.stream.application.cbr.rate: expected a rate above zero")
    );
    let bulk = |path: &str, value: &str| {
        let overrides = [("flow.stream.application", "bulk"), (path, value)];
        parse(PLAIN, &overrides)
            .expect_err("the override is wrong")
            .to_string()
    };
    assert!(bulk("flow.stream.direction", "both").contains("the direction of bulk can be"));
    assert!(bulk("flow.stream.tcp.mtu", "9000").contains("expected 68 to 1500 bytes"));
    assert!(bulk("flow.stream.tcp.receive_window", "0 B").contains("1 B to 1 GiB"));
    assert!(bulk("flow.stream.tcp.min_rto", "2 min").contains("at most max_rto"));
    for (tcp, expected) in [
        ("{ sack = false, rack = true }", "false where `sack`"),
        ("{ sack = false, dsack = true }", "false where `sack`"),
        (
            "{ system = \"freebsd4\", prr = \"rfc9937\" }",
            "\"off\" where `sack`",
        ),
        ("{ fast_recovery = \"reno\" }", "\"new_reno\" where `sack`"),
        (
            "{ congestion = \"prague\", ecn = \"off\" }",
            "answers marks",
        ),
        ("{ congestion.bbr.startup_gain = 1e9 }", "at most 100"),
        (
            "{ congestion.bbr.min_rtt_window = \"0 s\" }",
            "more than probe",
        ),
        (
            "{ congestion.bbr3.probe_rtt_interval = \"0 s\" }",
            "more than probe",
        ),
        (
            "{ congestion.ledbat.allowed_increase = 0 }",
            "at least 1 segment",
        ),
        (
            "{ congestion.westwood.filter = \"100 %\" }",
            "a share below 1",
        ),
    ] {
        let error = bulk("flow.stream.tcp", tcp);
        assert!(error.contains(expected), "{tcp}: {error}");
    }
    let negative = bulk("flow.stream.tcp.congestion.cubic.c", "-5");
    assert!(negative.starts_with("flow.stream.tcp.congestion.cubic.c: expected a number above 0"));
    assert!(error_where("[flow.stream]", "[flow.dsl]").contains("of the same name"));
    assert!(error_where("[flow.stream]", "[flow.\"a b\"]").contains("a name begins with a letter"));
    let hosts = "[host.s]\n[flow.stream]\nhost = \"s\"";
    assert!(error_where("[flow.stream]", hosts).contains("a flow's host is behind a link"));
    let itself = "[host.h]\nvia = [\"dsl\"]\n[flow.stream]\nhost = \"h\"\npeer = \"h\"";
    assert!(error_where("[flow.stream]", itself).contains("cannot be its own peer"));
    let two = "[link.other.point_to_point]\nup.rate = \"1 Mbit/s\"\n[flow.stream]";
    assert!(
        error_where("[flow.stream]", two).contains("with several links a flow must name its host")
    );
    let given = "[flow.stream]\nrtt = \"1 ms\"\npath = { up = \"1 ms\", down = \"1 ms\" }";
    assert!(error_where("[flow.stream]", given).contains("given already"));
    assert!(
        error_where("[flow.stream]", "[expect]\nx = \" \"\n[flow.stream]").contains("expect.x")
    );
}

#[test]
fn an_override_that_makes_something_else_wrong_is_named() {
    assert_eq!(
        error_with("duration", "500 ms"),
        "warmup: a warm-up of 500 ms leaves nothing to measure of a run of 500 ms (from --set \
         duration=500 ms)"
    );
    // The error names the override that made the scenario wrong. If the text itself is wrong, the
    // error gives the place in the text.
    let overrides = [("seed", "2"), ("duration", "400 ms"), ("title", "short")];
    let line = parse(PLAIN, &overrides).expect_err("too short").to_string();
    assert!(line.ends_with("(from --set duration=400 ms)"), "{line}");
    let wrong = PLAIN.replace("500 ms", "3 s");
    let line = parse(&wrong, &[("seed", "2")])
        .expect_err("too short")
        .to_string();
    assert!(line.ends_with("(line 4, column 10)"), "{line}");
}

#[test]
fn of_two_wrong_overrides_the_first_is_named() {
    let named = |overrides: &[(&str, &str)]| {
        let line = parse(PLAIN, overrides)
            .expect_err("two are wrong")
            .to_string();
        let from = line.find("(from --set ").expect("one is named");
        line[from + 12..line.len() - 1].to_owned()
    };
    let wrong = [
        ("flow.stream.rtt", "soon"),
        ("queue", "drop_tial"),
        ("duraton", "3 s"),
        ("flow.strem.rtt", "5 ms"),
        ("seed", "-1"),
    ];
    for (first, second) in (0..5).flat_map(|first| (0..5).map(move |second| (first, second))) {
        if first != second {
            let ((path, value), second) = (wrong[first], wrong[second]);
            let is = named(&[("title", "two"), (path, value), second, ("seed", "3")]);
            assert_eq!(is, format!("{path}={value}"), "before {second:?}");
        }
    }
    // An override is wrong on its own, whether or not the next one would correct it.
    let mending = [("duration", "400 ms"), ("warmup", "100 parsecs")];
    assert_eq!(named(&mending), "warmup=100 parsecs");
    let mending = [
        ("flow.stream.application", "replay"),
        ("flow.stream.application.replay.capture", "1"),
    ];
    assert_eq!(named(&mending), "flow.stream.application.replay.capture=1");
}

#[test]
fn the_error_of_a_wrong_dscp_has_the_valid_values() {
    for value in ["99", "300", "-1"] {
        let line = error_with("flow.stream.dscp", value);
        assert!(line.contains("expected a DSCP from 0 to 63"), "{line}");
    }
}

#[test]
fn a_queue_in_capitals_is_recognised() {
    assert!(error_with("queue", "CoDel").contains("did you mean \"codel\"?"));
}

#[test]
fn classes_of_a_queue_that_no_flow_belongs_to_are_warned_of() {
    let warnings = |queue: &str| right(PLAIN, &[("queue", queue)]).warnings().to_vec();
    let path = "link.dsl.point_to_point.up.queue";
    // The stream is UDP without a DSCP: it is neither tagged nor TCP, and in no band.
    let all_alike = |key: &str| {
        vec![format!(
            "{path}.{key}: no packet of this scenario's flows belongs to one of them, so that all \
             are treated alike: give flows a dscp that one takes, or write what it is to take"
        )]
    };
    assert_eq!(warnings("cbt"), all_alike("cbt.class"));
    assert_eq!(
        warnings("strict_priority"),
        all_alike("strict_priority.bands")
    );
    assert_eq!(
        warnings("{ drr.law = \"cbt\" }"),
        all_alike("drr.law.cbt.class")
    );
    let none =
        |key: &str| format!("{path}.{key}: no packet of this scenario's flows belongs to it");
    let written = "{ cbt.class = { calls = { match = { dscp = 46 } }, udp = { match = { protocol = \
                   \"udp\" } } } }";
    assert_eq!(warnings(written), [none("cbt.class.calls.match")]);
    assert_eq!(
        warnings("{ strict_priority.bands = [[46], [0], []] }"),
        [none("strict_priority.bands[0]")]
    );
    let marked = right(
        PLAIN,
        &[("queue", "strict_priority"), ("flow.stream.dscp", "46")],
    );
    assert!(marked.warnings().is_empty());
}

#[test]
fn an_error_in_an_override_says_that_it_is_from_there() {
    assert_eq!(
        error_with("flow.strem.rtt", "5 ms"),
        "flow.strem.rtt: no flow is called \"strem\"; did you mean \"stream\"? (from --set \
         flow.strem.rtt=5 ms)"
    );
    assert_eq!(
        error_with("flow.stream.tpc.mtu", "1"),
        "flow.stream.tpc: unknown key; did you mean \"tcp\"? (from --set flow.stream.tpc.mtu=1)"
    );
    for typo in ["qeue", "Queue"] {
        assert_eq!(
            error_with(typo, "codel"),
            format!("{typo}: unknown key; did you mean \"queue\"? (from --set {typo}=codel)"),
            "what an override may say besides the scenario's keys"
        );
    }
    assert_eq!(
        error_with("queue.dualpi2.limit", "1"),
        "link.dsl.point_to_point.up.queue.dualpi2.limit: expected a buffer limit such as \"250 \
         ms\", found 1 (from --set queue.dualpi2.limit=1)"
    );
    assert!(error_with("seed..x", "1").contains("a dot between two of them"));
}

#[test]
fn an_override_takes_the_place_of_what_is_written() {
    let queue = |overrides: &[(&str, &str)]| {
        let json = right(PLAIN, overrides).to_json();
        let value: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        value["link"]["dsl"]["point_to_point"]["up"]["queue"].to_string()
    };
    assert_eq!(queue(&[]), r#"{"drop_tail":{"limit":"100 ms"}}"#);
    assert_eq!(
        queue(&[("queue.drop_tail.limit", "64 KiB")]),
        r#"{"drop_tail":{"limit":"64 KiB"}}"#
    );
    assert!(queue(&[("queue", "none")]).contains("none"));
    assert!(queue(&[("queue", "codel")]).starts_with(r#"{"codel":{"#));
    assert!(queue(&[("queue.codel.target", "7 ms")]).contains(r#""target":"7 ms""#));
    assert!(queue(&[("queue", "codel"), ("queue.codel.target", "\"7 ms\"")]).contains("7 ms"));
    let path = "link.dsl.point_to_point.up.queue.drop_tail.limit";
    assert!(queue(&[(path, "9 packets")]).contains("9 packets"));
}

#[test]
fn the_resolved_scenario_is_the_same_scenario() {
    let mut texts = scenarios_in("scenarios");
    texts.extend([PLAIN, CABLE].map(|text| ("plain".to_owned(), text.to_owned())));
    assert!(texts.len() >= 8, "six scenarios are shipped at least");
    for (name, text) in texts {
        let scenario = right(&text, &[]);
        let again = Scenario::parse(&scenario.to_json(), Format::Json, &[], &BTreeMap::new());
        assert_eq!(again.as_ref(), Ok(&scenario), "{name}");
    }
}

#[test]
fn every_shipped_scenario_says_what_it_teaches_and_runs() {
    for (name, text) in scenarios_in("scenarios") {
        let scenario = right(&text, &[]);
        assert!(!scenario.raw().title.is_empty(), "{name}");
        assert!(scenario.raw().description.len() > 100, "{name}");
        if !scenario.real_hosts().is_empty() {
            continue; // without a real program nothing would happen there
        }
        let mut simulation = scenario.build(scenario.raw().seed);
        simulation.run_until(Instant::from_nanos(3_000_000_000));
        simulation.tables();
        assert!(simulation.events() > 0, "{name}");
    }
}

#[test]
fn the_examples_of_the_grammar_are_right() {
    let examples = scenarios_in("docs/adr/examples");
    assert_eq!(examples.len(), 4);
    for (_, text) in examples {
        right(&text, &[]);
    }
}

#[test]
fn the_reference_is_as_the_engine_makes_it() {
    let kept = |name| {
        fs::read_to_string(repository().join("docs/reference").join(name)).unwrap_or_default()
    };
    assert!(
        kept("scenario.schema.json") == schema(),
        "scenario.schema.json is stale: run make generate"
    );
    assert!(
        kept("scenario.md") == reference(),
        "scenario.md is stale: run make generate"
    );
}

#[test]
fn a_trace_is_read_from_its_file_and_kept() {
    let text = PLAIN.replace("up.rate = \"1 Mbit/s\"", "up.rate.trace = \"cell.up\"");
    let file = |name: &str, set_by: Option<&str>| RequiredFile {
        name: name.to_owned(),
        set_by: set_by.map(str::to_owned),
        kind: FileKind::Data,
    };
    let needed = |overrides: &[Override]| required_files(&text, Format::Toml, overrides);
    assert_eq!(needed(&[]), Ok(vec![file("cell.up", None)]));
    let set = |path: &str, value: &str| [(path.to_owned(), value.to_owned())];
    assert_eq!(
        needed(&set(
            "link.dsl.point_to_point.up.rate",
            "{ trace = \"other\" }"
        )),
        Ok(vec![file(
            "other",
            Some("link.dsl.point_to_point.up.rate={ trace = \"other\" }")
        )])
    );
    assert_eq!(
        needed(&set("link.dsl.point_to_point.down.rate.trace", "cell.up")),
        Ok(vec![
            file("cell.up", None),
            file(
                "cell.up",
                Some("link.dsl.point_to_point.down.rate.trace=cell.up")
            )
        ])
    );
    let with = |contents: &str| {
        let files = BTreeMap::from([("cell.up".to_owned(), contents.into())]);
        Scenario::parse(&text, Format::Toml, &[], &files)
    };
    let scenario = with("0\n4\n4\n\n12\n").expect("the trace is right");
    let json = scenario.to_json();
    assert_eq!(required_files(&json, Format::Json, &[]), Ok(Vec::new()));
    assert_eq!(
        Scenario::parse(&json, Format::Json, &[], &BTreeMap::new()),
        Ok(scenario)
    );
    assert!(error(&text).contains("the file \"cell.up\" cannot be read"));
    let wrong = |contents: &str| with(contents).expect_err("the trace is wrong").to_string();
    assert_eq!(
        wrong("1\nx\n"),
        "link.dsl.point_to_point.up.rate.trace: expected a whole number of milliseconds on line 2 \
         of \"cell.up\", found \"x\" (line 7, column 17)"
    );
    assert!(wrong("").contains("holds no delivery opportunity"));
    assert_eq!(
        wrong("root:x:0:0:root:/root:/bin/sh\n"),
        "link.dsl.point_to_point.up.rate.trace: expected a whole number of milliseconds on line 1 \
         of \"cell.up\", found \"root:x:0:0:root:/roo…\" (line 7, column 17)"
    );
    assert!(wrong("\u{1b}[31m").contains("found \"\\u{1b}[31m\""));
}

#[test]
fn an_overloaded_link_loses_what_does_not_fit_and_carries_its_rate() {
    let tables = run(&right(PLAIN, &[]), 1);
    let flows = table(&tables, "flows");
    let up = [("flow", "stream"), ("direction", "up")];
    // 1.2 Mbit/s in packets of 1000 B are 150 a second; 1.5 s are measured.
    assert!((value(flows, &up, "packets_sent") - 225.0).abs() <= 1.0);
    assert!((value(flows, &up, "throughput_bps") - 1e6).abs() < 10_000.0);
    assert!((value(flows, &up, "loss_ratio") - 1.0 / 6.0).abs() < 0.02);
    // The buffer's 100 ms, a packet's 8 ms, 1 ms of link, 10 ms of wide area, and up to 0.1 ms of
    // jitter.
    let longest = value(flows, &up, "delay_max_ns") / 1e6;
    assert!((110.0..=120.0).contains(&longest), "{longest}");
}

#[test]
fn an_uncongested_path_has_the_delay_that_is_written() {
    let text = PLAIN
        .replace("rate = \"1.2 Mbit/s\"", "rate = \"100 kbit/s\"")
        .replace(
            "start =",
            "path = { up = \"30 ms\", down = \"5 ms\", jitter = \"0 s\" }\nstart =",
        );
    let tables = run(&right(&text, &[]), 1);
    let up = [("flow", "stream"), ("direction", "up")];
    let delay = value(table(&tables, "flows"), &up, "delay_max_ns");
    assert!(
        (delay - 39e6).abs() < 1.0,
        "8 ms on the link, 1 ms along it, 30 ms beyond: {delay}"
    );
}

#[test]
fn links_chain_and_hosts_have_names() {
    let text = r#"
duration = "2 s"
[link.wifi.point_to_point]
up = { rate = "8 Mbit/s", delay = "1 ms" }
[link.dsl.point_to_point]
up = { rate = "8 Mbit/s", delay = "3 ms" }
[host]
laptop = { via = ["wifi", "dsl"] }
server = { rtt = "20 ms" }
[flow.probe]
host = "laptop"
peer = "server"
application.ping = { size = "972 B", interval = "100 ms" }
path.jitter = "0 s"
"#;
    let scenario = right(text, &[]);
    assert_eq!(scenario.bottleneck(), None, "there are two links");
    let tables = run(&scenario, 1);
    let rtt = value(table(&tables, "measures"), &[("flow", "probe")], "max");
    // Each way: 1 ms of transmission for some 992 B on each of two links, 4 ms of propagation on
    // them, and half the round trip.
    assert!((rtt - 32e6).abs() < 0.2e6, "{rtt}");
    assert_eq!(table(&tables, "queues").rows(), 4);
}

/// The longest delay, in milliseconds, of a call beside uploads, with fair queueing that separates
/// them.
fn longest_wait_of_a_call(overrides: &[(&str, &str)]) -> f64 {
    let text = r#"
duration = "10 s"
[link.line.point_to_point]
up.rate = "5 Mbit/s"
up.queue.sfq.hash.isolation = "perfect"
[host.laptop]
via = ["line"]
[flow.upload]
application = "bulk"
count = 2
host = "laptop"
[flow.call]
application.cbr = { rate = "80 kbit/s", size = "200 B" }
host = "laptop"
"#;
    let mut simulation = right(text, overrides).build(1);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    let tables = simulation.tables();
    match table(&tables, "flows").get("delay_max_ns") {
        Some(Column::Float(delays)) => delays[0] / 1e6,
        other => panic!("no delays: {other:?}"),
    }
}

#[test]
fn what_a_tunnel_carries_is_one_flow_to_a_fair_queue() {
    let apart = longest_wait_of_a_call(&[]);
    let by_flow = longest_wait_of_a_call(&[
        ("flow.call.tunnel", "\"vpn\""),
        ("flow.upload.tunnel", "\"vpn\""),
    ]);
    let by_host = longest_wait_of_a_call(&[("host.laptop.tunnel", "\"vpn\"")]);
    let in_two = longest_wait_of_a_call(&[
        ("host.laptop.tunnel", "\"vpn\""),
        ("flow.call.tunnel", "\"other\""),
    ]);
    assert!(apart < 30.0 && in_two < 30.0, "{apart} ms, {in_two} ms");
    assert!(by_flow > 100.0, "{by_flow} ms");
    assert_eq!(by_flow.to_bits(), by_host.to_bits());
}

#[test]
fn a_tunnel_that_is_none_is_refused() {
    let wrong = parse(PLAIN, &[("flow.stream.tunnel", "\"\"")]).expect_err("it has no name");
    assert!(wrong.to_string().contains("flow.stream.tunnel"), "{wrong}");
    let text = format!("{PLAIN}\n[host.server]\ntunnel = \"vpn\"\n");
    assert!(error(&text).contains("host.server.tunnel"));
}

#[test]
fn several_of_a_flow_differ_in_name_and_draws() {
    let text = CABLE.replace("[flow.call]", "count = 3\nrtt.sites = \"all\"\n[flow.call]");
    let tables = run(&right(&text, &[]), 1);
    let delay = |name| {
        let down = [("flow", name), ("direction", "down")];
        value(table(&tables, "flows"), &down, "delay_min_ns")
    };
    let delays = ["upload.1", "upload.2", "upload.3"].map(delay);
    let spread = delays[0].max(delays[1]).max(delays[2]) - delays[0].min(delays[1]).min(delays[2]);
    assert!(spread > 1e6, "{delays:?}");
}

#[test]
fn the_same_scenario_and_seed_give_the_same_tables_and_another_seed_others() {
    for text in [PLAIN, CABLE] {
        let scenario = right(text, &[]);
        let first = fingerprint(&scenario, 1);
        assert_eq!(fingerprint(&scenario, 1), first);
        assert_ne!(fingerprint(&scenario, 2), first);
    }
}

#[test]
fn the_order_of_writing_means_nothing() {
    let (head, flows) = CABLE.split_once("[flow.upload]").expect("it has the flow");
    let (upload, call) = flows.split_once("[flow.call]").expect("it has the other");
    let turned = format!("{head}[flow.call]{call}[flow.upload]{upload}");
    let (there, here) = (right(&turned, &[]), right(CABLE, &[]));
    assert_eq!(there, here);
    assert_eq!(fingerprint(&there, 1), fingerprint(&here, 1));
}

#[test]
fn slices_of_a_run_make_the_same_run() {
    let scenario = right(CABLE, &[]);
    let mut simulation = scenario.build(1);
    let mut until = Instant::ZERO;
    while !simulation.run_until(until) {
        until += headend::time::Duration::from_nanos(1_234_567);
    }
    assert_eq!(
        format!("{:?}", simulation.tables()),
        fingerprint(&scenario, 1)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any text of a file, the result is a scenario or an error of one line.
    #[test]
    fn any_text_is_answered_in_one_line(text in "\\PC*") {
        if let Err(wrong) = parse(&text, &[]) {
            prop_assert!(!wrong.to_string().contains('\n'));
        }
    }

    /// The same for a scenario that differs in one place.
    #[test]
    fn any_change_is_answered_in_one_line(
        at in 0..PLAIN.len(),
        length in 0_usize..20,
        put in "[\\[\\]{}=\".a-z0-9\n -]{0,12}",
    ) {
        let end = (at + length).min(PLAIN.len());
        let text = format!("{}{put}{}", &PLAIN[..at], &PLAIN[end..]);
        if let Err(wrong) = parse(&text, &[]) {
            prop_assert!(!wrong.to_string().contains('\n'));
        }
    }

    /// The same for overrides.
    #[test]
    fn any_override_is_answered_in_one_line(
        path in "(duration|queue|flow\\.stream|link\\.dsl)?(\\.[a-z_]{0,8}){0,3}",
        value in "\\PC{0,20}",
    ) {
        if let Err(wrong) = parse(PLAIN, &[(&path, &value)]) {
            prop_assert!(!wrong.to_string().contains('\n'));
        }
    }
}

/// The names of browsers and pages set keys that are not written, and a torrent sets its congestion
/// control. The resolved scenario shows both.
#[test]
fn names_in_applications_fill_in_what_is_not_written() {
    let resolved = |application: &str, tcp: &str| {
        let overrides = [
            ("flow.upload.application", application),
            ("flow.upload.tcp", tcp),
        ];
        let scenario = right(
            PLAIN.replace("[flow.stream]", "[flow.upload]").as_str(),
            &overrides,
        );
        let flow = scenario.raw().flow["upload"].clone();
        serde_json::to_value(flow).expect("a flow can be written")
    };
    let web = "{ web = { browser = \"chrome_13\", site = \"buffer_control\", servers = 2 } }";
    let web = &resolved(web, "{}")["application"]["web"];
    assert_eq!(web["persistent"], false);
    assert_eq!(web["html"], "20 KiB");
    assert_eq!(web["servers"], 2, "what is written stays");
    let modern = &resolved("{ web = { browser = \"modern\", tls = \"tls12\" } }", "{}");
    assert_eq!(modern["application"]["web"]["http2"]["streams"], 100);
    assert_eq!(modern["application"]["web"]["tls"], "tls12");
    for (application, tcp, control) in [
        ("torrent", "{}", "ledbat"),
        (
            "{ torrent = { connections = 3 } }",
            "{ system = \"linux\" }",
            "ledbat",
        ),
        ("torrent", "{ congestion = \"reno\" }", "reno"),
        ("bulk", "{}", "cubic"),
    ] {
        let flow = resolved(application, tcp);
        assert!(
            !flow["tcp"]["congestion"][control].is_null(),
            "{application}: {flow}"
        );
    }
    let wrong = [(
        "flow.stream.application",
        "{ web = { browser = \"lynx\" } }",
    )];
    let error = parse(PLAIN, &wrong)
        .expect_err("nobody knows it")
        .to_string();
    assert!(
        error.contains("unknown variant `lynx`") || error.contains("chrome_13"),
        "{error}"
    );
}

/// TCP settings of the scenario apply to flows that use TCP, unless the flow sets the key or names
/// a system of its own. Without SACK, the mechanisms that need it are off.
#[test]
fn tcp_of_a_scenario_is_that_of_its_flows() {
    let upload = PLAIN.replace("[flow.stream]", "[flow.upload]");
    let tcp = |overrides: &[(&str, &str)]| {
        let bulk = [("flow.upload.application", "bulk")];
        let scenario = right(&upload, &[&bulk, overrides].concat());
        let tcp = scenario.raw().flow["upload"].tcp.clone();
        serde_json::to_value(tcp).expect("it can be written")
    };
    let linux = tcp(&[]);
    assert_eq!(linux["system"], "linux");
    assert_eq!(linux["prr"], "rfc9937");
    assert_eq!(linux["receive_window"], "autotuned");
    assert_eq!(linux["congestion"]["cubic"]["hystart"], "original");
    let rfc = tcp(&[("tcp.system", "rfc")]);
    assert_eq!(rfc["prr"], "off");
    assert_eq!(rfc["min_rto"], "1 s");
    assert_eq!(rfc["congestion"]["cubic"]["hystart"], "off");
    assert_eq!(rfc, tcp(&[("flow.upload.tcp.system", "rfc")]));
    // A key of the flow has precedence; its other parameters are those of the system.
    let bbr = tcp(&[("tcp.system", "rfc"), ("flow.upload.tcp.congestion", "bbr")]);
    assert_eq!(bbr["congestion"]["bbr"]["ack_aggregation"], false);
    let other = tcp(&[
        ("tcp.mtu", "1400"),
        ("flow.upload.tcp.system", "windows_xp"),
    ]);
    assert_eq!(
        (&other["mtu"], &other["timestamps"]),
        (&1500.into(), &false.into())
    );
    let without = tcp(&[("flow.upload.tcp.sack", "false")]);
    assert_eq!(
        (&without["rack"], &without["prr"]),
        (&false.into(), &"off".into())
    );
    // A scenario without TCP may have TCP settings, and an error in them is reported at its place.
    right(PLAIN, &[("tcp.system", "rfc")]);
    for (path, value, expected) in [
        ("tcp.mtu", "5", "tcp.mtu: expected 68 to 1500"),
        ("tcp.system", "lnux", "did you mean \"linux\""),
    ] {
        let bulk = ("flow.upload.application", "bulk");
        let error = parse(&upload, &[bulk, (path, value)]).expect_err("it is wrong");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn members_start_one_after_the_other() {
    let text = PLAIN.replace(
        "start = { from = \"0 s\", to = \"10 ms\" }",
        "count = 3\nstart = { from = \"200 ms\", every = \"300 ms\" }",
    );
    let slow = ("flow.stream.application.cbr.rate", "100 kbit/s");
    let tables = run(
        &right(
            &text,
            &[("results.interval", "100 ms"), ("warmup", "0 s"), slow],
        ),
        1,
    );
    let series = table(&tables, "flow_series");
    let (Some(Column::Text(flows)), Some(Column::Float(rates)), Some(Column::Integer(times))) = (
        series.get("flow"),
        series.get("throughput_bps"),
        series.get("time_ns"),
    ) else {
        panic!("the series has its columns")
    };
    // The end of the first interval in which each flow delivered data, 13 ms of path after its
    // start.
    let first = |wanted: &str| {
        let mut rows = flows.iter().zip(rates).zip(times);
        let found = rows.find(|((flow, rate), _)| *flow == wanted && **rate > 0.0);
        *found.expect("it has sent").1 / 1_000_000
    };
    assert_eq!(
        ["stream.1", "stream.2", "stream.3"].map(first),
        [300, 600, 900]
    );
}

#[test]
fn a_flow_comes_and_goes_in_its_periods() {
    let text = PLAIN.replace(
        "start = { from = \"0 s\", to = \"10 ms\" }",
        "periods = [[\"100 ms\", \"400 ms\"], [\"1 s\", \"1200 ms\"]]",
    );
    let tables = run(
        &right(
            &text,
            &[
                ("warmup", "0 s"),
                ("flow.stream.application.cbr.rate", "400 kbit/s"),
            ],
        ),
        1,
    );
    let flows = table(&tables, "flows");
    // 50 packets a second for half a second, the first of each period at its start.
    let up = [("flow", "stream"), ("direction", "up")];
    assert!((value(flows, &up, "packets_sent") - 25.0).abs() < 0.5);
}

#[test]
fn members_draw_their_own_round_trips_from_a_range() {
    let text = PLAIN
        .replace(
            "rate = \"1.2 Mbit/s\", size = \"1000 B\"",
            "rate = \"10 kbit/s\", size = \"100 B\"",
        )
        .replace(
            "[flow.stream]",
            "[flow.stream]\ncount = 8\nrtt = { from = \"40 ms\", to = \"200 ms\" }",
        );
    let tables = run(&right(&text, &[]), 1);
    let flows = table(&tables, "flows");
    let mut delays: Vec<f64> = (1..=8)
        .map(|number| {
            let name = format!("stream.{number}");
            value(
                flows,
                &[("flow", &name), ("direction", "up")],
                "delay_min_ns",
            ) / 1e6
        })
        .collect();
    delays.sort_by(f64::total_cmp);
    // Half of the round trip, 1 ms of link, and 0.8 ms for the packet and for each one before it.
    assert!(delays[0] >= 21.8 && delays[7] <= 109.0, "{delays:?}");
    assert!(delays[7] - delays[0] > 20.0, "{delays:?}");
}

#[test]
fn groups_that_cannot_be_are_refused_with_path_and_line() {
    let with = |keys: &str| error_where("start = { from = \"0 s\", to = \"10 ms\" }", keys);
    let cases = [
        (
            "start = { from = \"1 s\" }",
            "flow.stream.start: expected `to` or `every`",
        ),
        (
            "start = { from = \"1 s\", to = \"2 s\", every = \"1 s\" }",
            "flow.stream.start: expected `to` or `every`",
        ),
        (
            "start = { from = \"0 s\", every = \"0 s\" }",
            "flow.stream.start.every",
        ),
        (
            "count = 4\nstart = { from = \"0 s\", every = \"1 s\" }",
            "flow.stream.start: a start of the last of 4 at 3 s is not within a run of",
        ),
        (
            "periods = [[\"2 s\", \"1 s\"]]",
            "flow.stream.periods[0]: a period that begins at 2 s cannot end at 1 s",
        ),
        (
            "periods = [[\"0 s\", \"1 s\"], [\"500 ms\", \"1 s\"]]",
            "flow.stream.periods[1]: a period that begins at 500 ms comes before",
        ),
        (
            "periods = [[\"1 h\", \"2 h\"]]",
            "flow.stream.periods[0]: a start at",
        ),
        (
            "stop = \"1 s\"\nperiods = [[\"0 s\", \"1 s\"]]",
            "flow.stream.stop: its periods say",
        ),
        (
            "rtt = { from = \"10 ms\" }",
            "flow.stream.rtt.from: expected a `to`",
        ),
        (
            "rtt = { from = \"10 ms\", to = \"5 ms\" }",
            "flow.stream.rtt.to",
        ),
        ("rtt = {}", "flow.stream.rtt: expected one of"),
        (
            "rtt = { from = \"1 ms\", to = \"1 h\" }",
            "flow.stream.rtt.to: a delay of at most",
        ),
        (
            "rtt = { normal = { mean = \"1 ms\", deviation = \"2 ms\" } }",
            "flow.stream.rtt.normal.deviation",
        ),
    ];
    for (keys, expected) in cases {
        let found = with(keys);
        assert!(found.starts_with(expected), "{keys}: {found}");
        assert!(found.contains("(line 1"), "{keys}: {found}");
    }
}

/// The departure time of a packet cannot be known in advance if the queue shares its line with
/// others, or if the line's rate changes.
#[test]
fn only_the_queue_of_a_plain_link_of_constant_rate_can_be_omniscient() {
    let law = "{ codel_dt = { delay_estimate = \"omniscient\" } }";
    right(PLAIN, &[("queue", law)]);
    let in_turn = format!("{{ sfq = {{ law = {law} }} }}");
    let refused = error_with("queue", &in_turn);
    assert!(
        refused.contains("sfq.law.codel_dt.delay_estimate"),
        "{refused}"
    );
    assert!(refused.contains("expected departure_rate"), "{refused}");
    let cable = parse(CABLE, &[("queue", law)]).expect_err("a cable line");
    let cable = cable.to_string();
    assert!(cable.contains("codel_dt.delay_estimate"), "{cable}");
    let steps = PLAIN.replace(
        "up.rate = \"1 Mbit/s\"",
        "up.rate.steps = [[\"0 s\", \"1 Mbit/s\"], [\"1 s\", \"2 Mbit/s\"]]",
    );
    let varying = parse(&steps, &[("queue", law)]).expect_err("a rate that changes");
    let varying = varying.to_string();
    assert!(varying.contains("constant rate"), "{varying}");
    let pie = error_with("queue", "{ pie = { delay_estimate = \"omniscient\" } }");
    assert!(pie.contains("for codel_dt alone"), "{pie}");
}

/// A modem requests grants for all that waits, also for what a shaper holds back.
#[test]
fn the_queue_of_a_modem_cannot_have_a_shaper() {
    let shaper = "{ cake = { rate = \"1 Mbit/s\" } }";
    right(PLAIN, &[("queue", shaper)]);
    right(CABLE, &[("queue", "cake")]);
    let refused = parse(CABLE, &[("queue", shaper)]).expect_err("a cable line");
    let refused = refused.to_string();
    assert!(refused.contains("upstream.queue.cake.rate"), "{refused}");
    assert!(refused.contains("expected \"unlimited\""), "{refused}");
}

#[test]
fn of_nothing_sent_no_share_is_lost() {
    let text = r#"
duration = "2 s"
warmup = "1200 ms"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "1 Mbit/s"
down.queue.drop_tail.limit = "10 packets"
[flow.film]
application.cbr = { rate = "20 Mbit/s", size = "1000 B" }
direction = "down"
rtt = "1 s"
stop = "1 s"
"#;
    let tables = run(&right(text, &[]), 1);
    let film = |column| value(table(&tables, "flows"), &[("flow", "film")], column);
    assert!(film("packets_sent") < 0.5);
    assert!(film("discarded_overlimit") > 0.0);
    assert!(film("loss_ratio").is_nan());
}

#[test]
fn what_never_arrived_has_neither_a_delay_nor_a_jitter() {
    let text = r#"
duration = "2 s"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
down.rate = "10 Mbit/s"
[flow.film]
application.cbr = { rate = "1 Mbit/s", size = "1000 B" }
direction = "up"
path.loss = 0.9999999
"#;
    let tables = run(&right(text, &[]), 1);
    let film = |column| value(table(&tables, "flows"), &[("flow", "film")], column);
    assert!(film("packets_sent") > 200.0 && film("packets_delivered") < 0.5);
    for column in ["delay_mean_ns", "delay_p50_ns", "delay_max_ns", "jitter_ns"] {
        assert!(film(column).is_nan(), "{column}");
    }
}

#[test]
fn a_path_that_is_deeper_than_any_scenario_is_refused() {
    let deep = "a.".repeat(100_000) + "b";
    let wrong = parse(PLAIN, &[(&deep, "1")]).expect_err("there is no such key");
    let wrong = wrong.to_string();
    assert!(
        wrong.starts_with("an override's path of 100001 keys leads nowhere: expected 50 at most"),
        "{}",
        &wrong[..100]
    );
}

#[test]
fn a_default_that_is_written_out_leaves_the_distance_of_a_peer() {
    let text = r#"
[link.line.point_to_point]
up.rate = "10 Mbit/s"
[host.far]
rtt = "120 ms"
[host.near]
[flow.page]
application = "web"
peers = ["far", "near"]
"#;
    let scenario = right(text, &[]);
    let again = Scenario::parse(&scenario.to_json(), Format::Json, &[], &BTreeMap::new());
    assert_eq!(again.as_ref(), Ok(&scenario));
    assert_eq!(scenario.raw().flow["page"].rtt, None);
    let alone = right(&text.replace("rtt = \"120 ms\"", ""), &[]);
    assert!(alone.raw().flow["page"].rtt.is_some());
}
