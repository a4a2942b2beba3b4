//! A file from its JSON. [`super::to_json`] says what that is.

use serde_json::{Map, Value as Json};

use super::error::TextError;
use super::scope::{Scope, Tlvs};
use crate::characters::{hex, unhex};
use crate::file::{END, File, PAD, Value};
use crate::table::Kind;
use crate::value::found_words;

/// Reads a file's JSON. The key `tlv` gives the type of a TLV. The value is read from `nested` if
/// that is there, and otherwise from `hex` or `value`, which must agree if both are there. Keys
/// that only describe the file (`size`, `path`, `offset`, `name`, `unit`, `shown`, `meaning`,
/// `problem`, and the `hex` beside `nested`) are not read.
///
/// # Errors
///
/// If the text is no JSON, or not of this form.
pub fn from_json(text: &str) -> Result<File, TextError> {
    let json: Json =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            let message = error.to_string();
            let end = message.rfind(" at line ").unwrap_or(message.len());
            TextError {
                line: Some(error.line()),
                ..TextError::new("", message[..end].to_owned(), "")
            }
        })?;
    let top = object(&json, "")?;
    known(
        top,
        "",
        &["kind", "size", "tlvs", "rest"],
        "JSON as `headend config decode --json` writes it, with the keys of a file",
    )?;
    let kind = match top.get("kind").map(|kind| kind.as_str()) {
        None | Some(Some("cable_modem")) => Kind::CableModem,
        Some(Some("mta")) => Kind::Mta,
        Some(_) => return Err(wrong("kind", &top["kind"], "\"cable_modem\" or \"mta\"")),
    };
    let tlvs = tlvs(
        Scope::outermost(kind),
        top.get("tlvs").unwrap_or(&Json::Null),
        "tlvs",
    )?;
    let rest = match top.get("rest") {
        None => Vec::new(),
        Some(rest) => {
            let rest = object(rest, "rest")?;
            known(rest, "rest", &["offset", "hex"], "a key of the rest")?;
            bytes(rest.get("hex").unwrap_or(&Json::Null), "rest.hex")?
        }
    };
    tlvs.into_file(kind, rest)
}

/// TLVs beside each other.
fn tlvs(mut scope: Scope, json: &Json, path: &str) -> Result<Tlvs, TextError> {
    let Json::Array(list) = json else {
        return Err(wrong(path, json, "a list of TLVs"));
    };
    let rate_unit = list.iter().find(|tlv| {
        let of_tlv = tlv.get("tlv").and_then(Json::as_str);
        of_tlv.is_some_and(|tlv| tlv.ends_with(".41"))
    });
    let rate_unit = rate_unit.and_then(|tlv| leaf(&scope, tlv.as_object()?, 41, path).ok());
    scope.set_rate_unit(rate_unit.as_deref());
    let mut read = Tlvs::default();
    for (index, json) in list.iter().enumerate() {
        let path = format!("{path}[{}]", index + 1);
        let tlv = object(json, &path)?;
        known(
            tlv,
            &path,
            &[
                "tlv", "path", "name", "offset", "count", "hex", "value", "unit", "shown",
                "meaning", "problem", "nested",
            ],
            "a key of a TLV",
        )?;
        let number = number(&scope, tlv, &path)?;
        let is_end = number == END && scope.kind == Kind::CableModem && scope.path.is_empty();
        if number == PAD {
            let count = match tlv.get("count") {
                None => 1,
                Some(count) => (count.as_u64())
                    .ok_or_else(|| wrong(&format!("{path}.count"), count, "a number of pads"))?,
            };
            no_value(tlv, &path, "a pad")?;
            read.pad(&path, count)?;
        } else if is_end {
            no_value(tlv, &path, "the end of the file")?;
            read.push(&scope, &path, END, Value::Bare, 0)?;
        } else if let Some(nested) = tlv.get("nested") {
            let nested = tlvs(scope.within(number), nested, &format!("{path}.nested"))?;
            let size = nested.size;
            read.push(&scope, &path, number, Value::Nested(nested.all), size)?;
        } else {
            let bytes = leaf(&scope, tlv, number, &path)?;
            read.push(&scope, &path, number, Value::Bytes(bytes), 0)?;
        }
    }
    Ok(read)
}

