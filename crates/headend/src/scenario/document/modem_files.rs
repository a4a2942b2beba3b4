//! Files of modems in a document: what they say becomes keys, so that a modem with a file is exactly
//! a modem with these keys.
//!
//! A key that an override has written goes before the file. So does one that the text writes beside
//! the text's own `config`. A `config` that an override has written goes before the text.
//!
//! A file says all that there is to say of a service flow: what it leaves out has the default of the
//! specification, whatever the scenario has. What no file can say stays the scenario's.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::overrides::is_inside;
use super::queues::{FileQueue, Size};
use super::{Document, Override, Place};
use crate::link::docsis::preset::Preset;
use crate::scenario::cable::modem::modem_file::{FileError, FileFlow, ModemFile, TlvPlace};
use crate::scenario::cable::{OneWay, ServiceFlow, Upstream, default_queue, modem_queue};
use crate::scenario::error::{Origin, Problem, ScenarioError};
use crate::scenario::files::find_file;
use crate::scenario::span::Several;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate, parse_bytes, parse_duration, parse_rate};

/// A modem, or all modems of a line, with a file to be read.
#[derive(Debug, Clone)]
struct Target {
    /// The path of the line.
    line: String,
    /// The table with the key `config`: the line, or one of its modems.
    table: String,
    file: String,
    /// An override names the file.
    is_override: bool,
    /// Tables that get its further service flows: a line does not give them to modems that have
    /// a file of their own.
    further: Vec<String>,
}

/// Sentences about files, each with the keys of the modems that it is about.
type Notes = Vec<(String, Vec<String>)>;

impl Document {
    /// The keys that name a modem's file that is still to be read, with the file's name.
    pub(in crate::scenario) fn modem_files(&self) -> Vec<(String, String)> {
        let targets = self.targets().into_iter();
        targets
            .map(|target| (format!("{}.config", target.table), target.file))
            .collect()
    }

    /// Puts what files say in place, and then the overrides `of_files`, whose names only a file can
    /// have.
    pub(super) fn read_modem_files(
        &mut self,
        files: &BTreeMap<String, Vec<u8>>,
        of_files: &[Override],
    ) -> Result<(), ScenarioError> {
        let mut notes = Notes::new();
        let mut queues = Vec::new();
        for target in self.targets() {
            let key = format!("{}.config", target.table);
            let bytes = find_file(&key, &target.file, files).map_err(|error| self.locate(error))?;
            let preset = self.preset(&target.line);
            let file = ModemFile::read(bytes, preset)
                .map_err(|error| refuse_file(&key, &target.file, error))?;
            let mut writer = Writer {
                document: self,
                target: &target,
                preset,
                replaced: Vec::new(),
                beside: Vec::new(),
                notes: Vec::new(),
                queues: &mut queues,
            };
            writer.write(file)?;
            let read = format!("{}.config_read", target.table);
            writer.document.set(&read, json!(true), None);
            for sentence in writer.sentences() {
                match notes.iter_mut().find(|(known, _)| *known == sentence) {
                    Some((_, keys)) => keys.push(key.clone()),
                    None => notes.push((sentence, vec![key.clone()])),
                }
            }
        }
        for (path, text) in of_files {
            self.replace(path, text)?;
        }
        // An override that names another discipline leaves it the file's buffer.
        for queue in queues {
            if self.is_overridden(&queue.path) {
                self.fill_queue(&queue);
            }
        }
        self.notes = notes.into_iter().map(sentence_with_keys).collect();
        Ok(())
    }

    /// Modems whose files are still to be read, lines before their modems.
    fn targets(&self) -> Vec<Target> {
        let mut found = Vec::new();
        for line in self.cable_lines() {
            let modems = self
                .at(&line)
                .and_then(|line| line.get("modem")?.as_object());
            let modems: Vec<String> = (modems.into_iter().flat_map(Map::keys))
                .map(|name| format!("{line}.modem.{name}"))
                .collect();
            let has_none = |modem: &&String| self.at(&format!("{modem}.config")).is_none();
            let further = match modems.as_slice() {
                [] => vec![line.clone()],
                modems => modems.iter().filter(has_none).cloned().collect(),
            };
            found.extend(self.target(&line, &line, further));
            for modem in &modems {
                found.extend(self.target(&line, modem, vec![modem.clone()]));
            }
        }
        found
    }

    fn target(&self, line: &str, table: &str, further: Vec<String>) -> Option<Target> {
        let key = format!("{table}.config");
        let file = self.at(&key)?.as_str()?.to_owned();
        let is_override = self.is_overridden(&key);
        let is_read = self.at(&format!("{table}.config_read")) == Some(&Value::Bool(true));
        (is_override || !is_read).then(|| Target {
            line: line.to_owned(),
            table: table.to_owned(),
            file,
            is_override,
            further,
        })
    }

