//! The virtual queue (MULPI Annex O): an estimate of the delay for lines that send in bursts.
//!
//! Packets on a cable line wait for requests and grants even while the line is idle. Such waits
//! make the backlog long, although no sender sends too fast. The virtual queue drains at the rate
//! of the line from the moment a packet arrives, and so shows only what exceeds the rate.
//!
//! A line that is shared may give less than its rate. Each half millisecond, the average backlog is
//! compared with the one that requests and grants account for. If it is longer, the virtual queue
//! becomes as long as the difference.
//!
//! **Updates** fall on multiples of their interval. An update comes before all other events at the
//! same time. None is scheduled while the queue is empty and the state is all zero.

use crate::aqm::updates::Updates;
use crate::queue::Coupling;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The state of the virtual queue.
#[derive(Debug)]
pub(super) struct VirtualQueue {
    /// Its length at `at`, as the time that it takes to drain (V).
    delay: Duration,
    /// When `delay` was true.
    at: Instant,
    /// The average backlog, in whole bytes.
    average: u64,
    updates: Updates,
}

impl Default for VirtualQueue {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            at: Instant::ZERO,
            average: 0,
            updates: Updates::every(INTERVAL),
        }
    }
}

impl VirtualQueue {
    /// Lets time pass, and carries out all updates that are due. `backlog` is the length of the
    /// real queue, which was the same all that time.
    pub(super) fn catch_up(&mut self, backlog: u64, rate: Rate, coupling: &Coupling, now: Instant) {
        while self.updates.is_due(now) {
            let at = self.updates.next();
            self.drain(at);
            if self.is_at_rest(backlog) {
                self.updates.skip(now);
                break;
            }
            self.update(backlog, rate, coupling);
            self.updates.advance();
        }
        self.drain(now);
    }

    /// Adds a packet that takes `span` at the rate of the line; returns the delay with it.
    pub(super) fn add(&mut self, span: Duration, now: Instant) -> Duration {
        self.drain(now);
        self.delay += span;
        self.delay
    }

    /// Removes a packet that was added now and is not enqueued.
    pub(super) fn give_back(&mut self, span: Duration) {
        self.delay = self.delay.saturating_sub(span);
    }

    /// The length at the latest call.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    /// When the next update is due; `None` while it would change nothing.
    pub(super) fn next_update(&self, backlog: u64) -> Option<Instant> {
        (!self.is_at_rest(backlog)).then_some(self.updates.next())
    }

    fn is_at_rest(&self, backlog: u64) -> bool {
        backlog == 0 && self.average == 0 && self.delay.is_zero()
    }

    fn drain(&mut self, now: Instant) {
        self.delay = self.delay.saturating_sub(now - self.at);
        self.at = now;
    }

    /// Compares the average backlog with what requests and grants account for.
    fn update(&mut self, backlog: u64, rate: Rate, coupling: &Coupling) {
        // The average is in whole bytes and rounded down. It therefore does not rise while the
        // backlog is less than 128 B longer, and falls by a byte at least.
        self.average = (self.average * (WINDOW - 1) + backlog) / WINDOW;
        let excess = self.average.saturating_sub(allowed(rate, coupling));
        self.delay = self.delay.max(rate.time_for_or_zero(excess));
    }
}

/// The bytes that wait for requests and grants when packets arrive at `rate`.
fn allowed(rate: Rate, coupling: &Coupling) -> u64 {
    let guaranteed = coupling.guaranteed_rate;
    // What exceeds the guaranteed rate waits for a request to be granted. A guaranteed rate beyond
    // the limit leaves nothing to request.
    let requested = Rate(rate.0.saturating_sub(guaranteed.0));
    requested.bytes_in(coupling.loop_delay) + guaranteed.bytes_in(coupling.guaranteed_interval)
}

/// Time between two updates.
const INTERVAL: Duration = Duration::from_micros(500);

