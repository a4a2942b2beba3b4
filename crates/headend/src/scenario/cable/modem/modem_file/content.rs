//! What a modem's file says of service flows and aggregates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::place::TlvPlace;
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::cable::service_flow::{Keys, OneWay};
use crate::time::Duration;
use crate::units::{ByteCount, MaximumRate, Rate};

/// A service flow of a file.
#[derive(Debug)]
pub(in crate::scenario) struct FileFlow {
    pub(in crate::scenario) direction: OneWay,
    /// The number by which classifiers refer to it.
    pub(in crate::scenario) reference: Option<u16>,
    pub(in crate::scenario) place: TlvPlace,
    /// The service class whose keys hold where the file gives none.
    pub(in crate::scenario) class: Option<(String, TlvPlace)>,
    /// The keys that the file gives.
    pub(in crate::scenario) keys: Keys,
    /// The places of these keys in the file, by their names.
    pub(in crate::scenario) places: BTreeMap<&'static str, TlvPlace>,
    pub(in crate::scenario) buffer: Option<(Buffer, TlvPlace)>,
    /// The AQM that the file selects.
    pub(in crate::scenario) law: Option<(LatencyControl, TlvPlace)>,
    /// Where the file selects immediate AQM for it.
    pub(in crate::scenario) immediate: Option<TlvPlace>,
    /// The parameters of immediate AQM, by their keys in the scenario's table `low_latency`.
    pub(in crate::scenario) ramp: BTreeMap<&'static str, (Value, TlvPlace)>,
    /// The reference of the aggregate that it is part of.
    pub(in crate::scenario) aggregate: Option<(u16, TlvPlace)>,
    pub(in crate::scenario) classifiers: Vec<(Classifier, TlvPlace)>,
    /// Of the classic service flow of an aggregate with low latency: the aggregate and its
    /// low-latency service flow.
    pub(in crate::scenario) pair: Option<Box<Pair>>,
}

impl FileFlow {
    /// A service flow of which the file says nothing more.
    pub(super) fn new(
        direction: OneWay,
        place: TlvPlace,
        class: Option<(String, TlvPlace)>,
    ) -> Self {
        Self {
            direction,
            reference: None,
            place,
            class,
            keys: Keys::default(),
            places: BTreeMap::new(),
            buffer: None,
            law: None,
            immediate: None,
            ramp: BTreeMap::new(),
            aggregate: None,
            classifiers: Vec::new(),
            pair: None,
        }
    }
}

/// The size of a buffer (Buffer Control, sub-TLVs of 35).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::scenario) struct Buffer {
    pub(in crate::scenario) minimum: Option<ByteCount>,
    pub(in crate::scenario) target: Option<ByteCount>,
    pub(in crate::scenario) maximum: Option<ByteCount>,
}

impl Buffer {
    /// A size, within the bounds.
    pub(in crate::scenario) fn bound(self, size: ByteCount) -> ByteCount {
        let size = self.minimum.map_or(size, |least| size.max(least));
        self.maximum.map_or(size, |most| size.min(most))
    }

    /// Its bounds, in a sentence.
    pub(in crate::scenario) fn show_bounds(self) -> String {
        let least = self.minimum.map(|least| format!("at least {least}"));
        let most = self.maximum.map(|most| format!("at most {most}"));
        let both: Vec<String> = least.into_iter().chain(most).collect();
        both.join(", ")
    }
}

/// DOCSIS-PIE, with a target or with the one that it has by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) struct LatencyControl {
    pub(in crate::scenario) target: Option<Duration>,
}

/// An aggregate service flow of a file.
#[derive(Debug)]
pub(in crate::scenario) struct Aggregate {
    pub(in crate::scenario) direction: OneWay,
    /// The number by which service flows refer to it.
    pub(in crate::scenario) reference: Option<u16>,
    pub(in crate::scenario) place: TlvPlace,
    /// Its rate, peak rate and burst, its priority and its reserved rate.
    pub(in crate::scenario) keys: Keys,
    /// Where the file gives them, by the names of the keys.
    pub(in crate::scenario) places: BTreeMap<&'static str, TlvPlace>,
    pub(in crate::scenario) low_latency: Option<LowLatency>,
    /// Why its low latency is not simulated, as a clause.
    pub(in crate::scenario) obstacle: Option<String>,
}

/// The keys of service flows that an aggregate limits.
pub(in crate::scenario) const LIMITS: [&str; 3] = ["rate", "peak", "burst"];

impl Aggregate {
    /// Its rate, if it has one.
    pub(in crate::scenario) fn limit(&self) -> Option<Rate> {
        self.keys.rate.and_then(MaximumRate::limit)
    }
}

/// The low-latency encodings of an aggregate.
#[derive(Debug)]
pub(in crate::scenario) struct LowLatency {
    /// The reference of the low-latency service flow.
    pub(super) flow: Option<(u16, TlvPlace)>,
    /// The service class of the classic service flow.
    pub(super) classic_class: Option<(String, TlvPlace)>,
    /// The service class of the low-latency service flow.
    pub(super) low_class: Option<(String, TlvPlace)>,
    /// Values of the scenario's table `low_latency` by their keys.
    pub(in crate::scenario) keys: BTreeMap<&'static str, (Value, TlvPlace)>,
}

/// The aggregate of a primary service flow, and the low-latency service flow in it.
#[derive(Debug)]
pub(in crate::scenario) struct Pair {
    pub(in crate::scenario) aggregate: Aggregate,
    pub(in crate::scenario) low: FileFlow,
}
