//! The members of a flow: which of several hosts have it, and what each is called.

use std::fmt::Write as _;

use super::config::Flow;
use crate::rng::Rng;
use crate::scenario::error::ScenarioError;

/// The name of a member: its flow's name, the number of its host where there are several, and its
/// own number where the flow has several.
pub(super) fn numbered(name: &str, host: Option<u32>, count: u32, number: u32) -> String {
    let mut text = name.to_owned();
    if let Some(host) = host {
        let _ = write!(text, ".{host}");
    }
    if count > 1 {
        let _ = write!(text, ".{number}");
    }
    text
}

/// The numbers of the hosts that have the flow, of `count` there are.
pub(super) fn choose_hosts(
    at: &str,
    name: &str,
    flow: &Flow,
    count: Option<u32>,
) -> Result<Vec<u32>, ScenarioError> {
    let refuse = |key: &str, why: String| Err(ScenarioError::invalid(format!("{at}.{key}"), why));
    let Some(count) = count else {
        let given = [("on", flow.on.is_some()), ("share", flow.share.is_some())];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(vec![1]),
            Some((key, _)) => refuse(
                key,
                "there is one host: of several modems' hosts some can be chosen".to_owned(),
            ),
        };
    };
    let mut chosen: Vec<u32> = (1..=count).collect();
    if let Some(on) = &flow.on {
        if on.lowest() == 0 {
            return refuse("on", "hosts are counted from 1".to_owned());
        }
        if on.highest() > count {
            return refuse(
                "on",
                format!("there are {count} hosts, and no number {}", on.highest()),
            );
        }
        chosen.retain(|&number| on.contains(number));
    }
    if let Some(share) = flow.share {
        let wanted = (share.0 * chosen.len() as f64).round() as usize;
        if wanted == 0 {
            let why = format!(
                "expected a share of {} hosts that is one at least",
                chosen.len()
            );
            return refuse("share", why);
        }
        shuffle(
            &mut chosen,
            &mut Rng::for_path(0, format_args!("flow.{name}.share")),
        );
        chosen.truncate(wanted);
        chosen.sort_unstable();
    }
    Ok(chosen)
}

/// Shuffles numbers (Fisher and Yates). The random stream is the flow's own and does not depend on
/// the seed: the same homes have the flow in every run, two flows choose independently, and a
/// larger share takes more homes in the same order.
fn shuffle(numbers: &mut [u32], rng: &mut Rng) {
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, rng.below(last as u64 + 1) as usize);
    }
}
