//! Cable plants in whole scenarios: many modems, service flows, classifiers and changes, and the
//! errors of plants that cannot exist.

mod from_text;

use std::collections::BTreeMap;

use from_text::{Tables, scenario};
use headend::scenario::{Format, Scenario};

/// Four homes, one of which has a name of its own. Every home loads a web page; some have a call.
const STREET: &str = r#"
duration = "4 s"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "5 Mbit/s"
downstream.rate = "50 Mbit/s"
[link.cable.docsis.modem]
home.count = 12
office.upstream.rate = "20 Mbit/s"
[host]
family.via = ["cable.home"]
desk.via = ["cable.office"]
[flow.call]
application = "voice"
host = "family"
on = "1-3, 12"
[flow.backup]
application = "bulk"
direction = "up"
host = "desk"
"#;

/// One modem with a service flow for calls.
const OFFICE: &str = r#"
duration = "4 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "2 Mbit/s", queue.drop_tail.limit = "500 ms" }
downstream.rate = "50 Mbit/s"
[link.cable.docsis.service_flow.voice]
direction = "up"
scheduling = "ugs"
match.dscp = 46
[flow.call]
application = "voice"
dscp = 46
[flow.upload]
application = "bulk"
direction = "up"
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Format::Toml, &[], &BTreeMap::new()).map_err(|error| error.to_string())
}

/// The error for `text` with `from` replaced.
#[track_caller]
fn error_where(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the scenario has {from}");
    parse(&text.replace(from, to)).expect_err("the scenario is wrong")
}

/// The warnings for `text` with `from` replaced.
#[track_caller]
fn warnings_where(text: &str, from: &str, to: &str) -> Vec<String> {
    assert!(text.contains(from), "the scenario has {from}");
    let scenario = parse(&text.replace(from, to)).expect("the scenario can run");
    scenario.warnings().to_vec()
}

fn queues(tables: &Tables) -> &[String] {
    tables.texts("queues", "queue")
}

/// A value of a queue's row.
#[track_caller]
fn of_queue(tables: &Tables, queue: &str, column: &str) -> f64 {
    let row = queues(tables).iter().position(|name| name == queue);
    tables.floats("queues", column)[row.expect("a queue of this name")]
}

/// A count in a queue's row.
#[track_caller]
fn count_of_queue(tables: &Tables, queue: &str, column: &str) -> u64 {
    let row = queues(tables).iter().position(|name| name == queue);
    tables.integers("queues", column)[row.expect("a queue of this name")]
}

/// A value of a flow's upstream row.
#[track_caller]
fn of_flow_up(tables: &Tables, flow: &str, column: &str) -> f64 {
    let names = tables.texts("flows", "flow").iter();
    let mut rows = names.zip(tables.texts("flows", "direction"));
    let row = rows.position(|(name, direction)| name == flow && direction == "up");
    tables.floats("flows", column)[row.expect("a flow of this name")]
}

#[test]
fn modems_and_their_queues_are_numbered_and_in_order() {
    let tables = Tables::run(STREET, 1);
    let names = queues(&tables);
    assert_eq!(names.len(), 26);
    assert_eq!(
        names[..4],
        [
            "cable.home.1.up",
            "cable.home.1.down",
            "cable.home.2.up",
            "cable.home.2.down"
        ]
    );
    assert_eq!(
        names[22..],
        [
            "cable.home.12.up",
            "cable.home.12.down",
            "cable.office.up",
            "cable.office.down"
        ]
    );
    let flows = tables.texts("flows", "flow");
    let mut calls: Vec<&String> = flows
        .iter()
        .filter(|name| name.starts_with("call"))
        .collect();
    calls.dedup();
    assert_eq!(calls, ["call.1", "call.2", "call.3", "call.12"]);
}

#[test]
fn a_home_has_its_line_s_rate_and_an_office_its_own() {
    let tables = Tables::run(STREET, 1);
    assert!((of_queue(&tables, "cable.home.5.up", "rate_bps") - 5e6).abs() < 1.0);
    assert!((of_queue(&tables, "cable.office.up", "rate_bps") - 20e6).abs() < 1.0);
    assert!(of_flow_up(&tables, "backup", "goodput_bps") > 10e6);
    assert_eq!(
        count_of_queue(&tables, "cable.home.5.up", "packets_enqueued"),
        0
    );
    assert!(count_of_queue(&tables, "cable.home.12.up", "packets_enqueued") > 100);
}

#[test]
fn a_mix_of_service_classes_is_kept_in_every_part_of_the_street() {
    let text = STREET.replace(
        "home.count = 12",
        "home.count = 100\nhome.mix = { gold = 30, basic = 70 }",
    ) + "[link.cable.docsis.service_class]\ngold.upstream.rate = \"9 Mbit/s\"\n\
         basic.upstream.burst = \"8 kB\"\n";
    let text = text.replace("1-3, 12", "1");
    let tables = Tables::run(&text, 1);
    let golds = |homes: std::ops::RangeInclusive<u32>| {
        let is_gold = |home: &u32| {
            let queue = format!("cable.home.{home}.up");
            of_queue(&tables, &queue, "rate_bps") > 8e6
        };
        homes.filter(is_gold).count()
    };
    assert_eq!(golds(1..=100), 30);
    assert_eq!(golds(1..=10), 3);
    assert_eq!(golds(41..=60), 6);
}

