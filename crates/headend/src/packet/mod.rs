//! The packet: the value that moves through queues and links, at most 64 bytes long.
//!
//! A packet is not `Clone`: it is in exactly one place, and it ends in exactly one of two calls,
//! delivered or discarded with a reason. Its [`Fields`] may be copied, but only this module can
//! make a packet of them.
//!
//! What all packets of a flow share (addresses, ports, class, route) is kept in the [flow
//! table](crate::flow). What only few packets carry (SACK blocks, the bytes of real frames) is kept
//! in pools of records.

pub mod frames;
pub mod sack;

use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};

use crate::time::Instant;

/// One IP packet in the network.
#[derive(Debug)]
pub struct Packet(Fields);

/// The fields of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// TCP: sequence number of the first payload byte (64 bits, does not wrap around). Datagrams:
    /// the number of the packet.
    pub seq: u64,
    /// TCP: the next byte that the sender expects from the other side.
    pub ack: u64,
    /// When the sending host passed the packet to its first hop.
    pub sent_at: Instant,
    /// When the packet entered its queue, or the last queue that it was in.
    pub enqueued_at: Instant,
    /// TCP timestamp echo: `sent_at` of the segment that this one acknowledges (RFC 7323 `TSecr`,
    /// in nanoseconds).
    pub echo: Instant,
    /// The packet's flow.
    pub flow: FlowId,
    /// The size in IP bytes.
    pub size: u16,
    /// The application bytes that the packet carries.
    pub payload: u16,
    /// TCP: the receive window in bytes (after window scaling).
    pub window: u32,
    /// TCP: the SACK blocks, if the packet carries any.
    pub sack: Option<SackId>,
    /// Emulation: the real frame that this packet stands for.
    pub frame: Option<FrameId>,
    /// TCP control bits, and what a queue has done to the packet.
    pub flags: Flags,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// The side that sent it.
    pub from: Side,
    /// The index of the packet's present hop in its route.
    pub hop: u8,
}

const _: () = assert!(
    size_of::<Packet>() <= 64,
    "a packet is moved at every hop: keep it within 64 bytes"
);

/// The identifier of a flow: a slot of the [flow table](crate::flow::FlowTable).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(pub u32);

/// The identifier of a record of SACK blocks in the [pool](sack::SackPool).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackId(pub NonZeroU32);

/// The identifier of a real frame that the emulator holds.
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
    /// Both sides, in index order.
    pub const BOTH: [Self; 2] = [Self::Host, Self::Peer];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Host => Self::Peer,
            Self::Peer => Self::Host,
        }
    }

    /// The index of the side: 0 or 1.
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

/// TCP control bits, and one that no header has ([`Self::WASHED`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No bit is set, as for a datagram.
    pub const NONE: Self = Self(0);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(1);
    /// Opens a connection.
    pub const SYN: Self = Self(2);
    /// The sender has finished.
    pub const FIN: Self = Self(4);
    /// ECN echo (RFC 3168 §6.1).
    pub const ECE: Self = Self(8);
    /// Congestion window reduced (RFC 3168 §6.1).
    pub const CWR: Self = Self(16);
    /// Accurate ECN: the highest of the three bits of the mark counter (RFC 9768 §3.2.2).
    pub const AE: Self = Self(32);
    /// The connection is reset. Only real segments carry it.
    pub const RST: Self = Self(64);
    /// A queue has cleared the packet's DSCP: what follows classifies it as of DSCP 0.
    pub const WASHED: Self = Self(128);

    /// Whether every bit of `bits` is set.
    pub const fn has(self, bits: Self) -> bool {
        self.0 & bits.0 == bits.0
    }

    /// Adds the count of CE-marked packets, modulo 8, in AE, CWR and ECE (RFC 9768 §3.2.2: ACE).
    #[must_use]
    pub const fn with_ace(self, count: u8) -> Self {
        let ece = (count & 1) << 3;
        let cwr = (count & 2) << 3;
        let ae = (count & 4) << 3;
        Self(self.0 | ece | cwr | ae)
    }

    /// The count that [`Self::with_ace`] wrote.
    pub const fn ace(self) -> u8 {
        (self.0 >> 3) & 7
    }

    /// The TCP control bits alone.
    #[must_use]
    pub const fn of_tcp(self) -> Self {
        Self(self.0 & !Self::WASHED.0)
    }

    /// Adds the bits of `bits`.
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

    /// Marks the packet CE; false if its transport is not ECN-capable (RFC 3168 §5).
    #[inline]
    pub(crate) fn mark(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
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

/// The bytes by which an IPv6 header (RFC 8200 §3) is longer than an IPv4 header.
pub const IPV6_EXTRA: u16 = 20;
