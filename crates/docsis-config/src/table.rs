//! The definition of each TLV: its name, what its value holds, its unit and range, and the source.
//! The rows are in `tlvs.toml`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The device that a file is for. It decides which TLVs have a length of two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A cable modem.
    CableModem,
    /// A telephone adapter (PacketCable MTA).
    Mta,
}

/// What a TLV is.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The types from the outermost TLV to this one. A TLV that holds the same TLVs as another
    /// (24.43 holds those of 43) has the path of the other.
    pub path: Vec<u8>,
    /// The name of its key, such as `maximum_sustained_rate`.
    pub name: String,
    /// Further names that are understood, such as `MaxRateSustained`.
    pub aliases: Vec<String>,
    /// What its value holds.
    pub form: Form,
    /// The least and the most bytes of its value.
    pub length: (usize, usize),
    /// The unit of a number, such as `bit/s`; empty if it has none. A unit may have a number, such
    /// as `10 us` and `0.1`.
    pub unit: String,
    /// The least and the most that a number may be.
    pub range: Option<(u64, u64)>,
    /// The number that an absent TLV stands for.
    pub default: Option<u64>,
    /// What some numbers mean, such as 2 "best effort".
    pub meanings: BTreeMap<u64, String>,
    /// Short words for some of these meanings, such as 6 "UGS".
    pub short: BTreeMap<u64, String>,
    /// What bits of its bytes mean, counted from the lowest, which is 0.
    pub bits: BTreeMap<u32, String>,
    /// What it does, in a sentence.
    pub about: String,
    /// The document that says so.
    pub source: String,
    /// What a simulation does with it.
    pub model: Model,
}

impl Definition {
    /// Whether a value may have `length` bytes.
    pub fn fits(&self, length: usize) -> bool {
        let (least, most) = self.length;
        let is_whole = self.form != Form::U16List || length.is_multiple_of(2);
        is_whole && (least..=most).contains(&length)
    }

    /// Whether a value is the number that an absent TLV stands for.
    pub fn is_default(&self, value: &[u8]) -> bool {
        let number = value.iter().try_fold(0_u64, |sum, &byte| {
            Some(sum.checked_mul(256)? + u64::from(byte))
        });
        self.fits(value.len()) && number.is_some() && number == self.default
    }
}

/// What a value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Further TLVs.
    Nested,
    /// A number of one byte.
    U8,
    /// A number of two bytes.
    U16,
    /// A number of three bytes.
    U24,
    /// A number of four bytes.
    U32,
    /// A number of one byte or of two: sources differ, and the length decides.
    U8OrU16,
    /// Text that ends with a zero byte.
    Text,
    /// Text without an end.
    String,
    /// Bytes.
    Bytes,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// An Ethernet address.
    Mac,
    /// Numbers of one byte each.
    U8List,
    /// Numbers of two bytes each.
    U16List,
    /// Types of TLVs, a bit each: type 0 is the most significant bit of the first byte.
    TypeBits,
    /// An SNMP object with its value, in BER.
    Varbind,
}

impl Form {
    /// The least and the most bytes of a value of this form.
    fn length(self) -> (usize, usize) {
        match self {
            Self::U8 => (1, 1),
            Self::U16 => (2, 2),
            Self::U24 => (3, 3),
            Self::U32 | Self::Ipv4 => (4, 4),
            Self::U8OrU16 => (1, 2),
            Self::Ipv6 => (16, 16),
            Self::Mac => (6, 6),
            Self::Text => (1, usize::from(u8::MAX)),
            Self::Nested | Self::Varbind => (0, usize::from(u16::MAX)),
            Self::String | Self::Bytes | Self::U8List | Self::U16List | Self::TypeBits => {
                (0, usize::from(u8::MAX))
            }
        }
    }
}

/// What a simulation does with a TLV.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// It sets something of the simulated line.
    Yes,
    /// It would change the simulated line, but the model does not have it. A run says so.
    Said,
    /// It concerns nothing that is simulated.
    #[default]
    No,
}

