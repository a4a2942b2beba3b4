//! The recorder: counts everything that happens, per flow direction and per queue, and keeps the series over time.
//!
//! What it costs per packet is a few additions and one histogram increment at each of sender, queue and receiver. Memory does not
//! grow with packets or, with the default interval, with simulated time. docs/reference/results.md defines every figure.

use super::delay::DelayStats;
use super::table::{FLOAT, INTEGER, TEXT, Table};
use crate::context::{ConnectionSample, QueueInternals};
use crate::flow::GroupId;
use crate::packet::{Packet, Side};
use crate::time::{Duration, Instant};
use crate::trace::{DropReason, PacketView, QueueId, Sink, TraceEvent, TraceKinds};

/// What an application measures about its own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// One file of a bulk transfer, nanoseconds.
    CompletionTime,
    /// Share of a scoring period's upstream packets that came too late.
    Late,
    /// The same downstream.
    LateDown,
    /// Mean opinion score of a scoring period, upstream.
    Mos,
    /// The same downstream.
    MosDown,
    /// One page, nanoseconds.
    PageLoadTime,
    /// One ping, nanoseconds; NaN without an answer.
    Rtt,
}

impl Measure {
    /// Its name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CompletionTime => "completion_time",
            Self::Late => "late",
            Self::LateDown => "late_down",
            Self::Mos => "mos",
            Self::MosDown => "mos_down",
            Self::PageLoadTime => "page_load_time",
            Self::Rtt => "rtt",
        }
    }

    /// Its unit in result tables.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::CompletionTime | Self::PageLoadTime | Self::Rtt => "ns",
            Self::Late | Self::LateDown | Self::Mos | Self::MosDown => "1",
        }
    }
}

/// A flow of the scenario, as results name it.
#[derive(Debug, Clone)]
pub struct GroupInfo {
    /// Its name.
    pub name: String,
    /// Its application's name.
    pub application: &'static str,
    /// `tcp` or `udp`.
    pub transport: &'static str,
    /// Which directions carry application data, by sending side.
    pub carries_data: [bool; 2],
    /// Whether it counts for Jain's index.
    pub is_bulk: bool,
}

/// A queue of a link, as results name it.
#[derive(Debug, Clone)]
pub struct QueueInfo {
    /// Its name, such as `cable.up`.
    pub name: String,
    /// Its link's name.
    pub link: String,
    /// `up` or `down`.
    pub direction: &'static str,
    /// Its discipline's name.
    pub discipline: &'static str,
    /// Nominal rate, bit/s.
    pub rate_bps: u64,
    /// Its limit in bytes, if it has one in bytes.
    pub limit_bytes: Option<u64>,
    /// Bytes the line counts beyond a packet's IP bytes.
    pub overhead_bytes: u64,
}

/// Counters of a DOCSIS upstream MAC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MacCounters {
    /// Requests sent in contention regions.
    pub requests_contention: u64,
    /// Requests that rode in a burst.
    pub requests_piggyback: u64,
    /// Contention requests lost to a collision.
    pub collisions: u64,
    /// Grants received.
    pub grants: u64,
    /// Bytes of those grants.
    pub granted_bytes: u64,
    /// Bytes of those grants that carried nothing.
    pub unused_grant_bytes: u64,
    /// MAPs that carried a grant.
    pub maps: u64,
}

/// Counters of a flow direction. They only grow: what an interval or the measured part saw is the difference of two.
#[derive(Debug, Clone, Copy, Default)]
struct FlowCounters {
    packets_sent: u64,
    bytes_sent: u64,
    packets_delivered: u64,
    bytes_delivered: u64,
    delay_sum: u64,
    goodput_bytes: u64,
    discarded: [u64; DropReason::COUNT],
    marked: u64,
    retransmitted: u64,
}

