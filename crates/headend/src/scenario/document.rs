//! From text and overrides to the raw scenario, with the place of every key and value remembered for errors.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Origin, Problem, ScenarioError};
use super::json;
use super::raw::Raw;
use crate::congestion::CongestionConfig;
use crate::named::Named;
use crate::tcp::Config;
use crate::tcp::systems::System;
use crate::traffic::{ApplicationConfig, presets};
use crate::units::MEANT;

/// How a scenario is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, as results hold it.
    Json,
    /// TOML, as people write it.
    Toml,
}

/// A replacement of one value: its dotted path, and its text.
///
/// The text is a TOML value if it reads as one (`"10 ms"`, `[1, 2]`, `true`), and otherwise stands for itself (`10 ms`, `codel`).
pub type Override = (String, String);

impl Raw {
    /// Reads a scenario as it is written, with `overrides` in place. Whether it makes sense is not asked.
    ///
    /// # Errors
    ///
    /// What keeps it from being read.
    pub fn parse(
        text: &str,
        format: Format,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        Document::read(text, format, overrides)?.to_raw()
    }
}

/// A scenario's text as a tree, and where each of its keys and values stands.
#[derive(Debug)]
pub(super) struct Document {
    tree: Value,
    places: BTreeMap<String, Place>,
}

/// Writes what the names in flows stand for (end systems, browsers, pages), what applications set of TCP, and what the scenario says of all its TCP, where nothing else is written.
fn fill_in_names(tree: &mut Value) {
    let general = tree.get("tcp").and_then(Value::as_object).cloned();
    // What is wrong with it is found where it is written.
    let general = general.filter(|tcp| serde_json::from_value::<Config>(json!(tcp)).is_ok());
    let flows = tree.get_mut("flow").and_then(Value::as_object_mut);
    for flow in flows
        .into_iter()
        .flat_map(Map::values_mut)
        .filter_map(Value::as_object_mut)
    {
        presets::fill_in(flow);
        if let Some(general) = &general {
            fill_in_general(flow, general);
        }
        if let Some(tcp) = flow.get_mut("tcp").and_then(Value::as_object_mut) {
            fill_in_system(tcp);
        }
    }
    if let Some(tcp) = tree.get_mut("tcp").and_then(Value::as_object_mut) {
        fill_in_system(tcp);
    }
}

/// What is said of all TCP, to a flow that has any; one that names a system of its own is another host.
fn fill_in_general(flow: &mut Map<String, Value>, general: &Map<String, Value>) {
    let application = flow.get("application").cloned().unwrap_or_default();
    let application = serde_json::from_value::<Named<ApplicationConfig>>(application);
    if application.is_ok_and(|Named(application)| application.transport() == "tcp")
        && let Some(tcp) = flow
            .entry("tcp")
            .or_insert_with(|| json!({}))
            .as_object_mut()
        && !tcp.contains_key("system")
    {
        for (key, value) in general {
            tcp.entry(key).or_insert_with(|| value.clone());
        }
    }
}

fn fill_in_system(tcp: &mut Map<String, Value>) {
    let system = match tcp.get("system") {
        None => System::default(),
        // A name that nobody has is found when the scenario is read.
        Some(name) => match serde_json::from_value(name.clone()) {
            Ok(system) => system,
            Err(_) => return,
        },
    };
    let mut keys = system.keys();
    let control = control_of(tcp).or_else(|| control_of(&keys));
    let counts_marks = (CongestionConfig::all().iter())
        .any(|of| control.as_deref() == Some(of.name()) && of.counts_marks());
    if counts_marks {
        keys.remove("ecn");
    }
    if tcp.get("sack") == Some(&Value::Bool(false)) {
        // What needs SACK goes with it.
        for (key, without) in [
            ("rack", json!(false)),
            ("dsack", json!(false)),
            ("prr", json!("off")),
        ] {
            keys.insert(key.to_owned(), without);
        }
    }
    for (key, value) in keys {
        tcp.entry(key).or_insert(value);
    }
    if let Some(name) = control
        && let Some(Value::Object(parameters)) = system.controls().remove(&name)
        && let Some(written) = tcp.get_mut("congestion")
    {
        fill_in(written, name, parameters);
    }
}

