//! Physical channels: the rate and the timing of a channel, from its modulation, symbols, coding
//! and overheads.
//!
//! Each kind of channel has a file: [OFDMA](ofdma) and [SC-QAM](sc_qam_upstream) upstream,
//! [OFDM](ofdm) and [SC-QAM](sc_qam_downstream) downstream. The parameters of a kind are one struct
//! with a value for each, and one struct for scenarios, in which any may be left out.
//! docs/models/docsis.md names the source of each number.

pub mod ofdm;
pub mod ofdma;
pub mod sc_qam_downstream;
pub mod sc_qam_upstream;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use ofdm::{Ofdm, OfdmConfig};
pub use ofdma::{Ofdma, OfdmaConfig};
pub use sc_qam_downstream::{Annex, DownstreamModulation, ScQamDownstream, ScQamDownstreamConfig};
pub use sc_qam_upstream::{ScQamUpstream, ScQamUpstreamConfig, UpstreamModulation};

use super::timing::{DownstreamTiming, UpstreamTiming};
use crate::time::Duration;

/// The parameters of a kind of channel: a struct with a value for each, and a table of a scenario
/// in which any may be left out.
macro_rules! channel {
    (
        $(#[$doc:meta])*
        $name:ident, $config:ident {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(default, deny_unknown_fields)]
        pub struct $config {
            $(
                $(#[$field_doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
        }

        impl $config {
            /// `channel`, with the values that are given here.
            #[must_use]
            pub fn over(&self, channel: $name) -> $name {
                $name {
                    $($field: self.$field.unwrap_or(channel.$field),)*
                }
            }
        }

        impl From<$name> for $config {
            fn from(channel: $name) -> Self {
                Self {
                    $($field: Some(channel.$field),)*
                }
            }
        }
    };
}
use channel;

/// An upstream channel, or a bonding group of equal channels.
#[derive(Debug, Clone, PartialEq)]
pub enum UpstreamChannel {
    /// DOCSIS 3.1 OFDMA.
    Ofdma(Ofdma),
    /// SC-QAM channels.
    ScQam(ScQamUpstream),
}

/// An upstream channel, or a bonding group of equal channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum UpstreamChannelConfig {
    /// DOCSIS 3.1 OFDMA.
    Ofdma(OfdmaConfig),
    /// SC-QAM channels.
    ScQam(ScQamUpstreamConfig),
}

/// A downstream channel, or a bonding group of equal channels.
#[derive(Debug, Clone, PartialEq)]
pub enum DownstreamChannel {
    /// DOCSIS 3.1 OFDM.
    Ofdm(Ofdm),
    /// SC-QAM channels.
    ScQam(ScQamDownstream),
}

/// A downstream channel, or a bonding group of equal channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum DownstreamChannelConfig {
    /// DOCSIS 3.1 OFDM.
    Ofdm(OfdmConfig),
    /// SC-QAM channels.
    ScQam(ScQamDownstreamConfig),
}

impl UpstreamChannel {
    /// Number of channels in the group. Each channel has its own MAPs.
    pub fn channels(&self) -> u64 {
        match self {
            Self::Ofdma(_) => 1,
            Self::ScQam(qam) => u64::from(qam.channels),
        }
    }

    /// The part of the upstream timing that depends on the channel. MAPs are about `map_interval`
    /// apart, or vary from `shortest` on if that is given. The plant gives the rest.
    pub fn timing(&self, map_interval: Duration, shortest: Option<Duration>) -> UpstreamTiming {
        let mut timing = match self {
            Self::Ofdma(ofdma) => ofdma.timing(),
            Self::ScQam(qam) => qam.timing(),
        };
        let frames = map_interval.as_nanos() as f64 / timing.frame.as_nanos() as f64;
        timing.frames_per_map = (frames.round() as u64).max(1);
        timing.opportunities = match self {
            Self::Ofdma(ofdma) => {
                (timing.frames_per_map / u64::from(ofdma.frames_per_opportunity.max(1))).max(1)
            }
            Self::ScQam(qam) => u64::from(qam.channels * qam.opportunities),
        };
        if let Some(shortest) = shortest {
            let frames = shortest.as_nanos() as f64 / timing.frame.as_nanos() as f64;
            let frames = (frames.round() as u64).clamp(1, timing.frames_per_map);
            timing.longest_map = timing.frames_per_map / frames;
            timing.frames_per_map = frames;
        }
        timing
    }
}

impl UpstreamChannelConfig {
    /// `channel`, with the values that are given here. If the kind of channel changes, the other
    /// values are the defaults of the new kind.
    #[must_use]
    pub fn over(&self, channel: UpstreamChannel) -> UpstreamChannel {
        match (self, channel) {
            (Self::Ofdma(given), UpstreamChannel::Ofdma(ofdma)) => {
                UpstreamChannel::Ofdma(given.over(ofdma))
            }
            (Self::Ofdma(given), UpstreamChannel::ScQam(_)) => {
                UpstreamChannel::Ofdma(given.over(Ofdma::default()))
            }
            (Self::ScQam(given), UpstreamChannel::ScQam(qam)) => {
                UpstreamChannel::ScQam(given.over(qam))
            }
            (Self::ScQam(given), UpstreamChannel::Ofdma(_)) => {
                UpstreamChannel::ScQam(given.over(ScQamUpstream::default()))
            }
        }
    }
}

impl From<UpstreamChannel> for UpstreamChannelConfig {
    fn from(channel: UpstreamChannel) -> Self {
        match channel {
            UpstreamChannel::Ofdma(ofdma) => Self::Ofdma(ofdma.into()),
            UpstreamChannel::ScQam(qam) => Self::ScQam(qam.into()),
        }
    }
}

impl DownstreamChannel {
    /// The part of the downstream timing that depends on the channel. The plant gives the rest.
    pub fn timing(&self) -> DownstreamTiming {
        match self {
            Self::Ofdm(ofdm) => ofdm.timing(),
            Self::ScQam(qam) => qam.timing(),
        }
    }

    /// Delay of the interleaver.
    pub fn interleaving(&self) -> Duration {
        match self {
            Self::Ofdm(ofdm) => ofdm.interleaving(),
            Self::ScQam(qam) => qam.interleaving(),
        }
    }

    /// Time of a MAP besides propagation and interleaving.
    pub fn map_transmission(&self) -> Duration {
        match self {
            Self::Ofdm(ofdm) => ofdm.pipelines_without_prefix(),
            Self::ScQam(qam) => qam.cmts_pipeline + qam.modem_pipeline,
        }
    }
}

impl DownstreamChannelConfig {
    /// `channel`, with the values that are given here. If the kind of channel changes, the other
    /// values are the defaults of the new kind.
    #[must_use]
    pub fn over(&self, channel: DownstreamChannel) -> DownstreamChannel {
        match (self, channel) {
            (Self::Ofdm(given), DownstreamChannel::Ofdm(ofdm)) => {
                DownstreamChannel::Ofdm(given.over(ofdm))
            }
            (Self::Ofdm(given), DownstreamChannel::ScQam(_)) => {
                DownstreamChannel::Ofdm(given.over(Ofdm::default()))
            }
            (Self::ScQam(given), DownstreamChannel::ScQam(qam)) => {
                DownstreamChannel::ScQam(given.over(qam))
            }
            (Self::ScQam(given), DownstreamChannel::Ofdm(_)) => {
                DownstreamChannel::ScQam(given.over(ScQamDownstream::default()))
            }
        }
    }
}

impl From<DownstreamChannel> for DownstreamChannelConfig {
    fn from(channel: DownstreamChannel) -> Self {
        match channel {
            DownstreamChannel::Ofdm(ofdm) => Self::Ofdm(ofdm.into()),
            DownstreamChannel::ScQam(qam) => Self::ScQam(qam.into()),
        }
    }
}

impl UpstreamTiming {
    /// Placeholder values. The channel and the plant replace them.
    fn blank() -> Self {
        Self {
            channels: 1,
            frame: Duration::ZERO,
            minislots_per_frame: 0,
            minislot_bytes: 0,
            segment_overhead: 0,
            frames_per_map: 0,
            longest_map: 1,
            opportunities: 0,
            opportunity_minislots: 0,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_scenario_leaves_out_is_the_presets() {
        let preset = ScQamUpstream {
            channels: 1,
            ..ScQamUpstream::default()
        };
        let given: UpstreamChannelConfig =
            toml::from_str("sc_qam = { modulation = 'qam16', guard = 9 }").expect("it is a table");
        let UpstreamChannel::ScQam(qam) = given.over(UpstreamChannel::ScQam(preset.clone())) else {
            panic!("a SC-QAM channel stays one");
        };
        let expected = ScQamUpstream {
            modulation: UpstreamModulation::Qam16,
            guard: 9,
            ..preset
        };
        assert_eq!(qam, expected);
    }

    #[test]
    fn another_kind_of_channel_begins_from_its_own_defaults() {
        let given: DownstreamChannelConfig =
            toml::from_str("sc_qam.channels = 24").expect("it is a table");
        let channel = given.over(DownstreamChannel::Ofdm(Ofdm::default()));
        let expected = ScQamDownstream {
            channels: 24,
            ..ScQamDownstream::default()
        };
        assert_eq!(channel, DownstreamChannel::ScQam(expected));
    }

    #[test]
    fn a_channel_survives_being_written_out() {
        for channel in [
            UpstreamChannel::Ofdma(Ofdma::default()),
            UpstreamChannel::ScQam(ScQamUpstream::default()),
        ] {
            let text =
                toml::to_string(&UpstreamChannelConfig::from(channel.clone())).expect("plain data");
            let read: UpstreamChannelConfig = toml::from_str(&text).expect("what was written");
            let other = UpstreamChannel::ScQam(ScQamUpstream {
                channels: 7,
                ..ScQamUpstream::default()
            });
            assert_eq!(read.over(other), channel, "{text}");
        }
    }

    #[test]
    fn an_unknown_parameter_is_refused() {
        let read = toml::from_str::<DownstreamChannelConfig>("ofdm.code_rate = 0.9");
        assert!(read.is_err_and(|error| error.to_string().contains("code_rate")));
    }
}
