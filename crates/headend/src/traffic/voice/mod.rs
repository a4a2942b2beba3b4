//! Telephone calls: audio packets at constant intervals in both directions, each direction scored
//! for its listener, with optional call set-up and clearing by SIP.
//!
//! A packet of G.711 is 160 B of audio (20 ms at 64 kbit/s) in 12 B of RTP, 8 B of UDP and 20 B of
//! IP: 200 IP bytes. On a DOCSIS line these are the 218 B of the AQM study, which include Ethernet.
//! A packet of G.729 is 60 IP bytes. [`crate::metrics::voice`] computes the score. There is no
//! silence suppression and no RTCP.
//!
//! Calls with a length follow each other. [`talk`] is the audio of one call, and [`signalling`]
//! sets calls up.

mod signalling;
mod talk;

use self::signalling::{Event, Signalling};
use self::talk::{LATE, MOS, Talk};
use super::definition::{
    About, Definition, Fault, ensure, ensure_datagram, ensure_gap, ensure_span,
};
use super::memory::{Datagrams, Own, Setting};
use super::{AppContext, AppEvent, Application, Direction, News};
use crate::metrics::measure::{Chart, Kind, Unit};
use crate::metrics::voice::{self, Codec, DeJitter, Scorer};
use crate::time::{Duration, Instant};
use crate::units::ByteCount;

/// Parameters of telephone calls.
///
/// Use it for voice quality: a call is scored in both directions by delay and loss.
///
/// Source: ITU-T G.107 and G.113 for the score; packets as in White, "Active Queue Management in
/// DOCSIS 3.x Cable Modems" (CableLabs, 2014); RFC 3261 for the signalling.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The codec: it determines the number of bytes, and how much quality the codec itself and lost
    /// packets cost.
    pub codec: Codec,
    /// Time between two packets of a side, and playing time of each packet. It is part of the
    /// mouth-to-ear delay.
    pub interval: Duration,
    /// How a call is scored.
    pub scoring: voice::Config,
    /// Size of a packet, IP bytes: 200 B are 218 B on a DOCSIS line. Default: 40 B of headers and
    /// the codec's audio, 200 B or 60 B every 20 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<ByteCount>,
    /// How a call is set up and cleared.
    pub signalling: Protocol,
    /// Duration of a call, at least a scoring period. Default: one call, to the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
    /// Time between two calls. It must be longer than `scoring.grace`, so that the last packets of
    /// a call are counted before the next call begins.
    pub pause: Duration,
    /// Number of calls, failed ones included. Default: calls follow each other to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
}

/// The protocol that sets up and clears a call.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// No signalling: both sides send audio at once.
    #[default]
    None,
    /// SIP over UDP: INVITE, 200, ACK, BYE, with their retransmissions. A call that is not answered
    /// within 32 s has failed.
    Sip,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            codec: Codec::G711,
            // White, "Active Queue Management in DOCSIS 3.x Cable Modems" (CableLabs, 2014): 218 B
            // at 50 packets/s.
            interval: Duration::from_millis(20),
            scoring: voice::Config::default(),
            size: None,
            signalling: Protocol::None,
            length: None,
            // A choice: longer than the default grace.
            pause: Duration::from_secs(5),
            calls: None,
        }
    }
}

impl Config {
    /// Size of a packet, IP bytes.
    fn size(&self) -> ByteCount {
        let sound = self.codec.bytes_in(self.interval);
        self.size.unwrap_or(ByteCount(HEADERS + sound))
    }
}

/// Smallest and largest depth of a fixed de-jitter buffer: a shallower one absorbs no delay
/// variation, and a deeper one makes a conversation impossible.
const SHALLOWEST: Duration = Duration::from_millis(1);
const DEEPEST: Duration = Duration::from_secs(1);
/// ITU-T G.729: a frame is 10 ms of audio. Nanoseconds.
const G729_FRAME: u64 = 10_000_000;

/// RTP 12 B, UDP 8 B, IPv4 20 B.
const HEADERS: u64 = 40;

