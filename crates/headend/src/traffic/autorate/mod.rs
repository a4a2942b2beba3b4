//! cake-autorate: probes measure the delay behind a router, and the router's rates follow it.
//!
//! The router sends echo requests in turn to several hosts, here one request every `interval`
//! through its own queues and the line, and reads how much it has sent every 200 ms. Both
//! directions have a [rule](rule) of their own. With `fping`, the usual program, half of the round
//! trip stands for the delay of either direction, so that a queue in one of them slows down both;
//! with `one_way` each has its own delay, as with `tsping` or `irtt`.
//!
//! Left out: reflectors that are replaced, pauses while the line is idle, and what is done when no
//! reply comes at all. Without replies, and after the program was stopped, the rates stay.

mod rule;

use std::collections::VecDeque;

use self::rule::Rule;
use super::definition::{About, Definition, Fault, Property, ensure, ensure_gap};
use super::memory::{Datagrams, Own, Setting};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{Chart, Kind, Unit};
use crate::packet::Side;
use crate::time::Duration;
use crate::units::Rate;

pub use self::rule::Bounds;

/// Parameters of cake-autorate. A scenario writes `router.autorate` instead.
///
/// Use it on a router whose line varies, as wireless lines do. On a steady line a fixed rate is
/// better: autorate finds the line's rate by filling its queue now and then.
///
/// Source: cake-autorate 3.2, its README and its configuration file.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The plain link whose rates it sets: a router with `cake`.
    pub link: String,
    /// The rate of the router to the network. Default: the rate stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Bounds>,
    /// The rate of the router to the home. Default: the rate stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Bounds>,
    /// Time between two probes, of all reflectors together. A shorter one detects a queue sooner.
    pub interval: Duration,
    /// How much longer than the baseline a probe may take. Raising it gives more throughput and
    /// permits more delay.
    pub threshold: Duration,
    /// Whether the delay of each direction is measured on its own. Otherwise half of the round trip
    /// stands for it.
    pub one_way: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            link: "router".to_owned(),
            up: None,
            down: None,
            // Six reflectors, each every 300 ms.
            interval: Duration::from_millis(50),
            threshold: Duration::from_millis(30),
            one_way: false,
        }
    }
}

/// One sample for each change of a rate, and one at the start.
static RATE: Kind = Kind {
    chart: Some(Chart {
        name: "router-rate",
        title: "Rate of the router",
        axis: "rate of the router (Mbit/s)",
        factor: 1e-6,
        explanation: "The rate at which autorate lets the router send. Under load it rises until \
                      the probes are late, and falls then; without load it returns to its base. ↑ \
                      is to the network.",
        is_points: false,
        is_after_queues: true,
        place: 20,
    }),
    ..Kind::new(
        "router_rate",
        Unit::Rate,
        "Rate of the router to the network, as autorate sets it.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "autorate",
            properties: &[Property::Probe],
            measures: const { &[RATE.up(), RATE.down()] },
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up]
    }

    fn carries_data(&self, _direction: Direction) -> [bool; 2] {
        [true; 2]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_gap(self.interval, "interval")?;
        ensure(
            !self.threshold.is_zero() && self.threshold <= MOST,
            "threshold",
            "a time of 1 ns to 10 s",
        )?;
        for (key, bounds) in [("up", self.up), ("down", self.down)] {
            let in_order = bounds.is_none_or(|bounds| {
                bounds.minimum >= LEAST_RATE
                    && bounds.minimum <= bounds.base
                    && bounds.base <= bounds.maximum
            });
            ensure(
                in_order,
                key,
                "a minimum of at least 1 kbit/s, a base of at least the minimum, and a maximum of \
                 at least the base",
            )?;
        }
        Ok(())
    }

    fn build(&self, _direction: Direction) -> Box<dyn Application> {
        Box::new(Autorate::new(self))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(self.interval, f64::from(PROBE_SIZE))
    }

    fn own_bytes(&self) -> Own {
        Own::outstanding("autorate.interval", MOST, self.interval)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.interval, 2.0)
    }
}

/// The program on the router.
#[derive(Debug)]
pub struct Autorate {
    interval: Duration,
    one_way: bool,
    flow: Option<FlowId>,
    /// By direction.
    rules: [Option<Rule>; 2],
    /// What the router had sent when the load was last read.
    sent: [u64; 2],
    /// The delay of each request on its way up, until its reply or a later one comes back.
    up: VecDeque<(u64, Duration)>,
    number: u64,
    stopped: bool,
}

