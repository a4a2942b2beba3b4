//! The seeds of the fuzzer: the scenarios of this repository and its tests, captures of a run, and
//! traces; and a dictionary of the grammar's words.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use headend::scenario::{Format, Scenario};
use headend::time::{Duration, Instant};
use headend::units::parse_duration;
use headend::wire::read;
use serde_json::Value;

use crate::targets::{FILE, Target};

/// The folders of the repository that contain scenarios.
const FOLDERS: [&str; 6] = [
    "crates/headend/src",
    "crates/headend/tests",
    "examples",
    "scenarios",
    "studies",
    "tests",
];

/// The seeds of a target, for the repository in this folder.
///
/// # Errors
///
/// If a file cannot be read.
pub fn of(target: Target, repository: &Path) -> io::Result<Vec<Vec<u8>>> {
    let bytes = |texts: BTreeSet<String>| texts.into_iter().map(String::into_bytes).collect();
    match target {
        Target::Capture => Ok(captures()),
        Target::ScenarioRun => Ok(bytes(shortened(&scenarios(repository)?))),
        Target::ScenarioText => scenarios(repository).map(bytes),
        Target::Trace => Ok(TRACES.map(|text| text.as_bytes().to_vec()).to_vec()),
    }
}

/// Every scenario in a file of its own or in the source of a test.
fn scenarios(repository: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for folder in FOLDERS {
        visit(&repository.join(folder), &mut |text| {
            // In a source file, the texts between quotes.
            for part in std::iter::once(text)
                .chain(text.split('"'))
                .chain(text.split("\"\"\""))
                .chain(
                    text.split("r#\"")
                        .filter_map(|part| part.split("\"#").next()),
                )
            {
                if part.contains("[link") && is_scenario(part) {
                    found.insert(part.to_owned());
                }
            }
        })?;
    }
    Ok(found)
}

fn visit(folder: &Path, see: &mut impl FnMut(&str)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_source = path
            .extension()
            .is_some_and(|end| end == "toml" || end == "rs" || end == "py");
        if path.is_dir() {
            visit(&path, see)?;
        } else if is_source {
            see(&fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

fn is_scenario(text: &str) -> bool {
    toml::from_str::<Value>(text).is_ok_and(|tree| tree.get("link").is_some())
}

/// The same scenarios as JSON, shortened to two seconds. All times in them are scaled alike.
fn shortened(texts: &BTreeSet<String>) -> BTreeSet<String> {
    let shorten = |text: &String| {
        let mut tree: Value = toml::from_str(text).ok()?;
        let duration = tree
            .get("duration")
            .and_then(Value::as_str)
            .unwrap_or("60 s");
        let factor = 2.0 / parse_duration(duration)?.as_secs_f64().max(2.0);
        tree["duration"] = Value::String(duration.to_owned());
        scale(&mut tree, factor, false);
        Some(tree.to_string())
    };
    texts.iter().filter_map(shorten).collect()
}

/// The keys whose values are times within a run.
const TIMES: [&str; 9] = [
    "at", "duration", "every", "from", "periods", "start", "stop", "to", "warmup",
];

fn scale(value: &mut Value, factor: f64, is_time: bool) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                scale(value, factor, is_time || TIMES.contains(&key.as_str()));
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| scale(value, factor, is_time)),
        Value::String(text) if is_time => {
            if let Some(time) = parse_duration(text) {
                *text = format!("{} ns", time.mul_f64(factor).as_nanos());
            }
        }
        _ => {}
    }
}

const TRACES: [&str; 9] = [
    "1\n2\n5\n",
    "0\n0\n0\n10\n",
    "1\r\n\r\n 3 \r\n",
    "1",
    "864000000",
    "864000001\n18446744073709551616\n",
    "1 2 3\n",
    "root:x:0:0:root:/root:/bin/sh\n\u{1b}[31mred\u{7f}\n",
    "5\n4\n",
];

