//! Control laws and congestion controls that are written in Python: a class in a file becomes an
//! object of the engine.
//!
//! `headend.custom` finds the class and reads its parameters; here its methods are called with the
//! engine's facts, and what they say is checked. An error in them ends the run, with their own
//! traceback. While they run, Python's lock is held.

mod control;
mod law;
mod packet;
mod values;

use std::cell::RefCell;

use headend::custom::{self, Code};
use headend::time::Instant;
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

pub(crate) use self::control::{AckSample, CongestionSignal};
pub(crate) use self::law::{Backlog, Line};
pub(crate) use self::packet::Packet;
pub(crate) use self::values::{Random, cbrt, file_of_code, read_quantity};

/// Provides laws and controls for all scenarios that name a Python file.
pub(crate) fn provide() {
    headend::aqm::custom::provide(Box::new(law::Laws));
    headend::congestion::custom::provide(Box::new(control::Controls));
}

thread_local! {
    /// The interruption that ended the latest call of such code on this thread.
    static INTERRUPTION: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// The interruption of such code on this thread since the last call. Whoever let the code run
/// raises it: it is no failure of the code.
pub(crate) fn take_interruption() -> Option<PyErr> {
    INTERRUPTION.take()
}

/// Notes an error that is an interruption, such as Ctrl-C.
fn note_interruption(py: Python<'_>, error: &PyErr) {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        INTERRUPTION.set(Some(error.clone_ref(py)));
    }
}

/// The error of something that is due at a time that has passed.
fn refuse_past(name: &str, due: Instant, now: Instant) -> PyErr {
    PyValueError::new_err(format!(
        "{name}: expected a time after now, {} ns, found {}",
        now.as_nanos(),
        due.as_nanos()
    ))
}

/// Refuses a name that is of no file: a scenario could give a text to it that nobody has named.
fn check_name(code: Code<'_>) -> Result<(), String> {
    if custom::file_of(code.name).is_some() {
        return Ok(());
    }
    Err(format!(
        "code: expected a file and a class in it, such as \"my_law.py:MyLaw\", found \"{}\"",
        code.name
    ))
}

/// An object of a class in Python, and the methods that the class has of its own.
#[derive(Debug)]
struct Custom {
    object: Py<PyAny>,
    own: Vec<String>,
    /// The name of the code, for errors.
    name: String,
}

impl Custom {
    /// Has `headend.custom.loading` make the object.
    fn build(
        py: Python<'_>,
        function: &str,
        code: Code<'_>,
        further: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
    ) -> Result<Self, String> {
        check_name(code)?;
        let build = || -> PyResult<(Py<PyAny>, Vec<String>)> {
            let parameters = serde_json::to_string(code.parameters).expect("it is plain JSON");
            let function = py.import("headend.custom.loading")?.getattr(function)?;
            function
                .call1((code.name, code.text, parameters, further(py)?))?
                .extract()
        };
        let (object, own) = build().map_err(|error| {
            note_interruption(py, &error);
            error.value(py).to_string()
        })?;
        Ok(Self {
            object,
            own,
            name: code.name.to_owned(),
        })
    }

    /// A method, if the class has it of its own.
    fn method(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyAny>>> {
        if self.own.iter().any(|own| own == name) {
            return self.object.getattr(py, name).map(Some);
        }
        Ok(None)
    }

    /// Reads an attribute of the object.
    fn read<'py, T>(&self, py: Python<'py>, name: &str, expected: &str) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        let value = self.object.bind(py).getattr(name)?;
        value.extract().map_err(|_| {
            let found = value
                .repr()
                .map(|text| text.to_string())
                .unwrap_or_default();
            PyTypeError::new_err(format!("{name}: expected {expected}, found {found}"))
        })
    }

    /// Reads an attribute that says when something is due.
    fn read_time(&self, py: Python<'_>, name: &str) -> PyResult<Option<Instant>> {
        let time: Option<u64> = self.read(py, name, "a time in whole ns or None")?;
        Ok(time.map(Instant::from_nanos))
    }

    /// Reports an error of a method, or what it gave that makes no sense. Either ends the run.
    fn fail(&self, py: Python<'_>, error: &PyErr, method: Option<&Py<PyAny>>) {
        note_interruption(py, error);
        custom::fail(self.describe(py, error, method));
    }

    /// An error of a method in one line, with the code's own line.
    fn describe(&self, py: Python<'_>, error: &PyErr, method: Option<&Py<PyAny>>) -> String {
        let describe = || -> PyResult<String> {
            let function = py.import("headend.custom.failures")?.getattr("describe")?;
            let traceback = error.traceback(py);
            function
                .call1((&self.name, error.value(py), traceback, method))?
                .extract()
        };
        describe().unwrap_or_else(|_| format!("{}: {error}", self.name))
    }

    /// An error in what the object is from its beginning.
    fn describe_start(&self, py: Python<'_>, error: &PyErr) -> String {
        note_interruption(py, error);
        let method = self.object.getattr(py, "__init__").ok();
        self.describe(py, error, method.as_ref())
    }
}
