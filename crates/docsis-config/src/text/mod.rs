//! A configuration file as text that people and programs read, and back to the same bytes.
//!
//! [`to_toml`] is for people: names, quantities with units, comments. [`to_json`] is for programs:
//! each TLV with its path, offset, bytes and value. [`from_text`] reads either. Both give back
//! every file exactly: a value that has no other spelling is written as bytes (`"0x0a0b"`).

mod error;
mod read_json;
mod read_toml;
mod scope;
mod write_json;
mod write_toml;

pub use error::TextError;
pub use read_json::from_json;
pub use read_toml::from_toml;
pub use write_json::to_json;
pub use write_toml::to_toml;

use crate::file::File;

/// Reads TOML or JSON: JSON begins with a brace.
///
/// # Errors
///
/// If the text is neither, has a name that is not in the table, or a value that does not fit.
pub fn from_text(text: &str) -> Result<File, TextError> {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    if start.is_empty() {
        Err(TextError::new("", "an empty text", "TOML or JSON"))
    } else if is_of_docsis(start) {
        let expected = "TOML or JSON: make the binary file of it with the encoder that it is for, \
                        and decode that";
        Err(TextError::new("", "the text of another encoder", expected))
    } else if start.starts_with('{') {
        from_json(text)
    } else {
        from_toml(text)
    }
}

/// Whether a text begins like those of the encoder `docsis`.
fn is_of_docsis(text: &str) -> bool {
    let behind = text.strip_prefix("Main");
    behind.is_some_and(|behind| behind.trim_start().starts_with('{'))
}
