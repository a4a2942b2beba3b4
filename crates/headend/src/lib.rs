//! headend, a laboratory for access networks: the engine.
//!
//! The engine does no I/O, starts no threads, reads no wall clock and has no unsafe code. Time is
//! an argument and randomness has a seed, so that the same scenario and seed give the same bytes
//! everywhere.
//!
//! The life of a packet, and the modules that it passes:
//!
//! 1. An [application](traffic) gives bytes to an [endpoint] ([TCP](tcp) with a
//!    [congestion control](congestion), or a datagram socket). The endpoint *emits* a [packet].
//! 2. The packet *arrives* at the first hop of its flow's [route](flow), a [link]. The link
//!    enqueues it in a [queue discipline](qdisc), which a [control law](aqm) governs. When the link
//!    has sent it, the link *forwards* it along a [delay line](line) to the next hop.
//! 3. At the end of its route the packet is *delivered* to the endpoint of the other host. Wherever
//!    it is lost before that, it is *discarded* with a reason.
//!
//! The [recorder](metrics) counts all of this; listeners to the [trace] see each step, and a
//! capture writes packets as they are on the [wire]. The [simulation] takes [events](event) in
//! order of [time]; a [clock] says whether time is virtual or real. A [scenario] describes a whole
//! run. docs/architecture.md shows which module may import which.

#![expect(
    clippy::inline_always,
    reason = "a packet is moved where it was made only if the compiler sees both ends of the way"
)]

pub mod aqm;
pub mod clock;
mod collection;
pub mod congestion;
pub mod context;
pub mod custom;
pub mod description;
pub mod endpoint;
pub mod event;
pub mod flow;
pub mod line;
pub mod link;
pub mod math;
pub mod metrics;
pub mod named;
mod notice;
pub mod packet;
pub mod qdisc;
pub mod queue;
pub mod rng;
pub mod scenario;
pub mod simulation;
pub mod student_t;
pub mod tcp;
pub mod testing;
mod text;
pub mod time;
pub mod trace;
pub mod traffic;
pub mod units;
pub mod wire;
