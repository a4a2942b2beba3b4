//! What is about to happen, and what will be touched then: asked for beforehand (ADR 0016).
//!
//! Only in a [crowd](crate::context). From time to time all that is known to happen in the next moment is worked through step by step: what one step
//! asks for says what the next step asks for, and by the time all have passed the one, it has come. So a great many are waited for together. What will
//! be asked for by what happens in between is not known, and what is asked for in vain costs a little and changes nothing.
//!
//! Wake-ups of each kind are worked through together: a step that had to tell them apart would guess wrong half of the time.

use prefetch_index::prefetch_index;

use super::Simulation;
use crate::context::World;
use crate::endpoint::Endpoint;
use crate::event::{AppId, Event, Source};
use crate::flow::{FlowId, Hop, Port, Protocol};
use crate::near::{Near, Step};
use crate::packet::Side;
use crate::time::{Duration, Instant};

/// Wake-ups of one look ahead, at least and at most, as far as it can be arranged: what they touch must still be near when they come.
const FEW: usize = 48;
const MANY: usize = 192;
/// The shortest and the longest look ahead.
const SHORTEST: Duration = Duration::from_micros(4);
const LONGEST: Duration = Duration::from_millis(1);

/// How far it has been looked ahead, and what was seen.
#[derive(Debug)]
pub(super) struct Ahead {
    /// What is known until then has been asked for.
    pub(super) until: Instant,
    span: Duration,
    seen: Seen,
}

/// Who is woken in the next moment, and whom that concerns.
#[derive(Debug, Default)]
struct Seen {
    lines: Vec<u32>,
    apps: Vec<(AppId, u64)>,
    /// Timers of endpoints.
    timers: Vec<(FlowId, Side)>,
    links: Vec<(u32, u64)>,
    /// Of the lines, those that lead to a link, and which entrance.
    entering: Vec<(u32, u16, Port)>,
    /// Of the lines, those that lead to hosts.
    arriving: Vec<u32>,
    /// Those to whom a packet arrives, and whether that brings data.
    receiving: Vec<(FlowId, Side, bool)>,
    /// Of those, the ones whose application is told of every packet.
    told: Vec<AppId>,
    /// Those who send.
    sending: Vec<(FlowId, Side)>,
    /// Where what they send enters.
    sent_to: Vec<(u16, Port)>,
}

impl Ahead {
    /// From the beginning on; where there is no crowd, never.
    pub(super) fn new(is_crowded: bool) -> Self {
        let until = if is_crowded {
            Instant::ZERO
        } else {
            Instant::FAR_FUTURE
        };
        Self {
            until,
            span: Duration::from_micros(64),
            seen: Seen::default(),
        }
    }

    /// Looks less far next time if there were many, and farther if there were few.
    fn adapt(&mut self) {
        let seen = self.seen.woken();
        if seen > MANY {
            self.span = (self.span / 2).max(SHORTEST);
        } else if seen < FEW {
            self.span = (self.span * 2).min(LONGEST);
        }
    }
}

impl Seen {
    /// Nobody is seen any more.
    fn clear(&mut self) {
        self.apps.clear();
        self.timers.clear();
        self.links.clear();
        self.entering.clear();
        self.arriving.clear();
        self.receiving.clear();
        self.told.clear();
        self.sending.clear();
        self.sent_to.clear();
    }

    /// Somebody who is no line is woken.
    #[inline]
    fn add(&mut self, source: Source, token: u64) {
        match source {
            Source::App(app) => self.apps.push((app, token)),
            Source::Endpoint(index) => {
                let side = Side::BOTH[index as usize % 2];
                self.timers.push((FlowId(index / 2), side));
            }
            Source::Link(link) => self.links.push((link, token)),
            Source::Line(_) | Source::Sampler => {}
        }
    }

    /// Where packets leave a line for a link.
    fn entering(&self) -> impl Iterator<Item = (u16, Port)> + '_ {
        self.entering.iter().map(|&(_, link, port)| (link, port))
    }

    /// Wake-ups.
    fn woken(&self) -> usize {
        self.lines.len() + self.apps.len() + self.timers.len() + self.links.len()
    }
}

