//! Errors of the engine as Python exceptions, and its panics as errors.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    headend._engine,
    ScenarioError,
    PyValueError,
    "A scenario that cannot be used. `path`, `line` and `column` say where (or are None), \
     `message` is the whole text in one line. Of a name or key that means nothing: `unknown` is \
     that name, `known` is what there is, `meant` is what was perhaps meant."
);

pyo3::create_exception!(
    headend._engine,
    ConfigError,
    PyValueError,
    "A modem's configuration file, or its text, that cannot be used. `line` and `path` say where \
     in a text (or are None), `message` is the whole text in one line."
);

pyo3::create_exception!(
    headend._engine,
    RunError,
    PyRuntimeError,
    "A run that cannot go on: a mistake of the engine, not of its input."
);

pyo3::create_exception!(
    headend._engine,
    EmulationError,
    PyRuntimeError,
    "A scenario that cannot be emulated here: one sentence that says what is missing and how to \
     allow it."
);

/// The engine's error as a Python exception with its attributes.
pub(crate) fn scenario_error(py: Python<'_>, error: &headend::scenario::ScenarioError) -> PyErr {
    let message = error.to_string();
    let raised = ScenarioError::new_err(message.clone());
    let value = raised.value(py);
    let (line, column) = error.position().unzip();
    let set = || -> PyResult<()> {
        value.setattr("path", error.path())?;
        value.setattr("line", line)?;
        value.setattr("column", column)?;
        value.setattr("message", message)?;
        let (unknown, known) = error.unknown().unzip();
        value.setattr("unknown", unknown)?;
        value.setattr("known", known.unwrap_or_default())?;
        value.setattr("meant", error.meant())
    };
    match set() {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// An error in a modem's configuration file as a Python exception with its attributes.
pub(crate) fn config_error(
    py: Python<'_>,
    message: &str,
    line: Option<usize>,
    path: Option<&str>,
) -> PyErr {
    let raised = ConfigError::new_err(message.to_owned());
    let value = raised.value(py);
    let set = || -> PyResult<()> {
        value.setattr("line", line)?;
        value.setattr("path", path)?;
        value.setattr("message", message)
    };
    match set() {
        Ok(()) => raised,
        Err(other) => other,
    }
}

thread_local! {
    /// The place of the last panic on this thread while `catch_panic` runs; `None` otherwise.
    static CAUGHT_AT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work` and returns a panic in it as a `RunError` with the panic's message and place.
/// Nothing is printed.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !note_place(info) {
                print(info);
            }
        }));
    });
    CAUGHT_AT.set(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    let place = CAUGHT_AT.take().unwrap_or_default();
    result.map_err(|payload| {
        let sentence = sentence(payload.as_ref());
        RunError::new_err(format!(
            "internal error: {sentence} ({place}); please report it with the scenario and the seed"
        ))
    })
}

/// Records the place of a panic that `catch_panic` will catch. Returns false if it will not be
/// caught.
fn note_place(info: &PanicHookInfo<'_>) -> bool {
    CAUGHT_AT.with_borrow_mut(|caught| {
        let Some(place) = caught else { return false };
        *place = info.location().map(ToString::to_string).unwrap_or_default();
        true
    })
}

fn sentence(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic")
}
