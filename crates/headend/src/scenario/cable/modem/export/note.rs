//! What a modem's file does not say of a scenario, in lines for its reader.

use crate::time::Duration;

/// The notes of one file.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Paths of keys that no TLV says.
    unsaid: Vec<String>,
    lines: Vec<String>,
}

impl Notes {
    /// No TLV says the key at `path`.
    pub(super) fn is_unsaid(&mut self, path: impl Into<String>) {
        let path = path.into();
        if !self.unsaid.contains(&path) {
            self.unsaid.push(path);
        }
    }

    /// A line of its own.
    pub(super) fn line(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// `value` in steps of `unit`, as far as `most` reaches. A value that is not such a number
    /// becomes the nearest one, and a note says so.
    pub(super) fn steps(&mut self, path: &str, value: Duration, unit: Duration, most: u32) -> u32 {
        let steps = (value.as_nanos() + unit.as_nanos() / 2) / unit.as_nanos();
        let steps = steps.min(u64::from(most));
        let written = Duration::from_nanos(steps * unit.as_nanos());
        if written != value {
            self.line(format!(
                "{path}: the file says {written} in place of {value}."
            ));
        }
        steps as u32
    }

    /// `value` as far as `most` reaches. A note says where that is less.
    pub(super) fn at_most(&mut self, path: &str, value: u64, most: u64) -> u64 {
        if value > most {
            self.line(format!("{path}: the file says {most} in place of {value}."));
        }
        value.min(most)
    }

    /// All of them.
    pub(super) fn into_lines(self) -> Vec<String> {
        let mut lines = self.lines;
        if !self.unsaid.is_empty() {
            lines.push(format!(
                "The file does not say, because no TLV does: {}.",
                self.unsaid.join(", ")
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_no_step_says_becomes_the_nearest_and_is_noted() {
        let mut notes = Notes::default();
        let unit = Duration::from_millis(1);
        assert_eq!(notes.steps("a", Duration::from_millis(10), unit, 255), 10);
        assert_eq!(notes.steps("b", Duration::from_micros(5500), unit, 255), 6);
        assert_eq!(notes.steps("c", Duration::from_secs(1), unit, 255), 255);
        notes.is_unsaid("d");
        notes.is_unsaid("d");
        let expected = [
            "b: the file says 6 ms in place of 5.5 ms.",
            "c: the file says 255 ms in place of 1 s.",
            "The file does not say, because no TLV does: d.",
        ];
        assert_eq!(notes.into_lines(), expected);
    }
}
