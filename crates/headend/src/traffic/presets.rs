//! Named presets of a flow: the keys of a named browser or page, and the default congestion control
//! of an application.
//!
//! A name gives the values of the keys that are not given, before a scenario is parsed. The
//! resolved scenario shows the result.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::web::{Browser, Site};

/// Writes the values of named presets into a flow of the scenario's tree. Invalid values are left
/// for the parser, which reports them.
pub(crate) fn fill_in(flow: &mut Map<String, Value>) {
    let Some(application) = flow.get_mut("application") else {
        return;
    };
    if let Some(web) = application.get_mut("web").and_then(Value::as_object_mut) {
        if let Some(browser) = read::<Browser>(web, "browser") {
            add(web, browser.keys());
        }
        if let Some(site) = read::<Site>(web, "site") {
            add(web, site.keys());
        }
    }
    let is_torrent = application == "torrent" || application.get("torrent").is_some();
    if is_torrent
        && let Some(tcp) = flow
            .entry("tcp")
            .or_insert_with(|| Value::Object(Map::new()))
            .as_object_mut()
    {
        // BEP 29: modern torrents use LEDBAT, whatever the congestion control of the end system.
        tcp.entry("congestion").or_insert_with(|| "ledbat".into());
    }
}

fn read<T: DeserializeOwned>(table: &Map<String, Value>, key: &str) -> Option<T> {
    serde_json::from_value(table.get(key)?.clone()).ok()
}

fn add(table: &mut Map<String, Value>, keys: Map<String, Value>) {
    for (key, value) in keys {
        table.entry(key).or_insert(value);
    }
}
