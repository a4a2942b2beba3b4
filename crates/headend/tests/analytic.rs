//! Results that theory predicts: waiting times exactly, and TCP to within a segment or two of its
//! window.
//!
//! The comment of each test gives the reason for its tolerance. Where the run itself is random, it
//! is three standard errors of the run's own batch means.

mod from_text;
mod one_link;

use from_text::Tables;
use headend::queue::BacklogLimit;
use headend::time::{Duration, Instant};
use headend::trace::TraceEvent;
use headend::traffic::{ApplicationConfig, Direction};
use headend::units::Rate;
use one_link::{Listener, Setup};

const RATE: Rate = Rate(16_000_000);
const MEAN_SIZE: u64 = 2000;
/// Mean service time: 1 ms.
const SERVICE: f64 = 1e-3;

/// At load 0.9, a queue forgets its state within some 400 service times. A batch is fifty times as
/// long, so that batches are independent.
const BATCH: usize = 20_000;
const BATCHES: usize = 50;

/// The waiting times of packets, from arrival until transmission starts, as means of batches.
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
}

/// The mean of the batch means, and its standard error. The first batch contains the start of the
/// run and is left out.
fn mean_and_error(batches: &[f64]) -> (f64, f64) {
    let means = &batches[1..];
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let squares: f64 = means.iter().map(|m| (m - mean) * (m - mean)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// The mean waiting time, and its standard error, of Poisson arrivals at a load of `load` tenths,
/// behind a queue without limit.
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
    mean_and_error(&waits.means)
}

#[track_caller]
fn assert_wait(load: u64, sizes: &str, expected: f64) {
    let (mean, error) = wait_at(load, sizes);
    eprintln!(
        "waiting: {sizes}, load 0.{load}: {mean:.6} ± {error:.6} s, expected {expected:.6} s"
    );
    assert!(
        (mean - expected).abs() < 3.0 * error,
        "load 0.{load}: waited {mean:.6} s, theory says {expected:.6} s, standard error {error:.6} \
         s"
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

/// W = ρ S / (1 − ρ) for exponential service times. Sizes are whole bytes, at least 29: the load is
/// exact to 10⁻⁴.
#[test]
fn poisson_arrivals_of_exponential_packets_wait_as_in_m_m_1() {
    for load in [5, 8, 9] {
        let rho = load as f64 / 10.0;
        assert_wait(load, "exponential", rho * SERVICE / (1.0 - rho));
    }
}

/// The payload of a full segment: 1500 bytes without IPv4, TCP and timestamps.
const MSS: f64 = 1448.0;

/// The mean window, in segments, of one Reno flow over 100 ms and a path that loses each packet
/// with probability `p`; and its standard error.
///
/// By Little's law, the window is the goodput times the round-trip time. The round-trip time is as
/// the sender measures it: the delay of acknowledgements is part of it.
fn reno_window(p: f64, delayed_ack: &str) -> (f64, f64) {
    let text = format!(
        r#"
duration = "2100 s"
results.interval = "100 s"
[link.line.point_to_point]
up.rate = "1 Gbit/s"
up.queue = "none"
[tcp]
system = "rfc"
min_rto = "200 ms"
min_rto_of = "variation"

[flow.reno]
application = "bulk"
rtt = "100 ms"
path.loss = "{} %"
path.jitter = "0 s"
tcp.congestion = "reno"
tcp.delayed_ack = "{delayed_ack}"
"#,
        p * 100.0
    );
    let tables = Tables::run(&text, 1);
    let rtts = tables.floats("connection_series", "srtt_ns");
    let rtt = rtts.iter().sum::<f64>() / rtts.len() as f64 / 1e9;
    let goodput = tables.floats("flow_series", "goodput_bps");
    let directions = tables.texts("flow_series", "direction");
    let windows: Vec<f64> = (goodput.iter().zip(directions))
        .filter(|(_, direction)| *direction == "up")
        .map(|(goodput, _)| goodput / 8.0 * rtt / MSS)
        .collect();
    mean_and_error(&windows)
}

/// The square-root law. A window that grows by a segment each round trip, and is halved with
/// probability `p` for each packet, is on average `C/√p` segments.
///
/// Mathis et al. (1997) assume losses at equal distances: C = √(3/2) = 1.2247 (and C/√2 where
/// growth counts acknowledgements of two segments; ours counts bytes). With random losses the
/// window is larger. Between losses, the area under the window is exponential, so that the windows
/// at losses obey x² ← x²/4 + 2·Exp(1) in units of 1/√p. There E\[x\] = 1.5269, and over time C =
/// 2/E\[x\] = 1.3098 (Ott, Kemperman, Mathis 1996).
///
/// Tolerance, downwards: two segments. The law is continuous. A window of whole segments is half a
/// segment below the straight line, and leaves a quarter of a segment unused after a halving. A
/// loss costs a round trip of recovery without growth. One retransmission in 1/p is lost as well
/// and costs a timeout. A model of the window by rounds, with these effects and without packets, is
/// 1.2 to 1.6 segments below the law. Packets add the wait for three duplicates, and windows in
/// which a packet of the recovery's round trip is lost too.
#[test]
fn renos_throughput_follows_the_square_root_of_random_loss() {
    for delayed_ack in ["0 s", "40 ms"] {
        for p in [0.001, 0.003, 0.01_f64] {
            let (window, error) = reno_window(p, delayed_ack);
            let law = 1.3098 / p.sqrt();
            let mathis = 1.5_f64.sqrt() / p.sqrt();
            eprintln!(
                "square root: p {p}, delayed {delayed_ack}: {window:.2} ± {error:.2} segments, law \
                 {law:.2}, Mathis {mathis:.2}"
            );
            assert!(
                window < law + 3.0 * error && window > law - 2.0 - 3.0 * error,
                "p = {p}, delayed by {delayed_ack}: {window:.2} segments, the law says {law:.2}, \
                 standard error {error:.2}"
            );
        }
    }
}

/// The window of one CUBIC flow over a path with random loss, from one loss to the next, sampled
/// every `step`. Every segment is acknowledged at once, so that the path alone determines the
/// round-trip time.
fn cubic_epochs(rtt_ms: u64, loss: &str, step: &str, seconds: u64) -> Vec<Epoch> {
    let text = format!(
        r#"
duration = "{seconds} s"
results.interval = "{step}"
[link.line.point_to_point]
up.rate = "100 Gbit/s"
up.queue = "none"
[tcp]
system = "rfc"
min_rto = "200 ms"
min_rto_of = "variation"

[flow.cubic]
application = "bulk"
rtt = "{rtt_ms} ms"
path.loss = "{loss}"
path.jitter = "0 s"
tcp.congestion.cubic.fast_convergence = false
tcp.delayed_ack = "0 s"
"#
    );
    let tables = Tables::run(&text, 1);
    let times = tables.integers("connection_series", "time_ns");
    let windows = tables.integers("connection_series", "cwnd_bytes");
    let windows: Vec<f64> = windows.iter().map(|&bytes| bytes as f64 / MSS).collect();
    let mut losses: Vec<usize> = (1..windows.len())
        .filter(|&i| windows[i] < windows[i - 1])
        .collect();
    // The first loss ends slow start, in which the window grows much between two samples.
    losses.remove(0);
    losses.push(windows.len());
    let epochs = losses.windows(2).filter_map(|pair| {
        let (start, end) = (pair[0], pair[1]);
        let first = windows[start];
        // Recovery takes a round trip, in which the window does not change; then the stage begins.
        let start = (start..end).find(|&i| windows[i] > first)? - 1;
        Some(Epoch {
            lost_at: windows[pair[0] - 1],
            samples: (start..end)
                .map(|i| ((times[i] - times[start]) as f64 / 1e9, windows[i]))
                .collect(),
        })
    });
    // A window below 0.6 of the previous one is due to a timeout or to two losses at once.
    epochs
        .filter(|epoch| epoch.samples[0].1 > 0.6 * epoch.lost_at)
        .collect()
}

struct Epoch {
    /// The window before the loss, in segments.
    lost_at: f64,
    /// The seconds since the start of the stage, and the window.
    samples: Vec<(f64, f64)>,
}

/// α of RFC 9438 §4.3 for β = 0.7.
const ALPHA: f64 = 9.0 / 17.0;

impl Epoch {
    /// The greater of the two curves of RFC 9438: `C(t − K)³ + W_max`, and that of standard TCP,
    /// which starts from the same window.
    fn window(&self, t: f64, rtt: f64) -> f64 {
        let start = self.samples[0].1;
        let k = headend::math::cbrt((self.lost_at - start) / 0.4);
        let cubic = 0.4 * (t - k) * (t - k) * (t - k) + self.lost_at;
        let (rounds, slow) = (t / rtt, (self.lost_at - start) / ALPHA);
        let standard = start + ALPHA * rounds.min(slow) + (rounds - slow).max(0.0);
        cubic.max(standard)
    }
}

/// Tolerance, in time: RFC 9438 §4.4 moves the window during each round trip to the value of the
/// curve at its end. The window is thus never further from the curve than the curve moves in a
/// round trip. A sample is taken up to a tenth of a round trip late.
///
/// Tolerance, in size: 1 % of the window. The part of it that is sent, the data in flight at the
/// loss, and the growth since the last sample are whole segments, and `K` depends on their
/// difference.
#[test]
fn cubics_window_follows_its_curve_on_a_long_path() {
    let rtt = 0.1;
    let epochs = cubic_epochs(100, "0.002 %", "10 ms", 200);
    let mut worst: f64 = 0.0;
    let mut counted = 0;
    for epoch in &epochs {
        for &(t, window) in &epoch.samples {
            let [before, at, after] =
                [t - 1.1 * rtt, t, t + 1.1 * rtt].map(|t| epoch.window(t, rtt));
            worst = worst.max((window / at - 1.0).abs());
            counted += 1;
            assert!(
                window > before - 0.01 * window && window < after + 0.01 * window,
                "{t:.2} s after the loss at {:.1} segments: {window:.1}, the curve says {at:.1}",
                epoch.lost_at
            );
        }
    }
    eprintln!(
        "CUBIC's curve: {} stages, {counted} samples, worst {worst:.4}",
        epochs.len()
    );
    assert!(epochs.len() > 20 && counted > 10_000, "enough to see");
}

/// Tolerance: 3 %. Of a window of 40 segments and more, half a segment on average is not sent and
/// not acknowledged (at most 1.2 %). The rest is the rounding of a stage's ends to samples.
#[test]
fn cubics_window_follows_standard_tcp_on_a_short_path() {
    let rtt = 0.004;
    let epochs = cubic_epochs(4, "0.03 %", "1 ms", 60);
    // Segments and round trips, below the window of the loss and above it.
    let mut grown = [[0.0; 2]; 2];
    for epoch in epochs.iter().filter(|epoch| epoch.lost_at > 57.0) {
        // The window grows in bursts, once a round trip. A stage ends where the next burst would
        // be: it is measured from growth to growth.
        let grew: Vec<_> = (epoch.samples.windows(2))
            .filter(|pair| pair[1].1 > pair[0].1)
            .map(|pair| pair[1])
            .collect();
        for pair in grew.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if to.1 <= epoch.lost_at || from.1 > epoch.lost_at {
                let above = usize::from(from.1 > epoch.lost_at);
                grown[above][0] += to.1 - from.1;
                grown[above][1] += (to.0 - from.0) / rtt;
            }
        }
    }
    let [below, above] = grown.map(|[segments, rounds]| segments / rounds);
    eprintln!(
        "CUBIC as standard TCP: {} stages, {below:.4} and {above:.4} segments a round trip",
        epochs.len()
    );
    assert!(
        (below / ALPHA - 1.0).abs() < 0.03,
        "{below:.4} segments a round trip below the last window"
    );
    assert!((above - 1.0).abs() < 0.03, "{above:.4} above it");
}

/// The utilisation, the mean backlog as a share of the limit, and the limit in packets, of one flow
/// behind a drop-tail queue that holds `depth` bandwidth-delay products of `rtt`.
fn sawtooth(congestion: &str, rtt_ms: u64, depth: f64) -> (f64, f64, f64) {
    let bdp = 100e6 / 8.0 * rtt_ms as f64 / 1e3;
    let limit = (depth * bdp) as u64;
    let text = format!(
        r#"
duration = "160 s"
warmup = "10 s"
[link.line.point_to_point]
up.rate = "100 Mbit/s"
up.queue.drop_tail.limit = "{limit} B"
down.rate = "1 Gbit/s"
[tcp]
system = "rfc"
min_rto = "200 ms"
min_rto_of = "variation"

[flow.one]
application = "bulk"
rtt = "{rtt_ms} ms"
path.jitter = "0 s"
tcp.congestion = "{congestion}"
tcp.delayed_ack = "0 s"
"#
    );
    let tables = Tables::run(&text, 1);
    let backlog = tables.floats("queues", "backlog_mean_bytes")[0] / limit as f64;
    let utilisation = tables.floats("queues", "utilisation")[0];
    (utilisation, backlog, limit as f64 / 1500.0)
}

/// Reno's window runs from half of P + B to P + B, one segment a round trip, where the path holds P
/// and the queue B = b·P.
///
/// Up to P, a round trip takes as long as the transmission of P segments: (1 − b)P/2 of them carry
/// (1 − b)P/2 · (3 + b)P/4 segments in the time of (1 − b)P/2 · P. Above P, the link is full: ((1 +
/// b)² − 1)P²/2 segments. Together these are (3 + 6b + 3b²)/4 of 1 + b + b², so that the
/// utilisation is 1 − (1 − b)²/(4(1 + b + b²)).
///
/// Tolerance: two segments of P. Recovery is a round trip at the lowest window (half a segment of
/// the mean). The window is in whole segments and grows in steps (half a segment each).
#[test]
fn one_reno_flow_fills_the_link_as_far_as_the_buffer_holds_its_sawtooth() {
    let path = 100e6 / 8.0 * 0.02 / 1500.0;
    for b in [0.1, 0.25, 0.5, 0.75, 1.0] {
        let (utilisation, _, _) = sawtooth("reno", 20, b);
        let expected = 1.0 - (1.0 - b) * (1.0 - b) / (4.0 * (1.0 + b + b * b));
        eprintln!("utilisation: buffer {b}: {utilisation:.4}, expected {expected:.4}");
        assert!(
            (utilisation - expected).abs() < 2.0 / path,
            "buffer {b} BDP: {utilisation:.4}, expected {expected:.4}"
        );
    }
}

/// A queue that is never empty holds the window less what the path holds. A window that grows by
/// equal steps *a round trip* from βM to M has the mean (1 + β)/2·M over round trips (0.75 and 0.85
/// M, the figures usually quoted). But round trips are longer at larger windows. Over time, as a
/// queue is measured, the mean is ∫W²/∫W = (2/3)(1 − β³)/(1 − β²)·M: 7/9 M for Reno, and 0.8588 M
/// for CUBIC in its Reno-friendly region.
///
/// Tolerance: two segments of the limit, for the reasons above.
fn assert_occupancy(congestion: &str, rtt_ms: u64, beta: f64, depths: &[f64]) {
    let mean = 2.0 / 3.0 * (1.0 - beta * beta * beta) / (1.0 - beta * beta);
    for &depth in depths {
        let (utilisation, occupancy, limit) = sawtooth(congestion, rtt_ms, depth);
        let expected = mean * (1.0 + 1.0 / depth) - 1.0 / depth;
        eprintln!(
            "occupancy: {congestion}, buffer {depth}: {occupancy:.4}, expected {expected:.4}, \
             limit {limit:.0} segments"
        );
        assert!(
            (occupancy - expected).abs() < 2.0 / limit,
            "{congestion}, buffer {depth} BDP: {occupancy:.4} of it, expected {expected:.4}"
        );
        assert!(
            utilisation > 0.999,
            "the queue never runs dry: {utilisation:.4}"
        );
    }
}

#[test]
fn one_reno_flow_fills_seven_ninths_of_the_queue_and_path() {
    assert_occupancy("reno", 10, 0.5, &[1.25, 1.5, 2.0, 3.0]);
}

/// The round trip is 5 ms, and at most 15 ms with the queue: so short that CUBIC's own curve is
/// always below that of standard TCP.
#[test]
fn one_cubic_flow_in_its_friendly_region_fills_86_percent_of_the_queue_and_path() {
    assert_occupancy("cubic", 5, 0.7, &[1.0, 1.5, 2.0]);
}
