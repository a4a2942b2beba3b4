//! From a router to the link that it is.

use super::autorate;
use super::config::{NoneOrQueue, Router};
use crate::named::{Named, OrTable};
use crate::qdisc::{QueueConfig, cake};
use crate::queue::{FramingConfig, Keyword};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::Flow;
use crate::scenario::host::Host;
use crate::scenario::link::{self, LinkConfig, LinkPlan};
use crate::scenario::plain::{LinkDirection, PointToPoint, RateLimit};
use crate::scenario::queue::{MTU, Queue};
use crate::scenario::raw::Raw;
use crate::time::Duration;
use crate::traffic::ApplicationConfig;
use crate::units::{ByteCount, MaximumRate, Rate};

/// The name of the link that a router becomes.
const ROUTER: &str = "router";

/// The host of flows that name none.
const HOME: &str = "home";

/// The key, and the name of the flow that it becomes.
const AUTORATE: &str = "autorate";

/// How fast a home's network is.
const NETWORK: Rate = Rate(10_000_000_000);

/// How long a shaper's burst takes at its rate (sqm-scripts: `SHAPER_BURST_DUR_US`).
const BURST: Duration = Duration::from_millis(1);

/// What a line counts that says nothing.
const IP: FramingConfig = OrTable::Plain(Keyword::Ip);

/// Puts the router of a scenario in place as a link, and before the line on the way of its hosts.
pub(in crate::scenario) fn expand(raw: &mut Raw, duration: Duration) -> Result<(), ScenarioError> {
    let router = match raw.router.take() {
        None | Some(OrTable::Plain(NoneOrQueue::Off)) => return Ok(()),
        Some(OrTable::Plain(NoneOrQueue::Queue(queue))) => Router {
            queue,
            ..Router::default()
        },
        Some(OrTable::Table(router)) => router,
    };
    check_queue(&router.queue)?;
    if raw.link.contains_key(ROUTER) {
        let why = "a link is called so already; expected one of the two";
        return Err(ScenarioError::invalid(ROUTER, why));
    }
    // The warnings of the line come again when all links are planned.
    let links = link::plan(&mut raw.link, duration, &mut Vec::new())?;
    let line = find_line(&router, raw, &links)?;
    let framing = (router.framing.clone()).unwrap_or_else(|| framing_of(&raw.link[&line.name].0));
    let rates = [0, 1].map(|way| nominal_rate(line, way));
    let own = [router.up, router.down].map(|own| own.unwrap_or(router.rate));
    let own = [0, 1].map(|way| own[way].of(rates[way]));
    let [up, down] = [0, 1].map(|way| direction(&router.queue, own[way], &framing, way == 1));
    let directions = [0, 1].map(|way| (rates[way], own[way]));
    let autorate = autorate::application(router.autorate.as_ref(), ROUTER, directions)?;
    if let (Some(_), Named(other)) = (&autorate, &router.queue)
        && !matches!(other, QueueConfig::Cake(_))
    {
        let why = format!(
            "it sets the rate of cake, and the queue is {}",
            other.name()
        );
        return Err(ScenarioError::invalid(format!("{ROUTER}.{AUTORATE}"), why));
    }
    let name = line.name.clone();
    let is_only = links.len() == 1;
    let router_link = PointToPoint {
        up: up?,
        down: Some(down?),
    };
    raw.link.insert(
        ROUTER.to_owned(),
        Named(LinkConfig::PointToPoint(Box::new(router_link))),
    );
    for host in raw.host.values_mut() {
        if let Some(place) = host.via.iter().position(|hop| *hop == name) {
            host.via.insert(place, ROUTER.to_owned());
        }
    }
    if is_only {
        give_home(raw, &name);
    }
    if let Some(application) = autorate {
        add_autorate(raw, application, &name)?;
    }
    Ok(())
}

/// Refuses a rate of the queue's own: beside the router's there would be two.
fn check_queue(Named(queue): &Queue) -> Result<(), ScenarioError> {
    match queue {
        QueueConfig::Cake(cake) if cake.rate != MaximumRate::Unlimited => {
            let why = "a router has one rate; expected it in router.rate, or in router.up and \
                       router.down";
            let path = format!("{ROUTER}.queue.cake.rate");
            Err(ScenarioError::invalid(path, why))
        }
        _ => Ok(()),
    }
}

