//! Rules for every congestion control with its defaults: a sender that obeys the control uses a
//! path that acknowledges, loses and marks at random.
//!
//! - The window never falls below one segment, and a pacing rate never to zero.
//! - The window grows by acknowledgements alone, and by no more than they acknowledge.
//! - The window does not grow at a loss or a mark. It is one segment after a timeout, and at most
//!   the restart window after an idle time.
//! - The same events give the same windows.
//!
//! [`EXCEPTIONS`] lists the rules that a control does not keep, with the document that says so.

use std::collections::VecDeque;

use headend::congestion::{
    AckSample, CongestionConfig, CongestionControl, CongestionSignal, DeliverySample, Stance,
};
use headend::rng::Rng;
use headend::time::{Duration, Instant};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_oneof, proptest};
use proptest::test_runner::RngSeed;

const MSS: u64 = 1448;
const INITIAL_WINDOW: u64 = 10 * MSS;
/// RFC 5681 §4.1: the restart window is the initial window, if `cwnd` is not smaller.
const RESTART_WINDOW: u64 = INITIAL_WINDOW;
/// Two segments: the least slow-start threshold (RFC 5681 §3.1, equation 4).
const LEAST_THRESHOLD: u64 = 2 * MSS;
const BASE_RTT: Duration = Duration::from_millis(20);

/// A rule that not every control keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// After the recovery from a loss, the window is smaller than before the loss.
    YieldsToLoss,
    /// After round trips in which every segment was marked, and the marks were counted (RFC 9768),
    /// the window is smaller.
    YieldsToMarks,
    /// The same with the echo of RFC 3168, which does not count the marks.
    YieldsToEcho,
    /// After an idle time the window is at most the restart window (RFC 5681 §4.1).
    RestartsAfterIdle,
    /// After round trips in each of which a fifth of the segments was lost, the window is smaller.
    YieldsToHeavyLoss,
    /// The window grows by no more than is acknowledged (RFC 5681 §3.1, equation 2).
    GrowsByWhatIsAcked,
    /// A loss or mark does not let the window grow. A control with an exception may set it to what
    /// was in flight.
    DoesNotGrowAtLoss,
    /// An event that only shows a loss does not let the window grow. A control with an exception
    /// may raise it to the largest window that it had so far.
    GrowsByAcknowledgementsAlone,
}

const BBR: &str = "draft-cardwell-iccrg-bbr-congestion-control-00";
const BBR3: &str = "draft-ietf-ccwg-bbr";

/// The rules that a control does not keep, and the document that says so.
const EXCEPTIONS: &[(&str, Rule, [&str; 2])] = &[
    (
        "bbr",
        Rule::YieldsToLoss,
        [BBR, "§4.2.3.4: the window is restored after the recovery"],
    ),
    (
        "bbr",
        Rule::YieldsToMarks,
        [BBR, "the model has no ECN input"],
    ),
    (
        "bbr",
        Rule::YieldsToEcho,
        [BBR, "the model has no ECN input"],
    ),
    (
        "bbr",
        Rule::RestartsAfterIdle,
        [BBR, "§4.3.6: the restart is paced at BtlBw"],
    ),
    (
        "bbr",
        Rule::DoesNotGrowAtLoss,
        [BBR, "§4.2.3.4: the window becomes packets_in_flight"],
    ),
    (
        "bbr",
        Rule::GrowsByAcknowledgementsAlone,
        [BBR, "§4.3.5: ProbeRTT ends by time and restores the window"],
    ),
    (
        "bbr3",
        Rule::YieldsToLoss,
        [BBR3, "§5.3.1.3: Startup ends at a loss above LossThresh"],
    ),
    (
        "bbr3",
        Rule::GrowsByAcknowledgementsAlone,
        [
            BBR3,
            "§5.3.4: ProbeRTT ends by time and restores the window",
        ],
    ),
    ("bbr3", Rule::YieldsToMarks, [BBR3, "§3.8: ECN is not used"]),
    ("bbr3", Rule::YieldsToEcho, [BBR3, "§3.8: ECN is not used"]),
    (
        "bbr3",
        Rule::RestartsAfterIdle,
        [BBR3, "§5.4.1: the restart is paced at the bandwidth"],
    ),
    (
        "fast",
        Rule::GrowsByWhatIsAcked,
        ["Jin, Wei and Low 2004", "§IV-B: w ← min(2w, …) each period"],
    ),
];

