//! A file from its TOML. [`super::to_toml`] says what that is.

use serde_json::{Number, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::TextError;
use super::scope::{ENDS, KIND, PADS, RATE_UNIT, REST, Scope, THEN, Tlvs, UNSIGNED};
use crate::characters::unhex;
use crate::file::{END, File, PAD, Value};
use crate::table::{Form, Kind, definition_in};
use crate::value::{Refused, found_words};

/// Reads a file's TOML. The TLVs of the file have the order of the text. A key is a name of the
/// table or a number (`tlv_213`); a value is a number, a text, a list, a table of TLVs or bytes.
///
/// # Errors
///
/// If the text is no TOML, or has a name or value that does not fit.
pub fn from_toml(text: &str) -> Result<File, TextError> {
    let table = DeTable::parse(text).map_err(|error| unreadable(text, &error))?;
    let table = table.get_ref();
    let mut reader = Reader {
        text,
        rest: Vec::new(),
    };
    let kind = match table.get(KIND) {
        None => Kind::CableModem,
        Some(kind) => reader.kind(kind)?,
    };
    let mut tlvs = Tlvs::default();
    reader.tlvs(&Scope::outermost(kind), table, "", 0, &mut tlvs)?;
    tlvs.into_file(kind, reader.rest)
}

/// Why a text is no TOML.
fn unreadable(text: &str, error: &toml::de::Error) -> TextError {
    let message: Vec<&str> = error.message().split_whitespace().collect();
    let message = message.join(" ");
    let Some(span) = error.span() else {
        return TextError::new("", message, "");
    };
    let key = text.get(span.clone()).unwrap_or_default();
    let is_header = text[..span.start].ends_with('[');
    let wrong = if message == "duplicate key" {
        let expected = if is_header {
            format!("[[{key}]] for each of several")
        } else {
            format!(
                "it once; of a TLV that a file may have several times, the values in one list: \
                 {key} = [first, second]"
            )
        };
        TextError::new(key, "the key a second time", expected)
    } else {
        TextError::new("", message, "")
    };
    wrong.at(text, span.start)
}

struct Reader<'a> {
    text: &'a str,
    /// Bytes that are no TLV, at the end of the file.
    rest: Vec<u8>,
}

/// A key with its value, or with one of the tables that are its value.
struct Entry<'a> {
    key: &'a str,
    path: String,
    /// Where it stands in the text.
    offset: usize,
    value: &'a Spanned<DeValue<'a>>,
}

