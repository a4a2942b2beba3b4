//! De-randomised drops: keeps a minimum and a maximum distance between drops (RFC 8033 §5.4, RFC
//! 8034 §4.1, AQM paper §8).
//!
//! With independent random decisions, drops of two packets in a row are as frequent as any other
//! distance. Here, the probabilities of the packets that were enqueued since the last drop are
//! added up. Below `low` no packet is dropped, at `high` a packet is dropped in any case, and
//! between them the decision is random.
//!
//! At a constant probability p, the distance between drops is between 0.85/p and 8.5/p packets. The
//! resulting drop probability is about 0.54 p (AQM paper, Appendix B).

/// Whether, and how, the distance between drops is bounded.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Derandomise {
    /// The distance is not bounded: each packet has an independent random decision.
    Off,
    /// A packet may be dropped once the sum has reached `probability_low`, as in RFC 8033 and RFC
    /// 8034.
    Reached,
    /// A packet may be dropped once the sum has exceeded `probability_low`, in the words of the AQM
    /// paper §8. The distance is a packet longer if the rounded sum meets `probability_low`
    /// exactly.
    Exceeded,
}

/// Checks the two bounds.
///
/// # Errors
///
/// A sentence about the first invalid bound.
pub(crate) fn check_bounds(low: f64, high: f64) -> Result<(), String> {
    if !(low > 0.0 && low <= 1.0) {
        return Err("probability_low must be above 0 and at most 1".into());
    }
    if !(high >= low && high.is_finite()) {
        return Err("probability_high must be at least probability_low".into());
    }
    Ok(())
}

/// What follows for the next packet from the distance to the last drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// The distance is too long: the packet must be dropped.
    Long,
    /// The decision is random.
    Open,
    /// The distance is too short: the packet must not be dropped.
    Short,
}

/// The sum of the probabilities since the last drop (`accu_prob_`).
#[derive(Debug)]
pub(crate) struct Derandomiser {
    mode: Derandomise,
    low: f64,
    high: f64,
    accumulated: f64,
}

impl Derandomiser {
    /// The state before the first packet.
    pub(crate) fn new(mode: Derandomise, low: f64, high: f64) -> Self {
        Self {
            mode,
            low,
            high,
            accumulated: 0.0,
        }
    }

    /// The sum below which no packet is dropped. It is also the highest drop probability of a
    /// packet.
    pub(crate) fn probability_low(&self) -> f64 {
        self.low
    }

    /// Adds the drop probability of an arriving packet.
    #[inline]
    pub(crate) fn count(&mut self, probability: f64) {
        self.accumulated += probability;
    }

    /// What follows for the packet that was counted last.
    #[inline]
    pub(crate) fn run(&self) -> Run {
        let is_short = match self.mode {
            Derandomise::Off => return Run::Open,
            Derandomise::Reached => self.accumulated < self.low,
            Derandomise::Exceeded => self.accumulated <= self.low,
        };
        if is_short {
            Run::Short
        } else if self.accumulated >= self.high {
            Run::Long
        } else {
            Run::Open
        }
    }

    /// Resets the sum, as after a drop.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.accumulated = 0.0;
    }
}

#[cfg(test)]
impl Derandomiser {
    /// The sum of the probabilities.
    pub(crate) fn accumulated(&self) -> f64 {
        self.accumulated
    }

    /// Sets the sum of the probabilities.
    pub(crate) fn set_accumulated(&mut self, sum: f64) {
        self.accumulated = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn derandomiser(mode: Derandomise) -> Derandomiser {
        Derandomiser::new(mode, 0.85, 8.5)
    }

    /// The number of packets up to and including the next drop.
    fn length(run: &mut Derandomiser, probability: f64, rng: &mut Rng) -> u64 {
        for packets in 1.. {
            run.count(probability);
            let drops = match run.run() {
                Run::Short => false,
                Run::Open => rng.uniform() < probability,
                Run::Long => true,
            };
            if drops {
                run.clear();
                return packets;
            }
        }
        unreachable!("a drop comes")
    }

    /// The share of packets dropped over `runs` drops.
    fn effective(mode: Derandomise, probability: f64, runs: u64) -> f64 {
        let mut run = derandomiser(mode);
        let mut rng = Rng::for_path(1, "derandomiser");
        let packets: u64 = (0..runs)
            .map(|_| length(&mut run, probability, &mut rng))
            .sum();
        runs as f64 / packets as f64
    }

    #[test]
    fn the_first_packet_that_may_and_the_one_that_must_be_dropped() {
        // A sixteenth is exact in binary: the sum exceeds 0.85 with the 14th packet, and reaches
        // 8.5 with the 136th.
        let mut run = derandomiser(Derandomise::Reached);
        let mut seen = Vec::new();
        for packet in 1..=137 {
            run.count(0.0625);
            if seen.last().is_none_or(|&(_, last)| last != run.run()) {
                seen.push((packet, run.run()));
            }
        }
        assert_eq!(seen, [(1, Run::Short), (14, Run::Open), (136, Run::Long)]);
    }

    #[test]
    fn the_two_modes_differ_where_the_sum_meets_the_bound_exactly() {
        let at_bound = |mode| {
            let mut run = Derandomiser::new(mode, 0.75, 8.5);
            run.count(0.5);
            run.count(0.25);
            run.run()
        };
        assert_eq!(at_bound(Derandomise::Reached), Run::Open);
        assert_eq!(at_bound(Derandomise::Exceeded), Run::Short);
        assert_eq!(at_bound(Derandomise::Off), Run::Open);
    }

    /// The effective probability by the formula in the AQM paper's Appendix B: a drop is possible
    /// from n1 = ⌈0.85/p⌉ on and forced at n2 = ⌈8.5/p⌉, `p_eff = 1 / [(n1 − 1) + (1 − (1 − p)^(n2
    /// − n1 + 1)) / p]`. The values were computed from this formula by an independent script.
    #[test]
    fn the_effective_probability_is_about_half_with_jumps_above_a_tenth() {
        let expected = [
            (0.02, 0.01087),
            (0.1, 0.05556),
            (0.2832, 0.15312),
            (0.2835, 0.18093),
            (0.424, 0.22944),
            (0.426, 0.29874),
            (0.7, 0.41176),
            (0.849, 0.45917),
        ];
        for (probability, expected) in expected {
            let found = effective(Derandomise::Reached, probability, 40_000);
            // With 40 000 drops, the mean distance is accurate to half a percent.
            assert!(
                (found / expected - 1.0).abs() < 0.015,
                "{probability}: {found} is not {expected}"
            );
        }
    }

    #[test]
    fn no_effective_probability_between_046_and_085_is_possible() {
        let found = effective(Derandomise::Reached, 0.85, 40_000);
        assert!((found - 0.85).abs() < 0.01, "{found}");
        assert!(effective(Derandomise::Reached, 0.8499, 40_000) < 0.47);
    }

    #[test]
    fn without_derandomisation_each_decision_is_independent() {
        let found = effective(Derandomise::Off, 0.1, 40_000);
        assert!((found - 0.1).abs() < 0.002, "{found}");
    }

    #[test]
    fn invalid_bounds_are_refused() {
        assert_eq!(check_bounds(0.85, 8.5), Ok(()));
        assert_eq!(check_bounds(0.85, 0.85), Ok(()));
        for (low, high) in [(0.0, 1.0), (1.1, 2.0), (0.85, 0.5), (0.85, f64::INFINITY)] {
            assert!(check_bounds(low, high).is_err(), "{low} and {high}");
        }
    }
}
