//! Google Congestion Control (draft-ietf-rmcat-gcc-02): computes the rate of a call from the delay
//! and the loss of its packets.
//!
//! The receiver reports the arrival time of each packet. If packets leave the network further apart
//! than they entered it, a queue grows. A Kalman filter smooths this delay gradient. An over-use
//! detector compares the estimate with an adaptive threshold. A rate controller raises the rate
//! while there is no over-use. On over-use it sets the rate below the rate that arrives (§5). A
//! second controller reacts to losses (§6). The target rate is the smaller of the two rates.
//!
//! ```text
//! d(i) = t(i) − t(i−1) − (T(i) − T(i−1))    delay variation between two groups of packets (§5.1)
//! m(i) = m(i−1) + k(i) · (d(i) − m(i−1))    its estimate (§5.3)
//! over-use:  m(i) > threshold, for 10 ms, and not falling (§5.4)
//! increase:  A ← 1.08 A per second, or half a packet per response time near the last known
//!            capacity (§5.5)
//! decrease:  A ← 0.85 R, R being the incoming rate
//! ```
//!
//! Rates are of IP packets, bit/s. The draft counts payloads only, and so leaves out the headers,
//! which a link carries as well.
//!
//! Deviations, each at a point where the draft gives no value or does not work as written:
//! - The detector compares [`GAIN`] times the estimate (a smaller multiple for the first groups).
//!   The implementation that the draft describes does so, and the draft gives the thresholds of
//!   that implementation. Without the factor the estimate does not reach 6 ms, and the queue fills:
//!   see the tests.
//! - A received burst ends after 100 ms, as in that implementation. Behind a queue all packets
//!   arrive back to back. On a fast link, where they arrive within 5 ms of each other, a group
//!   would never end.
//! - The smallest increase near the capacity, 1000 bit, is added once per response time. If each
//!   update added it, and each frame caused an update, the increase would be 30 kbit/s in a second
//!   however long the round trip. §5.5 allows "at most half a packet per response time".
//! - The loss-based controller runs once a second, the interval of receiver reports, and not with
//!   each feedback message. A feedback message covers few packets, so that one lost packet is more
//!   than 10 %. An increase of 5 % per message would be a factor of 4 in a second. A decrease
//!   starts from the rate at which packets were sent.
//! - The deviation of the incoming rates at over-use has a lower and an upper limit, and the noise
//!   variance has an initial value, as in that implementation.

use std::collections::VecDeque;

use crate::math;
use crate::time::{Duration, Instant};

/// A packet that the receiver has reported as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported {
    /// Time at which it was sent.
    pub(super) sent_at: Instant,
    /// Time at which it arrived.
    pub(super) arrived_at: Instant,
    /// Size, IP bytes.
    pub(super) size: u16,
}

/// The sender's congestion controller for one direction of a call.
#[derive(Debug)]
pub(super) struct Gcc {
    groups: Groups,
    filter: ArrivalFilter,
    detector: Detector,
    incoming: IncomingRate,
    delay_based: RateControl,
    loss_based: LossControl,
    bounds: [f64; 2],
}

impl Gcc {
    /// Creates a controller with initial rate `start` and rates between `least` and `most`, bit/s.
    pub(super) fn new(start: f64, least: f64, most: f64) -> Self {
        Self {
            groups: Groups::default(),
            filter: ArrivalFilter::new(),
            detector: Detector::new(GAIN),
            incoming: IncomingRate::new(most),
            delay_based: RateControl::new(start),
            loss_based: LossControl::new(most),
            bounds: [least, most],
        }
    }

    /// Target rate, bit/s.
    pub(super) fn rate(&self) -> f64 {
        let [least, most] = self.bounds;
        (self.delay_based.rate.min(self.loss_based.rate)).clamp(least, most)
    }

    /// Adds a packet that the receiver reported as received. The packets of a feedback message must
    /// come in order of arrival.
    pub(super) fn arrived(&mut self, packet: Reported) {
        self.incoming.add(packet.arrived_at, packet.size);
        self.loss_based.arrived += 1;
        if let Some(variation) = self.groups.add(packet) {
            self.filter.update(&variation);
            self.detector.update(&self.filter, variation.arrived_at);
        }
    }

