//! The channel of a service flow.

use super::config::OneWay;
use crate::link::docsis::preset::{Feature, Preset};
use crate::link::docsis::timing::UpstreamTiming;
use crate::scenario::error::ScenarioError;
use crate::units::{Limit, Rate};

/// The channel that a service flow is to have a part of.
#[derive(Debug, Clone, Copy)]
pub(in crate::scenario::cable) struct Channel<'a> {
    pub(in crate::scenario::cable) direction: OneWay,
    pub(in crate::scenario::cable) preset: Preset,
    /// What it has to give.
    pub(in crate::scenario::cable) rate: Rate,
    pub(in crate::scenario::cable) timing: &'a UpstreamTiming,
    /// AQM is disabled on all of the modem's service flows in this direction.
    pub(in crate::scenario::cable) is_aqm_disabled: bool,
    /// What modems' buffers are if the CMTS drops what is written of them.
    pub(in crate::scenario::cable) default_buffer: Option<DefaultBuffer<'a>>,
}

/// The buffer that a line's modems have by default.
#[derive(Debug, Clone, Copy)]
pub(in crate::scenario::cable) struct DefaultBuffer<'a> {
    pub(in crate::scenario::cable) size: Limit,
    /// The path of the line.
    pub(in crate::scenario::cable) line: &'a str,
}

impl Channel<'_> {
    /// Refuses what the generation does not have, if it is used.
    pub(super) fn require(
        &self,
        is_used: bool,
        path: &str,
        feature: Feature,
    ) -> Result<(), ScenarioError> {
        match self.preset.require(feature) {
            Err(why) if is_used => Err(ScenarioError::invalid(path, why)),
            _ => Ok(()),
        }
    }
}
