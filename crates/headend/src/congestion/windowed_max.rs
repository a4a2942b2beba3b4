//! The largest value of the last few round trips, for the filters of BBR.

/// The largest value of at most the last `N` round trips.
#[derive(Debug, Clone)]
pub(super) struct WindowedMax<const N: usize> {
    /// The largest value of each round trip, at the index of its number modulo `N`.
    slots: [f64; N],
    round: u64,
    best: f64,
}

impl<const N: usize> WindowedMax<N> {
    /// The filter before the first value; its maximum is 0.
    pub(super) fn new() -> Self {
        Self {
            slots: [0.0; N],
            round: 0,
            best: 0.0,
        }
    }

    /// Adds `value` in `round`, which must not decrease. Values older than `window` round trips (at
    /// most `N`) expire.
    pub(super) fn update(&mut self, value: f64, round: u64, window: u64) {
        if round > self.round {
            self.advance(round, window.min(N as u64));
        }
        let slot = &mut self.slots[(round % N as u64) as usize];
        *slot = slot.max(value);
        self.best = self.best.max(value);
    }

    fn advance(&mut self, round: u64, window: u64) {
        // Clears the slots of skipped round trips and of expired ones.
        let kept = window.saturating_sub(round - self.round);
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let age = (self.round + N as u64 - index as u64 % N as u64) % N as u64;
            if age >= kept {
                *slot = 0.0;
            }
        }
        self.round = round;
        self.best = self.slots.iter().copied().fold(0.0, f64::max);
    }

    /// The largest value.
    pub(super) fn get(&self) -> f64 {
        self.best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_forgotten_when_its_round_is_too_old() {
        let mut max = WindowedMax::<10>::new();
        for (round, value, expected) in [
            (0, 5.0, 5.0),
            (0, 9.0, 9.0),
            (3, 7.0, 9.0),
            (9, 1.0, 9.0),
            (10, 1.0, 7.0),
            (12, 2.0, 7.0),
            (13, 1.0, 2.0),
            (100, 0.5, 0.5),
        ] {
            max.update(value, round, 10);
            assert!(
                (max.get() - expected).abs() < 1e-12,
                "round {round}: {}",
                max.get()
            );
        }
    }

    #[test]
    fn a_shorter_window_forgets_sooner() {
        let mut max = WindowedMax::<10>::new();
        for (round, value, expected) in [(0, 5.0, 5.0), (1, 2.0, 2.0), (2, 1.0, 1.0)] {
            max.update(value, round, 1);
            assert!((max.get() - expected).abs() < 1e-12);
        }
    }
}
