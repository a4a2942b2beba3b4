//! What waits, and what may be known of the line behind it: the ground floor of laws and disciplines.
//!
//! - A [`Backlog`] holds the packets that wait under one control law, up to a [limit](BacklogLimit);
//!   [`Depth`] counts them.
//! - A [`LineView`] is what a law may know of its line: rate, framing, token buckets, grants.
//! - [`Classes`] tell the classes of a queue apart, each by its [`Classifier`].
//!
//! [Control laws](crate::aqm) are built on this, [queue disciplines](crate::qdisc) on both.

mod backlog;
mod classifier;
mod line_view;

pub use backlog::{Backlog, BacklogLimit, Depth, Limited};
pub use classifier::{Classes, Classifier, TransportName};
pub use line_view::{Framing, GrantView, LineView, Shaper};
