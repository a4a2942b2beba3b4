//! The frequency bands of cells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A frequency band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Band {
    /// Few channels, far reach: every OFDM frame ends with 6 us of silence, and SIFS is short.
    #[serde(rename = "2.4 GHz")]
    Ghz24,
    /// Most homes' wide channels.
    #[serde(rename = "5 GHz")]
    Ghz5,
    /// 802.11ax and later only.
    #[serde(rename = "6 GHz")]
    Ghz6,
}

impl Band {
    /// Its name in scenarios and texts.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ghz24 => "2.4 GHz",
            Self::Ghz5 => "5 GHz",
            Self::Ghz6 => "6 GHz",
        }
    }
}
