//! What applications measure about their own work. A kind of measure is declared beside the
//! application that reports it, with all that results, comparisons and figures say of it.

use crate::packet::Side;

/// What an application measures: a kind, and the direction, of a kind that is measured in each.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// Of which kind it is.
    pub kind: &'static Kind,
    /// The side whose packets it is about; none of a kind that has no directions.
    pub from: Option<Side>,
}

impl Measure {
    /// Its name in result tables.
    pub fn name(self) -> String {
        let end = match self.from {
            Some(Side::Peer) => "_down",
            Some(Side::Host) | None => "",
        };
        format!("{}{end}", self.kind.name)
    }

    /// What tells it from others, in an order that has no meaning.
    pub(crate) const fn key(self) -> (&'static str, Option<Side>) {
        (self.kind.name, self.from)
    }
}

/// A kind of measure. [`Self::new`] has a default for all but its name, its unit and a sentence.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name in result tables. Of a kind that is measured in each direction, what is measured
    /// downstream has `_down` behind it.
    pub name: &'static str,
    /// What its values are.
    pub unit: Unit,
    /// What it is, in a sentence. A kind without one is explained by another's.
    pub what: &'static str,
    /// What its unit is called where values are plain numbers.
    pub scale: &'static str,
    /// Whether more is better.
    pub is_rising: bool,
    /// The least and the largest value there can be, where they are not those of the unit.
    pub range: Option<(f64, f64)>,
    /// Whether it has one value for each scoring period.
    pub is_periodic: bool,
    /// Whether the delay and the loss of a flow that reports it still say something of it.
    pub is_beside_delay: bool,
    /// How a person is affected by what it measures.
    pub felt: Felt,
    /// The place of its figures in comparisons of runs: smaller numbers first.
    pub place: u8,
    /// By which of its statistics runs are compared, each with its title.
    pub compared_by: &'static [(&'static str, &'static str)],
    /// How its samples are drawn over time, if they are drawn.
    pub chart: Option<Chart>,
}

impl Kind {
    /// A kind of which less is better, unless it is a rate.
    pub const fn new(name: &'static str, unit: Unit, what: &'static str) -> Self {
        Self {
            name,
            unit,
            what,
            scale: "",
            is_rising: matches!(unit, Unit::Rate),
            range: None,
            is_periodic: false,
            is_beside_delay: false,
            felt: Felt::Later,
            place: u8::MAX,
            compared_by: &[],
            chart: None,
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

    /// The measure, of a kind that has no directions.
    pub const fn whole(&'static self) -> Measure {
        Measure {
            kind: self,
            from: None,
        }
    }
}

/// What the values of a measure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Plain numbers.
    Number,
    /// Plain numbers, by the minute.
    PerMinute,
    /// bit/s.
    Rate,
    /// Shares, from 0 to 1.
    Share,
    /// Nanoseconds.
    Time,
}

impl Unit {
    /// Its name in result tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number | Self::Share => "1",
            Self::PerMinute => "1/min",
            Self::Rate => "bit/s",
            Self::Time => "ns",
        }
    }

    /// What it is a unit of, as expectations know it.
    pub const fn quantity(self) -> &'static str {
        match self {
            Self::Number | Self::PerMinute => "number",
            Self::Rate => "rate",
            Self::Share => "ratio",
            Self::Time => "time",
        }
    }
}

/// How a person is affected by what a measure is about. Figures show first the flows whose measures
/// are felt first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Felt {
    /// Two people talk, or somebody plays by what they see.
    AtOnce,
    /// Somebody waits for an answer.
    AsWaiting,
    /// Neither.
    Later,
}

impl Felt {
    /// Its name in the engine's description.
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
    /// The figure's name, which is also that of its file.
    pub name: &'static str,
    /// The figure's title.
    pub title: &'static str,
    /// What the vertical axis shows, with its unit.
    pub axis: &'static str,
    /// From the measure's unit to that of the axis.
    pub factor: f64,
    /// What to look at, and what good looks like.
    pub explanation: &'static str,
    /// Whether samples are points; otherwise a line joins them.
    pub is_points: bool,
    /// Whether the figure stands behind those of queues and rates, as that of transfers does.
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
        assert!(Kind::new("rate", Unit::Rate, "").is_rising);
        for unit in [Unit::Number, Unit::PerMinute, Unit::Share, Unit::Time] {
            assert!(!Kind::new("other", unit, "").is_rising);
        }
    }
}