#[test]
fn a_share_of_homes_is_strewn_and_a_larger_one_holds_a_smaller() {
    let homes = |flow: &str, share: &str| {
        let text = STREET
            .replace("home.count = 12", "home.count = 100")
            .replace(
                "on = \"1-3, 12\"",
                &format!(
                    "share = \"{share}\"\n[flow.{flow}]\napplication = \"ping\"\n\
                     host = \"family\"\nshare = \"{share}\""
                ),
            );
        let tables = Tables::run(&text.replace("duration = \"4 s\"", "duration = \"1 s\""), 1);
        let start = format!("{flow}.");
        let mut names: Vec<u32> = tables
            .texts("flows", "flow")
            .iter()
            .filter_map(|name| name.strip_prefix(&start)?.parse().ok())
            .collect();
        names.dedup();
        names
    };
    let tenth = homes("a", "10 %");
    let fifth = homes("a", "20 %");
    assert_eq!((tenth.len(), fifth.len()), (10, 20));
    assert!(
        tenth.iter().all(|home| fifth.contains(home)),
        "{tenth:?} {fifth:?}"
    );
    assert!(tenth.is_sorted() && tenth[9] - tenth[0] > 40, "{tenth:?}");
    assert_ne!(homes("b", "10 %"), tenth, "another flow has other homes");
}

#[test]
fn two_of_a_flow_at_each_home_are_numbered_within_it() {
    let text = STREET.replace("on = \"1-3, 12\"", "on = 2\ncount = 2");
    let tables = Tables::run(&text, 1);
    let flows = tables.texts("flows", "flow");
    for name in ["call.2.1", "call.2.2"] {
        assert!(flows.iter().any(|flow| flow == name), "{flows:?}");
    }
}

#[test]
fn a_host_behind_one_of_many_modems_and_one_of_many_hosts_are_named_by_number() {
    let text = STREET
        .replace(
            "family.via = [\"cable.home\"]",
            "family.via = [\"cable.home.7\"]",
        )
        .replace("on = \"1-3, 12\"\n", "");
    let tables = Tables::run(&text, 1);
    assert!(count_of_queue(&tables, "cable.home.7.up", "packets_enqueued") > 100);
    let text = STREET.replace(
        "host = \"family\"\non = \"1-3, 12\"",
        "host = \"family.7\"\npeer = \"family.2\"",
    );
    let tables = Tables::run(&text, 1);
    for queue in [
        "cable.home.7.up",
        "cable.home.2.up",
        "cable.home.7.down",
        "cable.home.2.down",
    ] {
        assert!(
            count_of_queue(&tables, queue, "packets_enqueued") > 100,
            "{queue}"
        );
    }
}

#[test]
fn packets_go_to_the_service_flow_that_claims_them() {
    let tables = Tables::run(OFFICE, 1);
    assert_eq!(queues(&tables), ["cable.up", "cable.voice", "cable.down"]);
    // A call of 50 packets a second. The last packets may not have reached the queue at the end.
    let voice = count_of_queue(&tables, "cable.voice", "packets_enqueued");
    assert!((195..=201).contains(&voice), "{voice}");
    assert!(count_of_queue(&tables, "cable.up", "packets_enqueued") > 400);
    // The upload fills a buffer of half a second, and the call has grants of its own.
    assert!(of_queue(&tables, "cable.up", "delay_p50_ns") > 100e6);
    assert!(of_flow_up(&tables, "call", "delay_p99_ns") < 45e6);
}

#[test]
fn downstream_flows_are_classified_as_well() {
    let text = OFFICE.replace(
        "direction = \"up\"\nscheduling = \"ugs\"",
        "direction = \"down\"",
    );
    let tables = Tables::run(&text, 1);
    assert_eq!(queues(&tables), ["cable.up", "cable.down", "cable.voice"]);
    let voice = count_of_queue(&tables, "cable.voice", "packets_enqueued");
    assert!((195..=201).contains(&voice), "{voice}");
}

#[test]
fn what_a_drop_rule_names_does_not_leave_the_modem() {
    let text = OFFICE.to_owned()
        + "[link.cable.docsis.drop]\ncalls = { dscp = \"40-47\", protocol = \"udp\" }\n";
    let tables = Tables::run(&text, 1);
    assert_eq!(
        count_of_queue(&tables, "cable.voice", "packets_enqueued"),
        0
    );
    let flows = tables.texts("flows", "flow");
    let up = flows
        .iter()
        .position(|name| name == "call")
        .expect("the call");
    let dropped: u64 = tables.integers("flows", "discarded_filtered")[up..up + 2]
        .iter()
        .sum();
    assert!((195..=201).contains(&dropped), "{dropped}");
}

#[test]
fn a_modem_s_service_flow_takes_the_place_of_its_line_s() {
    let text = STREET.to_owned()
        + "[link.cable.docsis.service_flow.voice]\ndirection = \"up\"\nrate = \"1 Mbit/s\"\n\
           match.protocol = \"udp\"\n"
        + "[link.cable.docsis.modem.office.service_flow.voice]\ndirection = \"up\"\n\
           rate = \"3 Mbit/s\"\nmatch.protocol = \"udp\"\n";
    let tables = Tables::run(&text, 1);
    assert!((of_queue(&tables, "cable.home.3.voice", "rate_bps") - 1e6).abs() < 1.0);
    assert!((of_queue(&tables, "cable.office.voice", "rate_bps") - 3e6).abs() < 1.0);
}

#[test]
fn a_change_of_rate_holds_from_its_time_on() {
    let text = OFFICE.replace(
        "duration = \"4 s\"",
        "duration = \"12 s\"\nresults.interval = \"1 s\"",
    ) + "[link.cable.docsis.change.faster]\nat = \"6 s\"\nservice_flow = \"up\"\n\
         rate = \"8 Mbit/s\"\n";
    let tables = Tables::run(&text, 1);
    let rates = series(&tables, "cable.up", "rate_bps");
    assert!((rates[4] - 1.98e6).abs() < 0.05e6, "{rates:?}");
    assert!(rates[10] > 7.5e6, "{rates:?}");
}

