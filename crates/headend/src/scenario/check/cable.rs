//! Cable lines: the plant, the modems, and the service flows of each.
//!
//! Modems that say the same share a [`Profile`], so that a thousand cost no more to check than one.

use std::collections::BTreeMap;

use super::changes::{self, ChangePlan};
use super::links::plan_rate;
use super::service_flow::{
    Channel, DefaultBuffer, FlowPlan, Layer, Layers, RulePlan, default_queue, modem_queue,
};
use super::{LONGEST_DELAY, admission, plant, unknown};
use crate::link::RateSchedule;
use crate::link::docsis::classifier::{IPV4, IPV6};
use crate::link::docsis::cmts::Placement;
use crate::link::docsis::preset::{Feature, Plant, PlantConfig, Preset};
use crate::link::docsis::timing::UpstreamTiming;
use crate::named::OrTable;
use crate::scenario::cable::{
    Classifier, Docsis, Modem, NeighbourLoad, OneWay, OwnUpstream, ServiceClass, ServiceFlow,
    TypeOfService,
};
use crate::scenario::error::ScenarioError;
use crate::scenario::header_fields::{EtherType, IpProtocol, Network};
use crate::scenario::span::Several;
use crate::time::Duration;
use crate::units::{ByteCount, Limit, Rate};

/// A cable line, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct CablePlan {
    pub(in crate::scenario) plant: Plant,
    pub(in crate::scenario) placement: Placement,
    /// What the channels have to give, up and down, where that is less than they carry.
    pub(in crate::scenario) capacity: [Option<RateSchedule>; 2],
    /// Share by which the upstream's varies from MAP to MAP.
    pub(in crate::scenario) capacity_variation: f64,
    pub(in crate::scenario) neighbours: Option<NeighbourLoad>,
    pub(in crate::scenario) profiles: Vec<Profile>,
    pub(in crate::scenario) modems: Vec<ModemPlan>,
    pub(in crate::scenario) groups: Vec<ModemGroup>,
    /// In order of time.
    pub(in crate::scenario) changes: Vec<ChangePlan>,
}

/// The service flows of modems that are alike.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Profile {
    /// Upstream and downstream; the first of each is for what no other claims.
    pub(in crate::scenario) flows: [Vec<FlowPlan>; 2],
    /// What the modem does not let out.
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

/// Modems that are written as one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct ModemGroup {
    /// Its name; the only modem of a line has none.
    pub(in crate::scenario) name: Option<String>,
    /// Its first modem.
    pub(in crate::scenario) first: u32,
    /// How many there are, where that is said.
    pub(in crate::scenario) count: Option<u32>,
}

/// A line may have as many; the port numbers of a link would do for three times that.
const MOST_MODEMS: u32 = 10_000;