/// The definition of the TLV at `path` in a modem's file.
pub fn definition(path: &[u8]) -> Option<&'static Definition> {
    definition_in(Kind::CableModem, path)
}

/// The definition of the TLV at `path` in a file of a kind.
pub fn definition_in(kind: Kind, path: &[u8]) -> Option<&'static Definition> {
    let table = table();
    let of_mta = match kind {
        Kind::Mta => table.of_mta.get(path),
        Kind::CableModem => None,
    };
    of_mta.or_else(|| table.definitions.get(table.canonical(path).as_ref()))
}

/// All definitions, by path, each once.
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    table().definitions.values()
}

/// The type of the TLV that is called `name` below the TLVs of `parent` in a modem's file; `parent`
/// is empty for the outermost. Upper and lower case and underscores do not matter.
pub fn find(parent: &[u8], name: &str) -> Option<u8> {
    find_in(Kind::CableModem, parent, name)
}

/// The type of the TLV that is called `name` below the TLVs of `parent` in a file of a kind.
pub fn find_in(kind: Kind, parent: &[u8], name: &str) -> Option<u8> {
    let table = table();
    let name = plain(name);
    let of_mta = || {
        let mut found = table.of_mta.iter();
        let (path, _) = found.find(|(path, definition)| {
            path.split_last()
                .is_some_and(|(_, around)| around == parent)
                && spellings(definition).any(|spelling| plain(spelling) == name)
        })?;
        path.last().copied()
    };
    let of_mta = (kind == Kind::Mta).then(of_mta).flatten();
    of_mta.or_else(|| {
        let below = table.below.get(table.canonical(parent).as_ref())?;
        below.by_name.get(&name).copied()
    })
}

/// Every name that is understood below the TLVs of `parent` in a modem's file, further names among
/// them.
pub fn names(parent: &[u8]) -> impl Iterator<Item = &'static str> {
    let table = table();
    let below = table.below.get(table.canonical(parent).as_ref());
    below
        .into_iter()
        .flat_map(|below| &below.names)
        .map(String::as_str)
}

/// The paths of TLVs that hold others, each once.
pub(crate) fn parents() -> impl Iterator<Item = &'static [u8]> {
    let parents = table().below.keys().map(Vec::as_slice);
    parents.filter(|path| !path.is_empty())
}

/// The table as JSON: a list of rows as in `tlvs.toml`, in its order.
///
/// # Panics
///
/// Never: a row is always JSON.
pub fn table_json() -> String {
    serde_json::to_string(&table().rows).expect("a row is JSON")
}

/// What `definition` is called.
fn spellings(definition: &Definition) -> impl Iterator<Item = &String> {
    [&definition.name]
        .into_iter()
        .chain(definition.aliases.iter())
}

/// A name in lower case and without underscores, as names are compared.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

/// A row of the table: a TLV by its path, or by several paths. `"24|25.35.1"` stands for 24.35.1
/// and 25.35.1.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Row {
    number: String,
    /// The TLV that holds the same TLVs; a row with it has no other key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    like: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default = "nested")]
    form: Form,
    #[serde(default)]
    length: Option<Length>,
    #[serde(default)]
    unit: String,
    range: Option<(u64, u64)>,
    default: Option<u64>,
    #[serde(default)]
    meanings: BTreeMap<String, String>,
    /// Short words for meanings.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    short: BTreeMap<String, String>,
    /// What bits mean, counted from the lowest, which is 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    bits: BTreeMap<String, String>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    model: Model,
    /// Whether the row holds for an MTA's file only.
    #[serde(default)]
    mta: bool,
}

fn nested() -> Form {
    Form::Nested
}

/// How many bytes a value has: so many, or from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
enum Length {
    Exactly(usize),
    Within(usize, usize),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    tlv: Vec<Row>,
}

struct Table {
    rows: Vec<Row>,
    definitions: BTreeMap<Vec<u8>, Definition>,
    /// The definitions that hold for an MTA's file only.
    of_mta: BTreeMap<Vec<u8>, Definition>,
    /// The paths of TLVs that hold the same TLVs as another, each with the path of the other.
    like: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The TLVs that a TLV holds, by its path.
    below: BTreeMap<Vec<u8>, Below>,
}

