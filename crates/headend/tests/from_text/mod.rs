//! Runs of scenarios that a test writes as text, and the tables of these runs.

#![allow(
    dead_code,
    reason = "each test that includes this module uses a part of it"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use headend::metrics::table::{Column, Table};
use headend::scenario::{Format, Scenario, ScenarioError};
use headend::simulation::Simulation;
use headend::time::Instant;
use headend::trace::{Sink, TraceEvent};

pub(crate) fn parse(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = (overrides.iter())
        .map(|&(path, value)| (path.to_owned(), value.to_owned()))
        .collect();
    Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new())
}

/// The scenario of a text that is right.
#[track_caller]
pub(crate) fn scenario(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    parse(text, overrides).unwrap_or_else(|error| panic!("the scenario is right: {error}"))
}

/// The result tables of a finished run.
pub(crate) struct Tables(pub(crate) Vec<(&'static str, Table)>);

impl Tables {
    /// The tables of `text`, run to its end.
    pub(crate) fn run(text: &str, seed: u64) -> Self {
        Self::finish(scenario(text, &[]).build(seed))
    }

    pub(crate) fn finish(mut simulation: Simulation) -> Self {
        assert!(simulation.run_until(Instant::FAR_FUTURE));
        Self(simulation.tables())
    }

    #[track_caller]
    fn column(&self, table: &str, column: &str) -> &Column {
        let table = (self.0.iter()).find(|(name, _)| *name == table);
        let (_, table) = table.expect("a table of this name");
        table.get(column).expect("a column of this name")
    }

    /// A column of floats.
    #[track_caller]
    pub(crate) fn floats(&self, table: &str, column: &str) -> &[f64] {
        match self.column(table, column) {
            Column::Float(values) => values,
            other => panic!("{table}.{column} holds no figures: {other:?}"),
        }
    }

    /// A column of integers.
    #[track_caller]
    pub(crate) fn integers(&self, table: &str, column: &str) -> &[u64] {
        match self.column(table, column) {
            Column::Integer(values) => values,
            other => panic!("{table}.{column} holds no counts: {other:?}"),
        }
    }

    /// A column of texts.
    #[track_caller]
    pub(crate) fn texts(&self, table: &str, column: &str) -> &[String] {
        match self.column(table, column) {
            Column::Text(values) => values,
            other => panic!("{table}.{column} holds no names: {other:?}"),
        }
    }
}

/// The events of a run, shared with the sink in it.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(Instant, TraceEvent)>>>);

impl Log {
    /// A log of the events of `simulation`.
    pub(crate) fn of(simulation: &mut Simulation) -> Self {
        let log = Self::default();
        simulation.add_sink(Box::new(log.clone()));
        log
    }

    /// The times of the events that `choose` accepts, each with the value that `choose` returns.
    pub(crate) fn choose<T>(&self, choose: impl Fn(&TraceEvent) -> Option<T>) -> Vec<(Instant, T)> {
        let log = self.0.lock().expect("one run, one thread");
        (log.iter())
            .filter_map(|(at, event)| Some((*at, choose(event)?)))
            .collect()
    }
}

impl Sink for Log {
    fn record(&mut self, at: Instant, event: &TraceEvent) {
        let mut log = self.0.lock().expect("one run, one thread");
        log.push((at, *event));
    }
}
