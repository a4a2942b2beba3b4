//! How long 802.11b frames are on the air.
//!
//! IEEE 802.11b-1999 §18.3.4: the duration of a frame is that of its preamble and PLCP header, plus
//! its bits at its rate, rounded up to whole microseconds. Control frames are sent at a basic rate.

use crate::time::Duration;
use crate::units::Rate;

/// The rates of 802.11b, in ascending order.
pub const RATES: [Rate; 4] = [
    Rate(1_000_000),
    Rate(2_000_000),
    Rate(5_500_000),
    Rate(11_000_000),
];

/// MPDU bytes of an acknowledgement and of CTS (§7.2.1.2, 7.2.1.3).
pub const ACK_BYTES: u64 = 14;
/// MPDU bytes of RTS (§7.2.1.1).
pub const RTS_BYTES: u64 = 20;
/// At this rate only the long preamble is allowed (§18.2.2.2).
const SLOWEST: Rate = RATES[0];

/// PLCP preamble and header before every frame.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Preamble {
    /// 192 us. Every station can decode it.
    #[default]
    Long,
    /// 96 us before frames of 2 Mbit/s and more; 192 us before those of 1 Mbit/s.
    Short,
}

/// Parameters of frame durations.
#[derive(Debug, Clone, PartialEq)]
pub struct Phy {
    /// The preamble of every frame.
    pub preamble: Preamble,
    /// Rates of control frames, in ascending order.
    pub basic_rates: Vec<Rate>,
    /// Bytes of an MPDU beyond the IP packet.
    pub overhead: u64,
}

impl Phy {
    /// Duration of an MPDU of `bytes` at `rate`.
    pub fn frame(&self, bytes: u64, rate: Rate) -> Duration {
        let plcp = match self.preamble {
            Preamble::Short if rate > SLOWEST => 96,
            _ => 192,
        };
        let micros = (bytes * 8_000_000).div_ceil(rate.0);
        Duration::from_micros(plcp + micros)
    }

    /// Bytes of the MPDU that carries an IP packet.
    pub fn mpdu(&self, packet: u16) -> u64 {
        u64::from(packet) + self.overhead
    }

    /// The rate of the answer to a frame sent at `rate`. It is the largest basic rate that is not
    /// larger than `rate` (§9.6), or the smallest basic rate if all are larger.
    pub fn control_rate(&self, rate: Rate) -> Rate {
        let below = self.basic_rates.iter().rev().find(|&&basic| basic <= rate);
        *below.unwrap_or(&self.basic_rates[0])
    }

    /// Duration of the acknowledgement or CTS that answers a frame sent at `rate`.
    pub fn answer(&self, rate: Rate) -> Duration {
        self.frame(ACK_BYTES, self.control_rate(rate))
    }

    /// Duration of the RTS before a frame sent at `rate`.
    pub fn rts(&self, rate: Rate) -> Duration {
        self.frame(RTS_BYTES, self.control_rate(rate))
    }

    /// Duration of the acknowledgement at the lowest basic rate. EIFS includes it (§9.2.10).
    pub fn slowest_answer(&self) -> Duration {
        self.frame(ACK_BYTES, self.basic_rates[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phy(preamble: Preamble) -> Phy {
        Phy {
            preamble,
            basic_rates: RATES[..2].to_vec(),
            overhead: 36,
        }
    }

    #[test]
    fn frames_last_as_the_standard_says() {
        let long = phy(Preamble::Long);
        let micros = |duration: Duration| duration.as_nanos() / 1000;
        // 1536 B at 11 Mbit/s are 1117.09 us.
        assert_eq!(micros(long.frame(long.mpdu(1500), RATES[3])), 192 + 1118);
        assert_eq!(micros(long.frame(long.mpdu(1500), RATES[0])), 192 + 12_288);
        assert_eq!(micros(long.answer(RATES[3])), 248);
        assert_eq!(micros(long.answer(RATES[0])), 304);
        assert_eq!(micros(long.rts(RATES[2])), 192 + 80);
        let short = phy(Preamble::Short);
        assert_eq!(micros(short.answer(RATES[3])), 96 + 56);
        assert_eq!(micros(short.answer(RATES[0])), 304);
        assert_eq!(micros(short.slowest_answer()), 304);
    }

    #[test]
    fn answers_go_at_the_largest_basic_rate_that_is_no_larger() {
        let mut phy = phy(Preamble::Long);
        assert_eq!(phy.control_rate(RATES[3]), RATES[1]);
        assert_eq!(phy.control_rate(RATES[0]), RATES[0]);
        phy.basic_rates = vec![RATES[1]];
        assert_eq!(phy.control_rate(RATES[0]), RATES[1]);
    }
}
