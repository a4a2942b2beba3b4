//! Trace events: everything that happens in a run and that counters, series, captures and tests may
//! record.

use crate::flow::{FlowId, GroupId};
use crate::packet::sack::SackBlocks;
use crate::packet::{Ecn, Fields, FrameId, Side};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The identifier of a link's queue, numbered in the order in which the scenario builds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// Why a packet was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// It was a TCP acknowledgement that a newer one superseded: an ACK filter removed it.
    AckThinned,
    /// The queue's control law dropped it early, before the queue was full.
    Congested,
    /// It was corrupted in the wide-area network, or on a plain link that loses packets.
    Corrupted,
    /// A classifier forbids it.
    Filtered,
    /// Its flow or class held more than its share of the queue.
    FlowLimit,
    /// The average queue length was at or above its upper threshold, where RED and similar laws
    /// drop one packet for each that arrives.
    Forced,
    /// The modem was not yet registered.
    NotRegistered,
    /// The queue was full, or the packet was larger than any grant that it could get.
    Overlimit,
    /// A policer had no tokens for it.
    Policed,
    /// The medium gave up after too many attempts.
    RetryLimit,
    /// Its service flow was deleted while the packet was in that flow's queue.
    ServiceFlowDeleted,
    /// Its flow does not respond to congestion.
    Unresponsive,
}

impl DropReason {
    /// The number of reasons.
    pub const COUNT: usize = 12;
    /// All reasons, in index order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::AckThinned,
        Self::Congested,
        Self::Corrupted,
        Self::Filtered,
        Self::FlowLimit,
        Self::Forced,
        Self::NotRegistered,
        Self::Overlimit,
        Self::Policed,
        Self::RetryLimit,
        Self::ServiceFlowDeleted,
        Self::Unresponsive,
    ];

    /// The name of the reason in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AckThinned => "ack_thinned",
            Self::Congested => "congested",
            Self::Corrupted => "corrupted",
            Self::Filtered => "filtered",
            Self::FlowLimit => "flow_limit",
            Self::Forced => "forced",
            Self::NotRegistered => "not_registered",
            Self::Overlimit => "overlimit",
            Self::Policed => "policed",
            Self::RetryLimit => "retry_limit",
            Self::ServiceFlowDeleted => "service_flow_deleted",
            Self::Unresponsive => "unresponsive",
        }
    }
}

/// The words for a reason, in the descriptions that programs read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboutReason {
    /// The reason.
    pub reason: DropReason,
    /// Who discards for this reason.
    pub by: DroppedBy,
    /// The legend of a figure.
    pub label: &'static str,
    /// The explanation: a clause.
    pub what: &'static str,
    /// Where a queue loses many packets for this reason: what it means, or what to look at.
    pub look: &'static str,
    /// The same where those packets are TCP's, which slows down for it; empty if TCP does not.
    pub look_of_tcp: &'static str,
    /// Why a flow's packets do not arrive, if no queue has room or a law to blame for it.
    pub barred: &'static str,
}

/// Who discards a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppedBy {
    /// A queue without room for it.
    Room,
    /// A queue in which its flow or class has no room left.
    Share,
    /// A queue's control law.
    Law,
    /// A policer.
    Policer,
    /// An ACK filter that has a newer acknowledgement.
    Thinning,
    /// The path beyond all links.
    Path,
    /// A rule, a medium or a modem that does not let it into a queue, or out of it.
    Bar,
}

impl DroppedBy {
    /// The name in the engine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Room => "room",
            Self::Share => "share",
            Self::Law => "law",
            Self::Policer => "policer",
            Self::Thinning => "thinning",
            Self::Path => "path",
            Self::Bar => "bar",
        }
    }
}

impl AboutReason {
    const fn new(reason: DropReason, by: DroppedBy, label: &'static str) -> Self {
        Self {
            reason,
            by,
            label,
            what: label,
            look: "",
            look_of_tcp: "",
            barred: "",
        }
    }
}

