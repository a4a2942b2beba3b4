//! Isochronous probes: datagrams at constant intervals, each returned at once, as irtt sends them.
//!
//! With one direction in place of both, no probe is returned: the customer's host (`up`) or the
//! remote host (`down`) sends the probes, and there is no round-trip time.
//!
//! The measures are one round-trip time for each probe (NaN without a response in time), and the
//! packet delay variation of each direction between two consecutive probes (IPDV, RFC 3393). The
//! one-way delays and the losses of each direction are those of the flow's packets. The simulated
//! clocks are synchronized, which irtt has to assume.

use super::definition::{
    About, Definition, Fault, ensure, ensure_datagram, ensure_gap, ensure_span,
};
use super::echo::{RTT, Requests};
use super::memory::{Datagrams, Own, Setting};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{Kind, Unit};
use crate::packet::Side;
use crate::time::Duration;
use crate::units::ByteCount;

/// Parameters of isochronous probes.
///
/// Use it for what real-time traffic experiences: delay in each direction, its variation and loss,
/// at the packet rate of a call. Ping causes less load.
///
/// Source: irtt (Isochronous Round-Trip Tester) and RFC 3393.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Time between two probes. A shorter one detects shorter disturbances, and loads the line
    /// more.
    pub interval: Duration,
    /// Size of a probe and of its response, IP bytes.
    pub size: ByteCount,
    /// Time after which a probe without a response is a sample without a value. A later response is
    /// ignored. With one direction it has no effect, because there are no responses.
    pub timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            // A choice: the interval of a call. (irtt's own default is 1 s.)
            interval: Duration::from_millis(20),
            // A choice: IP, UDP and the 60 B that irtt needs for its timestamps.
            size: ByteCount(88),
            // A choice: as ping.
            timeout: Duration::from_secs(5),
        }
    }
}

/// One sample for each two consecutive probes that both arrive.
static IPDV: Kind = Kind {
    place: 50,
    compared_by: &[("delay variation p99", "p99")],
    ..Kind::new(
        "ipdv",
        Unit::Time,
        "Difference of the one-way delays of two probes that follow each other.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "isochronous",
            properties: &[],
            measures: const { &[RTT.whole(), IPDV.up(), IPDV.down()] },
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_datagram(self.size, "size")?;
        ensure_gap(self.interval, "interval")?;
        ensure_span(self.timeout, "timeout")?;
        ensure(
            Requests::fit(self.interval, self.timeout),
            "timeout",
            "more than 0 s and at most 100 000 intervals",
        )
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Isochronous::new(self.clone(), direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(self.interval, self.size.0 as f64)
    }

    fn own_bytes(&self) -> Own {
        Own::outstanding("isochronous.timeout", self.timeout, self.interval)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.interval, 3.0)
    }
}

/// A host that sends probes.
#[derive(Debug)]
pub struct Isochronous {
    config: Config,
    direction: Direction,
    flow: Option<FlowId>,
    /// Probes whose responses are outstanding; only with both directions.
    requests: Requests,
    /// Number of probes sent; only with one direction.
    sent: u64,
    /// Number and delay of the latest probe that arrived, by the side at which it arrived.
    latest: [Option<(u64, Duration)>; 2],
    stopped: bool,
}

impl Isochronous {
    /// Creates a prober that starts on [`AppEvent::Started`].
    pub fn new(config: Config, direction: Direction) -> Self {
        Self {
            direction,
            sent: 0,
            requests: Requests::new(config.interval, config.timeout, TIMEOUT),
            config,
            flow: None,
            latest: [None; 2],
            stopped: false,
        }
    }

    /// The first probe is sent at a random time within the first interval, so that probers that
    /// start together do not send at the same times.
    fn start(&mut self, cx: &mut AppContext<'_>) {
        self.flow = Some(cx.open_datagrams(0));
        let offset = cx.rng.span(self.config.interval);
        cx.wake_at(cx.now + offset, PROBE);
    }

    fn probe(&mut self, flow: FlowId, cx: &mut AppContext<'_>) {
        let (from, number) = match self.direction {
            Direction::Both => (Side::Host, self.requests.make(cx)),
            Direction::Up => (Side::Host, self.count()),
            Direction::Down => (Side::Peer, self.count()),
        };
        cx.datagram(flow, from, number, self.config.size.0 as u16);
        cx.wake_at(cx.now + self.config.interval, PROBE);
    }

    /// Number of the next probe that needs no response.
    fn count(&mut self) -> u64 {
        self.sent += 1;
        self.sent - 1
    }

    /// RFC 3393 §4.1 with consecutive packets as the selection: the absolute difference of their
    /// delays.
    fn record_delay(&mut self, at: Side, number: u64, delay: Duration, cx: &mut AppContext<'_>) {
        let before = self.latest[at.index()].replace((number, delay));
        if let Some((earlier, other)) = before
            && earlier + 1 == number
        {
            let variation = delay.as_nanos().abs_diff(other.as_nanos());
            cx.measure(IPDV.of(at.other()), variation as f64);
        }
    }
}

