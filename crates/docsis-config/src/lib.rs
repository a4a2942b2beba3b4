//! The configuration file of a cable modem (MULPI Annex C and D): from bytes to TLVs, and back to
//! the same bytes.
//!
//! [`file`] takes a file apart and puts it together again. [`table`] has the name, the form and the
//! unit of each TLV; all code that names, shows or checks a TLV reads them there. [`value`] puts
//! the bytes of a value into words, and words into bytes. [`mic`] verifies and makes the digests
//! that guard a file. [`text`] writes a whole file as TOML or JSON, and reads it back.
//!
//! The crate opens no file. It decodes any bytes: a value that does not fit its definition is kept
//! as bytes.

mod characters;
pub mod file;
pub mod mic;
mod quantity;
mod snmp;
pub mod table;
pub mod text;
pub mod value;

pub use file::{File, Tlv, Value};
pub use table::{
    Definition, Form, Kind, Model, definition, definition_in, definitions, find, find_in, names,
    table_json,
};
pub use text::{TextError, from_text, to_json, to_toml};
