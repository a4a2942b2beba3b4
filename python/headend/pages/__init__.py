"""Pages: one HTML file that holds all it needs and opens without a network."""
