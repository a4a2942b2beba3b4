//! What overrides need to know of a link's table before it is read into its type: which of its
//! tables have names for keys, and where a queue is written.

use serde_json::{Map, Value};

/// A kind of link, as overrides see it.
pub(super) trait Tables {
    /// The key, below the link's table, of the queue that results call `LINK.PLACE`.
    fn queue_key(&self, table: Option<&Value>, place: &str) -> String;

    /// Whether the table at `keys`, below the link's table, has keys that are names.
    fn has_names(&self, _keys: &[&str]) -> bool {
        false
    }

    /// Whether the link's table leaves out what an override may have written a part of.
    fn is_short(&self, _table: &Value) -> bool {
        false
    }

    /// Writes out the rest of a table that was short before the overrides.
    fn complete(&self, _table: &mut Map<String, Value>) {}
}
