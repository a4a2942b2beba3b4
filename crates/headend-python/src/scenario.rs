//! Scenarios: from text to a checked scenario, and the description of the keys.

#![expect(
    clippy::needless_pass_by_value,
    reason = "lists and dictionaries of Python are converted, so a function gets them as its own"
)]

use std::collections::BTreeMap;

use docsis_config::mic::{self, Which};
use headend::packet::Side;
use headend::scenario::{self, Format, Override};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::custom;
use crate::error::{catch_panic, scenario_error};

/// A checked scenario.
#[pyclass(frozen, module = "headend._engine")]
pub(crate) struct Scenario(pub(crate) scenario::Scenario);

#[pymethods]
impl Scenario {
    /// The scenario with all defaults written out, as JSON that parses to the same scenario.
    fn resolved_json(&self) -> String {
        self.0.to_json()
    }

    /// The title, in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.0.raw().title
    }

    /// The description: what the scenario teaches.
    #[getter]
    fn description(&self) -> &str {
        &self.0.raw().description
    }

    /// The simulated time of a run, in nanoseconds; of one without a limit, the most that it can
    /// be.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.0.duration().as_nanos()
    }

    /// Whether a run ends only with a real program.
    #[getter]
    fn is_unlimited(&self) -> bool {
        self.0.is_unlimited()
    }

    /// The real hosts in the order of their names: name, side (`customer` or `network`), IPv4
    /// address, IPv6 address.
    #[getter]
    fn real_hosts(&self) -> Vec<(String, &'static str, String, String)> {
        let hosts = self.0.real_hosts().into_iter();
        hosts
            .map(|host| {
                let side = match host.side {
                    Side::Host => "customer",
                    Side::Peer => "network",
                };
                (
                    host.name,
                    side,
                    host.ipv4.to_string(),
                    host.ipv6.to_string(),
                )
            })
            .collect()
    }

    /// The bounds of a run with real hosts that is to be trusted, in nanoseconds: of the 99th
    /// percentile of the lateness, and of any stall.
    #[getter]
    fn emulation_bounds_ns(&self) -> (u64, u64) {
        let bounds = self.0.emulation();
        (bounds.lateness.as_nanos(), bounds.stall.as_nanos())
    }

    /// The time at the start of a run that is not measured, in nanoseconds.
    #[getter]
    fn warmup_ns(&self) -> u64 {
        self.0.raw().warmup.as_nanos()
    }

    /// The seed of the random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.raw().seed
    }

    /// The expectations: name and expression.
    #[getter]
    fn expect(&self) -> Vec<(String, String)> {
        let expectations = self.0.raw().expect.iter();
        expectations
            .map(|(name, text)| (name.clone(), text.clone()))
            .collect()
    }

    /// Warnings that a user should read before trusting the results.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings().to_vec()
    }

    /// What became of each modem's file that was read, as a JSON list.
    fn modem_files_json(&self) -> String {
        self.0.modem_files_json()
    }

    /// The parts of the memory that a run can need at most, the largest first: the keys that cause
    /// it, the calculation, the bytes, and whether the part is for tables.
    #[getter]
    fn memory(&self) -> Vec<(String, String, u64, bool)> {
        let parts = self.0.memory().into_iter();
        parts
            .map(|part| (part.keys, part.text, part.bytes, part.is_table))
            .collect()
    }

    /// The flows, by their names in results, each with the name of its application.
    #[getter]
    fn flows(&self) -> Vec<(String, &'static str)> {
        let flows = self.0.flows();
        flows
            .map(|(name, application)| (name.to_owned(), application))
            .collect()
    }

    /// The queues, by their names in results.
    #[getter]
    fn queues(&self) -> Vec<String> {
        self.0.queues().collect()
    }

    /// The name of the bottleneck queue, if the scenario has one.
    #[getter]
    fn bottleneck(&self) -> Option<&str> {
        self.0.bottleneck()
    }

    /// The path of the key that configures that queue.
    #[getter]
    fn queue_path(&self) -> Option<String> {
        self.0.queue_path()
    }

    /// The configuration file of a modem, and notes about the settings of the scenario that it does
    /// not hold. With a secret the file has all message integrity checks, without one only the CM
    /// MIC.
    #[pyo3(signature = (modem = None, secret = None, *, by_class = false))]
    fn modem_file(
        &self,
        py: Python<'_>,
        modem: Option<&str>,
        secret: Option<&[u8]>,
        by_class: bool,
    ) -> PyResult<(Vec<u8>, Vec<String>)> {
        let (file, mut notes) = catch_panic(|| self.0.modem_file(modem, by_class))?
            .map_err(|error| scenario_error(py, &error))?;
        if secret.is_none() {
            let note = "Without a secret the file has no CMTS MIC (TLV 7), and a CMTS refuses it.";
            notes.push(note.to_owned());
        }
        let signed = catch_panic(|| mic::sign(&file, secret.map_or(Which::Cm, Which::All)))?;
        let signed = signed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((signed.encode(), notes))
    }

    fn __repr__(&self) -> String {
        format!("Scenario({:?})", self.0.raw().title)
    }
}

/// Parses and checks a scenario. `overrides` are pairs of dotted path and value text; `files` holds
/// the bytes of every file that the scenario names.
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
    let parsed = catch_panic(|| scenario::Scenario::parse(text, format, &overrides, &files))?;
    if let Some(interruption) = custom::take_interruption() {
        return Err(interruption);
    }
    parsed
        .map(Scenario)
        .map_err(|error| scenario_error(py, &error))
}

/// The files that a scenario names. Each has the override that names it, as `PATH=VALUE`, or None
/// if the text names it, and what it is: `code`, `config`, `data` or `embedded_code`.
#[pyfunction]
#[pyo3(signature = (text, *, format = "toml", overrides = Vec::new()))]
pub(crate) fn required_files(
    py: Python<'_>,
    text: &str,
    format: &str,
    overrides: Vec<Override>,
) -> PyResult<Vec<(String, Option<String>, &'static str)>> {
    let format = read_format(format)?;
    let files = catch_panic(|| scenario::required_files(text, format, &overrides))?
        .map_err(|error| scenario_error(py, &error))?;
    Ok((files.into_iter())
        .map(|file| (file.name, file.set_by, file.kind.name()))
        .collect())
}

/// The one-line error that refuses the value at `path` with the reason `why`, and gives the place
/// where the value was written.
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

/// The engine's description of queue disciplines, applications and their measures, as JSON.
#[pyfunction]
pub(crate) fn describe() -> String {
    headend::description::describe()
}

/// The columns of every result table, by the table's name.
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
