//! The targets: what is done with an input, and what must hold.
//!
//! Some runs are skipped, because they take the fuzzer's time and show nothing that smaller runs do
//! not: those with more than [`MOST_FLOWS`] flows or [`MOST_QUEUES`] queues, and those whose
//! shortest interval of results gives more than [`MOST_ROWS`] rows. A run ends after two simulated
//! seconds or [`MOST_EVENTS`] events, whichever comes first.

use std::collections::BTreeMap;

use docsis_config::mic::{self, State, Which};
use docsis_config::{File, Kind, Tlv, text};
use headend::metrics::table::{Column, Table};
use headend::packet::Ecn;
use headend::scenario::{self, Format, Override, Scenario};
use headend::time::{Duration, Instant};
use headend::traffic::replay;
use headend::wire::recording::{self, Recording};
use headend::wire::{read, real, server_name};

/// A run with more flows is skipped.
pub const MOST_FLOWS: usize = 300;
/// A run with more queues is skipped.
pub const MOST_QUEUES: usize = 600;
/// A run with more intervals of results, counted once for each flow and queue, is skipped.
pub const MOST_ROWS: u64 = 300_000;
/// A run is cut off after this many events.
pub const MOST_EVENTS: u64 = 100_000;
/// The simulated time of a run.
const RUN: Duration = Duration::from_secs(2);
/// The name of the file that a scenario of these targets may use.
pub const FILE: &str = "file";
/// The name of the modem's file that a scenario of these targets may use.
pub const MODEM_FILE: &str = "modem";

/// A target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The readers of captures.
    Capture,
    /// The readers of real frames, and of recordings of them.
    Frame,
    /// Modems' configuration files.
    ModemFile,
    /// Scenarios whose modem has a configuration file, and their runs.
    ModemFileRun,
    /// Modems' configuration files as text.
    ModemFileText,
    /// Scenarios that are accepted, and their runs.
    ScenarioRun,
    /// The text of a scenario, and overrides.
    ScenarioText,
    /// The readers of traces.
    Trace,
}

/// The counts for an input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tried {
    /// Texts and files that were parsed.
    pub parses: u64,
    /// Those of them that were accepted.
    pub accepted: u64,
    /// Scenarios that were run.
    pub runs: u64,
    /// Runs that were cut off because they had too many events.
    pub cut: u64,
    /// Scenarios that were too large to run.
    pub skipped: u64,
}

impl Tried {
    /// Adds the counts for another input.
    pub fn add(&mut self, other: Self) {
        self.parses += other.parses;
        self.accepted += other.accepted;
        self.runs += other.runs;
        self.cut += other.cut;
        self.skipped += other.skipped;
    }
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ScenarioText,
        Self::ScenarioRun,
        Self::Capture,
        Self::Trace,
        Self::Frame,
        Self::ModemFile,
        Self::ModemFileText,
        Self::ModemFileRun,
    ];

    /// The name of the target.
    pub fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Frame => "frame",
            Self::ModemFile => "modem_file",
            Self::ModemFileRun => "modem_file_run",
            Self::ModemFileText => "modem_file_text",
            Self::ScenarioRun => "scenario_run",
            Self::ScenarioText => "scenario_text",
            Self::Trace => "trace",
        }
    }

    /// Tries an input.
    ///
    /// # Panics
    ///
    /// If the engine panics, or if a required property does not hold.
    pub fn attempt(self, input: &[u8]) -> Tried {
        match self {
            Self::Capture => try_capture(input),
            Self::Frame => try_frame(input),
            Self::ModemFile => try_modem_file(input),
            Self::ModemFileRun => try_modem_file_run(input),
            Self::ModemFileText => try_modem_file_text(input),
            Self::ScenarioRun => try_scenario(input, true),
            Self::ScenarioText => try_scenario(input, false),
            Self::Trace => try_trace(input),
        }
    }
}

/// Splits an input into a scenario's text and its overrides. Each override follows the text after a
/// NUL, as `path=value`.
pub fn split(input: &str) -> (&str, Format, Vec<Override>) {
    let mut parts = input.split('\0');
    let text = parts.next().unwrap_or_default();
    let overrides = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
    let overrides = overrides
        .map(|(path, value)| (path.to_owned(), value.to_owned()))
        .collect();
    let format = if text.trim_start().starts_with('{') {
        Format::Json
    } else {
        Format::Toml
    };
    (text, format, overrides)
}

