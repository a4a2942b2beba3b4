//! The seeds of the fuzzer: the scenarios of this repository and its tests, captures of a run,
//! traces, frames with recordings, and modems' files; and a dictionary of the words of the grammar
//! and of the table of TLVs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use docsis_config::file::{END, GENERAL, PAD};
use docsis_config::mic::{self, Which};
use docsis_config::{Definition, File, Form, Kind, Tlv, definitions, text};
use headend::scenario::{Format, Scenario};
use headend::time::{Duration, Instant};
use headend::units::parse_duration;
use headend::wire::{read, recording};
use serde_json::Value;

use crate::targets::{FILE, MODEM_FILE, SECRET, Target, modem_file};

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
        Target::Frame => Ok(frames()),
        Target::ModemFile => Ok(modem_files()),
        Target::ModemFileRun => Ok(modem_files_with_flows()),
        Target::ModemFileText => Ok(modem_file_texts()),
        Target::ScenarioRun => Ok(bytes(shortened(&scenarios(repository)?))),
        Target::ScenarioText => scenarios(repository).map(bytes),
        Target::Trace => Ok(TRACES.map(|text| text.as_bytes().to_vec()).to_vec()),
    }
}

/// A scenario whose modem has a file, and a key beside it.
const WITH_MODEM_FILE: &str = "
duration = \"2 s\"
[link.cable.docsis]
preset = \"docsis31\"
config = \"modem\"
ignore_mic = true
upstream.rate = \"5 Mbit/s\"
[flow.call]
application = \"voice\"
dscp = 46
[flow.upload]
application = \"bulk\"
";

/// Every scenario in a file of its own or in the source of a test, and one with a modem's file.
fn scenarios(repository: &Path) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::from([WITH_MODEM_FILE.to_owned()]);
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

const TRACES: [&str; 14] = [
    "1\n2\n5\n",
    "0\n0\n0\n10\n",
    "1\r\n\r\n 3 \r\n",
    "1",
    "864000000",
    "864000001\n18446744073709551616\n",
    "1 2 3\n",
    "root:x:0:0:root:/root:/bin/sh\n\u{1b}[31mred\u{7f}\n",
    "5\n4\n",
    "time_s,rate_mbps\n0,10\n0.5,0\n1,2.5\n",
    "\u{feff}# a line\r\ntime_s, rate_bps, delay_ms, loss\r\n5,1e6,20,0\r\n5.5,3e6,8,0.02\r\n",
    "time_s,delay_ms\n0,12\n0.01,-0\n0.02,6e4\n",
    "loss,time_s\n1,0\n0,1e-9\n",
    "time_s,rate_mbps,loss\n1,NaN,1e400\n0,,2\n",
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

/// The packets of captures, the first bytes of streams with the name of a server, and recordings.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = vec![
        b"GET / HTTP/1.1\r\nAccept: */*\r\nHost: example.org:8080\r\n\r\n".to_vec(),
        client_hello(b"example.org"),
        // A TCP segment over IPv6 behind a hop-by-hop header, with a SACK block.
        [
            &[0x60, 0, 0, 0, 0, 40, 0, 64][..],
            &[0xfd; 32],
            &[6, 0, 1, 4, 0, 0, 0, 0],
            &[
                0x80, 1, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 1, 0, 0, 0, 0, 0,
            ],
            &[1, 1, 5, 10, 0, 0, 0, 3, 0, 0, 0, 4],
        ]
        .concat(),
        // A fragment.
        [
            &[0x60, 0, 0, 0, 0, 12, 44, 64][..],
            &[0xfd; 32],
            &[17, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8],
        ]
        .concat(),
    ];
    for capture in captures() {
        let Ok(packets) = read::Packets::of(&capture) else {
            continue;
        };
        let packets = packets.filter_map(Result::ok).take(3);
        frames.extend(packets.map(|packet| packet.bytes.to_vec()));
    }
    for (snaplen, is_whole) in [(0, true), (60, false)] {
        let mut writer = recording::Writer::new(1, "{\"link\": {}}", ["a", "b"], snaplen);
        for (number, frame) in frames.clone().iter().enumerate() {
            let at = Instant::from_nanos(1_000 * number as u64);
            writer.arrival(at, number as u16 % 2, frame);
        }
        let mut file = writer.take();
        let frames_ended = recording::Ends {
            entered: 2,
            delivered: 1,
            discarded: 1,
            marked: 0,
            digest: recording::Digest(7),
        };
        if is_whole {
            let mut blocks = recording::Digest::START;
            recording::checksum(&mut blocks, &file);
            writer.end(&recording::End {
                end_ns: 1_000_000_000,
                frames: frames_ended,
                blocks,
            });
            file.extend(writer.take());
        }
        frames.push(file);
    }
    frames
}

