//! A FIFO without a limit and without a control law, which never drops a packet.

use crate::aqm::DropTail;
use crate::aqm::{Governor, LawParameters};
use crate::queue::Limited;
use crate::rng::Rng;
use crate::units::Rate;

/// Parameters of the queue without a limit; there are none.
///
/// Use it to see what would happen if no packet were ever dropped, or where another queue is the
/// bottleneck.
///
/// Source: our choice.
#[derive(
    Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

impl Limited for Config {}

impl LawParameters for Config {
    type Law = DropTail;

    fn law(&self, _rate: Rate, _rng: Rng) -> Result<DropTail, String> {
        Ok(DropTail)
    }

    fn governor(&self) -> Governor {
        Governor::Nothing
    }
}
