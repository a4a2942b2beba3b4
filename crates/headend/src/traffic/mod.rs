//! Applications: the traffic sources of a scenario, and the interface between an application and
//! its flows.
//!
//! An application reacts to events of its connections and to its timers. One application covers
//! several hosts: a call sends from both sides, a web page uses several servers. An application
//! never handles packets. It handles bytes of streams and whole datagrams.

use std::fmt::Debug;
use std::sync::Arc;

use crate::clock::RealHostId;
use crate::context::{Context, World};
use crate::endpoint::real::{self as real_endpoint, Real, Settings};
use crate::endpoint::{Command, Endpoint, Notice, Udp};
use crate::event::{AppId, Source};
use crate::flow::{FlowHeader, FlowId, GroupId, Protocol, RouteId, TunnelId};
use crate::metrics::Measure;
use crate::metrics::real::{RealFlowId, RealKey};
use crate::packet::{Ecn, FrameId, Side};
use crate::rng::Rng;
use crate::tcp;
use crate::time::{Duration, Instant};
use crate::units::Rate;
use crate::wire::real::Header;

pub use crate::endpoint::News;

pub use config::ApplicationConfig;
pub use definition::{About, Fault, Property};

pub mod autorate;
pub mod bulk;
pub mod cbr;
pub mod cloud_gaming;
pub mod conference;
mod config;
mod definition;
mod drawn;
mod echo;
pub mod game;
mod gcc;
pub mod half_life;
pub mod isochronous;
pub mod lld_game;
pub(crate) mod memory;
mod message_ends;
pub(crate) mod periods;
pub mod ping;
pub mod poisson;
pub(crate) mod presets;
pub mod quake3;
pub mod real;
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

/// A traffic source, with all its flows and hosts.
pub trait Application: Debug + Send {
    /// Handles one event.
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>);

    /// Lets a frame of a real host into the network. Only the application of real hosts does that.
    fn take_in(&mut self, frame: RealFrame, cx: &mut AppContext<'_>) {
        let _ = cx;
        unreachable!("an application without real hosts is given {frame:?}");
    }
}

/// A frame that a real host of a group lets into the network.
#[derive(Debug, Clone, Copy)]
pub struct RealFrame {
    /// The frame.
    pub frame: FrameId,
    /// Its headers.
    pub header: Header,
    /// The side that sent it.
    pub from: Side,
    /// The remote host that sent it, or that it is for.
    pub peer: usize,
}

/// Direction in which an application sends its data. Responses, acknowledgements and requests also
/// go the opposite way.
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
    /// From the host: upstream, away from the customer.
    #[default]
    Up,
    /// To the host: downstream, towards the customer.
    Down,
    /// Both ways.
    Both,
}

impl Direction {
    /// Name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Both => "both",
        }
    }

    /// Whether each side sends data, by side.
    pub const fn sides(self) -> [bool; 2] {
        match self {
            Self::Up => [true, false],
            Self::Down => [false, true],
            Self::Both => [true, true],
        }
    }

    /// The side that sends, for a direction with one sender.
    pub(crate) const fn sender(self) -> Side {
        match self {
            Self::Up => Side::Host,
            Self::Down => Side::Peer,
            Self::Both => panic!("an application with one sender has one direction"),
        }
    }
}

/// An event that an application handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppEvent {
    /// Something happened on one of the application's flows.
    Flow {
        /// The flow.
        flow: FlowId,
        /// What happened.
        news: News,
    },
    /// The start time has come.
    Started,
    /// The stop time has come: the application starts no new work. Work in progress may finish.
    Stopped,
    /// A wake-up that the application scheduled.
    Timer {
        /// The token with which it was scheduled.
        token: u64,
    },
}

/// A remote host of a group, as the group's host reaches it.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Routes, by sending side.
    pub routes: [RouteId; 2],
    /// Address of the remote host.
    pub address: u32,
    /// The real host that it is.
    pub real: Option<RealHostId>,
}

/// Parameters that all flows of a group share.
#[derive(Debug, Clone)]
pub struct GroupSetup {
    /// Address of the host.
    pub address: u32,
    /// Its number among the real hosts, if it is one.
    pub real: Option<RealHostId>,
    /// Remote hosts.
    pub peers: Vec<Peer>,
    /// TCP parameters of the connections.
    pub tcp: Arc<tcp::Config>,
    /// DSCP of the packets.
    pub dscp: u8,
    /// User priority in the tag of the frames, if they are tagged.
    pub user_priority: Option<u8>,
    /// ECN field of the datagrams.
    pub ecn: Ecn,
    /// Tunnel that carries the packets.
    pub tunnel: Option<TunnelId>,
    /// Port of the remote hosts.
    pub port: u16,
    /// Name of the group; its random streams have it as prefix.
    pub name: String,
    /// Seed of the run.
    pub seed: u64,
    /// Number of flows opened so far.
    pub opened: u32,
}

/// Endpoints of all flows, by slot and side.
pub type Endpoints = Vec<[Box<dyn Endpoint>; 2]>;

