//! A web page: HTML from one server, then its resources from all of them over a few connections each; a pause; the next load.
//!
//! A browser's scheduling as the two studies describe it: at most so many connections to a server, one request at a time on each (HTTP/1.1
//! without pipelining), connections kept or made anew for every resource. Or, as today, one connection to a server that [many requests
//! share](http2), [names that are looked up](names) first and a [TLS handshake](tls). The load time runs from the first packet to the last byte of the last
//! resource. docs/models/web.md says what is left out.

mod connection;
pub mod http2;
mod names;
mod presets;
mod tls;

use self::connection::Connection;
pub use self::names::Config as DnsConfig;
use self::names::Names;
pub use self::presets::{Browser, Site};
pub use self::tls::Tls;
use super::config::{About, Definition, Fault, ensure, ensure_span};
use super::memory::{Own, Setting};
use super::sizes::share_out;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{Chart, Felt, Kind, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of somebody who reads web pages.
///
/// Use it for what people wait for: a page needs a dozen round trips and more, so that queue delay counts a dozen times.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014), with choices where it is silent.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// A browser by name, whose way with connections stands where nothing else is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<Browser>,
    /// Size of what a server answers to a TLS handshake, most of it certificates.
    pub certificates: ByteCount,
    /// Connections to a server at the same time. More of them take a larger share of the line and start slowly more often. HTTP/2 has one.
    pub connections: u32,
    /// Servers have names, which are looked up at a resolver of its own before anything is sent to them. Without it names are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsConfig>,
    /// Size of the HTML, which comes first and alone.
    pub html: ByteCount,
    /// HTTP/2: one connection to a server, which its requests share. Without it HTTP/1.1, one request at a time on each connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http2: Option<http2::Config>,
    /// How often the page is loaded. Without it, until the flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loads: Option<u64>,
    /// Size of the page in all, HTML included; the sizes of the resources are scaled so that it is met to the byte.
    pub page: ByteCount,
    /// Time between the end of a load and the start of the next.
    pub pause: Duration,
    /// Whether a connection serves one resource after the other. Otherwise each resource has a connection of its own.
    pub persistent: bool,
    /// Size of a request.
    pub request: ByteCount,
    /// How many resources the HTML names.
    pub resources: u32,
    /// How many servers the resources are spread over, in turn. The HTML comes from the first.
    pub servers: u32,
    /// Spread of the resources' sizes: standard deviation of their natural logarithm. 0 makes all equal, 1 has one in twenty above three times
    /// the mean.
    pub sigma: f64,
    /// A published page by name, whose sizes stand where nothing else is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// Time a server takes between a request and its answer.
    pub think: Duration,
    /// The TLS handshake on each connection, before its first request.
    pub tls: Tls,
}

impl Default for Config {
    /// The page of White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014), with choices where it is silent.
    fn default() -> Self {
        Self {
            browser: None,
            // A choice: a chain of two or three certificates.
            certificates: ByteCount(4000),
            connections: 6,
            dns: None,
            // A choice: one 101st of the page, as large as the mean resource.
            html: ByteCount(69_307),
            http2: None,
            loads: None,
            page: ByteCount(7_000_000),
            pause: Duration::from_secs(5),
            // A choice: HTTP/1.1 keeps connections (RFC 9112 §9.3).
            persistent: true,
            // The 3GPP HTTP traffic model's; the study does not say.
            request: ByteCount(328),
            resources: 100,
            servers: 4,
            // A choice: the study says log-normal and no more.
            sigma: 1.0,
            site: None,
            think: Duration::ZERO,
            tls: Tls::Off,
        }
    }
}

