//! A configuration file as a tree of TLVs. Encoding the tree gives the bytes that were decoded.
//!
//! A TLV is a type byte, a length byte and a value. The value of some types consists of TLVs. Types
//! 0 (pad) and 255 (end of the file) are a type byte alone. A value that its inner TLVs do not fill
//! exactly is kept as bytes. So is the end of a file from the first TLV on that is longer than the
//! rest of the file.

use crate::table::{Form, Kind, definition_in};

/// Type of a pad, a zero byte that sets nothing.
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
    /// The device that the file is for.
    pub kind: Kind,
    /// The TLVs in the order of the file. Pads and the end marker are among them.
    pub tlvs: Vec<Tlv>,
    /// The bytes behind the last TLV that are no TLV: one that is longer than the rest of the file,
    /// or bytes behind the end marker from the first on that is not zero.
    pub rest: Vec<u8>,
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
    /// Decodes a file. Any bytes can be decoded.
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
    /// If a value is longer than [`Tlv::longest`] allows.
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
    /// A TLV whose value is bytes.
    pub fn new(number: u8, value: impl Into<Vec<u8>>) -> Self {
        Self {
            number,
            value: Value::Bytes(value.into()),
        }
    }

    /// A TLV whose value consists of TLVs.
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

    /// The inner TLVs of a type, in order.
    pub fn all(&self, number: u8) -> impl Iterator<Item = &Self> {
        let tlvs = match &self.value {
            Value::Nested(tlvs) => tlvs.as_slice(),
            Value::Bare | Value::Bytes(_) => &[],
        };
        tlvs.iter().filter(move |tlv| tlv.number == number)
    }

    /// The first inner TLV of a type.
    pub fn get(&self, number: u8) -> Option<&Self> {
        self.all(number).next()
    }

    /// The bytes of the value; none if the value consists of TLVs, and none for a pad or the end
    /// marker.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.value {
            Value::Bytes(bytes) => Some(bytes),
            Value::Bare | Value::Nested(_) => None,
        }
    }

    /// The value as a big-endian number, if it has one to eight bytes.
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

    /// Appends the bytes of the TLV to `bytes`. `path` holds the types of the TLVs around it.
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

/// The TLV at `path`, whose last type is its own. `value` is decoded into TLVs where the table says
/// that it consists of TLVs.
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
    // A vendor defines the TLVs beside its id, so their values stay bytes.
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
    /// Reads the next TLV; `path` holds the types of the TLVs around it. Returns its type and its
    /// value (none for a pad or the end marker). Returns none at the end, and where fewer bytes are
    /// left than the TLV has.
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
