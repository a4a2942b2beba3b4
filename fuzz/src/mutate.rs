//! Derives a scenario from another: a value, a key, a kind or a table is changed by the grammar, or
//! taken from a third scenario.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use headend::rng::Rng;
use serde_json::{Map, Value};

use crate::grammar::{Draw, Grammar, amount};
use crate::targets::split;

/// A step from a table or list to one of its entries.
#[derive(Debug, Clone)]
enum Step {
    Key(String),
    Index(usize),
}

/// A mutator of scenarios.
#[derive(Debug, Default)]
pub struct Mutator {
    grammar: Grammar,
    /// The tables of earlier scenarios, by their key.
    seen: BTreeMap<String, Vec<Value>>,
}

/// The number of tables that are kept for each key.
const MOST_SEEN: usize = 64;

/// The mutator of the fuzzer's process.
static MUTATOR: Mutex<Option<Mutator>> = Mutex::new(None);

/// Replaces the scenario in the first `size` bytes of `data` by another, and returns its length.
/// Returns `None`, and leaves the data unchanged, if they hold no scenario, or if the other is
/// longer than `max_size`.
pub fn mutate_in_place(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> Option<usize> {
    let mut mutator = MUTATOR.lock().unwrap_or_else(PoisonError::into_inner);
    let mutator = mutator.get_or_insert_default();
    let other = mutator.mutate(&data[..size], seed)?;
    let place = data
        .get_mut(..other.len())
        .filter(|_| other.len() <= max_size)?;
    place.copy_from_slice(&other);
    Some(other.len())
}

impl Mutator {
    /// Another scenario, as JSON, with the overrides of the first; `None` if `input` is not a
    /// scenario.
    pub fn mutate(&mut self, input: &[u8], seed: u32) -> Option<Vec<u8>> {
        let input = std::str::from_utf8(input).ok()?;
        let (text, _, overrides) = split(input);
        let mut tree = match serde_json::from_str(text) {
            Ok(tree) => tree,
            Err(_) => toml::from_str::<Value>(text).ok()?,
        };
        if !tree.is_object() {
            return None;
        }
        let mut draw = Draw {
            rng: Rng::for_path(u64::from(seed), "mutate"),
            names: names(&tree),
        };
        self.remember(&tree);
        // Mostly one change: with several, it is likely that one makes the scenario wrong.
        self.change(&mut tree, &mut draw);
        while draw.below(3) == 0 {
            self.change(&mut tree, &mut draw);
        }
        let mut text = tree.to_string();
        // The overrides themselves are not changed: a change of the value has the same effect.
        for (path, value) in overrides.iter().filter(|_| draw.below(4) > 0) {
            let _ = write!(text, "\0{path}={value}");
        }
        if draw.below(8) == 0
            && let Some((steps, value)) = self.choose(&tree, &mut draw)
        {
            let _ = write!(text, "\0{}={value}", dotted(&steps));
        }
        Some(text.into_bytes())
    }

    /// Keeps the tables of a scenario, for use in others.
    fn remember(&mut self, tree: &Value) {
        for (key, value) in tree.as_object().into_iter().flatten() {
            if value.is_object() {
                let seen = self.seen.entry(key.clone()).or_default();
                if seen.len() < MOST_SEEN && !seen.contains(value) {
                    seen.push(value.clone());
                }
                self.remember(value);
            }
        }
    }

    fn change(&self, tree: &mut Value, draw: &mut Draw) {
        let root = self.grammar.root();
        let mut places = Vec::new();
        self.walk(tree, root, &mut Vec::new(), &mut places);
        let Some((steps, of)) = draw.pick(&places) else {
            return;
        };
        let Some(value) = at(tree, steps) else {
            return;
        };
        match (draw.below(10), &mut *value) {
            (0, _) if !steps.is_empty() => *value = self.grammar.generate(of, 2, draw),
            (1, _) if steps.len() > 1 => remove(tree, steps),
            (2, _) => {
                let Some(Step::Key(key)) = steps.last() else {
                    return;
                };
                if let Some(other) = self.seen.get(key).and_then(|seen| draw.pick(seen)) {
                    *value = other.clone();
                }
            }
            (3..=6, Value::Object(entries)) => self.add(entries, of, draw),
            (7, Value::Object(entries)) => double(entries, draw),
            (_, Value::Array(list)) => self.lengthen(list, of, draw),
            (3..=6, Value::String(text)) => {
                if let Some(other) = other_amount(text, draw) {
                    *text = other;
                } else {
                    *value = self.grammar.generate(of, 1, draw);
                }
            }
            _ => *value = self.grammar.generate(of, 1, draw),
        }
    }

    /// A place of a tree and a new value for it, as an override gives it.
    fn choose(&self, tree: &Value, draw: &mut Draw) -> Option<(Vec<Step>, Value)> {
        let mut places = Vec::new();
        self.walk(tree, self.grammar.root(), &mut Vec::new(), &mut places);
        let (steps, of) = draw.pick(&places)?;
        Some((steps.clone(), self.grammar.generate(of, 1, draw)))
    }

    /// All places of a tree, each with the schema of its value.
    fn walk<'a>(
        &'a self,
        value: &Value,
        of: &'a Value,
        steps: &mut Vec<Step>,
        places: &mut Vec<(Vec<Step>, &'a Value)>,
    ) {
        places.push((steps.clone(), of));
        let of = self.grammar.narrow(of, value);
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    if let Some(of) = self.grammar.below(of, key) {
                        steps.push(Step::Key(key.clone()));
                        self.walk(value, of, steps, places);
                        steps.pop();
                    }
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    if let Some(of) = self.grammar.element(of, index) {
                        steps.push(Step::Index(index));
                        self.walk(value, of, steps, places);
                        steps.pop();
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds a key that the schema allows and that is missing.
    fn add(&self, entries: &mut Map<String, Value>, of: &Value, draw: &mut Draw) {
        let of = self.grammar.narrow(of, &Value::Object(entries.clone()));
        let Some(known) = of.get("properties").and_then(Value::as_object) else {
            return double(entries, draw);
        };
        let missing: Vec<&String> = known
            .keys()
            .filter(|key| !entries.contains_key(*key))
            .collect();
        if let Some(key) = draw.pick(&missing) {
            let of = &known[key.as_str()];
            entries.insert((*key).clone(), self.grammar.generate(of, 2, draw));
        }
    }

    fn lengthen(&self, list: &mut Vec<Value>, of: &Value, draw: &mut Draw) {
        let of = self.grammar.narrow(of, &Value::Array(list.clone()));
        match (draw.below(3), self.grammar.element(of, list.len())) {
            (0, _) => drop(list.pop()),
            (1, Some(of)) => list.push(self.grammar.generate(of, 1, draw)),
            _ => {
                let again = list.last().cloned();
                list.extend(again);
            }
        }
    }
}

/// The names in a scenario: of links and their queues, hosts, flows, and the entries of links.
fn names(tree: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for table in ["host", "flow"] {
        let entries = tree.get(table).and_then(Value::as_object);
        names.extend(
            entries
                .into_iter()
                .flat_map(|entries| entries.keys().cloned()),
        );
    }
    let links = tree.get("link").and_then(Value::as_object);
    for (link, config) in links.into_iter().flatten() {
        names.extend([link.clone(), format!("{link}.up"), format!("{link}.down")]);
        let kinds = config.as_object().into_iter().flat_map(Map::values);
        for table in kinds.filter_map(Value::as_object).flat_map(Map::values) {
            for inner in table.as_object().into_iter().flat_map(Map::keys) {
                names.extend([inner.clone(), format!("{link}.{inner}")]);
            }
        }
    }
    names
}

/// The same quantity with another number.
fn other_amount(text: &str, draw: &mut Draw) -> Option<String> {
    let (number, unit) = text.split_once(' ')?;
    let number: f64 = number.parse().ok()?;
    let other = match draw.below(6) {
        0 => amount(draw),
        1 => number * 10.0,
        2 => number / 10.0,
        3 => number * 2.0,
        4 => number + 1.0,
        _ => number * draw.rng.uniform() * 2.0,
    };
    Some(format!("{other} {unit}"))
}

/// Adds a copy of one entry under another name.
fn double(entries: &mut Map<String, Value>, draw: &mut Draw) {
    let keys: Vec<String> = entries.keys().cloned().collect();
    if let Some(key) = draw.pick(&keys) {
        let value = entries[key].clone();
        entries.insert(format!("{key}{}", draw.below(4)), value);
    }
}

fn at<'a>(tree: &'a mut Value, steps: &[Step]) -> Option<&'a mut Value> {
    steps.iter().try_fold(tree, |tree, step| match step {
        Step::Key(key) => tree.get_mut(key),
        Step::Index(index) => tree.get_mut(index),
    })
}

fn remove(tree: &mut Value, steps: &[Step]) {
    let Some((last, above)) = steps.split_last() else {
        return;
    };
    match (at(tree, above), last) {
        (Some(Value::Object(entries)), Step::Key(key)) => drop(entries.shift_remove(key)),
        (Some(Value::Array(values)), Step::Index(index)) => drop(values.remove(*index)),
        _ => {}
    }
}

fn dotted(steps: &[Step]) -> String {
    let keys = steps.iter().filter_map(|step| match step {
        Step::Key(key) => Some(key.as_str()),
        Step::Index(_) => None,
    });
    keys.collect::<Vec<_>>().join(".")
}
