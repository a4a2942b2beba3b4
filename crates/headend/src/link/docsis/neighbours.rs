//! Other customers of an upstream, as a load: they take minislots, and their requests collide with
//! those of the modems. They have no packets and no events.
//!
//! The load is log-normal: mean × exp(σz − σ²/2) with σ² = ln(1 + b²), where b is its burstiness. z
//! is a stationary Gaussian process of standard deviation 1, with correlation exp(−t/correlation).
//!
//! Some MAPs are not made. From one MAP that is made to the next, z advances exactly, whatever the
//! distance: z' = ρz + √(1 − ρ²)·n with ρ = exp(−Δt/correlation).
//!
//! The load is cut off at the whole channel. The mean before the cut is larger, so that the mean
//! after the cut is the configured one.
//!
//! The requests of the neighbours are a Poisson process, with a rate proportional to the current
//! load.

use super::setup::Neighbours;
use super::timing::UpstreamTiming;
use crate::math;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// The load of the neighbours over time.
#[derive(Debug)]
pub struct NeighbourLoad {
    config: Neighbours,
    /// σ of the logarithm of the load.
    sigma: f64,
    /// z, and the MAP for which it was computed.
    level: f64,
    map: Option<u64>,
    /// The log-normal factor of mean 1 in that MAP.
    burst: f64,
    /// Factor of the mean load at this time of day, and the mean share before the cut that belongs
    /// to it.
    scale: f64,
    uncut: f64,
    /// Mean number of their requests in one opportunity, at the mean load.
    requests: f64,
    rng: Rng,
}

impl NeighbourLoad {
    /// Neighbours on an upstream.
    pub fn new(config: Neighbours, timing: &UpstreamTiming) -> Self {
        let spread = config.burstiness * config.burstiness;
        let length = timing.map_interval() * timing.longest_map;
        let opportunities = timing.opportunities as f64 / length.as_secs_f64();
        let sigma = math::ln(1.0 + spread).sqrt();
        Self {
            sigma,
            level: 0.0,
            map: None,
            burst: 1.0,
            scale: 1.0,
            uncut: mean_before_cut(config.load, sigma),
            requests: config.requests_per_second / opportunities,
            rng: config.rng.clone(),
            config,
        }
    }

    /// Minislots that they take of MAP `map`. The calls must be in the order of MAPs and may skip
    /// some.
    pub fn minislots(&mut self, map: u64, timing: &UpstreamTiming) -> u64 {
        self.advance(map, timing);
        let share = (self.uncut * self.burst).min(1.0);
        (share * timing.minislots_per_map() as f64 + 0.5) as u64
    }

    /// Draws whether one of them sends in an opportunity of the latest MAP.
    pub fn is_requesting(&mut self) -> bool {
        let nobody = math::exp(-self.requests * (self.burst * self.scale));
        self.rng.uniform() >= nobody
    }

    fn advance(&mut self, map: u64, timing: &UpstreamTiming) {
        let kept = match self.map {
            Some(last) => self.kept(timing.map_interval() * (map - last)),
            None => 0.0,
        };
        if self.map != Some(map) {
            self.level = kept * self.level + (1.0 - kept * kept).sqrt() * self.rng.normal();
        }
        self.map = Some(map);
        self.burst = math::exp(self.sigma * self.level - self.sigma * self.sigma / 2.0);
        let scale = self.time_of_day(timing.allocation_start(map));
        if scale.to_bits() != self.scale.to_bits() {
            self.scale = scale;
            self.uncut = mean_before_cut(self.config.load * scale, self.sigma);
        }
    }

    /// Correlation of the level over a time `span`.
    fn kept(&self, span: Duration) -> f64 {
        if self.config.correlation.is_zero() {
            return 0.0;
        }
        math::exp(-span.as_secs_f64() / self.config.correlation.as_secs_f64())
    }

    fn time_of_day(&self, at: Instant) -> f64 {
        let elapsed = at - Instant::ZERO;
        let steps = &self.config.time_of_day;
        let past = steps.partition_point(|(start, _)| *start <= elapsed);
        past.checked_sub(1).map_or(1.0, |step| steps[step].1)
    }
}

