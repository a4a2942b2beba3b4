//! Checks hosts: where each is, and what it may have.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::addresses::give_addresses;
use super::config::Host;
use super::planned::HostPlan;
use crate::scenario::attachment::{Attachment, find_attachment};
use crate::scenario::distance::check_rtt;
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::{Address, MacAddress};
use crate::scenario::names::unknown;
use crate::scenario::times::check_delay;

/// Plans the hosts; `cells` are the links whose customers are the hosts themselves.
pub(in crate::scenario) fn plan(
    written: &BTreeMap<String, Host>,
    attachments: &BTreeMap<String, Attachment>,
    cells: &[u16],
) -> Result<BTreeMap<String, HostPlan>, ScenarioError> {
    let mut hosts: BTreeMap<String, HostPlan> = BTreeMap::new();
    for (name, host) in written {
        let via = plan_via(name, host, attachments)?;
        check_order(name, &via, cells, &hosts)?;
        if host.rtt.is_some() && !via.is_empty() {
            let why = "a customer's host has no rtt: its distance is that of the flows' peers";
            return Err(ScenarioError::invalid(format!("host.{name}.rtt"), why));
        }
        if host.tunnel.is_some() && via.is_empty() {
            let why =
                "tunnels are those of customers: a host in the network has none (its flows may)";
            return Err(ScenarioError::invalid(format!("host.{name}.tunnel"), why));
        }
        check_real(name, host, &via)?;
        check_vlan(name, host)?;
        let count = via.iter().find_map(|place| place.count);
        check_frames(name, host, count.unwrap_or(1))?;
        check_rtt(&format!("host.{name}.rtt"), host.rtt.as_ref())?;
        check_delay(&format!("host.{name}.processing"), host.processing)?;
        let plan = HostPlan {
            address: 0,
            ipv6: None,
            mac: host.mac,
            vlan: host.vlan,
            user_priority: host.user_priority,
            count,
            via,
            rtt: host.rtt.clone(),
            processing: host.processing,
            tunnel: host.tunnel.clone(),
            real: None,
        };
        hosts.insert(name.clone(), plan);
    }
    give_addresses(written, &mut hosts)?;
    Ok(hosts)
}

/// Refuses what a real host cannot be or have.
fn check_real(name: &str, host: &Host, via: &[Attachment]) -> Result<(), ScenarioError> {
    let refuse = |key: &str, why: String| {
        let path = format!("host.{name}.{key}");
        Err(ScenarioError::invalid(path, why))
    };
    match host.dscp {
        Some(dscp) if dscp > 63 => {
            return refuse(
                "dscp",
                format!("expected a DSCP from 0 to 63, found {dscp}"),
            );
        }
        Some(_) if host.real.is_none() => {
            let why = "expected none: only the packets of real hosts (real = true) are marked so; \
                       simulated ones have that of their flow, flow.NAME.dscp";
            return refuse("dscp", why.to_owned());
        }
        _ => {}
    }
    if !host.is_real() {
        return Ok(());
    }
    let several = via.iter().zip(&host.via);
    let mut several = several.filter_map(|(place, port)| Some((place.count?, port)));
    if let Some((count, port)) = several.next() {
        let why = format!(
            "a real host is one, and at \"{port}\" there are {count}: expected one of them, such \
             as \"{port}.1\""
        );
        return refuse("via", why);
    }
    let is_loopback = match host.address {
        Some(Address::V4(address)) => Ipv4Addr::from(address).is_loopback(),
        Some(Address::V6(address)) => Ipv6Addr::from(address).is_loopback(),
        None => false,
    };
    if is_loopback {
        let why = "expected an address outside of 127.0.0.0/8 and ::1, which each host has for \
                   itself: what is sent there crosses no line";
        return refuse("address", why.to_owned());
    }
    if name == "localhost" {
        let why = "expected another name for a real host: each host calls itself localhost";
        return refuse("real", why.to_owned());
    }
    if !host.processing.is_zero() {
        let why = "expected none: a real host takes the time that it takes";
        return refuse("processing", why.to_owned());
    }
    Ok(())
}