    /// Counts a packet that the receiver reported as missing.
    pub(super) fn lost(&mut self) {
        self.loss_based.lost += 1;
    }

    /// Updates the rates, after all packets of a feedback message were added. `round_trip` is the
    /// RTT of the path.
    pub(super) fn update(&mut self, now: Instant, round_trip: Duration) {
        let before = self.rate();
        let signal = self.detector.take();
        let [least, most] = self.bounds;
        if let Some(incoming) = self.incoming.rate() {
            (self.delay_based).update(now, signal, incoming, round_trip);
            self.delay_based.rate = self.delay_based.rate.clamp(least, most);
        }
        self.loss_based.update(now, before, most);
    }
}

/// Differences between two consecutive groups of packets. Times are in ms.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Variation {
    /// d(i), the inter-group delay variation.
    delay: f64,
    /// T(i) − T(i−1), the inter-departure time.
    departure: f64,
    /// t(i), the arrival time.
    arrived_at: Instant,
}

/// §5.2: pre-filtering. Packets that were sent or received in one burst form one group.
#[derive(Debug, Default)]
struct Groups {
    current: Option<Group>,
    /// The last packet of the previous group.
    previous: Option<Reported>,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first: Reported,
    last: Reported,
}

impl Groups {
    /// Adds a packet. If the packet begins a new group, returns the variation of the group that is
    /// now complete.
    fn add(&mut self, packet: Reported) -> Option<Variation> {
        let begun = Group {
            first: packet,
            last: packet,
        };
        let Some(Group { first, last }) = &mut self.current else {
            self.current = Some(begun);
            return None;
        };
        if packet.sent_at < last.sent_at {
            // §5.1: packets that arrive out of order are ignored.
            return None;
        }
        let departure = packet.sent_at - last.sent_at;
        let arrival = packet.arrived_at - last.arrived_at;
        // Packets that were sent in one burst always belong to one group, even if a received burst
        // has joined other packets to it.
        let is_sent_in_burst = packet.sent_at - first.sent_at < BURST || departure.is_zero();
        let is_received_in_burst = arrival < BURST
            && arrival < departure
            && packet.arrived_at - first.arrived_at < LONGEST_BURST;
        if is_sent_in_burst || is_received_in_burst {
            *last = packet;
            return None;
        }
        let complete = self.current.replace(begun)?.last;
        let before = self.previous.replace(complete)?;
        // T(i) and t(i) are those of a group's last packet.
        let departure = milliseconds(complete.sent_at - before.sent_at);
        Some(Variation {
            delay: milliseconds(complete.arrived_at - before.arrived_at) - departure,
            departure,
            arrived_at: complete.arrived_at,
        })
    }
}

/// §5.3: a scalar Kalman filter of the delay variation.
#[derive(Debug)]
struct ArrivalFilter {
    /// m(i), ms.
    estimate: f64,
    /// e(i), the error covariance.
    error: f64,
    /// `var_v(i)`, the variance of the measurement's noise.
    noise: f64,
    /// Number of groups so far.
    groups: u32,
    /// Inter-departure times of the latest groups, ms. `f_max` is the inverse of the smallest.
    departures: [f64; LAST_GROUPS],
}

impl ArrivalFilter {
    fn new() -> Self {
        Self {
            estimate: 0.0,
            error: INITIAL_ERROR,
            noise: INITIAL_NOISE,
            groups: 0,
            departures: [f64::INFINITY; LAST_GROUPS],
        }
    }

    fn update(&mut self, variation: &Variation) {
        self.departures[self.groups as usize % LAST_GROUPS] = variation.departure;
        self.groups += 1;
        // z(i).
        let innovation = variation.delay - self.estimate;
        self.update_noise(innovation);
        let uncertainty = self.error + STATE_NOISE;
        // k(i).
        let gain = uncertainty / (self.noise + uncertainty);
        self.estimate += innovation * gain;
        self.error = (1.0 - gain) * uncertainty;
    }

