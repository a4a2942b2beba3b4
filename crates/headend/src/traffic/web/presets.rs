//! Named browsers and pages: a name gives the values of the keys that are not given, as the name of
//! an end system does for TCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// How a browser uses connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Browser {
    /// Chrome 13 (2011): six connections at a time, and a new one for each resource.
    #[serde(rename = "chrome_13")]
    Chrome13,
    /// Firefox 6 (2011): six persistent connections.
    #[serde(rename = "firefox_6")]
    Firefox6,
    /// Internet Explorer 7 (2006): one connection for the HTML, then nine more. All are persistent
    /// and are closed at the end.
    #[serde(rename = "internet_explorer_7")]
    InternetExplorer7,
    /// A modern browser: looks names up, and uses TLS 1.3 and one HTTP/2 connection to each server.
    #[serde(rename = "modern")]
    Modern,
}

impl Browser {
    /// The keys of [`super::Config`] that define the browser.
    pub fn keys(self) -> Map<String, Value> {
        object(match self {
            // CM-GL-Buffer §7.2.4.2.
            Self::Chrome13 => json!({ "connections": 6, "persistent": false }),
            // The document gives no value; this is Firefox's
            // network.http.max-persistent-connections-per-server.
            Self::Firefox6 => json!({ "connections": 6, "persistent": true }),
            // CM-GL-Buffer §7.2.4.1.
            Self::InternetExplorer7 => json!({ "connections": 10, "persistent": true }),
            Self::Modern => json!({ "dns": {}, "http2": {}, "tls": "tls13" }),
        })
    }
}

/// A published page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// The page of the AQM study: 7 MB, 100 resources on four servers. The keys have the same
    /// values by default.
    AqmStudy,
    /// The page of the Buffer Control guideline: 20 KiB of HTML and 100 images of 3343 B on
    /// average, from one server. The page's script of 94.5 KiB comes from the cache, and so is left
    /// out.
    BufferControl,
}

impl Site {
    /// The keys of [`super::Config`] that define the page.
    pub fn keys(self) -> Map<String, Value> {
        object(match self {
            Self::AqmStudy => json!({
                "html": "69307 B", "page": "7 MB", "pause": "5 s", "resources": 100,
                "servers": 4, "sigma": 1.0,
            }),
            // CM-GL-Buffer §7.2.4. The spread of the sizes and the pause are choices.
            Self::BufferControl => json!({
                "html": "20 KiB", "page": "354780 B", "pause": "1 s", "resources": 100,
                "servers": 1, "sigma": 1.0,
            }),
        })
    }
}

fn object(keys: Value) -> Map<String, Value> {
    match keys {
        Value::Object(keys) => keys,
        _ => unreachable!("all of them are tables"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;
    use crate::traffic::definition::Definition;

    fn config(keys: Map<String, Value>) -> Config {
        serde_json::from_value(Value::Object(keys)).expect("keys of a page")
    }

    #[test]
    fn the_keys_of_every_name_are_those_of_a_page() {
        for browser in [
            Browser::Chrome13,
            Browser::Firefox6,
            Browser::InternetExplorer7,
            Browser::Modern,
        ] {
            assert_eq!(config(browser.keys()).check(), Ok(()), "{browser:?}");
        }
        assert_eq!(config(Site::AqmStudy.keys()), Config::default());
        let page = config(Site::BufferControl.keys());
        assert_eq!(page.check(), Ok(()));
        assert_eq!(page.page.0 - page.html.0, 100 * 3343);
    }
}