/// The type of a TLV: the last number of its `tlv`. The numbers before it must be the types of the
/// TLVs around it.
fn number(scope: &Scope, tlv: &Map<String, Json>, path: &str) -> Result<u8, TextError> {
    let written = tlv.get("tlv").unwrap_or(&Json::Null);
    let refuse = || {
        let example = scope.dotted(8);
        let expected = format!("the types of the TLV, such as \"{example}\"");
        wrong(&format!("{path}.tlv"), written, &expected)
    };
    if let Some(number) = written.as_u64() {
        return u8::try_from(number).map_err(|_| refuse());
    }
    let places: Option<Vec<u8>> = (written.as_str())
        .and_then(|text| text.split('.').map(|place| place.parse().ok()).collect());
    match places.as_deref().and_then(<[u8]>::split_last) {
        Some((&number, around)) if around == scope.path => Ok(number),
        _ => Err(refuse()),
    }
}

/// The value of a TLV that holds no others.
fn leaf(
    scope: &Scope,
    tlv: &Map<String, Json>,
    number: u8,
    path: &str,
) -> Result<Vec<u8>, TextError> {
    let value_path = format!("{path}.value");
    let read = |value| {
        let read = scope.read(number, value);
        read.map_err(|refused| TextError::refused(&value_path, refused))
    };
    match (tlv.get("hex"), tlv.get("value")) {
        (Some(digits), None) => bytes(digits, &format!("{path}.hex")),
        (None, Some(value)) => read(value),
        (Some(digits), Some(value)) => {
            let bytes = bytes(digits, &format!("{path}.hex"))?;
            let shown = scope.show(number, &bytes).and_then(|shown| shown.value);
            if shown.as_ref() == Some(value) || read(value)? == bytes {
                return Ok(bytes);
            }
            let expected = format!(
                "the value of the hex beside it ({}), or only one of the two",
                hex(&bytes)
            );
            Err(wrong(&value_path, value, &expected))
        }
        (None, None) => Err(TextError::new(
            path,
            "a TLV without a value",
            "one of hex, value and nested",
        )),
    }
}

fn bytes(json: &Json, path: &str) -> Result<Vec<u8>, TextError> {
    let digits = json
        .as_str()
        .map(|text| text.strip_prefix("0x").unwrap_or(text));
    let bytes = digits.and_then(unhex);
    bytes.ok_or_else(|| {
        let expected = "bytes such as \"0a0b\", with two hexadecimal digits for each";
        wrong(path, json, expected)
    })
}

fn object<'a>(json: &'a Json, path: &str) -> Result<&'a Map<String, Json>, TextError> {
    json.as_object()
        .ok_or_else(|| wrong(path, json, "an object"))
}

/// Refuses a key that is not among `keys`.
fn known(
    object: &Map<String, Json>,
    path: &str,
    keys: &[&str],
    what: &str,
) -> Result<(), TextError> {
    let strange = object.keys().find(|key| !keys.contains(&key.as_str()));
    match strange {
        None => Ok(()),
        Some(key) => {
            let expected = format!("{what}: {}", keys.join(", "));
            let found = format!("the key {}", Json::from(key.as_str()));
            Err(TextError::new(path, found, expected))
        }
    }
}

/// Refuses a value of a TLV that has none.
fn no_value(tlv: &Map<String, Json>, path: &str, what: &str) -> Result<(), TextError> {
    match ["hex", "value", "nested"]
        .iter()
        .find(|key| tlv.contains_key(**key))
    {
        None => Ok(()),
        Some(key) => Err(wrong(
            &format!("{path}.{key}"),
            &tlv[*key],
            &format!("nothing: {what} has no value"),
        )),
    }
}

fn wrong(path: &str, found: &Json, expected: &str) -> TextError {
    TextError::new(path, found_words(found), expected)
}
