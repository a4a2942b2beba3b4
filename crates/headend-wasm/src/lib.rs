//! The engine behind a small interface for browsers: text goes in, numbers come out. Nothing is
//! decided here.
//!
//! What a scenario is refused for comes as a text of JSON: `message` in one line, `path`, `line`
//! and `column` where they are known, and of a name that means nothing `unknown`, `known` and
//! `meant`.

mod events;
mod refusal;
mod run;
mod tables;

pub use events::Kind;
pub use run::Run;
pub use tables::Tables;

use std::collections::BTreeMap;

use headend::scenario::{self, Format, Override, Scenario};
use wasm_bindgen::prelude::*;

use crate::refusal::{refuse, say};

/// Reads a scenario: a text of TOML, and pairs of path and value that replace what it says, as
/// JSON.
fn read(text: &str, overrides: &str) -> Result<Scenario, JsValue> {
    let overrides: Vec<Override> =
        serde_json::from_str(overrides).map_err(|error| say(&format!("overrides: {error}")))?;
    Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
        .map_err(|error| refuse(&error))
}

/// Checks a scenario and gives what it has, as JSON: title, description, duration and warm-up in
/// nanoseconds, flows with their applications, queues, the bottleneck, warnings, the most bytes
/// that a run takes, and the scenario with all defaults written out.
///
/// # Errors
///
/// What it is refused for, as JSON.
#[wasm_bindgen]
pub fn check(text: &str, overrides: &str) -> Result<String, JsValue> {
    let scenario = read(text, overrides)?;
    let flows: Vec<_> = scenario.flows().collect();
    let resolved: serde_json::Value =
        serde_json::from_str(&scenario.to_json()).expect("the engine writes JSON");
    let content = serde_json::json!({
        "title": scenario.raw().title,
        "description": scenario.raw().description,
        "duration_ns": scenario.duration().as_nanos(),
        "warmup_ns": scenario.raw().warmup.as_nanos(),
        "seed": scenario.raw().seed,
        "flows": flows,
        "queues": scenario.queues().collect::<Vec<_>>(),
        "bottleneck": scenario.bottleneck(),
        "warnings": scenario.warnings(),
        "bytes": scenario.memory().into_iter().map(|part| part.bytes).sum::<u64>(),
        "resolved": resolved,
    });
    Ok(content.to_string())
}

/// The JSON Schema of scenarios.
#[wasm_bindgen]
pub fn schema() -> String {
    scenario::schema()
}

/// The engine's description of queue disciplines, applications and measures, as JSON.
#[wasm_bindgen]
pub fn describe() -> String {
    headend::description::describe()
}
