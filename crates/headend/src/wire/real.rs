//! The headers of a real frame, as far as the model sees them, and the two fields that the network
//! writes: ECN and DSCP.
//!
//! - IPv4 (RFC 791) with options; IPv6 (RFC 8200) behind hop-by-hop, routing, fragment and
//!   destination options headers.
//! - TCP (RFC 9293) with SACK blocks (RFC 2018), UDP (RFC 768), ICMP (RFC 792, RFC 4443). SCTP,
//!   DCCP and UDP-Lite have the ports of their headers; of other protocols only the number is
//!   known.
//! - Of a fragment, the first one included, only addresses and protocol are read. All fragments of
//!   a datagram are then of one flow, as in the hash of a Linux host.
//! - A packet whose transport header is damaged or cut off is one of an unknown protocol with that
//!   number: a router, which reads only the IP header, forwards it.
//!
//! Choice: the headers are read here, not by `etherparse`. Each frame of an emulation is read once,
//! and of few fields; the tests read what `etherparse` wrote.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::flow::Protocol;
use crate::packet::sack::SackBlocks;
use crate::packet::{Ecn, Flags};

/// The header fields of a real IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The source and destination address.
    pub addresses: [IpAddr; 2],
    /// The transport protocol.
    pub protocol: Protocol,
    /// The source and destination port; of ICMP echo the identifier twice; 0 where there is none,
    /// as in fragments.
    pub ports: [u16; 2],
    /// The DSCP.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// The size in IP bytes, by the header, whether or not all were kept.
    pub size: u16,
    /// The bytes behind the transport header; behind the IP header if the transport header is
    /// unknown or the packet is a fragment.
    pub payload: u16,
    /// The TCP header, of a segment that is no fragment.
    pub tcp: Option<Segment>,
}

/// The fields of a TCP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number.
    pub seq: u32,
    /// The acknowledgement number.
    pub ack: u32,
    /// The window, not scaled.
    pub window: u16,
    /// The control bits that the model knows.
    pub flags: Flags,
    /// The SACK blocks as they stand on the wire; empty if there are none. There is room for three;
    /// a fourth is left out.
    pub sack: SackBlocks,
}

/// Reads the headers of an IP packet. `None` if it is none, if a length in its IP header is
/// impossible, or if that was not kept.
pub fn read(bytes: &[u8]) -> Option<Header> {
    match bytes.first()? >> 4 {
        4 => read_ipv4(bytes),
        6 => read_ipv6(bytes),
        _ => None,
    }
}

/// Where the bytes behind the transport header of a packet begin, if they are known to begin there
/// and were kept: of TCP and UDP that is no fragment.
pub fn payload<'a>(header: &Header, bytes: &'a [u8]) -> &'a [u8] {
    let is_known = matches!(header.protocol, Protocol::Tcp | Protocol::Udp);
    let start = usize::from(header.size - header.payload);
    let end = usize::from(header.size).min(bytes.len());
    match bytes.get(start..end) {
        Some(payload) if is_known && header.ports != [0, 0] => payload,
        _ => &[],
    }
}

/// How many bytes from the packet's start [`read`] needs: cut off behind them, the packet reads as
/// it did. All of them if its IP header leaves its length to them.
pub fn needed(bytes: &[u8]) -> usize {
    let has_length = match bytes.first().map_or(0, |first| first >> 4) {
        4 => bytes.get(2..4) != Some(&[0; 2]),
        6 => bytes.get(4..6) != Some(&[0; 2]),
        _ => true,
    };
    if !has_length {
        return bytes.len();
    }
    // What is no packet is none by its fixed header.
    let headers = read(bytes).map_or(IPV6, |header| headers(header.size, header.payload));
    headers.min(bytes.len())
}

/// The length of all headers of a packet with this size and payload. A transport header that is
/// payload to the model counts with its ports.
pub fn headers(size: u16, payload: u16) -> usize {
    usize::from(size - payload) + PORTS
}

/// The ECN field of an IP packet; `None` if the bytes are none.
pub fn ecn(bytes: &[u8]) -> Option<Ecn> {
    let class = traffic_class(bytes)?;
    let fields = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
    Some(fields[usize::from(class & 3)])
}

