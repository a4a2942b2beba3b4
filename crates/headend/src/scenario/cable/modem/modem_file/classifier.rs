//! Classifiers of a modem's file (TLVs 22, 23 and 60).
//!
//! A classifier with a condition that the model does not have is left out: without that condition
//! it would match packets that it does not match on the real line.

use super::place::{FileError, Node, TlvPlace, first, name_of};
use super::{DOWNSTREAM_FLOW, ModemFile, UPSTREAM_FLOW};
use crate::link::docsis::classifier::{IPV4, IPV6};
use crate::scenario::cable::classifier::{Classifier, TypeOfService};
use crate::scenario::cable::service_flow::OneWay;
use crate::scenario::header_fields::{EtherType, IpProtocol, MacAddress, MacRange, Network};
use crate::scenario::span::Span;

const UPSTREAM: u8 = 22;
const DOWNSTREAM: u8 = 23;
const DROP: u8 = 60;

// Sub-TLVs of classifiers.
const REFERENCE: u8 = 1;
const FLOW_REFERENCE: u8 = 3;
const PRIORITY: u8 = 5;
const ACTIVATION: u8 = 6;
const IPV4_CONDITIONS: u8 = 9;
const ETHERNET_CONDITIONS: u8 = 10;
const VLAN_CONDITIONS: u8 = 11;
const IPV6_CONDITIONS: u8 = 12;
/// The mask of the modem's interfaces that packets come from. In the model, all packets of
/// customers arrive at one interface.
const INTERFACE_MASK: u8 = 13;
/// The modem itself (bit 0), its cable interface (bit 2) and devices built into it (bits 16 and
/// further, such as a telephone adapter) as bits of the first bytes of the mask. The most
/// significant bit is bit 0; all other bits of the first two bytes are interfaces of customers.
const NOT_OF_CUSTOMERS: [u8; 2] = [0b1010_0000, 0];

/// The most classifiers of a file: many times as many as a modem has.
const MOST_CLASSIFIERS: usize = 1000;

