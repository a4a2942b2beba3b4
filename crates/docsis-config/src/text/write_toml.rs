//! A file as TOML, for people.
//!
//! The order of the text is the order of the file. Some files have an order that three rules of
//! TOML forbid: the plain keys of a table stand before its tables, a key occurs once, and a key
//! holds either a value or a list of tables. A TLV that a rule keeps from its place follows in a
//! table `then`.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::scope::{ENDS, KIND, PADS, REST, Scope, THEN, UNSIGNED};
use crate::characters::{hex, is_plain};
use crate::file::{File, PAD, Tlv, Value};
use crate::table::Kind;

/// The file as TOML text, with comments.
pub fn to_toml(file: &File) -> String {
    let scope = Scope::outermost(file.kind).with(&file.tlvs);
    let whose = match file.kind {
        Kind::CableModem => "a cable modem",
        Kind::Mta => "a telephone adapter (MTA)",
    };
    let mut page = Page {
        text: format!(
            "# The configuration file of {whose}, {} bytes, in the order of the file. The number \
             in a\n# comment is that of the TLV. `headend config encode` makes the file of this \
             text.\n",
            file.encode().len()
        ),
        keys: Some(BTreeSet::new()),
        is_top: true,
        lines: Vec::new(),
    };
    if file.get(CMTS_MIC).is_some() {
        page.text +=
            "# After an edit, its option --secret-file computes cm_mic and cmts_mic anew.\n";
    }
    page.text.push('\n');
    if file.kind == Kind::Mta {
        page.line(Line::new(KIND, "\"mta\""));
    } else if file.get(CM_MIC).is_none() && file.get(CMTS_MIC).is_none() {
        let mut line = Line::new(UNSIGNED, "true");
        "the file has no MICs; `encode` computes them only with --mic or a secret option"
            .clone_into(&mut line.elements[0].comment);
        page.line(line);
    }
    // In TOML a key holds either values or tables. Plain values of a type that also occurs nested
    // never stand at the top.
    let is_nested = |tlv: &Tlv| matches!(tlv.value, Value::Nested(_));
    let nested = file.tlvs.iter().filter(|tlv| is_nested(tlv));
    let as_tables: BTreeSet<u8> = nested.map(|tlv| tlv.number).collect();
    let alike =
        |one: &Tlv, next: &Tlv| one.number == next.number && is_nested(one) == is_nested(next);
    for group in file.tlvs.chunk_by(alike) {
        let number = group[0].number;
        if is_nested(&group[0]) {
            for tlv in group {
                page.table(&scope, tlv);
            }
        } else {
            let line = scope.line("", group);
            page.value(line, as_tables.contains(&number));
        }
    }
    if !file.rest.is_empty() {
        let mut line = Line::new(REST, &bytes(&file.rest));
        "these bytes are no TLV".clone_into(&mut line.elements[0].comment);
        page.value(line, false);
    }
    page.end_block();
    page.text
}

/// The text as far as it is written.
struct Page {
    text: String,
    /// The keys of the table that further plain values can be added to; none behind a table of
    /// TLVs.
    keys: Option<BTreeSet<String>>,
    /// Whether no table is written yet.
    is_top: bool,
    /// Lines of this table that wait for those beside them, so that their comments stand in a
    /// column.
    lines: Vec<Line>,
}

impl Page {
    fn line(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// Writes outermost TLVs with plain values. `is_table`: other TLVs of their type are tables.
    fn value(&mut self, line: Line, is_table: bool) {
        let fits = self
            .keys
            .as_ref()
            .is_some_and(|keys| !keys.contains(&line.key));
        if !fits || is_table && self.is_top {
            self.end_block();
            self.is_top = false;
            self.header(THEN, "what follows in the file");
            self.keys = Some(BTreeSet::new());
        }
        if let Some(keys) = &mut self.keys {
            keys.insert(line.key.clone());
        }
        self.line(line);
    }

    /// Writes an outermost TLV that holds TLVs.
    fn table(&mut self, scope: &Scope, tlv: &Tlv) {
        self.end_block();
        self.is_top = false;
        self.keys = None;
        self.header(
            &scope.key(tlv.number),
            &format!("TLV {}", scope.dotted(tlv.number)),
        );
        if let Value::Nested(tlvs) = &tlv.value {
            scope.within(tlv.number).lines("", tlvs, &mut self.lines);
        }
    }

    fn header(&mut self, key: &str, comment: &str) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        for part in ["[[", key, "]] # ", comment, "\n"] {
            self.text += part;
        }
    }

