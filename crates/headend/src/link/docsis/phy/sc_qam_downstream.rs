//! SC-QAM downstream channels: ITU-T J.83 Annex A (8 MHz) and Annex B (6 MHz), 64-QAM and 256-QAM,
//! alone or bonded.
//!
//! These overheads reduce the rate: trellis code and frame trailer (Annex B), the Reed-Solomon
//! code, and the 4-byte headers of the 188-byte MPEG packets that carry the MAC frames. The delay
//! of the interleaver follows from its taps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel;
use crate::link::docsis::timing::DownstreamTiming;
use crate::time::Duration;
use crate::units::Rate;

/// The part of ITU-T J.83 that a channel follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Annex {
    /// 8 MHz channels (Europe).
    A,
    /// 6 MHz channels (America).
    B,
}

/// Modulation of a downstream channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DownstreamModulation {
    /// 6 bits per symbol.
    Qam64,
    /// 8 bits per symbol.
    Qam256,
}

channel! {
    /// SC-QAM downstream channels.
    ScQamDownstream, ScQamDownstreamConfig {
        /// Channels in the bonding group, all alike.
        channels: u32,
        /// The part of ITU-T J.83 that the channels follow: `a` (8 MHz, Europe) or `b` (6 MHz,
        /// America).
        annex: Annex,
        /// Modulation.
        modulation: DownstreamModulation,
        /// Taps I of the interleaver: 8, 16, 32, 64 or 128 in Annex B, 12 in Annex A. More taps
        /// protect from longer bursts of noise, and increase the delay of all data, including MAPs.
        interleaver_taps: u32,
        /// Transmit pipeline of the CMTS.
        cmts_pipeline: Duration,
        /// Receive pipeline of the modem.
        modem_pipeline: Duration,
    }
}

impl Default for ScQamDownstream {
    /// Eight bonded channels of 256-QAM in 6 MHz, as in DOCSIS 3.0, with the default interleaver of
    /// CMTSs. The pipelines are a choice.
    fn default() -> Self {
        Self {
            channels: 8,
            annex: Annex::B,
            modulation: DownstreamModulation::Qam256,
            interleaver_taps: 32,
            cmts_pipeline: Duration::from_micros(50),
            modem_pipeline: Duration::from_micros(50),
        }
    }
}

/// Coding of a kind of channel, as defined by J.83.
struct Coding {
    /// Symbols per second.
    symbols: f64,
    /// Bits per symbol after the trellis code.
    bits: f64,
    /// Bits of a Reed-Solomon symbol.
    word: f64,
    /// Share that remains after the Reed-Solomon code and the frame trailer.
    rate: f64,
}

/// Share of an MPEG packet without its header.
const MPEG: f64 = 184.0 / 188.0;
/// Taps in Annex A, and the additional delay of each tap in bytes.
const ANNEX_A_TAPS: u32 = 12;
const ANNEX_A_INCREMENT: u32 = 17;
/// Product of taps and increment in Annex B.
const ANNEX_B_PRODUCT: u32 = 128;

impl ScQamDownstream {
    /// One 6 MHz channel: the downstream before channel bonding.
    pub fn single(modulation: DownstreamModulation) -> Self {
        Self {
            channels: 1,
            modulation,
            ..Self::default()
        }
    }

    /// Bits per second of one channel before any coding.
    pub fn raw_rate(&self) -> f64 {
        let bits = match self.modulation {
            DownstreamModulation::Qam64 => 6.0,
            DownstreamModulation::Qam256 => 8.0,
        };
        self.coding().symbols * bits
    }

    /// Bits per second of one channel after coding. J.83 calls this the information rate.
    pub fn information_rate(&self) -> f64 {
        let coding = self.coding();
        coding.symbols * coding.bits * coding.rate
    }

    /// Rate of MAC frames on all channels together.
    pub fn rate(&self) -> Rate {
        Rate((self.information_rate() * MPEG * f64::from(self.channels)) as u64)
    }

    /// Delay of the interleaver: I·J·(I − 1) Reed-Solomon symbols (J.83 Annex B.5.3, Annex A.5).
    pub fn interleaving(&self) -> Duration {
        let taps = self.interleaver_taps;
        let increment = match self.annex {
            Annex::A => ANNEX_A_INCREMENT,
            Annex::B => ANNEX_B_PRODUCT / taps.max(1),
        };
        let words = f64::from(taps * increment * taps.saturating_sub(1));
        let coding = self.coding();
        Duration::from_secs_f64(words * coding.word / (coding.symbols * coding.bits))
    }

    /// Whether the number of taps is allowed in this annex.
    pub fn has_taps_of_its_annex(&self) -> bool {
        match self.annex {
            Annex::A => self.interleaver_taps == ANNEX_A_TAPS,
            Annex::B => [8, 16, 32, 64, 128].contains(&self.interleaver_taps),
        }
    }

