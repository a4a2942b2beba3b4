//! Classifiers in whole scenarios: every condition with packets that match and packets that do not,
//! and the errors and warnings for conditions that no packet can match.

mod from_text;

use std::collections::BTreeMap;

use from_text::Tables;
use headend::scenario::{Format, Scenario};

/// A modem with a service flow each way, whose classifier each test sets, and the flows of three
/// hosts.
const LINE: &str = r#"
duration = "2 s"
[link.cable.docsis]
preset = "docsis31"
upstream.rate = "10 Mbit/s"
downstream.rate = "50 Mbit/s"
[link.cable.docsis.service_flow]
mine_up = { direction = "up", match = { MATCH } }
mine_down = { direction = "down", match = { MATCH } }
[host]
desk = { via = ["cable"], address = "192.168.1.10", mac = "02:00:5e:00:00:01", vlan = 7 }
guest = { via = ["cable"], address = "192.168.2.10", mac = "02:00:5e:00:00:02", user_priority = 1 }
six = { via = ["cable"], address = "2001:db8:1::10" }
server = { address = "203.0.113.5" }
[flow.call]
application = "voice"
host = "desk"
peer = "server"
port = 5004
dscp = 46
[flow.page]
application = { bulk = { size = "100 kB" } }
direction = "down"
host = "guest"
peer = "server"
tcp.ecn = "on"
[flow.lone]
application.cbr = { rate = "100 kbit/s", size = "500 B" }
direction = "both"
host = "six"
port = 9000
[flow.echo]
application = "ping"
host = "six"
"#;

const FLOWS: [&str; 4] = ["call", "echo", "lone", "page"];

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, Format::Toml, &[], &BTreeMap::new()).map_err(|error| error.to_string())
}

fn with(conditions: &str) -> String {
    LINE.replace("MATCH", conditions)
}

fn run(conditions: &str) -> Tables {
    Tables::run(&with(conditions), 1)
}

/// The packets that the two service flows, up and down, enqueued.
fn taken(tables: &Tables) -> [u64; 2] {
    ["cable.mine_up", "cable.mine_down"].map(|queue| {
        let names = tables.texts("queues", "queue");
        let row = names.iter().position(|name| name == queue);
        tables.integers("queues", "packets_enqueued")[row.expect("a queue of this name")]
    })
}

/// The packets that these flows sent, up and down.
fn sent_by(tables: &Tables, flows: &[&str]) -> [u64; 2] {
    ["up", "down"].map(|wanted| {
        let names = tables.texts("flows", "flow").iter();
        let rows = names.zip(tables.texts("flows", "direction"));
        let counts = tables.integers("flows", "packets_sent");
        let mine = rows
            .zip(counts)
            .filter(|((name, way), _)| flows.contains(&name.as_str()) && *way == wanted);
        mine.map(|(_, count)| count).sum()
    })
}

/// Asserts that a classifier matches all packets of these flows, and no others. The last packets
/// may not have reached the modem at the end.
#[track_caller]
fn takes(conditions: &str, up: &[&str], down: &[&str]) {
    let tables = run(conditions);
    let [took_up, took_down] = taken(&tables);
    let [sent_up, sent_down] = [sent_by(&tables, up)[0], sent_by(&tables, down)[1]];
    // The server is 10 ms away; the page's connection may have a window in flight.
    let same = |took: u64, sent: u64| took <= sent && took + 50 * u64::from(sent > 0) >= sent;
    assert!(
        same(took_up, sent_up) && same(took_down, sent_down),
        "{conditions}: took {took_up} up and {took_down} down of {sent_up} and {sent_down}"
    );
}

#[test]
fn every_flow_is_there_both_ways() {
    let tables = run("dscp = 63");
    for flow in FLOWS {
        let [up, down] = sent_by(&tables, &[flow]);
        assert!(up > 1 && down > 1, "{flow}: {up} {down}");
    }
}

