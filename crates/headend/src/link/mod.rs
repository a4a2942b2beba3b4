//! Links: media with ports that take packets from their queues when they may send, and hand them on at the far end.

pub mod docsis;
pub mod dot11b;
mod fused;
mod point_to_point;
mod rate;

use std::fmt::Debug;

pub use point_to_point::{DirectionSetup, PointToPoint};
pub use rate::{RateSchedule, Transmitter};

use crate::context::Context;
use crate::flow::Port;
use crate::metrics::channel::ChannelUse;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::trace::QueueId;

/// Who is shown the queues of a link.
pub type Visitor<'a> = dyn FnMut(Option<(QueueId, QueueInternals)>) + 'a;

/// A medium with one or more ports.
///
/// A shared medium (a DOCSIS channel, an 802.11b cell) is one link with many ports; contention and grants stay in its files.
pub trait Link: Debug + Send {
    /// A packet arrives at one of its entrances.
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>);
    /// A wake-up it asked for has come, perhaps one it no longer expects.
    fn wake(&mut self, token: u64, cx: &mut Context<'_>);
    /// The wake-up that it needs before any packet comes.
    fn first_wake(&self) -> Option<(crate::time::Instant, u64)> {
        None
    }
    /// Calls `visit` for each of its queues, always in the same order: with its inner state, or with nothing if nothing has happened to it since it was
    /// visited last, and that visit found it as the one before.
    fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>);
    /// Calls `visit` with a queue of each channel that several may share, and what went over that channel until `now`.
    fn visit_channels(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        let _ = (now, visit);
    }
    /// Packets it holds, waiting or partly sent: for the conservation check.
    fn held(&self) -> u64;
    /// Brings itself and the records up to the present, if departures were computed in advance or put off.
    fn catch_up(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// What enters at `port` is seen by nobody before `span` after it has left: so long, departures may be put off. Asked before the run.
    fn put_off(&mut self, port: Port, span: Duration) {
        let _ = (port, span);
    }
    /// From the start of the run, departures are to happen in order with everything else: none in advance, none put off.
    fn wake_for_departures(&mut self) {}
}