/// Reads all classifiers into the service flows that they belong to, and into the drop rules.
pub(super) fn read_classifiers(top: &[Node<'_>], read: &mut ModemFile) -> Result<(), FileError> {
    let is_one = |node: &&Node<'_>| [UPSTREAM, DOWNSTREAM, DROP].contains(&node.number());
    let count = top.iter().filter(is_one).count();
    if count > MOST_CLASSIFIERS {
        let why = format!("{count} classifiers are more than {MOST_CLASSIFIERS}");
        return Err(FileError::of_file(why));
    }
    let mut of_primary = Vec::new();
    for node in top {
        let flow = match node.number() {
            UPSTREAM => Some((OneWay::Up, UPSTREAM_FLOW)),
            DOWNSTREAM => Some((OneWay::Down, DOWNSTREAM_FLOW)),
            DROP => None,
            _ => continue,
        };
        let parts = node.nested()?;
        if let Some(active) = first(&parts, ACTIVATION)
            && !active.switch()?
        {
            continue;
        }
        let classifier = match read_one(&parts)? {
            Ok(classifier) => classifier,
            Err(condition) => {
                read.notes.push(format!(
                    "{} is left out: its condition {condition} is not simulated",
                    node.place()
                ));
                continue;
            }
        };
        let Some((direction, number)) = flow else {
            let reference = match first(&parts, REFERENCE) {
                Some(reference) => reference.uint(1)?,
                None => read.drops.len() as u64 + 1,
            };
            let name = format!("drop_{reference}");
            if read.drops.iter().any(|(other, ..)| *other == name) {
                let why =
                    format!("{reference} is the reference of another drop classifier already");
                return Err(node.refuse(why));
            }
            read.drops.push((name, classifier, node.place()));
            continue;
        };
        let priority = classifier.priority;
        if claim(read, (node, &parts), (direction, number), classifier)? == Claim::OfPrimary {
            of_primary.push((direction, priority, node.place()));
        }
    }
    for classifier in &of_primary {
        let note = primary_note(read, classifier);
        read.notes.push(note);
    }
    Ok(())
}

/// The note on a classifier that sends packets to the primary service flow. The primary service
/// flow of the model has no classifiers.
fn primary_note(read: &ModemFile, (direction, priority, place): &(OneWay, u8, TlvPlace)) -> String {
    let further = read
        .flows
        .iter()
        .filter(|flow| flow.direction == *direction);
    let others = further.flat_map(|flow| &flow.classifiers);
    let beaten = others.filter(|(other, _)| other.priority <= *priority);
    let beaten: Vec<String> = beaten.map(|(_, place)| place.to_string()).collect();
    let start = format!("{place} is left out: it sends packets to the primary service flow");
    match beaten.as_slice() {
        [] => format!("{start}, which takes all packets that no other classifier takes"),
        [first, more @ ..] => {
            let more = match more.len() {
                0 => String::new(),
                count => format!(" (or one of {count} more)"),
            };
            format!(
                "{start}, whose classifiers are not simulated; packets that {first}{more} matches \
                 too leave the primary service flow"
            )
        }
    }
}

/// Why a run refuses a classifier, or why no frame can match it; and the path of the TLV.
pub(super) fn refusal(parts: &[Node<'_>]) -> Option<(String, String)> {
    let error = match read_one(parts) {
        Err(error) => error,
        Ok(found) => {
            let source = found.ok()?.source_mac?;
            let place = parts
                .iter()
                .find(|part| part.number() == ETHERNET_CONDITIONS)?;
            let places = place.children();
            let address = first(&places, 2).filter(|_| !source.is_of_one())?;
            address
                .refuse("no frame comes from an Ethernet address that is zero or that of a group")
        }
    };
    Some((error.path()?.to_owned(), error.why))
}

/// The result of assigning a classifier.
#[derive(Debug, PartialEq, Eq)]
enum Claim {
    /// It sends packets to the primary service flow.
    OfPrimary,
    /// A further service flow has it, or its service flow is left out.
    Settled,
}

/// Assigns a classifier to the service flow that it refers to.
fn claim(
    read: &mut ModemFile,
    (node, parts): (&Node<'_>, &[Node<'_>]),
    (direction, number): (OneWay, u8),
    classifier: Classifier,
) -> Result<Claim, FileError> {
    let Some(reference) = first(parts, FLOW_REFERENCE) else {
        let why = "expected the reference of a service flow (sub-TLV 3), found none";
        return Err(node.refuse(why));
    };
    let wanted = reference.uint(2)? as u16;
    let primary = read
        .flows
        .iter()
        .position(|flow| flow.direction == direction);
    let is_wanted =
        |flow: &super::FileFlow| flow.direction == direction && flow.reference == Some(wanted);
    let Some(found) = read.flows.iter().position(is_wanted) else {
        let is_left_out = read.inactive.contains(&(direction.index(), wanted));
        if is_left_out {
            return Ok(Claim::Settled);
        }
        let why = format!(
            "no {}stream service flow (TLV {number}) of the file has the reference {wanted}",
            direction.name()
        );
        return Err(reference.refuse(why));
    };
    if Some(found) == primary {
        return Ok(Claim::OfPrimary);
    }
    read.flows[found]
        .classifiers
        .push((classifier, node.place()));
    Ok(Claim::Settled)
}

/// A classifier, or the name of a condition that the model does not have.
fn read_one(parts: &[Node<'_>]) -> Result<Result<Classifier, String>, FileError> {
    let mut found = Classifier::default();
    // Without another condition, a mask of other interfaces takes none of the customers' packets.
    let is_condition = |part: &&Node<'_>| part.number() > 8 && part.number() != INTERFACE_MASK;
    if let Some(mask) = first(parts, INTERFACE_MASK)
        && !has_customers(mask.all_bytes())
        && !parts.iter().any(|part| is_condition(&part))
    {
        return Ok(Err(call(mask)));
    }
    for part in parts {
        let missing = match part.number() {
            PRIORITY => {
                found.priority = part.uint(1)? as u8;
                None
            }
            IPV4_CONDITIONS => ipv4(part, &mut found)?,
            ETHERNET_CONDITIONS => ethernet(part, &mut found)?,
            VLAN_CONDITIONS => vlan(part, &mut found)?,
            IPV6_CONDITIONS => ipv6(part, &mut found)?,
            // References, identifiers, priority, activation, change action and errors: no
            // conditions.
            1..=8 | INTERFACE_MASK => None,
            _ => Some(call(part)),
        };
        if let Some(missing) = missing {
            return Ok(Err(missing));
        }
    }
    Ok(Ok(found))
}

/// Whether an interface mask has an interface of customers.
fn has_customers(mask: &[u8]) -> bool {
    let mut bytes = mask.iter().zip(NOT_OF_CUSTOMERS);
    bytes.any(|(&byte, others)| byte & !others != 0)
}

fn call(node: &Node<'_>) -> String {
    let numbers: Vec<String> = node.types().iter().map(u8::to_string).collect();
    let numbers = numbers.join(".");
    format!("{} (TLV {numbers})", name_of(node.types()))
}

/// Conditions on IPv4 and on the protocol that it carries.
fn ipv4(node: &Node<'_>, found: &mut Classifier) -> Result<Option<String>, FileError> {
    let mut addresses = [(None, u32::MAX); 2];
    let mut has_ports_alone = true;
    for part in node.nested()? {
        has_ports_alone &= part.number() >= 7;
        match part.number() {
            1 => found.tos = Some(tos(&part)?),
            2 => found.protocol = Some(protocol(&part)?),
            3 | 5 => addresses[usize::from(part.number() - 3) / 2].0 = Some(part.uint(4)? as u32),
            4 | 6 => addresses[usize::from(part.number() - 4) / 2].1 = part.uint(4)? as u32,
            7..=10 => port(&part, part.number() - 7, found)?,
            _ => return Ok(Some(call(&part))),
        }
    }
    let network =
        |(address, mask): (Option<u32>, u32)| address.map(|address| Network::V4 { address, mask });
    let [source, destination] = addresses.map(network);
    let names_version = source.is_some() || destination.is_some();
    found.source = source.or(found.source.take());
    found.destination = destination.or(found.destination.take());
    // The ports of IPv6 packets stand here too, because TLVs of IPv6 fields have no ports.
    of_version(names_version || has_ports_alone, IPV4, found);
    Ok(None)
}

/// Conditions on IPv6 and on the protocol that it carries.
fn ipv6(node: &Node<'_>, found: &mut Classifier) -> Result<Option<String>, FileError> {
    let mut addresses = [(None, 128); 2];
    for part in node.nested()? {
        match part.number() {
            1 => found.tos = Some(tos(&part)?),
            3 => found.protocol = Some(protocol(&part)?),
            4 | 6 => {
                let bytes = part.bytes(16)?.iter();
                let address = bytes.fold(0, |sum: u128, &byte| sum << 8 | u128::from(byte));
                addresses[usize::from(part.number() - 4) / 2].0 = Some(address);
            }
            5 | 7 => addresses[usize::from(part.number() - 5) / 2].1 = part.uint(1)? as u8,
            _ => return Ok(Some(call(&part))),
        }
    }
    let network = |(address, prefix): (Option<u128>, u8)| {
        address.map(|address| Network::V6 { address, prefix })
    };
    let [source, destination] = addresses.map(network);
    let names_version = source.is_some() || destination.is_some();
    found.source = source.or(found.source.take());
    found.destination = destination.or(found.destination.take());
    of_version(names_version, IPV6, found);
    Ok(None)
}

/// Conditions of one IP version hold for packets of that version only.
fn of_version(is_named: bool, version: u16, found: &mut Classifier) {
    if !is_named {
        found.ethertype.get_or_insert(EtherType(version));
    }
}

fn ethernet(node: &Node<'_>, found: &mut Classifier) -> Result<Option<String>, FileError> {
    for part in node.nested()? {
        match (part.number(), part.all_bytes()) {
            (1, _) => {
                let (address, mask) = part.bytes(12)?.split_at(6);
                let number = |bytes: &[u8]| {
                    let MacAddress(number) = MacAddress::of(bytes.try_into().expect("six"));
                    number
                };
                let (address, mask) = (number(address), number(mask));
                found.destination_mac = Some(MacRange { address, mask });
            }
            (2, _) => found.source_mac = Some(MacAddress(part.uint(6)?)),
            // Type 0 is no condition, type 1 an Ethernet type.
            (3, [0, ..]) => {}
            (3, &[1, high, low]) => {
                found.ethertype = Some(EtherType(u16::from_be_bytes([high, low])));
            }
            _ => return Ok(Some(call(&part))),
        }
    }
    Ok(None)
}

fn vlan(node: &Node<'_>, found: &mut Classifier) -> Result<Option<String>, FileError> {
    for part in node.nested()? {
        match part.number() {
            1 => {
                let bytes = part.bytes(2)?;
                let (from, to) = (bytes[0], bytes[1]);
                if from > to || to > 7 {
                    return Err(part.refuse(format!(
                        "expected user priorities from 0 to 7, the lowest first, found {from} and \
                         {to}"
                    )));
                }
                found.user_priority = Some(Span { from, to });
            }
            2 => found.vlan = Some((part.uint(2)? >> 4) as u16),
            _ => return Ok(Some(call(&part))),
        }
    }
    Ok(None)
}

fn tos(node: &Node<'_>) -> Result<TypeOfService, FileError> {
    let bytes = node.bytes(3)?;
    let (low, high, mask) = (bytes[0], bytes[1], bytes[2]);
    Ok(TypeOfService { low, high, mask })
}

fn protocol(node: &Node<'_>) -> Result<IpProtocol, FileError> {
    match node.uint(2)? {
        number @ 0..=257 => Ok(IpProtocol::Number(number as u16)),
        other => Err(node.refuse(format!(
            "expected an IP protocol from 0 to 257, found {other}"
        ))),
    }
}

/// Sets a bound of a range of ports. The places 0 and 1 are the source's, 2 and 3 the
/// destination's.
fn port(node: &Node<'_>, place: u8, found: &mut Classifier) -> Result<(), FileError> {
    let number = node.uint(2)? as u16;
    let range = if place < 2 {
        &mut found.source_port
    } else {
        &mut found.destination_port
    };
    let range = range.get_or_insert(Span {
        from: 0,
        to: u16::MAX,
    });
    if place.is_multiple_of(2) {
        range.from = number;
    } else {
        range.to = number;
    }
    if range.from > range.to {
        let why = format!("the range of ports {}-{} is empty", range.from, range.to);
        return Err(node.refuse(why));
    }
    Ok(())
}
