//! What is asked of an emulation, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Duration;

/// How punctual a run with real hosts must be. One that is not is reported as not trustworthy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Emulation {
    /// How late packets may be handed to real hosts, at the 99th percentile.
    pub lateness: Duration,
    /// How long the emulator may stall at any time.
    pub stall: Duration,
}

impl Default for Emulation {
    fn default() -> Self {
        Self {
            // Choices: a tenth of the delays that people notice, and half of the shortest one.
            lateness: Duration::from_millis(1),
            stall: Duration::from_millis(10),
        }
    }
}
