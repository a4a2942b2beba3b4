//! The layers of a modem's service flows: what the line, the service class and the modem itself
//! give, put together.

use std::collections::BTreeMap;

use super::config::{Modem, ServiceClass};
use crate::scenario::cable::classifier::Classifier;
use crate::scenario::cable::line::Line;
use crate::scenario::cable::service_flow::{Keys, ServiceFlow, Settings};

/// What one place gives.
pub(super) struct Layer<'a> {
    /// Where it is written.
    path: String,
    upstream: Keys,
    downstream: Keys,
    service_flow: &'a BTreeMap<String, ServiceFlow>,
    drop: &'a BTreeMap<String, Classifier>,
    upstream_aqm_disabled: Option<bool>,
}

/// A table of the scenario, and its path.
pub(super) type At<'a, T> = (String, &'a T);

/// What all places together give: of each key, and of each name, the innermost.
pub(super) struct Layers<'a> {
    pub(super) up: Settings,
    pub(super) down: Settings,
    /// Further service flows by name.
    pub(super) further: BTreeMap<&'a str, At<'a, ServiceFlow>>,
    /// Upstream drop classifiers by name.
    pub(super) drops: BTreeMap<&'a str, At<'a, Classifier>>,
    /// AQM is disabled on all upstream service flows.
    pub(super) is_upstream_aqm_disabled: bool,
}

impl<'a> Layer<'a> {
    pub(super) fn of_class((path, class): At<'a, ServiceClass>) -> Self {
        Self {
            path,
            upstream: class.upstream.clone(),
            downstream: (&class.downstream).into(),
            service_flow: &class.service_flow,
            drop: &class.drop,
            upstream_aqm_disabled: class.upstream_aqm_disabled,
        }
    }

    pub(super) fn of_modem((path, modem): At<'a, Modem>) -> Self {
        Self {
            path,
            upstream: modem.upstream.clone(),
            downstream: (&modem.downstream).into(),
            service_flow: &modem.service_flow,
            drop: &modem.drop,
            upstream_aqm_disabled: modem.upstream_aqm_disabled,
        }
    }
}

impl<'a> Layers<'a> {
    /// The line's alone.
    pub(super) fn new(line: Line<'a>) -> Self {
        let Line { path, written, .. } = line;
        Self {
            up: Settings::new(&format!("{path}.upstream"), (&written.upstream).into()),
            down: Settings::new(&format!("{path}.downstream"), (&written.downstream).into()),
            further: by_name("service_flow", path, &written.service_flow),
            drops: by_name("drop", path, &written.drop),
            is_upstream_aqm_disabled: written.upstream_aqm_disabled,
        }
    }

    /// The same with a layer further in.
    pub(super) fn overlaid(mut self, layer: Layer<'a>) -> Self {
        let path = layer.path;
        self.up = (self.up).overlaid(&format!("{path}.upstream"), layer.upstream);
        self.down = (self.down).overlaid(&format!("{path}.downstream"), layer.downstream);
        (self.further).extend(by_name("service_flow", &path, layer.service_flow));
        (self.drops).extend(by_name("drop", &path, layer.drop));
        if let Some(is_disabled) = layer.upstream_aqm_disabled {
            self.is_upstream_aqm_disabled = is_disabled;
        }
        self
    }
}

fn by_name<'a, T>(
    key: &str,
    path: &str,
    table: &'a BTreeMap<String, T>,
) -> BTreeMap<&'a str, At<'a, T>> {
    let entry = |(name, value): (&'a String, &'a T)| {
        let path = format!("{path}.{key}.{name}");
        (name.as_str(), (path, value))
    };
    table.iter().map(entry).collect()
}
