//! A run, which advances by a given wall-clock time per call, so that Python can show progress and
//! interrupt it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as WallDuration, Instant as WallInstant};

use headend::clock::{RealHostId, VirtualClock};
use headend::metrics::table::{Column, Table};
use headend::simulation::{Progress, Simulation};
use headend::time::{Duration, Instant};
use headend::wire::recording::Frame;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::custom;
use crate::error::{RunError, catch_panic};
use crate::scenario::Scenario;
use crate::{parquet_file, recording};

/// A result table. Its columns are converted for Python only when they are read: of most runs, a
/// study reads one or two tables.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct Columns(pub(crate) Table);

#[pymethods]
impl Columns {
    /// The columns by name. A text column is a list; a column of numbers is its type code in
    /// Python's `array` and the bytes of such an array.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, column) in &self.0.columns {
            match column {
                Column::Float(values) => {
                    let bytes = pack(py, values, f64::to_ne_bytes)?;
                    columns.set_item(name, ("d", bytes))?;
                }
                Column::Integer(values) => {
                    // A table has no integer above 2^63 - 1, and every reader supports signed
                    // integers.
                    let bytes = pack(py, values, |value| (value as i64).to_ne_bytes())?;
                    columns.set_item(name, ("q", bytes))?;
                }
                Column::Text(values) => columns.set_item(name, PyList::new(py, values)?)?,
            }
        }
        Ok(columns)
    }

    /// The bytes of a Parquet file; `None` for a table without columns, whose types nobody knows.
    fn encode_parquet<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if self.0.columns.is_empty() {
            return Ok(None);
        }
        let encode = || parquet_file::encode(&self.0).expect("memory takes every table");
        let bytes = py.detach(|| catch_panic(encode))?;
        Ok(Some(PyBytes::new(py, &bytes)))
    }
}

/// The bytes of 8-byte numbers, one after the other.
fn pack<'py, T: Copy>(
    py: Python<'py>,
    values: &[T],
    to_bytes: impl Fn(T) -> [u8; 8],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * values.len(), |bytes| {
        for (place, &value) in bytes.chunks_exact_mut(8).zip(values) {
            place.copy_from_slice(&to_bytes(value));
        }
        Ok(())
    })
}

/// One run of a scenario.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct Run(Mutex<State>);

struct State {
    /// `None` after a panic, because the simulation's state is then unknown.
    simulation: Option<Box<Simulation>>,
    /// The recorded frames, in a replay.
    replay: Option<Replay>,
    slice: Slice,
}

/// A clock that replays the frames of a recording.
type Replay = VirtualClock<Box<dyn Iterator<Item = (Instant, RealHostId, Frame)> + Send>>;

/// The simulated time that runs between two reads of the wall clock.
struct Slice(Duration);

impl Slice {
    /// The approximate interval between two reads of the clock: short enough to stop at once, long
    /// enough to cost nothing.
    const WANTED: WallDuration = WallDuration::from_millis(5);
    const SHORTEST: Duration = Duration::from_micros(10);
    const LONGEST: Duration = Duration::from_secs(3600);

    fn adapt(&mut self, took: WallDuration) {
        if took < Self::WANTED / 2 {
            self.0 = (self.0 * 2).min(Self::LONGEST);
        } else if took > Self::WANTED * 2 {
            self.0 = (self.0 / 2).max(Self::SHORTEST);
        }
    }
}

#[pymethods]
impl Run {
    /// The version of the engine that runs the scenario.
    #[classattr]
    #[pyo3(name = "engine_version")]
    const ENGINE_VERSION: &'static str = env!("CARGO_PKG_VERSION");

    /// The ends of connections that have a trace of qlog; later ones are only counted.
    #[classattr]
    #[pyo3(name = "most_qlog_traces")]
    const MOST_QLOG_TRACES: usize = headend::wire::qlog::MOST_TRACES;

    /// The rows of `tcp_info` that are kept; later ones are only counted.
    #[classattr]
    #[pyo3(name = "most_tcp_info_rows")]
    const MOST_TCP_INFO_ROWS: usize = headend::metrics::tcp_info::MOST_ROWS;

    #[new]
    #[pyo3(signature = (scenario, seed = None, follow = None, recording = None, observe = None))]
    fn new(
        scenario: &Scenario,
        seed: Option<u64>,
        follow: Option<(String, u64)>,
        recording: Option<&[u8]>,
        observe: Option<(String, Vec<String>)>,
    ) -> PyResult<Self> {
        let seed = seed.unwrap_or(scenario.0.raw().seed);
        let mut simulation = catch_panic(|| scenario.0.build(seed))?;
        if let Some(interruption) = custom::take_interruption() {
            return Err(interruption);
        }
        if let Some((flow, nanos)) = follow
            && !simulation.follow(&flow, Instant::from_nanos(nanos))
        {
            return Err(PyValueError::new_err(format!(
                "no flow is called \"{flow}\""
            )));
        }
        if let Some((what, flows)) = observe {
            let flows = flows.iter().map(String::as_str);
            let is_known = match what.as_str() {
                "qlog" => simulation.write_qlog(flows),
                "tcp_info" => simulation.keep_tcp_info(flows),
                _ => return Err(PyValueError::new_err("expected \"qlog\" or \"tcp_info\"")),
            };
            if !is_known {
                return Err(PyValueError::new_err("no flow is called so"));
            }
        }
        let replay = recording.map(|content| replay(scenario, content));
        Ok(Self(Mutex::new(State {
            simulation: Some(Box::new(simulation)),
            replay: replay.transpose()?,
            slice: Slice(Slice::SHORTEST),
        })))
    }

