//! From a scenario that makes sense to a simulation that is ready to run. Nothing here can fail.
//!
//! Order is part of the model. Links, flows and hosts are built in the order of their names, so
//! that a scenario gives the same results however it is written down. Every component gets a random
//! stream named by its path.

use std::collections::BTreeSet;

use super::builder::Builder;
use super::flow::{FlowBuilder, LinkEnds};
use super::host::ipv6_blocks;
use super::link::LinkPlan;
use super::plan::Scenario;
use super::queue::MTU;
use crate::metrics::Recorder;
use crate::metrics::recorder::QueueInfo;
use crate::simulation::{Parts, Simulation};
use crate::time::Duration;

/// Packet times of the fastest link that one bucket of the event queue spans. Few events are then
/// put into a bucket that is already open, and the horizon still covers the usual delays.
const PACKETS_PER_BUCKET: u64 = 2;
/// Time for which the usual deepest buffers hold a packet.
const DEEPEST: Duration = Duration::from_millis(250);

/// The most delay lines that get room for their packets before the run.
const FEW_LINES: usize = 256;

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

    /// The names of the queues that no flow passes.
    fn queues_without_flows(&self) -> BTreeSet<String> {
        let mut passed = BTreeSet::new();
        for peer in self.groups.iter().flat_map(|group| &group.peers) {
            for &(link, port) in peer.up.iter().chain(&peer.down) {
                let medium = self.links[usize::from(link)].medium();
                passed.insert((link, medium.queue_port(port).0));
            }
        }
        let of_link = |(index, plan)| {
            let plan: &LinkPlan = plan;
            let queues = plan.medium().queues(&plan.name).into_iter();
            let passed = &passed;
            queues.filter_map(move |queue| {
                (!passed.contains(&(index, queue.port.0))).then_some(queue.name)
            })
        };
        (0..).zip(&self.links).flat_map(of_link).collect()
    }

    /// The parts of that simulation, for a caller that changes one.
    pub fn parts(&self, seed: u64) -> Parts {
        let mut builder = Builder::new(seed);
        let (mut links, mut ends) = (Vec::new(), Vec::new());
        for plan in &self.links {
            let medium = plan.medium();
            links.push(medium.build(&plan.name, &self.hosts, &mut builder));
            let (customers, forwarding) = (medium.customers(), medium.forwarding());
            ends.push(LinkEnds::new(
                &plan.name,
                customers,
                forwarding,
                &mut builder,
            ));
        }
        let mut flows = FlowBuilder::new(ends, &mut builder);
        flows.flows.set_ipv6(ipv6_blocks(&self.hosts));
        for group in &self.groups {
            flows.add_group(group);
        }
        let FlowBuilder {
            flows, apps, infos, ..
        } = flows;
        if builder.lines.len() <= FEW_LINES {
            for line in &mut builder.lines {
                line.make_room(builder.fastest);
            }
        }
        let idle = self.queues_without_flows();
        let is_idle = |info: &QueueInfo| idle.contains(&info.name);
        let left_out: Vec<usize> = (builder.queue_infos.iter().enumerate())
            .filter_map(|(number, info)| is_idle(info).then_some(number))
            .collect();
        let mut recorder =
            Recorder::new(infos, builder.queue_infos, self.interval, self.rows_kept());
        recorder.leave_out(left_out);
        Parts {
            links,
            lines: builder.lines,
            flows,
            apps,
            real_hosts: self.real_hosts(),
            router: self.router,
            recorder,
            window: builder.fastest.bytes_in(DEEPEST),
            bucket: builder.fastest.time_for(u64::from(MTU)) * PACKETS_PER_BUCKET,
            warmup: self.raw().warmup,
            duration: self.duration(),
        }
    }
}
