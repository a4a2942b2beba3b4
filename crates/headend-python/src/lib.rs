//! The engine as the Python module `headend._engine`: conversions only, no logic.
//!
//! A scenario is parsed by the engine, a run is advanced in slices of wall-clock time without holding Python's lock, and its tables are handed
//! over as bytes and lists of text. What is wrong with a scenario becomes `ScenarioError`; a broken invariant of the engine becomes `RunError`.

mod build;
mod error;
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
    use super::error::{RunError, ScenarioError};
    #[pymodule_export]
    use super::run::{Columns, Run};
    #[pymodule_export]
    use super::scenario::{
        Scenario, columns, describe, parse, reference, refuse, required_files, schema,
    };
    #[pymodule_export]
    use super::statistics::student_t_quantile;
}