impl Autorate {
    /// A program that starts on [`AppEvent::Started`].
    pub fn new(config: &Config) -> Self {
        let rule = |bounds: Bounds| Rule::new(bounds, config.threshold);
        Self {
            interval: config.interval,
            one_way: config.one_way,
            flow: None,
            rules: [config.up.map(rule), config.down.map(rule)],
            sent: [0; 2],
            up: VecDeque::new(),
            number: 0,
            stopped: false,
        }
    }

    fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_echo(0));
        for side in Side::BOTH {
            self.sent[side.index()] = cx.router_sent(side);
            if let Some(rule) = &self.rules[side.index()] {
                set_rate(side, rule.rate(), cx);
            }
        }
        cx.wake_at(cx.now, PROBE);
        cx.wake_at(cx.now + BETWEEN_READINGS, LOAD);
    }

    fn probe(&mut self, cx: &mut AppContext<'_>) {
        if let Some(flow) = self.flow {
            cx.datagram(flow, Side::Host, self.number, PROBE_SIZE);
            self.number += 1;
            cx.wake_at(cx.now + self.interval, PROBE);
        }
    }

    fn read_load(&mut self, cx: &mut AppContext<'_>) {
        for side in Side::BOTH {
            let sent = cx.router_sent(side);
            let before = std::mem::replace(&mut self.sent[side.index()], sent);
            if let Some(rule) = &mut self.rules[side.index()] {
                rule.note_load(sent - before, BETWEEN_READINGS);
            }
        }
        cx.wake_at(cx.now + BETWEEN_READINGS, LOAD);
    }

    /// A reply has come back, which took so long on its way down. One that comes after a later one
    /// does not count.
    fn on_reply(&mut self, number: u64, down: Duration, cx: &mut AppContext<'_>) {
        self.up.retain(|&(own, _)| own >= number);
        let Some(&(_, up)) = self.up.iter().find(|&&(own, _)| own == number) else {
            return;
        };
        let half = Duration::from_nanos((up + down).as_nanos() / 2);
        let delays = if self.one_way {
            [up, down]
        } else {
            [half, half]
        };
        for (side, delay) in Side::BOTH.into_iter().zip(delays) {
            if let Some(rule) = &mut self.rules[side.index()] {
                let before = rule.rate();
                rule.note_delay(delay, cx.now);
                if rule.rate() != before {
                    set_rate(side, rule.rate(), cx);
                }
            }
        }
    }
}

/// Sets the router's rate and records it.
fn set_rate(side: Side, rate: Rate, cx: &mut AppContext<'_>) {
    cx.set_router_rate(side, rate);
    cx.measure(RATE.of(side), rate.0 as f64);
}

impl Application for Autorate {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.stopped = true,
            AppEvent::Timer { .. } if self.stopped => {}
            AppEvent::Timer { token: LOAD } => self.read_load(cx),
            AppEvent::Timer { .. } => self.probe(cx),
            AppEvent::Flow {
                flow,
                news:
                    News::Delivered {
                        at,
                        number,
                        size,
                        delay,
                        ..
                    },
            } => match at {
                Side::Peer => {
                    self.up.push_back((number, delay));
                    cx.datagram(flow, Side::Peer, number, size);
                }
                Side::Host if self.stopped => {}
                Side::Host => self.on_reply(number, delay, cx),
            },
            AppEvent::Flow { .. } => {}
        }
    }
}

