//! A modem's file as it is in force: each number in its base unit with the place of its TLV, the
//! service flows and aggregates that belong together, and what follows of their numbers and the
//! defaults. Any file is described, also one that a run refuses.

use docsis_config::mic::COVERED;
use docsis_config::value::show;
use docsis_config::{File, Kind, Value, definition_in};
use serde_json::{Map, Value as Json, json};

use super::place::{Node, first, nodes};
use super::{DEFAULT_TARGET_BUFFER, LOW_LATENCY_DISABLE, UPSTREAM_AQM_DISABLE, classifier};
use crate::aqm::docsis_pie;
use crate::qdisc::immediate_aqm::{self, HIGHEST, LARGEST_FRAME};
use crate::scenario::cable::service_flow::{
    CLASSIC_BUFFER, DEFAULT_COUPLING, DEFAULT_PROTECTION, DEFAULT_WEIGHT, OneWay,
    PROTECTION_IN_2019, WEIGHTS,
};

/// The most service flows, aggregates and classifiers of a file that are read.
const MOST: usize = 1000;

/// A maximum buffer without a bound.
const NO_MAXIMUM: u64 = 0xffff_ffff;

/// The default buffer of a low-latency service flow, in nanoseconds at its rate.
const LOW_LATENCY_BUFFER: f64 = 10e6;

/// Names of numbers, with the TLVs that hold them: those of service flows and aggregates, of
/// service flows, of upstream ones alone, and of aggregates.
const OF_BOTH: &[(&str, &[u8])] = &[
    ("reference", &[1]),
    ("priority", &[7]),
    ("rate_unit", &[41]),
    ("rate", &[8]),
    ("burst", &[9]),
    ("reserved", &[10]),
    ("peak", &[27]),
];
const OF_FLOWS: &[(&str, &[u8])] = &[
    ("set_type", &[6]),
    ("minimum_buffer", &[35, 1]),
    ("target_buffer", &[35, 2]),
    ("maximum_buffer", &[35, 3]),
    ("aggregate_reference", &[36]),
    ("aqm_disabled", &[40, 1]),
    ("aqm_target", &[40, 2]),
    ("aqm_algorithm", &[40, 3]),
    ("maximum_threshold", &[40, 4]),
    ("ramp_exponent", &[40, 5]),
];
const OF_UPSTREAM_FLOWS: &[(&str, &[u8])] = &[
    ("scheduling", &[15]),
    ("polling_interval", &[17]),
    ("grant_size", &[19]),
    ("grant_interval", &[20]),
    ("grants_per_interval", &[22]),
    ("guaranteed_interval", &[44]),
    ("guaranteed_rate", &[45]),
    ("request_interval", &[46]),
];
const OF_AGGREGATES: &[(&str, &[u8])] = &[
    ("low_latency_reference", &[42, 1]),
    ("coupling", &[42, 5]),
    ("weight", &[42, 6]),
    ("protection", &[42, 7]),
    ("protection_threshold", &[42, 8]),
    ("protection_score", &[42, 9]),
    ("drain_exponent", &[42, 10]),
];

/// Types of the TLVs of rates, whose unit another TLV gives.
const RATES: [u8; 3] = [8, 10, 27];

/// Scheduling types with grants of a fixed size: UGS-AD and UGS (TLV 24.15).
const UNSOLICITED: [u64; 2] = [5, 6];

/// The algorithm that is immediate AQM (TLV 40.3).
const IMMEDIATE: u64 = 2;

/// A number of the file, and the place of its TLV.
#[derive(Debug, Clone)]
struct Number {
    value: u64,
    place: String,
}

impl Number {
    fn json(&self) -> Json {
        json!([self.value, self.place])
    }
}

/// A service flow or an aggregate.
#[derive(Debug)]
pub(super) struct Bundle {
    pub(super) direction: OneWay,
    /// Its place among the TLVs of the file.
    pub(super) index: usize,
    /// The path of its TLV.
    pub(super) place: String,
    set: Vec<(&'static str, Number)>,
    /// The place of its AQM encodings, if they say more than the edges of a latency histogram.
    aqm: Option<String>,
    low_latency: bool,
    low_latency_class: bool,
}

/// The buffer of a service flow: bytes, and the place of the TLV that sets them, if one does.
type Buffer = (u64, Option<String>);

/// All that a file sets of its line.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) flows: Vec<Bundle>,
    pub(super) aggregates: Vec<Bundle>,
    default_buffer: Option<Number>,
    upstream_aqm_disabled: Option<Number>,
    /// For each service flow, the aggregate that has it as its low-latency one.
    naming: Vec<Option<usize>>,
}

