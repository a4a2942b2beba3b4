//! A real host: programs outside of the simulation, whose frames cross the scenario's network.
//!
//! A flow is opened by the first frame of a protocol, two addresses and two ports. It is closed
//! when it is idle, or a while after its connection is over.

use std::collections::BTreeMap;

use super::definition::{About, Definition, Fault, Property, ensure};
use super::echo::RTT;
use super::memory::Setting;
use super::{AppContext, AppEvent, Application, Direction, News, RealFrame};
use crate::endpoint::real::{Settings, opens};
use crate::flow::FlowId;
use crate::metrics::real::{BETWEEN_SAMPLES, RealFlowId, RealKey};
use crate::time::Duration;

/// Parameters of the flows of a real host.
///
/// `headend emulate` runs a program on a real host: its packets cross the links of the scenario in
/// real time.
///
/// Use it to measure a program of your own, beside simulated neighbours on the same line.
///
/// Source: the program's own packets. The times of closing are a choice of ours.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time after which a flow without packets is closed. Packets that come later open another one.
    pub idle: Duration,
    /// Time after which a TCP connection is closed that both hosts have finished, or that one of
    /// them has reset.
    pub closed: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // Choices: longer than programs pause within an exchange, and longer than the last
            // segments of a connection take to cross deep buffers.
            idle: Duration::from_secs(60),
            closed: Duration::from_secs(5),
        }
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "real",
            properties: &[Property::Transfer],
            measures: const { &[RTT.whole()] },
        }
    }

    /// Most real programs use TCP: for the memory estimate. The tables name what the frames have.
    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both]
    }

    fn check(&self) -> Result<(), Fault> {
        let possible = Duration::from_millis(100)..=Duration::from_secs(24 * 3600);
        let expected = "a time of 100 ms to 24 h";
        ensure(possible.contains(&self.idle), "idle", expected)?;
        ensure(possible.contains(&self.closed), "closed", expected)
    }

    fn build(&self, _direction: Direction) -> Box<dyn Application> {
        Box::new(Real::new(self))
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(BETWEEN_SAMPLES, 1.0)
    }
}

/// The flows of a real host.
#[derive(Debug)]
pub struct Real {
    settings: Settings,
    /// The open flows, each with its number.
    open: BTreeMap<RealKey, (RealFlowId, u32)>,
    /// The same by number, which is the order in which they were opened.
    by_number: BTreeMap<u32, RealFlowId>,
    /// Flows opened so far.
    opened: u32,
}

impl Real {
    /// The flows of a host that has sent nothing yet.
    pub fn new(config: &Config) -> Self {
        Self {
            settings: Settings {
                idle: config.idle,
                closed: config.closed,
                rtt: RTT.whole(),
            },
            open: BTreeMap::new(),
            by_number: BTreeMap::new(),
            opened: 0,
        }
    }

    /// A frame enters, in the flow that it belongs to.
    fn enter(&mut self, frame: RealFrame, cx: &mut AppContext<'_>) {
        let RealFrame {
            frame,
            header,
            from,
            peer,
        } = frame;
        let ends = [from.index(), from.other().index()];
        let key = RealKey {
            protocol: header.protocol,
            addresses: ends.map(|end| header.addresses[end]),
            ports: ends.map(|end| header.ports[end]),
        };
        let mut known = self.open.get(&key).map(|&(flow, _)| flow);
        if let Some(flow) = known
            && opens(&header)
            && cx.is_real_flow_over(flow)
        {
            self.close(flow, cx);
            known = None;
        }
        let flow = known.unwrap_or_else(|| self.open(peer, key, header.dscp, cx));
        cx.enter(flow, peer, self.settings, from, frame, &header);
    }

    /// Opens a flow. If too many are open, as in a scan of ports, that which was opened first is
    /// closed: its next packet opens another one.
    fn open(&mut self, peer: usize, key: RealKey, dscp: u8, cx: &mut AppContext<'_>) -> RealFlowId {
        if self.open.len() >= MOST_OPEN
            && let Some((_, &first)) = self.by_number.first_key_value()
        {
            self.close(first, cx);
        }
        let number = self.opened;
        let flow = cx.open_real(number, peer, key, dscp);
        self.opened += 1;
        self.open.insert(key, (flow, number));
        self.by_number.insert(number, flow);
        flow
    }

    fn close(&mut self, flow: RealFlowId, cx: &mut AppContext<'_>) {
        if let Some((_, number)) = self.open.remove(&cx.close_real(flow)) {
            self.by_number.remove(&number);
        }
    }

    fn hear(&mut self, flow: FlowId, news: News, cx: &mut AppContext<'_>) {
        if news == News::Closed {
            let flow = cx.real_flow(flow);
            self.close(flow, cx);
        }
    }
}

impl Application for Real {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Flow { flow, news } => self.hear(flow, news, cx),
            AppEvent::Started | AppEvent::Stopped | AppEvent::Timer { .. } => {}
        }
    }

    fn take_in(&mut self, frame: RealFrame, cx: &mut AppContext<'_>) {
        self.enter(frame, cx);
    }
}

/// Flows of a host that are open at the same time, at most: some 60 MB.
const MOST_OPEN: usize = 1 << 16;
