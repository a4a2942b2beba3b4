//! The headers of a packet, as real hosts would have written them.
//!
//! The model's packets and flows do not hold all header fields. The others are filled in:
//!
//! - The TTL starts at 64 and falls by one at each link.
//! - "Don't fragment" is set, and the identification is 0. That of a datagram is the datagram's
//!   number, so that a datagram can be followed from point to point.
//! - Initial sequence numbers are 0.
//! - Timestamps are milliseconds since the start of the run, as Linux's clock has it.
//! - The window scale is the smallest that suffices.
//! - The data is zeros, which do not change a checksum.
//!
//! A packet in a tunnel is written without the tunnel's header.

use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type, IpDscp, IpEcn, IpNumber,
    Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader, UdpHeader,
};

use crate::flow::{FlowHeader, Protocol};
use crate::packet::{Ecn, Fields, Flags, Side};

/// The options that the SYNs of a connection agree on. Captures need them to write the segments as
/// they are on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// The maximum segment size, without options (RFC 6691).
    pub mss: u16,
    /// Whether SACK is permitted.
    pub sack: bool,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
    /// The window scale: the smallest that the largest window needs.
    pub window_scale: u8,
}

/// The initial TTL of every host.
const TTL: u8 = 64;
/// The length of the longest headers: IPv4 without options, TCP with all options that it can have.
pub const LONGEST: usize = 80;

/// The data of all packets.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// The parts that a packet's headers are made from.
#[derive(Debug, Clone, Copy)]
pub struct Sketch<'a> {
    /// The packet.
    pub packet: &'a Fields,
    /// The packet's flow.
    pub flow: &'a FlowHeader,
    /// The IPv6 addresses of the flow's hosts, by side, for an IPv6 packet.
    pub ipv6: Option<[u128; 2]>,
    /// The number of links that the packet has passed.
    pub links_passed: u8,
    /// The TCP options that the ends of the connection agreed on, if the packet belongs to one.
    pub tcp: TcpOptions,
    /// The packet's SACK blocks.
    pub sack: &'a [(u64, u64)],
}

/// The source and destination address.
enum Ends {
    V4([u8; 4], [u8; 4]),
    V6([u8; 16], [u8; 16]),
}

