//! Flows: between which hosts, over which ports, with which application.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use super::links::{self, Attachment, LinkPlan, Medium, PortPlan, check_delay, find_file};
use super::{LONGEST_RUN, unknown};
use crate::congestion::CongestionConfig;
use crate::flow::{IPV6_HOSTS, Ipv6Block, TunnelId};
use crate::line::{Harm, Loss};
use crate::named::{Named, OrTable};
use crate::packet::Ecn;
use crate::rng::Rng;
use crate::scenario::distance::RttFrom;
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::{Address, Network};
use crate::scenario::raw::{Ect, Flow, Host, PathLoss, PeriodicLoss, Raw, StartRange, Starts};
use crate::tcp::{self, EcnMode, FastRecovery, PrrMode};
use crate::time::Duration;
use crate::traffic::periods::MOST_PERIODS;
use crate::traffic::{ApplicationConfig, Direction, replay};
use crate::units::{ByteCount, MemoryLimit, Probability, TunedSize};

/// One application with its hosts, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct GroupPlan {
    /// The flow's name, with a number where there are several of it.
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) application: ApplicationConfig,
    pub(in crate::scenario) direction: Direction,
    pub(in crate::scenario) tcp: tcp::Config,
    pub(in crate::scenario) dscp: u8,
    /// ECN field of its datagrams.
    pub(in crate::scenario) ecn: Ecn,
    pub(in crate::scenario) tunnel: Option<TunnelId>,
    /// Port of the remote hosts.
    pub(in crate::scenario) port: u16,
    pub(in crate::scenario) start: OrTable<Duration, StartRange>,
    pub(in crate::scenario) stop: Option<Duration>,
    /// In place of both, where there is one.
    pub(in crate::scenario) periods: Vec<(Duration, Duration)>,
    pub(in crate::scenario) address: u32,
    /// Time the customer's host takes for a packet.
    pub(in crate::scenario) processing: Duration,
    pub(in crate::scenario) peers: Vec<PeerPlan>,
}

/// A remote host and the way to it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct PeerPlan {
    pub(in crate::scenario) address: u32,
    /// Link entrances from the host to the peer, in order.
    pub(in crate::scenario) up: Vec<(u16, crate::flow::Port)>,
    /// The same from the peer to the host.
    pub(in crate::scenario) down: Vec<(u16, crate::flow::Port)>,
    /// Links passed before the wide area, on the way up.
    pub(in crate::scenario) links_before_wide_area: usize,
    /// Time the remote host takes for a packet.
    pub(in crate::scenario) processing: Duration,
    pub(in crate::scenario) path: PathPlan,
}

/// The wide area, its delays perhaps still to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct PathPlan {
    pub(in crate::scenario) rtt: OrTable<Duration, RttFrom>,
    pub(in crate::scenario) up: Option<Duration>,
    pub(in crate::scenario) down: Option<Duration>,
    /// Up and down.
    pub(in crate::scenario) harm: [Harm; 2],
    pub(in crate::scenario) jitter: Duration,
}

/// Round-trip time of the wide area where nothing is said of it: a server that is near.
const DEFAULT_RTT: Duration = Duration::from_millis(20);
/// More flows than this take more memory than a laptop has.
const MOST_FLOWS: u64 = 10_000;
/// And more remote hosts than this, each with its routes.
const MOST_PEERS: u64 = 1_000_000;

/// Addresses by kind of host: named, behind a link without a name, servers of a flow's own (198.18.0.0/15, RFC 2544).
const NAMED_HOSTS: u32 = 0x0a00_0001;
const UNNAMED_CUSTOMERS: u32 = 0x0a01_0001;
const UNNAMED_SERVERS: u32 = 0xc612_0001;
/// Addresses that no named host may have, both included: those above, and what is no host's (RFC 1112 §4, §7.2).
const KEPT: [(u32, u32); 3] = [
    (UNNAMED_CUSTOMERS, 0x0aff_ffff),
    (UNNAMED_SERVERS - 1, UNNAMED_SERVERS + 0x0001_ffff),
    (0xe000_0000, u32::MAX),
];
/// Servers of the flows of IPv6 hosts: their numbers, and their addresses in `2001:db8:ffff::/48` (RFC 3849).
const IPV6_SERVERS: Ipv6Block = Ipv6Block {
    first: IPV6_HOSTS + 0x0800_0000,
    last: u32::MAX,
    address: 0x2001_0db8_ffff << 80 | 1,
};

/// Hosts by name, and flows in order: by name, then by host, then by number.
pub(super) fn plan(
    raw: &mut Raw,
    links: &[LinkPlan],
) -> Result<(BTreeMap<String, HostPlan>, Vec<GroupPlan>), ScenarioError> {
    if let Some(tcp) = &raw.tcp {
        refuse_tcp("tcp", tcp)?;
    }
    let attachments = links::attachments(links);
    let cells: Vec<u16> = (0..)
        .zip(links)
        .filter(|(_, link)| matches!(link.medium, Medium::Dot11b(_)))
        .map(|(index, _)| index)
        .collect();
    let hosts = plan_hosts(raw, &attachments, &cells)?;
    let duration = raw.duration;
    let mut planner = Planner {
        attachments,
        cells,
        hosts,
        tunnels: number_tunnels(raw)?,
        duration,
        servers: 0,
        peers: 0,
    };
    let mut groups = Vec::new();
    for (name, flow) in &mut raw.flow {
        planner.plan_flow(name, flow, &mut groups)?;
    }
    Ok((planner.hosts, groups))
}

