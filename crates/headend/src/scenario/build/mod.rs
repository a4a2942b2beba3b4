//! From a scenario that makes sense to a simulation that is ready to run. Nothing here can fail.
//!
//! Order is part of the model: links, flows and hosts by name, so that a scenario gives the same results however it is written down.
//! Every component gets a random stream named by its path.

mod cable;
mod cell;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::check::{
    DirectionPlan, GroupPlan, HostPlan, LONGEST_DELAY, LinkPlan, Medium, PathPlan, PeerPlan,
    Scenario, ipv6_blocks,
};
use super::raw::StartRange;
use crate::flow::{FlowTable, Hop, Port};
use crate::line::{Harm, Line};
use crate::link::{DirectionSetup, Link, PointToPoint, Transmitter};
use crate::metrics::Recorder;
use crate::metrics::recorder::{GroupInfo, QueueInfo};
use crate::named::OrTable;
use crate::packet::Side;
use crate::qdisc::{AckAcceleration, Queue, QueueConfig, QueueDiscipline};
use crate::queue::Framing;
use crate::rng::Rng;
use crate::simulation::{AppSetup, Parts, Simulation};
use crate::time::{Duration, Instant};
use crate::trace::QueueId;
use crate::traffic::periods::Periods;
use crate::traffic::{GroupSetup, Peer};
use crate::units::Rate;

/// Where a queue stands.
struct QueuePlace<'a> {
    link: &'a str,
    /// Its name: `LINK.up`, or what the link makes of it.
    name: &'a str,
    direction: &'static str,
    /// Nominal rate behind it.
    rate: Rate,
    framing: Framing,
    /// What stands before it.
    acceleration: AckAcceleration,
    /// Of a DOCSIS upstream: time between two MAPs.
    map_interval: Option<Duration>,
}

/// The lines behind a link's exits.
struct Exits {
    /// By customer: what comes out towards the network. Only links that chain need them, so those of several modems are made when asked for.
    up: Vec<Option<u32>>,
    /// What comes out towards customers is in order: one line for all.
    down: u32,
}

/// Largest packet of a plain link, IP bytes.
const MTU: u16 = 1500;
/// Packet times of the fastest link that one bucket of the event queue spans: few events are then put into a bucket
/// already open, and the horizon still covers the usual delays.
const PACKETS_PER_BUCKET: u64 = 2;
/// Time for which the usual deepest buffers hold a packet.
const DEEPEST: Duration = Duration::from_millis(250);

impl Scenario {
    /// The simulation, with `seed` in place of the scenario's own.
    pub fn build(&self, seed: u64) -> Simulation {
        let mut simulation = Simulation::new(self.parts(seed));
        if let Some(plan) = &self.capture {
            let capture = plan.build(|queue| {
                (simulation.find_queue(queue)).expect("every queue that was planned is built")
            });
            simulation.capture(capture);
        }
        simulation
    }

    /// The parts of that simulation, for whoever wants to change one.
    pub fn parts(&self, seed: u64) -> Parts {
        let mut builder = Builder::new(seed);
        for link in &self.links {
            builder.add_link(link, &self.hosts);
        }
        builder.flows.set_ipv6(ipv6_blocks(&self.hosts));
        for group in &self.groups {
            builder.add_group(group);
        }
        let raw = self.raw();
        let recorder = Recorder::new(
            builder.group_infos,
            builder.queue_infos,
            self.interval,
            raw.duration,
        );
        Parts {
            links: builder.links,
            lines: builder.lines,
            flows: builder.flows,
            apps: builder.apps,
            recorder,
            window: builder.fastest.bytes_in(DEEPEST),
            bucket: builder.fastest.time_for(u64::from(MTU)) * PACKETS_PER_BUCKET,
            warmup: raw.warmup,
            duration: raw.duration,
        }
    }
}