/// The line that a router stands before.
fn find_line<'a>(
    router: &Router,
    raw: &Raw,
    links: &'a [LinkPlan],
) -> Result<&'a LinkPlan, ScenarioError> {
    let candidates = || {
        links
            .iter()
            .filter(|link| !link.medium().has_hosts_as_customers())
    };
    let of_bottleneck = || (raw.bottleneck.as_deref()).and_then(|queue| queue.split('.').next());
    let named = router.link.as_deref().or_else(of_bottleneck);
    let found: Vec<&LinkPlan> = match named {
        Some(name) => candidates().filter(|link| link.name == name).collect(),
        None => candidates().collect(),
    };
    let [line] = found[..] else {
        let known: Vec<&str> = candidates().map(|link| link.name.as_str()).collect();
        let why = format!(
            "expected one line that it stands before, of {}; found {}: name it with router.link",
            known.join(", "),
            found.len()
        );
        return Err(ScenarioError::invalid(ROUTER, why));
    };
    let customers = line.medium().customers();
    if customers != 1 {
        let why = format!(
            "it stands before one modem, and {} has {customers}; write a link before each",
            line.name
        );
        return Err(ScenarioError::invalid(ROUTER, why));
    }
    Ok(line)
}

/// The nominal rate of a line on the way up (0) or down (1).
fn nominal_rate(line: &LinkPlan, way: usize) -> Rate {
    let queues = line.medium().queues(&line.name);
    let mut rates = queues
        .iter()
        .filter(|queue| usize::from(queue.port.0 % 2) == way);
    rates.next().map_or(NETWORK, |queue| queue.rate)
}

/// How a line counts bytes.
fn framing_of(line: &LinkConfig) -> FramingConfig {
    match line {
        LinkConfig::Docsis(_) => OrTable::Plain(Keyword::Docsis),
        LinkConfig::PointToPoint(plain) => plain.up.framing.clone().unwrap_or(IP),
        LinkConfig::Dot11b(_)
        | LinkConfig::Dot11g(_)
        | LinkConfig::Dot11n(_)
        | LinkConfig::Dot11ac(_)
        | LinkConfig::Dot11ax(_) => IP,
    }
}

/// A direction of the router's link, with its shaper.
fn direction(
    Named(queue): &Queue,
    rate: Option<Rate>,
    framing: &FramingConfig,
    is_ingress: bool,
) -> Result<LinkDirection, ScenarioError> {
    let mut own = LinkDirection {
        rate: OrTable::Plain(NETWORK),
        delay: None,
        loss: None,
        framing: None,
        policer: None,
        queue: Queue::default(),
        shaper: None,
    };
    let Some(rate) = rate else {
        return Ok(own);
    };
    let counted = framing
        .framing()
        .map_err(|(key, why)| ScenarioError::invalid(format!("{ROUTER}.framing.{key}"), why))?;
    if let QueueConfig::Cake(cake) = queue {
        let mut cake = cake.clone();
        cake.ingress |= is_ingress;
        cake.rate = MaximumRate::Rate(rate);
        if cake.framing == cake::Config::default().framing {
            cake.framing = framing.clone();
        }
        own.queue = Named(QueueConfig::Cake(cake));
    } else {
        let burst = rate.bytes_in(BURST).max(counted.size_on_wire(MTU));
        own.framing = Some(framing.clone());
        own.queue = Named(queue.clone());
        own.shaper = Some(RateLimit {
            rate,
            burst: ByteCount(burst),
            peak: None,
            peak_burst: None,
        });
    }
    Ok(own)
}

/// Gives flows without a host one behind the router: the line is no longer the only link.
fn give_home(raw: &mut Raw, line: &str) {
    let homeless = |flow: &Flow| flow.host.is_none();
    if !raw.flow.values().any(homeless) {
        return;
    }
    let name = add_host(raw, HOME, line);
    for flow in raw.flow.values_mut().filter(|flow| flow.host.is_none()) {
        flow.host = Some(name.clone());
    }
}

/// Adds the program that sets the rates, on a host of its own behind the router's queues.
fn add_autorate(
    raw: &mut Raw,
    application: ApplicationConfig,
    line: &str,
) -> Result<(), ScenarioError> {
    if raw.flow.contains_key(AUTORATE) {
        let path = format!("flow.{AUTORATE}");
        let why = "router.autorate has a flow of this name; expected another name";
        return Err(ScenarioError::invalid(path, why));
    }
    let host = add_host(raw, AUTORATE, line);
    let flow = Flow::new(application, host);
    raw.flow.insert(AUTORATE.to_owned(), flow);
    Ok(())
}

/// Adds a host behind the router; its name begins with this.
fn add_host(raw: &mut Raw, name: &str, line: &str) -> String {
    let name = free_name(raw, name);
    let via = vec![ROUTER.to_owned(), line.to_owned()];
    let host = Host {
        via,
        ..Host::default()
    };
    raw.host.insert(name.clone(), host);
    name
}

