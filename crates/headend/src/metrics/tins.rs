//! What each tin of CAKE has done: the table `tins`, after the one that `tc -s qdisc` prints.

use super::table::{FLOAT, INTEGER, TEXT, Table};
use crate::time::Duration;
use crate::trace::QueueId;
use crate::units::Rate;

/// How long the packets have waited that left.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waits {
    /// The packets.
    pub packets: u64,
    /// The sum of their sojourn times, nanoseconds.
    pub sum: u128,
}

impl Waits {
    /// Adds a packet.
    #[inline]
    pub fn add(&mut self, sojourn: Duration) {
        self.packets += 1;
        self.sum += u128::from(sojourn.as_nanos());
    }

    /// The mean since an earlier state, nanoseconds; NaN if no packet has left since then.
    fn mean_since(self, earlier: Self) -> f64 {
        (self.sum - earlier.sum) as f64 / (self.packets - earlier.packets) as f64
    }
}

/// What a tin does at present, and what it has done since the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct TinStats {
    /// Its name.
    pub name: &'static str,
    /// Its threshold; `None` without a rate.
    pub threshold: Option<Rate>,
    /// The target of its queues' control laws.
    pub target: Duration,
    /// Their interval.
    pub interval: Duration,
    /// Bytes that a flow may send in a turn.
    pub quantum: u64,
    /// IP bytes that wait.
    pub backlog: u64,
    /// Flows that have packets and have not used up a quantum.
    pub sparse_flows: u64,
    /// Flows that have used up a quantum.
    pub bulk_flows: u64,
    /// Flows of which BLUE drops packets.
    pub unresponsive_flows: u64,
    /// The longest sojourn time since the last call.
    pub longest: Duration,
    /// IP bytes of the largest packet since the last call.
    pub largest: u64,
    /// Counters.
    pub counts: TinCounts,
}

/// Counters of a tin since the start of the run.
#[derive(Debug, Clone, Copy, Default)]
pub struct TinCounts {
    /// Packets that have arrived.
    pub packets: u64,
    /// Their IP bytes.
    pub bytes: u64,
    /// Packets that the control law or the limit on memory has dropped.
    pub dropped: u64,
    /// Packets that the control law has marked.
    pub marked: u64,
    /// Acknowledgements that the filter has discarded.
    pub acks_dropped: u64,
    /// Packets that joined a queue in which another flow's waited.
    pub collisions: u64,
    /// All packets that have left.
    pub waits: Waits,
    /// Those that have left a queue before it had used up a quantum.
    pub sparse_waits: Waits,
}

/// A tin of a queue.
#[derive(Debug)]
struct Tin {
    queue: QueueId,
    now: TinStats,
    at_warmup: TinCounts,
}

/// The tins of all queues, in the order in which links report them.
#[derive(Debug, Default)]
pub(super) struct Tins(Vec<Tin>);

impl Tins {
    /// Notes what a tin has done until now.
    pub(super) fn note(&mut self, queue: QueueId, now: TinStats) {
        let mut known = self.0.iter_mut();
        match known.find(|tin| tin.queue == queue && tin.now.name == now.name) {
            Some(tin) => {
                let [before, now] = [tin.now, now];
                tin.now = TinStats {
                    longest: before.longest.max(now.longest),
                    largest: before.largest.max(now.largest),
                    ..now
                };
            }
            None => self.0.push(Tin {
                queue,
                now,
                at_warmup: TinCounts::default(),
            }),
        }
    }

    /// The warm-up is over: what was counted so far does not count.
    pub(super) fn start_measuring(&mut self) {
        for tin in &mut self.0 {
            tin.at_warmup = tin.now.counts;
            (tin.now.longest, tin.now.largest) = (Duration::ZERO, 0);
        }
    }

