"""The rule of thumb by which operators size a service group: C ≥ N · t + K · T.

C is the capacity, N the number of homes, t what a home needs on average at peak, and T the rate of
the fastest tier; K says how much of one such burst must fit beside the others. Source: T. Cloonan,
J. Allen, M. Emmendorfer, "Simulating the Impact of QoE on Per-Service Group HSD Bandwidth Capacity
Requirements", ARRIS 2014.
"""

#: Values of K.
FACTORS = (0.8, 1.0, 1.2, 1.4)


def apply_rule(capacity: float, needed: float, fastest: float, factor: float) -> int:
    """Give the largest number of homes by the rule; rates in bit/s.

    Examples
    --------
    >>> apply_rule(300e6, 2e6, 100e6, 1.0), apply_rule(50e6, 2e6, 100e6, 1.0)
    (100, 0)
    """
    return max(int((capacity - factor * fastest) // needed), 0)
