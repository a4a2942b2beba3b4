//! Modems that make sense: the service flows of each.
//!
//! Modems with the same keys share a [`Profile`], so that a thousand take no longer to check than
//! one.

use std::ops::Range;

use super::config::Modem;
use super::layers::{Layer, Layers};
use crate::named::OrTable;
use crate::scenario::cable::classifier::{RulePlan, rule_plan};
use crate::scenario::cable::line::Line;
use crate::scenario::cable::service_flow::{self, Channel, FlowPlan, OneWay, Settings};
use crate::scenario::error::ScenarioError;
use crate::scenario::names::unknown;
use crate::time::Duration;

/// The modems of a line.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::scenario) struct Modems {
    pub(in crate::scenario) profiles: Vec<Profile>,
    /// All of them, in the order of their ports.
    pub(in crate::scenario) all: Vec<ModemPlan>,
    pub(in crate::scenario) groups: Vec<ModemGroup>,
}

/// The service flows of modems that are alike.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Profile {
    /// Upstream and downstream. The first of each is the primary one, for what no classifier
    /// claims. With low latency, the second is the low-latency flow of the same aggregate.
    pub(in crate::scenario) flows: [Vec<FlowPlan>; 2],
    /// Upstream drop classifiers.
    pub(in crate::scenario) drops: Vec<RulePlan>,
}

/// One modem.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct ModemPlan {
    /// Its name; the only one of a line has none.
    pub(in crate::scenario) name: Option<String>,
    pub(in crate::scenario) group: usize,
    pub(in crate::scenario) profile: usize,
    pub(in crate::scenario) online_at: Option<Duration>,
}

impl ModemPlan {
    /// The name of one of its queues.
    pub(in crate::scenario) fn queue_name(&self, link: &str, flow: &str) -> String {
        match &self.name {
            Some(name) => format!("{link}.{name}.{flow}"),
            None => format!("{link}.{flow}"),
        }
    }
}

/// Modems that are written as one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct ModemGroup {
    /// Its name; the only modem of a line has none.
    pub(in crate::scenario) name: Option<String>,
    /// Its first modem.
    pub(in crate::scenario) first: u32,
    /// How many there are, if the scenario gives a count.
    pub(in crate::scenario) count: Option<u32>,
}

/// A line may have as many; the port numbers of a link would do for three times that.
const MOST_MODEMS: u32 = 10_000;

/// Plans the modems of a line.
pub(in crate::scenario::cable) fn plan(line: Line<'_>) -> Result<Modems, ScenarioError> {
    let mut planner = Planner {
        line,
        modems: Modems::default(),
    };
    planner.plan_all()?;
    Ok(planner.modems)
}

impl Modems {
    /// The service flows of one of them.
    pub(in crate::scenario) fn profile_of(&self, modem: usize) -> &Profile {
        &self.profiles[self.all[modem].profile]
    }

    /// Those of which a change speaks: a group, one of a group, or all where it names none.
    pub(in crate::scenario::cable) fn called(
        &self,
        path: &str,
        name: Option<&String>,
    ) -> Result<Range<usize>, ScenarioError> {
        let Some(name) = name else {
            return Ok(0..self.all.len());
        };
        let is_called = |wanted: &Option<String>| wanted.as_ref() == Some(name);
        if let Some(group) = self.groups.iter().find(|group| is_called(&group.name)) {
            let first = group.first as usize;
            return Ok(first..first + group.count.unwrap_or(1) as usize);
        }
        if let Some(index) = self.all.iter().position(|modem| is_called(&modem.name)) {
            return Ok(index..index + 1);
        }
        let groups = self.groups.iter();
        let known = groups.filter_map(|group| group.name.clone()).collect();
        Err(unknown(path, "modem", name, known))
    }
}

struct Planner<'a> {
    line: Line<'a>,
    modems: Modems,
}

impl<'a> Planner<'a> {
    fn plan_all(&mut self) -> Result<(), ScenarioError> {
        let written = self.line.written;
        if written.modem.is_empty() {
            let profile = self.profile(Layers::new(self.line))?;
            self.modems.groups.push(ModemGroup {
                name: None,
                first: 0,
                count: None,
            });
            self.modems.all.push(ModemPlan {
                name: None,
                group: 0,
                profile,
                online_at: None,
            });
        }
        for (name, modem) in &written.modem {
            self.plan_group(name, modem)?;
        }
        Ok(())
    }

