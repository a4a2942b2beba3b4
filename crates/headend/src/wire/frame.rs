//! The IP packet in a frame: between whom, how long, of which protocol.

use std::net::IpAddr;

use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};

use super::read::Captured;
use crate::flow::Protocol;

/// What a replay needs to know of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// From whom.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// IP bytes, whether or not they were all kept.
    pub length: u32,
    /// Of which transport protocol, if of one that is told apart here.
    pub protocol: Option<Protocol>,
    /// Of which ports, where it has some.
    pub ports: Option<[u16; 2]>,
    /// Bytes of the IP and TCP headers, of a TCP segment.
    pub segment_header: Option<u32>,
}

/// Ethernet types.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const PPPOE: u16 = 0x8864;
const VLANS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The IP packet in a frame; `None` if there is another one.
///
/// # Errors
///
/// A sentence, if its link type is not known, or too little of it was kept.
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
    let (source, destination, said) = match &sliced.net {
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
        // A host that leaves cutting to its network card leaves the length to it as well.
        length: if said == 0 {
            packet.length.saturating_sub(behind as u32)
        } else {
            said
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

/// Bytes before the IP header; `None` if there is none (tcpdump.org/linktypes.html).
fn past_link(packet: &Captured<'_>) -> Result<Option<usize>, String> {
    let bytes = packet.bytes;
    let found = match packet.link_type {
        // NULL and LOOP: a family of 4 bytes.
        0 | 108 => Some(4),
        1 => past_ether_type(bytes, 12),
        // RAW, in all its numbers, IPV4 and IPV6.
        12 | 14 | 101 | 228 | 229 => Some(0),
        // LINUX_SLL.
        113 => past_ether_type(bytes, 14),
        // LINUX_SLL2: the type stands first.
        276 => match type_at(bytes, 0) {
            Some(IPV4 | IPV6) => Some(20),
            _ => None,
        },
        other => {
            return Err(format!(
                "frames of link type {other} are not read: expected Ethernet, raw IP, Linux cooked or loopback"
            ));
        }
    };
    Ok(found.filter(|&behind| behind <= bytes.len()))
}

/// Where IP begins behind the Ethernet type at `at`, past VLAN tags and `PPPoE`.
fn past_ether_type(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match type_at(bytes, at)? {
            IPV4 | IPV6 => return Some(at + 2),
            // 6 bytes of PPPoE and a protocol: 0x0021 is IPv4, 0x0057 IPv6.
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
