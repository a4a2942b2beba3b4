//! The rate of a link over time: constant, by a schedule, or by recorded delivery opportunities.

use super::varying::step;
use crate::metrics::utilisation::LimitUse;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateSchedule {
    /// Always the same rate.
    Constant(Rate),
    /// A rate from each instant on. The first step begins at zero. The pattern repeats after
    /// `period`, if that is given.
    Steps {
        /// Start and rate of each step, in order.
        steps: Vec<(Duration, Rate)>,
        /// Length of the pattern.
        period: Option<Duration>,
    },
    /// A packet-delivery trace of Mahimahi: at each instant 1504 bytes may leave. The trace repeats
    /// after its last instant.
    Opportunities {
        /// The instants, in order, after zero. The last one is also the period.
        times: Vec<Duration>,
    },
}

/// Bytes that one Mahimahi opportunity carries.
pub(super) const OPPORTUNITY_BYTES: u64 = 1504;

impl RateSchedule {
    /// The rate at the instant `at`. For opportunities, this is the mean over the trace.
    pub fn at(&self, at: Instant) -> Rate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Steps { steps, period } => steps[step(steps, *period, at).0].1,
            Self::Opportunities { times } => {
                let period = times.last().map_or(1, |last| last.as_nanos().max(1));
                Rate(
                    (times.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8_000_000_000
                        / u128::from(period)) as u64,
                )
            }
        }
    }

    /// The mean rate over the pattern. For steps without a period, this is the rate of the first
    /// step.
    pub fn nominal(&self) -> Rate {
        match self {
            Self::Steps {
                steps,
                period: Some(period),
            } => {
                let bits: u128 = (0..steps.len())
                    .map(|i| {
                        let end = steps.get(i + 1).map_or(*period, |next| next.0);
                        u128::from(steps[i].1.0)
                            * u128::from(end.saturating_sub(steps[i].0).as_nanos())
                    })
                    .sum();
                Rate((bits / u128::from(period.as_nanos().max(1))) as u64)
            }
            _ => self.at(Instant::ZERO),
        }
    }

    /// Bits that the link can send until `at`. A rate above `most` counts as `most`.
    pub fn bits_until(&self, at: Instant, most: Rate) -> f64 {
        let nanos = (at - Instant::ZERO).as_nanos();
        let bits = |rate: Rate, nanos: u64| rate.min(most).0 as f64 * (nanos as f64 / 1e9);
        match self {
            Self::Constant(rate) => bits(*rate, nanos),
            Self::Steps { steps, period } => {
                // The last step of a pattern without a period has no end.
                let until = |nanos: u64| -> f64 {
                    let ends = steps.iter().skip(1).map(|(start, _)| start.as_nanos());
                    (steps.iter().zip(ends.chain([u64::MAX])))
                        .map(|((start, rate), end)| {
                            bits(*rate, end.min(nanos).saturating_sub(start.as_nanos()))
                        })
                        .sum()
                };
                let period = period.map_or(u64::MAX, Duration::as_nanos);
                let rounds = nanos / period;
                let whole = if rounds == 0 { 0.0 } else { until(period) };
                rounds as f64 * whole + until(nanos % period)
            }
            Self::Opportunities { .. } => bits(self.nominal(), nanos),
        }
    }

    /// Bits that a link can have sent until `at`. For opportunities, these are the bits that they
    /// carry, not the mean.
    pub fn sendable_until(&self, at: Instant) -> f64 {
        match self {
            Self::Opportunities { times } => {
                (opportunities_until(times, at) * OPPORTUNITY_BYTES * 8) as f64
            }
            _ => self.bits_until(at, Rate(u64::MAX)),
        }
    }
}

/// The number of opportunities up to and including `at`.
fn opportunities_until(times: &[Duration], at: Instant) -> u64 {
    let period = times.last().map_or(1, |last| last.as_nanos().max(1));
    let phase = Duration::from_nanos(at.as_nanos() % period);
    let in_round = times.partition_point(|time| *time <= phase);
    at.as_nanos() / period * times.len() as u64 + in_round as u64
}

/// The transmission time of a number of bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    bytes: u64,
    /// Whole nanoseconds, and the numerator of the remaining fraction over the rate.
    nanos: u64,
    rest: u64,
}

