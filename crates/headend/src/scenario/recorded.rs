//! Recorded lines: a table in a CSV file that says what a line had at each time.
//!
//! The first line names the columns: `time_s`, and what was recorded. A row holds from its time on,
//! counted from the first row. Rows need not be evenly spaced. The recording repeats at its end;
//! the last row lasts as long as the one before it, so that a line that was looked at every second
//! repeats after as many seconds as there are rows.

use super::error::{Problem, ScenarioError};
use crate::text::quote;
use crate::time::Duration;

/// The longest recording.
pub(super) const LONGEST_TRACE: Duration = Duration::from_secs(10 * 24 * 3600);

/// Rows of a recording, at most: three hours with ten rows a second.
pub(super) const MOST_ROWS: usize = 100_000;

/// The column of the time.
const TIME: &str = "time_s";
/// The columns that say how much the line carried, of which a recording has one.
pub(super) const RATE: [&str; 2] = ["rate_mbps", "rate_bps"];
/// The column of the one-way delay.
pub(super) const DELAY: &str = "delay_ms";
/// The column of the share of packets that were lost.
pub(super) const LOSS: &str = "loss";

/// What varies in steps: start and value of each, and after what time they repeat.
pub(super) type Steps<T> = (Vec<(Duration, T)>, Option<Duration>);

/// Where a text stands: the key that names its file, and the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    /// The key's path.
    pub(super) path: &'a str,
    /// The file's name.
    pub(super) name: &'a str,
}

impl Source<'_> {
    /// What stands on a line, counted from 1, is not what is expected.
    pub(super) fn unexpected(
        self,
        line: usize,
        expected: impl Into<String>,
        found: &str,
    ) -> ScenarioError {
        let expected = format!("{} on line {line} of \"{}\"", expected.into(), self.name);
        let found = quote(found);
        ScenarioError::at(self.path, Problem::Unexpected { expected, found })
    }

    /// The file as a whole cannot be used: `why` is a clause about it.
    pub(super) fn invalid(self, why: &str) -> ScenarioError {
        ScenarioError::invalid(self.path, format!("the file \"{}\" {why}", self.name))
    }
}

/// A recorded line.
#[derive(Debug)]
pub(super) struct Recorded<'a> {
    source: Source<'a>,
    columns: Vec<&'static str>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    line: usize,
    start: Duration,
    values: Vec<f64>,
}

/// Whether a text is a table with a header, not a list of numbers.
pub(super) fn is_table(text: &str) -> bool {
    content(text)
        .next()
        .is_some_and(|(_, line)| line.contains(',') || line.split_whitespace().eq([TIME]))
}

