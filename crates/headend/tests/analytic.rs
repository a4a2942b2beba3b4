//! Results that theory knows exactly. Tolerances are statistical: three standard errors of the run's own batch means.

mod one_link;

use headend::qdisc::BacklogLimit;
use headend::time::{Duration, Instant};
use headend::trace::TraceEvent;
use headend::traffic::{ApplicationConfig, Direction};
use headend::units::Rate;
use one_link::{Listener, Setup};

const RATE: Rate = Rate(16_000_000);
const MEAN_SIZE: u64 = 2000;
/// Mean service time: 1 ms.
const SERVICE: f64 = 1e-3;

/// At load 0.9 a queue forgets its state within some 400 service times; a batch is fifty times that, so that batches are independent.
const BATCH: usize = 20_000;
const BATCHES: usize = 50;

/// Waiting times of packets, from arrival until transmission starts, as means of batches.
#[derive(Default)]
struct Waits {
    sum: f64,
    count: usize,
    means: Vec<f64>,
}

impl Waits {
    fn add(&mut self, wait: f64) {
        self.sum += wait;
        self.count += 1;
        if self.count == BATCH {
            self.means.push(self.sum / BATCH as f64);
            (self.sum, self.count) = (0.0, 0);
        }
    }

    /// Mean and its standard error. The first batch starts with an empty queue and is left out.
    fn mean_and_error(&self) -> (f64, f64) {
        let means = &self.means[1..];
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let squares: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
        (mean, (squares / (count - 1.0) / count).sqrt())
    }
}

/// Mean waiting time, and its standard error, of Poisson arrivals at `load` (a tenth each) behind a queue without limit.
fn wait_at(load: u64, sizes: &str) -> (f64, f64) {
    let gap = SERVICE / (load as f64 / 10.0);
    let seconds = gap * (BATCH * BATCHES) as f64 * 1.01;
    let setup = Setup {
        rate: RATE,
        limit: BacklogLimit::Unlimited,
        delay: Duration::ZERO,
        duration: Duration::from_secs_f64(seconds),
        seed: load,
    };
    let source: ApplicationConfig = toml::from_str(&format!(
        "[poisson]\nrate = \"{} bit/s\"\nsize = \"{MEAN_SIZE} B\"\nsizes = \"{sizes}\"",
        RATE.0 * load / 10
    ))
    .expect("a good source");
    let source = source.build(Direction::Up).expect("it can go up");
    let mut simulation = setup.simulate(vec![source], 1);
    let (listener, waits) = Listener::new(
        Waits::default(),
        |waits: &mut Waits, _: Instant, event: &TraceEvent| {
            if let TraceEvent::Dequeued { sojourn, .. } = event {
                waits.add(sojourn.as_secs_f64());
            }
        },
    );
    simulation.add_sink(Box::new(listener));
    simulation.run_until(simulation.end());
    let waits = waits.lock().expect("one run, one thread");
    assert!(waits.means.len() >= BATCHES, "the run was long enough");
    waits.mean_and_error()
}

#[track_caller]
fn assert_wait(load: u64, sizes: &str, expected: f64) {
    let (mean, error) = wait_at(load, sizes);
    assert!(
        (mean - expected).abs() < 3.0 * error,
        "load 0.{load}: waited {mean:.6} s, theory says {expected:.6} s, standard error {error:.6} s"
    );
    assert!(error < 0.03 * expected, "an error that would hide nothing");
}

/// Pollaczek–Khinchine: W = ρ S / (2 (1 − ρ)) for equal service times.
#[test]
fn poisson_arrivals_of_equal_packets_wait_as_in_m_d_1() {
    for load in [5, 8, 9] {
        let rho = load as f64 / 10.0;
        assert_wait(load, "equal", rho * SERVICE / (2.0 * (1.0 - rho)));
    }
}

/// W = ρ S / (1 − ρ) for exponential service times. Sizes are whole bytes of at least 29: the load is right to 10⁻⁴.
#[test]
fn poisson_arrivals_of_exponential_packets_wait_as_in_m_m_1() {
    for load in [5, 8, 9] {
        let rho = load as f64 / 10.0;
        assert_wait(load, "exponential", rho * SERVICE / (1.0 - rho));
    }
}
