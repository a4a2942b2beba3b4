//! Low latency as scenarios write it: which service flows there are, which packets each takes, what
//! is refused, and what users are warned of.

mod from_text;

use std::collections::BTreeMap;

use from_text::Tables;
use headend::scenario::{Format, Override, Scenario};

/// A home with a transfer that is not L4S, one that is, a game with DSCP 45, and one with DSCP 46.
const LINE: &str = r#"
duration = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "20 Mbit/s", low_latency = {} }
downstream = { rate = "100 Mbit/s", low_latency = {} }
[flow.classic]
application.cbr = { rate = "1 Mbit/s", size = "500 B" }
direction = "up"
[flow.nqb]
application.cbr = { rate = "200 kbit/s", size = "100 B" }
direction = "up"
dscp = 45
[flow.ef]
application.cbr = { rate = "100 kbit/s", size = "100 B" }
direction = "down"
dscp = 46
[flow.scalable]
application = "bulk"
direction = "up"
tcp.congestion = "prague"
"#;

fn parse_with(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    let overrides: Vec<Override> = overrides.iter().map(owned).collect();
    Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn refused(overrides: &[(&str, &str)]) -> String {
    parse_with(LINE, overrides).expect_err("it makes no sense")
}

#[track_caller]
fn warnings(overrides: &[(&str, &str)]) -> Vec<String> {
    let scenario = parse_with(LINE, overrides).expect("it makes sense");
    scenario.warnings().to_vec()
}

#[track_caller]
fn tables(overrides: &[(&str, &str)]) -> Tables {
    let scenario = parse_with(LINE, overrides).expect("it makes sense");
    Tables::finish(scenario.build(1))
}

#[track_caller]
fn packets(tables: &Tables, queue: &str) -> u64 {
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == queue);
    let row = row.unwrap_or_else(|| panic!("no {queue} in {names:?}"));
    tables.integers("queues", "packets_enqueued")[row]
}

const UP: &str = "link.cable.docsis.upstream.low_latency";
const DOWN: &str = "link.cable.docsis.downstream.low_latency";

#[test]
fn each_direction_has_a_classic_and_a_low_latency_queue() {
    let names = |overrides: &[(&str, &str)]| tables(overrides).texts("queues", "queue").to_vec();
    let all = [
        "cable.up",
        "cable.up_low_latency",
        "cable.down",
        "cable.down_low_latency",
    ];
    assert_eq!(names(&[]), all);
    assert_eq!(names(&[(UP, "on"), (DOWN, "2019")]), all);
    assert_eq!(names(&[(DOWN, "off")]), all[..3]);
    assert_eq!(names(&[(UP, "off"), (DOWN, "off")]), [all[0], all[2]]);
}

/// Datagrams that only one flow sends, all of them upstream, with these keys; `low_latency` is that
/// of the upstream.
fn taken(keys: &str, low_latency: &str, more: &str) -> [u64; 2] {
    let text = format!(
        r#"
duration = "1 s"
[link.cable.docsis]
upstream = {{ rate = "20 Mbit/s", low_latency = {low_latency} }}
{more}
[host.four]
via = ["cable"]
[host.six]
via = ["cable"]
address = "2001:db8:1::10"
[host.server]
address = "2001:db8:2::10"
[flow.it]
application.cbr = {{ rate = "400 kbit/s", size = "500 B" }}
direction = "up"
{keys}
"#
    );
    let scenario = parse_with(&text, &[]).expect("it makes sense");
    let tables = Tables::finish(scenario.build(1));
    ["cable.up", "cable.up_low_latency"].map(|queue| packets(&tables, queue))
}

