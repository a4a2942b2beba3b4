//! A desk to test applications at: they are told what happens, and what they ask for is written down instead of carried out.

use std::cell::RefCell;

use super::{AppContext, AppEvent, Application, Endpoints, GroupSetup, Peer};
use crate::context::World;
use crate::endpoint::Command;
use crate::event::{AppId, EventQueue};
use crate::flow::{FlowId, FlowTable, Hop};
use crate::metrics::Recorder;
use crate::metrics::recorder::GroupInfo;
use crate::metrics::table::Column;
use crate::packet::Side;
use crate::rng::Rng;
use crate::tcp;
use crate::time::{Duration, Instant};

thread_local! {
    /// What was asked of endpoints since it was last read; `None` while no desk is set up on this thread.
    static COMMANDS: RefCell<Option<Vec<(FlowId, Side, Command)>>> = const { RefCell::new(None) };
}

/// Writes a command down; false if there is no desk, and it is to be carried out.
pub(super) fn intercept(flow: FlowId, side: Side, command: Command) -> bool {
    COMMANDS.with_borrow_mut(|commands| match commands {
        Some(commands) => {
            commands.push((flow, side, command));
            true
        }
        None => false,
    })
}

/// The place of one application.
pub(crate) struct Desk {
    pub(crate) now: Instant,
    rng: Rng,
    group: GroupSetup,
    endpoints: Endpoints,
    world: World,
}

impl Desk {
    /// A desk whose group has so many remote hosts.
    pub(crate) fn new(peers: u32) -> Self {
        COMMANDS.set(Some(Vec::new()));
        let info = GroupInfo {
            name: "test".to_owned(),
            application: "test",
            transport: "udp",
            carries_data: [true; 2],
            is_bulk: false,
        };
        let second = Duration::from_secs(1);
        let recorder = Recorder::new(vec![info], Vec::new(), second, second);
        let mut flows = FlowTable::default();
        let routes = [0, 1].map(|_| flows.add_route(vec![Hop::End]));
        Self {
            now: Instant::ZERO,
            rng: Rng::for_path(1, "app.test"),
            group: GroupSetup {
                address: 1,
                peers: (0..peers).map(|address| Peer { routes, address }).collect(),
                tcp: tcp::Config::default().into(),
                dscp: 0,
                tunnel: None,
                port: 443,
                name: "test".to_owned(),
                seed: 1,
                opened: 0,
            },
            endpoints: Vec::new(),
            world: World::new(
                EventQueue::new(Duration::from_millis(1), 0),
                flows,
                Vec::new(),
                recorder,
            ),
        }
    }

    /// What the application is given.
    pub(crate) fn context(&mut self) -> AppContext<'_> {
        AppContext {
            now: self.now,
            rng: &mut self.rng,
            app: AppId(0),
            mark: 0,
            group: &mut self.group,
            endpoints: &mut self.endpoints,
            world: &mut self.world,
        }
    }

    /// Tells the application of `event`.
    pub(crate) fn tell(&mut self, app: &mut dyn Application, event: AppEvent) {
        app.on(event, &mut self.context());
    }

    /// When the next wake-up is due.
    pub(crate) fn peek_timer(&mut self) -> Option<Instant> {
        self.world.events.peek()
    }

    /// Moves the time to the next wake-up it asked for.
    pub(crate) fn next_timer(&mut self) -> Option<(Instant, u64)> {
        let event = self.world.events.pop_until(Instant::FAR_FUTURE)?;
        self.now = event.at;
        Some((event.at, event.token))
    }

    /// What it has asked of endpoints since the last call.
    #[allow(
        clippy::unused_self,
        reason = "commands are written down while there is a desk"
    )]
    pub(crate) fn commands(&mut self) -> Vec<(FlowId, Side, Command)> {
        COMMANDS.with_borrow_mut(|commands| commands.as_mut().map_or_else(Vec::new, std::mem::take))
    }

    /// Which remote host a flow leads to.
    pub(crate) fn peer_of(&self, flow: FlowId) -> u32 {
        self.world.flows.header(flow).addresses[Side::Peer.index()]
    }

    /// The protocol a flow says it is.
    pub(crate) fn protocol_of(&self, flow: FlowId) -> crate::flow::Protocol {
        self.world.flows.header(flow).protocol
    }

    /// What it has measured.
    pub(crate) fn samples(&mut self, measure: &str) -> Vec<f64> {
        let tables = self.world.recorder.tables(self.now, 0);
        let samples = &tables
            .iter()
            .find(|(name, _)| *name == "samples")
            .expect("there is a table of samples")
            .1;
        let (Some(Column::Text(measures)), Some(Column::Float(values))) =
            (samples.get("measure"), samples.get("value"))
        else {
            return Vec::new();
        };
        (measures.iter().zip(values))
            .filter(|(name, _)| *name == measure)
            .map(|(_, value)| *value)
            .collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        COMMANDS.set(None);
    }
}