impl CablePlan {
    /// Its queues: name, and path of the key that an override puts another into. Upstream first.
    pub(in crate::scenario) fn queues(&self, link: &str) -> Vec<(String, String)> {
        let mut queues = Vec::new();
        for modem in &self.modems {
            let group = self.groups[modem.group].name.as_deref();
            for (index, flow) in self.profiles[modem.profile]
                .flows
                .iter()
                .flatten()
                .enumerate()
            {
                let up = self.profiles[modem.profile].flows[0].len();
                let path = match group {
                    Some(group) if index == 0 || index == up => {
                        format!("link.{link}.docsis.modem.{group}.{}stream.queue", flow.name)
                    }
                    _ => format!("{}.queue", flow.path),
                };
                queues.push((modem.queue_name(link, &flow.name), path));
            }
        }
        queues
    }
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

/// Checks a line and writes its defaults out.
pub(super) fn plan(
    path: &str,
    line: &mut Docsis,
    duration: Duration,
    warnings: &mut Vec<String>,
) -> Result<CablePlan, ScenarioError> {
    let plant = plan_plant(path, line)?;
    check_names(path, line)?;
    let timing = plant.upstream_timing();
    let up = plan_capacity(&format!("{path}.upstream"), line.upstream.capacity.as_ref())?;
    if let Some(RateSchedule::Opportunities { .. }) = up {
        let why = "an upstream gives grants, not single opportunities: expected a rate or steps";
        return Err(ScenarioError::invalid(
            format!("{path}.upstream.capacity"),
            why,
        ));
    }
    if up.is_none() && line.upstream.capacity_variation.0 > 0.0 {
        let why = "what varies is the capacity: expected `capacity` beside it";
        return Err(ScenarioError::invalid(
            format!("{path}.upstream.capacity_variation"),
            why,
        ));
    }
    let down = plan_capacity(
        &format!("{path}.downstream"),
        line.downstream.capacity.as_ref(),
    )?;
    let given = |channel: Rate, capacity: &Option<RateSchedule>| {
        capacity
            .as_ref()
            .map_or(channel, |given| channel.min(given.nominal()))
    };
    let channels = [timing.capacity(), plant.downstream_timing().rate];
    let rates = [given(channels[0], &up), given(channels[1], &down)];
    fill_queues(line);
    check_neighbours(&format!("{path}.neighbours"), line.neighbours.as_ref())?;
    let mut planner = Planner {
        path,
        line,
        timing: &timing,
        rates,
        profiles: Vec::new(),
        modems: Vec::new(),
        groups: Vec::new(),
    };
    planner.plan_modems(duration)?;
    let Planner {
        profiles,
        modems,
        groups,
        ..
    } = planner;
    let mut plan = CablePlan {
        placement: line.placement,
        capacity: [up, down],
        capacity_variation: line.upstream.capacity_variation.0,
        neighbours: line.neighbours.clone(),
        profiles,
        modems,
        groups,
        changes: Vec::new(),
        plant,
    };
    admission::check(path, &plan, &timing, channels, rates, warnings)?;
    let around = changes::Surroundings {
        path,
        line,
        timing: &timing,
        channels,
        rates,
        duration,
    };
    changes::plan(around, &mut plan, warnings)?;
    Ok(plan)
}

fn plan_plant(path: &str, line: &mut Docsis) -> Result<Plant, ScenarioError> {
    let plant = line.plant.over(line.preset);
    plant::check(&format!("{path}.plant"), line.preset, &plant)?;
    line.plant = PlantConfig::from(plant.clone());
    Ok(plant)
}

fn plan_capacity(
    path: &str,
    capacity: Option<&OrTable<Rate, crate::scenario::raw::VaryingRate>>,
) -> Result<Option<RateSchedule>, ScenarioError> {
    let plan = |capacity| plan_rate(&format!("{path}.capacity"), capacity);
    capacity.map(plan).transpose()
}

/// Writes out the queues that follow from the generation.
fn fill_queues(line: &mut Docsis) {
    let preset = line.preset;
    if line.buffer_settings.dropped {
        let size = &mut line.buffer_settings.default_buffer;
        size.get_or_insert_with(|| modem_buffer(preset));
    }
    (line.upstream.queue).get_or_insert_with(|| modem_queue(preset));
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
        let class_flows = format!("service_class.{name}.service_flow");
        add(&class_flows, &mut class.service_flow.keys());
        add(
            &format!("service_class.{name}.drop"),
            &mut class.drop.keys(),
        );
    }
    for (name, modem) in &line.modem {
        add(
            &format!("modem.{name}.service_flow"),
            &mut modem.service_flow.keys(),
        );
        add(&format!("modem.{name}.drop"), &mut modem.drop.keys());
    }
    for (path, name) in names {
        super::check_name(&path, &name)?;
        if ["up", "down"].contains(&name.as_str()) {
            let why = "\"up\" and \"down\" are the service flows that every modem has (upstream, downstream)";
            return Err(ScenarioError::invalid(path, why));
        }
    }
    Ok(())
}

