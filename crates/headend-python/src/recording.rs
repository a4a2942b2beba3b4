//! Recordings of emulations: what they say of themselves.

use headend::metrics::real::FrameEnds;
use headend::wire::recording::{self, Recording};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::scenario::Scenario;

/// Reads a recording; a `ValueError` says in one sentence why it cannot be read.
pub(crate) fn read(content: &[u8]) -> PyResult<Recording> {
    recording::read(content).map_err(|fault| PyValueError::new_err(fault.to_string()))
}

/// How frames ended, as JSON.
pub(crate) fn ends_to_json(ends: &FrameEnds) -> String {
    json!({
        "entered": ends.entered,
        "delivered": ends.delivered,
        "discarded": ends.discarded,
        "marked": ends.marked,
        "digest": ends.digest,
        "strays": ends.strays,
    })
    .to_string()
}

/// Refuses to replay a recording under a scenario with other real hosts than its own; a
/// `ValueError` says in one sentence how they differ.
#[pyfunction]
pub(crate) fn check_recording(py: Python<'_>, scenario: &Scenario, data: &[u8]) -> PyResult<()> {
    check_hosts(&py.detach(|| read(data))?, scenario)
}

/// The same, of a recording that was read.
pub(crate) fn check_hosts(recording: &Recording, scenario: &Scenario) -> PyResult<()> {
    let hosts = scenario.0.real_hosts();
    let checked = recording.check_hosts(hosts.iter().map(|host| host.name.as_str()));
    checked.map_err(|fault| PyValueError::new_err(fault.to_string()))
}

/// What a recording says of itself, as JSON: `headend` (the version that wrote it), `seed`,
/// `scenario`, `hosts`, `end` (or null, if it breaks off) and the number of `arrivals`.
#[pyfunction]
pub(crate) fn read_recording(py: Python<'_>, data: &[u8]) -> PyResult<String> {
    let recording = py.detach(|| read(data))?;
    let facts = json!({
        "headend": recording.version,
        "seed": recording.seed,
        "hosts": recording.hosts,
        "end": recording.end,
        "arrivals": recording.count(),
    });
    // The scenario is JSON already.
    let facts = facts.to_string();
    let facts = facts.strip_suffix('}').unwrap_or(&facts);
    Ok(format!("{facts},\"scenario\":{}}}", recording.scenario))
}