/// The ends of a ramp, and the least of its lower one, in nanoseconds.
struct Ramp {
    low: f64,
    high: f64,
    floor: f64,
}

/// A modem's file as it is in force, as JSON. Any bytes are described.
///
/// `flows` and `aggregates` have `path`, `direction`, `set` (numbers in base units with the path of
/// the TLV of each), and `limit`, the rate in bit/s that limits them; `classifiers` have `path`,
/// `direction`, `numbers` and `refused` (why a run refuses one, and where). Times are in
/// nanoseconds, sizes in bytes, rates in bit/s.
pub fn describe_modem_file(bytes: &[u8]) -> String {
    let file = File::decode(bytes);
    let top = nodes(&file.tlvs);
    let resolved = Resolved::read(file.kind, &top);
    let disabled = first(&top, LOW_LATENCY_DISABLE);
    let disabled = disabled.and_then(|node| number_of(file.kind, node));
    let described = json!({
        "flows": (0..resolved.flows.len())
            .map(|flow| resolved.describe_flow(flow))
            .collect::<Vec<_>>(),
        "aggregates": (0..resolved.aggregates.len())
            .map(|aggregate| resolved.describe_aggregate(aggregate))
            .collect::<Vec<_>>(),
        "classifiers": classifiers(file.kind, &top),
        "default_buffer": resolved.default_buffer.as_ref().map(Number::json),
        "upstream_aqm_disabled": resolved.upstream_aqm_disabled.as_ref().map(Number::json),
        "low_latency_disabled": disabled.as_ref().map(Number::json),
    });
    described.to_string()
}

/// The numbers that stand for what a file does not set, and for what the model is bound to.
pub fn modem_file_defaults() -> String {
    let value = json!({
        "aqm_target": docsis_pie::Config::default().target.as_nanos(),
        "coupling": DEFAULT_COUPLING,
        "weight": DEFAULT_WEIGHT,
        "weights": WEIGHTS,
        "protection_score": DEFAULT_PROTECTION.score_threshold.as_nanos(),
        "drain": drain(u64::from(DEFAULT_PROTECTION.drain_exponent)),
        "drain_2019": drain(u64::from(PROTECTION_IN_2019.drain_exponent)),
        "covered": COVERED,
        "largest_frame": LARGEST_FRAME,
        "low_latency_limit": 20 * LARGEST_FRAME,
    });
    value.to_string()
}

fn number_of(kind: Kind, node: &Node<'_>) -> Option<Number> {
    let bytes = node.all_bytes();
    let shown = show(definition_in(kind, node.types())?, bytes);
    let is_number = shown.value.is_some_and(|value| value.is_number()) && bytes.len() <= 8;
    let value = bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    (is_number && !bytes.is_empty()).then(|| Number {
        value,
        place: node.path().to_owned(),
    })
}

/// The first TLV down a path.
fn find<'a>(node: &Node<'a>, types: &[u8]) -> Option<Node<'a>> {
    let mut found = node.clone();
    for &number in types {
        found = first(&found.children(), number)?.clone();
    }
    Some(found)
}

