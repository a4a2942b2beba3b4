//! The commit, profile and target of this module, recorded when it is compiled.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The build: `commit` (None unless the environment variable `HEADEND_COMMIT` gave it), Cargo's
/// `profile` and the `target`.
#[pyfunction]
pub(crate) fn build(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let build = PyDict::new(py);
    let commit = option_env!("HEADEND_COMMIT").filter(|commit| !commit.is_empty());
    build.set_item("commit", commit)?;
    build.set_item("profile", env!("HEADEND_PROFILE"))?;
    build.set_item("target", env!("HEADEND_TARGET"))?;
    Ok(build)
}