#[test]
fn source_and_destination_are_distinguished() {
    takes("source = \"desk\"", &["call"], &[]);
    takes("destination = \"desk\"", &[], &["call"]);
    takes("host = \"desk\"", &["call"], &["call"]);
    takes("source = \"server\"", &[], &["call", "page"]);
}

#[test]
fn addresses_are_matched_by_prefix_and_by_any_mask() {
    takes("source = \"192.168.2.0/24\"", &["page"], &[]);
    takes("source = \"192.168.0.0/16\"", &["call", "page"], &[]);
    takes("source = \"1.1.1.10/0.0.0.255\"", &["call", "page"], &[]);
    takes("destination = \"203.0.113.5\"", &["call", "page"], &[]);
    takes(
        "source = \"0.0.0.0/0\"",
        &["call", "page"],
        &["call", "page"],
    );
}

#[test]
fn ipv6_hosts_are_matched_by_prefix_and_ethernet_type_and_next_header() {
    takes("source = \"2001:db8:1::/48\"", &["echo", "lone"], &[]);
    takes("source = \"2001:db8:1::11\", priority = 3", &[], &[]);
    takes("ethertype = \"ipv6\"", &["echo", "lone"], &["echo", "lone"]);
    takes("ethertype = 0x0800", &["call", "page"], &["call", "page"]);
    takes("protocol = 58", &["echo"], &["echo"]);
    takes("protocol = \"icmp\"", &["echo"], &["echo"]);
    takes("protocol = 1", &[], &[]);
    // These flows have servers of their own.
    takes(
        "destination = \"2001:db8:ffff::/48\"",
        &["echo", "lone"],
        &[],
    );
}

#[test]
fn ports_are_matched_by_range_at_the_end_that_is_named() {
    takes("destination_port = \"5000-5999\"", &["call"], &[]);
    takes("source_port = \"5000-5999\"", &[], &["call"]);
    takes(
        "source_port = \"49152-65535\", protocol = 257",
        &["call", "lone", "page"],
        &[],
    );
}

#[test]
fn protocols_are_matched_by_number() {
    takes("protocol = 17", &["call", "lone"], &["call", "lone"]);
    takes("protocol = 6", &["page"], &["page"]);
    takes(
        "protocol = 257",
        &["call", "lone", "page"],
        &["call", "lone", "page"],
    );
    takes("protocol = 256", &FLOWS, &FLOWS);
}

#[test]
fn the_service_byte_is_matched_under_its_mask() {
    takes(
        "tos = { low = 0xb8, high = 0xb8, mask = 0xfc }",
        &["call"],
        &["call"],
    );
    takes(
        "tos = { low = 0, high = 0x1f, mask = 0xfc }",
        &["echo", "lone", "page"],
        &["echo", "lone", "page"],
    );
}

#[test]
fn a_vlan_is_the_customer_s_both_ways() {
    takes("vlan = 7", &["call"], &["call"]);
}

#[test]
fn an_ethernet_address_is_the_customer_s_as_source_upstream_and_destination_downstream() {
    takes("source_mac = \"02:00:5e:00:00:01\"", &["call"], &[]);
    takes("destination_mac = \"02:00:5e:00:00:02\"", &[], &["page"]);
    takes(
        "destination_mac = \"02:00:5e:00:00:00/ff:ff:ff:00:00:00\"",
        &[],
        &["call", "page"],
    );
    takes(
        "destination_mac = \"00:00:00:00:00:01/00:00:00:00:00:01\"",
        &[],
        &["call"],
    );
    // No bit counts: every frame has such an address.
    takes(
        "destination_mac = \"00:00:00:00:00:00/00:00:00:00:00:00\"",
        &FLOWS,
        &FLOWS,
    );
    takes("source_mac = \"02:00:5e:00:00:09\"", &[], &[]);
}