impl Reader<'_> {
    /// Reads the TLVs in `table` into `read`. `depth` counts the tables around it.
    fn tlvs(
        &mut self,
        scope: &Scope,
        table: &DeTable<'_>,
        path: &str,
        depth: usize,
        read: &mut Tlvs,
    ) -> Result<(), TextError> {
        for entry in entries(table, path) {
            self.entry(scope, &entry, depth, read)
                .map_err(|error| match error.line {
                    Some(_) => error,
                    None => error.at(self.text, entry.offset),
                })?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        scope: &Scope,
        entry: &Entry<'_>,
        depth: usize,
        read: &mut Tlvs,
    ) -> Result<(), TextError> {
        let Entry { key, path, .. } = entry;
        let value = entry.value.get_ref();
        let is_outermost = scope.path.is_empty();
        let wrong = |expected: &str| Err(wrong(path, value, expected));
        if depth >= DEEPEST {
            return Err(TextError::new(
                path,
                "tables nested deeper than those of any file",
                format!("at most {DEEPEST} levels"),
            ));
        }
        match (*key, value) {
            (KIND, _) if is_outermost && path == KIND => return Ok(()),
            (UNSIGNED, DeValue::Boolean(true)) if is_outermost && path == UNSIGNED => {
                return Ok(());
            }
            (UNSIGNED, _) if is_outermost && path == UNSIGNED => return wrong("true"),
            (THEN, DeValue::Table(table)) => {
                return self.tlvs(scope, table, path, depth + 1, read);
            }
            (THEN, _) => return wrong("tables of TLVs"),
            (REST, value) if is_outermost => {
                let json = json(value);
                let bytes = json
                    .as_str()
                    .and_then(|text| unhex(text.strip_prefix("0x")?));
                match bytes {
                    Some(bytes) => self.rest.extend(bytes),
                    None => return wrong("bytes such as \"0x0a0b\""),
                }
                return Ok(());
            }
            _ => {}
        }
        if is_outermost && !self.rest.is_empty() {
            return Err(TextError::new(
                path,
                format!("a TLV after {REST}"),
                format!("{REST} at the end: what follows it cannot be read as TLVs"),
            ));
        }
        match (*key, value) {
            (PADS, value) => match json(value).as_u64() {
                Some(count) => read.pad(path, count),
                None => wrong("a number of zero bytes"),
            },
            (ENDS, DeValue::Boolean(true)) if has_end(scope) => {
                read.push(scope, path, END, Value::Bare, 0)
            }
            (ENDS, _) if has_end(scope) => wrong("true"),
            (key, value) => match scope.number(key) {
                Some(PAD) => wrong(&format!("{PADS} = 1: a pad has no value")),
                Some(END) if has_end(scope) => {
                    wrong(&format!("{ENDS} = true: the end has no value"))
                }
                Some(number) => self.value(scope, number, value, path, depth, read),
                None => {
                    let further: &[&'static str] = if is_outermost {
                        &[THEN, PADS, ENDS, REST, KIND, UNSIGNED]
                    } else {
                        &[THEN, PADS]
                    };
                    Err(scope.unknown(path, key, further))
                }
            },
        }
    }

    /// The value of a TLV, or a list with those of several.
    fn value(
        &mut self,
        scope: &Scope,
        number: u8,
        value: &DeValue<'_>,
        path: &str,
        depth: usize,
        read: &mut Tlvs,
    ) -> Result<(), TextError> {
        let form = definition_in(scope.kind, &scope.path_of(number)).map(|found| found.form);
        match value {
            DeValue::Table(table) => {
                if !matches!(form, None | Some(Form::Nested | Form::Bytes)) {
                    let refused = scope.read(number, &json(value)).expect_err("it is a table");
                    return Err(TextError::refused(path, refused));
                }
                let mut within = scope.within(number);
                let unit = rate_unit(&within, table, 0).and_then(Result::ok);
                within.set_rate_unit(unit.as_deref());
                let mut nested = Tlvs::default();
                self.tlvs(&within, table, path, depth + 1, &mut nested)?;
                let size = nested.size;
                read.push(scope, path, number, Value::Nested(nested.all), size)
            }
            DeValue::Array(values) if values.is_empty() && !is_list(form) => {
                Err(TextError::new(path, "an empty list", "at least one value"))
            }
            DeValue::Array(values) if !is_one_list(form, value) => {
                for (index, value) in values.iter().enumerate() {
                    let path = format!("{path}[{}]", index + 1);
                    if value.get_ref().is_array() && !is_list(form) {
                        return Err(wrong(&path, value.get_ref(), "the value of one TLV"));
                    }
                    self.value(scope, number, value.get_ref(), &path, depth, read)
                        .map_err(|error| match error.line {
                            Some(_) => error,
                            None => error.at(self.text, value.span().start),
                        })?;
                }
                Ok(())
            }
            value => {
                let bytes = scope.read(number, &json(value));
                let bytes = bytes.map_err(|refused| TextError::refused(path, refused))?;
                read.push(scope, path, number, Value::Bytes(bytes), 0)
            }
        }
    }

    fn kind(&self, kind: &Spanned<DeValue<'_>>) -> Result<Kind, TextError> {
        match kind.get_ref().as_str() {
            Some("cable_modem") => Ok(Kind::CableModem),
            Some("mta") => Ok(Kind::Mta),
            _ => {
                let wrong = wrong(KIND, kind.get_ref(), "\"cable_modem\" or \"mta\"");
                Err(wrong.at(self.text, kind.span().start))
            }
        }
    }
}

