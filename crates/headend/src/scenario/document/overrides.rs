//! Overrides: one value of a document is replaced by another, whose path may be short.

use serde_json::{Map, Value};

use super::lines::push_key;
use super::{Document, Override, Place, custom, toml};
use crate::scenario::cable::is_from_files;
use crate::scenario::error::{Origin, Problem, ScenarioError};
use crate::scenario::link::tables;

impl Document {
    /// Applies overrides one after the other, and returns those of names that only a modem's file
    /// can have.
    pub(super) fn override_all(
        &mut self,
        overrides: &[Override],
    ) -> Result<Vec<Override>, ScenarioError> {
        let short = self.short_links();
        let mut of_files = Vec::new();
        // The file may be named further on.
        let named = overrides.iter();
        let named: Vec<String> = named
            .filter_map(|(path, _)| self.spelled_out(path).ok())
            .filter(|path| path.ends_with(".config"))
            .collect();
        for (path, text) in overrides {
            if let Some(key) = low_latency_key(path) {
                self.replace_low_latency(path, key, text, &named)?;
            } else if self.is_of_file(&self.spelled_out(path)?, &named) {
                of_files.push((path.clone(), text.clone()));
            } else {
                self.replace(path, text)?;
            }
        }
        for (name, kind) in &short {
            let table = self.tree.pointer_mut(&format!("/link/{name}/{kind}"));
            let table = table.and_then(Value::as_object_mut);
            if let (Some(tables), Some(table)) = (tables(kind), table) {
                tables.complete(table);
            }
        }
        Ok(of_files)
    }

    /// The links whose tables leave out what an override may write a part of, with their kinds.
    fn short_links(&self) -> Vec<(String, String)> {
        let links = self.tree.get("link").and_then(Value::as_object);
        let kinds = links.into_iter().flatten().filter_map(|(name, link)| {
            let (kind, table) = kind_of(link)?;
            Some((name, kind, table?))
        });
        let short = kinds
            .filter(|(_, kind, table)| tables(kind).is_some_and(|tables| tables.is_short(table)));
        short
            .map(|(name, kind, _)| (name.clone(), kind.to_owned()))
            .collect()
    }

    /// Puts the value of `text` at the dotted `path`, in place of whatever stands there or in its
    /// way.
    pub(super) fn replace(&mut self, path: &str, text: &str) -> Result<(), ScenarioError> {
        self.replace_for(path, path, text)
    }

    /// As [`Self::replace`]. Errors call the override `given`.
    fn replace_for(&mut self, given: &str, path: &str, text: &str) -> Result<(), ScenarioError> {
        let origin = Origin::Override(format!("{given}={text}"));
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
        let value = match toml::read_override(text) {
            // A file may be called 2026 or true.
            value if is_modem_file(path) && !value.is_string() => Value::String(text.to_owned()),
            value => custom::spell_out(value, path),
        };
        let path =
            (self.spelled_out(path)).map_err(|error| error.with_origin(Some(place.key.clone())))?;
        self.refuse_new_name(&path)
            .map_err(|error| error.with_origin(Some(place.key.clone())))?;
        let mut tree = &mut self.tree;
        let mut reached = String::new();
        for key in path.split('.') {
            if key.is_empty() {
                let why = "an override's path is made of keys with a dot between two of them";
                return Err(ScenarioError::invalid(path.as_str(), why).with_origin(Some(place.key)));
            }
            if reached == "router" && tree.is_string() {
                // A queue alone is short for a table with it; "off" is none.
                *tree = match tree.take() {
                    Value::String(word) if word == "off" => Value::Object(Map::new()),
                    queue => serde_json::json!({ "queue": queue }),
                };
            }
            let is_kind = KINDS.iter().any(|kind| reached.ends_with(kind));
            if !tree.is_object() || is_kind && tree.get(key).is_none() {
                // A plain value gives way to a table, and one kind to another.
                *tree = Value::Object(Map::new());
                self.places.insert(reached.clone(), place.clone());
            }
            let entries = tree.as_object_mut().expect("just made one");
            if custom::is_name(&reached, key) {
                // The text is that of another code.
                entries.remove("text");
            }
            push_key(&mut reached, key);
            if !entries.contains_key(key) {
                // What is there already was written where the table around it was.
                self.places
                    .entry(reached.clone())
                    .or_insert_with(|| place.clone());
            }
            tree = entries.entry(key).or_insert(Value::Null);
        }
        *tree = value;
        self.places.retain(|place, _| !is_inside(place, &path));
        self.places.insert(path.clone(), place);
        self.overridden.push(path);
        Ok(())
    }