impl Bundle {
    fn read(kind: Kind, index: usize, node: &Node<'_>) -> Self {
        let (is_flow, is_up) = (node.number() < 70, [24, 70].contains(&node.number()));
        let parts = node.children();
        let find = |types: &[u8]| match types {
            [number] => first(&parts, *number).cloned(),
            [number, further @ ..] => find(first(&parts, *number)?, further),
            [] => None,
        };
        let tables: &[&[(&'static str, &[u8])]] = match (is_flow, is_up) {
            (true, true) => &[OF_BOTH, OF_FLOWS, OF_UPSTREAM_FLOWS],
            (true, false) => &[OF_BOTH, OF_FLOWS],
            (false, _) => &[OF_BOTH, OF_AGGREGATES],
        };
        let power = find(&[41]).and_then(|unit| number_of(kind, &unit));
        let unit = match power.map(|unit| unit.value) {
            Some(power @ 1..=3) => 1000_u64.pow(power as u32),
            _ => 1,
        };
        let mut set = Vec::new();
        for &(name, types) in tables.iter().copied().flatten() {
            let Some(mut number) = find(types).and_then(|node| number_of(kind, &node)) else {
                continue;
            };
            if let [rate] = types
                && RATES.contains(rate)
            {
                number.value *= unit;
            }
            if name != "maximum_buffer" || number.value < NO_MAXIMUM {
                set.push((name, number));
            }
        }
        Self {
            direction: if is_up { OneWay::Up } else { OneWay::Down },
            index,
            place: node.path().to_owned(),
            set,
            aqm: find(&[40])
                .filter(|aqm| {
                    [1, 2, 3]
                        .iter()
                        .any(|&number| first(&aqm.children(), number).is_some())
                })
                .map(|aqm| aqm.path().to_owned()),
            low_latency: find(&[42]).is_some(),
            low_latency_class: find(&[42, 4]).is_some(),
        }
    }

    fn get(&self, name: &str) -> Option<&Number> {
        let found = self.set.iter().find(|(own, _)| *own == name);
        found.map(|(_, number)| number)
    }

    pub(super) fn value(&self, name: &str) -> Option<u64> {
        self.get(name).map(|number| number.value)
    }

    /// A number that is not zero.
    fn given(&self, name: &str) -> Option<u64> {
        self.value(name).filter(|&value| value > 0)
    }

    /// Its sustained rate, or its peak rate where that is less.
    fn limit(&self) -> Option<u64> {
        self.given("rate")
            .into_iter()
            .chain(self.given("peak"))
            .min()
    }

    /// The larger of its sustained and its peak rate.
    fn fastest(&self) -> Option<u64> {
        self.given("rate").max(self.given("peak"))
    }

    fn json(&self) -> Map<String, Json> {
        let set: Map<String, Json> = (self.set.iter())
            .map(|(name, number)| ((*name).to_owned(), number.json()))
            .collect();
        let value = json!({
            "path": self.place,
            "direction": self.direction.name(),
            "set": set,
            "limit": self.limit(),
        });
        match value {
            Json::Object(map) => map,
            _ => unreachable!("it is an object"),
        }
    }
}

impl Resolved {
    pub(super) fn read(kind: Kind, top: &[Node<'_>]) -> Self {
        let number = |number: u8| number_of(kind, first(top, number)?);
        let bundles = |types: [u8; 2]| {
            let is_it = |node: &Node<'_>| {
                types.contains(&node.number()) && matches!(node.value(), Value::Nested(_))
            };
            let nested = top.iter().enumerate().filter(|(_, node)| is_it(node));
            let bundles = nested.take(MOST);
            bundles
                .map(|(index, node)| Bundle::read(kind, index, node))
                .collect()
        };
        let mut resolved = Self {
            flows: bundles([24, 25]),
            aggregates: bundles([70, 71]),
            default_buffer: number(DEFAULT_TARGET_BUFFER),
            upstream_aqm_disabled: number(UPSTREAM_AQM_DISABLE),
            naming: Vec::new(),
        };
        resolved.naming = vec![None; resolved.flows.len()];
        for aggregate in 0..resolved.aggregates.len() {
            if let Some(flow) = resolved.low(aggregate) {
                resolved.naming[flow].get_or_insert(aggregate);
            }
        }
        resolved
    }

    fn of_direction(&self, direction: OneWay) -> impl Iterator<Item = usize> {
        (0..self.flows.len()).filter(move |&flow| self.flows[flow].direction == direction)
    }

    /// The service flows that name an aggregate.
    fn members(&self, aggregate: usize) -> Vec<usize> {
        let own = &self.aggregates[aggregate];
        let Some(reference) = own.value("reference") else {
            return Vec::new();
        };
        self.of_direction(own.direction)
            .filter(|&flow| self.flows[flow].value("aggregate_reference") == Some(reference))
            .collect()
    }

    /// The low-latency service flow of an aggregate. One that names none has the one that names it,
    /// besides the first of the direction.
    pub(super) fn low(&self, aggregate: usize) -> Option<usize> {
        let own = &self.aggregates[aggregate];
        if let Some(named) = own.value("low_latency_reference") {
            return (self.of_direction(own.direction))
                .find(|&flow| self.flows[flow].value("reference") == Some(named));
        }
        if !own.low_latency || own.low_latency_class {
            return None;
        }
        let primary = self.of_direction(own.direction).next();
        let mut found = self.members(aggregate);
        found.retain(|&flow| Some(flow) != primary);
        <[usize; 1]>::try_from(found).ok().map(|[flow]| flow)
    }

    /// The classic service flow of an aggregate with low latency.
    fn classic(&self, aggregate: usize) -> Option<usize> {
        let low = self.low(aggregate);
        let mut found = self.members(aggregate);
        found.retain(|&flow| Some(flow) != low);
        let is_joined = self.aggregates[aggregate].low_latency;
        let found = <[usize; 1]>::try_from(found).ok().map(|[flow]| flow);
        found.filter(|_| is_joined)
    }

    /// The aggregate of a service flow, by its own reference or by that of the aggregate.
    fn aggregate(&self, flow: usize) -> Option<usize> {
        let own = &self.flows[flow];
        let named = own.value("aggregate_reference").and_then(|named| {
            self.aggregates.iter().position(|one| {
                one.direction == own.direction && one.value("reference") == Some(named)
            })
        });
        named.or(self.naming[flow])
    }

    /// The rate that empties the buffer of a service flow: its limit, or that of its aggregate.
    fn rate(&self, flow: usize) -> Option<u64> {
        let aggregate = self.aggregate(flow);
        let around = aggregate.and_then(|aggregate| self.aggregates[aggregate].limit());
        self.flows[flow].limit().into_iter().chain(around).min()
    }

    /// The rate that empties it while the burst lasts, if that is more.
    fn peak(&self, flow: usize) -> Option<u64> {
        let around = || self.aggregates[self.aggregate(flow)?].fastest();
        let fastest = self.flows[flow].fastest().or_else(around)?;
        (fastest > self.rate(flow)?).then_some(fastest)
    }

    /// The buffer of a service flow. A device chooses a size within minimum and maximum that is
    /// near the target. Bounds alone give none.
    fn buffer(&self, flow: usize) -> Option<Buffer> {
        let own = &self.flows[flow];
        let of = |number: &Number| (number.value, Some(number.place.clone()));
        let target = own.get("target_buffer").filter(|target| target.value > 0);
        let least = own.get("minimum_buffer").filter(|least| least.value > 0);
        let chosen = target.map(of).or_else(|| self.default_buffer(flow));
        let mut buffer = chosen?;
        if let Some(most) = own
            .get("maximum_buffer")
            .filter(|most| most.value < buffer.0)
        {
            buffer = of(most);
        }
        if let Some(least) = least.filter(|least| least.value > buffer.0) {
            buffer = of(least);
        }
        Some(buffer)
    }

    /// The default buffer: upstream, that of TLV 68 at the larger of the sustained and the peak
    /// rate or at the rate of the aggregate; of a low-latency service flow, 10 ms at its rate.
    fn default_buffer(&self, flow: usize) -> Option<Buffer> {
        let own = &self.flows[flow];
        let rate = self.rate(flow)?;
        if own.direction != OneWay::Up {
            return None;
        }
        if self.naming[flow].is_some() {
            let size = size_at(LOW_LATENCY_BUFFER, rate).max(20 * LARGEST_FRAME);
            return Some((size, None));
        }
        let default = self.default_buffer.as_ref();
        let span = default.map_or(CLASSIC_BUFFER.as_nanos() as f64, |default| {
            default.value as f64 * 1e6
        });
        let size = size_at(span, own.fastest().unwrap_or(rate));
        Some((size, default.map(|default| default.place.clone())))
    }

    fn is_immediate(&self, flow: usize) -> bool {
        match self.flows[flow].given("aqm_algorithm") {
            Some(algorithm) => algorithm == IMMEDIATE,
            None => self.naming[flow].is_some(),
        }
    }

    /// The ramp of the immediate AQM of a service flow at its rate (MULPI Annex N).
    fn ramp(&self, flow: usize) -> Ramp {
        let own = &self.flows[flow];
        let default = immediate_aqm::Config::default();
        let wanted = own.given("maximum_threshold").map_or_else(
            || default.maximum_threshold.as_nanos() as f64,
            |micros| micros as f64 * 1e3,
        );
        let exponent = own.value("ramp_exponent");
        let exponent = exponent.unwrap_or_else(|| u64::from(default.range_exponent));
        let width = 2_f64.powi(exponent.min(63) as i32);
        let highest = HIGHEST.as_nanos() as f64;
        let floor = self
            .rate(flow)
            .map_or(0.0, |rate| time_for(2 * LARGEST_FRAME, rate).min(highest));
        let low = (wanted - width).max(floor).max(0.0);
        Ramp {
            low,
            high: (low + width).min(highest),
            floor,
        }
    }

    /// The state of the AQM of a service flow, the places of the TLVs that decide it, and the delay
    /// that it keeps.
    fn aqm(&self, flow: usize) -> Json {
        let own = &self.flows[flow];
        let is_immediate = self.is_immediate(flow);
        let target = if is_immediate {
            self.ramp(flow).high
        } else {
            own.given("aqm_target").map_or_else(
                || docsis_pie::Config::default().target.as_nanos() as f64,
                |millis| millis as f64 * 1e6,
            )
        };
        let all = self.upstream_aqm_disabled.as_ref();
        let all = all.filter(|_| own.direction == OneWay::Up);
        let is_unsolicited = own
            .value("scheduling")
            .is_some_and(|kind| UNSOLICITED.contains(&kind));
        let turned_on = all.filter(|all| all.value == 0 && !is_immediate && !is_unsolicited);
        let off = all.into_iter().chain(own.get("aqm_disabled"));
        let off: Vec<&str> = off
            .filter(|switch| switch.value == 1)
            .map(|switch| switch.place.as_str())
            .collect();
        let on = own.aqm.as_ref().or(turned_on.map(|all| &all.place));
        let (state, paths) = match (off.is_empty(), on) {
            (false, _) => ("off", off),
            (true, Some(place)) => ("on", vec![place.as_str()]),
            (true, None) => ("unsaid", Vec::new()),
        };
        json!({ "state": state, "paths": paths, "is_immediate": is_immediate, "target": target })
    }

    fn describe_flow(&self, flow: usize) -> Json {
        let (rate, peak) = (self.rate(flow), self.peak(flow));
        let buffer = self.buffer(flow).map(|(size, path)| {
            let delay = |rate: Option<u64>| rate.map(|rate| time_for(size, rate));
            json!({
                "size": size,
                "path": path,
                "rate": rate,
                "peak": peak,
                "delay": delay(rate),
                "peak_delay": delay(peak),
            })
        });
        let ramp = self.ramp(flow);
        let mut map = self.flows[flow].json();
        map.insert("aggregate".to_owned(), json!(self.aggregate(flow)));
        map.insert(
            "is_low_latency".to_owned(),
            json!(self.naming[flow].is_some()),
        );
        map.insert("drained_at".to_owned(), json!(rate));
        map.insert("buffer".to_owned(), json!(buffer));
        map.insert("aqm".to_owned(), self.aqm(flow));
        map.insert("ramp".to_owned(), json!([ramp.low, ramp.high, ramp.floor]));
        Json::Object(map)
    }

    fn describe_aggregate(&self, aggregate: usize) -> Json {
        let own = &self.aggregates[aggregate];
        let (low, classic) = (self.low(aggregate), self.classic(aggregate));
        let weight = own
            .value("weight")
            .unwrap_or_else(|| u64::from(DEFAULT_WEIGHT));
        let rate = u128::from(own.value("rate").unwrap_or(0));
        let share = (rate * u128::from(weight) / u128::from(WEIGHTS)) as u64;
        let most = low.and_then(|low| self.flows[low].limit());
        let protection = low.map(|low| {
            let micros = |micros: u64| micros as f64 * 1e3;
            let default = DEFAULT_PROTECTION;
            let latency = own.given("protection_threshold").map(micros);
            let score = own.value("protection_score").map(micros);
            let exponent = own.value("drain_exponent");
            let exponent = exponent.unwrap_or_else(|| u64::from(default.drain_exponent));
            json!({
                "is_on": own.value("protection").is_none_or(|enabled| enabled & 1 == 1),
                "latency": latency.unwrap_or_else(|| self.ramp(low).high),
                "score": score.unwrap_or(default.score_threshold.as_nanos() as f64),
                "drain": drain(exponent),
            })
        });
        let mut map = own.json();
        map.insert("low".to_owned(), json!(low));
        map.insert("classic".to_owned(), json!(classic));
        map.insert("members".to_owned(), json!(self.members(aggregate)));
        map.insert("weighs".to_owned(), json!(weight));
        map.insert(
            "low_latency_rate".to_owned(),
            json!(most.map_or(share, |most| share.min(most))),
        );
        let coupling = own.value("coupling");
        map.insert(
            "couples".to_owned(),
            json!(coupling.unwrap_or_else(|| u64::from(DEFAULT_COUPLING))),
        );
        map.insert("queue_protection".to_owned(), json!(protection));
        Json::Object(map)
    }
}

fn classifiers(kind: Kind, top: &[Node<'_>]) -> Vec<Json> {
    let nested = top.iter().filter(|node| {
        [22, 23, 60].contains(&node.number()) && matches!(node.value(), Value::Nested(_))
    });
    let describe = |node: &Node<'_>| {
        let parts = node.children();
        let number = |number: u8| Some(number_of(kind, first(&parts, number)?)?.value);
        let refused = classifier::refusal(&parts);
        json!({
            "path": node.path(),
            "direction": if node.number() == 23 { "down" } else { "up" },
            "drops": node.number() == 60,
            "reference": number(1),
            "flow": number(3).filter(|_| node.number() != 60),
            "priority": number(5).unwrap_or(0),
            "is_active": number(6) != Some(0),
            "refused": refused,
        })
    };
    nested.take(MOST).map(describe).collect()
}

/// The time that a rate takes for bytes, in nanoseconds.
fn time_for(bytes: u64, rate: u64) -> f64 {
    bytes as f64 * 8e9 / rate as f64
}

/// The bytes that a rate takes so many nanoseconds for.
fn size_at(nanos: f64, rate: u64) -> u64 {
    (nanos * rate as f64 / 8e9).round_ties_even() as u64
}

/// The rate at which scores of queue protection decay: 2 to this power bytes in 2^30 ns.
fn drain(exponent: u64) -> f64 {
    8e9 * 2_f64.powi(exponent.min(63) as i32 - 30)
}

#[cfg(test)]
mod tests {
    use super::super::carry::carry_queue;
    use super::*;

    /// An upstream service flow of 10 Mbit/s with a buffer of 62 500 B.
    const FILE: [u8; 25] = [
        3, 1, 1, 24, 18, 1, 2, 0, 1, 8, 4, 0, 0x98, 0x96, 0x80, 35, 6, 2, 4, 0, 0, 0xf4, 0x24, 255,
        0,
    ];

    fn describe(bytes: &[u8]) -> Json {
        serde_json::from_str(&describe_modem_file(bytes)).expect("it is JSON")
    }

    #[test]
    fn numbers_have_the_places_of_their_tlvs_and_what_follows_of_them() {
        let described = describe(&FILE);
        let flow = &described["flows"][0];
        assert_eq!(flow["set"]["rate"], json!([10_000_000, "24.8"]));
        assert_eq!(flow["buffer"]["path"], "24.35.2");
        assert_eq!(flow["buffer"]["delay"], 50e6);
        assert_eq!(flow["aqm"]["state"], "unsaid");
        assert_eq!(flow["aqm"]["target"], 10e6);
        assert_eq!(described["aggregates"], json!([]));
    }

    #[test]
    fn any_bytes_are_described() {
        for bytes in [&[][..], &[24, 9, 1], &[24, 3, 1, 9, 0], &[254, 1, 1, 24, 0]] {
            assert!(describe(bytes)["flows"].is_array());
        }
    }

    #[test]
    fn a_queue_is_carried_over_and_all_else_stays() {
        let mut other = FILE;
        other[20] = 1;
        let carried = carry_queue(&FILE, &other).expect("it can be carried");
        assert_eq!(carried, other);
        let error = carry_queue(&[3, 1, 1], &FILE).expect_err("it has no service flow");
        assert_eq!(error, "it has no service flow of TLV 24");
    }
}