/// A TLS `ClientHello` with one extension: the name of the server.
fn client_hello(name: &[u8]) -> Vec<u8> {
    let sized = |bytes: Vec<u8>| [&(bytes.len() as u16).to_be_bytes()[..], &bytes].concat();
    let name = [&[0][..], &sized(name.to_vec())].concat();
    let extension = [&[0, 0][..], &sized(sized(name))].concat();
    // Version, random bytes, no session, one suite, one way of compression.
    let before = [&[3, 3][..], &[9; 32], &[0, 0, 2, 0x13, 1, 1, 0]].concat();
    let body = [before, sized(extension)].concat();
    let message = [&[1, 0][..], &sized(body)].concat();
    [&[22, 3, 1][..], &sized(message)].concat()
}

/// Modems' files: one with several service flows; one for each outermost TLV of the table with all
/// that it can hold; some with an extended MIC, a chain of certificates, pads, settings of a
/// vendor, and what does not fit; and an MTA's.
fn modem_files() -> Vec<Vec<u8>> {
    let outermost = |definition: &&Definition| definition.path.len() == 1;
    let of = |tlvs: Vec<Tlv>| File {
        kind: Kind::CableModem,
        tlvs,
        rest: Vec::new(),
    };
    let mut files = vec![modem_file()];
    for definition in definitions().filter(outermost) {
        let file = of(vec![Tlv::new(3, [1]), example(definition)]);
        files.push(
            mic::sign(&file, Which::All(SECRET))
                .unwrap_or(file)
                .encode(),
        );
    }
    let vendor =
        |id: [u8; 3], tlvs: Vec<Tlv>| Tlv::nested(43, [vec![Tlv::new(8, id)], tlvs].concat());
    let extended = |last: Option<Tlv>| {
        // The bitmap selects 24, 25 and 43.
        let start = vec![Tlv::new(1, [1]), Tlv::new(2, [0, 0, 0, 0xc0, 0, 0x10])];
        Tlv::nested(6, start.into_iter().chain(last).collect())
    };
    let flow = |number| Tlv::nested(number, vec![Tlv::new(1, [0, 1]), Tlv::new(6, [7])]);
    for tlvs in [
        vec![
            flow(24),
            vendor(GENERAL, vec![extended(Some(Tlv::new(3, [0; 16])))]),
        ],
        vec![flow(25), vendor(GENERAL, vec![extended(None)])],
        vec![
            vendor([0, 0, 1], vec![Tlv::new(6, [0]), Tlv::new(1, [1, 9])]),
            flow(24),
        ],
        vec![
            Tlv::new(81, [7; 254]),
            Tlv::new(81, [8; 254]),
            Tlv::new(81, [9; 40]),
        ],
        vec![
            Tlv::bare(PAD),
            flow(24),
            Tlv::bare(PAD),
            Tlv::bare(PAD),
            Tlv::new(213, []),
        ],
        vec![
            Tlv::new(24, [1, 9, 0]),
            Tlv::new(25, [35, 2, 2]),
            Tlv::bare(END),
        ],
    ] {
        let file = of(tlvs);
        files.push(
            mic::sign(&file, Which::All(SECRET))
                .unwrap_or(file)
                .encode(),
        );
    }
    files.push(vec![24, 9, 1]);
    files.push(vec![3, 1, 1, 255, 0, 0, 7]);
    files.push(vec![
        254, 1, 1, 11, 3, 5, 5, 5, 64, 0, 3, 5, 5, 5, 254, 1, 255,
    ]);
    files
}