/// A named host, resolved: one, or one behind each of several modems.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct HostPlan {
    /// Of the first; the others have the following ones. Of an IPv6 host its [number](IPV6_HOSTS).
    pub(in crate::scenario) address: u32,
    /// The IPv6 address of the first, if it has one.
    pub(in crate::scenario) ipv6: Option<u128>,
    /// The VLAN its packets are tagged with.
    pub(in crate::scenario) vlan: Option<u16>,
    /// How many there are, where there is one behind each modem.
    pub(in crate::scenario) count: Option<u32>,
    via: Vec<Attachment>,
    rtt: Option<OrTable<Duration, RttFrom>>,
    processing: Duration,
    tunnel: Option<String>,
}

/// Tunnels are numbered in the order of their names.
fn number_tunnels(raw: &Raw) -> Result<BTreeMap<String, TunnelId>, ScenarioError> {
    let hosts = raw
        .host
        .iter()
        .map(|(name, host)| (format!("host.{name}.tunnel"), &host.tunnel));
    let flows = raw
        .flow
        .iter()
        .map(|(name, flow)| (format!("flow.{name}.tunnel"), &flow.tunnel));
    let mut names = BTreeSet::new();
    for (path, tunnel) in hosts.chain(flows) {
        match tunnel.as_deref() {
            Some("") => {
                let why = "expected the name of a tunnel, found nothing";
                return Err(ScenarioError::invalid(path, why));
            }
            Some(name) => {
                names.insert(name);
            }
            None => {}
        }
    }
    let numbers = (1..).filter_map(NonZeroU32::new).map(TunnelId);
    Ok(names.into_iter().map(str::to_owned).zip(numbers).collect())
}

impl HostPlan {
    /// The addresses of all of them, both ends included.
    pub(in crate::scenario) fn addresses(&self) -> (u32, u32) {
        (self.address, self.address + self.count.unwrap_or(1) - 1)
    }

    /// The IPv6 addresses of all of them, if they have any.
    fn ipv6_block(&self) -> Option<Ipv6Block> {
        let (first, last) = self.addresses();
        let address = self.ipv6?;
        Some(Ipv6Block {
            first,
            last,
            address,
        })
    }

    /// The ports of host `number`, from it outwards.
    fn ports(&self, number: u32) -> Vec<PortPlan> {
        self.via.iter().map(|place| place.port(number)).collect()
    }
}

/// The IPv6 addresses of all hosts.
pub(in crate::scenario) fn ipv6_blocks(hosts: &BTreeMap<String, HostPlan>) -> Vec<Ipv6Block> {
    let named = hosts.values().filter_map(HostPlan::ipv6_block);
    let mut blocks: Vec<Ipv6Block> = named.collect();
    if !blocks.is_empty() {
        blocks.push(IPV6_SERVERS);
    }
    blocks
}

/// The hosts, by their numbers, whose IPv6 addresses are in a network.
pub(super) fn in_network(
    network: &Network,
    hosts: &BTreeMap<String, HostPlan>,
) -> Vec<RangeInclusive<u32>> {
    let Some((low, high)) = network.ipv6_range() else {
        return Vec::new();
    };
    let both = |block: Ipv6Block| {
        let count = u128::from(block.last - block.first);
        let from = low.max(block.address) - block.address;
        let to = count.min(high.checked_sub(block.address)?);
        (from <= to).then(|| block.first + from as u32..=block.first + to as u32)
    };
    ipv6_blocks(hosts).into_iter().filter_map(both).collect()
}

/// The host called `name`: as it is written, or with its number one of several.
pub(super) fn find_host(hosts: &BTreeMap<String, HostPlan>, name: &str) -> Option<HostPlan> {
    if let Some(found) = hosts.get(name) {
        return Some(found.clone());
    }
    let (group, number) = name.rsplit_once('.')?;
    let (group, number) = (hosts.get(group)?, number.parse::<u32>().ok()?);
    if !(1..=group.count?).contains(&number) {
        return None;
    }
    let single = |place: &Attachment| {
        let mut place = *place;
        if place.count.is_some() {
            place.first += (number - 1) as u16;
            place.count = None;
        }
        place
    };
    Some(HostPlan {
        address: group.address + number - 1,
        ipv6: group.ipv6.map(|first| first + u128::from(number - 1)),
        vlan: group.vlan,
        count: None,
        via: group.via.iter().map(single).collect(),
        rtt: group.rtt.clone(),
        processing: group.processing,
        tunnel: group.tunnel.clone(),
    })
}