/// The series of a queue.
fn series(tables: &Tables, queue: &str, column: &str) -> Vec<f64> {
    let rows = tables.texts("queue_series", "queue").iter();
    let values = tables.floats("queue_series", column);
    rows.zip(values)
        .filter(|(name, _)| *name == queue)
        .map(|(_, value)| *value)
        .collect()
}

#[test]
fn a_change_of_queue_moves_what_waits_and_drops_what_does_not_fit() {
    // After two seconds the upload has filled its buffer.
    let change = "[link.cable.docsis.change.shorter]\nat = \"2 s\"\nservice_flow = \"up\"\n\
                  queue.buffer_control.target = \"16 KiB\"\n";
    let text = OFFICE.replace(
        "duration = \"4 s\"",
        "duration = \"6 s\"\nresults.interval = \"500 ms\"",
    );
    let before = Tables::run(&text, 1);
    let after = Tables::run(&(text + change), 1);
    // The drops in the half second that starts with the change.
    let dropped = |tables: &Tables| {
        let queues = tables.texts("queue_series", "queue").iter();
        let discarded = queues.zip(tables.integers("queue_series", "discarded"));
        let of_queue = discarded.filter(|(name, _)| *name == "cable.up");
        *of_queue
            .map(|(_, discarded)| discarded)
            .nth(4)
            .expect("six seconds have twelve rows")
    };
    assert!(
        dropped(&after) > dropped(&before) + 20,
        "{} {}",
        dropped(&before),
        dropped(&after)
    );
    let delays = series(&after, "cable.up", "delay_mean_ns");
    assert!(delays[3] > 150e6 && delays[11] < 80e6, "{delays:?}");
    // Each packet is enqueued once, however often it is moved.
    let (enqueued, dequeued) = (
        count_of_queue(&after, "cable.up", "packets_enqueued"),
        count_of_queue(&after, "cable.up", "packets_dequeued"),
    );
    assert!(
        enqueued >= dequeued && enqueued - dequeued < 100,
        "{enqueued} {dequeued}"
    );
}

#[test]
fn a_law_that_measures_grants_sees_them_also_if_a_change_installs_it() {
    let law = "queue.docsis_pie.delay_estimate = \"grants\"";
    let drop_tail = "queue.drop_tail.limit = \"500 ms\"";
    let later = format!(
        "{OFFICE}[link.cable.docsis.change.law]\nat = \"2 s\"\nservice_flow = \"up\"\n{law}\n"
    );
    // Also after CoDel, to which the modem reported grants before the change.
    let behind = later.replace(drop_tail, "queue.codel = {}");
    for text in [OFFICE.replace(drop_tail, law), later, behind] {
        let text = text.replace(
            "duration = \"4 s\"",
            "duration = \"4 s\"\nresults.interval = \"500 ms\"",
        );
        let rates = series(&Tables::run(&text, 1), "cable.up", "rate_estimate_bps");
        // The estimate starts at the line's rate. A law that measures grants then sees a higher
        // rate for the length of a burst.
        let latest = *rates.last().expect("a row for each interval");
        assert!(latest > 2.01e6 && latest < 20e6, "{rates:?}");
    }
}

#[test]
fn what_a_queue_held_back_leaves_when_another_takes_its_place() {
    let text = r#"
duration = "700 ms"
[link.cable.docsis]
preset = "docsis10"
upstream.rate = "2 Mbit/s"
upstream.queue.cbq.class.all = { share = "0.5 %", borrow = false, limit = "200 packets" }
downstream.rate = "10 Mbit/s"
[flow.burst]
application.cbr = { rate = "2 Mbit/s", size = "500 B" }
direction = "up"
stop = "150 ms"
"#;
    let change = "[link.cable.docsis.change.plain]\nat = \"300 ms\"\nservice_flow = \"up\"\n\
                  queue = \"drop_tail\"\n";
    let delivered = |text: &str| {
        let tables = Tables::run(text, 1);
        let row = tables.texts("flows", "direction").iter();
        let up = row.clone().position(|way| way == "up").expect("it sends");
        let figure = |name| tables.integers("flows", name)[up];
        (figure("packets_sent"), figure("packets_delivered"))
    };
    let (sent, held_back) = delivered(text);
    assert!(held_back < sent, "{held_back} of {sent}");
    assert_eq!(delivered(&(text.to_owned() + change)), (sent, sent));
}

#[test]
fn a_modem_that_comes_later_loses_what_is_sent_before() {
    let text = STREET
        .replace("duration = \"4 s\"", "duration = \"20 s\"")
        .replace(
            "home.count = 12",
            "home.count = 12\nhome.online_at = \"2 s\"",
        );
    let tables = Tables::run(&text, 1);
    let flows = tables.texts("flows", "flow");
    let first = flows
        .iter()
        .position(|name| name == "call.1")
        .expect("the call");
    let lost = tables.integers("flows", "discarded_not_registered")[first];
    let sent = count_of_queue(&tables, "cable.home.1.up", "packets_enqueued");
    assert!(lost > 90, "two seconds and the ranging at least: {lost}");
    assert!(sent > 100 && lost + sent >= 999, "{sent} after {lost}");
}

#[test]
fn neighbours_make_the_line_slower() {
    let load = "[link.cable.docsis.neighbours]\nload = \"90 %\"\nrequests_per_second = 1000\n";
    let text = STREET.replace(
        "office.upstream.rate",
        "office.upstream.queue = \"none\"\noffice.upstream.rate",
    );
    let alone = Tables::run(&text, 1);
    let beside = Tables::run(&(text + load), 1);
    let delay = |tables: &Tables| of_flow_up(tables, "call.1", "delay_p50_ns");
    assert!(
        delay(&beside) > delay(&alone),
        "{} {}",
        delay(&beside),
        delay(&alone)
    );
}

