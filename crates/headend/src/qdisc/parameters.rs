//! What the parameters of a queue discipline can do: build it, and say what bounds its delay.

use super::{Fifo, QueueDiscipline};
use crate::aqm::{Aqm, Governor, LawParameters};
use crate::queue::{BacklogLimit, Limited};
use crate::rng::Rng;
use crate::units::Rate;

/// The parameters of a queue discipline, from which it is built. A scheduler implements this trait
/// itself; a control law implements [`LawParameters`] instead.
pub trait Parameters: Limited {
    /// Builds the discipline, empty, for a line of this nominal (or maximum sustained) rate. `rng`
    /// is a random stream of its own.
    ///
    /// # Errors
    ///
    /// A sentence that says why no queue can be built from these parameters.
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String>;

    /// Builds the control law alone, for one of the backlogs of a scheduler.
    ///
    /// # Errors
    ///
    /// A sentence that says why no control law can be built from these parameters.
    fn law(&self, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        let _ = (rate, rng);
        Err("expected a control law such as \"codel\", not a scheduler".to_owned())
    }

    /// What bounds the queueing delay of this discipline.
    fn governor(&self) -> Governor {
        Governor::Law
    }

    /// Which packets overtake others in the queue, as the end of a sentence that begins with the
    /// discipline's name. `None` if packets leave in order of arrival.
    fn lets_pass(&self) -> Option<&'static str> {
        None
    }
}

impl<T: LawParameters> Parameters for T {
    fn build(&self, rate: Rate, rng: Rng) -> Result<Box<dyn QueueDiscipline>, String> {
        let limit = BacklogLimit::at_rate(self.limit(rate)?, rate);
        let law = LawParameters::law(self, rate, rng)?;
        Ok(Box::new(Fifo::new(limit, law)))
    }

    fn law(&self, rate: Rate, rng: Rng) -> Result<Box<dyn Aqm>, String> {
        Ok(Box::new(LawParameters::law(self, rate, rng)?))
    }

    fn governor(&self) -> Governor {
        LawParameters::governor(self)
    }
}
