//! A speed test: several transfers at the same time for a limited time, and the throughput that the
//! test shows at several moments.
//!
//! The throughput is the number of bytes that all connections have delivered since the start of the
//! test, divided by the time since then, handshakes included. In a longer test, slow start and the
//! initial burst of a token bucket have a smaller effect.

use super::definition::{About, Definition, Fault, Property, ensure, ensure_span};
use super::memory::Setting;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::Measure;
use crate::metrics::measure::{Kind, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};

/// Parameters of a speed test.
///
/// Use it for the throughput that a customer sees, in tests that stop early or late.
///
/// Source: White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014), §2.2.2:
/// two uploads of up to 100 s.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of transfers at the same time. More of them fill a long or lossy line better.
    pub connections: u32,
    /// Duration of a test. The throughput is reported at 1, 2, 5, 7, 10, 18, 20, 25, 50 and 100 s
    /// and at the end.
    pub length: Duration,
    /// Time between the end of a test and the start of the next.
    pub pause: Duration,
    /// Number of tests. Without it, tests follow each other until the flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            connections: 2,
            // The study's main result is the mean of the first 10 s.
            length: Duration::from_secs(10),
            // A choice: a bucket that refills within this time is full again.
            pause: Duration::from_secs(20),
            tests: None,
        }
    }
}

/// A shorter test, repeated without a pause and with many connections, would open connections too
/// often.
const SHORTEST_TEST: Duration = Duration::from_millis(100);

/// Mean throughput of a whole test.
static SPEED: Kind = Kind {
    place: 70,
    compared_by: &[("speed shown", "p50")],
    ..Kind::new(
        "speed",
        Unit::Rate,
        "Throughput that a speed test shows, at its end or after so many seconds (speed_10s).",
    )
};

/// Times in seconds at which the throughput of a test is reported, each with its measure: the times
/// of the AQM study, between 1 and 100 s.
static SPEED_AFTER: [(u64, Kind); 10] = [
    (1, Kind::new("speed_1s", Unit::Rate, "")),
    (2, Kind::new("speed_2s", Unit::Rate, "")),
    (5, Kind::new("speed_5s", Unit::Rate, "")),
    (7, Kind::new("speed_7s", Unit::Rate, "")),
    (10, Kind::new("speed_10s", Unit::Rate, "")),
    (18, Kind::new("speed_18s", Unit::Rate, "")),
    (20, Kind::new("speed_20s", Unit::Rate, "")),
    (25, Kind::new("speed_25s", Unit::Rate, "")),
    (50, Kind::new("speed_50s", Unit::Rate, "")),
    (100, Kind::new("speed_100s", Unit::Rate, "")),
];

/// The measures of a test.
const MEASURES: &[Measure] = &{
    let mut measures = [SPEED.whole(); SPEED_AFTER.len() + 1];
    let mut at = 0;
    while at < SPEED_AFTER.len() {
        measures[at + 1] = SPEED_AFTER[at].1.whole();
        at += 1;
    }
    measures
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "speed_test",
            properties: &[Property::Greedy],
            measures: MEASURES,
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        let connections = (1..=1000).contains(&self.connections);
        ensure(connections, "connections", "1 to 1000")?;
        ensure(self.length >= SHORTEST_TEST, "length", "100 ms at least")?;
        ensure(self.tests != Some(0), "tests", "at least 1")?;
        ensure_span(self.length, "length")?;
        ensure_span(self.pause, "pause")
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(SpeedTest::new(self.clone(), direction.sender()))
    }

    fn connections(&self) -> u64 {
        u64::from(self.connections)
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.length, 11.0)
    }
}

/// A host that tests its line.
#[derive(Debug)]
pub struct SpeedTest {
    config: Config,
    from: Side,
    flows: Vec<FlowId>,
    /// Number of bytes that were delivered by connections that TCP has since given up.
    delivered_before: u64,
    started_at: Instant,
    /// Index of the next entry of [`SPEED_AFTER`].
    next_report: usize,
    tests_done: u64,
    running: bool,
    stopped: bool,
}

impl SpeedTest {
    /// Creates tests with transfers from side `from`, which start on [`AppEvent::Started`].
    pub fn new(config: Config, from: Side) -> Self {
        Self {
            flows: Vec::with_capacity(config.connections as usize),
            config,
            from,
            delivered_before: 0,
            started_at: Instant::ZERO,
            next_report: 0,
            tests_done: 0,
            running: false,
            stopped: false,
        }
    }

    fn begin(&mut self, cx: &mut AppContext<'_>) {
        self.started_at = cx.now;
        self.running = true;
        (self.delivered_before, self.next_report) = (0, 0);
        for _ in 0..self.config.connections {
            self.open(cx);
        }
        self.wake_next(cx);
    }

    fn open(&mut self, cx: &mut AppContext<'_>) {
        let flow = cx.connect(0, self.from);
        cx.send(flow, self.from, u64::MAX);
        self.flows.push(flow);
    }

