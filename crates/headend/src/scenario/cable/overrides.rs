//! What overrides need to know of a cable line's table.

use serde_json::Value;

use crate::scenario::tables::Tables;

pub(in crate::scenario) struct CableTables;

/// Tables of a line, and of its modems and service classes, whose keys are names.
const NAMED: [&str; 5] = ["change", "drop", "modem", "service_class", "service_flow"];

/// Whether the table at `keys`, below the line's, has names that a modem's file may add.
pub(in crate::scenario) fn is_from_files(keys: &[&str]) -> bool {
    matches!(
        keys,
        ["service_flow" | "drop"] | ["modem", _, "service_flow" | "drop"]
    )
}

impl Tables for CableTables {
    /// The queue of one of several modems has the modem's name. If the modem has it from its line,
    /// it is written there. A low-latency queue has no discipline to choose: then it is that of the
    /// classic flow beside it.
    fn queue_key(&self, table: Option<&Value>, place: &str) -> String {
        let (modem, flow) = match place.split_once('.') {
            // A modem's number, between the two, stands for no table of its own.
            Some((modem, rest)) => (Some(modem), rest.rsplit('.').next().unwrap_or(rest)),
            None => (None, place),
        };
        let flow = match flow {
            "up_low_latency" => "up",
            "down_low_latency" => "down",
            other => other,
        };
        let is_primary = ["up", "down"].contains(&flow);
        if let Some(modem) = modem {
            let own = table.and_then(|table| table.get("modem")?.get(modem)?.get("service_flow"));
            if is_primary {
                return format!("modem.{modem}.{flow}stream.queue");
            }
            if own.is_some_and(|flows| flows.get(flow).is_some()) {
                return format!("modem.{modem}.service_flow.{flow}.queue");
            }
        }
        let flows = table.and_then(|table| table.get("service_flow"));
        if flows.is_some_and(|flows| flows.get(flow).is_some()) {
            return format!("service_flow.{flow}.queue");
        }
        format!("{flow}stream.queue")
    }

    fn has_names(&self, keys: &[&str]) -> bool {
        matches!(keys, [name] | [_, _, name] if NAMED.contains(name))
    }
}