/// Writes an ECN field into the header of an IP packet, with its checksum (RFC 1624). Changes
/// nothing if the bytes are no IP packet.
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    if let Some(class) = traffic_class(bytes) {
        set_traffic_class(bytes, class & !3 | codepoint(ecn));
    }
}

/// Writes a DSCP (0 to 63) into the header of an IP packet, with its checksum (RFC 1624). Changes
/// nothing if the bytes are no IP packet.
pub fn set_dscp(bytes: &mut [u8], dscp: u8) {
    if let Some(class) = traffic_class(bytes) {
        set_traffic_class(bytes, dscp << 2 | class & 3);
    }
}

/// IP protocol numbers (iana.org/assignments/protocol-numbers).
mod number {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ICMP: u8 = 1;
    pub(super) const TCP: u8 = 6;
    pub(super) const UDP: u8 = 17;
    pub(super) const DCCP: u8 = 33;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const ICMPV6: u8 = 58;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const SCTP: u8 = 132;
    pub(super) const UDP_LITE: u8 = 136;
}

/// The lengths of headers in bytes: IPv4 without options, IPv6, TCP without options, UDP, ICMP
/// echo, and of the ports with which other transport headers begin.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP: usize = 20;
const UDP: usize = 8;
const ECHO: usize = 8;
const PORTS: usize = 4;

fn read_ipv4(bytes: &[u8]) -> Option<Header> {
    let fixed: &[u8; IPV4] = bytes.first_chunk()?;
    let behind = usize::from(fixed[0] & 15) * 4;
    // With segmentation offload the length is left 0.
    let size = match word(fixed, 2) {
        0 => u16::try_from(bytes.len()).ok()?,
        size => size,
    };
    if behind < IPV4 || behind > usize::from(size) {
        return None;
    }
    // All but the flag "don't fragment".
    let is_fragment = word(fixed, 6) & 0x3fff != 0;
    let [source, destination] = [12, 16].map(|at| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|byte| fixed[at + byte]);
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    });
    let mut header = Header {
        addresses: [source, destination],
        protocol: match fixed[9] {
            number::ICMP => Protocol::Icmp,
            number::TCP => Protocol::Tcp,
            number::UDP => Protocol::Udp,
            other => Protocol::Other(other),
        },
        ports: [0, 0],
        dscp: fixed[1] >> 2,
        ecn: field(fixed[1]),
        size,
        payload: size - behind as u16,
        tcp: None,
    };
    if !is_fragment {
        read_transport(&mut header, bytes, fixed[9]);
    }
    Some(header)
}

fn read_ipv6(bytes: &[u8]) -> Option<Header> {
    let fixed: &[u8; IPV6] = bytes.first_chunk()?;
    let size = match word(fixed, 4) {
        0 => u16::try_from(bytes.len()).ok()?,
        behind => behind.checked_add(IPV6 as u16)?,
    };
    if usize::from(size) < IPV6 {
        return None;
    }
    let kept = &bytes[..bytes.len().min(usize::from(size))];
    let (protocol, behind, has_transport) = past_extensions(kept, fixed[6]);
    let [source, destination] = [8, 24].map(|at| {
        let address: [u8; 16] = std::array::from_fn(|byte| fixed[at + byte]);
        IpAddr::V6(Ipv6Addr::from(address))
    });
    let class = fixed[0] << 4 | fixed[1] >> 4;
    let mut header = Header {
        addresses: [source, destination],
        protocol: match protocol {
            number::ICMPV6 => Protocol::Icmp,
            number::TCP => Protocol::Tcp,
            number::UDP => Protocol::Udp,
            other => Protocol::Other(other),
        },
        ports: [0, 0],
        dscp: class >> 2,
        ecn: field(class),
        size,
        payload: size - behind as u16,
        tcp: None,
    };
    if has_transport {
        read_transport(&mut header, bytes, protocol);
    }
    Some(header)
}