/// The words for all reasons, in the order in which figures list them.
pub const REASONS: [AboutReason; DropReason::COUNT] = [
    AboutReason {
        what: "a newer acknowledgement made it superfluous",
        ..AboutReason::new(
            DropReason::AckThinned,
            DroppedBy::Thinning,
            "acknowledgement thinned out",
        )
    },
    AboutReason {
        what: "the buffer is full",
        look: "look at its limit and at the offered rates",
        look_of_tcp: "its window outgrew the buffer, as it does at the start of a transfer and \
                      before each loss",
        ..AboutReason::new(DropReason::Overlimit, DroppedBy::Room, "buffer full")
    },
    AboutReason {
        look: "its AQM drops them on purpose, but their senders do not slow down: look at the \
               offered rates",
        look_of_tcp: "that is how its AQM tells it to slow down",
        ..AboutReason::new(DropReason::Congested, DroppedBy::Law, "dropped by the AQM")
    },
    AboutReason {
        what: "damaged on the way",
        ..AboutReason::new(
            DropReason::Corrupted,
            DroppedBy::Path,
            "lost on the path beyond",
        )
    },
    AboutReason {
        look: "a classifier forbids those packets",
        barred: "a classifier forbids its packets",
        ..AboutReason::new(
            DropReason::Filtered,
            DroppedBy::Bar,
            "forbidden by a classifier",
        )
    },
    AboutReason {
        what: "the flow's share is full",
        look: "each flow or class has a share of it: look at their limits and at the offered rates",
        ..AboutReason::new(DropReason::FlowLimit, DroppedBy::Share, "flow's share full")
    },
    AboutReason {
        what: "the modem is not registered yet",
        look: "they came before the modem was registered",
        barred: "its modem is not registered",
        ..AboutReason::new(
            DropReason::NotRegistered,
            DroppedBy::Bar,
            "modem not registered",
        )
    },
    AboutReason {
        what: "it exceeds the policer's rate and burst",
        look: "a policer drops what exceeds its rate and burst: look at both, and at the offered \
               rates",
        look_of_tcp: "a policer drops what exceeds its rate and burst, and TCP slows down for each \
                      loss: a burst of some round trips at its rate lets it reach the rate, a \
                      shaper with a queue does too",
        ..AboutReason::new(
            DropReason::Policed,
            DroppedBy::Policer,
            "dropped by the policer",
        )
    },
    AboutReason {
        look: "the medium gave up after too many tries: look at how many send at once",
        barred: "the medium gave up after too many tries",
        ..AboutReason::new(DropReason::RetryLimit, DroppedBy::Bar, "retries used up")
    },
    AboutReason {
        what: "its service flow was deleted",
        look: "their service flow was deleted while they waited in it",
        barred: "its service flow was deleted",
        ..AboutReason::new(
            DropReason::ServiceFlowDeleted,
            DroppedBy::Bar,
            "service flow deleted",
        )
    },
    AboutReason {
        what: "the flow does not respond",
        look: "its law treats their flows as unresponsive: look at the offered rates",
        ..AboutReason::new(
            DropReason::Unresponsive,
            DroppedBy::Law,
            "unresponsive flow",
        )
    },
    AboutReason {
        what: "dropped by the AQM: the average queue is at its upper threshold",
        look: "its average queue stood at the law's upper threshold, from which every arrival \
               costs a packet: look at max_threshold and at the offered rates",
        look_of_tcp: "its average queue stood at the law's upper threshold, from which every \
                      arrival costs a packet, whoever slows down",
        ..AboutReason::new(
            DropReason::Forced,
            DroppedBy::Law,
            "average queue above the upper threshold",
        )
    },
];

/// The fields of a packet that trace events carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketView {
    /// The packet's flow.
    pub flow: FlowId,
    /// The group of the packet's flow.
    pub group: GroupId,
    /// The side that sent the packet.
    pub from: Side,
    /// The sequence number.
    pub seq: u64,
    /// When the host sent the packet.
    pub sent_at: Instant,
    /// The size in IP bytes.
    pub size: u16,
    /// The application bytes.
    pub payload: u16,
    /// The ECN field.
    pub ecn: Ecn,
    /// The real frame, in emulation.
    pub frame: Option<FrameId>,
}

impl PacketView {
    /// The view of `packet`, whose flow belongs to `group`.
    pub fn of(packet: &Fields, group: GroupId) -> Self {
        Self {
            flow: packet.flow,
            group,
            from: packet.from,
            seq: packet.seq,
            sent_at: packet.sent_at,
            size: packet.size,
            payload: packet.payload,
            ecn: packet.ecn,
            frame: packet.frame,
        }
    }
}

/// A frame of an 802.11 exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AirFrame {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// The frame that carries a packet, or several.
    Data,
    /// Acknowledgement.
    Ack,
    /// Block acknowledgement.
    BlockAck,
}

/// One end of a connection, in the events of its sending half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SenderView {
    /// The group of the connection's flow.
    pub group: GroupId,
    /// The number of the connection within its group.
    pub ordinal: u32,
    /// The side of the end.
    pub side: Side,
    /// Whether this end opened the connection.
    pub is_client: bool,
}

/// A segment with data, or a FIN, as its sender sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentView {
    /// The first sequence number.
    pub seq: u64,
    /// The payload in bytes. A FIN has none, and takes one sequence number.
    pub payload: u16,
    /// Whether it is the FIN.
    pub is_fin: bool,
    /// Whether it was sent before.
    pub is_again: bool,
    /// The size in IP bytes.
    pub size: u16,
}

