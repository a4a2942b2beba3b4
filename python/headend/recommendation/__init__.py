"""Recommendations: which buffer, AQM or low latency a service tier shall have, by sweeps."""

from headend.recommendation.experiment import recommend, run_request
from headend.recommendation.result import Recommendation

__all__ = ["Recommendation", "recommend", "run_request"]
