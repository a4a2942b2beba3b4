//! The flow of a real host: between whom its programs' packets go, and what it cannot have, since
//! packets of programs bring it with them.

use std::collections::BTreeMap;

use super::config::Flow;
use crate::named::OrTable;
use crate::scenario::error::ScenarioError;
use crate::scenario::host::{HostPlan, find_host};
use crate::time::Duration;

/// Checks the flow called `name`, and writes its peers out. `others` are such flows by host; this
/// one is added.
pub(super) fn plan(
    at: &str,
    name: &str,
    flow: &mut Flow,
    hosts: &BTreeMap<String, HostPlan>,
    others: &mut BTreeMap<String, String>,
) -> Result<(), ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{at}.{key}"), why));
    if let Some((key, why)) = misplaced(flow) {
        return refuse(key, format!("expected none: {why}"));
    }
    check_host(at, flow, hosts)?;
    let host = flow.host.as_ref().expect("the check has found it");
    if let Some(other) = others.insert(host.clone(), name.to_owned()) {
        let why = format!(
            "the packets of the real host \"{host}\" belong to the flow \"{other}\" already: \
             expected one flow for each real host"
        );
        return refuse("host", why);
    }
    flow.peers.extend(flow.peer.take());
    if flow.peers.is_empty() {
        flow.peers = in_network(hosts);
    }
    for (index, peer) in flow.peers.iter().enumerate() {
        let found = find_host(hosts, peer);
        // A name that nobody has is refused with those of other flows.
        if found.is_some_and(|found| found.real.is_none() || !found.via.is_empty()) {
            let why = format!(
                "\"{peer}\" is no real host in the network (real = true, without via): expected {}",
                in_network(hosts).join(" or ")
            );
            return refuse(&format!("peers[{index}]"), why);
        }
        if flow.peers[..index].contains(peer) {
            return refuse(
                &format!("peers[{index}]"),
                format!("\"{peer}\" is there already"),
            );
        }
    }
    Ok(())
}

fn check_host(
    at: &str,
    flow: &Flow,
    hosts: &BTreeMap<String, HostPlan>,
) -> Result<(), ScenarioError> {
    let found = (flow.host.as_ref()).map(|name| (name, find_host(hosts, name)));
    let why = match found {
        Some((_, Some(host))) if host.real.is_some() => return Ok(()),
        Some((name, Some(_))) => format!(
            "\"{name}\" is not real: expected a host with real = true, where a real program runs"
        ),
        // A name that nobody has is refused as that of any flow.
        Some((_, None)) => return Ok(()),
        None => "expected the real host (real = true) whose packets it has".to_owned(),
    };
    Err(ScenarioError::invalid(format!("{at}.host"), why))
}

/// The real hosts in the network, in the order of their names.
fn in_network(hosts: &BTreeMap<String, HostPlan>) -> Vec<String> {
    let real = hosts
        .iter()
        .filter(|(_, host)| host.real.is_some() && host.via.is_empty());
    real.map(|(name, _)| name.clone()).collect()
}

/// A key that is written and that packets of programs bring with them, and why it is not to be
/// there.
fn misplaced(flow: &Flow) -> Option<(&'static str, &'static str)> {
    const WHEN: &str = "a real program runs when it is started";
    let keys = [
        (
            "count",
            flow.count > 1,
            "there is one flow for each real host, for all packets of its programs",
        ),
        ("start", flow.start != OrTable::Plain(Duration::ZERO), WHEN),
        ("stop", flow.stop.is_some(), WHEN),
        ("periods", !flow.periods.is_empty(), WHEN),
        (
            "dscp",
            flow.dscp != 0,
            "real packets have their own; host.NAME.dscp marks them anew",
        ),
        ("ecn", flow.ecn.is_some(), "real packets have their own"),
        (
            "tcp",
            flow.tcp.is_some(),
            "real connections have that of the system they run on",
        ),
    ];
    let written = keys.into_iter().find(|(_, is_written, _)| *is_written);
    written.map(|(key, _, why)| (key, why))
}