/// How many delay lines are built at most:
///
/// - exits: one at each end of a link that packets leave by;
/// - wide area: two for each remote host;
/// - hosts that take their time: for each remote host two of its own and two of the customer's;
/// - a CMTS that takes its time: one for each way to or from a remote host.
pub(super) fn count_lines(links: &[LinkPlan], groups: &[GroupPlan]) -> usize {
    let exits = links.iter().map(|link| customers(link) + 1);
    let of_hosts = |time: Duration| if time.is_zero() { 0 } else { 2 };
    let of_peer = |processing: Duration, peer: &PeerPlan| {
        let takes_time =
            |(link, _): &&(u16, Port)| !forwarding(&links[usize::from(*link)]).is_zero();
        let ports = peer.up.iter().chain(&peer.down);
        2 + ports.filter(takes_time).count() + of_hosts(processing) + of_hosts(peer.processing)
    };
    let of_groups = groups.iter().map(|group| {
        let peers = group.peers.iter();
        peers.map(|peer| of_peer(group.processing, peer)).sum()
    });
    exits.chain(of_groups).sum()
}

struct Builder {
    seed: u64,
    fastest: Rate,
    links: Vec<Box<dyn Link>>,
    lines: Vec<Line>,
    /// By link.
    exits: Vec<Exits>,
    /// By link: how long the CMTS takes to forward a packet; elsewhere nothing.
    forwarding: Vec<Duration>,
    flows: FlowTable,
    apps: Vec<AppSetup>,
    group_infos: Vec<GroupInfo>,
    queue_infos: Vec<QueueInfo>,
}

