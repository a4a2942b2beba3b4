//! Estimates of the time that a packet which arrives now will wait. PIE, DOCSIS-PIE and CoDel-DT
//! use them.
//!
//! There are six estimates:
//!
//! - [`Timestamps`](DelayEstimate::Timestamps): how long the packet that left last has waited (RFC
//!   8033 §4.3);
//! - [`DepartureTime`](DelayEstimate::DepartureTime): backlog × mean time in which a threshold of
//!   bytes departs (RFC 8033 §5.2, appendix B);
//! - [`DepartureRate`](DelayEstimate::DepartureRate): backlog ÷ mean rate of such measurements
//!   (draft-pan-aqm-pie; the ns-2 code gives the newest measurement a weight of a half);
//! - [`TokenBuckets`](DelayEstimate::TokenBuckets): backlog and the state of the buckets that shape
//!   a cable service flow (RFC 8034 §4.2);
//! - [`Grants`](DelayEstimate::Grants): the same, with rates limited to what the MAPs have granted
//!   while requests were pending (AQM paper, Appendix A);
//! - [`Omniscient`](DelayEstimate::Omniscient): the delay that the packet will really have (AQM
//!   paper §4.3). It can be computed on a plain link of constant rate.

use crate::queue::{GrantView, LineView, Shaper};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// How a control law estimates the queue delay.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DelayEstimate {
    /// Backlog divided by the mean rate at which `departure_threshold` bytes departed. The newest
    /// measurement has a weight of a half.
    DepartureRate,
    /// Backlog times the mean time in which `departure_threshold` bytes departed.
    DepartureTime,
    /// As `token_buckets`, with both rates limited to what a congested channel has granted. Without
    /// grants, it is the same as `token_buckets`.
    Grants,
    /// The exact delay that the packet will have, to the nanosecond: the bytes in the queue and
    /// those being sent, at the link's rate. It is available only for `codel_dt`, as the queue of a
    /// plain link of constant rate. It cannot be known when a cable modem gets its grants, or a
    /// station the channel, because that depends on other stations and on random numbers.
    Omniscient,
    /// How long the packet that left last has waited. The delay of an empty queue is zero.
    Timestamps,
    /// Backlog divided by the current rates of the line's token buckets. On a line without token
    /// buckets, it is divided by the line's rate.
    TokenBuckets,
}

impl DelayEstimate {
    /// Checks that a law with periodic updates can use this estimate.
    ///
    /// # Errors
    ///
    /// A sentence about the estimate.
    pub(super) fn check_periodic(self) -> Result<(), String> {
        if self == Self::Omniscient {
            return Err(
                "delay_estimate \"omniscient\" is for codel_dt alone: it tells what the packet \
                 that arrives will have waited; expected another estimate"
                    .into(),
            );
        }
        Ok(())
    }
}

/// A delay estimate and the state that it needs.
#[derive(Debug)]
pub(crate) enum Estimator {
    DepartureRate(Box<Departures>),
    DepartureTime(Box<Departures>),
    Grants(Box<Grants>),
    Omniscient(Box<ExactDelay>),
    Timestamps { latest: Duration },
    TokenBuckets,
}

impl Estimator {
    /// The exact estimate for a line of this constant rate.
    pub(crate) fn omniscient(rate: Rate) -> Self {
        Self::Omniscient(Box::new(ExactDelay::new(rate)))
    }

    /// Whether the estimates are exact.
    pub(crate) fn is_omniscient(&self) -> bool {
        matches!(self, Self::Omniscient(_))
    }

    /// The estimator before the first packet. A measurement of departures covers `threshold` bytes.
    pub(crate) fn new(method: DelayEstimate, threshold: u64) -> Self {
        match method {
            DelayEstimate::DepartureRate => Self::DepartureRate(Departures::boxed(threshold)),
            DelayEstimate::DepartureTime => Self::DepartureTime(Departures::boxed(threshold)),
            DelayEstimate::Grants => Self::Grants(Box::default()),
            DelayEstimate::Omniscient => unreachable!("it needs the rate of a plain link"),
            DelayEstimate::Timestamps => Self::Timestamps {
                latest: Duration::ZERO,
            },
            DelayEstimate::TokenBuckets => Self::TokenBuckets,
        }
    }

