//! What is wrong with a scenario, in one line: which key, where, what was found, what is expected,
//! and what was perhaps meant.

use std::fmt;

use crate::text::{escape, shorten};

/// A scenario that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.line_of_text())]
pub struct ScenarioError {
    path: Option<String>,
    origin: Option<Origin>,
    problem: Box<Problem>,
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// On the command line, or wherever overrides come from: `PATH=VALUE` as it was given.
    Override(String),
    /// In a file that the scenario names: the file, and the place in it.
    File(String),
    /// In the scenario's text; both count from 1, columns in characters.
    Text {
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A value that can be read but not used; a clause that says why.
    Invalid(String),
    /// A key that must be there is not.
    Missing {
        /// The key.
        key: String,
    },
    /// The text is not TOML (or JSON).
    Syntax(String),
    /// A value of the wrong kind.
    Unexpected {
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A key that means nothing here.
    UnknownKey {
        /// The key.
        key: String,
        /// What would mean something.
        known: Vec<String>,
    },
    /// A name that refers to nothing.
    UnknownName {
        /// What it should name, such as "link"; empty where the key says it.
        what: String,
        /// The name.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
}

impl ScenarioError {
    /// `problem`, not yet tied to a place.
    pub fn new(problem: Problem) -> Self {
        Self {
            path: None,
            origin: None,
            problem: Box::new(problem),
        }
    }

    /// `problem` with the key at `path`.
    pub fn at(path: impl Into<String>, problem: Problem) -> Self {
        Self {
            path: Some(path.into()),
            ..Self::new(problem)
        }
    }

    /// The value at `path` cannot be used: `why` is a clause.
    pub(crate) fn invalid(path: impl Into<String>, why: impl Into<String>) -> Self {
        Self::at(path, Problem::Invalid(why.into()))
    }

    /// The same error, written at `origin`.
    #[must_use]
    pub(crate) fn with_origin(mut self, origin: Option<Origin>) -> Self {
        self.origin = self.origin.or(origin);
        self
    }

    /// The same error of a scenario that was right before this override. The override is named,
    /// unless the error already names one.
    #[must_use]
    pub(crate) fn caused_by(mut self, (path, value): &(String, String)) -> Self {
        if !matches!(self.origin, Some(Origin::Override(_) | Origin::File(_))) {
            self.origin = Some(Origin::Override(format!("{path}={value}")));
        }
        self
    }

    /// Whether an override's own key or value means nothing, whatever else is written.
    pub(crate) fn is_unreadable_override(&self) -> bool {
        let is_unreadable = match self.problem() {
            Problem::Unexpected { .. } | Problem::UnknownKey { .. } => true,
            Problem::UnknownName { what, .. } => what.is_empty(),
            _ => false,
        };
        is_unreadable && matches!(self.origin, Some(Origin::Override(_)))
    }

    /// The key's path, dotted.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Where it was written.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// What is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The key or name that means nothing, as it was written, and what there is.
    pub fn unknown(&self) -> Option<(&str, &[String])> {
        match self.problem() {
            Problem::UnknownKey { key, known } => Some((key, known)),
            Problem::UnknownName { name, known, .. } => Some((name, known)),
            _ => None,
        }
    }

    /// What was perhaps meant by a key or name that does not exist. The line of text suggests the
    /// same.
    pub fn meant(&self) -> Option<&str> {
        let (unknown, known) = self.unknown()?;
        nearest(unknown, known).map(String::as_str)
    }

    /// Line and column in the scenario's text.
    pub fn position(&self) -> Option<(usize, usize)> {
        match self.origin {
            Some(Origin::Text { line, column }) => Some((line, column)),
            _ => None,
        }
    }

    fn line_of_text(&self) -> String {
        let path = self.path.as_ref().filter(|path| !path.is_empty());
        if let Some(Origin::File(place)) = &self.origin {
            let end = path.map_or(String::new(), |path| format!(" ({})", shorten(path)));
            return escape(&format!("{place}: {}{end}", self.problem)).into_owned();
        }
        let start = path.map_or(String::new(), |path| format!("{}: ", shorten(path)));
        let end = match &self.origin {
            Some(Origin::Text { line, column }) => format!(" (line {line}, column {column})"),
            Some(Origin::Override(text)) => format!(" (from --set {})", shorten(text)),
            Some(Origin::File(_)) | None => String::new(),
        };
        // Keys, names and values in it are whatever somebody wrote.
        escape(&format!("{start}{}{end}", self.problem)).into_owned()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) => f.write_str(why),
            Self::Missing { key } => write!(f, "the key \"{}\" is missing", shorten(key)),
            Self::Syntax(what) => write!(f, "not readable: {what}"),
            Self::Unexpected { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::UnknownKey { key, known } => {
                write!(f, "unknown key; {}", suggestion(key, known))
            }
            Self::UnknownName { what, name, known } if what.is_empty() => {
                let (name, known) = (shorten(name), suggestion(name, known));
                write!(f, "unknown name \"{name}\"; {known}")
            }
            Self::UnknownName { what, name, known } => {
                write!(
                    f,
                    "no {what} is called \"{}\"; {}",
                    shorten(name),
                    suggestion(name, known)
                )
            }
        }
    }
}

/// More names than this no one reads in a line.
const MOST_SUGGESTIONS: usize = 20;

/// What was perhaps meant; if nothing comes near, what there is.
fn suggestion(name: &str, known: &[String]) -> String {
    if let Some(nearest) = nearest(name, known) {
        return format!("did you mean \"{}\"?", shorten(nearest));
    }
    match known {
        [] => "there is none".to_owned(),
        [only] => format!("expected \"{}\"", shorten(only)),
        many if many.len() > MOST_SUGGESTIONS => {
            let some = join(&many[..MOST_SUGGESTIONS]);
            let more = many.len() - MOST_SUGGESTIONS;
            format!(
                "expected one of {} names: \"{some}\" and {more} more",
                many.len()
            )
        }
        [rest @ .., last] => {
            format!("expected one of \"{}\", \"{}\"", join(rest), shorten(last))
        }
    }
}

/// Names with a quote, a comma and a quote between them.
fn join(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| shorten(name)).collect();
    names.join("\", \"")
}

/// The name among `known` that `name` is a slip of: a third of its letters may be wrong, swapped,
/// missing or too many. Or a name that is a part of it, as Reno is of NewReno.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    // Names are written small and without signs; who writes LEDBAT++ means ledbat_plus_plus.
    let name = &name.to_lowercase().replace('+', "_plus");
    let slips = |other: &String| strsim::damerau_levenshtein(name, &other.to_lowercase());
    let slip = (known.iter())
        .min_by_key(|other| slips(other))
        .filter(|other| slips(other) <= (name.chars().count() / 3).max(1));
    let part = || {
        let inside = known
            .iter()
            .filter(|other| other.len() >= SHORTEST_PART && name.contains(&other.to_lowercase()));
        inside.max_by_key(|other| other.len())
    };
    slip.or_else(part)
}

