//! Proof that the traits of queues carry what is yet to come, without bending.
//!
//! The disciplines here are prototypes: small, honest to their papers in the part that strains an interface, and run over a whole simulation with
//! packets conserved and every end of a frame told. They show that
//!
//! - a **scheduler** can hold one boxed law for each bucket, serve the earliest of many updates, tell each law its share by [`LineView::share`], keep a
//!   global probability of its own, and drop from the tail of a bucket that is not the arriving packet's ([`sfq`]: SFQ-PIE, SFQ-CoDel, SFQ-PIE over
//!   CoDel);
//! - a **law** can tell classes apart by the flow table, keep per-class averages over one FIFO, and discard a random victim in the middle of it
//!   ([`cbt`]: CBT, and with it RED and FRED);
//! - a **discipline of two backlogs** can couple them by one periodic law, look at both heads without promising either, mark in one and drop in the other
//!   ([`dualq`]: a coupled PI2).
//!
//! They stay as tests after the real ones exist: a change to a trait that would shut one of them out fails here.
//!
//! [`LineView::share`]: headend::qdisc::LineView::share

mod cbt;
mod dualq;
mod scene;
