//! The ways to the same line: keys, a modem's file made of them, a service class, a change at the
//! start, and the CMTS's own buffer (CM-GL-Buffer, "Cable Modem Buffer Control", §6.3).

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

/// All tables of a run, as text.
fn run(scenario: &Scenario) -> Vec<String> {
    let mut simulation = scenario.build(1);
    assert!(simulation.run_until(Instant::FAR_FUTURE));
    let tables = Tables(simulation.tables());
    let text = |(name, table): &(&str, _)| format!("{name} {table:?}");
    tables.0.iter().map(text).collect()
}

#[track_caller]
fn assert_alike(one: &Scenario, other: &Scenario, what: &str) {
    for (one, other) in run(one).iter().zip(run(other)) {
        assert!(*one == other, "{what}:\n{one:.3000}\n{other:.3000}");
    }
}

/// A shipped scenario and one of its modems.
struct Shipped {
    name: &'static str,
    /// The modem, and the key that names its file.
    modem: (&'static str, &'static str),
    /// Names of further service flows, which a file does not keep, and what they are called in a
    /// scenario that has them from the file.
    renamed: &'static [(&'static str, &'static str)],
    /// What makes the run short, and the queue that a file makes of a drop-tail one: a device has
    /// its buffer in blocks, and a scenario's drop-tail queue has it in bytes.
    overrides: &'static [(&'static str, &'static str)],
}

const BLOCKS: &str = "{ buffer_control = { target = '312500 B' } }";

/// Every shipped scenario with a cable line but `street`, whose modems share a group and differ in
/// their service classes: one file for the group would make them alike.
const SHIPPED: [Shipped; 11] = [
    Shipped {
        name: "evening",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[
            ("link.cable.docsis.upstream.queue", BLOCKS),
            ("link.cable.docsis.upstream.aqm_disabled", "true"),
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
    },
    Shipped {
        name: "generations",
        modem: ("now", "link.now.docsis.config"),
        renamed: &[],
        overrides: &[("duration", "62 s")],
    },
    Shipped {
        name: "generations",
        modem: ("then", "link.then.docsis.config"),
        renamed: &[],
        overrides: &[("duration", "62 s")],
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
    },
    Shipped {
        name: "power-boost",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[("flow.video.start", "3 s"), ("flow.photo.stop", "4 s")],
    },
    Shipped {
        name: "ten-calls",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[("flow.call.start", "1 s")],
    },
    Shipped {
        name: "ten-uploads",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
    },
    Shipped {
        name: "upload-and-call",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[
            ("link.cable.docsis.upstream.queue", BLOCKS),
            ("link.cable.docsis.upstream.aqm_disabled", "true"),
        ],
    },
    Shipped {
        name: "voice-adapter",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[(
            "link.cable.docsis.upstream.queue",
            "{ buffer_control = { target = '156250 B' } }",
        )],
    },
    Shipped {
        name: "web-page-under-upload",
        modem: ("cable", "modem"),
        renamed: &[],
        overrides: &[],
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
        let keys = parse(&text, &overrides, &BTreeMap::new());
        // The same file again: its references and names stay.
        assert_eq!(
            file_of(&keys, Some(modem), false).0,
            file,
            "{}",
            shipped.name
        );
        overrides.retain(|(path, _)| !path.starts_with("link.cable.docsis.upstream"));
        overrides.push((key, "modem.cm"));
        let with_file = parse(&text, &overrides, &named(&[("modem.cm", &file)]));
        assert_alike(&keys, &with_file, shipped.name);
        let again = file_of(&with_file, Some(modem), false).0;
        assert_eq!(again, file, "{}", shipped.name);
    }
}

/// A line with one modem, which has these keys, and its line these.
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

const UP: &str = r#"upstream = { rate = "5 Mbit/s", peak = "8 Mbit/s", burst = "100 kB", queue.buffer_control = { minimum = "24 KiB", target = "60 kB", maximum = "90 kB" } }"#;
const DOWN: &str = r#"downstream = { rate = "50 Mbit/s", queue.buffer_control.target = "300 kB" }"#;
/// What the line has for its modems, where they have nothing of their own.
const OTHERS: &str = r#"
upstream = { rate = "1 Mbit/s", queue.buffer_control.target = "200 kB" }
downstream = { rate = "9 Mbit/s", queue.buffer_control.target = "90 kB" }"#;

#[test]
fn every_provisioning_path_gives_the_same_line() {
    let none = BTreeMap::new();
    let own = format!("{UP}\n{DOWN}");
    let keys = parse(&line(OTHERS, &own), &[], &none);
    let reference = run(&keys);
    let assert_same = |scenario: &Scenario, what: &str| {
        for (one, other) in reference.iter().zip(run(scenario)) {
            assert!(*one == other, "{what}:\n{one:.3000}\n{other:.3000}");
        }
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
    let changed = parse(
        &line(&format!("{OTHERS}\n{}", changes.join("\n")), ""),
        &[],
        &none,
    );
    assert_same(&changed, "a change at the start");
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