fn plan_hosts(
    raw: &Raw,
    attachments: &BTreeMap<String, Attachment>,
    cells: &[u16],
) -> Result<BTreeMap<String, HostPlan>, ScenarioError> {
    let mut hosts: BTreeMap<String, HostPlan> = BTreeMap::new();
    for (name, host) in &raw.host {
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
        check_vlan(name, host)?;
        check_rtt(&format!("host.{name}.rtt"), host.rtt.as_ref())?;
        check_delay(&format!("host.{name}.processing"), host.processing)?;
        let plan = HostPlan {
            address: 0,
            ipv6: None,
            vlan: host.vlan,
            count: via.iter().find_map(|place| place.count),
            via,
            rtt: host.rtt.clone(),
            processing: host.processing,
            tunnel: host.tunnel.clone(),
        };
        hosts.insert(name.clone(), plan);
    }
    give_addresses(raw, &mut hosts)?;
    Ok(hosts)
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

/// Gives every host its addresses: first those that are written, then the others, in the order of names.
fn give_addresses(raw: &Raw, hosts: &mut BTreeMap<String, HostPlan>) -> Result<(), ScenarioError> {
    let mut taken: Vec<(u32, u32, String)> = Vec::new();
    let mut taken_ipv6: Vec<(u128, u128, String)> = Vec::new();
    let mut number = IPV6_HOSTS;
    for (name, plan) in hosts.iter_mut() {
        let more = plan.count.unwrap_or(1) - 1;
        let path = || format!("host.{name}.address");
        let both = |other: &str| {
            let why = format!("the host \"{other}\" has such an address already");
            Err(ScenarioError::invalid(path(), why))
        };
        match raw.host[name].address {
            None => {}
            Some(Address::V4(address)) => {
                let last = address.saturating_add(more);
                let is_kept = |&(from, to): &(u32, u32)| from <= last && address <= to;
                if address >> 24 == 0 || KEPT.iter().any(is_kept) {
                    let why = "expected a host's address outside of 0.0.0.0/8, 10.1.0.0 to 10.255.255.255, 198.18.0.0/15 and 224.0.0.0/3, which are kept for other uses";
                    return Err(ScenarioError::invalid(path(), why));
                }
                let meets = |(from, to, _): &&(u32, u32, String)| *from <= last && address <= *to;
                if let Some((.., other)) = taken.iter().find(meets) {
                    return both(other);
                }
                taken.push((address, last, name.clone()));
                plan.address = address;
            }
            Some(Address::V6(address)) => {
                let last = address.saturating_add(u128::from(more));
                let kept = IPV6_SERVERS.address;
                if address == 0 || address >> 120 == 0xff || last >> 80 == kept >> 80 {
                    let why = "expected the address of one host outside of 2001:db8:ffff::/48, which is kept for flows' own servers";
                    return Err(ScenarioError::invalid(path(), why));
                }
                let meets = |(from, to, _): &&(u128, u128, String)| *from <= last && address <= *to;
                if let Some((.., other)) = taken_ipv6.iter().find(meets) {
                    return both(other);
                }
                taken_ipv6.push((address, last, name.clone()));
                plan.ipv6 = Some(address);
                plan.address = number;
                number += more + 1;
            }
        }
    }
    let mut next = NAMED_HOSTS;
    for (_, plan) in hosts.iter_mut().filter(|(_, plan)| plan.address == 0) {
        let more = plan.count.unwrap_or(1) - 1;
        while let Some((_, to, _)) =
            (taken.iter()).find(|(from, to, _)| *from <= next + more && next <= *to)
        {
            next = to + 1;
        }
        plan.address = next;
        next += more + 1;
    }
    Ok(())
}

fn plan_via(
    name: &str,
    host: &Host,
    attachments: &BTreeMap<String, Attachment>,
) -> Result<Vec<Attachment>, ScenarioError> {
    let path = |position| format!("host.{name}.via[{position}]");
    let mut via: Vec<Attachment> = Vec::new();
    for (position, port) in host.via.iter().enumerate() {
        let Some(place) = links::find_attachment(attachments, port) else {
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
                "a host at each of {count} cannot be one at each of {other} as well: expected equal counts"
            );
            return Err(ScenarioError::invalid(path(position), why));
        }
        via.push(place);
    }
    Ok(via)
}

/// Links are passed from the host outwards: a station of a cell is the host itself, and no two hosts pass the same links the other way about.
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
        let why = "a station of a cell is the host itself: it comes first, as links are listed from the host outwards";
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
                    "the host \"{other}\" passes these links the other way about: they are listed from the host outwards"
                );
                return refuse(at, why);
            }
            last = place;
        }
    }
    Ok(())
}

/// Beyond the wide area's round trip, links may take this long without a queue: cable lines some 10 ms.
const LINKS_TAKE: Duration = Duration::from_millis(50);

/// Warns of a FAST that is told of a longer way than there is: it takes the whole of its delay for the path's, and grows without end.
pub(super) fn warn_of_base_rtt(
    groups: &[GroupPlan],
    links: &[LinkPlan],
    warnings: &mut Vec<String>,
) {
    let delay = |&(link, port): &(u16, crate::flow::Port)| match &links[usize::from(link)].medium {
        Medium::PointToPoint(directions) => directions[usize::from(port.0 % 2)].delay,
        Medium::Docsis(_) | Medium::Dot11b(_) => Duration::ZERO,
    };
    for group in groups {
        let CongestionConfig::Fast(fast) = &group.tcp.congestion else {
            continue;
        };
        for peer in &group.peers {
            let half = match peer.path.rtt {
                OrTable::Plain(rtt) => rtt / 2,
                OrTable::Table(_) => continue,
            };
            let wide = peer.path.up.unwrap_or(half) + peer.path.down.unwrap_or(half);
            let own = peer.up.iter().chain(&peer.down).map(delay);
            let round_trip = own.fold(wide, |sum, delay| sum + delay);
            if fast.base_rtt > round_trip + LINKS_TAKE {
                warnings.push(format!(
                    "flow.{}.tcp.congestion.fast.base_rtt: {} is longer than the path's own round trip, about {round_trip}: its window grows whatever stands in queues",
                    group.name, fast.base_rtt
                ));
                break;
            }
        }
    }
}

