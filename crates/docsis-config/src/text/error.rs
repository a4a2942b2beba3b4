//! What is wrong with a text: where, what was found, and what is expected.

use std::fmt;

use crate::value::Refused;

/// Why a text is no configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    /// The line, counted from 1, if it is known.
    pub line: Option<usize>,
    /// The key, such as `upstream_service_flow[2].reference`; an element of a list is counted from
    /// 1. Empty if the text as a whole is wrong.
    pub path: String,
    /// What was found.
    pub found: String,
    /// What is expected there; empty if the text cannot be read at all.
    pub expected: String,
    /// What may be meant instead.
    pub meant: Option<String>,
}

impl TextError {
    pub(super) fn new(path: &str, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            line: None,
            path: path.to_owned(),
            found: found.into(),
            expected: expected.into(),
            meant: None,
        }
    }

    pub(super) fn refused(path: &str, refused: Refused) -> Self {
        Self {
            meant: refused.meant,
            ..Self::new(path, refused.found, refused.expected)
        }
    }

    /// With the line of `text` in which `offset` is.
    pub(super) fn at(self, text: &str, offset: usize) -> Self {
        let breaks = text.match_indices('\n').take_while(|(at, _)| *at < offset);
        Self {
            line: Some(breaks.count() + 1),
            ..self
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if self.expected.is_empty() {
            write!(f, "not readable: {}", self.found)?;
        } else {
            write!(f, "found {}, expected {}", self.found, self.expected)?;
        }
        match &self.meant {
            Some(meant) => write!(f, "; did you mean {meant}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {}