    /// Switches low latency of the bottleneck's cable line, or of the only one, or changes one of
    /// its keys; `given` is what the override calls it. `named` are the keys of files that
    /// overrides name. Where a table is written, "on" keeps it, and "2019" changes its preset.
    fn replace_low_latency(
        &mut self,
        given: &str,
        key: &str,
        text: &str,
        named: &[String],
    ) -> Result<(), ScenarioError> {
        let missing =
            "low latency is of a cable line, and this scenario has none (link.NAME.docsis)";
        let line = self.line_of(given, missing, "upstream.low_latency")?;
        let value = toml::read_override(text);
        let is_preset = value == "2019" || value == 2019;
        // Only modems request grants.
        let is_of_upstream = ["scheduling", "request_policy"]
            .iter()
            .any(|one| key == *one || is_inside(key, one));
        let mut places = self.low_latency_places(&line, key.is_empty(), named);
        places.retain(|place| !is_of_upstream || place.ends_with(".upstream.low_latency"));
        for place in places {
            let has_table = self.at(&place).is_some_and(Value::is_object);
            let path = match key {
                "" if has_table && value == "on" => continue,
                "" if has_table && is_preset => format!("{place}.preset"),
                "" => place,
                _ => format!("{place}.{key}"),
            };
            self.replace_for(given, &path, text)?;
        }
        Ok(())
    }

    /// Where a line has low latency, or is to have it. The switch is for both directions of the
    /// line, and of each service class and modem that has low latency of its own or may have it
    /// from its file. A single key is for those places alone that have low latency, if there is
    /// one.
    fn low_latency_places(&self, line: &str, is_switch: bool, named: &[String]) -> Vec<String> {
        let keys_of = |table: &str| {
            let table = self.at(line).and_then(|line| line.get(table)?.as_object());
            table.into_iter().flat_map(Map::keys)
        };
        let classes = keys_of("service_class").map(|name| format!("{line}.service_class.{name}"));
        let modems = keys_of("modem").map(|name| format!("{line}.modem.{name}"));
        let inner: Vec<String> = classes.chain(modems).collect();
        let below = |place: &str| {
            ["upstream", "downstream"].map(|direction| format!("{place}.{direction}.low_latency"))
        };
        let is_given = |key: &str| self.at(key).is_some();
        let of_line = below(line).to_vec();
        if is_switch {
            let has_file = |place: &str| {
                let key = format!("{place}.config");
                is_given(&key) || named.contains(&key)
            };
            let inner = inner.iter().flat_map(|place| {
                let keys = below(place).into_iter();
                keys.filter(|key| is_given(key) || has_file(place))
            });
            return of_line.into_iter().chain(inner).collect();
        }
        let is_on = |key: &String| self.at(key).is_some_and(|found| found != "off");
        let all = std::iter::once(line).chain(inner.iter().map(String::as_str));
        let on: Vec<String> = all.flat_map(below).filter(is_on).collect();
        if on.is_empty() { of_line } else { on }
    }