/// Letters of a name that is meant where it is part of another: fewer are in many words.
const SHORTEST_PART: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_error_names_key_problem_and_place() {
        let problem = Problem::Unexpected {
            expected: "a duration such as \"10 ms\"".to_owned(),
            found: "\"10 parsecs\"".to_owned(),
        };
        let error = ScenarioError::at("flow.upload.rtt", problem).with_origin(Some(Origin::Text {
            line: 6,
            column: 36,
        }));
        assert_eq!(
            error.to_string(),
            "flow.upload.rtt: expected a duration such as \"10 ms\", found \"10 parsecs\" (line 6, \
             column 36)"
        );
    }

    #[test]
    fn an_error_is_one_line_whatever_is_in_it() {
        let problem = Problem::UnknownName {
            what: "host".to_owned(),
            name: "\u{1b}[31m\nhome".to_owned(),
            known: Vec::new(),
        };
        let error = ScenarioError::at("flow.a\0.host", problem);
        assert_eq!(
            error.to_string(),
            "flow.a\\0.host: no host is called \"\\u{1b}[31m\\nhome\"; there is none"
        );
    }

    #[test]
    fn a_key_or_name_that_nobody_reads_to_its_end_is_cut() {
        let long = "a".repeat(40_000);
        let (key, known) = (long.clone(), vec![long.clone()]);
        let errors = [
            ScenarioError::at(
                format!("flow.{long}"),
                Problem::Missing { key: long.clone() },
            ),
            ScenarioError::at(format!("flow.{long}"), Problem::UnknownKey { key, known }),
            ScenarioError::new(Problem::UnknownName {
                what: "host".to_owned(),
                name: long.clone(),
                known: Vec::new(),
            }),
            ScenarioError::invalid("seed", "too large")
                .caused_by(&("seed".to_owned(), "9".repeat(40_000))),
        ];
        for error in errors {
            assert!(error.to_string().len() < 500, "{}", error.to_string().len());
        }
    }

    #[test]
    fn an_error_of_a_name_holds_it_as_written_and_what_there_is() {
        let known = names(&["codel", "pie"]);
        let key = |key: &str| {
            let (key, known) = (key.to_owned(), known.clone());
            ScenarioError::at("link.dsl.queue", Problem::UnknownKey { key, known })
        };
        assert_eq!(key("co\ndel").unknown(), Some(("co\ndel", &known[..])));
        assert_eq!(key("coddel").meant(), Some("codel"));
        assert_eq!(key("cake").meant(), None);
        let name = ScenarioError::new(Problem::UnknownName {
            what: "link".to_owned(),
            name: "PIE".to_owned(),
            known: known.clone(),
        });
        assert_eq!(name.unknown(), Some(("PIE", &known[..])));
        assert_eq!(name.meant(), Some("pie"));
        let other = ScenarioError::invalid("seed", "too large");
        assert_eq!((other.unknown(), other.meant()), (None, None));
    }

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let known = names(&["congestion", "mtu", "sack"]);
        assert_eq!(
            suggestion("congestoin", &known),
            "did you mean \"congestion\"?"
        );
        assert_eq!(suggestion("SACK", &known), "did you mean \"sack\"?");
        assert_eq!(
            suggestion("colour", &known),
            "expected one of \"congestion\", \"mtu\", \"sack\""
        );
        let controls = names(&["ledbat", "ledbat_plus_plus", "reno"]);
        for (written, meant) in [("ledbat++", "ledbat_plus_plus"), ("newreno", "reno")] {
            let said = suggestion(written, &controls);
            assert_eq!(said, format!("did you mean \"{meant}\"?"));
        }
        assert_eq!(suggestion("colour", &names(&["mtu"])), "expected \"mtu\"");
        assert_eq!(suggestion("colour", &[]), "there is none");
    }
}