/// One sample for each page.
static PAGE_LOAD_TIME: Kind = Kind {
    felt: Felt::AsWaiting,
    place: 20,
    compared_by: &[("page load p50", "p50"), ("page load p95", "p95")],
    chart: Some(Chart {
        name: "pages",
        title: "Page load time",
        axis: "page load (s)",
        factor: 1e-9,
        explanation: "Each point is a page, from its first packet to the last byte of its last \
                      part. Two seconds feel quick; a page needs a dozen or more round trips, so \
                      queue delay counts a dozen times.",
        is_points: true,
        is_after_queues: false,
        place: 40,
    }),
    ..Kind::new(
        "page_load_time",
        Unit::Time,
        "From a web page's first packet to the last byte of its last resource.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "web",
            properties: &[],
            measures: const { &[PAGE_LOAD_TIME.whole()] },
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Down]
    }

    /// The page comes down; requests go up.
    fn carries_data(&self, _direction: Direction) -> [bool; 2] {
        [true; 2]
    }

    fn peers_wanted(&self) -> usize {
        self.servers as usize + usize::from(self.dns.is_some())
    }

    fn check(&self) -> Result<(), Fault> {
        let within = |value: u32, most: u32| (1..=most).contains(&value);
        let size = |size: ByteCount| (1..=LARGEST).contains(&size.0);
        ensure(within(self.connections, 256), "connections", "1 to 256")?;
        ensure(within(self.servers, 1000), "servers", "1 to 1000")?;
        ensure(self.resources <= 100_000, "resources", "at most 100 000")?;
        ensure(size(self.html), "html", "1 B to 1000 GB")?;
        ensure(size(self.request), "request", "1 B to 1000 GB")?;
        ensure(size(self.certificates), "certificates", "1 B to 1000 GB")?;
        ensure(
            size(self.page) && self.page.0 >= self.html.0 + u64::from(self.resources),
            "page",
            "at least the HTML and 1 B for each resource, at most 1000 GB",
        )?;
        ensure(
            self.resources > 0 || self.page == self.html,
            "page",
            "the size of the HTML, where it has no resources",
        )?;
        ensure((0.0..=5.0).contains(&self.sigma), "sigma", "0 to 5")?;
        ensure(self.loads != Some(0), "loads", "at least 1")?;
        self.http2.as_ref().map_or(Ok(()), http2::Config::check)?;
        self.dns.as_ref().map_or(Ok(()), DnsConfig::check)?;
        let speaks_http1 = |browser: &Browser| !browser.keys().contains_key("http2");
        ensure(
            self.http2.is_none() || !self.browser.as_ref().is_some_and(speaks_http1),
            "browser",
            "one that speaks HTTP/2, as `http2` is written (\"modern\"), or none",
        )?;
        ensure(
            self.http2.is_none() || self.connections == Self::default().connections,
            "connections",
            "none with HTTP/2, which has one connection to a server",
        )?;
        ensure(
            self.http2.is_none() || self.persistent,
            "persistent",
            "true with HTTP/2, whose one connection serves everything",
        )?;
        ensure_span(self.pause, "pause")?;
        ensure_span(self.think, "think")
    }

    fn build(&self, _direction: Direction) -> Box<dyn Application> {
        Box::new(Web::new(self.clone()))
    }

    fn connections(&self) -> u64 {
        let each = if self.http2.is_some() {
            1
        } else {
            self.connections
        };
        let most = u64::from(self.resources) + u64::from(self.servers);
        u64::from(self.servers * each).min(most)
    }

    fn most_to_send(&self) -> f64 {
        // Sizes that are drawn are seldom ten times as large.
        let spread = if self.sigma > 0.0 { 10.0 } else { 1.0 };
        spread * self.page.0 as f64
    }

    fn own_bytes(&self) -> Own {
        Own {
            keys: "web.resources",
            text: format!("{} resources × 10 B", self.resources),
            each: f64::from(self.resources) * 10.0,
        }
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.files(self.page.0, of.rtt, self.pause, self.loads)
    }
}

impl Config {
    /// How many it may have at the same time (RFC 9113 §9.1: one).
    fn connections_to_a_server(&self) -> usize {
        if self.http2.is_some() {
            1
        } else {
            self.connections as usize
        }
    }
}

