//! Queues and congestion controls whose code is not headend's, as a document writes them: the short
//! forms, and the text of the files.
//!
//! `queue = "my_law.py:MyLaw"` and `queue = {custom = "my_law.py:MyLaw", target = "5 ms"}` are
//! short for `queue = {custom = {code = "my_law.py:MyLaw", target = "5 ms"}}`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Document;
use super::lines::push_key;
use crate::custom::{KIND, file_of};
use crate::scenario::error::ScenarioError;
use crate::scenario::files::find_file;

/// The keys whose value can be such code.
const KEYS: [&str; 4] = ["congestion", "law", "queue", "router"];

/// The value of the key at a path, with the short forms in it written out.
pub(super) fn spell_out(value: Value, path: &str) -> Value {
    let mut value = value;
    expand(&mut value, path, &mut |_, _| {});
    value
}

/// Whether the key of a table at a path is the name of a code.
pub(super) fn is_name(table: &str, key: &str) -> bool {
    key == "code" && table.rsplit('.').next() == Some(KIND)
}

impl Document {
    /// Writes the short forms out. What stood in them keeps its place in the text.
    pub(super) fn spell_out_codes(&mut self) {
        let mut moved = Vec::new();
        expand(&mut self.tree, "", &mut |from, to| {
            moved.push((from.to_owned(), to.to_owned()));
        });
        for (from, to) in moved {
            if let Some(place) = self.places.remove(&from) {
                self.places.insert(to, place);
            }
        }
    }

    /// The keys that name a file with code whose text is not in the document, each with the file.
    pub(in crate::scenario) fn codes(&self) -> &[(String, String)] {
        &self.codes
    }

    pub(super) fn find_codes(&mut self) -> Vec<(String, String)> {
        let mut codes = Vec::new();
        visit(&mut self.tree, "", &mut |path, table| {
            let file = table.get("code").and_then(Value::as_str).and_then(file_of);
            if let Some(file) = file.filter(|_| !table.contains_key("text")) {
                codes.push((format!("{path}.code"), file.to_owned()));
            }
        });
        codes
    }

    /// The keys with the text of a code, each with the code's name. Whatever the name, a text is
    /// one that could be executed.
    pub(in crate::scenario) fn embedded_codes(&mut self) -> Vec<(String, String)> {
        let mut codes = Vec::new();
        visit(&mut self.tree, "", &mut |path, table| {
            if table.contains_key("text") {
                let name = table
                    .get("code")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                codes.push((format!("{path}.text"), name.to_owned()));
            }
        });
        codes
    }

    /// Puts the text of these files beside their names, so that the scenario needs no file.
    pub(super) fn embed_codes(
        &mut self,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), ScenarioError> {
        let mut texts = BTreeMap::new();
        for (path, file) in std::mem::take(&mut self.codes) {
            let refuse = |error| self.locate(error);
            let bytes = find_file(&path, &file, files).map_err(refuse)?;
            let text = str::from_utf8(bytes).map_err(|_| {
                let why = format!("the file \"{file}\" is no text in UTF-8");
                refuse(ScenarioError::invalid(path.as_str(), why))
            })?;
            texts.insert(path, Value::String(text.to_owned()));
        }
        if texts.is_empty() {
            return Ok(());
        }
        visit(&mut self.tree, "", &mut |path, table| {
            if let Some(text) = texts.remove(&format!("{path}.code")) {
                table.insert("text".to_owned(), text);
            }
        });
        Ok(())
    }
}

/// Writes short forms out in the value at `path`, and reports which path a key has now.
fn expand(value: &mut Value, path: &str, moved: &mut impl FnMut(&str, &str)) {
    let key = path.rsplit('.').next().unwrap_or_default();
    if KEYS.contains(&key) {
        if value.as_str().is_some_and(|text| file_of(text).is_some()) {
            *value = match (key, value.take()) {
                ("router", code) => json!({ "queue": { KIND: { "code": code } } }),
                (_, code) => json!({ KIND: { "code": code } }),
            };
            return;
        }
        if let Some(table) = value.as_object_mut()
            && table.get(KIND).is_some_and(Value::is_string)
        {
            let mut own = Map::new();
            for (name, entry) in std::mem::take(table) {
                let code = if name == KIND {
                    "code".to_owned()
                } else {
                    name.clone()
                };
                moved(&format!("{path}.{name}"), &format!("{path}.{KIND}.{code}"));
                own.insert(code, entry);
            }
            table.insert(KIND.to_owned(), Value::Object(own));
            return;
        }
    }
    for (name, entry) in value.as_object_mut().into_iter().flatten() {
        let mut below = path.to_owned();
        push_key(&mut below, name);
        expand(entry, &below, moved);
    }
}

