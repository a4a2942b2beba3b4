//! The OFDMA upstream channel of DOCSIS 3.1: subcarriers, frames of K symbols, minislots 400 kHz
//! wide.
//!
//! Formulas and defaults are those of the public DOCSIS module for ns-3, after PHY v3.1 and MULPI
//! v3.1 Annex B.

use super::channel;
use crate::link::docsis::timing::UpstreamTiming;
use crate::time::Duration;
use crate::units::Probability;

channel! {
    /// An OFDMA upstream channel.
    Ofdma, OfdmaConfig {
        /// Subcarrier spacing in kHz: 25 or 50. The symbol time is the inverse of the spacing, so a
        /// narrower spacing makes symbols longer.
        spacing_khz: u32,
        /// Active subcarriers: the width of the channel divided by the spacing.
        subcarriers: u32,
        /// Symbols in a frame (K). A longer frame has larger minislots, and a packet waits longer
        /// for the end of its frame.
        symbols_per_frame: u32,
        /// The profile: mean number of bits per subcarrier and symbol before coding, from 2 for
        /// QPSK to 12 for 4096-QAM.
        bits_per_subcarrier: f64,
        /// Share of these bits that remains after coding and pilots.
        code_rate: Probability,
        /// Cyclic prefix in samples of 102.4 MS/s. This time is lost in each symbol.
        cyclic_prefix: u32,
        /// Frames between two request opportunities. A larger value leaves more minislots for
        /// grants, and makes contention slower and collisions more frequent.
        frames_per_opportunity: u32,
        /// Minislots of a request opportunity.
        opportunity_minislots: u32,
        /// Transmit pipeline of the modem, in frames.
        modem_pipeline: u32,
        /// Receive pipeline of the CMTS, in frames.
        cmts_pipeline: u32,
        /// Bytes of the segment header in each segment of a grant.
        segment_header: u64,
    }
}

impl Default for Ofdma {
    /// The defaults of the ns-3 module. The request opportunities are a choice: one in each frame,
    /// because that module lets requests begin with any frame.
    fn default() -> Self {
        Self {
            spacing_khz: 50,
            subcarriers: 1880,
            symbols_per_frame: 6,
            bits_per_subcarrier: 10.0,
            code_rate: Probability(0.8),
            cyclic_prefix: 256,
            frames_per_opportunity: 1,
            opportunity_minislots: 1,
            modem_pipeline: 1,
            cmts_pipeline: 1,
            segment_header: 8,
        }
    }
}

/// Sampling clock, in samples per millisecond.
const SAMPLES: f64 = 102_400.0;
/// Width of a minislot.
const MINISLOT_KHZ: u32 = 400;

impl Ofdma {
    /// The part of the upstream timing that depends on the channel.
    pub fn timing(&self) -> UpstreamTiming {
        let frame = self.frame();
        UpstreamTiming {
            frame,
            minislots_per_frame: u64::from(self.subcarriers * self.spacing_khz / MINISLOT_KHZ),
            minislot_bytes: self.minislot_bytes(),
            segment_overhead: self.segment_header,
            opportunity_minislots: u64::from(self.opportunity_minislots),
            modem_pipeline: frame * u64::from(self.modem_pipeline),
            cmts_pipeline: frame * u64::from(self.cmts_pipeline),
            burst_preparation: frame,
            ..UpstreamTiming::blank()
        }
    }

    /// K symbols. Each symbol lasts for the inverse of the spacing and the cyclic prefix.
    fn frame(&self) -> Duration {
        let symbol_ms = 1.0 / f64::from(self.spacing_khz) + f64::from(self.cyclic_prefix) / SAMPLES;
        Duration::from_secs_f64(f64::from(self.symbols_per_frame) * symbol_ms * 1e-3)
    }

    /// Whole bytes of a minislot after coding.
    fn minislot_bytes(&self) -> u64 {
        let subcarriers = f64::from(MINISLOT_KHZ) / f64::from(self.spacing_khz);
        let bits = subcarriers * f64::from(self.symbols_per_frame) * self.bits_per_subcarrier;
        (bits * self.code_rate.0 / 8.0 + 1e-9) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_ns3_modules_frame_and_minislots() {
        let timing = Ofdma::default().timing();
        assert_eq!(timing.frame, Duration::from_micros(135));
        assert_eq!(timing.minislots_per_frame, 235);
        assert_eq!(timing.minislot_bytes, 48);
    }

    #[test]
    fn narrow_subcarriers_make_long_symbols_and_minislots_of_sixteen() {
        let ofdma = Ofdma {
            spacing_khz: 25,
            subcarriers: 3760,
            ..Ofdma::default()
        };
        let timing = ofdma.timing();
        assert_eq!(timing.frame, Duration::from_micros(6 * 40 + 15));
        assert_eq!(timing.minislots_per_frame, 235);
        assert_eq!(timing.minislot_bytes, 96);
    }

    #[test]
    fn a_poorer_profile_carries_in_proportion_to_its_bits() {
        let bytes = |bits_per_subcarrier| {
            let ofdma = Ofdma {
                bits_per_subcarrier,
                ..Ofdma::default()
            };
            ofdma.timing().minislot_bytes
        };
        assert_eq!([bytes(2.5), bytes(5.0), bytes(10.0)], [12, 24, 48]);
    }
}