    fn update_noise(&mut self, innovation: f64) {
        // §5.3: an outlier counts as three standard deviations.
        let most = 3.0 * self.noise.sqrt();
        let innovation = innovation.min(most);
        let shortest = self
            .departures
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        // alpha = (1 − chi)^(30 / (1000 · f_max)), f_max in groups per ms.
        let alpha = math::powf(1.0 - CHI, 30.0 / 1000.0 * shortest);
        let noise = alpha * self.noise + (1.0 - alpha) * innovation * innovation;
        self.noise = noise.max(1.0);
    }
}

/// Output of the over-use detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Normal,
    OverUse,
    UnderUse,
}

/// §5.4: the over-use detector.
#[derive(Debug)]
struct Detector {
    /// Largest factor by which the estimate is multiplied.
    gain: u32,
    /// `del_var_th`, ms.
    threshold: f64,
    updated_at: Option<Instant>,
    /// Time since when the estimate has been above the threshold.
    above_since: Option<Instant>,
    /// m(i−1), multiplied by the gain.
    previous: f64,
    signal: Signal,
    /// Whether over-use was signalled since the signal was last taken.
    was_over_used: bool,
}

impl Detector {
    fn new(gain: u32) -> Self {
        Self {
            gain,
            threshold: INITIAL_THRESHOLD,
            updated_at: None,
            above_since: None,
            previous: 0.0,
            signal: Signal::Normal,
            was_over_used: false,
        }
    }

    fn update(&mut self, filter: &ArrivalFilter, now: Instant) {
        let estimate = filter.estimate * f64::from(filter.groups.min(self.gain));
        self.signal = if estimate > self.threshold {
            let since = *self.above_since.get_or_insert(now);
            if now - since >= OVERUSE_TIME && estimate >= self.previous {
                Signal::OverUse
            } else {
                Signal::Normal
            }
        } else {
            self.above_since = None;
            if estimate < -self.threshold {
                Signal::UnderUse
            } else {
                Signal::Normal
            }
        };
        self.was_over_used |= self.signal == Signal::OverUse;
        self.previous = estimate;
        self.adapt(estimate.abs(), now);
    }

    fn adapt(&mut self, estimate: f64, now: Instant) {
        let elapsed = self.updated_at.replace(now).map_or(0.0, |at| {
            // A pause adapts the threshold by no more than 100 ms would: nothing was measured
            // during the pause.
            milliseconds(now - at).min(100.0)
        });
        if estimate - self.threshold > 15.0 {
            return;
        }
        let speed = if estimate < self.threshold { K_D } else { K_U };
        self.threshold += elapsed * speed * (estimate - self.threshold);
        self.threshold = self.threshold.clamp(6.0, 600.0);
    }

    /// Returns the signal since the last call: over-use if there was any, otherwise the current
    /// signal.
    fn take(&mut self) -> Signal {
        if std::mem::take(&mut self.was_over_used) {
            Signal::OverUse
        } else {
            self.signal
        }
    }
}

/// `R_hat`: the incoming rate over the last [`RATE_WINDOW`].
#[derive(Debug)]
struct IncomingRate {
    arrivals: VecDeque<(Instant, u16)>,
    bytes: u64,
    first: Option<Instant>,
}

impl IncomingRate {
    /// Creates an empty window with capacity for packets of 200 B at `most` bit/s.
    fn new(most: f64) -> Self {
        let packets = most / 8.0 / 200.0 * RATE_WINDOW.as_secs_f64();
        Self {
            arrivals: VecDeque::with_capacity(packets as usize + 64),
            bytes: 0,
            first: None,
        }
    }

    fn add(&mut self, at: Instant, size: u16) {
        self.first.get_or_insert(at);
        self.arrivals.push_back((at, size));
        self.bytes += u64::from(size);
        while let Some(&(before, size)) = self.arrivals.front()
            && at - before >= RATE_WINDOW
        {
            self.arrivals.pop_front();
            self.bytes -= u64::from(size);
        }
    }