impl Builder {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            fastest: Rate(1),
            links: Vec::new(),
            lines: Vec::new(),
            exits: Vec::new(),
            forwarding: Vec::new(),
            flows: FlowTable::default(),
            apps: Vec::new(),
            group_infos: Vec::new(),
            queue_infos: Vec::new(),
        }
    }

    fn rng(&self, path: impl fmt::Display) -> Rng {
        Rng::for_path(self.seed, path)
    }

    fn add_link(&mut self, plan: &LinkPlan, hosts: &BTreeMap<String, HostPlan>) {
        let link: Box<dyn Link> = match &plan.medium {
            Medium::Docsis(line) => Box::new(self.cable(&plan.name, line, hosts)),
            Medium::Dot11b(cell) => Box::new(self.cell(&plan.name, cell)),
            Medium::PointToPoint(directions) => {
                let [up, down] = &**directions;
                let up = self.direction(&plan.name, "up", Port(0), up);
                let down = self.direction(&plan.name, "down", Port(1), down);
                Box::new(PointToPoint::new(up, down))
            }
        };
        self.links.push(link);
        self.forwarding.push(forwarding(plan));
        let customers = customers(plan);
        let [up, down] = ["up", "down"].map(|direction| {
            (customers == 1 || direction == "down").then(|| self.add_exit(&plan.name, direction))
        });
        self.exits.push(Exits {
            up: vec![up; customers],
            down: down.expect("made for every link"),
        });
    }

    fn add_exit(&mut self, link: &str, direction: &str) -> u32 {
        let path = format!("link.{link}.{direction}.exit");
        self.add_line(Duration::ZERO, Duration::ZERO, Harm::default(), &path)
    }

    /// The line behind the exit that a packet takes which entered at `port`.
    fn exit(&mut self, link: u16, port: Port) -> u32 {
        let (link, customer) = (usize::from(link), usize::from(port.0 / 2));
        if port.0 % 2 == 1 {
            return self.exits[link].down;
        }
        if let Some(exit) = self.exits[link].up[customer] {
            return exit;
        }
        let exit = self.add_exit(&format!("{link}.{customer}"), "up");
        self.exits[link].up[customer] = Some(exit);
        exit
    }

    fn direction(
        &mut self,
        link: &str,
        direction: &'static str,
        port: Port,
        plan: &DirectionPlan,
    ) -> DirectionSetup {
        let rate = plan.schedule.nominal();
        let token = PointToPoint::update_token(port);
        self.fastest = self.fastest.max(rate);
        let place = QueuePlace {
            link,
            name: &format!("{link}.{direction}"),
            direction,
            rate,
            framing: Framing::IP,
            acceleration: AckAcceleration::Off,
            map_interval: None,
        };
        DirectionSetup {
            queue: self.queue(&place, &plan.queue, token),
            transmitter: Transmitter::new(plan.schedule.clone()),
            delay: plan.delay,
            framing: Framing::IP,
            mtu: MTU,
        }
    }

    /// A queue in its place, entered in the list of queues; `token` is the link's for its updates.
    fn queue(&mut self, place: &QueuePlace<'_>, config: &QueueConfig, token: u64) -> Queue {
        let QueuePlace {
            link,
            name,
            direction,
            rate,
            framing,
            acceleration,
            map_interval,
        } = *place;
        let id = QueueId(self.queue_infos.len() as u32);
        self.queue_infos.push(QueueInfo {
            name: name.to_owned(),
            link: link.to_owned(),
            direction,
            discipline: config.name(),
            rate_bps: rate.0,
            limit_bytes: config.limit_bytes(rate),
            overhead_bytes: u64::from(framing.overhead),
            map_interval,
        });
        let discipline = self.discipline(config, rate, &format!("link.{name}.queue"));
        Queue::new(id, acceleration.before(discipline), token)
    }

    fn discipline(&self, config: &QueueConfig, rate: Rate, path: &str) -> Box<dyn QueueDiscipline> {
        config
            .build(rate, self.rng(path))
            .expect("the check has built it once")
    }

    fn add_line(&mut self, delay: Duration, jitter: Duration, harm: Harm, path: &str) -> u32 {
        self.lines
            .push(Line::new(delay, jitter, harm, self.rng(path)));
        self.lines.len() as u32 - 1
    }

    fn add_group(&mut self, plan: &GroupPlan) {
        let peers = plan.peers.iter().enumerate();
        let peers = peers
            .map(|(index, peer)| self.peer(&plan.name, plan.processing, index, peer))
            .collect();
        let application = &plan.application;
        self.group_infos.push(GroupInfo {
            name: plan.name.clone(),
            application: application.name(),
            transport: application.transport(),
            carries_data: application.carries_data(plan.direction),
            is_bulk: application.is_bulk(),
        });
        let start = draw_start(
            &plan.start,
            &mut self.rng(format_args!("flow.{}.start", plan.name)),
        );
        let periods = plan.periods.iter();
        let periods = periods.map(|&(from, to)| (Instant::ZERO + from, Instant::ZERO + to));
        self.apps.push(AppSetup {
            app: if plan.periods.is_empty() {
                application
                    .build(plan.direction)
                    .expect("the check has built it once")
            } else {
                let periods = periods.collect();
                Box::new(Periods::new(application.clone(), plan.direction, periods))
            },
            rng: self.rng(format_args!("app.{}", plan.name)),
            group: GroupSetup {
                address: plan.address,
                peers,
                tcp: Arc::new(plan.tcp.clone()),
                dscp: plan.dscp,
                ecn: plan.ecn,
                tunnel: plan.tunnel,
                port: plan.port,
                name: plan.name.clone(),
                seed: self.seed,
                opened: 0,
            },
            start: Instant::ZERO + start,
            stop: plan.stop.map(|stop| Instant::ZERO + stop),
        });
    }

    /// The routes to remote host `index` of a group, over wide-area lines of their own; `processing` is the customer's host's.
    fn peer(&mut self, group: &str, processing: Duration, index: usize, plan: &PeerPlan) -> Peer {
        let name = match index {
            0 => format!("flow.{group}.path"),
            _ => format!("flow.{group}.path.{index}"),
        };
        let delays = draw_delays(&plan.path, &mut self.rng(format_args!("{name}.rtt")));
        let [up, down] = plan.path.harm;
        let wide = [("up", delays[0], up), ("down", delays[1], down)];
        let wide = wide.map(|(direction, delay, harm)| {
            let path = format!("{name}.{direction}");
            self.add_line(delay, plan.path.jitter, harm, &path)
        });
        let before_up = plan.links_before_wide_area;
        let before_down = plan.down.len() - before_up;
        let mut up = self.route(&name, &plan.up, before_up, wide[Side::Host.index()]);
        let mut down = self.route(&name, &plan.down, before_down, wide[Side::Peer.index()]);
        self.enter_and_leave(&name, &mut up, [processing, plan.processing]);
        self.enter_and_leave(&name, &mut down, [plan.processing, processing]);
        Peer {
            routes: [self.flows.add_route(up), self.flows.add_route(down)],
            address: plan.address,
        }
    }

    /// Links with the lines behind them. The wide area stands behind `before` links; where a link is last before it, in place of that link's
    /// exit line. A CMTS that takes its time to forward a packet has a line on its network side.
    fn route(&mut self, path: &str, ports: &[(u16, Port)], before: usize, wide: u32) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(2 * ports.len() + 2);
        if before == 0 {
            hops.push(Hop::Line(wide));
        }
        for (index, &(link, port)) in ports.iter().enumerate() {
            let forwarding = self.forwarding[usize::from(link)];
            let cmts = self.line_of(forwarding, &format!("{path}.cmts"));
            let is_down = port.0 % 2 == 1;
            hops.extend(cmts.filter(|_| is_down));
            hops.push(Hop::Link { link, port });
            hops.extend(cmts.filter(|_| !is_down));
            hops.push(Hop::Line(if index + 1 == before {
                wide
            } else {
                self.exit(link, port)
            }));
        }
        hops.push(Hop::End);
        hops
    }

    /// Puts what the sending and the receiving host take for a packet at the ends of a route.
    fn enter_and_leave(&mut self, path: &str, route: &mut Vec<Hop>, takes: [Duration; 2]) {
        let [sender, receiver] = takes.map(|time| self.line_of(time, &format!("{path}.host")));
        if let Some(line) = sender {
            route.insert(0, line);
        }
        if let Some(line) = receiver {
            route.insert(route.len() - 1, line);
        }
    }

    /// A line of its own that only takes time; none where it takes none.
    fn line_of(&mut self, time: Duration, path: &str) -> Option<Hop> {
        let line =
            |builder: &mut Self| builder.add_line(time, Duration::ZERO, Harm::default(), path);
        (!time.is_zero()).then(|| Hop::Line(line(self)))
    }
}

