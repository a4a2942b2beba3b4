//! How late frames are written and the loop wakes: histograms, stalls, and the verdict on a run.
//!
//! The lateness of a frame is the time at which it was written to its host less the time at which
//! it was due there. A stall is a wake of the loop that came later than it was asked for by more
//! than a bound, whether or not a frame was on its way.

use headend::metrics::histogram::Histogram;
use headend::metrics::table::{INTEGER, Table};
use headend::scenario::Bounds;
use headend::time::{Duration, Instant};
use serde::Serialize;

/// What is counted beside the histogram.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    stalls: u64,
    longest_stall: Duration,
    overruns: u64,
}

/// The lateness of a run so far.
#[derive(Debug)]
pub(crate) struct Lateness {
    bounds: Bounds,
    whole: (Histogram, Counts),
    interval: (Histogram, Counts),
    rows: Table,
}

/// Lateness as Python reads it: of an interval, or of the whole run.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    frames: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    mean_ns: u64,
    stalls: u64,
    longest_stall_ns: u64,
    pub(crate) overruns: u64,
    bound_p99_ns: u64,
    bound_stall_ns: u64,
    pub(crate) trustworthy: bool,
    pub(crate) why: Option<String>,
}

impl Lateness {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            whole: (Histogram::one_of(2), Counts::default()),
            interval: (Histogram::one_of(2), Counts::default()),
            rows: empty_rows(),
        }
    }

    /// The longest stall that a trustworthy run may have.
    pub(crate) fn stall_bound(&self) -> Duration {
        self.bounds.stall
    }

    /// A frame was written so much later than it was due.
    pub(crate) fn record_frame(&mut self, late: Duration) {
        self.whole.0.record(late);
        self.interval.0.record(late);
    }

    /// The loop woke so much later than it had asked for.
    pub(crate) fn record_wake(&mut self, late: Duration) {
        if late > self.bounds.stall {
            for counts in [&mut self.whole.1, &mut self.interval.1] {
                counts.stalls += 1;
                counts.longest_stall = counts.longest_stall.max(late);
            }
        }
    }

    /// Frames were lost between the programs and the line.
    pub(crate) fn record_overruns(&mut self, frames: u64) {
        self.whole.1.overruns += frames;
        self.interval.1.overruns += frames;
    }

    /// Ends an interval at `at`: a row of the table, and a summary.
    pub(crate) fn end_interval(&mut self, at: Instant) -> Summary {
        let summary = summarize(&self.interval, self.bounds);
        for (column, value) in [
            ("time_ns", at.as_nanos()),
            ("frames", summary.frames),
            ("p50_ns", summary.p50_ns),
            ("p99_ns", summary.p99_ns),
            ("max_ns", summary.max_ns),
            ("stalls", summary.stalls),
            ("longest_stall_ns", summary.longest_stall_ns),
            ("overruns", summary.overruns),
        ] {
            self.rows.integer(column, value);
        }
        self.interval.0.reset();
        self.interval.1 = Counts::default();
        summary
    }

    /// The rows of the intervals that ended since the last call.
    pub(crate) fn take_rows(&mut self) -> Table {
        std::mem::replace(&mut self.rows, empty_rows())
    }

    /// The whole run so far.
    pub(crate) fn summarize(&self) -> Summary {
        summarize(&self.whole, self.bounds)
    }
}

fn empty_rows() -> Table {
    Table::of(&[
        ("time_ns", INTEGER),
        ("frames", INTEGER),
        ("p50_ns", INTEGER),
        ("p99_ns", INTEGER),
        ("max_ns", INTEGER),
        ("stalls", INTEGER),
        ("longest_stall_ns", INTEGER),
        ("overruns", INTEGER),
    ])
}

fn summarize((frames, counts): &(Histogram, Counts), bounds: Bounds) -> Summary {
    // Without a frame, a statistic is NaN, which is zero as an integer.
    let [p50, p99] = [0.5, 0.99].map(|share| frames.quantile(share) as u64);
    let why = find_fault(Duration::from_nanos(p99), *counts, bounds);
    Summary {
        frames: frames.count(),
        p50_ns: p50,
        p99_ns: p99,
        max_ns: frames.max() as u64,
        mean_ns: frames.mean() as u64,
        stalls: counts.stalls,
        longest_stall_ns: counts.longest_stall.as_nanos(),
        overruns: counts.overruns,
        bound_p99_ns: bounds.lateness.as_nanos(),
        bound_stall_ns: bounds.stall.as_nanos(),
        trustworthy: why.is_none(),
        why,
    }
}

