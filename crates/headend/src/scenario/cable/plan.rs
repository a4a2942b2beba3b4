//! A cable line that makes sense: its plant, what its channels have to give, and its modems.

use std::collections::BTreeMap;

use super::change::{self, ChangePlan};
use super::config::Docsis;
use super::line::Line;
use super::modem::{self, Modems};
use super::neighbours::{self, NeighbourLoad};
use super::service_flow::{
    LowLatency, LowLatencySwitch, OneWay, classic_queue, default_queue, is_reserved_name,
    modem_buffer, modem_queue, warn_of_low_latency,
};
use super::{admission, plant};
use crate::link::RateSchedule;
use crate::link::docsis::cmts::Placement;
use crate::link::docsis::preset::{Plant, PlantConfig};
use crate::named::OrTable;
use crate::scenario::error::ScenarioError;
use crate::scenario::names::check_name;
use crate::scenario::queue::Queue;
use crate::scenario::rate::{VaryingRate, plan_rate};
use crate::time::Duration;
use crate::units::Rate;

/// A cable line, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct CablePlan {
    pub(super) plant: Plant,
    pub(super) placement: Placement,
    /// What the channels have to give, up and down, where that is less than they carry.
    pub(super) capacity: [Option<RateSchedule>; 2],
    /// Share by which the upstream's varies from MAP to MAP.
    pub(super) capacity_variation: f64,
    pub(super) neighbours: Option<NeighbourLoad>,
    pub(in crate::scenario) modems: Modems,
    /// In order of time.
    pub(super) changes: Vec<ChangePlan>,
}

/// Checks a line and writes its defaults out.
pub(in crate::scenario) fn plan(
    path: &str,
    written: &mut Docsis,
    duration: Duration,
    warnings: &mut Vec<String>,
) -> Result<CablePlan, ScenarioError> {
    let plant = plan_plant(path, written)?;
    check_names(path, written)?;
    let timing = plant.upstream_timing();
    let capacity = plan_capacities(path, written)?;
    let channels = [timing.capacity(), plant.downstream_timing().rate];
    let given = |direction: OneWay| {
        let channel = channels[direction.index()];
        let capacity = capacity[direction.index()].as_ref();
        capacity.map_or(channel, |given| channel.min(given.nominal()))
    };
    let rates = [given(OneWay::Up), given(OneWay::Down)];
    write_defaults(written);
    neighbours::check(&format!("{path}.neighbours"), written.neighbours.as_ref())?;
    let line = Line {
        path,
        written,
        plant: &plant,
        timing: &timing,
        capacity: &capacity,
        channels,
        rates,
        duration,
    };
    let mut modems = modem::plan(line)?;
    admission::check(line, &modems, warnings)?;
    warn_of_low_latency(&modems, warnings);
    let changes = change::plan(line, &mut modems, warnings)?;
    Ok(CablePlan {
        placement: written.placement,
        capacity_variation: written.upstream.capacity_variation.0,
        neighbours: written.neighbours.clone(),
        capacity,
        modems,
        changes,
        plant,
    })
}

fn plan_plant(path: &str, line: &mut Docsis) -> Result<Plant, ScenarioError> {
    let plant = line.plant.over(line.preset);
    plant::check(&format!("{path}.plant"), line.preset, &plant)?;
    line.plant = PlantConfig::from(plant.clone());
    Ok(plant)
}

/// What the channels have to give, up and down, where that is written.
fn plan_capacities(path: &str, line: &Docsis) -> Result<[Option<RateSchedule>; 2], ScenarioError> {
    let upstream = format!("{path}.upstream");
    let up = plan_capacity(&upstream, line.upstream.capacity.as_ref())?;
    if let Some(RateSchedule::Opportunities { .. }) = up {
        let why = "an upstream gives grants, not single opportunities: expected a rate or steps";
        return Err(ScenarioError::invalid(format!("{upstream}.capacity"), why));
    }
    if up.is_none() && line.upstream.capacity_variation.0 > 0.0 {
        let why = "what varies is the capacity: expected `capacity` beside it";
        let path = format!("{upstream}.capacity_variation");
        return Err(ScenarioError::invalid(path, why));
    }
    let downstream = format!("{path}.downstream");
    let down = plan_capacity(&downstream, line.downstream.capacity.as_ref())?;
    Ok([up, down])
}

fn plan_capacity(
    path: &str,
    capacity: Option<&OrTable<Rate, VaryingRate>>,
) -> Result<Option<RateSchedule>, ScenarioError> {
    let plan = |capacity| plan_rate(&format!("{path}.capacity"), capacity);
    capacity.map(plan).transpose()
}

