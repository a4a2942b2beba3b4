//! The keys of a service flow, and how the tables that hold some of them are put together in
//! layers.
//!
//! Each table is a layer, read into one [`Keys`]. The outermost is the line's, in which the
//! defaults of the generation have been written out; then come the service class, the modem, and a
//! change during the run. [`Settings`] holds the innermost value of each key, and the path where it
//! is written. A further source of keys is one more [`Settings::overlaid`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::low_latency::LowLatency;
use crate::link::docsis::qos::{RequestPolicy, Scheduling};
use crate::link::docsis::service_flow::DequeueAt;
use crate::named::Named;
use crate::qdisc::AckAcceleration;
use crate::scenario::queue::Queue;
use crate::time::Duration;
use crate::units::{ByteCount, MaximumRate, Rate};

/// All keys that a service flow has. None of them must be given: each table, and each other source
/// of keys, gives some. As it stands, this is the table `upstream` of a service class or a modem.
/// The other tables are types of their own because each documents its keys and refuses all others;
/// the macro `layer` makes them into this one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(
    rename = "OwnUpstream",
    description = "What is a class's or modem's own of its upstream service flow. The keys are those of the line's `upstream`."
)]
pub struct Keys {
    /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<MaximumRate>,
    /// Peak traffic rate P.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<MaximumRate>,
    /// Maximum traffic burst B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<ByteCount>,
    /// Depth of the peak rate's bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_burst: Option<ByteCount>,
    /// Minimum reserved traffic rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_reserved: Option<Rate>,
    /// Traffic priority, 0 to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Upstream scheduling type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Named<Scheduling>>,
    /// What it may not do to get its grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_policy: Option<RequestPolicy>,
    /// When the queue gives up the packets of a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dequeue_at: Option<DequeueAt>,
    /// What the modem does to TCP acknowledgements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_acceleration: Option<AckAcceleration>,
    /// AQM disabled for this service flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm_disabled: Option<bool>,
    /// Upper edges of its latency histogram's bins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_histogram: Option<Vec<Duration>>,
    /// The modem's queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Low latency, in place of the line's whole table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_latency: Option<LowLatency>,
}

/// Makes tables of a scenario into layers: lists the keys of a service flow that a table has, and
/// what else stands in it. The compiler refuses a table of which something is left out.
macro_rules! layer {
    ($table:ident { $($key:ident),+ } besides { $($other:ident),* }) => {
        impl From<&$table> for $crate::scenario::cable::service_flow::Keys {
            fn from(table: &$table) -> Self {
                let $table { $($key,)+ $($other: _,)* } = table;
                let mut keys = Self::default();
                $(keys.$key = $key.clone().into();)+
                keys
            }
        }
    };
}
pub(in crate::scenario::cable) use layer;

/// A key: its value, if some place gives one, and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Setting<T> {
    pub(in crate::scenario) value: Option<T>,
    /// The path of the key in the place that gives the value; if none does, in the outermost place.
    pub(in crate::scenario) path: String,
}

/// All keys of one service flow, from all the places where some of them are written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Settings {
    /// The path of the innermost place.
    pub(in crate::scenario) path: String,
    pub(in crate::scenario) rate: Setting<Rate>,
    pub(in crate::scenario) peak: Setting<Rate>,
    pub(in crate::scenario) burst: Setting<ByteCount>,
    pub(in crate::scenario) peak_burst: Setting<ByteCount>,
    pub(in crate::scenario) minimum_reserved: Setting<Rate>,
    pub(in crate::scenario) priority: Setting<u8>,
    pub(in crate::scenario) scheduling: Setting<Named<Scheduling>>,
    pub(in crate::scenario) request_policy: Setting<RequestPolicy>,
    pub(in crate::scenario) dequeue_at: Setting<DequeueAt>,
    pub(in crate::scenario) ack_acceleration: Setting<AckAcceleration>,
    pub(in crate::scenario) aqm_disabled: Setting<bool>,
    pub(in crate::scenario) latency_histogram: Setting<Vec<Duration>>,
    pub(in crate::scenario) queue: Setting<Queue>,
    pub(in crate::scenario) low_latency: Setting<LowLatency>,
}

impl<T> Setting<T> {
    fn new(place: &str, key: &str, value: Option<T>) -> Self {
        let path = format!("{place}.{key}");
        Self { value, path }
    }

    /// This one, or `outer` if this one has no value.
    fn or(self, outer: Self) -> Self {
        if self.value.is_some() { self } else { outer }
    }

    /// The value with the path of its key, if there is one.
    pub(in crate::scenario::cable) fn given(&self) -> Option<(&T, &str)> {
        Some((self.value.as_ref()?, &self.path))
    }
}

