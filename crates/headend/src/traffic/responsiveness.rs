//! Responsiveness under working conditions: round trips per minute (RPM) on a line that is filled for the purpose, by draft-ietf-ippm-responsiveness-08.
//!
//! Load-generating connections are added at every interval. Once the goodput is stable, so is to be the responsiveness, whose latest value is the
//! result. It comes from probes, a request for one byte each: *foreign* ones open a connection of their own (times of the TCP handshake,
//! the TLS handshake for each of its round trips, the request), *self* ones share a load-generating connection. Goodput and responsiveness are stable
//! when the standard deviation of their latest moving averages is small beside the last of them. Of each kind of time the upper 5 % are left out of the mean:
//!
//! ```text
//! foreign = 60000 / ((TM(tcp_f) + TM(tls_f) + TM(http_f)) / 3)      times in ms
//! loaded  = 60000 / TM(http_l)
//! RPM     = (foreign + loaded) / 2
//! ```
//!
//! A sender of load hands its connection no more ahead of time than what leaves within 5 ms, so that a self probe waits in the network and not in the
//! sender; the draft asks for `TCP_NOTSENT_LOWAT`, its next revision for these 5 ms. What deviates: no probes in the first interval, when nothing says what the line can carry (the draft bounds their share of it);
//! load-generating connections begin without a TLS handshake.

use super::config::{About, Definition, Fault, ensure, ensure_span};
use super::marks::Marks;
use super::memory::{Own, Setting};
use super::web::Tls;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{self, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Probability};

/// Parameters of a responsiveness test.
///
/// Use it for one figure that says how a line feels while it is busy: round trips per minute, as `networkQuality` shows them.
///
/// Source: draft-ietf-ippm-responsiveness-08, "Responsiveness under Working Conditions" (October 2025).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Load-generating connections added at each interval (INC).
    pub added: u32,
    /// Size of what a server answers to a probe's TLS handshake, most of it certificates.
    pub certificates: ByteCount,
    /// Intervals of a moving average, and values that have to agree (MAD). More of them take longer, and are surer.
    pub distance: u32,
    /// Load-generating connections at the start (INP).
    pub initial: u32,
    /// Length of an interval (ID).
    pub interval: Duration,
    /// How long a direction's test takes at most; what is not stable by then is reported as it is.
    pub limit: Duration,
    /// Most load-generating connections (MNP).
    pub most: u32,
    /// Time between the end of a test and the start of the next.
    pub pause: Duration,
    /// Probes of each kind in a second, at most (MPS).
    pub probes: u32,
    /// Share of the capacity that probes may take (PTC): on a slow line they become fewer.
    pub share: Probability,
    /// How many tests. Without it they follow each other until the flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// TLS of the foreign probes. Without it, `"off"`, two times make up a foreign round trip, not three.
    pub tls: Tls,
    /// Standard deviation at which averages are stable, as a share of the latest (SDT).
    pub tolerance: Probability,
    /// Share of the times that count, from the lowest up (TMP).
    pub trim: Probability,
}

impl Default for Config {
    fn default() -> Self {
        // The draft's table of parameters, but for what is marked.
        Self {
            added: 1,
            // With the rest of a foreign probe about the 5000 B that the draft reckons with.
            certificates: ByteCount(4000),
            distance: 4,
            initial: 1,
            interval: Duration::from_secs(1),
            // The draft's example: 10 s for each of two stages.
            limit: Duration::from_secs(20),
            most: 16,
            // A choice.
            pause: Duration::from_secs(20),
            probes: 100,
            share: Probability(0.05),
            tests: None,
            tls: Tls::Tls13,
            tolerance: Probability(0.05),
            trim: Probability(0.95),
        }
    }
}

/// One sample for each test, of the direction that it filled; NaN where a kind of probe had no
/// answer.
static RPM: measure::Kind = measure::Kind {
    scale: "round trips/min",
    is_rising: true,
    place: 60,
    compared_by: &[("round trips per minute", "p50")],
    ..measure::Kind::new(
        "rpm",
        Unit::PerMinute,
        "Round trips per minute while the line is filled, as networkQuality shows them.",
    )
};

