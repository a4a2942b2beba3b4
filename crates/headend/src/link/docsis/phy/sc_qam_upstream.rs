//! SC-QAM upstream channels: symbols, minislots, Reed-Solomon coding and the overhead of a burst.
//! Several channels may be bonded.
//!
//! A burst consists of preamble, codewords of k bytes with 2T bytes of parity each, and guard time
//! (DOCSIS physical layer, TDMA upstream). A minislot is a power of two of 6.25 µs ticks. The
//! channels of a bonding group are equal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel;
use crate::link::docsis::timing::UpstreamTiming;
use crate::time::Duration;

/// Modulation of an upstream channel.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UpstreamModulation {
    /// 2 bits per symbol.
    Qpsk,
    /// 3 bits per symbol.
    Qam8,
    /// 4 bits per symbol.
    Qam16,
    /// 5 bits per symbol.
    Qam32,
    /// 6 bits per symbol.
    Qam64,
}

channel! {
    /// SC-QAM upstream channels.
    ScQamUpstream, ScQamUpstreamConfig {
        /// Channels in the bonding group, all alike.
        channels: u32,
        /// Symbol rate of each channel in thousands of symbols per second: 160 to 5120, by powers
        /// of two. The width of a channel is 1.25 times as much: 5120 in 6.4 MHz.
        ksymbols: u32,
        /// Modulation of data bursts.
        modulation: UpstreamModulation,
        /// Forward error correction T: bytes that a Reed-Solomon codeword can correct, at the cost
        /// of 2T bytes of parity. 0 is none.
        fec_t: u32,
        /// Forward error correction k: data bytes in a codeword.
        fec_k: u32,
        /// Symbols of preamble before each burst.
        preamble: u32,
        /// Symbols of guard time after each burst.
        guard: u32,
        /// Length of a minislot in ticks of 6.25 µs.
        minislot_ticks: u32,
        /// Bytes of the segment header in each segment of a grant. 0 before DOCSIS 3.0.
        segment_header: u64,
        /// Request opportunities in the MAP of each channel. More opportunities reduce collisions,
        /// and leave fewer minislots for grants.
        opportunities: u32,
        /// Minislots of a request opportunity: preamble and guard time, and 6 or 7 bytes in QPSK.
        opportunity_minislots: u32,
        /// Transmit pipeline of the modem.
        modem_pipeline: Duration,
        /// Receive pipeline of the CMTS.
        cmts_pipeline: Duration,
    }
}

impl Default for ScQamUpstream {
    /// Four bonded 6.4 MHz channels of 64-QAM, as in DOCSIS 3.0. Burst profile, opportunities and
    /// pipelines are choices, with common values of CMTSs.
    fn default() -> Self {
        Self {
            channels: 4,
            ksymbols: 5120,
            modulation: UpstreamModulation::Qam64,
            fec_t: 9,
            fec_k: 232,
            preamble: 32,
            guard: 22,
            minislot_ticks: 2,
            segment_header: 8,
            opportunities: 5,
            opportunity_minislots: 2,
            modem_pipeline: Duration::from_micros(100),
            cmts_pipeline: Duration::from_micros(100),
        }
    }
}

/// Time unit of minislots.
const TICK: Duration = Duration::from_nanos(6_250);
/// Time from reading the queue length to sending a burst. No source gives it for SC-QAM, so this is
/// the value of the ns-3 module for OFDMA.
const BURST_PREPARATION: Duration = Duration::from_micros(135);

impl UpstreamModulation {
    /// Bits per symbol.
    pub fn bits(self) -> u32 {
        match self {
            Self::Qpsk => 2,
            Self::Qam8 => 3,
            Self::Qam16 => 4,
            Self::Qam32 => 5,
            Self::Qam64 => 6,
        }
    }
}

impl ScQamUpstream {
    /// One 3.2 MHz channel of 16-QAM, the fastest of DOCSIS 1.x. Coding and guard time (T 8, k 220,
    /// 8 symbols) are those of the default burst profile that Cisco documents for its first CMTSs.
    /// So is the preamble of 40 symbols.
    pub fn docsis1() -> Self {
        Self {
            channels: 1,
            ksymbols: 2560,
            modulation: UpstreamModulation::Qam16,
            fec_t: 8,
            fec_k: 220,
            preamble: 40,
            guard: 8,
            minislot_ticks: 4,
            segment_header: 0,
            opportunities: 2,
            opportunity_minislots: 1,
            ..Self::default()
        }
    }

    /// One 6.4 MHz channel of 64-QAM.
    pub fn docsis2() -> Self {
        Self {
            channels: 1,
            segment_header: 0,
            ..Self::default()
        }
    }

    /// Bits per second of all channels before coding.
    pub fn raw_rate(&self) -> u64 {
        u64::from(self.channels)
            * u64::from(self.ksymbols)
            * 1000
            * u64::from(self.modulation.bits())
    }

    /// Symbols of a minislot.
    pub fn minislot_symbols(&self) -> u32 {
        self.ksymbols * self.minislot_ticks / 160
    }

    /// Whole data bytes of a minislot: of k + 2T bytes, k are data.
    pub fn minislot_bytes(&self) -> u64 {
        let bits = u64::from(self.minislot_symbols() * self.modulation.bits());
        let (data, codeword) = self.coding();
        bits * data / codeword / 8
    }