/// Writes out what follows from the generation: the queues, and the buffer that modems have by
/// default. The line's own tables are then the outermost layer of every service flow.
fn write_defaults(line: &mut Docsis) {
    let preset = line.preset;
    if line.buffer_settings.dropped {
        let size = &mut line.buffer_settings.default_buffer;
        size.get_or_insert_with(|| modem_buffer(preset));
    }
    write_primary_queues(line);
    let classes = line
        .service_class
        .values_mut()
        .map(|class| &mut class.service_flow);
    let modems = line.modem.values_mut().map(|modem| &mut modem.service_flow);
    let all = std::iter::once(&mut line.service_flow)
        .chain(classes)
        .chain(modems);
    let created = (line.change.values_mut()).filter_map(|change| change.create.as_deref_mut());
    for flow in all.flat_map(BTreeMap::values_mut).chain(created) {
        if flow.queue.is_none() {
            flow.queue = Some(default_queue(preset, flow));
        }
    }
}

/// Writes out the queues of the primary service flows. They depend on low latency, so that a
/// service class or a modem with a `low_latency` of its own has a default queue of its own too.
fn write_primary_queues(line: &mut Docsis) {
    let plain = [modem_queue(line.preset), Queue::default()];
    let of_line = [&line.upstream.queue, &line.downstream.queue].map(Option::is_some);
    for modem in line.modem.values_mut() {
        let classes = modem.service_class.iter().chain(modem.mix.keys());
        let classes = classes.filter_map(|name| line.service_class.get(name));
        let further_out = classes.fold(of_line, |[up, down], class| {
            [
                up || class.upstream.queue.is_some(),
                down || class.downstream.queue.is_some(),
            ]
        });
        let (up, down) = (&mut modem.upstream, &mut modem.downstream);
        write_queue(
            up.low_latency.as_ref(),
            &mut up.queue,
            further_out[0],
            &plain[0],
        );
        write_queue(
            down.low_latency.as_ref(),
            &mut down.queue,
            further_out[1],
            &plain[1],
        );
    }
    for class in line.service_class.values_mut() {
        let (up, down) = (&mut class.upstream, &mut class.downstream);
        write_queue(
            up.low_latency.as_ref(),
            &mut up.queue,
            of_line[0],
            &plain[0],
        );
        write_queue(
            down.low_latency.as_ref(),
            &mut down.queue,
            of_line[1],
            &plain[1],
        );
    }
    let (up, down) = (&mut line.upstream, &mut line.downstream);
    write_queue(up.low_latency.as_ref(), &mut up.queue, false, &plain[0]);
    write_queue(down.low_latency.as_ref(), &mut down.queue, false, &plain[1]);
    let [plain_up, plain_down] = plain;
    up.queue.get_or_insert(plain_up);
    down.queue.get_or_insert(plain_down);
}

/// Writes out the queue of a table that has the key `low_latency`, unless a queue is written there
/// or further out. `plain` is the queue without low latency.
fn write_queue(
    low_latency: Option<&LowLatency>,
    queue: &mut Option<Queue>,
    is_written_further_out: bool,
    plain: &Queue,
) {
    let Some(low_latency) = low_latency else {
        return;
    };
    if queue.is_none() && !is_written_further_out {
        let is_off = matches!(low_latency, OrTable::Plain(LowLatencySwitch::Off));
        *queue = Some(if is_off {
            plain.clone()
        } else {
            classic_queue()
        });
    }
}

/// Names that would make two queues' names equal, or could not stand in a path.
fn check_names(path: &str, line: &Docsis) -> Result<(), ScenarioError> {
    let mut names: Vec<(String, String)> = Vec::new();
    let mut add = |table: &str, keys: &mut dyn Iterator<Item = &String>| {
        names.extend(keys.map(|name| (format!("{path}.{table}.{name}"), name.clone())));
    };
    add("service_flow", &mut line.service_flow.keys());
    add("drop", &mut line.drop.keys());
    add("service_class", &mut line.service_class.keys());
    add("modem", &mut line.modem.keys());
    add("change", &mut line.change.keys());
    for (name, class) in &line.service_class {
        let at = format!("service_class.{name}");
        add(
            &format!("{at}.service_flow"),
            &mut class.service_flow.keys(),
        );
        add(&format!("{at}.drop"), &mut class.drop.keys());
    }
    for (name, modem) in &line.modem {
        let at = format!("modem.{name}");
        add(
            &format!("{at}.service_flow"),
            &mut modem.service_flow.keys(),
        );
        add(&format!("{at}.drop"), &mut modem.drop.keys());
    }
    for (path, name) in names {
        check_name(&path, &name)?;
        if ["up", "down"].contains(&name.as_str()) {
            let why = "\"up\" and \"down\" are the service flows that every modem has (upstream, \
                       downstream)";
            return Err(ScenarioError::invalid(path, why));
        }
        if is_reserved_name(&name) {
            let why = format!(
                "\"{name}\" is the low-latency flow that comes with `low_latency`: expected \
                 another name"
            );
            return Err(ScenarioError::invalid(path, why));
        }
    }
    Ok(())
}
