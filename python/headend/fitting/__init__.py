"""The line behind a measurement: estimates, the queue, a scenario, and how well it fits."""
