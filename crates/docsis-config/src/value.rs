//! Values in words: writes the bytes of a TLV as its definition shows them, and reads the values
//! that people write.
//!
//! A value whose length does not fit its form is shown as bytes only. Bytes (`"0x0a0b"`) are read
//! for every TLV, also where the definition does not allow them, so that every value can be
//! written.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value as Json;

use crate::characters::{hex, is_plain, unhex};
use crate::quantity::{Unit, Unread};
use crate::snmp;
use crate::table::{Definition, Form};

/// A value as its definition shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// The number, text or list; none if the definition does not say what the bytes are, or if they
    /// do not have the length of its form.
    pub value: Option<Json>,
    /// The unit of which a number is a multiple; empty if it has none.
    pub unit: String,
    /// The value in words with its unit, such as `10 Mbit/s`; empty if there is no value.
    pub words: String,
    /// What an enumerated number means; empty if the table has no meaning for it.
    pub meaning: String,
    /// What is wrong with it, in a sentence; empty if nothing is.
    pub problem: String,
}

/// Why a value that someone wrote is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What was found.
    pub found: String,
    /// What is expected instead.
    pub expected: String,
    /// What may be meant.
    pub meant: Option<String>,
}

/// Shows the bytes of a TLV.
pub fn show(definition: &Definition, bytes: &[u8]) -> Shown {
    show_in(definition, unit(definition), bytes)
}

/// Shows the bytes of a TLV whose numbers are in `unit`. Another TLV beside it may set this unit.
pub(crate) fn show_in(definition: &Definition, unit: Option<Unit>, bytes: &[u8]) -> Shown {
    let mut shown = show_form(definition, unit, bytes);
    if shown.problem.is_empty() && !definition.fits(bytes.len()) {
        shown.problem = Shown::wrong_length(bytes, &lengths(definition)).problem;
    }
    shown
}

/// Shows bytes that may be too many or too few.
fn show_form(definition: &Definition, unit: Option<Unit>, bytes: &[u8]) -> Shown {
    let number = |number| show_number(definition, unit, number);
    match definition.form {
        Form::Nested => Shown::problem("its TLVs do not fill it exactly"),
        Form::Bytes => Shown {
            meaning: meaning(definition, bytes),
            ..Shown::default()
        },
        Form::Varbind => match snmp::text(bytes) {
            Ok(text) => Shown::plain(text),
            Err(problem) => Shown::problem(&problem),
        },
        Form::U8 | Form::U16 | Form::U24 | Form::U32 | Form::U8OrU16 => {
            let widths = widths(definition.form);
            if widths.contains(&bytes.len()) {
                number(uint(bytes))
            } else {
                Shown::wrong_length(bytes, &counts(widths))
            }
        }
        Form::U8List | Form::U16List => {
            let [width] = widths(definition.form) else {
                unreachable!("a list has numbers of one width");
            };
            if bytes.len().is_multiple_of(*width) {
                show_list(bytes.chunks(*width).map(|bytes| number(uint(bytes))))
            } else {
                Shown::wrong_length(bytes, &format!("a multiple of {width} bytes"))
            }
        }
        Form::TypeBits => show_list(types(bytes).map(|set| number(set.into()))),
        Form::Text => match bytes.split_last() {
            Some((0, text)) => Shown::text(text),
            _ => Shown::problem("it does not end with a zero byte"),
        },
        Form::String => Shown::text(bytes),
        Form::Ipv4 => match <[u8; 4]>::try_from(bytes) {
            Ok(bytes) => Shown::plain(Ipv4Addr::from(bytes).to_string()),
            Err(_) => Shown::wrong_length(bytes, "4 bytes"),
        },
        Form::Ipv6 => match <[u8; 16]>::try_from(bytes) {
            Ok(bytes) => Shown::plain(Ipv6Addr::from(bytes).to_string()),
            Err(_) => Shown::wrong_length(bytes, "16 bytes"),
        },
        Form::Mac => match bytes.len() {
            6 => Shown::plain(mac(bytes)),
            _ => Shown::wrong_length(bytes, "6 bytes"),
        },
    }
}