/// One sample for each test: 0 (low), 1 (medium), 2 (high).
static RPM_CONFIDENCE: measure::Kind = measure::Kind {
    is_rising: true,
    range: Some((0.0, 2.0)),
    ..measure::Kind::new(
        "rpm_confidence",
        Unit::Number,
        "How sure the round trips per minute are: 2, 1 or 0.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "responsiveness",
            properties: &[],
            measures: const {
                &[
                    RPM.up(),
                    RPM.down(),
                    RPM_CONFIDENCE.up(),
                    RPM_CONFIDENCE.down(),
                ]
            },
        }
    }

    fn transport(&self) -> &'static str {
        "tcp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        let within = |value: u32, most: u32| (1..=most).contains(&value);
        ensure(within(self.most, 1000), "most", "1 to 1000")?;
        ensure(within(self.initial, self.most), "initial", "1 to `most`")?;
        ensure(self.added <= self.most, "added", "at most `most`")?;
        ensure((2..=100).contains(&self.distance), "distance", "2 to 100")?;
        ensure(within(self.probes, 10_000), "probes", "1 to 10 000")?;
        let certificates = (1..=1 << 20).contains(&self.certificates.0);
        ensure(certificates, "certificates", "1 B to 1 MiB")?;
        ensure(self.share.0 > 0.0, "share", "more than 0")?;
        ensure(self.tolerance.0 > 0.0, "tolerance", "more than 0")?;
        ensure(self.trim.0 > 0.0, "trim", "more than 0")?;
        ensure(self.tests != Some(0), "tests", "at least 1")?;
        let interval = self.interval >= Duration::from_millis(10);
        ensure(interval, "interval", "at least 10 ms")?;
        ensure_span(self.interval, "interval")?;
        ensure_span(self.pause, "pause")?;
        ensure_span(self.limit, "limit")?;
        let limit = self.limit >= self.interval * 2;
        ensure(limit, "limit", "at least two intervals")
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Responsiveness::new(self.clone(), direction))
    }

    fn connections(&self) -> u64 {
        u64::from(self.most) + u64::from(self.probes.min(100))
    }

    fn own_bytes(&self) -> Own {
        let [probes, distance] = [self.probes, self.distance].map(f64::from);
        Own {
            keys: "responsiveness.probes",
            text: format!("{probes} probes × {distance} intervals × 40 B"),
            each: probes * distance * 40.0,
        }
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.interval, 1.0)
    }
}

/// Somebody who measures responsiveness.
#[derive(Debug)]
pub struct Responsiveness {
    config: Config,
    direction: Direction,
    /// Who sends the load of the test under way.
    from: Side,
    running: bool,
    loads: Vec<Load>,
    probes: Vec<Foreign>,
    times: Times,
    stability: Stability,
    started_at: Instant,
    /// Intervals that are over.
    intervals: u64,
    /// Time between two pairs of probes, once the capacity is known.
    gap: Option<Duration>,
    /// The wake-up for the next probe, if there is one: when, and its token. Others are of a pace that was given up.
    next: Option<(Instant, u64)>,
    tests_done: u64,
    stopped: bool,
}

/// A load-generating connection.
#[derive(Debug)]
struct Load {
    flow: FlowId,
    connected: bool,
    /// Bytes that each side has written.
    written: [u64; 2],
    /// Received by the end of the interval before.
    received: u64,
    /// What is handed over at a time.
    chunk: u64,
    /// Self probes on their way to the server, by when they were made, and where it sends the load, the request for that. Then their answers.
    requests: Marks<Option<Instant>>,
    answers: Marks<Instant>,
}

/// A foreign probe.
#[derive(Debug, Clone, Copy)]
struct Foreign {
    flow: FlowId,
    /// When the step under way began.
    since: Instant,
    /// When the TCP handshake was over.
    connected_at: Instant,
    /// Round trips since then, TLS's and then the request's.
    exchanges: u32,
    asked: u64,
    promised: u64,
}

