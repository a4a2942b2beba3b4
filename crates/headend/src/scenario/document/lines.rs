//! Lines and columns of a text, and the paths of keys in it.

use crate::scenario::error::Origin;

/// Where lines begin, to turn offsets into lines and columns.
pub(super) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let after_breaks = text.match_indices('\n').map(|(offset, _)| offset + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// Where a line begins; counted from 1.
    pub(super) fn offset(&self, line: usize) -> usize {
        self.starts[line - 1]
    }

    pub(super) fn origin(&self, offset: usize) -> Origin {
        let line = self.starts.partition_point(|start| *start <= offset);
        let before = self
            .text
            .get(self.starts[line - 1]..offset)
            .unwrap_or_default();
        Origin::Text {
            line,
            column: before.chars().count() + 1,
        }
    }
}

/// Adds a key to a dotted path.
pub(super) fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}