    /// Incoming rate, bit/s; `None` until one window has passed.
    fn rate(&self) -> Option<f64> {
        let &(last, _) = self.arrivals.back()?;
        (last - self.first? >= RATE_WINDOW)
            .then(|| self.bytes as f64 * 8.0 / RATE_WINDOW.as_secs_f64())
    }
}

/// The states of the rate controller (§5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Decrease,
    Hold,
    Increase,
}

/// §5.5: the delay-based rate controller.
#[derive(Debug)]
struct RateControl {
    /// `A_hat`, bit/s.
    rate: f64,
    state: State,
    updated_at: Option<Instant>,
    /// Statistics of the incoming rate at over-use, while they are valid.
    capacity: Option<Capacity>,
}

impl RateControl {
    fn new(start: f64) -> Self {
        Self {
            rate: start,
            state: State::Increase,
            updated_at: None,
            capacity: None,
        }
    }

    /// `incoming` is `R_hat`.
    fn update(&mut self, now: Instant, signal: Signal, incoming: f64, round_trip: Duration) {
        self.state = match (signal, self.state) {
            (Signal::OverUse, _) => State::Decrease,
            (Signal::Normal, State::Hold) => State::Increase,
            (Signal::Normal, State::Decrease)
            | (Signal::UnderUse, State::Increase | State::Decrease) => State::Hold,
            (_, state) => state,
        };
        let elapsed = (self.updated_at.replace(now)).map_or(Duration::ZERO, |at| now - at);
        match self.state {
            State::Increase => self.increase(elapsed, incoming, round_trip),
            State::Decrease => self.decrease(incoming),
            State::Hold => {}
        }
    }

    fn increase(&mut self, elapsed: Duration, incoming: f64, round_trip: Duration) {
        // An incoming rate above the known range means that the capacity has changed.
        self.capacity = self.capacity.filter(|known| incoming <= known.highest());
        let increased = if self
            .capacity
            .is_some_and(|known| incoming >= known.lowest())
        {
            let response = milliseconds(round_trip) + 100.0;
            let share = (milliseconds(elapsed) / response).min(1.0);
            self.rate + share * (0.5 * expected_packet_bits(self.rate)).max(1000.0)
        } else {
            self.rate * math::powf(1.08, elapsed.as_secs_f64().min(1.0))
        };
        // A_hat(i) < 1.5 R_hat(i): the increase stops at this limit. A rate that is already above
        // the limit is not reduced.
        self.rate = increased.min((1.5 * incoming).max(self.rate));
    }

    fn decrease(&mut self, incoming: f64) {
        self.rate = (BETA * incoming).min(self.rate);
        if self.capacity.is_some_and(|known| incoming < known.lowest()) {
            self.capacity = None;
        }
        let known = self.capacity.get_or_insert(Capacity::new(incoming));
        known.add(incoming);
    }
}

/// Mean and variance of the incoming rates at over-use, as exponential averages.
#[derive(Debug, Clone, Copy)]
struct Capacity {
    mean: f64,
    /// Variance divided by the mean, bit/s.
    variance: f64,
}

impl Capacity {
    fn new(incoming: f64) -> Self {
        Self {
            mean: incoming,
            variance: SPREAD[0],
        }
    }

    fn add(&mut self, incoming: f64) {
        let weight = 1.0 - SMOOTHING;
        self.mean += weight * (incoming - self.mean);
        let square = (incoming - self.mean) * (incoming - self.mean) / self.mean;
        self.variance += weight * (square - self.variance);
        self.variance = self.variance.clamp(SPREAD[0], SPREAD[1]);
    }

    fn deviation(&self) -> f64 {
        (self.variance * self.mean).sqrt()
    }

    fn lowest(&self) -> f64 {
        self.mean - 3.0 * self.deviation()
    }

    fn highest(&self) -> f64 {
        self.mean + 3.0 * self.deviation()
    }
}

