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
    /// What it is.
    pub kind: FileKind,
}

/// What a file is that a scenario names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// Code, which will be executed.
    Code,
    /// The configuration file of a modem, which is small.
    Config,
    /// A trace or a capture.
    Data,
    /// Code whose text is in the scenario already, so that the file is not needed.
    EmbeddedCode,
}

impl FileKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Config => "config",
            Self::Data => "data",
            Self::EmbeddedCode => "embedded_code",
        }
    }
}

/// The text of the file that the key at `path` names.
pub(super) fn find_text<'a>(
    path: &str,
    name: &str,
    files: &'a BTreeMap<String, Vec<u8>>,
) -> Result<&'a str, ScenarioError> {
    let text = std::str::from_utf8(find_file(path, name, files)?);
    text.map_err(|_| ScenarioError::invalid(path, format!("the file \"{name}\" is no text")))
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
