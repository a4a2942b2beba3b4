"""How deep a plain buffer must be for the one delay that a tool tells of a loaded line.

How full a plain buffer is in the middle depends on who fills it, and from how far. So the line is
simulated once with the depth that is supposed, and the depth is corrected by how far the simulated
delay is off. Nothing is corrected where single delays are known: there the ceiling tells the depth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headend.engine.columns import Frames
from headend.fitting.features import name_quantile
from headend.fitting.fitted_line import FittedLine, find_wide_area, replace_buffer
from headend.fitting.intervals import find_quantile
from headend.fitting.observation import Observation, choose_observation
from headend.fitting.simulating import (
    SPREADS,
    Plan,
    count_flows,
    list_congestion,
    plan,
    take_features,
    write_scenario,
)
from headend.measurement.record import Direction, Measurement
from headend.results.record import Record
from headend.running.execution import execute
from headend.scenario.source import read_scenario

#: A depth is corrected by no more than this factor. Where more would be needed, the senders do not
#: fill a plain buffer, as BBR does not, and a deeper one changes nothing.
MOST_CORRECTED = 2.0

#: Seeds of the correction: saw-teeth of one seed may be in step.
SEEDS = 2

#: Less is no queue, ms: nothing is to be corrected.
LEAST_MS = 2.0


def correct_buffers(
    line: FittedLine,
    measurement: Measurement,
    observations: Sequence[Observation],
    seeds: Sequence[int],
) -> FittedLine:
    """Give the line with plain buffers whose simulated delay is the one that was told.

    Parameters
    ----------
    line
        With the depths that are supposed.
    measurement, observations
        What was measured, and the phases of load that are compared.
    seeds
        Those of the fit, of which the first are taken.
    """
    done: list[Observation] = []
    for way in Direction:
        observation = choose_observation(observations, way)
        if observation is None or observation in done:
            continue
        done.append(observation)
        if observation.median is None or observation.median < LEAST_MS:
            continue
        planned = plan(observation, line, count_flows(measurement))
        congestion = list_congestion(measurement, observation)[0][0]
        factor = observation.median / _simulate(line, planned, congestion, seeds[:SEEDS])
        factor = min(max(factor, 1 / MOST_CORRECTED), MOST_CORRECTED)
        for filled in observation.directions:
            buffer = line.directions[filled].buffer * factor
            line = replace_buffer(line, filled, buffer, is_full=False)
    return line


def _simulate(line: FittedLine, planned: Plan, congestion: str, seeds: Sequence[int]) -> float:
    """Give the median delay that load adds with plain buffers, ms."""
    queues = {way: own.list_candidates()[0] for way, own in line.directions.items()}
    rtt = find_wide_area(line, queues)
    (way, *_) = planned.flows
    middles = []
    for place, seed in enumerate(seeds):
        spread = SPREADS[place % len(SPREADS)]
        content = write_scenario(line, queues, planned, congestion, rtt, spread)
        record = Record(
            Frames(execute(read_scenario(content).load().scenario, seed=seed).tables), {}
        )
        found = take_features(record, planned.trip, planned.idle, Direction(way))
        middles.append(found.get(name_quantile(0.5), math.nan))
    middle = find_quantile(sorted(middles), 0.5)
    return middle if middle > 0 else math.inf