impl FlowCounters {
    fn since(&self, earlier: &Self) -> Self {
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
struct DirectionStats {
    total: FlowCounters,
    at_warmup: FlowCounters,
    at_interval: FlowCounters,
    delay: DelayStats,
    /// Longest delay of the interval.
    delay_max: u64,
    jitter: f64,
    last_transit: Option<u64>,
}

impl DirectionStats {
    fn measured(&self) -> FlowCounters {
        self.total.since(&self.at_warmup)
    }
}

/// Counters of a queue, as those of a flow.
#[derive(Debug, Clone, Copy, Default)]
struct QueueCounters {
    packets_enqueued: u64,
    packets_dequeued: u64,
    bytes_dequeued: u64,
    delay_sum: u64,
    discarded: [u64; DropReason::COUNT],
    marked: u64,
}

impl QueueCounters {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            packets_enqueued: self.packets_enqueued - earlier.packets_enqueued,
            packets_dequeued: self.packets_dequeued - earlier.packets_dequeued,
            bytes_dequeued: self.bytes_dequeued - earlier.bytes_dequeued,
            delay_sum: self.delay_sum - earlier.delay_sum,
            discarded: difference(self.discarded, earlier.discarded),
            marked: self.marked - earlier.marked,
        }
    }
}

#[derive(Debug, Default)]
struct QueueStats {
    total: QueueCounters,
    at_warmup: QueueCounters,
    at_interval: QueueCounters,
    delay: DelayStats,
    /// Longest delay of the interval.
    delay_max: u64,
    backlog: u64,
    backlog_since: Instant,
    /// Byte-nanoseconds.
    backlog_integral: u128,
    backlog_max: u64,
    /// Largest backlog of the interval.
    backlog_max_interval: u64,
    mac: MacCounters,
}

impl QueueStats {
    fn measured(&self) -> QueueCounters {
        self.total.since(&self.at_warmup)
    }

    /// It now holds `bytes`.
    #[inline]
    fn holds(&mut self, at: Instant, bytes: u64) {
        self.backlog_integral +=
            u128::from(self.backlog) * u128::from(at.since(self.backlog_since).as_nanos());
        self.backlog_since = at;
        self.backlog = bytes;
        self.backlog_max = self.backlog_max.max(bytes);
        self.backlog_max_interval = self.backlog_max_interval.max(bytes);
    }
}

fn difference(
    now: [u64; DropReason::COUNT],
    earlier: [u64; DropReason::COUNT],
) -> [u64; DropReason::COUNT] {
    std::array::from_fn(|index| now[index] - earlier[index])
}

/// Mean and largest of an interval's delays.
fn mean_and_max(count: u64, sum: u64, max: u64) -> (f64, f64) {
    if count == 0 {
        (f64::NAN, f64::NAN)
    } else {
        (sum as f64 / count as f64, max as f64)
    }
}

#[derive(Debug, Clone, Copy)]
struct FlowRow {
    at: Instant,
    group: GroupId,
    side: Side,
    throughput_bps: f64,
    goodput_bps: f64,
    delay_mean_ns: f64,
    delay_max_ns: f64,
    discarded: u64,
    marked: u64,
}

#[derive(Debug, Clone, Copy)]
struct QueueRow {
    at: Instant,
    queue: QueueId,
    backlog_bytes: u64,
    backlog_max_bytes: u64,
    delay_mean_ns: f64,
    delay_max_ns: f64,
    discarded: u64,
    marked: u64,
    rate_bps: f64,
    internals: QueueInternals,
}

#[derive(Debug, Clone, Copy)]
struct ConnectionRow {
    at: Instant,
    sample: ConnectionSample,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    group: GroupId,
    measure: Measure,
    at: Instant,
    value: f64,
}

