//! Reads the packets of a capture file: pcap (draft-ietf-opsawg-pcap) and pcapng
//! (draft-ietf-opsawg-pcapng), in either byte order and with any resolution of time.
//!
//! The file is in memory, and the reader copies nothing of it. Every error states the number of the
//! packet, counted from 1 as in Wireshark.
//!
//! Choice: an implementation of our own. Of the crates that read both formats, the stable one takes
//! all times for nanoseconds.

use std::fmt;
use std::ops::Range;

use super::pcapng::{
    BYTE_ORDER, COMMENT, END, ENHANCED_PACKET, IF_TSRESOL, INTERFACE_DESCRIPTION,
    INTERFACE_STATISTICS, SECTION_HEADER,
};

/// A packet of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Captured<'a> {
    /// The packet's number, from 1.
    pub number: u64,
    /// When it was captured, in nanoseconds since the epoch.
    pub nanos: u64,
    /// The number of its link type (`LINKTYPE_…`).
    pub link_type: u16,
    /// The name of its interface, if it has one.
    pub interface: Option<&'a str>,
    /// Its length on the wire.
    pub length: u32,
    /// The bytes of the packet that were captured, from its start.
    pub bytes: &'a [u8],
}

/// An error in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The number of the packet, if the error is in one.
    pub packet: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packet {
            Some(number) => write!(f, "packet {number}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The packets of a file, up to its first error.
#[derive(Debug)]
pub struct Packets<'a> {
    bytes: Bytes<'a>,
    /// The length of the file.
    length: usize,
    kind: Kind<'a>,
    /// The number of packets so far.
    count: u64,
    /// Whether the end of the file, or an error, was reached.
    is_over: bool,
    /// Whether the file ends within a block or record.
    is_cut: bool,
    notes: Notes,
}

/// What the blocks of a pcapng file say besides packets, as far as it was read.
#[derive(Debug, Clone, Default)]
struct Notes {
    sections: usize,
    /// The comment of the last section.
    section: String,
    /// The last statistics of an interface.
    statistics: Option<Statistics>,
}

/// Statistics of an interface, in a pcapng file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// The comment on them; empty if they have none.
    pub comment: String,
    /// Where their block is in the file.
    pub place: Range<usize>,
}

#[derive(Debug)]
enum Kind<'a> {
    Pcap(Interface<'a>),
    Pcapng(Vec<Interface<'a>>),
}

/// The interface on which packets were captured.
#[derive(Debug, Clone)]
struct Interface<'a> {
    name: Option<&'a str>,
    link_type: u16,
    /// The ticks of its clock per second.
    ticks: u128,
    /// The seconds that must be added to its times.
    offset: i64,
}

impl Interface<'_> {
    fn nanos(&self, ticks: u64) -> Option<u64> {
        let nanos = u128::from(ticks).checked_mul(1_000_000_000)? / self.ticks;
        let offset = i128::from(self.offset).checked_mul(1_000_000_000)?;
        u64::try_from(i128::try_from(nanos).ok()?.checked_add(offset)?).ok()
    }
}

/// Magic numbers of pcap files (§4), for times in microseconds and in nanoseconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

/// Blocks of pcapng that hold packets, besides enhanced packet blocks: the obsolete packet block
/// (appendix A) and the simple packet block, which has no time (§4.4).
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
/// Options of an interface.
const IF_NAME: u16 = 2;
const IF_TSOFFSET: u16 = 14;

