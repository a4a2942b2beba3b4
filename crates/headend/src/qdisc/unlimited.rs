//! No limit and no law: for "what if nothing were ever refused".

use super::config::Parameters;
use crate::aqm::{Aqm, DropTail};
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

impl Parameters for Config {
    fn law(&self, _rate: Rate, _rng: Rng) -> Result<Box<dyn Aqm>, String> {
        Ok(Box::new(DropTail))
    }
}