    /// The part of the downstream timing that depends on the channels.
    pub fn timing(&self) -> DownstreamTiming {
        DownstreamTiming {
            rate: self.rate(),
            symbol: Duration::ZERO,
            cmts_pipeline: self.cmts_pipeline,
            modem_pipeline: self.modem_pipeline,
            interleaving: self.interleaving(),
            propagation: Duration::ZERO,
            mac_header: 0,
        }
    }

    fn coding(&self) -> Coding {
        // Annex B: words of 7 bits, (128, 122) Reed-Solomon. A frame is 60 blocks and 42 bits with
        // 64-QAM, 88 blocks and 40 bits with 256-QAM.
        let frame = |blocks: f64, trailer: f64| {
            let block = 128.0 * 7.0;
            blocks * 122.0 * 7.0 / (blocks * block + trailer)
        };
        let annex_a = |bits| Coding {
            symbols: 6_952_000.0,
            bits,
            word: 8.0,
            rate: 188.0 / 204.0,
        };
        match (self.annex, self.modulation) {
            (Annex::A, DownstreamModulation::Qam64) => annex_a(6.0),
            (Annex::A, DownstreamModulation::Qam256) => annex_a(8.0),
            (Annex::B, DownstreamModulation::Qam64) => Coding {
                symbols: 5_056_941.0,
                bits: 6.0 * 14.0 / 15.0,
                word: 7.0,
                rate: frame(60.0, 42.0),
            },
            (Annex::B, DownstreamModulation::Qam256) => Coding {
                symbols: 5_360_537.0,
                bits: 8.0 * 19.0 / 20.0,
                word: 7.0,
                rate: frame(88.0, 40.0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(Annex, DownstreamModulation); 4] = [
        (Annex::B, DownstreamModulation::Qam64),
        (Annex::B, DownstreamModulation::Qam256),
        (Annex::A, DownstreamModulation::Qam64),
        (Annex::A, DownstreamModulation::Qam256),
    ];

    fn channel((annex, modulation): (Annex, DownstreamModulation)) -> ScQamDownstream {
        let interleaver_taps = match annex {
            Annex::A => 12,
            Annex::B => 32,
        };
        ScQamDownstream {
            annex,
            interleaver_taps,
            ..ScQamDownstream::single(modulation)
        }
    }

    #[test]
    fn raw_and_nominal_rates_are_those_of_the_published_table() {
        // Mbit/s, as CMTS manuals print them from the radio frequency interface specifications:
        // raw, and "about".
        let published = [(30.34, 27.0), (42.88, 38.0), (41.71, 37.0), (55.62, 50.0)];
        for (kind, (raw, nominal)) in KINDS.into_iter().zip(published) {
            let channel = channel(kind);
            let (found, carried) = (channel.raw_rate() / 1e6, channel.rate().0 as f64 / 1e6);
            assert!((found - raw).abs() < 0.006, "{kind:?}: {found}");
            assert!((carried - nominal).abs() < 0.7, "{kind:?}: {carried}");
        }
    }

    #[test]
    fn information_rates_of_annex_b_are_exact() {
        let rates = [0, 1].map(|kind| channel(KINDS[kind]).information_rate() / 1e6);
        assert!((rates[0] - 26.970_35).abs() < 1e-4, "{}", rates[0]);
        assert!((rates[1] - 38.810_70).abs() < 1e-4, "{}", rates[1]);
    }

    #[test]
    fn interleavers_delay_as_the_mibs_table_says() {
        // Milliseconds for 64-QAM and 256-QAM: Annex B by taps, then Annex A.
        let table = [
            (Annex::B, 8, [0.22, 0.15]),
            (Annex::B, 16, [0.48, 0.33]),
            (Annex::B, 32, [0.98, 0.68]),
            (Annex::B, 64, [2.0, 1.4]),
            (Annex::B, 128, [4.0, 2.8]),
            (Annex::A, 12, [0.43, 0.32]),
        ];
        for (annex, interleaver_taps, expected) in table {
            let modulations = [DownstreamModulation::Qam64, DownstreamModulation::Qam256];
            for (modulation, expected) in modulations.into_iter().zip(expected) {
                let channel = ScQamDownstream {
                    interleaver_taps,
                    ..channel((annex, modulation))
                };
                let millis = channel.interleaving().as_secs_f64() * 1e3;
                // The table has two significant figures.
                assert!(
                    (millis / expected - 1.0).abs() < 0.035,
                    "{millis} {expected}"
                );
                assert!(channel.has_taps_of_its_annex());
            }
        }
    }

    #[test]
    fn taps_of_the_other_annex_are_not_allowed() {
        let strange = ScQamDownstream {
            interleaver_taps: 12,
            ..ScQamDownstream::default()
        };
        assert!(!strange.has_taps_of_its_annex());
    }

    #[test]
    fn a_bonding_group_carries_the_sum_of_its_channels() {
        let one = ScQamDownstream::single(DownstreamModulation::Qam256)
            .rate()
            .0;
        let eight = ScQamDownstream::default().rate().0;
        assert!(eight.abs_diff(8 * one) <= 8, "{eight} {one}");
    }
}
