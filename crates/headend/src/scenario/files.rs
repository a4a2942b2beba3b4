//! Files that a scenario names. Whoever reads the scenario reads them; the engine opens none.

use std::collections::BTreeMap;

use super::error::ScenarioError;

/// A file that a scenario names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredFile {
    /// Its path, as it is written.
    pub name: String,
    /// The override that names it, as `PATH=VALUE`; `None` where the text does.
    pub set_by: Option<String>,
    /// It is the configuration file of a modem, which is small.
    pub is_config: bool,
}

/// The file that the key at `path` names.
pub(super) fn find_file<'a>(
    path: &str,
    name: &str,
    files: &'a BTreeMap<String, Vec<u8>>,
) -> Result<&'a [u8], ScenarioError> {
    let found = files.get(name).map(Vec::as_slice);
    found.ok_or_else(|| ScenarioError::invalid(path, format!("the file \"{name}\" cannot be read")))
}
