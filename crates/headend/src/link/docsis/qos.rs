//! The quality of service of a service flow: its scheduling type with parameters, its priority, its
//! reserved rate.
//!
//! Source: MULPI §7.2.3 (upstream scheduling services) and Annex C (service flow encodings).
//! Numbers in brackets are TLVs below 24.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// Quality of service of a service flow at the CMTS.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Qos {
    /// Traffic priority (7), 0 to 7. A higher priority is served first.
    pub priority: u8,
    /// Minimum reserved traffic rate (10). Zero reserves nothing.
    pub minimum_reserved: Rate,
    /// Upstream scheduling type (15). All downstream flows are best effort.
    pub scheduling: Scheduling,
    /// How it may request grants (16).
    pub policy: RequestPolicy,
}

/// An upstream scheduling type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scheduling {
    /// Best effort: requests in contention and piggybacked requests.
    #[default]
    BestEffort,
    /// Non-real-time polling: contention, and additional request opportunities that only this flow
    /// uses.
    #[serde(rename = "nrtps")]
    NrtPs(Polling),
    /// Proactive grants: a part of the reserved rate is granted without requests. The rest is best
    /// effort.
    Pgs(ProactiveGrants),
    /// Real-time polling: request opportunities at regular times that only this flow uses, and no
    /// contention.
    #[serde(rename = "rtps")]
    RtPs(Polling),
    /// Unsolicited grants of a fixed size at regular times, without requests.
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

/// Request opportunities that only this flow uses.
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
    /// Unsolicited grant size (19): bytes of a grant, for MAC headers and PDUs.
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
    /// Guaranteed grant rate (45): the rate that is granted without requests.
    pub rate: Rate,
    /// Guaranteed grant interval (44): the longest time between two proactive grants.
    pub interval: Duration,
}

/// Request/transmission policy (16). Each bit forbids something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the bits of the policy"
)]
pub struct RequestPolicy {
    /// No requests in contention (bit 0).
    pub no_contention: bool,
    /// No piggybacked requests (bit 4).
    pub no_piggyback: bool,
    /// No concatenation (bit 5).
    pub no_concatenation: bool,
    /// No fragmentation (bit 6).
    pub no_fragmentation: bool,
    /// No requests in contention while another request is outstanding (bit 10 of DOCSIS 3.0 and
    /// later). Before DOCSIS 3.0 this is always so.
    pub no_contention_while_outstanding: bool,
}

impl RequestPolicy {
    /// From the bits of the encoding (16), the lowest of which is bit 0. Bits that the model does not
    /// have are not in it.
    pub fn from_bits(bits: u32) -> Self {
        let is_set = |bit: u32| bits >> bit & 1 == 1;
        Self {
            no_contention: is_set(0),
            no_piggyback: is_set(4),
            no_concatenation: is_set(5),
            no_fragmentation: is_set(6),
            no_contention_while_outstanding: is_set(10),
        }
    }

    /// The bits of the encoding.
    pub fn bits(self) -> u32 {
        let Self {
            no_contention,
            no_piggyback,
            no_concatenation,
            no_fragmentation,
            no_contention_while_outstanding,
        } = self;
        let bits = [
            (0, no_contention),
            (4, no_piggyback),
            (5, no_concatenation),
            (6, no_fragmentation),
            (10, no_contention_while_outstanding),
        ];
        bits.into_iter()
            .map(|(bit, is_set)| u32::from(is_set) << bit)
            .sum()
    }
}

impl Default for Polling {
    /// No source gives defaults. The interval is that of packets of a voice codec, and the jitter
    /// is about one MAP.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(20),
            jitter: Duration::from_millis(2),
        }
    }
}

impl Default for UnsolicitedGrants {
    /// G.711 at 20 ms: 200 B of IP (160 B of voice; RTP, UDP, IP), 18 B of Ethernet, 10 B of MAC
    /// header.
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
    /// The example of the ns-3 DOCSIS module has no default rate. The interval is one MAP.
    fn default() -> Self {
        Self {
            rate: Rate(1_000_000),
            interval: Duration::from_millis(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_policy_is_the_number_of_its_tlv() {
        let bits = RequestPolicy {
            no_contention: true,
            no_piggyback: true,
            no_concatenation: true,
            no_fragmentation: true,
            no_contention_while_outstanding: true,
        };
        assert_eq!(bits.bits(), 0x0471);
        assert_eq!(RequestPolicy::default().bits(), 0);
        assert_eq!(RequestPolicy::from_bits(u32::MAX), bits);
        assert_eq!(RequestPolicy::from_bits(!0x0471), RequestPolicy::default());
    }
}
