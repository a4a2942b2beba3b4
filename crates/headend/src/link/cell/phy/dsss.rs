//! 802.11b frames on the air: direct sequence and CCK.
//!
//! IEEE 802.11b-1999 §18.3.4: the duration of a frame is that of its preamble and PLCP header,
//! plus its bits at its rate, rounded up to whole microseconds.

use crate::time::Duration;
use crate::units::Rate;

/// The rates of 802.11b, in ascending order.
pub const RATES: [Rate; 4] = [
    Rate(1_000_000),
    Rate(2_000_000),
    Rate(5_500_000),
    Rate(11_000_000),
];

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

impl Preamble {
    /// Duration of an MPDU of `bytes` at `rate`.
    pub(super) fn frame(self, bytes: u64, rate: Rate) -> Duration {
        let plcp = match self {
            Self::Short if rate > SLOWEST => 96,
            _ => 192,
        };
        let micros = (bytes * 8_000_000).div_ceil(rate.0);
        Duration::from_micros(plcp + micros)
    }
}
