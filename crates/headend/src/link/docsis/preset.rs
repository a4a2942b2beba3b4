//! Plants: the parameters of a DOCSIS generation, by name. Each can be changed.
//!
//! - A [`Preset`] names a plant with a value for every parameter.
//! - A [`PlantConfig`] is the part of a plant that a scenario gives. The preset gives the rest.
//! - A [`Feature`] is something that the older generations do not have.
//!
//! docs/models/docsis.md names the source of each number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phy::{
    DownstreamChannel, DownstreamChannelConfig, DownstreamModulation, Ofdm, Ofdma, ScQamDownstream,
    ScQamUpstream, UpstreamChannel, UpstreamChannelConfig,
};
use super::setup::{Contention, MacRules};
use super::timing::{DownstreamTiming, UpstreamTiming};
use crate::time::Duration;
use crate::units::{ByteCount, Rate};

/// A DOCSIS generation.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// One 16-QAM upstream channel of 3.2 MHz, one 64-QAM downstream channel. One request for each
    /// packet, one request outstanding, bursts of at most 1600 bytes, no piggybacked requests.
    Docsis10,
    /// One 16-QAM upstream channel of 3.2 MHz, one 256-QAM downstream channel. Piggybacked
    /// requests, concatenation, fragmentation, scheduling types.
    Docsis11,
    /// One 64-QAM upstream channel of 6.4 MHz, one 256-QAM downstream channel. Otherwise as
    /// `docsis11`.
    Docsis20,
    /// Four bonded 64-QAM upstream channels of 6.4 MHz, eight bonded 256-QAM downstream channels.
    /// Continuous concatenation and fragmentation, several requests outstanding.
    Docsis30,
    /// One OFDMA upstream channel of 94 MHz, one OFDM downstream channel of 187 MHz.
    #[default]
    Docsis31,
}

/// A feature that not every generation has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Several channels as one bonding group.
    Bonding,
    /// Several service flows for each modem and direction, and the classifiers that select one of
    /// them.
    Classifiers,
    /// Continuous concatenation and fragmentation, with several requests outstanding.
    Continuous,
    /// AQM in the modem.
    ModemAqm,
    /// Fragmentation of a packet over several grants.
    Fragmentation,
    /// Upstream modulations other than QPSK and 16-QAM, and channels of 6.4 MHz.
    HigherModulation,
    /// Aggregate service flows with a low-latency service flow.
    LowLatency,
    /// OFDM and OFDMA channels.
    Ofdm,
    /// Proactive grants.
    ProactiveGrants,
    /// Scheduling types other than best effort, priorities and reserved rates.
    Scheduling,
}

impl Feature {
    /// The first generation with the feature.
    pub const fn since(self) -> Preset {
        match self {
            Self::Classifiers | Self::Fragmentation | Self::Scheduling => Preset::Docsis11,
            Self::HigherModulation => Preset::Docsis20,
            Self::Bonding | Self::Continuous => Preset::Docsis30,
            Self::LowLatency | Self::ModemAqm | Self::Ofdm | Self::ProactiveGrants => {
                Preset::Docsis31
            }
        }
    }

    /// Its name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bonding => "channel bonding",
            Self::Classifiers => "several service flows with classifiers",
            Self::Continuous => "continuous concatenation and fragmentation",
            Self::Fragmentation => "fragmentation",
            Self::HigherModulation => "upstream modulation beyond 16-QAM, or a channel of 6.4 MHz,",
            Self::LowLatency => "a low-latency service flow",
            Self::ModemAqm => "AQM in the modem",
            Self::Ofdm => "OFDM",
            Self::ProactiveGrants => "proactive grants",
            Self::Scheduling => "a scheduling type, priority or reserved rate",
        }
    }
}

impl Preset {
    /// All presets, oldest first.
    pub const ALL: [Self; 5] = [
        Self::Docsis10,
        Self::Docsis11,
        Self::Docsis20,
        Self::Docsis30,
        Self::Docsis31,
    ];

    /// Whether the generation has the feature.
    pub fn supports(self, feature: Feature) -> bool {
        self >= feature.since()
    }

