//! Notes for the reader of a modem's file: the settings of the scenario that the file does not
//! hold.

use crate::time::Duration;

/// The notes of one file.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Paths of keys that no TLV says.
    unsaid: Vec<String>,
    lines: Vec<String>,
}

impl Notes {
    /// Notes that no TLV expresses the key at `path`.
    pub(super) fn is_unsaid(&mut self, path: impl Into<String>) {
        let path = path.into();
        if !self.unsaid.contains(&path) {
            self.unsaid.push(path);
        }
    }

    /// Adds a note with its own text.
    pub(super) fn line(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// `value` as a number of steps of `unit`, at most `most`. A value that is no such number is
    /// rounded to the nearest one, and a note says so.
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

    /// `value`, or `most` if it is larger. A note says so then.
    pub(super) fn at_most(&mut self, path: &str, value: u64, most: u64) -> u64 {
        if value > most {
            self.line(format!("{path}: the file says {most} in place of {value}."));
        }
        value.min(most)
    }

    /// All notes.
    pub(super) fn into_lines(self) -> Vec<String> {
        let mut lines = self.lines;
        if !self.unsaid.is_empty() {
            lines.push(format!(
                "The file leaves out these keys, because no TLV expresses them: {}.",
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
            "The file leaves out these keys, because no TLV expresses them: d.",
        ];
        assert_eq!(notes.into_lines(), expected);
    }
}