/// A packet that arrives at one end of a connection: an acknowledgement, with data or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckView {
    /// The number of the next byte that the other end expects.
    pub next: u64,
    /// The SACK blocks.
    pub blocks: SackBlocks,
    /// The first sequence number of the packet.
    pub seq: u64,
    /// The payload in bytes.
    pub payload: u16,
    /// The size in IP bytes.
    pub size: u16,
}

/// What made a sender deem a segment lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossTrigger {
    /// Enough was acknowledged above it (RFC 6675 §4, RFC 5681 §3.2).
    ReorderingThreshold,
    /// A segment sent after it has arrived, and enough time has passed (RFC 8985 §6.2).
    TimeThreshold,
    /// The retransmission timer has expired (RFC 5681 §3.1).
    Timeout,
}

/// The state of a sending half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderState {
    /// The congestion window; in fast recovery that of proportional rate reduction.
    pub cwnd_bytes: u64,
    /// The slow-start threshold, once there is one.
    pub ssthresh_bytes: Option<u64>,
    /// The smoothed RTT, once there is one; its variation is 0 until then.
    pub srtt: Option<Duration>,
    /// The variation of the RTT.
    pub rttvar: Duration,
    /// The smallest RTT so far.
    pub min_rtt: Option<Duration>,
    /// The latest RTT that went into the smoothed one.
    pub latest_rtt: Option<Duration>,
    /// Bytes in flight as the sender counts them.
    pub in_flight_bytes: u64,
    /// The pacing rate in bits of payload, if segments are paced.
    pub pacing_rate: Option<Rate>,
    /// `recovery`, `application_limited`, a phase by the name that the congestion control gives it,
    /// `slow_start` or `congestion_avoidance`.
    pub congestion: &'static str,
}

/// What happens in the sending half of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderEvent {
    /// A packet of the open connection has arrived. What it acknowledges is taken in next.
    Acknowledged(AckView),
    /// The state has changed.
    Changed(SenderState),
    /// A segment is deemed lost.
    Lost {
        /// The first sequence number of the segment.
        seq: u64,
        /// Whether only its earlier transmissions are meant: it was sent again before it was deemed
        /// lost.
        is_repaired: bool,
        /// The reason.
        trigger: LossTrigger,
    },
    /// A segment is sent.
    Sent(SegmentView),
}

/// An event of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceEvent {
    /// A frame is sent over the channel of a cell. The frames of an exchange are all recorded when
    /// the exchange begins.
    Aired {
        /// The queue whose packet the exchange sends.
        queue: QueueId,
        /// The kind of frame.
        frame: AirFrame,
        /// The bytes of its MPDU.
        bytes: u64,
        /// When the frame begins.
        start: Instant,
        /// When the frame ends.
        end: Instant,
        /// Whether the frame is received. Otherwise it collided, or it arrived corrupted.
        heard: bool,
    },
    /// A modem learned from a MAP what became of its contention request.
    Answered {
        /// The queue that the request was for.
        queue: QueueId,
        /// When the request was sent.
        sent: Instant,
        /// Whether the CMTS received the request. Otherwise the request collided.
        heard: bool,
    },
    /// A station or access point drew a backoff.
    BackedOff {
        /// The queue whose packet contends.
        queue: QueueId,
        /// The number of idle slots that it waits for.
        slots: u64,
        /// The number of slots that the backoff was drawn from.
        window: u64,
    },
    /// A modem chose the request opportunity in which it will send its request.
    Deferred {
        /// The queue that the request is for.
        queue: QueueId,
        /// The opportunity, counted from the start of the run.
        opportunity: u64,
        /// The number of opportunities in the window that the opportunity was drawn from.
        window: u64,
    },
    /// A packet reached its receiver, `delay` after it was sent.
    Delivered {
        /// The packet.
        packet: PacketView,
        /// The one-way delay.
        delay: Duration,
    },
    /// A packet was dequeued for transmission.
    Dequeued {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
        /// The sojourn time: how long the packet was in the queue.
        sojourn: Duration,
    },
    /// A packet was discarded.
    Discarded {
        /// The queue in which it was discarded, if it was in one.
        queue: Option<QueueId>,
        /// The packet.
        packet: PacketView,
        /// The reason.
        reason: DropReason,
    },
    /// A packet was enqueued.
    Enqueued {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
    },
    /// A modem learned of a grant from a MAP.
    Granted {
        /// The queue that the grant is for.
        queue: QueueId,
        /// The number of bytes that the grant can carry.
        bytes: u64,
        /// When the burst starts.
        start: Instant,
    },
    /// A modem put the last bytes of a packet into the burst of a grant.
    Loaded {
        /// The queue that the packet came from.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
        /// When the packet leaves the CMTS.
        delivery: Instant,
    },
    /// A packet was marked CE.
    Marked {
        /// The queue.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
    },
    /// An application measured its own work.
    Measured {
        /// The group of its flow.
        group: GroupId,
        /// The kind of the measure, by its name in result tables.
        kind: &'static str,
        /// The side whose packets are measured, if the kind has directions.
        from: Option<Side>,
        /// The value, in the unit of the kind.
        value: f64,
    },
    /// A modem prepared a burst.
    Prepared {
        /// The queue that the burst is for.
        queue: QueueId,
        /// When the burst starts.
        start: Instant,
    },
    /// A modem requested bytes.
    Requested {
        /// The queue that the request is for.
        queue: QueueId,
        /// The number of bytes, MAC headers included.
        bytes: u64,
        /// Whether the request is sent in a contention region. Otherwise it is piggybacked in a
        /// burst, or it answers a poll.
        contention: bool,
        /// The request opportunity, for a request in a contention region.
        opportunity: Option<u64>,
        /// When the request is sent.
        sent: Instant,
    },
    /// Something happened in the sending half of a connection.
    Sender {
        /// The end of the connection.
        sender: SenderView,
        /// What happened.
        event: SenderEvent,
    },
    /// A host sent a packet.
    Sent {
        /// The packet.
        packet: PacketView,
    },
}