impl Simulation {
    /// Asks for what `event` touches and those behind it.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self, event: Event) {
        let mut seen = std::mem::take(&mut self.ahead.seen);
        let until = event.at + self.ahead.span;
        seen.clear();
        // It is no more among those to come, unless it is a line's.
        seen.add(event.source, event.token);
        let events = &self.world.events;
        events.find_lines_before(until, &mut seen.lines);
        events.each_before(until, |source, token| seen.add(source, token));
        self.fetch(&mut seen);
        self.ahead.until = until;
        self.ahead.seen = seen;
        self.ahead.adapt();
    }

    /// Asks for what these will touch.
    fn fetch(&self, seen: &mut Seen) {
        self.fetch_woken(seen);
        self.fetch_states(seen);
        self.find_flows(seen);
        self.find_ways(seen);
        self.fetch_ends(seen, Step::Second);
        for (to, port) in seen.entering() {
            self.fetch_port(to, port, Step::Third);
        }
        self.fetch_ends(seen, Step::Third);
        for &(flow, side, brings_data) in &seen.receiving {
            self.endpoint(flow, side).fetch(Step::Third, brings_data);
        }
    }

    /// Who is woken.
    fn fetch_woken(&self, seen: &Seen) {
        for &line in &seen.lines {
            prefetch_index(&self.world.lines, line as usize);
        }
        for &(app, _) in &seen.apps {
            prefetch_index(&self.apps, app.0 as usize);
        }
        for &(flow, _) in &seen.timers {
            self.fetch_flow(flow);
        }
        self.fetch_links(seen, Step::First);
    }

    /// What they are, and of the lines, where they lead.
    fn fetch_states(&self, seen: &mut Seen) {
        let World { lines, pool, .. } = &self.world;
        for &index in &seen.lines {
            let line = &lines[index as usize];
            line.fetch_front(pool);
            match line.end() {
                Some(Hop::Link { link, port }) => seen.entering.push((index, link, port)),
                _ => seen.arriving.push(index),
            }
        }
        for &(app, _) in &seen.apps {
            self.apps[app.0 as usize].app.fetch(Step::Second);
        }
        for &(flow, side) in &seen.timers {
            self.endpoint(flow, side).fetch(Step::Second, false);
        }
        self.fetch_links(seen, Step::Second);
    }

    /// Which flow it is about, and who sends.
    fn find_flows(&self, seen: &mut Seen) {
        let World {
            flows, lines, pool, ..
        } = &self.world;
        for &(line, to, port) in &seen.entering {
            if let Some(packet) = lines[line as usize].front(pool) {
                flows.fetch(packet.flow);
            }
            self.fetch_port(to, port, Step::First);
        }
        for &line in &seen.arriving {
            if let Some(packet) = lines[line as usize].front(pool) {
                self.fetch_flow(packet.flow);
                let brings_data = packet.payload > 0;
                (seen.receiving).push((packet.flow, packet.from.other(), brings_data));
            }
        }
        for &(flow, side) in &seen.timers {
            self.endpoint(flow, side).fetch(Step::Third, false);
            seen.sending.push((flow, side));
        }
        for &(app, token) in &seen.apps {
            if let Some((flow, side)) = self.apps[app.0 as usize].app.sends_on(token) {
                self.fetch_flow(flow);
                seen.sending.push((flow, side));
            }
        }
        self.fetch_links(seen, Step::Third);
    }

    /// Where a packet of the flow goes.
    fn find_ways(&self, seen: &mut Seen) {
        let World {
            flows,
            lines,
            pool,
            recorder,
            ..
        } = &self.world;
        for &(line, to, port) in &seen.entering {
            if let Some(packet) = lines[line as usize].front(pool) {
                flows.fetch_next_hop(packet, lines);
            }
            self.fetch_port(to, port, Step::Second);
        }
        for &(flow, side, brings_data) in &seen.receiving {
            let header = flows.header(flow);
            recorder.fetch_flow(header.group, side.other());
            if header.protocol == Protocol::Tcp {
                self.endpoint(flow, side).fetch(Step::Second, brings_data);
                // It acknowledges, or sends on.
                seen.sending.push((flow, side));
            } else {
                prefetch_index(&self.apps, header.app.0 as usize);
                seen.told.push(header.app);
            }
        }
        for &(flow, side) in &seen.sending {
            recorder.fetch_flow(flows.header(flow).group, side);
            match flows.first_hop_of(flow, side) {
                Hop::Link { link: to, port } => {
                    self.fetch_port(to, port, Step::First);
                    seen.sent_to.push((to, port));
                }
                Hop::Line(line) => lines[line as usize].fetch(),
                Hop::End => {}
            }
        }
    }

    /// Where it ends: at the links that what is sent enters, and at the applications that are told.
    fn fetch_ends(&self, seen: &Seen, step: Step) {
        for &(to, port) in &seen.sent_to {
            self.fetch_port(to, port, step);
        }
        for app in &seen.told {
            self.apps[app.0 as usize].app.fetch(step);
        }
    }

    #[inline]
    fn endpoint(&self, flow: FlowId, side: Side) -> &dyn Endpoint {
        &*self.endpoints[flow.0 as usize][side.index()]
    }

    #[inline]
    fn fetch_port(&self, link: u16, port: Port, step: Step) {
        self.links[usize::from(link)].fetch(port, step, &self.world.recorder);
    }

    #[inline]
    fn fetch_flow(&self, flow: FlowId) {
        self.world.flows.fetch(flow);
        prefetch_index(&self.endpoints, flow.0 as usize);
    }

    #[inline]
    fn fetch_links(&self, seen: &Seen, step: Step) {
        for &(link, token) in &seen.links {
            self.links[link as usize].fetch_woken(token, step, &self.world.recorder);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Ahead;
    use crate::metrics::table::Table;
    use crate::scenario::{Format, Scenario};

    /// Homes that call, read and send over one cable line, of whichever size.
    const STREET: &str = r#"
        duration = "3 s"
        [link.cable.docsis]
        preset = "docsis30"
        upstream = { rate = "5 Mbit/s", queue = "docsis_pie" }
        downstream.rate = "25 Mbit/s"
        [link.cable.docsis.modem.home]
        count = 30
        [host.family]
        via = ["cable.home"]
        [flow.call]
        host = "family"
        application = "voice"
        [flow.web]
        host = "family"
        application.web = { page = "200 kB", pause = "1 s" }
        [flow.upload]
        host = "family"
        on = "1-8"
        application = "bulk"
        direction = "up"
    "#;

    fn tables(is_crowded: bool) -> Vec<(&'static str, Table)> {
        let scenario =
            Scenario::parse(STREET, Format::Toml, &[], &BTreeMap::new()).expect("a good scenario");
        let mut simulation = scenario.build(1);
        simulation.world.is_crowded = is_crowded;
        simulation.ahead = Ahead::new(is_crowded);
        let end = simulation.end();
        assert!(simulation.run_until(end));
        simulation.tables()
    }

    #[test]
    fn to_look_ahead_changes_nothing() {
        let [with, without] = [true, false].map(|crowd| format!("{:?}", tables(crowd)));
        assert_eq!(with, without);
    }
}