/// The scenario that is captured.
const CAPTURED: &str = "
duration = \"400 ms\"
[link.wire.point_to_point]
up.rate = \"2 Mbit/s\"
[host.home]
via = [\"wire\"]
address = \"10.0.0.7\"
[host.six]
via = [\"wire\"]
address = \"fd00::7\"
[flow.call]
application = \"voice\"
host = \"home\"
[flow.upload]
application.bulk.size = \"6 kB\"
host = \"home\"
[flow.six]
application.bulk.size = \"6 kB\"
host = \"six\"
[flow.ping]
application = \"ping\"
host = \"home\"
[results.capture]
points = [\"call.host\", \"upload.host\", \"six.host\", \"ping.peer\"]
snaplen = \"80 B\"
";

/// The captures of a run: as the run writes them, and as pcap in both byte orders and resolutions.
fn captures() -> Vec<Vec<u8>> {
    let scenario = Scenario::parse(CAPTURED, Format::Toml, &[], &BTreeMap::new());
    let scenario = scenario.unwrap_or_else(|error| panic!("the scenario of captures: {error}"));
    let mut simulation = scenario.build(1);
    simulation.run_until(Instant::ZERO + Duration::from_secs(1));
    let mut files = Vec::new();
    for (_, file) in simulation.take_capture() {
        files.push(pcap(&file, 0xa1b2_c3d4, u32::to_le_bytes));
        files.push(pcap(&file, 0xa1b2_3c4d, u32::to_be_bytes));
        files.push(file);
    }
    files
}

/// The same packets as a pcap file.
fn pcap(file: &[u8], magic: u32, number: fn(u32) -> [u8; 4]) -> Vec<u8> {
    let packets = read::Packets::of(file).expect("a run's capture is one");
    let packets: Vec<_> = packets.filter_map(Result::ok).take(40).collect();
    let link_type = packets.first().map_or(101, |packet| packet.link_type);
    let header = [magic, 0x0004_0002, 0, 0, 65535, u32::from(link_type)];
    let mut pcap: Vec<u8> = header.into_iter().flat_map(number).collect();
    for packet in packets {
        let [seconds, fraction] = [packet.nanos / 1_000_000_000, packet.nanos % 1_000_000_000];
        let record = [
            seconds as u32,
            fraction as u32,
            packet.bytes.len() as u32,
            packet.length,
        ];
        pcap.extend(record.into_iter().flat_map(number));
        pcap.extend(packet.bytes);
    }
    pcap
}

/// The words that libFuzzer inserts into texts: keys and names of the grammar, and units.
pub fn dictionary() -> String {
    let schema = serde_json::from_str(&headend::scenario::schema());
    let mut words: BTreeSet<String> = BTreeSet::new();
    collect(&schema.expect("the schema is JSON"), &mut words);
    let units = [
        " ns",
        " us",
        " ms",
        " s",
        " min",
        " h",
        " bit/s",
        " kbit/s",
        " Mbit/s",
        " Gbit/s",
        " B",
        " kB",
        " MB",
        " GB",
        " KiB",
        " MiB",
        " GiB",
        " %",
        " packets",
        "unlimited",
        "autotuned",
        "[[",
        "]]",
        " = ",
        "{ ",
        "\\\"\\\"\\\"",
        "e308",
        "18446744073709551615",
        "-1",
        "\\x00queue=",
        FILE,
    ];
    words.extend(units.map(str::to_owned));
    words.iter().fold(String::new(), |mut text, word| {
        let _ = writeln!(text, "\"{word}\"");
        text
    })
}

fn collect(schema: &Value, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(entries) => {
            for (key, value) in entries {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        words.extend(properties.keys().cloned());
                    }
                    ("const", Value::String(name)) => drop(words.insert(name.clone())),
                    ("enum", Value::Array(names)) => {
                        words.extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => {}
                }
                collect(value, words);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, words)),
        _ => {}
    }
}
