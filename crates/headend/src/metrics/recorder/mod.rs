//! The recorder: it counts all events of a run, per flow direction and per queue, and keeps the
//! time series.
//!
//! A packet costs a few additions at its sender, and a few more with one histogram increment at
//! each queue and at its receiver. Memory does not grow with the number of packets; with the
//! default interval it does not grow with simulated time either. [`tables`] makes the result
//! tables; docs/reference/results.md defines every column.

mod latency;
mod low_latency;
mod mib;
mod series;
mod stats;
mod tables;

use std::collections::BTreeMap;

use self::low_latency::LowLatency;
use self::series::Series;
use self::stats::{FlowStats, QueueStats, mean_and_max};
pub use self::tables::{columns, jain_index};
use crate::flow::{GroupId, Surroundings};
use crate::metrics::air::{AirTime, AirUse};
use crate::metrics::channel::{ChannelUse, Channels};
use crate::metrics::measure::Measure;
use crate::metrics::mib::ServiceFlowInfo;
use crate::metrics::rate_control::{ModeUse, RateControl};
use crate::metrics::sample::{ConnectionSample, QueueInternals};
use crate::metrics::send_limit::SendLimit;
use crate::metrics::tcp_info::{TcpInfo, TcpInfos};
use crate::metrics::tins::{TinStats, Tins};
use crate::metrics::utilisation::{Left, LimitUse, QueueLimits};
use crate::packet::{Fields, Packet, Side};
use crate::time::{Duration, Instant};
use crate::trace::{
    AirFrame, DropReason, PacketView, QueueId, SenderEvent, SenderView, Sink, TraceEvent,
    TraceKinds,
};
use crate::wire::capture::Capture;

/// A flow of the scenario, as results describe it.
#[derive(Debug, Clone)]
pub struct GroupInfo {
    /// The name of the flow.
    pub name: String,
    /// The name of its application.
    pub application: &'static str,
    /// `tcp` or `udp`; of a real host what its frames have, or nothing before the first frame.
    pub transport: &'static str,
    /// Which directions carry application data, by sending side.
    pub carries_data: [bool; 2],
    /// Whether it counts for Jain's index.
    pub is_bulk: bool,
}

/// A queue of a link, as results describe it.
#[derive(Debug, Clone)]
pub struct QueueInfo {
    /// The name of the queue, such as `cable.up`.
    pub name: String,
    /// The name of its link.
    pub link: String,
    /// `up` or `down`.
    pub direction: &'static str,
    /// The name of its discipline.
    pub discipline: &'static str,
    /// The nominal rate, in bit/s.
    pub rate_bps: u64,
    /// The limit in bytes, if it has one in bytes.
    pub limit_bytes: Option<u64>,
    /// The bytes that the line counts beyond a packet's IP bytes.
    pub overhead_bytes: u64,
    /// For a DOCSIS upstream: the time between two MAPs.
    pub map_interval: Option<Duration>,
    /// The service flow of the queue, on a cable line.
    pub service_flow: Option<Box<ServiceFlowInfo>>,
}

/// The counters of a DOCSIS upstream MAC; for a DOCSIS downstream, its delayed packets; for a node
/// of an 802.11b cell, its collisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MacCounters {
    /// Requests sent in contention regions.
    pub requests_contention: u64,
    /// Requests piggybacked in a burst.
    pub requests_piggyback: u64,
    /// Contention requests, or frames, lost to a collision.
    pub collisions: u64,
    /// Contention requests that were sent again after a collision.
    pub request_retries: u64,
    /// Requests abandoned after too many collisions.
    pub requests_exceeded: u64,
    /// Grants received.
    pub grants: u64,
    /// Bytes of those grants.
    pub granted_bytes: u64,
    /// Bytes of those grants that carried no data.
    pub unused_grant_bytes: u64,
    /// MAPs that carried a grant.
    pub maps: u64,
    /// Packets that waited for tokens of their service flow.
    pub packets_delayed: u64,
}