    /// Whether the estimate depends on [`LineView::grants`].
    pub(crate) fn looks_at_grants(&self) -> bool {
        matches!(self, Self::Grants(_))
    }

    /// Called after a packet of `bytes` departed that had waited for `sojourn`; `waiting` bytes are
    /// still in the queue.
    #[inline]
    pub(crate) fn departed(&mut self, bytes: u64, sojourn: Duration, waiting: u64, now: Instant) {
        match self {
            Self::DepartureRate(departures) => {
                if let Some(sample) = departures.departed(bytes, waiting, now) {
                    departures.smooth(sample.bytes_per_ns(), 0.5);
                }
            }
            Self::DepartureTime(departures) => {
                if let Some(sample) = departures.departed(bytes, waiting, now) {
                    let threshold = departures.threshold;
                    // RFC 8033 appendix B: a measurement over a smaller threshold has a smaller
                    // weight.
                    let weight = (threshold as f64 / 65_536.0).min(1.0);
                    departures.smooth(sample.ns_per(threshold), weight);
                }
            }
            Self::Timestamps { latest } => *latest = sojourn,
            Self::Omniscient(exact) => exact.departed(bytes, now),
            Self::Grants(_) | Self::TokenBuckets => {}
        }
    }

    /// Called before the law makes an update.
    pub(crate) fn update(&mut self, line: &LineView<'_>, now: Instant) {
        if let Self::Grants(grants) = self {
            grants.update(line, now);
        }
    }

    /// The estimate behind `waiting` bytes; `None` if no estimate is possible because the line's
    /// rate is zero.
    pub(crate) fn delay(
        &self,
        waiting: u64,
        line: &LineView<'_>,
        now: Instant,
    ) -> Option<Duration> {
        match self {
            Self::DepartureRate(departures) => {
                // Until a rate is measured, the delay is zero, as in the ns-2 code.
                let rate = departures.mean.unwrap_or(f64::INFINITY);
                Some(Duration::from_nanos((waiting as f64 / rate + 0.5) as u64))
            }
            Self::DepartureTime(departures) => {
                let thresholds = waiting as f64 / departures.threshold as f64;
                let time = departures.mean.unwrap_or(0.0);
                Some(Duration::from_nanos((thresholds * time + 0.5) as u64))
            }
            Self::Grants(grants) => grants.delay(waiting, line, now),
            Self::Omniscient(exact) => Some(exact.departure(waiting, now) - now),
            Self::Timestamps { .. } if waiting == 0 => Some(Duration::ZERO),
            Self::Timestamps { latest } => Some(*latest),
            Self::TokenBuckets => in_buckets(waiting, line, now, |rate| rate),
        }
    }

    /// The measured rate at which the queue drains, in bit/s. `None` if the estimate does not
    /// measure a rate, or has not measured one yet.
    pub(crate) fn rate_bps(&self) -> Option<f64> {
        match self {
            Self::DepartureRate(departures) => departures.mean.map(|rate| rate * 8e9),
            Self::DepartureTime(departures) => {
                let bits = departures.threshold as f64 * 8e9;
                departures.mean.map(|time| bits / time)
            }
            Self::Grants(grants) => grants.rate,
            Self::Omniscient(_) | Self::Timestamps { .. } | Self::TokenBuckets => None,
        }
    }

    /// The estimate after the latest departure. `None` if the estimate does not depend on
    /// departures alone.
    #[inline]
    pub(crate) fn latest(&self, waiting: u64) -> Option<Duration> {
        match self {
            Self::Timestamps { latest } if waiting > 0 => Some(*latest),
            Self::Timestamps { .. } => Some(Duration::ZERO),
            _ => None,
        }
    }
}

/// RFC 8034 §4.2: bytes for which there are tokens leave at the peak rate, the others at the
/// sustained rate. `bounded` limits both rates. A rate of 0 stands for no limit.
fn in_buckets(
    waiting: u64,
    line: &LineView<'_>,
    now: Instant,
    bounded: impl Fn(Rate) -> Rate,
) -> Option<Duration> {
    let Some(shaper) = line.shaper else {
        // A plain line counts as one with empty token buckets and R = P.
        let stands_still = line.rate == Rate(0) && waiting > 0;
        return (!stands_still).then(|| line.rate.time_for_or_zero(waiting));
    };
    let (sustained, peak) = (bounded(shaper.sustained()), bounded(shaper.peak()));
    let covered = if shaper.sustained() == Rate(0) {
        waiting
    } else {
        waiting.min(shaper.tokens(now))
    };
    Some(sustained.time_for_or_zero(waiting - covered) + peak.time_for_or_zero(covered))
}

