//! A file as JSON: each TLV with its path, its place in the file, its bytes, and its value as the
//! table has it.

use serde_json::{Value as Json, json};

use super::scope::Scope;
use crate::characters::hex;
use crate::file::{File, PAD, Tlv, Value};
use crate::table::Kind;

/// The file as JSON text.
///
/// `{"kind": …, "size": N, "tlvs": [TLV…], "rest": {"offset": N, "hex": "…"}}`, where `kind` is
/// `cable_modem` or `mta`, `size` is in bytes and `rest` are bytes that are no TLV. A TLV has
///
/// - `tlv`, its types with dots, and `path`, the same with `[n]` (from 1) behind each type that is
///   there more than once;
/// - `name`, if the table has it, and `offset`, the bytes of the file before it;
/// - `hex`, its whole value; a pad and the end marker have none, and pads beside each other are one
///   with `count`;
/// - `value`, a number, text or list; with `unit`, of which a number is a multiple, `shown`, the
///   value in words, and `meaning`, of an enumerated number;
/// - `problem`, a sentence, if the length or a number is not as the table has it;
/// - `nested`, the TLVs in it.
pub fn to_json(file: &File) -> String {
    let mut writer = Writer {
        bytes: file.encode(),
        offset: 0,
        json: String::new(),
    };
    let kind = match file.kind {
        Kind::CableModem => "cable_modem",
        Kind::Mta => "mta",
    };
    writer.json = format!("{{\"kind\":\"{kind}\"");
    writer.field("size", &writer.bytes.len().into());
    writer.key("tlvs");
    let scope = Scope::outermost(file.kind).with(&file.tlvs);
    writer.all(&scope, "", &file.tlvs);
    if !file.rest.is_empty() {
        let rest = json!({"offset": writer.offset, "hex": hex(&file.rest)});
        writer.field("rest", &rest);
    }
    writer.json.push('}');
    writer.json
}

/// The JSON as far as it is written. A tree of it would take many times the memory of its text.
struct Writer {
    bytes: Vec<u8>,
    /// How many of `bytes` stand before the next TLV.
    offset: usize,
    json: String,
}

impl Writer {
    /// Writes TLVs beside each other. `around` is the path of the TLV that they are in.
    fn all(&mut self, scope: &Scope, around: &str, tlvs: &[Tlv]) {
        let mut counts = [0_usize; 256];
        for run in runs(tlvs) {
            counts[usize::from(run[0].number)] += 1;
        }
        let mut seen = [0_usize; 256];
        let mut separator = '[';
        for run in runs(tlvs) {
            let number = run[0].number;
            let at = usize::from(number);
            seen[at] += 1;
            let mut path = around.to_owned();
            if !path.is_empty() {
                path.push('.');
            }
            path += &number.to_string();
            if counts[at] > 1 {
                path = format!("{path}[{}]", seen[at]);
            }
            self.json.push(separator);
            separator = ',';
            self.one(scope, &path, run);
        }
        if tlvs.is_empty() {
            self.json.push('[');
        }
        self.json.push(']');
    }

    /// Writes a TLV, or pads beside each other.
    fn one(&mut self, scope: &Scope, path: &str, run: &[Tlv]) {
        let tlv = &run[0];
        self.json += "{\"tlv\":";
        self.json += &Json::from(scope.dotted(tlv.number)).to_string();
        self.field("path", &path.into());
        if let Some(definition) = scope.definition(tlv.number) {
            self.field("name", &definition.name.as_str().into());
        }
        self.field("offset", &self.offset.into());
        let longest = Tlv::longest(scope.kind, &scope.path_of(tlv.number));
        let width = if longest > usize::from(u8::MAX) { 2 } else { 1 };
        match &tlv.value {
            Value::Bare => {
                if run.len() > 1 {
                    self.field("count", &run.len().into());
                }
                self.offset += run.len();
            }
            Value::Bytes(bytes) => {
                self.offset += 1 + width + bytes.len();
                self.field("hex", &hex(bytes).into());
                if let Some(shown) = scope.show(tlv.number, bytes) {
                    if let Some(value) = shown.value {
                        self.field("value", &value);
                    }
                    for (key, words) in [
                        ("unit", shown.unit),
                        ("shown", shown.words),
                        ("meaning", shown.meaning),
                        ("problem", shown.problem),
                    ] {
                        if !words.is_empty() {
                            self.field(key, &words.into());
                        }
                    }
                }
            }
            Value::Nested(tlvs) => {
                self.offset += 1 + width;
                let start = self.offset;
                // `nested` stands behind `hex`, but is written first: only then the end of its
                // bytes is known.
                let before = std::mem::take(&mut self.json);
                let within = scope.within(tlv.number).with(tlvs);
                self.all(&within, path, tlvs);
                let nested = std::mem::replace(&mut self.json, before);
                self.field("hex", &hex(&self.bytes[start..self.offset]).into());
                self.key("nested");
                self.json += &nested;
            }
        }
        self.json.push('}');
    }

    /// Writes a further entry of an object.
    fn field(&mut self, key: &str, value: &Json) {
        self.key(key);
        self.json += &value.to_string();
    }

    /// Writes the key of a further entry of an object.
    fn key(&mut self, key: &str) {
        self.json += ",\"";
        self.json += key;
        self.json += "\":";
    }
}

/// Splits TLVs into those that are written one by one; pads beside each other stay together.
fn runs(tlvs: &[Tlv]) -> impl Iterator<Item = &[Tlv]> {
    tlvs.chunk_by(|one, next| one.number == PAD && next.number == PAD)
}
