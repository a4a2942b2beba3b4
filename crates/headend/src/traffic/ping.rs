//! Ping: echo requests at constant intervals, which the peer answers. Each has one round-trip time;
//! NaN if no reply arrives in time.

use super::definition::{About, Definition, Fault, Property, ensure, ensure_gap, ensure_span};
use super::echo::{RTT, Requests};
use super::memory::{Datagrams, Own, Setting};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::packet::Side;
use crate::time::Duration;
use crate::units::ByteCount;

/// Parameters of a series of pings.
///
/// Use it as a probe of the delay on a line, with hardly any load.
///
/// Source: RFC 792, with the sizes and the timeout of common ping programs.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time between two requests. A shorter one detects shorter disturbances, and loads the line
    /// more.
    pub interval: Duration,
    /// Whether the first request is sent at a random time within the first interval instead of at
    /// the start.
    pub random_phase: bool,
    /// Size of the ICMP message, its header of 8 B included, as ping programs print it. The IP
    /// packet is 20 B larger.
    pub size: ByteCount,
    /// Time after which a request without a reply is a sample without a value. A later reply is
    /// ignored.
    pub timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // The defaults of ping programs: 56 B of data once a second.
            interval: Duration::from_secs(1),
            random_phase: false,
            size: ByteCount(64),
            // A choice: longer than the delay of the deepest buffers of access lines.
            timeout: Duration::from_secs(5),
        }
    }
}

impl Definition for Config {
    fn about() -> About {
        About {
            name: "ping",
            properties: &[Property::Probe],
            measures: const { &[RTT.whole()] },
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up]
    }

    /// The reply carries as much data as the request.
    fn carries_data(&self, _direction: Direction) -> [bool; 2] {
        [true; 2]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure(
            (9..=u64::from(u16::MAX - IP_HEADER)).contains(&self.size.0),
            "size",
            "an ICMP message of 9 B to 65515 B",
        )?;
        ensure_gap(self.interval, "interval")?;
        ensure_span(self.timeout, "timeout")?;
        ensure(
            Requests::fit(self.interval, self.timeout),
            "timeout",
            "more than 0 s and at most 100 000 intervals",
        )
    }

    fn build(&self, _direction: Direction) -> Box<dyn Application> {
        Box::new(Ping::new(self.clone()))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(self.interval, self.size.0 as f64 + f64::from(IP_HEADER))
    }

    fn own_bytes(&self) -> Own {
        Own::outstanding("ping.timeout", self.timeout, self.interval)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.interval, 1.0)
    }
}

/// A host that sends pings.
#[derive(Debug)]
pub struct Ping {
    config: Config,
    flow: Option<FlowId>,
    requests: Requests,
    stopped: bool,
}

impl Ping {
    /// Creates a pinger that starts on [`AppEvent::Started`].
    pub fn new(config: Config) -> Self {
        Self {
            requests: Requests::new(config.interval, config.timeout, TIMEOUT),
            config,
            flow: None,
            stopped: false,
        }
    }

    fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_echo(0));
        let offset = if self.config.random_phase {
            cx.rng.span(self.config.interval)
        } else {
            Duration::ZERO
        };
        cx.wake_at(cx.now + offset, REQUEST);
    }

    fn request(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        let number = self.requests.make(cx);
        cx.datagram(flow, Side::Host, number, self.packet());
        cx.wake_at(cx.now + self.config.interval, REQUEST);
    }

    /// Size of a request, IP bytes.
    fn packet(&self) -> u16 {
        self.config.size.0 as u16 + IP_HEADER
    }
}

impl Application for Ping {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.stopped = true,
            AppEvent::Timer { token: TIMEOUT } => self.requests.expire(cx),
            AppEvent::Timer { .. } => {
                if let (Some(flow), false) = (self.flow, self.stopped) {
                    self.request(flow, cx);
                }
            }
            AppEvent::Flow {
                flow,
                news: News::Delivered {
                    at, number, size, ..
                },
            } => match at {
                Side::Peer => cx.datagram(flow, Side::Peer, number, size),
                Side::Host => self.requests.answered(number, cx),
            },
            AppEvent::Flow { .. } => {}
        }
    }
}

