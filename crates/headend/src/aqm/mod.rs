//! Control laws: a rule that drops or marks the packets of one backlog. One law, one file.

mod average;
pub mod cbt;
pub mod cobalt;
pub mod codel;
pub mod codel_dt;
pub mod codel_dt_ns2;
pub mod delay_estimate;
pub mod derandomiser;
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

/// A rule that drops or marks the packets of one backlog.
///
/// It drives the backlog itself, so that the code can stand beside the specification's pseudo-code. Its random numbers, if it draws any,
/// come from a stream of its own that it is built with.
pub trait Aqm: Debug + Send {
    /// A packet arrives: into the backlog, or discarded.
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        backlog.push(packet, line, cx);
    }
    /// The line may send.
    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        let _ = cx;
        backlog.pop(line)
    }
    /// A scheduler has taken `packet` out of the backlog past the law, which has accounts to keep.
    fn evicted(
        &mut self,
        backlog: &Backlog,
        packet: &Packet,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        let _ = (backlog, packet, line, cx);
    }
    /// When [`Self::update`] is to be called next; `None` while the law's state cannot change by time alone.
    fn next_update(&self) -> Option<Instant> {
        None
    }
    /// Whether [`Self::next_update`] may ever name a time. Asked once, when the queue is built.
    fn is_periodic(&self) -> bool {
        true
    }
    /// Whether it may ever look at [`LineView::grants`]. Asked once, when the queue is built.
    fn looks_at_grants(&self) -> bool {
        !self.is_absent()
    }
    /// Whether it is no law at all: the backlog's limit decides alone.
    fn is_absent(&self) -> bool {
        false
    }
    /// The periodic part of the law.
    fn update(&mut self, backlog: &Backlog, line: &LineView<'_>, cx: &mut Context<'_>) {
        let _ = (backlog, line, cx);
    }
    /// Its inner state, for the series.
    fn internals(&self) -> QueueInternals {
        QueueInternals::default()
    }
}

/// The parameters of a control law, which is the law of a FIFO's one backlog or of a scheduler's many. The first is the usual case, so that a FIFO
/// holds the law itself and calls it directly.
pub trait LawParameters: Limited {
    /// The law.
    type Law: Aqm + 'static;

    /// The law, before a line of this nominal (or maximum sustained) rate. `rng` is its own stream.
    ///
    /// # Errors
    ///
    /// Why these parameters make no law, as a sentence.
    fn law(&self, rate: Rate, rng: Rng) -> Result<Self::Law, String>;

    /// What keeps the delay short: the law, unless it drops nothing but what has no room.
    fn governor(&self) -> Governor {
        Governor::Law
    }
}

/// What keeps the delay of a discipline short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Governor {
    /// No law: packets are dropped where there is no room for them. A person calls the room so.
    Bound(&'static str),
    /// The law that is chosen for each queue in it: by this key, or by several.
    ChosenLaw(Option<&'static str>),
    /// A law of its own.
    Law,
    /// Nothing.
    Nothing,
}
