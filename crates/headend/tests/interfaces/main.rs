//! Tests that the queue traits carry disciplines with unusual needs, in whole simulations with
//! packets conserved and the fate of every frame recorded.
//!
//! - A **law** distinguishes classes by the flow table, keeps an average per class over one FIFO,
//!   and discards a random packet in the middle of it ([`cbt`]: CBT, and with it RED and FRED).
//! - A **discipline with two queues** couples them by one periodic law, inspects both heads without
//!   a commitment to either, marks in one queue and drops in the other ([`dualq`]: `DualPI2`).
//! - A **class that may not borrow** leaves the line idle although packets wait, and wakes it later
//!   ([`cbq`]).
//! - The **schedulers** run with every law in their queues ([`schedulers`]).
//!
//! A change of a trait that would exclude one of these disciplines fails here.

mod cbq;
mod cbt;
mod dualq;
#[path = "../real_frames/mod.rs"]
mod real_frames;
mod scene;
mod schedulers;