fn keeps(config: &CongestionConfig, rule: Rule) -> bool {
    !(EXCEPTIONS.iter()).any(|&(name, other, _)| (name, other) == (config.name(), rule))
}

/// A segment in flight, and the sender's state when it was sent.
#[derive(Debug, Clone, Copy)]
struct Segment {
    number: u64,
    sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    in_flight: u64,
    app_limited: bool,
}

/// The kind of recovery, and the first number that was sent after the loss was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    None,
    Fast(u64),
    Timeout(u64),
}

/// An event at the sender.
#[derive(Debug, Clone, Copy)]
enum Operation {
    /// The application has this many segments to send.
    Send(u64),
    /// After some time, an acknowledgement reports that the first `lost` segments in flight are
    /// lost, and that the next `acked` have arrived, perhaps with CE.
    Acknowledge {
        after: Duration,
        lost: u64,
        acked: u64,
        marked: bool,
    },
    /// The retransmission timer expires.
    Timeout,
    /// All segments arrive, and then nothing is sent for this long.
    Idle(Duration),
}

/// A sender that obeys a control: it numbers segments, counts what is in flight, and calls the
/// control as TCP does. A lost segment is sent again under a new number.
struct Sender<'a> {
    config: &'a CongestionConfig,
    control: Box<dyn CongestionControl>,
    counts_marks: bool,
    now: Instant,
    flight: VecDeque<Segment>,
    next_number: u64,
    last_sent_at: Option<Instant>,
    delivered: u64,
    delivered_at: Instant,
    round: u64,
    round_ends_at: u64,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    cwnd_limited: bool,
    largest_cwnd: u64,
    recovery: Recovery,
    /// Until this number is acknowledged, there is no further response to congestion.
    responded_until: Option<u64>,
    trace: Vec<Stance>,
}

impl<'a> Sender<'a> {
    fn new(config: &'a CongestionConfig, counts_marks: bool) -> Self {
        let mut control = config.build(MSS, INITIAL_WINDOW, Rng::for_path(1, "control"));
        control.on_handshake(BASE_RTT);
        let sender = Self {
            config,
            control,
            counts_marks,
            now: Instant::ZERO,
            flight: VecDeque::new(),
            next_number: 0,
            last_sent_at: None,
            delivered: 0,
            delivered_at: Instant::ZERO,
            round: 0,
            round_ends_at: 0,
            srtt: None,
            min_rtt: None,
            cwnd_limited: false,
            largest_cwnd: INITIAL_WINDOW,
            recovery: Recovery::None,
            responded_until: None,
            trace: Vec::new(),
        };
        sender.check_limits();
        sender
    }

