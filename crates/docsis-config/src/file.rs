//! A configuration file as a tree of TLVs, which gives the same bytes again.
//!
//! A TLV is a type byte, a length byte and a value. The value of some types is made of TLVs of its
//! own. Types 0 (pad) and 255 (end of the file) are a type byte alone. A value whose inner TLVs do
//! not fill it exactly is kept as bytes, and so is everything from the first TLV on that does not
//! fit into the file.

use crate::table::{Form, definition_in};

/// Type of the byte that fills up.
pub const PAD: u8 = 0;
/// Type of the byte that ends the settings of a modem's file.
pub const END: u8 = 255;
/// Type of the first and last TLV of an MTA's file.
pub const MTA_FILE: u8 = 254;
/// Type of vendors' settings; those of vendor [`GENERAL`] are DOCSIS extensions.
pub const VENDOR_SPECIFIC: u8 = 43;
/// Type, within vendors' settings, of the vendor's id.
pub const VENDOR_ID: u8 = 8;
/// The vendor id that stands for DOCSIS itself.
pub const GENERAL: [u8; 3] = [0xff; 3];

/// How an MTA's file begins: TLV 254 of value 1.
const MTA_START: [u8; 3] = [MTA_FILE, 1, 1];

/// A configuration file, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Whose it is.
    pub kind: Kind,
    /// Its TLVs in order, pads and the end marker among them.
    pub tlvs: Vec<Tlv>,
    /// Bytes at its end that are no TLV: one that is longer than the file, or what follows the end
    /// marker and is not zero.
    pub rest: Vec<u8>,
}

/// The device that a file is for. It decides how long a length is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A cable modem.
    CableModem,
    /// A telephone adapter (PacketCable MTA).
    Mta,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tlv {
    /// Its type.
    pub number: u8,
    /// Its value.
    pub value: Value,
}

/// What a TLV holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing, not even a length: a pad, or the end of the file.
    Bare,
    /// Bytes; [`crate::table`] says what they mean.
    Bytes(Vec<u8>),
    /// Further TLVs.
    Nested(Vec<Tlv>),
}

impl File {
    /// Takes a file apart. Any bytes are one.
    pub fn decode(bytes: &[u8]) -> Self {
        let kind = if bytes.starts_with(&MTA_START) {
            Kind::Mta
        } else {
            Kind::CableModem
        };
        let mut reader = Reader { kind, left: bytes };
        let mut tlvs = Vec::new();
        while let Some((number, value)) = reader.next(&[]) {
            tlvs.push(tlv(kind, &[number], number, value));
            if number == END && kind == Kind::CableModem {
                let pads = reader.left.iter().take_while(|&&byte| byte == PAD).count();
                tlvs.extend((0..pads).map(|_| Tlv::bare(PAD)));
                reader.left = &reader.left[pads..];
                break;
            }
        }
        Self {
            kind,
            tlvs,
            rest: reader.left.to_vec(),
        }
    }

    /// The bytes of the file.
    ///
    /// # Panics
    ///
    /// If a value is longer than its length can say; [`Tlv::longest`] is the limit.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for tlv in &self.tlvs {
            tlv.write(self.kind, &mut Vec::new(), &mut bytes);
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    /// The TLVs of a type, in order.
    pub fn all(&self, number: u8) -> impl Iterator<Item = &Tlv> {
        self.tlvs.iter().filter(move |tlv| tlv.number == number)
    }

    /// The first TLV of a type.
    pub fn get(&self, number: u8) -> Option<&Tlv> {
        self.all(number).next()
    }
}

impl Tlv {
    /// A TLV of bytes.
    pub fn new(number: u8, value: impl Into<Vec<u8>>) -> Self {
        Self {
            number,
            value: Value::Bytes(value.into()),
        }
    }

    /// A TLV of TLVs.
    pub fn nested(number: u8, tlvs: Vec<Self>) -> Self {
        Self {
            number,
            value: Value::Nested(tlvs),
        }
    }

    /// A pad or the end marker.
    pub fn bare(number: u8) -> Self {
        Self {
            number,
            value: Value::Bare,
        }
    }

    /// The TLVs in it of a type, in order.
    pub fn all(&self, number: u8) -> impl Iterator<Item = &Self> {
        let tlvs = match &self.value {
            Value::Nested(tlvs) => tlvs.as_slice(),
            Value::Bare | Value::Bytes(_) => &[],
        };
        tlvs.iter().filter(move |tlv| tlv.number == number)
    }

    /// The first TLV in it of a type.
    pub fn get(&self, number: u8) -> Option<&Self> {
        self.all(number).next()
    }

