//! Ranges and lists of numbers, as people write them: `5060`, `"5000-5999"`, `"1-20, 31"`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};
use serde::{Serialize, Serializer};

/// A number, or all numbers from one to another, both included: `46` or `"40-47"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<T> {
    /// The lowest.
    pub from: T,
    /// The highest.
    pub to: T,
}

/// Some of a row that is counted from 1: `7`, `"1-50"`, `"1-20, 31, 40-45"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(Vec<Span<u32>>);

/// One thing, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Several<T>(pub Vec<T>);

impl<T: Copy + Ord> Span<T> {
    /// One number alone.
    pub fn of(number: T) -> Self {
        let (from, to) = (number, number);
        Self { from, to }
    }

    /// Whether `value` is one of them.
    pub fn contains(self, value: T) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Whether some number is in both.
    pub fn meets(self, other: Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }
}

impl Selection {
    /// Whether `number` is one of them.
    pub fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|span| span.contains(number))
    }

    /// The highest of them.
    pub fn highest(&self) -> u32 {
        self.0.iter().map(|span| span.to).max().unwrap_or(0)
    }

    /// The lowest of them.
    pub fn lowest(&self) -> u32 {
        self.0.iter().map(|span| span.from).min().unwrap_or(0)
    }
}

impl<T> Default for Several<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Several<T> {
    /// Whether it is an empty list.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// `"40-47"` or `"46"`; `None` for anything else, and for a range that ends before it begins.
fn read_span<T: FromStr + Copy + Ord>(text: &str) -> Option<Span<T>> {
    let number = |text: &str| text.trim().parse().ok();
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let span = Span {
        from: number(from)?,
        to: number(to)?,
    };
    (span.from <= span.to).then_some(span)
}

impl<T: fmt::Display + PartialEq> fmt::Display for Span<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            return self.from.fmt(f);
        }
        write!(f, "{}-{}", self.from, self.to)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, span) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{span}")?;
        }
        Ok(())
    }
}

impl<T: Serialize + fmt::Display + PartialEq> Serialize for Span<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.from == self.to {
            return self.from.serialize(serializer);
        }
        serializer.collect_str(self)
    }
}

impl<'de, T: FromStr + Copy + Ord + TryFrom<u64>> Deserialize<'de> for Span<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpanVisitor(PhantomData))
    }
}

struct SpanVisitor<T>(PhantomData<T>);

impl<T: FromStr + Copy + Ord + TryFrom<u64>> Visitor<'_> for SpanVisitor<T> {
    type Value = Span<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or a range such as \"40-47\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Span<T>, E> {
        let only = T::try_from(number)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
        Ok(Span {
            from: only,
            to: only,
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Span<T>, E> {
        read_span(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl Serialize for Selection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Selection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SelectionVisitor)
    }
}

struct SelectionVisitor;

impl Visitor<'_> for SelectionVisitor {
    type Value = Selection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or ranges such as \"1-50\" or \"1-20, 31\"")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Selection, E> {
        let only = u32::try_from(number)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))?;
        Ok(Selection(vec![Span {
            from: only,
            to: only,
        }]))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Selection, E> {
        let spans: Option<Vec<_>> = text.split(',').map(read_span).collect();
        spans
            .map(Selection)
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<T: Serialize> Serialize for Several<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [only] => only.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SeveralVisitor(PhantomData))
    }
}

struct SeveralVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SeveralVisitor<T> {
    type Value = Several<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table or a list of tables")
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Several<T>, A::Error> {
        let only = T::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
        Ok(Several(vec![only]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Several<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(Several(all))
    }
}

impl<T: JsonSchema> JsonSchema for Span<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = generator.subschema_for::<T>();
        let text = json_schema!({ "type": "string", "format": "Span", "examples": ["40-47"] });
        json_schema!({ "anyOf": [number, text] })
    }
}

impl JsonSchema for Selection {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Selection".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json_schema!({ "type": "string", "format": "Selection", "examples": ["1-50"] });
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, text] })
    }
}

impl<T: JsonSchema> JsonSchema for Several<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(json: &str) -> Result<Span<u8>, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn selection(json: &str) -> Result<Selection, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_number_and_a_range_are_spans() {
        assert_eq!(span("46"), Ok(Span { from: 46, to: 46 }));
        assert_eq!(span("\"40-47\""), Ok(Span { from: 40, to: 47 }));
        assert_eq!(span("\" 7 - 9 \""), Ok(Span { from: 7, to: 9 }));
        for wrong in [
            "\"47-40\"",
            "\"a\"",
            "\"\"",
            "300",
            "-1",
            "1.5",
            "\"1-2-3\"",
        ] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_read_is_written_the_same_way() {
        for text in ["46", "\"40-47\""] {
            let read = span(text).expect("it is a span");
            assert_eq!(serde_json::to_string(&read).expect("it has a text"), text);
        }
        for text in ["\"1-20, 31, 40-45\"", "\"7\""] {
            let read = selection(text).expect("it is a selection");
            assert_eq!(serde_json::to_string(&read).expect("it has a text"), text);
        }
    }

    #[test]
    fn spans_include_their_ends() {
        let span = Span { from: 40, to: 47 };
        assert!(span.contains(40) && span.contains(47));
        assert!(!span.contains(39) && !span.contains(48));
        assert!(span.meets(Span { from: 47, to: 60 }));
        assert!(!span.meets(Span { from: 48, to: 60 }));
    }

    #[test]
    fn a_selection_holds_what_is_listed() {
        let chosen = selection("\"1-3, 7\"").expect("it is a selection");
        let members: Vec<u32> = (0..10).filter(|&number| chosen.contains(number)).collect();
        assert_eq!(members, [1, 2, 3, 7]);
        assert_eq!((chosen.lowest(), chosen.highest()), (1, 7));
        assert_eq!(selection("7"), selection("\"7\""));
        assert!(selection("\"1-3,,7\"").is_err());
    }

    #[test]
    fn one_thing_is_a_list_of_one() {
        let read = |json: &str| {
            serde_json::from_str::<Several<std::collections::BTreeMap<String, u8>>>(json)
        };
        let one = read("{\"a\": 1}").expect("one");
        assert_eq!(one, read("[{\"a\": 1}]").expect("a list of one"));
        assert_eq!(
            serde_json::to_string(&one).expect("it has a text"),
            "{\"a\":1}"
        );
        assert_eq!(read("[{\"a\": 1}, {}]").expect("two").0.len(), 2);
        assert!(read("5").is_err());
    }
}
