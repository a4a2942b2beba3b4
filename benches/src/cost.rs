//! What a run costs on a machine that others use too: measured in slices, each the best of several rounds.
//!
//! A run is the same work every time, second by second, and other work on the machine only ever adds to what it takes. So the simulated time is cut
//! into slices, the run repeated, and the least of each slice added up. What is compared is measured in turns, so that a slow spell of the machine
//! meets all of it.

use headend::simulation::Simulation;
use headend::time::Instant;

/// Slices of a run.
pub const SLICES: u64 = 12;

/// CPU time of a run, by slice, nanoseconds.
#[derive(Clone)]
pub struct Cost(Vec<u64>);

impl Cost {
    /// Runs `simulation` to its end.
    pub fn of(simulation: &mut Simulation) -> Self {
        Self::of_each(simulation, |_| ())
    }

    /// The same, telling how many slices are done after each.
    pub fn of_each(simulation: &mut Simulation, mut done: impl FnMut(u64)) -> Self {
        let end = simulation.end().as_nanos();
        let slice = |number: u64| {
            let until = Instant::from_nanos(
                (u128::from(end) * u128::from(number) / u128::from(SLICES)) as u64,
            );
            let start = cpu_ns();
            simulation.run_until(until);
            let spent = cpu_ns() - start;
            done(number);
            spent
        };
        Self((1..=SLICES).map(slice).collect())
    }

    /// CPU time in all, nanoseconds.
    pub fn ns(&self) -> f64 {
        self.0.iter().sum::<u64>() as f64
    }

    /// The same in seconds.
    pub fn seconds(&self) -> f64 {
        self.ns() * 1e-9
    }

    /// The better of two runs, slice by slice.
    fn better(&self, other: &Self) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(a, b)| *a.min(b))
                .collect(),
        )
    }
}

/// Something measured whose cost may turn out less when measured again.
pub trait Measured {
    /// Its cost.
    fn cost(&mut self) -> &mut Cost;
}

/// Measures each of `all` once a round, in turns, and keeps the least of its costs.
pub fn in_rounds<T: Copy, M: Measured>(
    rounds: usize,
    all: &[T],
    measure: impl Fn(T) -> M,
) -> Vec<M> {
    let mut best: Vec<M> = all.iter().map(|&one| measure(one)).collect();
    for _ in 1..rounds {
        for (&one, best) in all.iter().zip(&mut best) {
            let cost = best.cost().better(measure(one).cost());
            *best.cost() = cost;
        }
    }
    best
}

/// CPU time of this process, nanoseconds.
pub fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
