//! Recordings: the arrivals of an emulation in a file, from which the run can be repeated in
//! virtual time.
//!
//! A recording is a pcapng file with times in nanoseconds since the start of the run, which other
//! programs can read:
//!
//! - The section's comment is JSON: the version of headend, the number of the format, the seed and
//!   the resolved scenario.
//! - Each real host has an interface of its name. The packets of an interface are the frames that
//!   its host sent, as they arrived.
//! - The last block holds statistics of the first interface. Its comment is JSON: when the run
//!   ended, how its frames ended, and a checksum of all blocks before it. It is missing if the run
//!   was killed, whose recording is used as far as it goes.
//!
//! How flows open, and when they are closed, follows from the frames' headers and simulated time.
//! A recording needs nothing else, so that a snapshot length leaves all headers whole, however long
//! they are; but names of servers are found in whole frames only.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::pcapng::{self, LINK_TYPE, Record, Way};
use super::read::{Captured, Fault, Packets};
use super::real;
use crate::text::quote;
use crate::time::Instant;

/// The number of the format. A recording of another format is refused.
pub const FORMAT: u64 = 2;

/// A recording that was read, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The version of headend that wrote it.
    pub version: String,
    /// The resolved scenario, as JSON.
    pub scenario: String,
    /// The seed of the run.
    pub seed: u64,
    /// The names of the real hosts, in the order of their numbers.
    pub hosts: Vec<String>,
    /// The end of the run; `None` if the recording breaks off before it.
    pub end: Option<End>,
    arrivals: Vec<Place>,
}

/// The end of a recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When the run ended, in nanoseconds since its start.
    pub end_ns: u64,
    /// How its frames ended.
    pub frames: Ends,
    /// The [`checksum`] of all blocks in front of the last one: damage to the file is found by it.
    pub blocks: Digest,
}

/// How the frames of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Frames that entered the network.
    pub entered: u64,
    /// Frames that reached their receiver.
    pub delivered: u64,
    /// Frames that were discarded.
    pub discarded: u64,
    /// Delivered frames that the network marked CE.
    pub marked: u64,
    /// By it the run is compared with its replay.
    pub digest: Digest,
}

/// A number made of other numbers in their order, as FNV-1a for 64 bits (draft-eastlake-fnv §2)
/// makes it of bytes: a change of one of them always changes it.
///
/// Of a run's frames it is made of the time, receiver, fate, ECN field, size and headers of each
/// frame's end. Two runs with the same digest treated the same frames equally.
///
/// It is written as 16 hexadecimal digits: many readers of JSON round a number of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    /// That of nothing, which others begin with: the offset basis (draft-eastlake-fnv §5).
    pub const START: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds a number.
    pub const fn add(&mut self, number: u64) {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        self.0 = (self.0 ^ number).wrapping_mul(PRIME);
    }
}

/// Adds blocks of a recording to the checksum of those in front of them: the digest of all their
/// words of 32 bits, of which a block always has a whole number.
pub fn checksum(sum: &mut Digest, blocks: &[u8]) {
    let (words, rest) = blocks.as_chunks::<4>();
    debug_assert!(rest.is_empty(), "blocks consist of whole words");
    for &word in words {
        sum.add(u64::from(u32::from_le_bytes(word)));
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number = u64::from_str_radix(&text, 16);
        number.map(Self).map_err(serde::de::Error::custom)
    }
}

/// An arrival, and where its bytes are in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    at: Instant,
    host: u16,
    bytes: Range<usize>,
}

/// The bytes of a recorded frame, which keep the file in memory.
#[derive(Debug, Clone)]
pub struct Frame {
    content: Arc<[u8]>,
    place: Range<usize>,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.content[self.place.clone()]
    }
}

impl Recording {
    /// The number of arrivals.
    pub fn count(&self) -> usize {
        self.arrivals.len()
    }

    /// The time of the last arrival; the start of the run if there is none.
    pub fn last(&self) -> Instant {
        self.arrivals.last().map_or(Instant::ZERO, |last| last.at)
    }

