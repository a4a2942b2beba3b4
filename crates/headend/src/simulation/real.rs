//! A run with real hosts: it goes on in step with a [`Clock`], frames enter and depart, and rows of
//! results are taken while it runs.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;

use super::{AppSetup, Simulation};
use crate::clock::{Arrival, Clock, RealHost, RealHostId, Wake};
use crate::custom;
use crate::event::AppId;
use crate::flow::is_ipv6;
use crate::metrics::real::FrameEnds;
use crate::metrics::table::Table;
use crate::packet::{FrameId, Side};
use crate::time::Instant;
use crate::traffic::RealFrame;
use crate::wire::real::{self, Header};

/// Why [`Simulation::run_with`] has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The run is over.
    Over,
    /// The clock wants the caller to have control for a while.
    Returned,
}

/// The real hosts, and the groups that their frames belong to.
#[derive(Debug)]
pub(super) struct RealHosts {
    hosts: Vec<RealHost>,
    numbers: BTreeMap<IpAddr, RealHostId>,
    /// The group of a customer's host and a remote host, and the number of that among the group's.
    groups: BTreeMap<(RealHostId, RealHostId), (AppId, usize)>,
    /// By host of a customer: its group, if that has a single remote host, which then has all
    /// addresses that no other host has.
    outside: BTreeMap<RealHostId, AppId>,
}

impl RealHosts {
    /// These hosts, with the groups that `apps` are.
    pub(super) fn new(hosts: Vec<RealHost>, apps: &[AppSetup]) -> Self {
        let mut numbers = BTreeMap::new();
        for (index, host) in hosts.iter().enumerate() {
            let number = RealHostId(index as u16);
            numbers.insert(IpAddr::V4(host.ipv4), number);
            numbers.insert(IpAddr::V6(host.ipv6), number);
        }
        let (mut groups, mut outside) = (BTreeMap::new(), BTreeMap::new());
        for (index, app) in apps.iter().enumerate() {
            let Some(host) = app.group.real else {
                continue;
            };
            let id = AppId(index as u32);
            for (place, peer) in app.group.peers.iter().enumerate() {
                if let Some(peer) = peer.real {
                    groups.insert((host, peer), (id, place));
                }
            }
            if app.group.peers.len() == 1 {
                outside.insert(host, id);
            }
        }
        Self {
            hosts,
            numbers,
            groups,
            outside,
        }
    }

    /// Whether there are no real hosts.
    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Where a frame from `from` goes: its group, its side, and the remote host of the group.
    fn way(&self, from: RealHostId, header: &Header) -> Option<(AppId, Side, usize)> {
        if header.addresses.iter().any(is_no_hosts) {
            return None;
        }
        let to = self.numbers.get(&header.addresses[1]).copied();
        match self.hosts[usize::from(from.0)].side {
            Side::Peer => {
                let &(app, peer) = self.groups.get(&(to?, from))?;
                Some((app, Side::Peer, peer))
            }
            Side::Host => {
                let known = to.map(|to| self.groups.get(&(from, to)).copied());
                let outside = || self.outside.get(&from).map(|&app| (app, 0));
                let (app, peer) = known.unwrap_or_else(outside)?;
                Some((app, Side::Host, peer))
            }
        }
    }
}

/// Whether no single host has the address: of a group, a broadcast, or reserved (RFC 1112 §4).
/// A flow's header has IPv6 addresses in the place of reserved ones.
fn is_no_hosts(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_multicast() || is_ipv6(address.to_bits()),
        IpAddr::V6(address) => address.is_multicast(),
    }
}

/// Whether a frame that does not enter is a stray: a frame for a group of hosts is none, since
/// every system sends such frames by itself.
fn is_stray(header: Option<&Header>) -> bool {
    header.is_none_or(|header| {
        let [_, to] = header.addresses;
        let is_broadcast = to == IpAddr::V4(std::net::Ipv4Addr::BROADCAST);
        !to.is_multicast() && !is_broadcast
    })
}

