//! From a scenario that makes sense to a simulation that is ready to run. Nothing here can fail.
//!
//! Order is part of the model: links, flows and hosts by name, so that a scenario gives the same results however it is written down.
//! Every component gets a random stream named by its path.

use super::check::{
    CableFlowPlan, CablePlan, DirectionPlan, GroupPlan, LinkPlan, Medium, PathPlan, PeerPlan,
    Scenario,
};
use super::named::OrTable;
use super::raw::StartRange;
use crate::flow::{FlowTable, Hop, Port};
use crate::line::Line;
use crate::link::docsis::DocsisLink;
use crate::link::docsis::downstream::{self, Downstream};
use crate::link::docsis::qos::Qos;
use crate::link::docsis::setup::{UpstreamFlow, UpstreamSetup};
use crate::link::docsis::token_bucket::TokenBuckets;
use crate::link::docsis::upstream::{self, Upstream};
use crate::link::{DirectionSetup, Link, PointToPoint, Transmitter};
use crate::metrics::Recorder;
use crate::metrics::recorder::{GroupInfo, QueueInfo};
use crate::packet::Side;
use crate::qdisc::{Framing, Queue, QueueConfig};
use crate::rng::Rng;
use crate::simulation::{AppSetup, Parts, Simulation};
use crate::time::{Duration, Instant};
use crate::trace::QueueId;
use crate::traffic::{GroupSetup, Peer};
use crate::units::{Probability, Rate};

/// Largest packet of a plain link, IP bytes.
const MTU: u16 = 1500;
/// Packet times of the fastest link that one bucket of the event queue spans: few events are then put into a bucket
/// already open, and the horizon still covers the usual delays.
const PACKETS_PER_BUCKET: u64 = 2;
/// Packets for which room is made on all delay lines together.
const ROOM_ON_LINES: usize = 1 << 17;

impl Scenario {
    /// The simulation, with `seed` in place of the scenario's own.
    pub fn build(&self, seed: u64) -> Simulation {
        Simulation::new(self.parts(seed))
    }

    /// The parts of that simulation, for whoever wants to change one.
    pub fn parts(&self, seed: u64) -> Parts {
        let mut builder = Builder::new(seed);
        for link in &self.links {
            builder.add_link(link);
        }
        for group in &self.groups {
            builder.add_group(group);
        }
        let room = ROOM_ON_LINES / builder.lines.len().max(1);
        for line in &mut builder.lines {
            line.make_room(builder.fastest, room);
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
            bucket: builder.fastest.time_for(u64::from(MTU)) * PACKETS_PER_BUCKET,
            warmup: raw.warmup,
            duration: raw.duration,
        }
    }
}

