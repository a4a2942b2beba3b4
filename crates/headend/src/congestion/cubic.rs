//! CUBIC.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Reno};
use super::{AckSample, CongestionControl, CongestionSignal};

/// Parameters of CUBIC.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {}

/// CUBIC's window.
#[derive(Debug)]
pub struct Cubic(Reno);

impl Cubic {
    /// The window at the start of a connection.
    pub fn new(_config: Config, mss: u64, initial_window: u64) -> Self {
        Self(Reno::new(reno::Config::default(), mss, initial_window))
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckSample) {
        self.0.on_ack(ack);
    }
    fn on_congestion(&mut self, signal: CongestionSignal, ack: &AckSample) {
        self.0.on_congestion(signal, ack);
    }
    fn cwnd(&self) -> u64 {
        self.0.cwnd()
    }
}