/// Computes when a packet will leave a queue that is the only one of a line of constant rate. The
/// line sends back to back while packets wait, and carries fractions of a nanosecond over from
/// packet to packet.
#[derive(Debug)]
pub(crate) struct ExactDelay {
    rate: Rate,
    /// Start of the current busy period of the line.
    busy_since: Instant,
    /// Bytes passed to the line since then.
    sent: u64,
}

impl ExactDelay {
    fn new(rate: Rate) -> Self {
        Self {
            rate,
            busy_since: Instant::ZERO,
            sent: 0,
        }
    }

    /// Called when a packet of `bytes` is passed to the line.
    fn departed(&mut self, bytes: u64, now: Instant) {
        if self.free_after(0) != now {
            (self.busy_since, self.sent) = (now, 0);
        }
        self.sent += bytes;
    }

    /// When a packet that arrives at `now` behind `waiting` bytes will leave, if none of them is
    /// dropped.
    fn departure(&self, waiting: u64, now: Instant) -> Instant {
        self.free_after(waiting).max(now)
    }

    /// When the line will have sent all bytes passed to it, and `more` bytes.
    fn free_after(&self, more: u64) -> Instant {
        let bits = u128::from(self.sent + more) * 8_000_000_000;
        self.busy_since + Duration::from_nanos((bits / u128::from(self.rate.0)) as u64)
    }
}

/// RFC 8033 appendix B: measures how fast bytes depart, only while enough bytes wait that the
/// measurement contains no idle time.
#[derive(Debug)]
pub(crate) struct Departures {
    threshold: u64,
    /// Start of the current measurement, and the bytes that have departed since (`dq_count_`).
    measurement: Option<(Instant, u64)>,
    /// Mean of the measurements: bytes per nanosecond, or nanoseconds per threshold.
    mean: Option<f64>,
}

/// One measurement: the bytes that departed, and the time this took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    bytes: u64,
    span: Duration,
}

impl Departures {
    fn boxed(threshold: u64) -> Box<Self> {
        Box::new(Self {
            threshold,
            measurement: None,
            mean: None,
        })
    }

    /// Called when a packet departs; returns the measurement that it completes, if any.
    fn departed(&mut self, bytes: u64, waiting: u64, now: Instant) -> Option<Sample> {
        let sample = self.counted(bytes, now);
        if waiting >= self.threshold && self.measurement.is_none() {
            self.measurement = Some((now, 0));
        }
        sample
    }

    fn counted(&mut self, bytes: u64, now: Instant) -> Option<Sample> {
        let (start, count) = self.measurement.as_mut()?;
        *count += bytes;
        let span = now - *start;
        // Deviation: packets that depart at the same time, as when a MAP grants a whole burst, give
        // no rate. The measurement continues until time has passed.
        if *count < self.threshold || span.is_zero() {
            return None;
        }
        let bytes = *count;
        self.measurement = None;
        Some(Sample { bytes, span })
    }

    /// Updates the mean with a measurement. The first measurement becomes the mean.
    fn smooth(&mut self, sample: f64, weight: f64) {
        let mean = self
            .mean
            .map_or(sample, |mean| sample * weight + mean * (1.0 - weight));
        self.mean = Some(mean);
    }
}

impl Sample {
    fn bytes_per_ns(self) -> f64 {
        self.bytes as f64 / self.span.as_nanos() as f64
    }

    /// Nanoseconds per threshold. The bytes beyond whole thresholds belong to the last packet; the
    /// RFC leaves them out.
    fn ns_per(self, threshold: u64) -> f64 {
        self.span.as_nanos() as f64 / (self.bytes / threshold) as f64
    }
}

/// The estimator of the AQM paper's Appendix A.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    /// The estimated rate (`rate_estimate`), in bit/s.
    rate: Option<f64>,
    /// The contents of the MAPs at the latest update, and the time of that update.
    before: GrantView,
    updated_at: Instant,
}