/// A set of kinds of trace events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceKinds(u16);

impl TraceKinds {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// All kinds.
    pub const ALL: Self = Self(u16::MAX);

    /// [`TraceEvent::Delivered`].
    pub const DELIVERED: Self = Self(1 << 0);
    /// [`TraceEvent::Dequeued`].
    pub const DEQUEUED: Self = Self(1 << 1);
    /// [`TraceEvent::Discarded`].
    pub const DISCARDED: Self = Self(1 << 2);
    /// [`TraceEvent::Enqueued`].
    pub const ENQUEUED: Self = Self(1 << 3);
    /// [`TraceEvent::Granted`].
    pub const GRANTED: Self = Self(1 << 4);
    /// [`TraceEvent::Marked`].
    pub const MARKED: Self = Self(1 << 5);
    /// [`TraceEvent::Requested`].
    pub const REQUESTED: Self = Self(1 << 6);
    /// [`TraceEvent::Sent`].
    pub const SENT: Self = Self(1 << 7);
    /// [`TraceEvent::Answered`].
    pub const ANSWERED: Self = Self(1 << 8);
    /// [`TraceEvent::Deferred`].
    pub const DEFERRED: Self = Self(1 << 9);
    /// [`TraceEvent::Prepared`].
    pub const PREPARED: Self = Self(1 << 10);
    /// [`TraceEvent::Aired`].
    pub const AIRED: Self = Self(1 << 11);
    /// [`TraceEvent::BackedOff`].
    pub const BACKED_OFF: Self = Self(1 << 12);
    /// [`TraceEvent::Loaded`].
    pub const LOADED: Self = Self(1 << 13);
    /// [`TraceEvent::Sender`].
    pub const SENDER: Self = Self(1 << 14);
    /// [`TraceEvent::Measured`].
    pub const MEASURED: Self = Self(1 << 15);

    /// The kind of `event`.
    pub const fn of(event: &TraceEvent) -> Self {
        match event {
            TraceEvent::Aired { .. } => Self::AIRED,
            TraceEvent::Answered { .. } => Self::ANSWERED,
            TraceEvent::BackedOff { .. } => Self::BACKED_OFF,
            TraceEvent::Deferred { .. } => Self::DEFERRED,
            TraceEvent::Prepared { .. } => Self::PREPARED,
            TraceEvent::Delivered { .. } => Self::DELIVERED,
            TraceEvent::Dequeued { .. } => Self::DEQUEUED,
            TraceEvent::Discarded { .. } => Self::DISCARDED,
            TraceEvent::Enqueued { .. } => Self::ENQUEUED,
            TraceEvent::Granted { .. } => Self::GRANTED,
            TraceEvent::Loaded { .. } => Self::LOADED,
            TraceEvent::Marked { .. } => Self::MARKED,
            TraceEvent::Measured { .. } => Self::MEASURED,
            TraceEvent::Requested { .. } => Self::REQUESTED,
            TraceEvent::Sender { .. } => Self::SENDER,
            TraceEvent::Sent { .. } => Self::SENT,
        }
    }

    /// Whether the two sets have a kind in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds that are in this set and not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The kinds that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A recipient of trace events.
pub trait Sink: Send {
    /// The kinds of events that it records.
    fn interest(&self) -> TraceKinds {
        TraceKinds::ALL
    }
    /// Records one event. This must be fast: it runs inside the engine.
    fn record(&mut self, at: Instant, event: &TraceEvent);
}
