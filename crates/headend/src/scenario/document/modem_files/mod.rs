//! Turns the files of modems into keys of a document, so that a modem with a file is exactly a
//! modem with these keys.
//!
//! A key that an override has written takes precedence over the file. So does a key that the text
//! writes beside the text's own `config`. A `config` that an override has written takes precedence
//! over the text.
//!
//! A file sets a service flow completely: a setting that it leaves out has the default of the
//! specification, whatever the scenario has. Settings that no file can hold stay those of the
//! scenario.

mod queue;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;

use docsis_config::File;
use docsis_config::mic::{self, State};
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::queue::show;
use self::writer::Writer;
use super::overrides::is_inside;
use super::{Document, Override, Place};
use crate::link::docsis::preset::Preset;
use crate::scenario::cable::modem::modem_file::{FileError, ModemFile};
use crate::scenario::error::{Origin, ScenarioError};
use crate::scenario::files::find_file;

/// A modem, or all modems of a line, with a file to be read.
#[derive(Debug, Clone)]
struct Target {
    /// The path of the line.
    line: String,
    /// The table with the key `config`: the line, or one of its modems.
    table: String,
    file: String,
    /// An override names the file.
    is_override: bool,
    /// Tables that get its further service flows: a line does not give them to modems that have
    /// a file of their own.
    further: Vec<String>,
    /// Of a modem whose line has a file too: the line's `upstream` and `downstream` before that
    /// file was read. The modem has its own file in place of it.
    line_before: Option<Arc<[Value; 2]>>,
    /// What stands in the document is of a file that was read before, and another file is named.
    is_exchanged: bool,
}

/// What became of a modem's file: the keys that it set, and what it could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModemFileRead {
    /// The key that names the file.
    pub key: String,
    /// The file, as it is named.
    pub file: String,
    /// The keys that have their values from it.
    pub set: Vec<SetKey>,
    /// How many more such keys there are.
    pub more: usize,
    /// Keys of the scenario that it replaces, each with both values.
    pub replaced: Vec<String>,
    /// Keys of the scenario that go before it, each with both values.
    pub kept: Vec<String>,
    /// What else is to be known, such as what is not simulated: clauses.
    pub notes: Vec<String>,
}

/// A key that has its value from a modem's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetKey {
    /// Its path in the line.
    pub key: String,
    /// The value.
    pub value: String,
    /// The TLV that says so: its names and its numbers.
    pub tlv: String,
}

/// Keys of one file that are listed.
const MOST_SET: usize = 200;

/// Sentences about files, each with the keys of the modems that it is about.
type Notes = Vec<(String, Vec<String>)>;

impl Document {
    /// The keys that name a modem's file that is still to be read, with the file's name.
    pub(in crate::scenario) fn modem_files(&self) -> Vec<(String, String)> {
        let targets = self.targets().into_iter();
        targets
            .map(|target| (format!("{}.config", target.table), target.file))
            .collect()
    }

    /// Applies the files, and then the overrides `of_files`, whose names only a file can have.
    pub(super) fn read_modem_files(
        &mut self,
        files: &BTreeMap<String, Vec<u8>>,
        of_files: &[Override],
    ) -> Result<(), ScenarioError> {
        let mut notes = Notes::new();
        let mut queues = Vec::new();
        let mut read = Vec::new();
        for target in self.targets() {
            let key = format!("{}.config", target.table);
            let bytes = find_file(&key, &target.file, files).map_err(|error| self.locate(error))?;
            let preset = self.preset(&target.line);
            let file = ModemFile::read(bytes, preset).map_err(|error| {
                refuse_file(&key, &target.file, name_check(error, &target.file))
            })?;
            let is_stale = is_changed_after_signing(bytes);
            if is_stale && !self.ignores_mic(&target) {
                let why = FileError {
                    place: None,
                    why: refuse_mic(&target.file, &target.table),
                };
                return Err(refuse_file(&key, &target.file, why));
            }
            let mut writer = Writer::new(self, &target, preset, of_files, &mut queues);
            writer.write(file)?;
            let mut sentences = writer.sentences();
            if is_stale {
                sentences.push(format!("{}: {STALE}", target.file));
            }
            read.push((target.clone(), writer.into_read(&key)));
            self.set(&format!("{}.config_read", target.table), json!(true), None);
            for sentence in sentences {
                match notes.iter_mut().find(|(known, _)| *known == sentence) {
                    Some((_, keys)) => keys.push(key.clone()),
                    None => notes.push((sentence, vec![key.clone()])),
                }
            }
        }
        for (path, text) in of_files {
            self.replace(path, text)?;
        }
        // A discipline that an override names gets the buffer of the file.
        for queue in queues {
            if self.is_overridden(&queue.path) {
                self.fill_queue(&queue);
            }
        }
        for (target, one) in &mut read {
            self.list_set(target, one);
        }
        self.modem_files_read = read.into_iter().map(|(_, one)| one).collect();
        self.notes = notes.into_iter().map(sentence_with_keys).collect();
        Ok(())
    }

