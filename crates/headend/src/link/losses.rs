//! Packets that a plain link loses behind its queue, each with a probability that may vary.

use super::varying::Varying;
use crate::rng::Rng;
use crate::time::Instant;
use crate::units::Probability;

/// Random losses, each packet independently of the others.
#[derive(Debug)]
pub struct Losses {
    share: Varying<Probability>,
    rng: Rng,
}

impl Losses {
    /// Losses of this share, drawn from a stream of their own.
    pub fn new(share: Varying<Probability>, rng: Rng) -> Self {
        Self { share, rng }
    }

    /// Whether the packet whose last bit leaves at `at` is lost. Draws only where one may be lost.
    pub(super) fn takes(&mut self, at: Instant) -> bool {
        let share = self.share.at(at).0;
        share > 0.0 && self.rng.uniform() < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    #[test]
    fn packets_are_lost_in_the_share_of_each_step_and_none_where_it_is_zero() {
        let steps = [(0, 0.0), (1, 0.1), (2, 1.0)];
        let steps = steps.map(|(start, share)| (Duration::from_secs(start), Probability(share)));
        let share = Varying::Steps {
            steps: steps.to_vec(),
            period: None,
        };
        let mut losses = Losses::new(share, Rng::for_path(1, "losses"));
        let mut lost_at = |seconds: u64| {
            let at = Instant::from_nanos(seconds * 1_000_000_000);
            (0..100_000).filter(|_| losses.takes(at)).count()
        };
        assert_eq!(lost_at(0), 0);
        // Three standard errors of 10 000.
        let lost = lost_at(1);
        assert!(lost.abs_diff(10_000) < 285, "{lost}");
        assert_eq!(lost_at(2), 100_000);
    }
}
