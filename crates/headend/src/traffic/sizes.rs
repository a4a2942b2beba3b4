//! Log-normal random sizes, of a page's resources, of files and of video segments.

use crate::math;
use crate::rng::Rng;

/// Draws a log-normal number with mean 1; `sigma` is the standard deviation of its logarithm. It
/// draws a random number even if `sigma` is 0.
pub(super) fn log_normal(sigma: f64, rng: &mut Rng) -> f64 {
    math::exp(sigma * (rng.normal() - 0.5 * sigma))
}

/// Draws `count` log-normal sizes that come to exactly `total`, each at least 1 B.
pub(super) fn share_out(sizes: &mut Vec<u64>, count: usize, total: u64, sigma: f64, rng: &mut Rng) {
    // Weights in fixed point: 2^32 is the median. The largest possible weight is 2^32 times the
    // median.
    sizes.clear();
    sizes.extend((0..count).map(|_| (math::exp(sigma * rng.normal()) * 4_294_967_296.0) as u64));
    let weights: u128 = sizes.iter().map(|&weight| u128::from(weight)).sum();
    if weights == 0 {
        return;
    }
    // Each size gets one byte. The rest is distributed by weight, rounded so that the sum is exact.
    let rest = u128::from(total - count as u64);
    let (mut weight_so_far, mut dealt) = (0, 0);
    for size in sizes {
        weight_so_far += u128::from(*size);
        let share = rest * weight_so_far / weights;
        *size = 1 + (share - dealt) as u64;
        dealt = share;
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    /// Mean and variance of the logarithms.
    fn moments(sizes: impl Iterator<Item = f64>) -> (f64, f64) {
        let logs: Vec<f64> = sizes.map(math::ln).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares = logs.iter().map(|log| (log - mean) * (log - mean));
        (mean, squares.sum::<f64>() / count)
    }

    #[test]
    fn shares_are_log_normal() {
        let mut sizes = Vec::new();
        let mut rng = Rng::for_path(3, "sizes");
        share_out(&mut sizes, 40_000, 40_000 * 69_307, 1.0, &mut rng);
        let (mean, variance) = moments(sizes.iter().map(|&size| size as f64));
        // μ = ln 69307 − ½. Standard errors: 1/√40000 and √(2/40000); that of the mean by which the
        // sizes were scaled is 1.31/√40000.
        assert!((mean - 10.646).abs() < 0.03, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn a_log_normal_number_has_mean_one_and_the_configured_spread() {
        for sigma in [0.0, 0.5, 1.0] {
            let mut rng = Rng::for_path(4, "sizes");
            let draws: Vec<f64> = (0..40_000).map(|_| log_normal(sigma, &mut rng)).collect();
            let (mean, variance) = moments(draws.iter().copied());
            // Standard errors: σ/200, and σ²·√2/200; that of the arithmetic mean is √(e^σ² −
            // 1)/200.
            let error = 4.0 * sigma / 200.0 + 1e-12;
            assert!((mean + sigma * sigma / 2.0).abs() < error, "{mean}");
            let error = 4.0 * sigma * sigma * 1.415 / 200.0 + 1e-12;
            assert!((variance - sigma * sigma).abs() < error, "{variance}");
            let error = 4.0 * (math::exp(sigma * sigma) - 1.0).sqrt() / 200.0 + 1e-12;
            let plain = draws.iter().sum::<f64>() / 4e4;
            assert!((plain - 1.0).abs() < error, "{plain}");
        }
    }

    proptest! {
        #[test]
        fn shares_come_to_the_total_and_none_is_empty(
            count in 1_usize..300,
            spare in 0_u64..100_000_000,
            sigma in 0.0_f64..5.0,
            seed: u64,
        ) {
            let mut sizes = Vec::new();
            let total = count as u64 + spare;
            share_out(&mut sizes, count, total, sigma, &mut Rng::for_path(seed, "sizes"));
            prop_assert_eq!(sizes.len(), count);
            prop_assert_eq!(sizes.iter().sum::<u64>(), total);
            prop_assert!(sizes.iter().all(|&size| size > 0));
        }
    }

    #[test]
    fn equal_shares_differ_by_rounding_alone() {
        let mut sizes = Vec::new();
        share_out(&mut sizes, 7, 1000, 0.0, &mut Rng::for_path(1, "sizes"));
        assert!(sizes.iter().all(|&size| size == 142 || size == 143));
        assert_eq!(sizes.iter().sum::<u64>(), 1000);
    }
}