    /// The arrivals in order of time: when, from which of [`hosts`](Self::hosts), and the bytes
    /// that were kept. `content` is the file that the recording was read from.
    pub fn arrivals<'a>(
        &'a self,
        content: &'a [u8],
    ) -> impl Iterator<Item = (Instant, u16, &'a [u8])> {
        let arrivals = self.arrivals.iter();
        arrivals.map(|place| (place.at, place.host, &content[place.bytes.clone()]))
    }

    /// The same, from a file that the arrivals keep in memory.
    pub fn into_arrivals(
        self,
        content: Arc<[u8]>,
    ) -> impl Iterator<Item = (Instant, u16, Frame)> + Send + 'static {
        self.arrivals.into_iter().map(move |place| {
            let frame = Frame {
                content: Arc::clone(&content),
                place: place.bytes,
            };
            (place.at, place.host, frame)
        })
    }

    /// Whether its hosts are the first ones of these.
    fn begins(&self, names: &[&str]) -> bool {
        let first = names.get(..self.hosts.len());
        first.is_some_and(|first| self.hosts == first)
    }

    /// Checks that these, the real hosts of its scenario by number, are the hosts that it has.
    ///
    /// # Errors
    ///
    /// A sentence with the first difference.
    pub fn check_hosts<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), Fault> {
        let names: Vec<&str> = names.into_iter().collect();
        if self.hosts == names {
            return Ok(());
        }
        if self.arrivals.is_empty() && self.end.is_none() && self.begins(&names) {
            return refuse(format!(
                "cut off before the interfaces of all real hosts of its scenario: found {}, \
                 expected {}",
                list(&self.hosts),
                list(&names)
            ));
        }
        let is_known = |host: &&String| names.contains(&host.as_str());
        let stranger = self.hosts.iter().find(|host| !is_known(host));
        refuse(match stranger {
            Some(host) => format!(
                "the interface {} is no real host of its scenario: expected {}",
                quote(host),
                list(&names)
            ),
            None => format!(
                "its interfaces are {}: expected the real hosts of its scenario, {}",
                list(&self.hosts),
                list(&names)
            ),
        })
    }
}

/// The first part of a section's comment, of any format.
#[derive(Deserialize)]
struct Mark {
    headend: String,
    recording: u64,
}

/// A section's comment.
#[derive(Deserialize)]
struct Start<'a> {
    seed: u64,
    #[serde(borrow)]
    scenario: &'a RawValue,
}

/// Reads a recording. One that breaks off, because its run was killed, is read as far as it goes.
///
/// # Errors
///
/// A sentence with the number of the packet, if the content is no capture, no recording, one of
/// another format, or damaged.
pub fn read(content: &[u8]) -> Result<Recording, Fault> {
    let mut packets = Packets::of(content)?;
    let mut next = packets.next();
    let (version, start) = read_start(&packets)?;
    let (seed, scenario) = (start.seed, start.scenario.get().to_owned());
    let mut arrivals: Vec<Place> = Vec::new();
    loop {
        match next {
            None => break,
            Some(Err(_)) if packets.is_cut() => break,
            Some(Err(fault)) => return Err(fault),
            Some(Ok(packet)) => {
                let last = arrivals.last().map_or(Instant::ZERO, |last| last.at);
                let place = place(&packet, &packets, last, content);
                arrivals.push(place.map_err(|what| Fault {
                    packet: Some(packet.number),
                    what,
                })?);
            }
        }
        next = packets.next();
    }
    if packets.sections() > 1 {
        let count = packets.sections();
        return refuse(format!("{count} sections: a recording has one"));
    }
    Ok(Recording {
        version,
        scenario,
        seed,
        hosts: read_hosts(&packets)?,
        end: read_end(&packets, &arrivals, content)?,
        arrivals,
    })
}

fn refuse<T>(what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault {
        packet: None,
        what: what.into(),
    })
}

/// What the section's comment says: the version of its writer, and the rest.
fn read_start<'p>(packets: &'p Packets<'_>) -> Result<(String, Start<'p>), Fault> {
    let comment = packets.comment();
    let Ok(mark) = serde_json::from_str::<Mark>(comment) else {
        return refuse(if packets.sections() == 0 && packets.is_cut() {
            "cut off within its first block, which has the scenario"
        } else {
            "a capture, but no recording of headend: it has no scenario"
        });
    };
    if mark.recording != FORMAT {
        return refuse(format!(
            "a recording of format {}, by headend {}: this version reads format {FORMAT}",
            mark.recording,
            quote(&mark.headend)
        ));
    }
    match serde_json::from_str(comment) {
        Ok(start) => Ok((mark.headend, start)),
        Err(_) => refuse("a recording whose seed and scenario are damaged"),
    }
}

