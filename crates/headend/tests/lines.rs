//! No line of Rust is longer than 100 columns. rustfmt leaves comments and strings as they are.
//!
//! The descriptions in the JSON Schema have the line breaks of the doc comments. Reflowing the
//! doc comment of a key therefore changes docs/reference/scenario.schema.json.

use std::fs;
use std::path::{Path, PathBuf};

const COLUMNS: usize = 100;

/// The Rust sources in a folder and in those below it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                found.extend(sources(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn no_line_has_more_than_100_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut long = Vec::new();
    for folder in ["benches", "crates", "fuzz"] {
        for source in sources(&root.join(folder)) {
            let text = fs::read_to_string(&source).expect("a source is text");
            let path = source.strip_prefix(&root).expect("below the root");
            for (index, line) in text.lines().enumerate() {
                let columns = line.chars().count();
                if columns > COLUMNS {
                    long.push(format!("{}:{}: {columns}", path.display(), index + 1));
                }
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}