/// The protocol behind the extension headers (RFC 8200 §4) of which `next` is the first, where it
/// begins, and whether its header does: not in a fragment. An extension header that is not whole
/// stands for the protocol.
fn past_extensions(bytes: &[u8], mut next: u8) -> (u8, usize, bool) {
    let mut at = IPV6;
    loop {
        let length = match next {
            number::HOP_BY_HOP | number::ROUTING | number::DESTINATION_OPTIONS => {
                (bytes.get(at + 1)).map(|&more| (usize::from(more) + 1) * 8)
            }
            number::FRAGMENT => Some(8),
            _ => return (next, at, true),
        };
        let Some(extension) = length.and_then(|length| bytes.get(at..at + length)) else {
            return (next, at, false);
        };
        // The offset, and the flag that more fragments follow.
        let is_fragment = next == number::FRAGMENT && word(extension, 2) & 0xfff9 != 0;
        next = extension[0];
        at += extension.len();
        if is_fragment {
            return (next, at, false);
        }
    }
}

/// Reads the transport header, which begins where the payload of `header` does, and moves the
/// payload's beginning behind it. If it is damaged or cut off, only the protocol's `number` is
/// known.
fn read_transport(header: &mut Header, bytes: &[u8], number: u8) {
    let mut whole = *header;
    *header = match fill_transport(&mut whole, bytes) {
        Some(()) => whole,
        None => Header {
            protocol: Protocol::Other(number),
            ..*header
        },
    };
}

fn fill_transport(header: &mut Header, bytes: &[u8]) -> Option<()> {
    let start = usize::from(header.size - header.payload);
    let end = usize::from(header.size).min(bytes.len());
    // Only options of TCP may be cut off.
    let kept = bytes.get(start..end)?;
    let length = match header.protocol {
        Protocol::Tcp => {
            let fixed: &[u8; TCP] = kept.first_chunk()?;
            let length = usize::from(fixed[12] >> 4) * 4;
            let options = kept.get(TCP..length.min(kept.len()))?;
            header.ports = [word(fixed, 0), word(fixed, 2)];
            header.tcp = Some(segment(fixed, options));
            length
        }
        Protocol::Udp => {
            let fixed: &[u8; UDP] = kept.first_chunk()?;
            header.ports = [word(fixed, 0), word(fixed, 2)];
            UDP
        }
        Protocol::Icmp => {
            // The types of echo and its reply.
            let echo = match header.addresses[0] {
                IpAddr::V4(_) => [8, 0],
                IpAddr::V6(_) => [128, 129],
            };
            let fixed: &[u8; ECHO] = kept.first_chunk()?;
            if echo.contains(&fixed[0]) {
                header.ports = [word(fixed, 4); 2];
            }
            ECHO
        }
        Protocol::Other(number::DCCP | number::SCTP | number::UDP_LITE) => {
            let ports: &[u8; PORTS] = kept.first_chunk()?;
            header.ports = [word(ports, 0), word(ports, 2)];
            0
        }
        Protocol::Other(_) => 0,
    };
    header.payload = header.payload.checked_sub(length as u16)?;
    Some(())
}

fn segment(fixed: &[u8; TCP], options: &[u8]) -> Segment {
    let bits = [
        (12, 0x01, Flags::AE),
        (13, 0x80, Flags::CWR),
        (13, 0x40, Flags::ECE),
        (13, 0x10, Flags::ACK),
        (13, 0x04, Flags::RST),
        (13, 0x02, Flags::SYN),
        (13, 0x01, Flags::FIN),
    ];
    let flags = bits
        .into_iter()
        .fold(Flags::NONE, |flags, (at, bit, flag)| {
            if fixed[at] & bit == 0 {
                flags
            } else {
                flags.with(flag)
            }
        });
    Segment {
        seq: double_word(fixed, 4),
        ack: double_word(fixed, 8),
        window: word(fixed, 14),
        flags,
        sack: sack_blocks(options),
    }
}

/// The SACK blocks among the options of a segment (RFC 2018 §3), up to the first option whose
/// length is impossible.
fn sack_blocks(mut options: &[u8]) -> SackBlocks {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const SACK: u8 = 5;
    let mut found = SackBlocks::default();
    while let [kind, rest @ ..] = options {
        match (*kind, rest.first()) {
            (NOP, _) => options = rest,
            (END, _) | (_, None | Some(0 | 1)) => break,
            (kind, Some(&length)) => {
                let Some((option, behind)) = options.split_at_checked(usize::from(length)) else {
                    break;
                };
                if kind == SACK {
                    for block in option[2..].chunks_exact(8) {
                        let [start, end] = [0, 4].map(|at| u64::from(double_word(block, at)));
                        found.push(start, end);
                    }
                }
                options = behind;
            }
        }
    }
    found
}

