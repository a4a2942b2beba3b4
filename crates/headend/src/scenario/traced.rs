//! Everything of a link that a trace may drive, whatever it is.

use std::collections::BTreeMap;

use super::error::ScenarioError;
use super::rate::{VaryingRate, embed_trace};
use super::varying::{VaryingDelay, VaryingLoss, embed_delay, embed_loss};

/// Something that varies with time.
#[derive(Debug)]
pub(super) enum Traced<'a> {
    /// The rate of a direction or the capacity of a channel.
    Rate(&'a mut VaryingRate, Beside),
    /// The delay of a direction.
    Delay(&'a mut VaryingDelay),
    /// The losses of a direction.
    Loss(&'a mut VaryingLoss),
}

/// What is written beside a rate. Nothing that a recording holds is left out in silence.
#[derive(Debug, Clone, Copy)]
pub(super) enum Beside {
    /// A channel, of which only the capacity is recorded.
    Channel,
    /// A direction: whether its delay and its losses are written.
    Direction {
        /// The delay is.
        delay: bool,
        /// The losses are.
        loss: bool,
    },
}

impl Traced<'_> {
    /// The file that it names.
    pub(super) fn trace(&self) -> Option<&String> {
        match self {
            Self::Rate(rate, _) => rate.trace.as_ref(),
            Self::Delay(delay) => delay.trace.as_ref(),
            Self::Loss(loss) => loss.trace.as_ref(),
        }
    }

    /// Puts the contents of its file in place of the name, so that the scenario needs no file.
    pub(super) fn embed(
        self,
        path: &str,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), ScenarioError> {
        match self {
            Self::Rate(rate, beside) => embed_trace(path, rate, files, |column| match beside {
                Beside::Channel => Err(
                    "but the capacity of a channel takes the rate alone: expected a \
                     file without that column"
                        .to_owned(),
                ),
                Beside::Direction { delay, loss } => {
                    let (key, is_written) = match column {
                        super::recorded::DELAY => ("delay", delay),
                        _ => ("loss", loss),
                    };
                    let why = format!(
                        "and the direction no {key}: expected `{key}.trace` with the same file, or \
                         any other {key}"
                    );
                    if is_written { Ok(()) } else { Err(why) }
                }
            }),
            Self::Delay(delay) => embed_delay(path, delay, files),
            Self::Loss(loss) => embed_loss(path, loss, files),
        }
    }
}
