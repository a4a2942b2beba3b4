//! How the frames of real hosts ended: counts, and a digest by which two runs are compared.

use crate::clock::RealHostId;
use crate::packet::Packet;
use crate::time::Instant;
use crate::trace::DropReason;
use crate::wire::real;
use crate::wire::recording::Digest;

/// How the frames of a run ended. Those that are still in the network are in no count but
/// `entered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameEnds {
    /// Frames that entered the network.
    pub entered: u64,
    /// Frames that reached their receiver.
    pub delivered: u64,
    /// Frames that were discarded.
    pub discarded: u64,
    /// Delivered frames that the network marked CE.
    pub marked: u64,
    /// Frames that did not enter: no host has their address, or they are no IP packets.
    pub strays: u64,
    /// By it two runs are compared.
    pub digest: Digest,
}

impl Default for FrameEnds {
    fn default() -> Self {
        Self {
            entered: 0,
            delivered: 0,
            discarded: 0,
            marked: 0,
            strays: 0,
            digest: Digest::START,
        }
    }
}

impl FrameEnds {
    /// Counts a frame of `packet`, with `bytes`, that was delivered to `to`.
    pub(crate) fn delivered(
        &mut self,
        at: Instant,
        to: RealHostId,
        packet: &Packet,
        bytes: &[u8],
        marked: bool,
    ) {
        self.delivered += 1;
        self.marked += u64::from(marked);
        self.digest(at, to, 0, packet, bytes);
    }

    /// Counts a frame of `packet`, with `bytes`, that was on its way to `to` and discarded.
    pub(crate) fn discarded(
        &mut self,
        at: Instant,
        to: RealHostId,
        packet: &Packet,
        bytes: &[u8],
        reason: DropReason,
    ) {
        self.discarded += 1;
        self.digest(at, to, reason as u8 + 1, packet, bytes);
    }

    fn digest(&mut self, at: Instant, to: RealHostId, fate: u8, packet: &Packet, bytes: &[u8]) {
        let headers = real::headers(packet.size, packet.payload).min(bytes.len());
        let numbers = at.as_nanos().to_le_bytes().into_iter();
        let numbers = numbers
            .chain(to.0.to_le_bytes())
            .chain([fate, packet.ecn as u8])
            .chain(packet.size.to_le_bytes());
        for byte in numbers.chain(bytes[..headers].iter().copied()) {
            self.digest.add(u64::from(byte));
        }
    }
}
