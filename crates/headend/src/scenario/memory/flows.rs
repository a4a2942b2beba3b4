//! What a flow sends and measures, and how far away its remote hosts are.

use crate::named::OrTable;
use crate::scenario::distance::RttFrom;
use crate::scenario::flow::{GroupPlan, PeerPlan};
use crate::time::Duration;
use crate::traffic::memory::{Datagrams, Setting};

/// How many samples a flow measures in `duration` seconds, where its slowest link carries `rate`
/// bytes per second.
pub(super) fn samples(group: &GroupPlan, duration: f64, rate: f64) -> f64 {
    group.application.samples(&Setting {
        duration,
        rate,
        rtt: rtt_of(group).max(1e-5),
    })
}

/// Whether a flow may fill any queue: TCP does, and real programs may.
pub(super) fn fills_queues(group: &GroupPlan) -> bool {
    group.application.connections() > 0 || group.real.is_some()
}

/// Datagrams of a flow.
pub(super) fn datagrams(group: &GroupPlan) -> Datagrams {
    group.application.datagrams(group.direction)
}

/// Round-trip time of the wide area, seconds; of one that is drawn, a long one.
pub(super) fn rtt_of(group: &GroupPlan) -> f64 {
    const FAR: f64 = 0.4;
    let of = |peer: &PeerPlan| {
        let rtt = match &peer.path.rtt {
            OrTable::Plain(rtt) => rtt.as_secs_f64(),
            OrTable::Table(from) => drawn(from).unwrap_or(FAR),
        };
        let given =
            [peer.path.up, peer.path.down].map(|way| way.map_or(rtt / 2.0, Duration::as_secs_f64));
        given.iter().sum::<f64>() + 2.0 * peer.path.jitter.as_secs_f64()
    };
    group.peers.iter().map(of).fold(0.0, f64::max)
}

fn drawn(from: &RttFrom) -> Option<f64> {
    let longest = from.times().map(|(_, time)| time).max()?;
    Some((2.0 * longest.as_secs_f64()).min(60.0))
}

/// The name a flow is written with.
pub(super) fn written(group: &GroupPlan) -> &str {
    group.name.split('.').next().unwrap_or_default()
}