/// The name of the congestion control among the keys of TCP, `"cubic"` or `{ cubic = { beta = 0.7 } }`.
fn control_of(tcp: &Map<String, Value>) -> Option<String> {
    match tcp.get("congestion") {
        Some(Value::String(name)) => Some(name.clone()),
        Some(Value::Object(named)) => named.keys().next().cloned(),
        _ => None,
    }
}

/// Adds to the control `name` the parameters that are not written.
fn fill_in(written: &mut Value, name: String, parameters: Map<String, Value>) {
    if written.is_string() {
        *written = Value::Object(Map::from_iter([(name, Value::Object(parameters))]));
        return;
    }
    let own = written.get_mut(&name).and_then(Value::as_object_mut);
    if let Some(own) = own {
        for (key, value) in parameters {
            own.entry(key).or_insert(value);
        }
    }
}

/// Where a key and its value stand.
#[derive(Debug, Clone)]
struct Place {
    key: Origin,
    value: Origin,
}

/// Keys in the path of an override, several times those of the deepest place in a scenario.
const MOST_KEYS: usize = 50;

impl Document {
    /// Reads `text`, then puts `overrides` in place one after the other.
    pub(super) fn read(
        text: &str,
        format: Format,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        let mut document = match format {
            Format::Json => Self::from_json(text)?,
            Format::Toml => Self::from_toml(text)?,
        };
        let symmetric = document.links_without_down();
        for (path, value) in overrides {
            document.replace(path, value, read_override(value))?;
        }
        document.complete_down(&symmetric);
        document.refuse_empty_periods()?;
        fill_in_names(&mut document.tree);
        Ok(document)
    }

    fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let lines = Lines::of(text);
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span();
            let origin = span.as_ref().map(|span| lines.origin(span.start));
            let mut what = one_line(error.message());
            if what == "duplicate key" {
                let key = span.and_then(|span| text.get(span)).unwrap_or_default();
                what = format!("the key {key} is there a second time");
            }
            ScenarioError::new(Problem::Syntax(what)).with_origin(origin)
        })?;
        let mut places = BTreeMap::new();
        let tree = from_table(table.get_ref(), "", &lines, &mut places);
        Ok(Self { tree, places })
    }

    fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let tree = json::read(text)?;
        let places = BTreeMap::new();
        Ok(Self { tree, places })
    }

    /// The plain links whose two directions are written once.
    fn links_without_down(&self) -> Vec<String> {
        let links = self.tree.get("link").and_then(Value::as_object);
        (links.into_iter().flatten())
            .filter(|(_, link)| {
                let plain = link.get("point_to_point");
                plain.is_some_and(|plain| plain.get("down").is_none())
            })
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// An override of one key of a direction that is not written leaves the others what they are: those of `up`.
    fn complete_down(&mut self, links: &[String]) {
        for name in links {
            let link = self
                .tree
                .pointer_mut(&format!("/link/{name}/point_to_point"));
            let Some(link) = link.and_then(Value::as_object_mut) else {
                continue;
            };
            let up = link.get("up").and_then(Value::as_object).cloned();
            let down = link.get_mut("down").and_then(Value::as_object_mut);
            if let (Some(up), Some(down)) = (up, down) {
                for (key, value) in up {
                    down.entry(key).or_insert(value);
                }
            }
        }
    }

    /// A list of periods is when a flow is there: one without any says nothing.
    fn refuse_empty_periods(&self) -> Result<(), ScenarioError> {
        let flows = self.tree.get("flow").and_then(Value::as_object);
        let empty = (flows.into_iter().flatten()).find(|(_, flow)| {
            let periods = flow.get("periods").and_then(Value::as_array);
            periods.is_some_and(Vec::is_empty)
        });
        match empty {
            None => Ok(()),
            Some((name, _)) => {
                let why = "expected a period at least, such as [\"5 s\", \"20 s\"], found an empty list; leave it out for a flow that is always there";
                let error = ScenarioError::invalid(format!("flow.{name}.periods"), why);
                Err(self.locate(error))
            }
        }
    }

    /// The typed scenario. Whether it makes sense is checked later.
    pub(super) fn to_raw(&self) -> Result<Raw, ScenarioError> {
        if self.tree.as_object().is_some_and(Map::is_empty) {
            let why = "an empty scenario: it needs a [link…] and a [flow…] at least";
            return Err(ScenarioError::new(Problem::Invalid(why.to_owned())));
        }
        serde_path_to_error::deserialize(&self.tree).map_err(|error| {
            let path = match error.path().to_string() {
                root if root == "." => String::new(),
                path => path,
            };
            self.locate(self.explain(&path, &error.into_inner().to_string()))
        })
    }

    /// The same error with what was found at its key, where it says what is expected there and no more; and with a word where nobody wrote that.
    pub(super) fn echo(&self, error: ScenarioError) -> ScenarioError {
        let (Some(path), Problem::Invalid(why)) = (error.path(), error.problem()) else {
            return error;
        };
        let is_bare = why.starts_with("expected ") && !why.contains("found");
        let found = self
            .at(path)
            .filter(|found| !found.is_object() && !found.is_array());
        let Some(found) = found.filter(|_| is_bare) else {
            return error;
        };
        let is_written = self.places.is_empty() || self.places.contains_key(path);
        let note = if is_written {
            ""
        } else {
            ", which a name here stands for"
        };
        ScenarioError::invalid(path, format!("{why}, found {found}{note}"))
    }

    /// Says where an error's value stands: the innermost table that was written, if the value itself was not.
    pub(super) fn locate(&self, error: ScenarioError) -> ScenarioError {
        let path = error.path().unwrap_or_default();
        let about_key = matches!(error.problem(), Problem::UnknownKey { .. });
        let Some((found, place)) = self.innermost(path) else {
            return error;
        };
        let whole = found == path && !about_key;
        let origin = if whole { &place.value } else { &place.key };
        error.clone().with_origin(Some(origin.clone()))
    }

    /// The override that wrote the value at `path`, as `PATH=VALUE`; none where the text did.
    pub(super) fn set_by(&self, path: &str) -> Option<&str> {
        match &self.innermost(path)?.1.value {
            Origin::Override(text) => Some(text),
            Origin::Text { .. } => None,
        }
    }

    /// The innermost place that was written, of the value at `path` and the tables it is in, with that one's path.
    fn innermost<'a>(&self, mut path: &'a str) -> Option<(&'a str, &Place)> {
        loop {
            if let Some(place) = self.places.get(path) {
                return Some((path, place));
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }

    /// Turns serde's sentence about the value at `path` into a problem.
    fn explain(&self, path: &str, message: &str) -> ScenarioError {
        let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
        if message.starts_with("unknown field") || message.starts_with("unknown variant") {
            let key = quoted.next().unwrap_or_default();
            return self.unknown(path, key, quoted.collect());
        }
        if message.starts_with("missing field") {
            let key = quoted.next().unwrap_or_default();
            return ScenarioError::at(path, Problem::Missing { key });
        }
        let pair = ["invalid type: ", "invalid value: ", "invalid "]
            .iter()
            .find_map(|prefix| message.strip_prefix(prefix))
            .and_then(|rest| rest.split_once(", expected "));
        let key = path.rsplit('.').next().unwrap_or_default();
        let problem = match pair {
            Some((found, "string or map")) => Problem::Unexpected {
                found: plain_found(found),
                expected: self.names_at(path),
            },
            Some((found, "u8")) if key == "dscp" || path.contains(".bands[") => {
                Problem::Unexpected {
                    found: plain_found(found),
                    expected: "a DSCP from 0 to 63".to_owned(),
                }
            }
            Some((found, expected)) => {
                let (expected, meant) =
                    expected.split_at(expected.find(MEANT).unwrap_or(expected.len()));
                Problem::Unexpected {
                    found: plain_found(found) + meant,
                    expected: plain_expected(expected),
                }
            }
            None => Problem::Invalid(one_line(message)),
        };
        ScenarioError::at(path, problem)
    }

    /// What may stand at `path`, where it is one of some names: what is said of a name that nobody has.
    fn names_at(&self, path: &str) -> String {
        let mut tree = self.tree.clone();
        if let Some(value) = tree.pointer_mut(&format!("/{}", path.replace('.', "/"))) {
            *value = Value::String(String::new());
        }
        let error = serde_path_to_error::deserialize::<_, Raw>(&tree).err();
        let message = error.map(|error| error.into_inner().to_string());
        let message = message.filter(|message| message.starts_with("unknown variant"));
        let message = message.unwrap_or_default();
        let names: Vec<&str> = message.split('`').skip(3).step_by(2).collect();
        match names[..] {
            [] => "a name".to_owned(),
            [only] => format!("\"{only}\""),
            [ref rest @ .., last] => format!("\"{}\" or \"{last}\"", rest.join("\", \"")),
        }
    }

    /// A key, or a name in place of a table, that is not among `known`.
    fn unknown(&self, path: &str, key: String, mut known: Vec<String>) -> ScenarioError {
        let is_overriding = |place: &Place| matches!(place.key, Origin::Override(_));
        if path == key
            && self.places.get(path).is_some_and(is_overriding)
            && self.bottleneck_queue().is_some()
        {
            // What an override may say besides: see `spelled_out`.
            known.push("queue".to_owned());
        }
        let is_last = path == key || path.ends_with(&format!(".{key}"));
        let below = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if is_last {
            ScenarioError::at(path, Problem::UnknownKey { key, known })
        } else if self.at(&below).is_some() {
            ScenarioError::at(below, Problem::UnknownKey { key, known })
        } else {
            let (what, name) = (String::new(), key);
            ScenarioError::at(path, Problem::UnknownName { what, name, known })
        }
    }

    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.')
            .try_fold(&self.tree, |tree, key| tree.get(key))
    }

    /// Puts `value` at the dotted `path`, in place of whatever stands there or in its way.
    fn replace(&mut self, path: &str, text: &str, value: Value) -> Result<(), ScenarioError> {
        let origin = Origin::Override(format!("{path}={text}"));
        let place = Place {
            key: origin.clone(),
            value: origin,
        };
        let keys = path.split('.').count();
        if keys > MOST_KEYS {
            let why = format!(
                "an override's path of {keys} keys leads nowhere: expected {MOST_KEYS} at most"
            );
            return Err(ScenarioError::new(Problem::Invalid(why)));
        }
        let path = self.spelled_out(path);
        self.refuse_new_name(&path)
            .map_err(|error| error.with_origin(Some(place.key.clone())))?;
        let mut tree = &mut self.tree;
        let mut reached = String::new();
        for key in path.split('.') {
            if key.is_empty() {
                let why = "an override's path is made of keys with a dot between two of them";
                return Err(ScenarioError::invalid(path.as_str(), why).with_origin(Some(place.key)));
            }
            let is_kind = KINDS.iter().any(|kind| reached.ends_with(kind));
            if !tree.is_object() || is_kind && tree.get(key).is_none() {
                // A plain value gives way to a table, and one kind to another.
                *tree = Value::Object(Map::new());
                self.places.insert(reached.clone(), place.clone());
            }
            let entries = tree.as_object_mut().expect("just made one");
            push_key(&mut reached, key);
            tree = entries.entry(key).or_insert(Value::Null);
            self.places
                .entry(reached.clone())
                .or_insert_with(|| place.clone());
        }
        *tree = value;
        self.places.retain(|place, _| !is_inside(place, &path));
        self.places.insert(path, place);
        Ok(())
    }

    /// `queue` alone means the bottleneck's.
    fn spelled_out(&self, path: &str) -> String {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        match self.bottleneck_queue() {
            Some(queue) if first == "queue" && rest.is_empty() => queue,
            Some(queue) if first == "queue" => format!("{queue}.{rest}"),
            _ => path.to_owned(),
        }
    }

    fn bottleneck_queue(&self) -> Option<String> {
        let links = self.tree.get("link")?.as_object()?;
        let (link, place) = match self.tree.get("bottleneck").and_then(Value::as_str) {
            Some(name) => name.split_once('.')?,
            None if links.len() == 1 => (links.keys().next()?.as_str(), "up"),
            None => return None,
        };
        let (kind, table) = match links.get(link)? {
            Value::String(kind) => (kind.as_str(), None),
            table => {
                let (kind, table) = table.as_object()?.iter().next()?;
                (kind.as_str(), Some(table))
            }
        };
        let mut keys = place.split('.');
        let (first, last) = (keys.next()?, keys.next_back());
        let Some(queue) = last else {
            return Some(queue_of_line(link, kind, table, first));
        };
        if kind == "dot11b" {
            return Some(format!("link.{link}.dot11b.station.{first}.queue"));
        }
        // A modem's queue: its number, between the two, stands for no table of its own.
        let modem = format!("link.{link}.{kind}.modem.{first}");
        if ["up", "down"].contains(&queue) {
            return Some(format!("{modem}.{queue}stream.queue"));
        }
        let own = format!("{modem}.service_flow.{queue}");
        if self.at(&own).is_some() {
            return Some(format!("{own}.queue"));
        }
        Some(queue_of_line(link, kind, table, queue))
    }

    /// Overrides change what is there: a new name for a link, host or flow, or for something of a cable line, is a slip.
    fn refuse_new_name(&self, path: &str) -> Result<(), ScenarioError> {
        let keys: Vec<&str> = path.split('.').collect();
        for (place, &key) in keys.iter().enumerate().take(keys.len() - 1) {
            let is_named = match place {
                0 => matches!(key, "link" | "host" | "flow"),
                3 if keys[2] == "dot11b" => key == "station",
                3 | 5 => keys[2] == "docsis" && NAMED_IN_LINES.contains(&key),
                _ => false,
            };
            if is_named {
                self.refuse_unless_known(path, &keys[..=place], keys[place + 1])?;
            }
        }
        Ok(())
    }

    /// `name` must be in the table at `keys`.
    fn refuse_unless_known(
        &self,
        path: &str,
        keys: &[&str],
        name: &str,
    ) -> Result<(), ScenarioError> {
        let table = keys.iter().try_fold(&self.tree, |tree, key| tree.get(key));
        let known = table.and_then(Value::as_object);
        if known.is_some_and(|known| known.contains_key(name)) {
            return Ok(());
        }
        let known = known
            .map(|known| known.keys().cloned().collect())
            .unwrap_or_default();
        let what = keys[keys.len() - 1].replace('_', " ");
        let name = name.to_owned();
        Err(ScenarioError::at(
            path,
            Problem::UnknownName { what, name, known },
        ))
    }
}

