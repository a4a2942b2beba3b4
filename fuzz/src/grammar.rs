//! The grammar of scenarios, from the engine's own schema: the values that each place allows, and
//! generated values for it.

use headend::rng::Rng;
use serde_json::{Map, Value, json};

/// The grammar.
#[derive(Debug)]
pub struct Grammar {
    schema: Value,
}

/// The source of generated values.
#[derive(Debug)]
pub struct Draw {
    /// The random numbers.
    pub rng: Rng,
    /// The names in the scenario, for values that refer to one.
    pub names: Vec<String>,
}

impl Draw {
    /// A random whole number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    /// A random element, if there is any.
    pub fn pick<'a, T>(&mut self, several: &'a [T]) -> Option<&'a T> {
        let last = (several.len() as u64).checked_sub(1)?;
        several.get(self.rng.below(last + 1) as usize)
    }

    /// A name in the scenario, or a common one.
    fn name(&mut self) -> String {
        let count = self.names.len() as u64;
        match self.below(5) {
            1.. if count > 0 => self.names[self.rng.below(count) as usize].clone(),
            _ => self.pick(&NAMES).copied().unwrap_or_default().to_owned(),
        }
    }
}

/// Names that are common in scenarios.
const NAMES: [&str; 13] = [
    "cable",
    "cable.up",
    "cable.down",
    "call",
    "file",
    "home",
    "line",
    "line.up",
    "modem",
    "upload",
    "wifi",
    "wifi.laptop",
    "x",
];
const TEXTS: [&str; 10] = [
    "",
    "call.mos.p5 >= 4.0",
    "10.0.0.1",
    "2001:db8::1",
    "0 200, 20000000 200",
    "1-3",
    "0x800",
    "unlimited",
    "autotuned",
    "\u{1b}[31m",
];
/// Numbers of quantities, from absurd to common ones.
const NUMBERS: [f64; 22] = [
    0.0, 0.001, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 16.0, 20.0, 32.0, 50.0, 64.0, 100.0,
    250.0, 1000.0, 65536.0, 1e9, 1.7e19,
];

impl Default for Grammar {
    fn default() -> Self {
        let schema = serde_json::from_str(&headend::scenario::schema());
        Self {
            schema: schema.expect("the schema is JSON"),
        }
    }
}

impl Grammar {
    /// The schema of a scenario.
    pub fn root(&self) -> &Value {
        &self.schema
    }

    /// The definition that a reference points to.
    fn resolve<'a>(&'a self, mut of: &'a Value) -> &'a Value {
        while let Some(name) = of.get("$ref").and_then(Value::as_str) {
            let pointer = name.trim_start_matches('#');
            match self.schema.pointer(pointer) {
                Some(found) => of = found,
                None => break,
            }
        }
        of
    }

    /// The alternative that `value` fits, where the schema has several; otherwise the schema
    /// itself.
    pub fn narrow<'a>(&'a self, of: &'a Value, value: &Value) -> &'a Value {
        let of = self.resolve(of);
        let Some(several) = alternatives(of) else {
            return of;
        };
        let fits = |one: &&Value| match value {
            Value::Object(entries) => {
                let properties = one.get("properties");
                let known = |key: &String| {
                    properties.is_some_and(|properties| properties.get(key).is_some())
                };
                entries.keys().all(known) && is_of(one, "object")
            }
            Value::String(text) => {
                let is_named = |names: &Value| {
                    let mut names = names.as_array().into_iter().flatten();
                    names.any(|name| name == text)
                };
                is_of(one, "string") && one.get("enum").is_none_or(is_named)
            }
            Value::Array(_) => is_of(one, "array"),
            Value::Number(_) => is_of(one, "number") || is_of(one, "integer"),
            _ => is_of(one, "boolean"),
        };
        let narrowed = several.iter().map(|one| self.narrow(one, value));
        narrowed.into_iter().find(fits).unwrap_or(of)
    }

    /// The schema of the value at `key` of an object.
    pub fn below<'a>(&'a self, of: &'a Value, key: &str) -> Option<&'a Value> {
        let known = of.get("properties").and_then(|all| all.get(key));
        known.or_else(|| {
            of.get("additionalProperties")
                .filter(|other| other.is_object())
        })
    }

    /// The schema of the element at `index` of a list.
    pub fn element<'a>(&'a self, of: &'a Value, index: usize) -> Option<&'a Value> {
        let first = of.get("prefixItems").and_then(|all| all.get(index));
        first.or_else(|| of.get("items"))
    }

