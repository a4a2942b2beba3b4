//! Applications: who is on the line, and what they do there.
//!
//! An application reacts to what happens to its connections and timers. It spans hosts: a call sends from both sides, a page
//! uses several servers. It never sees a packet, only bytes of streams and whole datagrams.

use std::fmt::Debug;
use std::sync::Arc;

use crate::context::{Context, World};
use crate::endpoint::{Command, Endpoint, External, Notice, Udp};
use crate::event::{AppId, Source};
use crate::flow::{FlowHeader, FlowId, GroupId, Protocol, RouteId, TunnelId};
use crate::metrics::Measure;
use crate::packet::{Ecn, Side};
use crate::rng::Rng;
use crate::tcp;
use crate::time::{Duration, Instant};

pub use crate::endpoint::News;

pub use config::{About, ApplicationConfig, Fault, Property};

pub mod bulk;
pub mod cbr;
pub mod cloud_gaming;
pub mod conference;
mod config;
mod drawn;
mod echo;
pub mod game;
mod gcc;
pub mod half_life;
pub mod isochronous;
pub mod lld_game;
mod marks;
pub(crate) mod memory;
pub(crate) mod periods;
pub mod ping;
pub mod poisson;
pub(crate) mod presets;
pub mod quake3;
pub mod replay;
pub mod responsiveness;
mod scored;
mod sizes;
pub mod speed_test;
mod stream;
pub mod streaming;
#[cfg(test)]
pub(crate) mod testing;
pub mod torrent;
mod video;
pub mod video_call;
pub mod voice;
pub mod web;

/// Somebody who uses the line.
pub trait Application: Debug + Send {
    /// Something happened.
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>);
}

/// Which way an application's data goes. Answers, acknowledgements and requests go the other way too.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the host: away from the customer.
    #[default]
    Up,
    /// To the host: towards the customer.
    Down,
    /// Both ways.
    Both,
}

impl Direction {
    /// Its name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }

    /// Whether each side sends data.
    pub const fn sides(self) -> [bool; 2] {
        match self {
            Self::Up => [true, false],
            Self::Down => [false, true],
            Self::Both => [true, true],
        }
    }

    /// The side that sends, where only one does.
    pub(crate) const fn sender(self) -> Side {
        match self {
            Self::Up => Side::Host,
            Self::Down => Side::Peer,
            Self::Both => panic!("an application with one sender has one direction"),
        }
    }
}

/// What an application learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppEvent {
    /// Something on one of its flows.
    Flow {
        /// Which.
        flow: FlowId,
        /// What.
        news: News,
    },
    /// Its start time has come.
    Started,
    /// Its stop time has come: no new work; what is under way may finish.
    Stopped,
    /// A wake-up it asked for.
    Timer {
        /// As it was asked for.
        token: u64,
    },
}

/// One of the remote hosts of a group, seen from its host.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Routes, by sending side.
    pub routes: [RouteId; 2],
    /// Its address.
    pub address: u32,
}

/// What every flow of a group starts from.
#[derive(Debug, Clone)]
pub struct GroupSetup {
    /// Host address.
    pub address: u32,
    /// Remote hosts.
    pub peers: Vec<Peer>,
    /// TCP parameters of its connections.
    pub tcp: Arc<tcp::Config>,
    /// DSCP of its packets.
    pub dscp: u8,
    /// ECN field of its datagrams.
    pub ecn: Ecn,
    /// The tunnel its packets travel in.
    pub tunnel: Option<TunnelId>,
    /// Port of the remote hosts.
    pub port: u16,
    /// Name: prefix of its random streams.
    pub name: String,
    /// The run's seed.
    pub seed: u64,
    /// Flows opened so far.
    pub opened: u32,
}

/// The endpoints of all flows, by slot and side.
pub type Endpoints = Vec<[Box<dyn Endpoint>; 2]>;

/// Token of the wake-up that starts an application.
pub(crate) const START: u64 = u64::MAX;
/// Token of the wake-up that stops it.
pub(crate) const STOP: u64 = u64::MAX - 1;