    /// Writes the waiting lines.
    fn end_block(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        let texts: Vec<Vec<(String, &str)>> = lines.iter().map(Line::texts).collect();
        let width = |(text, _): &(String, &str)| text.chars().count();
        // The elements of a list in several lines have a column of their own.
        let column = |texts: &mut dyn Iterator<Item = &(String, &str)>| {
            let widths = texts.map(width).filter(|width| *width <= WIDEST);
            widths.max().unwrap_or(0)
        };
        let of_page = column(&mut texts.iter().filter(|texts| texts.len() == 1).flatten());
        for texts in &texts {
            let of_list = column(&mut texts.iter());
            self.texts(texts, if texts.len() == 1 { of_page } else { of_list });
        }
    }

    /// Writes lines with their comments in one column.
    fn texts(&mut self, texts: &[(String, &str)], column: usize) {
        for (text, comment) in texts {
            self.text += text;
            if !comment.is_empty() {
                let width = text.chars().count();
                self.text += &" ".repeat(column.saturating_sub(width) + 1);
                self.text += "# ";
                self.text += comment;
            }
            self.text.push('\n');
        }
    }
}

/// The type of the modem's message integrity check.
const CM_MIC: u8 = 6;
/// The type of the CMTS's message integrity check.
const CMTS_MIC: u8 = 7;
/// A line of more characters does not move the column of comments.
const WIDEST: usize = 72;
/// A list of more characters, or with comments, is written in several lines.
const LONGEST_LIST: usize = 70;

/// A key with its value.
struct Line {
    key: String,
    /// The number of its TLV, if it is one.
    number: String,
    /// The value, or those of TLVs beside each other.
    elements: Vec<Element>,
    is_list: bool,
}

/// A value and its comment.
struct Element {
    value: String,
    comment: String,
}

impl Line {
    fn new(key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            number: String::new(),
            elements: vec![Element {
                value: value.to_owned(),
                comment: String::new(),
            }],
            is_list: false,
        }
    }

    /// The lines of text, each with its comment.
    fn texts(&self) -> Vec<(String, &str)> {
        let Self { key, number, .. } = self;
        if let [only] = &self.elements[..]
            && !self.is_list
        {
            return vec![(format!("{key} = {}", only.value), &only.comment)];
        }
        let values: Vec<&str> = self.elements.iter().map(|one| one.value.as_str()).collect();
        let list = values.join(", ");
        let has_comments = self.elements.iter().any(|one| !one.comment.is_empty());
        if !has_comments && list.len() <= LONGEST_LIST {
            return vec![(format!("{key} = [{list}]"), number)];
        }
        let mut lines = vec![(format!("{key} = ["), number.as_str())];
        let element = |one: &'_ Element| format!("  {},", one.value);
        lines.extend(
            self.elements
                .iter()
                .map(|one| (element(one), one.comment.as_str())),
        );
        lines.push(("]".to_owned(), ""));
        lines
    }
}

impl Scope {
    /// Writes TLVs beside each other as lines, and the TLVs in them as lines with dotted keys.
    fn lines(self, prefix: &str, tlvs: &[Tlv], lines: &mut Vec<Line>) {
        let scope = self.with(tlvs);
        let (first, rest) = unique(tlvs);
        for group in groups(first) {
            match group {
                [
                    Tlv {
                        number,
                        value: Value::Nested(tlvs),
                    },
                ] if !tlvs.is_empty() => {
                    let prefix = format!("{prefix}{}.", scope.key(*number));
                    scope.within(*number).lines(&prefix, tlvs, lines);
                }
                group => lines.push(scope.line(prefix, group)),
            }
        }
        if !rest.is_empty() {
            let elements = scope.rest(rest).map(|value| Element {
                value,
                comment: String::new(),
            });
            lines.push(Line {
                key: format!("{prefix}{THEN}"),
                number: String::new(),
                elements: elements.collect(),
                is_list: true,
            });
        }
    }

    /// TLVs that follow in `then`, as tables in one line each.
    fn rest(&self, mut tlvs: &[Tlv]) -> impl Iterator<Item = String> {
        std::iter::from_fn(move || {
            let (first, rest) = unique(tlvs);
            tlvs = rest;
            (!first.is_empty()).then(|| self.inline(first))
        })
    }

    /// A table in one line.
    fn inline(&self, tlvs: &[Tlv]) -> String {
        let (first, rest) = unique(tlvs);
        let mut entries: Vec<String> = groups(first)
            .map(|group| {
                let line = self.line("", group);
                let values: Vec<String> = line.elements.into_iter().map(|one| one.value).collect();
                match &values[..] {
                    [only] if !line.is_list => format!("{} = {only}", line.key),
                    values => format!("{} = [{}]", line.key, values.join(", ")),
                }
            })
            .collect();
        if !rest.is_empty() {
            let rest: Vec<String> = self.rest(rest).collect();
            entries.push(format!("{THEN} = [{}]", rest.join(", ")));
        }
        if entries.is_empty() {
            return "{}".to_owned();
        }
        format!("{{ {} }}", entries.join(", "))
    }