    /// The generation of a line; the default if it makes no sense, which is found later.
    fn preset(&self, line: &str) -> Preset {
        let written = self.at(&format!("{line}.preset")).cloned();
        let preset = written.and_then(|preset| serde_json::from_value(preset).ok());
        preset.unwrap_or_default()
    }

    /// Whether an override has written the value at `path`, or a table around it.
    pub(super) fn is_set_whole(&self, path: &str) -> bool {
        let holds = |other: &String| other == path || is_inside(path, other);
        self.overridden.iter().any(holds)
    }

    /// Whether an override has written the value at `path`, a part of it, or a table around it.
    pub(super) fn is_overridden(&self, path: &str) -> bool {
        self.is_set_whole(path) || self.overridden.iter().any(|other| is_inside(other, path))
    }

    /// Sets a value that a file gives. Where something else than a table is in its way, nothing
    /// happens: that is found later.
    pub(super) fn set(&mut self, path: &str, value: Value, place: Option<Place>) {
        let (around, key) = path.rsplit_once('.').unwrap_or(("", path));
        let table = around.split('.').try_fold(&mut self.tree, |tree, key| {
            let entries = tree.as_object_mut()?;
            Some(entries.entry(key).or_insert_with(|| json!({})))
        });
        let Some(table) = table.and_then(Value::as_object_mut) else {
            return;
        };
        table.insert(key.to_owned(), value);
        self.places.retain(|other, _| !is_inside(other, path));
        match place {
            Some(place) => self.places.insert(path.to_owned(), place),
            None => self.places.remove(path),
        };
    }

    pub(super) fn remove(&mut self, path: &str) {
        let (around, key) = path.rsplit_once('.').unwrap_or(("", path));
        let pointer = format!("/{}", around.replace('.', "/"));
        let table = self
            .tree
            .pointer_mut(&pointer)
            .and_then(Value::as_object_mut);
        if let Some(table) = table {
            table.shift_remove(key);
        }
        self.places
            .retain(|other, _| other != path && !is_inside(other, path));
    }
}

/// The error of a file, with its place.
fn refuse_file(key: &str, file: &str, error: FileError) -> ScenarioError {
    let place = match error.place {
        Some(place) => format!("{file}: {place}"),
        None => file.to_owned(),
    };
    ScenarioError::invalid(key, error.why).with_origin(Some(Origin::File(place)))
}

/// Keys that are named in a warning.
const MOST_NAMED: usize = 3;

fn sentence_with_keys((sentence, keys): (String, Vec<String>)) -> String {
    let named = keys[..keys.len().min(MOST_NAMED)].join(", ");
    match keys.len() {
        0..=MOST_NAMED => format!("{named}: {sentence}"),
        many => format!("{named} and {} more: {sentence}", many - MOST_NAMED),
    }
}

/// Writes one file's settings into the document.
struct Writer<'a> {
    document: &'a mut Document,
    target: &'a Target,
    preset: Preset,
    /// Keys of the text that the file replaces.
    replaced: Vec<String>,
    /// Keys of the text that go before the file.
    beside: Vec<String>,
    /// What else is to be known.
    notes: Vec<String>,
    queues: &'a mut Vec<FileQueue>,
}

/// Keys of a primary service flow of which a file says all, with what an absent TLV means.
fn defaults(direction: OneWay) -> Vec<(&'static str, Value)> {
    let of_upstream = ["scheduling", "request_policy"];
    let default = Upstream::default();
    let all = [
        ("rate", json!("unlimited")),
        ("peak", json!("unlimited")),
        ("burst", json!(default.burst)),
        ("minimum_reserved", json!(Rate(0))),
        ("priority", json!(default.priority)),
        ("aqm_disabled", json!(default.aqm_disabled)),
        ("scheduling", json!(default.scheduling)),
        ("request_policy", json!(default.request_policy)),
    ];
    let is_known = |key: &str| direction == OneWay::Up || !of_upstream.contains(&key);
    all.into_iter().filter(|(key, _)| is_known(key)).collect()
}

/// Keys that a service class may give besides, which no file has.
const OF_CLASS: [&str; 4] = ["peak_burst", "dequeue_at", "ack_acceleration", "queue"];

