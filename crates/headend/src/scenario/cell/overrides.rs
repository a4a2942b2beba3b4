//! What overrides need to know of a cell's table.

use serde_json::Value;

use crate::scenario::tables::Tables;

pub(in crate::scenario) struct CellTables;

impl Tables for CellTables {
    /// A station's queue has the station's name. The other is the access point's.
    fn queue_key(&self, _table: Option<&Value>, place: &str) -> String {
        match place.split_once('.') {
            Some((station, _)) => format!("station.{station}.queue"),
            None => "access_point.queue".to_owned(),
        }
    }

    fn has_names(&self, keys: &[&str]) -> bool {
        keys == ["station"]
    }
}
