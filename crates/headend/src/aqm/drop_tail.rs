//! Drop-tail: takes what fits under the limit, refuses the rest.
//!
//! Buffer Control is this law with a limit that the operator sets ([`crate::qdisc::buffer_control`]).

use super::Aqm;
use crate::aqm::{Governor, LawParameters};
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{Limit, Rate};

/// Parameters of drop-tail.
///
/// Use it as what most equipment does, and to see what a buffer of a given size costs.
///
/// Source: CM-GL-Buffer §5.2.2, for the sizes that modems came with.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How much may wait: a size, a time at the line's rate, a number of packets, or "unlimited". Raising it loses fewer packets of a
    /// burst, and makes everybody wait longer behind an upload.
    pub limit: Limit,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // "Active Queue Management in DOCSIS 3.x Cable Modems": the bloated modem of its comparison holds 250 ms at the sustained rate.
            limit: Limit::Time(Duration::from_millis(250)),
        }
    }
}

impl LawParameters for Config {
    type Law = DropTail;

    fn law(&self, _rate: Rate, _rng: Rng) -> Result<DropTail, String> {
        Ok(DropTail)
    }

    fn governor(&self) -> Governor {
        Governor::Bound("buffer")
    }
}

/// No law but the backlog's limit.
#[derive(Debug, Default)]
pub struct DropTail;

impl Aqm for DropTail {
    fn is_periodic(&self) -> bool {
        false
    }

    fn is_absent(&self) -> bool {
        true
    }
}