impl Sketch<'_> {
    /// Writes the packet into `out`, whose content it replaces: the headers, and then data until
    /// `snaplen` bytes are reached.
    pub fn write(&self, snaplen: usize, out: &mut Vec<u8>) {
        out.clear();
        let from = self.packet.from;
        let ends = [from, from.other()].map(Side::index);
        let length = usize::from(self.packet.size);
        if let Some(addresses) = self.ipv6 {
            let [source, destination] = ends.map(|end| addresses[end].to_be_bytes());
            let ip = self.ipv6(source, destination);
            out.extend_from_slice(&ip.to_bytes());
            self.transport(
                length - Ipv6Header::LEN,
                &Ends::V6(source, destination),
                out,
            );
        } else {
            let addresses = self.flow.addresses;
            let [source, destination] = ends.map(|end| addresses[end].to_be_bytes());
            let ip = self.ip(source, destination);
            out.extend_from_slice(&ip.to_bytes());
            self.transport(
                length - Ipv4Header::MIN_LEN,
                &Ends::V4(source, destination),
                out,
            );
        }
        out.resize(length.min(snaplen), 0);
    }

    /// Appends the transport header of a packet that has `behind` bytes after its IP header.
    fn transport(&self, behind: usize, ends: &Ends, out: &mut Vec<u8>) {
        match (self.flow.protocol, ends) {
            (Protocol::Icmp, Ends::V4(..)) => {
                out.extend_from_slice(&self.icmp(behind).to_bytes());
            }
            (Protocol::Icmp, &Ends::V6(source, destination)) => {
                let icmp = self.icmpv6(behind, source, destination);
                out.extend_from_slice(&icmp.to_bytes());
            }
            (Protocol::Tcp, ends) => {
                out.extend_from_slice(&self.segment(behind, ends).to_bytes());
            }
            (Protocol::Udp, ends) => {
                out.extend_from_slice(&self.udp(behind, ends).to_bytes());
            }
            // Only real hosts send it, whose frames are written as they are.
            (Protocol::Other(_), _) => {}
        }
    }

    fn ports(&self) -> [u16; 2] {
        let from = self.packet.from;
        [from, from.other()].map(|side| self.flow.ports[side.index()])
    }

    fn ip(&self, source: [u8; 4], destination: [u8; 4]) -> Ipv4Header {
        let (protocol, identification) = match self.flow.protocol {
            Protocol::Icmp => (IpNumber::ICMP, self.packet.seq as u16),
            Protocol::Tcp => (IpNumber::TCP, 0),
            Protocol::Udp => (IpNumber::UDP, self.packet.seq as u16),
            Protocol::Other(number) => (IpNumber(number), 0),
        };
        let mut header = Ipv4Header {
            dscp: IpDscp::try_new(self.flow.dscp_of(self.packet)).unwrap_or(IpDscp::ZERO),
            ecn: self.ecn(),
            total_len: self.packet.size,
            identification,
            dont_fragment: true,
            time_to_live: TTL.saturating_sub(self.links_passed),
            protocol,
            source,
            destination,
            ..Ipv4Header::default()
        };
        header.header_checksum = header.calc_header_checksum();
        header
    }

    fn ecn(&self) -> IpEcn {
        match self.packet.ecn {
            Ecn::Ce => IpEcn::CongestionExperienced,
            Ecn::Ect0 => IpEcn::Ect0,
            Ecn::Ect1 => IpEcn::Ect1,
            Ecn::NotEct => IpEcn::NotEct,
        }
    }

    fn ipv6(&self, source: [u8; 16], destination: [u8; 16]) -> Ipv6Header {
        Ipv6Header {
            traffic_class: self.flow.dscp_of(self.packet) << 2 | self.ecn().value(),
            // RFC 6437 §3: a flow without a label has 0.
            flow_label: Ipv6FlowLabel::ZERO,
            payload_length: self.packet.size - Ipv6Header::LEN as u16,
            next_header: match self.flow.protocol {
                Protocol::Icmp => IpNumber::IPV6_ICMP,
                Protocol::Tcp => IpNumber::TCP,
                Protocol::Udp => IpNumber::UDP,
                Protocol::Other(number) => IpNumber(number),
            },
            hop_limit: TTL.saturating_sub(self.links_passed),
            source,
            destination,
        }
    }

    /// Like [`Self::icmp`], for IPv6.
    fn icmpv6(&self, length: usize, source: [u8; 16], destination: [u8; 16]) -> Icmpv6Header {
        let echo = self.echo();
        let kind = match self.packet.from {
            Side::Host => Icmpv6Type::EchoRequest(echo),
            Side::Peer => Icmpv6Type::EchoReply(echo),
        };
        let data = length.saturating_sub(Icmpv6Header::MIN_LEN);
        Icmpv6Header::with_checksum(kind, source, destination, &ZEROS[..data])
            .expect("a packet is shorter than 4 GiB")
    }

    fn echo(&self) -> IcmpEchoHeader {
        IcmpEchoHeader {
            id: self.flow.ports[Side::Host.index()],
            seq: self.packet.seq as u16,
        }
    }

    /// The customer's side sends requests and the other side replies: no ping goes the other way.
    fn icmp(&self, length: usize) -> Icmpv4Header {
        let echo = self.echo();
        let kind = match self.packet.from {
            Side::Host => Icmpv4Type::EchoRequest(echo),
            Side::Peer => Icmpv4Type::EchoReply(echo),
        };
        let data = length.saturating_sub(Icmpv4Header::MIN_LEN);
        Icmpv4Header::with_checksum(kind, &ZEROS[..data])
    }

    fn udp(&self, length: usize, ends: &Ends) -> UdpHeader {
        let [source_port, destination_port] = self.ports();
        let mut header = UdpHeader {
            source_port,
            destination_port,
            length: length as u16,
            checksum: 0,
        };
        let data = &ZEROS[..length.saturating_sub(UdpHeader::LEN)];
        let checksum = match *ends {
            Ends::V4(source, destination) => {
                header.calc_checksum_ipv4_raw(source, destination, data)
            }
            Ends::V6(source, destination) => {
                header.calc_checksum_ipv6_raw(source, destination, data)
            }
        };
        header.checksum = checksum.expect("a packet is shorter than 64 KiB");
        header
    }

    fn segment(&self, length: usize, ends: &Ends) -> TcpHeader {
        let (flags, window) = (self.packet.flags, self.packet.window);
        let [source_port, destination_port] = self.ports();
        let is_syn = flags.has(Flags::SYN);
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        let scale = if is_syn { 0 } else { self.tcp.window_scale };
        let window = (window >> scale).min(u32::from(u16::MAX)) as u16;
        // A SYN consumes a sequence number, which the model's offsets do not count.
        let first = if is_syn { 0 } else { number(self.packet.seq) };
        let mut header = TcpHeader::new(source_port, destination_port, first, window);
        header.ack = flags.has(Flags::ACK);
        if header.ack {
            header.acknowledgment_number = number(self.packet.ack);
        }
        header.syn = is_syn;
        header.fin = flags.has(Flags::FIN);
        header.ece = flags.has(Flags::ECE);
        header.cwr = flags.has(Flags::CWR);
        // RFC 9768 §3.1: AE has the bit that was the nonce sum.
        header.ns = flags.has(Flags::AE);
        let (options, taken) = self.options();
        header
            .set_options_raw(&options[..taken])
            .expect("as many bytes as the modelled header has room for");
        let data = &ZEROS[..length.saturating_sub(header.header_len())];
        let checksum = match *ends {
            Ends::V4(source, destination) => {
                header.calc_checksum_ipv4_raw(source, destination, data)
            }
            Ends::V6(source, destination) => {
                header.calc_checksum_ipv6_raw(source, destination, data)
            }
        };
        header.checksum = checksum.expect("a packet is shorter than 64 KiB");
        header
    }

    /// The TCP options in the layout whose bytes the model counts, and their length.
    fn options(&self) -> ([u8; 40], usize) {
        let mut room = Room {
            bytes: [0; 40],
            taken: 0,
        };
        let is_syn = self.packet.flags.has(Flags::SYN);
        if is_syn {
            room.put(&[2, 4]);
            room.put(&self.tcp.mss.to_be_bytes());
            match (self.tcp.sack, self.tcp.timestamps) {
                (true, true) => room.put(&[4, 2]),
                (true, false) => room.put(&[NOP, NOP, 4, 2]),
                (false, true) => room.put(&[NOP, NOP]),
                (false, false) => {}
            }
        } else if self.tcp.timestamps {
            room.put(&[NOP, NOP]);
        }
        if self.tcp.timestamps {
            room.put(&[8, 10]);
            room.put(&milliseconds(self.packet.sent_at.as_nanos()));
            room.put(&milliseconds(self.packet.echo.as_nanos()));
        }
        if is_syn {
            room.put(&[NOP, 3, 3, self.tcp.window_scale]);
        }
        if !self.sack.is_empty() {
            room.put(&[NOP, NOP, 5, 2 + 8 * self.sack.len() as u8]);
            for &(start, end) in self.sack {
                room.put(&number(start).to_be_bytes());
                room.put(&number(end).to_be_bytes());
            }
        }
        (room.bytes, room.taken)
    }
}

/// The option that is one byte of padding.
const NOP: u8 = 1;

struct Room {
    bytes: [u8; 40],
    taken: usize,
}

impl Room {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.taken..self.taken + bytes.len()].copy_from_slice(bytes);
        self.taken += bytes.len();
    }
}

/// The sequence number of the byte at `offset` of a stream whose SYN has number 0.
fn number(offset: u64) -> u32 {
    (offset as u32).wrapping_add(1)
}

fn milliseconds(nanos: u64) -> [u8; 4] {
    ((nanos / 1_000_000) as u32).to_be_bytes()
}
