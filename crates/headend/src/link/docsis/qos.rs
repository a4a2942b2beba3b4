//! The quality of service of a service flow: its scheduling type with parameters, its priority, its
//! reserved rate.
//!
//! Source: MULPI §7.2.3 (upstream scheduling services) and Annex C (service flow encodings).
//! Numbers in brackets are TLVs below 24.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timing::UpstreamTiming;
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
    /// Proactive grants: a rate is granted without requests while the flow sends. The rest is best
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

/// Proactive grants: the CMTS grants a rate without requests, as long as the flow uses the grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProactiveGrants {
    /// Guaranteed grant rate (45): the rate that is granted without requests. Zero: no grants, but
    /// the request opportunities of `request_interval`.
    pub rate: Rate,
    /// Guaranteed grant interval (44): the longest time between two proactive grants. It is rounded
    /// down to whole frames. Default: the interval of a MAP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Guaranteed request interval (46): the time between two request opportunities that only this
    /// flow uses. Default: there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_interval: Option<Duration>,
    /// Whether the grants stop while the flow sends nothing (activity detection; 49 disables it).
    /// They begin again with the next request.
    #[serde(skip_serializing_if = "is_true")]
    pub activity_detection: bool,
    /// Time after the latest packet or request at which the grants stop. No TLV sets it: it is a
    /// choice of the CMTS. Raising it wastes more grants, and keeps a flow with longer gaps from
    /// having to request. Default: 200 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_timeout: Option<Duration>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_true(value: &bool) -> bool {
    *value
}

impl ProactiveGrants {
    /// Frames between two grants: as many as fit into the guaranteed grant interval. Zero if the
    /// interval is shorter than a frame.
    pub fn frames(&self, timing: &UpstreamTiming) -> u64 {
        let interval = self.interval.unwrap_or_else(|| timing.map_interval());
        interval.as_nanos() / timing.frame.as_nanos()
    }

    /// Time between two grants.
    pub fn grant_interval(&self, timing: &UpstreamTiming) -> Duration {
        timing.frame * self.frames(timing)
    }

    /// Bytes of a grant, with MAC headers. The rate counts none, so it is raised by the header of a
    /// [mean packet](MEAN_PACKET).
    pub fn grant_bytes(&self, timing: &UpstreamTiming) -> u64 {
        let raised = with_headers(self.rate, timing.mac_header).0 / 8;
        let nanos = self.grant_interval(timing).as_nanos();
        (u128::from(raised) * u128::from(nanos)).div_ceil(1_000_000_000) as u64
    }

    /// Minislots of a grant; zero without a rate.
    pub fn grant_minislots(&self, timing: &UpstreamTiming) -> u64 {
        match self.grant_bytes(timing) {
            0 => 0,
            bytes => timing.minislots_for(bytes),
        }
    }

    /// Time without activity after which the grants stop; `None` if they never stop.
    pub fn timeout(&self) -> Option<Duration> {
        let timeout = self.activity_timeout.unwrap_or(ACTIVITY_TIMEOUT);
        self.activity_detection.then_some(timeout)
    }
}

/// Longer than the gaps of calls and games, so that these never have to request.
const ACTIVITY_TIMEOUT: Duration = Duration::from_millis(200);

/// Assumed mean packet size, in bytes. The rate of a service flow does not count MAC headers, so a
/// reserved or guaranteed rate is raised by one header per packet of this size. The ns-3 module
/// does the same.
const MEAN_PACKET: u64 = 200;

/// A rate of packets, raised by the room for their MAC headers.
pub fn with_headers(rate: Rate, mac_header: u64) -> Rate {
    let with_header = u128::from(rate.0) * u128::from(MEAN_PACKET + mac_header);
    Rate((with_header / u128::from(MEAN_PACKET)) as u64)
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
    /// From the bits of the encoding (16), the lowest of which is bit 0. Bits that the model does
    /// not have are not in it.
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
    /// No source gives a default rate. Detection is on unless TLV 49 disables it.
    fn default() -> Self {
        Self {
            rate: Rate(1_000_000),
            interval: None,
            request_interval: None,
            activity_detection: true,
            activity_timeout: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::preset::Plant;
    use super::*;

    /// An OFDMA channel with frames of 135 µs and minislots of 48 B, as in the tests of docsis-ns3,
    /// which have no segment headers.
    fn ofdma() -> UpstreamTiming {
        UpstreamTiming {
            frame: Duration::from_micros(135),
            minislot_bytes: 48,
            segment_overhead: 0,
            mac_header: 10,
            ..Plant::docsis31().upstream_timing()
        }
    }

    fn proactive(rate: u64, micros: u64) -> ProactiveGrants {
        ProactiveGrants {
            rate: Rate(rate),
            interval: Some(Duration::from_micros(micros)),
            ..ProactiveGrants::default()
        }
    }

    #[test]
    fn a_proactive_grant_carries_the_guaranteed_rate_with_headers() {
        let timing = ofdma();
        for (rate, micros, [frames, bytes, minislots]) in [
            (5_000_000, 135, [1, 89, 2]),
            (5_680_000, 135, [1, 101, 3]),
            (5_680_000, 270, [2, 202, 5]),
            (5_680_000, 1000, [7, 705, 15]),
            (49_800_000, 135, [1, 883, 19]),
            (5_000_000, 945, [7, 621, 13]),
            (5_000_000, 134, [0, 0, 0]),
            (0, 1000, [7, 0, 0]),
        ] {
            let grants = proactive(rate, micros);
            let found = [
                grants.frames(&timing),
                grants.grant_bytes(&timing),
                grants.grant_minislots(&timing),
            ];
            assert_eq!(
                found,
                [frames, bytes, minislots],
                "{rate} bit/s, {micros} µs"
            );
        }
    }

    #[test]
    fn without_an_interval_there_is_a_proactive_grant_in_each_map() {
        let timing = ofdma();
        let grants = ProactiveGrants::default();
        assert_eq!(grants.grant_interval(&timing), timing.map_interval());
        assert_eq!(grants.frames(&timing), timing.frames_per_map);
    }

    #[test]
    fn activity_detection_can_be_disabled() {
        let grants = proactive(5_000_000, 1000);
        assert_eq!(grants.timeout(), Some(Duration::from_millis(200)));
        let disabled = ProactiveGrants {
            activity_detection: false,
            ..grants
        };
        assert_eq!(disabled.timeout(), None);
    }

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
