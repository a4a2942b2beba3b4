//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness-08): measures round
//! trips per minute (RPM) on a line that the test itself saturates.
//!
//! The test adds load-generating connections at every interval until the goodput is stable. From
//! then on it continues until the responsiveness is stable as well. The latest responsiveness is
//! the result. It is computed from probes, each a request for one byte:
//!
//! - A *foreign* probe opens a connection of its own. It measures the time of the TCP handshake,
//!   the mean time of a round trip of the TLS handshake, and the time of the request.
//! - A *self* probe is sent on a load-generating connection.
//!
//! Goodput and responsiveness are stable when the standard deviation of their latest moving
//! averages is small relative to the last of them. The longest 5 % of the times of each kind are
//! excluded from the mean TM:
//!
//! ```text
//! foreign = 60000 / ((TM(tcp_f) + TM(tls_f) + TM(http_f)) / 3)      times in ms
//! loaded  = 60000 / TM(http_l)
//! RPM     = (foreign + loaded) / 2
//! ```
//!
//! A sender of load writes to its connection only as much ahead of time as leaves within 5 ms. A
//! self probe therefore waits in the network and not in the sender. The draft requires
//! `TCP_NOTSENT_LOWAT`; its next revision gives the 5 ms.
//!
//! Deviations:
//!
//! - There are no probes in the first interval, because the capacity is not known yet. The draft
//!   limits the share of the capacity that probes may use.
//! - Load-generating connections have no TLS handshake.

use super::definition::{About, Definition, Fault, ensure, ensure_span};
use super::memory::{Own, Setting};
use super::message_ends::MessageEnds;
use super::web::Tls;
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::flow::FlowId;
use crate::metrics::measure::{self, Unit};
use crate::packet::Side;
use crate::time::{Duration, Instant};
use crate::units::{ByteCount, Probability};

/// Parameters of a responsiveness test.
///
/// Use it for one figure that describes how a line feels under load: round trips per minute, as
/// `networkQuality` shows them.
///
/// Source: draft-ietf-ippm-responsiveness-08, "Responsiveness under Working Conditions" (October
/// 2025).
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Number of load-generating connections that are added at each interval (INC).
    pub added: u32,
    /// Size of a server's response in the TLS handshake of a probe, most of it certificates.
    pub certificates: ByteCount,
    /// Number of intervals of a moving average, and number of values that must agree (MAD). A
    /// larger one makes a test longer and its result more reliable.
    pub distance: u32,
    /// Number of load-generating connections at the start (INP).
    pub initial: u32,
    /// Length of an interval (ID).
    pub interval: Duration,
    /// Longest duration of the test of one direction. A result that is not stable by then is
    /// reported as it is.
    pub limit: Duration,
    /// Largest number of load-generating connections (MNP).
    pub most: u32,
    /// Time between the end of a test and the start of the next.
    pub pause: Duration,
    /// Largest number of probes of each kind in a second (MPS).
    pub probes: u32,
    /// Share of the capacity that probes may use (PTC). A slow line thus gets fewer probes.
    pub share: Probability,
    /// Number of tests. Without it, tests follow each other until the flow's stop time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// TLS version of the foreign probes. With `"off"`, a foreign round trip is the mean of two
    /// times, not three.
    pub tls: Tls,
    /// Standard deviation below which averages are stable, as a share of the latest average (SDT).
    pub tolerance: Probability,
    /// Share of the times that count, from the shortest up (TMP).
    pub trim: Probability,
}