    fn name(&self) -> &'static str {
        self.config.name()
    }

    fn cwnd(&self) -> u64 {
        self.control.cwnd()
    }

    fn in_flight(&self) -> u64 {
        self.flight.len() as u64 * MSS
    }

    fn has_room(&self) -> bool {
        self.in_flight() + MSS <= self.cwnd()
    }

    fn carry_out(&mut self, operation: Operation) {
        match operation {
            Operation::Send(segments) => self.send(segments),
            Operation::Acknowledge {
                after,
                lost,
                acked,
                marked,
            } => self.acknowledge(after, lost, acked, marked),
            Operation::Timeout => self.time_out(),
            Operation::Idle(span) => self.idle(span),
        }
        self.largest_cwnd = self.largest_cwnd.max(self.cwnd());
        self.trace.push(self.control.stance());
    }

    fn send(&mut self, segments: u64) {
        let timeout = Duration::from_secs(1).max(self.srtt.unwrap_or_default() * 2);
        if (self.last_sent_at).is_some_and(|at| self.now.since(at) > timeout) {
            let before = self.cwnd();
            self.control.on_idle(RESTART_WINDOW.min(before));
            self.check_no_growth(before, "after an idle time");
            if keeps(self.config, Rule::RestartsAfterIdle) {
                assert!(self.cwnd() <= RESTART_WINDOW, "{} restarts", self.name());
            }
        }
        for sent in 0..segments {
            if !self.has_room() {
                self.cwnd_limited = true;
                return;
            }
            self.cwnd_limited = false;
            if self.flight.is_empty() {
                self.delivered_at = self.now;
            }
            self.flight.push_back(Segment {
                number: self.next_number,
                sent_at: self.now,
                delivered: self.delivered,
                delivered_at: self.delivered_at,
                in_flight: self.in_flight() + MSS,
                app_limited: sent + 1 == segments,
            });
            self.next_number += 1;
            self.last_sent_at = Some(self.now);
            let before = self.cwnd();
            self.control.on_sent(self.now, MSS, self.in_flight());
            self.check_no_growth(before, "when it sends");
        }
        self.cwnd_limited = !self.has_room();
    }

    fn acknowledge(&mut self, after: Duration, lost: u64, acked: u64, marked: bool) {
        let in_flight = self.flight.len() as u64;
        let lost = lost.min(in_flight);
        let acked = acked.min(in_flight - lost);
        if lost + acked == 0 {
            return;
        }
        let newest = self.flight[(lost + acked - 1) as usize];
        self.now = (self.now + after).max(newest.sent_at + BASE_RTT);
        let cwnd = self.cwnd();
        let mut sample = self.sample();
        for segment in self.flight.drain(..lost as usize) {
            sample.newly_lost += MSS;
            sample.lost_in_flight = segment.in_flight;
        }
        self.take_in(acked, marked, &mut sample);
        // A recovery ends before the next loss is detected.
        sample.in_flight = self.in_flight() + sample.newly_lost;
        self.end_recovery(&mut sample);
        if lost > 0 && !matches!(self.recovery, Recovery::Fast(_)) {
            self.begin_recovery(&mut sample);
        }
        if marked && sample.newly_acked > 0 {
            sample.in_recovery = true;
            self.respond(CongestionSignal::Ecn, &sample);
        }
        sample.in_recovery |= matches!(self.recovery, Recovery::Fast(_));
        sample.in_flight = self.in_flight();
        self.control.on_ack(&sample);
        self.check_limits();
        if sample.newly_acked == 0 {
            let most = if keeps(self.config, Rule::GrowsByAcknowledgementsAlone) {
                cwnd.max(LEAST_THRESHOLD)
            } else {
                self.largest_cwnd
            };
            self.check_no_growth(most, "without an acknowledgement");
        }
        if keeps(self.config, Rule::GrowsByWhatIsAcked) {
            let most = INITIAL_WINDOW + self.delivered;
            assert!(
                self.cwnd() <= most,
                "{}: {} B acknowledged in all, and a window of {} B",
                self.name(),
                self.delivered,
                self.cwnd()
            );
        }
    }

    /// Records that the first `acked` segments in flight have arrived.
    fn take_in(&mut self, acked: u64, marked: bool, sample: &mut AckSample) {
        let Some(newest) = self.flight.drain(..acked as usize).next_back() else {
            return;
        };
        let bytes = acked * MSS;
        self.delivered += bytes;
        self.delivered_at = self.now;
        if newest.delivered >= self.round_ends_at {
            self.round_ends_at = self.delivered;
            self.round += 1;
        }
        let rtt = self.now.since(newest.sent_at);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.srtt = Some(self.srtt.map_or(rtt, |old| (old * 7 + rtt) / 8));
        let interval = self.now.since(newest.delivered_at);
        *sample = AckSample {
            newly_acked: bytes,
            ce_bytes: if marked && self.counts_marks {
                bytes
            } else {
                0
            },
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            one_way_delay: Some(rtt / 2),
            // draft-ietf-ccwg-bbr §4.1.2.1: a sample over less than the smallest round trip is not
            // used.
            delivery_sample: (Some(interval) >= self.min_rtt).then(|| DeliverySample {
                bytes: self.delivered - newest.delivered,
                interval,
            }),
            delivered: self.delivered,
            prior_delivered: newest.delivered,
            sent_in_flight: newest.in_flight,
            app_limited: newest.app_limited,
            round: self.round,
            ..*sample
        };
    }

    /// A sample in which nothing was acknowledged or lost.
    fn sample(&self) -> AckSample {
        AckSample {
            now: self.now,
            prior_in_flight: self.in_flight(),
            flight_size: self.in_flight(),
            in_flight: self.in_flight(),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            delivered: self.delivered,
            prior_delivered: self.delivered,
            cwnd_limited: self.cwnd_limited,
            round: self.round,
            mss: MSS,
            ..AckSample::default()
        }
    }

    /// The first number that is not yet acknowledged or lost.
    fn first_number(&self) -> u64 {
        (self.flight.front()).map_or(self.next_number, |segment| segment.number)
    }

    fn end_recovery(&mut self, sample: &mut AckSample) {
        let first = self.first_number();
        match self.recovery {
            Recovery::Fast(point) if first >= point && sample.newly_acked > 0 => {
                self.recovery = Recovery::None;
                self.control.on_recovered(sample);
                self.check_limits();
                // A loss that is detected now is one of the segments that are outstanding now.
                sample.flight_size = sample.in_flight;
            }
            Recovery::Timeout(point) if first >= point => self.recovery = Recovery::None,
            _ => {}
        }
    }

    fn begin_recovery(&mut self, sample: &mut AckSample) {
        let signal = CongestionSignal::Loss {
            lost: sample.newly_lost,
        };
        if self.control.repairs_in_slow_start() {
            sample.newly_lost += self.in_flight();
            self.flight.clear();
            self.recovery = Recovery::Timeout(self.next_number);
        } else {
            self.recovery = Recovery::Fast(self.next_number);
        }
        self.respond(signal, sample);
    }

    /// Responds to a loss or mark, at most once in a window of data.
    fn respond(&mut self, signal: CongestionSignal, sample: &AckSample) {
        let first = self.first_number();
        let is_new = |until| match signal {
            // RFC 8257 §3.3: "less than or equal".
            CongestionSignal::Ecn => first > until,
            CongestionSignal::Loss { .. } | CongestionSignal::Timeout => first >= until,
        };
        if !self.responded_until.is_none_or(is_new) {
            return;
        }
        self.responded_until = Some(self.next_number);
        let before = self.cwnd();
        self.control.on_congestion(signal, sample);
        let most = if keeps(self.config, Rule::DoesNotGrowAtLoss) {
            before.max(LEAST_THRESHOLD)
        } else {
            before.max(sample.prior_in_flight)
        };
        self.check_no_growth(most, "at a loss or mark");
    }

    fn time_out(&mut self) {
        if self.flight.is_empty() {
            return;
        }
        self.now += Duration::from_secs(1);
        let sample = AckSample {
            newly_lost: self.in_flight(),
            in_flight: 0,
            ..self.sample()
        };
        self.flight.clear();
        self.recovery = Recovery::Timeout(self.next_number);
        self.responded_until = Some(self.next_number);
        self.control
            .on_congestion(CongestionSignal::Timeout, &sample);
        // RFC 5681 §3.1: "cwnd MUST be set to no more than the loss window, LW, which equals 1
        // full-sized segment".
        assert_eq!(self.cwnd(), MSS, "{} after a timeout", self.name());
        self.check_limits();
    }

    fn idle(&mut self, span: Duration) {
        self.acknowledge(Duration::ZERO, 0, u64::MAX, false);
        self.now += span;
    }

    fn check_no_growth(&self, before: u64, when: &str) {
        self.check_limits();
        assert!(
            self.cwnd() <= before,
            "{} grew from {before} B to {} B {when}",
            self.name(),
            self.cwnd()
        );
    }

    fn check_limits(&self) {
        let Stance {
            cwnd, pacing_rate, ..
        } = self.control.stance();
        assert!(cwnd >= MSS, "{}: a window of {cwnd} B", self.name());
        assert!(
            pacing_rate.is_none_or(|rate| rate.0 > 0),
            "{} never sends again",
            self.name()
        );
    }

    /// Runs a round trip in which the window is full and every segment arrives.
    fn go_round(&mut self, marked: bool) {
        self.send(u64::MAX);
        let last = self.next_number;
        while self.first_number() < last {
            self.acknowledge(Duration::ZERO, 0, 1, marked);
            self.send(u64::MAX);
        }
    }
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let micros = |most: u64| (0..most).prop_map(Duration::from_micros);
    let marked = prop::bool::weighted(0.1);
    let lost = prop_oneof![12 => 0..1_u64, 2 => 1..3_u64, 1 => 1..40_u64];
    let acknowledge =
        (micros(5_000), lost, 0_u64..6, marked).prop_map(|(after, lost, acked, marked)| {
            Operation::Acknowledge {
                after,
                lost,
                acked,
                marked,
            }
        });
    let operation = prop_oneof![
        60 => (1_u64..60).prop_map(Operation::Send),
        120 => acknowledge,
        1 => (0_u64..1).prop_map(|_| Operation::Timeout),
        2 => (0_u64..12_000).prop_map(|ms| Operation::Idle(Duration::from_millis(ms))),
    ];
    prop::collection::vec(operation, 1..800)
}