/// Where an arrival is in the file, if it is one.
fn place(
    packet: &Captured<'_>,
    packets: &Packets<'_>,
    last: Instant,
    content: &[u8],
) -> Result<Place, String> {
    if packet.link_type != LINK_TYPE {
        return Err(format!(
            "link type {}: a recording has raw IP ({LINK_TYPE})",
            packet.link_type
        ));
    }
    let mut names = packets.interfaces();
    let host = names.position(|name| name.is_some() && name == packet.interface);
    let Some(host) = host.and_then(|host| u16::try_from(host).ok()) else {
        return Err("its interface has no name, so that its host is not known".to_owned());
    };
    let at = Instant::from_nanos(packet.nanos);
    if at < last {
        return Err(format!(
            "at {} ns, before the packet in front of it, at {} ns",
            at.as_nanos(),
            last.as_nanos()
        ));
    }
    let start = packet.bytes.as_ptr().addr() - content.as_ptr().addr();
    Ok(Place {
        at,
        host,
        bytes: start..start + packet.bytes.len(),
    })
}

fn read_hosts(packets: &Packets<'_>) -> Result<Vec<String>, Fault> {
    let mut hosts: Vec<String> = Vec::new();
    for (index, name) in packets.interfaces().enumerate() {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return refuse(format!("its interface {index} has no name"));
        };
        if hosts.iter().any(|host| host == name) {
            return refuse(format!("two interfaces {}", quote(name)));
        }
        hosts.push(name.to_owned());
    }
    Ok(hosts)
}

fn read_end(
    packets: &Packets<'_>,
    arrivals: &[Place],
    content: &[u8],
) -> Result<Option<End>, Fault> {
    let Some(statistics) = packets.statistics() else {
        return Ok(None);
    };
    let Ok(end) = serde_json::from_str::<End>(&statistics.comment) else {
        return refuse("what it says of the end of its run is damaged");
    };
    let mut sum = Digest::START;
    checksum(&mut sum, &content[..statistics.place.start]);
    if sum != end.blocks {
        return refuse("damaged: it has changed since it was written (its checksum is another)");
    }
    if statistics.place.end != content.len() {
        return refuse("damaged: something stands behind the end of its run");
    }
    match arrivals.last() {
        Some(last) if last.at.as_nanos() > end.end_ns => refuse(format!(
            "its last packet is at {} ns, after the end of its run at {} ns",
            last.at.as_nanos(),
            end.end_ns
        )),
        _ => Ok(Some(end)),
    }
}

/// The most names that a sentence lists.
const MOST_LISTED: usize = 6;

