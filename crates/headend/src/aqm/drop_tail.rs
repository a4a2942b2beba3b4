//! Drop-tail: enqueues the packets that fit under the limit, and drops the others.
//!
//! Buffer Control is this law with a limit that the operator configures
//! ([`crate::qdisc::buffer_control`]).

use super::Aqm;
use crate::aqm::{Governor, LawParameters};
use crate::rng::Rng;
use crate::time::Duration;
use crate::units::{Limit, Rate};

/// Parameters of drop-tail.
///
/// Use it to model most equipment, and to see the effect of a buffer of a given size.
///
/// Source: CM-GL-Buffer §5.2.2, for the buffer sizes of early modems.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// Raising it drops fewer packets of a burst, and makes all packets behind an upload wait
    /// longer.
    pub limit: Limit,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // "Active Queue Management in DOCSIS 3.x Cable Modems": the modem with an oversized
            // buffer in its comparison holds 250 ms at the sustained rate.
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

/// The control law that never acts: only the limit of the backlog applies.
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