    /// Overhead of each segment of a grant, in data bytes. It consists of the segment header, the
    /// minislots of preamble and guard time, and the parity of half a codeword. The last codeword
    /// of a burst is shortened, but its parity is not.
    pub fn segment_overhead(&self) -> u64 {
        let symbol_bits = u64::from(self.modulation.bits());
        let bits = u64::from(self.preamble + self.guard) * symbol_bits + u64::from(self.fec_t) * 8;
        let minislot_bits = u64::from(self.minislot_symbols()) * symbol_bits;
        self.segment_header + (bits * self.minislot_bytes()).div_ceil(minislot_bits)
    }

    /// Data bytes of a codeword, and all its bytes.
    fn coding(&self) -> (u64, u64) {
        let data = u64::from(self.fec_k);
        (data, data + 2 * u64::from(self.fec_t))
    }

    /// The part of the upstream timing that depends on the channels.
    pub fn timing(&self) -> UpstreamTiming {
        UpstreamTiming {
            channels: u64::from(self.channels),
            frame: TICK * u64::from(self.minislot_ticks),
            minislots_per_frame: 1,
            minislot_bytes: self.minislot_bytes(),
            segment_overhead: self.segment_overhead(),
            opportunity_minislots: u64::from(self.opportunity_minislots),
            modem_pipeline: self.modem_pipeline,
            cmts_pipeline: self.cmts_pipeline,
            burst_preparation: BURST_PREPARATION,
            ..UpstreamTiming::blank()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A channel with this symbol rate and modulation.
    fn one(ksymbols: u32, modulation: UpstreamModulation) -> ScQamUpstream {
        ScQamUpstream {
            ksymbols,
            modulation,
            ..ScQamUpstream::docsis2()
        }
    }

    #[test]
    fn raw_rates_are_those_of_the_published_table() {
        use UpstreamModulation::{Qam16, Qam32, Qam64, Qpsk};
        // kbit/s, by width and modulation.
        let table = [
            (160, [320, 640, 800, 960]),
            (1280, [2_560, 5_120, 6_400, 7_680]),
            (2560, [5_120, 10_240, 12_800, 15_360]),
            (5120, [10_240, 20_480, 25_600, 30_720]),
        ];
        for (ksymbols, expected) in table {
            let rates = [Qpsk, Qam16, Qam32, Qam64]
                .map(|modulation| one(ksymbols, modulation).raw_rate() / 1000);
            assert_eq!(rates, expected, "{ksymbols}");
        }
    }

    #[test]
    fn a_64_qam_channel_of_6_4_mhz_carries_about_twenty_seven_megabits_of_long_bursts() {
        let qam = one(5120, UpstreamModulation::Qam64);
        assert_eq!(qam.minislot_symbols(), 64);
        // 48 B raw, times 232 of 250.
        assert_eq!(qam.minislot_bytes(), 44);
        // Bursts of a kilobyte: 24 minislots of 12.5 us for the bytes and the overhead.
        let minislots = (1024 + qam.segment_overhead()).div_ceil(qam.minislot_bytes());
        let mbits = 1024.0 * 8.0 / (minislots as f64 * 12.5);
        assert!((26.0..27.5).contains(&mbits), "{mbits}");
    }

    #[test]
    fn a_burst_pays_preamble_guard_time_and_the_parity_of_half_a_codeword() {
        let qam = one(5120, UpstreamModulation::Qam64);
        // (32 + 22) symbols of 6 bits are 40.5 B, parity 9 B: 49.5 of 48 raw bytes, in data bytes.
        assert_eq!(qam.segment_overhead(), 46);
        let headed = ScQamUpstream {
            segment_header: 8,
            ..qam
        };
        assert_eq!(headed.segment_overhead(), 54);
    }

    #[test]
    fn grants_hold_the_codewords_of_real_bursts() {
        // The exact size of a burst: preamble, guard time and the parity of every codeword, rounded
        // up to minislots.
        let exact = |qam: &ScQamUpstream, bytes: u64| {
            let parity = bytes.div_ceil(u64::from(qam.fec_k)) * 2 * u64::from(qam.fec_t);
            let bits = (bytes + parity) * 8;
            let symbols = bits.div_ceil(u64::from(qam.modulation.bits()))
                + u64::from(qam.preamble + qam.guard);
            symbols.div_ceil(u64::from(qam.minislot_symbols()))
        };
        for qam in [ScQamUpstream::docsis1(), ScQamUpstream::docsis2()] {
            for bytes in (64..6000).step_by(7) {
                let granted = (bytes + qam.segment_overhead()).div_ceil(qam.minislot_bytes());
                let needed = exact(&qam, bytes);
                let few = granted + 1 >= needed && granted <= needed + 1 + needed / 25;
                assert!(few, "{bytes} B: {granted} for {needed} minislots");
            }
        }
    }

    #[test]
    fn a_bonding_group_carries_the_sum_of_its_channels() {
        let channels = |channels| ScQamUpstream {
            channels,
            ..ScQamUpstream::default()
        };
        assert_eq!(channels(4).raw_rate(), 4 * 30_720_000);
        assert_eq!(channels(8).raw_rate(), 2 * channels(4).raw_rate());
        assert_eq!(channels(8).timing().channels, 8);
    }

    #[test]
    fn an_opportunity_holds_a_request_burst() {
        // 64 bits of preamble and six bytes (seven from DOCSIS 3.0 on) in QPSK, and guard time.
        for (qam, bytes) in [
            (ScQamUpstream::docsis1(), 6),
            (ScQamUpstream::docsis2(), 6),
            (ScQamUpstream::default(), 7),
        ] {
            let symbols = 32 + bytes * 8 / 2 + qam.guard;
            let minislots = symbols.div_ceil(qam.minislot_symbols());
            assert_eq!(qam.opportunity_minislots, minislots);
        }
    }
}
