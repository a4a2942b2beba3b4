//! A test bench for applications: it delivers events to an application, and records its commands
//! instead of carrying them out.

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
    /// Bytes that have arrived according to the test, by flow and side.
    static RECEIVED: RefCell<Vec<(FlowId, Side, u64)>> = const { RefCell::new(Vec::new()) };
    /// Commands to endpoints since the last read; `None` while no test bench exists on this thread.
    static COMMANDS: RefCell<Option<Vec<(FlowId, Side, Command)>>> = const { RefCell::new(None) };
}

/// Records a command. Returns false if there is no test bench, so that the command must be carried
/// out.
pub(super) fn intercept(flow: FlowId, side: Side, command: Command) -> bool {
    COMMANDS.with_borrow_mut(|commands| match commands {
        Some(commands) => {
            commands.push((flow, side, command));
            true
        }
        None => false,
    })
}

/// Number of bytes that have arrived, if there is a test bench.
pub(super) fn received(flow: FlowId, at: Side) -> Option<u64> {
    COMMANDS.with_borrow(Option::is_some).then(|| {
        RECEIVED.with_borrow(|received| {
            let own = (received.iter()).find(|own| (own.0, own.1) == (flow, at));
            own.map_or(0, |own| own.2)
        })
    })
}

/// The test bench of one application.
pub(crate) struct Bench {
    pub(crate) now: Instant,
    rng: Rng,
    group: GroupSetup,
    endpoints: Endpoints,
    world: World,
}

impl Bench {
    /// Creates a test bench whose group has this many remote hosts.
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
                real: None,
                peers: (0..peers)
                    .map(|address| Peer {
                        routes,
                        address,
                        real: None,
                    })
                    .collect(),
                tcp: tcp::Config::default().into(),
                dscp: 0,
                user_priority: None,
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

    /// The context that the application receives.
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

    /// Delivers `event` to the application.
    pub(crate) fn notify(&mut self, app: &mut dyn Application, event: AppEvent) {
        app.on(event, &mut self.context());
    }

    /// Time of the next wake-up.
    pub(crate) fn peek_timer(&mut self) -> Option<Instant> {
        self.world.events.peek()
    }

    /// Advances the time to the application's next wake-up, and returns it.
    pub(crate) fn next_timer(&mut self) -> Option<(Instant, u64)> {
        let event = self.world.events.pop_until(Instant::FAR_FUTURE)?;
        self.now = event.at;
        Some((event.at, event.token))
    }

    /// Returns the earlier of the `held` wake-up and the next scheduled one, and schedules the
    /// other again.
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

    /// Commands of the application since the last call.
    #[allow(
        clippy::unused_self,
        reason = "commands are recorded while there is a bench"
    )]
    pub(crate) fn commands(&mut self) -> Vec<(FlowId, Side, Command)> {
        COMMANDS.with_borrow_mut(|commands| commands.as_mut().map_or_else(Vec::new, std::mem::take))
    }

    /// Sets the number of bytes of a stream that have arrived.
    #[allow(clippy::unused_self, reason = "nothing arrives without a bench")]
    pub(crate) fn arrived(&mut self, flow: FlowId, at: Side, total: u64) {
        RECEIVED.with_borrow_mut(|received| {
            received.retain(|own| (own.0, own.1) != (flow, at));
            received.push((flow, at, total));
        });
    }

    /// The remote host of a flow.
    pub(crate) fn peer_of(&self, flow: FlowId) -> u32 {
        self.world.flows.header(flow).addresses[Side::Peer.index()]
    }

    /// The protocol of a flow.
    pub(crate) fn protocol_of(&self, flow: FlowId) -> crate::flow::Protocol {
        self.world.flows.header(flow).protocol
    }

    /// Samples of a measure.
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

/// Runs an application to `end` on a network. `network` gives the delay of each datagram by sender,
/// time of sending and size; `None` loses the datagram.
pub(crate) fn deliver(
    bench: &mut Bench,
    app: &mut dyn Application,
    end: Duration,
    network: impl Fn(Side, Instant, u16) -> Option<Duration>,
) {
    // Packets in transit, the next to arrive first.
    let mut in_transit: BinaryHeap<Reverse<Arrival>> = BinaryHeap::new();
    let mut entered = 0;
    bench.notify(app, AppEvent::Started);
    let mut timer = bench.next_timer();
    loop {
        for (flow, from, command) in bench.commands() {
            let Command::Datagram { number, size } = command else {
                panic!("a stream of datagrams sends datagrams: {command:?}")
            };
            if let Some(delay) = network(from, bench.now, size) {
                entered += 1;
                in_transit.push(Reverse((
                    bench.now + delay,
                    entered,
                    bench.now,
                    flow,
                    from,
                    number,
                    size,
                )));
            }
        }
        let wakes_at = timer.map_or(Instant::FAR_FUTURE, |(at, _)| at);
        let arrives_at = (in_transit.peek()).map_or(Instant::FAR_FUTURE, |next| next.0.0);
        if wakes_at.min(arrives_at) >= Instant::ZERO + end {
            return;
        }
        bench.now = wakes_at.min(arrives_at);
        if arrives_at <= wakes_at
            && let Some(Reverse((_, _, sent_at, flow, from, number, size))) = in_transit.pop()
        {
            let news = News::Delivered {
                at: from.other(),
                number,
                size,
                sent_at,
                delay: bench.now - sent_at,
                ecn: Ecn::NotEct,
            };
            bench.notify(app, AppEvent::Flow { flow, news });
        } else if let Some((_, token)) = timer {
            bench.notify(app, AppEvent::Timer { token });
            timer = None;
        }
        // A wake-up that was just scheduled may come before the held one.
        timer = bench.earliest_timer(timer);
    }
}

/// Time of arrival, order among packets that arrive at the same time, time of sending, and the
/// packet.
type Arrival = (Instant, u64, Instant, FlowId, Side, u64, u16);

impl Drop for Bench {
    fn drop(&mut self) {
        COMMANDS.set(None);
    }
}