impl<'a> Packets<'a> {
    /// The packets of the file with this content.
    ///
    /// # Errors
    ///
    /// If the content is not a capture.
    pub fn of(content: &'a [u8]) -> Result<Self, Fault> {
        let refuse = |what: String| Err(Fault { packet: None, what });
        let Some(first) = content.first_chunk::<4>() else {
            return refuse(match content.len() {
                0 => "the file is empty".to_owned(),
                count => format!("a capture begins with 4 bytes that say so; the file has {count}"),
            });
        };
        let (bytes, kind) = match (u32::from_le_bytes(*first), u32::from_be_bytes(*first)) {
            (SECTION_HEADER, _) => (Bytes::of(content, false), Kind::Pcapng(Vec::new())),
            (MICROSECONDS | NANOSECONDS, _) => pcap(content, false)?,
            (_, MICROSECONDS | NANOSECONDS) => pcap(content, true)?,
            _ if first.starts_with(&[0x1f, 0x8b]) => {
                return refuse("compressed by gzip: unpack it first".to_owned());
            }
            _ => {
                let [a, b, c, d] = first;
                return refuse(format!(
                    "neither pcap nor pcapng: it begins with {a:02x} {b:02x} {c:02x} {d:02x}"
                ));
            }
        };
        Ok(Self {
            bytes,
            length: content.len(),
            kind,
            count: 0,
            is_over: false,
            is_cut: false,
            notes: Notes::default(),
        })
    }

    /// Whether the file ends within a block or record, which gave the last error.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The number of sections that were read; 0 for a pcap file.
    pub fn sections(&self) -> usize {
        self.notes.sections
    }

    /// The comment of the last section that was read; empty if it has none. A comment in parts is
    /// put together.
    pub fn comment(&self) -> &str {
        &self.notes.section
    }

    /// The last statistics of an interface that were read.
    pub fn statistics(&self) -> Option<&Statistics> {
        self.notes.statistics.as_ref()
    }

