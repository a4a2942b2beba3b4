//! A desk to test applications at: they are told what happens, and what they ask for is written down instead of carried out.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{AppContext, AppEvent, Application, Endpoints, GroupSetup, News, Peer};
use crate::context::World;
use crate::endpoint::Command;
use crate::event::{AppId, EventQueue};
use crate::flow::{FlowId, FlowTable, Hop};
use crate::metrics::Recorder;
use crate::metrics::recorder::GroupInfo;
use crate::metrics::table::Column;
use crate::packet::{Ecn, Side};
use crate::rng::Rng;
use crate::tcp;
use crate::time::{Duration, Instant};

thread_local! {
    /// What the desk says has arrived, by flow and side.
    static RECEIVED: RefCell<Vec<(FlowId, Side, u64)>> = const { RefCell::new(Vec::new()) };
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

/// What has arrived, while there is a desk.
pub(super) fn received(flow: FlowId, at: Side) -> Option<u64> {
    COMMANDS.with_borrow(Option::is_some).then(|| {
        RECEIVED.with_borrow(|received| {
            let own = (received.iter()).find(|own| (own.0, own.1) == (flow, at));
            own.map_or(0, |own| own.2)
        })
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
        RECEIVED.set(Vec::new());
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
                ecn: Ecn::NotEct,
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

    /// The earlier of the wake-up that is held and the next one it asked for; the other is asked for again.
    fn earliest_timer(&mut self, held: Option<(Instant, u64)>) -> Option<(Instant, u64)> {
        let now = self.now;
        let next = self.next_timer();
        self.now = now;
        match (held, next) {
            (Some(held), Some(next)) => {
                let (first, later) = if held.0 <= next.0 {
                    (held, next)
                } else {
                    (next, held)
                };
                self.context().wake_at(later.0, later.1);
                Some(first)
            }
            (held, next) => held.or(next),
        }
    }

    /// What it has asked of endpoints since the last call.
    #[allow(
        clippy::unused_self,
        reason = "commands are written down while there is a desk"
    )]
    pub(crate) fn commands(&mut self) -> Vec<(FlowId, Side, Command)> {
        COMMANDS.with_borrow_mut(|commands| commands.as_mut().map_or_else(Vec::new, std::mem::take))
    }

    /// Says how much of a stream has arrived.
    #[allow(clippy::unused_self, reason = "nothing arrives where there is no desk")]
    pub(crate) fn arrived(&mut self, flow: FlowId, at: Side, total: u64) {
        RECEIVED.with_borrow_mut(|received| {
            received.retain(|own| (own.0, own.1) != (flow, at));
            received.push((flow, at, total));
        });
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

/// Runs an application to `end` on a network that delivers each datagram after the delay it gives it by sender, time of sending and size, if it does.
pub(crate) fn deliver(
    desk: &mut Desk,
    app: &mut dyn Application,
    end: Duration,
    network: impl Fn(Side, Instant, u16) -> Option<Duration>,
) {
    // Packets under way, the next to arrive first.
    let mut under_way: BinaryHeap<Reverse<Arrival>> = BinaryHeap::new();
    let mut entered = 0;
    desk.tell(app, AppEvent::Started);
    let mut timer = desk.next_timer();
    loop {
        for (flow, from, command) in desk.commands() {
            let Command::Datagram { number, size } = command else {
                panic!("a stream of datagrams sends datagrams: {command:?}")
            };
            if let Some(delay) = network(from, desk.now, size) {
                entered += 1;
                under_way.push(Reverse((
                    desk.now + delay,
                    entered,
                    desk.now,
                    flow,
                    from,
                    number,
                    size,
                )));
            }
        }
        let wakes_at = timer.map_or(Instant::FAR_FUTURE, |(at, _)| at);
        let arrives_at = (under_way.peek()).map_or(Instant::FAR_FUTURE, |next| next.0.0);
        if wakes_at.min(arrives_at) >= Instant::ZERO + end {
            return;
        }
        desk.now = wakes_at.min(arrives_at);
        if arrives_at <= wakes_at
            && let Some(Reverse((_, _, sent_at, flow, from, number, size))) = under_way.pop()
        {
            let news = News::Delivered {
                at: from.other(),
                number,
                size,
                sent_at,
                delay: desk.now - sent_at,
                ecn: Ecn::NotEct,
            };
            desk.tell(app, AppEvent::Flow { flow, news });
        } else if let Some((_, token)) = timer {
            desk.tell(app, AppEvent::Timer { token });
            timer = None;
        }
        // What was just asked for may come before the wake-up that is held.
        timer = desk.earliest_timer(timer);
    }
}

/// When it arrives, its place among those that arrive together, when it was sent, and the packet.
type Arrival = (Instant, u64, Instant, FlowId, Side, u64, u16);

impl Drop for Desk {
    fn drop(&mut self) {
        COMMANDS.set(None);
    }
}