/// The replays that name a capture, by their path.
pub(super) fn replays(raw: &mut Raw) -> impl Iterator<Item = (String, &mut replay::Config)> {
    raw.flow.iter_mut().filter_map(|(name, flow)| {
        let Named(ApplicationConfig::Replay(replay)) = &mut flow.application else {
            return None;
        };
        let path = format!("flow.{name}.application.replay");
        replay.capture.is_some().then_some((path, replay))
    })
}

/// Puts what is replayed of captures in their place, so that the scenario needs no file any more.
pub(super) fn embed_captures(
    raw: &mut Raw,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ScenarioError> {
    for (path, replay) in replays(raw) {
        let name = replay.capture.clone().unwrap_or_default();
        let content = find_file(&format!("{path}.capture"), &name, files)?;
        let embedded = replay.embed(content);
        embedded.map_err(|(key, why)| ScenarioError::invalid(format!("{path}.{key}"), why))?;
    }
    Ok(())
}

struct Planner {
    attachments: BTreeMap<String, Attachment>,
    /// Links that are 802.11b cells.
    cells: Vec<u16>,
    hosts: BTreeMap<String, HostPlan>,
    tunnels: BTreeMap<String, TunnelId>,
    duration: Duration,
    /// Servers of flows' own so far.
    servers: u32,
    /// Remote hosts of all flows so far.
    peers: u64,
}

impl Planner {
    fn plan_flow(
        &mut self,
        name: &str,
        flow: &mut Flow,
        groups: &mut Vec<GroupPlan>,
    ) -> Result<(), ScenarioError> {
        let at = format!("flow.{name}");
        check_path(&at, flow)?;
        check_header(&at, flow)?;
        let tcp = plan_application(&at, flow)?;
        check_marks(&at, flow, &tcp)?;
        let direction = flow
            .direction
            .expect("planning the application fills it in");
        let customer = self.customer(&at, flow)?;
        let tcp = tcp::Config {
            is_ipv6: customer.ipv6.is_some(),
            ..tcp
        };
        if tcp.is_ipv6 && tcp.mtu < tcp::MIN_IPV6_MTU {
            let why = format!(
                "expected {} to 1500 bytes for the IPv6 packets of the flow's host, found {}",
                tcp::MIN_IPV6_MTU,
                tcp.mtu
            );
            return Err(ScenarioError::invalid(format!("{at}.tcp.mtu"), why));
        }
        let numbers = choose_hosts(&at, name, flow, customer.count)?;
        check_count(
            &at,
            groups.len() as u64 + numbers.len() as u64 * u64::from(flow.count),
        )?;
        self.check_times(&at, flow, numbers.len() as u64 * u64::from(flow.count))?;
        self.check_peers(&at, flow, numbers.len() as u64 * u64::from(flow.count))?;
        let mut members = 0;
        for &host in &numbers {
            let via = customer.ports(host);
            for number in 1..=flow.count {
                let start = start_of(flow, members);
                members += 1;
                groups.push(GroupPlan {
                    name: numbered(name, customer.count.map(|_| host), flow.count, number),
                    application: flow.application.0.clone(),
                    direction,
                    tcp: tcp.clone(),
                    dscp: flow.dscp,
                    ecn: flow.ecn.map_or(Ecn::NotEct, |ect| match ect {
                        Ect::Ect0 => Ecn::Ect0,
                        Ect::Ect1 => Ecn::Ect1,
                    }),
                    port: flow.port,
                    tunnel: self.tunnel(flow),
                    start,
                    stop: flow.stop,
                    periods: flow.periods.clone(),
                    address: customer.address + host - 1,
                    processing: customer.processing,
                    peers: self.peers(&at, flow, &via, customer.ipv6.is_some())?,
                });
            }
        }
        resolve_rtt(flow, self.hosts_rtt(flow));
        Ok(())
    }

    fn check_peers(&mut self, at: &str, flow: &Flow, members: u64) -> Result<(), ScenarioError> {
        let named = flow.peers.len() + usize::from(flow.peer.is_some());
        let each = match named {
            0 => flow.application.0.peers_wanted(),
            named => named,
        } as u64;
        self.peers += members * each;
        if self.peers <= MOST_PEERS {
            return Ok(());
        }
        let why = format!(
            "{members} flows × {each} remote hosts make {} of them, more than {MOST_PEERS}",
            self.peers
        );
        Err(ScenarioError::invalid(at, why))
    }

    fn check_times(&self, at: &str, flow: &Flow, members: u64) -> Result<(), ScenarioError> {
        let invalid = |key: &str, why| ScenarioError::invalid(format!("{at}.{key}"), why);
        if !flow.periods.is_empty() {
            let checked = self.check_periods(flow);
            return checked.map_err(|(key, why)| invalid(&key, why));
        }
        let latest = latest_start(flow, members).map_err(|(key, why)| invalid(key, why))?;
        if latest >= self.duration {
            let which = match flow.start {
                OrTable::Table(Starts { every: Some(_), .. }) => {
                    format!(" of the last of {members}")
                }
                _ => String::new(),
            };
            let why = format!(
                "a start{which} at {latest} is not within a run of {}",
                self.duration
            );
            return Err(invalid("start", why));
        }
        match flow.stop {
            Some(stop) if stop <= latest => {
                let why = format!("a flow that starts at {latest} cannot stop at {stop}");
                Err(invalid("stop", why))
            }
            _ => Ok(()),
        }
    }

    /// The key of a period that makes no sense, and why.
    fn check_periods(&self, flow: &Flow) -> Result<(), (String, String)> {
        let starts = flow.start != OrTable::Plain(Duration::ZERO);
        if let Some(key) = starts.then_some("start").or(flow.stop.map(|_| "stop")) {
            let why = "its periods say when it starts and stops";
            return Err((key.to_owned(), why.to_owned()));
        }
        if flow.periods.len() > MOST_PERIODS {
            let why = format!(
                "expected at most {MOST_PERIODS}, found {}",
                flow.periods.len()
            );
            return Err(("periods".to_owned(), why));
        }
        let mut earlier = Duration::ZERO;
        for (index, &(from, to)) in flow.periods.iter().enumerate() {
            let refuse = |why| Err((format!("periods[{index}]"), why));
            if to <= from {
                return refuse(format!("a period that begins at {from} cannot end at {to}"));
            }
            if from < earlier {
                return refuse(format!(
                    "a period that begins at {from} comes before the end of the one in front of it, {earlier}"
                ));
            }
            if from >= self.duration {
                let why = format!("a start at {from} is not within a run of {}", self.duration);
                return refuse(why);
            }
            earlier = to;
        }
        Ok(())
    }

    /// The customer's host or hosts.
    fn customer(&self, at: &str, flow: &Flow) -> Result<HostPlan, ScenarioError> {
        let path = format!("{at}.host");
        if let Some(name) = &flow.host {
            let host = self.host(&path, name)?;
            if host.via.is_empty() {
                let why = format!(
                    "\"{name}\" is in the network; a flow's host is behind a link (via = […])"
                );
                return Err(ScenarioError::invalid(path, why));
            }
            return Ok(host);
        }
        let mut attachments = self.attachments.values();
        if let (Some(only), None) = (attachments.next(), attachments.next()) {
            return Ok(HostPlan {
                address: UNNAMED_CUSTOMERS,
                ipv6: None,
                vlan: None,
                count: only.count,
                via: vec![*only],
                rtt: None,
                processing: Duration::ZERO,
                tunnel: None,
            });
        }
        let mut links: Vec<u16> = self.attachments.values().map(|place| place.link).collect();
        links.dedup();
        let several = match links[..] {
            [only] if self.cells.contains(&only) => "stations",
            [_] => "modems",
            _ => "links",
        };
        let why = format!(
            "with several {several} a flow must name its host (and [host.NAME] say where it is: via = […])"
        );
        Err(ScenarioError::invalid(path, why))
    }

    /// The tunnel that carries the flow: its own, or that of its host.
    fn tunnel(&self, flow: &Flow) -> Option<TunnelId> {
        let host = flow.host.as_ref().and_then(|name| self.hosts.get(name));
        let of_host = || host.and_then(|host| host.tunnel.as_ref());
        let name = flow.tunnel.as_ref().or_else(of_host)?;
        self.tunnels.get(name).copied()
    }

    fn host(&self, path: &str, name: &str) -> Result<HostPlan, ScenarioError> {
        let known = || self.hosts.keys().cloned().collect();
        find_host(&self.hosts, name).ok_or_else(|| unknown(path, "host", name, known()))
    }

    /// The remote hosts, named or the flow's own.
    fn peers(
        &mut self,
        at: &str,
        flow: &Flow,
        via: &[PortPlan],
        is_ipv6: bool,
    ) -> Result<Vec<PeerPlan>, ScenarioError> {
        let named: Vec<(String, &String)> = match (&flow.peer, flow.peers.is_empty()) {
            (Some(_), false) => {
                let why = "a flow has either one peer or a list of peers";
                return Err(ScenarioError::invalid(format!("{at}.peers"), why));
            }
            (Some(peer), true) => vec![(format!("{at}.peer"), peer)],
            (None, _) => {
                let path = |index| format!("{at}.peers[{index}]");
                flow.peers
                    .iter()
                    .enumerate()
                    .map(|(index, peer)| (path(index), peer))
                    .collect()
            }
        };
        if named.is_empty() {
            let wanted = flow.application.0.peers_wanted();
            let servers = (0..wanted)
                .map(|_| self.own_server(flow, via, is_ipv6))
                .collect();
            return Ok(servers);
        }
        (named.into_iter())
            .map(|(path, name)| self.named_peer(&path, name, flow, via, is_ipv6))
            .collect()
    }

    fn own_server(&mut self, flow: &Flow, via: &[PortPlan], is_ipv6: bool) -> PeerPlan {
        self.servers += 1;
        let first = if is_ipv6 {
            IPV6_SERVERS.first
        } else {
            UNNAMED_SERVERS
        };
        let address = first + self.servers - 1;
        peer(address, flow, via, &[], None, Duration::ZERO)
    }

    fn named_peer(
        &self,
        path: &str,
        name: &str,
        flow: &Flow,
        via: &[PortPlan],
        is_ipv6: bool,
    ) -> Result<PeerPlan, ScenarioError> {
        if flow.host.as_deref() == Some(name) {
            let why = format!("\"{name}\" cannot be its own peer");
            return Err(ScenarioError::invalid(path, why));
        }
        let host = self.host(path, name)?;
        if let Some(count) = host.count {
            let why = format!("\"{name}\" are {count} hosts; a peer is one, such as \"{name}.1\"");
            return Err(ScenarioError::invalid(path, why));
        }
        if host.ipv6.is_some() != is_ipv6 {
            let version = |is_ipv6: bool| if is_ipv6 { "IPv6" } else { "IPv4" };
            let why = format!(
                "\"{name}\" has an {} address and the flow's host an {} one: expected two of one version (host.NAME.address)",
                version(!is_ipv6),
                version(is_ipv6)
            );
            return Err(ScenarioError::invalid(path, why));
        }
        let ports = host.ports(1);
        Ok(peer(
            host.address,
            flow,
            via,
            &ports,
            host.rtt,
            host.processing,
        ))
    }

    /// Whether any of the flow's named peers brings a round-trip time of its own, which one of the flow's would go before.
    fn hosts_rtt(&self, flow: &Flow) -> bool {
        let mut names = flow.peer.iter().chain(&flow.peers);
        names.any(|name| find_host(&self.hosts, name).is_some_and(|host| host.rtt.is_some()))
    }
}

/// When the last of so many members starts at the latest; or the key that makes no sense, and why.
fn latest_start(flow: &Flow, members: u64) -> Result<Duration, (&'static str, String)> {
    let Starts { from, to, every } = match flow.start {
        OrTable::Plain(start) => return Ok(start),
        OrTable::Table(ref starts) => starts.clone(),
    };
    match (to, every) {
        (Some(to), None) if from > to => {
            let why = format!("the latest start, {to}, comes before the earliest");
            Err(("start.to", why))
        }
        (Some(to), None) => Ok(to),
        (None, Some(every)) if every.is_zero() => {
            let why = "expected a time between two starts".to_owned();
            Err(("start.every", why))
        }
        // Neither is more than a run can be, so that they do not overflow.
        (None, Some(every)) => Ok(from.min(LONGEST_RUN) + every.min(LONGEST_RUN) * (members - 1)),
        _ => {
            let why = "expected `to` or `every` beside `from`, and not both".to_owned();
            Err(("start", why))
        }
    }
}

/// When member `number` of a flow starts, counted from 0: a time, or between two.
fn start_of(flow: &Flow, number: u64) -> OrTable<Duration, StartRange> {
    if let Some(&(from, _)) = flow.periods.first() {
        return OrTable::Plain(from);
    }
    match flow.start {
        OrTable::Plain(start) => OrTable::Plain(start),
        OrTable::Table(Starts { from, to, every }) => match (to, every) {
            (Some(to), _) => OrTable::Table(StartRange { from, to }),
            (None, every) => OrTable::Plain(from + every.unwrap_or_default() * number),
        },
    }
}

/// The name of an application: its flow's, its host's number where there are several, its own where the flow has several.
fn numbered(name: &str, host: Option<u32>, count: u32, number: u32) -> String {
    let mut text = name.to_owned();
    if let Some(host) = host {
        let _ = write!(text, ".{host}");
    }
    if count > 1 {
        let _ = write!(text, ".{number}");
    }
    text
}

/// The numbers of the hosts that have the flow, of `count` there are.
fn choose_hosts(
    at: &str,
    name: &str,
    flow: &Flow,
    count: Option<u32>,
) -> Result<Vec<u32>, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{at}.{key}"), why));
    let Some(count) = count else {
        let given = [("on", flow.on.is_some()), ("share", flow.share.is_some())];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(vec![1]),
            Some((key, _)) => refuse(
                key,
                "there is one host: of several modems' hosts some can be chosen".to_owned(),
            ),
        };
    };
    let mut chosen: Vec<u32> = (1..=count).collect();
    if let Some(on) = &flow.on {
        if on.lowest() == 0 {
            return refuse("on", "hosts are counted from 1".to_owned());
        }
        if on.highest() > count {
            return refuse(
                "on",
                format!("there are {count} hosts, and no number {}", on.highest()),
            );
        }
        chosen.retain(|&number| on.contains(number));
    }
    if let Some(share) = flow.share {
        let wanted = (share.0 * chosen.len() as f64).round() as usize;
        if wanted == 0 {
            let why = format!(
                "expected a share of {} hosts that is one at least",
                chosen.len()
            );
            return refuse("share", why);
        }
        strew(
            &mut chosen,
            &mut Rng::for_path(0, format_args!("flow.{name}.share")),
        );
        chosen.truncate(wanted);
        chosen.sort_unstable();
    }
    Ok(chosen)
}

