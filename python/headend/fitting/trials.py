"""What is simulated of a fit: each queue under the load of the measurement, as settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from headend.fitting.candidate import Candidate
from headend.fitting.fitted_line import Medium
from headend.fitting.observation import Observation, choose_observation, list_directions
from headend.fitting.request import Request
from headend.fitting.result import Row
from headend.fitting.samples import PACKET_BITS
from headend.fitting.simulating import Plan, count_flows, list_congestion, plan
from headend.measurement.record import Direction, Load, Trip

#: A load that is less likely is run with the fewest seeds.
LIKELY = 0.3

#: Other queues of PIE's kind: what they differ by is seen over time only.
_PIES = ("docsis_pie", "pi2")

#: The most packets that all points together carry; fewer seeds are run beyond it. The engine
#: carries about two million a second on a core.
_MOST_PACKETS = 120_000_000

#: The fewest seeds: with one nothing tells how far chance goes.
_FEWEST_SEEDS = 2


@dataclass(frozen=True)
class Trial:
    """One setting: a phase of load, a queue for each direction, and who loads the line."""

    plan: Plan
    queues: Mapping[Direction, Candidate]
    congestion: str
    prior: float

    def choose_seeds(self, seeds: Sequence[int]) -> Sequence[int]:
        """Choose its seeds: the fewest for an unlikely load, many pairs, and untimed delays."""
        few = self.prior < LIKELY or self.plan.load is Load.BOTH or not self.plan.is_timed
        return seeds[:_FEWEST_SEEDS] if few else seeds

    @property
    def row(self) -> Row:
        """Its labels."""
        queues = [self.queues[way].name for way in (Direction.UP, Direction.DOWN)]
        trip = "" if self.plan.trip is Trip.ROUND else f" ({self.plan.trip.value})"
        return f"{self.plan.load.value}{trip}", queues[0], queues[1], self.congestion


def list_plans(request: Request) -> Iterator[tuple[Observation, Plan]]:
    """Give the phases of load that tell of a direction, each once."""
    flows = count_flows(request.measurement)
    chosen = [choose_observation(request.observations, way) for way in Direction]
    for own in dict.fromkeys(id(found) for found in chosen if found is not None):
        observation = next(found for found in chosen if id(found) == own)
        assert observation
        yield observation, plan(observation, request.line, flows)


def list_trials(request: Request) -> Iterator[Trial]:
    """List what is simulated: each queue of each loaded direction, under each likely load."""
    for observation, planned in list_plans(request):
        loaded = list(list_directions(planned.load))
        told = observation.directions
        tried = {
            way: _list_tried(request, way, planned)
            if way in told
            else _list_other(request, way, is_loaded=way in loaded)
            for way in Direction
        }
        for congestion, prior in list_congestion(request.measurement, observation):
            for up in tried[Direction.UP]:
                for down in tried[Direction.DOWN]:
                    queues = {Direction.UP: up, Direction.DOWN: down}
                    yield Trial(planned, queues, congestion, prior)


def _list_tried(request: Request, way: Direction, planned: Plan) -> list[Candidate]:
    """List the queues that are tried."""
    found = request.line.directions[way].list_candidates(has_marked=planned.has_marked)
    if not planned.is_timed:
        # The depth of a plain buffer was corrected to the one number that is known.
        known = () if planned.has_samples else ("drop_tail_deep",)
        return [own for own in found if own.name not in (*_PIES, *known)]
    # Of both directions at once every pair is tried: one PIE of each sort is enough.
    left_out = request.line.medium is Medium.CABLE or planned.load is Load.BOTH
    return [own for own in found if not (left_out and own.name == "pi2")]


def _list_other(request: Request, way: Direction, *, is_loaded: bool) -> list[Candidate]:
    """List the queues of a direction that a probe of the other one hardly tells about."""
    if not is_loaded:
        return list_idle(request, way)
    found = {own.name: own for own in request.line.directions[way].list_candidates()}
    return [found["drop_tail"], found["fq_codel"]]


def list_idle(request: Request, way: Direction) -> list[Candidate]:
    """Give the queue of a direction that carries acknowledgements only: a plain buffer."""
    return [request.line.directions[way].list_candidates()[0]]


def limit_seeds(request: Request, trials: Sequence[Trial]) -> tuple[int, ...]:
    """Give as many seeds as there is time for."""
    packets = sum(
        trial.plan.seconds * request.line.directions[way].rate / PACKET_BITS
        for trial in trials
        for way in list_directions(trial.plan.load)
    )
    most = max(int(_MOST_PACKETS / packets), _FEWEST_SEEDS) if packets else len(request.seeds)
    return request.seeds[:most]
