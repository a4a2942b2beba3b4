//! The engine's modules stand on each other in one order, which docs/architecture.md explains, and
//! no files of a crate import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
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
        "custom",
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

/// Files that may lie on a circle, by crate and module. The type of a queue is recursive: the
/// parameters of DRR and SFQ hold one.
const RECURSIVE: [(&str, &str); 1] = [("headend", "qdisc::config")];

/// The names of a module, from the root of its crate on.
type Module = Vec<String>;

/// The modules of a crate, those of tests left out.
#[derive(Default)]
struct Crate {
    /// By module: its code, comments and tests left out.
    code: BTreeMap<Module, String>,
    /// By module and name: the module that a `use` takes this name from.
    exported: BTreeMap<(Module, String), Module>,
}

impl Crate {
    fn read(name: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{name}/src"));
        let mut found = Self::default();
        for file in sources(&root) {
            let text = fs::read_to_string(&file).expect("a source is text");
            let path = file.strip_prefix(&root).expect("below the root");
            let path = path.with_extension("");
            let mut module: Module = (path.iter())
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            module.pop_if(|name| name == "mod" || name == "lib");
            found.code.insert(module, code_of(&text));
        }
        for (module, code) in &found.code {
            for statement in code.split("use ").skip(1) {
                for path in paths(statement.split(';').next().unwrap_or_default()) {
                    if let Some((from, Some(name))) = found.resolve(module, &path) {
                        found.exported.insert((module.clone(), name), from);
                    }
                }
            }
        }
        found
    }

    /// The module that a path within a module leads to, and the item that it names there.
    fn resolve(&self, within: &Module, path: &[String]) -> Option<(Module, Option<String>)> {
        let mut module = within.clone();
        for (place, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => module.clear(),
                "self" if place == 0 => {}
                "super" => {
                    module.pop()?;
                }
                _ => {
                    module.push(name.clone());
                    if !self.code.contains_key(&module) {
                        module.pop();
                        return Some((module, Some(name.clone())));
                    }
                }
            }
        }
        Some((module, None))
    }

    /// The modules that a module takes something from by a path from the root, or from a module
    /// around it.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let mut found = BTreeSet::new();
        for path in written_paths(&self.code[module]) {
            let Some((mut from, mut name)) = self.resolve(module, &path) else {
                continue;
            };
            while let Some(item) = name.take() {
                if let Some(further) = self.exported.get(&(from.clone(), item.clone()))
                    && *further != from
                {
                    from.clone_from(further);
                    name = Some(item);
                }
            }
            if from != *module {
                found.insert(from);
            }
        }
        found
    }
}

/// The sources in a folder and in those below it, tests left out.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().unwrap_or_default();
        if name == "tests" || name == "testing" {
        } else if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a source, comments and tests left out.
fn code_of(text: &str) -> String {
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// The paths in some code that begin with `crate` or `super`.
fn written_paths(code: &str) -> impl Iterator<Item = Vec<String>> {
    let places = ["crate::", "super::"].map(|root| code.match_indices(root));
    let places = places.into_iter().flatten().map(|(place, _)| place);
    let first = places.filter(|&place| {
        let before = code[..place].chars().next_back();
        before.is_none_or(|letter| !is_of_name(letter) && letter != ':')
    });
    first.flat_map(|place| paths(&code[place..]))
}

/// The path that a text begins with, or the paths of a group of them.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    read_paths(text, &mut Vec::new(), &mut found);
    found
}

/// Reads a path, or a group of paths, that goes on after `before`. Returns the text behind it.
fn read_paths<'a>(
    text: &'a str,
    before: &mut Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> &'a str {
    let depth = before.len();
    let mut text = text.trim_start();
    loop {
        if let Some(group) = text.strip_prefix('{') {
            text = group.trim_start();
            while !text.is_empty() && !text.starts_with('}') {
                let rest = read_paths(text, before, found);
                // What is no path, such as `as name`, ends with the next comma of the group.
                let end = rest.find([',', '}']).unwrap_or(rest.len());
                text = rest[end..].trim_start_matches(',').trim_start();
            }
            text = text.strip_prefix('}').unwrap_or(text);
            break;
        }
        let end = text.find(|letter| !is_of_name(letter));
        let (name, rest) = text.split_at(end.unwrap_or(text.len()));
        before.extend((!name.is_empty()).then(|| name.to_owned()));
        text = rest;
        match text.strip_prefix("::") {
            Some(further) if !name.is_empty() => text = further,
            _ => {
                found.push(before.clone());
                break;
            }
        }
    }
    before.truncate(depth);
    text
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

fn height(module: &str) -> Option<(usize, usize)> {
    LAYERS.iter().enumerate().find_map(|(layer, modules)| {
        let place = modules.iter().position(|&one| one == module)?;
        Some((layer, place))
    })
}

#[test]
fn a_module_imports_only_what_lies_below_it() {
    let engine = Crate::read("headend");
    assert!(engine.code.len() > 200, "{} modules", engine.code.len());
    let mut upward = Vec::new();
    for module in engine.code.keys().filter(|module| !module.is_empty()) {
        let own = height(&module[0])
            .unwrap_or_else(|| panic!("{} has no place in LAYERS", module.join("::")));
        for path in written_paths(&engine.code[module]) {
            let is_for_tests = path.starts_with(&["crate".to_owned(), "testing".to_owned()]);
            assert!(!is_for_tests, "{} imports `testing`", module.join("::"));
        }
        for import in engine.imports(module) {
            // An item of the crate's root is no module.
            if import
                .first()
                .is_some_and(|other| height(other) > Some(own))
            {
                upward.push(format!(
                    "{} imports {}",
                    module.join("::"),
                    import.join("::")
                ));
            }
        }
    }
    assert!(upward.is_empty(), "{upward:#?}");
}

#[test]
fn every_layer_names_modules_that_exist() {
    let engine = Crate::read("headend");
    let found = engine.code.keys().filter_map(|module| module.first());
    let found: BTreeSet<&str> = found.map(String::as_str).collect();
    let named: BTreeSet<&str> = LAYERS.iter().copied().flatten().copied().collect();
    assert_eq!(named, found);
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let mut circles = Vec::new();
    for name in [
        "docsis-config",
        "headend",
        "headend-emulate",
        "headend-python",
    ] {
        let found = Crate::read(name);
        assert!(found.code.len() > 5, "{name}: {} modules", found.code.len());
        let may_lie_on_one =
            |module: &Module| RECURSIVE.contains(&(name, module.join("::").as_str()));
        let imports: BTreeMap<&Module, BTreeSet<Module>> = (found.code.keys())
            .filter(|module| !may_lie_on_one(module))
            .map(|module| (module, found.imports(module)))
            .collect();
        let reaches_itself = |module: &Module| {
            let mut reached = BTreeSet::new();
            let mut open = vec![module];
            while let Some(next) = open.pop() {
                let further = imports.get(next).into_iter().flatten();
                open.extend(further.filter(|&other| reached.insert(other)));
            }
            reached.contains(module)
        };
        let on_circles = imports.keys().filter(|module| reaches_itself(module));
        circles.extend(on_circles.map(|module| format!("{name}: {}", module.join("::"))));
    }
    assert!(circles.is_empty(), "{circles:#?}");
}