/// Puts numbers in an order by chance (Fisher and Yates). The stream is the flow's own, whatever the seed: the same homes have the flow in every
/// run, those of one flow say nothing of another's, and a larger share takes more of the same order.
fn strew(numbers: &mut [u32], rng: &mut Rng) {
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, rng.below(last as u64 + 1) as usize);
    }
}

fn check_count(at: &str, total: u64) -> Result<(), ScenarioError> {
    if total <= MOST_FLOWS {
        return Ok(());
    }
    let why = format!("{total} flows are more than {MOST_FLOWS}");
    Err(ScenarioError::invalid(at, why))
}

/// The way to a peer: out over the host's ports, across the wide area, in over the peer's own.
fn peer(
    address: u32,
    flow: &Flow,
    host: &[PortPlan],
    peer: &[PortPlan],
    rtt: Option<OrTable<Duration, RttFrom>>,
    processing: Duration,
) -> PeerPlan {
    let out = |ports: &[PortPlan]| -> Vec<_> { ports.iter().map(|p| (p.link, p.up)).collect() };
    let into =
        |ports: &[PortPlan]| -> Vec<_> { ports.iter().rev().map(|p| (p.link, p.down)).collect() };
    PeerPlan {
        address,
        up: [out(host), into(peer)].concat(),
        down: [out(peer), into(host)].concat(),
        links_before_wide_area: host.len(),
        processing,
        path: PathPlan {
            rtt: flow
                .rtt
                .clone()
                .or(rtt)
                .unwrap_or(OrTable::Plain(DEFAULT_RTT)),
            up: flow.path.up,
            down: flow.path.down,
            harm: losses(&flow.path.loss).map(|loss| Harm {
                loss,
                marks: flow.path.marks,
            }),
            jitter: flow.path.jitter,
        },
    }
}

