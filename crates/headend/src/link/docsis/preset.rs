//! Plants: the physical parameters of a DOCSIS line, and the presets of the generations.
//!
//! Every number is a parameter. OFDMA defaults are those of the public DOCSIS module for ns-3 (docsis.md §1.9), SC-QAM ones those of four
//! bonded 6.4 MHz 64-QAM channels (docsis.md §1.8); what stands there from memory is marked so in docs/models/docsis.md.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timing::{DownstreamTiming, UpstreamTiming};
use crate::time::Duration;
use crate::units::{Probability, Rate};

/// A DOCSIS generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Four bonded SC-QAM upstream channels of 6.4 MHz, 64-QAM; eight downstream channels of 256-QAM.
    Docsis30,
    /// One OFDMA upstream channel of 94 MHz, one OFDM downstream channel of 187 MHz.
    #[default]
    Docsis31,
}

/// Physical and MAC parameters of the plant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plant {
    /// Distance between CMTS and modem, kilometres. Light and coax take 5 µs for each, one way (10⁵ km/s there and back).
    pub distance_km: f64,
    /// Time between two MAPs; rounded to whole frames.
    pub map_interval: Duration,
    /// Time the CMTS takes to make a MAP.
    pub cmts_map_processing: Duration,
    /// Time the modem needs for a MAP before the interval it describes begins: 600 µs, and for OFDMA a frame and one symbol more.
    pub modem_map_processing: Duration,
    /// Information elements of an average MAP, this line's and its neighbours': their bytes are taken off the downstream's rate.
    pub elements_per_map: u64,
    /// Bytes of MAC header before each PDU, upstream.
    pub upstream_mac_header: u64,
    /// Bytes of MAC header before each PDU, downstream (16 when bonded).
    pub downstream_mac_header: u64,
    /// Contention: the first backoff window is 2^start request opportunities; there is one in each frame (OFDMA), or one per 100 µs.
    pub backoff_start: u8,
    /// Contention: the window doubles after each collision up to 2^end.
    pub backoff_end: u8,
    /// The upstream channel or channels.
    pub upstream: UpstreamChannel,
    /// The downstream channel or channels.
    pub downstream: DownstreamChannel,
}

/// An upstream channel, or a bonding group of equal ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum UpstreamChannel {
    /// DOCSIS 3.1 OFDMA.
    Ofdma(Ofdma),
    /// Bonded SC-QAM channels.
    ScQam(ScQamUpstream),
}

/// A downstream channel, or a bonding group of equal ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum DownstreamChannel {
    /// DOCSIS 3.1 OFDM.
    Ofdm(Ofdm),
    /// Bonded SC-QAM channels.
    ScQam(ScQamDownstream),
}

/// An OFDMA upstream channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ofdma {
    /// Subcarrier spacing in kHz: 25 or 50.
    pub spacing_khz: u32,
    /// Active subcarriers.
    pub subcarriers: u32,
    /// Symbols in a frame (K).
    pub symbols_per_frame: u32,
    /// Bits per subcarrier and symbol, before coding.
    pub bits_per_subcarrier: f64,
    /// Share of those bits that is left after coding.
    pub code_rate: f64,
    /// Cyclic prefix in samples of 102.4 MS/s.
    pub cyclic_prefix: u32,
    /// Frames of the modem's transmit pipeline.
    pub modem_pipeline: u32,
    /// Frames of the CMTS's receive pipeline.
    pub cmts_pipeline: u32,
    /// Bytes of segment header in each grant.
    pub segment_header: u64,
}

impl Default for Ofdma {
    fn default() -> Self {
        Self {
            spacing_khz: 50,
            subcarriers: 1880,
            symbols_per_frame: 6,
            bits_per_subcarrier: 10.0,
            code_rate: 0.8,
            cyclic_prefix: 256,
            modem_pipeline: 1,
            cmts_pipeline: 1,
            segment_header: 8,
        }
    }
}