/// Somebody who reads web pages.
#[derive(Debug)]
pub struct Web {
    config: Config,
    /// Sizes of this load's resources; resource `r` is on server `r mod servers`.
    sizes: Vec<u64>,
    /// The next resource that nobody has asked for, by server; past the end once there is none.
    next: Vec<usize>,
    /// Open connections. A browser has a few dozen: finding one by looking at all is as fast as an index.
    connections: Vec<Connection>,
    stage: Stage,
    /// What is known of the servers' names, where they have to be looked up.
    names: Option<Names>,
    /// When this load's first packet left.
    started_at: Instant,
    loads_done: u64,
    /// No further load begins.
    stopped: bool,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Between two loads.
    Idle,
    /// The HTML is not there yet.
    Html,
    /// So many resources are not there yet.
    Resources(usize),
}

impl Web {
    /// Loads that begin when it is started.
    pub fn new(config: Config) -> Self {
        let (resources, servers) = (config.resources as usize, config.servers as usize);
        let connections = config.connections_to_a_server();
        Self {
            sizes: Vec::with_capacity(resources),
            next: Vec::with_capacity(servers),
            connections: Vec::with_capacity(servers * connections),
            names: (config.dns.clone()).map(|dns| Names::new(dns, servers)),
            config,
            stage: Stage::Idle,
            started_at: Instant::ZERO,
            loads_done: 0,
            stopped: false,
        }
    }

    /// Starts a load: the HTML's connection first.
    fn begin(&mut self, cx: &mut AppContext<'_>) {
        // All random numbers of a load are drawn at its start: what the line does to this load cannot change the sizes of the next.
        let resources_in_all = self.config.page.0 - self.config.html.0;
        share_out(
            &mut self.sizes,
            self.config.resources as usize,
            resources_in_all,
            self.config.sigma,
            cx.rng,
        );
        // The scenario may name fewer servers than the page is made for.
        let resolvers = usize::from(self.names.is_some() && cx.peers() > 1);
        let servers = (self.config.servers as usize).min(cx.peers() - resolvers);
        self.next.clear();
        self.next.extend(0..servers);
        self.stage = Stage::Html;
        self.started_at = cx.now;
        if self.knows(0, cx) {
            self.open(0, cx);
        }
    }

    /// Whether the name of `server` is known; if not, it is asked for.
    fn knows(&mut self, server: usize, cx: &mut AppContext<'_>) -> bool {
        let resolver = cx.peers() - 1;
        (self.names.as_mut()).is_none_or(|names| names.find(server, resolver, cx))
    }

    /// The name of `server` has become known.
    fn found(&mut self, server: usize, cx: &mut AppContext<'_>) {
        match self.stage {
            Stage::Html if server == 0 && self.connections.is_empty() => self.open(0, cx),
            Stage::Resources(_) if server < self.next.len() => self.open_more(server, cx),
            Stage::Html | Stage::Idle | Stage::Resources(_) => {}
        }
    }

    fn open(&mut self, server: usize, cx: &mut AppContext<'_>) {
        let connection = Connection::open(server, &self.config, cx);
        self.connections.push(connection);
    }

    /// Opens connections to `server` while there are resources that those being opened will not take up.
    fn open_more(&mut self, server: usize, cx: &mut AppContext<'_>) {
        let mut here = 0;
        let mut opening = 0;
        for connection in &self.connections {
            here += usize::from(connection.server() == server);
            opening += usize::from(connection.server() == server && !connection.ready);
        }
        // Each connection being opened takes up a resource once it is open; which one is settled only then, as in a browser, where the first
        // connection that is free takes what is next.
        let wanted = self.unasked(server).saturating_sub(opening);
        let allowed = (self.config.connections_to_a_server()).saturating_sub(here);
        for _ in 0..wanted.min(allowed) {
            self.open(server, cx);
        }
    }

    /// Resources on `server` that nobody has asked for.
    fn unasked(&self, server: usize) -> usize {
        self.sizes
            .len()
            .saturating_sub(self.next[server])
            .div_ceil(self.next.len())
    }