    /// TLVs of one type beside each other. Their key has `prefix` before it.
    fn line(&self, prefix: &str, group: &[Tlv]) -> Line {
        let number = group[0].number;
        if group[0].value == Value::Bare {
            return if number == PAD {
                Line::new(&format!("{prefix}{PADS}"), &group.len().to_string())
            } else {
                Line::new(&format!("{prefix}{ENDS}"), "true")
            };
        }
        let dotted = self.dotted(number);
        let is_list = group.len() > 1;
        let element = |tlv: &Tlv| {
            let (value, mut comment) = self.element(tlv);
            if !is_list && comment.is_empty() {
                comment.clone_from(&dotted);
            } else if !is_list {
                comment = format!("{dotted}: {comment}");
            }
            Element { value, comment }
        };
        Line {
            key: format!("{prefix}{}", self.key(number)),
            elements: group.iter().map(element).collect(),
            number: dotted.clone(),
            is_list,
        }
    }

    /// The value of a TLV, and its comment.
    fn element(&self, tlv: &Tlv) -> (String, String) {
        match &tlv.value {
            Value::Bare => unreachable!("a pad and the end marker have no value"),
            Value::Nested(tlvs) => {
                let within = self.within(tlv.number).with(tlvs);
                (within.inline(tlvs), String::new())
            }
            Value::Bytes(bytes) => self.value(tlv.number, bytes),
        }
    }

    /// A value that holds no TLVs, and its comment.
    fn value(&self, number: u8, value: &[u8]) -> (String, String) {
        let Some(shown) = self.show(number, value) else {
            return (bytes(value), ascii(value));
        };
        let is_quantity = !shown.words.is_empty() && !self.is_scaled(number);
        let as_words = || match &shown.value {
            Some(Json::Array(_)) => {
                Json::Array((shown.words.split(", ")).map(Json::from).collect())
            }
            _ => shown.words.as_str().into(),
        };
        // What is written must be read back to the same bytes, or else the bytes are written.
        let candidates = [is_quantity.then(as_words), shown.value.clone()];
        let written = (candidates.into_iter().flatten())
            .find(|written| self.read(number, written).as_deref() == Ok(value));
        let mut comment = Vec::new();
        match &written {
            None if !shown.words.is_empty() => comment.push(shown.words.clone()),
            Some(_) if self.is_scaled(number) => comment.push(shown.words.clone()),
            None | Some(_) => {}
        }
        if !shown.meaning.is_empty() {
            comment.push(shown.meaning);
        }
        if !shown.problem.is_empty() {
            comment.push(shown.problem);
        }
        if written.is_none() && comment.is_empty() {
            comment.push(ascii(value));
        }
        let text = written.map_or_else(|| bytes(value), |written| toml(&written));
        (text, comment.join(", "))
    }
}

/// Splits TLVs before the first whose key occurred earlier. TLVs of one type beside each other
/// share a key.
fn unique(tlvs: &[Tlv]) -> (&[Tlv], &[Tlv]) {
    let mut keys = BTreeSet::new();
    let mut count = 0;
    for group in groups(tlvs) {
        if !keys.insert(group[0].number) {
            break;
        }
        count += group.len();
    }
    tlvs.split_at(count)
}

/// TLVs of one type beside each other.
fn groups(tlvs: &[Tlv]) -> impl Iterator<Item = &[Tlv]> {
    tlvs.chunk_by(|one, next| one.number == next.number)
}

/// Bytes in TOML.
fn bytes(value: &[u8]) -> String {
    format!("\"0x{}\"", hex(value))
}

/// A value as text for a comment; empty if it is no text.
fn ascii(value: &[u8]) -> String {
    match str::from_utf8(value) {
        Ok(text) if text.len() >= 4 && text.chars().all(is_plain) => format!("{text:?}"),
        _ => String::new(),
    }
}

/// A number, text or list in TOML.
fn toml(value: &Json) -> String {
    match value {
        Json::Array(values) => {
            let values: Vec<String> = values.iter().map(toml).collect();
            format!("[{}]", values.join(", "))
        }
        Json::String(text) if text.contains(['"', '\\']) && !text.contains('\'') => {
            format!("'{text}'")
        }
        // A text has no character that TOML and JSON write differently.
        plain => plain.to_string(),
    }
}
