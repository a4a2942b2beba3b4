//! Flows: between which hosts, over which ports, with which application.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::links::{self, LinkPlan, PortPlan, check_delay};
use super::unknown;
use crate::flow::TunnelId;
use crate::scenario::error::ScenarioError;
use crate::scenario::named::{Named, OrTable};
use crate::scenario::raw::{Flow, Host, Raw, RttFrom, StartRange};
use crate::tcp;
use crate::time::Duration;
use crate::traffic::{ApplicationConfig, Direction};
use crate::units::Probability;

/// One application with its hosts, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct GroupPlan {
    /// The flow's name, with a number where there are several of it.
    pub(in crate::scenario) name: String,
    pub(in crate::scenario) application: ApplicationConfig,
    pub(in crate::scenario) direction: Direction,
    pub(in crate::scenario) tcp: tcp::Config,
    pub(in crate::scenario) dscp: u8,
    pub(in crate::scenario) tunnel: Option<TunnelId>,
    pub(in crate::scenario) start: OrTable<Duration, StartRange>,
    pub(in crate::scenario) stop: Option<Duration>,
    pub(in crate::scenario) address: u32,
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
    pub(in crate::scenario) path: PathPlan,
}

/// The wide area, its delays perhaps still to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct PathPlan {
    pub(in crate::scenario) rtt: OrTable<Duration, RttFrom>,
    pub(in crate::scenario) up: Option<Duration>,
    pub(in crate::scenario) down: Option<Duration>,
    pub(in crate::scenario) loss: Probability,
    pub(in crate::scenario) jitter: Duration,
}

/// Round-trip time of the wide area where nothing is said of it: a server that is near.
const DEFAULT_RTT: Duration = Duration::from_millis(20);
/// More flows than this take more memory than a laptop has.
const MOST_FLOWS: u64 = 10_000;

/// Addresses by kind of host: named, behind a link without a name, servers of a flow's own (198.18.0.0/15, RFC 2544).
const NAMED_HOSTS: u32 = 0x0a00_0001;
const UNNAMED_CUSTOMERS: u32 = 0x0a01_0001;
const UNNAMED_SERVERS: u32 = 0xc612_0001;

pub(super) fn plan(raw: &mut Raw, links: &[LinkPlan]) -> Result<Vec<GroupPlan>, ScenarioError> {
    let ports = links::ports(links);
    let hosts = plan_hosts(raw, &ports)?;
    let total: u64 = raw.flow.values().map(|flow| u64::from(flow.count)).sum();
    if total > MOST_FLOWS {
        let why = format!("{total} flows are more than {MOST_FLOWS}");
        return Err(ScenarioError::invalid("flow", why));
    }
    let duration = raw.duration;
    let mut planner = Planner {
        ports,
        hosts,
        tunnels: number_tunnels(raw)?,
        duration,
        servers: 0,
    };
    let mut groups = Vec::new();
    for (name, flow) in &mut raw.flow {
        planner.plan_flow(name, flow, &mut groups)?;
    }
    Ok(groups)
}