/// How long the CMTS takes to forward a packet; elsewhere nothing.
fn forwarding(plan: &LinkPlan) -> Duration {
    match &plan.medium {
        Medium::Docsis(cable) => cable.plant.cmts_forwarding,
        Medium::Dot11b(_) | Medium::PointToPoint(_) => Duration::ZERO,
    }
}

fn customers(plan: &LinkPlan) -> usize {
    match &plan.medium {
        Medium::Docsis(cable) => cable.modems.len(),
        Medium::Dot11b(cell) => cell.stations.len(),
        Medium::PointToPoint(_) => 1,
    }
}

fn draw_start(start: &OrTable<Duration, StartRange>, rng: &mut Rng) -> Duration {
    match start {
        OrTable::Plain(start) => *start,
        OrTable::Table(StartRange { from, to }) => *from + rng.span(*to - *from),
    }
}

/// One-way delays, up and down: what is given singly, else half the round trip.
fn draw_delays(path: &PathPlan, rng: &mut Rng) -> [Duration; 2] {
    let rtt = match &path.rtt {
        OrTable::Plain(rtt) => *rtt,
        OrTable::Table(from) => from.draw(LONGEST_DELAY, rng),
    };
    let half = rtt / 2;
    [path.up.unwrap_or(half), path.down.unwrap_or(rtt - half)]
}
