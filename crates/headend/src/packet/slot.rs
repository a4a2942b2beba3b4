//! The place of a packet in a ring or a slab: a cache line, which it is moved into and out of as a whole.
//!
//! (A standard deque gives an `Option`, whose mark is one of the packet's bytes; a packet moved around its mark in pieces holds up whoever reads it next.)
//! Only here is a packet copied. What it leaves behind counts for nothing: to wipe it out would cost as much as to move it.

use super::{Packet, Side};
use crate::flow::FlowId;

/// A packet's place.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Slot(Packet);

const _: () = assert!(
    size_of::<Slot>() == size_of::<Packet>(),
    "a place takes no more than its packet"
);

impl Slot {
    /// A place where no packet is.
    pub(crate) const EMPTY: Self = Self(Packet::datagram(FlowId(0), Side::Host, 0, 0, 0));

    /// Puts a packet into an empty place; it, there. A field is set there: a byte written just before the move would hold the move up.
    #[inline]
    pub(crate) fn put(&mut self, packet: Packet) -> &mut Packet {
        self.0 = packet;
        &mut self.0
    }

    /// The packet that is here.
    #[inline]
    pub(crate) fn packet(&self) -> &Packet {
        &self.0
    }

    /// Takes the packet out. The place is empty then, which whoever keeps it has to know.
    #[inline]
    pub(crate) fn take(&mut self) -> Packet {
        Packet(self.0.0)
    }
}
