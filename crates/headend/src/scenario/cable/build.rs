//! From a cable line that makes sense to one that runs: service flows, queues, classifiers and
//! changes, in the order of modems.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::change::{ChangeKind, ChangePlan};
use super::classifier::{RulePlan, rule};
use super::mib;
use super::modem::{ModemPlan, Profile};
use super::neighbours::NeighbourLoad;
use super::plan::CablePlan;
use super::service_flow::{FlowPlan, OneWay, Role};
use crate::link::docsis::DocsisLink;
use crate::link::docsis::classifier::{Classifiers, ModemPort, Verdict};
use crate::link::docsis::cmts::Capacity;
use crate::link::docsis::downstream::{self, Downstream};
use crate::link::docsis::low_latency::Aggregate;
use crate::link::docsis::qos::Qos;
use crate::link::docsis::setup::{
    DownstreamFlow, FlowChange, Kind, Neighbours, UpstreamFlow, UpstreamSetup,
};
use crate::link::docsis::upstream::{self, Upstream};
use crate::metrics::mib::{Member, ServiceFlowInfo, Setting};
use crate::qdisc::{Queue, QueueConfig};
use crate::queue::Framing;
use crate::scenario::builder::{Builder, QueuePlace};
use crate::scenario::host::HostPlan;
use crate::time::Instant;

/// A line while its modems are put together.
struct Line<'a> {
    name: &'a str,
    plan: &'a CablePlan,
    up: Vec<UpstreamFlow>,
    down: Vec<DownstreamFlow>,
    /// Upstream and downstream.
    aggregates: [Vec<Aggregate>; 2],
    modem_ports: Vec<ModemPort>,
    /// By profile: the classifiers of each direction, where there are any.
    classifiers: Vec<[Option<u32>; 2]>,
    /// The settings of service flows at the start, by profile and direction.
    settings: Vec<[Vec<Arc<[Setting]>>; 2]>,
}

pub(super) fn build(
    plan: &CablePlan,
    name: &str,
    hosts: &BTreeMap<String, HostPlan>,
    builder: &mut Builder,
) -> DocsisLink {
    let (classifiers, by_profile) = classifiers(&plan.modems.profiles, hosts);
    let count = plan.modems.all.len();
    let mut line = Line {
        name,
        plan,
        up: Vec::with_capacity(count),
        down: Vec::with_capacity(count),
        aggregates: [Vec::new(), Vec::new()],
        modem_ports: Vec::with_capacity(2 * count),
        classifiers: by_profile,
        settings: plan.modems.profiles.iter().map(settings).collect(),
    };
    for (index, modem) in plan.modems.all.iter().enumerate() {
        line.add_modem(index as u32, modem, builder);
    }
    let changes = plan.changes.iter();
    let changes = changes.map(|change| line.change(change, hosts, builder));
    let changes = changes.collect();
    let [up_aggregates, down_aggregates] = line.aggregates;
    let up = Upstream::new(UpstreamSetup {
        timing: plan.plant.upstream_timing(),
        rules: plan.plant.rules,
        contention: plan.plant.contention,
        flows: line.up,
        aggregates: up_aggregates,
        placement: plan.placement,
        token_interval: plan.plant.token_interval,
        capacity: (plan.capacity[0].clone()).map(|schedule| {
            let rng = builder.rng(format_args!("link.{name}.up.capacity"));
            Capacity::new(schedule).varied(plan.capacity_variation, rng)
        }),
        neighbours: (plan.neighbours.as_ref()).map(|load| neighbours(name, load, builder)),
        rng: builder.rng(format_args!("link.{name}.up.cmts")),
    });
    let timing = plan.plant.downstream_timing();
    let capacity = plan.capacity[1].clone();
    let interval = plan.plant.token_interval;
    let down = Downstream::new(timing, line.down, capacity, interval, &down_aggregates);
    DocsisLink::new(up, down, line.modem_ports, classifiers).with_changes(changes)
}

