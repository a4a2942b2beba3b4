//! What an endpoint reports to its application.

use crate::event::AppId;
use crate::flow::FlowId;
use crate::packet::{Ecn, Side};
use crate::time::{Duration, Instant};

/// News of a flow for the application that owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Which application.
    pub app: AppId,
    /// About which flow.
    pub flow: FlowId,
    /// What.
    pub news: News,
}

/// What happened on a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Both sides have closed and everything is acknowledged.
    Closed,
    /// The connection is open on the side that opened it.
    Connected,
    /// A datagram arrived.
    Delivered {
        /// On which side.
        at: Side,
        /// Its number.
        number: u64,
        /// IP bytes.
        size: u16,
        /// When it was sent.
        sent_at: Instant,
        /// One-way delay.
        delay: Duration,
        /// Its ECN field on arrival.
        ecn: Ecn,
    },
    /// The expected number of bytes has arrived.
    Received {
        /// On which side.
        at: Side,
        /// Stream offset reached.
        total: u64,
    },
    /// There is room to write on: no more than was awaited is left unsent.
    Writable {
        /// On which side.
        at: Side,
    },
}
