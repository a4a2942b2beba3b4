//! The line around its service flows, while they are planned: what is the same for all of them.

use super::config::Docsis;
use super::service_flow::{Channel, DefaultBuffer, OneWay};
use crate::link::RateSchedule;
use crate::link::docsis::preset::Plant;
use crate::link::docsis::timing::UpstreamTiming;
use crate::time::Duration;
use crate::units::Rate;

/// A line whose plant has been checked, and whose defaults have been written out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Where it is written.
    pub(super) path: &'a str,
    pub(super) written: &'a Docsis,
    pub(super) plant: &'a Plant,
    pub(super) timing: &'a UpstreamTiming,
    /// What its channels are given, up and down, where that is less than they carry.
    pub(super) capacity: &'a [Option<RateSchedule>; 2],
    /// What its channels carry, up and down.
    pub(super) channels: [Rate; 2],
    /// What its channels have to give, up and down.
    pub(super) rates: [Rate; 2],
    /// How long the run takes.
    pub(super) duration: Duration,
}

impl<'a> Line<'a> {
    /// The channel of a modem that may have AQM disabled on all of its upstream service flows.
    pub(super) fn channel(self, direction: OneWay, is_upstream_aqm_disabled: bool) -> Channel<'a> {
        Channel {
            direction,
            preset: self.written.preset,
            rate: self.rates[direction.index()],
            timing: self.timing,
            is_aqm_disabled: direction == OneWay::Up && is_upstream_aqm_disabled,
            default_buffer: self.default_buffer(direction),
        }
    }

    /// What modems' buffers are if the CMTS drops what is written of them: only those of upstream
    /// service flows are the modems'.
    fn default_buffer(self, direction: OneWay) -> Option<DefaultBuffer<'a>> {
        let settings = &self.written.buffer_settings;
        let is_dropped = settings.dropped && direction == OneWay::Up;
        let size = settings.default_buffer.filter(|_| is_dropped)?;
        Some(DefaultBuffer {
            size,
            line: self.path,
        })
    }
}
