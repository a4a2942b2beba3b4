//! A grant, when it is filled, and what its burst carried.

/// A part of a MAP interval that is granted to a service flow: one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Index of the service flow.
    pub flow: usize,
    /// Number of the MAP.
    pub map: u64,
    /// First minislot within the MAP's interval.
    pub first: u64,
    /// Number of minislots.
    pub minislots: u64,
    /// Requested bytes that this grant answers. Zero for an unsolicited grant.
    pub credit: u64,
}

/// When the packets of a grant are dequeued.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DequeueAt {
    /// When the burst is prepared, just before it is sent. Use this value for comparisons with
    /// simulators whose modem dequeues at that time. An unsolicited or proactive grant then carries
    /// what waits at that time, also packets that came after the MAP with the grant.
    Burst,
    /// When the MAP with the grant arrives. The modem then assembles all bursts of the MAP, as
    /// silicon does (AQM paper §3.2). The queue discipline does not see how long a packet waits for
    /// its burst after that: the MAP processing time of the modem, and up to a MAP interval. An
    /// unsolicited or proactive grant carries only packets that were there when the MAP arrived.
    #[default]
    Map,
    /// When the packets are requested. The discipline schedules packets into one transmit queue
    /// before the MAP arrives, and bursts are filled from it in order (AQM paper §3.2, about flow
    /// queues). The queue discipline does not see the time from request to grant either. Before
    /// DOCSIS 3.0 this is always so, because a request is for an assembled burst. An unsolicited or
    /// proactive grant has no request, and is filled when the MAP with it arrives.
    Request,
}

/// The bytes that the burst of a grant carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Requested bytes that the CMTS has counted as granted and that this burst settles. Zero for
    /// an unsolicited grant.
    pub credit: u64,
    /// Bytes of PDU. The rate limits count these.
    pub pdu: u64,
    /// Bytes for MAC frames that stayed empty.
    pub unused: u64,
}