/// One sample for each call with signalling; NaN if the call failed.
static SET_UP_TIME: Kind = Kind {
    place: 160,
    compared_by: &[("call set-up p50", "p50")],
    chart: Some(Chart {
        name: "set-up",
        title: "Call set-up time",
        axis: "until answered (s)",
        factor: 1e-9,
        explanation: "Each point is a call, from asking for it to its answer; one that failed has \
                      none. It takes a round trip, with whatever stands in the queues on the way; \
                      half a second and more comes of messages that were lost and sent again.",
        is_points: true,
        is_after_queues: false,
        place: 10,
    }),
    ..Kind::new(
        "set_up_time",
        Unit::Time,
        "From a call's first INVITE to its answer.",
    )
};

/// One sample for each call with signalling: 1 if the call could not be set up, 0 if it could.
static CALL_FAILED: Kind = Kind {
    place: 170,
    compared_by: &[("calls failed", "mean")],
    ..Kind::new(
        "call_failed",
        Unit::Share,
        "Share of the calls that could not be set up.",
    )
};

impl Definition for Config {
    fn about() -> About {
        About {
            name: "voice",
            properties: &[],
            measures: const {
                &[
                    MOS.up(),
                    MOS.down(),
                    LATE.up(),
                    LATE.down(),
                    SET_UP_TIME.whole(),
                    CALL_FAILED.whole(),
                ]
            },
        }
    }

    fn transport(&self) -> &'static str {
        "udp"
    }

    fn directions(&self) -> &'static [Direction] {
        &[Direction::Both, Direction::Up, Direction::Down]
    }

    fn check(&self) -> Result<(), Fault> {
        ensure_gap(self.interval, "interval")?;
        if let Some(size) = self.size {
            ensure_datagram(size, "size")?;
        }
        let scoring = &self.scoring;
        ensure_span(scoring.period, "scoring.period")?;
        ensure(
            scoring.period >= self.interval
                && Scorer::packets_in(scoring.period, self.interval) <= MOST_PACKETS,
            "scoring.period",
            "a time of 1 to 100 000 packets",
        )?;
        ensure_datagram(self.size(), "interval")?;
        ensure(
            scoring.grace <= scoring.period,
            "scoring.grace",
            "at most the scoring period",
        )?;
        ensure(
            scoring.concealment || self.codec != Codec::G729,
            "scoring.concealment",
            "true: a decoder of G.729 conceals losses in any case",
        )?;
        if let DeJitter::Fixed(depth) = scoring.de_jitter {
            ensure(
                (SHALLOWEST..=DEEPEST).contains(&depth),
                "scoring.de_jitter.fixed",
                "1 ms to 1 s",
            )?;
        }
        ensure(
            self.codec != Codec::G729 || (self.interval.as_nanos()).is_multiple_of(G729_FRAME),
            "interval",
            "a multiple of 10 ms, the length of a frame of G.729",
        )?;
        self.check_calls()
    }

    fn build(&self, direction: Direction) -> Box<dyn Application> {
        Box::new(Voice::new(self, direction))
    }

    fn datagrams(&self, _direction: Direction) -> Datagrams {
        Datagrams::both(self.interval, 60.0)
    }

    fn own_bytes(&self) -> Own {
        let period = self.scoring.period.as_secs_f64();
        let packets = (period / self.interval.as_secs_f64()).ceil();
        Own {
            keys: "voice.scoring.period",
            text: format!("2 directions × {packets} packets of a period × 12 B"),
            each: 24.0 * packets,
        }
    }

    fn samples(&self, of: &Setting) -> f64 {
        of.every(self.scoring.period, 4.0)
    }
}

impl Config {
    fn check_calls(&self) -> Result<(), Fault> {
        ensure(self.calls != Some(0), "calls", "at least one")?;
        let Some(length) = self.length else {
            return ensure(
                self.calls.is_none(),
                "calls",
                "a `length` beside it: a call without one has no end",
            );
        };
        ensure_span(length, "length")?;
        ensure_span(self.pause, "pause")?;
        ensure(
            length >= self.scoring.period,
            "length",
            "at least the scoring period (scoring.period): a shorter call has no score",
        )?;
        ensure(
            self.pause > self.scoring.grace && self.pause > self.interval,
            "pause",
            "more than `scoring.grace` and `interval`",
        )
    }
}

/// A telephone user who makes one call after another.
#[derive(Debug)]
pub struct Voice {
    config: Config,
    direction: Direction,
    /// Audio of the current or latest call.
    talk: Talk,
    signalling: Option<Signalling>,
    /// Number of calls begun.
    begun: u32,
    /// Time at which the current call ends.
    hang_up_at: Option<Instant>,
    /// Time at which the next call begins.
    next_at: Option<Instant>,
    stopped: bool,
}