/// Bonded SC-QAM upstream channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScQamUpstream {
    /// Channels in the bonding group.
    pub channels: u32,
    /// Symbols per second on each, in thousands (5120 for 6.4 MHz).
    pub ksymbols: u32,
    /// Bits per symbol (6 for 64-QAM).
    pub bits_per_symbol: u32,
    /// Share of the bits left after forward error correction: 27 of 30.72 Mb/s.
    pub code_rate: f64,
    /// Length of a minislot in ticks of 6.25 µs.
    pub minislot_ticks: u32,
    /// Minislots of preamble and guard time of each burst.
    pub burst_overhead: u32,
    /// Bytes of segment header of each burst.
    pub segment_header: u64,
    /// Modem's transmit pipeline.
    pub modem_pipeline: Duration,
    /// CMTS's receive pipeline.
    pub cmts_pipeline: Duration,
}

impl Default for ScQamUpstream {
    fn default() -> Self {
        Self {
            channels: 4,
            ksymbols: 5120,
            bits_per_symbol: 6,
            code_rate: 0.88,
            minislot_ticks: 2,
            burst_overhead: 1,
            segment_header: 8,
            modem_pipeline: Duration::from_micros(100),
            cmts_pipeline: Duration::from_micros(100),
        }
    }
}

/// An OFDM downstream channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ofdm {
    /// Subcarrier spacing in kHz: 25 or 50.
    pub spacing_khz: u32,
    /// Active data subcarriers.
    pub subcarriers: u32,
    /// Bits per subcarrier and symbol.
    pub bits_per_subcarrier: f64,
    /// Interleaver depth M in symbols; 1 is off.
    pub interleaver_depth: u32,
    /// Cyclic prefix in samples of 204.8 MS/s.
    pub cyclic_prefix: u32,
    /// Symbols of the CMTS's transmit pipeline.
    pub cmts_pipeline: u32,
    /// Symbols of the modem's receive pipeline.
    pub modem_pipeline: u32,
    /// Mean share of a codeword that carries data.
    pub codeword_fill: Probability,
    /// Bits per subcarrier of the next-codeword pointers.
    pub pointer_bits: u32,
}

impl Default for Ofdm {
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

/// Bonded SC-QAM downstream channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScQamDownstream {
    /// Channels in the bonding group.
    pub channels: u32,
    /// What one carries, after coding (6 MHz, 256-QAM).
    pub channel_rate: Rate,
    /// Interleaver's delay (I = 32, J = 4 at 256-QAM).
    pub interleaving: Duration,
    /// CMTS's transmit pipeline.
    pub cmts_pipeline: Duration,
    /// Modem's receive pipeline.
    pub modem_pipeline: Duration,
}

impl Default for ScQamDownstream {
    fn default() -> Self {
        Self {
            channels: 8,
            channel_rate: Rate(38_810_000),
            interleaving: Duration::from_micros(680),
            cmts_pipeline: Duration::from_micros(50),
            modem_pipeline: Duration::from_micros(50),
        }
    }
}

/// Sampling clocks of OFDMA upstream and OFDM downstream, in samples per millisecond.
const UPSTREAM_SAMPLES: f64 = 102_400.0;
const DOWNSTREAM_SAMPLES: f64 = 204_800.0;

impl Preset {
    /// The plant of this generation.
    pub fn plant(self) -> Plant {
        match self {
            Self::Docsis30 => Plant::docsis30(),
            Self::Docsis31 => Plant::docsis31(),
        }
    }
}

impl Plant {
    /// One OFDMA and one OFDM channel with the defaults of docsis.md §1.9.
    pub fn docsis31() -> Self {
        Self {
            distance_km: 8.0,
            map_interval: Duration::from_millis(2),
            cmts_map_processing: Duration::from_micros(200),
            // 600 µs + frame·(K+1)/K.
            modem_map_processing: Duration::from_nanos(757_500),
            // A tenth of the channel used in bursts of 150 B (docsis.md §1.9).
            elements_per_map: 111,
            upstream_mac_header: 10,
            downstream_mac_header: 10,
            backoff_start: 4,
            backoff_end: 8,
            upstream: UpstreamChannel::Ofdma(Ofdma::default()),
            downstream: DownstreamChannel::Ofdm(Ofdm::default()),
        }
    }

