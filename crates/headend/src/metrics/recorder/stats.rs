//! The statistics of a flow direction and of a queue.
//!
//! Counters only grow: the count of an interval, or of the measured part, is the difference of two
//! readings. Longest delays and largest backlogs are not counters: they start again with each
//! interval.

use super::QueueInfo;
use super::latency::LatencyHistogram;
use crate::metrics::histogram::Histogram;
use crate::metrics::mib;
use crate::metrics::send_limit::LimitTimes;
use crate::time::{Duration, Instant};
use crate::trace::DropReason;

/// The counters of a flow direction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FlowCounters {
    pub(super) packets_sent: u64,
    pub(super) bytes_sent: u64,
    pub(super) packets_delivered: u64,
    pub(super) bytes_delivered: u64,
    pub(super) goodput_bytes: u64,
    /// The sum of the delays of the packets delivered, in nanoseconds.
    pub(super) delay_sum: u64,
}

impl FlowCounters {
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_sent: self.packets_sent - earlier.packets_sent,
            bytes_sent: self.bytes_sent - earlier.bytes_sent,
            packets_delivered: self.packets_delivered - earlier.packets_delivered,
            bytes_delivered: self.bytes_delivered - earlier.bytes_delivered,
            goodput_bytes: self.goodput_bytes - earlier.goodput_bytes,
            delay_sum: self.delay_sum - earlier.delay_sum,
        }
    }
}

/// The statistics of a flow direction.
#[derive(Debug)]
pub(super) struct FlowStats {
    pub(super) total: FlowCounters,
    /// The counters at the end of the warm-up, and at the end of the last interval.
    pub(super) at_warmup: FlowCounters,
    pub(super) at_interval: FlowCounters,
    /// The delays of the measured part.
    pub(super) delays: Histogram,
    /// The longest delay of the interval, in nanoseconds.
    pub(super) delay_max: u64,
    /// RFC 3550 §6.4.1: the interarrival jitter, nanoseconds.
    pub(super) jitter: f64,
    /// The delay of the previous packet, if there was one, in nanoseconds.
    pub(super) last_delay: Option<u64>,
    pub(super) retransmitted: Count,
    /// What held its connections back in the measured part, and for how long.
    pub(super) limits: LimitTimes,
    pub(super) ends: Ends,
}

impl FlowStats {
    /// The statistics of a flow direction, in a run with so many histograms.
    pub(super) fn one_of(histograms: usize) -> Self {
        Self {
            total: FlowCounters::default(),
            at_warmup: FlowCounters::default(),
            at_interval: FlowCounters::default(),
            delays: Histogram::one_of(histograms),
            delay_max: 0,
            jitter: 0.0,
            last_delay: None,
            retransmitted: Count::default(),
            limits: LimitTimes::default(),
            ends: Ends::default(),
        }
    }

    /// Records that a packet of `size` bytes reached its receiver after `delay`.
    #[inline]
    pub(super) fn delivered(&mut self, size: u16, delay: Duration) {
        let nanos = delay.as_nanos();
        self.total.packets_delivered += 1;
        self.total.bytes_delivered += u64::from(size);
        self.total.delay_sum += nanos;
        self.delays.record(delay);
        self.delay_max = self.delay_max.max(nanos);
        // RFC 3550 §6.4.1: J += (|D| − J) / 16 over consecutive packets.
        if let Some(last) = self.last_delay.replace(nanos) {
            self.jitter += (last.abs_diff(nanos) as f64 - self.jitter) / 16.0;
        }
    }

    /// Starts the measured part at the end of the warm-up. The jitter estimate continues.
    pub(super) fn start_measuring(&mut self) {
        self.at_warmup = self.total;
        self.delays.reset();
        self.retransmitted.start_measuring();
        self.limits = LimitTimes::default();
        self.ends.start_measuring();
    }

    /// The counts of the measured part.
    pub(super) fn measured(&self) -> FlowCounters {
        self.total.since(&self.at_warmup)
    }
}

/// A count over the run, and over its measured part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Count {
    total: u64,
    at_warmup: u64,
}

impl Count {
    pub(super) fn add(&mut self) {
        self.total += 1;
    }

    pub(super) fn start_measuring(&mut self) {
        self.at_warmup = self.total;
    }

    pub(super) fn measured(self) -> u64 {
        self.total - self.at_warmup
    }
}

/// The discarded packets by reason, and the marked packets.
#[derive(Debug, Default)]
pub(super) struct Ends {
    discarded: [Count; DropReason::COUNT],
    marked: Count,
    discarded_in_interval: u64,
    marked_in_interval: u64,
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

    /// Ends an interval; returns the packets discarded and marked in it.
    pub(super) fn close_interval(&mut self) -> [u64; 2] {
        [
            std::mem::take(&mut self.discarded_in_interval),
            std::mem::take(&mut self.marked_in_interval),
        ]
    }

    pub(super) fn start_measuring(&mut self) {
        self.discarded.iter_mut().for_each(Count::start_measuring);
        self.marked.start_measuring();
    }

    pub(super) fn discarded(&self) -> [u64; DropReason::COUNT] {
        self.discarded.map(Count::measured)
    }

    pub(super) fn marked(&self) -> u64 {
        self.marked.measured()
    }
}

/// The counters of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueueCounters {
    pub(super) packets_enqueued: u64,
    /// Of the packets enqueued, those that had been enqueued before, under another discipline.
    pub(super) packets_moved: u64,
    pub(super) packets_dequeued: u64,
    pub(super) bytes_dequeued: u64,
    /// The bytes that Ethernet adds to packets that are too short for it.
    pub(super) bytes_padded: u64,
    /// The sum of the sojourn times of the packets dequeued, in nanoseconds.
    pub(super) delay_sum: u64,
}

