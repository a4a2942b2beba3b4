//! What links see of a flow: where its packets pass, and what their headers hold.

use std::collections::BTreeSet;

use super::plan::{GroupPlan, PeerPlan};
use crate::congestion::CongestionConfig;
use crate::flow::{Protocol, is_ipv6};
use crate::link::docsis::classifier::{self, Seen};
use crate::packet::{Ecn, Side};
use crate::scenario::span::Span;
use crate::tcp::EcnMode;

/// Local ports of connections (RFC 6335 §6). Which one a connection gets is not known beforehand.
const EPHEMERAL: Span<u16> = Span {
    from: 49152,
    to: u16::MAX,
};

/// The ports of a link that a flow passes.
pub(in crate::scenario) fn ports(group: &GroupPlan, link: u16) -> BTreeSet<u16> {
    let ports = group
        .peers
        .iter()
        .flat_map(|peer| peer.up.iter().chain(&peer.down));
    let ports = ports.filter(|(at, _)| *at == link);
    ports.map(|(_, port)| port.0).collect()
}

/// The directions and customers of a link by which one peer of a flow is reached, with the side
/// whose packets pass there.
pub(in crate::scenario) fn ways(peer: &PeerPlan, link: u16) -> BTreeSet<(usize, usize, Side)> {
    let of_side = |side: Side| {
        let ports = match side {
            Side::Host => &peer.up,
            Side::Peer => &peer.down,
        };
        let ports = ports.iter().filter(move |(at, _)| *at == link);
        ports.map(move |(_, port)| (usize::from(port.0 % 2), usize::from(port.0 / 2), side))
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

/// What classifiers may see of the packets that one side of a flow sends: one packet for each ECN
/// field that they may have.
pub(in crate::scenario) fn packets(
    group: &GroupPlan,
    peer: &PeerPlan,
    from: Side,
    is_upstream: bool,
) -> Vec<Seen> {
    let protocol = group.application.protocol();
    let local = EPHEMERAL.from..=EPHEMERAL.to;
    let (addresses, ports) = match from {
        Side::Host => (
            [group.address, peer.address],
            [local, group.port..=group.port],
        ),
        Side::Peer => (
            [peer.address, group.address],
            [group.port..=group.port, local],
        ),
    };
    let of_field = |&ecn: &Ecn| Seen {
        is_upstream,
        addresses,
        ports: (protocol != Protocol::Icmp).then(|| ports.clone()),
        protocol: classifier::number(protocol, is_ipv6(addresses[0])),
        dscp: group.dscp,
        ecn,
        user_priority: group.user_priority,
    };
    ecn_fields(group).iter().map(of_field).collect()
}

/// The ECN fields that packets of a flow may have. Acknowledgements are not ECN-capable; any queue
/// may have marked the others.
fn ecn_fields(group: &GroupPlan) -> &'static [Ecn] {
    if group.application.protocol() != Protocol::Tcp {
        return match group.ecn {
            Ecn::Ect0 => &[Ecn::Ect0, Ecn::Ce],
            Ecn::Ect1 => &[Ecn::Ect1, Ecn::Ce],
            Ecn::Ce | Ecn::NotEct => &[Ecn::NotEct],
        };
    }
    match group.tcp.ecn() {
        EcnMode::Off => &[Ecn::NotEct],
        EcnMode::Accurate if matches!(group.tcp.congestion, CongestionConfig::Prague(_)) => {
            &[Ecn::NotEct, Ecn::Ect1, Ecn::Ce]
        }
        EcnMode::Accurate | EcnMode::Auto | EcnMode::On => &[Ecn::NotEct, Ecn::Ect0, Ecn::Ce],
    }
}
