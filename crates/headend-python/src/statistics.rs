//! Statistics for confidence intervals of means.

use headend::student_t;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The quantile of Student's t distribution: the value below which a share `p` of the distribution
/// with `degrees` of freedom lies.
#[pyfunction]
pub(crate) fn student_t_quantile(p: f64, degrees: u32) -> PyResult<f64> {
    if !(p > 0.0 && p < 1.0) {
        let why = format!("p: expected a share between 0 and 1, found {p}");
        return Err(PyValueError::new_err(why));
    }
    if degrees == 0 {
        let why = "degrees: expected at least 1, found 0";
        return Err(PyValueError::new_err(why));
    }
    Ok(student_t::quantile(p, degrees))
}