impl Voice {
    /// Creates a user who makes the first call on [`AppEvent::Started`].
    pub fn new(config: &Config, direction: Direction) -> Self {
        Self {
            config: config.clone(),
            direction,
            talk: Talk::new(config, direction),
            signalling: match config.signalling {
                Protocol::None => None,
                Protocol::Sip => Some(Signalling::default()),
            },
            begun: 0,
            hang_up_at: None,
            next_at: None,
            stopped: false,
        }
    }

    /// Begins the next call.
    fn call(&mut self, cx: &mut AppContext<'_>) {
        if self.begun > 0 {
            self.talk = Talk::new(&self.config, self.direction);
        }
        self.begun += 1;
        match &mut self.signalling {
            None => self.answered(cx),
            Some(signalling) => signalling.invite(cx),
        }
    }

    /// The call is answered: both sides send audio.
    fn answered(&mut self, cx: &mut AppContext<'_>) {
        self.talk.start(cx);
        if let Some(length) = self.config.length {
            let end = cx.now + length;
            self.hang_up_at = Some(end);
            cx.wake_at(end, HANG_UP);
        }
    }

    /// The caller ends the call.
    fn hang_up(&mut self, cx: &mut AppContext<'_>) {
        self.hang_up_at = None;
        self.talk.stop(cx);
        match &mut self.signalling {
            None => self.cleared(cx),
            Some(signalling) => signalling.bye(cx),
        }
    }

    /// The call is cleared. The next call follows after the pause.
    fn cleared(&mut self, cx: &mut AppContext<'_>) {
        let more = self.config.calls.is_none_or(|calls| self.begun < calls);
        if self.config.length.is_some() && more && !self.stopped {
            let next = cx.now + self.config.pause;
            self.next_at = Some(next);
            cx.wake_at(next, NEXT_CALL);
        }
    }

    /// Handles an event of the signalling.
    fn signalled(&mut self, event: Option<Event>, cx: &mut AppContext<'_>) {
        let measure = |set_up: f64, failed: f64, cx: &mut AppContext<'_>| {
            cx.measure(SET_UP_TIME.whole(), set_up);
            cx.measure(CALL_FAILED.whole(), failed);
        };
        match event {
            None => {}
            Some(Event::Answered { after }) => {
                measure(after.as_nanos() as f64, 0.0, cx);
                self.answered(cx);
            }
            Some(Event::Failed) => {
                measure(f64::NAN, 1.0, cx);
                self.cleared(cx);
            }
            Some(Event::Cleared) => self.cleared(cx),
        }
    }

    fn stop(&mut self, cx: &mut AppContext<'_>) {
        self.stopped = true;
        self.next_at = None;
        match &mut self.signalling {
            Some(signalling) if !signalling.is_talking() => signalling.give_up(),
            _ => self.hang_up(cx),
        }
    }

    fn wake(&mut self, token: u64, cx: &mut AppContext<'_>) {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= cx.now);
        match token {
            REPORT => self.talk.report(cx),
            HANG_UP if is_due(self.hang_up_at) => self.hang_up(cx),
            NEXT_CALL if is_due(self.next_at) => {
                self.next_at = None;
                self.call(cx);
            }
            HANG_UP | NEXT_CALL => {}
            SIGNAL => {
                let event = self.signalling.as_mut().and_then(|sip| sip.wake(cx));
                self.signalled(event, cx);
            }
            _ => self.talk.tick(token, cx),
        }
    }
}

impl Application for Voice {
    fn on(&mut self, event: AppEvent, cx: &mut AppContext<'_>) {
        match event {
            AppEvent::Started => self.call(cx),
            AppEvent::Stopped => self.stop(cx),
            AppEvent::Timer { token } => self.wake(token, cx),
            AppEvent::Flow {
                flow,
                news: News::Delivered {
                    at, number, delay, ..
                },
            } => {
                if self.talk.is_on(flow) {
                    self.talk.arrived(at, number, delay, cx);
                } else if let Some(signalling) = &mut self.signalling
                    && signalling.is_own(flow)
                {
                    let event = signalling.receive(at, number, cx);
                    self.signalled(event, cx);
                }
            }
            AppEvent::Flow { .. } => {}
        }
    }
}