impl Share {
    fn of(bytes: u64, rate: Rate) -> Self {
        let bits_ns = bytes * 8_000_000_000;
        Self {
            bytes,
            nanos: bits_ns / rate.0,
            rest: bits_ns % rate.0,
        }
    }
}

/// Serialises packets at the rate of a [`RateSchedule`], one after the other, without losing
/// fractions of a nanosecond.
#[derive(Debug, Clone)]
pub struct Transmitter {
    schedule: RateSchedule,
    /// Numerator of the fraction of a nanosecond by which the last end was rounded down, over the
    /// rate.
    remainder: u64,
    /// The transmission time of the latest size at a constant rate. Most packets have the same size
    /// as the one before, and a division is slow.
    latest: Share,
    last_end: Instant,
    /// Opportunities used so far, and bytes left in the last of them.
    used: u64,
    credit: u64,
}

impl Transmitter {
    /// A transmitter that has sent nothing yet.
    pub fn new(schedule: RateSchedule) -> Self {
        Self {
            schedule,
            remainder: 0,
            latest: Share::default(),
            last_end: Instant::ZERO,
            used: 0,
            credit: 0,
        }
    }

    /// Its schedule.
    pub fn schedule(&self) -> &RateSchedule {
        &self.schedule
    }

    /// Whether the rate is constant and larger than zero.
    pub fn is_constant(&self) -> bool {
        matches!(self.schedule, RateSchedule::Constant(rate) if rate.0 > 0)
    }

    /// Bits of the packet that was sent last, whose last bit leaves at `end`, that leave after
    /// `now`.
    pub fn unsent_bits(&self, now: Instant, end: Instant) -> f64 {
        if end <= now || end == Instant::FAR_FUTURE {
            return 0.0;
        }
        let until_end = self.schedule.sendable_until(end) - self.schedule.sendable_until(now);
        // The opportunity at its end may have room left.
        until_end - (self.credit * 8) as f64
    }

    /// The use of the rate until `now`, by which time so many bits `passed`.
    pub fn limit(&self, now: Instant, passed: f64) -> LimitUse {
        let came = self.schedule.sendable_until(now);
        let RateSchedule::Opportunities { times } = &self.schedule else {
            return LimitUse::of_line(came, self.schedule.at(now), passed);
        };
        // An opportunity of this very moment may not have been used yet.
        let before = opportunities_until(
            times,
            now.max(Instant::from_nanos(1)) - Duration::from_nanos(1),
        );
        let of_now = opportunities_until(times, now) - before;
        LimitUse {
            came,
            ready: (of_now * OPPORTUNITY_BYTES * 8) as f64,
            passed,
            number: 0,
        }
    }

    /// Sends `bytes` from `start` on and returns the instant at which the last bit leaves. While
    /// the rate is zero, the transmission waits for the next step. If no step follows, the result
    /// is [`Instant::FAR_FUTURE`].
    #[inline]
    pub fn send(&mut self, start: Instant, bytes: u64) -> Instant {
        let RateSchedule::Constant(rate) = self.schedule else {
            return self.send_by_schedule(start, bytes);
        };
        if rate.0 == 0 {
            return Instant::FAR_FUTURE;
        }
        if bytes != self.latest.bytes {
            self.latest = Share::of(bytes, rate);
        }
        // Between back-to-back packets the fraction is carried over. After a pause it is discarded.
        let carried = if start == self.last_end {
            self.remainder
        } else {
            0
        };
        let rest = self.latest.rest + carried;
        let is_whole = rest >= rate.0;
        self.remainder = if is_whole { rest - rate.0 } else { rest };
        self.last_end = start + Duration::from_nanos(self.latest.nanos + u64::from(is_whole));
        self.last_end
    }