/// Counts what happens.
pub struct Recorder {
    groups: Vec<(GroupInfo, [DirectionStats; 2])>,
    queues: Vec<(QueueInfo, QueueStats)>,
    measuring_since: Instant,
    interval: Duration,
    interval_start: Instant,
    flow_rows: Vec<FlowRow>,
    queue_rows: Vec<QueueRow>,
    connection_rows: Vec<ConnectionRow>,
    samples: Vec<Sample>,
    delivered: u64,
    data_delivered: u64,
    sinks: Vec<Box<dyn Sink>>,
    interest: TraceKinds,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("groups", &self.groups.len())
            .field("queues", &self.queues.len())
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder that closes an interval of its series every `interval`, over a run of `duration`.
    pub fn new(
        groups: Vec<GroupInfo>,
        queues: Vec<QueueInfo>,
        interval: Duration,
        duration: Duration,
    ) -> Self {
        assert!(
            !interval.is_zero(),
            "an interval of the series has a length"
        );
        let rows = (duration.as_nanos() / interval.as_nanos()).min(100_000) as usize + 2;
        Self {
            flow_rows: Vec::with_capacity(rows * groups.len() * 2),
            queue_rows: Vec::with_capacity(rows * queues.len()),
            connection_rows: Vec::with_capacity(rows * groups.len()),
            groups: groups
                .into_iter()
                .map(|info| (info, Default::default()))
                .collect(),
            queues: queues
                .into_iter()
                .map(|info| (info, QueueStats::default()))
                .collect(),
            measuring_since: Instant::ZERO,
            interval,
            interval_start: Instant::ZERO,
            samples: Vec::with_capacity(4096),
            delivered: 0,
            data_delivered: 0,
            sinks: Vec::new(),
            interest: TraceKinds::NONE,
        }
    }

    /// Adds a listener.
    pub fn add_sink(&mut self, sink: Box<dyn Sink>) {
        self.interest = self.interest.union(sink.interest());
        self.sinks.push(sink);
    }

    /// Length of an interval of the series.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Packets delivered that carried application data, since the start of the run.
    pub fn data_packets_delivered(&self) -> u64 {
        self.data_delivered
    }

    /// Whether anybody listens to events of this kind.
    #[inline]
    fn is_heard(&self, kind: TraceKinds) -> bool {
        self.interest.meets(kind)
    }

    /// A host sent a packet.
    #[inline]
    pub fn sent(&mut self, at: Instant, packet: &Packet, group: GroupId) {
        let total = &mut self.direction(group, packet.from).total;
        total.packets_sent += 1;
        total.bytes_sent += u64::from(packet.size);
        if self.is_heard(TraceKinds::SENT) {
            self.tell(
                at,
                &TraceEvent::Sent {
                    packet: PacketView::of(packet, group),
                },
            );
        }
    }

    /// A packet reached its receiver.
    #[inline]
    pub fn delivered(&mut self, at: Instant, packet: &Packet, group: GroupId) {
        let delay = at - packet.sent_at;
        let nanos = delay.as_nanos();
        let stats = self.direction(group, packet.from);
        stats.total.packets_delivered += 1;
        stats.total.bytes_delivered += u64::from(packet.size);
        stats.total.delay_sum += nanos;
        stats.delay.record(delay);
        stats.delay_max = stats.delay_max.max(nanos);
        // RFC 3550 §6.4.1: J += (|D| − J) / 16 over consecutive packets.
        if let Some(last) = stats.last_transit.replace(nanos) {
            stats.jitter += (last.abs_diff(nanos) as f64 - stats.jitter) / 16.0;
        }
        self.delivered += 1;
        self.data_delivered += u64::from(packet.payload > 0);
        if self.is_heard(TraceKinds::DELIVERED) {
            self.tell(
                at,
                &TraceEvent::Delivered {
                    packet: PacketView::of(packet, group),
                    delay,
                },
            );
        }
    }

    /// A queue took a packet in; `group` is asked for only if somebody listens.
    #[inline]
    pub fn enqueued(
        &mut self,
        at: Instant,
        queue: QueueId,
        packet: &Packet,
        group: impl FnOnce() -> GroupId,
    ) {
        self.queues[queue.0 as usize].1.total.packets_enqueued += 1;
        if self.is_heard(TraceKinds::ENQUEUED) {
            self.tell(
                at,
                &TraceEvent::Enqueued {
                    queue,
                    packet: PacketView::of(packet, group()),
                },
            );
        }
    }

    /// A queue gave a packet up for transmission.
    #[inline]
    pub fn dequeued(
        &mut self,
        at: Instant,
        queue: QueueId,
        packet: &Packet,
        group: impl FnOnce() -> GroupId,
    ) {
        let sojourn = at - packet.enqueued_at;
        self.departed(queue, packet.size, sojourn);
        if self.is_heard(TraceKinds::DEQUEUED) {
            self.tell(
                at,
                &TraceEvent::Dequeued {
                    queue,
                    packet: PacketView::of(packet, group()),
                    sojourn,
                },
            );
        }
    }

