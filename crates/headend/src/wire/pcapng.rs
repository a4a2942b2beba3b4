//! Writes blocks of a pcapng file: draft-ietf-opsawg-pcapng, little-endian, one section, times in
//! nanoseconds.

use crate::time::Instant;

/// `LINKTYPE_RAW`: a frame is an IP packet without a link header.
pub(super) const LINK_TYPE: u16 = 101;

/// Block types (§4).
pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
pub(super) const INTERFACE_STATISTICS: u32 = 5;
pub(super) const ENHANCED_PACKET: u32 = 6;
/// The byte-order magic of a section header, in the byte order of its writer (§4.1).
pub(super) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The option of an interface that gives the resolution of its times (§4.2).
pub(super) const IF_TSRESOL: u16 = 9;

/// The end of the options, and a comment (§3.5).
pub(super) const END: u16 = 0;
pub(super) const COMMENT: u16 = 1;

/// Option codes (§4.1, §4.2, §4.3).
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const EPB_FLAGS: u16 = 2;

/// The direction of a packet at its interface (§4.3: bits 0 and 1 of the flags).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Received.
    In,
    /// Sent.
    Out,
    /// Neither: the point is in the network, not at a host.
    Past,
}

/// A packet at an interface.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The number of the interface, in the order of their descriptions.
    pub interface: u32,
    /// The time of the packet.
    pub at: Instant,
    /// The length of the packet on the wire.
    pub length: u32,
    /// The bytes of the packet that are kept, from its start.
    pub bytes: &'a [u8],
    /// The direction of the packet.
    pub way: Way,
    /// A comment on the packet.
    pub comment: Option<&'a str>,
}

/// Writes the section header, with which a file begins. A comment longer than an option may be is
/// written in parts, each an option of its own.
pub fn section(application: &str, comment: &str, out: &mut Vec<u8>) {
    block(SECTION_HEADER, out, |out| {
        out.extend(BYTE_ORDER.to_le_bytes());
        // Version 1.0; the length of the section is not known.
        out.extend([1, 0, 0, 0]);
        out.extend(u64::MAX.to_le_bytes());
        option(SHB_USERAPPL, application.as_bytes(), out);
        comments(comment, out);
        option(END, &[], out);
    });
}

/// Writes the description of the next interface.
pub fn interface(name: &str, description: &str, snaplen: u32, out: &mut Vec<u8>) {
    block(INTERFACE_DESCRIPTION, out, |out| {
        out.extend(LINK_TYPE.to_le_bytes());
        out.extend([0, 0]);
        out.extend(snaplen.to_le_bytes());
        option(IF_NAME, name.as_bytes(), out);
        option(IF_DESCRIPTION, description.as_bytes(), out);
        // The resolution is 10^-9 s.
        option(IF_TSRESOL, &[9], out);
        option(END, &[], out);
    });
}

/// Writes a packet.
pub fn packet(record: &Record<'_>, out: &mut Vec<u8>) {
    block(ENHANCED_PACKET, out, |out| {
        let nanos = record.at.as_nanos();
        out.extend(record.interface.to_le_bytes());
        out.extend(((nanos >> 32) as u32).to_le_bytes());
        out.extend((nanos as u32).to_le_bytes());
        out.extend((record.bytes.len() as u32).to_le_bytes());
        out.extend(record.length.to_le_bytes());
        padded(record.bytes, out);
        if let Some(comment) = record.comment {
            option(COMMENT, comment.as_bytes(), out);
        }
        let bits: u32 = match record.way {
            Way::In => 1,
            Way::Out => 2,
            Way::Past => 0,
        };
        if bits > 0 {
            option(EPB_FLAGS, &bits.to_le_bytes(), out);
        }
        if record.comment.is_some() || bits > 0 {
            option(END, &[], out);
        }
    });
}

/// Writes the statistics of an interface at a time: here only a comment on them (§4.6).
pub fn statistics(interface: u32, at: Instant, comment: &str, out: &mut Vec<u8>) {
    block(INTERFACE_STATISTICS, out, |out| {
        let nanos = at.as_nanos();
        out.extend(interface.to_le_bytes());
        out.extend(((nanos >> 32) as u32).to_le_bytes());
        out.extend((nanos as u32).to_le_bytes());
        comments(comment, out);
        option(END, &[], out);
    });
}

/// Writes a block: its type, and its length before and after the body, which `fill` writes (§3.1).
fn block(kind: u32, out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    fill(out);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend(length.to_le_bytes());
}

fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    padded(value, out);
}

/// Appends a comment, in parts that end between characters.
fn comments(mut text: &str, out: &mut Vec<u8>) {
    while !text.is_empty() {
        let most = text.len().min(usize::from(u16::MAX));
        let is_boundary = |at: &usize| text.is_char_boundary(*at);
        let cut = (0..=most).rev().find(is_boundary).unwrap_or_default();
        let (part, rest) = text.split_at(cut);
        option(COMMENT, part.as_bytes(), out);
        text = rest;
    }
}

/// Appends a value, padded to a multiple of four bytes.
fn padded(value: &[u8], out: &mut Vec<u8>) {
    out.extend(value);
    out.extend(&[0; 3][..value.len().next_multiple_of(4) - value.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_says_its_length_twice_and_ends_on_a_whole_word() {
        let mut out = Vec::new();
        section("headend", "", &mut out);
        let length = out.len() as u32;
        assert_eq!(out[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
        assert_eq!(out[4..8], length.to_le_bytes());
        assert_eq!(out[out.len() - 4..], length.to_le_bytes());
        assert_eq!(length % 4, 0);
        // Magic, version and unknown length; then the option with its padding.
        assert_eq!(out[8..12], [0x4d, 0x3c, 0x2b, 0x1a]);
        assert_eq!(out[24..36], *b"\x04\0\x07\0headend\0");
    }

    #[test]
    fn a_packet_carries_its_time_in_two_halves_its_lengths_and_its_options() {
        let mut out = Vec::new();
        let record = Record {
            interface: 3,
            at: Instant::from_nanos((7 << 32) + 9),
            length: 1500,
            bytes: &[1, 2, 3, 4, 5],
            way: Way::Out,
            comment: Some("lost"),
        };
        packet(&record, &mut out);
        let word = |index: usize| {
            let at = 4 * index;
            u32::from_le_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]])
        };
        assert_eq!([2, 3, 4, 5, 6].map(word), [3, 7, 9, 5, 1500]);
        assert_eq!(out[28..36], [1, 2, 3, 4, 5, 0, 0, 0]);
        // The comment, the flags, and the end of the options.
        assert_eq!(word(9), 1 | 4 << 16);
        assert_eq!([11, 12, 13].map(word), [2 | 4 << 16, 2, 0]);
        assert_eq!(word(1) as usize, out.len());
    }
}
