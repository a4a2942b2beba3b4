"""Real programs behind a scenario's line, in real time, and recordings of them in virtual time."""
