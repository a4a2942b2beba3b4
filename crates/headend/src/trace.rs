//! The one vocabulary of what happens in a run. Counters, series, captures and tests all listen to it.

use crate::flow::{FlowId, GroupId};
use crate::packet::{Ecn, FrameId, Packet, Side};
use crate::time::{Duration, Instant};

/// Names a queue of a link, in the order the scenario builds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// Why a packet ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// A TCP acknowledgement that a newer one made superfluous: the modem thinned it out.
    AckThinned,
    /// The queue's control law decided so, early: before it had to.
    Congested,
    /// Lost in the wide area.
    Corrupted,
    /// A classifier forbids it.
    Filtered,
    /// Its flow or class held more than its share.
    FlowLimit,
    /// The average queue was at its upper threshold or above, where a law of RED's kind drops a packet for each that arrives.
    Forced,
    /// The modem was not registered yet.
    NotRegistered,
    /// The queue was full, or the packet larger than any grant it could have.
    Overlimit,
    /// The medium gave up after too many tries.
    RetryLimit,
    /// Its service flow was deleted while it waited there.
    ServiceFlowDeleted,
    /// Its flow does not respond to congestion.
    Unresponsive,
}

impl DropReason {
    /// How many reasons there are.
    pub const COUNT: usize = 11;
    /// All of them, in index order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::AckThinned,
        Self::Congested,
        Self::Corrupted,
        Self::Filtered,
        Self::FlowLimit,
        Self::Forced,
        Self::NotRegistered,
        Self::Overlimit,
        Self::RetryLimit,
        Self::ServiceFlowDeleted,
        Self::Unresponsive,
    ];

    /// Its name in result tables.
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
            Self::RetryLimit => "retry_limit",
            Self::ServiceFlowDeleted => "service_flow_deleted",
            Self::Unresponsive => "unresponsive",
        }
    }
}

/// What a listener learns of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketView {
    /// Its flow.
    pub flow: FlowId,
    /// Its flow's group.
    pub group: GroupId,
    /// Who sent it.
    pub from: Side,
    /// Its sequence number.
    pub seq: u64,
    /// When its host sent it.
    pub sent_at: Instant,
    /// IP bytes.
    pub size: u16,
    /// Application bytes.
    pub payload: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// Its real frame, in emulation.
    pub frame: Option<FrameId>,
}

impl PacketView {
    /// The view of `packet`, whose flow belongs to `group`.
    pub fn of(packet: &Packet, group: GroupId) -> Self {
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
    /// What carries a packet.
    Data,
    /// Acknowledgement.
    Ack,
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TraceEvent {
    /// A frame goes over the channel of a cell. Those of one exchange are told when it begins.
    Aired {
        /// Whose packet the exchange is about.
        queue: QueueId,
        /// Which frame.
        frame: AirFrame,
        /// Its MPDU bytes.
        bytes: u64,
        /// When it begins.
        start: Instant,
        /// When it is over.
        end: Instant,
        /// It arrives; otherwise it collides, or arrives broken.
        heard: bool,
    },
    /// A MAP told a modem what became of a contention request.
    Answered {
        /// Whose queue.
        queue: QueueId,
        /// When the request was sent.
        sent: Instant,
        /// The CMTS has it; otherwise it collided.
        heard: bool,
    },
    /// A station or access point drew a backoff.
    BackedOff {
        /// Whose.
        queue: QueueId,
        /// Idle slots it will wait for.
        slots: u64,
        /// Slots it drew from.
        window: u64,
    },
    /// A modem chose the request opportunity it will ask in.
    Deferred {
        /// For which queue.
        queue: QueueId,
        /// The opportunity, counted from the start of time.
        opportunity: u64,
        /// Opportunities of the window it was drawn from.
        window: u64,
    },
    /// A packet reached its receiver, `delay` after it was sent.
    Delivered {
        /// The packet.
        packet: PacketView,
        /// One-way delay.
        delay: Duration,
    },
    /// A queue gave a packet up for transmission.
    Dequeued {
        /// Where.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
        /// How long it stood there.
        sojourn: Duration,
    },
    /// A packet ended early.
    Discarded {
        /// In which queue, if in one.
        queue: Option<QueueId>,
        /// The packet.
        packet: PacketView,
        /// Why.
        reason: DropReason,
    },
    /// A queue took a packet in.
    Enqueued {
        /// Where.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
    },
    /// A MAP's grant became known to the modem.
    Granted {
        /// Whose queue.
        queue: QueueId,
        /// Bytes the grant can carry.
        bytes: u64,
        /// When the burst starts.
        start: Instant,
    },
    /// A modem put the last of a packet into the burst of a grant.
    Loaded {
        /// Of which queue.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
        /// When it comes out of the CMTS.
        delivery: Instant,
    },
    /// A packet was given CE.
    Marked {
        /// Where.
        queue: QueueId,
        /// The packet.
        packet: PacketView,
    },
    /// A modem prepares a burst.
    Prepared {
        /// Of which queue.
        queue: QueueId,
        /// When the burst starts.
        start: Instant,
    },
    /// A modem asked for bytes.
    Requested {
        /// For which queue.
        queue: QueueId,
        /// How many bytes, MAC headers included.
        bytes: u64,
        /// In a contention region; otherwise it rode in a burst, or was polled.
        contention: bool,
        /// The request opportunity, in a contention region.
        opportunity: Option<u64>,
        /// When the request leaves.
        sent: Instant,
    },
    /// A host sent a packet.
    Sent {
        /// The packet.
        packet: PacketView,
    },
}

/// A set of kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceKinds(u16);

impl TraceKinds {
    /// None.
    pub const NONE: Self = Self(0);
    /// All.
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
            TraceEvent::Requested { .. } => Self::REQUESTED,
            TraceEvent::Sent { .. } => Self::SENT,
        }
    }

    /// Whether the two sets share a kind.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A listener to the run.
pub trait Sink: Send {
    /// The kinds of events it wants.
    fn interest(&self) -> TraceKinds {
        TraceKinds::ALL
    }
    /// Takes one event. It must not be slow: it runs inside the engine.
    fn record(&mut self, at: Instant, event: &TraceEvent);
}

/// Told how each real frame ends (emulation and its tests).
pub trait FrameStore: Send {
    /// The packet that carries the frame reached its receiver; `ecn` is its ECN field there.
    fn delivered(&mut self, at: Instant, frame: FrameId, ecn: Ecn);
    /// The packet that carries the frame ended early.
    fn discarded(&mut self, at: Instant, frame: FrameId, reason: DropReason);
}
