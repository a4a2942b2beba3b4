//! Student's t distribution, for confidence intervals of the mean of a few samples.
//!
//! Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), §26.7. Integer degrees
//! of freedom have a finite series (26.7.3 and 26.7.4). Many degrees use the expansion about the
//! normal quantile (26.7.5).
//!
//! Transcendental functions are those of `libm`, so that intervals have the same bits on every
//! platform.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, FRAC_2_SQRT_PI};

/// From this many degrees of freedom on, the expansion is used: its first neglected term is then
/// below 1e-12 of the quantile.
const MANY: u32 = 1000;

/// The quantile: the value below which a share `p` of the distribution with `degrees` of freedom
/// lies.
///
/// Accurate to 1e-9 of the quantile or better from `p` = 0.0001 to 0.9999.
pub fn quantile(p: f64, degrees: u32) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a share between 0 and 1");
    assert!(degrees > 0, "at least one degree of freedom");
    // The share between -t and t.
    let share = (2.0 * p - 1.0).abs();
    let t = if degrees < MANY {
        let angle = solve(share, |angle| central_share(angle, degrees));
        f64::from(degrees).sqrt() * libm::tan(angle)
    } else {
        expand(solve(share, central_share_of_normal), degrees)
    };
    t.copysign(p - 0.5)
}

/// The `x` at which a concave function, given with its slope, reaches `share`. Newton's steps start
/// at zero and approach it from below.
fn solve(share: f64, function: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut x = 0.0;
    loop {
        let (reached, slope) = function(x);
        let next = x + (share - reached) / slope;
        if next <= x {
            return x;
        }
        x = next;
    }
}

/// A&S 26.7.3 and 26.7.4: the share A(t|ν) between -t and t, and its slope, at the angle θ =
/// arctan(t / √ν).
fn central_share(angle: f64, degrees: u32) -> (f64, f64) {
    let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
    let is_odd = degrees % 2 == 1;
    // The powers of the cosine: 1, 3, 5, … for odd degrees, 0, 2, 4, … for even ones, up to ν - 2.
    let (mut power, mut term) = (u32::from(is_odd), if is_odd { cosine } else { 1.0 });
    let mut sum = 0.0;
    // Only the last term, which has the highest power, contributes to the slope: the slopes of the
    // terms before it cancel out.
    let mut slope = 1.0;
    while power + 2 <= degrees {
        sum += term;
        slope = term * f64::from(power + 1) * cosine;
        let ratio = f64::from(power + 1) / f64::from(power + 2);
        term *= ratio * cosine * cosine;
        power += 2;
    }
    if is_odd {
        (FRAC_2_PI * (angle + sine * sum), FRAC_2_PI * slope)
    } else {
        (sine * sum, slope)
    }
}

/// The share of the normal distribution between -x and x, and its slope.
fn central_share_of_normal(x: f64) -> (f64, f64) {
    let slope = FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * libm::exp(-x * x / 2.0);
    (libm::erf(x * FRAC_1_SQRT_2), slope)
}

/// A&S 26.7.5: the quantile for many degrees of freedom, from the normal one.
fn expand(x: f64, degrees: u32) -> f64 {
    let square = x * x;
    let terms = [
        (square + 1.0) / 4.0,
        ((5.0 * square + 16.0) * square + 3.0) / 96.0,
        (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0,
        ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
            / 92_160.0,
    ];
    let reciprocal = 1.0 / f64::from(degrees);
    let sum = (terms.iter().rev()).fold(0.0, |sum, term| (sum + term) * reciprocal);
    x * (1.0 + sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_near(found: f64, expected: f64, within: f64) {
        let off = (found / expected - 1.0).abs();
        assert!(off <= within, "{found} is {off:e} off {expected}");
    }

    #[test]
    fn quantiles_are_those_of_the_table() {
        // Abramowitz and Stegun, table 26.10; the tolerance is half a unit of its last digit.
        for (p, degrees, expected) in [
            (0.75, 1, 1.000),
            (0.975, 1, 12.706),
            (0.95, 4, 2.132),
            (0.975, 9, 2.262),
            (0.995, 30, 2.750),
            (0.9995, 120, 3.373),
        ] {
            let found = quantile(p, degrees);
            assert!((found - expected).abs() <= 0.0005, "{p} {degrees} {found}");
        }
        assert_near(quantile(0.975, 1_000_000), 1.959_966_356_9, 1e-9);
    }

    #[test]
    fn one_and_two_degrees_have_closed_forms() {
        for p in [0.500_01, 0.6, 0.9, 0.975, 0.9999] {
            let cauchy = libm::tan(std::f64::consts::PI * (p - 0.5));
            assert_near(quantile(p, 1), cauchy, 1e-11);
            let two = (2.0 * p - 1.0) * (0.5 / (p * (1.0 - p))).sqrt();
            assert_near(quantile(p, 2), two, 1e-11);
        }
    }

    #[test]
    fn series_and_expansion_agree_where_one_follows_the_other() {
        for p in [0.51, 0.75, 0.975, 0.9999] {
            let share = 2.0 * p - 1.0;
            for degrees in [MANY - 1, MANY] {
                let angle = solve(share, |angle| central_share(angle, degrees));
                let series = f64::from(degrees).sqrt() * libm::tan(angle);
                let expansion = expand(solve(share, central_share_of_normal), degrees);
                assert_near(expansion, series, 1e-11);
            }
        }
    }

    #[test]
    fn the_distribution_is_symmetric_about_zero() {
        for degrees in [1, 2, 7, 5000] {
            assert!(quantile(0.5, degrees).abs() < f64::MIN_POSITIVE);
            assert_near(quantile(0.025, degrees), -quantile(0.975, degrees), 1e-12);
        }
    }
}
