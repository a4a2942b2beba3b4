//! The TLVs beside each other in a file or in another TLV: what each of them is called and how its
//! value is shown and read.

use std::cmp::Reverse;

use serde_json::Value as Json;

use super::error::TextError;
use crate::file::{END, File, GENERAL, PAD, Tlv, VENDOR_ID, VENDOR_SPECIFIC, Value};
use crate::quantity::Unit;
use crate::table::{Definition, Kind, definition_in, find_in, names, parents};
use crate::value::{self, Refused, Shown};

/// Where TLVs stand beside each other.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) kind: Kind,
    /// The types of the TLVs around them.
    pub(super) path: Vec<u8>,
    /// Whether a vendor defines them, all but the TLV with its id.
    is_vendors: bool,
    /// The unit of the rates of a service flow, in bit/s.
    rate_factor: u64,
}

/// The type, in a service flow, of the unit of its rates.
pub(super) const RATE_UNIT: u8 = 41;
/// The types of the rates that are in this unit.
const RATES: [u8; 3] = [8, 10, 27];

impl Scope {
    /// The outermost TLVs of a file.
    pub(super) fn outermost(kind: Kind) -> Self {
        Self {
            kind,
            path: Vec::new(),
            is_vendors: false,
            rate_factor: 1,
        }
    }

    /// The TLVs in the TLV of type `number` of this scope. Their vendor and the unit of their rates
    /// are not known yet.
    pub(super) fn within(&self, number: u8) -> Self {
        Self {
            path: [self.path.as_slice(), &[number]].concat(),
            rate_factor: 1,
            ..*self
        }
    }

    /// This scope with the vendor and the unit of rates that `tlvs` give.
    pub(super) fn with(mut self, tlvs: &[Tlv]) -> Self {
        let first = |number| tlvs.iter().find(|tlv| tlv.number == number);
        if self.path.last() == Some(&VENDOR_SPECIFIC) {
            self.is_vendors = first(VENDOR_ID).and_then(Tlv::bytes) != Some(&GENERAL);
        }
        self.set_rate_unit(first(RATE_UNIT).and_then(Tlv::bytes));
        self
    }

    /// Sets the unit of rates from the value of the data rate unit (TLV 41).
    pub(super) fn set_rate_unit(&mut self, value: Option<&[u8]>) {
        let is_flow = self.path.len() == 1 && self.definition(RATE_UNIT).is_some();
        self.rate_factor = match value {
            Some(&[unit @ 1..=3]) if is_flow => 1000_u64.pow(u32::from(unit)),
            _ => 1,
        };
    }

    /// The path of a TLV of this scope.
    pub(super) fn path_of(&self, number: u8) -> Vec<u8> {
        [self.path.as_slice(), &[number]].concat()
    }

    /// The path with dots: `24.35.2`.
    pub(super) fn dotted(&self, number: u8) -> String {
        let path = self.path_of(number);
        let places: Vec<String> = path.iter().map(u8::to_string).collect();
        places.join(".")
    }

