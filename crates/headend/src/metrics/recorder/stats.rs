//! What is counted of a flow direction and of a queue. Counters only grow: what an interval or the measured part saw is the difference of
//! two; longest delays and largest backlogs are kept for the interval and for the run.

use super::MacCounters;
use crate::metrics::delay::DelayStats;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;

/// Counters of a flow direction. They only grow: what an interval or the measured part saw is the difference of two.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowCounters {
    pub(super) packets_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) packets_delivered: u64,
    pub(super) bytes_delivered: u64,
    pub(super) delay_sum: u64,
    pub(super) goodput_bytes: u64,
    pub(super) discarded: [u64; DropReason::COUNT],
    pub(super) marked: u64,
    pub(super) retransmitted: u64,
}

impl FlowCounters {
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_sent: self.packets_sent - earlier.packets_sent,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            packets_delivered: self.packets_delivered - earlier.packets_delivered,
            bytes_delivered: self.bytes_delivered - earlier.bytes_delivered,
            delay_sum: self.delay_sum - earlier.delay_sum,
            goodput_bytes: self.goodput_bytes - earlier.goodput_bytes,
            discarded: difference(self.discarded, earlier.discarded),
            marked: self.marked - earlier.marked,
            retransmitted: self.retransmitted - earlier.retransmitted,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct DirectionStats {
    pub(super) total: FlowCounters,
    pub(super) at_warmup: FlowCounters,
    pub(super) at_interval: FlowCounters,
    pub(super) delay: DelayStats,
    /// Longest delay of the interval.
    pub(super) delay_max: u64,
    pub(super) jitter: f64,
    pub(super) last_transit: Option<u64>,
}

impl DirectionStats {
    pub(super) fn new(delay: DelayStats) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    pub(super) fn measured(&self) -> FlowCounters {
        self.total.since(&self.at_warmup)
    }
}

/// Counters of a queue, as those of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueCounters {
    pub(super) packets_enqueued: u64,
    /// Of those, the ones that had been taken in before.
    pub(super) packets_moved: u64,
    pub(super) packets_dequeued: u64,
    pub(super) bytes_dequeued: u64,
    pub(super) delay_sum: u64,
    pub(super) discarded: [u64; DropReason::COUNT],
    pub(super) marked: u64,
}

impl QueueCounters {
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_enqueued: self.packets_enqueued - earlier.packets_enqueued,
            packets_moved: self.packets_moved - earlier.packets_moved,
            packets_dequeued: self.packets_dequeued - earlier.packets_dequeued,
            bytes_dequeued: self.bytes_dequeued - earlier.bytes_dequeued,
            delay_sum: self.delay_sum - earlier.delay_sum,
            discarded: difference(self.discarded, earlier.discarded),
            marked: self.marked - earlier.marked,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct QueueStats {
    pub(super) total: QueueCounters,
    pub(super) at_warmup: QueueCounters,
    pub(super) at_interval: QueueCounters,
    pub(super) delay: DelayStats,
    /// Longest delay of the interval.
    pub(super) delay_max: u64,
    pub(super) backlog: u64,
    pub(super) backlog_since: Instant,
    /// Byte-nanoseconds.
    pub(super) backlog_integral: u128,
    pub(super) backlog_max: u64,
    /// Largest backlog of the interval.
    pub(super) backlog_max_interval: u64,
    /// Nanoseconds in which it stood, and until when they are counted.
    pub(super) stood_ns: u64,
    pub(super) stood_until: Instant,
    pub(super) mac: MacCounters,
}

impl QueueStats {
    pub(super) fn new(delay: DelayStats) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    pub(super) fn measured(&self) -> QueueCounters {
        self.total.since(&self.at_warmup)
    }

    /// A packet that left it at `at` had made it a standing queue for so long.
    pub(super) fn stood(&mut self, at: Instant, span: Duration) {
        // Behind each other the packets of a FIFO cover every moment once; of several queues in one, what is covered already does not count.
        let not_counted = at.since(self.stood_until);
        self.stood_ns += span.min(not_counted).as_nanos();
        self.stood_until = self.stood_until.max(at);
    }

    /// It now holds `bytes`.
    #[inline]
    pub(super) fn holds(&mut self, at: Instant, bytes: u64) {
        self.backlog_integral +=
            u128::from(self.backlog) * u128::from(at.since(self.backlog_since).as_nanos());
        self.backlog_since = at;
        self.backlog = bytes;
        self.backlog_max = self.backlog_max.max(bytes);
        self.backlog_max_interval = self.backlog_max_interval.max(bytes);
    }
}

pub(super) fn difference(
    now: [u64; DropReason::COUNT],
    earlier: [u64; DropReason::COUNT],
) -> [u64; DropReason::COUNT] {
    std::array::from_fn(|index| now[index] - earlier[index])
}

/// Mean and largest of an interval's delays.
pub(super) fn mean_and_max(count: u64, sum: u64, max: u64) -> (f64, f64) {
    if count == 0 {
        (f64::NAN, f64::NAN)
    } else {
        (sum as f64 / count as f64, max as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time for which a queue stood whose packets left at so many milliseconds, each so long after it made the queue a standing one.
    fn stood(packets: &[(u64, u64)]) -> u64 {
        let mut stats = QueueStats::default();
        for &(at, span) in packets {
            let at = Instant::from_nanos(at * 1_000_000);
            stats.stood(at, Duration::from_millis(span));
        }
        stats.stood_ns / 1_000_000
    }

    #[test]
    fn a_queue_stands_as_long_as_its_oldest_packet_is_old_however_many_there_are() {
        assert_eq!(stood(&[(100, 30)]), 30);
        assert_eq!(stood(&[(100, 30), (200, 30)]), 60);
        assert_eq!(stood(&[(100, 30), (110, 30), (120, 30)]), 50);
        assert_eq!(stood(&[(100, 30), (100, 30), (100, 10)]), 30);
    }
}
