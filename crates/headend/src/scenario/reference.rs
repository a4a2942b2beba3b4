//! What can be written in a scenario, as a JSON Schema and as a reference page: both made from the doc comments of the structs.

use schemars::generate::SchemaSettings;

use super::raw::Raw;

/// The JSON Schema of a scenario (draft 2020-12).
pub fn schema() -> String {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let schema = generator.into_root_schema_for::<Raw>();
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}

/// The reference page, in Markdown.
pub fn reference() -> String {
    String::new()
}