/// §6: the loss-based rate controller.
#[derive(Debug)]
struct LossControl {
    /// `As_hat`, bit/s.
    rate: f64,
    arrived: u64,
    lost: u64,
    updated_at: Option<Instant>,
}

impl LossControl {
    fn new(most: f64) -> Self {
        Self {
            rate: most,
            arrived: 0,
            lost: 0,
            updated_at: None,
        }
    }

    /// `sent` is the rate at which packets were sent.
    fn update(&mut self, now: Instant, sent: f64, most: f64) {
        let since = *self.updated_at.get_or_insert(now);
        if now - since < LOSS_INTERVAL {
            return;
        }
        self.updated_at = Some(now);
        let share = self.lost as f64 / ((self.arrived + self.lost) as f64).max(1.0);
        (self.arrived, self.lost) = (0, 0);
        if share > 0.1 {
            self.rate = sent * (1.0 - 0.5 * share);
        } else if share < 0.02 {
            self.rate = (1.05 * self.rate).min(most);
        }
    }
}

/// §5.5: mean packet size at this rate, with 30 frames a second, bits.
fn expected_packet_bits(rate: f64) -> f64 {
    let frame = rate / 30.0;
    frame / (frame / (1200.0 * 8.0)).ceil()
}

fn milliseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1000.0
}

