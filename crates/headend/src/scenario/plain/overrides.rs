//! What overrides need to know of a plain link's table.

use serde_json::{Map, Value};

use crate::scenario::tables::Tables;

pub(in crate::scenario) struct PlainTables;

impl Tables for PlainTables {
    fn queue_key(&self, _table: Option<&Value>, place: &str) -> String {
        format!("{place}.queue")
    }

    fn is_short(&self, table: &Value) -> bool {
        table.get("down").is_none()
    }

    /// An override of one key of a direction that is not written leaves the others what they are:
    /// those of `up`.
    fn complete(&self, table: &mut Map<String, Value>) {
        let up = table.get("up").and_then(Value::as_object).cloned();
        let down = table.get_mut("down").and_then(Value::as_object_mut);
        if let (Some(up), Some(down)) = (up, down) {
            for (key, value) in up {
                down.entry(key).or_insert(value);
            }
        }
    }
}
