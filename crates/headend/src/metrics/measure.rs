//! The measures that applications report about their own work. A kind of measure is declared beside
//! the application that reports it, with all that results, comparisons and figures state of it.

use crate::packet::Side;

/// A measure of an application: a kind and, for a kind with directions, a direction.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// The kind of the measure.
    pub kind: &'static Kind,
    /// The side whose packets are measured; `None` for a kind without directions.
    pub from: Option<Side>,
}

impl Measure {
    /// The name in result tables.
    pub fn name(self) -> String {
        let end = match self.from {
            Some(Side::Peer) => "_down",
            Some(Side::Host) | None => "",
        };
        format!("{}{end}", self.kind.name)
    }

    /// An ordering key that is unique to the measure. The order has no meaning.
    pub(crate) const fn key(self) -> (&'static str, Option<Side>) {
        (self.kind.name, self.from)
    }
}

/// A kind of measure. [`Self::new`] has a default for all but the name, the unit and a sentence.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name in result tables. For a kind with directions, the name of the downstream measure
    /// ends with `_down`.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// The explanation, in a sentence. A kind without one is explained by another kind's.
    pub what: &'static str,
    /// The name of the unit where values are plain numbers.
    pub scale: &'static str,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// The least and the largest possible value, where they are not those of the unit.
    pub range: Option<(f64, f64)>,
    /// Whether it has one value for each scoring period.
    pub is_periodic: bool,
    /// Whether the delay and the loss of a flow that reports it are still of interest.
    pub is_beside_delay: bool,
    /// How a person is affected by the measure.
    pub felt: Felt,
    /// The place of the measure in comparisons of runs: smaller numbers first.
    pub place: u8,
    /// The statistics by which runs are compared, each with its title.
    pub compared_by: &'static [(&'static str, &'static str)],
    /// How the samples are drawn over time, if they are drawn.
    pub chart: Option<Chart>,
    /// The figure that shows what a person felt, if one does.
    pub figure: Option<&'static str>,
    /// What people demand of it: a statistic, and the worst grade that they are content with.
    pub demand: Option<(&'static str, &'static str)>,
}

impl Kind {
    /// A kind of which less is better, unless it is a rate.
    pub const fn new(name: &'static str, unit: Unit, what: &'static str) -> Self {
        Self {
            name,
            unit,
            what,
            scale: "",
            higher_is_better: matches!(unit, Unit::Rate),
            range: None,
            is_periodic: false,
            is_beside_delay: false,
            felt: Felt::Later,
            place: u8::MAX,
            compared_by: &[],
            chart: None,
            figure: None,
            demand: None,
        }
    }

    /// The measure of what `from` sends.
    pub const fn of(&'static self, from: Side) -> Measure {
        Measure {
            kind: self,
            from: Some(from),
        }
    }

    /// The measure upstream.
    pub const fn up(&'static self) -> Measure {
        self.of(Side::Host)
    }

    /// The measure downstream.
    pub const fn down(&'static self) -> Measure {
        self.of(Side::Peer)
    }

    /// The measure of a kind without directions.
    pub const fn whole(&'static self) -> Measure {
        Measure {
            kind: self,
            from: None,
        }
    }
}

/// The unit of a measure's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Plain numbers.
    Number,
    /// Plain numbers per minute.
    PerMinute,
    /// bit/s.
    Rate,
    /// Shares, from 0 to 1.
    Share,
    /// Nanoseconds.
    Time,
}

impl Unit {
    /// The name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number | Self::Share => "1",
            Self::PerMinute => "1/min",
            Self::Rate => "bit/s",
            Self::Time => "ns",
        }
    }

    /// The quantity of the unit, as expectations name it.
    pub const fn quantity(self) -> &'static str {
        match self {
            Self::Number | Self::PerMinute => "number",
            Self::Rate => "rate",
            Self::Share => "ratio",
            Self::Time => "time",
        }
    }
}

/// How a person is affected by what a measure is about. Figures show the flows first whose measures
/// a person feels first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Felt {
    /// At once: two people talk, or a person plays by what they see.
    AtOnce,
    /// By waiting for an answer.
    AsWaiting,
    /// Neither.
    Later,
}

impl Felt {
    /// The name in the engine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "at_once",
            Self::AsWaiting => "as_waiting",
            Self::Later => "later",
        }
    }
}

/// How the samples of a measure are drawn over time.
#[derive(Debug, Clone, Copy)]
pub struct Chart {
    /// The name of the figure and of its file.
    pub name: &'static str,
    /// The title of the figure.
    pub title: &'static str,
    /// The label of the vertical axis, with its unit.
    pub axis: &'static str,
    /// The factor from the measure's unit to that of the axis.
    pub factor: f64,
    /// What the figure shows, and what a good result looks like.
    pub explanation: &'static str,
    /// Whether samples are drawn as points; otherwise a line joins them.
    pub is_points: bool,
    /// Whether the figure comes after those of queues and rates, as that of transfers does.
    pub is_after_queues: bool,
    /// The place of the figure among those of other measures: smaller numbers first.
    pub place: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    static SCORE: Kind = Kind::new("score", Unit::Number, "A score.");

    #[test]
    fn what_is_measured_downstream_has_a_name_of_its_own() {
        assert_eq!(SCORE.whole().name(), "score");
        assert_eq!(SCORE.up().name(), "score");
        assert_eq!(SCORE.down().name(), "score_down");
    }

    #[test]
    fn of_rates_more_is_better_and_of_all_else_less_unless_it_is_said() {
        assert!(Kind::new("rate", Unit::Rate, "").higher_is_better);
        for unit in [Unit::Number, Unit::PerMinute, Unit::Share, Unit::Time] {
            assert!(!Kind::new("other", unit, "").higher_is_better);
        }
    }
}
