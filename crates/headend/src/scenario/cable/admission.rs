//! Admission control: refuses unsolicited grants and polls that the channel cannot give, as the
//! CMTS would, and warns of reserved and sustained rates that cannot all be kept.

use super::line::Line;
use super::modem::{Modems, Profile};
use super::service_flow::{FlowPlan, OneWay};
use crate::link::RateSchedule;
use crate::link::docsis::cmts::Cut;
use crate::link::docsis::qos::Scheduling;
use crate::link::docsis::service_flow::largest_burst;
use crate::link::docsis::timing::UpstreamTiming;
use crate::link::docsis::upstream::cut;
use crate::queue::Framing;
use crate::scenario::error::ScenarioError;
use crate::time::Duration;
use crate::units::Rate;

/// Refuses what cannot be admitted, and warns of what is promised beyond what there is.
pub(super) fn check(
    line: Line<'_>,
    modems: &Modems,
    warnings: &mut Vec<String>,
) -> Result<(), ScenarioError> {
    let members = count_members(modems);
    check_whole(line, modems, &members)?;
    check_unsolicited(line, modems, &members)?;
    for direction in [OneWay::Up, OneWay::Down] {
        warn_of_reserved(line, modems, &members, direction, warnings);
        warn_of_rates(line, modems, direction, warnings);
        warn_of_capacity(line, direction, warnings);
    }
    Ok(())
}

/// How many modems have each profile.
fn count_members(modems: &Modems) -> Vec<u64> {
    let mut members = vec![0; modems.profiles.len()];
    for modem in &modems.all {
        members[modem.profile] += 1;
    }
    members
}

/// Flows of one direction with the number of modems that have them.
fn flows<'a>(
    modems: &'a Modems,
    members: &'a [u64],
    direction: OneWay,
) -> impl Iterator<Item = (u64, &'a FlowPlan)> {
    let of_profile = move |(profile, &count): (&'a Profile, &'a u64)| {
        let flows = profile.flows[direction.index()].iter();
        flows
            .filter(|flow| flow.exists_at_start)
            .map(move |flow| (count, flow))
    };
    modems.profiles.iter().zip(members).flat_map(of_profile)
}

/// Refuses bursts that must not be fragmented and do not fit into a MAP's interval, or are of a
/// service flow of an aggregate.
fn check_whole(line: Line<'_>, modems: &Modems, members: &[u64]) -> Result<(), ScenarioError> {
    let Line { plant, timing, .. } = line;
    let most = timing.minislots_per_channel() * timing.longest_map;
    let unsolicited = |(modems, flow): (u64, &FlowPlan)| {
        modems as f64 * unsolicited_minislots(&flow.qos.scheduling, timing)
    };
    let unsolicited: f64 = flows(modems, members, OneWay::Up).map(unsolicited).sum();
    let regular = unsolicited * (timing.map_interval() * timing.longest_map).as_secs_f64();
    for (modems, flow) in flows(modems, members, OneWay::Up) {
        let asks = !matches!(flow.qos.scheduling, Scheduling::Ugs(_));
        let policy = flow.qos.policy;
        let is_whole = cut(&plant.rules, policy) == Cut::Never;
        if modems == 0 || !asks || !is_whole {
            continue;
        }
        let bytes = largest_burst(&plant.rules, policy, timing.mac_header);
        let minislots = timing.minislots_for(bytes);
        let path = if plant.rules.fragmentation {
            format!("{}.no_fragmentation", flow.settings.request_policy.path)
        } else {
            format!("{}.plant", line.path)
        };
        if let Some(member) = &flow.aggregate {
            let why = format!(
                "the two service flows of {} share what a MAP grants, and so their bursts must be \
                 fragmented: expected continuous concatenation and fragmentation, or fragmentation",
                member.aggregate.path
            );
            return Err(ScenarioError::invalid(path, why));
        }
        if minislots > most {
            let why = format!(
                "a burst of {bytes} B that must not be fragmented takes {minislots} minislots, and \
                 a MAP has {most} to grant: expected a longer map_interval, a smaller burst or a \
                 faster channel"
            );
            return Err(ScenarioError::invalid(path, why));
        }
        // Where the mean leaves room, some MAP does.
        if minislots as f64 + regular > most as f64 {
            let why = format!(
                "a burst of {bytes} B that must not be fragmented takes {minislots} minislots, and \
                 of the {most} that a MAP has to grant {regular:.1} are given without being asked \
                 for: it would never be sent"
            );
            return Err(ScenarioError::invalid(path, why));
        }
    }
    Ok(())
}

