//! An emulation, which Python follows by its updates. Elsewhere than on Linux the class exists too,
//! but says that it needs Linux.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::EmulationError;
use crate::run::Columns;
use crate::scenario::Scenario;

/// What an update or the end has: facts as JSON, and tables.
type Report = (String, BTreeMap<&'static str, Columns>);

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    use headend::metrics::table::Table;
    use pyo3::exceptions::PyValueError;

    use super::{
        BTreeMap, Bound, Columns, EmulationError, PyBytes, PyDict, PyResult, Python, Report,
        Scenario,
    };
    use crate::error::catch_panic;

    pub(super) struct State(Mutex<Inner>);

    struct Inner {
        emulation: headend_emulate::Emulation,
        /// Bytes of captures that updates brought, by point, until Python takes them.
        captured: Vec<(String, Vec<u8>)>,
    }

    #[expect(clippy::needless_pass_by_value, reason = "what `map_err` calls")]
    fn refuse(error: headend_emulate::Error) -> pyo3::PyErr {
        EmulationError::new_err(error.to_string())
    }

    pub(super) fn enter(outside: bool) -> PyResult<()> {
        headend_emulate::enter(outside).map_err(refuse)
    }

    impl State {
        pub(super) fn start(
            py: Python<'_>,
            scenario: &Scenario,
            seed: u64,
            options: &str,
        ) -> PyResult<Self> {
            let options: headend_emulate::Options = serde_json::from_str(options)
                .map_err(|error| PyValueError::new_err(format!("options: {error}")))?;
            let scenario = &scenario.0;
            let emulation = py.detach(|| {
                catch_panic(|| headend_emulate::Emulation::start(scenario, seed, &options))
            })?;
            Ok(Self(Mutex::new(Inner {
                emulation: emulation.map_err(refuse)?,
                captured: Vec::new(),
            })))
        }

        pub(super) fn next(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<Report>> {
            let timeout = Duration::try_from_secs_f64(timeout)
                .map_err(|_| PyValueError::new_err("expected a number of seconds, not negative"))?;
            let update = py.detach(|| {
                let mut inner = self.lock();
                let update = inner.emulation.next(timeout);
                update.map(|update| {
                    inner.captured.extend(update.capture);
                    (update.state, update.tables)
                })
            });
            Ok(update.map(|(state, tables)| (state, by_name(tables))))
        }

        pub(super) fn stop(&self, signal: i32) -> PyResult<()> {
            self.lock().emulation.stop(signal).map_err(refuse)
        }

        pub(super) fn take_capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            let mut points: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            for (point, bytes) in std::mem::take(&mut self.lock().captured) {
                points.entry(point).or_default().extend(bytes);
            }
            let all = PyDict::new(py);
            for (point, bytes) in points {
                pyo3::types::PyDictMethods::set_item(&all, point, PyBytes::new(py, &bytes))?;
            }
            Ok(all)
        }

        pub(super) fn finish(&self, py: Python<'_>) -> PyResult<Report> {
            let (facts, tables) = py
                .detach(|| catch_panic(|| self.lock().emulation.finish()))?
                .map_err(refuse)?;
            Ok((facts, by_name(tables)))
        }

        fn lock(&self) -> MutexGuard<'_, Inner> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    fn by_name(tables: Vec<(&'static str, Table)>) -> BTreeMap<&'static str, Columns> {
        let tables = tables.into_iter();
        tables.map(|(name, table)| (name, Columns(table))).collect()
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use super::{Bound, EmulationError, PyDict, PyResult, Python, Report, Scenario};

    pub(super) enum State {}

    pub(super) fn enter(_: bool) -> PyResult<()> {
        Err(EmulationError::new_err(
            "real programs behind a line need Linux",
        ))
    }

    impl State {
        pub(super) fn start(_: Python<'_>, _: &Scenario, _: u64, _: &str) -> PyResult<Self> {
            enter(false).map(|()| unreachable!("entering fails on this system"))
        }

        pub(super) fn next(&self, _: Python<'_>, _: f64) -> PyResult<Option<Report>> {
            match *self {}
        }

        pub(super) fn stop(&self, _: i32) -> PyResult<()> {
            match *self {}
        }

        pub(super) fn take_capture<'py>(&self, _: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
            match *self {}
        }

        pub(super) fn finish(&self, _: Python<'_>) -> PyResult<Report> {
            match *self {}
        }
    }
}

/// A scenario in real time, with real programs on its real hosts.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct Emulation(linux::State);

#[pymethods]
impl Emulation {
    /// Prepares this process, which has one thread: its next child may make an `Emulation`.
    #[staticmethod]
    fn enter(outside: bool) -> PyResult<()> {
        linux::enter(outside)
    }

    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, seed: u64, options: &str) -> PyResult<Self> {
        linux::State::start(py, scenario, seed, options).map(Self)
    }

    /// What happened since the last update, if there is something within `timeout` seconds.
    fn next(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<Report>> {
        self.0.next(py, timeout)
    }

    /// Passes a signal to the programs; those that do not end within 2 s are killed.
    fn stop(&self, signal: i32) -> PyResult<()> {
        self.0.stop(signal)
    }

    /// The bytes that were captured up to the last update, by point, since the last call.
    fn take_capture<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.take_capture(py)
    }

    /// The whole run, after it is over.
    fn finish(&self, py: Python<'_>) -> PyResult<Report> {
        self.0.finish(py)
    }
}