    /// Four bonded upstream and eight bonded downstream SC-QAM channels.
    pub fn docsis30() -> Self {
        Self {
            // The AQM paper's and the ns-2 model's MAP preparation time.
            modem_map_processing: Duration::from_micros(650),
            elements_per_map: 5,
            downstream_mac_header: 16,
            upstream: UpstreamChannel::ScQam(ScQamUpstream::default()),
            downstream: DownstreamChannel::ScQam(ScQamDownstream::default()),
            ..Self::docsis31()
        }
    }

    /// One-way propagation delay.
    pub fn propagation(&self) -> Duration {
        Duration::from_secs_f64(self.distance_km / 2.0 / 1e5)
    }

    /// Timing of the upstream.
    pub fn upstream_timing(&self) -> UpstreamTiming {
        let (interleaving, map_transmission) = match &self.downstream {
            DownstreamChannel::Ofdm(ofdm) => (ofdm.interleaving(), ofdm.pipelines_without_prefix()),
            DownstreamChannel::ScQam(qam) => {
                (qam.interleaving, qam.cmts_pipeline + qam.modem_pipeline)
            }
        };
        let mut timing = match &self.upstream {
            UpstreamChannel::Ofdma(ofdma) => ofdma.timing(),
            UpstreamChannel::ScQam(qam) => qam.timing(),
        };
        let frames = self.map_interval.as_nanos() as f64 / timing.frame.as_nanos() as f64;
        timing.frames_per_map = (frames.round() as u64).max(1);
        timing.modem_map_processing = self.modem_map_processing;
        timing.cmts_map_processing = self.cmts_map_processing;
        timing.interleaving = interleaving;
        timing.map_transmission = map_transmission;
        timing.propagation = self.propagation();
        timing.mac_header = self.upstream_mac_header;
        timing
    }

    /// Timing of the downstream, which carries the MAPs of all upstream channels.
    pub fn downstream_timing(&self) -> DownstreamTiming {
        let upstreams = match &self.upstream {
            UpstreamChannel::Ofdma(_) => 1,
            UpstreamChannel::ScQam(qam) => u64::from(qam.channels),
        };
        let mut timing = match &self.downstream {
            DownstreamChannel::Ofdm(ofdm) => ofdm.timing(),
            DownstreamChannel::ScQam(qam) => qam.timing(),
        };
        // A MAP is 46 B and 4 B for each information element (docsis.md §1.3).
        let map_bits = upstreams * (46 + 4 * self.elements_per_map) * 8;
        let maps = (map_bits as f64 / self.map_interval.as_secs_f64()) as u64;
        timing.rate = Rate(timing.rate.0.saturating_sub(maps));
        timing.propagation = self.propagation();
        timing.mac_header = self.downstream_mac_header;
        timing
    }
}

impl Ofdma {
    fn timing(&self) -> UpstreamTiming {
        let symbol_ms =
            1.0 / f64::from(self.spacing_khz) + f64::from(self.cyclic_prefix) / UPSTREAM_SAMPLES;
        let frame = Duration::from_secs_f64(f64::from(self.symbols_per_frame) * symbol_ms * 1e-3);
        // A minislot is 400 kHz wide and K symbols long.
        let minislots = u64::from(self.subcarriers) * u64::from(self.spacing_khz) / 400;
        let bits = 400.0 / f64::from(self.spacing_khz)
            * f64::from(self.symbols_per_frame)
            * self.bits_per_subcarrier;
        UpstreamTiming {
            frame,
            minislots_per_frame: minislots,
            minislot_bytes: (bits * self.code_rate / 8.0 + 1e-9) as u64,
            segment_overhead: self.segment_header,
            modem_pipeline: frame * u64::from(self.modem_pipeline),
            cmts_pipeline: frame * u64::from(self.cmts_pipeline),
            burst_preparation: frame,
            ..UpstreamTiming::blank()
        }
    }
}

