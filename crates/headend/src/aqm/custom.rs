//! Control laws that are not headend's own: their parameters, and who builds them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::{Aqm, LawParameters};
use crate::context::Context;
use crate::custom::{self, Code};
use crate::metrics::sample::QueueInternals;
use crate::packet::Packet;
use crate::queue::{Backlog, LineView};
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::{Limit, Rate};

/// A control law of your own: a class in a Python file, or what a program around the engine
/// provides. Further keys are the parameters of that code.
///
/// Use it to try a law that headend does not have, beside those that it has.
///
/// Source: none; the code is yours (docs/howto/own-law.md).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Config {
    /// The code: a file and the class in it, such as `my_law.py:MyLaw`. A queue that is this text
    /// alone, or `{custom = "my_law.py:MyLaw"}` with parameters beside it, means the same.
    pub code: String,
    /// Limit of the queue: a size, a time at the line's rate, a number of packets, or "unlimited".
    /// Raising it lets the queue absorb longer bursts.
    pub limit: Limit,
    /// The text of that file, as it was read. Results hold it, so that they can be repeated.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The parameters of the code.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, Value>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            code: String::new(),
            // As the other laws.
            limit: Limit::Packets(1000),
            text: String::new(),
            parameters: BTreeMap::new(),
        }
    }
}

/// Builds laws for the names that scenarios use.
pub trait Provider: Send + Sync {
    /// A law for a line of this nominal (or maximum sustained) rate. `rng` is a random stream of
    /// its own.
    ///
    /// # Errors
    ///
    /// A sentence that says why there is no such law, or what is wrong with a parameter.
    fn law(&self, code: Code<'_>, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String>;
}

static PROVIDER: OnceLock<Box<dyn Provider>> = OnceLock::new();

/// Sets who builds laws that are not headend's own, once for the whole program. False if that was
/// done before.
pub fn provide(provider: Box<dyn Provider>) -> bool {
    PROVIDER.set(provider).is_ok()
}

impl LawParameters for Config {
    type Law = Custom;

    fn law(&self, rate: Rate, rng: Rng) -> Result<Custom, String> {
        let provider = PROVIDER
            .get()
            .ok_or("nobody provides laws of one's own here")?;
        let code = Code {
            name: &self.code,
            text: &self.text,
            parameters: &self.parameters,
        };
        custom::note_use();
        provider.law(code, rate, rng).map(Custom)
    }
}

/// A law from a [`Provider`].
#[derive(Debug)]
pub struct Custom(Box<dyn Aqm>);

impl Aqm for Custom {
    fn enqueue(
        &mut self,
        backlog: &mut Backlog,
        packet: Packet,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) {
        self.0.enqueue(backlog, packet, line, cx);
    }

    fn dequeue(
        &mut self,
        backlog: &mut Backlog,
        line: &LineView<'_>,
        cx: &mut Context<'_>,
    ) -> Option<Packet> {
        self.0.dequeue(backlog, line, cx)
    }

    fn evicted(
        &mut self,
        backlog: &Backlog,
        packet: &Packet,
        line: &LineView<'_>,
        cx: &Context<'_>,
    ) {
        self.0.evicted(backlog, packet, line, cx);
    }

    fn next_update(&self) -> Option<Instant> {
        self.0.next_update()
    }

    fn is_periodic(&self) -> bool {
        self.0.is_periodic()
    }

    fn looks_at_grants(&self) -> bool {
        self.0.looks_at_grants()
    }

    fn is_absent(&self) -> bool {
        self.0.is_absent()
    }

    fn update(&mut self, backlog: &Backlog, line: &LineView<'_>, cx: &mut Context<'_>) {
        self.0.update(backlog, line, cx);
    }

    fn base_probability(&self) -> Option<f64> {
        self.0.base_probability()
    }

    fn internals(&self) -> QueueInternals {
        self.0.internals()
    }
}
