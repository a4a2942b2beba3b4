//! Runs the targets one after the other, each for a given time, and reports what was tried and what
//! failed.
//!
//! `headend-fuzz --seconds 60 --binaries FOLDER --folder FOLDER [TARGET…]`, from the repository's
//! folder. `make fuzz` calls it.

#![expect(clippy::print_stdout, reason = "this is what it says")]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use headend_fuzz::seeds;
use headend_fuzz::tally::{FOLDER, read_counts};
use headend_fuzz::targets::{Target, Tried};

/// The arguments of the command line.
struct Options {
    seconds: u64,
    binaries: PathBuf,
    folder: PathBuf,
    targets: Vec<Target>,
}

/// The longest inputs, in bytes.
const fn longest(target: Target) -> usize {
    match target {
        Target::Capture | Target::Frame => 8 * 1024,
        Target::ModemFile | Target::ModemFileRun => 512,
        Target::ModemFileText => 4 * 1024,
        Target::ScenarioRun | Target::ScenarioText => 16 * 1024,
        Target::Trace => 2 * 1024,
    }
}

fn main() -> ExitCode {
    let options = match read_arguments(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            println!("{what}");
            return ExitCode::from(2);
        }
    };
    let mut total = Tried::default();
    let mut failed = 0;
    for &target in &options.targets {
        match fuzz(target, &options) {
            Ok((tried, failures)) => {
                println!("{:<14} {}", target.name(), describe(&tried, failures.len()));
                for failure in &failures {
                    println!("  {failure}");
                }
                total.add(tried);
                failed += failures.len();
            }
            Err(error) => {
                println!("{}: {error}", target.name());
                return ExitCode::from(2);
            }
        }
    }
    println!("{:<14} {}", "all", describe(&total, failed));
    ExitCode::from(u8::from(failed > 0))
}

fn read_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        seconds: 60,
        binaries: PathBuf::new(),
        folder: PathBuf::from("target/fuzz"),
        targets: Vec::new(),
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--binaries" => options.binaries = value().into(),
            "--folder" => options.folder = value().into(),
            "--seconds" => {
                let text = value();
                let seconds = text.parse().ok().filter(|&seconds| seconds > 0);
                options.seconds = seconds.ok_or_else(|| {
                    format!("SECONDS: expected a whole number of seconds, found \"{text}\"")
                })?;
            }
            name => {
                let target = Target::ALL.into_iter().find(|target| target.name() == name);
                options.targets.push(target.ok_or_else(|| {
                    let names = Target::ALL.map(Target::name).join(", ");
                    format!("TARGET: expected one of {names}, found \"{name}\"")
                })?);
            }
        }
    }
    if options.targets.is_empty() {
        options.targets = Target::ALL.to_vec();
    }
    Ok(options)
}

/// Runs a target for its time, and starts it again if a failure ended it. Returns what was tried,
/// and a line for each failure.
fn fuzz(target: Target, options: &Options) -> io::Result<(Tried, Vec<String>)> {
    let folder = options.folder.join(target.name());
    let (found, seeded) = (folder.join("corpus"), folder.join("seeds"));
    fs::create_dir_all(&found)?;
    let _ = fs::remove_dir_all(&seeded);
    fs::create_dir_all(&seeded)?;
    for (number, seed) in seeds::of(target, Path::new("."))?.iter().enumerate() {
        fs::write(seeded.join(format!("{number:04}")), seed)?;
    }
    let words = folder.join("dictionary");
    fs::write(&words, seeds::dictionary())?;
    let kept = Path::new("fuzz/corpus").join(target.name());
    let started = wall_time();
    let end = now() + Duration::from_secs(options.seconds);
    let mut tried = Tried::default();
    for round in 0.. {
        let left = end.saturating_duration_since(now()).as_secs();
        if left == 0 && round > 0 {
            break;
        }
        let log = File::create(folder.join(format!("log-{round}")))?;
        let _ = fs::remove_file(folder.join(headend_fuzz::tally::COUNTS));
        let status = Command::new(options.binaries.join(target.name()))
            .args([&found, &seeded])
            .args(Some(&kept).filter(|kept| kept.is_dir()))
            .arg(format!("-max_total_time={}", left.max(1)))
            .arg(format!("-max_len={}", longest(target)))
            .arg(format!("-dict={}", words.display()))
            .arg(format!("-artifact_prefix={}/failure-", folder.display()))
            .args([
                "-timeout=20",
                "-rss_limit_mb=4096",
                "-malloc_limit_mb=2048",
                "-mutate_depth=1",
                "-len_control=0",
                "-entropic=0",
                "-reload=0",
            ])
            .env(FOLDER, &folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .status()?;
        tried.add(read_counts(&folder));
        if status.success() {
            break;
        }
    }
    Ok((tried, failures(&folder, started)?))
}

/// The number of characters of a message that are shown. The file beside the input holds the whole
/// message.
const LONGEST_SAID: usize = 300;

/// The failures since the given time, each with its message.
fn failures(folder: &Path, since: SystemTime) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_slow = name.starts_with("failure-slow-unit");
        let Some(place) = name.strip_prefix("failure-").filter(|_| !is_slow) else {
            continue;
        };
        if entry.metadata()?.modified()? >= since {
            let said = fs::read_to_string(folder.join(format!("said-{place}"))).unwrap_or_default();
            let said: Vec<&str> = said.lines().collect();
            let said: String = said.join(": ").chars().take(LONGEST_SAID).collect();
            lines.push(format!("{}: {said}", entry.path().display()));
        }
    }
    lines.sort();
    Ok(lines)
}

fn describe(tried: &Tried, failures: usize) -> String {
    let Tried {
        parses,
        accepted,
        runs,
        cut,
        skipped,
    } = tried;
    format!(
        "{parses} parses ({accepted} accepted), {runs} runs of two seconds ({cut} cut off, \
         {skipped} too large to try), {failures} failed"
    )
}

#[expect(
    clippy::disallowed_methods,
    reason = "wall time decides how long is fuzzed, never what is tried"
)]
fn now() -> Instant {
    Instant::now()
}

#[expect(
    clippy::disallowed_methods,
    reason = "tells the failures of this run from those of earlier ones"
)]
fn wall_time() -> SystemTime {
    SystemTime::now()
}