    pub(super) fn definition(&self, number: u8) -> Option<&'static Definition> {
        if self.is_vendors && number != VENDOR_ID {
            return None;
        }
        definition_in(self.kind, &self.path_of(number))
    }

    /// The key of a TLV in TOML.
    pub(super) fn key(&self, number: u8) -> String {
        match self.definition(number) {
            Some(definition) => definition.name.clone(),
            None => format!("tlv_{number}"),
        }
    }

    /// The type of the TLV that is called `key`.
    pub(super) fn number(&self, key: &str) -> Option<u8> {
        let found = find_in(self.kind, &self.path, key);
        let by_number = || {
            let digits = key.strip_prefix("tlv_")?;
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| is_plain)
        };
        found.or_else(by_number)
    }

    /// The error for a key that this scope does not have.
    pub(super) fn unknown(&self, path: &str, key: &str, further: &[&'static str]) -> TextError {
        let plain = |name: &str| name.replace('_', "").to_lowercase();
        let asked = plain(key);
        let likeness = |name: &&str| (strsim::jaro_winkler(&plain(name), &asked) * 1e6) as u64;
        let meant = names(&self.path)
            .chain(further.iter().copied())
            // The first of those that are equally alike: a name stands before its aliases.
            .min_by_key(|name| Reverse(likeness(name)))
            .filter(|name| likeness(name) > LEAST_LIKENESS);
        let around = match self.path.split_last() {
            None => "a configuration file".to_owned(),
            Some((&number, around)) => {
                let outer = Self {
                    path: around.to_vec(),
                    ..self.clone()
                };
                outer.key(number)
            }
        };
        let mut expected = format!("the name of a TLV of {around}, or its number such as tlv_213");
        let owners = owners(self.kind, key);
        if !self.path.is_empty() && find_in(self.kind, &[], key).is_some() {
            expected += ": this one is of the file itself, where it stands before the tables or \
                         below [[then]]";
        } else if !owners.is_empty() {
            expected.push_str(": this one belongs in ");
            expected.push_str(&owners.join(", "));
        }
        TextError {
            meant: meant.map(str::to_owned).filter(|_| owners.is_empty()),
            ..TextError::new(path, format!("the name {}", Json::from(key)), expected)
        }
    }

    /// The unit in which the numbers of a TLV are.
    fn unit(&self, number: u8, definition: &Definition) -> Option<Unit> {
        let unit = value::unit(definition)?;
        Some(if self.is_scaled(number) {
            unit.times(self.rate_factor)
        } else {
            unit
        })
    }

    /// Whether the data rate unit (TLV 41) scales the numbers of a TLV.
    pub(super) fn is_scaled(&self, number: u8) -> bool {
        self.rate_factor != 1 && RATES.contains(&number)
    }

    /// A value as its definition shows it; none if it has no definition.
    pub(super) fn show(&self, number: u8, bytes: &[u8]) -> Option<Shown> {
        let definition = self.definition(number)?;
        let unit = self.unit(number, definition);
        Some(value::show_in(definition, unit, bytes))
    }

    /// The bytes that a written value stands for.
    pub(super) fn read(&self, number: u8, written: &Json) -> Result<Vec<u8>, Refused> {
        if let Some(bytes) = value::read_bytes(written) {
            return bytes;
        }
        match definition_in(self.kind, &self.path_of(number)) {
            Some(definition) => {
                let unit = self.unit(number, definition);
                let read = value::read_in(definition, unit, written);
                read.map_err(|refused| self.add_rate_unit(number, definition, written, refused))
            }
            None => Err(Refused {
                found: value::found_words(written),
                expected: "bytes such as \"0x0a0b\", because its number is not in the table"
                    .to_owned(),
                meant: None,
            }),
        }
    }
}

impl Scope {
    /// Adds to `refused` how a rate that does not fit into its bytes can be written.
    fn add_rate_unit(
        &self,
        number: u8,
        definition: &Definition,
        written: &Json,
        mut refused: Refused,
    ) -> Refused {
        let has_unit = self.path.len() == 1 && self.definition(RATE_UNIT).is_some();
        if !has_unit || self.rate_factor != 1 || !RATES.contains(&number) {
            return refused;
        }
        let in_thousands = value::unit(definition).map(|unit| unit.times(1000));
        if written.is_string() && value::read_in(definition, in_thousands, written).is_ok() {
            refused.expected += "; with data_rate_unit = 1 beside it, rates are counted in kbit/s \
                                 and may be larger";
        }
        refused
    }
}

/// The first TLVs that may hold one called `key`, for an error.
fn owners(kind: Kind, key: &str) -> Vec<String> {
    let mut owners: Vec<String> = Vec::new();
    for around in parents() {
        if find_in(kind, around, key).is_none() {
            continue;
        }
        let names = (1..=around.len()).map(|length| {
            definition_in(kind, &around[..length]).map_or("", |found| found.name.as_str())
        });
        owners.push(names.collect::<Vec<_>>().join("."));
        if owners.len() == MOST_OWNERS {
            break;
        }
    }
    owners
}