#[test]
fn hosts_of_a_row_have_ethernet_addresses_that_follow_one_another() {
    let text = with("source_mac = \"02:00:5e:00:00:03\"")
        .replace(
            "[link.cable.docsis]\n",
            "[link.cable.docsis]\nmodem.home.count = 3\n",
        )
        .replace(
            "guest = { via = [\"cable\"]",
            "guest = { via = [\"cable.home\"]",
        )
        .replace("via = [\"cable\"]", "via = [\"cable.home.1\"]");
    let tables = Tables::run(&text, 1);
    let names = tables.texts("queues", "queue").iter();
    let counts = tables.integers("queues", "packets_enqueued");
    let mine = names
        .zip(counts)
        .filter(|(name, _)| name.ends_with("mine_up"));
    let taken: Vec<bool> = mine.map(|(_, count)| *count > 0).collect();
    // The second guest is the one behind the second modem.
    assert_eq!(taken, [false, true, false]);
}

#[test]
fn a_user_priority_is_that_of_the_flow_or_its_host_or_its_vlan_s_tag() {
    takes("user_priority = 1", &["page"], &["page"]);
    takes(
        "user_priority = \"0-7\"",
        &["call", "page"],
        &["call", "page"],
    );
    takes("user_priority = 0", &["call"], &["call"]);
    let of_flow = |conditions: &str| {
        with(conditions).replace("port = 9000", "port = 9000\nuser_priority = 5")
    };
    let tables = Tables::run(&of_flow("user_priority = \"4-7\""), 1);
    let [up, down] = taken(&tables);
    let [sent_up, sent_down] = sent_by(&tables, &["lone"]);
    assert!(
        up > 40 && up <= sent_up && down > 40 && down <= sent_down,
        "{up} {down}"
    );
    let warned = parse(&of_flow("user_priority = 6")).expect("it can run");
    assert_eq!(warned.warnings().len(), 2);
}

#[test]
fn what_no_frame_has_is_said_with_the_key_that_gives_it() {
    let warned = |conditions: &str, with_what: &str| {
        let scenario = parse(&with(conditions)).expect("it can run");
        let warnings = scenario.warnings();
        assert!(
            warnings.iter().any(|warning| warning.contains(with_what)),
            "{warnings:?}"
        );
    };
    warned(
        "source_mac = \"02:00:5e:00:00:09\"",
        "no host has the Ethernet address 02:00:5e:00:00:09: try `--set host.NAME.mac=…`",
    );
    warned(
        "source_mac = \"02:00:5e:00:00:01\"",
        "hosts are the source of frames upstream and the destination of frames downstream",
    );
    warned(
        "user_priority = \"5-7\"",
        "no flow's frames are tagged with its user priority: try `--set flow.NAME.user_priority=5`",
    );
}

#[test]
fn the_ecn_field_is_matched_packet_by_packet() {
    // Data is ECT(0). Acknowledgements without data and the handshake are not.
    let tables = run("ecn = \"ect0\"");
    let [up, down] = taken(&tables);
    let data = sent_by(&tables, &["page"])[1];
    assert!(up <= 2, "the request, if it has data: {up}");
    assert!(down > data / 2 && down < data, "{down} of {data}");
    let by_byte = taken(&run("tos = { low = 2, high = 2, mask = 3 }"));
    assert_eq!(by_byte, [up, down]);
}

#[test]
fn datagrams_are_matched_by_the_ecn_field_that_they_are_sent_with() {
    let text = with("ecn = \"ect1\"").replace("port = 9000", "port = 9000\necn = \"ect1\"");
    let tables = Tables::run(&text, 1);
    let [up, down] = taken(&tables);
    let [sent_up, sent_down] = sent_by(&tables, &["lone"]);
    assert!(
        up > 40 && up <= sent_up && down > 40 && down <= sent_down,
        "{up} {down}"
    );
    assert_eq!(parse(&text).expect("it can run").warnings(), [""; 0]);
}

