//! Result tables: columns of numbers as typed arrays, columns of names as texts.

use headend::metrics::table::{Column, Table};
use wasm_bindgen::prelude::*;

/// The result tables of a run.
#[wasm_bindgen]
pub struct Tables(pub(crate) Vec<(&'static str, Table)>);

#[wasm_bindgen]
impl Tables {
    /// The names of the tables.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| (*name).to_owned()).collect()
    }

    /// The names of a table's columns; none of a table that is not there.
    pub fn columns(&self, table: &str) -> Vec<String> {
        let columns = self.find(table).map(|table| &table.columns);
        let names = columns.into_iter().flatten().map(|(name, _)| name.clone());
        names.collect()
    }

    /// The numbers of a column; an integer above 2⁵³ is rounded. None for a column of names,
    /// and for one that is not there.
    pub fn numbers(&self, table: &str, column: &str) -> Option<Vec<f64>> {
        match self.find(table)?.get(column)? {
            Column::Float(values) => Some(values.clone()),
            Column::Integer(values) => Some(values.iter().map(|&value| value as f64).collect()),
            Column::Text(_) => None,
        }
    }

    /// The integers of a column, without loss; None for any other column.
    pub fn integers(&self, table: &str, column: &str) -> Option<Vec<u64>> {
        match self.find(table)?.get(column)? {
            Column::Integer(values) => Some(values.clone()),
            _ => None,
        }
    }

    /// The names of a column; None for any other column.
    pub fn texts(&self, table: &str, column: &str) -> Option<Vec<String>> {
        match self.find(table)?.get(column)? {
            Column::Text(values) => Some(values.clone()),
            _ => None,
        }
    }
}

impl Tables {
    fn find(&self, name: &str) -> Option<&Table> {
        let found = self.0.iter().find(|(other, _)| *other == name);
        found.map(|(_, table)| table)
    }
}