/// The bytes that a written value stands for: a number, a text with a unit, an address, a list, or
/// bytes (`"0x0a0b"`).
///
/// # Errors
///
/// If the definition does not allow the value.
pub fn read(definition: &Definition, value: &Json) -> Result<Vec<u8>, Refused> {
    read_in(definition, unit(definition), value)
}

/// Reads a value whose numbers are in `unit`.
pub(crate) fn read_in(
    definition: &Definition,
    unit: Option<Unit>,
    value: &Json,
) -> Result<Vec<u8>, Refused> {
    if let Some(bytes) = read_bytes(value) {
        return bytes;
    }
    let bytes = read_form(definition, unit, value)?;
    if definition.fits(bytes.len()) {
        return Ok(bytes);
    }
    let expected = match definition.form {
        Form::Text => format!(
            "a text that has {} with the zero at its end",
            lengths(definition)
        ),
        Form::String => format!("a text of {}", lengths(definition)),
        _ => format!("a list of {}", lengths(definition)),
    };
    Err(Refused::new(value, expected))
}

/// Reads a value that may be too long or too short.
fn read_form(
    definition: &Definition,
    unit: Option<Unit>,
    value: &Json,
) -> Result<Vec<u8>, Refused> {
    let form = definition.form;
    let expected = || Refused::new(value, expected(definition, unit));
    let number = |value: &Json| {
        let width = widths(form).last().copied().unwrap_or_default();
        let number = read_number(definition, unit, width, value)?;
        Ok(number.to_be_bytes()[8 - width..].to_vec())
    };
    match (form, value) {
        (Form::U8List | Form::U16List, Json::Array(values)) => {
            let values: Result<Vec<_>, Refused> = values.iter().map(number).collect();
            Ok(values?.concat())
        }
        (Form::TypeBits, Json::Array(values)) => {
            let values: Result<Vec<_>, Refused> = values.iter().map(number).collect();
            Ok(type_bits(&values?.concat()))
        }
        (Form::TypeBits, value) => Ok(type_bits(&number(value)?)),
        (
            Form::U8
            | Form::U16
            | Form::U24
            | Form::U32
            | Form::U8OrU16
            | Form::U8List
            | Form::U16List,
            value,
        ) => number(value),
        (Form::Text | Form::String, Json::String(text)) if text.chars().all(is_plain) => {
            let end: &[u8] = if form == Form::Text { &[0] } else { &[] };
            Ok([text.as_bytes(), end].concat())
        }
        (Form::Ipv4, Json::String(text)) => match text.parse::<Ipv4Addr>() {
            Ok(address) => Ok(address.octets().to_vec()),
            Err(_) => Err(expected()),
        },
        (Form::Ipv6, Json::String(text)) => match text.parse::<Ipv6Addr>() {
            Ok(address) => Ok(address.octets().to_vec()),
            Err(_) => Err(expected()),
        },
        (Form::Bytes, Json::Number(mask)) if definition.length == (MASK, MASK) => {
            let mask = mask.as_u64().and_then(|mask| u32::try_from(mask).ok());
            mask.map(|mask| mask.to_be_bytes().to_vec())
                .ok_or_else(expected)
        }
        (Form::Bytes, Json::String(text)) => meant(definition, text).ok_or_else(expected),
        (Form::Varbind, Json::String(text)) => snmp::read(text).ok_or_else(expected),
        (Form::Mac, Json::String(text)) => read_mac(text).ok_or_else(expected),
        _ => Err(expected()),
    }
}

/// Bytes of this length are bit masks, which may be written as numbers.
const MASK: usize = 4;

/// The bytes that a text such as `"0x0a 0b"` stands for; none if the value is no such text.
pub(crate) fn read_bytes(value: &Json) -> Option<Result<Vec<u8>, Refused>> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    Some(unhex(digits).ok_or_else(|| {
        let expected = "bytes such as \"0x0a0b\", with two hexadecimal digits for each";
        Refused::new(value, expected.to_owned())
    }))
}

/// The unit of a definition's numbers, if it is one that quantities are written in.
pub(crate) fn unit(definition: &Definition) -> Option<Unit> {
    Unit::named(&definition.unit)
}

