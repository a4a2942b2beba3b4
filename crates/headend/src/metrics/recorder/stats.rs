//! What is counted of a flow direction and of a queue. Counters only grow: what an interval or the measured part saw is the difference of
//! two; longest delays and largest backlogs are kept for the interval and for the run. What every packet touches stands apart from the rest.

use crate::metrics::delay::Recent;
use crate::metrics::extreme::raise;
use crate::near::{Beginning, near};
use crate::time::{Duration, Instant};
use crate::trace::DropReason;

/// Counters of a flow direction that packets move: they only grow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowCounters {
    pub(super) packets_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) packets_delivered: u64,
    pub(super) bytes_delivered: u64,
    pub(super) delay_sum: u64,
    pub(super) goodput_bytes: u64,
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
        }
    }
}

/// Delays of a flow direction, and of a queue, that are noted before they are counted: as many as there is room for.
pub(super) const FLOW_NOTES: usize = 19;
pub(super) const QUEUE_NOTES: usize = 11;

/// What every packet of a flow direction touches, on two cache lines: a plant has thousands of these, and none of them is near when its packet comes.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct FlowStats {
    beginning: Beginning,
    pub(super) total: FlowCounters,
    /// Longest delay of the interval.
    pub(super) delay_max: u64,
    pub(super) jitter: f64,
    /// Of the packet before, once there was one; more than any is then.
    pub(super) last_transit: Transit,
    pub(super) delays: Recent<FLOW_NOTES>,
}

/// The delay of the packet before, if there was one.
#[derive(Debug)]
pub(super) struct Transit(u64);

impl Default for Transit {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl Transit {
    /// Puts another in its place.
    #[inline]
    pub(super) fn replace(&mut self, nanos: u64) -> Option<u64> {
        let last = std::mem::replace(&mut self.0, nanos);
        (last != u64::MAX).then_some(last)
    }
}

/// What ends or repeats packets, and what packets have left before: touched seldom. What each interval touches is on the first cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct FlowRecord {
    pub(super) at_interval: FlowCounters,
    pub(super) ends: Ends,
    pub(super) at_warmup: FlowCounters,
    pub(super) retransmitted: Count,
}

/// A count that seldom moves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    total: u64,
    at_warmup: u64,
}

impl Count {
    pub(super) fn add(&mut self) {
        self.total += 1;
    }

    pub(super) fn warmed_up(&mut self) {
        self.at_warmup = self.total;
    }

    pub(super) fn measured(self) -> u64 {
        self.total - self.at_warmup
    }
}

/// Packets that ended early, by reason, and packets marked.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Ends {
    /// Of the interval.
    pub(super) discarded_in_interval: u64,
    pub(super) marked_in_interval: u64,
    discarded: [Count; DropReason::COUNT],
    marked: Count,
}

impl Ends {
    pub(super) fn discard(&mut self, reason: DropReason) {
        self.discarded_in_interval += 1;
        self.discarded[reason as usize].add();
    }

    pub(super) fn mark(&mut self) {
        self.marked_in_interval += 1;
        self.marked.add();
    }

    /// Packets discarded and marked in the interval, which ends.
    pub(super) fn close_interval(&mut self) -> [u64; 2] {
        [
            std::mem::take(&mut self.discarded_in_interval),
            std::mem::take(&mut self.marked_in_interval),
        ]
    }

    pub(super) fn warmed_up(&mut self) {
        self.discarded.iter_mut().for_each(Count::warmed_up);
        self.marked.warmed_up();
    }

    pub(super) fn discarded(&self) -> [u64; DropReason::COUNT] {
        self.discarded.map(Count::measured)
    }

    pub(super) fn marked(&self) -> u64 {
        self.marked.measured()
    }
}

/// Counters of a queue, as those of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueueCounters {
    pub(super) packets_dequeued: u64,
    pub(super) bytes_dequeued: u64,
    pub(super) delay_sum: u64,
}

impl QueueCounters {
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_dequeued: self.packets_dequeued - earlier.packets_dequeued,
            bytes_dequeued: self.bytes_dequeued - earlier.bytes_dequeued,
            delay_sum: self.delay_sum - earlier.delay_sum,
        }
    }
}

/// What every packet of a queue touches, on two cache lines; what it adds on arrival is on the first.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct QueueStats {
    beginning: Beginning,
    /// Byte-nanoseconds.
    pub(super) backlog_integral: u128,
    pub(super) backlog: u64,
    pub(super) backlog_since: Instant,
    pub(super) backlog_max: u64,
    /// Largest backlog of the interval.
    pub(super) backlog_max_interval: u64,
    pub(super) packets_enqueued: u64,
    /// Longest delay of the interval.
    pub(super) delay_max: u64,
    pub(super) total: QueueCounters,
    pub(super) delays: Recent<QUEUE_NOTES>,
}

const _: () = assert!(
    size_of::<FlowStats>() == 128 && size_of::<QueueStats>() == 128,
    "two cache lines each"
);

near!(FlowStats);
near!(QueueStats);

impl QueueStats {
    /// It now holds `bytes`.
    #[inline]
    pub(super) fn holds(&mut self, at: Instant, bytes: u64) {
        self.backlog_integral +=
            u128::from(self.backlog) * u128::from(at.since(self.backlog_since).as_nanos());
        self.backlog_since = at;
        self.backlog = bytes;
        raise(&mut self.backlog_max, bytes);
        raise(&mut self.backlog_max_interval, bytes);
    }
}

/// The same for a queue as [`FlowRecord`] for a flow.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct QueueRecord {
    pub(super) at_interval: QueueCounters,
    /// Nanoseconds in which it stood, and until when they are counted.
    pub(super) stood_ns: u64,
    pub(super) stood_until: Instant,
    pub(super) ends: Ends,
    pub(super) at_warmup: QueueCounters,
    pub(super) enqueued_at_warmup: u64,
    /// Of the packets taken in, those that had been taken in before.
    pub(super) moved: u64,
    pub(super) moved_at_warmup: u64,
}

impl QueueRecord {
    /// A packet that left it at `at` had made it a standing queue for so long.
    pub(super) fn stood(&mut self, at: Instant, span: Duration) {
        // Behind each other the packets of a FIFO cover every moment once; of several queues in one, what is covered already does not count.
        let not_counted = at.since(self.stood_until);
        self.stood_ns += span.min(not_counted).as_nanos();
        self.stood_until = self.stood_until.max(at);
    }
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
        let mut record = QueueRecord::default();
        for &(at, span) in packets {
            let at = Instant::from_nanos(at * 1_000_000);
            record.stood(at, Duration::from_millis(span));
        }
        record.stood_ns / 1_000_000
    }

    #[test]
    fn a_queue_stands_as_long_as_its_oldest_packet_is_old_however_many_there_are() {
        assert_eq!(stood(&[(100, 30)]), 30);
        assert_eq!(stood(&[(100, 30), (200, 30)]), 60);
        assert_eq!(stood(&[(100, 30), (110, 30), (120, 30)]), 50);
        assert_eq!(stood(&[(100, 30), (100, 30), (100, 10)]), 30);
    }
}
