//! Verifies the message integrity checks of every file in folders, counts what was found, and says
//! which files with right digests are other bytes when they are signed again.
//!
//! `cargo run -p docsis-config --example mics -- [--secret SECRET] FOLDER…`. The files are those
//! whose names end as configuration files' do. Files of the same bytes are counted once.

#![expect(clippy::print_stdout, reason = "this is what it says")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use docsis_config::File;
use docsis_config::mic::{State, Which, sign, verify};

/// The ends of the names of configuration files.
const ENDS: [&str; 7] = ["bin", "cfg", "cm", "cmbroken", "failed", "non_zero", "zero"];

fn main() -> io::Result<()> {
    let mut secret = "DOCSIS".to_owned();
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--secret" {
            secret = arguments.next().unwrap_or_default();
        } else {
            visit(Path::new(&argument), &mut paths)?;
        }
    }
    paths.sort();
    let mut seen = BTreeSet::new();
    let mut counts: BTreeMap<_, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        let bytes = fs::read(&path)?;
        if !seen.insert(bytes.clone()) {
            continue;
        }
        let file = File::decode(&bytes);
        let states = match verify(&file, Some(secret.as_bytes())) {
            Ok(mics) => {
                let is_right = [&mics.cm, &mics.cmts].map(|mic| mic.state == State::Right);
                let again = sign(&file, Which::All(secret.as_bytes()));
                if is_right == [true; 2] && again.as_ref() != Ok(&file) {
                    println!("signed again it is another file: {}", path.display());
                }
                let extended = mics.extended.map(|extended| extended.finding.state.name());
                let extended = extended.unwrap_or("none");
                let [cm, cmts] = [mics.cm.state.name(), mics.cmts.state.name()];
                format!(
                    "CM MIC {cm}, CMTS MIC {cmts} ({}), extended MIC {extended}",
                    mics.cmts.why
                )
            }
            Err(error) => error.to_string(),
        };
        counts.entry(states).or_default().push(path);
    }
    for (states, paths) in counts {
        println!("{:>4}  {states}", paths.len());
        for path in paths.iter().take(3) {
            println!("      {}", path.display());
        }
    }
    Ok(())
}

fn visit(path: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            visit(&entry?.path(), paths)?;
        }
        return Ok(());
    }
    let end = path.extension().and_then(|end| end.to_str());
    if end.is_some_and(|end| ENDS.contains(&end)) {
        paths.push(path.to_owned());
    }
    Ok(())
}
