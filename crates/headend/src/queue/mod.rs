//! What control laws and queue disciplines have in common: backlogs, classes and the view of the
//! line.
//!
//! - A [`Backlog`] holds the packets under one control law, up to a [limit](BacklogLimit);
//!   [`Depth`] is its length in packets and bytes.
//! - A [`Framing`] says which bytes of a packet a line counts.
//! - A [`LineView`] is what a control law may read of its line: rate, framing, token buckets,
//!   grants.
//! - [`Classes`] assigns packets to the classes of a queue, each of which has a [`Classifier`].
//!
//! [Control laws](crate::aqm) use this module; [queue disciplines](crate::qdisc) use both.

mod backlog;
mod classifier;
mod framing;
mod line_view;

pub use backlog::{Backlog, BacklogLimit, Depth, Limited};
pub use classifier::{Classes, Classifier, TransportName};
pub use framing::{Cells, Framing, FramingConfig, FramingTable, Keyword};
pub use line_view::{Coupling, GrantView, LineView, Shaper};
