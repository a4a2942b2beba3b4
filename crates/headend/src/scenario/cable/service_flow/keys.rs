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
use crate::link::docsis::grant::DequeueAt;
use crate::link::docsis::qos::{RequestPolicy, Scheduling};
use crate::named::Named;
use crate::qdisc::AckAcceleration;
use crate::scenario::queue::Queue;
use crate::time::Duration;
use crate::units::{ByteCount, MaximumRate, Rate};

/// Declares each key of a service flow once: the table [`Keys`], the [`Settings`] that tables are
/// put together to, and how. The rates under `limits` are a [`MaximumRate`] in a table, whose
/// "unlimited" takes precedence over a rate further out.
macro_rules! keys {
    (
        $(#[$about:meta])*
        limits { $($(#[$limit_doc:meta])* $limit:ident,)+ }
        others { $($(#[$doc:meta])* $key:ident: $value:ty,)+ }
    ) => {
        $(#[$about])*
        pub struct Keys {
            $(
                $(#[$limit_doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $limit: Option<MaximumRate>,
            )+
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$value>,
            )+
        }

        /// All keys of one service flow, from all the places where some of them are written.
        #[derive(Debug, Clone, PartialEq)]
        pub(in crate::scenario) struct Settings {
            /// The path of the innermost place.
            pub(in crate::scenario) path: String,
            $(pub(in crate::scenario) $limit: Setting<Rate>,)+
            $(pub(in crate::scenario) $key: Setting<$value>,)+
        }

        impl Settings {
            /// The settings of a service flow whose keys are all written in the place at `path`.
            pub(in crate::scenario::cable) fn new(path: &str, keys: Keys) -> Self {
                let limit = |rate: Option<MaximumRate>| rate.and_then(MaximumRate::limit);
                Self {
                    $($limit: Setting::new(path, stringify!($limit), limit(keys.$limit)),)+
                    $($key: Setting::new(path, stringify!($key), keys.$key),)+
                    path: path.to_owned(),
                }
            }

            /// The paths of all keys that some place gives.
            pub(in crate::scenario::cable) fn given_paths(&self) -> Vec<&str> {
                let limits = [$(self.$limit.given_path(),)+];
                let others = [$(self.$key.given_path(),)+];
                limits.into_iter().chain(others).flatten().collect()
            }

            /// The same with the keys of a place further in, at `path`, whose values take
            /// precedence.
            pub(in crate::scenario::cable) fn overlaid(self, path: &str, keys: Keys) -> Self {
                $(let $limit = keys.$limit.is_some();)+
                let inner = Self::new(path, keys);
                Self {
                    path: inner.path,
                    $($limit: if $limit { inner.$limit } else { self.$limit },)+
                    $($key: inner.$key.or(self.$key),)+
                }
            }
        }
    };
}

keys! {
    /// All keys that a service flow has. None of them must be given: each table, and each other
    /// source of keys, gives some. As it stands, this is the table `upstream` of a service class or
    /// a modem. The other tables are types of their own because each documents its keys and refuses
    /// all others; the macro `layer` makes them into this one.
    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    #[schemars(
        rename = "OwnUpstream",
        description = "What is a class's or modem's own of its upstream service flow. The keys are \
                       those of the line's `upstream`."
    )]
    limits {
        /// Maximum sustained traffic rate R, in bytes from after the HCS to the CRC.
        rate,
        /// Peak traffic rate P.
        peak,
    }
    others {
        /// Maximum traffic burst B.
        burst: ByteCount,
        /// Depth of the peak rate's bucket.
        peak_burst: ByteCount,
        /// Minimum reserved traffic rate.
        minimum_reserved: Rate,
        /// Traffic priority, 0 to 7.
        priority: u8,
        /// Upstream scheduling type.
        scheduling: Named<Scheduling>,
        /// What it may not do to get its grants.
        request_policy: RequestPolicy,
        /// When the queue gives up the packets of a grant.
        dequeue_at: DequeueAt,
        /// What the modem does to TCP acknowledgements.
        ack_acceleration: AckAcceleration,
        /// AQM disabled for this service flow.
        aqm_disabled: bool,
        /// Upper edges of its latency histogram's bins.
        latency_histogram: Vec<Duration>,
        /// The modem's queue.
        queue: Queue,
        /// Low latency, in place of the line's whole table.
        low_latency: LowLatency,
    }
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

impl<T> Setting<T> {
    fn new(place: &str, key: &str, value: Option<T>) -> Self {
        let path = format!("{place}.{key}");
        Self { value, path }
    }

    /// This one, or `outer` if this one has no value.
    fn or(self, outer: Self) -> Self {
        if self.value.is_some() { self } else { outer }
    }

    /// The path of the key, if there is a value.
    fn given_path(&self) -> Option<&str> {
        self.given().map(|(_, path)| path)
    }

    /// The value with the path of its key, if there is one.
    pub(in crate::scenario::cable) fn given(&self) -> Option<(&T, &str)> {
        Some((self.value.as_ref()?, &self.path))
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