    /// The names of the interfaces that the present section has described so far.
    pub fn interfaces(&self) -> impl Iterator<Item = Option<&'a str>> {
        let interfaces = match &self.kind {
            Kind::Pcap(_) => &[][..],
            Kind::Pcapng(interfaces) => interfaces,
        };
        interfaces.iter().map(|interface| interface.name)
    }

    fn fault<T>(&self, what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault {
            packet: Some(self.count + 1),
            what: what.into(),
        })
    }

    /// The error that the file ends too early.
    fn cut<T>(&mut self, what: impl fmt::Display) -> Result<T, Fault> {
        self.is_cut = true;
        self.fault(format!("cut off: {what}"))
    }

    fn advance(&mut self) -> Result<Option<Captured<'a>>, Fault> {
        while !self.bytes.is_empty() {
            let found = match &self.kind {
                Kind::Pcap(_) => Some(self.record()?),
                Kind::Pcapng(_) => self.block()?,
            };
            if let Some(found) = found {
                self.count += 1;
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The next record of a pcap file (§5).
    fn record(&mut self) -> Result<Captured<'a>, Fault> {
        let Kind::Pcap(interface) = &self.kind else {
            unreachable!("asked for in a pcap file only");
        };
        let interface = interface.clone();
        let Some(header) = self.bytes.take(16) else {
            let left = self.bytes.len();
            return self.cut(format_args!("{left} of the 16 bytes before it are there"));
        };
        let [seconds, fraction, kept, length] = [0, 4, 8, 12].map(|at| header.u32(at));
        let Some(bytes) = self.bytes.take(kept as usize) else {
            let left = self.bytes.len();
            return self.cut(format_args!("{left} of its {kept} bytes are there"));
        };
        let ticks = u128::from(seconds) * interface.ticks + u128::from(fraction);
        let Some(nanos) = u64::try_from(ticks)
            .ok()
            .and_then(|ticks| interface.nanos(ticks))
        else {
            return self.fault("its time is out of range");
        };
        Ok(Captured {
            number: self.count + 1,
            nanos,
            link_type: interface.link_type,
            interface: None,
            length,
            bytes: bytes.content,
        })
    }

    /// Reads the next block of a pcapng file; returns its packet if it has one (§3.1).
    fn block(&mut self) -> Result<Option<Captured<'a>>, Fault> {
        let left = self.bytes.len();
        if left < 12 {
            return self.cut(format_args!(
                "a block has 12 bytes at least, {left} are there"
            ));
        }
        if self.bytes.u32(0) == SECTION_HEADER {
            self.bytes.order(self.bytes.u32(8), BYTE_ORDER);
            if self.bytes.u32(8) != BYTE_ORDER {
                return self.fault("the section before it says no byte order");
            }
        }
        let (kind, length) = (self.bytes.u32(0), self.bytes.u32(4) as usize);
        if length < 12 || !length.is_multiple_of(4) {
            return self.fault(format!("a block of {length} bytes cannot be"));
        }
        let Some(block) = self.bytes.take(length) else {
            return self.cut(format_args!("{left} of a block's {length} bytes are there"));
        };
        if block.u32(length - 4) as usize != length {
            return self.fault("a block whose two lengths differ");
        }
        let body = block.part(8, length - 12).expect("just cut to its length");
        let Kind::Pcapng(interfaces) = &mut self.kind else {
            unreachable!("asked for in a pcapng file only");
        };
        match kind {
            SECTION_HEADER => {
                interfaces.clear();
                self.notes.sections += 1;
                self.notes.section = comment(body, 16);
            }
            INTERFACE_STATISTICS => {
                let start = self.length - left;
                self.notes.statistics = Some(Statistics {
                    comment: comment(body, 12),
                    place: start..start + length,
                });
            }
            INTERFACE_DESCRIPTION => match describe(body) {
                Ok(interface) => interfaces.push(interface),
                Err(what) => return self.fault(what),
            },
            ENHANCED_PACKET | OBSOLETE_PACKET => return self.packet(kind, body).map(Some),
            SIMPLE_PACKET => return self.fault("a simple packet block, which has no time"),
            _ => {}
        }
        Ok(None)
    }

    /// The packet of a block (§4.3). The obsolete block has a shorter interface field, followed by
    /// a count of drops.
    fn packet(&self, kind: u32, body: Bytes<'a>) -> Result<Captured<'a>, Fault> {
        let Kind::Pcapng(interfaces) = &self.kind else {
            unreachable!("asked for in a pcapng file only");
        };
        if body.len() < 20 {
            return self.fault("its block has no room for its header");
        }
        let [high, low, kept, length] = [4, 8, 12, 16].map(|at| body.u32(at));
        let interface = match kind {
            OBSOLETE_PACKET => u32::from(body.u16(0)),
            _ => body.u32(0),
        };
        let Some(found) = interfaces.get(interface as usize) else {
            return self.fault(format!("its interface {interface} is not described"));
        };
        let Some(bytes) = body.part(20, kept as usize) else {
            return self.fault(format!("its block has no room for its {kept} bytes"));
        };
        let Some(nanos) = found.nanos(u64::from(high) << 32 | u64::from(low)) else {
            return self.fault("its time is out of range");
        };
        Ok(Captured {
            number: self.count + 1,
            nanos,
            link_type: found.link_type,
            interface: found.name,
            length,
            bytes: bytes.content,
        })
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Result<Captured<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let next = self.advance();
        self.is_over = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

/// The header of a pcap file (§4).
fn pcap(content: &[u8], is_big: bool) -> Result<(Bytes<'_>, Kind<'_>), Fault> {
    let mut bytes = Bytes::of(content, is_big);
    let Some(header) = bytes.take(24) else {
        let what = format!(
            "cut off: {} of the file header's 24 bytes are there",
            content.len()
        );
        return Err(Fault { packet: None, what });
    };
    let interface = Interface {
        name: None,
        // The upper half states whether a checksum follows each frame.
        link_type: header.u32(20) as u16,
        ticks: if header.u32(0) == NANOSECONDS {
            1_000_000_000
        } else {
            1_000_000
        },
        offset: 0,
    };
    Ok((bytes, Kind::Pcap(interface)))
}

/// The comments of a block whose options begin at `at`, put together; without those that are no
/// text.
fn comment(body: Bytes<'_>, at: usize) -> String {
    let mut text = String::new();
    let mut rest = body.part(at, body.len().saturating_sub(at));
    while let Some((code, value, behind)) = rest.and_then(option) {
        if code == COMMENT {
            text.push_str(std::str::from_utf8(value.content).unwrap_or_default());
        }
        rest = Some(behind);
    }
    text
}

/// The first of these options, and those behind it (§3.5). `None` at their end.
fn option(options: Bytes<'_>) -> Option<(u16, Bytes<'_>, Bytes<'_>)> {
    if options.len() < 4 || options.u16(0) == END {
        return None;
    }
    let mut behind = options;
    behind.take(4)?;
    let length = usize::from(options.u16(2));
    let value = behind.part(0, length)?;
    behind.take(length.next_multiple_of(4))?;
    Some((options.u16(0), value, behind))
}

/// The interface that a description block describes (§4.2).
fn describe(body: Bytes<'_>) -> Result<Interface<'_>, String> {
    if body.len() < 8 {
        return Err("an interface description has no room for its header".to_owned());
    }
    let mut interface = Interface {
        name: None,
        link_type: body.u16(0),
        ticks: 1_000_000,
        offset: 0,
    };
    let mut at = 8;
    while at + 4 <= body.len() {
        let (code, length) = (body.u16(at), usize::from(body.u16(at + 2)));
        let Some(value) = body.part(at + 4, length) else {
            return Err("an option of an interface is cut off".to_owned());
        };
        match (code, length) {
            (0, _) => break,
            (IF_NAME, _) => interface.name = std::str::from_utf8(value.content).ok(),
            (IF_TSRESOL, 1) => interface.ticks = ticks(value.content[0])?,
            (IF_TSOFFSET, 8) => interface.offset = value.u64(0) as i64,
            _ => {}
        }
        at += 4 + length.next_multiple_of(4);
    }
    Ok(interface)
}

/// The ticks per second: a power of ten, or of two if the highest bit is set.
fn ticks(resolution: u8) -> Result<u128, String> {
    let power = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(power)
        .ok_or_else(|| format!("an interface whose clock ticks {base}^{power} times a second"))
}

/// Bytes whose numbers are in the byte order of their writer.
#[derive(Debug, Clone, Copy)]
struct Bytes<'a> {
    content: &'a [u8],
    is_big: bool,
}

impl<'a> Bytes<'a> {
    fn of(content: &'a [u8], is_big: bool) -> Self {
        Self { content, is_big }
    }

    fn len(&self) -> usize {
        self.content.len()
    }

    fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// Removes and returns the first `count` bytes.
    fn take(&mut self, count: usize) -> Option<Self> {
        let (taken, rest) = self.content.split_at_checked(count)?;
        self.content = rest;
        Some(Self::of(taken, self.is_big))
    }

    fn part(&self, at: usize, count: usize) -> Option<Self> {
        let content = self.content.get(at..at.checked_add(count)?)?;
        Some(Self::of(content, self.is_big))
    }

    /// Reverses the byte order if `found`, read in the present one, is not `expected`.
    fn order(&mut self, found: u32, expected: u32) {
        if found != expected {
            self.is_big = !self.is_big;
        }
    }

    /// The number at `at`. The caller has checked the length.
    fn u16(&self, at: usize) -> u16 {
        let bytes = [self.content[at], self.content[at + 1]];
        if self.is_big {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    }

    fn u32(&self, at: usize) -> u32 {
        let [first, second] = [self.u16(at), self.u16(at + 2)].map(u32::from);
        if self.is_big {
            first << 16 | second
        } else {
            second << 16 | first
        }
    }

    fn u64(&self, at: usize) -> u64 {
        let [first, second] = [self.u32(at), self.u32(at + 4)].map(u64::from);
        if self.is_big {
            first << 32 | second
        } else {
            second << 32 | first
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Instant;
    use crate::wire::pcapng::{self, Record, Way};

    /// A pcap file of raw IP with packets of one byte at the given seconds and fractions.
    fn pcap_file(magic: u32, packets: &[(u32, u32)], number: impl Fn(u32) -> [u8; 4]) -> Vec<u8> {
        let mut file: Vec<u8> = [magic, 0, 0, 0, 65535, 101]
            .into_iter()
            .flat_map(&number)
            .collect();
        for &(seconds, fraction) in packets {
            file.extend([seconds, fraction, 1, 40].into_iter().flat_map(&number));
            file.push(0x45);
        }
        file
    }

    fn times(file: &[u8]) -> Vec<u64> {
        let packets = Packets::of(file).expect("it is a capture");
        packets
            .map(|packet| packet.expect("it is whole").nanos)
            .collect()
    }

    fn fault(file: &[u8]) -> String {
        match Packets::of(file) {
            Err(fault) => fault.to_string(),
            Ok(mut packets) => packets
                .find_map(Result::err)
                .expect("something is wrong with it")
                .to_string(),
        }
    }

    #[test]
    fn both_byte_orders_and_both_resolutions_of_pcap_are_read() {
        let packets = [(1, 5), (2, 7)];
        let micros = [1_000_005_000, 2_000_007_000];
        let nanos = [1_000_000_005, 2_000_000_007];
        assert_eq!(
            times(&pcap_file(MICROSECONDS, &packets, u32::to_le_bytes)),
            micros
        );
        assert_eq!(
            times(&pcap_file(MICROSECONDS, &packets, u32::to_be_bytes)),
            micros
        );
        assert_eq!(
            times(&pcap_file(NANOSECONDS, &packets, u32::to_le_bytes)),
            nanos
        );
        assert_eq!(
            times(&pcap_file(NANOSECONDS, &packets, u32::to_be_bytes)),
            nanos
        );
        let file = pcap_file(MICROSECONDS, &packets, u32::to_be_bytes);
        let second = Packets::of(&file).unwrap().nth(1).unwrap().unwrap();
        let expected = Captured {
            number: 2,
            nanos: micros[1],
            link_type: 101,
            interface: None,
            length: 40,
            bytes: &[0x45],
        };
        assert_eq!(second, expected);
    }

    #[test]
    fn what_is_no_capture_or_is_cut_off_is_said_with_the_packet() {
        assert_eq!(fault(b""), "the file is empty");
        assert!(fault(b"PK\x03\x04").contains("begins with 50 4b 03 04"));
        assert!(fault(&[0x1f, 0x8b, 8, 0]).contains("gzip"));
        let file = pcap_file(NANOSECONDS, &[(1, 5), (2, 7)], u32::to_le_bytes);
        assert!(fault(&file[..20]).contains("file header's 24 bytes"));
        assert_eq!(
            fault(&file[..file.len() - 1]),
            "packet 2: cut off: 0 of its 1 bytes are there"
        );
        assert_eq!(
            fault(&file[..file.len() - 10]),
            "packet 2: cut off: 7 of the 16 bytes before it are there"
        );
    }

    /// A big-endian pcapng file with one interface of the given resolution, and a packet after
    /// `ticks`.
    fn big_pcapng(resolution: u8, ticks: u64, offset: i64) -> Vec<u8> {
        let block = |kind: u32, body: &[u8]| -> Vec<u8> {
            let length = (body.len() as u32 + 12).to_be_bytes();
            [&kind.to_be_bytes(), &length, body, &length].concat()
        };
        let section = [&BYTE_ORDER.to_be_bytes()[..], &[0, 1, 0, 0], &[0xff; 8]].concat();
        let interface = [
            &[0, 1, 0, 0, 0, 0, 0xff, 0xff][..],
            &[0, 9, 0, 1, resolution, 0, 0, 0],
            &[0, 14, 0, 8],
            &offset.to_be_bytes(),
        ]
        .concat();
        let packet = [
            &[0; 4][..],
            &ticks.to_be_bytes(),
            &[0, 0, 0, 1, 0, 0, 0, 60],
            &[9, 0, 0, 0],
        ]
        .concat();
        [
            block(SECTION_HEADER, &section),
            block(INTERFACE_DESCRIPTION, &interface),
            // The reader skips blocks of unknown types.
            block(0x0bad, &[0; 4]),
            block(ENHANCED_PACKET, &packet),
        ]
        .concat()
    }

    #[test]
    fn an_interface_says_how_fast_its_clock_ticks_and_where_it_begins() {
        assert_eq!(times(&big_pcapng(6, 1_500_000, 0)), [1_500_000_000]);
        assert_eq!(times(&big_pcapng(9, 1_500_000, 0)), [1_500_000]);
        assert_eq!(times(&big_pcapng(3, 1_500, 10)), [11_500_000_000]);
        assert_eq!(times(&big_pcapng(0x8a, 1536, 0)), [1_500_000_000]);
        assert!(fault(&big_pcapng(127, 1, 0)).contains("10^127"));
        assert!(fault(&big_pcapng(0, u64::MAX, 0)).contains("packet 1: its time"));
        assert!(fault(&big_pcapng(6, 1, -10)).contains("packet 1: its time"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut file = Vec::new();
        pcapng::section("headend", "", &mut file);
        pcapng::interface("a", "first", 80, &mut file);
        pcapng::interface("b", "second", 80, &mut file);
        let record = |interface, nanos, comment| Record {
            interface,
            at: Instant::from_nanos(nanos),
            length: 200,
            bytes: &[1, 2, 3],
            way: Way::Past,
            comment,
        };
        pcapng::packet(&record(1, 5, None), &mut file);
        pcapng::packet(&record(0, u64::MAX / 2, Some("why")), &mut file);
        let found: Vec<_> = Packets::of(&file).unwrap().map(Result::unwrap).collect();
        assert_eq!(found[0].interface, Some("b"));
        assert_eq!(found[1].interface, Some("a"));
        assert_eq!([found[0].nanos, found[1].nanos], [5, u64::MAX / 2]);
        assert!(found.iter().all(|packet| packet.bytes == [1, 2, 3]));
        let cut = &file[..file.len() - 4];
        assert!(
            fault(cut).starts_with("packet 2: cut off"),
            "{}",
            fault(cut)
        );
    }

    #[test]
    fn a_packet_of_no_interface_and_one_without_a_time_are_refused() {
        let mut file = Vec::new();
        pcapng::section("headend", "", &mut file);
        let record = Record {
            interface: 4,
            at: Instant::ZERO,
            length: 1,
            bytes: &[1],
            way: Way::Past,
            comment: None,
        };
        pcapng::packet(&record, &mut file);
        assert_eq!(fault(&file), "packet 1: its interface 4 is not described");
        let place = file.len() - 36;
        file[place] = SIMPLE_PACKET as u8;
        assert!(fault(&file).contains("has no time"));
    }

    proptest! {
        /// For any content of a file, reading ends, in packets or in an error.
        #[test]
        fn no_content_breaks_the_reader(
            start in prop_oneof![Just(0), Just(1), Just(2), Just(3)],
            noise in prop::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
        ) {
            let mut file = match start {
                0 => big_pcapng(6, 1, 0),
                1 => pcap_file(MICROSECONDS, &[(1, 5)], u32::to_be_bytes),
                2 => pcap_file(NANOSECONDS, &[(1, 5)], u32::to_le_bytes),
                _ => Vec::new(),
            };
            let place = at.index(file.len() + 1);
            file.splice(place..file.len().min(place + noise.len()), noise);
            if let Ok(packets) = Packets::of(&file) {
                prop_assert!(packets.count() <= file.len());
            }
        }
    }
}