    /// `queue` alone means the bottleneck's; `modem` alone the file of the only modem, and
    /// `modem.NAME` that of one of several.
    fn spelled_out(&self, path: &str) -> Result<String, ScenarioError> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        if is_modem_file(path) {
            return self.modem_file_key(path, rest);
        }
        Ok(match self.bottleneck_queue() {
            Some(queue) if first == "queue" && rest.is_empty() => queue,
            Some(queue) if first == "queue" => format!("{queue}.{rest}"),
            _ => path.to_owned(),
        })
    }

    /// The key of the file of the modem called `name`, or of the only one. `path` is what the
    /// override calls it.
    fn modem_file_key(&self, path: &str, name: &str) -> Result<String, ScenarioError> {
        let refuse = |why: String| Err(ScenarioError::invalid(path, why));
        let missing = "a file configures a cable modem, and this scenario has no cable line \
                       (link.NAME.docsis)";
        let line = self.line_of(path, missing, "config")?;
        let modems = self
            .at(&line)
            .and_then(|line| line.get("modem")?.as_object());
        let names: Vec<&String> = modems.into_iter().flat_map(Map::keys).collect();
        match (names.as_slice(), name) {
            ([], "") => Ok(format!("{line}.config")),
            ([only], "") => Ok(format!("{line}.modem.{only}.config")),
            (_, "") => {
                let some: Vec<&str> = names.iter().take(20).map(|name| name.as_str()).collect();
                let more = if names.len() > some.len() {
                    ", …"
                } else {
                    ""
                };
                refuse(format!(
                    "the line has several modems: expected modem.NAME, with one of the names \
                     {}{more}; or {line}.config, for all that have no file of their own",
                    some.join(", ")
                ))
            }
            ([], _) => refuse(
                "the line has one modem, which has no name: expected `modem` alone".to_owned(),
            ),
            _ => Ok(format!("{line}.modem.{name}.config")),
        }
    }

    /// The cable line that the short name `path` is about: the bottleneck's, or the only one. `key`
    /// is what it stands for there; `missing` says that there is none.
    fn line_of(&self, path: &str, missing: &str, key: &str) -> Result<String, ScenarioError> {
        let refuse = |why: &str| Err(ScenarioError::invalid(path, why));
        let lines: Vec<String> = self.cable_lines().collect();
        let of_bottleneck = self.bottleneck_queue();
        let is_bottleneck = |line: &&String| {
            let queue = of_bottleneck.as_deref();
            queue.is_some_and(|queue| is_inside(queue, line))
        };
        match lines.as_slice() {
            [] => refuse(missing),
            [only] => Ok(only.clone()),
            several => {
                if let Some(line) = several.iter().find(is_bottleneck) {
                    return Ok(line.clone());
                }
                let keys: Vec<String> = (several.iter())
                    .map(|line| format!("{line}.{key}"))
                    .collect();
                refuse(&format!(
                    "the scenario has several cable lines: expected one of {}",
                    keys.join(", ")
                ))
            }
        }
    }

    /// The paths of all cable lines.
    pub(super) fn cable_lines(&self) -> impl Iterator<Item = String> {
        let links = self.tree.get("link").and_then(Value::as_object);
        let cable = |(name, link): (&String, &Value)| {
            let (kind, _) = kind_of(link)?;
            (kind == "docsis").then(|| format!("link.{name}.docsis"))
        };
        links.into_iter().flatten().filter_map(cable)
    }

    /// Whether a path leads into a table, not there yet, that a modem's file may add. `named` are
    /// the keys of files that overrides name.
    fn is_of_file(&self, path: &str, named: &[String]) -> bool {
        let keys: Vec<&str> = path.split('.').collect();
        let ["link", _, "docsis", below @ ..] = keys.as_slice() else {
            return false;
        };
        let line = keys[..3].join(".");
        let is_new = |count: usize| {
            is_from_files(&below[..count])
                && (below.get(count)).is_some_and(|name| {
                    self.at(&format!("{line}.{}.{name}", below[..count].join(".")))
                        .is_none()
                })
        };
        let file_key = match below {
            ["modem", name, ..] if is_new(3.min(below.len())) => {
                format!("{line}.modem.{name}.config")
            }
            _ if is_new(1.min(below.len())) => format!("{line}.config"),
            _ => return false,
        };
        let of_line = format!("{line}.config");
        [file_key, of_line]
            .iter()
            .any(|key| self.at(key).is_some() || named.contains(key))
    }

    /// The path of the queue that the scenario is about: the one it names, or that of the only
    /// link.
    pub(super) fn bottleneck_queue(&self) -> Option<String> {
        let links = self.tree.get("link")?.as_object()?;
        let (link, place) = match self.tree.get("bottleneck").and_then(Value::as_str) {
            Some(name) => name.split_once('.')?,
            None if links.len() == 1 => (links.keys().next()?.as_str(), "up"),
            None => return None,
        };
        let (kind, table) = kind_of(links.get(link)?)?;
        let key = tables(kind)?.queue_key(table, place);
        Some(format!("link.{link}.{kind}.{key}"))
    }

    /// Refuses an override of a name that is not in its table: overrides add no links, hosts or
    /// flows.
    fn refuse_new_name(&self, path: &str) -> Result<(), ScenarioError> {
        let keys: Vec<&str> = path.split('.').collect();
        for (place, &key) in keys.iter().enumerate().take(keys.len() - 1) {
            let is_named = match place {
                0 => matches!(key, "link" | "host" | "flow"),
                1 | 2 => false,
                _ if keys[0] != "link" => false,
                _ => tables(keys[2]).is_some_and(|tables| tables.has_names(&keys[3..=place])),
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

/// What follows the short name `low_latency` in an override's path: a key, or nothing. `None`: the
/// path has another name.
fn low_latency_key(path: &str) -> Option<&str> {
    match path.split_once('.') {
        Some(("low_latency", key)) => Some(key),
        None if path == "low_latency" => Some(""),
        _ => None,
    }
}

/// Whether an override's path is a short name of a modem's file: `modem` or `modem.NAME`.
fn is_modem_file(path: &str) -> bool {
    path == "modem"
        || path
            .strip_prefix("modem.")
            .is_some_and(|name| !name.contains('.'))
}

/// Keys in the path of an override, several times those of the deepest place in a scenario.
const MOST_KEYS: usize = 50;

/// Keys whose table holds one name.
const KINDS: [&str; 4] = [".application", ".congestion", ".queue", ".scheduling"];

/// The kind of a link as it is written, and its table: a name alone has none.
fn kind_of(link: &Value) -> Option<(&str, Option<&Value>)> {
    match link {
        Value::String(kind) => Some((kind, None)),
        link => {
            let (kind, table) = link.as_object()?.iter().next()?;
            Some((kind, Some(table)))
        }
    }
}

pub(super) fn is_inside(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}