    fn send_by_schedule(&mut self, start: Instant, bytes: u64) -> Instant {
        let end = match &self.schedule {
            RateSchedule::Constant(_) => unreachable!("a constant rate needs no schedule"),
            RateSchedule::Steps { steps, period } => {
                let mut now = start;
                let mut bits_ns = u128::from(bytes) * 8_000_000_000;
                loop {
                    let (index, next) = step(steps, *period, now);
                    let rate = u128::from(steps[index].1.0);
                    let room =
                        next.map_or(u128::MAX, |next| rate * u128::from((next - now).as_nanos()));
                    if bits_ns <= room && rate > 0 {
                        break now + Duration::from_nanos(bits_ns.div_ceil(rate) as u64);
                    }
                    let Some(next) = next else {
                        return Instant::FAR_FUTURE;
                    };
                    bits_ns -= room;
                    now = next;
                }
            }
            RateSchedule::Opportunities { times } => {
                let mut left = bytes;
                let mut end = start;
                if start > self.last_end {
                    // Opportunities that found the queue empty are lost.
                    self.credit = 0;
                }
                while left > 0 {
                    if self.credit == 0 {
                        let opportunity = |n: u64| {
                            let (round, index) = (n / times.len() as u64, n % times.len() as u64);
                            let period = times[times.len() - 1];
                            Instant::ZERO + period * round + times[index as usize]
                        };
                        while opportunity(self.used) < start {
                            self.used += 1;
                        }
                        end = opportunity(self.used);
                        self.used += 1;
                        self.credit = OPPORTUNITY_BYTES;
                    }
                    let part = left.min(self.credit);
                    left -= part;
                    self.credit -= part;
                }
                end
            }
        };
        self.last_end = end;
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_to_back_packets_keep_the_exact_rate() {
        let mut transmitter = Transmitter::new(RateSchedule::Constant(Rate(3)));
        let mut end = Instant::ZERO;
        for _ in 0..3 {
            end = transmitter.send(end, 1);
        }
        assert_eq!(end, Instant::from_nanos(8_000_000_000));
    }

    #[test]
    fn a_packet_that_straddles_a_step_is_sent_at_both_rates() {
        let steps = vec![
            (Duration::ZERO, Rate(8_000)),
            (Duration::from_secs(1), Rate(16_000)),
        ];
        let mut transmitter = Transmitter::new(RateSchedule::Steps {
            steps,
            period: None,
        });
        // 500 B take half a second at 8 kbit/s, the other 500 B a quarter at 16 kbit/s.
        let end = transmitter.send(Instant::from_nanos(500_000_000), 1000);
        assert_eq!(end, Instant::from_nanos(1_250_000_000));
    }

    #[test]
    fn a_step_of_zero_waits_and_a_pattern_repeats() {
        let steps = vec![
            (Duration::ZERO, Rate(0)),
            (Duration::from_secs(1), Rate(8_000)),
        ];
        let schedule = RateSchedule::Steps {
            steps,
            period: Some(Duration::from_secs(2)),
        };
        assert_eq!(schedule.nominal(), Rate(4_000));
        let mut transmitter = Transmitter::new(schedule);
        assert_eq!(
            transmitter.send(Instant::ZERO, 1000),
            Instant::from_nanos(2_000_000_000)
        );
        assert_eq!(
            transmitter.send(Instant::from_nanos(2_000_000_000), 500),
            Instant::from_nanos(3_500_000_000)
        );
    }

    #[test]
    fn what_a_pattern_gives_is_summed_over_its_rounds_up_to_what_the_channel_carries() {
        let steps = vec![
            (Duration::ZERO, Rate(1_000)),
            (Duration::from_secs(1), Rate(8_000)),
        ];
        let until = |period, most, ms: u64| {
            let schedule = RateSchedule::Steps {
                steps: steps.clone(),
                period,
            };
            schedule.bits_until(Instant::from_nanos(ms * 1_000_000), Rate(most))
        };
        let round = Some(Duration::from_secs(2));
        // Two rounds of 1000 + 8000 bit, then all of the first step and half of the second.
        assert!((until(round, 9_000, 5_500) - 23_000.0).abs() < 1e-6);
        assert!((until(round, 4_000, 5_500) - 13_000.0).abs() < 1e-6);
        assert!((until(None, 9_000, 5_500) - 37_000.0).abs() < 1e-6);
    }

    #[test]
    fn an_opportunity_carries_what_fits_and_is_lost_when_nothing_waits() {
        let times = [5, 5, 20].map(Duration::from_millis).to_vec();
        let mut transmitter = Transmitter::new(RateSchedule::Opportunities { times });
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        assert_eq!(transmitter.send(ms(0), 1504), ms(5));
        assert_eq!(
            transmitter.send(ms(5), 2000),
            ms(20),
            "the second opportunity at 5 ms and the one at 20 ms"
        );
        assert_eq!(
            transmitter.send(ms(20), 1000),
            ms(20),
            "what was left of it"
        );
        assert_eq!(
            transmitter.send(ms(26), 100),
            ms(40),
            "both at 25 ms were lost"
        );
    }
}
