//! One sentence about all TLVs of a modem's file that the model does not have.

use std::borrow::Cow;
use std::collections::BTreeSet;

use docsis_config::definition;
use docsis_config::table::Model;

use super::NETWORK_ACCESS;
use super::place::{Node, name_of};

/// The most TLVs that the sentence names; a longer one would not be read.
const MOST_NAMES: usize = 12;

/// Types below which everything is about service flows, known or not.
const OF_FLOWS: [u8; 2] = [24, 25];

/// Types of which a note says more: what a classifier cannot be without, and the network access
/// that a modem must have.
const SAID_ELSEWHERE: [u8; 4] = [NETWORK_ACCESS, 22, 23, 60];

/// A service flow's reference to its aggregate, which older files have as other TLVs.
const AGGREGATE_REFERENCE: u8 = 36;

/// A sentence about the TLVs that would change the line and are not simulated. A TLV with its
/// default value changes nothing, and is not named.
pub(super) fn list(top: &[Node<'_>]) -> Option<String> {
    let mut found = BTreeSet::new();
    for node in top {
        collect(node, &mut found);
    }
    let names: Vec<String> = found.iter().map(|types| call(types)).collect();
    match names.len() {
        0 => None,
        count if count > MOST_NAMES => Some(format!(
            "not simulated: {} and {} more",
            names[..MOST_NAMES].join(", "),
            count - MOST_NAMES
        )),
        _ => Some(format!("not simulated: {}", names.join(", "))),
    }
}

fn collect(node: &Node<'_>, found: &mut BTreeSet<Vec<u8>>) {
    let types = node.types();
    if SAID_ELSEWHERE.contains(&types[0]) {
        return;
    }
    let is_older = OF_FLOWS.contains(&types[0])
        && types[1..] == [AGGREGATE_REFERENCE]
        && node.all_bytes().len() != 2;
    let is_said = match definition(types) {
        Some(known) => known.model == Model::Said && !known.is_default(node.all_bytes()),
        None => OF_FLOWS.contains(&types[0]),
    };
    if is_said || is_older {
        found.insert(types.to_vec());
        return;
    }
    for part in node.children() {
        collect(&part, found);
    }
}

/// `upstream_service_flow.maximum_concatenated_burst (TLV 24.14)`.
fn call(types: &[u8]) -> String {
    let numbers: Vec<String> = types.iter().map(u8::to_string).collect();
    let names: Vec<Cow<'_, str>> = (1..=types.len())
        .map(|length| name_of(&types[..length]))
        .collect();
    format!("{} (TLV {})", names.join("."), numbers.join("."))
}
