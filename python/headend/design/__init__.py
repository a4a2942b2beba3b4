"""What an experiment varies: factors, their settings and seeds, and what its readers share."""