/// Refuses more unsolicited grants and polls than the channel can give.
fn check_unsolicited(
    line: Line<'_>,
    modems: &Modems,
    members: &[u64],
) -> Result<(), ScenarioError> {
    let Line { timing, .. } = line;
    let given = line.rates[OneWay::Up.index()];
    let (mut count, mut sum, mut last) = (0, 0.0, line.path);
    for (modems, flow) in flows(modems, members, OneWay::Up) {
        let minislots = unsolicited_minislots(&flow.qos.scheduling, timing);
        let rate = minislots * (timing.minislot_bytes * 8) as f64;
        if rate > 0.0 && modems > 0 {
            count += modems;
            sum += rate * modems as f64;
            last = &flow.settings.scheduling.path;
        }
    }
    if sum <= given.0 as f64 {
        return Ok(());
    }
    let flows = if count == 1 {
        "its grants take".to_owned()
    } else {
        format!("{count} service flows with grants of their own take")
    };
    let why = format!(
        "admission refused: {flows} {} of the channel, which has {} to give",
        rounded(sum),
        rounded(given.0 as f64)
    );
    Err(ScenarioError::invalid(last, why))
}

/// Minislots per second that the unsolicited grants and polls of a service flow take, with their
/// overhead.
fn unsolicited_minislots(scheduling: &Scheduling, timing: &UpstreamTiming) -> f64 {
    let (minislots, interval) = match scheduling {
        Scheduling::BestEffort => return 0.0,
        Scheduling::Ugs(grants) => {
            let each = timing.minislots_for(grants.size.0);
            (each * u64::from(grants.grants), grants.interval)
        }
        Scheduling::Pgs(pgs) => {
            let polls = pgs.request_interval.map_or(0.0, |interval| {
                timing.opportunity_minislots as f64 / interval.as_secs_f64()
            });
            let grants = pgs.grant_minislots(timing) as f64;
            return polls + grants / pgs.grant_interval(timing).as_secs_f64();
        }
        Scheduling::NrtPs(polling) | Scheduling::RtPs(polling) => {
            (timing.opportunity_minislots, polling.interval)
        }
    };
    minislots as f64 / interval.as_secs_f64()
}

/// Warns of reserved rates that cannot all be kept at once.
fn warn_of_reserved(
    line: Line<'_>,
    modems: &Modems,
    members: &[u64],
    direction: OneWay,
    warnings: &mut Vec<String>,
) {
    let reserved = |(modems, flow): (u64, &FlowPlan)| {
        let rate = flow.qos.minimum_reserved.0;
        (rate > 0).then_some((modems, u128::from(rate) * u128::from(modems)))
    };
    let all: Vec<_> = flows(modems, members, direction)
        .filter_map(reserved)
        .collect();
    let count: u64 = all.iter().map(|(modems, _)| modems).sum();
    let sum: u128 = all.iter().map(|(_, rate)| rate).sum();
    let given = line.rates[direction.index()];
    if sum > u128::from(given.0) {
        warnings.push(format!(
            "{}: the reserved rates of {count} {}stream service flows come to {}, and the channel \
             has {} to give: they cannot all be kept",
            line.path,
            direction.name(),
            rounded(sum as f64),
            rounded(given.0 as f64)
        ));
    }
}