/// Tokens of wake-ups; smaller tokens are sides that send audio.
const REPORT: u64 = 2;
const HANG_UP: u64 = 3;
const NEXT_CALL: u64 = 4;
const SIGNAL: u64 = 5;
/// Largest number of packets in a scoring period.
const MOST_PACKETS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Command;
    use crate::flow::FlowId;
    use crate::packet::{Ecn, Side};
    use crate::traffic::testing::Bench;

    const CONCEALED: voice::Impairment = Codec::G711.impairment(true);

    fn delivered(at: Side, number: u64, sent_at: Instant, delay: Duration) -> AppEvent {
        AppEvent::Flow {
            flow: FlowId(0),
            news: News::Delivered {
                at,
                number,
                size: 200,
                sent_at,
                delay,
                ecn: Ecn::NotEct,
            },
        }
    }

    /// Runs a call to `end`. `network` gives the delay of each packet, with which the packet is
    /// delivered at once; `None` loses it.
    fn call(
        direction: Direction,
        end: Duration,
        network: impl Fn(Side, u64) -> Option<Duration>,
    ) -> Bench {
        let mut call = Voice::new(&Config::default(), direction);
        let mut bench = Bench::new(1);
        bench.notify(&mut call, AppEvent::Started);
        while let Some((at, token)) = bench.next_timer()
            && at < Instant::ZERO + end
        {
            bench.notify(&mut call, AppEvent::Timer { token });
            for (_, side, command) in bench.commands() {
                let Command::Datagram { number, size: 200 } = command else {
                    panic!("a call sends packets of 200 B")
                };
                if let Some(delay) = network(side, number) {
                    bench.notify(&mut call, delivered(side.other(), number, at, delay));
                }
            }
        }
        bench
    }

    #[test]
    fn each_direction_has_a_score_every_ten_seconds() {
        let mut bench = call(Direction::Both, Duration::from_secs(31), |side, _| {
            Some(Duration::from_millis(match side {
                Side::Host => 40,
                Side::Peer => 20,
            }))
        });
        let (up, down) = (bench.samples("mos"), bench.samples("mos_down"));
        assert_eq!((up.len(), down.len()), (3, 3));
        let expected = |ms| {
            voice::mos(voice::rating(
                Duration::from_millis(ms),
                0.0,
                1.0,
                CONCEALED,
            ))
        };
        assert!((up[0] - expected(100)).abs() < 1e-9);
        assert!((down[0] - expected(80)).abs() < 1e-9);
        assert_eq!(bench.samples("late"), [0.0; 3]);
    }

    #[test]
    fn a_call_one_way_scores_that_way_only() {
        let delay = Duration::from_millis(40);
        let mut bench = call(Direction::Down, Duration::from_secs(11), |_, _| Some(delay));
        assert_eq!(bench.samples("mos").len(), 0);
        assert_eq!(bench.samples("mos_down").len(), 1);
    }

    #[test]
    fn a_packet_in_ten_late_and_one_in_ten_lost_cost_a_fifth() {
        let mut bench = call(Direction::Up, Duration::from_secs(13), |_, number| {
            match number % 10 {
                3 => None,
                7 => Some(Duration::from_millis(90)),
                _ => Some(Duration::from_millis(40)),
            }
        });
        let expected = voice::mos(voice::rating(
            Duration::from_millis(100),
            0.2,
            1.0,
            CONCEALED,
        ));
        assert!((bench.samples("mos")[0] - expected).abs() < 1e-9);
        assert!((bench.samples("late")[0] - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_period_with_losses_is_scored_after_its_grace_also_when_the_call_is_over() {
        let mut call = Voice::new(&Config::default(), Direction::Up);
        let mut bench = Bench::new(1);
        bench.notify(&mut call, AppEvent::Started);
        for _ in 0..500 {
            let (_, token) = bench.next_timer().expect("it goes on");
            bench.notify(&mut call, AppEvent::Timer { token });
        }
        bench.notify(&mut call, AppEvent::Stopped);
        assert_eq!(bench.samples("mos").len(), 0);
        while let Some((_, token)) = bench.next_timer() {
            bench.notify(&mut call, AppEvent::Timer { token });
        }
        assert_eq!(bench.samples("mos"), [1.0]);
        assert!(bench.now >= Instant::ZERO + Duration::from_secs(12));
    }

    /// Packets that were sent: time in milliseconds, sender, and size.
    type Sent = Vec<(u64, Side, u16)>;

    /// Runs calls to `end`. A datagram arrives after `delay` unless `is_lost`, whose arguments are
    /// the sender, the size, and the number of earlier datagrams of this size.
    fn calls(
        text: &str,
        end: Duration,
        delay: Duration,
        is_lost: impl Fn(Side, u16, usize) -> bool,
    ) -> (Bench, Sent) {
        let config: Config = toml::from_str(text).expect("a good call");
        assert_eq!(config.check(), Ok(()));
        let mut app = Voice::new(&config, Direction::Both);
        let mut bench = Bench::new(1);
        let (mut sent, mut in_transit): (Sent, Vec<_>) = (Vec::new(), Vec::new());
        bench.notify(&mut app, AppEvent::Started);
        loop {
            let now = bench.now;
            for (flow, side, command) in bench.commands() {
                let Command::Datagram { number, size } = command else {
                    panic!("a call sends datagrams")
                };
                let before = sent.iter().filter(|&&(_, _, other)| other == size).count();
                sent.push((now.as_nanos() / 1_000_000, side, size));
                if !is_lost(side, size, before) {
                    in_transit.push((now + delay, flow, side, number, size, now));
                }
            }
            let timer = bench.peek_timer();
            let arrival = in_transit.iter().map(|packet| packet.0).min();
            let next = timer.into_iter().chain(arrival).min();
            let Some(next) = next.filter(|&at| at <= Instant::ZERO + end) else {
                return (bench, sent);
            };
            if arrival == Some(next) {
                let place = in_transit.iter().position(|packet| packet.0 == next);
                let place = place.expect("it is one of them");
                let (at, flow, from, number, size, sent_at) = in_transit.remove(place);
                bench.now = at;
                let news = News::Delivered {
                    at: from.other(),
                    number,
                    size,
                    sent_at,
                    delay,
                    ecn: Ecn::NotEct,
                };
                bench.notify(&mut app, AppEvent::Flow { flow, news });
            } else if let Some((_, token)) = bench.next_timer() {
                bench.notify(&mut app, AppEvent::Timer { token });
            }
        }
    }

    const SHORT: &str =
        "length = '2 s'\npause = '1 s'\nscoring = { period = '2 s', grace = '500 ms' }\n";
    const INVITE: u16 = 591;
    const OK: u16 = 578;
    const ACK: u16 = 360;
    const BYE: u16 = 364;

    fn of_size(sent: &Sent, wanted: u16) -> Vec<u64> {
        let chosen = sent.iter().filter(|&&(_, _, size)| size == wanted);
        chosen.map(|&(at, ..)| at).collect()
    }

    #[test]
    fn packets_are_as_large_as_their_codec_makes_them() {
        let size = |text: &str| {
            toml::from_str::<Config>(text)
                .expect("a good call")
                .size()
                .0
        };
        assert_eq!(size(""), 200);
        assert_eq!(size("codec = 'g729'"), 60);
        assert_eq!(size("codec = 'g711'\ninterval = '10 ms'"), 120);
        assert_eq!(size("codec = 'g729'\nsize = '100 B'"), 100);
    }

    #[test]
    fn calls_that_make_no_sense_are_refused() {
        let fault = |text: &str| {
            let config: Config = toml::from_str(text).expect("a good table");
            config.check().expect_err(text).0
        };
        assert_eq!(fault("length = '9 s'"), "length");
        assert_eq!(fault("length = '20 s'\npause = '2 s'"), "pause");
        assert_eq!(fault("calls = 3"), "calls");
        assert_eq!(fault("length = '20 s'\ncalls = 0"), "calls");
        assert_eq!(
            fault("codec = 'g729'\nscoring.concealment = false"),
            "scoring.concealment"
        );
        assert_eq!(fault("size = '20 B'"), "size");
        assert_eq!(fault("interval = '10 s'"), "interval");
    }

    #[test]
    fn calls_of_a_length_follow_each_other_and_each_is_scored() {
        let text = format!("{SHORT}calls = 3");
        let delay = Duration::from_millis(30);
        let (mut bench, sent) = calls(&text, Duration::from_secs(30), delay, |_, _, _| false);
        assert_eq!(bench.samples("mos").len(), 3);
        assert_eq!(bench.samples("mos_down").len(), 3);
        assert_eq!(bench.samples("set_up_time").len(), 0);
        // Each side sends 100 packets in each of three calls, 3 s apart.
        assert_eq!(of_size(&sent, 200).len(), 600);
        let times = of_size(&sent, 200);
        assert!(times.iter().all(|at| at % 3000 < 2000), "{times:?}");
        assert!(sent.last().is_some_and(|&(at, ..)| at < 8000));
    }

    #[test]
    fn a_call_is_set_up_in_a_round_trip_and_a_half_and_cleared_before_the_next() {
        let text = format!("{SHORT}signalling = 'sip'\ncalls = 2");
        let delay = Duration::from_millis(100);
        let (mut bench, sent) = calls(&text, Duration::from_secs(30), delay, |_, _, _| false);
        assert_eq!(bench.samples("set_up_time"), [200e6; 2]);
        assert_eq!(bench.samples("call_failed"), [0.0; 2]);
        // INVITE; the 200 arrives after 200 ms and the ACK at 300 ms; 2 s of audio; BYE and its 200
        // by 2.5 s; a pause of 1 s.
        assert_eq!(of_size(&sent, INVITE), [0, 3500]);
        assert_eq!(of_size(&sent, OK), [100, 3600]);
        assert_eq!(of_size(&sent, ACK), [200, 3700]);
        assert_eq!(of_size(&sent, BYE), [2300, 5800]);
        let sound = of_size(&sent, 200);
        assert!(sound[0] >= 300 && sound.iter().all(|at| (at + 3200) % 3500 < 2000));
        assert_eq!(bench.samples("mos").len(), 2);
    }

    #[test]
    fn an_invite_without_a_response_is_repeated_and_fails_after_64_t1() {
        let text = format!("{SHORT}signalling = 'sip'\ncalls = 2");
        let (mut bench, sent) = calls(
            &text,
            Duration::from_secs(66),
            Duration::ZERO,
            |_, size, _| size == INVITE,
        );
        // RFC 3261 §17.1.1.2: seven requests, at 0, T1, 3 T1, 7 T1, …. The next call begins a
        // second after the failure.
        let first = [0, 500, 1500, 3500, 7500, 15_500, 31_500];
        let second = first.map(|at| at + 33_000);
        assert_eq!(of_size(&sent, INVITE), [first, second].concat());
        let times = bench.samples("set_up_time");
        assert_eq!(times.len(), 2);
        assert!(times.iter().all(|time| time.is_nan()));
        assert_eq!(bench.samples("call_failed"), [1.0; 2]);
        assert_eq!(bench.samples("mos").len(), 0);
    }

    #[test]
    fn a_lost_answer_and_a_lost_acknowledgement_come_again() {
        let text = format!("{SHORT}signalling = 'sip'\ncalls = 1");
        let delay = Duration::from_millis(50);
        // The first 200 is lost, and so is the first ACK.
        let lost = |_, size, before| (size == OK || size == ACK) && before == 0;
        let (mut bench, sent) = calls(&text, Duration::from_secs(30), delay, lost);
        assert_eq!(of_size(&sent, INVITE), [0], "a 180 was heard");
        assert_eq!(of_size(&sent, OK), [50, 550, 1550]);
        assert_eq!(of_size(&sent, ACK), [600, 1600]);
        assert_eq!(bench.samples("set_up_time"), [600e6]);
    }

    #[test]
    fn a_bye_without_a_response_ends_the_call_after_64_t1() {
        let text = format!("{SHORT}signalling = 'sip'\ncalls = 2");
        let (mut bench, sent) = calls(
            &text,
            Duration::from_secs(40),
            Duration::ZERO,
            |_, size, _| size == BYE,
        );
        // RFC 3261 §17.1.2.2: 500 ms, 1 s, 2 s, then every 4 s.
        let gaps: Vec<u64> = of_size(&sent, BYE)
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert_eq!(
            gaps[..10],
            [500, 1000, 2000, 4000, 4000, 4000, 4000, 4000, 4000, 4000]
        );
        assert_eq!(of_size(&sent, INVITE), [0, 35_000]);
        assert_eq!(bench.samples("call_failed"), [0.0; 2]);
    }
}