impl Responsiveness {
    /// Tests that begin when they are started.
    pub fn new(config: Config, direction: Direction) -> Self {
        Self {
            from: first_sender(direction),
            direction,
            running: false,
            loads: Vec::with_capacity(config.most as usize),
            probes: Vec::with_capacity(config.probes as usize),
            times: Times::new(&config),
            stability: Stability::new(config.distance as usize, config.tolerance.0),
            started_at: Instant::ZERO,
            intervals: 0,
            gap: None,
            next: None,
            tests_done: 0,
            stopped: false,
            config,
        }
    }

    fn begin(&mut self, cx: &mut AppContext<'_>) {
        self.running = true;
        self.started_at = cx.now;
        self.intervals = 0;
        self.gap = None;
        self.times.clear();
        self.stability.clear();
        for _ in 0..self.config.initial {
            self.add_load(cx);
        }
        cx.wake_at(cx.now + self.config.interval, INTERVAL);
    }

    fn add_load(&mut self, cx: &mut AppContext<'_>) {
        self.loads.push(Load {
            flow: cx.connect(0, Side::Host),
            connected: false,
            written: [0; 2],
            received: 0,
            chunk: SEGMENT,
            requests: Marks::with_capacity(16),
            answers: Marks::with_capacity(16),
        });
    }

    /// An interval is over.
    fn interval(&mut self, cx: &mut AppContext<'_>) {
        self.intervals += 1;
        let reader = self.from.other();
        let mut bytes = 0;
        for load in &mut self.loads {
            let received = cx.received(load.flow, reader);
            let own = received - load.received;
            load.received = received;
            bytes += own;
            let ahead = own as f64 * (AHEAD.as_secs_f64() / self.config.interval.as_secs_f64());
            load.chunk = (ahead as u64).next_multiple_of(SEGMENT).max(SEGMENT);
        }
        let rpm = self.times.close_interval();
        let stable = self.stability.take(bytes as f64, rpm);
        let over = cx.now + self.config.interval > self.started_at + self.config.limit;
        if stable || over {
            return self.finish(rpm, cx);
        }
        for _ in 0..self.config.added {
            if self.loads.len() < self.config.most as usize {
                self.add_load(cx);
            }
        }
        self.set_pace(bytes, cx);
        cx.wake_at(cx.now + self.config.interval, INTERVAL);
    }

    /// As many probes as their share of the capacity allows, which brought so many bytes in an interval.
    fn set_pace(&mut self, bytes: u64, cx: &mut AppContext<'_>) {
        let second = Duration::from_secs(1);
        let fastest = second / u64::from(self.config.probes);
        if bytes == 0 {
            self.gap = None;
            return;
        }
        let share = PAIR_BYTES as f64 / (self.config.share.0 * bytes as f64);
        let slowest = self.config.interval.mul_f64(share);
        let gap = fastest.max(slowest);
        self.gap = Some(gap);
        // What was put off by a slower pace comes at the new one: on a far line the first interval brings little.
        match self.next {
            None => self.probe_at(cx.now, FOREIGN, cx),
            Some((due, token)) if due > cx.now + gap / 2 => {
                self.probe_at(cx.now + gap / 2, token, cx);
            }
            Some(_) => {}
        }
    }

    /// Asks for the wake-up of the next probe.
    fn probe_at(&mut self, at: Instant, token: u64, cx: &mut AppContext<'_>) {
        self.next = Some((at, token));
        cx.wake_at(at, token);
    }