const REQUEST: u64 = 0;
const TIMEOUT: u64 = 1;
/// IPv4 header without options.
const IP_HEADER: u16 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::flow::Protocol;
    use crate::packet::Ecn;
    use crate::time::Instant;
    use crate::traffic::testing::Bench;

    fn delivered(at: Side, number: u64) -> AppEvent {
        AppEvent::Flow {
            flow: FlowId(0),
            news: News::Delivered {
                at,
                number,
                size: 84,
                sent_at: Instant::ZERO,
                delay: Duration::ZERO,
                ecn: Ecn::NotEct,
            },
        }
    }

    fn milliseconds(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Runs to `end`. The reply to ping n arrives after `rtt(n)`; `None` loses it. Returns the
    /// `rtt` samples in milliseconds.
    fn run(config: Config, end: Duration, rtt: impl Fn(u64) -> Option<Duration>) -> Vec<f64> {
        let mut ping = Ping::new(config);
        let mut bench = Bench::new(1);
        let mut answers: Vec<(Instant, u64)> = Vec::new();
        bench.notify(&mut ping, AppEvent::Started);
        while let Some((at, token)) = bench.next_timer()
            && at <= Instant::ZERO + end
        {
            answers.sort_unstable();
            while answers.first().is_some_and(|answer| answer.0 < at) {
                let (time, number) = answers.remove(0);
                bench.now = time;
                bench.notify(&mut ping, delivered(Side::Host, number));
            }
            bench.now = at;
            bench.notify(&mut ping, AppEvent::Timer { token });
            for (_, _, command) in bench.commands() {
                let Command::Datagram { number, .. } = command else {
                    panic!("a ping is a datagram")
                };
                answers.extend(rtt(number).map(|rtt| (at + rtt, number)));
            }
        }
        bench.samples("rtt").iter().map(|ns| ns / 1e6).collect()
    }

    #[test]
    fn a_request_is_icmp_of_84_bytes_and_its_answer_the_same() {
        let mut ping = Ping::new(Config::default());
        let mut bench = Bench::new(1);
        bench.notify(&mut ping, AppEvent::Started);
        let (_, token) = bench.next_timer().expect("the first is due at once");
        bench.notify(&mut ping, AppEvent::Timer { token });
        let datagram = Command::Datagram {
            number: 0,
            size: 84,
        };
        assert_eq!(bench.commands(), [(FlowId(0), Side::Host, datagram)]);
        assert_eq!(bench.protocol_of(FlowId(0)), Protocol::Icmp);
        bench.notify(&mut ping, delivered(Side::Peer, 0));
        assert_eq!(bench.commands(), [(FlowId(0), Side::Peer, datagram)]);
    }

    #[test]
    fn each_answer_is_one_round_trip_time() {
        let samples = run(Config::default(), milliseconds(3500), |number| {
            Some(milliseconds(20 + number))
        });
        assert_eq!(samples, [20.0, 21.0, 22.0]);
    }

    #[test]
    fn a_request_without_answer_is_a_sample_without_value() {
        let samples = run(Config::default(), milliseconds(8500), |number| {
            (number != 1).then_some(milliseconds(20))
        });
        assert_eq!(samples.iter().filter(|rtt| rtt.is_nan()).count(), 1);
        // Request 1 is sent after 1 s and times out after 6 s, between the replies to requests 5
        // and 6.
        assert!(samples[5].is_nan(), "{samples:?}");
    }

    #[test]
    fn an_answer_after_the_timeout_is_ignored() {
        let config = Config {
            timeout: milliseconds(1500),
            ..Config::default()
        };
        let samples = run(config, milliseconds(4900), |number| {
            Some(milliseconds(if number == 0 { 1600 } else { 1400 }))
        });
        assert!(samples[0].is_nan());
        assert_eq!(samples[1..], [1400.0; 3]);
    }

    #[test]
    fn answers_may_come_out_of_order() {
        let samples = run(Config::default(), milliseconds(3500), |number| {
            Some(milliseconds(if number == 0 { 2500 } else { 100 }))
        });
        assert_eq!(samples, [100.0, 100.0, 2500.0]);
    }

    #[test]
    fn a_dead_line_gives_a_sample_for_every_request_whose_time_is_over() {
        let config = Config {
            interval: milliseconds(10),
            timeout: milliseconds(1000),
            ..Config::default()
        };
        let samples = run(config, milliseconds(1995), |_| None);
        assert_eq!(samples.len(), 100);
        assert!(samples.iter().all(|rtt| rtt.is_nan()));
    }

    #[test]
    fn requests_have_a_random_phase_if_configured() {
        let config = Config {
            random_phase: true,
            ..Config::default()
        };
        let mut bench = Bench::new(1);
        bench.notify(&mut Ping::new(config), AppEvent::Started);
        let (at, _) = bench.next_timer().expect("one is due");
        assert!(at > Instant::ZERO && at < Instant::ZERO + Duration::from_secs(1));
    }
}
