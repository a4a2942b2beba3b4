//! Plants: the physical parameters of a DOCSIS line, and the presets of the generations.
//!
//! Every number is a parameter. OFDMA defaults are those of the public DOCSIS module for ns-3, SC-QAM ones those of four bonded 6.4 MHz
//! 64-QAM channels. docs/models/docsis.md names each number's source, and marks what is from memory.

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

/// Physical and MAC parameters of a plant, all known.
#[derive(Debug, Clone, PartialEq)]
pub struct Plant {
    /// See [`PlantConfig::distance_km`].
    pub distance_km: f64,
    /// See [`PlantConfig::map_interval`].
    pub map_interval: Duration,
    /// See [`PlantConfig::cmts_map_processing`].
    pub cmts_map_processing: Duration,
    /// See [`PlantConfig::modem_map_processing`].
    pub modem_map_processing: Duration,
    /// See [`PlantConfig::elements_per_map`].
    pub elements_per_map: u64,
    /// See [`PlantConfig::upstream_mac_header`].
    pub upstream_mac_header: u64,
    /// See [`PlantConfig::downstream_mac_header`].
    pub downstream_mac_header: u64,
    /// See [`PlantConfig::backoff_start`].
    pub backoff_start: u8,
    /// See [`PlantConfig::upstream`].
    pub upstream: UpstreamChannel,
    /// See [`PlantConfig::downstream`].
    pub downstream: DownstreamChannel,
}

/// Physical and MAC parameters of the plant; what is left out is the preset's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlantConfig {
    /// Distance between CMTS and modem in kilometres. Light and coax take 5 µs for each, one way (10⁵ km/s there and back).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_km: Option<f64>,
    /// Time between two MAPs; rounded to whole frames. A longer one makes every request wait longer and costs fewer events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_interval: Option<Duration>,
    /// Time the CMTS takes to make a MAP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cmts_map_processing: Option<Duration>,
    /// Time from a MAP's arrival at the modem to the interval it describes: for OFDMA 600 µs, a frame and one symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modem_map_processing: Option<Duration>,
    /// Information elements of an average MAP, this line's and its neighbours': their bytes are taken off the downstream's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements_per_map: Option<u64>,
    /// Bytes of MAC header before each PDU, upstream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_mac_header: Option<u64>,
    /// Bytes of MAC header before each PDU, downstream: 10, or 16 where channels are bonded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downstream_mac_header: Option<u64>,
    /// Contention: the first backoff window is 2^start request opportunities, of which there is one in each frame, at least 100 µs apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_start: Option<u8>,
    /// The upstream channel or channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamChannel>,
    /// The downstream channel or channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downstream: Option<DownstreamChannel>,
}

impl PlantConfig {
    /// The preset's plant with what is given here in its place.
    pub fn over(&self, preset: Preset) -> Plant {
        let plant = preset.plant();
        Plant {
            distance_km: self.distance_km.unwrap_or(plant.distance_km),
            map_interval: self.map_interval.unwrap_or(plant.map_interval),
            cmts_map_processing: self
                .cmts_map_processing
                .unwrap_or(plant.cmts_map_processing),
            modem_map_processing: self
                .modem_map_processing
                .unwrap_or(plant.modem_map_processing),
            elements_per_map: self.elements_per_map.unwrap_or(plant.elements_per_map),
            upstream_mac_header: self
                .upstream_mac_header
                .unwrap_or(plant.upstream_mac_header),
            downstream_mac_header: self
                .downstream_mac_header
                .unwrap_or(plant.downstream_mac_header),
            backoff_start: self.backoff_start.unwrap_or(plant.backoff_start),
            upstream: self.upstream.clone().unwrap_or(plant.upstream),
            downstream: self.downstream.clone().unwrap_or(plant.downstream),
        }
    }
}

