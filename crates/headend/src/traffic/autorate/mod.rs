//! cake-autorate: probes measure the delay behind a router, and the router's rates follow it.
//!
//! The router sends echo requests in turn to several hosts, here one request every `interval`
//! through its own queues and the line, and reads how much it has sent every 200 ms. Both
//! directions have a [rule](rule) of their own. With `fping`, the usual program, half of the round
//! trip stands for the delay of either direction, so that a queue in one of them slows down both;
//! with `one_way` each has its own delay, as with `tsping` or `irtt`.
//!
//! Left out: reflectors that are replaced, pauses while the line is idle, and what is done when no
//! reply comes at all. Without replies the rates stay.

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
                bounds.minimum.0 >= LEAST_RATE
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
            self.sent[side.index()] = cx.routed(side);
            if let Some(rule) = &self.rules[side.index()] {
                tell(side, rule.rate(), cx);
            }
        }
        cx.wake_at(cx.now, PROBE);
        cx.wake_at(cx.now + BETWEEN_READINGS, LOAD);
    }

    fn probe(&mut self, cx: &mut AppContext<'_>) {
        if let (Some(flow), false) = (self.flow, self.stopped) {
            cx.datagram(flow, Side::Host, self.number, PROBE_SIZE);
            self.number += 1;
            cx.wake_at(cx.now + self.interval, PROBE);
        }
    }

    fn read_load(&mut self, cx: &mut AppContext<'_>) {
        for side in Side::BOTH {
            let sent = cx.routed(side);
            let before = std::mem::replace(&mut self.sent[side.index()], sent);
            if let Some(rule) = &mut self.rules[side.index()] {
                rule.note_load(sent - before, BETWEEN_READINGS);
            }
        }
        cx.wake_at(cx.now + BETWEEN_READINGS, LOAD);
    }

    /// A reply has come back, which took so long on its way down.
    fn hear(&mut self, number: u64, down: Duration, cx: &mut AppContext<'_>) {
        self.up.retain(|&(own, _)| own >= number);
        let Some(&(_, up)) = self.up.front().filter(|&&(own, _)| own == number) else {
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
                    tell(side, rule.rate(), cx);
                }
            }
        }
    }
}

/// Sets the router's rate and records it.
fn tell(side: Side, rate: Rate, cx: &mut AppContext<'_>) {
    cx.set_router_rate(side, rate);
    cx.measure(RATE.of(side), rate.0 as f64);
}

impl Application for Autorate {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.stopped = true,
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
                Side::Host => self.hear(number, delay, cx),
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
const LEAST_RATE: u64 = 1000;
