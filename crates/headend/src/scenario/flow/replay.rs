//! Flows that replay a capture: what is replayed of it takes the place of the file.

use std::collections::BTreeMap;

use super::config::Flow;
use crate::named::Named;
use crate::scenario::error::ScenarioError;
use crate::scenario::files::find_file;
use crate::traffic::{ApplicationConfig, replay};

/// The replays that name a capture, by their path.
pub(in crate::scenario) fn replays(
    flows: &mut BTreeMap<String, Flow>,
) -> impl Iterator<Item = (String, &mut replay::Config)> {
    flows.iter_mut().filter_map(|(name, flow)| {
        let Named(ApplicationConfig::Replay(replay)) = &mut flow.application else {
            return None;
        };
        let path = format!("flow.{name}.application.replay");
        replay.capture.is_some().then_some((path, replay))
    })
}

/// Puts what is replayed of captures in their place, so that the scenario needs no file any more.
pub(in crate::scenario) fn embed_captures(
    flows: &mut BTreeMap<String, Flow>,
    files: &BTreeMap<String, Vec<u8>>,
) -> Result<(), ScenarioError> {
    for (path, replay) in replays(flows) {
        let name = replay.capture.clone().unwrap_or_default();
        let content = find_file(&format!("{path}.capture"), &name, files)?;
        let embedded = replay.embed(content);
        embedded.map_err(|(key, why)| ScenarioError::invalid(format!("{path}.{key}"), why))?;
    }
    Ok(())
}
