//! The engine's modules stand on each other in one order, which docs/architecture.md explains.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the engine, from the ground up: a module imports only modules of earlier lines,
/// or of its own line to the left of it.
const LAYERS: [&[&str]; 11] = [
    &[
        "time",
        "units",
        "math",
        "rng",
        "student_t",
        "text",
        "named",
        "collection",
    ],
    &[
        "packet", "event", "flow", "notice", "trace", "line", "wire", "clock",
    ],
    &["metrics"],
    &["context"],
    &["endpoint", "congestion", "queue"],
    &["aqm"],
    &["qdisc"],
    &["tcp"],
    &["link", "traffic"],
    &["simulation", "description"],
    &["scenario"],
];

/// Modules with nothing but tests in them may import anything.
const FOR_TESTS: [&str; 1] = ["testing"];

/// The sources of the engine, tests left out.
fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                walk(&path, found);
            } else if name != "tests.rs" && name != "testing.rs" && name != "lib.rs" {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The module of the engine that a source belongs to.
fn module_of(source: &Path) -> String {
    let path = source.strip_prefix(root()).expect("below the root");
    let first = path.iter().next().expect("a file").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The modules of the engine that a source names, comments and tests left out.
fn imports(text: &str) -> BTreeSet<String> {
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let named = code.flat_map(|line| line.split("crate::").skip(1));
    named
        .map(|path| {
            let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            path[..end.unwrap_or(path.len())].to_owned()
        })
        .collect()
}

fn height(module: &str) -> Option<(usize, usize)> {
    LAYERS.iter().enumerate().find_map(|(layer, modules)| {
        let place = modules.iter().position(|&one| one == module)?;
        Some((layer, place))
    })
}

#[test]
fn a_module_imports_only_what_lies_below_it() {
    let sources = sources();
    assert!(sources.len() > 200, "{} sources", sources.len());
    let mut upward = Vec::new();
    for source in &sources {
        let module = module_of(source);
        let own = height(&module)
            .unwrap_or_else(|| panic!("{module} has no place in LAYERS ({})", source.display()));
        let text = fs::read_to_string(source).expect("a source is text");
        for import in imports(&text) {
            let Some(other) = height(&import) else {
                // A macro or an item of the crate's root is no module.
                assert!(
                    !FOR_TESTS.contains(&import.as_str()),
                    "{module} imports {import}"
                );
                continue;
            };
            if other > own {
                upward.push(format!("{module} imports {import} ({})", source.display()));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn every_layer_names_modules_that_exist() {
    let found: BTreeSet<String> = sources().iter().map(|source| module_of(source)).collect();
    let named: BTreeSet<String> = (LAYERS.iter().flat_map(|modules| modules.iter()))
        .map(|&module| module.to_owned())
        .collect();
    assert_eq!(
        named.difference(&found).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}
