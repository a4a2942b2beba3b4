//! Writes out what real hosts stand for: a host in the network, and a flow for each customer.

use std::collections::BTreeMap;

use super::config::Emulation;
use crate::named::Named;
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::Flow;
use crate::scenario::host::Host;
use crate::scenario::raw::Raw;
use crate::traffic::{ApplicationConfig, real};

/// Name of the host in the network of a scenario that has no real one there.
const SERVER: &str = "server";

/// Adds the host and the flows that the real hosts of a scenario need, and takes out what is
/// written for hosts that are no longer real.
pub(in crate::scenario) fn complete(raw: &mut Raw) -> Result<(), ScenarioError> {
    switch_off(raw);
    if let Some(emulation) = &raw.emulation {
        check_bounds(emulation)?;
    }
    let Some(customer) = first(&raw.host, true) else {
        return refuse_server_alone(&mut raw.host);
    };
    if first(&raw.host, false).is_none() {
        if raw.host.contains_key(SERVER) {
            let why = format!(
                "expected true: the real host \"{customer}\" needs a real one in the network, and \
                 \"{SERVER}\", as that would be called, is none"
            );
            return Err(ScenarioError::invalid(format!("host.{SERVER}.real"), why));
        }
        let server = Host {
            real: Some(true),
            ..Host::default()
        };
        raw.host.insert(SERVER.to_owned(), server);
    }
    add_flows(raw);
    raw.emulation.get_or_insert_default();
    Ok(())
}

fn check_bounds(emulation: &Emulation) -> Result<(), ScenarioError> {
    let bounds = [("lateness", emulation.lateness), ("stall", emulation.stall)];
    match bounds.into_iter().find(|(_, bound)| bound.is_zero()) {
        None => Ok(()),
        Some((key, _)) => {
            let why = "expected more than 0 s: nothing is handed over in no time";
            Err(ScenarioError::invalid(format!("emulation.{key}"), why))
        }
    }
}

/// The first real host of a side, customers' or the network's.
fn first(hosts: &BTreeMap<String, Host>, is_customer: bool) -> Option<&String> {
    let mut real = hosts.iter().filter(|(_, host)| host.is_real());
    let (name, _) = real.find(|(_, host)| host.via.is_empty() != is_customer)?;
    Some(name)
}

/// Without a customer's, no host is real: those in the network are switched off with the last
/// customer's, and refused if there was none.
fn refuse_server_alone(hosts: &mut BTreeMap<String, Host>) -> Result<(), ScenarioError> {
    let is_off = (hosts.values()).any(|host| !host.via.is_empty() && host.is_switched_off());
    for (name, host) in hosts.iter_mut().filter(|(_, host)| host.is_real()) {
        if !is_off {
            let why = "expected a real customer's host as well (via = […], real = true): only such \
                       a host has flows to it";
            return Err(ScenarioError::invalid(format!("host.{name}.real"), why));
        }
        host.real = Some(false);
    }
    Ok(())
}

/// Takes out the flows of hosts that are written as not real.
fn switch_off(raw: &mut Raw) {
    let hosts = &raw.host;
    raw.flow.retain(|_, flow| {
        let host = flow.host.as_ref().and_then(|name| hosts.get(name));
        !(is_real(flow) && host.is_some_and(Host::is_switched_off))
    });
}

/// Adds a flow for each real customer's host that has none.
fn add_flows(raw: &mut Raw) {
    let is_in_use = |host: &str| {
        let mut flows = raw.flow.values();
        flows.any(|flow| is_real(flow) && flow.host.as_deref() == Some(host))
    };
    let customers = (raw.host.iter()).filter(|(_, host)| host.is_real() && !host.via.is_empty());
    let customers: Vec<String> = customers
        .map(|(name, _)| name.clone())
        .filter(|name| !is_in_use(name))
        .collect();
    for host in customers {
        let mut name = host.clone();
        while raw.flow.contains_key(&name) || raw.link.contains_key(&name) {
            name.push_str("-real");
        }
        let application = ApplicationConfig::Real(real::Config::default());
        raw.flow.insert(name, Flow::new(application, host));
    }
}

fn is_real(flow: &Flow) -> bool {
    let Named(application) = &flow.application;
    application.is_real()
}