    /// Checks that the generation has the feature.
    ///
    /// # Errors
    ///
    /// A sentence that names the generation that introduced the feature, if this one does not have
    /// it.
    pub fn require(self, feature: Feature) -> Result<(), String> {
        if self.supports(feature) {
            return Ok(());
        }
        let since = feature.since();
        Err(format!(
            "{} came with {} (`{}`), and this line is `{}`",
            feature.name(),
            since.title(),
            since.name(),
            self.name()
        ))
    }

    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Docsis10 => "docsis10",
            Self::Docsis11 => "docsis11",
            Self::Docsis20 => "docsis20",
            Self::Docsis30 => "docsis30",
            Self::Docsis31 => "docsis31",
        }
    }

    /// Its name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Docsis10 => "DOCSIS 1.0",
            Self::Docsis11 => "DOCSIS 1.1",
            Self::Docsis20 => "DOCSIS 2.0",
            Self::Docsis30 => "DOCSIS 3.0",
            Self::Docsis31 => "DOCSIS 3.1",
        }
    }

    /// The plant of this generation.
    pub fn plant(self) -> Plant {
        match self {
            Self::Docsis10 => Plant::docsis10(),
            Self::Docsis11 => Plant::docsis11(),
            Self::Docsis20 => Plant::docsis20(),
            Self::Docsis30 => Plant::docsis30(),
            Self::Docsis31 => Plant::docsis31(),
        }
    }
}

/// Physical and MAC parameters of a plant, with a value for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Plant {
    /// See [`PlantConfig::distance_km`].
    pub distance_km: f64,
    /// See [`PlantConfig::map_interval`].
    pub map_interval: Duration,
    /// See [`PlantConfig::shortest_map_interval`].
    pub shortest_map_interval: Option<Duration>,
    /// See [`PlantConfig::cmts_map_processing`].
    pub cmts_map_processing: Duration,
    /// See [`PlantConfig::modem_map_processing`].
    pub modem_map_processing: Duration,
    /// See [`PlantConfig::token_interval`].
    pub token_interval: Duration,
    /// See [`PlantConfig::cmts_forwarding`].
    pub cmts_forwarding: Duration,
    /// See [`PlantConfig::elements_per_map`].
    pub elements_per_map: u64,
    /// See [`PlantConfig::upstream_mac_header`].
    pub upstream_mac_header: u64,
    /// See [`PlantConfig::downstream_mac_header`].
    pub downstream_mac_header: u64,
    /// See [`PlantConfig::mac`].
    pub rules: MacRules,
    /// See [`PlantConfig::contention`].
    pub contention: Contention,
    /// See [`PlantConfig::upstream`].
    pub upstream: UpstreamChannel,
    /// See [`PlantConfig::downstream`].
    pub downstream: DownstreamChannel,
}

/// Physical and MAC parameters of the plant. The preset gives those that are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlantConfig {
    /// Distance between CMTS and modem in kilometres. The propagation delay is 5 µs for each
    /// kilometre, one way (10⁵ km/s there and back).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_km: Option<f64>,
    /// Time between two MAPs, rounded to whole frames. A longer interval delays every request and
    /// costs fewer events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_interval: Option<Duration>,
    /// Shortest MAP interval. The interval then varies with the load, from this value to
    /// `map_interval`: a MAP lasts as long as its grants need. A shorter interval reduces the delay
    /// of a single request. Only for one channel: the MAPs of bonded channels have one length.
    /// Default: all MAPs last `map_interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_map_interval: Option<Duration>,
    /// Time that the CMTS needs to make a MAP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cmts_map_processing: Option<Duration>,
    /// Time from the arrival of a MAP at the modem to the interval that it describes. For OFDMA:
    /// 600 µs, a frame and one symbol. It includes the safety time that CMTSs add. A longer time
    /// delays every request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modem_map_processing: Option<Duration>,
    /// Time between two additions of tokens to the token buckets of the CMTS, in both directions. A
    /// coarse shaper updates them about every 10 ms and then sends at once what the new tokens
    /// allow. Zero adds tokens continuously.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_interval: Option<Duration>,
    /// Time that the CMTS needs to forward a packet between the cable and its network side, the
    /// same in both directions. Upstream it comes after the arrival of the burst, downstream before
    /// the packet enters its queue. A longer time increases every round-trip time by twice as much,
    /// and changes nothing else. Zero in every preset, because no document gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cmts_forwarding: Option<Duration>,
    /// Information elements of an average MAP, for this line and its neighbours. Their bytes are
    /// subtracted from the downstream rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements_per_map: Option<u64>,
    /// Bytes of the upstream MAC header before each PDU: 6, and 4 more of extended header if
    /// requests may be piggybacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_mac_header: Option<u64>,
    /// Bytes of the downstream MAC header before each PDU: 6, 10, or 16 with bonded channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downstream_mac_header: Option<u64>,
    /// How modems request and send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacRulesConfig>,
    /// The contention regions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<ContentionConfig>,
    /// The upstream channel or channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<UpstreamChannelConfig>,
    /// The downstream channel or channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downstream: Option<DownstreamChannelConfig>,
}

