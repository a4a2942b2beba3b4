//! What a scenario is refused for, as JSON.

use headend::scenario::ScenarioError;
use wasm_bindgen::JsValue;

/// A message that has no place in a scenario.
pub(crate) fn say(message: &str) -> JsValue {
    JsValue::from_str(&serde_json::json!({ "message": message }).to_string())
}

/// The error with its place and what was perhaps meant.
pub(crate) fn refuse(error: &ScenarioError) -> JsValue {
    let (line, column) = error.position().unzip();
    let (unknown, known) = error.unknown().unzip();
    let content = serde_json::json!({
        "message": error.to_string(),
        "path": error.path(),
        "line": line,
        "column": column,
        "unknown": unknown,
        "known": known,
        "meant": error.meant(),
    });
    JsValue::from_str(&content.to_string())
}