#[test]
fn a_plant_of_several_modems_repeats_itself_and_is_resolved_to_itself() {
    let texts = [STREET, OFFICE].map(str::to_owned);
    for text in texts {
        let first = scenario(&text, &[]);
        let json = first.to_json();
        let again = Scenario::parse(&json, Format::Json, &[], &BTreeMap::new());
        assert_eq!(again.as_ref(), Ok(&first), "{json}");
        let print = |seed| format!("{:?}", Tables::run(&text, seed).0);
        assert_eq!(print(7), print(7));
        assert_ne!(print(7), print(8));
    }
}

#[test]
fn more_modems_leave_the_draws_of_the_others_as_they_are() {
    let call = |text: &str| of_flow_up(&Tables::run(text, 1), "call.1", "delay_min_ns");
    let fewer = call(STREET);
    let more = call(&STREET.replace("home.count = 12", "home.count = 40"));
    assert!((fewer - more).abs() < 1e6, "{fewer} {more}");
}

#[test]
fn queue_stands_for_the_bottleneck_s() {
    let path = |bottleneck: &str, extra: &str| {
        let text = format!("bottleneck = \"{bottleneck}\"\n{STREET}{extra}");
        let scenario = scenario(&text, &[("queue", "codel")]);
        (
            scenario.queue_path().expect("there is a bottleneck"),
            scenario.to_json(),
        )
    };
    let (home, json) = path("cable.home.7.up", "");
    assert_eq!(home, "link.cable.docsis.modem.home.upstream.queue");
    assert!(json.contains("\"codel\""));
    assert_eq!(
        path("cable.office.down", "").0,
        "link.cable.docsis.modem.office.downstream.queue"
    );
    let voice =
        "[link.cable.docsis.service_flow.voice]\ndirection = \"up\"\nmatch.protocol = \"udp\"\n";
    assert_eq!(
        path("cable.home.7.voice", voice).0,
        "link.cable.docsis.service_flow.voice.queue"
    );
    let office = scenario(OFFICE, &[("queue.codel.target", "7 ms")]);
    assert!(office.to_json().contains("\"target\": \"7 ms\""));
}

#[test]
fn a_name_that_is_not_there_is_met_with_what_was_perhaps_meant() {
    let wrong = |from: &str, to: &str| error_where(STREET, from, to);
    assert_eq!(
        wrong("via = [\"cable.home\"]", "via = [\"cable.hom\"]"),
        "host.family.via[0]: no link port is called \"cable.hom\"; did you mean \"cable.home\"? \
         (line 11, column 15)"
    );
    assert!(
        wrong("\"cable.home\"", "\"cable.home.13\"")
            .contains("no link port is called \"cable.home.13\"")
    );
    assert!(
        wrong(
            "home.count = 12",
            "home.count = 12\nhome.service_class = \"gold\""
        )
        .contains("no service class is called \"gold\"; there is none")
    );
    assert!(
        wrong("host = \"desk\"", "host = \"family.13\"")
            .contains("no host is called \"family.13\"")
    );
    let overrides = [(
        "link.cable.docsis.modem.hoem.count".to_owned(),
        "5".to_owned(),
    )];
    let slip = Scenario::parse(STREET, Format::Toml, &overrides, &BTreeMap::new());
    let slip = slip.expect_err("it is a slip").to_string();
    assert!(
        slip.contains("no modem is called \"hoem\"; did you mean \"home\"?"),
        "{slip}"
    );
}

#[test]
fn modems_that_make_no_sense_are_refused() {
    let wrong = |from: &str, to: &str| error_where(STREET, from, to);
    assert!(wrong("home.count = 12", "home.count = 0").contains("at least one"));
    assert!(wrong("home.count = 12", "home.count = 20000").contains("more than 10000"));
    assert!(
        wrong(
            "home.count = 12",
            "home.count = 12\nhome.mix = { gold = 1 }"
        )
        .contains("no service class is called \"gold\"")
    );
    assert!(
        wrong("home.count = 12", "home.mix = { gold = 1 }").contains("say how many with count")
    );
    assert!(
        wrong(
            "home.count = 12",
            "home.count = 12\nhome.online_at = \"9 s\""
        )
        .contains("not there in a run of 4 s")
    );
    assert!(wrong("office.upstream", "up.upstream").contains("service flows that every modem has"));
    assert!(
        wrong("host = \"family\"\n", "").contains("with several modems a flow must name its host")
    );
    assert!(
        wrong("on = \"1-3, 12\"", "on = \"1-13\"").contains("there are 12 hosts, and no number 13")
    );
    assert!(wrong("on = \"1-3, 12\"", "on = \"0-3\"").contains("counted from 1"));
    assert!(
        wrong("on = \"1-3, 12\"", "on = \"a\"")
            .contains("expected a number or ranges such as \"1-50\"")
    );
    assert!(wrong("on = \"1-3, 12\"", "share = \"1 %\"").contains("one at least"));
    assert!(
        wrong("host = \"desk\"", "host = \"desk\"\nshare = \"50 %\"").contains("there is one host")
    );
    assert!(
        wrong("host = \"desk\"", "host = \"desk\"\npeer = \"family\"")
            .contains("a peer is one, such as \"family.1\"")
    );
}

