//! Tests that all ways of provisioning give the same line: keys, a modem's file made of them, a
//! service class, a change at the start, and the CMTS's own buffer (CM-GL-Buffer, "Cable Modem
//! Buffer Control", §6.3).

mod from_text;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use from_text::Tables;
use headend::scenario::{Format, Override, Scenario};
use headend::time::Instant;

#[track_caller]
fn parse(text: &str, overrides: &[(&str, &str)], files: &BTreeMap<String, Vec<u8>>) -> Scenario {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    let overrides: Vec<Override> = overrides.iter().map(owned).collect();
    Scenario::parse(text, Format::Toml, &overrides, files)
        .unwrap_or_else(|error| panic!("the scenario is right: {error}"))
}

/// The file of a modem, and its notes.
#[track_caller]
fn file_of(scenario: &Scenario, modem: Option<&str>, is_by_class: bool) -> (Vec<u8>, Vec<String>) {
    let (file, notes) = scenario.modem_file(modem, is_by_class).expect("a modem");
    (file.encode(), notes)
}

fn named(files: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
    let owned = |&(name, bytes): &(&str, &[u8])| (name.to_owned(), bytes.to_vec());
    files.iter().map(owned).collect()
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

/// The columns that differ, with their values.
fn differences(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Vec<String> {
    assert!(one.keys().eq(other.keys()));
    let pairs = one.iter().zip(other.values());
    let differing = pairs.filter(|((_, one), other)| one != other);
    differing
        .map(|((name, one), other)| format!("{name}: {one:.300} and {other:.300}"))
        .collect()
}

#[track_caller]
fn assert_alike(one: &Scenario, other: &Scenario, what: &str) {
    assert_eq!(differences(&run(one), &run(other)), [""; 0], "{what}");
}

/// A shipped scenario and one of its modems.
struct Shipped {
    name: &'static str,
    /// The modem, and the key that names its file.
    modem: (&'static str, &'static str),
    /// Names of further service flows, which a file does not keep, and their names in a scenario
    /// that has them from the file.
    renamed: &'static [(&'static str, &'static str)],
    /// Overrides that make the run short.
    overrides: &'static [(&'static str, &'static str)],
    /// The queues of a modem with the file. The file turns a drop-tail queue into one whose device
    /// has its buffer in blocks. The table `mib` shows a limit in bytes as a setting, but not a
    /// limit that is a time.
    queues: &'static [(&'static str, &'static str)],
}

const BLOCKS: &str = "{ buffer_control = { target = '312500 B' } }";
const PIE: &str = "{ docsis_pie = { limit = '625000 B' } }";

/// Every shipped scenario with a cable line but `street`, whose modems share a group and differ in
/// their service classes: one file for the group would make them alike.
const SHIPPED: [Shipped; 13] = [
    Shipped {
        name: "evening",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
        queues: &[
            ("upstream.queue", BLOCKS),
            ("upstream.aqm_disabled", "true"),
        ],
    },
    Shipped {
        name: "game-console",
        modem: ("cable", "modem"),
        renamed: &[
            ("docsis.service_flow.game", "docsis.service_flow.up_3"),
            ("cable.game", "cable.up_3"),
        ],
        overrides: &[],
        queues: &[],
    },
    Shipped {
        name: "generations",
        modem: ("now", "link.now.docsis.config"),
        renamed: &[],
        overrides: &[("duration", "62 s")],
        queues: &[("upstream.queue", "{ docsis_pie = { limit = '250 kB' } }")],
    },
    Shipped {
        name: "generations",
        modem: ("then", "link.then.docsis.config"),
        renamed: &[],
        overrides: &[("duration", "62 s")],
        queues: &[],
    },
    Shipped {
        name: "low-latency-home",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
        queues: &[
            ("upstream.queue", "{ docsis_pie = { limit = '250000 B' } }"),
            (
                "downstream.queue",
                "{ docsis_pie = { limit = '6250000 B' } }",
            ),
        ],
    },
    Shipped {
        name: "office",
        modem: ("office", "modem.office"),
        renamed: &[
            ("service_flow.voice_down]", "service_flow.down_5]"),
            ("service_flow.voice]", "service_flow.up_4]"),
            ("service_flow.backup]", "service_flow.up_3]"),
            ("file_sharing =", "drop_4 ="),
        ],
        overrides: &[("link.cable.docsis.change.raise.at", "3 s")],
        queues: &[
            ("modem.office.upstream.queue", PIE),
            (
                "modem.office.service_flow.up_3.queue",
                "{ docsis_pie = { limit = '468750 B' } }",
            ),
        ],
    },
    Shipped {
        name: "power-boost",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[("flow.video.start", "3 s"), ("flow.photo.stop", "4 s")],
        queues: &[("upstream.queue", PIE)],
    },
    Shipped {
        name: "ten-calls",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[("flow.call.start", "1 s")],
        queues: &[],
    },
    Shipped {
        name: "ten-uploads",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
        queues: &[("upstream.queue", PIE)],
    },
    Shipped {
        name: "upload-and-call",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
        queues: &[
            ("upstream.queue", BLOCKS),
            ("upstream.aqm_disabled", "true"),
        ],
    },
    Shipped {
        name: "voice-adapter",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
        queues: &[(
            "upstream.queue",
            "{ buffer_control = { target = '156250 B' } }",
        )],
    },
    Shipped {
        name: "web-page-under-upload",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
        queues: &[],
    },
    Shipped {
        name: "wifi-home",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[("flow.print.start", "2 s")],
        queues: &[(
            "upstream.queue",
            "{ buffer_control = { target = '262144 B' } }",
        )],
    },
];

#[test]
fn a_shipped_scenario_runs_alike_with_the_file_of_its_modem() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for shipped in SHIPPED {
        let path = folder.join(format!("{}.toml", shipped.name));
        let mut text = fs::read_to_string(path).expect("a shipped scenario");
        let (modem, key) = shipped.modem;
        let plain = parse(&text, &[], &BTreeMap::new());
        let (file, _) = file_of(&plain, Some(modem), false);
        for (name, in_file) in shipped.renamed {
            assert!(text.contains(name), "{}: {name}", shipped.name);
            text = text.replace(name, in_file);
        }
        let mut overrides = vec![("duration", "6 s"), ("warmup", "1 s")];
        overrides.extend(shipped.overrides);
        let link = if key == "link.now.docsis.config" {
            "now"
        } else {
            "cable"
        };
        let queues = shipped.queues.iter();
        let queues: Vec<(String, &str)> = queues
            .map(|(path, queue)| (format!("link.{link}.docsis.{path}"), *queue))
            .collect();
        let by_keys: Vec<(&str, &str)> = (overrides.iter().copied())
            .chain(queues.iter().map(|(path, queue)| (path.as_str(), *queue)))
            .collect();
        let keys = parse(&text, &by_keys, &BTreeMap::new());
        // The same file again: its references and names stay.
        let again = file_of(&keys, Some(modem), false).0;
        assert_eq!(again, file, "{}", shipped.name);
        overrides.push((key, "modem.cm"));
        let with_file = parse(&text, &overrides, &named(&[("modem.cm", &file)]));
        assert_alike(&keys, &with_file, shipped.name);
        let again = file_of(&with_file, Some(modem), false).0;
        assert_eq!(again, file, "{}", shipped.name);
    }
}

/// A line with the keys `of_line` and one modem with the keys `of_modem`.
fn line(of_line: &str, of_modem: &str) -> String {
    format!(
        r#"
duration = "8 s"
warmup = "1 s"
[link.cable.docsis]
preset = "docsis30"
{of_line}
[link.cable.docsis.modem.home]
{of_modem}
[host]
desk.via = ["cable.home"]
[flow.upload]
host = "desk"
application = "bulk"
direction = "up"
[flow.call]
host = "desk"
application = "voice"
[flow.download]
host = "desk"
application = "bulk"
direction = "down"
"#
    )
}

const UP: &str = concat!(
    r#"upstream = { rate = "5 Mbit/s", peak = "8 Mbit/s", burst = "100 kB", "#,
    r#"queue.buffer_control = { minimum = "24 KiB", target = "60 kB", maximum = "90 kB" } }"#,
);
const DOWN: &str = r#"downstream = { rate = "50 Mbit/s", queue.buffer_control.target = "300 kB" }"#;
/// Keys of the line that its modems have where they set nothing themselves. The burst is the same,
/// because a change keeps the tokens of the bucket.
const OTHERS: &str = r#"
upstream = { rate = "1 Mbit/s", burst = "100 kB", queue.buffer_control.target = "200 kB" }
downstream = { rate = "9 Mbit/s", queue.buffer_control.target = "90 kB" }"#;

#[test]
fn every_provisioning_path_gives_the_same_line() {
    let none = BTreeMap::new();
    let own = format!("{UP}\n{DOWN}");
    let keys = parse(&line(OTHERS, &own), &[], &none);
    let reference = run(&keys);
    let assert_same = |scenario: &Scenario, what: &str| {
        assert_eq!(differences(&reference, &run(scenario)), [""; 0], "{what}");
    };
    let others = parse(&line(OTHERS, ""), &[], &none);
    assert_ne!(run(&others), reference, "the line alone is another");
    // The modem's file with values; the CMTS copies them from the registration request into its
    // response (Minimal).
    let (values, notes) = file_of(&keys, Some("home"), false);
    assert_eq!(notes, [""; 0]);
    let files = named(&[("home.cm", &values)]);
    let with_file = parse(&line(OTHERS, ""), &[("modem.home", "home.cm")], &files);
    assert_same(&with_file, "a file with values");
    // The file names a service class, which the CMTS has (Scalable).
    let gold = format!("service_class.gold = {{ {} }}", [UP, DOWN].join(", "));
    let of_line = format!("{OTHERS}\n{gold}");
    let of_class = parse(&line(&of_line, "service_class = 'gold'"), &[], &none);
    assert_same(&of_class, "a service class");
    assert_eq!(file_of(&of_class, Some("home"), false).0, values);
    let (by_class, _) = file_of(&of_class, Some("home"), true);
    assert!(
        by_class.len() < values.len(),
        "names are shorter than values"
    );
    let files = named(&[("home.cm", &by_class)]);
    let with_class = parse(&line(&of_line, ""), &[("modem.home", "home.cm")], &files);
    assert_same(&with_class, "a file with a service class name");
    // A policy server sets it when the modem is there (Dynamic).
    let change = |name: &str, flow: &str, table: &str, key: &str| {
        let inner = table.strip_prefix(key).expect("a key");
        let inner = inner.trim_start_matches(" = {").trim_end_matches('}');
        format!("change.{name} = {{ at = '0 s', service_flow = '{flow}', {inner} }}")
    };
    let changes = [
        change("a", "up", UP, "upstream"),
        change("b", "down", DOWN, "downstream"),
    ];
    let dynamic = parse(
        &line(&format!("{OTHERS}\n{}", changes.join("\n")), ""),
        &[],
        &none,
    );
    // Tables show some settings as they are before the first event, and the change is an event.
    let of_start = [
        "mib.",
        "queues.limit_bytes",
        "queues.rate_bps",
        "queues.utilisation",
        "summary.events",
    ];
    let mut differing = differences(&reference, &run(&dynamic));
    differing.retain(|column| !of_start.iter().any(|start| column.starts_with(start)));
    assert_eq!(differing, [""; 0], "a change at the start");
}

#[test]
fn a_cmts_that_drops_buffer_sizes_leaves_the_modem_its_own() {
    let none = BTreeMap::new();
    let keys = parse(&line("", &format!("{UP}\n{DOWN}")), &[], &none);
    let (file, _) = file_of(&keys, Some("home"), false);
    let files = named(&[("home.cm", &file)]);
    let of = |buffer: &str, modem: &str, overrides: &[(&str, &str)]| {
        let settings =
            format!("buffer_settings = {{ dropped = true, default_buffer = '{buffer}' }}");
        parse(&line(&settings, modem), overrides, &files)
    };
    let with_file = of("200 kB", "", &[("modem.home", "home.cm")]);
    let sized = format!("{UP}\n{DOWN}").replace("60 kB", "30 kB");
    assert_alike(
        &with_file,
        &of("200 kB", &sized, &[]),
        "the size in the file is not passed on",
    );
    assert_ne!(run(&with_file), run(&keys));
    // The file says what was configured, not what the modem got.
    assert_eq!(file_of(&with_file, Some("home"), false).0, file);
}

#[test]
fn classifiers_come_back_from_a_file_as_they_are() {
    let text = line(
        r#"
        [link.cable.docsis.service_flow.up_3]
        direction = "up"
        match = [
            { destination = "2001:db8::/32", protocol = "tcp", destination_port = 443, dscp = 46 },
            { source_port = "5000-5999" },
            { ethertype = "ipv6", source_mac = "02:00:5e:00:00:01", user_priority = 0 },
            { protocol = "icmp", ecn = "ect1", priority = 7 },
            { source = "10.0.0.0/255.0.0.255", tos = { low = 1, high = 1, mask = 1 } },
        ]
        [link.cable.docsis.service_flow.down_4]
        direction = "down"
        match.vlan = 7
        match.host = "desk"
        match.user_priority = "4-7"
        match.destination_mac = "02:00:5e:00:00:01"
        [link.cable.docsis.drop]
        drop_8 = { port = 139 }
        [host.six]
        address = "2001:db8::10"
        via = ["cable.home"]
        vlan = 7"#,
        "",
    );
    let scenario = parse(&text, &[], &BTreeMap::new());
    let (file, notes) = file_of(&scenario, Some("home"), false);
    let of_queues = |note: &&String| note.contains(".queue: in a run with the file, drop_tail of");
    assert_eq!(
        notes.iter().filter(of_queues).count(),
        notes.len(),
        "{notes:?}"
    );
    let plain = parse(
        &line(
            "[host.six]\naddress = '2001:db8::10'\nvia = ['cable.home']",
            "",
        ),
        &[("modem.home", "home.cm")],
        &named(&[("home.cm", &file)]),
    );
    assert_eq!(file_of(&plain, Some("home"), false).0, file);
}