/// How modems request and send. The preset gives the keys that are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MacRulesConfig {
    /// Continuous concatenation and fragmentation: bytes are a stream that grants cut at any byte,
    /// and several requests may be outstanding. Without it one request is outstanding, for one
    /// burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuous: Option<bool>,
    /// Whether requests may be piggybacked on bursts. A backlog then needs no contention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piggyback: Option<bool>,
    /// Largest burst of several packets, in bytes. 0 B: a burst is one packet. No effect with
    /// continuous concatenation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concatenation: Option<ByteCount>,
    /// Whether a grant smaller than the burst may carry a fragment of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragmentation: Option<bool>,
    /// Largest burst; 0 B: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<ByteCount>,
}

/// Contention regions. The preset gives the keys that are left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContentionConfig {
    /// Data backoff start, an exponent: the first window has 2^start request opportunities. A
    /// larger value delays a single modem more and reduces collisions between many modems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_start: Option<u8>,
    /// Data backoff end, an exponent: windows double after each collision, up to 2^end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_end: Option<u8>,
    /// Ranging backoff start, an exponent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranging_start: Option<u8>,
    /// Ranging backoff end, an exponent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranging_end: Option<u8>,
    /// How often a request is sent before the modem gives up and drops the requested packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u8>,
    /// Time between two initial-maintenance opportunities, which modems use for ranging after they
    /// are switched on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranging_interval: Option<Duration>,
}

impl PlantConfig {
    /// The plant of the preset, with the values that are given here.
    pub fn over(&self, preset: Preset) -> Plant {
        let plant = preset.plant();
        let upstream = match &self.upstream {
            Some(given) => given.over(plant.upstream),
            None => plant.upstream,
        };
        let downstream = match &self.downstream {
            Some(given) => given.over(plant.downstream),
            None => plant.downstream,
        };
        Plant {
            distance_km: self.distance_km.unwrap_or(plant.distance_km),
            map_interval: self.map_interval.unwrap_or(plant.map_interval),
            shortest_map_interval: self.shortest_map_interval.or(plant.shortest_map_interval),
            cmts_map_processing: self
                .cmts_map_processing
                .unwrap_or(plant.cmts_map_processing),
            modem_map_processing: self
                .modem_map_processing
                .unwrap_or(plant.modem_map_processing),
            token_interval: self.token_interval.unwrap_or(plant.token_interval),
            cmts_forwarding: self.cmts_forwarding.unwrap_or(plant.cmts_forwarding),
            elements_per_map: self.elements_per_map.unwrap_or(plant.elements_per_map),
            upstream_mac_header: self
                .upstream_mac_header
                .unwrap_or(plant.upstream_mac_header),
            downstream_mac_header: self
                .downstream_mac_header
                .unwrap_or(plant.downstream_mac_header),
            rules: self.mac.clone().unwrap_or_default().over(plant.rules),
            contention: (self.contention.clone().unwrap_or_default()).over(plant.contention),
            upstream,
            downstream,
        }
    }
}

impl MacRulesConfig {
    fn over(&self, rules: MacRules) -> MacRules {
        let bytes = |given: Option<ByteCount>, preset| given.map_or(preset, |bytes| bytes.0);
        MacRules {
            continuous: self.continuous.unwrap_or(rules.continuous),
            piggyback: self.piggyback.unwrap_or(rules.piggyback),
            concatenation: bytes(self.concatenation, rules.concatenation),
            fragmentation: self.fragmentation.unwrap_or(rules.fragmentation),
            max_burst: bytes(self.max_burst, rules.max_burst),
        }
    }
}

