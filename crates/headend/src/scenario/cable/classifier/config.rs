//! Classifiers as they are written: which packets a service flow takes, and which a modem drops.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::header_fields::{EtherType, IpProtocol, MacAddress, MacRange, Network};
use crate::scenario::span::Span;

/// Which packets a service flow or a drop rule claims: all conditions must hold. Source and
/// destination are those of the packet, whichever way it goes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Classifier {
    /// Where it goes: a host, or addresses: `"10.0.0.0/24"`, `"10.0.0.0/255.0.0.255"` (any mask),
    /// `"2001:db8::/32"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Network>,
    /// Ethernet address it goes to: that of a customer's host (`host.NAME.mac`), downstream. With a
    /// mask, whose bits count: `"02:00:5e:00:00:00/ff:ff:ff:00:00:00"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_mac: Option<MacRange>,
    /// Port it goes to: a number, or a range such as `"5000-5999"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<Span<u16>>,
    /// DSCP: a number from 0 to 63, or a range such as `"40-47"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Span<u8>>,
    /// ECN field, as the packet has it where it is classified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<EcnField>,
    /// Ethernet type, in a tagged frame the one behind the tag: `"ipv4"`, `"ipv6"`, or a number
    /// such as `0x0806`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethertype: Option<EtherType>,
    /// Host at either end. Of a host behind several modems, the one behind this modem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Port at either end: a number, or a range such as `"5000-5999"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Span<u16>>,
    /// IP protocol, in IPv6 the next header: a name, or a number from 0 to 255; 256 is any, 257 is
    /// TCP or UDP. The name `"icmp"` is 1 in IPv4 and 58 in IPv6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IpProtocol>,
    /// Where it comes from, as `destination`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Network>,
    /// Ethernet address it comes from: that of a customer's host (`host.NAME.mac`), upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_mac: Option<MacAddress>,
    /// Port it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<Span<u16>>,
    /// Type-of-service byte, in IPv6 the traffic class: DSCP in the upper six bits, ECN field in
    /// the lower two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos: Option<TypeOfService>,
    /// User priority (IEEE 802.1p) in the tag of its frame, `flow.NAME.user_priority`: a number
    /// from 0 to 7, or a range such as `"4-7"`. Frames without a tag have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_priority: Option<Span<u8>>,
    /// VLAN of the customer's host (`host.NAME.vlan`), from 1 to 4094.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// A packet that several take goes to the highest priority, 0 to 255.
    pub priority: u8,
}

/// A condition on the type-of-service byte: low ≤ byte AND mask ≤ high. Expedited forwarding,
/// whatever the ECN field, is `{ low = 0xb8, high = 0xb8, mask = 0xfc }`; ECT(1) or CE, as
/// low-latency DOCSIS asks, is `{ low = 1, high = 1, mask = 1 }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypeOfService {
    /// The lowest.
    pub low: u8,
    /// The highest.
    pub high: u8,
    /// The bits that count.
    #[serde(default = "all_bits")]
    pub mask: u8,
}

fn all_bits() -> u8 {
    u8::MAX
}

/// A value of the ECN field (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnField {
    /// Congestion experienced.
    Ce,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1): L4S.
    Ect1,
    /// Not ECN-capable.
    NotEct,
}