struct Builder {
    seed: u64,
    fastest: Rate,
    links: Vec<Box<dyn Link>>,
    lines: Vec<Line>,
    /// By link: the line behind each of its exits, up and down.
    exits: Vec<[u32; 2]>,
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
            flows: FlowTable::default(),
            apps: Vec::new(),
            group_infos: Vec::new(),
            queue_infos: Vec::new(),
        }
    }

    fn rng(&self, path: &str) -> Rng {
        Rng::for_path(self.seed, path)
    }

    fn add_link(&mut self, plan: &LinkPlan) {
        let link: Box<dyn Link> = match &plan.medium {
            Medium::Docsis(line) => Box::new(self.cable(&plan.name, line)),
            Medium::PointToPoint(directions) => {
                let [up, down] = &**directions;
                let up = self.direction(&plan.name, "up", Port(0), up);
                let down = self.direction(&plan.name, "down", Port(1), down);
                Box::new(PointToPoint::new(up, down))
            }
        };
        self.links.push(link);
        let exits = ["up", "down"].map(|direction| {
            let path = format!("link.{}.{direction}.exit", plan.name);
            self.add_line(Duration::ZERO, Duration::ZERO, Probability(0.0), &path)
        });
        self.exits.push(exits);
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
        DirectionSetup {
            queue: self.queue(link, direction, &plan.queue, (rate, Framing::IP), token),
            transmitter: Transmitter::new(plan.schedule.clone()),
            delay: plan.delay,
            framing: Framing::IP,
            mtu: MTU,
        }
    }

    fn cable(&mut self, link: &str, plan: &CablePlan) -> DocsisLink {
        let token = upstream::Wake::Update(0).token();
        let queue = self.service_flow(link, "up", &plan.upstream, token);
        let flow = UpstreamFlow {
            modem: 0,
            queue,
            limits: plan.upstream.limits,
            rate: plan.upstream.rate,
            qos: Qos::default(),
            dequeue_at: plan.dequeue_at,
            online_at: None,
            rng: self.rng(&format!("link.{link}.up.modem")),
        };
        let up = Upstream::new(UpstreamSetup {
            timing: plan.plant.upstream_timing(),
            rules: plan.plant.rules,
            contention: plan.plant.contention,
            flows: vec![flow],
            placement: plan.placement,
            capacity: plan.upstream.capacity.clone(),
            neighbours: None,
            rng: self.rng(&format!("link.{link}.up.cmts")),
        });
        let token = downstream::Wake::Update.token();
        let queue = self.service_flow(link, "down", &plan.downstream, token);
        let down = Downstream::new(
            plan.plant.downstream_timing(),
            queue,
            TokenBuckets::new(plan.downstream.limits),
            plan.downstream.rate,
            plan.downstream.capacity.clone(),
        );
        DocsisLink::new(up, down)
    }

    fn service_flow(
        &mut self,
        link: &str,
        direction: &'static str,
        plan: &CableFlowPlan,
        token: u64,
    ) -> Queue {
        self.fastest = self.fastest.max(plan.rate);
        self.queue(
            link,
            direction,
            &plan.queue,
            (plan.rate, Framing::ETHERNET),
            token,
        )
    }

    /// A queue in its place, entered in the list of queues; `token` is the link's for its updates.
    fn queue(
        &mut self,
        link: &str,
        direction: &'static str,
        config: &QueueConfig,
        (rate, framing): (Rate, Framing),
        token: u64,
    ) -> Queue {
        let id = QueueId(self.queue_infos.len() as u32);
        self.queue_infos.push(QueueInfo {
            name: format!("{link}.{direction}"),
            link: link.to_owned(),
            direction,
            discipline: config.name(),
            rate_bps: rate.0,
            limit_bytes: config.limit_bytes(rate),
            overhead_bytes: u64::from(framing.overhead),
        });
        let rng = self.rng(&format!("link.{link}.{direction}.queue"));
        let discipline = config
            .build(rate, rng)
            .expect("the check has built it once");
        Queue::new(id, discipline, token)
    }

    fn add_line(
        &mut self,
        delay: Duration,
        jitter: Duration,
        loss: Probability,
        path: &str,
    ) -> u32 {
        self.lines
            .push(Line::new(delay, jitter, loss, self.rng(path)));
        self.lines.len() as u32 - 1
    }

    fn add_group(&mut self, plan: &GroupPlan) {
        let peers = plan.peers.iter().enumerate();
        let peers = peers
            .map(|(index, peer)| self.peer(&plan.name, index, peer))
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
            &mut self.rng(&format!("flow.{}.start", plan.name)),
        );
        self.apps.push(AppSetup {
            app: application
                .build(plan.direction)
                .expect("the check has built it once"),
            rng: self.rng(&format!("app.{}", plan.name)),
            group: GroupSetup {
                address: plan.address,
                peers,
                tcp: plan.tcp.clone(),
                dscp: plan.dscp,
                name: plan.name.clone(),
                seed: self.seed,
                opened: 0,
            },
            start: Instant::ZERO + start,
            stop: plan.stop.map(|stop| Instant::ZERO + stop),
        });
    }

    /// The routes to remote host `index` of a group, over wide-area lines of their own.
    fn peer(&mut self, group: &str, index: usize, plan: &PeerPlan) -> Peer {
        let name = match index {
            0 => format!("flow.{group}.path"),
            _ => format!("flow.{group}.path.{index}"),
        };
        let delays = draw_delays(&plan.path, &mut self.rng(&format!("{name}.rtt")));
        let wide = [("up", delays[0]), ("down", delays[1])].map(|(direction, delay)| {
            let path = format!("{name}.{direction}");
            self.add_line(delay, plan.path.jitter, plan.path.loss, &path)
        });
        let before_up = plan.links_before_wide_area;
        let before_down = plan.down.len() - before_up;
        let up = self.route(&plan.up, before_up, wide[Side::Host.index()]);
        let down = self.route(&plan.down, before_down, wide[Side::Peer.index()]);
        Peer {
            routes: [self.flows.add_route(up), self.flows.add_route(down)],
            address: plan.address,
        }
    }

    /// Links with the lines behind them. The wide area stands behind `before` links; where a link is last before it, in place of that link's
    /// exit line.
    fn route(&self, ports: &[(u16, Port)], before: usize, wide: u32) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(2 * ports.len() + 2);
        if before == 0 {
            hops.push(Hop::Line(wide));
        }
        for (index, &(link, port)) in ports.iter().enumerate() {
            hops.push(Hop::Link { link, port });
            let exit = self.exits[usize::from(link)][usize::from(port.0 % 2)];
            hops.push(Hop::Line(if index + 1 == before { wide } else { exit }));
        }
        hops.push(Hop::End);
        hops
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
        OrTable::Table(from) => from.sites.draw(rng),
    };
    let half = rtt / 2;
    [path.up.unwrap_or(half), path.down.unwrap_or(rtt - half)]
}