/// The most tables that may be nested in each other. The TLVs of a file, each with a `then`, are
/// nested less deeply: the table of TLVs bounds their depth.
const DEEPEST: usize = 32;

/// Whether the TLVs of the scope may have an end marker.
fn has_end(scope: &Scope) -> bool {
    scope.path.is_empty() && scope.kind == Kind::CableModem
}

/// The keys of a table in the order of the text. A list of tables is an entry for each.
fn entries<'a>(table: &'a DeTable<'_>, around: &str) -> Vec<Entry<'a>> {
    let mut entries = Vec::new();
    for (key, value) in table {
        let name = key.get_ref();
        let path = if around.is_empty() {
            name.to_string()
        } else {
            format!("{around}.{name}")
        };
        match value.get_ref() {
            DeValue::Array(values)
                if !values.is_empty() && values.iter().all(|value| value.get_ref().is_table()) =>
            {
                entries.extend(values.iter().enumerate().map(|(index, value)| Entry {
                    key: name,
                    path: format!("{path}[{}]", index + 1),
                    offset: value.span().start,
                    value,
                }));
            }
            _ => entries.push(Entry {
                key: name,
                path,
                offset: key.span().start,
                value,
            }),
        }
    }
    entries.sort_by_key(|entry| entry.offset);
    entries
}

/// The value of the first data rate unit (TLV 41) in `table`, as it was read.
fn rate_unit(scope: &Scope, table: &DeTable<'_>, depth: usize) -> Option<Result<Vec<u8>, Refused>> {
    entries(table, "")
        .iter()
        .find_map(|entry| match entry.value.get_ref() {
            DeValue::Table(table) if entry.key == THEN && depth < DEEPEST => {
                rate_unit(scope, table, depth + 1)
            }
            value if scope.number(entry.key) == Some(RATE_UNIT) => {
                let first = first_of(value);
                Some(scope.read(RATE_UNIT, &json(first)))
            }
            _ => None,
        })
}

/// The value of the first of several TLVs that a list is for; else the value itself.
fn first_of<'a, 'b>(value: &'a DeValue<'b>) -> &'a DeValue<'b> {
    (value.as_array().and_then(|values| values.first())).map_or(value, |first| first.get_ref())
}

fn is_list(form: Option<Form>) -> bool {
    matches!(form, Some(Form::U8List | Form::U16List | Form::TypeBits))
}

/// Whether an array is the value of one TLV, and not a list with the values of several.
fn is_one_list(form: Option<Form>, value: &DeValue<'_>) -> bool {
    let is_whole = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Array(_) => true,
        DeValue::String(text) => text.starts_with("0x"),
        _ => false,
    };
    is_list(form)
        && !value
            .as_array()
            .is_some_and(|values| values.iter().any(is_whole))
}

/// A value as JSON. A table becomes an empty object, because `Reader::tlvs` reads what is in it.
fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::Array(values) => {
            Json::Array(values.iter().map(|value| json(value.get_ref())).collect())
        }
        DeValue::Boolean(value) => Json::Bool(*value),
        DeValue::Datetime(value) => Json::String(value.to_string()),
        DeValue::Float(value) => {
            let number = value.as_str().parse().ok().and_then(Number::from_f64);
            number.map_or_else(|| value.as_str().into(), Json::Number)
        }
        DeValue::Integer(value) => match i64::from_str_radix(value.as_str(), value.radix()) {
            Ok(number) => number.into(),
            Err(_) => value.as_str().into(),
        },
        DeValue::String(value) => value.to_string().into(),
        DeValue::Table(_) => Json::Object(serde_json::Map::new()),
    }
}

fn wrong(path: &str, found: &DeValue<'_>, expected: &str) -> TextError {
    TextError::new(path, found_words(&json(found)), expected)
}