/// The most TLVs that such an error names.
const MOST_OWNERS: usize = 3;

/// An error suggests a name of at least this Jaro-Winkler similarity, in millionths.
const LEAST_LIKENESS: u64 = 850_000;

/// TLVs that have been read from text, and how many bytes they take in the file.
#[derive(Debug, Default)]
pub(super) struct Tlvs {
    pub(super) all: Vec<Tlv>,
    pub(super) size: usize,
    /// Whether the end of the file is among them.
    has_end: bool,
}

impl Tlvs {
    /// Adds a TLV of `scope`. `nested` is the size of the TLVs in it, if it holds TLVs.
    ///
    /// # Errors
    ///
    /// If its value is longer than its length can say, if it is behind the end of the file, or if
    /// the file is too large.
    pub(super) fn push(
        &mut self,
        scope: &Scope,
        path: &str,
        number: u8,
        value: Value,
        nested: usize,
    ) -> Result<(), TextError> {
        if self.has_end {
            return Err(TextError::new(
                path,
                "a TLV after the end of the file",
                "it before the end, because modems read nothing behind it",
            ));
        }
        self.has_end = value == Value::Bare && number == END;
        let longest = Tlv::longest(scope.kind, &scope.path_of(number));
        let width = if longest > usize::from(u8::MAX) { 2 } else { 1 };
        let length = match &value {
            Value::Bare => 0,
            Value::Bytes(bytes) => bytes.len(),
            Value::Nested(_) => nested,
        };
        if length > longest {
            let expected = format!("at most {longest} bytes, the most that its length can say");
            return Err(TextError::new(path, format!("{length} bytes"), expected));
        }
        self.size += match &value {
            Value::Bare => 1,
            Value::Bytes(_) | Value::Nested(_) => 1 + width + length,
        };
        self.all.push(Tlv { number, value });
        if self.size > LARGEST {
            return Err(too_large(path));
        }
        Ok(())
    }

    /// Adds `count` pads.
    ///
    /// # Errors
    ///
    /// If the file becomes too large.
    pub(super) fn pad(&mut self, path: &str, count: u64) -> Result<(), TextError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > LARGEST - self.size {
            return Err(too_large(path));
        }
        self.size += count;
        self.all.extend((0..count).map(|_| Tlv::bare(PAD)));
        Ok(())
    }

    /// The file of these TLVs and what follows them.
    ///
    /// # Errors
    ///
    /// If its kind is not that of its first bytes.
    pub(super) fn into_file(self, kind: Kind, rest: Vec<u8>) -> Result<File, TextError> {
        let written = File {
            kind,
            tlvs: self.all,
            rest,
        };
        // Bytes that were written for nested TLVs are taken apart.
        let file = File::decode(&written.encode());
        match (kind, file.kind) {
            (Kind::Mta, Kind::CableModem) => Err(TextError::new(
                "kind",
                "\"mta\"",
                "a file that begins with TLV 254 of value 1, as an MTA's does",
            )),
            (Kind::CableModem, Kind::Mta) => Err(TextError::new(
                "",
                "TLV 254 of value 1 at the beginning",
                "kind = \"mta\" before it, because an MTA's file begins with this TLV",
            )),
            _ => Ok(file),
        }
    }
}

/// The largest file that is made of text, in bytes, because a few characters can stand for many
/// pads. A modem's file has some kilobytes.
pub(super) const LARGEST: usize = 1 << 20;

fn too_large(path: &str) -> TextError {
    TextError::new(
        path,
        "a file that is larger",
        format!("at most {LARGEST} bytes in all"),
    )
}

/// Keys that are no TLV with a value.
pub(super) const THEN: &str = "then";
/// A number of zero bytes (pads).
pub(super) const PADS: &str = "pad";
/// The end marker.
pub(super) const ENDS: &str = "end";
/// Bytes that are no TLV, at the end.
pub(super) const REST: &str = "rest";
/// The device that the file is for.
pub(super) const KIND: &str = "kind";
/// That the file has no message integrity checks, and is to have none.
pub(super) const UNSIGNED: &str = "unsigned";