fn try_scenario(input: &[u8], is_run: bool) -> Tried {
    let mut tried = Tried::default();
    let Ok(input) = std::str::from_utf8(input) else {
        return tried;
    };
    let (text, format, overrides) = split(input);
    tried.parses = 1;
    let files = BTreeMap::from([
        (FILE.to_owned(), b"1\n2\n5\n".to_vec()),
        (MODEM_FILE.to_owned(), modem_file()),
    ]);
    let parsed = Scenario::parse(text, format, &overrides, &files);
    let scenario = match parsed {
        Ok(scenario) => scenario,
        Err(error) => {
            check_sentence(&error.to_string());
            return tried;
        }
    };
    tried.accepted = 1;
    if is_run {
        run(&scenario, &mut tried);
    } else {
        check_scenario(&scenario);
        let named = scenario::required_files(text, format, &overrides);
        assert!(named.is_ok(), "an accepted scenario names its files");
        let refused = scenario::refuse(text, format, &overrides, "flow.a", "expected more");
        check_sentence(&refused.expect("it was read before").to_string());
    }
    tried
}

/// Checks that a scenario is the same after it is written and parsed again, and that its warnings
/// are lines of text.
fn check_scenario(scenario: &Scenario) {
    let json = scenario.to_json();
    let again = Scenario::parse(&json, Format::Json, &[], &BTreeMap::new());
    let again = again.unwrap_or_else(|error| panic!("written out it is refused: {error}"));
    assert_eq!(again.to_json(), json, "written out twice it is the same");
    // The written-out scenario has the keys that a modem's file sets, and neither the list of them
    // nor the warnings about the file.
    let is_same = if scenario.modem_files_read().is_empty() {
        again == *scenario
    } else {
        again.raw() == scenario.raw()
    };
    assert!(
        is_same,
        "written out it is the same scenario: {again:?}\nfound {scenario:?}"
    );
    scenario.warnings().iter().for_each(|line| check_line(line));
    if let Some(path) = scenario.queue_path() {
        let overrides = [("queue".to_owned(), "drop_tail".to_owned())];
        let found = Scenario::parse(&json, Format::Json, &overrides, &BTreeMap::new());
        if let Err(error) = found {
            check_sentence(&error.to_string());
        }
        check_line(&path);
    }
}

/// Checks that an error is one line without control characters, and not empty.
fn check_sentence(text: &str) {
    check_line(text);
    assert!(!text.is_empty(), "an error says something");
}

fn check_line(text: &str) {
    assert!(
        !text.contains(char::is_control),
        "text without control characters, found {text:?}"
    );
}

/// Runs the scenario for two simulated seconds.
fn run(scenario: &Scenario, tried: &mut Tried) {
    let flows = scenario.flows().count();
    let queues = scenario.queues().count();
    let raw = scenario.raw();
    let interval = raw.results.interval.map_or(u64::MAX, Duration::as_nanos);
    let rows = RUN.as_nanos() / interval.max(1) * (flows + queues) as u64;
    if flows > MOST_FLOWS || queues > MOST_QUEUES || rows > MOST_ROWS {
        tried.skipped += 1;
        return;
    }
    tried.runs += 1;
    let mut simulation = scenario.build(raw.seed);
    // Every second scenario also records the life of a packet.
    let followed = scenario
        .flows()
        .next()
        .filter(|_| raw.seed.is_multiple_of(2));
    if let Some((flow, _)) = followed {
        let from = Instant::from_nanos(100_000_000);
        assert!(simulation.follow(flow, from), "it has the flow {flow}");
    }
    let end = Instant::ZERO + RUN;
    let mut slice = Duration::from_micros(1);
    let mut is_over = false;
    while !is_over && simulation.now() < end && simulation.events() < MOST_EVENTS {
        let before = simulation.events();
        is_over = simulation.run_until((simulation.now() + slice).min(end));
        let events = simulation.events() - before;
        if events < 1000 {
            slice = slice * 2;
        } else if events > 10_000 {
            slice = (slice / 2).max(Duration::from_nanos(1));
        }
    }
    tried.cut += u64::from(!is_over && simulation.now() < end);
    for (_, content) in simulation.take_capture() {
        check_own_capture(&content);
    }
    for (name, table) in simulation.tables() {
        check_table(name, &table);
    }
}

/// Checks that the capture of a run can be read.
fn check_own_capture(content: &[u8]) {
    if content.is_empty() {
        return;
    }
    let packets = read::Packets::of(content).expect("a run's capture is one");
    for packet in packets {
        if let Err(fault) = packet {
            panic!("a run's capture is whole: {fault}");
        }
    }
}

