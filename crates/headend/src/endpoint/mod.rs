//! Where packets are born and where they end: one side of one connection or datagram stream.
//!
//! An endpoint talks to the network by [`Context`] and to its application by [`Notice`]s. TCP's endpoint lives in
//! [`crate::tcp`]; the outside world, in emulation, is one more endpoint.

mod external;
mod udp;

use std::fmt::Debug;

pub use external::External;
pub use udp::Udp;

use crate::context::{ConnectionSample, Context};
use crate::event::AppId;
use crate::flow::FlowId;
use crate::near::Step;
use crate::packet::{Ecn, Packet, Side};
use crate::time::{Duration, Instant};

/// One side of a flow.
pub trait Endpoint: Debug + Send {
    /// Asks for its state, in the second step, and for what that refers to, in the third; whether what comes brings data.
    fn fetch(&self, step: Step, brings_data: bool) {
        let _ = (step, brings_data);
    }
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

/// Something an endpoint tells its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// Which application.
    pub app: AppId,
    /// About which flow.
    pub flow: FlowId,
    /// What.
    pub news: News,
}

/// What happened on a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Both sides have closed and everything is acknowledged.
    Closed,
    /// The connection is open on the side that opened it.
    Connected,
    /// A datagram arrived.
    Delivered {
        /// On which side.
        at: Side,
        /// Its number.
        number: u64,
        /// IP bytes.
        size: u16,
        /// When it was sent.
        sent_at: Instant,
        /// One-way delay.
        delay: Duration,
        /// Its ECN field on arrival.
        ecn: Ecn,
    },
    /// The expected number of bytes has arrived.
    Received {
        /// On which side.
        at: Side,
        /// Stream offset reached.
        total: u64,
    },
    /// There is room to write on: no more than was awaited is left unsent.
    Writable {
        /// On which side.
        at: Side,
    },
}

/// Asks for `(flow, side)` to be woken at `at`. The wake-up dies with the flow.
pub fn wake_endpoint(cx: &mut Context<'_>, flow: FlowId, at: Instant, token: u32) {
    let generation = cx.header(flow).generation;
    cx.wake_at(at, (u64::from(generation) << 32) | u64::from(token));
}