    fn plan_group(&mut self, name: &str, modem: &'a Modem) -> Result<(), ScenarioError> {
        let path = format!("{}.modem.{name}", self.line.path);
        let count = self.count(&path, modem)?;
        check_online(&format!("{path}.online_at"), modem, self.line.duration)?;
        let profiles = self.profiles_of(name, &path, modem)?;
        let group = self.modems.groups.len();
        self.modems.groups.push(ModemGroup {
            name: Some(name.to_owned()),
            first: self.modems.all.len() as u32,
            count: modem.count,
        });
        let mut turns = Turns::new(profiles.iter().map(|&(_, weight)| weight).collect());
        for number in 1..=count {
            let own = match modem.count {
                Some(_) => format!("{name}.{number}"),
                None => name.to_owned(),
            };
            self.modems.all.push(ModemPlan {
                name: Some(own),
                group,
                profile: profiles[turns.next()].0,
                online_at: online_at(modem, number, count),
            });
        }
        Ok(())
    }

    fn count(&self, path: &str, modem: &Modem) -> Result<u32, ScenarioError> {
        let count = modem.count.unwrap_or(1);
        let refuse = |why: String| Err(ScenarioError::invalid(format!("{path}.count"), why));
        if count == 0 {
            return refuse("at least one; leave the modem out to have none".to_owned());
        }
        let all = u64::from(count) + self.modems.all.len() as u64;
        if all > u64::from(MOST_MODEMS) {
            return refuse(format!(
                "{all} modems on a line are more than {MOST_MODEMS}"
            ));
        }
        Ok(count)
    }

    /// The profiles of a group's modems, with their weights.
    fn profiles_of(
        &mut self,
        name: &str,
        path: &str,
        modem: &'a Modem,
    ) -> Result<Vec<(usize, u32)>, ScenarioError> {
        let own = || Layer::of_modem((path.to_owned(), modem));
        if modem.mix.is_empty() {
            let layers = match &modem.service_class {
                Some(class) => {
                    let class = self.class(&format!("{path}.service_class"), class)?;
                    Layers::new(self.line).overlaid(class)
                }
                None => Layers::new(self.line),
            };
            return Ok(vec![(self.profile(layers.overlaid(own()))?, 1)]);
        }
        let refuse = |why: String| Err(ScenarioError::invalid(format!("{path}.mix"), why));
        if modem.service_class.is_some() {
            return refuse(format!(
                "\"{name}\" has either a service class or a mix of them"
            ));
        }
        if modem.count.is_none() {
            return refuse("a mix is for several modems: say how many with count".to_owned());
        }
        if modem.mix.values().all(|&weight| weight == 0) {
            return refuse("expected a weight above zero".to_owned());
        }
        let mut profiles = Vec::new();
        for (class, &weight) in &modem.mix {
            let class = self.class(&format!("{path}.mix.{class}"), class)?;
            let layers = Layers::new(self.line).overlaid(class).overlaid(own());
            profiles.push((self.profile(layers)?, weight));
        }
        Ok(profiles)
    }

    /// The layer of the service class that the key at `path` names.
    fn class(&self, path: &str, name: &str) -> Result<Layer<'a>, ScenarioError> {
        let classes = &self.line.written.service_class;
        let found = classes.get(name).ok_or_else(|| {
            let known = classes.keys().cloned().collect();
            unknown(path, "service class", name, known)
        })?;
        let path = format!("{}.service_class.{name}", self.line.path);
        Ok(Layer::of_class((path, found)))
    }

    /// The service flows of modems that have these layers, checked.
    fn profile(&mut self, layers: Layers<'a>) -> Result<usize, ScenarioError> {
        let is_aqm_disabled = layers.is_upstream_aqm_disabled;
        let channel = |direction| self.line.channel(direction, is_aqm_disabled);
        let [up, down] = [layers.up, layers.down];
        let mut flows = [
            primary(up, channel(OneWay::Up))?,
            primary(down, channel(OneWay::Down))?,
        ];
        for (name, (path, flow)) in layers.further {
            let channel = channel(flow.direction);
            let plan = service_flow::plan_further(name, &path, flow, channel)?;
            flows[flow.direction.index()].push(plan);
        }
        let drops = layers.drops.into_values();
        let drops = drops.map(|(path, rule)| rule_plan(path, rule));
        self.modems.profiles.push(Profile {
            flows,
            drops: drops.collect::<Result<_, _>>()?,
        });
        Ok(self.modems.profiles.len() - 1)
    }
}