/// The numbers of bytes that a form may have; of a list, those of one number.
fn widths(form: Form) -> &'static [usize] {
    match form {
        Form::U8 | Form::U8List | Form::TypeBits => &[1],
        Form::U16 | Form::U16List => &[2],
        Form::U24 => &[3],
        Form::U32 => &[4],
        Form::U8OrU16 => &[1, 2],
        Form::Nested
        | Form::Text
        | Form::String
        | Form::Bytes
        | Form::Ipv4
        | Form::Ipv6
        | Form::Mac
        | Form::Varbind => &[],
    }
}

/// Whether the numbers of a definition are tenths.
fn is_tenths(definition: &Definition) -> bool {
    definition.unit == "0.1"
}

/// What bytes mean: as a number, or by the bits that are set in them.
fn meaning(definition: &Definition, bytes: &[u8]) -> String {
    if bytes.len() > 8 {
        return String::new();
    }
    let number = uint(bytes);
    if let Some(meaning) = definition.meanings.get(&number) {
        return meaning.clone();
    }
    let set = (definition.bits.iter()).filter(|(bit, _)| number >> **bit & 1 == 1);
    let words: Vec<&str> = set.map(|(_, words)| words.as_str()).collect();
    words.join(", ")
}

/// The bytes whose meaning is `meaning`.
fn meant(definition: &Definition, meaning: &str) -> Option<Vec<u8>> {
    let (length, most) = definition.length;
    let is_it = |(_, words): &(&u64, &String)| words.eq_ignore_ascii_case(meaning);
    let (number, _) = definition.meanings.iter().find(is_it)?;
    (length == most && length <= 8).then(|| number.to_be_bytes()[8 - length..].to_vec())
}

fn show_number(definition: &Definition, unit: Option<Unit>, number: u64) -> Shown {
    let meaning = definition.meanings.get(&number).cloned();
    let mut shown = Shown {
        value: Some(number.into()),
        unit: definition.unit.clone(),
        words: number.to_string(),
        meaning: meaning.unwrap_or_default(),
        problem: String::new(),
    };
    if let Some(unit) = unit {
        shown.unit = unit.name();
        shown.words = unit.written(number);
    } else if is_tenths(definition) {
        shown.value = Some((number as f64 / 10.0).into());
        shown.unit = String::new();
        shown.words = format!("{}.{}", number / 10, number % 10);
    } else if !definition.unit.is_empty() {
        shown.words = format!("{number} {}", definition.unit);
    }
    if let Some((least, most)) = definition.range
        && !(least..=most).contains(&number)
    {
        let range = range(definition, unit, least, most);
        shown.problem = format!("{} is not {range}", shown.words);
    }
    shown
}

/// Joins the numbers of a list into one value.
fn show_list(numbers: impl Iterator<Item = Shown>) -> Shown {
    let mut list = Shown::default();
    let mut values = Vec::new();
    let mut words = Vec::new();
    for number in numbers {
        values.extend(number.value);
        words.push(number.words);
        list.unit = number.unit;
        if list.problem.is_empty() {
            list.problem = number.problem;
        }
    }
    list.value = Some(Json::Array(values));
    list.words = words.join(", ");
    list
}