fn check_neighbours(path: &str, load: Option<&NeighbourLoad>) -> Result<(), ScenarioError> {
    let Some(load) = load else { return Ok(()) };
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    if load.load.0 >= 1.0 {
        return refuse(
            "load",
            "neighbours that take all of the channel leave nothing".to_owned(),
        );
    }
    if !(0.0..=10.0).contains(&load.burstiness) {
        return refuse(
            "burstiness",
            format!("expected 0 to 10, found {}", load.burstiness),
        );
    }
    if load.correlation.is_zero() || load.correlation > LONGEST_DELAY {
        let why = format!(
            "expected more than 0 s and at most {LONGEST_DELAY}, found {}",
            load.correlation
        );
        return refuse("correlation", why);
    }
    if !(0.0..=1e6).contains(&load.requests_per_second) {
        let why = format!(
            "expected 0 to a million, found {}",
            load.requests_per_second
        );
        return refuse("requests_per_second", why);
    }
    for (index, (start, factor)) in load.time_of_day.iter().enumerate() {
        let key = format!("time_of_day[{index}]");
        if !(0.0..=100.0).contains(factor) {
            return refuse(
                &key,
                format!("expected a factor from 0 to 100, found {factor}"),
            );
        }
        if index == 0 && !start.is_zero() {
            return refuse(&key, format!("the first step is at \"0 s\", not {start}"));
        }
        if index > 0 && *start <= load.time_of_day[index - 1].0 {
            return refuse(
                &key,
                format!("steps are in order of time: {start} does not come later"),
            );
        }
    }
    Ok(())
}

struct Planner<'a> {
    path: &'a str,
    line: &'a Docsis,
    timing: &'a UpstreamTiming,
    /// What the channels have to give, up and down.
    rates: [Rate; 2],
    profiles: Vec<Profile>,
    modems: Vec<ModemPlan>,
    groups: Vec<ModemGroup>,
}

/// A table of the scenario, and its path.
type At<'a, T> = (String, &'a T);

impl<'a> Planner<'a> {
    fn plan_modems(&mut self, duration: Duration) -> Result<(), ScenarioError> {
        if self.line.modem.is_empty() {
            let profile = self.profile(None, None)?;
            self.groups.push(ModemGroup {
                name: None,
                first: 0,
                count: None,
            });
            self.modems.push(ModemPlan {
                name: None,
                group: 0,
                profile,
                online_at: None,
            });
            return Ok(());
        }
        let line = self.line;
        for (name, modem) in &line.modem {
            self.plan_group(name, modem, duration)?;
        }
        Ok(())
    }