/// What an application may touch while it handles one event.
pub struct AppContext<'a> {
    /// The time.
    pub now: Instant,
    /// Its own stream of random numbers.
    pub rng: &'a mut Rng,
    pub(crate) app: AppId,
    /// Put into the tokens of its wake-ups: which of an application's [periods] asks for them.
    pub(crate) mark: u64,
    pub(crate) group: &'a mut GroupSetup,
    pub(crate) endpoints: &'a mut Endpoints,
    pub(crate) world: &'a mut World,
}

impl AppContext<'_> {
    /// Asks for [`AppEvent::Timer`] with `token` at `at`. Never cancelled.
    pub fn wake_at(&mut self, at: Instant, token: u64) {
        assert!(
            token < STOP,
            "the two largest tokens start and stop applications"
        );
        debug_assert_eq!(token & self.mark, 0, "the highest byte is the period's");
        let token = token | self.mark;
        self.world.events.push(at, Source::App(self.app), token);
    }

    /// How many remote hosts it has.
    pub fn peers(&self) -> usize {
        self.group.peers.len()
    }

    /// Opens a TCP connection with remote host `peer`, from `opener`'s side. [`News::Connected`] follows.
    pub fn connect(&mut self, peer: usize, opener: Side) -> FlowId {
        let flow = self.open_flow(peer, Protocol::Tcp);
        let (name, ordinal) = (&self.group.name, self.group.opened);
        let sides = Side::BOTH.map(|side| -> Box<dyn Endpoint> {
            let path = format_args!("flow.{name}.connection.{ordinal}.{}", side.index());
            let rng = Rng::for_path(self.group.seed, path);
            Box::new(tcp::Connection::new(
                flow,
                side,
                Arc::clone(&self.group.tcp),
                rng,
            ))
        });
        self.install(flow, sides);
        self.command(flow, opener, Command::Open);
        flow
    }

    /// Opens a stream of datagrams with remote host `peer`.
    pub fn open_datagrams(&mut self, peer: usize) -> FlowId {
        self.open_socket(peer, Protocol::Udp)
    }

    /// Opens a stream of ICMP echo messages with remote host `peer`: datagrams, for all that a model sees, under another protocol number.
    pub fn open_echo(&mut self, peer: usize) -> FlowId {
        self.open_socket(peer, Protocol::Icmp)
    }

    fn open_socket(&mut self, peer: usize, protocol: Protocol) -> FlowId {
        let flow = self.open_flow(peer, protocol);
        let ecn = self.group.ecn;
        self.install(
            flow,
            Side::BOTH.map(|_| -> Box<dyn Endpoint> { Box::new(Udp::new(ecn)) }),
        );
        flow
    }

    /// Opens a flow between two real hosts.
    pub(crate) fn open_external(&mut self, peer: usize) -> FlowId {
        let flow = self.open_flow(peer, Protocol::Udp);
        self.install(
            flow,
            Side::BOTH.map(|_| -> Box<dyn Endpoint> { Box::new(External) }),
        );
        flow
    }

    /// Appends bytes to the stream from `from`.
    pub fn send(&mut self, flow: FlowId, from: Side, bytes: u64) {
        self.command(flow, from, Command::Send { bytes });
    }

    /// Asks for [`News::Received`] once `total` bytes of the stream have arrived at `at`.
    pub fn expect(&mut self, flow: FlowId, at: Side, total: u64) {
        self.command(flow, at, Command::Expect { total });
    }

    /// Asks for [`News::Writable`] once no more than `unsent` bytes of what `from` wrote wait to be sent: who writes on only then leaves it to
    /// the last moment what is sent next, as a program does that sets `TCP_NOTSENT_LOWAT`. Before the connection is open nothing is writable.
    pub fn await_room(&mut self, flow: FlowId, from: Side, unsent: u64) {
        self.command(flow, from, Command::Await { unsent });
    }

    /// Bytes of the stream that have arrived at `at`, in order, so far.
    pub fn received(&self, flow: FlowId, at: Side) -> u64 {
        #[cfg(test)]
        if let Some(bytes) = testing::received(flow, at) {
            return bytes;
        }
        self.endpoints[flow.0 as usize][at.index()].received()
    }

    /// Closes a connection: neither side sends more than it has written.
    pub fn hang_up(&mut self, flow: FlowId) {
        for side in Side::BOTH {
            self.close(flow, side);
        }
    }

    /// Says that `from` will send no more.
    pub fn close(&mut self, flow: FlowId, from: Side) {
        self.command(flow, from, Command::Close);
    }

    /// Sends a datagram of `size` IP bytes.
    pub fn datagram(&mut self, flow: FlowId, from: Side, number: u64, size: u16) {
        self.command(flow, from, Command::Datagram { number, size });
    }

    /// Reports a measurement.
    pub fn measure(&mut self, measure: Measure, value: f64) {
        self.measure_at(self.now, measure, value);
    }

    /// Reports a measurement of what was over at `at`, before now.
    pub fn measure_at(&mut self, at: Instant, measure: Measure, value: f64) {
        self.measure_over(Duration::ZERO, at, measure, value);
    }

    /// Reports a measurement of a stretch of that length that was over at `at`: of one that began in the warm-up, none.
    pub fn measure_over(&mut self, length: Duration, at: Instant, measure: Measure, value: f64) {
        let group = GroupId(self.app.0);
        (self.world.recorder).measured(at, length, group, measure, value);
    }

    /// Time until the warm-up is over.
    pub fn warming_up(&self) -> Duration {
        self.world.measured_from.since(self.now)
    }

    /// How much of a first period is over now, so that one begins as the warm-up is over; after it, nothing.
    pub fn begun_of(&self, period: Duration) -> Duration {
        let rest = self.warming_up().as_nanos() % period.as_nanos();
        if rest == 0 {
            return Duration::ZERO;
        }
        period - Duration::from_nanos(rest)
    }

    fn command(&mut self, flow: FlowId, side: Side, command: Command) {
        #[cfg(test)]
        if testing::intercept(flow, side, command) {
            return;
        }
        let source = Source::Endpoint(flow.0 * 2 + side.index() as u32);
        let mut cx = Context::new(self.now, self.world, source);
        self.endpoints[flow.0 as usize][side.index()].command(command, &mut cx);
    }

    fn open_flow(&mut self, peer: usize, protocol: Protocol) -> FlowId {
        let ordinal = self.group.opened;
        self.group.opened += 1;
        let peer = &self.group.peers[peer];
        self.world.flows.open(FlowHeader {
            group: GroupId(self.app.0),
            app: self.app,
            ordinal,
            generation: 0,
            protocol,
            addresses: [self.group.address, peer.address],
            ports: [ephemeral_port(self.app.0, ordinal), self.group.port],
            dscp: self.group.dscp,
            tunnel: self.group.tunnel,
            routes: peer.routes,
        })
    }

    fn install(&mut self, flow: FlowId, sides: [Box<dyn Endpoint>; 2]) {
        let slot = flow.0 as usize;
        if slot == self.endpoints.len() {
            self.endpoints.push(sides);
        } else {
            self.endpoints[slot] = sides;
        }
    }
}

/// A group's connections take ephemeral ports in turn, from a place of the group's own: hashes tell connections apart, also those of several
/// groups between the same hosts. No model asks which well-known port the other end has.
fn ephemeral_port(group: u32, ordinal: u32) -> u16 {
    // RFC 6335 §6: ports from 49152 on.
    const PORTS: u32 = 16_384;
    // Odd, hence a place of its own for each of 16 384 groups; near the golden section of the range, hence far from its neighbours.
    const STEP: u32 = 10_125;
    let offset = group.wrapping_mul(STEP).wrapping_add(ordinal) % PORTS;
    49_152 + offset as u16
}

/// Turns an endpoint's notice into what its application is told.
pub(crate) fn app_event(notice: Notice) -> AppEvent {
    AppEvent::Flow {
        flow: notice.flow,
        news: notice.news,
    }
}
