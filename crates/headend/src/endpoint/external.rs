//! The outside world: the endpoint of a real host in emulation.
//!
//! Frames that come in are let into the network by [`crate::simulation::Simulation::emit`]; a frame that has crossed it is told to the
//! [`crate::trace::FrameStore`], which the emulator writes out.

use super::{Command, Endpoint};
use crate::context::Context;
use crate::packet::Packet;

/// A real host.
#[derive(Debug, Default)]
pub struct External;

impl Endpoint for External {
    fn receive(&mut self, _packet: &Packet, _cx: &mut Context<'_>) {}

    fn command(&mut self, command: Command, _cx: &mut Context<'_>) {
        panic!("a real host takes no commands: {command:?}")
    }
}