    /// Runs for at least `wall_seconds`, or to the end, or until many bytes were captured. Returns
    /// the simulated time so far in nanoseconds, and whether the run has ended. Raises what
    /// interrupts code of a law or control while it is called; the run goes no further then.
    fn advance(&self, py: Python<'_>, wall_seconds: f64) -> PyResult<(u64, bool)> {
        let Ok(budget) = WallDuration::try_from_secs_f64(wall_seconds) else {
            return Err(PyValueError::new_err(
                "expected a number of seconds, not negative",
            ));
        };
        let progress = py.detach(|| {
            let mut state = self.state();
            let mut simulation = state.take()?;
            let State { replay, slice, .. } = &mut *state;
            let replay = replay.as_mut();
            let progress = catch_panic(|| run_for(&mut simulation, replay, budget, slice))?;
            state.simulation = Some(simulation);
            PyResult::Ok(progress)
        })?;
        custom::take_interruption().map_or(Ok(progress), Err)
    }

    /// The simulated time so far, in nanoseconds.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.ask(|simulation| simulation.now().as_nanos())
    }

    /// The bytes that were captured since the last call, by point, to be appended to the earlier
    /// ones. Empty if nothing is captured.
    fn take_capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.ask(Simulation::take_capture)?)
    }

    /// What was written as qlog since the last call, by trace, to be appended to the earlier
    /// pieces. Empty if nothing is written.
    fn take_qlog<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        to_dict(py, self.ask(Simulation::take_qlog)?)
    }

    /// Ends of connections without a trace, and rows of `tcp_info` that there was no room for.
    fn left_out(&self) -> PyResult<u64> {
        self.ask(|simulation| simulation.left_out())
    }

    /// How the frames of real hosts have ended so far, as JSON: counts, and the digest of all.
    /// `None` if this is no replay.
    fn frames(&self) -> PyResult<Option<String>> {
        let ends = self.ask(|simulation| simulation.frames_ended())?;
        let is_replay = self.state().replay.is_some();
        Ok(is_replay.then(|| recording::ends_to_json(&ends)))
    }

    /// What the code of a law or control said when it failed, which ended the run; `None` if none
    /// did.
    fn failure(&self) -> PyResult<Option<String>> {
        self.ask(|simulation| simulation.failure().map(str::to_owned))
    }

    /// The result tables: of the whole run, or of the part that has run so far.
    fn finish(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, Columns>> {
        let tables = py.detach(|| {
            let mut state = self.state();
            let mut simulation = state.take()?;
            let tables = catch_panic(|| simulation.tables())?;
            state.simulation = Some(simulation);
            PyResult::Ok(tables)
        })?;
        let tables = tables.into_iter();
        Ok(tables.map(|(name, table)| (name, Columns(table))).collect())
    }
}

impl Run {
    /// Lets `question` look at the simulation, between two calls of [`Self::advance`].
    fn ask<T>(&self, question: impl FnOnce(&mut Simulation) -> T) -> PyResult<T> {
        let mut state = self.state();
        let mut simulation = state.take()?;
        let answer = question(&mut simulation);
        state.simulation = Some(simulation);
        Ok(answer)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> PyResult<Box<Simulation>> {
        self.simulation
            .take()
            .ok_or_else(|| RunError::new_err("this run has failed before"))
    }
}

fn to_dict(py: Python<'_>, pieces: Vec<(String, Vec<u8>)>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (name, bytes) in pieces {
        all.set_item(name, PyBytes::new(py, &bytes))?;
    }
    Ok(all)
}

/// The number of captured bytes after which `advance` returns, so that they are taken.
const MOST_CAPTURED: usize = 32 << 20;

fn run_for(
    simulation: &mut Simulation,
    mut replay: Option<&mut Replay>,
    budget: WallDuration,
    slice: &mut Slice,
) -> (u64, bool) {
    let start = wall_clock();
    let mut last = start;
    loop {
        let until = simulation.now() + slice.0;
        let done = match &mut replay {
            Some(clock) => {
                clock.pause_at(until);
                let progress = simulation.run_with(*clock);
                progress.expect("virtual time has no errors") == Progress::Over
            }
            None => simulation.run_until(until),
        };
        let at = wall_clock();
        if done || at - start >= budget || simulation.captured() >= MOST_CAPTURED {
            return (simulation.now().as_nanos(), done);
        }
        slice.adapt(at - last);
        last = at;
    }
}

/// The clock that replays a recording to its end, or to its last frame if it breaks off.
fn replay(scenario: &Scenario, content: &[u8]) -> PyResult<Replay> {
    let recorded = recording::read(content)?;
    recording::check_hosts(&recorded, scenario)?;
    let end = recorded.end.map(|end| Instant::from_nanos(end.end_ns));
    let end = end.unwrap_or(recorded.last());
    let arrivals = recorded.into_arrivals(Arc::from(content));
    let arrivals = arrivals.map(|(at, host, frame)| (at, RealHostId(host), frame));
    let arrivals: Box<dyn Iterator<Item = _> + Send> = Box::new(arrivals);
    Ok(VirtualClock::new(arrivals, end))
}

#[expect(
    clippy::disallowed_methods,
    reason = "wall time decides when Python is asked again, never what is simulated"
)]
fn wall_clock() -> WallInstant {
    WallInstant::now()
}