/// The average moves by one part in so many of the difference (2^7).
const WINDOW: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate(50_000_000);

    fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn at(micros: u64) -> Instant {
        Instant::ZERO + us(micros)
    }

    /// Requests are granted after 2 ms.
    fn coupling(guaranteed_rate: u64, guaranteed_interval: u64) -> Coupling {
        Coupling {
            loop_delay: us(2000),
            guaranteed_rate: Rate(guaranteed_rate),
            guaranteed_interval: us(guaranteed_interval),
            ..Coupling::default()
        }
    }

    #[test]
    fn it_rises_with_each_packet_and_falls_with_time() {
        let mut queue = VirtualQueue::default();
        assert_eq!(queue.add(us(163), at(0)), us(163));
        assert_eq!(queue.add(us(163), at(0)), us(326));
        assert_eq!(queue.add(us(163), at(100)), us(389));
        queue.give_back(us(163));
        assert_eq!(queue.delay(), us(226));
        assert_eq!(queue.add(us(163), at(10_000)), us(163));
    }

    #[test]
    fn requests_and_grants_account_for_some_backlog() {
        // 50 Mbit/s for 2 ms.
        assert_eq!(allowed(RATE, &coupling(0, 0)), 12_500);
        // 45 Mbit/s for 2 ms and 5 Mbit/s for 1 ms.
        assert_eq!(allowed(RATE, &coupling(5_000_000, 1000)), 11_250 + 625);
        // Nothing has to be requested.
        assert_eq!(allowed(RATE, &coupling(60_000_000, 1000)), 7500);
        assert_eq!(allowed(Rate(0), &coupling(0, 0)), 0);
    }

    #[test]
    fn a_longer_average_backlog_makes_it_longer() {
        let mut queue = VirtualQueue::default();
        let backlog = 25_000;
        // After n updates, the average is 25 000 × (1 − (127/128)^n): above 12 500 B after 89.
        let mut passed = 0;
        while queue.delay().is_zero() {
            passed += 1;
            queue.catch_up(backlog, RATE, &coupling(0, 0), at(500 * passed));
        }
        assert!((89..=95).contains(&passed), "{passed}");
        for update in passed + 1..10_000 {
            queue.catch_up(backlog, RATE, &coupling(0, 0), at(500 * update));
        }
        // The average ends less than 128 B below the backlog, because it is rounded down.
        assert_eq!(queue.average, 25_000 - 127);
        assert_eq!(queue.delay(), RATE.time_for(12_373));
    }

    #[test]
    fn the_average_falls_to_zero_byte_by_byte() {
        let mut queue = VirtualQueue {
            average: 3,
            ..VirtualQueue::default()
        };
        let mut averages = Vec::new();
        for update in 1..=4 {
            queue.catch_up(0, RATE, &coupling(0, 0), at(500 * update));
            averages.push(queue.average);
        }
        assert_eq!(averages, [2, 1, 0, 0]);
        assert_eq!(queue.next_update(0), None);
        assert_eq!(queue.next_update(1), Some(at(2500)));
    }

    #[test]
    fn updates_that_were_skipped_stay_on_multiples_of_the_interval() {
        let mut queue = VirtualQueue::default();
        queue.catch_up(0, RATE, &coupling(0, 0), at(10_200));
        queue.add(us(900), at(10_200));
        assert_eq!(queue.next_update(1000), Some(at(10_500)));
        queue.catch_up(1000, RATE, &coupling(0, 0), at(10_500));
        assert_eq!((queue.average, queue.delay()), (7, us(600)));
    }

    #[test]
    fn without_a_limit_of_the_rate_it_stays_empty() {
        let mut queue = VirtualQueue::default();
        for update in 1..1000 {
            queue.catch_up(1_000_000, Rate(0), &coupling(0, 0), at(500 * update));
        }
        assert_eq!(queue.delay(), Duration::ZERO);
    }
}