/// Tables of a cable line, and of its modems and classes, whose keys are names.
const NAMED_IN_LINES: [&str; 5] = ["change", "drop", "modem", "service_class", "service_flow"];

/// Keys whose table holds one name.
const KINDS: [&str; 4] = [".application", ".congestion", ".queue", ".scheduling"];

/// A queue that bears its link's name alone, or that a modem has from its line.
fn queue_of_line(link: &str, kind: &str, table: Option<&Value>, name: &str) -> String {
    let flows = table.and_then(|table| table.get("service_flow"));
    if flows.is_some_and(|flows| flows.get(name).is_some()) {
        return format!("link.{link}.{kind}.service_flow.{name}.queue");
    }
    queue_path(link, kind, name)
}

/// Path of the key that holds a queue.
pub(super) fn queue_path(link: &str, kind: &str, direction: &str) -> String {
    match kind {
        "docsis" => format!("link.{link}.docsis.{direction}stream.queue"),
        // The access point's is the one that everybody's packets pass; a station's is found by the station's name.
        "dot11b" => format!("link.{link}.dot11b.access_point.queue"),
        _ => format!("link.{link}.{kind}.{direction}.queue"),
    }
}

/// Where lines begin, to turn offsets into lines and columns.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// Where a line begins; counted from 1.
    pub(super) fn offset(&self, line: usize) -> usize {
        self.starts[line - 1]
    }

    pub(super) fn origin(&self, offset: usize) -> Origin {
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self
            .text
            .get(self.starts[line - 1]..offset)
            .unwrap_or_default();
        Origin::Text {
            line,
            column: before.chars().count() + 1,
        }
    }
}