/// Checks that the columns of a table have the same length, and that each number is finite or
/// missing.
fn check_table(name: &str, table: &Table) {
    let length = |column: &Column| match column {
        Column::Float(values) => values.len(),
        Column::Integer(values) => values.len(),
        Column::Text(values) => values.len(),
    };
    let rows = table
        .columns
        .first()
        .map_or(0, |(_, column)| length(column));
    for (key, column) in &table.columns {
        assert_eq!(length(column), rows, "rows of {name}.{key}");
        match column {
            Column::Float(values) => assert!(
                !values.iter().any(|value| value.is_infinite()),
                "{name}.{key} is finite"
            ),
            Column::Integer(values) => assert!(
                values.iter().all(|&value| i64::try_from(value).is_ok()),
                "{name}.{key} is below 2^63"
            ),
            Column::Text(values) => values.iter().for_each(|text| check_line(text)),
        }
    }
}

/// The longest message for an error in a file. It includes the characters that the message quotes.
const LONGEST_OF_FILES: usize = 300;

/// Checks that the error of a file is short, whatever the file contains.
fn check_of_file(text: &str) {
    check_sentence(text);
    let length = text.chars().count();
    assert!(
        length <= LONGEST_OF_FILES,
        "at most {LONGEST_OF_FILES} characters, found {length}: {text}"
    );
}

/// Parses and runs a scenario that names a file with this content.
fn try_with_file(text: &str, content: &[u8], tried: &mut Tried) {
    tried.parses += 1;
    let files = BTreeMap::from([(FILE.to_owned(), content.to_vec())]);
    match Scenario::parse(text, Format::Toml, &[], &files) {
        Ok(scenario) => {
            tried.accepted += 1;
            check_scenario(&scenario);
            run(&scenario, tried);
        }
        Err(error) => check_of_file(&error.to_string()),
    }
}

/// The ways to choose packets from a capture: all, and by each key.
fn choices() -> [replay::Config; 6] {
    let all = replay::Config {
        capture: Some(FILE.to_owned()),
        ..replay::Config::default()
    };
    [
        all.clone(),
        replay::Config {
            host: Some("10.0.0.0/8".to_owned()),
            ..all.clone()
        },
        replay::Config {
            host: Some("fd00::/8".to_owned()),
            protocol: Some(replay::Transport::Tcp),
            ..all.clone()
        },
        replay::Config {
            interface: Some("eth0".to_owned()),
            protocol: Some(replay::Transport::Udp),
            ..all.clone()
        },
        replay::Config {
            port: Some(443),
            ..all.clone()
        },
        replay::Config {
            port: Some(443),
            protocol: Some(replay::Transport::Icmp),
            ..all
        },
    ]
}