    /// The part of [`Self::dequeued`] that needs no packet.
    #[inline]
    pub fn departed(&mut self, queue: QueueId, size: u16, sojourn: Duration) {
        let nanos = sojourn.as_nanos();
        let stats = &mut self.queues[queue.0 as usize].1;
        stats.total.packets_dequeued += 1;
        stats.total.bytes_dequeued += u64::from(size);
        stats.total.delay_sum += nanos;
        stats.delay.record(sojourn);
        stats.delay_max = stats.delay_max.max(nanos);
    }

    /// A packet ended early, in `queue` if in one.
    pub fn discarded(
        &mut self,
        at: Instant,
        queue: Option<QueueId>,
        packet: &Packet,
        group: GroupId,
        reason: DropReason,
    ) {
        self.direction(group, packet.from).total.discarded[reason as usize] += 1;
        if let Some(queue) = queue {
            self.queues[queue.0 as usize].1.total.discarded[reason as usize] += 1;
        }
        if self.is_heard(TraceKinds::DISCARDED) {
            self.tell(
                at,
                &TraceEvent::Discarded {
                    queue,
                    packet: PacketView::of(packet, group),
                    reason,
                },
            );
        }
    }

    /// A packet was given CE in `queue`.
    pub fn marked(&mut self, at: Instant, queue: QueueId, packet: &Packet, group: GroupId) {
        self.direction(group, packet.from).total.marked += 1;
        self.queues[queue.0 as usize].1.total.marked += 1;
        if self.is_heard(TraceKinds::MARKED) {
            self.tell(
                at,
                &TraceEvent::Marked {
                    queue,
                    packet: PacketView::of(packet, group),
                },
            );
        }
    }

    /// A modem asked for `bytes`, in a contention region or in a burst.
    pub fn requested(&mut self, at: Instant, queue: QueueId, bytes: u64, contention: bool) {
        let mac = self.mac(queue);
        mac.requests_contention += u64::from(contention);
        mac.requests_piggyback += u64::from(!contention);
        if self.is_heard(TraceKinds::REQUESTED) {
            self.tell(
                at,
                &TraceEvent::Requested {
                    queue,
                    bytes,
                    contention,
                },
            );
        }
    }

    /// A MAP's grant of `bytes`, whose burst begins at `start`, became known to the modem.
    pub fn granted(&mut self, at: Instant, queue: QueueId, bytes: u64, start: Instant) {
        let mac = self.mac(queue);
        mac.grants += 1;
        mac.maps += 1;
        mac.granted_bytes += bytes;
        if self.is_heard(TraceKinds::GRANTED) {
            self.tell(
                at,
                &TraceEvent::Granted {
                    queue,
                    bytes,
                    start,
                },
            );
        }
    }

    #[inline]
    fn direction(&mut self, group: GroupId, from: Side) -> &mut DirectionStats {
        &mut self.groups[group.0 as usize].1[from.index()]
    }

    #[cold]
    fn tell(&mut self, at: Instant, event: &TraceEvent) {
        let kind = TraceKinds::of(event);
        for sink in &mut self.sinks {
            if sink.interest().meets(kind) {
                sink.record(at, event);
            }
        }
    }

    /// The receiving application of a direction read `bytes`.
    #[inline]
    pub fn goodput(&mut self, group: GroupId, from: Side, bytes: u64) {
        self.direction(group, from).total.goodput_bytes += bytes;
    }

    /// A sender sent a segment again.
    pub fn retransmitted(&mut self, group: GroupId, from: Side) {
        self.direction(group, from).total.retransmitted += 1;
    }

    /// A queue now holds `bytes`.
    #[inline]
    pub fn backlog(&mut self, at: Instant, queue: QueueId, bytes: u64) {
        self.queues[queue.0 as usize].1.holds(at, bytes);
    }

    /// The MAC counters of a queue, to be added to by its link.
    pub fn mac(&mut self, queue: QueueId) -> &mut MacCounters {
        &mut self.queues[queue.0 as usize].1.mac
    }

