//! Flows: between which hosts, over which ports, with which application.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::config::{Ect, Flow};
use super::members::{choose_hosts, numbered};
use super::path::{self, DEFAULT_RTT, PathPlan};
use super::{real, tcp as tcp_keys, times};
use crate::clock::RealHostId;
use crate::congestion::CongestionConfig;
use crate::flow::{Port, TunnelId};
use crate::named::{Named, OrTable};
use crate::packet::Ecn;
use crate::scenario::attachment::{Attachment, PortPlan};
use crate::scenario::distance::RttFrom;
use crate::scenario::error::ScenarioError;
use crate::scenario::host::{
    self, Host, HostPlan, IPV6_SERVERS, UNNAMED_CUSTOMERS, UNNAMED_SERVERS, check_user_priority,
    find_host,
};
use crate::scenario::names::unknown;
use crate::scenario::times::StartRange;
use crate::tcp::{self, EcnMode};
use crate::time::Duration;
use crate::traffic::{ApplicationConfig, Direction};

/// One application with its hosts, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct GroupPlan {
    /// The flow's name, with a number where there are several of it.
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) application: ApplicationConfig,
    pub(in crate::scenario) direction: Direction,
    pub(in crate::scenario) tcp: tcp::Config,
    pub(in crate::scenario) dscp: u8,
    /// User priority in the tag of its frames, if they are tagged.
    pub(in crate::scenario) user_priority: Option<u8>,
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
    /// The real host whose programs send its packets.
    pub(in crate::scenario) real: Option<RealHostId>,
    /// Time the customer's host takes for a packet.
    pub(in crate::scenario) processing: Duration,
    pub(in crate::scenario) peers: Vec<PeerPlan>,
}

/// A remote host and the way to it.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct PeerPlan {
    pub(in crate::scenario) address: u32,
    /// The real host that it is, in a flow of real programs.
    pub(in crate::scenario) real: Option<RealHostId>,
    /// Link entrances from the host to the peer, in order.
    pub(in crate::scenario) up: Vec<(u16, Port)>,
    /// The same from the peer to the host.
    pub(in crate::scenario) down: Vec<(u16, Port)>,
    /// Links passed before the wide area, on the way up.
    pub(in crate::scenario) links_before_wide_area: usize,
    /// Time the remote host takes for a packet.
    pub(in crate::scenario) processing: Duration,
    pub(in crate::scenario) path: PathPlan,
}

/// More flows than these take more memory than a laptop has.
const MOST_FLOWS: u64 = 10_000;
/// So do more remote hosts than these, each with its routes.
const MOST_PEERS: u64 = 1_000_000;

/// What flows run over.
pub(in crate::scenario) struct Surroundings<'a> {
    /// The keys of all TCP in the scenario.
    pub(in crate::scenario) tcp: Option<&'a tcp::Config>,
    pub(in crate::scenario) hosts: &'a BTreeMap<String, Host>,
    pub(in crate::scenario) attachments: BTreeMap<String, Attachment>,
    /// Links whose customers are the hosts themselves.
    pub(in crate::scenario) cells: Vec<u16>,
    pub(in crate::scenario) duration: Duration,
}

/// Hosts by name, and flows in order: by name, then by host, then by number.
pub(in crate::scenario) fn plan(
    around: Surroundings<'_>,
    flows: &mut BTreeMap<String, Flow>,
) -> Result<(BTreeMap<String, HostPlan>, Vec<GroupPlan>), ScenarioError> {
    if let Some(tcp) = around.tcp {
        tcp_keys::check("tcp", tcp)?;
    }
    let hosts = host::plan(around.hosts, &around.attachments, &around.cells)?;
    let mut planner = Planner {
        attachments: around.attachments,
        cells: around.cells,
        hosts,
        tunnels: number_tunnels(around.hosts, flows)?,
        duration: around.duration,
        real_flows: BTreeMap::new(),
        servers: 0,
        peers: 0,
    };
    let mut groups = Vec::new();
    for (name, flow) in flows {
        planner.plan_flow(name, flow, &mut groups)?;
    }
    Ok((planner.hosts, groups))
}