impl Writer<'_> {
    fn write(&mut self, file: ModemFile) -> Result<(), ScenarioError> {
        self.notes = file.notes;
        if file.flows.iter().any(|flow| flow.direction == OneWay::Up) {
            let key = "upstream_aqm_disabled";
            let (value, place) = match file.upstream_aqm_disabled {
                Some((value, place)) => (Some(json!(value)), place),
                None => (None, TlvPlace::default()),
            };
            self.primary(key, value, &json!(false), Some(&place));
        }
        let mut has_primary = [false; 2];
        let mut further = Vec::new();
        for flow in file.flows {
            let direction = flow.direction.index();
            let keys = self.keys_of(&flow)?;
            if std::mem::replace(&mut has_primary[direction], true) {
                further.push((flow, keys));
            } else {
                self.write_primary(&flow, &keys, file.default_buffer.as_ref());
            }
        }
        self.leave_out("service_flow", |direction| has_primary[direction.index()]);
        self.leave_out("drop", |_| has_primary[0]);
        let mut names: Vec<String> = Vec::new();
        for (flow, keys) in further {
            let name = name_of(&flow, &names);
            for table in self.target.further.clone() {
                let path = format!("{table}.service_flow.{name}");
                self.write_further(&path, &flow, &keys, file.default_buffer.as_ref());
            }
            names.push(name);
        }
        for (name, classifier, place) in file.drops {
            for table in self.target.further.clone() {
                let path = format!("{table}.drop.{name}");
                self.put(&path, json!(classifier), true, Some(&place));
            }
        }
        Ok(())
    }

    /// The warnings about this file.
    fn sentences(&self) -> Vec<String> {
        let file = &self.target.file;
        let mut found = Vec::new();
        if !self.replaced.is_empty() {
            found.push(format!(
                "the file \"{file}\" replaces {}",
                self.replaced.join(", ")
            ));
        }
        if !self.beside.is_empty() {
            found.push(format!(
                "keys of the scenario go before the file \"{file}\": {}",
                self.beside.join(", ")
            ));
        }
        if !self.notes.is_empty() {
            found.push(format!("of the file \"{file}\": {}", self.notes.join("; ")));
        }
        found
    }

    /// The values that a file gives a service flow by its keys, on those of its service class. Each
    /// has its place in the file, unless it is the class's.
    fn keys_of(
        &mut self,
        flow: &FileFlow,
    ) -> Result<BTreeMap<String, (Value, Option<TlvPlace>)>, ScenarioError> {
        let mut keys = BTreeMap::new();
        if let Some((name, place)) = &flow.class {
            for (key, value) in self.class(name, place, flow.direction)? {
                keys.insert(key, (value, None));
            }
        }
        let Value::Object(own) = json!(flow.keys) else {
            unreachable!("keys are a table")
        };
        for (key, value) in own {
            let place = flow.places.get(key.as_str()).cloned();
            keys.insert(key, (value, place));
        }
        Ok(keys)
    }

    /// The keys that a service class gives service flows of a direction.
    fn class(
        &self,
        name: &str,
        place: &TlvPlace,
        direction: OneWay,
    ) -> Result<Map<String, Value>, ScenarioError> {
        let path = format!("{}.service_class", self.target.line);
        let classes = self.document.at(&path).and_then(Value::as_object);
        let wanted = scenario_name(name);
        let found = classes.and_then(|classes| classes.get(name).or_else(|| classes.get(&wanted)));
        let Some(class) = found else {
            let known = classes.into_iter().flat_map(Map::keys).cloned().collect();
            let problem = Problem::UnknownName {
                what: "service class".to_owned(),
                name: name.to_owned(),
                known,
            };
            let why = format!(
                "{problem}; the file leaves its rates and buffer to the class, which stands in {path}.{wanted}"
            );
            let key = format!("{}.config", self.target.table);
            return Err(refuse_file(
                &key,
                &self.target.file,
                FileError {
                    place: Some(place.clone()),
                    why,
                },
            ));
        };
        let keys = class.get(format!("{}stream", direction.name()));
        let mut keys = keys.and_then(Value::as_object).cloned().unwrap_or_default();
        if direction == OneWay::Up && class.get("upstream_aqm_disabled") == Some(&json!(true)) {
            keys.insert("aqm_disabled".to_owned(), json!(true));
        }
        Ok(keys)
    }

    fn write_primary(
        &mut self,
        flow: &FileFlow,
        keys: &BTreeMap<String, (Value, Option<TlvPlace>)>,
        default_buffer: Option<&(Duration, TlvPlace)>,
    ) {
        let table = format!("{}stream", flow.direction.name());
        for (key, default) in defaults(flow.direction) {
            let (value, place) = match keys.get(key) {
                Some((value, place)) => (Some(value.clone()), place.as_ref()),
                None => (None, None),
            };
            self.primary(&format!("{table}.{key}"), value, &default, place);
        }
        let path = format!("{}.{table}", self.target.table);
        for key in OF_CLASS {
            if let Some((value, _)) = keys.get(key) {
                self.put(&format!("{path}.{key}"), value.clone(), true, None);
            }
        }
        let base = self.queue_around(&table);
        self.configure_queue(&path, flow, base, default_buffer);
    }

    /// The queue of a primary service flow where the modem has none of its own.
    fn queue_around(&self, table: &str) -> Value {
        let Target {
            line, table: own, ..
        } = self.target;
        let class = self.document.at(&format!("{own}.service_class"));
        let class = class.and_then(Value::as_str).map(|class| {
            (self.document).at(&format!("{line}.service_class.{class}.{table}.queue"))
        });
        let of_line = || self.document.at(&format!("{line}.{table}.queue"));
        let written = class.flatten().or_else(of_line).cloned();
        written.unwrap_or_else(|| match table {
            "upstream" => json!(modem_queue(self.preset)),
            _ => json!(crate::scenario::queue::Queue::default()),
        })
    }

    fn write_further(
        &mut self,
        path: &str,
        flow: &FileFlow,
        keys: &BTreeMap<String, (Value, Option<TlvPlace>)>,
        default_buffer: Option<&(Duration, TlvPlace)>,
    ) {
        if self.document.at(path).is_none() {
            let place = self.place(&flow.place);
            self.document.set(path, json!({}), Some(place));
        }
        self.put(
            &format!("{path}.direction"),
            json!(flow.direction),
            true,
            Some(&flow.place),
        );
        let classifiers = flow
            .classifiers
            .iter()
            .map(|(classifier, _)| classifier.clone());
        let several = Several(classifiers.collect());
        let first = flow.classifiers.first().map(|(_, place)| place);
        let path_of_match = format!("{path}.match");
        self.put(&path_of_match, json!(several), true, first);
        if flow.classifiers.len() > 1 {
            for (index, (_, place)) in flow.classifiers.iter().enumerate() {
                let place = self.place(place);
                self.document
                    .places
                    .insert(format!("{path_of_match}[{index}]"), place);
            }
        }
        for (key, (value, place)) in keys {
            self.put(
                &format!("{path}.{key}"),
                value.clone(),
                true,
                place.as_ref(),
            );
        }
        let written = self.document.at(path).cloned();
        let typed = written.and_then(|flow| serde_json::from_value::<ServiceFlow>(flow).ok());
        if let Some(typed) = typed {
            let base = json!(default_queue(self.preset, &typed));
            self.configure_queue(path, flow, base, default_buffer);
        }
    }

    /// Gives the queue of the service flow at `path` the buffer and the AQM of the file.
    fn configure_queue(
        &mut self,
        path: &str,
        flow: &FileFlow,
        base: Value,
        default_buffer: Option<&(Duration, TlvPlace)>,
    ) {
        let default = default_buffer.filter(|_| flow.direction == OneWay::Up);
        let buffer = match (&flow.buffer, default) {
            (Some((buffer, place)), default) => {
                let mut buffer = *buffer;
                if let (None, Some((span, _))) = (buffer.target, default) {
                    buffer.target = self.bytes_in(path, *span);
                }
                Some((Size::Control(buffer), self.place(place)))
            }
            (None, Some((span, place))) => {
                let limit = (self.bytes_in(path, *span)).map_or(Limit::Time(*span), Limit::Bytes);
                Some((Size::Limit(limit), self.place(place)))
            }
            (None, None) => None,
        };
        let law = flow
            .law
            .as_ref()
            .map(|(law, place)| (*law, self.place(place)));
        if buffer.is_none() && law.is_none() {
            return;
        }
        let queue = FileQueue {
            path: format!("{path}.queue"),
            base,
            buffer,
            law,
            is_override: self.target.is_override,
        };
        let short = self.short(&queue.path);
        let outcome = self.document.fill_queue(&queue);
        let named = |changes: Vec<String>| -> Vec<String> {
            changes
                .into_iter()
                .map(|change| format!("{short}{change}"))
                .collect()
        };
        self.replaced.extend(named(outcome.replaced));
        self.beside.extend(named(outcome.beside));
        self.notes.extend(named(outcome.notes));
        self.queues.push(queue);
    }

    /// What the faster of the two rates of the service flow at `path` carries in a time.
    fn bytes_in(&self, path: &str, span: Duration) -> Option<ByteCount> {
        let rate = |key: &str| {
            let value = self.document.at(&format!("{path}.{key}"))?;
            parse_rate(value.as_str()?)
        };
        let fastest = rate("rate").into_iter().chain(rate("peak")).max()?;
        Some(ByteCount(fastest.bytes_in(span)))
    }

    /// Leaves out what the text has of further service flows or drop classifiers in a direction, if
    /// the file takes the place of the text.
    fn leave_out(&mut self, key: &str, is_of_file: impl Fn(OneWay) -> bool) {
        if !self.target.is_override {
            return;
        }
        let tables = std::iter::once(&self.target.table).chain(&self.target.further);
        let tables: std::collections::BTreeSet<String> = tables.cloned().collect();
        for table in tables {
            let entries = self.document.at(&format!("{table}.{key}"));
            let entries = entries.and_then(Value::as_object).into_iter().flatten();
            let is_left_out = |(name, value): &(&String, &Value)| {
                let direction = match value.get("direction").and_then(Value::as_str) {
                    Some("down") => OneWay::Down,
                    _ => OneWay::Up,
                };
                let path = format!("{table}.{key}.{name}");
                is_of_file(direction) && !self.document.is_overridden(&path)
            };
            let paths: Vec<String> = entries
                .filter(is_left_out)
                .map(|(name, _)| format!("{table}.{key}.{name}"))
                .collect();
            for path in paths {
                self.document.remove(&path);
                self.replaced.push(self.short(&path));
            }
        }
    }

    /// Writes a key that each modem has, below the table with the file. Without a value it gets
    /// its default: on a line by leaving it out, at a modem by writing it, as its line may have
    /// another.
    fn primary(
        &mut self,
        key: &str,
        value: Option<Value>,
        default: &Value,
        place: Option<&TlvPlace>,
    ) {
        let path = format!("{}.{key}", self.target.table);
        if let Some(value) = value {
            self.put(&path, value, true, place);
        } else if self.target.table != self.target.line {
            self.put(&path, default.clone(), false, None);
        } else if let Some(found) = self.document.at(&path)
            && self.target.is_override
            && !self.document.is_overridden(&path)
        {
            if !is_same(found, default) {
                self.replaced.push(format!(
                    "{} ({} → {})",
                    self.short(&path),
                    show(found),
                    show(default)
                ));
            }
            self.document.remove(&path);
        }
    }

    /// Writes a value, unless something else goes before it.
    fn put(&mut self, path: &str, value: Value, is_explicit: bool, place: Option<&TlvPlace>) {
        if let Some(found) = self.document.at(path) {
            if is_same(found, &value) || self.document.is_overridden(path) {
                return;
            }
            let short = self.short(path);
            if !self.target.is_override {
                if is_explicit {
                    self.beside
                        .push(format!("{short} ({}, not {})", show(found), show(&value)));
                }
                return;
            }
            self.replaced
                .push(format!("{short} ({} → {})", show(found), show(&value)));
        }
        let place = place.map(|place| self.place(place));
        self.document.set(path, value, place);
    }

    fn place(&self, place: &TlvPlace) -> Place {
        let origin = Origin::File(format!("{}: {place}", self.target.file));
        Place {
            key: origin.clone(),
            value: origin,
        }
    }

    /// A path without the line's.
    fn short(&self, path: &str) -> String {
        let short = path.strip_prefix(&self.target.line).unwrap_or(path);
        short.trim_start_matches('.').to_owned()
    }
}

/// The name of a further service flow: its direction and its reference, or a number that none has.
fn name_of(flow: &FileFlow, names: &[String]) -> String {
    let direction = flow.direction.name();
    if let Some(reference) = flow.reference {
        return format!("{direction}_{reference}");
    }
    let free = |number: &usize| !names.contains(&format!("{direction}_{number}"));
    let number = (2..).find(free).unwrap_or_default();
    format!("{direction}_{number}")
}

/// A service class name of a file as a name of a scenario: that begins with a letter and has
/// letters, digits, "_" and "-".
fn scenario_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return name;
    }
    format!("class_{name}")
}

/// Whether two values of the scenario are the same: `"10 Mbit/s"` is `"10000 kbit/s"`.
fn is_same(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let (Some(one), Some(other)) = (one.as_str(), other.as_str()) else {
        return false;
    };
    fn agree<T: PartialEq>(parse: fn(&str) -> Option<T>, one: &str, other: &str) -> bool {
        parse(one).is_some_and(|one| parse(other) == Some(one))
    }
    agree(parse_rate, one, other)
        || agree(parse_bytes, one, other)
        || agree(parse_duration, one, other)
}

/// A value of the scenario in a sentence.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