/// A named host, resolved.
struct HostPlan {
    address: u32,
    via: Vec<PortPlan>,
    rtt: Option<OrTable<Duration, RttFrom>>,
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

fn plan_hosts(
    raw: &Raw,
    ports: &BTreeMap<String, PortPlan>,
) -> Result<BTreeMap<String, HostPlan>, ScenarioError> {
    let plan = |(index, (name, host)): (usize, (&String, &Host))| {
        let via = host.via.iter().enumerate().map(|(position, port)| {
            let path = format!("host.{name}.via[{position}]");
            let known = || ports.keys().cloned().collect();
            ports
                .get(port)
                .copied()
                .ok_or_else(|| unknown(path, "link port", port, known()))
        });
        let via: Vec<PortPlan> = via.collect::<Result<_, _>>()?;
        if let Some(twice) = (1..via.len()).find(|&i| via[..i].contains(&via[i])) {
            let path = format!("host.{name}.via[{twice}]");
            return Err(ScenarioError::invalid(
                path,
                "a packet passes each link once",
            ));
        }
        if host.rtt.is_some() && !via.is_empty() {
            let why = "a customer's host has no rtt: its distance is that of the flows' peers";
            return Err(ScenarioError::invalid(format!("host.{name}.rtt"), why));
        }
        if host.tunnel.is_some() && via.is_empty() {
            let why =
                "tunnels are those of customers: a host in the network has none (its flows may)";
            return Err(ScenarioError::invalid(format!("host.{name}.tunnel"), why));
        }
        check_rtt(&format!("host.{name}.rtt"), host.rtt.as_ref())?;
        let address = NAMED_HOSTS + index as u32;
        Ok((
            name.clone(),
            HostPlan {
                address,
                via,
                rtt: host.rtt.clone(),
                tunnel: host.tunnel.clone(),
            },
        ))
    };
    raw.host.iter().enumerate().map(plan).collect()
}

struct Planner {
    ports: BTreeMap<String, PortPlan>,
    hosts: BTreeMap<String, HostPlan>,
    tunnels: BTreeMap<String, TunnelId>,
    duration: Duration,
    /// Servers of flows' own so far.
    servers: u32,
}

impl Planner {
    fn plan_flow(
        &mut self,
        name: &str,
        flow: &mut Flow,
        groups: &mut Vec<GroupPlan>,
    ) -> Result<(), ScenarioError> {
        let at = format!("flow.{name}");
        self.check_times(&at, flow)?;
        check_path(&at, flow)?;
        check_header(&at, flow)?;
        let tcp = plan_application(&at, flow)?;
        let direction = flow
            .direction
            .expect("planning the application fills it in");
        let (address, via) = self.customer(&at, flow)?;
        for number in 1..=flow.count {
            let peers = self.peers(&at, flow, &via)?;
            let several = flow.count > 1;
            groups.push(GroupPlan {
                name: if several {
                    format!("{name}.{number}")
                } else {
                    name.to_owned()
                },
                application: flow.application.0.clone(),
                direction,
                tcp: tcp.clone(),
                dscp: flow.dscp,
                tunnel: self.tunnel(flow),
                start: flow.start.clone(),
                stop: flow.stop,
                address,
                peers,
            });
        }
        resolve_rtt(flow, self.hosts_rtt(flow));
        Ok(())
    }

    fn check_times(&self, at: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let latest = match &flow.start {
            OrTable::Plain(start) => *start,
            OrTable::Table(range) if range.from > range.to => {
                let why = format!("the latest start, {}, comes before the earliest", range.to);
                return Err(ScenarioError::invalid(format!("{at}.start.to"), why));
            }
            OrTable::Table(range) => range.to,
        };
        if latest >= self.duration {
            let why = format!(
                "a start at {latest} is not within a run of {}",
                self.duration
            );
            return Err(ScenarioError::invalid(format!("{at}.start"), why));
        }
        match flow.stop {
            Some(stop) if stop <= latest => {
                let why = format!("a flow that starts at {latest} cannot stop at {stop}");
                Err(ScenarioError::invalid(format!("{at}.stop"), why))
            }
            _ => Ok(()),
        }
    }

    /// The customer's address and the ports from it outwards.
    fn customer(&self, at: &str, flow: &Flow) -> Result<(u32, Vec<PortPlan>), ScenarioError> {
        let path = format!("{at}.host");
        if let Some(name) = &flow.host {
            let host = self.host(&path, name)?;
            if host.via.is_empty() {
                let why = format!(
                    "\"{name}\" is in the network; a flow's host is behind a link (via = […])"
                );
                return Err(ScenarioError::invalid(path, why));
            }
            return Ok((host.address, host.via.clone()));
        }
        let mut ports = self.ports.values();
        if let (Some(only), None) = (ports.next(), ports.next()) {
            return Ok((UNNAMED_CUSTOMERS, vec![*only]));
        }
        let why = "with several links a flow must name its host (and [host.NAME] say where it is: via = […])";
        Err(ScenarioError::invalid(path, why))
    }

    /// The tunnel that carries the flow: its own, or that of its host.
    fn tunnel(&self, flow: &Flow) -> Option<TunnelId> {
        let host = flow.host.as_ref().and_then(|name| self.hosts.get(name));
        let of_host = || host.and_then(|host| host.tunnel.as_ref());
        let name = flow.tunnel.as_ref().or_else(of_host)?;
        self.tunnels.get(name).copied()
    }

    fn host(&self, path: &str, name: &str) -> Result<&HostPlan, ScenarioError> {
        let known = || self.hosts.keys().cloned().collect();
        self.hosts
            .get(name)
            .ok_or_else(|| unknown(path, "host", name, known()))
    }

