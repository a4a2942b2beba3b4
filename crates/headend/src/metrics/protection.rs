//! What queue protection has found about the flows of a low-latency queue.

use crate::time::Duration;

/// The judgement of a packet that arrives at a low-latency queue (MULPI Annex P, RFC 9957).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The delay of the queue, with this packet.
    pub delay: Duration,
    /// The native marking probability at this delay.
    pub probability: f64,
    /// The queuing score of the packet's flow, with this packet.
    pub score: Duration,
    /// The packet is redirected to the classic queue.
    pub is_sanctioned: bool,
}
