//! Two short forms of scenario values: a name in place of a table, and a plain value in place of a
//! table.
//!
//! Both inspect the value before they choose a form. Serde's `untagged` would do that as well, but
//! its errors lose the path and the message.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    VariantAccess, Visitor,
};
use serde::{Serialize, Serializer};

/// One of several kinds. `"codel"` alone takes all defaults; `{ codel = { target = "5 ms" } }` sets
/// parameters.
///
/// `T` is an externally tagged enum whose variants hold configurations with defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Named<T>(pub T);

/// A quantity as text, or a table with more detail: a constant rate or a schedule, a delay or a
/// distribution of delays.
#[derive(Debug, Clone, PartialEq)]
pub enum OrTable<Q, T> {
    /// The quantity.
    Plain(Q),
    /// The table.
    Table(T),
}

/// Serializes `value` as [`Named`] does, for `#[serde(with = …)]`.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    value.serialize(serializer)
}

/// Deserializes a value as [`Named`] does, for `#[serde(with = …)]`.
///
/// # Errors
///
/// Those of the deserializer.
pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Named::deserialize(deserializer).map(|Named(value)| value)
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(NameOrTable(PhantomData))
            .map(Self)
    }
}

struct NameOrTable<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NameOrTable<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table with one name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
        T::deserialize(OneEntry(MapDeserializer::new(std::iter::once((
            name,
            NoParameters,
        )))))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(OneEntry(map))
    }
}

/// A table whose only key names the kind.
struct OneEntry<A>(A);

impl<'de, A: MapAccess<'de>> Deserializer<'de> for OneEntry<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier
        ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for OneEntry<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        mut self,
        seed: V,
    ) -> Result<(V::Value, Self), A::Error> {
        match self.0.next_key_seed(seed)? {
            Some(variant) => Ok((variant, self)),
            None => Err(Error::custom("expected a name, found an empty table")),
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for OneEntry<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.newtype_variant::<serde::de::IgnoredAny>().map(|_| ())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        mut self,
        seed: T,
    ) -> Result<T::Value, A::Error> {
        let value = self.0.next_value_seed(seed)?;
        match self.0.next_key::<String>()? {
            None => Ok(value),
            Some(other) => Err(Error::custom(format_args!(
                "expected one name, found also \"{other}\""
            ))),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, A::Error> {
        Err(Error::custom("a named kind holds one table"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.newtype_variant_seed(StructBody(visitor))
    }
}

struct StructBody<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for StructBody<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_map(self.0)
    }
}

/// The parameters of a kind that is given by its name alone: an empty table.
#[derive(Clone, Copy)]
struct NoParameters;

impl<'de, E: Error> IntoDeserializer<'de, E> for NoParameters {
    type Deserializer = MapDeserializer<'de, std::iter::Empty<(&'static str, &'static str)>, E>;

    fn into_deserializer(self) -> Self::Deserializer {
        MapDeserializer::new(std::iter::empty())
    }
}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    /// The schema of both forms. The allowed names are those of the kinds.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let kinds = T::json_schema(generator);
        let names: Vec<String> = kinds
            .get("oneOf")
            .and_then(|kinds| kinds.as_array())
            .into_iter()
            .flatten()
            .filter_map(|kind| {
                let name = kind.get("required").and_then(|keys| keys.get(0));
                name.or_else(|| kind.get("const"))?
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        let kinds = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [{ "type": "string", "enum": names }, kinds] })
    }
}

impl<Q: Serialize, T: Serialize> Serialize for OrTable<Q, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain(quantity) => quantity.serialize(serializer),
            Self::Table(table) => table.serialize(serializer),
        }
    }
}

impl<'de, Q: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for OrTable<Q, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PlainOrTable(PhantomData))
    }
}

struct PlainOrTable<Q, T>(PhantomData<(Q, T)>);

impl<'de, Q: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for PlainOrTable<Q, T> {
    type Value = OrTable<Q, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a table")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Q::deserialize(text.into_deserializer()).map(OrTable::Plain)
    }

    // Numbers and the rest are passed to the quantity, whose error says what is expected, or that a
    // unit is missing.
    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Q::deserialize(value.into_deserializer()).map(OrTable::Plain)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Q::deserialize(number.into_deserializer()).map(OrTable::Plain)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Q::deserialize(number.into_deserializer()).map(OrTable::Plain)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Q::deserialize(number.into_deserializer()).map(OrTable::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(OrTable::Table)
    }
}

impl<Q: JsonSchema, T: JsonSchema> JsonSchema for OrTable<Q, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (plain, table) = (
            generator.subschema_for::<Q>(),
            generator.subschema_for::<T>(),
        );
        json_schema!({ "anyOf": [plain, table] })
    }
}