#[test]
fn service_flows_that_make_no_sense_are_refused() {
    let wrong = |from: &str, to: &str| error_where(OFFICE, from, to);
    assert_eq!(
        wrong("match.dscp = 46", "match.dscp = 64"),
        "link.cable.docsis.service_flow.voice.match.dscp: expected a DSCP from 0 to 63, found 64 \
         (line 10, column 14)"
    );
    assert!(wrong("match.dscp = 46\n", "").contains("takes no packet unless it says which"));
    assert!(
        wrong(
            "match.dscp = 46",
            "match = { protocol = \"icmp\", port = 5 }"
        )
        .contains("ICMP has no ports")
    );
    assert!(
        wrong("match.dscp = 46", "match.host = \"nobody\"")
            .contains("no host is called \"nobody\"")
    );
    assert!(
        wrong("match.dscp = 46", "match.dscp = \"47-40\"")
            .contains("a range such as \"40-47\", found \"47-40\"")
    );
    assert!(
        wrong("match.dscp = 46", "match.dscp = 46\npriority = 8")
            .contains("a traffic priority from 0 to 7, found 8")
    );
    assert!(
        wrong(
            "match.dscp = 46",
            "match.dscp = 46\nrate = \"1 Mbit/s\"\nminimum_reserved = \"2 Mbit/s\""
        )
        .contains("above the maximum sustained rate of 1 Mbit/s")
    );
    assert!(
        wrong(
            "direction = \"up\"\nscheduling",
            "direction = \"down\"\nscheduling"
        )
        .contains("scheduling types are for the upstream")
    );
    assert!(
        wrong("\"ugs\"", "{ ugs = { interval = \"0 s\" } }")
            .contains("voice.scheduling.ugs.interval: expected 100 us to 10 s, found 0 s")
    );
    assert!(
        wrong("\"ugs\"", "{ ugs = { size = \"20 B\" } }")
            .contains("the shortest packet with its headers")
    );
    assert!(wrong("\"ugs\"", "\"usg\"").contains("did you mean \"ugs\"?"));
    assert!(
        wrong("preset = \"docsis31\"", "preset = \"docsis10\"")
            .contains("several service flows with classifiers came with DOCSIS 1.1")
    );
    assert!(
        wrong(
            "preset = \"docsis31\"",
            "preset = \"docsis30\"\nupstream.scheduling = \"pgs\""
        )
        .len()
            > 10
    );
}

#[test]
fn two_classifiers_that_take_the_same_flow_alike_are_refused() {
    let other = "[link.cable.docsis.service_flow.udp]\ndirection = \"up\"\n\
                 match.protocol = \"udp\"\n[flow.call]";
    let ambiguous = error_where(OFFICE, "[flow.call]", other);
    assert!(
        ambiguous.contains("the flow \"call\" matches both \"voice\" and \"udp\"")
            || ambiguous.contains("the flow \"call\" matches both \"udp\" and \"voice\""),
        "{ambiguous}"
    );
    assert!(ambiguous.contains("give one a higher priority"));
    let ranked = other.replace(
        "match.protocol = \"udp\"",
        "match = { protocol = \"udp\", priority = 1 }",
    );
    assert_eq!(warnings_where(OFFICE, "[flow.call]", &ranked), [""; 0]);
}

#[test]
fn a_classifier_that_takes_nothing_is_warned_of() {
    let warnings = warnings_where(OFFICE, "match.dscp = 46", "match.dscp = 34");
    assert_eq!(
        warnings,
        [
            "link.cable.docsis.service_flow.voice.match: no packet of this scenario's flows \
             matches, so nothing is classified by it; no flow has its DSCP: try `--set \
             flow.NAME.dscp=34`"
        ]
    );
    assert_eq!(parse(OFFICE).expect("it is right").warnings(), [""; 0]);
}

#[test]
fn the_condition_that_no_packet_meets_is_named() {
    let cause = |written: &str| {
        let warnings = warnings_where(OFFICE, "match.dscp = 46", written);
        let (_, cause) = warnings[0]
            .split_once("classified by it; ")
            .expect("a cause");
        cause.to_owned()
    };
    // The call has the DSCP 46 and UDP.
    assert_eq!(
        cause("match = { dscp = 46, source_port = 9 }"),
        "no packet that passes there has its source port"
    );
    // A DSCP alone would not help.
    assert_eq!(
        cause("match = { dscp = 34, source_port = 9 }"),
        "no packet that passes there has its DSCP, nor its source port"
    );
    assert_eq!(
        cause("match = { dscp = 46, protocol = \"tcp\" }"),
        "its conditions hold for some packets each, but for none at once"
    );
}

#[test]
fn what_the_channel_cannot_give_is_refused_or_warned_of_with_the_numbers() {
    let many = OFFICE
        .replace(
            "[flow.call]",
            "[link.cable.docsis.modem.home]\ncount = 9000\n[host.family]\nvia = [\"cable.home\"]\n\
             [flow.call]\nhost = \"family.1\"",
        )
        .replace("[flow.upload]", "[flow.upload]\nhost = \"family.2\"");
    let refused = parse(&many).expect_err("the channel cannot give it");
    assert!(
        refused.starts_with(
            "link.cable.docsis.service_flow.voice.scheduling: admission refused: 9000 service \
             flows with grants of their own take "
        ),
        "{refused}"
    );
    let reserved = error_where(
        STREET,
        "upstream.rate = \"5 Mbit/s\"",
        "upstream = { rate = \"100 Mbit/s\", minimum_reserved = \"90 Mbit/s\" }",
    );
    assert!(
        reserved.starts_with(
            "link.cable.docsis.upstream.minimum_reserved: a reserved rate of 90 Mbit/s is above \
             the maximum sustained rate of 20 Mbit/s"
        ),
        "of the office: {reserved}"
    );
}

#[test]
fn reserved_rates_beyond_the_channel_are_warned_of() {
    let text = STREET.replace(
        "office.upstream.rate = \"20 Mbit/s\"",
        "office.upstream.rate = \"200 Mbit/s\"",
    );
    let warnings = warnings_where(
        &text,
        "upstream.rate = \"5 Mbit/s\"",
        "upstream = { rate = \"100 Mbit/s\", minimum_reserved = \"90 Mbit/s\" }",
    );
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with(
            "link.cable.docsis: the reserved rates of 13 upstream service flows come to 1.17 \
             Gbit/s, and the channel has "
        ),
        "{warnings:?}"
    );
    let warnings = warnings_where(
        STREET,
        "office.upstream.rate = \"20 Mbit/s\"",
        "office.upstream.rate = \"2 Gbit/s\"",
    );
    assert!(
        warnings[0].starts_with(
            "link.cable.docsis.modem.office.upstream.rate is 2 Gbit/s, and the channel carries "
        ),
        "{warnings:?}"
    );
}

