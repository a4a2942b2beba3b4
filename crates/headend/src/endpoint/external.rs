//! The endpoint of a real host, used in emulation.
//!
//! [`crate::simulation::Simulation::emit`] puts a real host's frames into the simulated network.
//! A frame that has crossed the network is recorded in the [`crate::trace::FrameStore`], from which
//! the emulator writes it out.

use super::{Command, Endpoint};
use crate::context::Context;
use crate::packet::Packet;

/// One side of a flow between real hosts. It sends nothing by itself.
#[derive(Debug, Default)]
pub struct External;

impl Endpoint for External {
    fn receive(&mut self, _packet: &Packet, _cx: &mut Context<'_>) {}

    fn command(&mut self, command: Command, _cx: &mut Context<'_>) {
        panic!("a real host takes no commands: {command:?}")
    }
}
