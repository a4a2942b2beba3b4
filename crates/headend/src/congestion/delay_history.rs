//! The queueing delay for LEDBAT and LEDBAT++: the current delay minus the smallest of recent
//! minutes (RFC 6817 §2.4, §3.4).

use crate::time::{Duration, Instant};

/// Number of delay samples of which the smallest is the current delay (RFC 6817 §2.5:
/// `CURRENT_FILTER`).
const CURRENT_FILTER: usize = 4;
/// Number of minutes of which the smallest delay is the base delay (`BASE_HISTORY`).
const BASE_HISTORY: usize = 10;
const MINUTE: u64 = 60_000_000_000;

/// The delays that a sender has measured.
#[derive(Debug, Clone)]
pub(super) struct DelayHistory {
    /// The latest samples in nanoseconds; a new one replaces the oldest.
    current: [u64; CURRENT_FILTER],
    next: usize,
    /// The smallest delay in each of the last minutes.
    base: [u64; BASE_HISTORY],
    minute: u64,
}

impl DelayHistory {
    /// A history without samples.
    pub(super) fn new() -> Self {
        Self {
            current: [u64::MAX; CURRENT_FILTER],
            next: 0,
            base: [u64::MAX; BASE_HISTORY],
            minute: 0,
        }
    }

    /// RFC 6817 §2.4.2: `update_base_delay()` and `update_current_delay()`.
    pub(super) fn observe(&mut self, delay: Duration, now: Instant) {
        let delay = delay.as_nanos();
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT_FILTER;
        let minute = now.as_nanos() / MINUTE;
        if minute > self.minute {
            // Minutes without a sample have no smallest delay.
            let passed = ((minute - self.minute) as usize).min(BASE_HISTORY);
            self.base.rotate_right(passed);
            self.base[..passed].fill(u64::MAX);
            self.minute = minute;
        }
        self.base[0] = self.base[0].min(delay);
    }

    /// The base delay; `None` without a sample.
    pub(super) fn base(&self) -> Option<Duration> {
        let base = self
            .base
            .iter()
            .min()
            .copied()
            .filter(|&base| base < u64::MAX);
        base.map(Duration::from_nanos)
    }

    /// The current delay minus the base delay.
    pub(super) fn queueing(&self) -> Duration {
        let current = self.current.iter().min().copied().unwrap_or(u64::MAX);
        match self.base() {
            Some(base) if current < u64::MAX => Duration::from_nanos(current).saturating_sub(base),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn the_current_delay_is_the_smallest_of_the_last_four() {
        let mut history = DelayHistory::new();
        assert_eq!(history.queueing(), Duration::ZERO);
        for (delay, queueing) in [(20, 0), (60, 0), (70, 0), (80, 0), (90, 40), (65, 45)] {
            history.observe(ms(delay), at(1));
            assert_eq!(history.queueing(), ms(queueing), "{delay}");
        }
    }

    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut history = DelayHistory::new();
        history.observe(ms(20), at(30));
        for minute in 1..10 {
            history.observe(ms(50), at(60 * minute + 1));
            assert_eq!(history.base(), Some(ms(20)));
        }
        history.observe(ms(50), at(601));
        assert_eq!(history.base(), Some(ms(50)));
        history.observe(ms(90), at(36_000));
        assert_eq!(history.base(), Some(ms(90)), "an hour of silence");
    }
}