    /// Whether the integrity check of a modem's file does not matter.
    fn ignores_mic(&self, target: &Target) -> bool {
        let is_set = |table: &str| self.at(&format!("{table}.ignore_mic")) == Some(&json!(true));
        is_set(&target.table) || is_set(&target.line)
    }

    /// Lists the keys that have their values from a file.
    fn list_set(&self, target: &Target, read: &mut ModemFileRead) {
        let modems = format!("{}.modem", target.line);
        let is_own = |path: &str| {
            let is_of_modem = |table: &String| is_inside(path, table);
            target.further.iter().any(is_of_modem)
                || is_inside(path, &target.table) && !is_inside(path, &modems)
        };
        let mark = format!("{}: ", target.file);
        let from_file = |place: &Place| match &place.value {
            Origin::File(text) => text.strip_prefix(&mark).map(str::to_owned),
            _ => None,
        };
        let found: Vec<(&String, String)> = (self.places.iter())
            .filter(|(path, _)| !path.contains('[') && is_own(path))
            .filter_map(|(path, place)| Some((path, from_file(place)?)))
            .collect();
        // The keys of a table stand right behind it.
        let holds_next = |index: usize| {
            let next = found.get(index + 1);
            next.is_some_and(|(next, _)| is_inside(next, found[index].0))
        };
        let own = found.iter().enumerate();
        let own = own.filter(|(index, _)| !holds_next(*index));
        for (_, (path, tlv)) in own {
            if read.set.len() == MOST_SET {
                read.more += 1;
                continue;
            }
            let key = path.strip_prefix(&target.line).unwrap_or(path);
            read.set.push(SetKey {
                key: key.trim_start_matches('.').to_owned(),
                value: self.at(path).map(show).unwrap_or_default(),
                tlv: tlv.clone(),
            });
        }
    }

    /// Modems whose files are still to be read, lines before their modems.
    fn targets(&self) -> Vec<Target> {
        let mut found = Vec::new();
        for line in self.cable_lines() {
            let modems = self
                .at(&line)
                .and_then(|line| line.get("modem")?.as_object());
            let modems: Vec<String> = (modems.into_iter().flat_map(Map::keys))
                .map(|name| format!("{line}.modem.{name}"))
                .collect();
            let has_none = |modem: &&String| self.at(&format!("{modem}.config")).is_none();
            let further = match modems.as_slice() {
                [] => vec![line.clone()],
                modems => modems.iter().filter(has_none).cloned().collect(),
            };
            let of_line = self.target(&line, &line, further);
            let before = of_line.as_ref().map(|_| {
                let table = |table| self.at(&format!("{line}.{table}")).cloned();
                Arc::new(["upstream", "downstream"].map(|name| table(name).unwrap_or_default()))
            });
            found.extend(of_line);
            for modem in &modems {
                let target = self.target(&line, modem, vec![modem.clone()]);
                found.extend(target.map(|target| Target {
                    line_before: before.clone(),
                    ..target
                }));
            }
        }
        found
    }

    fn target(&self, line: &str, table: &str, further: Vec<String>) -> Option<Target> {
        let key = format!("{table}.config");
        let file = self.at(&key)?.as_str()?.to_owned();
        let is_override = self.is_overridden(&key);
        let is_read = self.at(&format!("{table}.config_read")) == Some(&Value::Bool(true));
        (is_override || !is_read).then(|| Target {
            line: line.to_owned(),
            table: table.to_owned(),
            file,
            is_override,
            further,
            line_before: None,
            is_exchanged: is_read,
        })
    }

