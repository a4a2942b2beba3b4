//! Scenarios with real hosts: what is added to them, what is refused, and that the resolved form is
//! the same scenario.

mod from_text;

use std::collections::BTreeMap;

use from_text::{parse, scenario as right};
use headend::packet::Side;
use headend::scenario::{Format, Scenario};
use headend::time::Duration;
use serde_json::{Value, json};

const HOME: &str = r#"
[link.cable.docsis]
upstream = { rate = "10 Mbit/s", queue = "docsis_pie" }
downstream.rate = "100 Mbit/s"
[host.laptop]
via = ["cable"]
real = true
"#;

/// The error of the scenario `HOME` with more text and overrides.
#[track_caller]
fn error(more: &str, overrides: &[(&str, &str)]) -> String {
    let wrong = parse(&format!("{HOME}{more}"), overrides).expect_err("the scenario is wrong");
    let line = wrong.to_string();
    assert!(!line.contains('\n'), "one line: {line}");
    line
}

fn resolved(scenario: &Scenario) -> Value {
    serde_json::from_str(&scenario.to_json()).expect("JSON")
}

fn names(scenario: &Scenario) -> Vec<String> {
    scenario.flows().map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn a_real_host_is_enough() {
    let scenario = right(HOME, &[]);
    let tree = resolved(&scenario);
    assert_eq!(
        tree["host"]["server"],
        json!({"real": true, "processing": "0 s"})
    );
    let flow = &tree["flow"]["laptop"];
    assert_eq!(flow["host"], json!("laptop"));
    assert_eq!(flow["peers"], json!(["server"]));
    assert_eq!(flow["rtt"], json!("20 ms"));
    assert_eq!(
        flow["application"],
        json!({"real": {"idle": "60 s", "closed": "5 s"}})
    );
    assert_eq!(tree["duration"], json!("unlimited"));
    assert_eq!(tree["results"]["interval"], json!("100 ms"));
    assert_eq!(
        tree["emulation"],
        json!({"lateness": "1 ms", "stall": "10 ms"})
    );
    assert_eq!(scenario.warnings(), Vec::<String>::new());
    let hosts: Vec<String> = (scenario.real_hosts().iter())
        .map(|host| {
            let side = match host.side {
                Side::Host => "customer",
                Side::Peer => "network",
            };
            format!(
                "{} {side} {} {} {}",
                host.name, host.ipv4, host.ipv6, host.mtu
            )
        })
        .collect();
    let expected = [
        "laptop customer 10.0.0.1 fd00:6865:6164::1 1500",
        "server network 10.0.0.2 fd00:6865:6164::2 1500",
    ];
    assert_eq!(hosts, expected);
}

#[test]
fn the_resolved_scenario_is_the_same_scenario() {
    let rich = "duration = '90 s'\n[emulation]\nlateness = '2 ms'\n[link.cable.docsis]\n\
                upstream = { rate = '10 Mbit/s' }\ndownstream.rate = '100 Mbit/s'\n[host.laptop]\n\
                via = ['cable']\nreal = true\ndscp = 45\naddress = 'fd00::7'\n[host.tv]\n\
                via = ['cable']\nreal = true\n[host.near]\nrtt = '5 ms'\nreal = true\n\
                address = '192.0.2.1'\n[host.far]\nrtt = '80 ms'\nreal = true\n[host.old]\n\
                rtt = '30 ms'\n[flow.tv]\napplication = 'voice'\nhost = 'tv'\n[flow.web]\n\
                application = { real = { idle = '10 s' } }\nhost = 'laptop'\npeers = ['near']\n";
    for text in [HOME, rich] {
        let scenario = right(text, &[]);
        let json = scenario.to_json();
        let again = Scenario::parse(&json, Format::Json, &[], &BTreeMap::new());
        let again = again.expect("the resolved form is right");
        assert_eq!(again.to_json(), json);
        assert_eq!(again, scenario);
        assert_eq!(again.real_hosts(), scenario.real_hosts());
    }
    let scenario = right(rich, &[]);
    assert_eq!(names(&scenario), ["tv", "tv-real", "web"]);
    let tree = resolved(&scenario);
    assert_eq!(tree["flow"]["tv-real"]["peers"], json!(["far", "near"]));
    assert_eq!(
        tree["flow"]["tv-real"].get("rtt"),
        None,
        "the hosts have their own"
    );
    assert!(!scenario.is_unlimited());
    let laptop = &scenario.real_hosts()[1];
    let found = format!(
        "{} {} {} {:?}",
        laptop.name, laptop.ipv4, laptop.ipv6, laptop.dscp
    );
    assert_eq!(found, "laptop 10.0.0.4 fd00::7 Some(45)");
    let parts = scenario.parts(1);
    let sides: Vec<_> = (parts.apps.iter())
        .map(|app| {
            let peers = app.group.peers.iter().map(|peer| peer.real.map(|id| id.0));
            (app.group.real.map(|id| id.0), peers.collect::<Vec<_>>())
        })
        .collect();
    let expected = [
        (None, vec![None]),
        (Some(3), vec![Some(0), Some(2)]),
        (Some(1), vec![Some(2)]),
    ];
    assert_eq!(sides, expected);
}

#[test]
fn a_run_without_a_limit_has_room_for_days_and_keeps_a_minute() {
    let scenario = right(HOME, &[("results.interval", "1 ms")]);
    assert!(scenario.is_unlimited());
    assert_eq!(scenario.duration(), Duration::from_secs(10 * 24 * 3600));
    let tables: u64 = scenario
        .memory()
        .iter()
        .filter(|part| part.is_table)
        .map(|part| part.bytes)
        .sum();
    assert!(tables < 1 << 30, "{tables}");
    let scenario = right(HOME, &[("duration", "5 s")]);
    assert!(!scenario.is_unlimited());
    assert_eq!(scenario.duration(), Duration::from_secs(5));
}

#[test]
fn a_host_that_is_not_real_leaves_nothing_behind() {
    let neighbour = "[flow.upload]\napplication = 'bulk'\n";
    let text = format!("{HOME}dscp = 45\n{neighbour}");
    let off = right(&text, &[("host.laptop.real", "false")]);
    assert_eq!(names(&off), ["upload"]);
    assert_eq!(off.real_hosts(), []);
    assert_eq!(resolved(&off)["duration"], json!("60 s"));
    assert_eq!(resolved(&off).get("emulation"), None);
    let whole = "[host.server]\nrtt = '5 ms'\nreal = true\n[flow.mine]\napplication = 'real'\n\
                 host = 'laptop'\n";
    let off = right(&format!("{text}{whole}"), &[("host.laptop.real", "false")]);
    assert_eq!(names(&off), ["upload"]);
    assert_eq!(off.real_hosts(), []);
    assert_eq!(
        error("", &[("host.laptop.real", "false")]),
        "flow: a scenario needs at least one [flow.NAME…], and with host.laptop.real=false none is \
         left (from --set host.laptop.real=false)"
    );
}

/// More of a scenario, an override (none if it sets the seed), and what the error says.
const REFUSED: [(&str, (&str, &str), &str); 21] = [
    (
        "",
        ("host.laptop.dscp", "64"),
        "host.laptop.dscp: expected a DSCP from 0 to 63, found 64",
    ),
    (
        "[host.tv]\nvia = ['cable']\ndscp = 8\n",
        ("seed", "1"),
        "host.tv.dscp: expected none: only the packets of real hosts",
    ),
    (
        "",
        ("host.laptop.processing", "1 ms"),
        "host.laptop.processing: expected none: a real host takes the time that it takes",
    ),
    (
        "[host.server]\n",
        ("seed", "1"),
        "host.server.real: expected true: the real host \"laptop\" needs a real one in the network",
    ),
    (
        "[flow.mine]\napplication = 'real'\n",
        ("flow.mine.host", "tv"),
        "flow.mine.host: no host is called \"tv\"; expected one of \"laptop\", \"server\"",
    ),
    (
        "[flow.mine]\napplication = 'real'\n",
        ("seed", "1"),
        "flow.mine.host: expected the real host (real = true) whose packets it has",
    ),
    (
        "[host.tv]\nvia = ['cable']\n[flow.mine]\napplication = 'real'\nhost = 'tv'\n",
        ("seed", "1"),
        "flow.mine.host: \"tv\" is not real: expected a host with real = true",
    ),
    (
        "[flow.a]\napplication = 'real'\nhost = 'laptop'\n[flow.b]\napplication = 'real'\n\
         host = 'laptop'\n",
        ("seed", "1"),
        "flow.b.host: the packets of the real host \"laptop\" belong to the flow \"a\" already",
    ),
    (
        "[host.server]\nreal = true\n[host.old]\n[flow.a]\napplication = 'real'\nhost = 'laptop'\n\
         peers = ['server', 'old']\n",
        ("seed", "1"),
        "flow.a.peers[1]: \"old\" is no real host in the network (real = true, without via): \
         expected server",
    ),
    (
        "[host.tv]\nvia = ['cable']\nreal = true\n[flow.a]\napplication = 'real'\nhost = 'laptop'\n\
         peers = ['tv']\n",
        ("seed", "1"),
        "flow.a.peers[0]: \"tv\" is no real host in the network",
    ),
    (
        "[flow.a]\napplication = 'real'\nhost = 'laptop'\n",
        ("flow.a.start", "1 s"),
        "flow.a.start: expected none: a real program runs when it is started",
    ),
    (
        "[flow.a]\napplication = 'real'\nhost = 'laptop'\n",
        ("flow.a.dscp", "46"),
        "flow.a.dscp: expected none: real packets have their own; host.NAME.dscp marks them anew",
    ),
    (
        "[flow.a]\napplication = 'real'\nhost = 'laptop'\n",
        ("flow.a.tcp.congestion", "reno"),
        "flow.a.tcp: expected none",
    ),
    (
        "[flow.a]\napplication = 'real'\nhost = 'laptop'\n",
        ("flow.a.count", "2"),
        "flow.a.count: expected none",
    ),
    (
        "[flow.a]\napplication = { real = { idle = '0 s' } }\nhost = 'laptop'\n",
        ("seed", "1"),
        "flow.a.application.real.idle: expected a time of 100 ms to 24 h",
    ),
    (
        "[host.server]\nreal = true\naddress = '10.0.0.9'\n",
        ("host.laptop.address", "10.0.0.9"),
        "host.server.address: the host \"laptop\" has such an address already",
    ),
    (
        "",
        ("emulation.stall", "0 s"),
        "emulation.stall: expected more than 0 s",
    ),
    (
        "",
        ("emulation.latency", "1 s"),
        "emulation.latency: unknown key",
    ),
    (
        "",
        ("results.interval", "1 us"),
        "results.interval: 60 s cut into intervals of 1 us makes more than 100000",
    ),
    (
        "",
        ("duration", "for ever"),
        "duration: expected a duration or \"unlimited\", such as \"10 ms\", found \"for ever\"",
    ),
    (
        "",
        ("host.laptop.real", "maybe"),
        "host.laptop.real: expected true or false",
    ),
];

#[test]
fn what_makes_no_sense_is_refused_by_its_path() {
    for (more, override_, wanted) in REFUSED {
        let overrides: &[_] = if override_.0 == "seed" {
            &[]
        } else {
            &[override_]
        };
        let found = error(more, overrides);
        assert!(found.contains(wanted), "{found}\n{wanted}");
    }
}

#[test]
fn a_scenario_without_a_real_customers_host_is_told_so() {
    let plain = "[link.l.point_to_point]\nup.rate = '1 Mbit/s'\ndown.rate = '1 Mbit/s'\n";
    let error = |text: &str| {
        parse(&format!("{text}{plain}"), &[])
            .expect_err("it is wrong")
            .to_string()
    };
    let call = "[flow.call]\napplication = 'voice'\n";
    let ends = error("duration = 'unlimited'\nflow.call.application = 'voice'\n");
    assert!(
        ends.contains("duration: expected a time: only a run with real hosts"),
        "{ends}"
    );
    let alone = parse(&format!("{plain}{call}[host.server]\nreal = true\n"), &[]);
    let alone = alone.expect_err("it is wrong").to_string();
    assert!(
        alone.contains("host.server.real: expected a real customer's host as well"),
        "{alone}"
    );
    let simulated = parse(
        &format!("{plain}[host.pc]\nvia = ['l']\n[flow.a]\napplication = 'real'\nhost = 'pc'\n"),
        &[],
    );
    let simulated = simulated.expect_err("it is wrong").to_string();
    assert!(
        simulated.contains("flow.a.host: \"pc\" is not real"),
        "{simulated}"
    );
}

/// Classifiers and captures mean a real host by both of its addresses.
#[test]
fn a_name_means_both_addresses_and_no_classifier_is_called_idle() {
    let text = format!("{HOME}[link.cable.docsis.drop.mine]\nhost = 'laptop'\ndscp = 9\n");
    let scenario = right(&text, &[]);
    assert_eq!(scenario.warnings(), Vec::<String>::new());
    // What its frames have is what is written at the host: a TUN device has no Ethernet header.
    for (conditions, lacks) in [
        (
            "source_mac = '02:00:5e:00:00:01'",
            "no host has the Ethernet address 02:00:5e:00:00:01",
        ),
        (
            "user_priority = 5",
            "no flow's frames are tagged with its user priority",
        ),
    ] {
        let text = format!("{HOME}[link.cable.docsis.drop.mine]\n{conditions}\n");
        let warnings = right(&text, &[]).warnings().join("\n");
        assert!(warnings.contains(lacks), "{warnings}");
        let had = [
            ("host.laptop.mac", "02:00:5e:00:00:01"),
            ("host.laptop.user_priority", "5"),
        ];
        assert_eq!(right(&text, &had).warnings(), Vec::<String>::new());
    }
    // The flow of a real host is called after the host: that is no reason to ask which is meant.
    right(HOME, &[("results.capture.points", "[\"laptop\"]")]);
}

#[test]
fn a_real_host_is_one() {
    let street = HOME.replace(
        "[host.laptop]",
        "[link.cable.docsis.modem.home]\ncount = 3\n[host.laptop]",
    );
    let street = street.replace("[\"cable\"]", "[\"cable.home\"]");
    let several = parse(&street, &[]).expect_err("it is wrong").to_string();
    assert!(
        several.contains(
            "host.laptop.via: a real host is one, and at \"cable.home\" there are 3: expected one \
             of them, such as \"cable.home.1\""
        ),
        "{several}"
    );
    let one = right(&street, &[("host.laptop.via", "[\"cable.home.2\"]")]);
    assert_eq!(one.real_hosts().len(), 2);
}

#[test]
fn a_real_host_is_not_what_each_host_is_to_itself() {
    for own in ["127.0.0.1", "::1"] {
        let wrong = parse(HOME, &[("host.laptop.address", own)]).expect_err("it is wrong");
        let wrong = wrong.to_string();
        assert!(
            wrong.contains("host.laptop.address: expected an address outside of 127.0.0.0/8"),
            "{wrong}"
        );
    }
    let named = HOME.replace("[host.laptop]", "[host.localhost]");
    let wrong = parse(&named, &[]).expect_err("it is wrong").to_string();
    assert!(
        wrong.contains("host.localhost.real: expected another name"),
        "{wrong}"
    );
}