    /// An application measured something.
    pub fn measured(&mut self, at: Instant, group: GroupId, measure: Measure, value: f64) {
        self.samples.push(Sample {
            group,
            measure,
            at,
            value,
        });
    }

    /// The warm-up is over: counting starts anew. Series and jitter estimates go on.
    pub fn start_measuring(&mut self, at: Instant) {
        self.measuring_since = at;
        self.samples.clear();
        for stats in self
            .groups
            .iter_mut()
            .flat_map(|(_, directions)| directions)
        {
            stats.delay.reset();
            stats.at_warmup = stats.total;
        }
        for (_, stats) in &mut self.queues {
            stats.holds(at, stats.backlog);
            stats.delay.reset();
            stats.at_warmup = stats.total;
            stats.backlog_integral = 0;
            stats.backlog_max = stats.backlog;
            stats.mac = MacCounters::default();
        }
        (self.delivered, self.data_delivered) = (0, 0);
    }

    /// Closes an interval of the flow series; the queues' and connections' rows come by [`Self::queue_row`] and
    /// [`Self::connection_row`].
    pub fn close_interval(&mut self, at: Instant) {
        let seconds = at.since(self.interval_start).as_secs_f64();
        self.interval_start = at;
        for (index, (info, directions)) in self.groups.iter_mut().enumerate() {
            for side in Side::BOTH {
                let stats = &mut directions[side.index()];
                if !info.carries_data[side.index()] && stats.total.packets_sent == 0 {
                    continue;
                }
                let seen = stats.total.since(&stats.at_interval);
                stats.at_interval = stats.total;
                let max = std::mem::take(&mut stats.delay_max);
                let (delay_mean_ns, delay_max_ns) =
                    mean_and_max(seen.packets_delivered, seen.delay_sum, max);
                self.flow_rows.push(FlowRow {
                    at,
                    group: GroupId(index as u32),
                    side,
                    throughput_bps: seen.bytes_delivered as f64 * 8.0 / seconds,
                    goodput_bps: seen.goodput_bytes as f64 * 8.0 / seconds,
                    delay_mean_ns,
                    delay_max_ns,
                    discarded: seen.discarded.iter().sum(),
                    marked: seen.marked,
                });
            }
        }
    }

    /// Closes an interval of one queue's series that lasted `length`.
    pub fn queue_row(
        &mut self,
        at: Instant,
        length: Duration,
        queue: QueueId,
        internals: QueueInternals,
    ) {
        let stats = &mut self.queues[queue.0 as usize].1;
        let seen = stats.total.since(&stats.at_interval);
        stats.at_interval = stats.total;
        let max = std::mem::take(&mut stats.delay_max);
        let (delay_mean_ns, delay_max_ns) =
            mean_and_max(seen.packets_dequeued, seen.delay_sum, max);
        self.queue_rows.push(QueueRow {
            at,
            queue,
            backlog_bytes: stats.backlog,
            backlog_max_bytes: std::mem::replace(&mut stats.backlog_max_interval, stats.backlog),
            delay_mean_ns,
            delay_max_ns,
            discarded: seen.discarded.iter().sum(),
            marked: seen.marked,
            rate_bps: seen.bytes_dequeued as f64 * 8.0 / length.as_secs_f64(),
            internals,
        });
    }

    /// Adds a connection's state to the series.
    pub fn connection_row(&mut self, at: Instant, sample: ConnectionSample) {
        self.connection_rows.push(ConnectionRow { at, sample });
    }

    /// The tables of docs/reference/results.md, at `now`.
    pub fn tables(&mut self, now: Instant, events: u64) -> Vec<(&'static str, Table)> {
        let measured = now.since(self.measuring_since).as_secs_f64();
        for index in 0..self.queues.len() {
            let backlog = self.queues[index].1.backlog;
            self.backlog(now, QueueId(index as u32), backlog);
        }
        vec![
            ("flows", self.flows_table(measured)),
            ("queues", self.queues_table(measured)),
            ("measures", self.measures_table()),
            ("samples", self.samples_table()),
            ("flow_series", self.flow_series_table()),
            ("queue_series", self.queue_series_table()),
            ("connection_series", self.connection_series_table()),
            ("histograms", self.histograms_table()),
            ("summary", self.summary_table(now, events)),
        ]
    }

