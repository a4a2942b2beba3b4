//! An SNMP object with its value, in BER (X.690) as a configuration file has it, and as text:
//! `1.3.6.1.2.1.69.1.6.3.0 = Integer 1`.
//!
//! Source: RFC 3416 §3 (variable binding), RFC 2578 §7.1 (types), X.690 §8.

use std::net::Ipv4Addr;

use crate::characters::{hex, is_plain, unhex};

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const NULL: u8 = 0x05;
const OBJECT_ID: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const IP_ADDRESS: u8 = 0x40;

/// The types of values whose text is a number, and whether the number may be negative.
const NUMBERS: &[(u8, &str, bool)] = &[
    (INTEGER, "Integer", true),
    (0x41, "Counter32", false),
    (0x42, "Gauge32", false),
    (0x43, "TimeTicks", false),
    (0x46, "Counter64", false),
];

/// What a text of an object looks like.
pub(crate) const EXAMPLE: &str = "an SNMP object such as \"1.3.6.1.2.1.69.1.6.3.0 = Integer 1\" \
     (or Gauge32, Counter32, Counter64, TimeTicks, IPAddress, ObjectID, String, HexString, Null)";

/// The text of an object.
///
/// # Errors
///
/// A clause that says what is wrong with the bytes, and at which byte.
pub(crate) fn text(bytes: &[u8]) -> Result<String, String> {
    let mut outer = Reader { bytes, at: 0 };
    let object = outer.value(SEQUENCE, "a sequence")?;
    outer.end()?;
    let mut inner = Reader {
        bytes: &bytes[..object.end],
        at: object.start,
    };
    let name = inner.value(OBJECT_ID, "an object's id")?;
    let name = object_id(&bytes[name.clone()])
        .ok_or_else(|| format!("at byte {} there is no object's id", name.start))?;
    let at = inner.at;
    let (tag, value) = inner.any()?;
    inner.end()?;
    let value = value_text(tag, &bytes[value])
        .ok_or_else(|| format!("the value at byte {at}, of type {tag}, cannot be read"))?;
    Ok(format!("{name} = {value}"))
}

fn value_text(tag: u8, bytes: &[u8]) -> Option<String> {
    if let Some((_, name, is_signed)) = NUMBERS.iter().find(|(known, ..)| *known == tag) {
        let first = *bytes.first()?;
        let start = if *is_signed && first >= 0x80 { -1 } else { 0 };
        let number = (bytes.len() <= 9).then(|| {
            bytes
                .iter()
                .fold(start, |sum: i128, byte| sum << 8 | i128::from(*byte))
        })?;
        return Some(format!("{name} {number}"));
    }
    match tag {
        OCTET_STRING => match str::from_utf8(bytes) {
            Ok(text) if is_text(text) => Some(format!("String {}", escaped(text))),
            _ => Some(format!("HexString {}", hex(bytes))),
        },
        NULL if bytes.is_empty() => Some("Null".to_owned()),
        OBJECT_ID => Some(format!("ObjectID {}", object_id(bytes)?)),
        IP_ADDRESS => {
            let bytes: [u8; 4] = bytes.try_into().ok()?;
            Some(format!("IPAddress {}", Ipv4Addr::from(bytes)))
        }
        _ => None,
    }
}

/// The bytes of an object's text; none if it is no such text.
pub(crate) fn read(text: &str) -> Option<Vec<u8>> {
    let (name, value) = text.split_once('=')?;
    let name = read_object_id(name.trim())?;
    let value = value.strip_prefix(' ').unwrap_or(value);
    // One space separates the type from the value, because a text may begin with spaces.
    let (kind, value) = value.split_once(' ').unwrap_or((value, ""));
    let (tag, value) = read_value(kind, value)?;
    let object = [tagged(OBJECT_ID, &name), tagged(tag, &value)].concat();
    Some(tagged(SEQUENCE, &object))
}

fn read_value(kind: &str, value: &str) -> Option<(u8, Vec<u8>)> {
    let is_kind = |(_, name, _): &&(u8, &str, bool)| name.eq_ignore_ascii_case(kind);
    if let Some((tag, _, is_signed)) = NUMBERS.iter().find(is_kind) {
        let number: i128 = value.trim().parse().ok()?;
        let range = if *is_signed {
            i128::from(i64::MIN)..=i128::from(i64::MAX)
        } else {
            0..=i128::from(u64::MAX)
        };
        return range.contains(&number).then(|| (*tag, integer(number)));
    }
    Some(match kind.to_lowercase().as_str() {
        "string" => (OCTET_STRING, unescaped(value)?.into_bytes()),
        "hexstring" => {
            let value = value.trim();
            let digits = value.strip_prefix("0x").unwrap_or(value);
            (OCTET_STRING, unhex(digits)?)
        }
        "null" if value.trim().is_empty() => (NULL, Vec::new()),
        "objectid" => (OBJECT_ID, read_object_id(value.trim())?),
        "ipaddress" => {
            let address: Ipv4Addr = value.trim().parse().ok()?;
            (IP_ADDRESS, address.octets().to_vec())
        }
        _ => return None,
    })
}

