//! Writes one modem's file into a document, where no other value takes precedence.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::queue::{BUFFER_CONTROL, FileQueue, Size, show, split};
use super::{ModemFileRead, Target, refuse_file};
use crate::link::docsis::preset::Preset;
use crate::scenario::cable::modem::modem_file::{
    Aggregate, Buffer, FileError, FileFlow, LIMITS, ModemFile, Pair, TlvPlace,
};
use crate::scenario::cable::{
    Downstream, OneWay, ServiceFlow, Upstream, classic_queue, default_queue, modem_queue,
};
use crate::scenario::document::overrides::is_inside;
use crate::scenario::document::{Document, Override, Place};
use crate::scenario::error::{Origin, Problem, ScenarioError};
use crate::scenario::queue::Queue;
use crate::scenario::span::Several;
use crate::time::Duration;
use crate::units::MaximumRate;
use crate::units::{ByteCount, Limit, Rate, parse_bytes, parse_duration, parse_rate};

/// Writes one file's settings into the document.
pub(super) struct Writer<'a> {
    document: &'a mut Document,
    target: &'a Target,
    preset: Preset,
    /// Overrides of names that only files have: they are put in place after the files.
    of_files: &'a [Override],
    /// Keys of the text that the file replaces.
    replaced: Vec<String>,
    /// Keys of the text that take precedence over the file.
    beside: Vec<String>,
    /// Keys that stay as a file that was read before has them.
    kept: Vec<String>,
    /// What else is to be known.
    notes: Vec<String>,
    queues: &'a mut Vec<FileQueue>,
}

/// Keys of a primary service flow that a file sets completely, with the values that absent TLVs
/// stand for.
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

/// Further keys of a primary service flow. They stay the scenario's unless the file or its service
/// class gives them.
const FURTHER_KEYS: [&str; 5] = [
    "peak_burst",
    "dequeue_at",
    "ack_acceleration",
    "latency_histogram",
    "queue",
];

/// What a low-latency service flow of a file gives the table `low_latency` under the same keys,
/// besides its rate.
const OF_LOW_LATENCY_FLOW: [&str; 4] = [
    "aqm_disabled",
    "latency_histogram",
    "request_policy",
    "scheduling",
];

const IMMEDIATE_AQM: &str = "immediate_aqm";

/// A direction without low latency.
const OFF: &str = "off";

/// Bytes of the least default buffer of a low-latency queue: 20 frames of 2000 B.
const LEAST_LOW_LATENCY_BUFFER: u64 = 40_000;

/// Bytes of the least buffer that a modem offers where the file gives a time: the blocks of 1 KiB
/// that hold one frame.
const LEAST_BUFFER: u64 = 2048;

/// The values of a service flow by its keys, with their places in the file.
type Keys = BTreeMap<String, (Value, Option<TlvPlace>)>;

impl<'a> Writer<'a> {
    pub(super) fn new(
        document: &'a mut Document,
        target: &'a Target,
        preset: Preset,
        of_files: &'a [Override],
        queues: &'a mut Vec<FileQueue>,
    ) -> Self {
        Self {
            document,
            target,
            preset,
            of_files,
            replaced: Vec::new(),
            beside: Vec::new(),
            kept: Vec::new(),
            notes: Vec::new(),
            queues,
        }
    }
}