fn check_vlan(name: &str, host: &Host) -> Result<(), ScenarioError> {
    let refuse = |why: String| Err(ScenarioError::invalid(format!("host.{name}.vlan"), why));
    match host.vlan {
        // IEEE 802.1Q: 0 is no VLAN, 4095 is reserved.
        Some(vlan) if !(1..=4094).contains(&vlan) => {
            refuse(format!("expected a VLAN from 1 to 4094, found {vlan}"))
        }
        Some(_) if host.via.is_empty() => refuse(
            "VLANs are those of customers' networks: a host in the network has none".to_owned(),
        ),
        _ => Ok(()),
    }
}

/// The Ethernet address and the user priority of a host, or of `count` of them.
fn check_frames(name: &str, host: &Host, count: u32) -> Result<(), ScenarioError> {
    let path = |key: &str| format!("host.{name}.{key}");
    let of_network = |key: &str, what: &str| {
        let why = format!("{what} those of customers' networks: a host in the network has none");
        Err(ScenarioError::invalid(path(key), why))
    };
    check_user_priority(&format!("host.{name}"), host.user_priority)?;
    if host.user_priority.is_some() && host.via.is_empty() {
        return of_network("user_priority", "tags are");
    }
    let Some(MacAddress(first)) = host.mac else {
        return Ok(());
    };
    if host.via.is_empty() {
        return of_network("mac", "Ethernet addresses are");
    }
    let last = first + u64::from(count - 1);
    if [first, last].iter().all(|&mac| MacAddress(mac).is_of_one()) && last <= MacAddress::MAX {
        return Ok(());
    }
    let why = "expected the Ethernet address of one host, whose first byte is even, not that of a \
               group or of none";
    Err(ScenarioError::invalid(path("mac"), why))
}

/// A user priority has three bits (IEEE 802.1Q).
pub(in crate::scenario) fn check_user_priority(
    at: &str,
    priority: Option<u8>,
) -> Result<(), ScenarioError> {
    match priority.filter(|priority| *priority > 7) {
        None => Ok(()),
        Some(priority) => {
            let why = format!("expected a user priority from 0 to 7, found {priority}");
            Err(ScenarioError::invalid(format!("{at}.user_priority"), why))
        }
    }
}

fn plan_via(
    name: &str,
    host: &Host,
    attachments: &BTreeMap<String, Attachment>,
) -> Result<Vec<Attachment>, ScenarioError> {
    let path = |position| format!("host.{name}.via[{position}]");
    let mut via: Vec<Attachment> = Vec::new();
    for (position, port) in host.via.iter().enumerate() {
        let Some(place) = find_attachment(attachments, port) else {
            let known = attachments.keys().cloned().collect();
            return Err(unknown(path(position), "link port", port, known));
        };
        if via.iter().any(|earlier| earlier.link == place.link) {
            let why = "a packet passes each link once";
            return Err(ScenarioError::invalid(path(position), why));
        }
        let mut counts = via.iter().filter_map(|earlier| earlier.count);
        if let (Some(count), Some(other)) = (place.count, counts.next())
            && count != other
        {
            let why = format!(
                "a host at each of {count} cannot be one at each of {other} as well: expected \
                 equal counts"
            );
            return Err(ScenarioError::invalid(path(position), why));
        }
        via.push(place);
    }
    Ok(via)
}

/// Links are listed from the host outwards. So a station of a cell, which is the host itself, comes
/// first, and no two hosts list the same links in opposite orders.
fn check_order(
    name: &str,
    via: &[Attachment],
    cells: &[u16],
    others: &BTreeMap<String, HostPlan>,
) -> Result<(), ScenarioError> {
    let refuse = |place: usize, why| {
        Err(ScenarioError::invalid(
            format!("host.{name}.via[{place}]"),
            why,
        ))
    };
    if let Some(place) = (1..via.len()).find(|&place| cells.contains(&via[place].link)) {
        let why = "a station of a cell is the host itself: it comes first, as links are listed \
                   from the host outwards";
        return refuse(place, why.to_owned());
    }
    for (other, plan) in others {
        let place_of = |link: u16| plan.via.iter().position(|place| place.link == link);
        let places: Vec<_> = via.iter().map(|place| place_of(place.link)).collect();
        let known = places
            .iter()
            .enumerate()
            .filter_map(|(at, place)| Some((at, (*place)?)));
        let mut last = 0;
        for (at, place) in known {
            if place < last {
                let why = format!(
                    "the host \"{other}\" passes these links the other way about: they are listed \
                     from the host outwards"
                );
                return refuse(at, why);
            }
            last = place;
        }
    }
    Ok(())
}