const PROBE: u64 = 0;
const LOAD: u64 = 1;
/// IP bytes of an echo request of fping: 56 B of data, as ping.
const PROBE_SIZE: u16 = 84;
/// Time between two readings of what the router has sent.
const BETWEEN_READINGS: Duration = Duration::from_millis(200);
/// The longest delay that is reckoned with.
const MOST: Duration = Duration::from_secs(10);
/// The least rate that a router may get.
pub(crate) const LEAST_RATE: Rate = Rate(1000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::packet::Ecn;
    use crate::time::Instant;
    use crate::traffic::autorate::rule::BOUNDS;
    use crate::traffic::testing::Bench;

    const MBIT: u64 = 1_000_000;

    /// The program on a router of both directions, and the network that it measures.
    struct Scene {
        app: Autorate,
        bench: Bench,
        /// What the program has set last, by direction.
        rates: [Option<Rate>; 2],
    }

    impl Scene {
        fn new(one_way: bool) -> Self {
            let config = Config {
                up: Some(BOUNDS),
                down: Some(BOUNDS),
                one_way,
                ..Config::default()
            };
            config.check().expect("it makes sense");
            let mut scene = Self {
                app: Autorate::new(&config),
                bench: Bench::new(1),
                rates: [None; 2],
            };
            scene.notify(AppEvent::Started);
            scene
        }

        fn notify(&mut self, event: AppEvent) {
            self.bench.notify(&mut self.app, event);
            let cx = self.bench.context();
            let wanted = std::mem::take(&mut cx.world.router.wanted);
            for (rate, wanted) in self.rates.iter_mut().zip(wanted) {
                *rate = wanted.or(*rate);
            }
        }

        fn deliver(&mut self, at: Side, number: u64, delay_ms: u64) {
            self.notify(AppEvent::Flow {
                flow: FlowId(0),
                news: News::Delivered {
                    at,
                    number,
                    size: PROBE_SIZE,
                    sent_at: Instant::ZERO,
                    delay: Duration::from_millis(delay_ms),
                    ecn: Ecn::NotEct,
                },
            });
        }

        /// A request and its reply, with the delays of their ways up and down.
        fn probe(&mut self, number: u64, [up, down]: [u64; 2]) {
            self.deliver(Side::Peer, number, up);
            self.deliver(Side::Host, number, down);
        }

        /// The next wake-up; `None` if the program has asked for none.
        fn wake(&mut self) -> Option<(Instant, u64)> {
            let (at, token) = self.bench.next_timer()?;
            self.notify(AppEvent::Timer { token });
            Some((at, token))
        }

        /// In kbit/s, by direction.
        fn rates(&self) -> [u64; 2] {
            self.rates.map(|rate| rate.expect("it was set").0 / 1000)
        }
    }

    #[test]
    fn a_probe_leaves_every_interval_and_is_sent_back() {
        let mut scene = Scene::new(false);
        assert_eq!(scene.rates(), [20_000; 2]);
        let mut at = Vec::new();
        while at.len() < 3 {
            let (time, token) = scene.wake().expect("it goes on");
            at.extend((token == PROBE).then(|| (time - Instant::ZERO).as_nanos() / MBIT));
        }
        assert_eq!(at, [0, 50, 100]);
        let datagram = |number| Command::Datagram {
            number,
            size: PROBE_SIZE,
        };
        let sent = scene.bench.commands();
        assert_eq!(
            sent,
            [0, 1, 2].map(|number| (FlowId(0), Side::Host, datagram(number)))
        );
        scene.deliver(Side::Peer, 1, 10);
        let reply = (FlowId(0), Side::Peer, datagram(1));
        assert_eq!(scene.bench.commands(), [reply]);
    }

    #[test]
    fn half_of_the_round_trip_stands_for_either_way_or_each_has_its_own() {
        // The mean delta of the window is 100 ms or half of that, less the 0.1 ms by which the
        // baseline rises with each of them. From 60.6 ms on a quarter is cut, at 30.6 ms 1 %.
        let half = (20_000.0 * (0.99 - 0.24 * (49.9 - 30.6) / 30.0)) as u64;
        for (one_way, expected) in [(false, [half; 2]), (true, [20_000, 15_000])] {
            let mut scene = Scene::new(one_way);
            for number in 0..6 {
                scene.probe(number, [10, 10]);
            }
            // 200 ms more on the way down: 100 ms for each way, if only the sum is known.
            for number in 6..9 {
                scene.probe(number, [10, 210]);
            }
            for (rate, expected) in scene.rates().into_iter().zip(expected) {
                assert!(rate.abs_diff(expected) < 10, "{rate} for {expected}");
            }
        }
    }

    #[test]
    fn a_reply_after_a_later_one_does_not_count() {
        let mut scene = Scene::new(true);
        for number in 0..6 {
            scene.probe(number, [10, 10]);
        }
        for number in 6..10 {
            scene.deliver(Side::Peer, number, 10);
        }
        scene.deliver(Side::Host, 9, 10);
        for number in 6..9 {
            scene.deliver(Side::Host, number, 400);
        }
        assert_eq!(scene.rates(), [20_000; 2]);
        // Nor does one whose request is unknown.
        scene.deliver(Side::Host, 30, 400);
        assert_eq!(scene.rates(), [20_000; 2]);
        // Requests that have overtaken each other are found all the same.
        for number in [12, 11, 10] {
            scene.deliver(Side::Peer, number, 210);
        }
        for number in [10, 11, 12] {
            scene.deliver(Side::Host, number, 10);
        }
        assert_eq!(scene.rates(), [15_000, 20_000]);
    }

    #[test]
    fn the_load_is_what_the_router_has_sent_since_the_last_reading() {
        let mut scene = Scene::new(true);
        let reading = Instant::ZERO + BETWEEN_READINGS;
        // 90 % of 20 Mbit/s up, and 50 % down.
        scene.bench.context().world.router.sent = [450_000, 250_000];
        while scene.wake() != Some((reading, LOAD)) {}
        scene.probe(0, [10, 10]);
        assert_eq!(scene.rates(), [20_800, 20_000]);
        // As much again is less than three quarters of 20.8 Mbit/s if it is the difference.
        scene.bench.context().world.router.sent = [450_000 + 380_000, 500_000];
        while scene.wake() != Some((reading + BETWEEN_READINGS, LOAD)) {}
        scene.probe(1, [10, 10]);
        let [up, down] = scene.rates();
        assert!(up < 20_800 && down == 20_000, "{up} {down}");
    }

    #[test]
    fn what_was_sent_before_the_start_is_no_load() {
        let config = Config {
            up: Some(BOUNDS),
            ..Config::default()
        };
        let (mut app, mut bench) = (Autorate::new(&config), Bench::new(1));
        bench.context().world.router.sent = [1 << 40, 0];
        bench.notify(&mut app, AppEvent::Started);
        bench.notify(&mut app, AppEvent::Timer { token: LOAD });
        assert_eq!(app.sent, [1 << 40, 0]);
        let rule = app.rules[0].as_mut().expect("it has bounds");
        rule.note_delay(Duration::from_millis(10), bench.now);
        assert_eq!(rule.rate(), BOUNDS.base);
    }

    #[test]
    fn once_stopped_it_neither_probes_nor_reads_nor_sets_a_rate() {
        let mut scene = Scene::new(true);
        for number in 0..6 {
            scene.probe(number, [10, 10]);
        }
        scene.bench.commands();
        scene.notify(AppEvent::Stopped);
        let mut wakes = 0;
        while scene.wake().is_some() {
            wakes += 1;
        }
        assert_eq!(wakes, 2, "those that it had asked for");
        assert!(scene.bench.commands().is_empty());
        for number in 6..12 {
            scene.probe(number, [400, 400]);
        }
        assert_eq!(scene.rates(), [20_000; 2]);
    }

    #[test]
    fn a_direction_without_bounds_keeps_its_rate() {
        let config = Config {
            down: Some(BOUNDS),
            ..Config::default()
        };
        let (mut app, mut bench) = (Autorate::new(&config), Bench::new(1));
        bench.notify(&mut app, AppEvent::Started);
        assert_eq!(
            bench.context().world.router.wanted,
            [None, Some(BOUNDS.base)]
        );
        assert_eq!(bench.samples("router_rate_down"), [20e6]);
        assert!(bench.samples("router_rate").is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let key = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check().expect_err("it makes no sense").0
        };
        let bounds = |minimum, base, maximum| Bounds {
            minimum: Rate(minimum),
            base: Rate(base),
            maximum: Rate(maximum),
        };
        assert_eq!(key(|config| config.interval = Duration::ZERO), "interval");
        assert_eq!(key(|config| config.threshold = Duration::ZERO), "threshold");
        let longer = |config: &mut Config| config.threshold = MOST + Duration::from_nanos(1);
        assert_eq!(key(longer), "threshold");
        for (minimum, base, maximum) in [(999, 2000, 3000), (2000, 1999, 3000), (1000, 3000, 2999)]
        {
            let wrong = Config {
                up: Some(bounds(minimum, base, maximum)),
                ..Config::default()
            };
            assert_eq!(wrong.check().expect_err("it makes no sense").0, "up");
            let wrong = Config {
                down: wrong.up,
                ..Config::default()
            };
            assert_eq!(wrong.check().expect_err("it makes no sense").0, "down");
        }
        let equal = Config {
            up: Some(bounds(1000, 1000, 1000)),
            threshold: MOST,
            ..Config::default()
        };
        assert_eq!(equal.check(), Ok(()));
    }
}
