//! TCP: the mechanism. How much may be in flight is policy, and lives in [`crate::congestion`].
//!
//! A TCP connection is two [`Connection`]s, one for each side. Each has a [sending half](sender)
//! and a [receiving half](receiver): data goes both ways, and carries the acknowledgements of the
//! other direction.
//!
//! - The sending half chooses what to send next. [Loss recovery](recovery) decides what is lost and
//!   is sent again, on a [scoreboard] of the segments in flight; the [buffer](send_buffer) bounds
//!   what is outstanding; the [pacer](pacing) decides when a segment may leave, and segmentation
//!   [offload] which leave together; [rtt] estimates the round-trip time and the retransmission
//!   timeout, and [rate] the delivery rate.
//! - The receiving half puts the stream together, decides when to acknowledge, and offers a
//!   [window](receive_window).
//! - Both keep [ranges] of sequence numbers, and use [ecn]. [SACK blocks](crate::packet::sack)
//!   travel beside their packets. Each [timer] has one pending wake-up.
//! - [observed] reports a sending half to listeners.
//!
//! What is modelled: the three-way handshake with its retransmissions; sliding windows; loss
//! recovery by RFC 5681, 6582 and 6675 with limited transmit (RFC 3042); the retransmission timeout
//! of RFC 6298; timestamps (RFC 7323); ECN (RFC 3168) and Accurate ECN (RFC 9768); delayed
//! acknowledgements; a FIN in each direction. Options are PRR (RFC 9937), RACK-TLP (RFC 8985),
//! D-SACK (RFC 2883), quick acknowledgements, buffers of a given size, and pacing. A flow that
//! names none of them has the options of Linux; [systems] has those of others.
//!
//! What is simpler than in life:
//!
//! - Sequence numbers are 64-bit stream offsets from 0 and do not wrap. A SYN takes none; a FIN
//!   takes the one after the last byte, and travels as a segment of its own.
//! - Both sides of a connection have the same [`Config`], so that each knows the options of the
//!   other's SYN. Only ECN is negotiated in the packets.
//! - Applications read at once, so the window a receiver offers never closes: there are no window
//!   updates and no persist timer.
//! - SACK blocks travel on packets without data, which leave before data that is sent at the same
//!   time. So a segment with data keeps its full length.
//! - There is no Nagle algorithm, no keep-alive, no RST and no TIME-WAIT: a side is done once its
//!   FIN is acknowledged and it has read the other's. It still answers until the other side is done
//!   as well.

mod config;
mod connection;
mod ecn;
mod observed;
mod offload;
mod pacing;
mod ranges;
mod rate;
mod receive_window;
mod receiver;
mod recovery;
mod rtt;
mod scoreboard;
mod send_buffer;
mod sender;
pub mod systems;
mod timer;
mod window_use;

pub use self::config::{
    Config, EcnMode, FastRecovery, MIN_IPV6_MTU, MinRtoOf, PrrMode, SsthreshFrom,
};
pub use self::connection::Connection;
