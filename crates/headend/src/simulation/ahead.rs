//! What is about to happen, and what will be touched then: asked for while there is still something else to do (ADR 0015).
//!
//! Only in a [crowd](crate::context): who is next is known of lines and of the opened bucket of the wheel, and is only a guess, as what happens before may
//! wake somebody else. A wrong guess costs a little and changes nothing.

use prefetch_index::prefetch_index;

use super::Simulation;
use crate::context::World;
use crate::event::Source;
use crate::flow::{FlowHeader, FlowId, Hop};
use crate::packet::Side;

impl Simulation {
    /// Asks for the first packet of the line that is woken next.
    #[inline]
    pub(super) fn fetch_next_line(&self) {
        let World {
            lines,
            pool,
            events,
            ..
        } = &self.world;
        if let Some(line) = lines.get(events.next_line() as usize) {
            line.fetch_front(pool);
        }
    }

    /// Asks for what the next wake-ups of others than lines will touch.
    #[inline]
    pub(super) fn fetch_next_woken(&self) {
        let [after, next] = self.world.events.next_two();
        match after.map(|(source, _)| source) {
            Some(Source::App(app)) => prefetch_index(&self.apps, app.0 as usize),
            Some(Source::Endpoint(index)) => {
                prefetch_index(&self.endpoints, index as usize / 2);
                self.world.flows.fetch(FlowId(index / 2));
            }
            _ => {}
        }
        match next {
            Some((Source::App(app), _)) => self.apps[app.0 as usize].app.fetch(),
            Some((Source::Endpoint(index), _)) => {
                self.endpoints[index as usize / 2][index as usize % 2].fetch();
            }
            Some((Source::Link(link), token)) => self.links[link as usize].fetch_woken(token),
            _ => {}
        }
    }

    /// Asks for what the first packet of the line that is woken next will touch first.
    #[inline]
    pub(super) fn fetch_next_packet(&self) {
        let World {
            lines,
            pool,
            events,
            flows,
            ..
        } = &self.world;
        let Some(line) = lines.get(events.next_line() as usize) else {
            return;
        };
        match line.end() {
            Some(Hop::Link { link, port }) => self.links[usize::from(link)].fetch(port),
            _ => {
                if let Some(flow) = line.front_flow(pool) {
                    flows.fetch(flow);
                    prefetch_index(&self.endpoints, flow.0 as usize);
                }
            }
        }
    }

    /// Asks for what a packet will touch that has reached one side of `flow`.
    pub(super) fn fetch_host(&self, flow: FlowId, to: Side) {
        self.endpoints[flow.0 as usize][to.index()].fetch();
        let FlowHeader { group, app, .. } = *self.world.flows.header(flow);
        self.world.recorder.fetch_flow(group, to.other());
        prefetch_index(&self.apps, app.0 as usize);
    }
}
