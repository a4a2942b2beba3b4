//! Frames of real hosts, made by tests, and clocks that let them enter.

#![allow(
    dead_code,
    reason = "each test that includes this module uses a part of it"
)]

use std::io;
use std::net::IpAddr;

use headend::clock::{Arrival, Clock, RealHostId, VirtualClock, Wake};
use headend::packet::Ecn;
use headend::packet::frames::Frames;
use headend::time::Instant;

/// A frame that a host sends: when, which host, and its bytes.
pub(crate) type Sent = (Instant, RealHostId, Vec<u8>);

/// What stands in the headers of a frame.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    /// The IP protocol number.
    pub(crate) protocol: u8,
    pub(crate) ports: [u16; 2],
    pub(crate) dscp: u8,
    pub(crate) ecn: Ecn,
    /// Bytes behind the transport header.
    pub(crate) payload: u16,
    /// Sequence and acknowledgement number and control bits as they stand on the wire, of TCP.
    pub(crate) segment: (u32, u32, u8),
    /// SACK blocks, of TCP.
    pub(crate) sack: Vec<(u32, u32)>,
    /// The offset of a fragment in units of 8 B, and whether more follow. IPv4 only.
    pub(crate) fragment: (u16, bool),
}

pub(crate) const UDP: u8 = 17;
pub(crate) const TCP: u8 = 6;
/// Bits of a TCP header.
pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

impl Shape {
    pub(crate) fn new(from: &str, to: &str, protocol: u8) -> Self {
        let [from, to] = [from, to].map(|address| address.parse().expect("an address"));
        Self {
            from,
            to,
            protocol,
            ports: [40_000, 443],
            dscp: 0,
            ecn: Ecn::NotEct,
            payload: 0,
            segment: (0, 0, ACK),
            sack: Vec::new(),
            fragment: (0, false),
        }
    }

    /// The same from the other end.
    pub(crate) fn back(&self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            ports: [self.ports[1], self.ports[0]],
            ..self.clone()
        }
    }

    /// The bytes, whose payload begins with `mark`, as far as there is room.
    pub(crate) fn bytes(&self, mark: u32) -> Vec<u8> {
        let mut behind = Vec::new();
        if self.fragment.0 == 0 {
            behind = self.transport();
        }
        let payload = usize::from(self.payload);
        let mark = mark.to_be_bytes();
        behind.extend(mark.iter().take(payload));
        behind.resize(behind.len() + payload.saturating_sub(4), 0);
        let class = self.dscp << 2 | codepoint(self.ecn);
        let length = behind.len() as u16;
        let mut bytes = match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                let mut header = vec![0x45, class];
                header.extend((length + 20).to_be_bytes());
                let fragment = self.fragment.0 | u16::from(self.fragment.1) << 13;
                header.extend([0, 1]);
                header.extend(fragment.to_be_bytes());
                header.extend([64, self.protocol, 0, 0]);
                header.extend(from.octets());
                header.extend(to.octets());
                let sum = checksum(&header).to_be_bytes();
                header[10..12].copy_from_slice(&sum);
                header
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                let mut header = vec![0x60 | class >> 4, class << 4, 0, 0];
                header.extend(length.to_be_bytes());
                header.extend([self.protocol, 64]);
                header.extend(from.octets());
                header.extend(to.octets());
                header
            }
            _ => panic!("addresses of one version"),
        };
        bytes.extend(behind);
        bytes
    }

    fn transport(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if matches!(self.protocol, UDP | TCP) {
            bytes.extend(self.ports.map(u16::to_be_bytes).concat());
        }
        match self.protocol {
            UDP => {
                bytes.extend((self.payload + 8).to_be_bytes());
                bytes.extend([0, 0]);
            }
            TCP => {
                let (seq, ack, flags) = self.segment;
                bytes.extend([seq, ack].map(u32::to_be_bytes).concat());
                let options = match self.sack.len() {
                    0 => 0,
                    blocks => 4 + 8 * blocks,
                };
                bytes.extend([(20 + options as u8) << 2, flags, 0xff, 0xff, 0, 0, 0, 0]);
                if options > 0 {
                    bytes.extend([1, 1, 5, options as u8 - 2]);
                    for &(start, end) in &self.sack {
                        bytes.extend([start, end].map(u32::to_be_bytes).concat());
                    }
                }
            }
            _ => {}
        }
        bytes
    }
}

fn codepoint(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// The Internet checksum of a header (RFC 1071); 0 over a header with a right one.
pub(crate) fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A clock that notes what departs.
pub(crate) struct Noting<C> {
    pub(crate) clock: C,
    pub(crate) departed: Vec<(Instant, RealHostId, Vec<u8>)>,
}

impl<C> Noting<C> {
    pub(crate) fn new(clock: C) -> Self {
        Self {
            clock,
            departed: Vec::new(),
        }
    }
}

impl<C: Clock> Clock for Noting<C> {
    fn wait_until(
        &mut self,
        deadline: Instant,
        frames: &mut Frames,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Wake> {
        self.clock.wait_until(deadline, frames, arrivals)
    }

    fn depart(&mut self, at: Instant, to: RealHostId, bytes: &[u8]) -> io::Result<()> {
        self.departed.push((at, to, bytes.to_vec()));
        Ok(())
    }
}

/// Virtual time with these frames, until the run's own end.
pub(crate) fn virtually(sent: Vec<Sent>) -> VirtualClock<std::vec::IntoIter<Sent>> {
    VirtualClock::new(sent, Instant::FAR_FUTURE)
}
