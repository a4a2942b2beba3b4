//! Where a TLV stands in a modem's file, as errors and warnings name it.

use std::borrow::Cow;
use std::fmt;

use docsis_config::{Tlv, Value, definition};

/// The place of a TLV: `upstream_service_flow[1].maximum_sustained_rate, TLV 24[1].8`. `[1]` counts
/// TLVs of one type beside each other, where there are several. The names are those of
/// `headend config show`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::scenario) struct TlvPlace {
    names: String,
    numbers: String,
}

/// The reason why a file cannot be used, and its place in the file.
#[derive(Debug)]
pub(in crate::scenario) struct FileError {
    /// None if the reason is about the whole file.
    pub(in crate::scenario) place: Option<TlvPlace>,
    /// The reason, as a clause.
    pub(in crate::scenario) why: String,
}

/// A TLV with its place.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    tlv: &'a Tlv,
    types: Vec<u8>,
    place: TlvPlace,
}

/// The TLVs of a file.
pub(super) fn nodes(tlvs: &[Tlv]) -> Vec<Node<'_>> {
    below(tlvs, &[], &TlvPlace::default())
}

fn below<'a>(tlvs: &'a [Tlv], types: &[u8], around: &TlvPlace) -> Vec<Node<'a>> {
    let mut counts = [0_usize; 256];
    for tlv in tlvs {
        counts[usize::from(tlv.number)] += 1;
    }
    let mut seen = [0_usize; 256];
    let node = |tlv: &'a Tlv| {
        let index = usize::from(tlv.number);
        seen[index] += 1;
        let types = [types, &[tlv.number]].concat();
        let nth = match counts[index] {
            1 => String::new(),
            _ => format!("[{}]", seen[index]),
        };
        let place = around.inside(&types, &nth);
        Node { tlv, types, place }
    };
    tlvs.iter().map(node).collect()
}

impl TlvPlace {
    /// The place of a TLV in this one. `types` are all types down to it, `nth` its number among
    /// those of its type.
    fn inside(&self, types: &[u8], nth: &str) -> Self {
        let number = types.last().copied().unwrap_or_default();
        let dot = if self.numbers.is_empty() { "" } else { "." };
        let numbers = format!("{}{dot}{number}{nth}", self.numbers);
        let names = format!("{}{dot}{}{nth}", self.names, name_of(types));
        Self { names, numbers }
    }
}

/// The name of a TLV; of one without a definition, `tlv_213`.
pub(super) fn name_of(types: &[u8]) -> Cow<'static, str> {
    match definition(types) {
        Some(found) => Cow::Borrowed(found.name.as_str()),
        None => Cow::Owned(format!("tlv_{}", types.last().copied().unwrap_or_default())),
    }
}

impl fmt::Display for TlvPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.names.is_empty() {
            write!(f, "{}, ", self.names)?;
        }
        write!(f, "TLV {}", self.numbers)
    }
}

impl FileError {
    /// The path of the TLV that it is about; of an error about the whole file, nothing.
    pub(super) fn path(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.numbers.as_str())
    }

    pub(super) fn of_file(why: impl Into<String>) -> Self {
        let (place, why) = (None, why.into());
        Self { place, why }
    }
}

impl<'a> Node<'a> {
    pub(super) fn number(&self) -> u8 {
        self.tlv.number
    }

    pub(super) fn value(&self) -> &'a Value {
        &self.tlv.value
    }

    /// The path of its TLV, such as `24[1].35.2`.
    pub(super) fn path(&self) -> &str {
        &self.place.numbers
    }

    pub(super) fn types(&self) -> &[u8] {
        &self.types
    }

    pub(super) fn place(&self) -> TlvPlace {
        self.place.clone()
    }

    pub(super) fn refuse(&self, why: impl Into<String>) -> FileError {
        FileError {
            place: Some(self.place()),
            why: why.into(),
        }
    }

    /// The TLVs in it; none if it holds none.
    pub(super) fn children(&self) -> Vec<Node<'a>> {
        match &self.tlv.value {
            Value::Nested(tlvs) => below(tlvs, &self.types, &self.place),
            Value::Bare | Value::Bytes(_) => Vec::new(),
        }
    }

    /// The TLVs in it.
    pub(super) fn nested(&self) -> Result<Vec<Node<'a>>, FileError> {
        match &self.tlv.value {
            Value::Nested(_) => Ok(self.children()),
            Value::Bare | Value::Bytes(_) => {
                let why =
                    "expected TLVs that fill it, found bytes that do not: a length in it is wrong";
                Err(self.refuse(why))
            }
        }
    }

    /// Its bytes, of which there must be `width`.
    pub(super) fn bytes(&self, width: usize) -> Result<&'a [u8], FileError> {
        let bytes = self.tlv.bytes().unwrap_or_default();
        if bytes.len() == width {
            return Ok(bytes);
        }
        let plural = if width == 1 { "" } else { "s" };
        let why = format!("expected {width} byte{plural}, found {}", bytes.len());
        Err(self.refuse(why))
    }

    /// Its bytes, whatever their number.
    pub(super) fn all_bytes(&self) -> &'a [u8] {
        self.tlv.bytes().unwrap_or_default()
    }

    /// Its number, which must have `width` bytes.
    pub(super) fn uint(&self, width: usize) -> Result<u64, FileError> {
        let bytes = self.bytes(width)?.iter();
        Ok(bytes.fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    }

    /// A byte that is 0 or 1.
    pub(super) fn switch(&self) -> Result<bool, FileError> {
        match self.uint(1)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.refuse(format!("expected 0 or 1, found {other}"))),
        }
    }

    /// Its text, without the zero byte at its end.
    pub(super) fn text(&self) -> String {
        let bytes = self.all_bytes();
        let end = bytes.iter().position(|&byte| byte == 0);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        String::from_utf8_lossy(text).into_owned()
    }
}

/// The first TLV of a type.
pub(super) fn first<'b, 'a>(nodes: &'b [Node<'a>], number: u8) -> Option<&'b Node<'a>> {
    nodes.iter().find(|node| node.number() == number)
}
