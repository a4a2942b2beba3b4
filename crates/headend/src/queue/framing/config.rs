//! A framing as it is written: a keyword of `tc-cake(8)`, or a table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cells, Framing};
use crate::named::OrTable;
use crate::units::{ByteCount, Overhead};

/// A framing: a keyword alone, or a table.
pub type FramingConfig = OrTable<Keyword, FramingTable>;

/// The most that a frame may be padded to.
const LARGEST_MPU: u64 = 1500;
/// What a tag of IEEE 802.1Q takes.
const VLAN_TAG: i16 = 4;
/// The most tags in a frame that anybody stacks, times two.
const MOST_TAGS: u8 = 4;

/// Framings by the keywords of `tc-cake(8)`. A dash may stand in place of an underscore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keyword {
    /// IP in LLC/SNAP and Ethernet on ATM: 32 bytes, in cells of 53.
    #[serde(alias = "bridged-llcsnap")]
    BridgedLlcsnap,
    /// Ethernet on PTM, as on VDSL2: 22 bytes, and a byte for each 64.
    #[serde(alias = "bridged-ptm")]
    BridgedPtm,
    /// Ethernet on ATM, multiplexed by virtual circuit: 24 bytes, in cells of 53.
    #[serde(alias = "bridged-vcmux")]
    BridgedVcmux,
    /// More than any line needs: 48 bytes, in cells of 53.
    Conservative,
    /// A cable line by its provisioned rates: Ethernet header and check sequence, 18 bytes, at
    /// least 64.
    Docsis,
    /// Ethernet on its own wire: header, check sequence, preamble and gap, 38 bytes, at least 84.
    Ethernet,
    /// IP bytes alone.
    #[default]
    Ip,
    /// IP in LLC/SNAP on ATM: 16 bytes, in cells of 53.
    #[serde(alias = "ipoa-llcsnap")]
    IpoaLlcsnap,
    /// IP on ATM, multiplexed by virtual circuit: 8 bytes, in cells of 53.
    #[serde(alias = "ipoa-vcmux")]
    IpoaVcmux,
    /// PPP on ATM with LLC: 14 bytes, in cells of 53.
    #[serde(alias = "pppoa-llc")]
    PppoaLlc,
    /// PPP on ATM, multiplexed by virtual circuit: 10 bytes, in cells of 53.
    #[serde(alias = "pppoa-vcmux")]
    PppoaVcmux,
    /// PPPoE in LLC/SNAP on ATM: 40 bytes, in cells of 53.
    #[serde(alias = "pppoe-llcsnap")]
    PppoeLlcsnap,
    /// PPPoE on PTM, as on VDSL2: 30 bytes, and a byte for each 64.
    #[serde(alias = "pppoe-ptm")]
    PppoePtm,
    /// PPPoE on ATM, multiplexed by virtual circuit: 32 bytes, in cells of 53.
    #[serde(alias = "pppoe-vcmux")]
    PppoeVcmux,
    /// What `tc` counts where nobody says otherwise: the Ethernet header, 14 bytes.
    Raw,
}

/// A framing in detail. The bytes of a packet are its IP bytes and the overhead, at least `mpu`,
/// and then those of the cells.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FramingTable {
    /// The framing where no other key of this table is written.
    pub keyword: Keyword,
    /// Bytes that frames add to each IP packet, from -64 to 256. PPPoE takes 8, Ethernet with
    /// preamble and gap 38. More leaves less of the rate to IP packets, above all to short ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
    /// Tags of IEEE 802.1Q in each frame, 4 bytes each: `ether-vlan` of `tc`.
    pub vlan_tags: u8,
    /// The minimum packet unit: shorter frames, overhead included, are padded to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpu: Option<ByteCount>,
    /// What frames are cut into: cells of 53 bytes with 48 of a frame (`"atm"`), blocks of 65 with
    /// 64 (`"ptm"`), or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
}

impl Keyword {
    /// What it counts: `tc-cake(8)`, in its section on overhead.
    pub const fn framing(self) -> Framing {
        let (overhead, mpu, cells) = match self {
            Self::BridgedLlcsnap | Self::PppoeVcmux => (32, 0, Cells::Atm),
            Self::BridgedPtm => (22, 0, Cells::Ptm),
            Self::BridgedVcmux => (24, 0, Cells::Atm),
            Self::Conservative => (48, 0, Cells::Atm),
            Self::Docsis => (18, 64, Cells::None),
            Self::Ethernet => (38, 84, Cells::None),
            Self::Ip => (0, 0, Cells::None),
            Self::IpoaLlcsnap => (16, 0, Cells::Atm),
            Self::IpoaVcmux => (8, 0, Cells::Atm),
            Self::PppoaLlc => (14, 0, Cells::Atm),
            Self::PppoaVcmux => (10, 0, Cells::Atm),
            Self::PppoeLlcsnap => (40, 0, Cells::Atm),
            Self::PppoePtm => (30, 0, Cells::Ptm),
            Self::Raw => (14, 0, Cells::None),
        };
        Framing {
            overhead,
            mpu,
            cells,
        }
    }
}