/// The number of columns in a flow direction's row of the series.
const FLOW_FIGURES: usize = 6;
/// The number of columns in a queue's row, its internal state included.
const QUEUE_FIGURES: usize = 16;

/// A connection's row in the series: its sample as in the table.
#[derive(Debug, Clone, Copy)]
struct ConnectionRow {
    at: Instant,
    group: GroupId,
    ordinal: u32,
    cwnd_bytes: u64,
    ssthresh_bytes: f64,
    srtt_ns: f64,
    in_flight_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    group: GroupId,
    measure: Measure,
    at: Instant,
    value: f64,
}

/// The most rows of connections for which memory is allocated in advance.
const CONNECTION_ROWS: usize = 1 << 14;

/// The recorder of a run.
pub struct Recorder {
    groups: Vec<GroupInfo>,
    /// By queue: whether the series has no rows of it, because no flow passes it.
    left_out: Vec<bool>,
    queue_infos: Vec<QueueInfo>,

    // The run and its measured part.
    measuring_since: Instant,
    /// The flow directions, by [`direction`].
    flows: Vec<FlowStats>,
    queues: Vec<QueueStats>,
    macs: Vec<MacCounters>,
    air_time: AirTime,
    rate_control: RateControl,
    tins: Tins,
    channels: Channels,
    limits: QueueLimits,
    /// The packets that joined a backlog that several flows have used since it was last empty; by
    /// queue, backlog, group and sender.
    meetings: BTreeMap<(QueueId, u32, GroupId, Side), u64>,
    /// The flows of aggregates with low latency; `None` in a run without such an aggregate.
    low_latency: Option<Box<LowLatency>>,
    samples: Vec<Sample>,
    /// Samples whose rows were taken.
    samples_taken: usize,
    delivered: u64,
    data_delivered: u64,

    // The intervals.
    interval: Duration,
    interval_start: Instant,
    /// The key is twice the group's number, plus the side's index.
    flow_series: Series<FLOW_FIGURES>,
    /// The key is the queue's place in the order in which links report their queues.
    queue_series: Series<QUEUE_FIGURES>,
    queues_shown: Vec<QueueId>,
    /// The number of queues reported in this interval so far.
    shown: usize,
    connection_series: Vec<ConnectionRow>,
    /// Rows of `tcp_info`; `None` unless they are kept.
    tcp_infos: Option<Box<TcpInfos>>,

