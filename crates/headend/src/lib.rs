//! headend, a laboratory for access networks: the engine.
//!
//! No I/O, no threads, no wall clock, no unsafe code: time is an argument, randomness has a seed, and the same scenario and seed give
//! the same bytes everywhere.
//!
//! The life of a packet, and the modules it meets:
//!
//! 1. An [application](traffic) asks a connection to send. The [endpoint] ([TCP](tcp) with a [congestion control](congestion), or a datagram
//!    socket) lets a [packet] into the network.
//! 2. The [simulation] carries it along its flow's [route](flow): into a [link]'s [queue](qdisc), which a [control law](aqm) governs, over
//!    the link, along a [delay line](line), to the next hop.
//! 3. At the end of its route the receiving endpoint reads it. Wherever it ends, the [recorder](metrics) counts it, and whoever listens to the
//!    [trace] is told; a capture shows it as it is on the [wire].
//!
//! [Time](time) moves by [events](event) alone; a [clock] decides whether that is virtual or real time. A [scenario] describes it all.

pub mod aqm;
pub mod clock;
mod collection;
pub mod congestion;
pub mod context;
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
