//! Names the grammar knows and this version cannot carry out: a scenario that uses one parses, and is told so.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess,
    Visitor,
};

use super::named::Named;

/// A kind that can be built, or the name of one that cannot yet.
pub(super) enum Planned<T> {
    Known(T),
    Planned(String),
}

impl<'de, T: Deserialize<'de>> Planned<T> {
    /// Reads a kind as [`Named`] does; one of the names in `planned` is taken with whatever stands in its table.
    pub(super) fn read<D: Deserializer<'de>>(
        deserializer: D,
        planned: &'static [&'static str],
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KnownOrPlanned(planned, PhantomData))
    }
}

struct KnownOrPlanned<T>(&'static [&'static str], PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for KnownOrPlanned<T> {
    type Value = Planned<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table with one name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        if self.0.contains(&name) {
            return Ok(Planned::Planned(name.to_owned()));
        }
        Named::deserialize(name.into_deserializer()).map(|Named(known)| Planned::Known(known))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let first: Option<String> = map.next_key()?;
        match first {
            Some(name) if self.0.contains(&name.as_str()) => {
                map.next_value::<IgnoredAny>()?;
                Ok(Planned::Planned(name))
            }
            first => {
                let map = serde::de::value::MapAccessDeserializer::new(Peeked { first, map });
                Named::deserialize(map).map(|Named(known)| Planned::Known(known))
            }
        }
    }
}

/// A map whose first key has been read already.
struct Peeked<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Peeked<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(name) => seed.deserialize(name.into_deserializer()).map(Some),
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