    /// The test is over: what it found, and how sure that is.
    fn finish(&mut self, rpm: Option<f64>, cx: &mut AppContext<'_>) {
        cx.measure(RPM.of(self.from), rpm.unwrap_or(f64::NAN));
        cx.measure(RPM_CONFIDENCE.of(self.from), self.stability.confidence());
        for load in self.loads.drain(..) {
            cx.hang_up(load.flow);
        }
        for probe in self.probes.drain(..) {
            cx.hang_up(probe.flow);
        }
        self.running = false;
        let was_down = self.from == Side::Peer;
        if self.direction == Direction::Both && was_down {
            self.from = Side::Host;
            return cx.wake_at(cx.now, NEXT_TEST);
        }
        self.from = first_sender(self.direction);
        self.tests_done += 1;
        if !self.stopped && self.config.tests.is_none_or(|n| self.tests_done < n) {
            cx.wake_at(cx.now + self.config.pause, NEXT_TEST);
        }
    }

    /// Launches a foreign probe, and half a gap later a self probe.
    fn launch(&mut self, token: u64, cx: &mut AppContext<'_>) {
        if self.next != Some((cx.now, token)) {
            return;
        }
        let Some(gap) = self.gap.filter(|_| self.running) else {
            self.next = None;
            return;
        };
        if token == FOREIGN {
            self.probes.push(Foreign {
                flow: cx.connect(0, Side::Host),
                since: cx.now,
                connected_at: cx.now,
                exchanges: 0,
                asked: 0,
                promised: 0,
            });
        } else {
            self.ask_on_load(cx);
        }
        self.probe_at(cx.now + gap / 2, FOREIGN + SELF - token, cx);
    }

    /// A self probe, on any of the load-generating connections that are open.
    fn ask_on_load(&mut self, cx: &mut AppContext<'_>) {
        let open = self.loads.iter().filter(|load| load.connected).count() as u64;
        let chosen = cx.rng.below(open) as usize;
        let mut open = self.loads.iter_mut().filter(|load| load.connected);
        if let Some(load) = open.nth(chosen) {
            load.ask(Some(cx.now), cx);
        }
    }

    fn load_news(&mut self, index: usize, news: News, cx: &mut AppContext<'_>) {
        let from = self.from;
        let load = &mut self.loads[index];
        match news {
            News::Connected => {
                load.connected = true;
                if from == Side::Host {
                    load.write(from, cx);
                } else {
                    // The request for what never ends.
                    load.ask(None, cx);
                }
            }
            News::Writable { at } if at == from => load.write(from, cx),
            News::Received {
                at: Side::Peer,
                total,
            } => load.answer(total, cx),
            News::Received {
                at: Side::Host,
                total,
            } => {
                while let Some(asked_at) = load.answers.pop(total, load.flow, Side::Host, cx) {
                    self.times.add(Kind::Loaded, cx.now - asked_at);
                }
            }
            News::Closed => {
                // The draft aborts its test here; another connection keeps the load up.
                self.loads.swap_remove(index);
                self.add_load(cx);
            }
            News::Delivered { .. } | News::Writable { .. } => {}
        }
    }

    fn probe_news(&mut self, index: usize, news: News, cx: &mut AppContext<'_>) {
        let probe = &mut self.probes[index];
        match news {
            News::Connected => {
                self.times.add(Kind::Tcp, cx.now - probe.since);
                (probe.since, probe.connected_at) = (cx.now, cx.now);
                probe.exchange(&self.config, cx);
            }
            News::Received { at: Side::Peer, .. } => {
                let (_, down) = probe.flights(&self.config);
                cx.send(probe.flow, Side::Peer, down);
            }
            News::Received { at: Side::Host, .. } => {
                probe.exchanges += 1;
                let handshake = self.config.tls.round_trips();
                if probe.exchanges == handshake {
                    let time = (cx.now - probe.connected_at) / u64::from(handshake);
                    self.times.add(Kind::Tls, time);
                }
                if probe.exchanges > handshake {
                    self.times.add(Kind::Http, cx.now - probe.since);
                    cx.hang_up(self.probes.swap_remove(index).flow);
                } else {
                    probe.since = cx.now;
                    probe.exchange(&self.config, cx);
                }
            }
            News::Closed => {
                self.probes.swap_remove(index);
            }
            News::Delivered { .. } | News::Writable { .. } => {}
        }
    }

