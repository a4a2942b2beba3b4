//! One plain link between a customer's host and remote hosts: the smallest setup in which an
//! application can be observed.

use std::sync::{Arc, Mutex};

use headend::aqm::DropTail;
use headend::flow::{FlowTable, Hop, Port};
use headend::line::{Harm, Line};
use headend::link::{DirectionSetup, Link, PointToPoint, RateSchedule, Transmitter, Varying};
use headend::metrics::Recorder;
use headend::metrics::recorder::{GroupInfo, QueueInfo};
use headend::packet::Ecn;
use headend::qdisc::{Fifo, Queue};
use headend::queue::{BacklogLimit, Framing};
use headend::rng::Rng;
use headend::simulation::{AppSetup, Parts, Simulation};
use headend::tcp;
use headend::time::{Duration, Instant};
use headend::trace::{QueueId, Sink, TraceEvent};
use headend::traffic::{Application, GroupSetup, Peer};
use headend::units::Rate;

/// The link, and the duration of the run.
pub(crate) struct Setup {
    pub(crate) rate: Rate,
    pub(crate) limit: BacklogLimit,
    /// The wide-area delay, each way.
    pub(crate) delay: Duration,
    pub(crate) duration: Duration,
    pub(crate) seed: u64,
}

impl Setup {
    /// A simulation of `applications`, which start at time zero, with `peers` remote hosts each.
    pub(crate) fn simulate(
        &self,
        applications: Vec<Box<dyn Application>>,
        peers: u32,
    ) -> Simulation {
        let mut flows = FlowTable::default();
        let route_up = flows.add_route(vec![Self::port(0), Hop::Line(0), Hop::End]);
        let route_down = flows.add_route(vec![Hop::Line(1), Self::port(1), Hop::Line(2), Hop::End]);
        let names: Vec<String> = (0..applications.len()).map(|n| format!("app{n}")).collect();
        let second = Duration::from_secs(1);
        let recorder = Recorder::new(
            names.iter().map(|name| group(name)).collect(),
            ["up", "down"].map(|name| self.queue_info(name)).to_vec(),
            second,
            self.duration,
        );
        let apps = (names.into_iter().zip(applications))
            .map(|(name, app)| AppSetup {
                app,
                rng: Rng::for_path(self.seed, format_args!("app.{name}")),
                group: GroupSetup {
                    address: 1,
                    peers: (0..peers)
                        .map(|peer| Peer {
                            routes: [route_up, route_down],
                            address: 100 + peer,
                            real: None,
                        })
                        .collect(),
                    tcp: tcp_config(),
                    dscp: 0,
                    user_priority: None,
                    ecn: Ecn::NotEct,
                    tunnel: None,
                    port: 443,
                    name,
                    seed: self.seed,
                    opened: 0,
                    real: None,
                },
                start: Instant::ZERO,
                stop: None,
            })
            .collect();
        Simulation::new(Parts {
            links: vec![self.link()],
            lines: (0..3).map(|index| self.line(index)).collect(),
            flows,
            apps,
            real_hosts: Vec::new(),
            router: None,
            recorder,
            window: 1 << 20,
            bucket: Duration::from_micros(100),
            warmup: Duration::ZERO,
            duration: self.duration,
        })
    }

    fn port(port: u16) -> Hop {
        Hop::Link {
            link: 0,
            port: Port(port),
        }
    }

    fn line(&self, index: u64) -> Line {
        // The last line, from the link to the customer's host, has no delay.
        let delay = if index == 2 {
            Duration::ZERO
        } else {
            self.delay
        };
        let rng = Rng::for_path(self.seed, format_args!("line.{index}"));
        Line::new(delay, Duration::ZERO, Harm::default(), rng)
    }

    fn link(&self) -> Box<dyn Link> {
        let [up, down] = [0, 1].map(|port| {
            let fifo = Fifo::new(self.limit, DropTail);
            let token = PointToPoint::update_token(Port(port));
            DirectionSetup {
                policer: None,
                shaper: None,
                queue: Queue::new(QueueId(u32::from(port)), Box::new(fifo), token),
                transmitter: Transmitter::new(RateSchedule::Constant(self.rate)),
                delay: Varying::Constant(Duration::ZERO),
                losses: None,
                framing: Framing::IP,
                mtu: 1500,
            }
        });
        Box::new(PointToPoint::new(up, down))
    }

    fn queue_info(&self, direction: &'static str) -> QueueInfo {
        QueueInfo {
            name: format!("link.{direction}"),
            link: "link".to_owned(),
            direction,
            discipline: "drop_tail",
            rate_bps: self.rate.0,
            limit_bytes: None,
            overhead_bytes: 0,
            map_interval: None,
            service_flow: None,
        }
    }
}

fn tcp_config() -> Arc<tcp::Config> {
    Arc::default()
}

fn group(name: &str) -> GroupInfo {
    GroupInfo {
        name: name.to_owned(),
        application: "test",
        transport: "udp",
        carries_data: [true; 2],
        is_bulk: false,
    }
}

/// A sink that passes every event to a closure, whose state it shares with the test.
pub(crate) struct Listener<T, F> {
    state: Arc<Mutex<T>>,
    record: F,
}

impl<T, F: FnMut(&mut T, Instant, &TraceEvent)> Listener<T, F> {
    pub(crate) fn new(state: T, record: F) -> (Self, Arc<Mutex<T>>) {
        let state = Arc::new(Mutex::new(state));
        let share = Arc::clone(&state);
        (Self { state, record }, share)
    }
}

impl<T: Send, F: FnMut(&mut T, Instant, &TraceEvent) + Send> Sink for Listener<T, F> {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        let mut state = self.state.lock().expect("one run, one thread");
        (self.record)(&mut state, at, event);
    }
}
