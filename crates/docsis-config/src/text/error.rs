//! What is wrong with a text: where, what was found, and what is expected.

use std::fmt::{self, Write as _};

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

    /// The same error with the line of `text` in which `offset` is.
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
        // The message quotes what was written, which may contain control characters.
        for c in self.sentence().chars() {
            if c.is_control() {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

impl TextError {
    fn sentence(&self) -> String {
        let line = self.line.map(|line| format!("line {line}: "));
        let path = Some(format!("{}: ", self.path)).filter(|_| !self.path.is_empty());
        let what = if self.expected.is_empty() {
            format!("not readable: {}", self.found)
        } else {
            format!("found {}, expected {}", self.found, self.expected)
        };
        let meant = self.meant.as_ref();
        let meant = meant.map(|meant| format!("; did you mean {meant}?"));
        let parts = [line, path, Some(what), meant];
        parts.into_iter().flatten().collect()
    }
}

impl std::error::Error for TextError {}

#[cfg(test)]
mod tests {
    use crate::text::from_text;

    #[test]
    fn a_control_character_that_is_quoted_is_escaped() {
        let error = from_text("{\"tlvs\": [{\"c\u{7f}unt\": 1}]}").expect_err("no key of a TLV");
        let text = error.to_string();
        assert!(text.contains("c\\u{7f}unt"), "{text:?}");
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}