    /// The remote hosts, named or the flow's own.
    fn peers(
        &mut self,
        at: &str,
        flow: &Flow,
        via: &[PortPlan],
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
            let servers = (0..wanted).map(|_| self.own_server(flow, via)).collect();
            return Ok(servers);
        }
        (named.into_iter())
            .map(|(path, name)| self.named_peer(&path, name, flow, via))
            .collect()
    }

    fn own_server(&mut self, flow: &Flow, via: &[PortPlan]) -> PeerPlan {
        self.servers += 1;
        peer(UNNAMED_SERVERS + self.servers - 1, flow, via, &[], None)
    }

    fn named_peer(
        &self,
        path: &str,
        name: &str,
        flow: &Flow,
        via: &[PortPlan],
    ) -> Result<PeerPlan, ScenarioError> {
        if flow.host.as_deref() == Some(name) {
            let why = format!("\"{name}\" cannot be its own peer");
            return Err(ScenarioError::invalid(path, why));
        }
        let host = self.host(path, name)?;
        Ok(peer(host.address, flow, via, &host.via, host.rtt.clone()))
    }

    /// Whether the flow's only named peers bring their own round-trip times.
    fn hosts_rtt(&self, flow: &Flow) -> bool {
        let mut names = flow.peer.iter().chain(&flow.peers).peekable();
        names.peek().is_some() && names.all(|name| self.hosts[name].rtt.is_some())
    }
}

/// The way to a peer: out over the host's ports, across the wide area, in over the peer's own.
fn peer(
    address: u32,
    flow: &Flow,
    host: &[PortPlan],
    peer: &[PortPlan],
    rtt: Option<OrTable<Duration, RttFrom>>,
) -> PeerPlan {
    let out = |ports: &[PortPlan]| -> Vec<_> { ports.iter().map(|p| (p.link, p.up)).collect() };
    let into =
        |ports: &[PortPlan]| -> Vec<_> { ports.iter().rev().map(|p| (p.link, p.down)).collect() };
    PeerPlan {
        address,
        up: [out(host), into(peer)].concat(),
        down: [out(peer), into(host)].concat(),
        links_before_wide_area: host.len(),
        path: PathPlan {
            rtt: flow
                .rtt
                .clone()
                .or(rtt)
                .unwrap_or(OrTable::Plain(DEFAULT_RTT)),
            up: flow.path.up,
            down: flow.path.down,
            loss: flow.path.loss,
            jitter: flow.path.jitter,
        },
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
        Some(OrTable::Table(_)) | None => Ok(()),
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
    if flow.path.loss.0 >= 1.0 {
        let why = "a path that loses every packet carries nothing";
        return Err(ScenarioError::invalid(format!("{at}.path.loss"), why));
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
        let refuse = |path: &str, (key, expected): (&str, &str)| {
            ScenarioError::invalid(format!("{at}.{path}.{key}"), format!("expected {expected}"))
        };
        check_tcp(&tcp).map_err(|fault| refuse("tcp", fault))?;
        (tcp.congestion.check()).map_err(|fault| refuse("tcp.congestion", fault))?;
        return Ok(tcp);
    }
    if flow.tcp.is_some() {
        let why = format!("the application \"{name}\" does not use TCP");
        return Err(ScenarioError::invalid(format!("{at}.tcp"), why));
    }
    Ok(tcp::Config::default())
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
            (1..=1 << 30).contains(&tcp.receive_window.0),
            "receive_window",
            "1 B to 1 GiB",
        ),
        // RFC 5681 §4.2.
        (
            tcp.delayed_ack <= Duration::from_millis(500),
            "delayed_ack",
            "at most 500 ms",
        ),
        (tcp.min_rto <= tcp.max_rto, "min_rto", "at most max_rto"),
        (
            tcp.max_rto <= Duration::from_secs(600),
            "max_rto",
            "at most 10 minutes",
        ),
        (
            (Duration::from_millis(1)..=tcp.max_rto).contains(&tcp.initial_rto),
            "initial_rto",
            "1 ms to max_rto",
        ),
        (tcp.syn_retries <= 100, "syn_retries", "at most 100"),
    ];
    let wrong = checks.into_iter().find(|(holds, ..)| !holds);
    wrong.map_or(Ok(()), |(_, key, expected)| Err((key, expected)))
}
