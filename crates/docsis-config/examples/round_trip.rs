//! Checks that each file comes back from its TOML and from its JSON with the same bytes.
//!
//! `cargo run -p docsis-config --example round_trip -- FOLDER…` takes every file below the folders
//! whose name ends like that of a configuration file, and leaves out those that are text: source
//! texts for encoders have such names as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use docsis_config::{File, from_text, to_json, to_toml};

/// How the names of files of the public collections end.
const ENDS: &[&str] = &[".cm", ".bin", ".cmbroken", ".zero", ".non_zero", ".cfg"];

fn main() -> ExitCode {
    let mut paths = Vec::new();
    for folder in std::env::args().skip(1) {
        find(Path::new(&folder), &mut paths);
    }
    paths.sort();
    let mut exact = 0;
    let mut raw = 0;
    let mut report = Vec::new();
    let mut count = 0;
    let mut different = BTreeSet::new();
    for path in &paths {
        let bytes = std::fs::read(path).expect("the file can be read");
        if bytes
            .iter()
            .all(|byte| matches!(byte, 9 | 10 | 13 | 32..127))
        {
            continue;
        }
        count += 1;
        different.insert(bytes.clone());
        let file = File::decode(&bytes);
        raw += usize::from(!file.rest.is_empty());
        let mut faults = Vec::new();
        for (form, text) in [("TOML", to_toml(&file)), ("JSON", to_json(&file))] {
            match from_text(&text) {
                Ok(read) if read.encode() == bytes => {}
                Ok(_) => faults.push(format!("{form} has other bytes")),
                Err(error) => faults.push(format!("{form} is not read: {error}")),
            }
        }
        if faults.is_empty() {
            exact += 1;
        } else {
            report.push(format!("{}: {}\n", path.display(), faults.join("; ")));
        }
    }
    report.push(format!(
        "{exact} of {count} files ({} different) are exact; {raw} end in bytes that are no TLV
",
        different.len()
    ));
    std::io::Write::write_all(&mut std::io::stdout(), report.concat().as_bytes())
        .expect("it is written");
    ExitCode::from(u8::from(exact < count))
}

fn find(path: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else {
        paths.push(path.to_owned());
        return;
    };
    for entry in entries.flatten().map(|entry| entry.path()) {
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if entry.is_dir() || ENDS.iter().any(|end| name.ends_with(end)) {
            find(&entry, paths);
        }
    }
}