/// Reads a value as a number of at most `width` bytes.
fn read_number(
    definition: &Definition,
    unit: Option<Unit>,
    width: usize,
    value: &Json,
) -> Result<u64, Refused> {
    let expected = || expected(definition, unit);
    let beyond = |most| Refused::new(value, range(definition, unit, 0, most));
    let most = u64::MAX >> (64 - 8 * width);
    let number = match value {
        Json::Number(number) if is_tenths(definition) => {
            // A whole number is refused: it could count tenths or whole units.
            let tenths = number
                .as_f64()
                .filter(|_| number.is_f64())
                .map(|n| n * 10.0);
            let tenths = tenths.filter(|tenths| (0.0..=1e9).contains(tenths));
            match tenths {
                Some(tenths) if (tenths - tenths.round()).abs() < 1e-6 => tenths.round() as u64,
                _ => return Err(Refused::new(value, expected())),
            }
        }
        Json::Number(number) => match number.as_u64() {
            Some(number) => number,
            None => return Err(Refused::new(value, expected())),
        },
        Json::String(text) => {
            let word = |(_, meaning): &(&u64, &String)| meaning.eq_ignore_ascii_case(text);
            let mut words = definition.meanings.iter().chain(&definition.short);
            match (words.find(word), unit) {
                (Some((number, _)), _) => *number,
                (None, Some(unit)) => match unit.read(text) {
                    Ok(number) => number,
                    Err(Unread::TooLarge) => return Err(beyond(most)),
                    Err(Unread::Fraction) => {
                        let whole = format!("a multiple of {}", unit.written(1));
                        return Err(Refused::new(value, whole));
                    }
                    Err(Unread::Strange(meant)) => {
                        return Err(Refused {
                            meant: meant.map(|text| format!("\"{text}\"")),
                            ..Refused::new(value, expected())
                        });
                    }
                },
                (None, None) => {
                    return Err(Refused {
                        meant: alike(definition, text),
                        ..Refused::new(value, expected())
                    });
                }
            }
        }
        Json::Bool(value_of) if definition.range == Some((0, 1)) => {
            return Err(Refused {
                meant: Some(u8::from(*value_of).to_string()),
                ..Refused::new(value, expected())
            });
        }
        _ => return Err(Refused::new(value, expected())),
    };
    let (least, most) = match definition.range {
        Some((least, highest)) => (least, highest.min(most)),
        None => (0, most),
    };
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    let expected = range(definition, unit, least, most);
    let bytes = if number <= u64::MAX >> (64 - 8 * width) {
        let bytes = hex(&number.to_be_bytes()[8 - width..]);
        format!("; \"0x{bytes}\" writes it nevertheless")
    } else {
        String::new()
    };
    Err(Refused::new(value, expected + &bytes))
}

/// The meaning of the table that is most like a text, if it is like enough.
fn alike(definition: &Definition, text: &str) -> Option<String> {
    let likeness = |words: &&String| {
        let words = words.to_lowercase();
        (strsim::jaro_winkler(&words, &text.to_lowercase()) * 1e6) as u64
    };
    let meanings = definition.meanings.values();
    let meant = meanings
        .max_by_key(likeness)
        .filter(|words| likeness(words) > 850_000)?;
    Some(format!("{meant:?}"))
}

/// What a value of the definition looks like.
fn expected(definition: &Definition, unit: Option<Unit>) -> String {
    let numbers = || {
        let width = widths(definition.form).last().copied().unwrap_or_default();
        let (least, most) = definition
            .range
            .unwrap_or((0, u64::MAX >> (64 - 8 * width)));
        if is_tenths(definition) {
            return format!(
                "a number with a decimal point (the file holds tenths), {}",
                range(definition, unit, least, most)
            );
        }
        if let Some(unit) = unit {
            return unit.expected().to_owned();
        }
        let range = range(definition, unit, least, most);
        let meaning = |(number, words): (&u64, &String)| {
            let short = definition.short.get(number);
            let short = short.map(|short| format!(" or {short:?}"));
            format!("{number} {words:?}{}", short.unwrap_or_default())
        };
        let meanings: Vec<String> = definition.meanings.iter().map(meaning).collect();
        if meanings.is_empty() {
            format!("a whole number {range}")
        } else {
            format!("a whole number {range} ({})", meanings.join(", "))
        }
    };
    match definition.form {
        Form::Nested => "a table of TLVs".to_owned(),
        Form::Bytes => match definition.length {
            (length, most) if length == most => {
                let example: Vec<u8> = (10..).take(length).collect();
                format!("{} such as \"0x{}\"", counts(&[length]), hex(&example))
            }
            _ => "bytes such as \"0x0a0b\"".to_owned(),
        },
        Form::Varbind => snmp::EXAMPLE.to_owned(),
        Form::U8 | Form::U16 | Form::U24 | Form::U32 | Form::U8OrU16 => numbers(),
        Form::U8List | Form::U16List => format!("a list, each element of it {}", numbers()),
        Form::TypeBits => format!("a list of types, each element of it {}", numbers()),
        Form::Text | Form::String => "a text".to_owned(),
        Form::Ipv4 => "an IPv4 address such as \"192.0.2.1\"".to_owned(),
        Form::Ipv6 => "an IPv6 address such as \"2001:db8::1\"".to_owned(),
        Form::Mac => "an Ethernet address such as \"02:00:5e:00:00:01\"".to_owned(),
    }
}