impl ContentionConfig {
    fn over(&self, contention: Contention) -> Contention {
        Contention {
            data_start: self.data_start.unwrap_or(contention.data_start),
            data_end: self.data_end.unwrap_or(contention.data_end),
            ranging_start: self.ranging_start.unwrap_or(contention.ranging_start),
            ranging_end: self.ranging_end.unwrap_or(contention.ranging_end),
            retries: self.retries.unwrap_or(contention.retries),
            ranging_interval: self.ranging_interval.unwrap_or(contention.ranging_interval),
        }
    }
}

impl From<Plant> for PlantConfig {
    fn from(plant: Plant) -> Self {
        let Plant {
            rules, contention, ..
        } = plant;
        Self {
            distance_km: Some(plant.distance_km),
            map_interval: Some(plant.map_interval),
            shortest_map_interval: plant.shortest_map_interval,
            cmts_map_processing: Some(plant.cmts_map_processing),
            modem_map_processing: Some(plant.modem_map_processing),
            token_interval: Some(plant.token_interval),
            cmts_forwarding: Some(plant.cmts_forwarding),
            elements_per_map: Some(plant.elements_per_map),
            upstream_mac_header: Some(plant.upstream_mac_header),
            downstream_mac_header: Some(plant.downstream_mac_header),
            mac: Some(MacRulesConfig {
                continuous: Some(rules.continuous),
                piggyback: Some(rules.piggyback),
                concatenation: Some(ByteCount(rules.concatenation)),
                fragmentation: Some(rules.fragmentation),
                max_burst: Some(ByteCount(rules.max_burst)),
            }),
            contention: Some(ContentionConfig {
                data_start: Some(contention.data_start),
                data_end: Some(contention.data_end),
                ranging_start: Some(contention.ranging_start),
                ranging_end: Some(contention.ranging_end),
                retries: Some(contention.retries),
                ranging_interval: Some(contention.ranging_interval),
            }),
            upstream: Some(plant.upstream.into()),
            downstream: Some(plant.downstream.into()),
        }
    }
}

/// Bytes of a MAP without its information elements, and bytes of each information element (as in
/// the ns-3 module, after MULPI §6.4.4).
const MAP_BYTES: u64 = 46;
const ELEMENT_BYTES: u64 = 4;

impl Plant {
    /// One OFDMA and one OFDM channel, with the defaults of the ns-3 module.
    pub fn docsis31() -> Self {
        Self {
            distance_km: 8.0,
            map_interval: Duration::from_millis(2),
            shortest_map_interval: None,
            cmts_map_processing: Duration::from_micros(200),
            // 600 µs + frame·(K+1)/K.
            modem_map_processing: Duration::from_nanos(757_500),
            token_interval: Duration::ZERO,
            cmts_forwarding: Duration::ZERO,
            // The average load of the ns-3 module: a tenth of the channel, in bursts of 150 B.
            elements_per_map: 111,
            upstream_mac_header: 10,
            downstream_mac_header: 10,
            rules: MacRules::default(),
            contention: Contention::default(),
            upstream: UpstreamChannel::Ofdma(Ofdma::default()),
            downstream: DownstreamChannel::Ofdm(Ofdm::default()),
        }
    }

    /// Four bonded upstream and eight bonded downstream SC-QAM channels.
    pub fn docsis30() -> Self {
        Self {
            // The MAP preparation time of the AQM paper and of the ns-2 model.
            modem_map_processing: Duration::from_micros(650),
            elements_per_map: 5,
            downstream_mac_header: 16,
            upstream: UpstreamChannel::ScQam(ScQamUpstream::default()),
            downstream: DownstreamChannel::ScQam(ScQamDownstream::default()),
            ..Self::docsis31()
        }
    }

    /// One upstream channel of 6.4 MHz and one downstream channel, with the MAC of DOCSIS 1.1.
    pub fn docsis20() -> Self {
        let contention = Contention {
            // The defaults in the manual of the ARRIS C4.
            data_start: 2,
            data_end: 8,
            ranging_start: 2,
            ranging_end: 7,
            ..Contention::default()
        };
        Self {
            contention,
            upstream: UpstreamChannel::ScQam(ScQamUpstream::docsis2()),
            ..Self::docsis11()
        }
    }