    /// A random value that the schema allows, with tables nested at most `depth` deep.
    pub fn generate(&self, of: &Value, depth: u32, draw: &mut Draw) -> Value {
        let of = self.resolve(of);
        if let Some(several) = alternatives(of) {
            let several: Vec<&Value> = several.iter().filter(|one| !is_of(one, "null")).collect();
            return match draw.pick(&several) {
                Some(one) => self.generate(one, depth, draw),
                None => Value::Null,
            };
        }
        if let Some(only) = of.get("const") {
            return only.clone();
        }
        if let Some(name) = of
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|all| draw.pick(all))
        {
            return name.clone();
        }
        if is_of(of, "object") {
            return self.generate_object(of, depth, draw);
        }
        if is_of(of, "array") {
            return self.generate_list(of, depth, draw);
        }
        if is_of(of, "string") && (draw.below(8) > 0 || !is_of(of, "number")) {
            let format = of.get("format").and_then(Value::as_str).unwrap_or_default();
            return Value::String(quantity(format, draw));
        }
        if is_of(of, "boolean") {
            return Value::Bool(draw.below(2) == 0);
        }
        number(of, draw)
    }

    fn generate_object(&self, of: &Value, depth: u32, draw: &mut Draw) -> Value {
        let mut entries = Map::new();
        let required = of.get("required").and_then(Value::as_array);
        let is_required = |key: &str| required.is_some_and(|all| all.iter().any(|one| one == key));
        let properties = of.get("properties").and_then(Value::as_object);
        let count = properties.map_or(0, Map::len) as u64;
        for (key, of) in properties.into_iter().flatten() {
            if is_required(key) || depth > 0 && draw.below(count + 2) < 2 {
                entries.insert(
                    key.clone(),
                    self.generate(of, depth.saturating_sub(1), draw),
                );
            }
        }
        if let Some(other) = of
            .get("additionalProperties")
            .filter(|other| other.is_object())
        {
            for _ in 0..draw.below(3) {
                let value = self.generate(other, depth.saturating_sub(1), draw);
                entries.insert(draw.name(), value);
            }
        }
        Value::Object(entries)
    }

    fn generate_list(&self, of: &Value, depth: u32, draw: &mut Draw) -> Value {
        let first = of.get("prefixItems").and_then(Value::as_array);
        let first: Vec<Value> = (first.into_iter().flatten())
            .map(|of| self.generate(of, depth.saturating_sub(1), draw))
            .collect();
        let more = match of.get("items").filter(|_| first.is_empty()) {
            Some(of) => (0..draw.below(4))
                .map(|_| self.generate(of, depth.saturating_sub(1), draw))
                .collect(),
            None => Vec::new(),
        };
        Value::Array([first, more].concat())
    }
}

fn alternatives(of: &Value) -> Option<&Vec<Value>> {
    of.get("oneOf")
        .or_else(|| of.get("anyOf"))
        .and_then(Value::as_array)
}

fn is_of(of: &Value, kind: &str) -> bool {
    match of.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

/// A quantity of this format, or a text.
fn quantity(format: &str, draw: &mut Draw) -> String {
    let units: &[&str] = match format {
        "Duration" | "TimeLimit" => &["ns", "us", "ms", "ms", "ms", "s", "s", "min", "h"],
        "Rate" => &["bit/s", "kbit/s", "Mbit/s", "Mbit/s", "Mbit/s", "Gbit/s"],
        "ByteCount" | "MemoryLimit" | "TunedSize" => &["B", "kB", "KiB", "MB", "GiB"],
        "Limit" => &["B", "kB", "ms", "packets", "KiB", "s"],
        "Probability" => &["%", ""],
        "Selection" | "Span" => {
            let [from, to] = [draw.below(70), draw.below(300)];
            return format!("{from}-{to}");
        }
        "Address" | "Network" => {
            let address = draw.pick(&[
                "10.0.0.1",
                "192.168.1.10",
                "2001:db8::10",
                "10.255.255.255",
                "::",
            ]);
            let address = address.copied().unwrap_or_default();
            return match draw.below(3) {
                0 => format!("{address}/{}", draw.below(130)),
                _ => address.to_owned(),
            };
        }
        "MacAddress" | "MacRange" => {
            let address = draw.pick(&["02:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "01:00:5e"]);
            let address = address.copied().unwrap_or_default();
            return match draw.below(3) {
                0 => format!("{address}/ff:ff:ff:00:00:00"),
                _ => address.to_owned(),
            };
        }
        _ => {
            return match draw.below(6) {
                0 => draw.pick(&TEXTS).copied().unwrap_or_default().to_owned(),
                _ => draw.name(),
            };
        }
    };
    let unit = draw.pick(units).copied().unwrap_or_default();
    let number = amount(draw);
    match (format, draw.below(20)) {
        ("Limit" | "MemoryLimit" | "TimeLimit", 0) => "unlimited".to_owned(),
        ("TunedSize", 0) => "autotuned".to_owned(),
        _ => format!("{number} {unit}"),
    }
}

/// A number; mostly a common one.
pub fn amount(draw: &mut Draw) -> f64 {
    match draw.below(6) {
        0 => draw.pick(&NUMBERS).copied().unwrap_or_default(),
        1 => draw.below(2000) as f64,
        _ => draw.pick(&NUMBERS[2..19]).copied().unwrap_or_default(),
    }
}

fn number(of: &Value, draw: &mut Draw) -> Value {
    let bound = |key: &str| of.get(key).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if is_of(of, "integer") {
        let least = least.unwrap_or(0.0) as u64;
        return match (draw.below(6), most) {
            (0, Some(most)) => json!(most as u64),
            (1, _) => json!(least),
            (2, None) => json!(u32::MAX),
            (_, Some(most)) => {
                json!(least + draw.below((most as u64).saturating_sub(least).max(1)))
            }
            _ => json!(least + draw.below(10)),
        };
    }
    match draw.below(4) {
        0 => json!(draw.rng.uniform()),
        1 => json!(-1.0),
        _ => json!(amount(draw)),
    }
}