fn from_table(
    table: &DeTable<'_>,
    path: &str,
    lines: &Lines<'_>,
    places: &mut BTreeMap<String, Place>,
) -> Value {
    let mut entries = Map::new();
    // In the order of the text, so that the first mistake is reported first.
    let mut in_order: Vec<_> = table.iter().collect();
    in_order.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in in_order {
        let mut path = path.to_owned();
        push_key(&mut path, key.get_ref());
        let place = Place {
            key: lines.origin(key.span().start),
            value: lines.origin(value.span().start),
        };
        places.insert(path.clone(), place);
        entries.insert(
            key.get_ref().to_string(),
            from_value(value, &path, lines, places),
        );
    }
    Value::Object(entries)
}

fn from_value(
    value: &Spanned<DeValue<'_>>,
    path: &str,
    lines: &Lines<'_>,
    places: &mut BTreeMap<String, Place>,
) -> Value {
    match value.get_ref() {
        DeValue::Array(values) => {
            let element = |(index, value): (usize, &Spanned<DeValue<'_>>)| {
                let path = format!("{path}[{index}]");
                let origin = lines.origin(value.span().start);
                let place = Place {
                    key: origin.clone(),
                    value: origin,
                };
                places.insert(path.clone(), place);
                from_value(value, &path, lines, places)
            };
            Value::Array(values.iter().enumerate().map(element).collect())
        }
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(value) => Value::String(value.to_string()),
        DeValue::Float(value) => from_float(value.as_str()),
        DeValue::Integer(value) => from_integer(value.as_str(), value.radix()),
        DeValue::String(value) => Value::String(value.to_string()),
        DeValue::Table(table) => from_table(table, path, lines, places),
    }
}