    /// Asks a connection that has nothing to do, or can do more, for what is next, if anything is.
    fn employ(&mut self, index: usize, cx: &mut AppContext<'_>) {
        while self.connections[index].takes_requests() {
            let server = self.connections[index].server();
            let answer = match self.stage {
                Stage::Html if self.connections[index].is_idle() => self.config.html.0,
                Stage::Resources(_) if self.unasked(server) > 0 => {
                    let resource = self.next[server];
                    self.next[server] += self.next.len();
                    self.sizes[resource]
                }
                Stage::Resources(_) | Stage::Html | Stage::Idle => return,
            };
            self.connections[index].ask(self.config.request.0, answer, cx);
        }
    }

    /// Requests have reached their server.
    fn asked(&mut self, index: usize, total: u64, cx: &mut AppContext<'_>) {
        for _ in 0..self.connections[index].take_requests(total, cx) {
            if self.config.think.is_zero() {
                self.connections[index].answer(cx);
            } else {
                let flow = self.connections[index].flow;
                cx.wake_at(cx.now + self.config.think, u64::from(flow.0));
            }
        }
    }

    /// A server has its answer ready.
    fn answer(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        if let Some(index) = self.find(flow) {
            self.connections[index].answer(cx);
        }
    }

    /// The HTML or resources are there in full.
    fn answered(&mut self, index: usize, total: u64, cx: &mut AppContext<'_>) {
        let had_html = self.stage != Stage::Html;
        while self.connections[index].take_answer(total, cx) {
            self.stage = match self.stage {
                Stage::Html => Stage::Resources(self.sizes.len()),
                Stage::Resources(left) => Stage::Resources(left - 1),
                Stage::Idle => unreachable!("a connection outlived its page"),
            };
            if self.stage == Stage::Resources(0) {
                self.finish(cx);
                return;
            }
        }
        let server = self.connections[index].server();
        if self.config.persistent {
            self.employ(index, cx);
        } else {
            cx.hang_up(self.connections.swap_remove(index).flow);
        }
        // The HTML names the resources: now all servers are connected to. Later only this one's connections have changed.
        if had_html {
            self.open_more(server, cx);
        } else {
            for other in 0..self.next.len() {
                if other == server || self.knows(other, cx) {
                    self.open_more(other, cx);
                }
            }
        }
    }

    /// TCP has given a connection up: what it should have brought is asked for again, over another.
    fn lost(&mut self, index: usize, cx: &mut AppContext<'_>) {
        let lost = self.connections.swap_remove(index);
        if self.stage == Stage::Html {
            self.open(lost.server(), cx);
            return;
        }
        for &size in lost.missing() {
            // The places before the next resource are those of resources asked for: nobody needs their sizes.
            self.next[lost.server()] -= self.next.len();
            self.sizes[self.next[lost.server()]] = size;
        }
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if connection.server() == lost.server() && connection.ready && connection.is_idle() {
                self.employ(index, cx);
            }
        }
        self.open_more(lost.server(), cx);
    }

    /// The page is there: its connections are closed, and the next load is due after the pause.
    fn finish(&mut self, cx: &mut AppContext<'_>) {
        let time = cx.now - self.started_at;
        cx.measure(PAGE_LOAD_TIME.whole(), time.as_nanos() as f64);
        for connection in self.connections.drain(..) {
            cx.hang_up(connection.flow);
        }
        self.stage = Stage::Idle;
        self.loads_done += 1;
        if !self.stopped && self.config.loads.is_none_or(|n| self.loads_done < n) {
            cx.wake_at(cx.now + self.config.pause, NEXT_LOAD);
        }
    }

    /// The open connection with this flow. Flows of closed ones are not ours any more: their late news is ignored.
    fn find(&self, flow: FlowId) -> Option<usize> {
        self.connections
            .iter()
            .position(|connection| connection.flow == flow)
    }

    fn news(&mut self, index: usize, news: News, cx: &mut AppContext<'_>) {
        let connection = &mut self.connections[index];
        match news {
            News::Connected => connection.shake_hands(cx),
            News::Received { at, .. } if !connection.ready => match at {
                Side::Peer => connection.answer_handshake(cx),
                Side::Host => connection.handshake_answered(cx),
            },
            News::Received { at, total } => {
                return match at {
                    Side::Peer => self.asked(index, total, cx),
                    Side::Host => self.answered(index, total, cx),
                };
            }
            News::Writable { .. } => return connection.writable(cx),
            News::Closed => return self.lost(index, cx),
            News::Delivered { .. } => return,
        }
        if connection.ready {
            self.employ(index, cx);
        }
    }

    fn flow_news(&mut self, flow: FlowId, news: News, cx: &mut AppContext<'_>) {
        if let Some(names) = self.names.as_mut().filter(|names| names.owns(flow)) {
            if let Some(server) = names.news(news, cx) {
                self.found(server, cx);
            }
        } else if let Some(index) = self.find(flow) {
            self.news(index, news, cx);
        }
    }
}

