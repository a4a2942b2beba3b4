//! Web browsing: loads a page from several servers, waits, and loads it again.
//!
//! A page is the HTML from one server and then its resources from all servers. The browser
//! schedules requests as in two studies: each server has a limited number of connections, and each
//! connection carries one request at a time (HTTP/1.1 without pipelining). Connections are kept, or
//! opened anew for every resource.
//!
//! Alternatively, as in a modern browser, there is one connection to each server that [many
//! requests share](http2), names are [looked up](names) first, and each connection begins with a
//! [TLS handshake](tls). The load time is the time from the first packet to the last byte of the
//! last resource. docs/models/web.md lists what is left out.

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
use super::definition::{About, Definition, Fault, Property, ensure, ensure_span};
use super::memory::{Own, Setting};
use super::sizes::share_out;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{Chart, Felt, Kind, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of web browsing.
///
/// Use it for waiting times of users: a page needs a dozen round trips and more, so that queue
/// delay counts a dozen times.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014), with
/// choices where it gives no value.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Name of a browser, whose values apply to the keys that are not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub browser: Option<Browser>,
    /// Size of a server's response in a TLS handshake, most of it certificates.
    pub certificates: ByteCount,
    /// Largest number of connections to a server at the same time. More of them get a larger share
    /// of the line, and more of them go through slow start. HTTP/2 has one.
    pub connections: u32,
    /// DNS look-ups: the names of the servers are looked up at a resolver, a remote host of its
    /// own, before anything is sent to the servers. Without it, the addresses are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsConfig>,
    /// Size of the HTML, which is loaded first and alone.
    pub html: ByteCount,
    /// HTTP/2: one connection to each server, which all requests share. Without it HTTP/1.1, with
    /// one request at a time on each connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http2: Option<http2::Config>,
    /// Number of page loads. Without it, loads follow each other until the flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loads: Option<u64>,
    /// Total size of the page, HTML included. The sizes of the resources are scaled to give this
    /// total exactly.
    pub page: ByteCount,
    /// Time between the end of a load and the start of the next.
    pub pause: Duration,
    /// Whether a connection is used for several resources, one after the other. Otherwise each
    /// resource has a connection of its own.
    pub persistent: bool,
    /// Size of a request.
    pub request: ByteCount,
    /// Number of resources that the HTML references.
    pub resources: u32,
    /// Number of servers over which the resources are distributed in turn. The HTML comes from the
    /// first.
    pub servers: u32,
    /// Spread of the resources' sizes: standard deviation of their natural logarithm. With 0 all
    /// are equal; with 1 one in twenty is larger than three times the mean.
    pub sigma: f64,
    /// Name of a published page, whose sizes apply to the keys that are not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// Time that a server takes between a request and its response.
    pub think: Duration,
    /// The TLS handshake on each connection, before its first request.
    pub tls: Tls,
}

impl Default for Config {
    /// The page of White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014),
    /// with choices where it gives no value.
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
            // The value of the 3GPP HTTP traffic model; the study gives none.
            request: ByteCount(328),
            resources: 100,
            servers: 4,
            // A choice: the study says only that sizes are log-normal.
            sigma: 1.0,
            site: None,
            think: Duration::ZERO,
            tls: Tls::Off,
        }
    }
}

/// One sample for each page load.
static PAGE_LOAD_TIME: Kind = Kind {
    felt: Felt::AsWaiting,
    place: 20,
    compared_by: &[("page load p50", "p50"), ("page load p95", "p95")],
    figure: Some("pages"),
    demand: Some(("p50", "good")),
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
            properties: &[Property::Distant],
            measures: const { &[PAGE_LOAD_TIME.whole()] },
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Down]
    }

    /// The page is sent down, requests are sent up.
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
        // A random size is rarely ten times as large as its mean.
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
    /// Largest number of connections to a server at the same time (RFC 9113 §9.1: one).
    fn connections_to_a_server(&self) -> usize {
        if self.http2.is_some() {
            1
        } else {
            self.connections as usize
        }
    }
}

/// A browser that loads a page again and again.
#[derive(Debug)]
pub struct Web {
    config: Config,
    /// Sizes of the resources in the current load. Resource `r` is on server `r mod servers`.
    sizes: Vec<u64>,
    /// The next resource that has not been requested, by server; beyond the end if there is none.
    next: Vec<usize>,
    /// Open connections. A browser has a few dozen, so that a linear search is fast enough.
    connections: Vec<Connection>,
    stage: Stage,
    /// Known names of the servers, if names have to be looked up.
    names: Option<Names>,
    /// Time at which the first packet of the current load was sent.
    started_at: Instant,
    loads_done: u64,
    /// Whether no further load begins.
    stopped: bool,
}

