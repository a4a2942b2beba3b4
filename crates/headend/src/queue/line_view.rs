//! What a queue may know of the line behind it.

use std::fmt::Debug;

use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The line as a queue sees it, at one moment.
#[derive(Debug, Clone, Copy)]
pub struct LineView<'a> {
    /// Nominal rate: what the line drains the queue with while nothing is in the way.
    pub rate: Rate,
    /// Largest packet, IP bytes.
    pub mtu: u16,
    /// Which bytes of a packet count.
    pub framing: Framing,
    /// The token buckets, on a line that has them.
    pub shaper: Option<&'a dyn Shaper>,
    /// Grants, on a line that gives them.
    pub grants: Option<GrantView>,
}

/// Which bytes of a packet a line counts: `max(IP bytes, minimum) + overhead`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Shorter packets are padded to this.
    pub minimum: u16,
    /// Bytes around the IP packet.
    pub overhead: u16,
}

impl Framing {
    /// IP bytes alone.
    pub const IP: Self = Self {
        minimum: 0,
        overhead: 0,
    };
    /// A DOCSIS MAC PDU from after the HCS to the CRC: Ethernet header, payload of at least 46 B, FCS (RFC 8034 appendix A.1.4).
    pub const ETHERNET: Self = Self {
        minimum: 46,
        overhead: 18,
    };

    /// Bytes of `packet`.
    pub fn bytes(self, packet: &Packet) -> u64 {
        self.of_size(packet.size)
    }

    /// Bytes of a packet of `size` IP bytes.
    pub fn of_size(self, size: u16) -> u64 {
        u64::from(size.max(self.minimum)) + u64::from(self.overhead)
    }
}

/// A token-bucket pair that decides how fast a queue may drain (RFC 8034 §3).
pub trait Shaper: Debug + Sync {
    /// Maximum sustained rate R.
    fn sustained(&self) -> Rate;
    /// Peak rate P.
    fn peak(&self) -> Rate;
    /// Bytes in the sustained-rate bucket at `now`.
    fn tokens(&self, now: Instant) -> u64;
}

/// What the MAPs have told a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GrantView {
    /// Bytes granted in the latest MAP.
    pub granted: u64,
    /// Bytes whose request it acknowledges and has no grant for.
    pub pending: u64,
    /// Time between two MAPs.
    pub map_interval: Duration,
    /// Bytes granted in all MAPs so far.
    pub granted_in_all: u64,
    /// MAPs so far. Those that had nothing to answer were never made.
    pub maps: u64,
    /// MAPs so far that left something pending.
    pub maps_pending: u64,
}

impl GrantView {
    /// A MAP comes.
    pub fn tell(&mut self, granted: u64, pending: u64, map_interval: Duration) {
        *self = Self {
            granted,
            pending,
            map_interval,
            granted_in_all: self.granted_in_all + granted,
            maps: self.maps + 1,
            maps_pending: self.maps_pending + u64::from(pending > 0),
        };
    }
}

impl<'a> LineView<'a> {
    /// Bytes of the largest packet.
    pub fn max_packet(&self) -> u64 {
        self.framing.of_size(self.mtu)
    }

    /// A plain line of this rate that counts IP bytes.
    pub const fn plain(rate: Rate) -> LineView<'a> {
        LineView {
            rate,
            mtu: 1500,
            framing: Framing::IP,
            shaper: None,
            grants: None,
        }
    }
}
