//! Writes out the keys that names in flows stand for (end systems, browsers, pages), and the keys
//! of TCP that the scenario sets for all flows.

use serde_json::{Map, Value, json};

use crate::congestion::CongestionConfig;
use crate::named::Named;
use crate::scenario::error::ScenarioError;
use crate::tcp::Config;
use crate::tcp::systems::System;
use crate::traffic::{ApplicationConfig, presets};

/// Writes out what the names in flows stand for (end systems, browsers, pages), what applications
/// set of TCP, and the keys of all TCP in the scenario, where nothing else is written.
pub(in crate::scenario) fn fill_in_names(tree: &mut Value) {
    let general = tree.get("tcp").and_then(Value::as_object).cloned();
    // What is wrong with it is found where it is written.
    let general = general.filter(|tcp| serde_json::from_value::<Config>(json!(tcp)).is_ok());
    let flows = tree.get_mut("flow").and_then(Value::as_object_mut);
    for flow in flows
        .into_iter()
        .flat_map(Map::values_mut)
        .filter_map(Value::as_object_mut)
    {
        presets::fill_in(flow);
        if let Some(general) = &general {
            fill_in_general(flow, general);
        }
        if let Some(tcp) = flow.get_mut("tcp").and_then(Value::as_object_mut) {
            fill_in_system(tcp);
        }
    }
    if let Some(tcp) = tree.get_mut("tcp").and_then(Value::as_object_mut) {
        fill_in_system(tcp);
    }
}

/// Adds the keys of all TCP to a flow that uses TCP. A flow that names an end system of its own is
/// another host, and does not get them.
fn fill_in_general(flow: &mut Map<String, Value>, general: &Map<String, Value>) {
    let application = flow.get("application").cloned().unwrap_or_default();
    let application = serde_json::from_value::<Named<ApplicationConfig>>(application);
    let uses_tcp = |Named(application): Named<ApplicationConfig>| {
        application.transport() == "tcp" && !application.is_real()
    };
    if application.is_ok_and(uses_tcp)
        && let Some(tcp) = flow
            .entry("tcp")
            .or_insert_with(|| json!({}))
            .as_object_mut()
        && !tcp.contains_key("system")
    {
        for (key, value) in general {
            tcp.entry(key).or_insert_with(|| value.clone());
        }
    }
}

fn fill_in_system(tcp: &mut Map<String, Value>) {
    let system = match tcp.get("system") {
        None => System::default(),
        // A name that nobody has is found when the scenario is read.
        Some(name) => match serde_json::from_value(name.clone()) {
            Ok(system) => system,
            Err(_) => return,
        },
    };
    let mut keys = system.keys();
    let control = control_of(tcp).or_else(|| control_of(&keys));
    let counts_marks = (CongestionConfig::all().iter())
        .any(|of| control.as_deref() == Some(of.name()) && of.counts_marks());
    if counts_marks {
        keys.remove("ecn");
    }
    if tcp.get("sack") == Some(&Value::Bool(false)) {
        // What needs SACK goes with it.
        for (key, without) in [
            ("rack", json!(false)),
            ("dsack", json!(false)),
            ("prr", json!("off")),
        ] {
            keys.insert(key.to_owned(), without);
        }
    }
    for (key, value) in keys {
        tcp.entry(key).or_insert(value);
    }
    if let Some(name) = control
        && let Some(Value::Object(parameters)) = system.controls().remove(&name)
        && let Some(written) = tcp.get_mut("congestion")
    {
        fill_in(written, name, parameters);
    }
}

/// The name of the congestion control among the keys of TCP, `"cubic"` or `{ cubic = { beta = 0.7 }
/// }`.
fn control_of(tcp: &Map<String, Value>) -> Option<String> {
    match tcp.get("congestion") {
        Some(Value::String(name)) => Some(name.clone()),
        Some(Value::Object(named)) => named.keys().next().cloned(),
        _ => None,
    }
}

/// Adds to the control `name` the parameters that are not written.
fn fill_in(written: &mut Value, name: String, parameters: Map<String, Value>) {
    if written.is_string() {
        *written = Value::Object(Map::from_iter([(name, Value::Object(parameters))]));
        return;
    }
    let own = written.get_mut(&name).and_then(Value::as_object_mut);
    if let Some(own) = own {
        for (key, value) in parameters {
            own.entry(key).or_insert(value);
        }
    }
}

/// The error of a list of periods that is empty, if there is one: a flow without any is never
/// there.
pub(in crate::scenario) fn empty_periods(tree: &Value) -> Option<ScenarioError> {
    let flows = tree.get("flow").and_then(Value::as_object);
    let (name, _) = flows.into_iter().flatten().find(|(_, flow)| {
        let periods = flow.get("periods").and_then(Value::as_array);
        periods.is_some_and(Vec::is_empty)
    })?;
    let why = "expected a period at least, such as [\"5 s\", \"20 s\"], found an empty list; leave \
               it out for a flow that is always there";
    Some(ScenarioError::invalid(format!("flow.{name}.periods"), why))
}
