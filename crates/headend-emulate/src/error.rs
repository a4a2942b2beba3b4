//! What cannot be done, in one sentence for a person.

use std::fmt;
use std::io;

/// Why a scenario cannot be emulated.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// "Cannot …: the system's words".
    pub(crate) fn of(what: &str, error: &io::Error) -> Self {
        Self(format!("cannot {what}: {}", describe(error)))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// The system's words for an error, without its number.
pub(crate) fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