    fn flows_table(&self, measured: f64) -> Table {
        let mut table = Table::default();
        for (info, directions) in &self.groups {
            for side in Side::BOTH {
                let stats = &directions[side.index()];
                let seen = stats.measured();
                let carries_data = info.carries_data[side.index()];
                if !carries_data && stats.total.packets_sent == 0 {
                    continue;
                }
                table.text("flow", &info.name);
                table.text("direction", direction(side));
                table.text("application", info.application);
                table.text("transport", info.transport);
                table.text("carries", if carries_data { "data" } else { "control" });
                table.integer("packets_sent", seen.packets_sent);
                table.integer("bytes_sent", seen.bytes_sent);
                table.integer("packets_delivered", seen.packets_delivered);
                table.integer("bytes_delivered", seen.bytes_delivered);
                table.integer("goodput_bytes", seen.goodput_bytes);
                table.float(
                    "throughput_bps",
                    seen.bytes_delivered as f64 * 8.0 / measured,
                );
                table.float("goodput_bps", seen.goodput_bytes as f64 * 8.0 / measured);
                let discarded = discards(&mut table, &seen.discarded);
                table.integer("marked", seen.marked);
                table.float("loss_ratio", discarded as f64 / seen.packets_sent as f64);
                table.integer("retransmitted", seen.retransmitted);
                delays(&mut table, &stats.delay);
                table.float("jitter_ns", stats.jitter);
            }
        }
        table
    }

    fn queues_table(&self, measured: f64) -> Table {
        let mut table = Table::default();
        for (info, stats) in &self.queues {
            let seen = stats.measured();
            table.text("queue", &info.name);
            table.text("link", &info.link);
            table.text("direction", info.direction);
            table.text("discipline", info.discipline);
            table.float("rate_bps", info.rate_bps as f64);
            table.float(
                "limit_bytes",
                info.limit_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            );
            table.integer("packets_enqueued", seen.packets_enqueued);
            table.integer("packets_dequeued", seen.packets_dequeued);
            table.integer("bytes_dequeued", seen.bytes_dequeued);
            discards(&mut table, &seen.discarded);
            table.integer("marked", seen.marked);
            // In the bytes that the line's rate counts.
            let sent = seen.bytes_dequeued + seen.packets_dequeued * info.overhead_bytes;
            let possible = info.rate_bps as f64 * measured;
            table.float("utilisation", sent as f64 * 8.0 / possible);
            table.float(
                "backlog_mean_bytes",
                stats.backlog_integral as f64 / (measured * 1e9),
            );
            table.integer("backlog_max_bytes", stats.backlog_max);
            delays(&mut table, &stats.delay);
            table.integer("requests_contention", stats.mac.requests_contention);
            table.integer("requests_piggyback", stats.mac.requests_piggyback);
            table.integer("collisions", stats.mac.collisions);
            table.integer("grants", stats.mac.grants);
            table.integer("granted_bytes", stats.mac.granted_bytes);
            table.integer("unused_grant_bytes", stats.mac.unused_grant_bytes);
            table.integer("maps", stats.mac.maps);
        }
        table
    }

