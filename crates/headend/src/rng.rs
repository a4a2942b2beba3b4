//! Seeded streams of random numbers, one for each component, named by the component's path in the
//! scenario.
//!
//! A stream depends only on the run's seed and on its own name. A change of one component (such as
//! the queue) therefore leaves the draws of every other component as they were, and comparisons
//! between runs are paired.

use std::fmt::{self, Write as _};

use rand_core::{Rng as _, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::math;
use crate::time::Duration;

/// The stream of random numbers of one component.
#[derive(Debug, Clone)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The stream with the name `path` (such as `link.cable.up.queue`) in the run with this seed.
    pub fn for_path(seed: u64, path: impl fmt::Display) -> Self {
        // FNV-1a hashes the name; SplitMix64 spreads seed and name over the generator's state.
        let mut name = Fnv1a::default();
        write!(name, "{path}").expect("a hash takes every name");
        let Fnv1a(name) = name;
        let low = splitmix(seed ^ splitmix(name));
        let high = splitmix(low ^ name);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&low.to_le_bytes());
        bytes[8..].copy_from_slice(&high.to_le_bytes());
        Self(Pcg64Mcg::from_seed(bytes))
    }

    /// A new stream, seeded by the next two draws of this one. Later draws from either stream do
    /// not change the other.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.0.next_u64().to_le_bytes());
        bytes[8..].copy_from_slice(&self.0.next_u64().to_le_bytes());
        Self(Pcg64Mcg::from_seed(bytes))
    }

    /// Uniform over 0 ≤ u < 1, with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform over the whole numbers 0..bound; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(1.0 - self.uniform())
    }

    /// Standard normal (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * math::ln(square) / square).sqrt();
            }
        }
    }

    /// Uniform over 0 ≤ d < span.
    pub fn span(&mut self, span: Duration) -> Duration {
        Duration::from_nanos(self.below(span.as_nanos()))
    }
}

/// The FNV-1a hash of the text that is written to it.
struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl fmt::Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = text.bytes().fold(self.0, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Ok(())
    }
}

/// Spreads a number over 64 bits: each bit of the number changes about half of them (the finaliser
/// of `SplitMix64`).
pub(crate) fn splitmix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_alone() {
        let draw = |seed, path| Rng::for_path(seed, path).uniform();
        assert_eq!(draw(1, "a").to_bits(), draw(1, "a").to_bits());
        assert_ne!(draw(1, "a").to_bits(), draw(2, "a").to_bits());
        assert_ne!(draw(1, "a").to_bits(), draw(1, "b").to_bits());
        let in_pieces = Rng::for_path(1, format_args!("flow.{}.{}", "a", 7)).uniform();
        assert_eq!(in_pieces.to_bits(), draw(1, "flow.a.7").to_bits());
    }

    #[test]
    fn a_fork_is_no_continuation_and_what_is_drawn_from_it_changes_nothing() {
        let mut parent = Rng::for_path(1, "a");
        let mut fork = parent.fork();
        let mut alone = parent.clone();
        let draws: Vec<u64> = (0..100).map(|_| fork.below(1 << 60)).collect();
        let parents: Vec<u64> = (0..100).map(|_| parent.below(1 << 60)).collect();
        assert!(draws.iter().zip(&parents).all(|(one, other)| one != other));
        assert!(parents.iter().all(|&draw| draw == alone.below(1 << 60)));
    }

    #[test]
    fn means_are_as_stated() {
        let mut rng = Rng::for_path(7, "means");
        let n = 100_000;
        let mut sums = [0.0; 3];
        for _ in 0..n {
            sums[0] += rng.uniform();
            sums[1] += rng.exponential(3.0);
            sums[2] += rng.normal();
        }
        let n = f64::from(n);
        assert!((sums[0] / n - 0.5).abs() < 0.005);
        assert!((sums[1] / n - 3.0).abs() < 0.05);
        assert!((sums[2] / n).abs() < 0.02);
    }
}
