//! One model, two clocks: recorded frames in virtual time, and under a real clock that wakes up
//! late, have the same fate, frame by frame.
//!
//! Besides the frames, the transfer of a simulated neighbour uses the same queue, so that the fate
//! of every frame depends on the others.

mod from_text;

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use from_text::{Tables, scenario};
use headend::clock::{Arrival, Clock, VirtualClock};
use headend::event::AppId;
use headend::flow::FlowId;
use headend::metrics::table::Table;
use headend::packet::{Ecn, FrameId, Side};
use headend::rng::Rng;
use headend::simulation::Simulation;
use headend::time::{Duration, Instant};
use headend::trace::{DropReason, FrameStore};

/// The real hosts' flow uses the routes of the group `frames`. The group's own application does
/// nothing before the end.
const OVER_CODEL: &str = r#"
duration = "20 s"

[link.line.point_to_point]
up.rate = "5 Mbit/s"
up.queue = "codel"
down.rate = "50 Mbit/s"

[flow.frames]
application.cbr.rate = "8 kbit/s"
start = "19999 ms"

[flow.upload]
application = "bulk"
"#;

const OVER_CABLE: &str = r#"
duration = "20 s"

[link.cable.docsis]
preset = "docsis31"
upstream.rate = "5 Mbit/s"
upstream.queue = "docsis_pie"
downstream.rate = "50 Mbit/s"

[flow.frames]
application.cbr.rate = "8 kbit/s"
start = "19999 ms"

[flow.upload]
application = "bulk"
"#;

/// The longest time that a frame takes to cross the line.
const CROSSING: Duration = Duration::from_millis(1000);

/// The fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Delivered(Ecn),
    Discarded(DropReason),
}

/// The fates of frames in the order in which they became known, shared with the store in the
/// simulation.
type Ends = Arc<Mutex<Vec<(FrameId, Instant, End)>>>;

struct Store(Ends);

impl Store {
    fn ended(&self, frame: FrameId, at: Instant, end: End) {
        let mut ends = self.0.lock().expect("one run, one thread");
        ends.push((frame, at, end));
    }
}

impl FrameStore for Store {
    fn delivered(&mut self, at: Instant, frame: FrameId, ecn: Ecn) {
        self.ended(frame, at, End::Delivered(ecn));
    }

    fn discarded(&mut self, at: Instant, frame: FrameId, reason: DropReason) {
        self.ended(frame, at, End::Discarded(reason));
    }
}

/// A simulated real clock. It wakes up to `lateness` after the time that it waits for, with all
/// frames that arrived until then.
struct LateClock {
    now: Instant,
    end: Instant,
    lateness: Duration,
    rng: Rng,
    arrivals: VecDeque<Arrival>,
    /// The wake-ups with several frames at once, and the wake-ups after the deadline.
    batches: u64,
    late: u64,
}

impl LateClock {
    fn new(arrivals: &[Arrival], lateness: Duration, end: Instant) -> Self {
        Self {
            now: Instant::ZERO,
            end,
            lateness,
            rng: Rng::for_path(7, "clock"),
            arrivals: arrivals.to_vec().into(),
            batches: 0,
            late: 0,
        }
    }
}

impl Clock for LateClock {
    fn wait_until(
        &mut self,
        deadline: Option<Instant>,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Option<Instant>> {
        if self.now >= self.end {
            return Ok(None);
        }
        let frame = self.arrivals.front().map(|arrival| arrival.at);
        let due = (deadline.into_iter().chain(frame).min()).unwrap_or(self.end);
        self.now = self.now.max(due) + self.rng.span(self.lateness);
        self.late += u64::from(deadline.is_some_and(|deadline| self.now > deadline));
        let came = (self.arrivals.iter())
            .take_while(|arrival| arrival.at <= self.now)
            .count();
        self.batches += u64::from(came > 1);
        arrivals.extend(self.arrivals.drain(..came));
        Ok(Some(self.now))
    }
}

/// Frames of 40 to 1500 bytes at random times both ways, until `CROSSING` before the end. Three in
/// four are ECN-capable.
fn recorded(flow: FlowId, end: Instant) -> Vec<Arrival> {
    let mut rng = Rng::for_path(3, "frames");
    let mut at = Instant::from_nanos(1_000_000);
    let mut arrivals = Vec::new();
    while at + CROSSING < end {
        let number = NonZeroU32::new(arrivals.len() as u32 + 1).expect("frames count from one");
        arrivals.push(Arrival {
            at,
            flow,
            from: if rng.below(5) == 0 {
                Side::Peer
            } else {
                Side::Host
            },
            size: 40 + rng.below(1461) as u16,
            ecn: if rng.below(4) == 0 {
                Ecn::NotEct
            } else {
                Ecn::Ect0
            },
            frame: FrameId(number),
        });
        // One in eight arrives at the same time as the one before.
        if rng.below(8) > 0 {
            at += Duration::from_nanos(rng.exponential(3e6) as u64);
        }
    }
    arrivals
}

struct Run {
    simulation: Simulation,
    ends: Ends,
    arrivals: Vec<Arrival>,
}

impl Run {
    fn new(text: &str) -> Self {
        let mut simulation = scenario(text, &[]).build(1);
        let ends = Ends::default();
        simulation.set_frame_store(Box::new(Store(Arc::clone(&ends))));
        let flow = simulation.open_external(AppId(0));
        let arrivals = recorded(flow, simulation.end());
        Self {
            simulation,
            ends,
            arrivals,
        }
    }

