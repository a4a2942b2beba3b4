//! Links: media with one or more ports. A port takes packets from its queue when the medium lets it
//! send, and forwards them to the far end.

pub mod cell;
pub mod docsis;
mod fused;
mod losses;
mod point_to_point;
mod policer;
mod rate;
pub mod token_bucket;
mod varying;

use std::collections::VecDeque;
use std::fmt::Debug;

pub use losses::Losses;
pub use point_to_point::{DirectionSetup, PointToPoint};
pub use policer::Policer;
pub use rate::{RateSchedule, Transmitter};
pub use varying::Varying;

use crate::context::Context;
use crate::flow::Port;
use crate::link::docsis::setup::FlowChange;
use crate::metrics::Recorder;
use crate::metrics::channel::ChannelUse;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::time::{Duration, Instant};
use crate::trace::QueueId;
use crate::units::Rate;

/// A callback that receives the queues of a link, one after the other.
pub type Visitor<'a> = dyn FnMut(Option<(QueueId, QueueInternals)>) + 'a;

/// A medium with one or more ports.
///
/// A shared medium (a DOCSIS channel, an 802.11b cell) is one link with many ports. Contention and
/// grants are internal to the files of that link.
pub trait Link: Debug + Send {
    /// A packet arrives at the entrance `port`.
    fn arrive(&mut self, port: Port, packet: Packet, cx: &mut Context<'_>);
    /// A wake-up that the link scheduled is due. The link may not need it any more.
    fn wake(&mut self, token: u64, cx: &mut Context<'_>);
    /// The wake-up that the link needs before the first packet arrives.
    fn first_wake(&self) -> Option<(Instant, u64)> {
        None
    }
    /// Calls `visit` for each queue of the link, always in the same order.
    ///
    /// The argument is the state of the queue. It is `None` if the queue has not changed since the
    /// last visit, and that visit found the same state as the visit before it.
    fn visit_queues(&mut self, now: Instant, visit: &mut Visitor<'_>);
    /// Calls `visit` for each channel that several senders may share, with one of the channel's
    /// queues and the use of the channel until `now`.
    fn visit_channels(&self, now: Instant, visit: &mut dyn FnMut(QueueId, ChannelUse)) {
        let _ = (now, visit);
    }
    /// Reports the use until `now` of each limit of each queue: see [`LimitUse`]. The limits are
    /// the same each time, in the same order.
    ///
    /// [`LimitUse`]: crate::metrics::utilisation::LimitUse
    fn report_limits(&self, now: Instant, recorder: &mut Recorder);
    /// Of a cell: reports what its channel was used for until `now`.
    fn report_air(&self, now: Instant, recorder: &mut Recorder) {
        let _ = (now, recorder);
    }
    /// Reports what each tin of each queue has done until now.
    fn report_tins(&mut self, recorder: &mut Recorder) {
        let _ = recorder;
    }
    /// The bytes that have left `port` so far, where [`Self::set_rate`] sets its rate.
    fn sent(&self, port: Port) -> u64 {
        let _ = port;
        0
    }
    /// Sets the rate of the shaper in the queue of `port`. A queue without one ignores it.
    fn set_rate(&mut self, port: Port, rate: Rate, now: Instant) {
        let _ = (port, rate, now);
    }
    /// Gives up the changes of service flows that it has yet to make.
    fn give_changes(&mut self) -> VecDeque<FlowChange> {
        VecDeque::new()
    }
    /// Takes the changes in place of its own. Returns the wake-up that the first one needs.
    fn take_changes(&mut self, changes: VecDeque<FlowChange>) -> Option<(Instant, u64)> {
        let _ = changes;
        None
    }
    /// The state of one of its queues, where it can tell that at any time.
    fn internals(&self, queue: QueueId, now: Instant) -> Option<QueueInternals> {
        let _ = (queue, now);
        None
    }
    /// The number of packets in the link, in a queue or partly sent. The conservation check needs
    /// it.
    fn held(&self) -> u64;
    /// Brings the link and the records up to date, if departures were computed in advance or
    /// postponed.
    fn catch_up(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// Permits the link to postpone departures. A packet that enters at `port` has no visible
    /// effect until `span` after its last bit has reached the far end of the link. Called before
    /// the run.
    fn put_off(&mut self, port: Port, span: Duration) {
        let _ = (port, span);
    }
    /// Requires every departure to happen at its own event from the start of the run: none is
    /// computed in advance, none is postponed.
    fn wake_for_departures(&mut self) {}
}
