//! What each TLV is: its name, what its value holds, its unit and range, and where that is written.
//! The rows are in `tlvs.toml`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// What a TLV is.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The types from the outermost TLV to this one.
    pub path: Vec<u8>,
    /// The name of its key, such as `maximum_sustained_rate`.
    pub name: String,
    /// Further names that are understood, such as `MaxRateSustained`.
    pub aliases: Vec<String>,
    /// What its value holds.
    pub form: Form,
    /// The unit of a number, such as `bit/s`; empty if it has none.
    pub unit: String,
    /// The least and the most that a number may be.
    pub range: Option<(u64, u64)>,
    /// What it does, in a sentence.
    pub about: String,
    /// Where that is written.
    pub source: String,
}

/// What a value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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
    /// An SNMP object with its value, in BER.
    Varbind,
}

/// The definition of the TLV at `path`.
pub fn definition(path: &[u8]) -> Option<&'static Definition> {
    table().get(path)
}

/// All definitions, by path.
pub fn definitions() -> impl Iterator<Item = &'static Definition> {
    table().values()
}

fn table() -> &'static BTreeMap<Vec<u8>, Definition> {
    static TABLE: OnceLock<BTreeMap<Vec<u8>, Definition>> = OnceLock::new();
    TABLE.get_or_init(|| read(include_str!("tlvs.toml")))
}

/// A row of the table: one TLV, below one or several others that hold the same (`"24|25.35.1"`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    number: String,
    name: String,
    #[serde(default)]
    aliases: Vec<String>,
    form: Form,
    #[serde(default)]
    unit: String,
    range: Option<(u64, u64)>,
    #[serde(default)]
    about: String,
    #[serde(default)]
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    tlv: Vec<Row>,
}

fn read(text: &str) -> BTreeMap<Vec<u8>, Definition> {
    let rows: Rows = toml::from_str(text).expect("the table is well formed");
    let mut table = BTreeMap::new();
    for row in rows.tlv {
        for path in paths(&row.number) {
            let definition = Definition {
                path: path.clone(),
                name: row.name.clone(),
                aliases: row.aliases.clone(),
                form: row.form,
                unit: row.unit.clone(),
                range: row.range,
                about: row.about.clone(),
                source: row.source.clone(),
            };
            let before = table.insert(path, definition);
            assert_eq!(before, None, "{} is in the table twice", row.number);
        }
    }
    table
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
