//! What names in a flow stand for: a browser's and a page's keys, and the congestion control that an application brings along.
//!
//! A name fills in keys that are not written, before a scenario is read: what it stands for is seen in the resolved scenario.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::web::{Browser, Site};

/// Writes into a flow, as it stands in the scenario's tree, what names in it stand for. What does not make sense is left for the reader to find.
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
        // BEP 29: what torrents of today send by; an end system's own control is not theirs.
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