impl QueueCounters {
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_enqueued: self.packets_enqueued - earlier.packets_enqueued,
            packets_moved: self.packets_moved - earlier.packets_moved,
            packets_dequeued: self.packets_dequeued - earlier.packets_dequeued,
            bytes_dequeued: self.bytes_dequeued - earlier.bytes_dequeued,
            bytes_padded: self.bytes_padded - earlier.bytes_padded,
            delay_sum: self.delay_sum - earlier.delay_sum,
        }
    }
}

/// A queue is a standing queue while a packet in it has waited for longer than this.
const STANDING: Duration = Duration::from_millis(50);

/// The statistics of a queue.
#[derive(Debug)]
pub(super) struct QueueStats {
    pub(super) total: QueueCounters,
    /// The counters at the end of the warm-up, and at the end of the last interval.
    pub(super) at_warmup: QueueCounters,
    pub(super) at_interval: QueueCounters,
    /// The sojourn times of the measured part.
    pub(super) delays: Histogram,
    /// The longest sojourn time of the interval, in nanoseconds.
    pub(super) delay_max: u64,
    /// The bytes in the queue, and the time since when there are as many.
    pub(super) backlog: u64,
    backlog_since: Instant,
    /// The integral of the backlog over the measured part, in byte-nanoseconds.
    pub(super) backlog_integral: u128,
    /// The largest backlog of the measured part, and of the interval.
    pub(super) backlog_max: u64,
    pub(super) backlog_max_interval: u64,
    /// The nanoseconds of the measured part with a standing queue, and the time up to which they
    /// are counted.
    pub(super) stood_ns: u64,
    stood_until: Instant,
    pub(super) ends: Ends,
    /// The latency histogram of a service flow that has one.
    pub(super) latency: Option<Box<LatencyHistogram>>,
}

impl QueueStats {
    /// The statistics of this queue, in a run with so many histograms.
    pub(super) fn new(info: &QueueInfo, histograms: usize) -> Self {
        let edges = info.service_flow.as_ref().map(|flow| &flow.latency_edges);
        Self {
            latency: edges.and_then(|edges| LatencyHistogram::new(edges)),
            ..Self::one_of(histograms)
        }
    }

    fn one_of(histograms: usize) -> Self {
        Self {
            total: QueueCounters::default(),
            at_warmup: QueueCounters::default(),
            at_interval: QueueCounters::default(),
            delays: Histogram::one_of(histograms),
            delay_max: 0,
            backlog: 0,
            backlog_since: Instant::ZERO,
            backlog_integral: 0,
            backlog_max: 0,
            backlog_max_interval: 0,
            stood_ns: 0,
            stood_until: Instant::ZERO,
            ends: Ends::default(),
            latency: None,
        }
    }

    /// Records that the queue now holds `bytes`.
    #[inline]
    pub(super) fn holds(&mut self, at: Instant, bytes: u64) {
        let held = at.since(self.backlog_since).as_nanos();
        self.backlog_integral += u128::from(self.backlog) * u128::from(held);
        self.backlog_since = at;
        self.backlog = bytes;
        self.backlog_max = self.backlog_max.max(bytes);
        self.backlog_max_interval = self.backlog_max_interval.max(bytes);
    }

    /// Records that a packet of `size` bytes was dequeued after `sojourn`.
    #[inline]
    pub(super) fn dequeued(&mut self, at: Instant, size: u16, sojourn: Duration) {
        let nanos = sojourn.as_nanos();
        self.total.packets_dequeued += 1;
        self.total.bytes_dequeued += u64::from(size);
        self.total.delay_sum += nanos;
        self.delays.record(sojourn);
        self.delay_max = self.delay_max.max(nanos);
        if size < mib::SHORTEST_PAYLOAD {
            self.total.bytes_padded += u64::from(mib::SHORTEST_PAYLOAD - size);
        }
        if let Some(latency) = &mut self.latency {
            latency.record(sojourn);
        }
        if sojourn > STANDING {
            self.stood(at, sojourn - STANDING);
        }
    }

    /// Counts the `span` before `at` in which the packet that is dequeued at `at` made the queue a
    /// standing one.
    fn stood(&mut self, at: Instant, span: Duration) {
        // The packets of a FIFO leave one after the other and cover every moment once. In a
        // discipline with several queues their spans overlap: each moment counts once.
        let not_counted = at.since(self.stood_until);
        self.stood_ns += span.min(not_counted).as_nanos();
        self.stood_until = self.stood_until.max(at);
    }

    /// Starts the measured part at the end of the warm-up.
    pub(super) fn start_measuring(&mut self, at: Instant) {
        self.holds(at, self.backlog);
        self.at_warmup = self.total;
        self.delays.reset();
        self.backlog_integral = 0;
        self.backlog_max = self.backlog;
        (self.stood_ns, self.stood_until) = (0, at);
        self.ends.start_measuring();
        if let Some(latency) = &mut self.latency {
            latency.reset();
        }
    }

    /// The counts of the measured part.
    pub(super) fn measured(&self) -> QueueCounters {
        self.total.since(&self.at_warmup)
    }
}

/// The mean and the largest of an interval's delays.
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

    /// Time for which a queue stood whose packets left at so many milliseconds, each so long after
    /// it made the queue a standing one.
    fn stood(packets: &[(u64, u64)]) -> u64 {
        let mut stats = QueueStats::one_of(1);
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
