//! The backoff of one contender: its window, and the slot at which it may send.
//!
//! IEEE 802.11-2020 §10.3.3 and §10.23.2.2: the contention window doubles after a failed try. It
//! returns to its smallest value after a success, or when a frame is dropped. A backoff follows
//! every try.
//!
//! A backoff counts idle slots of the medium, which are the same for all contenders of a
//! [class](super::contention). The end of a backoff is therefore a number of idle slots since the
//! start of the run.

use crate::rng::Rng;

/// The windows that a contender draws its backoffs from, in slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Smallest contention window.
    pub least: u32,
    /// Largest contention window.
    pub most: u32,
}

/// The backoff of one contender.
#[derive(Debug)]
pub(super) struct Backoff {
    windows: Windows,
    window: u32,
    /// The idle slot at which the contender may send.
    until: u64,
    rng: Rng,
}

impl Backoff {
    /// A contender that has never sent.
    pub(super) fn new(windows: Windows, rng: Rng) -> Self {
        Self {
            windows,
            window: windows.least,
            until: 0,
            rng,
        }
    }

    /// The idle slot at which the contender may send.
    pub(super) fn until(&self) -> u64 {
        self.until
    }

    /// Number of values that a backoff is drawn from, in slots.
    pub(super) fn window(&self) -> u64 {
        u64::from(self.window) + 1
    }

    /// Draws a backoff that begins after idle slot `slot`.
    pub(super) fn draw(&mut self, slot: u64) {
        self.until = slot + self.rng.below(self.window());
    }

    /// The frame has arrived, or was given up.
    pub(super) fn reset(&mut self) {
        self.window = self.windows.least;
    }

    /// A try has failed.
    pub(super) fn widen(&mut self) {
        self.window = (2 * self.window + 1).min(self.windows.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Windows = Windows {
        least: 31,
        most: 1023,
    };

    fn backoff() -> Backoff {
        Backoff::new(WINDOWS, Rng::for_path(1, "backoff"))
    }

    #[test]
    fn the_window_doubles_up_to_its_largest() {
        let mut station = backoff();
        let mut windows = vec![station.window];
        for _ in 0..6 {
            station.widen();
            windows.push(station.window);
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023]);
        station.reset();
        assert_eq!(station.window, 31);
    }

    #[test]
    fn a_backoff_is_even_over_the_window() {
        let mut station = backoff();
        let mut counts = [0_u32; 32];
        for _ in 0..64_000 {
            station.draw(100);
            counts[(station.until() - 100) as usize] += 1;
        }
        // Four standard errors of 2000.
        assert!(counts.iter().all(|&count| count.abs_diff(2000) < 180));
    }
}