/// The traffic class of an IP packet, of IPv4 its type of service: DSCP and ECN (RFC 3168 §5).
fn traffic_class(bytes: &[u8]) -> Option<u8> {
    match bytes.first()? >> 4 {
        4 if bytes.len() >= IPV4 => Some(bytes[1]),
        6 if bytes.len() >= IPV6 => Some(bytes[0] << 4 | bytes[1] >> 4),
        _ => None,
    }
}

/// Writes the traffic class of an IP packet that has one.
fn set_traffic_class(bytes: &mut [u8], class: u8) {
    if bytes[0] >> 4 == 6 {
        bytes[0] = bytes[0] & 0xf0 | class >> 4;
        bytes[1] = class << 4 | bytes[1] & 0x0f;
        return;
    }
    // RFC 1624 §3, equation 3: HC' = ~(~HC + ~m + m').
    let before = word(bytes, 0);
    bytes[1] = class;
    let sum = [!word(bytes, 10), !before, word(bytes, 0)];
    let sum: u32 = sum.into_iter().map(u32::from).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    bytes[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// The ECN field of a traffic class.
fn field(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// The two bits of an ECN field.
fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// The number at `at`. The caller has checked the length.
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn double_word(bytes: &[u8], at: usize) -> u32 {
    u32::from(word(bytes, at)) << 16 | u32::from(word(bytes, at + 2))
}

#[cfg(test)]
mod tests {
    use etherparse::{
        IcmpEchoHeader, Icmpv4Type, Icmpv6Type, IpNumber, Ipv4Header, PacketBuilder,
        TcpOptionElement, icmpv4::DestUnreachableHeader,
    };
    use proptest::prelude::*;

    use super::*;

    const HOST: [u8; 4] = [10, 0, 0, 1];
    const PEER: [u8; 4] = [192, 0, 2, 7];
    const HOST6: [u8; 16] = [
        0xfd, 0, 0x68, 0x65, 0x61, 0x64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
    ];
    const PEER6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

    /// The bytes of a packet that a builder writes with a payload.
    macro_rules! packet {
        ($builder:expr, $payload:expr) => {{
            let mut bytes = vec![0; $builder.size($payload.len())];
            $builder.write_to_slice(&mut bytes, $payload).unwrap();
            bytes
        }};
    }

    /// A UDP datagram over IPv4 with 100 bytes of payload.
    fn datagram() -> Vec<u8> {
        let builder = PacketBuilder::ipv4(HOST, PEER, 64).udp(5000, 443);
        packet!(builder, &[7; 100])
    }

    /// An IPv6 packet: these extension headers, each with the number of the next at its start, and
    /// then `behind`.
    fn ipv6(first: u8, extensions: &[&[u8]], behind: &[u8]) -> Vec<u8> {
        let content = [extensions.concat(), behind.to_vec()].concat();
        let length = (content.len() as u16).to_be_bytes();
        [
            &[0x6b, 0x90, 0, 0][..],
            &length,
            &[first, 64],
            &HOST6,
            &PEER6,
            &content,
        ]
        .concat()
    }

    const UDP_HEADER: [u8; 8] = [0, 53, 0x13, 0x88, 0, 12, 0, 0];

    #[test]
    fn a_datagram_has_ports_and_sizes() {
        let header = read(&datagram()).expect("it is whole");
        let expected = Header {
            addresses: [HOST, PEER].map(IpAddr::from),
            protocol: Protocol::Udp,
            ports: [5000, 443],
            dscp: 0,
            ecn: Ecn::NotEct,
            size: 128,
            payload: 100,
            tcp: None,
        };
        assert_eq!(header, expected);
        assert_eq!(payload(&header, &datagram()), [7; 100]);
    }

    #[test]
    fn a_segment_has_its_numbers_its_bits_and_its_sack_blocks() {
        let options = [
            TcpOptionElement::Noop,
            TcpOptionElement::Noop,
            TcpOptionElement::SelectiveAcknowledgement(
                (u32::MAX - 9, 10),
                [Some((100, 200)), Some((300, 400)), Some((500, 600))],
            ),
        ];
        let mut builder = PacketBuilder::ipv4(HOST, PEER, 64)
            .tcp(33000, 80, 0xfedc_ba98, 0xffff)
            .ack(0x0123_4567)
            .rst()
            .ece();
        builder = builder.options(&options).unwrap();
        let bytes = packet!(builder, b"GET");
        let header = read(&bytes).expect("it is whole");
        assert_eq!((header.ports, header.payload), ([33000, 80], 3));
        assert_eq!(payload(&header, &bytes), b"GET");
        let segment = header.tcp.expect("it is TCP");
        assert_eq!((segment.seq, segment.ack), (0xfedc_ba98, 0x0123_4567));
        assert_eq!(segment.window, 0xffff);
        let flags = Flags::ACK.with(Flags::RST).with(Flags::ECE);
        assert_eq!(segment.flags, flags);
        let expected = [(u64::from(u32::MAX - 9), 10), (100, 200), (300, 400)];
        assert_eq!(segment.sack.as_slice(), expected);
        // Options that were cut off: the blocks that were kept. A block of which a part is missing
        // is none, because the length of its option is impossible.
        let cut = read(&bytes[..50]).expect("its fixed headers were kept");
        assert_eq!((cut.size, cut.payload), (header.size, 3));
        assert!(cut.tcp.expect("it is TCP").sack.is_empty());
        assert_eq!(
            read(&bytes[..39]).map(|cut| cut.protocol),
            Some(Protocol::Other(number::TCP))
        );
    }

    #[test]
    fn each_control_bit_is_read_alone() {
        let bits = [
            (12, 0x51, Flags::AE),
            (13, 0x80, Flags::CWR),
            (13, 0x40, Flags::ECE),
            (13, 0x20, Flags::NONE),
            (13, 0x10, Flags::ACK),
            (13, 0x08, Flags::NONE),
            (13, 0x04, Flags::RST),
            (13, 0x02, Flags::SYN),
            (13, 0x01, Flags::FIN),
        ];
        for (at, byte, flag) in bits {
            let mut tcp = [0; 20];
            tcp[12] = 0x50;
            tcp[at] = byte;
            let header = read(&ipv6(number::TCP, &[], &tcp)).expect("it is whole");
            assert_eq!(header.tcp.map(|tcp| tcp.flags), Some(flag), "{at} {byte:x}");
        }
    }

    #[test]
    fn options_whose_length_is_impossible_end_the_search_for_sack_blocks() {
        let block = [0, 0, 0, 1, 0, 0, 0, 2];
        let found = |options: &[u8]| sack_blocks(options).as_slice().to_vec();
        assert_eq!(found(&[&[1, 5, 10][..], &block].concat()), [(1, 2)]);
        assert_eq!(found(&[&[8, 3, 0, 5, 10][..], &block].concat()), [(1, 2)]);
        for before in [&[0][..], &[8, 0], &[8, 1], &[8], &[8, 40]] {
            assert_eq!(found(&[before, &[5, 10], &block].concat()), []);
        }
        assert_eq!(found(&[5, 10, 0, 0, 0, 1]), []);
        assert_eq!(found(&[5, 9, 0, 0, 0, 1, 0, 0, 0]), []);
    }

    #[test]
    fn an_echo_has_its_identifier_as_both_ports_and_other_icmp_has_none() {
        let echo = IcmpEchoHeader { id: 77, seq: 1 };
        let builder = PacketBuilder::ipv4(HOST, PEER, 64).icmpv4(Icmpv4Type::EchoReply(echo));
        let bytes = packet!(builder, &[0; 56]);
        let header = read(&bytes).expect("it is whole");
        assert_eq!((header.protocol, header.ports), (Protocol::Icmp, [77, 77]));
        assert_eq!((header.size, header.payload), (84, 56));
        let builder = PacketBuilder::ipv6(HOST6, PEER6, 64).icmpv6(Icmpv6Type::EchoRequest(echo));
        let bytes = packet!(builder, &[0; 0]);
        let header = read(&bytes).expect("it is whole");
        assert_eq!((header.protocol, header.ports), (Protocol::Icmp, [77, 77]));
        assert_eq!(header.addresses, [HOST6, PEER6].map(IpAddr::from));
        let unreachable = Icmpv4Type::DestinationUnreachable(DestUnreachableHeader::Port);
        let builder = PacketBuilder::ipv4(HOST, PEER, 64).icmpv4(unreachable);
        let bytes = packet!(builder, &[0x45; 28]);
        assert_eq!(read(&bytes).map(|header| header.ports), Some([0, 0]));
    }

    #[test]
    fn an_ipv4_header_may_have_options() {
        let mut ip = Ipv4Header::new(8 + 4, 64, IpNumber::UDP, HOST, PEER).unwrap();
        ip.options = [1; 12].into();
        ip.total_len += 12;
        let bytes = [ip.to_bytes().as_slice(), &UDP_HEADER, &[9; 4]].concat();
        let header = read(&bytes).expect("it is whole");
        assert_eq!(header.ports, [53, 5000]);
        assert_eq!((header.size, header.payload), (44, 4));
        // Options that run past the packet's end, and a header that is shorter than it can be.
        let mut bad = bytes.clone();
        bad[0] = 0x4f;
        assert_eq!(read(&bad), None);
        bad[0] = 0x44;
        assert_eq!(read(&bad), None);
    }

    #[test]
    fn extension_headers_of_ipv6_are_skipped() {
        let hop_by_hop = [number::ROUTING, 0, 1, 4, 0, 0, 0, 0];
        let routing = [&[number::DESTINATION_OPTIONS, 2][..], &[0; 22]].concat();
        let options = [number::FRAGMENT, 0, 1, 4, 0, 0, 0, 0];
        // A fragment that is its whole datagram (RFC 6946).
        let atomic = [number::UDP, 0, 0, 0, 1, 2, 3, 4];
        let extensions = [&hop_by_hop[..], &routing, &options, &atomic];
        let bytes = ipv6(0, &extensions, &[&UDP_HEADER[..], &[9; 4]].concat());
        let header = read(&bytes).expect("it is whole");
        assert_eq!(header.protocol, Protocol::Udp);
        assert_eq!(header.ports, [53, 5000]);
        assert_eq!((header.size, header.payload), (40 + 48 + 12, 4));
        assert_eq!((header.dscp, header.ecn), (46, Ecn::Ect1));
        // A header of which a part is missing, and one that runs past the packet's end.
        let unknown = |bytes: &[u8]| {
            let header = read(bytes).expect("its IP header is whole");
            (header.protocol, header.ports, header.payload)
        };
        let routing = Protocol::Other(number::ROUTING);
        assert_eq!(unknown(&bytes[..50]), (routing, [0, 0], 52));
        let mut bad = bytes.clone();
        bad[41] = 255;
        let hop_by_hop = Protocol::Other(number::HOP_BY_HOP);
        assert_eq!(unknown(&bad), (hop_by_hop, [0, 0], 60));
    }

    #[test]
    fn fragments_have_their_protocol_and_no_ports() {
        let mut first = datagram();
        first[6] = 0x20;
        let mut second = datagram();
        second[7] = 1;
        let mut whole = datagram();
        whole[6] = 0x40;
        let ports = [&first, &second, &whole].map(|bytes| {
            let header = read(bytes).expect("it is whole");
            assert_eq!(header.protocol, Protocol::Udp);
            (header.ports, header.payload, payload(&header, bytes).len())
        });
        assert_eq!(
            ports,
            [([0, 0], 108, 0), ([0, 0], 108, 0), ([5000, 443], 100, 100)]
        );
        for (high, low) in [(0, 1), (1, 0), (0, 8)] {
            let fragment = [number::TCP, 0, high, low, 1, 2, 3, 4];
            let header = read(&ipv6(number::FRAGMENT, &[&fragment], &[0; 3])).expect("it is whole");
            assert_eq!(header.protocol, Protocol::Tcp);
            assert_eq!((header.ports, header.payload), ([0, 0], 3));
            assert_eq!(header.tcp, None);
        }
    }

    #[test]
    fn protocols_that_begin_with_ports_have_them_and_others_only_their_number() {
        for (number, ports) in [
            (number::DCCP, [53, 5000]),
            (number::SCTP, [53, 5000]),
            (number::UDP_LITE, [53, 5000]),
            (47, [0, 0]),
            // ICMP belongs to IPv4.
            (number::ICMP, [0, 0]),
        ] {
            let header = read(&ipv6(number, &[], &UDP_HEADER)).expect("it is whole");
            assert_eq!(header.protocol, Protocol::Other(number));
            assert_eq!((header.ports, header.payload), (ports, 8));
        }
    }

    #[test]
    fn sizes_are_those_of_the_header_and_of_the_bytes_if_it_has_none() {
        let bytes = datagram();
        let cut = read(&bytes[..30]).expect("its headers were kept");
        assert_eq!(Some(cut), read(&bytes));
        assert_eq!(payload(&cut, &bytes[..30]), [7; 2]);
        // Bytes behind the packet do not belong to it.
        let longer = [&bytes[..], &[1; 9]].concat();
        assert_eq!(read(&longer), read(&bytes));
        assert_eq!(payload(&cut, &longer), [7; 100]);
        let mut unknown = bytes.clone();
        unknown[2..4].fill(0);
        assert_eq!(read(&unknown), read(&bytes));
        let mut unknown = ipv6(number::UDP, &[], &UDP_HEADER);
        unknown[4..6].fill(0);
        assert_eq!(read(&unknown).map(|header| header.size), Some(48));
    }

    #[test]
    fn what_is_no_packet_or_says_impossible_lengths_is_none() {
        let bytes = datagram();
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x50; 60]), None);
        assert_eq!(read(&bytes[..19]), None);
        let mut short = bytes.clone();
        short[3] = 19;
        assert_eq!(read(&short), None, "too short for IP");
        let whole = ipv6(number::UDP, &[], &UDP_HEADER);
        assert_eq!(read(&whole[..39]), None);
        let mut huge = whole;
        huge[4..6].fill(255);
        assert_eq!(read(&huge), None, "longer than a packet can be");
    }

    #[test]
    fn a_damaged_transport_header_is_one_of_an_unknown_protocol() {
        let unknown = |bytes: &[u8], number, behind| {
            let header = read(bytes).expect("its IP header is whole");
            assert_eq!(header.protocol, Protocol::Other(number));
            assert_eq!((header.ports, header.tcp), ([0, 0], None));
            assert_eq!(header.payload, behind);
            assert!(payload(&header, bytes).is_empty());
        };
        let bytes = datagram();
        unknown(&bytes[..27], number::UDP, 108);
        let mut short = bytes.clone();
        short[3] = 27;
        unknown(&short, number::UDP, 7);
        let echo = [8, 0, 0, 0, 0];
        unknown(&ipv6(number::ICMPV6, &[], &echo), number::ICMPV6, 5);
        unknown(&ipv6(number::SCTP, &[], &echo[..3]), number::SCTP, 3);
        // Shorter than a header can be, and longer than the packet is.
        let mut tcp = [0; 20];
        for length in [0, 0x40, 0x60, 0xf0] {
            tcp[12] = length;
            let bytes = ipv6(number::TCP, &[], &tcp);
            unknown(&bytes, number::TCP, 20);
        }
    }

    fn any_ecn() -> impl Strategy<Value = Ecn> {
        prop_oneof![
            Just(Ecn::NotEct),
            Just(Ecn::Ect0),
            Just(Ecn::Ect1),
            Just(Ecn::Ce)
        ]
    }

    proptest! {
        /// A rewritten IPv4 header is the one that would have been written with these fields, its
        /// checksum included.
        #[test]
        fn a_rewritten_ipv4_header_has_the_checksum_of_its_fields(
            fields in any::<(u8, u16, u8, [u8; 4], [u8; 4])>(),
            options in 0..=10usize,
            ecn in any_ecn(),
            dscp in 0..64u8,
        ) {
            let (class, identification, ttl, source, destination) = fields;
            let mut ip = Ipv4Header::new(8, ttl, IpNumber::UDP, source, destination).unwrap();
            ip.identification = identification;
            let nops = [1; 40];
            ip.options = nops[..4 * options].try_into().unwrap();
            ip.total_len += ip.options.len() as u16;
            let write = |class: u8| {
                let mut ip = ip.clone();
                ip.dscp = (class >> 2).try_into().unwrap();
                ip.ecn = (class & 3).try_into().unwrap();
                ip.header_checksum = ip.calc_header_checksum();
                [ip.to_bytes().as_slice(), &UDP_HEADER].concat()
            };
            let mut bytes = write(class);
            set_ecn(&mut bytes, ecn);
            prop_assert_eq!(&bytes, &write(class & !3 | codepoint(ecn)));
            set_dscp(&mut bytes, dscp);
            prop_assert_eq!(&bytes, &write(dscp << 2 | codepoint(ecn)));
            let header = read(&bytes).expect("it is whole");
            prop_assert_eq!((header.dscp, header.ecn), (dscp, ecn));
        }

        /// Of an IPv6 header only the written field changes.
        #[test]
        fn of_a_rewritten_ipv6_header_only_the_field_changes(
            start in any::<[u8; 4]>(),
            ecn in any_ecn(),
            dscp in 0..64u8,
        ) {
            let mut bytes = ipv6(number::UDP, &[], &UDP_HEADER);
            bytes[..4].copy_from_slice(&start);
            bytes[0] = 0x60 | start[0] & 15;
            let (before, old) = (bytes.clone(), read(&bytes).expect("it is whole"));
            set_ecn(&mut bytes, ecn);
            prop_assert_eq!(read(&bytes), Some(Header { ecn, ..old }));
            set_dscp(&mut bytes, dscp);
            prop_assert_eq!(read(&bytes), Some(Header { dscp, ecn, ..old }));
            set_ecn(&mut bytes, old.ecn);
            set_dscp(&mut bytes, old.dscp);
            prop_assert_eq!(bytes, before);
        }

        /// A packet reads the same however much behind its headers is cut off, whatever is wrong
        /// with it.
        #[test]
        fn what_is_needed_of_a_packet_reads_as_the_whole_packet(
            start in prop_oneof![
                Just(datagram()),
                Just(packet!(PacketBuilder::ipv4(HOST, PEER, 64).tcp(33000, 80, 1, 2), &[7; 60])),
                (1..20usize, prop_oneof![Just(number::UDP), Just(number::SCTP), Just(50)]).prop_map(
                    |(count, last)| {
                        let next = |index| if index + 1 == count { last } else { 0 };
                        let chain: Vec<_> =
                            (0..count).map(|index| [next(index), 0, 1, 4, 0, 0, 0, 0]).collect();
                        let chain: Vec<&[u8]> = chain.iter().map(|part| &part[..]).collect();
                        ipv6(0, &chain, &[9; 100])
                    }
                ),
            ],
            noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            length in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
            has_no_length in prop::bool::weighted(0.2),
            more in any::<prop::sample::Index>(),
        ) {
            let mut bytes = start;
            for (at, byte) in noise {
                let at = at.index(bytes.len().min(90));
                bytes[at] = byte;
            }
            if has_no_length {
                let at = if bytes[0] >> 4 == 6 { 4 } else { 2 };
                bytes[at..at + 2].fill(0);
            }
            if is_cut {
                bytes.truncate(length.index(bytes.len() + 1));
            }
            let least = needed(&bytes);
            prop_assert!(least <= bytes.len());
            let kept = least + more.index(bytes.len() - least + 1);
            prop_assert_eq!(read(&bytes[..kept]), read(&bytes));
        }

        /// No bytes break the reader and the writers, and what is read is consistent.
        #[test]
        fn no_bytes_break_the_reader(
            start in prop_oneof![
                Just(datagram()),
                Just(ipv6(
                    0,
                    &[&[44, 0, 0, 0, 0, 0, 0, 0], &[6, 0, 0, 0, 0, 0, 0, 0]],
                    &[0x50; 40],
                )),
                Just(Vec::new()),
            ],
            noise in prop::collection::vec(any::<u8>(), 0..60),
            at in any::<prop::sample::Index>(),
        ) {
            let mut bytes = start;
            let place = at.index(bytes.len() + 1);
            bytes.splice(place..bytes.len().min(place + noise.len()), noise);
            if let Some(header) = read(&bytes) {
                prop_assert!(header.payload < header.size);
                prop_assert!(payload(&header, &bytes).len() <= usize::from(header.payload));
                prop_assert!(header.dscp < 64);
            }
            let before = read(&bytes);
            set_ecn(&mut bytes, Ecn::Ce);
            set_dscp(&mut bytes, 8);
            prop_assert_eq!(
                read(&bytes),
                before.map(|header| Header { ecn: Ecn::Ce, dscp: 8, ..header })
            );
        }
    }
}
