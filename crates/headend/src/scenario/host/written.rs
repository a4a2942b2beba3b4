//! A host as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::OrTable;
use crate::scenario::distance::RttFrom;
use crate::scenario::header_fields::Address;
use crate::time::Duration;

/// A host: a customer's, behind links, or one in the network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Host {
    /// Its address, such as `"192.168.1.10"` or `"2001:db8::10"`, for classifiers; of several hosts
    /// the first one's, the others have the following ones. A host with an IPv6 address sends IPv6
    /// packets, and so does who answers it: their headers are 20 B longer. Default: an IPv4 address
    /// in 10.0.0.0/8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// A customer's host: the link ports from it out to the network, such as `["wifi.laptop",
    /// "cable"]`. Behind modems of which there are several (`["cable.home"]`) there is a host at
    /// each, called `NAME.1`, `NAME.2`, … Empty: a host in the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// A network's host: round-trip time of the wide area between it and the customers' links,
    /// where a flow gives none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<OrTable<Duration, RttFrom>>,
    /// Time the host takes for each packet it sends and for each it receives (interrupts, the
    /// network stack, the wake-up of a program), in both roles: a round trip grows by twice this at
    /// either end.
    pub processing: Duration,
    /// A customer's host: the tunnel that carries its flows, where a flow names none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// A customer's host: the VLAN (IEEE 802.1Q) that its packets are tagged with at the modem, 1
    /// to 4094, for classifiers. The tag's 4 B are not counted. Default: untagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}