/// The primary service flow of a direction, and the low-latency flow of its aggregate if it is part
/// of one.
fn primary(settings: Settings, channel: Channel<'_>) -> Result<Vec<FlowPlan>, ScenarioError> {
    let flow = service_flow::plan(channel.direction.name(), settings, channel)?;
    let low_latency = service_flow::low_latency_plan(&flow, channel)?;
    Ok(std::iter::once(flow).chain(low_latency).collect())
}

fn check_online(path: &str, modem: &Modem, duration: Duration) -> Result<(), ScenarioError> {
    let latest = match &modem.online_at {
        None => return Ok(()),
        Some(OrTable::Plain(at)) => *at,
        Some(OrTable::Table(range)) if range.from > range.to => {
            let why = format!("the latest, {}, comes before the earliest", range.to);
            return Err(ScenarioError::invalid(format!("{path}.to"), why));
        }
        Some(OrTable::Table(range)) => range.to,
    };
    if latest < duration {
        return Ok(());
    }
    let why =
        format!("a modem that is switched on at {latest} is not there in a run of {duration}");
    Err(ScenarioError::invalid(path, why))
}

/// When modem `number` of `count` is switched on: modems are spread evenly over a range.
fn online_at(modem: &Modem, number: u32, count: u32) -> Option<Duration> {
    match modem.online_at.as_ref()? {
        OrTable::Plain(at) => Some(*at),
        OrTable::Table(range) => {
            let steps = u64::from(count - 1).max(1);
            let offset = u128::from((range.to - range.from).as_nanos()) * u128::from(number - 1);
            Some(range.from + Duration::from_nanos((offset / u128::from(steps)) as u64))
        }
    }
}

/// Turns by weight: the next is whoever is furthest behind its share (the method of largest
/// remainders, place by place); of equals, the first.
struct Turns {
    weights: Vec<u32>,
    taken: Vec<u64>,
}

impl Turns {
    fn new(weights: Vec<u32>) -> Self {
        let taken = vec![0; weights.len()];
        Self { weights, taken }
    }

    fn next(&mut self) -> usize {
        let all: u64 = self.weights.iter().map(|&weight| u64::from(weight)).sum();
        let places = self.taken.iter().sum::<u64>() + 1;
        // Behind by share − taken, times the sum of weights so that it is whole.
        let behind = |index: usize| {
            i128::from(self.weights[index]) * i128::from(places)
                - i128::from(self.taken[index]) * i128::from(all)
        };
        let next = (0..self.weights.len())
            .rev()
            .max_by_key(|&index| behind(index))
            .expect("somebody takes turns");
        self.taken[next] += 1;
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(weights: &[u32], places: usize) -> Vec<usize> {
        let mut turns = Turns::new(weights.to_vec());
        (0..places).map(|_| turns.next()).collect()
    }

    #[test]
    fn turns_are_in_proportion_at_every_place() {
        assert_eq!(turns(&[1, 1], 4), [0, 1, 0, 1]);
        assert_eq!(turns(&[30, 70], 10), [1, 0, 1, 1, 0, 1, 1, 1, 0, 1]);
        let weights = [3, 5, 11];
        let order = turns(&weights, 1900);
        for places in 1..=1900 {
            for (index, &weight) in weights.iter().enumerate() {
                let taken = order[..places].iter().filter(|&&one| one == index).count() as f64;
                let share = f64::from(weight) * places as f64 / 19.0;
                assert!(
                    (taken - share).abs() < 1.0,
                    "{index} has {taken} of {places}"
                );
            }
        }
    }

    #[test]
    fn a_weight_of_zero_never_has_its_turn() {
        assert!(turns(&[0, 1], 50).iter().all(|&index| index == 1));
    }

    #[test]
    fn modems_come_online_evenly_over_a_range() {
        let range = crate::scenario::times::StartRange {
            from: Duration::from_secs(10),
            to: Duration::from_secs(20),
        };
        let modem = Modem {
            online_at: Some(OrTable::Table(range)),
            ..Modem::default()
        };
        let times = [1, 2, 6, 11].map(|number| online_at(&modem, number, 11));
        assert_eq!(
            times,
            [10, 11, 15, 20].map(|at| Some(Duration::from_secs(at)))
        );
        assert_eq!(online_at(&modem, 1, 1), Some(Duration::from_secs(10)));
        assert_eq!(online_at(&Modem::default(), 1, 1), None);
    }
}