impl Grants {
    /// `On each drop probability calculation instance`.
    fn update(&mut self, line: &LineView<'_>, now: Instant) {
        let (Some(&grants), Some(shaper)) = (line.grants, line.shaper) else {
            return;
        };
        let before = std::mem::replace(&mut self.before, grants);
        let span = now - std::mem::replace(&mut self.updated_at, now);
        let rate = *self.rate.get_or_insert(initial(line, shaper));
        if span.is_zero() {
            return;
        }
        // Units: bytes to bits. The paper has the factor of 8 here. Its formula of the delay needs
        // the factor too, but lacks it.
        let granted = grants.granted_in_all - before.granted_in_all;
        let instantaneous = granted as f64 * 8e9 / span.as_nanos() as f64;
        if is_pending(before, grants, span) || instantaneous > rate {
            self.rate = Some(0.5 * rate + 0.5 * instantaneous);
        }
    }

    fn delay(&self, waiting: u64, line: &LineView<'_>, now: Instant) -> Option<Duration> {
        // At least one bit per second, because a rate of 0 would stand for no limit.
        let estimate = self.rate.map(|rate| (rate as u64).max(1));
        in_buckets(waiting, line, now, |rate| match (estimate, rate.0) {
            (None, _) => rate,
            (Some(estimate), 0) => Rate(estimate),
            (Some(estimate), rate) => Rate(estimate.min(rate)),
        })
    }
}

/// The initial estimate: the maximum sustained rate, or the line's rate if there is none.
fn initial(line: &LineView<'_>, shaper: &dyn Shaper) -> f64 {
    match shaper.sustained() {
        Rate(0) => line.rate.0 as f64,
        Rate(rate) => rate as f64,
    }
}

