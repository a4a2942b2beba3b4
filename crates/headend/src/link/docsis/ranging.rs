//! Initial ranging: when modems that are switched on during the run become registered.
//!
//! A new modem contends for initial-maintenance opportunities, one per ranging interval. It uses
//! the same backoff as requests, with windows of its own. It detects a collision when no answer
//! arrives within T3 (200 ms).
//!
//! Nothing else on the line affects ranging. The times are therefore computed before the run,
//! without events.
//!
//! Adjustment of power and timing, DHCP and the configuration file are not modelled. A modem is
//! registered once its ranging request was received and answered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::contention::Backoff;
use super::setup::Contention;
use crate::rng::Rng;
use crate::time::{Duration, Instant};

/// T3: time that a modem waits for the answer to its ranging request (MULPI Annex B).
pub const T3: Duration = Duration::from_millis(200);

/// A modem that is switched on.
#[derive(Debug)]
pub struct Newcomer<'a> {
    /// The time at which it is switched on.
    pub online_at: Instant,
    /// Its random stream.
    pub rng: &'a mut Rng,
}

/// The time at which each newcomer is registered. `answer` is the time from a ranging opportunity
/// to the arrival of the answer at the modem.
pub fn registered_at(
    newcomers: &mut [Newcomer<'_>],
    contention: &Contention,
    answer: Duration,
) -> Vec<Instant> {
    let interval = contention.ranging_interval.as_nanos().max(1);
    let first = |at: Instant| at.as_nanos().div_ceil(interval);
    let mut backoffs =
        vec![Backoff::new(contention.ranging_start, contention.ranging_end); newcomers.len()];
    let mut registered = vec![Instant::FAR_FUTURE; newcomers.len()];
    let mut tries = BinaryHeap::with_capacity(newcomers.len());
    for (index, newcomer) in newcomers.iter_mut().enumerate() {
        let passed = backoffs[index].draw(newcomer.rng);
        tries.push(Reverse((first(newcomer.online_at) + passed, index)));
    }
    while let Some(Reverse((opportunity, index))) = tries.pop() {
        let at = Instant::from_nanos(opportunity.saturating_mul(interval));
        if at == Instant::FAR_FUTURE {
            break;
        }
        let mut collided = vec![index];
        while let Some(&Reverse((same, other))) = tries.peek()
            && same == opportunity
        {
            tries.pop();
            collided.push(other);
        }
        if collided.len() == 1 {
            registered[index] = at + answer;
            continue;
        }
        for index in collided {
            let backoff = &mut backoffs[index];
            backoff.collided();
            if backoff.collisions() >= contention.retries {
                // After too many tries, the modem starts again.
                backoff.reset();
            }
            let passed = backoff.draw(newcomers[index].rng);
            tries.push(Reverse((first(at + T3) + passed, index)));
        }
    }
    registered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(online: &[u64], seed: u64) -> Vec<Instant> {
        let mut rngs: Vec<Rng> = (0..online.len())
            .map(|modem| Rng::for_path(seed, format_args!("modem {modem}")))
            .collect();
        let mut newcomers: Vec<Newcomer<'_>> = (online.iter().zip(&mut rngs))
            .map(|(&millis, rng)| Newcomer {
                online_at: Instant::from_nanos(millis * 1_000_000),
                rng,
            })
            .collect();
        let answer = Duration::from_millis(3);
        registered_at(&mut newcomers, &Contention::default(), answer)
    }

    #[test]
    fn a_lone_modem_is_registered_within_its_first_window() {
        for seed in 0..50 {
            let at = register(&[1500], seed)[0].as_nanos() / 1_000_000;
            // Opportunities at 1.6, 2.0, 2.4 and 2.8 s, with the answer 3 ms later.
            assert!([1603, 2003, 2403, 2803].contains(&at), "{at}");
        }
    }

    #[test]
    fn after_a_power_cut_all_are_registered_in_the_end_and_no_two_at_once() {
        let mut at = register(&[0; 40], 1);
        at.sort_unstable();
        assert!(at.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(at[39] < Instant::FAR_FUTURE);
        // 40 modems need 40 opportunities without a collision.
        assert!(
            at[39] >= Instant::from_nanos(39 * 400_000_000),
            "{}",
            at[39]
        );
    }

    #[test]
    fn modems_that_come_up_far_apart_do_not_meet() {
        let at = register(&[0, 100_000], 3);
        assert!(at[0] < Instant::from_nanos(4_000_000_000));
        assert!(at[1] > Instant::from_nanos(100_000_000_000));
    }
}