/// The lines that are neither blank nor a comment, counted from 1.
fn content(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

impl<'a> Recorded<'a> {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// What is wrong with it, with its line.
    pub(super) fn read(source: Source<'a>, text: &str) -> Result<Self, ScenarioError> {
        let mut lines = content(text);
        let (line, header) = lines.next().ok_or_else(|| source.invalid("is empty"))?;
        let columns = read_header(source, line, header)?;
        let time = columns.iter().position(|column| *column == TIME);
        let time =
            time.ok_or_else(|| source.unexpected(line, format!("a column {TIME}"), header))?;
        let mut rows: Vec<Row> = Vec::new();
        let mut first = None;
        for (line, text) in lines {
            if rows.len() == MOST_ROWS {
                return Err(source.invalid(&format!("has more than {MOST_ROWS} rows")));
            }
            let values = read_row(source, line, text, &columns)?;
            let start = Duration::from_secs_f64(values[time] - *first.get_or_insert(values[time]));
            if let Some(before) = rows.last().filter(|before| start <= before.start) {
                let expected = format!("a time after that of line {}", before.line);
                return Err(source.unexpected(line, expected, text));
            }
            if start > LONGEST_TRACE {
                let expected = format!("a time at most {LONGEST_TRACE} after the first");
                return Err(source.unexpected(line, expected, text));
            }
            rows.push(Row {
                line,
                start,
                values,
            });
        }
        if rows.is_empty() {
            return Err(source.invalid("has no row below its header"));
        }
        Ok(Self {
            source,
            columns,
            rows,
        })
    }

    /// Whether it has a column.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.contains(&column)
    }

    /// What the first of these columns that it has says, by `convert`, in steps. No value is above
    /// `most`; rows that repeat the one before them make no step.
    ///
    /// # Errors
    ///
    /// If it has none of the columns, or a value is too large.
    pub(super) fn steps<T: PartialEq>(
        &self,
        wanted: &[(&'static str, f64)],
        convert: impl Fn(&'static str, f64) -> T,
    ) -> Result<Steps<T>, ScenarioError> {
        let found = wanted.iter().find_map(|(column, most)| {
            let index = self.columns.iter().position(|other| other == column)?;
            Some((index, *column, *most))
        });
        let Some((index, column, most)) = found else {
            let names: Vec<&str> = wanted.iter().map(|(column, _)| *column).collect();
            let why = format!("has no column {}", names.join(" or "));
            return Err(self.source.invalid(&why));
        };
        let mut steps: Vec<(Duration, T)> = Vec::new();
        for row in &self.rows {
            let value = row.values[index];
            if value > most {
                let expected = format!("{column} of at most {most}");
                return Err(self
                    .source
                    .unexpected(row.line, expected, &value.to_string()));
            }
            let value = convert(column, value);
            if steps.last().is_none_or(|(_, before)| *before != value) {
                steps.push((row.start, value));
            }
        }
        Ok((steps, self.period()))
    }

    /// After what time it repeats; one row alone does not.
    fn period(&self) -> Option<Duration> {
        match self.rows.as_slice() {
            [.., before, last] => Some(last.start + (last.start - before.start)),
            _ => None,
        }
    }
}

fn read_header(
    source: Source<'_>,
    line: usize,
    header: &str,
) -> Result<Vec<&'static str>, ScenarioError> {
    let known = [TIME, RATE[0], RATE[1], DELAY, LOSS];
    let mut columns = Vec::new();
    for name in header.split(',').map(str::trim) {
        let column = known.into_iter().find(|column| *column == name);
        let Some(column) = column else {
            let expected = format!("columns of {}", known.join(", "));
            return Err(source.unexpected(line, expected, name));
        };
        let is_rate = |column: &&str| RATE.contains(column);
        if columns.contains(&column) || is_rate(&column) && columns.iter().any(is_rate) {
            let expected = "each column once, and one of the rate";
            return Err(source.unexpected(line, expected, header));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// The numbers of a row, none of which is negative.
fn read_row(
    source: Source<'_>,
    line: usize,
    text: &str,
    columns: &[&str],
) -> Result<Vec<f64>, ScenarioError> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        let expected = format!("{} numbers", columns.len());
        return Err(source.unexpected(line, expected, text));
    }
    let numbers = fields.into_iter().zip(columns).map(|(field, column)| {
        read_number(field).ok_or_else(|| {
            let expected = format!("a number of at least 0 for {column}");
            source.unexpected(line, expected, field)
        })
    });
    numbers.collect()
}

/// A finite number of at least zero.
pub(super) fn read_number(text: &str) -> Option<f64> {
    let number = text.parse::<f64>().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Source<'_> = Source {
        path: "up.rate.trace",
        name: "line.csv",
    };

    fn steps_of(text: &str, column: &'static str, most: f64) -> Result<Steps<f64>, String> {
        Recorded::read(SOURCE, text)
            .and_then(|recorded| recorded.steps(&[(column, most)], |_, value| value))
            .map_err(|error| error.to_string())
    }

    fn wrong(text: &str) -> String {
        steps_of(text, "loss", 1.0).expect_err("it is wrong")
    }

    #[test]
    fn a_table_is_known_by_its_first_line() {
        assert!(is_table("time_s,rate_mbps\n"));
        assert!(is_table("\u{feff}# a comment\n\n rate_bps , time_s\r\n"));
        assert!(is_table("time_s\n"));
        assert!(is_table("t;x,y"));
        for other in ["", "1\n2\n", "root:x:0:0", "# a, b\n5\n"] {
            assert!(!is_table(other), "{other}");
        }
    }

    #[test]
    fn a_row_holds_from_its_time_on_and_the_last_as_long_as_the_one_before() {
        let text =
            "\u{feff}# recorded at home\ntime_s, loss\r\n100,0\n100.5,0\n\n101,0.25\n103,1\n";
        let ms = Duration::from_millis;
        assert_eq!(
            steps_of(text, "loss", 1.0),
            Ok((
                vec![(ms(0), 0.0), (ms(1000), 0.25), (ms(3000), 1.0)],
                Some(ms(5000))
            ))
        );
    }

    #[test]
    fn one_row_stays() {
        let found = steps_of("time_s,loss\n7,0.5\n", "loss", 1.0);
        assert_eq!(found, Ok((vec![(Duration::ZERO, 0.5)], None)));
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused_with_its_line() {
        let cases = [
            ("", "the file \"line.csv\" is empty"),
            ("# nothing\n", "the file \"line.csv\" is empty"),
            ("time_s,loss\n", "has no row below its header"),
            (
                "time_s,jitter\n0,1\n",
                "on line 1 of \"line.csv\", found \"jitter\"",
            ),
            ("loss,delay_ms\n0,1\n", "a column time_s on line 1"),
            (
                "time_s,rate_bps,rate_mbps\n0,1,1\n",
                "one of the rate on line 1",
            ),
            ("time_s,loss,loss\n0,0,0\n", "each column once"),
            ("time_s,rate_mbps\n0,1\n", "has no column loss"),
            ("time_s,loss\n0\n", "expected 2 numbers on line 2"),
            ("time_s,loss\n0,0,0\n", "expected 2 numbers on line 2"),
            (
                "time_s,loss\n0,\n",
                "for loss on line 2 of \"line.csv\", found \"\"",
            ),
            ("time_s,loss\n0,NaN\n", "found \"NaN\""),
            ("time_s,loss\n0,inf\n", "found \"inf\""),
            ("time_s,loss\n0,1e400\n", "found \"1e400\""),
            (
                "time_s,loss\n0,-0.1\n",
                "a number of at least 0 for loss on line 2",
            ),
            (
                "time_s,loss\n0,1.5\n",
                "loss of at most 1 on line 2 of \"line.csv\", found \"1.5\"",
            ),
            (
                "time_s,loss\n0,0\n2,0\n1,0\n",
                "a time after that of line 3 on line 4",
            ),
            (
                "time_s,loss\n0,0\n0,0\n",
                "a time after that of line 2 on line 3",
            ),
            (
                "time_s,loss\n0,0\n1e9,0\n",
                "a time at most 864000 s after the first on line 3",
            ),
        ];
        for (text, expected) in cases {
            let found = wrong(text);
            assert!(found.starts_with("up.rate.trace: "), "{found}");
            assert!(found.contains(expected), "{text:?}: {found}");
        }
    }

    #[test]
    fn a_recording_with_too_many_rows_is_refused() {
        let rows: Vec<String> = (0..=MOST_ROWS).map(|row| format!("{row},0")).collect();
        let found = wrong(&format!("time_s,loss\n{}", rows.join("\n")));
        assert!(found.contains("has more than 100000 rows"), "{found}");
    }
}
