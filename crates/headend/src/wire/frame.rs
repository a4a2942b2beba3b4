//! The IP packet in a captured frame: its addresses, length, protocol and ports.

use std::net::IpAddr;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};

use super::read::Captured;
use crate::flow::Protocol;

/// The properties of an IP packet that a replay needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// The source address.
    pub source: IpAddr,
    /// The destination address.
    pub destination: IpAddr,
    /// The IP bytes, whether or not all of them were captured.
    pub length: u32,
    /// The transport protocol, if it is one that [`Protocol`] names.
    pub protocol: Option<Protocol>,
    /// The source and destination port, if the protocol has ports.
    pub ports: Option<[u16; 2]>,
    /// The bytes of the IP and TCP headers, for a TCP segment.
    pub segment_header: Option<u32>,
}

/// Ethernet types.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const PPPOE: u16 = 0x8864;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The IP packet in a frame; `None` if the frame holds another kind of packet.
///
/// # Errors
///
/// A sentence, if the link type is not known, or if too little of the packet was captured.
pub fn datagram(packet: &Captured<'_>) -> Result<Option<Datagram>, String> {
    let Some(behind) = past_link(packet)? else {
        return Ok(None);
    };
    let bytes = &packet.bytes[behind..];
    let too_short = || {
        let kept = bytes.len();
        format!("of its IP header {kept} bytes were captured, which is too little")
    };
    let sliced = match bytes.first().map(|first| first >> 4) {
        None => return Err(too_short()),
        Some(4 | 6) => LaxSlicedPacket::from_ip(bytes).map_err(|_| too_short())?,
        Some(_) => return Ok(None),
    };
    let (source, destination, total_length) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let ends = [header.source_addr(), header.destination_addr()].map(IpAddr::V4);
            (ends[0], ends[1], u32::from(header.total_len()))
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let ends = [header.source_addr(), header.destination_addr()].map(IpAddr::V6);
            let behind = u32::from(header.payload_length());
            (ends[0], ends[1], if behind == 0 { 0 } else { behind + 40 })
        }
        _ => return Ok(None),
    };
    let (protocol, ports) = transport(sliced.transport.as_ref());
    let segment_header = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let before = tcp.slice().as_ptr().addr() - bytes.as_ptr().addr();
            Some((before + usize::from(tcp.data_offset()) * 4) as u32)
        }
        _ => None,
    };
    Ok(Some(Datagram {
        source,
        destination,
        // With segmentation offload, a host leaves the length field of large packets zero; the
        // network card fills it in.
        length: if total_length == 0 {
            packet.length.saturating_sub(behind as u32)
        } else {
            total_length
        },
        protocol,
        ports,
        segment_header,
    }))
}

fn transport(slice: Option<&TransportSlice<'_>>) -> (Option<Protocol>, Option<[u16; 2]>) {
    match slice {
        Some(TransportSlice::Icmpv4(_) | TransportSlice::Icmpv6(_)) => (Some(Protocol::Icmp), None),
        Some(TransportSlice::Tcp(tcp)) => {
            let ports = [tcp.source_port(), tcp.destination_port()];
            (Some(Protocol::Tcp), Some(ports))
        }
        Some(TransportSlice::Udp(udp)) => {
            let ports = [udp.source_port(), udp.destination_port()];
            (Some(Protocol::Udp), Some(ports))
        }
        _ => (None, None),
    }
}

/// The number of bytes before the IP header; `None` if the frame has no IP header
/// (tcpdump.org/linktypes.html).
fn past_link(packet: &Captured<'_>) -> Result<Option<usize>, String> {
    let bytes = packet.bytes;
    let found = match packet.link_type {
        // NULL and LOOP: an address family of 4 bytes.
        0 | 108 => Some(4),
        1 => past_ether_type(bytes, 12),
        // All numbers of RAW, IPV4 and IPV6.
        12 | 14 | 101 | 228 | 229 => Some(0),
        // LINUX_SLL.
        113 => past_ether_type(bytes, 14),
        // LINUX_SLL2: the header starts with the type.
        276 => match type_at(bytes, 0) {
            Some(IPV4 | IPV6) => Some(20),
            _ => None,
        },
        other => {
            return Err(format!(
                "frames of link type {other} are not read: expected Ethernet, raw IP, Linux cooked \
                 or loopback"
            ));
        }
    };
    Ok(found.filter(|&behind| behind <= bytes.len()))
}

/// The position of the IP header after the Ethernet type at `at`, past VLAN tags and `PPPoE`.
fn past_ether_type(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match type_at(bytes, at)? {
            IPV4 | IPV6 => return Some(at + 2),
            // PPPoE has 6 bytes of header and a protocol number: 0x0021 is IPv4, 0x0057 IPv6.
            PPPOE => return matches!(type_at(bytes, at + 8)?, 0x21 | 0x57).then_some(at + 10),
            tag if VLANS.contains(&tag) => at += 4,
            _ => return None,
        }
    }
}

fn type_at(bytes: &[u8], at: usize) -> Option<u16> {
    let pair = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([pair[0], pair[1]]))
}
