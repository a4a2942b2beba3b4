//! The packet: what moves through queues and links, by value, in at most 64 bytes.
//!
//! A packet is not `Clone`: it is in exactly one place, and it ends in one of two calls, delivered or discarded with a reason. (What it says,
//! its [`Fields`], may be copied; a packet can be made of them only here.)
//! What all packets of a flow share (addresses, ports, class, route) stands in the [flow table](crate::flow); what only few
//! packets carry (SACK blocks) in a pooled side record.

pub mod sack;

use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};

use crate::time::Instant;

/// One IP packet on its way.
#[derive(Debug)]
pub struct Packet(Fields);

/// What a packet says.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// TCP: sequence number of the first payload byte (64 bits, does not wrap). Datagrams: the packet's number.
    pub seq: u64,
    /// TCP: next byte expected from the other side.
    pub ack: u64,
    /// When the sending host handed it to its first hop.
    pub sent_at: Instant,
    /// When it entered the queue in which it waits, or the one in which it waited last.
    pub enqueued_at: Instant,
    /// TCP timestamp echo: `sent_at` of the segment this one acknowledges (RFC 7323 `TSecr`, in nanoseconds).
    pub echo: Instant,
    /// Whose packet it is.
    pub flow: FlowId,
    /// Size in IP bytes.
    pub size: u16,
    /// Application bytes carried.
    pub payload: u16,
    /// TCP: receive window in bytes (window scaling applied).
    pub window: u32,
    /// TCP: SACK blocks, if it carries any.
    pub sack: Option<SackId>,
    /// Emulation: the real frame this packet stands for.
    pub frame: Option<FrameId>,
    /// TCP control bits.
    pub flags: Flags,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// The side that sent it.
    pub from: Side,
    /// Position in its route.
    pub hop: u8,
}

const _: () = assert!(
    size_of::<Packet>() <= 64,
    "a packet is moved at every hop: keep it within 64 bytes"
);

/// Names a flow: a slot of the [flow table](crate::flow::FlowTable).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub u32);

/// Names a SACK side record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackId(pub NonZeroU32);

/// Names a real frame held by the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(pub NonZeroU32);

/// The two ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The flow's `host`: the customer's side. Its packets travel up.
    Host,
    /// The flow's `peer`: the network's side. Its packets travel down.
    Peer,
}

impl Side {
    /// Both, in index order.
    pub const BOTH: [Self; 2] = [Self::Host, Self::Peer];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Host => Self::Peer,
            Self::Peer => Self::Host,
        }
    }

    /// 0 or 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The ECN field (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Congestion experienced.
    Ce,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1) (L4S, RFC 9331).
    Ect1,
    /// Not ECN-capable.
    #[default]
    NotEct,
}

/// TCP control bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No bit set: a datagram.
    pub const NONE: Self = Self(0);
    /// The acknowledgement field counts.
    pub const ACK: Self = Self(1);
    /// Opens a connection.
    pub const SYN: Self = Self(2);
    /// The sender has finished.
    pub const FIN: Self = Self(4);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(8);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(16);
    /// Accurate ECN: the highest of the three bits that count marks (RFC 9768 §3.2.2).
    pub const AE: Self = Self(32);

    /// Whether every bit of `bits` is set.
    pub const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// An acknowledgement with the count of CE-marked packets, modulo 8, in AE, CWR and ECE (RFC 9768 §3.2.2: ACE).
    #[must_use]
    pub const fn with_ace(self, count: u8) -> Self {
        let ece = (count & 1) << 3;
        let cwr = (count & 2) << 3;
        let ae = (count & 4) << 3;
        Self(self.0 | ece | cwr | ae)
    }

    /// The count that [`Self::with_ace`] has written.
    pub const fn ace(self) -> u8 {
        (self.0 >> 3) & 7
    }

    /// With the bits of `bits` as well.
    #[must_use]
    pub const fn with(self, bits: Self) -> Self {
        Self(self.0 | bits.0)
    }
}

impl Packet {
    /// A datagram of `size` IP bytes carrying `payload` application bytes.
    pub const fn datagram(flow: FlowId, from: Side, seq: u64, size: u16, payload: u16) -> Self {
        Self(Fields {
            seq,
            ack: 0,
            sent_at: Instant::ZERO,
            enqueued_at: Instant::ZERO,
            echo: Instant::ZERO,
            flow,
            size,
            payload,
            window: 0,
            sack: None,
            frame: None,
            flags: Flags::NONE,
            ecn: Ecn::NotEct,
            from,
            hop: 0,
        })
    }
}

impl Deref for Packet {
    type Target = Fields;

    #[inline]
    fn deref(&self) -> &Fields {
        &self.0
    }
}

impl DerefMut for Packet {
    #[inline]
    fn deref_mut(&mut self) -> &mut Fields {
        &mut self.0
    }
}

/// Bytes by which an IPv6 header (RFC 8200 §3) is longer than an IPv4 header.
pub const IPV6_EXTRA: u16 = 20;
