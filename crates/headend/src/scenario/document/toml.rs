//! TOML as a tree, with the place of every key and value.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::errors::one_line;
use super::lines::{Lines, push_key};
use super::{Document, Place};
use crate::scenario::error::{Problem, ScenarioError};

impl Document {
    /// Reads TOML.
    pub(super) fn from_toml(text: &str) -> Result<Self, ScenarioError> {
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
        Ok(Self::new(tree, places))
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

/// The value of an override: what its text is in TOML, if it is that, and otherwise the text.
pub(super) fn read_override(text: &str) -> Value {
    let lines = Lines::of(text);
    match DeValue::parse(text) {
        Ok(value) if !value.get_ref().is_datetime() => {
            from_value(&value, "", &lines, &mut BTreeMap::new())
        }
        _ => Value::String(text.to_owned()),
    }
}
