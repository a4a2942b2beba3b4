//! The engine's description of the names that it knows, as JSON: for programs that judge, compare,
//! plot and look up results.
//!
//! Each queue discipline declares its part in its own file. Each application does so for itself and
//! its measures. The words for discarded packets stand beside their reasons.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::aqm::Governor;
use crate::metrics::Measure;
use crate::metrics::measure::{Chart, Kind};
use crate::packet::Side;
use crate::qdisc::QueueConfig;
use crate::trace::{AboutReason, REASONS};
use crate::traffic::{About, ApplicationConfig};

/// Queue disciplines, applications, the measures that applications report, and why packets are
/// discarded.
pub fn describe() -> String {
    let applications = ApplicationConfig::all();
    let abouts = ApplicationConfig::list();
    let queues = QueueConfig::all();
    let value = json!({
        "queues": queues.iter().map(describe_queue).collect::<Vec<_>>(),
        "applications": applications.iter().map(describe_application).collect::<Vec<_>>(),
        "measures": describe_measures(&abouts),
        "discards": REASONS.iter().map(describe_reason).collect::<Vec<_>>(),
    });
    value.to_string()
}

fn describe_queue(queue: &QueueConfig) -> Value {
    let (governor, bound, key) = match queue.governor() {
        Governor::Bound(bound) => ("bound", Some(bound), None),
        Governor::ChosenLaw(key) => ("chosen_law", None, key),
        Governor::Law => ("law", None, None),
        Governor::Nothing => ("nothing", None, None),
    };
    json!({
        "name": queue.name(),
        "governor": governor,
        "bound": bound,
        "law_key": key,
        "lets_pass": queue.lets_pass(),
    })
}

fn describe_application(application: &ApplicationConfig) -> Value {
    let about = application.about();
    let properties = about.properties.iter().map(|property| property.name());
    let measures = about
        .measures
        .iter()
        .map(|measure| json!([measure.kind.name, measure.from.map(direction)]));
    json!({
        "name": about.name,
        "direction": application.default_direction().name(),
        "properties": properties.collect::<Vec<_>>(),
        "measures": measures.collect::<Vec<_>>(),
    })
}

/// Each kind of measure once, with whether it is measured in each direction.
fn describe_measures(applications: &[About]) -> Vec<Value> {
    let mut known = BTreeSet::new();
    let all = applications.iter().flat_map(|about| about.measures);
    all.filter(|measure| known.insert(measure.kind.name))
        .map(describe_measure)
        .collect()
}

fn describe_measure(measure: &Measure) -> Value {
    let kind: &Kind = measure.kind;
    let figures = kind.compared_by.iter();
    let figures = figures.map(|(title, statistic)| json!([title, statistic]));
    json!({
        "name": kind.name,
        "what": kind.what,
        "unit": kind.unit.name(),
        "quantity": kind.unit.quantity(),
        "scale": kind.scale,
        "has_directions": measure.from.is_some(),
        "higher_is_better": kind.higher_is_better,
        "range": kind.range,
        "is_periodic": kind.is_periodic,
        "is_beside_delay": kind.is_beside_delay,
        "felt": kind.felt.name(),
        "place": kind.place,
        "compared_by": figures.collect::<Vec<_>>(),
        "chart": kind.chart.as_ref().map(describe_chart),
        "figure": kind.figure,
        "demand": kind.demand.map(|(statistic, grade)| json!([statistic, grade])),
    })
}

fn describe_reason(about: &AboutReason) -> Value {
    json!({
        "name": about.reason.name(),
        "by": about.by.name(),
        "label": about.label,
        "what": about.what,
        "look": about.look,
        "look_of_tcp": about.look_of_tcp,
        "barred": about.barred,
    })
}

fn describe_chart(chart: &Chart) -> Value {
    json!({
        "name": chart.name,
        "title": chart.title,
        "axis": chart.axis,
        "factor": chart.factor,
        "explanation": chart.explanation,
        "is_points": chart.is_points,
        "is_after_queues": chart.is_after_queues,
        "place": chart.place,
    })
}

const fn direction(from: Side) -> &'static str {
    match from {
        Side::Host => "up",
        Side::Peer => "down",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::trace::DropReason;

    /// Tables, expectations and figures identify a kind by its name alone.
    #[test]
    fn a_name_is_that_of_one_kind_which_has_directions_everywhere_or_nowhere() {
        let mut known: BTreeMap<&str, (*const Kind, bool)> = BTreeMap::new();
        let applications = ApplicationConfig::list();
        for measure in applications.iter().flat_map(|about| about.measures) {
            let own = (std::ptr::from_ref(measure.kind), measure.from.is_some());
            let first = known.entry(measure.kind.name).or_insert(own);
            assert_eq!(*first, own, "{}", measure.kind.name);
        }
        assert!(known.len() > 20, "{}", known.len());
    }

    #[test]
    fn what_is_compared_is_a_statistic_of_the_table_of_measures() {
        let columns = crate::metrics::recorder::columns();
        let (_, statistics) = columns
            .iter()
            .find(|(table, _)| *table == "measures")
            .expect("it is a table");
        let applications = ApplicationConfig::list();
        for measure in applications.iter().flat_map(|about| about.measures) {
            for (title, statistic) in measure.kind.compared_by {
                assert!(statistics.iter().any(|known| known == statistic), "{title}");
            }
        }
    }

    #[test]
    fn a_description_says_what_is_declared() {
        let described: Value = serde_json::from_str(&describe()).expect("it is JSON");
        let find = |list: &str, name: &str| {
            let all = described[list].as_array().expect("a list");
            all.iter()
                .find(|item| item["name"] == name)
                .cloned()
                .expect("it is there")
        };
        assert_eq!(find("queues", "drr")["law_key"], "law");
        assert_eq!(find("queues", "drop_tail")["bound"], "buffer");
        assert_eq!(find("queues", "codel")["lets_pass"], Value::Null);
        assert_eq!(
            find("applications", "bulk")["measures"],
            json!([["completion_time", null]])
        );
        assert_eq!(find("applications", "bulk")["direction"], "up");
        assert_eq!(find("applications", "ping")["properties"], json!(["probe"]));
        assert_eq!(find("measures", "mos")["range"], json!([1.0, 4.5]));
        assert_eq!(find("measures", "mos")["demand"], json!(["p5", "good"]));
        assert_eq!(find("measures", "rtt")["has_directions"], false);
        assert_eq!(find("discards", "overlimit")["by"], "room");
    }

    #[test]
    fn every_reason_is_described_once_and_every_demand_is_of_a_known_statistic() {
        let described: BTreeSet<_> = REASONS.iter().map(|about| about.reason.name()).collect();
        assert_eq!(described.len(), DropReason::COUNT);
        for measure in ApplicationConfig::list()
            .iter()
            .flat_map(|about| about.measures)
        {
            if let Some((statistic, grade)) = measure.kind.demand {
                assert!(["good", "fair"].contains(&grade), "{}", measure.kind.name);
                let columns = crate::metrics::recorder::columns();
                let (_, known) = (columns.iter())
                    .find(|(table, _)| *table == "measures")
                    .expect("it is a table");
                assert!(known.iter().any(|name| name == statistic), "{statistic}");
            }
        }
    }
}
