//! Congestion controls that are not headend's own: their parameters, and who builds them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CongestionControl, reno};
use crate::custom::{self, Code};
use crate::rng::Rng;

/// A congestion control of your own: a class in a Python file, or what a program around the engine
/// provides. Further keys are the parameters of that code.
///
/// Use it to try a control that headend does not have, beside those that it has.
///
/// Source: none; the code is yours (docs/howto/own-law.md).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The code: a file and the class in it, such as `my_cc.py:MyControl`. A congestion that is
    /// this text alone, or `{custom = "my_cc.py:MyControl"}` with parameters beside it, means the
    /// same.
    pub code: String,
    /// The text of that file, as it was read. Results hold it, so that they can be repeated.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The parameters of the code.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, Value>,
}

/// Builds controls for the names that scenarios use.
pub trait Provider: Send + Sync {
    /// A control for segments of `mss` bytes that starts with `initial_window` bytes. `rng` is a
    /// random stream of its own.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is no such control, or what is wrong with a parameter.
    fn control(
        &self,
        code: Code<'_>,
        mss: u64,
        initial_window: u64,
        rng: Rng,
    ) -> Result<Box<dyn CongestionControl>, String>;

    /// Whether the control needs the number of marked bytes.
    fn counts_marks(&self, code: Code<'_>) -> bool;
}

static PROVIDER: OnceLock<Box<dyn Provider>> = OnceLock::new();

/// Sets who builds controls that are not headend's own, once for the whole program. False if that
/// was done before.
pub fn provide(provider: Box<dyn Provider>) -> bool {
    PROVIDER.set(provider).is_ok()
}

impl Config {
    fn code(&self) -> Code<'_> {
        Code {
            name: &self.code,
            text: &self.text,
            parameters: &self.parameters,
        }
    }

    pub(super) fn counts_marks(&self) -> bool {
        let provider = PROVIDER.get();
        provider.is_some_and(|provider| provider.counts_marks(self.code()))
    }

    /// Nothing to refuse here: [`Self::check_code`] says more than a key and what is expected.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "as the other controls"
    )]
    pub(super) fn check(&self) -> Result<(), super::Refusal> {
        Ok(())
    }

    /// Checks that the control can be built.
    ///
    /// # Errors
    ///
    /// A sentence that says why not.
    pub fn check_code(&self) -> Result<(), String> {
        self.try_build(1460, 14_600, Rng::for_path(0, "check"))
            .map(drop)
    }

    fn try_build(
        &self,
        mss: u64,
        initial_window: u64,
        rng: Rng,
    ) -> Result<Box<dyn CongestionControl>, String> {
        let provider = PROVIDER
            .get()
            .ok_or("nobody provides controls of one's own here")?;
        custom::note_use();
        provider.control(self.code(), mss, initial_window, rng)
    }

    /// Builds the control. One that could be built when the scenario was checked, and cannot now,
    /// ends the run.
    pub(super) fn build(
        &self,
        mss: u64,
        initial_window: u64,
        rng: Rng,
    ) -> Box<dyn CongestionControl> {
        self.try_build(mss, initial_window, rng)
            .unwrap_or_else(|why| {
                custom::fail(why);
                Box::new(reno::Reno::new(
                    &reno::Config::default(),
                    mss,
                    initial_window,
                ))
            })
    }
}