impl Application for Isochronous {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.start(cx),
            AppEvent::Stopped => self.stopped = true,
            AppEvent::Timer { token: TIMEOUT } => self.requests.expire(cx),
            AppEvent::Timer { .. } => {
                if let (Some(flow), false) = (self.flow, self.stopped) {
                    self.probe(flow, cx);
                }
            }
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
            } => {
                self.record_delay(at, number, delay, cx);
                if self.direction != Direction::Both {
                    return;
                }
                match at {
                    Side::Peer => cx.datagram(flow, Side::Peer, number, size),
                    Side::Host => self.requests.answered(number, cx),
                }
            }
            AppEvent::Flow { .. } => {}
        }
    }
}

const PROBE: u64 = 0;
const TIMEOUT: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::packet::Ecn;
    use crate::time::Instant;
    use crate::traffic::testing::Bench;

    /// Sends probes for 1 s at intervals of 20 ms. `delays` gives the delay of each probe up and
    /// down in ms; `None` loses it.
    fn run(delays: impl Fn(u64) -> (Option<u64>, Option<u64>)) -> Bench {
        let mut probes = Isochronous::new(Config::default(), Direction::Both);
        let mut bench = Bench::new(1);
        bench.notify(&mut probes, AppEvent::Started);
        let flow = FlowId(0);
        let mut sent = 0;
        while let Some((at, token)) = bench.next_timer()
            && at < Instant::ZERO + Duration::from_secs(7)
        {
            if token == PROBE && sent == 50 {
                bench.notify(&mut probes, AppEvent::Stopped);
            }
            bench.notify(&mut probes, AppEvent::Timer { token });
            for (_, side, command) in bench.commands() {
                assert_eq!(
                    (side, command),
                    (
                        Side::Host,
                        Command::Datagram {
                            number: sent,
                            size: 88
                        }
                    )
                );
                let (up, down) = delays(sent);
                sent += 1;
                for (at_side, delay) in [(Side::Peer, up), (Side::Host, up.and(down))] {
                    let Some(delay) = delay else { break };
                    let delay = Duration::from_millis(delay);
                    bench.now += delay;
                    let news = News::Delivered {
                        at: at_side,
                        number: sent - 1,
                        size: 88,
                        sent_at: at,
                        delay,
                        ecn: Ecn::NotEct,
                    };
                    bench.notify(&mut probes, AppEvent::Flow { flow, news });
                    bench.commands();
                }
            }
        }
        bench
    }

    #[test]
    fn every_probe_has_a_round_trip_time_and_none_where_it_was_lost() {
        let mut bench = run(|number| match number {
            7 => (None, None),
            9 => (Some(3), None),
            _ => (Some(3), Some(2)),
        });
        let rtts = bench.samples("rtt");
        assert_eq!(rtts.len(), 50);
        assert_eq!(rtts.iter().filter(|rtt| rtt.is_nan()).count(), 2);
        assert!(
            rtts.iter()
                .all(|rtt| rtt.is_nan() || (rtt - 5e6).abs() < 1.0)
        );
    }

    #[test]
    fn one_way_the_probes_are_numbered_and_nothing_is_returned() {
        for (direction, from, measure) in [
            (Direction::Up, Side::Host, "ipdv"),
            (Direction::Down, Side::Peer, "ipdv_down"),
        ] {
            let mut probes = Isochronous::new(Config::default(), direction);
            let mut bench = Bench::new(1);
            bench.notify(&mut probes, AppEvent::Started);
            for expected in 0..10 {
                let (at, token) = bench.next_timer().expect("it goes on");
                bench.now = at;
                bench.notify(&mut probes, AppEvent::Timer { token });
                let sent = Command::Datagram {
                    number: expected,
                    size: 88,
                };
                assert_eq!(bench.commands(), [(FlowId(0), from, sent)]);
                let news = News::Delivered {
                    at: from.other(),
                    number: expected,
                    size: 88,
                    sent_at: at,
                    delay: Duration::from_millis(3 + expected % 2),
                    ecn: Ecn::NotEct,
                };
                bench.notify(
                    &mut probes,
                    AppEvent::Flow {
                        flow: FlowId(0),
                        news,
                    },
                );
                assert_eq!(bench.commands(), [], "no answer");
            }
            assert_eq!(bench.samples(measure), [1e6; 9]);
            assert!(bench.samples("rtt").is_empty());
        }
    }

    #[test]
    fn delay_variation_is_that_of_neighbours_each_way() {
        let mut bench = run(|number| match number {
            3 => (Some(7), Some(2)),
            7 => (None, None),
            8 => (Some(9), Some(2)),
            _ => (Some(4), Some(2)),
        });
        // The delay rises and falls around probe 3. Probe 7 is lost, so that probe 8 has only one
        // neighbour.
        let up = bench.samples("ipdv");
        assert_eq!(up.len(), 49 - 2);
        let mut changes: Vec<f64> = up.into_iter().filter(|&change| change > 0.0).collect();
        changes.sort_by(f64::total_cmp);
        assert_eq!(changes, [3e6, 3e6, 5e6]);
        assert!(
            bench
                .samples("ipdv_down")
                .iter()
                .all(|change| change.abs() < 0.5)
        );
    }
}