impl Writer<'_> {
    /// Writes all of it.
    pub(super) fn write(&mut self, mut file: ModemFile) -> Result<(), ScenarioError> {
        self.notes = std::mem::take(&mut file.notes);
        self.prefer_set_queues(&mut file);
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
        let mut members = vec![Members::default(); file.aggregates.len()];
        for flow in file.flows {
            let direction = flow.direction.index();
            let mut keys = self.keys_of(&flow)?;
            self.limit_by_aggregate(&flow, &mut keys, &file.aggregates, &mut members);
            if std::mem::replace(&mut has_primary[direction], true) {
                further.push((flow, keys));
            } else {
                self.write_primary(&flow, keys, file.default_buffer.as_ref())?;
            }
        }
        let aggregates = file.aggregates.iter().zip(members);
        self.notes
            .extend(aggregates.map(|(aggregate, members)| say_aggregate(aggregate, members)));
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

    /// Takes "AQM disabled" (TLVs 40.1 and 76) from the service flows whose queue an override
    /// writes: it goes before the file.
    fn prefer_set_queues(&mut self, file: &mut ModemFile) {
        let paths = self.flow_paths(&file.flows);
        let is_set: Vec<bool> = paths.iter().map(|path| self.is_queue_set(path)).collect();
        let of_upstream = |flow: &FileFlow| flow.direction == OneWay::Up;
        let is_any_upstream =
            (file.flows.iter().zip(&is_set)).any(|(flow, is_set)| *is_set && of_upstream(flow));
        if is_any_upstream && let Some((true, place)) = file.upstream_aqm_disabled.clone() {
            // The others have it each on its own.
            file.upstream_aqm_disabled = None;
            let disable = |flow: &mut FileFlow| {
                flow.keys.aqm_disabled = Some(true);
                flow.places.insert("aqm_disabled", place.clone());
            };
            for flow in file.flows.iter_mut().filter(|flow| of_upstream(flow)) {
                let low = flow.pair.as_mut().map(|pair| &mut pair.low);
                low.into_iter().for_each(disable);
                disable(flow);
            }
        }
        for ((flow, path), is_set) in file.flows.iter_mut().zip(&paths).zip(is_set) {
            if !is_set || flow.keys.aqm_disabled != Some(true) {
                continue;
            }
            flow.keys.aqm_disabled = None;
            if let Some(place) = flow.places.remove("aqm_disabled") {
                self.notes.push(format!(
                    "{place} is not used: an override of {}.queue goes before it",
                    self.short(path)
                ));
            }
        }
    }

    /// The paths of the service flows of a file; of one that several modems get, the first.
    fn flow_paths(&self, flows: &[FileFlow]) -> Vec<String> {
        let mut has_primary = [false; 2];
        let mut names = Vec::new();
        let mut paths = Vec::new();
        for flow in flows {
            let direction = flow.direction;
            paths.push(
                if std::mem::replace(&mut has_primary[direction.index()], true) {
                    let name = name_of(flow, &names);
                    let table = self.target.further.first().unwrap_or(&self.target.table);
                    let path = format!("{table}.service_flow.{name}");
                    names.push(name);
                    path
                } else {
                    format!("{}.{}stream", self.target.table, direction.name())
                },
            );
        }
        paths
    }

    /// Whether an override writes the queue of the service flow at `path`, at the modem or, where
    /// the modem has none, at its line.
    fn is_queue_set(&self, path: &str) -> bool {
        let own = format!("{path}.queue");
        let is_later = |(other, _): &Override| {
            *other == own || is_inside(other, &own) || is_inside(&own, other)
        };
        if self.document.is_overridden(&own) || self.of_files.iter().any(is_later) {
            return true;
        }
        let of_line = (path.strip_prefix(&self.target.table))
            .filter(|below| *below == ".upstream" || *below == ".downstream")
            .map(|below| format!("{}{below}.queue", self.target.line));
        of_line.is_some_and(|of_line| {
            self.document.at(&own).is_none() && self.document.is_overridden(&of_line)
        })
    }

    /// Whether the service flow at `path` has no AQM, as the keys say it.
    fn is_aqm_disabled(&self, path: &str, direction: OneWay) -> bool {
        let Target { line, table, .. } = self.target;
        let says = |key: String| self.document.at(&key).and_then(Value::as_bool);
        let of_modem = || {
            let key = "upstream_aqm_disabled";
            says(format!("{table}.{key}")).or_else(|| says(format!("{line}.{key}")))
        };
        says(format!("{path}.aqm_disabled")) == Some(true)
            || direction == OneWay::Up && of_modem() == Some(true)
    }

    /// The warnings about this file.
    pub(super) fn sentences(&self) -> Vec<String> {
        let file = &self.target.file;
        let mut found = Vec::new();
        found.extend(self.many_modems());
        if !self.replaced.is_empty() {
            found.push(format!(
                "the file \"{file}\" replaces {}",
                join(&self.replaced, ", ", MOST_REPLACED)
            ));
        }
        if !self.beside.is_empty() {
            found.push(format!(
                "keys of the scenario or of --set go before the file \"{file}\": {}",
                join(&self.beside, ", ", MOST_SAID)
            ));
        }
        if !self.kept.is_empty() {
            found.push(format!(
                "the scenario has read another file before, and the file \"{file}\" leaves open \
                 what may be of that: {}",
                join(&self.kept, ", ", MOST_SAID)
            ));
        }
        if !self.notes.is_empty() {
            found.push(format!(
                "of the file \"{file}\": {}",
                join(&self.notes, "; ", MOST_SAID)
            ));
        }
        found
    }

    /// The effects of this file, which `key` names. The keys that it set are listed later.
    pub(super) fn into_read(self, key: &str) -> ModemFileRead {
        ModemFileRead {
            key: key.to_owned(),
            file: self.target.file.clone(),
            set: Vec::new(),
            more: 0,
            replaced: self.replaced,
            kept: self.beside,
            notes: self.notes,
        }
    }

    /// Whether a value equals its default, and no line of the text sets it. Resolved scenarios have
    /// every default written out.
    fn is_default(&self, path: &str, found: &Value) -> bool {
        let of_text = |place: &Place| matches!(place.value, Origin::Text { .. });
        if self.document.places.get(path).is_some_and(of_text) {
            return false;
        }
        let key = path.strip_prefix(&self.target.table).unwrap_or(path);
        let default = match key.split('.').collect::<Vec<_>>()[..] {
            ["", "upstream", key] => json!(Upstream::default()).get(key).cloned(),
            ["", "downstream", key] => json!(Downstream::default()).get(key).cloned(),
            ["", "upstream_aqm_disabled"] => Some(json!(false)),
            _ => None,
        };
        default.is_some_and(|default| is_same(found, &default))
    }

    /// Says that an override names one file for several modems.
    fn many_modems(&self) -> Option<String> {
        let Target {
            line,
            table,
            file,
            further,
            is_override,
            ..
        } = self.target;
        let tables = if table == line {
            further.as_slice()
        } else {
            std::slice::from_ref(table)
        };
        let count = |table: &String| {
            let count = self.document.at(&format!("{table}.count"));
            count.and_then(Value::as_u64).unwrap_or(1)
        };
        let modems: u64 = tables.iter().map(count).sum();
        if !is_override || modems < 2 {
            return None;
        }
        let has_classes = |table: &String| {
            let has = |key: &str| self.document.at(&format!("{table}.{key}")).is_some();
            has("mix") || has("service_class")
        };
        let classes = if tables.iter().any(has_classes) {
            ", whose service classes give only what no file says"
        } else {
            ""
        };
        Some(format!(
            "the file \"{file}\" configures all {modems} modems{classes}"
        ))
    }

    /// The values that a file gives a service flow by its keys, on those of its service class. Each
    /// has its place in the file, unless it is the class's.
    fn keys_of(&mut self, flow: &FileFlow) -> Result<Keys, ScenarioError> {
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

    /// Gives a service flow without a rate of its own the limits of its aggregate.
    fn limit_by_aggregate(
        &mut self,
        flow: &FileFlow,
        keys: &mut Keys,
        aggregates: &[Aggregate],
        members: &mut [Members],
    ) {
        let Some((reference, place)) = &flow.aggregate else {
            return;
        };
        let is_its = |aggregate: &Aggregate| {
            aggregate.direction == flow.direction && aggregate.reference == Some(*reference)
        };
        let Some(found) = aggregates.iter().position(is_its) else {
            self.notes.push(format!(
                "{place}: no {}stream aggregate of the file has the reference {reference}",
                flow.direction.name()
            ));
            return;
        };
        let (aggregate, members) = (&aggregates[found], &mut members[found]);
        members.all += 1;
        let is_open = |keys: &Keys, key: &str| {
            let found = keys.get(key);
            found.is_none_or(|(value, _)| *value == json!(MaximumRate::Unlimited))
        };
        if !is_open(keys, "rate") || aggregate.limit().is_none() {
            return;
        }
        members.limited += 1;
        for (key, given) in given_by(aggregate) {
            if LIMITS.contains(&key.as_str()) && is_open(keys, &key) {
                keys.insert(key, given);
            }
        }
    }

    /// The table `low_latency` of an aggregate with low latency. The limits in `keys`, of the
    /// classic service flow, become those of the aggregate.
    fn join_pair(&mut self, pair: &Pair, keys: &mut Keys) -> Result<Keys, ScenarioError> {
        let Pair { aggregate, low } = pair;
        // A rate above the aggregate's limits nothing.
        let is_limit = |(value, _): &(Value, Option<TlvPlace>)| {
            let rate = value.as_str().and_then(parse_rate);
            rate.is_some_and(|rate| aggregate.limit().is_none_or(|limit| rate <= limit))
        };
        let [classic_rate, _, _] = LIMITS.map(|key| keys.remove(key));
        keys.extend(given_by(aggregate));
        let mut of_low = self.keys_of(low)?;
        let of_class = of_low.remove("queue");
        let mut found = Keys::new();
        if let Some((Value::Object(queue), _)) = of_class
            && let Some(Value::Object(parameters)) = queue.get(IMMEDIATE_AQM)
        {
            let parameters = parameters.clone().into_iter();
            found.extend(parameters.map(|(key, value)| (key, (value, None))));
        }
        let encodings = aggregate.low_latency.iter().flat_map(|one| &one.keys);
        for (key, (value, place)) in encodings.chain(&low.ramp) {
            found.insert((*key).to_owned(), (value.clone(), Some(place.clone())));
        }
        let rate = of_low.remove("rate").filter(is_limit);
        let own = OF_LOW_LATENCY_FLOW.map(|key| (key, of_low.remove(key)));
        let limit = low_latency_limit(pair).map(|(limit, place)| (json!(limit), Some(place)));
        let classifiers = low.classifiers.iter();
        let classifiers = classifiers.map(|(classifier, _)| classifier.clone());
        let classifiers = (low.classifiers.first())
            .map(|(_, place)| (json!(Several(classifiers.collect())), Some(place.clone())));
        let given = [
            ("classic_rate", classic_rate.filter(is_limit)),
            ("rate", rate),
            ("limit", limit),
            ("match", classifiers),
        ];
        for (key, value) in given.into_iter().chain(own) {
            found.extend(value.map(|value| (key.to_owned(), value)));
        }
        Ok(found)
    }

    /// Writes the table `low_latency` of a primary service flow. A file without one for a direction
    /// has no low latency there.
    fn write_low_latency(&mut self, table: &str, keys: &Keys, found: Option<(&Keys, &TlvPlace)>) {
        const KEY: &str = "low_latency";
        let Target {
            line, table: own, ..
        } = self.target;
        let path = format!("{own}.{table}.{KEY}");
        if let Some((found, place)) = found {
            let mut whole = Map::new();
            for (key, (value, _)) in found {
                insert(&mut whole, key, value.clone());
            }
            self.put_each(&path, Value::Object(whole), place);
            for (key, (value, place)) in found {
                let path = format!("{path}.{key}");
                if let Some(place) = place
                    && self.document.at(&path) == Some(value)
                    && !self.document.is_overridden(&path)
                {
                    let place = self.place(place);
                    self.document.places.insert(path, place);
                }
            }
            return;
        }
        if let Some((value, _)) = keys.get(KEY) {
            self.put(&path, value.clone(), true, None);
            return;
        }
        let of_line = self.document.at(&format!("{line}.{table}.{KEY}"));
        if own != line && (of_line.is_some() || self.has_class_with(table, KEY)) {
            self.put(&path, json!(OFF), false, None);
        } else if let Some(written) = self.document.at(&path)
            && self.target.is_override
            && !self.document.is_overridden(&path)
        {
            if *written != json!(OFF) {
                let replaced = format!("{} ({} → {OFF})", self.short(&path), show(written));
                self.replaced.push(replaced);
            }
            self.document.remove(&path);
        }
    }

    /// Writes a table. Keys that the text has in the same table go before the file's, each on its
    /// own.
    fn put_each(&mut self, path: &str, value: Value, place: &TlvPlace) {
        let has_table = self.document.at(path).is_some_and(Value::is_object);
        if let (true, false, Value::Object(parts)) = (has_table, self.target.is_override, &value) {
            for (key, part) in parts {
                self.put_each(&format!("{path}.{key}"), part.clone(), place);
            }
        } else {
            self.put(path, value, true, Some(place));
        }
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
            let why = format!("{problem}; its keys would be in service_class.{wanted}");
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
        mut keys: Keys,
        default_buffer: Option<&(Duration, TlvPlace)>,
    ) -> Result<(), ScenarioError> {
        let table = format!("{}stream", flow.direction.name());
        let low_latency = match &flow.pair {
            Some(pair) => Some((self.join_pair(pair, &mut keys)?, &pair.aggregate.place)),
            None => None,
        };
        for (key, default) in defaults(flow.direction) {
            let (value, place) = match keys.get(key) {
                Some((value, place)) => (Some(value.clone()), place.as_ref()),
                None => (None, None),
            };
            self.primary(&format!("{table}.{key}"), value, &default, place);
        }
        let path = format!("{}.{table}", self.target.table);
        for key in FURTHER_KEYS {
            if let Some((value, place)) = keys.get(key) {
                self.put(
                    &format!("{path}.{key}"),
                    value.clone(),
                    true,
                    place.as_ref(),
                );
            } else {
                self.keep_scenarios(flow, key);
            }
        }
        let low_latency = low_latency.as_ref().map(|(found, place)| (found, *place));
        self.write_low_latency(&table, &keys, low_latency);
        let base = self.queue_around(&table);
        let unsaid = self.queue_unsaid(&table);
        self.configure_queue(&path, flow, base, &unsaid, default_buffer);
        Ok(())
    }

    /// Keeps a key that the file does not give as the scenario has it: not as the file of the
    /// modem's line, in whose place the modem's own is, or a file that was read before.
    fn keep_scenarios(&mut self, flow: &FileFlow, key: &str) {
        let Target { line, table, .. } = self.target;
        let around = format!("{}stream", flow.direction.name());
        let path = format!("{table}.{around}.{key}");
        let of_line = format!("{line}.{around}.{key}");
        if self.document.at(&path).is_some() {
            let is_left_open =
                key == "latency_histogram" || key == "queue" && flow.buffer.is_none();
            if is_left_open && self.target.is_exchanged && !self.document.is_overridden(&path) {
                self.kept.push(self.short(&path));
            }
            return;
        }
        let Some(before) = &self.target.line_before else {
            return;
        };
        let before = before[flow.direction.index()].get(key).cloned();
        if self.document.at(&of_line) == before.as_ref() || self.has_class_with(&around, key) {
            return;
        }
        let default = Upstream::default();
        let value = before.unwrap_or_else(|| match key {
            "peak_burst" => json!(default.peak_burst),
            "dequeue_at" => json!(default.dequeue_at),
            "ack_acceleration" => json!(default.ack_acceleration),
            "latency_histogram" => json!([]),
            _ => self.queue_around(&around),
        });
        self.document.set(&path, value, None);
    }

    /// Whether a service class of the modem gives a key: the class goes before the line.
    fn has_class_with(&self, table: &str, key: &str) -> bool {
        let Target {
            line, table: own, ..
        } = self.target;
        let class = self.document.at(&format!("{own}.service_class"));
        let mix = self.document.at(&format!("{own}.mix"));
        let of_mix = mix.and_then(Value::as_object).into_iter();
        let mut classes = (class.and_then(Value::as_str).into_iter())
            .chain(of_mix.flat_map(Map::keys).map(String::as_str));
        classes.any(|class| {
            let path = format!("{line}.service_class.{class}.{table}.{key}");
            self.document.at(&path).is_some()
        })
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
        let before = self.target.line_before.as_ref();
        let before = before.map(|before| &before[usize::from(table != "upstream")]);
        let of_line = || match before {
            Some(before) => before.get("queue"),
            None => self.document.at(&format!("{line}.{table}.queue")),
        };
        let written = class.flatten().or_else(of_line).cloned();
        written.unwrap_or_else(|| json!(self.queue_unsaid(table)))
    }

    /// The queue of a primary service flow where nobody sets one.
    fn queue_unsaid(&self, table: &str) -> Queue {
        let Target {
            line, table: own, ..
        } = self.target;
        let low_latency = [own, line]
            .into_iter()
            .find_map(|place| self.document.at(&format!("{place}.{table}.low_latency")));
        let has_low_latency = low_latency.is_some_and(|value| value != "off");
        match table {
            _ if has_low_latency => classic_queue(),
            "upstream" => modem_queue(self.preset),
            _ => Queue::default(),
        }
    }

    fn write_further(
        &mut self,
        path: &str,
        flow: &FileFlow,
        keys: &Keys,
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
            let unsaid = default_queue(self.preset, &typed);
            self.configure_queue(path, flow, json!(unsaid), &unsaid, default_buffer);
        }
    }

    /// Gives the queue of the service flow at `path` the buffer and the AQM of the file.
    fn configure_queue(
        &mut self,
        path: &str,
        flow: &FileFlow,
        base: Value,
        unsaid: &Queue,
        default_buffer: Option<&(Duration, TlvPlace)>,
    ) {
        // Grants of a fixed size have no rate of which the default could be a time.
        let grants = self.document.at(&format!("{path}.scheduling.ugs"));
        let has_default = flow.direction == OneWay::Up && grants.is_none();
        let default = default_buffer.filter(|_| has_default);
        let buffer = match (&flow.buffer, default) {
            (Some((buffer, place)), default) => {
                let mut buffer = *buffer;
                if let (None, Some((span, _))) = (buffer.target, default) {
                    let (bytes, _) = self.default_bytes(path, flow, *span);
                    buffer.target = bytes.map(|bytes| buffer.bound(bytes));
                }
                let says_something = buffer != Buffer::default();
                says_something.then(|| (Size::Control(buffer), self.place(place)))
            }
            (None, Some((span, place))) => {
                let (bytes, is_in_bytes) = self.default_bytes(path, flow, *span);
                let size = Size::Default {
                    span: *span,
                    bytes,
                    is_in_bytes,
                };
                Some((size, self.place(place)))
            }
            (None, None) => None,
        };
        let law = flow
            .law
            .as_ref()
            .map(|(law, place)| (*law, self.place(place)));
        let is_aqm_disabled = self.is_aqm_disabled(path, flow.direction);
        if buffer.is_none() && (law.is_none() || is_aqm_disabled) {
            self.note_kept_buffer(path, flow);
        }
        if buffer.is_none() && law.is_none() {
            return;
        }
        let [sustained, _] = self.rates(path, flow);
        let queue = FileQueue {
            path: format!("{path}.queue"),
            base,
            unsaid: unsaid.0.written_limit(),
            rate: sustained,
            buffer,
            law,
            is_aqm_disabled,
            is_set: self.is_queue_set(path),
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

    /// Says that an upstream queue keeps the buffer that the scenario writes, where the file gives
    /// none: `headend config show` has the specification's default in its place.
    fn note_kept_buffer(&mut self, path: &str, flow: &FileFlow) {
        if flow.direction == OneWay::Down || self.is_queue_set(path) {
            return;
        }
        let own = self.document.at(&format!("{path}.queue"));
        let is_primary = path.strip_prefix(&self.target.table) == Some(".upstream");
        let of_line = || {
            let line = is_primary.then_some(&self.target.line)?;
            self.document.at(&format!("{line}.upstream.queue"))
        };
        let written = own.or_else(of_line).and_then(split);
        let size = written.and_then(|(kind, parameters)| {
            let key = if kind == BUFFER_CONTROL {
                "target"
            } else {
                "limit"
            };
            parameters.get(key).map(show)
        });
        if let Some(size) = size {
            self.notes.push(format!(
                "{} sets no buffer: the scenario's {size} stays",
                flow.place
            ));
        }
    }

    /// The sustained and the peak rate of the service flow at `path`. The classic service flow of
    /// an aggregate has its own, or else the aggregate's sustained one.
    fn rates(&self, path: &str, flow: &FileFlow) -> [Option<Rate>; 2] {
        let rate = |key: &str| {
            let value = self.document.at(&format!("{path}.{key}"))?;
            parse_rate(value.as_str()?)
        };
        if flow.pair.is_none() {
            return ["rate", "peak"].map(rate);
        }
        let [own, peak] =
            [flow.keys.rate, flow.keys.peak].map(|limit| limit.and_then(MaximumRate::limit));
        let own = own.or_else(|| rate("low_latency.classic_rate"));
        let own = own.or_else(|| rate("rate").filter(|_| peak.is_none()));
        [own, peak]
    }

    /// What the faster of the two rates of the service flow at `path` carries in a time, but room
    /// for a packet at least, and whether that is another size than the time at the sustained rate.
    fn default_bytes(
        &self,
        path: &str,
        flow: &FileFlow,
        span: Duration,
    ) -> (Option<ByteCount>, bool) {
        let [sustained, peak] = self.rates(path, flow);
        let carried = sustained.max(peak).map(|rate| rate.bytes_in(span));
        let is_too_small = carried.is_some_and(|bytes| bytes < LEAST_BUFFER);
        let bytes = carried.map(|bytes| ByteCount(bytes.max(LEAST_BUFFER)));
        (bytes, peak > sustained || is_too_small)
    }

    /// Removes the text's further service flows or drop classifiers in a direction, if the file
    /// replaces the text.
    fn leave_out(&mut self, key: &str, is_of_file: impl Fn(OneWay) -> bool) {
        if !self.target.is_override {
            return;
        }
        let tables = std::iter::once(&self.target.table).chain(&self.target.further);
        let tables: BTreeSet<String> = tables.cloned().collect();
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
                self.replaced
                    .push(format!("{} (left out)", self.short(&path)));
            }
        }
    }

    /// Writes a key that each modem has, below the table with the file. Without a value the key
    /// gets its default. A line gets the default by leaving the key out. A modem gets it by writing
    /// the key, because its line may have another value.
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
            if !is_same(found, default) && !self.is_default(&path, found) {
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

    /// Writes a value, unless another value takes precedence.
    fn put(&mut self, path: &str, value: Value, is_explicit: bool, place: Option<&TlvPlace>) {
        if let (Some(Value::Object(found)), Value::Object(parts)) = (self.document.at(path), &value)
            && self.document.is_overridden(path)
            && !self.document.is_set_whole(path)
            && found.keys().all(|key| parts.contains_key(key))
        {
            // An override has written a part of it only.
            for (key, part) in parts.clone() {
                self.put(&format!("{path}.{key}"), part, is_explicit, place);
            }
            return;
        }
        if let Some(found) = self.document.at(path) {
            if self.document.is_overridden(path) {
                return;
            }
            if is_same(found, &value) {
                if let Some(place) = place.filter(|_| self.target.is_override) {
                    let place = self.place(place);
                    self.document.places.insert(path.to_owned(), place);
                }
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
            if !self.is_default(path, found) {
                self.replaced
                    .push(format!("{short} ({} → {})", show(found), show(&value)));
            }
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

    /// A path without that of the line.
    fn short(&self, path: &str) -> String {
        let short = path.strip_prefix(&self.target.line).unwrap_or(path);
        short.trim_start_matches('.').to_owned()
    }
}

/// How many service flows an aggregate has, and how many of them have its limits.
#[derive(Debug, Clone, Copy, Default)]
struct Members {
    all: usize,
    limited: usize,
}

/// What a run makes of an aggregate whose service flows run apart.
fn say_aggregate(aggregate: &Aggregate, members: Members) -> String {
    let place = &aggregate.place;
    if members.all == 0 && aggregate.obstacle.is_none() {
        return format!("{place}: no service flow of the file refers to it: not simulated");
    }
    let low_latency = match &aggregate.obstacle {
        Some(why) => format!(", nor is its low latency: {why}"),
        None => String::new(),
    };
    match aggregate.limit() {
        Some(rate) if members.limited > 0 => format!(
            "{place}: each of its service flows without a rate of its own gets the aggregate's \
             {rate}; that they share it is not simulated{low_latency}"
        ),
        _ => format!("{place}: that its service flows share limits is not simulated{low_latency}"),
    }
}

/// The values of an aggregate by their keys.
fn given_by(aggregate: &Aggregate) -> Keys {
    let Value::Object(given) = json!(aggregate.keys) else {
        unreachable!("keys are a table")
    };
    let of_key = |(key, value): (String, Value)| {
        let place = aggregate.places.get(key.as_str()).cloned();
        (key, (value, place))
    };
    given.into_iter().map(of_key).collect()
}

/// The limit of a low-latency queue, if the file gives it: its target buffer, or the default within
/// its bounds.
fn low_latency_limit(pair: &Pair) -> Option<(Limit, TlvPlace)> {
    let (buffer, place) = pair.low.buffer.as_ref()?;
    let default = || {
        let bytes = pair.aggregate.limit()?.bytes_in(Duration::from_millis(10));
        Some(ByteCount(bytes.max(LEAST_LOW_LATENCY_BUFFER)))
    };
    let is_bounded = buffer.minimum.is_some() || buffer.maximum.is_some();
    let size = (buffer.target).or_else(|| default().filter(|_| is_bounded))?;
    Some((Limit::Bytes(buffer.bound(size)), place.clone()))
}

/// Puts a value into a table, below the tables that its key names: `queue_protection.enabled`.
fn insert(table: &mut Map<String, Value>, key: &str, value: Value) {
    let Some((first, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return;
    };
    let inner = table.entry(first).or_insert_with(|| json!({}));
    if let Value::Object(inner) = inner {
        insert(inner, rest, value);
    }
}

/// The name of a further service flow: its direction and its reference, or a number that none has.
fn name_of(flow: &FileFlow, names: &[String]) -> String {
    let direction = flow.direction.name();
    if let Some(reference) = flow.reference {
        return format!("{direction}_{reference}");
    }
    let free = |number: &usize| !names.contains(&format!("{direction}_{number}"));
    let number = (2..=usize::from(u16::MAX)).find(free).unwrap_or_default();
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

/// The most notes in a warning; a longer one would not be read.
const MOST_SAID: usize = 12;

/// The same of keys that a file replaces, which is what a file is for.
const MOST_REPLACED: usize = 4;

fn join(parts: &[String], between: &str, most: usize) -> String {
    let said = parts[..parts.len().min(most)].join(between);
    if parts.len() <= most {
        return said;
    }
    format!("{said}{between}and {} more", parts.len() - most)
}

/// Whether two values of the scenario are the same: `"10 Mbit/s"` is `"10000 kbit/s"`.
fn is_same(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let (Some(one), Some(other)) = (one.as_str(), other.as_str()) else {
        return false;
    };
    agree(parse_rate, one, other)
        || agree(parse_bytes, one, other)
        || agree(parse_duration, one, other)
}

fn agree<T: PartialEq>(parse: fn(&str) -> Option<T>, one: &str, other: &str) -> bool {
    parse(one).is_some_and(|one| parse(other) == Some(one))
}