const REPLAYED: &str = "
duration = \"2 s\"
[link.wire.point_to_point]
up.rate = \"100 Mbit/s\"
[flow.again]
application.replay = { capture = \"file\" }
";

fn try_capture(input: &[u8]) -> Tried {
    let mut tried = Tried::default();
    for choice in choices() {
        tried.parses += 1;
        match replay::choose(&choice, input) {
            Ok(_) => tried.accepted += 1,
            Err((_, what)) => check_of_file(&what),
        }
    }
    try_with_file(REPLAYED, input, &mut tried);
    tried
}

/// Reads an input as a frame, as the first bytes of a stream, and as a recording of frames.
fn try_frame(input: &[u8]) -> Tried {
    let mut accepted = u64::from(check_frame(input));
    if let Some(name) = server_name::find(input) {
        assert!(!name.is_empty(), "a name that was found is one");
        assert!(
            name.bytes().all(|byte| byte.is_ascii_graphic()),
            "a name has the characters of names, found {name:?}"
        );
        accepted += 1;
    }
    match recording::read(input) {
        Ok(found) => {
            check_recording(&found, input);
            accepted += 1;
        }
        Err(fault) => check_of_file(&fault.to_string()),
    }
    Tried {
        parses: 3,
        accepted,
        ..Tried::default()
    }
}

/// Checks the lengths in the header of a frame, and that a field of it can be written. Returns
/// whether the frame has a header that is understood.
fn check_frame(bytes: &[u8]) -> bool {
    let header = real::read(bytes);
    if let Some(header) = &header {
        assert!(header.payload < header.size, "a header has a length");
        let payload = real::payload(header, bytes);
        assert!(payload.len() <= usize::from(header.payload));
    }
    let mut marked = bytes.to_vec();
    real::set_ecn(&mut marked, Ecn::Ce);
    real::set_dscp(&mut marked, 45);
    let expected = header.map(|header| real::Header {
        ecn: Ecn::Ce,
        dscp: 45,
        ..header
    });
    assert_eq!(real::read(&marked), expected, "only the fields differ");
    header.is_some()
}

/// Checks that a recording that is read has arrivals in order, and that it is the same after it is
/// written and read again.
fn check_recording(found: &Recording, content: &[u8]) {
    let names = || found.hosts.iter().map(String::as_str);
    let mut writer = recording::Writer::new(found.seed, &found.scenario, names(), 0);
    let mut last = Instant::ZERO;
    for (at, host, bytes) in found.arrivals(content) {
        assert!(at >= last, "arrivals are in order");
        last = at;
        check_frame(bytes);
        writer.arrival(at, host, bytes);
    }
    let mut written = writer.take();
    let end = found.end.map(|end| {
        let mut blocks = recording::Digest::START;
        recording::checksum(&mut blocks, &written);
        recording::End { blocks, ..end }
    });
    if let Some(end) = &end {
        writer.end(end);
        written.extend(writer.take());
    }
    let again = recording::read(&written).expect("what was written can be read");
    assert!(again.arrivals(&written).eq(found.arrivals(content)));
    assert!(again.hosts == found.hosts && again.end == end);
    assert!(again.scenario == found.scenario && again.seed == found.seed);
    found.check_hosts(names()).expect("they are its hosts");
    if let Err(fault) = found.check_hosts(["no host"]) {
        check_of_file(&fault.to_string());
    }
}

const TRACED: [&str; 4] = [
    "
duration = \"2 s\"
[link.wire.point_to_point]
up.rate.trace = \"file\"
down.rate = \"10 Mbit/s\"
[flow.upload]
application = \"bulk\"
",
    "
duration = \"2 s\"
[link.cable.docsis]
preset = \"docsis31\"
upstream.rate = \"10 Mbit/s\"
downstream.rate = \"1 Mbit/s\"
downstream.capacity.trace = \"file\"
[flow.download]
application = \"bulk\"
direction = \"down\"
",
    "
duration = \"2 s\"
[link.wire.point_to_point]
up.rate.trace = \"file\"
up.delay.trace = \"file\"
up.loss.trace = \"file\"
down.rate = \"10 Mbit/s\"
[flow.upload]
application = \"bulk\"
",
    "
duration = \"2 s\"
[link.wire.point_to_point]
up.rate = \"10 Mbit/s\"
up.delay = { trace = \"file\", interval = \"3 ms\" }
[flow.upload]
application = \"bulk\"
",
];

fn try_trace(input: &[u8]) -> Tried {
    let mut tried = Tried::default();
    for text in TRACED {
        try_with_file(text, input, &mut tried);
    }
    tried
}

/// The secret of the CMTS MICs of these targets.
pub const SECRET: &[u8] = b"DOCSIS";

/// One in this many files is also put together again by way of its texts.
const TEXTS_IN: u64 = 4;
/// A file of at least this many bytes is also read cut off, at this many places or more.
const CUTS: usize = 8;

/// Takes a file apart and puts it together again, as it is, cut off, and by way of both texts, and
/// signs it.
fn try_modem_file(input: &[u8]) -> Tried {
    let file = check_bytes(input);
    let mut tried = Tried {
        parses: 1,
        accepted: u64::from(check_mics(&file)),
        ..Tried::default()
    };
    // Texts take most of the time, and the target for texts tries them too.
    if input.iter().map(|&byte| u64::from(byte)).sum::<u64>() % TEXTS_IN == 0 {
        check_texts(&file, input);
    }
    for length in (0..input.len()).step_by((input.len() / CUTS).max(1)) {
        check_found(&check_bytes(&input[..length]));
        tried.parses += 1;
    }
    tried
}

/// Checks that a file that is taken apart can be put together again. Returns the file.
fn check_bytes(input: &[u8]) -> File {
    let file = File::decode(input);
    assert!(file.encode() == input, "put together it is the same file");
    file
}

/// Checks that both texts of a file describe the same bytes.
fn check_texts(file: &File, bytes: &[u8]) {
    for (form, text) in [("TOML", text::to_toml(file)), ("JSON", text::to_json(file))] {
        match text::from_text(&text) {
            Ok(read) => assert!(read.encode() == bytes, "{form} is the same file: {text}"),
            Err(error) => panic!("{form} is read again: {error}: {text}"),
        }
    }
}

/// Checks that what is found out about the MICs of a file is lines of text.
fn check_found(file: &File) {
    let found = mic::verify(file, None);
    assert_eq!(found.is_err(), file.kind == Kind::Mta, "a modem's has MICs");
    if let Ok(mics) = found {
        drop(mics.to_json());
        check_line(&mics.cm.why);
        check_line(&mics.cmts.why);
    }
}

/// Checks that the MICs of a signed file are right. Returns whether it can be signed.
fn check_mics(file: &File) -> bool {
    check_found(file);
    if let Ok(signed) = mic::sign(file, Which::Cm) {
        let found = mic::verify(&File::decode(&signed.encode()), Some(SECRET));
        let mics = found.expect("a signed file is a modem's");
        assert_eq!(mics.cm.state, State::Right, "the CM MIC");
    }
    match mic::sign(file, Which::All(SECRET)) {
        Ok(signed) => {
            let read = File::decode(&signed.encode());
            assert!(read == signed, "signed it is the same file");
            let mics = mic::verify(&read, Some(SECRET)).expect("a signed file is a modem's");
            let extended = mics.extended.map(|extended| extended.finding);
            let findings = [Some(mics.cm), Some(mics.cmts), extended];
            for finding in findings.into_iter().flatten() {
                assert_eq!(finding.state, State::Right, "signed: {finding:?}");
            }
            let again = mic::sign(&read, Which::All(SECRET));
            assert!(again == Ok(signed), "signed twice it is the same file");
            true
        }
        Err(error) => {
            check_of_file(&error.to_string());
            false
        }
    }
}

/// Reads the text of a file.
fn try_modem_file_text(input: &[u8]) -> Tried {
    let mut tried = Tried::default();
    let Ok(input) = std::str::from_utf8(input) else {
        return tried;
    };
    tried.parses = 1;
    match text::from_text(input) {
        Ok(file) => {
            tried.accepted = 1;
            let bytes = file.encode();
            check_texts(&check_bytes(&bytes), &bytes);
        }
        Err(error) => check_sentence(&error.to_string()),
    }
    tried
}

/// Scenarios with a modem that has the file: the only modem of its line, and one of two.
const WITH_MODEM_FILE: [&str; 2] = [
    "
duration = \"2 s\"
[link.cable.docsis]
preset = \"docsis31\"
config = \"file\"
ignore_mic = true
[flow.call]
application = \"voice\"
dscp = 46
[flow.upload]
application = \"bulk\"
",
    "
duration = \"2 s\"
[link.cable.docsis]
preset = \"docsis31\"
[link.cable.docsis.modem.one]
config = \"file\"
ignore_mic = true
[link.cable.docsis.modem.two]
[host.home]
via = [\"cable.one\"]
[host.other]
via = [\"cable.two\"]
[flow.download]
application = \"bulk\"
direction = \"down\"
host = \"home\"
[flow.other]
application = \"ping\"
host = \"other\"
",
];

/// Runs scenarios whose modem has the file.
fn try_modem_file_run(input: &[u8]) -> Tried {
    let mut tried = Tried::default();
    for text in WITH_MODEM_FILE {
        try_with_file(text, input, &mut tried);
    }
    tried
}

/// A modem's file with several service flows and a classifier.
pub fn modem_file() -> Vec<u8> {
    let number = |number, value: u32| Tlv::new(number, value.to_be_bytes());
    let flow = |kind, reference, rate, more: Vec<Tlv>| {
        let start = [
            Tlv::new(1, [0, reference]),
            Tlv::new(6, [7]),
            number(8, rate),
        ];
        Tlv::nested(kind, start.into_iter().chain(more).collect())
    };
    let buffer = |target| Tlv::nested(35, vec![number(2, target)]);
    let aqm = Tlv::nested(40, vec![Tlv::new(1, [0]), Tlv::new(2, [15])]);
    let dscp = Tlv::nested(9, vec![Tlv::new(1, [0xb8, 0xb8, 0xfc])]);
    let classifier = Tlv::nested(22, vec![Tlv::new(1, [1]), Tlv::new(3, [0, 3]), dscp]);
    let file = File {
        kind: Kind::CableModem,
        tlvs: vec![
            Tlv::new(3, [1]),
            classifier,
            flow(24, 1, 10_000_000, vec![buffer(125_000), aqm]),
            flow(24, 3, 1_000_000, vec![Tlv::new(7, [5])]),
            flow(25, 2, 50_000_000, vec![buffer(500_000)]),
        ],
        rest: Vec::new(),
    };
    let signed = mic::sign(&file, Which::All(SECRET)).expect("it can be signed");
    signed.encode()
}