/// The mean m of a log-normal share X before the cut, so that the mean after the cut is `share`.
/// The cut at the whole channel gives E[min(X, 1)] = m·Φ(−d − σ) + 1 − Φ(−d), where d = (ln m −
/// σ²/2)/σ. The result is infinite if `share` is the whole channel.
fn mean_before_cut(share: f64, sigma: f64) -> f64 {
    if share >= 1.0 {
        return f64::INFINITY;
    }
    if share <= 0.0 || sigma <= 0.0 {
        return share;
    }
    let after_cut = |mean: f64| {
        let below = sigma / 2.0 - math::ln(mean) / sigma;
        mean * math::normal_cdf(below - sigma) + 1.0 - math::normal_cdf(below)
    };
    let (mut low, mut high) = (share, 2.0 * share);
    while after_cut(high) < share && high < f64::MAX / 2.0 {
        (low, high) = (high, 2.0 * high);
    }
    // Bisection down to the precision of the type.
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = f64::midpoint(low, high);
        if after_cut(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::super::preset::Plant;
    use super::*;

    fn neighbours(load: f64, burstiness: f64) -> NeighbourLoad {
        let config = Neighbours {
            load,
            burstiness,
            correlation: Duration::from_millis(100),
            time_of_day: Vec::new(),
            requests_per_second: 1000.0,
            rng: Rng::for_path(1, "neighbours"),
        };
        NeighbourLoad::new(config, &Plant::docsis31().upstream_timing())
    }

    /// Mean and standard deviation of the share taken, and its correlation from one sample to the
    /// next. One sample is taken every `step` MAPs.
    fn moments(load: &mut NeighbourLoad, step: u64) -> [f64; 3] {
        let timing = Plant::docsis31().upstream_timing();
        let all = timing.minislots_per_map() as f64;
        let count = 200_000;
        let shares: Vec<f64> = (0..count)
            .map(|look| load.minislots(look * step, &timing) as f64 / all)
            .collect();
        let mean = shares.iter().sum::<f64>() / count as f64;
        let product = |lag: usize| {
            let pairs = shares.iter().zip(&shares[lag..]);
            let sum: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
            sum / (count as f64 - lag as f64)
        };
        [mean, product(0).sqrt(), product(1) / product(0)]
    }

    #[test]
    fn mean_spread_and_memory_are_as_configured_however_many_maps_are_left_out() {
        for step in [1, 20] {
            let [mean, deviation, memory] = moments(&mut neighbours(0.2, 0.5), step);
            assert!((mean - 0.2).abs() < 0.005, "{mean}");
            assert!((deviation - 0.1).abs() < 0.005, "{deviation}");
            // Correlation of a log-normal from that of its logarithm: (exp(σ²ρ) − 1)/(exp(σ²) − 1).
            let rho = math::exp(-0.002_025 * step as f64 / 0.1);
            let expected = (math::exp(math::ln(1.25) * rho) - 1.0) / 0.25;
            assert!((memory - expected).abs() < 0.02, "{memory} {expected}");
        }
    }

    /// The cut shortens the bursts, and the mean stays as configured.
    #[test]
    fn the_mean_is_what_is_left_after_the_cut() {
        for (load, burstiness) in [(0.5, 0.5), (0.9, 0.5), (0.7, 2.0), (0.95, 1.0)] {
            let [mean, ..] = moments(&mut neighbours(load, burstiness), 100);
            assert!(
                (mean - load).abs() < 0.01,
                "{load} with {burstiness}: {mean}"
            );
        }
        let timing = Plant::docsis31().upstream_timing();
        assert_eq!(
            neighbours(1.0, 0.5).minislots(0, &timing),
            timing.minislots_per_map()
        );
    }

    #[test]
    fn a_load_without_burstiness_takes_the_same_from_every_map() {
        let timing = Plant::docsis31().upstream_timing();
        let mut load = neighbours(0.25, 0.0);
        let taken: Vec<u64> = (0..50).map(|map| load.minislots(map, &timing)).collect();
        assert!(taken.iter().all(|&minislots| minislots == taken[0]));
        assert_eq!(taken[0], (timing.minislots_per_map() + 2) / 4);
    }

    #[test]
    fn a_load_above_the_channel_is_cut_off_at_the_channel() {
        let timing = Plant::docsis31().upstream_timing();
        let mut load = neighbours(0.9, 2.0);
        let taken = (0..5000).map(|map| load.minislots(map, &timing)).max();
        assert_eq!(taken, Some(timing.minislots_per_map()));
    }

    #[test]
    fn the_time_of_day_scales_the_load_from_each_step_on() {
        let timing = Plant::docsis31().upstream_timing();
        let mut load = neighbours(0.2, 0.0);
        load.config.time_of_day =
            vec![(Duration::from_secs(1), 0.5), (Duration::from_secs(2), 2.0)];
        let all = timing.minislots_per_map() as f64;
        let mut share = |second: u64| {
            let map = second * 1_000_000_000 / timing.map_interval().as_nanos() + 10;
            (load.minislots(map, &timing) as f64 / all * 100.0).round() as u64
        };
        assert_eq!([share(0), share(1), share(2)], [20, 10, 40]);
    }

    #[test]
    fn an_opportunity_is_taken_with_the_probability_of_a_poisson_stream() {
        let timing = Plant::docsis31().upstream_timing();
        let mut load = neighbours(0.2, 0.0);
        load.minislots(0, &timing);
        let trials = 200_000;
        let taken = (0..trials).filter(|_| load.is_requesting()).count();
        // 1000 requests per second, and an opportunity every 135 µs.
        let expected = 1.0 - math::exp(-0.135);
        assert!((taken as f64 / f64::from(trials) - expected).abs() < 0.003);
    }
}
