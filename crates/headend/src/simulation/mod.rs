//! The event loop: wakes components in order of time, and lets packets arrive at links and hosts.
//!
//! One event is handled completely before the next: the component is called, then the packets that
//! it emitted or forwarded arrive, and the applications that it notified are called, in order.
//! There are no events without delay.

mod real;

use std::collections::BTreeMap;

pub use self::real::Progress;
use self::real::RealHosts;
use crate::clock::{Arrival, RealHost};
use crate::context::{Context, World};
use crate::custom;
use crate::event::{AppId, Event, EventQueue, Source};
use crate::flow::{FlowHeader, FlowId, FlowTable, Hop, Port};
use crate::line::Line;
use crate::link::Link;
use crate::metrics::Recorder;
use crate::metrics::life::Life;
use crate::metrics::sample::QueueInternals;
use crate::metrics::table::Table;
use crate::metrics::tcp_info::TcpInfos;
use crate::notice::Notice;
use crate::packet::{Packet, Side};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::{QueueId, Sink, TraceKinds};
use crate::traffic::{self, AppContext, AppEvent, Application, Endpoints, GroupSetup};
use crate::wire::capture::Capture;
use crate::wire::qlog::Qlog;

/// Connections of a group whose state goes into the series, at most.
const SAMPLED_CONNECTIONS: u32 = 8;
/// Connections of all groups for which that is done, where there are many groups.
const SAMPLED_OF_ALL: u32 = 1600;

/// An application in its place.
#[derive(Debug)]
pub struct AppSetup {
    /// The application.
    pub app: Box<dyn Application>,
    /// Its random stream.
    pub rng: Rng,
    /// What its flows start from.
    pub group: GroupSetup,
    /// When it starts.
    pub start: Instant,
    /// When it stops taking up new work.
    pub stop: Option<Instant>,
}

/// The parts a simulation is made of.
#[derive(Debug)]
pub struct Parts {
    /// Links, by index.
    pub links: Vec<Box<dyn Link>>,
    /// Delay lines, by index.
    pub lines: Vec<Line>,
    /// Routes (and no flows yet).
    pub flows: FlowTable,
    /// Applications; application `n` is group `n`.
    pub apps: Vec<AppSetup>,
    /// The real hosts, by their numbers.
    pub real_hosts: Vec<RealHost>,
    /// The application that sets the rates of a link, and the link, if there is such.
    pub router: Option<(AppId, usize)>,
    /// The recorder.
    pub recorder: Recorder,
    /// Bytes that a stream without end may have in flight: room is made for so many.
    pub window: u64,
    /// Bucket width of the event queue: a few packet times of the fastest shaped link.
    pub bucket: Duration,
    /// When counting starts.
    pub warmup: Duration,
    /// The end.
    pub duration: Duration,
}

/// A run.
#[derive(Debug)]
pub struct Simulation {
    world: World,
    links: Vec<Box<dyn Link>>,
    endpoints: Endpoints,
    apps: Vec<AppSetup>,
    now: Instant,
    end: Instant,
    events: u64,
    sampled_at: Instant,
    real: RealHosts,
    router: Option<(AppId, usize)>,
    arrivals: Vec<Arrival>,
    life: Option<Life>,
    qlog: Option<Qlog>,
    failure: Option<String>,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("entered", &self.entered)
            .finish_non_exhaustive()
    }
}