#[test]
fn drop_classifiers_take_all_conditions() {
    let drop = "[link.cable.docsis.drop]\n\
                bad = { source = \"192.168.1.0/24\", destination_port = \"5000-5010\", vlan = 7, \
                ethertype = \"ipv4\", tos = { low = 0xb8, high = 0xb8 } }\n";
    let tables = Tables::run(&(with("dscp = 46") + drop), 1);
    let dropped: u64 = tables.integers("flows", "discarded_filtered").iter().sum();
    let sent = sent_by(&tables, &["call"])[0];
    assert!(dropped > 90 && dropped <= sent, "{dropped} of {sent}");
    // Nothing is dropped downstream: drop classifiers exist upstream only.
    let names = tables.texts("queues", "queue");
    let row = names.iter().position(|name| name == "cable.mine_down");
    assert!(tables.integers("queues", "packets_enqueued")[row.expect("it is there")] > 90);
}

#[test]
fn what_takes_nothing_is_warned_of() {
    let warned = |conditions: &str| {
        let scenario = parse(&with(conditions)).expect("it can run");
        scenario.warnings().len()
    };
    assert_eq!(warned("dscp = 46"), 0);
    // One warning for each direction.
    for nothing in [
        "source = \"10.9.0.0/16\"",
        "destination = \"2001:db8:2::/48\"",
        "protocol = 47",
        "ethertype = 0x0806",
        "vlan = 8",
        "ecn = \"ect1\"",
        "destination_port = 80, source_port = 81",
        "tos = { low = 0x20, high = 0x20, mask = 0xfc }",
        "source = \"guest\", dscp = 46",
    ] {
        assert_eq!(warned(nothing), 2, "{nothing}");
    }
    assert_eq!(warned("source = \"desk\""), 1, "nothing comes down from it");
}

#[test]
fn two_rules_that_no_packet_meets_both_of_are_not_ambiguous() {
    let rules = "[link.cable.docsis.service_flow]\n\
                 capable = { direction = \"down\", match.ecn = \"ect0\" }\n\
                 other = { direction = \"down\", match.ecn = \"not_ect\" }\n[host]";
    let split = |rules: &str| {
        let text = LINE
            .replace("mine_up = { direction = \"up\", match = { MATCH } }\n", "")
            .replace(
                "mine_down = { direction = \"down\", match = { MATCH } }\n",
                "",
            );
        parse(&text.replace("[link.cable.docsis.service_flow]\n[host]", rules))
    };
    assert!(split(rules).is_ok(), "{:?}", split(rules).err());
    let refused = split(&rules.replace("\"not_ect\"", "\"ect0\"")).expect_err("both match");
    assert!(
        refused.contains("the flow \"page\" matches both"),
        "{refused}"
    );
}