fn list(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let shown = names.iter().take(MOST_LISTED);
    let mut shown: Vec<String> = shown.map(|name| quote(name.as_ref())).collect();
    if names.len() > MOST_LISTED {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Writes a recording, piece by piece.
#[derive(Debug)]
pub struct Writer {
    snaplen: usize,
    /// What was not yet taken.
    out: Vec<u8>,
}

impl Writer {
    /// The recording of a run of the resolved `scenario` (JSON) with `seed` and these real hosts,
    /// in the order of their numbers. It keeps `snaplen` bytes of a frame, or more where its
    /// headers are longer; 0 keeps all.
    pub fn new<'n>(
        seed: u64,
        scenario: &str,
        hosts: impl IntoIterator<Item = &'n str>,
        snaplen: u32,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let comment = format!(
            "{{\"headend\":\"{version}\",\"recording\":{FORMAT},\"seed\":{seed},\
             \"scenario\":{scenario}}}"
        );
        let mut out = Vec::with_capacity(ROOM);
        pcapng::section(&format!("headend {version}"), &comment, &mut out);
        for host in hosts {
            let description = format!("frames that the real host {host} sent");
            // No limit: a long chain of headers is kept beyond the snapshot length.
            pcapng::interface(host, &description, 0, &mut out);
        }
        let snaplen = match snaplen {
            0 => usize::MAX,
            some => some as usize,
        };
        Self { snaplen, out }
    }

    /// A frame arrived from a host. Arrivals are in order of time.
    pub fn arrival(&mut self, at: Instant, host: u16, bytes: &[u8]) {
        let record = Record {
            interface: u32::from(host),
            at,
            length: bytes.len() as u32,
            bytes: self.cut(bytes),
            way: Way::Past,
            comment: None,
        };
        pcapng::packet(&record, &mut self.out);
    }

    /// What is kept of a frame: at least what reading it again needs.
    fn cut<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if bytes.len() <= self.snaplen {
            return bytes;
        }
        &bytes[..self.snaplen.max(real::needed(bytes))]
    }

    /// The run is over. Nothing may follow.
    pub fn end(&mut self, end: &End) {
        let comment = serde_json::to_string(end).expect("numbers are JSON");
        let at = Instant::from_nanos(end.end_ns);
        pcapng::statistics(0, at, &comment, &mut self.out);
    }

    /// The number of bytes that were not yet taken.
    pub fn bytes(&self) -> usize {
        self.out.len()
    }

    /// The bytes that were not yet taken. All pieces, one after the other, are the file.
    pub fn take(&mut self) -> Vec<u8> {
        let next = Vec::with_capacity(self.out.capacity().min(MOST_ROOM));
        std::mem::replace(&mut self.out, next)
    }
}