#[test]
fn a_capacity_that_takes_nothing_from_the_channel_hides_no_warning() {
    let text = STREET.replace("20 Mbit/s", "2 Gbit/s");
    let warnings = warnings_where(
        &text,
        "upstream.rate = \"5 Mbit/s\"",
        "upstream = { rate = \"5 Mbit/s\", capacity = \"2 Gbit/s\" }",
    );
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("office.upstream.rate is 2 Gbit/s, and the channel carries "));
    assert!(
        warnings[1]
            .starts_with("link.cable.docsis.upstream.capacity is 2 Gbit/s, and the plant carries ")
            && warnings[1].ends_with(": it takes nothing away"),
        "{warnings:?}"
    );
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let change = |body: &str| {
        let text = format!("{STREET}[link.cable.docsis.change.one]\n{body}\n");
        parse(&text).expect_err("the change is wrong")
    };
    assert!(change("at = \"1 s\"\nservice_flow = \"up\"").contains("changes nothing"));
    assert!(
        change("at = \"9 s\"\nservice_flow = \"up\"\npriority = 1")
            .contains("not within a run of 4 s")
    );
    assert!(
        change("at = \"1 s\"\nservice_flow = \"voice\"\npriority = 1")
            .contains("no service flow is called \"voice\"")
    );
    assert!(
        change("at = \"1 s\"\nservice_flow = \"up\"\nmodem = \"hmoe\"\npriority = 1")
            .contains("did you mean \"home\"?")
    );
    assert!(
        change("at = \"1 s\"\nservice_flow = \"up\"\npeak = \"1 Mbit/s\"")
            .contains("below the sustained rate of")
    );
    assert!(
        change("at = \"1 s\"\nservice_flow = \"up\"\nrate = \"0 bit/s\"")
            .contains("carries nothing")
    );
}

/// One modem whose bursts must not be fragmented.
const OLD: &str = r#"
duration = "4 s"
[link.cable.docsis]
preset = "docsis10"
upstream.rate = "1 Mbit/s"
downstream.rate = "5 Mbit/s"
[link.cable.docsis.plant]
map_interval = "2 ms"
[flow.upload]
application = "bulk"
direction = "up"
"#;

#[test]
fn a_burst_that_must_not_be_cut_fits_into_a_map() {
    assert!(parse(OLD).is_ok());
    let found = error_where(OLD, "\"2 ms\"", "\"1 ms\"");
    assert!(
        found.starts_with(
            "link.cable.docsis.plant: a burst of 1524 B that must not be fragmented takes 54 \
             minislots, and a MAP has 38 to grant"
        ),
        "{found}"
    );
    let later = OLD.replace("docsis10", "docsis11");
    assert!(parse(&later.replace("\"2 ms\"", "\"1 ms\"")).is_ok());
    let whole = later.replace(
        "upstream.rate = \"1 Mbit/s\"",
        "upstream = { rate = \"1 Mbit/s\", request_policy.no_fragmentation = true }",
    );
    let found = error_where(&whole, "\"2 ms\"", "\"1 ms\"");
    assert!(
        found.starts_with(
            "link.cable.docsis.upstream.request_policy.no_fragmentation: a burst of 1528 B"
        ),
        "{found}"
    );
}

#[test]
fn a_burst_that_must_not_be_cut_fits_beside_what_is_given_regularly() {
    let voice = r#"
[link.cable.docsis.service_flow.voice]
direction = "up"
match.protocol = "udp"
scheduling.ugs = { interval = "2 ms", grants = 2, jitter = "2 ms" }
"#;
    let whole = OLD.replace("docsis10", "docsis11").replace(
        "upstream.rate = \"1 Mbit/s\"",
        "upstream = { rate = \"1 Mbit/s\", request_policy.no_fragmentation = true }",
    );
    let text = format!("{whole}{voice}");
    assert!(parse(&text).is_ok());
    let found = error_where(&text, "grants = 2", "grants = 3");
    assert!(
        found.contains(
            "a burst of 1528 B that must not be fragmented takes 54 minislots, and of the 78 that \
             a MAP has to grant 27.0 are given without being asked for: it would never be sent"
        ),
        "{found}"
    );
}

#[test]
fn an_unsolicited_grant_fits_into_a_map_of_one_channel() {
    let upstream = "upstream = { rate = \"2 Mbit/s\", queue.drop_tail.limit = \"500 ms\" }";
    let proactive = "upstream = { rate = \"200 Mbit/s\", scheduling.pgs = { rate = \"150 Mbit/s\", \
                     interval = \"20 ms\" } }";
    let found = error_where(OFFICE, upstream, proactive);
    assert!(
        found.starts_with(
            "link.cable.docsis.upstream.scheduling.pgs.rate: at this rate a grant every 19.98 ms \
             is of "
        ),
        "{found}"
    );
    let often = proactive.replace("20 ms", "2 ms");
    assert!(parse(&OFFICE.replace(upstream, &often)).is_ok());
    let bonded = OFFICE.replace("docsis31", "docsis30");
    let found = error_where(&bonded, "\"ugs\"", "{ ugs = { size = \"15 kB\" } }");
    assert!(
        found.contains("voice.scheduling.ugs.size: expected from ")
            && found.contains("a MAP has to grant on a channel ("),
        "{found}"
    );
}