/// Tunnels are numbered in the order of their names.
fn number_tunnels(
    hosts: &BTreeMap<String, Host>,
    flows: &BTreeMap<String, Flow>,
) -> Result<BTreeMap<String, TunnelId>, ScenarioError> {
    let hosts = hosts
        .iter()
        .map(|(name, host)| (format!("host.{name}.tunnel"), &host.tunnel));
    let flows = flows
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

struct Planner {
    attachments: BTreeMap<String, Attachment>,
    /// Links that are 802.11b cells.
    cells: Vec<u16>,
    hosts: BTreeMap<String, HostPlan>,
    tunnels: BTreeMap<String, TunnelId>,
    duration: Duration,
    /// The flows of real hosts so far, by host.
    real_flows: BTreeMap<String, String>,
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
        let is_real = flow.application.0.is_real();
        if is_real {
            real::plan(&at, name, flow, &self.hosts, &mut self.real_flows)?;
        }
        path::check(&at, flow.rtt.as_ref(), &flow.path)?;
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
        times::check(
            &at,
            flow,
            numbers.len() as u64 * u64::from(flow.count),
            self.duration,
        )?;
        self.check_peers(&at, flow, numbers.len() as u64 * u64::from(flow.count))?;
        let mut members = 0;
        for &host in &numbers {
            let via = customer.ports(host);
            for number in 1..=flow.count {
                let start = times::start_of(flow, members);
                members += 1;
                groups.push(GroupPlan {
                    name: numbered(name, customer.count.map(|_| host), flow.count, number),
                    application: flow.application.0.clone(),
                    direction,
                    tcp: tcp.clone(),
                    dscp: flow.dscp,
                    user_priority: (flow.user_priority).or_else(|| customer.frame_priority()),
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
                    real: customer.real.filter(|_| is_real).map(|real| real.id),
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
                mac: None,
                vlan: None,
                user_priority: None,
                count: only.count,
                via: vec![*only],
                rtt: None,
                processing: Duration::ZERO,
                tunnel: None,
                real: None,
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
            "with several {several} a flow must name its host (and [host.NAME] say where it is: \
             via = […])"
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
        let is_real = flow.application.0.is_real();
        // A real host has an address of each version.
        if !is_real && host.ipv6.is_some() != is_ipv6 {
            let version = |is_ipv6: bool| if is_ipv6 { "IPv6" } else { "IPv4" };
            let why = format!(
                "\"{name}\" has an {} address and the flow's host an {} one: expected two of one \
                 version (host.NAME.address)",
                version(!is_ipv6),
                version(is_ipv6)
            );
            return Err(ScenarioError::invalid(path, why));
        }
        let ports = host.ports(1);
        let plan = peer(host.address, flow, via, &ports, host.rtt, host.processing);
        Ok(PeerPlan {
            real: host.real.filter(|_| is_real).map(|real| real.id),
            ..plan
        })
    }

    /// Whether a named peer of the flow has a round-trip time of its own. A round-trip time of the
    /// flow would take its place.
    fn hosts_rtt(&self, flow: &Flow) -> bool {
        let mut names = flow.peer.iter().chain(&flow.peers);
        names.any(|name| find_host(&self.hosts, name).is_some_and(|host| host.rtt.is_some()))
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
        real: None,
        up: [out(host), into(peer)].concat(),
        down: [out(peer), into(host)].concat(),
        links_before_wide_area: host.len(),
        processing,
        path: PathPlan::new(
            (flow.rtt.clone().or(rtt)).unwrap_or(OrTable::Plain(DEFAULT_RTT)),
            &flow.path,
        ),
    }
}

/// Writes the default round-trip time out, where it is used.
fn resolve_rtt(flow: &mut Flow, hosts_have_one: bool) {
    let is_given = flow.path.up.is_some() && flow.path.down.is_some();
    if flow.rtt.is_none() && !is_given && !hosts_have_one {
        flow.rtt = Some(OrTable::Plain(DEFAULT_RTT));
    }
}

/// Refuses marks on packets that are not ECN-capable.
fn check_marks(at: &str, flow: &Flow, tcp: &tcp::Config) -> Result<(), ScenarioError> {
    if let (Some(_), Some(_)) = (flow.ecn, &flow.tcp) {
        let name = flow.application.0.name();
        let why = format!(
            "expected none: the application \"{name}\" sends no datagrams but uses TCP, where \
             tcp.ecn decides"
        );
        return Err(ScenarioError::invalid(format!("{at}.ecn"), why));
    }
    let is_real = flow.application.0.is_real();
    let is_capable =
        is_real || flow.ecn.is_some() || flow.tcp.is_some() && tcp.ecn() != EcnMode::Off;
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
    check_user_priority(at, flow.user_priority)?;
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
    if application.is_real() {
        // Its connections have the TCP of the system they run on.
        return Ok(tcp::Config::default());
    }
    if application.transport() == "tcp" {
        let tcp = flow.tcp.get_or_insert_default().clone();
        tcp_keys::check(&format!("{at}.tcp"), &tcp)?;
        return Ok(tcp);
    }
    if flow.tcp.is_some() {
        let why = format!("the application \"{name}\" does not use TCP");
        return Err(ScenarioError::invalid(format!("{at}.tcp"), why));
    }
    Ok(tcp::Config::default())
}

/// How long links may take beyond the wide area's round trip, without a queue: cable lines take
/// some 10 ms.
const LINKS_TAKE: Duration = Duration::from_millis(50);

/// Warns of a FAST whose `base_rtt` is longer than its path: it takes all delay for the path's, and
/// its window grows without end. `delay` is that of a link's direction.
pub(in crate::scenario) fn warn_of_base_rtt(
    groups: &[GroupPlan],
    delay: impl Fn(&(u16, Port)) -> Duration,
    warnings: &mut Vec<String>,
) {
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
            let own = peer.up.iter().chain(&peer.down).map(&delay);
            let round_trip = own.fold(wide, |sum, delay| sum + delay);
            if fast.base_rtt > round_trip + LINKS_TAKE {
                warnings.push(format!(
                    "flow.{}.tcp.congestion.fast.base_rtt: {} is longer than the path's own round \
                     trip, about {round_trip}: its window grows whatever stands in queues",
                    group.name, fast.base_rtt
                ));
                break;
            }
        }
    }
}