#[test]
fn packets_with_ect1_or_dscp_45_or_46_are_the_low_latency_flows_in_ipv4_and_ipv6() {
    let hosts = ["host = 'four'", "host = 'six'\npeer = 'server'"];
    for host in hosts {
        for (mark, is_taken) in [
            ("ecn = 'ect1'", true),
            ("dscp = 45", true),
            ("dscp = 46", true),
            ("ecn = 'ect0'", false),
            ("dscp = 44", false),
            ("dscp = 40", false),
            ("", false),
        ] {
            let [classic, low] = taken(&format!("{host}\n{mark}"), "{}", "");
            assert!(classic + low > 90, "{host}, {mark}: {classic} and {low}");
            assert_eq!(
                (classic == 0, low == 0),
                (is_taken, !is_taken),
                "{host}, {mark}"
            );
        }
    }
}

#[test]
fn written_classifiers_go_before_the_default_ones_and_a_match_replaces_them() {
    let further = "service_flow.own = { direction = 'up', match = { dscp = 45 } }";
    let nqb = "host = 'four'\ndscp = 45";
    assert_eq!(taken(nqb, "{}", further), [0, 0]);
    assert_eq!(taken("host = 'four'\necn = 'ect1'", "{}", further)[0], 0);
    let own = "{ match = { port = 5000 } }";
    assert_eq!(taken(nqb, own, "")[1], 0);
    assert_eq!(taken("host = 'four'\nport = 5000", own, "")[0], 0);
}

#[test]
fn only_classifiers_that_are_written_are_warned_of() {
    let idle = |warnings: Vec<String>| -> Vec<String> {
        let is_idle = |warning: &String| warning.contains("no packet of this scenario's flows");
        warnings.into_iter().filter(is_idle).collect()
    };
    assert_eq!(idle(warnings(&[])), [""; 0]);
    let found = idle(warnings(&[(UP, "{ match = { dscp = 12 } }")]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("{UP}.match: ")), "{found:?}");
}

