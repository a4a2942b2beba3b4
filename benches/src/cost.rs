//! The cost of a run on a machine with other work: measured in slices, each the best of several
//! rounds.
//!
//! A run does the same work every time, second by second, and other work on the machine only adds
//! time. The simulated time is therefore cut into slices, the run is repeated, and the least time
//! of each slice is summed. Runs that are compared are measured in turns, so that a slow period of
//! the machine affects all of them.

use headend::simulation::Simulation;
use headend::time::Instant;

/// The number of slices of a run.
pub const SLICES: u64 = 12;

/// The cost of a run, and its work.
pub struct Cost {
    /// The CPU time by slice, in nanoseconds.
    slices: Vec<u64>,
    simulated_seconds: f64,
    /// The number of events.
    pub events: u64,
    /// The number of data packets delivered.
    pub packets: u64,
}

/// One row of a table: what was measured, and its cost.
pub struct Row<W> {
    /// What was measured, and its further results.
    pub of: W,
    /// The cost.
    pub cost: Cost,
}

impl Cost {
    /// Runs `simulation` to its end.
    pub fn of(simulation: &mut Simulation) -> Self {
        Self::of_each(simulation, |_| ())
    }

    /// The same, with a call of `done` after each slice with the number of slices so far.
    pub fn of_each(simulation: &mut Simulation, mut done: impl FnMut(u64)) -> Self {
        let end = simulation.end();
        let slice = |number: u64| {
            let until = u128::from(end.as_nanos()) * u128::from(number) / u128::from(SLICES);
            let start = cpu_ns();
            simulation.run_until(Instant::from_nanos(until as u64));
            let spent = cpu_ns() - start;
            done(number);
            spent
        };
        Self {
            slices: (1..=SLICES).map(slice).collect(),
            simulated_seconds: end.as_secs_f64(),
            events: simulation.events(),
            packets: simulation.data_packets_delivered(),
        }
    }

    /// The CPU time of a delivered data packet, in nanoseconds.
    pub fn ns_per_packet(&self) -> f64 {
        self.ns() / self.packets as f64
    }

    /// The events of a delivered data packet.
    pub fn events_per_packet(&self) -> f64 {
        self.events as f64 / self.packets as f64
    }

    /// The events per second of CPU time.
    pub fn events_per_second(&self) -> f64 {
        self.events as f64 / self.ns() * 1e9
    }

    /// The simulated time divided by the CPU time.
    pub fn simulated_per_wall(&self) -> f64 {
        self.simulated_seconds / self.ns() * 1e9
    }

    /// The total CPU time, in nanoseconds.
    fn ns(&self) -> f64 {
        self.slices.iter().sum::<u64>() as f64
    }

    /// Keeps the better of two runs, slice by slice.
    fn improve(&mut self, again: &Self) {
        for (best, spent) in self.slices.iter_mut().zip(&again.slices) {
            *best = (*best).min(*spent);
        }
    }
}

/// Measures each of `all` once a round, in turns, and keeps the least cost of each.
pub fn in_rounds<T: Copy, W>(
    rounds: usize,
    all: &[T],
    measure: impl Fn(T) -> Row<W>,
) -> Vec<Row<W>> {
    let mut best: Vec<_> = all.iter().map(|&one| measure(one)).collect();
    for _ in 1..rounds {
        for (&one, best) in all.iter().zip(&mut best) {
            best.cost.improve(&measure(one).cost);
        }
    }
    best
}

/// The CPU time of this process, in nanoseconds.
pub fn cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
