//! A scenario's JSON as a tree. A key that is there twice is refused, as TOML refuses it.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::lines::{Lines, push_key};
use crate::scenario::error::{Origin, Problem, ScenarioError};

/// Reads `text`.
pub(super) fn read(text: &str) -> Result<Value, ScenarioError> {
    let mut second = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    let node = Node {
        path: String::new(),
        second: &mut second,
    };
    let tree = (node.deserialize(&mut reader)).and_then(|tree| reader.end().map(|()| tree));
    tree.map_err(|error| {
        if let Some(path) = second {
            return refuse_second(text, path, &error);
        }
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        ScenarioError::new(Problem::Syntax(message[..end].to_owned()))
            .with_origin(Some(Origin::Text { line, column }))
    })
}

/// The error of a key at `path` that is there a second time. serde reports `error` behind the key:
/// before what comes next, or after a brace.
fn refuse_second(text: &str, path: String, error: &serde_json::Error) -> ScenarioError {
    let lines = Lines::of(text);
    let read = &text[..lines.offset(error.line()) + error.column()];
    let read = read.trim_end_matches(|next: char| next != '"');
    // A quote within the key has a backslash before it.
    let start = (read.rmatch_indices('"').skip(1))
        .find(|(offset, _)| !read[..*offset].ends_with('\\'))
        .map_or(0, |(offset, _)| offset);
    let what = format!("the key {} is there a second time", &read[start..]);
    ScenarioError::at(path, Problem::Syntax(what)).with_origin(Some(lines.origin(start)))
}

/// The value at `path`.
struct Node<'a> {
    path: String,
    /// Receives the path of the first key that is there twice.
    second: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        let Self { path, second } = self;
        while let Some(value) = list.next_element_seed(Node {
            path: format!("{path}[{}]", values.len()),
            second,
        })? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let mut path = self.path.clone();
            push_key(&mut path, &key);
            if entries.contains_key(&key) {
                *self.second = Some(path);
                return Err(A::Error::custom("a key is there twice"));
            }
            let second = &mut *self.second;
            let value = map.next_value_seed(Node { path, second })?;
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_is_written() {
        let text =
            r#"{"b": [1, -2, 0.5, 1e3, {"c": null}], "a": {"b": true, "c": "ü\"\n"}, "": 1}"#;
        let plain: Value = serde_json::from_str(text).expect("it is JSON");
        assert_eq!(read(text), Ok(plain));
        for wrong in ["", "{", "{} {}", "{\"a\": 1,}", "nul"] {
            let plain = serde_json::from_str::<Value>(wrong).expect_err("it is no JSON");
            let error = read(wrong).expect_err("it is no JSON");
            assert_eq!(error.position(), Some((plain.line(), plain.column())));
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_where_it_stands() {
        let refuse = |text: &str| read(text).expect_err("a key is there twice").to_string();
        assert_eq!(
            refuse("{\n  \"seed\": 1,\n  \"link\": {\"seed\": 2},\n  \"seed\": 3\n}"),
            "seed: not readable: the key \"seed\" is there a second time (line 4, column 3)"
        );
        assert_eq!(
            refuse("{\"a\": [{}, {\"é\": 1, \"b\\\"\": {}, \"b\\\"\" : {}}]}"),
            "a[1].b\": not readable: the key \"b\\\"\" is there a second time (line 1, column 32)"
        );
        assert_eq!(
            refuse("{\"a\": 1, \"\\u0061\": 2}"),
            "a: not readable: the key \"\\u0061\" is there a second time (line 1, column 10)"
        );
        for torn in ["", "é", "\n\n é", "}", " \r\n :"] {
            assert_eq!(
                refuse(&format!("{{\"é\": 1, \"é\"{torn}")),
                "é: not readable: the key \"é\" is there a second time (line 1, column 10)"
            );
        }
    }
}
