//! What an endpoint reports to its application.

use crate::event::AppId;
use crate::flow::FlowId;
use crate::packet::{Ecn, Side};
use crate::time::{Duration, Instant};

/// One event on a flow, which the flow's endpoint reports to the application that owns the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The application that owns the flow.
    pub app: AppId,
    /// The flow on which it happened.
    pub flow: FlowId,
    /// What happened.
    pub news: News,
}

/// What happened on a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Both sides have closed, and all data is acknowledged.
    Closed,
    /// The connection is established. The side that opened it reports this.
    Connected,
    /// A datagram arrived.
    Delivered {
        /// The side that received it.
        at: Side,
        /// Its sequence number.
        number: u64,
        /// Its size, IP bytes.
        size: u16,
        /// When it was sent.
        sent_at: Instant,
        /// One-way delay.
        delay: Duration,
        /// Its ECN field on arrival.
        ecn: Ecn,
    },
    /// All bytes that the application expected (`Command::Expect`) have arrived.
    Received {
        /// The side that received them.
        at: Side,
        /// Offset in the stream up to which all bytes have arrived.
        total: u64,
    },
    /// The application may write again: the unsent data has fallen to the number of bytes given in
    /// `Command::Await`.
    Writable {
        /// The side that may write.
        at: Side,
    },
}
