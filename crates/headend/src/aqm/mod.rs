//! Control laws: rules that drop or mark the packets of one backlog. Each law has a file of its
//! own.

mod average;
pub mod cbt;
pub mod cobalt;
pub mod codel;
pub mod codel_dt;
pub mod codel_dt_ns2;
pub mod custom;
pub mod delay_estimate;
pub mod derandomiser;
pub mod detached;
pub mod docsis_pie;
pub mod drop_front;
pub(crate) mod drop_schedule;
pub mod drop_tail;
pub mod fred;
pub mod inverse_sqrt;
pub mod pie;
pub(crate) mod proportional_integral;
pub mod random_drop;
pub mod red;
pub(crate) mod updates;

use std::fmt::Debug;

pub use cbt::Cbt;
pub use cobalt::Cobalt;
pub use codel::Codel;
pub use codel_dt::CodelDt;
pub use codel_dt_ns2::CodelDtNs2;
pub use docsis_pie::DocsisPie;
pub use drop_front::DropFront;
pub use drop_tail::DropTail;
pub use fred::Fred;
pub use pie::Pie;
pub use random_drop::RandomDrop;
pub use red::Red;

use crate::context::Context;
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, Limited, LineView};
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::Rate;

/// A control law: it drops or marks the packets of one backlog.
///
/// The law itself calls the methods of the backlog, so that its code can be compared with the
/// pseudo-code of its specification. A law that uses random numbers gets a random stream of its own
/// when it is built.
pub trait Aqm: Debug + Send {
    /// Handles a packet that arrives: appends it to the backlog, or discards it.
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        backlog.push(packet, line, cx);
    }
    /// Returns the next packet when the line may send; may discard others before it.
    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let _ = cx;
        backlog.pop(line)
    }
    /// Called after a scheduler has removed `packet` from the backlog without the law, so that a
    /// law that counts packets can update its counters.
    fn evicted(
        &mut self,
        backlog: &Backlog,
        packet: &Packet,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        let _ = (backlog, packet, line, cx);
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
    /// Whether this law can ever read [`LineView::grants`]. It is called once, when the queue is
    /// built.
    fn looks_at_grants(&self) -> bool {
        !self.is_absent()
    }
    /// Whether this law never acts, so that only the limit of the backlog applies.
    fn is_absent(&self) -> bool {
        false
    }
    /// The periodic part of the control law.
    fn update(&mut self, backlog: &Backlog, line: &LineView<'_>, cx: &mut Context<'_>) {
        let _ = (backlog, line, cx);
    }
    /// The base probability of a law to which a low-latency queue can be coupled (p′ of RFC 9332,
    /// whose square is the drop probability); `None` for the other laws.
    fn base_probability(&self) -> Option<f64> {
        None
    }
    /// The internal state, for the time series of the results.
    fn internals(&self) -> QueueInternals {
        QueueInternals::default()
    }
}

/// The parameters of a control law. A FIFO has one law, a scheduler one for each of its backlogs.
/// With the associated type, a FIFO stores its law directly and calls it without dynamic dispatch.
pub trait LawParameters: Limited {
    /// The control law that these parameters build.
    type Law: Aqm + 'static;

    /// Builds the law for a line of this nominal (or maximum sustained) rate. `rng` is a random
    /// stream of its own.
    ///
    /// # Errors
    ///
    /// A sentence that says why no control law can be built from these parameters.
    fn law(&self, rate: Rate, rng: Rng) -> Result<Self::Law, String>;

    /// What bounds the queueing delay: the law itself, unless it only drops packets that do not
    /// fit.
    fn governor(&self) -> Governor {
        Governor::Law
    }
}

/// What bounds the queueing delay of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governor {
    /// The size of the buffer: packets are dropped only if they do not fit. The text names this
    /// bound for the user.
    Bound(&'static str),
    /// The control law that the scenario chooses for each queue in the discipline: under this key,
    /// or under several keys if `None`.
    ChosenLaw(Option<&'static str>),
    /// The discipline's own control law.
    Law,
    /// Nothing bounds it.
    Nothing,
}