    fn measures_table(&self) -> Table {
        let mut keys: Vec<(GroupId, Measure)> = self
            .samples
            .iter()
            .map(|sample| (sample.group, sample.measure))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let mut table = Table::of(&[
            ("flow", TEXT),
            ("measure", TEXT),
            ("unit", TEXT),
            ("count", INTEGER),
            ("mean", FLOAT),
            ("min", FLOAT),
            ("p5", FLOAT),
            ("p25", FLOAT),
            ("p50", FLOAT),
            ("p75", FLOAT),
            ("p90", FLOAT),
            ("p95", FLOAT),
            ("p99", FLOAT),
            ("max", FLOAT),
        ]);
        for (group, measure) in keys {
            let of_key = || {
                self.samples
                    .iter()
                    .filter(|sample| sample.group == group && sample.measure == measure)
            };
            let mut values: Vec<f64> = of_key()
                .map(|sample| sample.value)
                .filter(|value| !value.is_nan())
                .collect();
            values.sort_unstable_by(f64::total_cmp);
            table.text("flow", &self.groups[group.0 as usize].0.name);
            table.text("measure", measure.name());
            table.text("unit", measure.unit());
            table.integer("count", of_key().count() as u64);
            table.float("mean", values.iter().sum::<f64>() / values.len() as f64);
            for (name, q) in [
                ("min", 0.0),
                ("p5", 0.05),
                ("p25", 0.25),
                ("p50", 0.5),
                ("p75", 0.75),
                ("p90", 0.9),
                ("p95", 0.95),
                ("p99", 0.99),
                ("max", 1.0),
            ] {
                table.float(name, quantile(&values, q));
            }
        }
        table
    }

    fn samples_table(&self) -> Table {
        let mut table = Table::of(&[
            ("flow", TEXT),
            ("measure", TEXT),
            ("time_ns", INTEGER),
            ("value", FLOAT),
        ]);
        for sample in &self.samples {
            table.text("flow", &self.groups[sample.group.0 as usize].0.name);
            table.text("measure", sample.measure.name());
            table.integer("time_ns", sample.at.as_nanos());
            table.float("value", sample.value);
        }
        table
    }

    fn flow_series_table(&self) -> Table {
        let mut table = Table::of(&[
            ("time_ns", INTEGER),
            ("flow", TEXT),
            ("direction", TEXT),
            ("throughput_bps", FLOAT),
            ("goodput_bps", FLOAT),
            ("delay_mean_ns", FLOAT),
            ("delay_max_ns", FLOAT),
            ("discarded", INTEGER),
            ("marked", INTEGER),
        ]);
        for row in &self.flow_rows {
            table.integer("time_ns", row.at.as_nanos());
            table.text("flow", &self.groups[row.group.0 as usize].0.name);
            table.text("direction", direction(row.side));
            table.float("throughput_bps", row.throughput_bps);
            table.float("goodput_bps", row.goodput_bps);
            table.float("delay_mean_ns", row.delay_mean_ns);
            table.float("delay_max_ns", row.delay_max_ns);
            table.integer("discarded", row.discarded);
            table.integer("marked", row.marked);
        }
        table
    }

    fn queue_series_table(&self) -> Table {
        let mut table = Table::of(&[
            ("time_ns", INTEGER),
            ("queue", TEXT),
            ("backlog_bytes", INTEGER),
            ("backlog_max_bytes", INTEGER),
            ("delay_mean_ns", FLOAT),
            ("delay_max_ns", FLOAT),
            ("discarded", INTEGER),
            ("marked", INTEGER),
            ("rate_bps", FLOAT),
            ("drop_probability", FLOAT),
            ("tokens_bytes", FLOAT),
            ("burst_allowance_ns", FLOAT),
            ("target_delay_ns", FLOAT),
        ]);
        for row in &self.queue_rows {
            table.integer("time_ns", row.at.as_nanos());
            table.text("queue", &self.queues[row.queue.0 as usize].0.name);
            table.integer("backlog_bytes", row.backlog_bytes);
            table.integer("backlog_max_bytes", row.backlog_max_bytes);
            table.float("delay_mean_ns", row.delay_mean_ns);
            table.float("delay_max_ns", row.delay_max_ns);
            table.integer("discarded", row.discarded);
            table.integer("marked", row.marked);
            table.float("rate_bps", row.rate_bps);
            let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
            table.float("drop_probability", or_nan(row.internals.drop_probability));
            table.float("tokens_bytes", or_nan(row.internals.tokens_bytes));
            table.float(
                "burst_allowance_ns",
                or_nan(row.internals.burst_allowance_ns),
            );
            table.float("target_delay_ns", or_nan(row.internals.delay_estimate_ns));
        }
        table
    }

