//! Queue disciplines: who waits, in which order, and who is refused.
//!
//! - [`QueueDiscipline`] is the contract; [`Fifo`] gives one [`Backlog`] to one [control law](crate::aqm).
//! - A scheduler holds several backlogs, with a law in each: [`Drr`] and [`FlowQueue`] serve flows in turn, [`StrictPriority`] bands in order.
//! - [`Queue`] is a discipline in its place at a link: it keeps the records and the law's periodic updates.
//! - [`QueueConfig`] names every queue and builds it; [Buffer Control](buffer_control) is a way to size one.
//! - [`Classes`] tells the classes of a queue apart, each by its [`Classifier`].
//! - [`AckFilter`] takes TCP acknowledgements out of what goes into a queue, as modems do.
//! - [`LineView`] is what a discipline may know of the line behind it.

pub mod ack_filter;
pub mod buffer_control;
mod bundle;
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
mod queue;
pub mod sfq;
pub mod sfq_codel;
pub mod sfq_pie;
pub mod strict_priority;
mod tournament;
mod turns;
mod unlimited;

use std::fmt::Debug;

pub use ack_filter::{AckAcceleration, AckFilter};
pub use cbq::Cbq;
pub use config::{Parameters, QueueConfig};
pub use drr::Drr;
pub use dualpi2::DualPi2;
pub use fifo::Fifo;
pub use flow_queue::FlowQueue;
pub use queue::Queue;
pub use sfq_pie::SfqPie;
pub use strict_priority::StrictPriority;

use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{BacklogLimit, Depth, LineView};
use crate::time::Instant;

/// Holds packets that wait for a transmission opportunity; decides their order and their fate.
pub trait QueueDiscipline: Debug + Send {
    /// Takes a packet in, or discards it (or another).
    fn enqueue(&mut self, packet: Packet, line: &LineView<'_>, cx: &mut Context<'_>);
    /// Gives up the next packet; may discard some on the way.
    fn dequeue(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) -> Option<Packet>;
    /// Gives up a packet to another discipline that takes this one's place: all that wait in turn, in the order of their arrival where it is known, and
    /// without a word of its law. What has begun to give up its packets is not used any more.
    fn release(&mut self, line: &LineView<'_>) -> Option<Packet>;
    /// What waits.
    fn depth(&self) -> Depth;
    /// When [`Self::update`] is to be called next; `None` while its state cannot change by time alone.
    fn next_update(&self) -> Option<Instant> {
        None
    }
    /// Whether [`Self::next_update`] may ever name a time. Asked once, when the queue is built.
    fn is_periodic(&self) -> bool {
        true
    }
    /// Whether it may ever look at [`LineView::grants`]: they are not shown to one that does not. Asked once, when the queue is built.
    fn looks_at_grants(&self) -> bool {
        true
    }
    /// The limit, if that alone decides who is refused, on arrival, and packets leave in the order of their arrival. A link may then
    /// know a packet's departure when it arrives, and keep the queue's records itself. Asked once, while the queue is empty.
    fn limit_alone(&self) -> Option<BacklogLimit> {
        None
    }
    /// The periodic part of its law.
    fn update(&mut self, line: &LineView<'_>, cx: &mut Context<'_>) {
        let _ = (line, cx);
    }
    /// Its inner state, for the series.
    fn internals(&self) -> QueueInternals {
        QueueInternals::default()
    }
}
