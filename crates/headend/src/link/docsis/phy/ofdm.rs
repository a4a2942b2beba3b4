//! The OFDM downstream channel of DOCSIS 3.1: subcarriers, LDPC codewords and their pointers,
//! symbols, the time interleaver.
//!
//! Formulas and defaults are those of the public DOCSIS module for ns-3, after PHY v3.1.

use super::channel;
use crate::link::docsis::timing::DownstreamTiming;
use crate::time::Duration;
use crate::units::{Probability, Rate};

channel! {
    /// An OFDM downstream channel.
    Ofdm, OfdmConfig {
        /// Subcarrier spacing in kHz: 25 or 50.
        spacing_khz: u32,
        /// Active data subcarriers, without pilots and guard bands.
        subcarriers: u32,
        /// The profile: mean number of bits per subcarrier and symbol, from 4 for 16-QAM to 14 for
        /// 16384-QAM.
        bits_per_subcarrier: f64,
        /// Interleaver depth M in symbols; 1 is off. It protects from bursts of noise, and delays
        /// all data by M − 1 symbols.
        interleaver_depth: u32,
        /// Cyclic prefix in samples of 204.8 MS/s.
        cyclic_prefix: u32,
        /// Transmit pipeline of the CMTS, in symbols.
        cmts_pipeline: u32,
        /// Receive pipeline of the modem, in symbols.
        modem_pipeline: u32,
        /// Mean share of a codeword that carries data.
        codeword_fill: Probability,
        /// Bits per subcarrier of the next-codeword pointers: 2, 4 or 6.
        pointer_bits: u32,
    }
}

impl Default for Ofdm {
    /// The defaults of the ns-3 module.
    fn default() -> Self {
        Self {
            spacing_khz: 50,
            subcarriers: 3745,
            bits_per_subcarrier: 12.0,
            interleaver_depth: 3,
            cyclic_prefix: 512,
            cmts_pipeline: 1,
            modem_pipeline: 1,
            codeword_fill: Probability(0.99),
            pointer_bits: 4,
        }
    }
}

/// Sampling clock, in samples per millisecond.
const SAMPLES: f64 = 204_800.0;
/// Bytes of an LDPC codeword, and of the data in it.
const CODEWORD: f64 = 2025.0;
const CODEWORD_DATA: f64 = 1777.0;
/// Bits of a next-codeword pointer.
const POINTER: f64 = 48.0;

impl Ofdm {
    /// The part of the downstream timing that depends on the channel.
    pub fn timing(&self) -> DownstreamTiming {
        let symbol = self.symbol();
        DownstreamTiming {
            rate: Rate((self.symbol_bytes() * 8.0 / symbol.as_secs_f64()) as u64),
            symbol,
            cmts_pipeline: symbol * u64::from(self.cmts_pipeline),
            modem_pipeline: symbol * u64::from(self.modem_pipeline),
            interleaving: self.interleaving(),
            propagation: Duration::ZERO,
            mac_header: 0,
        }
    }

    /// Delay of the interleaver.
    pub fn interleaving(&self) -> Duration {
        self.symbol() * u64::from(self.interleaver_depth.max(1) - 1)
    }

    /// Time of a MAP in both pipelines and one symbol. The ns-3 module counts these without cyclic
    /// prefix.
    pub fn pipelines_without_prefix(&self) -> Duration {
        let symbols = f64::from(self.cmts_pipeline + self.modem_pipeline + 1);
        Duration::from_secs_f64(symbols * 1e-3 / f64::from(self.spacing_khz))
    }

    fn symbol(&self) -> Duration {
        let symbol_ms = 1.0 / f64::from(self.spacing_khz) + f64::from(self.cyclic_prefix) / SAMPLES;
        Duration::from_secs_f64(symbol_ms * 1e-3)
    }

    /// Data bytes of a symbol. Codewords share the subcarriers with one pointer for each codeword.
    fn symbol_bytes(&self) -> f64 {
        let pointer = POINTER / f64::from(self.pointer_bits);
        let codeword = CODEWORD * 8.0 / self.bits_per_subcarrier;
        let codewords = (f64::from(self.subcarriers) - pointer) / (codeword + pointer);
        (codewords * self.codeword_fill.0 * CODEWORD_DATA).round()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_carry_what_the_ns3_module_says() {
        let timing = Ofdm::default().timing();
        assert_eq!(timing.symbol.as_nanos(), 22_500);
        assert_eq!(timing.interleaving.as_nanos(), 45_000);
        // 4816 bytes per symbol, minus the default MAPs of the ns-3 module of 490 B every 2 ms.
        let gbits = timing.rate.0 as f64 / 1e9;
        assert!((gbits - 1.714).abs() < 0.002, "{gbits}");
    }

    #[test]
    fn an_interleaver_of_depth_one_is_off() {
        let ofdm = Ofdm {
            interleaver_depth: 1,
            ..Ofdm::default()
        };
        assert_eq!(ofdm.interleaving(), Duration::ZERO);
    }

    #[test]
    fn pointers_in_richer_modulation_leave_more_for_data() {
        let rate = |pointer_bits| {
            let ofdm = Ofdm {
                pointer_bits,
                ..Ofdm::default()
            };
            ofdm.timing().rate.0
        };
        assert!(rate(2) < rate(4) && rate(4) < rate(6));
    }
}
