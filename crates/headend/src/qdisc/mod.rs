//! Queue disciplines: which packet is enqueued, which one is discarded, and which one is sent next.
//!
//! - [`QueueDiscipline`] is the interface of a queue. [`Fifo`] is one [`Backlog`] with one [control
//!   law](crate::aqm).
//! - A scheduler has several backlogs, each with a control law. [`Drr`] and [`FlowQueue`] serve the
//!   queues of flows in turn; [`StrictPriority`] serves bands in order.
//! - [`Queue`] is a discipline attached to a link. It records the packets and runs the periodic
//!   updates of the control law.
//! - [`QueueConfig`] lists every queue by name and builds it. [Buffer Control](buffer_control)
//!   computes the size of a queue.
//! - [`Classes`] assigns packets to the classes of a queue, each of which has a [`Classifier`].
//! - [`Lanes`](lanes::Lanes) keeps a discipline for each access category, and each station, of an
//!   802.11 cell.
//! - [`AckFilter`] removes TCP acknowledgements that newer ones replace, as modems do.
//! - [`LineView`] is what a discipline may read of the line behind it.

pub mod ack_filter;
pub mod buffer_control;
mod bundle;
pub mod cake;
pub mod cbq;
mod config;
pub mod drr;
pub mod dualpi2;
mod fifo;
mod flow_queue;
mod flows;
pub mod fq_codel;
pub mod fq_pie;
pub mod hash;
pub mod immediate_aqm;
pub mod lanes;
mod parameters;
mod queue;
mod recurrence;
pub mod sfq;
pub mod sfq_codel;
pub mod sfq_pie;
pub mod strict_priority;
mod tournament;
mod turns;
mod unlimited;

use std::fmt::Debug;

pub use ack_filter::{AckAcceleration, AckFilter};
pub use cake::Cake;
pub use cbq::Cbq;
pub use config::QueueConfig;
pub use drr::Drr;
pub use dualpi2::DualPi2;
pub use fifo::Fifo;
pub use flow_queue::FlowQueue;
pub use parameters::Parameters;
pub use queue::Queue;
pub use sfq_pie::SfqPie;
pub use strict_priority::StrictPriority;

use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::metrics::tins::TinStats;
use crate::metrics::utilisation::LimitUse;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, LineView};
use crate::time::Instant;
use crate::units::Rate;

/// Holds the packets that wait for a transmission opportunity. It decides their order, and which of
/// them it discards or marks.
pub trait QueueDiscipline: Debug + Send {
    /// Enqueues `packet`, or discards it or another packet.
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>);
    /// Removes and returns the next packet to send; may discard others before it.
    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet>;
    /// Removes and returns one packet for another discipline that replaces this one; `None` once
    /// the queue is empty.
    ///
    /// Packets are released in order of arrival where the discipline knows that order. The control
    /// law neither drops nor marks them, and its state is not updated. After the first call, only
    /// `release` may be called.
    fn release(&mut self, line: &LineView<'_>) -> Option<Packet>;
    /// The packets and bytes in the queue.
    fn depth(&self) -> Depth;
    /// Chooses the lane that packets are dequeued from next. A discipline without
    /// [lanes](lanes::Lanes) ignores it.
    fn select(&mut self, lane: usize) {
        let _ = lane;
    }
    /// Sets the rate of a shaper that the discipline has. A discipline without one ignores it.
    fn set_rate(&mut self, rate: Rate, now: Instant) {
        let _ = (rate, now);
    }
    /// The use of that shaper's rate until `now`; `None` without a shaper.
    fn limit(&self, now: Instant) -> Option<LimitUse> {
        let _ = now;
        None
    }
    /// When [`Self::update`] must be called next; `None` while the passage of time cannot change
    /// the state.
    fn next_update(&self) -> Option<Instant> {
        None
    }
    /// Whether [`Self::next_update`] can ever return a time. It is called once, when the queue is
    /// built.
    fn is_periodic(&self) -> bool {
        true
    }
    /// Whether this discipline can ever read [`LineView::grants`]. If not, the link does not fill
    /// them in. It is called once, when the queue is built.
    fn looks_at_grants(&self) -> bool {
        true
    }
    /// The limit of the queue, if the queue is a plain FIFO: packets leave in order of arrival, and
    /// a packet is discarded only on arrival and only because of this limit. A link can then
    /// compute the departure of a packet when it arrives, and record the packets of the queue
    /// itself. It is called once, while the queue is empty.
    fn limit_alone(&self) -> Option<BacklogLimit> {
        None
    }
    /// The periodic part of the control law.
    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        let _ = (line, cx);
    }
    /// The base probability of the control law, as [`Aqm::base_probability`](crate::aqm::Aqm).
    fn base_probability(&self) -> Option<f64> {
        None
    }
    /// Removes and returns a packet that this queue does not accept, and that belongs into the
    /// queue for classic packets beside it; `None` if there is none. A link whose queue has another
    /// one beside it asks after every arrival.
    fn take_redirected(&mut self) -> Option<Packet> {
        None
    }
    /// What each tin has done until now; none of a discipline without tins.
    fn tins(&mut self) -> Vec<TinStats> {
        Vec::new()
    }
    /// The internal state, for the time series of the results.
    fn internals(&self) -> QueueInternals {
        QueueInternals::default()
    }
}
