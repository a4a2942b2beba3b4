//! State that connections and queues show at the end of each interval, for the series over time.

use crate::time::Duration;

/// State of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionSample {
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, once there is one.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT, once there is one.
    pub srtt: Option<Duration>,
    /// Bytes in flight as the sender counts them.
    pub in_flight_bytes: u64,
}

/// Inner state of a queue. A figure that its discipline does not have is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueueInternals {
    /// The law's drop (or mark) probability.
    pub drop_probability: Option<f64>,
    /// Tokens of the sustained-rate bucket, bytes.
    pub tokens_bytes: Option<f64>,
    /// Time for which the law still lets bursts through, nanoseconds.
    pub burst_allowance_ns: Option<f64>,
    /// The law's own estimate of the delay, nanoseconds.
    pub delay_estimate_ns: Option<f64>,
    /// The rate at which the queue drains, where that estimate measures one, bit/s.
    pub rate_estimate_bps: Option<f64>,
    /// The weighted average queue of a law that counts packets.
    pub average_packets: Option<f64>,
    /// The weighted average queue of a law that counts bytes.
    pub average_bytes: Option<f64>,
    /// Packets so far that joined a queue in which a packet of another flow waited, where a hash
    /// assigns flows to queues.
    pub hash_collisions: Option<f64>,
    /// Queues of a scheduler that hold packets.
    pub queues_active: Option<f64>,
}
