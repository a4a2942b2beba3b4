//! The standards of a cell, and what each takes where the scenario says nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::band::Band;
use crate::link::cell::phy::Format;
use crate::time::Duration;
use crate::units::ByteCount;

/// A standard of the 802.11 family.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Standard {
    /// 802.11b: 1 to 11 Mbit/s.
    Dot11b,
    /// 802.11g: 6 to 54 Mbit/s.
    Dot11g,
    /// 802.11n, Wi-Fi 4.
    Dot11n,
    /// 802.11ac, Wi-Fi 5.
    Dot11ac,
    /// 802.11ax, Wi-Fi 6.
    Dot11ax,
}

impl Standard {
    /// Its name in texts.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Dot11b => "802.11b",
            Self::Dot11g => "802.11g",
            Self::Dot11n => "802.11n",
            Self::Dot11ac => "802.11ac",
            Self::Dot11ax => "802.11ax",
        }
    }

    /// The key of a cell of this standard.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Dot11b => "dot11b",
            Self::Dot11g => "dot11g",
            Self::Dot11n => "dot11n",
            Self::Dot11ac => "dot11ac",
            Self::Dot11ax => "dot11ax",
        }
    }

    /// The format of its frames.
    pub(super) const fn format(self) -> Format {
        match self {
            Self::Dot11b => Format::Dsss,
            Self::Dot11g => Format::Ofdm,
            Self::Dot11n => Format::Ht,
            Self::Dot11ac => Format::Vht,
            Self::Dot11ax => Format::He,
        }
    }

    /// Whether it has access categories, aggregation and spatial streams.
    pub(super) fn is_modern(self) -> bool {
        self >= Self::Dot11n
    }

    /// The bands in which it may be used.
    pub(super) const fn bands(self) -> &'static [Band] {
        match self {
            Self::Dot11b | Self::Dot11g => &[Band::Ghz24],
            Self::Dot11n => &[Band::Ghz24, Band::Ghz5],
            Self::Dot11ac => &[Band::Ghz5],
            Self::Dot11ax => &[Band::Ghz24, Band::Ghz5, Band::Ghz6],
        }
    }

    /// The band that a home's cell of this standard has most often.
    pub(super) const fn usual_band(self) -> Band {
        match self {
            Self::Dot11b | Self::Dot11g | Self::Dot11n => Band::Ghz24,
            Self::Dot11ac | Self::Dot11ax => Band::Ghz5,
        }
    }

    /// The widths of its channels in MHz.
    pub(super) const fn widths(self) -> &'static [u16] {
        match self {
            Self::Dot11b | Self::Dot11g => &[20],
            Self::Dot11n => &[20, 40],
            Self::Dot11ac | Self::Dot11ax => &[20, 40, 80, 160],
        }
    }

    /// The usual width in a band: 20 MHz at 2.4 GHz, and above the widest but 160 MHz.
    pub(super) fn usual_width(self, band: Band) -> u16 {
        match (self, band) {
            (_, Band::Ghz24) | (Self::Dot11b | Self::Dot11g, _) => 20,
            (Self::Dot11n, _) => 40,
            (Self::Dot11ac | Self::Dot11ax, _) => 80,
        }
    }

    /// Its guard intervals, the usual one first.
    pub(super) const fn guard_intervals(self) -> &'static [Duration] {
        const LONG: Duration = Duration::from_nanos(800);
        const SHORT: Duration = Duration::from_nanos(400);
        const DOUBLE: Duration = Duration::from_nanos(1600);
        const LONGEST: Duration = Duration::from_nanos(3200);
        match self {
            Self::Dot11b | Self::Dot11g => &[LONG],
            Self::Dot11n | Self::Dot11ac => &[SHORT, LONG],
            Self::Dot11ax => &[LONG, DOUBLE, LONGEST],
        }
    }

    /// The most spatial streams.
    pub(super) const fn most_streams(self) -> u8 {
        match self {
            Self::Dot11b | Self::Dot11g => 1,
            Self::Dot11n => 4,
            Self::Dot11ac | Self::Dot11ax => 8,
        }
    }

    /// The largest MCS.
    pub(super) const fn most_mcs(self) -> u8 {
        match self {
            Self::Dot11b => 3,
            Self::Dot11g | Self::Dot11n => 7,
            Self::Dot11ac => 9,
            Self::Dot11ax => 11,
        }
    }

    /// The most bytes of an A-MPDU (IEEE 802.11-2020 Tables 19-25 and 21-28; 802.11ax-2021 Table
    /// 27-54).
    pub(super) const fn most_ampdu(self) -> ByteCount {
        ByteCount(match self {
            Self::Dot11b | Self::Dot11g => 0,
            Self::Dot11n => 65_535,
            Self::Dot11ac => 1_048_575,
            Self::Dot11ax => 6_500_631,
        })
    }

    /// The block-acknowledgement window in MPDUs: 64, and 256 from 802.11ax on.
    pub(super) const fn block_ack_window(self) -> u32 {
        match self {
            Self::Dot11b | Self::Dot11g => 1,
            Self::Dot11n | Self::Dot11ac => 64,
            Self::Dot11ax => 256,
        }
    }

    /// The most bytes of an A-MSDU: 7935 B in 802.11n, and 11 398 B from 802.11ac on.
    pub(super) const fn most_amsdu(self) -> u64 {
        match self {
            Self::Dot11b | Self::Dot11g => 0,
            Self::Dot11n => 7935,
            Self::Dot11ac | Self::Dot11ax => 11_398,
        }
    }
}