impl Simulation {
    /// A run at time zero.
    pub fn new(parts: Parts) -> Self {
        let mut world = World::new(
            EventQueue::new(parts.bucket, parts.lines.len()),
            parts.flows,
            parts.lines,
            parts.recorder,
        );
        world.window = parts.window;
        world.measured_from = Instant::ZERO + parts.warmup;
        let end = Instant::ZERO + parts.duration;
        assert!(
            end < world.events.limit(),
            "a run of days with tens of thousands of delay lines"
        );
        for (index, app) in parts.apps.iter().enumerate() {
            let source = Source::App(AppId(index as u32));
            world.events.push(app.start, source, traffic::START);
            if let Some(stop) = app.stop {
                world.events.push(stop, source, traffic::STOP);
            }
        }
        let warmup = Instant::ZERO + parts.warmup;
        let first_sample = Instant::ZERO + world.recorder.interval();
        world
            .events
            .push(first_sample.min(end), Source::Sampler, SAMPLE);
        if warmup > Instant::ZERO {
            world.events.push(warmup, Source::Sampler, WARMED_UP);
        }
        let mut links = parts.links;
        put_off_departures(&mut links, &world);
        set_ends_of_lines(&mut world);
        for (index, link) in links.iter().enumerate() {
            if let Some((at, token)) = link.first_wake() {
                world.events.push(at, Source::Link(index as u32), token);
            }
        }
        let real = RealHosts::new(parts.real_hosts, &parts.apps);
        if world.lines.iter().any(Line::is_harmful) || !real.is_empty() {
            // A loss or mark counts when the packet is sent, and a frame's end is told when it
            // happens, so that must be an event.
            for link in &mut links {
                link.wake_for_departures();
            }
        }
        let mut simulation = Self {
            world,
            links,
            endpoints: Vec::new(),
            apps: parts.apps,
            now: Instant::ZERO,
            end,
            events: 0,
            sampled_at: Instant::ZERO,
            real,
            router: parts.router,
            arrivals: Vec::new(),
            life: None,
            qlog: None,
            failure: None,
        };
        // Of a run before this one.
        custom::take_failure();
        simulation.look_at_limits();
        simulation.world.recorder.start_measuring_limits();
        simulation
    }

    /// Adds a listener, before the run begins.
    pub fn add_sink(&mut self, sink: Box<dyn Sink>) {
        self.listen_for(sink.interest());
        self.world.recorder.add_sink(sink);
    }

    /// Captures packets, before the run begins. [`Self::take_capture`] gives the files.
    pub fn capture(&mut self, mut capture: Capture) {
        self.listen_for(capture.interest());
        let groups = self.apps.iter().map(|app| app.group.tcp.options());
        capture.set_options(groups.collect());
        self.world.recorder.set_capture(capture);
    }

    /// Bytes that were captured, or written as qlog, since that was last taken.
    pub fn captured(&mut self) -> usize {
        let capture = self.world.recorder.capture();
        let captured = capture.map_or(0, |capture| capture.bytes());
        captured + self.qlog.as_ref().map_or(0, Qlog::bytes)
    }

    /// What was captured since the last call, by capture point, to be appended to what earlier
    /// calls returned. Empty if nothing is captured.
    pub fn take_capture(&mut self) -> Vec<(String, Vec<u8>)> {
        let capture = self.world.recorder.capture();
        capture.map(Capture::take).unwrap_or_default()
    }

    /// Prepares the links for a listener to `kinds`: it must learn of an event in a queue when the
    /// event happens, so no departure may be computed in advance or put off.
    fn listen_for(&mut self, kinds: TraceKinds) {
        let of_queues = TraceKinds::ENQUEUED
            .union(TraceKinds::DEQUEUED)
            .union(TraceKinds::DISCARDED)
            .union(TraceKinds::MARKED);
        if kinds.meets(of_queues) {
            for link in &mut self.links {
                link.wake_for_departures();
            }
        }
    }

    /// The queue of this name.
    pub(crate) fn find_queue(&self, name: &str) -> Option<QueueId> {
        self.world.recorder.find_queue(name)
    }

    /// The names of the queues, by their numbers in the trace.
    pub fn queue_names(&self) -> impl Iterator<Item = &str> {
        self.world.recorder.queue_names()
    }

    /// The bytes that the line of each queue counts beyond a packet's IP bytes.
    pub fn queue_overheads(&self) -> impl Iterator<Item = u64> {
        self.world.recorder.queue_overheads()
    }

    /// The names of the flows, by the numbers of their groups in the trace.
    pub fn flow_names(&self) -> impl Iterator<Item = &str> {
        self.world.recorder.group_names()
    }

