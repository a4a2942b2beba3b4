//! A scenario's text as a tree, with overrides in place and the place of every key and value
//! remembered for errors.

mod custom;
mod errors;
mod json;
mod lines;
mod modem_files;
mod overrides;
mod toml;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::modem_files::{ModemFileRead, SetKey};
use super::error::{Origin, Problem, ScenarioError};
use super::flow::{empty_periods, fill_in_names};
use super::raw::Raw;

/// How a scenario is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON, as results hold it.
    Json,
    /// TOML, as people write it.
    Toml,
}

/// A replacement of one value: its dotted path, and its text.
///
/// The text is a TOML value if it reads as one (`"10 ms"`, `[1, 2]`, `true`), and otherwise stands
/// for itself (`10 ms`, `codel`).
pub type Override = (String, String);

impl Raw {
    /// Reads a scenario as it is written, with `overrides` in place. It is not checked.
    ///
    /// # Errors
    ///
    /// What keeps it from being read.
    pub fn parse(
        text: &str,
        format: Format,
        overrides: &[Override],
    ) -> Result<Self, ScenarioError> {
        Document::read(text, format, overrides, None)?.to_raw()
    }
}

/// A scenario's text as a tree, and where each of its keys and values stands.
#[derive(Debug)]
pub(super) struct Document {
    tree: Value,
    places: BTreeMap<String, Place>,
    /// The paths that overrides have written.
    overridden: Vec<String>,
    /// The keys that name a file with code, each with the file.
    codes: Vec<(String, String)>,
    /// What is to be known of the files of modems.
    notes: Vec<String>,
    /// What became of these files.
    modem_files_read: Vec<ModemFileRead>,
}

/// Where a key and its value stand.
#[derive(Debug, Clone)]
struct Place {
    key: Origin,
    value: Origin,
}

impl Document {
    /// Reads `text`, applies `overrides` one after the other, and then the files of modems. Without
    /// `files`, neither the files nor overrides of names that only files can have are applied.
    pub(super) fn read(
        text: &str,
        format: Format,
        overrides: &[Override],
        files: Option<&BTreeMap<String, Vec<u8>>>,
    ) -> Result<Self, ScenarioError> {
        let mut document = match format {
            Format::Json => Self::from_json(text)?,
            Format::Toml => Self::from_toml(text)?,
        };
        document.spell_out_codes();
        let of_files = document.override_all(overrides)?;
        if let Some(files) = files {
            document.read_modem_files(files, &of_files)?;
        }
        // Before names are filled in, which writes the same code to several flows.
        document.codes = document.find_codes();
        if let Some(files) = files {
            document.embed_codes(files)?;
        }
        if let Some(error) = empty_periods(&document.tree) {
            return Err(document.locate(error));
        }
        fill_in_names(&mut document.tree);
        Ok(document)
    }

    fn from_json(text: &str) -> Result<Self, ScenarioError> {
        Ok(Self::new(json::read(text)?, BTreeMap::new()))
    }

    fn new(tree: Value, places: BTreeMap<String, Place>) -> Self {
        Self {
            tree,
            places,
            overridden: Vec::new(),
            codes: Vec::new(),
            notes: Vec::new(),
            modem_files_read: Vec::new(),
        }
    }

    /// What is to be known of the files of modems, in the order of their keys.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What became of the files of modems, in the order of their keys.
    pub(super) fn modem_files_read(&self) -> &[ModemFileRead] {
        &self.modem_files_read
    }

    /// The typed scenario. Whether it makes sense is checked later.
    pub(super) fn to_raw(&self) -> Result<Raw, ScenarioError> {
        if self.tree.as_object().is_some_and(Map::is_empty) {
            let why = "an empty scenario: it needs a [link…] and a [flow…] at least";
            return Err(ScenarioError::new(Problem::Invalid(why.to_owned())));
        }
        serde_path_to_error::deserialize(&self.tree).map_err(|error| {
            let path = match error.path().to_string() {
                root if root == "." => String::new(),
                path => path,
            };
            self.locate(self.explain(&path, &error.into_inner().to_string()))
        })
    }

    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.')
            .try_fold(&self.tree, |tree, key| tree.get(key))
    }
}