    fn connection_series_table(&self) -> Table {
        let mut table = Table::of(&[
            ("time_ns", INTEGER),
            ("flow", TEXT),
            ("connection", INTEGER),
            ("cwnd_bytes", INTEGER),
            ("ssthresh_bytes", FLOAT),
            ("srtt_ns", FLOAT),
            ("in_flight_bytes", INTEGER),
        ]);
        for ConnectionRow { at, sample } in &self.connection_rows {
            table.integer("time_ns", at.as_nanos());
            table.text("flow", &self.groups[sample.group.0 as usize].0.name);
            table.integer("connection", u64::from(sample.ordinal));
            table.integer("cwnd_bytes", sample.cwnd_bytes);
            table.float(
                "ssthresh_bytes",
                sample.ssthresh_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            );
            table.float(
                "srtt_ns",
                sample.srtt.map_or(f64::NAN, |srtt| srtt.as_nanos() as f64),
            );
            table.integer("in_flight_bytes", sample.in_flight_bytes);
        }
        table
    }

    fn histograms_table(&self) -> Table {
        let mut table = Table::of(&[
            ("kind", TEXT),
            ("name", TEXT),
            ("direction", TEXT),
            ("lower_ns", INTEGER),
            ("upper_ns", INTEGER),
            ("count", INTEGER),
        ]);
        let mut add = |kind: &str, name: &str, direction: &str, stats: &DelayStats| {
            for (lower, upper, count) in stats.buckets() {
                table.text("kind", kind);
                table.text("name", name);
                table.text("direction", direction);
                table.integer("lower_ns", lower);
                table.integer("upper_ns", upper);
                table.integer("count", count);
            }
        };
        for (info, directions) in &self.groups {
            for side in Side::BOTH {
                add(
                    "flow",
                    &info.name,
                    direction(side),
                    &directions[side.index()].delay,
                );
            }
        }
        for (info, stats) in &self.queues {
            add("queue", &info.name, info.direction, &stats.delay);
        }
        table
    }

    fn summary_table(&self, now: Instant, events: u64) -> Table {
        let shares: Vec<f64> = (self.groups.iter().filter(|(info, _)| info.is_bulk))
            .map(|(_, directions)| {
                directions
                    .iter()
                    .map(|stats| stats.measured().goodput_bytes as f64)
                    .sum()
            })
            .collect();
        let mut table = Table::default();
        table.integer("simulated_ns", now.as_nanos());
        table.integer("events", events);
        table.integer("packets_delivered", self.delivered);
        table.integer("data_packets_delivered", self.data_delivered);
        table.float("jain_index", jain_index(&shares));
        table
    }
}

fn direction(from: Side) -> &'static str {
    match from {
        Side::Host => "up",
        Side::Peer => "down",
    }
}

fn discards(table: &mut Table, counts: &[u64; DropReason::COUNT]) -> u64 {
    for reason in DropReason::ALL {
        table.integer(
            &format!("discarded_{}", reason.name()),
            counts[reason as usize],
        );
    }
    counts.iter().sum()
}

fn delays(table: &mut Table, stats: &DelayStats) {
    table.float("delay_mean_ns", stats.mean());
    table.float("delay_min_ns", stats.min());
    for (name, q) in [
        ("p50", 0.5),
        ("p90", 0.9),
        ("p95", 0.95),
        ("p99", 0.99),
        ("p999", 0.999),
    ] {
        table.float(&format!("delay_{name}_ns"), stats.quantile(q));
    }
    table.float("delay_max_ns", stats.max());
}

/// Quantile of sorted values, linear between neighbours; NaN of nothing.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = q * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

/// Jain's fairness index of at least two shares: (Σx)² / (n·Σx²); NaN below two or where all are zero.
pub fn jain_index(shares: &[f64]) -> f64 {
    if shares.len() < 2 {
        return f64::NAN;
    }
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_index_is_one_for_equals_and_one_over_n_for_one_alone() {
        assert!((jain_index(&[5.0, 5.0, 5.0]) - 1.0).abs() < 1e-12);
        assert!((jain_index(&[5.0, 0.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
        assert!(jain_index(&[1.0]).is_nan());
    }

    #[test]
    fn quantiles_interpolate() {
        assert!((quantile(&[1.0, 2.0, 3.0, 4.0], 0.5) - 2.5).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