    /// The generation of a line. An invalid one counts as the default here, and is refused later.
    fn preset(&self, line: &str) -> Preset {
        let written = self.at(&format!("{line}.preset")).cloned();
        let preset = written.and_then(|preset| serde_json::from_value(preset).ok());
        preset.unwrap_or_default()
    }

    /// Whether an override has written the value at `path`, or a table around it.
    pub(super) fn is_set_whole(&self, path: &str) -> bool {
        let holds = |other: &String| other == path || is_inside(path, other);
        self.overridden.iter().any(holds)
    }

    /// Whether an override has written the value at `path`, a part of it, or a table around it.
    pub(super) fn is_overridden(&self, path: &str) -> bool {
        self.is_set_whole(path) || self.overridden.iter().any(|other| is_inside(other, path))
    }

    /// Sets a value that a file gives. Where a value that is no table stands on the path, nothing
    /// is set; that value is refused later.
    pub(super) fn set(&mut self, path: &str, value: Value, place: Option<Place>) {
        let (around, key) = path.rsplit_once('.').unwrap_or(("", path));
        let table = around.split('.').try_fold(&mut self.tree, |tree, key| {
            let entries = tree.as_object_mut()?;
            Some(entries.entry(key).or_insert_with(|| json!({})))
        });
        let Some(table) = table.and_then(Value::as_object_mut) else {
            return;
        };
        table.insert(key.to_owned(), value);
        self.forget_inside(path);
        match place {
            Some(place) => self.places.insert(path.to_owned(), place),
            None => self.places.remove(path),
        };
    }

    pub(super) fn remove(&mut self, path: &str) {
        let (around, key) = path.rsplit_once('.').unwrap_or(("", path));
        let pointer = format!("/{}", around.replace('.', "/"));
        let table = self
            .tree
            .pointer_mut(&pointer)
            .and_then(Value::as_object_mut);
        if let Some(table) = table {
            table.shift_remove(key);
        }
        self.forget_inside(path);
        self.places.remove(path);
    }

    /// Forgets the places of all values in the value at `path`.
    fn forget_inside(&mut self, path: &str) {
        let from = self.places.range(path.to_owned()..);
        let alike = from
            .map(|(other, _)| other)
            .take_while(|other| other.starts_with(path));
        let inside: Vec<String> = alike
            .filter(|other| is_inside(other, path))
            .cloned()
            .collect();
        for other in inside {
            self.places.remove(&other);
        }
    }
}

/// Whether the CM MIC of a file is not that of its content. Files without one are those that a
/// provisioning server signs later. The CMTS MIC cannot be checked without its secret.
fn is_changed_after_signing(bytes: &[u8]) -> bool {
    let mics = mic::verify(&File::decode(bytes), None);
    mics.is_ok_and(|mics| matches!(mics.cm.state, State::Stale | State::Wrong))
}

/// What is said of a file whose CM MIC is wrong, and that is simulated.
const STALE: &str = "its CM MIC (TLV 6) is not that of its content: a modem refuses this file, and \
                     no line has these settings";

fn refuse_mic(file: &str, table: &str) -> String {
    format!(
        "expected a CM MIC (TLV 6) that fits the content, found another one, so that a modem \
         refuses the file; `headend config check {file}` says more, and {table}.ignore_mic = true \
         simulates it as it is"
    )
}

/// The error of a TLV, with the command that lists all findings of a file.
fn name_check(mut error: FileError, file: &str) -> FileError {
    if error.place.is_some() {
        let more = format!("; `headend config check {file}` lists what is wrong with the file");
        error.why.push_str(&more);
    }
    error
}

/// The error of a file, with its place.
fn refuse_file(key: &str, file: &str, error: FileError) -> ScenarioError {
    let place = match error.place {
        Some(place) => format!("{file}: {place}"),
        None => file.to_owned(),
    };
    ScenarioError::invalid(key, error.why).with_origin(Some(Origin::File(place)))
}

/// The most keys that a warning names.
const MOST_NAMED: usize = 3;

fn sentence_with_keys((sentence, keys): (String, Vec<String>)) -> String {
    let named = keys[..keys.len().min(MOST_NAMED)].join(", ");
    match keys.len() {
        0..=MOST_NAMED => format!("{named}: {sentence}"),
        many => format!("{named} and {} more: {sentence}", many - MOST_NAMED),
    }
}