impl Simulation {
    /// Runs under `clock`, until the clock returns or ends the run, or its duration is over.
    /// Frames that come after the end do not enter.
    ///
    /// # Errors
    ///
    /// Whatever the clock reports.
    pub fn run_with(&mut self, clock: &mut dyn Clock) -> io::Result<Progress> {
        loop {
            let deadline = self.world.events.peek().unwrap_or(self.end).min(self.end);
            let frames = &mut self.world.frames;
            let wake = clock.wait_until(deadline, frames, &mut self.arrivals)?;
            let mut arrivals = std::mem::take(&mut self.arrivals);
            for arrival in arrivals.drain(..) {
                // Events that were due before the arrival come first, however late the clock woke
                // us.
                self.go_on(arrival.at, clock)?;
                self.take_in(arrival);
            }
            self.arrivals = arrivals;
            self.go_on(wake.at(), clock)?;
            if matches!(wake, Wake::End(_)) {
                self.end = self.now;
            }
            if self.now >= self.end {
                return Ok(Progress::Over);
            }
            if matches!(wake, Wake::Return(_)) {
                return Ok(Progress::Returned);
            }
        }
    }

    /// The time of the next event.
    pub fn next_event_time(&mut self) -> Option<Instant> {
        self.world.events.peek()
    }

    /// How the frames of real hosts have ended so far.
    pub fn frames_ended(&self) -> FrameEnds {
        self.world.frame_ends
    }

    /// The rows of the series so far, and those of samples and closed real flows, which are taken
    /// out: [`Self::tables`] has only the rest.
    pub fn take_rows(&mut self) -> Vec<(&'static str, Table)> {
        // Samples of the warm-up are not in the results.
        let is_warm = self.now >= self.world.measured_from;
        let mut tables = self.world.recorder.take_rows(is_warm);
        if !self.real.is_empty() {
            tables.push(("real_flows", self.world.real_flows.take()));
        }
        tables
    }

    /// Slots of the flow table, IPv6 addresses found in frames, and flows of real hosts for which
    /// memory is kept, for tests: they do not grow with the number of flows that a run has had.
    pub fn flows_kept(&self) -> (usize, usize, usize) {
        let (slots, addresses) = self.world.flows.kept();
        (slots, addresses, self.world.real_flows.kept())
    }

    /// The table `real_flows` of a run with real hosts.
    pub(super) fn real_flows(&self) -> Option<Table> {
        let name = |group: crate::flow::GroupId| self.apps[group.0 as usize].group.name.clone();
        (!self.real.is_empty()).then(|| self.world.real_flows.table(name))
    }

    /// Handles the events up to `until`, as [`Self::run_until`] does, and hands over the frames
    /// that depart.
    fn go_on(&mut self, until: Instant, clock: &mut dyn Clock) -> io::Result<()> {
        let until = until.min(self.end);
        let is_watched = custom::is_in_use();
        while let Some(event) = self.world.events.pop_until(until) {
            self.handle(event);
            self.hand_over(clock)?;
            if is_watched && self.has_failed() {
                self.end = self.now;
                return Ok(());
            }
        }
        // Frames that have entered and departed without an event, of a network without delay.
        self.hand_over(clock)?;
        self.now = self.now.max(until);
        Ok(())
    }

    fn hand_over(&mut self, clock: &mut dyn Clock) -> io::Result<()> {
        for departure in self.world.departures.drain(..) {
            let bytes = self.world.frames.bytes(departure.frame);
            let written = clock.depart(departure.at, departure.to, bytes);
            self.world.frames.free(departure.frame);
            written?;
        }
        Ok(())
    }

    /// A frame of a real host enters. One that is reported late, when later events were handled
    /// already, enters now.
    fn take_in(&mut self, arrival: Arrival) {
        let Arrival { at, from, frame } = arrival;
        let at = at.max(self.now);
        if at > self.end {
            self.world.frames.free(frame);
            return;
        }
        self.now = at;
        self.re_mark(from, frame);
        // What is longer than the host's links carry comes from a damaged recording.
        let mtu = self.real.hosts[usize::from(from.0)].mtu;
        let header = real::read(self.world.frames.bytes(frame));
        let header = header.filter(|header| header.size <= mtu);
        let way = header.and_then(|header| Some((header, self.real.way(from, &header)?)));
        let Some((header, (app, side, peer))) = way else {
            self.world.frame_ends.strays += u64::from(is_stray(header.as_ref()));
            self.world.frames.free(frame);
            return;
        };
        self.world.frame_ends.entered += 1;
        let frame = RealFrame {
            frame,
            header,
            from: side,
            peer,
        };
        let (application, mut cx) = self.application(app);
        application.take_in(frame, &mut cx);
        self.settle();
    }

    /// Gives a frame the DSCP of its host.
    fn re_mark(&mut self, from: RealHostId, frame: FrameId) {
        if let Some(dscp) = self.real.hosts[usize::from(from.0)].dscp {
            real::set_dscp(self.world.frames.bytes_mut(frame), dscp);
        }
    }
}