/// Escapes: characters that cannot stand in a text of one line, and the backslash, each with the
/// letter that is written behind a backslash.
const ESCAPES: &[(char, char)] = &[('\\', '\\'), ('\n', 'n'), ('\r', 'r'), ('\t', 't')];

/// Whether a string is written as text: all of its characters can be seen or escaped.
fn is_text(text: &str) -> bool {
    let is_known = |c| is_plain(c) || ESCAPES.iter().any(|(known, _)| *known == c);
    text.chars().all(is_known) && (text.is_empty() || text.chars().any(is_plain))
}

fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match ESCAPES.iter().find(|(known, _)| *known == c) {
            Some((_, written)) => line.extend(['\\', *written]),
            None => line.push(c),
        }
    }
    line
}

fn unescaped(line: &str) -> Option<String> {
    let mut text = String::with_capacity(line.len());
    let mut left = line.chars();
    while let Some(c) = left.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let written = left.next()?;
        let (meant, _) = ESCAPES.iter().find(|(_, known)| *known == written)?;
        text.push(*meant);
    }
    is_text(&text).then_some(text)
}

/// The shortest two's-complement bytes of a number.
fn integer(number: i128) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let is_spare =
        |pair: &&[u8]| pair[0] == 0 && pair[1] < 0x80 || pair[0] == 0xff && pair[1] >= 0x80;
    let spare = bytes.windows(2).take_while(is_spare).count();
    bytes[spare..].to_vec()
}

/// `1.3.6.1`; none if the bytes end within a number or one is too large.
fn object_id(bytes: &[u8]) -> Option<String> {
    let mut numbers = Vec::new();
    let mut number: u64 = 0;
    for byte in bytes {
        number = number.checked_mul(128)? + u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            numbers.push(number);
            number = 0;
        }
    }
    let first = *numbers.first()?;
    let is_whole = bytes.last()? & 0x80 == 0;
    numbers[0] = (first / 40).min(2);
    numbers.insert(1, first - 40 * numbers[0]);
    let places: Vec<String> = numbers.iter().map(u64::to_string).collect();
    is_whole.then(|| places.join("."))
}

fn read_object_id(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix('.').unwrap_or(text);
    let numbers: Option<Vec<u64>> = text.split('.').map(|place| place.parse().ok()).collect();
    let numbers = numbers?;
    let [first @ 0..=2, second, ..] = numbers[..] else {
        return None;
    };
    if first < 2 && second >= 40 {
        return None;
    }
    let mut bytes = Vec::new();
    let both = second.checked_add(40 * first)?;
    for number in std::iter::once(both).chain(numbers[2..].iter().copied()) {
        let digits = (64 - number.leading_zeros()).div_ceil(7).max(1);
        for place in (0..digits).rev() {
            let more = if place > 0 { 0x80 } else { 0 };
            bytes.push((number >> (7 * place)) as u8 & 0x7f | more);
        }
    }
    Some(bytes)
}

/// A value with its type and length.
fn tagged(tag: u8, value: &[u8]) -> Vec<u8> {
    let length = value.len().to_be_bytes();
    let digits = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut bytes = vec![tag];
    if value.len() < 0x80 {
        bytes.push(value.len() as u8);
    } else {
        bytes.push(0x80 | digits.len() as u8);
        bytes.extend(digits);
    }
    bytes.extend(value);
    bytes
}