#[test]
fn conditions_that_make_no_sense_are_refused() {
    let wrong = |conditions: &str| parse(&with(conditions)).expect_err(conditions);
    for (conditions, expected) in [
        (
            "source = \"dekk\"",
            ".source: no host is called \"dekk\"; did you mean \"desk\"?".to_string(),
        ),
        (
            "destination = \"10.0.0.0/40\"",
            ".destination: expected a host's name, or an address with a prefix length or mask such \
             as \"10.0.0.0/24\", \"10.0.0.0/255.0.0.255\" or \"2001:db8::/32\", found \
             \"10.0.0.0/40\"".to_string(),
        ),
        (
            "protocol = \"udb\"",
            ".protocol: unknown name \"udb\"; did you mean \"udp\"?".to_string(),
        ),
        (
            "protocol = 258",
            ".protocol: expected an IP protocol: \"icmp\", \"tcp\", \"udp\" or a number from 0 to \
             257, found 258".to_string(),
        ),
        (
            "ethertype = \"ipv7\"",
            ".ethertype: unknown name \"ipv7\"; did you mean".to_string(),
        ),
        (
            "vlan = 4095",
            ".vlan: expected a VLAN from 1 to 4094, found 4095".to_string(),
        ),
        (
            "user_priority = \"4-8\"",
            ".user_priority: expected a user priority from 0 to 7, found 4-8".to_string(),
        ),
        (
            "source_mac = \"02:00:5e:00:00:00/ff:ff:ff:00:00:00\"",
            ".source_mac: expected an Ethernet address such as \"02:00:5e:00:00:01\", found \
             \"02:00:5e:00:00:00/ff:ff:ff:00:00:00\"".to_string(),
        ),
        (
            "destination_mac = \"02:00:5e:00:00:01/ff:ff:ff:00:00:00\"",
            ".destination_mac: matches nothing: expected an address without the bits that its mask \
             leaves out, 02:00:5e:00:00:00".to_string(),
        ),
        (
            "ecn = \"etc1\"",
            ".ecn: unknown name \"etc1\"; did you mean \"ect1\"?".to_string(),
        ),
        (
            "tos = { low = 4, high = 3 }",
            ".tos.high: the highest, 0x03, is below the lowest, 0x04".to_string(),
        ),
        (
            "tos = { low = 1, high = 1, mask = 0xfc }",
            ".tos: matches nothing: no byte has bits under the mask 0xfc that come to 0x01 to 0x01"
                .to_string(),
        ),
        (
            "tos = { low = 1, high = 1, maks = 0xfc }",
            ".tos.maks: unknown key; did you mean \"mask\"?".to_string(),
        ),
        (
            "source_port = 5, protocol = 47",
            ".source_port: matches nothing: IP protocol 47 has no ports".to_string(),
        ),
        (
            "source = \"10.0.0.1\", destination = \"::1\"",
            ".destination: matches nothing: expected the IP version of `source`".to_string(),
        ),
        (
            "source = \"10.0.0.1\", ethertype = \"ipv6\"",
            ".ethertype: matches nothing: expected the IP version of `source`".to_string(),
        ),
    ] {
        let error = wrong(conditions);
        // The classifiers of both service flows have the condition.
        let (flow, rest) = error
            .split_once(".match")
            .expect("it is about the classifier");
        assert!(
            flow.starts_with("link.cable.docsis.service_flow.mine_"),
            "{error}"
        );
        assert!(rest.starts_with(&expected), "{conditions}: {error}");
        assert!(error.contains("(line "), "{error}");
    }
}

#[test]
fn hosts_that_make_no_sense_are_refused() {
    let wrong = |from: &str, to: &str| {
        let text = with("dscp = 46");
        assert!(text.contains(from), "{from}");
        parse(&text.replace(from, to)).expect_err(to)
    };
    for (from, to, expected) in [
        (
            "\"192.168.2.10\"",
            "\"192.168.1.10\"",
            "host.guest.address: the host \"desk\" has such an address already",
        ),
        (
            "\"192.168.2.10\"",
            "\"192.168.2.300\"",
            "host.guest.address: expected an address such as \"192.168.1.10\" or \"2001:db8::10\", \
             found \"192.168.2.300\"",
        ),
        (
            "\"192.168.2.10\"",
            "\"240.0.0.1\"",
            "host.guest.address: expected a host's address outside of ",
        ),
        (
            "\"2001:db8:1::10\"",
            "\"ff02::1\"",
            "host.six.address: expected the address of one host outside of 2001:db8:ffff::/48",
        ),
        (
            "vlan = 7",
            "vlan = 0",
            "host.desk.vlan: expected a VLAN from 1 to 4094, found 0",
        ),
        (
            "user_priority = 1",
            "user_priority = 8",
            "host.guest.user_priority: expected a user priority from 0 to 7, found 8",
        ),
        (
            "dscp = 46\n[flow.page]",
            "user_priority = 8\n[flow.page]",
            "flow.call.user_priority: expected a user priority from 0 to 7, found 8",
        ),
        (
            "02:00:5e:00:00:01",
            "01:00:5e:00:00:01",
            "host.desk.mac: expected the Ethernet address of one host, whose first byte is even",
        ),
        (
            "\"203.0.113.5\"",
            "\"203.0.113.5\", mac = \"02:00:5e:00:00:03\"",
            "host.server.mac: Ethernet addresses are those of customers' networks",
        ),
        (
            "\"203.0.113.5\"",
            "\"203.0.113.5\", user_priority = 3",
            "host.server.user_priority: tags are those of customers' networks",
        ),
        (
            "\"203.0.113.5\"",
            "\"203.0.113.5\", vlan = 3",
            "host.server.vlan: VLANs are those of customers' networks",
        ),
        (
            "\"203.0.113.5\"",
            "\"2001:db8:2::1\"",
            "flow.call.peer: \"server\" has an IPv6 address and the flow's host an IPv4 one",
        ),
    ] {
        let error = wrong(from, to);
        assert!(error.starts_with(expected), "{to}: {error}");
    }
    let small = with("dscp = 46").replace(
        "host = \"guest\"\npeer = \"server\"",
        "host = \"six\"\ntcp.mtu = 1000",
    );
    let error = parse(&small).expect_err("IPv6 needs 1280 B");
    assert!(
        error.starts_with("flow.page.tcp.mtu: expected 1280 to 1500 bytes"),
        "{error}"
    );
}

