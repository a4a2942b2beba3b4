//! A classifier that makes sense on its own, whatever flows there are.

use super::config::{Classifier, TypeOfService};
use crate::link::docsis::classifier::{IPV4, IPV6};
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::{EtherType, IpProtocol, MacAddress, Network};
use crate::scenario::span::Several;

/// A classifier, and where it is written.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct RulePlan {
    pub(in crate::scenario) path: String,
    pub(in crate::scenario) classifier: Classifier,
    /// Nobody has written it: it comes with low latency, and is examined after all that are
    /// written.
    pub(in crate::scenario) is_default: bool,
}

/// The classifiers that are written below `path`.
pub(in crate::scenario::cable) fn rule_plans(
    path: &str,
    classifiers: &Several<Classifier>,
) -> Result<Vec<RulePlan>, ScenarioError> {
    let rules = &classifiers.0;
    let at = |index: usize| match rules.len() {
        1 => format!("{path}.match"),
        _ => format!("{path}.match[{index}]"),
    };
    let rules = rules.iter().enumerate();
    rules
        .map(|(index, rule)| rule_plan(at(index), rule))
        .collect()
}

/// A classifier that some packet can meet.
pub(in crate::scenario::cable) fn rule_plan(
    path: String,
    classifier: &Classifier,
) -> Result<RulePlan, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    if let Some(dscp) = classifier.dscp.filter(|dscp| dscp.to > 63) {
        return refuse(
            "dscp",
            format!("expected a DSCP from 0 to 63, found {dscp}"),
        );
    }
    let has_no_ports = match classifier.protocol {
        Some(IpProtocol::Icmp) => Some("ICMP".to_owned()),
        Some(IpProtocol::Number(number)) if !HAVE_PORTS.contains(&number) => {
            Some(format!("IP protocol {number}"))
        }
        _ => None,
    };
    let ports = [
        ("port", classifier.port),
        ("source_port", classifier.source_port),
        ("destination_port", classifier.destination_port),
    ];
    if let (Some((key, _)), Some(protocol)) =
        (ports.iter().find(|(_, port)| port.is_some()), has_no_ports)
    {
        return refuse(key, format!("matches nothing: {protocol} has no ports"));
    }
    if let Some(tos) = &classifier.tos {
        check_tos(&format!("{path}.tos"), tos)?;
    }
    if let Some(range) =
        (classifier.destination_mac).filter(|range| range.address & !range.mask != 0)
    {
        let why = format!(
            "matches nothing: expected an address without the bits that its mask leaves out, {}",
            MacAddress(range.address & range.mask)
        );
        return refuse("destination_mac", why);
    }
    if let Some(priority) = classifier.user_priority.filter(|range| range.to > 7) {
        return refuse(
            "user_priority",
            format!("expected a user priority from 0 to 7, found {priority}"),
        );
    }
    if let Some(vlan) = classifier.vlan.filter(|vlan| !(1..=4094).contains(vlan)) {
        return refuse(
            "vlan",
            format!("expected a VLAN from 1 to 4094, found {vlan}"),
        );
    }
    check_versions(&path, classifier)?;
    Ok(RulePlan {
        classifier: classifier.clone(),
        is_default: false,
        path,
    })
}

/// IP protocol numbers whose packets have ports: TCP, UDP, any, TCP or UDP.
const HAVE_PORTS: [u16; 4] = [6, 17, 256, 257];

/// A byte can be found between the two bounds once its bits are chosen.
fn check_tos(path: &str, tos: &TypeOfService) -> Result<(), ScenarioError> {
    let TypeOfService { low, high, mask } = *tos;
    if low > high {
        let why = format!("the highest, {high:#04x}, is below the lowest, {low:#04x}");
        return Err(ScenarioError::invalid(format!("{path}.high"), why));
    }
    if (0..=u8::MAX).any(|byte| (low..=high).contains(&(byte & mask))) {
        return Ok(());
    }
    let why = format!(
        "matches nothing: no byte has bits under the mask {mask:#04x} that come to {low:#04x} to \
         {high:#04x}"
    );
    Err(ScenarioError::invalid(path, why))
}

/// Addresses and the Ethernet type are of one IP version.
fn check_versions(path: &str, classifier: &Classifier) -> Result<(), ScenarioError> {
    let of_network = |network: &Option<Network>| match network {
        Some(Network::V4 { .. }) => Some(IPV4),
        Some(Network::V6 { .. }) => Some(IPV6),
        Some(Network::Host(_)) | None => None,
    };
    let given = [
        ("source", of_network(&classifier.source)),
        ("destination", of_network(&classifier.destination)),
        (
            "ethertype",
            classifier.ethertype.map(|EtherType(number)| number),
        ),
    ];
    let mut given = (given.into_iter()).filter_map(|(key, version)| Some((key, version?)));
    let Some((first, version)) = given.next() else {
        return Ok(());
    };
    match given.find(|(_, other)| *other != version) {
        None => Ok(()),
        Some((key, _)) => {
            let why = format!("matches nothing: expected the IP version of `{first}`");
            Err(ScenarioError::invalid(format!("{path}.{key}"), why))
        }
    }
}