/// Values one after the other.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// The place of the next value, whose type must be `tag`.
    fn value(&mut self, tag: u8, what: &str) -> Result<std::ops::Range<usize>, String> {
        let at = self.at;
        match self.any()? {
            (found, value) if found == tag => Ok(value),
            (found, _) => Err(format!(
                "at byte {at} there is type {found}, expected {what}"
            )),
        }
    }

    /// The type and the place of the next value.
    fn any(&mut self) -> Result<(u8, std::ops::Range<usize>), String> {
        let at = self.at;
        let short = || format!("it ends within the value at byte {at}");
        let [tag, length, ..] = self.bytes[at..] else {
            return Err(short());
        };
        let mut start = at + 2;
        let mut length = usize::from(length);
        if length >= 0x80 {
            let count = length & 0x7f;
            if !(1..=4).contains(&count) {
                return Err(format!("the length at byte {} cannot be read", at + 1));
            }
            let digits = self.bytes.get(start..start + count).ok_or_else(short)?;
            length = digits
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            start += count;
        }
        let end = start.saturating_add(length);
        if end > self.bytes.len() {
            return Err(short());
        }
        self.at = end;
        Ok((tag, start..end))
    }

    /// Checks that no bytes are left.
    fn end(&self) -> Result<(), String> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(format!(
                "the bytes from byte {} on are no part of the object",
                self.at
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_a_text_and_back() {
        for (bytes, expected) in [
            (
                "30 0f 06 0a 2b 06 01 02 01 45 01 06 03 00 02 01 01",
                "1.3.6.1.2.1.69.1.6.3.0 = Integer 1",
            ),
            ("30 07 06 02 2b 06 02 01 ff", "1.3.6 = Integer -1"),
            ("30 08 06 02 2b 06 02 02 00 80", "1.3.6 = Integer 128"),
            (
                "30 0b 06 02 2b 06 42 05 00 ff ff ff ff",
                "1.3.6 = Gauge32 4294967295",
            ),
            (
                "30 0f 06 02 2b 06 46 09 00 ff ff ff ff ff ff ff ff",
                "1.3.6 = Counter64 18446744073709551615",
            ),
            (
                "30 0a 06 02 2b 06 40 04 c0 00 02 01",
                "1.3.6 = IPAddress 192.0.2.1",
            ),
            ("30 09 06 02 2b 06 04 03 20 3d 20", "1.3.6 = String  = "),
            ("30 06 06 02 2b 06 04 00", "1.3.6 = String "),
            ("30 08 06 02 2b 06 04 02 00 ff", "1.3.6 = HexString 00ff"),
            (
                "30 0a 06 02 2b 06 04 04 61 0a 5c 09",
                "1.3.6 = String a\\n\\\\\\t",
            ),
            ("30 07 06 02 2b 06 04 01 0a", "1.3.6 = HexString 0a"),
            ("30 06 06 02 2b 06 05 00", "1.3.6 = Null"),
            (
                "30 0a 06 03 2b 81 00 06 03 88 37 01",
                "1.3.128 = ObjectID 2.999.1",
            ),
        ] {
            let bytes = unhex(bytes).expect("it is hex");
            assert_eq!(text(&bytes).as_deref(), Ok(expected));
            assert_eq!(read(expected), Some(bytes), "{expected}");
        }
        let long = format!("1.3.6 = String {}", "a".repeat(300));
        let bytes = read(&long).expect("it is an object");
        assert_eq!(bytes[..4], [0x30, 0x82, 0x01, 0x34]);
        assert_eq!(text(&bytes), Ok(long));
    }

    #[test]
    fn what_is_no_object_is_said_with_its_place() {
        for (bytes, expected) in [
            ("", "it ends within the value at byte 0"),
            ("04 00", "at byte 0 there is type 4, expected a sequence"),
            ("30 05 06", "it ends within the value at byte 0"),
            ("30 80", "the length at byte 1 cannot be read"),
            ("30 84 ff ff ff ff", "it ends within the value at byte 0"),
            (
                "30 06 06 02 2b 86 05 00",
                "at byte 4 there is no object's id",
            ),
            ("30 02 06 00", "at byte 4 there is no object's id"),
            (
                "30 06 06 02 2b 06 09 00",
                "the value at byte 6, of type 9, cannot be read",
            ),
            (
                "30 06 06 02 2b 06 02 00",
                "the value at byte 6, of type 2, cannot be read",
            ),
            (
                "30 07 06 02 2b 06 05 00 00",
                "the bytes from byte 8 on are no part of the object",
            ),
            (
                "30 06 06 02 2b 06 05 00 00",
                "the bytes from byte 8 on are no part of the object",
            ),
        ] {
            let bytes = unhex(bytes).expect("it is hex");
            assert_eq!(text(&bytes), Err(expected.to_owned()), "{bytes:02x?}");
        }
        let numbers = "ff".repeat(10);
        assert!(text(&unhex(&format!("300e060a{numbers}0500")).expect("it is hex")).is_err());
        for strange in [
            "",
            "1.3.6",
            "1.3.6 = ",
            "1.3.6 = Integer",
            "1.3.6 = Integer x",
            "3.3 = Null",
            "1.40 = Null",
            "1 = Null",
            "1.3.x = Null",
            "1.3.6 = Null 1",
            "1.3.6 = Gauge32 -1",
            "1.3.6 = Integer 9223372036854775808",
            "1.3.6 = Word 1",
            "1.3.6 = HexString 0",
            "1.3.6 = String \u{0}",
            "1.3.6 = String \\x",
            "1.3.6 = String \\",
            "1.3.6 = IPAddress 1.2.3",
        ] {
            assert_eq!(read(strange), None, "{strange}");
        }
    }
}