impl ScQamUpstream {
    fn timing(&self) -> UpstreamTiming {
        let frame = Duration::from_nanos(6_250) * u64::from(self.minislot_ticks);
        let bits =
            f64::from(self.ksymbols) * 1e3 * f64::from(self.bits_per_symbol) * frame.as_secs_f64();
        let minislot_bytes = (bits * self.code_rate / 8.0 + 1e-9) as u64;
        let channels = u64::from(self.channels);
        UpstreamTiming {
            frame,
            minislots_per_frame: channels,
            minislot_bytes,
            // Deviation: a grant is spread over all channels of the group, one segment on each.
            segment_overhead: channels
                * (self.segment_header + u64::from(self.burst_overhead) * minislot_bytes),
            modem_pipeline: self.modem_pipeline,
            cmts_pipeline: self.cmts_pipeline,
            burst_preparation: Duration::from_micros(135),
            ..UpstreamTiming::blank()
        }
    }
}

impl UpstreamTiming {
    /// What the plant fills in, at zero.
    fn blank() -> Self {
        Self {
            frame: Duration::ZERO,
            minislots_per_frame: 0,
            minislot_bytes: 0,
            segment_overhead: 0,
            frames_per_map: 0,
            modem_map_processing: Duration::ZERO,
            burst_preparation: Duration::ZERO,
            modem_pipeline: Duration::ZERO,
            cmts_pipeline: Duration::ZERO,
            cmts_map_processing: Duration::ZERO,
            map_transmission: Duration::ZERO,
            interleaving: Duration::ZERO,
            propagation: Duration::ZERO,
            mac_header: 0,
        }
    }
}

impl Ofdm {
    fn symbol(&self) -> Duration {
        let symbol_ms =
            1.0 / f64::from(self.spacing_khz) + f64::from(self.cyclic_prefix) / DOWNSTREAM_SAMPLES;
        Duration::from_secs_f64(symbol_ms * 1e-3)
    }

    fn interleaving(&self) -> Duration {
        self.symbol() * u64::from(self.interleaver_depth.max(1) - 1)
    }

    fn pipelines_without_prefix(&self) -> Duration {
        let symbols = f64::from(self.cmts_pipeline + self.modem_pipeline + 1);
        Duration::from_secs_f64(symbols * 1e-3 / f64::from(self.spacing_khz))
    }

    fn timing(&self) -> DownstreamTiming {
        // LDPC codewords of 2025 B carry 1777 B; each has a pointer of 48 bits (docsis.md §1.8).
        let pointer = 48.0 / f64::from(self.pointer_bits);
        let codeword = 2025.0 * 8.0 / self.bits_per_subcarrier;
        let codewords = (f64::from(self.subcarriers) - pointer) / (codeword + pointer);
        let symbol_bytes = (codewords * self.codeword_fill.0 * 1777.0).round();
        DownstreamTiming {
            rate: Rate((symbol_bytes * 8.0 / self.symbol().as_secs_f64()) as u64),
            symbol: self.symbol(),
            cmts_pipeline: self.symbol() * u64::from(self.cmts_pipeline),
            modem_pipeline: self.symbol() * u64::from(self.modem_pipeline),
            interleaving: self.interleaving(),
            propagation: Duration::ZERO,
            mac_header: 0,
        }
    }
}

impl ScQamDownstream {
    fn timing(&self) -> DownstreamTiming {
        DownstreamTiming {
            rate: Rate(self.channel_rate.0 * u64::from(self.channels)),
            symbol: Duration::ZERO,
            cmts_pipeline: self.cmts_pipeline,
            modem_pipeline: self.modem_pipeline,
            interleaving: self.interleaving,
            propagation: Duration::ZERO,
            mac_header: 0,
        }
    }
}