    /// Its bytes; none if it is nested.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.value {
            Value::Bytes(bytes) => Some(bytes),
            Value::Bare | Value::Nested(_) => None,
        }
    }

    /// Its value as a big-endian number, if it has one to eight bytes.
    pub fn uint(&self) -> Option<u64> {
        let bytes = self
            .bytes()
            .filter(|bytes| (1..=8).contains(&bytes.len()))?;
        Some(
            bytes
                .iter()
                .fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
        )
    }

    /// The longest value of a TLV at `path`, in bytes.
    pub fn longest(kind: Kind, path: &[u8]) -> usize {
        if has_long_length(kind, path) {
            usize::from(u16::MAX)
        } else {
            usize::from(u8::MAX)
        }
    }

    /// Writes its bytes behind `bytes`. `path` are the types of the TLVs around it.
    pub(crate) fn write(&self, kind: Kind, path: &mut Vec<u8>, bytes: &mut Vec<u8>) {
        bytes.push(self.number);
        path.push(self.number);
        let width = if has_long_length(kind, path) { 2 } else { 1 };
        let start = bytes.len() + width;
        match &self.value {
            Value::Bare => {
                path.pop();
                return;
            }
            Value::Bytes(value) => {
                bytes.extend_from_slice(&[0; 2][..width]);
                bytes.extend_from_slice(value);
            }
            Value::Nested(tlvs) => {
                bytes.extend_from_slice(&[0; 2][..width]);
                for tlv in tlvs {
                    tlv.write(kind, path, bytes);
                }
            }
        }
        let length = bytes.len() - start;
        assert!(length <= Self::longest(kind, path), "a length fits");
        bytes[start - width..start].copy_from_slice(&(length as u16).to_be_bytes()[2 - width..]);
        path.pop();
    }
}

/// The TLV at `path` (its own type is the last) with `value`, taken apart where the table has it
/// nested.
fn tlv(kind: Kind, path: &[u8], number: u8, value: Option<&[u8]>) -> Tlv {
    let Some(value) = value else {
        return Tlv::bare(number);
    };
    let is_nested = definition_in(kind, path).is_some_and(|found| found.form == Form::Nested);
    match is_nested.then(|| nested(kind, path, value)).flatten() {
        Some(tlvs) => Tlv::nested(number, tlvs),
        None => Tlv::new(number, value),
    }
}

/// The TLVs of which `value` is made; none if they do not fill it exactly.
fn nested(kind: Kind, path: &[u8], value: &[u8]) -> Option<Vec<Tlv>> {
    let mut reader = Reader { kind, left: value };
    let mut flat = Vec::new();
    while let Some((number, value)) = reader.next(path) {
        if number == END {
            return None;
        }
        flat.push((number, value));
    }
    if !reader.left.is_empty() {
        return None;
    }
    // What vendors put beside their id is theirs to define.
    let vendor = (flat.iter().find(|(number, _)| *number == VENDOR_ID)).and_then(|(_, id)| *id);
    let is_opaque = path.last() == Some(&VENDOR_SPECIFIC) && vendor != Some(&GENERAL);
    let one = |&(number, value): &(u8, Option<&[u8]>)| match value {
        Some(value) if is_opaque => Tlv::new(number, value),
        value => tlv(kind, &[path, &[number]].concat(), number, value),
    };
    Some(flat.iter().map(one).collect())
}

struct Reader<'a> {
    kind: Kind,
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The next TLV of those in `path`: its type, and its value unless it is bare. None at the end
    /// and where the rest is too short.
    fn next(&mut self, path: &[u8]) -> Option<(u8, Option<&'a [u8]>)> {
        let (&number, rest) = self.left.split_first()?;
        let is_bare = number == PAD || number == END && self.kind == Kind::CableModem;
        if is_bare {
            self.left = rest;
            return Some((number, None));
        }
        let width = if has_long_length(self.kind, &[path, &[number]].concat()) {
            2
        } else {
            1
        };
        let (length, rest) = rest.split_at_checked(width)?;
        let length = length
            .iter()
            .fold(0, |sum, &byte| sum << 8 | usize::from(byte));
        let (value, rest) = rest.split_at_checked(length)?;
        self.left = rest;
        Some((number, Some(value)))
    }
}

/// Whether the length of the TLV at `path` has two bytes: in DOCSIS 4.0 types 103 and 104 and their
/// lists of channels, and type 64 of an MTA.
fn has_long_length(kind: Kind, path: &[u8]) -> bool {
    match path {
        [64] => kind == Kind::Mta,
        [103 | 104] | [103, 3, 1] | [104, 1, 1] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_apart_and_put_together_again() {
        let bytes = [
            3, 1, 1, 24, 12, 1, 2, 0, 1, 35, 6, 2, 4, 0, 1, 0xe8, 0x48, 255, 0, 0,
        ];
        let file = File::decode(&bytes);
        assert_eq!(file.encode(), bytes);
        let target = file.get(24).and_then(|flow| flow.get(35)?.get(2)?.uint());
        assert_eq!(target, Some(125_000));
        assert_eq!(file.tlvs.len(), 5);
    }

    #[test]
    fn what_does_not_fit_is_kept() {
        for bytes in [
            &[24, 3, 1, 9, 0][..],
            &[24, 9, 1][..],
            &[24],
            &[255, 0, 7, 7],
            &[254, 1, 1, 64, 1, 0],
            &[],
        ] {
            assert_eq!(File::decode(bytes).encode(), bytes);
        }
        assert_eq!(
            File::decode(&[24, 3, 1, 9, 0]).tlvs,
            [Tlv::new(24, [1, 9, 0])]
        );
        assert_eq!(File::decode(&[24, 9, 1]).rest, [24, 9, 1]);
    }

    #[test]
    fn what_vendors_define_is_not_taken_apart() {
        let vendors = File::decode(&[43, 8, 8, 3, 0, 0, 1, 6, 1, 0]);
        let ours = File::decode(&[43, 10, 8, 3, 255, 255, 255, 6, 3, 1, 1, 1]);
        assert_eq!(
            vendors.get(43).and_then(|tlv| tlv.get(6)?.bytes()),
            Some(&[0][..])
        );
        assert_eq!(
            ours.get(43).and_then(|tlv| tlv.get(6)?.get(1)?.uint()),
            Some(1)
        );
    }
}