impl Application for Web {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.begin(cx),
            // A page under way is loaded to its end.
            AppEvent::Stopped => self.stopped = true,
            AppEvent::Timer { token: NEXT_LOAD } => {
                if !self.stopped {
                    self.begin(cx);
                }
            }
            AppEvent::Timer { token } if token < NEXT_LOAD => {
                self.answer(FlowId(token as u32), cx);
            }
            AppEvent::Timer { token } => {
                if let Some(names) = &mut self.names {
                    names.wake(token, cx);
                }
            }
            AppEvent::Flow { flow, news } => self.flow_news(flow, news, cx),
        }
    }
}

/// Token of the wake-up that starts the next load; smaller ones are flows whose server has been thinking, larger ones those of [`names`].
const NEXT_LOAD: u64 = 1 << 32;
/// 1000 GB.
const LARGEST: u64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::packet::Ecn;
    use crate::traffic::testing::Desk;

    /// A network without delay or limits: carries out what the application asks for, one command a millisecond, and keeps the books.
    struct Network {
        desk: Desk,
        web: Web,
        /// Datagrams on their way.
        datagrams: Vec<(FlowId, Side, u64, u16)>,
        /// Of datagrams to the resolver, so many are lost first.
        lose: usize,
        /// The connection whose turn it is.
        turn: usize,
        /// Per flow: stream offsets waited for, written and told, by side that reads; whether it is open.
        flows: Vec<Books>,
        /// Most connections open to one server at the same time.
        most_open: usize,
    }

    #[derive(Clone, Copy, Default)]
    struct Books {
        server: u32,
        open: bool,
        closes: u32,
        awaits: bool,
        expected: [u64; 2],
        written: [u64; 2],
        told: [u64; 2],
    }

    impl Network {
        fn new(config: Config, peers: u32) -> Self {
            assert_eq!(config.check(), Ok(()));
            let mut network = Self {
                desk: Desk::new(peers),
                web: Web::new(config),
                datagrams: Vec::new(),
                lose: 0,
                turn: 0,
                flows: Vec::new(),
                most_open: 0,
            };
            network.tell(AppEvent::Started);
            network
        }

        /// The news that is due of a connection, if any.
        fn due(&mut self, index: usize) -> Option<News> {
            let exact = self.web.config.http2.is_none() && self.web.config.tls == Tls::Off;
            let books = &mut self.flows[index];
            if !books.open {
                return None;
            }
            // A connection that has asked for nothing is new: told once, and again without harm.
            if books.expected == [0; 2] && books.told == [0; 2] {
                books.told = [1, 0];
                return Some(News::Connected);
            }
            if std::mem::take(&mut books.awaits) {
                return Some(News::Writable { at: Side::Peer });
            }
            Side::BOTH.into_iter().find_map(|at| {
                let (total, written) = (books.expected[at.index()], books.written[at.index()]);
                if total <= books.told[at.index()].max(1) || written < total {
                    return None;
                }
                assert!(!exact || written == total, "no more than asked for");
                books.told[at.index()] = total;
                Some(News::Received { at, total })
            })
        }

        fn tell(&mut self, event: AppEvent) {
            self.desk.tell(&mut self.web, event);
            for (flow, side, command) in self.desk.commands() {
                self.note(flow, side, command);
            }
            for server in self.flows.iter().map(|books| books.server) {
                let open = |books: &&Books| books.open && books.server == server;
                self.most_open = self.most_open.max(self.flows.iter().filter(open).count());
            }
        }

        fn note(&mut self, flow: FlowId, side: Side, command: Command) {
            let index = flow.0 as usize;
            if let Command::Datagram { number, size } = command {
                // The questions' flow is no connection, and is opened at the first of them.
                if index == self.flows.len() {
                    self.flows.push(Books::default());
                }
                if self.lose > 0 {
                    self.lose -= 1;
                } else {
                    self.datagrams.push((flow, side, number, size));
                }
                return;
            }
            if command == Command::Open {
                assert_eq!((index, side), (self.flows.len(), Side::Host));
                self.flows.push(Books {
                    server: self.desk.peer_of(flow),
                    open: true,
                    ..Books::default()
                });
                return;
            }
            let books = &mut self.flows[index];
            match command {
                Command::Send { bytes } => books.written[side.other().index()] += bytes,
                Command::Expect { total } => books.expected[side.index()] = total,
                Command::Close => {
                    books.closes += 1;
                    books.open = false;
                }
                Command::Await { .. } => books.awaits = true,
                Command::Open | Command::Datagram { .. } => panic!("not of a page: {command:?}"),
            }
        }

        /// One thing happens; false if nothing is left to happen.
        fn step(&mut self) -> bool {
            self.desk.now += Duration::from_millis(1);
            if !self.datagrams.is_empty() {
                let (flow, from, number, size) = self.datagrams.remove(0);
                let news = News::Delivered {
                    at: from.other(),
                    number,
                    size,
                    sent_at: self.desk.now,
                    delay: Duration::ZERO,
                    ecn: Ecn::NotEct,
                };
                self.tell(AppEvent::Flow { flow, news });
                return true;
            }
            // Connections take turns, as packets do.
            let count = self.flows.len();
            for index in (self.turn..self.turn + count).map(|turn| turn % count) {
                if let Some(news) = self.due(index) {
                    self.turn = (index + 1) % count;
                    let flow = FlowId(index as u32);
                    self.tell(AppEvent::Flow { flow, news });
                    return true;
                }
            }
            false
        }

        /// Carries on until the page is there, through servers' think times.
        fn load(&mut self) {
            let done = self.web.loads_done;
            while self.web.loads_done == done {
                if !self.step() {
                    let (_, token) = self.desk.next_timer().expect("the page hangs");
                    self.tell(AppEvent::Timer { token });
                }
            }
        }

        fn next_load(&mut self) {
            loop {
                let (_, token) = self.desk.next_timer().expect("another load");
                self.tell(AppEvent::Timer { token });
                if token == NEXT_LOAD {
                    return;
                }
            }
        }

        fn downloaded(&self) -> u64 {
            let read = |books: &Books| books.written[Side::Host.index()];
            self.flows.iter().map(read).sum()
        }

        fn requested(&self) -> u64 {
            let read = |books: &Books| books.written[Side::Peer.index()];
            self.flows.iter().map(read).sum()
        }
    }

    fn buffer_control_page() -> Config {
        // HTML of 20 KiB and 100 images of 3343 B on the mean, from one server.
        Config {
            html: ByteCount(20 * 1024),
            page: ByteCount(20 * 1024 + 100 * 3343),
            servers: 1,
            ..Config::default()
        }
    }

    #[test]
    fn the_aqm_study_s_page_is_seven_megabytes_over_four_times_six_connections() {
        let mut network = Network::new(Config::default(), 4);
        network.load();
        assert_eq!(network.downloaded(), 7_000_000);
        assert_eq!(network.requested(), 101 * 328);
        assert_eq!(network.most_open, 6);
        assert_eq!(
            network.flows.len(),
            24,
            "the HTML's connection is one of them"
        );
        assert!(network.flows.iter().all(|books| books.closes == 2));
    }

    #[test]
    fn resources_are_spread_evenly_over_the_servers() {
        let config = Config {
            sigma: 0.0,
            html: ByteCount(70_000),
            ..Config::default()
        };
        let mut network = Network::new(config, 4);
        network.load();
        for server in 0..4 {
            let of_server = network.flows.iter().filter(|books| books.server == server);
            let requests: u64 = of_server.map(|books| books.expected[1] / 328).sum();
            assert_eq!(requests, if server == 0 { 26 } else { 25 });
        }
    }

    #[test]
    fn ten_persistent_connections_serve_the_buffer_control_page() {
        let config = Config {
            connections: 10,
            ..buffer_control_page()
        };
        let mut network = Network::new(config, 1);
        network.load();
        assert_eq!(network.flows.len(), 10);
        assert_eq!(network.downloaded(), 354_780);
    }

    #[test]
    fn without_persistence_every_resource_has_a_connection_six_at_a_time() {
        let config = Config {
            persistent: false,
            ..buffer_control_page()
        };
        let mut network = Network::new(config, 1);
        network.load();
        assert_eq!(network.flows.len(), 101);
        assert_eq!(network.most_open, 6);
        assert_eq!(network.downloaded(), 354_780);
        assert!(network.flows.iter().all(|books| books.closes == 2));
    }

    #[test]
    fn no_more_connections_are_opened_than_there_are_resources() {
        let config = Config {
            resources: 3,
            servers: 2,
            ..Config::default()
        };
        let mut network = Network::new(config, 2);
        network.load();
        // Two resources on the first server, one of them over the HTML's connection; one on the second.
        assert_eq!(network.flows.len(), 3);
    }

    #[test]
    fn the_load_time_runs_from_the_first_syn_to_the_last_byte() {
        let config = Config {
            resources: 0,
            page: ByteCount(1000),
            html: ByteCount(1000),
            think: Duration::from_millis(30),
            ..Config::default()
        };
        let mut network = Network::new(config, 4);
        network.load();
        // Connected at 1 ms, asked at 2 ms, answered from 32 ms on, read a millisecond later (and one in which nothing happens).
        let times = network.desk.samples("page_load_time");
        assert_eq!(times.len(), 1);
        assert!((33e6..=35e6).contains(&times[0]), "{times:?}");
    }

    #[test]
    fn the_next_load_follows_after_the_pause_until_there_were_enough() {
        let config = Config {
            loads: Some(3),
            resources: 10,
            ..Config::default()
        };
        let mut network = Network::new(config, 4);
        for load in 1..=3 {
            network.load();
            assert_eq!(network.downloaded(), load * 7_000_000);
            if load < 3 {
                let end = network.desk.now;
                network.next_load();
                assert_eq!(network.desk.now, end + Duration::from_secs(5));
            }
        }
        assert_eq!(network.desk.next_timer(), None);
        assert_eq!(network.desk.samples("page_load_time").len(), 3);
    }

    #[test]
    fn a_stop_lets_the_page_finish_and_starts_no_other() {
        let mut network = Network::new(Config::default(), 4);
        for _ in 0..20 {
            network.step();
        }
        network.tell(AppEvent::Stopped);
        network.load();
        assert_eq!(network.desk.next_timer(), None);
    }

    #[test]
    fn fewer_servers_than_wanted_carry_the_whole_page() {
        let mut network = Network::new(Config::default(), 1);
        network.load();
        assert_eq!(network.downloaded(), 7_000_000);
        assert_eq!(network.flows.len(), 6);
    }

    #[test]
    fn what_a_lost_connection_should_have_brought_comes_over_another() {
        let mut network = Network::new(Config::default(), 4);
        // The HTML's connection is given up before it is there, then every seventh step's is, at whatever point.
        for step in 0..200 {
            let open = network.flows.iter().rposition(|books| books.open);
            if step % 7 == 0
                && let Some(index) = open
            {
                let books = &mut network.flows[index];
                books.open = false;
                // What it had brought of the page before stays; what was on its way is lost.
                books.written[0] = if books.told[0] > 1 { books.told[0] } else { 0 };
                let flow = FlowId(index as u32);
                let news = News::Closed;
                network.tell(AppEvent::Flow { flow, news });
            }
            network.step();
        }
        network.load();
        assert_eq!(network.downloaded(), 7_000_000);
        assert_eq!(network.most_open, 6);
    }

    #[test]
    fn news_of_a_closed_connection_is_ignored() {
        let mut network = Network::new(Config::default(), 4);
        network.load();
        let flow = FlowId(0);
        for news in [
            News::Closed,
            News::Connected,
            News::Received {
                at: Side::Host,
                total: 1,
            },
        ] {
            network.tell(AppEvent::Flow { flow, news });
        }
        assert_eq!(network.web.loads_done, 1);
    }

    #[test]
    fn an_http2_browser_has_one_connection_to_a_server_and_loads_the_same_page() {
        for order in [http2::Order::InOrder, http2::Order::RoundRobin] {
            let config = Config {
                http2: Some(http2::Config {
                    order,
                    streams: 7,
                    ..http2::Config::default()
                }),
                ..Config::default()
            };
            let mut network = Network::new(config, 4);
            network.load();
            assert_eq!((network.flows.len(), network.most_open), (4, 1));
            assert_eq!(network.requested(), 101 * 328 + 4 * http2::PREFACE);
            // Each frame has a header of 9 B, and a frame is 16384 B at most.
            let headers = network.downloaded() - 7_000_000;
            let fewest = 9 * 7_000_000_u64.div_ceil(16_384);
            assert!(headers.is_multiple_of(9));
            assert!(
                (fewest..fewest + 9 * 101).contains(&headers),
                "{order:?}: {headers}"
            );
        }
    }

    #[test]
    fn what_a_lost_http2_connection_should_have_brought_comes_over_another() {
        let config = Config {
            http2: Some(http2::Config::default()),
            servers: 1,
            sigma: 0.0,
            ..Config::default()
        };
        let mut network = Network::new(config, 1);
        for _ in 0..60 {
            network.step();
        }
        let books = &mut network.flows[0];
        books.open = false;
        assert!(books.told[0] > 69_307, "resources were on their way");
        let flow = FlowId(0);
        let news = News::Closed;
        network.tell(AppEvent::Flow { flow, news });
        network.load();
        assert_eq!(network.flows.len(), 2);
        assert!(network.requested() > 101 * 328, "some were asked for again");
    }

    #[test]
    fn a_tls_handshake_comes_before_the_first_request_of_a_connection() {
        for (tls, certificates, up, down) in [
            (Tls::Tls13, 4000, 517 + 64, 4000),
            (Tls::Tls12, 3000, 517 + 126, 3000 + 51),
        ] {
            let config = Config {
                certificates: ByteCount(certificates),
                tls,
                ..buffer_control_page()
            };
            let mut network = Network::new(config, 1);
            network.load();
            assert_eq!(network.flows.len(), 6);
            assert_eq!(network.requested(), 101 * 328 + 6 * up, "{tls:?}");
            assert_eq!(network.downloaded(), 354_780 + 6 * down, "{tls:?}");
        }
    }

    #[test]
    fn names_are_looked_up_once_and_again_when_they_are_forgotten() {
        let config = Config {
            dns: Some(DnsConfig {
                lifetime: Duration::from_secs(8),
                ..DnsConfig::default()
            }),
            pause: Duration::from_secs(5),
            ..Config::default()
        };
        let mut network = Network::new(config, 5);
        let resolver = network.desk.peer_of(FlowId(0));
        assert_eq!(resolver, 4, "the last of the remote hosts");
        for questions in [4, 4, 8] {
            network.load();
            assert_eq!(
                network.web.names.as_ref().map(Names::questions),
                Some(questions)
            );
            network.next_load();
        }
    }

    #[test]
    fn a_question_without_answer_is_asked_again_and_the_load_waits() {
        let config = Config {
            dns: Some(DnsConfig::default()),
            resources: 0,
            page: ByteCount(1000),
            html: ByteCount(1000),
            ..Config::default()
        };
        let mut network = Network::new(config, 2);
        network.datagrams.clear();
        network.lose = 1;
        network.load();
        let times = network.desk.samples("page_load_time");
        // The first question was lost, and the second.
        assert!((10e9..10.1e9).contains(&times[0]), "{times:?}");
    }
}