/// A name that no host has.
fn free_name(raw: &Raw, name: &str) -> String {
    let mut name = name.to_owned();
    while raw.host.contains_key(&name) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use crate::scenario::{Format, Override, Scenario};

    const LINE: &str = r#"
        [link.cable.docsis]
        preset = "docsis30"
        upstream.rate = "5 Mbit/s"
        downstream.rate = "50 Mbit/s"
        [flow.upload]
        application = "bulk"
        direction = "up"
    "#;

    fn read(text: &str, overrides: &[(&str, &str)]) -> Result<Value, String> {
        let overrides: Vec<Override> = (overrides.iter())
            .map(|(path, value)| ((*path).to_owned(), (*value).to_owned()))
            .collect();
        let scenario = Scenario::parse(text, Format::Toml, &overrides, &BTreeMap::new());
        let scenario = scenario.map_err(|error| error.to_string())?;
        Ok(serde_json::from_str(&scenario.to_json()).expect("it is JSON"))
    }

    #[test]
    fn a_router_is_a_link_before_the_line() {
        let found = read(LINE, &[("router", "cake")]).expect("it makes sense");
        let link = &found["link"]["router"]["point_to_point"];
        assert_eq!(link["up"]["queue"]["cake"]["rate"], "4.75 Mbit/s");
        assert_eq!(link["up"]["queue"]["cake"]["ingress"], false);
        assert_eq!(link["down"]["queue"]["cake"]["rate"], "47.5 Mbit/s");
        assert_eq!(link["down"]["queue"]["cake"]["ingress"], true);
        assert_eq!(found["host"]["home"]["via"], json!(["router", "cable"]));
        assert_eq!(found["flow"]["upload"]["host"], "home");
        assert_eq!(found.get("router"), None);
        let without = read(LINE, &[("router", "off")]).expect("it makes sense");
        assert_eq!(without, read(LINE, &[]).expect("it makes sense"));
    }

    #[test]
    fn what_it_becomes_is_the_same_scenario_again() {
        let found = read(LINE, &[("router", "fq_codel"), ("router.rate", "4 Mbit/s")]);
        let found = found.expect("it makes sense");
        let link = &found["link"]["router"]["point_to_point"];
        assert_eq!(
            link["up"]["shaper"],
            json!({"rate": "4 Mbit/s", "burst": "1518 B"})
        );
        assert_eq!(link["up"]["framing"], "docsis");
        let again = Scenario::parse(&found.to_string(), Format::Json, &[], &BTreeMap::new());
        let again = again.expect("it makes sense").to_json();
        assert_eq!(
            serde_json::from_str::<Value>(&again).expect("it is JSON"),
            found
        );
    }

    #[test]
    fn directions_have_rates_of_their_own() {
        let overrides = [
            ("router.queue", "cake"),
            ("router.up", "90 %"),
            ("router.down", "unlimited"),
        ];
        let found = read(LINE, &overrides).expect("it makes sense");
        let link = &found["link"]["router"]["point_to_point"];
        assert_eq!(link["up"]["queue"]["cake"]["rate"], "4.5 Mbit/s");
        assert_eq!(link["down"]["queue"].get("cake"), None);
    }

    #[test]
    fn autorate_becomes_a_flow_that_sets_the_rates() {
        let found = read(LINE, &[("router.autorate", "true")]).expect("it makes sense");
        let flow = &found["flow"]["autorate"];
        assert_eq!(flow["host"], "autorate");
        let application = &flow["application"]["autorate"];
        assert_eq!(application["link"], "router");
        assert_eq!(
            application["up"],
            json!({"minimum": "1.25 Mbit/s", "base": "4.75 Mbit/s", "maximum": "5 Mbit/s"})
        );
        let again = Scenario::parse(&found.to_string(), Format::Json, &[], &BTreeMap::new());
        let again = again.expect("it makes sense").to_json();
        assert_eq!(
            serde_json::from_str::<Value>(&again).expect("it is JSON"),
            found
        );
        let one = [
            ("router.autorate.one_way", "true"),
            ("router.down", "unlimited"),
        ];
        let found = read(LINE, &one).expect("it makes sense");
        let application = &found["flow"]["autorate"]["application"]["autorate"];
        assert_eq!(application["one_way"], true);
        assert_eq!(application.get("down"), None);
        let without = read(LINE, &[("router.autorate", "false")]).expect("it makes sense");
        assert_eq!(without["flow"].get("autorate"), None);
        let off = format!("router = \"off\"\n{LINE}");
        let on = read(&off, &[("router.autorate", "true")]).expect("a key of it switches it on");
        assert_eq!(on["flow"]["autorate"]["host"], "autorate");
    }

    #[test]
    fn autorate_without_a_rate_of_cake_is_refused() {
        let on = ("router.autorate", "true");
        let error = read(LINE, &[("router", "fq_codel"), on]).expect_err("no cake");
        assert!(
            error.contains("router.autorate: it sets the rate of cake, and the queue is fq_codel"),
            "{error}"
        );
        let error = read(LINE, &[("router.rate", "unlimited"), on]).expect_err("no rate");
        assert!(error.contains("a rate that is unlimited"), "{error}");
        let taken = format!("{LINE}\n[flow.autorate]\napplication = \"ping\"");
        let error = read(&taken, &[on]).expect_err("the name is taken");
        assert!(
            error.contains("flow.autorate: router.autorate has"),
            "{error}"
        );
        let lost = format!(
            "{LINE}\n[flow.script.application.autorate]\n\
             up = {{ minimum = \"1 Mbit/s\", base = \"1 Mbit/s\", maximum = \"1 Mbit/s\" }}"
        );
        let error = read(&lost, &[]).expect_err("no router");
        assert!(
            error.contains("expected a plain link of the scenario, not \"router\""),
            "{error}"
        );
    }

    #[track_caller]
    fn check_refused(overrides: &[(&str, &str)], expected: &str) {
        let error = read(LINE, overrides).expect_err("it makes no sense");
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn bounds_of_autorate_are_rates_around_that_of_the_router() {
        let at = |key: &str, value: &str, expected: &str| {
            check_refused(&[(&format!("router.autorate.{key}"), value)], expected);
        };
        for key in ["minimum", "maximum"] {
            let expected = format!(
                "router.autorate.{key}: expected a share of the line's rate, or a rate, found \
                 \"unlimited\""
            );
            at(key, "unlimited", &expected);
        }
        at(
            "minimum",
            "96 %",
            "router.autorate.minimum: 4.8 Mbit/s is above 4.75 Mbit/s, the router's own rate",
        );
        at(
            "maximum",
            "94 %",
            "router.autorate.maximum: 4.7 Mbit/s is below 4.75 Mbit/s, the router's own rate",
        );
        at(
            "minimum",
            "100 bit/s",
            "router.autorate.minimum: expected at least 1 kbit/s, found 100 bit/s",
        );
        at(
            "threshold",
            "0 ms",
            "router.autorate.threshold: expected a time of 1 ns to 10 s",
        );
        // Of the default too: 25 % of the line's rate.
        check_refused(
            &[("router.rate", "20 %"), ("router.autorate", "true")],
            "router.autorate.minimum: 1.25 Mbit/s is above 1 Mbit/s",
        );
        for equal in [
            ("router.autorate.minimum", "95 %"),
            ("router.autorate.maximum", "95 %"),
        ] {
            read(LINE, &[equal]).expect("it makes sense");
        }
    }

    #[test]
    fn a_rate_of_cake_beside_that_of_the_router_is_refused() {
        let rate = ("router.queue.cake.rate", "2 Mbit/s");
        let expected = "router.queue.cake.rate: a router has one rate; expected it in router.rate";
        check_refused(&[rate], expected);
        check_refused(&[rate, ("router.autorate", "true")], expected);
        check_refused(&[rate, ("router.rate", "unlimited")], expected);
    }

    #[test]
    fn a_slip_has_a_suggestion() {
        for (path, value, meant) in [
            ("router", "on", "\"cake\""),
            ("router", "yes", "\"cake\""),
            ("router", "true", "\"cake\""),
            ("router", "no", "\"off\""),
            ("router", "false", "\"off\""),
            ("router.autorate", "yes", "true"),
            ("router.autorate", "on", "true"),
            ("router.autorate", "1", "true"),
            ("router.autorate", "off", "false"),
            ("router.rate", "95", "\"95 %\""),
            ("router.rate", "0.95", "\"95 %\""),
            ("router.up", "105", "\"105 %\""),
            ("router.autorate.minimum", "0.3", "\"30 %\""),
        ] {
            let error = read(LINE, &[(path, value)]).expect_err("it makes no sense");
            let is_meant = error.contains(&format!("; did you mean {meant}?"));
            assert!(
                is_meant && error.starts_with(&format!("{path}: expected ")),
                "{error}"
            );
        }
        let error = read(LINE, &[("router.rate", "2000")]).expect_err("it makes no sense");
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn a_router_where_none_can_stand_is_refused() {
        let homes = format!(
            "{LINE}\n[link.cable.docsis.modem.home]\ncount = 5\n[host.a]\nvia = [\"cable.home\"]"
        );
        let error = read(&homes, &[("router", "cake")]).expect_err("five homes");
        assert!(
            error.contains("it stands before one modem, and cable has 5"),
            "{error}"
        );
        let error = read(LINE, &[("router", "cakes")]).expect_err("no queue");
        assert!(error.contains("did you mean \"cake\"?"), "{error}");
        let error = read(LINE, &[("router.rate", "95")]).expect_err("no unit");
        assert!(
            error.contains("expected a share, a rate or \"unlimited\", such as"),
            "{error}"
        );
        let error = read(LINE, &[("router.link", "dsl")]).expect_err("no such link");
        assert!(error.contains("of cable; found 0"), "{error}");
    }
}
