//! The engine as the Python module `headend._engine`: conversions only, no logic.
//!
//! The engine parses scenarios. A run advances in slices of wall-clock time, during which it does
//! not hold Python's lock. Its tables are returned as bytes and lists of text.
//!
//! An error in a scenario becomes `ScenarioError`, one in a modem's configuration file
//! `ConfigError`; a scenario that cannot be emulated `EmulationError`; a violated invariant of the
//! engine becomes `RunError`.

mod build;
mod custom;
mod emulation;
mod error;
mod modem_file;
mod parquet_file;
mod recording;
mod run;
mod scenario;
mod statistics;

use pyo3::prelude::*;

/// The engine of headend.
#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::build::build;
    #[pymodule_export]
    use super::custom::{
        AckSample, Backlog, CongestionSignal, Line, Packet, Random, cbrt, file_of_code,
        read_quantity,
    };
    #[pymodule_export]
    use super::emulation::Emulation;
    #[pymodule_export]
    use super::error::{ConfigError, EmulationError, RunError, ScenarioError};
    #[pymodule_export]
    use super::modem_file::{
        config_carry, config_defaults, config_from_text, config_mics, config_settings, config_sign,
        config_table, config_to_json, config_to_toml,
    };
    #[pymodule_export]
    use super::recording::{check_recording, read_recording};
    #[pymodule_export]
    use super::run::{Columns, Run};
    #[pymodule_export]
    use super::scenario::{
        Scenario, columns, describe, parse, reference, refuse, required_files, schema,
    };
    #[pymodule_export]
    use super::statistics::student_t_quantile;

    /// Scenarios may name control laws and congestion controls in Python files.
    #[pymodule_init]
    #[expect(clippy::unnecessary_wraps, reason = "the form that PyO3 asks for")]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::custom::provide();
        Ok(())
    }
}