impl Line<'_> {
    fn add_modem(&mut self, index: u32, modem: &ModemPlan, builder: &mut Builder) {
        let profile = &self.plan.modems.profiles[modem.profile];
        let primary = [self.up.len() as u32, self.down.len() as u32];
        for place in 0..profile.flows[0].len() {
            let token = upstream::Wake::Update(self.up.len()).token();
            let (name, queue) = self.queue(modem, OneWay::Up, place, token, builder);
            let flow = &profile.flows[0][place];
            self.up.push(UpstreamFlow {
                modem: index,
                queue,
                limits: flow.limits,
                rate: flow.rate,
                qos: qos_at_start(flow),
                dequeue_at: flow.dequeue_at,
                online_at: modem.online_at.map(|at| Instant::ZERO + at),
                rng: builder.rng(format_args!("link.{name}.modem")),
            });
        }
        for place in 0..profile.flows[1].len() {
            let token = downstream::Wake::Update(self.down.len()).token();
            let (_, queue) = self.queue(modem, OneWay::Down, place, token, builder);
            let flow = &profile.flows[1][place];
            self.down.push(DownstreamFlow {
                modem: index,
                queue,
                limits: flow.limits,
                rate: flow.rate,
                qos: qos_at_start(flow),
            });
        }
        for (direction, primary) in primary.into_iter().enumerate() {
            let aggregate = aggregate(&profile.flows[direction], primary as usize);
            self.aggregates[direction].extend(aggregate);
            self.modem_ports.push(ModemPort {
                primary,
                classifiers: self.classifiers[modem.profile][direction],
            });
        }
    }

    /// The queue of a modem's service flow, and its name.
    fn queue(
        &self,
        modem: &ModemPlan,
        direction: OneWay,
        place: usize,
        token: u64,
        builder: &mut Builder,
    ) -> (String, Queue) {
        let flow = &self.plan.modems.profiles[modem.profile].flows[direction.index()][place];
        let settings = &self.settings[modem.profile][direction.index()][place];
        let is_upstream = direction == OneWay::Up;
        let timing = self.plan.plant.upstream_timing();
        let name = modem.queue_name(self.name, &flow.name);
        builder.note_rate(flow.rate);
        let at_start = (Instant::ZERO, Some(Arc::clone(settings)));
        let service_flow = ServiceFlowInfo {
            modem: modem.name.clone().unwrap_or_default(),
            name: flow.name.clone(),
            settings: flow
                .exists_at_start
                .then_some(at_start)
                .into_iter()
                .collect(),
            latency_edges: flow.latency_histogram.clone(),
            minislot_bytes: is_upstream.then_some(timing.minislot_bytes),
            member: member(flow),
        };
        let place = QueuePlace {
            link: self.name,
            name: &name,
            direction: direction.name(),
            rate: flow.rate,
            framing: Framing::ETHERNET,
            acceleration: flow.ack_acceleration,
            map_interval: is_upstream.then(|| timing.map_interval()),
            service_flow: Some(Box::new(service_flow)),
        };
        let queue = builder.queue(place, &flow.queue, token);
        (name, queue)
    }

    fn change(
        &self,
        plan: &ChangePlan,
        hosts: &BTreeMap<String, HostPlan>,
        builder: &mut Builder,
    ) -> FlowChange {
        let modem = &self.plan.modems.all[plan.modem];
        let (direction, place) = plan.flow;
        let flow = &plan.plan;
        self.note_change(plan, builder);
        let queue = plan.queue.as_ref().map(|queue| {
            let name = modem.queue_name(self.name, &flow.name);
            let path = format!("link.{name}.queue.{}", plan.name);
            let discipline = builder.discipline(queue, flow.rate, &path);
            flow.ack_acceleration.before(discipline)
        });
        let port = 2 * plan.modem + direction;
        let drops = &self.plan.modems.profiles[modem.profile].drops;
        FlowChange {
            at: Instant::ZERO + plan.at,
            is_upstream: direction == OneWay::Up.index(),
            flow: self.modem_ports[port].primary as usize + place,
            kind: match plan.kind {
                ChangeKind::Create => Kind::Create,
                ChangeKind::Delete => Kind::Delete,
                ChangeKind::Modify => Kind::Modify,
            },
            limits: flow.limits_with_aggregate(),
            rate: flow.rate,
            qos: flow.qos.clone(),
            queue,
            classifiers: plan.rules.as_ref().map(|rules| {
                let rules = rules
                    .iter()
                    .map(|(place, rules)| (*place, rules.as_slice()));
                (port, classifiers_of(drops, rules, direction, hosts))
            }),
        }
    }

    /// Records the settings that a service flow has from a change on.
    fn note_change(&self, plan: &ChangePlan, builder: &mut Builder) {
        let (direction, place) = plan.flow;
        let index = self.modem_ports[2 * plan.modem + direction].primary as usize + place;
        let (queue, direction) = if direction == OneWay::Up.index() {
            (self.up[index].queue.id(), OneWay::Up)
        } else {
            (self.down[index].queue.id(), OneWay::Down)
        };
        let is_there = plan.kind != ChangeKind::Delete;
        let settings = is_there.then(|| mib::settings(&plan.plan, direction).into());
        let info = &mut builder.queue_infos[queue.0 as usize];
        if let Some(flow) = &mut info.service_flow {
            flow.settings.push((Instant::ZERO + plan.at, settings));
        }
    }
}