impl From<Plant> for PlantConfig {
    fn from(plant: Plant) -> Self {
        Self {
            distance_km: Some(plant.distance_km),
            map_interval: Some(plant.map_interval),
            cmts_map_processing: Some(plant.cmts_map_processing),
            modem_map_processing: Some(plant.modem_map_processing),
            elements_per_map: Some(plant.elements_per_map),
            upstream_mac_header: Some(plant.upstream_mac_header),
            downstream_mac_header: Some(plant.downstream_mac_header),
            backoff_start: Some(plant.backoff_start),
            upstream: Some(plant.upstream),
            downstream: Some(plant.downstream),
        }
    }
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

/// Distance of request opportunities, at least.
const OPPORTUNITY: Duration = Duration::from_micros(100);

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
    /// One OFDMA and one OFDM channel with the ns-3 module's defaults.
    pub fn docsis31() -> Self {
        Self {
            distance_km: 8.0,
            map_interval: Duration::from_millis(2),
            cmts_map_processing: Duration::from_micros(200),
            // 600 µs + frame·(K+1)/K.
            modem_map_processing: Duration::from_nanos(757_500),
            // The ns-3 module's average load: a tenth of the channel, in bursts of 150 B.
            elements_per_map: 111,
            upstream_mac_header: 10,
            downstream_mac_header: 10,
            backoff_start: 4,
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

    /// Refuses what no plant can be: the key, and what is expected there.
    ///
    /// # Errors
    ///
    /// The first parameter that makes no sense.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let millis = |span: Duration| span.as_secs_f64() * 1e3;
        let upstream = match &self.upstream {
            UpstreamChannel::Ofdma(ofdma) => ofdma.check(),
            UpstreamChannel::ScQam(qam) => qam.check(),
        };
        let downstream = match &self.downstream {
            DownstreamChannel::Ofdm(ofdm) => ofdm.check(),
            DownstreamChannel::ScQam(qam) => qam.check(),
        };
        expect(
            (0.0..=160.0).contains(&self.distance_km),
            "distance_km",
            "0 to 160 kilometres",
        )?;
        expect(
            (0.2..=100.0).contains(&millis(self.map_interval)),
            "map_interval",
            "0.2 to 100 ms",
        )?;
        expect(
            millis(self.cmts_map_processing) <= 20.0,
            "cmts_map_processing",
            "at most 20 ms",
        )?;
        expect(
            millis(self.modem_map_processing) <= 20.0,
            "modem_map_processing",
            "at most 20 ms",
        )?;
        expect(
            self.elements_per_map <= 240,
            "elements_per_map",
            "at most 240",
        )?;
        expect(
            self.upstream_mac_header <= 246,
            "upstream_mac_header",
            "at most 246 bytes",
        )?;
        expect(
            self.downstream_mac_header <= 246,
            "downstream_mac_header",
            "at most 246 bytes",
        )?;
        expect(
            self.backoff_start <= 15,
            "backoff_start",
            "an exponent from 0 to 15",
        )?;
        upstream.and(downstream)
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
        // A request opportunity in each frame, at least 100 µs apart.
        let frames_apart = OPPORTUNITY.as_nanos().div_ceil(timing.frame.as_nanos());
        timing.opportunities = (timing.frames_per_map / frames_apart).max(1);
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
        // As the ns-3 module counts: a MAP is 46 B and 4 B for each information element.
        let map_bits = upstreams * (46 + 4 * self.elements_per_map) * 8;
        let maps = (map_bits as f64 / self.map_interval.as_secs_f64()) as u64;
        timing.rate = Rate(timing.rate.0.saturating_sub(maps));
        timing.propagation = self.propagation();
        timing.mac_header = self.downstream_mac_header;
        timing
    }
}

fn expect(
    holds: bool,
    key: &'static str,
    expected: &'static str,
) -> Result<(), (&'static str, &'static str)> {
    if holds { Ok(()) } else { Err((key, expected)) }
}

impl Ofdma {
    /// Ranges: DOCS-IF31-MIB's, and those of the ns-3 module.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let spacing = [25, 50].contains(&self.spacing_khz);
        expect(spacing, "upstream.ofdma.spacing_khz", "25 or 50")?;
        let most = 95_000 / self.spacing_khz;
        expect(
            (8..=most).contains(&self.subcarriers),
            "upstream.ofdma.subcarriers",
            "8 to 1900 at 50 kHz, to 3800 at 25 kHz",
        )?;
        expect(
            (6..=36).contains(&self.symbols_per_frame),
            "upstream.ofdma.symbols_per_frame",
            "6 to 36",
        )?;
        expect(
            (1.0..=12.0).contains(&self.bits_per_subcarrier),
            "upstream.ofdma.bits_per_subcarrier",
            "1 to 12",
        )?;
        expect(
            self.code_rate > 0.1 && self.code_rate <= 1.0,
            "upstream.ofdma.code_rate",
            "a share from 0.1 to 1",
        )?;
        expect(
            (96..=640).contains(&self.cyclic_prefix),
            "upstream.ofdma.cyclic_prefix",
            "96 to 640 samples",
        )?;
        expect(
            self.modem_pipeline <= 10,
            "upstream.ofdma.modem_pipeline",
            "at most 10 frames",
        )?;
        expect(
            self.cmts_pipeline <= 10,
            "upstream.ofdma.cmts_pipeline",
            "at most 10 frames",
        )?;
        expect(
            self.segment_header <= 64,
            "upstream.ofdma.segment_header",
            "at most 64 bytes",
        )
    }

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
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        expect(
            (1..=32).contains(&self.channels),
            "upstream.sc_qam.channels",
            "1 to 32",
        )?;
        expect(
            (160..=5120).contains(&self.ksymbols),
            "upstream.sc_qam.ksymbols",
            "160 to 5120",
        )?;
        expect(
            (2..=7).contains(&self.bits_per_symbol),
            "upstream.sc_qam.bits_per_symbol",
            "2 (QPSK) to 7 (128-QAM)",
        )?;
        expect(
            self.code_rate > 0.1 && self.code_rate <= 1.0,
            "upstream.sc_qam.code_rate",
            "a share from 0.1 to 1",
        )?;
        let ticks = self.minislot_ticks.is_power_of_two() && self.minislot_ticks <= 128;
        expect(
            ticks,
            "upstream.sc_qam.minislot_ticks",
            "a power of two up to 128",
        )?;
        let carries = self.timing().minislot_bytes >= 4;
        expect(
            carries,
            "upstream.sc_qam.minislot_ticks",
            "minislots that carry 4 bytes or more",
        )?;
        expect(
            self.burst_overhead <= 64,
            "upstream.sc_qam.burst_overhead",
            "at most 64 minislots",
        )?;
        expect(
            self.segment_header <= 64,
            "upstream.sc_qam.segment_header",
            "at most 64 bytes",
        )?;
        let short = |span: Duration| span <= Duration::from_millis(20);
        expect(
            short(self.modem_pipeline),
            "upstream.sc_qam.modem_pipeline",
            "at most 20 ms",
        )?;
        expect(
            short(self.cmts_pipeline),
            "upstream.sc_qam.cmts_pipeline",
            "at most 20 ms",
        )
    }

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
            channels: 1,
            frame: Duration::ZERO,
            minislots_per_frame: 0,
            minislot_bytes: 0,
            segment_overhead: 0,
            frames_per_map: 0,
            opportunities: 0,
            opportunity_minislots: 1,
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
    /// Ranges: DOCS-IF31-MIB's, and those of the ns-3 module.
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let spacing = [25, 50].contains(&self.spacing_khz);
        expect(spacing, "downstream.ofdm.spacing_khz", "25 or 50")?;
        expect(
            (148..=7537).contains(&self.subcarriers),
            "downstream.ofdm.subcarriers",
            "148 to 7537",
        )?;
        expect(
            (4.0..=14.0).contains(&self.bits_per_subcarrier),
            "downstream.ofdm.bits_per_subcarrier",
            "4 to 14",
        )?;
        expect(
            (1..=32).contains(&self.interleaver_depth),
            "downstream.ofdm.interleaver_depth",
            "1 (off) to 32",
        )?;
        expect(
            (192..=1024).contains(&self.cyclic_prefix),
            "downstream.ofdm.cyclic_prefix",
            "192 to 1024 samples",
        )?;
        expect(
            self.cmts_pipeline <= 100,
            "downstream.ofdm.cmts_pipeline",
            "at most 100 symbols",
        )?;
        expect(
            self.modem_pipeline <= 100,
            "downstream.ofdm.modem_pipeline",
            "at most 100 symbols",
        )?;
        expect(
            self.codeword_fill.0 >= 0.1,
            "downstream.ofdm.codeword_fill",
            "a share from 0.1 to 1",
        )?;
        expect(
            [2, 4, 6].contains(&self.pointer_bits),
            "downstream.ofdm.pointer_bits",
            "2, 4 or 6",
        )
    }

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
        // LDPC codewords of 2025 B carry 1777 B; each has a pointer of 48 bits (ns-3 module).
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
    fn check(&self) -> Result<(), (&'static str, &'static str)> {
        expect(
            (1..=64).contains(&self.channels),
            "downstream.sc_qam.channels",
            "1 to 64",
        )?;
        let rate = (1_000_000..=100_000_000).contains(&self.channel_rate.0);
        expect(rate, "downstream.sc_qam.channel_rate", "1 to 100 Mbit/s")?;
        let short = |span: Duration| span <= Duration::from_millis(20);
        expect(
            short(self.interleaving),
            "downstream.sc_qam.interleaving",
            "at most 20 ms",
        )?;
        expect(
            short(self.cmts_pipeline),
            "downstream.sc_qam.cmts_pipeline",
            "at most 20 ms",
        )?;
        expect(
            short(self.modem_pipeline),
            "downstream.sc_qam.modem_pipeline",
            "at most 20 ms",
        )
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_plants_that_can_be() {
        for preset in [Preset::Docsis30, Preset::Docsis31] {
            assert_eq!(preset.plant().check(), Ok(()));
            assert_eq!(
                PlantConfig::from(preset.plant()).over(Preset::Docsis31),
                preset.plant()
            );
        }
    }

    #[test]
    fn four_bonded_channels_carry_four_times_twenty_seven_megabits() {
        let timing = Plant::docsis30().upstream_timing();
        assert_eq!(timing.minislot_bytes, 42);
        assert!((timing.capacity().0 as f64 / 1e6 - 107.5).abs() < 0.1);
        assert_eq!(timing.map_interval(), Duration::from_millis(2));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let plant = Plant {
            distance_km: -1.0,
            ..Plant::docsis31()
        };
        assert_eq!(plant.check().map_err(|(key, _)| key), Err("distance_km"));
        let ofdma = Ofdma {
            spacing_khz: 30,
            ..Ofdma::default()
        };
        let plant = Plant {
            upstream: UpstreamChannel::Ofdma(ofdma),
            ..Plant::docsis31()
        };
        assert_eq!(
            plant.check().map_err(|(key, _)| key),
            Err("upstream.ofdma.spacing_khz")
        );
    }
}