    /// The table; `None` if no queue has tins.
    pub(super) fn table<'a>(&self, queue_name: impl Fn(QueueId) -> &'a str) -> Option<Table> {
        let columns = COLUMNS.map(|(name, column)| (name, column.clone()));
        let mut table = Table::of(&columns);
        for tin in &self.0 {
            let (now, at_warmup) = (&tin.now, &tin.at_warmup);
            let since = |of: fn(&TinCounts) -> u64| of(&now.counts) - of(at_warmup);
            table.text("queue", queue_name(tin.queue));
            table.text("tin", now.name);
            let threshold = now.threshold.map_or(f64::NAN, |rate| rate.0 as f64);
            table.float("threshold_bps", threshold);
            table.integer("target_ns", now.target.as_nanos());
            table.integer("interval_ns", now.interval.as_nanos());
            table.integer("delay_max_ns", now.longest.as_nanos());
            let mean = |of: fn(&TinCounts) -> Waits| of(&now.counts).mean_since(of(at_warmup));
            table.float("delay_mean_ns", mean(|counts| counts.waits));
            table.float("sparse_delay_mean_ns", mean(|counts| counts.sparse_waits));
            table.integer("backlog_bytes", now.backlog);
            table.integer("packets", since(|counts| counts.packets));
            table.integer("bytes", since(|counts| counts.bytes));
            table.integer("hash_collisions", since(|counts| counts.collisions));
            table.integer("dropped", since(|counts| counts.dropped));
            table.integer("marked", since(|counts| counts.marked));
            table.integer("acks_dropped", since(|counts| counts.acks_dropped));
            table.integer("sparse_flows", now.sparse_flows);
            table.integer("bulk_flows", now.bulk_flows);
            table.integer("unresponsive_flows", now.unresponsive_flows);
            table.integer("packet_max_bytes", now.largest);
            table.integer("quantum_bytes", now.quantum);
        }
        (!self.0.is_empty()).then_some(table)
    }
}

/// The columns of the table.
const COLUMNS: [(&str, &super::table::Column); 20] = [
    ("queue", &TEXT),
    ("tin", &TEXT),
    ("threshold_bps", &FLOAT),
    ("target_ns", &INTEGER),
    ("interval_ns", &INTEGER),
    ("delay_max_ns", &INTEGER),
    ("delay_mean_ns", &FLOAT),
    ("sparse_delay_mean_ns", &FLOAT),
    ("backlog_bytes", &INTEGER),
    ("packets", &INTEGER),
    ("bytes", &INTEGER),
    ("hash_collisions", &INTEGER),
    ("dropped", &INTEGER),
    ("marked", &INTEGER),
    ("acks_dropped", &INTEGER),
    ("sparse_flows", &INTEGER),
    ("bulk_flows", &INTEGER),
    ("unresponsive_flows", &INTEGER),
    ("packet_max_bytes", &INTEGER),
    ("quantum_bytes", &INTEGER),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::table::Column;

    fn tin(packets: u64, waited: u64, longest: u64) -> TinStats {
        let waits = Waits {
            packets,
            sum: u128::from(packets * waited),
        };
        TinStats {
            name: "voice",
            threshold: None,
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            quantum: 300,
            backlog: 52,
            sparse_flows: 1,
            bulk_flows: 2,
            unresponsive_flows: 3,
            longest: Duration::from_nanos(longest),
            largest: longest,
            counts: TinCounts {
                packets,
                waits,
                ..TinCounts::default()
            },
        }
    }

    #[test]
    fn the_warm_up_does_not_count() {
        let mut tins = Tins::default();
        assert_eq!(tins.table(|_| ""), None);
        tins.note(QueueId(0), tin(10, 5, 90));
        tins.start_measuring();
        // 30 packets of 15 ns after ten of 5 ns.
        let later = TinStats {
            counts: TinCounts {
                packets: 40,
                waits: Waits {
                    packets: 40,
                    sum: 500,
                },
                ..TinCounts::default()
            },
            ..tin(40, 0, 70)
        };
        tins.note(QueueId(0), later);
        // Read twice: the longest is that of the whole measured part.
        tins.note(
            QueueId(0),
            TinStats {
                longest: Duration::ZERO,
                ..later
            },
        );
        let table = tins.table(|_| "router.up").expect("there is one");
        let integer = |name: &str| match table.get(name) {
            Some(Column::Integer(values)) => values[0],
            other => panic!("{name}: {other:?}"),
        };
        let float = |name: &str| match table.get(name) {
            Some(Column::Float(values)) => values[0],
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(table.rows(), 1);
        assert_eq!((integer("packets"), integer("delay_max_ns")), (30, 70));
        assert!((float("delay_mean_ns") - 15.0).abs() < 1e-9);
        assert!(float("sparse_delay_mean_ns").is_nan() && float("threshold_bps").is_nan());
        assert_eq!((integer("bulk_flows"), integer("quantum_bytes")), (2, 300));
    }
}
