//! What a service flow asks of the CMTS: its scheduling type with its parameters, its priority, the rate reserved for it.
//!
//! MULPI §7.2.3 (upstream scheduling services) and Annex C (service flow encodings); numbers in brackets are TLVs below 24.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// How the CMTS treats a service flow among others.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Qos {
    /// Traffic priority (7), 0 to 7: a higher one is served first.
    pub priority: u8,
    /// Minimum reserved traffic rate (10); zero reserves nothing.
    pub minimum_reserved: Rate,
    /// Upstream scheduling type (15). Downstream flows are all best effort.
    pub scheduling: Scheduling,
    /// What it may do to ask for grants (16).
    pub policy: RequestPolicy,
}

/// An upstream scheduling type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scheduling {
    /// Requests in contention, and riding in bursts.
    #[default]
    BestEffort,
    /// Non-real-time polling: contention as well, and now and then a request opportunity of its own.
    #[serde(rename = "nrtps")]
    NrtPs(Polling),
    /// Proactive grants: some of the reserved rate is granted without being asked for, the rest is best effort.
    Pgs(ProactiveGrants),
    /// Real-time polling: a request opportunity of its own at regular times, and no contention.
    #[serde(rename = "rtps")]
    RtPs(Polling),
    /// Unsolicited grants of a fixed size at regular times, and no requests at all.
    Ugs(UnsolicitedGrants),
}

impl Scheduling {
    /// Its name in scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::BestEffort => "best_effort",
            Self::NrtPs(_) => "nrtps",
            Self::Pgs(_) => "pgs",
            Self::RtPs(_) => "rtps",
            Self::Ugs(_) => "ugs",
        }
    }
}

/// Request opportunities of a flow's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Polling {
    /// Nominal polling interval (17).
    pub interval: Duration,
    /// Tolerated poll jitter (18): an opportunity comes at most this much after its nominal time.
    pub jitter: Duration,
}

/// Unsolicited grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UnsolicitedGrants {
    /// Unsolicited grant size (19): bytes of a grant for MAC headers and PDUs.
    pub size: ByteCount,
    /// Nominal grant interval (20).
    pub interval: Duration,
    /// Tolerated grant jitter (21): a grant begins at most this much after its nominal time.
    pub jitter: Duration,
    /// Grants per interval (22).
    pub grants: u8,
}

/// Proactive grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProactiveGrants {
    /// Guaranteed grant rate (45): what is granted without a request.
    pub rate: Rate,
    /// Guaranteed grant interval (44): the longest time between two such grants.
    pub interval: Duration,
}

/// Request/transmission policy (16): bits that forbid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the bits of the policy"
)]
pub struct RequestPolicy {
    /// No requests in contention (bit 0).
    pub no_contention: bool,
    /// No requests that ride in bursts (bit 4).
    pub no_piggyback: bool,
    /// No concatenation (bit 5).
    pub no_concatenation: bool,
    /// No fragmentation (bit 6).
    pub no_fragmentation: bool,
    /// No requests in contention while another request is outstanding (bit 10; DOCSIS 3.0 and later, before which it is always so).
    pub no_contention_while_outstanding: bool,
}

impl Default for Polling {
    /// No source gives defaults: as often as a voice codec makes packets, within one MAP.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(20),
            jitter: Duration::from_millis(2),
        }
    }
}

impl Default for UnsolicitedGrants {
    /// G.711 at 20 ms: 200 B of IP (160 B of voice; RTP, UDP, IP), 18 B of Ethernet, 10 B of MAC header.
    fn default() -> Self {
        Self {
            size: ByteCount(228),
            interval: Duration::from_millis(20),
            jitter: Duration::from_millis(2),
            grants: 1,
        }
    }
}

impl Default for ProactiveGrants {
    /// The ns-3 DOCSIS module's example has no default rate; the interval is one MAP.
    fn default() -> Self {
        Self {
            rate: Rate(1_000_000),
            interval: Duration::from_millis(2),
        }
    }
}