#[test]
fn proactive_grants_come_at_most_once_in_a_frame_and_have_a_rate_or_request_opportunities() {
    let path = "link.cable.docsis.service_flow.voice.scheduling.pgs";
    let error = |keys: &str| error_where(OFFICE, "\"ugs\"", &format!("{{ pgs = {{ {keys} }} }}"));
    for (keys, expected) in [
        (
            "interval = \"134 us\"",
            format!("{path}.interval: expected at least a frame, which takes 135 us, found 134 us"),
        ),
        (
            "rate = \"0 bit/s\"",
            format!("{path}.rate: expected a rate above zero, found 0 bit/s"),
        ),
        (
            "request_interval = \"1 us\"",
            format!("{path}.request_interval: expected 100 us to 10 s, found 1 us"),
        ),
        (
            "activity_timeout = \"11 s\"",
            format!("{path}.activity_timeout: expected 100 us to 10 s, found 11 s"),
        ),
    ] {
        let found = error(keys);
        assert!(found.starts_with(&expected), "{found}");
    }
    let polls = "{ pgs = { rate = \"0 bit/s\", request_interval = \"4 ms\" } }";
    assert!(parse(&OFFICE.replace("\"ugs\"", polls)).is_ok());
}

#[test]
fn activity_detection_saves_the_grants_of_a_silent_flow() {
    // The gaps are longer than the timeout, so that each packet needs a request.
    let text = r#"
duration = "10 s"
warmup = "0 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "20 Mbit/s", scheduling.pgs = { rate = "2 Mbit/s" } }
downstream.rate = "20 Mbit/s"
[flow.sparse]
application.cbr = { gap = "700 ms", size = "200 B" }
direction = "up"
"#;
    let unused = |text: &str| {
        let tables = Tables::run(text, 1);
        let [bytes, requests] = ["unused_grant_bytes", "requests_contention"]
            .map(|column| count_of_queue(&tables, "cable.up", column));
        (bytes, requests)
    };
    let always = "{ rate = \"2 Mbit/s\", activity_detection = false }";
    let (saved, requests) = unused(text);
    let (wasted, none) = unused(&text.replace("{ rate = \"2 Mbit/s\" }", always));
    // Fifteen packets in ten seconds. The first may come while the first grants last.
    assert!((13..=15).contains(&requests), "{requests}");
    assert_eq!(none, 0);
    // The grants last for 200 of each 700 ms, and some of them carry the packets.
    let share = saved as f64 / wasted as f64;
    assert!((0.25..0.33).contains(&share), "{saved} of {wasted}");
}

#[test]
fn a_flow_that_is_given_nothing_must_be_free_to_ask() {
    let rate = "upstream = { rate = \"2 Mbit/s\",";
    let silent = format!("{rate} request_policy.no_contention = true,");
    let found = error_where(OFFICE, rate, &silent);
    assert!(
        found.starts_with(
            "link.cable.docsis.upstream.request_policy.no_contention: a best_effort service flow \
             asks in contention, and could never send"
        ),
        "{found}"
    );
    for given in ["rtps", "nrtps", "pgs"] {
        let text = OFFICE.replace(rate, &format!("{silent} scheduling = \"{given}\","));
        assert_eq!(parse(&text).map(|_| ()), Ok(()), "{given}");
    }
}

#[test]
fn polls_and_proactive_grants_are_admitted_by_the_minislots_they_take() {
    let flow = |keys: &str| OFFICE.replace("\"ugs\"", &format!("{{ {keys} }}"));
    for keys in [
        "rtps.interval = \"1 us\"",
        "nrtps.interval = \"1 us\"",
        "pgs.interval = \"1 us\"",
    ] {
        let found = parse(&flow(keys)).expect_err("the interval is too short");
        assert!(
            found.contains(".interval: expected 100 us to 10 s, found 1 us"),
            "{found}"
        );
    }
    // Each of a thousand modems is polled every 100 us, and a poll takes a minislot.
    let homes = format!(
        "{}\n[link.cable.docsis.modem]\nhome.count = 1000\n[host]\nh.via = [\"cable.home\"]\n",
        flow("rtps.interval = \"100 us\"")
    );
    let homes = homes
        .replace("[flow.call]", "[flow.call]\nhost = \"h\"")
        .replace("[flow.upload]", "[flow.upload]\nhost = \"h\"");
    let found = parse(&homes)
        .map(|_| ())
        .expect_err("there are not so many minislots");
    assert!(
        found.contains("admission refused: 1000 service flows"),
        "{found}"
    );
    // 300 times 100 kb/s are 30 Mb/s. But each grant, 2 B with headers, takes a minislot of 48 B.
    let small = homes
        .replace(
            "rtps.interval = \"100 us\"",
            "pgs = { rate = \"100 kbit/s\", interval = \"135 us\" }",
        )
        .replace("count = 1000", "count = 300");
    let found = parse(&small).map(|_| ()).expect_err("overheads count");
    assert!(
        found.contains("admission refused: 300 service flows"),
        "{found}"
    );
}

/// The calls of an old modem at a limited rate. For five seconds, no grant can carry their packets;
/// after that, every grant can carry one.
const TOO_LONG: &str = r#"
duration = "10 s"
warmup = "0 s"
[link.cable.docsis]
preset = "docsis11"
upstream.rate = "20 kbit/s"
upstream.scheduling.ugs.size = "240 B"
upstream.queue.drop_tail.limit = "300 packets"
downstream.rate = "5 Mbit/s"
[flow.long]
application.cbr = { gap = "20 ms", size = "400 B" }
direction = "up"
stop = "5 s"
[flow.short]
application.cbr = { gap = "20 ms", size = "200 B" }
direction = "up"
start = "5 s"
"#;