    fn plan_group(
        &mut self,
        name: &str,
        modem: &'a Modem,
        duration: Duration,
    ) -> Result<(), ScenarioError> {
        let path = format!("{}.modem.{name}", self.path);
        let count = self.count(&path, modem)?;
        check_online(&format!("{path}.online_at"), modem, duration)?;
        let profiles = self.profiles_of(name, &path, modem)?;
        let group = self.groups.len();
        self.groups.push(ModemGroup {
            name: Some(name.to_owned()),
            first: self.modems.len() as u32,
            count: modem.count,
        });
        let mut turns = Turns::new(profiles.iter().map(|&(_, weight)| weight).collect());
        for number in 1..=count {
            let own = match modem.count {
                Some(_) => format!("{name}.{number}"),
                None => name.to_owned(),
            };
            self.modems.push(ModemPlan {
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
        let all = u64::from(count) + self.modems.len() as u64;
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
        let own = (path.to_owned(), modem);
        if modem.mix.is_empty() {
            let class = modem.service_class.as_ref();
            let class = class.map(|class| self.class(&format!("{path}.service_class"), class));
            let class = class.transpose()?;
            return Ok(vec![(self.profile(class.as_ref(), Some(&own))?, 1)]);
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
            profiles.push((self.profile(Some(&class), Some(&own))?, weight));
        }
        Ok(profiles)
    }

    fn class(&self, path: &str, name: &str) -> Result<At<'a, ServiceClass>, ScenarioError> {
        let classes = &self.line.service_class;
        let found = classes.get(name).ok_or_else(|| {
            let known = classes.keys().cloned().collect();
            unknown(path, "service class", name, known)
        })?;
        Ok((format!("{}.service_class.{name}", self.path), found))
    }

    /// The service flows of a modem of this class, checked.
    fn profile(
        &mut self,
        class: Option<&At<'a, ServiceClass>>,
        modem: Option<&At<'a, Modem>>,
    ) -> Result<usize, ScenarioError> {
        let up = [
            modem.map(|(path, modem)| layer(path, "upstream", modem.upstream.clone())),
            class.map(|(path, class)| layer(path, "upstream", class.upstream.clone())),
            Some(layer(self.path, "upstream", (&self.line.upstream).into())),
        ];
        let down = [
            modem.map(|(path, modem)| layer(path, "downstream", (&modem.downstream).into())),
            class.map(|(path, class)| layer(path, "downstream", (&class.downstream).into())),
            Some(layer(
                self.path,
                "downstream",
                (&self.line.downstream).into(),
            )),
        ];
        let [up, down] = [up, down].map(|layers| Layers(layers.into_iter().flatten().collect()));
        let modem_says = modem.and_then(|(_, modem)| modem.upstream_aqm_disabled);
        let class_says = class.and_then(|(_, class)| class.upstream_aqm_disabled);
        let is_aqm_disabled = modem_says
            .or(class_says)
            .unwrap_or(self.line.upstream_aqm_disabled);
        let channel = |direction| self.channel(direction, is_aqm_disabled);
        let mut flows = [
            vec![up.plan("up", channel(OneWay::Up))?],
            vec![down.plan("down", channel(OneWay::Down))?],
        ];
        let mut further = by_name("service_flow", self.path, &self.line.service_flow);
        let mut drops = by_name("drop", self.path, &self.line.drop);
        if let Some((path, class)) = class {
            further.extend(by_name("service_flow", path, &class.service_flow));
            drops.extend(by_name("drop", path, &class.drop));
        }
        if let Some((path, modem)) = modem {
            further.extend(by_name("service_flow", path, &modem.service_flow));
            drops.extend(by_name("drop", path, &modem.drop));
        }
        for (name, (path, flow)) in further {
            let plan = further_flow(name, &path, flow, channel(flow.direction))?;
            flows[flow.direction.index()].push(plan);
        }
        let drops = drops.into_values();
        let drops = drops.map(|(path, rule)| rule_plan(path, rule));
        self.profiles.push(Profile {
            flows,
            drops: drops.collect::<Result<_, _>>()?,
        });
        Ok(self.profiles.len() - 1)
    }

    fn channel(&self, direction: OneWay, is_upstream_aqm_disabled: bool) -> Channel<'_> {
        let is_upstream = direction == OneWay::Up;
        Channel {
            direction,
            preset: self.line.preset,
            rate: self.rates[direction.index()],
            timing: self.timing,
            is_aqm_disabled: is_upstream && is_upstream_aqm_disabled,
            default_buffer: default_buffer(self.path, self.line, direction),
        }
    }
}

/// What modems' buffers are if the CMTS drops what is written of them: only those of upstream flows
/// are the modems'.
pub(super) fn default_buffer<'a>(
    path: &'a str,
    line: &Docsis,
    direction: OneWay,
) -> Option<DefaultBuffer<'a>> {
    let settings = &line.buffer_settings;
    let is_dropped = settings.dropped && direction == OneWay::Up;
    let size = settings.default_buffer.filter(|_| is_dropped)?;
    Some(DefaultBuffer { size, line: path })
}

/// What a modem's buffer is that is told nothing of it: the AQM paper's §9 has a time, Buffer
/// Control's §5.2.2 one size for all rates.
fn modem_buffer(preset: Preset) -> Limit {
    if preset.supports(Feature::ModemAqm) {
        Limit::Time(Duration::from_millis(250))
    } else {
        Limit::Bytes(ByteCount(256 * 1024))
    }
}

/// A service flow besides those that every modem has, checked.
pub(super) fn further_flow(
    name: &str,
    path: &str,
    flow: &ServiceFlow,
    channel: Channel<'_>,
) -> Result<FlowPlan, ScenarioError> {
    let layers = Layers(vec![Layer {
        path: path.to_owned(),
        own: flow.into(),
    }]);
    (channel.preset.require(Feature::Classifiers))
        .map_err(|why| ScenarioError::invalid(path, why))?;
    let mut plan = layers.plan(name, channel)?;
    if flow.classifiers.is_empty() {
        let why = "a further service flow takes no packet unless it says which: match = {…}";
        return Err(ScenarioError::invalid(path, why));
    }
    plan.rules = rule_plans(path, &flow.classifiers)?;
    Ok(plan)
}