    fn flow_news(&mut self, flow: FlowId, news: News, cx: &mut AppContext<'_>) {
        if let Some(index) = self.loads.iter().position(|load| load.flow == flow) {
            self.load_news(index, news, cx);
        } else if let Some(index) = self.probes.iter().position(|probe| probe.flow == flow) {
            self.probe_news(index, news, cx);
        }
    }
}

impl Load {
    /// More of the load, and again when there is room.
    fn write(&mut self, from: Side, cx: &mut AppContext<'_>) {
        self.written[from.index()] += self.chunk;
        cx.send(self.flow, from, self.chunk);
        cx.await_room(self.flow, from, 0);
    }

    /// A request: a probe made now, or one for the load.
    fn ask(&mut self, asked_at: Option<Instant>, cx: &mut AppContext<'_>) {
        self.written[Side::Host.index()] += REQUEST;
        let offset = self.written[Side::Host.index()];
        (self.requests).push(offset, asked_at, self.flow, Side::Peer, cx);
        cx.send(self.flow, Side::Host, REQUEST);
    }

    /// The server has read `total` bytes: it answers the requests among them.
    fn answer(&mut self, total: u64, cx: &mut AppContext<'_>) {
        while let Some(asked_at) = self.requests.pop(total, self.flow, Side::Peer, cx) {
            let Some(asked_at) = asked_at else {
                self.write(Side::Peer, cx);
                continue;
            };
            self.written[Side::Peer.index()] += ANSWER;
            cx.send(self.flow, Side::Peer, ANSWER);
            let offset = self.written[Side::Peer.index()];
            (self.answers).push(offset, asked_at, self.flow, Side::Host, cx);
        }
    }
}

impl Foreign {
    /// Bytes of the round trip under way, up and down.
    fn flights(&self, config: &Config) -> (u64, u64) {
        let handshake = (config.tls).flights(self.exchanges, config.certificates.0);
        handshake.unwrap_or((config.tls.rest() + REQUEST, ANSWER))
    }

    fn exchange(&mut self, config: &Config, cx: &mut AppContext<'_>) {
        let (up, down) = self.flights(config);
        self.asked += up;
        self.promised += down;
        cx.expect(self.flow, Side::Peer, self.asked);
        cx.expect(self.flow, Side::Host, self.promised);
        cx.send(self.flow, Side::Host, up);
    }
}

impl Application for Responsiveness {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.begin(cx),
            // A test under way is carried to its end, both directions of it.
            AppEvent::Stopped => self.stopped = true,
            AppEvent::Timer { token: INTERVAL } => self.interval(cx),
            AppEvent::Timer { token: NEXT_TEST } => {
                let is_second_half = self.direction == Direction::Both && self.from == Side::Host;
                if !self.stopped || is_second_half {
                    self.begin(cx);
                }
            }
            AppEvent::Timer { token } => self.launch(token, cx),
            AppEvent::Flow { flow, news } => self.flow_news(flow, news, cx),
        }
    }
}

/// Who sends the load, first if both do: downstream goes first.
fn first_sender(direction: Direction) -> Side {
    match direction {
        Direction::Up => Side::Host,
        Direction::Both | Direction::Down => Side::Peer,
    }
}

/// What a probe times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Tls,
    Http,
    Loaded,
}

/// The times of the latest intervals, in ms, by kind.
#[derive(Debug)]
struct Times {
    trim: f64,
    has_tls: bool,
    /// By interval, the one under way last; then by kind.
    intervals: Vec<[Vec<f64>; 4]>,
    /// Room to sort in.
    sorted: Vec<f64>,
}

impl Times {
    fn new(config: &Config) -> Self {
        let interval = || [(); 4].map(|()| Vec::with_capacity(config.probes as usize));
        Self {
            trim: config.trim.0,
            has_tls: config.tls != Tls::Off,
            intervals: (0..config.distance).map(|_| interval()).collect(),
            sorted: Vec::with_capacity((config.probes * config.distance) as usize),
        }
    }

    fn clear(&mut self) {
        for times in self.intervals.iter_mut().flatten() {
            times.clear();
        }
    }

