//! The parameters of the four access categories, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::link::cell::backoff::Windows;
use crate::link::cell::setup::Access;
use crate::qdisc::lanes::Category;
use crate::scenario::error::ScenarioError;
use crate::time::Duration;

/// The parameters of contention of a node, by access category. What is left out is as IEEE
/// 802.11-2016 Table 9-137 has it for stations, and as hostapd ships it for access points.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Edca {
    /// `AC_BK`.
    pub background: EdcaCategory,
    /// `AC_BE`.
    pub best_effort: EdcaCategory,
    /// `AC_VI`.
    pub video: EdcaCategory,
    /// `AC_VO`.
    pub voice: EdcaCategory,
}

/// The parameters of an access category.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EdcaCategory {
    /// Slots that follow SIFS before a backoff (AIFSN). Default: 7, 3, 2 and 2, from background to
    /// voice; of an access point's video and voice 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aifsn: Option<u32>,
    /// Smallest contention window: backoffs are drawn from 0 to this many slots; a value 2^n - 1.
    /// Default: 15, 15, 7 and 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_min: Option<u32>,
    /// Largest contention window, to which failures double it. Default: 1023, 1023, 15 and 7; of an
    /// access point's best effort 63.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cw_max: Option<u32>,
    /// How long the node may go on when it has won the channel; zero: one exchange. Default: 0, 0,
    /// 3.008 ms and 1.504 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txop: Option<Duration>,
}

/// Whose parameters they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    AccessPoint,
    Station,
}

const MOST_AIFSN: u32 = 15;
/// The exponent of a window has four bits (IEEE 802.11-2020 §9.4.2.28).
const LARGEST_WINDOW: u32 = 32_767;
/// A TXOP limit has 16 bits of 32 us (§9.4.2.28).
const LONGEST_TXOP: Duration = Duration::from_micros(32 * 65_535);

impl EdcaCategory {
    /// Writes the defaults out.
    fn fill(&mut self, category: Category, whose: Whose) {
        let is_access_point = whose == Whose::AccessPoint;
        let (aifsn, least, most, txop) = match category {
            Category::Background => (7, 15, 1023, 0),
            Category::BestEffort if is_access_point => (3, 15, 63, 0),
            Category::BestEffort => (3, 15, 1023, 0),
            Category::Video if is_access_point => (1, 7, 15, 3008),
            Category::Video => (2, 7, 15, 3008),
            Category::Voice if is_access_point => (1, 3, 7, 1504),
            Category::Voice => (2, 3, 7, 1504),
        };
        self.aifsn.get_or_insert(aifsn);
        self.cw_min.get_or_insert(least);
        self.cw_max.get_or_insert(most);
        self.txop.get_or_insert(Duration::from_micros(txop));
    }

    /// Checks the parameters, which are all written out.
    fn plan(&self, path: &str, slot: Duration, sifs: Duration) -> Result<Access, ScenarioError> {
        let refuse =
            |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
        let (aifsn, txop) = (self.aifsn.unwrap_or(2), self.txop.unwrap_or_default());
        let windows = Windows {
            least: self.cw_min.unwrap_or(15),
            most: self.cw_max.unwrap_or(1023),
        };
        if !(1..=MOST_AIFSN).contains(&aifsn) {
            return refuse(
                "aifsn",
                format!("expected 1 to {MOST_AIFSN} slots, found {aifsn}"),
            );
        }
        for (key, window) in [("cw_min", windows.least), ("cw_max", windows.most)] {
            if !(1..=LARGEST_WINDOW).contains(&window) {
                let why = format!("expected 1 to {LARGEST_WINDOW} slots, found {window}");
                return refuse(key, why);
            }
            if !(window + 1).is_power_of_two() {
                let below = (window + 2).next_power_of_two() / 2 - 1;
                let above = 2 * below + 1;
                let why =
                    format!("expected 2^n - 1 slots, such as {below} or {above}, found {window}");
                return refuse(key, why);
            }
        }
        if windows.least > windows.most {
            let why = format!(
                "the smallest contention window, {}, is larger than the largest, {}",
                windows.least, windows.most
            );
            return refuse("cw_min", why);
        }
        if txop > LONGEST_TXOP {
            return refuse(
                "txop",
                format!("expected {LONGEST_TXOP} at most, found {txop}"),
            );
        }
        Ok(Access {
            aifs: sifs + slot * u64::from(aifsn),
            windows,
            txop,
        })
    }
}

impl Edca {
    fn categories(&mut self) -> [(&'static str, Category, &mut EdcaCategory); 4] {
        [
            ("background", Category::Background, &mut self.background),
            ("best_effort", Category::BestEffort, &mut self.best_effort),
            ("video", Category::Video, &mut self.video),
            ("voice", Category::Voice, &mut self.voice),
        ]
    }

    /// Writes the defaults out and checks the parameters, in ascending order of priority.
    pub(super) fn plan(
        &mut self,
        path: &str,
        whose: Whose,
        [slot, sifs]: [Duration; 2],
    ) -> Result<Vec<Access>, ScenarioError> {
        let categories = self.categories().into_iter();
        let planned = categories.map(|(key, category, parameters)| {
            parameters.fill(category, whose);
            parameters.plan(&format!("{path}.{key}"), slot, sifs)
        });
        planned.collect()
    }
}