/// Which packets are lost on the way up and on the way down.
fn losses(written: &OrTable<Probability, PathLoss>) -> [Loss; 2] {
    match written {
        OrTable::Plain(share) => [Loss::Random(*share); 2],
        OrTable::Table(PathLoss {
            every: Some(every), ..
        }) => [Loss::Every(*every); 2],
        OrTable::Table(PathLoss { up, down, .. }) => [up, down].map(|way| match way {
            None => Loss::default(),
            Some(OrTable::Plain(share)) => Loss::Random(*share),
            Some(OrTable::Table(PeriodicLoss { every })) => Loss::Every(*every),
        }),
    }
}

/// Writes the default out, where it is used.
fn resolve_rtt(flow: &mut Flow, hosts_have_one: bool) {
    let is_given = flow.path.up.is_some() && flow.path.down.is_some();
    if flow.rtt.is_none() && !is_given && !hosts_have_one {
        flow.rtt = Some(OrTable::Plain(DEFAULT_RTT));
    }
}

fn check_rtt(path: &str, rtt: Option<&OrTable<Duration, RttFrom>>) -> Result<(), ScenarioError> {
    match rtt {
        Some(OrTable::Plain(rtt)) => check_delay(path, *rtt),
        Some(OrTable::Table(from)) => {
            from.check().map_err(|(key, why)| {
                let dot = if key.is_empty() { "" } else { "." };
                ScenarioError::invalid(format!("{path}{dot}{key}"), why)
            })?;
            for (key, time) in from.times() {
                check_delay(&format!("{path}.{key}"), time)?;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

fn check_path(at: &str, flow: &Flow) -> Result<(), ScenarioError> {
    check_rtt(&format!("{at}.rtt"), flow.rtt.as_ref())?;
    for (name, delay) in [
        ("up", flow.path.up),
        ("down", flow.path.down),
        ("jitter", Some(flow.path.jitter)),
    ] {
        check_delay(&format!("{at}.path.{name}"), delay.unwrap_or_default())?;
    }
    if flow.rtt.is_some() && flow.path.up.is_some() && flow.path.down.is_some() {
        let why = "the delays of both ways are given already: path.up and path.down";
        return Err(ScenarioError::invalid(format!("{at}.rtt"), why));
    }
    check_loss(&format!("{at}.path.loss"), &flow.path.loss)
}

fn check_loss(at: &str, loss: &OrTable<Probability, PathLoss>) -> Result<(), ScenarioError> {
    if let OrTable::Table(PathLoss { up, down, every }) = loss {
        if every.is_some() && (up.is_some() || down.is_some()) {
            let why = "`every` counts each way: expected it alone, or `up` and `down`";
            return Err(ScenarioError::invalid(format!("{at}.every"), why));
        }
        if up.is_none() && down.is_none() && every.is_none() {
            let why = "expected `up`, `down` or `every`, found nothing";
            return Err(ScenarioError::invalid(at, why));
        }
    }
    let ways = match loss {
        OrTable::Plain(_) | OrTable::Table(PathLoss { every: Some(_), .. }) => ["", ""],
        OrTable::Table(_) => [".up", ".down"],
    };
    for (way, loss) in ways.into_iter().zip(losses(loss)) {
        match loss {
            Loss::Every(0) => {
                let why = "expected the number of a packet, at least 2, found 0";
                let inside = if way.is_empty() {
                    at.to_owned()
                } else {
                    format!("{at}{way}")
                };
                return Err(ScenarioError::invalid(format!("{inside}.every"), why));
            }
            Loss::Random(Probability(1.0..)) | Loss::Every(1) => {
                let why = "a path that loses every packet carries nothing";
                return Err(ScenarioError::invalid(format!("{at}{way}"), why));
            }
            Loss::Random(_) | Loss::Every(_) => {}
        }
    }
    Ok(())
}

/// Marks reach only what says that it can take them.
fn check_marks(at: &str, flow: &Flow, tcp: &tcp::Config) -> Result<(), ScenarioError> {
    if let (Some(_), Some(_)) = (flow.ecn, &flow.tcp) {
        let name = flow.application.0.name();
        let why = format!(
            "expected none: the application \"{name}\" sends no datagrams but uses TCP, where tcp.ecn decides"
        );
        return Err(ScenarioError::invalid(format!("{at}.ecn"), why));
    }
    let is_capable = flow.ecn.is_some() || flow.tcp.is_some() && tcp.ecn() != EcnMode::Off;
    if flow.path.marks.0 > 0.0 && !is_capable {
        let key = if flow.tcp.is_some() { "tcp.ecn" } else { "ecn" };
        let why = format!("expected none: the flow's packets are not ECN-capable ({key})");
        return Err(ScenarioError::invalid(format!("{at}.path.marks"), why));
    }
    Ok(())
}

fn check_header(at: &str, flow: &Flow) -> Result<(), ScenarioError> {
    if flow.count == 0 {
        let why = "at least one; leave the flow out to have none";
        return Err(ScenarioError::invalid(format!("{at}.count"), why));
    }
    if flow.dscp > 63 {
        let why = format!("expected a DSCP from 0 to 63, found {}", flow.dscp);
        return Err(ScenarioError::invalid(format!("{at}.dscp"), why));
    }
    if flow.port == 0 {
        let why = "expected a port from 1 to 65535, found 0";
        return Err(ScenarioError::invalid(format!("{at}.port"), why));
    }
    Ok(())
}

/// Checks the application, fills in its direction and its TCP; the TCP its connections use.
fn plan_application(at: &str, flow: &mut Flow) -> Result<tcp::Config, ScenarioError> {
    let Named(application) = &flow.application;
    let name = application.name();
    application.check().map_err(|(key, expected)| {
        let dot = if key.is_empty() { "" } else { "." };
        let path = format!("{at}.application.{name}{dot}{key}");
        ScenarioError::invalid(path, format!("expected {expected}"))
    })?;
    let direction = flow
        .direction
        .unwrap_or_else(|| application.default_direction());
    application
        .build(direction)
        .map_err(|why| ScenarioError::invalid(format!("{at}.direction"), why))?;
    flow.direction = Some(direction);
    if application.transport() == "tcp" {
        let tcp = flow.tcp.get_or_insert_default().clone();
        refuse_tcp(&format!("{at}.tcp"), &tcp)?;
        return Ok(tcp);
    }
    if flow.tcp.is_some() {
        let why = format!("the application \"{name}\" does not use TCP");
        return Err(ScenarioError::invalid(format!("{at}.tcp"), why));
    }
    Ok(tcp::Config::default())
}

/// Refuses what makes no sense of the TCP that stands at a path.
fn refuse_tcp(at: &str, tcp: &tcp::Config) -> Result<(), ScenarioError> {
    let refuse = |path: &str, (key, expected): (&str, &str)| {
        ScenarioError::invalid(format!("{path}.{key}"), format!("expected {expected}"))
    };
    check_timers(tcp).map_err(|(key, why)| ScenarioError::invalid(format!("{at}.{key}"), why))?;
    check_tcp(tcp).map_err(|fault| refuse(at, fault))?;
    let control = format!("{at}.congestion");
    (tcp.congestion.check()).map_err(|fault| refuse(&control, fault))
}

/// Of timers that contradict each other, the one that is not as it is by default: the other may be what an end system's name stands for.
fn check_timers(tcp: &tcp::Config) -> Result<(), (&'static str, String)> {
    let longest = tcp.max_rto;
    for (key, timer) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto)] {
        if timer <= longest {
            continue;
        }
        return Err(if longest == tcp::Config::default().max_rto {
            (
                key,
                format!("expected at most max_rto, {longest}, found {timer}"),
            )
        } else {
            (
                "max_rto",
                format!("expected at least {key}, {timer}, found {longest}"),
            )
        });
    }
    Ok(())
}

/// The key of a value that makes no sense, and what is expected there.
fn check_tcp(tcp: &tcp::Config) -> Result<(), (&'static str, &'static str)> {
    let checks = [
        // RFC 791's smallest, and the largest packet that the links carry.
        ((68..=1500).contains(&tcp.mtu), "mtu", "68 to 1500 bytes"),
        (
            (1..=1000).contains(&tcp.initial_window),
            "initial_window",
            "1 to 1000 segments",
        ),
        // RFC 7323 §2.3.
        (
            match tcp.receive_window {
                TunedSize::Autotuned => true,
                TunedSize::Fixed(window) => (1..=1 << 30).contains(&window.0),
            },
            "receive_window",
            "1 B to 1 GiB, or \"autotuned\"",
        ),
        (
            tcp.receive_buffer != MemoryLimit::Bytes(ByteCount(0)),
            "receive_buffer",
            "at least 1 B, or \"unlimited\"",
        ),
        (
            tcp.send_buffer != MemoryLimit::Bytes(ByteCount(0)),
            "send_buffer",
            "at least 1 B, or \"unlimited\"",
        ),
        // RFC 5681 §4.2.
        (
            tcp.delayed_ack <= Duration::from_millis(500),
            "delayed_ack",
            "at most 500 ms",
        ),
        (
            tcp.max_rto <= Duration::from_secs(600),
            "max_rto",
            "at most 10 minutes",
        ),
        (
            tcp.initial_rto >= Duration::from_millis(1),
            "initial_rto",
            "at least 1 ms",
        ),
        (tcp.syn_retries <= 100, "syn_retries", "at most 100"),
        (
            tcp.sack || tcp.prr == PrrMode::Off,
            "prr",
            "\"off\" where `sack` is false",
        ),
        (tcp.sack || !tcp.rack, "rack", "false where `sack` is false"),
        (
            tcp.sack || !tcp.dsack,
            "dsack",
            "false where `sack` is false",
        ),
        (
            !tcp.sack || tcp.fast_recovery == FastRecovery::NewReno,
            "fast_recovery",
            "\"new_reno\" where `sack` is true",
        ),
        (
            tcp.ecn != EcnMode::Off || !tcp.congestion.counts_marks(),
            "ecn",
            "\"auto\", \"accurate\" or \"on\" for a congestion control that answers marks",
        ),
    ];
    let wrong = checks.into_iter().find(|(holds, ..)| !holds);
    wrong.map_or(Ok(()), |(_, key, expected)| Err((key, expected)))
}