/// `from 0 to 7`, in the words of the definition.
fn range(definition: &Definition, unit: Option<Unit>, least: u64, most: u64) -> String {
    let words = |number: u64| match unit {
        Some(unit) => unit.written(number),
        None if is_tenths(definition) => format!("{}.{}", number / 10, number % 10),
        None => number.to_string(),
    };
    if least == most {
        return words(least);
    }
    format!("from {} to {}", words(least), words(most))
}

/// How many bytes a value of the definition has.
fn lengths(definition: &Definition) -> String {
    let (least, most) = definition.length;
    if least == most {
        counts(&[least])
    } else {
        format!("{least} to {most} bytes")
    }
}

/// `1 byte or 2 bytes`.
fn counts(widths: &[usize]) -> String {
    let count = |width: &usize| match width {
        1 => "1 byte".to_owned(),
        width => format!("{width} bytes"),
    };
    widths.iter().map(count).collect::<Vec<_>>().join(" or ")
}

/// The types whose bits are set.
pub(crate) fn types(bits: &[u8]) -> impl Iterator<Item = u8> {
    let is_set = |number: &u8| {
        let byte = bits.get(usize::from(number / 8));
        byte.is_some_and(|byte| byte & (0x80 >> (number % 8)) != 0)
    };
    (0..=u8::MAX).filter(is_set)
}

/// The fewest bytes in which the bits of these types are set.
fn type_bits(types: &[u8]) -> Vec<u8> {
    let length = (types.iter().max()).map_or(0, |last| usize::from(last / 8) + 1);
    let mut bits = vec![0; length];
    for number in types {
        bits[usize::from(number / 8)] |= 0x80 >> (number % 8);
    }
    bits
}

/// The big-endian number of at most eight bytes.
fn uint(bytes: &[u8]) -> u64 {
    (bytes.iter()).fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn mac(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|&byte| hex(&[byte])).collect();
    bytes.join(":")
}

fn read_mac(text: &str) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = (text.split([':', '-']))
        .map(|byte| match unhex(byte)?[..] {
            [byte] => Some(byte),
            _ => None,
        })
        .collect();
    bytes.filter(|bytes| bytes.len() == 6)
}

impl Shown {
    fn problem(problem: &str) -> Self {
        Self {
            problem: problem.to_owned(),
            ..Self::default()
        }
    }

    fn wrong_length(bytes: &[u8], expected: &str) -> Self {
        Self::problem(&format!(
            "it has {}, expected {expected}",
            counts(&[bytes.len()])
        ))
    }

    fn plain(text: String) -> Self {
        Self {
            value: Some(text.clone().into()),
            words: text,
            ..Self::default()
        }
    }

    fn text(bytes: &[u8]) -> Self {
        match str::from_utf8(bytes) {
            Ok(text) if text.chars().all(is_plain) => Self::plain(text.to_owned()),
            _ => Self::problem("it is no text that can be shown"),
        }
    }
}

impl Refused {
    fn new(found: &Json, expected: String) -> Self {
        Self {
            found: found_words(found),
            expected,
            meant: None,
        }
    }
}

/// What was found, as a person would say it.
pub(crate) fn found_words(found: &Json) -> String {
    match found {
        Json::Null => "nothing".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "a table".to_owned(),
        Json::String(text) if text.chars().count() > MOST_FOUND => {
            let start: String = text.chars().take(MOST_FOUND).collect();
            format!("{}…", Json::String(start).to_string().trim_end_matches('"'))
        }
        plain => plain.to_string(),
    }
}

