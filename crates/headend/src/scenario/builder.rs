//! What links and flows are built with: random streams, queues, and delay lines.

use std::fmt;

use crate::flow::Hop;
use crate::line::{Harm, Line};
use crate::metrics::mib::ServiceFlowInfo;
use crate::metrics::recorder::QueueInfo;
use crate::qdisc::lanes::{LaneSetup, Lanes};
use crate::qdisc::{AckAcceleration, Queue, QueueConfig, QueueDiscipline};
use crate::queue::Framing;
use crate::rng::Rng;
use crate::time::Duration;
use crate::trace::QueueId;
use crate::units::Rate;

/// Where a queue stands.
pub(super) struct QueuePlace<'a> {
    pub(super) link: &'a str,
    /// Its name: `LINK.up`, or what the link makes of it.
    pub(super) name: &'a str,
    pub(super) direction: &'static str,
    /// Nominal rate behind it.
    pub(super) rate: Rate,
    pub(super) framing: Framing,
    /// What stands before it.
    pub(super) acceleration: AckAcceleration,
    /// Of a DOCSIS upstream: time between two MAPs.
    pub(super) map_interval: Option<Duration>,
    /// The service flow of the queue, on a cable line.
    pub(super) service_flow: Option<Box<ServiceFlowInfo>>,
}

/// The components of a simulation that links and flows have in common, as far as they are built.
pub(super) struct Builder {
    pub(super) seed: u64,
    /// The rate of the fastest link.
    pub(super) fastest: Rate,
    pub(super) lines: Vec<Line>,
    pub(super) queue_infos: Vec<QueueInfo>,
}

impl Builder {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            fastest: Rate(1),
            lines: Vec::new(),
            queue_infos: Vec::new(),
        }
    }

    /// The random stream of the component at `path`.
    pub(super) fn rng(&self, path: impl fmt::Display) -> Rng {
        Rng::for_path(self.seed, path)
    }

    /// Notes that a link sends at `rate`.
    pub(super) fn note_rate(&mut self, rate: Rate) {
        self.fastest = self.fastest.max(rate);
    }

    /// A queue in its place, entered in the list of queues; `token` is the link's for its updates.
    pub(super) fn queue(
        &mut self,
        place: QueuePlace<'_>,
        config: &QueueConfig,
        token: u64,
    ) -> Queue {
        let path = format!("link.{}.queue", place.name);
        let discipline = self.discipline(config, place.rate, &path);
        let discipline = place.acceleration.before(discipline);
        Queue::new(self.enter(place, config), discipline, token)
    }

    /// The same with lanes.
    pub(super) fn queue_of_lanes(
        &mut self,
        place: QueuePlace<'_>,
        setup: LaneSetup,
        token: u64,
    ) -> Queue {
        let rng = self.rng(format_args!("link.{}.queue", place.name));
        let id = self.enter(place, &setup.config);
        let lanes = Lanes::new(setup, rng).expect("the check has built it once");
        Queue::new(id, Box::new(lanes), token)
    }

    /// Enters a queue in the list of queues.
    fn enter(&mut self, place: QueuePlace<'_>, config: &QueueConfig) -> QueueId {
        let id = QueueId(self.queue_infos.len() as u32);
        self.queue_infos.push(QueueInfo {
            name: place.name.to_owned(),
            link: place.link.to_owned(),
            direction: place.direction,
            discipline: config.name(),
            rate_bps: place.rate.0,
            limit_bytes: config.limit_bytes(place.rate),
            overhead_bytes: u64::try_from(place.framing.overhead).unwrap_or(0),
            map_interval: place.map_interval,
            service_flow: place.service_flow,
        });
        id
    }

    /// A queue discipline whose random stream is called after `path`.
    pub(super) fn discipline(
        &self,
        config: &QueueConfig,
        rate: Rate,
        path: &str,
    ) -> Box<dyn QueueDiscipline> {
        config
            .build(rate, self.rng(path))
            .expect("the check has built it once")
    }

    /// A delay line; its number.
    pub(super) fn add_line(
        &mut self,
        delay: Duration,
        jitter: Duration,
        harm: Harm,
        path: &str,
    ) -> u32 {
        self.lines
            .push(Line::new(delay, jitter, harm, self.rng(path)));
        self.lines.len() as u32 - 1
    }

    /// A line of its own that only takes time; none where it takes none.
    pub(super) fn line_of(&mut self, time: Duration, path: &str) -> Option<Hop> {
        let line =
            |builder: &mut Self| builder.add_line(time, Duration::ZERO, Harm::default(), path);
        (!time.is_zero()).then(|| Hop::Line(line(self)))
    }
}