/// The initial capacity of a piece, in bytes, and the largest that is kept for the next.
const ROOM: usize = 1 << 18;
const MOST_ROOM: usize = 1 << 22;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const END: End = End {
        end_ns: 5_000_000_000,
        frames: Ends {
            entered: 3,
            delivered: 2,
            discarded: 1,
            marked: 1,
            digest: Digest(u64::MAX - 1),
        },
        blocks: Digest::START,
    };

    /// The same, behind these blocks.
    fn end_of(file: &[u8], end: End) -> End {
        let mut blocks = Digest::START;
        checksum(&mut blocks, file);
        End { blocks, ..end }
    }

    /// A recording of two hosts with arrivals of these hosts at these times.
    fn recording(arrivals: &[(u64, u16)], snaplen: u32, end: Option<End>) -> Vec<u8> {
        let scenario = "{\"seed\": 0.1, \"host\": {}}";
        let mut writer = Writer::new(7, scenario, ["laptop", "server"], snaplen);
        let mut file = writer.take();
        for &(at, host) in arrivals {
            writer.arrival(Instant::from_nanos(at), host, &[0x45; 200]);
            file.extend(writer.take());
        }
        if let Some(end) = end {
            writer.end(&end_of(&file, end));
        }
        file.extend(writer.take());
        file
    }

    fn fault(content: &[u8]) -> String {
        read(content).expect_err("it is refused").to_string()
    }

    #[test]
    fn what_is_recorded_is_read_again() {
        let arrivals = [(0, 1), (5, 0), (5, 1), (4_999_999_999, 0)];
        let file = recording(&arrivals, 0, Some(END));
        let found = read(&file).expect("it is a recording");
        assert_eq!(found.version, env!("CARGO_PKG_VERSION"));
        assert_eq!(found.scenario, "{\"seed\": 0.1, \"host\": {}}");
        assert_eq!((found.seed, found.count()), (7, 4));
        assert_eq!(found.hosts, ["laptop", "server"]);
        let start = recording(&arrivals, 0, None);
        assert_eq!(found.end, Some(end_of(&start, END)));
        assert_eq!(found.last().as_nanos(), 4_999_999_999);
        let read: Vec<_> = found
            .arrivals(&file)
            .map(|(at, host, bytes)| {
                assert_eq!(bytes, [0x45; 200]);
                (at.as_nanos(), host)
            })
            .collect();
        assert_eq!(read, arrivals);
        let shared: Arc<[u8]> = file.into();
        let read = found.into_arrivals(shared).map(|(at, host, frame)| {
            assert_eq!(frame.as_ref(), [0x45; 200]);
            (at.as_nanos(), host)
        });
        assert_eq!(read.collect::<Vec<_>>(), arrivals);
    }

    #[test]
    fn a_snapshot_length_bounds_what_is_kept() {
        let file = recording(&[(1, 0)], 128, None);
        let found = read(&file).expect("it is a recording");
        assert_eq!(found.end, None);
        let lengths: Vec<_> = found.arrivals(&file).map(|(.., kept)| kept.len()).collect();
        assert_eq!(lengths, [128]);
    }

    #[test]
    fn a_snapshot_length_cuts_no_header_and_no_packet_whose_length_only_its_bytes_have() {
        // Twenty headers of options before UDP, and IPv4 with length 0.
        let mut long = [&[0x60, 0, 0, 0, 2, 0, 60, 64][..], &[0xfd; 32]].concat();
        for number in 0..20 {
            let next = if number == 19 { 17 } else { 60 };
            long.extend([next, 0, 1, 4, 0, 0, 0, 0]);
        }
        long.resize(40 + 512, 9);
        let mut unsized_one = vec![0x45; 300];
        unsized_one[2..4].fill(0);
        let mut writer = Writer::new(7, "{}", ["laptop"], 128);
        for (at, bytes) in [&long, &unsized_one].into_iter().enumerate() {
            writer.arrival(Instant::from_nanos(at as u64), 0, bytes);
        }
        let file = writer.take();
        let found = read(&file).expect("it is a recording");
        let kept: Vec<_> = found.arrivals(&file).map(|(.., kept)| kept).collect();
        assert!(kept[0].len() < 250, "{}", kept[0].len());
        assert_eq!(kept[1].len(), 300);
        for (kept, whole) in kept.into_iter().zip([&long, &unsized_one]) {
            assert!(real::read(whole).is_some());
            assert_eq!(real::read(kept), real::read(whole));
        }
    }

    #[test]
    fn any_change_in_front_of_the_end_and_anything_behind_it_is_damage() {
        let file = recording(&[(1, 0), (2, 1)], 0, Some(END));
        let end = recording(&[(1, 0), (2, 1)], 0, None).len();
        for at in 0..end {
            let mut damaged = file.clone();
            damaged[at] ^= 4;
            // A block that now seems to be longer than the file looks like one that breaks off.
            let is_found = read(&damaged).map_or(true, |found| found.end.is_none());
            assert!(is_found, "byte {at}");
        }
        let mut damaged = file.clone();
        damaged[end - 100] ^= 1;
        assert_eq!(
            fault(&damaged),
            "damaged: it has changed since it was written (its checksum is another)"
        );
        let packet = recording(&[(3, 0)], 0, None).split_off(recording(&[], 0, None).len());
        let longer = [file, packet].concat();
        assert_eq!(
            fault(&longer),
            "damaged: something stands behind the end of its run"
        );
    }

    #[test]
    fn a_scenario_longer_than_a_comment_is_kept() {
        let scenario = format!("{{\"x\":\"{}\"}}", "aü€".repeat(50_000));
        let mut writer = Writer::new(1, &scenario, ["a"], 0);
        let found = read(&writer.take()).expect("it is a recording");
        assert_eq!(found.scenario, scenario);
    }

    #[test]
    fn one_that_breaks_off_is_read_as_far_as_it_goes() {
        let whole = recording(&[(1, 0), (2, 1)], 0, Some(END));
        let start = recording(&[], 0, None).len();
        let packet = recording(&[(1, 0)], 0, None).len() - start;
        for length in start..whole.len() {
            let found = read(&whole[..length]).expect("it is a recording");
            assert_eq!(found.end, None);
            assert_eq!(found.count(), ((length - start) / packet).min(2));
        }
        assert!(fault(&whole[..20]).contains("cut off within its first block"));
        assert_eq!(fault(&[]), "the file is empty");
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let mut capture = Vec::new();
        pcapng::section("headend", "", &mut capture);
        pcapng::interface("a", "", 80, &mut capture);
        let expected = "a capture, but no recording of headend: it has no scenario";
        assert_eq!(fault(&capture), expected);
        let pcap = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 101];
        let pcap: Vec<u8> = pcap.into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(fault(&pcap), expected);
        let commented = |comment: &str| {
            let mut file = Vec::new();
            pcapng::section("headend", comment, &mut file);
            fault(&file)
        };
        assert_eq!(commented("lunch"), expected);
        assert_eq!(
            commented("{\"headend\":\"9.0\",\"recording\":3,\"run\":{}}"),
            "a recording of format 3, by headend \"9.0\": this version reads format 2"
        );
        assert_eq!(
            commented("{\"headend\":\"9.0\",\"recording\":2,\"seed\":1}"),
            "a recording whose seed and scenario are damaged"
        );
        assert!(fault(b"[link]\n").starts_with("neither pcap nor pcapng"));
    }

    #[test]
    fn a_packet_that_cannot_be_an_arrival_is_named() {
        assert_eq!(
            fault(&recording(&[(5, 0), (4, 1)], 0, None)),
            "packet 2: at 4 ns, before the packet in front of it, at 5 ns"
        );
        assert_eq!(
            fault(&recording(&[(5, 2)], 0, None)),
            "packet 1: its interface 2 is not described"
        );
        let late = recording(&[(6_000_000_000, 0)], 0, Some(END));
        assert!(fault(&late).contains("after the end of its run"));
        let mut other_link = recording(&[(1, 0)], 0, None);
        let name = b"laptop";
        let place = other_link.windows(6).position(|bytes| bytes == name);
        // The interface's link type is 12 bytes before its first option's value.
        other_link[place.expect("it is there") - 12] = 1;
        assert_eq!(
            fault(&other_link),
            "packet 1: link type 1: a recording has raw IP (101)"
        );
        let twice = Writer::new(1, "{}", ["a", "a"], 0).take();
        assert_eq!(fault(&twice), "two interfaces \"a\"");
        let nameless = Writer::new(1, "{}", [""], 0).take();
        assert_eq!(fault(&nameless), "its interface 0 has no name");
        let two = [recording(&[], 0, None), recording(&[], 0, None)].concat();
        assert_eq!(fault(&two), "2 sections: a recording has one");
        let mut damaged = recording(&[], 0, None);
        pcapng::statistics(0, Instant::ZERO, "{}", &mut damaged);
        assert!(fault(&damaged).contains("the end of its run is damaged"));
    }

    #[test]
    fn its_hosts_are_those_of_its_scenario() {
        let found = read(&recording(&[], 0, None)).expect("it is a recording");
        assert_eq!(found.check_hosts(["laptop", "server"]), Ok(()));
        let refused = |names: &[&str]| {
            let checked = found.check_hosts(names.iter().copied());
            checked.expect_err("they differ").to_string()
        };
        assert_eq!(
            refused(&["phone", "server"]),
            "the interface \"laptop\" is no real host of its scenario: expected \"phone\", \
             \"server\""
        );
        assert_eq!(
            refused(&["server", "laptop"]),
            "its interfaces are \"laptop\", \"server\": expected the real hosts of its scenario, \
             \"server\", \"laptop\""
        );
        assert!(refused(&[]).ends_with("expected none"));
        let more = "cut off before the interfaces of all real hosts of its scenario: found \
                    \"laptop\", \"server\", expected \"laptop\", \"server\", \"tv\"";
        assert_eq!(refused(&["laptop", "server", "tv"]), more);
        let found = read(&recording(&[(1, 0)], 0, None)).expect("it is a recording");
        let checked = found.check_hosts(["laptop", "server", "tv"]);
        let told = checked.expect_err("they differ").to_string();
        assert!(told.starts_with("its interfaces are"), "{told}");
    }

    proptest! {
        /// No content breaks the reader, and what it accepts lies within the file.
        #[test]
        fn no_content_breaks_the_reader(
            noise in prop::collection::vec(any::<u8>(), 0..50),
            at in any::<prop::sample::Index>(),
            is_inserted in any::<bool>(),
        ) {
            let mut file = recording(&[(1, 0), (2, 1)], 60, Some(END));
            let place = at.index(file.len());
            let end = if is_inserted { place } else { file.len().min(place + noise.len()) };
            file.splice(place..end, noise);
            match read(&file) {
                Ok(found) => prop_assert_eq!(found.arrivals(&file).count(), found.count()),
                Err(fault) => {
                    let text = fault.to_string();
                    prop_assert!(!text.contains(char::is_control) && text.len() < 300, "{}", text);
                }
            }
        }
    }
}