    fn under(mut self, clock: &mut dyn Clock) -> (Vec<(FrameId, Instant, End)>, Tables) {
        (self.simulation.run_with(clock)).expect("these clocks do not fail");
        assert_eq!(self.simulation.now(), self.simulation.end());
        let ends = std::mem::take(&mut *self.ends.lock().expect("one run, one thread"));
        (ends, Tables(self.simulation.tables()))
    }
}

fn count(ends: &[(FrameId, Instant, End)], wanted: impl Fn(End) -> bool) -> usize {
    ends.iter().filter(|(_, _, end)| wanted(*end)).count()
}

/// The tables as text, in which NaN equals itself.
fn text(tables: &[(&'static str, Table)]) -> String {
    format!("{tables:?}")
}

/// Runs `text_of` under both clocks, asserts that the fates of all frames are equal, and returns
/// them.
fn assert_parity(text_of: &str) -> Vec<(FrameId, Instant, End)> {
    let run = Run::new(text_of);
    let mut arrivals: Vec<u32> = run
        .arrivals
        .iter()
        .map(|arrival| arrival.frame.0.get())
        .collect();
    let mut clock = VirtualClock::with_arrivals(run.arrivals.clone());
    let (virtually, tables) = run.under(&mut clock);
    let mut ended: Vec<u32> = virtually
        .iter()
        .map(|(frame, _, _)| frame.0.get())
        .collect();
    arrivals.sort_unstable();
    ended.sort_unstable();
    assert!(
        ended == arrivals,
        "every frame ends once: {} of {}",
        ended.len(),
        arrivals.len()
    );
    for lateness in [
        Duration::from_micros(50),
        Duration::from_millis(2),
        Duration::from_millis(30),
    ] {
        let run = Run::new(text_of);
        let mut clock = LateClock::new(&run.arrivals, lateness, run.simulation.end());
        let (really, other) = run.under(&mut clock);
        assert!(
            clock.late > 100 && clock.batches > 100,
            "{} late, {} batches",
            clock.late,
            clock.batches
        );
        assert!(really == virtually, "up to {lateness:?} late");
        assert!(
            text(&tables.0) == text(&other.0),
            "the neighbours' figures too"
        );
    }
    let retransmitted = tables.integers("flows", "retransmitted");
    assert!(
        retransmitted.iter().sum::<u64>() > 0,
        "the neighbour has lost something to the queue"
    );
    virtually
}

#[test]
fn a_late_clock_changes_no_departure_mark_or_drop_behind_codel() {
    let ends = assert_parity(OVER_CODEL);
    let marked = count(&ends, |end| end == End::Delivered(Ecn::Ce));
    let dropped = count(&ends, |end| end == End::Discarded(DropReason::Congested));
    eprintln!(
        "CoDel: {} frames, {marked} marked, {dropped} dropped",
        ends.len()
    );
    assert!(
        ends.len() > 5000 && marked > 20 && dropped > 5,
        "{} {marked} {dropped}",
        ends.len()
    );
}

#[test]
fn a_late_clock_changes_no_departure_or_drop_on_a_cable_line() {
    let ends = assert_parity(OVER_CABLE);
    let dropped = count(&ends, |end| end == End::Discarded(DropReason::Congested));
    eprintln!("cable: {} frames, {dropped} dropped", ends.len());
    assert!(
        ends.len() > 5000 && dropped > 20,
        "{} {dropped}",
        ends.len()
    );
}

/// A clock that delivers frames after the simulation has passed their times, and one frame after
/// the end.
struct Tardy(VecDeque<(Instant, Vec<Arrival>)>);

impl Clock for Tardy {
    fn wait_until(
        &mut self,
        _deadline: Option<Instant>,
        arrivals: &mut Vec<Arrival>,
    ) -> io::Result<Option<Instant>> {
        Ok(self.0.pop_front().map(|(now, came)| {
            arrivals.extend(came);
            now
        }))
    }
}

#[test]
fn a_frame_handed_over_too_late_enters_when_it_is_and_one_after_the_end_does_not() {
    let mut run = Run::new(OVER_CODEL);
    let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let at = |index: usize, time: Instant| Arrival {
        at: time,
        ..run.arrivals[index]
    };
    let mut clock = Tardy(VecDeque::from([
        (ms(500), vec![]),
        (ms(600), vec![at(0, ms(400)), at(1, ms(450))]),
        (ms(20_100), vec![at(2, ms(20_050))]),
    ]));
    run.arrivals.clear();
    let (ends, tables) = run.under(&mut clock);
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(
        ends.iter()
            .all(|(_, ended, _)| *ended > ms(500) && *ended < ms(1500)),
        "{ends:?}"
    );
    assert_eq!(tables.integers("summary", "simulated_ns"), [20_000_000_000]);
}
