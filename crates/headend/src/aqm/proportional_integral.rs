//! The arithmetic of a proportional-integral controller of the delay, for PIE, DOCSIS-PIE and
//! `DualPI2`.
//!
//! At each update, a probability changes by `alpha` times the distance of the delay from its target
//! plus `beta` times the change of the delay since the last update (RFC 8033 §4.2). PIE divides
//! this step by a number that is larger for small probabilities, to keep steps in proportion to the
//! probability.

use crate::time::Duration;

/// The weights and the target of a controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gains {
    /// Weight of the distance from the target, per second and update.
    pub(crate) alpha: f64,
    /// Weight of the change of the delay, per second and update.
    pub(crate) beta: f64,
    /// The target of the delay.
    pub(crate) target: Duration,
}

impl Gains {
    /// The step of the probability, before any tuning.
    pub(crate) fn step(self, delay: Duration, before: Duration) -> f64 {
        // Units: the differences are in nanoseconds and exact; one division converts the sum to
        // seconds.
        let error =
            self.alpha * difference(delay, self.target) + self.beta * difference(delay, before);
        error / 1e9
    }

    /// Checks the weights.
    ///
    /// # Errors
    ///
    /// A sentence that says why no controller can have these weights.
    pub(crate) fn check(self) -> Result<(), String> {
        let is_weight = |value: f64| value.is_finite() && value >= 0.0;
        if !is_weight(self.alpha) || !is_weight(self.beta) {
            return Err("alpha and beta must not be negative".into());
        }
        Ok(())
    }
}

/// RFC 8033 §4.2, auto-tuning: the divisor of a step at this probability.
pub(crate) fn tuning(probability: f64) -> f64 {
    match probability {
        p if p < 1e-6 => 2048.0,
        p if p < 1e-5 => 512.0,
        p if p < 1e-4 => 128.0,
        p if p < 1e-3 => 32.0,
        p if p < 1e-2 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// RFC 8033 §5.5: no step is larger than 0.02 if the probability is a tenth or more.
pub(crate) fn capped(step: f64, probability: f64) -> f64 {
    if probability >= 0.1 {
        step.min(0.02)
    } else {
        step
    }
}

/// RFC 8033 §4.2: the factor of the probability at an update without congestion.
pub(crate) const DECAY: f64 = 0.98;

/// `a − b` in nanoseconds.
fn difference(a: Duration, b: Duration) -> f64 {
    a.as_nanos() as f64 - b.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_step_weighs_the_distance_from_the_target_and_the_change() {
        let gains = Gains {
            alpha: 0.125,
            beta: 1.25,
            target: ms(15),
        };
        // By hand: 0.125 × 10 ms + 1.25 × 5 ms = 7.5 ms.
        assert!((gains.step(ms(25), ms(20)) - 0.0075).abs() < 1e-15);
        assert!((gains.step(ms(15), ms(15))).abs() < 1e-15);
        assert!((gains.step(ms(5), ms(15)) + 0.01375).abs() < 1e-15);
    }

    #[test]
    fn each_row_of_the_tuning_begins_at_its_power_of_ten() {
        let rows = [0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0].map(tuning);
        let expected = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0, 1.0];
        assert_eq!(rows.map(f64::to_bits), expected.map(f64::to_bits));
    }

    #[test]
    fn only_steps_up_from_a_tenth_are_capped() {
        let found = [
            capped(0.5, 0.099),
            capped(0.5, 0.1),
            capped(0.01, 0.1),
            capped(-0.5, 0.1),
        ];
        assert_eq!(
            found.map(f64::to_bits),
            [0.5, 0.02, 0.01, -0.5].map(f64::to_bits)
        );
    }

    #[test]
    fn weights_that_are_negative_or_no_numbers_are_refused() {
        let check = |alpha, beta| {
            let target = ms(15);
            Gains {
                alpha,
                beta,
                target,
            }
            .check()
        };
        assert_eq!(check(0.0, 1.0), Ok(()));
        assert!(check(-0.1, 1.0).is_err());
        assert!(check(0.1, f64::NAN).is_err());
    }
}