/// Token of the wake-up that starts an application.
pub(crate) const START: u64 = u64::MAX;
/// Token of the wake-up that stops an application.
pub(crate) const STOP: u64 = u64::MAX - 1;

/// What an application can read and do while it handles one event.
pub struct AppContext<'a> {
    /// Current time.
    pub now: Instant,
    /// The application's own stream of random numbers.
    pub rng: &'a mut Rng,
    pub(crate) app: AppId,
    /// Part of the tokens of its wake-ups. It identifies which of an application's [periods]
    /// scheduled a wake-up.
    pub(crate) mark: u64,
    pub(crate) group: &'a mut GroupSetup,
    pub(crate) endpoints: &'a mut Endpoints,
    pub(crate) world: &'a mut World,
}

impl AppContext<'_> {
    /// Schedules [`AppEvent::Timer`] with `token` at `at`. A scheduled wake-up cannot be cancelled.
    pub fn wake_at(&mut self, at: Instant, token: u64) {
        assert!(
            token < STOP,
            "the two largest tokens start and stop applications"
        );
        debug_assert_eq!(token & self.mark, 0, "the highest byte is the period's");
        let token = token | self.mark;
        self.world.events.push(at, Source::App(self.app), token);
    }

    /// Number of the group's remote hosts.
    pub fn peers(&self) -> usize {
        self.group.peers.len()
    }

    /// Opens a TCP connection with remote host `peer`, from `opener`'s side. [`News::Connected`]
    /// follows once it is established.
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

    /// Opens a datagram stream with remote host `peer`.
    pub fn open_datagrams(&mut self, peer: usize) -> FlowId {
        self.open_socket(peer, Protocol::Udp)
    }

    /// Opens a stream of ICMP echo messages with remote host `peer`. Models treat them as datagrams
    /// with another protocol number.
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

    /// Opens flow `number` between the group's host and remote host `peer`, which are real.
    /// [`Self::enter`] lets its packets enter.
    pub(crate) fn open_real(
        &mut self,
        number: u32,
        peer: usize,
        key: RealKey,
        dscp: u8,
    ) -> RealFlowId {
        let hosts = self.real_hosts(peer);
        let group = GroupId(self.app.0);
        (self.world.real_flows).open(self.now, (group, number), key, hosts, dscp)
    }

    /// The side `from` of `flow` lets a frame into the network. Frames of a flow that differ in
    /// their DSCP have slots of their own in the flow table.
    pub(crate) fn enter(
        &mut self,
        flow: RealFlowId,
        peer: usize,
        settings: Settings,
        from: Side,
        frame: FrameId,
        header: &Header,
    ) {
        let known = self.world.real_flows.flow(flow).slot(header.dscp);
        let slot = known.unwrap_or_else(|| self.add_slot(flow, peer, settings, header.dscp));
        let source = Source::Endpoint(slot.0 * 2 + from.index() as u32);
        let mut cx = Context::new(self.now, self.world, source);
        real_endpoint::enter(flow, settings, frame, header, &mut cx);
    }

    /// The flow between real hosts whose packets are in a slot.
    pub(crate) fn real_flow(&mut self, slot: FlowId) -> RealFlowId {
        self.world.real_flows.id_in_slot(slot)
    }

    /// Whether both sides have finished, or one has reset the connection.
    pub(crate) fn is_real_flow_over(&mut self, flow: RealFlowId) -> bool {
        self.world.real_flows.flow(flow).over().is_some()
    }

    /// Closes a flow between real hosts.
    pub(crate) fn close_real(&mut self, flow: RealFlowId) -> RealKey {
        let World {
            real_flows, flows, ..
        } = &mut *self.world;
        real_flows.close(flow, &self.group.name);
        let flow = real_flows.flow(flow);
        for slot in flow.slots() {
            flows.close(slot, self.now);
        }
        flow.key()
    }

    /// Opens a slot of the flow table for the packets with `dscp` of a flow between real hosts. The
    /// first slot's endpoint closes the flow.
    fn add_slot(&mut self, flow: RealFlowId, peer: usize, settings: Settings, dscp: u8) -> FlowId {
        let key = self.world.real_flows.flow(flow).key();
        let hosts = self.real_hosts(peer);
        let mut header = self.flow_header(peer, key.protocol);
        header.dscp = dscp;
        header.ports = key.ports;
        header.addresses = (key.addresses).map(|address| self.world.flows.number_of(address));
        let slot = self.world.flows.open(header);
        let is_first = self.world.real_flows.add_slot(flow, dscp, slot);
        let side = |host| -> Box<dyn Endpoint> { Box::new(Real::new(flow, host, settings)) };
        self.install(slot, hosts.map(side));
        if is_first {
            let source = Source::Endpoint(slot.0 * 2);
            let mut cx = Context::new(self.now, self.world, source);
            real_endpoint::watch(slot, settings, &mut cx);
        }
        slot
    }

    fn real_hosts(&self, peer: usize) -> [RealHostId; 2] {
        let peer = self.group.peers[peer].real;
        [self.group.real, peer].map(|host| host.expect("frames come and go between real hosts"))
    }

    /// Appends `bytes` bytes to the stream that `from` sends.
    pub fn send(&mut self, flow: FlowId, from: Side, bytes: u64) {
        self.command(flow, from, Command::Send { bytes });
    }

    /// Requests [`News::Received`] once `total` bytes of the stream have arrived at `at`.
    pub fn expect(&mut self, flow: FlowId, at: Side, total: u64) {
        self.command(flow, at, Command::Expect { total });
    }

    /// Requests [`News::Writable`] once at most `unsent` bytes written by `from` have not been sent
    /// for the first time.
    ///
    /// An application that waits for it before each write decides late what is sent next, as a
    /// program does that sets `TCP_NOTSENT_LOWAT`. A connection is not writable before it is
    /// established.
    pub fn await_room(&mut self, flow: FlowId, from: Side, unsent: u64) {
        self.command(flow, from, Command::Await { unsent });
    }

    /// Number of bytes of the stream that have arrived in order at `at` so far.
    pub fn received(&self, flow: FlowId, at: Side) -> u64 {
        #[cfg(test)]
        if let Some(bytes) = testing::received(flow, at) {
            return bytes;
        }
        self.endpoints[flow.0 as usize][at.index()].received()
    }

    /// Closes a connection on both sides. Data already written is still sent.
    pub fn hang_up(&mut self, flow: FlowId) {
        for side in Side::BOTH {
            self.close(flow, side);
        }
    }

    /// Closes the sending direction of `from`: it sends no more data.
    pub fn close(&mut self, flow: FlowId, from: Side) {
        self.command(flow, from, Command::Close);
    }

    /// Sends a datagram of `size` IP bytes.
    pub fn datagram(&mut self, flow: FlowId, from: Side, number: u64, size: u16) {
        self.command(flow, from, Command::Datagram { number, size });
    }

    /// Bytes that the router whose rate this application sets has sent so far, from this side.
    pub fn router_sent(&self, from: Side) -> u64 {
        self.world.router.sent[from.index()]
    }

    /// Sets the rate at which the router sends from this side.
    pub fn set_router_rate(&mut self, from: Side, rate: Rate) {
        self.world.router.wanted[from.index()] = Some(rate);
    }

    /// Records the value of a measure now.
    pub fn measure(&mut self, measure: Measure, value: f64) {
        self.measure_at(self.now, measure, value);
    }

    /// Records the value of a measure for an event that ended at `at`, not later than now.
    pub fn measure_at(&mut self, at: Instant, measure: Measure, value: f64) {
        self.measure_over(Duration::ZERO, at, measure, value);
    }

    /// Records the value of a measure for a period of `length` that ended at `at`. A period that
    /// began in the warm-up is not recorded.
    pub fn measure_over(&mut self, length: Duration, at: Instant, measure: Measure, value: f64) {
        let group = GroupId(self.app.0);
        (self.world.recorder).measured(at, length, group, measure, value);
    }

    /// Time until the warm-up ends.
    pub fn warming_up(&self) -> Duration {
        self.world.measured_from.since(self.now)
    }

    /// How much of the first period to count as already elapsed, so that a period begins exactly
    /// when the warm-up ends; zero after the warm-up.
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
        let header = self.flow_header(peer, protocol);
        self.world.flows.open(header)
    }

    /// The header of the group's next flow.
    fn flow_header(&mut self, peer: usize, protocol: Protocol) -> FlowHeader {
        let ordinal = self.group.opened;
        self.group.opened += 1;
        let peer = &self.group.peers[peer];
        FlowHeader {
            group: GroupId(self.app.0),
            app: self.app,
            ordinal,
            generation: 0,
            protocol,
            addresses: [self.group.address, peer.address],
            ports: [ephemeral_port(self.app.0, ordinal), self.group.port],
            dscp: self.group.dscp,
            user_priority: self.group.user_priority,
            tunnel: self.group.tunnel,
            routes: peer.routes,
        }
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

/// Source port of a group's flow: a group uses ephemeral ports in turn, beginning at an offset of
/// its own. Hashes of addresses and ports can thus distinguish connections, also those of several
/// groups between the same hosts. No model uses the well-known port of the remote end.
fn ephemeral_port(group: u32, ordinal: u32) -> u16 {
    // RFC 6335 §6: ports from 49152 on.
    const PORTS: u32 = 16_384;
    // The step is odd, so that each of 16 384 groups has an offset of its own. It is near the
    // golden section of the range, so that the offsets of neighbouring groups are far apart.
    const STEP: u32 = 10_125;
    let offset = group.wrapping_mul(STEP).wrapping_add(ordinal) % PORTS;
    49_152 + offset as u16
}

/// Converts an endpoint's notice into the event for its application.
pub(crate) fn app_event(notice: Notice) -> AppEvent {
    AppEvent::Flow {
        flow: notice.flow,
        news: notice.news,
    }
}