/// Progress of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No load is in progress.
    Idle,
    /// The HTML is not complete yet.
    Html,
    /// This many resources are not complete yet.
    Resources(usize),
}

impl Web {
    /// Creates a browser that begins its first load on [`AppEvent::Started`].
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

    /// Begins a load by opening the connection for the HTML.
    fn begin(&mut self, cx: &mut AppContext<'_>) {
        // All random numbers of a load are drawn at its start. What happens to this load on the
        // line thus cannot change the sizes in the next.
        let resources_in_all = self.config.page.0 - self.config.html.0;
        share_out(
            &mut self.sizes,
            self.config.resources as usize,
            resources_in_all,
            self.config.sigma,
            cx.rng,
        );
        // The scenario may have fewer servers than the page is configured for.
        let resolvers = usize::from(self.names.is_some() && cx.peers() > 1);
        let servers = (self.config.servers as usize).min(cx.peers() - resolvers);
        self.next.clear();
        self.next.extend(0..servers);
        self.stage = Stage::Html;
        self.started_at = cx.now;
        if self.resolve(0, cx) {
            self.open(0, cx);
        }
    }

    /// Whether the name of `server` is known. If not, looks it up.
    fn resolve(&mut self, server: usize, cx: &mut AppContext<'_>) -> bool {
        let resolver = cx.peers() - 1;
        (self.names.as_mut()).is_none_or(|names| names.resolve(server, resolver, cx))
    }

    /// Handles the answer to the look-up of `server`.
    fn resolved(&mut self, server: usize, cx: &mut AppContext<'_>) {
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

    /// Opens connections to `server` while there are more resources left than connections being
    /// opened.
    fn open_more(&mut self, server: usize, cx: &mut AppContext<'_>) {
        let mut here = 0;
        let mut opening = 0;
        for connection in &self.connections {
            here += usize::from(connection.server() == server);
            opening += usize::from(connection.server() == server && !connection.ready);
        }
        // Each connection that is being opened will request one resource. Which one is decided only
        // once it is established: as in a browser, the first free connection requests the next
        // resource.
        let wanted = self.unrequested(server).saturating_sub(opening);
        let allowed = (self.config.connections_to_a_server()).saturating_sub(here);
        for _ in 0..wanted.min(allowed) {
            self.open(server, cx);
        }
    }

    /// Number of resources on `server` that have not been requested.
    fn unrequested(&self, server: usize) -> usize {
        self.sizes
            .len()
            .saturating_sub(self.next[server])
            .div_ceil(self.next.len())
    }

    /// Sends the next requests on a connection while it can take any.
    fn send_requests(&mut self, index: usize, cx: &mut AppContext<'_>) {
        while self.connections[index].takes_requests() {
            let server = self.connections[index].server();
            let answer = match self.stage {
                Stage::Html if self.connections[index].is_idle() => self.config.html.0,
                Stage::Resources(_) if self.unrequested(server) > 0 => {
                    let resource = self.next[server];
                    self.next[server] += self.next.len();
                    self.sizes[resource]
                }
                Stage::Resources(_) | Stage::Html | Stage::Idle => return,
            };
            self.connections[index].send_request(self.config.request.0, answer, cx);
        }
    }

    /// Handles requests that have arrived at their server.
    fn requests_arrived(&mut self, index: usize, total: u64, cx: &mut AppContext<'_>) {
        for _ in 0..self.connections[index].take_requests(total, cx) {
            if self.config.think.is_zero() {
                self.connections[index].answer(cx);
            } else {
                let flow = self.connections[index].flow;
                cx.wake_at(cx.now + self.config.think, u64::from(flow.0));
            }
        }
    }

    /// Sends a response that a server has ready.
    fn answer(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        if let Some(index) = self.find(flow) {
            self.connections[index].answer(cx);
        }
    }

    /// Handles responses that are complete: the HTML, or resources.
    fn responses_arrived(&mut self, index: usize, total: u64, cx: &mut AppContext<'_>) {
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
            self.send_requests(index, cx);
        } else {
            cx.hang_up(self.connections.swap_remove(index).flow);
        }
        // The HTML references the resources, so that connections to all servers are opened now.
        // Later only the number of connections to this server has changed.
        if had_html {
            self.open_more(server, cx);
        } else {
            for other in 0..self.next.len() {
                if other == server || self.resolve(other, cx) {
                    self.open_more(other, cx);
                }
            }
        }
    }