/// What JSON has no number for stays text, and is refused as such where a number is expected.
fn from_integer(text: &str, radix: u32) -> Value {
    if let Ok(number) = u64::from_str_radix(text, radix) {
        return Value::Number(number.into());
    }
    match i64::from_str_radix(text, radix) {
        Ok(number) => Value::Number(number.into()),
        Err(_) => Value::String(text.to_owned()),
    }
}

fn from_float(text: &str) -> Value {
    let number = text.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn read_override(text: &str) -> Value {
    let lines = Lines::of(text);
    match DeValue::parse(text) {
        Ok(value) if !value.get_ref().is_datetime() => {
            from_value(&value, "", &lines, &mut BTreeMap::new())
        }
        _ => Value::String(text.to_owned()),
    }
}

pub(super) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

fn is_inside(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says what was found as a person would: serde speaks of integers and maps.
fn plain_found(found: &str) -> String {
    let inner = found.split('`').nth(1);
    match (found, inner) {
        (_, Some(number)) => number.to_owned(),
        ("sequence", _) => "a list".to_owned(),
        ("map", _) => "a table".to_owned(),
        ("null" | "unit value" | "Option value", _) => "nothing".to_owned(),
        _ if found.starts_with("length ") => found.replacen("length", "a list of", 1),
        _ => found.strip_prefix("string ").unwrap_or(found).to_owned(),
    }
}

fn plain_expected(expected: &str) -> String {
    match expected {
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" => "a text",
        "a tuple of size 2" | "tuple of 2 elements" => "a list of two",
        "f64" | "f32" => "a number",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "u8" => "a whole number from 0 to 255",
        other if other.starts_with("struct ") || other == "a map" => "a table",
        other => other,
    }
    .to_owned()
}
