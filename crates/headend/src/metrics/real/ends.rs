//! How the frames of real hosts ended: counts, and a digest by which two runs are compared.

use crate::clock::RealHostId;
use crate::packet::Ecn;
use crate::time::Instant;
use crate::trace::DropReason;
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
            digest: Digest(OFFSET),
        }
    }
}

impl FrameEnds {
    /// Counts a frame that was delivered to `to` with `ecn`.
    pub(crate) fn delivered(&mut self, at: Instant, to: RealHostId, ecn: Ecn, marked: bool) {
        self.delivered += 1;
        self.marked += u64::from(marked);
        self.digest(at, to, 0, ecn);
    }

    /// Counts a frame for `to` that was discarded.
    pub(crate) fn discarded(&mut self, at: Instant, to: RealHostId, reason: DropReason, ecn: Ecn) {
        self.discarded += 1;
        self.digest(at, to, reason as u8 + 1, ecn);
    }

    fn digest(&mut self, at: Instant, to: RealHostId, fate: u8, ecn: Ecn) {
        let bytes = at.as_nanos().to_le_bytes().into_iter();
        let bytes = bytes.chain(to.0.to_le_bytes()).chain([fate, ecn as u8]);
        for byte in bytes {
            self.digest.0 = (self.digest.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
}

/// FNV-1a for 64 bits: draft-eastlake-fnv, section 5.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