#[derive(Default)]
struct Below {
    by_name: BTreeMap<String, u8>,
    names: Vec<String>,
}

impl Table {
    /// The path by which the table knows the TLV at `path`.
    fn canonical<'a>(&self, path: &'a [u8]) -> Cow<'a, [u8]> {
        for length in 2..=path.len() {
            let (around, below) = path.split_at(length);
            if let Some(other) = self.like.get(around) {
                return Cow::Owned([other, below].concat());
            }
        }
        Cow::Borrowed(path)
    }
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| read(include_str!("tlvs.toml")))
}

fn read(text: &str) -> Table {
    let rows: Rows = toml::from_str(text).expect("the table is well formed");
    let rows = rows.tlv;
    let mut definitions = BTreeMap::new();
    let mut of_mta = BTreeMap::new();
    let mut like = BTreeMap::new();
    for row in &rows {
        for path in paths(&row.number) {
            if let Some(other) = &row.like {
                let [other] = paths(other).try_into().expect("one TLV");
                like.insert(path, other);
                continue;
            }
            let table = if row.mta {
                &mut of_mta
            } else {
                &mut definitions
            };
            let before = table.insert(path.clone(), row.definition(path));
            assert_eq!(before, None, "{} is in the table twice", row.number);
        }
    }
    let below = index(&definitions, &like);
    Table {
        rows,
        definitions,
        of_mta,
        like,
        below,
    }
}

/// The TLVs that each TLV holds.
fn index(
    definitions: &BTreeMap<Vec<u8>, Definition>,
    like: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> BTreeMap<Vec<u8>, Below> {
    let mut all: BTreeMap<Vec<u8>, Below> = BTreeMap::new();
    let same = like.iter().map(|(path, other)| (path, &definitions[other]));
    for (path, definition) in definitions.iter().chain(same) {
        let (number, parent) = path.split_last().expect("a path has a type");
        let below = all.entry(parent.to_vec()).or_default();
        for name in spellings(definition) {
            let before = below.by_name.insert(plain(name), *number);
            let is_free = before.is_none_or(|before| before == *number);
            assert!(
                is_free,
                "{name} below {parent:?} is {number} and {before:?}"
            );
            below.names.push(name.clone());
        }
    }
    all
}

impl Row {
    fn definition(&self, path: Vec<u8>) -> Definition {
        let length = match self.length {
            None => self.form.length(),
            Some(Length::Exactly(length)) => (length, length),
            Some(Length::Within(least, most)) => (least, most),
        };
        let meaning = |(number, meaning): (&String, &String)| {
            let number = number.parse().expect("a meaning is that of a number");
            (number, meaning.clone())
        };
        let bit = |(bit, meaning): (&String, &String)| {
            let bit = bit.parse().ok().filter(|bit| *bit < 64);
            (bit.expect("a bit is of a number"), meaning.clone())
        };
        Definition {
            path,
            name: self.name.clone(),
            aliases: self.aliases.clone(),
            form: self.form,
            length,
            unit: self.unit.clone(),
            range: self.range,
            default: self.default,
            meanings: self.meanings.iter().map(meaning).collect(),
            short: self.short.iter().map(meaning).collect(),
            bits: self.bits.iter().map(bit).collect(),
            about: self.about.clone(),
            source: self.source.clone(),
            model: self.model,
        }
    }
}

/// `"24|25.35.1"` is two paths.
fn paths(number: &str) -> Vec<Vec<u8>> {
    number.split('.').fold(vec![Vec::new()], |paths, place| {
        let numbers = place
            .split('|')
            .map(|one| one.parse().expect("a type is a byte"));
        let numbers: Vec<u8> = numbers.collect();
        let longer = |path: &Vec<u8>| {
            let path = path.clone();
            numbers
                .iter()
                .map(move |&number| [path.as_slice(), &[number]].concat())
                .collect::<Vec<_>>()
        };
        paths.iter().flat_map(longer).collect()
    })
}