/// Why a run is not to be trusted, in a sentence; `None` if it is.
fn find_fault(p99: Duration, counts: Counts, bounds: Bounds) -> Option<String> {
    let mut faults = Vec::new();
    if p99 > bounds.lateness {
        faults.push(format!(
            "1 % of the frames were more than {} late (the bound is {})",
            milliseconds(p99),
            bounds.lateness
        ));
    }
    if counts.stalls > 0 {
        let times = match counts.stalls {
            1 => "once, for".to_owned(),
            stalls => format!("{stalls} times, for up to"),
        };
        faults.push(format!(
            "the emulator stalled {times} {} (the bound is {})",
            milliseconds(counts.longest_stall),
            bounds.stall
        ));
    }
    if counts.overruns > 0 {
        let frames = match counts.overruns {
            1 => "1 frame was".to_owned(),
            frames => format!("{frames} frames were"),
        };
        faults.push(format!("{frames} lost between the programs and the line"));
    }
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn milliseconds(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    let decimals = match milliseconds {
        ..1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{milliseconds:.decimals$} ms")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds {
            lateness: Duration::from_millis(1),
            stall: Duration::from_millis(10),
        }
    }

    #[test]
    fn statistics_are_of_the_frames_recorded() {
        let mut lateness = Lateness::new(bounds());
        (1..=100).for_each(|millis| lateness.record_frame(Duration::from_millis(millis)));
        let whole = lateness.summarize();
        for (found, exact) in [(whole.p50_ns, 50), (whole.p99_ns, 99)] {
            assert!(found.abs_diff(exact * 1_000_000) <= exact * 1000, "{found}");
        }
        assert_eq!([whole.max_ns, whole.mean_ns], [100_000_000, 50_500_000]);
        lateness.end_interval(Instant::from_nanos(100));
        let empty = lateness.end_interval(Instant::from_nanos(200));
        assert_eq!([empty.p99_ns, empty.max_ns, empty.mean_ns], [0; 3]);
    }

    #[test]
    fn a_punctual_run_is_trustworthy() {
        let mut lateness = Lateness::new(bounds());
        lateness.record_frame(Duration::from_micros(80));
        lateness.record_wake(Duration::from_millis(10));
        let summary = lateness.summarize();
        assert!(summary.trustworthy);
        assert_eq!(summary.why, None);
        assert_eq!((summary.frames, summary.stalls), (1, 0));
    }

    #[test]
    fn a_late_run_says_by_how_much() {
        let mut lateness = Lateness::new(bounds());
        for _ in 0..97 {
            lateness.record_frame(Duration::from_micros(80));
        }
        for _ in 0..3 {
            lateness.record_frame(Duration::from_micros(2400));
        }
        let why = lateness.summarize().why.expect("a fault");
        assert_eq!(
            why,
            "1 % of the frames were more than 2.40 ms late (the bound is 1 ms)"
        );
    }

    #[test]
    fn a_stall_and_lost_frames_are_faults_even_without_a_frame() {
        let mut lateness = Lateness::new(bounds());
        lateness.record_wake(Duration::from_millis(104));
        lateness.record_overruns(12);
        let why = lateness.summarize().why.expect("a fault");
        assert_eq!(
            why,
            "the emulator stalled once, for 104 ms (the bound is 10 ms); 12 frames were lost \
             between the programs and the line"
        );
    }

    #[test]
    fn an_interval_has_a_row_and_starts_anew() {
        let mut lateness = Lateness::new(bounds());
        lateness.record_frame(Duration::from_micros(5));
        lateness.record_wake(Duration::from_millis(20));
        assert_eq!(lateness.end_interval(Instant::from_nanos(100)).stalls, 1);
        assert_eq!(lateness.end_interval(Instant::from_nanos(200)).frames, 0);
        let rows = lateness.take_rows();
        assert_eq!(rows.columns.len(), 8);
        assert_eq!(rows.columns[0].0, "time_ns");
        assert_eq!(
            rows.columns[1].1,
            headend::metrics::table::Column::Integer(vec![1, 0])
        );
        assert_eq!(lateness.summarize().frames, 1);
    }
}