/// Warns of service flows with a higher sustained rate than the channel carries, once for each key.
fn warn_of_rates(line: Line<'_>, modems: &Modems, direction: OneWay, warnings: &mut Vec<String>) {
    let given = line.channels[direction.index()];
    let asking = |flow: &FlowPlan, promised: Rate| {
        let asking = Asking::of(line, flow).filter(|_| direction == OneWay::Up)?;
        (promised.0 as f64 > asking.most()).then_some(asking)
    };
    let all = modems
        .profiles
        .iter()
        .flat_map(|profile| &profile.flows[direction.index()]);
    for flow in all {
        // Up to a thousandth more comes from how the plant's overheads are rounded.
        let promised = flow
            .limits_with_aggregate()
            .sustained
            .filter(|rate| rate.0 as f64 > given.0 as f64 * 1.001);
        let path = &flow.settings.rate.path;
        let sustained = flow.limits_with_aggregate().sustained;
        let asking = sustained.and_then(|rate| Some((rate, asking(flow, rate)?)));
        let warning = match (asking, promised) {
            (Some((rate, asking)), _) => Some(format!("{path} is {rate}, and {}", asking.words())),
            (None, Some(promised)) => Some(format!(
                "{path} is {promised}, and the channel carries {}: that is what the queue gets, \
                 whatever its law reckons with",
                rounded(given.0 as f64)
            )),
            (None, None) => None,
        };
        if let Some(warning) = warning
            && !warnings.contains(&warning)
        {
            warnings.push(warning);
        }
    }
}

/// What an upstream service flow sends that asks for a burst, and again once that is granted, as
/// modems did before continuous concatenation.
struct Asking {
    /// The packets that a burst holds, and their bytes.
    packets: u64,
    bytes: u64,
    /// The shortest time from a request to its grant.
    shortest: Duration,
    /// The same in whole MAPs, as requests and grants alternate.
    usual: Duration,
}

impl Asking {
    /// None of a flow that asks while grants are still to come, or gets grants without asking.
    fn of(line: Line<'_>, flow: &FlowPlan) -> Option<Self> {
        let Line { plant, timing, .. } = line;
        let asks = matches!(
            flow.qos.scheduling,
            Scheduling::BestEffort | Scheduling::NrtPs(_)
        );
        if plant.rules.continuous || !asks {
            return None;
        }
        let longest = Framing::ETHERNET.size_on_wire(1500);
        let burst = largest_burst(&plant.rules, flow.qos.policy, timing.mac_header);
        let packets = (burst / (timing.mac_header + longest)).max(1);
        let shortest = timing.minimum_request_grant();
        let interval = timing.map_interval();
        Some(Self {
            packets,
            bytes: packets * longest,
            shortest,
            usual: interval * shortest.as_nanos().div_ceil(interval.as_nanos()),
        })
    }

    /// A rate above all that it can send, in bit/s.
    fn most(&self) -> f64 {
        8.0 * self.bytes as f64 / self.shortest.as_secs_f64()
    }

    /// A clause that says so.
    fn words(&self) -> String {
        let burst = match self.packets {
            1 => format!("one packet ({} B)", self.bytes),
            many => format!("{many} packets ({} B)", self.bytes),
        };
        format!(
            "the modem asks for {burst} at a time, which takes about {} from \
             request to grant: an upload gets about {}",
            self.usual,
            rounded(8.0 * self.bytes as f64 / self.usual.as_secs_f64())
        )
    }
}

/// Warns of a capacity above what the channel carries: it adds nothing.
fn warn_of_capacity(line: Line<'_>, direction: OneWay, warnings: &mut Vec<String>) {
    let given = line.channels[direction.index()];
    if let Some(RateSchedule::Constant(capacity)) = line.capacity[direction.index()]
        && capacity.0 as f64 > given.0 as f64 * 1.001
    {
        warnings.push(format!(
            "{}.{}stream.capacity is {capacity}, and the plant carries {}: it takes nothing away",
            line.path,
            direction.name(),
            rounded(given.0 as f64)
        ));
    }
}

/// A rate with three digits.
fn rounded(rate: f64) -> String {
    let (value, unit) = match rate {
        rate if rate >= 1e9 => (rate / 1e9, "Gbit/s"),
        rate if rate >= 1e6 => (rate / 1e6, "Mbit/s"),
        rate => (rate / 1e3, "kbit/s"),
    };
    let digits = match value {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}