#[test]
fn packets_that_no_grant_would_carry_leave_no_tokens_to_others() {
    let tables = Tables::run(TOO_LONG, 1);
    let packets = count_of_queue(&tables, "cable.up", "packets_dequeued")
        - count_of_queue(&tables, "cable.up", "discarded_overlimit");
    // At 218 B a packet, 20 kb/s carry 57 packets in five seconds, and the burst of 3044 B at most
    // 14 more. Tokens for the long packets would be 57 more.
    assert!((57..=71).contains(&packets), "{packets}");
    let discarded = count_of_queue(&tables, "cable.up", "discarded_overlimit");
    assert!(discarded >= 240, "{discarded}");
}

#[test]
fn classes_of_a_modems_queue_that_no_flow_belongs_to_are_warned_of() {
    let queue = "drop_tail.limit = \"500 ms\"";
    let warnings = warnings_where(OFFICE, queue, "cbt.class.web.match.port = 80");
    let expected = "link.cable.docsis.upstream.queue.cbt.class.web.match: no packet of this \
                    scenario's flows belongs to it";
    assert_eq!(warnings, [expected]);
    let warnings = warnings_where(OFFICE, queue, "cbt.class.calls.match.dscp = 46");
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn unsolicited_grants_are_never_used_beyond_what_they_give() {
    let used = |text: &str| of_queue(&Tables::run(text, 1), "cable.voice", "utilisation");
    // 218 B in every grant of 228 B.
    let long = used(&OFFICE.replace(
        "duration = \"4 s\"",
        "duration = \"12 s\"\nwarmup = \"2 s\"",
    ));
    assert!((long - 218.0 / 228.0).abs() < 0.01, "{long}");
    // Three grants in the time of two and a half do not give a utilisation.
    let short = used(&OFFICE.replace(
        "duration = \"4 s\"",
        "duration = \"100 ms\"\nwarmup = \"50 ms\"",
    ));
    assert!(short.is_nan(), "{short}");
}

/// Homes with tiers of 60 Mbit/s in total on an upstream of 20 Mbit/s, all uploading.
const FULL: &str = r#"
duration = "6 s"
warmup = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream = { rate = "5 Mbit/s", capacity = "20 Mbit/s" }
downstream.rate = "50 Mbit/s"
modem.home.count = 12
[host.family]
via = ["cable.home"]
[flow.flood]
application.cbr.rate = "6 Mbit/s"
direction = "up"
host = "family"
on = "1-12"
"#;

/// The values of a channel: capacity, use and neighbours in bit/s, the used share of the capacity,
/// and the share of the time in which requests waited for capacity.
#[track_caller]
fn channel(tables: &Tables, name: &str) -> [f64; 5] {
    let names = tables.texts("channels", "channel").iter();
    let row = names.clone().position(|channel| channel == name);
    let row = row.expect("a channel of this name");
    let columns = [
        "capacity_bps",
        "used_bps",
        "neighbours_bps",
        "utilisation",
        "full_ratio",
    ];
    columns.map(|column| tables.floats("channels", column)[row])
}

#[test]
fn a_channel_that_is_full_says_so_and_the_other_that_it_is_idle() {
    let tables = Tables::run(FULL, 1);
    let [capacity, used, neighbours, utilisation, full] = channel(&tables, "cable.up");
    assert!((capacity - 20e6).abs() < 1.0, "{capacity}");
    assert!((used - 20e6).abs() < 0.1e6, "{used}");
    assert!((utilisation - (used / capacity).min(1.0)).abs() < 1e-9);
    assert!(full > 0.99 && full < 1.001, "{full}");
    assert!(neighbours.abs() < 1e-9);
    // The bytes granted to all queues are the bytes used on the channel.
    let granted: u64 = tables.integers("queues", "granted_bytes").iter().sum();
    assert!((granted as f64 * 8.0 / 4.0 - used).abs() < 0.02e6);
    let [capacity, used, .., full] = channel(&tables, "cable.down");
    assert!((capacity - 1.712e9).abs() < 0.01e9, "{capacity}");
    assert!(used.abs() < 1e-9 && full.abs() < 1e-9, "{used} {full}");
}

#[test]
fn a_channel_whose_tiers_fit_is_not_full() {
    let text = FULL.replace("20 Mbit/s", "100 Mbit/s");
    let [_, used, _, utilisation, full] = channel(&Tables::run(&text, 1), "cable.up");
    // 60 Mbit/s of IP bytes, plus the overhead that the line counts.
    assert!(used > 60e6 && used < 70e6, "{used}");
    // When many requests arrive together, some MAPs are full; the next MAP has room.
    assert!(utilisation < 0.7 && full < 0.5, "{utilisation} {full}");
}

#[test]
fn neighbours_take_their_part_of_a_channel() {
    let text = FULL.replace(", capacity = \"20 Mbit/s\"", "").replace(
        "[host",
        "[link.cable.docsis.neighbours]\nload = \"90 %\"\n[host",
    );
    let [capacity, used, neighbours, utilisation, _] = channel(&Tables::run(&text, 1), "cable.up");
    assert!((neighbours / capacity - 0.9).abs() < 0.1, "{neighbours}");
    let taken = (used + neighbours) / capacity;
    assert!((utilisation - taken).abs() < 1e-9 && utilisation < 1.01);
}

#[test]
fn a_downstream_that_all_wait_for_is_full() {
    let text = FULL
        .replace("direction = \"up\"", "direction = \"down\"")
        .replace(
            "downstream.rate = \"50 Mbit/s\"",
            "downstream = { rate = \"50 Mbit/s\", capacity = \"40 Mbit/s\" }",
        );
    let [capacity, used, _, utilisation, full] = channel(&Tables::run(&text, 1), "cable.down");
    assert!((capacity - 40e6).abs() < 1.0, "{capacity}");
    assert!((used - 40e6).abs() < 0.01e6, "{used}");
    assert!(utilisation > 0.999 && utilisation < 1.001);
    assert!(full > 0.99 && full < 1.001, "{full}");
}