#[test]
fn a_host_with_an_ipv6_address_sends_headers_that_are_longer() {
    let text = |address: &str| {
        with("dscp = 46")
            .replace("2001:db8:1::10", address)
            .replace("host = \"guest\"\npeer = \"server\"", "host = \"six\"")
    };
    let bytes = |tables: &Tables, flow: &str, column: &str| {
        let names = tables.texts("flows", "flow").iter();
        let rows = names.zip(tables.integers("flows", column));
        let mine = rows.filter(|(name, _)| *name == flow);
        mine.map(|(_, value)| *value).sum::<u64>()
    };
    let [v4, v6] = ["192.168.3.1", "2001:db8:1::10"].map(|address| Tables::run(&text(address), 1));
    for flow in ["lone", "echo"] {
        let packets = bytes(&v4, flow, "packets_sent");
        assert_eq!(bytes(&v6, flow, "packets_sent"), packets, "{flow}");
        let [four, six] = [&v4, &v6].map(|tables| bytes(tables, flow, "bytes_sent"));
        assert_eq!(six, four + 20 * packets, "{flow}");
    }
    // A packet of the Ethernet MTU keeps its size and carries less data.
    let ipv6 = headend::tcp::Config {
        is_ipv6: true,
        ..Default::default()
    };
    assert_eq!(ipv6.options().mss, 1440);
}

/// A router whose upload of DSCP 46 goes to the service flow for it, unless the router washes.
#[test]
fn what_a_router_has_washed_is_of_dscp_0_for_the_modem() {
    let line = |wash: bool| {
        format!(
            r#"
            duration = "2 s"
            [router.queue.cake]
            wash = {wash}
            [link.cable.docsis]
            preset = "docsis31"
            upstream.rate = "10 Mbit/s"
            [link.cable.docsis.service_flow.mine]
            direction = "up"
            match.dscp = 46
            [flow.call]
            application = "voice"
            dscp = 46
            "#
        )
    };
    for wash in [false, true] {
        let tables = Tables::run(&line(wash), 1);
        let names = tables.texts("queues", "queue").iter();
        let mine = names.zip(tables.integers("queues", "packets_enqueued"));
        let taken: Vec<_> = mine
            .filter(|(name, _)| *name == "cable.mine")
            .map(|(_, packets)| *packets)
            .collect();
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0] == 0, wash, "{taken:?}");
        // They chose the tin in either case.
        let rows = tables.texts("tins", "queue").iter();
        let tins = rows.zip(tables.texts("tins", "tin"));
        let voice = tins.zip(tables.integers("tins", "packets"));
        let voice: u64 = voice
            .filter(|((queue, tin), _)| *queue == "router.up" && *tin == "voice")
            .map(|(_, packets)| *packets)
            .sum();
        assert!(voice > 50, "{voice}");
    }
}