    // The recipients of trace events.
    sinks: Vec<Box<dyn Sink>>,
    capture: Option<Box<Capture>>,
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
        let histograms = 2 * groups.len() + queues.len();
        let rows = (duration.as_nanos() / interval.as_nanos()).min(100_000) as usize + 2;
        Self {
            measuring_since: Instant::ZERO,
            flows: repeat(2 * groups.len(), || FlowStats::one_of(histograms)),
            queues: (queues.iter())
                .map(|info| QueueStats::new(info, histograms))
                .collect(),
            macs: vec![MacCounters::default(); queues.len()],
            air_time: AirTime::default(),
            rate_control: RateControl::default(),
            tins: Tins::default(),
            channels: Channels::default(),
            limits: QueueLimits::default(),
            meetings: BTreeMap::new(),
            low_latency: LowLatency::of(&queues, 2 * groups.len()),
            samples: Vec::with_capacity(4096),
            samples_taken: 0,
            delivered: 0,
            data_delivered: 0,
            interval,
            interval_start: Instant::ZERO,
            flow_series: Series::new(2 * groups.len(), rows),
            queue_series: Series::new(queues.len(), rows),
            queues_shown: Vec::with_capacity(queues.len()),
            shown: 0,
            connection_series: Vec::with_capacity((rows * groups.len()).min(CONNECTION_ROWS)),
            tcp_infos: None,
            sinks: Vec::new(),
            capture: None,
            interest: TraceKinds::NONE,
            groups,
            left_out: vec![false; queues.len()],
            queue_infos: queues,
        }
    }

    /// Adds a recipient of trace events.
    pub fn add_sink(&mut self, sink: Box<dyn Sink>) {
        self.interest = self.interest.union(sink.interest());
        self.sinks.push(sink);
    }

    /// Captures packets from now on.
    pub(crate) fn set_capture(&mut self, capture: Capture) {
        self.interest = self.interest.union(capture.interest());
        self.capture = Some(Box::new(capture));
    }

    /// Keeps from now on what `tcp_info` would say of the senders of these flows.
    pub(crate) fn keep_tcp_infos(&mut self, groups: impl IntoIterator<Item = GroupId>) {
        let infos = TcpInfos::of(groups.into_iter().collect());
        self.tcp_infos = Some(Box::new(infos));
    }

    /// What `tcp_info` would say of senders; `None` unless it is kept.
    pub(crate) fn tcp_infos(&self) -> Option<&TcpInfos> {
        self.tcp_infos.as_deref()
    }

    /// Adds what `tcp_info` would say of one end of a group's connection.
    pub(crate) fn tcp_info_row(
        &mut self,
        at: Instant,
        (group, ordinal): (GroupId, u32),
        from: Side,
        info: &TcpInfo,
    ) {
        if let Some(infos) = &mut self.tcp_infos {
            let name = &self.groups[group.0 as usize].name;
            infos.push(at, (name, ordinal), from, info);
        }
    }

    /// The capture, if packets are captured.
    pub(crate) fn capture(&mut self) -> Option<&mut Capture> {
        self.capture.as_deref_mut()
    }

    /// The flow with this name, and the side whose packets travel up; the other side if no packets
    /// travel up.
    pub fn find_group(&self, name: &str) -> Option<(GroupId, Side)> {
        let index = self.groups.iter().position(|info| info.name == name)?;
        let info = &self.groups[index];
        // With TCP, the host sends at least acknowledgements.
        let sends_up = info.transport == "tcp" || info.carries_data[Side::Host.index()];
        let side = if sends_up { Side::Host } else { Side::Peer };
        Some((GroupId(index as u32), side))
    }

    /// The frames of a real host's flow have this transport.
    pub(crate) fn name_transport(&mut self, group: GroupId, transport: &'static str) {
        self.groups[group.0 as usize].transport = transport;
    }

    /// The name of a queue.
    pub fn queue_name(&self, queue: QueueId) -> &str {
        &self.queue_infos[queue.0 as usize].name
    }

    /// The names of all queues, by their numbers.
    pub fn queue_names(&self) -> impl Iterator<Item = &str> {
        self.queue_infos.iter().map(|info| info.name.as_str())
    }

    /// The bytes that the line of each queue counts beyond a packet's IP bytes.
    pub fn queue_overheads(&self) -> impl Iterator<Item = u64> {
        self.queue_infos.iter().map(|info| info.overhead_bytes)
    }

    /// The names of all groups, by their numbers.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|info| info.name.as_str())
    }

    /// A number for the link of each queue, the same for all queues of a link.
    pub fn number_links(&self) -> Vec<u32> {
        let first = |info: &QueueInfo| {
            let same = |other: &QueueInfo| other.link == info.link;
            self.queue_infos.iter().position(same).unwrap_or_default() as u32
        };
        self.queue_infos.iter().map(first).collect()
    }

    /// Takes over what another run's recorder, which has the same queues, says of the settings of
    /// service flows and when they hold.
    pub fn take_settings(&mut self, other: Self) {
        for (own, of_other) in self.queue_infos.iter_mut().zip(other.queue_infos) {
            own.service_flow = of_other.service_flow;
        }
    }

    /// The queue with this name.
    pub fn find_queue(&self, name: &str) -> Option<QueueId> {
        let place = self.queue_infos.iter().position(|info| info.name == name)?;
        Some(QueueId(place as u32))
    }

    /// The length of an interval of the series.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The packets with application data that were delivered since the start of the run.
    pub fn data_packets_delivered(&self) -> u64 {
        self.data_delivered
    }

    /// Whether an event of this kind has a recipient.
    #[inline]
    pub(crate) fn is_heard(&self, kind: TraceKinds) -> bool {
        self.interest.meets(kind)
    }

    /// Records that a host sent a packet.
    #[inline]
    pub(crate) fn sent(
        &mut self,
        at: Instant,
        packet: &Packet,
        group: GroupId,
        around: Surroundings<'_>,
    ) {
        let total = &mut self.flows[direction(group, packet.from)].total;
        total.packets_sent += 1;
        total.bytes_sent += u64::from(packet.size);
        if self.is_heard(TraceKinds::SENT) {
            self.trace_packet(at, packet, around, |packet| TraceEvent::Sent { packet });
        }
    }

    /// Records that a packet reached its receiver.
    #[inline]
    pub(crate) fn delivered(
        &mut self,
        at: Instant,
        packet: &Packet,
        group: GroupId,
        around: Surroundings<'_>,
    ) {
        let delay = at - packet.sent_at;
        self.flows[direction(group, packet.from)].delivered(packet.size, delay);
        self.delivered += 1;
        self.data_delivered += u64::from(packet.payload > 0);
        if self.is_heard(TraceKinds::DELIVERED) {
            self.trace_packet(at, packet, around, |packet| TraceEvent::Delivered {
                packet,
                delay,
            });
        }
    }

    /// Records that a packet was enqueued. `around` is read only if the event has a recipient.
    #[inline]
    pub(crate) fn enqueued(
        &mut self,
        at: Instant,
        queue: QueueId,
        packet: &Fields,
        around: Surroundings<'_>,
    ) {
        self.count_enqueued(queue);
        if self.is_heard(TraceKinds::ENQUEUED) {
            self.trace_packet(at, packet, around, |packet| TraceEvent::Enqueued {
                queue,
                packet,
            });
        }
    }

    /// The part of [`Self::enqueued`] that needs no packet.
    #[inline]
    pub(crate) fn count_enqueued(&mut self, queue: QueueId) {
        self.queues[queue.0 as usize].total.packets_enqueued += 1;
    }

    /// How many packets a queue has enqueued.
    pub fn packets_enqueued(&self, queue: QueueId) -> u64 {
        self.queues[queue.0 as usize].total.packets_enqueued
    }

    /// Records that the last `packets` packets that a queue enqueued had been in it before, under
    /// another discipline. They count once.
    pub fn moved(&mut self, queue: QueueId, packets: u64) {
        self.queues[queue.0 as usize].total.packets_moved += packets;
    }

    /// Records that a packet was dequeued for transmission.
    #[inline]
    pub(crate) fn dequeued(
        &mut self,
        at: Instant,
        queue: QueueId,
        packet: &Packet,
        around: Surroundings<'_>,
    ) {
        let sojourn = at - packet.enqueued_at;
        self.departed(at, queue, packet.size, sojourn);
        if self.is_heard(TraceKinds::DEQUEUED) {
            self.trace_packet(at, packet, around, |packet| TraceEvent::Dequeued {
                queue,
                packet,
                sojourn,
            });
        }
    }

    /// The part of [`Self::dequeued`] that needs no packet.
    #[inline]
    pub fn departed(&mut self, at: Instant, queue: QueueId, size: u16, sojourn: Duration) {
        self.queues[queue.0 as usize].dequeued(at, size, sojourn);
    }

    /// Records that a packet was discarded, in `queue` if it was in one.
    pub(crate) fn discarded(
        &mut self,
        at: Instant,
        queue: Option<QueueId>,
        packet: &Packet,
        reason: DropReason,
        around: Surroundings<'_>,
    ) {
        let group = around.group(packet);
        let flow = &mut self.flows[direction(group, packet.from)];
        flow.ends.discard(reason);
        if let Some(queue) = queue {
            self.queues[queue.0 as usize].ends.discard(reason);
        }
        if self.is_heard(TraceKinds::DISCARDED) {
            self.trace_packet(at, packet, around, |packet| TraceEvent::Discarded {
                queue,
                packet,
                reason,
            });
        }
    }

    /// Records that a packet was marked CE in `queue`.
    pub fn marked(&mut self, at: Instant, queue: QueueId, packet: &Fields, group: GroupId) {
        (self.flows[direction(group, packet.from)].ends).mark();
        self.queues[queue.0 as usize].ends.mark();
        if self.is_heard(TraceKinds::MARKED) {
            self.trace(at, || TraceEvent::Marked {
                queue,
                packet: PacketView::of(packet, group),
            });
        }
    }

    /// Records that a packet joined a backlog of `queue` that several flows have used since it was
    /// last empty.
    pub fn met(&mut self, queue: QueueId, backlog: u32, group: GroupId, from: Side) {
        *(self.meetings)
            .entry((queue, backlog, group, from))
            .or_default() += 1;
    }

    /// Records that a packet was marked CE in the wide area.
    pub fn marked_on_path(&mut self, packet: &Packet, group: GroupId) {
        (self.flows[direction(group, packet.from)].ends).mark();
    }

    /// Records that a modem chose the contention opportunity of its request, in a window of
    /// `window` opportunities.
    pub fn deferred(&mut self, at: Instant, queue: QueueId, opportunity: u64, window: u64) {
        if self.is_heard(TraceKinds::DEFERRED) {
            self.trace(at, || TraceEvent::Deferred {
                queue,
                opportunity,
                window,
            });
        }
    }

    /// Whether frames or backoffs of a cell have a recipient.
    #[inline]
    pub fn hears_air(&self) -> bool {
        self.is_heard(TraceKinds::AIRED.union(TraceKinds::BACKED_OFF))
    }

    /// Records that a station or access point drew a backoff.
    pub fn backed_off(&mut self, at: Instant, queue: QueueId, slots: u64, window: u64) {
        if self.is_heard(TraceKinds::BACKED_OFF) {
            self.trace(at, || TraceEvent::BackedOff {
                queue,
                slots,
                window,
            });
        }
    }

    /// Records that a frame of `bytes` is sent over the channel of a cell. Its exchange begins at
    /// `at`.
    pub fn aired(
        &mut self,
        at: Instant,
        queue: QueueId,
        frame: AirFrame,
        bytes: u64,
        times: (Instant, Instant),
        heard: bool,
    ) {
        if self.is_heard(TraceKinds::AIRED) {
            self.trace(at, || TraceEvent::Aired {
                queue,
                frame,
                bytes,
                start: times.0,
                end: times.1,
                heard,
            });
        }
    }

    /// Records that a modem requests `bytes`, in a request that is sent at `sent`: in a contention
    /// opportunity if there is one, else in a burst or as the answer to a poll.
    pub fn requested(
        &mut self,
        at: Instant,
        queue: QueueId,
        bytes: u64,
        sent: Instant,
        opportunity: Option<u64>,
    ) {
        let contention = opportunity.is_some();
        let mac = self.mac(queue);
        mac.requests_contention += u64::from(contention);
        mac.requests_piggyback += u64::from(!contention);
        if self.is_heard(TraceKinds::REQUESTED) {
            self.trace(at, || TraceEvent::Requested {
                queue,
                bytes,
                contention,
                opportunity,
                sent,
            });
        }
    }

    /// Records that a MAP acknowledged the contention request sent at `sent`, or did not
    /// acknowledge it because the CMTS had not received (`heard`) it.
    pub fn answered(&mut self, at: Instant, queue: QueueId, sent: Instant, heard: bool) {
        self.mac(queue).collisions += u64::from(!heard);
        if self.is_heard(TraceKinds::ANSWERED) {
            self.trace(at, || TraceEvent::Answered { queue, sent, heard });
        }
    }

    /// Records that a modem prepared a burst that begins at `start`.
    pub fn prepared(&mut self, at: Instant, queue: QueueId, start: Instant) {
        if self.is_heard(TraceKinds::PREPARED) {
            self.trace(at, || TraceEvent::Prepared { queue, start });
        }
    }

    /// Records that a modem learned from a MAP of a grant of `bytes`, whose burst begins at
    /// `start`.
    pub fn granted(&mut self, at: Instant, queue: QueueId, bytes: u64, start: Instant) {
        let mac = self.mac(queue);
        mac.grants += 1;
        mac.granted_bytes += bytes;
        if self.is_heard(TraceKinds::GRANTED) {
            self.trace(at, || TraceEvent::Granted {
                queue,
                bytes,
                start,
            });
        }
    }

    /// Records that the last part of a packet is in the burst of a grant. The packet leaves the
    /// CMTS at `delivery`.
    #[inline]
    pub(crate) fn loaded(
        &mut self,
        at: Instant,
        queue: QueueId,
        (packet, delivery): (&Packet, Instant),
        around: Surroundings<'_>,
    ) {
        if self.is_heard(TraceKinds::LOADED) {
            let packet = PacketView::of(packet, around.group(packet));
            self.trace(at, || TraceEvent::Loaded {
                queue,
                packet,
                delivery,
            });
        }
    }

    /// Whether someone listens to the senders of a group.
    pub(crate) fn observes(&self, group: GroupId) -> bool {
        let is_asked = (self.tcp_infos.as_ref()).is_some_and(|infos| infos.wants(group));
        is_asked || self.is_heard(TraceKinds::SENDER)
    }

    /// Records an event of a sending half.
    pub(crate) fn tell(&mut self, at: Instant, sender: SenderView, event: SenderEvent) {
        if self.is_heard(TraceKinds::SENDER) {
            self.trace(at, || TraceEvent::Sender { sender, event });
        }
    }

    /// Creates an event and passes it to its recipients. Most runs have none.
    #[cold]
    #[inline(never)]
    fn trace(&mut self, at: Instant, event: impl FnOnce() -> TraceEvent) {
        let event = event();
        let kind = TraceKinds::of(&event);
        for sink in &mut self.sinks {
            if sink.interest().meets(kind) {
                sink.record(at, &event);
            }
        }
    }

    /// The same for an event of a packet, which the capture also records.
    #[cold]
    #[inline(never)]
    fn trace_packet(
        &mut self,
        at: Instant,
        packet: &Fields,
        around: Surroundings<'_>,
        event: impl FnOnce(PacketView) -> TraceEvent,
    ) {
        let event = event(PacketView::of(packet, around.group(packet)));
        if let Some(capture) = &mut self.capture {
            capture.record(at, &event, packet, around);
        }
        self.trace(at, || event);
    }

    /// Records that the receiving application of a direction read `bytes`.
    #[inline]
    pub fn goodput(&mut self, group: GroupId, from: Side, bytes: u64) {
        self.flows[direction(group, from)].total.goodput_bytes += bytes;
    }

    /// Records that a sender sent a segment again.
    pub fn retransmitted(&mut self, group: GroupId, from: Side) {
        (self.flows[direction(group, from)].retransmitted).add();
    }

    /// Records that `limit` held a sender of a direction back for some time.
    pub(crate) fn limited(&mut self, group: GroupId, from: Side, limit: SendLimit, time: Duration) {
        (self.flows[direction(group, from)].limits).add(limit, time);
    }

    /// Records that a queue now holds `bytes`.
    #[inline]
    pub fn backlog(&mut self, at: Instant, queue: QueueId, bytes: u64) {
        self.queues[queue.0 as usize].holds(at, bytes);
    }

    /// The MAC counters of a queue, to which its link adds.
    pub fn mac(&mut self, queue: QueueId) -> &mut MacCounters {
        &mut self.macs[queue.0 as usize]
    }

    /// Records the use so far of the channel that `queue` shares with other queues of its link and
    /// direction.
    pub fn channel(&mut self, queue: QueueId, so_far: ChannelUse) {
        let info = &self.queue_infos[queue.0 as usize];
        self.channels.note(&info.link, info.direction, so_far);
    }

    /// Records for how many nanoseconds the channel of a cell was used so far, for `what`: by the
    /// station that `queue` belongs to, or by no single one if it is the access point's.
    pub fn air(&mut self, queue: QueueId, what: AirUse, nanos: u64) {
        let info = &self.queue_infos[queue.0 as usize];
        (self.air_time).note(&info.link, tables::station_of(info), what, nanos);
    }

    /// Records how often a sender to (`down`) or from (`up`) the station that `queue` belongs to
    /// has used a mode so far.
    pub fn rate_control(&mut self, queue: QueueId, direction: &'static str, so_far: ModeUse) {
        let info = &self.queue_infos[queue.0 as usize];
        let station = tables::station_of(info);
        (self.rate_control).note(&info.link, station, direction, so_far);
    }

    /// Records what a tin of a queue has done until now.
    pub fn tin(&mut self, queue: QueueId, now: TinStats) {
        self.tins.note(queue, now);
    }

    /// Leaves queues out of the series, by their numbers.
    pub fn leave_out(&mut self, queues: impl IntoIterator<Item = usize>) {
        for queue in queues {
            self.left_out[queue] = true;
        }
    }

    /// Links are about to report the use so far of all that limits their queues.
    pub(crate) fn read_limits(&mut self) {
        self.limits.read_again();
    }

    /// Records the use so far of one of the limits of a queue; `None` while there is no such limit.
    /// Each link reports the same limits in the same order each time.
    pub fn limit(&mut self, queue: QueueId, so_far: Option<LimitUse>) {
        self.limits.note(queue, so_far);
    }

    /// The measured part starts with the use of all limits that was just reported.
    pub(crate) fn start_measuring_limits(&mut self) {
        self.limits.start_measuring();
    }

    /// What left a queue since the start of the run.
    pub fn output_of(&self, queue: QueueId) -> Left {
        let total = &self.queues[queue.0 as usize].total;
        Left {
            packets: total.packets_dequeued,
            bytes: total.bytes_dequeued,
            padding: total.bytes_padded,
        }
    }

    /// Records a measurement of an application that ended at `at` and had lasted for `length`. It
    /// counts if it began in the measured part.
    pub fn measured(
        &mut self,
        at: Instant,
        length: Duration,
        group: GroupId,
        measure: Measure,
        value: f64,
    ) {
        let earliest = match self.measuring_since {
            Instant::ZERO => Instant::ZERO,
            since => since + length,
        };
        if at < earliest {
            return;
        }
        if self.is_heard(TraceKinds::MEASURED) {
            self.trace(at, || TraceEvent::Measured {
                group,
                kind: measure.kind.name,
                from: measure.from,
                value,
            });
        }
        self.samples.push(Sample {
            group,
            measure,
            at,
            value,
        });
    }

    /// Starts the measured part at the end of the warm-up: counting starts again. Series and jitter
    /// estimates continue.
    pub fn start_measuring(&mut self, at: Instant) {
        self.measuring_since = at;
        self.samples.clear();
        self.channels.start_measuring();
        self.air_time.start_measuring();
        self.rate_control.start_measuring();
        self.tins.start_measuring();
        for stats in &mut self.flows {
            stats.start_measuring();
        }
        for stats in &mut self.queues {
            stats.start_measuring(at);
        }
        self.macs.fill(MacCounters::default());
        self.meetings.clear();
        if let Some(low_latency) = &mut self.low_latency {
            low_latency.start_measuring(at);
        }
        (self.delivered, self.data_delivered) = (0, 0);
    }

    /// Closes an interval of the flow series. [`Self::queue_row`] and [`Self::connection_row`] add
    /// the rows of queues and connections.
    pub fn close_interval(&mut self, at: Instant) {
        let seconds = at.since(self.interval_start).as_secs_f64();
        self.interval_start = at;
        self.shown = 0;
        for (key, stats) in self.flows.iter_mut().enumerate() {
            if !self.groups[key / 2].carries_data[key % 2] && stats.total.packets_sent == 0 {
                continue;
            }
            let seen = stats.total.since(&stats.at_interval);
            stats.at_interval = stats.total;
            let max = std::mem::take(&mut stats.delay_max);
            let (delay_mean_ns, delay_max_ns) =
                mean_and_max(seen.packets_delivered, seen.delay_sum, max);
            let [discarded, marked] = stats.ends.close_interval();
            let row = [
                (seen.bytes_delivered as f64 * 8.0 / seconds).to_bits(),
                (seen.goodput_bytes as f64 * 8.0 / seconds).to_bits(),
                delay_mean_ns.to_bits(),
                delay_max_ns.to_bits(),
                discarded,
                marked,
            ];
            self.flow_series.push(at, key as u32, row);
        }
    }

    /// Closes an interval of a queue's series; the interval lasted `length`. Links report their
    /// queues in the same order in every interval.
    pub fn queue_row(
        &mut self,
        at: Instant,
        length: Duration,
        queue: QueueId,
        internals: QueueInternals,
    ) {
        let stats = &mut self.queues[queue.0 as usize];
        let seen = stats.total.since(&stats.at_interval);
        stats.at_interval = stats.total;
        let max = std::mem::take(&mut stats.delay_max);
        let (delay_mean_ns, delay_max_ns) =
            mean_and_max(seen.packets_dequeued, seen.delay_sum, max);
        let [discarded, marked] = stats.ends.close_interval();
        let backlog_max = std::mem::replace(&mut stats.backlog_max_interval, stats.backlog);
        let rate = seen.bytes_dequeued as f64 * 8.0 / length.as_secs_f64();
        let QueueInternals {
            drop_probability,
            tokens_bytes,
            burst_allowance_ns,
            delay_estimate_ns,
            rate_estimate_bps,
            average_packets,
            average_bytes,
            hash_collisions,
            queues_active,
        } = internals;
        let bits = |value: Option<f64>| value.unwrap_or(f64::NAN).to_bits();
        let row = [
            stats.backlog,
            backlog_max,
            delay_mean_ns.to_bits(),
            delay_max_ns.to_bits(),
            discarded,
            marked,
            rate.to_bits(),
            bits(drop_probability),
            bits(tokens_bytes),
            bits(burst_allowance_ns),
            bits(delay_estimate_ns),
            bits(rate_estimate_bps),
            bits(average_packets),
            bits(average_bytes),
            bits(queues_active),
            bits(hash_collisions),
        ];
        if self.shown == self.queues_shown.len() {
            self.queues_shown.push(queue);
        }
        debug_assert_eq!(
            self.queues_shown[self.shown], queue,
            "links keep the order of their queues"
        );
        if !self.left_out[queue.0 as usize] {
            self.queue_series.push(at, self.shown as u32, row);
        }
        self.shown += 1;
    }

    /// Closes an interval of the next queue's series in which nothing happened: the row equals that
    /// of the previous interval.
    pub fn same_queue_row(&mut self) {
        debug_assert!(
            {
                let stats = &self.queues[self.queues_shown[self.shown].0 as usize];
                stats.total == stats.at_interval && stats.backlog_max_interval == 0
            },
            "something happened in it"
        );
        self.shown += 1;
    }

    /// Adds the state of a group's connection to the series.
    pub fn connection_row(
        &mut self,
        at: Instant,
        (group, ordinal): (GroupId, u32),
        sample: ConnectionSample,
    ) {
        let ConnectionSample {
            cwnd_bytes,
            ssthresh_bytes,
            srtt,
            in_flight_bytes,
        } = sample;
        self.connection_series.push(ConnectionRow {
            at,
            group,
            ordinal,
            cwnd_bytes,
            ssthresh_bytes: ssthresh_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            srtt_ns: srtt.map_or(f64::NAN, |srtt| srtt.as_nanos() as f64),
            in_flight_bytes,
        });
    }
}

/// The index of a flow direction, which is its key in the series.
#[inline]
fn direction(group: GroupId, from: Side) -> usize {
    2 * group.0 as usize + from.index()
}

/// A list of `count` values, each made by `make`.
fn repeat<T>(count: usize, make: impl Fn() -> T) -> Vec<T> {
    std::iter::repeat_with(make).take(count).collect()
}
