//! Proof that the traits of queues carry what is yet to come, without bending.
//!
//! The disciplines here are prototypes: small, honest to their papers in the part that strains an interface, and run over a whole simulation with
//! packets conserved and every end of a frame told. They show that
//!
//! - a **law** can tell classes apart by the flow table, keep per-class averages over one FIFO, and discard a random victim in the middle of it
//!   ([`cbt`]: CBT, and with it RED and FRED).
//!
//! A **discipline of two backlogs** is no prototype any more: it can couple them by one periodic law, look at both heads without promising either, mark in
//! one and drop in the other ([`dualq`]: `DualPI2`).
//!
//! The schedulers, for which there were prototypes once, are run in the same way ([`schedulers`]).
//!
//! They stay as tests after the real ones exist: a change to a trait that would shut one of them out fails here.

mod cbq;
mod cbt;
mod dualq;
mod scene;
mod schedulers;
