//! Explicit congestion notification (RFC 3168) and Accurate ECN (RFC 9768): what a handshake agrees
//! on, what a sender makes of the feedback, and what a receiver gives.
//!
//! Accurate ECN's option, which counts bytes, is left out: the three bits of the ACE field count
//! packets modulo 8.

use super::config::EcnMode;
use crate::packet::{Ecn, Flags, Packet};

/// RFC 9768 §3.2.1: what the count of marked packets starts with, on both sides.
const INITIAL_MARKED: u8 = 5;

/// What a SYN with `flags` is granted by a side that may use `mode` (RFC 3168 §6.1.1, RFC 9768
/// §3.1.2).
pub(super) fn grant(mode: EcnMode, flags: Flags) -> EcnMode {
    match mode {
        EcnMode::Accurate if flags.ace() == 7 => EcnMode::Accurate,
        EcnMode::Accurate | EcnMode::On if flags.has(Flags::ECE.with(Flags::CWR)) => EcnMode::On,
        _ => EcnMode::Off,
    }
}

/// What a SYN-ACK with `flags` grants a side that asked for `mode` (RFC 9768 §3.1.1, table 2).
pub(super) fn granted(mode: EcnMode, flags: Flags) -> EcnMode {
    match (mode, flags.ace()) {
        (EcnMode::Accurate, 2 | 3 | 4 | 6) => EcnMode::Accurate,
        (EcnMode::Accurate | EcnMode::On, 1) => EcnMode::On,
        _ => EcnMode::Off,
    }
}

/// The sender's side: reads the feedback of acknowledgements.
#[derive(Debug)]
pub(super) struct FeedbackReader {
    /// What both sides agreed on.
    mode: EcnMode,
    /// Accurate ECN: marked packets so far, as far as the three bits say (RFC 9768 §3.2.1:
    /// `s.cep`).
    marked: u8,
    /// Accurate ECN: the same without the bits' limit.
    reported: u64,
    /// The next new segment says CWR.
    cwr_due: bool,
}

impl FeedbackReader {
    /// Before the handshake.
    pub(super) fn new() -> Self {
        Self {
            mode: EcnMode::Off,
            marked: INITIAL_MARKED,
            reported: 0,
            cwr_due: false,
        }
    }

    /// What the handshake agreed on.
    pub(super) fn use_ecn(&mut self, mode: EcnMode) {
        self.mode = mode;
    }

    /// RFC 3168 §6.1.2: whether an acknowledgement echoes a mark.
    #[inline]
    pub(super) fn is_echo(&self, flags: Flags) -> bool {
        self.mode == EcnMode::On && flags.has(Flags::ECE)
    }

    /// Bytes newly reported as marked, of `acked` newly acknowledged ones (RFC 9768 §3.2.2.5.2,
    /// appendix A.2). Where so many packets are acknowledged at once that the three bits may have
    /// wrapped, it is the most that fits. `None` without Accurate ECN.
    #[inline]
    pub(super) fn count_marks(&mut self, flags: Flags, acked: u64, mss: u64) -> Option<u64> {
        if self.mode != EcnMode::Accurate {
            return None;
        }
        let newly = u64::from(flags.ace().wrapping_sub(self.marked) & 7);
        self.marked = flags.ace();
        let packets = acked.div_ceil(mss);
        let newly = if packets < 8 {
            newly
        } else {
            packets - (packets - newly) % 8
        };
        self.reported += newly;
        Some((newly * mss).min(acked))
    }

    /// Packets reported as marked so far. `None` without Accurate ECN, which alone counts them.
    pub(super) fn reported(&self) -> Option<u64> {
        (self.mode == EcnMode::Accurate).then_some(self.reported)
    }

    /// RFC 3168 §6.1.2: the window was reduced because of a mark, which the next new segment says.
    /// RFC 9768 §3.3 has no such answer.
    pub(super) fn responded(&mut self) {
        self.cwr_due = self.mode == EcnMode::On;
    }

    /// Whether the new segment that is about to be sent says CWR.
    #[inline]
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }
}

/// The receiver's side: what acknowledgements say of marks.
#[derive(Debug)]
pub(super) struct FeedbackWriter {
    /// What both sides agreed on.
    mode: EcnMode,
    /// The flags of acknowledgements, with ECN's echo or count.
    flags: Flags,
    /// Accurate ECN: CE-marked packets so far (RFC 9768 §3.2.1: `r.cep`), and whether the latest
    /// was one.
    marked: u8,
    was_marked: bool,
}

impl FeedbackWriter {
    /// Before the handshake.
    pub(super) fn new() -> Self {
        Self {
            mode: EcnMode::Off,
            flags: Flags::ACK,
            marked: INITIAL_MARKED,
            was_marked: false,
        }
    }

    /// What the handshake agreed on.
    pub(super) fn use_ecn(&mut self, mode: EcnMode) {
        self.mode = mode;
        if mode == EcnMode::Accurate {
            self.flags = Flags::ACK.with_ace(self.marked);
        }
    }

    /// Takes in a segment with data; whether it is the first marked one after others, of which
    /// Accurate ECN reports at once.
    #[inline]
    pub(super) fn take_in(&mut self, packet: &Packet) -> bool {
        let is_marked = packet.ecn == Ecn::Ce;
        match self.mode {
            EcnMode::Off | EcnMode::Auto => false,
            EcnMode::On => {
                // RFC 3168 §6.1.3: CWR ends the echo, a mark on the same segment begins it anew.
                let echoing = self.flags.has(Flags::ECE) && !packet.flags.has(Flags::CWR);
                self.flags = if echoing || is_marked {
                    Flags::ACK.with(Flags::ECE)
                } else {
                    Flags::ACK
                };
                false
            }
            EcnMode::Accurate => {
                // RFC 9768 §3.2.2. With an acknowledgement for every second segment, three bits are
                // enough.
                if is_marked {
                    self.marked = self.marked.wrapping_add(1);
                    self.flags = Flags::ACK.with_ace(self.marked);
                }
                // RFC 9768 §3.2.2.5.1: a change-triggered acknowledgement.
                let is_change = is_marked && !self.was_marked;
                self.was_marked = is_marked;
                is_change
            }
        }
    }

    /// The flags of an acknowledgement.
    #[inline]
    pub(super) fn flags(&self) -> Flags {
        self.flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn accurate_ecn_reports_how_much_was_marked_also_where_three_bits_wrap() {
        let mut reader = FeedbackReader::new();
        reader.use_ecn(EcnMode::Accurate);
        let mut count = |ace, acked| {
            let flags = Flags::ACK.with_ace(ace);
            (reader.count_marks(flags, acked, MSS)).expect("Accurate ECN is used")
        };
        // The counts start at 5.
        assert_eq!(count(5, 2 * MSS), 0);
        assert_eq!(count(6, 2 * MSS), MSS);
        assert_eq!(count(0, 2 * MSS), 2 * MSS);
        assert_eq!(count(2, 500), 500, "no more than was acknowledged");
        // Ten at once, and one more modulo 8: nine.
        assert_eq!(count(3, 10 * MSS), 9 * MSS);
        assert_eq!(count(3, 7 * MSS), 0);
    }
}