    /// Schedules the wake-up for the next report.
    fn wake_next(&self, cx: &mut AppContext<'_>) {
        let next_report = SPEED_AFTER.get(self.next_report);
        let next_report =
            next_report.map_or(Duration::MAX, |&(seconds, _)| Duration::from_secs(seconds));
        cx.wake_at(self.started_at + next_report.min(self.config.length), 0);
    }

    /// Reports the throughput so far, and ends the test when its duration is over.
    fn report(&mut self, cx: &mut AppContext<'_>) {
        let passed = cx.now - self.started_at;
        let reader = self.from.other();
        let bytes: u64 = (self.flows.iter())
            .map(|&flow| cx.received(flow, reader))
            .sum();
        let speed = (self.delivered_before + bytes) as f64 * 8e9 / passed.as_nanos() as f64;
        if let Some((seconds, kind)) = SPEED_AFTER.get(self.next_report)
            && passed == Duration::from_secs(*seconds)
        {
            cx.measure(kind.whole(), speed);
            self.next_report += 1;
        }
        if passed < self.config.length {
            return self.wake_next(cx);
        }
        cx.measure(SPEED.whole(), speed);
        for flow in self.flows.drain(..) {
            cx.hang_up(flow);
        }
        self.running = false;
        self.tests_done += 1;
        if !self.stopped && self.config.tests.is_none_or(|n| self.tests_done < n) {
            cx.wake_at(cx.now + self.config.pause, 0);
        }
    }
}

impl Application for SpeedTest {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.begin(cx),
            // A test in progress is completed.
            AppEvent::Stopped => self.stopped = true,
            AppEvent::Timer { .. } if self.running => self.report(cx),
            AppEvent::Timer { .. } if !self.stopped => self.begin(cx),
            AppEvent::Flow {
                flow,
                news: News::Closed,
            } => {
                // TCP has given the connection up: a new one replaces it.
                if let Some(index) = self.flows.iter().position(|&own| own == flow) {
                    self.flows.swap_remove(index);
                    self.delivered_before += cx.received(flow, self.from.other());
                    self.open(cx);
                }
            }
            AppEvent::Flow { .. } | AppEvent::Timer { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::traffic::testing::Bench;

    fn config(text: &str) -> Config {
        toml::from_str(text).expect("a good configuration")
    }

    /// Runs a test whose two connections deliver `bytes(seconds)` in total, one half each.
    fn run(text: &str, bytes: impl Fn(u64) -> u64) -> Bench {
        let mut tester = SpeedTest::new(config(text), Side::Host);
        let mut bench = Bench::new(1);
        bench.notify(&mut tester, AppEvent::Started);
        while let Some((at, token)) = bench.next_timer() {
            let total = bytes(at.as_nanos() / 1_000_000_000);
            bench.arrived(FlowId(0), Side::Peer, total / 2);
            bench.arrived(FlowId(1), Side::Peer, total - total / 2);
            bench.notify(&mut tester, AppEvent::Timer { token });
        }
        bench
    }

    #[test]
    fn the_speed_is_the_mean_of_all_connections_since_the_start() {
        // 10 Mbit/s for 5 s, then 5 Mbit/s.
        let bytes = |seconds: u64| 1_250_000 * seconds.min(5) + 625_000 * seconds.saturating_sub(5);
        let mut bench = run("length = \"20 s\"\ntests = 1", bytes);
        for (name, expected) in [
            ("speed_1s", 10e6),
            ("speed_2s", 10e6),
            ("speed_5s", 10e6),
            ("speed_7s", 60e6 / 7.0),
            ("speed_10s", 7.5e6),
            ("speed_18s", 115e6 / 18.0),
            ("speed_20s", 6.25e6),
            ("speed", 6.25e6),
        ] {
            let samples = bench.samples(name);
            assert_eq!(samples.len(), 1, "{name}");
            assert!((samples[0] - expected).abs() < 1.0, "{name}: {samples:?}");
        }
        assert!(bench.samples("speed_25s").is_empty());
    }

    #[test]
    fn a_test_ends_in_time_and_closes_what_it_opened() {
        let mut bench = run("length = \"1500 ms\"\ntests = 1", |_| 3_000_000);
        assert_eq!(bench.samples("speed_1s"), [24e6]);
        assert_eq!(bench.samples("speed"), [16e6]);
        let commands = bench.commands();
        let closed = commands.iter().filter(|each| each.2 == Command::Close);
        assert_eq!(
            (bench.now, closed.count()),
            (Instant::ZERO + Duration::from_millis(1500), 4)
        );
    }

    #[test]
    fn bytes_of_a_connection_that_was_given_up_count() {
        let mut test = SpeedTest::new(config("tests = 1"), Side::Peer);
        let mut bench = Bench::new(1);
        bench.notify(&mut test, AppEvent::Started);
        bench.arrived(FlowId(0), Side::Host, 1_000_000);
        let news = News::Closed;
        bench.notify(
            &mut test,
            AppEvent::Flow {
                flow: FlowId(0),
                news,
            },
        );
        bench.arrived(FlowId(2), Side::Host, 250_000);
        let (_, token) = bench.next_timer().expect("the first mark");
        bench.notify(&mut test, AppEvent::Timer { token });
        assert_eq!(bench.samples("speed_1s"), [10e6]);
    }
}