/// Visits the tables of all custom code below the value at `path`.
fn visit(value: &mut Value, path: &str, each: &mut impl FnMut(&str, &mut Map<String, Value>)) {
    for (name, entry) in value.as_object_mut().into_iter().flatten() {
        let mut below = path.to_owned();
        push_key(&mut below, name);
        match entry.as_object_mut() {
            Some(table)
                if name == KIND && ["code", "text"].iter().any(|key| table.contains_key(*key)) =>
            {
                each(&below, table);
            }
            _ => visit(entry, &below, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::document::Format;

    fn expanded(key: &str, value: Value) -> Value {
        spell_out(value, key)
    }

    #[test]
    fn short_forms_mean_the_table_of_the_kind() {
        let whole = json!({ "custom": { "code": "a.py:Law" } });
        assert_eq!(expanded("queue", json!("a.py:Law")), whole);
        assert_eq!(
            expanded("link.line.up.queue", json!({ "custom": "a.py:Law" })),
            whole
        );
        assert_eq!(expanded("queue", whole.clone()), whole);
        assert_eq!(
            expanded("router", json!("a.py:Law")),
            json!({ "queue": whole })
        );
        assert_eq!(
            expanded("queue", json!({ "target": "5 ms", "custom": "a.py:Law" })),
            json!({ "custom": { "target": "5 ms", "code": "a.py:Law" } })
        );
        let law = json!({ "drr": { "law": "a.py:Law" } });
        assert_eq!(expanded("queue", law), json!({ "drr": { "law": whole } }));
    }

    #[test]
    fn other_values_stay_as_they_are() {
        for (key, value) in [
            ("queue", json!("codel")),
            ("title", json!("a.py:Law")),
            ("flow", json!({ "custom": "a.py:Law" })),
            ("queue", json!({ "codel": { "target": "5 ms" } })),
        ] {
            assert_eq!(expanded(key, value.clone()), value);
        }
    }

    const TEXT: &str = "title = 't'\n[link.l.point_to_point.up]\nrate = '1 Mbit/s'\n\
                        queue = { custom = 'a.py:Law', target = '5 ms' }\n\
                        [flow.f]\napplication = 'bulk'\ntcp.congestion = 'b.py:Control'\n";

    #[test]
    fn the_files_are_listed_and_their_text_is_put_beside_their_names() {
        let read = |files: Option<&BTreeMap<String, Vec<u8>>>| {
            Document::read(TEXT, Format::Toml, &[], files)
        };
        let mut document = read(None).expect("it can be read");
        let queue = "link.l.point_to_point.up.queue.custom.code";
        let control = "flow.f.tcp.congestion.custom.code";
        let expected = [(queue, "a.py"), (control, "b.py")];
        let expected = expected.map(|(path, file)| (path.to_owned(), file.to_owned()));
        let mut found = document.codes().to_vec();
        found.sort_by(|(_, a), (_, b)| a.cmp(b));
        assert_eq!(found, expected);
        assert!(document.embedded_codes().is_empty());
        let place = document
            .places
            .get("link.l.point_to_point.up.queue.custom.target");
        assert!(place.is_some(), "errors still find what was written");

        let over = |path: &str, value: &str| (path.to_owned(), value.to_owned());
        let set = [
            over("queue", "c.py:Law"),
            over("queue.custom.target", "7 ms"),
        ];
        let document = Document::read(TEXT, Format::Toml, &set, None).expect("it can be read");
        assert_eq!(document.set_by(queue), Some("queue=c.py:Law"));
        let document = Document::read(TEXT, Format::Toml, &set[1..], None);
        let document = document.expect("it can be read");
        assert_eq!(document.set_by(queue), None, "a parameter names no code");

        let texts = [("a.py", "law"), ("b.py", "control")];
        let files = texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        let mut document = read(Some(&BTreeMap::from(files))).expect("the files are there");
        assert!(document.find_codes().is_empty());
        assert_eq!(document.embedded_codes().len(), 2);
        let queue = document.at("link.l.point_to_point.up.queue.custom.text");
        assert_eq!(queue, Some(&json!("law")));

        let missing = read(Some(&BTreeMap::new())).expect_err("the files are not there");
        assert!(
            missing
                .to_string()
                .contains("the file \"a.py\" cannot be read"),
            "{missing}"
        );
    }
}
