//! Counts the inputs that were tried, and keeps those that failed.
//!
//! A failure does not end the fuzzer. One input is kept for each place in the source and message,
//! and the fuzzer goes on with the next input.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::targets::{Target, Tried};

/// The environment variable with the folder for counts and failures. If it is not set, a failure
/// ends the process.
pub const FOLDER: &str = "HEADEND_FUZZ_FOLDER";
/// The name of the file with the counts in that folder.
pub const COUNTS: &str = "counts";
/// The interval at which the counts are written.
const WRITTEN_EVERY: Duration = Duration::from_millis(500);

thread_local! {
    /// The place and the message of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The counts of a target so far.
#[derive(Debug)]
struct Tally {
    folder: PathBuf,
    tried: Tried,
    /// The number of failures, by place.
    failures: BTreeMap<String, u64>,
    written: Instant,
}

static TALLY: Mutex<Option<Tally>> = Mutex::new(None);

/// Starts to count. From then on, a panic is recorded and does not end the process. Must be called
/// once, before the first input.
pub fn begin() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let payload = text.unwrap_or("a panic");
        PANIC.set(format!("{place}\n{payload}"));
    }));
    *TALLY.lock().unwrap_or_else(PoisonError::into_inner) = Some(Tally {
        folder: PathBuf::from(folder),
        tried: Tried::default(),
        failures: BTreeMap::new(),
        written: now(),
    });
}

/// Tries an input. Returns whether the input is worth further mutation: it is not if it failed, or
/// if it is a scenario for runs that cannot be run.
pub fn attempt(target: Target, input: &[u8]) -> bool {
    let mut tally = TALLY.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(tally) = tally.as_mut() else {
        target.attempt(input);
        return true;
    };
    let result = panic::catch_unwind(|| target.attempt(input));
    if let Ok(tried) = result {
        tally.tried.add(tried);
    } else {
        tally.fail(input, &PANIC.take());
    }
    if tally.written.elapsed() >= WRITTEN_EVERY {
        tally.written = now();
        // If writing fails, the counts are written the next time.
        let _ = fs::write(tally.folder.join(COUNTS), counts(&tally.tried));
    }
    result.is_ok_and(|tried| tried.runs > 0 || target != Target::ScenarioRun)
}

impl Tally {
    /// Keeps the first and the shortest input of each place.
    fn fail(&mut self, input: &[u8], panic: &str) {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        // One assertion checks many columns, and its message starts with the name of the column:
        // the start of the message therefore counts as part of the place. Numbers in the message
        // depend on the input and are left out.
        let (place, said) = panic.split_once('\n').unwrap_or((panic, ""));
        let said = said.chars().filter(|c| !c.is_ascii_digit()).take(30);
        let name: String = place.chars().chain(['-']).chain(said).map(plain).collect();
        let count = self.failures.entry(name.clone()).or_default();
        *count += 1;
        let path = self.folder.join(format!("failure-{name}"));
        let is_shorter =
            |path: &Path| fs::metadata(path).is_ok_and(|file| input.len() as u64 >= file.len());
        if *count > 1 && is_shorter(&path) {
            return;
        }
        let mut said = panic.to_owned();
        let _ = writeln!(said);
        fs::write(&path, input).expect("failures can be written");
        fs::write(self.folder.join(format!("said-{name}")), said).expect("failures can be written");
    }
}

fn counts(tried: &Tried) -> String {
    let Tried {
        parses,
        accepted,
        runs,
        cut,
        skipped,
    } = tried;
    format!("{parses} {accepted} {runs} {cut} {skipped}\n")
}

/// The counts in the file [`COUNTS`].
pub fn read_counts(folder: &Path) -> Tried {
    let text = fs::read_to_string(folder.join(COUNTS)).unwrap_or_default();
    let mut numbers = text
        .split_whitespace()
        .map(|text| text.parse().unwrap_or_default());
    let mut next = || numbers.next().unwrap_or_default();
    Tried {
        parses: next(),
        accepted: next(),
        runs: next(),
        cut: next(),
        skipped: next(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "wall time decides when counts are written, never what is tried"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tally in a folder of the test's own.
    fn tally(name: &str) -> Tally {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("it can be made");
        Tally {
            folder,
            tried: Tried::default(),
            failures: BTreeMap::new(),
            written: now(),
        }
    }

    #[test]
    fn of_each_failure_the_shortest_input_is_kept() {
        let mut tally = tally("failures");
        tally.fail(b"long", "src/a.rs:7:5\nno 17 of 18");
        tally.fail(b"short input", "src/a.rs:7:5\nno 8 of 9");
        tally.fail(b"s", "src/a.rs:7:5\nno 5 of 6");
        tally.fail(b"other", "src/a.rs:7:5\nnone");
        let read = |name: &str| fs::read_to_string(tally.folder.join(name)).expect("it is kept");
        assert_eq!(read("failure-src_a_rs_7_5_no__of_"), "s");
        assert_eq!(
            read("said-src_a_rs_7_5_no__of_"),
            "src/a.rs:7:5\nno 5 of 6\n"
        );
        assert_eq!(read("failure-src_a_rs_7_5_none"), "other");
        assert_eq!(tally.failures.values().sum::<u64>(), 4);
        fs::remove_dir_all(&tally.folder).expect("it is the test's own");
    }

    #[test]
    fn counts_are_read_as_they_are_written() {
        let tally = tally("counts");
        let tried = Tried {
            parses: 5,
            accepted: 4,
            runs: 3,
            cut: 2,
            skipped: 1,
        };
        fs::write(tally.folder.join(COUNTS), counts(&tried)).expect("it can be written");
        assert_eq!(read_counts(&tally.folder), tried);
        fs::remove_dir_all(&tally.folder).expect("it is the test's own");
        assert_eq!(read_counts(&tally.folder), Tried::default());
    }
}