    /// One upstream channel of 3.2 MHz and one downstream channel.
    pub fn docsis11() -> Self {
        let rules = MacRules {
            continuous: false,
            piggyback: true,
            // DOCS-QOS3-MIB: the default of a service flow's maximum concatenated burst (TLV
            // 24.14).
            concatenation: 1522,
            fragmentation: true,
            max_burst: 0,
        };
        Self {
            downstream_mac_header: 10,
            rules,
            contention: early_contention(),
            upstream: UpstreamChannel::ScQam(ScQamUpstream::docsis1()),
            downstream: single(DownstreamModulation::Qam256),
            ..Self::docsis30()
        }
    }

    /// The plant of a laboratory in 2004: each packet needs a request, and the next request follows
    /// its grant.
    pub fn docsis10() -> Self {
        let rules = MacRules {
            continuous: false,
            piggyback: false,
            concatenation: 0,
            fragmentation: false,
            // The default maximum burst that Nguyen and Armitage (2004) report for their CMTS.
            max_burst: 1600,
        };
        Self {
            // The 650 µs of the modem, and the 1000 µs that Cisco's CMTSs add by default for safety
            // (dynamic MAP advance).
            modem_map_processing: Duration::from_micros(1650),
            // A request region, a grant, an acknowledgement, and the end of the list.
            elements_per_map: 4,
            upstream_mac_header: 6,
            downstream_mac_header: 6,
            rules,
            downstream: single(DownstreamModulation::Qam64),
            ..Self::docsis11()
        }
    }

    /// One-way propagation delay.
    pub fn propagation(&self) -> Duration {
        Duration::from_secs_f64(self.distance_km / 2.0 / 1e5)
    }

    /// Timing of the upstream.
    pub fn upstream_timing(&self) -> UpstreamTiming {
        UpstreamTiming {
            modem_map_processing: self.modem_map_processing,
            cmts_map_processing: self.cmts_map_processing,
            interleaving: self.downstream.interleaving(),
            map_transmission: self.downstream.map_transmission(),
            propagation: self.propagation(),
            mac_header: self.upstream_mac_header,
            ..(self.upstream).timing(self.map_interval, self.shortest_map_interval)
        }
    }

    /// Timing of the downstream. It carries the MAPs of all upstream channels.
    pub fn downstream_timing(&self) -> DownstreamTiming {
        let mut timing = self.downstream.timing();
        timing.rate = Rate(timing.rate.0.saturating_sub(self.map_load().0));
        timing.propagation = self.propagation();
        timing.mac_header = self.downstream_mac_header;
        timing
    }

    /// Downstream rate of the MAPs: one MAP per interval for every upstream channel.
    pub fn map_load(&self) -> Rate {
        let bytes = MAP_BYTES + ELEMENT_BYTES * self.elements_per_map;
        let bits = self.upstream.channels() * bytes * 8;
        Rate((bits as f64 / self.map_interval.as_secs_f64()) as u64)
    }
}

/// The defaults that Cisco documents for its first CMTSs. The number of tries is that of the
/// specification.
fn early_contention() -> Contention {
    Contention {
        data_start: 0,
        data_end: 4,
        ranging_start: 0,
        ranging_end: 4,
        ..Contention::default()
    }
}

