//! The kinds of things that a scenario can name, from the engine's own schema. A new variant is
//! thus in the list, and in the suites, without being added here.

use headend::scenario::schema;
use serde_json::Value;

/// The names of the variants of `definition`, such as `LinkConfig`.
pub(crate) fn kinds(definition: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(&schema()).expect("the schema is JSON");
    let variants = schema["$defs"][definition]["oneOf"]
        .as_array()
        .unwrap_or_else(|| panic!("the schema defines {definition}"));
    let names: Vec<String> = (variants.iter())
        .map(|variant| {
            let keys = variant["properties"].as_object();
            let mut names = keys.expect("a variant is a table").keys();
            names.next().expect("a variant has a name").clone()
        })
        .collect();
    assert!(!names.is_empty(), "{definition} has variants");
    names
}
