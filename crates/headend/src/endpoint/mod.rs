//! Where packets are born and where they end: one side of one connection or datagram stream.
//!
//! An endpoint talks to the network by [`Context`] and to its application by [`Notice`]s. TCP's endpoint lives in
//! [`crate::tcp`]; the outside world, in emulation, is one more endpoint.

mod external;
mod udp;

use std::fmt::Debug;

pub use external::External;
pub use udp::Udp;

pub use crate::notice::{News, Notice};

use crate::context::Context;
use crate::flow::FlowId;
use crate::metrics::sample::ConnectionSample;
use crate::packet::Packet;
use crate::time::Instant;

/// One side of a flow.
pub trait Endpoint: Debug + Send {
    /// Takes a packet that has reached this host. The simulation ends the packet afterwards.
    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>);
    /// A wake-up it asked for by [`wake_endpoint`] has come, perhaps one it no longer expects.
    fn wake(&mut self, token: u32, cx: &mut Context<'_>) {
        let _ = (token, cx);
    }
    /// Its application wants something.
    fn command(&mut self, command: Command, cx: &mut Context<'_>);
    /// Bytes of the stream that have arrived here in order.
    fn received(&self) -> u64 {
        0
    }
    /// Its state for the series, if it is a connection that has one.
    fn sample(&self) -> Option<ConnectionSample> {
        None
    }
}

/// What an application asks of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Tell me once no more than so many bytes of what I wrote wait to be sent for the first time: then I write on.
    Await {
        /// How many may wait.
        unsent: u64,
    },
    /// No more data will be sent from this side (TCP: FIN after the last byte).
    Close,
    /// Send one datagram.
    Datagram {
        /// Its number.
        number: u64,
        /// IP bytes.
        size: u16,
    },
    /// Tell me once so many bytes of the stream have arrived here, counted from its start.
    Expect {
        /// Stream offset.
        total: u64,
    },
    /// Open the connection (from this side).
    Open,
    /// Append so many bytes to the stream; `u64::MAX` never runs dry.
    Send {
        /// How many.
        bytes: u64,
    },
}

/// Schedules a wake-up of `(flow, side)` at `at`. It is ignored once the flow is closed.
pub fn wake_endpoint(cx: &mut Context<'_>, flow: FlowId, at: Instant, token: u32) {
    let generation = cx.header(flow).generation;
    cx.wake_at(at, (u64::from(generation) << 32) | u64::from(token));
}