fn single(modulation: DownstreamModulation) -> DownstreamChannel {
    DownstreamChannel::ScQam(ScQamDownstream::single(modulation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plant_written_out_is_the_same_plant_under_any_preset() {
        for preset in Preset::ALL {
            let written = PlantConfig::from(preset.plant());
            for other in Preset::ALL {
                assert_eq!(written.over(other), preset.plant());
            }
            let text = toml::to_string(&written).expect("plain data");
            assert_eq!(toml::from_str(&text), Ok(written), "{text}");
        }
    }

    #[test]
    fn a_preset_is_found_by_the_name_it_is_written_under() {
        for preset in Preset::ALL {
            let text = serde_json::to_string(&preset).expect("a name");
            assert_eq!(text, format!("\"{}\"", preset.name()));
        }
        assert!(Preset::ALL.is_sorted());
    }

    #[test]
    fn one_parameter_is_changed_and_the_rest_is_the_presets() {
        let text = "contention.data_start = 3\nmac.piggyback = true\nupstream.sc_qam.guard = 9";
        let given: PlantConfig = toml::from_str(text).expect("it is a table");
        let plant = given.over(Preset::Docsis10);
        let expected = Plant {
            contention: Contention {
                data_start: 3,
                ..Plant::docsis10().contention
            },
            rules: MacRules {
                piggyback: true,
                ..Plant::docsis10().rules
            },
            upstream: UpstreamChannel::ScQam(ScQamUpstream {
                guard: 9,
                ..ScQamUpstream::docsis1()
            }),
            ..Plant::docsis10()
        };
        assert_eq!(plant, expected);
    }

    #[test]
    fn a_generation_has_what_came_before_it_and_refuses_what_came_later() {
        let bonding = |preset: Preset| preset.supports(Feature::Bonding);
        assert_eq!(Preset::ALL.map(bonding), [false, false, false, true, true]);
        assert_eq!(Preset::Docsis11.require(Feature::Fragmentation), Ok(()));
        let refused = Preset::Docsis10.require(Feature::Bonding);
        let expected =
            "channel bonding came with DOCSIS 3.0 (`docsis30`), and this line is `docsis10`";
        assert_eq!(refused, Err(expected.to_owned()));
    }

    #[test]
    fn no_preset_has_a_feature_of_a_later_generation() {
        for preset in Preset::ALL {
            let plant = preset.plant();
            assert!(plant.upstream.channels() == 1 || preset.supports(Feature::Bonding));
            assert!(!plant.rules.continuous || preset.supports(Feature::Continuous));
            assert!(!plant.rules.fragmentation || preset.supports(Feature::Fragmentation));
        }
    }

    #[test]
    fn four_bonded_channels_carry_four_times_twenty_seven_megabits() {
        let timing = Plant::docsis30().upstream_timing();
        assert_eq!(timing.channels, 4);
        assert_eq!(timing.minislot_bytes, 44);
        assert_eq!(timing.map_interval(), Duration::from_millis(2));
        let opportunities = timing.opportunities * timing.opportunity_minislots;
        let minislots = 4 * timing.frames_per_map - opportunities;
        let mbits = (minislots * timing.minislot_bytes * 8) as f64 / 2e3;
        assert!((105.0..109.0).contains(&mbits), "{mbits}");
    }

    #[test]
    fn requests_have_an_opportunity_in_every_ofdma_frame_and_at_most_a_tenth_of_the_channel() {
        let timing = Plant::docsis31().upstream_timing();
        assert_eq!(timing.opportunities, 15);
        for preset in Preset::ALL {
            let timing = preset.plant().upstream_timing();
            let all = timing.channels * timing.frames_per_map * timing.minislots_per_frame;
            let taken = timing.opportunities * timing.opportunity_minislots;
            assert!(taken >= 1 && taken * 10 <= all, "{preset:?}");
        }
    }

    #[test]
    fn the_plant_of_2004_spends_a_quarter_of_a_megabit_on_maps_and_answers_in_the_second_interval()
    {
        let plant = Plant::docsis10();
        let kbits = plant.map_load().0 as f64 / 1e3;
        assert!((kbits - 256.0).abs() / 256.0 < 0.05, "{kbits}");
        let timing = plant.upstream_timing();
        let loop_time = timing.minimum_request_grant();
        assert!(loop_time > timing.map_interval() && loop_time <= timing.map_interval() * 2);
        // The largest burst fits into one interval. A packet takes two intervals: 1500 B in 4 ms.
        let opportunities = timing.opportunities * timing.opportunity_minislots;
        assert!(timing.minislots_for(1600) <= timing.frames_per_map - opportunities);
    }

    #[test]
    fn a_downstream_pays_for_the_maps_of_every_upstream_channel() {
        let plant = |channels| Plant {
            upstream: UpstreamChannel::ScQam(ScQamUpstream {
                channels,
                ..ScQamUpstream::default()
            }),
            ..Plant::docsis30()
        };
        let rate = |channels| plant(channels).downstream_timing().rate.0;
        // 66 B every 2 ms for each channel.
        assert_eq!(rate(4) - rate(8), 4 * 264_000);
    }
}