/// The classifiers that are written below `path`.
pub(super) fn rule_plans(
    path: &str,
    classifiers: &Several<Classifier>,
) -> Result<Vec<RulePlan>, ScenarioError> {
    let rules = &classifiers.0;
    let at = |index: usize| match rules.len() {
        1 => format!("{path}.match"),
        _ => format!("{path}.match[{index}]"),
    };
    let rules = rules.iter().enumerate();
    rules
        .map(|(index, rule)| rule_plan(at(index), rule))
        .collect()
}

fn layer(path: &str, key: &str, own: OwnUpstream) -> Layer {
    Layer {
        path: format!("{path}.{key}"),
        own,
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

/// A classifier that some packet can meet.
fn rule_plan(path: String, classifier: &Classifier) -> Result<RulePlan, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{path}.{key}"), why));
    if let Some(dscp) = classifier.dscp.filter(|dscp| dscp.to > 63) {
        return refuse(
            "dscp",
            format!("expected a DSCP from 0 to 63, found {dscp}"),
        );
    }
    let has_no_ports = match classifier.protocol {
        Some(IpProtocol::Icmp) => Some("ICMP".to_owned()),
        Some(IpProtocol::Number(number)) if !HAVE_PORTS.contains(&number) => {
            Some(format!("IP protocol {number}"))
        }
        _ => None,
    };
    let ports = [
        ("port", classifier.port),
        ("source_port", classifier.source_port),
        ("destination_port", classifier.destination_port),
    ];
    if let (Some((key, _)), Some(protocol)) =
        (ports.iter().find(|(_, port)| port.is_some()), has_no_ports)
    {
        return refuse(key, format!("matches nothing: {protocol} has no ports"));
    }
    if let Some(tos) = &classifier.tos {
        check_tos(&format!("{path}.tos"), tos)?;
    }
    if let Some(vlan) = classifier.vlan.filter(|vlan| !(1..=4094).contains(vlan)) {
        return refuse(
            "vlan",
            format!("expected a VLAN from 1 to 4094, found {vlan}"),
        );
    }
    check_versions(&path, classifier)?;
    Ok(RulePlan {
        classifier: classifier.clone(),
        path,
    })
}

/// IP protocol numbers whose packets have ports: TCP, UDP, any, TCP or UDP.
const HAVE_PORTS: [u16; 4] = [6, 17, 256, 257];

/// A byte can be found between the two bounds once its bits are chosen.
fn check_tos(path: &str, tos: &TypeOfService) -> Result<(), ScenarioError> {
    let TypeOfService { low, high, mask } = *tos;
    if low > high {
        let why = format!("the highest, {high:#04x}, is below the lowest, {low:#04x}");
        return Err(ScenarioError::invalid(format!("{path}.high"), why));
    }
    if (0..=u8::MAX).any(|byte| (low..=high).contains(&(byte & mask))) {
        return Ok(());
    }
    let why = format!(
        "matches nothing: no byte has bits under the mask {mask:#04x} that come to {low:#04x} to {high:#04x}"
    );
    Err(ScenarioError::invalid(path, why))
}

/// Addresses and the Ethernet type are of one IP version.
fn check_versions(path: &str, classifier: &Classifier) -> Result<(), ScenarioError> {
    let of_network = |network: &Option<Network>| match network {
        Some(Network::V4 { .. }) => Some(IPV4),
        Some(Network::V6 { .. }) => Some(IPV6),
        Some(Network::Host(_)) | None => None,
    };
    let given = [
        ("source", of_network(&classifier.source)),
        ("destination", of_network(&classifier.destination)),
        (
            "ethertype",
            classifier.ethertype.map(|EtherType(number)| number),
        ),
    ];
    let mut given = (given.into_iter()).filter_map(|(key, version)| Some((key, version?)));
    let Some((first, version)) = given.next() else {
        return Ok(());
    };
    match given.find(|(_, other)| *other != version) {
        None => Ok(()),
        Some((key, _)) => {
            let why = format!("matches nothing: expected the IP version of `{first}`");
            Err(ScenarioError::invalid(format!("{path}.{key}"), why))
        }
    }
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

/// When modem `number` of `count` is switched on: a range is spread evenly.
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

/// Who is next where several take turns by their weights: whoever has fallen furthest behind its share (the method of largest remainders,
/// place by place; of equals the first).
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
        let range = crate::scenario::raw::StartRange {
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