    /// Follows the first packet of `flow` that enters a queue at or after `from`, and lists its
    /// life in a table `steps`. False if there is no such flow. Called before the run begins.
    pub fn follow(&mut self, flow: &str, from: Instant) -> bool {
        let Some((group, side)) = self.world.recorder.find_group(flow) else {
            return false;
        };
        let life = Life::of(group, side, from, self.world.recorder.number_links());
        self.add_sink(Box::new(life.clone()));
        self.life = Some(life);
        true
    }

    /// Writes what happens at the sending ends of the TCP connections of `flows` as qlog, before
    /// the run begins. [`Self::take_qlog`] gives the traces. False if there is no such flow.
    pub fn write_qlog<'a>(&mut self, flows: impl IntoIterator<Item = &'a str>) -> bool {
        let named = flows.into_iter().map(|name| {
            let (group, _) = self.world.recorder.find_group(name)?;
            Some((group, name.to_owned()))
        });
        let Some(named) = named.collect() else {
            return false;
        };
        let qlog = Qlog::of(named);
        self.add_sink(Box::new(qlog.clone()));
        self.qlog = Some(qlog);
        true
    }

    /// What was written as qlog since the last call, by the name of its trace, to be appended to
    /// what earlier calls returned. Empty if nothing is written.
    pub fn take_qlog(&mut self) -> Vec<(String, Vec<u8>)> {
        self.qlog.as_ref().map(Qlog::take).unwrap_or_default()
    }

    /// Keeps what Linux's `tcp_info` would say of the senders of `flows` at the end of each
    /// interval in a table `tcp_info`, before the run begins. False if there is no such flow.
    pub fn keep_tcp_info<'a>(&mut self, flows: impl IntoIterator<Item = &'a str>) -> bool {
        let recorder = &mut self.world.recorder;
        let groups = flows.into_iter().map(|name| recorder.find_group(name));
        let Some(groups) = groups.collect::<Option<Vec<_>>>() else {
            return false;
        };
        recorder.keep_tcp_infos(groups.into_iter().map(|(group, _)| group));
        true
    }

    /// Ends of connections without a trace, and rows of `tcp_info` that there was no room for.
    pub fn left_out(&self) -> u64 {
        let traces = self.qlog.as_ref().map_or(0, Qlog::left_out);
        let infos = self.world.recorder.tcp_infos();
        traces as u64 + infos.map_or(0, TcpInfos::left_out)
    }

    /// Takes over the changes of service flows that `other` has yet to make after now. `other` is a
    /// simulation at time zero, of the same scenario and seed, with further changes after now: from
    /// now on this run is that of the other scenario. False, and nothing is taken over, if `other`
    /// has other queues, as it has where a change creates a service flow.
    pub fn take_changes(&mut self, mut other: Self) -> bool {
        if !self.queue_names().eq(other.queue_names()) {
            return false;
        }
        for (index, (link, of_other)) in (0..).zip(self.links.iter_mut().zip(&mut other.links)) {
            let mut changes = of_other.give_changes();
            changes.retain(|change| change.at > self.now);
            if let Some((at, token)) = link.take_changes(changes) {
                self.world.events.push(at, Source::Link(index), token);
            }
        }
        self.world.recorder.take_settings(other.world.recorder);
        true
    }

    /// The state of the queue with this number in the trace, where its link can tell that at any
    /// time.
    pub fn queue_internals(&self, queue: QueueId) -> Option<QueueInternals> {
        let mut links = self.links.iter();
        links.find_map(|link| link.internals(queue, self.now))
    }

    /// The time of the latest event.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The end of the run.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Data packets delivered in the measured part so far.
    pub fn data_packets_delivered(&self) -> u64 {
        self.world.recorder.data_packets_delivered()
    }

    /// Runs in virtual time until `until` or the end of the run; true once the end is reached, or
    /// once code that is not headend's has failed.
    pub fn run_until(&mut self, until: Instant) -> bool {
        let until = until.min(self.end);
        let is_watched = custom::is_in_use();
        while let Some(event) = self.world.events.pop_until(until) {
            self.handle(event);
            if is_watched && self.has_failed() {
                return true;
            }
        }
        self.now = self.now.max(until);
        self.now == self.end
    }

    /// What code that is not headend's said when it failed, which ended the run.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether code that is not headend's has failed by now.
    fn has_failed(&mut self) -> bool {
        if self.failure.is_none() {
            self.failure = custom::take_failure();
        }
        self.failure.is_some()
    }

    /// The result tables so far, after the conservation check.
    pub fn tables(&mut self) -> Vec<(&'static str, Table)> {
        self.check_conservation();
        self.catch_up();
        if self.now > self.sampled_at {
            self.sample();
        }
        self.look_at_channels();
        self.catch_up_endpoints();
        for (group, transport) in self.world.real_flows.transports() {
            self.world.recorder.name_transport(group, transport);
        }
        self.look_at_limits();
        let mut tables = self.world.recorder.tables(self.now, self.events);
        tables.extend(self.real_flows().map(|table| ("real_flows", table)));
        if let Some(life) = &self.life {
            let recorder = &self.world.recorder;
            tables.push((
                "steps",
                life.table(|queue| recorder.queue_name(queue).to_owned()),
            ));
        }
        let infos = self.world.recorder.tcp_infos();
        tables.extend(infos.map(|infos| ("tcp_info", infos.table().clone())));
        tables
    }

    /// Every packet that entered was delivered, was discarded, or is still somewhere.
    fn check_conservation(&self) {
        let held: u64 = self.links.iter().map(|link| link.held()).sum::<u64>()
            + self.world.lines.iter().map(Line::held).sum::<u64>();
        let World {
            entered,
            delivered,
            discarded,
            ..
        } = self.world;
        assert_eq!(
            entered,
            delivered + discarded + held,
            "packets are conserved: entered = delivered {delivered} + discarded {discarded} + held \
             {held}"
        );
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        debug_assert!(event.at >= self.now, "time does not go back");
        self.now = event.at;
        self.events += 1;
        match event.source {
            Source::Line(index) => self.wake_line(index),
            Source::Link(index) => {
                let mut cx = Context::new(self.now, &mut self.world, event.source);
                self.links[index as usize].wake(event.token, &mut cx);
            }
            Source::Endpoint(index) => self.wake_endpoint(index, event),
            Source::App(app) => {
                let told = match event.token {
                    traffic::START => AppEvent::Started,
                    traffic::STOP => AppEvent::Stopped,
                    token => AppEvent::Timer { token },
                };
                self.tell(app, told);
            }
            Source::Sampler => self.wake_sampler(event.token),
        }
        self.settle();
    }

    fn wake_line(&mut self, index: u32) {
        loop {
            let line = &mut self.world.lines[index as usize];
            let (packet, end) = (line.take(), line.end());
            let next = line.next_due();
            let is_last = next.is_none_or(|due| due > self.now);
            if is_last {
                // Set before the packet arrives, which may put another on the empty line.
                self.world.events.set_line(index, next);
            }
            let hop = end
                .unwrap_or_else(|| (self.world.flows).hop_of(packet.flow, packet.from, packet.hop));
            self.arrive(hop, packet);
            if is_last {
                break;
            }
            // All that one packet causes comes before the next packet.
            self.settle();
        }
    }

    fn wake_endpoint(&mut self, index: u32, event: Event) {
        let (flow, side) = (FlowId(index / 2), (index % 2) as usize);
        if self.world.flows.header(flow).generation == (event.token >> 32) as u32 {
            let mut cx = Context::new(self.now, &mut self.world, event.source);
            self.endpoints[flow.0 as usize][side].wake(event.token as u32, &mut cx);
        }
    }

    fn wake_sampler(&mut self, token: u64) {
        if token == WARMED_UP {
            self.catch_up();
            self.look_at_channels();
            self.catch_up_endpoints();
            self.world.recorder.start_measuring(self.now);
            self.look_at_limits();
            self.world.recorder.start_measuring_limits();
            return;
        }
        self.sample();
        let next = self.now + self.world.recorder.interval();
        if next <= self.end {
            self.world.events.push(next, Source::Sampler, SAMPLE);
        }
    }

    /// Links that compute departures in advance or put them off record those that were due by now.
    fn catch_up(&mut self) {
        for (index, link) in self.links.iter_mut().enumerate() {
            let source = Source::Link(index as u32);
            link.catch_up(&mut Context::new(self.now, &mut self.world, source));
        }
    }

    /// Endpoints record measurements that are still pending.
    fn catch_up_endpoints(&mut self) {
        for (slot, endpoints) in (0..).zip(&mut self.endpoints) {
            if self.world.flows.is_closed(FlowId(slot)) {
                continue;
            }
            for (side, endpoint) in Side::BOTH.into_iter().zip(endpoints) {
                let source = Source::Endpoint(slot * 2 + side.index() as u32);
                endpoint.catch_up(&mut Context::new(self.now, &mut self.world, source));
            }
        }
    }

    fn look_at_channels(&mut self) {
        let recorder = &mut self.world.recorder;
        for link in &self.links {
            link.visit_channels(self.now, &mut |queue, so_far| {
                recorder.channel(queue, so_far);
            });
            link.report_air(self.now, recorder);
        }
        for link in &mut self.links {
            link.report_tins(recorder);
        }
    }

    fn look_at_limits(&mut self) {
        let recorder = &mut self.world.recorder;
        recorder.read_limits();
        for link in &self.links {
            link.report_limits(self.now, recorder);
        }
    }

    fn sample(&mut self) {
        self.catch_up();
        let length = self.now.since(self.sampled_at);
        self.sampled_at = self.now;
        let recorder = &mut self.world.recorder;
        recorder.close_interval(self.now);
        for link in &mut self.links {
            link.visit_queues(self.now, &mut |shown| match shown {
                Some((queue, internals)) => recorder.queue_row(self.now, length, queue, internals),
                None => recorder.same_queue_row(),
            });
        }
        let sampled = sampled_connections(self.apps.len());
        let flows = &self.world.flows;
        for (slot, endpoints) in (0..).zip(&self.endpoints) {
            let FlowHeader { group, ordinal, .. } = *flows.header(FlowId(slot));
            if ordinal >= sampled {
                continue;
            }
            for sample in endpoints.iter().filter_map(|endpoint| endpoint.sample()) {
                recorder.connection_row(self.now, (group, ordinal), sample);
            }
        }
        if self.world.recorder.tcp_infos().is_some() {
            self.sample_tcp_infos();
        }
    }

    fn sample_tcp_infos(&mut self) {
        let (recorder, flows) = (&mut self.world.recorder, &self.world.flows);
        for (slot, endpoints) in (0..).zip(&self.endpoints) {
            let FlowHeader { group, ordinal, .. } = *flows.header(FlowId(slot));
            for (side, endpoint) in Side::BOTH.into_iter().zip(endpoints) {
                if let Some(info) = endpoint.tcp_info(self.now) {
                    recorder.tcp_info_row(self.now, (group, ordinal), side, &info);
                }
            }
        }
    }

    /// Lets packets arrive and notifies applications until nothing is left to do at this instant.
    #[inline]
    fn settle(&mut self) {
        if !self.world.outbox.is_empty() || !self.world.notices.is_empty() {
            self.settle_all();
        }
    }

    fn settle_all(&mut self) {
        loop {
            if let Some((hop, packet)) = self.world.outbox.pop_front() {
                self.arrive(hop, packet);
            } else if let Some(notice) = self.world.notices.pop_front() {
                self.pass_on(notice);
            } else {
                return;
            }
        }
    }

    /// A packet arrives at a hop of its route.
    fn arrive(&mut self, at: Hop, packet: Packet) {
        match at {
            Hop::Link { link, port } => {
                let source = Source::Link(u32::from(link));
                let mut cx = Context::new(self.now, &mut self.world, source);
                self.links[usize::from(link)].arrive(port, packet, &mut cx);
            }
            Hop::Line(index) => {
                let hop = packet.hop;
                Context::new(self.now, &mut self.world, Source::Line(index))
                    .travel(packet, hop, self.now);
            }
            Hop::End => self.deliver(packet),
        }
    }

    /// A packet has reached the host at the end of its route.
    fn deliver(&mut self, packet: Packet) {
        let (flow, to) = (packet.flow, packet.from.other());
        let source = Source::Endpoint(flow.0 * 2 + to.index() as u32);
        let mut cx = Context::new(self.now, &mut self.world, source);
        cx.count_delivered(&packet);
        self.endpoints[flow.0 as usize][to.index()].receive(&packet, &mut cx);
        cx.end(packet);
    }

    fn pass_on(&mut self, notice: Notice) {
        self.tell(notice.app, traffic::app_event(notice));
    }

    fn tell(&mut self, app: AppId, event: AppEvent) {
        // It may open a flow, for which a discard put off may have made a slot free.
        self.catch_up();
        let router = self.router.filter(|&(setter, _)| setter == app);
        if let Some((_, link)) = router {
            let link = &self.links[link];
            self.world.router.sent = [UP, DOWN].map(|port| link.sent(port));
        }
        let (application, mut cx) = self.application(app);
        application.on(event, &mut cx);
        if let Some((_, link)) = router {
            let wanted = std::mem::take(&mut self.world.router.wanted);
            for (port, rate) in [UP, DOWN].into_iter().zip(wanted) {
                if let Some(rate) = rate {
                    self.links[link].set_rate(port, rate, self.now);
                }
            }
        }
    }

    /// An application, and what it may touch.
    fn application(&mut self, app: AppId) -> (&mut dyn Application, AppContext<'_>) {
        let setup = &mut self.apps[app.0 as usize];
        let cx = AppContext {
            now: self.now,
            rng: &mut setup.rng,
            app,
            mark: 0,
            group: &mut setup.group,
            endpoints: &mut self.endpoints,
            world: &mut self.world,
        };
        (&mut *setup.app, cx)
    }
}