#[test]
fn what_makes_no_sense_is_refused_with_its_path_and_what_is_expected() {
    for (key, value, expected) in [
        ("weight", "0", "1 to 255"),
        ("weight", "256", "found 256"),
        ("weight", "-1", "found -1"),
        ("coupling", "2.05", "in tenths"),
        ("coupling", "25.6", "25.5"),
        ("coupling", "-1.0", "found -1"),
        (
            "rate",
            "21 Mbit/s",
            "at most the rate of the aggregate, 20 Mbit/s",
        ),
        ("rate", "0 bit/s", "above zero"),
        (
            "scheduling.pgs.rate",
            "21 Mbit/s",
            "at most the rate of the low-latency flow, 20 Mbit/s",
        ),
        (
            "classic_rate",
            "30 Mbit/s",
            "at most the rate of the aggregate",
        ),
        ("limit", "2000 B", "more than the largest frame, 2000 B"),
        ("limit", "0.7 ms", "1750 B at 20 Mbit/s"),
        ("limit", "40 packets", "a size or a time"),
        ("maximum_threshold", "0 ms", "above zero"),
        ("maximum_threshold", "70 ms", "up to 65.535 ms"),
        ("range_exponent", "26", "0 to 25"),
        ("queue_protection.score_threshold", "0 s", "above zero"),
        ("queue_protection.drain_exponent", "0", "1 to 30"),
        ("queue_protection.drain_exponent", "31", "1 to 30"),
        (
            "scheduling",
            "ugs",
            "expected best_effort, nrtps or pgs, found ugs",
        ),
        ("latency_histogram", "['5 ms', '1 ms']", "ascending"),
        ("preset", "2020", "\"current\" or \"2019\""),
        ("queue_protection", "maybe", "true, false or a table"),
        ("wait", "230", "wait"),
    ] {
        let path = format!("{UP}.{key}");
        let error = refused(&[(&path, value)]);
        assert!(error.contains(&path), "{key} = {value}: {error}");
        assert!(error.contains(expected), "{key} = {value}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for (value, expected) in [
        ("onn", "unknown name \"onn\"; did you mean \"on\"?"),
        (
            "2018",
            "expected \"on\", \"off\", \"2019\" or a table, found 2018",
        ),
        (
            "true",
            "expected \"on\", \"off\", \"2019\" or a table, found true",
        ),
        (
            "1.5",
            "expected \"on\", \"off\", \"2019\" or a table, found 1.5",
        ),
    ] {
        let error = refused(&[(UP, value)]);
        assert!(error.contains(expected), "{value}: {error}");
    }
    let whole = [
        ("link.cable.docsis.plant.mac.continuous", "false"),
        ("link.cable.docsis.plant.mac.fragmentation", "false"),
    ];
    let error = refused(&whole);
    assert!(
        error.contains("link.cable.docsis.plant: the two"),
        "{error}"
    );
    assert!(
        error.contains("expected continuous concatenation"),
        "{error}"
    );
    let request_policy = format!("{DOWN}.request_policy.no_piggyback");
    let error = refused(&[(&request_policy, "true")]);
    assert!(error.contains("for the upstream"), "{error}");
}

#[test]
fn low_latency_came_with_docsis_31() {
    let preset = ("link.cable.docsis.preset", "docsis30");
    let error = refused(&[preset]);
    let expected =
        "a low-latency service flow came with DOCSIS 3.1 (`docsis31`), and this line is `docsis30`";
    assert!(error.contains(expected), "{error}");
    assert!(parse_with(LINE, &[preset, ("low_latency", "off")]).is_ok());
}

#[test]
fn low_latency_is_of_primary_service_flows_from_the_start() {
    for more in [
        "[link.cable.docsis.service_flow.own]\ndirection = 'up'\nmatch.dscp = 12\n\
         low_latency = 'on'\n",
        "[link.cable.docsis.change.later]\nat = '1 s'\nservice_flow = 'up'\nlow_latency = 'off'\n",
    ] {
        let error = parse_with(&format!("{LINE}{more}"), &[]).expect_err("it cannot be there");
        assert!(
            error.contains("expected it in `upstream` or `downstream`"),
            "{error}"
        );
        assert!(error.contains("low_latency"), "{error}");
    }
    for (service_flow, key) in [
        ("up_low_latency", "rate = '1 Mbit/s'"),
        ("down_low_latency", "delete = true"),
    ] {
        let change = format!(
            "[link.cable.docsis.change.later]\nat = '1 s'\nservice_flow = '{service_flow}'\n{key}\n"
        );
        let error = parse_with(&format!("{LINE}{change}"), &[]).expect_err("it stays as it is");
        assert!(
            error.contains("a low-latency flow stays as it is"),
            "{error}"
        );
    }
    let name =
        "[link.cable.docsis.service_flow.up_low_latency]\ndirection = 'up'\nmatch.dscp = 12\n";
    let error = parse_with(&format!("{LINE}{name}"), &[]).expect_err("the name is taken");
    assert!(error.contains("expected another name"), "{error}");
}

#[test]
fn users_are_warned_of_a_ramp_that_lies_higher_and_of_an_aggregate_without_a_rate() {
    assert_eq!(warnings(&[]), [""; 0]);
    let threshold = format!("{UP}.maximum_threshold");
    let found = warnings(&[(&threshold, "1 ms")]);
    let expected = "link.cable.docsis.upstream.low_latency.maximum_threshold is 1 ms, and at 20 \
                    Mbit/s marking begins no earlier than at 1.6 ms, the time that two frames of \
                    2000 B take: the ramp goes from 1.6 ms to 2.124288 ms";
    assert_eq!(found, [expected]);
    assert_eq!(warnings(&[(&threshold, "3 ms")]), [""; 0]);
    let found = warnings(&[("link.cable.docsis.upstream.rate", "unlimited")]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("marks nothing by its own delay"),
        "{found:?}"
    );
    let rate = format!("{UP}.rate");
    let unlimited = [
        ("link.cable.docsis.upstream.rate", "unlimited"),
        (&rate, "9 Mbit/s"),
    ];
    assert_eq!(warnings(&unlimited), [""; 0]);
}

/// Ten senders of 2 Mbit/s with DSCP 46, whose packets are far from filling the 50 Mbit/s up.
const STEADY: &str = r#"
duration = "4 s"
[link.cable.docsis]
plant.map_interval = "4 ms"
upstream = { rate = "50 Mbit/s", low_latency = {} }
downstream = { rate = "200 Mbit/s", low_latency = {} }
[flow.steady]
application.cbr = { rate = "2 Mbit/s", size = "1000 B", random_phase = true }
count = 10
direction = "up"
dscp = 46
[flow.scalable]
application = "bulk"
direction = "down"
tcp.congestion = "prague"
"#;

/// Per cent of the packets that queue protection redirects in a queue.
#[track_caller]
fn redirected(overrides: &[(&str, &str)], queue: &str) -> u64 {
    let scenario = parse_with(STEADY, overrides).expect("it makes sense");
    let tables = Tables::finish(scenario.build(1));
    let queues = tables.texts("queue_protection", "queue").iter();
    let rows: Vec<usize> = (queues.enumerate())
        .filter(|(_, name)| *name == queue)
        .map(|(row, _)| row)
        .collect();
    let sum = |column| -> u64 {
        let numbers = tables.integers("queue_protection", column);
        rows.iter().map(|&row| numbers[row]).sum()
    };
    sum("sanctioned") * 100 / sum("packets")
}

#[test]
fn upstream_a_wait_for_grants_counts_as_a_queue_only_if_the_scenario_says_so() {
    let queue = "cable.up_low_latency";
    assert_eq!(redirected(&[], queue), 0);
    assert_eq!(redirected(&[("low_latency", "2019")], queue), 0);
    let share = redirected(&[("low_latency.estimator", "backlog")], queue);
    assert!(share > 10, "{share} %");
}

#[test]
fn the_default_estimator_is_the_virtual_queue_upstream_and_the_backlog_downstream() {
    let run = |overrides: &[(&str, &str)]| {
        let scenario = parse_with(STEADY, overrides).expect("it makes sense");
        let tables = Tables::finish(scenario.build(1));
        ["marked", "packets_dequeued"].map(|column| tables.integers("queues", column).to_vec())
    };
    let [up, down] = [UP, DOWN].map(|place| format!("{place}.estimator"));
    for switch in ["on", "2019"] {
        let switch = ("low_latency", switch);
        let (virtual_queue, backlog) = ("virtual_queue", "backlog");
        let default = run(&[switch]);
        assert_eq!(
            default,
            run(&[switch, (&up, virtual_queue), (&down, backlog)])
        );
        assert_ne!(default, run(&[switch, (&up, backlog)]));
        assert_ne!(default, run(&[switch, (&down, virtual_queue)]));
    }
}

#[test]
fn one_override_switches_both_directions_and_every_modem_that_has_its_own() {
    let names = |text: &str, overrides: &[(&str, &str)]| -> Vec<String> {
        let scenario = parse_with(text, overrides).unwrap_or_else(|error| panic!("{error}"));
        let tables = Tables::finish(scenario.build(1));
        let names = tables.texts("queues", "queue").iter();
        names.filter(|name| name.contains("low")).cloned().collect()
    };
    let both = ["cable.up_low_latency", "cable.down_low_latency"];
    assert_eq!(names(LINE, &[("low_latency", "off")]), [""; 0]);
    assert_eq!(names(LINE, &[("low_latency", "2019")]), both);
    let plain = LINE.replace(", low_latency = {}", "");
    assert_eq!(names(&plain, &[]), [""; 0]);
    assert_eq!(names(&plain, &[("low_latency", "on")]), both);
    assert_eq!(names(&plain, &[("low_latency.weight", "200")]), both);
    let up = [(UP, "on"), ("low_latency.weight", "200")];
    assert_eq!(names(&plain, &up), both[..1]);
    let table = LINE.replace("low_latency = {}", "low_latency = { weight = 200 }");
    for (value, preset) in [("on", "current"), ("2019", "2019")] {
        let scenario = parse_with(&table, &[("low_latency", value)]).expect("it makes sense");
        let json = scenario.to_json();
        assert_eq!(json.matches("\"weight\": 200").count(), 2, "{json}");
        let preset = format!("\"preset\": \"{preset}\"");
        assert_eq!(json.matches(&preset).count(), 2, "{json}");
    }
    let modems = "
duration = '100 ms'
[link.cable.docsis.upstream]
rate = '20 Mbit/s'
low_latency = 'on'
[link.cable.docsis.modem.one.upstream]
low_latency = { weight = 100 }
[link.cable.docsis.modem.two]
[host.a]
via = ['cable.one']
[flow.f]
host = 'a'
application = 'ping'
";
    let ups = ["cable.one.up_low_latency", "cable.two.up_low_latency"];
    assert_eq!(names(modems, &[]), ups);
    assert_eq!(names(modems, &[("low_latency", "off")]), [""; 0]);
    let error = parse_with(
        "duration = '1 s'\n[link.line.point_to_point]\nup.rate = '1 Mbit/s'\n\
         down.rate = '1 Mbit/s'\n[flow.f]\napplication = 'ping'\n",
        &[("low_latency", "on")],
    );
    let error = error.map(drop).expect_err("there is no cable line");
    assert!(
        error.contains("this scenario has none (link.NAME.docsis)"),
        "{error}"
    );
}

#[test]
fn a_modem_or_class_replaces_the_lines_table_as_a_whole() {
    let text = "
duration = '100 ms'
[link.cable.docsis]
preset = 'docsis31'
upstream = { rate = '20 Mbit/s', low_latency = { weight = 7 } }
modem.off.upstream.low_latency = 'off'
modem.own.upstream.low_latency = { coupling = 0 }
modem.plain = {}
[host.a]
via = ['cable.plain']
[flow.f]
host = 'a'
application = 'ping'
";
    let scenario = parse_with(text, &[]).expect("it makes sense");
    let tables = Tables::finish(scenario.build(1));
    let names = tables.texts("queues", "queue");
    let low: Vec<&String> = names.iter().filter(|name| name.contains("low")).collect();
    assert_eq!(
        low,
        ["cable.own.up_low_latency", "cable.plain.up_low_latency"]
    );
    // A coupling without the line's weight of 7: the table is read and written again as it stood.
    let written = scenario.to_json();
    assert!(written.contains("\"coupling\""), "{written}");
}

#[test]
fn a_change_of_the_rate_is_one_of_the_aggregate() {
    let change =
        "[link.cable.docsis.change.slower]\nat = '1 s'\nservice_flow = 'up'\nrate = '5 Mbit/s'\n";
    let floods = "
[flow.more]
application.cbr = { rate = '40 Mbit/s', size = '1000 B' }
direction = 'up'
[flow.marked]
application.cbr = { rate = '40 Mbit/s', size = '1000 B' }
direction = 'up'
ecn = 'ect1'
";
    let megabytes = |change: &str| {
        let text = format!("{LINE}{floods}{change}");
        let unprotected = ("low_latency.queue_protection", "false");
        let scenario = parse_with(&text, &[unprotected]).expect("it makes sense");
        let tables = Tables::finish(scenario.build(1));
        let names = tables.texts("queues", "queue").iter();
        let rows = names.zip(tables.integers("queues", "bytes_dequeued"));
        let of_upstream = rows.filter(|(name, _)| name.starts_with("cable.up"));
        of_upstream.map(|(_, bytes)| *bytes as f64).sum::<f64>() / 1e6
    };
    // Two seconds at 20 Mbit/s, against one at 20 and one at 5 Mbit/s. Up to 5 % is for the burst
    // and for what is under way.
    for (change, expected) in [("", 5.0), (change, 3.125)] {
        let found = megabytes(change);
        assert!(
            (found - expected).abs() < 0.05 * expected,
            "{found} and {expected}"
        );
    }
    let below = change.replace("5 Mbit/s", "1 Mbit/s");
    let text =
        format!("{LINE}{below}").replace("low_latency = {}", "low_latency = { rate = '2 Mbit/s' }");
    let error = parse_with(&text, &[]).expect_err("the flow would have more than both together");
    assert!(
        error.contains("at most the rate of the aggregate, 1 Mbit/s"),
        "{error}"
    );
}