/// Whether requests were pending in all MAPs of the span. The engine does not simulate MAPs that
/// answer no request; nothing was pending in those.
fn is_pending(before: GrantView, now: GrantView, span: Duration) -> bool {
    let maps = now.maps - before.maps;
    let pending = now.maps_pending - before.maps_pending;
    let due = span.as_nanos() / now.map_interval.as_nanos().max(1);
    maps == pending && pending >= due.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + ms(millis)
    }

    #[derive(Debug)]
    struct Buckets {
        sustained: Rate,
        peak: Rate,
        tokens: u64,
    }

    impl Shaper for Buckets {
        fn sustained(&self) -> Rate {
            self.sustained
        }
        fn peak(&self) -> Rate {
            self.peak
        }
        fn tokens(&self, _now: Instant) -> u64 {
            self.tokens
        }
    }

    fn buckets(sustained: u64, peak: u64, tokens: u64) -> Buckets {
        let [sustained, peak] = [sustained, peak].map(|rate| Rate(rate * 1_000_000));
        Buckets {
            sustained,
            peak,
            tokens,
        }
    }

    fn shaped(buckets: &Buckets) -> LineView<'_> {
        LineView {
            shaper: Some(buckets),
            ..LineView::plain(Rate(1))
        }
    }

    const LINE: LineView<'static> = LineView::plain(Rate(10_000_000));

    // Token buckets.

    /// The predicted delay; rates are in Mbit/s.
    fn predicted(sustained: u64, peak: u64, waiting: u64, tokens: u64) -> Option<Duration> {
        let buckets = buckets(sustained, peak, tokens);
        Estimator::TokenBuckets.delay(waiting, &shaped(&buckets), Instant::ZERO)
    }

    #[test]
    fn tokens_leave_at_the_peak_rate_and_the_rest_at_the_sustained_rate() {
        assert_eq!(predicted(20, 40, 100_000, 30_000), Some(ms(34)));
        assert_eq!(predicted(20, 40, 30_000, 30_000), Some(ms(6)));
        assert_eq!(
            predicted(200, 250, 100_000, 30_000_000),
            Some(Duration::from_micros(3200))
        );
        assert_eq!(predicted(200, 250, 1_250_000, 30_000_000), Some(ms(40)));
        assert_eq!(predicted(200, 250, 1_250_000, 0), Some(ms(50)));
        assert_eq!(predicted(200, 250, 1_250_000, 500_000), Some(ms(46)));
        assert_eq!(predicted(200, 250, 6_250_000, 1_000_000), Some(ms(242)));
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        let no_sustained_rate = predicted(0, 40, 100_000, 0);
        assert_eq!(no_sustained_rate, Some(ms(20)), "all at the peak");
        let no_peak = predicted(20, 0, 100_000, 30_000);
        assert_eq!(no_peak, Some(ms(28)), "tokens take no time");
        assert_eq!(predicted(0, 0, 100_000, 0), Some(Duration::ZERO));
    }

    #[test]
    fn a_plain_line_has_no_tokens_and_one_rate() {
        let line = LineView::plain(Rate(20_000_000));
        let found = Estimator::TokenBuckets.delay(100_000, &line, Instant::ZERO);
        assert_eq!(found, Some(ms(40)));
    }

    #[test]
    fn no_estimate_is_possible_while_the_rate_is_zero() {
        let line = LineView::plain(Rate(0));
        let delay = |waiting| Estimator::TokenBuckets.delay(waiting, &line, Instant::ZERO);
        assert_eq!(delay(100_000), None);
        assert_eq!(delay(0), Some(Duration::ZERO));
    }

    // Timestamps.

    #[test]
    fn the_delay_of_the_last_departure_holds_until_the_queue_is_empty() {
        let mut estimator = Estimator::new(DelayEstimate::Timestamps, 16_384);
        estimator.departed(1000, ms(20), 3000, at(5));
        assert_eq!(estimator.delay(3000, &LINE, at(6)), Some(ms(20)));
        assert_eq!(estimator.delay(0, &LINE, at(6)), Some(Duration::ZERO));
        assert_eq!(estimator.latest(3000), Some(ms(20)));
    }

    // The exact estimate.

    #[test]
    fn the_exact_delay_includes_the_rest_of_the_packet_being_sent() {
        // 1000 B take 800 µs.
        let us = |micros: u64| Instant::ZERO + Duration::from_micros(micros);
        let mut estimator = Estimator::omniscient(Rate(10_000_000));
        let delay = |estimator: &Estimator, waiting, now| estimator.delay(waiting, &LINE, now);
        assert_eq!(delay(&estimator, 0, us(500)), Some(Duration::ZERO), "idle");
        estimator.departed(1000, Duration::ZERO, 0, us(500));
        assert_eq!(
            delay(&estimator, 0, us(500)),
            Some(Duration::from_micros(800))
        );
        assert_eq!(
            delay(&estimator, 2000, us(700)),
            Some(Duration::from_micros(2200))
        );
        estimator.departed(1000, Duration::ZERO, 1000, us(1300));
        assert_eq!(
            delay(&estimator, 1000, us(1300)),
            Some(Duration::from_micros(1600))
        );
        assert_eq!(
            delay(&estimator, 0, us(5000)),
            Some(Duration::ZERO),
            "idle again"
        );
    }

    #[test]
    fn fractions_of_a_nanosecond_are_carried_on_as_the_line_does() {
        // 1 B takes 2.67 ns: 2, 5 and 8 ns after the start.
        let mut estimator = Estimator::omniscient(Rate(3_000_000_000));
        let nanos = Duration::from_nanos;
        let start = at(1);
        for departure in [0, 2, 5, 8].map(|nanos_later| start + nanos(nanos_later)) {
            if departure > start {
                assert_eq!(estimator.delay(0, &LINE, start), Some(departure - start));
            }
            estimator.departed(1, Duration::ZERO, 9, departure);
        }
    }

    // Departures.

    /// Packets of 1000 B depart every `gap`, the first at `from`. After each, `waiting` bytes are
    /// in the queue.
    fn depart(estimator: &mut Estimator, from: Instant, gap: Duration, packets: u64, waiting: u64) {
        for packet in 0..packets {
            estimator.departed(1000, Duration::ZERO, waiting, from + gap * packet);
        }
    }

    fn mean(estimator: &Estimator) -> Option<f64> {
        match estimator {
            Estimator::DepartureRate(departures) | Estimator::DepartureTime(departures) => {
                departures.mean
            }
            other => panic!("{other:?} has no mean"),
        }
    }

    #[test]
    fn a_measurement_begins_behind_a_threshold_and_ends_with_the_bytes_of_one() {
        let mut estimator = Estimator::new(DelayEstimate::DepartureTime, 10_000);
        depart(&mut estimator, at(0), ms(1), 30, 9_999);
        assert_eq!(mean(&estimator), None, "too little waits");
        // The first departure starts the measurement and is not counted; ten more make 10 000 B.
        depart(&mut estimator, at(100), ms(1), 10, 10_000);
        assert_eq!(mean(&estimator), None, "9000 B");
        depart(&mut estimator, at(110), ms(1), 1, 0);
        assert_eq!(mean(&estimator), Some(10e6), "10 000 B in 10 ms");
        assert_eq!(estimator.delay(25_000, &LINE, at(110)), Some(ms(25)));
    }

    #[test]
    fn a_measurement_continues_when_the_queue_falls_below_the_threshold() {
        let mut estimator = Estimator::new(DelayEstimate::DepartureTime, 10_000);
        depart(&mut estimator, at(0), ms(1), 1, 10_000);
        depart(&mut estimator, at(1), ms(1), 10, 500);
        assert_eq!(mean(&estimator), Some(10e6));
    }

    #[test]
    fn the_mean_time_weighs_a_measurement_by_its_threshold_in_64_kib() {
        let mut estimator = Estimator::new(DelayEstimate::DepartureTime, 16_384);
        depart(&mut estimator, at(0), ms(1), 18, 20_000);
        assert_eq!(mean(&estimator), Some(17e6), "17 packets pass 16 384 B");
        depart(&mut estimator, at(19), ms(2), 17, 20_000);
        // By hand: 17 ms × ¾ + (19 + 32 − 17) ms × ¼.
        assert_eq!(mean(&estimator), Some(12.75e6 + 8.5e6));
    }

    #[test]
    fn the_mean_rate_weighs_the_latest_measurement_by_a_half() {
        let mut estimator = Estimator::new(DelayEstimate::DepartureRate, 10_000);
        assert_eq!(estimator.delay(50_000, &LINE, at(0)), Some(Duration::ZERO));
        depart(&mut estimator, at(0), ms(1), 11, 10_000);
        assert_eq!(estimator.delay(50_000, &LINE, at(10)), Some(ms(50)));
        depart(&mut estimator, at(14), ms(4), 10, 10_000);
        // By hand: 1 B/µs and 0.25 B/µs, each with a weight of a half; 50 000 B at 0.625 B/µs.
        assert_eq!(estimator.delay(50_000, &LINE, at(50)), Some(ms(80)));
    }

    #[test]
    fn the_rate_is_reported_where_it_is_measured() {
        for method in [DelayEstimate::DepartureRate, DelayEstimate::DepartureTime] {
            let mut estimator = Estimator::new(method, 10_000);
            assert_eq!(estimator.rate_bps(), None, "{method:?}");
            depart(&mut estimator, at(0), ms(1), 11, 10_000);
            assert_eq!(
                estimator.rate_bps(),
                Some(8e6),
                "{method:?}: 10 000 B in 10 ms"
            );
        }
        let mut channel = Channel::new();
        let rate = channel.maps(8, 2500, 700).update(16);
        assert_eq!(channel.estimator.rate_bps(), Some(rate));
        assert_eq!(Estimator::TokenBuckets.rate_bps(), None);
    }

    #[test]
    fn departures_at_one_instant_are_measured_when_time_has_passed() {
        for (method, delay) in [
            // 30 000 B departed at once, and one more packet 2 ms later.
            (DelayEstimate::DepartureRate, 2e6 * 31.0 / 31.0),
            // Three whole thresholds in 2 ms: 31 000 B are 3.1 of them.
            (DelayEstimate::DepartureTime, 2e6 * 3.1 / 3.0),
        ] {
            let mut estimator = Estimator::new(method, 10_000);
            depart(&mut estimator, at(0), Duration::ZERO, 31, 50_000);
            assert_eq!(mean(&estimator), None, "{method:?}");
            depart(&mut estimator, at(2), Duration::ZERO, 1, 50_000);
            let found = estimator.delay(31_000, &LINE, at(2));
            let expected = Duration::from_nanos((delay + 0.5) as u64);
            assert_eq!(found, Some(expected), "{method:?}");
        }
    }

    // Grants.

    /// An estimator on a channel with a MAP every 2 ms and an update every 16 ms.
    struct Channel {
        buckets: Buckets,
        grants: GrantView,
        now: Instant,
        estimator: Estimator,
    }

    impl Channel {
        fn new() -> Self {
            let mut channel = Self {
                buckets: buckets(20, 40, 0),
                grants: GrantView {
                    map_interval: ms(2),
                    ..GrantView::default()
                },
                now: Instant::ZERO,
                estimator: Estimator::new(DelayEstimate::Grants, 16_384),
            };
            channel.update(0);
            channel
        }

        fn line(&self) -> LineView<'_> {
            LineView {
                grants: Some(&self.grants),
                ..shaped(&self.buckets)
            }
        }

        /// `maps` MAPs, each with this grant and this number of bytes pending.
        fn maps(&mut self, maps: u64, granted: u64, pending: u64) -> &mut Self {
            for _ in 0..maps {
                self.grants.tell(granted, pending, ms(2));
            }
            self
        }

        fn update(&mut self, millis: u64) -> f64 {
            self.now += ms(millis);
            let mut estimator = std::mem::replace(&mut self.estimator, Estimator::TokenBuckets);
            estimator.update(&self.line(), self.now);
            self.estimator = estimator;
            match &self.estimator {
                Estimator::Grants(grants) => grants.rate.expect("it has begun"),
                other => panic!("{other:?} is no estimator of grants"),
            }
        }

        fn delay(&self, waiting: u64) -> Option<Duration> {
            self.estimator.delay(waiting, &self.line(), self.now)
        }
    }

    #[track_caller]
    fn assert_rate(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-3, "{found} is not {expected}");
    }

    /// By hand from Appendix A: 8 MAPs of 2500 B in 16 ms are 10 Mbit/s.
    #[test]
    fn the_estimate_halves_its_distance_to_what_is_granted_while_requests_are_pending() {
        let mut channel = Channel::new();
        assert_rate(channel.update(0), 20e6);
        assert_rate(channel.maps(8, 2500, 700).update(16), 15e6);
        assert_rate(channel.maps(8, 2500, 700).update(16), 12.5e6);
        // 50 000 B take 32 ms at 12.5 Mbit/s, not 20 ms at the sustained rate.
        assert_eq!(channel.delay(50_000), Some(ms(32)));
    }

    #[test]
    fn a_map_without_pending_requests_does_not_lower_the_estimate() {
        let mut channel = Channel::new();
        channel.maps(7, 1000, 500).maps(1, 1000, 0);
        assert_rate(channel.update(16), 20e6);
        // Two MAPs were not simulated: nothing was pending in them either.
        assert_rate(channel.maps(6, 1000, 500).update(16), 20e6);
        assert_rate(channel.update(16), 20e6);
    }

    #[test]
    fn more_than_the_estimate_raises_it_in_any_case() {
        let mut channel = Channel::new();
        channel.maps(8, 2500, 700).update(16);
        assert_rate(channel.maps(8, 5000, 0).update(16), 17.5e6);
        assert_rate(channel.maps(8, 10_000, 0).update(16), 28.75e6);
    }

    #[test]
    fn the_provisioned_rates_bound_the_estimate() {
        let mut channel = Channel::new();
        channel.maps(8, 20_000, 0).update(16);
        channel.buckets.tokens = 10_000;
        // The estimate is 50 Mbit/s: 10 000 B at the peak rate of 40 Mbit/s and 10 000 B at the
        // sustained rate of 20 Mbit/s.
        assert_eq!(channel.delay(20_000), Some(ms(6)));
        channel.maps(64, 2500, 700).update(128);
        // The estimate is now 30 Mbit/s, and limits the peak rate.
        assert_eq!(channel.delay(15_000), Some(Duration::from_nanos(4_666_667)));
    }

    #[test]
    fn a_channel_that_grants_nothing_leaves_an_estimate_above_zero() {
        let mut channel = Channel::new();
        for _ in 0..100 {
            channel.maps(8, 0, 1000).update(16);
        }
        assert_eq!(channel.delay(1), Some(Duration::from_secs(8)));
    }

    #[test]
    fn on_a_line_without_grants_it_is_the_token_buckets() {
        let buckets = buckets(20, 40, 30_000);
        let mut estimator = Estimator::new(DelayEstimate::Grants, 16_384);
        estimator.update(&shaped(&buckets), at(16));
        let found = estimator.delay(100_000, &shaped(&buckets), at(16));
        assert_eq!(found, Some(ms(34)));
    }
}
