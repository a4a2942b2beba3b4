//! Endpoints: one side of one connection or datagram stream, where packets are created and
//! consumed.
//!
//! An endpoint sends packets through its [`Context`] and reports events to its application as
//! [`Notice`]s. The TCP endpoint is in [`crate::tcp`]. In emulation, a real host is an endpoint too
//! ([`real`]).

pub(crate) mod real;
mod udp;

use std::fmt::Debug;

pub use udp::Udp;

pub use crate::notice::{News, Notice};

use crate::context::Context;
use crate::flow::FlowId;
use crate::metrics::sample::ConnectionSample;
use crate::metrics::tcp_info::TcpInfo;
use crate::packet::Packet;
use crate::time::Instant;

/// One side of a flow.
pub trait Endpoint: Debug + Send {
    /// Receives a packet that has arrived at this host. The simulation frees the packet afterwards.
    fn receive(&mut self, packet: &Packet, cx: &mut Context<'_>);
    /// Handles a wake-up that this endpoint scheduled with [`wake_endpoint`]. The wake-up may be
    /// outdated.
    fn wake(&mut self, token: u32, cx: &mut Context<'_>) {
        let _ = (token, cx);
    }
    /// Carries out a command of the application.
    fn command(&mut self, command: Command, cx: &mut Context<'_>);
    /// Number of bytes of the stream that have arrived here in order.
    fn received(&self) -> u64 {
        0
    }
    /// Records measurements that are still pending, up to now.
    fn catch_up(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// State of the connection for the time series; `None` if the endpoint is no connection.
    fn sample(&self) -> Option<ConnectionSample> {
        None
    }
    /// What Linux's `tcp_info` would say at `now`; `None` if the endpoint sends no stream, or if
    /// it was not kept when its connection was opened.
    fn tcp_info(&self, now: Instant) -> Option<TcpInfo> {
        let _ = now;
        None
    }
}

/// A command of an application to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Report [`News::Writable`] once at most this many written bytes have not been sent for the
    /// first time.
    Await {
        /// Largest number of unsent bytes.
        unsent: u64,
    },
    /// Send no more data from this side (TCP: a FIN after the last byte).
    Close,
    /// Send one datagram.
    Datagram {
        /// Its sequence number.
        number: u64,
        /// Its size, IP bytes.
        size: u16,
    },
    /// Report [`News::Received`] once this many bytes of the stream have arrived here.
    Expect {
        /// Offset from the start of the stream.
        total: u64,
    },
    /// Open the connection from this side.
    Open,
    /// Append this many bytes to the stream; `u64::MAX` is an endless supply.
    Send {
        /// Number of bytes.
        bytes: u64,
    },
}

/// Schedules a wake-up of the current endpoint, one side of `flow`, at `at`. The wake-up is ignored
/// once the flow is closed.
pub fn wake_endpoint(cx: &mut Context<'_>, flow: FlowId, at: Instant, token: u32) {
    let generation = cx.header(flow).generation;
    cx.wake_at(at, (u64::from(generation) << 32) | u64::from(token));
}
