//! From flows that make sense to applications that run, and to the routes of their packets.

use std::sync::Arc;

use super::path::PathPlan;
use super::plan::{GroupPlan, PeerPlan};
use crate::flow::{FlowTable, Hop, Port};
use crate::line::Harm;
use crate::metrics::recorder::GroupInfo;
use crate::named::OrTable;
use crate::packet::Side;
use crate::rng::Rng;
use crate::scenario::builder::Builder;
use crate::scenario::times::{LONGEST_DELAY, StartRange};
use crate::simulation::AppSetup;
use crate::time::{Duration, Instant};
use crate::traffic::periods::Periods;
use crate::traffic::{GroupSetup, Peer};

/// The lines at the ends of a link.
pub(in crate::scenario) struct LinkEnds {
    /// By customer: the line that packets leave by towards the network. Only links that follow one
    /// another need it: of a link with several customers it is made when a route needs it.
    up: Vec<Option<u32>>,
    /// The line that packets leave by towards customers: they come out in order, so that one does
    /// for all.
    down: u32,
    /// How long the network side takes to forward a packet.
    forwarding: Duration,
}

/// Applications and routes, as far as they are built.
pub(in crate::scenario) struct FlowBuilder<'a> {
    builder: &'a mut Builder,
    /// By link.
    ends: Vec<LinkEnds>,
    pub(in crate::scenario) flows: FlowTable,
    pub(in crate::scenario) apps: Vec<AppSetup>,
    pub(in crate::scenario) infos: Vec<GroupInfo>,
}

impl LinkEnds {
    /// Makes the lines of a link as soon as it is built.
    pub(in crate::scenario) fn new(
        link: &str,
        customers: usize,
        forwarding: Duration,
        builder: &mut Builder,
    ) -> Self {
        let up = (customers == 1).then(|| add_exit(link, "up", builder));
        Self {
            up: vec![up; customers],
            down: add_exit(link, "down", builder),
            forwarding,
        }
    }
}

fn add_exit(link: &str, direction: &str, builder: &mut Builder) -> u32 {
    let path = format!("link.{link}.{direction}.exit");
    builder.add_line(Duration::ZERO, Duration::ZERO, Harm::default(), &path)
}

impl<'a> FlowBuilder<'a> {
    /// Flows over the links that have these ends.
    pub(in crate::scenario) fn new(ends: Vec<LinkEnds>, builder: &'a mut Builder) -> Self {
        Self {
            builder,
            ends,
            flows: FlowTable::default(),
            apps: Vec::new(),
            infos: Vec::new(),
        }
    }

    /// The line that a packet leaves a link by which entered it at `port`.
    fn exit(&mut self, link: u16, port: Port) -> u32 {
        let (link, customer) = (usize::from(link), usize::from(port.0 / 2));
        if port.0 % 2 == 1 {
            return self.ends[link].down;
        }
        if let Some(exit) = self.ends[link].up[customer] {
            return exit;
        }
        let exit = add_exit(&format!("{link}.{customer}"), "up", self.builder);
        self.ends[link].up[customer] = Some(exit);
        exit
    }

    /// Builds a flow.
    pub(in crate::scenario) fn add_group(&mut self, plan: &GroupPlan) {
        let peers = plan.peers.iter().enumerate();
        let peers = peers
            .map(|(index, peer)| self.peer(&plan.name, plan.processing, index, peer))
            .collect();
        let application = &plan.application;
        self.infos.push(GroupInfo {
            name: plan.name.clone(),
            application: application.name(),
            // The headers of a real host's frames will tell.
            transport: if application.is_real() {
                ""
            } else {
                application.transport()
            },
            carries_data: application.carries_data(plan.direction),
            is_bulk: application.is_bulk(),
        });
        let start = draw_start(
            &plan.start,
            &mut self.builder.rng(format_args!("flow.{}.start", plan.name)),
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
            rng: self.builder.rng(format_args!("app.{}", plan.name)),
            group: GroupSetup {
                address: plan.address,
                peers,
                tcp: Arc::new(plan.tcp.clone()),
                dscp: plan.dscp,
                user_priority: plan.user_priority,
                ecn: plan.ecn,
                tunnel: plan.tunnel,
                port: plan.port,
                name: plan.name.clone(),
                seed: self.builder.seed,
                opened: 0,
                real: plan.real,
            },
            start: Instant::ZERO + start,
            stop: plan.stop.map(|stop| Instant::ZERO + stop),
        });
    }

    /// The routes to remote host `index` of a flow, over wide-area lines of their own. `processing`
    /// is the time that the customer's host takes for a packet.
    fn peer(&mut self, group: &str, processing: Duration, index: usize, plan: &PeerPlan) -> Peer {
        let name = match index {
            0 => format!("flow.{group}.path"),
            _ => format!("flow.{group}.path.{index}"),
        };
        let delays = draw_delays(
            &plan.path,
            &mut self.builder.rng(format_args!("{name}.rtt")),
        );
        let [up, down] = plan.path.harm;
        let wide = [("up", delays[0], up), ("down", delays[1], down)];
        let wide = wide.map(|(direction, delay, harm)| {
            let path = format!("{name}.{direction}");
            self.builder.add_line(delay, plan.path.jitter, harm, &path)
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
            real: plan.real,
        }
    }

    /// Links, each with the line behind it. Behind the first `before` links comes the wide area:
    /// its line takes the place of the last one's exit line. A CMTS that takes time to forward a
    /// packet has a line on its network side.
    fn route(&mut self, path: &str, ports: &[(u16, Port)], before: usize, wide: u32) -> Vec<Hop> {
        let mut hops = Vec::with_capacity(2 * ports.len() + 2);
        if before == 0 {
            hops.push(Hop::Line(wide));
        }
        for (index, &(link, port)) in ports.iter().enumerate() {
            let forwarding = self.ends[usize::from(link)].forwarding;
            let cmts = self.builder.line_of(forwarding, &format!("{path}.cmts"));
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

    /// Puts lines at the ends of a route for the times that the sending and the receiving host
    /// take.
    fn enter_and_leave(&mut self, path: &str, route: &mut Vec<Hop>, takes: [Duration; 2]) {
        let [sender, receiver] =
            takes.map(|time| self.builder.line_of(time, &format!("{path}.host")));
        if let Some(line) = sender {
            route.insert(0, line);
        }
        if let Some(line) = receiver {
            route.insert(route.len() - 1, line);
        }
    }
}

fn draw_start(start: &OrTable<Duration, StartRange>, rng: &mut Rng) -> Duration {
    match start {
        OrTable::Plain(start) => *start,
        OrTable::Table(StartRange { from, to }) => *from + rng.span(*to - *from),
    }
}

/// One-way delays, up and down: each as it is written, or else half of the round trip.
fn draw_delays(path: &PathPlan, rng: &mut Rng) -> [Duration; 2] {
    let rtt = match &path.rtt {
        OrTable::Plain(rtt) => *rtt,
        OrTable::Table(from) => from.draw(LONGEST_DELAY, rng),
    };
    let half = rtt / 2;
    [path.up.unwrap_or(half), path.down.unwrap_or(rtt - half)]
}
