//! Tries again the inputs that once failed, and some of the fuzzer's seeds.

use std::fs;
use std::path::{Path, PathBuf};

use headend_fuzz::mutate::{Mutator, mutate_in_place};
use headend_fuzz::mutate_file::{mutate_file, mutate_file_text};
use headend_fuzz::seeds;
use headend_fuzz::targets::{Target, Tried, modem_file, split};

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("it has one")
}

/// The entries of a folder, of which there is at least one.
fn list(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} holds inputs", folder.display());
    paths
}

#[test]
fn inputs_that_failed() {
    for folder in list(&repository().join("fuzz/corpus")) {
        let is_of = |target: &Target| folder.ends_with(target.name());
        let target = Target::ALL.into_iter().find(is_of);
        let target = target.unwrap_or_else(|| panic!("{folder:?} is named after a target"));
        for path in list(&folder) {
            eprintln!("{path:?}");
            let input = fs::read(&path).expect("it can be read");
            let tried = target.attempt(&input);
            assert!(tried.parses > 0, "{path:?} is read");
        }
    }
}

/// The number of seeds of a target, and the counts for them.
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
    // A plain link accepts the traces of opportunities. A cable line has grants in place of them,
    // and refuses all.
    assert!(count >= 9 && tried.runs >= 4, "{count} {tried:?}");
}

#[test]
fn frames_and_recordings_that_are_mutated_first_are_read() {
    let (count, tried) = sow(Target::Frame);
    assert!(
        count >= 9 && tried.accepted >= count as u64,
        "{count} {tried:?}"
    );
    assert_eq!(tried.parses, 3 * count as u64);
}

#[test]
fn modems_files_that_are_mutated_first_are_signed_and_their_texts_are_read() {
    let (count, tried) = sow(Target::ModemFile);
    // The last but two does not fit, and the last is an MTA's.
    assert!(
        count > 9 && tried.accepted + 5 > count as u64,
        "{count} {tried:?}"
    );
    // Nearly all have more than eight bytes, and are also read cut off at eight places or more.
    assert!(tried.parses > 8 * count as u64, "{count} {tried:?}");
    let (texts, tried) = sow(Target::ModemFileText);
    assert!(
        texts > 2 * count && tried.accepted >= 2 * count as u64,
        "{texts} {tried:?}"
    );
}

#[test]
fn a_scenario_whose_modem_has_a_file_is_run() {
    let tried = Target::ModemFileRun.attempt(&modem_file());
    assert_eq!((tried.accepted, tried.runs), (2, 2));
    let (count, tried) = sow(Target::ModemFileRun);
    assert_eq!(tried.parses, 2 * count as u64);
    assert!(tried.runs > count as u64, "{count} {tried:?}");
}

#[test]
fn a_mutant_of_a_modems_file_is_another_file() {
    let seeds = seeds::of(Target::ModemFile, repository()).expect("the repository can be read");
    let (mut others, mut texts, mut signed) = (0, 0, 0);
    for (number, seed) in seeds.iter().cycle().take(3000).enumerate() {
        let mutant = mutate_file(seed, number as u32);
        others += u32::from(mutant != *seed);
        signed += Target::ModemFile.attempt(&mutant).accepted;
        let text = docsis_config::text::to_toml(&docsis_config::File::decode(seed));
        let mutant = mutate_file_text(text.as_bytes(), number as u32);
        let mutant = mutant.expect("the text of a file is one");
        texts += Target::ModemFileText.attempt(&mutant).accepted;
    }
    assert!(others > 2500, "{others} of 3000 differ");
    assert!(signed > 2000, "{signed} of 3000 are signed");
    assert_eq!(texts, 3000);
    assert_eq!(mutate_file_text(b"no text of a file", 1), None);
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
    for (number, seed) in seeds.iter().cycle().take(3000).enumerate() {
        let mutant = mutator.mutate(seed, number as u32);
        let mutant = mutant.expect("a seed is a scenario");
        others += u32::from(mutant != *seed);
        sum.add(Target::ScenarioText.attempt(&mutant));
    }
    assert!(others > 2700, "{others} of 3000 differ");
    assert!((300..3000).contains(&sum.accepted), "{sum:?}");
    assert_eq!(Mutator::default().mutate(b"no scenario", 1), None);
}

#[test]
fn a_scenario_is_put_in_place_of_another_only_where_it_has_room() {
    let seed = b"duration = \"1 s\"";
    let mut data = [0; 4096];
    data[..seed.len()].copy_from_slice(seed);
    let before = data;
    assert_eq!(mutate_in_place(&mut data, seed.len(), 1, 1), None);
    assert_eq!(mutate_in_place(&mut data, 1, 4096, 1), None);
    assert_eq!(data, before);
    let length = mutate_in_place(&mut data, seed.len(), 4096, 1).expect("it has room");
    assert!(data[..length].starts_with(b"{") && data[length - 1] == b'}');
    assert_eq!(data[length..], before[length..]);
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
