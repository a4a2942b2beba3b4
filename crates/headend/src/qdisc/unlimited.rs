//! No limit and no law: for "what if nothing were ever refused".

use crate::aqm::DropTail;
use crate::aqm::{Governor, LawParameters};
use crate::queue::Limited;
use crate::rng::Rng;
use crate::units::Rate;

/// A queue without a limit has no parameters.
///
/// Use it to ask "what if nothing were ever dropped", or where another queue is the bottleneck.
///
/// Source: a choice of ours.
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