fn trace(config: &CongestionConfig, counts_marks: bool, operations: &[Operation]) -> Vec<Stance> {
    let mut sender = Sender::new(config, counts_marks);
    for &operation in operations {
        sender.carry_out(operation);
    }
    sender.trace
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(31),
        ..ProptestConfig::with_cases(256)
    })]

    #[test]
    fn every_control_keeps_the_rules(
        operations in operations(),
        counts_marks in prop::bool::ANY,
    ) {
        for config in CongestionConfig::all() {
            let first = trace(&config, counts_marks, &operations);
            let second = trace(&config, counts_marks, &operations);
            proptest::prop_assert_eq!(first, second, "{} repeats itself", config.name());
        }
    }
}

#[test]
fn every_exception_is_of_a_control_that_there_is() {
    let names: Vec<_> = (CongestionConfig::all().iter())
        .map(CongestionConfig::name)
        .collect();
    for (name, rule, _) in EXCEPTIONS {
        assert!(names.contains(name), "{name}, {rule:?}");
    }
}

/// A sender whose window of 40 segments or more is full.
fn filled(config: &CongestionConfig, counts_marks: bool) -> Sender<'_> {
    let mut sender = Sender::new(config, counts_marks);
    let mut rounds = 0;
    while sender.cwnd() < 40 * MSS {
        sender.go_round(false);
        rounds += 1;
        assert!(rounds < 200, "{} grows on a free path", config.name());
    }
    sender.send(u64::MAX);
    sender
}

