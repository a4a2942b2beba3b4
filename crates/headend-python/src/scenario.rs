//! Scenarios: from text to a checked scenario, and what can be written in one.

#![expect(
    clippy::needless_pass_by_value,
    reason = "lists and dictionaries of Python are converted, so a function gets them as its own"
)]

use std::collections::BTreeMap;

use headend::scenario::{self, Format, Override};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{catch_panic, scenario_error};

/// A scenario that makes sense.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct Scenario(pub(crate) scenario::Scenario);

#[pymethods]
impl Scenario {
    /// The scenario with all defaults written out, as JSON that parses to the same scenario.
    fn resolved_json(&self) -> String {
        self.0.to_json()
    }

    /// What it is about, in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.0.raw().title
    }

    /// What it teaches.
    #[getter]
    fn description(&self) -> &str {
        &self.0.raw().description
    }

    /// Simulated time of a run, nanoseconds.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.raw().duration.as_nanos()
    }

    /// How much of its start is not measured, nanoseconds.
    #[getter]
    fn warmup_ns(&self) -> u64 {
        self.0.raw().warmup.as_nanos()
    }

    /// Seed of its random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.raw().seed
    }

    /// Expectations: name and expression.
    #[getter]
    fn expect(&self) -> Vec<(String, String)> {
        let expectations = self.0.raw().expect.iter();
        expectations
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect()
    }

    /// What is to be read before its results are trusted.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// The parts of the memory that a run can need at most, the largest first: the keys that make it, the reckoning, bytes, and whether it is of tables.
    #[getter]
    fn memory(&self) -> Vec<(String, String, u64, bool)> {
        let parts = self.0.memory().into_iter();
        parts
            .map(|part| (part.keys, part.text, part.bytes, part.is_table))
            .collect()
    }

    /// Every flow as results name it, with its application's name.
    #[getter]
    fn flows(&self) -> Vec<(String, &'static str)> {
        let flows = self.0.flows();
        flows
            .map(|(name, application)| (name.to_owned(), application))
            .collect()
    }

    /// Every queue as results name it.
    #[getter]
    fn queues(&self) -> Vec<String> {
        self.0.queues().collect()
    }

    /// Name of the queue it is about, if it is about one.
    #[getter]
    fn bottleneck(&self) -> Option<&str> {
        self.0.bottleneck()
    }

    /// Path of the key that holds that queue.
    #[getter]
    fn queue_path(&self) -> Option<String> {
        self.0.queue_path()
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?})", self.0.raw().title)
    }
}

/// Reads and checks a scenario. `overrides` are pairs of dotted path and value text; `files` holds the bytes of every file it names.
#[pyfunction]
#[pyo3(signature = (text, *, format = "toml", overrides = Vec::new(), files = BTreeMap::new()))]
pub(crate) fn parse(
    py: Python<'_>,
    text: &str,
    format: &str,
    overrides: Vec<Override>,
    files: BTreeMap<String, Vec<u8>>,
) -> PyResult<Scenario> {
    let format = read_format(format)?;
    catch_panic(|| scenario::Scenario::parse(text, format, &overrides, &files))?
        .map(Scenario)
        .map_err(|error| scenario_error(py, &error))
}

/// The files a scenario names, each with the override that names it, as `PATH=VALUE`, or none where the text does.
#[pyfunction]
#[pyo3(signature = (text, *, format = "toml", overrides = Vec::new()))]
pub(crate) fn required_files(
    py: Python<'_>,
    text: &str,
    format: &str,
    overrides: Vec<Override>,
) -> PyResult<Vec<(String, Option<String>)>> {
    let format = read_format(format)?;
    let files = catch_panic(|| scenario::required_files(text, format, &overrides))?
        .map_err(|error| scenario_error(py, &error))?;
    Ok((files.into_iter())
        .map(|file| (file.name, file.set_by))
        .collect())
}

/// The line of text that refuses the value at `path` because of `why`: with the place where it was written.
#[pyfunction]
#[pyo3(signature = (text, path, why, *, format = "toml", overrides = Vec::new()))]
pub(crate) fn refuse(
    py: Python<'_>,
    text: &str,
    path: &str,
    why: &str,
    format: &str,
    overrides: Vec<Override>,
) -> PyResult<String> {
    let format = read_format(format)?;
    catch_panic(|| scenario::refuse(text, format, &overrides, path, why))?
        .map(|error| error.to_string())
        .map_err(|error| scenario_error(py, &error))
}

/// The JSON Schema of a scenario (draft 2020-12).
#[pyfunction]
pub(crate) fn schema() -> String {
    scenario::schema()
}

/// The reference page of the scenario grammar, in Markdown.
#[pyfunction]
pub(crate) fn reference() -> String {
    scenario::reference()
}

/// What the engine says of queue disciplines, applications and their measures, as JSON.
#[pyfunction]
pub(crate) fn describe() -> String {
    headend::description::describe()
}

/// The columns of every table of results, by its name.
#[pyfunction]
pub(crate) fn columns() -> BTreeMap<&'static str, Vec<String>> {
    headend::metrics::recorder::columns().into_iter().collect()
}

fn read_format(format: &str) -> PyResult<Format> {
    match format {
        "json" => Ok(Format::Json),
        "toml" => Ok(Format::Toml),
        other => Err(PyValueError::new_err(format!(
            "expected the format \"toml\" or \"json\", found \"{other}\""
        ))),
    }
}