impl Default for Config {
    fn default() -> Self {
        // The values of the draft's table of parameters, except where marked.
        Self {
            added: 1,
            // With the rest of a foreign probe, about the 5000 B that the draft assumes.
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

/// One sample for each test and direction; NaN if no probe of some kind was answered.
static RPM: measure::Kind = measure::Kind {
    scale: "round trips/min",
    higher_is_better: true,
    place: 60,
    compared_by: &[("round trips per minute", "p50")],
    ..measure::Kind::new(
        "rpm",
        Unit::PerMinute,
        "Round trips per minute while the line is filled, as networkQuality shows them.",
    )
};

/// One sample for each test and direction: 0 (low), 1 (medium), 2 (high).
static RPM_CONFIDENCE: measure::Kind = measure::Kind {
    higher_is_better: true,
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

/// A host that measures responsiveness.
#[derive(Debug)]
pub struct Responsiveness {
    config: Config,
    direction: Direction,
    /// The side that sends the load in the current test.
    from: Side,
    running: bool,
    loads: Vec<Load>,
    probes: Vec<Foreign>,
    times: Times,
    stability: Stability,
    started_at: Instant,
    /// Number of completed intervals.
    intervals: u64,
    /// Time between two pairs of probes, once the capacity is known.
    gap: Option<Duration>,
    /// Time and token of the scheduled wake-up for the next probe, if any. A wake-up with another
    /// time or token is outdated and ignored.
    next: Option<(Instant, u64)>,
    tests_done: u64,
    stopped: bool,
}

/// A load-generating connection.
#[derive(Debug)]
struct Load {
    flow: FlowId,
    connected: bool,
    /// Number of bytes that each side has written.
    written: [u64; 2],
    /// Number of bytes received by the end of the previous interval.
    received: u64,
    /// Number of bytes that the sender writes at a time.
    chunk: u64,
    /// Requests on their way to the server, then responses on their way back, each with the time at
    /// which the self probe was sent. `None` stands for the request that starts the load.
    requests: MessageEnds<Option<Instant>>,
    answers: MessageEnds<Instant>,
}

/// A foreign probe.
#[derive(Debug, Clone, Copy)]
struct Foreign {
    flow: FlowId,
    /// Start of the current step.
    since: Instant,
    /// End of the TCP handshake.
    connected_at: Instant,
    /// Number of completed round trips since then: first those of TLS, then the request's.
    exchanges: u32,
    requested: u64,
    expected: u64,
}

impl Responsiveness {
    /// Creates an application that starts its tests on [`AppEvent::Started`].
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
            requests: MessageEnds::with_capacity(16),
            answers: MessageEnds::with_capacity(16),
        });
    }

    /// Ends an interval.
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

    /// Sets the time between probes to the shortest that keeps within their share of the capacity.
    /// `bytes` is the number of bytes received in the last interval.
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
        // If the next probe was delayed by a slower pace, it is sent at the new pace. Over a long
        // round trip the first interval delivers few bytes, and so gives a slow pace.
        match self.next {
            None => self.probe_at(cx.now, FOREIGN, cx),
            Some((due, token)) if due > cx.now + gap / 2 => {
                self.probe_at(cx.now + gap / 2, token, cx);
            }
            Some(_) => {}
        }
    }

    /// Schedules the wake-up for the next probe.
    fn probe_at(&mut self, at: Instant, token: u64, cx: &mut AppContext<'_>) {
        self.next = Some((at, token));
        cx.wake_at(at, token);
    }

    /// Ends the test, and records its result and the confidence in it.
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

