//! Values for code in Python: random numbers, quantities with units, and functions whose results
//! have the same bits on every platform.

use std::sync::{Mutex, PoisonError};

use headend::rng::Rng;
use headend::time::Duration;
use headend::units::{ByteCount, Probability, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A stream of random numbers of the run, which is the law's or control's own.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct Random(pub(crate) Mutex<Rng>);

#[pymethods]
impl Random {
    /// The next number, uniform over 0 ≤ u < 1.
    fn uniform(&self) -> f64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .uniform()
    }

    /// The next whole number, uniform from 0 to `bound` - 1.
    fn below(&self, bound: u64) -> u64 {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .below(bound)
    }
}

/// Cube root, as the engine computes it.
#[pyfunction]
pub(crate) fn cbrt(x: f64) -> f64 {
    headend::math::cbrt(x)
}

/// The file that the name of a code begins with: `my_law.py` of `my_law.py:MyLaw`. None for a name
/// that is of no file.
#[pyfunction]
pub(crate) fn file_of_code(name: &str) -> Option<&str> {
    headend::custom::file_of(name)
}

/// A quantity that a scenario writes, as a number: a duration in nanoseconds, a size in bytes, a
/// rate in bit/s, a probability from 0 to 1. `json` is the value as JSON.
#[pyfunction]
pub(crate) fn read_quantity(py: Python<'_>, kind: &str, json: &str) -> PyResult<Py<PyAny>> {
    fn read<T: DeserializeOwned>(json: &str) -> PyResult<T> {
        let value: Value =
            serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))?;
        serde_json::from_value(value).map_err(|error| PyValueError::new_err(error.to_string()))
    }
    let any = |number: u64| Ok(number.into_pyobject(py)?.into_any().unbind());
    match kind {
        "duration" => any(read::<Duration>(json)?.as_nanos()),
        "size" => any(read::<ByteCount>(json)?.0),
        "rate" => any(read::<Rate>(json)?.0),
        "probability" => {
            let Probability(share) = read(json)?;
            Ok(share.into_pyobject(py)?.into_any().unbind())
        }
        other => Err(PyValueError::new_err(format!(
            "expected duration, size, rate or probability, found \"{other}\""
        ))),
    }
}
