"""Running scenarios: one, or several side by side with equal traffic and seeds."""
