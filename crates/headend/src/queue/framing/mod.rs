//! Which bytes of a packet a line counts: its IP bytes, what frames add to them, and the cells that
//! they are cut into.
//!
//! The size on the wire is counted in this order, as `tc-cake(8)` and `tc-stab(8)` describe it:
//!
//! 1. **Overhead**: the bytes that headers and trailers add to each IP packet. It may be negative,
//!    for a line that compresses headers.
//! 2. **Minimum packet unit** (mpu): a shorter frame is padded to it.
//! 3. **Cells**. ATM (ITU-T I.432) sends whole cells of 53 bytes, each of which carries 48. PTM
//!    (IEEE 802.3-2018 §61.3, 64b/65b) adds a byte to each 64.
//!
//! Deviation: PTM's byte for a 64 that is begun counts whole, as `tc` counts it. On a line it
//! comes with the 64 bytes, whatever packets they belong to.

mod config;

pub use config::{FramingConfig, FramingTable, Keyword};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::utilisation::Left;
use crate::packet::Packet;

/// Bytes of a cell of ATM, and those that it carries (ITU-T I.361).
const ATM_CELL: u64 = 53;
const ATM_PAYLOAD: u64 = 48;
/// Bytes that PTM sends in 65 (IEEE 802.3-2018 §61.3.3).
const PTM_PAYLOAD: u64 = 64;

/// How a line counts the bytes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Bytes that the line adds to each IP packet.
    pub overhead: i16,
    /// Shorter frames are padded to this many bytes, the overhead included.
    pub mpu: u16,
    /// What frames are cut into.
    pub cells: Cells,
}

/// What a line cuts frames into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cells {
    /// Cells of 53 bytes with 48 of a frame, of which the last is filled up.
    Atm,
    /// Nothing: a frame is sent as it is.
    #[default]
    None,
    /// Blocks of 65 bytes with 64 of a frame.
    Ptm,
}

impl Framing {
    /// IP bytes alone, without padding or overhead.
    pub const IP: Self = Self {
        overhead: 0,
        mpu: 0,
        cells: Cells::None,
    };
    /// A DOCSIS MAC PDU from after the HCS to the CRC: Ethernet header, payload of at least 46 B,
    /// FCS (RFC 8034 appendix A.1.4).
    pub const ETHERNET: Self = Self {
        overhead: 18,
        mpu: 64,
        cells: Cells::None,
    };

    /// Bytes on the wire of a packet of `ip_bytes`.
    #[inline]
    pub fn size_on_wire(self, ip_bytes: u16) -> u64 {
        let framed = (i64::from(ip_bytes) + i64::from(self.overhead)).max(i64::from(self.mpu));
        let framed = framed.max(1).unsigned_abs();
        match self.cells {
            Cells::Atm => framed.div_ceil(ATM_PAYLOAD) * ATM_CELL,
            Cells::None => framed,
            Cells::Ptm => framed + framed.div_ceil(PTM_PAYLOAD),
        }
    }

    /// Bytes of `packet` on this line.
    #[inline]
    pub fn bytes(self, packet: &Packet) -> u64 {
        self.size_on_wire(packet.size)
    }

    /// The framing with a header of so many bytes more, before each padded frame.
    #[must_use]
    pub fn with_header(self, bytes: u16) -> Self {
        Self {
            overhead: self.overhead + bytes as i16,
            mpu: self.mpu + bytes,
            ..self
        }
    }

    /// Bits on this line of all that left a queue. For a line without cells, that pads packets as
    /// Ethernet does or not at all.
    pub fn bits_of_all(self, left: Left) -> f64 {
        debug_assert!(self.cells == Cells::None && self.overhead >= 0);
        let padding = if self.mpu > 0 { left.padding } else { 0 };
        let overhead = left.packets * u64::from(self.overhead.unsigned_abs());
        (left.bytes + padding + overhead) as f64 * 8.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(overhead: i16, mpu: u16, cells: Cells) -> [u64; 4] {
        let framing = Framing {
            overhead,
            mpu,
            cells,
        };
        [46, 100, 576, 1500].map(|size| framing.size_on_wire(size))
    }

    /// Measured with `tc` on Linux 6.1 and 6.12, for IP packets of 46, 100, 576 and 1500 bytes.
    #[test]
    fn bytes_are_counted_as_a_linux_kernel_counts_them() {
        use Cells::{Atm, None, Ptm};
        assert_eq!(sizes(0, 0, None), [46, 100, 576, 1500]);
        assert_eq!(sizes(14, 0, None), [60, 114, 590, 1514]);
        assert_eq!(sizes(38, 84, None), [84, 138, 614, 1538]);
        assert_eq!(sizes(18, 64, None), [64, 118, 594, 1518]);
        assert_eq!(sizes(44, 0, Atm), [106, 159, 689, 1749]);
        assert_eq!(sizes(32, 0, Atm), [106, 159, 689, 1696]);
        assert_eq!(sizes(48, 0, Atm), [106, 212, 689, 1749]);
        assert_eq!(sizes(22, 0, Ptm), [70, 124, 608, 1546]);
        assert_eq!(sizes(30, 0, Ptm), [78, 133, 616, 1554]);
        assert_eq!(sizes(-10, 0, None), [36, 90, 566, 1490]);
        assert_eq!(sizes(14, 256, None), [256, 256, 590, 1514]);
    }

    #[test]
    fn the_padding_of_ethernet_and_a_header_before_it_are_counted_once() {
        assert_eq!(Framing::ETHERNET.size_on_wire(40), 64);
        assert_eq!(Framing::ETHERNET.with_header(6).size_on_wire(40), 70);
        let left = Left {
            packets: 2,
            bytes: 1540,
            padding: 6,
        };
        let bits = Framing::ETHERNET.with_header(6).bits_of_all(left);
        assert!((bits - 8.0 * (70.0 + 1524.0)).abs() < 1e-9);
    }

    #[test]
    fn a_header_that_is_compressed_away_leaves_a_byte() {
        let framing = Framing {
            overhead: -64,
            ..Framing::IP
        };
        assert_eq!(framing.size_on_wire(40), 1);
    }
}