/// The part of a service flow in its aggregate, as results describe it.
fn member(flow: &FlowPlan) -> Option<Member> {
    let role = flow.aggregate.as_ref()?.role;
    Some(match role {
        Role::Classic => Member::Classic,
        Role::LowLatency => Member::LowLatency {
            is_protected: matches!(
                &flow.queue,
                QueueConfig::ImmediateAqm(config) if config.protection.is_some()
            ),
        },
    })
}

/// The aggregate of a modem's service flows in one direction, of which `primary` is the index of
/// the first.
fn aggregate(flows: &[FlowPlan], primary: usize) -> Option<Aggregate> {
    let place = |role: Role| {
        let is_it =
            |flow: &FlowPlan| (flow.aggregate.as_ref()).is_some_and(|member| member.role == role);
        flows.iter().position(is_it)
    };
    let classic = place(Role::Classic)?;
    let low = place(Role::LowLatency)?;
    let plan = &flows[classic].aggregate.as_ref()?.aggregate;
    Some(Aggregate {
        classic: primary + classic,
        low: primary + low,
        limits: plan.limits,
        weight: plan.weight,
        coupling: plan.coupling(),
    })
}

/// The settings of a profile's service flows, upstream and downstream.
fn settings(profile: &Profile) -> [Vec<Arc<[Setting]>>; 2] {
    [OneWay::Up, OneWay::Down].map(|direction| {
        let flows = profile.flows[direction.index()].iter();
        flows
            .map(|flow| mib::settings(flow, direction).into())
            .collect()
    })
}

fn neighbours(link: &str, load: &NeighbourLoad, builder: &Builder) -> Neighbours {
    Neighbours {
        load: load.load.0,
        burstiness: load.burstiness,
        correlation: load.correlation,
        time_of_day: load.time_of_day.clone(),
        requests_per_second: load.requests_per_second,
        rng: builder.rng(format_args!("link.{link}.up.neighbours")),
    }
}

/// How a service flow is treated at the start. One that is created later gets nothing until then.
fn qos_at_start(flow: &FlowPlan) -> Qos {
    if flow.exists_at_start {
        flow.qos.clone()
    } else {
        Qos {
            policy: flow.qos.policy,
            ..Qos::default()
        }
    }
}

/// The classifiers of all profiles, and which each profile has.
fn classifiers(
    profiles: &[Profile],
    hosts: &BTreeMap<String, HostPlan>,
) -> (Vec<Classifiers>, Vec<[Option<u32>; 2]>) {
    let mut all = Vec::new();
    let mut of_profile = |profile: &Profile| {
        [0, 1].map(|direction| {
            let rules = rules(profile, direction, hosts);
            (!rules.is_empty()).then(|| {
                all.push(rules);
                all.len() as u32 - 1
            })
        })
    };
    let by_profile = profiles.iter().map(&mut of_profile).collect();
    (all, by_profile)
}

fn rules(profile: &Profile, direction: usize, hosts: &BTreeMap<String, HostPlan>) -> Classifiers {
    let flows = profile.flows[direction].iter().enumerate();
    let flows = flows.filter(|(_, flow)| flow.exists_at_start);
    let rules = flows.map(|(place, flow)| (place, flow.rules.as_slice()));
    classifiers_of(&profile.drops, rules, direction, hosts)
}

/// Drop classifiers, which are for the upstream, and those of service flows by place.
fn classifiers_of<'a>(
    drops: &[RulePlan],
    flows: impl Iterator<Item = (usize, &'a [RulePlan])>,
    direction: usize,
    hosts: &BTreeMap<String, HostPlan>,
) -> Classifiers {
    let drops = if direction == OneWay::Up.index() {
        drops
    } else {
        &[]
    };
    let mut rules = Vec::new();
    for plan in drops {
        let classifier = &plan.classifier;
        rules.push((classifier.priority, rule(classifier, hosts), Verdict::Drop));
    }
    // Default classifiers have the lowest priority, and come after all that have it too.
    let mut defaults = Vec::new();
    for (place, plans) in flows {
        for plan in plans {
            let classifier = &plan.classifier;
            let verdict = Verdict::Flow(place as u32);
            let list = if plan.is_default {
                &mut defaults
            } else {
                &mut rules
            };
            list.push((classifier.priority, rule(classifier, hosts), verdict));
        }
    }
    rules.extend(defaults);
    Classifiers::new(rules)
}
