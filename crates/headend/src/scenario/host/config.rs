//! A host as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named::OrTable;
use crate::scenario::distance::RttFrom;
use crate::scenario::header_fields::{Address, MacAddress};
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
    /// Whether real programs run at this host: `headend emulate` lets their packets cross the links
    /// in real time, and everything else is simulated as it is written. A real host is one, behind
    /// one modem or in the network, and has an IPv4 and an IPv6 address: the one that is written,
    /// and one that the scenario gives it (IPv6: in `fd00:6865:6164::/48`). Real customers' hosts
    /// without a flow whose application is `real` get one of their name. If no host in the network
    /// is real, there is one called `server`. `false` leaves out what is here only for a real host:
    /// its flow and its `dscp`. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real: Option<bool>,
    /// A real host: the DSCP that its packets are marked with when they enter, 0 to 63, such as
    /// `45` for a low-latency queue. Default: the one that its programs give them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
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
    /// A customer's host: the Ethernet address that its frames have at the modem, such as
    /// `"02:00:5e:00:00:01"`, for classifiers; of several hosts the first one's, the others have
    /// the following ones. Hosts behind one router have that router's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// A customer's host: the user priority (IEEE 802.1p) that its frames are tagged with at the
    /// modem, 0 to 7, for classifiers, where a flow gives none of its own. Default: untagged, or 0
    /// in a VLAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_priority: Option<u8>,
    /// A customer's host: the VLAN (IEEE 802.1Q) that its packets are tagged with at the modem, 1
    /// to 4094, for classifiers. The tag's 4 B are not counted. Default: untagged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

impl Host {
    /// Whether real programs run at it.
    pub fn is_real(&self) -> bool {
        self.real == Some(true)
    }

    /// Whether what is written for a real host is to be left out.
    pub(in crate::scenario) fn is_switched_off(&self) -> bool {
        self.real == Some(false)
    }
}