    /// Sends a foreign probe, or the self probe half a gap after it.
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
                requested: 0,
                expected: 0,
            });
        } else {
            self.probe_on_load(cx);
        }
        self.probe_at(cx.now + gap / 2, FOREIGN + SELF - token, cx);
    }

    /// Sends a self probe on a random established load-generating connection.
    fn probe_on_load(&mut self, cx: &mut AppContext<'_>) {
        let open = self.loads.iter().filter(|load| load.connected).count() as u64;
        let chosen = cx.rng.below(open) as usize;
        let mut open = self.loads.iter_mut().filter(|load| load.connected);
        if let Some(load) = open.nth(chosen) {
            load.request(Some(cx.now), cx);
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
                    // This request starts the endless response.
                    load.request(None, cx);
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
                while let Some(requested_at) = load.answers.pop(total, load.flow, Side::Host, cx) {
                    self.times.add(Kind::Loaded, cx.now - requested_at);
                }
            }
            News::Closed => {
                // The draft aborts its test here. Here another connection replaces the lost one, so
                // that the load continues.
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
    /// Writes the next part of the load, and requests a notice when the connection is writable
    /// again.
    fn write(&mut self, from: Side, cx: &mut AppContext<'_>) {
        self.written[from.index()] += self.chunk;
        cx.send(self.flow, from, self.chunk);
        cx.await_room(self.flow, from, 0);
    }

    /// Sends a request: a self probe sent at `asked_at`, or the request that starts the load.
    fn request(&mut self, requested_at: Option<Instant>, cx: &mut AppContext<'_>) {
        self.written[Side::Host.index()] += REQUEST;
        let offset = self.written[Side::Host.index()];
        (self.requests).push(offset, requested_at, self.flow, Side::Peer, cx);
        cx.send(self.flow, Side::Host, REQUEST);
    }

    /// The server has read `total` bytes: it answers the requests among them.
    fn answer(&mut self, total: u64, cx: &mut AppContext<'_>) {
        while let Some(requested_at) = self.requests.pop(total, self.flow, Side::Peer, cx) {
            let Some(requested_at) = requested_at else {
                self.write(Side::Peer, cx);
                continue;
            };
            self.written[Side::Peer.index()] += ANSWER;
            cx.send(self.flow, Side::Peer, ANSWER);
            let offset = self.written[Side::Peer.index()];
            (self.answers).push(offset, requested_at, self.flow, Side::Host, cx);
        }
    }
}

impl Foreign {
    /// Number of bytes of the current round trip, up and down.
    fn flights(&self, config: &Config) -> (u64, u64) {
        let handshake = (config.tls).flights(self.exchanges, config.certificates.0);
        handshake.unwrap_or((config.tls.rest() + REQUEST, ANSWER))
    }

    fn exchange(&mut self, config: &Config, cx: &mut AppContext<'_>) {
        let (up, down) = self.flights(config);
        self.requested += up;
        self.expected += down;
        cx.expect(self.flow, Side::Peer, self.requested);
        cx.expect(self.flow, Side::Host, self.expected);
        cx.send(self.flow, Side::Host, up);
    }
}

impl Application for Responsiveness {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.begin(cx),
            // A test in progress is completed in both directions.
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

/// The side that sends the load first: with both directions, downstream is tested first.
fn first_sender(direction: Direction) -> Side {
    match direction {
        Direction::Up => Side::Host,
        Direction::Both | Direction::Down => Side::Peer,
    }
}

/// The kinds of times that probes measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Tls,
    Http,
    Loaded,
}

/// Times of the latest intervals, in ms, by kind.
#[derive(Debug)]
struct Times {
    trim: f64,
    has_tls: bool,
    /// Times by interval and kind. The current interval is the last.
    intervals: Vec<[Vec<f64>; 4]>,
    /// Buffer for sorting.
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

    /// Ends the current interval and begins the next. Returns the responsiveness over the latest
    /// intervals; `None` if no probe of some kind was answered.
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

/// Whether goodput, and then responsiveness, are stable.
#[derive(Debug)]
struct Stability {
    distance: usize,
    tolerance: f64,
    /// Number of bytes in each interval, and the moving averages of them.
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

    /// Adds the bytes and the responsiveness of an interval. Returns whether the test has its
    /// result.
    fn take(&mut self, bytes: f64, rpm: Option<f64>) -> bool {
        self.bytes.push(bytes);
        if self.saturated {
            self.rpm.extend(rpm);
            self.stable = self.is_stable(&self.rpm);
            return self.stable;
        }
        let latest = &self.bytes[self.bytes.len().saturating_sub(self.distance)..];
        // Intervals before the start count as zero.
        self.goodput
            .push(latest.iter().sum::<f64>() / self.distance as f64);
        self.saturated = self.is_stable(&self.goodput);
        false
    }

    /// Whether the standard deviation of the latest values is within the tolerance of the last
    /// value.
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

    /// 2 (high) if the result is stable, 1 (medium) if there were enough intervals for a result, 0
    /// (low) otherwise.
    fn confidence(&self) -> f64 {
        match (self.stable, self.rpm.len() >= self.distance) {
            (true, _) => 2.0,
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }
}

/// Size of a request for one byte and of its response, with HTTP/2 frames and compressed headers.
/// Together with the packets of TCP and TLS they give the sizes that the draft assumes.
const REQUEST: u64 = 100;
const ANSWER: u64 = 100;
/// Number of bytes of a pair of probes: 5000 B and 1000 B.
const PAIR_BYTES: u64 = 6000;
/// How much a sender of load writes ahead of time, at the rate of its connection; at least one full
/// segment.
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
    use crate::traffic::testing::Bench;

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
        // The probes count for four intervals; afterwards the result is unknown.
        for _ in 0..3 {
            assert!(times.close_interval().is_some());
        }
        assert_eq!(times.close_interval(), None);
    }

    #[test]
    fn a_slow_initial_pace_is_replaced_at_once() {
        let mut test = Responsiveness::new(Config::default(), Direction::Down);
        let mut bench = Bench::new(1);
        bench.notify(&mut test, AppEvent::Started);
        // The first interval delivers a window of ten segments: the pace is one pair of probes in
        // eight seconds.
        test.set_pace(10 * SEGMENT, &mut bench.context());
        bench.notify(&mut test, AppEvent::Timer { token: FOREIGN });
        let late = test.next.expect("the self probe is to come").0;
        assert!(late - Instant::ZERO > Duration::from_secs(4), "{late:?}");
        // Then the line carries 80 Mbit/s.
        test.set_pace(10_000_000, &mut bench.context());
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
    fn goodput_is_stable_first_and_then_responsiveness() {
        let mut stability = Stability::new(4, 0.05);
        // Averages over four intervals: 25, 50, 75, 100, 100, 100, 100. The latest four are within
        // 5 % from the seventh on.
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
