//! TCP: the mechanism.

pub mod sack;

use crate::context::Context;
use crate::endpoint::{Command, Endpoint};
use crate::flow::FlowId;
use crate::packet::{Packet, Side};
use crate::rng::Rng;

/// Parameters of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Largest packet, IP bytes.
    pub mtu: u16,
}

/// One side of a connection.
#[derive(Debug)]
pub struct Connection;

impl Connection {
    /// A closed connection.
    pub fn new(_flow: FlowId, _side: Side, _config: Config, _rng: Rng) -> Self {
        Self
    }
}

impl Endpoint for Connection {
    fn receive(&mut self, _packet: &Packet, _cx: &mut Context<'_>) {}
    fn command(&mut self, _command: Command, _cx: &mut Context<'_>) {}
}
