//! Result tables: named columns of numbers or text, all of one length.

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Floating point; NaN where there is no value.
    Float(Vec<f64>),
    /// Counters and times, at most [`LARGEST`].
    Integer(Vec<u64>),
    /// Names.
    Text(Vec<String>),
}

/// The largest integer of a table, 2⁶³ − 1, because readers of tables use signed numbers. A larger
/// value, such as that of an unlimited buffer, is recorded as this one.
pub const LARGEST: u64 = i64::MAX as u64;

/// An empty column of text, for [`Table::of`].
pub const TEXT: Column = Column::Text(Vec::new());
/// An empty column of integers.
pub const INTEGER: Column = Column::Integer(Vec::new());
/// An empty column of floats.
pub const FLOAT: Column = Column::Float(Vec::new());

/// A table of docs/reference/results.md.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Columns with their names, in order.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    /// A table that has these columns even while it has no rows.
    pub fn of(columns: &[(&str, Column)]) -> Self {
        let columns = columns.iter();
        Self {
            columns: columns
                .map(|(name, column)| ((*name).to_owned(), column.clone()))
                .collect(),
        }
    }

    /// Appends an integer value to column `name`, which is made if it is new.
    pub fn integer(&mut self, name: &str, value: u64) {
        let value = value.min(LARGEST);
        match self.column(name, || Column::Integer(Vec::new())) {
            Column::Integer(values) => values.push(value),
            _ => panic!("column {name} does not hold integers"),
        }
    }

    /// Appends a float to column `name`, which is made if it is new.
    ///
    /// Every NaN is stored with the same bits: the sign of 0/0 differs between processors.
    pub fn float(&mut self, name: &str, value: f64) {
        let value = if value.is_nan() { f64::NAN } else { value };
        match self.column(name, || Column::Float(Vec::new())) {
            Column::Float(values) => values.push(value),
            _ => panic!("column {name} does not hold floats"),
        }
    }

    /// Appends a text to column `name`, which is made if it is new.
    pub fn text(&mut self, name: &str, value: &str) {
        match self.column(name, || Column::Text(Vec::new())) {
            Column::Text(values) => values.push(value.to_owned()),
            _ => panic!("column {name} does not hold text"),
        }
    }

    /// The column called `name`.
    pub fn get(&self, name: &str) -> Option<&Column> {
        self.columns
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, column)| column)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| match column {
            Column::Float(values) => values.len(),
            Column::Integer(values) => values.len(),
            Column::Text(values) => values.len(),
        })
    }

    fn column(&mut self, name: &str, make: impl FnOnce() -> Column) -> &mut Column {
        let index = self
            .columns
            .iter()
            .position(|(other, _)| other == name)
            .unwrap_or_else(|| {
                self.columns.push((name.to_owned(), make()));
                self.columns.len() - 1
            });
        &mut self.columns[index].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_that_no_signed_number_holds_is_the_largest() {
        let mut table = Table::default();
        for value in [7, LARGEST, LARGEST + 1, u64::MAX] {
            table.integer("bytes", value);
        }
        let expected = Column::Integer(vec![7, LARGEST, LARGEST, LARGEST]);
        assert_eq!(table.get("bytes"), Some(&expected));
    }

    #[test]
    fn what_is_not_a_number_has_the_same_bits_everywhere() {
        let mut table = Table::default();
        for value in [f64::NAN, -f64::NAN] {
            table.float("ratio", value);
        }
        let (_, Column::Float(values)) = &table.columns[0] else {
            panic!("the column holds floats");
        };
        assert!(
            values
                .iter()
                .all(|value| value.to_bits() == f64::NAN.to_bits())
        );
    }
}
