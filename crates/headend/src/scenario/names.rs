//! Names that the author of a scenario gives, and names that refer to nothing.

use super::error::{Problem, ScenarioError};

/// Refuses a name that could not stand in a dotted path, in an expression or in results.
pub(super) fn check_name(path: &str, name: &str) -> Result<(), ScenarioError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(plain) {
        return Ok(());
    }
    let why = "a name begins with a letter and is made of letters, digits, \"_\" and \"-\"";
    Err(ScenarioError::invalid(path, why))
}

pub(super) fn unknown(
    path: impl Into<String>,
    what: &str,
    name: &str,
    known: Vec<String>,
) -> ScenarioError {
    let (what, name) = (what.to_owned(), name.to_owned());
    ScenarioError::at(path, Problem::UnknownName { what, name, known })
}