/// The windows before a lost segment and after the recovery from it.
fn around_a_loss(config: &CongestionConfig) -> [u64; 2] {
    let mut sender = filled(config, true);
    let before = sender.cwnd();
    sender.acknowledge(Duration::ZERO, 1, 1, false);
    let after_loss = sender.cwnd();
    while sender.recovery != Recovery::None {
        sender.acknowledge(Duration::ZERO, 0, 1, false);
        sender.send(u64::MAX);
    }
    [before, sender.cwnd().max(after_loss)]
}

/// The windows before and after twenty round trips, in each of which a fifth of the segments was
/// lost.
fn around_heavy_loss(config: &CongestionConfig) -> [u64; 2] {
    let mut sender = filled(config, true);
    let before = sender.cwnd();
    for _ in 0..20 {
        sender.send(u64::MAX);
        let last = sender.next_number;
        while sender.first_number() < last {
            sender.acknowledge(Duration::ZERO, 1, 4, false);
            sender.send(u64::MAX);
        }
    }
    [before, sender.cwnd()]
}

/// The windows before and after three round trips in which every segment was marked.
fn around_marks(config: &CongestionConfig, counts_marks: bool) -> [u64; 2] {
    let mut sender = filled(config, counts_marks);
    let before = sender.cwnd();
    for _ in 0..3 {
        sender.go_round(true);
    }
    [before, sender.cwnd()]
}

#[test]
fn every_control_yields_as_its_document_says() {
    let mut surprises = Vec::new();
    for config in CongestionConfig::all() {
        let observed = [
            (Rule::YieldsToLoss, around_a_loss(&config)),
            (Rule::YieldsToHeavyLoss, around_heavy_loss(&config)),
            (Rule::YieldsToMarks, around_marks(&config, true)),
            (Rule::YieldsToEcho, around_marks(&config, false)),
        ];
        for (rule, [before, after]) in observed {
            if (after < before) != keeps(&config, rule) {
                let name = config.name();
                surprises.push(format!("{name}, {rule:?}: {before} B, then {after} B"));
            }
        }
        let mut sender = filled(&config, true);
        sender.idle(Duration::from_secs(2));
        sender.control.on_idle(RESTART_WINDOW);
        let restarts = sender.cwnd() <= RESTART_WINDOW;
        if restarts != keeps(&config, Rule::RestartsAfterIdle) {
            surprises.push(format!("{} after an idle time", config.name()));
        }
    }
    assert_eq!(surprises, [""; 0]);
}