/// `burst_time` (§4, Table 1).
pub(super) const BURST: Duration = Duration::from_millis(5);
/// Longest duration of a received burst, as in WebRTC.
const LONGEST_BURST: Duration = Duration::from_millis(100);
/// q (Table 1).
const STATE_NOISE: f64 = 1e-3;
/// e(0) (Table 1).
const INITIAL_ERROR: f64 = 0.1;
/// chi (Table 1: between 0.1 and 0.001).
const CHI: f64 = 0.01;
/// `del_var_th(0)`, ms (Table 1).
const INITIAL_THRESHOLD: f64 = 12.5;
/// `overuse_time_th` (Table 1).
const OVERUSE_TIME: Duration = Duration::from_millis(10);
/// `K_u` (Table 1), per ms.
const K_U: f64 = 0.01;
/// `K_d` (Table 1), per ms.
const K_D: f64 = 0.00018;
/// T (Table 1: between 0.5 and 1 s).
const RATE_WINDOW: Duration = Duration::from_millis(500);
/// beta (Table 1).
const BETA: f64 = 0.85;
/// Weight of the old value in the averages of the incoming rate at over-use (§5.5).
const SMOOTHING: f64 = 0.95;
/// K: number of groups from which `f_max` is computed. The draft gives no value; a choice.
const LAST_GROUPS: usize = 16;
/// `var_v(0)`: the draft gives no value; as in WebRTC.
const INITIAL_NOISE: f64 = 50.0;
/// Factor by which the estimate is multiplied before the comparison, as in WebRTC.
const GAIN: u32 = 60;
/// Smallest and largest variance of the incoming rates at over-use, divided by their mean, bit/s,
/// as in WebRTC.
const SPREAD: [f64; 2] = [400.0, 2500.0];
/// Time between two updates of the loss-based rate. RFC 3550 §6.2 allows about one receiver report
/// a second for video.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Instant {
        Instant::ZERO + Duration::from_nanos((ms * 1e6) as u64)
    }

    fn packet(sent: f64, arrived: f64) -> Reported {
        Reported {
            sent_at: at(sent),
            arrived_at: at(arrived),
            size: 1000,
        }
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance,
            "{value} is not {expected} ± {tolerance}"
        );
    }

    #[test]
    fn packets_sent_or_received_in_a_burst_are_one_group() {
        let mut groups = Groups::default();
        // The first group has two packets sent within 5 ms, and a third that was sent 20 ms later
        // and arrives 1 ms after the second. Two groups of one packet follow.
        assert_eq!(groups.add(packet(0.0, 20.0)), None);
        assert_eq!(groups.add(packet(4.0, 40.0)), None);
        assert_eq!(groups.add(packet(24.0, 41.0)), None);
        assert_eq!(groups.add(packet(50.0, 70.0)), None);
        // A packet out of order is ignored.
        assert_eq!(groups.add(packet(45.0, 72.0)), None);
        let variation = groups.add(packet(60.0, 83.0)).expect("two groups are over");
        assert_near(variation.departure, 26.0, 1e-9);
        assert_near(variation.delay, 29.0 - 26.0, 1e-9);
        assert_eq!(variation.arrived_at, at(70.0));
        let variation = groups.add(packet(90.0, 110.0)).expect("another");
        assert_near(variation.delay, 3.0, 1e-9);
    }

    #[test]
    fn the_filter_takes_the_steps_of_the_draft() {
        let mut filter = ArrivalFilter::new();
        let variation = |delay| Variation {
            delay,
            departure: 5.0,
            arrived_at: at(0.0),
        };
        filter.update(&variation(10.0));
        // alpha = 0.99^0.15; var = alpha · 50 + (1 − alpha) · 10²; k = 0.101 / (var + 0.101).
        let alpha = math::powf(0.99, 0.15);
        let noise = alpha * 50.0 + (1.0 - alpha) * 100.0;
        let gain = 0.101 / (noise + 0.101);
        assert_near(filter.noise, noise, 1e-12);
        assert_near(filter.estimate, 10.0 * gain, 1e-12);
        assert_near(filter.error, (1.0 - gain) * 0.101, 1e-12);
        // An outlier changes the variance by as much as three deviations.
        let deviation = filter.noise.sqrt();
        filter.update(&variation(1000.0));
        let expected = alpha * noise + (1.0 - alpha) * 9.0 * deviation * deviation;
        assert_near(filter.noise, expected, 1e-9);
        // With constant input the estimate converges to the input.
        for _ in 0..5000 {
            filter.update(&variation(2.0));
        }
        assert_near(filter.estimate, 2.0, 0.1);
    }

    /// A filter whose estimate, multiplied by the gain, is `estimate`.
    fn filter(estimate: f64) -> ArrivalFilter {
        ArrivalFilter {
            estimate: estimate / f64::from(GAIN),
            groups: GAIN,
            ..ArrivalFilter::new()
        }
    }

    #[test]
    fn over_use_is_signalled_after_ten_milliseconds_and_not_while_it_falls() {
        let mut detector = Detector::new(GAIN);
        detector.update(&filter(20.0), at(0.0));
        assert_eq!(detector.take(), Signal::Normal);
        detector.update(&filter(21.0), at(5.0));
        assert_eq!(detector.take(), Signal::Normal);
        detector.update(&filter(22.0), at(10.0));
        assert_eq!(detector.take(), Signal::OverUse);
        detector.update(&filter(21.5), at(15.0));
        assert_eq!(detector.take(), Signal::Normal);
        detector.update(&filter(-20.0), at(20.0));
        assert_eq!(detector.take(), Signal::UnderUse);
        detector.update(&filter(0.0), at(25.0));
        assert_eq!(detector.take(), Signal::Normal);
    }

    #[test]
    fn the_threshold_follows_the_estimate_quickly_up_and_slowly_down() {
        let mut detector = Detector::new(GAIN);
        detector.update(&filter(20.0), at(0.0));
        detector.update(&filter(20.0), at(10.0));
        // 12.5 + 10 · 0.01 · (20 − 12.5).
        assert_near(detector.threshold, 13.25, 1e-9);
        detector.update(&filter(0.0), at(20.0));
        assert_near(detector.threshold, 13.25 * (1.0 - 10.0 * 0.00018), 1e-9);
        let before = detector.threshold;
        // An estimate more than 15 ms above the threshold does not adapt it.
        detector.update(&filter(100.0), at(30.0));
        assert_near(detector.threshold, before, 0.0);
        for ms in 4..4000 {
            detector.update(&filter(0.0), at(f64::from(ms) * 10.0));
        }
        assert_near(detector.threshold, 6.0, 0.0);
    }

    #[test]
    fn the_rate_grows_by_8_percent_a_second_and_by_packets_near_the_capacity() {
        let round_trip = Duration::from_millis(100);
        let mut control = RateControl::new(1e6);
        let mut now = 0.0;
        let mut update = |control: &mut RateControl, signal, incoming| {
            now += 100.0;
            control.update(at(now), signal, incoming, round_trip);
        };
        for _ in 0..11 {
            update(&mut control, Signal::Normal, 1e6);
        }
        assert_near(control.rate, 1.08e6, 1.0);
        update(&mut control, Signal::OverUse, 1e6);
        assert_near(control.rate, 0.85e6, 1e-3);
        // Hold, then increase. The incoming rate is near the rate at over-use, so that the increase
        // is additive.
        update(&mut control, Signal::Normal, 1e6);
        assert_near(control.rate, 0.85e6, 1e-3);
        update(&mut control, Signal::Normal, 1e6);
        // Half a packet in 200 ms, and so a quarter in 100 ms. 850 kbit/s are 28.3 kbit per frame
        // and 9.4 kbit per packet.
        let packet = 850_000.0 / 30.0 / 3.0;
        assert_near(control.rate, 850_000.0 + 0.25 * packet, 1.0);
        // Under-use holds the rate.
        let before = control.rate;
        update(&mut control, Signal::UnderUse, 1e6);
        update(&mut control, Signal::UnderUse, 1e6);
        assert_near(control.rate, before, 0.0);
        // Far above the known capacity the increase is multiplicative again.
        update(&mut control, Signal::Normal, 1.5e6);
        assert_near(control.rate, before * math::powf(1.08, 0.1), 1.0);
        // The rate never exceeds 1.5 times the incoming rate.
        for _ in 0..100 {
            update(&mut control, Signal::Normal, 6e5);
        }
        assert_near(control.rate, 9e5, 1e-3);
    }

    #[test]
    fn loss_above_a_tenth_lowers_the_rate_and_below_a_fiftieth_raises_it() {
        let mut control = LossControl::new(2e6);
        let mut second = 0.0;
        let mut after = |control: &mut LossControl, lost| {
            (control.arrived, control.lost) = (100 - lost, lost);
            second += 1000.0;
            control.update(at(second), 1e6, 2e6);
            control.rate
        };
        assert_near(after(&mut control, 0), 2e6, 0.0);
        assert_near(after(&mut control, 20), 0.9e6, 1e-6);
        assert_near(after(&mut control, 5), 0.9e6, 1e-6);
        assert_near(after(&mut control, 1), 0.945e6, 1e-6);
        // The rate changes only once a second.
        (control.arrived, control.lost) = (50, 50);
        control.update(at(second + 500.0), 1e6, 2e6);
        assert_near(control.rate, 0.945e6, 1e-6);
    }

    /// A tenth of a second of a run: the sender's rate, and the queue delay in ms.
    #[derive(Debug, Clone, Copy)]
    struct Step {
        rate: f64,
        delay: f64,
    }

    /// Sends paced packets into a queue of `limit` ms. `capacity` gives the rate, bit/s, at which
    /// the queue drains at a time in seconds. The one-way delay behind the queue is 20 ms. Feedback
    /// is sent every 33 ms and takes 20 ms.
    fn run(mut gcc: Gcc, seconds: u64, limit: f64, capacity: impl Fn(f64) -> f64) -> Vec<Step> {
        let mut steps = Vec::new();
        let (mut budget, mut free_at, mut worst) = (0.0, 0.0_f64, 0.0_f64);
        let mut in_transit: VecDeque<(Option<Reported>, f64)> = VecDeque::new();
        for tick in 0..seconds * 1000 {
            let now = tick as f64;
            if tick % 5 == 0 {
                budget += gcc.rate() / 8.0 * 0.005;
            }
            while budget > 0.0 {
                budget -= 1000.0;
                let wait = (free_at - now).max(0.0);
                worst = worst.max(wait);
                if wait > limit {
                    in_transit.push_back((None, now + wait + 20.0));
                    continue;
                }
                free_at = now + wait + 8_000_000.0 / capacity(now / 1000.0);
                let arrives = free_at + 20.0;
                in_transit.push_back((Some(packet(now, arrives)), arrives));
            }
            if tick % 33 == 0 {
                while let Some(&(report, known)) = in_transit.front()
                    && known + 20.0 <= now
                {
                    in_transit.pop_front();
                    match report {
                        Some(report) => gcc.arrived(report),
                        None => gcc.lost(),
                    }
                }
                let there = Duration::from_nanos((wait_of(free_at, now) * 1e6) as u64);
                gcc.update(at(now), there + Duration::from_millis(40));
            }
            if tick % 100 == 99 {
                let delay = std::mem::take(&mut worst);
                steps.push(Step {
                    rate: gcc.rate(),
                    delay,
                });
            }
        }
        steps
    }

    fn wait_of(free_at: f64, now: f64) -> f64 {
        (free_at - now).max(0.0)
    }

    fn mean_rate(steps: &[Step]) -> f64 {
        steps.iter().map(|step| step.rate).sum::<f64>() / steps.len() as f64
    }

    fn worst_delay(steps: &[Step]) -> f64 {
        steps.iter().map(|step| step.delay).fold(0.0, f64::max)
    }

    fn controller() -> Gcc {
        Gcc::new(300_000.0, 50_000.0, 10_000_000.0)
    }

    #[test]
    fn it_grows_to_the_capacity_and_backs_off_before_the_queue_is_deep() {
        let steps = run(controller(), 90, 1000.0, |_| 2e6);
        // The growth takes ln(2 / 0.3) / ln 1.08 = 25 s.
        assert!(steps[100].rate < 0.8e6, "{:?}", steps[100]);
        let steady = &steps[400..];
        let rate = mean_rate(steady);
        assert!((0.8 * 2e6..2e6).contains(&rate), "{rate}");
        assert!(worst_delay(&steps) < 150.0, "{}", worst_delay(&steps));
    }

    #[test]
    fn the_rate_falls_when_the_capacity_halves_and_rises_again() {
        let capacity = |second| {
            if (60.0..90.0).contains(&second) {
                1e6
            } else {
                2e6
            }
        };
        let steps = run(controller(), 150, 1000.0, capacity);
        let less = mean_rate(&steps[700..900]);
        assert!((0.7e6..1e6).contains(&less), "{less}");
        // Three seconds after the drop of the capacity the queue is empty again. Afterwards the
        // delay is a sawtooth, with the larger threshold that the drop has caused.
        assert!(worst_delay(&steps[630..640]) < 10.0);
        assert!(worst_delay(&steps[640..900]) < 150.0);
        assert!(worst_delay(&steps) < 300.0, "{}", worst_delay(&steps));
        let again = mean_rate(&steps[1200..]);
        assert!((0.8 * 2e6..2e6).contains(&again), "{again}");
    }

    #[test]
    fn it_fills_slow_lines_and_fast_ones_where_packets_arrive_back_to_back() {
        for capacity in [0.2e6, 0.5e6, 3e6, 5e6] {
            let steps = run(controller(), 120, 1000.0, |_| capacity);
            let rate = mean_rate(&steps[600..]) / capacity;
            assert!((0.8..1.02).contains(&rate), "{capacity}: {rate}");
            let worst = worst_delay(&steps[600..]);
            assert!(worst < 150.0, "{capacity}: {worst}");
        }
    }

    #[test]
    fn without_the_gain_of_the_implementation_the_queue_fills() {
        let literal = Gcc {
            detector: Detector::new(1),
            ..controller()
        };
        let steps = run(literal, 90, 1000.0, |_| 2e6);
        assert!(worst_delay(&steps) > 900.0, "{}", worst_delay(&steps));
    }

    #[test]
    fn behind_a_very_short_queue_losses_limit_the_rate() {
        let steps = run(controller(), 120, 5.0, |_| 2e6);
        let rate = mean_rate(&steps[600..]);
        assert!((0.7 * 2e6..1.3 * 2e6).contains(&rate), "{rate}");
    }
}
