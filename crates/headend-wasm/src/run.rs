//! A run that goes on by so much simulated time a call.

use headend::metrics::sample::QueueInternals;
use headend::simulation::Simulation;
use headend::time::Instant;
use headend::trace::QueueId;
use wasm_bindgen::prelude::*;

use crate::events::{Events, WIDTH};
use crate::refusal::say;
use crate::tables::Tables;

/// A run of a scenario.
#[wasm_bindgen]
pub struct Run {
    simulation: Simulation,
    events: Option<Events>,
}

#[wasm_bindgen]
impl Run {
    /// Begins a run of a scenario: its text, overrides as for [`check`](crate::check), the seed in
    /// place of the scenario's, and a packet to be followed: a flow's first from a time in
    /// milliseconds on, whose steps become the table `steps`.
    ///
    /// # Errors
    ///
    /// What the scenario is refused for, as JSON.
    #[wasm_bindgen(constructor)]
    pub fn new(
        text: &str,
        overrides: &str,
        seed: Option<u64>,
        follow: Option<String>,
        follow_from: Option<f64>,
    ) -> Result<Self, JsValue> {
        let scenario = crate::read(text, overrides)?;
        let mut simulation = scenario.build(seed.unwrap_or(scenario.raw().seed));
        if let Some(flow) = follow {
            let from = read_time(follow_from.unwrap_or(0.0));
            if !simulation.follow(&flow, from) {
                return Err(say(&format!("no flow is called \"{flow}\"")));
            }
        }
        Ok(Self {
            simulation,
            events: None,
        })
    }

    /// Records what happens to packets and requests from now on. Called before the run begins.
    pub fn listen(&mut self) {
        let events = Events::default();
        self.simulation.add_sink(Box::new(events.clone()));
        self.events = Some(events);
    }

    /// How many numbers an event has.
    #[wasm_bindgen(js_name = eventWidth)]
    pub fn event_width() -> usize {
        WIDTH
    }

    /// The events since the last call, one after the other: [kind](crate::Kind), time in ms, queue,
    /// flow, side, sequence number, bytes, and a number of the kind's own, as [`Kind`](crate::Kind)
    /// says; −1 for what a kind has not.
    #[wasm_bindgen(js_name = takeEvents)]
    pub fn take_events(&self) -> Vec<f64> {
        self.events.as_ref().map(Events::take).unwrap_or_default()
    }

    /// The names of the applications' measures so far, by their numbers in events.
    pub fn measures(&self) -> Vec<String> {
        self.events
            .as_ref()
            .map(Events::measures)
            .unwrap_or_default()
    }

    /// The names of the queues, by their numbers in events.
    pub fn queues(&self) -> Vec<String> {
        self.simulation.queue_names().map(str::to_owned).collect()
    }

    /// The bytes that the line of each queue counts beyond a packet's IP bytes.
    pub fn overheads(&self) -> Vec<f64> {
        let overheads = self.simulation.queue_overheads();
        overheads.map(|bytes| bytes as f64).collect()
    }

    /// The names of the flows, by their numbers in events.
    pub fn flows(&self) -> Vec<String> {
        self.simulation.flow_names().map(str::to_owned).collect()
    }

    /// Runs until a simulated time in milliseconds, or to the end; whether the end is reached.
    #[wasm_bindgen(js_name = runUntil)]
    pub fn run_until(&mut self, ms: f64) -> bool {
        self.simulation.run_until(read_time(ms))
    }

    /// The simulated time so far, in milliseconds.
    pub fn now(&self) -> f64 {
        self.simulation.now().as_nanos() as f64 / 1e6
    }

    /// Changes service flows while the run goes on, as changes in a scenario do: from here on the
    /// run is that of the scenario with these overrides, which has further changes after now.
    /// `text`, `overrides` and `seed` are otherwise those that the run began with.
    ///
    /// # Errors
    ///
    /// What the scenario is refused for, as JSON; also if a change creates a service flow, which
    /// has a place from the start.
    pub fn change(&mut self, text: &str, overrides: &str, seed: u64) -> Result<(), JsValue> {
        let changed = crate::read(text, overrides)?.build(seed);
        if self.simulation.take_changes(changed) {
            Ok(())
        } else {
            Err(say(
                "a service flow cannot be created in a run that has begun",
            ))
        }
    }

    /// The tokens of the sustained rate that a queue has now, in bytes; nothing where it has no
    /// token bucket.
    pub fn tokens(&self, queue: u32) -> Option<f64> {
        self.internals(queue)?.tokens_bytes
    }

    /// The drop or mark probability of a queue's control law now; nothing where it has none.
    #[wasm_bindgen(js_name = dropProbability)]
    pub fn drop_probability(&self, queue: u32) -> Option<f64> {
        self.internals(queue)?.drop_probability
    }

    /// The result tables so far.
    pub fn tables(&mut self) -> Tables {
        Tables(self.simulation.tables())
    }
}

impl Run {
    fn internals(&self, queue: u32) -> Option<QueueInternals> {
        self.simulation.queue_internals(QueueId(queue))
    }
}

/// A time in milliseconds; what is no time is the beginning.
fn read_time(ms: f64) -> Instant {
    Instant::from_nanos((ms * 1e6) as u64)
}
