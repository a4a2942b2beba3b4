//! The state of a line that its queue may read: rate, framing, token buckets and grants.

use std::fmt::Debug;

use super::Framing;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// What a queue sees of its line at one moment.
#[derive(Debug, Clone, Copy)]
pub struct LineView<'a> {
    /// Nominal rate, at which the line drains the queue when nothing blocks it.
    pub rate: Rate,
    /// Size of the largest packet, in IP bytes.
    pub mtu: u16,
    /// How the line counts the bytes of a packet.
    pub framing: Framing,
    /// The token buckets; `None` on a line without shaping.
    pub shaper: Option<&'a dyn Shaper>,
    /// The latest grants; `None` on a line that sends without grants.
    pub grants: Option<&'a GrantView>,
    /// What a low-latency queue gets from the classic queue that it is coupled to; `None` for any
    /// other queue.
    pub coupling: Option<Coupling>,
}

/// What a low-latency queue of a cable line knows besides its own state (MULPI Annexes M and O).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Coupling {
    /// Bytes of a MAC header, which the delay estimate and the queuing score count for each packet.
    pub mac_header: u64,
    /// The marking probability that the classic queue's control law adds (`p_CL`), from 0 to 1.
    pub probability: f64,
    /// Time from a request to its grant.
    pub loop_delay: Duration,
    /// The rate that the CMTS grants without requests (GGR). Zero: there are no such grants.
    pub guaranteed_rate: Rate,
    /// The time between two such grants (GGI).
    pub guaranteed_interval: Duration,
}

/// A pair of token buckets that limits the rate at which a queue drains (RFC 8034 §3).
pub trait Shaper: Debug + Sync {
    /// Maximum sustained rate R.
    fn sustained(&self) -> Rate;
    /// Peak rate P.
    fn peak(&self) -> Rate;
    /// Bytes in the sustained-rate bucket at `now`.
    fn tokens(&self, now: Instant) -> u64;
}

/// What a modem's queue knows from the MAPs that the CMTS has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GrantView {
    /// Bytes granted in the latest MAP.
    pub granted: u64,
    /// Bytes of requests that the latest MAP acknowledges without a grant.
    pub pending: u64,
    /// Time between two MAPs.
    pub map_interval: Duration,
    /// Bytes granted in all MAPs so far.
    pub granted_in_all: u64,
    /// MAPs so far. A MAP that would answer no request is not simulated, and is not counted.
    pub maps: u64,
    /// MAPs so far that acknowledged requests without a grant.
    pub maps_pending: u64,
}

impl GrantView {
    /// Takes over the contents of a new MAP.
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
    /// Size of the largest packet, in the bytes that the line counts.
    pub fn max_packet(&self) -> u64 {
        self.framing.size_on_wire(self.mtu)
    }

    /// A line of this rate that counts IP bytes and has neither token buckets nor grants.
    pub const fn plain(rate: Rate) -> LineView<'a> {
        LineView {
            rate,
            mtu: 1500,
            framing: Framing::IP,
            shaper: None,
            grants: None,
            coupling: None,
        }
    }
}
