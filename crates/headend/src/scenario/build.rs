//! From a scenario that makes sense to a simulation that is ready to run. Nothing here can fail.
//!
//! Order is part of the model. Links, flows and hosts are built in the order of their names, so
//! that a scenario gives the same results however it is written down. Every component gets a random
//! stream named by its path.

use super::builder::Builder;
use super::flow::{FlowBuilder, LinkEnds};
use super::host::ipv6_blocks;
use super::plan::Scenario;
use super::queue::MTU;
use crate::metrics::Recorder;
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
        let recorder = Recorder::new(infos, builder.queue_infos, self.interval, self.rows_kept());
        Parts {
            links,
            lines: builder.lines,
            flows,
            apps,
            real_hosts: self.real_hosts(),
            recorder,
            window: builder.fastest.bytes_in(DEEPEST),
            bucket: builder.fastest.time_for(u64::from(MTU)) * PACKETS_PER_BUCKET,
            warmup: self.raw().warmup,
            duration: self.duration(),
        }
    }
}