impl FramingConfig {
    /// What is counted.
    ///
    /// # Errors
    ///
    /// A key of the table with a value that makes no sense, and why.
    pub fn framing(&self) -> Result<Framing, (&'static str, String)> {
        let table = match self {
            Self::Plain(keyword) => return Ok(keyword.framing()),
            Self::Table(table) => table,
        };
        let Framing {
            overhead,
            mpu,
            cells,
        } = table.keyword.framing();
        if table.vlan_tags > MOST_TAGS {
            let why = format!(
                "expected at most {MOST_TAGS} tags, found {}",
                table.vlan_tags
            );
            return Err(("vlan_tags", why));
        }
        if let Some(mpu) = table.mpu.filter(|mpu| mpu.0 > LARGEST_MPU) {
            return Err((
                "mpu",
                format!("expected at most {LARGEST_MPU} B, found {mpu}"),
            ));
        }
        let overhead = table.overhead.map_or(overhead, |Overhead(bytes)| bytes);
        Ok(Framing {
            overhead: overhead + VLAN_TAG * i16::from(table.vlan_tags),
            mpu: table.mpu.map_or(mpu, |mpu| mpu.0 as u16),
            cells: table.cells.unwrap_or(cells),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str) -> [u64; 4] {
        let config: FramingConfig = serde_json::from_str(text).expect("it is a framing");
        let framing = config.framing().expect("it makes sense");
        [46, 100, 576, 1500].map(|size| framing.size_on_wire(size))
    }

    /// Measured with `tc` on Linux 6.1 and 6.12, for IP packets of 46, 100, 576 and 1500 bytes.
    #[test]
    fn keywords_count_what_a_linux_kernel_counts() {
        let of = |keyword: &str| sizes(&format!("\"{keyword}\""));
        assert_eq!(of("ip"), [46, 100, 576, 1500]);
        assert_eq!(of("raw"), [60, 114, 590, 1514]);
        assert_eq!(of("ethernet"), [84, 138, 614, 1538]);
        assert_eq!(of("docsis"), [64, 118, 594, 1518]);
        assert_eq!(of("bridged_llcsnap"), [106, 159, 689, 1696]);
        assert_eq!(of("conservative"), [106, 212, 689, 1749]);
        assert_eq!(of("bridged_ptm"), [70, 124, 608, 1546]);
        assert_eq!(of("pppoe_ptm"), [78, 133, 616, 1554]);
        assert_eq!(of("pppoe-ptm"), of("pppoe_ptm"));
    }

    #[test]
    fn a_table_changes_what_its_keyword_counts() {
        assert_eq!(
            sizes(r#"{"overhead": "44 B", "cells": "atm"}"#),
            [106, 159, 689, 1749]
        );
        assert_eq!(sizes(r#"{"overhead": "-10 B"}"#), [36, 90, 566, 1490]);
        assert_eq!(
            sizes(r#"{"keyword": "raw", "mpu": "256 B"}"#),
            [256, 256, 590, 1514]
        );
        assert_eq!(
            sizes(r#"{"keyword": "docsis", "vlan_tags": 1}"#),
            [68, 122, 598, 1522]
        );
        assert_eq!(
            sizes(r#"{"keyword": "pppoe_vcmux", "cells": "none"}"#),
            [78, 132, 608, 1532]
        );
    }

    #[test]
    fn what_no_line_has_is_refused_with_its_key() {
        let why = |text: &str| {
            let config: FramingConfig = serde_json::from_str(text).expect("it is a framing");
            config.framing().expect_err("it makes no sense")
        };
        let (key, text) = why(r#"{"vlan_tags": 9}"#);
        assert_eq!(
            (key, text.as_str()),
            ("vlan_tags", "expected at most 4 tags, found 9")
        );
        let (key, text) = why(r#"{"mpu": "9 kB"}"#);
        assert_eq!(
            (key, text.as_str()),
            ("mpu", "expected at most 1500 B, found 9 kB")
        );
        let refuse = |text: &str| {
            let read = serde_json::from_str::<FramingConfig>(text);
            read.expect_err("it is no framing").to_string()
        };
        let text = refuse(r#"{"overhead": "300 B"}"#);
        assert!(
            text.contains("expected an overhead from -64 B to 256 B"),
            "{text}"
        );
        let text = refuse(r#"{"overhead": 44}"#);
        assert!(
            text.contains("expected an overhead such as \"44 B\""),
            "{text}"
        );
    }
}