impl Settings {
    /// The settings of a service flow whose keys are all written in the place at `path`.
    pub(in crate::scenario::cable) fn new(path: &str, keys: Keys) -> Self {
        Self {
            rate: Setting::new(path, "rate", keys.rate.and_then(MaximumRate::limit)),
            peak: Setting::new(path, "peak", keys.peak.and_then(MaximumRate::limit)),
            burst: Setting::new(path, "burst", keys.burst),
            peak_burst: Setting::new(path, "peak_burst", keys.peak_burst),
            minimum_reserved: Setting::new(path, "minimum_reserved", keys.minimum_reserved),
            priority: Setting::new(path, "priority", keys.priority),
            scheduling: Setting::new(path, "scheduling", keys.scheduling),
            request_policy: Setting::new(path, "request_policy", keys.request_policy),
            dequeue_at: Setting::new(path, "dequeue_at", keys.dequeue_at),
            ack_acceleration: Setting::new(path, "ack_acceleration", keys.ack_acceleration),
            aqm_disabled: Setting::new(path, "aqm_disabled", keys.aqm_disabled),
            latency_histogram: Setting::new(path, "latency_histogram", keys.latency_histogram),
            queue: Setting::new(path, "queue", keys.queue),
            low_latency: Setting::new(path, "low_latency", keys.low_latency),
            path: path.to_owned(),
        }
    }

    /// The paths of all keys that some place gives.
    pub(in crate::scenario::cable) fn given_paths(&self) -> Vec<&str> {
        fn path<T>(setting: &Setting<T>) -> Option<&str> {
            setting.given().map(|(_, path)| path)
        }
        let paths = [
            path(&self.rate),
            path(&self.peak),
            path(&self.burst),
            path(&self.peak_burst),
            path(&self.minimum_reserved),
            path(&self.priority),
            path(&self.scheduling),
            path(&self.request_policy),
            path(&self.dequeue_at),
            path(&self.ack_acceleration),
            path(&self.aqm_disabled),
            path(&self.latency_histogram),
            path(&self.queue),
            path(&self.low_latency),
        ];
        paths.into_iter().flatten().collect()
    }

    /// The same with the keys of a place further in, at `path`, whose values take precedence.
    pub(in crate::scenario::cable) fn overlaid(self, path: &str, keys: Keys) -> Self {
        // "unlimited" is a value too, and takes precedence over a rate further out.
        let [gives_rate, gives_peak] = [keys.rate, keys.peak].map(|given| given.is_some());
        let inner = Self::new(path, keys);
        Self {
            path: inner.path,
            rate: if gives_rate { inner.rate } else { self.rate },
            peak: if gives_peak { inner.peak } else { self.peak },
            burst: inner.burst.or(self.burst),
            peak_burst: inner.peak_burst.or(self.peak_burst),
            minimum_reserved: inner.minimum_reserved.or(self.minimum_reserved),
            priority: inner.priority.or(self.priority),
            scheduling: inner.scheduling.or(self.scheduling),
            request_policy: inner.request_policy.or(self.request_policy),
            dequeue_at: inner.dequeue_at.or(self.dequeue_at),
            ack_acceleration: inner.ack_acceleration.or(self.ack_acceleration),
            aqm_disabled: inner.aqm_disabled.or(self.aqm_disabled),
            latency_histogram: inner.latency_histogram.or(self.latency_histogram),
            queue: inner.queue.or(self.queue),
            low_latency: inner.low_latency.or(self.low_latency),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Rate = Rate(1_000_000);
    const FAST: Rate = Rate(9_000_000);

    fn keys(text: &str) -> Keys {
        toml::from_str(text).expect("keys that there are")
    }

    #[test]
    fn the_innermost_place_that_gives_a_key_is_the_one_that_counts() {
        let line = Settings::new("line", keys("rate = '1 Mbit/s'\npriority = 2"));
        let class = line.overlaid("class", keys("rate = '9 Mbit/s'"));
        let modem = class.clone().overlaid("modem", keys("priority = 5"));
        assert_eq!(class.rate.given(), Some((&FAST, "class.rate")));
        assert_eq!(class.priority.given(), Some((&2, "line.priority")));
        assert_eq!(modem.rate.given(), Some((&FAST, "class.rate")));
        assert_eq!(modem.priority.given(), Some((&5, "modem.priority")));
        assert_eq!(modem.path, "modem");
    }

    #[test]
    fn a_rate_without_limit_goes_before_a_limit_further_out() {
        let line = Settings::new("line", keys("rate = '1 Mbit/s'\npeak = '9 Mbit/s'"));
        let modem = line.overlaid("modem", keys("rate = 'unlimited'"));
        assert_eq!(
            (modem.rate.given(), modem.rate.path.as_str()),
            (None, "modem.rate")
        );
        assert_eq!(modem.peak.given(), Some((&FAST, "line.peak")));
        let class = modem.overlaid("class", keys("priority = 1"));
        assert_eq!(class.rate.given(), None);
    }

    #[test]
    fn a_key_that_no_place_gives_stands_at_the_outermost() {
        let line = Settings::new("line", keys("rate = '1 Mbit/s'"));
        let modem = line.overlaid("modem", Keys::default());
        assert_eq!(modem.rate.given(), Some((&SLOW, "line.rate")));
        assert_eq!(modem.queue.given(), None);
        assert_eq!(modem.queue.path, "line.queue");
    }
}