/// The most characters of a text that an error repeats.
const MOST_FOUND: usize = 60;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(form: Form, unit: &str, range: Option<(u64, u64)>) -> Definition {
        Definition {
            form,
            length: (0, 255),
            unit: unit.to_owned(),
            range,
            ..crate::table::definition(&[24])
                .expect("it is in the table")
                .clone()
        }
    }

    #[test]
    fn what_is_shown_is_read_back() {
        use Form::*;
        for (form, unit, bytes, words) in [
            (U8, "", &[7][..], "7"),
            (U16, "", &[1, 0], "256"),
            (U24, "", &[1, 0, 0], "65536"),
            (U32, "bit/s", &[0, 0x98, 0x96, 0x80], "10 Mbit/s"),
            (U32, "B", &[0, 1, 0xe8, 0x48], "125000 B"),
            (U32, "B", &[0, 0, 0x60, 0], "24 KiB"),
            (U8, "0.1", &[20], "2.0"),
            (U8, "0.1", &[255], "25.5"),
            (U8, "log2 ns", &[19], "19 log2 ns"),
            (U16List, "10 us", &[0, 100, 0, 200], "1 ms, 2 ms"),
            (U8List, "", &[1, 2], "1, 2"),
            (U8OrU16, "", &[1, 2], "258"),
            (Text, "", b"gold\0", "gold"),
            (String, "", b"a \"b\" \xc3\xbc", "a \"b\" ü"),
            (Ipv4, "", &[192, 0, 2, 1], "192.0.2.1"),
            (Ipv6, "", &[0; 16], "::"),
            (Mac, "", &[2, 0, 0x5e, 0, 0, 1], "02:00:5e:00:00:01"),
        ] {
            let definition = definition(form, unit, None);
            let shown = show(&definition, bytes);
            assert_eq!(shown.words, words);
            assert_eq!(shown.problem, "");
            let value = shown.value.expect("it has a value");
            assert_eq!(read(&definition, &value).as_deref(), Ok(bytes), "{value}");
            let is_quantity = Unit::named(unit).is_some() && form != U16List;
            if is_quantity {
                assert_eq!(read(&definition, &json!(words)).as_deref(), Ok(bytes));
            }
        }
        let edges = definition(U16List, "10 us", None);
        assert_eq!(
            read(&edges, &json!(["1 ms", "2 ms"])).as_deref(),
            Ok(&[0, 100, 0, 200][..])
        );
    }

    #[test]
    fn a_number_has_a_meaning_and_a_range() {
        let mut definition = definition(Form::U8, "", Some((0, 7)));
        definition.meanings.insert(2, "best effort".to_owned());
        definition.short.insert(2, "BE".to_owned());
        assert_eq!(read(&definition, &json!("be")).as_deref(), Ok(&[2][..]));
        assert_eq!(show(&definition, &[2]).meaning, "best effort");
        assert_eq!(show(&definition, &[9]).problem, "9 is not from 0 to 7");
        assert_eq!(show(&definition, &[9]).value, Some(json!(9)));
        assert_eq!(
            read(&definition, &json!("Best effort")).as_deref(),
            Ok(&[2][..])
        );
        let refused = read(&definition, &json!(9)).expect_err("it is out of range");
        assert_eq!(refused.found, "9");
        assert_eq!(
            refused.expected,
            "from 0 to 7; \"0x09\" writes it nevertheless"
        );
        let refused = read(&definition, &json!("best-effort")).expect_err("it is spelled so");
        assert_eq!(
            refused.expected,
            "a whole number from 0 to 7 (2 \"best effort\" or \"BE\")"
        );
        assert_eq!(refused.meant.as_deref(), Some("\"best effort\""));
        assert_eq!(read(&definition, &json!("0x09")).as_deref(), Ok(&[9][..]));
        assert_eq!(read(&definition, &json!("0x")).as_deref(), Ok(&[][..]));
    }

    #[test]
    fn bytes_have_the_meaning_of_their_number_or_of_their_bits() {
        let mut policy = definition(Form::Bytes, "", None);
        policy.bits.insert(1, "no polling".to_owned());
        policy.bits.insert(31, "no waiting".to_owned());
        policy.meanings.insert(3, "neither".to_owned());
        for (bytes, meaning) in [
            (&[0, 0, 0, 0][..], ""),
            (&[0, 0, 0, 2], "no polling"),
            (&[0x80, 0, 0, 3], "no polling, no waiting"),
            (&[0, 3], "neither"),
            (&[0xff; 9], ""),
        ] {
            let shown = show(&policy, bytes);
            assert_eq!((shown.value, shown.meaning.as_str()), (None, meaning));
        }
        policy.length = (4, 4);
        let read = |value| read(&policy, &value);
        assert_eq!(read(json!("Neither")).as_deref(), Ok(&[0, 0, 0, 3][..]));
        assert!(read(json!("no polling")).is_err());
    }

    #[test]
    fn a_text_and_a_list_have_a_length() {
        let mut name = definition(Form::Text, "", None);
        name.length = (2, 5);
        let shown = show(&name, b"golden\0");
        assert_eq!(shown.problem, "it has 7 bytes, expected 2 to 5 bytes");
        assert_eq!(shown.words, "golden");
        let refused = read(&name, &json!("golden")).expect_err("it is too long");
        assert_eq!(
            refused.expected,
            "a text that has 2 to 5 bytes with the zero at its end"
        );
        assert_eq!(read(&name, &json!("gold")).as_deref(), Ok(&b"gold\0"[..]));
        let mut edges = definition(Form::U16List, "10 us", None);
        edges.length = (2, 4);
        let refused = read(&edges, &json!([1, 2, 3])).expect_err("they are too many");
        assert_eq!(refused.expected, "a list of 2 to 4 bytes");
    }

    #[test]
    fn what_does_not_fit_its_form_is_bytes() {
        use Form::*;
        for (form, bytes, problem) in [
            (U8, &[1, 2][..], "it has 2 bytes, expected 1 byte"),
            (
                U8OrU16,
                &[1, 2, 3],
                "it has 3 bytes, expected 1 byte or 2 bytes",
            ),
            (
                U16List,
                &[1],
                "it has 1 byte, expected a multiple of 2 bytes",
            ),
            (Ipv4, &[1], "it has 1 byte, expected 4 bytes"),
            (Text, b"gold", "it does not end with a zero byte"),
            (Text, b"", "it does not end with a zero byte"),
            (Text, b"a\0b\0", "it is no text that can be shown"),
            (String, b"\xff", "it is no text that can be shown"),
            (
                String,
                "\u{202e}".as_bytes(),
                "it is no text that can be shown",
            ),
            (Nested, &[1], "its TLVs do not fill it exactly"),
            (Bytes, &[1], ""),
        ] {
            let shown = show(&definition(form, "", None), bytes);
            assert_eq!((shown.value, shown.problem.as_str()), (None, problem));
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_is_expected() {
        use Form::*;
        for (form, unit, value, expected) in [
            (U8, "", json!("x"), "a whole number from 0 to 255"),
            (U8, "", json!(-1), "a whole number from 0 to 255"),
            (U8, "", json!(1.5), "a whole number from 0 to 255"),
            (U8, "", json!(256), "from 0 to 255"),
            (
                U32,
                "bit/s",
                json!("5 Gbit/s"),
                "from 0 bit/s to 4.294967295 Gbit/s",
            ),
            (U32, "bit/s", json!("10 ms"), "a rate such as \"10 Mbit/s\""),
            (U32, "bit/s", json!([1]), "a rate such as \"10 Mbit/s\""),
            (U16, "10 us", json!("15 us"), "a multiple of 10 us"),
            (
                U8,
                "0.1",
                json!(2),
                "a number with a decimal point (the file holds tenths), from 0.0 to 25.5",
            ),
            (Text, "", json!(1), "a text"),
            (Text, "", json!("a\u{0}"), "a text"),
            (
                Ipv4,
                "",
                json!("192.0.2"),
                "an IPv4 address such as \"192.0.2.1\"",
            ),
            (
                Mac,
                "",
                json!("02:00:5e:00:00"),
                "an Ethernet address such as \"02:00:5e:00:00:01\"",
            ),
            (Bytes, "", json!("abc"), "bytes such as \"0x0a0b\""),
            (
                Bytes,
                "",
                json!("0xabc"),
                "bytes such as \"0x0a0b\", with two hexadecimal digits for each",
            ),
            (Nested, "", json!(1), "a table of TLVs"),
        ] {
            let refused = read(&definition(form, unit, None), &value).expect_err("it is wrong");
            assert_eq!(refused.expected, expected, "{value}");
        }
        let switch = definition(U8, "", Some((0, 1)));
        let refused = read(&switch, &json!(true)).expect_err("it is no number");
        assert_eq!(
            (refused.found.as_str(), refused.meant.as_deref()),
            ("true", Some("1"))
        );
        let rate = definition(U32, "bit/s", None);
        let refused = read(&rate, &json!("10 mbit/s")).expect_err("the unit is wrong");
        assert_eq!(refused.meant.as_deref(), Some("\"10 Mbit/s\""));
        let refused = read(&rate, &json!("x".repeat(100))).expect_err("it is no rate");
        assert!(refused.found.chars().count() < 70, "{}", refused.found);
    }
}