    /// TCP has given up a connection: its missing responses are requested again on another.
    fn lost(&mut self, index: usize, cx: &mut AppContext<'_>) {
        let lost = self.connections.swap_remove(index);
        if self.stage == Stage::Html {
            self.open(lost.server(), cx);
            return;
        }
        for &size in lost.outstanding() {
            // Entries before the next resource belong to requested resources, whose sizes are no
            // longer needed.
            self.next[lost.server()] -= self.next.len();
            self.sizes[self.next[lost.server()]] = size;
        }
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if connection.server() == lost.server() && connection.ready && connection.is_idle() {
                self.send_requests(index, cx);
            }
        }
        self.open_more(lost.server(), cx);
    }

    /// Ends a load: closes its connections and schedules the next load after the pause.
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

    /// Index of the open connection with this flow. Late events of closed flows are ignored.
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
                    Side::Peer => self.requests_arrived(index, total, cx),
                    Side::Host => self.responses_arrived(index, total, cx),
                };
            }
            News::Writable { .. } => return connection.writable(cx),
            News::Closed => return self.lost(index, cx),
            News::Delivered { .. } => return,
        }
        if connection.ready {
            self.send_requests(index, cx);
        }
    }

    fn flow_news(&mut self, flow: FlowId, news: News, cx: &mut AppContext<'_>) {
        if let Some(names) = self.names.as_mut().filter(|names| names.owns(flow)) {
            if let Some(server) = names.news(news, cx) {
                self.resolved(server, cx);
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
            // A load in progress is completed.
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

/// Token of the wake-up that starts the next load. Smaller tokens are flows whose server has a
/// response ready, larger ones those of [`names`].
const NEXT_LOAD: u64 = 1 << 32;
/// 1000 GB.
const LARGEST: u64 = 1_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::packet::Ecn;
    use crate::traffic::testing::Bench;

    /// A network without delay or limits. It carries out one command of the application per
    /// millisecond and records the state of each flow.
    struct Network {
        bench: Bench,
        web: Web,
        /// Datagrams in transit.
        datagrams: Vec<(FlowId, Side, u64, u16)>,
        /// Number of datagrams to the resolver that are lost first.
        lose: usize,
        /// Index of the connection that is served next.
        turn: usize,
        /// State by flow: stream offsets that the reading side expects, has been sent and has been
        /// notified of, by reading side; and whether the flow is open.
        flows: Vec<FlowState>,
        /// Largest number of connections that were open to one server at the same time.
        most_open: usize,
    }

    #[derive(Clone, Copy, Default)]
    struct FlowState {
        server: u32,
        open: bool,
        closes: u32,
        awaits: bool,
        expected: [u64; 2],
        written: [u64; 2],
        notified: [u64; 2],
    }

    impl Network {
        fn new(config: Config, peers: u32) -> Self {
            assert_eq!(config.check(), Ok(()));
            let mut network = Self {
                bench: Bench::new(peers),
                web: Web::new(config),
                datagrams: Vec::new(),
                lose: 0,
                turn: 0,
                flows: Vec::new(),
                most_open: 0,
            };
            network.notify(AppEvent::Started);
            network
        }

        /// The next event of a connection, if any.
        fn due(&mut self, index: usize) -> Option<News> {
            let exact = self.web.config.http2.is_none() && self.web.config.tls == Tls::Off;
            let books = &mut self.flows[index];
            if !books.open {
                return None;
            }
            // A connection without a request is new: its event is `Connected`.
            if books.expected == [0; 2] && books.notified == [0; 2] {
                books.notified = [1, 0];
                return Some(News::Connected);
            }
            if std::mem::take(&mut books.awaits) {
                return Some(News::Writable { at: Side::Peer });
            }
            Side::BOTH.into_iter().find_map(|at| {
                let (total, written) = (books.expected[at.index()], books.written[at.index()]);
                if total <= books.notified[at.index()].max(1) || written < total {
                    return None;
                }
                assert!(!exact || written == total, "no more than asked for");
                books.notified[at.index()] = total;
                Some(News::Received { at, total })
            })
        }

        fn notify(&mut self, event: AppEvent) {
            self.bench.notify(&mut self.web, event);
            for (flow, side, command) in self.bench.commands() {
                self.note(flow, side, command);
            }
            for server in self.flows.iter().map(|books| books.server) {
                let open = |books: &&FlowState| books.open && books.server == server;
                self.most_open = self.most_open.max(self.flows.iter().filter(open).count());
            }
        }

        fn note(&mut self, flow: FlowId, side: Side, command: Command) {
            let index = flow.0 as usize;
            if let Command::Datagram { number, size } = command {
                // The flow of look-ups is no connection. It is opened for the first question.
                if index == self.flows.len() {
                    self.flows.push(FlowState::default());
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
                self.flows.push(FlowState {
                    server: self.bench.peer_of(flow),
                    open: true,
                    ..FlowState::default()
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

        /// Lets one event happen. Returns false if there is none left.
        fn step(&mut self) -> bool {
            self.bench.now += Duration::from_millis(1);
            if !self.datagrams.is_empty() {
                let (flow, from, number, size) = self.datagrams.remove(0);
                let news = News::Delivered {
                    at: from.other(),
                    number,
                    size,
                    sent_at: self.bench.now,
                    delay: Duration::ZERO,
                    ecn: Ecn::NotEct,
                };
                self.notify(AppEvent::Flow { flow, news });
                return true;
            }
            // Connections are served in turn, as packets would arrive.
            let count = self.flows.len();
            for index in (self.turn..self.turn + count).map(|turn| turn % count) {
                if let Some(news) = self.due(index) {
                    self.turn = (index + 1) % count;
                    let flow = FlowId(index as u32);
                    self.notify(AppEvent::Flow { flow, news });
                    return true;
                }
            }
            false
        }

        /// Continues until the page is loaded, through the servers' think times.
        fn load(&mut self) {
            let done = self.web.loads_done;
            while self.web.loads_done == done {
                if !self.step() {
                    let (_, token) = self.bench.next_timer().expect("the page hangs");
                    self.notify(AppEvent::Timer { token });
                }
            }
        }

        fn next_load(&mut self) {
            loop {
                let (_, token) = self.bench.next_timer().expect("another load");
                self.notify(AppEvent::Timer { token });
                if token == NEXT_LOAD {
                    return;
                }
            }
        }

        fn downloaded(&self) -> u64 {
            let read = |books: &FlowState| books.written[Side::Host.index()];
            self.flows.iter().map(read).sum()
        }

        fn requested(&self) -> u64 {
            let read = |books: &FlowState| books.written[Side::Peer.index()];
            self.flows.iter().map(read).sum()
        }
    }

    fn buffer_control_page() -> Config {
        // HTML of 20 KiB and 100 images with a mean of 3343 B, from one server.
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
        // Two resources are on the first server, and one of them uses the connection of the HTML.
        // One is on the second server.
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
        // Established at 1 ms, requested at 2 ms, response sent from 32 ms on, read a millisecond
        // later; in one further millisecond nothing happens.
        let times = network.bench.samples("page_load_time");
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
                let end = network.bench.now;
                network.next_load();
                assert_eq!(network.bench.now, end + Duration::from_secs(5));
            }
        }
        assert_eq!(network.bench.next_timer(), None);
        assert_eq!(network.bench.samples("page_load_time").len(), 3);
    }

    #[test]
    fn a_stop_lets_the_page_finish_and_starts_no_other() {
        let mut network = Network::new(Config::default(), 4);
        for _ in 0..20 {
            network.step();
        }
        network.notify(AppEvent::Stopped);
        network.load();
        assert_eq!(network.bench.next_timer(), None);
    }

    #[test]
    fn fewer_servers_than_wanted_carry_the_whole_page() {
        let mut network = Network::new(Config::default(), 1);
        network.load();
        assert_eq!(network.downloaded(), 7_000_000);
        assert_eq!(network.flows.len(), 6);
    }

    #[test]
    fn responses_of_a_lost_connection_are_requested_again_on_another() {
        let mut network = Network::new(Config::default(), 4);
        // TCP gives up the HTML's connection before the HTML is complete, and then a connection at
        // every seventh step.
        for step in 0..200 {
            let open = network.flows.iter().rposition(|books| books.open);
            if step % 7 == 0
                && let Some(index) = open
            {
                let books = &mut network.flows[index];
                books.open = false;
                // Bytes of the page that had arrived are kept; bytes in transit are lost.
                books.written[0] = if books.notified[0] > 1 {
                    books.notified[0]
                } else {
                    0
                };
                let flow = FlowId(index as u32);
                let news = News::Closed;
                network.notify(AppEvent::Flow { flow, news });
            }
            network.step();
        }
        network.load();
        assert_eq!(network.downloaded(), 7_000_000);
        assert_eq!(network.most_open, 6);
    }

    #[test]
    fn events_of_a_closed_connection_are_ignored() {
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
            network.notify(AppEvent::Flow { flow, news });
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
            // Each frame has a header of 9 B and a payload of at most 16384 B.
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
    fn responses_of_a_lost_http2_connection_are_requested_again_on_another() {
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
        assert!(books.notified[0] > 69_307, "resources were on their way");
        let flow = FlowId(0);
        let news = News::Closed;
        network.notify(AppEvent::Flow { flow, news });
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
        let resolver = network.bench.peer_of(FlowId(0));
        assert_eq!(resolver, 4, "the last of the remote hosts");
        for questions in [4, 4, 8] {
            network.load();
            assert_eq!(
                network.web.names.as_ref().map(Names::queries),
                Some(questions)
            );
            network.next_load();
        }
    }

    #[test]
    fn a_query_without_a_response_is_sent_again_and_the_load_waits() {
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
        let times = network.bench.samples("page_load_time");
        // The first and the second question were lost.
        assert!((10e9..10.1e9).contains(&times[0]), "{times:?}");
    }
}