/// Connections of each of so many applications that are in the series.
pub(crate) fn sampled_connections(applications: usize) -> u32 {
    (SAMPLED_OF_ALL / (applications as u32).max(1)).clamp(1, SAMPLED_CONNECTIONS)
}

/// Lets each link put off its departures: by the shortest delay of the lines behind it, since
/// nothing else observes a packet before that.
fn put_off_departures(links: &mut [Box<dyn Link>], world: &World) {
    let mut spans = BTreeMap::new();
    for (link, port, next) in world.flows.exits() {
        let span = match next {
            Hop::Line(line) => world.lines[line as usize].delay(),
            Hop::Link { .. } | Hop::End => Duration::ZERO,
        };
        let shortest = spans.entry((link, port.0)).or_insert(span);
        *shortest = span.min(*shortest);
    }
    for ((link, port), span) in spans {
        links[usize::from(link)].put_off(Port(port), span);
    }
}

/// Tells each delay line the hop behind it, if that is the same on every route, so that no packet's
/// route has to be looked up when the packet leaves the line.
fn set_ends_of_lines(world: &mut World) {
    let mut ends = BTreeMap::new();
    for (line, next) in world.flows.lines() {
        let end = ends.entry(line).or_insert(Some(next));
        *end = end.filter(|&end| end == next);
    }
    for (line, end) in ends {
        if let Some(end) = end {
            world.lines[line as usize].set_end(end);
        }
    }
}

/// The ports of a plain link.
const UP: Port = Port(0);
const DOWN: Port = Port(1);

const SAMPLE: u64 = 0;
const WARMED_UP: u64 = 1;