    fn add(&mut self, kind: Kind, time: Duration) {
        if let Some(interval) = self.intervals.last_mut() {
            interval[kind as usize].push(time.as_nanos() as f64 / 1e6);
        }
    }

    /// Responsiveness over the latest intervals, of which one is over now and another begins; none while a kind of probe has no answer.
    fn close_interval(&mut self) -> Option<f64> {
        let tcp = self.trimmed_mean(Kind::Tcp);
        let tls = self.trimmed_mean(Kind::Tls);
        let http = self.trimmed_mean(Kind::Http);
        let loaded = self.trimmed_mean(Kind::Loaded);
        self.intervals.rotate_left(1);
        for times in self.intervals.last_mut().into_iter().flatten() {
            times.clear();
        }
        let foreign = if self.has_tls {
            (tcp? + tls? + http?) / 3.0
        } else {
            f64::midpoint(tcp?, http?)
        };
        Some(f64::midpoint(60_000.0 / foreign, 60_000.0 / loaded?))
    }

    fn trimmed_mean(&mut self, kind: Kind) -> Option<f64> {
        self.sorted.clear();
        for interval in &self.intervals {
            self.sorted.extend_from_slice(&interval[kind as usize]);
        }
        self.sorted.sort_by(f64::total_cmp);
        let kept = (self.sorted.len() as f64 * self.trim).ceil() as usize;
        let kept = &self.sorted[..kept];
        (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
    }
}

/// Whether goodput, then responsiveness, have come to rest.
#[derive(Debug)]
struct Stability {
    distance: usize,
    tolerance: f64,
    /// Bytes of the intervals, and their moving averages.
    bytes: Vec<f64>,
    goodput: Vec<f64>,
    saturated: bool,
    rpm: Vec<f64>,
    stable: bool,
}

impl Stability {
    fn new(distance: usize, tolerance: f64) -> Self {
        Self {
            distance,
            tolerance,
            bytes: Vec::with_capacity(64),
            goodput: Vec::with_capacity(64),
            saturated: false,
            rpm: Vec::with_capacity(64),
            stable: false,
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.goodput.clear();
        self.rpm.clear();
        (self.saturated, self.stable) = (false, false);
    }

    /// An interval brought so many bytes, and this responsiveness: whether the test has its result.
    fn take(&mut self, bytes: f64, rpm: Option<f64>) -> bool {
        self.bytes.push(bytes);
        if self.saturated {
            self.rpm.extend(rpm);
            self.stable = self.is_stable(&self.rpm);
            return self.stable;
        }
        let latest = &self.bytes[self.bytes.len().saturating_sub(self.distance)..];
        // What came before the start counts as nothing.
        self.goodput
            .push(latest.iter().sum::<f64>() / self.distance as f64);
        self.saturated = self.is_stable(&self.goodput);
        false
    }

    /// The latest values' standard deviation is within the tolerance of the last.
    fn is_stable(&self, values: &[f64]) -> bool {
        let Some(first) = values.len().checked_sub(self.distance) else {
            return false;
        };
        let latest = &values[first..];
        let count = latest.len() as f64;
        let mean = latest.iter().sum::<f64>() / count;
        let squares = latest.iter().map(|value| (value - mean) * (value - mean));
        let last = latest[latest.len() - 1];
        last > 0.0 && (squares.sum::<f64>() / count).sqrt() < self.tolerance * last
    }

    /// 2 (high) for a result that is stable, 1 (medium) for one that had the intervals for it, 0 (low) for less.
    fn confidence(&self) -> f64 {
        match (self.stable, self.rpm.len() >= self.distance) {
            (true, _) => 2.0,
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }
}

/// A request for one byte and its answer, with HTTP/2's frames and compressed headers: with TCP's and TLS's packets what the draft reckons with.
const REQUEST: u64 = 100;
const ANSWER: u64 = 100;
/// What a pair of probes takes: 5000 B and 1000 B.
const PAIR_BYTES: u64 = 6000;
/// What a sender of load hands over ahead of time, at the rate of its connection; at least a full segment.
const AHEAD: Duration = Duration::from_millis(5);
const SEGMENT: u64 = 1448;
/// Tokens of wake-ups.
const INTERVAL: u64 = 0;
const NEXT_TEST: u64 = 1;
const FOREIGN: u64 = 2;
const SELF: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::testing::Desk;

    fn milliseconds(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn responsiveness_is_the_mean_of_foreign_and_loaded_round_trips_a_minute() {
        let mut times = Times::new(&Config::default());
        for (kind, ms) in [
            (Kind::Tcp, 20),
            (Kind::Tls, 25),
            (Kind::Http, 30),
            (Kind::Loaded, 100),
        ] {
            times.add(kind, milliseconds(ms));
        }
        assert_eq!(times.close_interval(), Some(f64::midpoint(2400.0, 600.0)));
        // They count for four intervals, and then nothing is known.
        for _ in 0..3 {
            assert!(times.close_interval().is_some());
        }
        assert_eq!(times.close_interval(), None);
    }

    #[test]
    fn a_pace_that_a_far_line_began_with_is_given_up_at_once() {
        let mut test = Responsiveness::new(Config::default(), Direction::Down);
        let mut desk = Desk::new(1);
        desk.tell(&mut test, AppEvent::Started);
        // A window of ten segments in the first interval: a pair of probes in eight seconds.
        test.set_pace(10 * SEGMENT, &mut desk.context());
        desk.tell(&mut test, AppEvent::Timer { token: FOREIGN });
        let late = test.next.expect("the self probe is to come").0;
        assert!(late - Instant::ZERO > Duration::from_secs(4), "{late:?}");
        // Then the line gives 80 Mbit/s.
        test.set_pace(10_000_000, &mut desk.context());
        let (due, token) = test.next.expect("it is to come sooner");
        assert!(due - Instant::ZERO <= milliseconds(10), "{due:?}");
        assert_eq!(token, SELF);
    }

    #[test]
    fn without_tls_two_times_make_up_a_foreign_round_trip() {
        let config = Config {
            tls: Tls::Off,
            ..Config::default()
        };
        let mut times = Times::new(&config);
        for (kind, ms) in [(Kind::Tcp, 20), (Kind::Http, 30), (Kind::Loaded, 60)] {
            times.add(kind, milliseconds(ms));
        }
        assert_eq!(times.close_interval(), Some(f64::midpoint(2400.0, 1000.0)));
    }

    #[test]
    fn the_slowest_twentieth_does_not_count() {
        let mut times = Times::new(&Config::default());
        for number in 0..100 {
            times.add(Kind::Tcp, milliseconds(if number < 5 { 5000 } else { 20 }));
        }
        assert_eq!(times.trimmed_mean(Kind::Tcp), Some(20.0));
    }

    #[test]
    fn goodput_comes_to_rest_first_and_then_responsiveness() {
        let mut stability = Stability::new(4, 0.05);
        // Averages over four: 25, 50, 75, 100, 100, 100, 100. The latest four lie within 5 % from the seventh on.
        let rests = |stability: &mut Stability, rpm| stability.take(100.0, Some(rpm));
        for _ in 0..6 {
            assert!(!rests(&mut stability, 500.0));
        }
        assert!(!stability.saturated);
        assert!(!rests(&mut stability, 500.0));
        assert!(stability.saturated);
        assert!(stability.confidence() < 0.5);
        for rpm in [900.0, 500.0, 505.0, 495.0] {
            assert!(!rests(&mut stability, rpm));
        }
        assert!((0.5..1.5).contains(&stability.confidence()));
        assert!(rests(&mut stability, 500.0));
        assert!(stability.confidence() > 1.5);
    }

    #[test]
    fn a_line_that_brings_nothing_is_never_stable() {
        let mut stability = Stability::new(4, 0.05);
        for _ in 0..20 {
            assert!(!stability.take(0.0, None));
        }
        assert!(!stability.saturated);
    }
}
