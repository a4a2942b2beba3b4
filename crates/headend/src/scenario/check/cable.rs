//! Cable lines: the plant, and the service flow of each direction.

use super::links::{plan_queue, plan_rate};
use super::{plant, unavailable};
use crate::aqm::docsis_pie;
use crate::link::RateSchedule;
use crate::link::docsis::cmts::Placement;
use crate::link::docsis::preset::{Feature, Plant, PlantConfig, Preset};
use crate::link::docsis::service_flow::DequeueAt;
use crate::link::docsis::token_bucket::{Limits, PEAK_BURST};
use crate::qdisc::{Framing, QueueConfig};
use crate::scenario::error::ScenarioError;
use crate::scenario::named::OrTable;
use crate::scenario::raw::{Docsis, Queue, VaryingRate};
use crate::units::{ByteCount, Rate};

/// A cable line with one modem, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct CablePlan {
    pub(in crate::scenario) plant: Plant,
    pub(in crate::scenario) placement: Placement,
    pub(in crate::scenario) dequeue_at: DequeueAt,
    pub(in crate::scenario) upstream: CableFlowPlan,
    pub(in crate::scenario) downstream: CableFlowPlan,
}

/// The service flow of one direction.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct CableFlowPlan {
    pub(in crate::scenario) limits: Limits,
    /// Nominal rate: the sustained one, or the channel's where that is less.
    pub(in crate::scenario) rate: Rate,
    pub(in crate::scenario) capacity: Option<RateSchedule>,
    pub(in crate::scenario) queue: QueueConfig,
}

/// Checks a line and writes its defaults out.
pub(super) fn plan(path: &str, line: &mut Docsis) -> Result<CablePlan, ScenarioError> {
    if !line.modem.is_empty() {
        return Err(unavailable(
            format!("{path}.modem"),
            "a line with several modems",
        ));
    }
    let plant = line.plant.over(line.preset);
    plant::check(&format!("{path}.plant"), line.preset, &plant)?;
    line.plant = PlantConfig::from(plant.clone());
    let queue = line
        .upstream
        .queue
        .get_or_insert_with(|| modem_queue(line.preset));
    let upstream = Direction {
        path: &format!("{path}.upstream"),
        rate: line.upstream.rate,
        peak: line.upstream.peak,
        burst: line.upstream.burst,
        peak_burst: line.upstream.peak_burst,
        capacity: line.upstream.capacity.as_ref(),
        queue,
    };
    let downstream = Direction {
        path: &format!("{path}.downstream"),
        rate: line.downstream.rate,
        peak: line.downstream.peak,
        burst: line.downstream.burst,
        peak_burst: line.downstream.peak_burst,
        capacity: line.downstream.capacity.as_ref(),
        queue: &line.downstream.queue,
    };
    let upstream = upstream.plan(plant.upstream_timing().capacity())?;
    if let Some(RateSchedule::Opportunities { .. }) = upstream.capacity {
        let why = "an upstream gives grants, not single opportunities: expected a rate or steps";
        return Err(ScenarioError::invalid(
            format!("{path}.upstream.capacity"),
            why,
        ));
    }
    let downstream = downstream.plan(plant.downstream_timing().rate)?;
    let (placement, dequeue_at) = (line.placement, line.upstream.dequeue_at);
    Ok(CablePlan {
        plant,
        placement,
        dequeue_at,
        upstream,
        downstream,
    })
}

/// The queue a generation asks of modems.
fn modem_queue(preset: Preset) -> Queue {
    if preset.supports(Feature::ModemAqm) {
        Queue::Known(QueueConfig::DocsisPie(docsis_pie::Config::default()))
    } else {
        Queue::default()
    }
}

/// What both directions have in common.
struct Direction<'a> {
    path: &'a str,
    rate: Option<Rate>,
    peak: Option<Rate>,
    burst: ByteCount,
    peak_burst: ByteCount,
    capacity: Option<&'a OrTable<Rate, VaryingRate>>,
    queue: &'a Queue,
}

impl Direction<'_> {
    fn plan(&self, channel: Rate) -> Result<CableFlowPlan, ScenarioError> {
        self.check_rates()?;
        let capacity = self
            .capacity
            .map(|capacity| plan_rate(&format!("{}.capacity", self.path), capacity))
            .transpose()?;
        let given = capacity.as_ref().map_or(channel, RateSchedule::nominal);
        let rate = channel.min(given).min(self.rate.unwrap_or(channel));
        let queue = plan_queue(
            &format!("{}.queue", self.path),
            self.queue,
            rate,
            Framing::ETHERNET,
        )?
        .clone();
        let limits = Limits {
            sustained: self.rate,
            burst: self.burst.0,
            peak: self.peak,
            peak_burst: self.peak_burst.0,
        };
        Ok(CableFlowPlan {
            limits,
            rate,
            capacity,
            queue,
        })
    }

    fn check_rates(&self) -> Result<(), ScenarioError> {
        let refuse = |key: &str, why: String| {
            Err(ScenarioError::invalid(format!("{}.{key}", self.path), why))
        };
        for (key, rate) in [("rate", self.rate), ("peak", self.peak)] {
            if rate.is_some_and(|rate| rate.0 == 0) {
                return refuse(key, "a service flow at rate 0 carries nothing".to_owned());
            }
        }
        if let (Some(rate), Some(peak)) = (self.rate, self.peak)
            && peak < rate
        {
            let why = format!("a peak rate of {peak} is below the sustained rate of {rate}");
            return refuse("peak", why);
        }
        for (key, burst) in [("burst", self.burst), ("peak_burst", self.peak_burst)] {
            if burst.0 < PEAK_BURST {
                let why =
                    format!("expected at least {PEAK_BURST} B, one Ethernet frame, found {burst}");
                return refuse(key, why);
            }
        }
        Ok(())
    }
}
