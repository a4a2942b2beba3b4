//! The contention of one station: its window, its retry counts and the end of its backoff.
//!
//! IEEE 802.11-1999 §9.2.4 and §9.2.5.3: the contention window doubles after a failed try. It
//! returns to its smallest value after a success, or when the frame is dropped. A backoff follows
//! every try.
//!
//! A backoff counts idle slots of the medium, which are the same for all stations. The end of a
//! backoff is therefore a number of idle slots since the start of the run. While the medium is
//! busy, no backoff needs an update.

use crate::rng::Rng;

/// Contention windows and retry limits (§9.2.4, §15.3.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Smallest contention window, in slots.
    pub least: u32,
    /// Largest contention window, in slots.
    pub most: u32,
    /// Tries of an RTS, and of a frame not longer than the RTS threshold. With `None` the frame is
    /// never dropped.
    pub short_retries: Option<u32>,
    /// Tries of a longer frame, after its RTS was answered.
    pub long_retries: Option<u32>,
}

/// Which frame a try sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Try {
    /// An RTS, or a frame without RTS.
    Short,
    /// A frame announced by an RTS.
    Long,
}

/// The contention of one station.
#[derive(Debug)]
pub struct Backoff {
    window: u32,
    short: u32,
    long: u32,
    /// The idle slot of the medium at which the station may send.
    until: u64,
    rng: Rng,
}

impl Backoff {
    /// A station that has never sent.
    pub fn new(limits: &Limits, rng: Rng) -> Self {
        Self {
            window: limits.least,
            short: 0,
            long: 0,
            until: 0,
            rng,
        }
    }

    /// The idle slot at which the station may send.
    pub fn until(&self) -> u64 {
        self.until
    }

    /// Number of values that a backoff is drawn from, in slots.
    pub fn window(&self) -> u64 {
        u64::from(self.window) + 1
    }

    /// Draws a backoff that begins after idle slot `slot`.
    pub fn draw(&mut self, slot: u64) {
        self.until = slot + self.rng.below(self.window());
    }

    /// The frame has arrived.
    pub fn succeed(&mut self, limits: &Limits) {
        (self.window, self.short, self.long) = (limits.least, 0, 0);
    }

    /// A try has failed. Returns true if the frame must be dropped.
    pub fn fail(&mut self, what: Try, limits: &Limits) -> bool {
        let (count, limit) = match what {
            Try::Short => (&mut self.short, limits.short_retries),
            Try::Long => (&mut self.long, limits.long_retries),
        };
        *count += 1;
        if limit.is_some_and(|limit| *count >= limit) {
            self.succeed(limits);
            return true;
        }
        self.window = (2 * self.window + 1).min(limits.most);
        false
    }

    /// An RTS was answered. This resets the count of its tries, but not that of the frame's tries
    /// (§9.2.5.7).
    pub fn cleared(&mut self) {
        self.short = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        least: 31,
        most: 1023,
        short_retries: Some(7),
        long_retries: Some(4),
    };

    fn backoff(limits: &Limits) -> Backoff {
        Backoff::new(limits, Rng::for_path(1, "backoff"))
    }

    #[test]
    fn the_window_doubles_up_to_its_largest_and_the_seventh_failure_gives_up() {
        let mut station = backoff(&LIMITS);
        let mut windows = vec![station.window];
        while !station.fail(Try::Short, &LIMITS) {
            windows.push(station.window);
        }
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023]);
        assert_eq!(station.window, 31);
    }

    #[test]
    fn long_frames_have_four_tries_of_their_own() {
        let mut station = backoff(&LIMITS);
        for _ in 0..3 {
            assert!(!station.fail(Try::Short, &LIMITS));
            station.cleared();
            assert!(!station.fail(Try::Long, &LIMITS));
        }
        assert!(station.fail(Try::Long, &LIMITS));
    }

    #[test]
    fn without_a_limit_nothing_is_given_up() {
        let limits = Limits {
            short_retries: None,
            ..LIMITS
        };
        let mut station = backoff(&limits);
        assert!((0..1000).all(|_| !station.fail(Try::Short, &limits)));
        assert_eq!(station.window, 1023);
    }

    #[test]
    fn a_backoff_is_even_over_the_window() {
        let mut station = backoff(&LIMITS);
        let mut counts = [0_u32; 32];
        for _ in 0..64_000 {
            station.draw(100);
            counts[(station.until() - 100) as usize] += 1;
        }
        // Four standard errors of 2000.
        assert!(counts.iter().all(|&count| count.abs_diff(2000) < 180));
    }
}