/// The same files, each with service flows in front, without which a file is not run. An MTA's has
/// none.
fn modem_files_with_flows() -> Vec<Vec<u8>> {
    let mut flows = File::decode(&modem_file()).tlvs;
    flows.retain(|tlv| ![mic::CM_MIC, mic::CMTS_MIC, END].contains(&tlv.number));
    let add = |bytes: Vec<u8>| {
        let mut file = File::decode(&bytes);
        if file.kind == Kind::CableModem {
            file.tlvs.splice(0..0, flows.iter().cloned());
        }
        file.encode()
    };
    modem_files().into_iter().map(add).collect()
}

/// A TLV with all that it can hold. Where that is longer than its length can say, a part of it.
fn example(definition: &Definition) -> Tlv {
    let number = definition.path.last().copied().unwrap_or_default();
    if definition.form != Form::Nested {
        let value: Vec<u8> = (1..).take(definition.length.0.max(1)).collect();
        return Tlv::new(number, value);
    }
    let is_below = |other: &&Definition| {
        other.path.split_last().map(|(_, around)| around) == Some(&definition.path)
    };
    let mut tlvs: Vec<Tlv> = definitions().filter(is_below).map(example).collect();
    let mut rest = 200_usize;
    tlvs.retain(|tlv| {
        let length = size(tlv);
        rest = rest.saturating_sub(length);
        rest > 0
    });
    Tlv::nested(number, tlvs)
}

/// The bytes of a TLV, at most.
fn size(tlv: &Tlv) -> usize {
    let inner: usize = (0..=u8::MAX)
        .flat_map(|number| tlv.all(number))
        .map(size)
        .sum();
    3 + inner + tlv.bytes().map_or(0, <[u8]>::len)
}

/// The same files as TOML and as JSON, and texts that describe none.
fn modem_file_texts() -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for bytes in modem_files() {
        let file = File::decode(&bytes);
        texts.push(text::to_toml(&file).into_bytes());
        texts.push(text::to_json(&file).into_bytes());
    }
    for text in [
        "max_cpe = 16\n[[UsServiceFlow]]\nUsServiceFlowRef = 1\nMaxRateSustained = 10000000\n",
        "max_cpe = \"0x10\"\ntlv_213 = \"0x0102\"\npad = 3\nend = true\nrest = \"0x01\"\n",
        "[[upstream_service_flow]]\nthen = [ { reference = 1 } ]\n[[then]]\nmax_cpe = 1\n",
        "pad = 4000000000\n",
        "no_such_setting = 1\n",
        "max_cpe = [[[[1]]]]\n",
        "{\"tlvs\": [{\"tlv\": \"24\", \"nested\": [{\"tlv\": \"24.1\", \"value\": 1}]}]}",
        "{\"kind\": \"mta\", \"tlvs\": [{\"tlv\": \"0\", \"count\": 4000000000}]}",
    ] {
        texts.push(text.as_bytes().to_vec());
    }
    texts
}

/// The words that libFuzzer inserts into texts: keys and names of the grammar and of the table of
/// TLVs, and units.
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
        "\\x00modem=",
        FILE,
        MODEM_FILE,
    ];
    words.extend(units.map(str::to_owned));
    words.extend(definitions().map(|definition| definition.name.clone()));
    let of_files = [
        "\\\"0x",
        "then",
        "pad",
        "end = true",
        "rest",
        "nested",
        "hex",
        "tlv_",
    ];
    words.extend(of_files.map(str::to_owned));
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
