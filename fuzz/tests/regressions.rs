//! Inputs that once failed, and some of what the fuzzer begins with, tried again.

use std::fs;
use std::path::Path;

use headend_fuzz::mutate::Mutator;
use headend_fuzz::seeds;
use headend_fuzz::targets::{Target, Tried, split};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("it has one")
}

/// The inputs of a target that once failed.
fn kept(target: Target) -> Vec<(String, Vec<u8>)> {
    let folder = repository().join("fuzz/corpus").join(target.name());
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("it can be listed");
            let content = fs::read(entry.path()).expect("it can be read");
            (entry.file_name().to_string_lossy().into_owned(), content)
        })
        .collect();
    files.sort();
    files
}

fn try_kept(target: Target) {
    for (name, input) in kept(target) {
        eprintln!("{name}");
        let tried = target.attempt(&input);
        assert!(tried.parses > 0, "{name} is read");
    }
}

#[test]
fn captures_that_failed() {
    try_kept(Target::Capture);
}

#[test]
fn runs_that_failed() {
    try_kept(Target::ScenarioRun);
}

#[test]
fn texts_that_failed() {
    try_kept(Target::ScenarioText);
}

#[test]
fn traces_that_failed() {
    try_kept(Target::Trace);
}

/// What becomes of the seeds of a target.
fn sow(target: Target) -> (usize, Tried) {
    let seeds = seeds::of(target, repository()).expect("the repository can be read");
    let mut sum = Tried::default();
    for seed in &seeds {
        sum.add(target.attempt(seed));
    }
    (seeds.len(), sum)
}

#[test]
fn files_that_are_mutated_first_are_accepted() {
    let (count, tried) = sow(Target::Capture);
    assert!(
        count >= 9 && tried.runs >= count as u64,
        "{count} {tried:?}"
    );
    let (count, tried) = sow(Target::Trace);
    // A plain link takes them; a cable line gives grants, and refuses all.
    assert!(count >= 9 && tried.runs >= 4, "{count} {tried:?}");
}

#[test]
fn scenarios_that_are_mutated_first_are_many_and_accepted() {
    let (count, tried) = sow(Target::ScenarioText);
    assert!(count > 100, "{count}");
    assert!(tried.accepted * 10 > count as u64 * 8, "{count} {tried:?}");
}

#[test]
fn a_mutant_is_another_scenario_and_many_are_accepted() {
    let seeds = seeds::of(Target::ScenarioRun, repository()).expect("the repository can be read");
    let mut mutator = Mutator::default();
    let (mut others, mut sum) = (0, Tried::default());
    for (number, seed) in seeds.iter().cycle().take(300).enumerate() {
        let mutant = mutator.mutate(seed, number as u32);
        let mutant = mutant.expect("a seed is a scenario");
        others += u32::from(mutant != *seed);
        sum.add(Target::ScenarioText.attempt(&mutant));
    }
    assert!(others > 270, "{others} of 300 differ");
    assert!((30..300).contains(&sum.accepted), "{sum:?}");
    assert_eq!(Mutator::default().mutate(b"no scenario", 1), None);
}

#[test]
fn overrides_stand_behind_the_text() {
    let (text, _, overrides) = split("a = 1\0queue=codel\0b.c=x=y\0d");
    let found: Vec<_> = (overrides.iter())
        .map(|(path, value)| (path.as_str(), value.as_str()))
        .collect();
    assert_eq!(text, "a = 1");
    assert_eq!(found, [("queue", "codel"), ("b.c", "x=y"), ("d", "")]);
}
