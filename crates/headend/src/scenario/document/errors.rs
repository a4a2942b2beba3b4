//! Errors of a document: where the fault stands, what was found there, and what is expected.
//! serde's messages are put into words that do not need a programmer.

use serde_json::Value;

use super::{Document, Place};
use crate::scenario::error::{Origin, Problem, ScenarioError};
use crate::scenario::raw::Raw;
use crate::units::MEANT;

impl Document {
    /// Adds what was found at its key to an error that says only what is expected there, and says
    /// so if the value was not written but stands behind a name.
    pub(in crate::scenario) fn echo(&self, error: ScenarioError) -> ScenarioError {
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
        let is_of_file =
            (self.innermost(path)).is_some_and(|(_, place)| matches!(place.value, Origin::File(_)));
        let is_written = self.places.is_empty() || self.places.contains_key(path) || is_of_file;
        let note = if is_written {
            ""
        } else {
            ", which a name here stands for"
        };
        ScenarioError::invalid(path, format!("{why}, found {found}{note}"))
    }

    /// Adds to an error where its value stands. If the value was not written, that is the innermost
    /// table around it that was.
    pub(in crate::scenario) fn locate(&self, error: ScenarioError) -> ScenarioError {
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
    pub(in crate::scenario) fn set_by(&self, path: &str) -> Option<&str> {
        match &self.innermost(path)?.1.value {
            Origin::Override(text) => Some(text),
            Origin::File(_) | Origin::Text { .. } => None,
        }
    }

    /// The innermost place that was written, of the value at `path` and the tables around it, with
    /// its path.
    fn innermost<'a>(&self, mut path: &'a str) -> Option<(&'a str, &Place)> {
        loop {
            if let Some(place) = self.places.get(path) {
                return Some((path, place));
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }

    /// Turns serde's sentence about the value at `path` into a problem.
    pub(super) fn explain(&self, path: &str, message: &str) -> ScenarioError {
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
                let meant = match truth_meant(found).filter(|_| expected == "a boolean") {
                    Some(truth) => format!("{MEANT}{truth}?"),
                    None => meant.to_owned(),
                };
                Problem::Unexpected {
                    found: plain_found(found) + &meant,
                    expected: plain_expected(expected),
                }
            }
            None => Problem::Invalid(one_line(message)),
        };
        ScenarioError::at(path, problem)
    }

    /// The names that may stand at `path`: those that serde lists when it reads a name that does
    /// not exist.
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
        if path == key && self.places.get(path).is_some_and(is_overriding) {
            // An override may also begin with short names: see `spelled_out`.
            let short = [
                ("low_latency", self.cable_lines().next().is_some()),
                ("modem", self.cable_lines().next().is_some()),
                ("queue", self.bottleneck_queue().is_some()),
            ];
            let short = short.into_iter().filter(|(_, has_meaning)| *has_meaning);
            known.extend(short.map(|(name, _)| name.to_owned()));
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
}

/// A message without breaks of lines.
pub(super) fn one_line(message: &str) -> String {
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

/// The truth value that other languages write as what was found.
fn truth_meant(found: &str) -> Option<bool> {
    match found.split(['"', '`']).nth(1)? {
        "1" | "on" | "true" | "yes" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
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
